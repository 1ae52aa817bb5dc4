/* SPDX-License-Identifier: Apache-2.0 */
#include "quality.h"

#include <math.h>

#include "stages.h"
#include "table.h"

enum { MAX_ROWS = 16, WORST_LAYERS = 3 };

static void fill_output(const void *context, uint32_t row, cli_cell *cells)
{
    const vtac_output_quality *o = &((const vtac_quantize_report *)context)->outputs[row];
    cells[0].text = o->name;
    cli_cell_print(&cells[1], "%.2f %%", 100.0 * o->mean_error);
    cli_cell_print(&cells[2], "%.1f %%", 100.0 * o->largest_error);
    cli_cell_print(&cells[3], "%.1f", o->snr_db);
    cli_cell_print(&cells[4], "%.4f", o->correlation);
    cli_cell_print(&cells[5], "%u of %u", o->distinct, o->distinct_float);
    if (o->decisions > 0) {
        cli_cell_print(&cells[6], "%llu of %llu", (unsigned long long)o->agreed,
                       (unsigned long long)o->decisions);
    }
    if (o->probability >= 0.0) {
        cli_cell_print(&cells[7], "%.3f", o->probability);
    }
    cli_cell_print(&cells[8], "%s", vtac_quality_name(o->quality));
    cells[9].text = o->why;
}

void cli_quality_text(const vtac_quantize_report *report)
{
    static const cli_column columns[] = {{"output", CLI_NAME},        {"mean error", CLI_FIGURE},
                                         {"largest", CLI_FIGURE},     {"SNR [dB]", CLI_FIGURE},
                                         {"correlation", CLI_FIGURE}, {"values", CLI_FIGURE},
                                         {"decisions", CLI_FIGURE},   {"probability", CLI_FIGURE},
                                         {"mark", CLI_WORD},          {"because", CLI_SENTENCE}};
    if (report->output_count == 0) {
        return;
    }
    const uint32_t rows = report->output_count < MAX_ROWS ? report->output_count : MAX_ROWS;
    cli_sentence(0, "8 bits against floats, on %u %s%s: %s", report->samples,
                 report->made_up ? "made-up inputs" : "calibration inputs",
                 report->held_out ? ", each with the ranges of the others" : "",
                 vtac_quality_name(report->quality));
    cli_table(columns, sizeof columns / sizeof columns[0], rows, fill_output, report);
    if (rows < report->output_count) {
        cli_sentence(0, "and %u outputs more; --json has them all", report->output_count - rows);
    }
    const vtac_detections *d = &report->detections;
    if (d->floats + d->bytes > 0) {
        cli_sentence(
            0,
            "detections: %llu of %llu are found again (intersection at least half of the union, the same "
            "class), of %llu in 8 bits; the mean of intersection by union is %.3f, scores change by %.3f "
            "at most: %s",
            (unsigned long long)d->matched, (unsigned long long)d->floats, (unsigned long long)d->bytes,
            d->overlap, d->score_change, vtac_quality_name(d->quality));
    }
}

/* JSON has no infinity. */
static void print_number(const char *name, double value)
{
    cli_print(isfinite(value) ? ", \"%s\": %.6g" : ", \"%s\": null", name, value);
}

static void print_output(const vtac_output_quality *o)
{
    cli_print("{\"name\": ");
    cli_json_string(o->name);
    cli_print(", \"mark\": \"%s\", \"because\": ", vtac_quality_name(o->quality));
    cli_json_string(o->why);
    print_number("mean_error", o->mean_error);
    print_number("largest_error", o->largest_error);
    print_number("snr_db", o->snr_db);
    print_number("correlation", o->correlation);
    cli_print(", \"values\": %u, \"values_float\": %u, \"lost_columns\": %.4g", o->distinct,
              o->distinct_float, o->lost_columns);
    cli_print(", \"decisions\": %llu, \"agreed\": %llu", (unsigned long long)o->decisions,
              (unsigned long long)o->agreed);
    print_number("probability", o->probability >= 0.0 ? o->probability : (double)INFINITY);
    cli_print("}");
}

