/* SPDX-License-Identifier: Apache-2.0
 *
 * The decisions that are made before layers are planned one by one.
 *
 * - folds: the first convolution has few channels, so the host writes the columns of its window, or the whole
 *   window, as channels;
 * - joins: a sum is computed with the layer that makes one of its operands, which saves that operand's trip
 *   through memory; a pool is computed with the layer that makes its input;
 * - slices: a tensor that a concatenation only copies is made in its place there;
 * - groups: layers that are computed together, tile by tile.
 */
#include <stdlib.h>
#include <string.h>

#include "sched.h"

/* The number of layers that read a tensor, and the last of them. */
typedef struct readers {
    uint32_t count, layer;
} readers;

static readers readers_of(const vtac_vta_region *region, uint32_t tensor)
{
    readers found = {0};
    for (uint32_t n = 0; n < region->layer_count; n++) {
        for (uint32_t k = 0; k < region->layers[n].input_count; k++) {
            if (region->layers[n].inputs[k] == tensor) {
                found = (readers){found.count + 1, n};
            }
        }
    }
    return found;
}

/* The layer that makes a tensor; -1 for an input. */
static int32_t maker_of(const vtac_vta_region *region, uint32_t tensor)
{
    for (uint32_t n = 0; n < region->layer_count; n++) {
        if (region->layers[n].output == tensor) {
            return (int32_t)n;
        }
    }
    return -1;
}

/* ---- folds */

static void fold_tensor(vtac_vta_tensor *t, const vtac_vta_window *window, const vtac_vta_tensor *made,
                        fold_kind kind)
{
    t->folded = kind != FOLD_NONE;
    t->fold = vtac_vta_conv_fold(window, kind);
    t->stored_c = t->c * t->fold.kernel[0] * t->fold.kernel[1];
    t->stored_h = kind == FOLD_ALL ? made->h : t->h;
    t->stored_w = kind == FOLD_NONE ? t->w : made->w;
}

/* Chooses the fold that makes the layer fastest, what the host takes for its bytes counted; a fold with more
 * work for the host must gain 5 %. */
static void choose_fold(const machine *m, vtac_vta_region *region, uint32_t tensor, uint32_t number,
                        double byte_cost)
{
    vtac_vta_tensor *t = &region->tensors[tensor];
    const vtac_vta_layer *layer = &region->layers[number];
    const vtac_vta_tensor *made = &region->tensors[layer->output];
    fold_kind best = FOLD_NONE;
    uint64_t min_cycles = UINT64_MAX;
    for (fold_kind kind = FOLD_NONE; kind < FOLD_KINDS; kind++) {
        plan p;
        fold_tensor(t, &layer->window, made, kind);
        const double bytes = (double)(t->n * t->stored_c * t->stored_h * t->stored_w);
        if (vtac_vta_layer_kinds[layer->kind].plan(m, region, number, &p, NULL) == VTA_OK &&
            p.cycles + (uint64_t)(byte_cost * bytes) < min_cycles / 20 * 19) {
            min_cycles = p.cycles + (uint64_t)(byte_cost * bytes);
            best = kind;
        }
    }
    fold_tensor(t, &layer->window, made, best);
}

static void decide_folds(const machine *m, vtac_vta_region *region, double byte_cost)
{
    for (uint32_t i = 0; i < region->tensor_count; i++) {
        const readers who = readers_of(region, i);
        const vtac_vta_layer *layer = &region->layers[who.layer];
        if (region->tensors[i].role == VTAC_VTA_INPUT && who.count == 1 && layer->kind == VTAC_VTA_CONV &&
            layer->groups == 1 && layer->weights != NULL) {
            choose_fold(m, region, i, who.layer, byte_cost);
        }
    }
}

/* ---- joins */

