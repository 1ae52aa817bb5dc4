/* SPDX-License-Identifier: Apache-2.0
 *
 * com.microsoft: quantized products, and what ONNX Runtime's optimizers fuse.
 */
#include <math.h>
#include <string.h>

#include "compose.h"

static vtac_value_id optional_input(vtac_compose *c, uint32_t i)
{
    return vtac_c_has(c, i) ? vtac_c_in(c, i) : 0;
}

/* Attributes handed on to another operator, but those that are named. */
static void hand_on_but(vtac_compose *c, const char *const *names)
{
    for (uint32_t i = 0; i < c->of->attr_count; i++) {
        bool left_out = false;
        for (uint32_t k = 0; names[k] != NULL; k++) {
            left_out = left_out || strcmp(names[k], c->of->attrs[i].name) == 0;
        }
        if (!left_out && c->draft->attr_count < VTAC_MAX_ATTRS) {
            c->draft->attrs[c->draft->attr_count++] = c->of->attrs[i];
        }
    }
}

/* Composes the ONNX operator of the same meaning. */
static void as_onnx(vtac_compose *c, vtac_op op, vtac_value_id *out)
{
    static const char *const none[] = {NULL};
    hand_on_but(c, none);
    vtac_c_nodes(c, op, c->of->inputs, c->of->input_count, out, c->of->output_count);
}

void vtac_composed_ms_quantize(vtac_compose *c, vtac_value_id *out)
{
    as_onnx(c, VTAC_OP_QUANTIZE_LINEAR, out);
}

void vtac_composed_ms_dequantize(vtac_compose *c, vtac_value_id *out)
{
    as_onnx(c, VTAC_OP_DEQUANTIZE_LINEAR, out);
}

void vtac_composed_ms_grid_sample(vtac_compose *c, vtac_value_id *out)
{
    as_onnx(c, VTAC_OP_GRID_SAMPLE, out);
}

void vtac_composed_ms_trilu(vtac_compose *c, vtac_value_id *out)
{
    as_onnx(c, VTAC_OP_TRILU, out);
}

void vtac_composed_expand_dims(vtac_compose *c, vtac_value_id *out)
{
    const int64_t axis = vtac_c_known_integer(c, 1);
    const vtac_value_id x = vtac_c_in(c, 0);
    out[0] = vtac_c_unsqueeze(c, x, vtac_c_axis(c, axis, vtac_c_rank(c, x) + 1));
}

/* ---- products */

/* The first axis goes behind the batches (`batch`), then the last two change places (`matrix`). */
static vtac_value_id transpose_input(vtac_compose *c, vtac_value_id x, bool matrix, bool batch)
{
    const uint32_t rank = vtac_c_rank(c, x);
    int64_t order[VTAC_MAX_RANK];
    if (rank < 2 || (!matrix && !batch)) {
        return x;
    }
    for (uint32_t i = 0; i < rank; i++) {
        order[i] = !batch || i + 1 == rank ? i : i + 2 == rank ? 0 : i + 1;
    }
    if (matrix) {
        const int64_t last = order[rank - 1];
        order[rank - 1] = order[rank - 2];
        order[rank - 2] = last;
    }
    return vtac_c_transpose(c, x, order, rank);
}

void vtac_composed_fused_matmul(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id a = transpose_input(c, vtac_c_in(c, 0), vtac_c_int(c, "transA", 0) != 0,
                                            vtac_c_int(c, "transBatchA", 0) != 0);
    const vtac_value_id b = transpose_input(c, vtac_c_in(c, 1), vtac_c_int(c, "transB", 0) != 0,
                                            vtac_c_int(c, "transBatchB", 0) != 0);
    const double alpha = vtac_c_float(c, "alpha", 1.0);
    const vtac_value_id y = vtac_c_matmul(c, a, b);
    out[0] = alpha == 1.0 ? y : vtac_c_mul_number(c, y, alpha);
}

