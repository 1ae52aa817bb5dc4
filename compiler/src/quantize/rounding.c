/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounding each weight to the nearest leaves errors that add up wherever inputs move together, as those of
 * neighbouring pixels do. Rounding some of them the other way lets the errors cancel (Nagel et al., 2020,
 * "Up or down?"). For each output channel, with x the columns of inputs and d what rounding adds to the
 * weights, the sum over the columns of (d' x)^2 is made small: weight after weight is turned round if that
 * makes it smaller, until none does.
 *
 * With fewer columns than weights the sum could be 0 on these columns and large on all others. So each weight
 * pays for its own d^2 as well, as if the inputs did not move together: little with many columns, much with
 * few. A turn that is worth that lessens the sum itself, too, as nearest rounding has the least d^2.
 *
 * Every sum is made in one order, so that the result is the same on all machines.
 */
#include "rounding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"

enum { SWEEPS = 6, MAX_WEIGHT = 127 };

/* A turn must be worth this part of what it moves: sums of floats are not more exact. */
#define MIN_GAIN 1e-5

/* One output channel. */
typedef struct rounded_channel {
    const float *x; /* [terms][room] */
    uint32_t room;
    int64_t terms;
    const double *power; /* of each term: the sum of its squares over the columns */
    double toll;         /* what d^2 times the power costs */
    double *exact;       /* weights in units of the scale */
    int8_t *chosen;
    float *off; /* [room]: the error of the output in each column, in units of the scale */
} rounded_channel;

static double dot_product(const float *a, const float *b, uint32_t count)
{
    float sums[QUANT_LANES] = {0};
    double sum = 0.0;
    for (uint32_t i = 0; i < count; i += QUANT_LANES) {
        for (uint32_t k = 0; k < QUANT_LANES; k++) {
            sums[k] += a[i + k] * b[i + k];
        }
    }
    for (uint32_t k = 0; k < QUANT_LANES; k++) {
        sum += (double)sums[k];
    }
    return sum;
}

static void add_scaled(float *to, const float *x, float factor, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        to[i] += factor * x[i];
    }
}

/* The errors of the outputs, anew; their squares, summed. */
static double error_of(const rounded_channel *c)
{
    memset(c->off, 0, c->room * sizeof *c->off);
    for (int64_t k = 0; k < c->terms; k++) {
        add_scaled(c->off, c->x + (size_t)k * c->room, (float)((double)c->chosen[k] - c->exact[k]), c->room);
    }
    return dot_product(c->off, c->off, c->room);
}

/* Other integer beside a weight; the weight's own integer where there is none. */
static int8_t other_of(const rounded_channel *c, int64_t k)
{
    const int8_t is = c->chosen[k];
    const double d = (double)is - c->exact[k];
    const int other = d > 0.0 ? is - 1 : d < 0.0 ? is + 1 : is;
    if (!(fabs((double)other - c->exact[k]) < 1.0) || abs(other) > MAX_WEIGHT) {
        return is;
    }
    return (int8_t)other;
}

static bool flip_one(const rounded_channel *c, int64_t k)
{
    const int8_t other = other_of(c, k);
    if (other == c->chosen[k] || c->power[k] <= 0.0) {
        return false;
    }
    const float *x = c->x + (size_t)k * c->room;
    const double before = (double)c->chosen[k] - c->exact[k];
    const double step = (double)other - (double)c->chosen[k];
    const double after = before + step;
    const double gain = -step * (2.0 * dot_product(c->off, x, c->room) + step * c->power[k]) -
                        c->toll * c->power[k] * (after * after - before * before);
    if (!(gain > MIN_GAIN * c->power[k])) {
        return false;
    }
    add_scaled(c->off, x, (float)step, c->room);
    c->chosen[k] = other;
    return true;
}

static void tune_channel(const rounded_channel *c, int8_t *nearest, double *before, double *after)
{
    *before = *after = error_of(c);
    memcpy(nearest, c->chosen, (size_t)c->terms);
    bool flipped = true;
    for (int sweep = 0; flipped && sweep < SWEEPS; sweep++) {
        flipped = false;
        for (int64_t k = 0; k < c->terms; k++) {
            flipped = flip_one(c, k) || flipped;
        }
    }
    *after = error_of(c);
    if (!(*after <= *before)) {
        memcpy(c->chosen, nearest, (size_t)c->terms);
        *after = *before;
    }
}

/* Subtracts the means: the bias corrects them, so they are no error. */
static void take_out_means(const vtac_quant_patches *p, const double *mean)
{
    for (int64_t row = 0; row < p->channels * p->taps; row++) {
        const float much = (float)(mean[row / p->taps] * p->share);
        for (uint32_t i = 0; i < p->count; i++) {
            p->data[(size_t)row * p->room + i] -= much;
        }
    }
}

/* Place of a weight of an output channel. */
static int64_t place_of(const vtac_quant_product *p, int64_t output, int64_t terms, int64_t taps, int64_t k)
{
    return p->axis == 0 ? output * terms + k : (k / taps * p->channels + output) * taps + k % taps;
}

vta_status vtac_quant_tune_rounding(vtac_quant_product *p, const float *w, const double *mean,
                                    vtac_quant_patches *patches, vta_diag *diag)
{
    const int64_t rows = patches->channels * patches->taps;
    const int64_t terms = vtac_type_elements(&p->type) / p->channels;
    const int64_t outputs = p->channels / (rows / terms); /* of a group */
    rounded_channel c = {.room = patches->room, .terms = terms};
    vta_arena arena = {0};
    double *power = vta_arena_array(&arena, (size_t)rows, sizeof *power);
    int8_t *nearest = vta_arena_array(&arena, (size_t)terms, sizeof *nearest);
    c.exact = vta_arena_array(&arena, (size_t)terms, sizeof *c.exact);
    c.chosen = vta_arena_array(&arena, (size_t)terms, sizeof *c.chosen);
    c.off = vta_arena_array(&arena, patches->room, sizeof *c.off);
    if (power == NULL || nearest == NULL || c.exact == NULL || c.chosen == NULL || c.off == NULL) {
        vta_arena_free(&arena);
        return vta_no_memory(diag);
    }
    if (mean != NULL) {
        take_out_means(patches, mean);
    }
    for (int64_t row = 0; row < rows; row++) {
        const float *x = patches->data + (size_t)row * patches->room;
        power[row] = dot_product(x, x, patches->room);
    }
    c.toll = (double)terms / (double)patches->count;
    p->tuned = true;
    for (int64_t output = 0; output < p->channels; output++) {
        double before;
        double after;
        const int64_t first = output / outputs * terms;
        const double scale = (double)p->scales[output];
        c.x = patches->data + (size_t)first * patches->room;
        c.power = power + first;
        for (int64_t k = 0; k < terms; k++) {
            const int64_t at = place_of(p, output, terms, patches->taps, k);
            c.exact[k] = (double)w[at] / scale;
            c.chosen[k] = p->weights[at];
        }
        tune_channel(&c, nearest, &before, &after);
        for (int64_t k = 0; k < terms; k++) {
            p->weights[place_of(p, output, terms, patches->taps, k)] = c.chosen[k];
        }
        const double each = scale * scale / ((double)patches->count * (double)p->channels);
        p->rounding_before += before * each;
        p->rounding_after += after * each;
    }
    vta_arena_free(&arena);
    return VTA_OK;
}
