/* SPDX-License-Identifier: Apache-2.0
 *
 * What the recurrent operators share: where the parts of an LSTM stand among its inputs, and cells that are
 * written out step by step.
 */
#ifndef VTAC_TFLITE_RECURRENT_H
#define VTAC_TFLITE_RECURRENT_H

#include "operators.h"

enum { LSTM_IN, LSTM_FORGET, LSTM_CELL, LSTM_OUT, LSTM_GATES };

/* Numbers of inputs: each the first of its kind, in the order of the gates; ABSENT: there are none. */
typedef struct vtac_tflite_lstm_places {
    uint32_t input, state, peepholes, bias, projection, first_state, first_cell, norms;
} vtac_tflite_lstm_places;
enum { LSTM_ABSENT = 1 << 20 };

typedef struct vtac_tflite_lstm {
    vtac_tflite *im;
    vtac_tflite_lstm_places at;
    bool coupled;                               /* no input gate: 1 - forget */
    bool peepholes, projected, normal;          /* what it has */
    bool bytes, whole;                          /* weights of bytes; everything is integers */
    bool asymmetric, backwards;                 /* rows of floats become bytes over their range */
    int activation;                             /* of the cell */
    float cell_clip, projection_clip;           /* 0: none */
    int64_t steps, batch, inputs, units, width; /* width: of the output */
} vtac_tflite_lstm;

/* x [steps][batch][inputs] to [steps][batch][width]. */
vtac_id vtac_tflite_lstm_steps(const vtac_tflite_lstm *l, vtac_id x);

/* rows by weights [n][k] of floats or bytes, as floats [rows][n]. */
vtac_id vtac_tflite_rows_by(vtac_tflite *im, vtac_id rows, uint32_t weights, bool asymmetric);

#endif
