/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the parts of one dense layer that stands for several (queries, keys and values of attention). If
 * everything that is read of its rows is a range of columns, each range becomes a layer of its own, and
 * nothing has to be split. There are two forms:
 *
 *     Split, Slice or Gather of the last axis
 *
 *     Reshape [..., parts, rest], Transpose, and one of these along the axis of parts
 */
#include <string.h>

#include "partition.h"

typedef struct finder {
    const vtac_graph *graph;
    vtac_column_slices *parts;
    int64_t columns; /* columns for each place of the axis */
} finder;

static const vtac_type *type_of(const finder *f, vtac_value_id value)
{
    return &f->graph->values[value].type;
}

static bool add_slice(finder *f, vtac_value_id value, int64_t first, int64_t count)
{
    if (f->parts->count == VTAC_MAX_COLUMN_SLICES || count < 1) {
        return false;
    }
    f->parts->items[f->parts->count++] = (vtac_column_slice){value, first * f->columns, count * f->columns};
    return true;
}

static bool is_axis(int64_t named, uint32_t axis, const vtac_type *x)
{
    return named == (int64_t)axis || named == (int64_t)axis - (int64_t)x->rank;
}

static bool add_split(finder *f, const vtac_node *node, uint32_t axis)
{
    int64_t first = 0;
    if (!is_axis(vtac_attr_int(node, "axis", 0), axis, type_of(f, node->inputs[VTAC_SPLIT_X]))) {
        return false;
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        const int64_t count = type_of(f, node->outputs[i])->dim[axis];
        if (!add_slice(f, node->outputs[i], first, count)) {
            return false;
        }
        first += count;
    }
    return true;
}

static bool is_number(const vtac_tensor *t)
{
    return t != NULL && vtac_type_elements(&t->type) == 1;
}

static bool add_range(finder *f, const vtac_node *node, uint32_t axis)
{
    const vtac_tensor *start = vtac_in_constant(f->graph, node, VTAC_SLICE_STARTS),
                      *axes = vtac_in_constant(f->graph, node, VTAC_SLICE_AXES);
    const vtac_type *x = type_of(f, node->inputs[VTAC_SLICE_X]), *y = type_of(f, node->outputs[0]);
    const vtac_tensor *step = vtac_in_constant(f->graph, node, VTAC_SLICE_STEPS);
    const bool one_step = node->input_count < 5 || node->inputs[VTAC_SLICE_STEPS] == 0 ||
                          (is_number(step) && vtac_tensor_int(step, 0) == 1);
    if (!is_number(start) || !is_number(axes) || !is_axis(vtac_tensor_int(axes, 0), axis, x) || !one_step) {
        return false;
    }
    int64_t first = vtac_tensor_int(start, 0);
    first = first < 0 ? first + x->dim[axis] : first;
    first = first < 0 ? 0 : first;
    return first + y->dim[axis] <= x->dim[axis] && add_slice(f, node->outputs[0], first, y->dim[axis]);
}

static bool add_gathered(finder *f, const vtac_node *node, uint32_t axis)
{
    const vtac_tensor *index = vtac_in_constant(f->graph, node, VTAC_GATHER_INDICES);
    const vtac_type *x = type_of(f, node->inputs[VTAC_GATHER_DATA]);
    if (!is_number(index) || !is_axis(vtac_attr_int(node, "axis", 0), axis, x)) {
        return false;
    }
    const int64_t at = vtac_tensor_int(index, 0);
    return add_slice(f, node->outputs[0], at < 0 ? at + x->dim[axis] : at, 1);
}

static bool reads_value(const vtac_node *node, vtac_value_id value)
{
    bool any = false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        any = any || node->inputs[i] == value;
    }
    return any;
}

/* True if every reader of the value takes a range of the axis. */
static bool all_select(finder *f, vtac_value_id value, uint32_t axis)
{
    for (uint32_t i = 0; i < f->graph->order_count; i++) {
        const vtac_node *node = &f->graph->nodes[f->graph->order[i]];
        if (!reads_value(node, value)) {
            continue;
        }
        const bool known =
            node->inputs[0] == value && (node->op == VTAC_OP_SPLIT    ? add_split(f, node, axis)
                                         : node->op == VTAC_OP_SLICE  ? add_range(f, node, axis)
                                         : node->op == VTAC_OP_GATHER ? add_gathered(f, node, axis)
                                                                      : false);
        if (!known) {
            return false;
        }
    }
    return f->parts->count > 0;
}

static const vtac_node *only_user(const finder *f, vtac_value_id value)
{
    const vtac_node_id id = vtac_only_user_of(f->graph, value);
    return id == 0 ? NULL : &f->graph->nodes[id];
}

static bool in_transposed_rows(finder *f, vtac_value_id value)
{
    const vtac_type *rows = type_of(f, value);
    const vtac_node *reshape = only_user(f, value);
    const vtac_node *transpose =
        reshape != NULL && reshape->op == VTAC_OP_RESHAPE ? only_user(f, reshape->outputs[0]) : NULL;
    const vtac_attr *perm = transpose == NULL ? NULL : vtac_find_attr(transpose, "perm");
    if (transpose == NULL || transpose->op != VTAC_OP_TRANSPOSE || perm == NULL) {
        return false;
    }
    const vtac_type *apart = type_of(f, reshape->outputs[0]);
    int64_t rest = rows->dim[rows->rank - 1];
    int64_t inner = 1;
    uint32_t axis = apart->rank;
    while (axis > 0 && inner < rest) {
        inner *= apart->dim[--axis];
    }
    if (inner != rest || axis == apart->rank || apart->dim[axis] < 2) {
        return false;
    }
    uint32_t place = 0;
    while (place + 1 < apart->rank && perm->ints[place] != (int64_t)axis) {
        place++;
    }
    f->columns = rest / apart->dim[axis];
    f->parts->apart = *apart;
    f->parts->perm = perm;
    f->parts->axis = axis;
    return all_select(f, transpose->outputs[0], place);
}

/* Goes down through reshapes that keep the columns. */
static vtac_value_id last_form(const finder *f, vtac_value_id value)
{
    for (;;) {
        const vtac_node *user = only_user(f, value);
        const vtac_type *x = type_of(f, value);
        const vtac_type *y = user == NULL ? NULL : type_of(f, user->outputs[0]);
        if (user == NULL || user->op != VTAC_OP_RESHAPE || user->inputs[0] != value || y->rank < 2 ||
            x->dim[x->rank - 1] != y->dim[y->rank - 1]) {
            return value;
        }
        value = user->outputs[0];
    }
}

bool vtac_find_column_slices(const vtac_graph *graph, vtac_value_id value, vtac_column_slices *out)
{
    finder f = {.graph = graph, .parts = out, .columns = 1};
    value = last_form(&f, value);
    const vtac_type *rows = type_of(&f, value);
    *out = (vtac_column_slices){.perm = NULL};
    if (vtac_is_output(graph, value) || rows->rank < 2) {
        return false;
    }
    if (all_select(&f, value, rows->rank - 1)) {
        return true;
    }
    *out = (vtac_column_slices){.perm = NULL};
    return in_transposed_rows(&f, value);
}
