/* SPDX-License-Identifier: Apache-2.0
 *
 * The layers are put in the order of the noise that each adds, the worst first, by a trial in which all are
 * quantized. How many of the first must stay float is found by doubling, then by halving.
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

static vta_status read_labels(const char *path, vta_arena *arena, vtac_quantize_options *how, vta_diag *diag)
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

/* ---- trials */

/* Shares of the multiplications that may stay float to reach a mark. */
#define SHARE_FOR_GOOD     0.34
#define SHARE_FOR_DOUBTFUL 0.5

typedef struct mixed_search {
    const cli_args *args;
    const cli_model_source *source;
    vtac_quantize_options how; /* keep_count: what was named */
    cli_mixed *mixed;
    vta_arena *arena;
    const vtac_samples *samples;
    bool read; /* samples and labels are there */
    const char *const *names;
    uint32_t named, names_count; /* named by hand; and all of them, the noisiest first */
    vtac_quality target;         /* of the automatic search */
    bool widens;                 /* the trial gives weights of 4 bits 8, and leaves no layer in float */
    bool chosen;                 /* the trial leaves layers in float for the sake of the outputs */
    vtac_graph *graph;           /* the best so far */
    vtac_quantize_report *report;
    vta_diag *diag;
} mixed_search;

static bool is_good(const mixed_search *s, const vtac_quantize_report *r)
{
    const cli_mixed *m = s->mixed;
    const double in_float = (double)r->macs_float, all = (double)r->macs;
    const double share = s->target == VTAC_QUALITY_GOOD ? SHARE_FOR_GOOD : SHARE_FOR_DOUBTFUL;
    if (m->automatic && !r->made_up && (r->quality > s->target || (in_float > share * all && s->chosen))) {
        return false;
    }
    const double lost = (double)r->right_float - (double)r->right;
    return (m->max_loss < 0.0 || r->output_snr_db >= m->max_loss) &&
           (m->max_drop < 0.0 || 100.0 * lost <= m->max_drop * (double)r->decisions);
}

/* Quantizes with the first `chosen` of the noisiest as floats; takes the result if it is good, or any will
 * do. */
static vta_status try_floats(mixed_search *s, uint32_t chosen, bool any, vtac_quantize_report *report,
                             bool *good)
{
    vtac_graph *graph = NULL;
    vtac_quantize_options how = s->how;
    if (s->widens) {
        how.keep_bytes = s->names;
        how.keep_bytes_count = s->named + chosen;
    } else {
        how.keep_float = s->names;
        how.keep_count = s->named + chosen;
    }
    s->chosen = chosen > 0 && !s->widens;
    s->mixed->trials++;
    cli_stage("reading", s->args->operands[0], 0, 0);
    VTA_TRY(s->source->load(s->source->context, &graph, s->diag));
    vta_status status =
        s->read ? VTA_OK : s->source->read(s->source->context, graph, s->arena, &s->samples, s->diag);
    s->read = true;
    how.labels = s->how.labels;
    if (status == VTA_OK && vtac_quantize(graph, s->samples, &how, report, s->diag) != VTA_OK) {
        status = vta_context(s->diag, "%s", s->args->operands[0]);
    }
    *good = status == VTA_OK && is_good(s, report);
    if (*good || (status == VTA_OK && any)) {
        vtac_graph_destroy(s->graph);
        s->graph = graph;
        *(s->widens ? &s->mixed->wide_chosen : &s->mixed->chosen) = chosen;
        return VTA_OK;
    }
    vtac_graph_destroy(graph);
    return status;
}

static int by_added(const void *a, const void *b)
{
    const vtac_quantized_layer *x = a, *y = b;
    if (x->harm != y->harm) {
        return x->harm > y->harm ? -1 : 1;
    }
    return x->added > y->added ? -1 : x->added < y->added ? 1 : strcmp(x->value, y->value);
}

/* Harm becomes what leaving the group in float is worth: harm for its share of the work, of which a twentieth
 * is what the borders cost at least. */
static void price_harm(vtac_quantized_layer *layers, const vtac_quantize_report *report)
{
    for (uint32_t i = 0; i < report->layer_count; i++) {
        double macs = 0.0;
        for (uint32_t k = 0; k < report->layer_count; k++) {
            macs += report->layers[k].harm == report->layers[i].harm ? (double)report->layers[k].macs : 0.0;
        }
        if (layers[i].harm > 0.0) {
            layers[i].harm /= 0.05 + macs / (1.0 + (double)report->macs);
        }
    }
}

