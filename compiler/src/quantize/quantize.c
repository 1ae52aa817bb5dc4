/* SPDX-License-Identifier: Apache-2.0
 *
 * The quantizer's steps:
 *
 *     widen              half floats become floats
 *     passes             the float model as it will run, BatchNormalization folded away
 *     join biases        MatMul and Add as Gemm
 *     plan               what is quantized, and what has one scale together
 *     equalize           weights of neighbouring layers, where that is asked for
 *     observe            ranges from samples
 *     round products     weights and biases to what integers can say, still as floats; where that is asked
 *                        for, to the nearest or not, as their outputs need it
 *     wrap activations   QuantizeLinear and DequantizeLinear
 *     compare            both models on the samples, for the report
 *     store products     integers and DequantizeLinear in place of the floats
 *     narrow             inputs and outputs get their types back
 *
 * Comparing comes before storing, so that weights are plain constants for the code generator.
 */
#include "vtac/quantize.h"

#include <string.h>

#include "compare.h"
#include "dense.h"
#include "equalize.h"
#include "guess.h"
#include "half.h"
#include "insert.h"
#include "job.h"
#include "kept.h"
#include "parts.h"
#include "recurrent.h"
#include "split.h"
#include "steps.h"
#include "trials.h"
#include "vta/fail.h"
#include "vtac/pass.h"
#include "vtac/recurrence.h"
#include "weights.h"

enum { MADE_UP = 16, OTHERS = 4, SEED = 1 };

/* Ranges from made-up samples are taken for this much too small: things that a network was trained on move
 * its deeper layers more than anything made up. A bit that is lost does less harm than values that are cut.
 */
#define ROOM 2.0

/* Bytes of the inputs of layers that are kept at a time to tune their rounding. */
#define MAX_PATCHES ((uint64_t)1 << 28)

typedef struct quantize_job {
    vtac_graph *graph;
    vta_arena arena;
    const vtac_quantize_options *options;
    vtac_dtype dtype;
    vtac_quant_plan plan;
    vtac_quant_observer observer;
    const bool *keeps_bytes; /* by node: its weights have 8 bits; NULL: none does */
    vtac_quant_product *products;
    float *x_scales; /* of the operand of each product */
    uint32_t product_count;
    vtac_value_id *real; /* by place in the observer: what stands for it now */
} quantize_job;

static vta_status check_samples(const vtac_graph *g, const vtac_samples *samples,
                                const vtac_quantize_options *how, vta_diag *diag)
{
    char is[128];
    char should[128];
    if (samples == NULL) { /* they will be made up */
        return how->tune_rounding
                   ? vta_fail(diag, VTA_INVALID, "rounding is tuned on real inputs; give calibration inputs")
                   : VTA_OK;
    }
    if (samples->count == 0) {
        return vta_fail(diag, VTA_INVALID, "there are no calibration samples; give at least one");
    }
    if (samples->inputs != g->input_count) {
        return vta_fail(diag, VTA_INVALID, "a calibration sample has %u inputs, the model %u",
                        samples->inputs, g->input_count);
    }
    for (uint32_t s = 0; s < samples->count; s++) {
        for (uint32_t i = 0; i < samples->inputs; i++) {
            const vtac_type *type = &samples->tensors[(size_t)s * samples->inputs + i].type;
            const vtac_value *input = &g->values[g->inputs[i]];
            if (!vtac_type_equal(type, &input->type)) {
                return vta_fail(diag, VTA_INVALID,
                                "calibration sample %u: input '%s' is %s, the model takes %s", s, input->name,
                                vtac_type_text(type, is, sizeof is),
                                vtac_type_text(&input->type, should, sizeof should));
            }
        }
    }
    return VTA_OK;
}

static void params_of(const quantize_job *j, vtac_value_id value, float *scale, int32_t *zero)
{
    vtac_quant_range_params(vtac_quant_range_of(&j->observer, value), j->dtype, scale, zero);
}

