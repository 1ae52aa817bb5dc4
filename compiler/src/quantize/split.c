/* SPDX-License-Identifier: Apache-2.0
 *
 * Max(a, b, c) becomes Max(Max(a, b), c). Min has the same form, and Sum becomes Add. A softmax over two
 * numbers becomes the sigmoid of their difference.
 *
 * A transposed convolution of volumes becomes one of images: its slices are the images of a batch, and its
 * taps in depth are channels of the output, which become slices. It is taken so where the taps do not
 * overlap: their number is the stride.
 */
#include "split.h"

#include <string.h>

#include "vta/fail.h"

enum { VOLUME = 5, DEPTH = 2 };

vta_status vtac_split_add(const vtac_splitter *s, vtac_op op, const vtac_value_id *inputs, uint32_t count,
                          const vtac_attr *attrs, uint32_t attr_count, vtac_value_id *out)
{
    const vtac_node_spec spec = {.op = op,
                                 .name = s->like.name,
                                 .origin = s->like.origin,
                                 .inputs = inputs,
                                 .input_count = count,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = attr_count};
    vtac_node_id id;
    VTA_TRY(vtac_add_node(s->graph, &spec, &id, s->diag));
    *out = s->graph->nodes[id].outputs[0];
    return VTA_OK;
}

void vtac_split_replace(const vtac_splitter *s, vtac_value_id with)
{
    const vtac_value_id was = s->like.outputs[0];
    vtac_swap_names(s->graph, was, with);
    vtac_replace_uses(s->graph, was, with);
}

vta_status vtac_split_reshape(const vtac_splitter *s, const int64_t *dims, uint32_t rank,
                              vtac_value_id *value)
{
    int64_t *copy = vta_arena_array(&s->graph->arena, rank, sizeof *copy);
    if (copy == NULL) {
        return vta_no_memory(s->diag);
    }
    memcpy(copy, dims, rank * sizeof *dims);
    const vtac_tensor shape = {
        .type = {.dtype = VTAC_I64, .rank = 1, .dim = {rank}}, .data = copy, .bytes = rank * sizeof *copy};
    vtac_value_id inputs[VTAC_RESHAPE_INPUTS] = {*value};
    VTA_TRY(vtac_add_constant(s->graph, "", &shape, &inputs[VTAC_RESHAPE_SHAPE], s->diag));
    return vtac_split_add(s, VTAC_OP_RESHAPE, inputs, 2, NULL, 0, value);
}

vta_status vtac_split_number(const vtac_splitter *s, double number, vtac_value_id *out)
{
    float *data = vta_arena_array(&s->graph->arena, 1, sizeof *data);
    if (data == NULL) {
        return vta_no_memory(s->diag);
    }
    *data = (float)number;
    const vtac_tensor tensor = {.type = {.dtype = VTAC_F32}, .data = data, .bytes = sizeof *data};
    return vtac_add_constant(s->graph, "", &tensor, out, s->diag);
}

bool vtac_leads_to_product(const vtac_graph *g, vtac_value_id value, uint32_t depth)
{
    const vtac_value *v = &g->values[value];
    bool leads = false;
    for (uint32_t i = 0; i < v->user_count && depth > 0 && !leads; i++) {
        const vtac_node *node = &g->nodes[v->users[i]];
        leads = !node->dead && (node->op == VTAC_OP_CONV || node->op == VTAC_OP_GEMM ||
                                vtac_leads_to_product(g, node->outputs[0], depth - 1));
    }
    return leads;
}

/* ---- many operands */

static bool is_float_of(const vtac_graph *g, vtac_value_id value, const vtac_type *type)
{
    return value != 0 && g->values[value].type.dtype == VTAC_F32 &&
           (type == NULL || vtac_type_equal(&g->values[value].type, type));
}

/* True for a sum, or a maximum or minimum of three values and more. */
static bool is_many(const vtac_graph *g, const vtac_node *node)
{
    const bool sum = node->op == VTAC_OP_SUM;
    bool many = (sum && node->input_count > 1) ||
                ((node->op == VTAC_OP_MAX || node->op == VTAC_OP_MIN) && node->input_count > 2);
    for (uint32_t i = 0; many && i < node->input_count; i++) {
        many = is_float_of(g, node->inputs[i], sum ? NULL : &g->values[node->outputs[0]].type);
    }
    return many;
}

