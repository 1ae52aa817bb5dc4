/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators whose output is told element by element: the loops around pointwise and mapped ones. Axes that no
 * operand tells apart become one loop.
 */
#include "point.h"

/* Movement of an operand along each axis of the output. */
typedef struct footprint {
    bool moves[VTAC_MAX_RANK];
} footprint;

enum { BROADCASTS = -1, OWN_PLACES = -2 };

/* Parameters of one axis: which; BROADCASTS for an operand that does so by ONNX's rule, OWN_PLACES for one
 * that is read at places of its own along every axis. */
static int64_t parameter_axis(const vtac_node *n, uint32_t i, uint32_t rank)
{
    const int64_t axis = vtac_attr_int(n, "axis", 1);
    if (i > 0 && vtac_attr_int(n, "block_size", 0) != 0) {
        return OWN_PLACES;
    }
    if (n->op == VTAC_OP_BATCH_NORMALIZATION) {
        return i > 0 ? 1 : BROADCASTS;
    }
    if (n->op == VTAC_OP_LOOK_UP) {
        return i == 0 ? BROADCASTS : VTAC_MAX_RANK; /* the same table everywhere */
    }
    if (i > 0 && (n->op == VTAC_OP_QUANTIZE_LINEAR || n->op == VTAC_OP_DEQUANTIZE_LINEAR ||
                  n->op == VTAC_OP_RESCALE)) {
        return axis < 0 ? axis + rank : axis;
    }
    return BROADCASTS;
}

static footprint footprint_of(const vtac_lower *l, const vtac_node *n, uint32_t i, const vtac_type *out)
{
    footprint f = {.moves = {false}};
    const vtac_type *type = &l->graph->values[n->inputs[i]].type;
    const int64_t axis = parameter_axis(n, i, out->rank);
    if (axis >= 0) {
        if (axis < (int64_t)out->rank) {
            f.moves[axis] = vtac_type_elements(type) > 1;
        }
        return f;
    }
    bool moves = false;
    for (uint32_t k = 0; k < out->rank && axis == OWN_PLACES; k++) {
        moves ^= out->dim[k] != 1;
        f.moves[k] = moves; /* no two axes become one loop */
    }
    for (uint32_t k = 0; k < type->rank && type->rank <= out->rank && axis == BROADCASTS; k++) {
        f.moves[k + out->rank - type->rank] = type->dim[k] > 1;
    }
    return f;
}

/* Marks the axes that must stay apart from the next one (of more than one place) for this node's operands. */
static void mark_borders(const vtac_lower *l, const vtac_node *n, const vtac_type *out, bool *border)
{
    for (uint32_t i = 0; i < n->input_count; i++) {
        if (n->inputs[i] == 0) {
            continue;
        }
        const footprint f = footprint_of(l, n, i, out);
        uint32_t last = VTAC_MAX_RANK;
        for (uint32_t axis = 0; axis < out->rank; axis++) {
            if (out->dim[axis] == 1) {
                continue;
            }
            if (last < VTAC_MAX_RANK && f.moves[last] != f.moves[axis]) {
                border[last] = true;
            }
            last = axis;
        }
    }
}

/* Opens the loops and fills `at`. */
static uint32_t open_merged(vtac_lower *l, const vtac_type *out, const bool *border, const vtac_expr **at)
{
    uint32_t loops = 0;
    int64_t extent = 1;
    for (uint32_t axis = 0; axis < out->rank; axis++) {
        at[axis] = vtac_e_index(l->k, 0);
        extent *= out->dim[axis];
        bool more = false; /* axes of this loop to come */
        for (uint32_t k = axis + 1; k < out->rank && !border[axis]; k++) {
            more = more || out->dim[k] != 1;
        }
        if (out->dim[axis] != 1 && !more) {
            const vtac_loop_kind kind =
                loops == 0 ? vtac_parallel_if(vtac_type_elements(out)) : VTAC_LOOP_SERIAL;
            at[axis] = vtac_for(l->k, kind, extent, "i");
            extent = 1;
            loops++;
        }
    }
    return loops;
}

/* An input that is read only at the place that is written may share its memory with the output. */
static void mark_in_place(vtac_lower *l, const vtac_node *n, const vtac_type *out)
{
    for (uint32_t i = 0; i < n->input_count; i++) {
        const vtac_storage_id storage = l->program->of_value[n->inputs[i]];
        if (n->inputs[i] == 0 || storage == 0) {
            continue;
        }
        const vtac_type *type = &l->graph->values[n->inputs[i]].type;
        const bool same = parameter_axis(n, i, out->rank) == BROADCASTS &&
                          vtac_type_elements(type) == vtac_type_elements(out) &&
                          vtac_dtype_bytes(type->dtype) == vtac_dtype_bytes(out->dtype) &&
                          type->rank == out->rank;
        for (size_t k = 0; k < l->step->arg_count; k++) {
            if (l->step->args[k].storage == storage) {
                l->step->args[k].in_place = same;
            }
        }
    }
}

/* True if a node reads one operand twice in different roles: the operand must not be overwritten. */
static bool reads_twice(const vtac_lower *l, const vtac_type *out)
{
    for (uint32_t c = 0; c <= l->chain_count; c++) {
        const vtac_node *n = c == 0 ? l->node : l->chain[c - 1];
        for (uint32_t i = 0; i < n->input_count; i++) {
            const vtac_type *type = vtac_in_type(l->graph, n, i);
            if (type != NULL && vtac_type_elements(type) == vtac_type_elements(out) &&
                type->rank != out->rank) {
                return true;
            }
        }
    }
    return false;
}

static vta_status lower_elements(vtac_lower *l, vtac_point_fn *value_at, bool pointwise)
{
    const vtac_type *out = vtac_type_out(l, 0);
    bool border[VTAC_MAX_RANK] = {false};
    VTA_TRY(vtac_begin(l, ""));
    for (uint32_t axis = 0; axis < out->rank; axis++) {
        border[axis] = !pointwise;
    }
    for (uint32_t c = 0; pointwise && c <= l->chain_count; c++) {
        mark_borders(l, c == 0 ? l->node : l->chain[c - 1], out, border);
    }
    const vtac_expr *at[VTAC_MAX_RANK];
    const uint32_t loops = open_merged(l, out, border, at);
    const vtac_expr *value = value_at(l, l->node, at);
    if (l->diag->code != VTA_OK) {
        return l->diag->code;
    }
    vtac_out_at(l, 0, at, value);
    vtac_close(l, loops);
    if (!pointwise) {
        vtac_kernel_hoist(l->k); /* indices that whole rows share; LLVM leaves them in the rows */
    }
    if (pointwise && !l->k->failed && !reads_twice(l, out)) {
        const vtac_type *last =
            &l->graph->values[(l->chain_count > 0 ? l->chain[l->chain_count - 1] : l->node)->outputs[0]].type;
        for (uint32_t c = 0; c <= l->chain_count; c++) {
            mark_in_place(l, c == 0 ? l->node : l->chain[c - 1], last);
        }
    }
    l->step->flops = (uint64_t)vtac_type_elements(out) * (1 + l->chain_count);
    return l->diag->code;
}

vta_status vtac_lower_mapped(vtac_lower *l, vtac_point_fn *value_at)
{
    return lower_elements(l, value_at, false);
}

vta_status vtac_lower_elements(vtac_lower *l)
{
    const vtac_lowering *lowering = vtac_lowering_of(l->node->op);
    return lower_elements(l, lowering->point, lowering->family == VTAC_POINTWISE);
}
