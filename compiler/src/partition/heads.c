/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators on the heads of attention (rotary positions): a value [.., heads, rows, columns] that Reshapes
 * and Transposes make of an image [1, heads · columns, rows]. Elementwise operators, slices of columns and
 * joins of columns move in front of the Reshapes and Transposes, where the accelerator has them: for images.
 *
 *     op(heads(image), …)  ->  heads(op(image, …))
 *
 * Operands that all heads share (cosines and sines of positions that the run gives) become images, once for
 * all of their readers: the host writes them.
 */
#include <string.h>

#include "builder.h"
#include "partition.h"
#include "vta/fail.h"

enum { MAX_INPUTS = 16, STEP = 3, COLUMNS = 3, RESCALE_INPUTS = 5 };

typedef struct head_shape {
    int64_t heads, rows, columns;
} head_shape;

static head_shape shape_of(vtac_type type)
{
    const uint32_t rank = type.rank;
    head_shape s = {1, type.dim[rank - 2], type.dim[rank - 1]};
    for (uint32_t i = 0; i + 2 < rank; i++) {
        s.heads *= type.dim[i];
    }
    return s;
}

/* The image of a value's heads; 0: there is none. */
static vtac_value_id image_behind(const vtac_graph *graph, vtac_value_id value)
{
    const vtac_type *type = &graph->values[value].type;
    if (type->rank < 3 || vtac_type_elements(type) < 1) {
        return 0;
    }
    const head_shape s = shape_of(*type);
    const vtac_order_want want = {{s.heads, s.rows, s.columns}, {s.columns * s.rows, 1, s.rows}, false};
    const vtac_value_id image = vtac_image_of_order(graph, value, &want, 0);
    const vtac_type *from = image != 0 ? &graph->values[image].type : NULL;
    return from != NULL && from->dim[1] == s.heads * s.columns && from->dim[2] == s.rows ? image : 0;
}

/* Puts an image's heads in the place of a value. */
static vta_status replace_by_heads(const vtac_node_builder *b, vtac_value_id image)
{
    const vtac_value_id old = b->like.outputs[0];
    const vtac_type y = vtac_b_type(b, old);
    const head_shape s = shape_of(y);
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){s.heads, s.columns, s.rows}, 3, &image));
    VTA_TRY(vtac_b_transpose(b, (int64_t[]){0, 2, 1}, 3, &image));
    VTA_TRY(vtac_b_reshape(b, y.dim, y.rank, &image));
    vtac_swap_names(b->graph, old, image);
    vtac_replace_uses(b->graph, old, image);
    return VTA_OK;
}

/* ---- elementwise operators */

/* Broadcasts a constant to the image of a value of type `y`. */
static vta_status convert_constant(const vtac_node_builder *b, const vtac_tensor *from, const vtac_type *y,
                                   vtac_value_id *out)
{
    const head_shape s = shape_of(*y);
    const size_t size = vtac_dtype_bytes(from->type.dtype);
    const int64_t count = vtac_type_elements(y);
    char *data = vta_arena_array(b->arena, (size_t)count, size);
    if (data == NULL) {
        return vtac_b_no_memory(b);
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t column = i % s.columns, row = i / s.columns % s.rows, head = i / s.columns / s.rows;
        memcpy(data + (size_t)((head * s.columns + column) * s.rows + row) * size,
               (const char *)from->data + (size_t)vtac_broadcast_at(&from->type, y, i) * size, size);
    }
    const vtac_type type = {.dtype = from->type.dtype, .rank = 3, .dim = {1, s.heads * s.columns, s.rows}};
    return vtac_b_constant(b, type, data, out);
}

/* Images of values that all heads share. */
typedef struct shared_image {
    vtac_value_id value, image;
    int64_t heads;
} shared_image;

typedef struct shared_images {
    shared_image *items;
    uint32_t count, room;
} shared_images;

/* True if a value has the rows and columns of another one, for all heads alike. */
static bool is_shared(const vtac_type *type, const vtac_type *y)
{
    int64_t heads = 1;
    for (uint32_t i = 0; i + 2 < type->rank; i++) {
        heads *= type->dim[i];
    }
    return type->rank >= 2 && heads == 1 && type->dim[type->rank - 1] == y->dim[y->rank - 1] &&
           type->dim[type->rank - 2] == y->dim[y->rank - 2];
}

