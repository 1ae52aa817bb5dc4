/* SPDX-License-Identifier: Apache-2.0
 *
 * First inputs of the target `readers`, one for each of its readers, in their order. Usage: reader_seeds
 * FOLDER
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vta/file.h"
#include "vta/flow.h"
#include "vta/str.h"

static void save(const char *folder, unsigned reader, const char *name, const void *bytes, size_t size)
{
    char path[4096];
    vta_str file = {0};
    vta_diag diag = {0};
    const uint8_t first = (uint8_t)reader;
    vta_str_append(&file, &first, 1);
    vta_str_append(&file, bytes, size);
    (void)snprintf(path, sizeof path, "%s/%02u-%s", folder, reader, name);
    if (file.failed || vta_file_write(path, file.text, file.size, &diag) != VTA_OK) {
        (void)fprintf(stderr, "reader_seeds: %s\n", diag.text);
        exit(1);
    }
    vta_str_free(&file);
}

static void save_text(const char *folder, unsigned reader, const char *name, const char *text)
{
    save(folder, reader, name, text, strlen(text));
}

static void save_words(const char *folder, unsigned reader, const char *name, const int64_t *words,
                       size_t count)
{
    save(folder, reader, name, words, count * sizeof *words);
}

int main(int argc, char **argv)
{
    enum { LINES, LABELS, RECORDS, SUITE, SPACE, NPY, NPZ, PB, PARCEL, PARCEL_PB, OPTIONS };
    static const char npy[] =
        "\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }        \n"
        "012345678901234567890123";
    /* dims 2 and 1, type float32, raw data of eight bytes, an empty name */
    static const char tensor[] = "\x08\x02\x08\x01\x10\x01\x4a\x08"
                                 "abcdefgh"
                                 "\x42";
    /* an archive of no members */
    static const char zip[] = "PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    static const int64_t texts[] = {VTA_FLOW_TENSOR, VTA_FLOW_TEXT, 1, 2, 3, 0x636261, 0};
    static const int64_t list[] = {VTA_FLOW_SEQUENCE, 2, VTA_FLOW_TENSOR, VTA_FLOW_F32, 1, 2, 0,
                                   VTA_FLOW_NOTHING};
    if (argc != 2) {
        (void)fprintf(stderr, "usage: reader_seeds FOLDER\n");
        return 2;
    }
    const char *folder = argv[1];
    save_text(folder, LINES, "lines",
              "\xef\xbb\xbf"
              "cat\r\ndog\n\nfish");
    save(folder, LINES, "wide",
         "\xff\xfe"
         "a\0\n\0",
         6);
    save_text(folder, LABELS, "labels", "tench\ngoldfish\nshark\n");
    save_text(folder, RECORDS, "records",
              "{\"kernel\": \"matmul\", \"shape\": \"m1\", \"target\": \"x\", \"version\": \"1.0.0\", "
              "\"point\": \"4x4\", \"cost\": 1.5}\n");
    save_text(folder, SUITE, "suite",
              "{\"configs\": [\"tiny\"], \"devices\": [\"fsim\"], \"timeout\": 5, \"models\": [{\"model\": "
              "\"m.onnx\", \"tolerance\": 1}]}");
    save_text(folder, SPACE, "space", "{\"LOG_BLOCK_IN\": [3, 4, 5], \"TABLE\": 1}");
    save(folder, NPY, "npy", npy, sizeof npy - 1);
    save(folder, NPZ, "npz", zip, sizeof zip);
    save(folder, PB, "tensor", tensor, sizeof tensor);
    save_words(folder, PARCEL, "texts", texts, sizeof texts / sizeof texts[0]);
    save_words(folder, PARCEL, "list", list, sizeof list / sizeof list[0]);
    save(folder, PARCEL_PB, "tensor", tensor, sizeof tensor);
    /* Findings: numbers where a map, a tensor or a sequence must be. */
    save_text(folder, PARCEL_PB, "map-number", "0\x35");
    save_text(folder, PARCEL_PB, "tensor-number", "\x18\x35");
    save_text(folder, PARCEL_PB, "sequence-number", "(\x35");
    save_text(folder, OPTIONS, "options", "tsim:tiny?scope=check=1&seed=3&check=1");
    return 0;
}
