/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler's parts and what they say to each other.
 *
 *   machine.c    a configuration in the units of a schedule
 *   kinds.def    which kind of layer becomes what
 *   supports.c   what the accelerator cannot do
 *   decide.c     inputs folded by the host, sums and pools computed with their convolutions, tensors inside
 *                others
 *   layout.c     where tensors lie
 *   conv.c       a layer as a convolution: geometry, weights, parameters
 *   tiling.c     the ways to cut a convolution into pieces, and what each costs roughly
 *   pack.c       its constants
 *   emit.c       a convolution cut in one of these ways, as a list of calls
 *   group.c      several layers, tile by tile: what one makes the next one reads on chip
 *   flow.c       how long these take, roughly
 *   elementwise.c, window.c, move.c     the layers that are no convolutions
 *   list.c       lists of calls
 *   interleave.c      the calls of several layers in one order
 *   ahead.c      loads that move up in them
 *   timing.c     how long they take; model.h names its parts
 *   schedule.c   the whole region
 *
 * Words. A *tile* is what the layout keeps together: one pixel of one block of C channels, for B images. It
 * is `ri` elements of INP and `ro` elements of OUT and ACC; one of the two is 1. Channels come in *blocks* of
 * block_in (input side) and block_out (output side), so a tile holds ri input blocks or ro output blocks.
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
    int64_t block;              /* C */
    int64_t ri, ro;             /* INP, and OUT or ACC, elements of a tile */
    int64_t inp, wgt, acc, uop; /* entries */
    int64_t side;               /* of a share of it: entries of ACC for all but sums; else 0 */
    int64_t lag;                /* of a share: per cent of a layer's cycles that it costs to begin late */
    bool by_blocks;             /* of a share: a layer's neighbours work block by block, not row by row */
    int64_t beat;               /* bytes that the bus moves in a cycle, each way */
    double shared;              /* bytes that the memory moves in a cycle, both ways together; 0: no limit */
} machine;

vta_status vtac_vta_machine_of(const vta_config *config, machine *out, vta_diag *diag);

/* conv.c: whatever runs as a convolution: rows of a weight matrix, one for each output channel. */

typedef struct conv {
    const machine *machine;
    const vtac_vta_region *region;
    const vtac_vta_layer *layer;
    uint32_t number;        /* of the layer */
    uint32_t input, output; /* tensors */
    int64_t images;         /* groups of `batch` */
    int64_t c_in, h, w;     /* the input as it is stored */
    int64_t c_out, oh, ow;  /* the output */
    int64_t groups;
    vtac_vta_window window;
    vtac_vta_window fold;          /* done by the host; kernel 1 x 1 where it does nothing */
    int64_t in_blocks, out_blocks; /* out_blocks: whole tiles */
    int64_t planes; /* 2 where weights minus their zero point need 9 bits, 3 for the very largest */
    bool depthwise; /* each channel by itself, on DEPTHWISE */
    bool alike;     /* lanes whose weights are the same in all blocks */
    int64_t pairs;  /* records of parameters: one for each output block or, in means, one for each divisor */
    int64_t record; /* entries of one */
    int64_t piece_rows, piece_cols; /* lanes: what one WGT entry holds of the window, at most */
    bool three; /* lanes: pieces of three by three, all of them, whose rows are taken at once */
    int32_t zero_in, zero_out, low, high;
    int32_t rounded;           /* the zero point of what comes before its table; zero_out where it has none */
    const vtac_vta_layer *sum; /* a sum that is computed with it, or NULL: `output` is that of the sum */
    uint32_t other;            /* the sum's other operand */
    int32_t factor, other_factor;
    const vtac_vta_layer *pool; /* a pool that is computed with it, or NULL: `output` is that of the pool */
    int64_t mean_record;        /* of a pool of means: entries of its record of parameters; else 0 */
    int32_t mean_zero;          /* and the zero point of what that makes */
    int64_t slice;              /* of the pool's output: the first tile block that is this convolution's */
    int64_t made[2];            /* rows and columns of its own output; without a pool oh, ow */
} conv;

