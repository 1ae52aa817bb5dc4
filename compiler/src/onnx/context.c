/* SPDX-License-Identifier: Apache-2.0
 *
 * A decoder with a cache of fixed size. What an append gives becomes the cache with the new tokens written at
 * `position`; scores of tokens behind a query's own are hidden; numbers that depend on the length of the past
 * follow from `position`. Sizes are those of a full cache.
 */
#include "context.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"

enum { IMPORTS = 3 }; /* at the size that is asked for, and at one and two tokens less, or more */

typedef struct bounded {
    const vtac_context *context;
    vtac_graph *g;                    /* that becomes the model */
    const vtac_graph *other[IMPORTS]; /* the same at other sizes; [0] is g */
    int64_t room, step, past;
    int64_t next;                          /* tokens from one size to the next: -1, or 1 */
    vtac_value_id position, hidden, begin; /* begin: the position as a list of one */
    vtac_node_id at;                       /* the node that is looked at */
    vta_diag *diag;
} bounded;

/* ---- nodes and constants */

static vta_status add_node(bounded *b, vtac_op op, const vtac_value_id *inputs, uint32_t count,
                           const vtac_attr *attr, vtac_value_id *out)
{
    const vtac_node *from = &b->g->nodes[b->at];
    const vtac_node_spec spec = {.op = op,
                                 .name = b->at != 0 ? from->name : "position",
                                 .origin = b->at != 0 ? from->origin : 0,
                                 .inputs = inputs,
                                 .input_count = count,
                                 .output_count = 1,
                                 .attrs = attr,
                                 .attr_count = attr != NULL};
    vtac_node_id id;
    VTA_TRY(vtac_add_node(b->g, &spec, &id, b->diag));
    *out = b->g->nodes[id].outputs[0];
    return VTA_OK;
}

static vta_status add_pair(bounded *b, vtac_op op, vtac_value_id x, vtac_value_id y, vtac_value_id *out)
{
    const vtac_value_id inputs[] = {x, y};
    return add_node(b, op, inputs, 2, NULL, out);
}

static vta_status cast_to(bounded *b, vtac_value_id x, vtac_dtype dtype, vtac_value_id *out)
{
    const vtac_attr to = {.name = "to", .kind = VTAC_ATTR_STRING, .s = vtac_dtype_name(dtype)};
    *out = x;
    return b->g->values[x].type.dtype == dtype ? VTA_OK : add_node(b, VTAC_OP_CAST, &x, 1, &to, out);
}

/* A constant of one of three types, element by element. */
static vta_status add_numbers(bounded *b, const vtac_type *type, const double *values, vtac_value_id *out)
{
    const int64_t count = vtac_type_elements(type);
    const size_t item = vtac_dtype_bytes(type->dtype);
    uint8_t *data = vta_arena_array(&b->g->arena, (size_t)count + 1, item);
    for (int64_t i = 0; data != NULL && i < count; i++) {
        const float real = (float)values[i];
        const int64_t whole = (int64_t)values[i];
        memcpy(data + (size_t)i * item, type->dtype == VTAC_F32 ? (const void *)&real : (const void *)&whole,
               item);
    }
    const vtac_tensor tensor = {*type, data, (size_t)count * item};
    return data != NULL ? vtac_add_constant(b->g, NULL, &tensor, out, b->diag) : vta_no_memory(b->diag);
}

/* first, first + 1 ... in the shape of `type`, or all of them `first`. */
static vta_status add_count(bounded *b, const vtac_type *type, int64_t first, bool rises, vtac_value_id *out)
{
    const int64_t count = vtac_type_elements(type);
    double *values = calloc((size_t)count + 1, sizeof *values);
    for (int64_t i = 0; values != NULL && i < count; i++) {
        values[i] = (double)(first + (rises ? i : 0));
    }
    const vta_status status = values != NULL ? add_numbers(b, type, values, out) : vta_no_memory(b->diag);
    free(values);
    return status;
}

static vta_status depends(const bounded *b, const char *what)
{
    const vtac_node *node = &b->g->nodes[b->at];
    return vta_fail(
        b->diag, VTA_UNSUPPORTED,
        "--context: node '%s' (%s): %s depends on the length of the past in a way that is not known",
        node->name, vtac_op_get(node->op)->name, what);
}

/* ---- numbers that are positions */

