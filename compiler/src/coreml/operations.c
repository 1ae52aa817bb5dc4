/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations of CoreML's programs.
 */
#include <math.h>
#include <string.h>

#include "program.h"

enum { MAX_GROUPS = 1 << 24 };

static vtac_id x_of(vtac_coreml *c)
{
    return vtac_coreml_argument(c, "x", true);
}

static vtac_type type_of(const vtac_coreml *c, vtac_id id)
{
    return vtac_made_type(&c->net.maker, id);
}

static bool flag(vtac_coreml *c, const char *name, bool otherwise)
{
    return vtac_coreml_int(c, name, otherwise, 0, 1) != 0;
}

static uint32_t axis_argument(vtac_coreml *c, vtac_id x, int64_t otherwise)
{
    return vtac_axis_of(&c->net.maker, x, vtac_coreml_int(c, "axis", otherwise, -8, 8));
}

/* ---- compressed constants */

/* (data - zero) * scale, both one number or one for each element of an axis. */
void vtac_coreml_do_affine(vtac_coreml *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_id data = vtac_coreml_argument(c, "quantized_data", true);
    const vtac_tensor *q = vtac_made_constant(m, data);
    const vtac_tensor *zero = vtac_coreml_known(c, "zero_point");
    const vtac_tensor *scale = vtac_coreml_known(c, "scale");
    const uint32_t axis = axis_argument(c, data, 0);
    (void)how;
    if (q == NULL || zero == NULL || scale == NULL || m->status != VTA_OK) {
        vtac_make_fail(m, VTA_INVALID, "no constants for the numbers, their zero and their scale");
        return;
    }
    const vtac_type type = {.dtype = VTAC_F32, .rank = q->type.rank};
    vtac_type to = type;
    memcpy(to.dim, q->type.dim, sizeof to.dim);
    const int64_t count = vtac_type_elements(&to);
    int64_t inner = 1;
    for (uint32_t a = axis + 1; a < to.rank; a++) {
        inner *= to.dim[a];
    }
    const int64_t scales = vtac_type_elements(&scale->type);
    const int64_t zeros = vtac_type_elements(&zero->type);
    if ((scales != 1 && scales != to.dim[axis]) || (zeros != 1 && zeros != to.dim[axis])) {
        vtac_make_fail(m, VTA_INVALID, "%lld scales and %lld zeros along axis %u", (long long)scales,
                       (long long)zeros, axis);
        return;
    }
    float *room = vtac_make_room(m, count, sizeof *room);
    for (int64_t i = 0; room != NULL && i < count; i++) {
        const int64_t at = i / inner % to.dim[axis];
        room[i] = (float)((vtac_tensor_float(q, i) - vtac_tensor_float(zero, zeros > 1 ? at : 0)) *
                          vtac_tensor_float(scale, scales > 1 ? at : 0));
    }
    vtac_layered_set_constant(&c->net, c->outputs[0], room == NULL ? 0 : vtac_make_borrowed(m, &to, room));
}

/* The type that the argument "shape" gives; elements below 0: a failure. */
static vtac_type dense_type(vtac_coreml *c)
{
    vtac_type type = {.dtype = VTAC_F32};
    type.rank = vtac_coreml_ints(c, "shape", type.dim, VTAC_MAX_RANK);
    if (vtac_type_elements(&type) < 0) {
        vtac_make_fail(&c->net.maker, VTA_INVALID, "its shape is too large");
    }
    return type;
}

/* Bit i of packed bits, the lowest first. */
static uint32_t packed_bit(const uint8_t *bytes, int64_t i)
{
    return ((unsigned)bytes[i / 8] >> (i % 8)) & 1U;
}

