/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers that are computed together (a group): a member's output tile is requantized into INP, where the next
 * member reads it. Nothing between members goes through memory.
 *
 * The last member's output is cut into tiles. Its tile determines what the others have to make; the halo that
 * two tiles share is made twice. A tile is made block by block: a channel block of the first member, from its
 * whole input; then the block of the next member, if that is depthwise; a convolution at the end sums over
 * the blocks as they come (it *gathers*). So a group has, in this order: a convolution or a depthwise member;
 * more depthwise members; and perhaps a convolution at the end.
 *
 * A convolution right behind another one may *stream* instead: it has all blocks of a tile's input in INP,
 * and its own output blocks, one by one, go between the parts of the next tile's work. The ALU then has the
 * time of two layers for them, above all for a joined sum.
 *
 * The array is kept busy: while the ALU requantizes a block for a member, the array works on the next block
 * for the member before. A *line*, the input of a member from the one before, has two slots in INP. Padding
 * at the border of an image is the zero point: it is loaded once, and stays while only the inside is written.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "flow.h"
#include "timing.h"
#include "vta/number.h"

enum {
    LINES = 2,     /* the maximum of slots of a line */
    SUMS = 2,      /* the maximum of slots of sums */
    MAX_PARTS = 4, /* blocks of an entry that REQUANT can write */
    MAX_ROW_STEP = 255,
    PARAM_BLOCKS = 16, /* blocks whose parameters are loaded together */
    WIDE_BLOCKS = 8,
    QUARTERS = 4,
    MORE_PASSES = 4, /* passes of the ALU over a joined sum, beyond one */
    SUM_CALLS = 7,   /* calls of the ALU for a joined sum */
    OTHERS = 3,      /* the maximum of slots of a sum's other operand */
    TABLES = 2,
    MAX_TILES = 1024,
};

static const group_member *last_of(const layer_group *g)
{
    return &g->members[g->count - 1];
}

/* True if member m streams: it starts when a tile's whole input is there. */
static bool streams(const layer_group *g, uint32_t m)
{
    return g->streams && m + 1 == g->count;
}

/* True if member m gathers: it sums over the blocks of its input as they come. */
static bool gathers(const layer_group *g, uint32_t m)
{
    return m > 0 && !g->members[m].conv.depthwise && !streams(g, m);
}

/* ---- members */

/* Restores the rows of a pointwise layer, which vtac_vta_conv_of made one long row: the members' tiles need
 * the same shape. A pointwise layer may also read an image as rows, or rows as an image; its input has the
 * pixels of its output in the same order. */
static void restore_rows(conv *c)
{
    const vtac_vta_tensor *in = &c->region->tensors[c->input];
    const vtac_vta_tensor *own = &c->region->tensors[c->layer->output];
    const bool alike = vtac_vta_window_is_point(&c->window);
    c->h = alike ? own->h : in->folded ? in->stored_h : in->h;
    c->w = alike        ? own->w / c->phases
           : in->folded ? in->stored_w
                        : in->w; /* a narrow layer's window is no point */
    c->made[0] = c->oh = own->h;
    c->made[1] = c->ow = own->w * vta_max(c->layer->narrow, 1);
}

static bool may_be_member(const layer_group *g, uint32_t m)
{
    const conv *c = &g->members[m].conv;
    const bool middle = m > 0 && m + 1 < g->count;
    return c->layer->kind == VTAC_VTA_CONV && !conv_packed(c) && !conv_whole(c) && !c->alike &&
           (c->depthwise || (c->groups == 1 && !middle)) && (c->phases == 1 || m == 0) && !c->twice &&
           !conv_makes_twice(c);
}

/* True if a member reads the output of the one before it in the same shape. */
static bool continues(const conv *before, const conv *c)
{
    return before->layer->output == c->input && before->oh == c->h && before->ow == c->w;
}

static bool can_be_group(const machine *m, const layer_group *g)
{
    uint32_t tables = 0;
    bool good = m->config->loop_back != 0 && m->ri == 1 && m->ro <= MAX_PARTS && g->count >= 2;
    for (uint32_t k = 0; k < g->count && good; k++) {
        const conv *c = &g->members[k].conv;
        tables += conv_table(c) != NULL;
        good = may_be_member(g, k) && (k == 0 || continues(&g->members[k - 1].conv, c));
    }
    return good && tables <= TABLES;
}

/* ---- tiles */

/* The input that `made` outputs of a member need along dimension d. */
static int64_t span_of(const conv *c, int d, int64_t made)
{
    const vtac_vta_window *w = &c->window;
    return (made - 1) * w->stride[d] + (w->kernel[d] - 1) * w->dilation[d] + 1;
}

/* The outputs that each member makes for the last member's outputs at … at + count - 1, along dimension d. */
static void find_made(const layer_group *g, int d, int64_t at, int64_t count, interval *made)
{
    made[g->count - 1] = (interval){at, count};
    for (uint32_t m = g->count - 1; m > 0; m--) {
        const conv *c = &g->members[m].conv;
        const vtac_vta_window *w = &c->window;
        const int64_t first = made[m].at * w->stride[d] - w->before[d];
        const extent inside = vtac_vta_extent_of(first, span_of(c, d, made[m].count), d == 0 ? c->h : c->w);
        made[m - 1] = (interval){inside.at, inside.count};
    }
}

