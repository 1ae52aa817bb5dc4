/* SPDX-License-Identifier: Apache-2.0
 *
 * Means, sums, extremes over axes.
 */
#include <math.h>
#include <string.h>

#include "operators.h"

/* The axes of input 1, each once, as they lie in the value. */
static uint32_t axes_of(vtac_tflite *im, const vtac_type *x, bool planes, int64_t *axes, int64_t *count)
{
    int64_t given[2 * VTAC_MAX_RANK];
    bool marked[VTAC_MAX_RANK] = {false};
    uint32_t used = 0;
    const uint32_t found = vtac_tflite_known_ints(im, 1, "axes", given, 2 * VTAC_MAX_RANK);
    *count = 1;
    for (uint32_t i = 0; i < found; i++) {
        const uint32_t axis = vtac_tflite_wrap(im, given[i], x->rank);
        if (im->maker.status == VTA_OK && !marked[axis]) {
            marked[axis] = true;
            *count *= x->dim[axis];
            axes[used++] = vtac_tflite_axis(axis, x->rank, planes);
        }
    }
    return used;
}

static bool over_plane(const int64_t *axes, uint32_t count)
{
    return count == 2 && axes[0] + axes[1] == 5 && (axes[0] == 2 || axes[0] == 3);
}

/* The sum of whole numbers in 32 bits, as TensorFlow Lite has it. */
static vtac_id whole_sum(vtac_tflite *im, vtac_id x, const int64_t *axes, uint32_t count, bool keep)
{
    vtac_import_builder *m = &im->maker;
    return vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, vtac_make_cast(m, x, VTAC_I32), axes, count, keep);
}

/* A mean, in units of the output, rounded half away from zero and saturated while it is a float: one beyond
 * 32 bits saturates like any other. No number, which scales too far apart give, is the largest, as fmin has
 * it. */
static vtac_id stored_floats(vtac_tflite *im, vtac_id y, const vtac_tflite_tensor *out)
{
    vtac_import_builder *m = &im->maker;
    int64_t low;
    int64_t high;
    vtac_tflite_range(out->type.dtype, &low, &high);
    y = vtac_make_cast(m, y, VTAC_F64); /* in which y + 1/2 is exact */
    const vtac_id size =
        vtac_make2(m, VTAC_OP_ADD, vtac_make1(m, VTAC_OP_ABS, y), vtac_make_number(m, VTAC_F64, 0.5));
    y = vtac_make2(m, VTAC_OP_MUL, vtac_make1(m, VTAC_OP_SIGN, y), vtac_make1(m, VTAC_OP_FLOOR, size));
    y = vtac_make2(m, VTAC_OP_ADD, y, vtac_make_number(m, VTAC_F64, (double)out->zero[0]));
    const vtac_id max = vtac_make_number(m, VTAC_F64, (double)high);
    y = vtac_make3(m, VTAC_OP_WHERE, vtac_make2(m, VTAC_OP_LESS, y, max), y, max);
    y = vtac_make2(m, VTAC_OP_MAX, y, vtac_make_number(m, VTAC_F64, (double)low));
    return vtac_make_cast(m, y, out->type.dtype);
}

/* Means and sums with another scale, in float32: the value, in units of the output, rounded. */
static vtac_id by_floats(vtac_tflite *im, vtac_id sum, int64_t count, bool is_mean)
{
    vtac_import_builder *m = &im->maker;
    const vtac_tflite_tensor *in = vtac_tflite_in(im, 0);
    const vtac_tflite_tensor *out = vtac_tflite_out(im, 0);
    const float scale = in->scale[0] / out->scale[0];
    const float zero = (float)-in->zero[0];
    const float bias = is_mean ? zero * scale : zero * scale * (float)count;
    vtac_id y = vtac_make_cast(m, sum, VTAC_F32);
    if (is_mean) {
        y = vtac_make2(m, VTAC_OP_DIV, y, vtac_make_number(m, VTAC_F32, (double)count));
    }
    y = vtac_make2(m, VTAC_OP_MUL, y, vtac_make_number(m, VTAC_F32, (double)scale));
    y = vtac_make2(m, VTAC_OP_ADD, y, vtac_make_number(m, VTAC_F32, (double)bias));
    if (is_mean) {
        return stored_floats(im, y, out);
    }
    y = vtac_make2(m, VTAC_OP_ADD, vtac_tflite_round(im, y),
                   vtac_make_number(m, VTAC_I32, (double)out->zero[0]));
    return vtac_make_cast(m, y, out->type.dtype); /* sums wrap */
}

