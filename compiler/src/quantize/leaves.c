/* SPDX-License-Identifier: Apache-2.0
 *
 * Natural pictures are mostly things that hide other things: edges, surfaces with little on them, few strong
 * textures, all sizes alike. Discs and rectangles whose sizes follow an inverse cube law, thrown one over the
 * other, share those statistics (Lee, Mumford and Huang, 2001), and networks trained on pictures answer to
 * them as they do to pictures; noise and waves leave their deeper layers silent.
 *
 * The leaf on top is painted first; each next one fills what is still empty.
 */
#include "leaves.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"
#include "vtac/exact.h"

enum { MAX_LEAVES = 1000, FINEST = 60 /* least radius: this part of the picture */ };

#define FULL_CIRCLE 6.283185307179586

/* xorshift64*: in [0, 1), the same on every machine. */
static double random_uniform(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)((*state * 0x2545f4914f6cdd1dULL) >> 11) * 0x1p-53;
}

typedef struct leaf {
    double y, x, radius, slimness;
    double along[2]; /* x and y of its long axis */
    bool round;
    double grey, slope;             /* in the middle, and how that changes towards the end */
    double wave, heading[2], phase; /* a texture: height, turns a row and a column, begin */
    double noise;
} leaf;

static leaf draw_leaf(const vtac_quant_picture *p, uint64_t *state)
{
    const double size = (double)(p->height > p->width ? p->height : p->width);
    const double min = fmax(1.0, size / FINEST);
    const double max = fmax(min, 0.6 * size);
    const double u = random_uniform(state);
    const double angle = random_uniform(state) * FULL_CIRCLE;
    const double heading = random_uniform(state) * FULL_CIRCLE;
    leaf l = {.y = random_uniform(state) * (double)p->height, .x = random_uniform(state) * (double)p->width};
    l.radius = 1.0 / sqrt((1.0 - u) / (min * min) + u / (max * max));
    l.slimness = 0.3 + 0.7 * random_uniform(state);
    l.along[0] = vtac_cos(angle);
    l.along[1] = vtac_sin(angle);
    l.round = random_uniform(state) < 0.5;
    l.grey = random_uniform(state);
    l.slope = 0.3 * (random_uniform(state) - 0.5);
    l.wave = 0.4 * random_uniform(state);
    l.wave *= random_uniform(state); /* strong textures are rare */
    const double period = 2.0 + random_uniform(state) * random_uniform(state) * size / 2.0;
    l.heading[0] = 1.0 / period * vtac_cos(heading);
    l.heading[1] = 1.0 / period * vtac_sin(heading);
    l.phase = random_uniform(state);
    l.noise = 0.15 * random_uniform(state);
    return l;
}

static double clamp_value(double v, double low, double high)
{
    return v < low ? low : v > high ? high : v;
}

/* The leaf's value at a place on it, its colour aside; false where it is not. */
static bool shade_leaf(const leaf *l, double y, double x, uint64_t *state, double *out)
{
    const double along = ((x - l->x) * l->along[0] + (y - l->y) * l->along[1]) / l->radius;
    const double across = ((y - l->y) * l->along[0] - (x - l->x) * l->along[1]) / (l->radius * l->slimness);
    const bool inside =
        l->round ? along * along + across * across < 1.0 : fabs(along) < 1.0 && fabs(across) < 1.0;
    if (inside) {
        const double turns = l->heading[0] * y + l->heading[1] * x + l->phase;
        *out = l->slope * along + l->wave * vtac_sin(FULL_CIRCLE * (turns - floor(turns))) +
               l->noise * (random_uniform(state) - 0.5);
    }
    return inside;
}

/* Paints what is still empty under a leaf, or, where `l` is NULL, all that is. Returns how many places. */
static int64_t paint_leaf(const vtac_quant_picture *p, const leaf *l, const double *colour,
                          const double range[2], bool *full, uint64_t *state)
{
    const double reach = l == NULL ? 0.0 : 1.5 * l->radius; /* corners of rectangles, too */
    const int64_t rows[] = {l == NULL ? 0 : (int64_t)clamp_value(l->y - reach, 0.0, (double)p->height),
                            l == NULL ? p->height
                                      : (int64_t)clamp_value(l->y + reach + 1.0, 0.0, (double)p->height)};
    const int64_t columns[] = {l == NULL ? 0 : (int64_t)clamp_value(l->x - reach, 0.0, (double)p->width),
                               l == NULL ? p->width
                                         : (int64_t)clamp_value(l->x + reach + 1.0, 0.0, (double)p->width)};
    int64_t painted = 0;
    for (int64_t y = rows[0]; y < rows[1]; y++) {
        for (int64_t x = columns[0]; x < columns[1]; x++) {
            double value = 0.0;
            if (full[y * p->width + x] ||
                (l != NULL && !shade_leaf(l, (double)y, (double)x, state, &value))) {
                continue;
            }
            full[y * p->width + x] = true;
            painted++;
            for (int64_t c = 0; c < p->channels; c++) {
                p->data[c * p->step[0] + y * p->step[1] + x * p->step[2]] =
                    (float)(range[0] + (range[1] - range[0]) * clamp_value(colour[c] + value, 0.0, 1.0));
            }
        }
    }
    return painted;
}

vta_status vtac_quant_paint_leaves(const vtac_quant_picture *p, double low, double high, uint64_t *state,
                                   vta_diag *diag)
{
    const double range[] = {low, high};
    int64_t empty = p->height * p->width;
    bool *full = calloc((size_t)empty + 1, sizeof *full);
    double *colour = calloc((size_t)p->channels + 1, sizeof *colour);
    for (int i = 0; full != NULL && colour != NULL && empty > 0 && i <= MAX_LEAVES; i++) {
        const leaf l = draw_leaf(p, state);
        for (int64_t c = 0; c < p->channels; c++) { /* channels differ less than leaves do */
            colour[c] = p->channels == 1
                            ? l.grey
                            : clamp_value(l.grey + 0.5 * (random_uniform(state) - 0.5), 0.0, 1.0);
        }
        empty -= paint_leaf(p, i < MAX_LEAVES ? &l : NULL, colour, range, full, state);
    }
    const bool done = full != NULL && colour != NULL;
    free(full);
    free(colour);
    return vta_allocated(done, diag);
}