/* The cycles that joining the sum to layer `number` saves; 0 if it cannot be joined. */
static uint64_t gain_of(const machine *m, const vtac_vta_region *region, int32_t number, uint32_t sum)
{
    plan apart, added, together;
    if (number < 0 || region->layers[number].kind != VTAC_VTA_CONV) {
        return 0;
    }
    const uint32_t tensor = region->layers[number].output, n = (uint32_t)number;
    if (region->layers[n].behind != NULL && region->layers[sum].behind != NULL) {
        return 0; /* REQUANT applies one table at a time */
    }
    if (region->tensors[tensor].role != VTAC_VTA_INTERNAL || readers_of(region, tensor).count != 1 ||
        vtac_vta_conv_plan(m, region, n, &apart, NULL) != VTA_OK ||
        vtac_vta_elementwise_plan(m, region, sum, &added, NULL) != VTA_OK ||
        vtac_vta_conv_plan_joined(m, region, n, sum, 0, &together, NULL) != VTA_OK) {
        return 0;
    }
    const uint64_t separate = apart.cycles + added.cycles;
    return separate > together.cycles ? separate - together.cycles : 0;
}

static void decide_joins(const machine *m, const vtac_vta_region *region, decisions *d)
{
    for (uint32_t n = 0; n < region->layer_count; n++) {
        const vtac_vta_layer *layer = &region->layers[n];
        if (layer->kind != VTAC_VTA_ADD || layer->inputs[0] == layer->inputs[1] || layer->table != NULL) {
            continue;
        }
        const int32_t makers[2] = {maker_of(region, layer->inputs[0]), maker_of(region, layer->inputs[1])};
        const uint64_t gains[2] = {gain_of(m, region, makers[0], n), gain_of(m, region, makers[1], n)};
        const int which = gains[1] > gains[0];
        if (gains[which] > 0) {
            d->made_by[n] = makers[which];
            d->sum_of[makers[which]] = (int32_t)n;
        }
    }
}

/* ---- slices */

static bool is_copy(const vtac_vta_region *region, const vtac_vta_layer *layer, uint32_t k)
{
    const vtac_fixed scale = layer->scales[k];
    return layer->low == INT8_MIN && layer->high == INT8_MAX && scale.shift < 24 &&
           scale.mult == UINT32_C(1) << scale.shift &&
           region->tensors[layer->inputs[k]].zero == region->tensors[layer->output].zero;
}

/* Tiles that stay as they are, of a tensor with another shape, are made where they are read. */
static void decide_view(const machine *m, const vtac_vta_region *region, const vtac_vta_layer *layer,
                        decisions *d)
{
    const uint32_t tensor = layer->inputs[0];
    if (vtac_vta_runs_are_one(m, region, layer) && region->tensors[tensor].role == VTAC_VTA_INTERNAL &&
        d->part_of[tensor] < 0) {
        d->part_of[tensor] = (int32_t)layer->output;
    }
}

/* With several groups of images a slice would not be contiguous, so it is left alone. */
static void decide_slices(const machine *m, const vtac_vta_region *region, decisions *d)
{
    for (uint32_t n = 0; n < region->layer_count; n++) {
        const vtac_vta_layer *layer = &region->layers[n];
        int64_t first = 0;
        if (layer->kind == VTAC_VTA_RUNS) {
            decide_view(m, region, layer, d);
        }
        if (layer->kind != VTAC_VTA_CONCAT || layer->by_pixels ||
            region->tensors[layer->output].n > m->batch) {
            continue;
        }
        for (uint32_t k = 0; k < layer->input_count; k++) {
            const uint32_t tensor = layer->inputs[k];
            const bool aligned = first % m->block == 0;
            if (aligned && region->tensors[tensor].role == VTAC_VTA_INTERNAL && d->part_of[tensor] < 0 &&
                is_copy(region, layer, k)) {
                d->part_of[tensor] = (int32_t)layer->output;
                d->block[tensor] = first / m->block;
            }
            first += region->tensors[tensor].c;
        }
    }
}

/* ---- pools */

