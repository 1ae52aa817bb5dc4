/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention and what stands around it in language models: rotated positions, linear attention, causal
 * convolutions.
 */
#include <math.h>
#include <string.h>

#include "compose.h"

/* [B, S, heads * d] as [B, heads, S, d]; a value of four axes stays. */
static vtac_value_id to_heads(vtac_compose *c, vtac_value_id x, int64_t heads)
{
    static const int64_t order[] = {0, 2, 1, 3};
    const vtac_type type = *vtac_c_type(c, x);
    if (type.rank == 4) {
        return x;
    }
    if (type.rank != 3 || heads < 1 || type.dim[2] % heads != 0) {
        return vtac_compose_fail(c, VTA_INVALID, "an operand of %u axes does not part in %lld heads",
                                 type.rank, (long long)heads);
    }
    const int64_t parted[] = {type.dim[0], type.dim[1], heads, type.dim[2] / heads};
    return vtac_c_transpose(c, vtac_c_reshape(c, x, parted, 4), order, 4);
}

static vtac_value_id from_heads(vtac_compose *c, vtac_value_id x)
{
    static const int64_t order[] = {0, 2, 1, 3};
    const vtac_type type = *vtac_c_type(c, x);
    const int64_t joined[] = {type.dim[0], type.dim[2], type.dim[1] * type.dim[3]};
    return vtac_c_reshape(c, vtac_c_transpose(c, x, order, 4), joined, 3);
}

/* Each of the heads `times` times, one behind the other. */
static vtac_value_id repeat_heads(vtac_compose *c, vtac_value_id x, int64_t times)
{
    const vtac_type type = *vtac_c_type(c, x);
    const int64_t *d = type.dim;
    if (times == 1 || c->status != VTA_OK) {
        return x;
    }
    const int64_t wide[] = {d[0], d[1], times, d[2], d[3]};
    const int64_t joined[] = {d[0], d[1] * times, d[2], d[3]};
    return vtac_c_reshape(c, vtac_c_expand(c, vtac_c_unsqueeze(c, x, 2), wide, 5), joined, 4);
}

static vtac_value_id append(vtac_compose *c, vtac_value_id past, vtac_value_id x)
{
    const vtac_value_id parts[] = {past, x};
    return past == 0 ? x : vtac_c_concat(c, parts, 2, 2);
}

/* 0 where a condition holds, -infinity (or `low`) elsewhere. */
static vtac_value_id penalty(vtac_compose *c, vtac_value_id allowed, vtac_dtype dtype, double low)
{
    return vtac_c_where(c, allowed, vtac_c_number(c, dtype, 0.0), vtac_c_number(c, dtype, low));
}

/* 0, 1 ... along axis `axis` of `rank`. */
static vtac_value_id places(vtac_compose *c, int64_t count, uint32_t axis, uint32_t rank)
{
    int64_t dim[VTAC_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) {
        dim[i] = i == axis ? count : 1;
    }
    return vtac_c_reshape(c, vtac_c_range(c, VTAC_I64, count), dim, rank);
}

/* Which keys the queries see: those up to the own place, of which `offset` more come before. */
static vtac_value_id causal(vtac_compose *c, int64_t queries, int64_t keys, vtac_value_id offset)
{
    const vtac_value_id own = vtac_c_add(c, places(c, queries, 2, 4), offset);
    return vtac_c_at_most(c, places(c, keys, 3, 4), own);
}

static vtac_value_id sum_of(vtac_compose *c, vtac_value_id a, vtac_value_id b)
{
    return a == 0 ? b : b == 0 ? a : vtac_c_add(c, a, b);
}

typedef struct attending {
    vtac_value_id q, k, v; /* [B, heads, S, d]; as many heads in k and v, or a divisor of them */
    vtac_value_id bias;    /* added to the products, 0: none */
    double scale;          /* of the products, 0: of the size of a head */
    double softcap;
    vtac_dtype precision; /* of the softmax */
    int64_t give; /* which product `products` is: 0 plain, 1 capped, 2 with the bias, 3 after the softmax */
    vtac_value_id products;
} attending;

