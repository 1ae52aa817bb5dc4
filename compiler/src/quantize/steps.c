/* SPDX-License-Identifier: Apache-2.0
 *
 * Models with states: calibration inputs are the steps of one run after the other, from states of zeros, and
 * a state whose two ends are rounded alike stays in 8 bits between two runs.
 */
#include "steps.h"

#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"
#include "vtac/load.h"
#include "vtac/states.h"

enum { WORDS = 256 }; /* of an input of integers that no table is looked up by */

typedef struct step_run {
    const vtac_graph *graph;
    const vta_state *states;
    uint32_t state_count;
    int64_t room, step; /* tokens of a cache, new ones of a run */
    vta_model *model;
    uint64_t *random;
} step_run;

/* xorshift64*: a number from 0 to below 1. */
static double draw(uint64_t *random)
{
    *random ^= *random >> 12;
    *random ^= *random << 25;
    *random ^= *random >> 27;
    return (double)((*random * 0x2545f4914f6cdd1dULL) >> 11) * 0x1p-53;
}

/* True for the input by which the steps are counted (vtac compile --context). */
static bool is_position(const vtac_graph *g, uint32_t input)
{
    const vtac_value *value = &g->values[g->inputs[input]];
    return value->type.rank == 0 && value->type.dtype == VTAC_I64 && strcmp(value->name, "position") == 0;
}

/* Rows of the table that an input of integers looks up. */
static int64_t rows_of(const vtac_graph *g, vtac_value_id input)
{
    int64_t rows = WORDS;
    for (uint32_t i = 0; i < g->values[input].user_count; i++) {
        const vtac_node *node = &g->nodes[g->values[input].users[i]];
        const vtac_tensor *table = node->dead ? NULL : vtac_in_constant(g, node, VTAC_GATHER_DATA);
        if (table != NULL && node->op == VTAC_OP_GATHER && node->inputs[VTAC_GATHER_INDICES] == input &&
            vtac_attr_int(node, "axis", 0) == 0) {
            rows = table->type.dim[0];
        }
    }
    return rows;
}

static void measure_steps(step_run *r)
{
    r->room = INT32_MAX;
    r->step = 1;
    for (uint32_t i = 0; i < r->graph->order_count; i++) {
        const vtac_node *node = &r->graph->nodes[r->graph->order[i]];
        if (node->op == VTAC_OP_TENSOR_SCATTER) {
            const vtac_type *cache = vtac_in_type(r->graph, node, VTAC_TENSOR_SCATTER_CACHE);
            const int64_t axis = vtac_attr_int(node, "axis", -2);
            const uint32_t along = (uint32_t)(axis < 0 ? axis + cache->rank : axis);
            r->room = cache->dim[along] < r->room ? cache->dim[along] : r->room;
            r->step = vtac_in_type(r->graph, node, VTAC_TENSOR_SCATTER_UPDATE)->dim[along];
        }
    }
}

static bool is_state(const step_run *r, uint32_t input)
{
    bool found = false;
    for (uint32_t i = 0; i < r->state_count; i++) {
        found = found || r->states[i].input == input;
    }
    return found;
}

static void fill_input(const step_run *r, uint32_t input, uint32_t step, const vtac_sample_range *range)
{
    const vtac_type *type = &r->graph->values[r->graph->inputs[input]].type;
    const int64_t count = vtac_type_elements(type);
    const int64_t rows = rows_of(r->graph, r->graph->inputs[input]);
    const size_t item = vtac_dtype_bytes(type->dtype);
    uint8_t *data = vta_model_input_data(r->model, input);
    for (int64_t i = 0; i < count; i++) {
        const double number = draw(r->random);
        const float real = (float)(range->low + (range->high - range->low) * number);
        const int64_t whole = is_position(r->graph, input) ? (int64_t)step * r->step % (r->room - r->step + 1)
                                                           : (int64_t)(number * (double)rows);
        memcpy(data + (size_t)i * item, type->dtype == VTAC_F32 ? (const void *)&real : (const void *)&whole,
               item);
    }
}

/* A copy of all inputs of the step that is to run. */
static vta_status keep_inputs(const step_run *r, vta_arena *arena, vtac_tensor *out, vta_diag *diag)
{
    for (uint32_t i = 0; i < r->graph->input_count; i++) {
        const size_t bytes = vta_model_input(r->model, i).bytes;
        void *data = vta_arena_alloc(arena, bytes + 1);
        if (data == NULL) {
            return vta_no_memory(diag);
        }
        memcpy(data, vta_model_input_data(r->model, i), bytes);
        out[i] =
            (vtac_tensor){.type = r->graph->values[r->graph->inputs[i]].type, .data = data, .bytes = bytes};
    }
    return VTA_OK;
}

static vta_status run_step(const step_run *r, uint32_t step, const vtac_sample_range *range, vta_arena *arena,
                           vtac_tensor *out, vta_diag *diag)
{
    for (uint32_t i = 0; i < r->graph->input_count; i++) {
        if (!is_state(r, i)) {
            fill_input(r, i, step, range);
        }
    }
    VTA_TRY(keep_inputs(r, arena, out, diag));
    VTA_TRY(vta_model_run(r->model, diag));
    for (uint32_t i = 0; i < r->state_count; i++) {
        memcpy(vta_model_input_data(r->model, r->states[i].input),
               vta_model_output_data(r->model, r->states[i].output),
               vta_model_input(r->model, r->states[i].input).bytes);
    }
    return VTA_OK;
}

