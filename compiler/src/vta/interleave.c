/* SPDX-License-Identifier: Apache-2.0
 *
 * Interleaves the pieces of several layers in one stream. Layers alone wait for one unit each: a layer with
 * many output channels waits for writes, the next one, which reads them, for reads. So a piece is emitted as
 * soon as its input is stored, even before the layer that makes its input is over, and while other pieces of
 * that layer keep the write bus busy.
 *
 * A small simulation finds the order: the next piece is the one that could start on the array first, among
 * the next pieces of the layers under way. Dependencies are found beforehand, in memory and in scratchpads.
 * Pieces of one layer keep their order, so a dependency is a number of pieces of an earlier layer.
 */
#include <stdlib.h>
#include <string.h>

#include "sched.h"
#include "vta/number.h"

enum {
    WINDOW = INTERLEAVE_WINDOW,
    INSN_BYTES = 16,
    NOTICE = 32,  /* cycles from data in a scratchpad to work on them */
    STORED = 100, /* cycles from a store's last beat to a load behind it, beyond the memory's latency */
};

typedef uint64_t cycles;

typedef struct draft_piece {
    size_t first, count; /* drafts */
    uint32_t stage;
    uint32_t need[WINDOW]; /* by distance of stages: pieces of that earlier stage that come first */
    uint32_t slot, out;    /* 1 + the last piece of its own stage that read its slots; that stored its sums */
    uint32_t after;        /* all stages before this one are over */
    cycles first_read, read; /* cycles of the bus: until its work can begin; in all */
    cycles array, alu, write, fetch;
    cycles over, stored; /* times */
} draft_piece;

typedef struct progress {
    uint32_t first, count; /* pieces */
    uint32_t done;
} progress;

typedef struct interleaver {
    const machine *m;
    step_list *list;
    interleave_stage *stages;
    progress *progress;
    uint32_t stage_count;
    draft_piece *pieces;
    uint32_t piece_count;
    uint32_t *writer; /* by granule of WORK: 1 + the last piece that stores it */
    uint32_t *reader; /* by granule of WORK: 1 + the last stage that loads it */
    int64_t granule;
    uint64_t granules;
    uint32_t *inp, *wgt, *out;        /* by entry: 1 + the last piece that reads, or stores, it */
    uint32_t *place;                  /* by piece: 1 + its place in the order; 0: none yet */
    uint32_t placed, held;            /* held: the first place whose calls may be held back */
    cycles reads, writes, array, alu; /* times until which the units are busy */
    draft_piece *last;                /* the last piece; the next members have the state before it */
    cycles alu_before, writes_before;
    bool dry; /* estimates only */
} interleaver;

/* ---- dependencies */

typedef struct area {
    uint64_t first, rows, pitch, count; /* granules */
} area;

static area area_of(const interleaver *w, int64_t offset, int64_t y, int64_t x, int64_t stride, int64_t bytes)
{
    const int64_t scale = bytes / w->granule;
    const bool one = stride == x || y == 1;
    return (area){(uint64_t)(offset * scale), (uint64_t)(one ? 1 : y), (uint64_t)(stride * scale),
                  (uint64_t)((one ? x * y : x) * scale)};
}

static void follow_piece(interleaver *w, draft_piece *p, uint32_t number)
{
    const draft_piece *other = &w->pieces[number];
    const uint32_t are_disjoint = p->stage - other->stage;
    if (are_disjoint == 0) {
        return;
    }
    if (are_disjoint > WINDOW) {
        p->after = p->after > other->stage + 1 ? p->after : other->stage + 1;
        return;
    }
    const uint32_t count = number - w->progress[other->stage].first + 1;
    uint32_t *need = &p->need[are_disjoint - 1];
    *need = *need > count ? *need : count;
}

static void follow_stage(draft_piece *p, uint32_t stage)
{
    if (stage < p->stage) { /* wraps around for the first stage */
        p->after = p->after > stage + 1 ? p->after : stage + 1;
    }
}

static void note_load(interleaver *w, draft_piece *p, const vta_load2d *l)
{
    if (l->buffer.index != WORK_BUFFER) {
        return;
    }
    const area a =
        area_of(w, l->offset, l->y_size, l->x_size, l->x_stride, w->m->config->elem_bytes[l->memory]);
    uint32_t last = 0;
    for (uint64_t y = 0; y < a.rows; y++) {
        for (uint64_t g = a.first + y * a.pitch; g < a.first + y * a.pitch + a.count && g < w->granules;
             g++) {
            if (w->writer[g] > 0 && w->writer[g] != last) {
                last = w->writer[g];
                follow_piece(w, p, last - 1);
            }
            w->reader[g] = p->stage + 1;
        }
    }
}

