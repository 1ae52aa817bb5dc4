/* SPDX-License-Identifier: Apache-2.0
 *
 * The tilings of a convolution, and the choice of the best ones by a rough estimate: the work of the busiest
 * unit, and whatever cannot overlap.
 *
 * A piece is a tile of output pixels for a group of output blocks. It is summed in ACC over the parts of its
 * window and input channels. INP and WGT hold a few parts each, in slots of one size; a part that is still in
 * its slot is not loaded again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sched.h"
#include "vta/number.h"
#include "vta/str.h"

enum { CHOICES = 40, ACC_SLOTS = 4, OTHER_SLOTS = 4 };
enum { KEPT_SLOTS = 2 }; /* slots beyond one per block, where rows are kept for the next tile */
enum { PARAM_BLOCKS = 16, WIDE_BLOCKS = 8 }; /* blocks whose parameters are loaded together */
enum { MAX_ROW_STEP = 255 };                 /* of DEPTHWISE */
enum { SUM_PASSES = 5 }; /* of the ALU: requantize, multiply twice by a factor, add, requantize */
enum { MAX_KINDS = 4 };  /* of a mean's pieces: whole, cut below, cut on the right, cut on both sides */

/* The sizes of pieces when `total` is cut into more and more of them, largest first. */
typedef struct choices {
    int64_t size[CHOICES];
    int count;
} choices;

static choices cuts_of(int64_t total, int64_t largest)
{
    choices out = {0};
    for (int64_t pieces = vta_max(1, vta_ceil_div(total, largest)); out.count < CHOICES;
         pieces += 1 + pieces / 8) {
        const int64_t size = vta_ceil_div(total, pieces);
        if (size <= largest && (out.count == 0 || size < out.size[out.count - 1])) {
            out.size[out.count++] = size;
        }
        if (size <= 1) {
            break;
        }
    }
    if (out.count > 0 && out.size[out.count - 1] > 1) {
        out.size[out.count - 1] = 1;
    }
    return out;
}

static int64_t span_of(int64_t pixels, int64_t stride, int64_t taps, int64_t dilation)
{
    return (pixels - 1) * stride + (taps - 1) * dilation + 1;
}

/* The maximum number of input tile blocks that a group of output blocks needs. */
static int64_t widest_reach(const conv *c, int64_t group)
{
    int64_t widest = 0;
    for (int64_t o = 0; o < c->out_blocks; o += c->groups == 1 ? c->out_blocks : group) {
        const reach r = vtac_vta_conv_reach(c, o, group);
        const int64_t end = vta_ceil_div(r.first + r.count, c->machine->ri);
        widest = vta_max(widest, end - r.first / c->machine->ri);
    }
    return widest;
}

/* The slots for a pool's outputs or a sum's other operands: the minimum, and the useful maximum. */
static int64_t others_needed(const conv *c, const tiling *t)
{
    return t->kept > 0 ? t->group / c->ro + KEPT_SLOTS : 2;
}

static int64_t others_useful(const conv *c, const tiling *t)
{
    return t->kept > 0 ? t->group / c->ro + OTHER_SLOTS : OTHER_SLOTS;
}

/* Divides a share of ACC: sums lie together, everything else in the side. */
static int64_t place_beside(const conv *c, tiling *t, int64_t params)
{
    const int64_t room = c->machine->side, fixed = c->sum != NULL ? sum_constants(c->sum) : c->mean_record;
    const int64_t record = joined_record(c); /* the alignment of a record */
    t->param_first = 0;
    t->fixed_first = vta_ceil_div(params, record) * record;
    t->other_first = t->fixed_first + fixed;
    t->other_size = t->rows * t->cols * c->ro;
    t->other_slots = 0;
    if (c->pool != NULL || c->sum != NULL) {
        t->other_slots = vta_min(vta_max(0, room - t->other_first) / t->other_size, others_useful(c, t));
    }
    t->side_used = t->other_first + t->other_slots * t->other_size;
    const bool fits = t->side_used <= room &&
                      (t->other_slots >= others_needed(c, t) || (c->pool == NULL && c->sum == NULL));
    return fits ? c->machine->acc : 0;
}

/* Divides ACC for parted sums: a quarter for each kind, and the last quarter for parameters; a slot holds
 * `ro` blocks. With several parts all blocks are summed at once and need their slots together. With kept
 * rows, the sums of the third kind are still needed one tile later: slots for all blocks besides those that
 * the array works on. Returns the entries for sums. */
static int64_t place_parted(const conv *c, tiling *t, int64_t params)
{
    const int64_t quarter = c->machine->acc / 4, between = t->rows + c->pool->window.kernel[0] - 2;
    const int64_t blocks = t->group / c->ro, together = t->parts > 1 ? blocks : 1;
    const int64_t slots = quarter / t->acc_size;
    t->param_first = c->machine->acc - params;
    t->other_first = 2 * quarter;
    t->other_size = between * t->cols * c->ro;
    t->other_slots = vta_min(quarter / t->other_size, 2 * vta_max(blocks, 2));
    t->acc_slots = vta_min(slots, 2 * vta_max(together, 2));
    const bool fits = params <= quarter && t->acc_slots >= together &&
                      t->other_slots >= (t->kept > 0 ? blocks + together : together);
    return fits ? t->acc_slots * t->acc_size : 0;
}

