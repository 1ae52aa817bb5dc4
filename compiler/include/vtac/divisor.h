/* SPDX-License-Identifier: Apache-2.0
 *
 * The largest whole number that divides two others; that of 0 and a number is the number.
 */
#ifndef VTAC_DIVISOR_H
#define VTAC_DIVISOR_H

#include <stdint.h>

static inline uint64_t vtac_common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

#endif
