/* SPDX-License-Identifier: Apache-2.0
 *
 * fold-scale-axis: a factor or an offset for each channel behind a float convolution (what a
 * BatchNormalization has become, or the bias of a model that adds it by hand) goes into its weights and bias;
 * the same for the columns of a Gemm.
 *
 *     Mul(Conv(x, w, b), s) -> Conv(x, w * s, b * s)        Add(Conv(x, w, b), t) -> Conv(x, w, b + t)
 */
#include <string.h>

#include "rewrite.h"
#include "vta/fail.h"

/* The node in front of a Mul or Add, and which of its axes the channels are. */
typedef struct affine_node {
    vtac_node_id id;                  /* of the Mul or Add */
    vtac_node core;                   /* Conv or Gemm */
    const vtac_tensor *weight, *bias; /* bias NULL: none */
    int64_t channels;
    uint32_t axis;             /* of the output */
    const vtac_tensor *values; /* the other operand */
} affine_node;

static bool is_float(const vtac_tensor *t)
{
    return t != NULL && t->type.dtype == VTAC_F32;
}

/* True if the constant is one number, or has one for each place along the axis of channels. */
static bool runs_along(const affine_node *a, uint32_t rank)
{
    const vtac_type *type = &a->values->type;
    if (vtac_type_elements(type) == 1) {
        return type->rank <= rank;
    }
    for (uint32_t i = 0; i < type->rank; i++) {
        const bool channel = i + rank == a->axis + type->rank;
        if (type->dim[i] != (channel ? a->channels : 1)) {
            return false;
        }
    }
    return type->rank <= rank && vtac_type_elements(type) == a->channels;
}

static double value_at(const affine_node *a, int64_t c)
{
    return vtac_tensor_float(a->values, vtac_type_elements(&a->values->type) == 1 ? 0 : c);
}

static bool read_gemm(affine_node *a)
{
    const bool plain = vtac_attr_float(&a->core, "alpha", 1.0) == 1.0 &&
                       (a->bias == NULL || vtac_attr_float(&a->core, "beta", 1.0) == 1.0);
    a->axis = 1;
    a->channels = a->weight->type.dim[vtac_attr_int(&a->core, "transB", 0) != 0 ? 0 : 1];
    return plain;
}

/* The pattern; false where it is not there. */
static bool read_affine(const vtac_rewrite *r, vtac_node_id id, affine_node *a)
{
    const vtac_node *node = &r->graph->nodes[id];
    *a = (affine_node){.id = id};
    for (uint32_t side = 0; side < 2; side++) {
        const vtac_node *above = vtac_producer(r, node->inputs[side]);
        a->values = vtac_in_constant(r->graph, node, 1 - side);
        if (above == NULL || !is_float(a->values) ||
            (above->op != VTAC_OP_CONV && above->op != VTAC_OP_GEMM) ||
            vtac_only_user(r, above->outputs[0]) == NULL) {
            continue;
        }
        const vtac_type *y = &r->graph->values[node->outputs[0]].type;
        a->core = *above;
        a->weight = vtac_in_constant(r->graph, above, VTAC_CONV_WEIGHT);
        a->bias = vtac_in_constant(r->graph, above, VTAC_CONV_BIAS);
        if (!is_float(a->weight) ||
            (vtac_in_type(r->graph, above, VTAC_CONV_BIAS) != NULL && !is_float(a->bias)) ||
            !vtac_type_equal(y, &r->graph->values[above->outputs[0]].type)) {
            return false;
        }
        a->axis = 1;
        a->channels = a->weight->type.dim[0];
        const bool fits = above->op == VTAC_OP_CONV || read_gemm(a);
        const bool list = a->bias == NULL || (a->bias->type.rank == 1 && a->bias->type.dim[0] == a->channels);
        return fits && list && runs_along(a, y->rank);
    }
    return false;
}

