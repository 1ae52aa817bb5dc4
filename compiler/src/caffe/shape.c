/* SPDX-License-Identifier: Apache-2.0
 *
 * Caffe's layers that join, cut, move and count elements.
 */
#include <string.h>

#include "caffe.h"

enum { MAX_SIDE = 1 << 16 };

void vtac_caffe_make_concat(vtac_caffe *c)
{
    const int64_t old = vtac_caffe_int(c, "concat_param", "concat_dim", 1, 0, 8);
    const int64_t axis = vtac_caffe_int(c, "concat_param", "axis", old, -8, 8);
    vtac_caffe_set(c, 0, vtac_make_concat(&c->net.maker, c->in, c->in_count, axis));
}

/* The part of the first bottom that is as large as the second, from an axis on. */
void vtac_caffe_make_crop(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_type like = vtac_caffe_type(c, 1);
    const vtac_type type = vtac_caffe_type(c, 0);
    const uint32_t axis = vtac_axis_of(m, c->in[0], vtac_caffe_int(c, "crop_param", "axis", 2, -8, 8));
    int64_t offset[VTAC_MAX_RANK] = {0};
    const uint32_t count =
        vtac_caffe_ints(c, vtac_prototxt_message(c->layer, "crop_param"), "offset", offset, VTAC_MAX_RANK);
    vtac_id y = c->in[0];
    if (m->status != VTA_OK || like.rank != type.rank || (count > 1 && count != type.rank - axis)) {
        vtac_make_fail(m, VTA_INVALID, "%u offsets for the axes from %u of %u, cut to those of %u", count,
                       axis, type.rank, like.rank);
        return;
    }
    for (uint32_t a = axis; a < type.rank; a++) {
        const int64_t begin = offset[count > 1 ? a - axis : 0];
        if (begin < 0 || like.dim[a] > type.dim[a] || begin > type.dim[a] - like.dim[a]) {
            vtac_make_fail(m, VTA_INVALID, "%lld elements from %lld on axis %u, which has %lld",
                           (long long)like.dim[a], (long long)begin, a, (long long)type.dim[a]);
            return;
        }
        y = vtac_make_slice(m, y, a, begin, begin + like.dim[a]);
    }
    vtac_caffe_set(c, 0, y);
}

void vtac_caffe_make_flatten(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_type type = vtac_caffe_type(c, 0);
    const uint32_t first = vtac_axis_of(m, c->in[0], vtac_caffe_int(c, "flatten_param", "axis", 1, -8, 8));
    const uint32_t last =
        vtac_axis_of(m, c->in[0], vtac_caffe_int(c, "flatten_param", "end_axis", -1, -8, 8));
    vtac_type to = {.rank = 0};
    for (uint32_t a = 0; a < type.rank; a++) {
        if (a > first && a <= last) {
            to.dim[to.rank - 1] *= type.dim[a];
        } else {
            to.dim[to.rank++] = type.dim[a];
        }
    }
    vtac_caffe_set(c, 0, vtac_make_reshape(m, c->in[0], to.dim, to.rank));
}

/* Bilinear, corners on corners. */
void vtac_caffe_make_interp(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const char *param = "interp_param";
    int64_t size[2];
    if (vtac_caffe_int(c, param, "pad_beg", 0, -MAX_SIDE, 0) != 0 ||
        vtac_caffe_int(c, param, "pad_end", 0, -MAX_SIDE, 0) != 0 || vtac_caffe_type(c, 0).rank != 4) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "pads, or an input of %u axes; 4 without pads are taken",
                       vtac_caffe_type(c, 0).rank);
        return;
    }
    const int64_t shrink = vtac_caffe_int(c, param, "shrink_factor", 1, 1, MAX_SIDE);
    const int64_t zoom = vtac_caffe_int(c, param, "zoom_factor", 1, 1, MAX_SIDE);
    for (int a = 0; a < 2; a++) {
        const int64_t shrunk = (vtac_caffe_type(c, 0).dim[a + 2] - 1) / shrink + 1;
        size[a] = shrunk + (shrunk - 1) * (zoom - 1);
    }
    size[0] = vtac_caffe_int(c, param, "height", size[0], 1, MAX_SIDE);
    size[1] = vtac_caffe_int(c, param, "width", size[1], 1, MAX_SIDE);
    vtac_caffe_set(c, 0, vtac_make_resized(m, c->in[0], size[0], size[1], "linear", "align_corners"));
}

/* Axes in the order given; the others behind. */
void vtac_caffe_make_permute(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const uint32_t rank = vtac_caffe_type(c, 0).rank;
    int64_t order[2 * VTAC_MAX_RANK];
    uint32_t count =
        vtac_caffe_ints(c, vtac_prototxt_message(c->layer, "permute_param"), "order", order, VTAC_MAX_RANK);
    for (int64_t a = 0; a < (int64_t)rank; a++) {
        bool there = false;
        for (uint32_t i = 0; i < count; i++) {
            there = there || order[i] == a;
        }
        if (!there) {
            order[count++] = a;
        }
    }
    if (count != rank) {
        vtac_make_fail(m, VTA_INVALID, "an order of other axes than the %u that there are", rank);
        return;
    }
    vtac_caffe_set(c, 0, vtac_make_transpose(m, c->in[0], order, rank));
}