/* The convolutions whose concatenated outputs a pool reads. A convolution with a table behind it cannot make
 * a pool's input: the table need not be monotonic, so the maximum of sums is not the maximum of results. */
enum { MAX_MAKERS = 16 };
typedef struct makers {
    uint32_t layer[MAX_MAKERS], count;
} makers;

static bool add_maker(const vtac_vta_region *region, const decisions *d, uint32_t tensor, makers *to)
{
    const int32_t number = maker_of(region, tensor);
    const bool free_to_join = number >= 0 && region->layers[number].kind == VTAC_VTA_CONV &&
                              region->layers[number].behind == NULL && region->layers[number].phases == 0 &&
                              region->tensors[tensor].role == VTAC_VTA_INTERNAL &&
                              readers_of(region, tensor).count == 1 && d->sum_of[number] < 0 &&
                              d->fed_by[number] < 0;
    if (!free_to_join || to->count == MAX_MAKERS) {
        return false;
    }
    to->layer[to->count++] = (uint32_t)number;
    return true;
}

static bool find_makers(const vtac_vta_region *region, const decisions *d, const vtac_vta_layer *pool,
                        makers *to)
{
    const uint32_t whole = pool->inputs[0];
    const int32_t number = maker_of(region, whole);
    bool all = number >= 0 && d->part_of[whole] < 0;
    if (!all || region->layers[number].kind != VTAC_VTA_CONCAT) {
        return all && add_maker(region, d, whole, to);
    }
    const vtac_vta_layer *concat = &region->layers[number];
    all = region->tensors[whole].role == VTAC_VTA_INTERNAL && readers_of(region, whole).count == 1;
    for (uint32_t k = 0; all && k < concat->input_count; k++) {
        all = d->part_of[concat->inputs[k]] == (int32_t)whole && add_maker(region, d, concat->inputs[k], to);
    }
    return all;
}

/* True if every window of the pool has an element inside the image: the padding of a maximum has no number.
 */
static bool windows_inside(const conv *c)
{
    for (int dim = 0; dim < 2; dim++) {
        for (int64_t at = 0; at < (dim == 0 ? c->oh : c->ow); at++) {
            if (vtac_vta_conv_pool_taps(c, dim, at).count <= 0) {
                return false;
            }
        }
    }
    return true;
}

/* True if all windows of a pool of means lie inside the image and have the same number of elements. */
static bool means_inside(const conv *c)
{
    bool inside = c->pool->divisor_count == 1 && c->pool->more_times == 0 && c->pool->behind == NULL;
    for (int dim = 0; dim < 2; dim++) {
        for (int64_t at = 0; at < (dim == 0 ? c->oh : c->ow); at++) {
            inside = inside && vtac_vta_conv_pool_taps(c, dim, at).count == c->pool->window.kernel[dim];
        }
    }
    return inside;
}

/* The work of the busiest unit, without the ALU. */
static uint64_t busiest_of(const load_of_units *units)
{
    const uint64_t bus = units->load > units->store ? units->load : units->store;
    return units->array > bus ? units->array : bus;
}

enum {
    GROUP_TRIALS = 8,
    POOL_TRIALS = 24, /* the rough estimate underestimates how long a pool keeps other units waiting */
    FRACTION = 64     /* the smallest gain that counts is one part in so many */
};

static vta_status plan_mean(const machine *m, const vtac_vta_region *region, uint32_t n, plan *out)
{
    trials all;
    VTA_TRY(vtac_vta_conv_plan(m, region, n, out, NULL));
    return vtac_vta_conv_refine(out, GROUP_TRIALS, &all, NULL);
}

