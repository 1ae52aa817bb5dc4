/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions, softmax and normalizations: loops over what stays, and within them over what goes.
 */
#include <math.h>
#include <string.h>

#include "../ops/infer.h"
#include "lower.h"

#define E2(op, a, b) vtac_e2(l->k, VTAC_E_##op, a, b)
#define E1(op, a)    vtac_e1(l->k, VTAC_E_##op, a)

static const vtac_expr *zero_index(const vtac_lower *l)
{
    return vtac_e_index(l->k, 0);
}

/* Opens loops over the axes that are marked (or are not); the others' indices stay. */
static uint32_t open_axes(vtac_lower *l, const vtac_type *type, const bool *marks, bool which,
                          const vtac_expr **at, bool parallel)
{
    uint32_t loops = 0;
    for (uint32_t axis = 0; axis < type->rank; axis++) {
        if (marks[axis] == which) {
            const bool first = parallel && loops == 0 && l->k->depth == 1;
            at[axis] = vtac_for(l->k, first ? vtac_parallel_if(vtac_type_elements(type)) : VTAC_LOOP_SERIAL,
                                type->dim[axis], "i");
            loops++;
        }
    }
    return loops;
}

typedef struct reduction {
    vtac_dtype type; /* of the accumulator */
    vtac_expr_op combine;
    double start;
} reduction;

static reduction reduction_of(vtac_op op, vtac_dtype dtype)
{
    const vtac_dtype type = vtac_compute_type(dtype);
    const bool is_float = vtac_dtype_kind(dtype) == 'f';
    double low = -HUGE_VAL;
    double high = HUGE_VAL;
    if (!is_float) {
        vtac_range_of(dtype, &low, &high);
    }
    switch ((int)op) {
    case VTAC_OP_REDUCE_MAX: return (reduction){type, VTAC_E_MAX, low};
    case VTAC_OP_REDUCE_MIN: return (reduction){type, VTAC_E_MIN, high};
    case VTAC_OP_REDUCE_PROD: return (reduction){type, VTAC_E_MUL, 1.0};
    default: return (reduction){type, VTAC_E_ADD, 0.0};
    }
}

static const vtac_expr *before(const vtac_lower *l, vtac_op op, const vtac_expr *x)
{
    switch ((int)op) {
    case VTAC_OP_REDUCE_L1: return E1(ABS, x);
    case VTAC_OP_REDUCE_L2:
    case VTAC_OP_REDUCE_SUM_SQUARE: return E2(MUL, x, x);
    case VTAC_OP_REDUCE_LOG_SUM_EXP: return E1(EXP, x);
    default: return x;
    }
}

static const vtac_expr *after(const vtac_lower *l, vtac_op op, const vtac_expr *sum, int64_t count)
{
    switch ((int)op) {
    case VTAC_OP_REDUCE_MEAN: return E2(DIV, sum, vtac_e_float(l->k, sum->type, (double)count));
    case VTAC_OP_REDUCE_L2:
        return vtac_e_cast(
            l->k, sum->type,
            E1(SQRT, vtac_dtype_kind(sum->type) == 'f' ? sum : vtac_e_cast(l->k, VTAC_F64, sum)));
    case VTAC_OP_REDUCE_LOG_SUM:
    case VTAC_OP_REDUCE_LOG_SUM_EXP: return E1(LOG, sum);
    default: return sum;
    }
}

static vta_status reduced_axes(vtac_lower *l, bool *marks, bool *keep)
{
    const vtac_type *x = vtac_type_in(l, 0);
    int64_t axes[VTAC_MAX_RANK];
    uint32_t count = 0;
    if (vtac_has_in(l, 1)) {
        VTA_TRY(vtac_need_ints(l->graph, l->node, 1, "axes", axes, VTAC_MAX_RANK, &count, l->diag));
    }
    const bool all = count == 0 && vtac_attr_int(l->node, "noop_with_empty_axes", 0) == 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        marks[i] = all;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t axis;
        VTA_TRY(vtac_axis(axes[i], x->rank, &axis, l->diag));
        marks[axis] = true;
    }
    *keep = vtac_attr_int(l->node, "keepdims", 1) != 0;
    return VTA_OK;
}

