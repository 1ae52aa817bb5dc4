/* SPDX-License-Identifier: Apache-2.0
 *
 * Products whose scale the run finds (DynamicQuantizeLinear, then MatMulInteger or ConvInteger, then a Mul by
 * the scale) become products of floats with the same weights, so that calibration gives them fixed scales.
 */
#include <stdlib.h>

#include "split.h"
#include "vta/fail.h"
#include "vtac/quantize.h"

/* The nodes of such a product. */
typedef struct dynamic_product {
    vtac_value_id x, scale; /* of floats, and what DynamicQuantizeLinear finds for it */
    vtac_value_id sums;     /* the product, as floats */
    vtac_node_id multiply;  /* by the scale, or by the scale times a constant */
    vtac_value_id constant; /* 0: none */
} dynamic_product;

/* The only reader of a value; 0: there are more, or none. */
static vtac_node_id only_reader(const vtac_graph *g, vtac_value_id value)
{
    const vtac_value *v = &g->values[value];
    vtac_node_id reader = 0;
    uint32_t count = v->output_uses;
    for (uint32_t i = 0; i < v->user_count; i++) {
        if (!g->nodes[v->users[i]].dead) {
            reader = v->users[i];
            count++;
        }
    }
    return count == 1 ? reader : 0;
}

static vtac_value_id other_operand(const vtac_node *node, vtac_value_id one)
{
    const vtac_value_id a = node->inputs[VTAC_BINARY_A];
    return node->input_count != 2 ? 0 : a == one ? node->inputs[VTAC_BINARY_B] : a;
}

/* The factor that multiplies the scale in a value; *constant is 0 where it is the scale itself. */
static bool is_scaled(const vtac_graph *g, vtac_value_id value, vtac_value_id scale, vtac_value_id *constant)
{
    const vtac_node_id id = g->values[value].node;
    *constant = 0;
    if (value == scale) {
        return true;
    }
    if (id == 0 || g->nodes[id].op != VTAC_OP_MUL) {
        return false;
    }
    const vtac_node *node = &g->nodes[id];
    *constant = other_operand(node, scale);
    return (node->inputs[VTAC_BINARY_A] == scale || node->inputs[VTAC_BINARY_B] == scale) &&
           g->values[*constant].constant != NULL;
}

/* True if the weights have one zero point, once or for each output, or none. */
static bool has_one_zero(const vtac_graph *g, const vtac_node *node)
{
    const vtac_tensor *zero = vtac_in_constant(g, node, VTAC_CONV_INTEGER_WEIGHT_ZERO);
    bool one = vtac_in_type(g, node, VTAC_CONV_INTEGER_WEIGHT_ZERO) == NULL || zero != NULL;
    for (int64_t i = 0; one && zero != NULL && i < vtac_type_elements(&zero->type); i++) {
        one = vtac_tensor_int(zero, i) == vtac_tensor_int(zero, 0);
    }
    return one;
}

static bool find_product(const vtac_graph *g, const vtac_node *node, dynamic_product *p)
{
    if ((node->op != VTAC_OP_MATMUL_INTEGER && node->op != VTAC_OP_CONV_INTEGER) ||
        vtac_in_constant(g, node, VTAC_CONV_INTEGER_WEIGHT) == NULL ||
        node->input_count <= VTAC_CONV_INTEGER_X_ZERO || !has_one_zero(g, node)) {
        return false;
    }
    const vtac_node_id from = g->values[node->inputs[VTAC_CONV_INTEGER_X]].node;
    const vtac_node_id cast = only_reader(g, node->outputs[0]);
    const vtac_node *maker = from != 0 ? &g->nodes[from] : NULL;
    if (maker == NULL || maker->op != VTAC_OP_DYNAMIC_QUANTIZE ||
        node->inputs[VTAC_CONV_INTEGER_X] != maker->outputs[0] ||
        node->inputs[VTAC_CONV_INTEGER_X_ZERO] != maker->outputs[VTAC_DYNAMIC_QUANTIZE_ZERO] || cast == 0 ||
        g->nodes[cast].op != VTAC_OP_CAST || g->values[g->nodes[cast].outputs[0]].type.dtype != VTAC_F32) {
        return false;
    }
    p->x = maker->inputs[VTAC_DYNAMIC_QUANTIZE_X];
    p->scale = maker->outputs[VTAC_DYNAMIC_QUANTIZE_SCALE];
    p->sums = g->nodes[cast].outputs[0];
    p->multiply = only_reader(g, p->sums);
    return p->multiply != 0 && g->nodes[p->multiply].op == VTAC_OP_MUL &&
           is_scaled(g, other_operand(&g->nodes[p->multiply], p->sums), p->scale, &p->constant);
}

/* The weights without their zero point, as floats. */
static vta_status convert_weights(const vtac_splitter *s, vtac_value_id *out)
{
    const vtac_tensor *w = vtac_in_constant(s->graph, &s->like, VTAC_CONV_INTEGER_WEIGHT);
    const vtac_tensor *zero = vtac_in_constant(s->graph, &s->like, VTAC_CONV_INTEGER_WEIGHT_ZERO);
    const int64_t count = vtac_type_elements(&w->type);
    const int64_t offset = zero != NULL ? vtac_tensor_int(zero, 0) : 0;
    float *to = vta_arena_array(&s->graph->arena, (size_t)count + 1, sizeof *to);
    if (to == NULL) {
        return vta_no_memory(s->diag);
    }
    for (int64_t i = 0; i < count; i++) {
        to[i] = (float)(vtac_tensor_int(w, i) - offset);
    }
    vtac_tensor tensor = {.type = w->type, .data = to, .bytes = (size_t)count * sizeof *to};
    tensor.type.dtype = VTAC_F32;
    return vtac_add_constant(s->graph, "", &tensor, out, s->diag);
}

static vta_status make_static(vtac_graph *graph, const vtac_node *node, const dynamic_product *p,
                              vta_diag *diag)
{
    const vtac_splitter product = {graph, *node, diag};
    const vtac_splitter multiply = {graph, graph->nodes[p->multiply], diag};
    const vtac_op op = node->op == VTAC_OP_CONV_INTEGER ? VTAC_OP_CONV : VTAC_OP_MATMUL;
    vtac_value_id inputs[] = {p->x, 0};
    vtac_value_id result[] = {0, p->constant};
    VTA_TRY(convert_weights(&product, &inputs[VTAC_PRODUCT_WEIGHT]));
    VTA_TRY(vtac_split_add(&product, op, inputs, 2, product.like.attrs, product.like.attr_count, &result[0]));
    VTA_TRY(p->constant != 0 ? vtac_split_add(&multiply, VTAC_OP_MUL, result, 2, NULL, 0, &result[0])
                             : VTA_OK);
    vtac_split_replace(&multiply, result[0]);
    return VTA_OK;
}

vta_status vtac_make_static(vtac_graph *graph, vta_diag *diag)
{
    bool any = false;
    for (uint32_t i = 0, count = graph->order_count; i < count; i++) {
        dynamic_product p;
        const vtac_node node = graph->nodes[graph->order[i]];
        if (!node.dead && find_product(graph, &node, &p)) {
            VTA_TRY(make_static(graph, &node, &p, diag));
            any = true;
        }
    }
    if (any) {
        VTA_TRY(vtac_graph_sort(graph, diag));
        (void)vtac_remove_dead(graph);
    }
    return VTA_OK;
}
