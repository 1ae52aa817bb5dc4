/* SPDX-License-Identifier: Apache-2.0
 *
 * Softmax and normalizations of rows in integers, as vtac/quant.h has them.
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "vta/number.h"
#include "vta/rows.h"
#include "vtac/quant.h"

static bool is_scale(float scale)
{
    return scale > 0.0F && isfinite(scale);
}

/* REQUANT with long_result. */
static int32_t long_result(int64_t v, vtac_fixed scale)
{
    return vtac_fixed_apply(v, scale, 0, -VTAC_ROW_LONG, VTAC_ROW_LONG - 1);
}

/* ---- softmax */

/* The shift of a reciprocal: of a sum from 2^16 on, of one from 1 on, of the largest. */
enum { RECIP_MIN = 32, RECIP_MIN_LINEAR = 16, RECIP_MAX = 47 };
enum { EXP2_FRACTION = 12, FACTOR_BITS = 14, MAX_SHIFT = 63 };

bool vtac_softmax_of(const vtac_softmax_want *w, vtac_softmax *out)
{
    static const double log2_e = 1.44269504088896340736;
    if (!is_scale(w->x_scale) || !is_scale(w->y_scale) || w->n < 1 || w->n > VTAC_ROW_LONGEST) {
        return false;
    }
    int exponent;
    const double fraction = frexp(1.0 / (double)w->y_scale, &exponent); /* in [1/2, 1) */
    const double mult = round(ldexp(fraction, FACTOR_BITS + 1));
    const bool carried = mult >= (double)(2 << FACTOR_BITS);
    *out = (vtac_softmax){.n = (int32_t)w->n,
                          .tail = !w->linear && w->n > VTAC_ROW_SHORT,
                          .linear = w->linear,
                          .offset = w->linear ? w->x_zero : 0,
                          .mult = carried ? 1U << FACTOR_BITS : (uint32_t)mult,
                          .shift = FACTOR_BITS + 1 - exponent - carried,
                          .zero = w->y_zero,
                          .low = w->y_low,
                          .high = w->y_high};
    if (w->linear) {
        return out->shift >= -RECIP_MIN_LINEAR && out->shift <= MAX_SHIFT - RECIP_MAX;
    }
    const double power = ldexp((double)w->x_scale * log2_e, EXP2_FRACTION);
    const bool masks = power * -(double)VTAC_ROW_MASKED >= 2.0 * VTAC_ROW_LONG;
    return masks && out->shift >= -RECIP_MIN && out->shift <= MAX_SHIFT - RECIP_MAX &&
           vtac_fixed_of((float)power, &out->power);
}

int32_t vtac_softmax_power(const vtac_softmax *p, int32_t v)
{
    return vta_row_exp2(long_result(v, p->power));
}

int32_t vtac_softmax_tail(const vtac_softmax *p, int32_t v)
{
    return vta_row_exp2(long_result(v, p->power) + (VTAC_ROW_TAIL << EXP2_FRACTION));
}

/* S, of the numbers v - m. */
static int32_t sum_of(const vtac_softmax *p, const int32_t *v)
{
    int32_t sum = 0;
    int32_t tail = 0;
    for (int32_t i = 0; i < p->n; i++) {
        const int32_t e = vtac_softmax_power(p, v[i]);
        sum += !p->tail ? e : e > VTAC_ROW_TAIL_BELOW ? e - VTAC_ROW_TAIL_BELOW : 0;
        tail += p->tail ? vtac_softmax_tail(p, v[i]) : 0;
    }
    return sum + (tail >> VTAC_ROW_TAIL);
}

bool vtac_softmax_has_signs(const vtac_softmax *p)
{
    return p->linear && p->offset > INT8_MIN;
}

/* The factor of each number, of the sum of the row. */
static vtac_fixed share_of(const vtac_softmax *p, int32_t sum)
{
    const vta_reciprocal share = vta_row_recip(sum);
    return (vtac_fixed){share.mult * p->mult, (uint32_t)((int32_t)share.shift + p->shift)};
}

