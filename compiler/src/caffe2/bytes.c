/* SPDX-License-Identifier: Apache-2.0
 *
 * Caffe2's operators on unsigned bytes with a scale and a zero point; their channels are the last axis.
 */
#include <math.h>
#include <string.h>

#include "caffe2.h"

void vtac_caffe2_set_scale(vtac_caffe2 *c, vtac_id id, double scale, int64_t zero)
{
    if (id == 0) {
        return;
    }
    if (c->scale_count == c->scale_room) {
        const uint32_t room = c->scale_room == 0 ? 64 : 2 * c->scale_room;
        vtac_caffe2_scale *all = vtac_make_room(&c->net.maker, room, sizeof *all);
        if (all == NULL) {
            return;
        }
        for (uint32_t i = 0; c->scales != NULL && i < c->scale_count; i++) {
            all[i] = c->scales[i];
        }
        c->scales = all;
        c->scale_room = room;
    }
    c->scales[c->scale_count++] = (vtac_caffe2_scale){id, scale, zero};
}

vtac_caffe2_scale vtac_caffe2_scale_of(vtac_caffe2 *c, vtac_id id)
{
    for (uint32_t i = c->scale_count; i-- > 0;) {
        if (c->scales[i].id == id) {
            return c->scales[i];
        }
    }
    vtac_make_fail(&c->net.maker, VTA_INVALID, "an operand without a scale, where bytes are taken");
    return (vtac_caffe2_scale){0, 1.0, 0};
}

/* The scale that the operator gives its result; false after a failure. */
static bool own_scale(vtac_caffe2 *c, vtac_caffe2_scale *s)
{
    s->scale = vtac_caffe2_real(c, "Y_scale", 0.0);
    s->zero = vtac_caffe2_int(c, "Y_zero_point", 0, 0, 255);
    if (!(s->scale > 0.0) || isinf(s->scale)) {
        vtac_make_fail(&c->net.maker, VTA_INVALID, "Y_scale is %g", s->scale);
    }
    return c->net.maker.status == VTA_OK;
}

static vtac_id scale_value(vtac_caffe2 *c, const vtac_caffe2_scale *s)
{
    return vtac_make_number(&c->net.maker, VTAC_F32, s->scale);
}

static vtac_id zero_value(vtac_caffe2 *c, const vtac_caffe2_scale *s)
{
    return vtac_make_number(&c->net.maker, VTAC_U8, (double)s->zero);
}

/* The result of an operator, with its scale; "relu": nothing below zero. */
static void give_bytes(vtac_caffe2 *c, vtac_id y, const vtac_caffe2_scale *s, const char *how)
{
    y = how[0] == '\0' || s->zero == 0 ? y : vtac_make_clip(&c->net.maker, y, (double)s->zero, 255.0);
    vtac_caffe2_set_scale(c, y, s->scale, s->zero);
    vtac_caffe2_set(c, 0, y);
}

/* ---- constants */

void vtac_caffe2_make_given_bytes(vtac_caffe2 *c, const char *how)
{
    enum { TEXT = 4 };
    vtac_import_builder *m = &c->net.maker;
    vtac_type type = {.dtype = VTAC_U8};
    vtac_caffe2_scale s;
    vtac_wire argument;
    vtac_wire bytes = {NULL, NULL};
    (void)how;
    type.rank = vtac_caffe2_ints(c, "shape", type.dim, VTAC_MAX_RANK);
    const int64_t count = vtac_type_elements(&type);
    if (!vtac_caffe2_find(c, "values", &argument) || !vtac_wire_message(argument, TEXT, &bytes) ||
        bytes.end - bytes.at != count) {
        vtac_make_fail(m, VTA_INVALID, "%lld values for a shape of %lld", (long long)(bytes.end - bytes.at),
                       (long long)count);
        return;
    }
    if (own_scale(c, &s)) {
        const vtac_id id = vtac_make_constant(m, &type, bytes.at);
        vtac_caffe2_set_scale(c, id, s.scale, s.zero);
        vtac_layered_set_constant(&c->net, c->outputs[0], id);
    }
}

