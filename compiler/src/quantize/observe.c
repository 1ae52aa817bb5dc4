/* SPDX-License-Identifier: Apache-2.0
 *
 * One walk over the samples for the ranges, and a second for histograms where the method needs them.
 */
#include "observe.h"

#include <math.h>
#include <string.h>

#include "shares.h"
#include "vta/fail.h"

/* The axis of the channels that products see, for correcting their biases. */
static void note_channels(vtac_quant_observer *o)
{
    const vtac_graph *g = o->plan->graph;
    for (uint32_t i = 0; i < g->order_count; i++) {
        const vtac_node *node = &g->nodes[g->order[i]];
        uint32_t axis;
        if (o->plan->active[g->order[i]] && vtac_quant_is_product(g, node, &axis) &&
            o->of[node->inputs[0]] != 0) {
            vtac_quant_seen *seen = &o->seen[o->of[node->inputs[0]] - 1];
            const vtac_type *type = &g->values[node->inputs[0]].type;
            const bool along = node->op == VTAC_OP_CONV || node->op == VTAC_OP_CONV_TRANSPOSE ||
                               (type->rank == 2 && vtac_attr_int(node, "transA", 0) == 0);
            seen->axis = 1;
            seen->channels = along ? type->dim[1] : 0;
        }
    }
}

static vta_status make_sums(vtac_quant_observer *o, vta_diag *diag)
{
    for (uint32_t i = 0; i < o->count; i++) {
        vtac_quant_seen *seen = &o->seen[i];
        seen->sum = vta_arena_array(o->plan->arena, (size_t)seen->channels + 1, sizeof *seen->sum);
        if (seen->sum == NULL) {
            return vta_no_memory(diag);
        }
        memset(seen->sum, 0, ((size_t)seen->channels + 1) * sizeof *seen->sum);
    }
    return VTA_OK;
}

vta_status vtac_quant_observe_bins(vtac_quant_observer *o, vta_diag *diag)
{
    for (uint32_t i = 0; i < o->count; i++) {
        vtac_quant_seen *seen = &o->seen[i];
        if (seen->group != seen->value) {
            continue;
        }
        seen->range.bins = vta_arena_array(o->plan->arena, QUANT_BINS, sizeof(uint64_t));
        if (seen->range.bins == NULL) {
            return vta_no_memory(diag);
        }
        memset(seen->range.bins, 0, QUANT_BINS * sizeof(uint64_t));
    }
    return VTA_OK;
}

/* The group's range: at the value that stands for it, or, if that is a constant, at the first other one. */
static vtac_quant_seen *head_of(const vtac_quant_observer *o, vtac_value_id value)
{
    return &o->seen[o->of[vtac_quant_group(o->plan, value)] - 1];
}

/* A group that a constant stands for counts at its first value. */
static void note_groups(vtac_quant_observer *o)
{
    for (uint32_t i = 0; i < o->count; i++) {
        const vtac_value_id group = vtac_quant_group(o->plan, o->seen[i].value);
        o->of[group] = o->of[group] == 0 ? i + 1 : o->of[group];
        o->seen[i].group = o->seen[o->of[group] - 1].value;
    }
}

vta_status vtac_quant_observe_list(const vtac_quant_plan *plan, vtac_quant_observer *o, vta_diag *diag)
{
    const vtac_graph *g = plan->graph;
    *o = (vtac_quant_observer){.plan = plan,
                               .seen = vta_arena_array(plan->arena, plan->value_room, sizeof *o->seen),
                               .of = vta_arena_array(plan->arena, plan->value_room, sizeof *o->of)};
    if (o->seen == NULL || o->of == NULL) {
        return vta_no_memory(diag);
    }
    memset(o->of, 0, plan->value_room * sizeof *o->of);
    for (vtac_value_id v = 1; v < plan->value_room; v++) {
        if (plan->wanted[v] && g->values[v].constant == NULL) {
            o->seen[o->count] = (vtac_quant_seen){.value = v};
            o->of[v] = ++o->count;
        }
    }
    note_groups(o);
    note_channels(o);
    return make_sums(o, diag);
}

vta_status vtac_quant_observe_open(const vtac_quant_plan *plan, const vtac_value_id *others,
                                   uint32_t other_count, vtac_quant_observer *o, vta_diag *diag)
{
    vtac_value_id *values =
        vta_arena_array(plan->arena, (size_t)plan->value_room + other_count, sizeof *values);
    if (values == NULL) {
        return vta_no_memory(diag);
    }
    VTA_TRY(vtac_quant_observe_list(plan, o, diag));
    for (uint32_t i = 0; i < o->count; i++) {
        values[i] = o->seen[i].value;
    }
    for (uint32_t i = 0; i < other_count; i++) {
        values[o->count + i] = others[i];
    }
    return vtac_quant_probe_open(plan->graph, values, o->count + other_count, &o->probe, diag);
}

