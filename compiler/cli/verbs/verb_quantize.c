/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac quantize: a float model to one of 8-bit integers.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calib.h"
#include "mixed.h"
#include "parts.h"
#include "quality.h"
#include "stages.h"
#include "table.h"
#include "tensors.h"

#include "vta/fail.h"

enum { MAX_KEPT = 256 };

static const cli_option options[] = {
    CLI_CALIB_OPTIONS,
    {"--per-channel", NULL, CLI_FLAG, NULL},
    {"--per-tensor", NULL, CLI_FLAG, "one scale for a weight (default: --per-channel)"},
    {"--unsigned", NULL, CLI_FLAG, "activations are uint8 instead of int8"},
    {"--equalize", NULL, CLI_FLAG, "even out weights from layer to layer first"},
    {"--tune-rounding", NULL, CLI_FLAG, "weights go up or down as their layer's outputs need"},
    {"--no-bias-correction", NULL, CLI_FLAG, "do not correct what rounding the weights shifts"},
    {"--keep-float", "NODE", CLI_TEXT, "leave a node in float (may be repeated)"},
    {"--keep-int8", "NODE", CLI_TEXT, NULL},
    {"--round-nearest", NULL, CLI_FLAG, NULL},
    CLI_MIXED_OPTIONS,
    CLI_QUALITY_OPTIONS,
    {"--dynamic", NULL, CLI_FLAG, "open sizes stay open; --context N:T: as in compile"},
    {"--shape", "NAME=AxBxC", CLI_TEXT, "size of a dynamic input (may be repeated)"},
    CLI_CONTEXT_HIDDEN,
    CLI_MODEL_OPTIONS,
    {"-o", "FILE", CLI_OUT, "the quantized model (default: MODEL.int8.onnx)"},
    {"--report", NULL, CLI_FLAG, "print the noise of each layer, worst first"},
    {"--json", NULL, CLI_FLAG, "print the summary (and the report) as JSON"},
};

/* JSON has no infinity. */
static void json_number(double value)
{
    if (isfinite(value)) {
        cli_print("%.6g", value);
    } else {
        cli_print("null");
    }
}

static double percent_of(uint64_t part, uint64_t all)
{
    return all > 0 ? 100.0 * (double)part / (double)all : 0.0;
}

/* With the scales. */
static double bits_of_weight(const vtac_quantize_report *r)
{
    return r->weights > 0 ? (double)r->weight_bits / (double)r->weights : 0.0;
}

/* Perplexity in floats and in 8 bits, and with weights of 4 bits where the model has such; 8 bits of a model
 * of 4 bits are 0 where they were not tried. */
static void perplexity_json(const vtac_quantize_report *r, double bytes)
{
    if (r->predicted == 0) {
        return;
    }
    cli_print(", \"predicted\": %llu, \"perplexity_float\": %.6g, \"perplexity\": %.6g",
              (unsigned long long)r->predicted, r->perplexity_float, r->perplexity);
    if (bytes > 0.0) {
        cli_print(", \"perplexity_int8\": %.6g", bytes);
    }
}

static void perplexity_text(const vtac_quantize_report *r, double bytes)
{
    char wide[48] = "";
    if (r->predicted == 0) {
        return;
    }
    if (bytes > 0.0) {
        (void)snprintf(wide, sizeof wide, "%.4g in 8 bits, ", bytes);
    }
    cli_sentence(0, "perplexity over %llu ids: %.4g in float, %s%.4g %s (%+.2f %%)",
                 (unsigned long long)r->predicted, r->perplexity_float, wide, r->perplexity,
                 r->narrow > 0 ? "with weights of 4 bits" : "in 8 bits",
                 100.0 * (r->perplexity / r->perplexity_float - 1.0));
}

