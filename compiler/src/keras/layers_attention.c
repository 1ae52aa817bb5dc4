/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention: of several heads with weights of their own, of one by products, of one by sums.
 */
#include <math.h>
#include <string.h>

#include "keras.h"

/* Query, key and value [batch][steps][size] among the inputs (query, value, key or not); false: not so. */
static bool inputs_of(vtac_keras *k, vtac_id *in)
{
    static const uint32_t order[] = {0, 2, 1};
    static const char *const masks[] = {"attention_mask", "mask", "query_mask", "value_mask", "key_mask"};
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
        const cJSON *given = cJSON_GetObjectItemCaseSensitive(k->kwargs, masks[i]);
        if (cJSON_IsObject(given) || cJSON_IsArray(given)) {
            vtac_make_refuse(&k->maker, "the argument '%s'", masks[i]);
            return false;
        }
    }
    if (k->in_count < 2 || k->in_count > 3) {
        vtac_make_refuse(&k->maker, "attention over %u inputs, 2 or 3 are expected", k->in_count);
        return false;
    }
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t from = order[i] < k->in_count ? order[i] : 1;
        in[i] = vtac_keras_plain(k, &k->in[from]);
        if (k->maker.status != VTA_OK || vtac_made_type(&k->maker, in[i]).rank != 3) {
            vtac_make_refuse(&k->maker,
                             "attention over inputs that are not [batch][steps][size], or with a mask");
            return false;
        }
    }
    return true;
}

/* Masks the scores [...][steps][places] of later places. */
static vtac_id without_later(vtac_keras *k, vtac_id s)
{
    vtac_import_builder *m = &k->maker;
    const vtac_type type = vtac_made_type(m, s);
    const int64_t rows = m->status == VTA_OK ? type.dim[type.rank - 2] : 0;
    const int64_t columns = m->status == VTA_OK ? type.dim[type.rank - 1] : 0;
    const vtac_type shape = {VTAC_F32, 2, {rows, columns}};
    float *far = vtac_make_room(m, vtac_type_elements(&shape), sizeof *far);
    for (int64_t i = 0; far != NULL && i < rows * columns; i++) {
        far[i] = i % columns > i / columns ? -1e9F : 0.0F;
    }
    return far == NULL ? 0 : vtac_make2(m, VTAC_OP_ADD, s, vtac_make_borrowed(m, &shape, far));
}

static bool is_causal(const vtac_keras *k)
{
    return cJSON_IsTrue(vtac_keras_option(k, "use_causal_mask")) ||
           cJSON_IsTrue(vtac_keras_option(k, "causal")) ||
           cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(k->kwargs, "use_causal_mask"));
}

static vtac_id softmax_of(vtac_keras *k, vtac_id x)
{
    const vtac_attr axis = vtac_attr_of_int("axis", -1);
    return vtac_make(&k->maker, VTAC_OP_SOFTMAX, &x, 1, &axis, 1);
}

/* [batch][steps][size] by weights [size][heads][each]: [batch][heads][steps][each] */
static vtac_id heads_of(vtac_keras *k, vtac_id x, uint32_t weight, int64_t heads, int64_t each)
{
    vtac_import_builder *m = &k->maker;
    const vtac_type type = vtac_made_type(m, x);
    const bool biased = vtac_keras_bool(k, "use_bias", true);
    const vtac_tensor *w = vtac_keras_weight(k, weight, 3);
    if (m->status != VTA_OK || w->type.dim[0] != type.dim[2] || w->type.dim[1] != heads ||
        w->type.dim[2] != each) {
        vtac_make_fail(m, VTA_INVALID, "its weights do not fit %lld heads of %lld", (long long)heads,
                       (long long)each);
        return 0;
    }
    const int64_t flat[] = {type.dim[2], heads * each};
    vtac_id y = vtac_make2(m, VTAC_OP_MATMUL, x, vtac_make_reshape(m, vtac_keras_constant(k, w), flat, 2));
    if (biased) {
        const vtac_id bias = vtac_keras_constant(k, vtac_keras_weight(k, weight + 1, 2));
        y = vtac_make2(m, VTAC_OP_ADD, y, vtac_make_reshape(m, bias, flat + 1, 1));
    }
    y = vtac_make_reshape(m, y, (int64_t[]){type.dim[0], type.dim[1], heads, each}, 4);
    return vtac_make_transpose(m, y, (int64_t[]){0, 2, 1, 3}, 4);
}

/* [batch][heads][steps][each]: every head `times` times, one behind the other. */
static vtac_id repeat_heads(vtac_keras *k, vtac_id x, int64_t heads, int64_t times)
{
    if (times == 1) {
        return x;
    }
    const vtac_type type = {VTAC_I64, 1, {heads * times}};
    const vtac_attr axis = vtac_attr_of_int("axis", 1);
    int64_t *places = vtac_make_room(&k->maker, heads * times, sizeof *places);
    for (int64_t i = 0; places != NULL && i < heads * times; i++) {
        places[i] = i / times;
    }
    const vtac_id in[] = {x, places == NULL ? 0 : vtac_make_borrowed(&k->maker, &type, places)};
    return vtac_make(&k->maker, VTAC_OP_GATHER, in, 2, &axis, 1);
}

