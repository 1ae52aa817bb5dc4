/* SPDX-License-Identifier: Apache-2.0
 *
 * Heads of attention that do not fill blocks of channels. The convolution that makes them gets outputs of
 * zeros behind those of each head, and the convolution that reads them gets inputs of zeros there, so that
 * movements of heads are runs of whole blocks (runs.c):
 *
 *     heads(conv(x))   ->  heads(cut(conv'(x)))
 *     conv(join(y))    ->  conv'(pad(join(y)))
 *
 * Both sides have the same integers, and the host can run either. The channels of zeros hold the zero point
 * of what the convolution makes; vtac_fixed_channel tells so from its weights.
 */
#include <string.h>

#include "cache.h"
#include "packed.h"
#include "partition.h"
#include "vta/number.h"

enum { X_ZERO = 2, WEIGHTS = 3, WEIGHT_SCALE = 4, WEIGHT_ZERO = 5, Y_ZERO = 7, BIAS = 8, CONV_INPUTS = 9 };
enum { MAX_ATTRS = 8 };

/* Heads side by side in channels: `each` channels of a head, `whole` with those that fill its blocks. */
typedef struct head_width {
    int64_t each, whole;
} head_width;

/* ---- channels whose number is known */

/* Reads an 8-bit zero point for output `i`, 0 where there is none; false: it is not constant. */
static bool read_zero_of(const vtac_graph *graph, const vtac_node *node, uint32_t input, int64_t i,
                         int64_t *out)
{
    const vtac_tensor *zero = vtac_in_constant(graph, node, input);
    const bool absent = input >= node->input_count || node->inputs[input] == 0;
    *out = zero == NULL ? 0 : vtac_tensor_int(zero, vtac_type_elements(&zero->type) == 1 ? 0 : i);
    return zero != NULL || absent;
}

/* The number that a layer makes of a sum of 0: its zero point, within its clip. */
static bool zero_made(const vtac_graph *graph, const vtac_node *node, uint32_t input, int64_t *out)
{
    const vtac_attr *low = vtac_find_attr(node, "clip_low"), *high = vtac_find_attr(node, "clip_high");
    if (!read_zero_of(graph, node, input, 0, out)) {
        return false;
    }
    *out = low != NULL && *out < low->i ? low->i : *out;
    *out = high != NULL && *out > high->i ? high->i : *out;
    return true;
}

/* True if all weights of an output are zero points, and its bias is 0. */
static bool has_no_weights(const vtac_graph *graph, const vtac_node *conv, int64_t channel)
{
    const vtac_tensor *w = vtac_in_constant(graph, conv, WEIGHTS),
                      *bias = vtac_in_constant(graph, conv, BIAS);
    const bool biased = conv->input_count > BIAS && conv->inputs[BIAS] != 0;
    int64_t zero;
    if (w == NULL || w->type.dim[0] <= channel || !read_zero_of(graph, conv, WEIGHT_ZERO, channel, &zero) ||
        (biased && (bias == NULL || vtac_tensor_int(bias, channel) != 0))) {
        return false;
    }
    const int64_t count = vtac_type_elements(&w->type) / w->type.dim[0];
    bool none = true;
    for (int64_t i = 0; none && i < count; i++) {
        none = vtac_tensor_int(w, channel * count + i) == zero;
    }
    return none;
}

/* True if a channel of a product lies beside the columns of its group. */
static bool is_beside_columns(const vtac_node *product, int64_t channel, int64_t channels)
{
    const int64_t groups = vtac_attr_int(product, "group", 1), each = channels / groups;
    return channel % each >= vtac_attr_int(product, "columns", each);
}

/* The number that a function of one number makes of another one; false: it is not known. */
static bool function_of(const vtac_graph *graph, const vtac_node *node, int64_t x, int64_t *number)
{
    enum { MUL_ZERO = 7, JOIN_ZERO = 1, JOIN_X_ZERO = 4, TABLE = 1 };
    const vtac_tensor *table = node->op == VTAC_OP_LOOK_UP ? vtac_in_constant(graph, node, TABLE) : NULL;
    int64_t zero;
    if (node->op == VTAC_OP_QLINEAR_MUL) {
        return read_zero_of(graph, node, X_ZERO, 0, &zero) && x == zero &&
               zero_made(graph, node, MUL_ZERO, number);
    }
    if (node->op == VTAC_OP_QLINEAR_CONCAT) {
        return read_zero_of(graph, node, JOIN_X_ZERO, 0, &zero) && x == zero &&
               zero_made(graph, node, JOIN_ZERO, number);
    }
    const int64_t at = x - vtac_attr_int(node, "first", 0);
    if (table == NULL || at < 0 || at >= vtac_type_elements(&table->type)) {
        return false;
    }
    *number = vtac_tensor_int(table, at);
    return true;
}

