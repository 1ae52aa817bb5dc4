/* SPDX-License-Identifier: Apache-2.0
 *
 * The basic kernel of LSTM, one step of old models: all gates are one product of the input beside the last
 * output. Over floats, and over bytes with 16-bit cells in units of 2^-11.
 */
#include "fixed.h"
#include "operators.h"

enum { X, LAST, WEIGHTS, BIAS, CELL, PARTS };
enum { OUT, OUT_CELL, OUT_BOTH, OUT_SUMS };
enum { GATE_IN, GATE_FRESH, GATE_FORGET, GATE_OUT, GATES };

typedef int16_t basic_fixed_fn(int16_t x, int whole);

static vtac_id as_int32(vtac_tflite *im, vtac_id x)
{
    return vtac_make_clip(&im->maker, x, INT16_MIN, INT16_MAX);
}

static vtac_id fixed_function(vtac_tflite *im, vtac_id x, basic_fixed_fn *fn, int whole)
{
    enum { COUNT = 1 << 16 };
    int32_t *room = vtac_make_room(&im->maker, COUNT, sizeof *room);
    for (int32_t i = 0; room != NULL && i < COUNT; i++) {
        room[i] = fn((int16_t)(i - COUNT / 2), whole);
    }
    return room == NULL ? 0 : vtac_tflite_look_up(im, x, VTAC_I32, room, COUNT, INT16_MIN);
}

/* Fractions of 2^15, the last bit rounded halves up. */
static vtac_id multiply_15(vtac_tflite *im, vtac_id a, vtac_id b)
{
    const vtac_tfl_scale by = {.mult = 1 << 16, .shift = 0}; /* of 2^31 */
    const vtac_id product = vtac_make2(&im->maker, VTAC_OP_MUL, a, b);
    return as_int32(im, vtac_tflite_rescale(im, product, by, VTAC_ROUND_UP));
}

static vtac_id select_gate(vtac_tflite *im, vtac_id sums, int which, int64_t units)
{
    return vtac_make_slice(&im->maker, sums, 1, which * units, (which + 1) * units);
}

static void step_floats(vtac_tflite *im, vtac_id both, int64_t units, vtac_id *out)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id transposed = vtac_make_transpose(m, vtac_tflite_plain(im, WEIGHTS), (int64_t[]){1, 0}, 2);
    const vtac_id sums = vtac_make2(m, VTAC_OP_ADD, vtac_make2(m, VTAC_OP_MATMUL, both, transposed),
                                    vtac_tflite_plain(im, BIAS));
    const vtac_id fresh =
        vtac_make2(m, VTAC_OP_MUL, vtac_make1(m, VTAC_OP_SIGMOID, select_gate(im, sums, GATE_IN, units)),
                   vtac_make1(m, VTAC_OP_TANH, select_gate(im, sums, GATE_FRESH, units)));
    const vtac_id kept =
        vtac_make2(m, VTAC_OP_MUL, vtac_make1(m, VTAC_OP_SIGMOID, select_gate(im, sums, GATE_FORGET, units)),
                   vtac_tflite_plain(im, CELL));
    out[OUT_CELL] = vtac_make2(m, VTAC_OP_ADD, fresh, kept);
    out[OUT] =
        vtac_make2(m, VTAC_OP_MUL, vtac_make1(m, VTAC_OP_SIGMOID, select_gate(im, sums, GATE_OUT, units)),
                   vtac_make1(m, VTAC_OP_TANH, out[OUT_CELL]));
    out[OUT_SUMS] = sums;
}

