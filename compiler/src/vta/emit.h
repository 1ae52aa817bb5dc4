/* SPDX-License-Identifier: Apache-2.0
 *
 * What emit.c makes of a convolution's piece, call by call, for those who put pieces in another order
 * (group.c).
 */
#ifndef VTAC_VTA_EMIT_H
#define VTAC_VTA_EMIT_H

#include "sched.h"

/* Slots of a scratchpad and what is in them. */
enum { MAX_SLOTS = 64 };
typedef struct slots {
    int64_t first, size, count; /* entries of the first slot; how many slots */
    int64_t start, end;         /* the slot that is filled first; the entry behind the last that was used */
    int64_t key[MAX_SLOTS];     /* -1: nothing */
    uint64_t used[MAX_SLOTS];
    uint64_t clock;
} slots;

void vtac_vta_slots_init(slots *s, int64_t first, int64_t size, int64_t count);
/* The entries of the slot for `key`; *present says whether it was there. The least recently used one goes. */
int64_t vtac_vta_slots_take(slots *s, int64_t key, bool *present);

typedef struct emitter {
    const conv *c;
    const tiling *t;
    const constants *at;
    step_list *list;
    slots inp, wgt, params;
    int64_t others;           /* tiles of a joined sum's other operand, or of a pool, so far */
    int64_t *chunks;          /* WGT elements before chunk group · parts + part, owned */
    int64_t pieces;           /* so far */
    int64_t sums, first_slot; /* where the slots of sums begin, and the one that is filled first */
    vta_uop *uops;            /* room for a kernel, owned */
    int64_t table;            /* of the two behind REQUANT, the one that is its own: 1, 2 */
} emitter;

/* A piece of work: a tile for a group of output blocks, and where it lies. */
typedef struct piece {
    int64_t group, blocks, tile_index;
    patch out;                  /* what it stores */
    patch tile;                 /* what the array makes: without a pool, the same */
    int64_t acc, params, other; /* ACC entries: sums, parameters, the other operand of a joined sum */
} piece;

/* One part of it: what is summed up at a time. */
typedef struct reduction {
    int64_t index;
    part part;
    int64_t inp, wgt; /* entries */
    bool init;        /* the first */
} reduction;

/* Entries in rows: `rows` of them, `pitch` from one to the next, of `count` that are `apart`. */
typedef struct entries {
    int64_t at, rows, pitch, count, apart;
} entries;

/* How sums become int8. */
typedef struct rounding {
    int64_t params; /* the record */
    int32_t zero;
    const vtac_vta_layer *layer; /* whose clamp it is, and whose way of rounding */
} rounding;

/* What a tile needs of the input for a part of the window; and its loads. */
void vtac_vta_emit_input_of(const conv *c, const patch *tile, const part *p, extent *rows, extent *cols);
void vtac_vta_emit_load_input(emitter *e, const patch *tile, const part *p, int64_t sram);

/* Where the slots are, as the tiling says; owned: vtac_vta_emitter_close. */
void vtac_vta_emitter_open(emitter *e);
void vtac_vta_emitter_close(emitter *e);

/* Weights and parameters of a group of output blocks are there, loaded where they are not: their entries. */
int64_t vtac_vta_emit_weights(emitter *e, int64_t group, int64_t index);
int64_t vtac_vta_emit_params(emitter *e, int64_t group);

/* Pixels of a piece's tile that the array makes in one call, and where they lie side by side. */
typedef struct pixel_grid {
    int64_t to;           /* entry of ACC of the first one */
    int64_t y, x;         /* the first one, in the tile, */
    int64_t rows, cols;   /* how many, */
    int64_t down, across; /* and how far apart */
} pixel_grid;

void vtac_vta_emit_grid(emitter *e, const piece *p, const reduction *t, int64_t n, const pixel_grid *which);

/* parted.c: the same for parted sums; and the maxima of the `ro` blocks from n on, returning where they lie.
 */
void vtac_vta_emit_parted(emitter *e, const piece *p, const reduction *t, int64_t n);
int64_t vtac_vta_emit_parted_maxima(emitter *e, const piece *p, int64_t n);

/* pool.c: the pool over `ro` blocks' sums, which begin at entry `at`; returns where its outputs lie. */
int64_t vtac_vta_emit_pool(emitter *e, const piece *p, int64_t at);

/* The array's work on output block n of a piece, over one part. */
void vtac_vta_emit_gemm(emitter *e, const piece *p, const reduction *t, int64_t n);
void vtac_vta_emit_depthwise(emitter *e, const piece *p, const reduction *t, int64_t n);

/* All blocks of a piece over one part; after the `last` one they are finished and stored. */
void vtac_vta_emit_reduction(emitter *e, piece *p, const reduction *t, bool last);

/* What it loads once: a joined sum's constants, a table. */
void vtac_vta_emit_constants(emitter *e);

/* Requantizes the tiles of `ro` blocks from n on into INP: from entry `to` on, `pitch` from row to row. */
void vtac_vta_emit_into_inp(emitter *e, const piece *p, int64_t n, int64_t to, int64_t pitch);

#endif
