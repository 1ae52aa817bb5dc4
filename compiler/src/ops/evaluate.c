/* SPDX-License-Identifier: Apache-2.0
 *
 * Shape arithmetic: computes operators that fold (ops.def) whose inputs are known and small, so that shapes
 * that a model works out for itself (Shape, Gather, Concat, Reshape …) are static before anything else looks
 * at it. Plain loops over elements: integers in int64, floats in double and rounded once, which for + - * /
 * and comparisons is what float32 gives.
 */
#include <math.h>
#include <string.h>

#include "infer.h"
#include "vta/fail.h"
#include "vtac/loop.h"

enum { MAX_ELEMENTS = 1 << 16 };

typedef struct evaluation {
    const vtac_graph *graph;
    const vtac_node *node;
    const vtac_tensor *in[8];
    uint32_t count;
    int64_t max;    /* elements of an operand or the result */
    vtac_type type; /* of the result */
    void *data;
    bool is_float;
    bool of_type; /* Shape and Size: only the type of their operand counts */
} evaluation;

static void store_int(evaluation *e, int64_t i, int64_t value)
{
    char *to = (char *)e->data + (size_t)i * vtac_dtype_bytes(e->type.dtype);
    if (e->type.dtype == VTAC_BOOL) {
        value = value != 0;
    }
    memcpy(to, &value, vtac_dtype_bytes(e->type.dtype)); /* little endian: the low bytes come first */
}

static void store_float(evaluation *e, int64_t i, double value)
{
    if (e->type.dtype == VTAC_F32) {
        const float narrow = (float)value;
        memcpy((char *)e->data + (size_t)i * sizeof narrow, &narrow, sizeof narrow);
    } else {
        memcpy((char *)e->data + (size_t)i * sizeof value, &value, sizeof value);
    }
}

/* Copies element `from` of input `k` to place `i`; the types are equal. */
static void copy_element(evaluation *e, int64_t i, uint32_t k, int64_t from)
{
    const size_t bytes = vtac_dtype_bytes(e->type.dtype);
    memcpy((char *)e->data + (size_t)i * bytes, (const char *)e->in[k]->data + (size_t)from * bytes, bytes);
}

/* The coordinates of element i of a type, and back. */
static void unravel_index(const vtac_type *type, int64_t i, int64_t *at)
{
    for (uint32_t axis = type->rank; axis-- > 0;) {
        at[axis] = i % type->dim[axis];
        i /= type->dim[axis];
    }
}

static int64_t ravel_index(const vtac_type *type, const int64_t *at)
{
    int64_t i = 0;
    for (uint32_t axis = 0; axis < type->rank; axis++) {
        i = i * type->dim[axis] + at[axis];
    }
    return i;
}

/* The element of input k that broadcasts to element i of the result. */
static int64_t broadcast_from(const evaluation *e, uint32_t k, int64_t i)
{
    return vtac_broadcast_at(&e->in[k]->type, &e->type, i);
}

static int64_t int_at(const evaluation *e, uint32_t k, int64_t i)
{
    return vtac_tensor_int(e->in[k], broadcast_from(e, k, i));
}

static double float_at(const evaluation *e, uint32_t k, int64_t i)
{
    return vtac_tensor_float(e->in[k], broadcast_from(e, k, i));
}

static int64_t wrap_mul(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* True if the first `count` operands are there. */
static bool has_operands(const evaluation *e, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        if (e->in[k] == NULL) {
            return false;
        }
    }
    return true;
}

typedef struct scalar {
    double f;
    int64_t i;
} scalar;

/* Operations of loop nests on integers by which rows fold:  id, result of a and b */
#define INT_OPERATIONS(X)                                                                                    \
    X(ABS, a < 0 ? wrap_mul(a, -1) : a)                                                                      \
    X(NEG, wrap_mul(a, -1))                                                                                  \
    X(ADD, (int64_t)((uint64_t)a + (uint64_t)b))                                                             \
    X(SUB, (int64_t)((uint64_t)a - (uint64_t)b))                                                             \
    X(MUL, wrap_mul(a, b))                                                                                   \
    X(DIV, a / b)                                                                                            \
    X(MIN, a < b ? a : b)                                                                                    \
    X(MAX, a > b ? a : b)                                                                                    \
    X(AND, (a & b))                                                                                          \
    X(OR, a | b)                                                                                             \
    X(XOR, a ^ b)                                                                                            \
    X(NOT, ~a)                                                                                               \
    X(EQ, a == b)                                                                                            \
    X(LT, a < b)                                                                                             \
    X(LE, a <= b)                                                                                            \
    X(GT, a > b)                                                                                             \
    X(GE, a >= b)

