/* SPDX-License-Identifier: Apache-2.0
 *
 * Values that have one scale together: what is moved has the scale of where it comes from. A concatenation
 * or a choice between two brings its operands to the scale of its result. Where nothing else reads an
 * operand, the operand has that scale from the start, and nothing is rounded twice.
 */
#include "plan.h"

vtac_value_id vtac_quant_group(const vtac_quant_plan *plan, vtac_value_id value)
{
    while (plan->parent[value] != value) {
        value = plan->parent[value];
    }
    return value;
}

/* The smaller id stands for both: the result does not depend on the order of joining. */
void vtac_quant_join(const vtac_quant_plan *plan, vtac_value_id a, vtac_value_id b)
{
    a = vtac_quant_group(plan, a);
    b = vtac_quant_group(plan, b);
    plan->parent[a < b ? b : a] = a < b ? a : b;
}

static void join_moved(const vtac_quant_plan *plan)
{
    const vtac_graph *g = plan->graph;
    for (uint32_t i = 0; i < g->order_count; i++) {
        const vtac_node *node = &g->nodes[g->order[i]];
        const bool moves_one = plan->active[g->order[i]] && vtac_quant_role_of(node->op) == QUANT_SHARE;
        for (uint32_t k = 0; moves_one && k < node->output_count; k++) {
            if (node->outputs[k] != 0) {
                vtac_quant_join(plan, node->inputs[0], node->outputs[k]);
            }
        }
    }
}

bool vtac_quant_is_bounded(const vtac_graph *g, vtac_node_id id)
{
    static const bool bounded[VTAC_OP_COUNT] = {
        [VTAC_OP_GRU] = true,     [VTAC_OP_HARD_SIGMOID] = true, [VTAC_OP_LSTM] = true, [VTAC_OP_RNN] = true,
        [VTAC_OP_SIGMOID] = true, [VTAC_OP_SOFTMAX] = true,      [VTAC_OP_TANH] = true};
    const vtac_node *node = &g->nodes[id];
    const bool clips = id != 0 && node->op == VTAC_OP_CLIP &&
                       vtac_in_constant(g, node, VTAC_CLIP_MIN) != NULL &&
                       vtac_in_constant(g, node, VTAC_CLIP_MAX) != NULL;
    return clips || (id != 0 && bounded[node->op]);
}

/* True where something beside concatenation `join` and the members of a group reads this member. */
static bool is_read_beside(const vtac_quant_plan *plan, vtac_value_id member, vtac_node_id join)
{
    const vtac_graph *g = plan->graph;
    const vtac_value *v = &g->values[member];
    bool beside = v->output_uses > 0;
    for (uint32_t i = 0; !beside && i < v->user_count; i++) {
        const vtac_node *user = &g->nodes[v->users[i]];
        bool reads = false;
        for (uint32_t k = 0; !user->dead && k < user->input_count; k++) {
            reads = reads || user->inputs[k] == member;
        }
        const bool moved = plan->active[v->users[i]] && vtac_quant_role_of(user->op) == QUANT_SHARE;
        beside = reads && v->users[i] != join && !moved;
    }
    return beside;
}

/* True where a group may have the scale of the concatenation that reads it: no member is read by anything
 * else or made by a function whose range is known. */
static bool is_only_joined(const vtac_quant_plan *plan, vtac_value_id group, vtac_node_id join)
{
    const vtac_graph *g = plan->graph;
    bool only = true;
    for (vtac_value_id v = 1; only && v < plan->value_room; v++) {
        only = vtac_quant_group(plan, v) != group ||
               (!vtac_quant_is_bounded(g, g->values[v].node) && !is_read_beside(plan, v, join));
    }
    return only;
}

static void join_concatenated(const vtac_quant_plan *plan)
{
    const vtac_graph *g = plan->graph;
    for (uint32_t i = 0; i < g->order_count; i++) {
        const vtac_node_id id = g->order[i];
        const vtac_node *node = &g->nodes[id];
        const bool joins =
            plan->active[id] && plan->island[id] == 0 && vtac_quant_role_of(node->op) == QUANT_JOIN;
        for (uint32_t k = 0; joins && k < vtac_quant_operands(plan, id); k++) {
            if (g->values[node->inputs[k]].constant != NULL ||
                is_only_joined(plan, vtac_quant_group(plan, node->inputs[k]), id)) {
                vtac_quant_join(plan, node->outputs[0], node->inputs[k]);
            }
        }
    }
}

void vtac_quant_join_groups(const vtac_quant_plan *plan)
{
    join_moved(plan);
    join_concatenated(plan);
}
