/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the scheduler and the interfaces between them.
 *
 *   machine.c    a configuration in the units of a schedule
 *   kinds.def    the functions of each kind of layer
 *   supports.c   the rules that keep a layer off the accelerator
 *   decide.c     inputs folded by the host, sums and pools computed with their convolutions, tensors inside
 *                others, groups
 *   layout.c     the places of tensors in memory
 *   merge.c      neighbouring pixels of images with few channels become one pixel
 *   conv.c       a layer as a convolution: geometry, weights, parameters
 *   conv_plan.c  the choice of a tiling for a convolution
 *   tiling.c     the tilings of a convolution, and a rough estimate of each
 *   pack.c       the constants of a convolution
 *   emit.c       a convolution with its tiling as a list of calls
 *   group.c      several layers tile by tile, with the tensors between them on chip
 *   flow.c       a rough estimate of a group's time
 *   elementwise.c, window.c, move.c     the layers that are no convolutions
 *   rows.c       the layers that work on the channels of one pixel
 *   planes.c     normalizations over the pixels of an image
 *   recurrent.c  recurrent cells
 *   transpose.c  transpositions
 *   runs.c       movements of whole blocks of pixels
 *   factors.c    dense layers whose weights are multiples of numbers of 4 bits
 *   list.c       lists of calls
 *   interleave.c the calls of several layers in one order
 *   resident.c   the places of weights that stay on chip from one inference to the next
 *   ahead.c      prefetch: loads move up in a list
 *   early.c      the same where the timing model wants it
 *   order.c      layers that keep the ALU busy beside layers that keep the array busy
 *   timing.c     the time that a list takes; model.h names its parts
 *   alike.c      layers that are repeated, in the search
 *   schedule.c   the whole region
 *
 * Words. A *tile* in memory is what the layout keeps together: one pixel of one block of C channels, for B
 * images. It is `ri` elements of INP and `ro` elements of OUT and ACC; one of the two is 1. Channels come in
 * *blocks* of block_in (input side) and block_out (output side), so a tile holds ri input blocks or ro output
 * blocks. README.md has the other words.
 */
#ifndef VTAC_VTA_SCHED_H
#define VTAC_VTA_SCHED_H

#include <stdbool.h>

#include "list.h"
#include "vta/arena.h"
#include "vta/number.h"
#include "vtac/vta.h"

/* machine.c */

typedef struct machine {
    const vta_config *config;
    int64_t batch, block_in, block_out;
    int64_t block;              /* C, the channels of a tile */
    int64_t ri, ro;             /* elements of a tile in INP; in OUT or ACC */
    int64_t inp, wgt, acc, uop; /* the scratchpads' sizes in entries */
    int64_t side;               /* of a share: entries of ACC for everything but sums; else 0 */
    int64_t lag;                /* of a share: the cost of beginning late, in per cent of a layer's cycles */
    bool by_blocks;             /* of a share: the layer's neighbours work block by block, not row by row */
    int64_t beat;               /* bytes that the bus moves in a cycle, in each direction */
    int64_t first_acc;          /* of a share: the first of its entries of ACC, for layers on rows; else 0 */
    double shared; /* bytes that the memory moves in a cycle, both directions together; 0: no limit */
    int64_t latency, answer; /* cycles to a read's first beat; from a write's last beat to its answer */
    double both;             /* `shared` while both directions are busy, as turning the bus takes time */
    double reopen;           /* cycles that a burst costs the memory besides its bytes */
} machine;

vta_status vtac_vta_machine_of(const vta_config *config, machine *out, vta_diag *diag);

/* conv.c: every layer that runs as a convolution, by rows of a weight matrix, one row per output channel. */

