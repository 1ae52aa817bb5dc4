/* SPDX-License-Identifier: Apache-2.0
 *
 * Custom operators of MediaPipe's models. Options of convolutions and pools are a row of int32, those of
 * landmarks a flexbuffer. All of them are of floats.
 */
#include <math.h>

#include "flex.h"
#include "operators.h"

/* ---- options that are a structure in memory */

enum { PADDING_SAME = 1, PADDING_VALID, MAX_SIDE = 1 << 16 };

/* Word i, at least `min` and at most 65536. */
static int64_t option_word(vtac_tflite *im, uint32_t i, int64_t min)
{
    const vtac_flat_vector bytes = im->op->custom_options;
    const int64_t value = 4 * (i + 1) <= bytes.count
                              ? (int32_t)(uint32_t)vtac_flat_int_at(
                                    &im->model.flat, (vtac_flat_vector){bytes.at, bytes.count / 4}, i, 4)
                              : INT64_MIN;
    if (value < min || value > 65536) {
        vtac_make_fail(&im->maker, VTA_INVALID, "word %u of its options is missing, or not %lld to 65536", i,
                       (long long)min);
        return min;
    }
    return value;
}

static bool has_floats(vtac_tflite *im, uint32_t i, uint32_t rank)
{
    const vtac_type x = vtac_tflite_type(im, i);
    if (im->maker.status == VTA_OK && (x.dtype != VTAC_F32 || x.rank != rank)) {
        vtac_make_refuse(&im->maker, "input %u is %s of rank %u, float32 of rank %u is taken", i,
                         vtac_dtype_name(x.dtype), x.rank, rank);
    }
    return im->maker.status == VTA_OK;
}

/* x, weights [outputs][h][w][inputs], bias; padding, stride_w, stride_h. What is cut off depends on where
 * the last stride ends. */
void vtac_tflite_import_transpose_bias(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const int64_t padding = option_word(im, 0, PADDING_SAME);
    const int64_t stride[2] = {option_word(im, 2, 1), option_word(im, 1, 1)};
    if (!has_floats(im, 0, 4) || !has_floats(im, 1, 4) || !has_floats(im, 2, 1)) {
        return;
    }
    const vtac_type x = vtac_tflite_type(im, 0);
    const vtac_type w = vtac_tflite_type(im, 1);
    if (x.dim[3] != w.dim[3] || vtac_tflite_type(im, 2).dim[0] != w.dim[0] || padding > PADDING_VALID) {
        vtac_make_fail(m, VTA_INVALID, "%lld channels and %lld weights for each, padding %lld",
                       (long long)x.dim[3], (long long)w.dim[3], (long long)padding);
        return;
    }
    int64_t pads[4] = {0};
    for (int a = 0; a < 2 && padding == PADDING_SAME; a++) {
        const int64_t cut = w.dim[a + 1] - (x.dim[a + 1] - 1) % stride[a] - 1;
        pads[a] = cut > 0 ? cut / 2 : 0;
        pads[a + 2] = cut > 0 ? cut - pads[a] : 0;
    }
    const vtac_attr attrs[] = {vtac_attr_of_ints("strides", stride, 2), vtac_attr_of_ints("pads", pads, 4)};
    const vtac_id in[] = {vtac_tflite_planes(im, 0),
                          vtac_make_transpose(m, vtac_tflite_plain(im, 1), (int64_t[]){3, 0, 1, 2}, 4),
                          vtac_tflite_plain(im, 2)};
    vtac_tflite_set_planes(im, 0, vtac_make(m, VTAC_OP_CONV_TRANSPOSE, in, 3, attrs, 2));
}

/* ---- pools that say where the largest was, and back */

/* padding, stride_w, stride_h, width, height, activation */
typedef struct pool_window {
    int64_t stride[2], kernel[2];
    int64_t pads[4];
    int activation;
} pool_window;

static bool read_window(vtac_tflite *im, pool_window *w, int64_t *padding)
{
    *padding = option_word(im, 0, PADDING_SAME);
    *w = (pool_window){.stride = {option_word(im, 2, 1), option_word(im, 1, 1)},
                       .kernel = {option_word(im, 4, 1), option_word(im, 3, 1)},
                       .activation = (int)option_word(im, 5, 0)};
    if (*padding > PADDING_VALID) {
        vtac_make_fail(&im->maker, VTA_INVALID, "padding %lld", (long long)*padding);
    }
    return im->maker.status == VTA_OK;
}

