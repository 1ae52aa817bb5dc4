/* SPDX-License-Identifier: Apache-2.0
 *
 * Dense layers and matrix products.
 */
#include <math.h>
#include <string.h>

#include "operators.h"

/* Rows of floats quantized by the run: the row's scale (in `scale`, [rows][1]) and int32 numbers. `zero` is
 * NULL for symmetric ones: the largest magnitude is 127. Else the row's range is spread over all 256 numbers.
 */
vtac_id vtac_tflite_quantize_rows(vtac_tflite *im, vtac_id x, uint32_t rank, vtac_id *scale, vtac_id *zero)
{
    vtac_import_builder *m = &im->maker;
    const int64_t last[] = {(int64_t)rank - 1};
    const vtac_id one = vtac_make_number(m, VTAC_F32, 1.0);
    const vtac_id none = vtac_make_number(m, VTAC_F32, 0.0);
    if (zero == NULL) {
        const vtac_id all = vtac_make_number(m, VTAC_F32, 127.0);
        const vtac_id max =
            vtac_make_reduce(m, VTAC_OP_REDUCE_MAX, vtac_make1(m, VTAC_OP_ABS, x), last, 1, true);
        const vtac_id safe = vtac_make3(m, VTAC_OP_WHERE, vtac_make2(m, VTAC_OP_EQUAL, max, none), one, max);
        *scale = vtac_make2(m, VTAC_OP_DIV, safe, all);
        const vtac_id q = vtac_make2(m, VTAC_OP_MUL, x, vtac_make2(m, VTAC_OP_DIV, all, safe));
        return vtac_make_clip(m, vtac_tflite_round(im, q), -127.0, 127.0);
    }
    /* in double, as TensorFlow Lite does it */
    const vtac_id zero64 = vtac_make_number(m, VTAC_F64, 0.0);
    vtac_id low = vtac_make_cast(m, vtac_make_reduce(m, VTAC_OP_REDUCE_MIN, x, last, 1, true), VTAC_F64);
    vtac_id high = vtac_make_cast(m, vtac_make_reduce(m, VTAC_OP_REDUCE_MAX, x, last, 1, true), VTAC_F64);
    low = vtac_make2(m, VTAC_OP_MIN, low, zero64);
    high = vtac_make2(m, VTAC_OP_MAX, high, zero64);
    const vtac_id bottom = vtac_make_number(m, VTAC_F64, -128.0);
    const vtac_id top = vtac_make_number(m, VTAC_F64, 127.0);
    const vtac_id span = vtac_make2(m, VTAC_OP_SUB, high, low);
    const vtac_id level = vtac_make2(m, VTAC_OP_EQUAL, span, zero64);
    const vtac_id step64 = vtac_make3(m, VTAC_OP_WHERE, level, vtac_make_number(m, VTAC_F64, 1.0),
                                      vtac_make2(m, VTAC_OP_DIV, span, vtac_make_number(m, VTAC_F64, 255.0)));
    const vtac_id from_low = vtac_make2(m, VTAC_OP_SUB, bottom, vtac_make2(m, VTAC_OP_DIV, low, step64));
    const vtac_id from_high = vtac_make2(m, VTAC_OP_SUB, top, vtac_make2(m, VTAC_OP_DIV, high, step64));
    const vtac_id low_error = vtac_make2(m, VTAC_OP_ADD, vtac_make_number(m, VTAC_F64, 128.0),
                                         vtac_make1(m, VTAC_OP_ABS, vtac_make2(m, VTAC_OP_DIV, low, step64)));
    const vtac_id high_error =
        vtac_make2(m, VTAC_OP_ADD, top, vtac_make1(m, VTAC_OP_ABS, vtac_make2(m, VTAC_OP_DIV, high, step64)));
    vtac_id point =
        vtac_make3(m, VTAC_OP_WHERE, vtac_make2(m, VTAC_OP_LESS, low_error, high_error), from_low, from_high);
    point = vtac_make_clip(m, vtac_tflite_round(im, point), -128.0, 127.0);
    *zero = vtac_make3(m, VTAC_OP_WHERE, level, vtac_make_number(m, VTAC_I32, 0.0), point);
    *scale = vtac_make_cast(m, step64, VTAC_F32);
    const vtac_id inverse = vtac_make2(m, VTAC_OP_DIV, one, *scale);
    const vtac_id spread = vtac_make2(m, VTAC_OP_MUL, x, inverse);
    const vtac_id q = vtac_make2(m, VTAC_OP_ADD, vtac_make_cast(m, *zero, VTAC_F32), spread);
    return vtac_make_clip(m, vtac_tflite_round(im, q), -128.0, 127.0);
}

