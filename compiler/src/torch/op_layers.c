/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that are a whole layer: LSTM and GRU, attention of several heads, an encoder's layer.
 */
#include <math.h>
#include <string.h>

#include "torch.h"

/* ---- LSTM and GRU */

typedef struct torch_recurrent {
    int64_t gates, hidden, directions, layers;
    bool biased;
    const vtac_torch_list *params;
} torch_recurrent;

/* Parts of [gates * hidden][...] in the order that the node wants: i, o, f, c of i, f, c, o; z, r, n of r, z,
 * n.
 */
static vtac_id reorder_gates(vtac_torch *im, vtac_id w, const torch_recurrent *r)
{
    static const int64_t order[][4] = {{1, 0, 2, 0}, {0, 3, 1, 2}};
    const int64_t *from = order[r->gates == 4 ? 1 : 0];
    vtac_id parts[4];
    uint32_t count = 0;
    for (; count < 4 && count < r->gates; count++) {
        parts[count] =
            vtac_make_slice(&im->maker, w, 0, from[count] * r->hidden, (from[count] + 1) * r->hidden);
    }
    return vtac_make_concat(&im->maker, parts, count, 0);
}

/* Weight k of both directions of a layer, one behind the other on a new first axis. how: of a bias 1 */
static vtac_id weight_of(vtac_torch *im, const torch_recurrent *r, int64_t layer, int64_t k)
{
    const int64_t each = r->biased ? 4 : 2;
    vtac_id parts[2];
    for (int64_t d = 0; d < r->directions; d++) {
        const int64_t at = (layer * r->directions + d) * each + k;
        vtac_id w = reorder_gates(im, vtac_torch_value_id(im, &r->params->items[at], "params"), r);
        const vtac_type type = vtac_made_type(&im->maker, w);
        const int64_t dims[] = {1, type.dim[0], type.rank > 1 ? type.dim[1] : 1};
        parts[d] = vtac_make_reshape(&im->maker, w, dims, type.rank + 1 < 3 ? type.rank + 1 : 3);
    }
    return vtac_make_concat(&im->maker, parts, (uint32_t)r->directions, 0);
}

/* One layer over x [steps][batch][size]; its last states are appended to `states`. */
static vtac_id layer_of(vtac_torch *im, const torch_recurrent *r, int64_t layer, vtac_id x,
                        const vtac_id *start, vtac_id *last)
{
    vtac_import_builder *m = &im->maker;
    vtac_id bias = 0;
    if (r->biased) {
        const vtac_id both[] = {weight_of(im, r, layer, 2), weight_of(im, r, layer, 3)};
        bias = vtac_make_concat(m, both, 2, 1);
    }
    const vtac_attr attrs[] = {
        vtac_attr_of_int("hidden_size", r->hidden),
        vtac_attr_of_string("direction", r->directions == 2 ? "bidirectional" : "forward"),
        vtac_attr_of_int("linear_before_reset", 1)};
    const vtac_id in[] = {x,       weight_of(im, r, layer, 0), weight_of(im, r, layer, 1), bias, 0, start[0],
                          start[1]};
    const bool lstm = r->gates == 4;
    vtac_id out[3] = {0};
    vtac_make_many(m, lstm ? VTAC_OP_LSTM : VTAC_OP_GRU, in, lstm ? 7 : 6, attrs, lstm ? 2 : 3, out,
                   lstm ? 3 : 2);
    last[0] = out[1];
    last[1] = out[2];
    const vtac_type type = vtac_made_type(m, out[0]); /* [steps][directions][batch][hidden] */
    vtac_id y = vtac_make_transpose(m, out[0], (int64_t[]){0, 2, 1, 3}, 4);
    return vtac_make_reshape(m, y, (int64_t[]){type.dim[0], type.dim[2], type.dim[1] * type.dim[3]}, 3);
}

