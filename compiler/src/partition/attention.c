/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention on the accelerator: softmax and normalizations of rows, as layers on the channels of images, and
 * products of two activations whose factors the region makes, without packing on the host.
 *
 *     RowNorm(rows)                       ->  rows(Norm(image))                          rows.c
 *     RowSoftmax(back(Product))           ->  back(Softmax(Product)), by groups
 *     Product(transpose(RowSoftmax), …)   ->  Product(Softmax, …)
 *     Product(…, pack(keys))              ->  Product(…, image of the keys)
 *     Product(…, pack(values))            ->  Product(…, Transpose(image of the values))
 *
 * The image of keys is [1, g·k, n] and that of the values [1, g·n, k]; both get as many pixels as whole
 * blocks have, by padding of the convolution that makes them, or by pixels that are joined to them.
 */
#include <string.h>

#include "cache.h"
#include "partition.h"
#include "vta/fail.h"
#include "vta/number.h"
#include "vtac/recurrence.h"
#include "vtac/rows.h"

enum { MASK = 5 };     /* the input of a softmax */
enum { SUM_STEP = 3 }; /* from the first operand of a sum to the second */

/* ---- layers */

/* Integers of the node's output, those of uint8 as those of int8. */
static void to_signed(const vtac_maker *m, int32_t *zero, int32_t *low, int32_t *high)
{
    const int32_t move = m->graph->values[m->node->outputs[0]].type.dtype == VTAC_U8 ? 128 : 0;
    *zero -= move;
    *low -= move;
    *high -= move;
}

/* Gives a layer of rows its kind, its input and its output. */
static vta_status begin_layer(vtac_maker *m, vtac_vta_layer *layer, vtac_vta_kind kind)
{
    int64_t shape[4];
    layer->kind = kind;
    m->any_rows = true; /* pixels are one after the other, however they form rows */
    VTA_TRY(vtac_layer_input(m, layer, 0, shape, NULL));
    return vtac_layer_output(m, layer, shape);
}

/* A mask of a softmax: an image of its own. */
static vta_status add_mask(vtac_maker *m, vtac_vta_layer *layer)
{
    int64_t shape[4];
    const vtac_type *type = vtac_in_type(m->graph, m->node, MASK);
    if (type == NULL) {
        return VTA_OK;
    }
    return vtac_image_shape(type, shape) ? vtac_layer_operand(m, layer, MASK, shape)
                                         : vtac_no_layer(m, "its mask is no image");
}

/* Softmax of each pixel's channels, in groups (attribute `group`). */
vta_status vtac_layer_image_softmax(vtac_maker *m, vtac_vta_layer *layer)
{
    vtac_softmax *softmax = vtac_maker_array(m, 1, sizeof *softmax);
    if (softmax == NULL) {
        return vta_no_memory(m->diag);
    }
    VTA_TRY(begin_layer(m, layer, VTAC_VTA_SOFTMAX));
    VTA_TRY(add_mask(m, layer));
    layer->groups = vtac_attr_int(m->node, "group", 1);
    layer->softmax = softmax;
    if (!vtac_softmax_of_node(m->graph, m->node, softmax)) {
        return vtac_no_layer(m, "its scales do not fit the integers of rows");
    }
    to_signed(m, &softmax->zero, &softmax->low, &softmax->high);
    return VTA_OK;
}

vta_status vtac_layer_image_norm(vtac_maker *m, vtac_vta_layer *layer)
{
    vtac_norm *norm = vtac_maker_array(m, 1, sizeof *norm);
    if (norm == NULL) {
        return vta_no_memory(m->diag);
    }
    VTA_TRY(begin_layer(m, layer, VTAC_VTA_NORM));
    layer->norm = norm;
    if (!vtac_norm_of_node(m->graph, m->node, m->arena, norm)) {
        return vtac_no_layer(m, "its gains, biases or scales do not fit the integers of rows");
    }
    to_signed(m, &norm->zero, &norm->low, &norm->high);
    return VTA_OK;
}

/* The layer that normalizes each image's planes by groups of channels. */
vta_status vtac_layer_plane_norm(vtac_maker *m, vtac_vta_layer *layer)
{
    vtac_planes *planes = vtac_maker_array(m, 1, sizeof *planes);
    if (planes == NULL) {
        return vta_no_memory(m->diag);
    }
    VTA_TRY(begin_layer(m, layer, VTAC_VTA_PLANES));
    layer->plane_norm = planes;
    if (!vtac_planes_of_node(m->graph, m->node, m->arena, planes)) {
        return vtac_no_layer(m, "its gains, biases or scales do not fit the integers of planes");
    }
    to_signed(m, &planes->zero, &planes->low, &planes->high);
    return VTA_OK;
}

vta_status vtac_layer_image_recurrence(vtac_maker *m, vtac_vta_layer *layer)
{
    vtac_recurrent *cell = vtac_maker_array(m, 1, sizeof *cell);
    if (cell == NULL) {
        return vta_no_memory(m->diag);
    }
    VTA_TRY(begin_layer(m, layer, VTAC_VTA_RECURRENT));
    layer->cell = cell;
    layer->steps = vtac_attr_int(m->node, "steps", 1);
    layer->reverse = vtac_attr_int(m->node, "reverse", 0) != 0;
    for (uint32_t i = VTAC_RECURRENCE_H_BEFORE; i <= VTAC_RECURRENCE_STATE; i++) {
        int64_t shape[4];
        VTA_TRY(vtac_in_type(m->graph, m->node, i) == NULL ? VTA_OK
                                                           : vtac_layer_input(m, layer, i, shape, NULL));
    }
    if (m->node->output_count > 1) {
        VTA_TRY(vtac_layer_second_output(m, layer));
    }
    return vtac_recurrent_of_node(m->graph, m->node, m->arena, cell)
               ? VTA_OK
               : vtac_no_layer(m, "its weights or scales do not fit the integers of recurrent cells");
}

