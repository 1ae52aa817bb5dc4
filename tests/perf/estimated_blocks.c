/* SPDX-License-Identifier: Apache-2.0
 *
 * A plugin of qemu-user for estimated.py: which blocks of instructions ran how often between two looks at the
 * clock, and what two caches did meanwhile. It begins at the call of getppid(). Arguments: out=FILE,
 * start=NUMBER of getppid, clocks=NUMBER:NUMBER of the calls that read the clock; and for caches
 * level1=KIB:WAYS:LINE, level2=KIB:WAYS:LINE. The file gets lines:
 *
 *     block N BYTES...   its instructions, in hexadecimal
 *     part N             the N-th time between two looks
 *     runs N COUNT       of a block, in this part
 *     misses A B C D     of level 1 alone, out of order and in order; of both levels, likewise
 *
 * In order is a line behind one that was asked for lately: a processor that reads ahead has asked for it
 * already.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qemu_plugin.h"

enum { MAX_BLOCKS = 1 << 18, MAX_CLOCKS = 4, LATELY = 16 };
int qemu_plugin_version = 1;

typedef struct cache {
    uint64_t *lines; /* [set][way], the latest first; a line's number and 1, as 0 is none */
    uint64_t sets, ways;
    unsigned shift; /* of a line */
} cache;

static FILE *out;
static int64_t start, clocks[MAX_CLOCKS];
static unsigned clock_count;
static bool started;
static uint32_t part, block_count;
static uint64_t runs[MAX_BLOCKS], told[MAX_BLOCKS];
static cache levels[2];
static uint64_t misses[2][2], asked[LATELY];
static unsigned asked_at;

/* ---- caches */

static bool has(cache *c, uint64_t address)
{
    const uint64_t line = (address >> c->shift) + 1;
    uint64_t *set = c->lines + (line % c->sets) * c->ways;
    uint64_t i = 0;
    while (i < c->ways - 1 && set[i] != line) {
        i++;
    }
    const bool found = set[i] == line;
    memmove(set + 1, set, i * sizeof *set);
    set[0] = line;
    return found;
}

static bool is_in_order(uint64_t line)
{
    bool any = false;
    for (unsigned i = 0; i < LATELY; i++) {
        any = any || asked[i] + 1 == line;
    }
    asked[asked_at++ % LATELY] = line;
    return any;
}

static void access_memory(unsigned cpu, uint32_t info, uint64_t address, void *data)
{
    (void)cpu, (void)info, (void)data;
    if (!has(&levels[0], address)) {
        const bool in_order = is_in_order(address >> levels[0].shift);
        misses[has(&levels[1], address) ? 0 : 1][in_order]++;
    }
}

static bool make_cache(cache *c, const char *text)
{
    unsigned long kib, ways, line;
    char *end;
    kib = strtoul(text, &end, 10);
    ways = strtoul(*end == ':' ? end + 1 : end, &end, 10);
    line = strtoul(*end == ':' ? end + 1 : end, &end, 10);
    if (kib == 0 || ways == 0 || line == 0 || *end != '\0') {
        return false;
    }
    for (c->shift = 0; 1UL << c->shift < line;) {
        c->shift++;
    }
    c->ways = ways;
    c->sets = kib * 1024 / line / ways;
    c->lines = calloc(c->sets * ways, sizeof *c->lines);
    return c->sets > 0 && c->lines != NULL;
}

/* ---- blocks */

static void see_block(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    const size_t count = qemu_plugin_tb_n_insns(block);
    (void)id;
    if (block_count == MAX_BLOCKS) {
        (void)fprintf(stderr, "estimated_blocks: more than %d blocks\n", MAX_BLOCKS);
        exit(1);
    }
    (void)fprintf(out, "block %" PRIu32, block_count);
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);
        const uint8_t *bytes = qemu_plugin_insn_data(insn);
        (void)fputc(' ', out);
        for (size_t k = 0; k < qemu_plugin_insn_size(insn); k++) {
            (void)fprintf(out, "%02x", bytes[k]);
        }
        if (levels[0].lines != NULL) {
            qemu_plugin_register_vcpu_mem_cb(insn, access_memory, 0, ANY_WAY, NULL);
        }
    }
    (void)fputc('\n', out);
    qemu_plugin_register_vcpu_tb_exec_inline(block, ADD, &runs[block_count++], 1);
}

/* ---- parts */

static void end_part(void)
{
    (void)fprintf(out, "part %" PRIu32 "\n", part++);
    for (uint32_t i = 0; i < block_count; i++) {
        if (runs[i] != told[i]) {
            (void)fprintf(out, "runs %" PRIu32 " %" PRIu64 "\n", i, runs[i] - told[i]);
            told[i] = runs[i];
        }
    }
    (void)fprintf(out, "misses %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", misses[0][0], misses[0][1],
                  misses[1][0], misses[1][1]);
    memset(misses, 0, sizeof misses);
}

static void see_call(qemu_plugin_id_t id, unsigned cpu, int64_t call, uint64_t a, uint64_t b, uint64_t c,
                     uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h)
{
    bool is_clock = false;
    (void)id, (void)cpu, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
    for (unsigned i = 0; i < clock_count; i++) {
        is_clock = is_clock || call == clocks[i];
    }
    if (call == start) {
        started = true;
        memcpy(told, runs, sizeof told);
        memset(misses, 0, sizeof misses);
    } else if (started && is_clock) {
        end_part();
    }
}

static void see_end(qemu_plugin_id_t id, void *data)
{
    (void)id, (void)data;
    (void)fclose(out);
}

static bool read_argument(const char *text)
{
    if (strncmp(text, "out=", 4) == 0) {
        out = fopen(text + 4, "w");
        return out != NULL;
    }
    if (strncmp(text, "start=", 6) == 0) {
        start = strtol(text + 6, NULL, 10);
        return true;
    }
    if (strncmp(text, "clocks=", 7) == 0) {
        const char *at = text + 6;
        while (*at != '\0' && clock_count < MAX_CLOCKS) {
            char *end;
            clocks[clock_count++] = strtol(at + 1, &end, 10);
            at = end;
        }
        return true;
    }
    return strncmp(text, "level1=", 7) == 0   ? make_cache(&levels[0], text + 7)
           : strncmp(text, "level2=", 7) == 0 ? make_cache(&levels[1], text + 7)
                                              : false;
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int count, char **arguments)
{
    (void)info;
    for (int i = 0; i < count; i++) {
        if (!read_argument(arguments[i])) {
            (void)fprintf(stderr, "estimated_blocks: '%s' is no argument of it\n", arguments[i]);
            return 1;
        }
    }
    if (out == NULL || (levels[0].lines != NULL) != (levels[1].lines != NULL)) {
        (void)fprintf(stderr, "estimated_blocks: expected out=FILE, and both levels or none\n");
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, see_block);
    qemu_plugin_register_vcpu_syscall_cb(id, see_call);
    qemu_plugin_register_atexit_cb(id, see_end, NULL);
    return 0;
}
