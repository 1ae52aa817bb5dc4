/* SPDX-License-Identifier: Apache-2.0
 *
 * The samples run once with all switches off: the range of each value, by every method. A trial makes its
 * plan, joins the ranges of the values that have one scale in it, sets the switches and runs.
 */
#include "trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "job.h"
#include "kept.h"
#include "switches.h"
#include "vta/fail.h"

enum { HELD_OUT = 8 }; /* samples, and more, that are held out: fewer make ranges that say little */

enum { HARM_GROUPS = 16, HARM_SAMPLES = 2, HARM_WORST = 4, HARM_SINGLE = 48 };

/* The two least and the two greatest numbers of all samples, and the samples that have the first of them. */
typedef struct seen_ends {
    double low[2], high[2];
    uint32_t low_at, high_at;
} seen_ends;

struct vtac_trials {
    vtac_graph *graph;
    vta_arena arena;
    vtac_dtype dtype;
    const vtac_samples *samples;
    const vtac_progress *progress;
    vtac_quant_plan plan;  /* all that is quantized where nothing was chosen to stay float */
    vtac_quant_plan apart; /* the same, each value with a range of its own */
    vtac_quant_observer observer;
    vtac_quant_range *ranges[VTAC_RANGE_COUNT]; /* by place in the observer */
    bool counted;                               /* histograms are there */
    vtac_quant_switches switches;
    float **floats;              /* outputs of the float model: by sample, then by output */
    vtac_quant_range *of_sample; /* by sample, then by place in the observer */
    vtac_quant_range *without;   /* by place: the range of all samples but one, by the method of the trial */
    seen_ends *ends;             /* by place */
};

/* ---- one trial */

typedef struct trial {
    vtac_trials *of;
    const vtac_quantize_options *how;
    vta_arena arena;
    vtac_quant_plan plan;
    vtac_quant_observer observer;
} trial;

static uint32_t output_bytes(const vtac_graph *g, uint32_t i)
{
    const vtac_type *type = &g->values[g->outputs[i]].type;
    return type->dtype == VTAC_F32 ? (uint32_t)((size_t)vtac_type_elements(type) * sizeof(float)) : 0;
}

/* Switches activation or constant `i` on, where the trial quantizes it. */
static vta_status set_value(const trial *t, uint32_t i, vta_diag *diag)
{
    const vtac_quant_switch *s = &t->of->switches.values[i];
    const bool constant = s->node != 0;
    const bool on =
        t->plan.wanted[s->value] && (!constant || (t->plan.active[s->node] && t->plan.island[s->node] == 0));
    float scale;
    int32_t zero;
    if (!on) {
        return VTA_OK;
    }
    const vtac_quant_range range = constant ? vtac_quant_constant_range(&t->observer, s->value)
                                            : *vtac_quant_range_of(&t->observer, s->value);
    vtac_quant_range_params(&range, t->of->dtype, &scale, &zero);
    return vtac_quant_switch_value(&t->of->switches, i, t->of->dtype, scale, zero, diag);
}

/* Takes off the bias what rounding the weights adds to the means; once. */
static vta_status correct_bias(const trial *t, vtac_quant_dual *d, vta_diag *diag)
{
    const double *mean = NULL;
    if (d->corrected || d->bias == NULL || !t->how->correct_bias) {
        return VTA_OK;
    }
    d->corrected = true;
    VTA_TRY(vtac_quant_means(&t->observer, t->plan.graph->nodes[d->product.node].inputs[VTAC_PRODUCT_X],
                             &mean, diag));
    float *real = mean == NULL ? NULL : malloc((size_t)vtac_type_elements(&d->product.type) * sizeof *real);
    if (mean != NULL && real == NULL) {
        return vta_no_memory(diag);
    }
    if (mean != NULL) {
        vtac_quant_correct_bias(&d->product, d->w, real, mean, d->group, d->share, d->bias);
    }
    free(real);
    return VTA_OK;
}