vta_status vtac_layer_image_transpose(vtac_maker *m, vtac_vta_layer *layer)
{
    return begin_layer(m, layer, VTAC_VTA_TRANSPOSE);
}

static vta_status tidy_graph(vtac_graph *graph, vta_diag *diag)
{
    VTA_TRY(vtac_graph_sort(graph, diag));
    (void)vtac_remove_dead(graph);
    return VTA_OK;
}

/* ---- softmax behind a product */

/* The image that was made last of a mask that the run gives: the layers of a decoder have one mask. */
typedef struct made_mask {
    vtac_value_id mask, image;
    vtac_type scores, beside; /* of the softmax's operand, and of the image of the scores */
    int64_t group;
} made_mask;

typedef struct heads {
    const vtac_node_builder *b; /* `like` is the softmax, or the product */
    const vtac_legalized_list *products;
    made_mask *made; /* of softmaxes */
} heads;

/* The number of numbers in a row of a value. */
static int64_t columns_of(const vtac_graph *graph, vtac_value_id value)
{
    const vtac_type *type = &graph->values[value].type;
    return type->rank > 0 ? type->dim[type->rank - 1] : 0;
}

/* Goes up through reshapes that keep rows as they are. */
static vtac_value_id above_reshapes(const vtac_graph *graph, vtac_value_id value)
{
    const vtac_node *node = vtac_producer_of(graph, value);
    while (node != NULL && (node->op == VTAC_OP_RESHAPE || node->op == VTAC_OP_IDENTITY) &&
           columns_of(graph, node->inputs[0]) == columns_of(graph, value)) {
        value = node->inputs[0];
        node = vtac_producer_of(graph, value);
    }
    return value;
}

/* The product in whose place a value stands; NULL: none. */
static const vtac_legalized *product_at(const heads *h, vtac_value_id value)
{
    for (uint32_t i = 0; i < h->products->count; i++) {
        const vtac_legalized *p = &h->products->items[i];
        if (value == p->stands || value == above_reshapes(h->b->graph, p->stands)) {
            return p;
        }
    }
    return NULL;
}

/* The first node of the chain that turns the product's image, or what functions make of it, into the value
 * that stands for the product; 0: its image has other readers. */
static vtac_node_id first_of_chain(const vtac_graph *graph, vtac_value_id value, vtac_value_id *image)
{
    vtac_node_id first = 0;
    while (vtac_is_host_step(graph, graph->values[value].node)) {
        first = graph->values[value].node;
        value = graph->nodes[first].inputs[0];
    }
    *image = value;
    return vtac_use_count(graph, value) == 1 ? first : 0;
}

/* Turns a mask into an image beside the image of the scores; a mask of the run once for all layers. */
static vta_status image_of_mask(const heads *h, const vtac_type *beside, int64_t group, vtac_value_id *x)
{
    const made_mask made = {
        .mask = *x, .scores = vtac_b_type(h->b, h->b->like.inputs[0]), .beside = *beside, .group = group};
    if (made.mask == h->made->mask && group == h->made->group &&
        vtac_type_equal(&made.scores, &h->made->scores) && vtac_type_equal(beside, &h->made->beside)) {
        *x = h->made->image;
        return VTA_OK;
    }
    VTA_TRY(vtac_mask_to_image(h->b, beside, group, x));
    if (h->b->graph->values[*x].constant == NULL) {
        *h->made = made;
        h->made->image = *x;
    }
    return VTA_OK;
}

/* Puts a softmax of the product's image in the place of the softmax of its rows. */
static vta_status move_softmax(const heads *h, const vtac_legalized *p)
{
    const vtac_node_builder *b = h->b;
    const vtac_type type = vtac_b_type(b, p->made);
    vtac_value_id inputs[MASK + 1] = {0}, image, out;
    const vtac_node_id first = first_of_chain(b->graph, b->like.inputs[0], &image);
    const int64_t group = vtac_attr_int(&b->graph->nodes[b->graph->values[p->made].node], "group", 1);
    const vtac_attr attrs[] = {
        {.name = "group", .kind = VTAC_ATTR_INT, .i = group},
        {.name = "numbers", .kind = VTAC_ATTR_INT, .i = columns_of(b->graph, b->like.inputs[0])},
        {.name = VTAC_ROW_LINEAR, .kind = VTAC_ATTR_INT, .i = vtac_attr_int(&b->like, VTAC_ROW_LINEAR, 0)}};
    const vtac_type source = vtac_b_type(b, image);
    if (first == 0 || !vtac_type_equal(&source, &type) || vtac_is_output(b->graph, b->like.outputs[0])) {
        return VTA_OK;
    }
    memcpy(inputs, b->like.inputs, b->like.input_count * sizeof *inputs);
    inputs[0] = image;
    VTA_TRY(inputs[MASK] != 0 ? image_of_mask(h, &type, group, &inputs[MASK]) : VTA_OK);
    VTA_TRY(vtac_b_add(b, VTAC_OP_VTA_SOFTMAX, inputs, inputs[MASK] != 0 ? MASK + 1 : MASK, attrs, 3, &out));
    VTA_TRY(vtac_set_input(b->graph, first, 0, out, b->diag));
    vtac_replace_uses(b->graph, b->like.outputs[0], b->like.inputs[0]);
    return VTA_OK;
}