/* Divides ACC; returns the entries for sums, 0 if something does not fit. Alone: sums, parameters. With a
 * joined sum, entries that the ALU reads together lie in different quarters: sums in two, the other operand
 * in the third, constants in the last. With a pool: sums in three quarters, its outputs in the last. */
static int64_t place_sums(const conv *c, tiling *t)
{
    const int64_t acc = c->machine->acc, params = t->param_slots * t->param_size;
    t->acc_used = acc;
    if (c->machine->side > 0) {
        return place_beside(c, t, params);
    }
    if (t->parted) {
        return place_parted(c, t, params);
    }
    if (c->pool != NULL) {
        t->param_first = acc - params;
        t->fixed_first = (t->param_first - c->mean_record) / joined_record(c) * joined_record(c);
        t->other_first = acc / 4 * 3;
        t->other_size = t->rows * t->cols * c->ro;
        t->other_slots =
            vta_min(vta_max(0, t->fixed_first - t->other_first) / t->other_size, others_useful(c, t));
        return t->other_slots >= others_needed(c, t) ? t->other_first : 0;
    }
    if (c->sum == NULL) {
        t->param_first = acc - params;
        return vta_max(0, t->param_first);
    }
    t->other_first = acc / 2;
    t->other_size = t->rows * t->cols * c->ro;
    t->other_slots = vta_min(acc / 4 / t->other_size, OTHER_SLOTS);
    t->fixed_first = acc / 4 * 3;
    t->param_first = t->fixed_first + sum_constants(c->sum);
    const bool fits = t->other_slots >= 2 && t->param_first + params <= acc;
    return fits ? acc / 2 : 0;
}

static int64_t pool_taps(const conv *c)
{
    return c->pool->window.kernel[0] * c->pool->window.kernel[1];
}

/* Passes of the ALU for an output. A maximum is taken before requantization, a sum for means after it. */
static int64_t pool_passes(const conv *c, const tiling *t)
{
    const int64_t *kernel = c->pool->window.kernel;
    if (t->parted) {
        return 2 * (kernel[1] - 1) + kernel[0] - 1 + 1;
    }
    const int64_t made = vta_ceil_div(c->made[0] * c->made[1], c->oh * c->ow);
    return pool_taps(c) + 1 + (c->mean_record > 0 ? made : 0);
}

interval vtac_vta_tiling_rows(const conv *c, const tiling *t, int64_t at, int64_t count)
{
    const interval made = vtac_vta_conv_made(c, 0, at, count);
    const int64_t kept = at > 0 ? t->kept : 0;
    return (interval){made.at + kept, made.count - kept};
}

/* The maximum number of rows that a tile makes. */
static int64_t max_rows(const conv *c, const tiling *t)
{
    const int64_t first = vtac_vta_tiling_rows(c, t, 0, vta_min(t->rows, c->oh)).count;
    return t->kept > 0 ? vta_max(first, vtac_vta_conv_made_max(c, 0, t->rows) - t->kept)
                       : vtac_vta_conv_made_max(c, 0, t->rows);
}

/* True if rows can be kept: tiles of one group follow each other downwards, and each makes a row of its own.
 */
static bool may_keep(const conv *c, const tiling *t)
{
    const int64_t last = (vta_ceil_div(c->oh, t->rows) - 1) * t->rows;
    return t->kept == 0 ||
           (!t->tiles_outside && last > 0 && vtac_vta_tiling_rows(c, t, last, c->oh - last).count > 0);
}