/* Rows of floats x [...][k] by bytes w [...][k][n]. */
static vtac_id product_mixed(vtac_tflite *im, vtac_id x, vtac_id w, const vtac_tflite_tensor *filter,
                             bool asymmetric)
{
    vtac_import_builder *m = &im->maker;
    vtac_id scale = 0;
    vtac_id zero = 0;
    const uint32_t rank = vtac_made_type(m, x).rank;
    if (m->status != VTA_OK || rank == 0) {
        vtac_make_fail(m, VTA_INVALID, "a product of rank 0");
        return 0;
    }
    vtac_id q = vtac_tflite_quantize_rows(im, x, rank, &scale, asymmetric ? &zero : NULL);
    if (asymmetric) {
        q = vtac_make2(m, VTAC_OP_SUB, q, zero);
    }
    vtac_id sum =
        vtac_make2(m, VTAC_OP_MATMUL, vtac_make_cast(m, q, VTAC_F64), vtac_make_cast(m, w, VTAC_F64));
    sum = vtac_make_cast(m, sum, VTAC_F32);
    const vtac_id both = vtac_make2(m, VTAC_OP_MUL, scale, vtac_tflite_scale_value(im, filter));
    return vtac_make2(m, VTAC_OP_MUL, sum, both);
}

/* x [rows][k] of floats by bytes w [n][k]. */
static vtac_id dense_mixed(vtac_tflite *im, vtac_id x, const vtac_tflite_tensor *filter, bool asymmetric)
{
    const vtac_id w = vtac_make_transpose(&im->maker, vtac_tflite_plain(im, 1), (int64_t[]){1, 0}, 2);
    return product_mixed(im, x, w, filter, asymmetric);
}

static vtac_id dense_bytes(vtac_tflite *im, vtac_id x, const vtac_tflite_tensor *in,
                           const vtac_tflite_tensor *filter, const vtac_tflite_tensor *out)
{
    const vtac_attr attrs[] = {vtac_attr_of_int("transB", 1),
                               vtac_attr_of_string("rounding", vtac_rounding_name(VTAC_ROUND_UP))};
    vtac_id weights = vtac_tflite_plain(im, 1);
    vtac_make_rows_of_planes(&im->maker, &x, &weights);
    const vtac_id inputs[] = {x,
                              vtac_tflite_scale_value(im, in),
                              vtac_tflite_zero_value(im, in),
                              weights,
                              vtac_tflite_scale_value(im, filter),
                              vtac_tflite_zero_value(im, filter),
                              vtac_tflite_has(im, 2) ? vtac_tflite_plain(im, 2) : 0,
                              vtac_tflite_scale_value(im, out),
                              vtac_tflite_zero_value(im, out)};
    return vtac_make(&im->maker, VTAC_OP_QGEMM, inputs, 9, attrs, 2);
}

