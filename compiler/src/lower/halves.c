/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights of models of halves. The compiler widens such weights to floats, as processors want them; on a GPU
 * the way to memory is what counts, and a half is widened as it is read. A list of floats is kept as halves
 * where each of them is one, so that no number changes.
 */
#include <string.h>

#include "lower.h"

enum { MANTISSA = 23, DROPPED = 13, BIAS = 15, MIN = -14, MIN_SUBNORMAL = -24 };

/* The half that a float is; false: it lies between two, or beyond them. */
static bool is_half(float value, uint16_t *half)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    const int exponent = (int)(bits >> MANTISSA & 255) - 127;
    const uint32_t mantissa = bits & 0x7fffff;
    *half = sign;
    if ((bits & 0x7fffffff) == 0) {
        return true;
    }
    if (exponent > BIAS || exponent < MIN_SUBNORMAL) {
        return false;
    }
    const uint32_t whole = exponent < MIN ? mantissa | 0x800000 : mantissa;
    const int drop = exponent < MIN ? DROPPED + MIN - exponent : DROPPED;
    const uint32_t scale = exponent < MIN ? 0 : (uint32_t)(exponent + BIAS) << 10;
    *half = (uint16_t)(sign | scale | whole >> drop);
    return (whole & ((UINT32_C(1) << drop) - 1)) == 0;
}

vtac_storage_id vtac_float_constant(vtac_lower *l, const float *data, uint64_t count, vtac_dtype *stored)
{
    *stored = VTAC_F32;
    uint16_t *halves = l->program->halves ? vta_arena_array(&l->program->arena, count, sizeof *halves) : NULL;
    bool all = halves != NULL;
    for (uint64_t i = 0; all && i < count; i++) {
        all = is_half(data[i], &halves[i]);
    }
    if (!all) {
        return vtac_constant(l, data, count * sizeof *data);
    }
    *stored = VTAC_F16;
    return vtac_constant(l, halves, count * sizeof *halves);
}