static void print_json(const cli_args *args, const char *path, const vtac_quantize_report *r,
                       const cli_mixed *mixed, double bytes)
{
    cli_print("{\"file\": ");
    cli_json_string(path);
    cli_print(", \"samples\": %u, \"decisions\": %llu, \"agreed\": %llu, \"output_error\": ", r->samples,
              (unsigned long long)r->decisions, (unsigned long long)r->agreed);
    json_number(r->output_error);
    cli_print(", \"output_snr_db\": ");
    json_number(r->output_snr_db);
    cli_print(", \"output_deviation\": ");
    json_number(r->output_deviation);
    if (mixed->labelled) {
        cli_print(", \"right\": %llu, \"right_float\": %llu, \"accuracy\": %.6g, \"accuracy_float\": %.6g",
                  (unsigned long long)r->right, (unsigned long long)r->right_float,
                  percent_of(r->right, r->decisions), percent_of(r->right_float, r->decisions));
    }
    perplexity_json(r, bytes);
    if (r->narrow > 0) {
        cli_print(", \"narrow\": %u, \"products\": %u, \"bits_a_weight\": %.4g", r->narrow, r->products,
                  bits_of_weight(r));
    }
    if (r->tuned > 0) {
        cli_print(", \"tuned\": %u, \"rounding_left\": %.6g", r->tuned, r->rounding_left);
    }
    cli_mixed_json(mixed, r);
    for (uint32_t i = 0; cli_flag(args, "--report") && i < r->layer_count; i++) {
        const vtac_quantized_layer *layer = &r->layers[i];
        cli_put(i == 0 ? ", \"layers\": [" : ",\n ");
        cli_print("{\"node\": ");
        cli_json_string(layer->node);
        cli_print(", \"op\": \"%s\", \"value\": ", layer->op);
        cli_json_string(layer->value);
        cli_print(", \"snr_db\": ");
        json_number(layer->snr_db);
        cli_print(", \"low\": %.9g, \"high\": %.9g, \"scale\": %.9g, \"zero\": %d", layer->low, layer->high,
                  (double)layer->scale, layer->zero);
        if (layer->weight_bits > 0) {
            cli_print(", \"weight_bits\": %u", layer->weight_bits);
        }
        if (layer->tuned) {
            cli_print(", \"rounding_before\": ");
            json_number(layer->rounding_before);
            cli_print(", \"rounding_after\": ");
            json_number(layer->rounding_after);
        }
        cli_print("}%s", i + 1 == r->layer_count ? "]" : "");
    }
    cli_quality_json(r);
    cli_print("}\n");
}

static void fill_row(const void *context, uint32_t row, cli_cell *cells)
{
    const vtac_quantized_layer *layer = &((const vtac_quantize_report *)context)->layers[row];
    cli_cell_print(&cells[0], "%.1f", layer->snr_db);
    cli_cell_print(&cells[1], "%.5g ... %.5g", layer->low, layer->high);
    cli_cell_print(&cells[2], "%.6g", (double)layer->scale);
    cli_cell_print(&cells[3], "%d", layer->zero);
    cells[4].text = layer->node[0] == '\0' ? layer->value : layer->node;
    cells[5].text = layer->op;
    if (layer->weight_bits > 0) {
        cli_cell_print(&cells[6], "%u", layer->weight_bits);
    }
    if (layer->tuned) {
        cli_cell_print(&cells[7], "%.3g -> %.3g", layer->rounding_before, layer->rounding_after);
    }
}

static void print_text(const cli_args *args, const char *path, const vtac_quantize_report *r,
                       const cli_mixed *mixed, double bytes)
{
    static const cli_column columns[] = {
        {"SNR [dB]", CLI_FIGURE}, {"range", CLI_WORD},    {"scale", CLI_WORD},  {"zero", CLI_FIGURE},
        {"layer", CLI_NAME},      {"operator", CLI_NAME}, {"bits", CLI_FIGURE}, {"rounding", CLI_WORD}};
    const size_t all = sizeof columns / sizeof columns[0];
    if (cli_flag(args, "--report")) {
        cli_table(columns, r->tuned > 0 ? all : all - 1, r->layer_count, fill_row, r);
    }
    cli_sentence(0, "%s: %u values of 8 bits, over %u samples; largest difference of an output %.4g", path,
                 r->layer_count, r->samples, r->output_error); /* the rest is told by output */
    if (r->narrow > 0) {
        cli_sentence(
            0,
            "weights of 4 bits in %u of %u layers; with their scales, a weight of the model has %.2f "
            "bits",
            r->narrow, r->products, bits_of_weight(r));
    }
    if (r->tuned > 0) {
        cli_sentence(0,
                     "rounding tuned in %u layers: what it adds to their outputs, squared, is %.1f %% less",
                     r->tuned, 100.0 * (1.0 - r->rounding_left));
    }
    perplexity_text(r, bytes);
    if (mixed->labelled) {
        const double now = percent_of(r->right, r->decisions), was = percent_of(r->right_float, r->decisions);
        cli_sentence(0, "%llu of %llu answers are right (%.2f %%), %llu in float (%.2f %%): %.2f points %s",
                     (unsigned long long)r->right, (unsigned long long)r->decisions, now,
                     (unsigned long long)r->right_float, was, fabs(was - now), now > was ? "gained" : "lost");
    }
    cli_quality_text(r);
    cli_mixed_text(mixed, r);
}

