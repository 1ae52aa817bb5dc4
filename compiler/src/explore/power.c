/* SPDX-License-Identifier: Apache-2.0
 *
 * Measured power of boards.
 */
#include "vtac/power.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"
#include "vta/lines.h"

enum { MAX_POWER_BYTES = 1 << 20, MAX_WATTS = 1000000 };

static const vtac_power published[] = {
#define VTAC_POWER(part, watts, source) {part, watts, source},
#include "power.def"
};
enum { PUBLISHED = sizeof published / sizeof published[0] };

/* "xc7z020 1.71 our board, a meter at its plug" */
static bool parse_power(const char *line, vtac_power *out)
{
    int words = 0;
    char *end = NULL;
    vtac_part part;
    vta_diag ignored = {0};
    if (sscanf(line, " %31s %n", out->part, &words) != 1 || words == 0 ||
        vtac_part_find(out->part, &part, &ignored) != VTA_OK) {
        return false;
    }
    out->watts = strtod(line + words, &end);
    if (end == line + words || !(out->watts > 0) || out->watts > MAX_WATTS) {
        return false;
    }
    end += strspn(end, " \t");
    (void)snprintf(out->source, sizeof out->source, "%s", end);
    return *end != '\0';
}

static vta_status take_lines(const char *path, const char *expected, const vta_lines *lines, vtac_powers *out,
                             vta_diag *diag)
{
    for (size_t i = 0; i < lines->count; i++) {
        const char *text = lines->line[i] + strspn(lines->line[i], " \t");
        if (*text == '\0' || *text == '#') {
            continue;
        }
        if (!parse_power(text, &out->items[out->count])) {
            return vta_fail(diag, VTA_SYNTAX,
                            "%s: line %zu: expected %s; 'vtac explore --help' has the parts", path, i + 1,
                            expected);
        }
        out->count++;
    }
    return VTA_OK;
}

/* The first `count` are `known`, then those of the file, if there is one. */
static vta_status read_figures(const char *path, const char *expected, const vtac_power *known, size_t count,
                               vtac_powers *out, vta_diag *diag)
{
    vta_lines lines = {0};
    vta_status status = VTA_OK;
    *out = (vtac_powers){0};
    VTA_TRY_OUT(path != NULL ? vta_lines_read(path, MAX_POWER_BYTES, &lines, diag) : VTA_OK);
    out->items = calloc(count + lines.count + 1, sizeof *out->items);
    VTA_TRY_OUT(out->items != NULL ? VTA_OK : vta_no_memory(diag));
    memcpy(out->items, known, count * sizeof *known);
    out->count = count;
    VTA_TRY_OUT(take_lines(path, expected, &lines, out, diag));
out:
    vta_lines_free(&lines);
    if (status != VTA_OK) {
        vtac_powers_free(out);
    }
    return status;
}

vta_status vtac_powers_read(const char *path, vtac_powers *out, vta_diag *diag)
{
    return read_figures(
        path,
        "a part, its board's watts and who measured them: 'xc7z020 1.71 our PYNQ-Z2, a meter at "
        "its plug'",
        published, PUBLISHED, out, diag);
}

vta_status vtac_price_read(const char *path, const char *part, double *out, vta_diag *diag)
{
    vtac_powers prices = {0};
    *out = 0;
    VTA_TRY(read_figures(path,
                         "a part, its price and where it is from: 'xc7z020 120 a distributor, one of a tray'",
                         published, 0, &prices, diag));
    for (size_t i = 0; i < prices.count; i++) {
        *out = strcmp(prices.items[i].part, part) == 0 ? prices.items[i].watts : *out;
    }
    vtac_powers_free(&prices);
    return VTA_OK;
}

void vtac_powers_free(vtac_powers *powers)
{
    free(powers->items);
    *powers = (vtac_powers){0};
}

vtac_board_power vtac_board_power_of(const vtac_powers *powers, const char *part)
{
    vtac_board_power out = {0};
    double sum = 0;
    for (size_t i = 0; i < powers->count; i++) {
        const double watts = powers->items[i].watts;
        if (strcmp(powers->items[i].part, part) == 0) {
            out.min = out.count == 0 ? watts : fmin(out.min, watts);
            out.max = fmax(out.max, watts);
            sum += watts;
            out.count++;
        }
    }
    if (out.count == 0) {
        return out;
    }
    out.watts = sum / out.count;
    if (out.count > 1) { /* the smallest or the largest is the one that the others miss the most */
        const double low = (sum - out.min) / (out.count - 1), high = (sum - out.max) / (out.count - 1);
        out.error = fmax(low / out.min - 1, 1 - high / out.max);
    }
    return out;
}

void vtac_power_text(const vtac_board_power *power, const char *part, char *text, size_t size)
{
    if (power->count == 0) {
        (void)snprintf(text, size,
                       "nobody has measured a board with %s; '--power FILE' takes your meter's watts", part);
    } else if (power->count == 1) {
        (void)snprintf(text, size, "%.2f W, one measurement of a board with %s: its error is unknown",
                       power->watts, part);
    } else {
        (void)snprintf(text, size,
                       "%.2f W, the mean of %u measurements of boards with %s (%.2f to %.2f W), ± %.0f %%",
                       power->watts, power->count, part, power->min, power->max, 100 * power->error);
    }
}

const vtac_part *vtac_part_of(const vta_config *config)
{
    uint32_t count = 0;
    const vtac_part *parts = vtac_parts(&count);
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i].bitstream[0] != '\0' && strcmp(parts[i].bitstream, config->target) == 0) {
            return &parts[i];
        }
    }
    return NULL;
}

double vtac_board_joules(const vta_config *config, uint64_t cycles, vtac_board_power *power)
{
    vtac_powers powers = {0};
    const vtac_part *part = vtac_part_of(config);
    *power = (vtac_board_power){0};
    if (part != NULL && vtac_powers_read(NULL, &powers, NULL) == VTA_OK) {
        *power = vtac_board_power_of(&powers, part->name);
        vtac_powers_free(&powers);
    }
    return power->watts * (double)cycles / (1e6 * config->clock_mhz);
}