/* Totals over all tiles along one dimension. */
typedef struct tile_totals {
    int64_t max[MAX_MEMBERS], sum[MAX_MEMBERS]; /* by member: rows or columns that it makes */
    int64_t row_cycles[MAX_MEMBERS];            /* columns: the array's cycles for a row of an output block */
    int64_t loaded;                             /* the first member's input */
    bool good;                                  /* every member makes something in every tile */
} tile_totals;

static void sweep_tiles(const layer_group *g, int d, int64_t size, tile_totals *out)
{
    const conv *last = &last_of(g)->conv, *first = &g->members[0].conv;
    const vtac_vta_window *w = &first->window;
    const int64_t total = d == 0 ? last->oh : last->ow;
    *out = (tile_totals){.good = true};
    for (int64_t at = 0; at < total; at += size) {
        interval made[MAX_MEMBERS] = {{0}};
        find_made(g, d, at, vta_min(size, total - at), made);
        for (uint32_t m = 0; m < g->count; m++) {
            const conv *c = &g->members[m].conv;
            out->max[m] = vta_max(out->max[m], made[m].count);
            out->sum[m] += made[m].count;
            out->row_cycles[m] += d == 1 ? vtac_vta_tiling_row_cycles(c, c->in_blocks, made[m].count) : 0;
            out->good = out->good && made[m].count > 0;
        }
        const interval steps = d == 0 ? made[0] : vtac_vta_conv_steps(first, made[0].at, made[0].count);
        const int64_t span = span_of(first, d, steps.count);
        out->loaded +=
            vtac_vta_extent_of(steps.at * w->stride[d] - w->before[d], span, d == 0 ? first->h : first->w)
                .count;
    }
}

/* ---- allocation */

/* Sets a member's loops and the sizes of its slots; false if it does not fit. */
static bool size_member(const layer_group *g, uint32_t m, tiling *t)
{
    const conv *c = &g->members[m].conv;
    const machine *of = c->machine;
    const bool sums_up = gathers(g, m);
    const int64_t taps = c->window.kernel[0] * c->window.kernel[1] * c->planes;
    t->part_rows = c->window.kernel[0];
    t->part_cols = c->window.kernel[1];
    t->window_parts = 1;
    t->group = sums_up ? c->out_blocks : c->ro;
    t->groups = c->out_blocks / t->group;
    t->part = c->depthwise || sums_up ? 1 : vta_ceil_div(c->in_blocks, of->ri);
    t->parts = t->block_parts = sums_up ? vta_ceil_div(c->in_blocks, of->ri) : 1;
    t->in_rows = span_of(c, 0, t->rows);
    t->in_cols = vtac_vta_conv_pitch(c, span_of(c, 1, vtac_vta_conv_steps_max(c, t->cols)));
    t->inp_size = t->part * t->in_rows * t->in_cols * of->ri;
    const int64_t steps = c->depthwise ? 1 : t->part * of->ri * taps;
    const int64_t pieces = vtac_vta_piece_count(c, t->part_rows, t->part_cols);
    t->wgt_size = !c->depthwise ? t->group * steps * c->phases : c->lanes > 0 ? t->group * pieces : pieces;
    t->acc_size = t->rows * t->cols * t->group;
    const int64_t together = vta_max(1, (c->layer->wide ? WIDE_BLOCKS : PARAM_BLOCKS) / t->group);
    t->param_groups = vta_min(t->groups, together);
    t->param_size = c->record * t->group * t->param_groups;
    t->param_slots = vta_ceil_div(t->groups, t->param_groups);
    const bool far = c->depthwise && c->piece_rows > 1 && c->window.dilation[0] * t->in_cols > MAX_ROW_STEP;
    return !far && steps <= of->uop;
}

/* True if a member reads its input in one call of the array. Then the slot is free for the requantization
 * that is held back until that call, and one slot is enough. Not with several tiles: padding would be
 * loaded too early. */
static bool reads_at_once(const layer_group *g, uint32_t m)
{
    const conv *c = &g->members[m].conv;
    return c->depthwise ? c->ro == 1 && c->lanes == 0 && g->members[m].tiling.wgt_size == 1
                        : c->out_blocks == 1;
}

/* INP: the lines between members, and the first member's input. */
static bool fit_inputs(layer_group *g, const machine *of, int64_t tiles, int64_t lines)
{
    int64_t used = 0;
    tiling *first = &g->members[0].tiling;
    for (uint32_t m = 1; m < g->count; m++) {
        tiling *t = &g->members[m].tiling;
        t->inp_first = used;
        t->inp_slots = tiles == 1 && streams(g, m) ? 1 : tiles == 1 && reads_at_once(g, m) ? lines : LINES;
        used += t->inp_slots * t->inp_size;
    }
    const int64_t units = tiles * (g->members[0].conv.depthwise ? first->groups : 1);
    first->inp_first = used;
    first->inp_slots = vta_max(0, vta_min((of->inp - used) / first->inp_size, vta_min(units, LINES)));
    return first->inp_slots > 0;
}

