/* SPDX-License-Identifier: Apache-2.0
 *
 * LSTMs. Over floats with weights of floats: one node of ONNX's LSTM; coupled gates (no weights for the
 * input's) are 1 - forget, which is the sigmoid of its negated sum. The others are written out, step by step
 * (op_lstm_steps.c).
 */
#include <stdio.h>
#include <string.h>

#include "recurrent.h"

/* Places of the parts in UNIDIRECTIONAL_SEQUENCE_LSTM and LSTM; */
static const vtac_tflite_lstm_places forward_places = {1, 5, 9, 12, 16, 18, 19, 20};
/* in BIDIRECTIONAL_SEQUENCE_LSTM, the other way, which has its auxiliary inputs behind all. */
static const vtac_tflite_lstm_places two_directions[] = {{1, 5, 9, 12, 16, 35, 36, LSTM_ABSENT},
                                                         {18, 22, 26, 29, 33, 37, 38, LSTM_ABSENT}};
enum { X, FIRST_AUX = 39, LAST_AUX = 47 };

static vtac_id negate_value(vtac_tflite *im, vtac_id x)
{
    return vtac_make1(&im->maker, VTAC_OP_NEG, x);
}

/* Four gates' inputs from `first` on, in ONNX's order: input, output, forget, cell; [1][4·units](…). */
static vtac_id join_gates(const vtac_tflite_lstm *l, uint32_t first)
{
    static const uint32_t order[LSTM_GATES] = {LSTM_IN, LSTM_OUT, LSTM_FORGET, LSTM_CELL};
    vtac_import_builder *m = &l->im->maker;
    vtac_id part[LSTM_GATES];
    for (uint32_t g = 0; g < LSTM_GATES; g++) {
        part[g] = order[g] == LSTM_IN && l->coupled
                      ? negate_value(l->im, vtac_tflite_plain(l->im, first + LSTM_FORGET))
                      : vtac_tflite_plain(l->im, first + order[g]);
    }
    const vtac_id all = vtac_make_concat(m, part, LSTM_GATES, 0);
    const vtac_type type = vtac_made_type(m, all);
    return vtac_make_reshape(m, all, (int64_t[]){1, type.dim[0], type.dim[1]}, type.rank + 1);
}

static vtac_id join_peepholes(const vtac_tflite_lstm *l)
{
    static const uint32_t order[] = {0, 2, 1}; /* input, output, forget */
    vtac_import_builder *m = &l->im->maker;
    vtac_id part[3];
    for (uint32_t g = 0; g < 3; g++) {
        part[g] = order[g] == 0 && l->coupled
                      ? negate_value(l->im, vtac_tflite_plain(l->im, l->at.peepholes + 1))
                      : vtac_tflite_plain(l->im, l->at.peepholes + order[g]);
    }
    const vtac_id all = vtac_make_concat(m, part, 3, 0);
    return vtac_make_reshape(m, all, (int64_t[]){1, vtac_made_type(m, all).dim[0]}, 2);
}

/* ---- what there is */

static bool weights_fit(const vtac_tflite_lstm *l)
{
    vtac_tflite *im = l->im;
    for (uint32_t g = 0; g < LSTM_GATES && im->maker.status == VTA_OK; g++) {
        if (g == LSTM_IN && l->coupled) {
            continue;
        }
        const vtac_type w = vtac_tflite_type(im, l->at.input + g);
        const vtac_type r = vtac_tflite_type(im, l->at.state + g);
        const vtac_type b = vtac_tflite_type(im, l->at.bias + g);
        if (w.rank != 2 || w.dim[0] != l->units || w.dim[1] != l->inputs || r.rank != 2 ||
            r.dim[0] != l->units || r.dim[1] != l->width || b.rank != 1 || b.dim[0] != l->units) {
            vtac_make_fail(&im->maker, VTA_INVALID, "its weights do not fit %lld units of %lld inputs",
                           (long long)l->units, (long long)l->inputs);
        }
    }
    if (l->projected && im->maker.status == VTA_OK) {
        const vtac_type p = vtac_tflite_type(im, l->at.projection);
        if (p.rank != 2 || p.dim[0] != l->width || p.dim[1] != l->units) {
            vtac_make_fail(&im->maker, VTA_INVALID, "its projection does not fit %lld units",
                           (long long)l->units);
        }
    }
    return im->maker.status == VTA_OK;
}

