/* SPDX-License-Identifier: Apache-2.0
 *
 * fold-qdq: the end of a network, where bytes become floats for the last time.
 *
 *     Sigmoid(Concat(D(a), D(b)))      -> Concat(Sigmoid(D(a)), Sigmoid(D(b)))
 *     Sigmoid(D(a))                    -> LookUp(a, table of floats)
 *     Slice(LookUp(a, table))          -> LookUp(Slice(a), table)
 *
 * A function of one number that reads bytes, however many operators write it, is a table of 256 floats, whose
 * numbers are those of its operators to the bit. What moves elements moves bytes then, which the partitioner
 * may do where it unpacks them.
 */
#include <string.h>

#include "qdq.h"
#include "vta/fail.h"
#include "vtac/codegen.h"
#include "vtac/island.h"

/* The input of a function of one number, whose other operands are known numbers; -1: it is none. */
static int64_t function_input(const vtac_rewrite *r, const vtac_node *node)
{
    const vtac_graph *g = r->graph;
    int64_t found = -1;
    if (!vtac_is_pointwise(node->op) || node->output_count != 1 ||
        g->values[node->outputs[0]].type.dtype != VTAC_F32) {
        return -1;
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == 0 || vtac_island_knows(g, node, i)) {
            continue;
        }
        if (found >= 0 || g->values[node->inputs[i]].constant != NULL ||
            !vtac_type_equal(&g->values[node->inputs[i]].type, &g->values[node->outputs[0]].type)) {
            return -1;
        }
        found = i;
    }
    return found;
}

/* True for a slow function, or one that only such a function reads. */
static bool leads_to_slow(const vtac_rewrite *r, const vtac_node *node)
{
    while (node != NULL && function_input(r, node) >= 0 && !vtac_is_slow_function(node->op)) {
        node = vtac_only_user(r, node->outputs[0]);
    }
    return node != NULL && function_input(r, node) >= 0;
}

/* True if a value is made of bytes, by functions of one number and by nodes that only order elements, each of
 * which has one reader. */
static bool comes_from_bytes(const vtac_rewrite *r, vtac_value_id value)
{
    const vtac_node *node = vtac_producer(r, value);
    if (node == NULL || vtac_only_user(r, value) == NULL) {
        return false;
    }
    if (node->op == VTAC_OP_DEQUANTIZE_LINEAR || node->op == VTAC_OP_LOOK_UP) {
        vtac_qvalue x;
        return node->op == VTAC_OP_LOOK_UP || vtac_read_activation(r, value, &x);
    }
    const bool joins = node->op == VTAC_OP_CONCAT;
    const int64_t input = joins ? -1 : vtac_orders_anew(node) ? 0 : function_input(r, node);
    bool bytes = joins || input >= 0;
    for (uint32_t i = 0; bytes && joins && i < node->input_count; i++) {
        bytes = comes_from_bytes(r, node->inputs[i]);
    }
    return bytes && (joins || comes_from_bytes(r, node->inputs[input]));
}

/* True if a node joins tables, which take one more function in. */
static bool joins_tables(const vtac_rewrite *r, const vtac_node *node)
{
    bool tables = node->op == VTAC_OP_CONCAT;
    for (uint32_t i = 0; tables && i < node->input_count; i++) {
        const vtac_node *above = vtac_producer(r, node->inputs[i]);
        tables = above != NULL && above->op == VTAC_OP_LOOK_UP && vtac_only_user(r, node->inputs[i]) != NULL;
    }
    return tables;
}

/* F(M(x, …)) -> M(F(x), …), where M joins values that are made of bytes, or orders them anew. */
static vta_status raise_over_join(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node function = r->graph->nodes[id];
    const int64_t input = function_input(r, &function);
    const vtac_node *above = input < 0 ? NULL : vtac_producer(r, function.inputs[input]);
    const bool joins = above != NULL && above->op == VTAC_OP_CONCAT;
    if (above == NULL || (!joins && !vtac_orders_anew(above)) ||
        (!leads_to_slow(r, &function) && !joins_tables(r, above)) ||
        !comes_from_bytes(r, function.inputs[input])) {
        return VTA_OK;
    }
    const vtac_node mover = *above;
    vtac_value_id *inputs = vta_arena_array(&r->graph->arena, mover.input_count, sizeof *inputs);
    vtac_value_id out;
    if (inputs == NULL) {
        return vta_no_memory(r->diag);
    }
    memcpy(inputs, mover.inputs, mover.input_count * sizeof *inputs);
    for (uint32_t i = 0; i < (joins ? mover.input_count : 1); i++) {
        VTA_TRY(vtac_call_function(r, id, &function, (uint32_t)input, inputs[i], &inputs[i]));
    }
    VTA_TRY(vtac_move_like(r, id, &mover, inputs, &out));
    vtac_replace(r, function.outputs[0], out);
    vtac_remove_node(r->graph, id);
    *changed = true;
    return VTA_OK;
}

vta_status vtac_fold_tails(vtac_graph *graph, uint32_t *changes, vta_diag *diag)
{
    static const vtac_rule rules[] = {{VTAC_OP_COUNT, raise_over_join}, {VTAC_OP_COUNT, vtac_sink_table}};
    uint32_t tables = 1;
    while (tables > 0) {
        uint32_t ruled = 0;
        tables = 0;
        VTA_TRY(vtac_apply_rules(graph, rules, sizeof rules / sizeof rules[0], &ruled, diag));
        VTA_TRY(vtac_fold_float_islands(graph, &tables, diag));
        *changes += ruled + tables;
    }
    return VTA_OK;
}