typedef struct conv {
    const machine *machine;
    const vtac_vta_region *region;
    const vtac_vta_layer *layer;
    uint32_t number;        /* the layer's number */
    uint32_t input, output; /* numbers of tensors */
    int64_t images;         /* groups of `batch` */
    int64_t c_in, h, w;     /* the input as it is stored */
    int64_t c_out, oh, ow;  /* the output */
    int64_t groups;
    vtac_vta_window window;
    vtac_vta_window fold;          /* the part of the window that the host does; else a kernel of 1 x 1 */
    int64_t in_blocks, out_blocks; /* out_blocks fills whole tiles */
    int64_t ro;                    /* output blocks of a tile; 1 where a block is a pixel of a merged one */
    const uint8_t *tiles; /* by phase, output block, input block and tap: 0 if it has no weights; or NULL */
    int64_t filled;       /* the number of tiles that have weights */
    int64_t planes;       /* of int8 whose sum is w less its zero point: 1; 2 for 9 bits; 3 for more */
    bool narrow;          /* int4 holds each weight less its zero point: LOADs extend them to int8 */
    bool depthwise;       /* each channel by itself, on the DEPTHWISE instruction */
    bool twice; /* the input is there twice: two output blocks share tiles of weights, half of a tile each */
    bool alike; /* depthwise with the same weights in all blocks */
    int64_t phases; /* pixels of a row of the output that a step of the window makes, with weights for each;
                     * 1, or more where pixels of the input alone are merged */
    int64_t lanes;  /* depthwise with merged pixels in its input: the channels of each; else 0 */
    int64_t pairs;  /* records of parameters: one per output block; of means, one per divisor */
    int64_t record; /* ACC entries of a record */
    int64_t piece_rows, piece_cols; /* depthwise: the largest part of the window in a WGT entry */
    bool three;                     /* depthwise in pieces of 3 x 3 only, whose three rows are read at once */
    int32_t zero_in, zero_out, low, high;
    int32_t rounded;           /* the zero point before the table; zero_out without one */
    const vtac_vta_layer *sum; /* the sum that is joined, or NULL; `output` is the sum's then */
    uint32_t other;            /* the tensor that is the sum's other operand */
    int32_t factor, other_factor;
    const vtac_vta_layer *pool; /* the pool that is joined, or NULL; `output` is the pool's then */
    int64_t mean_record;        /* a pool of means: entries of its record of parameters; else 0 */
    int32_t mean_zero;          /* a pool of means: the zero point of its results */
    int64_t slice;              /* of the pool's output: this convolution's first tile block */
    int64_t made[2];            /* rows and columns of its own output; without a pool oh, ow */
} conv;

/* Fills in the geometry of a layer. The input's layout must be known, or given by the fold. A pointwise layer
 * without padding becomes one long row. */
void vtac_vta_conv_of(const machine *m, const vtac_vta_region *region, uint32_t number, conv *out);

/* Joins a sum: the convolution makes one of its operands. */
void vtac_vta_conv_join(conv *c, const vtac_vta_layer *sum);

/* Joins a pool over the convolution's output, or over a concatenation in which the output begins at tile
 * block `slice`. A maximum pool comes before requantization, as requantization preserves order. Means are
 * taken of requantized numbers, and requantized themselves. */
void vtac_vta_conv_pool(conv *c, const vtac_vta_layer *pool, int64_t slice);

/* The parts of a window that the host can do while it writes an input. */
typedef enum fold_kind { FOLD_NONE, FOLD_COLUMNS, FOLD_ALL, FOLD_KINDS } fold_kind;
vtac_vta_window vtac_vta_conv_fold(const vtac_vta_window *window, fold_kind kind);

/* The input blocks that the output blocks out_block … out_block + count - 1 need: all blocks, except in
 * grouped convolutions, which need only the blocks of their groups. */
typedef struct reach {
    int64_t first, count;
} reach;
reach vtac_vta_conv_reach(const conv *c, int64_t out_block, int64_t count);

/* Input pixels from row to row in INP for rows of `cols` pixels; odd where three rows are read at once. */
int64_t vtac_vta_conv_pitch(const conv *c, int64_t cols);

/* A range of rows or columns. */
typedef struct interval {
    int64_t at, count;
} interval;

/* The steps of the window along a row that make the outputs at … at + count - 1; and the most that `count`
 * outputs need, wherever they begin. */
interval vtac_vta_conv_steps(const conv *c, int64_t at, int64_t count);
int64_t vtac_vta_conv_steps_max(const conv *c, int64_t count);
/* True if a window has one tap, stride 1 and no padding. */
bool vtac_vta_window_is_point(const vtac_vta_window *w);

/* A weight of the folded layer minus its zero point; 0 outside the window. With phases, output
 * phase · c_out + out has the weights of that phase. */
int32_t vtac_vta_conv_weight(const conv *c, int64_t out, int64_t in, int64_t ky, int64_t kx);

/* The form in which LOADs find the weights in DRAM. */
static inline vta_memory conv_form(const conv *c)
{
    return c->narrow ? VTA_MEM_WGT4 : VTA_MEM_WGT;
}

/* True if the weights are an input of the region (conv_packed); the parameters, too (conv_packs_params). */
static inline bool conv_packed(const conv *c)
{
    return c->layer->kind == VTAC_VTA_CONV && c->layer->weights == NULL;
}

/* True if the sums are stored unrounded, byte by byte. */
static inline bool conv_whole(const conv *c)
{
    return c->layer->kind == VTAC_VTA_CONV && c->layer->bytes > 0;
}

/* True if the packed weights are an image of the region; and if the sums of weights, which such a layer needs
 * for its first input's zero point, are made by the array. */
static inline bool conv_is_image(const conv *c)
{
    return conv_packed(c) && c->layer->image;
}

