/* SPDX-License-Identifier: Apache-2.0 */
#include "maker.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 3, 0))) static void fail_as_listed(vtac_import_builder *m, vta_status status,
                                                                 const char *fmt, va_list args)
{
    char text[512];
    (void)vsnprintf(text, sizeof text, fmt, args);
    if (m->status == VTA_OK) {
        m->status = vta_fail(m->diag, status, "%s", text);
    }
}

void vtac_make_fail(vtac_import_builder *m, vta_status status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fail_as_listed(m, status, fmt, args);
    va_end(args);
}

void vtac_make_refuse(vtac_import_builder *m, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fail_as_listed(m, VTA_UNSUPPORTED, fmt, args);
    va_end(args);
}

static void out_of_memory(vtac_import_builder *m)
{
    vtac_make_fail(m, VTA_NOMEM, "out of memory");
}

static bool is_row_of_table(const vtac_import_builder *m, vtac_node_id id)
{
    const vtac_node *node = &m->graph->nodes[id];
    return m->keeps_rows && (node->op == VTAC_OP_GATHER || node->op == VTAC_OP_SLICE) &&
           vtac_dtype_kind(m->graph->values[node->outputs[0]].type.dtype) == 'f';
}

/* A node whose inputs are known and small is a constant in its place. */
static void fold_constant(vtac_import_builder *m, vtac_node_id node, vtac_id *value)
{
    bool done = false;
    vtac_tensor result;
    if (is_row_of_table(m, node)) {
        return;
    }
    m->status = vtac_evaluate(m->graph, &m->graph->nodes[node], &done, &result, m->diag);
    if (m->status == VTA_OK && done) {
        const vtac_id computed = *value;
        vtac_remove_node(m->graph, node);
        m->status = vtac_add_constant(m->graph, NULL, &result, value, m->diag);
        if (m->status == VTA_OK) {
            vtac_swap_names(m->graph, computed, *value);
        }
    }
}

void vtac_make_node(vtac_import_builder *m, const vtac_node_spec *given, vtac_id *out)
{
    vtac_node_spec spec = *given;
    vtac_node_id node;
    memset(out, 0, spec.output_count * sizeof *out);
    if (m->status == VTA_OK && m->budget == 0) {
        vtac_make_fail(m, VTA_RANGE, "the model has more than %d nodes", VTAC_BUILDER_NODES);
    }
    if (m->status != VTA_OK) {
        return;
    }
    m->budget--;
    while (spec.input_count > 0 && spec.inputs[spec.input_count - 1] == 0) {
        spec.input_count--;
    }
    spec.name = m->name;
    spec.origin = m->origin;
    m->status = vtac_add_node(m->graph, &spec, &node, m->diag);
    if (m->status != VTA_OK) {
        return;
    }
    memcpy(out, m->graph->nodes[node].outputs, spec.output_count * sizeof *out);
    fold_constant(m, node, out);
    if (m->status != VTA_OK) {
        memset(out, 0, spec.output_count * sizeof *out);
    }
}

void vtac_make_many(vtac_import_builder *m, vtac_op op, const vtac_id *inputs, uint32_t input_count,
                    const vtac_attr *attrs, uint32_t attr_count, vtac_id *out, uint32_t output_count)
{
    vtac_make_node(m,
                   &(vtac_node_spec){.op = op,
                                     .inputs = inputs,
                                     .input_count = input_count,
                                     .output_count = output_count,
                                     .attrs = attrs,
                                     .attr_count = attr_count},
                   out);
}

vtac_id vtac_make(vtac_import_builder *m, vtac_op op, const vtac_id *inputs, uint32_t input_count,
                  const vtac_attr *attrs, uint32_t attr_count)
{
    vtac_id out;
    vtac_make_many(m, op, inputs, input_count, attrs, attr_count, &out, 1);
    return out;
}

vtac_id vtac_make1(vtac_import_builder *m, vtac_op op, vtac_id a)
{
    return vtac_make(m, op, &a, 1, NULL, 0);
}

vtac_id vtac_make2(vtac_import_builder *m, vtac_op op, vtac_id a, vtac_id b)
{
    return vtac_make(m, op, (vtac_id[]){a, b}, 2, NULL, 0);
}

vtac_id vtac_make3(vtac_import_builder *m, vtac_op op, vtac_id a, vtac_id b, vtac_id c)
{
    return vtac_make(m, op, (vtac_id[]){a, b, c}, 3, NULL, 0);
}

/* ---- constants */

void *vtac_make_room(vtac_import_builder *m, int64_t count, size_t size)
{
    if (m->status != VTA_OK) {
        return NULL;
    }
    void *room = vta_arena_array(&m->graph->arena, (size_t)count, size);
    if (room == NULL || count < 0) {
        out_of_memory(m);
        return NULL;
    }
    memset(room, 0, (size_t)count * size);
    return room;
}

