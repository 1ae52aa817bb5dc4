/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the instruction timeline. Units take and finish their instructions in the order in which they were
 * issued, so three counters per unit tell which instruction a strobe means; its name is read from the program
 * in device memory. Instructions of one unit that overlap are drawn in lanes below each other.
 */
#include "timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum { UNITS = 3, LANES = 8, LEVEL_TRACK = 100 };

/* An instruction on its way through a unit. */
typedef struct item {
    uint64_t issued, started, token, memory; /* cycles: when, and how many it waited */
    uint32_t insn, lane;
} item;

/* The items of a unit, oldest first: items[head … head+running) have started, up to `count` were issued. */
typedef struct track {
    item *items;
    size_t head, running, count, capacity;
    bool lane_busy[LANES], lane_named[LANES];
} track;

/* A strobe that is drawn as it is: slices while it is high. */
typedef struct level {
    uint32_t bit;
    const char *name;
} level;

static const level levels[] = {
    {VTA_DEBUG_TOKEN + 0, "load waits for a token"},
    {VTA_DEBUG_TOKEN + 1, "compute waits for a token"},
    {VTA_DEBUG_TOKEN + 2, "store waits for a token"},
    {VTA_DEBUG_MEM + 0, "load waits for memory"},
    {VTA_DEBUG_MEM + 1, "compute waits for memory"},
    {VTA_DEBUG_MEM + 2, "store waits for memory"},
    {VTA_DEBUG_FETCH_FULL, "fetch: a queue is full"},
    {VTA_DEBUG_FETCH_MEM, "fetch waits for memory"},
    {VTA_DEBUG_GEMM, "array: gemm"},
    {VTA_DEBUG_DEPTHWISE, "array: depthwise"},
    {VTA_DEBUG_ALU, "alu"},
    {VTA_DEBUG_REQUANT, "requantizer"},
};
enum { LEVELS = sizeof levels / sizeof levels[0] };

static const char *const unit_names[UNITS] = {"load", "compute", "store"};

typedef struct place {
    uint32_t lsb, width;
} place;

struct vta_timeline {
    FILE *file;
    vta_bus bus;
    const uint8_t *program; /* NULL: not in device memory */
    uint32_t insn_count, issued, runs, last;
    uint64_t since[LEVELS];
    track tracks[UNITS];
    place opcode, memory;
    bool begun, broken;
};

/* -- names
 * ---------------------------------------------------------------------------------------------------------
 */

/* Place of a field that every configuration has. */
static place find_place(const char *name)
{
    enum { U = 0, I = 0, W = 0, A = 0 };
    static const struct {
        const char *name;
        uint32_t lsb, width;
    } rows[] = {
#define VTA_FIELD(format, member, lsb, width, sign, doc) {#format "." #member, lsb, width},
#include "vta/isa.def"
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return (place){rows[i].lsb, rows[i].width};
        }
    }
    return (place){0};
}

static const char *opcode_name(uint32_t opcode)
{
    static const char *const names[] = {
#define VTA_OPCODE(id, value, format, mnemonic, doc) [value] = mnemonic,
#include "vta/isa.def"
    };
    return opcode < sizeof names / sizeof names[0] ? names[opcode] : "?";
}

static const char *memory_name(uint32_t memory)
{
    static const char *const names[] = {
#define VTA_MEMORY(id, value, name, doc) [value] = name,
#include "vta/isa.def"
    };
    return memory < sizeof names / sizeof names[0] ? names[memory] : "?";
}

static uint32_t bits(const uint8_t *insn, place at)
{
    uint64_t word = 0;
    memcpy(&word, insn + at.lsb / 64 * 8, sizeof word);
    return (uint32_t)(word >> at.lsb % 64 & ((UINT64_C(1) << at.width) - 1));
}

