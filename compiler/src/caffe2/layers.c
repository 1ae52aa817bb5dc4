/* SPDX-License-Identifier: Apache-2.0
 *
 * Caffe2's operators on floats that compute.
 */
#include <string.h>

#include "caffe2.h"

enum { MAX_GROUPS = 1 << 24 };

/* ---- constants */

static bool is_filler(const vtac_caffe2 *c, const char *name, const vtac_type *type)
{
    return c->first_input != NULL && strcmp(name, c->first_input) == 0 && vtac_type_elements(type) <= 1;
}

/* The shape of what is filled. */
static vtac_type filled_type(vtac_caffe2 *c, vtac_dtype dtype)
{
    vtac_type type = {.dtype = dtype};
    type.rank = vtac_caffe2_ints(c, "shape", type.dim, VTAC_MAX_RANK);
    if (c->in_count > 0 || vtac_type_elements(&type) < 0) {
        vtac_make_fail(&c->net.maker, VTA_UNSUPPORTED,
                       "a shape that is an input, or too large; a list is taken");
    }
    return type;
}

static void give_filled(vtac_caffe2 *c, const vtac_type *type, const void *room)
{
    const vtac_id id = room == NULL ? 0 : vtac_make_borrowed(&c->net.maker, type, room);
    if (!is_filler(c, c->outputs[0], type)) { /* else its place is the user's */
        vtac_layered_set_constant(&c->net, c->outputs[0], id);
    }
}

/* Numbers of a list, each with a tag of its own or packed; returns how many there are. */
static int64_t read_floats(vtac_wire argument, float *out, int64_t room)
{
    enum { FLOATS = 5 };
    int64_t count = 0;
    vtac_wire_field f;
    while (vtac_wire_next(&argument, &f)) {
        if (f.number != FLOATS || (f.type != VTAC_WIRE_FOUR && f.type != VTAC_WIRE_BYTES)) {
            continue;
        }
        const int64_t here = (f.bytes.end - f.bytes.at) / 4;
        if (count + here <= room) {
            memcpy(out + count, f.bytes.at, (size_t)here * 4);
        }
        count += here;
    }
    return count;
}

void vtac_caffe2_make_given(vtac_caffe2 *c, const char *how)
{
    enum { INTS = 6 };
    vtac_import_builder *m = &c->net.maker;
    const vtac_type type = filled_type(c, vtac_dtype_parse(how));
    const int64_t count = vtac_type_elements(&type);
    vtac_wire argument;
    const bool has = vtac_caffe2_find(c, "values", &argument);
    void *room = vtac_make_room(m, count, vtac_dtype_bytes(type.dtype));
    int64_t *wide = type.dtype == VTAC_F32 ? NULL : vtac_make_room(m, count, sizeof *wide);
    if (room == NULL || !has || (type.dtype != VTAC_F32 && wide == NULL)) {
        vtac_make_fail(m, VTA_INVALID, "it has no values");
        return;
    }
    const int64_t found = type.dtype == VTAC_F32
                              ? read_floats(argument, room, count)
                              : (int64_t)vtac_wire_ints(argument, INTS, wide, (size_t)count);
    if (found != count) {
        vtac_make_fail(m, VTA_INVALID, "%lld values for a shape of %lld", (long long)found, (long long)count);
        return;
    }
    for (int64_t i = 0; wide != NULL && i < count; i++) {
        const int32_t narrow = (int32_t)wide[i];
        memcpy((uint8_t *)room + (size_t)i * vtac_dtype_bytes(type.dtype),
               type.dtype == VTAC_I32 ? (const void *)&narrow : &wide[i], vtac_dtype_bytes(type.dtype));
    }
    give_filled(c, &type, room);
}

void vtac_caffe2_make_constant(vtac_caffe2 *c, const char *how)
{
    enum { FLOAT = 1, INT32 = 2, INT64 = 10 };
    vtac_import_builder *m = &c->net.maker;
    const int64_t dtype = vtac_caffe2_int(c, "dtype", FLOAT, 0, 64);
    const vtac_type type = filled_type(c, dtype == INT32 ? VTAC_I32 : dtype == INT64 ? VTAC_I64 : VTAC_F32);
    const int64_t count = vtac_type_elements(&type);
    const size_t size = vtac_dtype_bytes(type.dtype);
    (void)how;
    if (dtype != FLOAT && dtype != INT32 && dtype != INT64) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "elements of type %lld; float, int32 and int64 are taken",
                       (long long)dtype);
    }
    const float real = (float)vtac_caffe2_real(c, "value", 0.0);
    const int64_t whole = vtac_caffe2_int(c, "value", 0, INT64_MIN, INT64_MAX);
    uint8_t *room = vtac_make_room(m, count, size);
    for (int64_t i = 0; room != NULL && i < count; i++) { /* the lowest bytes of a number come first */
        memcpy(room + (size_t)i * size, type.dtype == VTAC_F32 ? (const void *)&real : &whole, size);
    }
    give_filled(c, &type, room);
}

