/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the runtime puts LOADs of micro-ops, and which of them an instruction needs: what
 * runtime/src/kernel.c does, without the micro-ops. It depends on the order of the calls alone, so it is
 * known before any time is.
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum {
    LOAD_LIMIT = 64, /* micro-ops that one LOAD brings at most, */
    FIRST_LIMIT = 32,
    WINDOW_SHARE = 32, /* of the scratchpad, at least, is given up at a time */
};

typedef struct resident {
    uint32_t load; /* the one that brought it, counted from 1; 0: it is not there */
    uint32_t sram, count;
} resident;

typedef struct requant_kernel {
    vta_uop uop;
    uint32_t kernel; /* + 1; 0: a free place */
} requant_kernel;

typedef struct planner {
    uop_plan *plan;
    const step_list *list;
    int64_t acc, depth;
    resident *kernels; /* those of the list, and behind them REQUANTs' that are none of these */
    requant_kernel *requants;
    size_t requant_size, requant_count;
    uint32_t *owner, *used; /* of an entry: kernel + 1, and the newest step that used it, counted from 1.
                               NULL: all have room */
    int64_t top, open, close;
    uint32_t last, spare; /* LOADs, counted from 1: the newest in use, and the one that is kept */
    int64_t next, limit;  /* of the newest: the entry behind what it brings, and how much it may bring */
} planner;

static uop_load *load_at(const planner *p, uint32_t number)
{
    return vta_vec_at(&p->plan->loads, number - 1);
}

/* The number of a requantization's kernel: of one micro-op. */
static uint32_t requant_kernel_of(planner *p, const vta_requant *r)
{
    const vta_uop uop = {
        .dst = (uint32_t)(r->dst % p->acc), .src = (uint32_t)r->src, .aux = (uint32_t)r->params};
    const uint64_t key = (uint64_t)uop.dst << 40 ^ (uint64_t)uop.src << 20 ^ (uint64_t)uop.aux;
    size_t i = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    requant_kernel *place = &p->requants[i & (p->requant_size - 1)];
    while (place->kernel != 0 &&
           (place->uop.dst != uop.dst || place->uop.src != uop.src || place->uop.aux != uop.aux)) {
        place = &p->requants[++i & (p->requant_size - 1)];
    }
    if (place->kernel == 0) {
        vta_kernel same;
        place->uop = uop;
        place->kernel = list_has(p->list, &uop, 1, &same)
                            ? same.index + 1
                            : (uint32_t)(p->list->kernels.count + ++p->requant_count);
        p->kernels[place->kernel - 1].count = 1;
    }
    return place->kernel - 1;
}

static uint32_t age_of(const planner *p, int64_t entry)
{
    return p->owner[entry] != 0 ? p->used[entry] : 0;
}

/* The first entry of the window whose newest use is the oldest. */
static int64_t oldest_window(const planner *p, int64_t count)
{
    int64_t best = 0;
    uint32_t best_age = UINT32_MAX;
    for (int64_t e = 0; e + count <= p->depth; e++) {
        uint32_t age = 0;
        for (int64_t i = count - 1; i >= 0; i--) {
            age = age_of(p, e + i) > age ? age_of(p, e + i) : age;
            if (age >= best_age) { /* so is every window with this entry */
                e += i;
                break;
            }
        }
        if (age < best_age) {
            best_age = age;
            best = e;
        }
    }
    return best;
}

static void evict(planner *p, int64_t start, int64_t count)
{
    for (int64_t e = start; e < start + count; e++) {
        if (p->owner[e] != 0) {
            resident *victim = &p->kernels[p->owner[e] - 1];
            victim->load = 0;
            memset(&p->owner[victim->sram], 0, victim->count * sizeof *p->owner);
        }
    }
}

static int64_t make_room(planner *p, int64_t count)
{
    if (p->top + count <= p->depth) {
        p->top += count;
        return p->top - count;
    }
    if (p->open + count > p->close) {
        const int64_t wide = most(count, p->depth / WINDOW_SHARE);
        p->open = oldest_window(p, wide);
        p->close = p->open + wide;
    }
    const int64_t sram = p->open;
    p->open += count;
    evict(p, sram, count);
    p->top = most(p->top, p->open);
    return sram;
}

/* No step from the LOAD on has used the kernel's place. */
static bool is_free_since(const planner *p, const resident *kernel, uint32_t load)
{
    bool is_free = true;
    for (uint32_t i = 0; p->used != NULL && i < kernel->count; i++) {
        is_free = is_free && p->used[kernel->sram + i] <= load_at(p, load)->at;
    }
    return is_free;
}

