/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses the tiling of a convolution: the best one by the rough estimate, the one that the timing model
 * finds fastest, or the one that a schedule picks.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sched.h"
#include "timing.h"

static vta_status plan_conv(plan *p, vta_diag *diag)
{
    uint32_t count;
    VTA_TRY(vtac_vta_tiling_choose(&p->conv, &p->tiling, 1, &count, diag));
    p->cycles = vtac_vta_tiling_estimate(&p->conv, &p->tiling, &p->units);
    return VTA_OK;
}

vta_status vtac_vta_conv_plan(const machine *m, const vtac_vta_region *region, uint32_t number, plan *out,
                              vta_diag *diag)
{
    vtac_vta_plan_init(m, region, number, out);
    vtac_vta_conv_of(m, region, number, &out->conv);
    return plan_conv(out, diag);
}

vta_status vtac_vta_conv_plan_joined(const machine *m, const vtac_vta_region *region, uint32_t number,
                                     uint32_t after, int64_t slice, plan *out, vta_diag *diag)
{
    const vtac_vta_layer *layer = &region->layers[after];
    vtac_vta_plan_init(m, region, number, out);
    vtac_vta_conv_of(m, region, number, &out->conv);
    if (layer->kind == VTAC_VTA_MAX_POOL || layer->kind == VTAC_VTA_AVG_POOL) {
        vtac_vta_conv_pool(&out->conv, layer, slice);
    } else {
        vtac_vta_conv_join(&out->conv, layer);
    }
    return plan_conv(out, diag);
}

/* UINT64_MAX: not below `limit`. */
static vta_status time_tiling(const plan *p, const tiling *t, step_list *list, uint64_t limit,
                              uint64_t *cycles, vta_diag *diag)
{
    plan trial = *p;
    trial.tiling = *t;
    vtac_vta_list_clear(list);
    const vta_status status = vtac_vta_conv_emit(&trial, list, diag);
    vtac_vta_list_load_ahead(list, p->machine->config, p->machine->latency);
    *cycles = status == VTA_OK ? vtac_vta_timing_below(p->machine, list, 0, limit) : 0;
    *cycles +=
        *cycles > 0 && *cycles < limit ? vtac_vta_tiling_lag(&p->conv, t, *cycles, list->steps.count) : 0;
    return status;
}

enum { MAX_TILINGS = 64 };

/* The time from which a tiling is too slow to be considered beside one that takes `best`. */
uint64_t vtac_vta_far_limit(uint64_t best)
{
    return best < UINT64_MAX ? (uint64_t)(FAR_TILING * (double)best) + 1 : UINT64_MAX;
}

static vta_status refine_with(step_list *list, plan *p, trials *all, vta_diag *diag)
{
    uint64_t best = UINT64_MAX;
    for (uint32_t i = 0; i < all->count; i++) {
        VTA_TRY(time_tiling(p, &all->tilings[i], list, vtac_vta_far_limit(best), &all->cycles[i], diag));
        if (all->cycles[i] > 0 && all->cycles[i] < best) {
            best = all->cycles[i];
            p->tiling = all->tilings[i];
        }
    }
    p->cycles = best;
    return VTA_OK;
}

vta_status vtac_vta_conv_refine(plan *p, uint32_t room, trials *all, vta_diag *diag)
{
    step_list list;
    VTA_TRY(vtac_vta_tiling_choose(&p->conv, all->tilings, room < MAX_TRIALS ? room : MAX_TRIALS, &all->count,
                                   diag));
    vtac_vta_list_init(&list);
    const vta_status status = refine_with(&list, p, all, diag);
    vtac_vta_list_free(&list);
    (void)vtac_vta_tiling_estimate(&p->conv, &p->tiling, &p->units);
    return status;
}

