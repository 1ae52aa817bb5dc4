/* SPDX-License-Identifier: Apache-2.0
 *
 * Values as images. A reshape that keeps images apart and their elements in order moves nothing: a dense
 * layer behind it reads the image with a window as large as the image. A reshape of rows of pixels, [n, c, h,
 * w] to [n, c, h w], also moves nothing.
 */
#include "partition.h"

bool vtac_image_shape(const vtac_type *type, int64_t shape[4])
{
    if (type->rank < 2 || type->rank > 4 || vtac_type_elements(type) < 1) {
        return false;
    }
    shape[0] = type->dim[0];
    shape[1] = type->dim[1];
    shape[2] = type->rank == 4 ? type->dim[2] : 1;
    shape[3] = type->rank >= 3 ? type->dim[type->rank - 1] : 1;
    return true;
}

/* True if an element has no coordinates but the image and one number. */
static bool is_flat(const vtac_type *type)
{
    int64_t shape[4];
    return vtac_image_shape(type, shape) && shape[2] == 1 && shape[3] == 1;
}

const vtac_node *vtac_producer_of(const vtac_graph *graph, vtac_value_id value)
{
    const vtac_value *v = &graph->values[value];
    return v->constant != NULL || v->node == 0 ? NULL : &graph->nodes[v->node];
}

bool vtac_is_reshaping(const vtac_node *node)
{
    static const bool reshapes[VTAC_OP_COUNT] = {
        [VTAC_OP_FLATTEN] = true, [VTAC_OP_IDENTITY] = true,  [VTAC_OP_RESHAPE] = true,
        [VTAC_OP_SQUEEZE] = true, [VTAC_OP_UNSQUEEZE] = true, [VTAC_OP_TRANSPOSE] = true,
    };
    return reshapes[node->op];
}

/* True if a Transpose leaves images in front and has at most one other axis longer than 1. */
static bool transposes_nothing(const vtac_node *node, const vtac_type *in)
{
    const vtac_attr *perm = vtac_find_attr(node, "perm");
    uint32_t longer = 0;
    for (uint32_t i = 1; i < in->rank; i++) {
        longer += in->dim[i] > 1;
    }
    return longer <= 1 && perm != NULL && perm->kind == VTAC_ATTR_INTS && perm->count == in->rank &&
           (perm->ints[0] == 0 || in->dim[0] == 1);
}

/* True if two types have the same images, channels and number of pixels. */
static bool same_pixels(const vtac_type *a, const vtac_type *b)
{
    int64_t from[4];
    int64_t to[4];
    return vtac_image_shape(a, from) && vtac_image_shape(b, to) && from[0] == to[0] && from[1] == to[1] &&
           from[2] * from[3] == to[2] * to[3];
}

/* True for one row of numbers that no layer makes: as channels of one pixel it is cheaper for the host to
 * write, and any layer reads it. */
static bool is_row_of_host(const vtac_graph *graph, vtac_value_id value, const int64_t shape[4])
{
    return shape[1] == 1 && shape[2] == 1 && shape[3] > 1 && !vtac_is_made_by_layer(graph, value);
}

bool vtac_is_view(const vtac_graph *graph, const vtac_node *node)
{
    int64_t from[4];
    if (!vtac_is_reshaping(node) || node->output_count != 1) {
        return false;
    }
    const vtac_type *in = &graph->values[node->inputs[0]].type;
    const vtac_type *out = &graph->values[node->outputs[0]].type;
    if (vtac_type_equal(in, out) && node->op != VTAC_OP_TRANSPOSE) {
        return true;
    }
    if (node->op != VTAC_OP_TRANSPOSE && same_pixels(in, out)) {
        return true;
    }
    return vtac_image_shape(in, from) && is_flat(out) && in->dim[0] == out->dim[0] &&
           !is_row_of_host(graph, node->inputs[0], from) &&
           (node->op != VTAC_OP_TRANSPOSE || transposes_nothing(node, in));
}

vtac_source vtac_source_of(const vtac_graph *graph, vtac_value_id value)
{
    vtac_source source = {.base = value};
    for (;;) {
        const vtac_value *v = &graph->values[source.base];
        if (v->node == 0 || v->constant != NULL || !vtac_is_view(graph, &graph->nodes[v->node])) {
            return source;
        }
        const vtac_value_id in = graph->nodes[v->node].inputs[0];
        source.flat = source.flat || (is_flat(&v->type) && !is_flat(&graph->values[in].type));
        source.base = in;
    }
}