static vta_status find_products(quantize_job *j, vta_diag *diag)
{
    const vtac_graph *g = j->graph;
    j->products = vta_arena_array(&j->arena, j->plan.node_room, sizeof *j->products);
    j->x_scales = vta_arena_array(&j->arena, j->plan.node_room, sizeof *j->x_scales);
    if (j->products == NULL || j->x_scales == NULL) {
        return vta_no_memory(diag);
    }
    for (vtac_node_id n = 1; n < j->plan.node_room; n++) {
        uint32_t axis;
        if (j->plan.active[n] && vtac_quant_is_product(g, &g->nodes[n], &axis)) {
            j->products[j->product_count++].node = n;
        }
    }
    return VTA_OK;
}

static vta_status round_product(quantize_job *j, uint32_t at, vtac_quant_patches *patches, vta_diag *diag)
{
    const vtac_node_id n = j->products[at].node;
    const vtac_value_id x = j->graph->nodes[n].inputs[VTAC_PRODUCT_X];
    const double *means = NULL;
    int32_t zero;
    params_of(j, x, &j->x_scales[at], &zero);
    if (j->options->correct_bias) {
        VTA_TRY(vtac_quant_means(&j->observer, x, &means, diag));
    }
    const bool narrow = j->options->weight_bits == 4 && !(j->keeps_bytes != NULL && j->keeps_bytes[n]);
    const vtac_quant_width width = {
        .bits = narrow ? 4 : 8, .block = j->options->weight_block, .per_channel = j->options->per_channel};
    return vtac_quant_round_product(&j->plan, j->x_scales[at], &width, means, patches, &j->products[at],
                                    diag);
}

/* Tunes as many products as have room together, from the first on; *next is the one behind them. */
static vta_status tune_some(quantize_job *j, const vtac_samples *samples, uint32_t first, uint32_t *next,
                            vta_arena *arena, vta_diag *diag)
{
    vtac_quant_patches *list = vta_arena_array(arena, j->product_count - first, sizeof *list);
    uint64_t bytes = 0;
    uint32_t count = 0;
    if (list == NULL) {
        return vta_no_memory(diag);
    }
    while (first + count < j->product_count) {
        vtac_quant_patches_plan(&j->plan, j->products[first + count].node, samples->count, &list[count]);
        bytes += vtac_quant_patches_bytes(&list[count]);
        if (count > 0 && bytes > MAX_PATCHES) {
            break;
        }
        count++;
    }
    VTA_TRY(
        vtac_quant_patches_collect(&j->observer, samples, list, count, j->options->progress, arena, diag));
    for (uint32_t i = 0; i < count; i++) {
        VTA_TRY(vtac_progress_at(j->options->progress, "tuning the rounding of",
                                 j->graph->nodes[j->products[first + i].node].name, first + i,
                                 j->product_count, diag));
        VTA_TRY(round_product(j, first + i, &list[i], diag));
    }
    *next = first + count;
    return VTA_OK;
}

static vta_status round_products(quantize_job *j, const vtac_samples *samples, bool made_up, vta_diag *diag)
{
    const vtac_quantize_options *how = j->options;
    const bool tunes = how->tune_rounding || (how->weight_bits == 4 && !made_up && !how->round_nearest);
    VTA_TRY(find_products(j, diag));
    for (uint32_t at = 0; at < j->product_count;) {
        vta_status status;
        if (tunes) {
            vta_arena arena = {0};
            status = tune_some(j, samples, at, &at, &arena, diag);
            vta_arena_free(&arena);
        } else {
            status = round_product(j, at++, NULL, diag);
        }
        VTA_TRY(status);
    }
    return VTA_OK;
}

/* Layers count alike, whatever the size of what they compute. */
static void sum_up_rounding(const quantize_job *j, vtac_quantize_report *report)
{
    double left = 0.0;
    for (uint32_t i = 0; i < j->product_count; i++) {
        const vtac_quant_product *p = &j->products[i];
        const uint64_t scales =
            (uint64_t)p->channels * (p->factors != NULL ? (uint64_t)vtac_quant_blocks(p) : 1);
        const uint64_t weights = (uint64_t)vtac_type_elements(&p->type);
        report->tuned += p->tuned;
        report->products++;
        report->narrow += p->bits == 4;
        report->weights += weights;
        report->weight_bits += weights * p->bits + (p->per_channel ? scales : 1) * 8 * sizeof(float);
        left += !p->tuned ? 0.0 : p->rounding_before > 0.0 ? p->rounding_after / p->rounding_before : 1.0;
    }
    report->rounding_left = report->tuned > 0 ? left / report->tuned : 1.0;
}