static vta_status split_many(const vtac_splitter *s)
{
    const vtac_op op = s->like.op == VTAC_OP_SUM ? VTAC_OP_ADD : s->like.op;
    vtac_value_id y = s->like.inputs[0];
    for (uint32_t i = 1; i < s->like.input_count; i++) {
        const vtac_value_id pair[] = {y, s->like.inputs[i]};
        VTA_TRY(vtac_split_add(s, op, pair, 2, NULL, 0, &y));
    }
    vtac_split_replace(s, y);
    return VTA_OK;
}

/* ---- softmax of two */

/* True for a softmax over two numbers in the middle of a network. */
static bool is_pair(const vtac_graph *g, const vtac_node *node)
{
    enum { FAR = 12 };
    const vtac_type *x = node->op == VTAC_OP_SOFTMAX ? vtac_in_type(g, node, 0) : NULL;
    int64_t axis = vtac_attr_int(node, "axis", -1);
    axis = x != NULL && axis < 0 ? axis + x->rank : axis;
    return x != NULL && x->dtype == VTAC_F32 && axis >= 0 && axis < x->rank && x->dim[axis] == 2 &&
           vtac_leads_to_product(g, node->outputs[0], FAR);
}

static vta_status slice_half(const vtac_splitter *s, int64_t axis, int64_t half, vtac_value_id *out)
{
    const int64_t words[] = {half, half + 1, axis};
    static const uint32_t order[] = {VTAC_SLICE_STARTS, VTAC_SLICE_ENDS, VTAC_SLICE_AXES};
    vtac_value_id inputs[4] = {s->like.inputs[0]};
    for (uint32_t i = 0; i < 3; i++) {
        int64_t *word = vta_arena_array(&s->graph->arena, 1, sizeof *word);
        if (word == NULL) {
            return vta_no_memory(s->diag);
        }
        *word = words[i];
        const vtac_tensor tensor = {
            .type = {.dtype = VTAC_I64, .rank = 1, .dim = {1}}, .data = word, .bytes = sizeof *word};
        VTA_TRY(vtac_add_constant(s->graph, "", &tensor, &inputs[order[i]], s->diag));
    }
    return vtac_split_add(s, VTAC_OP_SLICE, inputs, 4, NULL, 0, out);
}

/* Each share is the sigmoid of the difference. */
static vta_status split_pair(const vtac_splitter *s)
{
    const vtac_type *x = vtac_in_type(s->graph, &s->like, 0);
    int64_t axis = vtac_attr_int(&s->like, "axis", -1);
    axis = axis < 0 ? axis + x->rank : axis;
    vtac_value_id half[2];
    vtac_value_id share[2];
    VTA_TRY(slice_half(s, axis, 0, &half[0]));
    VTA_TRY(slice_half(s, axis, 1, &half[1]));
    for (uint32_t i = 0; i < 2; i++) {
        const vtac_value_id pair[] = {half[i], half[1 - i]};
        VTA_TRY(vtac_split_add(s, VTAC_OP_SUB, pair, 2, NULL, 0, &share[i]));
        VTA_TRY(vtac_split_add(s, VTAC_OP_SIGMOID, &share[i], 1, NULL, 0, &share[i]));
    }
    const vtac_attr attr = {.name = "axis", .kind = VTAC_ATTR_INT, .i = axis};
    VTA_TRY(vtac_split_add(s, VTAC_OP_CONCAT, share, 2, &attr, 1, &share[0]));
    vtac_split_replace(s, share[0]);
    return VTA_OK;
}

/* ---- transposed convolutions of volumes */

/* Lists of a transposed convolution; those that are absent are all `otherwise`. */
static int64_t item_of(const vtac_node *node, const char *name, size_t i, int64_t otherwise)
{
    const vtac_attr *attr = vtac_find_attr(node, name);
    return attr != NULL && attr->kind == VTAC_ATTR_INTS && i < attr->count ? attr->ints[i] : otherwise;
}

