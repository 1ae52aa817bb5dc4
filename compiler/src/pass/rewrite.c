/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine of the rewriting passes. See rewrite.h.
 */
#include "rewrite.h"

#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"

enum { MAX_SWEEPS = 64 }; /* far more than any chain of rules needs: a bug of a rule must not hang */

static vta_status apply_rule(vtac_rewrite *r, vtac_node_id id, const vtac_rule *rule)
{
    bool changed = false;
    VTA_TRY(rule->apply(r, id, &changed));
    r->changes += changed;
    return VTA_OK;
}

static vta_status apply_to(vtac_rewrite *r, vtac_node_id id, const vtac_rule *rules, size_t count)
{
    vta_status status = VTA_OK;
    for (size_t i = 0; status == VTA_OK && i < count && !r->graph->nodes[id].dead; i++) {
        if (rules[i].op == r->graph->nodes[id].op || rules[i].op == VTAC_OP_COUNT) {
            status = apply_rule(r, id, &rules[i]);
        }
    }
    return status;
}

/* Once over the nodes that there are now. */
static vta_status sweep_nodes(vtac_rewrite *r, const vtac_rule *rules, size_t count)
{
    const uint32_t nodes = r->graph->order_count;
    vtac_node_id *order = malloc(((size_t)nodes + 1) * sizeof *order);
    if (order == NULL) {
        return vta_no_memory(r->diag);
    }
    if (nodes > 0) { /* an empty graph has no list, either */
        memcpy(order, r->graph->order, nodes * sizeof *order);
    }
    vta_status status = VTA_OK;
    for (uint32_t i = 0; status == VTA_OK && i < nodes; i++) {
        status = apply_to(r, order[i], rules, count);
    }
    free(order);
    return status;
}

vta_status vtac_apply_rules(vtac_graph *graph, const vtac_rule *rules, size_t count, uint32_t *changes,
                            vta_diag *diag)
{
    vtac_rewrite r = {.graph = graph, .diag = diag};
    vta_status status = VTA_OK;
    for (int i = 0; status == VTA_OK && i < MAX_SWEEPS; i++) {
        const uint32_t before = r.changes;
        (void)vtac_remove_dead(graph);
        status = sweep_nodes(&r, rules, count);
        if (r.changes == before) {
            break;
        }
    }
    (void)vtac_remove_dead(graph);
    *changes = r.changes;
    return status;
}

const vtac_node *vtac_producer(const vtac_rewrite *r, vtac_value_id value)
{
    const vtac_node_id id = r->graph->values[value].node;
    return id == 0 ? NULL : &r->graph->nodes[id];
}

const vtac_node *vtac_only_user(const vtac_rewrite *r, vtac_value_id value)
{
    const vtac_node_id id = vtac_only_user_of(r->graph, value);
    return id == 0 ? NULL : &r->graph->nodes[id];
}

vtac_node_id vtac_node_id_of(const vtac_rewrite *r, const vtac_node *node)
{
    return (vtac_node_id)(node - r->graph->nodes);
}

/* Moves the last node of the order in front of another. */
static void move_last_before(vtac_graph *graph, vtac_node_id before)
{
    const vtac_node_id id = graph->order[graph->order_count - 1];
    uint32_t at = graph->order_count - 1;
    while (at > 0 && graph->order[at] != before) {
        at--;
    }
    if (graph->order[at] == before) {
        memmove(&graph->order[at + 1], &graph->order[at], (graph->order_count - 1 - at) * sizeof id);
        graph->order[at] = id;
    }
}

vta_status vtac_new_node(vtac_rewrite *r, vtac_node_id before, const vtac_node *like, vtac_node_spec spec,
                         vtac_value_id *outputs)
{
    vtac_node_id id;
    spec.name = like->name;
    spec.origin = like->origin;
    VTA_TRY(vtac_add_node(r->graph, &spec, &id, r->diag));
    memcpy(outputs, r->graph->nodes[id].outputs, spec.output_count * sizeof *outputs);
    move_last_before(r->graph, before);
    return VTA_OK;
}

vta_status vtac_new_simple(vtac_rewrite *r, vtac_node_id before, const vtac_node *like, vtac_op op,
                           const vtac_value_id *inputs, uint32_t count, vtac_value_id *out)
{
    const vtac_node_spec spec = {.op = op, .inputs = inputs, .input_count = count, .output_count = 1};
    return vtac_new_node(r, before, like, spec, out);
}

vta_status vtac_new_transpose(vtac_rewrite *r, vtac_node_id before, const vtac_node *like,
                              const int64_t *perm, uint32_t rank, vtac_value_id x, vtac_value_id *out)
{
    const vtac_attr attr = {.name = "perm", .kind = VTAC_ATTR_INTS, .count = rank, .ints = perm};
    const vtac_node_spec spec = {.op = VTAC_OP_TRANSPOSE,
                                 .inputs = &x,
                                 .input_count = 1,
                                 .output_count = 1,
                                 .attrs = &attr,
                                 .attr_count = 1};
    return vtac_new_node(r, before, like, spec, out);
}

vta_status vtac_new_constant(vtac_rewrite *r, const char *name, const vtac_type *type, const void *data,
                             vtac_value_id *out)
{
    const size_t bytes = (size_t)vtac_type_elements(type) * vtac_dtype_bytes(type->dtype);
    void *copy = vta_arena_alloc(&r->graph->arena, bytes);
    if (copy == NULL) {
        return vta_no_memory(r->diag);
    }
    if (bytes > 0) {
        memcpy(copy, data, bytes);
    }
    const vtac_tensor tensor = {.type = *type, .data = copy, .bytes = bytes};
    return vtac_add_constant(r->graph, name, &tensor, out, r->diag);
}

vta_status vtac_new_ints(vtac_rewrite *r, const int64_t *values, uint32_t count, vtac_value_id *out)
{
    const vtac_type type = {.dtype = VTAC_I64, .rank = 1, .dim = {count}};
    return vtac_new_constant(r, NULL, &type, values, out);
}

bool vtac_can_replace(const vtac_graph *graph, vtac_value_id old, vtac_value_id new)
{
    return !vtac_is_output(graph, old) || (graph->values[new].node != 0 && !vtac_is_output(graph, new));
}

void vtac_replace(vtac_rewrite *r, vtac_value_id old, vtac_value_id new)
{
    if (vtac_is_output(r->graph, old) || r->graph->values[new].nameless) {
        vtac_swap_names(r->graph, old, new);
    }
    vtac_replace_uses(r->graph, old, new);
}

vta_status vtac_attrs_without(vtac_rewrite *r, const vtac_node *node, const char *without, vtac_attr **attrs,
                              uint32_t *count)
{
    *count = 0;
    *attrs = vta_arena_array(&r->graph->arena, (size_t)node->attr_count + 1, sizeof **attrs);
    if (*attrs == NULL) {
        return vta_no_memory(r->diag);
    }
    for (uint32_t i = 0; i < node->attr_count; i++) {
        if (without == NULL || strcmp(node->attrs[i].name, without) != 0) {
            (*attrs)[(*count)++] = node->attrs[i];
        }
    }
    return VTA_OK;
}
