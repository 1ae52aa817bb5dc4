/* SPDX-License-Identifier: Apache-2.0
 *
 * The range of shares of rows that are factors of a second factor: keys of linear attention, one row for each
 * number of a query, each of which counts as much as its sum. A row whose sum is nothing beside the others'
 * has shares up to 1, where those of the others are some hundredths, and nothing would be left of their 8
 * bits.
 */
#include "shares.h"

#include <math.h>

/* Sums below the mean by more than this have smaller weights. */
enum { LOW = 4 };

static bool only_moves(const vtac_node *node)
{
    return node != NULL && (node->op == VTAC_OP_RESHAPE || node->op == VTAC_OP_TRANSPOSE ||
                            node->op == VTAC_OP_SQUEEZE || node->op == VTAC_OP_UNSQUEEZE);
}

/* The product behind what moves a value alone; 0: none, or there are other readers. */
static vtac_node_id product_of(const vtac_graph *g, vtac_value_id value, vtac_value_id *operand)
{
    vtac_node_id user = vtac_only_user_of(g, value);
    while (user != 0 && only_moves(&g->nodes[user])) {
        value = g->nodes[user].outputs[0];
        user = vtac_only_user_of(g, value);
    }
    *operand = value;
    return user != 0 && g->nodes[user].op == VTAC_OP_MATMUL ? user : 0;
}

vtac_value_id vtac_quant_shared(const vtac_graph *g, vtac_value_id value)
{
    vtac_node_id id = g->values[value].node;
    vtac_value_id operand;
    while (id != 0 && g->nodes[id].op == VTAC_OP_RESHAPE) {
        id = g->values[g->nodes[id].inputs[VTAC_RESHAPE_X]].node;
    }
    if (id == 0 || g->nodes[id].op != VTAC_OP_LP_NORMALIZATION) {
        return 0;
    }
    const vtac_node_id inner = product_of(g, g->nodes[id].outputs[0], &operand);
    if (inner == 0 || g->nodes[inner].inputs[VTAC_MATMUL_A] != operand) {
        return 0;
    }
    const vtac_node_id outer = product_of(g, g->nodes[inner].outputs[0], &operand);
    return outer != 0 && g->nodes[outer].inputs[VTAC_MATMUL_B] == operand ? g->nodes[id].inputs[0] : 0;
}

void vtac_quant_range_shares(vtac_quant_range *range, const float *x, size_t rows, size_t columns)
{
    double all = 0.0;
    for (size_t i = 0; i < rows * columns; i++) {
        all += fabs((double)x[i]);
    }
    const double lowest = rows == 0 ? 0.0 : all / (double)rows / LOW;
    for (size_t i = 0; i < rows; i++) {
        double sum = 0.0;
        for (size_t k = 0; k < columns; k++) {
            sum += fabs((double)x[i * columns + k]);
        }
        for (size_t k = 0; k < columns && sum > 0.0; k++) {
            const float share = (float)((double)x[i * columns + k] / fmax(sum, lowest));
            vtac_quant_range_see(range, &share, 1);
        }
    }
}
