/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures of another size. Places and weights follow from sizes alone: they are constants, rows first, then
 * columns.
 */
#include <math.h>
#include <string.h>

#include "operators.h"

typedef struct resize {
    bool corners, centers; /* align corners, half-pixel centers */
    int64_t from[2], to[2];
} resize;

/* One axis: two places for each output and how much the second counts, in units of `one`. */
typedef struct axis_plan {
    int64_t *low, *high;
    float *part;
} axis_plan;

static bool plan_room(vtac_tflite *im, int64_t count, axis_plan *p)
{
    p->low = vtac_make_room(&im->maker, count, sizeof *p->low);
    p->high = vtac_make_room(&im->maker, count, sizeof *p->high);
    p->part = vtac_make_room(&im->maker, count, sizeof *p->part);
    return im->maker.status == VTA_OK;
}

static int64_t clamp_place(int64_t v, int64_t size)
{
    return v < 0 ? 0 : v >= size ? size - 1 : v;
}

/* In floats. */
static void plan_floats(const resize *r, int a, axis_plan *p)
{
    const bool corners = r->corners && r->to[a] > 1;
    const float scale =
        corners ? (float)(r->from[a] - 1) / (float)(r->to[a] - 1) : (float)r->from[a] / (float)r->to[a];
    for (int64_t i = 0; i < r->to[a]; i++) {
        const float at = r->centers ? ((float)i + 0.5F) * scale - 0.5F : (float)i * scale;
        const float low = floorf(at);
        p->low[i] = clamp_place((int64_t)low, r->from[a]);
        p->high[i] = clamp_place((int64_t)ceilf(at), r->from[a]);
        p->part[i] = at - (float)p->low[i];
    }
}

/* In units of 2^-10, as TensorFlow Lite does it for signed integers. */
static void plan_integers(const resize *r, int a, axis_plan *p)
{
    enum { ONE = 1 << 10 };
    int64_t scale = (ONE * r->from[a] + r->to[a] / 2) / r->to[a];
    if (r->corners && r->to[a] > 1) {
        scale = (ONE * (r->from[a] - 1) + (r->to[a] - 1) / 2) / (r->to[a] - 1);
    }
    for (int64_t i = 0; i < r->to[a]; i++) {
        const int64_t at = i * scale + (r->centers ? scale / 2 - ONE / 2 : 0);
        p->low[i] = clamp_place(at / ONE, r->from[a]);
        p->high[i] = at <= 0 ? 0 : clamp_place((at + ONE - 1) / ONE, r->from[a]);
        p->part[i] = (float)(at - p->low[i] * ONE);
    }
}

/* True if all weights are small fractions of a power of two. Then the floats that TensorFlow Lite computes
 * with lose no bit, and integers in units of 2^-10 give the same sums. */
static bool in_units(const axis_plan *p, int64_t count)
{
    enum { UNITS = 1 << 8 };
    for (int64_t i = 0; i < count; i++) {
        if (p->part[i] * UNITS != floorf(p->part[i] * UNITS)) {
            return false;
        }
    }
    return true;
}

static void to_units(const axis_plan *p, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        p->part[i] *= 1024.0F;
    }
}

static vtac_id pick_places(vtac_tflite *im, vtac_id x, const int64_t *places, int64_t count, uint32_t axis)
{
    const vtac_type type = {VTAC_I64, 1, {count}};
    const vtac_attr attr = vtac_attr_of_int("axis", axis);
    const vtac_id in[] = {x, vtac_make_borrowed(&im->maker, &type, places)};
    return vtac_make(&im->maker, VTAC_OP_GATHER, in, 2, &attr, 1);
}

/* low * (one - part) + high * part along an axis of planes. */
static vtac_id blend_axis(vtac_tflite *im, vtac_id x, const axis_plan *p, int64_t count, uint32_t axis,
                          vtac_dtype type, float one)
{
    vtac_import_builder *m = &im->maker;
    const int64_t dims[] = {count, 1};
    float *rest = vtac_make_room(m, count, sizeof *rest);
    for (int64_t i = 0; rest != NULL && i < count; i++) {
        rest[i] = one - p->part[i];
    }
    if (rest == NULL) {
        return 0;
    }
    const uint32_t rank = axis == 2 ? 2 : 1;
    const vtac_id first =
        vtac_make_cast(m, vtac_make_reshape(m, vtac_make_floats(m, rest, count), dims, rank), type);
    const vtac_id second =
        vtac_make_cast(m, vtac_make_reshape(m, vtac_make_floats(m, p->part, count), dims, rank), type);
    const vtac_id low = vtac_make2(m, VTAC_OP_MUL, pick_places(im, x, p->low, count, axis), first);
    const vtac_id high = vtac_make2(m, VTAC_OP_MUL, pick_places(im, x, p->high, count, axis), second);
    return vtac_make2(m, VTAC_OP_ADD, low, high);
}

