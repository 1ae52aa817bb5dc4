/* SPDX-License-Identifier: Apache-2.0
 *
 * Fixed-point factors of quantized operators.
 */
#include <math.h>

#include "vtac/quant.h"

enum { MULT_BITS = 24, SHIFT_MAX = 63 };

bool vtac_fixed_of(float scale, vtac_fixed *out)
{
    *out = (vtac_fixed){0};
    if (!(scale >= 0.0F) || scale >= (float)(1U << MULT_BITS)) {
        return false;
    }
    int exponent = 0;
    const float fraction = frexpf(scale, &exponent); /* in [0.5, 1) */
    const int shift = MULT_BITS - exponent;
    if (scale > 0.0F && shift <= SHIFT_MAX) {
        *out = (vtac_fixed){.mult = (uint32_t)ldexpf(fraction, MULT_BITS), .shift = (uint32_t)shift};
    }
    return true;
}

static int64_t shift_half_even(int64_t v, uint32_t shift)
{
    if (shift == 0) {
        return v;
    }
    const int64_t floor = v >> shift; /* gcc and clang shift arithmetically */
    const uint64_t rest = (uint64_t)v & ((UINT64_C(1) << shift) - 1), half = UINT64_C(1) << (shift - 1);
    return floor + (rest > half || (rest == half && (floor & 1) != 0));
}

int32_t vtac_fixed_apply(int64_t v, vtac_fixed scale, int32_t zero, int32_t low, int32_t high)
{
    const int64_t q = shift_half_even(v * (int64_t)scale.mult, scale.shift) + zero;
    return (int32_t)(q < low ? low : q > high ? high : q);
}