/* softmax(cap(q k' scale) + bias) v */
static vtac_value_id attend(vtac_compose *c, attending *a)
{
    static const int64_t turned[] = {0, 1, 3, 2};
    const int64_t heads = vtac_c_dim(c, a->q, 1);
    const int64_t own = vtac_c_dim(c, a->k, 1);
    const vtac_dtype type = vtac_c_dtype(c, a->q);
    if (own < 1 || heads % own != 0) {
        return vtac_compose_fail(c, VTA_INVALID, "%lld heads of queries over %lld of keys", (long long)heads,
                                 (long long)own);
    }
    const double scale = a->scale != 0.0 ? a->scale : 1.0 / sqrt((double)vtac_c_dim(c, a->q, 3));
    const vtac_value_id k = repeat_heads(c, a->k, heads / own);
    const vtac_value_id v = repeat_heads(c, a->v, heads / own);
    const double root = sqrt(fabs(scale)); /* on both sides, so that half precision does not overflow */
    const vtac_value_id left = vtac_c_mul_number(c, a->q, scale < 0.0 ? -root : root);
    const vtac_value_id right = vtac_c_mul_number(c, vtac_c_transpose(c, k, turned, 4), root);
    vtac_value_id x = vtac_c_matmul(c, left, right);
    a->products = x;
    if (a->softcap > 0.0) {
        x = vtac_c_mul_number(c, vtac_c_tanh(c, vtac_c_div_number(c, x, a->softcap)), a->softcap);
    }
    a->products = a->give == 1 ? x : a->products;
    x = sum_of(c, x, a->bias);
    a->products = a->give == 2 ? x : a->products;
    x = vtac_c_softmax(c, vtac_c_cast(c, x, a->precision), -1);
    a->products = a->give == 3 ? vtac_c_cast(c, x, type) : a->products;
    return vtac_c_cast(c, vtac_c_matmul(c, x, vtac_c_cast(c, v, a->precision)), type);
}

/* The mask as numbers to add, as wide as there are keys: what it does not name is not seen. */
static vtac_value_id mask_bias(vtac_compose *c, vtac_value_id mask, int64_t keys, vtac_dtype type)
{
    if (mask == 0) {
        return 0;
    }
    vtac_value_id bias =
        vtac_c_dtype(c, mask) == VTAC_BOOL ? penalty(c, mask, type, -HUGE_VAL) : vtac_c_cast(c, mask, type);
    const uint32_t rank = vtac_c_rank(c, bias);
    const int64_t given = rank == 0 ? keys : vtac_c_dim(c, bias, rank - 1);
    if (given < keys && given != 1) {
        int64_t pads[2 * VTAC_MAX_RANK] = {0};
        pads[2 * rank - 1] = keys - given;
        const vtac_value_id list = vtac_c_ints(c, pads, 2 * rank);
        bias = vtac_c3(c, VTAC_OP_PAD, bias, list, vtac_c_number(c, type, -HUGE_VAL));
    }
    return bias;
}