static vta_status set_product(const trial *t, uint32_t i, vta_diag *diag)
{
    vtac_quant_dual *d = &t->of->switches.products[i];
    const vtac_value_id x = t->plan.graph->nodes[d->product.node].inputs[VTAC_PRODUCT_X];
    float scale;
    int32_t zero;
    if (!t->plan.active[d->product.node]) {
        return VTA_OK;
    }
    VTA_TRY(correct_bias(t, d, diag));
    vtac_quant_range_params(vtac_quant_range_of(&t->observer, x), t->of->dtype, &scale, &zero);
    return vtac_quant_switch_product(&t->of->switches, i, scale, diag);
}

static vta_status set_switches(const trial *t, vta_diag *diag)
{
    const vtac_quant_switches *s = &t->of->switches;
    VTA_TRY(vtac_quant_switch_off(s, diag));
    for (uint32_t i = 0; i < s->value_count; i++) {
        VTA_TRY(set_value(t, i, diag));
    }
    for (uint32_t i = 0; i < s->product_count; i++) {
        VTA_TRY(set_product(t, i, diag));
    }
    return VTA_OK;
}

static vta_status plan_trial(trial *t, vta_diag *diag)
{
    const bool *kept = NULL;
    VTA_TRY(vtac_quant_find_kept(t->of->graph, t->how, &t->arena, &kept, diag));
    VTA_TRY(vtac_quant_plan_make(t->of->graph, kept, t->how->ends, &t->arena, &t->plan, diag));
    VTA_TRY(vtac_quant_has_work(&t->plan) ? VTA_OK : vtac_quant_fail_nothing(diag));
    VTA_TRY(vtac_trials_observe(t->of, &t->plan, t->how->method, &t->observer, diag));
    vtac_quant_centre_factors(&t->observer);
    return VTA_OK;
}

/* ---- what a layer does to the outputs */

/* Switches on what stands for value `i` of the trial's observer: the value, and the product that makes it. */
static vta_status set_layer(const trial *t, uint32_t i, vta_diag *diag)
{
    const vtac_quant_switches *s = &t->of->switches;
    const vtac_value_id value = t->observer.seen[i].value;
    const vtac_node *node = vtac_quant_layer_of(&t->plan, value);
    VTA_TRY(set_value(t, t->of->observer.of[value] - 1, diag));
    for (uint32_t k = 0; k < s->product_count; k++) {
        if (&t->plan.graph->nodes[s->products[k].product.node] == node) {
            VTA_TRY(set_product(t, k, diag));
        }
    }
    return VTA_OK;
}

/* Noise of an output, and its variance in floats. */
static double noise_share(const float *is, const float *should, size_t count)
{
    double noise = 0.0, sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double off = (double)is[i] - (double)should[i];
        noise += off * off;
        sum += (double)should[i];
        squares += (double)should[i] * (double)should[i];
    }
    const double variance = count > 0 ? squares - sum * sum / (double)count : 0.0;
    return variance > 0.0 ? noise / variance : 0.0;
}

/* The largest share of any output with what is switched on; an output that does not move says nothing. */
static vta_status measure_harm(const trial *t, double *out, vta_diag *diag)
{
    const vtac_trials *of = t->of;
    const vtac_graph *g = of->graph;
    *out = 0.0;
    for (uint32_t s = 0; s < of->samples->count && s < HARM_SAMPLES; s++) {
        VTA_TRY(vtac_quant_probe_run(of->switches.probe, of->samples, s, diag));
        for (uint32_t i = 0; i < g->output_count; i++) {
            const size_t count = output_bytes(g, i) / sizeof(float);
            *out = fmax(*out, noise_share(vtac_quant_probe_output(of->switches.probe, i),
                                          of->floats[(size_t)s * g->output_count + i], count));
        }
    }
    return VTA_OK;
}