/* The geometry of a layer; how its input is stored must be known (or given by the fold). Pointwise layers
 * without padding become one long row. */
void vtac_vta_conv_of(const machine *m, const vtac_vta_region *region, uint32_t number, conv *out);

/* Adds a sum, one of whose operands the convolution makes, to its end. */
void vtac_vta_conv_join(conv *c, const vtac_vta_layer *sum);

/* Adds a pool over its output, or over a concatenation whose blocks from `slice` on it makes. A maximum of
 * sums is requantized to the maximum of what the sums would be requantized to: the pool comes first. Means
 * are of what is requantized, and requantized in their turn. */
void vtac_vta_conv_pool(conv *c, const vtac_vta_layer *pool, int64_t slice);

/* What the host can do of a window while it writes an input. */
typedef enum fold_kind { FOLD_NONE, FOLD_COLUMNS, FOLD_ALL, FOLD_KINDS } fold_kind;
vtac_vta_window vtac_vta_conv_fold(const vtac_vta_window *window, fold_kind kind);

/* The input blocks that `count` output blocks from `out_block` on need: all, but for grouped convolutions. */
typedef struct reach {
    int64_t first, count;
} reach;
reach vtac_vta_conv_reach(const conv *c, int64_t out_block, int64_t count);

/* Input pixels from row to row in INP, for rows of `cols`: where three rows are taken at once, an odd number.
 */
int64_t vtac_vta_conv_pitch(const conv *c, int64_t cols);
/* One tap, stride 1, no padding. */
bool vtac_vta_window_is_point(const vtac_vta_window *w);

/* Weight minus zero point, of the folded layer; 0 outside. */
int32_t vtac_vta_conv_weight(const conv *c, int64_t out, int64_t in, int64_t ky, int64_t kx);

/* Whether its weights are an input; and its parameters, too. */
static inline bool conv_packed(const conv *c)
{
    return c->layer->kind == VTAC_VTA_CONV && c->layer->weights == NULL;
}

/* Whether its sums are stored as they are, byte by byte. */
static inline bool conv_whole(const conv *c)
{
    return c->layer->kind == VTAC_VTA_CONV && c->layer->bytes > 0;
}

static inline bool conv_packs_params(const conv *c)
{
    return conv_packed(c) && c->layer->input_count > 2;
}

/* Whether parameters depend on a pixel's divisor alone, and not on its block. */
static inline bool conv_is_mean(const conv *c)
{
    return c->layer->kind == VTAC_VTA_AVG_POOL;
}

/* Output blocks that have channels. Those behind them only fill the last tile up: their weights are all 0. */
static inline int64_t conv_used_blocks(const conv *c)
{
    const int64_t block_out = c->machine->block_out;
    return c->groups > 1 || conv_packed(c) ? c->out_blocks : (c->c_out + block_out - 1) / block_out;
}

/* The one of the layers that it computes that has a table, or NULL. */
static inline const vtac_vta_layer *conv_table(const conv *c)
{
    return c->layer->behind != NULL ? c->layer : c->sum != NULL && c->sum->behind != NULL ? c->sum : NULL;
}

/* REQUANT's records of parameters: ACC entries of one, and its `lanes` numbers each. */
static inline int64_t record_entries(bool wide)
{
    return wide ? 4 : 2;
}
void vtac_vta_record_fill(int32_t *lane, int64_t lanes, bool wide, int32_t bias, vtac_fixed scale);

/* Entries that a joined layer's constants take, and where they may begin. */
static inline int64_t joined_record(const conv *c)
{
    return c->sum != NULL ? record_entries(c->sum->wide) : vta_max(c->mean_record, 1);
}

/* What scales the results of a layer that has one scale, but for additions without multipliers of 31 bits. */
static inline vtac_fixed sum_scale(const vtac_vta_layer *layer)
{
    return layer->wide ? layer->scales[0] : (vtac_fixed){1, layer->sum.shift};
}

/* All records, one after the other. */
void vtac_vta_conv_params(const conv *c, int32_t *entries);

/* tiling.c */

