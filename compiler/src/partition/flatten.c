/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of one number on values that are no image, or one whose channels are heads: where all readers
 * reshape the result to an image, the function moves behind that, to the image's channels and pixels.
 *
 *     Reshape(f(x [1, 1, heads, k, m])) -> f(Reshape(x) [1, heads·k, m])
 *     f(x [1, heads, k, m])             -> Reshape(f(Reshape(x) [1, heads·k, m])), of an image's channels
 */
#include <string.h>

#include "partition.h"

enum { IMAGE_RANK = 3, MAX_INPUTS = 8 };

/* True for [n, heads, k, m] in place of [n, heads·k, m], or for more axes than an image has. */
static bool has_more_axes(const vtac_type *from, const vtac_type *to)
{
    const bool heads = from->rank == IMAGE_RANK + 1 && from->dim[0] == to->dim[0] && from->dim[2] > 1 &&
                       from->dim[1] * from->dim[2] == to->dim[1];
    const bool fewer = from->rank > IMAGE_RANK + 1 && to->rank <= IMAGE_RANK + 1;
    return (to->rank == IMAGE_RANK && heads) || (to->rank >= IMAGE_RANK && fewer);
}

/* The shape that all readers of a value reshape it to; NULL: they do not, or it is no image. */
static const vtac_type *reshaped_to(const vtac_graph *graph, vtac_value_id value)
{
    const vtac_value *v = &graph->values[value];
    const vtac_type *to = NULL;
    for (uint32_t i = 0; i < v->user_count; i++) {
        const vtac_node *user = &graph->nodes[v->users[i]];
        if (user->dead) {
            continue;
        }
        const vtac_type *type = user->op == VTAC_OP_RESHAPE ? &graph->values[user->outputs[0]].type : NULL;
        if (type == NULL || user->inputs[VTAC_RESHAPE_X] != value ||
            (to != NULL && !vtac_type_equal(type, to))) {
            return NULL;
        }
        to = type;
    }
    return to != NULL && !vtac_is_output(graph, value) && has_more_axes(&v->type, to) ? to : NULL;
}

/* The function of an image. */
static vta_status put_function(const vtac_node_builder *b, const vtac_value_id *inputs, vtac_value_id *out)
{
    const bool joins = b->like.op == VTAC_OP_QLINEAR_CONCAT;
    const vtac_attr channels = {.name = "axis", .kind = VTAC_ATTR_INT, .i = 1};
    return vtac_b_layer(b, b->like.op, inputs, b->like.input_count, joins ? &channels : b->like.attrs,
                        joins ? 1 : b->like.attr_count, out);
}

/* True for an operator that reads heads by themselves. */
static bool reads_heads(const vtac_node *node)
{
    return node->op == VTAC_OP_TRANSPOSE || node->op == VTAC_OP_RESHAPE ||
           node->op == VTAC_OP_QLINEAR_MATMUL || node->op == VTAC_OP_ROW_NORM ||
           node->op == VTAC_OP_ROW_SOFTMAX;
}

/* True for heads that are taken out of an image as they lie there, whose readers want heads. */
static bool are_heads(const vtac_graph *graph, vtac_value_id value, vtac_value_id x)
{
    const vtac_value *v = &graph->values[value];
    const vtac_node *node = vtac_producer_of(graph, x);
    bool heads = v->type.rank == IMAGE_RANK + 1 && v->type.dim[1] * v->type.dim[2] > v->type.dim[1] &&
                 node != NULL && !vtac_is_output(graph, value);
    for (uint32_t i = 0; heads && i < v->user_count; i++) {
        const vtac_node *user = &graph->nodes[v->users[i]];
        heads = user->dead || reads_heads(user);
    }
    while (heads && node != NULL && node->op != VTAC_OP_TRANSPOSE &&
           (vtac_is_reshaping(node) || node->op == VTAC_OP_SLICE || node->op == VTAC_OP_SPLIT ||
            node->op == VTAC_OP_GATHER)) {
        x = node->inputs[0];
        node = vtac_producer_of(graph, x);
    }
    const vtac_type *image = &graph->values[x].type;
    return heads && x != value && image->rank >= IMAGE_RANK && image->dim[0] == v->type.dim[0] &&
           image->dim[1] > 0 && image->dim[1] < vtac_type_elements(image) &&
           vtac_type_elements(image) / image->dim[0] / image->dim[1] == v->type.dim[IMAGE_RANK];
}

