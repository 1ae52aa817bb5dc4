/* SPDX-License-Identifier: Apache-2.0
 *
 * The layers are put in the order of what they do to the outputs, the worst first, by a trial in which all
 * are quantized. How many of the first must stay float is found by doubling, then by halving; what of them
 * need not, by taking halves, quarters and at last single layers back, those of the most work first. That is
 * done for each method of ranges, the best one first, as long as trials are left.
 */
#include "mixed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages.h"
#include "vta/fail.h"

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
    const char **ranked;         /* those behind what was named by hand */
    uint64_t *work;              /* by name: multiplications of the layer */
    uint32_t named, names_count; /* named by hand; and all of them, the noisiest first */
    vtac_network_end ends;       /* the most that has 8 bits at the end of the network */
    uint32_t left;               /* trials, of a search that compiles once */
    vtac_quality target;         /* of the automatic search */
    bool widens;                 /* the trial gives weights of 4 bits 8, and leaves no layer in float */
    bool chosen;                 /* the trial leaves layers in float for the sake of the outputs */
    vtac_graph *graph;           /* the best so far; NULL: `best` makes it in the end */
    vtac_trials *trials;         /* NULL: each trial is compiled */
    vtac_graph *tried, *twin;    /* what the trials are about, read twice */
    vtac_quantize_options best;  /* of the trials so far */
    vtac_quantize_report *report;
    vta_diag *diag;
} mixed_search;

/* True if a trial leaves no more in float than the mark is worth. */
static bool is_cheap(const mixed_search *s, const vtac_quantize_report *r)
{
    const double share = s->target == VTAC_QUALITY_GOOD ? SHARE_FOR_GOOD : SHARE_FOR_DOUBTFUL;
    return !s->mixed->automatic || r->made_up || !s->chosen ||
           (double)r->macs_float <= share * (double)r->macs;
}

static bool is_good(const mixed_search *s, const vtac_quantize_report *r)
{
    const cli_mixed *m = s->mixed;
    if (m->automatic && !r->made_up && r->quality > s->target) {
        return false;
    }
    const double lost = (double)r->right_float - (double)r->right;
    return (m->max_loss < 0.0 || r->output_snr_db >= m->max_loss) &&
           (m->max_drop < 0.0 || 100.0 * lost <= m->max_drop * (double)r->decisions);
}

/* Reads the calibration inputs, once. */
static vta_status read_samples(mixed_search *s, const vtac_graph *graph)
{
    if (!s->read) {
        VTA_TRY(s->source->read(s->source->context, graph, s->arena, &s->samples, s->diag));
        s->read = true;
    }
    return VTA_OK;
}

static vta_status add_file(const mixed_search *s, vta_status status)
{
    return status == VTA_OK ? VTA_OK : vta_context(s->diag, "%s", s->args->operands[0]);
}

/* Compiles the model with switches, where more than one trial may come. */
static vta_status open_trials(mixed_search *s)
{
    if (!s->mixed->automatic && !s->mixed->bounded) {
        return VTA_OK;
    }
    cli_stage("reading", s->args->operands[0], 0, 0);
    VTA_TRY(s->source->load(s->source->context, &s->tried, s->diag));
    VTA_TRY(read_samples(s, s->tried));
    VTA_TRY(s->source->load(s->source->context, &s->twin, s->diag));
    vtac_quantize_options how = s->how;
    how.ends = s->ends;
    return add_file(s, vtac_trials_open(s->tried, s->twin, s->samples, &how, &s->trials, s->diag));
}

/* Quantizes the model anew, for one trial. */
static vta_status quantize_anew(mixed_search *s, const vtac_quantize_options *how, vtac_graph **graph,
                                vtac_quantize_report *report)
{
    cli_stage("reading", s->args->operands[0], 0, 0);
    VTA_TRY(s->source->load(s->source->context, graph, s->diag));
    VTA_TRY(read_samples(s, *graph));
    return add_file(s, vtac_quantize(*graph, s->samples, how, report, s->diag));
}

static vta_status run_trial(mixed_search *s, const vtac_quantize_options *how, bool layers,
                            vtac_graph **graph, vtac_quantize_report *report)
{
    s->mixed->trials++;
    s->left -= s->left > 0;
    return s->trials == NULL ? quantize_anew(s, how, graph, report)
                             : add_file(s, vtac_trials_try(s->trials, how, layers, report, s->diag));
}

/* The trial is the best so far. */
static void take_trial(mixed_search *s, const vtac_quantize_options *how, vtac_graph *graph)
{
    vtac_graph_destroy(s->graph);
    s->graph = graph;
    s->best = *how;
    s->mixed->method = how->method;
}