static inline bool conv_sums_weights(const conv *c)
{
    return conv_is_image(c) && c->zero_in != 0;
}

static inline bool conv_packs_params(const conv *c)
{
    return conv_packed(c) && !c->layer->image && c->layer->input_count > 2;
}

/* True if parameters depend on a pixel's divisor and not on its block. */
static inline bool conv_is_mean(const conv *c)
{
    return c->layer->kind == VTAC_VTA_AVG_POOL;
}

/* The number of output blocks that have channels. Blocks behind them pad the last tile: the array clears
 * their sums, and what is stored of them is 0. */
static inline int64_t conv_made_blocks(const conv *c)
{
    const int64_t block_out = c->machine->block_out;
    return conv_packed(c) ? c->out_blocks : (c->c_out + block_out - 1) / block_out;
}

/* The number of output blocks that have weights. */
static inline int64_t conv_used_blocks(const conv *c)
{
    return c->groups > 1 ? c->out_blocks : conv_made_blocks(c);
}

/* The layer with a table behind it, among the layers that the convolution computes; or NULL. */
static inline const vtac_vta_layer *conv_table(const conv *c)
{
    return c->layer->behind != NULL ? c->layer : c->sum != NULL && c->sum->behind != NULL ? c->sum : NULL;
}

/* True if the output is stored twice. */
static inline bool conv_makes_twice(const conv *c)
{
    return c->region->tensors[c->output].twice;
}

/* A record of REQUANT's parameters: `lanes` numbers in each of its ACC entries. */
static inline int64_t record_entries(bool wide)
{
    return wide ? 4 : 2;
}
void vtac_vta_record_fill(int32_t *lane, int64_t lanes, bool wide, int32_t bias, vtac_fixed scale);

/* The entries that the parameters of a joined sum or pool take, which are also their alignment. */
static inline int64_t joined_record(const conv *c)
{
    return c->sum != NULL ? record_entries(c->sum->wide) : vta_max(c->mean_record, 1);
}

/* The scale of a layer that has one scale. Additions without 31-bit multipliers have a shift instead. */
static inline vtac_fixed sum_scale(const vtac_vta_layer *layer)
{
    return layer->wide ? layer->scales[0] : (vtac_fixed){1, layer->sum.shift};
}

/* Fills in all records, one after the other. */
void vtac_vta_conv_params(const conv *c, int32_t *entries);

/* tiling.c */

/* A tiling of a convolution. Every number is a maximum; pieces at the edges are smaller. */
typedef struct tiling {
    int64_t rows, cols;           /* output pixels of a tile */
    int64_t group;                /* output blocks at a time; fills whole tiles */
    int64_t part;                 /* input tile blocks at a time */
    int64_t part_rows, part_cols; /* taps of the window at a time */
    bool tiles_outside;           /* the outer loop goes over tiles, the inner one over groups */
    int64_t kept; /* under a pool: rows that a tile leaves for the tile below, the next one; or 0 */
    bool parted;  /* under a pool: sums are stored by the parity of row and column (parted.c) */
    /* the members below follow from those above */
    int64_t row_tiles, col_tiles, tiles; /* tiles: in all images */
    int64_t groups, block_parts, window_parts, parts;
    int64_t in_rows, in_cols;                         /* a tile's input for one part */
    int64_t inp_size, wgt_size, acc_size, param_size; /* entries of a slot */
    int64_t inp_slots, wgt_slots, acc_slots, param_slots;
    int64_t param_groups;                         /* groups whose parameters share a slot */
    int64_t param_first;                          /* in ACC: the first entry of parameters; sums begin at 0 */
    int64_t other_first, other_size, other_slots; /* of a sum's other operand, or a pool's outputs */
    int64_t fixed_first;                          /* a joined sum's constants: a record, two factors */
    int64_t acc_used, side_used;                  /* entries used: of ACC from the first on; of its side */
    int64_t inp_first, wgt_first, acc_first;      /* the first entries of its parts of the scratchpads */
} tiling;

enum { MAX_SLOTS = 64 }; /* of a scratchpad */

/* The cycles for which a schedule keeps each unit busy, and its traffic. */
typedef struct load_of_units {
    uint64_t array, alu, load, store;
    uint64_t bytes_read, bytes_written;
} load_of_units;

void vtac_vta_tiling_measure(const conv *c, const tiling *t, load_of_units *out);
/* Pixels of the input that are one. */
static inline int64_t conv_merged(const conv *c)
{
    return c->lanes > 0 ? c->c_in / c->lanes : 1;
}