static bool same_bytes(const vtac_tensor *x, const vtac_tensor *y)
{
    return x->bytes == y->bytes && memcmp(x->data, y->data, x->bytes) == 0;
}

/* values[i] = what element i is where the past is empty, rises[i] = what each token of the past adds; false:
 * it is no such number. */
static bool read_line(const vtac_tensor *const *at, const bounded *b, double *values, double *rises)
{
    const int64_t count = vtac_type_elements(&at[0]->type);
    bool straight = true;
    for (int64_t i = 0; i < count; i++) {
        const double first = vtac_tensor_float(at[0], i);
        const double change = vtac_tensor_float(at[1], i) - first;
        rises[i] = change * (double)b->next;
        values[i] = first - rises[i] * (double)b->past;
        straight = straight && vtac_tensor_float(at[2], i) == first + 2.0 * change;
    }
    return straight;
}

static vta_status follow_position(bounded *b, const vtac_type *type, const double *values,
                                  const double *rises, vtac_value_id *out)
{
    vtac_value_id base;
    vtac_value_id factor;
    vtac_value_id place;
    VTA_TRY(add_numbers(b, type, values, &base));
    VTA_TRY(add_numbers(b, type, rises, &factor));
    VTA_TRY(cast_to(b, b->position, type->dtype, &place));
    VTA_TRY(add_pair(b, VTAC_OP_MUL, factor, place, &place));
    return add_pair(b, VTAC_OP_ADD, base, place, out);
}

/* Input i of the node that is looked at, a constant that differs: it follows from the position. */
static vta_status follow_input(bounded *b, uint32_t i)
{
    const vtac_tensor *at[IMPORTS];
    for (int k = 0; k < IMPORTS; k++) {
        at[k] = vtac_in_constant(b->other[k], &b->other[k]->nodes[b->at], i);
    }
    const vtac_type type = at[0]->type;
    const bool known = type.dtype == VTAC_I64 || type.dtype == VTAC_I32 || type.dtype == VTAC_F32;
    const size_t count = (size_t)vtac_type_elements(&type) + 1;
    double *values = calloc(2 * count, sizeof *values);
    vtac_value_id made;
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vta_allocated(values != NULL, b->diag));
    VTA_TRY_OUT(known && read_line(at, b, values, values + count) ? VTA_OK : depends(b, "a constant"));
    VTA_TRY_OUT(follow_position(b, &type, values, values + count, &made));
    VTA_TRY_OUT(vtac_set_input(b->g, b->at, i, made, b->diag));
out:
    free(values);
    return status;
}

/* True for an operand that is a size or an axis, no number to compute with. */
static bool is_size(vtac_op op, uint32_t i)
{
    const bool shapes = op == VTAC_OP_EXPAND || op == VTAC_OP_PAD || op == VTAC_OP_RESHAPE ||
                        op == VTAC_OP_SPLIT || op == VTAC_OP_TILE || op == VTAC_OP_TRILU;
    return (shapes && i == 1) || (op == VTAC_OP_CONSTANT_OF_SHAPE && i == 0);
}

/* The one axis along which a Slice begins elsewhere in a larger cache, by one place for each token; -1: it is
 * not such a Slice. */
static int64_t moved_axis(const bounded *b, const vtac_node *node, const vtac_node *again, int64_t *first)
{
    const vtac_tensor *starts = vtac_in_constant(b->g, node, VTAC_SLICE_STARTS);
    const vtac_tensor *later = vtac_in_constant(b->other[1], again, VTAC_SLICE_STARTS);
    const vtac_tensor *axes = vtac_in_constant(b->g, node, VTAC_SLICE_AXES);
    const vtac_type *x = vtac_in_type(b->g, node, VTAC_SLICE_X);
    double step = 1.0;
    if (starts == NULL || later == NULL || vtac_type_elements(&starts->type) != 1 ||
        (vtac_in_type(b->g, node, VTAC_SLICE_STEPS) != NULL &&
         (!vtac_scalar_of(b->g, node->inputs[VTAC_SLICE_STEPS], &step) || step != 1.0))) {
        return -1;
    }
    int64_t axis = axes != NULL ? vtac_tensor_int(axes, 0) : 0;
    axis = axis < 0 ? axis + x->rank : axis;
    *first = vtac_tensor_int(starts, 0);
    const int64_t size = b->g->values[node->outputs[0]].type.dim[axis];
    return vtac_tensor_int(later, 0) == *first + b->next &&
                   size == b->other[1]->values[again->outputs[0]].type.dim[axis]
               ? axis
               : -1;
}