/* True if the axes are 1 and 2, counted from the front: TensorFlow Lite has a rule of its own
 * for these alone. */
static bool names_plane(vtac_tflite *im)
{
    int64_t given[2 * VTAC_MAX_RANK];
    const uint32_t found = vtac_tflite_known_ints(im, 1, "axes", given, 2 * VTAC_MAX_RANK);
    return found == 2 && given[0] + given[1] == 3 && (given[0] == 1 || given[0] == 2);
}

/* Of planes, keeping their axes: one operator for host and accelerator. */
static vtac_id plane_mean(vtac_tflite *im, vtac_id x)
{
    const vtac_tflite_tensor *in = vtac_tflite_in(im, 0);
    const vtac_tflite_tensor *out = vtac_tflite_out(im, 0);
    const vtac_attr attr = vtac_attr_of_string("rounding", vtac_rounding_name(VTAC_ROUND_AWAY));
    const vtac_id inputs[] = {x, vtac_tflite_scale_value(im, in), vtac_tflite_zero_value(im, in),
                              vtac_tflite_scale_value(im, out), vtac_tflite_zero_value(im, out)};
    return vtac_make(&im->maker, VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL, inputs, 5, &attr, 1);
}

/* Means of 16 bits over planes: the sum scaled, then divided, halves away from zero. */
static vtac_id plane_mean_words(vtac_tflite *im, vtac_id x, const int64_t *axes, uint32_t used, int64_t count)
{
    vtac_import_builder *m = &im->maker;
    const vtac_tflite_tensor *in = vtac_tflite_in(im, 0);
    const vtac_tflite_tensor *out = vtac_tflite_out(im, 0);
    const vtac_tfl_scale s = vtac_tfl_scale_of((double)in->scale[0] / (double)out->scale[0]);
    vtac_id y = vtac_tflite_rescale(
        im, whole_sum(im, vtac_tflite_centred(im, x, in->zero[0]), axes, used, true), s, VTAC_ROUND_AWAY);
    y = vtac_make2(m, VTAC_OP_DIV, vtac_make_cast(m, y, VTAC_F64),
                   vtac_make_number(m, VTAC_F64, (double)count));
    return vtac_tflite_store(im, vtac_tflite_round(im, y), out, TFL_NONE);
}

/* A mean or sum of floats. Beside weights of bytes it is summed as the engine sums it: one number after the
 * other, in the order of the file's axes. */
static vtac_id reduce_floats(vtac_tflite *im, vtac_id x, const int64_t *axes, uint32_t count, bool keep)
{
    vtac_import_builder *m = &im->maker;
    const vtac_attr attrs[] = {vtac_attr_of_int("keepdims", keep), vtac_attr_of_int("in_order", 1)};
    const vtac_id in[] = {x, vtac_make_ints(m, axes, count)};
    return vtac_make(m, (vtac_op)im->how, in, 2, attrs, im->mixed ? 2 : 1);
}