/* Indices of the output from those of the input. */
static void project(const vtac_type *x, const bool *marks, bool keep, const vtac_expr *zero,
                    const vtac_expr *const *at, const vtac_expr **out)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (!marks[i] || keep) {
            out[rank++] = marks[i] ? zero : at[i];
        }
    }
}

vta_status vtac_lower_reduce(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, 0);
    const vtac_op op = l->node->op;
    bool marks[VTAC_MAX_RANK] = {false};
    bool keep;
    VTA_TRY(reduced_axes(l, marks, &keep));
    VTA_TRY(vtac_begin(l, ""));
    const reduction r = reduction_of(op, x->dtype);
    vtac_buffer *sum = vtac_local(l, "sum", r.type, 1);
    const vtac_expr *at[VTAC_MAX_RANK];
    const vtac_expr *out[VTAC_MAX_RANK];
    const vtac_expr *zero = zero_index(l);
    int64_t count = 1;
    for (uint32_t i = 0; i < x->rank; i++) {
        count *= marks[i] ? x->dim[i] : 1;
    }
    const uint32_t outer = open_axes(l, x, marks, false, at, true);
    vtac_store(l->k, sum, zero, vtac_e_float(l->k, r.type, r.start));
    const uint32_t inner = open_axes(l, x, marks, true, at, false);
    const vtac_expr *value = before(l, op, vtac_let(l->k, "x", vtac_in_at(l, 0, at)));
    vtac_store(l->k, sum, zero, vtac_e2(l->k, r.combine, value, vtac_e_load(l->k, sum, zero)));
    vtac_close(l, inner);
    project(x, marks, keep, zero, at, out);
    const vtac_expr *total = vtac_e_load(l->k, sum, zero);
    if (total != NULL) {
        vtac_out_at(l, 0, out, after(l, op, total, count));
    }
    vtac_close(l, outer);
    l->step->flops = (uint64_t)vtac_type_elements(x);
    return l->diag->code;
}

vta_status vtac_lower_arg_reduce(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, 0);
    const bool max = l->node->op == VTAC_OP_ARG_MAX;
    const bool last = vtac_attr_int(l->node, "select_last_index", 0) != 0;
    bool marks[VTAC_MAX_RANK] = {false};
    uint32_t axis;
    VTA_TRY(vtac_axis(vtac_attr_int(l->node, "axis", 0), x->rank, &axis, l->diag));
    marks[axis] = true;
    VTA_TRY(vtac_begin(l, ""));
    const vtac_expr *zero = zero_index(l);
    const vtac_expr *at[VTAC_MAX_RANK];
    const vtac_expr *out[VTAC_MAX_RANK];
    vtac_buffer *best = vtac_local(l, "best", vtac_compute_type(x->dtype), 1);
    vtac_buffer *place = vtac_local(l, "place", VTAC_I64, 1);
    const uint32_t outer = open_axes(l, x, marks, false, at, true);
    at[axis] = zero;
    vtac_store(l->k, best, zero, vtac_in_at(l, 0, at));
    vtac_store(l->k, place, zero, zero);
    at[axis] = vtac_for(l->k, VTAC_LOOP_SERIAL, x->dim[axis], "i");
    const vtac_expr *value = vtac_let(l->k, "x", vtac_in_at(l, 0, at));
    const vtac_expr_op op = max ? (last ? VTAC_E_GE : VTAC_E_GT) : (last ? VTAC_E_LE : VTAC_E_LT);
    vtac_if(l->k, vtac_e2(l->k, op, value, vtac_e_load(l->k, best, zero)));
    vtac_store(l->k, best, zero, value);
    vtac_store(l->k, place, zero, at[axis]);
    vtac_close(l, 2);
    project(x, marks, vtac_attr_int(l->node, "keepdims", 1) != 0, zero, at, out);
    vtac_out_at(l, 0, out, vtac_e_load(l->k, place, zero));
    vtac_close(l, outer);
    return l->diag->code;
}