static vta_status visit_softmax(const heads *h)
{
    const vtac_node *node = &h->b->like;
    if (node->op != VTAC_OP_ROW_SOFTMAX || node->input_count > MASK + 1 ||
        vtac_use_count(h->b->graph, node->inputs[0]) != 1) {
        return VTA_OK;
    }
    const vtac_legalized *p = product_at(h, above_reshapes(h->b->graph, node->inputs[0]));
    return p != NULL ? move_softmax(h, p) : VTA_OK;
}

/* ---- sums and products of scores and known numbers: relative positions, masks that are added, a factor for
 * each head */

/* The numbers of a constant for the image of scores, with its zero point beside them. */
static vta_status scores_of(const vtac_node_builder *b, uint32_t operand, const vtac_type *image,
                            int64_t group, vtac_value_id *out)
{
    const vtac_tensor *from = vtac_in_constant(b->graph, &b->like, operand);
    const vtac_tensor *zero = vtac_in_constant(b->graph, &b->like, operand + 2);
    const vtac_type y = vtac_b_type(b, b->like.outputs[0]);
    const int64_t each = image->dim[1] / group, pixels = image->dim[2], count = vtac_type_elements(image);
    const int64_t numbers = y.dim[y.rank - 1], rows = vtac_type_elements(&y) / numbers / group;
    uint8_t *data = vta_arena_array(b->arena, (size_t)count, 1);
    if (data == NULL) {
        return vtac_b_no_memory(b);
    }
    memset(data, (int)(zero == NULL ? 0 : vtac_tensor_int(zero, 0)), (size_t)count);
    for (int64_t i = 0; i < group * rows * numbers; i++) {
        const int64_t row = i / numbers % rows, head = i / numbers / rows;
        data[(head * each + i % numbers) * pixels + row] =
            ((const uint8_t *)from->data)[vtac_broadcast_at(&from->type, &y, i)];
    }
    const vtac_type type = {.dtype = from->type.dtype, .rank = 3, .dim = {1, image->dim[1], pixels}};
    return vtac_b_constant(b, type, data, out);
}

/* Puts a sum (or product) with the product's image in the place of one with its rows. `data`: the operand
 * that is no constant. */
static vta_status move_sum(const heads *h, const vtac_legalized *p, uint32_t data)
{
    const vtac_node_builder *b = h->b;
    const vtac_type type = vtac_b_type(b, p->made);
    const vtac_value_id x = b->like.inputs[data];
    const int64_t group = vtac_attr_int(&b->graph->nodes[b->graph->values[p->made].node], "group", 1);
    vtac_value_id inputs[8] = {0}, image, out;
    const vtac_node_id first = first_of_chain(b->graph, x, &image);
    const vtac_type source = vtac_b_type(b, image);
    if (first == 0 || !vtac_type_equal(&source, &type) ||
        vtac_b_type(b, b->like.outputs[0]).dtype != type.dtype ||
        vtac_b_elements(b, x) != vtac_b_elements(b, b->like.outputs[0])) {
        return VTA_OK;
    }
    memcpy(inputs, b->like.inputs, b->like.input_count * sizeof *inputs);
    inputs[data] = image;
    VTA_TRY(scores_of(b, SUM_STEP - data, &type, group, &inputs[SUM_STEP - data]));
    VTA_TRY(
        vtac_b_layer(b, b->like.op, inputs, b->like.input_count, b->like.attrs, b->like.attr_count, &out));
    VTA_TRY(vtac_set_input(b->graph, first, 0, out, b->diag));
    vtac_replace_uses(b->graph, b->like.outputs[0], x);
    return tidy_graph(b->graph, b->diag); /* a softmax wants to be the only reader */
}

static vta_status visit_sum(const heads *h)
{
    const vtac_graph *graph = h->b->graph;
    const vtac_node *node = &h->b->like;
    if ((node->op != VTAC_OP_QLINEAR_ADD && node->op != VTAC_OP_QLINEAR_MUL) || node->input_count > 8 ||
        vtac_is_output(graph, node->outputs[0])) {
        return VTA_OK;
    }
    for (uint32_t data = 0; data <= SUM_STEP; data += SUM_STEP) {
        const vtac_tensor *known = vtac_in_constant(graph, node, SUM_STEP - data);
        const bool scores = known != NULL && vtac_in_constant(graph, node, data) == NULL &&
                            known->type.rank <= graph->values[node->outputs[0]].type.rank &&
                            vtac_use_count(graph, node->inputs[data]) == 1;
        const vtac_legalized *p = scores ? product_at(h, above_reshapes(graph, node->inputs[data])) : NULL;
        if (p != NULL) {
            return move_sum(h, p, data);
        }
    }
    return VTA_OK;
}

/* ---- factors of products */

/* The softmax of an image that stands between a value and the product in whose place it stands; 0: none. */
static vtac_value_id softmax_behind(const vtac_graph *graph, vtac_value_id value)
{
    while (vtac_is_host_step(graph, graph->values[value].node)) {
        value = graph->nodes[graph->values[value].node].inputs[0];
    }
    const vtac_node *node = vtac_producer_of(graph, value);
    return node != NULL && node->op == VTAC_OP_VTA_SOFTMAX ? value : 0;
}

/* Lets a product read the image of the softmax that makes its first factor: rows of one product, as they
 * are. */