/* Harm of values [first, last), alone. */
static vta_status harm_of_group(const trial *t, uint32_t first, uint32_t last, double *out, vta_diag *diag)
{
    VTA_TRY(vtac_progress_at(t->of->progress, "measuring what layers do to the outputs", NULL, first,
                             t->observer.count, diag));
    VTA_TRY(vtac_quant_switch_off(&t->of->switches, diag));
    for (uint32_t i = first; i < last; i++) {
        VTA_TRY(set_layer(t, i, diag));
    }
    return measure_harm(t, out, diag);
}

static uint32_t group_end(uint32_t group, uint32_t groups, uint32_t count)
{
    return (uint32_t)(((uint64_t)group * count + groups - 1) / groups);
}

/* Each layer of a group by itself. */
static vta_status harm_of_each(const trial *t, uint32_t first, uint32_t last, double *harm, vta_diag *diag)
{
    for (uint32_t i = first; i < last; i++) {
        VTA_TRY(harm_of_group(t, i, i + 1, &harm[i], diag));
    }
    return VTA_OK;
}

/* By groups of neighbours, then by layers in the worst groups; a network of few layers by layers. */
static vta_status harm_of_layers(const trial *t, double *harm, vta_diag *diag)
{
    const uint32_t count = t->observer.count, groups = count < HARM_GROUPS ? count : HARM_GROUPS;
    double of_group[HARM_GROUPS] = {0.0};
    if (count <= HARM_SINGLE) {
        return harm_of_each(t, 0, count, harm, diag);
    }
    for (uint32_t i = 0; i < groups; i++) {
        const uint32_t first = group_end(i, groups, count), last = group_end(i + 1, groups, count);
        VTA_TRY(harm_of_group(t, first, last, &of_group[i], diag));
        for (uint32_t k = first; k < last; k++) {
            harm[k] = of_group[i];
        }
    }
    for (uint32_t k = 0; k < HARM_WORST; k++) {
        uint32_t worst = 0;
        for (uint32_t i = 1; i < groups; i++) {
            worst = of_group[i] > of_group[worst] ? i : worst;
        }
        of_group[worst] = -1.0;
        VTA_TRY(harm_of_each(t, group_end(worst, groups, count), group_end(worst + 1, groups, count), harm,
                             diag));
    }
    return VTA_OK;
}

static vta_status report_harm(trial *t, vtac_quantize_report *report, vta_diag *diag)
{
    double *harm = vta_arena_array(&t->arena, t->observer.count + (size_t)1, sizeof *harm);
    if (harm == NULL) {
        return vta_no_memory(diag);
    }
    VTA_TRY(harm_of_layers(t, harm, diag));
    for (uint32_t i = 0; i < report->layer_count; i++) {
        vtac_quantized_layer *layer = &report->layers[i];
        const vtac_value_id value = vtac_find_value(t->of->graph, layer->value);
        for (uint32_t k = 0; k < t->observer.count; k++) {
            layer->harm = t->observer.seen[k].value == value ? harm[k] : layer->harm;
        }
    }
    return VTA_OK;
}

/* ---- samples that the ranges have not seen */

/* The range of a value without one sample, by a method that makes `by` of the whole range. */
static vtac_quant_range range_without(const seen_ends *e, const vtac_quant_range *whole,
                                      const vtac_quant_range *by, uint32_t sample)
{
    const double low = e->low[e->low_at == sample], high = e->high[e->high_at == sample];
    return (vtac_quant_range){.low = by->low < whole->low ? low * (by->low / whole->low) : fmax(by->low, low),
                              .high = by->high > whole->high ? high * (by->high / whole->high)
                                                             : fmin(by->high, high)};
}

/* Sets the ranges of a trial for a sample: those of all others. */
static vta_status hold_out(void *context, uint32_t sample, vta_diag *diag)
{
    const trial *t = context;
    const vtac_trials *of = t->of;
    for (uint32_t i = 0; i < of->observer.count; i++) {
        of->without[i] =
            range_without(&of->ends[i], &of->observer.seen[i].range, &of->ranges[t->how->method][i], sample);
    }
    vtac_quant_observe_again(&t->observer, &of->observer, of->without);
    vtac_quant_centre_factors(&t->observer);
    for (uint32_t i = 0; i < of->switches.value_count; i++) {
        VTA_TRY(set_value(t, i, diag));
    }
    return VTA_OK;
}