/* Sums of products: what biases are. */
void vtac_caffe2_make_given_sums(vtac_caffe2 *c, const char *how)
{
    (void)how;
    vtac_caffe2_make_given(c, "i32");
}

/* ---- operators */

void vtac_caffe2_make_quantize(vtac_caffe2 *c, const char *how)
{
    vtac_caffe2_scale s;
    if (own_scale(c, &s)) {
        const vtac_id in[] = {c->in[0], scale_value(c, &s), zero_value(c, &s)};
        give_bytes(c, vtac_make(&c->net.maker, VTAC_OP_QUANTIZE_LINEAR, in, 3, NULL, 0), &s, how);
    }
}

void vtac_caffe2_make_dequantize(vtac_caffe2 *c, const char *how)
{
    const vtac_caffe2_scale s = vtac_caffe2_scale_of(c, c->in[0]);
    const vtac_id in[] = {c->in[0], scale_value(c, &s), zero_value(c, &s)};
    (void)how;
    vtac_caffe2_set(c, 0, vtac_make(&c->net.maker, VTAC_OP_DEQUANTIZE_LINEAR, in, 3, NULL, 0));
}

void vtac_caffe2_make_conv_bytes(vtac_caffe2 *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_caffe2_scale sx = vtac_caffe2_scale_of(c, c->in[0]);
    const vtac_caffe2_scale sw = vtac_caffe2_scale_of(c, c->in[1]);
    const vtac_id x = vtac_caffe2_planes(c, c->in[0]);
    vtac_caffe2_scale s;
    vtac_import_window w;
    if (m->status != VTA_OK || vtac_caffe2_type(c, 1).rank != 4 || !vtac_caffe2_last(c)) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "weights of %u axes, or an order other than NHWC",
                       vtac_caffe2_type(c, 1).rank);
        return;
    }
    const vtac_id weight = vtac_make_transpose(m, c->in[1], (int64_t[]){0, 3, 1, 2}, 4);
    if (!own_scale(c, &s) || !vtac_caffe2_window(c, x, vtac_made_type(m, weight).dim + 2, false, &w)) {
        return;
    }
    const vtac_attr attrs[] = {vtac_attr_of_ints("strides", w.stride, 2),
                               vtac_attr_of_ints("dilations", w.dilation, 2),
                               vtac_attr_of_ints("pads", w.pads, 4),
                               vtac_attr_of_int("group", vtac_caffe2_int(c, "group", 1, 1, VTAC_WINDOW_MAX))};
    const vtac_id in[] = {x,
                          scale_value(c, &sx),
                          zero_value(c, &sx),
                          weight,
                          scale_value(c, &sw),
                          zero_value(c, &sw),
                          scale_value(c, &s),
                          zero_value(c, &s),
                          c->in_count > 2 ? c->in[2] : 0};
    const vtac_id y = vtac_make(m, VTAC_OP_QLINEAR_CONV, in, 9, attrs, 4);
    const vtac_id high = how[0] == '\0' || s.zero == 0 ? y : vtac_make_clip(m, y, (double)s.zero, 255.0);
    give_bytes(c, vtac_caffe2_plain(c, high), &s, "");
}

void vtac_caffe2_make_dense_bytes(vtac_caffe2 *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_caffe2_scale sx = vtac_caffe2_scale_of(c, c->in[0]);
    const vtac_caffe2_scale sw = vtac_caffe2_scale_of(c, c->in[1]);
    const vtac_attr flip = vtac_attr_of_int("transB", 1);
    vtac_caffe2_scale s;
    if (!own_scale(c, &s)) {
        return;
    }
    const vtac_id in[] = {vtac_make_rows(m, c->in[0], 1),
                          scale_value(c, &sx),
                          zero_value(c, &sx),
                          vtac_make_rows(m, c->in[1], 1),
                          scale_value(c, &sw),
                          zero_value(c, &sw),
                          c->in[2],
                          scale_value(c, &s),
                          zero_value(c, &s)};
    give_bytes(c, vtac_make(m, VTAC_OP_QGEMM, in, 9, &flip, 1), &s, how);
}