static const struct {
    const char *name;
    vtac_op op;
} activations[] = {{"Relu", VTAC_OP_RELU},
                   {"Sigmoid", VTAC_OP_SIGMOID},
                   {"Tanh", VTAC_OP_TANH},
                   {"Softplus", VTAC_OP_SOFTPLUS},
                   {"Softsign", VTAC_OP_SOFTSIGN},
                   {"Elu", VTAC_OP_ELU},
                   {"LeakyRelu", VTAC_OP_LEAKY_RELU},
                   {"HardSigmoid", VTAC_OP_HARD_SIGMOID},
                   {"Selu", VTAC_OP_SELU},
                   {"ThresholdedRelu", VTAC_OP_THRESHOLDED_RELU}};

void vtac_composed_fused_gemm(vtac_compose *c, vtac_value_id *out)
{
    static const char *const own[] = {"activation", "activation_alpha", "activation_beta", "activation_gamma",
                                      NULL};
    const char *name = vtac_c_string(c, "activation", "");
    const vtac_value_id inputs[] = {vtac_c_in(c, 0), vtac_c_in(c, 1), optional_input(c, 2)};
    hand_on_but(c, own);
    const vtac_value_id y = vtac_c_node(c, VTAC_OP_GEMM, inputs, inputs[2] == 0 ? 2 : 3);
    out[0] = name[0] == '\0' ? y : 0;
    for (size_t i = 0; i < sizeof activations / sizeof activations[0]; i++) {
        if (strcmp(activations[i].name, name) == 0) {
            static const char *const parameters[][2] = {
                {"activation_alpha", "alpha"}, {"activation_beta", "beta"}, {"activation_gamma", "gamma"}};
            for (uint32_t k = 0; k < 3; k++) {
                if (vtac_c_attr(c, parameters[k][0]) != NULL) {
                    vtac_c_set_float(c, parameters[k][1], vtac_c_float(c, parameters[k][0], 0.0));
                }
            }
            out[0] = vtac_c1(c, activations[i].op, y);
        }
    }
    if (c->status == VTA_OK && out[0] == 0) {
        (void)vtac_compose_fail(c, VTA_UNSUPPORTED, "the activation '%.64s' is not known", name);
    }
}

vtac_value_id vtac_c_integer_product(vtac_compose *c, const vtac_integers *a, const vtac_integers *b,
                                     vtac_value_id bias)
{
    vtac_value_id zero = a->zero;
    if (a->zero == 0 && b->zero != 0) {
        zero = vtac_c_number(c, vtac_c_dtype(c, a->value), 0.0);
    }
    const vtac_value_id inputs[] = {a->value, b->value, zero, b->zero};
    const uint32_t count = b->zero != 0 ? 4 : a->zero != 0 ? 3 : 2;
    const vtac_dtype type = vtac_c_dtype(c, b->scale);
    const vtac_value_id sum = vtac_c_cast(c, vtac_c_node(c, VTAC_OP_MATMUL_INTEGER, inputs, count), type);
    const vtac_value_id one = vtac_c_reshape(c, a->scale, NULL, 0);
    const vtac_value_id y = vtac_c_mul(c, sum, vtac_c_mul(c, one, b->scale));
    return bias == 0 ? y : vtac_c_add(c, y, bias);
}

/* A zero point of one element without axes, as MatMulInteger has it. */
vtac_value_id vtac_c_zero_point(vtac_compose *c, uint32_t i)
{
    const vtac_value_id zero = optional_input(c, i);
    return zero != 0 && vtac_type_elements(vtac_c_type(c, zero)) == 1 ? vtac_c_reshape(c, zero, NULL, 0)
                                                                      : zero;
}

/* a, b, a_scale, b_scale, a_zero, b_zero, bias */
void vtac_composed_matmul_to_float(vtac_compose *c, vtac_value_id *out)
{
    const vtac_integers a = {vtac_c_in(c, 0), vtac_c_in(c, 2), vtac_c_zero_point(c, 4)};
    const vtac_integers b = {vtac_c_in(c, 1), vtac_c_in(c, 3), vtac_c_zero_point(c, 5)};
    out[0] = vtac_c_integer_product(c, &a, &b, optional_input(c, 6));
}