static vta_status rank_layers(mixed_search *s, const vtac_quantize_report *report)
{
    vtac_quantized_layer *layers = vta_arena_array(s->arena, report->layer_count + 1U, sizeof *layers);
    const char **names = vta_arena_array(s->arena, s->named + report->layer_count + 1U, sizeof *names);
    if (layers == NULL || names == NULL) {
        return vta_no_memory(s->diag);
    }
    memcpy(layers, report->layers, report->layer_count * sizeof *layers);
    price_harm(layers, report);
    qsort(layers, report->layer_count, sizeof *layers, by_added);
    for (uint32_t i = 0; i < s->named; i++) {
        names[i] = s->names[i];
    }
    s->names_count = 0;
    for (uint32_t i = 0; i < report->layer_count; i++) {
        if (s->widens && layers[i].weight_bits != 4) {
            continue;
        }
        const char *name = layers[i].node[0] != '\0' ? layers[i].node : layers[i].value;
        const char **to = &names[s->named + s->names_count++];
        *to = vta_arena_string(s->arena, name, strlen(name));
        if (*to == NULL) {
            return vta_no_memory(s->diag);
        }
    }
    s->names = names;
    return VTA_OK;
}

/* Tries another number of layers; the report of the last good trial stays. A trial that leaves nothing to
 * quantize is not good. */
static vta_status step_search(mixed_search *s, uint32_t chosen, bool *good)
{
    vtac_quantize_report report = {0};
    vta_status status = try_floats(s, chosen, false, &report, good);
    if (status == VTA_UNSUPPORTED) {
        *s->diag = (vta_diag){0};
        status = VTA_OK;
    }
    if (status == VTA_OK && *good) {
        vtac_quantize_report_free(s->report);
        *s->report = report;
    } else {
        vtac_quantize_report_free(&report);
    }
    return status;
}

static vta_status cannot_hold(const mixed_search *s, uint32_t max)
{
    const vtac_quantize_report *r = s->report;
    return s->mixed->max_drop < 0.0
               ? vta_fail(
                     s->diag, VTA_UNSUPPORTED,
                     "with up to %u layers in float its noise does not come %.4g dB below the outputs (all "
                     "quantized: %.1f dB); allow more loss, or try another --method",
                     max, s->mixed->max_loss, r->output_snr_db)
               : vta_fail(
                     s->diag, VTA_UNSUPPORTED,
                     "with up to %u layers in float it loses too much (all quantized: %llu of %u answers "
                     "right, %llu in float; %.1f dB); allow more loss, or try another --method",
                     max, (unsigned long long)r->right, s->how.label_count,
                     (unsigned long long)r->right_float, r->output_snr_db);
}

static vta_status narrow_search(mixed_search *s)
{
    uint32_t bad = 0, enough = 1;
    bool good = false;
    /* something is quantized, and has 4 bits; without a bound it is most of it */
    const uint32_t last = s->names_count > 0 ? s->names_count - 1 : 0;
    const uint32_t max = s->mixed->automatic ? s->names_count / (s->widens ? 2 : 3) : last;
    for (;;) {
        VTA_TRY(max == 0 ? VTA_OK : step_search(s, enough, &good));
        if (good) {
            break;
        }
        if (enough >= max) {
            return s->mixed->automatic || s->widens ? VTA_OK : cannot_hold(s, max);
        }
        bad = enough;
        enough = 2 * enough < max ? 2 * enough : max;
    }
    while (enough - bad > 1) {
        const uint32_t middle = bad + (enough - bad) / 2;
        VTA_TRY(step_search(s, middle, &good));
        if (good) {
            enough = middle;
        } else {
            bad = middle;
        }
    }
    return VTA_OK;
}

/* Weights of 4 bits get 8 in those layers first that harm the outputs most; layers in float are the next
 * thing to try. */
static vta_status widen_layers(mixed_search *s, bool *good)
{
    const char *const *floats = s->names;
    const uint32_t named = s->named;
    s->widens = true;
    s->names = s->how.keep_bytes;
    s->named = s->how.keep_bytes_count;
    VTA_TRY(rank_layers(s, s->report));
    VTA_TRY(narrow_search(s));
    s->mixed->wide = s->how.keep_bytes = s->names;
    s->mixed->wide_count = s->how.keep_bytes_count = s->named + s->mixed->wide_chosen;
    s->widens = false;
    s->names = floats;
    s->named = named;
    *good = is_good(s, s->report);
    return VTA_OK;
}

/* Distance of a model from its floats, as one number. */
static double loss_of(const vtac_quantize_report *report)
{
    double loss = 0.0;
    for (uint32_t i = 0; i < report->output_count; i++) {
        const vtac_output_quality *o = &report->outputs[i];
        loss = fmax(loss, o->mean_error + (1.0 - o->correlation) + o->lost_columns);
    }
    return loss + (double)report->quality;
}