/* Indices of as few bits as the table has room for, packed. */
void vtac_coreml_do_lut(vtac_coreml *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_tensor *table = vtac_coreml_known(c, "lut");
    const vtac_tensor *indices = vtac_coreml_known(c, "indices");
    const vtac_type type = dense_type(c);
    (void)how;
    if (table == NULL || indices == NULL || m->status != VTA_OK) {
        vtac_make_fail(m, VTA_INVALID, "no constants for the table and its indices");
        return;
    }
    const int64_t count = vtac_type_elements(&type);
    const int64_t size = vtac_type_elements(&table->type);
    uint32_t bits = 0;
    while (bits < 8 && (INT64_C(1) << bits) < size) {
        bits++;
    }
    if (size != INT64_C(1) << bits || indices->type.dtype != VTAC_U8 || indices->type.rank != 1 ||
        (int64_t)indices->bytes < (count * bits + 7) / 8) {
        vtac_make_fail(m, VTA_UNSUPPORTED,
                       "a table of %lld numbers, and %zu bytes of indices for %lld elements", (long long)size,
                       indices->bytes, (long long)count);
        return;
    }
    float *room = vtac_make_room(m, count, sizeof *room);
    for (int64_t i = 0; room != NULL && i < count; i++) {
        int64_t at = 0;
        for (uint32_t b = 0; b < bits; b++) {
            at |= (int64_t)packed_bit(indices->data, i * bits + b) << b;
        }
        room[i] = (float)vtac_tensor_float(table, at);
    }
    vtac_layered_set_constant(&c->net, c->outputs[0], room == NULL ? 0 : vtac_make_borrowed(m, &type, room));
}

/* The numbers that are not 0, and a mask of bits. */
void vtac_coreml_do_sparse(vtac_coreml *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_tensor *data = vtac_coreml_known(c, "nonzero_data");
    const vtac_tensor *mask = vtac_coreml_known(c, "mask");
    const vtac_type type = dense_type(c);
    const int64_t count = vtac_type_elements(&type);
    int64_t used = 0;
    (void)how;
    if (data == NULL || mask == NULL || m->status != VTA_OK || mask->type.dtype != VTAC_U8 ||
        (int64_t)mask->bytes < (count + 7) / 8) {
        vtac_make_fail(m, VTA_INVALID, "no constants for the numbers and their mask of %lld bits",
                       (long long)count);
        return;
    }
    float *room = vtac_make_room(m, count, sizeof *room);
    const int64_t stored = vtac_type_elements(&data->type);
    for (int64_t i = 0; room != NULL && i < count; i++) {
        const bool set = packed_bit(mask->data, i) != 0;
        room[i] = set && used < stored ? (float)vtac_tensor_float(data, used) : 0.0F;
        used += set;
    }
    if (used != stored) {
        vtac_make_fail(m, VTA_INVALID, "a mask of %lld numbers, %lld are there", (long long)used,
                       (long long)stored);
        return;
    }
    vtac_layered_set_constant(&c->net, c->outputs[0], room == NULL ? 0 : vtac_make_borrowed(m, &type, room));
}

/* ---- windows */

static void numbers_or(vtac_coreml *c, const char *name, int64_t otherwise, int64_t *out, uint32_t count)
{
    const uint32_t found = vtac_coreml_ints(c, name, out, 2 * VTAC_WINDOW_AXES);
    if (found != 0 && found != count) {
        vtac_make_fail(&c->net.maker, VTA_INVALID, "%s has %u numbers, expected %u", name, found, count);
    }
    for (uint32_t i = 0; i < count && found != count; i++) {
        out[i] = otherwise;
    }
}

/* Strides, dilations and padding; pads stand as begin and end of each axis. */
static vtac_window_rule read_window(vtac_coreml *c, uint32_t axes, vtac_import_window *w)
{
    const char *kind = vtac_coreml_word(c, "pad_type", "valid");
    int64_t pads[2 * VTAC_WINDOW_AXES];
    int64_t steps[2 * VTAC_WINDOW_AXES];
    *w = (vtac_import_window){.axes = axes <= VTAC_WINDOW_AXES ? axes : VTAC_WINDOW_AXES};
    numbers_or(c, "strides", 1, steps, w->axes);
    memcpy(w->stride, steps, sizeof w->stride);
    numbers_or(c, "dilations", 1, steps, w->axes);
    memcpy(w->dilation, steps, sizeof w->dilation);
    numbers_or(c, "pad", 0, pads, 2 * w->axes);
    for (uint32_t a = 0; a < w->axes && strcmp(kind, "custom") == 0; a++) {
        w->pads[a] = pads[2 * a];
        w->pads[a + w->axes] = pads[2 * a + 1];
    }
    if (strcmp(kind, "same") == 0 || strcmp(kind, "same_lower") == 0) {
        return kind[4] == '\0' ? VTAC_WINDOW_SAME_UPPER : VTAC_WINDOW_SAME_LOWER;
    }
    if (strcmp(kind, "custom") != 0 && strcmp(kind, "valid") != 0) {
        vtac_make_fail(&c->net.maker, VTA_INVALID, "pad_type '%.20s'", kind);
    }
    return VTAC_WINDOW_FLOOR;
}

