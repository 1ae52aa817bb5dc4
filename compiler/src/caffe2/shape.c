/* SPDX-License-Identifier: Apache-2.0
 *
 * Caffe2's operators that join, cut, move and count elements.
 */
#include <string.h>

#include "caffe2.h"

/* An operator with a second output that tells how to undo it gives it as a constant. */
static void give_ints(vtac_caffe2 *c, const int64_t *values, uint32_t count)
{
    if (c->out_count > 1) {
        vtac_layered_set_constant(&c->net, c->outputs[1], vtac_make_ints(&c->net.maker, values, count));
    }
}

void vtac_caffe2_make_concat(vtac_caffe2 *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const uint32_t axis = vtac_caffe2_axis(c, "axis", vtac_caffe2_last(c) ? 3 : 1);
    vtac_id parts[CAFFE2_MAX_ENDS];
    int64_t sizes[CAFFE2_MAX_ENDS];
    const int64_t place = axis;
    const bool stack = vtac_caffe2_int(c, "add_axis", 0, 0, 1) != 0;
    (void)how;
    for (uint32_t i = 0; i < c->in_count; i++) {
        parts[i] =
            stack ? vtac_make2(m, VTAC_OP_UNSQUEEZE, c->in[i], vtac_make_ints(m, &place, 1)) : c->in[i];
        sizes[i] = axis < vtac_made_type(m, parts[i]).rank ? vtac_made_type(m, parts[i]).dim[axis] : 0;
    }
    vtac_caffe2_set(c, 0, vtac_make_concat(m, parts, c->in_count, axis));
    give_ints(c, sizes, c->in_count);
}

void vtac_caffe2_make_split(vtac_caffe2 *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const uint32_t axis = vtac_caffe2_axis(c, "axis", vtac_caffe2_last(c) ? 3 : 1);
    int64_t sizes[CAFFE2_MAX_ENDS];
    const uint32_t count = vtac_caffe2_ints(c, "split", sizes, CAFFE2_MAX_ENDS);
    const int64_t size = vtac_caffe2_type(c, 0).dim[axis];
    int64_t begin = 0;
    (void)how;
    if (count != c->out_count && (count != 0 || size % c->out_count != 0)) {
        vtac_make_fail(m, VTA_INVALID, "%u parts of %lld elements, %u sizes", c->out_count, (long long)size,
                       count);
        return;
    }
    for (uint32_t i = 0; i < c->out_count; i++) {
        const int64_t each = count == 0 ? size / c->out_count : sizes[i];
        if (each < 1 || each > size - begin) {
            vtac_make_fail(m, VTA_INVALID, "a part of %lld from %lld of %lld", (long long)each,
                           (long long)begin, (long long)size);
            return;
        }
        vtac_caffe2_set(c, i, vtac_make_slice(m, c->in[0], axis, begin, begin + each));
        begin += each;
    }
}

/* Numbers from an input that is known, or from an argument. */
static uint32_t known_ints(vtac_caffe2 *c, uint32_t input, const char *name, int64_t *out, uint32_t room)
{
    if (c->in_count <= input) {
        return vtac_caffe2_ints(c, name, out, room);
    }
    const vtac_tensor *known = vtac_made_constant(&c->net.maker, c->in[input]);
    const int64_t count = known == NULL ? -1 : vtac_type_elements(&known->type);
    if (count < 0 || count > (int64_t)room) {
        vtac_make_fail(&c->net.maker, VTA_UNSUPPORTED, "%s that the run computes, or more than %u of them",
                       name, room);
        return 0;
    }
    for (int64_t i = 0; i < count; i++) {
        out[i] = vtac_tensor_int(known, i);
    }
    return (uint32_t)count;
}

