/* SPDX-License-Identifier: Apache-2.0 */
#include "flow_facts.h"

#include <string.h>

#include "vtac/codegen.h"

enum { MAX_INTS = VTAC_MAX_RANK + 1 };

typedef const vtac_facts *const facts_list;

void vtac_facts_none(vtac_facts *f)
{
    *f = (vtac_facts){.dtype = VTAC_NO_DTYPE, .rank = -1, .length = -1};
    for (uint32_t i = 0; i < VTAC_MAX_RANK; i++) {
        f->dim[i] = -1;
    }
}

void vtac_facts_ints(vtac_facts *f, const int64_t *values, uint32_t count)
{
    vtac_facts_none(f);
    f->dtype = VTAC_I64;
    f->rank = 1;
    f->dim[0] = count;
    f->length = count <= MAX_INTS ? (int)count : -1;
    for (uint32_t i = 0; i < count && i < MAX_INTS; i++) {
        f->ints[i] = values[i];
    }
}

static const vtac_attr *attr_of(const vtac_template_node *node, const char *name)
{
    for (uint32_t i = 0; i < node->attr_count; i++) {
        if (strcmp(node->attrs[i].name, name) == 0) {
            return &node->attrs[i];
        }
    }
    return NULL;
}

/* ---- types */

static vtac_dtype infer_dtype(const vtac_template_node *node, facts_list *inputs, uint32_t output)
{
    static const struct {
        const char *name;
        vtac_dtype fixed[3];
        uint32_t like; /* from 1: the input whose type it has */
    } rows[] = {{"Shape", {VTAC_I64}, 0},
                {"Size", {VTAC_I64}, 0},
                {"ArgMax", {VTAC_I64}, 0},
                {"Less", {VTAC_BOOL}, 0},
                {"LessOrEqual", {VTAC_BOOL}, 0},
                {"Greater", {VTAC_BOOL}, 0},
                {"GreaterOrEqual", {VTAC_BOOL}, 0},
                {"Equal", {VTAC_BOOL}, 0},
                {"MatMulInteger", {VTAC_I32}, 0},
                {"DynamicQuantizeLinear", {VTAC_U8, VTAC_F32, VTAC_U8}, 0},
                {"DequantizeLinear", {VTAC_NO_DTYPE}, 2},
                {"QuantizeLinear", {VTAC_NO_DTYPE}, 3},
                {"Where", {VTAC_NO_DTYPE}, 2}};
    const vtac_attr *to = attr_of(node, "to");
    uint32_t like = 1;
    if (to != NULL && to->kind == VTAC_ATTR_STRING) {
        return vtac_dtype_parse(to->s);
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, node->name) == 0) {
            like = rows[i].like;
            if (like == 0) {
                return output < 3 ? rows[i].fixed[output] : VTAC_NO_DTYPE;
            }
        }
    }
    return like <= node->input_count && inputs[like - 1] != NULL ? inputs[like - 1]->dtype : VTAC_NO_DTYPE;
}

/* ---- integers that make shapes */

static void shape_ints(const vtac_facts *x, vtac_facts *out)
{
    out->length = x->rank;
    for (int i = 0; i < x->rank; i++) {
        out->ints[i] = x->dim[i] < 0 ? VTAC_OPEN_INT : x->dim[i];
    }
}

static void slice_ints(const vtac_template_node *node, facts_list *inputs, vtac_facts *out)
{
    if (node->input_count < 3 || inputs[VTAC_SLICE_STARTS]->length != 1 ||
        inputs[VTAC_SLICE_ENDS]->length != 1) {
        return;
    }
    const int64_t from = inputs[VTAC_SLICE_STARTS]->ints[0];
    const int64_t to = inputs[VTAC_SLICE_ENDS]->ints[0];
    const int64_t begin =
        from == -1 && inputs[VTAC_SLICE_X]->length > 0 ? inputs[VTAC_SLICE_X]->length - 1 : from;
    const bool one = from == -1 || (from >= 0 && to == from + 1);
    if (one) {
        out->length = 1;
        out->ints[0] = begin >= 0 && begin < inputs[VTAC_SLICE_X]->length ? inputs[VTAC_SLICE_X]->ints[begin]
                                                                          : VTAC_OPEN_INT;
    }
}

static void concat_ints(const vtac_template_node *node, facts_list *inputs, vtac_facts *out)
{
    int length = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (inputs[i] == NULL || inputs[i]->length < 0 || length + inputs[i]->length > MAX_INTS) {
            return;
        }
        memcpy(out->ints + length, inputs[i]->ints, (size_t)inputs[i]->length * sizeof out->ints[0]);
        length += inputs[i]->length;
    }
    out->length = length;
}

