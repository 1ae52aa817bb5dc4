/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a fuzz target without a fuzzer: on files (a finding, say), or on every file of some folders and on
 * mutations of them that follow from VTAC_SEED.
 *
 *   replay FILE...
 *   replay --mutations N FOLDER...
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "rng.h"
#include "seed.h"

enum { MAX_FILES = 4096, MAX_SIZE = 1 << 16 };

typedef struct input {
    uint8_t *data;
    size_t size;
} input;

static bool read_input(const char *path, input *out)
{
    FILE *file = fopen(path, "rb");
    out->data = malloc(MAX_SIZE);
    if (file == NULL || out->data == NULL) {
        (void)fprintf(stderr, "%s: cannot read\n", path);
        return false;
    }
    out->size = fread(out->data, 1, MAX_SIZE, file);
    (void)fclose(file);
    uint8_t *fitting = realloc(out->data, out->size + 1); /* there are thousands of inputs */
    out->data = fitting != NULL ? fitting : out->data;
    return true;
}

/* An exact copy on the heap, so that a sanitizer sees the first byte read beyond the end. */
static void feed(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size == 0 ? 1 : size);
    if (copy != NULL) {
        memcpy(copy, data, size);
        fuzz_input(copy, size);
        free(copy);
    }
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static uint32_t read_folder(const char *folder, input *inputs, uint32_t count)
{
    struct dirent **names = NULL;
    const int found = scandir(folder, &names, visible, by_name);
    for (int i = 0; i < found; i++) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        if (count == MAX_FILES) {
            (void)fprintf(stderr, "%s: more than %d inputs, %s is left out\n", folder, MAX_FILES,
                          names[i]->d_name);
        } else if (read_input(path, &inputs[count])) {
            count++;
        }
        free(names[i]);
    }
    free(names);
    return count;
}

static size_t insert(uint8_t *data, size_t size, size_t at, const uint8_t *piece, size_t length)
{
    if (size + length > MAX_SIZE) {
        return size;
    }
    memmove(data + at + length, data + at, size - at);
    memcpy(data + at, piece, length);
    return size + length;
}

static uint8_t other_byte(uint8_t byte, uint32_t kind, rng *r)
{
    const uint32_t bit = 1U << rng_below(r, 8);
    const uint32_t any = rng_below(r, 256);
    const uint32_t digit = '0' + rng_below(r, 10);
    return (uint8_t)(kind == 0 ? byte ^ bit : kind == 1 ? any : digit);
}

/* One small change: a bit, a byte, a digit, a piece gone, doubled, or taken from another input. */
static size_t mutate(uint8_t *data, size_t size, const input *other, rng *r)
{
    const size_t at = rng_below(r, (uint32_t)size + 1);
    size_t length = 1 + rng_below(r, rng_percent(r, 80) ? 8 : 200);
    const uint32_t kind = rng_below(r, 7);
    if (kind < 3 && at < size) {
        data[at] = other_byte(data[at], kind, r);
        return size;
    }
    if (kind == 3) {
        length = length < size - at ? length : size - at;
        memmove(data + at, data + at + length, size - at - length);
        return size - length;
    }
    const input source = kind == 4 ? (input){data, size} : *other;
    if (source.size == 0) {
        return size;
    }
    uint8_t piece[256];
    const size_t from = rng_below(r, (uint32_t)source.size);
    length = length < source.size - from ? length : source.size - from;
    memcpy(piece, source.data + from, length);
    return insert(data, size, at, piece, length);
}

static int run_folders(const char *name, char **folders, int folder_count, uint32_t mutations)
{
    static input inputs[MAX_FILES];
    static uint8_t work[MAX_SIZE];
    uint32_t count = 0;
    for (int i = 0; i < folder_count; i++) {
        const uint32_t more = read_folder(folders[i], inputs, count);
        if (more == count) {
            (void)fprintf(stderr, "%s: no inputs\n", folders[i]);
            return 1;
        }
        count = more;
    }
    for (uint32_t i = 0; i < count; i++) {
        feed(inputs[i].data, inputs[i].size);
    }
    rng r = {test_seed(name)};
    for (uint32_t n = 0; n < mutations; n++) {
        const input *from = &inputs[n % count];
        size_t size = from->size;
        memcpy(work, from->data, size);
        const uint32_t changes = 1 + rng_below(&r, 4);
        for (uint32_t c = 0; c < changes; c++) {
            size = mutate(work, size, &inputs[rng_below(&r, count)], &r);
        }
        feed(work, size);
    }
    for (uint32_t i = 0; i < count; i++) {
        free(inputs[i].data);
    }
    (void)printf("%u inputs, %u mutations\n", count, mutations);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc >= 4 && strcmp(argv[1], "--mutations") == 0) {
        const char *slash = strrchr(argv[0], '/');
        return run_folders(slash == NULL ? argv[0] : slash + 1, argv + 3, argc - 3,
                           (uint32_t)strtoul(argv[2], NULL, 10));
    }
    for (int i = 1; i < argc; i++) {
        input one = {0};
        if (!read_input(argv[i], &one)) {
            return 1;
        }
        feed(one.data, one.size);
        free(one.data);
    }
    return argc > 1 ? 0 : 2;
}
