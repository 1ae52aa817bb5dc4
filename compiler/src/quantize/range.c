/* SPDX-License-Identifier: Apache-2.0
 *
 * Every method but min-max looks for the part of a histogram that costs least: the edges move inwards, one
 * at a time, each to the best of EDGES places while the other stays.
 */
#include "range.h"

#include <math.h>
#include <string.h>

#include "vtac/exact.h"

enum { LEVELS = 256, EDGES = 128, ROUNDS = 2, STEP = QUANT_BINS / EDGES };

#define RARE 1e-4 /* share of the values that the percentile leaves out */

static const char *const names[] = {
#define X(id, name, doc) name,
    VTAC_RANGE_METHODS(X)
#undef X
};

const char *vtac_range_method_name(vtac_range_method method)
{
    return method < VTAC_RANGE_COUNT ? names[method] : "";
}

vtac_range_method vtac_range_method_find(const char *name)
{
    uint32_t i = 0;
    while (i < VTAC_RANGE_COUNT && strcmp(names[i], name) != 0) {
        i++;
    }
    return (vtac_range_method)i;
}

void vtac_quant_range_see(vtac_quant_range *range, const float *values, size_t count)
{
    double low = range->low;
    double high = range->high;
    for (size_t i = 0; i < count; i++) {
        const double v = (double)values[i];
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    range->low = isfinite(low) ? low : -(double)__FLT_MAX__;
    range->high = isfinite(high) ? high : (double)__FLT_MAX__;
}

void vtac_quant_range_count(vtac_quant_range *range, const float *values, size_t count)
{
    const double width = range->high - range->low;
    const double factor = width > 0.0 ? QUANT_BINS / width : 0.0;
    for (size_t i = 0; i < count; i++) {
        if (values[i] == 0.0F) {
            continue; /* always representable: it says nothing of the range */
        }
        const double at = ((double)values[i] - range->low) * factor;
        range->bins[!(at > 0.0) ? 0 : at >= QUANT_BINS - 1 ? QUANT_BINS - 1 : (int)at]++;
    }
}

/* Bins [first, last) of a histogram. */
typedef struct bin_range {
    int first, last;
} bin_range;

/* Mean square of what rounding adds inside, and cutting outside; in bins. */
static double squared_error(const uint64_t *bins, bin_range p)
{
    const double step = (double)(p.last - p.first) / (LEVELS - 1);
    double sum = 0.0;
    for (int i = 0; i < QUANT_BINS; i++) {
        const double middle = i + 0.5;
        const double off = middle < p.first ? p.first - middle : middle > p.last ? middle - p.last : 0.0;
        sum += (double)bins[i] * (off > 0.0 ? off * off : step * step / 12.0);
    }
    return sum;
}

/* Divergence of the values' distribution from that of their levels, where each level's mass is spread over
 * those of its bins that hold something, but for the distribution's own entropy, which no part changes.
 * Values that are cut off count as all but impossible. */
static double part_divergence(const uint64_t *bins, bin_range p)
{
    const double impossible = 1e-9;
    const int width = p.last - p.first;
    double mass[LEVELS] = {0.0}, inside[LEVELS] = {0.0};
    int used[LEVELS] = {0};
    double total = 0.0, cut = 0.0;
    for (int i = 0; i < QUANT_BINS; i++) {
        const int at = i < p.first ? p.first : i >= p.last ? p.last - 1 : i;
        const int level = (at - p.first) * LEVELS / width;
        total += (double)bins[i];
        mass[level] += (double)bins[i];
        inside[level] += at == i ? (double)bins[i] : 0.0;
        cut += at == i ? 0.0 : (double)bins[i];
        used[level] += at == i && bins[i] != 0;
    }
    double sum = cut > 0.0 ? -cut * vtac_log(impossible) : 0.0;
    for (int level = 0; level < LEVELS && total > 0.0; level++) {
        sum -= inside[level] > 0.0 ? inside[level] * vtac_log(mass[level] / used[level] / total) : 0.0;
    }
    return total > 0.0 ? sum / total : 0.0;
}

static double part_cost(vtac_range_method method, const uint64_t *bins, bin_range p)
{
    return method == VTAC_RANGE_MSE ? squared_error(bins, p) : part_divergence(bins, p);
}

/* 0 stays inside: it must be representable. */
static bin_range cheapest_part(vtac_range_method method, const uint64_t *bins, int zero)
{
    bin_range best = {0, QUANT_BINS};
    double min = part_cost(method, bins, best);
    for (int round = 0; round < 2 * ROUNDS; round++) {
        bin_range p = best;
        int *edge = round % 2 == 0 ? &p.last : &p.first;
        const int from = round % 2 == 0 ? zero + 1 : 0;
        const int to = round % 2 == 0 ? QUANT_BINS : zero;
        for (*edge = round % 2 == 0 ? to : from; *edge >= from && *edge <= to;
             *edge += round % 2 == 0 ? -STEP : STEP) {
            if (p.last - p.first < LEVELS / 2) {
                break; /* no finer than half a bin a level */
            }
            const double now = part_cost(method, bins, p);
            if (now < min) {
                min = now;
                best = p;
            }
        }
    }
    return best;
}

static bin_range common_part(const uint64_t *bins, int zero)
{
    bin_range p = {0, QUANT_BINS};
    double total = 0.0;
    for (int i = 0; i < QUANT_BINS; i++) {
        total += (double)bins[i];
    }
    for (double gone = (double)bins[0]; p.first < zero && gone <= total * RARE / 2;) {
        gone += (double)bins[++p.first];
    }
    for (double gone = (double)bins[QUANT_BINS - 1]; p.last > zero + 1 && gone <= total * RARE / 2;) {
        gone += (double)bins[--p.last - 1];
    }
    return p;
}

void vtac_quant_range_narrow(vtac_quant_range *range, vtac_range_method method)
{
    const double width = (range->high - range->low) / QUANT_BINS;
    if (method == VTAC_RANGE_MINMAX || method == VTAC_RANGE_ROOM || range->bins == NULL || !(width > 0.0)) {
        return;
    }
    const int at = (int)(-range->low / width);
    const int zero = at >= QUANT_BINS ? QUANT_BINS - 1 : at;
    const bin_range p = method == VTAC_RANGE_PERCENTILE ? common_part(range->bins, zero)
                                                        : cheapest_part(method, range->bins, zero);
    const double low = range->low + p.first * width;
    const double high = range->low + p.last * width;
    range->low = p.first == 0 ? range->low : low < 0.0 ? low : 0.0;
    range->high = p.last == QUANT_BINS ? range->high : high > 0.0 ? high : 0.0;
}

void vtac_quant_range_params(const vtac_quant_range *range, vtac_dtype dtype, float *scale, int32_t *zero)
{
    const int32_t min = dtype == VTAC_I8 ? INT8_MIN : 0;
    const double width = range->high - range->low;
    const double step = width / (LEVELS - 1);
    *scale = step > (double)QUANT_MIN_SCALE ? (float)step : 1.0F;
    const double place = rint(-range->low / (double)*scale);
    *zero = min + (int32_t)(place > LEVELS - 1 ? LEVELS - 1 : place);
}