/* The scale of a group, made once. */
static vta_status group_params(const quantize_job *j, vtac_quant_params *made, vtac_value_id value,
                               vtac_quant_params *out, vta_diag *diag)
{
    vtac_quant_params *of = &made[vtac_quant_group(&j->plan, value)];
    if (of->scale == 0) {
        float scale;
        int32_t zero;
        params_of(j, value, &scale, &zero);
        VTA_TRY(vtac_quant_add_params(j->graph, j->dtype, scale, zero, of, diag));
    }
    *out = *of;
    return VTA_OK;
}

vtac_quant_range vtac_quant_constant_range(const vtac_quant_observer *o, vtac_value_id constant)
{
    const vtac_value *value = &o->plan->graph->values[constant];
    vtac_quant_range range = {0};
    if (o->of[vtac_quant_group(o->plan, constant)] != 0) {
        return *vtac_quant_range_of(o, constant);
    }
    vtac_quant_range_see(&range, value->constant->data, (size_t)vtac_type_elements(&value->type));
    return range;
}

/* A constant has the scale of its group; where no value was observed that would have one, its own. */
static vta_status constant_params(const quantize_job *j, vtac_quant_params *made, vtac_value_id x,
                                  vtac_quant_params *out, vta_diag *diag)
{
    if (j->observer.of[vtac_quant_group(&j->plan, x)] != 0) {
        return group_params(j, made, x, out, diag);
    }
    const vtac_quant_range range = vtac_quant_constant_range(&j->observer, x);
    float scale;
    int32_t zero;
    vtac_quant_range_params(&range, j->dtype, &scale, &zero);
    return vtac_quant_add_params(j->graph, j->dtype, scale, zero, out, diag);
}

static bool is_wanted_constant(const quantize_job *j, vtac_value_id x)
{
    return x != 0 && x < j->plan.value_room && j->plan.wanted[x] && j->graph->values[x].constant != NULL;
}

/* Constants among the operands of sums, products and concatenations. */
static vta_status wrap_constants(const quantize_job *j, vtac_quant_params *made, vta_diag *diag)
{
    vtac_graph *g = j->graph;
    for (vtac_node_id n = 1; n < j->plan.node_room; n++) {
        const bool takes = j->plan.active[n] && j->plan.island[n] == 0;
        for (uint32_t i = 0; takes && i < g->nodes[n].input_count; i++) {
            const vtac_value_id x = g->nodes[n].inputs[i];
            if (!is_wanted_constant(j, x)) {
                continue;
            }
            vtac_quant_params params;
            vtac_value_id real;
            VTA_TRY(constant_params(j, made, x, &params, diag));
            VTA_TRY(vtac_quant_wrap_constant(g, x, &params, &real, diag));
            VTA_TRY(vtac_set_input(g, n, i, real, diag));
        }
    }
    return VTA_OK;
}

static vta_status wrap_activations(quantize_job *j, vta_diag *diag)
{
    vtac_quant_params *made = vta_arena_array(&j->arena, j->plan.value_room, sizeof *made);
    j->real = vta_arena_array(&j->arena, j->observer.count + (size_t)1, sizeof *j->real);
    if (made == NULL || j->real == NULL) {
        return vta_no_memory(diag);
    }
    memset(made, 0, j->plan.value_room * sizeof *made);
    VTA_TRY(wrap_constants(j, made, diag));
    for (uint32_t i = 0; i < j->observer.count; i++) {
        vtac_quant_params params;
        VTA_TRY(group_params(j, made, j->observer.seen[i].value, &params, diag));
        VTA_TRY(vtac_quant_wrap(j->graph, j->observer.seen[i].value, &params, &j->real[i], diag));
    }
    return vtac_graph_sort(j->graph, diag);
}

static vta_status store_products(const quantize_job *j, vta_diag *diag)
{
    for (uint32_t i = 0; i < j->product_count; i++) {
        VTA_TRY(vtac_quant_store_product(&j->plan, &j->products[i], j->x_scales[i], diag));
    }
    VTA_TRY(vtac_quant_take_apart(j->graph, diag));
    (void)vtac_remove_dead(j->graph);
    return vtac_graph_verify(j->graph, diag);
}

