/* SPDX-License-Identifier: Apache-2.0
 *
 * What the operators' importers share. Each gets the operator in `im->op`, reads its inputs as values of the
 * graph, and sets its outputs. Failures stay in the maker.
 *
 * A tensor of rank 4 has up to two values: plain, with the axes of the file, and planes, with the channels on
 * axis 1, as convolutions here want them. Either is made from the other when it is asked for; operators that
 * do not care keep to what there is, so that a whole network stays in planes.
 */
#ifndef VTAC_TFLITE_IMPORT_H
#define VTAC_TFLITE_IMPORT_H

#include "../import/options.h"
#include "model.h"
#include "vtac/quant.h"

typedef struct vtac_tflite {
    vtac_import_builder maker;
    vtac_tflite_model model;
    const vtac_import_options *options;
    vtac_tflite_graph *graph; /* that is being imported: the network, or what an operator calls */
    const vtac_tflite_op *op;
    int32_t how; /* what the operator's row says */
    struct vtac_tflite_variable *variables;
    uint32_t variable_count, depth;
    struct vtac_tflite_state *states; /* what is kept from run to run (state.c) */
    uint32_t state_count;
    vtac_id started; /* whether this is not the first run */
    bool changing;   /* a state comes out with another type or shape than it went in */
    bool mixed;      /* floats are quantized by the run: sums of floats keep the engine's order */
    bool once;       /* what is done once, before the first run, is being imported */
    struct vtac_tflite_rest
        *rest;     /* what goes on with lists whose length the run finds (rest.c); NULL: nothing */
    uint64_t work; /* what calls have cost: tensors and operators */
} vtac_tflite;

/* ---- tensors of the operator */
bool vtac_tflite_has(const vtac_tflite *im, uint32_t i); /* input i is there */
vtac_tflite_tensor *vtac_tflite_in(vtac_tflite *im, uint32_t i);
vtac_tflite_tensor *vtac_tflite_out(vtac_tflite *im, uint32_t i);
vtac_id vtac_tflite_plain(vtac_tflite *im, uint32_t i); /* values of input i */
vtac_id vtac_tflite_planes(vtac_tflite *im, uint32_t i);
bool vtac_tflite_in_planes(vtac_tflite *im, uint32_t i); /* only there so far */
void vtac_tflite_set(vtac_tflite *im, uint32_t i, vtac_id value);
void vtac_tflite_set_planes(vtac_tflite *im, uint32_t i, vtac_id value);
/* Input i in the form that suits one that is the output's shape; `planes` says which it is. */
vtac_id vtac_tflite_either(vtac_tflite *im, uint32_t i, bool *planes);
void vtac_tflite_set_either(vtac_tflite *im, uint32_t i, vtac_id value, bool planes);

/* The type of input i as it came out here, axes as in the file. */
vtac_type vtac_tflite_type(vtac_tflite *im, uint32_t i);
/* Axis of a plain value as it lies in `planes`. */
uint32_t vtac_tflite_axis(uint32_t axis, uint32_t rank, bool planes);
/* An axis that may be counted from the end. */
uint32_t vtac_tflite_wrap(vtac_tflite *im, int64_t axis, uint32_t rank);

/* True if the contents of input i are known. */
bool vtac_tflite_known(vtac_tflite *im, uint32_t i);
/* The contents of input i, which must be known: integers, at most `max`. */
uint32_t vtac_tflite_known_ints(vtac_tflite *im, uint32_t i, const char *what, int64_t *out, uint32_t max);

/* ---- options of the operator */
int64_t vtac_tflite_option(vtac_tflite *im, uint32_t field, uint32_t width, int64_t otherwise);
float vtac_tflite_option_float(vtac_tflite *im, uint32_t field, float otherwise);

/* The same of a custom operator, by name; with NAN as `otherwise`, it must be there. */
double vtac_tflite_custom_number(vtac_tflite *im, const char *key, double otherwise);
int64_t vtac_tflite_custom_count(vtac_tflite *im, const char *key, double otherwise,
                                 int64_t min); /* at most 65536 */

/* ---- numbers */
bool vtac_tflite_quantized(const vtac_tflite_tensor *t); /* integers with a scale */
bool vtac_tflite_is_float(const vtac_tflite_tensor *t);
bool vtac_tflite_same_scale(const vtac_tflite_tensor *a, const vtac_tflite_tensor *b);
/* A scalar constant: the scale; the zero point, in the tensor's type. */
vtac_id vtac_tflite_scale_value(vtac_tflite *im, const vtac_tflite_tensor *t);
vtac_id vtac_tflite_zero_value(vtac_tflite *im, const vtac_tflite_tensor *t);
/* Less the zero point, in int32. */
vtac_id vtac_tflite_centred(vtac_tflite *im, vtac_id x, int64_t zero);
vtac_id vtac_tflite_rescale(vtac_tflite *im, vtac_id x, vtac_tfl_scale scale, vtac_rounding rounding);
/* int32 sums of 16-bit inputs, a factor for each output along `axis`: one rounding, halves up, with all 31
 * bits of the mantissa. */
