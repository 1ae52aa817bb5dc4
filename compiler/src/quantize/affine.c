/* SPDX-License-Identifier: Apache-2.0
 *
 * A picture that the network normalizes by channel, (x - mean) / deviation, in front of its first product:
 * the chain of sums and products with one constant for each channel becomes one depthwise convolution of one
 * pixel, which has 8 bits. Padding behind it stays that of normalized numbers.
 */
#include "split.h"

#include "vta/fail.h"

enum { MAX_CHAIN = 6, PICTURE = 3, IMAGE = 4 };

/* Number of the constant operand of a sum or product with a constant; 2: the node is none. */
static uint32_t constant_place(const vtac_graph *g, const vtac_node *node)
{
    static const bool takes[VTAC_OP_COUNT] = {
        [VTAC_OP_ADD] = true, [VTAC_OP_DIV] = true, [VTAC_OP_MUL] = true, [VTAC_OP_SUB] = true};
    const uint32_t last = node->op == VTAC_OP_DIV ? 1 : 2;
    for (uint32_t i = takes[node->op] ? 2 - last : 2; i < 2; i++) {
        if (vtac_in_constant(g, node, i) != NULL && vtac_in_constant(g, node, 1 - i) == NULL) {
            return i;
        }
    }
    return 2;
}

/* Channels of an image with or without an axis of images in front; 0: the value is none. */
static int64_t channels_of(const vtac_type *type)
{
    const bool fits = type->dtype == VTAC_F32 && (type->rank == PICTURE || type->rank == IMAGE) &&
                      vtac_type_elements(type) > 0;
    return fits ? type->dim[type->rank - PICTURE] : 0;
}

/* True for a sum or product with a constant for each channel, or one for all, that keeps the shape. */
static bool is_affine(const vtac_graph *g, const vtac_node *node)
{
    const uint32_t at = node->dead ? 2 : constant_place(g, node);
    if (at == 2) {
        return false;
    }
    const vtac_type *k = vtac_in_type(g, node, at), *x = vtac_in_type(g, node, 1 - at);
    const int64_t channels = channels_of(x), count = vtac_type_elements(k);
    bool fits = channels > 0 && k->dtype == VTAC_F32 && k->rank <= x->rank &&
                vtac_type_equal(x, &g->values[node->outputs[0]].type);
    fits = fits &&
           (count == 1 || (count == channels && k->rank >= PICTURE && k->dim[k->rank - PICTURE] == channels));
    for (int64_t i = 0; fits && node->op == VTAC_OP_DIV && i < count; i++) {
        fits = vtac_tensor_float(vtac_in_constant(g, node, at), i) != 0.0;
    }
    return fits;
}

static bool has_constant_by_channel(const vtac_graph *g, const vtac_node *node)
{
    return vtac_type_elements(vtac_in_type(g, node, constant_place(g, node))) > 1;
}

/* Chain from a node upwards to an input of the network, the last node first; returns how many, 0: none. */
static uint32_t find_chain(const vtac_graph *g, const vtac_node *node, const vtac_node *chain[MAX_CHAIN])
{
    uint32_t count = 0;
    bool by_channel = false;
    while (count < MAX_CHAIN && is_affine(g, node)) {
        const vtac_value *x = &g->values[node->inputs[1 - constant_place(g, node)]];
        chain[count++] = node;
        by_channel = by_channel || has_constant_by_channel(g, node);
        if (x->node == 0) {
            return by_channel ? count : 0;
        }
        node = &g->nodes[x->node];
    }
    return 0;
}

/* True where a further sum or product of the chain alone reads the result. */
static bool goes_on(const vtac_graph *g, const vtac_node *node)
{
    const vtac_node_id user = vtac_only_user_of(g, node->outputs[0]);
    return user != 0 && is_affine(g, &g->nodes[user]);
}

bool vtac_is_normalized_input(const vtac_graph *graph, const vtac_node *node)
{
    enum { FAR = 8 };
    const vtac_node *chain[MAX_CHAIN];
    return find_chain(graph, node, chain) > 0 && !goes_on(graph, node) &&
           vtac_leads_to_product(graph, node->outputs[0], FAR);
}