vtac_id vtac_make_borrowed(vtac_import_builder *m, const vtac_type *type, const void *data)
{
    vtac_id out = 0;
    const int64_t count = vtac_type_elements(type);
    if (m->status == VTA_OK && count < 0) {
        vtac_make_fail(m, VTA_RANGE, "a constant is too large");
    }
    if (m->status == VTA_OK) {
        const vtac_tensor tensor = {*type, data, (size_t)count * vtac_dtype_bytes(type->dtype)};
        m->status = vtac_add_constant(m->graph, NULL, &tensor, &out, m->diag);
    }
    return m->status == VTA_OK ? out : 0;
}

vtac_id vtac_make_constant(vtac_import_builder *m, const vtac_type *type, const void *data)
{
    const int64_t count = vtac_type_elements(type);
    const size_t size = vtac_dtype_bytes(type->dtype);
    void *room = vtac_make_room(m, count, size);
    if (room != NULL && count > 0) {
        memcpy(room, data, (size_t)count * size);
    }
    return room == NULL ? 0 : vtac_make_borrowed(m, type, room);
}

vtac_id vtac_make_ints(vtac_import_builder *m, const int64_t *values, uint32_t count)
{
    return vtac_make_constant(m, &(vtac_type){VTAC_I64, 1, {count}}, values);
}

vtac_id vtac_make_floats(vtac_import_builder *m, const float *values, int64_t count)
{
    return vtac_make_constant(m, &(vtac_type){VTAC_F32, 1, {count}}, values);
}

vtac_id vtac_make_number(vtac_import_builder *m, vtac_dtype dtype, double value)
{
    union {
        float f32;
        double f64;
        int64_t whole; /* of every width, since the lowest byte comes first */
    } number = {.whole = 0};
    if (dtype == VTAC_F32) {
        number.f32 = (float)value;
    } else if (dtype == VTAC_F64) {
        number.f64 = value;
    } else {
        number.whole = (int64_t)value;
    }
    return vtac_make_constant(m, &(vtac_type){dtype, 0, {0}}, &number);
}

/* ---- attributes */

vtac_attr vtac_attr_of_int(const char *name, int64_t value)
{
    return (vtac_attr){.name = name, .kind = VTAC_ATTR_INT, .i = value};
}

vtac_attr vtac_attr_of_float(const char *name, double value)
{
    return (vtac_attr){.name = name, .kind = VTAC_ATTR_FLOAT, .f = value};
}

vtac_attr vtac_attr_of_string(const char *name, const char *value)
{
    return (vtac_attr){.name = name, .kind = VTAC_ATTR_STRING, .s = value};
}

vtac_attr vtac_attr_of_ints(const char *name, const int64_t *values, size_t count)
{
    return (vtac_attr){.name = name, .kind = VTAC_ATTR_INTS, .count = count, .ints = values};
}

/* ---- nodes that importers need often */

vtac_type vtac_made_type(const vtac_import_builder *m, vtac_id id)
{
    return id == 0 ? (vtac_type){.rank = 0} : m->graph->values[id].type;
}

int64_t vtac_made_elements(const vtac_import_builder *m, vtac_id id)
{
    const vtac_type type = vtac_made_type(m, id);
    return vtac_type_elements(&type);
}

bool vtac_made_alike(const vtac_import_builder *m, vtac_id a, vtac_id b)
{
    const vtac_type x = vtac_made_type(m, a), y = vtac_made_type(m, b);
    return vtac_type_equal(&x, &y);
}

const vtac_tensor *vtac_made_constant(const vtac_import_builder *m, vtac_id id)
{
    return id == 0 ? NULL : m->graph->values[id].constant;
}

vtac_id vtac_make_cast(vtac_import_builder *m, vtac_id x, vtac_dtype to)
{
    if (x == 0 || vtac_made_type(m, x).dtype == to) {
        return x;
    }
    const vtac_attr attr = vtac_attr_of_string("to", vtac_dtype_name(to));
    return vtac_make(m, VTAC_OP_CAST, &x, 1, &attr, 1);
}