/* From an axis on: sums, of magnitudes or squares, or means, times a factor. */
void vtac_caffe_make_reduction(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const char *param = "reduction_param";
    const char *kind = vtac_caffe_word(c, param, "operation", "SUM");
    static const struct {
        const char *word, *number;
        vtac_op op;
    } kinds[] = {{"SUM", "1", VTAC_OP_REDUCE_SUM},
                 {"ASUM", "2", VTAC_OP_REDUCE_L1},
                 {"SUMSQ", "3", VTAC_OP_REDUCE_SUM_SQUARE},
                 {"MEAN", "4", VTAC_OP_REDUCE_MEAN}};
    const uint32_t axis = vtac_axis_of(m, c->in[0], vtac_caffe_int(c, param, "axis", 0, -8, 8));
    const uint32_t rank = vtac_caffe_type(c, 0).rank;
    int64_t axes[VTAC_MAX_RANK];
    for (uint32_t a = axis; a < rank; a++) {
        axes[a - axis] = a;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && m->status == VTA_OK; i++) {
        if (strcmp(kind, kinds[i].word) == 0 || strcmp(kind, kinds[i].number) == 0) {
            const vtac_id y = vtac_make_reduce(m, kinds[i].op, c->in[0], axes, rank - axis, false);
            vtac_caffe_set(c, 0, vtac_make_linear(m, y, vtac_caffe_real(c, param, "coeff", 1.0), 0.0));
            return;
        }
    }
    vtac_make_fail(m, VTA_INVALID, "operation %.20s, expected SUM, ASUM, SUMSQ or MEAN", kind);
}

/* Axes from `axis` on, `num_axes` of them, become those of `shape`: 0 copies, -1 is what is left. */
void vtac_caffe_make_reshape(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const char *param = "reshape_param";
    const vtac_prototxt_field *shape = vtac_prototxt_message(vtac_prototxt_message(c->layer, param), "shape");
    const vtac_type type = vtac_caffe_type(c, 0);
    const int64_t rank = type.rank;
    const int64_t given = vtac_caffe_int(c, param, "axis", 0, -8, 8);
    const int64_t first = given < 0 ? given + rank + 1 : given;
    const int64_t axes = vtac_caffe_int(c, param, "num_axes", -1, -1, VTAC_MAX_RANK);
    const int64_t last = axes < 0 ? rank : first + axes;
    int64_t dims[VTAC_MAX_RANK];
    int64_t to[3 * VTAC_MAX_RANK];
    const int64_t count = vtac_caffe_ints(c, shape, "dim", dims, VTAC_MAX_RANK);
    int64_t known = 1;
    int64_t open = -1;
    uint32_t made = 0;
    if (m->status != VTA_OK || first < 0 || last > rank || first > last ||
        first + count + rank - last > VTAC_MAX_RANK) {
        vtac_make_fail(m, VTA_INVALID, "%lld axes from %lld of %lld become %lld", (long long)axes,
                       (long long)first, (long long)rank, (long long)count);
        return;
    }
    for (int64_t a = 0; a < first; a++) {
        to[made++] = type.dim[a];
    }
    for (int64_t i = 0; i < count; i++) {
        open = dims[i] < 0 ? made : open;
        to[made++] = dims[i] < 0 ? 1 : dims[i] > 0 ? dims[i] : first + i < rank ? type.dim[first + i] : 0;
    }
    for (int64_t a = last; a < rank; a++) {
        to[made++] = type.dim[a];
    }
    for (uint32_t a = 0; a < made; a++) {
        known = to[a] > 0 && known < INT64_MAX / to[a] ? known * to[a] : 0;
    }
    const int64_t all = vtac_type_elements(&type);
    if (known < 1 || all % known != 0 || (open < 0 && all != known)) {
        vtac_make_fail(m, VTA_INVALID, "%lld elements do not fit its shape", (long long)all);
        return;
    }
    if (open >= 0) {
        to[open] = all / known;
    }
    vtac_caffe_set(c, 0, vtac_make_reshape(m, c->in[0], to, made));
}

void vtac_caffe_make_shuffle(vtac_caffe *c)
{
    const int64_t groups = vtac_caffe_int(c, "shuffle_channel_param", "group", 1, 1, MAX_SIDE);
    vtac_caffe_set(c, 0, vtac_make_shuffled(&c->net.maker, c->in[0], groups));
}