/* Factor and offset of a channel, behind a further node of the chain. */
static void apply_node(const vtac_graph *g, const vtac_node *node, int64_t channel, double *factor,
                       double *offset)
{
    const uint32_t at = constant_place(g, node);
    const vtac_tensor *k = vtac_in_constant(g, node, at);
    const double number = vtac_tensor_float(k, vtac_type_elements(&k->type) == 1 ? 0 : channel);
    const bool product = node->op == VTAC_OP_MUL || node->op == VTAC_OP_DIV;
    const double by = node->op == VTAC_OP_MUL              ? number
                      : node->op == VTAC_OP_DIV            ? 1.0 / number
                      : node->op == VTAC_OP_SUB && at == 0 ? -1.0
                                                           : 1.0;
    *factor *= by;
    *offset = *offset * by + (product ? 0.0 : node->op == VTAC_OP_SUB && at == 1 ? -number : number);
}

static vta_status add_floats(const vtac_splitter *s, const float *data, const vtac_type *type,
                             vtac_value_id *out)
{
    const vtac_tensor tensor = {
        .type = *type, .data = data, .bytes = (size_t)vtac_type_elements(type) * sizeof *data};
    return vtac_add_constant(s->graph, "", &tensor, out, s->diag);
}

/* Weights [c, 1, 1, 1] and biases [c] of the chain. */
static vta_status add_numbers(const vtac_splitter *s, const vtac_node *const *chain, uint32_t count,
                              int64_t channels, vtac_value_id *inputs)
{
    float *factors = vta_arena_array(&s->graph->arena, (size_t)channels, sizeof *factors);
    float *offsets = vta_arena_array(&s->graph->arena, (size_t)channels, sizeof *offsets);
    if (factors == NULL || offsets == NULL) {
        return vta_no_memory(s->diag);
    }
    for (int64_t c = 0; c < channels; c++) {
        double factor = 1.0, offset = 0.0;
        for (uint32_t i = count; i-- > 0;) {
            apply_node(s->graph, chain[i], c, &factor, &offset);
        }
        factors[c] = (float)factor;
        offsets[c] = (float)offset;
    }
    const vtac_type weights = {.dtype = VTAC_F32, .rank = IMAGE, .dim = {channels, 1, 1, 1}},
                    biases = {.dtype = VTAC_F32, .rank = 1, .dim = {channels}};
    VTA_TRY(add_floats(s, factors, &weights, &inputs[VTAC_CONV_WEIGHT]));
    return add_floats(s, offsets, &biases, &inputs[VTAC_CONV_BIAS]);
}

vta_status vtac_split_normalized_input(const vtac_splitter *s)
{
    const vtac_graph *g = s->graph;
    const vtac_node *chain[MAX_CHAIN] = {NULL};
    const uint32_t count = find_chain(g, &s->like, chain);
    if (count == 0 || chain[count - 1] == NULL) {
        return VTA_OK;
    }
    const vtac_type x = g->values[s->like.outputs[0]].type;
    const int64_t channels = channels_of(&x), *behind = &x.dim[x.rank - PICTURE];
    const int64_t image[] = {x.rank == IMAGE ? x.dim[0] : 1, behind[0], behind[1], behind[2]};
    const vtac_attr group = {.name = "group", .kind = VTAC_ATTR_INT, .i = channels};
    vtac_value_id inputs[VTAC_CONV_INPUTS] = {
        chain[count - 1]->inputs[1 - constant_place(g, chain[count - 1])]};
    vtac_value_id y;
    VTA_TRY(add_numbers(s, chain, count, channels, inputs));
    VTA_TRY(x.rank == IMAGE ? VTA_OK : vtac_split_reshape(s, image, IMAGE, &inputs[VTAC_CONV_X]));
    VTA_TRY(vtac_split_add(s, VTAC_OP_CONV, inputs, VTAC_CONV_INPUTS, &group, 1, &y));
    VTA_TRY(x.rank == IMAGE ? VTA_OK : vtac_split_reshape(s, x.dim, x.rank, &y));
    vtac_split_replace(s, y);
    return VTA_OK;
}