static vtac_id dense_words(vtac_tflite *im, vtac_id x, const vtac_tflite_tensor *in,
                           const vtac_tflite_tensor *filter, const vtac_tflite_tensor *out, int activation)
{
    vtac_import_builder *m = &im->maker;
    const bool narrow = !vtac_tflite_has(im, 2) || vtac_tflite_in(im, 2)->type.dtype == VTAC_I32;
    const int64_t outputs = vtac_tflite_type(im, 1).dim[0];
    vtac_tfl_scale *scales = vtac_make_room(m, outputs, sizeof *scales);
    int32_t *mult = vtac_make_room(m, outputs, sizeof *mult);
    int32_t *shift = vtac_make_room(m, outputs, sizeof *shift);
    if (scales == NULL || mult == NULL || shift == NULL) {
        return 0;
    }
    for (int64_t i = 0; i < outputs; i++) {
        const float of_row = filter->scale[filter->scale_count == 1 ? 0 : i];
        scales[i] = vtac_tfl_scale_of(vtac_tfl_product(in->scale[0], of_row, out->scale[0], true));
        mult[i] = scales[i].mult;
        shift[i] = scales[i].shift;
    }
    const vtac_id w = vtac_make_transpose(
        m, vtac_tflite_centred(im, vtac_tflite_plain(im, 1), filter->zero[0]), (int64_t[]){1, 0}, 2);
    vtac_id sum =
        vtac_make2(m, VTAC_OP_MATMUL, vtac_make_cast(m, vtac_tflite_centred(im, x, in->zero[0]), VTAC_F64),
                   vtac_make_cast(m, w, VTAC_F64));
    sum = vtac_make_cast(m, sum, VTAC_I64);
    if (vtac_tflite_has(im, 2)) {
        sum = vtac_make2(m, VTAC_OP_ADD, sum, vtac_make_cast(m, vtac_tflite_plain(im, 2), VTAC_I64));
    }
    if (narrow) {
        return vtac_tflite_store(im, vtac_tflite_rescale_wide(im, sum, scales, outputs, 1), out, activation);
    }
    const vtac_type type = {VTAC_I32, 1, {outputs}};
    const vtac_attr attrs[] = {vtac_attr_of_string("rounding", vtac_rounding_name(VTAC_ROUND_ONCE)),
                               vtac_attr_of_int("axis", 1)};
    const vtac_id inputs[] = {sum, vtac_make_borrowed(m, &type, mult), vtac_make_borrowed(m, &type, shift)};
    return vtac_tflite_store(im, vtac_make(m, VTAC_OP_RESCALE, inputs, 3, attrs, 2), out, activation);
}

/* options: activation, weights' format, keep axes, asymmetric inputs */
void vtac_tflite_import_dense(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_tflite_tensor *in = vtac_tflite_in(im, 0);
    const vtac_tflite_tensor *filter = vtac_tflite_in(im, 1);
    const vtac_tflite_tensor *out = vtac_tflite_out(im, 0);
    const int activation = (int)vtac_tflite_option(im, 0, 1, 0);
    const vtac_type x = vtac_tflite_type(im, 0);
    const vtac_type w = vtac_tflite_type(im, 1);
    if (vtac_tflite_option(im, 1, 1, 0) != 0) {
        vtac_make_refuse(&im->maker, "weights in a shuffled format");
        return;
    }
    const int64_t count = vtac_type_elements(&x);
    if (m->status != VTA_OK || w.rank != 2 || w.dim[1] < 1 || count % w.dim[1] != 0) {
        vtac_make_fail(m, VTA_INVALID, "%lld elements into a dense layer of rank %u, %lld inputs",
                       (long long)count, w.rank, (long long)(w.rank == 2 ? w.dim[1] : 0));
        return;
    }
    const vtac_id rows =
        vtac_make_reshape(m, vtac_tflite_plain(im, 0), (int64_t[]){count / w.dim[1], w.dim[1]}, 2);
    const bool scaled = in->scale_count == 1 && out->scale_count == 1 &&
                        (filter->scale_count == 1 || (filter->scale_count == w.dim[0] && filter->axis == 0));
    const bool bytes = (in->type.dtype == VTAC_I8 || in->type.dtype == VTAC_U8) &&
                       (filter->type.dtype == VTAC_I8 || filter->type.dtype == VTAC_U8) &&
                       out->type.dtype == in->type.dtype;
    vtac_id y = 0;
    if (scaled && bytes) {
        y = vtac_tflite_activate(im, dense_bytes(im, rows, in, filter, out), out, activation);
    } else if (scaled && in->type.dtype == VTAC_I16 && filter->type.dtype == VTAC_I8 &&
               out->type.dtype == VTAC_I16) {
        y = dense_words(im, rows, in, filter, out, activation);
    } else if (vtac_tflite_is_float(in) && vtac_tflite_is_float(out)) {
        const bool mixed =
            filter->type.dtype == VTAC_I8 && (filter->scale_count == 1 || filter->scale_count == w.dim[0]);
        const vtac_attr turned = vtac_attr_of_int("transB", 1);
        if (!mixed && !vtac_tflite_is_float(filter)) {
            vtac_make_refuse(&im->maker, "a dense layer of f32 by %s", vtac_dtype_name(filter->type.dtype));
            return;
        }
        const vtac_id bias = vtac_tflite_has(im, 2) ? vtac_tflite_plain(im, 2) : 0;
        if (mixed) {
            y = dense_mixed(im, rows, filter, vtac_tflite_option(im, 3, 1, 0) != 0);
            y = bias == 0 ? y : vtac_make2(m, VTAC_OP_ADD, y, bias);
        } else {
            vtac_id inputs[] = {rows, vtac_tflite_plain(im, 1), bias};
            vtac_make_rows_of_planes(&im->maker, &inputs[0], &inputs[1]);
            y = vtac_make(m, VTAC_OP_GEMM, inputs, 3, &turned, 1);
        }
        y = vtac_tflite_activate(im, y, out, activation);
    } else {
        vtac_make_refuse(&im->maker, "a dense layer of %s by %s to %s (%u, %u and %u scales)",
                         vtac_dtype_name(in->type.dtype), vtac_dtype_name(filter->type.dtype),
                         vtac_dtype_name(out->type.dtype), in->scale_count, filter->scale_count,
                         out->scale_count);
    }
    if (vtac_tflite_option(im, 2, 1, 0) != 0 && x.rank > 0) {
        vtac_type to = x;
        to.dim[to.rank - 1] = w.dim[0];
        if (x.dim[x.rank - 1] == w.dim[1]) {
            y = vtac_make_reshape(m, y, to.dim, to.rank);
        }
    }
    vtac_tflite_set(im, 0, y);
}