static bool read_recurrent(vtac_torch *im, int32_t gates, torch_recurrent *r)
{
    const vtac_torch_value *params = vtac_torch_arg(im, "params");
    *r = (torch_recurrent){.gates = gates,
                           .directions = vtac_torch_flag(im, "bidirectional", false) ? 2 : 1,
                           .layers = vtac_torch_int(im, "num_layers", 1),
                           .biased = vtac_torch_flag(im, "has_biases", true),
                           .params = params->kind == TORCH_LIST ? params->list : NULL};
    const double drops = vtac_torch_float(im, "dropout", 0.0);
    if (vtac_torch_flag(im, "train", false) && drops != 0.0) {
        vtac_torch_refuse(im, "dropout in training (call .eval() before the model is saved)");
    }
    const int64_t each = r->biased ? 4 : 2;
    if (im->maker.status != VTA_OK || r->params == NULL || r->layers < 1 || r->layers > 64 ||
        r->params->count != r->layers * r->directions * each) {
        vtac_torch_refuse(im, "weights in this order, or of projections");
        return false;
    }
    const vtac_type type =
        vtac_made_type(&im->maker, vtac_torch_value_id(im, &r->params->items[1], "params"));
    r->hidden = type.rank == 2 ? type.dim[1] : 0;
    return im->maker.status == VTA_OK && r->hidden > 0;
}

/* how: the number of gates: 4 LSTM, 3 GRU */
vtac_torch_value vtac_torch_make_recurrent(vtac_torch *im, int32_t how)
{
    vtac_import_builder *m = &im->maker;
    torch_recurrent r;
    vtac_id states[2] = {0};
    vtac_id lasts[2][64] = {{0}};
    const vtac_torch_value *hx = vtac_torch_arg(im, "hx");
    const uint32_t kinds = how == 4 ? 2 : 1;
    if (!read_recurrent(im, how, &r)) {
        return vtac_torch_none;
    }
    for (uint32_t i = 0; i < kinds; i++) {
        const bool is_list = hx->kind == TORCH_LIST || hx->kind == TORCH_TUPLE;
        states[i] = vtac_torch_value_id(im, is_list && i < hx->list->count ? &hx->list->items[i] : hx, "hx");
    }
    const bool first = vtac_torch_flag(im, "batch_first", false);
    vtac_id x = vtac_torch_in(im, "input");
    if (im->maker.status != VTA_OK || vtac_made_type(m, x).rank != 3) {
        vtac_torch_refuse(im, "a sequence without an axis for the batch");
        return vtac_torch_none;
    }
    x = first ? vtac_make_transpose(m, x, (int64_t[]){1, 0, 2}, 3) : x;
    for (int64_t layer = 0; layer < r.layers && m->status == VTA_OK; layer++) {
        vtac_id start[2] = {0};
        vtac_id last[2];
        for (uint32_t i = 0; i < kinds; i++) {
            start[i] = vtac_make_slice(m, states[i], 0, layer * r.directions, (layer + 1) * r.directions);
        }
        x = layer_of(im, &r, layer, x, start, last);
        lasts[0][layer] = last[0];
        lasts[1][layer] = last[1];
    }
    vtac_torch_value out[3] = {
        vtac_torch_tensor_of(im, first ? vtac_make_transpose(m, x, (int64_t[]){1, 0, 2}, 3) : x)};
    for (uint32_t i = 0; i < kinds; i++) {
        out[i + 1] = vtac_torch_tensor_of(im, vtac_make_concat(m, lasts[i], (uint32_t)r.layers, 0));
    }
    return vtac_torch_list_value(im, TORCH_TUPLE, out, kinds + 1);
}

/* ---- attention */

/* Part i of three of x [batch][steps][3 * size] as [batch][heads][steps][each]. */
static vtac_id head_part(vtac_torch *im, vtac_id x, int64_t i, int64_t heads)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type type = vtac_made_type(m, x);
    const int64_t size = type.dim[2] / 3;
    x = vtac_make_slice(m, x, 2, i * size, (i + 1) * size);
    x = vtac_make_reshape(m, x, (int64_t[]){type.dim[0], type.dim[1], heads, size / heads}, 4);
    return vtac_make_transpose(m, x, (int64_t[]){0, 2, 1, 3}, 4);
}