static void note_store(interleaver *w, draft_piece *p, uint32_t number, const vta_store2d *s)
{
    const area a =
        area_of(w, s->offset, s->y_size, s->x_size, s->x_stride, w->m->config->elem_bytes[VTA_MEM_OUT]);
    for (uint64_t y = 0; y < a.rows; y++) {
        for (uint64_t g = a.first + y * a.pitch; g < a.first + y * a.pitch + a.count && g < w->granules;
             g++) {
            if (w->writer[g] > 0) {
                follow_stage(p, w->pieces[w->writer[g] - 1].stage);
            }
            if (w->reader[g] > 0) { /* in its own stage: earlier readers are not known */
                follow_stage(p, w->reader[g] - 1 < p->stage ? w->reader[g] - 1 : p->stage - 1);
            }
            w->writer[g] = number + 1;
        }
    }
}

/* ---- costs */

static cycles beats_of(const interleaver *w, int64_t elements, vta_memory memory)
{
    return (cycles)(elements * w->m->config->elem_bytes[memory] / w->m->beat);
}

static void note_cost(interleaver *w, draft_piece *p, const step *s)
{
    switch (s->kind) {
    case STEP_LOAD:
        p->read += beats_of(w, s->load.y_size * s->load.x_size, s->load.memory);
        if (p->array == 0) {
            p->first_read = p->read;
        }
        break;
    case STEP_STORE: p->write += beats_of(w, s->store.y_size * s->store.x_size, VTA_MEM_OUT); break;
    /* Sums go through the ALU's port into ACC. */
    case STEP_GEMM:
        p->alu += (cycles)(s->gemm.iter_out * s->gemm.iter_in);
        p->array += (cycles)vtac_vta_list_work_of(w->list, w->m->config, s);
        break;
    case STEP_DEPTHWISE: p->array += (cycles)vtac_vta_list_work_of(w->list, w->m->config, s); break;
    case STEP_ALU:
        p->alu += (cycles)(s->alu.iter_out * s->alu.iter_in * list_nest_of(w->list, s).uops);
        break;
    case STEP_REQUANT: p->alu += (cycles)(s->requant.iter_out * s->requant.iter_in); break;
    }
    p->fetch += INSN_BYTES;
}

static void set_range(uint32_t *of, list_range range, uint32_t value)
{
    for (int64_t i = range.first; i < range.first + range.count; i++) {
        of[i] = value;
    }
}

static uint32_t latest_piece(const interleaver *w, const uint32_t *of, list_range range, uint32_t stage,
                             uint32_t before)
{
    uint32_t other = 0; /* the last piece of another stage */
    for (int64_t i = range.first; i < range.first + range.count; i++) {
        if (of[i] > before && of[i] != other) {
            const bool own = w->pieces[of[i] - 1].stage == stage;
            before = own ? of[i] : before;
            other = own ? other : of[i];
        }
    }
    return before;
}

/* Notes the slots that a step reuses. */
static void note_slots(interleaver *w, draft_piece *p, uint32_t number, const step *s)
{
    if (s->kind == STEP_LOAD && (s->load.memory == VTA_MEM_INP || vta_loads_wgt(s->load.memory))) {
        p->slot = latest_piece(w, s->load.memory == VTA_MEM_INP ? w->inp : w->wgt, list_fills(&s->load),
                               p->stage, p->slot);
    } else if (s->kind == STEP_GEMM || s->kind == STEP_DEPTHWISE) {
        const list_nest n = list_nest_of(w->list, s);
        set_range(w->inp, (list_range){n.src, n.src_count}, number + 1);
        set_range(w->wgt, (list_range){n.wgt, n.wgt_count}, number + 1);
        p->out = latest_piece(w, w->out, (list_range){n.dst, n.dst_count}, p->stage, p->out);
    } else if (s->kind == STEP_STORE) {
        set_range(w->out, (list_range){s->store.sram, s->store.y_size * s->store.x_size}, number + 1);
    }
}

