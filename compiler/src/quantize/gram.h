/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounding weight after weight, each making up for those before.
 */
#ifndef VTAC_QUANTIZE_GRAM_H
#define VTAC_QUANTIZE_GRAM_H

#include "weights.h"

/* The inputs of some outputs of a product, and what is made of them once for all of these. */
typedef struct vtac_quant_gram {
    const float *x; /* [terms][room], QUANT_LANES columns at a time */
    uint32_t room;
    int64_t terms;
    const double *power; /* of each term: the sum of its squares over the columns */
    double toll;         /* what a term pays for its own error beside it, in parts of that */
    double **factor;     /* of each segment of terms: a triangle R; R'R is the segment's products of inputs */
    double *work;        /* [2 * segment] */
} vtac_quant_gram;

/* The weights of one output. */
typedef struct vtac_quant_row {
    double *exact;         /* in units of the scale */
    vtac_quant_grid *grid; /* of each weight */
    int8_t *chosen;
    float *off; /* [room]: the error of the output in each column, in units of the scale */
} vtac_quant_row;

double vtac_quant_dot(const float *a, const float *b, uint32_t count);

/* Fills `factor` and `work`, in memory of the arena. */
vta_status vtac_quant_gram_open(vtac_quant_gram *gram, vta_arena *arena, vta_diag *diag);

/* Chooses the integers of one output, and fills its errors. */
void vtac_quant_gram_round(const vtac_quant_gram *gram, const vtac_quant_row *row);

#endif
