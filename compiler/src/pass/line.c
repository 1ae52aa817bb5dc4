/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions along a line are those of pictures that are one row high: what lays pixels out in blocks, and
 * what the accelerator does, is for pictures.
 */
#include <string.h>

#include "rewrite.h"
#include "vta/fail.h"

/* Widens a window by a row in front: `otherwise` stands for the new axis. */
static vta_status widen_list(vtac_rewrite *r, vtac_attr *a, int64_t otherwise)
{
    int64_t *values = vta_arena_array(&r->graph->arena, 2 * a->count, sizeof *values);
    if (values == NULL) {
        return vta_no_memory(r->diag);
    }
    for (size_t i = 0; i < a->count; i++) {
        values[2 * i] = otherwise;
        values[2 * i + 1] = a->ints[i];
    }
    a->ints = values;
    a->count *= 2;
    return VTA_OK;
}

/* False: an attribute that has no form here. */
static bool widen_attrs(vtac_rewrite *r, vtac_attr *attrs, uint32_t count)
{
    static const struct {
        const char *name;
        size_t count;
        int64_t otherwise;
    } lists[] = {{"kernel_shape", 1, 1}, {"strides", 1, 1},        {"dilations", 1, 1},
                 {"pads", 2, 0},         {"output_padding", 1, 0}, {"group", 0, 0}};
    for (uint32_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < sizeof lists / sizeof lists[0] && strcmp(attrs[i].name, lists[k].name) != 0) {
            k++;
        }
        if (k == sizeof lists / sizeof lists[0] ||
            (lists[k].count != 0 && (attrs[i].kind != VTAC_ATTR_INTS || attrs[i].count != lists[k].count ||
                                     widen_list(r, &attrs[i], lists[k].otherwise) != VTA_OK))) {
            return false;
        }
    }
    return true;
}

static vtac_type with_row(const vtac_type *type)
{
    return (vtac_type){.dtype = type->dtype, .rank = 4, .dim = {type->dim[0], type->dim[1], 1, type->dim[2]}};
}

/* The node becomes another one, of pictures, whose output loses its row again. */
static vta_status replace_node(vtac_rewrite *r, vtac_node_id id, const vtac_node *node,
                               const vtac_node_spec *spec, bool *changed)
{
    const vtac_type y = r->graph->values[node->outputs[0]].type;
    vtac_value_id shaped[2];
    vtac_value_id line;
    VTA_TRY(vtac_new_node(r, id, node, *spec, &shaped[0]));
    VTA_TRY(vtac_new_ints(r, y.dim, y.rank, &shaped[1]));
    VTA_TRY(vtac_new_simple(r, id, node, VTAC_OP_RESHAPE, shaped, 2, &line));
    vtac_replace(r, node->outputs[0], line);
    vtac_remove_node(r->graph, id);
    *changed = true;
    return VTA_OK;
}

vta_status vtac_line_to_picture(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node node = r->graph->nodes[id];
    const uint32_t weight = node.op == VTAC_OP_QLINEAR_CONV ? 3 : 1;
    const vtac_tensor *w = vtac_in_constant(r->graph, &node, weight);
    const vtac_type x = *vtac_in_type(r->graph, &node, 0);
    const vtac_type y = r->graph->values[node.outputs[0]].type;
    vtac_value_id inputs[16];
    vtac_attr *attrs;
    uint32_t count;
    if (x.rank != 3 || w == NULL || w->type.rank != 3 || vtac_type_elements(&y) == 0 ||
        node.input_count > 16 || r->graph->values[node.inputs[0]].constant != NULL) {
        return VTA_OK;
    }
    VTA_TRY(vtac_attrs_without(r, &node, NULL, &attrs, &count));
    if (!widen_attrs(r, attrs, count)) {
        return r->diag->code;
    }
    memcpy(inputs, node.inputs, node.input_count * sizeof *inputs);
    const vtac_type picture = with_row(&x);
    const vtac_type kernel = with_row(&w->type);
    vtac_value_id shaped[2] = {node.inputs[0]};
    VTA_TRY(vtac_new_constant(r, NULL, &kernel, w->data, &inputs[weight]));
    VTA_TRY(vtac_new_ints(r, picture.dim, 4, &shaped[1]));
    VTA_TRY(vtac_new_simple(r, id, &node, VTAC_OP_RESHAPE, shaped, 2, &inputs[0]));
    const vtac_node_spec spec = {.op = node.op,
                                 .inputs = inputs,
                                 .input_count = node.input_count,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = count};
    return replace_node(r, id, &node, &spec, changed);
}

/* Value from which a Reshape took the row axis; 0: there is none. */
static vtac_value_id picture_of(const vtac_rewrite *r, vtac_value_id line)
{
    const vtac_node *made = vtac_producer(r, line);
    if (made == NULL || made->op != VTAC_OP_RESHAPE) {
        return 0;
    }
    const vtac_type y = r->graph->values[line].type;
    const vtac_type x = r->graph->values[made->inputs[0]].type;
    if (y.rank != 3) {
        return 0;
    }
    const vtac_type picture = with_row(&y);
    return vtac_type_equal(&x, &picture) ? made->inputs[0] : 0;
}

/* A line that becomes a picture again is the picture that it was. */
static vta_status rejoin_reshapes(vtac_rewrite *r, vtac_node_id id, const vtac_node *node, bool *changed)
{
    const vtac_value_id picture = picture_of(r, node->inputs[0]);
    if (picture == 0 ||
        !vtac_type_equal(&r->graph->values[picture].type, &r->graph->values[node->outputs[0]].type) ||
        !vtac_can_replace(r->graph, node->outputs[0], picture)) {
        return VTA_OK;
    }
    vtac_replace(r, node->outputs[0], picture);
    vtac_remove_node(r->graph, id);
    *changed = true;
    return VTA_OK;
}

vta_status vtac_row_stays(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node node = r->graph->nodes[id];
    if (node.op == VTAC_OP_RESHAPE) {
        return rejoin_reshapes(r, id, &node, changed);
    }
    const bool sum = node.op == VTAC_OP_ADD && node.input_count == 2;
    if ((!sum && !vtac_is_plain(r, &node)) || node.input_count > 16) {
        return VTA_OK;
    }
    vtac_value_id inputs[16];
    memcpy(inputs, node.inputs, node.input_count * sizeof *inputs);
    for (uint32_t i = 0; i < (sum ? 2 : 1); i++) {
        inputs[i] = picture_of(r, node.inputs[i]);
        if (inputs[i] == 0 || vtac_only_user(r, node.inputs[i]) == NULL) {
            return VTA_OK;
        }
    }
    const vtac_node_spec spec = {.op = node.op,
                                 .inputs = inputs,
                                 .input_count = node.input_count,
                                 .output_count = 1,
                                 .attrs = node.attrs,
                                 .attr_count = node.attr_count};
    return replace_node(r, id, &node, &spec, changed);
}
