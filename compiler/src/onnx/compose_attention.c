/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators around attention in language models that are no texts: graphs that change it, linear attention,
 * causal convolutions.
 */
#include <math.h>
#include <string.h>

#include "compose.h"

/* [B, S, heads * d] as [B, heads, S, d]; a value of four axes stays. */
static vtac_value_id to_heads(vtac_compose *c, vtac_value_id x, int64_t heads)
{
    static const int64_t order[] = {0, 2, 1, 3};
    const vtac_type type = vtac_c_type(c, x);
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
    const vtac_type type = vtac_c_type(c, x);
    const int64_t joined[] = {type.dim[0], type.dim[2], type.dim[1] * type.dim[3]};
    return vtac_c_reshape(c, vtac_c_transpose(c, x, order, 4), joined, 3);
}

/* Each of the heads `times` times, one behind the other. */
static vtac_value_id repeat_heads(vtac_compose *c, vtac_value_id x, int64_t times)
{
    const vtac_type type = vtac_c_type(c, x);
    const int64_t *d = type.dim;
    if (times == 1 || c->make.status != VTA_OK) {
        return x;
    }
    const int64_t wide[] = {d[0], d[1], times, d[2], d[3]};
    const int64_t joined[] = {d[0], d[1] * times, d[2], d[3]};
    return vtac_c_reshape(c, vtac_c_expand(c, vtac_c_unsqueeze(c, x, 2), wide, 5), joined, 4);
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
