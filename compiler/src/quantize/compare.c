/* SPDX-License-Identifier: Apache-2.0
 *
 * Both models run on the same samples; each value's error is that of all layers up to it.
 */
#include "compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect.h"
#include "harm.h"
#include "language.h"
#include "quality.h"
#include "vta/fail.h"
#include "vtac/exact.h"

static const double log_of_10 = 2.302585092994045684;

/* Squares, summed. */
typedef struct power {
    double signal, noise, worst, low, high, count;
} power;

static void add_error(power *to, const float *is, const float *should, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const double x = (double)should[i];
        const double off = fabs((double)is[i] - x);
        to->signal += x * x;
        to->noise += off * off;
        to->low = to->count == 0.0 || x < to->low ? x : to->low;
        to->high = to->count == 0.0 || x > to->high ? x : to->high;
        to->count++;
        to->worst = !(off <= to->worst) ? off : to->worst; /* NaN counts */
    }
}

static double noise_decibels(const power *p)
{
    return p->noise > 0.0 ? 10.0 / log_of_10 * vtac_log(p->signal / p->noise) : (double)INFINITY;
}

static double noise_of(const power *p)
{
    return p->signal > 0.0 ? p->noise / p->signal : 0.0;
}

static double noise_deviation(const power *p)
{
    return p->noise > 0.0 ? sqrt(p->noise / p->count) / (p->high - p->low) : 0.0;
}

/* Scores of one decision: `count` of them, `step` elements apart. Further decisions begin at each of `step`
 * neighbouring elements, and again behind the last score of those. */
typedef struct scores {
    size_t count, step;
} scores;

/* The classes of a map, [N, classes, height, width], stand along axis 1, and each of its places decides; one
 * channel alone (a mask) decides nothing. Everything else has its scores along the last axis longer than 1:
 * [N, classes, 1, 1] is common. */
static scores scores_of(const vtac_type *type)
{
    uint32_t rank = type->rank;
    while (rank > 0 && type->dim[rank - 1] == 1) {
        rank--;
    }
    scores s = {rank == 0 ? 1 : (size_t)type->dim[rank - 1], 1};
    if (rank > 3) {
        s.count = (size_t)type->dim[1];
        for (uint32_t i = 2; i < rank; i++) {
            s.step *= (size_t)type->dim[i];
        }
    }
    return s;
}

static size_t largest_score(const float *from, const scores *s)
{
    size_t at = 0;
    for (size_t i = 1; i < s->count; i++) {
        at = from[i * s->step] > from[at * s->step] ? i : at;
    }
    return at;
}

static void add_decision(const vtac_quant_comparison *c, vtac_quantize_report *report, size_t chosen,
                         size_t meant)
{
    if (report->decisions < c->label_count) {
        report->right += chosen == c->labels[report->decisions];
        report->right_float += meant == c->labels[report->decisions];
    }
    report->decisions++;
    report->agreed += chosen == meant;
}

/* Compares the decisions of a classifier, or of each place of a map, by the first output. */
static void add_decisions(const vtac_quant_comparison *c, vtac_quantize_report *report, const vtac_type *type,
                          const float *is, const float *should)
{
    const size_t count = (size_t)vtac_type_elements(type);
    const scores s = scores_of(type);
    for (size_t at = 0; s.count > 1 && at + s.count * s.step <= count; at += s.count * s.step) {
        for (size_t i = at; i < at + s.step; i++) {
            add_decision(c, report, largest_score(is + i, &s), largest_score(should + i, &s));
        }
    }
}

static const char *copy_text(vtac_quantize_report *report, const char *text)
{
    text = text == NULL ? "" : text;
    return vta_arena_string(&report->arena, text, strlen(text));
}

/* The outputs' quality, while it is counted; NULL for outputs that are no floats. */
static vta_status open_qualities(const vtac_quant_comparison *c, vtac_quant_quality ***out,
                                 vtac_quantize_report *report, vta_diag *diag)
{
    const vtac_graph *g = c->quantized;
    const size_t room = g->output_count + (size_t)1;
    vtac_quant_quality **list = vta_arena_array(c->observer->plan->arena, room, sizeof(vtac_quant_quality *));
    report->outputs = vta_arena_array(&report->arena, room, sizeof *report->outputs);
    if (list == NULL || report->outputs == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < g->output_count; i++) {
        const vtac_type *type = &g->values[g->outputs[i]].type;
        list[i] = NULL;
        if (type->dtype == VTAC_F32 && vtac_type_elements(type) > 0) {
            VTA_TRY(vtac_quant_quality_open(type, c->observer->plan->arena, &list[i], diag));
        }
    }
    *out = list;
    return VTA_OK;
}