/* i * step + begin for each place along an axis of [n][h][w][c]: what joins others of that shape. */
static vtac_id places_along(vtac_tflite *im, uint32_t axis, int64_t size, int64_t step, int64_t begin)
{
    int64_t dims[] = {1, 1, 1, 1};
    int64_t *room = vtac_make_room(&im->maker, size, sizeof *room);
    dims[axis] = size;
    for (int64_t i = 0; room != NULL && i < size; i++) {
        room[i] = i * step + begin;
    }
    return vtac_make_reshape(
        &im->maker,
        room == NULL ? 0 : vtac_make_borrowed(&im->maker, &(vtac_type){VTAC_I64, 1, {size}}, room), dims, 4);
}

static vtac_id integer_with(vtac_tflite *im, vtac_op op, vtac_id x, int64_t by)
{
    return vtac_make2(&im->maker, op, x, vtac_make_number(&im->maker, VTAC_I64, (double)by));
}

/* From places in the whole input to places in the window, [n][h][w][c], and a tenth so that they round. */
static vtac_id window_places(vtac_tflite *im, const pool_window *w, vtac_id whole, const vtac_type *x,
                             const int64_t *out)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id at = integer_with(
        im, VTAC_OP_MOD, vtac_make_transpose(m, whole, (int64_t[]){0, 2, 3, 1}, 4), x->dim[1] * x->dim[2]);
    vtac_id y = integer_with(im, VTAC_OP_DIV, at, x->dim[2]);
    vtac_id column = integer_with(im, VTAC_OP_MOD, at, x->dim[2]);
    y = vtac_make2(m, VTAC_OP_SUB, y, places_along(im, 1, out[0], w->stride[0], -w->pads[0]));
    column = vtac_make2(m, VTAC_OP_SUB, column, places_along(im, 2, out[1], w->stride[1], -w->pads[1]));
    y = vtac_make2(m, VTAC_OP_ADD, integer_with(im, VTAC_OP_MUL, y, w->kernel[1]), column);
    return vtac_make2(m, VTAC_OP_ADD, vtac_make_cast(m, y, VTAC_F32),
                      vtac_make_number(m, VTAC_F32, (double)0.1F));
}

void vtac_tflite_import_max_pool_argmax(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    pool_window w;
    int64_t padding;
    if (!read_window(im, &w, &padding) || !has_floats(im, 0, 4) || im->op->output_count != 2) {
        vtac_make_fail(m, VTA_INVALID, "%u outputs, expected 2", im->op->output_count);
        return;
    }
    const vtac_type x = vtac_tflite_type(im, 0);
    int64_t out[2];
    for (int a = 0; a < 2; a++) {
        const int64_t size = x.dim[a + 1];
        out[a] = padding == PADDING_SAME ? (size + w.stride[a] - 1) / w.stride[a]
                                         : (size - w.kernel[a] + w.stride[a]) / w.stride[a];
        const int64_t more = (out[a] - 1) * w.stride[a] + w.kernel[a] - size;
        if (out[a] < 1 || out[a] > MAX_SIDE) {
            vtac_make_fail(m, VTA_INVALID, "a window of %lld on %lld", (long long)w.kernel[a],
                           (long long)size);
            return;
        }
        w.pads[a] = more > 0 ? more / 2 : 0;
        w.pads[a + 2] = more > 0 ? more - w.pads[a] : 0;
    }
    const vtac_attr attrs[] = {vtac_attr_of_ints("strides", w.stride, 2),
                               vtac_attr_of_ints("kernel_shape", w.kernel, 2),
                               vtac_attr_of_ints("pads", w.pads, 4)};
    const vtac_id planes = vtac_tflite_planes(im, 0);
    vtac_id made[2] = {0, 0};
    vtac_make_many(m, VTAC_OP_MAX_POOL, &planes, 1, attrs, 3, made, 2);
    vtac_tflite_set_planes(im, 0, vtac_tflite_activate(im, made[0], vtac_tflite_out(im, 0), w.activation));
    vtac_tflite_set(im, 1, window_places(im, &w, made[1], &x, out));
}

