/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions, pools, normalizations, other sizes.
 */
#include <math.h>
#include <string.h>

#include "../import/blocks.h"
#include "../import/window.h"
#include "torch.h"

/* `axes` numbers, or one for all. */
static void spread_ints(vtac_torch *im, const char *name, int64_t otherwise, uint32_t axes, int64_t *out)
{
    const uint32_t count = vtac_torch_ints(im, name, out, axes);
    for (uint32_t a = count; a < axes; a++) {
        out[a] = count == 1 ? out[0] : otherwise;
    }
    if (count > 1 && count != axes) {
        vtac_torch_refuse(im, "%u numbers as '%s' for %u axes", count, name, axes);
    }
}

/* ---- convolutions */

/* Zeros on both sides, or "same" and "valid". */
static void pads_of(vtac_torch *im, const vtac_type *weight, uint32_t axes, const int64_t *dilation,
                    int64_t *pads)
{
    const bool is_word = vtac_torch_arg(im, "padding")->kind == TORCH_TEXT;
    const char *word = is_word ? vtac_torch_text(im, "padding", "") : "";
    if (!is_word) {
        spread_ints(im, "padding", 0, axes, pads);
        memcpy(pads + axes, pads, axes * sizeof *pads);
        return;
    }
    const bool same = strcmp(word, "same") == 0;
    for (uint32_t a = 0; a < axes; a++) {
        const int64_t total = same ? dilation[a] * (weight->dim[a + 2] - 1) : 0;
        pads[a] = total / 2;
        pads[a + axes] = total - total / 2;
    }
}

static vtac_id transposed_convolution(vtac_torch *im, const vtac_id *in, uint32_t axes, const int64_t *stride,
                                      const int64_t *dilation)
{
    int64_t pads[2 * VTAC_WINDOW_AXES] = {0};
    int64_t more[VTAC_WINDOW_AXES] = {0};
    spread_ints(im, "padding", 0, axes, pads);
    memcpy(pads + axes, pads, axes * sizeof *pads);
    spread_ints(im, "output_padding", 0, axes, more);
    const vtac_attr attrs[] = {
        vtac_attr_of_ints("strides", stride, axes), vtac_attr_of_ints("pads", pads, 2 * (size_t)axes),
        vtac_attr_of_ints("dilations", dilation, axes), vtac_attr_of_ints("output_padding", more, axes),
        vtac_attr_of_int("group", vtac_torch_int(im, "groups", 1))};
    return vtac_make(&im->maker, VTAC_OP_CONV_TRANSPOSE, in, 3, attrs, 5);
}

/* how: 1: transposed; -1: an argument says so */
vtac_torch_value vtac_torch_make_conv(vtac_torch *im, int32_t how)
{
    const vtac_id in[] = {vtac_torch_in(im, "input"), vtac_torch_in(im, "weight"),
                          vtac_torch_in_or_none(im, "bias")};
    const vtac_type weight = vtac_made_type(&im->maker, in[1]);
    const uint32_t rank = vtac_made_type(&im->maker, in[0]).rank;
    if (im->maker.status != VTA_OK || rank != weight.rank || rank < 3 || rank > VTAC_WINDOW_AXES + 2) {
        vtac_torch_refuse(im, "a convolution of rank %u by a weight of rank %u", rank, weight.rank);
        return vtac_torch_none;
    }
    vtac_import_window w = {.axes = rank - 2};
    spread_ints(im, "stride", 1, w.axes, w.stride);
    spread_ints(im, "dilation", 1, w.axes, w.dilation);
    if (how == 1 || (how == -1 && vtac_torch_flag(im, "transposed", false))) {
        return vtac_torch_tensor_of(im, transposed_convolution(im, in, w.axes, w.stride, w.dilation));
    }
    (void)vtac_torch_arg(im, "output_padding"); /* of transposed ones alone */
    pads_of(im, &weight, w.axes, w.dilation, w.pads);
    const int64_t groups = vtac_torch_int(im, "groups", 1);
    return vtac_torch_tensor_of(im, vtac_make_conv(&im->maker, in[0], in[1], in[2], &w, groups));
}

/* ---- pools */

typedef struct torch_pool {
    vtac_import_window w;
    bool batched;
    vtac_id x;
} torch_pool;