vta_status vtac_vta_conv_fastest(plan *p, uint32_t room, uint64_t limit, vta_diag *diag)
{
    tiling tilings[MAX_TRIALS];
    uint32_t count;
    step_list list;
    vta_status status = VTA_OK;
    VTA_TRY(vtac_vta_tiling_choose(&p->conv, tilings, room < MAX_TRIALS ? room : MAX_TRIALS, &count, diag));
    vtac_vta_list_init(&list);
    for (uint32_t i = 0; i < count && status == VTA_OK; i++) {
        uint64_t cycles;
        status = time_tiling(p, &tilings[i], &list, limit, &cycles, diag);
        limit = status == VTA_OK && cycles > 0 && cycles < limit ? cycles : limit;
    }
    vtac_vta_list_free(&list);
    p->cycles = limit;
    return status;
}

static bool same_tiling(const tiling *a, const tiling *b)
{
    return a->rows == b->rows && a->cols == b->cols && a->group == b->group && a->part == b->part &&
           a->part_rows == b->part_rows && a->part_cols == b->part_cols &&
           a->tiles_outside == b->tiles_outside && a->kept == b->kept && a->parted == b->parted;
}

typedef struct tiling_list {
    tiling tilings[MAX_TILINGS];
    char points[MAX_TILINGS][VTAC_POINT_TEXT];
    double guesses[MAX_TILINGS];
} tiling_list;

static void pick_tiling(plan *p, const vtac_schedules *schedules, tiling_list *w, uint32_t count)
{
    const conv *c = &p->conv;
    char shape[224];
    uint32_t standard = 0;
    while (standard < count && !same_tiling(&w->tilings[standard], &p->tiling)) {
        standard++;
    }
    if (standard == count) { /* not among the first ones: it replaces the last one */
        w->tilings[--standard] = p->tiling;
    }
    for (uint32_t i = 0; i < count; i++) {
        const tiling *t = &w->tilings[i];
        load_of_units units;
        (void)snprintf(w->points[i], sizeof w->points[i],
                       "rows=%" PRId64 " cols=%" PRId64 " group=%" PRId64 " part=%" PRId64 " taps=%" PRId64
                       "x%" PRId64 " outside=%d%s%s",
                       t->rows, t->cols, t->group, t->part, t->part_rows, t->part_cols, t->tiles_outside,
                       t->kept > 0 ? " kept" : "", t->parted ? " parted" : "");
        w->guesses[i] = (double)vtac_vta_tiling_estimate(c, t, &units);
    }
    (void)snprintf(
        shape, sizeof shape,
        "n%" PRId64 " groups%" PRId64 " in%" PRId64 "x%" PRId64 "x%" PRId64 " out%" PRId64 "x%" PRId64
        "x%" PRId64 " kernel%" PRId64 "x%" PRId64 " stride%" PRId64 "x%" PRId64 " planes%" PRId64 " %s %s",
        c->images, c->groups, c->c_in, c->h, c->w, c->c_out, c->oh, c->ow, c->window.kernel[0],
        c->window.kernel[1], c->window.stride[0], c->window.stride[1], c->planes,
        c->depthwise ? "lanes" : "array", c->sum != NULL ? vtac_vta_layer_kinds[c->sum->kind].name : "");
    const vtac_kernel_space space = {.kernel = "vta_conv",
                                     .shape = shape,
                                     .step = p->layer->name,
                                     .points = (const char(*)[VTAC_POINT_TEXT])w->points,
                                     .guesses = w->guesses,
                                     .count = count,
                                     .standard = standard};
    p->tiling = w->tilings[vtac_schedule_pick(schedules, &space)];
    p->cycles = vtac_vta_tiling_estimate(c, &p->tiling, &p->units);
}

vta_status vtac_vta_conv_pick(plan *p, const vtac_schedules *schedules, vta_diag *diag)
{
    uint32_t count;
    tiling_list *w = calloc(1, sizeof *w);
    vta_status status = w != NULL ? vtac_vta_tiling_choose(&p->conv, w->tilings, MAX_TILINGS, &count, diag)
                                  : vta_fail(diag, VTA_NOMEM, "no memory to plan layer '%s'", p->layer->name);
    if (status == VTA_OK) {
        pick_tiling(p, schedules, w, count);
    }
    free(w);
    return status;
}