void vtac_coreml_do_conv(vtac_coreml *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_id x = x_of(c);
    const vtac_id weight = vtac_coreml_argument(c, "weight", true);
    const vtac_type type = type_of(c, weight);
    vtac_import_window w;
    (void)how;
    if (m->status != VTA_OK || type.rank < 3 || type.rank > 5) {
        vtac_make_fail(m, VTA_INVALID, "weights of %u axes", type.rank);
        return;
    }
    const vtac_window_rule rule = read_window(c, type.rank - 2, &w);
    memcpy(w.kernel, type.dim + 2, w.axes * sizeof w.kernel[0]);
    if (vtac_lay_window(m, x, rule, &w)) {
        vtac_coreml_set(c, 0,
                        vtac_make_conv(m, x, weight, vtac_coreml_argument(c, "bias", false), &w,
                                       vtac_coreml_int(c, "groups", 1, 1, MAX_GROUPS)));
    }
}

void vtac_coreml_do_conv_transpose(vtac_coreml *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_id x = x_of(c);
    const vtac_id weight = vtac_coreml_argument(c, "weight", true);
    const uint32_t rank = type_of(c, weight).rank;
    vtac_import_window w;
    (void)how;
    if (m->status != VTA_OK || rank < 3 || rank > 5 || read_window(c, rank - 2, &w) != VTAC_WINDOW_FLOOR ||
        vtac_coreml_argument(c, "output_shape", false) != 0) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "weights of %u axes, padding 'same', or a shape of the output",
                       rank);
        return;
    }
    const vtac_attr attrs[] = {vtac_attr_of_ints("strides", w.stride, w.axes),
                               vtac_attr_of_ints("dilations", w.dilation, w.axes),
                               vtac_attr_of_ints("pads", w.pads, 2 * (size_t)w.axes),
                               vtac_attr_of_int("group", vtac_coreml_int(c, "groups", 1, 1, MAX_GROUPS))};
    const vtac_id in[] = {x, weight, vtac_coreml_argument(c, "bias", false)};
    vtac_coreml_set(c, 0, vtac_make(m, VTAC_OP_CONV_TRANSPOSE, in, 3, attrs, 4));
}

void vtac_coreml_do_pool(vtac_coreml *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_id x = x_of(c);
    const uint32_t rank = type_of(c, x).rank;
    int64_t kernel[2 * VTAC_WINDOW_AXES];
    vtac_import_window w;
    if (m->status != VTA_OK || rank < 3 || rank > 5) {
        vtac_make_fail(m, VTA_INVALID, "an input of %u axes", rank);
        return;
    }
    vtac_window_rule rule = read_window(c, rank - 2, &w);
    numbers_or(c, "kernel_sizes", 0, kernel, w.axes);
    memcpy(w.kernel, kernel, w.axes * sizeof w.kernel[0]);
    rule = flag(c, "ceil_mode", false) && rule == VTAC_WINDOW_FLOOR ? VTAC_WINDOW_CEIL : rule;
    if (vtac_lay_window(m, x, rule, &w)) {
        const bool count = !flag(c, "exclude_padding_from_average", false);
        vtac_coreml_set(c, 0, vtac_make_pool(m, vtac_op_find("", how), x, &w, count));
    }
}

void vtac_coreml_do_linear(vtac_coreml *c, const char *how)
{
    const vtac_id x = x_of(c);
    const uint32_t rank = type_of(c, x).rank;
    (void)how;
    if (rank < 1) {
        vtac_make_fail(&c->net.maker, VTA_INVALID, "an input of %u axes", rank);
        return;
    }
    vtac_coreml_set(c, 0,
                    vtac_make_dense(&c->net.maker, x, rank - 1, vtac_coreml_argument(c, "weight", true),
                                    false, vtac_coreml_argument(c, "bias", false)));
}

void vtac_coreml_do_matmul(vtac_coreml *c, const char *how)
{
    static const char *const names[][2] = {{"x", "transpose_x"}, {"y", "transpose_y"}};
    vtac_import_builder *m = &c->net.maker;
    vtac_id in[2];
    (void)how;
    for (uint32_t i = 0; i < 2; i++) {
        in[i] = vtac_coreml_argument(c, names[i][0], true);
        const uint32_t rank = type_of(c, in[i]).rank;
        if (!flag(c, names[i][1], false)) {
            continue;
        }
        if (rank < 2) {
            vtac_make_fail(m, VTA_INVALID, "an operand of %u axes to be transposed", rank);
            return;
        }
        in[i] = vtac_make_turned(m, in[i]);
    }
    vtac_coreml_set(c, 0, vtac_make2(m, VTAC_OP_MATMUL, in[0], in[1]));
}