static void decide_pool(const machine *m, const vtac_vta_region *region, uint32_t n, decisions *d)
{
    makers who = {0};
    plan pooled;
    const bool means = region->layers[n].kind == VTAC_VTA_AVG_POOL;
    const uint32_t trial_count = means ? GROUP_TRIALS : POOL_TRIALS;
    if (region->layers[n].lanes > 0 || !find_makers(region, d, &region->layers[n], &who) ||
        (means ? plan_mean(m, region, n, &pooled) : vtac_vta_window_plan(m, region, n, &pooled, NULL)) !=
            VTA_OK) {
        return;
    }
    plan together[MAX_MAKERS];
    uint64_t separate = pooled.cycles, joined = 0;
    for (uint32_t k = 0; k < who.count; k++) {
        plan apart;
        const int64_t slice = d->block[region->layers[who.layer[k]].output];
        if (vtac_vta_conv_plan(m, region, who.layer[k], &apart, NULL) != VTA_OK ||
            vtac_vta_conv_plan_joined(m, region, who.layer[k], n, slice, &together[k], NULL) != VTA_OK ||
            !(means ? means_inside(&together[k].conv) : windows_inside(&together[k].conv)) ||
            vtac_vta_conv_fastest(&apart, trial_count, UINT64_MAX, NULL) != VTA_OK) {
            return;
        }
        separate += apart.cycles;
    }
    const uint64_t limit = separate / FRACTION * (FRACTION - 1);
    for (uint32_t k = 0; k < who.count; k++) {
        if (joined >= limit ||
            vtac_vta_conv_fastest(&together[k], trial_count, limit - joined, NULL) != VTA_OK) {
            return;
        }
        joined += together[k].cycles;
    }
    if (joined < limit) {
        d->made_by[n] = (int32_t)who.layer[0];
        for (uint32_t k = 0; k < who.count; k++) {
            d->sum_of[who.layer[k]] = (int32_t)n;
        }
    }
}

static void decide_pools(const machine *m, const vtac_vta_region *region, vtac_vta_kind kind, decisions *d)
{
    for (uint32_t n = 0; n < region->layer_count; n++) {
        if (region->layers[n].kind == kind) {
            decide_pool(m, region, n, d);
        }
    }
}

/* ---- groups */

uint32_t vtac_vta_decisions_members(const decisions *d, uint32_t last, uint32_t *members)
{
    uint32_t count = 1, first = last;
    while (d->fed_by[first] >= 0) {
        first = (uint32_t)d->fed_by[first];
        count++;
    }
    for (uint32_t k = 0; k < count; k++) {
        members[k] = first;
        first = (uint32_t)d->feeds[first];
    }
    return count;
}

/* The convolution whose output only `number` reads and that is not joined to anything; or -1. */
static int32_t feeder_of(const vtac_vta_region *region, const decisions *d, uint32_t number)
{
    const uint32_t tensor = region->layers[number].inputs[0];
    const int32_t maker = maker_of(region, tensor);
    const bool alone = maker >= 0 && region->layers[maker].kind == VTAC_VTA_CONV &&
                       region->tensors[tensor].role == VTAC_VTA_INTERNAL &&
                       readers_of(region, tensor).count == 1 && d->sum_of[maker] < 0 &&
                       d->part_of[tensor] < 0 && d->feeds[maker] < 0;
    return alone ? maker : -1;
}

/* The cycles of layers that are computed together, planned as they will be; 0 if they cannot be. Adds their
 * work to `units`. */
static uint64_t cycles_alone(const machine *m, const vtac_vta_region *region, const decisions *d,
                             const uint32_t *members, uint32_t count, load_of_units *units)
{
    plan own;
    trials all;
    group_trials grouped;
    const uint32_t last = members[count - 1];
    const int32_t after = d->sum_of[last];
    const vtac_vta_layer *sum = after >= 0 ? &region->layers[after] : NULL;
    const vta_status planned =
        count > 1     ? vtac_vta_group_plan(m, region, members, count, sum, &own, NULL)
        : sum != NULL ? vtac_vta_conv_plan_joined(m, region, last, (uint32_t)after, 0, &own, NULL)
                      : vtac_vta_conv_plan(m, region, last, &own, NULL);
    if (planned != VTA_OK || (count > 1 ? vtac_vta_group_refine(&own, GROUP_TRIALS, &grouped, NULL)
                                        : vtac_vta_conv_refine(&own, GROUP_TRIALS, &all, NULL)) != VTA_OK) {
        return 0;
    }
    units->array += own.units.array;
    units->load += own.units.load;
    units->store += own.units.store;
    units->bytes_read += own.units.bytes_read;
    units->bytes_written += own.units.bytes_written;
    return own.cycles;
}