/* Output place of each number, and one place more for numbers that fall beside the output. */
static vtac_id target_places(vtac_tflite *im, const pool_window *w, const vtac_type *x, const int64_t *out)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id at = vtac_make_cast(m, vtac_tflite_plain(im, 1), VTAC_I64);
    vtac_id y = integer_with(im, VTAC_OP_DIV, at, w->kernel[1]);
    vtac_id column = vtac_make2(m, VTAC_OP_SUB, at, integer_with(im, VTAC_OP_MUL, y, w->kernel[1]));
    y = vtac_make2(m, VTAC_OP_ADD, y, places_along(im, 1, x->dim[1], w->stride[0], -w->pads[0]));
    column = vtac_make2(m, VTAC_OP_ADD, column, places_along(im, 2, x->dim[2], w->stride[1], -w->pads[1]));
    const vtac_id inside[] = {integer_with(im, VTAC_OP_GREATER_OR_EQUAL, y, 0),
                              integer_with(im, VTAC_OP_LESS, y, out[0]),
                              integer_with(im, VTAC_OP_GREATER_OR_EQUAL, column, 0),
                              integer_with(im, VTAC_OP_LESS, column, out[1])};
    vtac_id all = inside[0];
    for (int i = 1; i < 4; i++) {
        all = vtac_make2(m, VTAC_OP_AND, all, inside[i]);
    }
    const vtac_id to = vtac_make2(m, VTAC_OP_ADD, integer_with(im, VTAC_OP_MUL, y, out[1]), column);
    return vtac_make3(m, VTAC_OP_WHERE, all, to, vtac_make_number(m, VTAC_I64, (double)(out[0] * out[1])));
}

/* Rows of the planes' places, channel by channel; where two fall on one place, the last stays. */
void vtac_tflite_import_max_unpool(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    pool_window w;
    int64_t padding;
    if (!read_window(im, &w, &padding) || !has_floats(im, 0, 4) || !has_floats(im, 1, 4)) {
        return;
    }
    const vtac_type x = vtac_tflite_type(im, 0);
    const vtac_type places_type = vtac_tflite_type(im, 1);
    int64_t out[2];
    for (int a = 0; a < 2; a++) {
        out[a] = x.dim[a + 1] * w.kernel[a];
        const int64_t more = (x.dim[a + 1] - 1) * w.stride[a] + w.kernel[a] - out[a];
        w.pads[a] = more > 0 ? more / 2 : 0;
    }
    if (!vtac_type_equal(&x, &places_type) || out[0] > MAX_SIDE || out[1] > MAX_SIDE || out[0] < 1 ||
        out[1] < 1) {
        vtac_make_fail(m, VTA_INVALID,
                       "numbers and their places have other shapes, or the output is too large");
        return;
    }
    const int64_t room[] = {x.dim[0], out[0] * out[1] + 1, x.dim[3]};
    const int64_t rows[] = {x.dim[0], x.dim[1] * x.dim[2], x.dim[3]};
    const vtac_id in[] = {
        vtac_make2(m, VTAC_OP_EXPAND, vtac_make_number(m, VTAC_F32, 0.0), vtac_make_ints(m, room, 3)),
        vtac_make_reshape(m, target_places(im, &w, &x, out), rows, 3),
        vtac_make_reshape(m, vtac_tflite_plain(im, 0), rows, 3)};
    const vtac_attr axis = vtac_attr_of_int("axis", 1);
    const vtac_id all = vtac_make(m, VTAC_OP_SCATTER_ELEMENTS, in, 3, &axis, 1);
    vtac_tflite_set(im, 0,
                    vtac_make_reshape(m, vtac_make_slice(m, all, 1, 0, out[0] * out[1]),
                                      (int64_t[]){x.dim[0], out[0], out[1], x.dim[3]}, 4));
}

/* ---- landmarks: their second version, which takes one image */

static bool is_second(vtac_tflite *im)
{
    if (im->op->version != 2) {
        vtac_make_refuse(&im->maker, "version %d of %s, 2 is taken", im->op->version, im->op->custom);
    }
    return im->maker.status == VTA_OK;
}