/* A way to cut a convolution. Every number is the largest that occurs; pieces at the edges are smaller. */
typedef struct tiling {
    int64_t rows, cols;           /* output pixels of a tile */
    int64_t group;                /* output blocks at a time, whole tiles */
    int64_t part;                 /* input tile blocks at a time */
    int64_t part_rows, part_cols; /* of the window at a time */
    bool tiles_outside;           /* tiles in the outer loop and groups in the inner one */
    int64_t kept; /* rows under a pool that a tile leaves to the one below it, which comes next; or 0 */
    bool parted;  /* under a pool: sums lie by the parity of their rows and columns (parted.c) */
    /* what follows */
    int64_t row_tiles, col_tiles, tiles; /* tiles: of all images */
    int64_t groups, block_parts, window_parts, parts;
    int64_t in_rows, in_cols;                         /* of a tile's input for one part */
    int64_t inp_size, wgt_size, acc_size, param_size; /* entries of a slot */
    int64_t inp_slots, wgt_slots, acc_slots, param_slots;
    int64_t param_groups;                         /* whose parameters share a slot */
    int64_t param_first;                          /* ACC: the sums' slots begin at 0, the parameters' here */
    int64_t other_first, other_size, other_slots; /* a joined sum's other operand, or a pool's outputs */
    int64_t fixed_first;                          /* a sum's constants: a record of parameters, two factors */
    int64_t acc_used, side_used;                  /* entries of ACC, from the first on, and of its side */
    int64_t inp_first, wgt_first, acc_first;      /* where its parts of the scratchpads begin */
} tiling;

/* What a schedule keeps busy, in cycles. */
typedef struct load_of_units {
    uint64_t array, alu, load, store;
    uint64_t bytes_read, bytes_written;
} load_of_units;

void vtac_vta_tiling_measure(const conv *c, const tiling *t, load_of_units *out);
/* Cycles of the array for one row of `cols` output pixels of a block. */
int64_t vtac_vta_tiling_row_cycles(const conv *c, int64_t reach_blocks, int64_t cols);
/* The same for all output blocks: `row_cycles` each, but for those that only fill a tile up. */
int64_t vtac_vta_tiling_all_cycles(const conv *c, int64_t row_cycles, int64_t cols);
/* Cycles of the whole layer by itself, roughly; and what it asks of each unit. */
uint64_t vtac_vta_tiling_estimate(const conv *c, const tiling *t, load_of_units *units);

/* The best ways by a rough estimate, best first, at most `room`; each is of another class than the others.
 * VTA_UNSUPPORTED where nothing fits. */
vta_status vtac_vta_tiling_choose(const conv *c, tiling *out, uint32_t room, uint32_t *count, vta_diag *diag);

/* What it costs beyond its own cycles where layers overlap: that it waits for who makes its input, and that
 * calls are read where the bus is busy. */
uint64_t vtac_vta_tiling_lag(const conv *c, const tiling *t, uint64_t cycles, uint64_t calls);

/* Gives back slots that save no loads, and says what is left: entries of each scratchpad. */
typedef struct entries_used {
    int64_t inp, wgt, acc, side;
} entries_used;
entries_used vtac_vta_tiling_trim(const conv *c, tiling *t);
/* Moves it to where its parts of the scratchpads begin. */
void vtac_vta_tiling_move(tiling *t, const entries_used *to);

/* For reports: "rows 14 of 56, 4 of 16 out blocks, weights stay". */
void vtac_vta_tiling_describe(const conv *c, const tiling *t, char *text, size_t size);

/* Rows or columns. */
typedef struct interval {
    int64_t at, count;
} interval;

/* A piece of the loops: output pixels, and the input pixels of a part of the window. */
typedef struct patch {
    int64_t image, y, x, rows, cols;
} patch;
patch vtac_vta_tiling_tile(const conv *c, const tiling *t, int64_t index);
/* The rows of its own output that a convolution makes for `count` outputs from `at` on: not those that are
 * kept. */
interval vtac_vta_tiling_rows(const conv *c, const tiling *t, int64_t at, int64_t count);

