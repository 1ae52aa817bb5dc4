/* SPDX-License-Identifier: Apache-2.0
 *
 * Partitions a graph: legalizes nodes, places each, groups those that pay, builds and schedules regions, and
 * rewrites the graph.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition.h"
#include "vta/fail.h"
#include "vta/number.h"
#include "vtac/codegen.h"
#include "vtac/island.h"
#include "vtac/quantize.h"

/* the rough cost of a launch for the host, in cycles of the accelerator: registers, an interrupt, the wait */
enum { LAUNCH_CYCLES = 2000 };

typedef struct partitioner {
    vtac_graph *graph;
    const vtac_partition_options *options;
    vtac_partition *p;
    const int32_t *zeros;
    bool *eligible; /* by node */
    vtac_grouping grouping;
    vtac_moves moves, head_moves;
    vtac_legalized_list products, sums, pairs, volumes;
    uint32_t *region_of; /* by group: 1 + its region; 0: it stays on the host */
    vta_diag *diag;
    vtac_node_id *order; /* of nodes as layers */
} partitioner;

static const char *keep_text(const partitioner *r, const char *text)
{
    const char *kept = vta_arena_string(&r->p->arena, text, strlen(text));
    return kept != NULL ? kept : "";
}

/* ---- single nodes */

static bool always_outside(const void *context, vtac_value_id value)
{
    (void)context;
    (void)value;
    return true;
}

#define NORMALIZATION                                                                                        \
    "its numbers are divided by how far they lie from their mean, which the run alone knows; the "           \
    "host does it between two launches"
#define SOFTMAX                                                                                              \
    "each number is divided by the sum of its row, which the run alone knows; the host does it between two " \
    "launches"
static const char *const reasons[VTAC_OP_COUNT] = {
    [VTAC_OP_QUANTIZE_LINEAR] = "floats become integers here: the host's side of the border",
    [VTAC_OP_DEQUANTIZE_LINEAR] = "integers become floats here: the host's side of the border",
    [VTAC_OP_STATE_BYTES] = "states become integers here: the host's side of the border",
    [VTAC_OP_STATE_FLOATS] = "states become floats here: the host's side of the border",
    [VTAC_OP_QLINEAR_SOFTMAX] = SOFTMAX,
    [VTAC_OP_ROW_SOFTMAX] = SOFTMAX,
    [VTAC_OP_ROW_NORM] = NORMALIZATION,
    [VTAC_OP_LAYER_NORMALIZATION] = NORMALIZATION,
    [VTAC_OP_RMS_NORMALIZATION] = NORMALIZATION,
    [VTAC_OP_INSTANCE_NORMALIZATION] = NORMALIZATION,
    [VTAC_OP_GROUP_NORMALIZATION] = NORMALIZATION,
};

/* The reason of a ConvInteger or MatMulInteger that was not legalized. */
static const char *integer_reason(const partitioner *r, const vtac_node *node)
{
    const bool open = vtac_in_constant(r->graph, node, 1) == NULL;
    if (node->op == VTAC_OP_CONV_INTEGER) {
        return open ? "its weights change with the input; make them initializers"
                    : "it is too small to pay there (--offload all), or its window has three axes, or its "
                      "zero points are more than one for x or one for each output";
    }
    return open ? "it is too small to pay there (--offload all), or a matrix has more than one zero "
                  "point, or "
                  "this configuration takes several images at a time (LOG_BATCH)"
                : "it is too small to pay there (--offload all), or its zero points are more than one for "
                  "x or "
                  "one for each output";
}

