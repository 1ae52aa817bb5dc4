/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights that stay on chip from one inference to the next. A list is given other places of WGT: each set of
 * weights that stays has entries of its own, which nothing else writes, and is loaded once; the others share
 * what is left, in turn. Loads of what stays are empty in the runs behind the first one (runtime/src/keep.c).
 *
 * Weights stay that cost the most time for their room: those whose entries the array reads the fewest times.
 */
#include <stdlib.h>
#include <string.h>

#include "sched.h"

enum { MAX_CHUNKS = 2048 }; /* LOADs are compared with each other */

/* A LOAD of weights, and the steps that read what it brings. */
typedef struct wgt_chunk {
    const vta_load2d *load;
    int64_t count;   /* entries */
    int64_t place;   /* the first entry that it gets; -1: none yet */
    uint32_t same;   /* the first LOAD of the same weights */
    size_t from, to; /* its step; the last step that reads it */
    uint64_t work;   /* steps of the array with the weights; of the first LOAD: with all their copies */
    bool stays;      /* of the first LOAD */
} wgt_chunk;

typedef struct wgt_placer {
    const machine *machine;
    const step_list *from;
    step_list *to;
    vta_vec chunks;  /* of wgt_chunk, in the order of their LOADs */
    uint32_t *owner; /* by WGT entry: the chunk that is there, from 1 on; 0: none */
    vta_uop *uops;   /* room for a kernel */
} wgt_placer;

static wgt_chunk *chunk_at(const wgt_placer *r, size_t i)
{
    return vta_vec_at(&r->chunks, i);
}

static bool loads_weights(const step *s)
{
    return s->kind == STEP_LOAD && vta_loads_wgt(s->load.memory);
}

static bool same_weights(const vta_load2d *a, const vta_load2d *b)
{
    return a->memory == b->memory && a->offset == b->offset && a->y_size == b->y_size &&
           a->x_size == b->x_size && (a->y_size == 1 || a->x_stride == b->x_stride);
}

/* ---- which step reads which weights */

/* The loop over entries of WGT: of a GEMM that multiplies, or DEPTHWISE. */
typedef struct wgt_loop {
    vta_kernel kernel;
    int64_t out, in, step_out, step_in;
    bool reads;
} wgt_loop;

static wgt_loop loop_of(const step *s)
{
    if (s->kind == STEP_GEMM) {
        const vta_gemm *g = &s->gemm;
        return (wgt_loop){.kernel = g->kernel,
                          .out = g->wgt_out != 0 ? g->iter_out : 1,
                          .in = g->wgt_in != 0 ? g->iter_in : 1,
                          .step_out = g->wgt_out,
                          .step_in = g->wgt_in,
                          .reads = !g->reset};
    }
    return (wgt_loop){.kernel = s->kind == STEP_DEPTHWISE ? s->depthwise.kernel : (vta_kernel){0},
                      .out = 1,
                      .in = 1,
                      .reads = s->kind == STEP_DEPTHWISE};
}

static bool add_chunk(wgt_placer *r, size_t at, const vta_load2d *load)
{
    wgt_chunk fresh = {.load = load,
                       .count = list_fills(load).count,
                       .place = -1,
                       .same = (uint32_t)r->chunks.count,
                       .from = at,
                       .to = at};
    if (r->chunks.count == MAX_CHUNKS) {
        return false;
    }
    for (uint32_t i = 0; i < r->chunks.count && fresh.same == r->chunks.count; i++) {
        fresh.same = same_weights(chunk_at(r, i)->load, load) ? i : fresh.same;
    }
    if (vta_vec_push(&r->chunks, &fresh) == NULL) {
        r->to->failed = true;
        return false;
    }
    for (int64_t e = 0; e < fresh.count; e++) {
        r->owner[load->sram + e] = (uint32_t)r->chunks.count;
    }
    return true;
}

/* Notes that the array reads an entry in step `at`. */
static bool note_read(wgt_placer *r, size_t at, int64_t entry, uint64_t times)
{
    const uint32_t owner = entry < r->machine->wgt ? r->owner[entry] : 0;
    if (owner == 0) {
        return false;
    }
    wgt_chunk *c = chunk_at(r, owner - 1);
    c->to = at;
    chunk_at(r, c->same)->work += times;
    return true;
}