static vta_status make_plan(quantize_job *j, vta_diag *diag)
{
    const bool *kept = NULL;
    VTA_TRY(vtac_quant_find_kept(j->graph, j->options, &j->arena, &kept, diag));
    VTA_TRY(vtac_quant_find_named(j->graph, j->options->keep_bytes, j->options->keep_bytes_count, &j->arena,
                                  &j->keeps_bytes, diag));
    VTA_TRY(vtac_quant_plan_make(j->graph, kept, j->options->ends, &j->arena, &j->plan, diag));
    if (!j->options->equalize) {
        return VTA_OK;
    }
    VTA_TRY(
        vtac_quant_equalize(&j->plan, diag)); /* new constants: the plan has room for those that were there */
    return vtac_quant_plan_make(j->graph, kept, j->options->ends, &j->arena, &j->plan, diag);
}

vta_status vtac_quant_prepare(vtac_graph *graph, vtac_quant_borders *borders, const vtac_samples *samples,
                              const vtac_quantize_options *how, vta_diag *diag)
{
    VTA_TRY(vtac_quant_floats(graph, borders, diag));
    VTA_TRY(vtac_run_passes(graph, &(vtac_pass_options){.level = 2, .progress = how->progress}, diag));
    VTA_TRY(vtac_gather_channel_norms(graph, diag));
    VTA_TRY(vtac_quant_split(graph, diag));
    VTA_TRY(vtac_quant_join_biases(graph, diag));
    VTA_TRY(vtac_quant_take_states(graph, diag));
    return check_samples(graph, samples, how, diag);
}

/* The graph as it is planned for, and the plan. */
static vta_status prepare_graph(quantize_job *j, vtac_quant_borders *borders, const vtac_samples *samples,
                                vta_diag *diag)
{
    VTA_TRY(vtac_quant_prepare(j->graph, borders, samples, j->options, diag));
    return make_plan(j, diag);
}

/* The model of floats, compiled once for all that is asked of it. */
static vta_status open_floats(quantize_job *j, bool made_up, vta_diag *diag)
{
    const vtac_value_id *guessed = NULL;
    uint32_t count = 0;
    VTA_TRY(made_up ? vtac_quant_guess_values(&j->plan, &guessed, &count, diag) : VTA_OK);
    if (j->options->trials != NULL) {
        return vtac_trials_observe(j->options->trials, &j->plan, j->options->method, &j->observer, diag);
    }
    VTA_TRY(vtac_progress_at(j->options->progress, "compiling the model of floats", NULL, 0, 0, diag));
    return vtac_quant_observe_open(&j->plan, guessed, count, &j->observer, diag);
}

static vta_status observe_ranges(quantize_job *j, const vtac_samples *samples, bool made_up, vta_diag *diag)
{
    if (j->options->trials == NULL) {
        VTA_TRY(vtac_quant_observe(&j->observer, samples, j->options->method, j->options->progress, diag));
    }
    VTA_TRY(made_up ? vtac_quant_widen(&j->observer, ROOM, diag) : VTA_OK);
    vtac_quant_centre_factors(&j->observer);
    return VTA_OK;
}

/* Ranges at another size. */
static vta_status observe_size(quantize_job *j, quantize_job *other, const vtac_samples *samples,
                               vta_diag *diag)
{
    vtac_quant_borders borders;
    VTA_TRY(prepare_graph(other, &borders, samples, diag));
    VTA_TRY(open_floats(other, false, diag));
    VTA_TRY(vtac_quant_observe(&other->observer, samples, j->options->method, j->options->progress, diag));
    return vtac_quant_observe_merge(&j->observer, &other->observer, diag);
}

static vta_status observe_sizes(quantize_job *j, vta_diag *diag)
{
    const vtac_more_sizes *sizes = &j->options->sizes;
    for (uint32_t i = 0; sizes->load != NULL; i++) {
        quantize_job other = {.options = j->options, .dtype = j->dtype};
        const vtac_samples *samples = NULL;
        VTA_TRY(sizes->load(sizes->context, i, &other.graph, &samples, diag));
        if (other.graph == NULL) {
            break;
        }
        const vta_status status = observe_size(j, &other, samples, diag);
        vtac_quant_observe_close(&other.observer);
        vtac_graph_destroy(other.graph);
        vta_arena_free(&other.arena);
        VTA_TRY(status);
    }
    return VTA_OK;
}