/* Cycles of the array for one row of `cols` output pixels of a block. */
int64_t vtac_vta_tiling_row_cycles(const conv *c, int64_t reach_blocks, int64_t cols);
/* The same for all output blocks, `row_cycles` each; blocks that pad a tile cost less. */
int64_t vtac_vta_tiling_all_cycles(const conv *c, int64_t row_cycles, int64_t cols);
/* A rough estimate of the cycles of the layer alone; `units` gets the work of each unit. */
uint64_t vtac_vta_tiling_estimate(const conv *c, const tiling *t, load_of_units *units);

/* The best tilings by the rough estimate, best first, at most `room`, each of another class. VTA_UNSUPPORTED
 * if nothing fits. */
vta_status vtac_vta_tiling_choose(const conv *c, tiling *out, uint32_t room, uint32_t *count, vta_diag *diag);

/* The extra cost of a tiling where layers overlap: the layer waits for the layer that makes its input, and
 * its instructions are read while the bus is busy. */
uint64_t vtac_vta_tiling_lag(const conv *c, const tiling *t, uint64_t cycles, uint64_t calls);

/* Gives up slots that save no loads; returns the entries that remain in use in each scratchpad. */
typedef struct entries_used {
    int64_t inp, wgt, acc, side;
} entries_used;
entries_used vtac_vta_tiling_trim(const conv *c, tiling *t);
/* Moves a tiling to the first entries of its parts of the scratchpads. */
void vtac_vta_tiling_move(tiling *t, const entries_used *to);

/* For reports: "rows 14 of 56, 4 of 16 out blocks, weights stay". */
void vtac_vta_tiling_describe(const conv *c, const tiling *t, char *text, size_t size);

/* A piece of the loops: output pixels, or input pixels of a part of the window. */
typedef struct patch {
    int64_t image, y, x, rows, cols;
} patch;
patch vtac_vta_tiling_tile(const conv *c, const tiling *t, int64_t index);
/* The rows of its own output that a convolution makes for `count` outputs from `at` on; kept rows excluded.
 */
interval vtac_vta_tiling_rows(const conv *c, const tiling *t, int64_t at, int64_t count);

/* Along dimension d: the rows or columns of its own output that a convolution makes for the outputs
 * at … at + count - 1, and the maximum for any `count` outputs. Without a pool, both are the same. */
interval vtac_vta_conv_made(const conv *c, int d, int64_t at, int64_t count);
int64_t vtac_vta_conv_made_max(const conv *c, int d, int64_t count);
/* The rows that a pool's windows share with the windows below; 0 if a tile cannot keep them for the next. */
int64_t vtac_vta_conv_shared_rows(const conv *c);
/* The taps of a pool's window along dimension d that lie inside the image for output `at`. */
interval vtac_vta_conv_pool_taps(const conv *c, int d, int64_t at);
/* True if sums can be parted: the row and the column that only one window of the pool covers must lie inside
 * the image for every window. vtac_vta_conv_own_first is that row or column for output `at`. */
bool vtac_vta_conv_can_part(const conv *c);
int64_t vtac_vta_conv_own_first(const conv *c, int d, int64_t at);

typedef struct part {
    int64_t block, blocks; /* input tile blocks, counted from vtac_vta_conv_reach's first */
    int64_t ky, kys, kx, kxs;
} part;
part vtac_vta_tiling_part(const conv *c, const tiling *t, int64_t group, int64_t index);

/* DEPTHWISE: a piece of a part's window, one WGT entry, at (y, x) from the part's first tap. Pieces of 3 x 3
 * may overlap; the taps before row `fresh_y` or column `fresh_x` belong to another piece then. */
typedef struct window_piece {
    int64_t y, x, rows, cols;
    int64_t fresh_y, fresh_x;
} window_piece;
int64_t vtac_vta_piece_count(const conv *c, int64_t rows, int64_t cols);
window_piece vtac_vta_piece_of(const conv *c, const part *p, int64_t index);

/* Means have one weight for all taps: pieces of one shape share a WGT entry, and parts of one shape share the
 * chunk of the first such part. In other layers every piece and every part has a kind of its own. */
int64_t vtac_vta_piece_kind(const conv *c, const part *p, int64_t index);
int64_t vtac_vta_piece_of_kind(const conv *c, const part *p, int64_t kind);
int64_t vtac_vta_chunk_of(const conv *c, const tiling *t, int64_t group, int64_t part);

/* The input blocks of a part that a group of output blocks needs, and the WGT entries of one output block in
 * it: one per step of the array; for DEPTHWISE, whose entries serve all `ro` blocks of a tile, one per piece.
 */
reach vtac_vta_part_reach(const conv *c, const tiling *t, int64_t group, const part *p);
int64_t vtac_vta_part_entries(const conv *c, const tiling *t, int64_t group, const part *p);
int64_t vtac_vta_chunk_entries(const conv *c, const tiling *t, int64_t group, const part *p);
int64_t vtac_vta_group_blocks(const conv *c, const tiling *t, int64_t group);
/* The blocks of a group that have channels. Those behind them share one entry of zeros, the last of a chunk.
 */