/* The reason why a node stays on the host that cannot be a layer for its kind; else NULL. */
static const char *reason_of(const partitioner *r, const vtac_node *node)
{
    if (node->op == VTAC_OP_CONV_INTEGER || node->op == VTAC_OP_MATMUL_INTEGER) {
        return integer_reason(r, node);
    }
    if ((node->op == VTAC_OP_ROW_SOFTMAX || node->op == VTAC_OP_ROW_NORM || node->op == VTAC_OP_PLANE_NORM) &&
        r->options->config->rows == 0) {
        return "it works on whole rows, and this configuration has no instructions for that; use one with "
               "ROWS 1";
    }
    const bool to_floats =
        node->op == VTAC_OP_LOOK_UP && vtac_dtype_kind(r->graph->values[node->outputs[0]].type.dtype) == 'f';
    if (to_floats) {
        return reasons[VTAC_OP_DEQUANTIZE_LINEAR];
    }
    if (reasons[node->op] != NULL) {
        return reasons[node->op];
    }
    const vtac_layer_row *row = vtac_layer_row_of(node->op); /* QLinearConcat begins with a scale */
    const vtac_type *x = vtac_in_type(r->graph, node, row != NULL ? (uint32_t)row->first : 0);
    char why[128];
    char text[256];
    if (x != NULL && vtac_dtype_kind(x->dtype) == 'f') {
        vtac_why_float(r->graph, node, why);
        (void)snprintf(text, sizeof text, "it computes in %s, the accelerator in int8: %s",
                       vtac_dtype_name(x->dtype), why);
        return keep_text(r, text);
    }
    return NULL;
}

/* Shrinks a window as large as an image that no layer makes: the host will write the image as channels of one
 * pixel, which is cheaper. For the estimate alone. */
static void fold_whole(const partitioner *r, const vtac_vta_region *region)
{
    vtac_vta_layer *layer = &region->layers[0];
    vtac_vta_window *w = &layer->window;
    vtac_vta_tensor *t = &region->tensors[layer->inputs[0]];
    const vtac_node *maker = vtac_producer_of(r->graph, t->value);
    const vtac_layer_row *row = maker == NULL ? NULL : vtac_layer_row_of(maker->op);
    if (layer->kind == VTAC_VTA_CONV && layer->groups == 1 && layer->weights != NULL &&
        w->kernel[0] == t->h && w->kernel[1] == t->w &&
        w->before[0] + w->before[1] + w->after[0] + w->after[1] == 0 && (row == NULL || row->make == NULL)) {
        t->c *= t->h * t->w;
        t->h = t->w = w->kernel[0] = w->kernel[1] = 1;
    }
}

/* Makes a node a layer alone, and estimates its cost; VTA_UNSUPPORTED or VTA_RANGE: it can be none. */
static vta_status price_layer(const partitioner *r, vtac_maker *m, vtac_node_id id, vtac_vta_cost *cost,
                              vta_diag *diag)
{
    vtac_vta_region region;
    VTA_TRY(vtac_make_layer(m, id, NULL));
    VTA_TRY(vtac_make_region(m, "", always_outside, NULL, &region));
    VTA_TRY(vtac_vta_supports(r->options->config, &region, 0, diag));
    fold_whole(r, &region);
    return vtac_vta_estimate(r->options->config, &region, 0, cost, diag);
}

static vta_status place_node(partitioner *r, vtac_maker *m, vtac_node_id id)
{
    vtac_placement *place = &r->p->places[id];
    const vtac_node *node = &r->graph->nodes[id];
    vta_diag own = {0};
    place->reason = vtac_is_view(r->graph, node) ? "it moves nothing" : reason_of(r, node);
    place->host_cycles = vtac_host_cycles(r->graph, node, r->options);
    place->op = node->op;
    place->border = vtac_is_model_border(r->graph, node);
    if (place->reason != NULL) {
        return VTA_OK;
    }
    vtac_maker_reset(m);
    m->diag = &own;
    const vta_status status = price_layer(r, m, id, &place->cost, &own);
    if (status == VTA_UNSUPPORTED || status == VTA_RANGE) {
        place->reason = keep_text(r, own.text);
        place->too_large = status == VTA_RANGE;
        return VTA_OK;
    }
    if (status != VTA_OK) {
        return vta_fail(r->diag, status, "node '%s' (%s): %s", r->graph->nodes[id].name,
                        vtac_op_get(r->graph->nodes[id].op)->name, own.text);
    }
    place->has_cost = true;
    place->reason = "";
    r->eligible[id] = true;
    return VTA_OK;
}