/* Arithmetic on sizes: what is known is computed before it gets here. */
static void open_ints(const vtac_template_node *node, facts_list *inputs, vtac_facts *out)
{
    int length = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (inputs[i] == NULL || inputs[i]->length < 0) {
            return;
        }
        length = inputs[i]->length > length ? inputs[i]->length : length;
    }
    out->length = length;
    for (int i = 0; i < length; i++) {
        out->ints[i] = VTAC_OPEN_INT;
    }
}

static void infer_ints(const vtac_template_node *node, facts_list *inputs, vtac_facts *out)
{
    if (out->dtype != VTAC_I64 || inputs[0] == NULL) {
        return;
    }
    if (strcmp(node->name, "Shape") == 0) {
        shape_ints(inputs[0], out);
    } else if (strcmp(node->name, "Slice") == 0) {
        slice_ints(node, inputs, out);
    } else if (strcmp(node->name, "Concat") == 0) {
        concat_ints(node, inputs, out);
    } else {
        open_ints(node, inputs, out);
    }
}

/* ---- axes */

static void copy_shape(const vtac_facts *x, vtac_facts *out)
{
    out->rank = x->rank;
    memcpy(out->dim, x->dim, sizeof out->dim);
}

/* The sizes of a value after a broadcast with another one. */
static void broadcast_shape(const vtac_facts *x, vtac_facts *out)
{
    if (x->rank < 0 || out->rank < 0) {
        out->rank = -1;
        return;
    }
    const int rank = x->rank > out->rank ? x->rank : out->rank;
    int64_t dim[VTAC_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        const int64_t a = i + x->rank < rank ? 1 : x->dim[i + x->rank - rank];
        const int64_t b = i + out->rank < rank ? 1 : out->dim[i + out->rank - rank];
        dim[i] = a > 1 ? a : b > 1 ? b : a == 1 && b == 1 ? 1 : a == 1 ? b : b == 1 ? a : -1;
    }
    memcpy(out->dim, dim, sizeof dim[0] * (size_t)rank);
    out->rank = rank;
}

static void broadcast_all(const vtac_template_node *node, facts_list *inputs, vtac_facts *out)
{
    out->rank = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (inputs[i] != NULL) {
            broadcast_shape(inputs[i], out);
        }
    }
}

static void transpose_shape(const vtac_template_node *node, facts_list *inputs, vtac_facts *out)
{
    const vtac_attr *perm = attr_of(node, "perm");
    out->rank = inputs[0]->rank;
    for (int i = 0; perm != NULL && i < out->rank && i < (int)perm->count; i++) {
        const int64_t from = perm->ints[i];
        out->dim[i] = from >= 0 && from < out->rank ? inputs[0]->dim[from] : -1;
    }
}

/* Reshape and Expand: the shape is an input. */
static void shape_by_ints(const vtac_template_node *node, facts_list *inputs, vtac_facts *out)
{
    const vtac_facts *list = node->input_count > 1 ? inputs[VTAC_RESHAPE_SHAPE] : NULL;
    if (list == NULL || list->length < 0 || list->length > VTAC_MAX_RANK) {
        return;
    }
    out->rank = list->length;
    for (int i = 0; i < out->rank; i++) {
        out->dim[i] = list->ints[i] < 0 ? -1 : list->ints[i];
    }
    if (node->name[0] == 'E') {
        broadcast_shape(inputs[VTAC_RESHAPE_X], out);
    }
}

static void concat_shape(const vtac_template_node *node, facts_list *inputs, vtac_facts *out)
{
    const vtac_attr *attr = attr_of(node, "axis");
    copy_shape(inputs[0], out);
    if (out->rank < 0 || attr == NULL) {
        return;
    }
    const int64_t axis = attr->i < 0 ? attr->i + out->rank : attr->i;
    for (uint32_t i = 1; i < node->input_count && axis >= 0 && axis < out->rank; i++) {
        const int64_t more = inputs[i] != NULL && inputs[i]->rank == out->rank ? inputs[i]->dim[axis] : -1;
        out->dim[axis] = more < 0 || out->dim[axis] < 0 ? -1 : out->dim[axis] + more;
    }
}

static void slice_shape(const vtac_template_node *node, facts_list *inputs, vtac_facts *out)
{
    const vtac_facts *axes = node->input_count > 3 ? inputs[VTAC_SLICE_AXES] : NULL;
    copy_shape(inputs[VTAC_SLICE_X], out);
    for (int i = 0; i < out->rank; i++) {
        const bool other = axes != NULL && axes->length == 1 && axes->ints[0] >= 0 && axes->ints[0] != i;
        out->dim[i] = other ? out->dim[i] : -1;
    }
    if (axes == NULL || axes->length != 1 || inputs[VTAC_SLICE_STARTS]->length != 1 ||
        inputs[VTAC_SLICE_ENDS]->length != 1) {
        return;
    }
    const int64_t axis = axes->ints[0];
    const int64_t from = inputs[VTAC_SLICE_STARTS]->ints[0];
    const int64_t to = inputs[VTAC_SLICE_ENDS]->ints[0];
    const int64_t size =
        axis >= 0 && axis < inputs[VTAC_SLICE_X]->rank ? inputs[VTAC_SLICE_X]->dim[axis] : -1;
    if (from >= 0 && to >= from && to <= size) {
        out->dim[axis] = to - from;
    }
}