static vta_status use_shares(const heads *h, const vtac_legalized *p)
{
    const vtac_graph *graph = h->b->graph;
    const vtac_node_id product = graph->values[p->made].node;
    if (p->holders[0] == 0 || graph->nodes[p->holders[0]].dead || graph->nodes[product].dead) {
        return VTA_OK;
    }
    const vtac_value_id held = graph->nodes[p->holders[0]].inputs[0];
    const vtac_legalized *before = product_at(h, above_reshapes(graph, held));
    const vtac_value_id image = before != NULL ? softmax_behind(graph, before->stands) : 0;
    const vtac_type *type = &graph->values[graph->nodes[product].inputs[0]].type;
    return image != 0 && vtac_type_equal(type, &graph->values[image].type)
               ? vtac_set_input(h->b->graph, product, 0, image, h->b->diag)
               : VTA_OK;
}

/* The convolution with a window of one pixel that makes an image of rows, without padding. */
static bool is_point(const vtac_graph *graph, const vtac_node *node)
{
    const vtac_type *w =
        node == NULL || node->op != VTAC_OP_QLINEAR_CONV ? NULL : vtac_in_type(graph, node, 3);
    return w != NULL && w->rank == 3 && w->dim[2] == 1 && vtac_find_attr(node, "pads") == NULL &&
           vtac_find_attr(node, "strides") == NULL && graph->values[node->outputs[0]].type.dim[0] == 1;
}

/* True if a layer makes the image, with these rows of pixels or others. */
static bool is_made(const vtac_graph *graph, vtac_value_id image)
{
    const vtac_source source = vtac_source_of(graph, image);
    const vtac_node *maker = source.flat ? NULL : vtac_producer_of(graph, source.base);
    const vtac_layer_row *row = maker == NULL ? NULL : vtac_layer_row_of(maker->op);
    return row != NULL && row->make != NULL;
}

/* The image [1, c, ...] that the second factor of a product comes from, by one permutation; 0: none.
 * *transposed: its pixels are the terms of the product, not its outputs. */
static vtac_value_id image_of_factor(const heads *h, const vtac_legalized *p, const vtac_pair *s,
                                     bool *transposed)
{
    const vtac_graph *graph = h->b->graph;
    const vtac_value_id held = graph->nodes[p->holders[1]].outputs[0];
    const bool swapped = s->transposed;
    *transposed = false;
    const vtac_value_id keys = vtac_image_of_order(
        graph, held, &(vtac_order_want){{s->g, s->k, s->n}, {s->k * s->n, s->n, 1}, swapped}, s->g * s->k);
    if (keys != 0 && is_made(graph, keys)) {
        return keys;
    }
    *transposed = true;
    return vtac_image_of_order(
        graph, held, &(vtac_order_want){{s->g, s->k, s->n}, {s->k * s->n, 1, s->k}, swapped}, s->g * s->n);
}

/* The same image where a movement of whole blocks makes it, of what a layer makes; its pixels are padded to
 * whole blocks, and so are the channels of each group. */
static vta_status move_factor(const heads *h, const vtac_legalized *p, const vtac_pair *s, bool transposed,
                              vtac_value_id *image)
{
    const vtac_node_builder *b = h->b;
    const int64_t block = vtac_vta_block(b->config);
    const int64_t rows = transposed ? s->n : s->k, pixels = transposed ? s->k : s->n;
    const int64_t each = vta_round_up(rows, block);
    const int64_t whole = vta_round_up(pixels, block);
    vtac_value_id x = b->graph->nodes[p->holders[1]].outputs[0];
    const vtac_type held = vtac_b_type(b, x);
    *image = 0;
    if (vtac_type_elements(&held) != s->g * s->k * s->n) {
        return VTA_OK;
    }
    const bool turned = s->transposed != transposed; /* it is held with its pixels first */
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){s->g, turned ? pixels : rows, turned ? rows : pixels}, 3, &x));
    VTA_TRY(turned ? vtac_b_transpose(b, (int64_t[]){0, 2, 1}, 3, &x) : VTA_OK);
    VTA_TRY(vtac_pair_pad(b, each, whole, held.dtype == VTAC_U8 ? -INT8_MIN : 0, &x));
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){1, s->g * each, whole}, 3, &x));
    *image = vtac_moves_blocks(b->graph, b->config, b->arena, x) ? x : 0;
    return VTA_OK;
}

/* True if all bytes of a constant are alike. */
static bool is_filled(const vtac_tensor *t, uint8_t byte)
{
    const uint8_t *data = t->data;
    return t->bytes > 0 && data[0] == byte && memcmp(data, data + 1, t->bytes - 1) == 0;
}

/* Finds or adds the constant of this type with zeros alone: the host brings each to the device in each run.
 * It is for images whose zero point is 0. */
static vta_status zeros_of(const vtac_node_builder *b, const vtac_type *type, vtac_value_id *out)
{
    static const char name[] = "zeros";
    const size_t count = (size_t)vtac_type_elements(type);
    for (*out = b->graph->value_count; *out > 0; (*out)--) {
        const vtac_value *v = &b->graph->values[*out];
        if (v->constant != NULL && !v->dead && v->name != NULL && vtac_type_equal(&v->type, type) &&
            strncmp(v->name, name, sizeof name - 1) == 0 &&
            is_filled(v->constant, type->dtype == VTAC_U8 ? 128 : 0)) {
            return VTA_OK;
        }
    }
    uint8_t *data = vta_arena_array(&b->graph->arena, count, 1);
    const vtac_tensor tensor = {.type = *type, .data = data, .bytes = count};
    if (data == NULL) {
        return vtac_b_no_memory(b);
    }
    memset(data, type->dtype == VTAC_U8 ? -INT8_MIN : 0, count);
    return vtac_add_constant(b->graph, name, &tensor, out, b->diag);
}

