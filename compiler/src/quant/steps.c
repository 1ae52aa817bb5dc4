/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic of TensorFlow Lite's that is more than one product and one rounding, in what one requantization
 * can do. A result of few bits is a staircase: what counts is where its steps are, and a multiplier of 31
 * bits with a bias of whole numbers leaves room to put them there. Nothing is approximate: a fit is compared
 * with the function at every step, a sum at every pair of numbers, and one that differs is no fit.
 */
#include <math.h>
#include <stdlib.h>

#include "vtac/quant.h"

enum { MULT_BITS = 31, MAX_SHIFT = 54, NUMBERS = 256, MAX_STEPS = 255 };

static int64_t round_once(int64_t p, uint32_t shift, vta_rounding rounding)
{
    const int64_t half = shift == 0 ? 0 : INT64_C(1) << (shift - 1);
    const int64_t floor = p >> shift;
    const int64_t rest = p - floor * (INT64_C(1) << shift);
    bool up = shift > 0 && rest >= half;
    if (shift > 0 && rest == half && rounding == VTA_ROUND_TWICE_OUT) {
        up = p >= 0;
    } else if (shift > 0 && rest == half && rounding == VTA_ROUND_EVEN) {
        up = (floor & 1) != 0;
    }
    return floor + up;
}

int64_t vtac_requant_round(int64_t v, vtac_fixed scale, vta_rounding rounding)
{
    const int64_t p = v * (int64_t)scale.mult;
    if (rounding == VTA_ROUND_EVEN || rounding == VTA_ROUND_UP) {
        return round_once(p, scale.shift, rounding);
    }
    const uint32_t first = scale.shift < MULT_BITS ? scale.shift : MULT_BITS;
    return round_once(round_once(p, first, VTA_ROUND_UP), scale.shift - first, rounding);
}

/* slope = mult * 2^-shift, with a multiplier of `bits` bits. */
static bool scale_of(double slope, int bits, vtac_fixed *out)
{
    int exponent;
    if (!(slope > 0.0) || isinf(slope)) {
        return false;
    }
    const double fraction = frexp(slope, &exponent); /* in [1/2, 1) */
    const int shift = bits - exponent;
    const int64_t mult = (int64_t)round(ldexp(fraction, bits));
    if (shift < 1 || shift > MAX_SHIFT || mult < 1 || mult >= INT64_C(1) << MULT_BITS) {
        return false;
    }
    *out = (vtac_fixed){(uint32_t)mult, (uint32_t)shift};
    return true;
}

/* Biases with which a step is where it belongs: its first number is `up`, the last one below it `down`. */
typedef struct biases {
    int64_t low, high;
} biases;