static vta_status place_with(partitioner *r, vtac_maker *m)
{
    const vtac_graph *graph = r->graph;
    for (uint32_t i = 0; i < graph->order_count; i++) {
        VTA_TRY(vtac_progress_at(r->options->schedule.progress, "placing node",
                                 graph->nodes[graph->order[i]].name, i, graph->order_count, r->diag));
        VTA_TRY(place_node(r, m, graph->order[i]));
    }
    return VTA_OK;
}

static vta_status place_nodes(partitioner *r)
{
    vtac_maker m;
    VTA_TRY(vtac_maker_init(&m, r->graph, &r->p->arena, r->zeros, r->diag));
    const vta_status status = place_with(r, &m);
    vtac_maker_free(&m);
    return status;
}

/* ---- ends that do not pay */

static bool read_by_layer(const partitioner *r, vtac_value_id value)
{
    const vtac_value *v = &r->graph->values[value];
    bool any = false;
    for (uint32_t i = 0; i < v->user_count && !any; i++) {
        const vtac_node *node = &r->graph->nodes[v->users[i]];
        for (uint32_t k = 0; k < node->input_count && !node->dead && !any; k++) {
            any = node->inputs[k] == value &&
                  (r->eligible[v->users[i]] ||
                   (vtac_is_view(r->graph, node) && read_by_layer(r, node->outputs[0])));
        }
    }
    return any;
}

static bool is_join(vtac_op op)
{
    return op == VTAC_OP_CONCAT || op == VTAC_OP_QLINEAR_CONCAT;
}

static bool is_movement(vtac_op op)
{
    return op == VTAC_OP_VTA_MOVE || op == VTAC_OP_VTA_RUNS;
}

/* Adds the cost of a node and of the movements that only it reads: on the accelerator, and on the host. */
static void add_end_cost(const partitioner *r, vtac_node_id id, double *there, double *host)
{
    const vtac_node *node = &r->graph->nodes[id];
    *there += (double)r->p->places[id].cost.cycles;
    *host += r->p->places[id].host_cycles;
    for (uint32_t k = 0; is_join(node->op) && k < node->input_count; k++) {
        const vtac_node_id from = node->inputs[k] == 0 ? 0 : r->graph->values[node->inputs[k]].node;
        if (from != 0 && r->eligible[from] && is_movement(r->graph->nodes[from].op) &&
            vtac_use_count(r->graph, node->inputs[k]) == 1) {
            add_end_cost(r, from, there, host);
        }
    }
}

/* Leaves movements whose results only the host reads to the host if it is cheaper there. */
static void trim_ends(partitioner *r)
{
    for (uint32_t i = r->graph->order_count; i-- > 0 && !r->options->always;) {
        const vtac_node_id id = r->graph->order[i];
        const vtac_node *node = &r->graph->nodes[id];
        double there = 0.0;
        double host = 0.0;
        char text[256];
        if (!r->eligible[id] || (!is_movement(node->op) && !is_join(node->op)) ||
            read_by_layer(r, node->outputs[0])) {
            continue;
        }
        add_end_cost(r, id, &there, &host);
        if (there <= host) {
            continue;
        }
        (void)snprintf(
            text, sizeof text,
            "no layer reads what it moves, and that takes about %.0f cycles there, %.0f on the host; "
            "take it along with --offload all",
            there, host);
        r->p->places[id].reason = keep_text(r, text);
        r->eligible[id] = false;
    }
}

/* ---- groups that pay */

/* The cost of packing both factors of a product, which the host writes anew, packed as it writes any element.
 */
