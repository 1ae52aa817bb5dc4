/* SPDX-License-Identifier: Apache-2.0
 *
 * Division of bytes: a table of all pairs, made with the 32-bit steps of gemmlowp that TensorFlow Lite takes.
 */
#include "operators.h"

enum { NUMBERS = 256 };

static int32_t wrap_32(int64_t v)
{
    return (int32_t)(uint32_t)(uint64_t)v;
}

/* a * b as fractions of 2^31, rounded. */
static int32_t multiply_32(int32_t a, int32_t b)
{
    if (a == INT32_MIN && b == INT32_MIN) {
        return INT32_MAX;
    }
    const int64_t both = (int64_t)a * b;
    return (int32_t)((both + (both >= 0 ? 1 << 30 : 1 - (1 << 30))) / (INT64_C(1) << 31));
}

static int32_t saturate_32(int64_t v)
{
    return (int32_t)(v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : v);
}

/* v / 2^by, halves away from zero; by is 0 to 62. */
static int64_t divide_by_power(int64_t v, int by)
{
    const int64_t half = by > 0 ? INT64_C(1) << (by - 1) : 0;
    return v >= 0 ? (v + half) >> by : -((-v + half) >> by);
}

/* 2^31 / (1 + a / 2^31), 0 <= a, by three of Newton's steps on numbers with two bits before the point. */
static int32_t inverse_32(int32_t a)
{
    const int32_t half = (int32_t)(((int64_t)a + INT32_MAX + 1) / 2);
    int32_t x = wrap_32(INT64_C(1515870810) + multiply_32(half, -1010580540));
    for (int i = 0; i < 3; i++) {
        const int32_t rest = wrap_32((INT64_C(1) << 29) - multiply_32(half, x));
        x = wrap_32((int64_t)x + saturate_32((int64_t)multiply_32(x, rest) * 4));
    }
    return saturate_32((int64_t)x * 2);
}

/* Number of bits of |v|; v is not 0. */
static int bits_of(int32_t v)
{
    int bits = 0;
    for (int32_t left = v < 0 ? -v : v; left != 0; left /= 2) {
        bits++;
    }
    return bits;
}

/* a / b scaled, b is not 0. TensorFlow Lite's last shift is by more than an int32 has bits where a quotient
 * is far below half a unit, and gives anything then; here it gives 0. */
static int64_t divide_scaled(int32_t a, int32_t b, vtac_tfl_scale scale)
{
    const int32_t dividend = b < 0 ? -a : a;
    const int32_t divisor = b < 0 ? -b : b;
    const int wide = bits_of(divisor);
    /* the divisor as 1 + x, times a power of two */
    const int32_t unit = inverse_32((int32_t)(((int64_t)divisor << (32 - wide)) - (INT64_C(1) << 31)));
    /* bits that the dividend can be moved by */
    const int headroom = dividend == 0  ? 31
                         : dividend > 0 ? 31 - bits_of(dividend)
                                        : 32 - bits_of(-dividend * 2 - 1);
    const int32_t lifted = multiply_32((int32_t)((int64_t)dividend * (INT64_C(1) << headroom)), unit);
    const int shift = scale.shift - (wide - 1) - headroom;
    const int32_t y = multiply_32(lifted, scale.mult);
    return shift > 0 ? (int64_t)y * (INT64_C(1) << (shift > 30 ? 30 : shift))
                     : divide_by_power(y, shift < -62 ? 62 : -shift);
}

/* Divides bytes. A division by zero gives an end of the range, by the dividend's sign. */
vtac_id vtac_tflite_divide_bytes(vtac_tflite *im, vtac_id a, vtac_id b, int activation)
{
    vtac_import_builder *m = &im->maker;
    const vtac_tflite_tensor *in[] = {vtac_tflite_in(im, 0), vtac_tflite_in(im, 1)};
    const vtac_tflite_tensor *out = vtac_tflite_out(im, 0);
    int64_t low;
    int64_t high;
    vtac_tflite_activation_range(im, out, activation, &low, &high);
    uint8_t *table = vtac_make_room(m, (int64_t)NUMBERS * NUMBERS, 1);
    if (table == NULL || m->status != VTA_OK) {
        return 0;
    }
    const vtac_tfl_scale scale =
        vtac_tfl_scale_of((double)(in[0]->scale[0] / (in[1]->scale[0] * out->scale[0])));
    for (int32_t i = 0; i < NUMBERS * NUMBERS; i++) {
        const int32_t dividend = (int32_t)(i / NUMBERS - in[0]->zero[0]);
        const int32_t divisor = (int32_t)(i % NUMBERS - in[1]->zero[0]);
        const int64_t y = divisor != 0   ? divide_scaled(dividend, divisor, scale) + out->zero[0]
                          : dividend > 0 ? high
                          : dividend < 0 ? low
                                         : out->zero[0];
        table[i] = (uint8_t)(y < low ? low : y > high ? high : y);
    }
    const vtac_id rows =
        vtac_make2(m, VTAC_OP_MUL, vtac_make_cast(m, a, VTAC_I32), vtac_make_number(m, VTAC_I32, NUMBERS));
    const vtac_id pair = vtac_make2(m, VTAC_OP_ADD, rows, vtac_make_cast(m, b, VTAC_I32));
    return vtac_tflite_look_up(im, pair, VTAC_U8, table, (int64_t)NUMBERS * NUMBERS, 0);
}
