/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of activations with constant weights are quantized; what stands between or behind them goes along,
 * so that integers need not become floats on the way. Beside that, all stays float.
 */
#include "plan.h"

#include <stdio.h>
#include <string.h>

#include "early.h"
#include "half.h"
#include "relative.h"
#include "split.h"
#include "vta/fail.h"
#include "vtac/island.h"
#include "vtac/quantize.h"
#include "vtac/recurrence.h"
#include "vtac/rows.h"

typedef struct role_row {
    vtac_quant_role role;
    uint32_t operands;
} role_row;

static const role_row roles[VTAC_OP_COUNT] = {
#define QUANT_ROLE(op, role, operands) [VTAC_OP_##op] = {QUANT_##role, operands},
#include "roles.def"
};

vtac_quant_role vtac_quant_role_of(vtac_op op)
{
    return roles[op].role;
}

/* True if both operands of a node are activations of its result's shape. */
static bool is_pair_of_like(const vtac_graph *g, const vtac_node *node)
{
    bool like = node->input_count == 2;
    for (uint32_t i = 0; like && i < 2; i++) {
        like = vtac_in_constant(g, node, i) == NULL && vtac_in_type(g, node, i) != NULL &&
               vtac_type_equal(vtac_in_type(g, node, i), &g->values[node->outputs[0]].type);
    }
    return like;
}

static bool needs_pair(vtac_op op)
{
    return op == VTAC_OP_MAX || op == VTAC_OP_MIN || op == VTAC_OP_SUB;
}

static bool stays_float(const vtac_graph *g, const vtac_node *node)
{
    return roles[node->op].role == QUANT_FLOAT || (needs_pair(node->op) && !is_pair_of_like(g, node));
}

/* The reason that keeps an operator of products float. */
static const char *why_no_product(const vtac_graph *graph, const vtac_node *node)
{
    if (vtac_in_constant(graph, node, VTAC_PRODUCT_WEIGHT) == NULL) {
        return "its weights are constant, those here change with the input";
    }
    return node->op == VTAC_OP_CONV_TRANSPOSE
               ? "it has one group, and volumes' taps in depth do not overlap: their number is the stride"
               : "its weights are one matrix, those here are several";
}

void vtac_why_float(const vtac_graph *graph, const vtac_node *node, char text[128])
{
    const vtac_type *x = vtac_in_type(graph, node, 0);
    uint32_t axis;
    if (vtac_quantizable(graph)) {
        (void)snprintf(text, 128, "quantize the model (vtac quantize)");
    } else if (x != NULL && x->dtype != VTAC_F32) {
        (void)snprintf(text, 128, "vtac quantize takes f32, f16 and bf16");
    } else if (stays_float(graph, node)) {
        (void)snprintf(text, 128, "it has no 8-bit %s", vtac_op_get(node->op)->name);
    } else if (roles[node->op].role == QUANT_RECURRENT && !vtac_recurrent_is_plain(graph, node)) {
        (void)snprintf(text, 128,
                       "its weights are not known, a sequence is cut, or its functions are others");
    } else if (roles[node->op].role == QUANT_PRODUCT && !vtac_quant_is_product(graph, node, &axis)) {
        (void)snprintf(text, 128, "%s", why_no_product(graph, node));
    } else {
        (void)snprintf(text, 128, "no product in int8 stands beside this one");
    }
}

bool vtac_quant_is_pair(const vtac_graph *graph, const vtac_node *node)
{
    return node->op == VTAC_OP_MATMUL && vtac_in_constant(graph, node, VTAC_MATMUL_B) == NULL &&
           vtac_in_type(graph, node, VTAC_MATMUL_A)->rank > 1 &&
           vtac_in_type(graph, node, VTAC_MATMUL_B)->rank > 1;
}

static uint32_t operands_of(const vtac_graph *graph, const vtac_node *node)
{
    const uint32_t max = vtac_quant_is_pair(graph, node) ? 2 : roles[node->op].operands;
    return node->input_count < max ? node->input_count : max;
}

uint32_t vtac_quant_operands(const vtac_quant_plan *plan, vtac_node_id id)
{
    return operands_of(plan->graph, &plan->graph->nodes[id]);
}