/* The ranges of all samples again. */
static vta_status hold_none_out(const trial *t, vta_diag *diag)
{
    vtac_quant_observe_again(&t->observer, &t->of->observer, t->of->ranges[t->how->method]);
    vtac_quant_centre_factors(&t->observer);
    return set_switches(t, diag);
}

/* The ends of the ranges of each sample. */
static void find_ends(const vtac_trials *t)
{
    for (uint32_t i = 0; i < t->observer.count; i++) {
        seen_ends *e = &t->ends[i];
        *e = (seen_ends){.low_at = UINT32_MAX, .high_at = UINT32_MAX};
        for (uint32_t s = 0; s < t->samples->count; s++) {
            const vtac_quant_range *own = &t->of_sample[(size_t)s * t->observer.count + i];
            const bool lowest = own->low<e->low[0], highest = own->high> e->high[0];
            e->low[1] = lowest ? e->low[0] : fmin(e->low[1], own->low);
            e->high[1] = highest ? e->high[0] : fmax(e->high[1], own->high);
            e->low[0] = fmin(e->low[0], own->low);
            e->high[0] = fmax(e->high[0], own->high);
            e->low_at = lowest ? s : e->low_at;
            e->high_at = highest ? s : e->high_at;
        }
    }
}

static vta_status run_trial(trial *t, bool layers, vtac_quantize_report *report, vta_diag *diag)
{
    const vtac_trials *of = t->of;
    VTA_TRY(plan_trial(t, diag));
    VTA_TRY(set_switches(t, diag));
    const size_t room = t->observer.count + (size_t)1;
    uint32_t *places = vta_arena_array(&t->arena, room, sizeof *places);
    vtac_value_id *values = vta_arena_array(&t->arena, room, sizeof *values);
    if (places == NULL || values == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < t->observer.count; i++) {
        values[i] = t->observer.seen[i].value;
        places[i] = of->observer.of[values[i]] - 1;
    }
    vtac_quant_count_macs(&t->plan, report);
    report->held_out = t->how->hold_out && of->samples->count >= HELD_OUT;
    t->observer.probe = of->switches.floats;
    const vtac_quant_comparison c = {.observer = &t->observer,
                                     .quantized = of->graph,
                                     .probe = of->switches.probe,
                                     .real = values,
                                     .places = places,
                                     .floats = layers ? NULL : (const float *const *)of->floats,
                                     .samples = of->samples,
                                     .dtype = of->dtype,
                                     .labels = t->how->labels,
                                     .label_count = t->how->label_count,
                                     .before = report->held_out ? hold_out : NULL,
                                     .context = t,
                                     .progress = of->progress};
    VTA_TRY(vtac_quant_compare(&c, report, diag));
    if (report->held_out) {
        VTA_TRY(hold_none_out(t, diag));
    }
    return t->how->measure_harm && report->quality != VTAC_QUALITY_GOOD ? report_harm(t, report, diag)
                                                                        : VTA_OK;
}

vta_status vtac_trials_try(vtac_trials *trials, const vtac_quantize_options *how, bool layers,
                           vtac_quantize_report *report, vta_diag *diag)
{
    trial t = {.of = trials, .how = how};
    *report = (vtac_quantize_report){0};
    const vta_status status = run_trial(&t, layers, report, diag);
    vta_arena_free(&t.arena);
    return status;
}

/* ---- what all trials share */

/* A plan in which no values have one scale together. */
static vta_status set_apart(vtac_trials *t, vta_diag *diag)
{
    t->apart = t->plan;
    t->apart.parent = vta_arena_array(&t->arena, t->plan.value_room, sizeof *t->apart.parent);
    if (t->apart.parent == NULL) {
        return vta_no_memory(diag);
    }
    for (vtac_value_id v = 0; v < t->plan.value_room; v++) {
        t->apart.parent[v] = v;
    }
    return VTA_OK;
}