vtac_id vtac_tflite_rescale_wide(vtac_tflite *im, vtac_id sum, const vtac_tfl_scale *scales, int64_t count,
                                 int64_t axis);
/* An int32 plus the zero point, within the activation, as the tensor's type. */
vtac_id vtac_tflite_store(vtac_tflite *im, vtac_id x, const vtac_tflite_tensor *to, int activation);
/* Range of a quantized tensor after an activation. */
void vtac_tflite_activation_range(vtac_tflite *im, const vtac_tflite_tensor *t, int activation, int64_t *low,
                                  int64_t *high);
/* The activation on a value that has the output's type. */
vtac_id vtac_tflite_activate(vtac_tflite *im, vtac_id x, const vtac_tflite_tensor *t, int activation);
/* Whole numbers next to it, halves away from zero, as an int32. */
vtac_id vtac_tflite_round(vtac_tflite *im, vtac_id x);
/* An int32 / 2^by, halves away from zero; by is at least 1, at most 30. */
vtac_id vtac_tflite_round_shift(vtac_tflite *im, vtac_id v, int by);
/* float32 to the tensor's integers. */
vtac_id vtac_tflite_quantize(vtac_tflite *im, vtac_id x, const vtac_tflite_tensor *to);
vtac_id vtac_tflite_dequantize(vtac_tflite *im, vtac_id x, const vtac_tflite_tensor *from);
/* x through a table of `count` numbers for first, first + 1, … */
vtac_id vtac_tflite_look_up(vtac_tflite *im, vtac_id x, vtac_dtype dtype, const void *table, int64_t count,
                            int64_t first);
/* Value that is kept from run to run: `start` in the first run, later the last value of *now in the run
 * before. `start` alone where runs keep nothing. */
vtac_id vtac_tflite_state_of(vtac_tflite *im, const char *name, vtac_id start, vtac_id *now);
/* Input i is a state of the operator, which leaves it like this; any shape of as many elements. */
void vtac_tflite_leave(vtac_tflite *im, uint32_t i, vtac_id value);
/* All states are known: they become the last inputs and outputs of the graph. */
vta_status vtac_tflite_keep_states(vtac_tflite *im, vta_diag *diag);
/* The operators of im->graph, one after the other. */
vta_status vtac_tflite_import_operators(vtac_tflite *im, vta_diag *diag);
/* The value of a tensor of im->graph, axes as in the file. */
vtac_id vtac_tflite_value(vtac_tflite *im, vtac_tflite_tensor *t);
/* Rows of floats quantized by the run (op_matrix.c). */
vtac_id vtac_tflite_quantize_rows(vtac_tflite *im, vtac_id x, uint32_t rank, vtac_id *scale, vtac_id *zero);
/* The inverse root of a positive int64, mantissa * 2^-(31 + right), as TensorFlow Lite finds it; an int64
 * times that, rounded twice, the second time halves away from zero (op_norm.c). */
vtac_id vtac_tflite_inverse_root(vtac_tflite *im, vtac_id sum, vtac_id *right);
vtac_id vtac_tflite_scaled_by(vtac_tflite *im, vtac_id x, vtac_id mantissa, vtac_id right);
/* Lists whose length the run finds: what makes them, whether the operator gets one, what goes on with it, and
 * the model's instructions (rest.c). */
void vtac_tflite_rest_where(vtac_tflite *im);
void vtac_tflite_rest_unique(vtac_tflite *im);
bool vtac_tflite_takes_rest(const vtac_tflite *im);
void vtac_tflite_rest_operator(vtac_tflite *im);
vta_status vtac_tflite_finish_rest(vtac_tflite *im, vta_diag *diag);
/* The basic kernel of an LSTM (op_lstm_basic.c). */
void vtac_tflite_import_lstm_basic(vtac_tflite *im);
/* uint8 by uint8 (op_divide.c). */
vtac_id vtac_tflite_divide_bytes(vtac_tflite *im, vtac_id a, vtac_id b, int activation);
/* Slices and updates at places that the run works out (op_slice.c). */
void vtac_tflite_slice_at_run(vtac_tflite *im);
void vtac_tflite_strided_slice_at_run(vtac_tflite *im);
void vtac_tflite_update_slice_at_run(vtac_tflite *im);
void vtac_tflite_range(vtac_dtype dtype, int64_t *low, int64_t *high);

enum { TFL_NONE, TFL_RELU, TFL_RELU_N1, TFL_RELU6, TFL_TANH, TFL_RELU_01 = 16 };

#endif