/* Weights are all of floats, or all of bytes with a scale. */
static bool weights_alike(const vtac_tflite_lstm *l)
{
    for (uint32_t i = l->at.input; i < l->at.state + LSTM_GATES; i++) {
        const vtac_tflite_tensor *w = vtac_tflite_has(l->im, i) ? vtac_tflite_in(l->im, i) : NULL;
        const bool good = w == NULL || (l->bytes ? w->type.dtype == VTAC_I8 && w->scale_count == 1
                                                 : vtac_tflite_is_float(w));
        if (!good) {
            vtac_make_refuse(&l->im->maker, "an LSTM of %s with weights of %s (%u scales)",
                             vtac_dtype_name(vtac_tflite_in(l->im, X)->type.dtype),
                             vtac_dtype_name(w->type.dtype), w->scale_count);
            return false;
        }
    }
    return true;
}

static bool find_type(vtac_tflite_lstm *l, const vtac_type *given)
{
    vtac_tflite *im = l->im;
    const vtac_tflite_tensor *x = vtac_tflite_in(im, X);
    if (im->op->input_count <= l->at.first_cell) {
        vtac_make_fail(&im->maker, VTA_INVALID, "it has %u inputs and needs %u or more", im->op->input_count,
                       l->at.first_cell + 1);
        return false;
    }
    const vtac_type w = vtac_tflite_type(im, l->at.input + LSTM_OUT);
    const vtac_type r = vtac_tflite_type(im, l->at.state + LSTM_OUT);
    if (im->maker.status != VTA_OK || given->rank < 2 || given->rank > 3 || w.rank != 2 || r.rank != 2) {
        vtac_make_fail(&im->maker, VTA_INVALID, "its input has rank %u, expected 2 or 3", given->rank);
        return false;
    }
    l->inputs = given->dim[given->rank - 1];
    l->units = w.dim[0];
    l->width = r.dim[1];
    l->coupled = !vtac_tflite_has(im, l->at.input + LSTM_IN);
    l->peepholes = vtac_tflite_has(im, l->at.peepholes + 1);
    l->projected = vtac_tflite_has(im, l->at.projection);
    l->normal = vtac_tflite_has(im, l->at.norms + LSTM_FORGET);
    l->whole = x->type.dtype == VTAC_I8;
    l->bytes = l->whole || !vtac_tflite_is_float(vtac_tflite_in(im, l->at.input + LSTM_OUT));
    if (!l->whole && !vtac_tflite_is_float(x)) {
        vtac_make_refuse(&im->maker, "an LSTM over %s; over f32 and i8", vtac_dtype_name(x->type.dtype));
        return false;
    }
    return weights_fit(l) && weights_alike(l);
}

static const char *activation_of(vtac_tflite *im, int activation)
{
    switch (activation) {
    case TFL_NONE: return "Affine";
    case TFL_RELU: return "Relu";
    case TFL_TANH: return "Tanh";
    default: vtac_make_refuse(&im->maker, "the activation %d of an LSTM", activation); return "Tanh";
    }
}

/* x [steps][batch][inputs] through ONNX's LSTM. */
static vtac_id onnx_lstm(const vtac_tflite_lstm *l, vtac_id x)
{
    vtac_tflite *im = l->im;
    vtac_import_builder *m = &im->maker;
    const char *own = activation_of(im, l->activation);
    const char *names[] = {"Sigmoid", own, own};
    const int64_t state[] = {1, l->batch, l->units};
    const vtac_id none = vtac_make_borrowed(m, &(vtac_type){VTAC_F32, 2, {1, 4 * l->units}},
                                            vtac_make_room(m, 4 * l->units, sizeof(float)));
    const vtac_id bias[] = {join_gates(l, l->at.bias), none};
    const vtac_id in[] = {x,
                          join_gates(l, l->at.input),
                          join_gates(l, l->at.state),
                          vtac_make_concat(m, bias, 2, 1),
                          0,
                          vtac_make_reshape(m, vtac_tflite_plain(im, l->at.first_state), state, 3),
                          vtac_make_reshape(m, vtac_tflite_plain(im, l->at.first_cell), state, 3),
                          l->peepholes ? join_peepholes(l) : 0};
    vtac_attr attrs[4];
    uint32_t count = 0;
    attrs[count++] = vtac_attr_of_int("hidden_size", l->units);
    attrs[count++] =
        (vtac_attr){.name = "activations", .kind = VTAC_ATTR_STRINGS, .count = 3, .strings = names};
    if (l->backwards) {
        attrs[count++] = vtac_attr_of_string("direction", "reverse");
    }
    if (l->cell_clip > 0.0F) {
        attrs[count++] = vtac_attr_of_float("cell_clip", (double)l->cell_clip);
    }
    vtac_id out[3] = {0};
    vtac_make_many(m, VTAC_OP_LSTM, in, in[7] == 0 ? 7 : 8, attrs, count, out, 3);
    vtac_tflite_leave(im, l->at.first_state, out[1]);
    vtac_tflite_leave(im, l->at.first_cell, out[2]);
    return vtac_make_reshape(m, out[0], (int64_t[]){l->steps, l->batch, l->units}, 3);
}