vtac_id vtac_make_reshape(vtac_import_builder *m, vtac_id x, const int64_t *dims, uint32_t rank)
{
    const vtac_type type = vtac_made_type(m, x);
    vtac_type to = {.dtype = type.dtype, .rank = rank};
    for (uint32_t i = 0; i < rank; i++) { /* `dims` may be NULL where there are none */
        to.dim[i] = dims[i];
    }
    if (x != 0 && vtac_type_equal(&type, &to)) {
        return x;
    }
    const vtac_tensor *known = vtac_made_constant(m, x);
    if (known != NULL && vtac_type_elements(&to) == vtac_type_elements(&type)) {
        return vtac_make_borrowed(m, &to, known->data);
    }
    const vtac_attr zero = vtac_attr_of_int("allowzero", 1);
    const vtac_id in[] = {x, vtac_make_ints(m, dims, rank)};
    return vtac_make(m, VTAC_OP_RESHAPE, in, 2, &zero, 1);
}

static void transpose_bytes(const vtac_tensor *from, const vtac_type *to, const int64_t *order, uint8_t *out)
{
    const size_t size = vtac_dtype_bytes(to->dtype);
    const uint32_t rank = to->rank;
    int64_t stride[VTAC_MAX_RANK + 1];
    int64_t at[VTAC_MAX_RANK] = {0};
    stride[rank] = 1;
    for (uint32_t a = rank; a-- > 0;) {
        stride[a] = stride[a + 1] * from->type.dim[a];
    }
    const int64_t count = vtac_type_elements(to);
    for (int64_t i = 0; i < count; i++) {
        int64_t place = 0;
        for (uint32_t a = 0; a < rank; a++) {
            place += at[a] * stride[order[a] + 1];
        }
        memcpy(out + (size_t)i * size, (const uint8_t *)from->data + (size_t)place * size, size);
        for (uint32_t a = rank; a-- > 0 && ++at[a] == to->dim[a];) {
            at[a] = 0;
        }
    }
}

vtac_id vtac_make_transpose(vtac_import_builder *m, vtac_id x, const int64_t *order, uint32_t rank)
{
    const vtac_type type = vtac_made_type(m, x);
    if (x == 0 || type.rank != rank) {
        if (m->status == VTA_OK) {
            vtac_make_fail(m, VTA_INVALID, "%u axes are to be put in order, it has %u", rank, type.rank);
        }
        return 0;
    }
    vtac_type to = {.dtype = type.dtype, .rank = rank};
    bool moves = false;
    int64_t last = -1;
    for (uint32_t i = 0; i < rank; i++) {
        if (order[i] < 0 || order[i] >= (int64_t)rank) {
            vtac_make_fail(m, VTA_INVALID, "an axis %lld of %u", (long long)order[i], rank);
            return 0;
        }
        to.dim[i] = type.dim[order[i]];
        if (to.dim[i] != 1) {
            moves = moves || order[i] < last;
            last = order[i];
        }
    }
    if (!moves) {
        return vtac_make_reshape(m, x, to.dim, rank);
    }
    const vtac_tensor *known = vtac_made_constant(m, x);
    if (known != NULL) {
        const vtac_tensor from = *known;
        uint8_t *room = vtac_make_room(m, vtac_type_elements(&to), vtac_dtype_bytes(to.dtype));
        if (room == NULL) {
            return 0;
        }
        transpose_bytes(&from, &to, order, room);
        return vtac_make_borrowed(m, &to, room);
    }
    const vtac_attr attr = vtac_attr_of_ints("perm", order, rank);
    return vtac_make(m, VTAC_OP_TRANSPOSE, &x, 1, &attr, 1);
}

vtac_id vtac_make_concat(vtac_import_builder *m, const vtac_id *parts, uint32_t count, int64_t axis)
{
    const vtac_attr attr = vtac_attr_of_int("axis", axis);
    return count == 1 ? parts[0] : vtac_make(m, VTAC_OP_CONCAT, parts, count, &attr, 1);
}

vtac_id vtac_make_slice(vtac_import_builder *m, vtac_id x, uint32_t axis, int64_t begin, int64_t end)
{
    const int64_t where = axis;
    const vtac_id in[] = {x, vtac_make_ints(m, &begin, 1), vtac_make_ints(m, &end, 1),
                          vtac_make_ints(m, &where, 1)};
    const vtac_type type = vtac_made_type(m, x);
    return x != 0 && begin == 0 && end == type.dim[axis] ? x : vtac_make(m, VTAC_OP_SLICE, in, 4, NULL, 0);
}

vtac_id vtac_make_reduce(vtac_import_builder *m, vtac_op op, vtac_id x, const int64_t *axes, uint32_t count,
                         bool keep)
{
    const vtac_attr attrs[] = {vtac_attr_of_int("keepdims", keep)};
    const vtac_id in[] = {x, vtac_make_ints(m, axes, count)};
    return count == 0 ? x : vtac_make(m, op, in, 2, attrs, 1);
}