/* A Slice of the rows from a position on. */
static vta_status follow_slice(bounded *b)
{
    const vtac_node node = b->g->nodes[b->at];
    int64_t first = 0;
    const int64_t axis = moved_axis(b, &node, &b->other[1]->nodes[b->at], &first);
    if (axis < 0) {
        return depends(b, "where it begins");
    }
    const vtac_type rows = {VTAC_I64, 1, {b->g->values[node.outputs[0]].type.dim[axis]}};
    const vtac_attr along = {.name = "axis", .kind = VTAC_ATTR_INT, .i = axis};
    vtac_value_id inputs[VTAC_GATHER_INPUTS] = {node.inputs[VTAC_SLICE_X]};
    vtac_value_id out;
    VTA_TRY(add_count(b, &rows, first - b->past, true, &inputs[VTAC_GATHER_INDICES]));
    VTA_TRY(add_pair(b, VTAC_OP_ADD, b->position, inputs[VTAC_GATHER_INDICES], &inputs[VTAC_GATHER_INDICES]));
    VTA_TRY(add_node(b, VTAC_OP_GATHER, inputs, 2, &along, &out));
    vtac_replace_uses(b->g, node.outputs[0], out);
    return VTA_OK;
}

static bool same_attr(const vtac_attr *x, const vtac_attr *y)
{
    return strcmp(x->name, y->name) == 0 && x->kind == y->kind && x->count == y->count &&
           (x->kind != VTAC_ATTR_INT || x->i == y->i) &&
           (x->kind != VTAC_ATTR_INTS || memcmp(x->ints, y->ints, x->count * sizeof *x->ints) == 0);
}

/* True if the model has the same node at all sizes of the cache. */
static bool same_node(const vtac_node *node, const vtac_node *again)
{
    bool same = node->op == again->op && node->input_count == again->input_count &&
                node->attr_count == again->attr_count;
    for (uint32_t i = 0; same && i < node->input_count; i++) {
        same = node->inputs[i] == again->inputs[i];
    }
    for (uint32_t i = 0; same && i < node->attr_count; i++) {
        same = same_attr(&node->attrs[i], &again->attrs[i]);
    }
    return same;
}

static vta_status follow_constant(bounded *b, uint32_t i)
{
    const vtac_node *node = &b->g->nodes[b->at];
    const vtac_tensor *x = vtac_in_constant(b->g, node, i);
    const vtac_tensor *y = vtac_in_constant(b->other[1], &b->other[1]->nodes[b->at], i);
    if ((x == NULL) != (y == NULL)) {
        return depends(b, "an operand");
    }
    if (x == NULL || !vtac_type_equal(&x->type, &y->type) || same_bytes(x, y) || is_size(node->op, i)) {
        return VTA_OK; /* sizes stay those of a full cache */
    }
    return node->op == VTAC_OP_SLICE ? VTA_OK : follow_input(b, i);
}

/* Slices that begin elsewhere in another cache, when all nodes have been compared: what reads them changes.
 */
static vta_status follow_slices(bounded *b)
{
    for (uint32_t i = 0; i < b->other[1]->order_count; i++) {
        b->at = b->other[1]->order[i];
        const vtac_node *node = &b->g->nodes[b->at];
        const vtac_tensor *x = vtac_in_constant(b->g, node, VTAC_SLICE_STARTS);
        const vtac_tensor *y = vtac_in_constant(b->other[1], &b->other[1]->nodes[b->at], VTAC_SLICE_STARTS);
        if (node->op == VTAC_OP_SLICE && x != NULL && y != NULL && !same_bytes(x, y)) {
            VTA_TRY(follow_slice(b));
        }
    }
    return VTA_OK;
}

static vta_status follow_node(bounded *b, vtac_node_id id)
{
    b->at = id;
    if (!same_node(&b->g->nodes[id], &b->other[1]->nodes[id])) {
        return depends(b, "its form");
    }
    const uint32_t count = b->g->nodes[id].input_count;
    for (uint32_t i = 0; i < count; i++) {
        VTA_TRY(follow_constant(b, i));
    }
    return VTA_OK;
}

/* ---- scores behind a query's own */

