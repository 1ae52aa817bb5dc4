/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock of a configuration, from the longest paths of netlists on its part. Too few have been timed for
 * more than their mean; how far off that is, each against the mean of the others, says whether a
 * configuration matters.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "vtac/explore.h"

static const struct {
    const char *config, *part;
    double lut, ns;
} clocks[] = {
#define VTAC_CLOCK(config, part, lut, ns) {config, part, lut, ns},
#include "clock.def"
};
enum { CLOCKS = sizeof clocks / sizeof clocks[0] };
static const double to_spare = 0.95; /* of a cycle, that a path may take */

vtac_clock vtac_clock_of(const char *part)
{
    vtac_clock c = {.lut_min = HUGE_VAL};
    double sum = 0;
    for (size_t i = 0; i < CLOCKS; i++) {
        if (strcmp(clocks[i].part, part) == 0) {
            sum += clocks[i].ns;
            c.count++;
            c.lut_min = fmin(c.lut_min, clocks[i].lut);
            c.lut_max = fmax(c.lut_max, clocks[i].lut);
        }
    }
    if (c.count == 0) {
        return (vtac_clock){0};
    }
    c.ns = sum / c.count;
    c.mhz = 1e3 * to_spare / c.ns;
    for (size_t i = 0; c.count > 1 && i < CLOCKS; i++) {
        if (strcmp(clocks[i].part, part) == 0) {
            const double others = (sum - clocks[i].ns) / (c.count - 1);
            c.error = fmax(c.error, fabs(others / clocks[i].ns - 1));
        }
    }
    return c;
}

void vtac_clock_text(const vtac_clock *clock, const char *part, uint32_t mhz, char *text, size_t size)
{
    if (clock->count == 0) {
        (void)snprintf(text, size, "clock: %u MHz, assumed: no netlist has been timed on %s", mhz, part);
    } else if (clock->count == 1) {
        (void)snprintf(text, size,
                       "clock: %u MHz for all; one netlist of %.0f LUT timed on %s: %.2f ns, %.0f MHz", mhz,
                       clock->lut_max, part, clock->ns, clock->mhz);
    } else {
        (void)snprintf(text, size,
                       "clock: %u MHz for all; %u netlists of %.0f to %.0f LUT timed on %s: %.2f ns in the "
                       "mean, %.0f MHz, "
                       "which misses one, left out, by %.1f %% or less; routed ones are slower",
                       mhz, clock->count, clock->lut_min, clock->lut_max, part, clock->ns, clock->mhz,
                       100 * clock->error);
    }
}