static bool note_reads(wgt_placer *r, size_t at, const step *s)
{
    const wgt_loop loop = loop_of(s);
    uint32_t count;
    bool good = true;
    if (!loop.reads) {
        return true;
    }
    const vta_uop *uops = vtac_vta_list_uops(r->from, loop.kernel, &count);
    const int64_t work = vtac_vta_list_work_of(r->from, r->machine->config, s);
    const uint64_t times = (uint64_t)vta_max(work / (count * loop.out * loop.in), 1);
    for (int64_t i = 0; i < loop.out && good; i++) {
        for (int64_t k = 0; k < loop.in * count && good; k++) {
            const int64_t entry = uops[k % count].aux + i * loop.step_out + k / count * loop.step_in;
            good = note_read(r, at, entry, times);
        }
    }
    return good;
}

/* False: some weights are no constants, or are read from places that no LOAD of the list filled. */
static bool find_chunks(wgt_placer *r)
{
    const step *steps = r->from->steps.items;
    bool good = true;
    for (size_t i = 0; i < r->from->steps.count && good; i++) {
        if (loads_weights(&steps[i])) {
            const vta_load2d *l = &steps[i].load;
            const bool plain = l->buffer.index == CONSTANTS_BUFFER && l->y_size > 0 && l->x_size > 0 &&
                               list_fills(l).count == l->y_size * l->x_size;
            good = plain && add_chunk(r, i, l);
        } else {
            good = note_reads(r, i, &steps[i]);
        }
    }
    return good;
}

/* ---- places */

/* Weights that the array reads seldom first; then in the order of the list. */
static int compare_chunks(const void *a, const void *b)
{
    const wgt_chunk *const *x = a, *const *y = b;
    const double left = (double)(*x)->work / (double)(*x)->count;
    const double right = (double)(*y)->work / (double)(*y)->count;
    return left != right ? (left > right) - (left < right)
                         : ((*x)->from > (*y)->from) - ((*x)->from < (*y)->from);
}

/* Chooses what stays in the first `room` entries. */
static bool choose_resident(wgt_placer *r, int64_t room)
{
    wgt_chunk **order = malloc((r->chunks.count + 1) * sizeof(wgt_chunk *));
    size_t count = 0;
    for (size_t i = 0; order != NULL && i < r->chunks.count; i++) {
        wgt_chunk *c = chunk_at(r, i);
        c->place = -1;
        c->stays = false;
        if (c->same == i) {
            order[count++] = c;
        }
    }
    if (order != NULL) {
        qsort(order, count, sizeof(wgt_chunk *), compare_chunks);
    }
    for (size_t i = 0; i < count; i++) {
        order[i]->stays = order[i]->count <= room;
        room -= order[i]->stays ? order[i]->count : 0;
    }
    r->to->failed = r->to->failed || order == NULL;
    free(order);
    return !r->to->failed;
}

/* True if entries at `place` hold nothing that a step from `at` on still reads. */
static bool is_free(const wgt_placer *r, size_t chunks, int64_t place, int64_t count, size_t at)
{
    bool good = true;
    for (size_t i = 0; i < chunks && good; i++) {
        const wgt_chunk *other = chunk_at(r, i);
        const bool shares = !chunk_at(r, other->same)->stays && other->to >= at;
        good = !shares || !list_meets((list_range){place, count}, (list_range){other->place, other->count});
    }
    return good;
}

/* Weights that stay lie in front, in the order of the list; the others go round behind them. */
static bool place_chunks(wgt_placer *r)
{
    int64_t front = 0;
    for (size_t i = 0; i < r->chunks.count; i++) {
        wgt_chunk *c = chunk_at(r, i);
        if (c->same == i && c->stays) {
            c->place = front;
            front += c->count;
        }
    }
    int64_t next = front;
    bool good = true;
    for (size_t i = 0; i < r->chunks.count && good; i++) {
        wgt_chunk *c = chunk_at(r, i);
        if (chunk_at(r, c->same)->stays) {
            c->place = chunk_at(r, c->same)->place;
            continue;
        }
        c->place = next + c->count <= r->machine->wgt ? next : front;
        next = c->place + c->count;
        good = next <= r->machine->wgt && is_free(r, i, c->place, c->count, c->from);
    }
    return good;
}

/* ---- the list with these places */