/* A first axis of one where the input has none for the batch. */
static vtac_id with_batch(vtac_torch *im, vtac_id x, uint32_t axes, bool *batched)
{
    const vtac_type type = vtac_made_type(&im->maker, x);
    int64_t dims[VTAC_MAX_RANK] = {1};
    *batched = type.rank == axes + 2;
    if (!*batched && type.rank != axes + 1) {
        vtac_torch_refuse(im, "a window over %u axes of a tensor of rank %u", axes, type.rank);
        return 0;
    }
    memcpy(dims + 1, type.dim, (axes + 1) * sizeof *dims);
    return *batched ? x : vtac_make_reshape(&im->maker, x, dims, axes + 2);
}

static vtac_id without_batch(vtac_torch *im, vtac_id y, bool batched)
{
    const vtac_type type = vtac_made_type(&im->maker, y);
    return batched || type.rank == 0 ? y : vtac_make_reshape(&im->maker, y, type.dim + 1, type.rank - 1);
}

static bool read_pool(vtac_torch *im, uint32_t axes, torch_pool *p)
{
    *p = (torch_pool){.w = {.axes = axes}};
    p->x = with_batch(im, vtac_torch_in(im, "self"), axes, &p->batched);
    spread_ints(im, "kernel_size", 1, axes, p->w.kernel);
    const vtac_torch_value *given = vtac_torch_arg(im, "stride");
    const bool own = given->kind == TORCH_NONE || (given->kind == TORCH_LIST && given->list->count == 0);
    memcpy(p->w.stride, p->w.kernel, sizeof p->w.stride);
    if (!own) {
        spread_ints(im, "stride", 1, axes, p->w.stride);
    }
    spread_ints(im, "padding", 0, axes, p->w.pads);
    memcpy(p->w.pads + axes, p->w.pads, axes * sizeof *p->w.pads);
    spread_ints(im, "dilation", 1, axes, p->w.dilation);
    p->w.ceil = vtac_torch_flag(im, "ceil_mode", false);
    return im->maker.status == VTA_OK;
}

static vtac_id pool_node(vtac_torch *im, vtac_op op, const torch_pool *p, bool counts)
{
    return without_batch(im, vtac_make_pool(&im->maker, op, p->x, &p->w, counts), p->batched);
}

/* how: the number of axes; with the places as a second result, which nothing may read, 10 more */
vtac_torch_value vtac_torch_make_max_pool(vtac_torch *im, int32_t how)
{
    torch_pool p;
    if (!read_pool(im, (uint32_t)how % 10, &p)) {
        return vtac_torch_none;
    }
    const vtac_torch_value first = vtac_torch_tensor_of(im, pool_node(im, VTAC_OP_MAX_POOL, &p, false));
    const vtac_torch_value both[] = {first, vtac_torch_none};
    return how > 10 ? vtac_torch_list_value(im, TORCH_TUPLE, both, 2) : first;
}

vtac_torch_value vtac_torch_make_avg_pool(vtac_torch *im, int32_t how)
{
    torch_pool p;
    if (!read_pool(im, (uint32_t)how, &p)) {
        return vtac_torch_none;
    }
    const bool counts = vtac_torch_flag(im, "count_include_pad", true);
    const int64_t divisor = vtac_torch_int(im, "divisor_override", 0);
    double size = 1.0;
    for (uint32_t a = 0; a < p.w.axes; a++) {
        size *= (double)p.w.kernel[a];
    }
    if (divisor != 0 && p.w.ceil) {
        vtac_torch_refuse(im, "'divisor_override' with 'ceil_mode'");
    }
    const vtac_id y = pool_node(im, VTAC_OP_AVERAGE_POOL, &p, counts || divisor != 0);
    return vtac_torch_tensor_of(
        im, divisor == 0 ? y : vtac_torch_with(im, VTAC_OP_MUL, y, size / (double)divisor));
}