/* True if a member is depthwise or has merged pixels. Such layers make groups worthwhile: they move much data
 * for little work. */
static bool any_thin(const vtac_vta_region *region, const uint32_t *members, uint32_t count)
{
    bool found = false;
    for (uint32_t k = 0; k < count; k++) {
        const vtac_vta_layer *layer = &region->layers[members[k]];
        found = found || layer->groups > 1 || layer->tiles != NULL;
    }
    return found;
}

/* True if a convolution waits for the sum behind it, so that the array could work on its input meanwhile.
 * With a memory that moves less in both directions together than the bus does in one, the model predicts such
 * groups less precisely than single layers, so they are not formed. */
static bool waits_for_sum(const machine *m, const decisions *d, uint32_t n, uint64_t cycles,
                          const load_of_units *units)
{
    enum { WORTH = 16 };
    const bool slow = m->shared > 0 && m->shared < (double)m->beat;
    return !slow && d->sum_of[n] >= 0 && cycles > units->array + units->array / WORTH;
}

/* The gain of less traffic, in cycles: the bus is free for the weights of later layers, and for others
 * than the accelerator. */
static uint64_t worth_of_quiet(const machine *m, const load_of_units *apart, const load_of_units *together)
{
    enum { BEATS = 9, CYCLES = 2 }; /* so many beats saved count as so many cycles */
    const uint64_t before = apart->bytes_read + apart->bytes_written,
                   now = together->bytes_read + together->bytes_written;
    return now < before ? (before - now) * CYCLES / ((uint64_t)m->beat * BEATS) : 0;
}

/* The condition for a group. SURELY: it beats even layers that overlap. EAGERLY: it beats layers one after
 * the other. ALWAYS: it fits. */
typedef enum grouping { GROUP_SURELY, GROUP_EAGERLY, GROUP_ALWAYS } grouping;

/* Adds layer n to the group of the layer that makes its input, if that is faster. GROUP_SURELY assumes that
 * separate layers overlap: half of the difference to the busiest unit's work counts as gained, and less
 * traffic counts for the group. GROUP_EAGERLY looks at cycles only. */
static void decide_group(const machine *m, const vtac_vta_region *region, uint32_t n, grouping when,
                         decisions *d)
{
    const bool always = when == GROUP_ALWAYS;
    const int32_t maker = feeder_of(region, d, n);
    const int32_t after = d->sum_of[n];
    load_of_units apart = {0}, together = {0};
    uint32_t members[MAX_MEMBERS + 1];
    if (maker < 0 || (after >= 0 && region->layers[after].kind != VTAC_VTA_ADD)) {
        return;
    }
    const uint32_t count = vtac_vta_decisions_members(d, (uint32_t)maker, members);
    members[count] = n;
    const bool some = always || any_thin(region, members, count + 1);
    const uint64_t own =
        count < MAX_MEMBERS && (some || after >= 0) ? cycles_alone(m, region, d, &n, 1, &apart) : 0;
    const bool may = own > 0 && (some || waits_for_sum(m, d, n, own, &apart));
    const uint64_t joined = may ? cycles_alone(m, region, d, members, count + 1, &together) : 0;
    const uint64_t before = joined > 0 ? cycles_alone(m, region, d, members, count, &apart) : 0;
    const uint64_t overlapped = when == GROUP_SURELY ? busiest_of(&apart) : before + own;
    const uint64_t worth = when == GROUP_SURELY ? worth_of_quiet(m, &apart, &together) : 0;
    if (before > 0 && (always || joined < (before + own + overlapped) / 2 + worth)) {
        d->feeds[maker] = (int32_t)n;
        d->fed_by[n] = maker;
    }
}