/* Q, K, V, mask, past_key, past_value, nonpad_kv_seqlen */
void vtac_composed_attention(vtac_compose *c, vtac_value_id *out)
{
    const bool flat = vtac_c_rank(c, vtac_c_in(c, 0)) == 3;
    attending a = {.scale = vtac_c_float(c, "scale", 0.0),
                   .softcap = vtac_c_float(c, "softcap", 0.0),
                   .give = vtac_c_int(c, "qk_matmul_output_mode", 0)};
    a.q = to_heads(c, vtac_c_in(c, 0), vtac_c_int(c, "q_num_heads", 0));
    a.k = to_heads(c, vtac_c_in(c, 1), vtac_c_int(c, "kv_num_heads", 0));
    a.v = to_heads(c, vtac_c_in(c, 2), vtac_c_int(c, "kv_num_heads", 0));
    const int64_t own = vtac_c_dim(c, a.k, 2);
    a.k = append(c, vtac_c_has(c, 4) ? vtac_c_in(c, 4) : 0, a.k);
    a.v = append(c, vtac_c_has(c, 5) ? vtac_c_in(c, 5) : 0, a.v);
    const vtac_dtype type = vtac_c_dtype(c, a.q);
    const char *precision = vtac_c_string(c, "softmax_precision", "");
    a.precision = vtac_dtype_parse(precision) == VTAC_NO_DTYPE ? type : vtac_dtype_parse(precision);
    const int64_t queries = vtac_c_dim(c, a.q, 2);
    const int64_t keys = vtac_c_dim(c, a.k, 2);
    a.bias = mask_bias(c, vtac_c_has(c, 3) ? vtac_c_in(c, 3) : 0, keys, type);
    vtac_value_id used = 0; /* of the keys of each batch */
    if (vtac_c_has(c, 6)) {
        const int64_t column[] = {-1, 1, 1, 1};
        used = vtac_c_reshape(c, vtac_c_cast(c, vtac_c_in(c, 6), VTAC_I64), column, 4);
    }
    if (vtac_c_int(c, "is_causal", 0) != 0) {
        const vtac_value_id offset = used != 0 && !vtac_c_has(c, 4)
                                         ? vtac_c_sub_number(c, used, (double)queries)
                                         : vtac_c_number(c, VTAC_I64, (double)(keys - own));
        a.bias = sum_of(c, a.bias, penalty(c, causal(c, queries, keys, offset), type, -HUGE_VAL));
    }
    if (used != 0) {
        a.bias = sum_of(c, a.bias, penalty(c, vtac_c_less(c, places(c, keys, 3, 4), used), type, -HUGE_VAL));
    }
    const vtac_value_id y = attend(c, &a);
    out[0] = flat ? from_heads(c, y) : y;
    out[1] = a.k;
    out[2] = a.v;
    out[3] = a.products;
}

/* ---- positions */

/* [.., 2n] in its halves, or its even and odd places */
static void halves(vtac_compose *c, vtac_value_id x, bool interleaved, vtac_value_id *a, vtac_value_id *b)
{
    const vtac_type type = *vtac_c_type(c, x);
    const uint32_t last = type.rank - 1;
    const int64_t half = type.dim[last] / 2;
    if (!interleaved) {
        *a = vtac_c_slice(c, x, last, 0, half);
        *b = vtac_c_slice(c, x, last, half, 2 * half);
        return;
    }
    vtac_type pairs = type;
    pairs.rank++;
    pairs.dim[last] = half;
    pairs.dim[last + 1] = 2;
    const vtac_value_id parted = vtac_c_like(c, x, &pairs);
    *a = vtac_c_squeeze(c, vtac_c_slice(c, parted, last + 1, 0, 1), last + 1);
    *b = vtac_c_squeeze(c, vtac_c_slice(c, parted, last + 1, 1, 2), last + 1);
}

/* x as [B, heads, S, d]; cos and sin as [B or 1, S, r / 2]: the first r places of each head are turned. */
static vtac_value_id rotate(vtac_compose *c, vtac_value_id x, vtac_value_id cosine, vtac_value_id sine,
                            bool interleaved)
{
    const vtac_type type = *vtac_c_type(c, x);
    const int64_t turned = 2 * vtac_c_dim(c, cosine, 2);
    if (c->status == VTA_OK && turned > type.dim[3]) {
        return vtac_compose_fail(c, VTA_INVALID, "it turns %lld of %lld places", (long long)turned,
                                 (long long)type.dim[3]);
    }
    const vtac_value_id head = vtac_c_slice(c, x, 3, 0, turned);
    const vtac_value_id rest = turned < type.dim[3] ? vtac_c_slice(c, x, 3, turned, type.dim[3]) : 0;
    vtac_value_id a;
    vtac_value_id b;
    halves(c, head, interleaved, &a, &b);
    cosine = vtac_c_unsqueeze(c, cosine, 1);
    sine = vtac_c_unsqueeze(c, sine, 1);
    vtac_value_id real = vtac_c_sub(c, vtac_c_mul(c, cosine, a), vtac_c_mul(c, sine, b));
    vtac_value_id imaginary = vtac_c_add(c, vtac_c_mul(c, sine, a), vtac_c_mul(c, cosine, b));
    if (interleaved) {
        real = vtac_c_unsqueeze(c, real, 4);
        imaginary = vtac_c_unsqueeze(c, imaginary, 4);
    }
    const vtac_value_id parts[] = {real, imaginary};
    const vtac_type shape = *vtac_c_type(c, head);
    const vtac_value_id y = vtac_c_like(c, vtac_c_concat(c, parts, 2, interleaved ? 4 : 3), &shape);
    const vtac_value_id whole[] = {y, rest};
    return rest == 0 ? y : vtac_c_concat(c, whole, 2, 3);
}