/* Fills in everything that follows from a tiling; false if it does not fit. */
static bool complete_tiling(const conv *c, tiling *t)
{
    const machine *m = c->machine;
    const int64_t out_groups = vta_ceil_div(c->out_blocks, t->group), reach_tiles = widest_reach(c, t->group);
    t->row_tiles = vta_ceil_div(c->oh, t->rows);
    t->col_tiles = vta_ceil_div(c->ow, t->cols);
    t->tiles = c->images * t->row_tiles * t->col_tiles;
    t->groups = out_groups;
    t->block_parts = vta_ceil_div(reach_tiles, t->part);
    t->window_parts =
        vta_ceil_div(c->window.kernel[0], t->part_rows) * vta_ceil_div(c->window.kernel[1], t->part_cols);
    t->parts = t->block_parts * t->window_parts;
    const int64_t made_rows = max_rows(c, t), made_cols = vtac_vta_conv_made_max(c, 1, t->cols);
    t->in_rows = span_of(made_rows, c->window.stride[0], t->part_rows, c->window.dilation[0]);
    t->in_cols = vtac_vta_conv_pitch(c, span_of(vtac_vta_conv_steps_max(c, made_cols), c->window.stride[1],
                                                t->part_cols, c->window.dilation[1]));
    const int64_t steps = c->depthwise ? 1 : t->part * m->ri * t->part_rows * t->part_cols * c->planes;
    t->inp_size = t->part * t->in_rows * t->in_cols * m->ri * (c->twice ? 2 : 1);
    const int64_t pieces = c->depthwise ? vtac_vta_piece_count(c, t->part_rows, t->part_cols) : 0;
    t->wgt_size = c->alike       ? vta_min(MAX_KINDS, pieces)
                  : c->depthwise ? t->group / (c->lanes > 0 ? 1 : c->ro) * pieces
                                 : t->group * steps * c->phases / (c->twice ? 2 : 1);
    t->acc_size = t->parted ? made_rows * vta_max(t->cols, made_cols - t->cols) * c->ro
                            : made_rows * made_cols * t->group + (conv_makes_twice(c) ? c->ro : 0);
    const int64_t blocks = c->layer->wide ? WIDE_BLOCKS : PARAM_BLOCKS;
    const int64_t together = vta_max(1, vta_min(blocks, m->acc / 32) / t->group);
    t->param_groups = conv_is_mean(c) ? out_groups : conv_sums_weights(c) ? 1 : vta_min(out_groups, together);
    t->param_size = c->record * (conv_is_mean(c) ? c->pairs : t->group * t->param_groups);
    t->param_slots =
        vta_min(vta_ceil_div(out_groups, t->param_groups), vta_max(2, m->acc / 8 / t->param_size));
    const int64_t sums = place_sums(c, t);
    const int64_t inputs = t->tiles * t->parts * (c->groups > 1 ? out_groups : 1);
    t->inp_slots = vta_min(vta_min((m->inp - conv_sums_weights(c)) / t->inp_size, inputs), MAX_SLOTS);
    t->wgt_slots = vta_min(vta_min(m->wgt / t->wgt_size, out_groups * t->parts), MAX_SLOTS);
    t->acc_slots = vta_min(sums / t->acc_size, t->parted ? t->acc_slots : ACC_SLOTS);
    const bool one_row =
        c->depthwise && c->piece_rows > 1 && c->window.dilation[0] * t->in_cols > MAX_ROW_STEP;
    const int64_t taps = c->pool != NULL ? pool_taps(c) * c->ro : 0;
    return may_keep(c, t) && !one_row && steps <= m->uop && taps <= m->uop && t->inp_slots > 0 &&
           t->wgt_slots > 0 && t->acc_slots > 0;
}

/* The number of slots that save loads. A part that is used once, and is not all, is only prefetched while the
 * one before is worked on. */
static int64_t useful_slots(int64_t slots, int64_t all, int64_t round, bool again)
{
    enum { AHEAD = 2 };
    if (slots >= all) {
        return all;
    }
    return again && slots < round ? slots : vta_min(slots, again ? AHEAD * round : AHEAD);
}

/* Means: the number of different chunks of weights, which depends on whether parts are cut short. */
static int64_t part_kinds(const conv *c, const tiling *t)
{
    const bool rows = t->part_rows < c->window.kernel[0] && c->window.kernel[0] % t->part_rows != 0;
    const bool cols = t->part_cols < c->window.kernel[1] && c->window.kernel[1] % t->part_cols != 0;
    return t->block_parts * (1 + rows) * (1 + cols);
}

entries_used vtac_vta_tiling_trim(const conv *c, tiling *t)
{
    const int64_t groups = c->groups > 1 ? t->groups : 1;
    const int64_t inputs = t->tiles * t->parts * groups,
                  weights = c->alike ? part_kinds(c, t) : t->groups * t->parts;
    if (c->groups > 1 || t->groups == 1) {
        t->inp_slots = useful_slots(t->inp_slots, inputs, t->parts, false);
    } else {
        t->inp_slots = useful_slots(t->inp_slots, inputs, t->tiles_outside ? t->parts : inputs, true);
    }
    t->wgt_slots =
        useful_slots(t->wgt_slots, weights, t->tiles_outside || c->alike ? weights : t->parts, true);
    t->acc_used = c->machine->side > 0 ? t->acc_slots * t->acc_size : c->machine->acc;
    return (entries_used){t->inp_slots * t->inp_size + conv_sums_weights(c), t->wgt_slots * t->wgt_size,
                          t->acc_used, t->side_used};
}

void vtac_vta_tiling_move(tiling *t, const entries_used *to)
{
    t->inp_first = to->inp;
    t->wgt_first = to->wgt;
    t->acc_first = to->acc;
    t->param_first += to->side;
    t->other_first += to->side;
    t->fixed_first += to->side;
}

/* Totals over the tiles of a dimension: input rows or columns that are loaded (after clipping, with `taps` of
 * the window at a time), and those of its own output that the convolution makes. */
typedef struct tile_sums {
    int64_t loaded, made;
} tile_sums;