void vtac_quant_observe_close(vtac_quant_observer *o)
{
    vtac_quant_probe_close(o->probe);
    o->probe = NULL;
}

static size_t elements_of(const vtac_quant_observer *o, vtac_value_id value)
{
    return (size_t)vtac_type_elements(&o->plan->graph->values[value].type);
}

static void add_means(vtac_quant_seen *seen, const vtac_type *type, const float *x, size_t count)
{
    size_t inner = 1;
    for (uint32_t i = seen->axis + 1; i < type->rank; i++) {
        inner *= (size_t)type->dim[i];
    }
    if (seen->channels == 0 || inner == 0) {
        return;
    }
    for (size_t i = 0; i < count; i += inner) {
        double sum = 0.0;
        for (size_t k = 0; k < inner; k++) {
            sum += (double)x[i + k];
        }
        seen->sum[i / inner % (size_t)seen->channels] += sum;
    }
    seen->count += count / (size_t)seen->channels;
}

/* Widens a range by the last run of what is seen. */
static void see_value(const vtac_quant_observer *o, uint32_t i, vtac_quant_range *range)
{
    const vtac_graph *g = o->plan->graph;
    const vtac_value_id value = o->seen[i].value, rows = vtac_quant_shared(g, value);
    if (rows == 0 || o->of[rows] == 0 || o->seen[o->of[rows] - 1].value != rows) {
        vtac_quant_range_see(range, vtac_quant_probe_value(o->probe, i), elements_of(o, value));
        return;
    }
    const vtac_type *type = &g->values[rows].type;
    const size_t columns = (size_t)type->dim[type->rank - 1], count = elements_of(o, rows);
    vtac_quant_range_shares(range, vtac_quant_probe_value(o->probe, o->of[rows] - 1),
                            columns == 0 ? 0 : count / columns, columns);
}

vta_status vtac_quant_observe_sample(const vtac_quant_observer *o, const vtac_samples *samples,
                                     uint32_t sample, bool histograms, vta_diag *diag)
{
    VTA_TRY(vtac_quant_probe_run(o->probe, samples, sample, diag));
    for (uint32_t i = 0; i < o->count; i++) {
        vtac_quant_seen *seen = &o->seen[i];
        const float *x = vtac_quant_probe_value(o->probe, i);
        const size_t count = elements_of(o, seen->value);
        if (histograms) {
            vtac_quant_range_count(&head_of(o, seen->value)->range, x, count);
        } else {
            see_value(o, i, &head_of(o, seen->value)->range);
            add_means(seen, &o->plan->graph->values[seen->value].type, x, count);
        }
    }
    return VTA_OK;
}

void vtac_quant_observe_run(const vtac_quant_observer *o, vtac_quant_range *out)
{
    for (uint32_t i = 0; i < o->count; i++) {
        out[i] = (vtac_quant_range){0};
        see_value(o, i, &out[i]);
    }
}

static vta_status walk_samples(const vtac_quant_observer *o, const vtac_samples *samples, bool histograms,
                               const vtac_progress *progress, vta_diag *diag)
{
    for (uint32_t s = 0; s < samples->count; s++) {
        VTA_TRY(vtac_progress_at(progress, histograms ? "histograms of sample" : "ranges of sample", NULL, s,
                                 samples->count, diag));
        VTA_TRY(vtac_quant_observe_sample(o, samples, s, histograms, diag));
    }
    return VTA_OK;
}

/* Constants that share a scale with what moves. */
static void see_constants(const vtac_quant_observer *o)
{
    const vtac_graph *g = o->plan->graph;
    for (vtac_value_id v = 1; v < o->plan->value_room; v++) {
        const vtac_tensor *constant = g->values[v].constant;
        if (o->plan->wanted[v] && constant != NULL && o->of[vtac_quant_group(o->plan, v)] != 0) {
            vtac_quant_range_see(&head_of(o, v)->range, constant->data, elements_of(o, v));
        }
    }
}

