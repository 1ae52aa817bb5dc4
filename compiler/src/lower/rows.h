/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of neighbouring elements, gone through by vectors (rows.c).
 */
#ifndef VTAC_LOWER_ROWS_H
#define VTAC_LOWER_ROWS_H

#include "lower.h"

/* Lanes for rows of so many elements of `type`; 1: not worth vectors. */
int64_t vtac_row_lanes(const vtac_lower *l, vtac_dtype type, int64_t extent);

/* Body of a loop over a row: element `i` in lane `lane`. */
typedef void vtac_row_fn(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane);
/* Goes through a row by vectors, a last one of fewer lanes, or by elements where `lanes` is 1. */
void vtac_each_of_row(vtac_lower *l, int64_t extent, int64_t lanes, vtac_row_fn *fn, void *context);

/* The lane of a loop over a vector's lanes; with one lane there is no loop, and its number is 0. */
const vtac_expr *vtac_lane_loop(vtac_lower *l, int64_t lanes);

/* Sets `lanes` elements of a local buffer. */
void vtac_set_lanes(vtac_lower *l, vtac_buffer *buffer, int64_t lanes, const vtac_expr *value);
/* All lanes of a local buffer, by `op`, in pairs. */
const vtac_expr *vtac_join_lanes(vtac_lower *l, const vtac_buffer *buffer, int64_t lanes, vtac_expr_op op);

/* One loop over the axes that are not marked, parallel where that pays; fills `at`. */
void vtac_open_others(vtac_lower *l, const vtac_type *type, const bool *marks, const vtac_expr **at);

/* The last axis of more than one place, or `axis`: what lanes go along. Its index may count on through the
 * axes before it, whose own are 0 then, as their elements lie behind each other. */
uint32_t vtac_lane_axis(const vtac_type *type, uint32_t axis);
/* Elements of a row that fill vectors of `type` well: loops over more axes are better left outside, for
 * threads. */
int64_t vtac_row_fills(const vtac_lower *l, vtac_dtype type);
/* True if the axes of an output may be counted as one: no later operand of the kernel tells them apart. */
bool vtac_counts_through(const vtac_lower *l);

#endif