/* Options whose names stay as they are while the search puts its own into another order. */
static vta_status copy_options(const mixed_search *s, vtac_quantize_options *how)
{
    const char **names = vta_arena_array(s->arena, how->keep_count + 1U, sizeof *names);
    VTA_TRY(vta_allocated(names != NULL, s->diag));
    for (uint32_t i = 0; i < how->keep_count; i++) {
        names[i] = how->keep_float[i];
    }
    how->keep_float = names;
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

/* True if a good trial is to be taken: the search without bounds wants the one with the least work in float,
 * and of those the one that is nearest to floats. */
static bool is_better(const mixed_search *s, const vtac_quantize_report *report)
{
    const bool first = s->trials == NULL || !s->mixed->automatic || !is_good(s, s->report);
    const bool equal = report->macs_float == s->report->macs_float && loss_of(report) < loss_of(s->report);
    return is_cheap(s, report) && (first || equal || report->macs_float < s->report->macs_float);
}

/* Quantizes with the first `chosen` of the noisiest as floats; takes the result if it is good and better, or
 * any will do. */
static vta_status try_floats(mixed_search *s, uint32_t chosen, bool any, vtac_quantize_report *report,
                             bool *good, bool *taken)
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
    const vta_status status = run_trial(s, &how, any, &graph, report);
    *good = status == VTA_OK && is_good(s, report) && (s->trials != NULL || is_cheap(s, report));
    *taken = status == VTA_OK && (any || (*good && is_better(s, report)));
    if (!*taken) {
        vtac_graph_destroy(graph);
        return status;
    }
    VTA_TRY(copy_options(s, &how));
    take_trial(s, &how, graph);
    *(s->widens ? &s->mixed->wide_chosen : &s->mixed->chosen) = chosen;
    return VTA_OK;
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
    s->work = vta_arena_array(s->arena, report->layer_count + 1U, sizeof *s->work);
    if (layers == NULL || names == NULL || s->work == NULL) {
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
        s->work[s->names_count] = layers[i].macs;
        const char **to = &names[s->named + s->names_count++];
        *to = vta_arena_string(s->arena, name, strlen(name));
        if (*to == NULL) {
            return vta_no_memory(s->diag);
        }
    }
    s->names = names;
    s->ranked = names + s->named;
    return VTA_OK;
}

/* Tries another number of layers; the report of the last good trial stays. A trial that leaves nothing to
 * quantize is not good. */
