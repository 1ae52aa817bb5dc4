/* SPDX-License-Identifier: Apache-2.0
 *
 * Local response normalization, x / (k + alpha / size * sum of neighbours' squares)^beta, as what has 8 bits:
 *
 *     x * table(Conv(x * x, band))
 *
 * The sum over neighbouring channels is a product with a matrix that has a band of alpha / size, and the
 * power of the sum is a table.
 */
#include "split.h"

#include "vta/fail.h"

enum { MAX_CHANNELS = 2048 };

bool vtac_is_neighbour_norm(const vtac_graph *graph, const vtac_node *node)
{
    const vtac_type *x = node->op == VTAC_OP_LRN ? vtac_in_type(graph, node, 0) : NULL;
    return x != NULL && x->dtype == VTAC_F32 && x->rank == 4 && x->dim[1] >= 1 && x->dim[1] <= MAX_CHANNELS &&
           vtac_attr_int(node, "size", 0) >= 1 && vtac_attr_float(node, "alpha", 1e-4) > 0.0 &&
           vtac_attr_float(node, "beta", 0.75) > 0.0 && vtac_attr_float(node, "bias", 1.0) > 0.0;
}

/* [c, c, 1, 1] with a number where a channel is a neighbour of another one. */
static vta_status add_band(const vtac_splitter *s, int64_t channels, vtac_value_id *out)
{
    const int64_t size = vtac_attr_int(&s->like, "size", 1), before = (size - 1) / 2,
                  count = channels * channels;
    const float number = (float)(vtac_attr_float(&s->like, "alpha", 1e-4) / (double)size);
    float *data = vta_arena_array(&s->graph->arena, (size_t)count, sizeof *data);
    if (data == NULL) {
        return vta_no_memory(s->diag);
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t off = i % channels - i / channels;
        data[i] = off >= -before && off < size - before ? number : 0.0F;
    }
    const vtac_tensor tensor = {.type = {.dtype = VTAC_F32, .rank = 4, .dim = {channels, channels, 1, 1}},
                                .data = data,
                                .bytes = (size_t)count * sizeof *data};
    return vtac_add_constant(s->graph, "", &tensor, out, s->diag);
}

vta_status vtac_split_neighbours(const vtac_splitter *s)
{
    const vtac_value_id x = s->like.inputs[0];
    vtac_value_id square[2] = {x, x}, sum[2], whole[2], power[2], product[2] = {x};
    VTA_TRY(vtac_split_add(s, VTAC_OP_MUL, square, 2, NULL, 0, &sum[0]));
    VTA_TRY(add_band(s, s->graph->values[x].type.dim[1], &sum[1]));
    VTA_TRY(vtac_split_add(s, VTAC_OP_CONV, sum, 2, NULL, 0, &whole[0]));
    VTA_TRY(vtac_split_number(s, vtac_attr_float(&s->like, "bias", 1.0), &whole[1]));
    VTA_TRY(vtac_split_add(s, VTAC_OP_ADD, whole, 2, NULL, 0, &power[0]));
    VTA_TRY(vtac_split_number(s, -vtac_attr_float(&s->like, "beta", 0.75), &power[1]));
    VTA_TRY(vtac_split_add(s, VTAC_OP_POW, power, 2, NULL, 0, &product[1]));
    VTA_TRY(vtac_split_add(s, VTAC_OP_MUL, product, 2, NULL, 0, &product[0]));
    vtac_split_replace(s, product[0]);
    return VTA_OK;
}
