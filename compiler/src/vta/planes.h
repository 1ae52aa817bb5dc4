/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of normalizations of planes: planes.c plans and emits their pieces, plane_steps.c the arithmetic.
 */
#ifndef VTAC_VTA_PLANES_H
#define VTAC_VTA_PLANES_H

#include "sched.h"

/* Constants in ACC: three records, minus n and minus its two parts, epsilon; then, for each entry of a chunk,
 * the numbers of its channels, one kind after the other; then the masks. */
enum {
    PLANE_MEAN,
    PLANE_PART = 2,
    PLANE_SQUARE = 4,
    PLANE_COUNT = 6,
    PLANE_COUNT_HIGH,
    PLANE_COUNT_LOW,
    PLANE_EPSILON,
    PLANE_CHANNELS
};
enum { CHANNEL_TIMES, CHANNEL_WEIGHT, CHANNEL_LOWER, CHANNEL_GAIN, CHANNEL_PLACES, CHANNEL_NUMBERS };
/* n and sums of squares lie in two numbers: so many bits, and what is above. */
enum { LIMB = 8 };
/* Arrays of a chunk: sums, by entry; what a group has; what the lanes of an entry have. */
enum { SUM_OF_X, SUM_LOW, SUM_HIGH, SUMS };
enum {
    GROUP_X,
    GROUP_LOW,
    GROUP_HIGH,
    GROUP_MEAN,
    GROUP_REST,
    GROUP_PART,
    GROUP_WORK,
    GROUP_MORE,
    GROUP_ARRAYS
};
enum { LANE_MEAN, LANE_PART, LANE_ROOT, LANE_DOWN, LANE_MULT, LANE_SHIFT, LANE_WORK, LANE_ARRAYS };

/* The lanes `first` … `end` - 1 of an entry of a chunk belong to a group of it. */
typedef struct plane_pair {
    int32_t group, entry, mask;
    int32_t first, end;
    bool begins; /* the group's first one */
} plane_pair;

typedef struct planes_emitter {
    const plan *p;
    step_list *list;
    vta_uop *uops; /* room for a kernel, owned */
    int64_t room;
    plane_pair *pairs; /* of the chunk, owned */
    int64_t pair_count, group_count;
    int64_t blocks; /* of the chunk */
} planes_emitter;

/* Some pixels of the chunk, in a slot that begins at entry `at`. */
typedef struct plane_piece {
    int64_t image, chunk, pixel, pixels, at;
} plane_piece;

/* The entries of an array by groups: where each channel has its own, most are by lanes. */
int64_t vtac_vta_planes_width(const planes_tiling *t);

void vtac_vta_planes_clear(planes_emitter *e);
/* Adds the numbers of a piece, and their squares, to the sums. */
void vtac_vta_planes_add(planes_emitter *e, const plane_piece *at);
/* Moves what the lower sums of squares have above LIMB bits to the higher ones. */
void vtac_vta_planes_carry(planes_emitter *e);
/* Makes the records of the sums. */
void vtac_vta_planes_records(planes_emitter *e);
void vtac_vta_planes_apply(planes_emitter *e, const plane_piece *at);

#endif