/* options: adjoint x, adjoint y, asymmetric inputs */
void vtac_tflite_import_batch_matmul(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_tflite_tensor *in[] = {vtac_tflite_in(im, 0), vtac_tflite_in(im, 1)};
    const vtac_tflite_tensor *out = vtac_tflite_out(im, 0);
    vtac_id side[2];
    const bool words = in[0]->type.dtype == VTAC_I16;
    const bool whole = vtac_tflite_quantized(in[0]) && vtac_tflite_quantized(in[1]) &&
                       vtac_tflite_quantized(out) && in[0]->type.dtype == in[1]->type.dtype;
    for (uint32_t i = 0; i < 2; i++) {
        const vtac_type type = vtac_tflite_type(im, i);
        int64_t order[VTAC_MAX_RANK];
        for (uint32_t a = 0; a < type.rank; a++) {
            order[a] = a;
        }
        side[i] = vtac_tflite_plain(im, i);
        if (vtac_tflite_option(im, i, 1, 0) != 0 && type.rank >= 2) {
            order[type.rank - 1] = type.rank - 2;
            order[type.rank - 2] = type.rank - 1;
            side[i] = vtac_make_transpose(m, side[i], order, type.rank);
        }
        if (whole) {
            side[i] = vtac_make_cast(m, vtac_tflite_centred(im, side[i], in[i]->zero[0]), VTAC_F64);
        }
    }
    if (vtac_tflite_is_float(in[0]) && vtac_tflite_is_float(in[1])) {
        vtac_tflite_set(im, 0, vtac_make2(m, VTAC_OP_MATMUL, side[0], side[1]));
        return;
    }
    if (vtac_tflite_is_float(in[0]) && vtac_tflite_is_float(out) && in[1]->type.dtype == VTAC_I8 &&
        in[1]->scale_count == 1) {
        vtac_tflite_set(im, 0,
                        product_mixed(im, side[0], side[1], in[1], vtac_tflite_option(im, 2, 1, 0) != 0));
        return;
    }
    if (!whole) {
        vtac_make_refuse(&im->maker, "a product of %s and %s", vtac_dtype_name(in[0]->type.dtype),
                         vtac_dtype_name(in[1]->type.dtype));
        return;
    }
    const vtac_tfl_scale scale =
        vtac_tfl_scale_of(vtac_tfl_product(in[0]->scale[0], in[1]->scale[0], out->scale[0], true));
    const vtac_id sum =
        vtac_make_cast(m, vtac_make2(m, VTAC_OP_MATMUL, side[0], side[1]), words ? VTAC_I64 : VTAC_I32);
    vtac_tflite_set(
        im, 0,
        vtac_tflite_store(im, vtac_tflite_rescale(im, sum, scale, words ? VTAC_ROUND_ONCE : VTAC_ROUND_UP),
                          out, TFL_NONE));
}