/* X, cos_cache, sin_cache, position_ids */
void vtac_composed_rotary_embedding(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id x = vtac_c_in(c, 0);
    const bool flat = vtac_c_rank(c, x) == 3;
    vtac_value_id cosine = vtac_c_in(c, 1);
    vtac_value_id sine = vtac_c_in(c, 2);
    if (vtac_c_has(c, 3)) {
        cosine = vtac_c_gather(c, cosine, vtac_c_in(c, 3), 0);
        sine = vtac_c_gather(c, sine, vtac_c_in(c, 3), 0);
    }
    if (c->status == VTA_OK && (vtac_c_rank(c, cosine) != 3 || vtac_c_rank(c, sine) != 3)) {
        (void)vtac_compose_fail(c, VTA_INVALID,
                                "the caches need [batch, place, half] without position_ids, "
                                "[place, half] with them");
        return;
    }
    const vtac_value_id y = rotate(c, to_heads(c, x, vtac_c_int(c, "num_heads", 0)), cosine, sine,
                                   vtac_c_int(c, "interleaved", 0) != 0);
    out[0] = flat ? from_heads(c, y) : y;
}

/* input, position_ids, cos_cache, sin_cache; one position id is that of the first place */
void vtac_composed_ms_rotary_embedding(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id x = vtac_c_in(c, 0);
    const bool flat = vtac_c_rank(c, x) == 3;
    vtac_value_id ids = vtac_c_in(c, 1);
    int64_t heads = vtac_c_int(c, "num_heads", 0);
    const int64_t half = vtac_c_dim(c, vtac_c_in(c, 2), 1);
    if (flat && heads == 0 && half > 0) {
        heads = vtac_c_dim(c, x, 2) / (2 * half);
    }
    const vtac_value_id parted = to_heads(c, x, heads);
    if (vtac_c_rank(c, ids) == 1) {
        const int64_t row[] = {1, -1};
        ids = vtac_c_add(c, vtac_c_reshape(c, ids, row, 2),
                         vtac_c_reshape(c, vtac_c_range(c, VTAC_I64, vtac_c_dim(c, parted, 2)), row, 2));
    }
    const vtac_value_id y =
        rotate(c, parted, vtac_c_gather(c, vtac_c_in(c, 2), ids, 0),
               vtac_c_gather(c, vtac_c_in(c, 3), ids, 0), vtac_c_int(c, "interleaved", 0) != 0);
    out[0] = flat ? from_heads(c, y) : y;
}

/* ---- linear attention: query, key, value, past_state, decay, beta, erase_gate; one step after the other */

static vtac_value_id at_step(vtac_compose *c, vtac_value_id x, int64_t t)
{
    return vtac_c_slice(c, x, 2, t, t + 1); /* [B, H, 1, d] */
}

static vtac_value_id gate(vtac_compose *c, uint32_t input, int64_t heads)
{
    const vtac_value_id x = vtac_c_in(c, input);
    const int64_t size = vtac_c_dim(c, x, 2);
    return vtac_c_cast(c, to_heads(c, x, size < heads ? size : heads), VTAC_F32);
}