/* An end below 0 counts from behind the last element. */
void vtac_caffe2_make_slice(vtac_caffe2 *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_type type = vtac_caffe2_type(c, 0);
    int64_t begin[VTAC_MAX_RANK];
    int64_t end[VTAC_MAX_RANK];
    const uint32_t count = known_ints(c, 1, "starts", begin, VTAC_MAX_RANK);
    vtac_id y = c->in[0];
    (void)how;
    if (known_ints(c, 2, "ends", end, VTAC_MAX_RANK) != count || count > type.rank) {
        vtac_make_fail(m, VTA_INVALID, "starts and ends of other axes than %u", type.rank);
        return;
    }
    for (uint32_t a = 0; a < count; a++) {
        const int64_t size = type.dim[a];
        const int64_t from = begin[a] < 0 ? begin[a] + size : begin[a];
        const int64_t to = end[a] < 0 ? end[a] + size + 1 : end[a] > size ? size : end[a];
        if (from < 0 || to <= from) {
            vtac_make_fail(m, VTA_INVALID, "elements %lld to %lld of axis %u, which has %lld",
                           (long long)from, (long long)to, a, (long long)size);
            return;
        }
        y = vtac_make_slice(m, y, a, from, to);
    }
    vtac_caffe2_set(c, 0, y);
}

void vtac_caffe2_make_reshape(vtac_caffe2 *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_type type = vtac_caffe2_type(c, 0);
    int64_t dims[VTAC_MAX_RANK];
    const uint32_t count = known_ints(c, 1, "shape", dims, VTAC_MAX_RANK);
    const vtac_id in[] = {c->in[0], vtac_make_ints(m, dims, count)};
    (void)how;
    vtac_caffe2_set(c, 0, vtac_make(m, VTAC_OP_RESHAPE, in, 2, NULL, 0));
    give_ints(c, type.dim, type.rank);
}

void vtac_caffe2_make_flatten(vtac_caffe2 *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_id y = vtac_make_rows(m, c->in[0], (uint32_t)vtac_caffe2_int(c, "axis", 1, 0, 8));
    (void)how;
    if (vtac_caffe2_type(c, 0).dtype != VTAC_F32) {
        const vtac_caffe2_scale s = vtac_caffe2_scale_of(c, c->in[0]);
        vtac_caffe2_set_scale(c, y, s.scale, s.zero);
    }
    vtac_caffe2_set(c, 0, y);
}

void vtac_caffe2_make_transpose(vtac_caffe2 *c, const char *how)
{
    const uint32_t rank = vtac_caffe2_type(c, 0).rank;
    int64_t order[VTAC_MAX_RANK];
    const uint32_t count = vtac_caffe2_ints(c, "axes", order, VTAC_MAX_RANK);
    (void)how;
    for (uint32_t a = 0; count == 0 && a < rank; a++) {
        order[a] = rank - 1 - a;
    }
    vtac_caffe2_set(c, 0, vtac_make_transpose(&c->net.maker, c->in[0], order, count == 0 ? rank : count));
}

/* Axes of one element, added or taken away. */
static void give_axes(vtac_caffe2 *c, vtac_op op)
{
    int64_t dims[VTAC_MAX_RANK];
    const uint32_t count = vtac_caffe2_ints(c, "dims", dims, VTAC_MAX_RANK);
    const vtac_id in[] = {c->in[0], vtac_make_ints(&c->net.maker, dims, count)};
    vtac_caffe2_set(c, 0, vtac_make(&c->net.maker, op, in, 2, NULL, 0));
}

void vtac_caffe2_make_expand_dims(vtac_caffe2 *c, const char *how)
{
    (void)how;
    give_axes(c, VTAC_OP_UNSQUEEZE);
}

void vtac_caffe2_make_squeeze(vtac_caffe2 *c, const char *how)
{
    (void)how;
    give_axes(c, VTAC_OP_SQUEEZE);
}

void vtac_caffe2_make_shuffle(vtac_caffe2 *c, const char *how)
{
    const int64_t groups = vtac_caffe2_int(c, "group", 1, 1, CAFFE2_MAX_SIDE);
    (void)how;
    const vtac_id y = vtac_make_shuffled(&c->net.maker, vtac_caffe2_planes(c, c->in[0]), groups);
    vtac_caffe2_set(c, 0, vtac_caffe2_plain(c, y));
}