/* ---- windows and dense layers */

/* Weights [outputs][inputs][kernel...]; with the channels last in the file, they are last there, too. */
static vtac_id kernel_of(vtac_caffe2 *c, int64_t *dims)
{
    vtac_import_builder *m = &c->net.maker;
    vtac_id weight = c->in[1];
    vtac_type type = vtac_made_type(m, weight);
    if (m->status == VTA_OK && (type.rank < 3 || type.rank > 5 || (vtac_caffe2_last(c) && type.rank != 4))) {
        vtac_make_fail(m, VTA_INVALID, "weights of %u axes", type.rank);
        return 0;
    }
    weight = vtac_caffe2_last(c) ? vtac_make_transpose(m, weight, (int64_t[]){0, 3, 1, 2}, 4) : weight;
    type = vtac_made_type(m, weight);
    memcpy(dims, type.dim, sizeof type.dim);
    return weight;
}

void vtac_caffe2_make_conv(vtac_caffe2 *c, const char *how)
{
    vtac_import_window w;
    int64_t dims[VTAC_MAX_RANK] = {0};
    const vtac_id x = vtac_caffe2_planes(c, c->in[0]);
    const vtac_id weight = kernel_of(c, dims);
    const int64_t groups = vtac_caffe2_int(c, "group", 1, 1, MAX_GROUPS);
    (void)how;
    if (weight != 0 && vtac_caffe2_window(c, x, dims + 2, false, &w)) {
        const vtac_id bias = c->in_count > 2 ? c->in[2] : 0;
        vtac_caffe2_set(c, 0,
                        vtac_caffe2_plain(c, vtac_make_conv(&c->net.maker, x, weight, bias, &w, groups)));
    }
}

/* Weights [inputs][outputs / groups][kernel...]. */
void vtac_caffe2_make_conv_transpose(vtac_caffe2 *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    vtac_import_window w;
    int64_t dims[VTAC_MAX_RANK] = {0};
    const vtac_id x = vtac_caffe2_planes(c, c->in[0]);
    const vtac_id weight = kernel_of(c, dims);
    const int64_t more[] = {vtac_caffe2_int(c, "adj_h", vtac_caffe2_int(c, "adj", 0, 0, 64), 0, 64),
                            vtac_caffe2_int(c, "adj_w", vtac_caffe2_int(c, "adj", 0, 0, 64), 0, 64)};
    (void)how;
    if (weight == 0 || vtac_made_type(m, x).rank != 4 || vtac_caffe2_int(c, "legacy_pad", 0, 0, 3) != 0) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "an input of %u axes, or a legacy_pad", vtac_made_type(m, x).rank);
        return;
    }
    (void)vtac_caffe2_read_window(c, x, dims + 2, false, &w);
    const vtac_attr attrs[] = {vtac_attr_of_ints("strides", w.stride, 2),
                               vtac_attr_of_ints("pads", w.pads, 4),
                               vtac_attr_of_ints("output_padding", more, 2),
                               vtac_attr_of_int("group", vtac_caffe2_int(c, "group", 1, 1, MAX_GROUPS))};
    const vtac_id in[] = {x, weight, c->in_count > 2 ? c->in[2] : 0};
    vtac_caffe2_set(c, 0, vtac_caffe2_plain(c, vtac_make(m, VTAC_OP_CONV_TRANSPOSE, in, 3, attrs, 4)));
}

void vtac_caffe2_make_pool(vtac_caffe2 *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_id x = vtac_caffe2_planes(c, c->in[0]);
    const bool mean = how[0] == 'A';
    vtac_import_window w;
    vtac_id y;
    if (vtac_caffe2_int(c, "global_pooling", 0, 0, 1) != 0) {
        y = vtac_make1(m, mean ? VTAC_OP_GLOBAL_AVERAGE_POOL : VTAC_OP_GLOBAL_MAX_POOL, x);
    } else if (vtac_caffe2_window(c, x, NULL, true, &w)) {
        y = vtac_make_pool(m, mean ? VTAC_OP_AVERAGE_POOL : VTAC_OP_MAX_POOL, x, &w,
                           vtac_caffe2_int(c, "count_include_pad", 0, 0, 1) != 0);
    } else {
        return;
    }
    vtac_caffe2_set(c, 0, vtac_caffe2_plain(c, y));
}