/* a (floats), b, b_scale, b_zero, bias */
void vtac_composed_dynamic_matmul(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id a = vtac_c_in(c, 0);
    vtac_value_id quantized[3];
    vtac_c_nodes(c, VTAC_OP_DYNAMIC_QUANTIZE, &a, 1, quantized, 3);
    const vtac_integers left = {quantized[0], quantized[1], quantized[2]};
    const vtac_integers right = {vtac_c_in(c, 1), vtac_c_in(c, 2), vtac_c_zero_point(c, 3)};
    out[0] = vtac_c_integer_product(c, &left, &right, optional_input(c, 4));
}

/* ---- QLinearMatMul: a, its scale and zero point; b, its scale and zero point; the scale and zero point of y
 */

/* A parameter as numbers that broadcast to [..., rows, columns]: one, one a row, or as they are. */
static vtac_value_id spread_out(vtac_compose *c, uint32_t i, vtac_dtype type, bool rows)
{
    const vtac_value_id x = vtac_c_cast(c, vtac_c_in(c, i), type);
    if (c->status == VTA_OK && vtac_type_elements(vtac_c_type(c, x)) == 1) {
        return vtac_c_reshape(c, x, NULL, 0);
    }
    return rows && vtac_c_rank(c, x) == 1 ? vtac_c_unsqueeze(c, x, 1) : x;
}

static vtac_value_id less_zero_point(vtac_compose *c, uint32_t x, bool rows)
{
    return vtac_c_sub(c, vtac_c_cast(c, vtac_c_in(c, x), VTAC_F64), spread_out(c, x + 2, VTAC_F64, rows));
}

/* Rounded to the type of the last zero point, saturating. */
static vtac_value_id requantize_result(vtac_compose *c, vtac_value_id y)
{
    const vtac_dtype type = vtac_c_dtype(c, vtac_c_in(c, 7));
    const char kind = vtac_dtype_kind(type);
    if (kind != 'i' && kind != 'u') {
        return vtac_c_cast(c, vtac_c_add(c, y, spread_out(c, 7, VTAC_F64, true)), type);
    }
    y = vtac_c_add(c, vtac_c_round(c, y), spread_out(c, 7, VTAC_F64, true));
    y = vtac_c_max_number(c, y, kind == 'i' ? -128.0 : 0.0);
    return vtac_c_cast(c, vtac_c_min_number(c, y, kind == 'i' ? 127.0 : 255.0), type);
}

/* True if the kernel takes the operands, but for the type of the scales: bytes, one scale for a and
 * one for y. */
static bool takes_bytes(vtac_compose *c)
{
    static const uint8_t whole[] = {0, 2, 3, 5, 7};
    static const uint8_t single[] = {1, 2, 6, 7};
    bool takes = true;
    for (uint32_t i = 0; i < sizeof whole; i++) {
        const vtac_dtype type = vtac_c_dtype(c, vtac_c_in(c, whole[i]));
        takes = takes && (type == VTAC_I8 || type == VTAC_U8);
    }
    for (uint32_t i = 0; i < sizeof single; i++) {
        takes = takes && vtac_type_elements(vtac_c_type(c, vtac_c_in(c, single[i]))) == 1;
    }
    return takes && vtac_c_rank(c, vtac_c_in(c, 4)) < 2 && vtac_c_rank(c, vtac_c_in(c, 5)) < 2;
}