void cli_quality_json(const vtac_quantize_report *report)
{
    if (report->output_count == 0) {
        return;
    }
    cli_print(", \"quality\": {\"mark\": \"%s\", \"samples\": %u, \"made_up\": %s, \"held_out\": %s, "
              "\"outputs\": [",
              vtac_quality_name(report->quality), report->samples, report->made_up ? "true" : "false",
              report->held_out ? "true" : "false");
    for (uint32_t i = 0; i < report->output_count; i++) {
        cli_print("%s", i == 0 ? "" : ",\n ");
        print_output(&report->outputs[i]);
    }
    cli_print("]");
    const vtac_detections *d = &report->detections;
    if (d->floats + d->bytes > 0) {
        cli_print(", \"detections\": {\"float\": %llu, \"int8\": %llu, \"matched\": %llu, \"overlap\": %.6g, "
                  "\"score_change\": %.6g, \"mark\": \"%s\"}",
                  (unsigned long long)d->floats, (unsigned long long)d->bytes, (unsigned long long)d->matched,
                  d->overlap, d->score_change, vtac_quality_name(d->quality));
    }
    cli_print("}");
}

static const vtac_output_quality *worst_of(const vtac_quantize_report *report)
{
    const vtac_output_quality *worst = &report->outputs[0];
    for (uint32_t i = 1; i < report->output_count; i++) {
        worst = report->outputs[i].quality > worst->quality ? &report->outputs[i] : worst;
    }
    return worst;
}

/* Share of the range of an output. */
#define MAX_DEVIATION 0.1

static vta_status check_deviation(const cli_args *args, double deviation, vta_diag *diag)
{
    if (!(deviation <= MAX_DEVIATION) && !cli_flag(args, "--force")) {
        return vta_fail(
            diag, VTA_INVALID,
            "quantized without real inputs, its answers are off by %.1f %% of what they span; give "
            "inputs with --calib, or take them as they are with --force",
            100.0 * deviation);
    }
    cli_stages_hide();
    cli_say("vtac %s: %s: on other made-up inputs the answers of 8 bits are off by %.1f %% of what those "
            "of floats span\n",
            args->verb->name, args->operands[0], 100.0 * deviation);
    return VTA_OK;
}

static vta_status check_detections(const cli_args *args, const vtac_detections *d, vta_diag *diag)
{
    if (d->quality == VTAC_QUALITY_BAD && !cli_flag(args, "--force")) {
        return vta_fail(diag, VTA_INVALID,
                        "8 bits spoil the detections: %llu of %llu are found again, of %llu; give more "
                        "inputs, or take the model as it is with --force",
                        (unsigned long long)d->matched, (unsigned long long)d->floats,
                        (unsigned long long)d->bytes);
    }
    cli_stages_hide();
    cli_say("vtac %s: %s: warning: in 8 bits %llu of %llu detections are found again, of %llu\n",
            args->verb->name, args->operands[0], (unsigned long long)d->matched,
            (unsigned long long)d->floats, (unsigned long long)d->bytes);
    return VTA_OK;
}

vta_status cli_quality_check(const cli_args *args, const vtac_quantize_report *report, vta_diag *diag)
{
    if (report->made_up) {
        return check_deviation(args, report->output_deviation, diag);
    }
    if (report->output_count == 0 || report->quality == VTAC_QUALITY_GOOD) {
        return VTA_OK;
    }
    if (report->detections.quality == report->quality) {
        return check_detections(args, &report->detections, diag);
    }
    const vtac_output_quality *worst = worst_of(report);
    if (report->quality == VTAC_QUALITY_BAD && !cli_flag(args, "--force")) {
        return vta_fail(
            diag, VTA_INVALID, "8 bits spoil output '%s': %s; %s, or take the model as it is with --force",
            worst->name, worst->why,
            cli_flag(args, "--per-tensor")
                ? "try --equalize, or leave out --per-tensor"
                : "give more inputs, or name layers that stay float (vtac quantize --keep-float)");
    }
    cli_stages_hide();
    cli_say("vtac %s: %s: warning: in 8 bits output '%s' is %s: %s\n", args->verb->name, args->operands[0],
            worst->name, vtac_quality_name(worst->quality), worst->why);
    return VTA_OK;
}