static vta_status make_hidden(bounded *b)
{
    const vtac_type columns = {VTAC_I64, 1, {b->room}};
    const vtac_type rows = {VTAC_I64, 2, {b->step, 1}};
    vtac_value_id all;
    vtac_value_id own;
    VTA_TRY(add_count(b, &columns, 0, true, &all));
    VTA_TRY(add_count(b, &rows, 0, true, &own));
    VTA_TRY(add_pair(b, VTAC_OP_ADD, b->position, own, &own));
    return add_pair(b, VTAC_OP_GREATER, all, own, &b->hidden);
}

/* True if a Softmax is over the tokens of the cache, and more of them in a larger one. */
static bool is_over_cache(const bounded *b, const vtac_node *node)
{
    const vtac_type *x = vtac_in_type(b->g, node, 0);
    const vtac_type *y = vtac_in_type(b->other[1], &b->other[1]->nodes[b->at], 0);
    return x->rank > 1 && x->dim[x->rank - 1] != y->dim[x->rank - 1];
}

static vta_status hide_later(bounded *b)
{
    const vtac_node *node = &b->g->nodes[b->at];
    const vtac_type x = *vtac_in_type(b->g, node, 0);
    const int64_t axis = vtac_attr_int(node, "axis", -1);
    if ((axis != -1 && axis != (int64_t)x.rank - 1) || x.dim[x.rank - 1] != b->room ||
        x.dim[x.rank - 2] != b->step || x.dtype != VTAC_F32) {
        return depends(b, "the form of its scores");
    }
    const double lowest = -(double)FLT_MAX;
    vtac_value_id inputs[VTAC_WHERE_INPUTS] = {0, 0, node->inputs[0]};
    vtac_value_id masked;
    VTA_TRY(b->hidden == 0 ? make_hidden(b) : VTA_OK);
    inputs[VTAC_WHERE_CONDITION] = b->hidden;
    VTA_TRY(add_numbers(b, &(vtac_type){.dtype = VTAC_F32}, &lowest, &inputs[VTAC_WHERE_X]));
    VTA_TRY(add_node(b, VTAC_OP_WHERE, inputs, 3, NULL, &masked));
    return vtac_set_input(b->g, b->at, 0, masked, b->diag);
}

/* ---- caches */

/* The Concat that puts the new tokens behind a cache; 0: the cache is used otherwise. */
static vtac_node_id append_of(const bounded *b, vtac_value_id cache, uint32_t axis)
{
    const vtac_node_id id = vtac_only_user_of(b->g, cache);
    const vtac_node *node = &b->g->nodes[id];
    const vtac_type *type = &b->g->values[cache].type;
    int64_t along = vtac_attr_int(node, "axis", 0);
    along = along < 0 ? along + type->rank : along;
    return id != 0 && node->op == VTAC_OP_CONCAT && node->input_count == 2 && node->inputs[0] == cache &&
                   along == axis && axis > 0 && vtac_in_type(b->g, node, 1)->dim[axis] == b->step
               ? id
               : 0;
}

static vta_status write_cache(bounded *b, vtac_value_id cache, uint32_t axis)
{
    const vtac_node_id id = append_of(b, cache, axis);
    if (id == 0) {
        return vta_fail(
            b->diag, VTA_UNSUPPORTED,
            "--context: the cache '%s' is not used by a Concat alone that puts the new tokens behind it",
            b->g->values[cache].name);
    }
    b->at = id;
    const vtac_node node = b->g->nodes[id];
    const vtac_value_id inputs[] = {cache, node.inputs[1], b->begin};
    const vtac_attr along = {.name = "axis", .kind = VTAC_ATTR_INT, .i = axis};
    vtac_value_id out;
    b->g->values[cache].type.dim[axis] = b->room;
    VTA_TRY(add_node(b, VTAC_OP_TENSOR_SCATTER, inputs, 3, &along, &out));
    vtac_replace_uses(b->g, node.outputs[0], out);
    vtac_swap_names(b->g, node.outputs[0], out);
    vtac_remove_node(b->g, id);
    return VTA_OK;
}

/* ---- inputs that follow from the position */

static void drop_input(vtac_graph *g, vtac_value_id value)
{
    uint32_t at = 0;
    while (g->inputs[at] != value) {
        at++;
    }
    memmove(&g->inputs[at], &g->inputs[at + 1], (g->input_count - at - 1) * sizeof *g->inputs);
    g->input_count--;
    g->values[value].dead = true;
}