/* WGT: two chunks or all for each member; then more slots where there is room, the smallest chunks first. */
static bool fit_weights(layer_group *g, const machine *of)
{
    int64_t used = 0;
    for (uint32_t m = 0; m < g->count; m++) {
        tiling *t = &g->members[m].tiling;
        t->wgt_slots = vta_min(t->groups * t->parts, 2);
        used += t->wgt_slots * t->wgt_size;
    }
    const bool fits = used <= of->wgt;
    for (uint32_t k = 0; k < g->count && fits; k++) {
        tiling *smallest = NULL;
        for (uint32_t m = 0; m < g->count; m++) {
            tiling *t = &g->members[m].tiling;
            const bool wants = t->wgt_slots < vta_min(t->groups * t->parts, MAX_SLOTS);
            smallest = wants && (smallest == NULL || t->wgt_size < smallest->wgt_size) ? t : smallest;
        }
        if (smallest != NULL) {
            const int64_t more =
                vta_min((of->wgt - used) / smallest->wgt_size,
                        vta_min(smallest->groups * smallest->parts, MAX_SLOTS) - smallest->wgt_slots);
            smallest->wgt_slots += more;
            used += more * smallest->wgt_size;
        }
    }
    for (uint32_t m = 0, at = 0; m < g->count; m++) {
        g->members[m].tiling.wgt_first = at;
        at += (uint32_t)(g->members[m].tiling.wgt_slots * g->members[m].tiling.wgt_size);
    }
    return fits;
}

/* Numbers of slots of sums: of a member that gathers, of a depthwise one, of the first one; of a joined sum's
 * other operand; of a member that streams. */
typedef struct sum_slots {
    int64_t gathered, by_channels, first, others, streamed;
} sum_slots;

/* Moves the other operand of a joined sum to a quarter of ACC without constants and sums, if there is room:
 * the ALU reads one entry a cycle from each quarter. */
static void move_other_operand(layer_group *g, const machine *of, int64_t sums)
{
    tiling *t = &g->members[g->count - 1].tiling;
    const int64_t half = of->acc / 2, quarter = of->acc / QUARTERS;
    const bool room = of->side == 0 && sums <= half && t->other_slots * t->other_size <= quarter &&
                      g->members[0].tiling.param_first >= half + quarter; /* where the side begins */
    t->other_first = room ? half : t->other_first;
}

static int64_t slots_of(const layer_group *g, uint32_t m, const sum_slots *how)
{
    if (streams(g, m)) {
        return how->streamed;
    }
    return gathers(g, m) ? how->gathered : m == 0 ? how->first : how->by_channels;
}

/* ACC: sums from the first entry on; parameters and a sum's other operand in its side or at its end. With
 * `parted`, gathered sums begin in a quarter of their own: the array reads them while the ALU reads the sums
 * of the members before, and each quarter gives one entry a cycle. */
static bool place_sums(layer_group *g, const machine *of, const sum_slots *how, bool parted)
{
    const int64_t quarter = of->acc / QUARTERS;
    int64_t sums = 0, side = 0;
    for (uint32_t m = 0; m < g->count; m++) {
        const conv *c = &g->members[m].conv;
        tiling *t = &g->members[m].tiling;
        sums = parted && gathers(g, m) ? vta_ceil_div(sums, quarter) * quarter : sums;
        t->acc_first = sums;
        t->acc_slots = slots_of(g, m, how);
        sums += t->acc_slots * t->acc_size;
        const int64_t record = vta_max(c->record, c->sum != NULL ? record_entries(c->sum->wide) : 1);
        side = vta_ceil_div(side, record) * record;
        t->param_first = side;
        side += t->param_slots * t->param_size;
        if (c->sum != NULL) {
            t->fixed_first = side = vta_ceil_div(side, record) * record;
            t->other_first = side + sum_constants(c->sum);
            t->other_size = t->rows * t->cols * c->ro;
            t->other_slots = how->others;
            side = t->other_first + how->others * t->other_size;
        }
    }
    enum { ALIGNED = 8 };
    const int64_t room = of->side > 0 ? of->side : of->acc - sums;
    const int64_t at = of->side > 0 ? 0 : (of->acc - side) / ALIGNED * ALIGNED;
    for (uint32_t m = 0; m < g->count; m++) {
        tiling *t = &g->members[m].tiling;
        t->param_first += at;
        t->fixed_first += at;
        t->other_first += at;
        t->acc_used = sums;
        t->side_used = side;
    }
    move_other_operand(g, of, sums);
    return sums <= of->acc && side <= room && (of->side > 0 || at >= sums);
}

/* Tries fewer and fewer slots until they fit; first it gives up slots for which the array waits least. */
static bool fit_sums(layer_group *g, const machine *of, int64_t tiles)
{
    static const sum_slots less[] = {{SUMS, SUMS, SUMS, OTHERS, 4},
                                     {1, SUMS, SUMS, OTHERS, 3},
                                     {1, SUMS, SUMS, 2, 2},
                                     {1, 1, SUMS, 2, 2},
                                     {1, 1, 1, 2, 1}};
    bool fits = false;
    for (size_t i = tiles == 1; i < sizeof less / sizeof less[0] && !fits; i++) {
        fits = (of->side == 0 && place_sums(g, of, &less[i], true)) || place_sums(g, of, &less[i], false);
    }
    return fits;
}

