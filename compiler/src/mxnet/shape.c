/* SPDX-License-Identifier: Apache-2.0
 *
 * MXNet's operators that join, cut, move and count elements.
 */
#include <string.h>

#include "mxnet.h"

/* ---- reductions */

/* The axes that an operator reduces: those given, or all others, or all. */
static uint32_t reduced_axes(vtac_mxnet *x, int64_t *axes)
{
    const uint32_t rank = vtac_mxnet_type(x, 0).rank;
    const bool exclude = vtac_mxnet_flag(x, "exclude", false);
    int64_t given[MXNET_MAX_LIST];
    const uint32_t count = vtac_mxnet_ints(x, "axis", given, VTAC_MAX_RANK);
    bool named[VTAC_MAX_RANK] = {false};
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        named[vtac_axis_of(&x->net.maker, x->in[0], given[i])] = true;
    }
    for (uint32_t a = 0; a < rank; a++) {
        if (count == 0 || named[a] != exclude) {
            axes[found++] = a;
        }
    }
    return found;
}

void vtac_mxnet_make_reduce(vtac_mxnet *x, const char *how)
{
    vtac_import_builder *m = &x->net.maker;
    int64_t axes[VTAC_MAX_RANK];
    const uint32_t rank = vtac_mxnet_type(x, 0).rank;
    const uint32_t count = reduced_axes(x, axes);
    const bool keep = vtac_mxnet_flag(x, "keepdims", false);
    const vtac_id y = vtac_make_reduce(m, vtac_op_find("", how), x->in[0], axes, count, keep);
    const int64_t one = 1; /* of all elements one number is left, in an axis of its own */
    vtac_mxnet_give(x, !keep && count == rank ? vtac_make_reshape(m, y, &one, 1) : y);
}

void vtac_mxnet_make_arg_max(vtac_mxnet *x, const char *how)
{
    vtac_import_builder *m = &x->net.maker;
    const vtac_attr attrs[] = {vtac_attr_of_int("axis", vtac_mxnet_axis(x, "axis", 0)),
                               vtac_attr_of_int("keepdims", vtac_mxnet_flag(x, "keepdims", false))};
    (void)how;
    if (vtac_mxnet_text(x, "axis") == NULL) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "the place of the largest of all elements; an axis is taken");
        return;
    }
    vtac_mxnet_give(x, vtac_make_cast(m, vtac_make(m, VTAC_OP_ARG_MAX, x->in, 1, attrs, 2), VTAC_F32));
}

/* ---- shapes */

void vtac_mxnet_make_same(vtac_mxnet *x, const char *how)
{
    (void)how;
    vtac_mxnet_give(x, x->in[0]);
}

void vtac_mxnet_make_cast(vtac_mxnet *x, const char *how)
{
    static const struct {
        const char *name;
        vtac_dtype dtype;
    } types[] = {{"float32", VTAC_F32}, {"float64", VTAC_F64}, {"float16", VTAC_F16}, {"uint8", VTAC_U8},
                 {"int32", VTAC_I32},   {"int8", VTAC_I8},     {"int64", VTAC_I64}};
    const char *to = vtac_mxnet_text(x, "dtype");
    (void)how;
    for (size_t i = 0; to != NULL && i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, to) == 0) {
            vtac_mxnet_give(x, vtac_make_cast(&x->net.maker, x->in[0], types[i].dtype));
            return;
        }
    }
    vtac_make_fail(&x->net.maker, VTA_INVALID, "to the type '%.20s'", to == NULL ? "" : to);
}

void vtac_mxnet_make_flatten(vtac_mxnet *x, const char *how)
{
    (void)how;
    vtac_mxnet_give(x, vtac_make_rows(&x->net.maker, x->in[0], 1));
}

/* The axes that the codes of "shape" make of the input's; one is left open, as -1. */
typedef struct new_shape {
    int64_t dims[MXNET_MAX_LIST];
    uint32_t count, used; /* of the input's axes */
    int64_t open;         /* the axis that is what is left; -1: none */
    bool good;
} new_shape;

static void add_dim(new_shape *s, int64_t dim)
{
    s->good = s->good && s->count < MXNET_MAX_LIST;
    if (s->good) {
        s->dims[s->count++] = dim;
    }
}

/* 0 copies an axis, -1 is what is left, -2 copies the rest, -3 joins two, -4 parts one into the two behind
 * it; returns how many codes were taken. */