static tile_sums sum_tiles(const conv *c, const tiling *t, int d, int64_t taps)
{
    const int64_t piece = d == 0 ? t->rows : t->cols;
    const vtac_vta_window *w = &c->window;
    const int64_t total = d == 0 ? c->oh : c->ow, size = d == 0 ? c->h : c->w;
    tile_sums sum = {0};
    for (int64_t at = 0; at < total; at += piece) {
        const int64_t count = vta_min(piece, total - at);
        const interval made =
            d == 0 ? vtac_vta_tiling_rows(c, t, at, count) : vtac_vta_conv_made(c, d, at, count);
        const interval steps = d == 0 ? made : vtac_vta_conv_steps(c, made.at, made.count);
        const int64_t first = steps.at * w->stride[d] - w->before[d];
        const int64_t end = first + span_of(steps.count, w->stride[d], taps, w->dilation[d]);
        sum.loaded += vta_max(0, vta_min(end, size) - vta_max(first, 0));
        sum.made += made.count;
    }
    return sum;
}

/* The loads of `rounds` rounds over `count` parts that go back and forth. */
static int64_t loads_of(int64_t count, int64_t rounds, int64_t slots)
{
    return count <= slots ? count : count * rounds - (rounds - 1) * vta_max(0, slots - 1);
}

/* DEPTHWISE reads one column of its window in a cycle, or three rows of it, and keeps the columns that the
 * next window shares. */
int64_t vtac_vta_tiling_row_cycles(const conv *c, int64_t reach_blocks, int64_t cols)
{
    const vtac_vta_window *w = &c->window;
    if (c->tiles != NULL) {
        return vta_ceil_div(reach_blocks * c->filled * c->planes * cols,
                            c->in_blocks * conv_used_blocks(c) * c->phases);
    }
    if (!c->depthwise) {
        return reach_blocks * w->kernel[0] * w->kernel[1] * c->planes * cols;
    }
    int64_t cycles = 0;
    for (int64_t kx = 0; kx < w->kernel[1]; kx += c->piece_cols) {
        const int64_t taps = c->three ? c->piece_cols : vta_min(c->piece_cols, w->kernel[1] - kx);
        const vta_window_steps steps = vta_window_steps_of(c->machine->config, taps, c->piece_rows,
                                                           w->dilation[1], w->dilation[0], w->stride[1]);
        cycles += taps + (cols - 1) * (taps - steps.kept);
    }
    return cycles * conv_merged(c) * (c->three ? vta_ceil_div(w->kernel[0], c->piece_rows) : w->kernel[0]);
}

int64_t vtac_vta_tiling_all_cycles(const conv *c, int64_t row_cycles, int64_t cols)
{
    const int64_t used = c->depthwise ? conv_made_blocks(c) : conv_used_blocks(c);
    return used * row_cycles + (c->out_blocks - used) * cols;
}

void vtac_vta_tiling_measure(const conv *c, const tiling *t, load_of_units *out)
{
    const machine *m = c->machine;
    const int64_t tile_bytes = m->batch * m->block, wgt_bytes = m->config->elem_bytes[conv_form(c)];
    const int64_t reach_blocks =
        c->groups == 1 ? c->in_blocks : vta_min(c->in_blocks, widest_reach(c, t->group) * m->ri);
    const int64_t taps = c->window.kernel[0] * c->window.kernel[1] * c->planes;
    const int64_t pixels = c->images * c->oh * c->ow;
    const tile_sums rows = sum_tiles(c, t, 0, t->part_rows);
    const tile_sums cols = sum_tiles(c, t, 1, t->part_cols);
    /* One sweep over all input parts, and one over all weights; then how often each is made. */
    const int64_t sweep = c->images * rows.loaded * cols.loaded * vta_ceil_div(reach_blocks, m->ri) *
                          tile_bytes * t->window_parts;
    const int64_t weights =
        (c->alike ? t->wgt_size * part_kinds(c, t)
         : c->depthwise
             ? c->out_blocks / (c->lanes > 0 ? 1 : c->ro) *
                   vtac_vta_piece_count(c, t->part_rows, t->part_cols) * t->window_parts
             : vta_ceil_div(conv_used_blocks(c), c->twice ? 2 : 1) * c->phases * reach_blocks * taps) *
        wgt_bytes;
    const int64_t inp_units = t->tiles * t->parts, wgt_units = t->groups * t->parts;
    int64_t inp_loads = 0, wgt_loads = 0;
    if (c->groups > 1) {
        inp_loads = inp_units * t->groups;
        wgt_loads = t->tiles_outside ? loads_of(wgt_units, t->tiles, t->wgt_slots)
                                     : loads_of(t->parts, t->tiles, t->wgt_slots) * t->groups;
    } else if (t->tiles_outside) {
        inp_loads = loads_of(t->parts, t->groups, t->inp_slots) * t->tiles;
        wgt_loads = loads_of(wgt_units, t->tiles, t->wgt_slots);
    } else {
        inp_loads = loads_of(inp_units, t->groups, t->inp_slots);
        wgt_loads = loads_of(t->parts, t->tiles, t->wgt_slots) * t->groups;
    }
    const int64_t params = t->param_slots * t->param_groups >= t->groups ? 1
                           : t->tiles_outside                            ? t->tiles
                                                                         : 1;
    const int64_t others = c->sum != NULL ? pixels * c->out_blocks * m->batch * m->block_out : 0;
    const int64_t read = sweep * inp_loads / inp_units +
                         weights * (c->alike ? 1 : wgt_loads) / (c->alike ? 1 : wgt_units) + others +
                         params * c->pairs * c->record * m->batch * m->block_out * 4;
    const int64_t bytes = conv_whole(c) ? c->layer->bytes : 1,
                  made_cols = vtac_vta_conv_made_max(c, 1, t->cols);
    const int64_t written = pixels * c->out_blocks * m->batch * m->block_out * bytes;
    const int64_t passes = conv_whole(c)     ? bytes - 1
                           : c->sum != NULL  ? SUM_PASSES
                           : c->pool != NULL ? pool_passes(c, t)
                                             : 1;
    *out = (load_of_units){
        .array = (uint64_t)(c->images * rows.made * t->col_tiles *
                            vtac_vta_tiling_all_cycles(
                                c, vtac_vta_tiling_row_cycles(c, reach_blocks, made_cols), made_cols)),
        .alu = (uint64_t)(pixels * (c->sum == NULL && c->pool == NULL ? conv_made_blocks(c) : c->out_blocks) *
                          passes),
        .load = (uint64_t)(read / m->beat),
        .store = (uint64_t)(written / m->beat),
        .bytes_read = (uint64_t)read,
        .bytes_written = (uint64_t)written,
    };
}