void vtac_composed_linear_attention(vtac_compose *c, vtac_value_id *out)
{
    static const int64_t turned[] = {0, 1, 3, 2};
    const int64_t own = vtac_c_int(c, "kv_num_heads", 0);
    const int64_t heads = vtac_c_int(c, "q_num_heads", 0);
    const char *rule = vtac_c_string(c, "update_rule", "gated_delta");
    const bool gated = strncmp(rule, "gated", 5) == 0;
    const bool delta = strcmp(rule, "delta") == 0 || strcmp(rule, "gated_delta") == 0;
    if (own < 1 || heads % own != 0 || gated != vtac_c_has(c, 4) || delta != vtac_c_has(c, 5)) {
        (void)vtac_compose_fail(c, VTA_INVALID, "its heads or inputs do not fit the rule '%.32s'", rule);
        return;
    }
    const vtac_dtype type = vtac_c_dtype(c, vtac_c_in(c, 0));
    const vtac_value_id q = vtac_c_cast(c, to_heads(c, vtac_c_in(c, 0), heads), VTAC_F32);
    const vtac_value_id k = vtac_c_cast(c, to_heads(c, vtac_c_in(c, 1), own), VTAC_F32);
    const vtac_value_id v = vtac_c_cast(c, to_heads(c, vtac_c_in(c, 2), own), VTAC_F32);
    const int64_t size[] = {vtac_c_dim(c, q, 0), own, vtac_c_dim(c, k, 3), vtac_c_dim(c, v, 3)};
    const int64_t steps = vtac_c_dim(c, q, 2);
    const double given = vtac_c_float(c, "scale", 0.0);
    const double scale = given != 0.0 ? given : 1.0 / sqrt((double)size[2]);
    const vtac_value_id decay = gated ? vtac_c_exp(c, gate(c, 4, own)) : 0;
    const vtac_value_id beta = delta ? gate(c, 5, own) : 0;
    const vtac_value_id erase = vtac_c_has(c, 6) ? gate(c, 6, own) : 0;
    vtac_value_id state = vtac_c_has(c, 3) ? vtac_c_cast(c, vtac_c_in(c, 3), VTAC_F32)
                                           : vtac_c_expand(c, vtac_c_number(c, VTAC_F32, 0.0), size, 4);
    vtac_value_id rows[VTAC_MOST_INPUTS];
    if (steps < 1 || steps > VTAC_MOST_INPUTS) {
        (void)vtac_compose_fail(c, VTA_UNSUPPORTED, "%lld steps are not 1 to %d", (long long)steps,
                                VTAC_MOST_INPUTS);
        return;
    }
    for (int64_t t = 0; t < steps && c->status == VTA_OK; t++) {
        const vtac_value_id kt = at_step(c, k, t);
        vtac_value_id vt = at_step(c, v, t);
        if (gated) { /* [B, H, 1, d or 1] down the rows of the state */
            state = vtac_c_mul(c, state, vtac_c_transpose(c, at_step(c, decay, t), turned, 4));
        }
        if (delta) {
            const vtac_value_id erased = erase == 0 ? kt : vtac_c_mul(c, at_step(c, erase, t), kt);
            vt = vtac_c_mul(c, at_step(c, beta, t), vtac_c_sub(c, vt, vtac_c_matmul(c, erased, state)));
        }
        state = vtac_c_add(c, state, vtac_c_mul(c, vtac_c_transpose(c, kt, turned, 4), vt));
        rows[t] = vtac_c_matmul(c, at_step(c, q, t), repeat_heads(c, state, heads / own));
    }
    const vtac_value_id y = vtac_c_mul_number(c, vtac_c_concat(c, rows, (uint32_t)steps, 2), scale);
    out[0] = vtac_c_cast(c, from_heads(c, y), type);
    out[1] = vtac_c_cast(c, state, vtac_c_has(c, 3) ? vtac_c_dtype(c, vtac_c_in(c, 3)) : type);
}

