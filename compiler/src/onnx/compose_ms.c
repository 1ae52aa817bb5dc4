/* SPDX-License-Identifier: Apache-2.0
 *
 * QLinearMatMul in the forms that its kernel does not take: a, its scale and zero point; b, its scale and
 * zero point; the scale and zero point of y.
 */
#include <math.h>
#include <string.h>

#include "compose.h"

/* A parameter as numbers that broadcast to [..., rows, columns]: one, one a row, or as they are. */
static vtac_value_id spread_out(vtac_compose *c, uint32_t i, vtac_dtype type, bool rows)
{
    const vtac_value_id x = vtac_c_cast(c, vtac_c_in(c, i), type);
    if (c->make.status == VTA_OK && vtac_c_elements(c, x) == 1) {
        return vtac_c_reshape(c, x, NULL, 0);
    }
    return rows && vtac_c_rank(c, x) == 1 ? vtac_c_unsqueeze(c, x, 1) : x;
}

static vtac_value_id less_zero_point(vtac_compose *c, uint32_t x, bool rows)
{
    return vtac_c_sub(c, vtac_c_cast(c, vtac_c_in(c, x), VTAC_F64), spread_out(c, x + 2, VTAC_F64, rows));
}

/* Rounded to the type of the last zero point, saturating. */
static vtac_value_id requantize_result(vtac_compose *c, vtac_value_id y)
{
    const vtac_dtype type = vtac_c_dtype(c, vtac_c_in(c, VTAC_QLINEAR_PAIR_Y_ZERO));
    const char kind = vtac_dtype_kind(type);
    if (kind != 'i' && kind != 'u') {
        return vtac_c_cast(c, vtac_c_add(c, y, spread_out(c, VTAC_QLINEAR_PAIR_Y_ZERO, VTAC_F64, true)),
                           type);
    }
    y = vtac_c_add(c, vtac_c_round(c, y), spread_out(c, VTAC_QLINEAR_PAIR_Y_ZERO, VTAC_F64, true));
    y = vtac_c_max_number(c, y, kind == 'i' ? -128.0 : 0.0);
    return vtac_c_cast(c, vtac_c_min_number(c, y, kind == 'i' ? 127.0 : 255.0), type);
}

/* True if the kernel takes the operands, but for the type of the scales: bytes, one scale for a and
 * one for y. */
static bool takes_bytes(vtac_compose *c)
{
    static const uint8_t whole[] = {VTAC_QLINEAR_PAIR_A, VTAC_QLINEAR_PAIR_A_ZERO, VTAC_QLINEAR_PAIR_B,
                                    VTAC_QLINEAR_PAIR_B_ZERO, VTAC_QLINEAR_PAIR_Y_ZERO};
    static const uint8_t single[] = {VTAC_QLINEAR_PAIR_A_SCALE, VTAC_QLINEAR_PAIR_A_ZERO,
                                     VTAC_QLINEAR_PAIR_Y_SCALE, VTAC_QLINEAR_PAIR_Y_ZERO};
    bool takes = true;
    for (uint32_t i = 0; i < sizeof whole; i++) {
        const vtac_dtype type = vtac_c_dtype(c, vtac_c_in(c, whole[i]));
        takes = takes && (type == VTAC_I8 || type == VTAC_U8);
    }
    for (uint32_t i = 0; i < sizeof single; i++) {
        takes = takes && vtac_c_elements(c, vtac_c_in(c, single[i])) == 1;
    }
    return takes && vtac_c_rank(c, vtac_c_in(c, VTAC_QLINEAR_PAIR_B_SCALE)) < 2 &&
           vtac_c_rank(c, vtac_c_in(c, VTAC_QLINEAR_PAIR_B_ZERO)) < 2;
}

void vtac_composed_qlinear_matmul(vtac_compose *c, vtac_value_id *out)
{
    static const uint8_t scales[] = {VTAC_QLINEAR_PAIR_A_SCALE, VTAC_QLINEAR_PAIR_B_SCALE,
                                     VTAC_QLINEAR_PAIR_Y_SCALE};
    vtac_value_id inputs[VTAC_QLINEAR_PAIR_INPUTS];
    bool plain = true;
    for (uint32_t i = 0; i < VTAC_QLINEAR_PAIR_INPUTS; i++) {
        inputs[i] = vtac_c_in(c, i);
    }
    for (uint32_t i = 0; i < 3; i++) {
        plain = plain && vtac_c_dtype(c, inputs[scales[i]]) == VTAC_F32;
    }
    if (c->make.status != VTA_OK || !takes_bytes(c)) {
        const vtac_value_id y = vtac_c_matmul(c, less_zero_point(c, VTAC_QLINEAR_PAIR_A, true),
                                              less_zero_point(c, VTAC_QLINEAR_PAIR_B, false));
        const vtac_value_id ab = vtac_c_mul(c, spread_out(c, VTAC_QLINEAR_PAIR_A_SCALE, VTAC_F32, true),
                                            spread_out(c, VTAC_QLINEAR_PAIR_B_SCALE, VTAC_F32, false));
        const vtac_value_id scale =
            vtac_c_div(c, ab, spread_out(c, VTAC_QLINEAR_PAIR_Y_SCALE, VTAC_F32, true));
        out[0] = requantize_result(c, vtac_c_mul(c, y, vtac_c_cast(c, scale, VTAC_F64)));
    } else if (!plain) {
        for (uint32_t i = 0; i < 3; i++) {
            inputs[scales[i]] = vtac_c_cast(c, inputs[scales[i]], VTAC_F32);
        }
        out[0] = vtac_c_node(c, VTAC_OP_QLINEAR_MATMUL, inputs, VTAC_QLINEAR_PAIR_INPUTS);
    }
}