static vta_status plan_all(vtac_trials *t, vtac_graph *twin, const vtac_quantize_options *how,
                           vtac_quant_plan *second, vta_diag *diag)
{
    vtac_quant_borders borders;
    const bool *kept = NULL;
    VTA_TRY(vtac_quant_prepare(t->graph, &borders, t->samples, how, diag));
    VTA_TRY(vtac_quant_prepare(twin, &borders, t->samples, how, diag));
    VTA_TRY(vtac_quant_find_kept(t->graph, how, &t->arena, &kept, diag));
    VTA_TRY(vtac_quant_plan_make(t->graph, kept, how->ends, &t->arena, &t->plan, diag));
    VTA_TRY(vtac_quant_plan_make(twin, kept, how->ends, &t->arena, second, diag));
    VTA_TRY(vtac_quant_has_work(&t->plan) ? VTA_OK : vtac_quant_fail_nothing(diag));
    return set_apart(t, diag);
}

static vta_status keep_outputs(vtac_trials *t, uint32_t sample, vta_diag *diag)
{
    const vtac_graph *g = t->graph;
    for (uint32_t i = 0; i < g->output_count; i++) {
        const size_t bytes = output_bytes(g, i);
        float **to = &t->floats[(size_t)sample * g->output_count + i];
        *to = vta_arena_alloc(&t->arena, bytes + 1);
        if (*to == NULL) {
            return vta_no_memory(diag);
        }
        if (bytes > 0) {
            memcpy(*to, vtac_quant_probe_output(t->switches.floats, i), bytes);
        }
    }
    return VTA_OK;
}

static vta_status see_floats(vtac_trials *t, vta_diag *diag)
{
    const size_t outputs = (size_t)t->samples->count * t->graph->output_count;
    const size_t places = t->observer.count + (size_t)1;
    t->floats = vta_arena_array(&t->arena, outputs + 1, sizeof(float *));
    t->of_sample = vta_arena_array(&t->arena, places * t->samples->count, sizeof *t->of_sample);
    t->without = vta_arena_array(&t->arena, places, sizeof *t->without);
    t->ends = vta_arena_array(&t->arena, places, sizeof *t->ends);
    if (t->floats == NULL || t->of_sample == NULL || t->without == NULL || t->ends == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t s = 0; s < t->samples->count; s++) {
        VTA_TRY(vtac_progress_at(t->progress, "ranges of sample", NULL, s, t->samples->count, diag));
        VTA_TRY(vtac_quant_observe_sample(&t->observer, t->samples, s, false, diag));
        vtac_quant_observe_run(&t->observer, &t->of_sample[(size_t)s * t->observer.count]);
        VTA_TRY(keep_outputs(t, s, diag));
    }
    find_ends(t);
    return VTA_OK;
}

static vta_status open_trials(vtac_trials *t, vtac_graph *twin, const vtac_quantize_options *how,
                              vta_diag *diag)
{
    vtac_quant_plan second;
    VTA_TRY(plan_all(t, twin, how, &second, diag));
    VTA_TRY(vtac_quant_observe_list(&t->apart, &t->observer, diag));
    vtac_value_id *values = vta_arena_array(&t->arena, t->observer.count + (size_t)1, sizeof *values);
    if (values == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < t->observer.count; i++) {
        values[i] = t->observer.seen[i].value;
    }
    const vtac_quant_width width = {.bits = 8, .per_channel = how->per_channel};
    VTA_TRY(vtac_progress_at(how->progress, "compiling the model with switches", NULL, 0, 0, diag));
    VTA_TRY(vtac_quant_switches_open(&second, values, t->observer.count, &width, &t->switches, diag));
    VTA_TRY(vtac_quant_switch_off(&t->switches, diag));
    t->observer.probe = t->switches.floats;
    return see_floats(t, diag);
}