/* In an island all inputs that are there may be activations. */
static uint32_t reach_of(const vtac_quant_plan *plan, const vtac_node *node)
{
    const vtac_node_id id = (vtac_node_id)(node - plan->graph->nodes);
    return plan->island[id] != 0 ? node->input_count : operands_of(plan->graph, node);
}

static bool is_float(const vtac_graph *g, vtac_value_id value)
{
    return value != 0 && g->values[value].type.dtype == VTAC_F32 &&
           vtac_type_elements(&g->values[value].type) > 0;
}

bool vtac_quant_may_be_product(const vtac_node *node)
{
    return roles[node->op].role == QUANT_PRODUCT;
}

bool vtac_quant_is_product(const vtac_graph *graph, const vtac_node *node, uint32_t *axis)
{
    const vtac_tensor *w =
        roles[node->op].role == QUANT_PRODUCT ? vtac_in_constant(graph, node, VTAC_PRODUCT_WEIGHT) : NULL;
    if (w == NULL || (w->type.dtype != VTAC_F32 && !vtac_quant_is_half(w->type.dtype)) || w->type.rank < 2) {
        return false;
    }
    *axis = node->op == VTAC_OP_CONV                                            ? 0
            : node->op == VTAC_OP_GEMM && vtac_attr_int(node, "transB", 0) != 0 ? 0
                                                                                : 1;
    /* a transposed one has its outputs second, and integers where all channels are in one group */
    const bool fits = node->op == VTAC_OP_CONV_TRANSPOSE
                          ? w->type.rank == 4 && vtac_attr_int(node, "group", 1) == 1
                          : node->op == VTAC_OP_CONV || w->type.rank == 2;
    return fits && graph->values[node->inputs[VTAC_PRODUCT_X]].constant == NULL;
}

bool vtac_quant_is_recurrent(const vtac_graph *graph, const vtac_node *node)
{
    return roles[node->op].role == QUANT_RECURRENT && vtac_recurrent_is_plain(graph, node);
}

static uint64_t recurrent_macs(const vtac_graph *graph, const vtac_node *node)
{
    const vtac_type *x = vtac_in_type(graph, node, VTAC_RECURRENT_X);
    const vtac_type *w = vtac_in_type(graph, node, VTAC_RECURRENT_W);
    const vtac_type *r = vtac_in_type(graph, node, VTAC_RECURRENT_R);
    return (uint64_t)(x->dim[0] * x->dim[1] * (vtac_type_elements(w) + vtac_type_elements(r)));
}

uint64_t vtac_quant_macs(const vtac_graph *graph, const vtac_node *node)
{
    uint32_t axis;
    if (vtac_quant_is_recurrent(graph, node)) {
        return recurrent_macs(graph, node);
    }
    if (!vtac_quant_is_product(graph, node, &axis)) {
        return 0;
    }
    const vtac_type *w = &vtac_in_constant(graph, node, VTAC_PRODUCT_WEIGHT)->type;
    const vtac_type *y = node->op == VTAC_OP_CONV_TRANSPOSE ? vtac_in_type(graph, node, VTAC_PRODUCT_X)
                                                            : &graph->values[node->outputs[0]].type;
    const int64_t channels = w->dim[node->op == VTAC_OP_CONV_TRANSPOSE ? 0 : axis];
    return channels > 0 ? (uint64_t)(vtac_type_elements(y) * (vtac_type_elements(w) / channels)) : 0;
}

/* A mean that is taken from what it is the mean of: a normalization in its parts, which computes in floats.
 * In 8 bits it would be no use to what follows, and less exact. */
static bool is_centre(const vtac_graph *g, const vtac_node *node)
{
    const vtac_value *mean = &g->values[node->outputs[0]];
    for (uint32_t i = 0; node->op == VTAC_OP_REDUCE_MEAN && i < mean->user_count; i++) {
        const vtac_node *user = &g->nodes[mean->users[i]];
        if (!user->dead && user->op == VTAC_OP_SUB &&
            user->inputs[VTAC_BINARY_A] == node->inputs[VTAC_REDUCE_X] &&
            user->inputs[VTAC_BINARY_B] == node->outputs[0]) {
            return true;
        }
    }
    return false;
}