static void print_name(const vta_timeline *t, uint32_t insn, char *text, size_t size)
{
    if (t->program == NULL || insn >= t->insn_count) {
        (void)snprintf(text, size, "instruction");
        return;
    }
    const uint8_t *bytes = t->program + (size_t)insn * VTA_INSN_BYTES;
    const uint32_t opcode = bits(bytes, t->opcode);
    const bool moves = opcode == VTA_OP_LOAD || opcode == VTA_OP_STORE;
    (void)snprintf(text, size, "%s%s%s", opcode_name(opcode), moves ? " " : "",
                   moves ? memory_name(bits(bytes, t->memory)) : "");
}

/* ---- events */

static void begin_event(vta_timeline *t)
{
    (void)fputs(t->begun ? ",\n" : "\n", t->file);
    t->begun = true;
}

static void name_track(vta_timeline *t, uint32_t tid, const char *name)
{
    begin_event(t);
    (void)fprintf(t->file,
                  "{\"ph\":\"M\",\"pid\":1,\"tid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":\"%s\"}}",
                  tid, name);
    begin_event(t);
    (void)fprintf(
        t->file,
        "{\"ph\":\"M\",\"pid\":1,\"tid\":%u,\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%u}}",
        tid, tid);
}

vta_timeline *vta_timeline_create(const char *file, const vta_bus *bus)
{
    vta_timeline *t = calloc(1, sizeof *t);
    if (t == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    t->file = fopen(file, "we");
    if (t->file == NULL) {
        const int why = errno;
        free(t);
        errno = why;
        return NULL;
    }
    t->bus = *bus;
    t->opcode = find_place("HEADER.opcode");
    t->memory = find_place("MEM.memory");
    (void)fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"unit\":\"1 us is 1 cycle\"},\"traceEvents\":[",
                t->file);
    for (uint32_t i = 0; i < LEVELS; i++) {
        name_track(t, LEVEL_TRACK + i, levels[i].name);
    }
    return t;
}

static const char end_of_file[] = "\n]}\n";

int vta_timeline_flush(vta_timeline *t)
{
    const long at = ftell(t->file); /* -1: a pipe, which cannot go back */
    errno = 0;
    if (at >= 0) {
        (void)fputs(end_of_file, t->file);
    }
    const int cause = fflush(t->file) != 0 || ferror(t->file) ? errno : 0;
    if (cause != 0) {
        return cause;
    }
    return at >= 0 && fseek(t->file, at, SEEK_SET) != 0 ? errno : 0;
}

void vta_timeline_destroy(vta_timeline *t)
{
    if (t == NULL) {
        return;
    }
    (void)fputs(end_of_file, t->file);
    (void)fclose(t->file);
    for (uint32_t unit = 0; unit < UNITS; unit++) {
        free(t->tracks[unit].items);
    }
    free(t);
}

void vta_timeline_run(vta_timeline *t, uint64_t cycle, uint64_t insn_addr, uint32_t insn_count)
{
    t->insn_count = insn_count;
    t->issued = 0;
    t->broken = false;
    t->program = t->bus.map(t->bus.context, insn_addr, (uint64_t)insn_count * VTA_INSN_BYTES);
    for (uint32_t unit = 0; unit < UNITS; unit++) {
        track *k = &t->tracks[unit];
        k->head = k->running = k->count = 0;
        memset(k->lane_busy, 0, sizeof k->lane_busy);
    }
    begin_event(t);
    (void)fprintf(t->file,
                  "{\"ph\":\"i\",\"s\":\"g\",\"pid\":1,\"tid\":0,\"ts\":%" PRIu64 ",\"name\":\"run %u\"}",
                  cycle, ++t->runs);
}

/* ---- instructions */

static item *grow(item *items, size_t *capacity, size_t needed)
{
    if (needed <= *capacity) {
        return items;
    }
    const size_t room = needed < 64 ? 64 : 2 * needed;
    item *grown = realloc(items, room * sizeof *items);
    *capacity = grown != NULL ? room : *capacity;
    return grown;
}

