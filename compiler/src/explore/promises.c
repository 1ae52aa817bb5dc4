/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of boards, and what they make of a predicted time.
 */
#include "vtac/promises.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"
#include "vta/lines.h"
#include "vtac/explore.h"

enum { MAX_PROMISE_BYTES = 1 << 22 };

void vtac_promised_put(const vtac_promised *record, vta_str *out)
{
    vta_str_printf(out, "%s %.0f %.0f %.6g %.6g %s\n", record->part, record->promised, record->counted,
                   record->mhz, record->measured_mhz, record->words);
}

/* A number that may stand in a record: within bounds that no board is beyond, so that its ratios are finite;
 * 0 where it may be missing. */
static bool read_number(const char **at, double min, double max, bool may_miss, double *out)
{
    char *end = NULL;
    *out = strtod(*at, &end);
    const bool good = (*out >= min && *out <= max) || (may_miss && *out == 0);
    const bool ends = end != *at && (*end == ' ' || *end == '\t');
    *at = end;
    return good && ends;
}

static bool read_cycles(const char **at, double *out)
{
    return read_number(at, 1, 1e15, false, out);
}

static bool read_mhz(const char **at, bool may_miss, double *out)
{
    return read_number(at, 1e-3, 1e6, may_miss, out);
}

static bool parse_promised(const char *line, vtac_promised *out)
{
    int words = 0;
    vtac_part part;
    vta_diag ignored = {0};
    if (sscanf(line, " %31s %n", out->part, &words) != 1 || words == 0 ||
        vtac_part_find(out->part, &part, &ignored) != VTA_OK) {
        return false;
    }
    const char *at = line + words;
    if (!read_cycles(&at, &out->promised) || !read_cycles(&at, &out->counted) ||
        !read_mhz(&at, false, &out->mhz) || !read_mhz(&at, true, &out->measured_mhz)) {
        return false;
    }
    at += strspn(at, " \t");
    (void)snprintf(out->words, sizeof out->words, "%s", at);
    return *at != '\0';
}

/* Takes a ratio; `mean` is the sum of logarithms until finish_ratios. */
static void take_ratio(vtac_promise_ratios *r, double ratio)
{
    r->min = r->count == 0 ? ratio : fmin(r->min, ratio);
    r->max = r->count == 0 ? ratio : fmax(r->max, ratio);
    r->mean = (r->count == 0 ? 0 : r->mean) + log(ratio);
    r->count++;
}

static void finish_ratios(vtac_promise_ratios *r)
{
    r->mean = r->count > 0 ? exp(r->mean / r->count) : 1;
}

static vta_status take_promises(const char *path, const char *part, const vta_lines *lines,
                                vtac_promises *out, vta_diag *diag)
{
    for (size_t i = 0; i < lines->count; i++) {
        const char *text = lines->line[i] + strspn(lines->line[i], " \t");
        vtac_promised record = {0};
        if (*text == '\0' || *text == '#') {
            continue;
        }
        if (!parse_promised(text, &record)) {
            return vta_fail(
                diag, VTA_SYNTAX,
                "%s: line %zu: expected a part, cycles promised and counted, MHz promised and measured (0: "
                "they "
                "were not), and words: 'xc7z020 36263 36301 100 99.98 tiny_kws on best1', as 'vtac doctor "
                "--promises' writes it",
                path, i + 1);
        }
        if (strcmp(record.part, part) != 0) {
            continue;
        }
        take_ratio(&out->cycles, record.counted / record.promised);
        if (record.measured_mhz > 0) {
            take_ratio(&out->clock, record.measured_mhz / record.mhz);
        }
    }
    return VTA_OK;
}

vta_status vtac_promises_read(const char *path, const char *part, vtac_promises *out, vta_diag *diag)
{
    static const vtac_promise_ratios none = {.min = 1, .max = 1};
    vta_lines lines = {0};
    vta_status status = VTA_OK;
    *out = (vtac_promises){.cycles = none, .clock = none};
    VTA_TRY_OUT(path != NULL ? vta_lines_read(path, MAX_PROMISE_BYTES, &lines, diag) : VTA_OK);
    VTA_TRY_OUT(take_promises(path, part, &lines, out, diag));
    finish_ratios(&out->cycles);
    finish_ratios(&out->clock);
out:
    vta_lines_free(&lines);
    return status;
}

double vtac_promises_time(const vtac_promises *records)
{
    return records->cycles.mean / records->clock.mean;
}

static void put_range(vta_str *out, const char *name, const vtac_promise_ratios *r)
{
    if (r->count == 1) {
        vta_str_printf(out, "%s × %.4g", name, r->mean);
    } else {
        vta_str_printf(out, "%s × %.4g (%.4g to %.4g)", name, r->mean, r->min, r->max);
    }
}

void vtac_promises_text(const vtac_promises *records, const char *part, char *text, size_t size)
{
    vta_str out = {0};
    if (records->cycles.count == 0) {
        vta_str_printf(&out, "no record of a board with %s: times are the timing model's", part);
    } else {
        vta_str_printf(&out, "times × %.4g, by %u record%s of boards with %s: ", vtac_promises_time(records),
                       records->cycles.count, records->cycles.count == 1 ? "" : "s", part);
        put_range(&out, "cycles", &records->cycles);
        if (records->clock.count > 0) {
            put_range(&out, ", clock", &records->clock);
        }
    }
    (void)snprintf(text, size, "%s", out.text != NULL ? out.text : "");
    vta_str_free(&out);
}