/* Columns x and y of the first two rows of a matrix [1][4][4]: [2][2], and its last column's two: [2]. */
static bool read_matrix(vtac_tflite *im, vtac_id *rotation, vtac_id *shift)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type type = vtac_tflite_type(im, 1);
    if (m->status != VTA_OK || type.dtype != VTAC_F32 || vtac_type_elements(&type) != 16) {
        vtac_make_fail(m, VTA_INVALID, "input 1 is no matrix of 4 x 4 floats");
        return false;
    }
    const vtac_id all = vtac_make_reshape(m, vtac_tflite_plain(im, 1), (int64_t[]){4, 4}, 2);
    const vtac_id rows = vtac_make_slice(m, all, 0, 0, 2);
    *rotation = vtac_make_slice(m, rows, 1, 0, 2);
    *shift = vtac_make_reshape(m, vtac_make_slice(m, rows, 1, 3, 4), (int64_t[]){2}, 1);
    return m->status == VTA_OK;
}

/* points [n][2] by `rotation`, and `shift` on top */
static vtac_id transform_points(vtac_tflite *im, vtac_id points, vtac_id rotation, vtac_id shift)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id columns = vtac_make_transpose(m, rotation, (int64_t[]){1, 0}, 2);
    return vtac_make2(m, VTAC_OP_ADD, vtac_make2(m, VTAC_OP_MATMUL, points, columns), shift);
}

/* points [1][n][2 or 3], a matrix; a third number stays. */
void vtac_tflite_import_transform_landmarks(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    vtac_id rotation;
    vtac_id shift;
    if (!is_second(im) || !has_floats(im, 0, 3) || !read_matrix(im, &rotation, &shift)) {
        return;
    }
    const vtac_type x = vtac_tflite_type(im, 0);
    if (x.dim[0] != 1 || x.dim[2] < 2 || x.dim[2] > 3) {
        vtac_make_refuse(&im->maker, "%lld sets of points of %lld numbers, one of 2 or 3 is taken",
                         (long long)x.dim[0], (long long)x.dim[2]);
        return;
    }
    const vtac_id points = vtac_make_reshape(m, vtac_tflite_plain(im, 0), &x.dim[1], 2);
    vtac_id y = transform_points(im, vtac_make_slice(m, points, 1, 0, 2), rotation, shift);
    if (x.dim[2] == 3) {
        y = vtac_make_concat(m, (vtac_id[]){y, vtac_make_slice(m, points, 1, 2, 3)}, 2, 1);
    }
    vtac_tflite_set(im, 0, vtac_make_reshape(m, y, x.dim, 3));
}

/* Pixels of an image [h * w][c] at rows and columns (int64, [n][1]), which are clamped into the image. */
static vtac_id corner_pixels(vtac_tflite *im, vtac_id image, const vtac_type *x, const vtac_id at[2],
                             int64_t down, int64_t right)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id y =
        vtac_make_clip(m, integer_with(im, VTAC_OP_ADD, at[1], down), 0.0, (double)(x->dim[1] - 1));
    const vtac_id column =
        vtac_make_clip(m, integer_with(im, VTAC_OP_ADD, at[0], right), 0.0, (double)(x->dim[2] - 1));
    const vtac_id place = vtac_make2(m, VTAC_OP_ADD, integer_with(im, VTAC_OP_MUL, y, x->dim[2]), column);
    const int64_t count = vtac_made_type(m, place).dim[0];
    return vtac_make2(m, VTAC_OP_GATHER, image, vtac_make_reshape(m, place, &count, 1));
}

static vtac_id mix_values(vtac_tflite *im, vtac_id a, vtac_id b, vtac_id share)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id rest = vtac_make2(m, VTAC_OP_SUB, vtac_make_number(m, VTAC_F32, 1.0), share);
    return vtac_make2(m, VTAC_OP_ADD, vtac_make2(m, VTAC_OP_MUL, rest, a),
                      vtac_make2(m, VTAC_OP_MUL, share, b));
}