bool vtac_fixed_channel(const vtac_graph *graph, vtac_value_id value, int64_t channel, int64_t *number)
{
    enum { PRODUCT_ZERO = 6 };
    const vtac_node *node = vtac_producer_of(graph, value);
    if (node == NULL) {
        return false;
    }
    if (node->op == VTAC_OP_QLINEAR_CONV) {
        return vtac_attr_int(node, "group", 1) == 1 && has_no_weights(graph, node, channel) &&
               zero_made(graph, node, Y_ZERO, number);
    }
    if (node->op == VTAC_OP_VTA_PRODUCT) {
        return is_beside_columns(node, channel, graph->values[value].type.dim[1]) &&
               zero_made(graph, node, PRODUCT_ZERO, number);
    }
    return vtac_is_number_function(graph, node) &&
           vtac_fixed_channel(graph, node->inputs[vtac_layer_row_of(node->op)->first], channel, number) &&
           function_of(graph, node, *number, number);
}

bool vtac_fixed_beside(const vtac_graph *graph, vtac_value_id value, int64_t *number)
{
    const vtac_node *node = vtac_producer_of(graph, value);
    return node != NULL && node->op == VTAC_OP_VTA_NORM &&
           zero_made(graph, node, VTAC_ROW_NORM_Y_ZERO, number);
}

/* ---- convolutions with more channels */

/* True if a convolution's channels can be filled up: all of them meet, and its numbers are known. */
static bool can_fill(const vtac_graph *graph, const vtac_node *node)
{
    const vtac_tensor *w =
        node != NULL && node->op == VTAC_OP_QLINEAR_CONV ? vtac_in_constant(graph, node, WEIGHTS) : NULL;
    const bool biased = w != NULL && node->input_count > BIAS && node->inputs[BIAS] != 0;
    return w != NULL && vtac_attr_int(node, "group", 1) == 1 && node->attr_count <= MAX_ATTRS &&
           node->input_count <= CONV_INPUTS && (w->type.dtype == VTAC_I8 || w->type.dtype == VTAC_U8) &&
           vtac_in_constant(graph, node, WEIGHT_SCALE) != NULL &&
           vtac_in_constant(graph, node, WEIGHT_ZERO) != NULL &&
           vtac_in_constant(graph, node, X_ZERO) != NULL && vtac_in_constant(graph, node, Y_ZERO) != NULL &&
           (!biased || vtac_in_constant(graph, node, BIAS) != NULL);
}

/* The channel of a head before it was filled up; -1: it had none. */
static int64_t channel_before(const head_width *h, int64_t channel)
{
    const int64_t at = channel % h->whole;
    return at < h->each ? channel / h->whole * h->each + at : -1;
}

/* Turns a list with one number for each channel into that of whole heads. `zeros`: the numbers beside a
 * head's own are 0, else those of its first channel. Lists of one number stay. */
static vta_status fill_list(const vtac_node_builder *b, const head_width *h, int64_t channels, bool zeros,
                            vtac_value_id *x)
{
    if (*x == 0) {
        return VTA_OK;
    }
    const vtac_tensor *from = b->graph->values[*x].constant;
    const size_t size = vtac_dtype_bytes(from->type.dtype);
    const int64_t count = channels / h->each * h->whole;
    const vtac_type type = {.dtype = from->type.dtype, .rank = 1, .dim = {count}};
    if (vtac_type_elements(&from->type) != channels || channels == 1) {
        return VTA_OK;
    }
    char *data = vta_arena_array(b->arena, (size_t)count, size); /* zeros */
    if (data == NULL) {
        return vtac_b_no_memory(b);
    }
    for (int64_t c = 0; c < count; c++) {
        const int64_t own = channel_before(h, c);
        const int64_t at = own >= 0 ? own : c / h->whole * h->each;
        if (own >= 0 || !zeros) {
            memcpy(data + (size_t)c * size, (const char *)from->data + (size_t)at * size, size);
        }
    }
    return vtac_b_constant(b, type, data, x);
}