/* Softmax, LogSoftmax, Hardmax along one axis: the largest, the sum, the results. */
vta_status vtac_lower_softmax(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, 0);
    const vtac_op op = l->node->op;
    if (op == VTAC_OP_HARDMAX && x->rank == 0) {
        return vtac_unsupported(l, "a scalar has no axis");
    }
    uint32_t axis;
    VTA_TRY(vtac_axis(vtac_attr_int(l->node, "axis", -1), x->rank, &axis, l->diag));
    bool marks[VTAC_MAX_RANK] = {false};
    marks[axis] = true;
    VTA_TRY(vtac_begin(l, ""));
    const vtac_dtype type = vtac_compute_type(x->dtype);
    const vtac_expr *zero = zero_index(l);
    const vtac_expr *at[VTAC_MAX_RANK];
    vtac_buffer *most = vtac_local(l, "most", type, 1);
    vtac_buffer *sum = vtac_local(l, "sum", type, 1);
    vtac_buffer *where = vtac_local(l, "where", VTAC_I64, 1);
    const uint32_t outer = open_axes(l, x, marks, false, at, true);
    at[axis] = zero;
    vtac_store(l->k, most, zero, vtac_in_at(l, 0, at));
    vtac_store(l->k, sum, zero, vtac_e_int(l->k, type, 0));
    vtac_store(l->k, where, zero, zero);
    at[axis] = vtac_for(l->k, VTAC_LOOP_SERIAL, x->dim[axis], "i");
    const vtac_expr *value = vtac_let(l->k, "x", vtac_in_at(l, 0, at));
    const vtac_expr *larger = vtac_let(l->k, "larger", E2(GT, value, vtac_e_load(l->k, most, zero)));
    if (op == VTAC_OP_HARDMAX) {
        vtac_store(l->k, where, zero,
                   vtac_e3(l->k, VTAC_E_SELECT, larger, at[axis], vtac_e_load(l->k, where, zero)));
    }
    vtac_store(l->k, most, zero, vtac_e3(l->k, VTAC_E_SELECT, larger, value, vtac_e_load(l->k, most, zero)));
    vtac_end(l->k);
    if (op != VTAC_OP_HARDMAX) {
        at[axis] = vtac_for(l->k, VTAC_LOOP_SERIAL, x->dim[axis], "i");
        const vtac_expr *e = E1(EXP, E2(SUB, vtac_in_at(l, 0, at), vtac_e_load(l->k, most, zero)));
        vtac_store(l->k, sum, zero, E2(ADD, vtac_e_load(l->k, sum, zero), e));
        vtac_end(l->k);
    }
    at[axis] = vtac_for(l->k, VTAC_LOOP_SERIAL, x->dim[axis], "i");
    const vtac_expr *shifted = E2(SUB, vtac_in_at(l, 0, at), vtac_e_load(l->k, most, zero));
    const vtac_expr *total = vtac_e_load(l->k, sum, zero);
    const vtac_expr *y = op == VTAC_OP_SOFTMAX ? E2(DIV, E1(EXP, shifted), total)
                         : op == VTAC_OP_LOG_SOFTMAX
                             ? E2(SUB, shifted, E1(LOG, total))
                             : vtac_e_cast(l->k, type, E2(EQ, at[axis], vtac_e_load(l->k, where, zero)));
    vtac_out_at(l, 0, at, y);
    vtac_close(l, outer + 1);
    return l->diag->code;
}

/* Mean and 1 / sqrt(variance + epsilon) over the marked axes, into two locals; at's other indices are open.
 */
static void moments(vtac_lower *l, const vtac_type *x, const bool *marks, double epsilon, vtac_buffer *mean,
                    vtac_buffer *scale, const vtac_expr **at)
{
    const vtac_expr *zero = zero_index(l);
    const vtac_dtype type = vtac_compute_type(x->dtype);
    int64_t count = 1;
    for (uint32_t i = 0; i < x->rank; i++) {
        count *= marks[i] ? x->dim[i] : 1;
    }
    const vtac_expr *n = vtac_e_float(l->k, type, (double)count);
    vtac_store(l->k, mean, zero, vtac_e_int(l->k, type, 0));
    vtac_store(l->k, scale, zero, vtac_e_int(l->k, type, 0));
    uint32_t inner = open_axes(l, x, marks, true, at, false);
    vtac_store(l->k, mean, zero, E2(ADD, vtac_e_load(l->k, mean, zero), vtac_in_at(l, 0, at)));
    vtac_close(l, inner);
    vtac_store(l->k, mean, zero, E2(DIV, vtac_e_load(l->k, mean, zero), n));
    inner = open_axes(l, x, marks, true, at, false);
    const vtac_expr *off =
        vtac_let(l->k, "off", E2(SUB, vtac_in_at(l, 0, at), vtac_e_load(l->k, mean, zero)));
    vtac_store(l->k, scale, zero, E2(ADD, vtac_e_load(l->k, scale, zero), E2(MUL, off, off)));
    vtac_close(l, inner);
    const vtac_expr *variance = E2(DIV, vtac_e_load(l->k, scale, zero), n);
    const vtac_expr *root = E1(SQRT, E2(ADD, variance, vtac_e_float(l->k, type, epsilon)));
    vtac_store(l->k, scale, zero, E2(DIV, vtac_e_int(l->k, type, 1), root));
}