/* ---- normalization */

/* A row that the file may leave out: as many of a number as `count`. */
static vtac_id row_or(vtac_coreml *c, const char *name, float number, int64_t count)
{
    const vtac_id given = vtac_coreml_argument(c, name, false);
    float *room = given != 0 ? NULL : vtac_make_room(&c->net.maker, count, sizeof *room);
    for (int64_t i = 0; room != NULL && i < count; i++) {
        room[i] = number;
    }
    return room == NULL ? given : vtac_make_borrowed(&c->net.maker, &(vtac_type){VTAC_F32, 1, {count}}, room);
}

void vtac_coreml_do_batch_norm(vtac_coreml *c, const char *how)
{
    const vtac_id x = x_of(c);
    const int64_t channels = type_of(c, x).rank > 1 ? type_of(c, x).dim[1] : 1;
    const vtac_id rows[] = {row_or(c, "gamma", 1.0F, channels), row_or(c, "beta", 0.0F, channels),
                            vtac_coreml_argument(c, "mean", true), vtac_coreml_argument(c, "variance", true)};
    (void)how;
    vtac_coreml_set(c, 0, vtac_make_batch_norm(&c->net.maker, x, rows, vtac_coreml_real(c, "epsilon", 1e-5)));
}

void vtac_coreml_do_instance_norm(vtac_coreml *c, const char *how)
{
    const vtac_id x = x_of(c);
    const int64_t channels = type_of(c, x).rank > 1 ? type_of(c, x).dim[1] : 1;
    const vtac_attr attr = vtac_attr_of_float("epsilon", vtac_coreml_real(c, "epsilon", 1e-5));
    const vtac_id in[] = {x, row_or(c, "gamma", 1.0F, channels), row_or(c, "beta", 0.0F, channels)};
    (void)how;
    vtac_coreml_set(c, 0, vtac_make(&c->net.maker, VTAC_OP_INSTANCE_NORMALIZATION, in, 3, &attr, 1));
}

/* Normalization over the last axes. */
void vtac_coreml_do_layer_norm(vtac_coreml *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_id x = x_of(c);
    const vtac_type type = type_of(c, x);
    int64_t axes[VTAC_MAX_RANK];
    const uint32_t count = vtac_coreml_ints(c, "axes", axes, VTAC_MAX_RANK);
    const uint32_t first = count > 0 && count <= type.rank ? type.rank - count : 0;
    vtac_type own = {.dtype = VTAC_F32, .rank = type.rank - first};
    (void)how;
    for (uint32_t i = 0; i < count && m->status == VTA_OK; i++) {
        if (vtac_axis_of(m, x, axes[i]) != first + i) {
            vtac_make_fail(m, VTA_UNSUPPORTED, "axes other than the last ones, in their order");
        }
    }
    memcpy(own.dim, type.dim + first, (type.rank - first) * sizeof own.dim[0]);
    const int64_t elements = vtac_type_elements(&own);
    const vtac_attr attrs[] = {vtac_attr_of_float("epsilon", vtac_coreml_real(c, "epsilon", 1e-5)),
                               vtac_attr_of_int("axis", first)};
    vtac_id in[] = {x, row_or(c, "gamma", 1.0F, elements), row_or(c, "beta", 0.0F, elements)};
    for (uint32_t i = 1; i < 3 && m->status == VTA_OK; i++) {
        in[i] = vtac_make_reshape(m, in[i], own.dim, own.rank);
    }
    vtac_coreml_set(c, 0, vtac_make(m, VTAC_OP_LAYER_NORMALIZATION, in, 3, attrs, 2));
}

/* ---- element by element */

void vtac_coreml_do_unary(vtac_coreml *c, const char *how)
{
    vtac_coreml_set(c, 0, vtac_make1(&c->net.maker, vtac_op_find("", how), x_of(c)));
}

/* Logarithm, inverse and inverse root of x + epsilon. */
void vtac_coreml_do_shifted(vtac_coreml *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const double otherwise = how[0] == 'L' ? 1e-45 : how[0] == 'S' ? 1e-12 : 1e-4;
    vtac_id y = vtac_make_linear(m, x_of(c), 1.0, vtac_coreml_real(c, "epsilon", otherwise));
    y = how[0] == '\0' ? y : vtac_make1(m, vtac_op_find("", how), y);
    vtac_coreml_set(c, 0, how[0] == 'L' ? y : vtac_make1(m, VTAC_OP_RECIPROCAL, y));
}

