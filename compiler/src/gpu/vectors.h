/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes of vector loops, as printers of languages with vector types see them: which expressions differ from
 * lane to lane, which elements of a buffer are neighbours, and what is known of an index.
 */
#ifndef VTAC_GPU_VECTORS_H
#define VTAC_GPU_VECTORS_H

#include "../lower/lower.h"

enum { VTAC_ALL_LANES = -1 };

typedef enum vtac_lane_kind {
    VTAC_LANE_SCALAR,
    VTAC_LANE_VECTOR,
    VTAC_LANE_NUMBER,
    VTAC_LANE_LANE
} vtac_lane_kind;

/* A variable of a nest where it is printed. */
typedef struct vtac_lane_var {
    vtac_lane_kind kind;
    int64_t number; /* NUMBER: its value; LANE: that of lane 0 */
    unsigned even;  /* logarithm of a power of two that divides it, at lane 0 */
} vtac_lane_var;

typedef struct vtac_lanes {
    const vtac_kernel *kernel;
    vtac_lane_var *vars;
    unsigned lanes; /* of the vector loop around; 1: there is none */
    int lane;       /* the one that is printed, or VTAC_ALL_LANES */
} vtac_lanes;

bool vtac_lanes_is_vector(const vtac_lanes *at, const vtac_expr *e);
/* Lanes of what is printed of an expression. */
unsigned vtac_lanes_of(const vtac_lanes *at, const vtac_expr *e);
/* Step of an index from lane to lane: 0, 1, or anything else (-1). */
int vtac_lanes_step(const vtac_lanes *at, const vtac_expr *index);
/* The logarithm of a power of two that divides an expression at the lane that is printed; of all, at lane 0.
 */
unsigned vtac_lanes_evenness(const vtac_lanes *at, const vtac_expr *e);
/* The place of a buffer in the kernel's list. */
size_t vtac_lanes_buffer(const vtac_lanes *at, const vtac_buffer *buffer);

#endif