/* Fills in everything that follows from a tiling; false if it does not fit. */
static bool complete_tiling(layer_group *g, const group_tiling *how, tile_totals *up, tile_totals *across)
{
    const int64_t rows = how->rows, cols = how->cols;
    const conv *last = &last_of(g)->conv;
    const machine *of = last->machine;
    g->streams = how->streams;
    sweep_tiles(g, 0, rows, up);
    sweep_tiles(g, 1, cols, across);
    if (!up->good || !across->good) {
        return false;
    }
    const int64_t row_tiles = vta_ceil_div(last->oh, rows), col_tiles = vta_ceil_div(last->ow, cols);
    for (uint32_t m = 0; m < g->count; m++) {
        tiling *t = &g->members[m].tiling;
        *t = (tiling){.rows = up->max[m],
                      .cols = across->max[m],
                      .tiles_outside = true,
                      .row_tiles = row_tiles,
                      .col_tiles = col_tiles,
                      .tiles = last->images * row_tiles * col_tiles};
        if (!size_member(g, m, t)) {
            return false;
        }
    }
    const int64_t tiles = last->images * row_tiles * col_tiles;
    return tiles <= MAX_TILES && fit_inputs(g, of, tiles, how->lines) && fit_weights(g, of) &&
           fit_sums(g, of, tiles);
}

/* ---- the rough estimate */

static int64_t weight_bytes(const layer_group *g, uint32_t m)
{
    const conv *c = &g->members[m].conv;
    const tiling *t = &g->members[m].tiling;
    const int64_t chunks = t->groups * t->parts;
    const int64_t loads = chunks <= t->wgt_slots ? 1 : t->tiles;
    return loads * chunks * t->wgt_size * c->machine->block_in * c->machine->block_out;
}

/* The work of each unit for one member. */
static load_of_units units_of(const layer_group *g, uint32_t m, const tile_totals *up,
                              const tile_totals *across)
{
    const conv *c = &g->members[m].conv;
    const machine *of = c->machine;
    const int64_t tile = of->batch * of->block,
                  made = c->images * up->sum[m] * across->sum[m] * c->out_blocks;
    const int64_t input = c->images * up->loaded * across->loaded * vta_ceil_div(c->in_blocks, of->ri) * tile;
    const int64_t results = made * of->batch * of->block_out, written = m + 1 == g->count ? results : 0;
    const int64_t read = weight_bytes(g, m) + c->pairs * c->record * of->batch * of->block_out * 4 +
                         (m == 0 ? input : 0) + (c->sum != NULL ? results : 0);
    return (load_of_units){
        .array = (uint64_t)(c->images * up->sum[m] *
                            vtac_vta_tiling_all_cycles(c, across->row_cycles[m], across->sum[m])),
        .alu = (uint64_t)(made * (c->sum != NULL ? 1 + MORE_PASSES : 1)),
        .load = (uint64_t)(read / of->beat),
        .store = (uint64_t)(written / of->beat),
        .bytes_read = (uint64_t)read,
        .bytes_written = (uint64_t)written,
    };
}

static void measure_group(layer_group *g, const tile_totals *up, const tile_totals *across,
                          load_of_units *out)
{
    *out = (load_of_units){0};
    for (uint32_t m = 0; m < g->count; m++) {
        load_of_units *own = &g->members[m].units;
        *own = units_of(g, m, up, across);
        out->array += own->array;
        out->alu += own->alu;
        out->load += own->load;
        out->store += own->store;
        out->bytes_read += own->bytes_read;
        out->bytes_written += own->bytes_written;
    }
}

/* The work of member m for the array and the ALU. */
static flow_member flow_of(const layer_group *g, uint32_t m)
{
    const group_member *own = &g->members[m];
    const double tiles = (double)own->tiling.tiles, items = (double)g->members[0].tiling.groups;
    const double array = (double)own->units.array, alu = (double)own->units.alu;
    const double passes = own->conv.sum != NULL ? 1 + MORE_PASSES : 1;
    return (flow_member){.array = array / tiles / (streams(g, m) ? 1 : items),
                         .alu = alu / tiles / (streams(g, m) || gathers(g, m) ? 1 : items),
                         .calls = gathers(g, m) ? own->conv.out_blocks : own->tiling.group,
                         .passes = own->conv.sum != NULL ? SUM_CALLS : 1,
                         .writes = fmin(1, alu / passes * (gathers(g, m) ? items : 1) / array),
                         .slots = own->tiling.acc_slots,
                         .gathers = gathers(g, m)};
}

/* The time of the pipeline, at least that of the memory. */
static uint64_t estimate_cycles(const layer_group *g, const load_of_units *units)
{
    enum { ENDS = 600 };
    const conv *first = &g->members[0].conv;
    const machine *of = first->machine;
    const tiling *t = &g->members[0].tiling;
    const double tiles = (double)t->tiles, items = (double)t->groups;
    const double both = of->shared > 0 ? (double)(units->bytes_read + units->bytes_written) / of->shared : 0;
    double weights = 0;
    flow f = {.count = g->count,
              .streams = g->streams,
              .tiles = t->tiles,
              .items = t->groups,
              .pieces = last_of(g)->tiling.groups,
              .inputs = t->inp_slots,
              .parts = first->depthwise ? 1 : first->in_blocks,
              .latency = (double)of->latency};
    for (uint32_t m = 0; m < g->count; m++) {
        f.members[m] = flow_of(g, m);
        weights += (double)weight_bytes(g, m) / (double)of->beat;
    }
    const double of_items = first->depthwise ? (double)units->load : fmin(weights, (double)units->load);
    f.load = ((double)units->load - of_items) / tiles;
    f.load_of_item = of_items / tiles / items;
    f.store = (double)units->store / tiles;
    return (uint64_t)fmax(vtac_vta_flow_cycles(&f), both) + ENDS;
}

/* ---- tilings */

enum { CUTS = 12, FORMS = 2 * LINES, MAX_TILINGS = CUTS * CUTS * FORMS };

