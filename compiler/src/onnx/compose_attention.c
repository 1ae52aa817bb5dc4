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
    if (times == 1 || c->make.status != VTA_OK) {
        return x;
    }
    const int64_t wide[] = {d[0], d[1], times, d[2], d[3]};
    const int64_t joined[] = {d[0], d[1] * times, d[2], d[3]};
    return vtac_c_reshape(c, vtac_c_expand(c, vtac_c_unsqueeze(c, x, 2), wide, 5), joined, 4);
}

static vtac_value_id append_past(vtac_compose *c, vtac_value_id past, vtac_value_id x)
{
    const vtac_value_id parts[] = {past, x};
    return past == 0 ? x : vtac_c_concat(c, parts, 2, 2);
}

/* 0 where a condition holds, -infinity (or `low`) elsewhere. */
static vtac_value_id mask_penalty(vtac_compose *c, vtac_value_id allowed, vtac_dtype dtype, double low)
{
    return vtac_c_where(c, allowed, vtac_c_number(c, dtype, 0.0), vtac_c_number(c, dtype, low));
}

/* 0, 1 ... along axis `axis` of `rank`. */
static vtac_value_id places_along(vtac_compose *c, int64_t count, uint32_t axis, uint32_t rank)
{
    int64_t dim[VTAC_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) {
        dim[i] = i == axis ? count : 1;
    }
    return vtac_c_reshape(c, vtac_c_range(c, VTAC_I64, count), dim, rank);
}

/* Mask of the keys that each query sees: the keys up to the query's own place, which `offset` keys precede.
 */
static vtac_value_id causal_mask(vtac_compose *c, int64_t queries, int64_t keys, vtac_value_id offset)
{
    const vtac_value_id own = vtac_c_add(c, places_along(c, queries, 2, 4), offset);
    return vtac_c_at_most(c, places_along(c, keys, 3, 4), own);
}

static vtac_value_id sum_of(vtac_compose *c, vtac_value_id a, vtac_value_id b)
{
    return a == 0 ? b : b == 0 ? a : vtac_c_add(c, a, b);
}

typedef struct attention {
    vtac_value_id q, k, v; /* [B, heads, S, d]; as many heads in k and v, or a divisor of them */
    vtac_value_id bias;    /* added to the products, 0: none */
    vtac_value_id sink;    /* a key more, which has no value: its product, [1, heads or 1, 1, 1]; 0: none */
    double scale;          /* of the products, 0: of the size of a head */
    double softcap;
    vtac_dtype precision; /* of the softmax */
    bool guarded;         /* a query that sees no key gives zeros */
    int64_t give; /* which product `products` is: 0 plain, 1 capped, 2 with the bias, 3 after the softmax */
    vtac_value_id products;
} attention;

/* x, of which the rows of a query whose biases are all -infinity are zeros. */
static vtac_value_id guard_masked(vtac_compose *c, const attention *a, vtac_value_id x)
{
    const uint32_t last = vtac_c_rank(c, a->bias) - 1;
    const vtac_value_id max = vtac_c_reduce(c, VTAC_OP_REDUCE_MAX, a->bias, last, last);
    const vtac_value_id blind = vtac_c_equal_number(c, max, -HUGE_VAL);
    return vtac_c_where(c, blind, vtac_c_number(c, vtac_c_dtype(c, x), 0.0), x);
}

/* softmax(cap(q k' scale) + bias) v */
static vtac_value_id compose_attention(vtac_compose *c, attention *a)
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
    x = vtac_c_cast(c, x, a->precision);
    if (a->sink != 0) {
        const vtac_type shape = *vtac_c_type(c, x);
        const int64_t column[] = {shape.dim[0], shape.dim[1], shape.dim[2], 1};
        const vtac_value_id both[] = {x, vtac_c_expand(c, vtac_c_cast(c, a->sink, a->precision), column, 4)};
        x = vtac_c_softmax(c, vtac_c_concat(c, both, 2, 3), -1);
        x = vtac_c_slice(c, x, 3, 0, shape.dim[3]);
    } else {
        x = vtac_c_softmax(c, x, -1);
    }
    const bool guarded = a->guarded && a->bias != 0 && vtac_c_rank(c, a->bias) > 0;
    const vtac_value_id y = vtac_c_cast(c, vtac_c_matmul(c, x, vtac_c_cast(c, v, a->precision)), type);
    if (a->give == 3) {
        a->products = vtac_c_cast(c, guarded ? guard_masked(c, a, x) : x, type);
    }
    return guarded ? guard_masked(c, a, y) : y;
}