void vtac_composed_qlinear_matmul(vtac_compose *c, vtac_value_id *out)
{
    static const uint8_t scales[] = {1, 4, 6};
    vtac_value_id inputs[8];
    bool plain = true;
    for (uint32_t i = 0; i < 8; i++) {
        inputs[i] = vtac_c_in(c, i);
    }
    for (uint32_t i = 0; i < 3; i++) {
        plain = plain && vtac_c_dtype(c, inputs[scales[i]]) == VTAC_F32;
    }
    if (c->status != VTA_OK || !takes_bytes(c)) {
        const vtac_value_id y = vtac_c_matmul(c, less_zero_point(c, 0, true), less_zero_point(c, 3, false));
        const vtac_value_id ab =
            vtac_c_mul(c, spread_out(c, 1, VTAC_F32, true), spread_out(c, 4, VTAC_F32, false));
        const vtac_value_id scale = vtac_c_div(c, ab, spread_out(c, 6, VTAC_F32, true));
        out[0] = requantize_result(c, vtac_c_mul(c, y, vtac_c_cast(c, scale, VTAC_F64)));
    } else if (!plain) {
        for (uint32_t i = 0; i < 3; i++) {
            inputs[scales[i]] = vtac_c_cast(c, inputs[scales[i]], VTAC_F32);
        }
        out[0] = vtac_c_node(c, VTAC_OP_QLINEAR_MATMUL, inputs, 8);
    }
}

/* ---- MatMulNBits: a [..., K], b [N, blocks, bytes], scales, zero points, group of each column, bias */

/* The numbers of `bits` bits in bytes [rows, blocks or bytes...], lowest first: [rows, what they are]. */
static vtac_value_id unpack_bits(vtac_compose *c, vtac_value_id x, int64_t rows, int64_t bits)
{
    const int64_t in_byte = 8 / bits;
    const int64_t elements = vtac_type_elements(vtac_c_type(c, x));
    const int64_t bytes = rows > 0 && elements % rows == 0 ? elements / rows : 0;
    const int64_t shape[] = {rows, bytes, 1};
    const int64_t flat[] = {rows, bytes * in_byte};
    vtac_value_id parts[8];
    if (c->status == VTA_OK && (vtac_c_dtype(c, x) != VTAC_U8 || bytes < 1)) {
        return vtac_compose_fail(c, VTA_INVALID, "packed numbers need bytes, u8, for each of %lld rows",
                                 (long long)rows);
    }
    const vtac_value_id whole = vtac_c_reshape(c, x, shape, 3);
    for (int64_t i = 0; i < in_byte; i++) {
        const vtac_value_id shift = vtac_c_number(c, VTAC_U8, (double)(i * bits));
        vtac_c_set_string(c, "direction", "RIGHT");
        parts[i] = vtac_c2(c, VTAC_OP_BIT_SHIFT, whole, shift);
        parts[i] =
            vtac_c2(c, VTAC_OP_BITWISE_AND, parts[i], vtac_c_number(c, VTAC_U8, (double)((1 << bits) - 1)));
    }
    return vtac_c_reshape(c, vtac_c_concat(c, parts, (uint32_t)in_byte, 2), flat, 2);
}

typedef struct blocks {
    int64_t k, n, bits, size, count;
} blocks;

/* One number for each block as one for each column: [N, K]. */
static vtac_value_id spread_blocks(vtac_compose *c, const blocks *b, vtac_value_id x)
{
    const int64_t apart[] = {b->n, b->count, 1};
    const int64_t wide[] = {b->n, b->count, b->size};
    const int64_t flat[] = {b->n, b->count * b->size};
    if (vtac_c_has(c, 4)) { /* the block of each column */
        const int64_t table[] = {b->n, b->count};
        const int64_t line[] = {b->k};
        return vtac_c_gather(c, vtac_c_reshape(c, x, table, 2), vtac_c_reshape(c, vtac_c_in(c, 4), line, 1),
                             1);
    }
    const vtac_value_id all = vtac_c_expand(c, vtac_c_reshape(c, x, apart, 3), wide, 3);
    return vtac_c_slice(c, vtac_c_reshape(c, all, flat, 2), 1, 0, b->k);
}