static vta_status compare_models(const quantize_job *j, const vtac_samples *samples,
                                 vtac_quantize_report *report, vta_diag *diag)
{
    const vtac_quant_comparison c = {.observer = &j->observer,
                                     .quantized = j->graph,
                                     .real = j->real,
                                     .samples = samples,
                                     .dtype = j->dtype,
                                     .labels = j->options->labels,
                                     .label_count = j->options->label_count,
                                     .products = j->products,
                                     .product_count = j->product_count,
                                     .measure_harm = j->options->measure_harm,
                                     .progress = j->options->progress};
    return vtac_quant_compare(&c, report, diag);
}

/* Samples for a model that has none: for the ranges, and others to compare on. */
static vta_status make_up(quantize_job *j, vtac_samples *ranges, vtac_samples *others, vta_diag *diag)
{
    vtac_sample_range range;
    VTA_TRY(vtac_quant_guess_range(&j->plan, j->observer.probe, j->observer.count, SEED, j->options->progress,
                                   &range, diag));
    VTA_TRY(vtac_generate_samples(j->graph, &range, MADE_UP, SEED, &j->arena, ranges, diag));
    return vtac_generate_samples(j->graph, &range, OTHERS, SEED + 1, &j->arena, others, diag);
}

vta_status vtac_quant_fail_nothing(vta_diag *diag)
{
    return vta_fail(diag, VTA_UNSUPPORTED,
                    "there is nothing to quantize: no Conv, Gemm, MatMul, LSTM, GRU or RNN of floats with "
                    "constant weights; a model of integers is compiled as it is");
}

bool vtac_quant_has_work(const vtac_quant_plan *plan)
{
    bool has = false;
    uint32_t axis;
    for (vtac_node_id n = 1; n < plan->node_room; n++) {
        const vtac_node *node = &plan->graph->nodes[n];
        has = has || (plan->active[n] && (vtac_quant_is_product(plan->graph, node, &axis) ||
                                          vtac_quant_is_recurrent(plan->graph, node)));
    }
    return has;
}

/* Elements that a node reads and writes, where it computes with floats. */
static double moved_by(const vtac_graph *g, const vtac_node *node)
{
    double moved = (double)vtac_type_elements(&g->values[node->outputs[0]].type);
    for (uint32_t i = 0; i < node->input_count; i++) {
        const vtac_value *x = &g->values[node->inputs[i]];
        moved += node->inputs[i] == 0 || x->constant != NULL ? 0.0 : (double)vtac_type_elements(&x->type);
    }
    return vtac_quant_moves(node) ? 0.0 : moved;
}

void vtac_quant_count_macs(const vtac_quant_plan *plan, vtac_quantize_report *report)
{
    const double per_element = 5.0; /* multiplications of a product in the time of an element elsewhere */
    double floats = 0.0, all = 0.0;
    for (uint32_t i = 0; i < plan->graph->order_count; i++) {
        const vtac_node_id n = plan->graph->order[i];
        const vtac_node *node = &plan->graph->nodes[n];
        const uint64_t macs = n < plan->node_room ? vtac_quant_macs(plan->graph, node) : 0;
        const double work =
            n < plan->node_room ? (double)macs + per_element * moved_by(plan->graph, node) : 0.0;
        report->macs += macs;
        report->macs_float += macs == 0 || plan->active[n] ? 0 : macs;
        floats += work <= 0.0 || plan->active[n] ? 0.0 : work;
        all += work;
    }
    report->float_work = all > 0.0 ? floats / all : 0.0;
}

static vta_status fail_flow(vta_diag *diag)
{
    return vta_fail(
        diag, VTA_UNSUPPORTED,
        "there is nothing to quantize: no Conv, Gemm or MatMul of floats with constant weights stands "
        "before what only the run knows; give open sizes with --shape");
}

