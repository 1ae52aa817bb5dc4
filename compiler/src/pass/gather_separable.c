/* SPDX-License-Identifier: Apache-2.0
 *
 * gather-rows: separable attention (MobileViTv2), which has one score for each token.
 *
 *     ReduceSum(k [n, c, p, tokens] * Softmax(q [n, 1, p, tokens]))  ->  the product of Softmax(q) and k
 *
 * A convolution that makes queries, keys and values together becomes one for each: behind the one channel of
 * the queries no channel of the others would begin a block.
 */
#include <string.h>

#include "rewrite.h"
#include "vta/fail.h"

enum { IMAGE_RANK = 4, TOKENS = 3 };

typedef struct separable {
    vtac_value_id shares, scores, keys; /* of Softmax, what it reads, and the other factor */
} separable;

static vtac_type type_of(const vtac_rewrite *r, vtac_value_id value)
{
    return r->graph->values[value].type;
}

/* True for one share for each token, of images with such keys. */
static bool are_shares(const vtac_rewrite *r, vtac_value_id value, const vtac_type *keys, separable *s)
{
    const vtac_node *softmax = vtac_maker_of(r, value, VTAC_OP_SOFTMAX);
    const vtac_type type = type_of(r, value);
    const int64_t axis = softmax == NULL ? 0 : vtac_attr_int(softmax, "axis", -1);
    bool fits = softmax != NULL && (axis == -1 || axis == TOKENS) && keys->rank == IMAGE_RANK &&
                keys->dtype == VTAC_F32 && type.rank == IMAGE_RANK && type.dim[1] == 1 && keys->dim[1] > 1;
    for (uint32_t i = 0; fits && i < IMAGE_RANK; i++) {
        fits = keys->dim[i] > 0 && (i == 1 || type.dim[i] == keys->dim[i]);
    }
    s->shares = vtac_origin_of(r, value);
    s->scores = fits ? vtac_origin_of(r, softmax->inputs[0]) : 0;
    return fits;
}

static bool takes_sum(const vtac_rewrite *r, const vtac_node *node, separable *s)
{
    const vtac_value_id product = vtac_reduced_by(r, node->outputs[0], VTAC_OP_REDUCE_SUM, VTAC_OF_ROWS);
    const vtac_node *mul = product == 0 ? NULL : vtac_maker_of(r, product, VTAC_OP_MUL);
    for (uint32_t i = 0; mul != NULL && i < 2; i++) {
        const vtac_type keys = type_of(r, mul->inputs[1 - i]);
        s->keys = mul->inputs[1 - i];
        if (are_shares(r, mul->inputs[i], &keys, s)) {
            return true;
        }
    }
    return false;
}

/* Some of the numbers of a constant, along its first axis. */
static vta_status take_constant(vtac_rewrite *r, vtac_value_id value, const vtac_seen_part *part,
                                vtac_value_id *out)
{
    const vtac_tensor *from = r->graph->values[value].constant;
    vtac_type type = from->type;
    const size_t each = from->bytes / (size_t)type.dim[0];
    type.dim[0] = part->end - part->first;
    return vtac_new_constant(r, NULL, &type, (const uint8_t *)from->data + (size_t)part->first * each, out);
}

/* True for channels of a convolution whose weights are known. */
static bool is_of_conv(const vtac_rewrite *r, vtac_value_id value, vtac_seen_part *part)
{
    const vtac_node *conv = vtac_takes_part(r, value, part) && part->axis == 1
                                ? vtac_maker_of(r, part->value, VTAC_OP_CONV)
                                : NULL;
    const vtac_tensor *w = conv == NULL ? NULL : vtac_in_constant(r->graph, conv, VTAC_CONV_WEIGHT);
    return w != NULL && w->type.dtype == VTAC_F32 && vtac_attr_int(conv, "group", 1) == 1 &&
           part->first < part->end &&
           (vtac_in_type(r->graph, conv, VTAC_CONV_BIAS) == NULL ||
            vtac_in_constant(r->graph, conv, VTAC_CONV_BIAS) != NULL);
}