static vta_status spread_heads(const vtac_node_builder *b, const head_shape *s, vtac_value_id *x)
{
    vtac_value_id shape;
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){1, s->rows, s->columns}, 3, x));
    VTA_TRY(s->rows > 1 ? vtac_b_transpose(b, (int64_t[]){0, 2, 1}, 3, x) : VTA_OK);
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){1, 1, 1, s->columns, s->rows}, 5, x));
    VTA_TRY(vtac_b_list(b, (int64_t[]){1, 1, s->heads, s->columns, s->rows}, 5, &shape));
    VTA_TRY(vtac_b_apply(b, VTAC_OP_EXPAND, shape, NULL, x));
    return vtac_b_reshape(b, (int64_t[]){1, s->heads * s->columns, s->rows}, 3, x);
}

/* The image of a value that all heads share; only of one that no layer makes. */
static vta_status convert_shared(const vtac_node_builder *b, shared_images *all, vtac_value_id value,
                                 vtac_value_id *out)
{
    const head_shape s = shape_of(vtac_b_type(b, b->like.outputs[0]));
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->items[i].value == value && all->items[i].heads == s.heads) {
            *out = all->items[i].image;
            return VTA_OK;
        }
    }
    if (all->count == all->room || vtac_is_made_by_layer(b->graph, value)) {
        return VTA_OK;
    }
    *out = value;
    VTA_TRY(spread_heads(b, &s, out));
    all->items[all->count++] = (shared_image){value, *out, s.heads};
    return VTA_OK;
}

/* The image of a data operand; *out 0: it has none. */
static vta_status convert_operand(const vtac_node_builder *b, shared_images *all, uint32_t i,
                                  vtac_value_id *out)
{
    const vtac_type y = vtac_b_type(b, b->like.outputs[0]);
    const vtac_tensor *constant = vtac_in_constant(b->graph, &b->like, i);
    const vtac_type *type = vtac_in_type(b->graph, &b->like, i);
    *out = 0;
    if (constant != NULL && vtac_type_elements(type) == 1) {
        return vtac_b_number(b, type->dtype, constant->data, out);
    }
    if (constant != NULL) {
        return type->rank <= y.rank ? convert_constant(b, constant, &y, out) : VTA_OK;
    }
    if (type->rank == y.rank && memcmp(type->dim, y.dim, y.rank * sizeof *y.dim) == 0) {
        *out = image_behind(b->graph, b->like.inputs[i]);
    }
    return *out == 0 && is_shared(type, &y) ? convert_shared(b, all, b->like.inputs[i], out) : VTA_OK;
}

/* True if a data operand comes from an image already. */
static bool has_image(const vtac_node_builder *b, uint32_t first, uint32_t count)
{
    bool any = false;
    for (uint32_t i = first; i < first + STEP * count; i += STEP) {
        any = any || (vtac_in_constant(b->graph, &b->like, i) == NULL &&
                      image_behind(b->graph, b->like.inputs[i]) != 0);
    }
    return any;
}

/* Converts an elementwise operator, whose data operands are the inputs `first`, `first` + 3, … */
static vta_status convert_point(const vtac_node_builder *b, shared_images *all, uint32_t first,
                                uint32_t count)
{
    vtac_value_id inputs[MAX_INPUTS], out;
    if (!has_image(b, first, count)) {
        return VTA_OK;
    }
    memcpy(inputs, b->like.inputs, b->like.input_count * sizeof *inputs);
    for (uint32_t i = first; i < first + STEP * count; i += STEP) {
        VTA_TRY(convert_operand(b, all, i, &inputs[i]));
        if (inputs[i] == 0) {
            return VTA_OK;
        }
    }
    const bool joins = b->like.op == VTAC_OP_QLINEAR_CONCAT;
    const vtac_attr channels = {.name = "axis", .kind = VTAC_ATTR_INT, .i = 1};
    VTA_TRY(vtac_b_layer(b, b->like.op, inputs, b->like.input_count, joins ? &channels : b->like.attrs,
                         joins ? 1 : b->like.attr_count, &out));
    return replace_by_heads(b, out);
}

/* ---- slices and joins of columns */

/* The image with heads and columns apart: of a rank that is no image's, so that a chain does not end here. */
static vta_status split_columns(const vtac_node_builder *b, const head_shape *s, vtac_value_id *x)
{
    return vtac_b_reshape(b, (int64_t[]){1, 1, s->heads, s->columns, s->rows}, 5, x);
}

static vta_status join_columns(const vtac_node_builder *b, vtac_value_id x)
{
    const head_shape s = shape_of(vtac_b_type(b, b->like.outputs[0]));
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){1, s.heads * s.columns, s.rows}, 3, &x));
    return replace_by_heads(b, x);
}

