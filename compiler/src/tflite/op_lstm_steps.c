/* SPDX-License-Identifier: Apache-2.0
 *
 * LSTMs written out step by step, with the roundings of TensorFlow Lite: integers alone (8-bit inputs and
 * outputs, 16-bit cells), floats with weights of bytes, and floats with a projection or normalized layers.
 * What the inputs give to all gates is one product for all steps; a step adds the product of its state.
 */
#include <math.h>
#include <string.h>

#include "fixed.h"
#include "recurrent.h"

enum { MAX_STEPS = 1 << 10, WORD = 15 };

/* Values that all steps share. */
typedef struct lstm_plan {
    const vtac_tflite_lstm *l;
    uint32_t first, gates;         /* gates that there are: first, first + 1, … */
    vtac_id weights[2], scales[2]; /* of inputs and of the state: [k][gates * units]; of columns */
    vtac_id mult[2], shift[2];     /* factors of the columns' integers */
    vtac_id bias;
    vtac_id logistic, tanh, cell_tanh; /* tables */
    int cell_log;                      /* the cell is in units of 2^cell_log */
    const vtac_tflite_tensor *x, *state, *hidden;
} lstm_plan;

/* ---- weights */

/* One value of each gate, one behind the other on axis 0. */
static vtac_id join_gates(const lstm_plan *p, uint32_t from)
{
    vtac_id part[LSTM_GATES];
    for (uint32_t g = 0; g < p->gates; g++) {
        part[g] = vtac_tflite_plain(p->l->im, from + p->first + g);
    }
    return vtac_make_concat(&p->l->im->maker, part, p->gates, 0);
}

static vtac_id transpose_gates(const lstm_plan *p, uint32_t from)
{
    return vtac_make_transpose(&p->l->im->maker, join_gates(p, from), (int64_t[]){1, 0}, 2);
}

static float scale_of(const vtac_tflite_tensor *t)
{
    return t->scale_count > 0 ? t->scale[0] : 1.0F;
}

/* The weights' scale of each column. */
static vtac_id column_scales(const lstm_plan *p, uint32_t from)
{
    const vtac_tflite_lstm *l = p->l;
    float *scales = vtac_make_room(&l->im->maker, (int64_t)p->gates * l->units, sizeof *scales);
    for (int64_t i = 0; scales != NULL && i < (int64_t)p->gates * l->units; i++) {
        scales[i] = scale_of(vtac_tflite_in(l->im, from + p->first + (uint32_t)(i / l->units)));
    }
    return scales == NULL
               ? 0
               : vtac_make_borrowed(&l->im->maker, &(vtac_type){VTAC_F32, 1, {(int64_t)p->gates * l->units}},
                                    scales);
}

/* Unit of a gate's integer sums: the file gives it where they are normalized. */
static float unit_of(const vtac_tflite_lstm *l, uint32_t gate)
{
    const vtac_tflite_op *op = l->im->op;
    return l->normal && gate < op->intermediate_count
               ? scale_of(&l->im->graph->tensors[op->intermediates[gate]])
               : 0x1p-12F;
}

/* Factors from products with a tensor of this scale to the gates' units. */
static void column_factors(lstm_plan *p, int which, uint32_t from, float scale)
{
    const vtac_tflite_lstm *l = p->l;
    vtac_import_builder *m = &l->im->maker;
    const int64_t count = (int64_t)p->gates * l->units;
    int32_t *mult = vtac_make_room(m, count, sizeof *mult);
    int32_t *shift = vtac_make_room(m, count, sizeof *shift);
    const vtac_type type = {VTAC_I32, 1, {count}};
    if (mult == NULL || shift == NULL) {
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        const uint32_t gate = p->first + (uint32_t)(i / l->units);
        const float real = scale_of(vtac_tflite_in(l->im, from + gate)) * scale / unit_of(l, gate);
        const vtac_tfl_scale s = vtac_tfl_scale_of((double)real);
        mult[i] = s.mult;
        shift[i] = s.shift;
    }
    p->mult[which] = vtac_make_borrowed(m, &type, mult);
    p->shift[which] = vtac_make_borrowed(m, &type, shift);
}

typedef int16_t fixed_fn(int16_t x, int whole);

