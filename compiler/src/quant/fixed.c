/* SPDX-License-Identifier: Apache-2.0
 *
 * Fixed-point factors of quantized operators.
 */
#include <math.h>

#include "vtac/quant.h"

enum { MULT_BITS = 24, SHIFT_MAX = 63, SUM_BITS = 23 };

/* In float32, in this order: what ONNX Runtime's kernels compute. */
float vtac_scale_product(float a, float b, float y)
{
    const float ab = a * b;
    return ab / y;
}

float vtac_scale_mean(float x, float y, int64_t count)
{
    const float all = y * (float)count;
    return x / all;
}

float vtac_scale_ratio(float x, float y)
{
    return x / y;
}

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

static bool is_scale(float s)
{
    return s > 0.0F && isfinite(s);
}

bool vtac_fixed_sum_of(float sa, float sb, float sy, vtac_fixed_sum *out)
{
    *out = (vtac_fixed_sum){0};
    if (!is_scale(sa) || !is_scale(sb) || !is_scale(sy)) {
        return false;
    }
    /* Larger ratios saturate any output as these do. */
    const double most = (double)(1 << (SUM_BITS - 2));
    const double a = fmin((double)sa / (double)sy, most), b = fmin((double)sb / (double)sy, most);
    int shift = SHIFT_MAX;
    while (shift > 0 && rint(ldexp(a, shift)) + rint(ldexp(b, shift)) >= (double)(1 << SUM_BITS)) {
        shift--;
    }
    *out = (vtac_fixed_sum){
        .a = (int32_t)rint(ldexp(a, shift)), .b = (int32_t)rint(ldexp(b, shift)), .shift = (uint32_t)shift};
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