/* Quantizes the graph by its samples. */
static vta_status convert_graph(quantize_job *j, const vtac_samples *samples, const vtac_samples *made_up,
                                vtac_quantize_report *report, vta_diag *diag)
{
    VTA_TRY(observe_ranges(j, samples, made_up != NULL, diag));
    VTA_TRY(observe_sizes(j, diag));
    VTA_TRY(vtac_progress_at(j->options->progress, "rounding weights", NULL, 0, 0, diag));
    VTA_TRY(round_products(j, samples, made_up != NULL, diag));
    VTA_TRY(vtac_quant_has_work(&j->plan) ? VTA_OK : vtac_quant_fail_nothing(diag));
    VTA_TRY(wrap_activations(j, diag));
    if (report != NULL) {
        report->made_up = made_up != NULL;
        vtac_quant_count_macs(&j->plan, report);
        sum_up_rounding(j, report);
        VTA_TRY(compare_models(j, made_up != NULL ? made_up : samples, report, diag));
    }
    return store_products(j, diag);
}

static vta_status run_job(quantize_job *j, const vtac_samples *samples, vtac_quantize_report *report,
                          vta_diag *diag)
{
    vtac_samples own;
    vtac_samples others;
    vtac_quant_borders borders;
    VTA_TRY(prepare_graph(j, &borders, samples, diag));
    VTA_TRY(open_floats(j, samples == NULL, diag));
    VTA_TRY(samples == NULL ? make_up(j, &own, &others, diag) : VTA_OK);
    VTA_TRY(
        convert_graph(j, samples != NULL ? samples : &own, samples != NULL ? NULL : &others, report, diag));
    VTA_TRY(vtac_quant_restore(j->graph, &borders, diag));
    return vtac_quant_narrow_states(j->graph, diag);
}

/* True if one of a node's results has 8 bits. */
static bool makes_bytes(const vtac_graph *graph, const vtac_node *node)
{
    bool bytes = false;
    for (uint32_t k = 0; k < node->output_count; k++) {
        const vtac_dtype dtype = graph->values[node->outputs[k]].type.dtype;
        bytes = bytes || (node->outputs[k] != 0 && vtac_dtype_bytes(dtype) == 1 && dtype != VTAC_BOOL);
    }
    return bytes;
}

bool vtac_quantizable(const vtac_graph *graph)
{
    bool products = false;
    for (uint32_t i = 0; i < graph->order_count; i++) {
        const vtac_node *node = &graph->nodes[graph->order[i]];
        uint32_t axis;
        if (makes_bytes(graph, node)) {
            return false;
        }
        products =
            products || vtac_quant_is_product(graph, node, &axis) || vtac_recurrent_is_usual(graph, node);
    }
    return products;
}

/* A product of floats, but for one of what was integers: QDQ. Weights may become constant by passes. */
static bool multiplies_floats(const vtac_graph *graph, const vtac_node *node)
{
    vtac_recurrent_kind kind;
    if ((!vtac_quant_may_be_product(node) && !vtac_recurrent_kind_of(node->op, &kind)) ||
        vtac_dtype_kind(graph->values[node->outputs[0]].type.dtype) != 'f') {
        return false;
    }
    const vtac_value *x = &graph->values[node->inputs[VTAC_PRODUCT_X]];
    return x->node == 0 || graph->nodes[x->node].op != VTAC_OP_DEQUANTIZE_LINEAR;
}

vta_status vtac_quantize_check(const vtac_graph *graph, vta_diag *diag)
{
    if (graph->flow != NULL) {
        return fail_flow(diag);
    }
    bool floats = false;
    bool bytes = false;
    for (uint32_t i = 0; i < graph->order_count && !floats; i++) {
        const vtac_node *node = &graph->nodes[graph->order[i]];
        floats = multiplies_floats(graph, node);
        bytes = bytes || makes_bytes(graph, node);
    }
    return floats || !bytes ? VTA_OK : vtac_quant_fail_nothing(diag);
}

vta_status vtac_quantize(vtac_graph *graph, const vtac_samples *samples, const vtac_quantize_options *options,
                         vtac_quantize_report *report, vta_diag *diag)
{
    quantize_job j = {
        .graph = graph, .options = options, .dtype = options->unsigned_activations ? VTAC_U8 : VTAC_I8};
    if (report != NULL) {
        *report = (vtac_quantize_report){0};
    }
    const vta_status status = graph->flow == NULL ? run_job(&j, samples, report, diag) : fail_flow(diag);
    vtac_quant_observe_close(&j.observer);
    vta_arena_free(&j.arena);
    return status;
}

void vtac_quantize_report_free(vtac_quantize_report *report)
{
    vta_arena_free(&report->arena);
    *report = (vtac_quantize_report){0};
}
