/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of the search (search.c), and what it says.
 */
#include "mixed.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calib.h"
#include "stages.h"
#include "table.h"
#include "vta/fail.h"
#include "vta/lines.h"

/* One number, and nothing behind it. */
static bool read_number(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*out);
}

cli_mixed cli_mixed_automatic(const cli_args *args)
{
    return (cli_mixed){.automatic = cli_value(args, "--calib") != NULL, .max_loss = -1.0, .max_drop = -1.0};
}

int cli_read_mixed(const cli_args *args, cli_mixed *out)
{
    const char *loss = cli_value(args, "--max-loss"), *drop = cli_value(args, "--max-drop");
    *out = (cli_mixed){.automatic = cli_mixed_automatic(args).automatic && loss == NULL && drop == NULL,
                       .bounded = loss != NULL || drop != NULL,
                       .labelled = cli_value(args, "--labels") != NULL,
                       .max_loss = -1.0,
                       .max_drop = -1.0};
    if (loss != NULL && (!read_number(loss, &out->max_loss) || out->max_loss < 0.0)) {
        return cli_usage(args, "--max-loss takes decibels, as in 30, not '%s'", loss);
    }
    if (drop != NULL &&
        (!read_number(drop, &out->max_drop) || out->max_drop < 0.0 || out->max_drop > 100.0)) {
        return cli_usage(args, "--max-drop takes percent, as in 0.5, not '%s'", drop);
    }
    if (drop != NULL && !out->labelled) {
        return cli_usage(args, "--max-drop is about right answers; give them with --labels");
    }
    return out->labelled && cli_value(args, "--calib") == NULL
               ? cli_usage(args, "labels are those of real inputs; give --calib")
               : CLI_OK;
}

/* ---- labels */

static vta_status parse_labels(const vta_lines *lines, vta_arena *arena, vtac_quantize_options *how,
                               vta_diag *diag)
{
    uint32_t *labels = vta_arena_array(arena, lines->count + 1, sizeof *labels);
    if (labels == NULL) {
        return vta_no_memory(diag);
    }
    how->labels = labels;
    for (size_t i = 0; i < lines->count; i++) {
        const char *line = lines->line[i];
        char *after;
        errno = 0;
        const unsigned long label = strtoul(line, &after, 10);
        after += strspn(after, " \t");
        if (*after != '\0' || *line < '0' || *line > '9' || errno != 0 || label > UINT32_MAX) {
            return vta_fail(diag, VTA_INVALID, "line %zu: expected the number of a class, as in 7", i + 1);
        }
        labels[how->label_count++] = (uint32_t)label;
    }
    return VTA_OK;
}

vta_status cli_read_answers(const char *path, vta_arena *arena, vtac_quantize_options *how, vta_diag *diag)
{
    enum { MAX_BYTES = 1 << 26 };
    vta_lines lines;
    if (path == NULL) {
        return VTA_OK;
    }
    VTA_TRY(vta_lines_read(path, MAX_BYTES, &lines, diag));
    const vta_status status = parse_labels(&lines, arena, how, diag);
    vta_lines_free(&lines);
    return status == VTA_OK ? VTA_OK : vta_context(diag, "%s", path);
}

static double share_in_float(const vtac_quantize_report *report)
{
    return report->macs > 0 ? (double)report->macs_float / (double)report->macs : 0.0;
}

void cli_mixed_text(const cli_mixed *mixed, const vtac_quantize_report *report)
{
    if (mixed->automatic && mixed->method != VTAC_RANGE_DEFAULT) {
        cli_sentence(0, "ranges by %s, which is nearest to floats", vtac_range_method_name(mixed->method));
    }
    if (mixed->chosen > 0) {
        cli_sentence(0, "%u layers stay float so that the outputs hold: %.1f %% of the multiplications",
                     mixed->chosen, 100.0 * share_in_float(report));
    }
    if (mixed->ends) {
        cli_sentence(0, "the end of the network has 8 bits, too, since the outputs hold");
    }
    for (uint32_t i = mixed->wide_count - mixed->wide_chosen; i < mixed->wide_count; i++) {
        cli_sentence(0, "kept in 8 bits so that the outputs hold: %s", mixed->wide[i]);
    }
    for (uint32_t i = 0; i < mixed->worst_count; i++) {
        if (i == 0) {
            cli_sentence(
                0,
                "8 bits harm the outputs most in '%s': with the layers beside it, by noise of %.3g %% "
                "of their variance",
                mixed->worst[i].layer, 100.0 * mixed->worst[i].harm);
        } else {
            cli_sentence(0, "then in '%s': %.3g %%", mixed->worst[i].layer, 100.0 * mixed->worst[i].harm);
        }
    }
    for (uint32_t i = mixed->kept_count - mixed->chosen; i < mixed->kept_count; i++) {
        cli_sentence(0, "kept in float: %s", mixed->kept[i]);
    }
}

void cli_mixed_json(const cli_mixed *mixed, const vtac_quantize_report *report)
{
    cli_print(", \"trials\": %u, \"method\": \"%s\", \"float_share\": %.4g, \"kept_float\": [", mixed->trials,
              vtac_range_method_name(mixed->method), share_in_float(report));
    for (uint32_t i = 0; i < mixed->kept_count; i++) {
        cli_print("%s", i == 0 ? "" : ", ");
        cli_json_string(mixed->kept[i]);
    }
    cli_print("], \"kept_int8\": [");
    for (uint32_t i = 0; i < mixed->wide_count; i++) {
        cli_print("%s", i == 0 ? "" : ", ");
        cli_json_string(mixed->wide[i]);
    }
    cli_print("], \"worst\": [");
    for (uint32_t i = 0; i < mixed->worst_count; i++) {
        cli_print("%s{\"layer\": ", i == 0 ? "" : ", ");
        cli_json_string(mixed->worst[i].layer);
        cli_print(", \"harm\": %.6g}", mixed->worst[i].harm);
    }
    cli_print("]");
}
