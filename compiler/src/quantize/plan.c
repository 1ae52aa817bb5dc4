/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of activations with constant weights are quantized; what stands between or behind them goes along,
 * so that integers need not become floats on the way. Beside that, all stays float.
 */
#include "plan.h"

#include <stdio.h>

#include "vtac/quantize.h"

typedef struct role_row {
    quant_role role;
    uint32_t operands;
} role_row;

static const role_row roles[VTAC_OP_COUNT] = {
#define QUANT_ROLE(op, role, operands) [VTAC_OP_##op] = {QUANT_##role, operands},
#include "roles.def"
};

quant_role quant_role_of(vtac_op op)
{
    return roles[op].role;
}

void vtac_why_float(const vtac_graph *graph, const vtac_node *node, char text[128])
{
    const vtac_type *x = vtac_in_type(graph, node, 0);
    uint32_t axis;
    if (vtac_quantizable(graph)) {
        (void)snprintf(text, 128, "quantize the model (vtac quantize)");
    } else if (x != NULL && x->dtype != VTAC_F32) {
        (void)snprintf(text, 128, "vtac quantize takes f32 alone");
    } else if (roles[node->op].role == QUANT_FLOAT) {
        (void)snprintf(text, 128, "it has no 8-bit %s", vtac_op_get(node->op)->name);
    } else if (roles[node->op].role == QUANT_PRODUCT && !quant_is_product(graph, node, &axis)) {
        (void)snprintf(text, 128, "its weights are constant, those here change with the input");
    } else {
        (void)snprintf(text, 128, "no product in int8 stands beside this one");
    }
}

vtac_value_id quant_group(const quant_plan *plan, vtac_value_id value)
{
    while (plan->parent[value] != value) {
        value = plan->parent[value];
    }
    return value;
}

/* The smaller id stands for both: the result does not depend on the order of joining. */
static void join(const quant_plan *plan, vtac_value_id a, vtac_value_id b)
{
    a = quant_group(plan, a);
    b = quant_group(plan, b);
    plan->parent[a < b ? b : a] = a < b ? a : b;
}

static uint32_t operands_of(const vtac_node *node)
{
    const uint32_t most = roles[node->op].operands;
    return node->input_count < most ? node->input_count : most;
}

static bool is_float(const vtac_graph *g, vtac_value_id value)
{
    return value != 0 && g->values[value].type.dtype == VTAC_F32 &&
           vtac_type_elements(&g->values[value].type) > 0;
}

bool quant_is_product(const vtac_graph *graph, const vtac_node *node, uint32_t *axis)
{
    const vtac_tensor *w = roles[node->op].role == QUANT_PRODUCT ? vtac_in_constant(graph, node, 1) : NULL;
    if (w == NULL || w->type.dtype != VTAC_F32 || w->type.rank < 2) {
        return false;
    }
    *axis = node->op == VTAC_OP_CONV                                            ? 0
            : node->op == VTAC_OP_GEMM && vtac_attr_int(node, "transB", 0) != 0 ? 0
                                                                                : 1;
    /* a transposed one has its outputs second, and integers where all channels are in one group */
    const bool fits = node->op == VTAC_OP_CONV_TRANSPOSE
                          ? w->type.rank == 4 && vtac_attr_int(node, "group", 1) == 1
                          : node->op == VTAC_OP_CONV || w->type.rank == 2;
    return fits && graph->values[node->inputs[0]].constant == NULL;
}

/* Whether a node could be quantized at all. */
static bool eligible(const vtac_graph *g, const vtac_node *node)
{
    uint32_t axis;
    if (roles[node->op].role == QUANT_FLOAT ||
        (roles[node->op].role == QUANT_PRODUCT && !quant_is_product(g, node, &axis))) {
        return false;
    }
    bool moving = false; /* some operand is not a constant */
    for (uint32_t i = 0; i < operands_of(node); i++) {
        if (!is_float(g, node->inputs[i])) {
            return false;
        }
        moving = moving || g->values[node->inputs[i]].constant == NULL;
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] != 0 && !is_float(g, node->outputs[i])) {
            return false;
        }
    }
    for (uint32_t i = 1; node->op == VTAC_OP_CLIP && i < node->input_count; i++) {
        if (node->inputs[i] != 0 && g->values[node->inputs[i]].constant == NULL) {
            return false;
        }
    }
    return moving;
}