static vta_status step_search(mixed_search *s, uint32_t chosen, bool *good)
{
    vtac_quantize_report report = {0};
    bool taken;
    vta_status status = try_floats(s, chosen, false, &report, good, &taken);
    if (status == VTA_UNSUPPORTED) {
        *s->diag = (vta_diag){0};
        status = VTA_OK;
    }
    if (status == VTA_OK && taken) {
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

/* Puts names [at, at + size) behind the first `count`, or back. */
static void move_names(const mixed_search *s, uint32_t at, uint32_t size, uint32_t count, bool back)
{
    const char **names = s->ranked;
    const uint32_t behind = count - at - size;
    for (uint32_t k = 0; k < (back ? behind : size); k++) { /* a rotation by one, as often */
        const char *name = names[at];
        const uint64_t work = s->work[at];
        memmove(&names[at], &names[at + 1], (count - at - 1) * sizeof *names);
        memmove(&s->work[at], &s->work[at + 1], (count - at - 1) * sizeof *s->work);
        names[count - 1] = name;
        s->work[count - 1] = work;
    }
}

/* Sorts the first `count` names by their work, the most first. */
static void sort_names(const mixed_search *s, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        for (uint32_t k = i; k > 0 && s->work[k] > s->work[k - 1]; k--) {
            move_names(s, k - 1, 1, k + 1, false);
        }
    }
}

/* Takes back into 8 bits as many of the first `count` layers at a time as `size`. Returns how many stay. */
static vta_status take_back(mixed_search *s, uint32_t size, uint32_t *count)
{
    for (uint32_t at = 0; at + size <= *count && s->left > 0 && *count > size;) {
        bool good = false;
        move_names(s, at, size, *count, false);
        VTA_TRY(step_search(s, *count - size, &good));
        if (good) {
            *count -= size;
        } else {
            move_names(s, at, size, *count, true);
            at += size;
        }
    }
    return VTA_OK;
}

/* Layers that need not stay float get 8 bits again, out of the first `count` layers, which are enough. */
static vta_status prune_names(mixed_search *s, uint32_t count)
{
    sort_names(s, count);
    for (uint32_t size = (count + 1) / 2; size > 0; size /= 2) {
        VTA_TRY(take_back(s, size, &count));
    }
    return VTA_OK;
}

static vta_status narrow_search(mixed_search *s)
{
    uint32_t bad = 0, enough = 1;
    bool good = false;
    /* something is quantized, and has 4 bits; without a bound it is most of it */
    const uint32_t last = s->names_count > 0 ? s->names_count - 1 : 0;
    const uint32_t share = s->trials != NULL ? s->names_count * 2 / 3 : s->names_count / (s->widens ? 2 : 3);
    const uint32_t max = s->mixed->automatic ? share : last;
    for (;;) {
        VTA_TRY(max == 0 ? VTA_OK : step_search(s, enough, &good));
        if (good) {
            break;
        }
        if (enough >= max || (s->trials != NULL && s->left == 0)) {
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
    return s->trials != NULL && !s->widens ? prune_names(s, enough) : VTA_OK;
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

/* Takes the ranges of another method where the outputs are nearer to those of floats. */
static vta_status try_method(mixed_search *s, vtac_range_method method, double *loss)
{
    vtac_quantize_report report = {0};
    vtac_graph *graph = NULL;
    vtac_quantize_options how = s->how;
    how.method = method;
    how.measure_harm = false;
    const vta_status status = run_trial(s, &how, false, &graph, &report);
    *loss = status == VTA_OK ? loss_of(&report) : (double)INFINITY;
    if (status != VTA_OK || *loss >= loss_of(s->report)) {
        vtac_quantize_report_free(&report);
        vtac_graph_destroy(graph);
        return status;
    }
    vtac_quantize_report_free(s->report);
    *s->report = report;
    take_trial(s, &how, graph);
    return VTA_OK;
}

/* Layers stay float until the mark is `target`. */
static vta_status reach_target(mixed_search *s, vtac_quality target)
{
    s->target = target;
    return s->report->quality > target && s->names_count > s->named + 3 ? narrow_search(s) : VTA_OK;
}

/* The order of the layers, which a search changes. */
typedef struct layer_order {
    const char **names;
    uint64_t *work;
} layer_order;

static vta_status keep_order(const mixed_search *s, layer_order *order)
{
    order->names = vta_arena_array(s->arena, s->names_count + 1U, sizeof *order->names);
    order->work = vta_arena_array(s->arena, s->names_count + 1U, sizeof *order->work);
    VTA_TRY(vta_allocated(order->names != NULL && order->work != NULL, s->diag));
    memcpy(order->names, s->ranked, s->names_count * sizeof *order->names);
    memcpy(order->work, s->work, s->names_count * sizeof *order->work);
    return VTA_OK;
}

/* The method with the least loss that is left; it is left no longer. */
static vtac_range_method next_method(double *losses)
{
    uint32_t best = 0;
    for (uint32_t m = 1; m < VTAC_RANGE_COUNT; m++) {
        best = losses[m] < losses[best] ? m : best;
    }
    const vtac_range_method method = isfinite(losses[best]) ? (vtac_range_method)best : VTAC_RANGE_COUNT;
    losses[best] = (double)INFINITY;
    return method;
}

/* Searches with the ranges of one method after the other; the least work in float wins. */
static vta_status search_methods(mixed_search *s, const double *losses, vtac_quality target)
{
    double left[VTAC_RANGE_COUNT];
    layer_order order;
    s->target = target;
    if (s->report->quality <= target || s->names_count <= 3) {
        return VTA_OK;
    }
    memcpy(left, losses, sizeof left);
    VTA_TRY(keep_order(s, &order));
    for (vtac_range_method m = next_method(left); m != VTAC_RANGE_COUNT && s->left > 0;
         m = next_method(left)) {
        s->how.method = m;
        VTA_TRY(narrow_search(s));
        memcpy(s->ranked, order.names, s->names_count * sizeof *order.names);
        memcpy(s->work, order.work, s->names_count * sizeof *order.work);
    }
    return VTA_OK;
}

/* Trials of a search that compiles once: as many as compute about so much, few for large networks. */
static uint32_t count_trials(const vtac_quantize_report *report)
{
    const double all = 6e10, both = 2.0; /* multiplications; each product is computed in both forms */
    enum { MIN_TRIALS = 24, MAX_TRIALS = 240 };
    const double trials = all / (both * (1.0 + (double)report->macs) * (double)report->samples);
    return trials < MIN_TRIALS ? MIN_TRIALS : trials > MAX_TRIALS ? MAX_TRIALS : (uint32_t)trials;
}

/* Without a bound: the best method for ranges, then layers that harm the outputs stay float, those first that
 * cost least for what they harm. What cannot be made good is made as good as it can. */
static vta_status improve_quality(mixed_search *s)
{
    double losses[VTAC_RANGE_COUNT];
    VTA_TRY(rank_layers(s, s->report));
    for (uint32_t m = 0; m < VTAC_RANGE_COUNT; m++) {
        losses[m] = m == s->how.method ? loss_of(s->report) : (double)INFINITY;
    }
    for (uint32_t m = 0; cli_value(s->args, "--method") == NULL && m < VTAC_RANGE_COUNT; m++) {
        const bool wanted = s->trials != NULL || s->report->quality != VTAC_QUALITY_GOOD;
        if (m != s->how.method && wanted) {
            VTA_TRY(try_method(s, (vtac_range_method)m, &losses[m]));
        }
    }
    s->left = count_trials(s->report);
    s->how.method = s->mixed->method;
    s->how.keep_readers = true;
    s->how.measure_harm = false;
    if (s->trials != NULL) {
        VTA_TRY(search_methods(s, losses, VTAC_QUALITY_GOOD));
        return search_methods(s, losses, VTAC_QUALITY_DOUBTFUL);
    }
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
    bool taken;
    VTA_TRY(open_trials(s));
    VTA_TRY(try_floats(s, 0, true, s->report, good, &taken));
    return keep_worst(s);
}

/* Floats at the end of the network get 8 bits where they are much of the work and the mark stays good. */
static vta_status try_ends(mixed_search *s)
{
    const double little = 0.005; /* of the work */
    vtac_quantize_options how = s->best;
    vtac_quantize_report report = {0};
    vtac_graph *graph = NULL;
    if (!s->mixed->automatic || s->trials == NULL || s->ends == VTAC_END_FLOAT ||
        s->report->quality != VTAC_QUALITY_GOOD || s->report->float_work <= little) {
        return VTA_OK;
    }
    how.ends = s->ends;
    how.measure_harm = false;
    const vta_status status = run_trial(s, &how, true, &graph, &report);
    if (status != VTA_OK || report.quality != VTAC_QUALITY_GOOD ||
        report.float_work >= s->report->float_work) {
        vtac_quantize_report_free(&report);
        return status;
    }
    vtac_quantize_report_free(s->report);
    *s->report = report;
    s->mixed->ends = true;
    take_trial(s, &how, graph);
    return VTA_OK;
}

/* Makes the model of the best trial, and reports its layers. */
static vta_status finish_trials(mixed_search *s)
{
    vtac_quantize_options how = s->best;
    if (s->trials == NULL) {
        return VTA_OK;
    }
    if (s->report->layer_count == 0) {
        vtac_quantize_report_free(s->report);
        VTA_TRY(add_file(s, vtac_trials_try(s->trials, &how, true, s->report, s->diag)));
    }
    how.trials = s->trials;
    return quantize_anew(s, &how, &s->graph, NULL);
}

static vta_status search_anything(mixed_search *s)
{
    const cli_mixed *m = s->mixed;
    bool good;
    VTA_TRY(try_first(s, &good));
    if (!good && s->how.weight_bits == 4 && (m->automatic || m->bounded)) {
        VTA_TRY(widen_layers(s, &good));
    }
    if (!good && m->automatic) {
        VTA_TRY(improve_quality(s));
    } else if (!good && m->bounded) {
        VTA_TRY(rank_layers(s, s->report));
        s->left = count_trials(s->report);
        VTA_TRY(narrow_search(s));
    }
    VTA_TRY(try_ends(s));
    return finish_trials(s);
}

vta_status cli_quantize_mixed(const cli_args *args, const cli_model_source *source,
                              const vtac_quantize_options *how, cli_mixed *mixed, vtac_graph **graph,
                              vtac_quantize_report *report, vta_diag *diag)
{
    mixed_search s = {.args = args,
                      .source = source,
                      .how = *how,
                      .mixed = mixed,
                      .arena = mixed->arena,
                      .ends = how->ends,
                      .names = how->keep_float,
                      .named = how->keep_count,
                      .report = report,
                      .diag = diag};
    mixed->method = how->method;
    s.how.ends = VTAC_END_FLOAT;
    s.how.measure_harm = mixed->automatic;
    s.how.hold_out = mixed->automatic;
    VTA_TRY(cli_read_answers(cli_value(args, "--labels"), mixed->arena, &s.how, diag));
    const vta_status status = search_anything(&s);
    vtac_trials_close(s.trials);
    vtac_graph_destroy(s.tried);
    vtac_graph_destroy(s.twin);
    mixed->kept = s.best.keep_float;
    mixed->kept_count = s.best.keep_count;
    mixed->samples = s.samples;
    *graph = s.graph;
    return status;
}