/* Joins two groups where the common step is at most twice that of either. */
static void join_alike(const vtac_quant_observer *o, vtac_value_id a, vtac_value_id b)
{
    const double coarser = 2.0; /* steps: a bit */
    const vtac_quant_range *x = &head_of(o, a)->range, *y = &head_of(o, b)->range;
    const double low = fmin(x->low, y->low), high = fmax(x->high, y->high);
    if (high - low <= coarser * fmin(x->high - x->low, y->high - y->low)) {
        vtac_quant_join(o->plan, a, b);
        const vtac_value_id group = vtac_quant_group(o->plan, a);
        o->of[group] = o->of[group] == 0 ? o->of[a] : o->of[group];
        head_of(o, a)->range.low = low;
        head_of(o, a)->range.high = high;
    }
}

/* An operand of a concatenation with a scale of its own costs a change of scale: operands give it up where
 * the scale of the result is not much coarser. */
static void join_concatenated(vtac_quant_observer *o)
{
    const vtac_graph *g = o->plan->graph;
    for (uint32_t i = 0; i < g->order_count; i++) {
        const vtac_node *node = &g->nodes[g->order[i]];
        const bool joins = o->plan->active[g->order[i]] && o->plan->island[g->order[i]] == 0 &&
                           vtac_quant_role_of(node->op) == QUANT_JOIN;
        for (uint32_t k = 0; joins && k < vtac_quant_operands(o->plan, g->order[i]); k++) {
            const vtac_value_id x = node->inputs[k], y = node->outputs[0];
            if (o->of[x] != 0 && o->of[y] != 0 && !vtac_quant_is_bounded(g, g->values[x].node)) {
                join_alike(o, y, x);
            }
        }
    }
    note_groups(o);
}

vta_status vtac_quant_observe(vtac_quant_observer *o, const vtac_samples *samples, vtac_range_method method,
                              const vtac_progress *progress, vta_diag *diag)
{
    VTA_TRY(walk_samples(o, samples, false, progress, diag));
    see_constants(o);
    join_concatenated(o);
    if (method == VTAC_RANGE_MINMAX || method == VTAC_RANGE_ROOM) {
        return method == VTAC_RANGE_ROOM ? vtac_quant_widen(o, QUANT_ROOM, diag) : VTA_OK;
    }
    VTA_TRY(vtac_quant_observe_bins(o, diag));
    VTA_TRY(walk_samples(o, samples, true, progress, diag));
    for (uint32_t i = 0; i < o->count; i++) {
        vtac_quant_range_narrow(&o->seen[i].range, method);
    }
    return VTA_OK;
}

vta_status vtac_quant_observe_like(vtac_quant_observer *o, const vtac_quant_observer *other,
                                   const vtac_quant_range *ranges, vta_diag *diag)
{
    for (uint32_t i = 0; i < o->count; i++) {
        vtac_quant_seen *seen = &o->seen[i];
        const uint32_t place = other->of[seen->value];
        if (place == 0) {
            return vta_fail(diag, VTA_UNSUPPORTED, "the range of '%s' was not observed",
                            o->plan->graph->values[seen->value].name);
        }
        vtac_quant_range *to = &head_of(o, seen->value)->range;
        to->low = fmin(to->low, ranges[place - 1].low);
        to->high = fmax(to->high, ranges[place - 1].high);
        if (seen->channels == other->seen[place - 1].channels) {
            seen->sum = other->seen[place - 1].sum;
            seen->count = other->seen[place - 1].count;
        }
    }
    see_constants(o);
    join_concatenated(o);
    return VTA_OK;
}

void vtac_quant_observe_again(const vtac_quant_observer *o, const vtac_quant_observer *other,
                              const vtac_quant_range *ranges)
{
    for (uint32_t i = 0; i < o->count; i++) {
        head_of(o, o->seen[i].value)->range = (vtac_quant_range){0};
    }
    for (uint32_t i = 0; i < o->count; i++) {
        const vtac_quant_range *from = &ranges[other->of[o->seen[i].value] - 1];
        vtac_quant_range *to = &head_of(o, o->seen[i].value)->range;
        to->low = fmin(to->low, from->low);
        to->high = fmax(to->high, from->high);
    }
    see_constants(o);
}

static void merge_seen(vtac_quant_seen *to, const vtac_quant_seen *from)
{
    for (int64_t c = 0; to->channels == from->channels && c < to->channels; c++) {
        to->sum[c] += from->sum[c];
    }
    to->count += to->channels == from->channels ? from->count : 0;
}

