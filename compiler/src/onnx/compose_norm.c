/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalizations and losses.
 */
#include <math.h>
#include <string.h>

#include "compose.h"

/* ---- types */

/* Signed integers of less than a byte are held with their sign; all others of as many bits as their code. */
void vtac_composed_bit_cast(vtac_compose *c, vtac_value_id *out)
{
    vtac_value_id x = vtac_c_in(c, 0);
    const vtac_dtype from = vtac_c_dtype(c, x);
    const vtac_dtype to = vtac_c_dtype_attr(c, "to", VTAC_NO_DTYPE);
    const uint8_t bits = vtac_dtype_bits(from);
    const vtac_dtype code = bits == 4 ? VTAC_U4 : VTAC_U2;
    const bool narrow = c->make.status == VTA_OK && to != VTAC_NO_DTYPE && from != to && bits < 8;
    if (!narrow || vtac_dtype_bits(to) != bits || vtac_dtype_held(from) == vtac_dtype_held(to)) {
        return; /* as it is */
    }
    if (from != code && from != VTAC_F4E2M1) {
        x = vtac_c_cast(c, x, code);
    } else if (from == VTAC_F4E2M1) {
        vtac_c_set_string(c, "to", vtac_dtype_name(code));
        x = vtac_c1(c, VTAC_OP_BIT_CAST, x);
    }
    if (to == VTAC_F4E2M1) {
        vtac_c_set_string(c, "to", vtac_dtype_name(to));
        out[0] = vtac_c1(c, VTAC_OP_BIT_CAST, x);
    } else {
        out[0] = vtac_c_cast(c, x, to);
    }
}

/* x, scale, bias, mean, variance with training_mode: the batch's own mean and variance, and the running ones
 * moved on */
static void train_batch_norm(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id x = vtac_c_in(c, 0);
    const vtac_type type = vtac_c_type(c, x);
    const double momentum = vtac_c_float(c, "momentum", 0.9);
    vtac_value_id mean = vtac_c_reduce(c, VTAC_OP_REDUCE_MEAN, x, 0, 0);
    mean = type.rank > 2 ? vtac_c_reduce(c, VTAC_OP_REDUCE_MEAN, mean, 2, type.rank - 1) : mean;
    const vtac_value_id off = vtac_c_sub(c, x, mean);
    vtac_value_id variance = vtac_c_reduce(c, VTAC_OP_REDUCE_MEAN, vtac_c_mul(c, off, off), 0, 0);
    variance = type.rank > 2 ? vtac_c_reduce(c, VTAC_OP_REDUCE_MEAN, variance, 2, type.rank - 1) : variance;
    const int64_t list[] = {type.dim[1]};
    mean = vtac_c_reshape(c, mean, list, 1);
    variance = vtac_c_reshape(c, variance, list, 1);
    const vtac_value_id inputs[] = {x, vtac_c_in(c, 1), vtac_c_in(c, 2), mean, variance};
    vtac_c_set_float(c, "epsilon", vtac_c_float(c, "epsilon", 1e-5));
    out[0] = vtac_c_node(c, VTAC_OP_BATCH_NORMALIZATION, inputs, 5);
    for (uint32_t i = 0; i < 2; i++) {
        const vtac_value_id kept = vtac_c_mul_number(c, vtac_c_in(c, 3 + i), momentum);
        out[1 + i] = vtac_c_add(c, kept, vtac_c_mul_number(c, i == 0 ? mean : variance, 1.0 - momentum));
    }
}

void vtac_composed_batch_norm(vtac_compose *c, vtac_value_id *out)
{
    if (vtac_c_rank(c, vtac_c_in(c, 0)) < 2) {
        (void)vtac_compose_fail(c, VTA_INVALID, "the input has no channels");
    } else if (vtac_c_int(c, "training_mode", 0) != 0) {
        train_batch_norm(c, out);
    } /* otherwise it stays the operator that it is */
}

/* ---- what a type of eight bits and less cannot do by its code */

/* A number of this type as float32, which holds all of them; 0: it is of another type. */
static vtac_value_id widen_number(vtac_compose *c)
{
    const vtac_value_id x = vtac_c_in(c, 0);
    return vtac_dtype_kind(vtac_c_dtype(c, x)) == 'n' ? vtac_c_cast(c, x, VTAC_F32) : 0;
}

void vtac_composed_is_nan(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id x = widen_number(c);
    out[0] = x != 0 ? vtac_c1(c, VTAC_OP_IS_NAN, x) : 0;
}

