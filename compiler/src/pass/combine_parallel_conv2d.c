/* SPDX-License-Identifier: Apache-2.0
 *
 * combine-parallel-conv2d: convolutions of one input that differ in their weights and biases alone become one
 * with all their channels, and a Split behind it. The input is read and packed once, and channels that fill
 * no register by themselves do together. Fewer than three are not worth the Split.
 */
#include <string.h>

#include "rewrite.h"
#include "vta/fail.h"

enum { MIN_BRANCHES = 3, MAX_BRANCHES = 32 };

typedef struct branches {
    vtac_node nodes[MAX_BRANCHES];
    vtac_node_id ids[MAX_BRANCHES];
    uint32_t count;
    int64_t channels; /* of all */
} branches;

static bool same_ints(const vtac_attr *a, const vtac_attr *b)
{
    return a->kind == b->kind && a->count == b->count &&
           (a->kind == VTAC_ATTR_INT    ? a->i == b->i
            : a->kind == VTAC_ATTR_INTS ? memcmp(a->ints, b->ints, a->count * sizeof *a->ints) == 0
                                        : a->kind == VTAC_ATTR_STRING && strcmp(a->s, b->s) == 0);
}

static bool same_attrs(const vtac_node *a, const vtac_node *b)
{
    if (a->attr_count != b->attr_count) {
        return false;
    }
    for (uint32_t i = 0; i < a->attr_count; i++) {
        const vtac_attr *other = vtac_find_attr(b, a->attrs[i].name);
        if (other == NULL || !same_ints(&a->attrs[i], other)) {
            return false;
        }
    }
    return true;
}

/* A float convolution over an image with known weights and bias, in one group. */
static bool is_candidate(const vtac_graph *g, const vtac_node *node)
{
    const vtac_tensor *w = node->op == VTAC_OP_CONV ? vtac_in_constant(g, node, VTAC_CONV_WEIGHT) : NULL;
    const vtac_type *b = w == NULL ? NULL : vtac_in_type(g, node, VTAC_CONV_BIAS);
    return w != NULL && w->type.dtype == VTAC_F32 && w->type.rank == 4 &&
           (b == NULL || vtac_in_constant(g, node, VTAC_CONV_BIAS) != NULL) &&
           vtac_attr_int(node, "group", 1) == 1 && !vtac_is_output(g, node->outputs[0]);
}

static bool convolutions_match(const vtac_graph *g, const vtac_node *a, const vtac_node *b)
{
    const vtac_type *wa = &g->values[a->inputs[VTAC_CONV_WEIGHT]].type;
    const vtac_type *wb = &g->values[b->inputs[VTAC_CONV_WEIGHT]].type;
    return a->inputs[VTAC_CONV_X] == b->inputs[VTAC_CONV_X] &&
           memcmp(&wa->dim[1], &wb->dim[1], 3 * sizeof wa->dim[0]) == 0 && same_attrs(a, b);
}

/* The convolution itself and all that match it; it is the first of them. */
static void collect_branches(const vtac_graph *g, vtac_node_id id, branches *out)
{
    const vtac_node *first = &g->nodes[id];
    for (uint32_t i = 0; i < g->order_count && out->count < MAX_BRANCHES; i++) {
        const vtac_node *node = &g->nodes[g->order[i]];
        if (is_candidate(g, node) && convolutions_match(g, first, node)) {
            out->ids[out->count] = g->order[i];
            out->nodes[out->count++] = *node;
            out->channels += g->values[node->inputs[VTAC_CONV_WEIGHT]].type.dim[0];
        }
    }
}