static vta_status close_qualities(const vtac_quant_comparison *c, vtac_quant_quality *const *list,
                                  vtac_quantize_report *report, vta_diag *diag)
{
    const vtac_graph *g = c->quantized;
    for (uint32_t i = 0; i < g->output_count; i++) {
        if (list[i] == NULL) {
            continue;
        }
        vtac_output_quality *output = &report->outputs[report->output_count++];
        *output = (vtac_output_quality){.name = copy_text(report, g->values[g->outputs[i]].name)};
        if (output->name == NULL) {
            return vta_no_memory(diag);
        }
        vtac_quant_quality_close(list[i], report->made_up, output);
        report->quality = output->quality > report->quality ? output->quality : report->quality;
    }
    return VTA_OK;
}

/* Output `i` of the float model for a sample. */
static const float *float_output(const vtac_quant_comparison *c, uint32_t sample, uint32_t i)
{
    return c->floats != NULL ? c->floats[(size_t)sample * c->quantized->output_count + i]
                             : vtac_quant_probe_output(c->observer->probe, i);
}

static vta_status add_outputs(const vtac_quant_comparison *c, const vtac_quant_probe *probe, uint32_t sample,
                              power *total, vtac_quant_quality *const *qualities,
                              vtac_quantize_report *report, vta_diag *diag)
{
    const vtac_graph *graph = c->quantized;
    bool first = true;
    for (uint32_t i = 0; i < graph->output_count; i++) {
        const vtac_type *type = &graph->values[graph->outputs[i]].type;
        if (type->dtype != VTAC_F32) {
            continue;
        }
        const float *is = vtac_quant_probe_output(probe, i);
        const float *should = float_output(c, sample, i);
        add_error(total, is, should, (size_t)vtac_type_elements(type));
        if (qualities[i] != NULL) {
            vtac_quant_quality_add(qualities[i], is, should);
        }
        if (first) {
            add_decisions(c, report, type, is, should);
        }
        if (!report->made_up) {
            VTA_TRY(vtac_match_tables(type->rank, type->dim, is, should, &report->detections, diag));
        }
        first = false;
    }
    return VTA_OK;
}

const vtac_node *vtac_quant_layer_of(const vtac_quant_plan *plan, vtac_value_id value)
{
    const vtac_graph *g = plan->graph;
    const vtac_node *node = &g->nodes[g->values[value].node];
    while (vtac_quant_role_of(node->op) == QUANT_CLAMP && node->inputs[0] < plan->value_room &&
           !plan->wanted[node->inputs[0]] && g->values[node->inputs[0]].node != 0) {
        node = &g->nodes[g->values[node->inputs[0]].node];
    }
    return node;
}

/* The noise that is new in a value: beyond that of the noisiest one that its layer reads. */
static double added_noise(const vtac_quant_comparison *c, const power *powers, uint32_t at,
                          const vtac_node *node)
{
    double read = 0.0;
    for (uint32_t k = 0; k < node->input_count; k++) {
        for (uint32_t i = 0; node->inputs[k] != 0 && i < c->observer->count; i++) {
            read = c->real[i] == node->inputs[k] ? fmax(read, noise_of(&powers[i])) : read;
        }
    }
    return fmax(0.0, noise_of(&powers[at]) - read);
}

static int by_noise(const void *a, const void *b)
{
    const vtac_quantized_layer *x = a;
    const vtac_quantized_layer *y = b;
    return x->snr_db < y->snr_db ? -1 : x->snr_db > y->snr_db ? 1 : strcmp(x->value, y->value);
}

/* The layer's bits, and its rounding before and after it was tuned, where it was. */
static void report_rounding(const vtac_quant_comparison *c, const vtac_node *node,
                            vtac_quantized_layer *layer)
{
    for (uint32_t i = 0; i < c->product_count; i++) {
        const vtac_quant_product *p = &c->products[i];
        layer->weight_bits = &c->quantized->nodes[p->node] == node ? p->bits : layer->weight_bits;
        if (p->tuned && &c->quantized->nodes[p->node] == node) {
            layer->tuned = true;
            layer->rounding_before = sqrt(p->rounding_before);
            layer->rounding_after = sqrt(p->rounding_after);
        }
    }
}

static vta_status fill_report(const vtac_quant_comparison *c, const power *powers, const double *harm,
                              vtac_quantize_report *report, vta_diag *diag)
{
    const vtac_quant_observer *o = c->observer;
    const vtac_graph *g = c->quantized;
    report->layers = vta_arena_array(&report->arena, o->count + (size_t)1, sizeof *report->layers);
    for (uint32_t i = 0; report->layers != NULL && i < o->count; i++) {
        const vtac_quant_seen *seen = &o->seen[i];
        if (g->values[seen->value].node == 0) {
            continue; /* an input of the graph */
        }
        const vtac_quant_range *range = vtac_quant_range_of(o, seen->value);
        const vtac_node *node = vtac_quant_layer_of(o->plan, seen->value);
        vtac_quantized_layer *layer = &report->layers[report->layer_count++];
        *layer = (vtac_quantized_layer){.node = copy_text(report, node->name),
                                        .op = vtac_op_get(node->op)->name,
                                        .value = copy_text(report, g->values[c->real[i]].name),
                                        .snr_db = noise_decibels(&powers[i]),
                                        .added = added_noise(c, powers, i, node),
                                        .low = range->low,
                                        .high = range->high,
                                        .harm = harm[i],
                                        .macs = vtac_quant_macs(g, node)};
        vtac_quant_range_params(range, c->dtype, &layer->scale, &layer->zero);
        report_rounding(c, node, layer);
        if (layer->node == NULL || layer->value == NULL) {
            return vta_no_memory(diag);
        }
    }
    if (report->layers == NULL) {
        return vta_no_memory(diag);
    }
    qsort(report->layers, report->layer_count, sizeof *report->layers, by_noise);
    return VTA_OK;
}

