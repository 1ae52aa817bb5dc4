/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of eight bits and less: floats that are a sign, an exponent and a mantissa, powers of two (f8e8m0)
 * and integers. Each element has a byte of its own in memory, whatever a file packs.
 */
#include <math.h>
#include <string.h>

#include "vtac/graph.h"

static const vtac_minifloat formats[VTAC_DTYPE_COUNT] = {
    [VTAC_F8E4M3FN] = {4, 3, 7, 0x80, 0x7e, 0x7f, 0x7f, true},
    [VTAC_F8E4M3FNUZ] = {4, 3, 8, 0x80, 0x7f, 0x80, 0x80, false},
    [VTAC_F8E5M2] = {5, 2, 15, 0x80, 0x7b, 0x7c, 0x7f, true},
    [VTAC_F8E5M2FNUZ] = {5, 2, 16, 0x80, 0x7f, 0x80, 0x80, false},
    [VTAC_F4E2M1] = {2, 1, 1, 0x08, 0x07, 0x07, 0x08,
                     true}, /* it has neither infinities nor NaN: 6 and -0 stand for them */
};

const vtac_minifloat *vtac_minifloat_of(vtac_dtype dtype)
{
    return formats[dtype].exponent == 0 ? NULL : &formats[dtype];
}

bool vtac_dtype_is_narrow_int(vtac_dtype dtype)
{
    return dtype == VTAC_I4 || dtype == VTAC_U4 || dtype == VTAC_I2 || dtype == VTAC_U2;
}

vtac_dtype vtac_dtype_held(vtac_dtype dtype)
{
    if (dtype == VTAC_TEXT) {
        return VTAC_I64;
    }
    if (vtac_dtype_kind(dtype) != 'n') {
        return dtype;
    }
    return dtype == VTAC_I4 || dtype == VTAC_I2 ? VTAC_I8 : VTAC_U8;
}

static double minifloat_value(const vtac_minifloat *f, uint8_t code)
{
    const double sign = (code & f->sign) != 0 ? -1.0 : 1.0;
    const uint8_t magnitude = (uint8_t)(code & (f->sign - 1));
    const int exponent = magnitude >> f->mantissa;
    const double fraction = ldexp(magnitude & ((1 << f->mantissa) - 1), -f->mantissa);
    if (!f->has_negative_zero && code == f->nan) {
        return (double)NAN;
    }
    if (f->has_negative_zero && magnitude > f->max) {
        return magnitude == f->over && f->over != f->nan ? sign * HUGE_VAL : (double)NAN;
    }
    return exponent == 0 ? sign * ldexp(fraction, 1 - f->bias)
                         : sign * ldexp(1.0 + fraction, exponent - f->bias);
}

double vtac_narrow_value(vtac_dtype dtype, uint8_t code)
{
    const vtac_minifloat *f = vtac_minifloat_of(dtype);
    if (f != NULL) {
        return minifloat_value(f, code);
    }
    if (dtype == VTAC_F8E8M0) {
        return code == 0xff ? (double)NAN : ldexp(1.0, code - 127);
    }
    return vtac_dtype_held(dtype) == VTAC_I8 ? (double)(int8_t)code : (double)code;
}