void vtac_coreml_do_square(vtac_coreml *c, const char *how)
{
    const vtac_id x = x_of(c);
    (void)how;
    vtac_coreml_set(c, 0, vtac_make2(&c->net.maker, VTAC_OP_MUL, x, x));
}

void vtac_coreml_do_relu6(vtac_coreml *c, const char *how)
{
    (void)how;
    vtac_coreml_set(c, 0, vtac_make_clip(&c->net.maker, x_of(c), 0.0, 6.0));
}

void vtac_coreml_do_silu(vtac_coreml *c, const char *how)
{
    const vtac_id x = x_of(c);
    (void)how;
    vtac_coreml_set(c, 0,
                    vtac_make2(&c->net.maker, VTAC_OP_MUL, x, vtac_make1(&c->net.maker, VTAC_OP_SIGMOID, x)));
}

void vtac_coreml_do_gelu(vtac_coreml *c, const char *how)
{
    const char *mode = vtac_coreml_word(c, "mode", "EXACT");
    const bool exact = strcmp(mode, "EXACT") == 0;
    const vtac_attr attr = vtac_attr_of_string("approximate", exact ? "none" : "tanh");
    const vtac_id x = x_of(c);
    (void)how;
    if (!exact && strcmp(mode, "TANH_APPROXIMATION") != 0) {
        vtac_make_fail(&c->net.maker, VTA_UNSUPPORTED, "mode %.40s", mode);
        return;
    }
    vtac_coreml_set(c, 0, vtac_make(&c->net.maker, VTAC_OP_GELU, &x, 1, &attr, 1));
}

void vtac_coreml_do_alpha(vtac_coreml *c, const char *how)
{
    const vtac_attr attr =
        vtac_attr_of_float("alpha", vtac_coreml_real(c, "alpha", how[0] == 'E' ? 1.0 : 0.01));
    const vtac_id x = x_of(c);
    vtac_coreml_set(c, 0, vtac_make(&c->net.maker, vtac_op_find("", how), &x, 1, &attr, 1));
}

void vtac_coreml_do_prelu(vtac_coreml *c, const char *how)
{
    (void)how;
    vtac_coreml_set(c, 0, vtac_make_prelu(&c->net.maker, x_of(c), vtac_coreml_argument(c, "alpha", true)));
}

void vtac_coreml_do_clip(vtac_coreml *c, const char *how)
{
    (void)how;
    vtac_coreml_set(c, 0,
                    vtac_make_clip(&c->net.maker, x_of(c), vtac_coreml_real(c, "alpha", -HUGE_VAL),
                                   vtac_coreml_real(c, "beta", HUGE_VAL)));
}

void vtac_coreml_do_sigmoid_hard(vtac_coreml *c, const char *how)
{
    const vtac_attr attrs[] = {vtac_attr_of_float("alpha", vtac_coreml_real(c, "alpha", 0.2)),
                               vtac_attr_of_float("beta", vtac_coreml_real(c, "beta", 0.5))};
    const vtac_id x = x_of(c);
    (void)how;
    vtac_coreml_set(c, 0, vtac_make(&c->net.maker, VTAC_OP_HARD_SIGMOID, &x, 1, attrs, 2));
}

void vtac_coreml_do_linear_activation(vtac_coreml *c, const char *how)
{
    (void)how;
    vtac_coreml_set(c, 0,
                    vtac_make_linear(&c->net.maker, x_of(c), vtac_coreml_real(c, "alpha", 1.0),
                                     vtac_coreml_real(c, "beta", 0.0)));
}

void vtac_coreml_do_softmax(vtac_coreml *c, const char *how)
{
    const vtac_id x = x_of(c);
    (void)how;
    vtac_coreml_set(c, 0, vtac_make_softmax(&c->net.maker, x, axis_argument(c, x, -1)));
}

void vtac_coreml_do_binary(vtac_coreml *c, const char *how)
{
    const vtac_id x = x_of(c);
    const vtac_id y = vtac_coreml_argument(c, "y", true);
    vtac_coreml_set(c, 0, vtac_make2(&c->net.maker, vtac_op_find("", how), x, y));
}

