/* SPDX-License-Identifier: Apache-2.0
 *
 * A function of the 256 numbers of 8 bits as one weight, one bias and one rounding. For a slope, each result
 * says between which offsets the line must pass; the slope that leaves them most room is looked for first.
 * Then come weights, the largest first: each has its own grid of biases, and one of them has a bias in that
 * room. Nothing is approximate: all 256 results are compared, with the arithmetic that will run.
 */
#include <float.h>
#include <math.h>

#include "vtac/quant.h"

enum { NUMBERS = 256, MAX_WEIGHT = 127, MAX_BIAS = 1 << 28, HALVINGS = 90 };
static const double max_slope = 300.0; /* all 256 results in one step */

/* Offsets with which a line of this slope has all results; low > high: there are none. */
typedef struct offsets {
    double low, high;
} offsets;

static offsets offsets_of(const vtac_line *f, double slope)
{
    offsets room = {-(double)INFINITY, (double)INFINITY};
    for (int i = 0; i < NUMBERS; i++) {
        const double rest = (double)(f->results[i] - f->y_zero) - slope * (double)(f->first + i - f->x_zero);
        room.low = f->results[i] > f->low ? fmax(room.low, rest - 0.5) : room.low;
        room.high = f->results[i] < f->high ? fmin(room.high, rest + 0.5) : room.high;
    }
    return room;
}

/* The room that a slope leaves is concave. */
static double roomiest_slope(const vtac_line *f)
{
    double low = -max_slope;
    double high = max_slope;
    for (int i = 0; i < HALVINGS; i++) {
        const double a = low + (high - low) / 3.0;
        const double b = high - (high - low) / 3.0;
        const offsets at_a = offsets_of(f, a);
        const offsets at_b = offsets_of(f, b);
        if (at_a.high - at_a.low < at_b.high - at_b.low) {
            low = a;
        } else {
            high = b;
        }
    }
    return low + (high - low) / 2.0;
}

static bool line_holds(const vtac_line *f, const vtac_line_fit *fit, vtac_fixed scale)
{
    for (int i = 0; i < NUMBERS; i++) {
        const int64_t v = (int64_t)(f->first + i - f->x_zero) * fit->weight + fit->bias;
        if (vtac_fixed_apply(v, scale, f->y_zero, f->low, f->high) != f->results[i]) {
            return false;
        }
    }
    return true;
}

/* A weight whose scale is about `unit` steps of the output. */
static bool fit_weight(const vtac_line *f, int weight, double unit, vtac_line_fit *out)
{
    vtac_fixed fixed;
    const double scale = unit * (double)f->y_scale / (double)f->x_scale;
    if (!(scale >= (double)FLT_MIN && scale <= (double)FLT_MAX)) {
        return false;
    }
    *out = (vtac_line_fit){.weight = weight, .scale = (float)scale};
    const float product = vtac_scale_product(f->x_scale, out->scale, f->y_scale);
    if (!vtac_fixed_of(product, &fixed) || fixed.mult == 0) {
        return false;
    }
    const offsets room = offsets_of(f, weight * (double)product);
    const double bias = rint((room.low + (room.high - room.low) / 2.0) / (double)product);
    if (!(fabs(bias) <= MAX_BIAS)) {
        return false;
    }
    out->bias = (int32_t)bias;
    return line_holds(f, out, fixed);
}

/* Fits a line with the same result for all numbers. */
static bool fit_constant(const vtac_line *f, vtac_line_fit *out)
{
    vtac_fixed fixed;
    const double scale = (double)f->y_scale / (double)f->x_scale;
    if (!(scale >= (double)FLT_MIN && scale <= (double)FLT_MAX)) {
        return false;
    }
    *out = (vtac_line_fit){.scale = (float)scale, .bias = f->results[0] - f->y_zero};
    return vtac_fixed_of(vtac_scale_product(f->x_scale, out->scale, f->y_scale), &fixed) &&
           line_holds(f, out, fixed);
}

bool vtac_line_fit_of(const vtac_line *line, vtac_line_fit *out)
{
    if (fit_constant(line, out)) {
        return true;
    }
    const double slope = roomiest_slope(line);
    const offsets room = offsets_of(line, slope);
    bool found = false;
    for (int w = MAX_WEIGHT; w > 0 && !found && room.low < room.high; w--) {
        found = fit_weight(line, slope < 0.0 ? -w : w, fabs(slope) / w, out);
    }
    return found;
}