static uint32_t append_load(planner *p, size_t at)
{
    const uop_load fresh = {.at = (uint32_t)at};
    p->plan->failed = p->plan->failed || vta_vec_push(&p->plan->loads, &fresh) == NULL;
    return (uint32_t)p->plan->loads.count;
}

/* Brings the kernel before a step: by the LOAD that went before, by the one that is kept, or by one here. */
static void bring_kernel(planner *p, resident *kernel, size_t at)
{
    kernel->sram = (uint32_t)make_room(p, kernel->count);
    if (p->last == 0 || load_at(p, p->last)->count + kernel->count > p->limit || kernel->sram != p->next ||
        !is_free_since(p, kernel, p->last)) {
        const bool kept = p->spare > 0 && is_free_since(p, kernel, p->spare);
        p->limit = p->last == 0 ? FIRST_LIMIT : LOAD_LIMIT;
        p->last = kept ? p->spare : append_load(p, at);
        p->spare = kept ? 0 : p->spare;
    }
    if (p->plan->failed) {
        return;
    }
    uop_load *load = load_at(p, p->last);
    load->count += kernel->count;
    p->next = kernel->sram + kernel->count;
    kernel->load = p->last;
    if (p->spare == 0 && load->count >= p->limit / 2) {
        p->spare = append_load(p, at);
    }
}

/* The LOAD that a kernel needs before a step. */
static uint32_t require(planner *p, uint32_t number, size_t at)
{
    resident *kernel = &p->kernels[number];
    if (kernel->load == 0) {
        bring_kernel(p, kernel, at);
        for (uint32_t i = 0; p->owner != NULL && i < kernel->count; i++) {
            p->owner[kernel->sram + i] = number + 1;
        }
    }
    for (uint32_t i = 0; p->used != NULL && i < kernel->count; i++) {
        p->used[kernel->sram + i] = (uint32_t)at + 1;
    }
    return kernel->load;
}

static bool planner_init(planner *p, uop_plan *of, const machine *m, const step_list *list)
{
    const size_t kernels = list->kernels.count;
    size_t requants = 0, uops = list->uops.count;
    *p = (planner){.plan = of, .list = list, .acc = m->acc, .depth = m->uop, .requant_size = 1};
    for (size_t i = 0; i < list->steps.count; i++) {
        requants += step_at(list, i)->kind == STEP_REQUANT;
    }
    while (p->requant_size < 2 * requants + 1) {
        p->requant_size *= 2;
    }
    p->kernels = calloc(kernels + requants + 1, sizeof *p->kernels);
    p->requants = calloc(p->requant_size, sizeof *p->requants);
    bool good = p->kernels != NULL && p->requants != NULL;
    for (size_t k = 0; good && k < kernels; k++) {
        p->kernels[k].count = ((const list_kernel *)vta_vec_at(&list->kernels, k))->count;
    }
    if (uops + requants > (size_t)p->depth) {
        p->owner = calloc((size_t)p->depth, sizeof *p->owner);
        p->used = calloc((size_t)p->depth, sizeof *p->used);
        good = good && p->owner != NULL && p->used != NULL;
    }
    return good;
}

static uint32_t need_of(planner *p, const step *s, size_t at)
{
    switch (s->kind) {
    case STEP_GEMM: return require(p, s->gemm.kernel.index, at);
    case STEP_DEPTHWISE: return require(p, s->depthwise.kernel.index, at);
    case STEP_ALU: return require(p, s->alu.kernel.index, at);
    case STEP_REQUANT: return require(p, requant_kernel_of(p, &s->requant), at);
    case STEP_LOAD:
    case STEP_STORE: break;
    }
    return 0;
}

bool uop_plan_make(uop_plan *of, const machine *m, const step_list *list)
{
    planner p;
    *of = (uop_plan){.loads.item_size = sizeof(uop_load)};
    of->need = calloc(list->steps.count + 1, sizeof *of->need);
    of->failed = !planner_init(&p, of, m, list) || of->need == NULL;
    for (size_t i = 0; !of->failed && i < list->steps.count; i++) {
        of->need[i] = need_of(&p, step_at(list, i), i);
    }
    of->end = calloc(of->loads.count + 1, sizeof *of->end);
    free(p.kernels);
    free(p.requants);
    free(p.owner);
    free(p.used);
    return !of->failed && of->end != NULL;
}

void uop_plan_free(uop_plan *of)
{
    free(of->need);
    free(of->end);
    vta_vec_free(&of->loads);
}
