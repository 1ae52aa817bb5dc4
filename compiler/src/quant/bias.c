/* SPDX-License-Identifier: Apache-2.0
 *
 * Biases beside sums in 32 bits.
 */
#include "vtac/quant.h"

enum { MAX_BITS = 38 }; /* of what vtac_fixed_apply takes */

bool vtac_bias_fit(int64_t bias, const vtac_bias_room *room, vtac_fixed scale, int32_t zero, int32_t low,
                   int32_t high, int32_t *out)
{
    const int64_t max = INT64_C(1) << MAX_BITS;
    const int64_t held = bias < -max ? -max : bias > max ? max : bias;
    const int64_t first = room->low - room->min, last = room->high - room->max;
    if (first > last || (held != bias && scale.shift >= MAX_BITS)) {
        return false;
    }
    const int64_t moved = held < first ? first : held > last ? last : held;
    const int64_t ends[] = {held + room->min, held + room->max, moved + room->min, moved + room->max};
    const int32_t result = vtac_fixed_apply(ends[0], scale, zero, low, high);
    bool same = true;
    for (int i = 1; i < 4; i++) {
        same = same && vtac_fixed_apply(ends[i], scale, zero, low, high) == result;
    }
    *out = (int32_t)moved;
    return moved == bias || same;
}
