/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as a file stores them, to floats: integers and floats of up to 8 bytes, whatever bits they use.
 */
#include <math.h>
#include <string.h>

#include "reader.h"

bool vtac_h5_number_of(vtac_h5_piece body, vtac_h5_number *out)
{
    enum { INTEGER = 0, FLOAT = 1, LEADING_ONE = 2 };
    const uint64_t kind = vtac_h5_get(&body, 1) & 15;
    const uint64_t low = vtac_h5_get(&body, 1);
    const uint64_t sign = vtac_h5_get(&body, 1);
    vtac_h5_skip(&body, 1);
    *out = (vtac_h5_number){.bytes = (uint32_t)vtac_h5_get(&body, 4)};
    out->is_float = kind == FLOAT;
    out->is_big = (low & 1) != 0;
    out->is_signed = (low & 8) != 0;
    out->first_bit = (uint32_t)vtac_h5_get(&body, 2);
    out->bits = (uint32_t)vtac_h5_get(&body, 2);
    const uint32_t whole = 8 * (out->bytes <= 8 ? out->bytes : 0);
    bool good = whole > 0 && out->bits > 0 && out->first_bit + out->bits <= whole;
    if (kind == FLOAT) {
        out->sign = (uint32_t)sign;
        out->exponent = (uint32_t)vtac_h5_get(&body, 1);
        out->exponents = (uint32_t)vtac_h5_get(&body, 1);
        out->fraction = (uint32_t)vtac_h5_get(&body, 1);
        out->fractions = (uint32_t)vtac_h5_get(&body, 1);
        out->bias = (int64_t)vtac_h5_get(&body, 4);
        good = good && (low >> 4 & 3) == LEADING_ONE && (low & 0x40) == 0 && out->sign < whole &&
               out->exponents > 0 && out->exponents <= 15 && out->exponent + out->exponents <= whole &&
               out->fractions > 0 && out->fractions <= 52 && out->fraction + out->fractions <= whole;
    }
    return good && !body.bad && (kind == INTEGER || kind == FLOAT);
}

static uint64_t raw_of(const vtac_h5_number *type, const uint8_t *from)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < type->bytes; i++) {
        value = value << 8 | from[type->is_big ? i : type->bytes - 1 - i];
    }
    return value;
}

static uint64_t bits_of(uint64_t raw, uint32_t first, uint32_t count)
{
    return raw >> first & UINT64_MAX >> (64 - count);
}

static double float_of(const vtac_h5_number *type, uint64_t raw)
{
    const uint64_t exponent = bits_of(raw, type->exponent, type->exponents);
    const uint64_t fraction = bits_of(raw, type->fraction, type->fractions);
    const double part = ldexp((double)fraction, -(int)type->fractions);
    double value;
    if (exponent == (UINT64_C(1) << type->exponents) - 1) {
        value = fraction == 0 ? (double)INFINITY : (double)NAN;
    } else if (exponent == 0) {
        value = ldexp(part, (int)(1 - type->bias));
    } else {
        value = ldexp(1 + part, (int)((int64_t)exponent - type->bias));
    }
    return bits_of(raw, type->sign, 1) != 0 ? -value : value;
}

static double integer_of(const vtac_h5_number *type, uint64_t raw)
{
    const uint64_t value = bits_of(raw, type->first_bit, type->bits);
    if (type->is_signed && value >> (type->bits - 1) != 0) {
        return -(double)((UINT64_MAX >> (64 - type->bits)) - value + 1);
    }
    return (double)value;
}

/* True for the float of this machine. */
static bool is_plain(const vtac_h5_number *type)
{
    return type->is_float && !type->is_big && type->bytes == sizeof(float) && type->sign == 31 &&
           type->exponent == 23 && type->exponents == 8 && type->fraction == 0 && type->fractions == 23 &&
           type->bias == 127;
}

void vtac_h5_to_floats(const vtac_h5_number *type, const uint8_t *from, float *to, size_t count)
{
    if (is_plain(type)) {
        memcpy(to, from, count * sizeof *to);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const uint64_t raw = raw_of(type, from + i * type->bytes);
        to[i] = (float)(type->is_float ? float_of(type, raw) : integer_of(type, raw));
    }
}