static int64_t calls_of(const conv *c, const tiling *t)
{
    const int64_t pieces = t->tiles * t->groups, blocks = pieces * t->group;
    return blocks * (t->parted ? 3 * t->parts + 8 : t->parts * c->phases + (c->sum != NULL ? 7 : 2)) +
           pieces * t->parts * (t->part + 1);
}

/* The estimate: the busiest unit, the overhead of each piece, and what cannot overlap. */
uint64_t vtac_vta_tiling_estimate(const conv *c, const tiling *t, load_of_units *units)
{
    enum { LATENCY = 200, CALL = 6, INSN = 2 };
    vtac_vta_tiling_measure(c, t, units);
    const machine *m = c->machine;
    const int64_t blocks = t->tiles * t->groups * t->group, calls = calls_of(c, t);
    const int64_t first =
        (t->inp_size * m->batch * m->block_in + t->wgt_size * m->block_in * m->block_out) / m->beat;
    const int64_t last = t->rows * t->cols * c->ro * 3;
    /* The array and the ALU share the write port of ACC. */
    const int64_t made =
        c->pool == NULL ? c->oh * c->ow : sum_tiles(c, t, 0, 1).made * sum_tiles(c, t, 1, 1).made;
    const int64_t writes = c->images * made * c->out_blocks * t->parts + (int64_t)units->alu;
    const bool turns = t->acc_slots < 2 && (t->parted || t->group <= c->ro);
    const int64_t weights = c->alike ? part_kinds(c, t) : t->groups * t->parts;
    const bool alone = (t->inp_slots < 2 && t->tiles * t->parts > 1) || (t->wgt_slots < 2 && weights > 1);
    const int64_t array = (int64_t)units->array + blocks * t->parts * CALL;
    const int64_t alu = (int64_t)units->alu + blocks * CALL;
    const int64_t work = vta_max(vta_max(array, alu), writes + blocks * CALL * 2);
    const int64_t busy = turns ? array + alu + (int64_t)units->store : work;
    const int64_t all = alone ? busy + (int64_t)units->load : vta_max(busy, (int64_t)units->load);
    return (uint64_t)(vta_max(vta_max(all, (int64_t)units->store), calls * INSN) + first + last + LATENCY);
}

/* The fraction of its input that must be there when a convolution begins or, if the layer that makes the
 * input keeps ahead of it from then on, the smallest such fraction. */
static double lag_of(const conv *c, const tiling *t)
{
    if (c->machine->by_blocks) {
        const bool in_blocks = t->tiles == 1 && (!t->tiles_outside || t->groups == 1);
        return !in_blocks     ? 1.0
               : c->depthwise ? 1.0 / (double)t->groups
                              : 1.0 / (double)(t->groups * t->parts);
    }
    if (!t->tiles_outside && t->groups > 1) {
        return 1.0;
    }
    if (c->oh == 1) {
        return 1.0 / (double)t->col_tiles;
    }
    return (double)vta_min(t->in_rows - c->window.before[0], c->h) / (double)c->h;
}

