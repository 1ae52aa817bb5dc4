/* SPDX-License-Identifier: Apache-2.0 */
#include "dense.h"

#include <string.h>

#include "vta/fail.h"

/* MatMul(x [..., k], w [k, n]) + bias [n] */
typedef struct dense {
    vtac_node_id product;
    vtac_value_id x, w, bias, y;
    int64_t rows, terms, outputs;
} dense;

static bool is_bias(const vtac_tensor *t, int64_t outputs)
{
    return t != NULL && t->type.rank > 0 && vtac_type_elements(&t->type) == outputs &&
           t->type.dim[t->type.rank - 1] == outputs;
}

static bool read_dense(const vtac_graph *g, vtac_node_id id, dense *d)
{
    const vtac_node *sum = &g->nodes[id];
    for (uint32_t i = 0; sum->op == VTAC_OP_ADD && i < 2; i++) {
        const vtac_value_id made = sum->inputs[i];
        const vtac_node *product = &g->nodes[g->values[made].node];
        const bool alone =
            g->values[made].node != 0 && product->op == VTAC_OP_MATMUL && vtac_use_count(g, made) == 1;
        const vtac_tensor *w = alone ? vtac_in_constant(g, product, VTAC_MATMUL_B) : NULL;
        const vtac_type *x = alone ? vtac_in_type(g, product, VTAC_MATMUL_A) : NULL;
        if (w == NULL || w->type.rank != 2 || w->type.dtype != VTAC_F32 || x->rank < 2 ||
            g->values[product->inputs[VTAC_MATMUL_A]].constant != NULL || vtac_type_elements(x) == 0 ||
            vtac_type_elements(&w->type) == 0 || !is_bias(vtac_in_constant(g, sum, 1 - i), w->type.dim[1]) ||
            !vtac_type_equal(&g->values[made].type, &g->values[sum->outputs[0]].type)) {
            continue;
        }
        *d = (dense){.product = g->values[made].node,
                     .x = product->inputs[VTAC_MATMUL_A],
                     .w = product->inputs[VTAC_MATMUL_B],
                     .bias = sum->inputs[1 - i],
                     .y = sum->outputs[0],
                     .rows = vtac_type_elements(x) / w->type.dim[0],
                     .terms = w->type.dim[0],
                     .outputs = w->type.dim[1]};
        return true;
    }
    return false;
}

static vta_status add_node(vtac_graph *g, const vtac_node *like, vtac_op op, const vtac_value_id *inputs,
                           uint32_t count, vtac_value_id *out, vta_diag *diag)
{
    vtac_node_id id;
    const vtac_node_spec spec = {.op = op,
                                 .name = like->name,
                                 .origin = like->origin,
                                 .inputs = inputs,
                                 .input_count = count,
                                 .output_count = 1};
    VTA_TRY(vtac_add_node(g, &spec, &id, diag));
    *out = g->nodes[id].outputs[0];
    return VTA_OK;
}

/* The same numbers in another shape; nothing where they have it. */
static vta_status reshape_value(vtac_graph *g, const vtac_node *like, const int64_t *dims, uint32_t rank,
                                vtac_value_id *value, vta_diag *diag)
{
    const vtac_type *type = &g->values[*value].type;
    int64_t *copy = vta_arena_array(&g->arena, (size_t)rank + 1, sizeof *copy);
    if (copy == NULL) {
        return vta_no_memory(diag);
    }
    if (type->rank == rank && memcmp(type->dim, dims, rank * sizeof *dims) == 0) {
        return VTA_OK;
    }
    memcpy(copy, dims, rank * sizeof *dims);
    const vtac_tensor shape = {
        .type = {.dtype = VTAC_I64, .rank = 1, .dim = {rank}}, .data = copy, .bytes = rank * sizeof *copy};
    vtac_value_id inputs[VTAC_RESHAPE_INPUTS] = {*value};
    VTA_TRY(vtac_add_constant(g, NULL, &shape, &inputs[VTAC_RESHAPE_SHAPE], diag));
    return add_node(g, like, VTAC_OP_RESHAPE, inputs, 2, value, diag);
}

static vta_status join_dense(vtac_graph *g, const dense *d, vta_diag *diag)
{
    const vtac_node like = g->nodes[d->product];
    const vtac_type type = g->values[d->y].type;
    vtac_tensor bias = *g->values[d->bias].constant;
    vtac_value_id inputs[VTAC_GEMM_INPUTS] = {d->x, d->w, d->bias};
    vtac_value_id out;
    VTA_TRY(reshape_value(g, &like, (int64_t[]){d->rows, d->terms}, 2, &inputs[VTAC_GEMM_A], diag));
    if (bias.type.rank != 1) {
        bias.type.rank = 1;
        bias.type.dim[0] = d->outputs;
        VTA_TRY(vtac_add_constant(g, NULL, &bias, &inputs[VTAC_GEMM_C], diag));
    }
    VTA_TRY(add_node(g, &like, VTAC_OP_GEMM, inputs, 3, &out, diag));
    VTA_TRY(reshape_value(g, &like, type.dim, type.rank, &out, diag));
    vtac_swap_names(g, d->y, out);
    vtac_replace_uses(g, d->y, out);
    return VTA_OK;
}

vta_status vtac_quant_join_biases(vtac_graph *graph, vta_diag *diag)
{
    bool any = false;
    for (uint32_t i = 0, count = graph->order_count; i < count; i++) {
        dense d;
        if (read_dense(graph, graph->order[i], &d)) {
            any = true;
            VTA_TRY(join_dense(graph, &d, diag));
        }
    }
    if (any) {
        VTA_TRY(vtac_graph_sort(graph, diag));
        (void)vtac_remove_dead(graph);
    }
    return VTA_OK;
}
