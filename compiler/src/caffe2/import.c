/* SPDX-License-Identifier: Apache-2.0
 *
 * Caffe2: two nets, lists of operators that name their inputs and outputs. The first, init_net, fills the
 * weights, the second, predict_net, is the network. Both are walked by the same table.
 */
#include <string.h>

#include "../import/pair.h"
#include "caffe2.h"
#include "vta/fail.h"

enum { NET_OP = 2, NET_INPUT = 7, NET_OUTPUT = 8, OP_INPUT = 1, OP_OUTPUT = 2, OP_TYPE = 4, OP_ARG = 5 };
enum { ARG_NAME = 1, ARG_FLOAT = 2, ARG_INT = 3, ARG_TEXT = 4, ARG_INTS = 6 };

typedef struct caffe2_kind {
    const char *name, *how;
    uint32_t min, max;
    vtac_caffe2_make_fn *make;
} caffe2_kind;

static const caffe2_kind kinds[] = {
#define VTAC_CAFFE2_OP(group, name, min, max, fn, how) {name, how, min, max, vtac_caffe2_make_##fn},
#include "operators.def"
};

static const caffe2_kind *kind_of(vtac_wire op)
{
    vtac_wire type;
    (void)vtac_wire_message(op, OP_TYPE, &type);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (vtac_wire_is(type, kinds[i].name)) {
            return &kinds[i];
        }
    }
    return NULL;
}

/* ---- arguments */

bool vtac_caffe2_find(const vtac_caffe2 *c, const char *name, vtac_wire *out)
{
    vtac_wire message = c->op;
    vtac_wire own;
    while (vtac_wire_each(&message, OP_ARG, out)) {
        if (vtac_wire_message(*out, ARG_NAME, &own) && vtac_wire_is(own, name)) {
            return true;
        }
    }
    *out = (vtac_wire){NULL, NULL};
    return false;
}

int64_t vtac_caffe2_int(vtac_caffe2 *c, const char *name, int64_t otherwise, int64_t min, int64_t max)
{
    vtac_wire argument;
    const int64_t value =
        vtac_caffe2_find(c, name, &argument) ? vtac_wire_int(argument, ARG_INT, otherwise) : otherwise;
    if (value < min || value > max) {
        vtac_make_fail(&c->net.maker, VTA_RANGE, "%s is %lld, expected %lld to %lld", name, (long long)value,
                       (long long)min, (long long)max);
        return min;
    }
    return value;
}

double vtac_caffe2_real(const vtac_caffe2 *c, const char *name, double otherwise)
{
    vtac_wire argument;
    return vtac_caffe2_find(c, name, &argument) ? vtac_wire_float(argument, ARG_FLOAT, otherwise) : otherwise;
}

bool vtac_caffe2_is(const vtac_caffe2 *c, const char *name, const char *word)
{
    vtac_wire argument;
    vtac_wire text;
    return vtac_caffe2_find(c, name, &argument) && vtac_wire_message(argument, ARG_TEXT, &text) &&
           vtac_wire_is(text, word);
}

uint32_t vtac_caffe2_ints(vtac_caffe2 *c, const char *name, int64_t *out, uint32_t room)
{
    vtac_wire argument;
    const size_t count =
        vtac_caffe2_find(c, name, &argument) ? vtac_wire_ints(argument, ARG_INTS, out, room) : 0;
    if (count > room) {
        vtac_make_fail(&c->net.maker, VTA_RANGE, "%s has %zu numbers, up to %u are taken", name, count, room);
        return 0;
    }
    return (uint32_t)count;
}

/* ---- values */

vtac_type vtac_caffe2_type(const vtac_caffe2 *c, uint32_t i)
{
    return vtac_made_type(&c->net.maker, i < c->in_count ? c->in[i] : 0);
}

void vtac_caffe2_set(vtac_caffe2 *c, uint32_t i, vtac_id id)
{
    if (i < c->out_count) {
        vtac_layered_set(&c->net, c->outputs[i], id);
    }
}

uint32_t vtac_caffe2_axis(vtac_caffe2 *c, const char *name, int64_t otherwise)
{
    return vtac_axis_of(&c->net.maker, c->in[0], vtac_caffe2_int(c, name, otherwise, -8, 8));
}

