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

/* ---- products */

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

/* ---- QLinearMatMul: a, its scale and zero point; b, its scale and zero point; the scale and zero point of y
 */

/* A parameter as numbers that broadcast to [..., rows, columns]: one, one a row, or as they are. */
static vtac_value_id spread_out(vtac_compose *c, uint32_t i, vtac_dtype type, bool rows)
{
    const vtac_value_id x = vtac_c_cast(c, vtac_c_in(c, i), type);
    if (c->make.status == VTA_OK && vtac_type_elements(vtac_c_type(c, x)) == 1) {
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
    if (c->make.status != VTA_OK || !takes_bytes(c)) {
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
    if (c->make.status == VTA_OK && (vtac_c_dtype(c, x) != VTAC_U8 || bytes < 1)) {
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
    if (c->make.status == VTA_OK && (vtac_c_dim(c, all, 1) != b.count * b.size || scales != b.n * b.count)) {
        (void)vtac_compose_fail(c, VTA_INVALID, "its weights or scales do not fit %lld blocks of %lld rows",
                                (long long)b.count, (long long)b.n);
    }
    vtac_value_id zero = 0;
    if (c->make.status == VTA_OK && vtac_c_has(c, 3)) {
        zero = vtac_c_in(c, 3);
        if (vtac_c_dtype(c, zero) == VTAC_U8) {
            zero = unpack_bits(c, zero, b.n, b.bits);
            if (c->make.status == VTA_OK && vtac_c_dim(c, zero, 1) < b.count) {
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
        if (c->make.status == VTA_OK && (last != 1 || gather_axis != 0 || (axis != 1 && axis != -1))) {
            (void)vtac_compose_fail(c, VTA_UNSUPPORTED,
                                    "packed in bytes it takes tables of two axes, quantized "
                                    "along the second, of which it gives rows");
            return;
        }
        b.n = vtac_c_dim(c, data, 0);
        const vtac_value_id all = unpack_bits(c, data, b.n, b.bits);
        b.k = vtac_c_dim(c, all, 1);
        b.count = (b.k + b.size - 1) / b.size;
        if (c->make.status == VTA_OK && vtac_type_elements(vtac_c_type(c, scales)) != b.n * b.count) {
            (void)vtac_compose_fail(c, VTA_INVALID, "its scales do not fit %lld blocks of %lld rows",
                                    (long long)b.count, (long long)b.n);
            return;
        }
        vtac_value_id zero = vtac_c_number(c, type, (double)(1 << (b.bits - 1)));
        if (vtac_c_has(c, 3)) {
            zero = unpack_bits(c, vtac_c_in(c, 3), b.n, b.bits);
            if (c->make.status == VTA_OK && vtac_c_dim(c, zero, 1) < b.count) {
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