/* Steps and batch of an input of rank 2 or 3, and the input with the steps first. */
static vtac_id steps_first(vtac_tflite_lstm *l, const vtac_type *given, bool time_first)
{
    vtac_import_builder *m = &l->im->maker;
    const int64_t first = given->rank == 2 ? 1 : given->dim[0];
    const int64_t second = given->rank == 2 ? given->dim[0] : given->dim[1];
    l->steps = time_first ? first : second;
    l->batch = time_first ? second : first;
    const vtac_id x =
        vtac_make_reshape(m, vtac_tflite_plain(l->im, X), (int64_t[]){first, second, l->inputs}, 3);
    return time_first ? x : vtac_make_transpose(m, x, (int64_t[]){1, 0, 2}, 3);
}

/* [steps][batch][n] as the input lies. */
static vtac_id as_given(const vtac_tflite_lstm *l, vtac_id y, const vtac_type *given, bool time_first)
{
    vtac_import_builder *m = &l->im->maker;
    const int64_t width = m->status == VTA_OK ? vtac_made_type(m, y).dim[2] : 1;
    y = time_first ? y : vtac_make_transpose(m, y, (int64_t[]){1, 0, 2}, 3);
    return given->rank == 2 ? vtac_make_reshape(m, y, (int64_t[]){l->batch, width}, 2) : y;
}

static vtac_id lstm_of(const vtac_tflite_lstm *l, vtac_id x)
{
    return l->bytes || l->projected || l->normal || l->projection_clip != 0.0F ? vtac_tflite_lstm_steps(l, x)
                                                                               : onnx_lstm(l, x);
}

/* UNIDIRECTIONAL_SEQUENCE_LSTM: [batch][steps][inputs], or steps first; LSTM: one step, [batch][inputs].
 * Options: activation, clips of the cell and of the projection; the first also which axis is first. */
static void one_direction(vtac_tflite *im, bool sequence)
{
    const vtac_type given = vtac_tflite_type(im, X);
    const bool time_first = !sequence || vtac_tflite_option(im, 3, 1, 0) != 0 || given.rank == 2;
    vtac_tflite_lstm l = {.im = im,
                          .at = forward_places,
                          .activation = (int)vtac_tflite_option(im, 0, 1, 0),
                          .cell_clip = vtac_tflite_option_float(im, 1, 0.0F),
                          .projection_clip = vtac_tflite_option_float(im, 2, 0.0F),
                          .asymmetric = vtac_tflite_option(im, 4, 1, 0) != 0};
    if (find_type(&l, &given)) {
        const vtac_id x = steps_first(&l, &given, time_first);
        vtac_tflite_set(im, 0, as_given(&l, lstm_of(&l, x), &given, time_first));
    }
}

void vtac_tflite_import_sequence_lstm(vtac_tflite *im)
{
    one_direction(im, true);
}

void vtac_tflite_import_lstm(vtac_tflite *im)
{
    if (vtac_tflite_option(im, 3, 1, 0) != 0) {
        vtac_tflite_import_lstm_basic(im);
        return;
    }
    one_direction(im, false);
}

/* Both ways' results, in one output or in two. */
static void set_both(vtac_tflite *im, const vtac_id *y, bool merged)
{
    if (merged) {
        vtac_tflite_set(im, 0, vtac_make_concat(&im->maker, y, 2, 2));
        return;
    }
    vtac_tflite_set(im, 0, y[0]);
    vtac_tflite_set(im, 1, y[1]);
}