static int cuts_of(int64_t total, int64_t *size)
{
    int count = 0;
    for (int64_t pieces = 1; pieces <= total && count < CUTS; pieces += 1 + pieces / 5) {
        const int64_t one = vta_ceil_div(total, pieces);
        if (count == 0 || one < size[count - 1]) {
            size[count++] = one;
        }
    }
    return count;
}

static int by_cycles(const void *a, const void *b)
{
    const group_tiling *x = a, *y = b;
    if (x->cycles != y->cycles) {
        return x->cycles < y->cycles ? -1 : 1;
    }
    return x->rows * x->cols > y->rows * y->cols ? -1 : x->rows * x->cols < y->rows * y->cols;
}

/* True if streaming is worth a try: the last member is dense, and its line has both slots. */
static bool may_stream(const layer_group *g, const group_tiling *how)
{
    return how->lines == LINES && !last_of(g)->conv.depthwise;
}

/* All tilings that fit, the fastest by the rough estimate first. */
static uint32_t find_tilings(layer_group *g, group_tiling *tilings)
{
    const conv *last = &last_of(g)->conv;
    int64_t rows[CUTS], cols[CUTS];
    const int ys = cuts_of(last->oh, rows), xs = cuts_of(last->ow, cols);
    uint32_t count = 0;
    for (int i = 0; i < FORMS * ys * xs; i++) {
        tile_totals up, across;
        load_of_units units;
        group_tiling *one = &tilings[count];
        *one =
            (group_tiling){0, rows[i / FORMS / xs], cols[i / FORMS % xs], 1 + i % LINES, i % FORMS >= LINES};
        if (one->streams && !may_stream(g, one)) {
            continue;
        }
        if (one->rows * one->cols * last->ro <= last->machine->acc && complete_tiling(g, one, &up, &across)) {
            measure_group(g, &up, &across, &units);
            one->cycles = estimate_cycles(g, &units);
            count++;
        }
    }
    qsort(tilings, count, sizeof *tilings, by_cycles);
    return count;
}

void vtac_vta_group_apply(plan *p, const group_tiling *how)
{
    tile_totals up, across;
    (void)complete_tiling(&p->group, how, &up, &across);
    measure_group(&p->group, &up, &across, &p->units);
    p->cycles = how->cycles;
    p->group.how = *how;
}

vta_status vtac_vta_group_plan(const machine *m, const vtac_vta_region *region, const uint32_t *numbers,
                               uint32_t count, const vtac_vta_layer *sum, plan *out, vta_diag *diag)
{
    group_tiling tilings[MAX_TILINGS];
    layer_group *g = &out->group;
    vtac_vta_plan_init(m, region, numbers[count - 1], out);
    out->grouped = true;
    g->count = count;
    for (uint32_t k = 0; k < count; k++) {
        vtac_vta_conv_of(m, region, numbers[k], &g->members[k].conv);
        restore_rows(&g->members[k].conv);
    }
    if (sum != NULL) {
        vtac_vta_conv_join(&g->members[count - 1].conv, sum);
    }
    if (!can_be_group(m, g)) {
        return vta_fail(diag, VTA_UNSUPPORTED, "layer '%s' does not join those before it", out->layer->name);
    }
    if (find_tilings(g, tilings) == 0) {
        return vta_fail(diag, VTA_RANGE, "layer '%s' and those before it do not fit", out->layer->name);
    }
    vtac_vta_group_apply(out, &tilings[0]);
    return VTA_OK;
}

static vta_status time_tiling(plan *p, const group_tiling *one, step_list *list, uint64_t limit,
                              uint64_t *cycles, vta_diag *diag)
{
    vtac_vta_group_apply(p, one);
    vtac_vta_list_clear(list);
    const vta_status status = vtac_vta_group_emit(p, list, diag);
    vtac_vta_list_load_ahead(list, p->machine->config, p->machine->latency);
    *cycles = status == VTA_OK ? vtac_vta_timing_below(p->machine, list, 0, limit) : 0;
    return status;
}

vta_status vtac_vta_group_refine(plan *p, uint32_t room, group_trials *all, vta_diag *diag)
{
    group_tiling tilings[MAX_TILINGS];
    const uint32_t count = find_tilings(&p->group, tilings);
    if (count == 0) {
        return vta_fail(diag, VTA_RANGE, "layer '%s' and those before it do not fit", p->layer->name);
    }
    group_tiling best = tilings[0];
    step_list list;
    vta_status status = VTA_OK;
    vtac_vta_list_init(&list);
    best.cycles = UINT64_MAX;
    all->count = 0;
    for (uint32_t i = 0; i < count && i < room && i < MAX_TRIALS && status == VTA_OK; i++) {
        group_tiling *one = &all->tilings[all->count];
        *one = tilings[i];
        status = time_tiling(p, &tilings[i], &list, vtac_vta_far_limit(best.cycles), &one->cycles, diag);
        if (status == VTA_OK && one->cycles > 0) {
            best = one->cycles < best.cycles ? *one : best;
            all->count++;
        }
    }
    vtac_vta_list_free(&list);
    vtac_vta_group_apply(p, &best);
    return status;
}

entries_used vtac_vta_group_use(const plan *p)
{
    entries_used used = {0};
    const layer_group *g = &p->group;
    for (uint32_t m = 0; m < g->count; m++) {
        const tiling *t = &g->members[m].tiling;
        used.inp += t->inp_slots * t->inp_size;
        used.wgt += t->wgt_slots * t->wgt_size;
        used.acc = t->acc_used;
        used.side = t->side_used;
    }
    return used;
}