/* x, axes; options: keep axes */
void vtac_tflite_import_mean(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const bool is_mean = im->how == VTAC_OP_REDUCE_MEAN;
    const bool keep = vtac_tflite_option(im, 0, 1, 0) != 0;
    const vtac_tflite_tensor *in = vtac_tflite_in(im, 0);
    const vtac_tflite_tensor *out = vtac_tflite_out(im, 0);
    const vtac_type x = vtac_tflite_type(im, 0);
    int64_t axes[VTAC_MAX_RANK];
    int64_t count;
    bool planes = vtac_tflite_in_planes(im, 0) || (keep && x.rank == 4);
    uint32_t used = axes_of(im, &x, planes, axes, &count);
    const bool reorders = !keep || (im->mixed && !vtac_tflite_quantized(in));
    if (planes && reorders && !over_plane(axes, used)) {
        planes = false; /* an axis that goes changes the order of the others, or of the sum */
        used = axes_of(im, &x, planes, axes, &count);
    }
    const vtac_id value = planes ? vtac_tflite_planes(im, 0) : vtac_tflite_plain(im, 0);
    vtac_id y = 0;
    if (m->status != VTA_OK) {
        return;
    }
    if (vtac_tflite_quantized(in) != vtac_tflite_quantized(out) || count < 1 || used == 0) {
        vtac_make_refuse(&im->maker, "%s to %s over %lld places", vtac_dtype_name(in->type.dtype),
                         vtac_dtype_name(out->type.dtype), (long long)count);
        return;
    }
    const bool of_plane = is_mean && keep && planes && names_plane(im);
    if (!vtac_tflite_quantized(in)) {
        y = reduce_floats(im, value, axes, used, keep);
    } else if (of_plane && in->type.dtype == VTAC_I16) {
        y = plane_mean_words(im, value, axes, used, count);
    } else if (of_plane) {
        y = plane_mean(im, value);
    } else if (is_mean && vtac_tflite_same_scale(in, out)) {
        const vtac_id sum = whole_sum(im, value, axes, used, keep);
        const vtac_id divisor = vtac_make_number(m, VTAC_I32, (double)count);
        y = vtac_make_cast(m, vtac_make2(m, VTAC_OP_DIV, sum, divisor), in->type.dtype);
    } else if (vtac_tflite_same_scale(in, out)) {
        y = vtac_make_cast(m, whole_sum(im, value, axes, used, keep),
                           in->type.dtype); /* as they are, and they wrap */
    } else {
        y = by_floats(im, whole_sum(im, value, axes, used, keep), count, is_mean);
    }
    vtac_tflite_set_either(im, 0, y, planes && keep);
}

/* Products of quantized integers: number by number, each product scaled, in the order of the file. */
static void reduce_products(vtac_tflite *im, const int64_t *axes, uint32_t used, int64_t count, bool keep)
{
    enum { MAX = 4096 };
    vtac_import_builder *m = &im->maker;
    const vtac_tflite_tensor *in = vtac_tflite_in(im, 0);
    const vtac_tflite_tensor *out = vtac_tflite_out(im, 0);
    const vtac_type x = vtac_tflite_type(im, 0);
    if (!vtac_tflite_quantized(out) || in->type.dtype != out->type.dtype || in->type.dtype == VTAC_U8 ||
        count < 1 || count > MAX) {
        vtac_make_refuse(&im->maker, "products of %lld of %s in %s; 1 to %d of i8 or i16 are taken",
                         (long long)count, vtac_dtype_name(in->type.dtype), vtac_dtype_name(out->type.dtype),
                         MAX);
        return;
    }
    int64_t order[VTAC_MAX_RANK];
    int64_t shape[VTAC_MAX_RANK];
    uint32_t rank = 0;
    uint32_t kept = 0;
    for (uint32_t a = 0; a < x.rank; a++) {
        bool goes = false;
        for (uint32_t i = 0; i < used; i++) {
            goes = goes || axes[i] == a;
        }
        if (!goes) {
            order[kept++] = a;
        }
        if (!goes || keep) {
            shape[rank++] = goes ? 1 : x.dim[a];
        }
    }
    for (uint32_t a = 0, at = kept; a < x.rank; a++) {
        bool stays = false;
        for (uint32_t i = 0; i < kept; i++) {
            stays = stays || order[i] == a;
        }
        if (!stays) {
            order[at++] = a;
        }
    }
    const vtac_tfl_scale scale =
        vtac_tfl_scale_of((double)in->scale[0] / pow((double)out->scale[0], 1.0 / (double)count));
    vtac_id v =
        vtac_tflite_centred(im, vtac_make_transpose(m, vtac_tflite_plain(im, 0), order, x.rank), in->zero[0]);
    v = vtac_make_reshape(m, v, (int64_t[]){vtac_type_elements(&x) / count, count}, 2);
    vtac_id product = 0;
    for (int64_t i = 0; i < count && m->status == VTA_OK; i++) {
        const vtac_id next = vtac_make_cast(m, vtac_make_slice(m, v, 1, i, i + 1), VTAC_I64);
        if (i == 0) {
            product = next;
            continue;
        }
        product = vtac_tflite_rescale(im, vtac_make2(m, VTAC_OP_MUL, product, next), scale, VTAC_ROUND_ONCE);
        product = vtac_make_cast(m, product, VTAC_I64);
    }
    product = vtac_tflite_rescale(im, product, scale, VTAC_ROUND_ONCE);
    vtac_tflite_set(im, 0, vtac_make_reshape(m, vtac_tflite_store(im, product, out, TFL_NONE), shape, rank));
}