static void divide_row(const vtac_softmax *p, const int32_t *x, int32_t *y)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < p->n; i++) {
        sum += abs(x[i] - p->offset);
    }
    const vtac_fixed scale = share_of(p, sum);
    for (int32_t i = 0; i < p->n; i++) {
        y[i] = vtac_fixed_apply(x[i] - p->offset, scale, p->zero, p->low, p->high);
    }
}

void vtac_row_softmax(const vtac_softmax *p, const int32_t *x, const int32_t *mask, int32_t *y)
{
    if (p->linear) {
        divide_row(p, x, y);
        return;
    }
    int32_t max = INT32_MIN;
    for (int32_t i = 0; i < p->n; i++) {
        y[i] = x[i] + (mask != NULL ? mask[i] : 0);
        max = y[i] > max ? y[i] : max;
    }
    for (int32_t i = 0; i < p->n; i++) {
        y[i] -= max;
    }
    const vtac_fixed scale = share_of(p, sum_of(p, y));
    for (int32_t i = 0; i < p->n; i++) {
        y[i] = vtac_fixed_apply(vtac_softmax_power(p, y[i]), scale, p->zero, p->low, p->high);
    }
}

/* ---- normalizations */

enum {
    MAX_SPREAD = 20,
    MAX_PLACES = 16,
    TIMES_LIMIT = 1 << 15,
    MAX_TIMES = 1023,   /* of finer steps there is nothing to gain */
    MAX_COLUMN_LOG = 8, /* d stays within 31 bits */
    FINE_ENOUGH = 128,  /* units of z to one of y */
    NUMBERS = 256       /* of 8 bits */
};

/* The largest square of x less what is taken off it. */
static double largest_square(const vtac_norm_want *w)
{
    const double far = fmax((double)w->x_zero - INT8_MIN, (double)INT8_MAX - w->x_zero);
    return w->centered ? 128.0 * 129.0 : far * far; /* M may be one off, and half a range is 127.5 */
}

/* V fits 32 bits; false: epsilon alone does not. */
static bool choose_spread(const vtac_norm_want *w, vtac_norm *p)
{
    const double epsilon = w->epsilon / ((double)w->x_scale * (double)w->x_scale);
    const double max = w->n * (largest_square(w) + epsilon) + 1.0;
    if (!(epsilon >= 0.0) || max >= 0x1p31) {
        return false;
    }
    p->spread = 0;
    while (p->spread < MAX_SPREAD && ldexp(max, (int)p->spread + 1) < 0x1p31) {
        p->spread++;
    }
    p->epsilon = (int32_t)rint(ldexp(w->n * epsilon, (int)p->spread));
    return vtac_fixed_of((float)(1.0 / w->n), &p->mean) &&
           vtac_fixed_of((float)(ldexp(1.0, (int)p->spread) / w->n), &p->square);
}

/* The factor of d: z is as fine as 18 bits allow where one number has all of the variance. Returns what z is
 * of a number one standard deviation from the mean. */
static double choose_times(const vtac_norm_want *w, vtac_norm *p)
{
    const double n = w->n;
    /* r is off by less than 2^-14, and by what V is rounded by where it is lowest */
    const double off = 0x1p-12 + (w->centered ? ldexp(0.5, -(int)p->spread) : 0.0);
    const double limit = VTAC_ROW_LONG * (1.0 - off) / sqrt(n);
    const double base = (w->centered ? sqrt(n) : 1.0 / sqrt(n)) / sqrt(ldexp(1.0, (int)p->spread));
    const int32_t factor = w->centered ? w->n : 1;
    double best = 0.0;
    for (int32_t times = 1; times <= MAX_TIMES && times * factor < TIMES_LIMIT; times++) {
        int exponent;
        (void)frexp(limit / (base * times), &exponent);
        const int places = exponent - 1 > MAX_PLACES ? MAX_PLACES : exponent - 1;
        const double unit = ldexp(base * times, places);
        if (places >= 0 && unit > best && unit <= limit) {
            best = unit;
            p->times = times * factor;
            p->sum_times = w->centered ? times : 0;
            p->places = (uint32_t)places;
        }
    }
    return best;
}