void vtac_vta_group_move(plan *p, const entries_used *to)
{
    for (uint32_t m = 0; m < p->group.count; m++) {
        tiling *t = &p->group.members[m].tiling;
        t->inp_first += to->inp;
        t->wgt_first += to->wgt;
        t->acc_first += to->acc;
        t->param_first += to->side;
        t->other_first += to->side;
        t->fixed_first += to->side;
    }
}

void vtac_vta_group_describe(const plan *p, uint32_t member, char *text, size_t size)
{
    const layer_group *g = &p->group;
    const conv *c = &g->members[member].conv;
    const tiling *t = &g->members[member].tiling;
    const bool last = member + 1 == g->count;
    const char *next = last ? "" : g->members[member + 1].conv.layer->name;
    (void)snprintf(
        text, size, "%" PRId64 " of %" PRId64 " rows x %" PRId64 " of %" PRId64 " columns, %s%s%s%s", t->rows,
        c->oh, t->cols, c->ow, last ? "on chip from " : "on chip into ",
        last ? g->members[member - 1].conv.layer->name : next,
        streams(g, member) ? ", beside its next tile" : "", last && c->sum != NULL ? ", sum joined" : "");
}

/* Packs each member's constants as if it were alone. */
vta_status vtac_vta_group_pack(plan *p, blob *to, vta_diag *diag)
{
    for (uint32_t m = 0; m < p->group.count; m++) {
        group_member *own = &p->group.members[m];
        plan alone = {
            .machine = p->machine, .region = p->region, .layer = own->conv.layer, .conv = own->conv};
        alone.tiling = own->tiling;
        VTA_TRY(vtac_vta_conv_pack(&alone, to, diag));
        own->at = alone.at;
    }
    return VTA_OK;
}

/* ---- calls */

/* A block of a tile. */
typedef struct item {
    int64_t tile, block;
    bool first, last; /* in the order of the tile's blocks */
} item;

/* The border of zero points around the inside of a line's slot. */
typedef struct border {
    bool known;
    extent rows, cols;
} border;

typedef struct group_emitter {
    const layer_group *g;
    step_list *list;
    emitter emitters[MAX_MEMBERS];
    border borders[MAX_MEMBERS][LINES];
    int64_t blocks, items;
    uint64_t mains;                    /* calls so far that release the epilogue */
    uint64_t held[MAX_MEMBERS][LINES]; /* by member and slot: `mains` when a requantization was held */
    struct {
        int64_t tile, done; /* the streamed tile; its pieces that are done */
        int64_t number;     /* pieces of all tiles */
        uint64_t held;      /* `mains` when the last requantization into its input was held */
    } stream;
} group_emitter;

/* Goes through every other tile backwards, so that the weights used last are used first. */
static item item_of(const group_emitter *ch, int64_t number)
{
    const int64_t tile = number / ch->blocks, at = number % ch->blocks;
    return (item){tile, tile % 2 == 0 ? at : ch->blocks - 1 - at, at == 0, at == ch->blocks - 1};
}

static patch patch_of(const group_emitter *ch, uint32_t m, int64_t tile)
{
    interval ys[MAX_MEMBERS], xs[MAX_MEMBERS];
    const group_member *last = last_of(ch->g);
    const patch out = vtac_vta_tiling_tile(&last->conv, &last->tiling, tile);
    find_made(ch->g, 0, out.y, out.rows, ys);
    find_made(ch->g, 1, out.x, out.cols, xs);
    return (patch){
        .image = out.image, .y = ys[m].at, .x = xs[m].at, .rows = ys[m].count, .cols = xs[m].count};
}

static piece piece_for(group_emitter *ch, uint32_t m, int64_t number)
{
    const item of = item_of(ch, number);
    emitter *e = &ch->emitters[m];
    const bool sums_up = gathers(ch->g, m);
    piece p = {.group = sums_up ? 0 : of.block, .tile_index = of.tile};
    p.blocks = vtac_vta_group_blocks(e->c, e->t, p.group);
    p.out = p.tile = patch_of(ch, m, of.tile);
    p.acc = e->sums + (sums_up ? of.tile : number) % e->t->acc_slots * e->t->acc_size;
    return p;
}

/* Loads the first member's input for an item; returns its entry. */
static int64_t load_first(group_emitter *ch, int64_t number)
{
    bool present;
    emitter *e = &ch->emitters[0];
    const item of = item_of(ch, number);
    const int64_t group = e->c->depthwise ? of.block : 0;
    const int64_t sram = vtac_vta_slots_take(&e->inp, e->c->depthwise ? number : of.tile, &present);
    if (!present) {
        const patch tile = patch_of(ch, 0, of.tile);
        const part all = vtac_vta_tiling_part(e->c, e->t, group, 0);
        vtac_vta_emit_load_input(e, &tile, &all, sram);
    }
    return sram;
}

/* Prefetches the input of the next item, or of the next tile. */
static void load_ahead(group_emitter *ch, int64_t number)
{
    const bool depthwise = ch->emitters[0].c->depthwise;
    const int64_t next = depthwise ? number + 1 : (number / ch->blocks + 1) * ch->blocks;
    if (ch->emitters[0].t->inp_slots >= LINES && next < ch->items &&
        (depthwise || item_of(ch, number).first)) {
        (void)load_first(ch, next);
    }
}

