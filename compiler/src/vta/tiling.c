/* SPDX-License-Identifier: Apache-2.0
 *
 * The ways to cut a convolution into pieces, and which is best by a rough estimate: each unit's work by
 * itself, the largest of them, and what cannot overlap.
 *
 * A piece is a tile of output pixels for a group of output blocks. It is summed up in ACC over the parts of
 * its window and input channels. INP and WGT hold a few parts each, in slots of one size: what is still there
 * when it is needed again is not loaded again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sched.h"
#include "vta/str.h"

enum { CHOICES = 40, MAX_SLOTS = 64, ACC_SLOTS = 4, OTHER_SLOTS = 4 };
enum { PARAM_BLOCKS = 16 };   /* whose parameters are loaded together */
enum { MOST_ROW_STEP = 255 }; /* of DEPTHWISE */
enum { SUM_PASSES = 5 };      /* of the ALU: requantize, twice times a factor, add, requantize */

/* Sizes of pieces when `total` is cut into ever more of them, largest first. */
typedef struct choices {
    int64_t size[CHOICES];
    int count;
} choices;

static choices cuts_of(int64_t total, int64_t largest)
{
    choices out = {0};
    for (int64_t pieces = most(1, ceil_div(total, largest)); out.count < CHOICES; pieces += 1 + pieces / 8) {
        const int64_t size = ceil_div(total, pieces);
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

/* The input tile blocks of the group that needs most. */
static int64_t widest_reach(const conv *c, int64_t group)
{
    int64_t widest = 0;
    for (int64_t o = 0; o < c->out_blocks; o += c->groups == 1 ? c->out_blocks : group) {
        const reach r = conv_reach(c, o, group);
        const int64_t end = ceil_div(r.first + r.count, c->machine->ri);
        widest = most(widest, end - r.first / c->machine->ri);
    }
    return widest;
}

/* Divides ACC; returns the entries for sums. Plainly: sums, parameters. With a joined sum, what the ALU reads
 * together lies in different quarters: sums in two, the other operand in the third, constants in the last. */
static int64_t place_sums(const conv *c, tiling *t)
{
    const int64_t acc = c->machine->acc, params = t->param_slots * t->param_size;
    if (c->sum == NULL) {
        t->param_first = acc - params;
        return most(0, t->param_first);
    }
    t->other_first = acc / 2;
    t->other_size = t->rows * t->cols * c->machine->ro;
    t->other_slots = least(acc / 4 / t->other_size, OTHER_SLOTS);
    t->fixed_first = acc / 4 * 3;
    t->param_first = t->fixed_first + SUM_CONSTANTS;
    const bool fits = t->other_slots >= 2 && t->param_first + params <= acc;
    return fits ? acc / 2 : 0;
}

/* Fills in what follows; false where it does not fit. */
static bool complete(const conv *c, tiling *t)
{
    const machine *m = c->machine;
    const int64_t out_groups = ceil_div(c->out_blocks, t->group), reach_tiles = widest_reach(c, t->group);
    t->row_tiles = ceil_div(c->oh, t->rows);
    t->col_tiles = ceil_div(c->ow, t->cols);
    t->tiles = c->images * t->row_tiles * t->col_tiles;
    t->groups = out_groups;
    t->block_parts = ceil_div(reach_tiles, t->part);
    t->window_parts =
        ceil_div(c->window.kernel[0], t->part_rows) * ceil_div(c->window.kernel[1], t->part_cols);
    t->parts = t->block_parts * t->window_parts;
    t->in_rows = span_of(t->rows, c->window.stride[0], t->part_rows, c->window.dilation[0]);
    t->in_cols = span_of(t->cols, c->window.stride[1], t->part_cols, c->window.dilation[1]);
    const int64_t steps = c->lanes ? 1 : t->part * m->ri * t->part_rows * t->part_cols * c->planes;
    t->inp_size = t->part * t->in_rows * t->in_cols * m->ri;
    t->wgt_size = c->lanes ? t->group / m->ro * piece_count(c, t->part_rows, t->part_cols) : t->group * steps;
    t->acc_size = t->rows * t->cols * t->group;
    const int64_t together = most(1, least(PARAM_BLOCKS, m->acc / 32) / t->group);
    t->param_groups = conv_is_mean(c) ? out_groups : least(out_groups, together);
    t->param_size = 2 * (conv_is_mean(c) ? c->pairs : t->group * t->param_groups);
    t->param_slots = least(ceil_div(out_groups, t->param_groups), most(2, m->acc / 8 / t->param_size));
    const int64_t sums = place_sums(c, t);
    const int64_t inputs = t->tiles * t->parts * (c->groups > 1 ? out_groups : 1);
    t->inp_slots = least(least(m->inp / t->inp_size, inputs), MAX_SLOTS);
    t->wgt_slots = least(least(m->wgt / t->wgt_size, out_groups * t->parts), MAX_SLOTS);
    t->acc_slots = least(sums / t->acc_size, ACC_SLOTS);
    const bool one_row = c->lanes && c->piece_rows > 1 && c->window.dilation[0] * t->in_cols > MOST_ROW_STEP;
    return !one_row && steps <= m->uop && t->inp_slots > 0 && t->wgt_slots > 0 && t->acc_slots > 0;
}

/* The largest share of a dimension that a tile's input has after clipping, summed over the tiles. */
static int64_t loaded_span(int64_t total, int64_t piece, int64_t stride, int64_t taps, int64_t dilation,
                           int64_t before, int64_t size)
{
    int64_t sum = 0;
    for (int64_t at = 0; at < total; at += piece) {
        const int64_t first = at * stride - before;
        const int64_t end = first + span_of(least(piece, total - at), stride, taps, dilation);
        sum += most(0, least(end, size) - most(first, 0));
    }
    return sum;
}

/* How many of `count` things in a round are loaded in `rounds` rounds, the direction turning each time. */
static int64_t loads_of(int64_t count, int64_t rounds, int64_t slots)
{
    return count <= slots ? count : count * rounds - (rounds - 1) * most(0, slots - 1);
}

/* Cycles of the array for one row of `cols` output pixels of a block. DEPTHWISE reads one column of its
 * window a cycle, but for the last two of the window before, where it still needs them. */
static int64_t row_cycles(const conv *c, int64_t reach_blocks, int64_t cols)
{
    const vtac_vta_window *w = &c->window;
    if (!c->lanes) {
        return reach_blocks * w->kernel[0] * w->kernel[1] * c->planes * cols;
    }
    int64_t cycles = 0;
    for (int64_t kx = 0; kx < w->kernel[1]; kx += c->piece_cols) {
        const int64_t taps = least(c->piece_cols, w->kernel[1] - kx);
        const bool steady = w->stride[1] % w->dilation[1] == 0;
        const int64_t kept = steady ? least(2, most(0, taps - w->stride[1] / w->dilation[1])) : 0;
        cycles += taps + (cols - 1) * (taps - kept);
    }
    return cycles * w->kernel[0];
}

void tiling_measure(const conv *c, const tiling *t, load_of_units *out)
{
    const machine *m = c->machine;
    const int64_t tile_bytes = m->batch * m->block, wgt_bytes = m->block_in * m->block_out;
    const int64_t reach_blocks =
        c->groups == 1 ? c->in_blocks : least(c->in_blocks, widest_reach(c, t->group) * m->ri);
    const int64_t taps = c->window.kernel[0] * c->window.kernel[1] * c->planes;
    const int64_t pixels = c->images * c->oh * c->ow;
    const int64_t row_span = loaded_span(c->oh, t->rows, c->window.stride[0], t->part_rows,
                                         c->window.dilation[0], c->window.before[0], c->h);
    const int64_t col_span = loaded_span(c->ow, t->cols, c->window.stride[1], t->part_cols,
                                         c->window.dilation[1], c->window.before[1], c->w);
    /* One sweep over all input parts and one over all weights; how often each is made. */
    const int64_t sweep =
        c->images * row_span * col_span * ceil_div(reach_blocks, m->ri) * tile_bytes * t->window_parts;
    const int64_t weights =
        (c->alike   ? piece_count(c, t->part_rows, t->part_cols) * t->window_parts
         : c->lanes ? c->out_blocks / m->ro * piece_count(c, t->part_rows, t->part_cols) * t->window_parts
                    : c->out_blocks * reach_blocks * taps) *
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
                         params * c->pairs * 2 * m->batch * m->block_out * 4;
    const int64_t written = pixels * c->out_blocks * m->batch * m->block_out;
    *out = (load_of_units){
        .array = (uint64_t)(c->images * c->oh * c->out_blocks * t->col_tiles *
                            row_cycles(c, reach_blocks, t->cols)),
        .alu = (uint64_t)(pixels * c->out_blocks * (c->sum != NULL ? SUM_PASSES : 1)),
        .load = (uint64_t)(read / m->beat),
        .store = (uint64_t)(written / m->beat),
        .bytes_read = (uint64_t)read,
        .bytes_written = (uint64_t)written,
    };
}

/* Cycles of the whole layer, roughly: the busiest unit, what a piece costs however small it is, and what
 * cannot overlap. */
uint64_t tiling_estimate(const conv *c, const tiling *t, load_of_units *units)
{
    enum { LATENCY = 200, CALL = 6, INSN = 2 };
    tiling_measure(c, t, units);
    const machine *m = c->machine;
    const int64_t pieces = t->tiles * t->groups, blocks = pieces * t->group;
    const int64_t calls = blocks * (t->parts + (c->sum != NULL ? 7 : 2)) + pieces * t->parts * (t->part + 1);
    const int64_t first =
        (t->inp_size * m->batch * m->block_in + t->wgt_size * m->block_in * m->block_out) / m->beat;
    const int64_t last = t->rows * t->cols * m->ro * 3;
    /* The array and the ALU write through one port. */
    const int64_t writes = c->images * c->oh * c->ow * c->out_blocks * t->parts + (int64_t)units->alu;
    const bool turns = t->acc_slots < 2 && t->group <= m->ro;
    const bool alone =
        (t->inp_slots < 2 && t->tiles * t->parts > 1) || (t->wgt_slots < 2 && t->groups * t->parts > 1);
    const int64_t array = (int64_t)units->array + blocks * t->parts * CALL;
    const int64_t alu = (int64_t)units->alu + blocks * CALL;
    const int64_t work = most(most(array, alu), writes + blocks * CALL * 2);
    const int64_t busy = turns ? array + alu + (int64_t)units->store : work;
    const int64_t all = alone ? busy + (int64_t)units->load : most(busy, (int64_t)units->load);
    return (uint64_t)(most(most(all, (int64_t)units->store), calls * INSN) + first + last + LATENCY);
}

static const int64_t window_cuts[][2] = {{0, 0}, {1, 0}, {1, 1}}; /* 0: the whole kernel */

/* The best of its class: about as many pixels, about as many blocks, the same loop outside, cut input or not.
 */
typedef struct contender {
    uint64_t cycles;
    tiling tiling;
} contender;

enum { PIXEL_CLASSES = 14, GROUP_CLASSES = 10, CLASSES = PIXEL_CLASSES * GROUP_CLASSES * 4 };

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
    return ((pixels * GROUP_CLASSES + group) * 2 + t->tiles_outside) * 2 + (t->parts > 1);
}

/* All ways with the window cut in one way. */
static void enumerate(const conv *c, tiling t, contender *best)
{
    const machine *m = c->machine;
    const choices rows = cuts_of(c->oh, m->acc), cols = cuts_of(c->ow, m->acc / m->ro);
    const choices groups = cuts_of(c->groups > 1 ? 1 : c->out_blocks / m->ro, m->wgt);
    const choices parts = cuts_of(widest_reach(c, m->ro), m->inp);
    for (int i = 0; i < rows.count * cols.count; i++) {
        t.rows = rows.size[i % rows.count];
        t.cols = cols.size[i / rows.count];
        if (t.rows * t.cols * m->ro > m->acc) {
            continue;
        }
        for (int j = 0; j < groups.count * parts.count * 2; j++) {
            t.group = groups.size[j / 2 % groups.count] * m->ro;
            t.part = parts.size[j / 2 / groups.count];
            t.tiles_outside = j % 2 != 0;
            load_of_units units;
            if (!complete(c, &t)) {
                continue;
            }
            const uint64_t cycles = tiling_estimate(c, &t, &units);
            contender *rival = &best[class_of(&t)];
            if (rival->cycles == 0 || cycles < rival->cycles) {
                *rival = (contender){cycles, t};
            }
        }
    }
}

static int fewer_cycles(const void *a, const void *b)
{
    const contender *x = a;
    const contender *y = b;
    if ((x->cycles == 0) != (y->cycles == 0)) {
        return x->cycles == 0 ? 1 : -1; /* nobody in that class */
    }
    return x->cycles < y->cycles ? -1 : x->cycles > y->cycles;
}

static void say_need(vta_str *text, int64_t need, int64_t have, const char *what, const char *key)
{
    if (need > have) {
        vta_str_printf(text, "%s%" PRId64 " %s of %" PRId64 " (%s)", text->size > 0 ? ", " : "", need, what,
                       have, key);
    }
}

/* What the smallest piece there is needs, one pixel of one block, and the buffers lack. */
static vta_status misfit(const conv *c, vta_diag *diag)
{
    const machine *m = c->machine;
    tiling t = {.rows = 1, .cols = 1, .group = m->ro, .part = 1, .part_rows = 1, .part_cols = 1};
    vta_str needs = {0};
    (void)complete(c, &t);
    const int64_t params = t.param_slots * t.param_size;
    const int64_t sums = c->sum == NULL
                             ? t.acc_size + params
                             : most(most(2 * t.acc_size, 8 * t.other_size), 4 * (SUM_CONSTANTS + params));
    say_need(&needs, t.inp_size, m->inp, "inputs", "LOG_INP_BUFF_SIZE");
    say_need(&needs, t.wgt_size, m->wgt, "weights", "LOG_WGT_BUFF_SIZE");
    say_need(&needs, sums, m->acc, "accumulators", "LOG_ACC_BUFF_SIZE");
    say_need(&needs, m->ri * c->planes, m->uop, "micro-ops", "LOG_UOP_BUFF_SIZE");
    const vta_status status =
        vta_fail(diag, VTA_RANGE,
                 "layer '%s' does not fit the buffers: its smallest piece needs %s; larger ones would help",
                 c->layer->name, needs.size > 0 ? needs.text : "more than there is");
    vta_str_free(&needs);
    return status;
}

vta_status tiling_choose(const conv *c, tiling *out, uint32_t room, uint32_t *count, vta_diag *diag)
{
    contender *best = calloc(CLASSES, sizeof *best);
    if (best == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory to plan layer '%s'", c->layer->name);
    }
    *count = 0;
    for (size_t w = 0; w < sizeof window_cuts / sizeof window_cuts[0] && *count == 0; w++) {
        enumerate(c,
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
        return misfit(c, diag);
    }
    return VTA_OK;
}

void tiling_describe(const conv *c, const tiling *t, char *text, size_t size)
{
    const bool input_stays =
        t->tiles_outside ? t->parts <= t->inp_slots : t->tiles * t->parts <= t->inp_slots;
    const bool weights_stay =
        t->tiles_outside ? t->groups * t->parts <= t->wgt_slots : t->parts <= t->wgt_slots;
    char columns[48] = "", cut[48] = "";
    if (t->col_tiles > 1) {
        (void)snprintf(columns, sizeof columns, " x %" PRId64 " of %" PRId64 " columns", t->cols, c->ow);
    }
    if (t->parts > 1) {
        (void)snprintf(cut, sizeof cut, ", input in %" PRId64 " parts", t->parts);
    }
    (void)snprintf(text, size,
                   "%" PRId64 " of %" PRId64 " rows%s, %" PRId64 " of %" PRId64
                   " out blocks%s, %s outside%s%s%s",
                   t->rows, c->oh, columns, t->group, c->out_blocks, cut,
                   t->tiles_outside ? "tiles" : "blocks", input_stays ? ", input stays" : "",
                   weights_stay ? ", weights stay" : "", c->sum != NULL ? ", sum joined" : "");
}

/* Walking. */

patch tiling_tile(const conv *c, const tiling *t, int64_t index)
{
    const int64_t x = index % t->col_tiles, y = index / t->col_tiles % t->row_tiles;
    patch out = {.image = index / t->col_tiles / t->row_tiles, .y = y * t->rows, .x = x * t->cols};
    out.rows = least(t->rows, c->oh - out.y);
    out.cols = least(t->cols, c->ow - out.x);
    return out;
}

part tiling_part(const conv *c, const tiling *t, int64_t group, int64_t index)
{
    const int64_t ri = c->machine->ri, columns = ceil_div(c->window.kernel[1], t->part_cols);
    const int64_t window = index % t->window_parts;
    const reach r = conv_reach(c, group * t->group, t->group);
    const int64_t first = r.first / ri, end = ceil_div(r.first + r.count, ri);
    part out = {
        .block = first + index / t->window_parts * t->part,
        .ky = window / columns * t->part_rows,
        .kx = window % columns * t->part_cols,
    };
    out.blocks = most(0, least(t->part, end - out.block));
    out.kys = least(t->part_rows, c->window.kernel[0] - out.ky);
    out.kxs = least(t->part_cols, c->window.kernel[1] - out.kx);
    return out;
}

reach part_reach(const conv *c, const tiling *t, int64_t group, const part *p)
{
    const int64_t ri = c->machine->ri;
    const reach r = conv_reach(c, group * t->group, t->group);
    const int64_t first = most(r.first, p->block * ri);
    return (reach){first, most(0, least(r.first + r.count, (p->block + p->blocks) * ri) - first)};
}

int64_t piece_count(const conv *c, int64_t rows, int64_t cols)
{
    return ceil_div(rows, c->piece_rows) * ceil_div(cols, c->piece_cols);
}

window_piece piece_of(const conv *c, const part *p, int64_t index)
{
    const int64_t in_row = ceil_div(p->kxs, c->piece_cols);
    window_piece piece = {.y = index / in_row * c->piece_rows, .x = index % in_row * c->piece_cols};
    piece.rows = least(c->piece_rows, p->kys - piece.y);
    piece.cols = least(c->piece_cols, p->kxs - piece.x);
    return piece;
}

int64_t part_entries(const conv *c, const tiling *t, int64_t group, const part *p)
{
    const int64_t blocks = part_reach(c, t, group, p).count;
    return c->lanes ? piece_count(c, p->kys, p->kxs) : blocks * p->kys * p->kxs * c->planes;
}

int64_t group_blocks(const conv *c, const tiling *t, int64_t group)
{
    return least(t->group, c->out_blocks - group * t->group);
}

int64_t chunk_entries(const conv *c, const tiling *t, int64_t group, const part *p)
{
    const int64_t blocks = group_blocks(c, t, group);
    return part_entries(c, t, group, p) * (c->lanes ? blocks / c->machine->ro : blocks);
}