int64_t vtac_vta_filled_blocks(const conv *c, const tiling *t, int64_t group);

/* Planning, packing and emitting, for every kind of layer. */

/* The places of a layer's constants: elements of WGT and of ACC from the start of CONSTANTS. */
enum { TABLE_BYTES = 256 };
typedef struct constants {
    int64_t weights, params, sum;
    int64_t table; /* in bytes */
} constants;

/* Windows through the ALU (window.c): output pixels of a tile, window rows at a time, entries of slots. */
typedef struct window_tiling {
    int64_t rows, cols, part, in_slot, out_slot;
    int64_t first; /* the first entry of ACC that the layer may use */
} window_tiling;

/* Movements (move.c). A *place* is up[0] x up[1] output pixels. */
typedef struct move_tiling {
    int64_t up[2], down[2], places[2]; /* output and input pixels of a place; the number of places */
    int64_t first[2], last[2];         /* the input pixels that a place reads, relative to its own */
    bool one_row;                      /* the image is one long row */
    int64_t records;                   /* of a lane: one per phase, or one for all phases */
    int64_t group;                     /* output tile blocks at a time */
    int64_t rows, cols;                /* places at a time */
    int64_t sources, steps, widest;    /* of the largest group; widest: steps of its widest block */
} move_tiling;

/* Layers that are computed together, one tile of the last layer's output at a time (group.c). */
enum { MAX_MEMBERS = 3 };
typedef struct group_member {
    conv conv;
    tiling tiling; /* rows, cols: the largest output; inp_*: the slots of its input */
    constants at;
    load_of_units units;
} group_member;

/* A tiling of a group. */
typedef struct group_tiling {
    uint64_t cycles;
    int64_t rows, cols; /* output pixels of the last member in a tile */
    int64_t lines;      /* slots between two members */
    bool streams;
} group_tiling;

typedef struct layer_group {
    group_tiling how;
    uint32_t count;
    bool streams; /* the last member has a tile's whole input, and works beside the next tile */
    group_member members[MAX_MEMBERS];
} layer_group;

/* Layers on rows (rows.c): the channels of one pixel. */
typedef struct row_tiling {
    int64_t numbers;       /* of a row */
    int64_t entries, used; /* of a row: entries of its tiles; those that have channels */
    int64_t pixels, slots; /* rows of a piece, which fills a slot */
    /* entries of ACC: the first of each row's two records, and of a record; of constants, squares, the mask,
     * slots */
    int64_t record[2], record_size[2], fixed, squares, mask, first;
    int64_t masked; /* rows that have a mask of their own in a piece: each, or one for all; 0: none */
} row_tiling;

/* Normalizations of planes (planes.c). A *chunk* is some tile blocks that hold whole groups. Entry e of a
 * chunk's pixel, in the order of channels, is entry e % ro * blocks + e / ro of each array below. */
typedef struct planes_tiling {
    int64_t each;                   /* channels of a group */
    int64_t blocks, chunks;         /* tile blocks of a chunk; chunks of an image */
    int64_t entries, groups, pairs; /* of a chunk; pairs of a group and an entry that it has lanes of */
    int64_t masks;                  /* of the lanes of pairs, each once */
    int64_t pixels, slots;          /* of a piece, which fills a slot */
    /* entries of ACC: the first of records, constants, sums, groups, lanes, pairs, slots */
    int64_t record, fixed, sums, by_group, by_lane, apart, first;
} planes_tiling;

/* Recurrent cells (recurrent.c). A *row* is a block of one gate's units; the sums of `chunk` steps have
 * places in a ring. */
typedef struct recurrent_tiling {
    int64_t batch, rows, state_rows;  /* rows: of all gates; state_rows: of one, which are those of a state */
    int64_t terms[2];                 /* blocks of the input and of the state */
    int64_t chunk, slot, slots;       /* WGT: entries of a slot, and the slots */
    int64_t piece, areas;             /* INP: steps of the inputs in an area, and the areas */
    int64_t reset, input;             /* INP: the state behind a reset gate, the inputs */
    int64_t fixed, biases, wide, out; /* ACC: records of no row, biases of the state's sums, C or H, h */
    int64_t work[2], sums;            /* gates, at both ends; the ring of sums */
} recurrent_tiling;

/* Transpositions (transpose.c), in blocks: of the input's channels and pixels; how many of them at a time. */
typedef struct transpose_tiling {
    int64_t in_blocks, out_blocks, ins, outs;
} transpose_tiling;