bool vtac_caffe2_last(const vtac_caffe2 *c)
{
    return vtac_caffe2_is(c, "order", "NHWC");
}

/* The value from which x was made by moving the channels to the end; 0: it was not. */
static vtac_id moved_from(const vtac_import_builder *m, vtac_id x)
{
    static const int64_t to_end[] = {0, 2, 3, 1};
    const vtac_node *node = x == 0 ? NULL : &m->graph->nodes[m->graph->values[x].node];
    const vtac_attr *order = node != NULL && node->op == VTAC_OP_TRANSPOSE && m->graph->values[x].node != 0
                                 ? vtac_find_attr(node, "perm")
                                 : NULL;
    return order != NULL && order->count == 4 && memcmp(order->ints, to_end, sizeof to_end) == 0
               ? node->inputs[0]
               : 0;
}

vtac_id vtac_caffe2_planes(vtac_caffe2 *c, vtac_id x)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_id from = moved_from(m, x);
    if (!vtac_caffe2_last(c) || vtac_made_type(m, x).rank != 4) {
        return x;
    }
    return from != 0 ? from : vtac_make_transpose(m, x, (int64_t[]){0, 3, 1, 2}, 4);
}

vtac_id vtac_caffe2_plain(vtac_caffe2 *c, vtac_id x)
{
    vtac_import_builder *m = &c->net.maker;
    return vtac_caffe2_last(c) && vtac_made_type(m, x).rank == 4
               ? vtac_make_transpose(m, x, (int64_t[]){0, 2, 3, 1}, 4)
               : x;
}

/* ---- windows */

/* Numbers for each axis: a list, or one for all, or one for rows and one for columns. */
typedef struct axis_names {
    const char *list, *one, *rows, *columns;
    int64_t otherwise;
} axis_names;

static void axis_numbers(vtac_caffe2 *c, const axis_names *n, uint32_t axes, int64_t *out)
{
    int64_t list[VTAC_WINDOW_AXES];
    const uint32_t count = vtac_caffe2_ints(c, n->list, list, VTAC_WINDOW_AXES);
    const char *names[] = {n->rows, n->columns, n->one};
    const int64_t all = vtac_caffe2_int(c, n->one, n->otherwise, 1, VTAC_WINDOW_MAX);
    for (uint32_t a = 0; a < axes; a++) {
        out[a] = count == axes ? list[a]
                               : vtac_caffe2_int(c, axes == 2 ? names[a] : names[2], all, 1, VTAC_WINDOW_MAX);
    }
    if (count != 0 && count != axes) {
        vtac_make_fail(&c->net.maker, VTA_INVALID, "%s has %u numbers for %u axes", n->list, count, axes);
    }
}

static void axis_pads(vtac_caffe2 *c, vtac_import_window *w)
{
    static const char *const sides[] = {"pad_t", "pad_l", "pad_b", "pad_r"};
    const uint32_t count = vtac_caffe2_ints(c, "pads", w->pads, 2 * VTAC_WINDOW_AXES);
    const int64_t all = vtac_caffe2_int(c, "pad", 0, 0, VTAC_WINDOW_MAX);
    for (uint32_t i = 0; i < 2 * w->axes && count != 2 * w->axes; i++) {
        w->pads[i] = w->axes == 2 ? vtac_caffe2_int(c, sides[i], all, 0, VTAC_WINDOW_MAX) : all;
    }
    if (count != 0 && count != 2 * w->axes) {
        vtac_make_fail(&c->net.maker, VTA_INVALID, "pads has %u numbers for %u axes", count, w->axes);
    }
}

/* legacy_pad: 1 no padding, 2 as much as TensorFlow's SAME has, 3 Caffe's pools, whose pads are those at the
 * beginning. */