/* The same on floats:  id, member of the result, result of a and b */
#define FLOAT_OPERATIONS(X)                                                                                  \
    X(ABS, f, fabs(a))                                                                                       \
    X(NEG, f, -a)                                                                                            \
    X(CEIL, f, ceil(a))                                                                                      \
    X(FLOOR, f, floor(a))                                                                                    \
    X(ADD, f, a + b)                                                                                         \
    X(SUB, f, a - b)                                                                                         \
    X(MUL, f, (a * b))                                                                                       \
    X(DIV, f, a / b)                                                                                         \
    X(MIN, f, isnan(a) || a < b ? a : b)                                                                     \
    X(MAX, f, isnan(a) || a > b ? a : b)                                                                     \
    X(EQ, i, a == b)                                                                                         \
    X(LT, i, a < b)                                                                                          \
    X(LE, i, a <= b)                                                                                         \
    X(GT, i, a > b)                                                                                          \
    X(GE, i, a >= b)

#define X(id, result)                                                                                        \
    static int64_t int_##id(int64_t a, int64_t b)                                                            \
    {                                                                                                        \
        (void)b;                                                                                             \
        return result;                                                                                       \
    }
INT_OPERATIONS(X)
#undef X

#define X(id, member, result)                                                                                \
    static void float_##id(double a, double b, scalar *out)                                                  \
    {                                                                                                        \
        (void)b;                                                                                             \
        out->member = result;                                                                                \
    }
FLOAT_OPERATIONS(X)
#undef X

static int64_t (*const int_operations[VTAC_EXPR_OP_COUNT])(int64_t a, int64_t b) = {
#define X(id, result) [VTAC_E_##id] = int_##id,
    INT_OPERATIONS(X)
#undef X
};
static void (*const float_operations[VTAC_EXPR_OP_COUNT])(double a, double b, scalar *out) = {
#define X(id, member, result) [VTAC_E_##id] = float_##id,
    FLOAT_OPERATIONS(X)
#undef X
};

/* False: no row folds by the operation, or the divisor is zero, which leaves the node to run time. */
static bool int_operation(vtac_expr_op op, int64_t a, int64_t b, int64_t *out)
{
    const bool no_divisor = b == 0 || (b == -1 && a == INT64_MIN);
    *out = 0;
    if (int_operations[op] == NULL || (op == VTAC_E_DIV && no_divisor)) {
        return false;
    }
    *out = int_operations[op](a, b);
    return true;
}

static bool float_operation(vtac_expr_op op, double a, double b, scalar *out)
{
    if (float_operations[op] == NULL) {
        return false;
    }
    float_operations[op](a, b, out);
    return true;
}

/* The operation of each row's lowering; VTAC_E_INT, a leaf, where it has none. A row that folds by its
 * operation and has one that is not known above has an array of -1 elements here, which does not compile. */
#define BIT(op) (1ULL << VTAC_E_##op)
#define KNOWN                                                                                                \
    (BIT(ABS) | BIT(NEG) | BIT(CEIL) | BIT(FLOOR) | BIT(ADD) | BIT(SUB) | BIT(MUL) | BIT(DIV) | BIT(MIN) |   \
     BIT(MAX) | BIT(AND) | BIT(OR) | BIT(XOR) | BIT(NOT) | BIT(EQ) | BIT(LT) | BIT(LE) | BIT(GT) | BIT(GE))