static int64_t ceil_of(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

static void narrow_biases(biases *of, int64_t result, int64_t down, int64_t up, vtac_fixed scale)
{
    const int64_t min = ceil_of((2 * result - 1) * (INT64_C(1) << (scale.shift - 1)), (int64_t)scale.mult);
    of->low = of->low > min - up ? of->low : min - up;
    of->high = of->high < min - down - 1 ? of->high : min - down - 1;
}

static bool is_bias(int64_t value)
{
    return value >= INT32_MIN / 2 && value <= INT32_MAX / 2;
}

/* ---- staircases */

typedef struct staircase {
    const vtac_steps *f;
    int64_t times;
    int32_t bottom, count;
    int64_t at[MAX_STEPS]; /* step i: the first number whose result is bottom + 1 + i or more */
} staircase;

static bool find_steps(const vtac_steps *f, staircase *out)
{
    const int32_t top = f->fn(f->context, f->last);
    out->f = f;
    out->bottom = f->fn(f->context, f->first);
    out->count = top - out->bottom;
    if (out->count < 0 || out->count > MAX_STEPS) {
        return false;
    }
    int64_t from = f->first;
    for (int32_t i = 0; i < out->count; i++) {
        int64_t below = from;
        int64_t above = f->last;
        while (below < above) {
            const int64_t middle = below + (above - below) / 2;
            if (f->fn(f->context, middle) > out->bottom + i) {
                above = middle;
            } else {
                below = middle + 1;
            }
        }
        out->at[i] = from = above;
    }
    return true;
}

/* True if a product has the same steps, and the same results at both ends. */
static bool climbs_alike(const staircase *s, const vtac_steps_fit *fit)
{
    const int64_t ends[2] = {s->f->first, s->f->last};
    const int64_t results[2] = {s->bottom, s->bottom + s->count};
    for (int e = 0; e < 2; e++) {
        const int64_t q = vtac_requant_round(ends[e] * fit->times + fit->bias, fit->scale, fit->rounding);
        if ((q < s->f->low ? s->f->low : q > s->f->high ? s->f->high : q) != results[e]) {
            return false;
        }
    }
    for (int32_t i = 0; i < s->count; i++) {
        const int64_t v = s->at[i] * fit->times + fit->bias;
        if (vtac_requant_round(v, fit->scale, fit->rounding) < s->bottom + 1 + i ||
            (s->at[i] > s->f->first &&
             vtac_requant_round(v - fit->times, fit->scale, fit->rounding) > s->bottom + i)) {
            return false;
        }
    }
    return true;
}

/* Rounded once, halves up: the biases that every step allows. */
static bool fit_up(const staircase *s, vtac_fixed scale, vtac_steps_fit *out)
{
    biases room = {INT32_MIN / 2, INT32_MAX / 2};
    for (int32_t i = 0; i < s->count && room.low <= room.high; i++) {
        narrow_biases(&room, s->bottom + 1 + i, (s->at[i] - 1) * s->times, s->at[i] * s->times, scale);
    }
    *out = (vtac_steps_fit){(int32_t)s->times, (int32_t)(room.low + (room.high - room.low) / 2), scale,
                            VTA_ROUND_UP};
    return room.low <= room.high && climbs_alike(s, out);
}

/* The middle of step i of a product without a bias tells about which one it needs. */
static bool fit_out(const staircase *s, vtac_fixed scale, vtac_steps_fit *out)
{
    enum { REACH = 3 };
    const int32_t i = s->count / 2;
    const double wanted = ((double)(s->bottom + i) + 0.5) * ldexp(1.0, (int)scale.shift) / scale.mult;
    const int64_t about = (int64_t)floor(wanted) - s->at[i] * s->times;
    for (int64_t bias = about - REACH; bias <= about + REACH && is_bias(bias); bias++) {
        *out = (vtac_steps_fit){(int32_t)s->times, (int32_t)bias, scale, VTA_ROUND_TWICE_OUT};
        if (climbs_alike(s, out)) {
            return true;
        }
    }
    return false;
}

typedef bool fit_with(const staircase *s, vtac_fixed scale, vtac_steps_fit *out);

/* Multipliers about the slope, of so many bits. */
static bool fit_bits(const staircase *s, int bits, fit_with *fit, vtac_steps_fit *out)
{
    enum { DOUBLINGS = 16 };
    vtac_fixed middle;
    if (!scale_of(s->f->slope / (double)s->times, bits, &middle)) {
        return false;
    }
    for (int d = 0; d <= 2 * DOUBLINGS; d++) {
        const int64_t off = d == 0 ? 0 : (INT64_C(1) << ((d - 1) / 2)) * (d % 2 != 0 ? 1 : -1);
        const int64_t mult = (int64_t)middle.mult + off;
        if (mult >= 1 && mult < INT64_C(1) << MULT_BITS &&
            fit(s, (vtac_fixed){(uint32_t)mult, middle.shift}, out)) {
            return true;
        }
    }
    return false;
}

/* Fits one rounding: layers of several divisors need one formula for all of them. */
static bool fit_times(const staircase *s, vtac_steps_fit *out)
{
    enum { FEWER_BITS = 10 };
    bool found = fit_bits(s, MULT_BITS, fit_up, out);
    for (int bits = MULT_BITS; !found && bits > MULT_BITS - FEWER_BITS; bits--) {
        found = fit_bits(s, bits, fit_out, out);
    }
    return found;
}

bool vtac_steps_fit_of(const vtac_steps *steps, vtac_steps_fit *out)
{
    static const int64_t times[] = {1, 64, 101, 113, 127}; /* what int8 holds */
    staircase *s = malloc(sizeof *s);
    bool found = false;
    *out = (vtac_steps_fit){.times = 1, .scale = {0, 1}, .rounding = VTA_ROUND_UP};
    if (s != NULL && find_steps(steps, s)) {
        s->times = 1;
        /* one result, and a product that is 0: the others are clamped away */
        found = s->count == 0 && climbs_alike(s, out);
        for (size_t i = 0; s->count > 0 && !found && i < sizeof times / sizeof times[0]; i++) {
            s->times = times[i];
            found = fit_times(s, out);
        }
    }
    free(s);
    return found;
}

/* ---- sums */

enum { LEFT = 20 };

typedef struct sum {
    int32_t zero[3];
    int64_t term[2][NUMBERS]; /* what each operand adds, in TensorFlow Lite's units */
    vtac_tfl_scale y;
    int8_t (*wanted)[NUMBERS];
} sum;

static int32_t clamp_to_byte(int64_t q)
{
    return q < INT8_MIN ? INT8_MIN : q > INT8_MAX ? INT8_MAX : (int32_t)q;
}

static bool sum_init(sum *s, const float scale[3], const int32_t zero[3])
{
    const vtac_tfl_sum f = vtac_tfl_sum_of(scale[0], scale[1], scale[2], LEFT);
    s->y = f.y;
    s->wanted = malloc(sizeof *s->wanted * NUMBERS);
    for (int k = 0; k < 3; k++) {
        s->zero[k] = zero[k];
    }
    for (int i = 0; i < NUMBERS; i++) {
        for (int k = 0; k < 2; k++) {
            const int64_t lifted = (int64_t)(i - 128 - zero[k]) * (1 << LEFT);
            s->term[k][i] = vtac_tfl_rescale(lifted, k == 0 ? f.a : f.b, VTAC_ROUND_AWAY);
        }
    }
    for (int i = 0; s->wanted != NULL && i < NUMBERS * NUMBERS; i++) {
        const int64_t both = s->term[0][i / NUMBERS] + s->term[1][i % NUMBERS];
        s->wanted[i / NUMBERS][i % NUMBERS] =
            (int8_t)clamp_to_byte((int64_t)vtac_tfl_rescale(both, s->y, VTAC_ROUND_AWAY) + zero[2]);
    }
    return s->wanted != NULL;
}

static int64_t product_of(const sum *s, const vtac_tfl_sum_fit *fit, int a, int b)
{
    return (int64_t)(a - 128 - s->zero[0]) * fit->a + (int64_t)(b - 128 - s->zero[1]) * fit->b + fit->bias +
           (fit->corrected < 0 ? 0 : fit->table[fit->corrected == 0 ? a : b]);
}

static bool sums_alike(const sum *s, const vtac_tfl_sum_fit *fit)
{
    for (int i = 0; i < NUMBERS * NUMBERS; i++) {
        const int64_t v = product_of(s, fit, i / NUMBERS, i % NUMBERS);
        const int32_t q = clamp_to_byte(vtac_requant_round(v, fit->scale, fit->rounding) + s->zero[2]);
        if (q != s->wanted[i / NUMBERS][i % NUMBERS]) {
            return false;
        }
    }
    return true;
}

/* Contribution of one unit of operand k to the nearest whole number, read off the number farthest from zero.
 */
static int32_t unit_of(const sum *s, int k)
{
    const int far = s->zero[k] < 0 ? NUMBERS - 1 : 0;
    return (int32_t)lround((double)s->term[k][far] / (double)(far - 128 - s->zero[k]));
}

/* Both factors in TensorFlow Lite's own units. */
static bool fit_directly(const sum *s, vtac_tfl_sum_fit *fit)
{
    const int shift = MULT_BITS - s->y.shift;
    fit->a = unit_of(s, 0);
    fit->b = unit_of(s, 1);
    fit->scale = (vtac_fixed){(uint32_t)s->y.mult, (uint32_t)shift};
    fit->rounding = VTA_ROUND_TWICE_OUT;
    return shift > 0 && shift < 64 && s->y.mult > 0 && sums_alike(s, fit);
}

/* Fits an operand whose unit is no whole number: a table holds the remainders that the factors leave. */
static bool fit_corrected(const sum *s, const float scale[3], vtac_tfl_sum_fit *fit)
{
    const int k = scale[0] < scale[1] ? 0 : 1;
    int64_t rest[NUMBERS];
    int64_t low = INT64_MAX;
    int64_t high = INT64_MIN;
    for (int i = 0; i < NUMBERS; i++) {
        rest[i] = s->term[k][i] - (int64_t)(i - 128 - s->zero[k]) * (k == 0 ? fit->a : fit->b);
        low = low < rest[i] ? low : rest[i];
        high = high > rest[i] ? high : rest[i];
    }
    const int64_t middle = low + 128;
    if (high - low > UINT8_MAX || !is_bias(middle)) {
        return false;
    }
    for (int i = 0; i < NUMBERS; i++) {
        fit->table[i] = (int8_t)(rest[i] - middle);
    }
    fit->bias = (int32_t)middle;
    fit->corrected = k;
    return sums_alike(s, fit);
}

/* The largest whole numbers whose quotient is nearest to small / large, by its continued fraction. */
static void quotient_of(double small, double large, int64_t *p, int64_t *q)
{
    enum { MAX = 1 << 22 };
    int64_t before[2] = {0, 1};
    int64_t now[2] = {1, 0};
    double x = small / large;
    *p = 0;
    *q = 1;
    for (int i = 0; i < 40; i++) {
        const double whole = floor(x);
        const double next[2] = {whole * (double)now[0] + (double)before[0],
                                whole * (double)now[1] + (double)before[1]};
        if (next[0] > MAX || next[1] > MAX) {
            break;
        }
        for (int k = 0; k < 2; k++) {
            before[k] = now[k];
            now[k] = (int64_t)next[k];
        }
        *p = now[0];
        *q = now[1];
        if (x - whole < 1e-12) {
            break;
        }
        x = 1.0 / (x - whole);
    }
    const int64_t times = MAX / *q;
    *p *= times;
    *q *= times;
}

/* Factors whose quotient is that of the scales, and a bias that brings all results to their places. */
static bool fit_by_quotient(const sum *s, const float scale[3], vtac_tfl_sum_fit *fit)
{
    const bool swap = scale[0] < scale[1];
    int64_t small;
    int64_t large;
    int64_t max[NUMBERS]; /* of the sums whose result is q; the least of those with q */
    int64_t min[NUMBERS];
    quotient_of((double)scale[swap ? 0 : 1], (double)scale[swap ? 1 : 0], &small, &large);
    fit->a = (int32_t)(swap ? small : large);
    fit->b = (int32_t)(swap ? large : small);
    fit->rounding = VTA_ROUND_UP;
    if (!scale_of((double)scale[swap ? 1 : 0] / (double)scale[2] / (double)large, MULT_BITS, &fit->scale)) {
        return false;
    }
    for (int q = 0; q < NUMBERS; q++) {
        max[q] = INT64_MIN;
        min[q] = INT64_MAX;
    }
    for (int i = 0; i < NUMBERS * NUMBERS; i++) {
        const int q = s->wanted[i / NUMBERS][i % NUMBERS] + 128;
        const int64_t v = product_of(s, fit, i / NUMBERS, i % NUMBERS);
        max[q] = max[q] > v ? max[q] : v;
        min[q] = min[q] < v ? min[q] : v;
    }
    biases room = {INT32_MIN / 2, INT32_MAX / 2};
    int64_t below = INT64_MIN; /* the most that has a result under q */
    for (int q = 0; q < NUMBERS; q++) {
        if (below > INT64_MIN && min[q] < INT64_MAX) {
            narrow_biases(&room, q - 128 - s->zero[2], below, min[q], fit->scale);
        }
        below = below > max[q] ? below : max[q];
    }
    fit->bias = (int32_t)(room.low + (room.high - room.low) / 2);
    return room.low <= room.high && sums_alike(s, fit);
}

bool vtac_tfl_sum_fit_of(const float scale[3], const int32_t zero[3], vtac_tfl_sum_fit *out)
{
    sum *s = malloc(sizeof *s);
    *out = (vtac_tfl_sum_fit){.corrected = -1};
    bool good = s != NULL && sum_init(s, scale, zero);
    vtac_tfl_sum_fit direct = *out;
    if (good && !fit_directly(s, &direct)) {
        good = fit_by_quotient(s, scale, out);
        if (!good) {
            *out = direct;
            good = direct.scale.mult > 0 && fit_corrected(s, scale, out);
        }
    } else {
        *out = direct;
    }
    if (s != NULL) {
        free(s->wanted);
    }
    free(s);
    return good;
}