/* The slot of member m's input that has an item's block. */
static int64_t slot_of(const group_emitter *ch, uint32_t m, int64_t number)
{
    const int64_t count = streams(ch->g, m) ? number / ch->blocks : number;
    return count % ch->g->members[m].tiling.inp_slots;
}

static int64_t line_of(const group_emitter *ch, uint32_t m, int64_t number)
{
    const tiling *t = &ch->g->members[m].tiling;
    return t->inp_first + slot_of(ch, m, number) * t->inp_size;
}

static bool same_extent(const extent *a, const extent *b)
{
    return a->before == b->before && a->count == b->count && a->after == b->after;
}

/* Loads the border of a slot of member m's input, and the lanes without channels, unless it has them already.
 * *to gets the first entry of the inside, *pitch the distance of rows. */
static void prepare_line(group_emitter *ch, uint32_t m, int64_t number, int64_t *to, int64_t *pitch)
{
    const item of = item_of(ch, number);
    const conv *c = ch->emitters[m].c;
    const patch tile = patch_of(ch, m, of.tile);
    const part all = {.kys = c->window.kernel[0], .kxs = c->window.kernel[1]};
    const bool together = streams(ch->g, m);
    border now = {.known = true}, *was = &ch->borders[m][slot_of(ch, m, number)];
    vtac_vta_emit_input_of(c, &tile, &all, &now.rows, &now.cols);
    const int64_t line = line_of(ch, m, number), height = now.rows.before + now.rows.count + now.rows.after;
    *pitch = vtac_vta_conv_pitch(c, now.cols.before + now.cols.count + now.cols.after);
    *to = line + (together ? of.block * height * *pitch : 0) + now.rows.before * *pitch + now.cols.before;
    const bool bare = now.rows.before + now.rows.after + now.cols.before + now.cols.after == 0;
    const bool whole = c->machine->ro == 1 || c->c_in % c->machine->block == 0; /* all lanes are written */
    if (!(bare && whole) &&
        !(was->known && same_extent(&was->rows, &now.rows) && same_extent(&was->cols, &now.cols))) {
        vtac_vta_list_load_padded(ch->list, &(vta_load2d){.memory = VTA_MEM_INP,
                                                          .sram = line,
                                                          .buffer = {WORK_BUFFER},
                                                          .y_pad_0 = together ? ch->blocks * height : height,
                                                          .x_pad_0 = *pitch,
                                                          .pad_value = c->region->tensors[c->input].zero});
    }
    *was = now;
}

/* Releases a requantization by member m - 1 that is still held, before member m reads its result. */
static void release_epilogue(group_emitter *ch, uint32_t m, int64_t number)
{
    if (m > 0 && ch->held[m - 1][number % LINES] == ch->mains) {
        vtac_vta_list_flush(ch->list);
    }
}

/* Emits the next piece of the last member, which streams. */
static void emit_streamed(group_emitter *ch)
{
    const uint32_t m = ch->g->count - 1, tag = ch->list->tag;
    emitter *e = &ch->emitters[m];
    const int64_t tile = ch->stream.tile, at = ch->stream.done++;
    piece p = {.group = tile % 2 == 0 ? at : e->t->groups - 1 - at, .tile_index = tile};
    reduction now = {.init = true};
    ch->list->tag = e->c->number + 1;
    vtac_vta_list_piece(ch->list);
    p.blocks = vtac_vta_group_blocks(e->c, e->t, p.group);
    p.out = p.tile = patch_of(ch, m, tile);
    p.acc = e->sums + ch->stream.number++ % e->t->acc_slots * e->t->acc_size;
    p.params = vtac_vta_emit_params(e, p.group);
    now.part = vtac_vta_tiling_part(e->c, e->t, p.group, 0);
    now.wgt = vtac_vta_emit_weights(e, p.group, 0);
    now.inp = line_of(ch, m, tile * ch->blocks);
    if (ch->stream.held == ch->mains) {
        vtac_vta_list_flush(ch->list);
    }
    ch->mains++;
    vtac_vta_emit_reduction(e, &p, &now, true);
    ch->list->tag = tag;
}

/* Emits streamed pieces until they keep pace with the next tile's work, `done` parts of `all`. */
static void emit_streamed_until(group_emitter *ch, int64_t done, int64_t all)
{
    const int64_t groups = last_of(ch->g)->tiling.groups;
    while (ch->stream.tile >= 0 && ch->stream.done * all < groups * done) {
        emit_streamed(ch);
    }
}

/* Sums over one input block after the other, each when it is loaded, with streamed pieces between them. `at`
 * parts of the tile's work are done, of `of`. */
static void sum_as_loaded(group_emitter *ch, emitter *e, piece *p, const reduction *all, int64_t at,
                          int64_t of)
{
    const tiling *t = e->t;
    const int64_t each = vtac_vta_part_entries(e->c, t, p->group, &all->part) / all->part.blocks;
    const int64_t filled = vtac_vta_filled_blocks(e->c, t, p->group);
    const int64_t rows = span_of(e->c, 0, p->tile.rows),
                  cols = vtac_vta_conv_pitch(e->c, span_of(e->c, 1, p->tile.cols));
    for (int64_t k = 0; k < all->part.blocks; k++) {
        for (int64_t n = 0; n < p->blocks; n++) {
            reduction one = *all;
            one.init = k == 0;
            one.part.block += k;
            one.part.blocks = 1;
            one.inp += k * rows * cols;
            one.wgt += k * each + vta_min(n, filled) * each * (all->part.blocks - 1);
            vtac_vta_emit_gemm(e, p, &one, n);
            ch->mains++;
        }
        emit_streamed_until(ch, at + k + 1, of);
    }
}