static vtac_window_rule rule_of(vtac_caffe2 *c, bool pool, vtac_import_window *w)
{
    enum { NOTSET, VALID, SAME, CAFFE };
    const int64_t legacy = vtac_caffe2_int(c, "legacy_pad", NOTSET, NOTSET, pool ? CAFFE : SAME);
    bool padded = false;
    for (uint32_t i = 0; i < 2 * w->axes; i++) {
        w->pads[i] = legacy == VALID ? 0 : legacy == CAFFE ? w->pads[i % w->axes] : w->pads[i];
        padded = padded || w->pads[i] > 0;
    }
    if (legacy == CAFFE) {
        return padded ? VTAC_WINDOW_CEIL : VTAC_WINDOW_CEIL_ALL;
    }
    return legacy == SAME ? VTAC_WINDOW_SAME_UPPER : VTAC_WINDOW_FLOOR;
}

vtac_window_rule vtac_caffe2_read_window(vtac_caffe2 *c, vtac_id x, const int64_t *kernel, bool pool,
                                         vtac_import_window *w)
{
    static const axis_names kernels = {"kernels", "kernel", "kernel_h", "kernel_w", 1};
    static const axis_names strides = {"strides", "stride", "stride_h", "stride_w", 1};
    static const axis_names dilations = {"dilations", "dilation", "dilation_h", "dilation_w", 1};
    const uint32_t rank = vtac_made_type(&c->net.maker, x).rank;
    *w = (vtac_import_window){.axes = rank > 2 && rank - 2 <= VTAC_WINDOW_AXES ? rank - 2 : 1};
    axis_numbers(c, &kernels, w->axes, w->kernel);
    axis_numbers(c, &strides, w->axes, w->stride);
    axis_numbers(c, &dilations, w->axes, w->dilation);
    axis_pads(c, w);
    for (uint32_t a = 0; kernel != NULL && a < w->axes; a++) {
        w->kernel[a] = kernel[a];
    }
    return rule_of(c, pool, w);
}

bool vtac_caffe2_window(vtac_caffe2 *c, vtac_id x, const int64_t *kernel, bool pool, vtac_import_window *w)
{
    const vtac_window_rule rule = vtac_caffe2_read_window(c, x, kernel, pool, w);
    return vtac_lay_window(&c->net.maker, x, rule, w);
}

/* ---- the nets */

static const char *text_of(vtac_caffe2 *c, vtac_wire bytes)
{
    return vtac_layered_text(&c->net, bytes.at, (size_t)(bytes.end - bytes.at));
}

static vta_status read_ends(vtac_caffe2 *c, const caffe2_kind *kind)
{
    vtac_wire message = c->op;
    vtac_wire_field f;
    c->in_count = c->out_count = 0;
    while (vtac_wire_next(&message, &f)) {
        if (f.type != VTAC_WIRE_BYTES || f.number > OP_OUTPUT) {
            continue;
        }
        if (c->in_count == CAFFE2_MAX_ENDS || c->out_count == CAFFE2_MAX_ENDS) {
            return vta_fail(c->net.maker.diag, VTA_RANGE, "more than %d inputs or outputs", CAFFE2_MAX_ENDS);
        }
        if (f.number == OP_INPUT) {
            c->in[c->in_count++] = vtac_layered_get(&c->net, text_of(c, f.bytes));
        } else {
            c->outputs[c->out_count++] = text_of(c, f.bytes);
        }
    }
    VTA_TRY(c->net.maker.status);
    return c->in_count >= kind->min && c->in_count <= kind->max && c->out_count > 0
               ? VTA_OK
               : vta_fail(c->net.maker.diag, VTA_INVALID,
                          "%u inputs and %u outputs, expected %u to %u inputs", c->in_count, c->out_count,
                          kind->min, kind->max);
}

static vta_status import_op(vtac_caffe2 *c, vtac_wire op, uint32_t number)
{
    const caffe2_kind *kind = kind_of(op);
    vtac_wire output;
    c->op = op;
    (void)vtac_wire_message(op, OP_OUTPUT, &output);
    const char *name = text_of(c, output);
    vtac_layered_at(&c->net, name, number);
    vta_status status = read_ends(c, kind);
    if (status == VTA_OK) {
        kind->make(c, kind->how);
        status = c->net.maker.status;
    }
    return status == VTA_OK
               ? VTA_OK
               : vta_context(c->net.maker.diag, "operator %u '%.80s' (%s)", number, name, kind->name);
}