void vtac_coreml_do_reduce(vtac_coreml *c, const char *how)
{
    const vtac_id x = x_of(c);
    const uint32_t rank = type_of(c, x).rank;
    int64_t axes[VTAC_MAX_RANK];
    uint32_t count = vtac_coreml_ints(c, "axes", axes, VTAC_MAX_RANK);
    for (uint32_t a = 0; count == 0 && a < rank; a++) {
        axes[a] = a;
    }
    count = count == 0 ? rank : count;
    vtac_coreml_set(
        c, 0,
        vtac_make_reduce(&c->net.maker, vtac_op_find("", how), x, axes, count, flag(c, "keep_dims", false)));
}

/* ---- shapes */

void vtac_coreml_do_identity(vtac_coreml *c, const char *how)
{
    vtac_coreml_set(c, 0, vtac_coreml_argument(c, how, true));
}

/* Halves are floats here. */
void vtac_coreml_do_cast(vtac_coreml *c, const char *how)
{
    static const struct {
        const char *name;
        vtac_dtype dtype;
    } types[] = {{"fp16", VTAC_F32}, {"fp32", VTAC_F32}, {"int32", VTAC_I32}, {"bool", VTAC_BOOL},
                 {"int8", VTAC_I8},  {"uint8", VTAC_U8}, {"int16", VTAC_I16}, {"uint16", VTAC_U16}};
    const char *to = vtac_coreml_word(c, "dtype", "");
    (void)how;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, to) == 0) {
            vtac_coreml_set(c, 0, vtac_make_cast(&c->net.maker, x_of(c), types[i].dtype));
            return;
        }
    }
    vtac_make_fail(&c->net.maker, VTA_UNSUPPORTED, "to the type '%.20s'", to);
}

void vtac_coreml_do_concat(vtac_coreml *c, const char *how)
{
    vtac_id parts[COREML_MAX_ENDS];
    const uint32_t count = vtac_coreml_arguments(c, "values", parts, COREML_MAX_ENDS);
    (void)how;
    if (count == 0 || flag(c, "interleave", false)) {
        vtac_make_fail(&c->net.maker, VTA_UNSUPPORTED, "no values, or interleaved ones");
        return;
    }
    vtac_coreml_set(c, 0, vtac_make_concat(&c->net.maker, parts, count, axis_argument(c, parts[0], 0)));
}

void vtac_coreml_do_stack(vtac_coreml *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    vtac_id parts[COREML_MAX_ENDS];
    const uint32_t count = vtac_coreml_arguments(c, "values", parts, COREML_MAX_ENDS);
    const int64_t rank = count > 0 ? type_of(c, parts[0]).rank : 0;
    int64_t axis = vtac_coreml_int(c, "axis", 0, -rank - 1, rank);
    (void)how;
    axis = axis < 0 ? axis + rank + 1 : axis;
    const vtac_id place = vtac_make_ints(m, &axis, 1);
    for (uint32_t i = 0; i < count; i++) {
        parts[i] = vtac_make2(m, VTAC_OP_UNSQUEEZE, parts[i], place);
    }
    vtac_coreml_set(c, 0, count == 0 ? 0 : vtac_make_concat(m, parts, count, axis));
}

void vtac_coreml_do_split(vtac_coreml *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_id x = x_of(c);
    const uint32_t axis = axis_argument(c, x, 0);
    const int64_t size = type_of(c, x).rank > axis ? type_of(c, x).dim[axis] : 0;
    int64_t sizes[COREML_MAX_ENDS];
    const uint32_t given = vtac_coreml_ints(c, "split_sizes", sizes, COREML_MAX_ENDS);
    int64_t begin = 0;
    (void)how;
    for (uint32_t i = 0; i < c->out_count && m->status == VTA_OK; i++) {
        const int64_t each = given == c->out_count ? sizes[i] : size / c->out_count;
        if (each < 1 || each > size - begin || (given != 0 && given != c->out_count) ||
            (given == 0 && size % c->out_count != 0)) {
            vtac_make_fail(m, VTA_INVALID, "%u parts of %lld elements", c->out_count, (long long)size);
            return;
        }
        vtac_coreml_set(c, i, vtac_make_slice(m, x, axis, begin, begin + each));
        begin += each;
    }
}

void vtac_coreml_do_reshape(vtac_coreml *c, const char *how)
{
    int64_t dims[VTAC_MAX_RANK];
    const vtac_id x = x_of(c);
    const uint32_t count = vtac_coreml_ints(c, "shape", dims, VTAC_MAX_RANK);
    const vtac_id in[] = {x, vtac_make_ints(&c->net.maker, dims, count)};
    (void)how;
    vtac_coreml_set(c, 0, vtac_make(&c->net.maker, VTAC_OP_RESHAPE, in, 2, NULL, 0));
}