/* Along dimension d: which rows or columns of its own output a convolution makes for `count` outputs from
 * `at` on, and the most that as many need. Without a pool, they are the same. */
interval vtac_vta_conv_made(const conv *c, int d, int64_t at, int64_t count);
int64_t vtac_vta_conv_made_max(const conv *c, int d, int64_t count);
/* The rows that a pool's windows share with those below; 0 where a tile cannot leave them to the next one. */
int64_t vtac_vta_conv_shared_rows(const conv *c);
/* The taps of a pool's window along dimension d that output `at` has inside. */
interval vtac_vta_conv_pool_taps(const conv *c, int d, int64_t at);
/* Whether its sums may lie parted: the row and the column in which only one window of the pool looks are
 * inside for each of them. */
bool vtac_vta_conv_can_part(const conv *c);
int64_t vtac_vta_conv_own_first(const conv *c, int d, int64_t at);

typedef struct part {
    int64_t block, blocks; /* input tile blocks, from vtac_vta_conv_reach's first on */
    int64_t ky, kys, kx, kxs;
} part;
part vtac_vta_tiling_part(const conv *c, const tiling *t, int64_t group, int64_t index);

/* DEPTHWISE: the pieces of a part's window, one WGT entry each, from its first tap on. Pieces of three by
 * three may overlap; then the taps before row `fresh_y` or column `fresh_x` are those of another one. */
typedef struct window_piece {
    int64_t y, x, rows, cols;
    int64_t fresh_y, fresh_x;
} window_piece;
int64_t vtac_vta_piece_count(const conv *c, int64_t rows, int64_t cols);
window_piece vtac_vta_piece_of(const conv *c, const part *p, int64_t index);

/* Means have one weight for all taps: pieces of one shape share an entry, and parts of one shape a chunk,
 * that of the first of them. For others every piece and every part is of a kind of its own. */
int64_t vtac_vta_piece_kind(const conv *c, const part *p, int64_t index);
int64_t vtac_vta_piece_of_kind(const conv *c, const part *p, int64_t kind);
int64_t vtac_vta_chunk_of(const conv *c, const tiling *t, int64_t group, int64_t part);

/* The input blocks of a part that the group needs, and how many WGT entries an output block has in it: one
 * for each step of the array, but for DEPTHWISE, whose entries hold a window for all `ro` blocks of a tile.
 */
reach vtac_vta_part_reach(const conv *c, const tiling *t, int64_t group, const part *p);
int64_t vtac_vta_part_entries(const conv *c, const tiling *t, int64_t group, const part *p);
int64_t vtac_vta_chunk_entries(const conv *c, const tiling *t, int64_t group, const part *p);
int64_t vtac_vta_group_blocks(const conv *c, const tiling *t, int64_t group);

/* What every kind of layer plans, packs and emits. */

/* Where a layer's constants lie: elements of WGT and of ACC from the start of CONSTANTS. */
enum { TABLE_BYTES = 256 };
typedef struct constants {
    int64_t weights, params, sum;
    int64_t table; /* bytes */
} constants;

/* Windows through the ALU (window.c): output pixels of a tile, window rows at a time, entries of slots. */
typedef struct window_tiling {
    int64_t rows, cols, part, in_slot, out_slot;
    int64_t first; /* entry of ACC that it may use */
} window_tiling;

/* Movements (move.c). */
typedef struct move_tiling {
    int64_t up[2], down[2], places[2]; /* pixels of a place, and how many there are */
    int64_t first[2], last[2];         /* what a place reads, from the input pixel of its own */
    bool one_row;                      /* pixels one after the other */
    int64_t records;                   /* of a lane: one for each phase, or one for all */
    int64_t group;                     /* output tile blocks at a time */
    int64_t rows, cols;                /* places at a time */
    int64_t sources, steps, widest;    /* of the largest group; steps of its widest block */
} move_tiling;