/* Weights: of query, key, value, result, each with a bias or without. how: "grouped", heads of the query
 * share those of key and value. */
vtac_keras_value vtac_keras_make_multi_head(vtac_keras *k, const void *how)
{
    const bool grouped = how != NULL;
    vtac_import_builder *m = &k->maker;
    vtac_id in[3];
    const int64_t heads = vtac_keras_int(k, grouped ? "num_query_heads" : "num_heads", 0);
    const int64_t shared = grouped ? vtac_keras_int(k, "num_key_value_heads", 0) : heads;
    const int64_t each = vtac_keras_int(k, grouped ? "head_dim" : "key_dim", 0);
    const int64_t valued = vtac_keras_int(k, "value_dim", each);
    const uint32_t step = vtac_keras_bool(k, "use_bias", true) ? 2 : 1;
    if (!inputs_of(k, in)) {
        return vtac_keras_as_plain(0);
    }
    if (heads < 1 || each < 1 || valued < 1 || heads > 1 << 16 || each > 1 << 16 || valued > 1 << 16 ||
        shared < 1 || heads % shared != 0) {
        vtac_make_refuse(&k->maker, "%lld heads of %lld", (long long)heads, (long long)each);
        return vtac_keras_as_plain(0);
    }
    const vtac_id q = heads_of(k, in[0], 0, heads, each);
    const vtac_id key = repeat_heads(k, heads_of(k, in[1], step, shared, each), shared, heads / shared);
    const vtac_id v = repeat_heads(k, heads_of(k, in[2], 2 * step, shared, valued), shared, heads / shared);
    vtac_id s = vtac_make2(m, VTAC_OP_MUL, q, vtac_keras_number(k, 1.0 / sqrt((double)each)));
    s = vtac_make2(m, VTAC_OP_MATMUL, s, vtac_make_transpose(m, key, (int64_t[]){0, 1, 3, 2}, 4));
    s = softmax_of(k, is_causal(k) ? without_later(k, s) : s);
    vtac_id y = vtac_make_transpose(m, vtac_make2(m, VTAC_OP_MATMUL, s, v), (int64_t[]){0, 2, 1, 3}, 4);
    const vtac_type type = vtac_made_type(m, y);
    y = vtac_make_reshape(m, y, (int64_t[]){type.dim[0], type.dim[1], heads * valued}, 3);
    const vtac_tensor *w = vtac_keras_weight(k, 3 * step, 3);
    if (m->status != VTA_OK || w->type.dim[0] != heads || w->type.dim[1] != valued) {
        vtac_make_fail(m, VTA_INVALID, "its weights do not fit %lld heads of %lld", (long long)heads,
                       (long long)valued);
        return vtac_keras_as_plain(0);
    }
    y = vtac_make2(
        m, VTAC_OP_MATMUL, y,
        vtac_make_reshape(m, vtac_keras_constant(k, w), (int64_t[]){heads * valued, w->type.dim[2]}, 2));
    return vtac_keras_as_plain(
        step == 2 ? vtac_make2(m, VTAC_OP_ADD, y, vtac_keras_constant(k, vtac_keras_weight(k, 7, 1))) : y);
}

/* how: "dot", or "add"; a weight scales the scores where there is one */
vtac_keras_value vtac_keras_make_attention(vtac_keras *k, const void *how)
{
    vtac_import_builder *m = &k->maker;
    vtac_id in[3];
    const bool sums = strcmp(how, "add") == 0;
    const bool scaled = vtac_keras_bool(k, "use_scale", sums);
    if (strcmp(vtac_keras_text(k, "score_mode", "dot"), "dot") != 0) {
        vtac_make_refuse(&k->maker, "scores other than products");
        return vtac_keras_as_plain(0);
    }
    if (!inputs_of(k, in)) {
        return vtac_keras_as_plain(0);
    }
    vtac_id s;
    if (sums) {
        const vtac_type q = vtac_made_type(m, in[0]);
        const vtac_type v = vtac_made_type(m, in[1]);
        const int64_t last[] = {3};
        s = vtac_make2(m, VTAC_OP_ADD,
                       vtac_make_reshape(m, in[0], (int64_t[]){q.dim[0], q.dim[1], 1, q.dim[2]}, 4),
                       vtac_make_reshape(m, in[1], (int64_t[]){v.dim[0], 1, v.dim[1], v.dim[2]}, 4));
        s = vtac_make1(m, VTAC_OP_TANH, s);
        s = scaled ? vtac_make2(m, VTAC_OP_MUL, s, vtac_keras_constant(k, vtac_keras_weight(k, 0, 1))) : s;
        s = vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, s, last, 1, false);
    } else {
        s = vtac_make2(m, VTAC_OP_MATMUL, in[0], vtac_make_transpose(m, in[1], (int64_t[]){0, 2, 1}, 3));
        s = scaled ? vtac_make2(m, VTAC_OP_MUL, s, vtac_keras_constant(k, vtac_keras_weight(k, 0, 0))) : s;
    }
    s = softmax_of(k, is_causal(k) ? without_later(k, s) : s);
    return vtac_keras_as_plain(vtac_make2(m, VTAC_OP_MATMUL, s, in[2]));
}