/* to[i] = from[i] * factor; `from` need not be aligned. */
static void scale_row(float *to, const char *from, int64_t count, float factor)
{
    for (int64_t i = 0; i < count; i++) {
        float w;
        memcpy(&w, from + (size_t)i * sizeof w, sizeof w);
        to[i] = w * factor;
    }
}

/* Weights whose first axis is the channels are scaled row by row, others (a Gemm's) column by column. */
static vta_status new_weight(vtac_rewrite *r, const affine_node *a, vtac_value_id *out)
{
    const int64_t count = vtac_type_elements(&a->weight->type);
    const char *from = a->weight->data;
    float *data = vta_arena_array(&r->graph->arena, (size_t)count, sizeof *data);
    if (data == NULL) {
        return vta_no_memory(r->diag);
    }
    const bool rows = a->core.op == VTAC_OP_CONV || vtac_attr_int(&a->core, "transB", 0) != 0;
    const int64_t step = rows ? count / a->channels : 1;
    for (int64_t i = 0; i < count; i += step) {
        const int64_t c = rows ? i / step : i % a->channels;
        scale_row(data + i, from + (size_t)i * sizeof *data, step, (float)value_at(a, c));
    }
    const vtac_tensor tensor = {.type = a->weight->type, .data = data, .bytes = (size_t)count * sizeof *data};
    return vtac_add_constant(r->graph, NULL, &tensor, out, r->diag);
}

static vta_status new_bias(vtac_rewrite *r, const affine_node *a, bool scale, vtac_value_id *out)
{
    const vtac_type type = {.dtype = VTAC_F32, .rank = 1, .dim = {a->channels}};
    float *data = vta_arena_array(&r->graph->arena, (size_t)a->channels, sizeof *data);
    if (data == NULL) {
        return vta_no_memory(r->diag);
    }
    for (int64_t c = 0; c < a->channels; c++) {
        const double old = a->bias == NULL ? 0.0 : vtac_tensor_float(a->bias, c);
        data[c] = (float)(scale ? old * value_at(a, c) : old + value_at(a, c));
    }
    return vtac_new_constant(r, NULL, &type, data, out);
}

static vta_status fold_affine(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    affine_node a;
    const bool scale = r->graph->nodes[id].op == VTAC_OP_MUL;
    if (!read_affine(r, id, &a) || vtac_type_elements(&a.weight->type) == 0) {
        return VTA_OK;
    }
    vtac_value_id inputs[VTAC_CONV_INPUTS] = {a.core.inputs[VTAC_CONV_X], a.core.inputs[VTAC_CONV_WEIGHT], 0};
    uint32_t count = 2;
    if (scale) {
        VTA_TRY(new_weight(r, &a, &inputs[VTAC_CONV_WEIGHT]));
    }
    if (!scale || a.bias != NULL) {
        VTA_TRY(new_bias(r, &a, scale, &inputs[VTAC_CONV_BIAS]));
        count = 3;
    }
    const vtac_node_spec spec = {.op = a.core.op,
                                 .inputs = inputs,
                                 .input_count = count,
                                 .output_count = 1,
                                 .attrs = a.core.attrs,
                                 .attr_count = a.core.attr_count};
    vtac_value_id out;
    VTA_TRY(vtac_new_node(r, id, &a.core, spec, &out));
    vtac_replace(r, r->graph->nodes[id].outputs[0], out);
    vtac_remove_node(r->graph, id);
    *changed = true;
    return VTA_OK;
}

static const vtac_rule rules[] = {
    {VTAC_OP_MUL, fold_affine},
    {VTAC_OP_ADD, fold_affine},
};

vtac_pass_fn vtac_pass_fold_scale_axis;

vta_status vtac_pass_fold_scale_axis(vtac_graph *graph, uint32_t *changes, vta_diag *diag)
{
    return vtac_apply_rules(graph, rules, sizeof rules / sizeof rules[0], changes, diag);
}
