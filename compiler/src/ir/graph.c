/* SPDX-License-Identifier: Apache-2.0
 *
 * Building and changing graphs. See vtac/graph.h for what holds.
 */
#include "vtac/graph.h"

#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "vta/fail.h"
#include "vta/vec.h"
#include "vtac/flow.h"

#ifdef __has_feature /* clang's question; gcc defines __SANITIZE_ADDRESS__ */
#    if __has_feature(address_sanitizer)
#        define VTA_ADDRESS_SANITIZER
#    endif
#endif

vtac_graph *vtac_graph_create(const char *name)
{
    vtac_graph *graph = calloc(1, sizeof *graph);
    if (graph == NULL) {
        return NULL;
    }
    graph->name = vta_arena_string(&graph->arena, name, strlen(name));
    graph->values = vta_grow(NULL, &graph->value_room, 16, sizeof *graph->values);
    graph->nodes = vta_grow(NULL, &graph->node_room, 16, sizeof *graph->nodes);
    if (graph->name == NULL || graph->values == NULL || graph->nodes == NULL) {
        vtac_graph_destroy(graph);
        return NULL;
    }
    memset(&graph->values[0], 0, sizeof graph->values[0]);
    memset(&graph->nodes[0], 0, sizeof graph->nodes[0]);
    return graph;
}

void vtac_graph_destroy(vtac_graph *graph)
{
    if (graph == NULL) {
        return;
    }
    free(graph->values);
    free(graph->nodes);
    free(graph->order);
    free(graph->inputs);
    free(graph->outputs);
    free(graph->names);
    vtac_flow_destroy(graph->flow);
    vta_arena_free(&graph->arena);
    free(graph);
}

/* Appends `id` to one of the graph's id lists. */
static vta_status append_id(uint32_t **list, uint32_t *count, size_t *room, uint32_t id, vta_diag *diag)
{
    uint32_t *grown = vta_grow(*list, room, (size_t)*count + 1, sizeof **list);
    if (grown == NULL) {
        return vta_no_memory(diag);
    }
    *list = grown;
    grown[(*count)++] = id;
    return VTA_OK;
}

/* Under the address sanitizer each value and node that is added moves all of them, so that a pointer to one
 * which outlives such a call is found wherever it is used, not only where an array happens to be full. */
static size_t known_room(size_t room, uint32_t count)
{
#if defined(__SANITIZE_ADDRESS__) || defined(VTA_ADDRESS_SANITIZER)
    (void)room;
    return (size_t)count + 1;
#else
    (void)count;
    return room;
#endif
}

static vta_status new_value(vtac_graph *graph, const char *name, const vtac_type *type, vtac_value_id *out,
                            vta_diag *diag)
{
    graph->value_room = known_room(graph->value_room, graph->value_count);
    vtac_value *grown =
        vta_grow(graph->values, &graph->value_room, (size_t)graph->value_count + 2, sizeof *graph->values);
    if (grown == NULL) {
        return vta_no_memory(diag);
    }
    graph->values = grown;
    const vtac_value_id id = graph->value_count + 1;
    vtac_value *value = &graph->values[id];
    *value = (vtac_value){.type = *type, .nameless = name == NULL || name[0] == '\0'};
    VTA_TRY(vtac_name_value(graph, id, name, diag));
    graph->value_count = id;
    *out = id;
    return VTA_OK;
}

vta_status vtac_add_input(vtac_graph *graph, const char *name, const vtac_type *type, vtac_value_id *out,
                          vta_diag *diag)
{
    VTA_TRY(new_value(graph, name, type, out, diag));
    return append_id(&graph->inputs, &graph->input_count, &graph->input_room, *out, diag);
}

vta_status vtac_add_output(vtac_graph *graph, vtac_value_id value, vta_diag *diag)
{
    VTA_TRY(append_id(&graph->outputs, &graph->output_count, &graph->output_room, value, diag));
    graph->values[value].output_uses++;
    return VTA_OK;
}