void vtac_caffe2_make_resize(vtac_caffe2 *c, const char *how)
{
    static const char *const names[] = {"height_scale", "width_scale"};
    const vtac_id x = vtac_caffe2_planes(c, c->in[0]);
    const vtac_type type = vtac_made_type(&c->net.maker, x);
    int64_t size[2];
    (void)how;
    for (uint32_t a = 0; a < 2; a++) {
        const double scale = vtac_caffe2_real(c, names[a], 1.0);
        const double wanted = (double)type.dim[a + 2] * scale;
        size[a] = wanted >= 1.0 && wanted <= VTAC_WINDOW_MAX ? (int64_t)wanted : 0;
        if (type.rank == 4 && (double)size[a] != wanted) {
            vtac_make_fail(&c->net.maker, VTA_UNSUPPORTED,
                           "%lld elements times %g, which come out even for none", (long long)type.dim[a + 2],
                           scale);
            return;
        }
    }
    const vtac_id y = vtac_make_resized(&c->net.maker, x, size[0], size[1], "nearest", "asymmetric");
    vtac_caffe2_set(c, 0, vtac_caffe2_plain(c, y));
}

void vtac_caffe2_make_pad_image(vtac_caffe2 *c, const char *how)
{
    static const char *const names[] = {"pad_t", "pad_l", "pad_b", "pad_r"};
    vtac_import_builder *m = &c->net.maker;
    const char *mode = vtac_caffe2_is(c, "mode", "reflect") ? "reflect"
                       : vtac_caffe2_is(c, "mode", "edge")  ? "edge"
                                                            : "constant";
    const int64_t all = vtac_caffe2_int(c, "pad", 0, 0, CAFFE2_MAX_SIDE);
    int64_t pads[8] = {0};
    (void)how;
    for (uint32_t i = 0; i < 4; i++) {
        pads[i < 2 ? i + 2 : i + 4] = vtac_caffe2_int(c, names[i], all, 0, CAFFE2_MAX_SIDE);
    }
    const vtac_attr attr = vtac_attr_of_string("mode", mode);
    const vtac_id in[] = {vtac_caffe2_planes(c, c->in[0]), vtac_make_ints(m, pads, 8),
                          vtac_make_number(m, VTAC_F32, vtac_caffe2_real(c, "value", 0.0))};
    vtac_caffe2_set(c, 0,
                    vtac_caffe2_plain(c, vtac_make(m, VTAC_OP_PAD, in, mode[0] == 'c' ? 3 : 2, &attr, 1)));
}

void vtac_caffe2_make_reduce(vtac_caffe2 *c, const char *how)
{
    const uint32_t rank = vtac_caffe2_type(c, 0).rank;
    int64_t axes[VTAC_MAX_RANK];
    uint32_t count = vtac_caffe2_ints(c, "axes", axes, VTAC_MAX_RANK);
    for (; count == 0 && rank > 0; count = rank) {
        for (uint32_t a = 0; a < rank; a++) {
            axes[a] = a;
        }
    }
    vtac_caffe2_set(c, 0,
                    vtac_make_reduce(&c->net.maker, vtac_op_find("", how), c->in[0], axes, count,
                                     vtac_caffe2_int(c, "keepdims", 1, 0, 1) != 0));
}

void vtac_caffe2_make_arg_max(vtac_caffe2 *c, const char *how)
{
    const vtac_attr attrs[] = {vtac_attr_of_int("axis", vtac_caffe2_axis(c, "axis", -1)),
                               vtac_attr_of_int("keepdims", vtac_caffe2_int(c, "keepdims", 1, 0, 1))};
    (void)how;
    vtac_caffe2_set(c, 0, vtac_make(&c->net.maker, VTAC_OP_ARG_MAX, c->in, 1, attrs, 2));
}