uint64_t vtac_vta_tiling_lag(const conv *c, const tiling *t, uint64_t cycles, uint64_t calls)
{
    enum { CALL = 2, HUNDRED = 100 };
    if (c->machine->side == 0) {
        return 0;
    }
    return (uint64_t)((double)cycles * lag_of(c, t) * (double)c->machine->lag / HUNDRED) + calls * CALL;
}

static const int64_t window_cuts[][2] = {
    {0, 0}, {1, 0}, {1, 1}}; /* rows, columns: 0 for the whole kernel, 1 for one at a time */

/* The best tiling of a class. A class has similar numbers of pixels and of blocks, the same outer loop, and
 * the same answers to: is the input cut, are rows kept, are sums parted. */
typedef struct contender {
    uint64_t cycles;
    tiling tiling;
} contender;

enum { PIXEL_CLASSES = 14, GROUP_CLASSES = 10, CLASSES = PIXEL_CLASSES * GROUP_CLASSES * 16 };

static int log2_of(int64_t n, int limit)
{
    int log = 0;
    while (n > 1 && log < limit - 1) {
        n /= 2;
        log++;
    }
    return log;
}

static int class_of(const tiling *t)
{
    const int pixels = log2_of(t->rows * t->cols, PIXEL_CLASSES), group = log2_of(t->group, GROUP_CLASSES);
    return ((((pixels * GROUP_CLASSES + group) * 2 + t->tiles_outside) * 2 + (t->parts > 1)) * 2 +
            (t->kept > 0)) *
               2 +
           t->parted;
}

/* Tries all orders of loops, and all choices about a pool, for given sizes. */
static void try_orders(const conv *c, const tiling *sizes, contender *best)
{
    const int64_t shared = c->pool != NULL ? vtac_vta_conv_shared_rows(c) : 0;
    const int orders = shared > 0 ? 3 : 2, loops = vtac_vta_conv_can_part(c) ? 2 * orders : orders;
    for (int j = 0; j < loops; j++) {
        tiling t = *sizes;
        load_of_units units;
        t.tiles_outside = j % orders == 1;
        t.kept = j % orders == 2 ? shared : 0;
        t.parted = j >= orders;
        if (!complete_tiling(c, &t)) {
            continue;
        }
        uint64_t cycles = vtac_vta_tiling_estimate(c, &t, &units);
        cycles += vtac_vta_tiling_lag(c, &t, cycles, (uint64_t)calls_of(c, &t));
        contender *rival = &best[class_of(&t)];
        if (rival->cycles == 0 || cycles < rival->cycles) {
            *rival = (contender){cycles, t};
        }
    }
}

static void try_tilings(const conv *c, tiling t, contender *best)
{
    const machine *m = c->machine;
    const choices rows = cuts_of(c->oh, m->acc), cols = cuts_of(c->ow, m->acc / c->ro);
    const choices groups = cuts_of(c->groups > 1 ? 1 : c->out_blocks / c->ro, m->wgt);
    const choices parts = cuts_of(widest_reach(c, c->ro), m->inp);
    for (int i = 0; i < rows.count * cols.count; i++) {
        t.rows = rows.size[i % rows.count];
        t.cols = cols.size[i / rows.count];
        if (t.rows * t.cols * c->ro > m->acc) {
            continue;
        }
        for (int j = 0; j < groups.count * parts.count; j++) {
            t.group = groups.size[j % groups.count] * c->ro;
            t.part = parts.size[j / groups.count];
            try_orders(c, &t, best);
        }
    }
}

static int fewer_cycles(const void *a, const void *b)
{
    const contender *x = a;
    const contender *y = b;
    if ((x->cycles == 0) != (y->cycles == 0)) {
        return x->cycles == 0 ? 1 : -1; /* an empty class */
    }
    return x->cycles < y->cycles ? -1 : x->cycles > y->cycles;
}

static void add_need(vta_str *text, int64_t need, int64_t have, const char *what, const char *key)
{
    if (need > have) {
        vta_str_printf(text, "%s%" PRId64 " %s of %" PRId64 " (%s)", text->size > 0 ? ", " : "", need, what,
                       have, key);
    }
}

/* Reports what the smallest possible piece, one pixel of one block, needs beyond the buffers. */
static vta_status report_misfit(const conv *c, vta_diag *diag)
{
    const machine *m = c->machine;
    tiling t = {.rows = 1, .cols = 1, .group = c->ro, .part = 1, .part_rows = 1, .part_cols = 1};
    vta_str needs = {0};
    (void)complete_tiling(c, &t);
    const int64_t params = t.param_slots * t.param_size;
    const int64_t sums = c->sum == NULL ? t.acc_size + params
                                        : vta_max(vta_max(2 * t.acc_size, 8 * t.other_size),
                                                  4 * (sum_constants(c->sum) + params));
    add_need(&needs, t.inp_size, m->inp, "inputs", "LOG_INP_BUFF_SIZE");
    add_need(&needs, t.wgt_size, m->wgt, "weights", "LOG_WGT_BUFF_SIZE");
    add_need(&needs, sums, m->acc, "accumulators", "LOG_ACC_BUFF_SIZE");
    add_need(&needs, m->ri * c->planes, m->uop, "micro-ops", "LOG_UOP_BUFF_SIZE");
    const vta_status status =
        vta_fail(diag, VTA_RANGE,
                 "layer '%s' does not fit the buffers: its smallest piece needs %s; larger ones would help",
                 c->layer->name, needs.size > 0 ? needs.text : "more than there is");
    vta_str_free(&needs);
    return status;
}

