/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalizations of planes in integers, as vtac/quant.h has them.
 */
#include <math.h>
#include <stddef.h>

#include "vta/number.h"
#include "vta/rows.h"
#include "vtac/quant.h"

enum {
    MIN_SPREAD = -8, /* the sums of squares lie in two numbers, the higher one in units of 2^8 */
    MAX_SPREAD = 20,
    MAX_TIMES = 17,
    HALF_BITS = 15,   /* of R, which is squared */
    MULT_BITS = 15,   /* of gain and weight */
    MIN_PLACES = -16, /* the shift of recip_root is 16 ... 31, and both together 0 ... 63 */
    MAX_PLACES = 32
};

/* Above a deviation, and all biases stay below 2^27. */
#define LARGEST_DEVIATION 128.5
#define LARGEST_BIAS      0x1p27

static bool is_scale(float scale)
{
    return scale > 0.0F && isfinite(scale);
}

/* V fits 32 bits; false: epsilon alone does not. */
static bool choose_spread(const vtac_planes_want *w, vtac_planes *p)
{
    const double n = (double)p->n, epsilon = w->epsilon / ((double)w->x_scale * (double)w->x_scale);
    const double max = n * (LARGEST_DEVIATION * LARGEST_DEVIATION + epsilon) + 1.0;
    if (!(epsilon >= 0.0) || ldexp(max, MIN_SPREAD) >= 0x1p31) {
        return false;
    }
    p->spread = MIN_SPREAD;
    while (p->spread < MAX_SPREAD && ldexp(max, p->spread + 1) < 0x1p31) {
        p->spread++;
    }
    p->epsilon = (int32_t)rint(ldexp(n * epsilon, p->spread));
    p->halves = 0;
    while (ldexp(n, -(int)p->halves) > (double)(1 << HALF_BITS)) {
        p->halves++;
    }
    return vtac_fixed_of((float)(1.0 / n), &p->mean) &&
           vtac_fixed_of((float)ldexp(1.0 / n, VTAC_PLANES_PART), &p->part) &&
           vtac_fixed_of((float)ldexp(1.0 / n, 2 * (int)p->halves + p->spread), &p->square);
}

/* A number from 0 on as a whole one of MULT_BITS bits, times 2^-places; fewer bits where `places` would be
 * above `max_places`. */
static int32_t whole_part(double number, int32_t max_places, int32_t *places)
{
    int exponent;
    const double fraction = frexp(number, &exponent); /* in [1/2, 1) */
    int32_t whole = (int32_t)rint(ldexp(fraction, MULT_BITS));
    *places = MULT_BITS - exponent;
    if (whole == 1 << MULT_BITS) {
        whole /= 2;
        *places -= 1;
    }
    if (number == 0.0 || *places > max_places) {
        whole = (int32_t)rint(ldexp(number, max_places));
        *places = max_places;
    }
    return whole;
}

/* gain and bias: in units of y; unit: of a deviation of 1, the root of V. */
static bool fill_channel(double gain, double bias, double unit, vtac_planes_channel *out)
{
    enum { NO_SHIFT = 46 }; /* of a root by it, nothing is left */
    double size = fabs(gain);
    int32_t log = MAX_TIMES;
    if (!isfinite(gain) || !isfinite(bias)) {
        return false;
    }
    while (log >= 0 && ldexp(fabs(bias) * LARGEST_DEVIATION, log) > LARGEST_BIAS * size) {
        log--;
    }
    *out = (vtac_planes_channel){.times = log < 0 ? 0 : gain < 0.0 ? -(1 << log) : 1 << log};
    if (log < 0) { /* the bias is far above all that x could add */
        size = fabs(bias) * LARGEST_DEVIATION / LARGEST_BIAS;
        log = 0;
    }
    const double weight = size > 0.0 ? ldexp(fabs(bias) / size, log) / unit : 0.0;
    const int32_t whole = whole_part(weight, NO_SHIFT, &out->lower);
    out->weight = bias < 0.0 ? -whole : whole;
    out->gain = whole_part(ldexp(size * unit, -log), MAX_PLACES + VTAC_PLANES_GAIN, &out->places);
    out->places -= VTAC_PLANES_GAIN;
    return out->places >= MIN_PLACES;
}