/* REDUCE_MAX, MIN, PROD, ANY; options: keep axes */
void vtac_tflite_import_reduce(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const bool keep = vtac_tflite_option(im, 0, 1, 0) != 0;
    const vtac_tflite_tensor *in = vtac_tflite_in(im, 0);
    const vtac_type x = vtac_tflite_type(im, 0);
    int64_t axes[VTAC_MAX_RANK];
    int64_t count;
    const bool is_product = im->how == VTAC_OP_REDUCE_PROD && vtac_tflite_quantized(in);
    const bool planes = keep && vtac_tflite_in_planes(im, 0) && !is_product;
    const uint32_t used = axes_of(im, &x, planes, axes, &count);
    if (is_product && m->status == VTA_OK) {
        reduce_products(im, axes, used, count, keep);
        return;
    }
    vtac_id value = planes ? vtac_tflite_planes(im, 0) : vtac_tflite_plain(im, 0);
    if (m->status != VTA_OK) {
        return;
    }
    const bool is_bool = in->type.dtype == VTAC_BOOL;
    value = is_bool ? vtac_make_cast(m, value, VTAC_U8) : value;
    const vtac_id y = vtac_make_reduce(m, (vtac_op)im->how, value, axes, used, keep);
    vtac_tflite_set_either(im, 0, is_bool ? vtac_make_cast(m, y, VTAC_BOOL) : y, planes);
}

/* x, axis */
void vtac_tflite_import_arg(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    int64_t axis = 0;
    const vtac_type x = vtac_tflite_type(im, 0);
    if (vtac_tflite_known_ints(im, 1, "axis", &axis, 1) != 1) {
        return;
    }
    const vtac_attr attrs[] = {vtac_attr_of_int("axis", vtac_tflite_wrap(im, axis, x.rank)),
                               vtac_attr_of_int("keepdims", 0)};
    const vtac_id value = x.dtype == VTAC_BOOL ? vtac_make_cast(m, vtac_tflite_plain(im, 0), VTAC_U8)
                                               : vtac_tflite_plain(im, 0);
    const vtac_id y = vtac_make(m, (vtac_op)im->how, &value, 1, attrs, 2);
    vtac_tflite_set(im, 0, vtac_make_cast(m, y, vtac_tflite_out(im, 0)->type.dtype));
}

/* x, k: the largest along the last axis, and where */
void vtac_tflite_import_top_k(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    int64_t k = 0;
    vtac_id out[2];
    if (vtac_tflite_known_ints(im, 1, "count", &k, 1) != 1) {
        return;
    }
    const vtac_attr axis = vtac_attr_of_int("axis", -1);
    const vtac_id in[] = {vtac_tflite_plain(im, 0), vtac_make_ints(m, &k, 1)};
    vtac_make_many(m, VTAC_OP_TOP_K, in, 2, &axis, 1, out, 2);
    vtac_tflite_set(im, 0, out[0]);
    if (im->op->output_count > 1) {
        vtac_tflite_set(im, 1, vtac_make_cast(m, out[1], vtac_tflite_out(im, 1)->type.dtype));
    }
}

/* x, axis; options: exclusive, reverse */
void vtac_tflite_import_cumsum(vtac_tflite *im)
{
    int64_t axis = 0;
    if (vtac_tflite_known_ints(im, 1, "axis", &axis, 1) != 1) {
        return;
    }
    const vtac_attr attrs[] = {vtac_attr_of_int("exclusive", vtac_tflite_option(im, 0, 1, 0)),
                               vtac_attr_of_int("reverse", vtac_tflite_option(im, 1, 1, 0))};
    const vtac_id in[] = {vtac_tflite_plain(im, 0), vtac_make_ints(&im->maker, &axis, 1)};
    if (vtac_tflite_quantized(vtac_tflite_in(im, 0))) {
        vtac_make_refuse(&im->maker, "quantized integers");
    }
    vtac_tflite_set(im, 0, vtac_make(&im->maker, VTAC_OP_CUM_SUM, in, 2, attrs, 2));
}