/* True where the model has further sizes. */
static vta_status has_sizes(const vtac_more_sizes *sizes, bool *has, vta_diag *diag)
{
    vtac_graph *graph = NULL;
    const vtac_samples *samples;
    VTA_TRY(sizes->load == NULL ? VTA_OK : sizes->load(sizes->context, 0, &graph, &samples, diag));
    *has = graph != NULL;
    vtac_graph_destroy(graph);
    return VTA_OK;
}

vta_status vtac_trials_open(vtac_graph *graph, vtac_graph *twin, const vtac_samples *samples,
                            const vtac_quantize_options *how, vtac_trials **out, vta_diag *diag)
{
    bool sizes;
    *out = NULL;
    VTA_TRY(has_sizes(&how->sizes, &sizes, diag));
    if (sizes || samples == NULL || how->equalize || how->tune_rounding || how->weight_bits == 4 ||
        graph->flow != NULL) {
        return VTA_OK;
    }
    vtac_trials *t = calloc(1, sizeof *t);
    VTA_TRY(vta_allocated(t != NULL, diag));
    *t = (vtac_trials){.graph = graph,
                       .dtype = how->unsigned_activations ? VTAC_U8 : VTAC_I8,
                       .samples = samples,
                       .progress = how->progress};
    const vta_status status = open_trials(t, twin, how, diag);
    if (status != VTA_OK) {
        vtac_trials_close(t);
        return status;
    }
    *out = t;
    return VTA_OK;
}

void vtac_trials_close(vtac_trials *t)
{
    if (t != NULL) {
        vtac_quant_switches_close(&t->switches);
        vta_arena_free(&t->arena);
        free(t);
    }
}

/* ---- ranges */

/* Gives ranges that hold all that was seen their room. */
static vta_status widen_ranges(const vtac_trials *t, vtac_quant_range *ranges, vta_diag *diag)
{
    vtac_quant_observer wide = t->observer;
    wide.seen = vta_arena_array(t->apart.arena, t->observer.count + (size_t)1, sizeof *wide.seen);
    if (wide.seen == NULL) {
        return vta_no_memory(diag);
    }
    memcpy(wide.seen, t->observer.seen, t->observer.count * sizeof *wide.seen);
    VTA_TRY(vtac_quant_widen(&wide, QUANT_ROOM, diag));
    for (uint32_t i = 0; i < t->observer.count; i++) {
        ranges[i] = wide.seen[i].range;
    }
    return VTA_OK;
}

/* The ranges by a method, of each value alone. */
static vta_status find_ranges(vtac_trials *t, vtac_range_method method, vta_diag *diag)
{
    if (t->ranges[method] != NULL) {
        return VTA_OK;
    }
    if (method != VTAC_RANGE_MINMAX && method != VTAC_RANGE_ROOM && !t->counted) {
        VTA_TRY(vtac_quant_observe_bins(&t->observer, diag));
        for (uint32_t s = 0; s < t->samples->count; s++) {
            VTA_TRY(vtac_progress_at(t->progress, "histograms of sample", NULL, s, t->samples->count, diag));
            VTA_TRY(vtac_quant_observe_sample(&t->observer, t->samples, s, true, diag));
        }
        t->counted = true;
    }
    vtac_quant_range *ranges = vta_arena_array(&t->arena, t->observer.count + (size_t)1, sizeof *ranges);
    if (ranges == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < t->observer.count; i++) {
        ranges[i] = t->observer.seen[i].range;
        vtac_quant_range_narrow(&ranges[i], method);
    }
    t->ranges[method] = ranges;
    return method == VTAC_RANGE_ROOM ? widen_ranges(t, ranges, diag) : VTA_OK;
}

vta_status vtac_trials_observe(vtac_trials *t, const vtac_quant_plan *plan, vtac_range_method method,
                               vtac_quant_observer *out, vta_diag *diag)
{
    VTA_TRY(find_ranges(t, method, diag));
    VTA_TRY(vtac_quant_observe_list(plan, out, diag));
    return vtac_quant_observe_like(out, &t->observer, t->ranges[method], diag);
}