/* Joins pixels of zeros to an image. */
static vta_status join_zeros(const vtac_node_builder *b, int64_t pixels, vtac_value_id *image)
{
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = 2};
    vtac_type type = vtac_b_type(b, *image);
    vtac_value_id inputs[2] = {*image};
    type.dim[2] = pixels;
    VTA_TRY(zeros_of(b, &type, &inputs[1]));
    return vtac_b_layer(b, VTAC_OP_CONCAT, inputs, 2, &axis, 1, image);
}

/* The same image with whole blocks of pixels: its convolution gets padding, or zeros are joined. */
static vta_status fill_blocks(const vtac_node_builder *b, vtac_value_id *image)
{
    const vtac_type type = vtac_b_type(b, *image);
    const int64_t pixels = type.dim[2], block = vtac_vta_block(b->config);
    const int64_t pads[2] = {0, vta_round_up(pixels, block) - pixels};
    const vtac_node maker = b->graph->nodes[b->graph->values[*image].node];
    vtac_attr attrs[4] = {{.name = "pads", .kind = VTAC_ATTR_INTS, .count = 2, .ints = pads}};
    if (pads[1] == 0) {
        return VTA_OK;
    }
    if (!is_point(b->graph, &maker)) {
        return join_zeros(b, pads[1], image);
    }
    memcpy(attrs + 1, maker.attrs, maker.attr_count * sizeof *attrs);
    const vtac_node_builder own = {b->graph, b->arena, b->config, maker, b->diag};
    return vtac_b_add(&own, VTAC_OP_QLINEAR_CONV, maker.inputs, maker.input_count, attrs,
                      maker.attr_count + 1, image);
}

static bool has_padding(const vtac_node_builder *b, vtac_value_id image)
{
    return vtac_b_type(b, image).dim[2] % vtac_vta_block(b->config) == 0 ||
           is_point(b->graph, vtac_producer_of(b->graph, image));
}

vta_status vtac_fill_pixels(const vtac_node_builder *b, vtac_value_id *image)
{
    const vtac_type type = vtac_b_type(b, *image);
    const int64_t pixels = type.dim[2], block = vtac_vta_block(b->config);
    const int64_t more = vta_round_up(pixels, block) - pixels;
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = 2};
    vtac_value_id parts[2] = {*image, *image};
    if (has_padding(b, *image)) {
        return fill_blocks(b, image);
    }
    VTA_TRY(vtac_b_slice(b, 2, 0, more, &parts[1]));
    return vtac_b_layer(b, VTAC_OP_CONCAT, parts, 2, &axis, 1, image);
}

bool vtac_is_factor_image(const vtac_node_builder *b, const vtac_legalized *p)
{
    const heads h = {b, NULL, NULL};
    vtac_pair s;
    bool transposed;
    const vtac_value_id image = vtac_pair_of(b, &p->was, &s) ? image_of_factor(&h, p, &s, &transposed) : 0;
    return image != 0 && is_made(b->graph, image);
}

/* The same image with whole blocks of channels for each group: its convolution gets outputs of zeros, or
 * zeros follow those of a group. */
static vta_status fill_channels(const vtac_node_builder *b, int64_t groups, vtac_value_id *image)
{
    const vtac_type type = vtac_b_type(b, *image);
    const int64_t each = type.dim[1] / groups, full = vta_round_up(each, vtac_vta_block(b->config));
    const int64_t pads[10] = {0, 0, 0, 0, 0, 0, 0, 0, full - each, 0};
    const uint8_t zero = type.dtype == VTAC_U8 ? -INT8_MIN : 0;
    vtac_value_id inputs[3] = {*image};
    if (full == each) {
        return VTA_OK;
    }
    if (vtac_can_fill_image(b->graph, *image, groups)) {
        return vtac_fill_image(b, groups, image);
    }
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){1, 1, groups, each, type.dim[2]}, 5, &inputs[0]));
    VTA_TRY(vtac_b_list(b, pads, 10, &inputs[1]));
    VTA_TRY(vtac_b_number(b, type.dtype, &zero, &inputs[2]));
    VTA_TRY(vtac_b_add(b, VTAC_OP_PAD, inputs, 3, NULL, 0, image));
    return vtac_b_reshape(b, (int64_t[]){1, groups * full, type.dim[2]}, 3, image);
}

vta_status vtac_transpose_image(const vtac_node_builder *b, int64_t channels, vtac_value_id *image)
{
    const vtac_type type = vtac_b_type(b, *image);
    const int64_t dims[3] = {1, channels, type.dim[1]};
    const vtac_attr attrs[] = {{.name = "dims", .kind = VTAC_ATTR_INTS, .count = 3, .ints = dims},
                               {.name = "to", .kind = VTAC_ATTR_STRING, .s = vtac_dtype_name(type.dtype)}};
    return vtac_b_add(b, VTAC_OP_VTA_TRANSPOSE, image, 1, attrs, 2, image);
}

/* True if a product can take its second factor as an image, whose pixels are the terms where it is
 * transposed: then what is beside the terms must be 0 in the first factor, as a softmax makes it. */
static bool can_take_image(const heads *h, const vtac_legalized *p, const vtac_pair *s, bool transposed)
{
    const vtac_graph *graph = h->b->graph;
    const vtac_node *first = vtac_producer_of(graph, graph->nodes[graph->values[p->made].node].inputs[0]);
    const bool shares = first != NULL && first->op == VTAC_OP_VTA_SOFTMAX;
    return s->zero_b == 0 && s->bias == 0 && (s->k % s->block == 0 || shares || !transposed);
}

/* Images that are a product's second factor: what a layer makes, or a cache and what a layer adds to it. */
typedef struct factor_images {
    vtac_value_id image, more; /* more 0: there is one image alone */
    int64_t readers;
    bool transposed;
} factor_images;