void vtac_caffe2_make_dense(vtac_caffe2 *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const uint32_t axis = vtac_caffe2_axis(c, "axis", 1);
    const vtac_id weight = vtac_make_rows(m, c->in[1], (uint32_t)vtac_caffe2_int(c, "axis_w", 1, 1, 7));
    vtac_caffe2_set(c, 0, vtac_make_dense(m, c->in[0], axis, weight, how[0] != '\0', c->in[2]));
}

void vtac_caffe2_make_matmul(vtac_caffe2 *c, const char *how)
{
    static const char *const names[] = {"trans_a", "trans_b"};
    vtac_import_builder *m = &c->net.maker;
    vtac_id in[2];
    (void)how;
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t rank = vtac_caffe2_type(c, i).rank;
        if (rank < 2) {
            vtac_make_fail(m, VTA_UNSUPPORTED, "an operand of %u axes", rank);
            return;
        }
        in[i] = vtac_caffe2_int(c, names[i], 0, 0, 1) != 0 ? vtac_make_turned(m, c->in[i]) : c->in[i];
    }
    vtac_caffe2_set(c, 0, vtac_make2(m, VTAC_OP_MATMUL, in[0], in[1]));
}

/* ---- normalization: scale, bias, mean, variance */

void vtac_caffe2_make_batch_norm(vtac_caffe2 *c, const char *how)
{
    (void)how;
    if (c->out_count > 1 && vtac_caffe2_int(c, "is_test", 0, 0, 1) == 0) {
        vtac_make_fail(&c->net.maker, VTA_UNSUPPORTED,
                       "a normalization by the batch's own mean, as in training; "
                       "the stored one (is_test) is taken");
        return;
    }
    const vtac_id x = vtac_caffe2_planes(c, c->in[0]);
    const vtac_id y = vtac_make_batch_norm(&c->net.maker, x, c->in + 1, vtac_caffe2_real(c, "epsilon", 1e-5));
    vtac_caffe2_set(c, 0, vtac_caffe2_plain(c, y));
}

void vtac_caffe2_make_instance_norm(vtac_caffe2 *c, const char *how)
{
    const vtac_attr attr = vtac_attr_of_float("epsilon", vtac_caffe2_real(c, "epsilon", 1e-5));
    const vtac_id in[] = {vtac_caffe2_planes(c, c->in[0]), c->in[1], c->in[2]};
    (void)how;
    const vtac_id y = vtac_make(&c->net.maker, VTAC_OP_INSTANCE_NORMALIZATION, in, 3, &attr, 1);
    vtac_caffe2_set(c, 0, vtac_caffe2_plain(c, y));
}

void vtac_caffe2_make_lrn(vtac_caffe2 *c, const char *how)
{
    const vtac_id x = vtac_caffe2_planes(c, c->in[0]);
    (void)how;
    const vtac_id y = vtac_make_lrn(&c->net.maker, x, vtac_caffe2_int(c, "size", 0, 1, CAFFE2_MAX_SIDE),
                                    vtac_caffe2_real(c, "alpha", 0.0), vtac_caffe2_real(c, "beta", 0.0),
                                    vtac_caffe2_real(c, "bias", 1.0), false);
    vtac_caffe2_set(c, 0, vtac_caffe2_plain(c, y));
}

/* x * scale + bias, by channel */
void vtac_caffe2_make_affine(vtac_caffe2 *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    vtac_id y = vtac_caffe2_planes(c, c->in[0]);
    (void)how;
    y = vtac_make_along(m, VTAC_OP_MUL, y, c->in[1], 1);
    vtac_caffe2_set(c, 0, vtac_caffe2_plain(c, vtac_make_along(m, VTAC_OP_ADD, y, c->in[2], 1)));
}

/* (x - mean) / deviation, by channel */
void vtac_caffe2_make_planar(vtac_caffe2 *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_id y = vtac_make_along(m, VTAC_OP_SUB, c->in[0], c->in[1], 1);
    (void)how;
    vtac_caffe2_set(c, 0, vtac_make_along(m, VTAC_OP_DIV, y, c->in[2], 1));
}

/* ---- element by element */

void vtac_caffe2_make_unary(vtac_caffe2 *c, const char *how)
{
    vtac_caffe2_set(c, 0, vtac_make1(&c->net.maker, vtac_op_find("", how), c->in[0]));
}

