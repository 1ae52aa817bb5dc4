/* SPDX-License-Identifier: Apache-2.0
 *
 * The result of a piece: numbers in hexadecimal.
 */
#include <stdlib.h>
#include <string.h>

#include "cut_internal.h"

enum { COUNTERS = sizeof(vta_counters) / sizeof(uint64_t), BASES = VTA_SEGMENTS };

/* The number and the character behind it. */
static char *write_number(char *at, uint64_t value, char end)
{
    static const char digits[] = "0123456789abcdef";
    char text[16];
    int count = 0;
    do {
        text[count++] = digits[value & 15];
        value >>= 4;
    } while (value != 0);
    while (count > 0) {
        *at++ = text[--count];
    }
    *at++ = end;
    return at;
}

static void put_one(vta_str *out, uint64_t value)
{
    char text[32];
    vta_str_append(out, text, (size_t)(write_number(text, value, ' ') - text));
}

void cli_cut_write_run(const vta_part_run *run, vta_str *out)
{
    uint64_t counters[COUNTERS];
    memcpy(counters, &run->counters, sizeof counters);
    put_one(out, run->part.start);
    put_one(out, run->part.end);
    put_one(out, run->part.first);
    put_one(out, run->part.launch.insn_count);
    for (int i = 0; i < COUNTERS; i++) {
        put_one(out, counters[i]);
    }
    put_one(out, run->count);
    for (uint64_t i = 0; i < run->count; i++) {
        const vta_stretch *s = &run->stretches[i];
        char text[64];
        const char *end =
            write_number(write_number(write_number(text, s->debug, ' '), s->cycles, ' '), s->bus, '\n');
        vta_str_append(out, text, (size_t)(end - text));
    }
}

/* False: there is no number. */
static bool read_number(const char **at, uint64_t max, uint64_t *out)
{
    char *end;
    const unsigned long long value = strtoull(*at, &end, 16);
    const bool is = end != *at && value <= max;
    *at = end;
    *out = value;
    return is;
}

static bool read_number32(const char **at, uint32_t *out)
{
    uint64_t value;
    const bool is = read_number(at, UINT32_MAX, &value);
    *out = (uint32_t)value;
    return is;
}

bool cli_cut_read_run(const char *text, vta_part_run *out)
{
    uint64_t counters[COUNTERS];
    uint64_t count;
    *out = (vta_part_run){0};
    bool good = read_number32(&text, &out->part.start) && read_number32(&text, &out->part.end) &&
                read_number32(&text, &out->part.first) && read_number32(&text, &out->part.launch.insn_count);
    for (int i = 0; good && i < COUNTERS; i++) {
        good = read_number(&text, UINT64_MAX, &counters[i]);
    }
    good = good && read_number(&text, strlen(text), &count);
    vta_stretch *stretches = good ? malloc((count + 1) * sizeof *stretches) : NULL;
    good = good && stretches != NULL;
    for (uint64_t i = 0; good && i < count; i++) {
        vta_stretch *s = &stretches[i];
        good = read_number32(&text, &s->debug) && read_number32(&text, &s->cycles) &&
               read_number32(&text, &s->bus);
    }
    if (!good) {
        free(stretches);
        return false;
    }
    memcpy(&out->counters, counters, sizeof counters);
    out->stretches = stretches;
    out->count = count;
    return true;
}
