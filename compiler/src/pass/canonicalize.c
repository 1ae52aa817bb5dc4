/* SPDX-License-Identifier: Apache-2.0
 *
 * canonicalize: one form for things that are the same, so that later passes and the back ends meet fewer.
 * Every rule is an equality to the bit.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../ops/infer.h"
#include "rewrite.h"
#include "vta/fail.h"

static vta_status replace_by(vtac_rewrite *r, vtac_node_id id, vtac_value_id new, bool *changed)
{
    const vtac_value_id old = r->graph->nodes[id].outputs[0];
    if (vtac_can_replace(r->graph, old, new)) {
        vtac_replace(r, old, new);
        vtac_remove_node(r->graph, id);
        *changed = true;
    }
    return VTA_OK;
}

static bool is_identity_perm(const int64_t *perm, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++) {
        if (perm[i] != (int64_t)i) {
            return false;
        }
    }
    return true;
}

/* Operators that return their first operand where the type does not change. VARIADIC ones do so only without
 * another operand. */
typedef enum no_op { NEVER, SAME_TYPE, VARIADIC } no_op;
static const no_op no_ops[VTAC_OP_COUNT] = {
    [VTAC_OP_CAST] = SAME_TYPE,    [VTAC_OP_CAST_LIKE] = SAME_TYPE, [VTAC_OP_EXPAND] = SAME_TYPE,
    [VTAC_OP_FLATTEN] = SAME_TYPE, [VTAC_OP_RESHAPE] = SAME_TYPE,   [VTAC_OP_SQUEEZE] = SAME_TYPE,
    [VTAC_OP_TILE] = SAME_TYPE,    [VTAC_OP_UNSQUEEZE] = SAME_TYPE, [VTAC_OP_CONCAT] = VARIADIC,
    [VTAC_OP_MAX] = VARIADIC,      [VTAC_OP_MEAN] = VARIADIC,       [VTAC_OP_MIN] = VARIADIC,
    [VTAC_OP_SUM] = VARIADIC,
};

static vta_status skip_no_ops(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node *node = &r->graph->nodes[id];
    if (node->input_count == 0 || node->inputs[0] == 0 || node->output_count != 1) {
        return VTA_OK;
    }
    const no_op kind = no_ops[node->op];
    const bool same =
        vtac_type_equal(&r->graph->values[node->inputs[0]].type, &r->graph->values[node->outputs[0]].type);
    const bool nothing = same && (kind == SAME_TYPE || (kind == VARIADIC && node->input_count == 1));
    return nothing ? replace_by(r, id, node->inputs[0], changed) : VTA_OK;
}

/* Pads of nothing, and a slice of all: exporters write them for sizes that the model leaves open. */
static vta_status skip_whole(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node *node = &r->graph->nodes[id];
    const bool pads = node->op == VTAC_OP_PAD;
    const vtac_tensor *numbers = vtac_in_constant(r->graph, node, pads ? VTAC_PAD_PADS : VTAC_SLICE_STEPS);
    const bool given = pads || vtac_in_type(r->graph, node, VTAC_SLICE_STEPS) != NULL;
    if ((given && numbers == NULL) ||
        !vtac_type_equal(&r->graph->values[node->inputs[0]].type, &r->graph->values[node->outputs[0]].type)) {
        return VTA_OK;
    }
    for (int64_t i = 0; given && i < vtac_type_elements(&numbers->type); i++) {
        const int64_t number = vtac_tensor_int(numbers, i);
        if (pads ? number != 0 : number < 1) {
            return VTA_OK; /* what is cut on one side comes on the other, or the order is turned */
        }
    }
    return replace_by(r, id, node->inputs[0], changed);
}

/* A Resize to the size that is there: each place is that of a pixel. */
static vta_status skip_same_size(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node *node = &r->graph->nodes[id];
    const vtac_tensor *scales = vtac_in_constant(r->graph, node, VTAC_RESIZE_SCALES);
    const char *place = vtac_attr_string(node, "coordinate_transformation_mode", "half_pixel");
    bool same =
        strcmp(place, "tf_crop_and_resize") != 0 && node->output_count == 1 &&
        (scales != NULL || vtac_in_type(r->graph, node, VTAC_RESIZE_SCALES) == NULL) &&
        vtac_type_equal(&r->graph->values[node->inputs[0]].type, &r->graph->values[node->outputs[0]].type);
    for (int64_t i = 0; same && scales != NULL && i < vtac_type_elements(&scales->type); i++) {
        same = vtac_tensor_float(scales, i) == 1.0;
    }
    return same ? replace_by(r, id, node->inputs[0], changed) : VTA_OK;
}