/* The operators of a net that the table has not. */
static vta_status check_ops(vtac_caffe2 *c, vtac_wire net, const char *what)
{
    vtac_wire message = net;
    vtac_wire op;
    uint32_t count = 0;
    while (vtac_wire_each(&message, NET_OP, &op)) {
        vtac_wire type;
        if (++count <= CAFFE2_MAX_OPS && kind_of(op) == NULL) {
            (void)vtac_wire_message(op, OP_TYPE, &type);
            vtac_layered_miss(&c->net, text_of(c, type));
        }
    }
    if (message.at != message.end || count > CAFFE2_MAX_OPS) {
        return vta_fail(c->net.maker.diag, VTA_INVALID,
                        "%s is cut off or damaged %lld bytes before its end, or has "
                        "more than %d operators",
                        what, (long long)(message.end - message.at), CAFFE2_MAX_OPS);
    }
    return VTA_OK;
}

static vta_status import_ops(vtac_caffe2 *c, vtac_wire net)
{
    vtac_wire op;
    uint32_t number = 0;
    while (vtac_wire_each(&net, NET_OP, &op)) {
        VTA_TRY(import_op(c, op, number++));
    }
    return VTA_OK;
}

/* External inputs that no operator filled are inputs of the network. */
static vta_status add_inputs(vtac_caffe2 *c, vtac_wire net)
{
    const vtac_type open = {.dtype = VTAC_F32};
    vtac_wire input;
    while (vtac_wire_each(&net, NET_INPUT, &input)) {
        const char *name = text_of(c, input);
        if (vtac_layered_look(&c->net, name) == 0) {
            (void)vtac_layered_input(&c->net, name, &open);
        }
        VTA_TRY(c->net.maker.status);
    }
    return VTA_OK;
}

static vta_status import_nets(vtac_caffe2 *c, vtac_wire init, vtac_wire predict)
{
    vtac_wire first;
    vtac_wire output;
    VTA_TRY(check_ops(c, init, "its init_net"));
    VTA_TRY(check_ops(c, predict, "its predict_net"));
    VTA_TRY(vtac_layered_missing(&c->net, "operators"));
    c->first_input = vtac_wire_message(predict, NET_INPUT, &first) ? text_of(c, first) : NULL;
    VTA_TRY(import_ops(c, init));
    c->first_input = NULL;
    VTA_TRY(add_inputs(c, predict));
    VTA_TRY(import_ops(c, predict));
    while (vtac_wire_each(&predict, NET_OUTPUT, &output)) {
        vtac_layered_output(&c->net, text_of(c, output));
    }
    return vtac_layered_outputs(&c->net, "a net without an external output");
}

vta_status vtac_caffe2_parse(const vtac_model_file *file, const uint8_t *init, size_t size,
                             const vtac_import_options *options, vtac_graph **out, vta_diag *diag)
{
    vtac_caffe2 c = {.scale_count = 0};
    VTA_TRY(vtac_layered_begin(&c.net, "caffe2", options, diag));
    const vta_status status =
        import_nets(&c, (vtac_wire){init, init + size}, (vtac_wire){file->bytes, file->bytes + file->size});
    return vtac_layered_end(&c.net, status, file->path, out);
}

/* True where all operators fill values: it is an init_net. */
static bool only_fills(const vtac_model_file *file)
{
    vtac_wire net = {file->bytes, file->bytes + file->size};
    vtac_wire op;
    while (vtac_wire_each(&net, NET_OP, &op)) {
        vtac_wire type;
        if (vtac_wire_message(op, OP_TYPE, &type) &&
            (type.end - type.at < 4 || memcmp(type.end - 4, "Fill", 4) != 0)) {
            return false;
        }
    }
    return true;
}

vta_status vtac_load_caffe2(const vtac_model_file *file, const vtac_import_options *options, vtac_graph **out,
                            vta_diag *diag)
{
    static const vtac_file_pair init_of = {false,         "its init_net", "predict_net.pb",
                                           "init_net.pb", NULL,           true};
    static const vtac_file_pair net_of = {true, "its predict_net", "init_net.pb", "predict_net.pb", NULL,
                                          true};
    return vtac_load_pair(file, only_fills(file) ? &net_of : &init_of, vtac_caffe2_parse, options, out, diag);
}
