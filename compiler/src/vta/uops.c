/* SPDX-License-Identifier: Apache-2.0
 *
 * The LOADs of micro-ops that the runtime inserts, and the one that each instruction needs: the algorithm of
 * runtime/src/kernel.c without the micro-ops. It depends only on the order of the calls, so it runs before
 * any time is known.
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "vta/number.h"
#include "vta/uop_loads.h"

typedef struct resident {
    uint32_t load; /* the LOAD that brought it, from 1 on; 0: not loaded */
    uint32_t sram, count;
    uint32_t used; /* the last step that used it, from 1 on */
} resident;

typedef struct requant_kernel {
    vta_uop uop;
    uint32_t kernel; /* kernel + 1; 0: a free place */
} requant_kernel;

typedef struct planner {
    uop_plan *plan;
    const step_list *list;
    int64_t acc, depth;
    resident *kernels; /* of the list, and then of REQUANTs without such a kernel */
    requant_kernel *requants;
    size_t requant_size, requant_count;
    uint32_t *owner; /* by entry: kernel + 1. NULL: there is room for all */
    uint32_t *left;  /* by entry: `used` of the kernel that was there last */
    int64_t top, open, close;
    uint32_t last, spare; /* LOADs, from 1 on: the newest in use; the reserved one */
    int64_t next, limit;  /* of the newest: the entry behind its micro-ops; the maximum that it may bring */
} planner;

static uop_load *load_at(const planner *p, uint32_t number)
{
    return vta_vec_at(&p->plan->loads, number - 1);
}

/* The number of a REQUANT's kernel, which has one micro-op. */
static uint32_t requant_kernel_of(planner *p, const job *j)
{
    const vta_uop uop = {.dst = (uint32_t)(j->dst.first % p->acc),
                         .src = (uint32_t)j->src.first,
                         .aux = (uint32_t)(j->other.first / j->record)};
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
        place->kernel = vtac_vta_list_has(p->list, &uop, 1, &same)
                            ? same.index + 1
                            : (uint32_t)(p->list->kernels.count + ++p->requant_count);
        p->kernels[place->kernel - 1].count = 1;
    }
    return place->kernel - 1;
}

/* The first entry of the least recently used window of `count` entries. */
static int64_t oldest_window(const planner *p, int64_t count)
{
    int64_t best = 0;
    uint32_t best_age = UINT32_MAX;
    for (int64_t e = 0; e + count <= p->depth; e++) {
        uint32_t age = 0;
        for (int64_t at = e + count - 1; at >= e; at--) {
            if (p->owner[at] == 0) {
                continue;
            }
            const resident *there = &p->kernels[p->owner[at] - 1];
            age = there->used > age ? there->used : age;
            if (age >= best_age) { /* no window with a part of it is older */
                e = (int64_t)there->sram + there->count - 1;
                break;
            }
            at = there->sram;
        }
        if (age < best_age) {
            best_age = age;
            best = e;
        }
    }
    return best;
}

static void evict_kernels(planner *p, int64_t start, int64_t count)
{
    for (int64_t e = start; e < start + count; e++) {
        if (p->owner[e] != 0) {
            resident *victim = &p->kernels[p->owner[e] - 1];
            uint32_t *left = &p->left[victim->sram];
            for (uint32_t i = 0; i < victim->count; i++) {
                left[i] = victim->used;
            }
            memset(&p->owner[victim->sram], 0, victim->count * sizeof *p->owner);
            victim->load = 0;
            e = (int64_t)victim->sram + victim->count - 1;
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
        const int64_t wide = vta_max(count, p->depth / VTA_UOP_WINDOW_SHARE);
        p->open = oldest_window(p, wide);
        p->close = p->open + wide;
    }
    const int64_t sram = p->open;
    p->open += count;
    evict_kernels(p, sram, count);
    p->top = vta_max(p->top, p->open);
    return sram;
}

/* True if no step since the LOAD has used the kernel's place. */
static bool is_free_since(const planner *p, const resident *kernel, uint32_t load)
{
    const uint32_t *left = p->left != NULL ? &p->left[kernel->sram] : NULL;
    uint32_t newest = 0;
    for (uint32_t i = 0; left != NULL && i < kernel->count; i++) {
        newest = left[i] > newest ? left[i] : newest;
    }
    return newest <= load_at(p, load)->at;
}

static uint32_t append_load(planner *p, size_t at)
{
    const uop_load fresh = {.at = (uint32_t)at};
    p->plan->failed = p->plan->failed || vta_vec_push(&p->plan->loads, &fresh) == NULL;
    return (uint32_t)p->plan->loads.count;
}

/* Brings a kernel before a step: by the newest LOAD, by the reserved one, or by a LOAD here. */
static void bring_kernel(planner *p, resident *kernel, size_t at)
{
    kernel->sram = (uint32_t)make_room(p, kernel->count);
    if (p->last == 0 || load_at(p, p->last)->count + kernel->count > p->limit || kernel->sram != p->next ||
        !is_free_since(p, kernel, p->last)) {
        const bool kept = p->spare > 0 && is_free_since(p, kernel, p->spare);
        p->limit = p->last == 0 ? VTA_UOP_FIRST_LIMIT : VTA_UOP_LOAD_LIMIT;
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

/* The LOAD that a kernel needs before step `at`. */
static uint32_t require_kernel(planner *p, uint32_t number, size_t at)
{
    resident *kernel = &p->kernels[number];
    if (kernel->load == 0) {
        bring_kernel(p, kernel, at);
        uint32_t *owner = p->owner != NULL ? &p->owner[kernel->sram] : NULL;
        for (uint32_t i = 0; owner != NULL && i < kernel->count; i++) {
            owner[i] = number + 1;
        }
    }
    kernel->used = (uint32_t)at + 1;
    return kernel->load;
}

static bool planner_init(planner *p, uop_plan *of, const machine *m, const step_list *list, size_t requants)
{
    const size_t kernels = list->kernels.count;
    const size_t uops = list->uops.count;
    *p = (planner){.plan = of, .list = list, .acc = m->acc, .depth = m->uop, .requant_size = 1};
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
        p->left = calloc((size_t)p->depth, sizeof *p->left);
        good = good && p->owner != NULL && p->left != NULL;
    }
    return good;
}

bool vtac_vta_uop_plan_make(model *t)
{
    planner p;
    uop_plan *of = &t->uops;
    *of = (uop_plan){.loads.item_size = sizeof(uop_load)};
    of->need = malloc((t->count + 1) * sizeof *of->need);
    of->failed = !planner_init(&p, of, t->m, t->list, t->requant_count) || of->need == NULL;
    for (size_t i = 0; !of->failed && i < t->count; i++) {
        const job *j = &t->jobs[i];
        of->need[i] = runs_on_array(j) || j->kind == STEP_ALU ? require_kernel(&p, j->kernel, i)
                      : j->kind == STEP_REQUANT ? require_kernel(&p, requant_kernel_of(&p, j), i)
                                                : 0;
    }
    for (size_t i = 0; t->list->uops_kept && i < of->loads.count; i++) {
        ((uop_load *)of->loads.items)[i].count = 0;
    }
    of->end = calloc(of->loads.count + 1, sizeof *of->end);
    free(p.kernels);
    free(p.requants);
    free(p.owner);
    free(p.left);
    return !of->failed && of->end != NULL;
}

void vtac_vta_uop_plan_free(uop_plan *of)
{
    free(of->need);
    free(of->end);
    vta_vec_free(&of->loads);
}