/* Lets the function work on the image that all heads are, and makes heads of its result. */
static vta_status join_heads(const vtac_node_builder *b)
{
    const vtac_value_id old = b->like.outputs[0];
    const vtac_type heads = vtac_b_type(b, old);
    const int64_t dims[IMAGE_RANK] = {heads.dim[0], heads.dim[1] * heads.dim[2], heads.dim[IMAGE_RANK]};
    const uint32_t data = (uint32_t)vtac_layer_row_of(b->like.op)->first;
    vtac_value_id inputs[MAX_INPUTS], out;
    memcpy(inputs, b->like.inputs, b->like.input_count * sizeof *inputs);
    VTA_TRY(vtac_b_reshape(b, dims, IMAGE_RANK, &inputs[data]));
    VTA_TRY(put_function(b, inputs, &out));
    VTA_TRY(vtac_b_reshape(b, heads.dim, heads.rank, &out));
    vtac_swap_names(b->graph, old, out);
    vtac_replace_uses(b->graph, old, out);
    return VTA_OK;
}

static vta_status move_function(const vtac_node_builder *b, const vtac_type *to)
{
    const vtac_value_id old = b->like.outputs[0];
    const uint32_t data = (uint32_t)vtac_layer_row_of(b->like.op)->first;
    vtac_value_id inputs[MAX_INPUTS], out;
    memcpy(inputs, b->like.inputs, b->like.input_count * sizeof *inputs);
    VTA_TRY(vtac_b_reshape(b, to->dim, to->rank, &inputs[data]));
    VTA_TRY(put_function(b, inputs, &out));
    for (uint32_t i = b->graph->values[old].user_count; i-- > 0;) { /* users vanish from the list */
        const vtac_node *user = &b->graph->nodes[b->graph->values[old].users[i]];
        const vtac_value_id reshaped = user->outputs[0];
        if (!user->dead) {
            vtac_swap_names(b->graph, reshaped, out);
            vtac_replace_uses(b->graph, reshaped, out);
        }
    }
    return VTA_OK;
}

/* Looks at each node once. */
static vta_status visit_functions(const vtac_node_builder *all, uint32_t count, bool *any)
{
    vtac_graph *graph = all->graph;
    for (uint32_t i = 0; i < count; i++) {
        vtac_node_builder b = *all;
        b.like = graph->nodes[graph->order[i]];
        const bool function = vtac_is_number_function(graph, &b.like) && b.like.input_count <= MAX_INPUTS;
        const vtac_type *to = function ? reshaped_to(graph, b.like.outputs[0]) : NULL;
        const vtac_type shape = to != NULL ? *to : (vtac_type){0};
        const bool heads =
            function && to == NULL &&
            are_heads(graph, b.like.outputs[0], b.like.inputs[vtac_layer_row_of(b.like.op)->first]);
        VTA_TRY(to != NULL ? move_function(&b, &shape) : heads ? join_heads(&b) : VTA_OK);
        *any = *any || to != NULL || heads;
    }
    return VTA_OK;
}

vta_status vtac_flatten_functions(vtac_graph *graph, const vta_config *config, vta_arena *arena,
                                  vta_diag *diag)
{
    enum { PASSES = 3 }; /* to heads, and from there to their image */
    const vtac_node_builder b = {.graph = graph, .arena = arena, .config = config, .diag = diag};
    bool any = config->rows != 0;
    for (int pass = 0; any && pass < PASSES; pass++) {
        any = false;
        VTA_TRY(visit_functions(&b, graph->order_count, &any));
        if (any) {
            VTA_TRY(vtac_graph_sort(graph, diag));
            (void)vtac_remove_dead(graph);
        }
    }
    return VTA_OK;
}