vta_status vtac_vta_tiling_choose(const conv *c, tiling *out, uint32_t room, uint32_t *count, vta_diag *diag)
{
    contender *best = calloc(CLASSES, sizeof *best);
    if (best == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory to plan layer '%s'", c->layer->name);
    }
    *count = 0;
    for (size_t w = 0; w < sizeof window_cuts / sizeof window_cuts[0] && *count == 0; w++) {
        try_tilings(c,
                    (tiling){.part_rows = window_cuts[w][0] != 0 ? 1 : c->window.kernel[0],
                             .part_cols = window_cuts[w][1] != 0 ? 1 : c->window.kernel[1]},
                    best);
        qsort(best, CLASSES, sizeof *best, fewer_cycles);
        while (*count < room && *count < CLASSES && best[*count].cycles > 0) {
            out[*count] = best[*count].tiling;
            (*count)++;
        }
    }
    free(best);
    if (*count == 0) {
        return report_misfit(c, diag);
    }
    return VTA_OK;
}

void vtac_vta_tiling_describe(const conv *c, const tiling *t, char *text, size_t size)
{
    const bool input_stays =
        t->tiles_outside ? t->parts <= t->inp_slots : t->tiles * t->parts <= t->inp_slots;
    const bool weights_stay = c->alike           ? part_kinds(c, t) <= t->wgt_slots
                              : t->tiles_outside ? t->groups * t->parts <= t->wgt_slots
                                                 : t->parts <= t->wgt_slots;
    char columns[48] = "", cut[48] = "";
    if (t->col_tiles > 1) {
        (void)snprintf(columns, sizeof columns, " x %" PRId64 " of %" PRId64 " columns", t->cols, c->ow);
    }
    if (t->parts > 1) {
        (void)snprintf(cut, sizeof cut, ", input in %" PRId64 " parts", t->parts);
    }
    (void)snprintf(
        text, size,
        "%" PRId64 " of %" PRId64 " rows%s, %" PRId64 " of %" PRId64 " out blocks%s, %s outside%s%s%s",
        t->rows, c->oh, columns, t->group, c->out_blocks, cut, t->tiles_outside ? "tiles" : "blocks",
        input_stays ? ", input stays" : "", weights_stay ? ", weights stay" : "",
        c->twice         ? ", two blocks in a tile of weights"
        : c->sum != NULL ? ", sum joined"
        : t->parted   ? t->kept > 0 ? ", pool joined, first across, rows kept" : ", pool joined, first across"
        : t->kept > 0 ? ", pool joined, rows kept"
        : c->pool != NULL ? ", pool joined"
                          : "");
}

/* ---- the loops of a tiling */

patch vtac_vta_tiling_tile(const conv *c, const tiling *t, int64_t index)
{
    const bool down = t->kept > 0; /* the next tile is the one below */
    const int64_t x = down ? index / t->row_tiles % t->col_tiles : index % t->col_tiles;
    const int64_t y = down ? index % t->row_tiles : index / t->col_tiles % t->row_tiles;
    patch out = {.image = index / t->col_tiles / t->row_tiles, .y = y * t->rows, .x = x * t->cols};
    out.rows = vta_min(t->rows, c->oh - out.y);
    out.cols = vta_min(t->cols, c->ow - out.x);
    return out;
}

part vtac_vta_tiling_part(const conv *c, const tiling *t, int64_t group, int64_t index)
{
    const int64_t ri = c->machine->ri, columns = vta_ceil_div(c->window.kernel[1], t->part_cols);
    const int64_t window = index % t->window_parts;
    const reach r = vtac_vta_conv_reach(c, group * t->group, t->group);
    const int64_t first = r.first / ri, end = vta_ceil_div(r.first + r.count, ri);
    part out = {
        .block = first + index / t->window_parts * t->part,
        .ky = window / columns * t->part_rows,
        .kx = window % columns * t->part_cols,
    };
    out.blocks = vta_max(0, vta_min(t->part, end - out.block));
    out.kys = vta_min(t->part_rows, c->window.kernel[0] - out.ky);
    out.kxs = vta_min(t->part_cols, c->window.kernel[1] - out.kx);
    return out;
}

reach vtac_vta_part_reach(const conv *c, const tiling *t, int64_t group, const part *p)
{
    const int64_t ri = c->machine->ri;
    const reach r = vtac_vta_conv_reach(c, group * t->group, t->group);
    const int64_t first = vta_max(r.first, p->block * ri);
    return (reach){first, vta_max(0, vta_min(r.first + r.count, (p->block + p->blocks) * ri) - first)};
}