void vtac_coreml_do_transpose(vtac_coreml *c, const char *how)
{
    int64_t order[VTAC_MAX_RANK];
    const vtac_id x = x_of(c);
    const uint32_t count = vtac_coreml_ints(c, "perm", order, VTAC_MAX_RANK);
    (void)how;
    for (uint32_t i = 0; i < count; i++) {
        order[i] = vtac_axis_of(&c->net.maker, x, order[i]);
    }
    vtac_coreml_set(c, 0, vtac_make_transpose(&c->net.maker, x, order, count));
}

void vtac_coreml_do_axes(vtac_coreml *c, const char *how)
{
    int64_t axes[VTAC_MAX_RANK];
    const vtac_id x = x_of(c);
    const uint32_t count = vtac_coreml_ints(c, "axes", axes, VTAC_MAX_RANK);
    const vtac_id in[] = {x, count == 0 ? 0 : vtac_make_ints(&c->net.maker, axes, count)};
    vtac_coreml_set(c, 0, vtac_make(&c->net.maker, vtac_op_find("", how), in, 2, NULL, 0));
}

/* An axis with a mask takes all from its beginning, to its end, or one element and goes. */
void vtac_coreml_do_slice(vtac_coreml *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_id x = x_of(c);
    const vtac_type type = type_of(c, x);
    int64_t begin[VTAC_MAX_RANK];
    int64_t end[VTAC_MAX_RANK];
    int64_t step[VTAC_MAX_RANK];
    int64_t open_begin[VTAC_MAX_RANK];
    int64_t open_end[VTAC_MAX_RANK];
    int64_t gone[VTAC_MAX_RANK];
    int64_t axes[VTAC_MAX_RANK];
    int64_t dims[VTAC_MAX_RANK];
    uint32_t left = 0;
    (void)how;
    const uint32_t count = vtac_coreml_ints(c, "begin", begin, VTAC_MAX_RANK);
    const uint32_t ends = vtac_coreml_ints(c, "end", end, VTAC_MAX_RANK);
    const uint32_t steps = vtac_coreml_ints(c, "stride", step, VTAC_MAX_RANK);
    const uint32_t masks[] = {vtac_coreml_ints(c, "begin_mask", open_begin, VTAC_MAX_RANK),
                              vtac_coreml_ints(c, "end_mask", open_end, VTAC_MAX_RANK),
                              vtac_coreml_ints(c, "squeeze_mask", gone, VTAC_MAX_RANK)};
    if (m->status != VTA_OK || count != type.rank || ends != count) {
        vtac_make_fail(m, VTA_INVALID, "%u begins and %u ends for %u axes", count, ends, type.rank);
        return;
    }
    for (uint32_t a = 0; a < count; a++) {
        step[a] = steps == count ? step[a] : 1;
        const bool squeezed = masks[2] == count && gone[a] != 0;
        const bool down = step[a] < 0;
        begin[a] = masks[0] == count && open_begin[a] != 0 && !squeezed ? (down ? INT32_MAX : 0) : begin[a];
        end[a] = masks[1] == count && open_end[a] != 0 ? (down ? INT32_MIN : INT32_MAX) : end[a];
        end[a] = squeezed ? (begin[a] == -1 ? INT32_MAX : begin[a] + 1) : end[a];
        axes[a] = a;
    }
    const vtac_id in[] = {x, vtac_make_ints(m, begin, count), vtac_make_ints(m, end, count),
                          vtac_make_ints(m, axes, count), vtac_make_ints(m, step, count)};
    const vtac_id y = vtac_make(m, VTAC_OP_SLICE, in, 5, NULL, 0);
    const vtac_type made = type_of(c, y);
    for (uint32_t a = 0; a < count; a++) {
        if (masks[2] != count || gone[a] == 0) {
            dims[left++] = made.dim[a];
        }
    }
    vtac_coreml_set(c, 0, y == 0 ? 0 : vtac_make_reshape(m, y, dims, left));
}