bool vtac_planes_of(const vtac_planes_want *w, vtac_planes_channel *channel, vtac_planes *out)
{
    *out = (vtac_planes){.channels = w->channels,
                         .groups = w->groups,
                         .channel = channel,
                         .zero = w->y_zero,
                         .low = w->y_low,
                         .high = w->y_high};
    if (w->pixels < 1 || w->groups < 1 || w->channels < w->groups || w->channels % w->groups != 0 ||
        w->pixels > VTAC_PLANES_LARGEST || !is_scale(w->x_scale) || !is_scale(w->y_scale)) {
        return false;
    }
    out->n = w->pixels * (w->channels / w->groups);
    if (out->n > VTAC_PLANES_LARGEST || !choose_spread(w, out)) {
        return false;
    }
    const double unit = sqrt(ldexp((double)out->n, out->spread));
    for (int32_t c = 0; c < w->channels; c++) {
        if (!fill_channel((double)w->gain[c] / (double)w->y_scale, (double)w->bias[c] / (double)w->y_scale,
                          unit, &channel[c])) {
            return false;
        }
    }
    return true;
}

/* REQUANT with long_result. */
static int32_t long_result(int64_t v, vtac_fixed scale)
{
    return vtac_fixed_apply(v, scale, 0, -VTAC_ROW_LONG, VTAC_ROW_LONG - 1);
}

/* floor(v * 2^places) */
static int64_t floor_shift(int64_t v, int32_t places)
{
    return places >= 0 ? v * (INT64_C(1) << places) : v >> -places;
}

void vtac_planes_moments_of(const vtac_planes *p, int64_t sum, int64_t squares, vtac_planes_moments *out)
{
    enum { ROOT_BITS = 16, SHIFT_LSB = 24 };
    const int64_t mean = long_result(sum, p->mean), rest = sum - p->n * mean;
    const int64_t spread = squares - p->n * mean * mean - 2 * mean * rest;
    const int64_t half = rest >> p->halves;
    const int64_t v = floor_shift(spread, p->spread) - long_result(half * half, p->square) + p->epsilon;
    const uint32_t root = vta_row_root((int32_t)v);
    const vta_reciprocal r = vta_row_recip_root(root);
    *out = (vtac_planes_moments){.mean = (int32_t)mean,
                                 .part = long_result(rest, p->part),
                                 .root = root & ((1U << ROOT_BITS) - 1),
                                 .root_shift = root >> SHIFT_LSB,
                                 .mult = r.mult,
                                 .mult_shift = r.shift};
}

void vtac_planes_line(const vtac_planes_channel *c, const vtac_planes_moments *m, int32_t *bias,
                      vtac_fixed *scale)
{
    enum { FARTHEST = 31 };
    const int32_t down = (int32_t)vta_clamp((int64_t)m->root_shift + c->lower, -FARTHEST, FARTHEST);
    const int64_t far = floor_shift((int64_t)m->root * c->weight, -down);
    const int64_t part = floor_shift((int64_t)m->part * c->times, -VTAC_PLANES_PART);
    *bias = (int32_t)(far - m->mean * (int64_t)c->times - part);
    *scale = (vtac_fixed){m->mult * (uint32_t)c->gain >> VTAC_PLANES_GAIN,
                          (uint32_t)((int32_t)m->mult_shift + c->places)};
}

void vtac_planes_norm(const vtac_planes *p, const int32_t *x, int32_t *y)
{
    const int64_t each = p->channels / p->groups, pixels = p->n / each;
    for (int64_t g = 0; g < p->groups; g++) {
        int64_t sum = 0;
        int64_t squares = 0;
        for (int64_t i = g * p->n; i < (g + 1) * p->n; i++) {
            sum += x[i];
            squares += x[i] * x[i];
        }
        vtac_planes_moments moments;
        vtac_planes_moments_of(p, sum, squares, &moments);
        for (int64_t i = g * p->n; i < (g + 1) * p->n; i++) {
            const vtac_planes_channel *channel = &p->channel[i / pixels];
            int32_t bias;
            vtac_fixed scale;
            vtac_planes_line(channel, &moments, &bias, &scale);
            y[i] = vtac_fixed_apply((int64_t)x[i] * channel->times + bias, scale, p->zero, p->low, p->high);
        }
    }
}