void vtac_composed_matmul_bits(vtac_compose *c, vtac_value_id *out)
{
    static const int64_t order[] = {1, 0};
    blocks b = {.k = vtac_c_int(c, "K", 0),
                .n = vtac_c_int(c, "N", 0),
                .bits = vtac_c_int(c, "bits", 4),
                .size = vtac_c_int(c, "block_size", 32)};
    const vtac_dtype type = vtac_c_dtype(c, vtac_c_in(c, vtac_c_has(c, 0) ? 0 : 2));
    if ((b.bits != 2 && b.bits != 4 && b.bits != 8) || b.size < 8 || b.size > 1 << 20 || b.k < 1 || b.n < 1 ||
        b.k > 1 << 28 || b.n > 1 << 28) {
        (void)vtac_compose_fail(c, VTA_INVALID, "%lld bits in blocks of %lld of [%lld, %lld]",
                                (long long)b.bits, (long long)b.size, (long long)b.n, (long long)b.k);
        return;
    }
    b.count = (b.k + b.size - 1) / b.size;
    const int64_t scales = vtac_type_elements(vtac_c_type(c, vtac_c_in(c, 2)));
    const vtac_value_id all = unpack_bits(c, vtac_c_in(c, 1), b.n, b.bits);
    if (c->status == VTA_OK && (vtac_c_dim(c, all, 1) != b.count * b.size || scales != b.n * b.count)) {
        (void)vtac_compose_fail(c, VTA_INVALID, "its weights or scales do not fit %lld blocks of %lld rows",
                                (long long)b.count, (long long)b.n);
    }
    vtac_value_id zero = 0;
    if (c->status == VTA_OK && vtac_c_has(c, 3)) {
        zero = vtac_c_in(c, 3);
        if (vtac_c_dtype(c, zero) == VTAC_U8) {
            zero = unpack_bits(c, zero, b.n, b.bits);
            if (c->status == VTA_OK && vtac_c_dim(c, zero, 1) < b.count) {
                (void)vtac_compose_fail(c, VTA_INVALID, "its zero points are fewer than its blocks");
            }
            zero = vtac_c_slice(c, zero, 1, 0, b.count);
        }
        zero = spread_blocks(c, &b, vtac_c_cast(c, zero, type));
    } else {
        zero = vtac_c_number(c, type, (double)(1 << (b.bits - 1)));
    }
    const vtac_value_id q = vtac_c_cast(c, vtac_c_slice(c, all, 1, 0, b.k), type);
    const vtac_value_id w =
        vtac_c_mul(c, vtac_c_sub(c, q, zero), spread_blocks(c, &b, vtac_c_cast(c, vtac_c_in(c, 2), type)));
    const vtac_value_id turned = vtac_c_transpose(c, w, order, 2);
    if (!vtac_c_has(c, 0)) { /* flow_fused.c asks for the weights alone */
        out[0] = turned;
        return;
    }
    const vtac_value_id y = vtac_c_matmul(c, vtac_c_in(c, 0), turned);
    out[0] = vtac_c_has(c, 5) ? vtac_c_add(c, y, vtac_c_in(c, 5)) : y;
}

/* data, indices, scales, zero points: rows of a table of numbers of few bits, four-bit types or packed in
 * bytes */
