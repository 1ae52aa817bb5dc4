/* SPDX-License-Identifier: Apache-2.0
 *
 * The error of an output is d' H d, with d what rounding adds to its weights and H the products of the
 * inputs, summed over the columns (their Gram matrix). Weights are rounded one after the other; those that
 * are still floats move so that they make up for the error so far. Frantar et al. ("GPTQ", 2022) read these
 * moves from the inverse of H, from the first weight on. With H = R'R, R a triangle, the sum is that of the
 * squares of R d, and the last weight's square has no other weight in it, the one before two, and so on: from
 * the last weight on, each is rounded from where its square would be 0. That is the same walk the other way
 * round (Chen et al., 2025), without an inverse.
 *
 * Damping: each weight pays for its own error besides, a part of its input's square and a hundredth of the
 * mean one, as if inputs did not move together; without it few columns would be fitted at any price.
 *
 * H has a row and a column for each weight. Layers of more than SEGMENT weights an output take as many at a
 * time; a segment begins with its floats moved to where they make up best for the segments before, by two
 * solutions with its triangle. Every sum is made in one order.
 */
#include "gram.h"

#include <math.h>
#include <string.h>

#include "vta/fail.h"
#include "vta/number.h"

enum { SEGMENT = 512 };

#define DAMPING 0.01

double vtac_quant_dot(const float *a, const float *b, uint32_t count)
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

static double dot_of(const double *a, const double *b, int64_t count)
{
    double sums[QUANT_LANES] = {0};
    double sum = 0.0;
    int64_t i = 0;
    for (; i + QUANT_LANES <= count; i += QUANT_LANES) {
        for (int64_t k = 0; k < QUANT_LANES; k++) {
            sums[k] += a[i + k] * b[i + k];
        }
    }
    for (int64_t k = 0; k < QUANT_LANES; k++) {
        sum += sums[k];
    }
    for (; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static int64_t segment_end(const vtac_quant_gram *gram, int64_t first)
{
    return vta_min(first + SEGMENT, gram->terms);
}

/* The products of a segment's inputs, damped: its upper triangle. */
static void multiply_inputs(const vtac_quant_gram *gram, int64_t first, int64_t n, double *h)
{
    double mean = 0.0;
    for (int64_t i = 0; i < n; i++) {
        mean += gram->power[first + i] / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        const float *x = gram->x + (size_t)(first + i) * gram->room;
        for (int64_t k = i; k < n; k++) {
            h[i * n + k] = vtac_quant_dot(x, gram->x + (size_t)(first + k) * gram->room, gram->room);
        }
        h[i * n + i] += gram->toll * gram->power[first + i] + DAMPING * mean;
    }
}

/* H = R'R, in place (Cholesky). A term without inputs gets a row of its own. */
static void make_triangle(double *h, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double *row = &h[i * n];
        const double root = row[i] > 0.0 ? sqrt(row[i]) : 1.0;
        for (int64_t k = i; k < n; k++) {
            row[k] = k == i ? root : row[k] / root;
        }
        for (int64_t j = i + 1; j < n; j++) {
            const double factor = row[j];
            for (int64_t k = j; factor != 0.0 && k < n; k++) {
                h[j * n + k] -= factor * row[k];
            }
        }
    }
}

vta_status vtac_quant_gram_open(vtac_quant_gram *gram, vta_arena *arena, vta_diag *diag)
{
    const size_t segments = (size_t)((gram->terms + SEGMENT - 1) / SEGMENT);
    gram->factor = vta_arena_array(arena, segments + 1, sizeof *gram->factor);
    gram->work = vta_arena_array(arena, (size_t)2 * SEGMENT, sizeof *gram->work);
    if (gram->factor == NULL || gram->work == NULL) {
        return vta_no_memory(diag);
    }
    for (size_t s = 0; s < segments; s++) {
        const int64_t first = (int64_t)s * SEGMENT, n = segment_end(gram, first) - first;
        gram->factor[s] = vta_arena_array(arena, (size_t)(n * n), sizeof **gram->factor);
        if (gram->factor[s] == NULL) {
            return vta_no_memory(diag);
        }
        multiply_inputs(gram, first, n, gram->factor[s]);
        make_triangle(gram->factor[s], n);
    }
    return VTA_OK;
}

/* R'R move = -(the inputs' products with what is off): where the floats of a segment make up best. */
static void move_floats(const vtac_quant_gram *gram, const double *r, int64_t first, int64_t n,
                        const float *off, double *move)
{
    for (int64_t i = 0; i < n; i++) {
        move[i] = -vtac_quant_dot(gram->x + (size_t)(first + i) * gram->room, off, gram->room);
    }
    for (int64_t i = 0; i < n; i++) {
        move[i] /= r[i * n + i];
        for (int64_t k = i + 1; k < n; k++) {
            move[k] -= r[i * n + k] * move[i];
        }
    }
    for (int64_t i = n; i-- > 0;) {
        const double rest = dot_of(&r[i * n + i + 1], &move[i + 1], n - i - 1);
        move[i] = (move[i] - rest) / r[i * n + i];
    }
}

static void round_segment(const vtac_quant_gram *gram, int64_t first, int64_t n, const vtac_quant_row *row)
{
    const double *r = gram->factor[first / SEGMENT];
    double *move = gram->work, *left = gram->work + SEGMENT;
    move_floats(gram, r, first, n, row->off, move);
    for (int64_t i = n; i-- > 0;) {
        const double target = row->exact[first + i] + move[i];
        const double pull = dot_of(&r[i * n + i + 1], &left[i + 1], n - i - 1) / r[i * n + i];
        const int32_t q = vtac_quant_nearest(&row->grid[first + i], target + pull);
        left[i] = target - q;
        row->chosen[first + i] = (int8_t)q;
    }
    for (int64_t i = first; i < first + n; i++) {
        const float *x = gram->x + (size_t)i * gram->room;
        const float much = (float)((double)row->chosen[i] - row->exact[i]);
        for (uint32_t k = 0; k < gram->room; k++) {
            row->off[k] += much * x[k];
        }
    }
}

void vtac_quant_gram_round(const vtac_quant_gram *gram, const vtac_quant_row *row)
{
    memset(row->off, 0, gram->room * sizeof *row->off);
    for (int64_t first = 0; first < gram->terms; first += SEGMENT) {
        round_segment(gram, first, segment_end(gram, first) - first, row);
    }
}