/* The node that computes a value, in front of what only moves it; 0: an input of the graph does. */
static vtac_node_id maker_of(const vtac_graph *g, vtac_value_id value)
{
    vtac_node_id id = g->values[value].node;
    while (id != 0 && roles[g->nodes[id].op].role == QUANT_SHARE) {
        id = g->values[g->nodes[id].inputs[0]].node;
    }
    return id;
}

/* A product that does so little with what a function of floats makes (the mean of a distribution behind
 * Softmax) that to make 8 bits of its operand costs more. */
static bool is_small(const vtac_quant_plan *plan, const vtac_node *node)
{
    enum { MIN_PRODUCTS = 4 }; /* an element that comes or goes */
    const vtac_graph *g = plan->graph;
    const vtac_tensor *w = vtac_in_constant(g, node, VTAC_PRODUCT_WEIGHT);
    const vtac_node_id maker = maker_of(g, node->inputs[VTAC_PRODUCT_X]);
    uint32_t axis;
    if (maker == 0 ||
        (g->nodes[maker].op != VTAC_OP_SOFTMAX &&
         (plan->island[maker] != 0 || !stays_float(g, &g->nodes[maker]))) ||
        !vtac_quant_is_product(g, node, &axis)) {
        return false;
    }
    const double x = (double)vtac_type_elements(vtac_in_type(g, node, VTAC_PRODUCT_X));
    const double y = (double)vtac_type_elements(&g->values[node->outputs[0]].type);
    return y * (double)vtac_type_elements(&w->type) / (double)w->type.dim[axis] < MIN_PRODUCTS * (x + y);
}

/* True for an operator on rows that has no integers for this node: over another axis than the last, of rows
 * that are too long, divided by another length than the sum of sizes, with gains that only the run knows, or
 * with a mean that something reads. */
static bool is_other_row(const vtac_graph *g, const vtac_node *node)
{
    const bool norm = node->op == VTAC_OP_LAYER_NORMALIZATION || node->op == VTAC_OP_RMS_NORMALIZATION;
    const bool length = node->op == VTAC_OP_LP_NORMALIZATION;
    if (!norm && !length && node->op != VTAC_OP_SOFTMAX) {
        return false;
    }
    const vtac_type *x = vtac_in_type(g, node, 0);
    const int64_t axis = vtac_attr_int(node, "axis", -1);
    bool other = x->rank == 0 || (length && vtac_attr_int(node, "p", 2) != 1) ||
                 (axis != -1 && axis != (int64_t)x->rank - 1) || x->dim[x->rank - 1] > VTAC_ROW_LONGEST;
    for (uint32_t i = 1; i < node->output_count; i++) {
        other = other || node->outputs[i] != 0;
    }
    for (uint32_t i = 1; norm && !other && i < node->input_count; i++) {
        const vtac_tensor *columns = vtac_in_constant(g, node, i);
        other = columns == NULL || vtac_type_elements(&columns->type) != x->dim[x->rank - 1];
    }
    return other;
}

/* True for a normalization of planes that has no integers: of groups that are too large, or with gains that
 * only the run knows. */
static bool is_other_plane(const vtac_graph *g, const vtac_node *node)
{
    if (node->op != VTAC_OP_INSTANCE_NORMALIZATION && node->op != VTAC_OP_GROUP_NORMALIZATION) {
        return false;
    }
    const vtac_type *x = vtac_in_type(g, node, VTAC_NORM_X);
    const int64_t groups = x->rank < 3 ? 1 : vtac_attr_int(node, "num_groups", x->dim[1]);
    return x->rank < 3 || x->dim[0] < 1 || groups < 1 ||
           vtac_type_elements(x) / x->dim[0] / groups > VTAC_PLANES_LARGEST ||
           vtac_in_constant(g, node, VTAC_NORM_SCALE) == NULL ||
           vtac_in_constant(g, node, VTAC_NORM_BIAS) == NULL;
}