static double packing_cost(const partitioner *r, const vtac_node *node)
{
    double cycles = 0.0;
    const bool both = (node->op == VTAC_OP_VTA_PRODUCT && vtac_attr_int(node, "image", 0) == 0) ||
                      (node->op == VTAC_OP_VTA_SUMS && vtac_in_constant(r->graph, node, 3) == NULL);
    for (uint32_t i = 0; both && i < 4; i += 3) {
        vtac_value_id value = node->inputs[i];
        const vtac_node pack = {.op = VTAC_OP_VTA_PACK, .outputs = &value, .output_count = 1};
        cycles += 2.0 * vtac_host_cycles(r->graph, &pack, r->options);
    }
    return cycles;
}

static void group_cost(partitioner *r, uint32_t group, double *accelerator, double *host)
{
    *accelerator = 0.0;
    *host = 0.0;
    for (uint32_t i = 0; i < r->graph->order_count; i++) {
        const vtac_node_id id = r->graph->order[i];
        const vtac_node *node = &r->graph->nodes[id];
        if (r->grouping.group[id] != group) {
            continue;
        }
        *accelerator += (double)r->p->places[id].cost.cycles;
        *host += r->p->places[id].host_cycles;
        *accelerator += packing_cost(r, node);
        /* the host packs and unpacks whatever enters or leaves, at the cost of any elementwise work */
        const vtac_node pack = {.op = VTAC_OP_VTA_PACK, .outputs = node->outputs, .output_count = 1};
        if (vtac_needed_outside(r->graph, &r->grouping, group, node->outputs[0])) {
            *accelerator += 2.0 * vtac_host_cycles(r->graph, &pack, r->options);
        }
    }
    *accelerator += *host > 0.0 ? LAUNCH_CYCLES : 0.0;
}

/* Numbers the groups that become regions; nodes of the other groups get their reason. */
static vta_status choose_regions(partitioner *r)
{
    r->region_of = vta_arena_array(&r->p->arena, (size_t)r->grouping.count + 1, sizeof *r->region_of);
    if (r->region_of == NULL) {
        return vta_no_memory(r->diag);
    }
    for (uint32_t group = 1; group <= r->grouping.count; group++) {
        double accelerator;
        double host;
        char text[256];
        group_cost(r, group, &accelerator, &host);
        const bool any = host > 0.0;
        if (any && (r->options->always || accelerator < host)) {
            r->region_of[group] = ++r->p->region_count;
            continue;
        }
        (void)snprintf(
            text, sizeof text,
            "it costs more than it saves there: about %.0f cycles with packing and launch, %.0f on the "
            "host; take it along with --offload all",
            accelerator, host);
        const char *reason = keep_text(r, text);
        for (uint32_t i = 0; i < r->graph->order_count; i++) {
            const vtac_node_id id = r->graph->order[i];
            if (r->grouping.group[id] == group) {
                r->p->places[id].reason = reason;
                r->grouping.group[id] = 0;
            }
        }
    }
    return VTA_OK;
}

/* ---- regions */

typedef struct outside {
    const partitioner *r;
    uint32_t group;
} outside;

static bool needed_outside(const void *context, vtac_value_id value)
{
    const outside *o = context;
    return vtac_needed_outside(o->r->graph, &o->r->grouping, o->group, value);
}

/* Puts the nodes in front of order[i] that it does not need behind it; `needed` and `others` have room for
 * all nodes. */
static void delay_others(const vtac_graph *graph, vtac_node_id *order, uint32_t i, bool *needed,
                         vtac_node_id *others)
{
    uint32_t kept = 0, count = 0;
    memset(needed, 0, (size_t)graph->node_count + 1);
    needed[order[i]] = true;
    for (uint32_t k = i + 1; k-- > 0;) {
        const vtac_node *node = &graph->nodes[order[k]];
        for (uint32_t input = 0; needed[order[k]] && input < node->input_count; input++) {
            needed[graph->values[node->inputs[input]].node] = true;
        }
    }
    for (uint32_t k = 0; k <= i; k++) {
        if (needed[order[k]]) {
            order[kept++] = order[k];
        } else {
            others[count++] = order[k];
        }
    }
    memcpy(order + kept, others, count * sizeof *others);
}