/* The weights with whole heads along an axis, 0 outputs or 1 inputs: zero points beside a head's own. */
static vta_status fill_weights(const vtac_node_builder *b, const head_width *h, uint32_t axis,
                               vtac_value_id *x)
{
    const vtac_tensor *from = vtac_in_constant(b->graph, &b->like, WEIGHTS);
    vtac_type type = from->type;
    type.dim[axis] = type.dim[axis] / h->each * h->whole;
    uint8_t *data = vta_arena_array(b->arena, (size_t)vtac_type_elements(&type), 1);
    if (data == NULL) {
        return vtac_b_no_memory(b);
    }
    const int64_t inner = vtac_type_elements(&type) / type.dim[0] / type.dim[1];
    for (int64_t i = 0; i < type.dim[0] * type.dim[1]; i++) {
        int64_t at[2] = {i / type.dim[1], i % type.dim[1]};
        const int64_t own = channel_before(h, at[axis]);
        at[axis] = own >= 0 ? own : at[axis] / h->whole * h->each;
        int64_t zero;
        (void)read_zero_of(b->graph, &b->like, WEIGHT_ZERO, at[0], &zero);
        if (own < 0) {
            memset(data + i * inner, (int)(uint8_t)zero, (size_t)inner);
            continue;
        }
        memcpy(data + i * inner, (const uint8_t *)from->data + (at[0] * from->type.dim[1] + at[1]) * inner,
               (size_t)inner);
    }
    return vtac_b_constant(b, type, data, x);
}

static vta_status add_conv_like(const vtac_node_builder *b, const vtac_value_id *inputs, vtac_value_id *out)
{
    vtac_attr attrs[MAX_ATTRS + 1];
    memcpy(attrs, b->like.attrs, b->like.attr_count * sizeof *attrs);
    return vtac_b_layer(b, VTAC_OP_QLINEAR_CONV, inputs, b->like.input_count, attrs, b->like.attr_count, out);
}

/* The convolution that makes an image, with whole heads. */
static vta_status fill_outputs(const vtac_node_builder *b, const head_width *h, vtac_value_id *out)
{
    const int64_t channels = vtac_b_type(b, b->like.outputs[0]).dim[1];
    vtac_value_id inputs[CONV_INPUTS + 1] = {0};
    memcpy(inputs, b->like.inputs, b->like.input_count * sizeof *inputs);
    VTA_TRY(fill_weights(b, h, 0, &inputs[WEIGHTS]));
    VTA_TRY(fill_list(b, h, channels, false, &inputs[WEIGHT_SCALE]));
    VTA_TRY(fill_list(b, h, channels, false, &inputs[WEIGHT_ZERO]));
    VTA_TRY(fill_list(b, h, channels, true, &inputs[BIAS]));
    return add_conv_like(b, inputs, out);
}

bool vtac_can_fill_image(const vtac_graph *graph, vtac_value_id image, int64_t groups)
{
    const vtac_source source = vtac_source_of(graph, image);
    const vtac_type *type = &graph->values[image].type, *base = &graph->values[source.base].type;
    return !source.flat && type->rank >= 3 && base->rank >= 3 && type->dim[1] == base->dim[1] &&
           type->dim[1] % groups == 0 && can_fill(graph, vtac_producer_of(graph, source.base));
}

vta_status vtac_fill_image(const vtac_node_builder *b, int64_t groups, vtac_value_id *image)
{
    const vtac_value_id base = vtac_source_of(b->graph, *image).base;
    const vtac_node conv = *vtac_producer_of(b->graph, base);
    vtac_type type = vtac_b_type(b, *image);
    const int64_t each = vtac_b_type(b, *image).dim[1] / groups;
    const head_width h = {each, vta_round_up(each, vtac_vta_block(b->config))};
    const vtac_node_builder own = {b->graph, b->arena, b->config, conv, b->diag};
    VTA_TRY(fill_outputs(&own, &h, image));
    type.dim[1] = vtac_b_type(b, *image).dim[1];
    return vtac_b_reshape(b, type.dim, type.rank, image);
}

/* ---- heads around products */

/* An image as [n, 1, heads, channels of a head, pixels], and back. No image has this rank, so a movement can
 * go on to what makes the image. */