vta_status vtac_quant_observe_merge(vtac_quant_observer *o, const vtac_quant_observer *other, vta_diag *diag)
{
    bool same = o->count == other->count;
    for (uint32_t i = 0; same && i < o->count; i++) {
        same = o->seen[i].value == other->seen[i].value;
    }
    if (!same) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "the values to be quantized depend on the sizes that are left open; give them with "
                        "--shape");
    }
    for (uint32_t i = 0; i < o->count; i++) {
        vtac_quant_range *to = &head_of(o, o->seen[i].value)->range;
        const vtac_quant_range *from = &head_of(other, o->seen[i].value)->range;
        to->low = fmin(to->low, from->low);
        to->high = fmax(to->high, from->high);
        merge_seen(&o->seen[i], &other->seen[i]);
    }
    return VTA_OK;
}

/* Range that a node's results cannot exceed. */
static vtac_quant_range bounds_of(const vtac_graph *g, vtac_node_id id)
{
    const vtac_node *node = &g->nodes[id];
    vtac_quant_range bounds = {.low = -(double)INFINITY, .high = (double)INFINITY};
    if (id == 0) {
        return bounds;
    }
    if (node->op == VTAC_OP_CLIP) {
        const vtac_tensor *low = vtac_in_constant(g, node, VTAC_CLIP_MIN);
        const vtac_tensor *high = vtac_in_constant(g, node, VTAC_CLIP_MAX);
        bounds.low = low != NULL ? vtac_tensor_float(low, 0) : bounds.low;
        bounds.high = high != NULL ? vtac_tensor_float(high, 0) : bounds.high;
    }
    const bool share = node->op == VTAC_OP_SIGMOID || node->op == VTAC_OP_SOFTMAX;
    return share ? (vtac_quant_range){.low = 0.0, .high = 1.0} : bounds;
}

vta_status vtac_quant_widen(const vtac_quant_observer *o, double factor, vta_diag *diag)
{
    const vtac_graph *g = o->plan->graph;
    vtac_quant_range *bounds = vta_arena_array(o->plan->arena, o->count + (size_t)1, sizeof *bounds);
    if (bounds == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < o->count; i++) {
        const vtac_node_id maker = g->values[o->seen[i].value].node; /* 0: an input of the graph */
        if (maker == 0 ||
            vtac_quant_role_of(g->nodes[maker].op) != QUANT_SHARE) { /* others move what these make */
            const vtac_quant_range own = bounds_of(g, maker);
            vtac_quant_range *all = &bounds[head_of(o, o->seen[i].value) - o->seen];
            all->low = fmin(all->low, own.low);
            all->high = fmax(all->high, own.high);
        }
    }
    for (uint32_t i = 0; i < o->count; i++) {
        vtac_quant_range *range = &o->seen[i].range;
        range->low = fmax(range->low * factor, fmin(range->low, bounds[i].low));
        range->high = fmin(range->high * factor, fmax(range->high, bounds[i].high));
    }
    return VTA_OK;
}

void vtac_quant_centre_factors(const vtac_quant_observer *o)
{
    const vtac_quant_plan *plan = o->plan;
    for (vtac_node_id n = 1; n < plan->node_room; n++) {
        const vtac_node *node = &plan->graph->nodes[n];
        const bool pair = plan->active[n] && !node->dead && vtac_quant_is_pair(plan->graph, node);
        if (!pair || o->of[node->inputs[VTAC_MATMUL_B]] == 0) {
            continue;
        }
        vtac_quant_range *range = &head_of(o, node->inputs[VTAC_MATMUL_B])->range;
        const double step = fmax(range->low / INT8_MIN, range->high / INT8_MAX);
        if (range->low < 0.0) {
            range->low = step * INT8_MIN;
            range->high = step * INT8_MAX;
        }
    }
}

const vtac_quant_range *vtac_quant_range_of(const vtac_quant_observer *o, vtac_value_id value)
{
    return &head_of(o, value)->range;
}

vta_status vtac_quant_means(const vtac_quant_observer *o, vtac_value_id value, const double **out,
                            vta_diag *diag)
{
    const uint32_t place = o->of[value];
    *out = NULL;
    if (place == 0 || o->seen[place - 1].channels == 0 || o->seen[place - 1].count == 0) {
        return VTA_OK;
    }
    const vtac_quant_seen *seen = &o->seen[place - 1];
    double *means = vta_arena_array(o->plan->arena, (size_t)seen->channels, sizeof *means);
    if (means == NULL) {
        return vta_no_memory(diag);
    }
    for (int64_t c = 0; c < seen->channels; c++) {
        means[c] = seen->sum[c] / (double)seen->count;
    }
    *out = means;
    return VTA_OK;
}