/* Unsqueeze and Squeeze of axes that are counted from the first. */
static void squeeze_shape(const vtac_template_node *node, facts_list *inputs, vtac_facts *out)
{
    const vtac_facts *x = inputs[VTAC_UNSQUEEZE_X];
    const vtac_facts *axes = node->input_count > 1 ? inputs[VTAC_UNSQUEEZE_AXES] : NULL;
    const bool more = node->name[0] == 'U';
    if (x->rank < 0 || axes == NULL || axes->length != 1 || axes->ints[0] < 0) {
        return;
    }
    const int64_t axis = axes->ints[0];
    out->rank = more ? x->rank + 1 : x->rank - 1;
    for (int i = 0; i < out->rank && i < VTAC_MAX_RANK; i++) {
        const int from = i < axis ? i : more ? i - 1 : i + 1;
        out->dim[i] = more && i == axis ? 1 : from < VTAC_MAX_RANK ? x->dim[from] : -1;
    }
}

static void matmul_shape(facts_list *inputs, vtac_facts *out)
{
    const vtac_facts *a = inputs[VTAC_MATMUL_A];
    const vtac_facts *b = inputs[VTAC_MATMUL_B];
    if (b == NULL || a->rank < 2 || b->rank < 2) {
        return;
    }
    vtac_facts rows = *a;
    vtac_facts columns = *b;
    rows.dim[a->rank - 1] = 1;
    columns.dim[b->rank - 2] = 1;
    copy_shape(&rows, out);
    broadcast_shape(&columns, out);
    out->dim[out->rank - 1] = b->dim[b->rank - 1];
    out->dim[out->rank - 2] = a->dim[a->rank - 2];
}

static void gather_shape(facts_list *inputs, vtac_facts *out)
{
    if (inputs[VTAC_GATHER_INDICES] != NULL && inputs[VTAC_GATHER_DATA]->rank >= 0 &&
        inputs[VTAC_GATHER_INDICES]->rank >= 0) {
        out->rank = inputs[VTAC_GATHER_DATA]->rank + inputs[VTAC_GATHER_INDICES]->rank - 1;
    }
}

static void infer_shape(const vtac_template_node *node, facts_list *inputs, vtac_facts *out)
{
    const char *name = node->name;
    const vtac_op op = vtac_op_find(node->domain, name);
    if (node->input_count == 0 || inputs[0] == NULL || op == VTAC_OP_COUNT) {
        return;
    }
    if (op == VTAC_OP_SHAPE || op == VTAC_OP_RANGE) {
        out->rank = 1;
    } else if (op == VTAC_OP_TRANSPOSE) {
        transpose_shape(node, inputs, out);
    } else if (op == VTAC_OP_RESHAPE || op == VTAC_OP_EXPAND) {
        shape_by_ints(node, inputs, out);
    } else if (op == VTAC_OP_CONCAT) {
        concat_shape(node, inputs, out);
    } else if (op == VTAC_OP_SLICE) {
        slice_shape(node, inputs, out);
    } else if (op == VTAC_OP_UNSQUEEZE || op == VTAC_OP_SQUEEZE) {
        squeeze_shape(node, inputs, out);
    } else if (op == VTAC_OP_MATMUL || op == VTAC_OP_MATMUL_INTEGER) {
        matmul_shape(inputs, out);
    } else if (op == VTAC_OP_GATHER) {
        gather_shape(inputs, out);
    } else if (op == VTAC_OP_SOFTMAX || op == VTAC_OP_GATHER_ELEMENTS ||
               strstr(name, "Normalization") != NULL) {
        copy_shape(op == VTAC_OP_GATHER_ELEMENTS && inputs[1] != NULL ? inputs[1] : inputs[0], out);
    } else if (vtac_is_pointwise(op)) {
        broadcast_all(node, inputs, out);
    }
}

void vtac_facts_infer(const vtac_template_node *node, const vtac_facts *const *inputs, uint32_t output,
                      vtac_facts *out)
{
    vtac_facts_none(out);
    out->dtype = infer_dtype(node, inputs, output);
    if (node->input_count > VTAC_FACTS_INPUTS) {
        return;
    }
    infer_ints(node, inputs, out);
    infer_shape(node, inputs, out);
}