static uint32_t take_code(const vtac_type *type, const int64_t *code, uint32_t left, new_shape *s)
{
    const uint32_t rest = type->rank > s->used ? type->rank - s->used : 0;
    if (code[0] > 0 || code[0] == -1) {
        s->good = s->good && (code[0] > 0 || s->open < 0);
        s->open = code[0] < 0 ? s->count : s->open;
        add_dim(s, code[0] < 0 ? 1 : code[0]);
        s->used++;
        return 1;
    }
    if (code[0] == -2) {
        for (uint32_t i = 0; i < rest; i++) {
            add_dim(s, type->dim[s->used++]);
        }
        return 1;
    }
    const uint32_t wanted = code[0] == -3 ? 2 : 1;
    if (code[0] < -4 || rest < wanted || (code[0] == -4 && left < 3)) {
        s->good = false;
        return 1;
    }
    const int64_t dim = type->dim[s->used];
    s->used += wanted;
    if (code[0] != -4) {
        add_dim(s, code[0] == 0 ? dim : dim * type->dim[s->used - 1]);
        return 1;
    }
    const int64_t first = code[1] > 0 ? code[1] : code[2] > 0 ? dim / code[2] : 0;
    const int64_t second = code[2] > 0 ? code[2] : first > 0 ? dim / first : 0;
    s->good = s->good && first * second == dim;
    add_dim(s, first);
    add_dim(s, second);
    return 3;
}

void vtac_mxnet_make_reshape(vtac_mxnet *x, const char *how)
{
    vtac_import_builder *m = &x->net.maker;
    const vtac_type type = vtac_mxnet_type(x, 0);
    const int64_t all = vtac_type_elements(&type);
    int64_t codes[MXNET_MAX_LIST];
    const uint32_t count = vtac_mxnet_ints(x, "shape", codes, MXNET_MAX_LIST);
    new_shape s = {.open = -1, .good = count > 0 && !vtac_mxnet_flag(x, "reverse", false)};
    int64_t known = 1;
    (void)how;
    for (uint32_t i = 0; i < count && s.good;) {
        i += take_code(&type, codes + i, count - i, &s);
    }
    for (uint32_t i = 0; i < s.count; i++) {
        known = s.dims[i] > 0 && known < INT64_MAX / s.dims[i] ? known * s.dims[i] : 0;
    }
    if (!s.good || s.count > VTAC_MAX_RANK || known < 1 || all % known != 0 || (s.open < 0 && known != all)) {
        vtac_make_fail(m, VTA_INVALID, "%lld elements do not fit the shape '%.60s', or it is read in reverse",
                       (long long)all,
                       vtac_mxnet_text(x, "shape") == NULL ? "" : vtac_mxnet_text(x, "shape"));
        return;
    }
    if (s.open >= 0) {
        s.dims[s.open] = all / known;
    }
    vtac_mxnet_give(x, vtac_make_reshape(m, x->in[0], s.dims, s.count));
}

void vtac_mxnet_make_expand_dims(vtac_mxnet *x, const char *how)
{
    vtac_import_builder *m = &x->net.maker;
    vtac_type type = vtac_mxnet_type(x, 0);
    const int64_t given = vtac_mxnet_int(x, "axis", 0, -9, 8);
    const int64_t axis = given < 0 ? given + type.rank + 1 : given;
    (void)how;
    if (axis < 0 || axis > (int64_t)type.rank || type.rank == VTAC_MAX_RANK) {
        vtac_make_fail(m, VTA_INVALID, "an axis at %lld of %u", (long long)given, type.rank);
        return;
    }
    memmove(&type.dim[axis + 1], &type.dim[axis], (type.rank - (size_t)axis) * sizeof type.dim[0]);
    type.dim[axis] = 1;
    vtac_mxnet_give(x, vtac_make_reshape(m, x->in[0], type.dim, type.rank + 1));
}

void vtac_mxnet_make_squeeze(vtac_mxnet *x, const char *how)
{
    const vtac_type type = vtac_mxnet_type(x, 0);
    int64_t axes[VTAC_MAX_RANK];
    int64_t dims[VTAC_MAX_RANK];
    const bool all = vtac_mxnet_text(x, "axis") == NULL;
    const uint32_t count = reduced_axes(x, axes);
    uint32_t left = 0;
    (void)how;
    for (uint32_t a = 0; a < type.rank; a++) {
        bool goes = false;
        for (uint32_t i = 0; i < count; i++) {
            goes = goes || (axes[i] == a && (!all || type.dim[a] == 1));
        }
        if (goes && type.dim[a] != 1) {
            vtac_make_fail(&x->net.maker, VTA_INVALID, "axis %u has %lld elements", a,
                           (long long)type.dim[a]);
        }
        if (!goes) {
            dims[left++] = type.dim[a];
        }
    }
    vtac_mxnet_give(x, vtac_make_reshape(&x->net.maker, x->in[0], dims, left));
}