/* Means of the places from floor(i * n / m) to ceil((i + 1) * n / m) on an axis, as a product. */
static vtac_id average_axis(vtac_torch *im, vtac_id x, uint32_t axis, int64_t m)
{
    const vtac_type type = vtac_made_type(&im->maker, x);
    const int64_t n = type.dim[axis];
    const vtac_type shape = {VTAC_F32, 2, {n, m}};
    int64_t order[VTAC_MAX_RANK];
    if (n > 1 << 12 || m > 1 << 12) {
        vtac_torch_refuse(im, "windows of different sizes over %lld places", (long long)n);
        return 0;
    }
    im->steps += (uint64_t)(n * m) / 16;
    float *share = vtac_make_room(&im->maker, n * m, sizeof *share);
    if (share == NULL || n == m) {
        return x;
    }
    for (int64_t i = 0; i < m; i++) {
        const int64_t from = i * n / m;
        const int64_t to = ((i + 1) * n + m - 1) / m;
        for (int64_t k = from; k < to; k++) {
            share[k * m + i] = 1.0F / (float)(to - from);
        }
    }
    for (uint32_t a = 0; a < type.rank;
         a++) { /* the axis and the last one change places: twice is as before */
        order[a] = a == axis ? type.rank - 1 : a == type.rank - 1 ? axis : a;
    }
    x = vtac_make_transpose(&im->maker, x, order, type.rank);
    x = vtac_make2(&im->maker, VTAC_OP_MATMUL, x, vtac_make_borrowed(&im->maker, &shape, share));
    return vtac_make_transpose(&im->maker, x, order, type.rank);
}

/* True where all axes become one, or equal windows beside each other. */
static bool pools_evenly(const vtac_type *type, const int64_t *to, uint32_t axes, torch_pool *p, bool *whole)
{
    bool even = true;
    *whole = true;
    for (uint32_t a = 0; a < axes; a++) {
        const int64_t n = type->dim[a + 2];
        even = even && to[a] > 0 && n % to[a] == 0 && n > 0;
        *whole = *whole && to[a] == 1;
        p->w.kernel[a] = p->w.stride[a] = even ? n / to[a] : 1;
        p->w.dilation[a] = 1;
    }
    return even;
}

/* how: the number of axes; 10 more: of the maximum */
static vtac_id adaptive_pool(vtac_torch *im, int32_t how)
{
    const uint32_t axes = (uint32_t)how % 10;
    const bool max = how > 10;
    torch_pool p = {.w = {.axes = axes}};
    int64_t to[VTAC_WINDOW_AXES] = {0};
    bool whole = false;
    p.x = with_batch(im, vtac_torch_in(im, "self"), axes, &p.batched);
    const vtac_type type = vtac_made_type(&im->maker, p.x);
    const vtac_torch_value *sizes = vtac_torch_arg(im, "output_size");
    for (uint32_t a = 0; im->maker.status == VTA_OK && a < axes; a++) { /* None: as large as it is */
        const bool is_list = sizes->kind == TORCH_LIST || sizes->kind == TORCH_TUPLE;
        const vtac_torch_value *v = !is_list ? sizes : a < sizes->list->count ? &sizes->list->items[a] : NULL;
        to[a] = v == NULL ? 0 : v->kind == TORCH_NONE ? type.dim[a + 2] : v->kind == TORCH_INT ? v->i : 0;
        if (to[a] < 1 || to[a] > 1 << 16) {
            vtac_torch_refuse(im, "an output of size %lld", (long long)to[a]);
        }
    }
    if (im->maker.status != VTA_OK) {
        return 0;
    }
    const bool even = pools_evenly(&type, to, axes, &p, &whole);
    vtac_id y = p.x;
    if (whole) {
        y = vtac_make1(&im->maker, max ? VTAC_OP_GLOBAL_MAX_POOL : VTAC_OP_GLOBAL_AVERAGE_POOL, y);
    } else if (even) {
        return pool_node(im, max ? VTAC_OP_MAX_POOL : VTAC_OP_AVERAGE_POOL, &p, true);
    } else if (max) {
        vtac_torch_refuse(im, "windows of different sizes");
    }
    for (uint32_t a = 0; !whole && !even && a < axes; a++) {
        y = average_axis(im, y, a + 2, to[a]);
    }
    return without_batch(im, y, p.batched);
}

/* The maximum comes with the places, which nothing may read. */
vtac_torch_value vtac_torch_make_adaptive_pool(vtac_torch *im, int32_t how)
{
    const vtac_torch_value both[] = {vtac_torch_tensor_of(im, adaptive_pool(im, how)), vtac_torch_none};
    return how > 10 ? vtac_torch_list_value(im, TORCH_TUPLE, both, 2) : both[0];
}