vta_status vtac_add_constant(vtac_graph *graph, const char *name, const vtac_tensor *tensor,
                             vtac_value_id *out, vta_diag *diag)
{
    vtac_tensor *kept = vta_arena_alloc(&graph->arena, sizeof *kept);
    if (kept == NULL) {
        return vta_no_memory(diag);
    }
    *kept = *tensor;
    VTA_TRY(new_value(graph, name, &tensor->type, out, diag));
    graph->values[*out].constant = kept;
    return VTA_OK;
}

static const char *keep_string(vtac_graph *graph, const char *text)
{
    return vta_arena_string(&graph->arena, text, strlen(text));
}

static void *keep_bytes(vtac_graph *graph, const void *bytes, size_t size)
{
    void *copy = vta_arena_alloc(&graph->arena, size);
    if (copy != NULL && size > 0) {
        memcpy(copy, bytes, size);
    }
    return copy;
}

static vta_status keep_attr(vtac_graph *graph, const vtac_attr *from, vtac_attr *to, vta_diag *diag)
{
    *to = *from;
    to->name = keep_string(graph, from->name);
    const void *kept = to->name;
    switch (from->kind) {
    case VTAC_ATTR_STRING: kept = to->s = keep_string(graph, from->s); break;
    case VTAC_ATTR_INTS:
        kept = to->ints = keep_bytes(graph, from->ints, from->count * sizeof *from->ints);
        break;
    case VTAC_ATTR_FLOATS:
        kept = to->floats = keep_bytes(graph, from->floats, from->count * sizeof *from->floats);
        break;
    case VTAC_ATTR_STRINGS: {
        const char **strings = vta_arena_array(&graph->arena, from->count, sizeof *strings);
        for (size_t i = 0; strings != NULL && i < from->count; i++) {
            strings[i] = keep_string(graph, from->strings[i]);
            kept = strings[i] == NULL ? NULL : kept;
        }
        to->strings = strings;
        kept = strings == NULL ? NULL : kept;
        break;
    }
    case VTAC_ATTR_INT:
    case VTAC_ATTR_FLOAT:
    case VTAC_ATTR_TENSOR: break;
    }
    return vta_allocated(kept != NULL && to->name != NULL, diag);
}

static vta_status fill_node(vtac_graph *graph, const vtac_node_spec *spec, vtac_node *node, vta_diag *diag)
{
    *node = (vtac_node){.op = spec->op,
                        .name = keep_string(graph, spec->name == NULL ? "" : spec->name),
                        .origin = spec->origin,
                        .input_count = spec->input_count,
                        .output_count = spec->output_count,
                        .attr_count = spec->attr_count};
    node->inputs = keep_bytes(graph, spec->inputs, spec->input_count * sizeof *spec->inputs);
    node->outputs = vta_arena_array(&graph->arena, spec->output_count, sizeof *node->outputs);
    node->attrs = vta_arena_array(&graph->arena, spec->attr_count, sizeof *node->attrs);
    if (node->name == NULL || node->inputs == NULL || node->outputs == NULL || node->attrs == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < spec->attr_count; i++) {
        VTA_TRY(keep_attr(graph, &spec->attrs[i], &node->attrs[i], diag));
    }
    return VTA_OK;
}

/* ---- uses */

static bool has_input(const vtac_node *node, vtac_value_id value)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == value) {
            return true;
        }
    }
    return false;
}

static vta_status add_user(vtac_graph *graph, vtac_value_id id, vtac_node_id node, vta_diag *diag)
{
    vtac_value *value = &graph->values[id];
    if (value->user_count > 0 && value->users[value->user_count - 1] == node) {
        return VTA_OK;
    }
    if (value->user_count == value->user_room) {
        const uint32_t room = value->user_room == 0 ? 2 : 2 * value->user_room;
        vtac_node_id *users = vta_arena_array(&graph->arena, room, sizeof *users);
        if (users == NULL) {
            return vta_no_memory(diag);
        }
        if (value->user_count > 0) {
            memcpy(users, value->users, value->user_count * sizeof *users);
        }
        value->users = users;
        value->user_room = room;
    }
    value->users[value->user_count++] = node;
    return VTA_OK;
}

