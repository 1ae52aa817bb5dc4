/* SPDX-License-Identifier: Apache-2.0
 *
 * From nodes to the numbers of recurrent cells.
 */
#include "vtac/recurrence.h"

#include <string.h>

/* All numbers of a constant; NULL: not known, not as many, or no memory. */
static const float *known_floats(const vtac_graph *graph, const vtac_node *node, uint32_t i, int64_t count,
                                 vta_arena *arena)
{
    const vtac_tensor *tensor = vtac_in_constant(graph, node, i);
    if (tensor == NULL || vtac_type_elements(&tensor->type) != count) {
        return NULL;
    }
    float *numbers = vta_arena_array(arena, (size_t)count, sizeof *numbers);
    for (int64_t k = 0; numbers != NULL && k < count; k++) {
        numbers[k] = (float)vtac_tensor_float(tensor, k);
    }
    return numbers;
}

/* Scales and zero points, the latter as int8 has them. */
static bool read_scales(const vtac_graph *graph, const vtac_node *node, vtac_recurrent_want *want)
{
    double known[4];
    const vtac_type *x = vtac_in_type(graph, node, VTAC_RECURRENCE_X);
    const int32_t less = x->dtype == VTAC_U8 ? -INT8_MIN : 0;
    for (uint32_t i = 0; i < 4; i++) {
        if (!vtac_scalar_of(graph, node->inputs[VTAC_RECURRENCE_X_SCALE + i], &known[i])) {
            return false;
        }
    }
    want->x_scale = (float)known[0];
    want->x_zero = (int32_t)known[1] - less;
    want->h_scale = (float)known[2];
    want->h_zero = (int32_t)known[3] - less;
    return true;
}

static bool make_room(vtac_recurrent_room *room, const vtac_recurrent_want *want, vta_arena *arena)
{
    const size_t rows = (size_t)vtac_recurrent_gates(want->kind) * (size_t)want->hidden;
    *room = (vtac_recurrent_room){.w = vta_arena_array(arena, rows * (size_t)want->inputs, 1),
                                  .r = vta_arena_array(arena, rows * (size_t)want->hidden, 1),
                                  .bias = vta_arena_array(arena, rows, sizeof(int32_t)),
                                  .state_bias = vta_arena_array(arena, rows, sizeof(int32_t)),
                                  .scales = vta_arena_array(arena, rows, sizeof(vtac_fixed))};
    return room->w != NULL && room->r != NULL && room->bias != NULL && room->state_bias != NULL &&
           room->scales != NULL;
}

bool vtac_recurrent_of_node(const vtac_graph *graph, const vtac_node *node, vta_arena *arena,
                            vtac_recurrent *out)
{
    enum { LARGEST = 1 << 16 };
    const vtac_tensor *w = vtac_in_constant(graph, node, VTAC_RECURRENCE_W);
    const vtac_tensor *r = vtac_in_constant(graph, node, VTAC_RECURRENCE_R);
    const vtac_recurrent_kind kind = (vtac_recurrent_kind)vtac_attr_int(node, "kind", 0);
    if (w == NULL || r == NULL || w->type.dim[1] > LARGEST || r->type.dim[1] > LARGEST ||
        vtac_type_elements(&w->type) == 0 || vtac_type_elements(&r->type) == 0) {
        return false;
    }
    const int64_t rows = vtac_recurrent_gates(kind) * r->type.dim[1];
    vtac_recurrent_want want = {
        .kind = kind,
        .reset_after = vtac_attr_int(node, "reset_after", 0) != 0,
        .inputs = (int32_t)w->type.dim[1],
        .hidden = (int32_t)r->type.dim[1],
        .w = known_floats(graph, node, VTAC_RECURRENCE_W, rows * w->type.dim[1], arena),
        .r = known_floats(graph, node, VTAC_RECURRENCE_R, rows * r->type.dim[1], arena),
        .b = known_floats(graph, node, VTAC_RECURRENCE_B, 2 * rows, arena)};
    vtac_recurrent_room room;
    return want.w != NULL && want.r != NULL && want.b != NULL && read_scales(graph, node, &want) &&
           make_room(&room, &want, arena) && vtac_recurrent_of(&want, &room, out);
}

/* ---- operators of ONNX */

bool vtac_recurrent_kind_of(vtac_op op, vtac_recurrent_kind *out)
{
    *out = op == VTAC_OP_LSTM  ? VTAC_RECURRENT_LSTM
           : op == VTAC_OP_GRU ? VTAC_RECURRENT_GRU
                               : VTAC_RECURRENT_RNN;
    return op == VTAC_OP_LSTM || op == VTAC_OP_GRU || op == VTAC_OP_RNN;
}