/* ---- normalizations */

vtac_id vtac_torch_full(vtac_torch *im, const int64_t *dims, uint32_t rank, vtac_dtype dtype, double value)
{
    const vtac_id one = vtac_make_cast(&im->maker, vtac_make_number(&im->maker, VTAC_F64, value), dtype);
    return rank == 0 ? one
                     : vtac_make2(&im->maker, VTAC_OP_EXPAND, one, vtac_make_ints(&im->maker, dims, rank));
}

static vtac_id weight_or(vtac_torch *im, const char *name, const int64_t *dims, uint32_t rank,
                         double otherwise)
{
    const vtac_id given = vtac_torch_in_or_none(im, name);
    return given != 0 ? given : vtac_torch_full(im, dims, rank, VTAC_F32, otherwise);
}

/* how: 3: the form with three results */
static vtac_torch_value of_three(vtac_torch *im, vtac_id y, int32_t how)
{
    const vtac_torch_value all[] = {vtac_torch_tensor_of(im, y), vtac_torch_none, vtac_torch_none};
    return how == 3 ? vtac_torch_list_value(im, TORCH_TUPLE, all, 3) : all[0];
}

/* By the mean and the variance of the batch itself, as an instance normalization is taken apart. */
static vtac_id by_own_batch(vtac_torch *im, vtac_id x, const vtac_type *type)
{
    vtac_import_builder *m = &im->maker;
    int64_t axes[VTAC_MAX_RANK] = {0};
    for (uint32_t a = 2; a < type->rank; a++) {
        axes[a - 1] = a;
    }
    const uint32_t count = type->rank - 1;
    const vtac_id off =
        vtac_make2(m, VTAC_OP_SUB, x, vtac_make_reduce(m, VTAC_OP_REDUCE_MEAN, x, axes, count, true));
    const vtac_id square = vtac_make2(m, VTAC_OP_MUL, off, off);
    const vtac_id variance = vtac_make_reduce(m, VTAC_OP_REDUCE_MEAN, square, axes, count, true);
    const vtac_id root = vtac_make1(
        m, VTAC_OP_SQRT, vtac_torch_with(im, VTAC_OP_ADD, variance, vtac_torch_float(im, "eps", 1e-5)));
    const vtac_id y = vtac_make2(m, VTAC_OP_DIV, off, root);
    const vtac_id scaled =
        vtac_make_along(m, VTAC_OP_MUL, y, weight_or(im, "weight", &type->dim[1], 1, 1.0), 1);
    return vtac_make_along(m, VTAC_OP_ADD, scaled, weight_or(im, "bias", &type->dim[1], 1, 0.0), 1);
}

vtac_torch_value vtac_torch_make_batch_norm(vtac_torch *im, int32_t how)
{
    const vtac_id x = vtac_torch_in(im, "input");
    vtac_type type = vtac_made_type(&im->maker, x);
    if (im->maker.status == VTA_OK && type.rank >= 2 && !vtac_torch_has(im, "running_mean")) {
        (void)vtac_torch_flag(im, "training", true);
        (void)vtac_torch_arg(im, "running_var");
        return of_three(im, by_own_batch(im, x, &type), how);
    }
    if (vtac_torch_flag(im, "training", false)) {
        vtac_torch_refuse(im, "a batch normalization in training (call .eval() before the model is saved)");
    }
    if (im->maker.status != VTA_OK || type.rank < 2) {
        vtac_torch_refuse(im, "a batch normalization of rank %u", type.rank);
        return vtac_torch_none;
    }
    const int64_t channels = type.dim[1];
    const vtac_attr attr = vtac_attr_of_float("epsilon", vtac_torch_float(im, "eps", 1e-5));
    const vtac_id in[] = {x, weight_or(im, "weight", &channels, 1, 1.0),
                          weight_or(im, "bias", &channels, 1, 0.0), vtac_torch_in(im, "running_mean"),
                          vtac_torch_in(im, "running_var")};
    return of_three(im, vtac_make(&im->maker, VTAC_OP_BATCH_NORMALIZATION, in, 5, &attr, 1), how);
}