/* Whether it follows an active node, or only moves elements in front of one. */
static bool beside_active(const quant_plan *plan, const vtac_node *node)
{
    const vtac_graph *g = plan->graph;
    for (uint32_t i = 0; i < operands_of(node); i++) {
        const vtac_node_id above = g->values[node->inputs[i]].node;
        if (above != 0 && plan->active[above]) {
            return true;
        }
    }
    for (uint32_t i = 0; roles[node->op].role == QUANT_SHARE && i < node->output_count; i++) {
        if (node->outputs[i] != 0 && plan->wanted[node->outputs[i]]) {
            return true;
        }
    }
    return false;
}

static void activate(const quant_plan *plan, vtac_node_id id)
{
    const vtac_node *node = &plan->graph->nodes[id];
    plan->active[id] = true;
    for (uint32_t i = 0; i < operands_of(node); i++) {
        plan->wanted[node->inputs[i]] = true;
    }
}

static void activate_all(const quant_plan *plan)
{
    const vtac_graph *g = plan->graph;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < g->order_count; i++) {
            const vtac_node_id id = g->order[i];
            const vtac_node *node = &g->nodes[id];
            if (!plan->active[id] && eligible(g, node) &&
                (roles[node->op].role == QUANT_PRODUCT || beside_active(plan, node))) {
                activate(plan, id);
                changed = true;
            }
        }
    }
}

/* The clamp that alone uses a value, or 0. */
static vtac_node_id clamp_behind(const quant_plan *plan, vtac_value_id value)
{
    const vtac_graph *g = plan->graph;
    if (vtac_use_count(g, value) != 1 || vtac_is_output(g, value)) {
        return 0;
    }
    for (uint32_t i = 0; i < g->order_count; i++) {
        const vtac_node *node = &g->nodes[g->order[i]];
        if (plan->active[g->order[i]] && roles[node->op].role == QUANT_CLAMP && node->inputs[0] == value) {
            return g->order[i];
        }
    }
    return 0;
}

/* Results of active nodes; in front of a clamp it is the clamp's. */
static void want_results(const quant_plan *plan)
{
    const vtac_graph *g = plan->graph;
    for (uint32_t i = 0; i < g->order_count; i++) {
        const vtac_node *node = &g->nodes[g->order[i]];
        for (uint32_t k = 0; plan->active[g->order[i]] && k < node->output_count; k++) {
            const vtac_value_id y = node->outputs[k];
            plan->wanted[y] = y != 0 && (roles[node->op].role == QUANT_SHARE || clamp_behind(plan, y) == 0);
        }
    }
}

static void join_groups(const quant_plan *plan)
{
    const vtac_graph *g = plan->graph;
    for (uint32_t i = 0; i < g->order_count; i++) {
        const vtac_node *node = &g->nodes[g->order[i]];
        if (!plan->active[g->order[i]] || roles[node->op].role != QUANT_SHARE) {
            continue;
        }
        for (uint32_t k = 1; k < operands_of(node); k++) {
            join(plan, node->inputs[0], node->inputs[k]);
        }
        for (uint32_t k = 0; k < node->output_count; k++) {
            if (node->outputs[k] != 0) {
                join(plan, node->inputs[0], node->outputs[k]);
            }
        }
    }
}

vta_status quant_plan_make(vtac_graph *graph, vta_arena *arena, quant_plan *out, vta_diag *diag)
{
    const size_t nodes = graph->node_count + (size_t)1;
    const size_t values = graph->value_count + (size_t)1;
    *out = (quant_plan){.graph = graph,
                        .arena = arena,
                        .active = vta_arena_array(arena, nodes, sizeof(bool)),
                        .wanted = vta_arena_array(arena, values, sizeof(bool)),
                        .parent = vta_arena_array(arena, values, sizeof(vtac_value_id)),
                        .node_room = (uint32_t)nodes,
                        .value_room = (uint32_t)values};
    if (out->active == NULL || out->wanted == NULL || out->parent == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory");
    }
    for (size_t n = 0; n < nodes; n++) {
        out->active[n] = false;
    }
    for (vtac_value_id v = 0; v < values; v++) {
        out->wanted[v] = false;
        out->parent[v] = v;
    }
    activate_all(out);
    want_results(out);
    join_groups(out);
    return VTA_OK;
}
