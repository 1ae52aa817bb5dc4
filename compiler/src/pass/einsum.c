/* SPDX-License-Identifier: Apache-2.0
 *
 * An Einsum of two operands is a product of matrices, for which there are kernels: axes that both have and
 * the result keeps are batches, those that it does not keep are summed, the others are rows and columns.
 * Without anything to sum it is Mul. What this does not cover (an axis that occurs twice, is summed in one
 * operand alone or broadcasts) stays as it is.
 */
#include <string.h>

#include "../ops/infer.h"
#include "rewrite.h"

typedef enum label_set { BATCH, ROWS, COLUMNS, SUMMED, PARTS } label_set;

typedef struct factors {
    vtac_rewrite *r;
    vtac_node_id id;
    vtac_node node;
    vtac_einsum e;
    uint32_t count[PARTS];
    uint8_t label[PARTS][VTAC_MAX_RANK];
} factors;

static bool has_label(const uint8_t *labels, uint32_t count, uint8_t label)
{
    return memchr(labels, label, count) != NULL;
}

static void add_label(factors *f, label_set p, uint8_t label)
{
    f->label[p][f->count[p]++] = label;
}

/* Sorts the labels by their role; false: the operator is no product. */
static bool sort_labels(factors *f)
{
    const vtac_einsum *e = &f->e;
    uint32_t rank[2];
    for (uint32_t i = 0; i < 2; i++) {
        const vtac_type *type = vtac_in_type(f->r->graph, &f->node, i);
        rank[i] = type->rank;
        for (uint32_t k = 0; k < type->rank; k++) {
            const uint8_t label = e->axis[i][k];
            if (has_label(e->axis[i], k, label) || type->dim[k] != e->size[label] || type->dim[k] == 0) {
                return false;
            }
        }
    }
    for (uint32_t k = 0; k < e->result_rank; k++) {
        const uint8_t label = e->result[k];
        const bool left = has_label(e->axis[0], rank[0], label);
        add_label(f, !left ? COLUMNS : has_label(e->axis[1], rank[1], label) ? BATCH : ROWS, label);
    }
    for (uint32_t k = 0; k < rank[0]; k++) {
        if (!has_label(e->result, e->result_rank, e->axis[0][k])) {
            add_label(f, SUMMED, e->axis[0][k]);
        }
    }
    return f->count[BATCH] + f->count[ROWS] + f->count[SUMMED] == rank[0] &&
           f->count[BATCH] + f->count[COLUMNS] + f->count[SUMMED] == rank[1];
}

/* The labels of three parts, one behind the other; how many. */
static uint32_t in_order(const factors *f, label_set a, label_set b, label_set c, uint8_t *out)
{
    const label_set parts[] = {a, b, c};
    uint32_t count = 0;
    for (uint32_t i = 0; i < 3; i++) {
        memcpy(out + count, f->label[parts[i]], f->count[parts[i]]);
        count += f->count[parts[i]];
    }
    return count;
}

static int64_t size_of(const factors *f, label_set p)
{
    int64_t size = 1;
    for (uint32_t i = 0; i < f->count[p]; i++) {
        size *= f->e.size[f->label[p][i]];
    }
    return size;
}

static vta_status transpose_operand(const factors *f, const uint8_t *from, const uint8_t *to, uint32_t rank,
                                    vtac_value_id *x)
{
    int64_t perm[VTAC_MAX_RANK];
    if (memcmp(from, to, rank) == 0) {
        return VTA_OK;
    }
    for (uint32_t i = 0; i < rank; i++) {
        const uint8_t *at = memchr(from, to[i], rank);
        perm[i] = at - from;
    }
    return vtac_new_transpose(f->r, f->id, &f->node, perm, rank, *x, x);
}

static vta_status reshape_operand(const factors *f, const int64_t *dim, uint32_t rank, vtac_value_id *x)
{
    vtac_value_id in[2] = {*x};
    VTA_TRY(vtac_new_ints(f->r, dim, rank, &in[1]));
    return vtac_new_simple(f->r, f->id, &f->node, VTAC_OP_RESHAPE, in, 2, x);
}

/* Operand i as a batch of matrices of parts a and b. */
static vta_status operand_matrices(const factors *f, uint32_t i, label_set a, label_set b, vtac_value_id *x)
{
    static const int64_t swapped[] = {0, 2, 1};
    uint8_t wanted[3 * VTAC_MAX_RANK];
    uint8_t other[3 * VTAC_MAX_RANK];
    const uint32_t rank = in_order(f, BATCH, a, b, wanted);
    (void)in_order(f, BATCH, b, a, other);
    const bool lies_turned =
        memcmp(f->e.axis[i], wanted, rank) != 0 && memcmp(f->e.axis[i], other, rank) == 0;
    const int64_t dim[] = {size_of(f, BATCH), size_of(f, lies_turned ? b : a),
                           size_of(f, lies_turned ? a : b)};
    *x = f->node.inputs[i];
    VTA_TRY(lies_turned ? VTA_OK : transpose_operand(f, f->e.axis[i], wanted, rank, x));
    VTA_TRY(reshape_operand(f, dim, 3, x));
    return lies_turned ? vtac_new_transpose(f->r, f->id, &f->node, swapped, 3, *x, x) : VTA_OK;
}

static vta_status replace_einsum(factors *f)
{
    const vtac_op op = f->count[SUMMED] == 0 ? VTAC_OP_MUL : VTAC_OP_MATMUL;
    uint8_t labels[3 * VTAC_MAX_RANK];
    int64_t dim[3 * VTAC_MAX_RANK];
    vtac_value_id in[2];
    vtac_value_id y;
    VTA_TRY(operand_matrices(f, 0, ROWS, SUMMED, &in[0]));
    VTA_TRY(operand_matrices(f, 1, SUMMED, COLUMNS, &in[1]));
    VTA_TRY(vtac_new_simple(f->r, f->id, &f->node, op, in, 2, &y));
    const uint32_t rank = in_order(f, BATCH, ROWS, COLUMNS, labels);
    for (uint32_t i = 0; i < rank; i++) {
        dim[i] = f->e.size[labels[i]];
    }
    VTA_TRY(reshape_operand(f, dim, rank, &y));
    VTA_TRY(transpose_operand(f, labels, f->e.result, rank, &y));
    vtac_replace(f->r, f->node.outputs[0], y);
    vtac_remove_node(f->r->graph, f->id);
    return VTA_OK;
}

/* True if QuantizeLinear or DequantizeLinear stand around the operator: a pass before this one has
 * decided about it. */
static bool is_quantized(const vtac_rewrite *r, const vtac_node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        const vtac_node *from = vtac_producer(r, node->inputs[i]);
        if (from != NULL && from->op == VTAC_OP_DEQUANTIZE_LINEAR) {
            return true;
        }
    }
    return false;
}

vta_status vtac_einsum_to_product(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    factors f = {.r = r, .id = id, .node = r->graph->nodes[id]};
    if (f.node.input_count != 2 || is_quantized(r, &f.node) ||
        vtac_dtype_kind(vtac_in_type(r->graph, &f.node, 0)->dtype) != 'f') {
        return VTA_OK;
    }
    VTA_TRY(vtac_einsum_parse(r->graph, &f.node, &f.e, r->diag));
    if (!sort_labels(&f)) {
        return VTA_OK;
    }
    *changed = true;
    return replace_einsum(&f);
}
