/* SPDX-License-Identifier: Apache-2.0
 *
 * Softmax, LogSoftmax, Hardmax and QLinearSoftmax: the largest, the sum, the results, over the marked axes.
 */
#include "../ops/infer.h"
#include "lower.h"

#define E2(op, a, b)    vtac_e2(l->k, VTAC_E_##op, a, b)
#define E1(op, a)       vtac_e1(l->k, VTAC_E_##op, a)
#define SELECT(c, a, b) vtac_e3(l->k, VTAC_E_SELECT, c, a, b)

typedef struct softmax {
    const vtac_type *x;
    bool marks[VTAC_MAX_RANK];
    vtac_dtype type;
    vtac_buffer *most, *sum, *where; /* where: the place of the largest, counted over the marked axes */
} softmax;

/* One axis; QLinearSoftmax before opset 13 took all from it on. */
static vta_status marked_axes(vtac_lower *l, softmax *s)
{
    const bool quantized = l->node->op == VTAC_OP_QLINEAR_SOFTMAX;
    const int64_t opset = vtac_attr_int(l->node, "opset", 13);
    uint32_t axis;
    VTA_TRY(vtac_axis(vtac_attr_int(l->node, "axis", quantized && opset < 13 ? 1 : -1), s->x->rank, &axis,
                      l->diag));
    s->marks[axis] = true;
    for (uint32_t i = axis; quantized && opset < 13 && i < s->x->rank; i++) {
        s->marks[i] = true;
    }
    return VTA_OK;
}

static const vtac_expr *value_at(vtac_lower *l, const softmax *s, const vtac_expr *const *at)
{
    const vtac_expr *x = vtac_in_at(l, 0, at);
    if (l->node->op != VTAC_OP_QLINEAR_SOFTMAX) {
        return x;
    }
    /* the zero point falls out of every difference */
    const vtac_expr *scale = vtac_e_load(l->k, vtac_in(l, 1), vtac_e_index(l->k, 0));
    return E2(MUL, vtac_e_cast(l->k, s->type, x), scale);
}

/* How far `at` is from the first place, over the marked axes. */
static const vtac_expr *distance(vtac_lower *l, const softmax *s, const vtac_expr *const *at)
{
    const vtac_expr *place = vtac_e_index(l->k, 0);
    for (uint32_t i = 0; i < s->x->rank; i++) {
        place = s->marks[i] ? vtac_i_add(l->k, vtac_i_mulc(l->k, place, s->x->dim[i]), at[i]) : place;
    }
    return place;
}

static void find_largest(vtac_lower *l, const softmax *s, const vtac_expr **at)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    for (uint32_t i = 0; i < s->x->rank; i++) {
        at[i] = s->marks[i] ? zero : at[i];
    }
    vtac_store(l->k, s->most, zero, value_at(l, s, at));
    vtac_store(l->k, s->where, zero, zero);
    const uint32_t loops = vtac_open_axes(l, s->x, s->marks, true, at, false);
    const vtac_expr *value = vtac_let(l->k, "x", value_at(l, s, at));
    const vtac_expr *larger = vtac_let(l->k, "larger", E2(GT, value, vtac_e_load(l->k, s->most, zero)));
    if (l->node->op == VTAC_OP_HARDMAX) {
        const vtac_expr *before = vtac_e_load(l->k, s->where, zero);
        vtac_store(l->k, s->where, zero, SELECT(larger, distance(l, s, at), before));
    }
    vtac_store(l->k, s->most, zero, SELECT(larger, value, vtac_e_load(l->k, s->most, zero)));
    vtac_close(l, loops);
}

static void add_up(vtac_lower *l, const softmax *s, const vtac_expr **at)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    vtac_store(l->k, s->sum, zero, vtac_e_int(l->k, s->type, 0));
    const uint32_t loops = vtac_open_axes(l, s->x, s->marks, true, at, false);
    const vtac_expr *e = E1(EXP, E2(SUB, value_at(l, s, at), vtac_e_load(l->k, s->most, zero)));
    vtac_store(l->k, s->sum, zero, E2(ADD, vtac_e_load(l->k, s->sum, zero), e));
    vtac_close(l, loops);
}

static const vtac_expr *result(vtac_lower *l, const softmax *s, const vtac_expr *const *at)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    if (l->node->op == VTAC_OP_HARDMAX) {
        return vtac_e_cast(l->k, s->type, E2(EQ, distance(l, s, at), vtac_e_load(l->k, s->where, zero)));
    }
    const vtac_expr *shifted = E2(SUB, value_at(l, s, at), vtac_e_load(l->k, s->most, zero));
    const vtac_expr *total = vtac_e_load(l->k, s->sum, zero);
    if (l->node->op == VTAC_OP_LOG_SOFTMAX) {
        return E2(SUB, shifted, E1(LOG, total));
    }
    const vtac_expr *y = E2(DIV, E1(EXP, shifted), total);
    if (l->node->op == VTAC_OP_SOFTMAX) {
        return y;
    }
    const vtac_expr *offset = vtac_has_in(l, 4) ? vtac_e_load(l->k, vtac_in(l, 4), zero) : NULL;
    return vtac_requantize(l, y, vtac_e_load(l->k, vtac_in(l, 3), zero), offset, vtac_type_out(l, 0)->dtype);
}

vta_status vtac_lower_softmax(vtac_lower *l)
{
    softmax s = {.x = vtac_type_in(l, 0)};
    VTA_TRY(marked_axes(l, &s));
    VTA_TRY(vtac_begin(l, ""));
    s.type = l->node->op == VTAC_OP_QLINEAR_SOFTMAX ? VTAC_F32 : vtac_compute_type(s.x->dtype);
    s.most = vtac_local(l, "most", s.type, 1);
    s.sum = vtac_local(l, "sum", s.type, 1);
    s.where = vtac_local(l, "where", VTAC_I64, 1);
    const vtac_expr *at[VTAC_MAX_RANK];
    const uint32_t outer = vtac_open_axes(l, s.x, s.marks, false, at, true);
    find_largest(l, &s, at);
    if (l->node->op != VTAC_OP_HARDMAX) {
        add_up(l, &s, at);
    }
    const uint32_t inner = vtac_open_axes(l, s.x, s.marks, true, at, false);
    vtac_out_at(l, 0, at, result(l, &s, at));
    vtac_close(l, inner + outer);
    return l->diag->code;
}
