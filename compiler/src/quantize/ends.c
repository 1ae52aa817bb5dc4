/* SPDX-License-Identifier: Apache-2.0
 *
 * Integers at a network's ends. An input that is quantized by one scale wherever it is read becomes the
 * integers; an output that is made of integers by one scale becomes those. Probabilities (Softmax, Sigmoid)
 * of such get 256 steps from 0 to 1, as TensorFlow Lite gives them.
 */
#include <stdio.h>
#include <string.h>

#include "insert.h"
#include "vta/fail.h"
#include "vtac/quantize.h"

enum { X, SCALE, ZERO };
static const float probability_step = 1.0F / 256;

typedef struct ends_job {
    vtac_graph *graph;
    const vtac_note *note;
    uint32_t count; /* ends that are integers now */
} ends_job;

/* The scale and zero point of a node that converts by one scale; false: it is none. */
static bool one_scale(const vtac_graph *g, const vtac_node *node, vtac_op op, const vtac_tensor **scale,
                      const vtac_tensor **zero)
{
    if (node->op != op || node->input_count <= ZERO || node->inputs[ZERO] == 0) {
        return false;
    }
    *scale = vtac_in_constant(g, node, SCALE);
    *zero = vtac_in_constant(g, node, ZERO);
    return *scale != NULL && *zero != NULL && vtac_type_elements(&(*scale)->type) == 1 &&
           vtac_dtype_bytes((*zero)->type.dtype) == 1;
}

static void report_end(ends_job *j, const char *what, const char *name, const vtac_tensor *scale,
                       const vtac_tensor *zero)
{
    char text[256];
    (void)snprintf(text, sizeof text, "%s '%.100s' is %s now: (integer - %d) * %.9g", what, name,
                   vtac_dtype_name(zero->type.dtype), (int)vtac_tensor_int(zero, 0),
                   vtac_tensor_float(scale, 0));
    j->count++;
    if (j->note->report != NULL) {
        j->note->report(j->note->context, text);
    }
}

static bool same_numbers(const vtac_tensor *a, const vtac_tensor *b)
{
    return a->type.dtype == b->type.dtype && vtac_tensor_float(a, 0) == vtac_tensor_float(b, 0);
}

/* True if every reader of the input is QuantizeLinear of one scale. */
static bool read_as_integers(const vtac_graph *g, vtac_value_id input, const vtac_tensor **scale,
                             const vtac_tensor **zero)
{
    const vtac_value *v = &g->values[input];
    bool all = v->node_uses > 0 && v->output_uses == 0;
    *scale = NULL;
    *zero = NULL;
    for (uint32_t i = 0; all && i < v->user_count; i++) {
        const vtac_node *user = &g->nodes[v->users[i]];
        const vtac_tensor *s;
        const vtac_tensor *z;
        if (user->dead || user->inputs[X] != input) {
            continue; /* a reader that it had once */
        }
        all = one_scale(g, user, VTAC_OP_QUANTIZE_LINEAR, &s, &z) &&
              (*scale == NULL || (same_numbers(s, *scale) && same_numbers(z, *zero)));
        if (all) {
            *scale = s;
            *zero = z;
        }
    }
    return all && *scale != NULL;
}

static vta_status change_input(ends_job *j, vtac_value_id input)
{
    vtac_graph *g = j->graph;
    const vtac_tensor *scale;
    const vtac_tensor *zero;
    if (!read_as_integers(g, input, &scale, &zero)) {
        return VTA_OK;
    }
    const uint32_t readers = g->values[input].user_count;
    for (uint32_t i = 0; i < readers; i++) {
        const vtac_node *user = &g->nodes[g->values[input].users[i]];
        if (!user->dead && user->inputs[X] == input) {
            vtac_replace_uses(g, user->outputs[0], input);
            vtac_remove_node(g, g->values[input].users[i]);
        }
    }
    g->values[input].type.dtype = zero->type.dtype;
    report_end(j, "input", g->values[input].name, scale, zero);
    return VTA_OK;
}

/* Puts 256 steps behind probabilities whose operand is made of integers; *q: those, 0 where it is not so. */
static vta_status divide_probabilities(vtac_graph *g, vtac_value_id output, vtac_value_id *q, vta_diag *diag)
{
    const vtac_node *node = &g->nodes[g->values[output].node];
    const vtac_tensor *scale;
    const vtac_tensor *zero;
    *q = 0;
    if ((node->op != VTAC_OP_SOFTMAX && node->op != VTAC_OP_SIGMOID) ||
        g->values[node->inputs[X]].node == 0 ||
        !one_scale(g, &g->nodes[g->values[node->inputs[X]].node], VTAC_OP_DEQUANTIZE_LINEAR, &scale, &zero)) {
        return VTA_OK;
    }
    const vtac_dtype dtype = zero->type.dtype;
    vtac_quant_params params;
    vtac_value_id real;
    VTA_TRY(
        vtac_quant_add_params(g, dtype, probability_step, dtype == VTAC_I8 ? INT8_MIN : 0, &params, diag));
    VTA_TRY(vtac_quant_wrap(g, output, &params, &real, diag));
    *q = real;
    return vtac_graph_sort(g, diag);
}

static vta_status change_output(ends_job *j, uint32_t at, vta_diag *diag)
{
    vtac_graph *g = j->graph;
    vtac_value_id output = g->outputs[at];
    const vtac_tensor *scale;
    const vtac_tensor *zero;
    vtac_value_id divided;
    if (g->values[output].node == 0 || g->values[output].node_uses > 0 || g->values[output].output_uses > 1) {
        return VTA_OK;
    }
    VTA_TRY(divide_probabilities(g, output, &divided, diag));
    output = divided != 0 ? divided : output;
    const vtac_node_id maker = g->values[output].node;
    if (!one_scale(g, &g->nodes[maker], VTAC_OP_DEQUANTIZE_LINEAR, &scale, &zero) ||
        g->values[g->nodes[maker].inputs[X]].node == 0) {
        return VTA_OK;
    }
    const vtac_value_id integers = g->nodes[maker].inputs[X];
    report_end(j, "output", g->values[output].name, scale, zero);
    vtac_swap_names(g, integers, output);
    vtac_replace_uses(g, output, integers);
    vtac_remove_node(g, maker);
    return VTA_OK;
}

vta_status vtac_integer_ends(vtac_graph *graph, const vtac_note *note, vta_diag *diag)
{
    ends_job j = {.graph = graph, .note = note};
    for (uint32_t i = 0; graph->flow == NULL && i < graph->input_count; i++) {
        VTA_TRY(change_input(&j, graph->inputs[i]));
    }
    for (uint32_t i = 0; graph->flow == NULL && i < graph->output_count; i++) {
        VTA_TRY(change_output(&j, i, diag));
    }
    if (j.count == 0) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "no input or output of the model is quantized by one scale of 8 bits; "
                        "'vtac quantize' makes such a model of one of floats");
    }
    (void)vtac_remove_dead(graph);
    return vtac_graph_verify(graph, diag);
}