/* A model that decides otherwise now is no use; most often it is the weights that one scale does not fit. */
static void warn_of_changes(const cli_args *args, const vtac_quantize_options *how,
                            const vtac_quantize_report *r)
{
    const unsigned long long changed = r->decisions - r->agreed;
    const bool told = !r->made_up && r->quality != VTAC_QUALITY_GOOD; /* by quality.h */
    if (changed * 10 > r->decisions && !told) {
        cli_say("vtac quantize: %s: warning: %llu of %llu decisions are not those of floats; try %s\n",
                args->operands[0], changed, (unsigned long long)r->decisions,
                how->per_channel ? "another --method, or more inputs"
                                 : "--equalize, or leave out --per-tensor");
    }
}

static const char *output_path(const cli_args *args, uint32_t weight_bits, char *own, size_t size)
{
    const char *path = cli_value(args, "-o");
    const char *base = strrchr(args->operands[0], '/');
    base = base == NULL ? args->operands[0] : base + 1;
    const char *dot = strrchr(base, '.');
    (void)snprintf(own, size, "%.*s.int%d.onnx", dot == NULL ? (int)strlen(base) : (int)(dot - base), base,
                   weight_bits == 4 ? 4 : 8);
    return path == NULL ? own : path;
}

/* A model that real inputs show to be spoilt is not written. */
static vta_status write_model(const cli_parts *parts, const vtac_graph *graph, const char *path,
                              const vtac_quantize_report *report, vta_diag *diag)
{
    if (!report->made_up && cli_quality_check(parts->args, report, diag) != VTA_OK) {
        return vta_context(diag, "%s", parts->args->operands[0]);
    }
    return cli_parts_write(parts, graph, "vtac quantize", path, diag);
}

/* Names of nodes that an option gives, one each time. */
typedef struct kept_names {
    const char *name[MAX_KEPT];
    uint32_t count;
} kept_names;

static int read_kept(const cli_args *args, const char *option, kept_names *kept)
{
    size_t at = 0;
    kept->count = 0;
    for (const char *name = cli_next(args, option, &at); name != NULL; name = cli_next(args, option, &at)) {
        if (kept->count == MAX_KEPT) {
            return cli_usage(args, "%s may be given %d times", option, MAX_KEPT);
        }
        kept->name[kept->count++] = name;
    }
    return CLI_OK;
}

/* Names of nodes that stay float, and of those whose weights keep 8 bits. */
static int read_all_kept(const cli_args *args, kept_names kept[2], vtac_quantize_options *how)
{
    if (read_kept(args, "--keep-float", &kept[0]) != CLI_OK ||
        read_kept(args, "--keep-int8", &kept[1]) != CLI_OK) {
        return CLI_USAGE;
    }
    how->keep_float = kept[0].name;
    how->keep_count = kept[0].count;
    how->keep_bytes = kept[1].name;
    how->keep_bytes_count = kept[1].count;
    return how->keep_bytes_count > 0 && how->weight_bits != 4
               ? cli_usage(args, "--keep-int8 is about weights of 4 bits; give --weights int4")
               : CLI_OK;
}