static vta_status take_images(const vtac_node_builder *b, vtac_legalized *p, const factor_images *f)
{
    enum { KEPT = 7, ATTRS = VTAC_PRODUCT_ATTRS };
    const vtac_node product = b->graph->nodes[b->graph->values[p->made].node];
    vtac_value_id inputs[VTAC_PRODUCT_MORE + 1] = {0}, out;
    vtac_attr attrs[ATTRS + 2];
    uint32_t count = 0;
    memcpy(inputs, product.inputs, KEPT * sizeof *inputs);
    inputs[VTAC_PRODUCT_IMAGE] = f->image;
    inputs[VTAC_PRODUCT_MORE] = f->more;
    for (uint32_t i = 0; i < product.attr_count; i++) {
        attrs[count++] = product.attrs[i];
    }
    attrs[count++] = (vtac_attr){.name = "image", .kind = VTAC_ATTR_INT, .i = f->transposed ? 2 : 1};
    attrs[count++] = (vtac_attr){.name = "readers", .kind = VTAC_ATTR_INT, .i = f->readers};
    VTA_TRY(vtac_b_add(b, VTAC_OP_VTA_PRODUCT, inputs, f->more != 0 ? VTAC_PRODUCT_MORE + 1 : KEPT, attrs,
                       count, &out));
    vtac_replace_uses(b->graph, p->made, out);
    p->stands = p->stands == p->made ? out : p->stands;
    p->made = out;
    return VTA_OK;
}

/* An image whose pixels are one row: [1, c, pixels]. */
static vta_status flatten_rows(const vtac_node_builder *b, vtac_value_id *image)
{
    const vtac_type type = vtac_b_type(b, *image);
    return vtac_b_reshape(b, (int64_t[]){1, type.dim[1], vtac_type_elements(&type) / type.dim[1]}, 3, image);
}

/* An image with whole blocks: of pixels, and of channels for each of its groups. */
static vta_status fill_image(const vtac_node_builder *b, int64_t groups, bool transposed,
                             vtac_value_id *image)
{
    VTA_TRY(is_point(b->graph, vtac_producer_of(b->graph, *image)) ? fill_blocks(b, image) : VTA_OK);
    VTA_TRY(fill_channels(b, groups, image));
    VTA_TRY(fill_blocks(b, image));
    return transposed ? vtac_transpose_image(b, vtac_b_type(b, *image).dim[2], image) : VTA_OK;
}

static vta_status use_cache(const heads *h, vtac_legalized *p, const vtac_pair *s,
                            const vtac_cache_factor *cache)
{
    const vtac_node_builder *b = h->b;
    const bool whole = s->g > 1 || cache->columns % s->block == 0;
    factor_images f = {.more = cache->new, .readers = cache->readers, .transposed = cache->transposed};
    if (f.more == 0 || !whole || !is_made(b->graph, f.more) || !can_take_image(h, p, s, f.transposed)) {
        return VTA_OK;
    }
    VTA_TRY(fill_image(b, cache->heads, f.transposed, &f.more));
    VTA_TRY(vtac_cache_image(b, cache, &f.image));
    return take_images(b, p, &f);
}

/* The image of keys or of values that a movement of blocks makes; 0: none does. */
static vta_status move_any_factor(const heads *h, const vtac_legalized *p, const vtac_pair *s,
                                  factor_images *f)
{
    f->transposed = false;
    VTA_TRY(move_factor(h, p, s, false, &f->image));
    if (f->image == 0) {
        f->transposed = true;
        VTA_TRY(move_factor(h, p, s, true, &f->image));
    }
    return VTA_OK;
}

static vta_status use_image(const heads *h, vtac_legalized *p)
{
    const vtac_node_builder *b = h->b;
    const vtac_cache_factor cache = vtac_cache_of(b->graph, b->graph->nodes[p->holders[1]].inputs[0]);
    factor_images f = {.readers = 1};
    vtac_pair s;
    if (!vtac_pair_of(b, &p->was, &s)) {
        return VTA_OK;
    }
    if (cache.past != 0) {
        return use_cache(h, p, &s, &cache);
    }
    f.image = image_of_factor(h, p, &s, &f.transposed);
    if (f.image == 0 || !is_made(b->graph, f.image)) {
        VTA_TRY(move_any_factor(h, p, &s, &f));
    }
    if (f.image == 0 || !can_take_image(h, p, &s, f.transposed)) {
        return VTA_OK;
    }
    VTA_TRY(flatten_rows(b, &f.image));
    VTA_TRY(fill_image(b, s.g, f.transposed, &f.image));
    return take_images(b, p, &f);
}

/* ---- all of a graph */

/* True if the machine has what attention needs: one size of blocks, and functions on rows. */
static bool has_rows(const vta_config *config)
{
    return config->rows != 0 && config->batch == 1 && config->block_in == config->block_out;
}

vta_status vtac_use_images(vtac_graph *graph, const vta_config *config, vta_arena *arena,
                           vtac_legalized_list *products, vta_diag *diag)
{
    if (!has_rows(config) || products->count == 0) {
        return VTA_OK;
    }
    for (uint32_t i = 0; i < products->count; i++) {
        vtac_legalized *p = &products->items[i];
        const vtac_node_id product = graph->values[p->made].node;
        const vtac_node_builder b = {graph, arena, config, p->was, diag};
        const heads h = {&b, products, NULL};
        const bool open = p->holders[1] != 0 && !graph->nodes[p->holders[1]].dead &&
                          !graph->nodes[product].dead &&
                          vtac_attr_int(&graph->nodes[product], "image", 0) == 0;
        VTA_TRY(open ? use_image(&h, p) : VTA_OK);
    }
    return tidy_graph(graph, diag);
}