void vtac_composed_is_inf(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id x = widen_number(c);
    if (x != 0) {
        vtac_c_set_int(c, "detect_positive", vtac_c_int(c, "detect_positive", 1));
        vtac_c_set_int(c, "detect_negative", vtac_c_int(c, "detect_negative", 1));
        out[0] = vtac_c1(c, VTAC_OP_IS_INF, x);
    }
}

/* Keeps the operator as it is; codes and texts are not added, multiplied or compared. */
void vtac_composed_scatter(vtac_compose *c, vtac_value_id *out)
{
    const char kind = vtac_dtype_kind(vtac_c_dtype(c, vtac_c_in(c, 0)));
    (void)out;
    if ((kind == 'n' || kind == 't') && strcmp(vtac_c_string(c, "reduction", "none"), "none") != 0) {
        (void)vtac_compose_fail(c, VTA_UNSUPPORTED,
                                "a reduction of texts, or of types of eight bits and less");
    }
}

/* ---- losses: log probabilities [N, C, ...], the class of each place, a weight for each class */

static void negative_log(vtac_compose *c, vtac_value_id logs, vtac_value_id *loss)
{
    const vtac_value_id target = vtac_c_in(c, 1);
    const char *reduction = vtac_c_string(c, "reduction", "mean");
    const vtac_attr *ignored = vtac_c_attr(c, "ignore_index");
    const vtac_dtype type = vtac_c_dtype(c, logs);
    if (c->make.status == VTA_OK &&
        (vtac_c_rank(c, logs) < 2 || vtac_c_rank(c, target) + 1 != vtac_c_rank(c, logs))) {
        (void)vtac_compose_fail(c, VTA_INVALID,
                                "it needs [N, C, ...] and one class for each place of [N, ...]");
        return;
    }
    vtac_value_id wanted = vtac_c_cast(c, target, VTAC_I64);
    vtac_value_id kept = 0; /* 1 where a place counts, 0 where its class is the one to ignore */
    if (ignored != NULL && ignored->kind == VTAC_ATTR_INT) {
        const vtac_value_id is = vtac_c_equal_number(c, wanted, (double)ignored->i);
        kept = vtac_c_where(c, is, vtac_c_number(c, type, 0.0), vtac_c_number(c, type, 1.0));
        wanted = vtac_c_where(c, is, vtac_c_number(c, VTAC_I64, 0.0), wanted);
    }
    const vtac_value_id column = vtac_c_unsqueeze(c, wanted, 1);
    vtac_c_set_int(c, "axis", 1);
    vtac_value_id x = vtac_c2(c, VTAC_OP_GATHER_ELEMENTS, logs, column);
    x = vtac_c_neg(c, vtac_c_squeeze(c, x, 1));
    vtac_value_id weight = vtac_c_has(c, 2) ? vtac_c_gather(c, vtac_c_in(c, 2), wanted, 0) : 0;
    weight = weight == 0 ? kept : kept == 0 ? weight : vtac_c_mul(c, weight, kept);
    x = weight == 0 ? x : vtac_c_mul(c, x, weight);
    const uint32_t rank = vtac_c_rank(c, x);
    if (reduction[0] != 'n' && c->make.status == VTA_OK) {
        vtac_c_set_int(c, "keepdims", 0);
        const vtac_value_id sum = vtac_c1(c, VTAC_OP_REDUCE_SUM, x);
        vtac_value_id count = 0;
        if (reduction[0] == 'm' && weight != 0) {
            vtac_c_set_int(c, "keepdims", 0);
            count = vtac_c1(c, VTAC_OP_REDUCE_SUM, weight);
        } else if (reduction[0] == 'm') {
            double places = 1.0;
            for (uint32_t i = 0; i < rank; i++) {
                places *= (double)vtac_c_dim(c, x, i);
            }
            count = vtac_c_number(c, type, places);
        }
        x = count == 0 ? sum : vtac_c_div(c, sum, count);
    }
    *loss = x;
}

void vtac_composed_nll_loss(vtac_compose *c, vtac_value_id *out)
{
    negative_log(c, vtac_c_in(c, 0), &out[0]);
}

void vtac_composed_cross_entropy(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id scores = vtac_c_in(c, 0);
    vtac_c_set_int(c, "axis", 1);
    out[1] = vtac_c1(c, VTAC_OP_LOG_SOFTMAX, scores);
    negative_log(c, out[1], &out[0]);
}
