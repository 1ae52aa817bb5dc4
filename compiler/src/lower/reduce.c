/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions: loops over what stays, and within them over what goes.
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

uint32_t vtac_open_axes(vtac_lower *l, const vtac_type *type, const bool *marks, bool which,
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
    const uint32_t outer = vtac_open_axes(l, x, marks, false, at, true);
    vtac_store(l->k, sum, zero, vtac_e_float(l->k, r.type, r.start));
    const uint32_t inner = vtac_open_axes(l, x, marks, true, at, false);
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
    const uint32_t outer = vtac_open_axes(l, x, marks, false, at, true);
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
