/* SPDX-License-Identifier: Apache-2.0
 *
 * From which cycle on two parts that overlap are the same machine (parts.h).
 */
#include <stdlib.h>

#include "parts_internal.h"

enum { UNITS = 3 };

/* Instructions that the machine holds, by the strobes of a part. Instructions are counted from the part's
 * first.
 */
typedef struct state {
    uint32_t count;
    uint32_t issued; /* instructions that have left the fetch unit */
    uint32_t in[UNITS], started[UNITS], retired[UNITS];
    uint32_t *order[UNITS]; /* which one a unit's n-th instruction is */
} state;

static bool is_high(uint32_t debug, uint32_t bit)
{
    return (debug >> bit & 1) != 0;
}

static void move(state *s, uint32_t debug)
{
    for (uint32_t u = 0; u < UNITS; u++) {
        if (is_high(debug, VTA_DEBUG_ISSUE + u) && s->issued < s->count) {
            s->order[u][s->in[u]++] = s->issued++;
        }
        s->started[u] += is_high(debug, VTA_DEBUG_START + u) && s->started[u] < s->in[u];
        s->retired[u] += is_high(debug, VTA_DEBUG_RETIRE + u) && s->retired[u] < s->started[u];
    }
}

/* An instruction of compute that starts: what is in the machine then, in instructions of the whole program.
 */
typedef struct mark {
    uint64_t stretch, cycle;
    uint32_t insn, issued;
    uint32_t next[UNITS], oldest[UNITS]; /* to start, to retire */
    uint32_t need[UNITS]; /* as many have retired when what is in work there, and the next one, are gone, */
    uint64_t gone;        /* as they are by this stretch; UINT64_MAX: never */
} mark;

typedef struct marks {
    mark *items;
    size_t count, capacity;
} marks;