static bool is_volume(const vtac_graph *g, const vtac_node *node)
{
    enum { PAD_BEHIND = 3 }; /* place of the padding behind in depth */
    const vtac_tensor *w =
        node->op == VTAC_OP_CONV_TRANSPOSE ? vtac_in_constant(g, node, VTAC_CONV_WEIGHT) : NULL;
    const bool biased = node->op == VTAC_OP_CONV_TRANSPOSE && vtac_in_type(g, node, VTAC_CONV_BIAS) != NULL;
    return w != NULL && w->type.dtype == VTAC_F32 && w->type.rank == VOLUME &&
           vtac_type_elements(&w->type) > 0 && is_float_of(g, node->inputs[VTAC_CONV_X], NULL) &&
           (!biased || (vtac_in_constant(g, node, VTAC_CONV_BIAS) != NULL &&
                        is_float_of(g, node->inputs[VTAC_CONV_BIAS], NULL))) &&
           vtac_attr_int(node, "group", 1) == 1 &&
           strcmp(vtac_attr_string(node, "auto_pad", "NOTSET"), "NOTSET") == 0 &&
           vtac_find_attr(node, "output_shape") == NULL &&
           item_of(node, "strides", 0, 1) == w->type.dim[DEPTH] && item_of(node, "pads", 0, 0) == 0 &&
           item_of(node, "pads", PAD_BEHIND, 0) == 0 && item_of(node, "dilations", 0, 1) == 1 &&
           item_of(node, "output_padding", 0, 0) == 0;
}

/* [c, o, kd, kh, kw] as [c, kd o, kh, kw] */
static vta_status convert_weights(const vtac_splitter *s, vtac_value_id *out)
{
    const vtac_tensor *w = vtac_in_constant(s->graph, &s->like, VTAC_CONV_WEIGHT);
    const int64_t *dim = w->type.dim, plane = dim[3] * dim[4];
    float *to = vta_arena_array(&s->graph->arena, (size_t)vtac_type_elements(&w->type), sizeof *to);
    const float *from = w->data;
    if (to == NULL) {
        return vta_no_memory(s->diag);
    }
    for (int64_t c = 0; c < dim[0]; c++) {
        for (int64_t i = 0; i < dim[1] * dim[DEPTH]; i++) {
            const int64_t o = i / dim[DEPTH], tap = i % dim[DEPTH];
            memcpy(to + (c * dim[1] * dim[DEPTH] + tap * dim[1] + o) * plane,
                   from + (c * dim[1] * dim[DEPTH] + i) * plane, (size_t)plane * sizeof *to);
        }
    }
    const vtac_tensor tensor = {
        .type = {.dtype = VTAC_F32, .rank = 4, .dim = {dim[0], dim[1] * dim[DEPTH], dim[3], dim[4]}},
        .data = to,
        .bytes = w->bytes};
    return vtac_add_constant(s->graph, "", &tensor, out, s->diag);
}

/* The bias, once for each tap in depth; 0: there is none. */
static vta_status repeat_bias(const vtac_splitter *s, int64_t taps, vtac_value_id *out)
{
    const vtac_tensor *bias = vtac_in_constant(s->graph, &s->like, VTAC_CONV_BIAS);
    *out = 0;
    if (bias == NULL) {
        return VTA_OK;
    }
    const int64_t count = vtac_type_elements(&bias->type);
    float *to = vta_arena_array(&s->graph->arena, (size_t)(count * taps) + 1, sizeof *to);
    if (to == NULL) {
        return vta_no_memory(s->diag);
    }
    for (int64_t tap = 0; tap < taps; tap++) {
        memcpy(to + tap * count, bias->data, (size_t)count * sizeof *to);
    }
    const vtac_tensor tensor = {.type = {.dtype = VTAC_F32, .rank = 1, .dim = {count * taps}},
                                .data = to,
                                .bytes = (size_t)(count * taps) * sizeof *to};
    return vtac_add_constant(s->graph, "", &tensor, out, s->diag);
}

/* Depth and channels change places. */
static vta_status swap_depth(const vtac_splitter *s, vtac_value_id *value)
{
    static const int64_t perm[VOLUME] = {0, 2, 1, 3, 4};
    const vtac_attr attr = {.name = "perm", .kind = VTAC_ATTR_INTS, .count = VOLUME, .ints = perm};
    return vtac_split_add(s, VTAC_OP_TRANSPOSE, value, 1, &attr, 1, value);
}