void vtac_composed_gather_blocks(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id data = vtac_c_in(c, 0);
    const vtac_value_id scales = vtac_c_in(c, 2);
    const int64_t gather_axis = vtac_c_int(c, "gather_axis", 0);
    const int64_t axis = vtac_c_int(c, "quantize_axis", 1);
    blocks b = {.bits = vtac_c_int(c, "bits", 4), .size = vtac_c_int(c, "block_size", 128)};
    vtac_value_id table = 0;
    if (b.size < 16 || b.size > 1 << 20 || (b.bits != 2 && b.bits != 4 && b.bits != 8)) {
        (void)vtac_compose_fail(c, VTA_INVALID, "%lld bits in blocks of %lld", (long long)b.bits,
                                (long long)b.size);
        return;
    }
    if (vtac_c_dtype(c, data) == VTAC_U8) {
        const vtac_dtype type = vtac_c_dtype(c, scales);
        const int64_t last = (int64_t)vtac_c_rank(c, data) - 1;
        if (c->status == VTA_OK && (last != 1 || gather_axis != 0 || (axis != 1 && axis != -1))) {
            (void)vtac_compose_fail(c, VTA_UNSUPPORTED,
                                    "packed in bytes it takes tables of two axes, quantized "
                                    "along the second, of which it gives rows");
            return;
        }
        b.n = vtac_c_dim(c, data, 0);
        const vtac_value_id all = unpack_bits(c, data, b.n, b.bits);
        b.k = vtac_c_dim(c, all, 1);
        b.count = (b.k + b.size - 1) / b.size;
        if (c->status == VTA_OK && vtac_type_elements(vtac_c_type(c, scales)) != b.n * b.count) {
            (void)vtac_compose_fail(c, VTA_INVALID, "its scales do not fit %lld blocks of %lld rows",
                                    (long long)b.count, (long long)b.n);
            return;
        }
        vtac_value_id zero = vtac_c_number(c, type, (double)(1 << (b.bits - 1)));
        if (vtac_c_has(c, 3)) {
            zero = unpack_bits(c, vtac_c_in(c, 3), b.n, b.bits);
            if (c->status == VTA_OK && vtac_c_dim(c, zero, 1) < b.count) {
                (void)vtac_compose_fail(c, VTA_INVALID, "its zero points are fewer than its blocks");
                return;
            }
            zero = spread_blocks(c, &b, vtac_c_cast(c, vtac_c_slice(c, zero, 1, 0, b.count), type));
        }
        table = vtac_c_mul(c, vtac_c_sub(c, vtac_c_cast(c, all, type), zero), spread_blocks(c, &b, scales));
    } else {
        const vtac_value_id inputs[] = {data, scales, optional_input(c, 3)};
        vtac_c_set_int(c, "axis", axis);
        vtac_c_set_int(c, "block_size", b.size);
        table = vtac_c_node(c, VTAC_OP_DEQUANTIZE_LINEAR, inputs, inputs[2] == 0 ? 2 : 3);
    }
    /* flow_fused.c asks for the table alone */
    out[0] = vtac_c_has(c, 1) ? vtac_c_gather(c, table, vtac_c_in(c, 1),
                                              vtac_c_axis(c, gather_axis, vtac_c_rank(c, table)))
                              : table;
}

/* ---- quantized by way of floats */

static vtac_value_id floats_of(vtac_compose *c, uint32_t x, uint32_t scale, uint32_t zero)
{
    const vtac_value_id inputs[] = {vtac_c_in(c, x), vtac_c_in(c, scale), vtac_c_zero_point(c, zero)};
    return vtac_c_node(c, VTAC_OP_DEQUANTIZE_LINEAR, inputs, inputs[2] == 0 ? 2 : 3);
}

static vtac_value_id quantize_value(vtac_compose *c, vtac_value_id x, uint32_t scale, vtac_value_id zero)
{
    return vtac_c3(c, VTAC_OP_QUANTIZE_LINEAR, x, vtac_c_in(c, scale), zero);
}

static vtac_value_id zero_or_none(vtac_compose *c, uint32_t i, vtac_dtype type)
{
    return vtac_c_has(c, i) ? vtac_c_zero_point(c, i) : vtac_c_number(c, type, 0.0);
}

/* x, x_scale, x_zero, y_scale, y_zero */
void vtac_composed_q_reduce_mean(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id x = floats_of(c, 0, 1, 2);
    const vtac_attr *axes = vtac_c_attr(c, "axes");
    const vtac_value_id list =
        axes != NULL && axes->kind == VTAC_ATTR_INTS ? vtac_c_ints(c, axes->ints, (uint32_t)axes->count) : 0;
    const vtac_value_id inputs[] = {x, list};
    vtac_c_set_int(c, "keepdims", vtac_c_int(c, "keepdims", 1));
    const vtac_value_id y = vtac_c_node(c, VTAC_OP_REDUCE_MEAN, inputs, list == 0 ? 1 : 2);
    out[0] = quantize_value(c, y, 3, zero_or_none(c, 4, vtac_c_dtype(c, vtac_c_in(c, 0))));
}

