/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalization by the responses of all channels (ConvNeXt V2): each plane's length, divided by the mean of
 * all lengths, as what has 8 bits:
 *
 *     l * table(Conv(l, 1 / channels)),  l = table(GlobalAveragePool(x * x))
 *
 * The root of the mean square stands for the length: their quotient, the root of the size of a plane, is in
 * numerator and denominator. The mean over the channels is a product with a matrix of equal numbers.
 */
#include "split.h"

#include <math.h>

#include "vta/fail.h"

enum { MAX_CHANNELS = 2048, IMAGE = 4 };

/* Operator that makes a value; NULL: it is not this one. */
static const vtac_node *maker_of(const vtac_graph *g, vtac_value_id value, vtac_op op)
{
    const vtac_node_id id = value == 0 ? 0 : g->values[value].node;
    return id != 0 && g->nodes[id].op == op ? &g->nodes[id] : NULL;
}

/* True for a reduction over `count` axes from the first one on, which stay. */
static bool reduces(const vtac_graph *g, const vtac_node *node, int64_t first, int64_t count)
{
    const vtac_tensor *axes = vtac_in_constant(g, node, VTAC_REDUCE_AXES);
    const vtac_type *x = vtac_in_type(g, node, VTAC_REDUCE_X);
    bool fits = axes != NULL && x->rank == IMAGE && x->dtype == VTAC_F32 &&
                vtac_attr_int(node, "keepdims", 1) != 0 && vtac_type_elements(&axes->type) == count;
    int64_t seen = 0;
    for (int64_t i = 0; fits && i < count; i++) {
        const int64_t axis = vtac_tensor_int(axes, i), at = axis < 0 ? axis + IMAGE : axis;
        fits = at >= first && at < first + count;
        seen |= fits ? (int64_t)1 << at : 0;
    }
    return fits && seen == (((int64_t)1 << count) - 1) << first;
}

/* The mean of the lengths with the number that keeps it from 0; 0: the value is none. */
static vtac_value_id mean_of_lengths(const vtac_graph *g, vtac_value_id value, double *more)
{
    const vtac_node *add = maker_of(g, value, VTAC_OP_ADD);
    *more = 0.0;
    for (uint32_t i = 0; add != NULL && i < 2; i++) {
        if (vtac_scalar_of(g, add->inputs[i], more)) {
            value = add->inputs[1 - i];
            break;
        }
    }
    const vtac_node *mean = maker_of(g, value, VTAC_OP_REDUCE_MEAN);
    return mean != NULL && *more >= 0.0 && reduces(g, mean, 1, 1) ? mean->inputs[VTAC_REDUCE_X] : 0;
}

bool vtac_is_response_norm(const vtac_graph *graph, const vtac_node *node)
{
    double more;
    const vtac_node *length =
        node->op == VTAC_OP_DIV ? maker_of(graph, node->inputs[VTAC_BINARY_A], VTAC_OP_REDUCE_L2) : NULL;
    if (length == NULL || !reduces(graph, length, 2, 2)) {
        return false;
    }
    const vtac_type *x = vtac_in_type(graph, length, VTAC_REDUCE_X);
    return vtac_type_elements(x) > 0 && x->dim[1] <= MAX_CHANNELS &&
           mean_of_lengths(graph, node->inputs[VTAC_BINARY_B], &more) == node->inputs[VTAC_BINARY_A];
}

/* [c, c, 1, 1] of equal numbers. */
static vta_status add_means(const vtac_splitter *s, int64_t channels, vtac_value_id *out)
{
    const int64_t count = channels * channels;
    float *data = vta_arena_array(&s->graph->arena, (size_t)count, sizeof *data);
    if (data == NULL) {
        return vta_no_memory(s->diag);
    }
    for (int64_t i = 0; i < count; i++) {
        data[i] = (float)(1.0 / (double)channels);
    }
    const vtac_tensor tensor = {.type = {.dtype = VTAC_F32, .rank = IMAGE, .dim = {channels, channels, 1, 1}},
                                .data = data,
                                .bytes = (size_t)count * sizeof *data};
    return vtac_add_constant(s->graph, "", &tensor, out, s->diag);
}

/* An operator on a value and a number. */
static vta_status apply_number(const vtac_splitter *s, vtac_op op, vtac_value_id x, double number,
                               vtac_value_id *out)
{
    vtac_value_id inputs[] = {x, 0};
    VTA_TRY(vtac_split_number(s, number, &inputs[1]));
    return vtac_split_add(s, op, inputs, 2, NULL, 0, out);
}

vta_status vtac_split_responses(const vtac_splitter *s)
{
    const vtac_graph *g = s->graph;
    double more;
    (void)mean_of_lengths(g, s->like.inputs[VTAC_BINARY_B], &more);
    const vtac_value_id x =
        maker_of(g, s->like.inputs[VTAC_BINARY_A], VTAC_OP_REDUCE_L2)->inputs[VTAC_REDUCE_X];
    const vtac_type type = g->values[x].type;
    const double size = sqrt((double)type.dim[2] * (double)type.dim[3]);
    vtac_value_id square[] = {x, x}, mean[2], product[2];
    VTA_TRY(vtac_split_add(s, VTAC_OP_MUL, square, 2, NULL, 0, &mean[0]));
    VTA_TRY(vtac_split_add(s, VTAC_OP_GLOBAL_AVERAGE_POOL, mean, 1, NULL, 0, &product[0]));
    VTA_TRY(apply_number(s, VTAC_OP_POW, product[0], 0.5, &product[0]));
    mean[0] = product[0];
    VTA_TRY(add_means(s, type.dim[1], &mean[1]));
    VTA_TRY(vtac_split_add(s, VTAC_OP_CONV, mean, 2, NULL, 0, &product[1]));
    VTA_TRY(apply_number(s, VTAC_OP_ADD, product[1], more / size, &product[1]));
    VTA_TRY(apply_number(s, VTAC_OP_POW, product[1], -1.0, &product[1]));
    VTA_TRY(vtac_split_add(s, VTAC_OP_MUL, product, 2, NULL, 0, &product[0]));
    vtac_split_replace(s, product[0]);
    return VTA_OK;
}