void vtac_caffe2_make_pool_bytes(vtac_caffe2 *c, const char *how)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_caffe2_scale sx = vtac_caffe2_scale_of(c, c->in[0]);
    const vtac_id x = vtac_caffe2_planes(c, c->in[0]);
    const bool global = vtac_caffe2_int(c, "global_pooling", 0, 0, 1) != 0;
    vtac_caffe2_scale s = sx;
    vtac_import_window w;
    vtac_id y = 0;
    if (how[0] == 'A' && !own_scale(c, &s)) {
        return;
    }
    const vtac_id in[] = {x, scale_value(c, &sx), zero_value(c, &sx), scale_value(c, &s), zero_value(c, &s)};
    if (global) {
        y = how[0] == 'A' ? vtac_make(m, VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL, in, 5, NULL, 0)
                          : vtac_make_reduce(m, VTAC_OP_REDUCE_MAX, x, (int64_t[]){2, 3}, 2, true);
    } else if (vtac_caffe2_window(c, x, NULL, true, &w)) {
        const vtac_attr attrs[] = {
            vtac_attr_of_ints("strides", w.stride, 2), vtac_attr_of_ints("pads", w.pads, 4),
            vtac_attr_of_ints("kernel_shape", w.kernel, 2), vtac_attr_of_int("ceil_mode", w.ceil)};
        y = how[0] == 'A' ? vtac_make(m, VTAC_OP_QLINEAR_AVERAGE_POOL, in, 5, attrs, 4)
                          : vtac_make_pool(m, VTAC_OP_MAX_POOL, x, &w, false);
    }
    give_bytes(c, vtac_caffe2_plain(c, y), &s, "");
}

void vtac_caffe2_make_relu_bytes(vtac_caffe2 *c, const char *how)
{
    const vtac_caffe2_scale s = vtac_caffe2_scale_of(c, c->in[0]);
    (void)how;
    give_bytes(c, c->in[0], &s, "relu");
}

void vtac_caffe2_make_add_bytes(vtac_caffe2 *c, const char *how)
{
    const vtac_caffe2_scale a = vtac_caffe2_scale_of(c, c->in[0]);
    const vtac_caffe2_scale b = vtac_caffe2_scale_of(c, c->in[1]);
    vtac_caffe2_scale s;
    if (own_scale(c, &s)) {
        const vtac_id in[] = {c->in[0],           scale_value(c, &a), zero_value(c, &a),  c->in[1],
                              scale_value(c, &b), zero_value(c, &b),  scale_value(c, &s), zero_value(c, &s)};
        give_bytes(c, vtac_make(&c->net.maker, VTAC_OP_QLINEAR_ADD, in, 8, NULL, 0), &s, how);
    }
}

void vtac_caffe2_make_softmax_bytes(vtac_caffe2 *c, const char *how)
{
    const vtac_caffe2_scale a = vtac_caffe2_scale_of(c, c->in[0]);
    const vtac_attr attrs[] = {vtac_attr_of_int("axis", vtac_caffe2_axis(c, "axis", 1)),
                               vtac_attr_of_int("opset", 13)};
    vtac_caffe2_scale s;
    if (own_scale(c, &s) && vtac_caffe2_type(c, 0).rank == 2) {
        const vtac_id in[] = {c->in[0], scale_value(c, &a), zero_value(c, &a), scale_value(c, &s),
                              zero_value(c, &s)};
        give_bytes(c, vtac_make(&c->net.maker, VTAC_OP_QLINEAR_SOFTMAX, in, 5, attrs, 2), &s, how);
        return;
    }
    vtac_make_fail(&c->net.maker, VTA_UNSUPPORTED, "an input of %u axes, 2 are taken",
                   vtac_caffe2_type(c, 0).rank);
}