static vta_status apart(const vtac_node_builder *b, int64_t each, vtac_value_id *x)
{
    const vtac_type type = vtac_b_type(b, *x);
    const int64_t pixels = vtac_type_elements(&type) / type.dim[0] / type.dim[1];
    return vtac_b_reshape(b, (int64_t[]){type.dim[0], 1, type.dim[1] / each, each, pixels}, 5, x);
}

/* Cuts the channels beside each head's own off an image. */
static vta_status cut_heads(const vtac_node_builder *b, const head_width *h, const vtac_type *as,
                            vtac_value_id *x)
{
    vtac_value_id inputs[4] = {0};
    VTA_TRY(apart(b, h->whole, x));
    inputs[0] = *x;
    VTA_TRY(vtac_b_list(b, (int64_t[]){0}, 1, &inputs[1]));
    VTA_TRY(vtac_b_list(b, (int64_t[]){h->each}, 1, &inputs[2]));
    VTA_TRY(vtac_b_list(b, (int64_t[]){3}, 1, &inputs[3]));
    VTA_TRY(vtac_b_add(b, VTAC_OP_SLICE, inputs, 4, NULL, 0, x));
    return vtac_b_reshape(b, as->dim, as->rank, x);
}

/* Puts the zero point beside each head's own channels. */
static vta_status pad_heads(const vtac_node_builder *b, const head_width *h, vtac_value_id *x)
{
    vtac_type type = vtac_b_type(b, *x);
    const int64_t pads[10] = {0, 0, 0, 0, 0, 0, 0, 0, h->whole - h->each, 0};
    vtac_value_id inputs[3] = {0};
    VTA_TRY(apart(b, h->each, x));
    inputs[0] = *x;
    const vtac_tensor *zero = vtac_in_constant(b->graph, &b->like, X_ZERO);
    VTA_TRY(vtac_b_list(b, pads, 10, &inputs[1]));
    VTA_TRY(vtac_b_number(b, zero->type.dtype, zero->data, &inputs[2]));
    VTA_TRY(vtac_b_add(b, VTAC_OP_PAD, inputs, 3, NULL, 0, x));
    type.dim[1] = type.dim[1] / h->each * h->whole;
    return vtac_b_reshape(b, type.dim, type.rank, x);
}

/* The layer's value that heads come from, by movements and functions of one number. */
static vtac_value_id image_above(const vtac_graph *graph, vtac_value_id value)
{
    const vtac_node *node = vtac_producer_of(graph, value);
    while (node != NULL && vtac_use_count(graph, value) == 1) {
        const bool function = vtac_is_number_function(graph, node);
        if (!function && !vtac_is_host_step(graph, graph->values[value].node)) {
            break;
        }
        value = node->inputs[function ? (uint32_t)vtac_layer_row_of(node->op)->first : 0];
        node = vtac_producer_of(graph, value);
    }
    return value;
}

/* True if all readers of a value only move its elements, or take them one by one. */
static bool is_only_moved(const vtac_graph *graph, vtac_value_id value)
{
    const vtac_value *v = &graph->values[value];
    bool moved = !vtac_is_output(graph, value);
    for (uint32_t i = 0; moved && i < v->user_count; i++) {
        const vtac_node *user = &graph->nodes[v->users[i]];
        moved = user->dead || vtac_is_host_step(graph, v->users[i]) || vtac_is_number_function(graph, user);
    }
    return moved;
}

/* Fills up the heads that a factor of a product comes from. */
static vta_status fill_maker(const vtac_node_builder *b, const head_width *h, vtac_value_id factor)
{
    const vtac_value_id image = image_above(b->graph, factor);
    const vtac_node *maker = vtac_producer_of(b->graph, image);
    const vtac_type type = vtac_b_type(b, image);
    vtac_value_id x = 0;
    if (!can_fill(b->graph, maker) || type.rank < 3 || type.dim[1] % h->each != 0 ||
        !is_only_moved(b->graph, image)) {
        return VTA_OK;
    }
    const vtac_node_builder own = {b->graph, b->arena, b->config, *maker, b->diag};
    VTA_TRY(fill_outputs(&own, h, &x));
    VTA_TRY(cut_heads(&own, h, &type, &x));
    vtac_swap_names(b->graph, image, x);
    vtac_replace_uses(b->graph, image, x);
    return VTA_OK;
}

