/* SPDX-License-Identifier: Apache-2.0
 *
 * Every quantized value y of x becomes x + mask (y - x) for as long as the graph is compiled once more. The
 * masks are inputs, one for each group of values that stand one after the other: a run with one mask set
 * shows what that group alone does to the outputs.
 */
#include "harm.h"

#include <math.h>
#include <string.h>

#include "vta/fail.h"

enum { MAX_GROUPS = 16, MAX_SAMPLES = 2 };

static const float clear_mask = 0.0F, set_mask = 1.0F;

typedef struct harm_walk {
    const vtac_quant_comparison *c;
    vtac_value_id *mixed; /* by place: what stands for the quantized value */
    uint32_t groups;
    vtac_tensor *inputs; /* of a run: the model's, then the masks */
    double *noise;       /* by group and output */
    double *variance;    /* by output */
} harm_walk;

static uint32_t group_of(const harm_walk *w, uint32_t place)
{
    return (uint32_t)((uint64_t)place * w->groups / w->c->observer->count);
}

static vta_status add_pair(vtac_graph *g, vtac_op op, vtac_value_id a, vtac_value_id b, vtac_value_id *out,
                           vta_diag *diag)
{
    const vtac_value_id inputs[] = {a, b};
    const vtac_node_spec spec = {.op = op, .name = "", .inputs = inputs, .input_count = 2, .output_count = 1};
    vtac_node_id node;
    VTA_TRY(vtac_add_node(g, &spec, &node, diag));
    *out = g->nodes[node].outputs[0];
    return VTA_OK;
}

static vta_status mix_value(vtac_graph *g, vtac_value_id x, vtac_value_id y, vtac_value_id mask,
                            vtac_value_id *out, vta_diag *diag)
{
    vtac_value_id off, masked;
    VTA_TRY(add_pair(g, VTAC_OP_SUB, y, x, &off, diag));
    VTA_TRY(add_pair(g, VTAC_OP_MUL, off, mask, &masked, diag));
    VTA_TRY(add_pair(g, VTAC_OP_ADD, x, masked, out, diag));
    vtac_replace_uses(g, y, *out);
    return vtac_set_input(g, g->values[off].node, VTAC_BINARY_A, y, diag);
}

static vta_status mix_values(harm_walk *w, vta_diag *diag)
{
    const vtac_quant_observer *o = w->c->observer;
    vtac_graph *g = w->c->quantized;
    const uint32_t first = g->input_count;
    for (uint32_t i = 0; i < w->groups; i++) {
        vtac_value_id mask;
        VTA_TRY(vtac_add_input(g, "", &(vtac_type){.dtype = VTAC_F32}, &mask, diag));
    }
    for (uint32_t i = 0; i < o->count; i++) {
        VTA_TRY(mix_value(g, o->seen[i].value, w->c->real[i], g->inputs[first + group_of(w, i)], &w->mixed[i],
                          diag));
    }
    return vtac_graph_sort(g, diag);
}

static vta_status restore_values(const harm_walk *w, uint32_t inputs, vta_diag *diag)
{
    vtac_graph *g = w->c->quantized;
    for (uint32_t i = 0; i < w->c->observer->count; i++) {
        if (w->mixed[i] != 0) {
            vtac_replace_uses(g, w->mixed[i], w->c->real[i]);
        }
    }
    (void)vtac_remove_dead(g);
    while (g->input_count > inputs) {
        g->values[g->inputs[--g->input_count]].dead = true;
    }
    return vtac_graph_sort(g, diag);
}

/* Noise of a run, and where `variance` is told, the variance of the floats. */
static void add_run(const harm_walk *w, const vtac_quant_probe *probe, double *noise, bool first)
{
    const vtac_graph *g = w->c->quantized;
    for (uint32_t i = 0; i < g->output_count; i++) {
        const vtac_type *type = &g->values[g->outputs[i]].type;
        const size_t count = type->dtype == VTAC_F32 ? (size_t)vtac_type_elements(type) : 0;
        const float *is = vtac_quant_probe_output(probe, i);
        const float *should = vtac_quant_probe_output(w->c->observer->probe, i);
        double sum = 0.0, squares = 0.0;
        for (size_t k = 0; k < count; k++) {
            const double off = (double)is[k] - (double)should[k];
            noise[i] += off * off;
            sum += (double)should[k];
            squares += (double)should[k] * (double)should[k];
        }
        w->variance[i] += first && count > 0 ? squares - sum * sum / (double)count : 0.0;
    }
}