static vta_status derive_input(bounded *b, vtac_value_id value, vtac_context_kind kind)
{
    vtac_type type = b->g->values[value].type;
    const vtac_dtype dtype = type.dtype;
    const bool list = kind == VTAC_CONTEXT_PLACES;
    const int64_t first = kind == VTAC_CONTEXT_LAST ? b->step - 1 : kind == VTAC_CONTEXT_FILLED ? b->step : 0;
    vtac_value_id made;
    if (list && vtac_type_elements(&type) != b->step) {
        return vta_fail(b->diag, VTA_UNSUPPORTED,
                        "--context: the input '%s' has not one place for each token",
                        b->g->values[value].name);
    }
    type.dtype = VTAC_I64;
    b->at = 0;
    VTA_TRY(add_count(b, &type, first, list, &made));
    VTA_TRY(add_pair(b, VTAC_OP_ADD, made, b->position, &made));
    VTA_TRY(cast_to(b, made, dtype, &made));
    vtac_replace_uses(b->g, value, made);
    drop_input(b->g, value);
    return VTA_OK;
}

static vta_status bound_input(bounded *b, size_t i)
{
    const vtac_context_input *in = &b->context->inputs[i];
    const vtac_value_id value =
        vtac_find_value(b->g, vtac_proto_text(b->context->model->graph->input[i]->name));
    switch (in->kind) {
    case VTAC_CONTEXT_APPENDED: return write_cache(b, value, in->axis);
    case VTAC_CONTEXT_PLACES:
    case VTAC_CONTEXT_PAST:
    case VTAC_CONTEXT_LAST:
    case VTAC_CONTEXT_FILLED: return derive_input(b, value, in->kind);
    case VTAC_CONTEXT_GIVEN:
    case VTAC_CONTEXT_HELD:
    case VTAC_CONTEXT_ONES:
    case VTAC_CONTEXT_ROOM:
    case VTAC_CONTEXT_YES: break;
    }
    return VTA_OK;
}

/* ---- tables of positions that are too short */

static bool hands_position_on(vtac_op op)
{
    return op == VTAC_OP_ADD || op == VTAC_OP_CAST || op == VTAC_OP_RESHAPE || op == VTAC_OP_UNSQUEEZE ||
           op == VTAC_OP_SQUEEZE || op == VTAC_OP_EXPAND || op == VTAC_OP_IDENTITY || op == VTAC_OP_MUL;
}

static bool is_derived(const bounded *b, const vtac_node *node, const bool *derived)
{
    return derived[node->inputs[0]] ||
           (node->input_count > 1 && derived[node->inputs[1]] &&
            (node->op == VTAC_OP_ADD || node->op == VTAC_OP_MUL)) ||
           (b->position == node->inputs[0]);
}

static vta_status check_table(const bounded *b, const vtac_node *node)
{
    const vtac_tensor *table = vtac_in_constant(b->g, node, VTAC_GATHER_DATA);
    int64_t axis = vtac_attr_int(node, "axis", 0);
    if (table == NULL) {
        return VTA_OK;
    }
    axis = axis < 0 ? axis + table->type.rank : axis;
    return table->type.dim[axis] >= b->room
               ? VTA_OK
               : vta_fail(b->diag, VTA_RANGE,
                          "--context %lld is too long: node '%s' has a table of %lld positions",
                          (long long)b->room, node->name, (long long)table->type.dim[axis]);
}

static vta_status check_tables(const bounded *b)
{
    bool *derived = calloc((size_t)b->g->value_count + 1, sizeof *derived);
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vta_allocated(derived != NULL, b->diag));
    derived[b->position] = true;
    for (uint32_t i = 0; i < b->g->order_count; i++) {
        const vtac_node *node = &b->g->nodes[b->g->order[i]];
        if (node->op == VTAC_OP_GATHER && derived[node->inputs[VTAC_GATHER_INDICES]]) {
            VTA_TRY_OUT(check_table(b, node));
        }
        derived[node->outputs[0]] =
            node->input_count > 0 && hands_position_on(node->op) && is_derived(b, node, derived);
    }
out:
    free(derived);
    return status;
}

/* ---- the whole */