static vta_status count_uses(vtac_graph *graph, vtac_node_id id, vta_diag *diag)
{
    const vtac_node *node = &graph->nodes[id];
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] != 0) {
            graph->values[node->inputs[i]].node_uses++;
            VTA_TRY(add_user(graph, node->inputs[i], id, diag));
        }
    }
    return VTA_OK;
}

static void drop_uses(vtac_graph *graph, const vtac_node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] != 0) {
            graph->values[node->inputs[i]].node_uses--;
        }
    }
}

/* The inputs of a node in a new place, with room for one more. */
static vtac_value_id *copy_inputs(vtac_graph *graph, const vtac_node *node)
{
    vtac_value_id *inputs = vta_arena_array(&graph->arena, (size_t)node->input_count + 1, sizeof *inputs);
    if (inputs != NULL && node->input_count > 0) {
        memcpy(inputs, node->inputs, node->input_count * sizeof *inputs);
    }
    return inputs;
}

vta_status vtac_set_input(vtac_graph *graph, vtac_node_id id, uint32_t i, vtac_value_id value, vta_diag *diag)
{
    vtac_node *node = &graph->nodes[id];
    vtac_value_id *inputs = copy_inputs(graph, node);
    if (inputs == NULL) {
        return vta_no_memory(diag);
    }
    if (value != 0) {
        VTA_TRY(add_user(graph, value, id, diag));
        graph->values[value].node_uses++;
    }
    if (i < node->input_count && inputs[i] != 0) {
        graph->values[inputs[i]].node_uses--;
    }
    inputs[i] = value;
    node->inputs = inputs;
    return VTA_OK;
}

vta_status vtac_append_input(vtac_graph *graph, vtac_node_id id, vtac_value_id value, vta_diag *diag)
{
    const uint32_t i = graph->nodes[id].input_count;
    VTA_TRY(vtac_set_input(graph, id, i, value, diag));
    graph->nodes[id].input_count++;
    return VTA_OK;
}

vta_status vtac_add_node(vtac_graph *graph, const vtac_node_spec *spec, vtac_node_id *out, vta_diag *diag)
{
    graph->node_room = known_room(graph->node_room, graph->node_count);
    vtac_node *grown =
        vta_grow(graph->nodes, &graph->node_room, (size_t)graph->node_count + 2, sizeof *graph->nodes);
    if (grown == NULL) {
        return vta_no_memory(diag);
    }
    graph->nodes = grown;
    const vtac_node_id id = graph->node_count + 1;
    vtac_node *node = &graph->nodes[id];
    VTA_TRY(fill_node(graph, spec, node, diag));
    vtac_type *types = vta_arena_array(&graph->arena, (size_t)spec->output_count + 1, sizeof *types);
    if (types == NULL) {
        return vta_no_memory(diag);
    }
    VTA_TRY(vtac_infer(graph, node, types, diag));
    for (uint32_t i = 0; i < spec->output_count; i++) {
        const char *name = spec->output_names == NULL ? NULL : spec->output_names[i];
        VTA_TRY(new_value(graph, name, &types[i], &node->outputs[i], diag));
        graph->values[node->outputs[i]].node = id;
        graph->values[node->outputs[i]].output = i;
    }
    graph->node_count = id;
    *out = id;
    VTA_TRY(count_uses(graph, id, diag));
    return append_id(&graph->order, &graph->order_count, &graph->order_room, id, diag);
}