/* One scale or bias (input i) of a normalization. */
static const vtac_expr *norm_parameter(vtac_lower *l, uint32_t i, const vtac_expr *const *at, uint32_t axis,
                                       int64_t per)
{
    const vtac_type *type = vtac_type_in(l, i);
    if (l->node->op == VTAC_OP_LAYER_NORMALIZATION) {
        return vtac_arg(l, l->node, i, at);
    }
    return vtac_e_load(l->k, vtac_in(l, i),
                       vtac_type_elements(type) == 1 ? vtac_e_index(l->k, 0)
                                                     : vtac_i_divc(l->k, at[axis], per));
}

/* Layer (all axes from `axis`), instance (spatial) and mean-variance (given axes) normalization. */
vta_status vtac_lower_layer_norm(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, 0);
    const vtac_op op = l->node->op;
    bool marks[VTAC_MAX_RANK] = {false};
    uint32_t axis = 2;
    if (op == VTAC_OP_LAYER_NORMALIZATION) {
        VTA_TRY(vtac_axis(vtac_attr_int(l->node, "axis", -1), x->rank, &axis, l->diag));
    }
    for (uint32_t i = axis; i < x->rank; i++) {
        marks[i] = true;
    }
    if (op == VTAC_OP_MEAN_VARIANCE) {
        static const int64_t usual[] = {0, 2, 3};
        const vtac_attr *axes = vtac_find_attr(l->node, "axes");
        memset(marks, 0, sizeof marks);
        for (size_t i = 0; i < (axes == NULL ? 3 : axes->count); i++) {
            VTA_TRY(vtac_axis(axes == NULL ? usual[i] : axes->ints[i], x->rank, &axis, l->diag));
            marks[axis] = true;
        }
    }
    VTA_TRY(vtac_begin(l, ""));
    const vtac_dtype type = vtac_compute_type(x->dtype);
    const vtac_expr *zero = zero_index(l);
    const vtac_expr *at[VTAC_MAX_RANK];
    vtac_buffer *mean = vtac_local(l, "mean", type, 1);
    vtac_buffer *scale = vtac_local(l, "scale", type, 1);
    const uint32_t outer = open_axes(l, x, marks, false, at, true);
    moments(l, x, marks, op == VTAC_OP_MEAN_VARIANCE ? 1e-9 : vtac_attr_float(l->node, "epsilon", 1e-5), mean,
            scale, at);
    const uint32_t inner = open_axes(l, x, marks, true, at, false);
    const vtac_expr *y =
        E2(MUL, E2(SUB, vtac_in_at(l, 0, at), vtac_e_load(l->k, mean, zero)), vtac_e_load(l->k, scale, zero));
    if (op != VTAC_OP_MEAN_VARIANCE) {
        y = E2(MUL, y, norm_parameter(l, 1, at, 1, 1));
        y = vtac_has_in(l, 2) ? E2(ADD, y, norm_parameter(l, 2, at, 1, 1)) : y;
    }
    vtac_out_at(l, 0, at, y);
    vtac_close(l, inner);
    for (uint32_t i = 0; i < x->rank; i++) {
        at[i] = marks[i] ? zero : at[i];
    }
    for (uint32_t i = 1; i < l->node->output_count; i++) {
        if (l->node->outputs[i] != 0) {
            const vtac_dtype dtype = vtac_compute_type(vtac_type_out(l, i)->dtype);
            vtac_out_at(l, i, at, vtac_e_cast(l->k, dtype, vtac_e_load(l->k, i == 1 ? mean : scale, zero)));
        }
    }
    vtac_close(l, outer);
    return l->diag->code;
}