static void issue(vta_timeline *t, track *k, uint64_t cycle)
{
    if (k->head > 0 && k->head == k->count) {
        k->head = k->count = 0;
    }
    item *items = grow(k->items, &k->capacity, k->count + 1);
    if (items == NULL) {
        t->broken = true;
        return;
    }
    k->items = items;
    k->items[k->count++] = (item){.insn = t->issued++, .issued = cycle};
}

static void start(vta_timeline *t, uint32_t unit, uint64_t cycle)
{
    track *k = &t->tracks[unit];
    if (k->head + k->running >= k->count) {
        t->broken = true;
        return;
    }
    item *i = &k->items[k->head + k->running++];
    i->started = cycle;
    while (i->lane + 1 < LANES && k->lane_busy[i->lane]) {
        i->lane++;
    }
    k->lane_busy[i->lane] = true;
    if (!k->lane_named[i->lane]) {
        char name[32];
        (void)snprintf(name, sizeof name, i->lane == 0 ? "%s" : "%s, lane %u", unit_names[unit], i->lane + 1);
        name_track(t, 1 + LANES * unit + i->lane, name);
        k->lane_named[i->lane] = true;
    }
}

static void retire(vta_timeline *t, uint32_t unit, uint64_t cycle)
{
    track *k = &t->tracks[unit];
    if (k->running == 0) {
        t->broken = true;
        return;
    }
    const item *i = &k->items[k->head++];
    char name[64];
    k->running--;
    k->lane_busy[i->lane] = false;
    print_name(t, i->insn, name, sizeof name);
    begin_event(t);
    (void)fprintf(t->file,
                  "{\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%" PRIu64 ",\"dur\":%" PRIu64
                  ",\"name\":\"%s\",\"args\":{\"insn\":%u,\"unit\":\"%s\",\"issue\":%" PRIu64
                  ",\"start\":%" PRIu64 ",\"end\":%" PRIu64 ",\"token_wait\":%" PRIu64
                  ",\"memory_wait\":%" PRIu64 "}}",
                  1 + LANES * unit + i->lane, i->started, cycle + 1 - i->started, name, i->insn,
                  unit_names[unit], i->issued, i->started, cycle, i->token, i->memory);
}

/* The instruction that waits: for a token the next one to start, for memory the oldest one that has. */
static void charge(track *k, bool token, bool memory)
{
    if (token && k->head + k->running < k->count) {
        k->items[k->head + k->running].token++;
    }
    if (memory && k->running > 0) {
        k->items[k->head].memory++;
    }
}

static void draw_levels(vta_timeline *t, uint64_t cycle, uint32_t debug)
{
    const uint32_t changed = debug ^ t->last;
    for (uint32_t i = 0; changed != 0 && i < LEVELS; i++) {
        if ((changed >> levels[i].bit & 1) == 0) {
            continue;
        }
        if ((debug >> levels[i].bit & 1) != 0) {
            t->since[i] = cycle;
            continue;
        }
        begin_event(t);
        (void)fprintf(t->file,
                      "{\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%" PRIu64 ",\"dur\":%" PRIu64
                      ",\"name\":\"%s\"}",
                      LEVEL_TRACK + i, t->since[i], cycle - t->since[i], levels[i].name);
    }
    t->last = debug;
}

void vta_timeline_cycle(vta_timeline *t, uint64_t cycle, uint32_t debug)
{
    for (uint32_t unit = 0; unit < UNITS && !t->broken; unit++) {
        const uint32_t strobes = debug >> unit;
        if ((strobes >> VTA_DEBUG_ISSUE & 1) != 0) {
            issue(t, &t->tracks[unit], cycle);
        }
        if ((strobes >> VTA_DEBUG_START & 1) != 0) {
            start(t, unit, cycle);
        }
        charge(&t->tracks[unit], (strobes >> VTA_DEBUG_TOKEN & 1) != 0, (strobes >> VTA_DEBUG_MEM & 1) != 0);
        if ((strobes >> VTA_DEBUG_RETIRE & 1) != 0) {
            retire(t, unit, cycle);
        }
    }
    draw_levels(t, cycle, debug);
}