static void note_piece(interleaver *w, uint32_t number)
{
    draft_piece *p = &w->pieces[number];
    for (size_t i = 0; i < p->count; i++) {
        const step *s = vta_vec_at(&w->list->drafts, p->first + i);
        note_cost(w, p, s);
        note_slots(w, p, number, s);
        if (s->kind == STEP_LOAD) {
            note_load(w, p, &s->load);
        } else if (s->kind == STEP_STORE) {
            note_store(w, p, number, &s->store);
        }
    }
}

/* True if two stages use disjoint parts of the scratchpads, and not both the table. */
static bool are_disjoint(const interleave_stage *a, const interleave_stage *b)
{
    return !list_meets(a->inp, b->inp) && !list_meets(a->wgt, b->wgt) && !list_meets(a->acc, b->acc) &&
           !list_meets(a->side, b->side) && !(a->table && b->table);
}

static void find_pieces(interleaver *w)
{
    uint32_t number = 0;
    for (uint32_t s = 0; s < w->stage_count; s++) {
        const interleave_stage *stage = &w->stages[s];
        w->progress[s].first = number;
        uint32_t after = s > WINDOW ? s - WINDOW : 0;
        for (uint32_t other = after; other < s; other++) {
            after = are_disjoint(stage, &w->stages[other]) ? after : other + 1;
        }
        for (; number < w->piece_count; number++) {
            const size_t first = *(const size_t *)vta_vec_at(&w->list->pieces, number);
            const size_t end = number + 1 < w->piece_count
                                   ? *(const size_t *)vta_vec_at(&w->list->pieces, number + 1)
                                   : w->list->drafts.count;
            if (first >= stage->end) {
                break;
            }
            w->pieces[number] =
                (draft_piece){.first = first, .count = end - first, .stage = s, .after = after};
            w->progress[s].count++;
            note_piece(w, number);
        }
    }
}

/* ---- order */

static bool is_ready(const interleaver *w, const draft_piece *p)
{
    for (uint32_t s = p->after; s > 0 && s + WINDOW + 1 > p->after; s--) {
        if (w->progress[s - 1].done < w->progress[s - 1].count) {
            return false;
        }
    }
    for (uint32_t d = 0; d < WINDOW && d < p->stage; d++) {
        if (w->progress[p->stage - 1 - d].done < p->need[d]) {
            return false;
        }
    }
    return true;
}

typedef struct forecast {
    cycles load, begin; /* times at which its loads and its work may begin */
} forecast;

static cycles later(cycles a, cycles b)
{
    return a > b ? a : b;
}

static forecast forecast_of(const interleaver *w, const draft_piece *p)
{
    const cycles latency = (cycles)w->m->latency;
    cycles load = 0;
    for (uint32_t d = 0; d < WINDOW && d < p->stage; d++) {
        if (p->need[d] > 0) {
            const draft_piece *other = &w->pieces[w->progress[p->stage - 1 - d].first + p->need[d] - 1];
            load = later(load, other->stored + STORED + latency);
        }
    }
    load = later(load, p->slot > 0 ? w->pieces[p->slot - 1].over : 0);
    load = later(load, w->reads);
    cycles begin = later(w->array, p->read > 0 ? load + p->first_read + latency + NOTICE : 0);
    begin = later(begin, p->out > 0 ? w->pieces[p->out - 1].stored : 0);
    return (forecast){load, begin};
}

static void note_beside(interleaver *w, const draft_piece *p)
{
    interleave_stage *stage = &w->stages[p->stage];
    if (stage->began || p->array + p->alu == 0) {
        return;
    }
    stage->began = true;
    for (uint32_t d = 1; d <= WINDOW && d <= p->stage; d++) {
        const progress *other = &w->progress[p->stage - d];
        stage->beside = other->done < other->count ? p->stage - d + 1 : stage->beside;
    }
}

/* The ALU's work on the last piece is held back until the next piece is on the array. */
static void delay_last(interleaver *w, cycles begin)
{
    draft_piece *p = w->last;
    if (p != NULL && p->array > 0) {
        w->alu = later(w->alu_before, later(p->over, begin)) + p->alu;
        w->writes = later(w->writes_before, w->alu) + p->write;
        p->stored = w->writes;
    }
}