/* The only reader of what movements make of a value; NULL: there are several. */
static const vtac_node *reader_below(const vtac_graph *graph, vtac_value_id value)
{
    while (value != 0 && !vtac_is_output(graph, value) && vtac_use_count(graph, value) == 1) {
        const vtac_value *v = &graph->values[value];
        uint32_t at = 0;
        while (at + 1 < v->user_count && graph->nodes[v->users[at]].dead) {
            at++;
        }
        const vtac_node *node = &graph->nodes[v->users[at]];
        if (!vtac_is_host_step(graph, v->users[at])) {
            return node->inputs[0] == value ? node : NULL;
        }
        value = node->outputs[0];
    }
    return NULL;
}

/* Fills up the heads that the convolution behind a product reads. */
static vta_status fill_reader(const vtac_node_builder *b, const head_width *h, vtac_value_id made)
{
    const vtac_node *reader = reader_below(b->graph, made);
    vtac_value_id inputs[CONV_INPUTS + 1] = {0}, out;
    if (!can_fill(b->graph, reader)) {
        return VTA_OK;
    }
    const vtac_type type = vtac_b_type(b, reader->inputs[0]);
    if (type.rank < 3 || type.dim[1] % h->each != 0) {
        return VTA_OK;
    }
    const vtac_node_builder own = {b->graph, b->arena, b->config, *reader, b->diag};
    memcpy(inputs, own.like.inputs, own.like.input_count * sizeof *inputs);
    VTA_TRY(pad_heads(&own, h, &inputs[0]));
    VTA_TRY(fill_weights(&own, h, 1, &inputs[WEIGHTS]));
    VTA_TRY(add_conv_like(&own, inputs, &out));
    vtac_swap_names(b->graph, own.like.outputs[0], out);
    vtac_replace_uses(b->graph, own.like.outputs[0], out);
    return VTA_OK;
}

/* True if a softmax makes the first factor of a product: then its columns are those of values, not of scores.
 */
static bool reads_shares(const vtac_graph *graph, vtac_value_id factor)
{
    const vtac_node *node = vtac_producer_of(graph, factor);
    while (node != NULL && vtac_is_host_step(graph, graph->values[factor].node)) {
        factor = node->inputs[0];
        node = vtac_producer_of(graph, factor);
    }
    return node != NULL && (node->op == VTAC_OP_ROW_SOFTMAX || node->op == VTAC_OP_QLINEAR_SOFTMAX);
}

static vta_status fill_product(const vtac_node_builder *b, const vtac_legalized *p)
{
    const vtac_graph *graph = b->graph;
    vtac_pair s;
    if (!vtac_pair_of(b, &p->was, &s) || s.zero_b != 0 || s.bias != 0 ||
        vtac_cache_of(graph, graph->nodes[p->holders[1]].inputs[0]).past != 0) {
        return VTA_OK;
    }
    const bool shares = reads_shares(graph, graph->nodes[p->holders[0]].inputs[0]);
    const int64_t each = shares ? s.n : s.k;
    const head_width h = {each, vta_round_up(each, s.block)};
    if (each == h.whole) {
        return VTA_OK;
    }
    VTA_TRY(shares ? fill_reader(b, &h, p->stands)
                   : fill_maker(b, &h, graph->nodes[p->holders[0]].outputs[0]));
    /* the heads of one image are filled where the product takes their image (attention.c) */
    return vtac_is_factor_image(b, p) ? VTA_OK : fill_maker(b, &h, graph->nodes[p->holders[1]].outputs[0]);
}

vta_status vtac_fill_heads(vtac_graph *graph, const vta_config *config, vta_arena *arena,
                           const vtac_legalized_list *products, vta_diag *diag)
{
    for (uint32_t i = 0; config->rows != 0 && i < products->count; i++) {
        const vtac_legalized *p = &products->items[i];
        const vtac_node_builder b = {graph, arena, config, p->was, diag};
        const bool open = p->holders[0] != 0 && p->holders[1] != 0 && !graph->nodes[p->holders[0]].dead &&
                          !graph->nodes[p->holders[1]].dead;
        VTA_TRY(open ? fill_product(&b, p) : VTA_OK);
    }
    VTA_TRY(vtac_graph_sort(graph, diag));
    (void)vtac_remove_dead(graph);
    return VTA_OK;
}