/* True if a Slice takes columns alone, and names its axis. */
static bool takes_columns(const vtac_node_builder *b)
{
    const vtac_type x = vtac_b_type(b, b->like.inputs[VTAC_SLICE_X]);
    const vtac_tensor *axes =
        b->like.input_count < 4 ? NULL : vtac_in_constant(b->graph, &b->like, VTAC_SLICE_AXES);
    return axes != NULL && vtac_type_elements(&axes->type) == 1 &&
           (vtac_tensor_int(axes, 0) == -1 || vtac_tensor_int(axes, 0) == (int64_t)x.rank - 1);
}

static vta_status convert_slice(const vtac_node_builder *b)
{
    static const int64_t axis = COLUMNS;
    vtac_value_id inputs[MAX_INPUTS], out;
    if (!takes_columns(b)) {
        return VTA_OK;
    }
    const head_shape s = shape_of(vtac_b_type(b, b->like.inputs[VTAC_SLICE_X]));
    memcpy(inputs, b->like.inputs, b->like.input_count * sizeof *inputs);
    inputs[0] = image_behind(b->graph, b->like.inputs[VTAC_SLICE_X]);
    if (inputs[0] == 0) {
        return VTA_OK;
    }
    VTA_TRY(split_columns(b, &s, &inputs[0]));
    VTA_TRY(vtac_b_list(b, &axis, 1, &inputs[VTAC_SLICE_AXES]));
    VTA_TRY(vtac_b_add(b, VTAC_OP_SLICE, inputs, b->like.input_count, NULL, 0, &out));
    return join_columns(b, out);
}

static vta_status convert_join(const vtac_node_builder *b)
{
    vtac_value_id inputs[MAX_INPUTS], out;
    const int64_t rank = vtac_b_type(b, b->like.outputs[0]).rank;
    const int64_t named = vtac_attr_int(&b->like, "axis", 0);
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = COLUMNS};
    bool all = named == -1 || named == rank - 1;
    for (uint32_t i = 0; all && i < b->like.input_count; i++) {
        inputs[i] = image_behind(b->graph, b->like.inputs[i]);
        all = inputs[i] != 0;
    }
    for (uint32_t i = 0; all && i < b->like.input_count; i++) {
        const head_shape s = shape_of(vtac_b_type(b, b->like.inputs[i]));
        VTA_TRY(split_columns(b, &s, &inputs[i]));
    }
    if (!all) {
        return VTA_OK;
    }
    VTA_TRY(vtac_b_add(b, VTAC_OP_CONCAT, inputs, b->like.input_count, &axis, 1, &out));
    return join_columns(b, out);
}

/* ---- all of a graph */

static vta_status visit_node(const vtac_node_builder *b, shared_images *all)
{
    static const uint8_t operands[VTAC_OP_COUNT] = {
        [VTAC_OP_QLINEAR_ADD] = 2, [VTAC_OP_QLINEAR_MUL] = 2,        [VTAC_OP_LOOK_UP] = 1,
        [VTAC_OP_CLIP] = 1,        [VTAC_OP_QLINEAR_LEAKY_RELU] = 1, [VTAC_OP_QLINEAR_SIGMOID] = 1,
        [VTAC_OP_RELU] = 1,
    };
    const vtac_node *node = &b->like;
    if (node->output_count != 1 || node->input_count > MAX_INPUTS ||
        vtac_find_attr(node, "rounding") != NULL || vtac_b_type(b, node->outputs[0]).rank < 4) {
        return VTA_OK;
    }
    if (operands[node->op] > 0) {
        return convert_point(b, all, 0, operands[node->op]);
    }
    if (node->op == VTAC_OP_QLINEAR_CONCAT && node->input_count == RESCALE_INPUTS) {
        return convert_point(b, all, 2, 1);
    }
    return node->op == VTAC_OP_SLICE    ? convert_slice(b)
           : node->op == VTAC_OP_CONCAT ? convert_join(b)
                                        : VTA_OK;
}

vta_status vtac_legalize_heads(vtac_graph *graph, const vta_config *config, vta_arena *arena, vta_diag *diag)
{
    const uint32_t count = graph->order_count;
    vtac_node_id *order = vta_arena_array(arena, (size_t)count + 1, sizeof *order);
    shared_images all = {.items = vta_arena_array(arena, (size_t)count + 1, sizeof *all.items),
                         .room = count};
    if (order == NULL || all.items == NULL) {
        return vta_no_memory(diag);
    }
    if (config->rows == 0) {
        return VTA_OK;
    }
    memcpy(order, graph->order, count * sizeof *order);
    for (uint32_t i = 0; i < count; i++) {
        const vtac_node_builder b = {graph, arena, config, graph->nodes[order[i]], diag};
        VTA_TRY(visit_node(&b, &all));
    }
    VTA_TRY(vtac_graph_sort(graph, diag));
    (void)vtac_remove_dead(graph);
    return VTA_OK;
}