#define FOLDS_BY_expr      ~, 1
#define SECOND(a, b, ...)  b
#define SECOND_OF(...)     SECOND(__VA_ARGS__, 0, 0)
#define IS_RIGHT(fold, op) (SECOND_OF(FOLDS_BY_##fold) == 0 || (KNOWN >> (op)&1) != 0)
#define CHECKED(fold, op)  ((vtac_expr_op)((op) + 0 * sizeof(char[IS_RIGHT(fold, op) ? 1 : -1])))
#define EXPR(op)           VTAC_E_##op
#define UNARY(fn)          VTAC_E_INT
#define POINT(fn)          VTAC_E_INT
#define MAP(fn)            VTAC_E_INT
#define CUSTOM(fn, text)   VTAC_E_INT
#define SOLO(fn, text)     VTAC_E_INT
#define ALIAS              VTAC_E_INT
#define FOLDED(text)       VTAC_E_INT
static const vtac_expr_op operations[] = {
#define VTAC_OP(id, name, domain, since, in_min, in_max, out, operands, infer, traits, fold, lowering, ...)  \
    [VTAC_OP_##id] = CHECKED(fold, lowering),
#include "vtac/ops.def"
};

static bool is_unsigned_64(const evaluation *e)
{
    return e->in[0]->type.dtype == VTAC_U64;
}

/* Fold `expr`: the row's operation, over one input or over all from left to right. */
static bool evaluate_expr(evaluation *e, int64_t elements)
{
    const vtac_expr_op op = operations[e->node->op];
    const bool floats = vtac_dtype_kind(e->in[0]->type.dtype) == 'f';
    const bool negates = e->type.dtype == VTAC_BOOL && op == VTAC_E_NOT;
    if (is_unsigned_64(e) && op != VTAC_E_ADD && op != VTAC_E_SUB && op != VTAC_E_MUL) {
        return false;
    }
    for (int64_t i = 0; i < elements; i++) {
        scalar x = {.f = floats ? float_at(e, 0, i) : 0.0, .i = floats ? 0 : int_at(e, 0, i)};
        bool ok = e->count > 1 || vtac_expr_operands(op) == 2 ||
                  (floats ? float_operation(op, x.f, 0.0, &x) : int_operation(op, x.i, 0, &x.i));
        for (uint32_t k = 1; ok && k < e->count; k++) {
            ok = e->in[k] != NULL && (floats ? float_operation(op, x.f, float_at(e, k, i), &x)
                                             : int_operation(op, x.i, int_at(e, k, i), &x.i));
        }
        if (!ok) {
            return false;
        }
        if (e->is_float) {
            store_float(e, i, x.f);
        } else {
            store_int(e, i, negates ? x.i & 1 : x.i);
        }
    }
    return true;
}

/* The result has the divisor's sign, with fmod the dividend's; floats are left to run time. */
static bool evaluate_mod(evaluation *e, int64_t elements)
{
    const bool of_dividend = vtac_attr_int(e->node, "fmod", 0) != 0;
    if (e->is_float || !has_operands(e, 2) || is_unsigned_64(e)) {
        return false;
    }
    for (int64_t i = 0; i < elements; i++) {
        const int64_t a = int_at(e, 0, i);
        const int64_t b = int_at(e, 1, i);
        if (b == 0 || (b == -1 && a == INT64_MIN)) {
            return false;
        }
        const int64_t rest = a % b;
        const bool signs_differ = rest != 0 && (rest < 0) != (b < 0);
        store_int(e, i, signs_differ && !of_dividend ? rest + b : rest);
    }
    return true;
}

static bool evaluate_sign(evaluation *e, int64_t elements)
{
    for (int64_t i = 0; i < elements; i++) {
        const double f = vtac_tensor_float(e->in[0], i);
        if (e->is_float) {
            store_float(e, i, isnan(f) ? f : (double)((f > 0.0) - (f < 0.0)));
        } else {
            const int64_t n = vtac_tensor_int(e->in[0], i);
            store_int(e, i, is_unsigned_64(e) ? n != 0 : (n > 0) - (n < 0));
        }
    }
    return true;
}

/* Sizes of pictures are scaled by it. */
static bool evaluate_reciprocal(evaluation *e, int64_t elements)
{
    for (int64_t i = 0; i < elements; i++) {
        store_float(e, i, 1.0 / vtac_tensor_float(e->in[0], i));
    }
    return true;
}

static bool evaluate_cast(evaluation *e, int64_t elements)
{
    const char from = vtac_dtype_kind(e->in[0]->type.dtype);
    if (vtac_dtype_kind(e->type.dtype) == 'n') {
        return false; /* left to the kernels, which know the modes of rounding */
    }
    for (int64_t i = 0; i < elements; i++) {
        const double f = vtac_tensor_float(e->in[0], i);
        if (e->is_float) {
            store_float(e, i, f);
        } else if (e->type.dtype == VTAC_BOOL) {
            store_int(e, i, f != 0.0);
        } else if ((from == 'f' || from == 'n') && !(f > -9.2e18 && f < 9.2e18)) {
            return false;
        } else {
            store_int(e, i, vtac_tensor_int(e->in[0], i));
        }
    }
    return true;
}

static bool evaluate_where(evaluation *e, int64_t elements)
{
    if (!has_operands(e, VTAC_WHERE_INPUTS)) {
        return false;
    }
    for (int64_t i = 0; i < elements; i++) {
        const uint32_t k = int_at(e, VTAC_WHERE_CONDITION, i) != 0 ? VTAC_WHERE_X : VTAC_WHERE_Y;
        copy_element(e, i, k, broadcast_from(e, k, i));
    }
    return true;
}

static bool evaluate_broadcast_copy(evaluation *e, int64_t elements)
{
    for (int64_t i = 0; i < elements; i++) {
        copy_element(e, i, 0, broadcast_from(e, 0, i));
    }
    return true;
}

static bool evaluate_tile(evaluation *e, int64_t elements)
{
    for (int64_t i = 0; i < elements; i++) {
        int64_t at[VTAC_MAX_RANK];
        unravel_index(&e->type, i, at);
        for (uint32_t axis = 0; axis < e->type.rank; axis++) {
            at[axis] %= e->in[0]->type.dim[axis];
        }
        copy_element(e, i, 0, ravel_index(&e->in[0]->type, at));
    }
    return true;
}

static bool evaluate_concat(evaluation *e, int64_t elements)
{
    uint32_t axis;
    if (vtac_axis(vtac_attr_int(e->node, "axis", 1), e->type.rank, &axis, NULL) != VTA_OK) {
        return false;
    }
    for (int64_t i = 0; i < elements; i++) {
        int64_t at[VTAC_MAX_RANK];
        unravel_index(&e->type, i, at);
        uint32_t k = 0;
        while (k < e->count && e->in[k] != NULL && at[axis] >= e->in[k]->type.dim[axis]) {
            at[axis] -= e->in[k++]->type.dim[axis];
        }
        if (k == e->count || e->in[k] == NULL) {
            return false;
        }
        copy_element(e, i, k, ravel_index(&e->in[k]->type, at));
    }
    return true;
}

static bool evaluate_gather(evaluation *e, int64_t elements)
{
    if (!has_operands(e, 2)) {
        return false;
    }
    const vtac_type *data = &e->in[VTAC_GATHER_DATA]->type;
    const vtac_type *indices = &e->in[VTAC_GATHER_INDICES]->type;
    uint32_t axis;
    if (vtac_axis(vtac_attr_int(e->node, "axis", 0), data->rank, &axis, NULL) != VTA_OK) {
        return false;
    }
    for (int64_t i = 0; i < elements; i++) {
        int64_t at[VTAC_MAX_RANK];
        int64_t from[VTAC_MAX_RANK];
        unravel_index(&e->type, i, at);
        int64_t index = vtac_tensor_int(e->in[VTAC_GATHER_INDICES], ravel_index(indices, at + axis));
        index = index < 0 ? index + data->dim[axis] : index;
        if (index < 0 || index >= data->dim[axis]) {
            return false;
        }
        memcpy(from, at, axis * sizeof from[0]);
        from[axis] = index;
        memcpy(from + axis + 1, at + axis + indices->rank, (data->rank - axis - 1) * sizeof from[0]);
        copy_element(e, i, VTAC_GATHER_DATA, ravel_index(data, from));
    }
    return true;
}

static bool evaluate_slice(evaluation *e, int64_t elements)
{
    if (!has_operands(e, 2)) {
        return false;
    }
    const vtac_type *in = &e->in[VTAC_SLICE_X]->type;
    const vtac_tensor *axes = e->count > VTAC_SLICE_AXES ? e->in[VTAC_SLICE_AXES] : NULL;
    const vtac_tensor *steps = e->count > VTAC_SLICE_STEPS ? e->in[VTAC_SLICE_STEPS] : NULL;
    int64_t start[VTAC_MAX_RANK] = {0};
    int64_t step[VTAC_MAX_RANK];
    for (uint32_t i = 0; i < VTAC_MAX_RANK; i++) {
        step[i] = 1;
    }
    const int64_t count = vtac_type_elements(&e->in[VTAC_SLICE_STARTS]->type);
    for (int64_t k = 0; k < count; k++) {
        uint32_t axis;
        if (vtac_axis(axes != NULL ? vtac_tensor_int(axes, k) : k, in->rank, &axis, NULL)) {
            return false;
        }
        step[axis] = steps != NULL ? vtac_tensor_int(steps, k) : 1;
        int64_t first = vtac_tensor_int(e->in[VTAC_SLICE_STARTS], k);
        first = first < 0 ? first + in->dim[axis] : first;
        const int64_t last = step[axis] > 0 ? in->dim[axis] : in->dim[axis] - 1;
        start[axis] = first < 0 ? 0 : first > last ? last : first;
    }
    for (int64_t i = 0; i < elements; i++) {
        int64_t at[VTAC_MAX_RANK];
        unravel_index(&e->type, i, at);
        for (uint32_t axis = 0; axis < e->type.rank; axis++) { /* the rank of the input, too */
            at[axis] = start[axis] + at[axis] * step[axis];
        }
        copy_element(e, i, 0, ravel_index(in, at));
    }
    return true;
}

static bool evaluate_transpose(evaluation *e, int64_t elements)
{
    const vtac_attr *perm = vtac_find_attr(e->node, "perm");
    for (int64_t i = 0; i < elements; i++) {
        int64_t at[VTAC_MAX_RANK];
        int64_t from[VTAC_MAX_RANK] = {0};
        unravel_index(&e->type, i, at);
        for (uint32_t axis = 0; axis < e->type.rank; axis++) {
            from[perm != NULL ? perm->ints[axis] : e->type.rank - 1 - axis] = at[axis];
        }
        copy_element(e, i, 0, ravel_index(&e->in[0]->type, from));
    }
    return true;
}

static bool evaluate_range(evaluation *e, int64_t elements)
{
    if (!has_operands(e, VTAC_RANGE_INPUTS)) {
        return false;
    }
    const vtac_tensor *start = e->in[VTAC_RANGE_START], *delta = e->in[VTAC_RANGE_DELTA];
    for (int64_t i = 0; i < elements; i++) {
        if (e->is_float) {
            store_float(e, i, vtac_tensor_float(start, 0) + (double)i * vtac_tensor_float(delta, 0));
        } else {
            store_int(e, i, vtac_tensor_int(start, 0) + wrap_mul(i, vtac_tensor_int(delta, 0)));
        }
    }
    return true;
}

static bool evaluate_fill(evaluation *e, int64_t elements)
{
    const vtac_attr *value = vtac_find_attr(e->node, "value");
    const size_t bytes = vtac_dtype_bytes(e->type.dtype);
    for (int64_t i = 0; value != NULL && i < elements; i++) {
        memcpy((char *)e->data + (size_t)i * bytes, value->tensor.data, bytes);
    }
    return true; /* memory of the arena is zero, which is the default value */
}

static bool evaluate_shape(evaluation *e, int64_t elements)
{
    const vtac_type *in = vtac_in_type(e->graph, e->node, 0);
    int64_t start = vtac_attr_int(e->node, "start", 0);
    start = start < 0 ? start + (int64_t)in->rank : start;
    start = start < 0 ? 0 : start;
    for (int64_t i = 0; i < elements; i++) {
        store_int(e, i, in->dim[start + i]);
    }
    return true;
}

static bool evaluate_size(evaluation *e, int64_t elements)
{
    (void)elements;
    store_int(e, 0, vtac_type_elements(vtac_in_type(e->graph, e->node, 0)));
    return true;
}

/* The operation that combines elements; VTAC_E_INT, a leaf: the reduction does not fold. */
static vtac_expr_op combination_of(vtac_op op)
{
    return op == VTAC_OP_REDUCE_SUM    ? VTAC_E_ADD
           : op == VTAC_OP_REDUCE_PROD ? VTAC_E_MUL
           : op == VTAC_OP_REDUCE_MIN  ? VTAC_E_MIN
           : op == VTAC_OP_REDUCE_MAX  ? VTAC_E_MAX
                                       : VTAC_E_INT;
}

/* The largest or smallest of all floats, which no order of the elements changes; sums are left to run time.
 */
static bool reduce_floats(evaluation *e, int64_t count)
{
    const vtac_expr_op op = combination_of(e->node->op);
    scalar result = {.f = vtac_tensor_float(e->in[0], 0)};
    for (int64_t i = 1; i < count; i++) {
        (void)float_operation(op, result.f, vtac_tensor_float(e->in[0], i), &result);
    }
    store_float(e, 0, result.f);
    return (op == VTAC_E_MIN || op == VTAC_E_MAX) && !isnan(result.f);
}

/* Reduces all axes at once, as shape arithmetic does (the number of elements, the largest dimension). */
static bool evaluate_reduce(evaluation *e, int64_t elements)
{
    const int64_t count = vtac_type_elements(&e->in[0]->type);
    if (elements != 1 || count < 1) {
        return false;
    }
    if (e->is_float) {
        return reduce_floats(e, count);
    }
    int64_t result = vtac_tensor_int(e->in[0], 0);
    for (int64_t i = 1; i < count; i++) {
        if (!int_operation(combination_of(e->node->op), result, vtac_tensor_int(e->in[0], i), &result)) {
            return false;
        }
    }
    store_int(e, 0, result);
    return true;
}

static bool evaluate_copy(evaluation *e, int64_t elements)
{
    if (elements > 0) {
        memcpy(e->data, e->in[0]->data, e->in[0]->bytes);
    }
    return true;
}

/* Fold `none`. */
static bool evaluate_none(evaluation *e, int64_t elements)
{
    (void)e;
    (void)elements;
    return false;
}

typedef bool evaluate_fn(evaluation *e, int64_t elements);
static evaluate_fn *const folds[] = {
#define VTAC_OP(id, name, domain, since, in_min, in_max, out, operands, infer, traits, fold, ...)            \
    [VTAC_OP_##id] = evaluate_##fold,
#include "vtac/ops.def"
};

/* Gathers the inputs; false where one is unknown or too large. */
static bool take_inputs(evaluation *e)
{
    e->of_type = folds[e->node->op] == evaluate_shape || folds[e->node->op] == evaluate_size;
    e->count = e->node->input_count;
    if (e->count > sizeof e->in / sizeof e->in[0]) {
        return false;
    }
    for (uint32_t i = 0; !e->of_type && i < e->count; i++) {
        e->in[i] = vtac_in_constant(e->graph, e->node, i);
        const bool absent = e->node->inputs[i] == 0 && i > 0;
        if (!absent && (e->in[i] == NULL || vtac_type_elements(&e->in[i]->type) > e->max)) {
            return false;
        }
    }
    return true;
}

vta_status vtac_evaluate(vtac_graph *graph, const vtac_node *node, bool *done, vtac_tensor *out,
                         vta_diag *diag)
{
    return vtac_evaluate_up_to(graph, node, MAX_ELEMENTS, done, out, diag);
}

vta_status vtac_evaluate_up_to(vtac_graph *graph, const vtac_node *node, int64_t max, bool *done,
                               vtac_tensor *out, vta_diag *diag)
{
    *done = false;
    evaluation e = {.graph = graph, .node = node, .max = max};
    if (folds[node->op] == evaluate_none || node->output_count != 1 || !take_inputs(&e)) {
        return VTA_OK;
    }
    e.type = graph->values[node->outputs[0]].type;
    const int64_t elements = vtac_type_elements(&e.type);
    const bool half = e.type.dtype == VTAC_F16 || e.type.dtype == VTAC_BF16;
    if (elements > max || half) {
        return VTA_OK;
    }
    e.is_float = vtac_dtype_kind(e.type.dtype) == 'f';
    const size_t bytes = (size_t)elements * vtac_dtype_bytes(e.type.dtype);
    e.data = vta_arena_alloc(&graph->arena, bytes);
    if (e.data == NULL) {
        return vta_no_memory(diag);
    }
    *done = (e.of_type || has_operands(&e, 1)) && folds[node->op](&e, elements);
    *out = (vtac_tensor){.type = e.type, .data = e.data, .bytes = bytes};
    return VTA_OK;
}