/* The place that an entry of WGT gets; -1: it has none. */
static int64_t moved_entry(const wgt_placer *r, int64_t entry)
{
    const uint32_t owner = entry < r->machine->wgt ? r->owner[entry] : 0;
    const wgt_chunk *c = owner > 0 ? chunk_at(r, owner - 1) : NULL;
    return c != NULL ? c->place + entry - c->load->sram : -1;
}

/* True if the loop reaches, from each of the kernel's entries, the places that its entries get. */
static bool moves_alike(const wgt_placer *r, const wgt_loop *loop, int64_t entry)
{
    const int64_t first = moved_entry(r, entry);
    bool good = first >= 0;
    for (int64_t i = 0; i < loop->out && good; i++) {
        for (int64_t k = 0; k < loop->in && good; k++) {
            const int64_t beyond = i * loop->step_out + k * loop->step_in;
            good = moved_entry(r, entry + beyond) == first + beyond;
        }
    }
    return good;
}

static bool move_kernel(wgt_placer *r, const wgt_loop *loop, vta_kernel *kernel)
{
    uint32_t count;
    const vta_uop *uops = vtac_vta_list_uops(r->from, loop->kernel, &count);
    bool good = true;
    for (uint32_t k = 0; k < count && good; k++) {
        r->uops[k] = uops[k];
        if (loop->reads) {
            good = moves_alike(r, loop, uops[k].aux);
            r->uops[k].aux = (uint32_t)moved_entry(r, uops[k].aux);
        }
    }
    *kernel = good ? vtac_vta_list_kernel_of(r->to, r->uops, count) : (vta_kernel){0};
    return good && !r->to->failed;
}

static bool move_step(wgt_placer *r, step *s)
{
    const wgt_loop loop = loop_of(s);
    switch (s->kind) {
    case STEP_GEMM: {
        wgt_loop own = loop;
        own.kernel = s->gemm.kernel;
        return move_kernel(r, &own, &s->gemm.kernel);
    }
    case STEP_DEPTHWISE: return move_kernel(r, &loop, &s->depthwise.kernel);
    case STEP_ALU: {
        const wgt_loop none = {.kernel = s->alu.kernel};
        return move_kernel(r, &none, &s->alu.kernel);
    }
    case STEP_LOAD:
    case STEP_STORE:
    case STEP_REQUANT: break;
    }
    return true;
}

/* Gives a LOAD of weights its place; false: the weights are there already. */
static bool move_load(wgt_placer *r, size_t number, step *s)
{
    const wgt_chunk *c = chunk_at(r, number);
    for (int64_t e = 0; e < c->count; e++) {
        r->owner[c->load->sram + e] = (uint32_t)number + 1;
    }
    s->load.sram = c->place;
    return !chunk_at(r, c->same)->stays || c->same == number;
}

static bool move_steps(wgt_placer *r)
{
    size_t loads = 0;
    memset(r->owner, 0, (size_t)r->machine->wgt * sizeof *r->owner);
    for (size_t i = 0; i < r->from->steps.count; i++) {
        step s = *(const step *)vta_vec_at(&r->from->steps, i);
        const bool there = loads_weights(&s) ? move_load(r, loads++, &s) : true;
        if (!move_step(r, &s) || (there && vta_vec_push(&r->to->steps, &s) == NULL)) {
            return false;
        }
    }
    return !r->to->failed;
}

static bool resident_init(wgt_placer *r, const machine *m, const step_list *from, step_list *to)
{
    *r = (wgt_placer){.machine = m, .from = from, .to = to, .chunks.item_size = sizeof(wgt_chunk)};
    r->owner = calloc((size_t)m->wgt + 1, sizeof *r->owner);
    r->uops = malloc((from->uops.count + 1) * sizeof *r->uops);
    return r->owner != NULL && r->uops != NULL;
}

bool vtac_vta_resident_place(const machine *m, const step_list *from, int64_t shared, step_list *to)
{
    wgt_placer r;
    vtac_vta_list_clear(to);
    const bool good = resident_init(&r, m, from, to) && find_chunks(&r) &&
                      choose_resident(&r, m->wgt - shared) && place_chunks(&r) && move_steps(&r);
    free(r.owner);
    free(r.uops);
    vta_vec_free(&r.chunks);
    return good;
}