/* Layers that are computed together, a tile of the last one's output at a time (group.c). */
enum { MAX_MEMBERS = 3 };
typedef struct group_member {
    conv conv;
    tiling tiling; /* rows, cols: the most that it makes; inp_*: what it reads, loaded or as it is made */
    constants at;
    load_of_units units;
} group_member;

/* A way to cut a group. */
typedef struct group_tiling {
    uint64_t cycles;
    int64_t rows, cols; /* of the last one's output, of a tile */
    int64_t lines;      /* slots between two members */
    bool streams;
} group_tiling;

typedef struct layer_group {
    group_tiling how;
    uint32_t count;
    bool
        streams; /* the last one has all blocks of a tile's input, and works on the next tile's beside them */
    group_member members[MAX_MEMBERS];
} layer_group;

typedef struct plan {
    const machine *machine;
    const vtac_vta_region *region;
    const vtac_vta_layer *layer;
    uint32_t number;
    int64_t images; /* groups of `batch` */
    constants at;
    load_of_units units;
    uint64_t cycles; /* by itself, roughly */
    bool grouped;    /* `layer` is the last one's */
    union {
        layer_group group;
        struct {
            conv conv;
            tiling tiling;
        };
        window_tiling window;
        move_tiling move;
    };
} plan;

/* The constants of a joined sum: a record of parameters, then the factors of the two operands; together as
 * many as a record, or two, so that what follows begins where a record may. */
enum { SUM_FACTORS = 2 };
static inline int64_t sum_constants(const vtac_vta_layer *sum)
{
    return 2 * record_entries(sum->wide);
}

/* Ways to cut a convolution, and what the timing model says of each by itself: UINT64_MAX of those that take
 * so much longer than one before them that no search takes them. */
#define FAR_TILING 1.25
uint64_t vtac_vta_far_limit(uint64_t best);
enum { MAX_TRIALS = 32 };
typedef struct trials {
    tiling tilings[MAX_TRIALS];
    uint64_t cycles[MAX_TRIALS]; /* 0: unknown */
    uint32_t count;
} trials;

/* Chooses again: the way that the timing model finds fastest among the first `room` of the rough estimate.
 * All of them are left in `all`. */
vta_status vtac_vta_conv_refine(plan *p, uint32_t room, trials *all, vta_diag *diag);
/* The cycles of the fastest of them alone, or `limit` where none is below it. A trial ends where it cannot be
 * the fastest any more. */
vta_status vtac_vta_conv_fastest(plan *p, uint32_t room, uint64_t limit, vta_diag *diag);
/* The way that is asked for; the one that it has is the standard. */
vta_status vtac_vta_conv_pick(plan *p, const vtac_schedules *schedules, vta_diag *diag);

/* A convolution with layer `after`, a sum or a maximum pool, at its end; of a pool's output, it makes the
 * tile blocks from `slice` on. */
vta_status vtac_vta_conv_plan_joined(const machine *m, const vtac_vta_region *region, uint32_t number,
                                     uint32_t after, int64_t slice, plan *out, vta_diag *diag);

/* The fields that all kinds share. */
void vtac_vta_plan_init(const machine *m, const vtac_vta_region *region, uint32_t number, plan *out);

/* Cycles where nothing better is known: the busiest unit's, and a memory latency at either end. */
uint64_t vtac_vta_units_cycles(const load_of_units *units);
void vtac_vta_plan_cost(const plan *p, vtac_vta_cost *out);

/* Bytes that are appended, each piece at a multiple of its alignment. */
typedef struct blob {
    uint8_t *bytes;
    size_t size, capacity;
    bool places_only; /* what lies where is wanted, not what it is */
} blob;
uint8_t *vtac_vta_blob_add(blob *b, uint64_t size, uint64_t align,
                           uint64_t *offset); /* zeros; NULL: no memory */

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

/* group.c */

/* Ways that were timed. */
typedef struct group_trials {
    group_tiling tilings[MAX_TRIALS];
    uint32_t count;
} group_trials;

/* Layers that take each other's outputs, the first to the last, with a sum (or NULL) at the end.
 * VTA_UNSUPPORTED where they cannot be a group, VTA_RANGE where it does not fit. */
