/* SPDX-License-Identifier: Apache-2.0
 *
 * TensorFlow Lite's fixed-point arithmetic, as vtac/quant.h has it.
 */
#include <math.h>
#include <string.h>

#include "vtac/quant.h"

static const char *const names[] = {"", "tflite-up", "tflite-away", "tflite-once"};

bool vtac_rounding_parse(const char *name, vtac_rounding *out)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name == NULL ? "" : name, names[i]) == 0) {
            *out = (vtac_rounding)i;
            return true;
        }
    }
    return false;
}

const char *vtac_rounding_name(vtac_rounding rounding)
{
    return names[rounding];
}

vtac_tfl_scale vtac_tfl_scale_of(double real)
{
    int shift;
    if (!(real > 0.0) || isinf(real)) {
        return (vtac_tfl_scale){0, 0};
    }
    int64_t mult = (int64_t)round(frexp(real, &shift) * 0x1p31);
    if (mult == INT64_C(1) << 31) {
        mult /= 2;
        shift++;
    }
    if (shift < -31) {
        return (vtac_tfl_scale){0, 0};
    }
    return (vtac_tfl_scale){(int32_t)mult, shift > 30 ? 30 : shift};
}

static int32_t round_once(int64_t v, vtac_tfl_scale scale)
{
    const int64_t mult = scale.mult < 0x7fff0000 ? (scale.mult + (1 << 15)) >> 16 : 0x7fff;
    const int total = 15 - scale.shift;
    return (int32_t)(uint32_t)(uint64_t)((v * mult + (INT64_C(1) << (total - 1))) >> total);
}

int32_t vtac_tfl_rescale(int64_t v, vtac_tfl_scale scale, vtac_rounding rounding)
{
    const int left = scale.shift > 0 ? scale.shift : 0;
    const int right = scale.shift < 0 ? -scale.shift : 0;
    if (rounding == VTAC_ROUND_ONCE) {
        return round_once(v, scale);
    }
    const int32_t wrapped = (int32_t)(uint32_t)((uint64_t)v << left);
    const int64_t p = (wrapped * (int64_t)scale.mult + (INT64_C(1) << 30)) >> 31;
    const int64_t half = right == 0 ? 0 : INT64_C(1) << (right - 1);
    const int64_t less = right > 0 && rounding == VTAC_ROUND_AWAY && p < 0 ? 1 : 0;
    return (int32_t)((p + half - less) >> right);
}

double vtac_tfl_product(float a, float b, float y, bool narrow)
{
    const float product = a * b;
    return (narrow ? (double)product : (double)a * (double)b) / (double)y;
}

vtac_tfl_sum vtac_tfl_sum_of(float a, float b, float y, int left)
{
    const double twice = 2.0 * (double)(a > b ? a : b);
    return (vtac_tfl_sum){.a = vtac_tfl_scale_of((double)a / twice),
                          .b = vtac_tfl_scale_of((double)b / twice),
                          .y = vtac_tfl_scale_of(twice / (ldexp(1.0, left) * (double)y))};
}

vtac_tfl_mean vtac_tfl_mean_of(float x, int64_t x_zero, float y, int64_t y_zero, int64_t count)
{
    const float shift = fmaxf(-1e9F, fminf(1e9F, (float)x_zero * x / y));
    return (vtac_tfl_mean){.scale = vtac_tfl_scale_of((double)(x / ((float)count * y))),
                           .bias = (int32_t)(y_zero - (int64_t)(shift > 0.0F ? shift + 0.5F : shift - 0.5F))};
}