void vtac_replace_uses(vtac_graph *graph, vtac_value_id old, vtac_value_id new)
{
    if (old == new) {
        return;
    }
    vtac_value *from = &graph->values[old];
    for (uint32_t i = 0; i < from->user_count; i++) {
        const vtac_node *node = &graph->nodes[from->users[i]];
        for (uint32_t k = 0; k < node->input_count && !node->dead; k++) {
            if (node->inputs[k] == old && vtac_set_input(graph, from->users[i], k, new, NULL) != VTA_OK) {
                return; /* without memory; whoever adds a node next is told */
            }
        }
    }
    from->user_count = 0;
    for (uint32_t i = 0; from->output_uses > 0 && i < graph->output_count; i++) {
        if (graph->outputs[i] == old) {
            graph->outputs[i] = new;
            from->output_uses--;
            graph->values[new].output_uses++;
        }
    }
}

vta_status vtac_forget_states(vtac_graph *graph, vta_diag *diag)
{
    vtac_drop_outputs(graph, graph->output_count - graph->state_count);
    for (; graph->state_count > 0; graph->state_count--) {
        const vtac_value_id input = graph->inputs[graph->input_count - 1];
        const vtac_type *type = &graph->values[input].type;
        const size_t bytes = (size_t)vtac_type_elements(type) * vtac_dtype_bytes(type->dtype);
        void *zeros = vta_arena_alloc(&graph->arena, bytes + 1);
        if (zeros == NULL) {
            return vta_no_memory(diag);
        }
        memset(zeros, 0, bytes + 1);
        const vtac_tensor tensor = {*type, zeros, bytes};
        vtac_value_id start;
        VTA_TRY(vtac_add_constant(graph, "", &tensor, &start, diag));
        vtac_replace_uses(graph, input, start);
        graph->values[input].dead = true;
        graph->input_count--;
    }
    return VTA_OK;
}

void vtac_drop_outputs(vtac_graph *graph, uint32_t count)
{
    while (graph->output_count > count) {
        graph->values[graph->outputs[--graph->output_count]].output_uses--;
    }
}

void vtac_remove_node(vtac_graph *graph, vtac_node_id node)
{
    uint32_t at = graph->order_count;
    while (at > 0 && graph->order[at - 1] != node) {
        at--;
    }
    if (at > 0) {
        memmove(&graph->order[at - 1], &graph->order[at], (graph->order_count - at) * sizeof *graph->order);
        graph->order_count--;
        drop_uses(graph, &graph->nodes[node]);
    }
    graph->nodes[node].dead = true;
    for (uint32_t i = 0; i < graph->nodes[node].output_count; i++) {
        graph->values[graph->nodes[node].outputs[i]].dead = true;
    }
}

uint32_t vtac_remove_dead(vtac_graph *graph)
{
    bool *used = calloc((size_t)graph->value_count + 1, sizeof *used);
    if (used == NULL) {
        return 0; /* nothing removed is a valid answer */
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        used[graph->outputs[i]] = true;
    }
    for (uint32_t i = graph->order_count; i-- > 0;) {
        vtac_node *node = &graph->nodes[graph->order[i]];
        bool live = false;
        for (uint32_t k = 0; k < node->output_count; k++) {
            live = live || used[node->outputs[k]];
        }
        node->dead = !live;
        if (!live) {
            drop_uses(graph, node);
        }
        for (uint32_t k = 0; live && k < node->input_count; k++) {
            used[node->inputs[k]] = true;
        }
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < graph->order_count; i++) {
        if (!graph->nodes[graph->order[i]].dead) {
            graph->order[kept++] = graph->order[i];
        }
    }
    const uint32_t gone = graph->order_count - kept;
    graph->order_count = kept;
    for (vtac_value_id v = 1; v <= graph->value_count; v++) {
        const vtac_node_id node = graph->values[v].node;
        graph->values[v].dead =
            node != 0 ? graph->nodes[node].dead : graph->values[v].constant != NULL && !used[v];
    }
    free(used);
    return gone;
}

