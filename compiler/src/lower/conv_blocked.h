/* SPDX-License-Identifier: Apache-2.0
 *
 * What convolutions in blocked layouts share: their shape, and what becomes of a sum.
 */
#ifndef VTAC_LOWER_CONV_BLOCKED_H
#define VTAC_LOWER_CONV_BLOCKED_H

#include "layout.h"

/* Epilogue: from sums to outputs (conv_finish.c). */
typedef struct vtac_finish {
    const vtac_conv_shape *shape;
    vtac_expr_op dot; /* that sums bytes by fours */
    int32_t
        shift; /* 128 or -128 where the input's bytes are read as so much more, for the dot product's sake */
    bool relu; /* the activation */
    vtac_buffer *start; /* what a sum starts from, for each output; NULL: 0 */
    vtac_buffer *scale; /* quantized: the factor of each output */
    vtac_buffer *zeros; /* zero points of the weights' bytes; NULL: all 0 */
    vtac_rounding rounding;
    bool narrow;    /* sums stay below 2^24 */
    bool saturates; /* a scaled sum may leave int32 */
    int32_t zero;
} vtac_finish;

/* Chooses how sums of bytes are finished; `dots`: sums of four products. */
void vtac_finish_dots(const vtac_lower *l, const vtac_conv_shape *s, bool dots, vtac_finish *out);
/* All, within a step. */
vta_status vtac_finish_begin(vtac_lower *l, const vtac_conv_shape *s, bool dots, vtac_finish *out);
/* Four bytes of the input as the dot product wants them. */
const vtac_expr *vtac_finish_bytes(vtac_lower *l, const vtac_finish *f, const vtac_expr *word);
const vtac_expr *vtac_finish_start(vtac_lower *l, const vtac_finish *f, const vtac_expr *channel);
/* Scale of the channel, for vtac_finish_value. */
const vtac_expr *vtac_finish_scale(vtac_lower *l, const vtac_finish *f, const vtac_expr *channel);
const vtac_expr *vtac_finish_value(vtac_lower *l, const vtac_finish *f, const vtac_expr *sum,
                                   const vtac_expr *scale);

#endif