/* Lets a convolution of its own make some of the channels of another one. */
static vta_status put_conv(vtac_rewrite *r, vtac_node_id at, vtac_value_id value)
{
    vtac_seen_part part;
    if (!is_of_conv(r, value, &part)) {
        return VTA_OK;
    }
    const vtac_node conv = *vtac_maker_of(r, part.value, VTAC_OP_CONV);
    vtac_value_id inputs[3] = {conv.inputs[0]}, out;
    for (uint32_t i = 1; i < conv.input_count; i++) {
        VTA_TRY(conv.inputs[i] == 0 ? VTA_OK : take_constant(r, conv.inputs[i], &part, &inputs[i]));
    }
    const vtac_node_spec spec = {.op = VTAC_OP_CONV,
                                 .inputs = inputs,
                                 .input_count = conv.input_count,
                                 .output_count = 1,
                                 .attrs = conv.attrs,
                                 .attr_count = conv.attr_count};
    VTA_TRY(vtac_new_node(r, at, &conv, spec, &out));
    vtac_replace(r, value, out);
    return VTA_OK;
}

/* The same of all that Slice and Split take from the convolution that makes a value. */
static vta_status part_conv(vtac_rewrite *r, vtac_value_id value)
{
    vtac_seen_part part;
    const vtac_graph *g = r->graph;
    if (!is_of_conv(r, value, &part) || vtac_is_output(g, part.value)) {
        return VTA_OK;
    }
    for (uint32_t i = g->values[part.value].user_count; i-- > 0;) { /* each of them, and no other reader */
        const vtac_node *user = &g->nodes[g->values[part.value].users[i]];
        if (!user->dead && user->op != VTAC_OP_SLICE && user->op != VTAC_OP_SPLIT) {
            return VTA_OK;
        }
    }
    for (uint32_t i = g->values[part.value].user_count; i-- > 0;) {
        const vtac_node_id at = g->values[part.value].users[i];
        const uint32_t count = g->nodes[at].dead ? 0 : g->nodes[at].output_count;
        for (uint32_t k = 0; k < count; k++) {
            VTA_TRY(put_conv(r, at, g->nodes[at].outputs[k]));
        }
    }
    return VTA_OK;
}

vta_status vtac_gather_separable(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    static const int64_t rows[] = {0, 2, 1, 3}, terms[] = {0, 2, 3, 1}, back[] = {0, 3, 1, 2};
    const vtac_node like = r->graph->nodes[id];
    separable s = {0};
    vtac_value_id factors[2], y;
    if (!takes_sum(r, &like, &s) || vtac_only_user_of(r->graph, s.shares) == 0) {
        return VTA_OK;
    }
    *changed = true;
    VTA_TRY(part_conv(r, s.scores));
    VTA_TRY(takes_sum(r, &like, &s) ? VTA_OK : vta_fail(r->diag, VTA_INVALID, "a sum of shares is lost"));
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = -1};
    VTA_TRY(vtac_new_transpose(r, id, &like, rows, IMAGE_RANK, s.scores, &factors[0]));
    const vtac_node_spec spec = {.op = VTAC_OP_SOFTMAX,
                                 .inputs = factors,
                                 .input_count = 1,
                                 .output_count = 1,
                                 .attrs = &axis,
                                 .attr_count = 1};
    VTA_TRY(vtac_new_node(r, id, &like, spec, &factors[0]));
    VTA_TRY(vtac_new_transpose(r, id, &like, terms, IMAGE_RANK, s.keys, &factors[1]));
    VTA_TRY(vtac_new_simple(r, id, &like, VTAC_OP_MATMUL, factors, 2, &y));
    VTA_TRY(vtac_new_transpose(r, id, &like, back, IMAGE_RANK, y, &y));
    vtac_replace(r, like.outputs[0], y);
    vtac_remove_node(r->graph, id);
    return VTA_OK;
}