static vtac_id word_table(vtac_tflite *im, fixed_fn *fn, int whole)
{
    enum { COUNT = 1 << 16 };
    int32_t *room = vtac_make_room(&im->maker, COUNT, sizeof *room);
    for (int32_t i = 0; room != NULL && i < COUNT; i++) {
        room[i] = fn((int16_t)(i - COUNT / 2), whole);
    }
    return room == NULL ? 0 : vtac_make_borrowed(&im->maker, &(vtac_type){VTAC_I32, 1, {COUNT}}, room);
}

static vtac_id looked_up(const lstm_plan *p, vtac_id x, vtac_id table)
{
    const vtac_attr first = vtac_attr_of_int("first", INT16_MIN);
    return vtac_make(&p->l->im->maker, VTAC_OP_LOOK_UP, (vtac_id[]){x, table}, 2, &first, 1);
}

/* The scales that an LSTM of integers needs; false after a refusal. */
static bool plan_integers(lstm_plan *p)
{
    const vtac_tflite_lstm *l = p->l;
    vtac_tflite *im = l->im;
    const vtac_tflite_tensor *cell = vtac_tflite_in(im, l->at.first_cell);
    p->x = vtac_tflite_in(im, 0);
    p->state = vtac_tflite_in(im, l->at.first_state);
    p->hidden = im->op->intermediate_count >= 5 ? &im->graph->tensors[im->op->intermediates[4]] : p->state;
    const float mantissa = frexpf(scale_of(cell), &p->cell_log);
    p->cell_log--;
    if (cell->type.dtype != VTAC_I16 || cell->scale_count != 1 || mantissa != 0.5F || p->cell_log > -9 ||
        p->cell_log < -15 || p->x->scale_count != 1 || p->state->type.dtype != VTAC_I8 ||
        p->state->scale_count != 1 || p->hidden->scale_count != 1 || p->hidden->zero[0] <= INT8_MIN ||
        p->hidden->zero[0] > INT8_MAX) {
        vtac_make_refuse(
            &im->maker,
            "an LSTM of integers whose cell is no int16 in units of a power of two (2^-15 to 2^-9), "
            "or without scales of its input and state");
        return false;
    }
    column_factors(p, 0, l->at.input, scale_of(p->x));
    column_factors(p, 1, l->at.state, scale_of(p->state));
    p->logistic = word_table(im, vtac_tflite_fixed_logistic, 3);
    p->tanh = word_table(im, vtac_tflite_fixed_tanh, 3);
    p->cell_tanh = word_table(im, vtac_tflite_fixed_tanh, WORD + p->cell_log);
    return im->maker.status == VTA_OK;
}

/* ---- sums of gates */

static vtac_id as_int32(const lstm_plan *p, vtac_id x)
{
    return vtac_make_clip(&p->l->im->maker, x, INT16_MIN, INT16_MAX);
}

static vtac_id rescale_columns(const lstm_plan *p, int which, vtac_id x)
{
    const vtac_attr attrs[] = {vtac_attr_of_string("rounding", vtac_rounding_name(VTAC_ROUND_AWAY)),
                               vtac_attr_of_int("axis", 1)};
    const vtac_id in[] = {x, p->mult[which], p->shift[which]};
    return vtac_make(&p->l->im->maker, VTAC_OP_RESCALE, in, 3, attrs, 2);
}

/* Rows of floats by weights [k][n] of bytes; `scales` of the columns. */
static vtac_id mixed_product(vtac_tflite *im, vtac_id rows, vtac_id weights, vtac_id scales, bool asymmetric)
{
    vtac_import_builder *m = &im->maker;
    vtac_id scale = 0;
    vtac_id zero = 0;
    vtac_id q = vtac_tflite_quantize_rows(im, rows, 2, &scale, asymmetric ? &zero : NULL);
    q = asymmetric ? vtac_make2(m, VTAC_OP_SUB, q, zero) : q;
    const vtac_id sum =
        vtac_make2(m, VTAC_OP_MATMUL, vtac_make_cast(m, q, VTAC_F64), vtac_make_cast(m, weights, VTAC_F64));
    return vtac_make2(m, VTAC_OP_MUL, vtac_make_cast(m, sum, VTAC_F32),
                      vtac_make2(m, VTAC_OP_MUL, scale, scales));
}