void vtac_mxnet_make_transpose(vtac_mxnet *x, const char *how)
{
    const uint32_t rank = vtac_mxnet_type(x, 0).rank;
    int64_t order[MXNET_MAX_LIST];
    uint32_t count = vtac_mxnet_ints(x, "axes", order, VTAC_MAX_RANK);
    (void)how;
    for (uint32_t a = 0; count == 0 && a < rank; a++) {
        order[a] = rank - 1 - a;
    }
    vtac_mxnet_give(x, vtac_make_transpose(&x->net.maker, x->in[0], order, count == 0 ? rank : count));
}

void vtac_mxnet_make_swap(vtac_mxnet *x, const char *how)
{
    const uint32_t a = vtac_mxnet_axis(x, "dim1", 0);
    const uint32_t b = vtac_mxnet_axis(x, "dim2", 0);
    int64_t order[VTAC_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    (void)how;
    order[a] = b;
    order[b] = a;
    vtac_mxnet_give(x, vtac_make_transpose(&x->net.maker, x->in[0], order, vtac_mxnet_type(x, 0).rank));
}

void vtac_mxnet_make_concat(vtac_mxnet *x, const char *how)
{
    (void)how;
    vtac_mxnet_give(x, vtac_make_concat(&x->net.maker, x->in, x->in_count, vtac_mxnet_axis(x, "dim", 1)));
}

void vtac_mxnet_make_stack(vtac_mxnet *x, const char *how)
{
    vtac_import_builder *m = &x->net.maker;
    const int64_t axis = vtac_mxnet_int(x, "axis", 0, 0, VTAC_MAX_RANK - 1);
    const vtac_id place = vtac_make_ints(m, &axis, 1);
    vtac_id parts[MXNET_MAX_ENDS];
    (void)how;
    for (uint32_t i = 0; i < x->in_count; i++) {
        parts[i] = vtac_make2(m, VTAC_OP_UNSQUEEZE, x->in[i], place);
    }
    vtac_mxnet_give(x, vtac_make_concat(m, parts, x->in_count, axis));
}

void vtac_mxnet_make_split(vtac_mxnet *x, const char *how)
{
    vtac_import_builder *m = &x->net.maker;
    const int64_t count = vtac_mxnet_int(x, "num_outputs", 1, 1, MXNET_MAX_ENDS);
    const uint32_t axis = vtac_mxnet_axis(x, "axis", 1);
    const bool flat = vtac_mxnet_flag(x, "squeeze_axis", false);
    vtac_type type = vtac_mxnet_type(x, 0);
    const int64_t each = type.dim[axis] / count;
    (void)how;
    if (m->status != VTA_OK || type.dim[axis] % count != 0 || (flat && each != 1)) {
        vtac_make_fail(m, VTA_INVALID, "%lld parts of %lld elements", (long long)count,
                       (long long)type.dim[axis]);
        return;
    }
    if (flat) {
        memmove(&type.dim[axis], &type.dim[axis + 1], (type.rank - axis - 1) * sizeof type.dim[0]);
    }
    for (int64_t i = 0; i < count; i++) {
        const vtac_id part = vtac_make_slice(m, x->in[0], axis, i * each, (i + 1) * each);
        vtac_mxnet_give(x, flat ? vtac_make_reshape(m, part, type.dim, type.rank - 1) : part);
    }
}

/* Elements from begin to end of an axis, both of which may be left open or count from its end. */
static vtac_id cut_axis(vtac_mxnet *x, vtac_id y, uint32_t axis, int64_t begin, int64_t end)
{
    const int64_t size = vtac_made_type(&x->net.maker, y).dim[axis];
    begin = begin == VTAC_MXNET_NONE ? 0 : begin < 0 ? begin + size : begin;
    end = end == VTAC_MXNET_NONE || end > size ? size : end < 0 ? end + size : end;
    if (x->net.maker.status == VTA_OK && (begin < 0 || begin >= end)) {
        vtac_make_fail(&x->net.maker, VTA_INVALID, "elements %lld to %lld of axis %u, which has %lld",
                       (long long)begin, (long long)end, axis, (long long)size);
    }
    return x->net.maker.status == VTA_OK ? vtac_make_slice(&x->net.maker, y, axis, begin, end) : 0;
}

void vtac_mxnet_make_slice_axis(vtac_mxnet *x, const char *how)
{
    int64_t begin = 0;
    int64_t end = VTAC_MXNET_NONE;
    (void)how;
    (void)vtac_mxnet_ints(x, "begin", &begin, 1);
    (void)vtac_mxnet_ints(x, "end", &end, 1);
    vtac_mxnet_give(x, cut_axis(x, x->in[0], vtac_mxnet_axis(x, "axis", 0), begin, end));
}

/* As large as the second input, on all axes or on those that are named. */
void vtac_mxnet_make_slice_like(vtac_mxnet *x, const char *how)
{
    const vtac_type like = vtac_mxnet_type(x, 1);
    const uint32_t rank = vtac_mxnet_type(x, 0).rank;
    int64_t axes[VTAC_MAX_RANK];
    const uint32_t named = vtac_mxnet_ints(x, "axes", axes, VTAC_MAX_RANK);
    vtac_id y = x->in[0];
    (void)how;
    for (uint32_t i = 0; i < (named == 0 ? rank : named) && x->net.maker.status == VTA_OK; i++) {
        const uint32_t axis = named == 0 ? i : vtac_axis_of(&x->net.maker, x->in[0], axes[i]);
        if (axis >= like.rank || like.dim[axis] > vtac_made_type(&x->net.maker, y).dim[axis]) {
            vtac_make_fail(&x->net.maker, VTA_INVALID, "axis %u is shorter than that of what it is cut like",
                           axis);
            return;
        }
        y = cut_axis(x, y, axis, 0, like.dim[axis]);
    }
    vtac_mxnet_give(x, y);
}

void vtac_mxnet_make_bilinear(vtac_mxnet *x, const char *how)
{
    static const char *const names[2][2] = {{"height", "scale_height"}, {"width", "scale_width"}};
    vtac_import_builder *m = &x->net.maker;
    const vtac_type t = vtac_mxnet_type(x, 0);
    const char *mode = vtac_mxnet_text(x, "mode");
    const bool corners = vtac_mxnet_flag(x, "align_corners", true);
    int64_t size[2] = {0};
    (void)how;
    if (t.rank != 4 || (mode != NULL && strcmp(mode, "size") != 0)) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "mode %.20s of an input of %u axes; size of 4 axes is taken",
                       mode == NULL ? "size" : mode, t.rank);
        return;
    }
    for (int a = 0; a < 2; a++) {
        const double scale = vtac_mxnet_real(x, names[a][1], 0.0);
        const double grown = scale * (double)t.dim[a + 2];
        size[a] = vtac_mxnet_int(x, names[a][0], 1, 1, MXNET_MAX_SIDE);
        size[a] = scale > 0.0 && grown >= 1.0 && grown <= MXNET_MAX_SIDE ? (int64_t)grown : size[a];
    }
    vtac_mxnet_give(x, vtac_make_resized(m, x->in[0], size[0], size[1], "linear",
                                         corners ? "align_corners" : "half_pixel"));
}

