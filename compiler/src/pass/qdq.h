/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of fold-qdq: reading QuantizeLinear and DequantizeLinear, integer operators for what stands
 * between them, and moving them past operators that only move or order elements.
 */
#ifndef VTAC_PASS_QDQ_H
#define VTAC_PASS_QDQ_H

#include "rewrite.h"
#include "vtac/quant.h"

/* Scale and zero point, known at compile time. */
typedef struct vtac_qparams {
    vtac_dtype dtype;          /* of the integers */
    vtac_value_id scale, zero; /* zero 0: none given, it is 0 */
    const vtac_tensor *scales; /* one, or one for each place along `axis` */
    const vtac_tensor *zeros;  /* NULL: all 0 */
    bool per_axis;
    uint32_t axis;
} vtac_qparams;

/* The integers behind a float value: it is DequantizeLinear(q). */
typedef struct vtac_qvalue {
    vtac_value_id q;
    vtac_qparams p;
} vtac_qvalue;

/* Reads the DequantizeLinear of a float value; false: there is none. Scales are positive and finite, integers
 * have 8 bits or (bias) 32. */
bool vtac_read_dequantize(const vtac_rewrite *r, vtac_value_id value, vtac_qvalue *out);
/* 8-bit activations: one scale for all. */
bool vtac_read_activation(const vtac_rewrite *r, vtac_value_id value, vtac_qvalue *out);
/* Reads the parameters of a QuantizeLinear node. */
bool vtac_read_quantize(const vtac_rewrite *r, const vtac_node *node, vtac_qparams *out);

float vtac_qscale(const vtac_qparams *p); /* of a whole tensor */
int32_t vtac_qzero(const vtac_qparams *p);
int32_t vtac_qlow(vtac_dtype dtype); /* least and greatest integer of 8 bits */
int32_t vtac_qhigh(vtac_dtype dtype);

/* True if the same integers mean the same reals. */
bool vtac_same_params(const vtac_qparams *a, const vtac_qparams *b);
/* True if the same reals are representable: equal parameters, or i8 against u8 with the zero
 * point moved along. */
bool vtac_same_reals(const vtac_qparams *a, const vtac_qparams *b);

/* The zero point as an operand: the given one, or a new constant 0 of the right type. */
vta_status vtac_zero_operand(vtac_rewrite *r, const vtac_qparams *p, vtac_value_id *out);

/* An operator between DequantizeLinear and QuantizeLinear that is about to become one integer operator. */
typedef struct vtac_fold {
    vtac_rewrite *r;
    vtac_node_id at; /* the QuantizeLinear: new nodes go in front of it */
    vtac_node core;  /* the operator */
    vtac_qparams y;
    vtac_value_id y_zero; /* operand */
} vtac_fold;

/* Elements of a known value from `first` on, perhaps stored in 8 or 32 bits, as a constant of floats of a
 * type; *out 0: not known, or not as many. With `first` 0 and a type of the value's rank, all are meant. */
vta_status vtac_known_floats(vtac_fold *f, vtac_value_id value, const vtac_type *type, int64_t first,
                             vtac_value_id *out);

/* Makes the integer operator; *out 0: it has none. */
typedef vta_status vtac_fold_fn(vtac_fold *f, vtac_value_id *out);
vtac_fold_fn vtac_fold_conv;
vtac_fold_fn vtac_fold_conv_transpose;
vtac_fold_fn vtac_fold_gemm;
vtac_fold_fn vtac_fold_matmul;
vtac_fold_fn vtac_fold_add; /* of two activations, or of a bias to a matrix product */
vtac_fold_fn vtac_fold_mul;
vtac_fold_fn vtac_fold_pool;
vtac_fold_fn vtac_fold_global_pool;
vtac_fold_fn vtac_fold_reduce_mean;
vtac_fold_fn vtac_fold_concat;
vtac_fold_fn vtac_fold_unary;
vtac_fold_fn vtac_fold_softmax;    /* with its masks */
vtac_fold_fn vtac_fold_lp_norm;    /* of rows, p = 1 */
vtac_fold_fn vtac_fold_norm;       /* LayerNormalization, RMSNormalization */
vtac_fold_fn vtac_fold_planes;     /* InstanceNormalization, GroupNormalization */
vtac_fold_fn vtac_fold_recurrence; /* LSTM, GRU, RNN */
vtac_fold_fn vtac_fold_rescale;
vtac_fold_fn vtac_fold_resize;
vtac_fold_fn vtac_fold_choice;     /* Max and Min of two activations */
vtac_fold_fn vtac_fold_difference; /* of two activations */

/* The mean over the channels of images, which keeps their axis; *out 0: its scale does not fit. */
vta_status vtac_fold_channel_mean(vtac_fold *f, const vtac_qvalue *x, vtac_value_id *out);

