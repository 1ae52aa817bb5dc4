/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of emit.c that make the calls of a convolution's piece, for callers that order
 * pieces differently (group.c).
 */
#ifndef VTAC_VTA_EMIT_H
#define VTAC_VTA_EMIT_H

#include "sched.h"

/* The slots of a scratchpad, and their contents. */
typedef struct slots {
    int64_t first, size, count; /* entries: of the first slot, of each slot; number of slots */
    int64_t start, end;         /* the slot that is filled first; the entry behind the last used one */
    int64_t key[MAX_SLOTS];     /* by slot: its contents; -1: nothing */
    uint64_t used[MAX_SLOTS];
    uint64_t clock;
} slots;

void vtac_vta_slots_init(slots *s, int64_t first, int64_t size, int64_t count);
/* The first entry of the slot for `key`; *present tells whether it holds `key` already. Otherwise the least
 * recently used slot is given to `key`. */
int64_t vtac_vta_slots_take(slots *s, int64_t key, bool *present);

typedef struct emitter {
    const conv *c;
    const tiling *t;
    const constants *at;
    step_list *list;
    slots inp, wgt, params;
    int64_t others;           /* operands of joined sums, or tiles of pools, so far */
    int64_t *chunks;          /* WGT elements before chunk group · parts + part, owned */
    int64_t pieces;           /* number of pieces so far */
    int64_t sums, first_slot; /* of sums: the first entry of the slots; the slot that is filled first */
    vta_uop *uops;            /* room for a kernel, owned */
    int64_t table;            /* the table of REQUANT that this layer uses: 1 or 2 */
    bool fresh;               /* the newest parameters were loaded, not there */
    int64_t factor;           /* the entry of INP that holds minus the zero point of the input, if it is
                               * needed there */
} emitter;

/* A piece of work: one tile for one group of output blocks, and its places. */
typedef struct piece {
    int64_t group, blocks, tile_index;
    patch out;                  /* the outputs that it stores */
    patch tile;                 /* the outputs of the array; the same without a pool */
    int64_t acc, params, other; /* ACC entries: of sums, of parameters, of the joined sum's other operand */
    bool biases;                /* its biases are still to be made, from sums of weights */
} piece;

/* A reduction over one part of a piece's input: everything that is summed before another part begins. */
typedef struct reduction {
    int64_t index;
    part part;
    int64_t inp, wgt; /* first entries of the input and of the weights */
    bool init;        /* the piece's first reduction, which initializes the sums */
} reduction;

/* Entries in rows: `rows` rows, `pitch` entries apart, of `count` entries each, which are
 * `apart` entries apart. */
typedef struct entries {
    int64_t at, rows, pitch, count, apart;
} entries;

/* The rounding of sums to int8. */
typedef struct rounding {
    int64_t params; /* the first entry of the record */
    int32_t zero;
    const vtac_vta_layer *layer; /* the layer whose clamp and rounding mode apply */
} rounding;

/* The input pixels that a tile needs for a part of the window; and the loads of them. */
void vtac_vta_emit_input_of(const conv *c, const patch *tile, const part *p, extent *rows, extent *cols);
void vtac_vta_emit_load_input(emitter *e, const patch *tile, const part *p, int64_t sram);

/* Sets up the slots as the tiling says; owned: vtac_vta_emitter_close. */
void vtac_vta_emitter_open(emitter *e);
void vtac_vta_emitter_close(emitter *e);

/* Loads the weights, or the parameters, of a group of output blocks unless they are there; returns
 * their first entry. */
int64_t vtac_vta_emit_weights(emitter *e, int64_t group, int64_t index);
int64_t vtac_vta_emit_params(emitter *e, int64_t group);

/* A grid of pixels of a piece's tile, which the array makes in one call. */
typedef struct pixel_grid {
    int64_t to;           /* the entry of ACC of the first pixel */
    int64_t y, x;         /* the first pixel, relative to the tile */
    int64_t rows, cols;   /* numbers of pixels */
    int64_t down, across; /* distances of pixels */
    int64_t blocks;       /* 0; or of one pixel: so many output blocks in one call */
    int64_t phase;        /* the phase of the pixels, where there are several; then x and across count steps
                           * of the window */
} pixel_grid;

void vtac_vta_emit_grid(emitter *e, const piece *p, const reduction *t, int64_t n, const pixel_grid *which);

/* parted.c: the same for parted sums; and the maxima over the `ro` blocks from n on, which returns the first
 * entry of its results. */
void vtac_vta_emit_parted(emitter *e, const piece *p, const reduction *t, int64_t n);
int64_t vtac_vta_emit_parted_maxima(emitter *e, const piece *p, int64_t n);

/* pool.c: the pool over the sums of `ro` blocks, from entry `at` on; returns the first entry of its results.
 */
int64_t vtac_vta_emit_pool(emitter *e, const piece *p, int64_t at);

/* The array's work on output block n of a piece for one reduction. */
void vtac_vta_emit_gemm(emitter *e, const piece *p, const reduction *t, int64_t n);
void vtac_vta_emit_depthwise(emitter *e, const piece *p, const reduction *t, int64_t n);

/* One reduction for all blocks of a piece; after the `last` one it finishes and stores them. */
void vtac_vta_emit_reduction(emitter *e, piece *p, const reduction *t, bool last);

/* The loads of a layer's beginning: the constants of a joined sum, a table. */
void vtac_vta_emit_constants(emitter *e);

/* Requantizes the tiles of `ro` blocks from n on into INP: to entry `to`, with `pitch` entries from
 * row to row. */
void vtac_vta_emit_into_inp(emitter *e, const piece *p, int64_t n, int64_t to, int64_t pitch);

#endif
