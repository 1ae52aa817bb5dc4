/* SPDX-License-Identifier: Apache-2.0
 *
 * What the recurrence and its activations say to each other.
 */
#ifndef VTAC_LOWER_RECURRENT_H
#define VTAC_LOWER_RECURRENT_H

#include "lower.h"

typedef struct vtac_recurrence {
    int64_t steps, batch, inputs, hidden, directions;
    int64_t columns; /* gates times hidden */
    vtac_dtype type;
    bool batch_first;
    bool reset_after; /* GRU: the reset gate acts behind the product with the state */
    vtac_storage_id products;
} vtac_recurrence;

/* One of a cell's functions; parameters that the model leaves out have the operator's defaults. */
typedef struct vtac_gate_function {
    const char *name;
    double alpha, beta;
    bool has_alpha, has_beta;
} vtac_gate_function;

/* One direction in the making. */
typedef struct vtac_cell {
    vtac_lower *l;
    const vtac_recurrence *r;
    int64_t direction;
    vtac_gate_function gate[3]; /* f, g, h of the standard */
    double clip;                /* of what goes into them; 0: none */
    vtac_buffer *weights, *products;
    vtac_buffer *sums;       /* state times weights, for each gate */
    vtac_buffer *state;      /* H */
    vtac_buffer *memory;     /* LSTM: C; GRU: the state behind the reset gate */
    bool apart;              /* each time has steps of its own, and these are memory that they share: */
    vtac_storage_id kept[4]; /* weights, sums, state, memory */
    int64_t rows;            /* of the batch that go together */
    const vtac_expr *first;  /* the first of them */
    const vtac_expr *batch;  /* the one at hand, and where its sums and states begin */
    const vtac_expr *own_sums, *own_state;
    const vtac_expr *row; /* of the products, this turn */
} vtac_cell;

/* The functions of a direction, from the node's attributes. */
vta_status vtac_gates_of(vtac_lower *l, const vtac_recurrence *r, vtac_cell *cell);
/* Function `which` of a sum. */
const vtac_expr *vtac_gate(const vtac_cell *cell, uint32_t which, const vtac_expr *sum);

#endif