void vtac_mxnet_make_slice(vtac_mxnet *x, const char *how)
{
    int64_t begin[VTAC_MAX_RANK];
    int64_t end[VTAC_MAX_RANK];
    int64_t step[VTAC_MAX_RANK];
    const uint32_t count = vtac_mxnet_ints(x, "begin", begin, VTAC_MAX_RANK);
    const uint32_t steps = vtac_mxnet_ints(x, "step", step, VTAC_MAX_RANK);
    vtac_id y = x->in[0];
    (void)how;
    bool good = vtac_mxnet_ints(x, "end", end, VTAC_MAX_RANK) == count && count <= vtac_mxnet_type(x, 0).rank;
    for (uint32_t i = 0; i < steps; i++) {
        good = good && (step[i] == 1 || step[i] == VTAC_MXNET_NONE);
    }
    if (!good) {
        vtac_make_fail(&x->net.maker, VTA_UNSUPPORTED, "begin and end of other axes, or steps other than 1");
        return;
    }
    for (uint32_t a = 0; a < count; a++) {
        y = cut_axis(x, y, a, begin[a], end[a]);
    }
    vtac_mxnet_give(x, y);
}

/* Rows and columns: as many as the second input has, or as h_w says; from an offset on, or from the middle.
 */
void vtac_mxnet_make_crop(vtac_mxnet *x, const char *how)
{
    const vtac_type type = vtac_mxnet_type(x, 0);
    int64_t size[2];
    int64_t offset[2];
    vtac_id y = x->in[0];
    (void)how;
    vtac_mxnet_exactly(x, "h_w", 0, size, 2);
    vtac_mxnet_exactly(x, "offset", 0, offset, 2);
    if (type.rank != 4 || (x->in_count > 1 && vtac_mxnet_type(x, 1).rank != 4)) {
        vtac_make_fail(&x->net.maker, VTA_INVALID, "an input of %u axes", type.rank);
        return;
    }
    for (uint32_t a = 0; a < 2; a++) {
        const int64_t wanted = x->in_count > 1 ? vtac_mxnet_type(x, 1).dim[a + 2] : size[a];
        const int64_t begin =
            vtac_mxnet_flag(x, "center_crop", false) ? (type.dim[a + 2] - wanted) / 2 : offset[a];
        if (begin < 0 || begin + wanted > type.dim[a + 2]) {
            vtac_make_fail(&x->net.maker, VTA_INVALID, "%lld from %lld of %lld", (long long)wanted,
                           (long long)begin, (long long)type.dim[a + 2]);
            return;
        }
        y = cut_axis(x, y, a + 2, begin, begin + wanted);
    }
    vtac_mxnet_give(x, y);
}

