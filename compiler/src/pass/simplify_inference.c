/* SPDX-License-Identifier: Apache-2.0
 *
 * simplify-inference: what training left behind. BatchNormalization becomes a factor and an offset for each
 * channel, computed in double, which fold-scale-axis then joins to a convolution; Identity and Dropout go.
 */
#include <math.h>

#include "rewrite.h"
#include "vta/fail.h"

static vta_status skip_copy(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node *node = &r->graph->nodes[id];
    for (uint32_t i = 1; i < node->output_count; i++) {
        if (vtac_use_count(r->graph, node->outputs[i]) > 0) {
            return VTA_OK; /* a Dropout whose mask is asked for */
        }
    }
    if (vtac_can_replace(r->graph, node->outputs[0], node->inputs[0])) {
        vtac_replace(r, node->outputs[0], node->inputs[0]);
        vtac_remove_node(r->graph, id);
        *changed = true;
    }
    return VTA_OK;
}

/* scale, bias, mean, variance, all known float32 of one length. */
static bool read_statistics(const vtac_rewrite *r, const vtac_node *node, const vtac_tensor **out)
{
    for (uint32_t i = 0; i < 4; i++) {
        out[i] = vtac_in_constant(r->graph, node, i + 1);
        if (out[i] == NULL || out[i]->type.dtype != VTAC_F32 || out[i]->bytes != out[0]->bytes) {
            return false;
        }
    }
    return true;
}

/* A constant that broadcasts along channels: [C, 1, 1] for an image. */
static vta_status channel_constant(vtac_rewrite *r, uint32_t rank, int64_t channels, const float *values,
                                   vtac_value_id *out)
{
    vtac_type type = {.dtype = VTAC_F32, .rank = rank - 1, .dim = {channels}};
    for (uint32_t i = 1; i < type.rank; i++) {
        type.dim[i] = 1;
    }
    return vtac_new_constant(r, NULL, &type, values, out);
}

static vta_status split_norm(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node norm = r->graph->nodes[id];
    const vtac_type x = r->graph->values[norm.inputs[VTAC_BATCH_NORM_X]].type;
    const vtac_tensor *statistics[4];
    if (x.dtype != VTAC_F32 || x.rank < 2 || norm.output_count != 1 ||
        !read_statistics(r, &norm, statistics)) {
        return VTA_OK;
    }
    const int64_t channels = x.dim[1];
    float *factor = vta_arena_array(&r->graph->arena, (size_t)channels, sizeof *factor);
    float *offset = vta_arena_array(&r->graph->arena, (size_t)channels, sizeof *offset);
    if (factor == NULL || offset == NULL) {
        return vta_no_memory(r->diag);
    }
    const double epsilon = vtac_attr_float(&norm, "epsilon", 1e-5);
    for (int64_t c = 0; c < channels; c++) {
        const double scale =
            vtac_tensor_float(statistics[0], c) / sqrt(vtac_tensor_float(statistics[3], c) + epsilon);
        factor[c] = (float)scale;
        offset[c] =
            (float)(vtac_tensor_float(statistics[1], c) - vtac_tensor_float(statistics[2], c) * scale);
    }
    vtac_value_id inputs[VTAC_BINARY_INPUTS] = {norm.inputs[VTAC_BATCH_NORM_X]};
    vtac_value_id out;
    VTA_TRY(channel_constant(r, x.rank, channels, factor, &inputs[VTAC_BINARY_B]));
    VTA_TRY(vtac_new_simple(r, id, &norm, VTAC_OP_MUL, inputs, 2, &inputs[VTAC_BINARY_A]));
    VTA_TRY(channel_constant(r, x.rank, channels, offset, &inputs[VTAC_BINARY_B]));
    VTA_TRY(vtac_new_simple(r, id, &norm, VTAC_OP_ADD, inputs, 2, &out));
    vtac_replace(r, norm.outputs[0], out);
    vtac_remove_node(r->graph, id);
    *changed = true;
    return VTA_OK;
}

static const vtac_rule rules[] = {
    {VTAC_OP_BATCH_NORMALIZATION, split_norm},
    {VTAC_OP_IDENTITY, skip_copy},
    {VTAC_OP_DROPOUT, skip_copy},
};

vtac_pass_fn vtac_pass_simplify_inference;

vta_status vtac_pass_simplify_inference(vtac_graph *graph, uint32_t *changes, vta_diag *diag)
{
    return vtac_apply_rules(graph, rules, sizeof rules / sizeof rules[0], changes, diag);
}