vtac_id vtac_tflite_rows_by(vtac_tflite *im, vtac_id rows, uint32_t weights, bool asymmetric)
{
    const vtac_tflite_tensor *w = vtac_tflite_in(im, weights);
    const vtac_id transposed =
        vtac_make_transpose(&im->maker, vtac_tflite_plain(im, weights), (int64_t[]){1, 0}, 2);
    if (vtac_tflite_is_float(w)) {
        return vtac_make2(&im->maker, VTAC_OP_MATMUL, rows, transposed);
    }
    if (w->type.dtype != VTAC_I8 || w->scale_count != 1) {
        vtac_make_refuse(&im->maker, "weights of %s with %u scales", vtac_dtype_name(w->type.dtype),
                         w->scale_count);
        return 0;
    }
    return mixed_product(im, rows, transposed, vtac_tflite_scale_value(im, w), asymmetric);
}

/* rows (inputs: which 0, states: which 1) by their weights, plus what is there already. */
static vtac_id add_product(const lstm_plan *p, int which, vtac_id rows, vtac_id sum)
{
    const vtac_tflite_lstm *l = p->l;
    vtac_import_builder *m = &l->im->maker;
    if (l->whole) {
        const vtac_id zero = vtac_tflite_zero_value(l->im, which == 0 ? p->x : p->state);
        vtac_id y = vtac_make3(m, VTAC_OP_MATMUL_INTEGER, rows, p->weights[which], zero);
        y = which == 0 && p->bias != 0 ? vtac_make2(m, VTAC_OP_ADD, y, p->bias) : y;
        y = rescale_columns(p, which, y);
        return as_int32(p, sum == 0 ? y : vtac_make2(m, VTAC_OP_ADD, y, sum));
    }
    const vtac_id y = l->bytes
                          ? mixed_product(l->im, rows, p->weights[which], p->scales[which], l->asymmetric)
                          : vtac_make2(m, VTAC_OP_MATMUL, rows, p->weights[which]);
    return sum == 0 ? y : vtac_make2(m, VTAC_OP_ADD, sum, y);
}

static vtac_id int64_constant(vtac_tflite *im, int64_t v)
{
    return vtac_make_number(&im->maker, VTAC_I64, (double)v);
}

/* A row of 16-bit sums less its mean, over its deviation, times weights, plus a bias, in units of 2^-12. All
 * is reckoned in 1024ths. The mean of squares takes 2^20 / n as a whole number, as TensorFlow Lite does. */
static vtac_id normal_words(const lstm_plan *p, vtac_id sum, uint32_t gate)
{
    enum { ONE = 1 << 10, SQUARE = 1 << 20 };
    vtac_tflite *im = p->l->im;
    vtac_import_builder *m = &im->maker;
    const vtac_tflite_tensor *w = vtac_tflite_in(im, p->l->at.norms + gate);
    const int64_t n = p->l->units;
    const int64_t last = 1;
    const vtac_id x = vtac_make_cast(m, sum, VTAC_I64);
    vtac_id mean = vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, x, &last, 1, true);
    mean = vtac_make2(m, VTAC_OP_DIV, vtac_make2(m, VTAC_OP_MUL, mean, int64_constant(im, ONE)),
                      int64_constant(im, n));
    vtac_id squares =
        vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, vtac_make2(m, VTAC_OP_MUL, x, x), &last, 1, true);
    squares = vtac_make2(m, VTAC_OP_MUL, squares, int64_constant(im, SQUARE / n));
    vtac_id variance = vtac_make2(m, VTAC_OP_SUB, squares, vtac_make2(m, VTAC_OP_MUL, mean, mean));
    variance = vtac_make2(m, VTAC_OP_DIV, variance, int64_constant(im, SQUARE));
    const double guard = fmax(1.0, trunc((double)(10000.0F * scale_of(w))));
    const vtac_id none = vtac_make2(m, VTAC_OP_LESS, variance, int64_constant(im, 1));
    variance = vtac_make3(m, VTAC_OP_WHERE, none, int64_constant(im, (int64_t)guard), variance);
    vtac_id right;
    const vtac_id mantissa = vtac_tflite_inverse_root(im, variance, &right);
    vtac_id y = vtac_make2(m, VTAC_OP_SUB, vtac_make2(m, VTAC_OP_MUL, x, int64_constant(im, ONE)), mean);
    y = vtac_tflite_scaled_by(im, y, mantissa, right);
    y = vtac_make2(m, VTAC_OP_MUL, y,
                   vtac_make_cast(m, vtac_tflite_plain(im, p->l->at.norms + gate), VTAC_I64));
    y = vtac_make2(m, VTAC_OP_ADD, y,
                   vtac_make_cast(m, vtac_tflite_plain(im, p->l->at.bias + gate), VTAC_I64));
    const vtac_id half =
        vtac_make2(m, VTAC_OP_MUL, vtac_make1(m, VTAC_OP_SIGN, y), int64_constant(im, ONE / 2));
    y = vtac_make2(m, VTAC_OP_DIV, vtac_make2(m, VTAC_OP_ADD, y, half), int64_constant(im, ONE));
    vtac_tfl_scale scale = vtac_tfl_scale_of((double)scale_of(w) * 4096.0);
    return as_int32(p, vtac_tflite_rescale(im, vtac_make_cast(m, y, VTAC_I32), scale, VTAC_ROUND_AWAY));
}

