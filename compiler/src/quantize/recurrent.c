/* SPDX-License-Identifier: Apache-2.0 */
#include "recurrent.h"

#include <string.h>

#include "vta/fail.h"
#include "vtac/recurrence.h"

enum { RANK = 4 }; /* of Y: steps, directions, batch, hidden */

typedef struct states {
    vtac_graph *graph;
    vtac_node like; /* the recurrent layer */
    vta_diag *diag;
} states;

static vta_status add_node(const states *s, vtac_op op, const vtac_value_id *inputs, uint32_t count,
                           const vtac_attr *attrs, uint32_t attr_count, vtac_value_id *out)
{
    vtac_node_id id;
    const vtac_node_spec spec = {.op = op,
                                 .name = s->like.name,
                                 .origin = s->like.origin,
                                 .inputs = inputs,
                                 .input_count = count,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = attr_count};
    VTA_TRY(vtac_add_node(s->graph, &spec, &id, s->diag));
    *out = s->graph->nodes[id].outputs[0];
    return VTA_OK;
}

static vta_status add_ints(const states *s, const int64_t *numbers, uint32_t count, vtac_value_id *out)
{
    int64_t *copy = vta_arena_array(&s->graph->arena, count, sizeof *copy);
    if (copy == NULL) {
        return vta_no_memory(s->diag);
    }
    memcpy(copy, numbers, count * sizeof *copy);
    const vtac_tensor tensor = {
        .type = {.dtype = VTAC_I64, .rank = 1, .dim = {count}}, .data = copy, .bytes = count * sizeof *copy};
    return vtac_add_constant(s->graph, "", &tensor, out, s->diag);
}

/* The last step of a direction: [1, batch, hidden]. */
static vta_status take_last(const states *s, vtac_value_id y, int64_t direction, vtac_value_id *out)
{
    const vtac_type type = s->graph->values[y].type;
    const bool reverse = direction == 1 || vtac_attr_string(&s->like, "direction", "forward")[0] == 'r';
    const int64_t step = reverse ? 0 : type.dim[0] - 1;
    vtac_value_id inputs[] = {y, 0, 0, 0};
    VTA_TRY(add_ints(s, (int64_t[]){step, direction}, 2, &inputs[VTAC_SLICE_STARTS]));
    VTA_TRY(add_ints(s, (int64_t[]){step + 1, direction + 1}, 2, &inputs[VTAC_SLICE_ENDS]));
    VTA_TRY(add_ints(s, (int64_t[]){0, 1}, 2, &inputs[VTAC_SLICE_AXES]));
    VTA_TRY(add_node(s, VTAC_OP_SLICE, inputs, RANK, NULL, 0, out));
    inputs[VTAC_RESHAPE_X] = *out;
    VTA_TRY(add_ints(s, (int64_t[]){1, type.dim[2], type.dim[3]}, RANK - 1, &inputs[VTAC_RESHAPE_SHAPE]));
    return add_node(s, VTAC_OP_RESHAPE, inputs, 2, NULL, 0, out);
}

static vta_status last_states(const states *s, vtac_value_id y, vtac_value_id *out)
{
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = 0};
    const int64_t directions = s->graph->values[y].type.dim[1];
    vtac_value_id parts[2] = {0, 0};
    for (int64_t d = 0; d < directions; d++) {
        VTA_TRY(take_last(s, y, d, &parts[d]));
    }
    *out = parts[0];
    return directions == 1 ? VTA_OK : add_node(s, VTAC_OP_CONCAT, parts, 2, &axis, 1, out);
}

static void replace(const states *s, vtac_value_id old, vtac_value_id now)
{
    if (old != 0) {
        vtac_swap_names(s->graph, old, now);
        vtac_replace_uses(s->graph, old, now);
    }
}

static bool reads(const vtac_node *node, vtac_value_id value)
{
    bool any = false;
    for (uint32_t k = 0; k < node->input_count && !node->dead; k++) {
        any = any || node->inputs[k] == value;
    }
    return any;
}

static bool leads_out(const vtac_graph *graph, vtac_value_id value);