/* Flatten, Squeeze and Unsqueeze, and a reshape of a reshape, as one Reshape. */
static vta_status merge_reshapes(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node node = r->graph->nodes[id];
    const vtac_type y = r->graph->values[node.outputs[0]].type;
    const vtac_node *above = vtac_producer(r, node.inputs[VTAC_RESHAPE_X]);
    const bool again = above != NULL && above->op == VTAC_OP_RESHAPE;
    if (vtac_type_elements(&y) == 0 || (node.op == VTAC_OP_RESHAPE && !again)) {
        return VTA_OK; /* a 0 in a shape means "as it was" */
    }
    vtac_value_id inputs[VTAC_RESHAPE_INPUTS] = {again ? above->inputs[VTAC_RESHAPE_X]
                                                       : node.inputs[VTAC_RESHAPE_X]};
    vtac_value_id out;
    VTA_TRY(vtac_new_ints(r, y.dim, y.rank, &inputs[VTAC_RESHAPE_SHAPE]));
    VTA_TRY(vtac_new_simple(r, id, &node, VTAC_OP_RESHAPE, inputs, 2, &out));
    return replace_by(r, id, out, changed);
}

static vta_status merge_transposes(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node node = r->graph->nodes[id];
    const uint32_t rank = r->graph->values[node.outputs[0]].type.rank;
    int64_t outer[VTAC_MAX_RANK];
    int64_t inner[VTAC_MAX_RANK];
    (void)vtac_perm_of(&node, rank, outer);
    if (is_identity_perm(outer, rank)) {
        return replace_by(r, id, node.inputs[0], changed);
    }
    const vtac_node *above = vtac_producer(r, node.inputs[0]);
    if (above == NULL || above->op != VTAC_OP_TRANSPOSE) {
        return VTA_OK;
    }
    (void)vtac_perm_of(above, rank, inner);
    int64_t both[VTAC_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) {
        both[i] = inner[outer[i]];
    }
    vtac_value_id out;
    VTA_TRY(vtac_new_transpose(r, id, &node, both, rank, above->inputs[0], &out));
    return replace_by(r, id, out, changed);
}

/* Constants on the right of what commutes. */
static vta_status order_operands(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node *node = &r->graph->nodes[id];
    if ((vtac_op_get(node->op)->traits & VTAC_TRAIT_COMMUTES) != 0 && node->input_count == 2 &&
        r->graph->values[node->inputs[VTAC_BINARY_A]].constant != NULL &&
        r->graph->values[node->inputs[VTAC_BINARY_B]].constant == NULL) {
        const vtac_value_id first = node->inputs[VTAC_BINARY_A];
        const vtac_value_id second = node->inputs[VTAC_BINARY_B];
        VTA_TRY(vtac_set_input(r->graph, id, VTAC_BINARY_A, second, r->diag));
        VTA_TRY(vtac_set_input(r->graph, id, VTAC_BINARY_B, first, r->diag));
        *changed = true;
    }
    return VTA_OK;
}

/* Clip from 0 upwards is Relu; a Relu of what is not negative is nothing. */
static vta_status simplify_clip(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node node = r->graph->nodes[id];
    double low;
    double high = HUGE_VAL;
    const bool has_high = vtac_in_type(r->graph, &node, VTAC_CLIP_MAX) != NULL;
    if (vtac_dtype_kind(r->graph->values[node.inputs[VTAC_CLIP_X]].type.dtype) != 'f' ||
        node.input_count < 2 || !vtac_scalar_of(r->graph, node.inputs[VTAC_CLIP_MIN], &low) || low != 0.0 ||
        (has_high && !vtac_scalar_of(r->graph, node.inputs[VTAC_CLIP_MAX], &high)) || high < HUGE_VAL) {
        return VTA_OK;
    }
    vtac_value_id out;
    VTA_TRY(vtac_new_simple(r, id, &node, VTAC_OP_RELU, node.inputs, 1, &out));
    return replace_by(r, id, out, changed);
}

static vta_status skip_second_relu(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node *node = &r->graph->nodes[id];
    const vtac_node *above = vtac_producer(r, node->inputs[0]);
    return above != NULL && above->op == VTAC_OP_RELU ? replace_by(r, id, node->inputs[0], changed) : VTA_OK;
}

/* auto_pad as pads. */
static vta_status explicit_pads(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    vtac_node *node = &r->graph->nodes[id];
    const bool pool = node->op == VTAC_OP_MAX_POOL || node->op == VTAC_OP_AVERAGE_POOL ||
                      node->op == VTAC_OP_QLINEAR_AVERAGE_POOL;
    const uint32_t weight = node->op == VTAC_OP_QLINEAR_CONV ? 3 : 1;
    const vtac_type *x = vtac_in_type(r->graph, node, 0);
    vtac_window w;
    if (vtac_find_attr(node, "auto_pad") == NULL || vtac_attr_int(node, "ceil_mode", 0) != 0 ||
        vtac_attr_int(node, "channels_last", 0) != 0) {
        return VTA_OK;
    }
    VTA_TRY(vtac_window_of(node, x, pool ? NULL : vtac_in_type(r->graph, node, weight), pool, &w, r->diag));
    vtac_attr *attrs;
    uint32_t count;
    int64_t *pads = vta_arena_array(&r->graph->arena, 2 * (size_t)w.axes, sizeof *pads);
    VTA_TRY(vtac_attrs_without(r, node, "auto_pad", &attrs, &count));
    if (pads == NULL) {
        return vta_no_memory(r->diag);
    }
    memcpy(pads, w.pad_begin, w.axes * sizeof *pads);
    memcpy(pads + w.axes, w.pad_end, w.axes * sizeof *pads);
    uint32_t at = 0;
    while (at < count && strcmp(attrs[at].name, "pads") != 0) {
        at++;
    }
    attrs[at] =
        (vtac_attr){.name = "pads", .kind = VTAC_ATTR_INTS, .count = 2 * (size_t)w.axes, .ints = pads};
    node->attrs = attrs;
    node->attr_count = at == count ? count + 1 : count;
    *changed = true;
    return VTA_OK;
}

