/* SPDX-License-Identifier: Apache-2.0
 *
 * hdf5_dump FILE (PATH | PATH@NAME)...: what the reader of HDF5 says of each, a line of JSON: the shape and
 * the bits of a data set's floats, the texts of an attribute in hexadecimal, or the sentence that refuses it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../compiler/src/hdf5/reader.h"

static void print_floats(const vtac_tensor *tensor)
{
    const float *value = tensor->data;
    (void)printf("{\"shape\": [");
    for (uint32_t i = 0; i < tensor->type.rank; i++) {
        (void)printf("%s%lld", i > 0 ? ", " : "", (long long)tensor->type.dim[i]);
    }
    (void)printf("], \"bits\": [");
    for (size_t i = 0; i < tensor->bytes / sizeof *value; i++) {
        uint32_t bits;
        memcpy(&bits, &value[i], sizeof bits);
        (void)printf("%s%u", i > 0 ? ", " : "", bits);
    }
    (void)printf("]}\n");
}

static void print_texts(const char *const *texts, size_t count)
{
    (void)printf("{\"texts\": [");
    for (size_t i = 0; i < count; i++) {
        (void)printf("%s\"", i > 0 ? ", " : "");
        for (const unsigned char *at = (const unsigned char *)texts[i]; *at != '\0'; at++) {
            (void)printf("%02x", *at);
        }
        (void)printf("\"");
    }
    (void)printf("]}\n");
}

static void dump(vtac_h5_file *file, char *what)
{
    char *name = strrchr(what, '@');
    uint64_t header;
    vtac_tensor tensor;
    const char *const *texts;
    size_t count;
    vta_diag diag = {0};
    vta_arena arena = {0};
    if (name != NULL) {
        *name++ = '\0';
    }
    switch (vtac_h5_find(file, what, &header)) {
    case VTAC_H5_NONE: (void)printf("{\"none\": true}\n"); return;
    case VTAC_H5_ELSEWHERE: (void)printf("{\"link\": true}\n"); return;
    case VTAC_H5_HERE: break;
    }
    if (name != NULL && vtac_h5_texts(file, header, name, &arena, &texts, &count, &diag) == VTA_OK) {
        print_texts(texts, count);
    } else if (name == NULL && vtac_h5_floats(file, header, what, &arena, &tensor, &diag) == VTA_OK) {
        print_floats(&tensor);
    } else {
        (void)printf("{\"refused\": \"%s\"}\n", diag.text);
    }
    vta_arena_free(&arena);
}

int main(int argc, char **argv)
{
    vtac_h5_file file;
    vta_diag diag = {0};
    FILE *in = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (in == NULL || fseek(in, 0, SEEK_END) != 0) {
        return 2;
    }
    const long size = ftell(in);
    uint8_t *bytes = malloc(size > 0 ? (size_t)size : 1);
    rewind(in);
    if (size < 0 || bytes == NULL || fread(bytes, 1, (size_t)size, in) != (size_t)size) {
        return 2;
    }
    (void)fclose(in);
    const bool open = vtac_h5_open(bytes, (size_t)size, &file, &diag) == VTA_OK;
    if (!open) {
        (void)printf("%s\n", diag.text);
    }
    for (int i = 2; open && i < argc; i++) {
        dump(&file, argv[i]);
    }
    free(bytes);
    return open ? 0 : 1;
}