/* condition, x, x_scale, x_zero, y, y_scale, y_zero, z_scale, z_zero */
void vtac_composed_q_where(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id x = floats_of(c, 1, 2, 3);
    const vtac_value_id y = vtac_c_where(c, vtac_c_in(c, 0), x, floats_of(c, 4, 5, 6));
    out[0] = quantize_value(c, y, 7, zero_or_none(c, 8, vtac_c_dtype(c, vtac_c_in(c, 1))));
}

/* ---- channels last */

static vtac_value_id order_channels(vtac_compose *c, vtac_value_id x, bool first)
{
    const uint32_t rank = vtac_c_rank(c, x);
    int64_t order[VTAC_MAX_RANK];
    if (c->status == VTA_OK && rank < 3) {
        return vtac_compose_fail(c, VTA_INVALID, "the input has %u axes, expected [N, places..., C]", rank);
    }
    for (uint32_t i = 0; i < rank; i++) {
        order[i] = i == 0 ? 0 : first ? (i == 1 ? rank - 1 : i - 1) : (i + 1 == rank ? 1 : i + 1);
    }
    return vtac_c_transpose(c, x, order, rank);
}

void vtac_composed_nhwc_max_pool(vtac_compose *c, vtac_value_id *out)
{
    static const char *const none[] = {NULL};
    const vtac_value_id x = order_channels(c, vtac_c_in(c, 0), true);
    hand_on_but(c, none);
    out[0] = order_channels(c, vtac_c1(c, VTAC_OP_MAX_POOL, x), false);
}

/* x [N, H, W, C], weights as Conv has them, bias */
void vtac_composed_nhwc_conv(vtac_compose *c, vtac_value_id *out)
{
    static const char *const none[] = {NULL};
    const vtac_value_id inputs[] = {order_channels(c, vtac_c_in(c, 0), true), vtac_c_in(c, 1),
                                    optional_input(c, 2)};
    hand_on_but(c, none);
    out[0] = order_channels(c, vtac_c_node(c, VTAC_OP_CONV, inputs, inputs[2] == 0 ? 2 : 3), false);
}

/* QLinearConv with the attribute channels_last */
void vtac_composed_ms_qlinear_conv(vtac_compose *c, vtac_value_id *out)
{
    static const char *const own[] = {"channels_last", NULL};
    const bool last = vtac_c_int(c, "channels_last", 0) != 0;
    vtac_value_id inputs[9] = {0};
    const uint32_t count = c->of->input_count;
    if (count < 8 || count > 9) {
        (void)vtac_compose_fail(c, VTA_INVALID, "it has %u inputs, expected 8 or 9", count);
        return;
    }
    memcpy(inputs, c->of->inputs, count * sizeof *inputs);
    inputs[0] = last ? order_channels(c, vtac_c_in(c, 0), true) : vtac_c_in(c, 0);
    hand_on_but(c, own);
    const vtac_value_id y = vtac_c_node(c, VTAC_OP_QLINEAR_CONV, inputs, count);
    out[0] = last ? order_channels(c, y, false) : y;
}

