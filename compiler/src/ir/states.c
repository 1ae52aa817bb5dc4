/* SPDX-License-Identifier: Apache-2.0
 *
 * States of a model: outputs that are inputs of its next run.
 */
#include "vtac/states.h"

#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"
#include "vtac/flow.h"

typedef struct state_form {
    const char *in_begin, *in_end, *out_begin, *out_end;
} state_form;

static const state_form forms[] = {
#define VTAC_STATE(in_begin, in_end, out_begin, out_end, whose) {in_begin, in_end, out_begin, out_end},
#include "vtac/states.def"
};

/* Input or output of a model. */
typedef struct model_end {
    const char *name;
    vtac_dtype dtype;
    int32_t rank;       /* -1: any */
    const int64_t *dim; /* below 0: any */
} model_end;

static model_end flow_end_at(const vta_vec *ends, uint32_t i)
{
    const vtac_flow_end *end = vta_vec_at(ends, i);
    return (model_end){end->name, end->dtype, end->rank, end->dim};
}

static model_end graph_end_at(const vtac_graph *graph, vtac_value_id id)
{
    const vtac_value *value = &graph->values[id];
    return (model_end){value->name, value->type.dtype, (int32_t)value->type.rank, value->type.dim};
}

static model_end input_at(const vtac_graph *graph, uint32_t i)
{
    return graph->flow != NULL ? flow_end_at(&graph->flow->inputs, i) : graph_end_at(graph, graph->inputs[i]);
}

static model_end output_at(const vtac_graph *graph, uint32_t i)
{
    return graph->flow != NULL ? flow_end_at(&graph->flow->outputs, i)
                               : graph_end_at(graph, graph->outputs[i]);
}

static uint32_t input_count(const vtac_graph *graph)
{
    return graph->flow != NULL ? (uint32_t)graph->flow->inputs.count
                               : graph->input_count - graph->state_count;
}

static uint32_t output_count(const vtac_graph *graph)
{
    return graph->flow != NULL ? (uint32_t)graph->flow->outputs.count
                               : graph->output_count - graph->state_count;
}

const char *vtac_model_input_name(const vtac_graph *graph, uint32_t i)
{
    return input_at(graph, i).name;
}

const char *vtac_model_output_name(const vtac_graph *graph, uint32_t i)
{
    return output_at(graph, i).name;
}

/* True if one buffer could be both: sizes that are open may turn out to be the same. */
static bool same_type(const model_end *in, const model_end *out)
{
    bool same = in->dtype == out->dtype && (in->rank == out->rank || in->rank < 0 || out->rank < 0);
    for (int32_t i = 0; same && i < in->rank && i < out->rank; i++) {
        same = in->dim[i] == out->dim[i] || in->dim[i] < 0 || out->dim[i] < 0;
    }
    return same;
}

/* The part of a name between a beginning and an end; NULL: it has not both, or nothing between them. */
static const char *stem_of(const char *name, const char *begin, const char *end, size_t *size)
{
    const size_t first = strlen(begin);
    const size_t last = strlen(end);
    const size_t all = strlen(name);
    if (all <= first + last || strncmp(name, begin, first) != 0 || strcmp(name + all - last, end) != 0) {
        return NULL;
    }
    *size = all - first - last;
    return name + first;
}

static bool fits_form(const state_form *form, const char *input, const char *output)
{
    size_t in_size = 0;
    size_t out_size = 0;
    const char *in = stem_of(input, form->in_begin, form->in_end, &in_size);
    const char *out = stem_of(output, form->out_begin, form->out_end, &out_size);
    return in != NULL && out != NULL && in_size == out_size && memcmp(in, out, in_size) == 0;
}

bool vtac_state_names_fit(const char *input, const char *output)
{
    bool fits = false;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        fits = fits || fits_form(&forms[i], input, output);
    }
    return fits;
}

/* Number of the output that belongs to an input by form `form`; output_count: none does. */
static uint32_t partner_of(const vtac_graph *graph, const model_end *in, const state_form *form)
{
    uint32_t i = 0;
    for (; i < output_count(graph); i++) {
        const model_end out = output_at(graph, i);
        if (fits_form(form, in->name, out.name) && same_type(in, &out)) {
            break;
        }
    }
    return i;
}

static bool is_taken(const vta_state *states, uint32_t count, uint32_t input, uint32_t output)
{
    bool taken = false;
    for (uint32_t i = 0; i < count; i++) {
        taken = taken || states[i].input == input || states[i].output == output;
    }
    return taken;
}