/* Movements of whole blocks (runs.c): the tiles of a slot. */
typedef struct runs_tiling {
    int64_t slot;
} runs_tiling;

/* Dense layers whose weights are multiples of numbers of 4 bits (factors.c). */
typedef struct factor_tiling {
    int64_t block;                         /* inputs of an output that share a factor */
    int64_t in_blocks, out_blocks, groups; /* tile blocks; blocks of inputs that have a factor */
    int64_t per_group;                     /* tile blocks of one of these */
    int64_t record;                        /* entries of ACC */
    int64_t pixels, outs, part;            /* of a piece: pixels, output blocks; groups loaded together */
    int64_t inp_slots, wgt_size, acc_size; /* slots of INP; entries of a slot */
    bool by_images;                        /* images of one pixel each count as pixels of one image */
} factor_tiling;

typedef struct plan {
    const machine *machine;
    const vtac_vta_region *region;
    const vtac_vta_layer *layer;
    uint32_t number;
    int64_t images; /* groups of `batch` */
    constants at;
    load_of_units units;
    uint64_t cycles; /* a rough estimate of the layer alone */
    bool grouped;    /* a group; `layer` is its last member */
    bool factored;   /* a dense layer by factors.c */
    union {
        layer_group group;
        struct {
            conv conv;
            tiling tiling;
        };
        window_tiling window;
        move_tiling move;
        row_tiling rows;
        planes_tiling planes;
        recurrent_tiling recurrent;
        transpose_tiling transpose;
        runs_tiling runs;
        factor_tiling factors;
    };
} plan;

/* The entries of a joined sum's constants: a record of parameters and the factors of the two operands,
 * rounded up so that the next record stays aligned. */
enum { SUM_FACTORS = 2 };
static inline int64_t sum_constants(const vtac_vta_layer *sum)
{
    return 2 * record_entries(sum->wide);
}

/* Tilings of a convolution with the cycles that the timing model gives each alone. UINT64_MAX marks a tiling
 * that takes FAR_TILING times as long as an earlier one or longer: the search skips it. */
#define FAR_TILING 1.25
uint64_t vtac_vta_far_limit(uint64_t best);
enum { MAX_TRIALS = 32 };
typedef struct trials {
    tiling tilings[MAX_TRIALS];
    uint64_t cycles[MAX_TRIALS]; /* 0: unknown */
    uint32_t count;
} trials;

/* Chooses the tiling that the timing model finds fastest among the first `room` of the rough estimate; `all`
 * gets all of them. */
vta_status vtac_vta_conv_refine(plan *p, uint32_t room, trials *all, vta_diag *diag);
/* The cycles of the fastest such tiling, or `limit` if none is below it. The timing of a tiling ends as soon
 * as it cannot be the fastest. */
vta_status vtac_vta_conv_fastest(plan *p, uint32_t room, uint64_t limit, vta_diag *diag);
/* Lets `schedules` pick a tiling; the plan's present tiling is the standard one. */
vta_status vtac_vta_conv_pick(plan *p, const vtac_schedules *schedules, vta_diag *diag);

/* Plans a convolution with layer `after`, a sum or a pool, joined to it. In a pool's output, the convolution
 * makes the tile blocks from `slice` on. */
vta_status vtac_vta_conv_plan_joined(const machine *m, const vtac_vta_region *region, uint32_t number,
                                     uint32_t after, int64_t slice, plan *out, vta_diag *diag);

/* Fills in the members that all kinds share. */
void vtac_vta_plan_init(const machine *m, const vtac_vta_region *region, uint32_t number, plan *out);

/* A rough estimate of cycles: those of the busiest unit, and a memory latency at either end. */
uint64_t vtac_vta_units_cycles(const load_of_units *units);
void vtac_vta_plan_cost(const plan *p, vtac_vta_cost *out);

/* A growing array of bytes; each addition begins at a multiple of its alignment. */
typedef struct blob {
    uint8_t *bytes;
    size_t size, capacity;
    bool places_only; /* only offsets are wanted, not contents */
} blob;
uint8_t *vtac_vta_blob_add(blob *b, uint64_t size, uint64_t align,
                           uint64_t *offset); /* zeroed; NULL: no memory */

typedef vta_status kind_rule(const machine *m, const vtac_vta_region *region, uint32_t number,
                             vta_diag *diag);
typedef vta_status kind_plan(const machine *m, const vtac_vta_region *region, uint32_t number, plan *out,
                             vta_diag *diag);
typedef vta_status kind_pack(plan *p, blob *to, vta_diag *diag);
typedef vta_status kind_emit(const plan *p, step_list *list, vta_diag *diag);