vta_status vtac_join_softmax(vtac_graph *graph, const vta_config *config, vta_arena *arena,
                             const vtac_legalized_list *products, vta_diag *diag)
{
    const uint32_t count = graph->order_count;
    vtac_node_id *order = vta_arena_array(arena, (size_t)count + 1, sizeof *order);
    if (order == NULL) {
        return vta_no_memory(diag);
    }
    if (!has_rows(config) || products->count == 0) {
        return VTA_OK;
    }
    made_mask made = {0};
    memcpy(order, graph->order, count * sizeof *order);
    for (uint32_t i = 0; i < count; i++) {
        const vtac_node_builder b = {graph, arena, config, graph->nodes[order[i]], diag};
        VTA_TRY(b.like.dead ? VTA_OK : visit_sum(&(heads){&b, products, NULL}));
        VTA_TRY(b.like.dead ? VTA_OK : visit_softmax(&(heads){&b, products, &made}));
    }
    for (uint32_t i = 0; i < products->count; i++) {
        const vtac_node_builder b = {graph, arena, config, products->items[i].was, diag};
        VTA_TRY(use_shares(&(heads){&b, products, NULL}, &products->items[i]));
    }
    return tidy_graph(graph, diag);
}

/* ---- back */

vta_status vtac_cut_matrices(const vtac_node_builder *b, int64_t rows, int64_t columns, vtac_value_id *x)
{
    vtac_value_id inputs[4] = {*x};
    VTA_TRY(vtac_b_list(b, (int64_t[]){0, 0}, 2, &inputs[1]));
    VTA_TRY(vtac_b_list(b, (int64_t[]){rows, columns}, 2, &inputs[2]));
    VTA_TRY(vtac_b_list(b, (int64_t[]){1, 2}, 2, &inputs[3]));
    return vtac_b_add(b, VTAC_OP_SLICE, inputs, 4, NULL, 0, x);
}

vta_status vtac_factor_of_image(const vtac_node_builder *b, const vtac_node *product, const vtac_type *as,
                                bool swapped, vtac_value_id *x)
{
    enum { TRANSPOSED = 2 };
    const vtac_type image = vtac_b_type(b, product->inputs[3]);
    const bool transposed = vtac_attr_int(product, "image", 0) == TRANSPOSED;
    const int64_t g = vtac_attr_int(product, "group", 1), pixels = image.dim[2];
    const int64_t terms = as->dim[as->rank - (swapped ? 1 : 2)];
    const int64_t outputs = as->dim[as->rank - (swapped ? 2 : 1)];
    if (product->input_count > VTAC_PRODUCT_MORE) {
        return vtac_factor_of_cache(b, product, as, x);
    }
    *x = product->inputs[3];
    VTA_TRY(vtac_b_reshape(
        b, transposed ? (int64_t[]){image.dim[1], g, pixels / g} : (int64_t[]){g, image.dim[1] / g, pixels},
        3, x));
    VTA_TRY(transposed ? vtac_b_transpose(b, (int64_t[]){1, 0, 2}, 3, x) : VTA_OK);
    VTA_TRY(vtac_cut_matrices(b, terms, outputs, x));
    VTA_TRY(swapped ? vtac_b_transpose(b, (int64_t[]){0, 2, 1}, 3, x) : VTA_OK);
    return vtac_b_reshape(b, as->dim, as->rank, x);
}

/* Pixels behind those that are channels go. */
static vta_status undo_transpose(const vtac_node_builder *b, vtac_value_id *x)
{
    const vtac_type type = vtac_b_type(b, b->like.outputs[0]);
    *x = b->like.inputs[0];
    if (vtac_b_type(b, *x).dim[2] != type.dim[1]) {
        VTA_TRY(vtac_cut_matrices(b, type.dim[2], type.dim[1], x));
    }
    return vtac_b_transpose(b, (int64_t[]){0, 2, 1}, 3, x);
}

/* The operator of rows, of [g, rows, numbers]; `mask` 0: the inputs are as they were. */
static vta_status apply_to_rows(const vtac_node_builder *b, vtac_op op, vtac_value_id mask, vtac_value_id *x)
{
    vtac_value_id inputs[8];
    memcpy(inputs, b->like.inputs, b->like.input_count * sizeof *inputs);
    inputs[0] = *x;
    inputs[MASK] = mask != 0 ? mask : inputs[MASK];
    const bool norm = op == VTAC_OP_ROW_NORM;
    const vtac_attr *linear = vtac_find_attr(&b->like, VTAC_ROW_LINEAR);
    return vtac_b_add(b, op, inputs, b->like.input_count, norm ? b->like.attrs : linear,
                      norm ? b->like.attr_count : linear != NULL, x);
}

static vta_status undo_norm(const vtac_node_builder *b, vtac_value_id *x)
{
    *x = b->like.inputs[0];
    VTA_TRY(vtac_b_transpose(b, (int64_t[]){0, 2, 1}, 3, x));
    VTA_TRY(apply_to_rows(b, VTAC_OP_ROW_NORM, 0, x));
    return vtac_b_transpose(b, (int64_t[]){0, 2, 1}, 3, x);
}