/* The weight of one of the four neighbours, at every place: its row's times its column's. */
static vtac_id corner_weights(vtac_tflite *im, const axis_plan *rows, const axis_plan *columns,
                              const resize *r, bool high, bool right)
{
    float *w = vtac_make_room(&im->maker, r->to[0] * r->to[1], sizeof *w);
    for (int64_t i = 0; w != NULL && i < r->to[0] * r->to[1]; i++) {
        const float row = rows->part[i / r->to[1]];
        const float column = columns->part[i % r->to[1]];
        w[i] = (high ? row : 1.0F - row) * (right ? column : 1.0F - column);
    }
    return w == NULL ? 0 : vtac_make_borrowed(&im->maker, &(vtac_type){VTAC_F32, 2, {r->to[0], r->to[1]}}, w);
}

/* Four neighbours, each times its weight, in TensorFlow Lite's order. */
static vtac_id blend_floats(vtac_tflite *im, vtac_id x, const axis_plan *rows, const axis_plan *columns,
                            const resize *r)
{
    enum { MAX = 1 << 24 }; /* there is a table for each neighbour */
    vtac_import_builder *m = &im->maker;
    vtac_id sum = 0;
    if (r->to[0] * r->to[1] > MAX) {
        vtac_make_refuse(&im->maker, "planes of %lld x %lld; up to %d places are taken", (long long)r->to[0],
                         (long long)r->to[1], MAX);
        return 0;
    }
    for (int k = 0; k < 4; k++) {
        const bool high = k >= 2;
        const bool right = (k & 1) != 0;
        vtac_id v = pick_places(im, x, high ? rows->high : rows->low, r->to[0], 2);
        v = pick_places(im, v, right ? columns->high : columns->low, r->to[1], 3);
        v = vtac_make2(m, VTAC_OP_MUL, v, corner_weights(im, rows, columns, r, high, right));
        sum = sum == 0 ? v : vtac_make2(m, VTAC_OP_ADD, sum, v);
    }
    return sum;
}

static bool begin_resize(vtac_tflite *im, resize *r, uint32_t corners)
{
    const vtac_type x = vtac_tflite_type(im, 0);
    r->corners = vtac_tflite_option(im, corners, 1, 0) != 0;
    r->centers = vtac_tflite_option(im, corners + 1, 1, 0) != 0;
    if (vtac_tflite_known_ints(im, 1, "size", r->to, 2) != 2 || x.rank != 4) {
        vtac_make_fail(&im->maker, VTA_INVALID, "a size for rank %u", x.rank);
        return false;
    }
    for (int a = 0; a < 2; a++) {
        r->from[a] = x.dim[a + 1];
        if (r->to[a] < 1 || r->to[a] > 1 << 20 || r->from[a] < 1) {
            vtac_make_fail(&im->maker, VTA_INVALID, "a size of %lld from %lld", (long long)r->to[a],
                           (long long)r->from[a]);
            return false;
        }
    }
    return im->maker.status == VTA_OK;
}

/* Floats have no rounding of their own to keep: the kernel of ONNX's Resize. */
static void resize_floats(vtac_tflite *im, const resize *r)
{
    const vtac_id x = vtac_tflite_planes(im, 0);
    const vtac_type type = vtac_made_type(&im->maker, x);
    const int64_t to[] = {type.dim[0], type.dim[1], r->to[0], r->to[1]};
    const char *places = r->corners ? "align_corners" : r->centers ? "half_pixel" : "asymmetric";
    const vtac_attr attrs[] = {vtac_attr_of_string("mode", "linear"),
                               vtac_attr_of_string("coordinate_transformation_mode", places)};
    const vtac_id in[] = {x, 0, 0, vtac_make_ints(&im->maker, to, 4)};
    vtac_tflite_set_planes(im, 0, vtac_make(&im->maker, VTAC_OP_RESIZE, in, 4, attrs, 2));
}

