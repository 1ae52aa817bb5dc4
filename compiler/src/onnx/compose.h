/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that are several of ours: what a row of compose.def names makes them of others while a model is
 * read. The pieces are folded and fused as any nodes are. A fault is kept, and everything after it does
 * nothing, so that a composition reads like the formula it is.
 */
#ifndef VTAC_ONNX_COMPOSE_H
#define VTAC_ONNX_COMPOSE_H

#include "../import/maker.h"
#include "import.h"

typedef struct vtac_compose {
    vtac_importer *im;
    const vtac_draft *of; /* the operator that is composed */
    vtac_import_builder make;
    vtac_attr attrs[VTAC_MAX_ATTRS]; /* of the node that is made next: they are set beforehand */
    uint32_t attr_count;
} vtac_compose;

/* Writes the values of the operator's outputs; leaves the first 0 where it is to stay the operator that it
 * is. */
typedef void vtac_compose_fn(vtac_compose *c, vtac_value_id *out);

/* Makes the draft's operator, where it is one of compose.def; `done` says whether it was. */
vta_status vtac_compose_draft(vtac_importer *im, const vtac_draft *draft, vtac_value_id *out, bool *done,
                              vta_diag *diag);

/* The builder at a node of the model, before anything is charged for. */
vtac_import_builder vtac_builder_at(vtac_importer *im, const char *name, vta_diag *diag);

