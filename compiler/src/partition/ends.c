/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows at the ends of a region. Layers have the columns of rows as channels of an image; the host has rows.
 * A Transpose of the host between both becomes the accelerator's, which transposes whole blocks as it does
 * inside of attention, with the padding of a convolution behind rows that fill none; the host packs or
 * unpacks the rows as they are.
 */
#include <string.h>

#include "partition.h"
#include "vta/fail.h"

static bool is_layer(const vtac_node *node)
{
    const vtac_layer_row *row = node == NULL ? NULL : vtac_layer_row_of(node->op);
    return row != NULL && row->make != NULL;
}

/* True if a layer reads a value, through what only names its shape anew. */
static bool is_read_by_layer(const vtac_graph *graph, vtac_value_id value)
{
    const vtac_value *v = &graph->values[value];
    bool any = false;
    for (uint32_t i = 0; i < v->user_count && !any; i++) {
        const vtac_node *node = &graph->nodes[v->users[i]];
        const bool named_anew = !node->dead && node->op == VTAC_OP_RESHAPE && node->inputs[0] == value;
        any = named_anew ? is_read_by_layer(graph, node->outputs[0]) : !node->dead && is_layer(node);
    }
    return any;
}

/* True for a Transpose of one image of bytes, with a whole block or more of channels and of pixels. */
static bool moves_blocks(const vtac_graph *graph, const vta_config *config, const vtac_node *node)
{
    static const int64_t perm[] = {0, 2, 1};
    const vtac_attr *attr = node->op == VTAC_OP_TRANSPOSE ? vtac_find_attr(node, "perm") : NULL;
    const vtac_type *x = attr == NULL ? NULL : vtac_in_type(graph, node, 0);
    const int64_t block = vtac_vta_block(config);
    return x != NULL && x->rank == 3 && memcmp(attr->ints, perm, sizeof perm) == 0 && x->dim[0] == 1 &&
           (x->dtype == VTAC_I8 || x->dtype == VTAC_U8) && x->dim[1] >= block && x->dim[2] >= block;
}

vta_status vtac_transpose_ends(vtac_graph *graph, const vta_config *config, vta_arena *arena, vta_diag *diag)
{
    const uint32_t count = config->rows != 0 && config->batch == 1 ? graph->order_count : 0;
    for (uint32_t i = 0; i < count; i++) {
        const vtac_node_builder b = {graph, arena, config, graph->nodes[graph->order[i]], diag};
        vtac_value_id image = b.like.inputs[0];
        if (!moves_blocks(graph, config, &b.like) || !vtac_has_padding(&b, image) ||
            (!is_layer(vtac_producer_of(graph, vtac_source_of(graph, image).base)) &&
             !is_read_by_layer(graph, b.like.outputs[0]))) {
            continue;
        }
        VTA_TRY(vtac_fill_pixels(&b, &image));
        VTA_TRY(vtac_transpose_image(&b, vtac_b_type(&b, b.like.outputs[0]).dim[1], &image));
        vtac_swap_names(graph, b.like.outputs[0], image);
        vtac_replace_uses(graph, b.like.outputs[0], image);
    }
    VTA_TRY(vtac_graph_sort(graph, diag));
    (void)vtac_remove_dead(graph);
    return VTA_OK;
}