static void decide_groups(const machine *m, const vtac_vta_region *region, grouping when, decisions *d)
{
    for (uint32_t n = 0; n < region->layer_count; n++) {
        if (region->layers[n].kind == VTAC_VTA_CONV) {
            decide_group(m, region, n, when, d);
        }
    }
}

/* A convolution with a pool of means joined is in no group, so the order of the two decisions matters. */
static void decide_together(const machine *m, const vtac_vta_region *region, grouping when, bool pools_first,
                            decisions *d)
{
    if (pools_first) {
        decide_pools(m, region, VTAC_VTA_AVG_POOL, d);
    }
    decide_groups(m, region, when, d);
    if (!pools_first) {
        decide_pools(m, region, VTAC_VTA_AVG_POOL, d);
    }
}

vta_status vtac_vta_decisions_make(const machine *m, vtac_vta_region *region, const vtac_vta_options *options,
                                   eagerness groups, decisions *out, vta_diag *diag)
{
    const uint32_t layers = region->layer_count, tensors = region->tensor_count;
    *out = (decisions){.sum_of = calloc(layers + 1, sizeof *out->sum_of),
                       .made_by = calloc(layers + 1, sizeof *out->made_by),
                       .part_of = calloc(tensors + 1, sizeof *out->part_of),
                       .block = calloc(tensors + 1, sizeof *out->block),
                       .feeds = calloc(layers + 1, sizeof *out->feeds),
                       .fed_by = calloc(layers + 1, sizeof *out->fed_by)};
    if (out->sum_of == NULL || out->made_by == NULL || out->part_of == NULL || out->block == NULL ||
        out->feeds == NULL || out->fed_by == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for %u layers", layers);
    }
    for (uint32_t i = 0; i < layers; i++) {
        out->sum_of[i] = out->made_by[i] = out->feeds[i] = out->fed_by[i] = -1;
    }
    for (uint32_t i = 0; i < tensors; i++) {
        out->part_of[i] = -1;
        region->tensors[i].folded = false;
    }
    if (!options->no_fold) {
        decide_folds(m, region, options->fold_cost);
    }
    if (!options->no_join) {
        decide_joins(m, region, out);
        decide_slices(m, region, out);
        decide_pools(m, region, VTAC_VTA_MAX_POOL, out);
        const grouping when = options->all_groups       ? GROUP_ALWAYS
                              : groups != GROUPS_SURELY ? GROUP_EAGERLY
                                                        : GROUP_SURELY;
        const bool pools_first = groups == GROUPS_BEHIND_POOLS || when == GROUP_SURELY;
        decide_together(m, region, when, pools_first, out);
    }
    return VTA_OK;
}

bool vtac_vta_decisions_alike(const vtac_vta_region *region, const decisions *a, const decisions *b)
{
    const size_t of_layers = region->layer_count * sizeof *a->feeds,
                 of_tensors = region->tensor_count * sizeof *a->part_of;
    return memcmp(a->sum_of, b->sum_of, of_layers) == 0 && memcmp(a->made_by, b->made_by, of_layers) == 0 &&
           memcmp(a->feeds, b->feeds, of_layers) == 0 && memcmp(a->part_of, b->part_of, of_tensors) == 0 &&
           memcmp(a->block, b->block, region->tensor_count * sizeof *a->block) == 0;
}

void vtac_vta_decisions_free(decisions *d)
{
    free(d->sum_of);
    free(d->made_by);
    free(d->part_of);
    free(d->block);
    free(d->feeds);
    free(d->fed_by);
    *d = (decisions){0};
}