static vta_status run_steps(step_run *r, const vtac_sample_range *range, uint32_t count, vta_arena *arena,
                            vtac_tensor *tensors, vta_diag *diag)
{
    vtac_loaded loaded;
    VTA_TRY(vtac_load_graph(r->graph, 1, &loaded, diag));
    vta_status status = VTA_OK;
    r->model = loaded.model;
    for (uint32_t i = 0; i < r->state_count; i++) {
        memset(vta_model_input_data(r->model, r->states[i].input), 0,
               vta_model_input(r->model, r->states[i].input).bytes);
    }
    for (uint32_t s = 0; s < count && status == VTA_OK; s++) {
        status = run_step(r, s, range, arena, &tensors[(size_t)s * r->graph->input_count], diag);
    }
    vtac_unload(&loaded);
    return status;
}

bool vtac_quant_has_steps(const vtac_graph *graph)
{
    vta_state *states;
    uint32_t count = 0;
    bool integers = false;
    if (graph->flow != NULL || vtac_find_states(graph, &states, &count, NULL) != VTA_OK) {
        return false;
    }
    free(states);
    for (uint32_t i = 0; i < graph->input_count; i++) {
        const vtac_dtype dtype = graph->values[graph->inputs[i]].type.dtype;
        integers = integers || dtype == VTAC_I64 || dtype == VTAC_I32;
    }
    return count > 0 && integers;
}

vta_status vtac_quant_make_steps(const vtac_graph *graph, const vtac_sample_range *range, uint32_t count,
                                 uint64_t *random, vta_arena *arena, vtac_tensor *tensors, vta_diag *diag)
{
    vta_state *states;
    step_run r = {.graph = graph};
    r.random = random;
    VTA_TRY(vtac_find_states(graph, &states, &r.state_count, diag));
    r.states = states;
    measure_steps(&r);
    const vta_status status = run_steps(&r, range, count, arena, tensors, diag);
    free(states);
    return status;
}

/* ---- states in 8 bits */

static bool same_constant(const vtac_graph *g, vtac_value_id a, vtac_value_id b)
{
    const vtac_tensor *x = g->values[a].constant;
    const vtac_tensor *y = g->values[b].constant;
    return a == b || (x != NULL && y != NULL && vtac_same_tensor(x, y));
}

/* The node that rounds a state's input, where the output is what the same scale gives back; 0: none does. */
static vtac_node_id rounds_alike(const vtac_graph *g, vtac_value_id input, vtac_value_id output)
{
    const vtac_node_id first = vtac_only_user_of(g, input);
    const vtac_node_id last = g->values[output].node;
    const vtac_node *quantize = &g->nodes[first];
    const vtac_node *dequantize = &g->nodes[last];
    if (first == 0 || last == 0 || quantize->op != VTAC_OP_QUANTIZE_LINEAR ||
        dequantize->op != VTAC_OP_DEQUANTIZE_LINEAR || quantize->input_count != 3 ||
        dequantize->input_count != 3) {
        return 0;
    }
    return same_constant(g, quantize->inputs[VTAC_QDQ_SCALE], dequantize->inputs[VTAC_QDQ_SCALE]) &&
                   same_constant(g, quantize->inputs[VTAC_QDQ_ZERO], dequantize->inputs[VTAC_QDQ_ZERO])
               ? first
               : 0;
}

static void narrow_state(vtac_graph *g, const vta_state *state, vtac_node_id quantize)
{
    const vtac_value_id input = g->inputs[state->input];
    const vtac_value_id output = g->outputs[state->output];
    const vtac_value_id rounded = g->nodes[g->values[output].node].inputs[VTAC_QDQ_X];
    const vtac_value_id taken = g->nodes[quantize].outputs[0];
    g->values[input].type.dtype = g->values[taken].type.dtype;
    vtac_replace_uses(g, taken, input);
    vtac_remove_node(g, quantize);
    g->outputs[state->output] = rounded;
    g->values[output].output_uses--;
    g->values[rounded].output_uses++;
    vtac_swap_names(g, output, rounded);
}

vta_status vtac_quant_narrow_states(vtac_graph *graph, vta_diag *diag)
{
    vta_state *states;
    uint32_t count;
    VTA_TRY(vtac_find_states(graph, &states, &count, diag));
    for (uint32_t i = 0; i < count; i++) {
        const vtac_node_id quantize =
            rounds_alike(graph, graph->inputs[states[i].input], graph->outputs[states[i].output]);
        if (quantize != 0 &&
            graph->nodes[quantize].outputs[0] !=
                graph->nodes[graph->values[graph->outputs[states[i].output]].node].inputs[VTAC_QDQ_X]) {
            narrow_state(graph, &states[i], quantize);
        }
    }
    free(states);
    (void)vtac_remove_dead(graph);
    return VTA_OK;
}
