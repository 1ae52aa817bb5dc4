/* SPDX-License-Identifier: Apache-2.0
 *
 * The largest or smallest number of each pixel over its channels, as choices between two: one half of the
 * channels against the other half, as long as that saves blocks; then all against the same turned by one,
 * two, four, … places, after which every channel has the answer. Integers are chosen, none is rounded.
 */
#include "partition.h"
#include "vta/number.h"

enum { FEW = 16, CHANNELS = 1 };

/* Channels `first`, `first` + 1, … of x, from the first one again behind the last one. */
static vta_status take_channels(const vtac_node_builder *b, vtac_value_id x, int64_t first, int64_t count,
                                vtac_value_id *out)
{
    const int64_t all = vtac_b_type(b, x).dim[CHANNELS];
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = CHANNELS};
    int64_t *places = vta_arena_array(b->arena, (size_t)count, sizeof *places);
    vtac_value_id inputs[2] = {x};
    if (places == NULL) {
        return vtac_b_no_memory(b);
    }
    for (int64_t i = 0; i < count; i++) {
        places[i] = (first + i) % all;
    }
    VTA_TRY(vtac_b_list(b, places, (uint32_t)count, &inputs[VTAC_GATHER_INDICES]));
    return vtac_b_add(b, VTAC_OP_GATHER, inputs, 2, &axis, 1, out);
}

static vta_status choose_of(const vtac_node_builder *b, vtac_value_id first, vtac_value_id second,
                            vtac_value_id *out)
{
    const vtac_op op = b->like.op == VTAC_OP_REDUCE_MIN ? VTAC_OP_MIN : VTAC_OP_MAX;
    return vtac_b_add(b, op, (vtac_value_id[]){first, second}, 2, NULL, 0, out);
}

static vta_status choose_all(const vtac_node_builder *b, vtac_value_id *x)
{
    vtac_value_id half[2] = {0};
    int64_t count = vtac_b_type(b, *x).dim[CHANNELS];
    while (count > FEW) {
        const int64_t own = vta_ceil_div(count, 2);
        VTA_TRY(take_channels(b, *x, 0, own, &half[0]));
        VTA_TRY(take_channels(b, *x, count - own, own, &half[1]));
        VTA_TRY(choose_of(b, half[0], half[1], x));
        count = own;
    }
    for (int64_t seen = 1; seen < count; seen *= 2) {
        VTA_TRY(take_channels(b, *x, vta_min(seen, count - seen), count, &half[1]));
        VTA_TRY(choose_of(b, *x, half[1], x));
    }
    return take_channels(b, *x, 0, 1, x);
}

/* True for a maximum or minimum of integers over the channels alone, of images that a layer makes. */
static bool is_of_channels(const vtac_graph *graph, const vtac_node *node)
{
    if (node->op != VTAC_OP_REDUCE_MAX && node->op != VTAC_OP_REDUCE_MIN) {
        return false;
    }
    const vtac_type *x = vtac_in_type(graph, node, VTAC_REDUCE_X);
    const vtac_tensor *axes = vtac_in_constant(graph, node, VTAC_REDUCE_AXES);
    if ((x->dtype != VTAC_I8 && x->dtype != VTAC_U8) || x->rank != 4 || axes == NULL ||
        vtac_type_elements(&axes->type) != 1 || !vtac_is_made_by_layer(graph, node->inputs[VTAC_REDUCE_X])) {
        return false;
    }
    const int64_t axis = vtac_tensor_int(axes, 0);
    return (axis < 0 ? axis + x->rank : axis) == CHANNELS;
}

static vta_status replace_node(const vtac_node_builder *b)
{
    const vtac_value_id old = b->like.outputs[0];
    const vtac_type y = vtac_b_type(b, old);
    vtac_value_id x = b->like.inputs[0];
    VTA_TRY(choose_all(b, &x));
    VTA_TRY(vtac_b_reshape(b, y.dim, y.rank, &x));
    vtac_swap_names(b->graph, old, x);
    vtac_replace_uses(b->graph, old, x);
    return VTA_OK;
}

vta_status vtac_choose_channels(vtac_graph *graph, vta_arena *arena, vta_diag *diag)
{
    const uint32_t count = graph->order_count;
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        const vtac_node_builder b = {graph, arena, NULL, graph->nodes[graph->order[i]], diag};
        if (is_of_channels(graph, &b.like)) {
            VTA_TRY(replace_node(&b));
            any = true;
        }
    }
    if (any) {
        VTA_TRY(vtac_graph_sort(graph, diag));
        (void)vtac_remove_dead(graph);
    }
    return VTA_OK;
}