static bool has_auxiliary(vtac_tflite *im, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i <= last; i++) {
        if (vtac_tflite_has(im, i)) {
            vtac_make_refuse(&im->maker, "an auxiliary input (input %u)", i);
            return true;
        }
    }
    return false;
}

/* Options: activation, clips of the cell and of the projection, both in one output, steps first, asymmetric
 */
void vtac_tflite_import_bidirectional_lstm(vtac_tflite *im)
{
    const vtac_type given = vtac_tflite_type(im, X);
    const bool time_first = vtac_tflite_option(im, 4, 1, 1) != 0 || given.rank == 2;
    vtac_id y[2] = {0};
    for (int direction = 0; direction < 2; direction++) {
        vtac_tflite_lstm l = {.im = im,
                              .at = two_directions[direction],
                              .activation = (int)vtac_tflite_option(im, 0, 1, 0),
                              .cell_clip = vtac_tflite_option_float(im, 1, 0.0F),
                              .projection_clip = vtac_tflite_option_float(im, 2, 0.0F),
                              .asymmetric = vtac_tflite_option(im, 5, 1, 0) != 0,
                              .backwards = direction == 1};
        if (has_auxiliary(im, FIRST_AUX, LAST_AUX) || !find_type(&l, &given)) {
            return;
        }
        const vtac_id x = steps_first(&l, &given, time_first);
        y[direction] = as_given(&l, lstm_of(&l, x), &given, time_first);
    }
    set_both(im, y, vtac_tflite_option(im, 3, 1, 0) != 0);
}

/* ---- cells of one gate: x, weights of x and of the state, bias, state */

typedef struct simple {
    uint32_t first; /* input: weights of x */
    int activation;
    bool asymmetric, backwards;
} simple;

static vtac_id simple_cell(vtac_tflite_lstm *l, vtac_id x, const simple *s)
{
    vtac_tflite *im = l->im;
    vtac_import_builder *m = &im->maker;
    const vtac_type w = vtac_tflite_type(im, s->first);
    const vtac_type r = vtac_tflite_type(im, s->first + 1);
    vtac_id *out = vtac_make_room(m, l->steps, sizeof *out);
    if (out == NULL || w.rank != 2 || r.rank != 2 || w.dim[1] != l->inputs || r.dim[0] != w.dim[0] ||
        r.dim[1] != w.dim[0] || l->steps < 1 || l->steps > 1 << 10) {
        vtac_make_fail(m, VTA_INVALID,
                       "its weights do not fit %lld inputs, or it has %lld steps of 1 to 1024",
                       (long long)l->inputs, (long long)l->steps);
        return 0;
    }
    const int64_t units = w.dim[0];
    const vtac_id rows = vtac_make_reshape(m, x, (int64_t[]){l->steps * l->batch, l->inputs}, 2);
    const vtac_id given = vtac_make2(m, VTAC_OP_ADD, vtac_tflite_plain(im, s->first + 2),
                                     vtac_tflite_rows_by(im, rows, s->first, s->asymmetric));
    vtac_id h = vtac_make_reshape(m, vtac_tflite_plain(im, s->first + 3), (int64_t[]){l->batch, units}, 2);
    for (int64_t t = 0; t < l->steps; t++) {
        const int64_t at = s->backwards ? l->steps - 1 - t : t;
        h = vtac_make2(m, VTAC_OP_ADD, vtac_make_slice(m, given, 0, at * l->batch, (at + 1) * l->batch),
                       vtac_tflite_rows_by(im, h, s->first + 1, s->asymmetric));
        out[at] = h = vtac_tflite_activate(im, h, vtac_tflite_out(im, 0), s->activation);
    }
    vtac_tflite_leave(im, s->first + 3, h);
    return vtac_make_reshape(m, vtac_make_concat(m, out, (uint32_t)l->steps, 0),
                             (int64_t[]){l->steps, l->batch, units}, 3);
}