vtac_torch_value vtac_torch_make_layer_norm(vtac_torch *im, int32_t how)
{
    const vtac_id x = vtac_torch_as_float(im, vtac_torch_in(im, "input"));
    const uint32_t rank = vtac_made_type(&im->maker, x).rank;
    int64_t dims[VTAC_MAX_RANK];
    const uint32_t count = vtac_torch_ints(im, "normalized_shape", dims, VTAC_MAX_RANK);
    if (im->maker.status != VTA_OK || count < 1 || count > rank) {
        vtac_torch_refuse(im, "a normalization of %u axes of rank %u", count, rank);
        return vtac_torch_none;
    }
    const vtac_attr attrs[] = {vtac_attr_of_int("axis", (int64_t)rank - count),
                               vtac_attr_of_float("epsilon", vtac_torch_float(im, "eps", 1e-5))};
    const vtac_id in[] = {x, weight_or(im, "weight", dims, count, 1.0), vtac_torch_in_or_none(im, "bias")};
    return of_three(im, vtac_make(&im->maker, VTAC_OP_LAYER_NORMALIZATION, in, 3, attrs, 2), how);
}

vtac_torch_value vtac_torch_make_rms_norm(vtac_torch *im, int32_t how)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id x = vtac_torch_as_float(im, vtac_torch_in(im, "input"));
    const uint32_t rank = vtac_made_type(m, x).rank;
    int64_t axes[VTAC_MAX_RANK];
    const uint32_t count =
        vtac_torch_ints(im, "normalized_shape", axes, rank < VTAC_MAX_RANK ? rank : VTAC_MAX_RANK);
    (void)how;
    for (uint32_t i = 0; i < count; i++) {
        axes[i] = (int64_t)rank - count + i;
    }
    vtac_id s = vtac_make_reduce(m, VTAC_OP_REDUCE_MEAN, vtac_make2(m, VTAC_OP_MUL, x, x), axes, count, true);
    s = vtac_torch_with(im, VTAC_OP_ADD, s, vtac_torch_float(im, "eps", 1.1920928955078125e-07));
    vtac_id y = vtac_make2(m, VTAC_OP_DIV, x, vtac_make1(m, VTAC_OP_SQRT, s));
    const vtac_id w = vtac_torch_in_or_none(im, "weight");
    y = w == 0 ? y : vtac_make2(m, VTAC_OP_MUL, y, w);
    return vtac_torch_tensor_of(im, y);
}

/* how: 0: each channel by itself, 1: groups of them, 3: groups, in the form with three results */
vtac_torch_value vtac_torch_make_group_norm(vtac_torch *im, int32_t how)
{
    const vtac_id x = vtac_torch_as_float(im, vtac_torch_in(im, "input"));
    const vtac_type type = vtac_made_type(&im->maker, x);
    const vtac_torch_value *uses = vtac_torch_arg(im, "use_input_stats");
    if (type.rank < 3 || (uses->kind == TORCH_BOOL && uses->i == 0)) {
        vtac_torch_refuse(im, "a normalization of rank %u, or by kept statistics", type.rank);
        return vtac_torch_none;
    }
    (void)vtac_torch_arg(im, "running_mean");
    (void)vtac_torch_arg(im, "running_var");
    const vtac_attr attrs[] = {
        vtac_attr_of_float("epsilon", vtac_torch_float(im, "eps", 1e-5)),
        vtac_attr_of_int("num_groups", vtac_torch_int(im, how == 3 ? "group" : "num_groups", 1))};
    const vtac_id in[] = {x, weight_or(im, "weight", &type.dim[1], 1, 1.0),
                          weight_or(im, "bias", &type.dim[1], 1, 0.0)};
    const vtac_op op = how == 0 ? VTAC_OP_INSTANCE_NORMALIZATION : VTAC_OP_GROUP_NORMALIZATION;
    return of_three(im, vtac_make(&im->maker, op, in, 3, attrs, how == 0 ? 1 : 2), how);
}

/* ---- other sizes */

typedef struct torch_resize {
    vtac_id x;
    uint32_t axes;
    double factor[VTAC_WINDOW_AXES]; /* 0: not given */
    int64_t size[VTAC_WINDOW_AXES];  /* 0: not given */
    bool corners;
} torch_resize;