static vta_status run_groups(const harm_walk *w, vtac_quant_probe *probe, uint32_t sample, vta_diag *diag)
{
    const uint32_t own = w->c->samples->inputs;
    const vtac_samples one = {.tensors = w->inputs, .count = 1, .inputs = own + w->groups};
    memcpy(w->inputs, &w->c->samples->tensors[(size_t)sample * own], own * sizeof *w->inputs);
    VTA_TRY(vtac_quant_probe_run(w->c->observer->probe, w->c->samples, sample, diag));
    for (uint32_t i = 0; i < w->groups; i++) {
        VTA_TRY(vtac_progress_at(w->c->progress, "measuring what layers do to the outputs", NULL, i,
                                 w->groups, diag));
        w->inputs[own + i].data = &set_mask;
        VTA_TRY(vtac_quant_probe_run(probe, &one, 0, diag));
        w->inputs[own + i].data = &clear_mask;
        add_run(w, probe, &w->noise[(size_t)i * w->c->quantized->output_count], i == 0);
    }
    return VTA_OK;
}

static vta_status run_samples(const harm_walk *w, vta_diag *diag)
{
    vtac_quant_probe *probe;
    vta_status status = vtac_quant_probe_open(w->c->quantized, NULL, 0, &probe, diag);
    for (uint32_t s = 0; status == VTA_OK && s < w->c->samples->count && s < MAX_SAMPLES; s++) {
        status = run_groups(w, probe, s, diag);
    }
    vtac_quant_probe_close(probe);
    return status;
}

/* The largest share of any output; an output that does not move says nothing. */
static double harm_of(const harm_walk *w, uint32_t group)
{
    const uint32_t outputs = w->c->quantized->output_count;
    double harm = 0.0;
    for (uint32_t i = 0; i < outputs; i++) {
        const double noise = w->noise[(size_t)group * outputs + i];
        harm = w->variance[i] > 0.0 ? fmax(harm, noise / w->variance[i]) : harm;
    }
    return harm;
}

static vta_status make_room(harm_walk *w, vta_diag *diag)
{
    const vtac_quant_observer *o = w->c->observer;
    vta_arena *arena = o->plan->arena;
    const size_t outputs = w->c->quantized->output_count, inputs = w->c->samples->inputs;
    w->mixed = vta_arena_array(arena, o->count + (size_t)1, sizeof *w->mixed);
    w->inputs = vta_arena_array(arena, inputs + w->groups, sizeof *w->inputs);
    w->noise = vta_arena_array(arena, w->groups * outputs + 1, sizeof *w->noise);
    w->variance = vta_arena_array(arena, outputs + 1, sizeof *w->variance);
    if (w->mixed == NULL || w->inputs == NULL || w->noise == NULL || w->variance == NULL) {
        return vta_no_memory(diag);
    }
    memset(w->mixed, 0, o->count * sizeof *w->mixed);
    memset(w->noise, 0, w->groups * outputs * sizeof *w->noise);
    memset(w->variance, 0, outputs * sizeof *w->variance);
    for (uint32_t i = 0; i < w->groups; i++) {
        w->inputs[inputs + i] =
            (vtac_tensor){.type = {.dtype = VTAC_F32}, .data = &clear_mask, .bytes = sizeof clear_mask};
    }
    return VTA_OK;
}

vta_status vtac_quant_harm(const vtac_quant_comparison *c, double *harm, vta_diag *diag)
{
    const uint32_t places = c->observer->count, inputs = c->quantized->input_count;
    harm_walk w = {.c = c, .groups = places < MAX_GROUPS ? places : MAX_GROUPS};
    VTA_TRY(make_room(&w, diag));
    VTA_TRY(mix_values(&w, diag));
    VTA_TRY(run_samples(&w, diag));
    for (uint32_t i = 0; i < places; i++) {
        harm[i] = harm_of(&w, group_of(&w, i));
    }
    return restore_values(&w, inputs, diag);
}