/* Errors of all values that are quantized. */
static void add_values(const vtac_quant_comparison *c, const vtac_quant_probe *probe, power *powers)
{
    const vtac_quant_observer *o = c->observer;
    for (uint32_t i = 0; i < o->count; i++) {
        const uint32_t place = c->places != NULL ? c->places[i] : i;
        add_error(&powers[i], vtac_quant_probe_value(probe, place), vtac_quant_probe_value(o->probe, place),
                  (size_t)vtac_type_elements(&c->quantized->values[o->seen[i].value].type));
    }
}

static vta_status walk_samples(const vtac_quant_comparison *c, vtac_quant_probe *probe, power *powers,
                               power *total, vtac_quant_quality *const *qualities,
                               vtac_quantize_report *report, vta_diag *diag)
{
    vtac_quant_language language;
    vtac_quant_language_find(c->quantized, &language);
    for (uint32_t s = 0; s < c->samples->count; s++) {
        VTA_TRY(vtac_progress_at(c->progress, "comparing sample", NULL, s, c->samples->count, diag));
        VTA_TRY(c->before != NULL ? c->before(c->context, s, diag) : VTA_OK);
        VTA_TRY(vtac_quant_probe_run(probe, c->samples, s, diag));
        if (c->floats == NULL) {
            VTA_TRY(vtac_quant_probe_run(c->observer->probe, c->samples, s, diag));
            add_values(c, probe, powers);
        }
        VTA_TRY(add_outputs(c, probe, s, total, qualities, report, diag));
        if (language.found) {
            vtac_quant_language_add(&language, c->samples, s, vtac_quant_probe_output(probe, language.output),
                                    float_output(c, s, language.output));
        }
    }
    vtac_quant_language_close(&language, report);
    return VTA_OK;
}

/* Compiles the quantized graph, where that was not done. */
static vta_status open_quantized(const vtac_quant_comparison *c, vtac_quant_probe **out, vta_diag *diag)
{
    *out = c->probe;
    if (c->probe != NULL) {
        return VTA_OK;
    }
    VTA_TRY(vtac_progress_at(c->progress, "compiling the model of integers", NULL, 0, 0, diag));
    return vtac_quant_probe_open(c->quantized, c->real, c->observer->count, out, diag);
}

vta_status vtac_quant_compare(const vtac_quant_comparison *c, vtac_quantize_report *report, vta_diag *diag)
{
    const vtac_quant_observer *o = c->observer;
    power total = {0};
    power *powers = vta_arena_array(o->plan->arena, o->count + (size_t)1, sizeof *powers);
    vtac_quant_probe *probe;
    if (powers == NULL) {
        return vta_no_memory(diag);
    }
    memset(powers, 0, o->count * sizeof *powers);
    report->samples = c->samples->count;
    vtac_quant_quality **qualities = NULL;
    VTA_TRY(open_qualities(c, &qualities, report, diag));
    VTA_TRY(open_quantized(c, &probe, diag));
    const vta_status status = walk_samples(c, probe, powers, &total, qualities, report, diag);
    vtac_quant_probe_close(c->probe == NULL ? probe : NULL);
    VTA_TRY(status);
    VTA_TRY(close_qualities(c, qualities, report, diag));
    vtac_close_detections(&report->detections, report);
    report->output_error = total.worst;
    report->output_snr_db = noise_decibels(&total);
    report->output_deviation = noise_deviation(&total);
    if (c->labels != NULL && report->decisions != c->label_count) {
        return vta_fail(diag, VTA_INVALID,
                        "there are %u labels for %llu answers; give one for each row of the first output, in "
                        "the order of the calibration inputs",
                        c->label_count, (unsigned long long)report->decisions);
    }
    if (c->floats != NULL) {
        return VTA_OK;
    }
    double *harm = vta_arena_array(o->plan->arena, o->count + (size_t)1, sizeof *harm);
    if (harm == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < o->count; i++) {
        harm[i] = -1.0;
    }
    if (c->measure_harm && report->quality != VTAC_QUALITY_GOOD && !report->made_up) {
        VTA_TRY(vtac_quant_harm(c, harm, diag));
    }
    return fill_report(c, powers, harm, report, diag);
}