/* TensorFlow Lite's kernel of integers adds the cell to as many units as the output has: with a projection to
 * fewer, the others have no such weight. */
static vtac_id for_cells(const lstm_plan *p, vtac_id weights)
{
    const vtac_tflite_lstm *l = p->l;
    vtac_import_builder *m = &l->im->maker;
    if (!l->whole || l->width >= l->units) {
        return weights;
    }
    int32_t *zeros = vtac_make_room(m, l->units - l->width, sizeof *zeros);
    const vtac_type type = {VTAC_I32, 1, {l->units - l->width}};
    if (zeros == NULL) {
        return 0;
    }
    const vtac_id in[] = {vtac_make_slice(m, weights, 0, 0, l->width), vtac_make_borrowed(m, &type, zeros)};
    return vtac_make_concat(m, in, 2, 0);
}

/* A gate's part of the sums, with what the cell adds to it. */
static vtac_id gate_sum(const lstm_plan *p, vtac_id sums, uint32_t gate, vtac_id cell)
{
    static const uint32_t order[] = {0, 1, 0, 2}; /* of the gate's weights for the cell */
    const vtac_tflite_lstm *l = p->l;
    vtac_import_builder *m = &l->im->maker;
    const int64_t from = (int64_t)(gate - p->first) * l->units;
    vtac_id sum = vtac_make_slice(m, sums, 1, from, from + l->units);
    if (l->peepholes && gate != LSTM_CELL) {
        const uint32_t place = l->at.peepholes + order[gate];
        const vtac_tflite_tensor *w = vtac_tflite_in(l->im, place);
        const vtac_type type = l->whole ? (vtac_type){VTAC_I32, 0, {0}} : (vtac_type){VTAC_F32, 0, {0}};
        vtac_id weights = vtac_make_cast(m, vtac_tflite_plain(l->im, place), type.dtype);
        if (!l->whole && !vtac_tflite_is_float(w)) {
            weights = vtac_make2(m, VTAC_OP_MUL, weights, vtac_tflite_scale_value(l->im, w));
        }
        vtac_id more = vtac_make2(m, VTAC_OP_MUL, cell, for_cells(p, weights));
        if (l->whole) {
            const float real =
                (float)(ldexp(1.0, p->cell_log) * (double)scale_of(w) / (double)unit_of(l, gate));
            more = vtac_tflite_rescale(l->im, more, vtac_tfl_scale_of((double)real), VTAC_ROUND_AWAY);
        }
        sum = vtac_make2(m, VTAC_OP_ADD, sum, more);
        sum = l->whole ? as_int32(p, sum) : sum;
    }
    if (l->normal && l->whole) {
        sum = normal_words(p, sum, gate);
    } else if (l->normal) {
        const vtac_attr attrs[] = {vtac_attr_of_int("axis", -1), vtac_attr_of_float("epsilon", 1e-8)};
        const vtac_id in[] = {sum, vtac_tflite_plain(l->im, l->at.norms + gate),
                              vtac_tflite_plain(l->im, l->at.bias + gate)};
        sum = vtac_make(m, VTAC_OP_LAYER_NORMALIZATION, in, 3, attrs, 2);
    }
    return sum;
}

/* ---- a step */

static vtac_id squash_value(const lstm_plan *p, vtac_id x)
{
    return p->l->whole ? looked_up(p, x, p->logistic) : vtac_make1(&p->l->im->maker, VTAC_OP_SIGMOID, x);
}

