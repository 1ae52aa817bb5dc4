/* SPDX-License-Identifier: Apache-2.0
 *
 * alter-layout: a Transpose, a chain of elementwise operators and the inverse Transpose are the chain alone,
 * and convolutions of one axis have two (line.c). Converted channels-last models are full of them. The
 * blocked layouts of convolutions are the business of the lowering (src/lower/layout.c): they depend on the
 * target. Who leaves this pass out gets none of these either
 * (`row_major` of vtac/codegen.h).
 */
#include "../lower/lower.h"
#include "../ops/infer.h"
#include "rewrite.h"
#include "vta/fail.h"

enum { LONGEST_CHAIN = 64 };

/* The nodes between the two transposes, nearest to the lower one first. */
typedef struct node_chain {
    vtac_node nodes[LONGEST_CHAIN];
    uint32_t count;
    vtac_value_id source; /* what the upper transpose turned */
} node_chain;

bool vtac_is_plain(const vtac_rewrite *r, const vtac_node *node)
{
    if (vtac_lowering_of(node->op)->family != VTAC_POINTWISE || node->output_count != 1 ||
        vtac_find_attr(node, "axis") != NULL || node->op == VTAC_OP_BATCH_NORMALIZATION) {
        return false;
    }
    for (uint32_t i = 1; i < node->input_count; i++) {
        const vtac_type *type = vtac_in_type(r->graph, node, i);
        if (type != NULL && (type->rank > 1 || vtac_type_elements(type) != 1)) {
            return false;
        }
    }
    return node->input_count > 0 && node->inputs[0] != 0 &&
           vtac_type_elements(&r->graph->values[node->inputs[0]].type) ==
               vtac_type_elements(&r->graph->values[node->outputs[0]].type);
}

static bool is_inverse(const vtac_node *upper, const vtac_node *lower, uint32_t rank)
{
    int64_t a[VTAC_MAX_RANK];
    int64_t b[VTAC_MAX_RANK];
    (void)vtac_perm_of(upper, rank, a);
    (void)vtac_perm_of(lower, rank, b);
    for (uint32_t i = 0; i < rank; i++) {
        if (a[b[i]] != (int64_t)i) {
            return false;
        }
    }
    return true;
}

static bool find_chain(const vtac_rewrite *r, const vtac_node *lower, node_chain *out)
{
    vtac_value_id x = lower->inputs[0];
    for (;;) {
        const vtac_node *node = vtac_producer(r, x);
        if (node == NULL || out->count == LONGEST_CHAIN) {
            return false;
        }
        if (node->op == VTAC_OP_TRANSPOSE) {
            out->source = node->inputs[0];
            return out->count > 0 && is_inverse(node, lower, r->graph->values[x].type.rank);
        }
        if (vtac_only_user(r, x) == NULL || !vtac_is_plain(r, node)) {
            return false;
        }
        out->nodes[out->count++] = *node;
        x = node->inputs[0];
    }
}

static vta_status take_out(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    node_chain c = {.count = 0};
    if (!find_chain(r, &r->graph->nodes[id], &c)) {
        return VTA_OK;
    }
    vtac_value_id x = c.source;
    for (uint32_t i = c.count; i-- > 0;) {
        const vtac_node *node = &c.nodes[i];
        vtac_value_id *inputs = vta_arena_array(&r->graph->arena, node->input_count, sizeof *inputs);
        if (inputs == NULL) {
            return vta_no_memory(r->diag);
        }
        for (uint32_t k = 0; k < node->input_count; k++) {
            inputs[k] = k == 0 ? x : node->inputs[k];
        }
        const vtac_node_spec spec = {.op = node->op,
                                     .inputs = inputs,
                                     .input_count = node->input_count,
                                     .output_count = 1,
                                     .attrs = node->attrs,
                                     .attr_count = node->attr_count};
        VTA_TRY(vtac_new_node(r, id, node, spec, &x));
    }
    vtac_replace(r, r->graph->nodes[id].outputs[0], x);
    vtac_remove_node(r->graph, id);
    *changed = true;
    return VTA_OK;
}

static const vtac_rule rules[] = {
    {VTAC_OP_TRANSPOSE, take_out},
    {VTAC_OP_CONV, vtac_line_to_picture},
    {VTAC_OP_QLINEAR_CONV, vtac_line_to_picture},
    {VTAC_OP_CONV_TRANSPOSE, vtac_line_to_picture},
    {VTAC_OP_CONV, vtac_widen_halves},
    {VTAC_OP_CONV_TRANSPOSE, vtac_widen_halves},
    {VTAC_OP_MAX_POOL, vtac_widen_halves},
    {VTAC_OP_COUNT, vtac_row_stays},
};

vtac_pass_fn vtac_pass_alter_layout;

vta_status vtac_pass_alter_layout(vtac_graph *graph, uint32_t *changes, vta_diag *diag)
{
    return vtac_apply_rules(graph, rules, sizeof rules / sizeof rules[0], changes, diag);
}