/* Begin and end of the last axes. */
void vtac_coreml_do_pad(vtac_coreml *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_id x = x_of(c);
    const uint32_t rank = type_of(c, x).rank;
    const char *mode = vtac_coreml_word(c, "mode", "constant");
    int64_t given[2 * VTAC_MAX_RANK];
    int64_t pads[2 * VTAC_MAX_RANK] = {0};
    const uint32_t count = vtac_coreml_ints(c, "pad", given, 2 * VTAC_MAX_RANK);
    (void)how;
    if (count % 2 != 0 || count / 2 > rank ||
        (strcmp(mode, "constant") != 0 && strcmp(mode, "reflect") != 0 && strcmp(mode, "replicate") != 0)) {
        vtac_make_fail(m, VTA_INVALID, "mode %.20s, or %u pads for %u axes", mode, count, rank);
        return;
    }
    for (uint32_t i = 0; i < count / 2; i++) {
        pads[rank - count / 2 + i] = given[2 * i];
        pads[2 * rank - count / 2 + i] = given[2 * i + 1];
    }
    const vtac_attr attr = vtac_attr_of_string("mode", strcmp(mode, "replicate") == 0 ? "edge" : mode);
    const vtac_id in[] = {x, vtac_make_ints(m, pads, 2 * rank),
                          vtac_make_number(m, VTAC_F32, vtac_coreml_real(c, "constant_val", 0.0))};
    vtac_coreml_set(c, 0, vtac_make(m, VTAC_OP_PAD, in, mode[0] == 'c' ? 3 : 2, &attr, 1));
}

void vtac_coreml_do_tile(vtac_coreml *c, const char *how)
{
    int64_t reps[VTAC_MAX_RANK];
    const vtac_id x = x_of(c);
    const uint32_t count = vtac_coreml_ints(c, "reps", reps, VTAC_MAX_RANK);
    (void)how;
    vtac_coreml_set(c, 0,
                    vtac_make2(&c->net.maker, VTAC_OP_TILE, x, vtac_make_ints(&c->net.maker, reps, count)));
}

void vtac_coreml_do_gather(vtac_coreml *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_id x = x_of(c);
    const vtac_attr attr = vtac_attr_of_int("axis", axis_argument(c, x, 0));
    const vtac_id in[] = {x, vtac_make_cast(m, vtac_coreml_argument(c, "indices", true), VTAC_I64)};
    (void)how;
    vtac_coreml_set(c, 0, vtac_make(m, VTAC_OP_GATHER, in, 2, &attr, 1));
}

void vtac_coreml_do_upsample(vtac_coreml *c, const char *how)
{
    static const char *const names[] = {"scale_factor_height", "scale_factor_width"};
    const vtac_id x = x_of(c);
    const vtac_type type = type_of(c, x);
    const bool bilinear = how[0] == 'l';
    int64_t size[2];
    for (uint32_t a = 0; a < 2; a++) {
        const double wanted = (double)type.dim[a + 2] * vtac_coreml_real(c, names[a], 1.0);
        size[a] = type.rank == 4 && wanted >= 1.0 && wanted <= VTAC_WINDOW_MAX ? (int64_t)wanted : 0;
        if ((double)size[a] != wanted) {
            vtac_make_fail(&c->net.maker, VTA_UNSUPPORTED,
                           "a factor that gives %g elements of an input of %u axes", wanted, type.rank);
            return;
        }
    }
    const char *places = !bilinear                        ? "asymmetric"
                         : flag(c, "align_corners", true) ? "align_corners"
                                                          : "half_pixel";
    vtac_coreml_set(c, 0, vtac_make_resized(&c->net.maker, x, size[0], size[1], how, places));
}

void vtac_coreml_do_resize(vtac_coreml *c, const char *how)
{
    static const char *const modes[][2] = {{"DEFAULT", "asymmetric"},
                                           {"STRICT_ALIGN_CORNERS", "align_corners"},
                                           {"ALIGN_CORNERS", "align_corners"},
                                           {"UNALIGN_CORNERS", "half_pixel"}};
    const char *mode = vtac_coreml_word(c, "sampling_mode", "DEFAULT");
    const vtac_id x = x_of(c);
    (void)how;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(modes[i][0], mode) == 0) {
            vtac_coreml_set(c, 0,
                            vtac_make_resized(&c->net.maker, x,
                                              vtac_coreml_int(c, "target_size_height", 1, 1, COREML_MAX_SIDE),
                                              vtac_coreml_int(c, "target_size_width", 1, 1, COREML_MAX_SIDE),
                                              "linear", modes[i][1]));
            return;
        }
    }
    vtac_make_fail(&c->net.maker, VTA_UNSUPPORTED, "sampling_mode %.40s", mode);
}