/* Sums are in units of 2^-12, gates in those of 2^-15. */
static void step_bytes(vtac_tflite *im, vtac_id both, int64_t units, vtac_id *out)
{
    vtac_import_builder *m = &im->maker;
    const vtac_tfl_scale scale = vtac_tfl_scale_of(4096.0 * (double)vtac_tflite_in(im, BIAS)->scale[0]);
    const vtac_id transposed = vtac_make_transpose(m, vtac_tflite_plain(im, WEIGHTS), (int64_t[]){1, 0}, 2);
    const vtac_id in[] = {both, transposed, vtac_tflite_zero_value(im, vtac_tflite_in(im, X)),
                          vtac_tflite_zero_value(im, vtac_tflite_in(im, WEIGHTS))};
    vtac_id sums = vtac_make(m, VTAC_OP_MATMUL_INTEGER, in, 4, NULL, 0);
    sums = vtac_make2(m, VTAC_OP_ADD, sums, vtac_tflite_plain(im, BIAS));
    sums = as_int32(im, vtac_tflite_rescale(im, sums, scale, VTAC_ROUND_UP)); /* as all its dense products */
    vtac_id fresh = multiply_15(
        im, fixed_function(im, select_gate(im, sums, GATE_IN, units), vtac_tflite_fixed_logistic, 3),
        fixed_function(im, select_gate(im, sums, GATE_FRESH, units), vtac_tflite_fixed_tanh, 3));
    fresh = vtac_tflite_round_shift(im, fresh, 4);
    const vtac_id kept = multiply_15(
        im, fixed_function(im, select_gate(im, sums, GATE_FORGET, units), vtac_tflite_fixed_logistic, 3),
        vtac_make_cast(m, vtac_tflite_plain(im, CELL), VTAC_I32));
    const vtac_id cell = as_int32(im, vtac_make2(m, VTAC_OP_ADD, fresh, kept));
    vtac_id y = multiply_15(
        im, fixed_function(im, select_gate(im, sums, GATE_OUT, units), vtac_tflite_fixed_logistic, 3),
        fixed_function(im, cell, vtac_tflite_fixed_tanh, 4));
    y = vtac_make_clip(m, vtac_tflite_round_shift(im, y, 8), INT8_MIN, INT8_MAX);
    y = vtac_make2(m, VTAC_OP_ADD, y, vtac_make_number(m, VTAC_I32, 128.0));
    out[OUT] = vtac_make_cast(m, y, VTAC_U8);
    out[OUT_CELL] = vtac_make_cast(m, cell, VTAC_I16);
    out[OUT_SUMS] = vtac_make_cast(m, sums, VTAC_I16);
}

static bool is_bytes(const vtac_tflite_tensor *t)
{
    return t->type.dtype == VTAC_U8 && t->scale_count == 1 && t->scale[0] == 0x1p-7F && t->zero[0] == 128;
}

/* The last output and cell come in as x [batch][inputs] does, and are kept from run to run where they are
 * variables. */
void vtac_tflite_import_lstm_basic(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type x = vtac_tflite_type(im, X);
    const vtac_type last = vtac_tflite_type(im, LAST);
    const vtac_type w = vtac_tflite_type(im, WEIGHTS);
    const vtac_type bias = vtac_tflite_type(im, BIAS);
    const vtac_type cell = vtac_tflite_type(im, CELL);
    const int64_t units = last.dim[1];
    if (m->status != VTA_OK || im->op->input_count != PARTS || x.rank != 2 || last.rank != 2 || w.rank != 2 ||
        cell.rank != 2 || units < 1 || x.dim[0] != last.dim[0] || cell.dim[0] != x.dim[0] ||
        cell.dim[1] != units || w.dim[0] != GATES * units || w.dim[1] != x.dim[1] + units || bias.rank != 1 ||
        bias.dim[0] != GATES * units) {
        vtac_make_fail(m, VTA_INVALID, "its weights and states do not fit");
        return;
    }
    const vtac_tflite_tensor *weights = vtac_tflite_in(im, WEIGHTS);
    const bool floats = vtac_tflite_is_float(vtac_tflite_in(im, X)) && vtac_tflite_is_float(weights) &&
                        cell.dtype == VTAC_F32;
    if (!floats && (!is_bytes(vtac_tflite_in(im, X)) || !is_bytes(vtac_tflite_in(im, LAST)) ||
                    w.dtype != VTAC_U8 || weights->scale_count != 1 || bias.dtype != VTAC_I32 ||
                    vtac_tflite_in(im, BIAS)->scale_count != 1 || cell.dtype != VTAC_I16)) {
        vtac_make_refuse(
            &im->maker, "a basic LSTM over %s; over f32, and over u8 in 128ths around 128 with a cell of i16",
            vtac_dtype_name(x.dtype));
        return;
    }
    vtac_id out[4] = {0};
    out[OUT_BOTH] =
        vtac_make_concat(m, (vtac_id[]){vtac_tflite_plain(im, X), vtac_tflite_plain(im, LAST)}, 2, 1);
    (floats ? step_floats : step_bytes)(im, out[OUT_BOTH], units, out);
    for (uint32_t i = 0; i < im->op->output_count && i < 4; i++) {
        vtac_tflite_set(im, i, out[i]);
    }
    vtac_tflite_leave(im, LAST, out[OUT]);
    vtac_tflite_leave(im, CELL, out[OUT_CELL]);
}