/* True if a node could be quantized at all. */
static bool is_eligible(const vtac_quant_plan *plan, vtac_node_id id)
{
    const vtac_graph *g = plan->graph;
    const vtac_node *node = &g->nodes[id];
    uint32_t axis;
    if ((plan->kept != NULL && plan->kept[id]) || plan->exact[id]) {
        return false;
    }
    if (plan->island[id] != 0) {
        return true;
    }
    const bool looks_up =
        node->op == VTAC_OP_GATHER && vtac_in_constant(g, node, VTAC_GATHER_INDICES) == NULL;
    if (stays_float(g, node) || looks_up || is_centre(g, node) || is_small(plan, node) ||
        is_other_row(g, node) || is_other_plane(g, node) ||
        (roles[node->op].role == QUANT_PRODUCT && !vtac_quant_is_product(g, node, &axis) &&
         !vtac_quant_is_pair(g, node))) {
        return false;
    }
    if (roles[node->op].role == QUANT_RECURRENT && !vtac_recurrent_is_plain(g, node)) {
        return false;
    }
    bool moving = false; /* some operand is not a constant */
    for (uint32_t i = 0; i < operands_of(g, node); i++) {
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

/* ---- functions of one value: what is inside stays float, and is a table in the end */

/* A clamp belongs to what is before it. */
static bool begins_island(const vtac_graph *graph, vtac_value_id value)
{
    return is_float(graph, value) && graph->values[value].constant == NULL;
}

static bool takes_node(const vtac_graph *graph, const vtac_node *node)
{
    return is_float(graph, node->outputs[0]);
}

/* Anything but a clamp, or sums and products with numbers, which have their own integers. */
static bool is_worth_it(const vtac_graph *graph, const vtac_island *is)
{
    bool worth = false;
    for (uint32_t i = 0; i < is->count; i++) {
        const vtac_op op = graph->nodes[is->nodes[i]].op;
        worth = worth || roles[op].role == QUANT_FLOAT || needs_pair(op) || op == VTAC_OP_SIGMOID ||
                op == VTAC_OP_LEAKY_RELU || op == VTAC_OP_PRELU;
    }
    return worth;
}

/* Clamps and sums at the beginning stay with what is before them, as far as each has one operand. */
static void trim_island(const vtac_graph *graph, vtac_island *is)
{
    while (is->count > 1) {
        const vtac_node *first = &graph->nodes[is->nodes[is->count - 1]];
        const vtac_value_id y = first->outputs[0];
        if (roles[first->op].role != QUANT_CLAMP || vtac_use_count(graph, is->source) != 1 ||
            first->inputs[0] != is->source) {
            return;
        }
        is->source = y;
        is->count--;
    }
}

/* True if a reader of the island's results can take 8-bit numbers: for all other readers the
 * results stay floats. */
static bool feeds_integers(const vtac_quant_plan *plan, const vtac_island *is)
{
    const vtac_graph *g = plan->graph;
    const vtac_value_id y = g->nodes[is->nodes[0]].outputs[0];
    const vtac_value *v = &g->values[y];
    bool feeds = false;
    for (uint32_t i = 0; !feeds && i < v->user_count; i++) {
        const vtac_node *user = &g->nodes[v->users[i]];
        for (uint32_t k = 0; !user->dead && k < user->input_count; k++) {
            feeds =
                feeds || (user->inputs[k] == y && (!stays_float(g, user) || plan->island[v->users[i]] != 0));
        }
    }
    return feeds;
}

/* True where one of the nodes is kept: then all of them stay float, since a part is no table. */
static bool keeps_one(const vtac_quant_plan *plan, const vtac_node_id *nodes, uint32_t count)
{
    bool keeps = false;
    for (uint32_t i = 0; plan->kept != NULL && i < count; i++) {
        keeps = keeps || plan->kept[nodes[i]];
    }
    for (uint32_t i = 0; keeps && i < count; i++) {
        plan->exact[nodes[i]] = true;
    }
    return keeps;
}

/* A Softmax with the factor and the masks in front of it: between scores and shares nothing is rounded.
 * Returns how many there are. */
static uint32_t find_heads(const vtac_quant_plan *plan)
{
    const vtac_graph *g = plan->graph;
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->order_count; i++) {
        vtac_softmax_head head;
        if (g->nodes[g->order[i]].op != VTAC_OP_SOFTMAX || is_other_row(g, &g->nodes[g->order[i]])) {
            continue;
        }
        vtac_softmax_head_of(g, g->order[i], &head);
        const bool kept = head.node_count == 1 || keeps_one(plan, head.nodes, head.node_count);
        count += !kept;
        for (uint32_t k = 0; !kept && k < head.node_count; k++) {
            plan->island[head.nodes[k]] = count;
        }
        for (uint32_t k = 0; !kept && k < head.mask_count; k++) {
            plan->mask[head.masks[k].value] = true;
        }
    }
    return count;
}

static vta_status find_islands(const vtac_quant_plan *plan, vta_diag *diag)
{
    const vtac_graph *g = plan->graph;
    const vtac_island_search how = {
        .graph = g, .position = vtac_positions(g, plan->arena), .begins = begins_island, .takes = takes_node};
    vtac_island is;
    uint32_t count = find_heads(plan);
    if (how.position == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = g->order_count; i-- > 0;) {
        if (plan->island[g->order[i]] != 0 || !is_float(g, g->nodes[g->order[i]].outputs[0]) ||
            !vtac_find_island(&how, g->order[i], &is) || !is_worth_it(g, &is) || !feeds_integers(plan, &is) ||
            keeps_one(plan, is.nodes, is.count)) {
            continue;
        }
        trim_island(g, &is);
        count++;
        for (uint32_t k = 0; k < is.count; k++) {
            plan->island[is.nodes[k]] = count;
        }
    }
    return VTA_OK;
}

/* True if a node follows an active node, or stands in front of one and only moves elements, or begins the
 * network. */
static bool beside_active(const vtac_quant_plan *plan, const vtac_node *node)
{
    const vtac_graph *g = plan->graph;
    for (uint32_t i = 0; i < reach_of(plan, node); i++) {
        const vtac_node_id above = g->values[node->inputs[i]].node;
        if (above != 0 && plan->active[above]) {
            return true;
        }
    }
    const bool before = vtac_quant_moves(node) || plan->early[node - g->nodes];
    for (uint32_t i = 0; before && i < node->output_count; i++) {
        if (node->outputs[i] != 0 && plan->wanted[node->outputs[i]]) {
            return true;
        }
    }
    return false;
}

static void activate_node(const vtac_quant_plan *plan, vtac_node_id id)
{
    const vtac_node *node = &plan->graph->nodes[id];
    plan->active[id] = true;
    for (uint32_t i = 0; i < reach_of(plan, node); i++) {
        const vtac_value *in = &plan->graph->values[node->inputs[i]];
        const bool known = plan->island[id] != 0 && in->constant != NULL;
        plan->wanted[node->inputs[i]] = !known && !plan->mask[node->inputs[i]];
    }
}

static void activate_all(const vtac_quant_plan *plan)
{
    const vtac_graph *g = plan->graph;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < g->order_count; i++) {
            const vtac_node_id id = g->order[i];
            const vtac_node *node = &g->nodes[id];
            if (!plan->active[id] && is_eligible(plan, id) &&
                (roles[node->op].role == QUANT_RECURRENT ||
                 (roles[node->op].role == QUANT_PRODUCT && !vtac_quant_is_pair(g, node)) ||
                 beside_active(plan, node))) {
                activate_node(plan, id);
                changed = true;
            }
        }
    }
}