/* Attention of x to itself by packed weights, with the product behind it. 0: a failure. */
static vtac_id attend(vtac_torch *im, vtac_id x, int64_t heads)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type type = vtac_made_type(m, x);
    if (m->status != VTA_OK || type.rank != 3 || heads < 1 || type.dim[2] % heads != 0 ||
        vtac_torch_has(im, "mask")) {
        vtac_torch_refuse(im, "attention with a mask, or of %lld heads over rank %u", (long long)heads,
                          type.rank);
        return 0;
    }
    const vtac_id all =
        vtac_torch_linear(im, x, vtac_torch_in(im, "qkv_weight"), vtac_torch_in_or_none(im, "qkv_bias"));
    if (m->status != VTA_OK || vtac_made_type(m, all).dim[2] != 3 * type.dim[2]) {
        vtac_torch_refuse(im, "queries, keys and values of different sizes");
        return 0;
    }
    vtac_id s = vtac_torch_with(im, VTAC_OP_MUL, head_part(im, all, 0, heads),
                                sqrt((double)heads / (double)type.dim[2]));
    const vtac_attr last = vtac_attr_of_int("axis", -1);
    s = vtac_make2(m, VTAC_OP_MATMUL, s,
                   vtac_make_transpose(m, head_part(im, all, 1, heads), (int64_t[]){0, 1, 3, 2}, 4));
    s = vtac_make(m, VTAC_OP_SOFTMAX, &s, 1, &last, 1);
    vtac_id y = vtac_make2(m, VTAC_OP_MATMUL, s, head_part(im, all, 2, heads));
    y = vtac_make_reshape(m, vtac_make_transpose(m, y, (int64_t[]){0, 2, 1, 3}, 4), type.dim, 3);
    return vtac_torch_linear(im, y, vtac_torch_in(im, "proj_weight"), vtac_torch_in_or_none(im, "proj_bias"));
}

vtac_torch_value vtac_torch_make_multi_head(vtac_torch *im, int32_t how)
{
    const vtac_id x = vtac_torch_in(im, "query");
    (void)how;
    if (vtac_torch_in(im, "key") != x || vtac_torch_in(im, "value") != x ||
        vtac_torch_flag(im, "need_weights", true)) {
        vtac_torch_refuse(im, "attention to another tensor, or whose weights are a result");
    }
    const vtac_torch_value out[] = {
        vtac_torch_tensor_of(im, attend(im, x, vtac_torch_int(im, "num_heads", 1))), vtac_torch_none};
    return vtac_torch_list_value(im, TORCH_TUPLE, out, 2);
}

static vtac_id norm_of(vtac_torch *im, vtac_id x, const char *weight, const char *bias)
{
    const vtac_attr attrs[] = {vtac_attr_of_int("axis", -1),
                               vtac_attr_of_float("epsilon", vtac_torch_float(im, "eps", 1e-5))};
    const vtac_id in[] = {x, vtac_torch_in(im, weight), vtac_torch_in(im, bias)};
    return vtac_make(&im->maker, VTAC_OP_LAYER_NORMALIZATION, in, 3, attrs, 2);
}

static vtac_id feed_forward(vtac_torch *im, vtac_id x)
{
    const vtac_id h =
        vtac_torch_linear(im, x, vtac_torch_in(im, "ffn_weight_1"), vtac_torch_in(im, "ffn_bias_1"));
    const vtac_op op = vtac_torch_flag(im, "use_gelu", false) ? VTAC_OP_GELU : VTAC_OP_RELU;
    return vtac_torch_linear(im, vtac_make1(&im->maker, op, h), vtac_torch_in(im, "ffn_weight_2"),
                             vtac_torch_in(im, "ffn_bias_2"));
}

vtac_torch_value vtac_torch_make_encoder(vtac_torch *im, int32_t how)
{
    vtac_import_builder *m = &im->maker;
    const bool before = vtac_torch_flag(im, "norm_first", false);
    const int64_t heads = vtac_torch_int(im, "num_heads", 1);
    vtac_id x = vtac_torch_in(im, "src");
    (void)how;
    vtac_id y = attend(im, before ? norm_of(im, x, "norm_weight_1", "norm_bias_1") : x, heads);
    x = vtac_make2(m, VTAC_OP_ADD, x, y);
    x = before ? x : norm_of(im, x, "norm_weight_1", "norm_bias_1");
    y = feed_forward(im, before ? norm_of(im, x, "norm_weight_2", "norm_bias_2") : x);
    x = vtac_make2(m, VTAC_OP_ADD, x, y);
    return vtac_torch_tensor_of(im, before ? x : norm_of(im, x, "norm_weight_2", "norm_bias_2"));
}