/* More places for a large gain: as long as z fits where y is not clamped. `reach`: the largest number of
 * standard deviations that y is not clamped at. */
static int column_places(double unit, double gain, double reach)
{
    int log = 0;
    while (log < MAX_COLUMN_LOG && ldexp(unit, log) < FINE_ENOUGH * gain &&
           ldexp(unit, log + 1) * reach < VTAC_ROW_LONG - 2) {
        log++;
    }
    return log;
}

/* gain and bias: in units of y. */
static bool fill_column(double gain, double bias, double unit, int32_t n, vtac_norm_column *out)
{
    static const double finest = 0x1p-21; /* below it, z counts for a sixteenth of y at the highest */
    const double size = fabs(gain);
    if (!isfinite(gain) || !isfinite(bias)) {
        return false;
    }
    const double clamped = (2.0 * NUMBERS + fabs(bias)) / size;
    const int log = column_places(unit, size, fmin(clamped, sqrt((double)n)));
    const double exact = size / ldexp(unit, log);
    const bool none = exact < finest;
    const float scale = none ? (float)finest : (float)exact;
    out->times = none ? 0 : gain < 0.0 ? -(1 << log) : 1 << log;
    out->bias = (int32_t)rint(fmax(fmin(bias / (double)scale, INT32_MAX), INT32_MIN));
    return vtac_fixed_of(scale, &out->scale);
}

bool vtac_norm_of(const vtac_norm_want *w, vtac_norm_column *columns, vtac_norm *out)
{
    *out = (vtac_norm){.n = w->n,
                       .centered = w->centered,
                       .offset = w->centered ? 0 : -w->x_zero,
                       .columns = columns,
                       .zero = w->y_zero,
                       .low = w->y_low,
                       .high = w->y_high};
    if (w->n < 1 || w->n > VTAC_ROW_LONGEST || !is_scale(w->x_scale) || !is_scale(w->y_scale) ||
        !choose_spread(w, out)) {
        return false;
    }
    const double unit = choose_times(w, out);
    for (int32_t i = 0; i < w->n; i++) {
        const double gain = w->gain == NULL ? 1.0 : (double)w->gain[i];
        const double bias = w->bias == NULL ? 0.0 : (double)w->bias[i];
        if (!fill_column(gain / (double)w->y_scale, bias / (double)w->y_scale, unit, w->n, &columns[i])) {
            return false;
        }
    }
    return unit > 0.0;
}

/* V, and the sum of the numbers. */
static int32_t spread_of(const vtac_norm *p, const int32_t *x, int32_t *sum)
{
    int32_t squares = 0;
    *sum = 0;
    for (int32_t i = 0; p->centered && i < p->n; i++) {
        *sum += x[i];
    }
    const int32_t near = p->centered ? long_result(*sum, p->mean) : -p->offset;
    for (int32_t i = 0; i < p->n; i++) {
        squares += (x[i] - near) * (x[i] - near);
    }
    const int32_t off = p->centered ? *sum - p->n * near : 0;
    return (squares << p->spread) - long_result(off * off, p->square) + p->epsilon;
}

void vtac_row_norm(const vtac_norm *p, const int32_t *x, int32_t *y)
{
    int32_t sum;
    const int32_t spread = spread_of(p, x, &sum);
    const vta_reciprocal r = vta_row_recip_root(vta_row_root(spread));
    const uint32_t shift = r.shift > p->places ? r.shift - p->places : 0;
    for (int32_t i = 0; i < p->n; i++) {
        const vtac_norm_column *column = &p->columns[i];
        const int64_t d = ((int64_t)x[i] + p->offset) * p->times - (int64_t)sum * p->sum_times;
        const int32_t z = long_result(d * column->times, (vtac_fixed){r.mult, shift});
        y[i] = vtac_fixed_apply((int64_t)z + column->bias, column->scale, p->zero, p->low, p->high);
    }
}