/* The order of layers: the softmax of rows, which leaves the array idle, has layers behind it that do not
 * need it, such as the values of an attention. */
static vta_status order_layers(partitioner *r)
{
    const vtac_graph *graph = r->graph;
    const size_t count = graph->order_count;
    bool *needed = vta_arena_array(&r->p->arena, (size_t)graph->node_count + 1, sizeof *needed);
    vtac_node_id *others = vta_arena_array(&r->p->arena, count + 1, sizeof *others);
    r->order = vta_arena_array(&r->p->arena, count + 1, sizeof *r->order);
    if (needed == NULL || others == NULL || r->order == NULL) {
        return vta_no_memory(r->diag);
    }
    memcpy(r->order, graph->order, count * sizeof *r->order);
    for (uint32_t i = 0; i < count; i++) {
        const vtac_op op = graph->nodes[r->order[i]].op;
        if (op == VTAC_OP_VTA_SOFTMAX || op == VTAC_OP_VTA_NORM) {
            delay_others(graph, r->order, i, needed, others);
        }
    }
    return VTA_OK;
}

static vta_status build_region(partitioner *r, vtac_maker *m, uint32_t group)
{
    const uint32_t number = r->region_of[group] - 1;
    char name[32];
    vta_status status = VTA_OK;
    vtac_maker_reset(m);
    for (uint32_t i = 0; i < r->graph->order_count && status == VTA_OK; i++) {
        const vtac_node_id id = r->order[i];
        if (r->grouping.group[id] == group) {
            vtac_placement *place = &r->p->places[id];
            status = vtac_make_layer(m, id, &place->layer);
            place->kind = VTAC_PLACE_ACCELERATOR;
            place->region = number;
        }
    }
    VTA_TRY(status);
    (void)snprintf(name, sizeof name, "region%u", number);
    const outside o = {r, group};
    return vtac_make_region(m, keep_text(r, name), needed_outside, &o, &r->p->regions[number].region);
}

static vta_status build_regions(partitioner *r)
{
    vtac_maker m;
    r->p->regions = calloc((size_t)r->p->region_count + 1, sizeof *r->p->regions);
    if (r->p->regions == NULL) {
        return vta_no_memory(r->diag);
    }
    VTA_TRY(vtac_maker_init(&m, r->graph, &r->p->arena, r->zeros, r->diag));
    vta_status status = VTA_OK;
    for (uint32_t group = 1; group <= r->grouping.count && status == VTA_OK; group++) {
        status = r->region_of[group] != 0 ? build_region(r, &m, group) : VTA_OK;
    }
    vtac_maker_free(&m);
    return status;
}

static vta_status schedule_regions(partitioner *r)
{
    vtac_partition *p = r->p;
    vtac_vta_options how = r->options->schedule;
    how.no_keep = how.no_keep || p->region_count > 1;
    for (uint32_t i = 0; i < p->region_count; i++) {
        vtac_region *region = &p->regions[i];
        const vta_status status =
            vtac_vta_schedule(&p->config, &region->region, &how, &region->image, r->diag);
        if (status != VTA_OK) {
            (void)vta_context(r->diag, "%s of %u layers", region->region.name, region->region.layer_count);
            return status;
        }
        VTA_TRY(vta_program_write(&region->image.program, &region->program, &region->program_bytes, r->diag));
        region->constant_offset = p->constant_bytes;
        region->work_offset = p->work_bytes;
        p->constant_bytes += vta_round_up_u(region->image.constant_bytes, VTA_BASE_ALIGN);
        p->work_bytes += vta_round_up_u(region->image.work_bytes, VTA_BASE_ALIGN);
    }
    return VTA_OK;
}