/* The one float operand of the core as integers of the output's type. */
bool vtac_read_operand(const vtac_fold *f, vtac_qvalue *x);
/* True if a mean of `count` numbers has a scale. */
bool vtac_mean_fits(const vtac_fold *f, const vtac_qvalue *x, int64_t count);
/* OP(x, x_scale, x_zero, y_scale, y_zero) */
vta_status vtac_emit_unary(vtac_fold *f, vtac_op op, const vtac_qvalue *x, const vtac_attr *attrs,
                           uint32_t attr_count, vtac_value_id *out);
/* x as a number of the output; *out 0: it cannot be one. */
vta_status vtac_emit_rescale(vtac_fold *f, const vtac_qvalue *x, vtac_value_id *out);

/* Coordinates of an interpolation's pixels among those of its input. */
typedef enum vtac_placing { VTAC_HALF_PIXEL, VTAC_ASYMMETRIC, VTAC_ALIGNED } vtac_placing;

/* Linear interpolation of x by whole factors (with VTAC_ALIGNED, of the distances); *out 0: not in this way.
 */
vta_status vtac_fold_phases(vtac_fold *f, const vtac_qvalue *x, vtac_placing place, vtac_value_id *out);

/* ReduceMax of integers over all pixels as a pool. */
vtac_rule_fn vtac_pool_maximum;
/* GlobalMaxPool, which has no integers, as a pool of them. */
vta_status vtac_plane_maximum(vtac_rewrite *r, vtac_node_id before, const vtac_node *like,
                              const vtac_value_id *inputs, vtac_value_id *out);

/* Terms of an output's products: the weights in steps, and the minimum of an input less its zero point. */
typedef struct vtac_bias_terms {
    const vtac_tensor *w, *w_zero; /* w_zero NULL: 0 */
    int64_t terms, output_step, term_step, x_low;
} vtac_bias_terms;
int64_t vtac_low_of(const vtac_tensor *zero, vtac_dtype dtype);
vtac_bias_room vtac_bias_room_of(const vtac_bias_terms *t, int64_t output);

/* A smaller bias with the same results, where one leaves no room for its sum. For QLinearConv and QGemm. */
vtac_rule_fn vtac_fit_bias;

/* A factor or an offset for each channel behind a convolution of quantized weights. For Mul and Add. */
vtac_rule_fn vtac_fold_channel_scale;

/* A dense layer whose result stays float: QGemm without an output scale. Anchored at Gemm. */
vtac_rule_fn vtac_fold_float_gemm;

/* Constants of less than 8 bits behind a DequantizeLinear as bytes. */
vtac_rule_fn vtac_widen_weights;

/* Islands of operators between one 8-bit value and another, all other operands known, become tables; the
 * second function: between an 8-bit value and floats. */
vta_status vtac_fold_islands(vtac_graph *graph, uint32_t *changes, vta_diag *diag);
vta_status vtac_fold_float_islands(vtac_graph *graph, uint32_t *changes, vta_diag *diag);
/* True for an operator on floats that takes longer than a look into a table. */
bool vtac_is_slow_function(vtac_op op);

/* An island by channel, which ends in a QuantizeLinear, as convolutions with one weight for each channel;
 * numbers: what it makes of all 256 numbers, channel by channel. *put false: it stays what it is. */
struct vtac_island;
vta_status vtac_put_lines(vtac_rewrite *r, const struct vtac_island *island, int axis, const void *numbers,
                          bool *put);

/* M(DequantizeLinear(q)) -> DequantizeLinear(M(q)), and QuantizeLinear(M(x)) -> M(QuantizeLinear(x)), for
 * operators M that move, choose or order elements. The first is a rule for all nodes, the second for
 * QuantizeLinear. */
vtac_rule_fn vtac_sink_dequantize;
vtac_rule_fn vtac_raise_quantize;

/* Functions of bytes at the end of a network, whose results stay floats, become tables of floats. Call where
 * nothing else is left to do: a table of bytes may hold the same operators. */
vta_status vtac_fold_tails(vtac_graph *graph, uint32_t *changes, vta_diag *diag);
/* M(LookUp(q)) -> LookUp(M(q)), where all that reads the table's floats are such M. */
vtac_rule_fn vtac_sink_table;
/* True for an operator M that has all elements of its input, in another order. */
bool vtac_orders_anew(const vtac_node *node);
/* The mover M with other operands. */
vta_status vtac_move_like(vtac_rewrite *r, vtac_node_id before, const vtac_node *mover,
                          const vtac_value_id *inputs, vtac_value_id *outputs);

/* The function with x as that input, its other operands as they are. */
vta_status vtac_call_function(vtac_rewrite *r, vtac_node_id before, const vtac_node *function, uint32_t input,
                              vtac_value_id x, vtac_value_id *out);

/* F(M(q)) -> M(F(q)), for a function of each element and an operator that orders them anew: F comes next to
 * the layer whose table it can be. */
vtac_rule_fn vtac_raise_function;

#endif