/* States by the names of their ends. */
static void add_found(const vtac_graph *graph, vta_state *states, uint32_t *count)
{
    const uint32_t outputs = output_count(graph);
    for (uint32_t i = 0; i < input_count(graph); i++) {
        const model_end in = input_at(graph, i);
        uint32_t output = outputs;
        for (size_t f = 0; f < sizeof forms / sizeof forms[0] && output == outputs; f++) {
            output = partner_of(graph, &in, &forms[f]);
        }
        if (output < outputs && !is_taken(states, *count, i, output)) {
            states[(*count)++] = (vta_state){i, output};
        }
    }
}

/* The input of that name; input_count: none. */
static uint32_t find_input(const vtac_graph *graph, const char *name)
{
    uint32_t i = 0;
    while (i < input_count(graph) && strcmp(input_at(graph, i).name, name) != 0) {
        i++;
    }
    return i;
}

static uint32_t find_output(const vtac_graph *graph, const char *name)
{
    uint32_t i = 0;
    while (i < output_count(graph) && strcmp(output_at(graph, i).name, name) != 0) {
        i++;
    }
    return i;
}

static vta_status add_named(const vtac_graph *graph, const vtac_state_name *name, vta_state *states,
                            uint32_t *count, vta_diag *diag)
{
    const vta_state state = {find_input(graph, name->input), find_output(graph, name->output)};
    if (state.input == input_count(graph) || state.output == output_count(graph)) {
        const bool input = state.input == input_count(graph);
        return vta_fail(diag, VTA_INVALID, "--state %s=%s: the model has no %s '%s'; vtac inspect lists them",
                        name->input, name->output, input ? "input" : "output",
                        input ? name->input : name->output);
    }
    if (is_taken(states, *count, state.input, state.output)) {
        return vta_fail(diag, VTA_INVALID, "--state %s=%s: one of the two is an end of another state already",
                        name->input, name->output);
    }
    const model_end in = input_at(graph, state.input);
    const model_end out = output_at(graph, state.output);
    if (!same_type(&in, &out)) {
        return vta_fail(diag, VTA_INVALID, "--state %s=%s: the two have different types or shapes",
                        name->input, name->output);
    }
    states[(*count)++] = state;
    return VTA_OK;
}

/* Room for all states that the model can have. */
static vta_state *make_room(const vtac_graph *graph)
{
    return calloc((size_t)input_count(graph) + 1, sizeof(vta_state));
}

static vta_status add_all_named(const vtac_graph *graph, vta_state *states, uint32_t *count, vta_diag *diag)
{
    for (uint32_t i = 0; i < graph->named_state_count; i++) {
        VTA_TRY(add_named(graph, &graph->named_states[i], states, count, diag));
    }
    return VTA_OK;
}

vta_status vtac_name_states(vtac_graph *graph, const vtac_state_name *names, uint32_t count, vta_diag *diag)
{
    vtac_state_name *own = vta_arena_array(&graph->arena, (size_t)count + 1, sizeof *own);
    for (uint32_t i = 0; own != NULL && i < count; i++) {
        own[i].input = vta_arena_string(&graph->arena, names[i].input, strlen(names[i].input));
        own[i].output = vta_arena_string(&graph->arena, names[i].output, strlen(names[i].output));
        own = own[i].input != NULL && own[i].output != NULL ? own : NULL;
    }
    vta_state *states = make_room(graph);
    graph->named_states = own;
    graph->named_state_count = own != NULL ? count : 0;
    uint32_t found = 0;
    const vta_status status =
        own != NULL && states != NULL ? add_all_named(graph, states, &found, diag) : vta_no_memory(diag);
    free(states);
    return status;
}

static int by_input(const void *a, const void *b)
{
    const vta_state *x = a;
    const vta_state *y = b;
    return (x->input > y->input) - (x->input < y->input);
}

vta_status vtac_find_states(const vtac_graph *graph, vta_state **out, uint32_t *count, vta_diag *diag)
{
    *count = 0;
    *out = make_room(graph);
    vta_status status = *out != NULL ? add_all_named(graph, *out, count, diag) : vta_no_memory(diag);
    if (status == VTA_OK) {
        const uint32_t named = *count;
        add_found(graph, *out, count);
        *count =
            *count < input_count(graph) ? *count : named; /* where all were states, there would be no input */
        qsort(*out, *count, sizeof **out, by_input);
    }
    if (*count == 0) {
        free(*out);
        *out = NULL;
    }
    return status;
}