/* Takes the ranges of another method where the outputs are nearer to those of floats. */
static vta_status try_method(mixed_search *s, vtac_range_method method)
{
    vtac_quantize_report report = {0};
    vtac_graph *graph = NULL;
    vtac_quantize_options how = s->how;
    how.method = method;
    how.measure_harm = false;
    s->mixed->trials++;
    VTA_TRY(s->source->load(s->source->context, &graph, s->diag));
    const vta_status status = vtac_quantize(graph, s->samples, &how, &report, s->diag);
    if (status != VTA_OK || loss_of(&report) >= loss_of(s->report)) {
        vtac_quantize_report_free(&report);
        vtac_graph_destroy(graph);
        return status;
    }
    vtac_quantize_report_free(s->report);
    vtac_graph_destroy(s->graph);
    *s->report = report;
    s->graph = graph;
    s->mixed->method = method;
    return VTA_OK;
}

/* Layers stay float until the mark is `target`. */
static vta_status reach_target(mixed_search *s, vtac_quality target)
{
    s->target = target;
    return s->report->quality > target && s->names_count > s->named + 3 ? narrow_search(s) : VTA_OK;
}

/* Without a bound: the best method for ranges, then layers that harm the outputs stay float, those first that
 * cost least for what they harm. What cannot be made good is made as good as it can. */
static vta_status improve_quality(mixed_search *s)
{
    VTA_TRY(rank_layers(s, s->report));
    for (uint32_t m = 0; cli_value(s->args, "--method") == NULL && m < VTAC_RANGE_COUNT; m++) {
        if (m != s->how.method && s->report->quality != VTAC_QUALITY_GOOD) {
            VTA_TRY(try_method(s, (vtac_range_method)m));
        }
    }
    s->how.method = s->mixed->method;
    s->how.keep_readers = true;
    s->how.measure_harm = false;
    VTA_TRY(reach_target(s, VTAC_QUALITY_GOOD));
    return reach_target(s, VTAC_QUALITY_DOUBTFUL);
}

/* The layer that adds the most noise in the group that does the most to the outputs, but for groups that do
 * `below` or more; NULL: none is left. */
static const vtac_quantized_layer *worst_below(const vtac_quantize_report *report, double below)
{
    const vtac_quantized_layer *worst = NULL;
    for (uint32_t i = 0; i < report->layer_count; i++) {
        const vtac_quantized_layer *layer = &report->layers[i];
        const bool counts = layer->harm > 0.0 && layer->harm < below;
        if (counts && (worst == NULL || layer->harm > worst->harm ||
                       (layer->harm >= worst->harm && layer->added > worst->added))) {
            worst = layer;
        }
    }
    return worst;
}

static vta_status keep_worst(const mixed_search *s)
{
    double below = (double)INFINITY;
    for (cli_mixed *m = s->mixed; m->worst_count < CLI_WORST; m->worst_count++) {
        const vtac_quantized_layer *layer = worst_below(s->report, below);
        if (layer == NULL) {
            break;
        }
        const char *name = layer->node[0] != '\0' ? layer->node : layer->value;
        m->worst[m->worst_count].layer = vta_arena_string(s->arena, name, strlen(name));
        m->worst[m->worst_count].harm = below = layer->harm;
        VTA_TRY(vta_allocated(m->worst[m->worst_count].layer != NULL, s->diag));
    }
    return VTA_OK;
}

/* All layers in 8 bits. */
static vta_status try_first(mixed_search *s, bool *good)
{
    VTA_TRY(try_floats(s, 0, true, s->report, good));
    return keep_worst(s);
}

vta_status cli_quantize_mixed(const cli_args *args, const cli_model_source *source,
                              const vtac_quantize_options *how, cli_mixed *mixed, vta_arena *arena,
                              vtac_graph **graph, vtac_quantize_report *report, vta_diag *diag)
{
    mixed_search s = {.args = args,
                      .source = source,
                      .how = *how,
                      .mixed = mixed,
                      .arena = arena,
                      .names = how->keep_float,
                      .named = how->keep_count,
                      .report = report,
                      .diag = diag};
    bool good;
    mixed->method = how->method;
    s.how.measure_harm = mixed->automatic;
    VTA_TRY(read_labels(cli_value(args, "--labels"), arena, &s.how, diag));
    vta_status status = try_first(&s, &good);
    if (status == VTA_OK && !good && how->weight_bits == 4 && (mixed->automatic || mixed->bounded)) {
        status = widen_layers(&s, &good);
    }
    if (status == VTA_OK && !good && mixed->automatic) {
        status = improve_quality(&s);
    } else if (status == VTA_OK && !good && mixed->bounded) {
        status = rank_layers(&s, report);
        status = status == VTA_OK ? narrow_search(&s) : status;
    }
    mixed->kept = s.names;
    mixed->kept_count = s.named + mixed->chosen;
    mixed->samples = s.samples;
    *graph = s.graph;
    return status;
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