static vtac_id own_activation(const lstm_plan *p, vtac_id x)
{
    vtac_import_builder *m = &p->l->im->maker;
    switch (p->l->activation) {
    case TFL_NONE: return x;
    case TFL_RELU: return vtac_make1(m, VTAC_OP_RELU, x);
    case TFL_RELU6: return vtac_make_clip(m, x, 0.0, 6.0);
    case TFL_TANH: return vtac_make1(m, VTAC_OP_TANH, x);
    default: vtac_make_refuse(&p->l->im->maker, "the activation %d of an LSTM", p->l->activation); return 0;
    }
}

static vtac_id next_cell(const lstm_plan *p, vtac_id sums, vtac_id cell)
{
    const vtac_tflite_lstm *l = p->l;
    vtac_import_builder *m = &l->im->maker;
    const vtac_id forget = squash_value(p, gate_sum(p, sums, LSTM_FORGET, cell));
    vtac_id input;
    if (l->coupled) {
        const vtac_id one =
            l->whole ? vtac_make_number(m, VTAC_I32, INT16_MAX) : vtac_make_number(m, VTAC_F32, 1.0);
        input = vtac_make2(m, VTAC_OP_SUB, one, forget);
    } else {
        input = squash_value(p, gate_sum(p, sums, LSTM_IN, cell));
    }
    vtac_id fresh = gate_sum(p, sums, LSTM_CELL, cell);
    fresh = l->whole ? looked_up(p, fresh, p->tanh) : own_activation(p, fresh);
    vtac_id kept = vtac_make2(m, VTAC_OP_MUL, forget, cell);
    vtac_id added = vtac_make2(m, VTAC_OP_MUL, input, fresh);
    if (l->whole) {
        kept = vtac_tflite_round_shift(l->im, kept, WORD);
        added = vtac_tflite_round_shift(l->im, added, 2 * WORD + p->cell_log);
    }
    vtac_id next = vtac_make2(m, VTAC_OP_ADD, kept, added);
    if (l->whole) {
        double max = INT16_MAX;
        if (l->cell_clip > 0.0F) {
            max = fmin(max, trunc((double)(l->cell_clip / ldexpf(1.0F, p->cell_log))));
        }
        return vtac_make_clip(m, next, l->cell_clip > 0.0F ? -max : INT16_MIN, max);
    }
    return l->cell_clip > 0.0F ? vtac_make_clip(m, next, (double)-l->cell_clip, (double)l->cell_clip) : next;
}

static vtac_id project_integers(const lstm_plan *p, vtac_id hidden)
{
    const vtac_tflite_lstm *l = p->l;
    vtac_tflite *im = l->im;
    vtac_import_builder *m = &im->maker;
    const vtac_tflite_tensor *w = vtac_tflite_in(im, l->at.projection);
    const vtac_id transposed =
        vtac_make_transpose(m, vtac_tflite_plain(im, l->at.projection), (int64_t[]){1, 0}, 2);
    const vtac_id zero = vtac_make_number(m, VTAC_I8, (double)-p->hidden->zero[0]); /* see next_state */
    vtac_id sum = vtac_make3(m, VTAC_OP_MATMUL_INTEGER, hidden, transposed, zero);
    if (vtac_tflite_has(im, l->at.projection + 1)) {
        sum = vtac_make2(m, VTAC_OP_ADD, sum, vtac_tflite_plain(im, l->at.projection + 1));
    }
    const float real = scale_of(w) * scale_of(p->hidden) / scale_of(p->state);
    sum = vtac_tflite_rescale(im, sum, vtac_tfl_scale_of((double)real), VTAC_ROUND_AWAY);
    vtac_id y = vtac_tflite_store(im, sum, p->state, TFL_NONE);
    if (l->projection_clip > 0.0F) {
        const double max = fmin(127.0, trunc((double)(l->projection_clip / scale_of(p->state))));
        y = vtac_make_clip(m, y, -max, max);
    }
    return y;
}

