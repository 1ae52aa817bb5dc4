/* SPDX-License-Identifier: Apache-2.0 */
#include "adam.h"

#include <math.h>
#include <string.h>

#include "vta/hash.h"

void demo_adam_adjust(adam *a, float *parameters, const float *slopes, size_t count, float rate)
{
    static const float keep[] = {0.9F, 0.99F};
    static const float decay = 1e-3F;
    float *const mean = a->moments[0];
    float *const square = a->moments[1];
    a->steps++;
    for (int i = 0; i < 2; i++) {
        a->begin[i] = a->steps == 1 ? keep[i] : a->begin[i] * keep[i];
    }
    const float scale = sqrtf(1.0F - a->begin[1]) / (1.0F - a->begin[0]);
    for (size_t i = 0; i < count; i++) {
        const float slope = slopes[i];
        mean[i] = keep[0] * mean[i] + (1.0F - keep[0]) * slope;
        square[i] = keep[1] * square[i] + (1.0F - keep[1]) * slope * slope;
        parameters[i] -= rate * (scale * mean[i] / (sqrtf(square[i]) + 1e-8F) + decay * parameters[i]);
    }
}

uint64_t demo_hash_floats(uint64_t hash, const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        hash = vta_hash_u32(hash, bits);
    }
    return hash;
}
