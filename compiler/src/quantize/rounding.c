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
 * Weights of 4 bits begin where gram.c rounds them: with 16 numbers, the errors are so large that the
 * neighbours of the nearest integers are not enough.
 *
 * Every sum is made in one order, so that the result is the same on all machines.
 */
#include "rounding.h"

#include <math.h>
#include <string.h>

#include "gram.h"
#include "vta/fail.h"

enum { SWEEPS = 6 };

/* A turn must be worth this part of what it moves: sums of floats are not more exact. */
#define MIN_GAIN 1e-5

/* An output channel with the inputs of its group: `gram` has no factors where the nearest integers come
 * first. */
typedef struct rounded_channel {
    vtac_quant_gram gram;
    vtac_quant_row row;
} rounded_channel;

static void add_scaled(float *to, const float *x, float factor, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        to[i] += factor * x[i];
    }
}

/* The errors of the outputs, anew; their squares, summed. */
static double error_of(const rounded_channel *c)
{
    memset(c->row.off, 0, c->gram.room * sizeof *c->row.off);
    for (int64_t k = 0; k < c->gram.terms; k++) {
        add_scaled(c->row.off, c->gram.x + (size_t)k * c->gram.room,
                   (float)((double)c->row.chosen[k] - c->row.exact[k]), c->gram.room);
    }
    return vtac_quant_dot(c->row.off, c->row.off, c->gram.room);
}

/* Other integer beside a weight; the weight's own integer where there is none. */
static int8_t other_of(const rounded_channel *c, int64_t k)
{
    const int8_t is = c->row.chosen[k];
    const double d = (double)is - c->row.exact[k];
    const vtac_quant_grid *grid = &c->row.grid[k];
    const int32_t other = d > 0.0 ? is - grid->step : d < 0.0 ? is + grid->step : is;
    const bool beside = fabs((double)other - c->row.exact[k]) < (double)grid->step;
    return (int8_t)(beside && other >= grid->low && other <= grid->high ? other : is);
}

static bool flip_one(const rounded_channel *c, int64_t k)
{
    const int8_t other = other_of(c, k);
    if (other == c->row.chosen[k] || c->gram.power[k] <= 0.0) {
        return false;
    }
    const float *x = c->gram.x + (size_t)k * c->gram.room;
    const double before = (double)c->row.chosen[k] - c->row.exact[k];
    const double step = (double)other - (double)c->row.chosen[k];
    const double after = before + step;
    const double gain =
        -step * (2.0 * vtac_quant_dot(c->row.off, x, c->gram.room) + step * c->gram.power[k]) -
        c->gram.toll * c->gram.power[k] * (after * after - before * before);
    if (!(gain > MIN_GAIN * c->gram.power[k])) {
        return false;
    }
    add_scaled(c->row.off, x, (float)step, c->gram.room);
    c->row.chosen[k] = other;
    return true;
}

static void tune_channel(const rounded_channel *c, int8_t *nearest, double *before, double *after)
{
    *before = *after = error_of(c);
    memcpy(nearest, c->row.chosen, (size_t)c->gram.terms);
    if (c->gram.factor != NULL) {
        vtac_quant_gram_round(&c->gram, &c->row);
    }
    bool flipped = true;
    for (int sweep = 0; flipped && sweep < SWEEPS; sweep++) {
        flipped = false;
        for (int64_t k = 0; k < c->gram.terms; k++) {
            flipped = flip_one(c, k) || flipped;
        }
    }
    *after = error_of(c);
    if (!(*after <= *before)) {
        memcpy(c->row.chosen, nearest, (size_t)c->gram.terms);
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

static void take_weights(const vtac_quant_product *p, const float *w, int64_t output, rounded_channel *c)
{
    const double scale = (double)p->scales[output];
    for (int64_t k = 0; k < c->gram.terms; k++) {
        const int64_t at = vtac_quant_weight_place(p, output, k);
        c->row.grid[k] = vtac_quant_grid_of(p, output, k);
        c->row.exact[k] = (double)w[at] / scale;
        c->row.chosen[k] = p->weights[at];
    }
}

static vta_status make_room(vta_arena *arena, rounded_channel *c, int8_t **nearest, vta_diag *diag)
{
    *nearest = vta_arena_array(arena, (size_t)c->gram.terms, sizeof **nearest);
    c->row.exact = vta_arena_array(arena, (size_t)c->gram.terms, sizeof *c->row.exact);
    c->row.chosen = vta_arena_array(arena, (size_t)c->gram.terms, sizeof *c->row.chosen);
    c->row.grid = vta_arena_array(arena, (size_t)c->gram.terms, sizeof *c->row.grid);
    c->row.off = vta_arena_array(arena, c->gram.room, sizeof *c->row.off);
    return vta_allocated(*nearest != NULL && c->row.exact != NULL && c->row.chosen != NULL &&
                             c->row.grid != NULL && c->row.off != NULL,
                         diag);
}

/* The output channels of a group, `count` from the first on, whose inputs are c->gram.x. */
static vta_status tune_group(vtac_quant_product *p, const float *w, const vtac_quant_patches *patches,
                             rounded_channel *c, int64_t first, int64_t count, vta_diag *diag)
{
    vta_arena arena = {0};
    int8_t *nearest = NULL;
    vta_status status = VTA_OK;
    VTA_TRY_OUT(make_room(&arena, c, &nearest, diag));
    VTA_TRY_OUT(p->bits == 4 ? vtac_quant_gram_open(&c->gram, &arena, diag) : VTA_OK);
    for (int64_t output = first; output < first + count; output++) {
        const double scale = (double)p->scales[output];
        double before, after;
        take_weights(p, w, output, c);
        tune_channel(c, nearest, &before, &after);
        for (int64_t k = 0; k < c->gram.terms; k++) {
            p->weights[vtac_quant_weight_place(p, output, k)] = c->row.chosen[k];
        }
        const double each = scale * scale / ((double)patches->count * (double)p->channels);
        p->rounding_before += before * each;
        p->rounding_after += after * each;
    }
out:
    vta_arena_free(&arena);
    return status;
}

vta_status vtac_quant_tune_rounding(vtac_quant_product *p, const float *w, const double *mean,
                                    vtac_quant_patches *patches, vta_diag *diag)
{
    const int64_t rows = patches->channels * patches->taps;
    const int64_t terms = vtac_quant_terms(p);
    const int64_t outputs = p->channels / (rows / terms); /* of a group */
    rounded_channel c = {
        .gram = {.room = patches->room, .terms = terms, .toll = (double)terms / patches->count}};
    vta_arena arena = {0};
    double *power = vta_arena_array(&arena, (size_t)rows, sizeof *power);
    if (mean != NULL) {
        take_out_means(patches, mean);
    }
    for (int64_t row = 0; power != NULL && row < rows; row++) {
        const float *x = patches->data + (size_t)row * patches->room;
        power[row] = vtac_quant_dot(x, x, patches->room);
    }
    vta_status status = vta_allocated(power != NULL, diag);
    for (int64_t output = 0; status == VTA_OK && output < p->channels; output += outputs) {
        c.gram.x = patches->data + (size_t)(output / outputs * terms) * patches->room;
        c.gram.power = power + output / outputs * terms;
        status = tune_group(p, w, patches, &c, output, outputs, diag);
    }
    p->tuned = true;
    vta_arena_free(&arena);
    return status;
}