/* The state that a cell gives. */
static vtac_id next_state(const lstm_plan *p, vtac_id sums, vtac_id cell)
{
    const vtac_tflite_lstm *l = p->l;
    vtac_tflite *im = l->im;
    vtac_import_builder *m = &im->maker;
    const vtac_id gate = squash_value(p, gate_sum(p, sums, LSTM_OUT, cell));
    vtac_id y = vtac_make2(m, VTAC_OP_MUL, gate,
                           l->whole ? looked_up(p, cell, p->cell_tanh) : own_activation(p, cell));
    if (l->whole) {
        const float real = (float)(0x1p-15 / (double)scale_of(p->hidden) * 0x1p-15);
        y = vtac_tflite_rescale(im, y, vtac_tfl_scale_of((double)real), VTAC_ROUND_AWAY);
        if (p->hidden->zero[0] != 0) { /* taken away, not added: as TensorFlow Lite does it */
            y = vtac_make2(m, VTAC_OP_SUB, y, vtac_make_number(m, VTAC_I32, (double)p->hidden->zero[0]));
        }
        y = vtac_make_cast(m, vtac_make_clip(m, y, INT8_MIN, INT8_MAX), VTAC_I8);
        return l->projected ? project_integers(p, y) : y;
    }
    if (!l->projected) {
        return y;
    }
    y = vtac_tflite_rows_by(im, y, l->at.projection, l->asymmetric);
    if (vtac_tflite_has(im, l->at.projection + 1)) {
        y = vtac_make2(m, VTAC_OP_ADD, y, vtac_tflite_plain(im, l->at.projection + 1));
    }
    return l->projection_clip > 0.0F
               ? vtac_make_clip(m, y, (double)-l->projection_clip, (double)l->projection_clip)
               : y;
}

vtac_id vtac_tflite_lstm_steps(const vtac_tflite_lstm *l, vtac_id x)
{
    vtac_tflite *im = l->im;
    vtac_import_builder *m = &im->maker;
    lstm_plan p = {.l = l, .first = l->coupled ? 1 : 0, .gates = l->coupled ? 3 : 4};
    vtac_id *out = vtac_make_room(m, l->steps, sizeof *out);
    if (l->steps < 1 || l->steps > MAX_STEPS) {
        vtac_make_refuse(&im->maker, "an LSTM of more than 1024 steps, or of none");
    }
    if (l->whole && l->normal && (im->op->intermediate_count < LSTM_GATES || l->units > 1 << 20)) {
        vtac_make_refuse(&im->maker,
                         "an LSTM of integers that normalizes its layers and does not say in which units");
    }
    if (out == NULL || im->maker.status != VTA_OK || (l->whole && !plan_integers(&p))) {
        return 0;
    }
    p.weights[0] = transpose_gates(&p, l->at.input);
    p.weights[1] = transpose_gates(&p, l->at.state);
    p.bias = l->normal ? 0 : join_gates(&p, l->at.bias);
    if (l->bytes && !l->whole) {
        p.scales[0] = column_scales(&p, l->at.input);
        p.scales[1] = column_scales(&p, l->at.state);
    }
    const vtac_id rows = vtac_make_reshape(m, x, (int64_t[]){l->steps * l->batch, l->inputs}, 2);
    const vtac_id given = add_product(&p, 0, rows, l->whole ? 0 : p.bias);
    vtac_id state =
        vtac_make_reshape(m, vtac_tflite_plain(im, l->at.first_state), (int64_t[]){l->batch, l->width}, 2);
    vtac_id cell =
        vtac_make_reshape(m, vtac_tflite_plain(im, l->at.first_cell), (int64_t[]){l->batch, l->units}, 2);
    cell = l->whole ? vtac_make_cast(m, cell, VTAC_I32) : cell;
    for (int64_t t = 0; t < l->steps; t++) {
        const int64_t at = l->backwards ? l->steps - 1 - t : t;
        vtac_id sums = vtac_make_slice(m, given, 0, at * l->batch, (at + 1) * l->batch);
        sums = add_product(&p, 1, state, sums);
        cell = next_cell(&p, sums, cell);
        state = next_state(&p, sums, cell);
        out[at] = state;
    }
    vtac_tflite_leave(im, l->at.first_state, state);
    vtac_tflite_leave(im, l->at.first_cell, l->whole ? vtac_make_cast(m, cell, VTAC_I16) : cell);
    return vtac_make_reshape(m, vtac_make_concat(m, out, (uint32_t)l->steps, 0),
                             (int64_t[]){l->steps, l->batch, l->width}, 3);
}