typedef struct kind_of_layer {
    const char *name;
    kind_rule *rule;
    kind_plan *plan;
    kind_pack *pack;
    kind_emit *emit;
} kind_of_layer;
extern const kind_of_layer vtac_vta_layer_kinds[VTAC_VTA_KINDS];

#define VTAC_VTA_KIND(id, name, rule, family)                                                                \
    kind_rule vtac_vta_##rule;                                                                               \
    kind_plan vtac_vta_##family##_plan;                                                                      \
    kind_pack vtac_vta_##family##_pack;                                                                      \
    kind_emit vtac_vta_##family##_emit;
#include "kinds.def"
#undef VTAC_VTA_KIND

/* runs.c */

/* True if a layer moves nothing: its output has the tiles of its only input in their order. */
bool vtac_vta_runs_are_one(const machine *m, const vtac_vta_region *region, const vtac_vta_layer *layer);

/* recurrent.c */

/* The multiplications of all steps. */
uint64_t vtac_vta_recurrent_macs(const vtac_vta_layer *layer, int64_t batch);

/* factors.c */

/* Plans a dense layer by its weights' factors; false: it has none, this machine cannot load them, or they do
 * not fit. */
bool vtac_vta_factors_plan(const machine *m, const vtac_vta_region *region, uint32_t number, plan *out);
/* Takes the number of output blocks in a piece that the timing model finds fastest; false: none is below
 * `limit`. */
bool vtac_vta_factors_refine(plan *p, uint64_t limit);
kind_pack vtac_vta_factors_pack;
kind_emit vtac_vta_factors_emit;
void vtac_vta_factors_describe(const plan *p, char *text, size_t size);

/* group.c */

/* Tilings that were timed. */
typedef struct group_trials {
    group_tiling tilings[MAX_TRIALS];
    uint32_t count;
} group_trials;

/* Plans a group of layers, each of which reads its predecessor's output, with a sum (or NULL) joined to the
 * last. VTA_UNSUPPORTED if they cannot form a group, VTA_RANGE if it does not fit. */
vta_status vtac_vta_group_plan(const machine *m, const vtac_vta_region *region, const uint32_t *numbers,
                               uint32_t count, const vtac_vta_layer *sum, plan *out, vta_diag *diag);
/* Chooses the tiling that the timing model finds fastest among the first `room` of the rough estimate; `all`
 * gets all of them. */
vta_status vtac_vta_group_refine(plan *p, uint32_t room, group_trials *all, vta_diag *diag);
/* Gives a group one of its tilings. */
void vtac_vta_group_apply(plan *p, const group_tiling *how);
kind_pack vtac_vta_group_pack;
kind_emit vtac_vta_group_emit;
/* The entries that a group uses of each scratchpad; and moves its parts of the scratchpads to `to`. */
entries_used vtac_vta_group_use(const plan *p);
void vtac_vta_group_move(plan *p, const entries_used *to);
/* Describes the tiling of one member. */
void vtac_vta_group_describe(const plan *p, uint32_t member, char *text, size_t size);

/* pack.c */

/* The zero point to which a layer rounds: its output's, or the table's input's. */
static inline int32_t zero_rounded(const vtac_vta_layer *layer, const vtac_vta_tensor *to)
{
    return layer->behind != NULL ? layer->between : to->zero;
}

/* Packs the table of a layer and sets at.table. */
vta_status vtac_vta_table_pack(plan *p, const vtac_vta_layer *layer, const int8_t *table, blob *to,
                               vta_diag *diag);

/* The WGT elements before each chunk (group · parts + part), and their total at the end. A chunk that is the
 * same as another one (vtac_vta_chunk_of) has none. Owned; NULL: no memory. */
int64_t *vtac_vta_chunk_table(const conv *c, const tiling *t);

/* Input pixels along one dimension: `count` inside the image from `at` on; the others are padding. */
typedef struct extent {
    int64_t at, count, before, after;
} extent;
extent vtac_vta_extent_of(int64_t at, int64_t count, int64_t size);

/* resident.c */

/* Makes `to` of `from`, whose LOADs have not moved up yet: weights have other places in WGT, of which the
 * last `shared` entries are used in turn; weights in the others stay there. False: that is not possible. */
bool vtac_vta_resident_place(const machine *m, const step_list *from, int64_t shared, step_list *to);

/* interleave.c */

enum { INTERLEAVE_WINDOW = 4 }; /* layers that may be under way besides the oldest */

/* A layer's drafts, and the parts of the scratchpads that they use. */
typedef struct interleave_stage {
    size_t end;                     /* the first draft behind the layer's own */
    list_range inp, wgt, acc, side; /* ranges of entries */
    bool table;
    bool began;
    uint32_t beside; /* result: 1 + the oldest unfinished stage when this one begins */
} interleave_stage;

/* Puts the list's drafts in order. With `cycles` it only estimates how long they take, and appends nothing.
 */