/* Sums for a member that is not the last one. */
static void sum_inside(group_emitter *ch, uint32_t m, int64_t number, piece *p, const reduction *all)
{
    emitter *e = &ch->emitters[m];
    const int64_t parts = all->part.blocks, done = number % ch->blocks;
    const bool waits = done == 0 && (number == 0 || e->t->inp_slots == 1);
    if (m == 0 && !e->c->depthwise && parts > 1 && (ch->g->streams || waits)) {
        sum_as_loaded(ch, e, p, all, done * parts, ch->blocks * parts);
    } else {
        vtac_vta_emit_reduction(e, p, all, false);
    }
}

/* The blocks of an item that have channels. The next member reads the lanes behind them with weights of 0,
 * whatever they hold, so nothing need be made there. */
static int64_t used_blocks(const emitter *e, const piece *p)
{
    const int64_t used = vta_ceil_div(e->c->c_out, e->c->machine->block_out);
    return vta_min(p->blocks, used - p->group * e->t->group);
}

/* Member m's work on an item. */
static void emit_item(group_emitter *ch, uint32_t m, int64_t number)
{
    emitter *e = &ch->emitters[m];
    const item of = item_of(ch, number);
    const bool sums_up = gathers(ch->g, m), end = m + 1 == ch->g->count;
    piece p = piece_for(ch, m, number);
    reduction now = {.index = sums_up ? of.block : 0, .init = !sums_up || of.first};
    ch->list->tag = e->c->number + 1;
    p.params = !sums_up || of.last ? vtac_vta_emit_params(e, p.group) : 0;
    now.part = vtac_vta_tiling_part(e->c, e->t, p.group, now.index);
    now.wgt = vtac_vta_emit_weights(e, p.group, now.index);
    now.inp = m == 0 ? load_first(ch, number) : line_of(ch, m, number);
    release_epilogue(ch, m, number);
    ch->mains++;
    if (end) {
        vtac_vta_emit_reduction(e, &p, &now, !sums_up || of.last);
        return;
    }
    int64_t to, pitch;
    p.blocks = used_blocks(e, &p);
    sum_inside(ch, m, number, &p, &now);
    prepare_line(ch, m + 1, number, &to, &pitch);
    ch->list->tag = e->c->number + 1;
    vtac_vta_emit_into_inp(e, &p, 0, to, pitch);
    ch->held[m][number % LINES] = ch->mains;
    if (streams(ch->g, m + 1)) {
        emit_streamed_until(ch, number % ch->blocks + 1, ch->blocks);
    }
    if (m == 0) {
        load_ahead(ch, number);
    }
}

/* Starts streaming a tile: the last member's input is complete. */
static void start_streaming(group_emitter *ch, int64_t tile)
{
    ch->stream.tile = tile;
    ch->stream.done = 0;
    ch->stream.held = ch->mains;
}

/* Each member works one item behind the member before it; a last member that streams, one tile. */
static void emit_items(group_emitter *ch)
{
    const uint32_t count = ch->g->count - ch->g->streams;
    const int64_t steps = ch->items + count - 1;
    start_streaming(ch, -1);
    for (int64_t at = 0; at < steps; at++) {
        vtac_vta_list_piece(ch->list);
        for (uint32_t m = 0; m < count; m++) {
            if (at >= m && at - m < ch->items) {
                emit_item(ch, m, at - m);
            }
        }
        const int64_t over = at + 2 - count; /* items of the tile that are complete */
        if (ch->g->streams && over > 0 && over % ch->blocks == 0) {
            start_streaming(ch, over / ch->blocks - 1);
        }
    }
    emit_streamed_until(ch, 1, 1);
    vtac_vta_list_flush(ch->list);
}

static bool open_emitters(group_emitter *ch, const layer_group *g, step_list *list)
{
    bool good = true;
    int64_t tables = 0;
    for (uint32_t m = 0; m < g->count; m++) {
        emitter *e = &ch->emitters[m];
        *e = (emitter){
            .c = &g->members[m].conv, .t = &g->members[m].tiling, .at = &g->members[m].at, .list = list};
        tables += conv_table(e->c) != NULL;
        e->table = tables;
        vtac_vta_emitter_open(e);
        good = good && e->chunks != NULL && e->uops != NULL;
    }
    return good;
}

vta_status vtac_vta_group_emit(const plan *p, step_list *list, vta_diag *diag)
{
    group_emitter ch = {.g = &p->group, .list = list, .blocks = p->group.members[0].tiling.groups};
    const bool good = open_emitters(&ch, &p->group, list);
    ch.items = last_of(&p->group)->tiling.tiles * ch.blocks;
    for (uint32_t m = 0; m < p->group.count && good; m++) {
        ch.list->tag = ch.emitters[m].c->number + 1;
        vtac_vta_emit_constants(&ch.emitters[m]);
    }
    ch.mains = 1;
    if (good) {
        emit_items(&ch);
    }
    list->ends = (list_ends){0};
    for (uint32_t m = 0; m < p->group.count; m++) {
        vtac_vta_emitter_close(&ch.emitters[m]);
    }
    return good && !list->failed
               ? VTA_OK
               : vta_fail(diag, VTA_NOMEM, "no memory to schedule layer '%s'", p->layer->name);
}