/* The transposed convolution of the slices. */
static vta_status add_planes(const vtac_splitter *s, int64_t taps, vtac_value_id *x)
{
    const vtac_node *n = &s->like;
    const int64_t strides[] = {item_of(n, "strides", 1, 1), item_of(n, "strides", 2, 1)};
    const int64_t dilations[] = {item_of(n, "dilations", 1, 1), item_of(n, "dilations", 2, 1)};
    const int64_t more[] = {item_of(n, "output_padding", 1, 0), item_of(n, "output_padding", 2, 0)};
    const int64_t pads[] = {item_of(n, "pads", 1, 0), item_of(n, "pads", 2, 0), item_of(n, "pads", 4, 0),
                            item_of(n, "pads", 5, 0)};
    const vtac_attr attrs[] = {
        {.name = "strides", .kind = VTAC_ATTR_INTS, .count = 2, .ints = strides},
        {.name = "dilations", .kind = VTAC_ATTR_INTS, .count = 2, .ints = dilations},
        {.name = "output_padding", .kind = VTAC_ATTR_INTS, .count = 2, .ints = more},
        {.name = "pads", .kind = VTAC_ATTR_INTS, .count = 4, .ints = pads},
    };
    vtac_value_id inputs[VTAC_CONV_INPUTS] = {*x};
    VTA_TRY(convert_weights(s, &inputs[VTAC_CONV_WEIGHT]));
    VTA_TRY(repeat_bias(s, taps, &inputs[VTAC_CONV_BIAS]));
    return vtac_split_add(s, VTAC_OP_CONV_TRANSPOSE, inputs, inputs[VTAC_CONV_BIAS] == 0 ? 2 : 3, attrs, 4,
                          x);
}

static vta_status split_volume(const vtac_splitter *s)
{
    const vtac_graph *g = s->graph;
    const vtac_type from = g->values[s->like.inputs[VTAC_CONV_X]].type,
                    to = g->values[s->like.outputs[0]].type;
    const int64_t taps = vtac_in_constant(g, &s->like, VTAC_CONV_WEIGHT)->type.dim[DEPTH];
    const int64_t slices[] = {from.dim[0] * from.dim[DEPTH], from.dim[1], from.dim[3], from.dim[4]};
    const int64_t back[] = {to.dim[0], to.dim[DEPTH], to.dim[1], to.dim[3], to.dim[4]};
    vtac_value_id y = s->like.inputs[VTAC_CONV_X];
    VTA_TRY(swap_depth(s, &y));
    VTA_TRY(vtac_split_reshape(s, slices, 4, &y));
    VTA_TRY(add_planes(s, taps, &y));
    VTA_TRY(vtac_split_reshape(s, back, VOLUME, &y));
    VTA_TRY(swap_depth(s, &y));
    vtac_split_replace(s, y);
    return VTA_OK;
}

/* Nodes that have no 8-bit form, and what makes others of them. */
static const struct {
    bool (*is)(const vtac_graph *graph, const vtac_node *node);
    vta_status (*split)(const vtac_splitter *s);
} rules[] = {
    {is_many, split_many},
    {is_pair, split_pair},
    {is_volume, split_volume},
    {vtac_is_transposed_signal, vtac_split_signal},
    {vtac_is_normalized_input, vtac_split_normalized_input},
    {vtac_is_response_norm, vtac_split_responses},
    {vtac_is_mean_place, vtac_split_mean_place},
    {vtac_is_uneven_resize, vtac_split_resize},
    {vtac_is_neighbour_norm, vtac_split_neighbours},
};

/* Splits a node by the first rule that is for it. */
static vta_status split_node(const vtac_splitter *s, bool *any)
{
    for (size_t k = 0; k < sizeof rules / sizeof rules[0]; k++) {
        if (rules[k].is(s->graph, &s->like)) {
            *any = true;
            return rules[k].split(s);
        }
    }
    return VTA_OK;
}

vta_status vtac_quant_split(vtac_graph *graph, vta_diag *diag)
{
    bool any = false;
    for (uint32_t i = 0, count = graph->order_count; i < count; i++) {
        const vtac_splitter s = {graph, graph->nodes[graph->order[i]], diag};
        VTA_TRY(split_node(&s, &any));
    }
    if (any) {
        VTA_TRY(vtac_graph_sort(graph, diag));
        (void)vtac_remove_dead(graph);
    }
    return VTA_OK;
}