static bool read_on_host(const partitioner *r, vtac_value_id value)
{
    const vtac_value *v = &r->graph->values[value];
    bool any = v->output_uses > 0;
    for (uint32_t i = 0; i < v->user_count && !any; i++) {
        const vtac_node *node = &r->graph->nodes[v->users[i]];
        for (uint32_t k = 0; k < node->input_count && !node->dead && !any; k++) {
            any = node->inputs[k] == value && r->p->places[v->users[i]].kind == VTAC_PLACE_HOST;
        }
    }
    return any;
}

/* Marks views whose readers are all in regions, last ones first. */
static void mark_vanished(partitioner *r)
{
    for (uint32_t i = r->graph->order_count; i-- > 0;) {
        const vtac_node_id id = r->graph->order[i];
        const vtac_node *node = &r->graph->nodes[id];
        if (vtac_is_view(r->graph, node) && !read_on_host(r, node->outputs[0])) {
            r->p->places[id].kind = VTAC_PLACE_VANISHED;
        }
    }
}

static bool is_placed_there(void *context, vtac_node_id node)
{
    const partitioner *r = context;
    return node >= r->p->place_count || r->p->places[node].kind == VTAC_PLACE_ACCELERATOR;
}

/* Takes a node of the host out, since Pack or Unpack do what it does. */
static vta_status mark_passed(void *context, vtac_node_id node)
{
    const partitioner *r = context;
    r->p->places[node].kind = VTAC_PLACE_VANISHED;
    r->p->places[node].reason = "the host reads and writes the accelerator's numbers in this order";
    r->p->places[node].host_cycles = 0.0;
    return VTA_OK;
}

/* Marks the nodes between the planes of a region's input and what they come from. */
static void mark_planes(partitioner *r, vtac_value_id value)
{
    int64_t planes[3];
    const vtac_value_id from = vtac_planes_from(r->graph, value, false, planes);
    while (from != 0 && value != from && !read_on_host(r, value)) {
        const vtac_node_id node = r->graph->values[value].node;
        (void)mark_passed(r, node);
        value = r->graph->nodes[node].inputs[0];
    }
}

/* Marks nodes that only move numbers between the host's layout and the accelerator's. */
static vta_status mark_ends(partitioner *r)
{
    const vtac_ends ends = {.graph = r->graph, .context = r, .keeps = is_placed_there, .pass = mark_passed};
    for (uint32_t n = 0; n < r->p->region_count; n++) {
        const vtac_vta_region *region = &r->p->regions[n].region;
        for (uint32_t i = 0; i < region->tensor_count; i++) {
            const vtac_vta_tensor *t = &region->tensors[i];
            VTA_TRY(t->role == VTAC_VTA_OUTPUT ? vtac_walk_ends(&ends, t->value) : VTA_OK);
            if (t->role == VTAC_VTA_INPUT && !t->kept) {
                mark_planes(r, t->value);
            }
        }
    }
    return VTA_OK;
}

/* Undoes rewrites that no region took, and gives places to the nodes that come back. */
static vta_status undo_unused(partitioner *r)
{
    vtac_partition *p = r->p;
    VTA_TRY(vtac_undo_unused_legalized(r->graph, &r->products, p, r->diag));
    VTA_TRY(vtac_undo_unused_rows(r->graph, p, r->diag));
    VTA_TRY(vtac_undo_unused_legalized(r->graph, &r->sums, p, r->diag));
    VTA_TRY(vtac_undo_unused_legalized(r->graph, &r->pairs, p, r->diag));
    VTA_TRY(vtac_undo_unused_legalized(r->graph, &r->volumes, p, r->diag));
    VTA_TRY(vtac_undo_unused_moves(r->graph, &r->head_moves, p, r->diag));
    VTA_TRY(vtac_undo_unused_moves(r->graph, &r->moves, p, r->diag));
    vtac_placement *places = vta_arena_array(&p->arena, r->graph->node_count + 1U, sizeof *places);
    if (places == NULL) {
        return vta_no_memory(r->diag);
    }
    memcpy(places, p->places, p->place_count * sizeof *places);
    for (uint32_t i = p->place_count; i <= r->graph->node_count; i++) {
        places[i] = (vtac_placement){.reason = "it moves numbers for the host"};
    }
    p->places = places;
    p->place_count = r->graph->node_count + 1;
    return VTA_OK;
}