/* Parts between the points given, or as many equal ones as there are tops. */
void vtac_caffe_make_slice(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const char *param = "slice_param";
    const int64_t old = vtac_caffe_int(c, param, "slice_dim", 1, 0, 8);
    const uint32_t axis = vtac_axis_of(m, c->in[0], vtac_caffe_int(c, param, "axis", old, -8, 8));
    int64_t points[CAFFE_MAX_ENDS + 1] = {0};
    const uint32_t count = vtac_caffe_ints(c, vtac_prototxt_message(c->layer, param), "slice_point",
                                           points + 1, CAFFE_MAX_ENDS - 1);
    const int64_t size = vtac_caffe_type(c, 0).dim[axis];
    if (m->status != VTA_OK || c->out_count < 1 || (count > 0 && count + 1 != c->out_count) ||
        (count == 0 && size % c->out_count != 0)) {
        vtac_make_fail(m, VTA_INVALID, "%u points for %u tops of %lld elements", count, c->out_count,
                       (long long)size);
        return;
    }
    for (uint32_t i = 1; count == 0 && i < c->out_count; i++) {
        points[i] = size / c->out_count * i;
    }
    points[c->out_count] = size;
    for (uint32_t i = 0; i < c->out_count; i++) {
        if (points[i] < 0 || points[i + 1] <= points[i] || points[i + 1] > size) {
            vtac_make_fail(m, VTA_INVALID, "a part from %lld to %lld of %lld", (long long)points[i],
                           (long long)points[i + 1], (long long)size);
            return;
        }
        vtac_caffe_set(c, i, vtac_make_slice(m, c->in[0], axis, points[i], points[i + 1]));
    }
}

void vtac_caffe_make_tile(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const uint32_t axis = vtac_axis_of(m, c->in[0], vtac_caffe_int(c, "tile_param", "axis", 1, -8, 8));
    int64_t times[VTAC_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    times[axis] = vtac_caffe_int(c, "tile_param", "tiles", 1, 1, MAX_SIDE);
    const vtac_id in[] = {c->in[0], vtac_make_ints(m, times, vtac_caffe_type(c, 0).rank)};
    vtac_caffe_set(c, 0, vtac_make(m, VTAC_OP_TILE, in, 2, NULL, 0));
}

/* Each element at the place in its plane that the mask of a pool tells, zeros elsewhere. */
static vtac_id unpooled(vtac_caffe *c, int64_t rows, int64_t columns)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_type x = vtac_caffe_type(c, 0);
    const vtac_type mask = vtac_caffe_type(c, 1);
    const int64_t planes = x.dim[0] * x.dim[1];
    const int64_t flat[] = {planes, x.dim[2] * x.dim[3]};
    const vtac_type zeros = {VTAC_F32, 2, {planes, rows * columns}};
    const int64_t dims[] = {x.dim[0], x.dim[1], rows, columns};
    if (mask.rank != 4 || memcmp(mask.dim, x.dim, sizeof dims) != 0 ||
        planes > INT32_MAX / (rows * columns)) {
        vtac_make_fail(m, VTA_INVALID,
                       "a mask of another shape than what it places, or more than 2^31 elements");
        return 0;
    }
    const void *none = vtac_make_room(m, planes * rows * columns, sizeof(float));
    const vtac_attr attr = vtac_attr_of_int("axis", 1);
    const vtac_id places = vtac_make_cast(m, vtac_make_reshape(m, c->in[1], flat, 2), VTAC_I64);
    if (none == NULL) {
        return 0;
    }
    const vtac_id in[] = {vtac_make_borrowed(m, &zeros, none), places,
                          vtac_make_reshape(m, c->in[0], flat, 2)};
    return vtac_make_reshape(m, vtac_make(m, VTAC_OP_SCATTER_ELEMENTS, in, 3, &attr, 1), dims, 4);
}

/* Upsample: with one bottom the nearest element, with two the undoing of a pool, as SegNet has it. */
void vtac_caffe_make_upsample(vtac_caffe *c)
{
    static const char *const names[2][3] = {{"scale_h", "pad_out_h", "upsample_h"},
                                            {"scale_w", "pad_out_w", "upsample_w"}};
    const char *param = "upsample_param";
    const int64_t scale = vtac_caffe_int(c, param, "scale", 2, 1, 256);
    const vtac_type type = vtac_caffe_type(c, 0);
    int64_t size[2];
    if (c->net.maker.status == VTA_OK && type.rank != 4) {
        vtac_make_fail(&c->net.maker, VTA_UNSUPPORTED, "an input of %u axes, 4 are taken", type.rank);
    }
    for (int a = 0; a < 2; a++) {
        const int64_t grown = type.dim[a + 2] * vtac_caffe_int(c, param, names[a][0], scale, 1, 256);
        size[a] = grown - vtac_caffe_int(c, param, names[a][1], 0, 0, 1);
        size[a] = vtac_caffe_int(c, param, names[a][2], size[a], 1, MAX_SIDE);
    }
    if (c->net.maker.status != VTA_OK) {
        return;
    }
    vtac_caffe_set(c, 0,
                   c->in_count > 1 ? unpooled(c, size[0], size[1])
                                   : vtac_make_resized(&c->net.maker, c->in[0], size[0], size[1], "nearest",
                                                       "asymmetric"));
}