/* Keeps the first fault; returns 0, which stands for no value. */
vtac_value_id vtac_compose_fail(vtac_compose *c, vta_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The inputs and attributes of the operator that is composed. */
bool vtac_c_has(const vtac_compose *c, uint32_t i);
vtac_value_id vtac_c_in(vtac_compose *c, uint32_t i); /* a missing one is a fault */
const vtac_attr *vtac_c_attr(const vtac_compose *c, const char *name);
int64_t vtac_c_int(const vtac_compose *c, const char *name, int64_t otherwise);
double vtac_c_float(const vtac_compose *c, const char *name, double otherwise);
const char *vtac_c_string(const vtac_compose *c, const char *name, const char *otherwise);
/* The type of a value, a copy: the next node that is made moves the values. Some type after a fault. */
vtac_type vtac_c_type(const vtac_compose *c, vtac_value_id value);
int64_t vtac_c_elements(const vtac_compose *c, vtac_value_id value);
uint32_t vtac_c_rank(const vtac_compose *c, vtac_value_id value);
int64_t vtac_c_dim(const vtac_compose *c, vtac_value_id value, uint32_t axis);
vtac_dtype vtac_c_dtype(const vtac_compose *c, vtac_value_id value);
/* Known contents (NULL: not known). */
const vtac_tensor *vtac_c_known(const vtac_compose *c, vtac_value_id value);
/* The integers of input i, which must be known; false and a fault where they are not, or not `room` at most.
 */
bool vtac_c_known_ints(vtac_compose *c, uint32_t i, int64_t *out, uint32_t room, uint32_t *count);
/* The one number of input i, which must be known. */
double vtac_c_known_number(vtac_compose *c, uint32_t i);
/* An integer input that must be known. */
int64_t vtac_c_known_integer(vtac_compose *c, uint32_t i);
/* Room in the graph's arena; NULL and a fault without memory. */
double *vtac_c_room(vtac_compose *c, int64_t count);
/* The element type that an attribute of ONNX's numbers names. */
vtac_dtype vtac_c_dtype_attr(vtac_compose *c, const char *name, vtac_dtype otherwise);
/* An axis in -rank ... rank-1 as 0 ... rank-1. */
uint32_t vtac_c_axis(vtac_compose *c, int64_t axis, uint32_t rank);
/* True if the input has this rank; else a fault that names the input. */
bool vtac_c_expect_rank(vtac_compose *c, uint32_t input, uint32_t rank);

/* Applies the graph that is an attribute of the operator to x: the result has x's type and shape. Without
 * such an attribute the result is x. */
vtac_value_id vtac_c_apply(vtac_compose *c, const char *attr, vtac_value_id x);

/* Attributes of the node that is made next: its inputs are made before. */
void vtac_c_set_int(vtac_compose *c, const char *name, int64_t value);
void vtac_c_set_float(vtac_compose *c, const char *name, double value);
void vtac_c_set_string(vtac_compose *c, const char *name, const char *value);
void vtac_c_set_ints(vtac_compose *c, const char *name, const int64_t *values, size_t count);

/* Nodes. */
vtac_value_id vtac_c_node(vtac_compose *c, vtac_op op, const vtac_value_id *inputs, uint32_t count);
void vtac_c_nodes(vtac_compose *c, vtac_op op, const vtac_value_id *inputs, uint32_t count,
                  vtac_value_id *out, uint32_t outputs);

/* Constants: integers of one axis, a number of a type without axes, numbers of a type. */
vtac_value_id vtac_c_ints(vtac_compose *c, const int64_t *values, uint32_t count);
vtac_value_id vtac_c_number(vtac_compose *c, vtac_dtype dtype, double value);
vtac_value_id vtac_c_numbers(vtac_compose *c, const vtac_type *type, const double *values);

/* Shapes. `dim` may have one -1. */
vtac_value_id vtac_c_reshape(vtac_compose *c, vtac_value_id x, const int64_t *dim, uint32_t rank);
vtac_value_id vtac_c_like(vtac_compose *c, vtac_value_id x, const vtac_type *shape);
vtac_value_id vtac_c_transpose(vtac_compose *c, vtac_value_id x, const int64_t *order, uint32_t rank);
vtac_value_id vtac_c_expand(vtac_compose *c, vtac_value_id x, const int64_t *dim, uint32_t rank);
vtac_value_id vtac_c_unsqueeze(vtac_compose *c, vtac_value_id x, int64_t axis);
vtac_value_id vtac_c_squeeze(vtac_compose *c, vtac_value_id x, int64_t axis);
/* Places from `from` up to `to` along an axis. */
vtac_value_id vtac_c_slice(vtac_compose *c, vtac_value_id x, uint32_t axis, int64_t from, int64_t to);
vtac_value_id vtac_c_concat(vtac_compose *c, const vtac_value_id *parts, uint32_t count, int64_t axis);
/* Zeros before and after an axis. */
vtac_value_id vtac_c_pad(vtac_compose *c, vtac_value_id x, uint32_t axis, int64_t before, int64_t after);

/* Shape of rank `rank` where all dims but `axis` are 1. */
vtac_value_id vtac_c_along(vtac_compose *c, vtac_value_id x, uint32_t axis, uint32_t rank);
vtac_value_id vtac_c_fill(vtac_compose *c, const vtac_type *type, double value);
vtac_value_id vtac_c_gather_elements(vtac_compose *c, vtac_value_id x, vtac_value_id indices, int64_t axis);

/* Casts. Casts of texts and to texts work on the texts' numbers. */
vtac_value_id vtac_c_cast(vtac_compose *c, vtac_value_id x, vtac_dtype dtype);
/* The numbers of texts; NULL and a fault where there are none to be had. */
const int64_t *vtac_c_texts(vtac_compose *c, const char *const *texts, size_t count);
/* Reduces the axes first to last, which stay with one place. */
vtac_value_id vtac_c_reduce(vtac_compose *c, vtac_op op, vtac_value_id x, uint32_t first, uint32_t last);
vtac_value_id vtac_c_softmax(vtac_compose *c, vtac_value_id x, int64_t axis);

static inline vtac_value_id vtac_c1(vtac_compose *c, vtac_op op, vtac_value_id x)
{
    return vtac_c_node(c, op, &x, 1);
}

static inline vtac_value_id vtac_c2(vtac_compose *c, vtac_op op, vtac_value_id a, vtac_value_id b)
{
    const vtac_value_id inputs[] = {a, b};
    return vtac_c_node(c, op, inputs, 2);
}

static inline vtac_value_id vtac_c3(vtac_compose *c, vtac_op op, vtac_value_id a, vtac_value_id b,
                                    vtac_value_id d)
{
    const vtac_value_id inputs[] = {a, b, d};
    return vtac_c_node(c, op, inputs, 3);
}

#define VTAC_C_UNARY(name, op)                                                                               \
    static inline vtac_value_id vtac_c_##name(vtac_compose *c, vtac_value_id x)                              \
    {                                                                                                        \
        return vtac_c1(c, VTAC_OP_##op, x);                                                                  \
    }
#define VTAC_C_BINARY(name, op)                                                                              \
    static inline vtac_value_id vtac_c_##name(vtac_compose *c, vtac_value_id a, vtac_value_id b)             \
    {                                                                                                        \
        return vtac_c2(c, VTAC_OP_##op, a, b);                                                               \
    }                                                                                                        \
    /* The same with a number of a's type. */                                                                \
    static inline vtac_value_id vtac_c_##name##_number(vtac_compose *c, vtac_value_id a, double b)           \
    {                                                                                                        \
        return vtac_c2(c, VTAC_OP_##op, a, vtac_c_number(c, vtac_c_dtype(c, a), b));                         \
    }
VTAC_C_UNARY(neg, NEG)
VTAC_C_UNARY(exp, EXP)
VTAC_C_UNARY(log, LOG)
VTAC_C_UNARY(sqrt, SQRT)
VTAC_C_UNARY(tanh, TANH)
VTAC_C_UNARY(floor, FLOOR)
VTAC_C_UNARY(round, ROUND)
VTAC_C_UNARY(abs, ABS)
VTAC_C_UNARY(not, NOT)
VTAC_C_UNARY(sigmoid, SIGMOID)
VTAC_C_BINARY(add, ADD)
VTAC_C_BINARY(sub, SUB)
VTAC_C_BINARY(mul, MUL)
VTAC_C_BINARY(div, DIV)
VTAC_C_BINARY(min, MIN)
VTAC_C_BINARY(max, MAX)
VTAC_C_BINARY(and, AND)
VTAC_C_BINARY(or, OR)
VTAC_C_BINARY(less, LESS)
VTAC_C_BINARY(at_most, LESS_OR_EQUAL)
VTAC_C_BINARY(at_least, GREATER_OR_EQUAL)
VTAC_C_BINARY(more, GREATER)
VTAC_C_BINARY(equal, EQUAL)
VTAC_C_BINARY(matmul, MATMUL)

static inline vtac_value_id vtac_c_where(vtac_compose *c, vtac_value_id condition, vtac_value_id a,
                                         vtac_value_id b)
{
    return vtac_c3(c, VTAC_OP_WHERE, condition, a, b);
}

/* 0, 1 ... count-1 in a type. */
vtac_value_id vtac_c_range(vtac_compose *c, vtac_dtype dtype, int64_t count);
vtac_value_id vtac_c_gather(vtac_compose *c, vtac_value_id x, vtac_value_id indices, int64_t axis);

#define COMPOSED(function, name, domain, since, last, limits) vtac_compose_fn vtac_composed_##function;
#include "compose.def"

#endif
