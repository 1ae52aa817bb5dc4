/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges of integers: which of those of 64 bits fit into a word. Indices do, as loops have constant extents;
 * an element of a tensor does where the nest has clamped it.
 */
#include "wgsl.h"

static const vtac_wgsl_range any = {INT64_MIN, INT64_MAX};

static bool is_within(vtac_wgsl_range r, int64_t min, int64_t max)
{
    return r.min >= min && r.max <= max;
}

static bool is_wide(vtac_dtype type)
{
    return vtac_dtype_bytes(type) == sizeof(int64_t) && vtac_dtype_kind(type) != 'f';
}

/* All values of a type; those of u64 do not fit into a range. */
static vtac_wgsl_range range_of_type(vtac_dtype type)
{
    const unsigned bits = 8 * (unsigned)vtac_dtype_bytes(type);
    if (type == VTAC_BOOL) {
        return (vtac_wgsl_range){0, 1};
    }
    if (bits == 64 || vtac_dtype_kind(type) == 'f') {
        return any;
    }
    return vtac_dtype_kind(type) == 'i'
               ? (vtac_wgsl_range){-(INT64_C(1) << (bits - 1)), (INT64_C(1) << (bits - 1)) - 1}
               : (vtac_wgsl_range){0, (INT64_C(1) << bits) - 1};
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static vtac_wgsl_range hull(vtac_wgsl_range a, vtac_wgsl_range b)
{
    return (vtac_wgsl_range){smaller(a.min, b.min), larger(a.max, b.max)};
}

static bool apply(vtac_expr_op op, int64_t a, int64_t b, int64_t *out)
{
    return op == VTAC_E_ADD   ? !__builtin_add_overflow(a, b, out)
           : op == VTAC_E_SUB ? !__builtin_sub_overflow(a, b, out)
                              : !__builtin_mul_overflow(a, b, out);
}

/* Sums, differences and products are monotonic in each operand: their ends are among those of the corners. */
static vtac_wgsl_range combine(vtac_expr_op op, vtac_wgsl_range a, vtac_wgsl_range b)
{
    const int64_t left[] = {a.min, a.min, a.max, a.max};
    const int64_t right[] = {b.min, b.max, b.min, b.max};
    vtac_wgsl_range r = {INT64_MAX, INT64_MIN};
    for (int i = 0; i < 4; i++) {
        int64_t value;
        if (!apply(op, left[i], right[i], &value)) {
            return any;
        }
        r = hull(r, (vtac_wgsl_range){value, value});
    }
    return r;
}

static vtac_wgsl_range by_number(vtac_expr_op op, vtac_wgsl_range a, int64_t number)
{
    const vtac_wgsl_range none_below = {0, number};
    switch ((unsigned)op) {
    case VTAC_E_DIV: return number > 0 ? (vtac_wgsl_range){a.min / number, a.max / number} : any;
    case VTAC_E_REM:
        return number <= 0 ? any
                           : (vtac_wgsl_range){a.min >= 0 ? 0 : 1 - number,
                                               a.min >= 0 ? smaller(a.max, number - 1) : number - 1};
    case VTAC_E_AND: return number >= 0 ? none_below : any;
    case VTAC_E_SHR:
        return number >= 0 && number < 63 ? (vtac_wgsl_range){a.min >> number, a.max >> number} : any;
    case VTAC_E_SHL:
        return number >= 0 && number < 32
                   ? combine(VTAC_E_MUL, a, (vtac_wgsl_range){(int64_t)1 << number, (int64_t)1 << number})
                   : any;
    default: return any;
    }
}

static vtac_wgsl_range range_of_operation(const vtac_wgsl *p, const vtac_expr *e)
{
    const vtac_wgsl_range a = e->in[0] != NULL ? vtac_wgsl_range_of(p, e->in[0]) : any;
    const vtac_wgsl_range b = e->in[1] != NULL ? vtac_wgsl_range_of(p, e->in[1]) : any;
    switch ((unsigned)e->op) {
    case VTAC_E_ADD:
    case VTAC_E_SUB:
    case VTAC_E_MUL: return combine(e->op, a, b);
    case VTAC_E_NEG: return combine(VTAC_E_SUB, (vtac_wgsl_range){0, 0}, a);
    case VTAC_E_MIN: return (vtac_wgsl_range){smaller(a.min, b.min), smaller(a.max, b.max)};
    case VTAC_E_MAX: return (vtac_wgsl_range){larger(a.min, b.min), larger(a.max, b.max)};
    case VTAC_E_SELECT: return hull(b, vtac_wgsl_range_of(p, e->in[2]));
    case VTAC_E_CAST: return e->in[0] == NULL || vtac_dtype_kind(e->in[0]->type) == 'f' ? any : a;
    default: break;
    }
    return b.min == b.max ? by_number(e->op, a, b.min) : any;
}

/* Tells if a range is known to fit its type. A range of u64 holds for values alone that i64 has, too. */
static bool is_known(vtac_wgsl_range r, vtac_dtype type)
{
    const vtac_wgsl_range all = range_of_type(type);
    return type == VTAC_U64 ? r.min >= 0 && r.max < INT64_MAX : is_within(r, all.min, all.max);
}

static vtac_wgsl_range range_of_leaf(const vtac_wgsl *p, const vtac_expr *e)
{
    if (e->op == VTAC_E_INT) {
        return (vtac_wgsl_range){e->i, e->i};
    }
    if (e->op != VTAC_E_VAR) {
        return range_of_operation(p, e);
    }
    const vtac_lane_var *v = &p->walk.at.vars[e->var];
    if (v->kind == VTAC_LANE_NUMBER || v->kind == VTAC_LANE_LANE) {
        const int64_t last = v->kind == VTAC_LANE_LANE ? VTAC_WGSL_LANES - 1 : 0;
        return (vtac_wgsl_range){v->number, v->number + last};
    }
    return p->ranges[e->var];
}

vtac_wgsl_range vtac_wgsl_range_of(const vtac_wgsl *p, const vtac_expr *e)
{
    const bool is_loaded = e->op == VTAC_E_LOAD || e->op == VTAC_E_QUAD;
    const vtac_wgsl_range all = range_of_type(e->type);
    if (is_loaded || vtac_dtype_kind(e->type) == 'f' || e->type == VTAC_BOOL) {
        return all;
    }
    const vtac_wgsl_range r = range_of_leaf(p, e);
    return is_known(r, e->type) ? r : all;
}

vtac_wgsl_form vtac_wgsl_form_of(const vtac_wgsl *p, const vtac_expr *e)
{
    if (vtac_dtype_kind(e->type) == 'f') {
        return e->type == VTAC_F64 ? VTAC_WGSL_DOUBLE : VTAC_WGSL_FLOAT;
    }
    if (e->type == VTAC_BOOL) {
        return VTAC_WGSL_BOOL;
    }
    if (is_wide(e->type)) {
        return is_within(vtac_wgsl_range_of(p, e), INT32_MIN, INT32_MAX) ? VTAC_WGSL_INT : VTAC_WGSL_WIDE;
    }
    return vtac_dtype_kind(e->type) == 'i' ? VTAC_WGSL_INT : VTAC_WGSL_UINT;
}