static void put_piece(interleaver *w, uint32_t number)
{
    draft_piece *p = &w->pieces[number];
    progress *own = &w->progress[p->stage];
    const forecast f = forecast_of(w, p);
    /* Releases the held epilogue if this piece depends on it. */
    for (uint32_t d = 0; d < WINDOW && d < p->stage && w->list->later.count > 0; d++) {
        if (p->need[d] > 0 && w->place[w->progress[p->stage - 1 - d].first + p->need[d] - 1] > w->held) {
            vtac_vta_list_flush(w->list);
        }
    }
    if (w->list->later.count > 0 && p->after > 0 && own->done == 0) {
        vtac_vta_list_flush(w->list);
    }
    delay_last(w, f.begin);
    w->held =
        w->list->later.count == 0 || p->array > 0 ? w->placed : w->held; /* main calls release the epilogue */
    for (size_t i = 0; i < p->count && !w->dry; i++) {
        vtac_vta_list_put(w->list, vta_vec_at(&w->list->drafts, p->first + i));
    }
    w->place[number] = ++w->placed;
    w->reads = (p->read > 0 ? f.load + p->read : w->reads) + p->fetch / (cycles)w->m->beat;
    w->array = later(p->array > 0 ? f.begin + p->array : w->array,
                     p->array > 0 ? w->reads + (p->read > p->first_read ? NOTICE : 0) : 0);
    p->over = later(w->array, f.begin);
    w->last = p;
    w->alu_before = w->alu;
    w->writes_before = w->writes;
    w->alu = later(w->alu, p->over) + p->alu;
    w->writes = later(w->writes, w->alu) + p->write;
    p->stored = w->writes;
    note_beside(w, p);
    own->done++;
}

static void interleave_pieces(interleaver *w)
{
    uint32_t oldest = 0;
    while (oldest < w->stage_count) {
        uint32_t best = UINT32_MAX;
        cycles begin = 0;
        if (w->progress[oldest].done == w->progress[oldest].count) {
            oldest++;
            continue;
        }
        for (uint32_t s = oldest; s <= oldest + WINDOW && s < w->stage_count; s++) {
            const progress *g = &w->progress[s];
            const uint32_t next = g->first + g->done;
            if (g->done == g->count || !is_ready(w, &w->pieces[next])) {
                continue;
            }
            const forecast f = forecast_of(w, &w->pieces[next]);
            const cycles when = f.begin + (w->pieces[next].read > 0 ? (f.load - w->reads) : 0);
            if (best == UINT32_MAX || when < begin || (when == begin && w->pieces[next].array == 0)) {
                best = next;
                begin = when;
            }
        }
        put_piece(w, best);
    }
    vtac_vta_list_flush(w->list);
}

vta_status vtac_vta_list_interleave(step_list *list, const machine *m, interleave_stage *stages,
                                    uint32_t count, uint64_t work_bytes, uint64_t *cycles_taken,
                                    vta_diag *diag)
{
    interleaver w = {.m = m,
                     .dry = cycles_taken != NULL,
                     .list = list,
                     .stages = stages,
                     .stage_count = count,
                     .piece_count = (uint32_t)list->pieces.count};
    w.granule = vta_min(m->config->elem_bytes[VTA_MEM_INP],
                        vta_min(m->config->elem_bytes[VTA_MEM_ACC8], m->config->elem_bytes[VTA_MEM_OUT]));
    w.granules = work_bytes / (uint64_t)w.granule + 1;
    w.progress = calloc(count + 1, sizeof *w.progress);
    w.pieces = calloc(w.piece_count + 1, sizeof *w.pieces);
    w.writer = calloc(w.granules, sizeof *w.writer);
    w.reader = calloc(w.granules, sizeof *w.reader);
    w.place = calloc(w.piece_count + 1, sizeof *w.place);
    w.inp = calloc((size_t)m->inp, sizeof *w.inp);
    w.wgt = calloc((size_t)m->wgt, sizeof *w.wgt);
    w.out = calloc((size_t)m->acc, sizeof *w.out);
    const bool good = w.progress != NULL && w.pieces != NULL && w.writer != NULL && w.reader != NULL &&
                      w.place != NULL && w.inp != NULL && w.wgt != NULL && w.out != NULL && !list->failed;
    list->drafting = false;
    if (good) {
        find_pieces(&w);
        interleave_pieces(&w);
    }
    if (cycles_taken != NULL) {
        *cycles_taken = later(later(w.array, w.reads), later(w.alu, w.writes));
    }
    free(w.progress);
    free(w.pieces);
    free(w.writer);
    free(w.reader);
    free(w.place);
    free(w.inp);
    free(w.wgt);
    free(w.out);
    return good && !list->failed ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory to order a schedule");
}