void vtac_caffe2_make_square(vtac_caffe2 *c, const char *how)
{
    (void)how;
    vtac_caffe2_set(c, 0, vtac_make2(&c->net.maker, VTAC_OP_MUL, c->in[0], c->in[0]));
}

void vtac_caffe2_make_swish(vtac_caffe2 *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    (void)how;
    vtac_caffe2_set(c, 0, vtac_make2(m, VTAC_OP_MUL, c->in[0], vtac_make1(m, VTAC_OP_SIGMOID, c->in[0])));
}

void vtac_caffe2_make_leaky(vtac_caffe2 *c, const char *how)
{
    (void)how;
    vtac_caffe2_set(c, 0, vtac_make_leaky(&c->net.maker, c->in[0], vtac_caffe2_real(c, "alpha", 0.01)));
}

void vtac_caffe2_make_elu(vtac_caffe2 *c, const char *how)
{
    const vtac_attr attr = vtac_attr_of_float("alpha", vtac_caffe2_real(c, "alpha", 1.0));
    (void)how;
    vtac_caffe2_set(c, 0, vtac_make(&c->net.maker, VTAC_OP_ELU, c->in, 1, &attr, 1));
}

void vtac_caffe2_make_prelu(vtac_caffe2 *c, const char *how)
{
    (void)how;
    const vtac_id y = vtac_make_prelu(&c->net.maker, vtac_caffe2_planes(c, c->in[0]), c->in[1]);
    vtac_caffe2_set(c, 0, vtac_caffe2_plain(c, y));
}

void vtac_caffe2_make_clip(vtac_caffe2 *c, const char *how)
{
    (void)how;
    vtac_caffe2_set(c, 0,
                    vtac_make_clip(&c->net.maker, c->in[0], vtac_caffe2_real(c, "min", -3.4028234e38),
                                   vtac_caffe2_real(c, "max", 3.4028234e38)));
}

void vtac_caffe2_make_scale(vtac_caffe2 *c, const char *how)
{
    (void)how;
    vtac_caffe2_set(c, 0, vtac_make_linear(&c->net.maker, c->in[0], vtac_caffe2_real(c, "scale", 1.0), 0.0));
}

void vtac_caffe2_make_power(vtac_caffe2 *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    (void)how;
    vtac_caffe2_set(c, 0,
                    c->in_count > 1
                        ? vtac_make2(m, VTAC_OP_POW, c->in[0], c->in[1])
                        : vtac_make_with(m, VTAC_OP_POW, c->in[0], vtac_caffe2_real(c, "exponent", 1.0)));
}

/* Two operands; with "broadcast", the axes of the second are those of the first from `axis` on. */
void vtac_caffe2_make_binary(vtac_caffe2 *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_type a = vtac_caffe2_type(c, 0);
    vtac_type b = vtac_caffe2_type(c, 1);
    const int64_t axis = vtac_caffe2_int(c, "axis", -1, -8, 8);
    vtac_id in[] = {c->in[0], c->in[1]};
    if (vtac_caffe2_int(c, "broadcast", 0, 0, 1) != 0 && axis >= 0) {
        if (axis + b.rank > a.rank) {
            vtac_make_fail(m, VTA_INVALID, "%u axes from axis %lld of %u", b.rank, (long long)axis, a.rank);
            return;
        }
        for (uint32_t i = b.rank; i < a.rank - (uint32_t)axis; i++) {
            b.dim[i] = 1;
        }
        in[1] = vtac_make_reshape(m, in[1], b.dim, a.rank - (uint32_t)axis);
    }
    vtac_caffe2_set(c, 0, vtac_make2(m, vtac_op_find("", how), in[0], in[1]));
}

void vtac_caffe2_make_join(vtac_caffe2 *c, const char *how)
{
    vtac_id y = c->in[0];
    for (uint32_t i = 1; i < c->in_count; i++) {
        y = vtac_make2(&c->net.maker, vtac_op_find("", how), y, c->in[i]);
    }
    vtac_caffe2_set(c, 0, y);
}

/* A softmax over all axes from `axis` on. */
void vtac_caffe2_make_softmax(vtac_caffe2 *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_type type = vtac_caffe2_type(c, 0);
    (void)how;
    const vtac_id y = vtac_make_softmax(m, vtac_make_rows(m, c->in[0], vtac_caffe2_axis(c, "axis", 1)), 1);
    vtac_caffe2_set(c, 0, vtac_make_reshape(m, y, type.dim, type.rank));
}

void vtac_caffe2_make_same(vtac_caffe2 *c, const char *how)
{
    (void)how;
    vtac_caffe2_set(c, 0, c->in[0]);
}
