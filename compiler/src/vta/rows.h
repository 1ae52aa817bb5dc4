/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the layers on rows: rows.c plans and emits their pieces, row_steps.c the arithmetic of a
 * piece.
 */
#ifndef VTAC_VTA_ROWS_H
#define VTAC_VTA_ROWS_H

#include "sched.h"

/* Constants in ACC. Softmax: the scale of the first records, a mask for the last entry of a row (1 and 0 of a
 * linear one), and minus what all entries of a row have in common where they are summed apart from their
 * tail. Norm: records that scale a sum and a square, a mask, epsilon; then the columns' records and their
 * factors. */
enum { POWER_ENTRY, SMALLEST_ENTRY, COMMON_ENTRY, SOFTMAX_ENTRIES };
enum { MEAN_ENTRY, SQUARE_ENTRY = 2, PRESENT_ENTRY = 4, EPSILON_ENTRY, COLUMN_ENTRY };

/* Each row has two records of REQUANT's parameters, which the ALU makes of the row's own numbers. */
enum { FIRST_RECORD, SECOND_RECORD };

typedef struct rows_emitter {
    const plan *p;
    step_list *list;
    vta_uop *uops; /* room for a kernel, owned */
    int64_t room;  /* of a kernel, in micro-ops */
    int64_t mask;  /* the element where the mask in ACC begins in memory; -1: there is none */
} rows_emitter;

/* Some pixels of an image, or of one of the rows that each pixel has, in a slot that begins at entry `at`.
 * The image counts rows of pixels: row `image` % groups. */
typedef struct row_piece {
    int64_t image, pixel, pixels, at;
} row_piece;

/* True if a softmax needs multipliers of 31 bits for its results. */
bool vtac_vta_rows_are_wide(const vtac_vta_layer *layer);
/* True if columns of a normalization have factors. */
bool vtac_vta_rows_have_factors(const vtac_vta_layer *layer);

/* The numbers of a mask in ACC, as they are added: 0, or so far below that nothing of a number is left. */
void vtac_vta_rows_scale_mask(rows_emitter *e, const row_piece *at);
/* Fills what is constant of the records. */
void vtac_vta_rows_prepare(rows_emitter *e);
void vtac_vta_rows_softmax(rows_emitter *e, const row_piece *at);
void vtac_vta_rows_norm(rows_emitter *e, const row_piece *at);

#endif
