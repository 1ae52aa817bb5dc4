/* SPDX-License-Identifier: Apache-2.0
 *
 * Where one scale is for all weights of a layer, channels with small weights lose most of their bits. A
 * convolution's channel can be made larger and what reads it smaller by the same factor, with a Relu or
 * nothing in between: both layers then have the same largest weight in that channel (Nagel et al., 2019). A
 * layer is the second of one pair and the first of the next, so the pairs are gone through a few times.
 */
#include "equalize.h"

#include <math.h>
#include <string.h>

#include "vta/fail.h"

enum { SWEEPS = 8, MAX_FACTOR = 64 };

/* Two neighbours; each output channel of the first is one input channel of the second. */
typedef struct layer_pair {
    vtac_node_id first, second;
    int64_t channels;
} layer_pair;

/* The only node that uses a value, 0: none or several. */
static vtac_node_id only_user(const vtac_graph *g, vtac_value_id value)
{
    if (vtac_use_count(g, value) != 1 || vtac_is_output(g, value)) {
        return 0;
    }
    for (uint32_t i = 0; i < g->order_count; i++) {
        const vtac_node *node = &g->nodes[g->order[i]];
        for (uint32_t k = 0; k < node->input_count; k++) {
            if (node->inputs[k] == value) {
                return k == 0 ? g->order[i] : 0;
            }
        }
    }
    return 0;
}

static bool is_conv(const vtac_quant_plan *plan, vtac_node_id id)
{
    uint32_t axis;
    const vtac_node *node = &plan->graph->nodes[id];
    return id != 0 && id < plan->node_room && plan->active[id] && node->op == VTAC_OP_CONV &&
           vtac_quant_is_product(plan->graph, node, &axis) &&
           (vtac_in_type(plan->graph, node, VTAC_CONV_BIAS) == NULL ||
            vtac_in_constant(plan->graph, node, VTAC_CONV_BIAS) != NULL);
}

static bool find_pair(const vtac_quant_plan *plan, vtac_node_id first, layer_pair *out)
{
    const vtac_graph *g = plan->graph;
    if (!is_conv(plan, first)) {
        return false;
    }
    vtac_node_id next = only_user(g, g->nodes[first].outputs[0]);
    if (next != 0 && g->nodes[next].op == VTAC_OP_RELU) {
        next = only_user(g, g->nodes[next].outputs[0]);
    }
    if (!is_conv(plan, next)) {
        return false;
    }
    const int64_t group = vtac_attr_int(&g->nodes[next], "group", 1);
    *out = (layer_pair){first, next, vtac_in_type(g, &g->nodes[first], VTAC_CONV_WEIGHT)->dim[0]};
    return group == 1 || group == out->channels;
}

/* Contents of a constant operand, which belong to the plan's graph from now on and may be written. */
static vta_status own_constant(const vtac_quant_plan *plan, vtac_node_id id, uint32_t input, float **data,
                               vta_diag *diag)
{
    vtac_graph *g = plan->graph;
    const vtac_tensor *from = vtac_in_constant(g, &g->nodes[id], input);
    float *copy = vta_arena_alloc(&g->arena, from->bytes + 1);
    if (copy == NULL) {
        return vta_no_memory(diag);
    }
    memcpy(copy, from->data, from->bytes);
    const vtac_tensor tensor = {.type = from->type, .data = copy, .bytes = from->bytes};
    vtac_value_id value;
    VTA_TRY(vtac_add_constant(g, g->values[g->nodes[id].inputs[input]].name, &tensor, &value, diag));
    VTA_TRY(vtac_set_input(g, id, input, value, diag));
    *data = copy;
    return VTA_OK;
}

/* Weights and bias of a layer, writable. */
typedef struct layer_weights {
    float *w, *bias;
    int64_t count, outputs, inputs, taps; /* inputs: of a group */
} layer_weights;

static vta_status open_layer(const vtac_quant_plan *plan, vtac_node_id id, layer_weights *out, vta_diag *diag)
{
    if (out->w != NULL) {
        return VTA_OK;
    }
    const vtac_type type = *vtac_in_type(plan->graph, &plan->graph->nodes[id], VTAC_CONV_WEIGHT);
    *out = (layer_weights){.count = vtac_type_elements(&type), .outputs = type.dim[0], .inputs = type.dim[1]};
    out->taps = out->count / (out->outputs * out->inputs);
    VTA_TRY(own_constant(plan, id, VTAC_CONV_WEIGHT, &out->w, diag));
    const bool biased = vtac_in_type(plan->graph, &plan->graph->nodes[id], VTAC_CONV_BIAS) != NULL;
    return biased ? own_constant(plan, id, VTAC_CONV_BIAS, &out->bias, diag) : VTA_OK;
}

/* The channel that an element of the second layer's weights reads. A depthwise one reads as it writes, in
 * groups of equal size. */
static int64_t channel_read(const layer_weights *l, int64_t i, int64_t channels)
{
    const bool whole = l->inputs == channels;
    return whole ? i / l->taps % l->inputs : i / (l->inputs * l->taps) / (l->outputs / channels);
}

/* One factor for each channel; what is 0 on either side stays as it is. */
static void balance_layers(const layer_weights *a, const layer_weights *b, int64_t channels, double *largest,
                           double *factor)
{
    for (int64_t c = 0; c < channels; c++) {
        largest[c] = factor[c] = 0.0;
    }
    for (int64_t i = 0; i < a->count; i++) {
        const int64_t c = i / (a->inputs * a->taps);
        largest[c] = fmax(largest[c], fabs((double)a->w[i]));
    }
    for (int64_t i = 0; i < b->count; i++) {
        const int64_t c = channel_read(b, i, channels);
        factor[c] = fmax(factor[c], fabs((double)b->w[i]));
    }
    for (int64_t c = 0; c < channels; c++) {
        const double ratio = largest[c] > 0.0 && factor[c] > 0.0 ? sqrt(largest[c] / factor[c]) : 1.0;
        factor[c] = fmin(fmax(ratio, 1.0 / MAX_FACTOR), MAX_FACTOR);
    }
    for (int64_t i = 0; i < a->count; i++) {
        a->w[i] = (float)((double)a->w[i] / factor[i / (a->inputs * a->taps)]);
    }
    for (int64_t c = 0; a->bias != NULL && c < channels; c++) {
        a->bias[c] = (float)((double)a->bias[c] / factor[c]);
    }
    for (int64_t i = 0; i < b->count; i++) {
        b->w[i] = (float)((double)b->w[i] * factor[channel_read(b, i, channels)]);
    }
}

vta_status vtac_quant_equalize(const vtac_quant_plan *plan, vta_diag *diag)
{
    layer_weights *layers = vta_arena_array(plan->arena, plan->node_room, sizeof *layers);
    if (layers == NULL) {
        return vta_no_memory(diag);
    }
    memset(layers, 0, plan->node_room * sizeof *layers);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (uint32_t i = 0; i < plan->graph->order_count; i++) {
            layer_pair p;
            if (!find_pair(plan, plan->graph->order[i], &p)) {
                continue;
            }
            double *room = vta_arena_array(plan->arena, 2 * (size_t)p.channels + 1, sizeof *room);
            if (room == NULL) {
                return vta_no_memory(diag);
            }
            VTA_TRY(open_layer(plan, p.first, &layers[p.first], diag));
            VTA_TRY(open_layer(plan, p.second, &layers[p.second], diag));
            balance_layers(&layers[p.first], &layers[p.second], p.channels, room, room + p.channels);
        }
    }
    return VTA_OK;
}