/* The clamp that alone uses a value, or 0. */
static vtac_node_id clamp_behind(const vtac_quant_plan *plan, vtac_value_id value)
{
    const vtac_graph *g = plan->graph;
    if (vtac_use_count(g, value) != 1 || vtac_is_output(g, value)) {
        return 0;
    }
    for (uint32_t i = 0; i < g->order_count; i++) {
        const vtac_node *node = &g->nodes[g->order[i]];
        if (plan->active[g->order[i]] && plan->island[g->order[i]] == 0 &&
            roles[node->op].role == QUANT_CLAMP && node->inputs[0] == value) {
            return g->order[i];
        }
    }
    return 0;
}

/* Operands and results of active nodes; in front of a clamp it is the clamp's. */
static void want_values(const vtac_quant_plan *plan)
{
    const vtac_graph *g = plan->graph;
    memset(plan->wanted, 0, plan->value_room * sizeof *plan->wanted);
    for (uint32_t i = 0; i < g->order_count; i++) {
        if (plan->active[g->order[i]]) {
            activate_node(plan, g->order[i]);
        }
    }
    for (uint32_t i = 0; i < g->order_count; i++) {
        const vtac_node *node = &g->nodes[g->order[i]];
        for (uint32_t k = 0; plan->active[g->order[i]] && k < node->output_count; k++) {
            const vtac_value_id y = node->outputs[k];
            plan->wanted[y] = y != 0 && !vtac_quant_is_inside(plan, g->order[i]) &&
                              (vtac_quant_moves(node) || clamp_behind(plan, y) == 0);
        }
    }
}