/* Input k of all branches, one behind the other (zeros for a bias that is not there). */
static vta_status join_inputs(vtac_rewrite *r, const branches *b, uint32_t k, const vtac_type *type,
                              vtac_value_id *out)
{
    const size_t row = (size_t)(vtac_type_elements(type) / type->dim[0]) * sizeof(float);
    uint8_t *data = vta_arena_array(&r->graph->arena, (size_t)type->dim[0], row);
    if (data == NULL) {
        return vta_no_memory(r->diag);
    }
    size_t at = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        const vtac_tensor *part = vtac_in_constant(r->graph, &b->nodes[i], k);
        const size_t bytes = (size_t)r->graph->values[b->nodes[i].inputs[VTAC_CONV_WEIGHT]].type.dim[0] * row;
        if (part != NULL) {
            memcpy(data + at, part->data, bytes);
        }
        at += bytes;
    }
    const vtac_tensor tensor = {.type = *type, .data = data, .bytes = at};
    return vtac_add_constant(r->graph, NULL, &tensor, out, r->diag);
}

static vta_status split_output(vtac_rewrite *r, const branches *b, vtac_value_id joined)
{
    int64_t sizes[MAX_BRANCHES];
    vtac_value_id outputs[MAX_BRANCHES];
    for (uint32_t i = 0; i < b->count; i++) {
        sizes[i] = r->graph->values[b->nodes[i].inputs[VTAC_CONV_WEIGHT]].type.dim[0];
    }
    vtac_value_id inputs[VTAC_SPLIT_INPUTS] = {joined};
    VTA_TRY(vtac_new_ints(r, sizes, b->count, &inputs[VTAC_SPLIT_SIZES]));
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = 1};
    const vtac_node_spec spec = {.op = VTAC_OP_SPLIT,
                                 .inputs = inputs,
                                 .input_count = 2,
                                 .output_count = b->count,
                                 .attrs = &axis,
                                 .attr_count = 1};
    VTA_TRY(vtac_new_node(r, b->ids[0], &b->nodes[0], spec, outputs));
    for (uint32_t i = 0; i < b->count; i++) {
        vtac_replace(r, b->nodes[i].outputs[0], outputs[i]);
        vtac_remove_node(r->graph, b->ids[i]);
    }
    return VTA_OK;
}

static vta_status combine_branches(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    branches b = {.count = 0};
    if (!is_candidate(r->graph, &r->graph->nodes[id])) {
        return VTA_OK;
    }
    collect_branches(r->graph, id, &b);
    if (b.count < MIN_BRANCHES || b.ids[0] != id) {
        return VTA_OK;
    }
    vtac_type weight = r->graph->values[b.nodes[0].inputs[VTAC_CONV_WEIGHT]].type;
    weight.dim[0] = b.channels;
    const vtac_type bias = {.dtype = VTAC_F32, .rank = 1, .dim = {b.channels}};
    bool has_bias = false;
    for (uint32_t i = 0; i < b.count; i++) {
        has_bias = has_bias || vtac_in_type(r->graph, &b.nodes[i], VTAC_CONV_BIAS) != NULL;
    }
    vtac_value_id inputs[VTAC_CONV_INPUTS] = {b.nodes[0].inputs[VTAC_CONV_X]};
    VTA_TRY(join_inputs(r, &b, VTAC_CONV_WEIGHT, &weight, &inputs[VTAC_CONV_WEIGHT]));
    if (has_bias) {
        VTA_TRY(join_inputs(r, &b, VTAC_CONV_BIAS, &bias, &inputs[VTAC_CONV_BIAS]));
    }
    const vtac_node_spec spec = {.op = VTAC_OP_CONV,
                                 .inputs = inputs,
                                 .input_count = has_bias ? 3 : 2,
                                 .output_count = 1,
                                 .attrs = b.nodes[0].attrs,
                                 .attr_count = b.nodes[0].attr_count};
    vtac_value_id joined;
    VTA_TRY(vtac_new_node(r, id, &b.nodes[0], spec, &joined));
    *changed = true;
    return split_output(r, &b, joined);
}

static const vtac_rule rules[] = {
    {VTAC_OP_CONV, combine_branches},
};

vtac_pass_fn vtac_pass_combine_parallel_conv2d;

vta_status vtac_pass_combine_parallel_conv2d(vtac_graph *graph, uint32_t *changes, vta_diag *diag)
{
    return vtac_apply_rules(graph, rules, sizeof rules / sizeof rules[0], changes, diag);
}