static vta_status add_position(bounded *b)
{
    const vtac_type scalar = {.dtype = VTAC_I64};
    const int64_t one = 1;
    vtac_value_id inputs[VTAC_RESHAPE_INPUTS];
    VTA_TRY(vtac_add_input(b->g, "position", &scalar, &b->position, b->diag));
    inputs[VTAC_RESHAPE_X] = b->position;
    VTA_TRY(add_count(b, &(vtac_type){VTAC_I64, 1, {one}}, one, false, &inputs[VTAC_RESHAPE_SHAPE]));
    return add_node(b, VTAC_OP_RESHAPE, inputs, 2, NULL, &b->begin);
}

static vta_status bound_nodes(bounded *b)
{
    const uint32_t count = b->other[1]->order_count;
    uint32_t masks = 0;
    for (uint32_t i = 0; i < count; i++) {
        const vtac_node_id id = b->other[1]->order[i];
        VTA_TRY(follow_node(b, id));
        if (b->context->appends && b->g->nodes[id].op == VTAC_OP_SOFTMAX &&
            is_over_cache(b, &b->g->nodes[id])) {
            VTA_TRY(hide_later(b));
            masks++;
        }
    }
    return masks > 0 || !b->context->appends
               ? VTA_OK
               : vta_fail(b->diag, VTA_UNSUPPORTED,
                          "--context: it has no Softmax over the tokens of its cache");
}

static vta_status bound_graph(bounded *b)
{
    if (b->g->order_count != b->other[1]->order_count ||
        memcmp(b->g->order, b->other[1]->order, b->g->order_count * sizeof *b->g->order) != 0) {
        return vta_fail(b->diag, VTA_UNSUPPORTED, "--context: its nodes depend on the length of the past");
    }
    VTA_TRY(add_position(b));
    VTA_TRY(bound_nodes(b));
    VTA_TRY(follow_slices(b));
    for (size_t i = 0; i < b->context->model->graph->n_input; i++) {
        VTA_TRY(bound_input(b, i));
    }
    VTA_TRY(vtac_graph_sort(b->g, b->diag));
    VTA_TRY(check_tables(b));
    return vtac_graph_verify(b->g, b->diag);
}

/* Smaller caches show what depends on the size, for tables may end with the one that is asked for. */
static int64_t next_size(const vtac_context *c, int64_t room)
{
    return room - c->step > IMPORTS ? -1 : 1;
}

static vta_status import_sizes(const vtac_context *c, int64_t room, vtac_graph **graphs, vta_diag *diag)
{
    for (int i = 0; i < IMPORTS; i++) {
        VTA_TRY(vtac_context_size(c, room + i * next_size(c, room), diag));
        if (vtac_import_static(c->model, c->folder, c->options, &graphs[i], diag) != VTA_OK) {
            return vta_context(diag, "--context %lld", (long long)room);
        }
    }
    return VTA_OK;
}

static vta_status import_bounded(vtac_context *c, int64_t room, vtac_graph **graphs, vta_diag *diag)
{
    VTA_TRY(vtac_context_read(c, diag));
    VTA_TRY(import_sizes(c, room, graphs, diag));
    bounded b = {.context = c,
                 .g = graphs[0],
                 .other = {graphs[0], graphs[1], graphs[2]},
                 .room = room,
                 .step = c->step,
                 .past = room - c->step,
                 .next = next_size(c, room),
                 .diag = diag};
    return bound_graph(&b);
}

vta_status vtac_import_context(Onnx__ModelProto *model, const char *folder,
                               const vtac_import_options *options, vtac_graph **out, vta_diag *diag)
{
    enum { MAX_CONTEXT = 1 << 20 };
    vtac_context c = {.model = model, .folder = folder, .options = options, .step = options->new_tokens};
    if (options->cache_tokens <= options->new_tokens || options->cache_tokens > MAX_CONTEXT) {
        return vta_fail(diag, VTA_RANGE,
                        "--context %lld: it takes more than the %lld new tokens of a run, and up to %d",
                        (long long)options->cache_tokens, (long long)options->new_tokens, MAX_CONTEXT);
    }
    vtac_graph *graphs[IMPORTS] = {NULL};
    c.inputs = calloc(model->graph->n_input + 1, sizeof *c.inputs);
    vta_status status =
        c.inputs != NULL ? import_bounded(&c, options->cache_tokens, graphs, diag) : vta_no_memory(diag);
    for (int i = status == VTA_OK ? 1 : 0; i < IMPORTS; i++) {
        vtac_graph_destroy(graphs[i]);
    }
    *out = status == VTA_OK ? graphs[0] : NULL;
    free(c.inputs);
    return status;
}