/* Gives each place on the accelerator the predicted cost of its layer. If nodes share a layer, the first one
 * has the whole cost. */
static vta_status predict_places(partitioner *r)
{
    vtac_partition *p = r->p;
    VTA_TRY(schedule_regions(r));
    for (uint32_t n = 0; n < p->region_count; n++) {
        const vtac_vta_plan *plans = p->regions[n].image.plans;
        bool *counted = vta_arena_array(&p->arena, p->regions[n].region.layer_count + 1U, sizeof *counted);
        if (counted == NULL) {
            return vta_no_memory(r->diag);
        }
        for (uint32_t i = 0; i < r->graph->order_count; i++) {
            vtac_placement *place = &p->places[r->graph->order[i]];
            if (place->kind == VTAC_PLACE_ACCELERATOR && place->region == n) {
                place->cost = counted[place->layer] ? (vtac_vta_cost){0} : plans[place->layer].cost;
                counted[place->layer] = true;
            }
        }
    }
    return VTA_OK;
}

/* Rewrites nodes into forms that the accelerator supports: first what stands around products. */
static vta_status legalize_forms(partitioner *r)
{
    const vta_config *config = r->options->config;
    const bool always = r->options->always;
    vtac_graph *graph = r->graph;
    vta_arena *arena = &r->p->arena;
    VTA_TRY(vtac_legalize_caches(graph, config, r->options->holds_states, arena, r->diag));
    VTA_TRY(vtac_flatten_functions(graph, config, arena, r->diag));
    VTA_TRY(vtac_legalize_rows(graph, config, always, arena, r->diag));
    VTA_TRY(vtac_legalize_heads(graph, config, arena, r->diag));
    VTA_TRY(vtac_legalize_volumes(graph, config, always, arena, &r->volumes, r->diag));
    VTA_TRY(vtac_choose_channels(graph, arena, r->diag));
    VTA_TRY(vtac_spread_operands(graph, arena, r->diag));
    return vtac_fuse_moves(graph, config, arena, &r->moves, r->diag);
}

/* Then products, and what is joined to them. */
static vta_status legalize_products(partitioner *r)
{
    const vta_config *config = r->options->config;
    const bool always = r->options->always;
    vtac_graph *graph = r->graph;
    vta_arena *arena = &r->p->arena;
    VTA_TRY(vtac_legalize_matmuls(graph, config, always, arena, &r->products, r->diag));
    VTA_TRY(vtac_fill_heads(graph, config, arena, &r->products, r->diag));
    VTA_TRY(vtac_use_images(graph, config, arena, &r->products, r->diag));
    VTA_TRY(vtac_shorten_transposes(graph, config, arena, r->diag));
    VTA_TRY(vtac_join_softmax(graph, config, arena, &r->products, r->diag));
    VTA_TRY(vtac_use_images(graph, config, arena, &r->products, r->diag));
    if (config->rows != 0) { /* around products: heads that do not fill blocks */
        VTA_TRY(vtac_fuse_moves(graph, config, arena, &r->head_moves, r->diag));
    }
    VTA_TRY(vtac_legalize_integers(graph, config, always, arena, &r->sums, r->diag));
    return vtac_legalize_integer_pairs(graph, config, always, arena, &r->pairs, r->diag);
}

/* Finds the place of each node; nothing forms a region yet. */
static vta_status find_places(partitioner *r)
{
    vtac_partition *p = r->p;
    int32_t *zeros;
    p->place_count = r->graph->node_count + 1;
    p->places = vta_arena_array(&p->arena, p->place_count, sizeof *p->places);
    r->eligible = vta_arena_array(&p->arena, p->place_count, sizeof *r->eligible);
    if (p->places == NULL || r->eligible == NULL) {
        return vta_no_memory(r->diag);
    }
    VTA_TRY(vtac_find_zeros(r->graph, &p->arena, &zeros, r->diag));
    r->zeros = zeros;
    VTA_TRY(place_nodes(r));
    trim_ends(r);
    return VTA_OK;
}