/* Numbers between the four corners around points [n][2], 0 outside of the image. */
static vtac_id interpolate_points(vtac_tflite *im, vtac_id points, const vtac_type *x)
{
    vtac_import_builder *m = &im->maker;
    const float limits[] = {(float)(x->dim[2] - 1), (float)(x->dim[1] - 1)};
    const vtac_id low = vtac_make2(m, VTAC_OP_GREATER_OR_EQUAL, points, vtac_make_number(m, VTAC_F32, 0.0));
    const vtac_id high = vtac_make2(m, VTAC_OP_LESS_OR_EQUAL, points, vtac_make_floats(m, limits, 2));
    const vtac_id both = vtac_make2(m, VTAC_OP_AND, low, high);
    const vtac_id inside =
        vtac_make2(m, VTAC_OP_AND, vtac_make_slice(m, both, 1, 0, 1), vtac_make_slice(m, both, 1, 1, 2));
    points = vtac_make3(m, VTAC_OP_WHERE, inside, points, vtac_make_number(m, VTAC_F32, 0.0));
    const vtac_id floor = vtac_make1(m, VTAC_OP_FLOOR, points);
    const vtac_id share = vtac_make2(m, VTAC_OP_SUB, points, floor);
    const vtac_id whole = vtac_make_cast(m, floor, VTAC_I64);
    const vtac_id at[] = {vtac_make_slice(m, whole, 1, 0, 1), vtac_make_slice(m, whole, 1, 1, 2)};
    const vtac_id right = vtac_make_slice(m, share, 1, 0, 1);
    const vtac_id down = vtac_make_slice(m, share, 1, 1, 2);
    const vtac_id image =
        vtac_make_reshape(m, vtac_tflite_plain(im, 0), (int64_t[]){x->dim[1] * x->dim[2], x->dim[3]}, 2);
    const vtac_id above =
        mix_values(im, corner_pixels(im, image, x, at, 0, 0), corner_pixels(im, image, x, at, 0, 1), right);
    const vtac_id below =
        mix_values(im, corner_pixels(im, image, x, at, 1, 0), corner_pixels(im, image, x, at, 1, 1), right);
    return vtac_make3(m, VTAC_OP_WHERE, inside, mix_values(im, above, below, down),
                      vtac_make_number(m, VTAC_F32, 0.0));
}

/* 0.5, 1.5, … along one of two axes */
static vtac_id pixel_middles(vtac_tflite *im, uint32_t axis, int64_t size)
{
    int64_t dims[] = {1, 1};
    float *room = vtac_make_room(&im->maker, size, sizeof *room);
    dims[axis] = size;
    for (int64_t i = 0; room != NULL && i < size; i++) {
        room[i] = (float)i + 0.5F;
    }
    return vtac_make_reshape(
        &im->maker,
        room == NULL ? 0 : vtac_make_borrowed(&im->maker, &(vtac_type){VTAC_F32, 1, {size}}, room), dims, 2);
}

/* Source points of the result's pixel middles, in pixels of the image: [h * w][2]. */
static vtac_id seen_points(vtac_tflite *im, const int64_t size[2], vtac_id rotation, vtac_id shift)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id across = pixel_middles(im, 1, size[1]);
    const vtac_id down = pixel_middles(im, 0, size[0]);
    vtac_id sides[2];
    for (int i = 0; i < 2; i++) {
        const vtac_id row = vtac_make_slice(m, rotation, 0, i, i + 1);
        vtac_id sum =
            vtac_make2(m, VTAC_OP_ADD, vtac_make2(m, VTAC_OP_MUL, across, vtac_make_slice(m, row, 1, 0, 1)),
                       vtac_make2(m, VTAC_OP_MUL, down, vtac_make_slice(m, row, 1, 1, 2)));
        sum = vtac_make2(m, VTAC_OP_ADD, sum, vtac_make_slice(m, shift, 0, i, i + 1));
        sum = vtac_make2(m, VTAC_OP_SUB, sum, vtac_make_number(m, VTAC_F32, 0.5));
        sides[i] = vtac_make_reshape(m, sum, (int64_t[]){size[0] * size[1], 1}, 2);
    }
    return vtac_make_concat(m, sides, 2, 1);
}