bool vtac_quant_makes_pixels(const vtac_quant_plan *plan, vtac_node_id id)
{
    const vtac_graph *g = plan->graph;
    const vtac_node *node = &g->nodes[id];
    if (plan->kept != NULL && plan->kept[id]) {
        return false;
    }
    const vtac_type *x = node->op == VTAC_OP_RESIZE ? vtac_in_type(g, node, VTAC_RESIZE_X) : NULL;
    const vtac_type *y = &g->values[node->outputs[0]].type;
    return x != NULL && is_float(g, node->outputs[0]) && (x->rank == 3 || x->rank == 4) &&
           strcmp(vtac_attr_string(node, "mode", "nearest"), "linear") == 0 &&
           vtac_attr_int(node, "antialias", 0) == 0 && !vtac_is_uneven_resize(g, node) &&
           vtac_type_elements(y) > vtac_type_elements(x) && x->dim[0] == y->dim[0] && x->dim[1] == y->dim[1];
}

/* A picture that is made larger at the end of the network, as those that segment do: there are many numbers
 * behind it, and few in front of it, which are 8 bits already. */
static void want_larger_pictures(const vtac_quant_plan *plan)
{
    const vtac_graph *g = plan->graph;
    for (uint32_t i = 0; i < g->order_count; i++) {
        const vtac_node *node = &g->nodes[g->order[i]];
        if (vtac_quant_makes_pixels(plan, g->order[i]) && plan->wanted[node->inputs[VTAC_RESIZE_X]]) {
            plan->wanted[node->outputs[0]] = true;
        }
    }
}

vta_status vtac_quant_plan_make(vtac_graph *graph, const bool *kept, vtac_network_end ends, vta_arena *arena,
                                vtac_quant_plan *out, vta_diag *diag)
{
    const size_t nodes = graph->node_count + (size_t)1;
    const size_t values = graph->value_count + (size_t)1;
    *out = (vtac_quant_plan){.graph = graph,
                             .arena = arena,
                             .kept = kept,
                             .active = vta_arena_array(arena, nodes, sizeof(bool)),
                             .exact = vta_arena_array(arena, nodes, sizeof(bool)),
                             .early = vta_arena_array(arena, nodes, sizeof(bool)),
                             .whole = vta_arena_array(arena, nodes, sizeof(bool)),
                             .wanted = vta_arena_array(arena, values, sizeof(bool)),
                             .mask = vta_arena_array(arena, values, sizeof(bool)),
                             .island = vta_arena_array(arena, nodes, sizeof(uint32_t)),
                             .parent = vta_arena_array(arena, values, sizeof(vtac_value_id)),
                             .node_room = (uint32_t)nodes,
                             .value_room = (uint32_t)values,
                             .ends = ends};
    if (out->active == NULL || out->exact == NULL || out->early == NULL || out->whole == NULL ||
        out->wanted == NULL || out->mask == NULL || out->island == NULL || out->parent == NULL) {
        return vta_no_memory(diag);
    }
    for (size_t n = 0; n < nodes; n++) {
        out->active[n] = false;
        out->exact[n] = false;
        out->early[n] = false;
        out->whole[n] = false;
        out->island[n] = 0;
    }
    for (vtac_value_id v = 0; v < values; v++) {
        out->wanted[v] = false;
        out->mask[v] = false;
        out->parent[v] = v;
    }
    VTA_TRY(find_islands(out, diag));
    vtac_quant_mark_relative(out);
    vtac_quant_mark_early(out);
    activate_all(out);
    vtac_quant_move_border(out);
    want_values(out);
    want_larger_pictures(out);
    vtac_quant_join_groups(out);
    return VTA_OK;
}