static mark *push(marks *m)
{
    if (m->count == m->capacity) {
        const size_t room = m->capacity < 256 ? 256 : 2 * m->capacity;
        mark *grown = realloc(m->items, room * sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        m->items = grown;
        m->capacity = room;
    }
    return &m->items[m->count++];
}

static uint32_t nth(const state *s, uint32_t unit, uint32_t n, uint32_t first)
{
    return n < s->in[unit] ? s->order[unit][n] + first : UINT32_MAX;
}

static bool put_mark(marks *m, const state *s, uint32_t first, uint64_t stretch, uint64_t cycle)
{
    enum { COMPUTE = 1 };
    if (s->started[COMPUTE] >= s->in[COMPUTE]) {
        return true;
    }
    mark *k = push(m);
    if (k == NULL) {
        return false;
    }
    *k = (mark){.stretch = stretch, .cycle = cycle, .issued = s->issued + first, .gone = UINT64_MAX};
    k->insn = nth(s, COMPUTE, s->started[COMPUTE], first);
    for (uint32_t u = 0; u < UNITS; u++) {
        k->next[u] = nth(s, u, s->started[u], first);
        k->oldest[u] = nth(s, u, s->retired[u], first);
        k->need[u] = s->started[u] + (s->in[u] > s->started[u]);
    }
    return true;
}

/* Marks of which nothing is in work any more; they leave in the order in which they came. */
static size_t let_go(marks *m, size_t oldest, const state *s, uint64_t stretch)
{
    while (oldest < m->count) {
        mark *k = &m->items[oldest];
        for (uint32_t u = 0; u < UNITS; u++) {
            if (s->retired[u] < k->need[u]) {
                return oldest;
            }
        }
        k->gone = stretch;
        oldest++;
    }
    return oldest;
}

static bool walk(const vta_part_run *run, state *s, marks *out)
{
    enum { COMPUTE = 1 };
    uint64_t cycle = 0;
    size_t oldest = 0;
    for (uint64_t i = 0; i < run->count; i++) {
        const vta_stretch *at = &run->stretches[i];
        if ((at->debug & VTA_DEBUG_MOVES) != 0) {
            if (is_high(at->debug, VTA_DEBUG_START + COMPUTE) &&
                !put_mark(out, s, run->part.first, i, cycle)) {
                return false;
            }
            move(s, at->debug);
            oldest = let_go(out, oldest, s, i);
        }
        cycle += at->cycles;
    }
    return true;
}

/* Strobes name the unit, so that no program is needed to follow them. */
static bool follow(const vta_part_run *run, marks *out)
{
    state s = {.count = run->part.launch.insn_count};
    bool good = true;
    for (uint32_t u = 0; u < UNITS; u++) {
        s.order[u] = calloc((size_t)s.count + 1, sizeof *s.order[u]);
        good = good && s.order[u] != NULL;
    }
    good = good && walk(run, &s, out);
    for (uint32_t u = 0; u < UNITS; u++) {
        free(s.order[u]);
    }
    return good;
}

/* -- two parts */

static bool is_same_machine(const mark *a, const mark *b)
{
    bool same = a->insn == b->insn && a->issued == b->issued;
    for (uint32_t u = 0; u < UNITS; u++) {
        same = same && a->next[u] == b->next[u] && a->oldest[u] == b->oldest[u];
    }
    return same;
}

static bool is_same_stretch(const vta_stretch *a, const vta_stretch *b)
{
    return a->debug == b->debug && a->cycles == b->cycles && a->bus == b->bus;
}

/* Follows both runs while they are alike; `stop` is the first mark at which they differ. */
static bool go_alike(const vta_part_run *here, const vta_part_run *there, const mark *a, const mark *b,
                     uint64_t min, uint64_t *cycles, uint64_t *stop)
{
    uint64_t i = a->stretch;
    uint64_t j = b->stretch;
    *cycles = 0;
    for (; i < here->count && j < there->count; i++, j++) {
        if (*cycles >= min && i > a->gone && j > b->gone) {
            return true;
        }
        if (!is_same_stretch(&here->stretches[i], &there->stretches[j])) {
            break;
        }
        *cycles += here->stretches[i].cycles;
    }
    *stop = i;
    return false;
}

static void find(const vta_part_run *here, const vta_part_run *there, const marks *a, const marks *b,
                 uint64_t from, uint64_t min, vta_match *out)
{
    size_t i = 0;
    uint64_t stop = from; /* nothing before it comes into question */
    for (size_t j = 0; j < b->count && !out->found; j++) {
        const mark *y = &b->items[j];
        while (i < a->count && a->items[i].insn < y->insn) {
            i++;
        }
        if (i == a->count) {
            return;
        }
        const mark *x = &a->items[i];
        if (y->insn < there->part.start || x->stretch < stop || !is_same_machine(x, y)) {
            continue;
        }
        out->found = go_alike(here, there, x, y, min, &out->cycles, &stop);
        out->insn = x->insn;
        out->here = x->stretch;
        out->there = y->stretch;
        out->seen = x->cycle;
    }
}

vta_status vta_parts_match(const vta_part_run *here, const vta_part_run *there, uint64_t from, uint64_t min,
                           vta_match *out, vta_diag *diag)
{
    marks a = {0};
    marks b = {0};
    *out = (vta_match){0};
    const bool good = follow(here, &a) && follow(there, &b);
    if (good) {
        find(here, there, &a, &b, from, min, out);
    }
    free(a.items);
    free(b.items);
    return good ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory to compare two parts of a run");
}

/* -- counters */

static uint64_t if_high(const vta_stretch *s, uint32_t bit)
{
    return is_high(s->debug, bit) ? s->cycles : 0;
}

void vta_parts_count(const vta_stretch *stretches, uint64_t count, vta_counters *c)
{
    enum { LOAD, COMPUTE, STORE };
    for (uint64_t i = 0; i < count; i++) {
        const vta_stretch *s = &stretches[i];
        c->fetch_full += if_high(s, VTA_DEBUG_FETCH_FULL);
        c->fetch_mem += if_high(s, VTA_DEBUG_FETCH_MEM);
        c->load_busy += if_high(s, VTA_DEBUG_BUSY + LOAD);
        c->load_token += if_high(s, VTA_DEBUG_TOKEN + LOAD);
        c->load_mem += if_high(s, VTA_DEBUG_MEM + LOAD);
        c->compute_busy += if_high(s, VTA_DEBUG_BUSY + COMPUTE);
        c->compute_token += if_high(s, VTA_DEBUG_TOKEN + COMPUTE);
        c->compute_mem += if_high(s, VTA_DEBUG_MEM + COMPUTE);
        c->store_busy += if_high(s, VTA_DEBUG_BUSY + STORE);
        c->store_token += if_high(s, VTA_DEBUG_TOKEN + STORE);
        c->store_mem += if_high(s, VTA_DEBUG_MEM + STORE);
    }
}

bool vta_parts_agree(const vta_counters *a, const vta_counters *b)
{
    return a->fetch_full == b->fetch_full && a->fetch_mem == b->fetch_mem && a->load_busy == b->load_busy &&
           a->load_token == b->load_token && a->load_mem == b->load_mem &&
           a->compute_busy == b->compute_busy && a->compute_token == b->compute_token &&
           a->compute_mem == b->compute_mem && a->store_busy == b->store_busy &&
           a->store_token == b->store_token && a->store_mem == b->store_mem;
}