/* x [N, H, W, C], gamma, beta; `activation` 1: times its sigmoid. With channels_last 0: [N, C, H, W] */
static vtac_value_id group_norm(vtac_compose *c, vtac_value_id x, vtac_value_id gamma, vtac_value_id beta)
{
    const bool last = vtac_c_int(c, "channels_last", 1) != 0;
    const vtac_dtype type = vtac_c_dtype(c, x);
    x = last ? order_channels(c, x, true) : x;
    const vtac_value_id inputs[] = {vtac_c_cast(c, x, VTAC_F32), vtac_c_cast(c, gamma, VTAC_F32),
                                    vtac_c_cast(c, beta, VTAC_F32)};
    vtac_c_set_float(c, "epsilon", vtac_c_float(c, "epsilon", 1e-5));
    vtac_c_set_int(c, "num_groups", vtac_c_int(c, "groups", 1));
    vtac_value_id y = vtac_c_node(c, VTAC_OP_GROUP_NORMALIZATION, inputs, 3);
    y = vtac_c_int(c, "activation", 0) != 0 ? vtac_c_mul(c, y, vtac_c_sigmoid(c, y)) : y;
    y = vtac_c_cast(c, y, type);
    return last ? order_channels(c, y, false) : y;
}

void vtac_composed_ms_group_norm(vtac_compose *c, vtac_value_id *out)
{
    out[0] = group_norm(c, vtac_c_in(c, 0), vtac_c_in(c, 1), vtac_c_in(c, 2));
}

/* x, gamma, beta, skip ([N, C] or [N, 1, 1, C], too), bias; the second output is the sum */
void vtac_composed_skip_group_norm(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id x = vtac_c_in(c, 0);
    vtac_value_id skip = vtac_c_in(c, 3);
    const vtac_type type = *vtac_c_type(c, skip);
    const int64_t wide[] = {type.dim[0], 1, 1, type.dim[1]};
    skip = type.rank == 2 ? vtac_c_reshape(c, skip, wide, 4) : skip;
    vtac_value_id sum = vtac_c_add(c, x, skip);
    sum = vtac_c_has(c, 4) ? vtac_c_add(c, sum, vtac_c_in(c, 4)) : sum;
    out[0] = group_norm(c, sum, vtac_c_in(c, 1), vtac_c_in(c, 2));
    out[1] = sum;
}

/* ---- what is added before */

void vtac_composed_bias_add(vtac_compose *c, vtac_value_id *out)
{
    out[0] = vtac_c_add(c, vtac_c_add(c, vtac_c_in(c, 0), vtac_c_in(c, 1)), vtac_c_in(c, 2));
}

/* x + bias in two halves: the first times the Gelu of the second */
void vtac_composed_bias_split_gelu(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id sum = vtac_c_add(c, vtac_c_in(c, 0), vtac_c_in(c, 1));
    const uint32_t last = vtac_c_rank(c, sum) - 1;
    const int64_t half = vtac_c_dim(c, sum, last) / 2;
    const vtac_value_id a = vtac_c_slice(c, sum, last, 0, half);
    out[0] = vtac_c_mul(c, a, vtac_c1(c, VTAC_OP_GELU, vtac_c_slice(c, sum, last, half, 2 * half)));
}

/* Distances between the rows of a and of b. */
void vtac_composed_cdist(vtac_compose *c, vtac_value_id *out)
{
    const char *metric = vtac_c_string(c, "metric", "sqeuclidean");
    const vtac_value_id a = vtac_c_unsqueeze(c, vtac_c_in(c, 0), 1);
    const vtac_value_id apart = vtac_c_sub(c, a, vtac_c_unsqueeze(c, vtac_c_in(c, 1), 0));
    const bool squared = strcmp(metric, "sqeuclidean") == 0;
    if (!vtac_c_expect_rank(c, 0, 2) || !vtac_c_expect_rank(c, 1, 2)) {
        return;
    }
    if (!squared && strcmp(metric, "euclidean") != 0) {
        (void)vtac_compose_fail(c, VTA_UNSUPPORTED, "metric '%.32s' is not supported", metric);
        return;
    }
    const vtac_op op = squared ? VTAC_OP_REDUCE_SUM_SQUARE : VTAC_OP_REDUCE_L2;
    out[0] = vtac_c_squeeze(c, vtac_c_reduce(c, op, apart, 2, 2), 2);
}