static int read_options(const cli_args *args, kept_names kept[2], vtac_quantize_options *how)
{
    if (cli_flag(args, "--per-channel") && cli_flag(args, "--per-tensor")) {
        return cli_usage(args, "--per-channel or --per-tensor, not both");
    }
    how->per_channel = !cli_flag(args, "--per-tensor");
    how->unsigned_activations = cli_flag(args, "--unsigned");
    how->equalize = cli_flag(args, "--equalize");
    how->tune_rounding = cli_flag(args, "--tune-rounding");
    if (how->tune_rounding && cli_value(args, "--calib") == NULL) {
        return cli_usage(args, "--tune-rounding looks at real inputs; give --calib");
    }
    how->round_nearest = cli_flag(args, "--round-nearest");
    if (how->tune_rounding && how->round_nearest) {
        return cli_usage(args, "--tune-rounding or --round-nearest, not both");
    }
    how->correct_bias = !cli_flag(args, "--no-bias-correction");
    return cli_read_width(args, how) != CLI_OK ? CLI_USAGE : read_all_kept(args, kept, how);
}

/* The perplexity of the same model with weights of 8 bits; 0 where the model predicts no ids. */
static vta_status try_bytes(const cli_model_source *source, const vtac_quantize_options *how,
                            const cli_mixed *mixed, const vtac_quantize_report *narrow, double *out,
                            vta_diag *diag)
{
    vtac_quantize_options wide = *how;
    vtac_quantize_report report = {0};
    vtac_graph *graph = NULL;
    vta_status status = VTA_OK;
    if (narrow->narrow == 0 || narrow->predicted == 0 || narrow->made_up) {
        return VTA_OK;
    }
    wide.weight_bits = 8;
    wide.keep_bytes_count = 0;
    wide.method = mixed->method;
    wide.keep_float = mixed->kept;
    wide.keep_count = mixed->kept_count;
    VTA_TRY_OUT(source->load(source->context, &graph, diag));
    VTA_TRY_OUT(vtac_quantize(graph, mixed->samples, &wide, &report, diag));
    *out = report.perplexity;
out:
    vtac_graph_destroy(graph);
    vtac_quantize_report_free(&report);
    return status;
}

static int run_quantize(const cli_args *args)
{
    vtac_quantize_options how = VTAC_QUANTIZE_DEFAULTS;
    cli_shapes shapes;
    cli_mixed mixed;
    kept_names kept[2];
    if (cli_read_mixed(args, &mixed) != CLI_OK || cli_read_shapes(args, &shapes) != CLI_OK ||
        cli_read_method(args, &how.method) != CLI_OK || cli_check_preprocess(args) != CLI_OK ||
        read_options(args, kept, &how) != CLI_OK) {
        return CLI_USAGE;
    }
    cli_stages_begin();
    how.progress = cli_stages();
    cli_stage("reading", args->operands[0], 0, 0);
    cli_parts parts = {.args = args, .shapes = &shapes};
    const cli_model_source source = cli_parts_source(&parts);
    how.sizes = cli_parts_sizes(&parts);
    char own[4096];
    const char *path = output_path(args, how.weight_bits, own, sizeof own);
    vta_diag diag = {0};
    vta_arena arena = {0};
    mixed.arena = &arena;
    vtac_graph *graph = NULL;
    vtac_quantize_report report = {0};
    double bytes = 0.0; /* perplexity with weights of 8 bits */
    vta_status status = VTA_OK;
    VTA_TRY_OUT(cli_quantize_mixed(args, &source, &how, &mixed, &graph, &report, &diag));
    VTA_TRY_OUT(try_bytes(&source, &how, &mixed, &report, &bytes, &diag));
    VTA_TRY_OUT(cli_parts_join(&parts, mixed.samples, &graph, &report, &diag));
    VTA_TRY_OUT(write_model(&parts, graph, path, &report, &diag));
out:
    cli_parts_free(&parts);
    vtac_graph_destroy(graph);
    cli_stages_end();
    if (status == VTA_OK) {
        (cli_flag(args, "--json") ? print_json : print_text)(args, path, &report, &mixed, bytes);
        warn_of_changes(args, &how, &report);
    }
    vtac_quantize_report_free(&report);
    vta_arena_free(&arena);
    return status == VTA_OK ? cli_done(args) : cli_fail(args, &diag);
}

const cli_verb cli_verb_quantize = {
    .name = "quantize",
    .operands = "MODEL [--calib DIR|FILE] [-o FILE.onnx]",
    .summary = "make an 8-bit model (QDQ) of a float one",
    .more = "Example: vtac quantize m.onnx --calib s.npz --weights int4 --report\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .min = 1,
    .max = 1,
    .run = run_quantize,
};