/* x, size; options: 2 align corners, 3 half-pixel centers */
void vtac_tflite_import_resize_bilinear(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    resize r;
    axis_plan rows;
    axis_plan columns;
    if (!begin_resize(im, &r, 2)) {
        return;
    }
    if (vtac_tflite_in(im, 0)->type.dtype == VTAC_F32 && !(r.corners && r.centers)) {
        resize_floats(im, &r);
        return;
    }
    if (!plan_room(im, r.to[0], &rows) || !plan_room(im, r.to[1], &columns)) {
        return;
    }
    const vtac_dtype dtype = vtac_tflite_in(im, 0)->type.dtype;
    const bool integers = dtype == VTAC_I8 || dtype == VTAC_I16;
    (integers ? plan_integers : plan_floats)(&r, 0, &rows);
    (integers ? plan_integers : plan_floats)(&r, 1, &columns);
    const bool units = dtype == VTAC_U8 && in_units(&rows, r.to[0]) && in_units(&columns, r.to[1]);
    if (units) {
        to_units(&rows, r.to[0]);
        to_units(&columns, r.to[1]);
    }
    const bool bytes = dtype == VTAC_I8 || units;
    const float one = integers || units ? 1024.0F : 1.0F;
    const vtac_dtype type = bytes ? VTAC_I32 : dtype == VTAC_I16 ? VTAC_I64 : VTAC_F32;
    vtac_id y = vtac_make_cast(m, vtac_tflite_planes(im, 0), type);
    if (bytes) { /* 2^21 with a last bit of 0: then the first rounding of a factor changes nothing */
        for (int64_t i = 0; i < r.to[1]; i++) {
            columns.part[i] *= 2.0F;
        }
        y = blend_axis(im, y, &rows, r.to[0], 2, type, one);
        y = blend_axis(im, y, &columns, r.to[1], 3, type, 2.0F * one);
        y = vtac_tflite_rescale(im, y, vtac_tfl_scale_of(0x1p-21), VTAC_ROUND_AWAY);
    } else if (integers) {
        y = blend_axis(im, y, &rows, r.to[0], 2, type, one);
        y = blend_axis(im, y, &columns, r.to[1], 3, type, one);
    } else {
        y = blend_floats(im, y, &rows, &columns, &r);
    }
    if (dtype == VTAC_I16) { /* 2^20, halves away from zero */
        const vtac_id half = vtac_make_number(m, type, 1 << 19);
        const vtac_id sign = vtac_make1(m, VTAC_OP_SIGN, y);
        y = vtac_make2(m, VTAC_OP_ADD, y, vtac_make2(m, VTAC_OP_MUL, sign, half));
        y = vtac_make2(m, VTAC_OP_DIV, y, vtac_make_number(m, type, 1 << 20));
    } else if (dtype == VTAC_U8 && !units) {
        y = vtac_make2(m, VTAC_OP_ADD, y, vtac_make_number(m, VTAC_F32, 0.5));
    } else if (dtype != VTAC_F32 && !bytes) {
        vtac_make_refuse(&im->maker, "numbers of %s", vtac_dtype_name(dtype));
    }
    vtac_tflite_set_planes(im, 0, vtac_make_cast(m, y, dtype));
}

/* x, size; options: align corners, half-pixel centers */
void vtac_tflite_import_resize_nearest(vtac_tflite *im)
{
    resize r;
    if (!begin_resize(im, &r, 0)) {
        return;
    }
    vtac_id y = vtac_tflite_planes(im, 0);
    for (int a = 0; a < 2; a++) {
        const bool corners = r.corners && r.to[a] > 1;
        const float scale =
            corners ? (float)(r.from[a] - 1) / (float)(r.to[a] - 1) : (float)r.from[a] / (float)r.to[a];
        int64_t *places = vtac_make_room(&im->maker, r.to[a], sizeof *places);
        for (int64_t i = 0; places != NULL && i < r.to[a]; i++) {
            const float at = ((float)i + (r.centers ? 0.5F : 0.0F)) * scale;
            places[i] = clamp_place((int64_t)(r.corners ? roundf(at) : floorf(at)), r.from[a]);
        }
        y = places == NULL ? 0 : pick_places(im, y, places, r.to[a], (uint32_t)a + 2);
    }
    vtac_tflite_set_planes(im, 0, y);
}