vta_status vtac_vta_list_interleave(step_list *list, const machine *m, interleave_stage *stages,
                                    uint32_t count, uint64_t work_bytes, uint64_t *cycles, vta_diag *diag);

/* early.c */

/* Moves LOADs of parameters and weights up where the timing model finds the list faster by it. Results do not
 * change. */
void vtac_vta_list_hoist(step_list *list, const machine *m, uint64_t work_bytes);

/* order.c */

/* ORDER_CELLS: the parts of recurrent cells, whose calls of the ALU take their steps and nothing beyond, as
 * many calls in a row of a few entries do. ORDER_LAYERS: the calls of the array keep their order, and so do
 * LOADs into one scratchpad. ORDER_FREE: they keep it within a layer alone. ORDER_LATE: as ORDER_LAYERS, and
 * LOADs of parameters into ACC wait for the bus as other LOADs do. */
typedef enum order_rule { ORDER_CELLS, ORDER_LAYERS, ORDER_FREE, ORDER_LATE } order_rule;

/* Puts the calls of a list into an order in which the array and the ALU work on different layers at a time,
 * or on parts of a recurrent cell. Results do not change. */
void vtac_vta_list_order(step_list *list, const machine *m, uint64_t work_bytes, order_rule how);

/* decide.c */

/* Decisions about a region, made before its layers are planned. */
typedef struct decisions {
    int32_t *sum_of;  /* by convolution: the layer that it is computed with and whose place it takes; or -1 */
    int32_t *made_by; /* by such a layer: its convolution, or the first of several; or -1 */
    int32_t *part_of; /* by tensor: the tensor that it is a slice of; or -1 */
    int64_t *block;   /* by tensor: its first block in that tensor */
    int32_t *feeds;   /* by layer: the next member of its group, which reads its output on chip; or -1 */
    int32_t *fed_by;  /* by layer: the member before it; or -1 */
} decisions;

/* Layers form a group if that is faster than they are although they overlap; or, eagerly, faster than one by
 * one, and then before pools of means are joined to convolutions or behind that. */
typedef enum eagerness { GROUPS_SURELY, GROUPS_EAGERLY, GROUPS_BEHIND_POOLS } eagerness;
vta_status vtac_vta_decisions_make(const machine *m, vtac_vta_region *region, const vtac_vta_options *options,
                                   eagerness groups, decisions *out, vta_diag *diag);
void vtac_vta_decisions_free(decisions *d);
bool vtac_vta_decisions_alike(const vtac_vta_region *region, const decisions *a, const decisions *b);

/* The members of the group whose last member is `last`, in order; returns 1 for a layer without a group. */
uint32_t vtac_vta_decisions_members(const decisions *d, uint32_t last, uint32_t *members);

/* merge.c */

/* A region in which pixels of some tensors are merged. */
typedef struct merger {
    const machine *machine;
    const vtac_vta_region *from;
    int64_t *by;     /* by tensor of `from`: the pixels that become one; 1: the tensor stays as it is. Then by
                      * layer: 1 if its output may stay as it is although pixels of its input are merged */
    int64_t *before; /* the same before the last change */
    int64_t *saved;  /* the same as _save found it */
    bool splits;     /* tries let merged pixels end wherever they can */
    vtac_vta_region region;
    vta_arena arena;
    bool failed; /* no memory */
} merger;

vta_status vtac_vta_merge_open(const machine *m, const vtac_vta_region *from, merger *out, vta_diag *diag);
void vtac_vta_merge_close(merger *g);
/* Merges as many pixels of a tensor as fit in a tile, and what other tensors then must; false, and nothing
 * changed, if none can be, or with `splits` if merged pixels end nowhere. _swap takes the last change back,
 * and makes it again. */
bool vtac_vta_merge_try(merger *g, uint32_t tensor);
void vtac_vta_merge_swap(merger *g);
/* Notes the present choice, and goes back to it. */
void vtac_vta_merge_save(merger *g);
void vtac_vta_merge_restore(merger *g);
/* Makes the region for the present choice. */
vta_status vtac_vta_merge_make(merger *g, vta_diag *diag);
/* Gives the tensors of the region that pixels were merged in the places that they got. */
void vtac_vta_merge_lay_out(const merger *g, vtac_vta_region *to);

/* layout.c */

/* Decides which tensors are stored twice, where a tile has two output blocks: those of dense layers of few
 * inputs, half of whose tiles of weights would be zeros. */
void vtac_vta_layout_twice(const machine *m, vtac_vta_region *region);
vta_status vtac_vta_layout_tensors(const machine *m, vtac_vta_region *region, const decisions *decided,
                                   uint64_t *work_bytes, vta_diag *diag);

#endif