static vta_status find_regions(partitioner *r)
{
    VTA_TRY(vtac_progress_at(r->options->schedule.progress, "building regions", NULL, 0, 0, r->diag));
    VTA_TRY(vtac_find_groups(r->graph, r->eligible, &r->p->arena, &r->grouping, r->diag));
    VTA_TRY(choose_regions(r));
    VTA_TRY(order_layers(r));
    VTA_TRY(build_regions(r));
    mark_vanished(r);
    return mark_ends(r);
}

/* Prices what stays on the host, after the choice of what moves. */
static void price_host(partitioner *r)
{
    r->p->host_cycles = 0.0;
    for (uint32_t i = 0; i < r->graph->order_count; i++) {
        const vtac_node_id id = r->graph->order[i];
        vtac_placement *place = &r->p->places[id];
        if (place->kind == VTAC_PLACE_HOST) {
            place->host_cycles =
                vtac_staying_cycles(r->graph, &r->graph->nodes[id], place->host_cycles, r->options);
            r->p->host_cycles += place->host_cycles;
        }
    }
}

/* The programs of the regions, and one node for each. */
static vta_status put_in_place(partitioner *r)
{
    VTA_TRY(undo_unused(r));
    VTA_TRY(schedule_regions(r));
    VTA_TRY(vtac_progress_at(r->options->schedule.progress, "putting regions in place", NULL, 0, 0, r->diag));
    return vtac_rewrite_graph(r->graph, r->p, r->diag);
}

static vta_status partition_graph(partitioner *r)
{
    uint32_t changes = 0;
    const char *host = r->options->host;
    r->p->config = *r->options->config;
    r->p->host = vta_arena_string(&r->p->arena, host, strlen(host));
    VTA_TRY(vta_allocated(r->p->host != NULL, r->diag));
    VTA_TRY(vtac_fold_row_islands(r->graph, &changes, r->diag));
    VTA_TRY(legalize_forms(r));
    VTA_TRY(legalize_products(r));
    VTA_TRY(find_places(r));
    VTA_TRY(find_regions(r));
    price_host(r);
    if (r->options->look) {
        return r->options->predict ? predict_places(r) : VTA_OK;
    }
    return put_in_place(r);
}

vta_status vtac_partition_graph(vtac_graph *graph, const vtac_partition_options *options,
                                vtac_partition **out, vta_diag *diag)
{
    *out = NULL;
    vtac_partition *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return vta_no_memory(diag);
    }
    vtac_partition_options own = *options;
    own.host = own.host != NULL ? own.host : vtac_board_host(own.config->target);
    partitioner r = {.graph = graph, .options = &own, .p = p, .diag = diag};
    const vta_status status = partition_graph(&r);
    if (status != VTA_OK) {
        vtac_partition_free(p);
        return status;
    }
    *out = p;
    return VTA_OK;
}

vtac_run_cycles vtac_partition_cycles(const vtac_graph *graph, const vtac_partition *partition)
{
    vtac_run_cycles sum = {0};
    for (uint32_t i = 0; i < graph->order_count; i++) {
        const vtac_placement *place = &partition->places[graph->order[i]];
        sum.accelerator += place->kind == VTAC_PLACE_ACCELERATOR ? (double)place->cost.cycles : 0.0;
        sum.host += place->kind == VTAC_PLACE_HOST ? place->host_cycles : 0.0;
    }
    return sum;
}

void vtac_partition_free(vtac_partition *p)
{
    if (p == NULL) {
        return;
    }
    for (uint32_t i = 0; p->regions != NULL && i < p->region_count; i++) {
        vtac_vta_image_free(&p->regions[i].image);
        free(p->regions[i].program);
    }
    free(p->regions);
    vta_arena_free(&p->arena);
    free(p);
}