/* Kahn's algorithm that always takes the earliest ready node, so that an order that is right stays as it is.
 */
vta_status vtac_graph_sort(vtac_graph *graph, vta_diag *diag)
{
    bool *ready = calloc((size_t)graph->value_count + 1, sizeof *ready);
    vtac_node_id *sorted = calloc((size_t)graph->order_count + 1, sizeof *sorted);
    if (ready == NULL || sorted == NULL) {
        free(ready);
        free(sorted);
        return vta_no_memory(diag);
    }
    for (vtac_value_id v = 0; v <= graph->value_count; v++) {
        ready[v] = graph->values[v].node == 0;
    }
    uint32_t left = graph->order_count;
    uint32_t done = 0;
    while (left > 0) {
        uint32_t waiting = 0;
        for (uint32_t i = 0; i < left; i++) {
            const vtac_node *node = &graph->nodes[graph->order[i]];
            bool all = true;
            for (uint32_t k = 0; k < node->input_count; k++) {
                all = all && ready[node->inputs[k]];
            }
            if (!all) {
                graph->order[waiting++] = graph->order[i];
                continue;
            }
            sorted[done++] = graph->order[i];
            for (uint32_t k = 0; k < node->output_count; k++) {
                ready[node->outputs[k]] = true;
            }
        }
        if (waiting == left) {
            break;
        }
        left = waiting;
    }
    vta_status status = VTA_OK;
    if (left > 0) {
        status = vta_fail(diag, VTA_INVALID, "node '%s' depends on itself through a cycle of %u nodes",
                          graph->nodes[graph->order[0]].name, left);
    } else if (done > 0) {
        memcpy(graph->order, sorted, done * sizeof *sorted);
    }
    free(ready);
    free(sorted);
    return status;
}

static vta_status verify_node(const vtac_graph *graph, vtac_node_id id, const bool *defined, vta_diag *diag)
{
    const vtac_node *node = &graph->nodes[id];
    const vtac_op_info *op = vtac_op_get(node->op);
    if (node->dead) {
        return vta_fail(diag, VTA_INVALID, "node %u '%s' (%s) is in the order but dead", id, node->name,
                        op->name);
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] > graph->value_count || !defined[node->inputs[i]]) {
            return vta_fail(diag, VTA_INVALID, "node %u '%s' (%s): input %u is used before it is defined", id,
                            node->name, op->name, i);
        }
    }
    vtac_type *types = calloc((size_t)node->output_count + 1, sizeof *types);
    if (types == NULL) {
        return vta_no_memory(diag);
    }
    vta_status status = vtac_infer(graph, node, types, diag);
    for (uint32_t i = 0; status == VTA_OK && i < node->output_count; i++) {
        const vtac_value *value = &graph->values[node->outputs[i]];
        if (value->node != id || value->output != i || !vtac_type_equal(&value->type, &types[i])) {
            status = vta_fail(diag, VTA_INVALID, "node %u '%s' (%s): output %u is not what inference gives",
                              id, node->name, op->name, i);
        }
    }
    free(types);
    return status;
}

static vta_status verify_uses(const vtac_graph *graph, vta_diag *diag)
{
    uint32_t *uses = calloc((size_t)graph->value_count + 1, sizeof *uses);
    if (uses == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < graph->order_count; i++) {
        const vtac_node *node = &graph->nodes[graph->order[i]];
        for (uint32_t k = 0; k < node->input_count; k++) {
            uses[node->inputs[k]]++;
        }
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        uses[graph->outputs[i]]++;
    }
    vta_status status = VTA_OK;
    for (vtac_value_id v = 1; status == VTA_OK && v <= graph->value_count; v++) {
        if (uses[v] != vtac_use_count(graph, v)) {
            status = vta_fail(diag, VTA_INVALID, "value '%s' is used %u times, counted as %u",
                              graph->values[v].name, uses[v], vtac_use_count(graph, v));
        }
    }
    free(uses);
    return status;
}

