/* SPDX-License-Identifier: Apache-2.0
 *
 * Scales of weights of 4 bits. One scale for a channel is that with the least squared error of rounding and
 * cutting: with 16 numbers, cutting a few large weights costs less than coarse steps for all.
 *
 * A block's scale is its channel's times a factor of 1 to 16. A weight is then a number of 4 bits times a
 * factor, which 8 bits hold: a dense layer computes with integers of 8 bits and one scale for each channel,
 * and its results are those of sums of blocks that are multiplied by their factors. The channel's scale has
 * four bits less than a float, so that its products with factors are exact.
 */
#include <math.h>
#include <string.h>

#include "weights.h"

enum { NARROW_LOW = -8, NARROW_HIGH = 7, CUTS = 20, HALF = 40 };

/* Squared error of the weights `from` … `to` of a channel on a grid of multiples of `scale`. */
static double error_of(const vtac_quant_product *p, const float *w, int64_t c, int64_t from, int64_t to,
                       double scale)
{
    static const vtac_quant_grid grid = {NARROW_LOW, NARROW_HIGH, 1};
    double sum = 0.0;
    for (int64_t k = from; k < to; k++) {
        const double exact = (double)w[vtac_quant_weight_place(p, c, k)] / scale;
        const double off = exact - vtac_quant_nearest(&grid, exact);
        sum += off * off;
    }
    return sum * scale * scale;
}

/* The best of the scale and smaller ones, down to half of it. */
static float best_scale(const vtac_quant_product *p, const float *w, int64_t c, double lower)
{
    const float whole = p->scales[c];
    float best = whole;
    double min_error = (double)INFINITY;
    for (int i = 0; i <= CUTS; i++) {
        const float scale = whole * (1.0F - (float)i / HALF);
        const double error = error_of(p, w, c, 0, vtac_quant_terms(p), (double)scale);
        if (error < min_error && (i == 0 || (double)scale >= lower)) {
            best = scale;
            min_error = error;
        }
    }
    return best;
}

static uint8_t best_factor(const vtac_quant_product *p, const float *w, int64_t c, int64_t from, int64_t to)
{
    double min_error = (double)INFINITY;
    int best = 1;
    for (int factor = 1; factor <= QUANT_MAX_FACTOR; factor++) {
        const double error = error_of(p, w, c, from, to, (double)p->scales[c] * factor);
        best = error < min_error ? factor : best;
        min_error = error < min_error ? error : min_error;
    }
    return (uint8_t)best;
}

/* The next float that leaves room for a product with a factor. */
static float without_low_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + QUANT_MAX_FACTOR - 1) / QUANT_MAX_FACTOR * QUANT_MAX_FACTOR;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint8_t common_divisor(uint8_t a, uint8_t b)
{
    while (b != 0) {
        const uint8_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The scale becomes the largest of which all scales of blocks are multiples, so that they tell it. */
static void divide_factors(vtac_quant_product *p, int64_t c, int64_t blocks)
{
    uint8_t *factors = &p->factors[c * blocks];
    uint8_t divisor = factors[0];
    for (int64_t b = 1; b < blocks; b++) {
        divisor = common_divisor(divisor, factors[b]);
    }
    for (int64_t b = 0; b < blocks; b++) {
        factors[b] /= divisor;
    }
    p->scales[c] *= (float)divisor;
}

static void choose_factors(vtac_quant_product *p, const float *w, int64_t c, double lower)
{
    const int64_t terms = vtac_quant_terms(p);
    const int64_t blocks = vtac_quant_blocks(p);
    const double unit = (double)p->scales[c] / QUANT_MAX_FACTOR;
    p->scales[c] = without_low_bits((float)(unit > lower ? unit : lower));
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t end = (b + 1) * p->block;
        p->factors[c * blocks + b] = best_factor(p, w, c, b * p->block, end < terms ? end : terms);
    }
    divide_factors(p, c, blocks);
}

void vtac_quant_narrow_scales(vtac_quant_product *p, const float *w, const double *lower)
{
    for (int64_t c = 0; c < p->channels; c++) {
        if (p->block > 0) {
            choose_factors(p, w, c, lower[c]);
        } else {
            p->scales[c] = best_scale(p, w, c, lower[c]);
        }
    }
}