/* p-norms along one axis. */
vta_status vtac_lower_lp_norm(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, 0);
    const bool square = vtac_attr_int(l->node, "p", 2) == 2;
    bool marks[VTAC_MAX_RANK] = {false};
    uint32_t axis;
    VTA_TRY(vtac_axis(vtac_attr_int(l->node, "axis", -1), x->rank, &axis, l->diag));
    marks[axis] = true;
    VTA_TRY(vtac_begin(l, ""));
    const vtac_dtype type = vtac_compute_type(x->dtype);
    const vtac_expr *zero = zero_index(l);
    const vtac_expr *at[VTAC_MAX_RANK];
    vtac_buffer *sum = vtac_local(l, "sum", type, 1);
    const uint32_t outer = open_axes(l, x, marks, false, at, true);
    vtac_store(l->k, sum, zero, vtac_e_int(l->k, type, 0));
    at[axis] = vtac_for(l->k, VTAC_LOOP_SERIAL, x->dim[axis], "i");
    const vtac_expr *value = vtac_let(l->k, "x", vtac_in_at(l, 0, at));
    vtac_store(l->k, sum, zero,
               E2(ADD, vtac_e_load(l->k, sum, zero), square ? E2(MUL, value, value) : E1(ABS, value)));
    vtac_end(l->k);
    const vtac_expr *total = vtac_e_load(l->k, sum, zero);
    total = vtac_let(l->k, "norm", square ? E1(SQRT, total) : total);
    at[axis] = vtac_for(l->k, VTAC_LOOP_SERIAL, x->dim[axis], "i");
    const vtac_expr *none = vtac_e_int(l->k, type, 0);
    const vtac_expr *y = E2(DIV, vtac_in_at(l, 0, at), total);
    vtac_out_at(l, 0, at, vtac_e3(l->k, VTAC_E_SELECT, E2(EQ, total, none), none, y));
    vtac_close(l, outer + 1);
    return l->diag->code;
}

/* Local response normalization over neighbouring channels. */
vta_status vtac_lower_lrn(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, 0);
    const int64_t size = vtac_attr_int(l->node, "size", 1);
    const vtac_dtype type = vtac_compute_type(x->dtype);
    VTA_TRY(vtac_begin(l, ""));
    const vtac_expr *zero = zero_index(l);
    const vtac_expr *at[VTAC_MAX_RANK];
    vtac_buffer *sum = vtac_local(l, "sum", type, 1);
    const uint32_t loops = vtac_open(l, x, at, true);
    vtac_store(l->k, sum, zero, vtac_e_int(l->k, type, 0));
    const vtac_expr *own = at[1];
    const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, size, "i");
    at[1] = vtac_let(l->k, "c", vtac_i_add(l->k, own, vtac_i_addc(l->k, i, -((size - 1) / 2))));
    vtac_if(l->k, E2(AND, E2(GE, at[1], zero), E2(LT, at[1], vtac_e_index(l->k, x->dim[1]))));
    const vtac_expr *value = vtac_let(l->k, "x", vtac_in_at(l, 0, at));
    vtac_store(l->k, sum, zero, E2(ADD, vtac_e_load(l->k, sum, zero), E2(MUL, value, value)));
    vtac_close(l, 2);
    at[1] = own;
    const vtac_expr *factor =
        vtac_e_float(l->k, type, vtac_attr_float(l->node, "alpha", 1e-4) / (double)size);
    const vtac_expr *base = E2(ADD, vtac_e_float(l->k, type, vtac_attr_float(l->node, "bias", 1.0)),
                               E2(MUL, factor, vtac_e_load(l->k, sum, zero)));
    const vtac_expr *power = E2(POW, base, vtac_e_float(l->k, type, vtac_attr_float(l->node, "beta", 0.75)));
    vtac_out_at(l, 0, at, E2(DIV, vtac_in_at(l, 0, at), power));
    vtac_close(l, loops);
    return l->diag->code;
}