/* x, weight [C, 1, k], bias, past_state [B, C, k - 1] */
void vtac_composed_causal_conv(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id x = vtac_c_in(c, 0);
    const vtac_value_id weight = vtac_c_in(c, 1);
    const char *activation = vtac_c_string(c, "activation", "none");
    if (!vtac_c_expect_rank(c, 0, 3) || !vtac_c_expect_rank(c, 1, 3)) {
        return;
    }
    const int64_t before = vtac_c_dim(c, weight, 2) - 1;
    const vtac_value_id parts[] = {vtac_c_has(c, 3) ? vtac_c_in(c, 3) : 0, x};
    const vtac_value_id whole =
        parts[0] == 0 ? vtac_c_pad(c, x, 2, before, 0) : vtac_c_concat(c, parts, 2, 2);
    const vtac_value_id inputs[] = {whole, weight, vtac_c_has(c, 2) ? vtac_c_in(c, 2) : 0};
    vtac_c_set_int(c, "group", vtac_c_dim(c, x, 1));
    out[0] = vtac_c_node(c, VTAC_OP_CONV, inputs, inputs[2] == 0 ? 2 : 3);
    if (activation[0] == 's') { /* silu, swish */
        out[0] = vtac_c_mul(c, out[0], vtac_c_sigmoid(c, out[0]));
    }
    const int64_t places_now = vtac_c_dim(c, whole, 2);
    out[1] = vtac_c_slice(c, whole, 2, places_now - before, places_now);
}

/* ---- com.microsoft */

static vtac_value_id optional(vtac_compose *c, uint32_t i)
{
    return vtac_c_has(c, i) ? vtac_c_in(c, i) : 0;
}

/* query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value */
void vtac_composed_multi_head_attention(vtac_compose *c, vtac_value_id *out)
{
    const int64_t heads = vtac_c_int(c, "num_heads", 0);
    vtac_value_id x[3];
    if (!vtac_c_has(c, 1) || !vtac_c_has(c, 2)) {
        (void)vtac_compose_fail(c, VTA_UNSUPPORTED, "packed queries, keys and values are not supported");
        return;
    }
    int64_t from = 0;
    for (uint32_t i = 0; i < 3; i++) {
        x[i] = vtac_c_in(c, i);
        if (vtac_c_has(c, 3) && vtac_c_rank(c, x[i]) == 3) {
            const int64_t size = vtac_c_dim(c, x[i], 2);
            x[i] = vtac_c_add(c, x[i], vtac_c_slice(c, vtac_c_in(c, 3), 0, from, from + size));
            from += size;
        }
        x[i] = to_heads(c, x[i], heads);
    }
    attending a = {.q = x[0], .scale = vtac_c_float(c, "scale", 0.0), .precision = vtac_c_dtype(c, x[0])};
    const int64_t own = vtac_c_dim(c, x[1], 2);
    a.k = append(c, optional(c, 6), x[1]);
    a.v = append(c, optional(c, 7), x[2]);
    const vtac_dtype type = a.precision;
    const int64_t keys = vtac_c_dim(c, a.k, 2);
    const double low = vtac_c_float(c, "mask_filter_value", -10000.0);
    if (vtac_c_has(c, 4)) { /* [B]: how many are seen; [B, keys]: which; [B, queries, keys] */
        vtac_value_id mask = vtac_c_cast(c, vtac_c_in(c, 4), VTAC_I64);
        const vtac_type given = *vtac_c_type(c, mask);
        const int64_t rows[] = {given.dim[0], 1, given.rank == 3 ? given.dim[1] : 1,
                                given.rank == 1 ? 1 : given.dim[given.rank - 1]};
        if (c->status == VTA_OK &&
            (given.rank < 1 || given.rank > 3 || (given.rank > 1 && rows[3] != keys))) {
            (void)vtac_compose_fail(c, VTA_UNSUPPORTED, "this form of the key padding mask is not supported");
            return;
        }
        mask = vtac_c_reshape(c, mask, rows, 4);
        const vtac_value_id seen =
            given.rank == 1 ? vtac_c_less(c, places(c, keys, 3, 4), mask) : vtac_c_more_number(c, mask, 0.0);
        a.bias = penalty(c, seen, type, low);
    }
    a.bias = sum_of(c, a.bias, optional(c, 5));
    if (vtac_c_int(c, "unidirectional", 0) != 0) {
        const vtac_value_id offset = vtac_c_number(c, VTAC_I64, (double)(keys - own));
        a.bias =
            sum_of(c, a.bias, penalty(c, causal(c, vtac_c_dim(c, a.q, 2), keys, offset), type, -HUGE_VAL));
    }
    out[0] = from_heads(c, attend(c, &a));
    out[1] = a.k;
    out[2] = a.v;
    out[3] = a.products;
}

