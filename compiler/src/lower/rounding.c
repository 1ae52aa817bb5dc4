/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers scaled and rounded as TensorFlow Lite does it, by vtac/quant.h.
 */
#include <string.h>

#include "lower.h"
#include "point.h"

#define E2(op, a, b) vtac_e2(l->k, VTAC_E_##op, a, b)

enum { BEYOND = 16 }; /* channels of the last vector that are none */

vtac_rounding vtac_rounding_of(const vtac_node *node)
{
    vtac_rounding rounding = VTAC_ROUND_EVEN;
    (void)vtac_rounding_parse(vtac_attr_string(node, "rounding", ""), &rounding);
    return rounding;
}

/* ---- a factor in 64 bits: the mantissa below, the exponent above */

static int64_t pack_scale(vtac_tfl_scale scale)
{
    return (int64_t)scale.shift * (INT64_C(1) << 32) + scale.mult;
}

const vtac_expr *vtac_tfl_constant(vtac_lower *l, vtac_tfl_scale scale)
{
    return vtac_e_int(l->k, VTAC_I64, pack_scale(scale));
}

const vtac_expr *vtac_tfl_output_scale(vtac_lower *l, uint32_t a, uint32_t b, uint32_t y, bool narrow,
                                       const vtac_expr *channel)
{
    const uint32_t inputs[] = {a, b, y};
    const vtac_tensor *in[3];
    for (int i = 0; i < 3; i++) {
        in[i] = vtac_in_constant(l->graph, l->node, inputs[i]);
        if (in[i] == NULL) {
            (void)vtac_unsupported(l, "scales that only the run knows have no rounding of TensorFlow Lite's");
            return vtac_e_int(l->k, VTAC_I64, 0);
        }
    }
    const int64_t count = vtac_type_elements(&in[1]->type);
    if (l->scales_of != l->node) { /* several steps and rows of one node share the table */
        const size_t room = (size_t)count + BEYOND;
        int64_t *table = vta_arena_array(&l->program->arena, room, sizeof *table);
        for (int64_t i = 0; table != NULL && i < count; i++) {
            table[i] = pack_scale(vtac_tfl_scale_of(
                vtac_tfl_product((float)vtac_tensor_float(in[0], 0), (float)vtac_tensor_float(in[1], i),
                                 (float)vtac_tensor_float(in[2], 0), narrow)));
        }
        l->scales = table == NULL ? 0 : vtac_constant(l, table, room * sizeof *table);
        l->scales_of = l->node;
    }
    return vtac_e_load(l->k, vtac_use(l, l->scales, "scales", VTAC_I64, count),
                       count == 1 ? vtac_e_index(l->k, 0) : channel);
}

/* ---- scaling */

static const vtac_expr *number_of(vtac_lower *l, vtac_dtype type, int64_t value)
{
    return vtac_e_int(l->k, type, value);
}

/* One rounding, of a 64-bit number. */
static const vtac_expr *round_once(vtac_lower *l, const vtac_expr *v, const vtac_expr *mult,
                                   const vtac_expr *shift)
{
    const vtac_expr *upper =
        E2(SHR, E2(ADD, mult, number_of(l, VTAC_I32, 1 << 15)), number_of(l, VTAC_I32, 16));
    upper = E2(MIN, upper, number_of(l, VTAC_I32, 0x7fff));
    upper = vtac_e3(l->k, VTAC_E_SELECT, E2(LT, mult, number_of(l, VTAC_I32, 0x7fff0000)), upper,
                    number_of(l, VTAC_I32, 0x7fff));
    const vtac_expr *total =
        vtac_let(l->k, "total", E2(SUB, number_of(l, VTAC_I64, 15), vtac_e_cast(l->k, VTAC_I64, shift)));
    const vtac_expr *half = E2(SHL, number_of(l, VTAC_I64, 1), E2(SUB, total, number_of(l, VTAC_I64, 1)));
    v = E2(MUL, vtac_e_cast(l->k, VTAC_I64, v), vtac_e_cast(l->k, VTAC_I64, upper));
    return vtac_e_cast(l->k, VTAC_I32, E2(SHR, E2(ADD, v, half), total));
}