/* An image [1][h][w][c] seen through a matrix that moves the middles of pixels. */
void vtac_tflite_import_transform_image(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const int64_t size[] = {vtac_tflite_custom_count(im, "output_height", (double)NAN, 1),
                            vtac_tflite_custom_count(im, "output_width", (double)NAN, 1)};
    vtac_id rotation;
    vtac_id shift;
    if (!is_second(im) || !has_floats(im, 0, 4) || !read_matrix(im, &rotation, &shift)) {
        return;
    }
    const vtac_type x = vtac_tflite_type(im, 0);
    if (x.dim[0] != 1 || vtac_type_elements(&x) < 1) {
        vtac_make_refuse(&im->maker, "%lld images, one is taken", (long long)x.dim[0]);
        return;
    }
    const vtac_id points = seen_points(im, size, rotation, shift);
    vtac_tflite_set(im, 0,
                    vtac_make_reshape(m, interpolate_points(im, points, &x),
                                      (int64_t[]){1, size[0], size[1], x.dim[3]}, 4));
}

/* ---- the matrix that turns and scales a rectangle to what encloses some landmarks */

enum { MAX_POINTS = 1 << 12 };

typedef struct crop {
    int64_t left, right, size[2]; /* of the result: width, height */
    double scale[2], target;
    uint32_t count;
    int64_t *points;
} crop;

static bool read_crop(vtac_tflite *im, crop *c)
{
    const vtac_flat_vector bytes = im->op->custom_options;
    const vtac_type x = vtac_tflite_type(im, 0);
    *c = (crop){.left = vtac_tflite_custom_count(im, "left_rotation_idx", (double)NAN, 0),
                .right = vtac_tflite_custom_count(im, "right_rotation_idx", (double)NAN, 0),
                .size = {vtac_tflite_custom_count(im, "output_width", (double)NAN, 1),
                         vtac_tflite_custom_count(im, "output_height", (double)NAN, 1)},
                .scale = {vtac_tflite_custom_number(im, "scale_x", (double)NAN),
                          vtac_tflite_custom_number(im, "scale_y", (double)NAN)},
                .target = vtac_tflite_custom_number(im, "target_rotation_radians", (double)NAN),
                .points = vtac_make_room(&im->maker, MAX_POINTS, sizeof *c->points)};
    if (im->maker.status != VTA_OK) {
        return false;
    }
    c->count =
        vtac_flex_ints(im->model.flat.bytes + bytes.at, bytes.count, "subset_idxs", c->points, MAX_POINTS);
    bool fits = c->count > 0 && x.dim[0] == 1 && x.dim[2] == 3 && c->left < x.dim[1] && c->right < x.dim[1];
    for (uint32_t i = 0; i < c->count; i++) {
        fits = fits && c->points[i] >= 0 && c->points[i] < x.dim[1];
    }
    if (!fits) {
        vtac_make_fail(
            &im->maker, VTA_INVALID,
            "its option 'subset_idxs' or another names a landmark that [1, n, 3] landmarks have not");
    }
    return fits;
}

/* x and y of landmarks: [count][2] */
static vtac_id pick_landmarks(vtac_tflite *im, const int64_t *which, uint32_t count)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type x = vtac_tflite_type(im, 0);
    const vtac_id all = vtac_make_reshape(m, vtac_tflite_plain(im, 0), &x.dim[1], 2);
    const vtac_id some = vtac_make2(m, VTAC_OP_GATHER, all, vtac_make_ints(m, which, count));
    return vtac_make_slice(m, some, 1, 0, 2);
}

/* Cosine and sine, [1][1] each, of the target less the angle from the left to the right landmark. */
static void rotation_of(vtac_tflite *im, const crop *c, vtac_id out[2])
{
    vtac_import_builder *m = &im->maker;
    const vtac_id vector =
        vtac_make2(m, VTAC_OP_SUB, pick_landmarks(im, &c->right, 1), pick_landmarks(im, &c->left, 1));
    const int64_t axis = 1;
    const vtac_id length = vtac_make_reduce(m, VTAC_OP_REDUCE_L2, vector, &axis, 1, true);
    const vtac_id nowhere = vtac_make2(m, VTAC_OP_EQUAL, length, vtac_make_number(m, VTAC_F32, 0.0));
    const vtac_id ahead =
        vtac_make_reshape(m, vtac_make_floats(m, (float[]){1.0F, 0.0F}, 2), (int64_t[]){1, 2}, 2);
    const vtac_id unit =
        vtac_make3(m, VTAC_OP_WHERE, nowhere, ahead, vtac_make2(m, VTAC_OP_DIV, vector, length));
    const float cosine = (float)cos(c->target);
    const float sine = (float)sin(c->target);
    const float rows[2][2] = {{cosine, sine}, {sine, -cosine}};
    for (int i = 0; i < 2; i++) {
        const vtac_id row = vtac_make_reshape(m, vtac_make_floats(m, rows[i], 2), (int64_t[]){2, 1}, 2);
        out[i] = vtac_make2(m, VTAC_OP_MATMUL, unit, row);
    }
}