/* input [B, S, n], weights [n, 3 h], bias [3 h], mask_index, past [2, B, heads, P, d], attention_bias */
void vtac_composed_ms_attention(vtac_compose *c, vtac_value_id *out)
{
    const int64_t heads = vtac_c_int(c, "num_heads", 0);
    const vtac_attr *sizes = vtac_c_attr(c, "qkv_hidden_sizes");
    vtac_value_id all = vtac_c_matmul(c, vtac_c_in(c, 0), vtac_c_in(c, 1));
    all = vtac_c_has(c, 2) ? vtac_c_add(c, all, vtac_c_in(c, 2)) : all;
    const int64_t third = vtac_c_dim(c, all, 2) / 3;
    const bool given = sizes != NULL && sizes->kind == VTAC_ATTR_INTS && sizes->count == 3;
    vtac_value_id x[3];
    int64_t from = 0;
    for (uint32_t i = 0; i < 3; i++) {
        const int64_t size = given ? sizes->ints[i] : third;
        if (size < 1 || from > vtac_c_dim(c, all, 2) - size) {
            (void)vtac_compose_fail(c, VTA_INVALID,
                                    "the sizes of queries, keys and values do not fit the weights");
            return;
        }
        x[i] = to_heads(c, vtac_c_slice(c, all, 2, from, from + size), heads);
        from += size;
    }
    attending a = {.q = x[0],
                   .k = x[1],
                   .v = x[2],
                   .scale = vtac_c_float(c, "scale", 0.0),
                   .precision = vtac_c_dtype(c, x[0])};
    const int64_t own = vtac_c_dim(c, x[1], 2);
    if (vtac_c_has(c, 4)) {
        const vtac_value_id past = vtac_c_in(c, 4);
        a.k = append(c, vtac_c_squeeze(c, vtac_c_slice(c, past, 0, 0, 1), 0), a.k);
        a.v = append(c, vtac_c_squeeze(c, vtac_c_slice(c, past, 0, 1, 2), 0), a.v);
    }
    const int64_t keys = vtac_c_dim(c, a.k, 2);
    if (vtac_c_has(c, 3)) {
        const vtac_value_id mask = vtac_c_cast(c, vtac_c_in(c, 3), VTAC_I64);
        const vtac_type shape = *vtac_c_type(c, mask);
        if (c->status == VTA_OK && (shape.rank != 2 || shape.dim[1] != keys)) {
            (void)vtac_compose_fail(c, VTA_UNSUPPORTED, "a mask that is not [batch, keys] is not supported");
            return;
        }
        const int64_t row[] = {shape.dim[0], 1, 1, keys};
        const vtac_value_id seen = vtac_c_more_number(c, vtac_c_reshape(c, mask, row, 4), 0.0);
        a.bias = penalty(c, seen, a.precision, vtac_c_float(c, "mask_filter_value", -10000.0));
    }
    a.bias = sum_of(c, a.bias, optional(c, 5));
    if (vtac_c_int(c, "unidirectional", 0) != 0) {
        const vtac_value_id offset = vtac_c_number(c, VTAC_I64, (double)(keys - own));
        const vtac_value_id seen = causal(c, vtac_c_dim(c, a.q, 2), keys, offset);
        a.bias = sum_of(c, a.bias, penalty(c, seen, a.precision, -HUGE_VAL));
    }
    out[0] = from_heads(c, attend(c, &a));
    const vtac_value_id both[] = {vtac_c_unsqueeze(c, a.k, 0), vtac_c_unsqueeze(c, a.v, 0)};
    out[1] = vtac_c_concat(c, both, 2, 0);
}
