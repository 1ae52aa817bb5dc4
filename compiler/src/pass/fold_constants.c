/* SPDX-License-Identifier: Apache-2.0
 *
 * fold-constants: nodes whose operands are all known are computed now. The evaluator of shape arithmetic does
 * most, here without its limit on size; weights behind a DequantizeLinear become floats; whatever operators
 * are left are compiled and run (fold_run.c). Results that take much more memory than what they come from are
 * left to run time.
 */
#include <string.h>

#include "fold_run.h"
#include "rewrite.h"
#include "vta/fail.h"

enum { MAX_ELEMENTS = 1 << 28, MAX_GROWTH = 8, SMALL_BYTES = 1 << 20 };

bool vtac_fold_is_worth(size_t in, size_t out)
{
    return out <= SMALL_BYTES || out <= MAX_GROWTH * in;
}

static bool all_known(const vtac_rewrite *r, const vtac_node *node, size_t *bytes)
{
    *bytes = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const vtac_tensor *known = vtac_in_constant(r->graph, node, i);
        if (node->inputs[i] != 0 && known == NULL) {
            return false;
        }
        *bytes += known == NULL ? 0 : known->bytes;
    }
    return true;
}

/* Place along an axis of element i of a tensor. */
static int64_t place_along(const vtac_type *type, uint32_t axis, int64_t i)
{
    for (uint32_t a = type->rank; a-- > axis + 1;) {
        i /= type->dim[a];
    }
    return i % type->dim[axis];
}

/* (x - zero) * scale in float32, as the lowering computes it. */
static vta_status dequantize_constant(vtac_rewrite *r, const vtac_node *node, bool *done, vtac_tensor *out)
{
    const vtac_tensor *x = vtac_in_constant(r->graph, node, VTAC_QDQ_X);
    const vtac_tensor *scale = vtac_in_constant(r->graph, node, VTAC_QDQ_SCALE);
    const vtac_tensor *zero = vtac_in_constant(r->graph, node, VTAC_QDQ_ZERO);
    const int64_t rank = (int64_t)x->type.rank;
    const int64_t axis = vtac_attr_int(node, "axis", 1);
    const bool one = vtac_type_elements(&scale->type) == 1;
    const int64_t count = vtac_type_elements(&x->type);
    *done = false;
    if (scale->type.dtype != VTAC_F32 || vtac_attr_int(node, "block_size", 0) != 0 ||
        vtac_dtype_bytes(x->type.dtype) > 4 || vtac_dtype_kind(x->type.dtype) == 'f' ||
        (zero != NULL && vtac_type_elements(&zero->type) != vtac_type_elements(&scale->type))) {
        return VTA_OK;
    }
    float *data = vta_arena_array(&r->graph->arena, (size_t)count, sizeof *data);
    if (data == NULL) {
        return vta_no_memory(r->diag);
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t c = one ? 0 : place_along(&x->type, (uint32_t)(axis < 0 ? axis + rank : axis), i);
        const int64_t less = zero == NULL ? 0 : vtac_tensor_int(zero, c);
        data[i] = (float)(vtac_tensor_int(x, i) - less) * (float)vtac_tensor_float(scale, c);
    }
    *out = (vtac_tensor){
        .type = r->graph->values[node->outputs[0]].type, .data = data, .bytes = (size_t)count * sizeof *data};
    *done = true;
    return VTA_OK;
}

static vta_status fold_node(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node node = r->graph->nodes[id];
    const vtac_type y = r->graph->values[node.outputs[0]].type;
    const size_t size = (size_t)vtac_type_elements(&y) * vtac_dtype_bytes(y.dtype);
    size_t bytes;
    bool done = false;
    vtac_tensor result;
    if (node.output_count != 1 || vtac_is_output(r->graph, node.outputs[0]) || !all_known(r, &node, &bytes) ||
        !vtac_fold_is_worth(bytes, size)) {
        return VTA_OK;
    }
    if (node.op == VTAC_OP_DEQUANTIZE_LINEAR) {
        VTA_TRY(dequantize_constant(r, &node, &done, &result));
    } else {
        VTA_TRY(vtac_evaluate_up_to(r->graph, &node, MAX_ELEMENTS, &done, &result, r->diag));
    }
    if (done) {
        vtac_value_id constant;
        VTA_TRY(vtac_add_constant(r->graph, NULL, &result, &constant, r->diag));
        vtac_replace(r, node.outputs[0], constant);
        vtac_remove_node(r->graph, id);
        *changed = true;
    }
    return VTA_OK;
}

static const vtac_rule rules[] = {
    {VTAC_OP_COUNT, fold_node},
};

vtac_pass_fn vtac_pass_fold_constants;

vta_status vtac_pass_fold_constants(vtac_graph *graph, uint32_t *changes, vta_diag *diag)
{
    VTA_TRY(vtac_apply_rules(graph, rules, sizeof rules / sizeof rules[0], changes, diag));
    return vtac_fold_by_running(graph, changes, diag);
}