/* The factor of an axis: of a list, or the argument of its own (scales_h, scales_w). */
static double factor_of(vtac_torch *im, uint32_t axis, uint32_t axes)
{
    static const char *const names[VTAC_WINDOW_AXES] = {"scales_d", "scales_h", "scales_w"};
    const vtac_torch_value *list = vtac_torch_arg(im, "scale_factors");
    if (list->kind == TORCH_LIST || list->kind == TORCH_TUPLE) {
        const vtac_torch_value *v = axis < list->list->count ? &list->list->items[axis] : NULL;
        return v != NULL && vtac_torch_is_number(v) ? vtac_torch_number(v) : 0.0;
    }
    const bool in_order =
        list->kind != TORCH_NONE; /* they stand where the list would: all are one place on */
    if (in_order && axis == 0) {
        return vtac_torch_float(im, "scale_factors", 0.0);
    }
    const uint32_t at = VTAC_WINDOW_AXES - axes + axis - (in_order ? 1 : 0);
    const char *name = axes == 1 ? "scales" : names[at];
    return vtac_torch_float(im, name, 0.0);
}

/* The factors count where they give the size that is asked for. */
static bool by_factors(const torch_resize *r, const vtac_type *type)
{
    for (uint32_t a = 0; a < r->axes; a++) {
        const double size = floor((double)type->dim[a + 2] * r->factor[a]);
        if (r->factor[a] <= 0.0 || (r->size[a] != 0 && size != (double)r->size[a])) {
            return false;
        }
    }
    return true;
}

static bool read_resize(vtac_torch *im, uint32_t axes, torch_resize *r)
{
    *r = (torch_resize){.x = vtac_torch_in(im, "input"), .axes = axes};
    const vtac_type type = vtac_made_type(&im->maker, r->x);
    if (type.rank != axes + 2) {
        vtac_torch_refuse(im, "another size of a tensor of rank %u", type.rank);
        return false;
    }
    const bool sized = vtac_torch_has(im, "output_size");
    if (sized && vtac_torch_ints(im, "output_size", r->size, axes) != axes) {
        vtac_torch_refuse(im, "an output of another rank");
    }
    for (uint32_t a = 0; a < axes; a++) {
        r->factor[a] = factor_of(im, a, axes);
        if (!sized && !(r->factor[a] > 0.0 && r->factor[a] < 65536.0)) {
            vtac_torch_refuse(im, "a size by the factor %g", r->factor[a]);
        }
    }
    r->corners = vtac_torch_flag(im, "align_corners", false);
    return im->maker.status == VTA_OK;
}

/* how: the number of axes, and 0 nearest, 10 nearest-exact, 20 linear, 30 cubic */
vtac_torch_value vtac_torch_make_upsample(vtac_torch *im, int32_t how)
{
    static const char *const modes[] = {"nearest", "nearest", "linear", "cubic"};
    torch_resize r;
    if (!read_resize(im, (uint32_t)how % 10, &r)) {
        return vtac_torch_none;
    }
    const vtac_type type = vtac_made_type(&im->maker, r.x);
    const char *coordinates = how < 10 ? "asymmetric" : r.corners ? "align_corners" : "half_pixel";
    const vtac_attr attrs[] = {vtac_attr_of_string("mode", modes[how / 10]),
                               vtac_attr_of_string("coordinate_transformation_mode", coordinates),
                               vtac_attr_of_string("nearest_mode", how < 10 ? "floor" : "round_prefer_ceil"),
                               vtac_attr_of_float("cubic_coeff_a", -0.75)};
    float scales[VTAC_MAX_RANK] = {1.0F, 1.0F};
    int64_t sizes[VTAC_MAX_RANK] = {type.dim[0], type.dim[1]};
    const bool factors = by_factors(&r, &type);
    for (uint32_t a = 0; a < r.axes; a++) {
        scales[a + 2] = (float)r.factor[a];
        sizes[a + 2] = r.size[a];
    }
    const vtac_id in[] = {r.x, 0, factors ? vtac_make_floats(&im->maker, scales, type.rank) : 0,
                          factors ? 0 : vtac_make_ints(&im->maker, sizes, type.rank)};
    return vtac_torch_tensor_of(im, vtac_make(&im->maker, VTAC_OP_RESIZE, in, 4, attrs, 4));
}