/* True if the functions of a cell are those that it has without being told. */
static bool has_usual_functions(const vtac_node *node, vtac_recurrent_kind kind)
{
    const vtac_attr *names = vtac_find_attr(node, "activations");
    const uint32_t each = kind == VTAC_RECURRENT_RNN ? 1 : kind == VTAC_RECURRENT_GRU ? 2 : 3;
    bool usual = names == NULL || (names->kind == VTAC_ATTR_STRINGS && names->count % each == 0);
    for (size_t i = 0; usual && names != NULL && i < names->count; i++) {
        const bool first = i % each == 0 && kind != VTAC_RECURRENT_RNN;
        usual = strcmp(names->strings[i], first ? "Sigmoid" : "Tanh") == 0;
    }
    return usual && vtac_find_attr(node, "activation_alpha") == NULL &&
           vtac_find_attr(node, "activation_beta") == NULL && vtac_find_attr(node, "clip") == NULL &&
           vtac_find_attr(node, "cell_clip") == NULL && vtac_attr_int(node, "input_forget", 0) == 0;
}

/* True if all sequences of the batch, where their lengths are known, have all steps. */
static bool are_whole(const vtac_graph *graph, const vtac_node *node)
{
    const vtac_type *x = vtac_in_type(graph, node, VTAC_RECURRENT_X);
    const vtac_tensor *lengths = vtac_in_constant(graph, node, VTAC_RECURRENT_LENGTHS);
    bool whole = vtac_in_type(graph, node, VTAC_RECURRENT_LENGTHS) == NULL || lengths != NULL;
    for (int64_t i = 0; lengths != NULL && i < vtac_type_elements(&lengths->type); i++) {
        whole = whole && vtac_tensor_int(lengths, i) >= x->dim[0];
    }
    return whole;
}

/* True if an input is absent or known to be all 0. */
static bool is_nothing(const vtac_graph *graph, const vtac_node *node, uint32_t i)
{
    const vtac_tensor *numbers = vtac_in_constant(graph, node, i);
    bool nothing = vtac_in_type(graph, node, i) == NULL || numbers != NULL;
    for (int64_t k = 0; nothing && numbers != NULL && k < vtac_type_elements(&numbers->type); k++) {
        nothing = vtac_tensor_float(numbers, k) == 0.0;
    }
    return nothing;
}

/* True if a parameter is a constant, of floats or of integers that stand for floats. */
static bool is_known(const vtac_graph *graph, const vtac_node *node, uint32_t i)
{
    const vtac_type *type = vtac_in_type(graph, node, i);
    const vtac_node_id maker = type == NULL ? 0 : graph->values[node->inputs[i]].node;
    return type != NULL &&
           (maker == 0 ? vtac_in_constant(graph, node, i) != NULL
                       : graph->nodes[maker].op == VTAC_OP_DEQUANTIZE_LINEAR &&
                             vtac_in_constant(graph, &graph->nodes[maker], VTAC_QDQ_X) != NULL);
}

bool vtac_recurrent_has_state(const vtac_graph *graph, const vtac_node *node)
{
    return !is_nothing(graph, node, VTAC_RECURRENT_INITIAL_H) ||
           !is_nothing(graph, node, VTAC_RECURRENT_INITIAL_C);
}

bool vtac_recurrent_gives(const vtac_graph *graph, const vtac_node *node, uint32_t output)
{
    return output < node->output_count && node->outputs[output] != 0 &&
           vtac_use_count(graph, node->outputs[output]) > 0;
}

/* True if a state is absent, or floats that the layer takes as they are. */
static bool is_state(const vtac_graph *graph, const vtac_node *node, uint32_t i)
{
    const vtac_type *type = vtac_in_type(graph, node, i);
    return type == NULL || (type->dtype == VTAC_F32 && type->rank == 3);
}

bool vtac_recurrent_is_usual(const vtac_graph *graph, const vtac_node *node)
{
    vtac_recurrent_kind kind;
    const vtac_type *x = vtac_in_type(graph, node, VTAC_RECURRENT_X);
    if (!vtac_recurrent_kind_of(node->op, &kind) || x == NULL || x->rank != 3 || vtac_type_elements(x) == 0 ||
        x->dim[0] > VTAC_RECURRENT_STEPS || vtac_attr_int(node, "layout", 0) != 0) {
        return false;
    }
    bool usual = has_usual_functions(node, kind) && are_whole(graph, node) &&
                 is_state(graph, node, VTAC_RECURRENT_INITIAL_H) &&
                 is_state(graph, node, VTAC_RECURRENT_INITIAL_C) && is_nothing(graph, node, VTAC_RECURRENT_P);
    for (uint32_t i = VTAC_RECURRENT_W; i <= VTAC_RECURRENT_B; i++) {
        usual = usual &&
                (is_known(graph, node, i) || (i == VTAC_RECURRENT_B && vtac_in_type(graph, node, i) == NULL));
    }
    return usual;
}

bool vtac_recurrent_is_plain(const vtac_graph *graph, const vtac_node *node)
{
    return node->outputs[0] != 0 && vtac_recurrent_is_usual(graph, node);
}
