/* SPDX-License-Identifier: Apache-2.0
 *
 * Elementwise operators and concatenations of volumes whose slices exist already become the same
 * operators on slices.
 */
#include <string.h>

#include "volume.h"

enum { RANK = VTAC_VOLUME_RANK, MAX_INPUTS = 64 };

static bool is_point(const vtac_node *node)
{
    static const bool points[VTAC_OP_COUNT] = {
        [VTAC_OP_QLINEAR_ADD] = true,
        [VTAC_OP_QLINEAR_MUL] = true,
        [VTAC_OP_QLINEAR_SIGMOID] = true,
        [VTAC_OP_QLINEAR_LEAKY_RELU] = true,
        [VTAC_OP_LOOK_UP] = true,
        [VTAC_OP_RELU] = true,
        [VTAC_OP_CLIP] = true,
    };
    const bool joins = node->op == VTAC_OP_CONCAT || node->op == VTAC_OP_QLINEAR_CONCAT;
    const int64_t axis = vtac_attr_int(node, "axis", 0);
    return joins ? axis == 1 || axis == 1 - RANK : points[node->op];
}

/* Converts a constant that is the same in all of depth to a constant of an image; false if it is not. */
static bool flat_constant(const vtac_type *type, vtac_type *out)
{
    int64_t dim[RANK] = {1, 1, 1, 1, 1};
    for (uint32_t i = 0; i < type->rank && type->rank <= RANK; i++) {
        dim[RANK - type->rank + i] = type->dim[i];
    }
    *out = (vtac_type){.dtype = type->dtype, .rank = 4, .dim = {dim[0], dim[1], dim[3], dim[4]}};
    return type->rank <= RANK && dim[0] == 1 && dim[VTAC_DEPTH] == 1;
}

/* True if operand i has the shape of the output except for channels, or one number for each channel. */
static bool has_slices(const vtac_node_builder *b, uint32_t i, const vtac_type *y, bool joins)
{
    const vtac_tensor *constant = vtac_in_constant(b->graph, &b->like, i);
    const vtac_type *x = vtac_in_type(b->graph, &b->like, i);
    vtac_type flat;
    if (x == NULL || constant != NULL) {
        return x != NULL && !joins && flat_constant(x, &flat);
    }
    const bool same = x->rank == RANK && x->dim[0] == y->dim[0] && (joins || x->dim[1] == y->dim[1]);
    const bool one = same && x->dim[2] * x->dim[3] * x->dim[4] == 1;
    return same &&
           ((one && !joins) || (x->dim[2] == y->dim[2] && x->dim[3] == y->dim[3] && x->dim[4] == y->dim[4]));
}

static vta_status slice_operand(const vtac_node_builder *b, const vtac_type *y, vtac_value_id *x)
{
    const vtac_value *value = &b->graph->values[*x];
    vtac_type type = value->type;
    if (value->constant != NULL) {
        const vtac_tensor *constant = value->constant;
        (void)flat_constant(&type, &type);
        return vtac_b_constant(b, type, constant->data, x);
    }
    if (type.dim[VTAC_DEPTH] != y->dim[VTAC_DEPTH]) { /* one number for all of depth */
        vtac_value_id shape;
        type.dim[VTAC_DEPTH] = y->dim[VTAC_DEPTH];
        VTA_TRY(vtac_b_list(b, type.dim, RANK, &shape));
        VTA_TRY(vtac_b_apply(b, VTAC_OP_EXPAND, shape, NULL, x));
    }
    return vtac_volume_slices(b, x);
}

static vta_status replace_point(const vtac_node_builder *b, const vtac_layer_row *row, uint32_t count,
                                const vtac_type *y, vtac_legalized *p)
{
    vtac_value_id inputs[MAX_INPUTS];
    const vtac_node *node = &b->like;
    memcpy(inputs, node->inputs, node->input_count * sizeof *inputs);
    for (uint32_t k = 0; k < count; k++) {
        VTA_TRY(slice_operand(b, y, &inputs[vtac_operand(row, k)]));
    }
    vtac_node_id id;
    vtac_attr *attrs = vta_arena_array(b->arena, node->attr_count + 1U, sizeof *attrs);
    if (attrs == NULL) {
        return vtac_b_no_memory(b);
    }
    for (uint32_t i = 0; i < node->attr_count; i++) {
        attrs[i] = node->attrs[i];
        if (strcmp(attrs[i].name, "axis") == 0) {
            attrs[i].i = 1;
        }
    }
    const vtac_node_spec spec = {.op = node->op,
                                 .name = node->name,
                                 .origin = node->origin,
                                 .inputs = inputs,
                                 .input_count = node->input_count,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = node->attr_count};
    VTA_TRY(vtac_add_node(b->graph, &spec, &id, b->diag));
    p->made = p->stands = b->graph->nodes[id].outputs[0];
    p->may_stay = true;
    VTA_TRY(vtac_volume_back(b, y->dim[0], &p->stands));
    vtac_swap_names(b->graph, node->outputs[0], p->stands);
    vtac_replace_uses(b->graph, node->outputs[0], p->stands);
    return VTA_OK;
}

vta_status vtac_legalize_volume_point(const vtac_node_builder *b, bool always, vtac_legalized *p, bool *done)
{
    const vtac_node *node = &b->like;
    const vtac_layer_row *row = vtac_layer_row_of(node->op);
    const vtac_type y = vtac_b_type(b, node->outputs[0]);
    (void)always;
    *done = false;
    if (!is_point(node) || row == NULL || y.rank != RANK || node->output_count != 1 ||
        node->input_count > MAX_INPUTS || vtac_type_elements(&y) < 1 ||
        (y.dtype != VTAC_I8 && y.dtype != VTAC_U8)) {
        return VTA_OK;
    }
    const uint32_t count = row->count == 0 ? 1 : vtac_operand_count(node, row);
    const bool joins = node->op == VTAC_OP_CONCAT || node->op == VTAC_OP_QLINEAR_CONCAT;
    bool good = true;
    for (uint32_t k = 0; k < count && good; k++) {
        const uint32_t i = vtac_operand(row, k);
        good = has_slices(b, i, &y, joins);
        *done = *done || (good && vtac_volume_is_sliced(b, node->inputs[i]));
    }
    *done = *done && good;
    return *done ? replace_point(b, row, count, &y, p) : VTA_OK;
}