vta_status vtac_vta_group_plan(const machine *m, const vtac_vta_region *region, const uint32_t *numbers,
                               uint32_t count, const vtac_vta_layer *sum, plan *out, vta_diag *diag);
/* Chooses again: what the timing model finds fastest among the first `room` of the rough estimate; all of
 * them are left in `all`. */
vta_status vtac_vta_group_refine(plan *p, uint32_t room, group_trials *all, vta_diag *diag);
/* Takes one of its ways. */
void vtac_vta_group_apply(plan *p, const group_tiling *how);
kind_pack vtac_vta_group_pack;
kind_emit vtac_vta_group_emit;
/* What it uses of the scratchpads, and where its parts of them begin. */
entries_used vtac_vta_group_use(const plan *p);
void vtac_vta_group_move(plan *p, const entries_used *to);
/* Of one member. */
void vtac_vta_group_describe(const plan *p, uint32_t member, char *text, size_t size);

/* pack.c */

/* The zero point of what a layer rounds to: its output's, or that of what its table takes. */
static inline int32_t zero_rounded(const vtac_vta_layer *layer, const vtac_vta_tensor *to)
{
    return layer->behind != NULL ? layer->between : to->zero;
}

/* A table of a layer: at.table. */
vta_status vtac_vta_table_pack(plan *p, const vtac_vta_layer *layer, const int8_t *table, blob *to,
                               vta_diag *diag);

/* WGT elements before each chunk, group · parts + part, and at the end their number. Owned; NULL: no
 * memory. Chunks that are another one (vtac_vta_chunk_of) have none. */
int64_t *vtac_vta_chunk_table(const conv *c, const tiling *t);

/* Input pixels along one dimension: `count` from `at` on inside the image, the others padding. */
typedef struct extent {
    int64_t at, count, before, after;
} extent;
extent vtac_vta_extent_of(int64_t at, int64_t count, int64_t size);

/* interleave.c */

enum { INTERLEAVE_WINDOW = 4 }; /* layers that may be under way beside the oldest one */

/* A layer's drafts, and what they use. */
typedef struct interleave_stage {
    size_t end;                     /* the first draft that is not its own */
    list_range inp, wgt, acc, side; /* entries */
    bool table;
    bool began;
    uint32_t beside; /* filled in: the number + 1 of the oldest stage that is not over when it begins */
} interleave_stage;

/* Puts the list's drafts in order; `cycles` (may be NULL): says how long that takes, roughly, and puts
 * nothing.
 */
vta_status vtac_vta_list_interleave(step_list *list, const machine *m, interleave_stage *stages,
                                    uint32_t count, uint64_t work_bytes, uint64_t *cycles, vta_diag *diag);

/* decide.c */

/* What is decided about a region before its layers are planned. */
typedef struct decisions {
    int32_t *sum_of;  /* of a convolution: the layer that is computed with it, and at whose place; or -1 */
    int32_t *made_by; /* of that layer: the convolution, or the first of several; or -1 */
    int32_t *part_of; /* of a tensor: the one that it is a slice of; or -1 */
    int64_t *block;   /* its first block there */
    int32_t *feeds;   /* of a layer: the one that takes its output on chip, as a group with it; or -1 */
    int32_t *fed_by;  /* the reverse */
} decisions;

/* `groups`: layers go together where that is faster than one by one, how much ever those overlap. */
vta_status vtac_vta_decisions_make(const machine *m, vtac_vta_region *region, const vtac_vta_options *options,
                                   bool groups, decisions *out, vta_diag *diag);
void vtac_vta_decisions_free(decisions *d);
bool vtac_vta_decisions_alike(const vtac_vta_region *region, const decisions *a, const decisions *b);

/* The members of the group whose last one is `last`, in their order; 1 where it is none. */
uint32_t vtac_vta_decisions_members(const decisions *d, uint32_t last, uint32_t *members);

/* layout.c */

vta_status vtac_vta_layout_tensors(const machine *m, vtac_vta_region *region, const decisions *decided,
                                   uint64_t *work_bytes, vta_diag *diag);

#endif