static vta_status undo_softmax(const vtac_node_builder *b, vtac_value_id *x)
{
    const vtac_type type = vtac_b_type(b, b->like.outputs[0]);
    const int64_t g = vtac_attr_int(&b->like, "group", 1), each = type.dim[1] / g, pixels = type.dim[2];
    const int64_t numbers = vtac_attr_int(&b->like, "numbers", each);
    const vtac_tensor *zero = vtac_in_constant(b->graph, &b->like, 4);
    vtac_value_id mask = b->like.input_count > MASK ? b->like.inputs[MASK] : 0;
    VTA_TRY(mask != 0 ? vtac_mask_of_image(b, each, numbers, &mask) : VTA_OK);
    *x = b->like.inputs[0];
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){g, each, pixels}, 3, x));
    VTA_TRY(vtac_cut_matrices(b, numbers, pixels, x));
    VTA_TRY(vtac_b_transpose(b, (int64_t[]){0, 2, 1}, 3, x));
    VTA_TRY(apply_to_rows(b, VTAC_OP_ROW_SOFTMAX, mask, x));
    VTA_TRY(vtac_b_transpose(b, (int64_t[]){0, 2, 1}, 3, x));
    VTA_TRY(vtac_pair_pad(b, each, pixels, (int)vtac_tensor_int(zero, 0), x));
    return vtac_b_reshape(b, type.dim, type.rank, x);
}

static vta_status image_to_steps(const vtac_node_builder *b, int64_t steps, int64_t batch, vtac_value_id *x)
{
    const int64_t columns = vtac_b_type(b, *x).dim[1];
    VTA_TRY(vtac_b_transpose(b, (int64_t[]){0, 2, 1}, 3, x));
    return vtac_b_reshape(b, (int64_t[]){steps, batch, columns}, 3, x);
}

static vta_status steps_to_image(const vtac_node_builder *b, const vtac_type *to, vtac_value_id *x)
{
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){1, to->dim[2], to->dim[1]}, 3, x));
    return vtac_b_transpose(b, (int64_t[]){0, 2, 1}, 3, x);
}

/* The recurrence of rows: its images are [1, columns, steps * batch]. */
static vta_status undo_recurrence(const vtac_node_builder *b, vtac_value_id *x)
{
    const vtac_type from = vtac_b_type(b, b->like.inputs[0]), to = vtac_b_type(b, b->like.outputs[0]);
    const int64_t steps = vtac_attr_int(&b->like, "steps", 1);
    const int64_t batch = from.dim[2] / steps;
    vtac_value_id inputs[VTAC_RECURRENCE_INPUTS] = {0}, outputs[VTAC_RECURRENCE_OUTPUTS] = {0};
    vtac_node_id made;
    memcpy(inputs, b->like.inputs, b->like.input_count * sizeof *inputs);
    VTA_TRY(image_to_steps(b, steps, batch, &inputs[VTAC_RECURRENCE_X]));
    for (uint32_t i = VTAC_RECURRENCE_H_BEFORE; i < b->like.input_count; i++) {
        const vtac_type rows = inputs[i] == 0 ? (vtac_type){0} : vtac_b_type(b, inputs[i]);
        VTA_TRY(inputs[i] == 0
                    ? VTA_OK
                    : vtac_b_reshape(b, (int64_t[]){rows.dim[0] / batch, batch, rows.dim[1]}, 3, &inputs[i]));
    }
    const vtac_node_spec spec = {.op = VTAC_OP_RECURRENCE,
                                 .name = b->like.name,
                                 .origin = b->like.origin,
                                 .inputs = inputs,
                                 .input_count = b->like.input_count,
                                 .output_count = b->like.output_count,
                                 .attrs = b->like.attrs,
                                 .attr_count = VTAC_RECURRENCE_ATTRS};
    VTA_TRY(vtac_add_node(b->graph, &spec, &made, b->diag));
    memcpy(outputs, b->graph->nodes[made].outputs, b->like.output_count * sizeof *outputs);
    if (b->like.output_count > 1) {
        const vtac_value_id old = b->like.outputs[VTAC_RECURRENCE_STATE_AFTER];
        const vtac_type type = vtac_b_type(b, old);
        vtac_value_id *state = &outputs[VTAC_RECURRENCE_STATE_AFTER];
        VTA_TRY(vtac_b_reshape(b, type.dim, type.rank, state));
        vtac_swap_names(b->graph, old, *state);
        vtac_replace_uses(b->graph, old, *state);
    }
    *x = outputs[VTAC_RECURRENCE_Y];
    return steps_to_image(b, &to, x);
}

vta_status vtac_undo_unused_rows(vtac_graph *graph, vtac_partition *partition, vta_diag *diag)
{
    const uint32_t count = graph->order_count;
    for (uint32_t i = 0; i < count; i++) {
        const vtac_node_id id = graph->order[i];
        const vtac_node_builder b = {graph, &partition->arena, &partition->config, graph->nodes[id], diag};
        const vtac_op op = b.like.op;
        vtac_value_id x = 0;
        if ((op != VTAC_OP_VTA_NORM && op != VTAC_OP_VTA_SOFTMAX && op != VTAC_OP_VTA_TRANSPOSE &&
             op != VTAC_OP_VTA_RECURRENCE) ||
            partition->places[id].kind == VTAC_PLACE_ACCELERATOR) {
            continue;
        }
        VTA_TRY(op == VTAC_OP_VTA_NORM         ? undo_norm(&b, &x)
                : op == VTAC_OP_VTA_SOFTMAX    ? undo_softmax(&b, &x)
                : op == VTAC_OP_VTA_RECURRENCE ? undo_recurrence(&b, &x)
                                               : undo_transpose(&b, &x));
        vtac_swap_names(graph, b.like.outputs[0], x);
        vtac_replace_uses(graph, b.like.outputs[0], x);
        vtac_rename_tensors(partition, b.like.outputs[0], x);
    }
    return VTA_OK;
}