void vtac_mxnet_make_pad(vtac_mxnet *x, const char *how)
{
    vtac_import_builder *m = &x->net.maker;
    const char *mode = vtac_mxnet_text(x, "mode");
    const uint32_t rank = vtac_mxnet_type(x, 0).rank;
    int64_t width[2 * VTAC_MAX_RANK];
    int64_t pads[2 * VTAC_MAX_RANK];
    (void)how;
    mode = mode == NULL ? "constant" : mode;
    if (vtac_mxnet_ints(x, "pad_width", width, 2 * VTAC_MAX_RANK) != 2 * rank ||
        (strcmp(mode, "constant") != 0 && strcmp(mode, "edge") != 0 && strcmp(mode, "reflect") != 0)) {
        vtac_make_fail(m, VTA_INVALID, "mode %.20s, or pads for other axes than %u", mode, rank);
        return;
    }
    for (uint32_t a = 0; a < rank; a++) {
        pads[a] = width[2 * a];
        pads[a + rank] = width[2 * a + 1];
    }
    const vtac_attr attr = vtac_attr_of_string("mode", mode);
    const vtac_id value = vtac_make_number(m, VTAC_F32, vtac_mxnet_real(x, "constant_value", 0.0));
    const vtac_id in[] = {x->in[0], vtac_make_ints(m, pads, 2 * rank), value};
    vtac_mxnet_give(x, vtac_make(m, VTAC_OP_PAD, in, mode[0] == 'c' ? 3 : 2, &attr, 1));
}

void vtac_mxnet_make_tile(vtac_mxnet *x, const char *how)
{
    vtac_import_builder *m = &x->net.maker;
    int64_t reps[VTAC_MAX_RANK];
    const uint32_t rank = vtac_mxnet_type(x, 0).rank;
    (void)how;
    if (vtac_mxnet_ints(x, "reps", reps, VTAC_MAX_RANK) != rank) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "numbers for other axes than the %u of the input", rank);
        return;
    }
    vtac_mxnet_give(x, vtac_make2(m, VTAC_OP_TILE, x->in[0], vtac_make_ints(m, reps, rank)));
}

/* Bilinear: a transposed convolution with the weights of the second input. */
void vtac_mxnet_make_up_sampling(vtac_mxnet *x, const char *how)
{
    vtac_import_builder *m = &x->net.maker;
    const char *type = vtac_mxnet_text(x, "sample_type");
    const int64_t scale = vtac_mxnet_int(x, "scale", 1, 1, 256);
    const vtac_type t = vtac_mxnet_type(x, 0);
    const bool nearest = type != NULL && strcmp(type, "nearest") == 0;
    (void)how;
    if (t.rank != 4 || x->in_count != (nearest ? 1 : 2)) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "%u inputs, the first with %u axes", x->in_count, t.rank);
        return;
    }
    if (nearest) {
        vtac_mxnet_give(
            x, vtac_make_resized(m, x->in[0], scale * t.dim[2], scale * t.dim[3], "nearest", "asymmetric"));
        return;
    }
    const int64_t steps[] = {scale, scale};
    const int64_t pad = scale / 2; /* ceil((scale - 1) / 2) */
    const int64_t pads[] = {pad, pad, pad, pad};
    const vtac_attr attrs[] = {vtac_attr_of_ints("strides", steps, 2), vtac_attr_of_ints("pads", pads, 4),
                               vtac_attr_of_int("group", t.dim[1])};
    vtac_mxnet_give(x, vtac_make(m, VTAC_OP_CONV_TRANSPOSE, x->in, 2, attrs, 3));
}