/* The mask as numbers to add, as wide as there are keys: what it does not name is not seen. */
static vtac_value_id mask_bias(vtac_compose *c, vtac_value_id mask, int64_t keys, vtac_dtype type)
{
    if (mask == 0) {
        return 0;
    }
    vtac_value_id bias = vtac_c_dtype(c, mask) == VTAC_BOOL ? mask_penalty(c, mask, type, -HUGE_VAL)
                                                            : vtac_c_cast(c, mask, type);
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

/* A mask of three axes is one of the heads; where it does not fit them, of the batches. */
static vtac_value_id mask_of(vtac_compose *c, const attention *a)
{
    if (!vtac_c_has(c, 3)) {
        return 0;
    }
    const vtac_value_id mask = vtac_c_in(c, 3);
    const int64_t first = vtac_c_rank(c, mask) == 3 ? vtac_c_dim(c, mask, 0) : 1;
    const bool of_batches = first != 1 && first != vtac_c_dim(c, a->q, 1) && first == vtac_c_dim(c, a->q, 0);
    return of_batches ? vtac_c_unsqueeze(c, mask, 1) : mask;
}

/* Q, K, V, mask, past_key, past_value, nonpad_kv_seqlen */
void vtac_composed_attention(vtac_compose *c, vtac_value_id *out)
{
    const bool flat = vtac_c_rank(c, vtac_c_in(c, 0)) == 3;
    attention a = {.scale = vtac_c_float(c, "scale", 0.0),
                   .softcap = vtac_c_float(c, "softcap", 0.0),
                   .give = vtac_c_int(c, "qk_matmul_output_mode", 0)};
    a.q = to_heads(c, vtac_c_in(c, 0), vtac_c_int(c, "q_num_heads", 0));
    a.k = to_heads(c, vtac_c_in(c, 1), vtac_c_int(c, "kv_num_heads", 0));
    a.v = to_heads(c, vtac_c_in(c, 2), vtac_c_int(c, "kv_num_heads", 0));
    const int64_t own = vtac_c_dim(c, a.k, 2);
    a.k = append_past(c, vtac_c_has(c, 4) ? vtac_c_in(c, 4) : 0, a.k);
    a.v = append_past(c, vtac_c_has(c, 5) ? vtac_c_in(c, 5) : 0, a.v);
    const vtac_dtype type = vtac_c_dtype(c, a.q);
    const char *precision = vtac_c_string(c, "softmax_precision", "");
    a.precision = vtac_dtype_parse(precision) == VTAC_NO_DTYPE ? type : vtac_dtype_parse(precision);
    const int64_t queries = vtac_c_dim(c, a.q, 2);
    const int64_t keys = vtac_c_dim(c, a.k, 2);
    const int64_t window = vtac_c_int(c, "local_window_size", -1);
    a.bias = mask_bias(c, mask_of(c, &a), keys, type);
    a.guarded = a.bias != 0 || window > 0 || vtac_c_has(c, 6);
    vtac_value_id used = 0; /* of the keys of each batch */
    if (vtac_c_has(c, 6)) {
        const int64_t column[] = {-1, 1, 1, 1};
        used = vtac_c_reshape(c, vtac_c_cast(c, vtac_c_in(c, 6), VTAC_I64), column, 4);
    }
    if (vtac_c_int(c, "is_causal", 0) != 0 || window > 0) {
        const vtac_value_id offset = used != 0 && !vtac_c_has(c, 4)
                                         ? vtac_c_sub_number(c, used, (double)queries)
                                         : vtac_c_number(c, VTAC_I64, (double)(keys - own));
        vtac_value_id seen = causal_mask(c, queries, keys, offset);
        if (window > 0) { /* the own place and those before it, as many as this */
            const vtac_value_id past = vtac_c_sub_number(c, offset, (double)window);
            seen = vtac_c_and(c, seen, vtac_c_not(c, causal_mask(c, queries, keys, past)));
        }
        a.bias = sum_of(c, a.bias, mask_penalty(c, seen, type, -HUGE_VAL));
    }
    if (used != 0) {
        a.bias = sum_of(c, a.bias,
                        mask_penalty(c, vtac_c_less(c, places_along(c, keys, 3, 4), used), type, -HUGE_VAL));
    }
    const vtac_value_id y = compose_attention(c, &a);
    out[0] = flat ? from_heads(c, y) : y;
    out[1] = a.k;
    out[2] = a.v;
    out[3] = a.products;
}

/* Q, K, V of four axes; graphs that change the products before the softmax and what it gives */
void vtac_composed_flex_attention(vtac_compose *c, vtac_value_id *out)
{
    static const int64_t turned[] = {0, 1, 3, 2};
    for (uint32_t i = 0; i < 3; i++) {
        if (!vtac_c_expect_rank(c, i, 4)) {
            return;
        }
    }
    const vtac_value_id q = vtac_c_in(c, 0);
    const vtac_dtype type = vtac_c_dtype(c, q);
    const int64_t heads = vtac_c_dim(c, q, 1);
    const int64_t own = vtac_c_dim(c, vtac_c_in(c, 1), 1);
    if (own < 1 || heads % own != 0) {
        (void)vtac_compose_fail(c, VTA_INVALID, "%lld heads of queries over %lld of keys", (long long)heads,
                                (long long)own);
        return;
    }
    const char *named = vtac_c_string(c, "softmax_precision", "");
    const vtac_dtype precision = vtac_dtype_parse(named) == VTAC_NO_DTYPE ? type : vtac_dtype_parse(named);
    const vtac_value_id k = vtac_c_transpose(c, repeat_heads(c, vtac_c_in(c, 1), heads / own), turned, 4);
    const vtac_value_id v = repeat_heads(c, vtac_c_in(c, 2), heads / own);
    const double scale = vtac_c_float(c, "scale", 1.0 / sqrt((double)vtac_c_dim(c, q, 3)));
    vtac_value_id x = vtac_c_mul_number(c, vtac_c_matmul(c, q, k), scale);
    x = vtac_c_apply(c, "mask_mod", vtac_c_apply(c, "score_mod", x));
    x = vtac_c_cast(c, vtac_c_softmax(c, vtac_c_cast(c, x, precision), -1), type);
    out[0] = vtac_c_matmul(c, vtac_c_apply(c, "prob_mod", x), v);
}

/* ---- positions */

/* [.., 2n] in its halves, or its even and odd places */
static void split_halves(vtac_compose *c, vtac_value_id x, bool interleaved, vtac_value_id *a,
                         vtac_value_id *b)
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
static vtac_value_id rotate_heads(vtac_compose *c, vtac_value_id x, vtac_value_id cosine, vtac_value_id sine,
                                  bool interleaved)
{
    const vtac_type type = *vtac_c_type(c, x);
    const int64_t turned = 2 * vtac_c_dim(c, cosine, 2);
    if (c->make.status == VTA_OK && turned > type.dim[3]) {
        return vtac_compose_fail(c, VTA_INVALID, "it turns %lld of %lld places", (long long)turned,
                                 (long long)type.dim[3]);
    }
    const vtac_value_id head = vtac_c_slice(c, x, 3, 0, turned);
    const vtac_value_id rest = turned < type.dim[3] ? vtac_c_slice(c, x, 3, turned, type.dim[3]) : 0;
    vtac_value_id a;
    vtac_value_id b;
    split_halves(c, head, interleaved, &a, &b);
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
    if (c->make.status == VTA_OK && (vtac_c_rank(c, cosine) != 3 || vtac_c_rank(c, sine) != 3)) {
        (void)vtac_compose_fail(c, VTA_INVALID,
                                "the caches need [batch, place, half] without position_ids, "
                                "[place, half] with them");
        return;
    }
    const vtac_value_id y = rotate_heads(c, to_heads(c, x, vtac_c_int(c, "num_heads", 0)), cosine, sine,
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
        rotate_heads(c, parted, vtac_c_gather(c, vtac_c_in(c, 2), ids, 0),
                     vtac_c_gather(c, vtac_c_in(c, 3), ids, 0), vtac_c_int(c, "interleaved", 0) != 0);
    out[0] = flat ? from_heads(c, y) : y;
}

/* ---- linear attention: query, key, value, past_state, decay, beta, erase_gate; one step after the other */

static vtac_value_id at_step(vtac_compose *c, vtac_value_id x, int64_t t)
{
    return vtac_c_slice(c, x, 2, t, t + 1); /* [B, H, 1, d] */
}

static vtac_value_id compose_gate(vtac_compose *c, uint32_t input, int64_t heads)
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
    const vtac_value_id decay = gated ? vtac_c_exp(c, compose_gate(c, 4, own)) : 0;
    const vtac_value_id beta = delta ? compose_gate(c, 5, own) : 0;
    const vtac_value_id erase = vtac_c_has(c, 6) ? compose_gate(c, 6, own) : 0;
    vtac_value_id state = vtac_c_has(c, 3) ? vtac_c_cast(c, vtac_c_in(c, 3), VTAC_F32)
                                           : vtac_c_expand(c, vtac_c_number(c, VTAC_F32, 0.0), size, 4);
    vtac_value_id rows[VTAC_MAX_INPUTS];
    if (steps < 1 || steps > VTAC_MAX_INPUTS) {
        (void)vtac_compose_fail(c, VTA_UNSUPPORTED, "%lld steps are not 1 to %d", (long long)steps,
                                VTAC_MAX_INPUTS);
        return;
    }
    for (int64_t t = 0; t < steps && c->make.status == VTA_OK; t++) {
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

static vtac_value_id optional_input(vtac_compose *c, uint32_t i)
{
    return vtac_c_has(c, i) ? vtac_c_in(c, i) : 0;
}

/* Mask of the seen keys, [.., .., .., keys], from a mask of integers in any of the operator's forms: the
 * number of keys of each batch (and the first one, in the second half), the keys of each batch, the keys of
 * each query, or a square of the largest size. `past` keys precede those of the first query. */
static vtac_value_id seen_by(vtac_compose *c, vtac_value_id mask, int64_t batches, int64_t queries,
                             int64_t keys, int64_t past)
{
    mask = vtac_c_cast(c, mask, VTAC_I64);
    const vtac_type given = *vtac_c_type(c, mask);
    const int64_t last = given.rank > 0 ? given.dim[given.rank - 1] : 0;
    const vtac_value_id all = places_along(c, keys, 3, 4);
    if (c->make.status != VTA_OK) {
        return 0;
    }
    if (given.rank == 1 && (last == batches || last == 2 * batches)) {
        const int64_t column[] = {batches, 1, 1, 1};
        const vtac_value_id end = vtac_c_reshape(c, vtac_c_slice(c, mask, 0, 0, batches), column, 4);
        const vtac_value_id before = vtac_c_less(c, all, end);
        if (last == batches) {
            return before;
        }
        const vtac_value_id begin = vtac_c_reshape(c, vtac_c_slice(c, mask, 0, batches, last), column, 4);
        return vtac_c_and(c, before, vtac_c_at_least(c, all, begin));
    }
    if (given.rank == 4 && given.dim[1] == 1 && last >= keys && given.dim[2] >= past + queries) {
        const vtac_value_id part =
            vtac_c_slice(c, vtac_c_slice(c, mask, 2, past, past + queries), 3, 0, keys);
        return vtac_c_more_number(c, part, 0.0);
    }
    if ((given.rank != 2 && given.rank != 3) || last != keys) {
        return vtac_compose_fail(c, VTA_UNSUPPORTED, "a mask of this form, of %u axes, is not supported",
                                 given.rank);
    }
    const int64_t rows[] = {given.dim[0], 1, given.rank == 3 ? given.dim[1] : 1, keys};
    return vtac_c_more_number(c, vtac_c_reshape(c, mask, rows, 4), 0.0);
}

/* Part `i` of an operand that is packed along axis `axis`, of five axes: [B, heads, S, d]. */
static vtac_value_id packed_part(vtac_compose *c, vtac_value_id x, int64_t i)
{
    static const int64_t order[] = {0, 2, 1, 3};
    return vtac_c_transpose(c, vtac_c_squeeze(c, vtac_c_slice(c, x, 3, i, i + 1), 3), order, 4);
}

/* The part of the bias of `size` that begins at `*from`, as [1, heads, 1, d]. */
static vtac_value_id head_bias(vtac_compose *c, vtac_value_id bias, int64_t heads, int64_t size,
                               int64_t *from)
{
    const int64_t shape[] = {1, heads, 1, heads > 0 ? size / heads : 0};
    const vtac_value_id part = vtac_c_slice(c, bias, 0, *from, *from + size);
    *from += size;
    return vtac_c_reshape(c, part, shape, 4);
}

/* query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value. The query may hold all
 * three as [B, S, heads, 3, d], the key both others as [B, S, heads, 2, d]. */
void vtac_composed_multi_head_attention(vtac_compose *c, vtac_value_id *out)
{
    const int64_t heads = vtac_c_int(c, "num_heads", 0);
    const uint32_t packed = !vtac_c_has(c, 1) ? 3 : !vtac_c_has(c, 2) ? 2 : 0;
    vtac_value_id x[3];
    if (heads < 1 || (packed != 0 && !vtac_c_expect_rank(c, 3 - packed, 5))) {
        (void)vtac_compose_fail(c, VTA_INVALID, "%lld heads", (long long)heads);
        return;
    }
    if (packed != 0 && vtac_c_dim(c, vtac_c_in(c, 3 - packed), 3) != packed) {
        (void)vtac_compose_fail(c, VTA_INVALID, "its packed operand does not have %u parts", packed);
        return;
    }
    int64_t from = 0;
    for (uint32_t i = 0; i < 3; i++) {
        const bool within = i + packed >= 3;
        const vtac_value_id own = vtac_c_in(c, within ? 3 - packed : i);
        const bool done = !within && vtac_c_rank(c, own) == 4; /* keys and values that come as heads */
        x[i] = within ? packed_part(c, own, i + packed - 3) : to_heads(c, own, heads);
        if (vtac_c_has(c, 3) && !done) {
            const int64_t size = vtac_c_dim(c, x[i], 1) * vtac_c_dim(c, x[i], 3);
            x[i] = vtac_c_add(c, x[i], head_bias(c, vtac_c_in(c, 3), heads, size, &from));
        }
    }
    attention a = {.q = x[0], .scale = vtac_c_float(c, "scale", 0.0), .precision = vtac_c_dtype(c, x[0])};
    const int64_t own = vtac_c_dim(c, x[1], 2);
    a.k = append_past(c, optional_input(c, 6), x[1]);
    a.v = append_past(c, optional_input(c, 7), x[2]);
    const vtac_dtype type = a.precision;
    const int64_t keys = vtac_c_dim(c, a.k, 2);
    const int64_t queries = vtac_c_dim(c, a.q, 2);
    const double low = vtac_c_float(c, "mask_filter_value", -10000.0);
    if (vtac_c_has(c, 4)) {
        const vtac_value_id seen =
            seen_by(c, vtac_c_in(c, 4), vtac_c_dim(c, a.q, 0), queries, keys, keys - own);
        a.bias = mask_penalty(c, seen, type, low);
    }
    a.bias = sum_of(c, a.bias, optional_input(c, 5));
    if (vtac_c_int(c, "unidirectional", 0) != 0) {
        const vtac_value_id offset = vtac_c_number(c, VTAC_I64, (double)(keys - own));
        a.bias = sum_of(c, a.bias, mask_penalty(c, causal_mask(c, queries, keys, offset), type, -HUGE_VAL));
    }
    out[0] = from_heads(c, compose_attention(c, &a));
    out[1] = a.k;
    out[2] = a.v;
    out[3] = a.products;
}

/* Attention and QAttention on queries, keys and values side by side, [B, S, 3 h]. `mask`, `past` [2, B,
 * heads, P, d] and `added` (to the products) are inputs or 0. */
static void attend_to_all(vtac_compose *c, vtac_value_id all, vtac_value_id mask, vtac_value_id past,
                          vtac_value_id added, vtac_value_id *out)
{
    const int64_t heads = vtac_c_int(c, "num_heads", 0);
    const vtac_attr *sizes = vtac_c_attr(c, "qkv_hidden_sizes");
    const bool given = sizes != NULL && sizes->kind == VTAC_ATTR_INTS && sizes->count == 3;
    if (c->make.status == VTA_OK && (vtac_c_rank(c, all) != 3 || vtac_c_int(c, "do_rotary", 0) != 0 ||
                                     vtac_c_int(c, "past_present_share_buffer", 0) != 0)) {
        (void)vtac_compose_fail(c, VTA_UNSUPPORTED,
                                "its input has not three axes, or it rotates or shares its buffers");
        return;
    }
    const int64_t third = vtac_c_dim(c, all, 2) / 3;
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
    attention a = {.q = x[0],
                   .k = x[1],
                   .v = x[2],
                   .scale = vtac_c_float(c, "scale", 0.0),
                   .precision = vtac_c_dtype(c, x[0])};
    const int64_t own = vtac_c_dim(c, x[1], 2);
    if (past != 0) {
        a.k = append_past(c, vtac_c_squeeze(c, vtac_c_slice(c, past, 0, 0, 1), 0), a.k);
        a.v = append_past(c, vtac_c_squeeze(c, vtac_c_slice(c, past, 0, 1, 2), 0), a.v);
    }
    const int64_t keys = vtac_c_dim(c, a.k, 2);
    if (mask != 0) {
        const vtac_value_id seen = seen_by(c, mask, vtac_c_dim(c, a.q, 0), own, keys, keys - own);
        a.bias = mask_penalty(c, seen, a.precision, vtac_c_float(c, "mask_filter_value", -10000.0));
    }
    a.bias = sum_of(c, a.bias, added);
    if (vtac_c_int(c, "unidirectional", 0) != 0) {
        const vtac_value_id offset = vtac_c_number(c, VTAC_I64, (double)(keys - own));
        const vtac_value_id seen = causal_mask(c, vtac_c_dim(c, a.q, 2), keys, offset);
        a.bias = sum_of(c, a.bias, mask_penalty(c, seen, a.precision, -HUGE_VAL));
    }
    out[0] = from_heads(c, compose_attention(c, &a));
    if (c->of->output_count > 1) {
        const vtac_value_id both[] = {vtac_c_unsqueeze(c, a.k, 0), vtac_c_unsqueeze(c, a.v, 0)};
        out[1] = vtac_c_concat(c, both, 2, 0);
    }
}

/* input [B, S, n], weights [n, 3 h], bias [3 h], mask_index, past [2, B, heads, P, d], attention_bias */
void vtac_composed_ms_attention(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id all = vtac_c_matmul(c, vtac_c_in(c, 0), vtac_c_in(c, 1));
    attend_to_all(c, vtac_c_has(c, 2) ? vtac_c_add(c, all, vtac_c_in(c, 2)) : all, optional_input(c, 3),
                  optional_input(c, 4), optional_input(c, 5), out);
}

/* input, weights, bias, their scales, mask_index, their zero points, past */
void vtac_composed_q_attention(vtac_compose *c, vtac_value_id *out)
{
    const vtac_integers x = {vtac_c_in(c, 0), vtac_c_in(c, 3), vtac_c_zero_point(c, 6)};
    const vtac_integers weights = {vtac_c_in(c, 1), vtac_c_in(c, 4), vtac_c_zero_point(c, 7)};
    const vtac_value_id all = vtac_c_integer_product(c, &x, &weights, vtac_c_in(c, 2));
    attend_to_all(c, all, optional_input(c, 5), optional_input(c, 8), 0, out);
}

/* ---- GroupQueryAttention: query, key, value, past_key, past_value, the last place of each batch that is
 * used, how many places there are then, the caches of cosines and sines, position_ids, attention_bias,
 * head_sink. The query may hold all three, side by side. */

typedef struct grouped {
    int64_t heads, own, size, queries, room, total;
    vtac_value_id before; /* places of each batch that are in the cache, [B, 1, 1, 1] */
} grouped;

/* The new keys (or values) written into the cache behind what each batch has there: [B, own, total, d]. */
static vtac_value_id write_cache(vtac_compose *c, const grouped *g, vtac_value_id past, vtac_value_id x)
{
    const vtac_type type = *vtac_c_type(c, x);
    const int64_t shape[] = {type.dim[0], g->own, g->total, type.dim[3]};
    const vtac_value_id all = places_along(c, g->total, 2, 4);
    const vtac_value_id from = vtac_c_sub(c, all, g->before);
    const vtac_value_id zero = vtac_c_number(c, VTAC_I64, 0.0);
    const vtac_value_id inside =
        vtac_c_and(c, vtac_c_at_least(c, from, zero),
                   vtac_c_less(c, from, vtac_c_number(c, VTAC_I64, (double)g->queries)));
    vtac_value_id held = vtac_c_max_number(c, vtac_c_min_number(c, from, (double)(g->queries - 1)), 0.0);
    held = vtac_c_expand(c, held, shape, 4);
    const vtac_value_id new = vtac_c_gather_elements(c, x, held, 2);
    const vtac_value_id none = vtac_c_number(c, type.dtype, 0.0);
    vtac_value_id old = none;
    if (past != 0 && g->room > 0) {
        const vtac_value_id used = vtac_c_less(c, all, g->before);
        old = vtac_c_where(c, used, vtac_c_pad(c, past, 2, 0, g->total - g->room), none);
    }
    return vtac_c_where(c, inside, new, old);
}

static vtac_value_id split_heads(vtac_compose *c, const grouped *g, vtac_value_id x)
{
    const int64_t column[] = {-1, 1};
    const int64_t row[] = {1, -1};
    vtac_value_id ids = optional_input(c, 9);
    if (ids == 0) {
        const vtac_value_id own = vtac_c_reshape(c, vtac_c_range(c, VTAC_I64, g->queries), row, 2);
        ids = vtac_c_add(c, vtac_c_reshape(c, g->before, column, 2), own);
    }
    const vtac_value_id cosine = vtac_c_gather(c, vtac_c_in(c, 7), ids, 0);
    const vtac_value_id sine = vtac_c_gather(c, vtac_c_in(c, 8), ids, 0);
    if (c->make.status == VTA_OK && (vtac_c_rank(c, cosine) != 3 || vtac_c_rank(c, sine) != 3)) {
        return vtac_compose_fail(c, VTA_INVALID,
                                 "the caches need [place, half], the positions [batch, place]");
    }
    return rotate_heads(c, x, cosine, sine, vtac_c_int(c, "rotary_interleaved", 0) != 0);
}

/* Reads the sizes; false and a fault where not enough of them are known. */
static bool sizes_of(vtac_compose *c, grouped *g)
{
    const vtac_value_id query = vtac_c_in(c, 0);
    const bool packed = !vtac_c_has(c, 1);
    g->heads = vtac_c_int(c, "num_heads", 0);
    g->own = vtac_c_int(c, "kv_num_heads", 0);
    if (!vtac_c_expect_rank(c, 0, 3) || (vtac_c_has(c, 3) && !vtac_c_expect_rank(c, 3, 4))) {
        return false;
    }
    const int64_t parts = packed ? g->heads + 2 * g->own : g->heads;
    if (g->heads < 1 || g->own < 1 || g->heads > INT32_MAX || g->own > INT32_MAX || g->heads % g->own != 0 ||
        vtac_c_dim(c, query, 2) % parts != 0) {
        (void)vtac_compose_fail(c, VTA_INVALID, "%lld heads over %lld do not fit the query",
                                (long long)g->heads, (long long)g->own);
        return false;
    }
    g->size = vtac_c_dim(c, query, 2) / parts;
    g->queries = vtac_c_dim(c, query, 1);
    g->room = vtac_c_has(c, 3) ? vtac_c_dim(c, vtac_c_in(c, 3), 2) : 0;
    const vtac_tensor *total = vtac_c_has(c, 6) ? vtac_c_known(c, vtac_c_in(c, 6)) : NULL;
    const bool known = total != NULL && vtac_type_elements(&total->type) == 1;
    g->total = known ? vtac_tensor_int(total, 0) : g->room + g->queries;
    g->total = g->total < g->room ? g->room : g->total;
    if (g->queries < 1 || g->total < g->queries || g->total > INT32_MAX) {
        (void)vtac_compose_fail(c, VTA_RANGE, "%lld queries of %lld places in all", (long long)g->queries,
                                (long long)g->total);
        return false;
    }
    return c->make.status == VTA_OK;
}

/* Mask of the cache's places that each query sees: the window counts the own place. */
static vtac_value_id seen_in_cache(vtac_compose *c, const grouped *g)
{
    const int64_t window = vtac_c_int(c, "local_window_size", -1);
    const vtac_value_id all = places_along(c, g->total, 3, 4);
    const vtac_value_id own = vtac_c_add(c, places_along(c, g->queries, 2, 4), g->before);
    const vtac_value_id seen = vtac_c_at_most(c, all, own);
    return window < 1 ? seen
                      : vtac_c_and(c, seen, vtac_c_more(c, all, vtac_c_sub_number(c, own, (double)window)));
}

void vtac_composed_group_query_attention(vtac_compose *c, vtac_value_id *out)
{
    grouped g;
    if (!sizes_of(c, &g)) {
        return;
    }
    vtac_value_id x[3];
    const int64_t heads[] = {g.heads, g.own, g.own};
    int64_t from = 0;
    for (uint32_t i = 0; i < 3; i++) {
        const int64_t size = heads[i] * g.size;
        const vtac_value_id flat =
            vtac_c_has(c, 1) ? vtac_c_in(c, i) : vtac_c_slice(c, vtac_c_in(c, 0), 2, from, from + size);
        x[i] = to_heads(c, flat, heads[i]);
        from += size;
    }
    if (c->make.status == VTA_OK &&
        (vtac_c_dim(c, x[1], 2) != g.queries || vtac_c_dim(c, x[2], 2) != g.queries)) {
        (void)vtac_compose_fail(c, VTA_INVALID, "queries, keys and values are of different lengths");
    }
    /* a first prompt fills the cache from its beginning, however little of it counts */
    const int64_t column[] = {-1, 1, 1, 1};
    const vtac_value_id last = vtac_c_reshape(c, vtac_c_cast(c, vtac_c_in(c, 5), VTAC_I64), column, 4);
    const vtac_value_id behind = vtac_c_sub_number(c, last, (double)(g.queries - 1));
    g.before = vtac_c_max_number(c, behind, 0.0);
    if (vtac_c_int(c, "do_rotary", 0) != 0) {
        x[0] = split_heads(c, &g, x[0]);
        x[1] = split_heads(c, &g, x[1]);
    }
    attention a = {.q = x[0],
                   .k = write_cache(c, &g, optional_input(c, 3), x[1]),
                   .v = write_cache(c, &g, optional_input(c, 4), x[2]),
                   .scale = vtac_c_float(c, "scale", 0.0),
                   .softcap = vtac_c_float(c, "softcap", 0.0)};
    const vtac_dtype type = vtac_c_dtype(c, x[0]);
    a.precision = type == VTAC_F64 ? VTAC_F64 : VTAC_F32;
    a.bias = mask_penalty(c, seen_in_cache(c, &g), type, -HUGE_VAL);
    a.bias = sum_of(c, a.bias, optional_input(c, 10));
    if (vtac_c_has(c, 11)) {
        const int64_t each[] = {1, g.heads, 1, 1};
        a.sink = vtac_c_reshape(c, vtac_c_in(c, 11), each, 4);
    } else if (vtac_c_int(c, "smooth_softmax", 0) > 0) {
        a.sink = vtac_c_number(c, type, 0.0);
    }
    out[0] = from_heads(c, compose_attention(c, &a));
    out[1] = a.k;
    out[2] = a.v;
}