static vtac_id simple_sequence(vtac_tflite *im, const simple *s, bool time_first)
{
    const vtac_type given = vtac_tflite_type(im, X);
    if (im->maker.status != VTA_OK || given.rank < 2 || given.rank > 3 ||
        !vtac_tflite_is_float(vtac_tflite_in(im, X))) {
        vtac_make_fail(&im->maker, VTA_UNSUPPORTED,
                       "an input of %s and rank %u; f32 and rank 2 or 3 are taken",
                       vtac_dtype_name(given.dtype), given.rank);
        return 0;
    }
    vtac_tflite_lstm l = {.im = im, .inputs = given.dim[given.rank - 1]};
    time_first = time_first || given.rank == 2;
    const vtac_id x = steps_first(&l, &given, time_first);
    return as_given(&l, simple_cell(&l, x, s), &given, time_first);
}

/* options: activation, asymmetric */
void vtac_tflite_import_rnn(vtac_tflite *im)
{
    const simple s = {.first = 1,
                      .activation = (int)vtac_tflite_option(im, 0, 1, 0),
                      .asymmetric = vtac_tflite_option(im, 1, 1, 0) != 0};
    vtac_tflite_set(im, 0, simple_sequence(im, &s, true));
}

/* options: steps first, activation, asymmetric */
void vtac_tflite_import_sequence_rnn(vtac_tflite *im)
{
    const simple s = {.first = 1,
                      .activation = (int)vtac_tflite_option(im, 1, 1, 0),
                      .asymmetric = vtac_tflite_option(im, 2, 1, 0) != 0};
    vtac_tflite_set(im, 0, simple_sequence(im, &s, vtac_tflite_option(im, 0, 1, 0) != 0));
}

/* options: steps first, activation, both in one output, asymmetric */
void vtac_tflite_import_bidirectional_rnn(vtac_tflite *im)
{
    vtac_id y[2] = {0};
    for (uint32_t direction = 0; direction < 2; direction++) {
        const simple s = {.first = 1 + 4 * direction,
                          .activation = (int)vtac_tflite_option(im, 1, 1, 0),
                          .asymmetric = vtac_tflite_option(im, 3, 1, 0) != 0,
                          .backwards = direction == 1};
        if (has_auxiliary(im, 9, 11)) {
            return;
        }
        y[direction] = simple_sequence(im, &s, vtac_tflite_option(im, 0, 1, 0) != 0);
    }
    set_both(im, y, vtac_tflite_option(im, 2, 1, 0) != 0);
}

/* ---- SVDF: x, weights of features and of time, bias, states of `memory` steps */

/* The states [batch][filters][memory], one step further, with new ones at the end. */
static vtac_id push_state(vtac_tflite *im, vtac_id state, vtac_id fresh, int64_t batch, int64_t filters,
                          int64_t memory)
{
    vtac_import_builder *m = &im->maker;
    state = vtac_make_reshape(m, state, (int64_t[]){batch, filters, memory}, 3);
    const vtac_id pair[] = {vtac_make_slice(m, state, 2, 1, memory),
                            vtac_make_reshape(m, fresh, (int64_t[]){batch, filters, 1}, 3)};
    return memory == 1 ? pair[1] : vtac_make_concat(m, pair, 2, 2);
}