const vtac_expr *vtac_tfl_scaled(vtac_lower *l, const vtac_expr *v, const vtac_expr *scale,
                                 vtac_rounding rounding)
{
    vtac_kernel *k = l->k;
    const bool known = scale != NULL && scale->op == VTAC_E_INT;
    const int64_t exponent = known ? scale->i >> 32 : 0;
    const vtac_expr *mult = known ? number_of(l, VTAC_I32, (int32_t)(uint32_t)(uint64_t)scale->i)
                                  : vtac_let(k, "mult", vtac_e_cast(k, VTAC_I32, scale));
    const vtac_expr *zero = number_of(l, VTAC_I32, 0);
    const vtac_expr *shift =
        known ? number_of(l, VTAC_I32, exponent)
              : vtac_let(k, "shift", vtac_e_cast(k, VTAC_I32, E2(SHR, scale, number_of(l, VTAC_I64, 32))));
    if (rounding == VTAC_ROUND_ONCE) {
        return round_once(l, v, mult, shift);
    }
    v = vtac_e_cast(k, VTAC_I32, v);
    if (!known || exponent > 0) {
        v = E2(SHL, v, known ? number_of(l, VTAC_I32, exponent) : E2(MAX, shift, zero));
    }
    const vtac_expr *wide = E2(MUL, vtac_e_cast(k, VTAC_I64, v), vtac_e_cast(k, VTAC_I64, mult));
    wide = E2(SHR, E2(ADD, wide, number_of(l, VTAC_I64, INT64_C(1) << 30)), number_of(l, VTAC_I64, 31));
    const vtac_expr *p = vtac_let(k, "p", vtac_e_cast(k, VTAC_I32, wide));
    if (known && exponent >= 0) {
        return p;
    }
    const vtac_expr *right = known ? number_of(l, VTAC_I32, -exponent)
                                   : vtac_let(k, "right", E2(MAX, vtac_e1(k, VTAC_E_NEG, shift), zero));
    const vtac_expr *one = number_of(l, VTAC_I32, 1);
    /* Compare the bits that are shifted out with half: p >> right is the floor. */
    const vtac_expr *mask = vtac_let(k, "mask", E2(SUB, E2(SHL, one, right), one));
    const vtac_expr *rest = E2(AND, p, mask);
    const vtac_expr *max = E2(SHR, mask, one);
    if (rounding == VTAC_ROUND_AWAY) {
        max = E2(SUB, max, E2(SHR, p, number_of(l, VTAC_I32, 31)));
    }
    const vtac_expr *up = vtac_e3(k, VTAC_E_SELECT, E2(GT, rest, max), one, zero);
    return E2(ADD, E2(SHR, p, right), up);
}

const vtac_expr *vtac_tfl_stored(vtac_lower *l, const vtac_expr *v, const vtac_expr *zero, vtac_dtype dtype)
{
    double low;
    double high;
    vtac_range_of(dtype, &low, &high);
    v = zero == NULL ? v : E2(ADD, v, vtac_e_cast(l->k, VTAC_I32, zero));
    v = E2(MAX, v, number_of(l, VTAC_I32, (int64_t)low));
    v = E2(MIN, v, number_of(l, VTAC_I32, (int64_t)high));
    return vtac_e_cast(l->k, dtype, v);
}

/* ---- the operators that importers compose others of */

static vtac_tfl_scale scale_at(const vtac_tensor *mult, const vtac_tensor *shift, int64_t i)
{
    return (vtac_tfl_scale){(int32_t)vtac_tensor_int(mult, i), (int32_t)vtac_tensor_int(shift, i)};
}

const vtac_expr *vtac_point_rescale(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_tensor *mult = vtac_in_constant(l->graph, n, VTAC_RESCALE_MULTIPLIER);
    const vtac_tensor *shift = vtac_in_constant(l->graph, n, VTAC_RESCALE_SHIFT);
    const vtac_expr *x = vtac_let(l->k, "x", vtac_arg(l, n, VTAC_RESCALE_X, at));
    const int64_t count = mult == NULL ? 0 : vtac_type_elements(&mult->type);
    if (mult == NULL || shift == NULL) {
        (void)vtac_unsupported(l, "factors that only the run knows");
        return x;
    }
    if (count == 1) {
        return vtac_tfl_scaled(l, x, vtac_tfl_constant(l, scale_at(mult, shift, 0)), vtac_rounding_of(n));
    }
    int64_t *table = vta_arena_array(&l->program->arena, (size_t)count, sizeof *table);
    for (int64_t i = 0; table != NULL && i < count; i++) {
        table[i] = pack_scale(scale_at(mult, shift, i));
    }
    const vtac_storage_id room = table == NULL ? 0 : vtac_constant(l, table, (uint64_t)count * sizeof *table);
    const int64_t axis = vtac_attr_int(n, "axis", 1);
    const vtac_expr *scale = vtac_e_load(l->k, vtac_use(l, room, "factors", VTAC_I64, count), at[axis]);
    return vtac_tfl_scaled(l, x, vtac_let(l->k, "factor", scale), vtac_rounding_of(n));
}

/* x, table: what the table has at x - first, or at its ends. */
const vtac_expr *vtac_point_look_up(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_type *table = vtac_in_type(l->graph, n, VTAC_LOOK_UP_TABLE);
    const vtac_type *type = vtac_in_type(l->graph, n, VTAC_LOOK_UP_X);
    const int64_t count = table->dim[0];
    const int64_t first = vtac_attr_int(n, "first", 0);
    double low;
    double high;
    vtac_range_of(type->dtype, &low, &high);
    const vtac_expr *place = vtac_e_cast(l->k, VTAC_I64, vtac_arg(l, n, VTAC_LOOK_UP_X, at));
    place = vtac_i_addc(l->k, place, -first);
    if (low < (double)first) {
        place = E2(MAX, place, vtac_e_index(l->k, 0));
    }
    if (high >= (double)(first + count)) {
        place = E2(MIN, place, vtac_e_index(l->k, count - 1));
    }
    return vtac_e_load(l->k, vtac_value_buffer(l, n->inputs[VTAC_LOOK_UP_TABLE], "table"),
                       vtac_let(l->k, "place", place));
}