vtac_id vtac_make_clip(vtac_import_builder *m, vtac_id x, double low, double high)
{
    const vtac_dtype dtype = vtac_made_type(m, x).dtype;
    if (x == 0) {
        return 0;
    }
    const vtac_id bottom = isinf(low) ? 0 : vtac_make_number(m, dtype, low);
    const vtac_id top = isinf(high) ? 0 : vtac_make_number(m, dtype, high);
    return vtac_make3(m, VTAC_OP_CLIP, x, bottom, top);
}

/* ---- rows, and boxes */

vtac_id vtac_make_row_count(vtac_import_builder *m, vtac_id x, int64_t to, vtac_id rest)
{
    const vtac_type type = vtac_made_type(m, x);
    int64_t pads[2 * VTAC_MAX_RANK] = {0};
    if (x == 0 || type.dim[0] == to) {
        return x;
    }
    if (type.dim[0] > to) {
        return vtac_make_slice(m, x, 0, 0, to);
    }
    pads[type.rank] = to - type.dim[0];
    const vtac_attr mode = vtac_attr_of_string("mode", "constant");
    const vtac_id in[] = {x, vtac_make_ints(m, pads, 2 * type.rank), rest};
    return vtac_make(m, VTAC_OP_PAD, in, rest == 0 ? 2 : 3, &mode, 1);
}

vtac_id vtac_make_best_boxes(vtac_import_builder *m, const vtac_boxes *b, vtac_id *there)
{
    const vtac_id in[] = {vtac_make_reshape(m, b->corners, (int64_t[]){1, b->count, 4}, 3),
                          vtac_make_reshape(m, b->scores, (int64_t[]){1, 1, b->count}, 3),
                          vtac_make_number(m, VTAC_I64, (double)b->max), b->overlap, b->min_score};
    const vtac_id all = vtac_make(m, VTAC_OP_NON_MAX_SUPPRESSION, in, 5, NULL, 0);
    /* Each row names image, class and box; all three are -1 where there is none. */
    const vtac_id found = vtac_make_reshape(m, vtac_make_slice(m, all, 1, 2, 3), &b->max, 1);
    const vtac_id zero = vtac_make_number(m, VTAC_I64, 0.0);
    *there = vtac_make2(m, VTAC_OP_GREATER_OR_EQUAL, found, zero);
    return vtac_make2(m, VTAC_OP_MAX, found, zero);
}

/* ---- numbers at places */

bool vtac_are_places(const vtac_type *at, uint32_t rank, const vtac_type *values)
{
    const int64_t count = at->rank == 0 ? 1 : at->dim[0];
    return at->rank <= 2 && (at->rank == 2 ? at->dim[1] : 1) == (int64_t)rank && values->rank <= 1 &&
           (values->rank == 0 || values->dim[0] == count);
}

vtac_id vtac_make_placed(vtac_import_builder *m, vtac_id at, const int64_t *shape, uint32_t rank,
                         vtac_id values, vtac_id rest)
{
    const vtac_type places = vtac_made_type(m, at);
    const int64_t count = places.rank == 0 ? 1 : places.dim[0];
    const vtac_id all = vtac_make2(m, VTAC_OP_EXPAND, rest, vtac_make_ints(m, shape, rank));
    if (count == 0) {
        return all;
    }
    const vtac_id rows = vtac_make_reshape(m, vtac_make_cast(m, at, VTAC_I64), (int64_t[]){count, rank}, 2);
    const vtac_id each = vtac_make2(m, VTAC_OP_EXPAND, values, vtac_make_ints(m, &count, 1));
    return vtac_make3(m, VTAC_OP_SCATTER_ND, all, rows, each);
}

/* ---- angles */

vtac_id vtac_make_angle(vtac_import_builder *m, vtac_id y, vtac_id x)
{
    const vtac_dtype d = vtac_made_type(m, y).dtype;
    const vtac_id zero = vtac_make_number(m, d, 0.0);
    const vtac_id high = vtac_make1(m, VTAC_OP_ABS, y);
    vtac_id t = vtac_make1(m, VTAC_OP_ATAN, vtac_make2(m, VTAC_OP_DIV, high, vtac_make1(m, VTAC_OP_ABS, x)));
    t = vtac_make3(m, VTAC_OP_WHERE, vtac_make2(m, VTAC_OP_EQUAL, y, zero), zero, t); /* 0 / 0, too */
    const vtac_id other = vtac_make2(m, VTAC_OP_SUB, vtac_make_number(m, d, 3.14159265358979323846), t);
    t = vtac_make3(m, VTAC_OP_WHERE, vtac_make2(m, VTAC_OP_LESS, x, zero), other, t);
    const vtac_id below = vtac_make1(m, VTAC_OP_NEG, t);
    return vtac_make3(m, VTAC_OP_WHERE, vtac_make2(m, VTAC_OP_LESS, y, zero), below, t);
}