vta_status vtac_graph_verify(const vtac_graph *graph, vta_diag *diag)
{
    bool *defined = calloc((size_t)graph->value_count + 1, sizeof *defined);
    if (defined == NULL) {
        return vta_no_memory(diag);
    }
    for (vtac_value_id v = 0; v <= graph->value_count; v++) {
        defined[v] = graph->values[v].node == 0 && !graph->values[v].dead;
    }
    vta_status status = VTA_OK;
    for (uint32_t i = 0; status == VTA_OK && i < graph->order_count; i++) {
        const vtac_node *node = &graph->nodes[graph->order[i]];
        status = verify_node(graph, graph->order[i], defined, diag);
        for (uint32_t k = 0; k < node->output_count; k++) {
            defined[node->outputs[k]] = true;
        }
    }
    if (status == VTA_OK) {
        status = verify_uses(graph, diag);
    }
    for (uint32_t i = 0; status == VTA_OK && i < graph->output_count; i++) {
        if (!defined[graph->outputs[i]]) {
            status = vta_fail(diag, VTA_INVALID, "graph output %u is never defined", i);
        }
    }
    free(defined);
    return status;
}

uint32_t vtac_use_count(const vtac_graph *graph, vtac_value_id value)
{
    return graph->values[value].node_uses + graph->values[value].output_uses;
}

bool vtac_is_output(const vtac_graph *graph, vtac_value_id value)
{
    return graph->values[value].output_uses > 0;
}

vtac_node_id vtac_only_user_of(const vtac_graph *graph, vtac_value_id value)
{
    const vtac_value *v = &graph->values[value];
    for (uint32_t i = v->user_count; v->node_uses == 1 && v->output_uses == 0 && i-- > 0;) {
        const vtac_node *node = &graph->nodes[v->users[i]];
        if (!node->dead && has_input(node, value)) {
            return v->users[i];
        }
    }
    return 0;
}

const vtac_attr *vtac_find_attr(const vtac_node *node, const char *name)
{
    for (uint32_t i = 0; i < node->attr_count; i++) {
        if (strcmp(node->attrs[i].name, name) == 0) {
            return &node->attrs[i];
        }
    }
    return NULL;
}

int64_t vtac_attr_int(const vtac_node *node, const char *name, int64_t otherwise)
{
    const vtac_attr *attr = vtac_find_attr(node, name);
    return attr != NULL && attr->kind == VTAC_ATTR_INT ? attr->i : otherwise;
}

double vtac_attr_float(const vtac_node *node, const char *name, double otherwise)
{
    const vtac_attr *attr = vtac_find_attr(node, name);
    return attr != NULL && attr->kind == VTAC_ATTR_FLOAT ? attr->f : otherwise;
}

const char *vtac_attr_string(const vtac_node *node, const char *name, const char *otherwise)
{
    const vtac_attr *attr = vtac_find_attr(node, name);
    return attr != NULL && attr->kind == VTAC_ATTR_STRING ? attr->s : otherwise;
}

const vtac_type *vtac_in_type(const vtac_graph *graph, const vtac_node *node, uint32_t i)
{
    return i < node->input_count && node->inputs[i] != 0 ? &graph->values[node->inputs[i]].type : NULL;
}

const vtac_tensor *vtac_in_constant(const vtac_graph *graph, const vtac_node *node, uint32_t i)
{
    return i < node->input_count && node->inputs[i] != 0 ? graph->values[node->inputs[i]].constant : NULL;
}

bool vtac_scalar_of(const vtac_graph *graph, vtac_value_id value, double *out)
{
    const vtac_tensor *tensor = value == 0 ? NULL : graph->values[value].constant;
    if (tensor == NULL || vtac_type_elements(&tensor->type) != 1) {
        return false;
    }
    *out = vtac_tensor_float(tensor, 0);
    return true;
}