int64_t vtac_vta_piece_count(const conv *c, int64_t rows, int64_t cols)
{
    return vta_ceil_div(rows, c->piece_rows) * vta_ceil_div(cols, c->piece_cols);
}

/* Along one dimension: the first tap of piece `index`, its taps, and how many of those belong
 * to another piece. */
static void place_piece(const conv *c, int64_t total, int64_t size, int64_t index, int64_t *at,
                        int64_t *count, int64_t *fresh)
{
    const int64_t begin = index * size;
    *at = c->three && total >= size ? vta_min(begin, total - size) : begin;
    *count = vta_min(size, total - *at);
    *fresh = begin - *at;
}

window_piece vtac_vta_piece_of(const conv *c, const part *p, int64_t index)
{
    const int64_t in_row = vta_ceil_div(p->kxs, c->piece_cols);
    window_piece piece;
    place_piece(c, p->kys, c->piece_rows, index / in_row, &piece.y, &piece.rows, &piece.fresh_y);
    place_piece(c, p->kxs, c->piece_cols, index % in_row, &piece.x, &piece.cols, &piece.fresh_x);
    return piece;
}

/* True if the last piece along one dimension differs from the first. */
static bool last_differs(const conv *c, int64_t total, int64_t size)
{
    int64_t at, first[2], last[2];
    place_piece(c, total, size, 0, &at, &first[0], &first[1]);
    place_piece(c, total, size, vta_ceil_div(total, size) - 1, &at, &last[0], &last[1]);
    return first[0] != last[0] || first[1] != last[1];
}

/* The kinds of a part's pieces, by rows and columns of pieces. */
typedef struct piece_grid {
    int64_t rows, cols;
    int64_t row_kinds, col_kinds;
} piece_grid;

static piece_grid grid_of(const conv *c, const part *p)
{
    return (piece_grid){vta_ceil_div(p->kys, c->piece_rows), vta_ceil_div(p->kxs, c->piece_cols),
                        1 + last_differs(c, p->kys, c->piece_rows),
                        1 + last_differs(c, p->kxs, c->piece_cols)};
}

int64_t vtac_vta_piece_kind(const conv *c, const part *p, int64_t index)
{
    if (!c->alike) {
        return index;
    }
    const piece_grid g = grid_of(c, p);
    const bool last_row = g.row_kinds > 1 && index / g.cols == g.rows - 1;
    const bool last_col = g.col_kinds > 1 && index % g.cols == g.cols - 1;
    return last_row * g.col_kinds + last_col;
}

int64_t vtac_vta_piece_of_kind(const conv *c, const part *p, int64_t kind)
{
    if (!c->alike) {
        return kind;
    }
    const piece_grid g = grid_of(c, p);
    return (kind / g.col_kinds > 0 ? g.rows - 1 : 0) * g.cols + (kind % g.col_kinds > 0 ? g.cols - 1 : 0);
}

int64_t vtac_vta_chunk_of(const conv *c, const tiling *t, int64_t group, int64_t index)
{
    if (!c->alike) {
        return group * t->parts + index;
    }
    const int64_t columns = vta_ceil_div(c->window.kernel[1], t->part_cols), window = index % t->window_parts;
    const int64_t row = window / columns, column = window % columns;
    const bool cut_row = (row + 1) * t->part_rows > c->window.kernel[0];
    const bool cut_column = (column + 1) * t->part_cols > c->window.kernel[1];
    return index - window + (cut_row ? row : 0) * columns + (cut_column ? column : 0);
}

int64_t vtac_vta_part_entries(const conv *c, const tiling *t, int64_t group, const part *p)
{
    const int64_t blocks = vtac_vta_part_reach(c, t, group, p).count;
    return c->depthwise ? vtac_vta_piece_count(c, p->kys, p->kxs) : blocks * p->kys * p->kxs * c->planes;
}

int64_t vtac_vta_group_blocks(const conv *c, const tiling *t, int64_t group)
{
    return vta_min(t->group, c->out_blocks - group * t->group);
}

int64_t vtac_vta_filled_blocks(const conv *c, const tiling *t, int64_t group)
{
    const int64_t left = vta_max(0, conv_used_blocks(c) - group * t->group);
    return vta_min(left, vtac_vta_group_blocks(c, t, group));
}

int64_t vtac_vta_chunk_entries(const conv *c, const tiling *t, int64_t group, const part *p)
{
    const int64_t blocks = vtac_vta_group_blocks(c, t, group);
    if (c->alike) {
        const piece_grid g = grid_of(c, p);
        return g.row_kinds * g.col_kinds;
    }
    const int64_t entries = vtac_vta_part_entries(c, t, group, p);
    const int64_t filled = vtac_vta_filled_blocks(c, t, group);
    return c->lanes > 0   ? entries * blocks
           : c->depthwise ? entries * (blocks / c->ro)
                          : entries * vta_ceil_div(filled, c->twice ? 2 : 1) * c->phases;
}