/* [[a, b], [c, d]] of numbers that are [1][1] */
static vtac_id square_matrix(vtac_tflite *im, vtac_id a, vtac_id b, vtac_id c, vtac_id d)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id rows[] = {vtac_make_concat(m, (vtac_id[]){a, b}, 2, 1),
                            vtac_make_concat(m, (vtac_id[]){c, d}, 2, 1)};
    return vtac_make_concat(m, rows, 2, 0);
}

/* landmarks [1][n][3] */
void vtac_tflite_import_landmark_matrix(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    crop c;
    vtac_id r[2];
    if (!is_second(im) || !has_floats(im, 0, 3) || !read_crop(im, &c)) {
        return;
    }
    rotation_of(im, &c, r);
    const vtac_id minus = vtac_make1(m, VTAC_OP_NEG, r[1]);
    const vtac_id upright = square_matrix(im, r[0], r[1], minus, r[0]); /* for rows: by the transposed */
    const vtac_id points = vtac_make2(m, VTAC_OP_MATMUL, pick_landmarks(im, c.points, c.count), upright);
    const int64_t axis = 0;
    const vtac_id high = vtac_make_reduce(m, VTAC_OP_REDUCE_MAX, points, &axis, 1, true);
    const vtac_id low = vtac_make_reduce(m, VTAC_OP_REDUCE_MIN, points, &axis, 1, true);
    const vtac_id middle =
        vtac_make2(m, VTAC_OP_MUL, vtac_make2(m, VTAC_OP_ADD, low, high), vtac_make_number(m, VTAC_F32, 0.5));
    const float by[] = {(float)(c.scale[0] / (double)c.size[0]), (float)(c.scale[1] / (double)c.size[1])};
    const float corner_of[] = {(float)c.size[0] / -2.0F, (float)c.size[1] / -2.0F};
    const vtac_id scale =
        vtac_make2(m, VTAC_OP_MUL, vtac_make2(m, VTAC_OP_SUB, high, low), vtac_make_floats(m, by, 2));
    /* The back turn's columns, each by its scale: [2][2]; where the result's corner goes: [2][1]. */
    const vtac_id rotation = vtac_make2(m, VTAC_OP_MUL, square_matrix(im, r[0], r[1], minus, r[0]), scale);
    const vtac_id back = vtac_make2(m, VTAC_OP_MATMUL, middle, square_matrix(im, r[0], minus, r[1], r[0]));
    const vtac_id corner_at = vtac_make_reshape(m, vtac_make_floats(m, corner_of, 2), (int64_t[]){2, 1}, 2);
    const vtac_id shift = vtac_make2(m, VTAC_OP_ADD, vtac_make_reshape(m, back, (int64_t[]){2, 1}, 2),
                                     vtac_make2(m, VTAC_OP_MATMUL, rotation, corner_at));
    const float none[4] = {0};
    const float rest[8] = {0, 0, 1, 0, 0, 0, 0, 1};
    const vtac_id top[] = {rotation, vtac_make_reshape(m, vtac_make_floats(m, none, 2), (int64_t[]){2, 1}, 2),
                           shift};
    const vtac_id rows[] = {vtac_make_concat(m, top, 3, 1),
                            vtac_make_reshape(m, vtac_make_floats(m, rest, 8), (int64_t[]){2, 4}, 2)};
    vtac_tflite_set(im, 0, vtac_make_reshape(m, vtac_make_concat(m, rows, 2, 0), (int64_t[]){1, 4, 4}, 3));
}