/* True where a tensor has the same elements at all places of an axis. */
static bool is_same_along(const vtac_tensor *t, uint32_t axis)
{
    size_t inner = vtac_dtype_bytes(t->type.dtype);
    for (uint32_t a = axis + 1; a < t->type.rank; a++) {
        inner *= (size_t)t->type.dim[a];
    }
    const size_t row = inner * (size_t)t->type.dim[axis];
    const uint8_t *bytes = t->data;
    for (size_t at = 0; at < t->bytes; at += row) {
        if (memcmp(bytes + at, bytes + at + inner, row - inner) != 0) {
            return false; /* each place equals the one behind it */
        }
    }
    return true;
}

/* The first place of an axis alone, in the same memory. */
static void keep_first_place(vtac_type *type, uint32_t axis, uint8_t *data)
{
    size_t inner = vtac_dtype_bytes(type->dtype);
    size_t outer = 1;
    for (uint32_t a = 0; a < type->rank; a++) {
        inner *= a > axis ? (size_t)type->dim[a] : 1;
        outer *= a < axis ? (size_t)type->dim[a] : 1;
    }
    for (size_t i = 0; i < outer; i++) {
        memmove(data + i * inner, data + i * inner * (size_t)type->dim[axis], inner);
    }
    type->dim[axis] = 1;
}

/* PRelu(x, slopes spread over all pixels) -> PRelu(x, [c, 1, 1]); a slope of each channel is what others
 * know. */
static vta_status shrink_slopes(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node *node = &r->graph->nodes[id];
    const vtac_value *slopes = &r->graph->values[node->inputs[VTAC_PRELU_SLOPE]];
    if (slopes->constant == NULL || vtac_dtype_bits(slopes->type.dtype) < 8 || slopes->constant->bytes == 0) {
        return VTA_OK;
    }
    vtac_tensor small = *slopes->constant;
    uint8_t *data = malloc(small.bytes);
    vtac_value_id value = 0;
    vta_status status = data == NULL ? vta_no_memory(r->diag) : VTA_OK;
    if (data != NULL) {
        memcpy(data, small.data, small.bytes);
        small.data = data;
    }
    for (uint32_t axis = 0; data != NULL && axis < small.type.rank; axis++) {
        if (small.type.dim[axis] > 1 && is_same_along(&small, axis)) {
            keep_first_place(&small.type, axis, data);
            small.bytes = (size_t)vtac_type_elements(&small.type) * vtac_dtype_bytes(small.type.dtype);
            *changed = true;
        }
    }
    if (status == VTA_OK && *changed) {
        status = vtac_new_constant(r, NULL, &small.type, data, &value);
    }
    free(data);
    if (status == VTA_OK && *changed) {
        status = vtac_set_input(r->graph, id, VTAC_PRELU_SLOPE, value, r->diag);
    }
    return status;
}

static const vtac_rule rules[] = {
    {VTAC_OP_COUNT, skip_no_ops},
    {VTAC_OP_COUNT, order_operands},
    {VTAC_OP_PAD, skip_whole},
    {VTAC_OP_SLICE, skip_whole},
    {VTAC_OP_RESIZE, skip_same_size},
    {VTAC_OP_FLATTEN, merge_reshapes},
    {VTAC_OP_SQUEEZE, merge_reshapes},
    {VTAC_OP_UNSQUEEZE, merge_reshapes},
    {VTAC_OP_RESHAPE, merge_reshapes},
    {VTAC_OP_TRANSPOSE, merge_transposes},
    {VTAC_OP_CLIP, simplify_clip},
    {VTAC_OP_RELU, skip_second_relu},
    {VTAC_OP_PRELU, shrink_slopes},
    {VTAC_OP_CONV, explicit_pads},
    {VTAC_OP_QLINEAR_CONV, explicit_pads},
    {VTAC_OP_CONV, vtac_join_pad},
    {VTAC_OP_QLINEAR_CONV, vtac_join_pad},
    {VTAC_OP_MAX_POOL, explicit_pads},
    {VTAC_OP_AVERAGE_POOL, explicit_pads},
    {VTAC_OP_QLINEAR_AVERAGE_POOL, explicit_pads},
    {VTAC_OP_EINSUM, vtac_einsum_to_product},
};

vtac_pass_fn vtac_pass_canonicalize;

vta_status vtac_pass_canonicalize(vtac_graph *graph, uint32_t *changes, vta_diag *diag)
{
    return vtac_apply_rules(graph, rules, sizeof rules / sizeof rules[0], changes, diag);
}