/* True if a node only passes on what it reads, and that goes to outputs of the network. */
static bool passes_out(const vtac_graph *graph, const vtac_node *node)
{
    static const bool moves[VTAC_OP_COUNT] = {
        [VTAC_OP_CONCAT] = true,  [VTAC_OP_IDENTITY] = true,  [VTAC_OP_RESHAPE] = true,
        [VTAC_OP_SQUEEZE] = true, [VTAC_OP_TRANSPOSE] = true, [VTAC_OP_UNSQUEEZE] = true};
    return moves[node->op] && leads_out(graph, node->outputs[0]);
}

static bool leads_out(const vtac_graph *graph, vtac_value_id value)
{
    const vtac_value *v = &graph->values[value];
    bool out = v->output_uses > 0 || v->node_uses > 0;
    for (uint32_t i = 0; out && i < v->user_count; i++) {
        const vtac_node *user = &graph->nodes[v->users[i]];
        out = !reads(user, value) || passes_out(graph, user);
    }
    return out;
}

/* Lets a node read another value. */
static vta_status read_now(const states *s, vtac_node_id id, vtac_value_id old, vtac_value_id now)
{
    const vtac_node user = s->graph->nodes[id];
    for (uint32_t k = 0; k < user.input_count; k++) {
        VTA_TRY(user.inputs[k] == old ? vtac_set_input(s->graph, id, k, now, s->diag) : VTA_OK);
    }
    return VTA_OK;
}

/* Lets all that computes with h of a GRU read the last step of Y. What only goes out stays: H is finer than
 * that, and the next launch begins with it. */
static vta_status take_computed(const states *s, vtac_value_id old, vtac_value_id now)
{
    const vtac_value v = s->graph->values[old];
    for (uint32_t i = 0; i < v.user_count; i++) {
        const vtac_node *user = &s->graph->nodes[v.users[i]];
        VTA_TRY(user->dead || passes_out(s->graph, user) ? VTA_OK : read_now(s, v.users[i], old, now));
    }
    return VTA_OK;
}

/* Puts a layer that gives Y in the place of one that does not. */
static vta_status give_y(states *s)
{
    vtac_node_id id;
    const vtac_node old = s->like;
    const vtac_node_spec spec = {.op = old.op,
                                 .name = old.name,
                                 .origin = old.origin,
                                 .inputs = old.inputs,
                                 .input_count = old.input_count,
                                 .output_count = old.output_count,
                                 .attrs = old.attrs,
                                 .attr_count = old.attr_count};
    VTA_TRY(vtac_add_node(s->graph, &spec, &id, s->diag));
    s->like = s->graph->nodes[id];
    for (uint32_t i = 0; i < old.output_count; i++) {
        replace(s, old.outputs[i], s->like.outputs[i]);
    }
    return VTA_OK;
}

/* Lets what reads h read the last step of Y. */
static vta_status take_states(states *s)
{
    const bool finer = s->like.op == VTAC_OP_GRU && vtac_recurrent_has_state(s->graph, &s->like);
    vtac_value_id h;
    VTA_TRY(s->like.outputs[VTAC_RECURRENT_Y] == 0 ? give_y(s) : VTA_OK);
    const vtac_value_id old = s->like.outputs[VTAC_RECURRENT_Y_H];
    VTA_TRY(last_states(s, s->like.outputs[VTAC_RECURRENT_Y], &h));
    if (finer) {
        return take_computed(s, old, h);
    }
    replace(s, old, h);
    return VTA_OK;
}

vta_status vtac_quant_take_states(vtac_graph *graph, vta_diag *diag)
{
    bool any = false;
    for (uint32_t i = 0, count = graph->order_count; i < count; i++) {
        const vtac_node *node = &graph->nodes[graph->order[i]];
        if (vtac_recurrent_is_usual(graph, node) && vtac_recurrent_gives(graph, node, VTAC_RECURRENT_Y_H)) {
            states s = {graph, *node, diag};
            any = true;
            VTA_TRY(take_states(&s));
        }
    }
    if (any) {
        VTA_TRY(vtac_graph_sort(graph, diag));
        (void)vtac_remove_dead(graph);
    }
    return VTA_OK;
}