static vtac_id svdf_integers(vtac_tflite *im, vtac_id x, const int64_t *size, int64_t units, int64_t rank)
{
    vtac_import_builder *m = &im->maker;
    const vtac_tflite_tensor *in = vtac_tflite_in(im, 0);
    const vtac_tflite_tensor *features = vtac_tflite_in(im, 1);
    const vtac_tflite_tensor *time = vtac_tflite_in(im, 2);
    const vtac_tflite_tensor *state = vtac_tflite_in(im, 4);
    const vtac_tflite_tensor *out = vtac_tflite_out(im, 0);
    const int64_t last[] = {2};
    if (features->type.dtype != VTAC_I8 || time->type.dtype != VTAC_I16 || state->type.dtype != VTAC_I16 ||
        out->type.dtype != VTAC_I8 || in->scale_count != 1 || features->scale_count != 1 ||
        time->scale_count != 1 || state->scale_count != 1 || out->scale_count != 1) {
        vtac_make_refuse(&im->maker, "an SVDF of i8 whose weights are not i8 and i16 with a scale each");
        return 0;
    }
    const float one = features->scale[0] * in->scale[0] / state->scale[0];
    const float two = state->scale[0] * time->scale[0] / out->scale[0];
    const vtac_id transposed = vtac_make_transpose(m, vtac_tflite_plain(im, 1), (int64_t[]){1, 0}, 2);
    vtac_id y = vtac_make3(m, VTAC_OP_MATMUL_INTEGER, x, transposed, vtac_tflite_zero_value(im, in));
    y = vtac_tflite_rescale(im, y, vtac_tfl_scale_of((double)one), VTAC_ROUND_AWAY);
    y = vtac_make_clip(m, y, INT16_MIN, INT16_MAX);
    y = push_state(im, vtac_make_cast(m, vtac_tflite_plain(im, 4), VTAC_I32), y, size[0], size[1], size[2]);
    vtac_tflite_leave(im, 4, vtac_make_cast(m, y, VTAC_I16));
    y = vtac_make2(m, VTAC_OP_MUL, y, vtac_make_cast(m, vtac_tflite_plain(im, 2), VTAC_I32));
    y = vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, y, last, 1, false);
    y = vtac_make_reshape(m, y, (int64_t[]){size[0], units, rank}, 3);
    y = vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, y, last, 1, false);
    y = vtac_tflite_has(im, 3) ? vtac_make2(m, VTAC_OP_ADD, y, vtac_tflite_plain(im, 3)) : y;
    return vtac_tflite_store(im, vtac_tflite_rescale(im, y, vtac_tfl_scale_of((double)two), VTAC_ROUND_AWAY),
                             out, TFL_NONE);
}

static vtac_id svdf_floats(vtac_tflite *im, vtac_id x, const int64_t *size, int64_t units, int64_t rank)
{
    vtac_import_builder *m = &im->maker;
    const vtac_tflite_tensor *time = vtac_tflite_in(im, 2);
    const int64_t last[] = {2};
    vtac_id weights = vtac_tflite_plain(im, 2);
    if (!vtac_tflite_is_float(time)) {
        weights = vtac_make2(m, VTAC_OP_MUL, vtac_make_cast(m, weights, VTAC_F32),
                             vtac_tflite_scale_value(im, time));
    }
    vtac_id y = vtac_tflite_rows_by(im, x, 1, vtac_tflite_option(im, 2, 1, 0) != 0);
    y = push_state(im, vtac_tflite_plain(im, 4), y, size[0], size[1], size[2]);
    vtac_tflite_leave(im, 4, y);
    y = vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, vtac_make2(m, VTAC_OP_MUL, y, weights), last, 1, false);
    y = vtac_make_reshape(m, y, (int64_t[]){size[0], units, rank}, 3);
    y = vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, y, last, 1, false);
    y = vtac_tflite_has(im, 3) ? vtac_make2(m, VTAC_OP_ADD, y, vtac_tflite_plain(im, 3)) : y;
    return vtac_tflite_activate(im, y, vtac_tflite_out(im, 0), (int)vtac_tflite_option(im, 1, 1, 0));
}

/* options: rank, activation, asymmetric */
void vtac_tflite_import_svdf(vtac_tflite *im)
{
    const vtac_type x = vtac_tflite_type(im, 0);
    const vtac_type features = vtac_tflite_type(im, 1);
    const vtac_type time = vtac_tflite_type(im, 2);
    const int64_t rank = vtac_tflite_option(im, 0, 4, 0);
    const vtac_type state = im->op->input_count > 4 ? vtac_tflite_type(im, 4) : (vtac_type){.rank = 0};
    if (im->maker.status != VTA_OK || x.rank != 2 || features.rank != 2 || time.rank != 2 || rank < 1 ||
        features.dim[1] != x.dim[1] || time.dim[0] != features.dim[0] || features.dim[0] % rank != 0 ||
        time.dim[1] < 1 || vtac_type_elements(&state) != x.dim[0] * time.dim[0] * time.dim[1]) {
        vtac_make_fail(&im->maker, VTA_INVALID, "its weights, states and rank %lld do not fit",
                       (long long)rank);
        return;
    }
    const int64_t size[] = {x.dim[0], features.dim[0], time.dim[1]};
    const vtac_id in = vtac_tflite_plain(im, 0);
    vtac_tflite_set(im, 0,
                    (vtac_tflite_in(im, 0)->type.dtype == VTAC_I8 ? svdf_integers : svdf_floats)(
                        im, in, size, size[1] / rank, rank));
}
