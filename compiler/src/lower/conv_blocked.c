/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions in blocked layouts. A tile of some output positions times some vectors of output channels
 * stays in registers over all input channels and taps: each step loads the vectors of weights, which lie in
 * the order of use, and multiplies them by one broadcast input element a position. Bytes go four channels at
 * a time; where the target has no such dot product, input and weights become 16-bit numbers beforehand, less
 * the weights' zero points, and go by twos or one by one. The border of the input makes every tile alike; a
 * row's last tile overlaps the one before it. Where that computes much twice, a tile's positions are
 * neighbours of the whole plane, and each has a place of its own in the input.
 */
#include "conv_blocked.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_VECTORS = 8, /* of a tile */
    MOST_ROWS = 8,
    UNITS = 16,   /* of work, or more, so that all threads have some */
    MOST_FLAT = 8 /* positions with places of their own: each takes a register */
};

typedef struct blocked {
    vtac_conv_shape s;
    const vtac_layout *in;
    vtac_value_id x, y;
    const vtac_type *x_type, *y_type;
    int64_t lanes, vectors, vector_groups; /* of output channels; groups of `vectors`, per conv group */
    int64_t rows, columns;                 /* the tile's positions */
    int64_t chunks, tiles;                 /* chunks cover a plane, with so many tiles each */
    int64_t parts;                         /* chunks of one row of tiles, where rows are few */
    int64_t in_blocks, step;               /* channel blocks of one conv group; channels in a step */
    bool wide;                             /* bytes as 16-bit numbers */
    int64_t rest;                          /* channels of the last block, in whole steps; 0: all */
    int64_t sources;                       /* weights of one output channel, with padded channels */
    int64_t span;                          /* most blocks that a panel of outputs reads; 0: all */
    int64_t core;                          /* blocks that each panel reads; some read `span` */
    bool rows_outside;                     /* order of the parallel loop */
    bool flat;                             /* `columns` positions of the plane, whatever rows they are in */
} blocked;

/* ---- the tile
 * -------------------------------------------------------------------------------------------------------- */

/* Vectors of a group's outputs; the last one of all may have lanes beyond the last output. */
static int64_t vectors_of(const blocked *c)
{
    return (c->s.out_per_group + c->lanes - 1) / c->lanes;
}

/* The first of the channel blocks that a panel of `wide` outputs reads, and how many: of merged groups those
 * alone that it belongs to. */
static int64_t span_of(const blocked *c, int64_t wide, int64_t panel, int64_t *first)
{
    const int64_t out_per_group = c->s.out_per_group / c->s.merged;
    const int64_t per_group = c->s.per_group / c->s.merged;
    const int64_t end = (panel + 1) * wide < c->s.outputs ? (panel + 1) * wide : c->s.outputs;
    *first = panel * wide / out_per_group * per_group / c->in->block;
    return (((end - 1) / out_per_group + 1) * per_group - 1) / c->in->block + 1 - *first;
}

static bool has_spans(const blocked *c)
{
    return c->s.quantized && c->s.groups == 1 && c->s.merged > 1;
}

/* The share of the blocks that panels of so many vectors read. */
static double share_of(const blocked *c, int64_t vectors)
{
    const int64_t wide = vectors * c->lanes;
    const int64_t panels = (c->s.outputs + wide - 1) / wide;
    int64_t sum = 0;
    int64_t first;
    if (!has_spans(c)) {
        return 1.0;
    }
    for (int64_t panel = 0; panel < panels; panel++) {
        sum += span_of(c, wide, panel, &first);
    }
    return (double)sum / (double)(panels * c->in_blocks);
}

/* Whether a tap of the axis reaches a quarter of the plane over its edge. */
static bool reaches_far(const blocked *c, uint32_t axis)
{
    const vtac_window *w = &c->s.window;
    return w->kernel[axis] != 1 && w->pad_begin[axis] + w->pad_end[axis] >= c->x_type->dim[axis + 2] / 2;
}

/* Tiles that cover a plane. */
static int64_t tiles_of(const blocked *c, int64_t rows, int64_t columns, bool flat)
{
    const int64_t *extent = c->s.window.extent;
    return flat ? (extent[0] * extent[1] + columns - 1) / columns
                : extent[0] / rows * ((extent[1] + columns - 1) / columns);
}

/* Whether positions may have places of their own: on processors that add such a place as they load, and where
 * no part of the border is left out (skip_border). */
static bool may_go_flat(const vtac_lower *l, const blocked *c)
{
    const vtac_window *w = &c->s.window;
    const bool skips = reaches_far(c, 0) || reaches_far(c, 1);
    return !c->s.quantized && !l->program->target->has_neon && !skips && w->extent[0] > 1 && w->extent[1] > 1;
}

/* Cycles for the whole layer, roughly: one multiplication a cycle, weights from the second cache. */
static double cost_of(const vtac_lower *l, const blocked *c, int64_t rows, int64_t columns, int64_t vectors,
                      bool flat)
{
    const int64_t count = tiles_of(c, rows, columns, flat);
    const int64_t groups = (vectors_of(c) + vectors - 1) / vectors;
    const int64_t steps = c->sources / c->step;
    const bool pairs = c->wide && c->step == 2;
    const bool few = l->program->target->vector_count <= 16; /* registers */
    const double positions = (double)(rows * columns);
    const double wide = (double)vectors;
    const double panel = (double)(steps * vectors * c->lanes) * 4.0;
    const double weights = wide * (panel > 24576.0 ? 2.5 : 0.5);
    /* sums wait for each other: as measured with few registers, of pairs of bytes and of floats */
    const double least = few && pairs ? 7.5 : few && may_go_flat(l, c) ? 8.6 : 8.0;
    const double products = fmax(positions * wide, least);
    const double apart = few ? 0.3 : 0.06; /* for more than two vectors of weights that do not stay near */
    const double more = pairs && vectors > 2 && panel > 16384.0 ? apart * (wide - 2.0) : 0.0;
    const double inside = fmax(products, 0.5 * positions + weights) + 0.02 * positions + more;
    const double places = flat ? 8.0 * positions : 0.0;
    return (double)(count * groups) *
           ((double)steps * share_of(c, vectors) * inside + 3.0 * positions * wide + 12.0 + places);
}

/* Whether the registers hold sums, weights and inputs. Neighbouring taps of a row read the same elements for
 * neighbouring columns: those stay in registers from tap to tap, where they lie one by one. */
static bool fits(const vtac_lower *l, const blocked *c, int64_t rows, int64_t columns, int64_t vectors)
{
    const vtac_window *w = &c->s.window;
    const int64_t registers = (int64_t)l->program->target->vector_count;
    const bool shared = !c->s.quantized && c->in->block == 1 && w->kernel[1] > 1 && registers > 16 &&
                        w->dilation[1] % w->stride[1] == 0;
    const int64_t inputs = shared ? rows * columns : 1;
    return rows * columns * vectors + vectors + inputs < registers;
}

/* The best number of columns for so many rows and vectors. */
static void try_columns(const vtac_lower *l, blocked *c, int64_t rows, int64_t vectors, double *best)
{
    const int64_t width = c->s.window.extent[1];
    for (int64_t columns = 1; columns <= width && fits(l, c, rows, columns, vectors); columns++) {
        const double cost = cost_of(l, c, rows, columns, vectors, false);
        if (cost < *best) {
            *best = cost;
            c->vectors = vectors;
            c->rows = rows;
            c->columns = columns;
            c->flat = false;
        }
    }
}

/* Whether tiles of so many positions of the plane are a choice. */
static bool may_be_flat(const vtac_lower *l, const blocked *c, int64_t columns, int64_t vectors)
{
    const int64_t *extent = c->s.window.extent;
    return may_go_flat(l, c) && columns <= MOST_FLAT && columns < extent[0] * extent[1] &&
           fits(l, c, 1, columns, vectors);
}

static void try_flat(const vtac_lower *l, blocked *c, int64_t vectors, double *best)
{
    for (int64_t columns = 2; may_be_flat(l, c, columns, vectors); columns++) {
        const double cost = cost_of(l, c, 1, columns, vectors, true);
        if (cost < *best) {
            *best = cost;
            c->vectors = vectors;
            c->rows = 1;
            c->columns = columns;
            c->flat = true;
        }
    }
}

/* Whether tiles of so many rows and vectors cover the outputs. */
static bool divides(const vtac_lower *l, const blocked *c, int64_t rows, int64_t vectors)
{
    const int64_t count = vectors_of(c);
    const bool known = c->s.bias == 0 || vtac_in_constant(l->graph, l->node, c->s.bias) != NULL;
    const bool may_exceed = c->s.groups == 1 && known; /* with vectors that are computed for nothing */
    return (count % vectors == 0 || (may_exceed && vectors < count)) && c->s.window.extent[0] % rows == 0;
}

/* All tiles that there are registers for. */
typedef struct tiles {
    char points[VTAC_MOST_POINTS][VTAC_POINT_TEXT];
    double guesses[VTAC_MOST_POINTS];
    blocked choices[VTAC_MOST_POINTS];
    uint32_t count, standard;
} tiles;

static void add_tile(const vtac_lower *l, tiles *t, const blocked *c, int64_t rows, int64_t columns,
                     int64_t vectors, bool outside, bool flat)
{
    if (t->count == VTAC_MOST_POINTS) {
        return;
    }
    blocked *own = &t->choices[t->count];
    *own = *c;
    own->rows = rows;
    own->columns = columns;
    own->vectors = vectors;
    own->rows_outside = outside;
    own->flat = flat;
    (void)snprintf(t->points[t->count], sizeof t->points[0],
                   "rows=%" PRId64 " columns=%" PRId64 " vectors=%" PRId64 " outside=%d%s", rows, columns,
                   vectors, outside, flat ? " flat=1" : "");
    t->guesses[t->count] = cost_of(l, c, rows, columns, vectors, flat);
    if (rows == c->rows && columns == c->columns && vectors == c->vectors && outside == c->rows_outside &&
        flat == c->flat) {
        t->standard = t->count;
    }
    t->count++;
}

static void list_tiles(const vtac_lower *l, const blocked *c, tiles *t)
{
    /* the standard one is there, however many there are */
    add_tile(l, t, c, c->rows, c->columns, c->vectors, c->rows_outside, c->flat);
    for (int64_t k = 0; k < (int64_t)MOST_VECTORS * MOST_ROWS * 2; k++) {
        const int64_t vectors = k / 2 / MOST_ROWS + 1;
        const int64_t rows = k / 2 % MOST_ROWS + 1;
        for (int64_t columns = 1; divides(l, c, rows, vectors) && columns <= c->s.window.extent[1] &&
                                  fits(l, c, rows, columns, vectors);
             columns++) {
            const bool standard = rows == c->rows && columns == c->columns && vectors == c->vectors &&
                                  (k % 2 != 0) == c->rows_outside && !c->flat;
            if (!standard) {
                add_tile(l, t, c, rows, columns, vectors, k % 2 != 0, false);
            }
        }
    }
    for (int64_t vectors = 1; vectors <= MOST_VECTORS; vectors++) {
        for (int64_t columns = 2; divides(l, c, 1, vectors) && may_be_flat(l, c, columns, vectors);
             columns++) {
            if (!c->flat || columns != c->columns || vectors != c->vectors) {
                add_tile(l, t, c, 1, columns, vectors, c->rows_outside, true);
            }
        }
    }
}

static void ask_for_tile(const vtac_lower *l, blocked *c)
{
    const vtac_window *w = &c->s.window;
    char shape[192];
    tiles *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return; /* the standard one will do */
    }
    list_tiles(l, c, t);
    (void)snprintf(shape, sizeof shape,
                   "%s n%" PRId64 " groups%" PRId64 " in%" PRId64 "x%" PRId64 " out%" PRId64 "x%" PRId64
                   "x%" PRId64 " kernel%" PRId64 "x%" PRId64 " stride%" PRId64 "x%" PRId64 " dilation%" PRId64
                   "x%" PRId64 " fused%u",
                   c->s.quantized ? "int8" : "float32", c->x_type->dim[0], c->s.groups, c->in_blocks,
                   c->in->block, c->s.outputs, w->extent[0], w->extent[1], w->kernel[0], w->kernel[1],
                   w->stride[0], w->stride[1], w->dilation[0], w->dilation[1], l->chain_count);
    const vtac_kernel_space space = {.kernel = "conv_blocked",
                                     .shape = shape,
                                     .step = l->node->name,
                                     .points = (const char(*)[VTAC_POINT_TEXT])t->points,
                                     .guesses = t->guesses,
                                     .count = t->count,
                                     .standard = t->standard};
    *c = t->choices[vtac_schedule_pick(l->program->schedules, &space)];
    free(t);
}

/* Chunks of about a row, whose tiles are few more than there are: the last ones come more than once. */
static int64_t flat_chunks(int64_t height, int64_t all)
{
    int64_t chunks = height < all ? height : all;
    while ((all + chunks - 1) / chunks * chunks > all + all / 64) {
        chunks--;
    }
    return chunks;
}

/* Products of the layer. */
static int64_t work_of(const blocked *c)
{
    const int64_t *extent = c->s.window.extent;
    return c->x_type->dim[0] * extent[0] * extent[1] * c->s.outputs * c->sources / c->step;
}

/* Into how many equal parts a row of `row` tiles goes: as few as make enough of `units` units of work. */
static int64_t parts_of(const blocked *c, int64_t row, int64_t units)
{
    int64_t parts = 1;
    if (vtac_parallel_if(work_of(c)) == VTAC_LOOP_PARALLEL) {
        while (parts < row && (units * parts < UNITS || row % parts != 0)) {
            parts++;
        }
    }
    return parts;
}

static void choose_tile(const vtac_lower *l, blocked *c)
{
    const int64_t height = c->s.window.extent[0];
    double best = HUGE_VAL;
    for (int64_t vectors = 1; vectors <= MOST_VECTORS; vectors++) {
        for (int64_t rows = 1; rows <= MOST_ROWS; rows++) {
            if (divides(l, c, rows, vectors)) {
                try_columns(l, c, rows, vectors, &best);
            }
        }
        if (divides(l, c, 1, vectors)) {
            try_flat(l, c, vectors, &best);
        }
    }
    const double weights = (double)(c->sources * c->s.out_per_group);
    c->rows_outside = weights < (double)(vtac_layout_plane(c->in, c->x_type) * c->in_blocks);
    if (l->program->schedules != NULL) {
        ask_for_tile(l, c);
    }
    c->vector_groups = (vectors_of(c) + c->vectors - 1) / c->vectors;
    const int64_t all = tiles_of(c, c->rows, c->columns, c->flat);
    c->chunks = c->flat ? flat_chunks(height, all) : height / c->rows;
    c->tiles = (all + c->chunks - 1) / c->chunks;
    c->parts =
        c->flat ? 1 : parts_of(c, c->tiles, c->x_type->dim[0] * c->s.groups * c->vector_groups * c->chunks);
    c->chunks *= c->parts;
    c->tiles /= c->parts;
}

/* Whether an operand of the chain tells rows from columns. */
static bool chain_needs_rows(const vtac_lower *l, const vtac_type *y)
{
    for (uint32_t i = 0; i < l->chain_count; i++) {
        const vtac_node *n = l->chain[i];
        for (uint32_t k = 0; k < n->input_count; k++) {
            const vtac_type *type = vtac_in_type(l->graph, n, k);
            if (type != NULL && type->rank >= 2 &&
                (type->rank < 4 || memcmp(type->dim, y->dim, sizeof y->dim[0] * 4) != 0) &&
                type->dim[type->rank - 1] * type->dim[type->rank - 2] != 1) {
                return true;
            }
        }
    }
    return false;
}

/* A window of one place over planes without borders: all positions are one row. */
static void merge_rows(const vtac_lower *l, blocked *c)
{
    vtac_window *w = &c->s.window;
    const vtac_layout *y = vtac_layout_of(l->program, c->y);
    bool apart = c->s.out_stride[0] * c->s.out_stride[1] > 1 || chain_needs_rows(l, c->y_type);
    for (uint32_t a = 0; a < 2; a++) {
        apart = apart || w->kernel[a] != 1 || w->stride[a] != 1 || w->pad_begin[a] != 0 ||
                w->pad_end[a] != 0 || c->in->before[a] + c->in->after[a] + y->before[a] + y->after[a] > 0;
    }
    for (uint32_t i = 0; i < l->chain_count && !apart; i++) {
        const vtac_node *n = l->chain[i];
        for (uint32_t k = 0; k < n->input_count; k++) {
            const vtac_layout *f = vtac_layout_of(l->program, n->inputs[k]);
            apart = apart || (vtac_layout_reads(l, n, k) &&
                              f->before[1] + f->after[1] + f->before[0] + f->after[0] > 0);
        }
    }
    if (!apart) {
        w->extent[1] *= w->extent[0];
        w->extent[0] = 1;
    }
}

static void describe(vtac_lower *l, blocked *c)
{
    c->x = l->node->inputs[0];
    c->y = vtac_final_value(l, 0);
    c->x_type = &l->graph->values[c->x].type;
    c->y_type = &l->graph->values[c->y].type;
    c->in = vtac_layout_of(l->program, c->x);
    c->lanes = l->program->layouts[c->y].block;
    const int64_t wide = c->s.quantized ? vtac_conv_wide_step(l->program, &c->s) : 0;
    c->wide = wide != 0;
    c->step = c->wide ? wide : c->s.quantized ? 4 : 1;
    c->s.has_zeros = c->s.has_zeros && !c->wide;
    vtac_conv_blocks(l->program, l->node, &c->s);
    c->in_blocks = c->s.groups == 1 ? l->program->layouts[c->x].blocks : c->s.per_group / c->in->block;
    const int64_t rest = c->s.groups == 1 ? c->s.per_group % c->in->block : 0;
    c->rest = (rest + c->step - 1) / c->step * c->step;
    c->rest = c->rest == c->in->block ? 0 : c->rest;
    const int64_t channels = c->in_blocks * c->in->block - (c->rest == 0 ? 0 : c->in->block - c->rest);
    c->sources = channels * c->s.window.kernel[0] * c->s.window.kernel[1];
    merge_rows(l, c);
}

/* Blocks that a panel reads: those that all do, or the most. */
static int64_t panel_span(const blocked *c, int64_t panel)
{
    int64_t first;
    return span_of(c, c->vectors * c->lanes, panel, &first) <= c->core ? c->core : c->span;
}

/* Where the panel's blocks begin. */
static int64_t first_block(const blocked *c, int64_t panel)
{
    int64_t first = 0;
    if (c->span == 0) {
        return 0;
    }
    (void)span_of(c, c->vectors * c->lanes, panel, &first);
    const int64_t last = c->in_blocks - panel_span(c, panel);
    return first < last ? first : last;
}

/* What a block has beyond the channels of its group is multiplied by 0. */
static void narrow_span(blocked *c)
{
    int64_t least = INT64_MAX;
    int64_t most = 0;
    if (!has_spans(c)) {
        return;
    }
    for (int64_t panel = 0; panel < c->vector_groups; panel++) {
        int64_t first;
        const int64_t span = span_of(c, c->vectors * c->lanes, panel, &first);
        most = span > most ? span : most;
        least = span < least ? span : least;
    }
    if (least < c->in_blocks) {
        c->span = most;
        c->core = least;
        c->rest = 0;
        c->sources = most * c->in->block * c->s.window.kernel[0] * c->s.window.kernel[1];
    }
}

/* ---- weights: [group][vectors][channel block][tap][channel][output], bytes by fours of channels
 * -------------------------------------------------------------------------------------------------- */

/* The place of a weight in the node's tensor; -1: it is 0. `channel` counts within the merged group. */
static int64_t weight_place(const blocked *c, int64_t output, int64_t channel, int64_t tap)
{
    const vtac_conv_shape *s = &c->s;
    const int64_t per_group = s->per_group / s->merged;
    const int64_t out_per_group = s->out_per_group / s->merged;
    const int64_t group = output / out_per_group;
    const int64_t ky = s->tap_first[0] + tap / s->window.kernel[1] * s->tap_step[0];
    const int64_t kx = s->tap_first[1] + tap % s->window.kernel[1] * s->tap_step[1];
    if (channel / per_group != group % s->merged || ky < 0 || kx < 0) {
        return -1;
    }
    const int64_t within = channel % per_group;
    const int64_t row = s->transposed ? (group * per_group + within) * out_per_group + output % out_per_group
                                      : output * per_group + within;
    return (row * s->taps[0] + ky) * s->taps[1] + kx;
}

/* The row of a channel's weights at a tap. */
static int64_t source_of(const blocked *c, int64_t channel, int64_t tap)
{
    const int64_t taps = c->s.window.kernel[0] * c->s.window.kernel[1];
    const int64_t block = channel / c->in->block;
    const bool last = c->rest != 0 && block == c->in_blocks - 1;
    return block * taps * c->in->block + tap * (last ? c->rest : c->in->block) + channel % c->in->block;
}

static void put_byte(const blocked *c, const vtac_conv_weights *bytes, int64_t output, int64_t from,
                     void *packed, int64_t at)
{
    const int8_t byte = vtac_conv_byte(bytes, output, from);
    if (c->wide) {
        ((int16_t *)packed)[at] = (int16_t)(byte - vtac_conv_zero(bytes, output));
    } else {
        ((int8_t *)packed)[at] = byte;
    }
}

static void pack_one(const blocked *c, const vtac_tensor *w, const vtac_conv_weights *bytes, int64_t output,
                     void *packed)
{
    const int64_t taps = c->s.window.kernel[0] * c->s.window.kernel[1];
    const int64_t wide = c->vectors * c->lanes;
    const int64_t conv_group = output / c->s.out_per_group;
    const int64_t within = output % c->s.out_per_group;
    const int64_t group = conv_group * c->vector_groups + within / wide;
    const int64_t skipped = first_block(c, within / wide) * c->in->block;
    for (int64_t channel = 0; channel < c->s.per_group; channel++) {
        for (int64_t tap = 0; tap < taps; tap++) {
            const int64_t from = weight_place(c, output, channel, tap);
            const int64_t row = source_of(c, channel - skipped, tap);
            const int64_t at = (group * c->sources + row / c->step * c->step) * wide +
                               within % wide * c->step + row % c->step;
            if (from < 0) {
                continue;
            }
            if (c->s.quantized) {
                put_byte(c, bytes, output, from - output * bytes->inner, packed, at);
            } else {
                ((float *)packed)[at] = ((const float *)w->data)[from];
            }
        }
    }
}

static int64_t packed_weights(const blocked *c)
{
    return c->s.groups * c->vector_groups * c->vectors * c->lanes * c->sources;
}

static vtac_storage_id pack_weights(vtac_lower *l, const blocked *c)
{
    const vtac_tensor *w = vtac_in_constant(l->graph, l->node, c->s.weight);
    const size_t bytes = c->wide ? sizeof(int16_t) : c->s.quantized ? 1 : sizeof(float);
    const size_t count = (size_t)packed_weights(c);
    uint8_t *packed = vta_arena_array(&l->program->arena, count, bytes);
    vtac_conv_weights weights = {.w = w};
    if (c->s.quantized) {
        weights = vtac_conv_weights_of(l->graph, l->node);
    }
    for (int64_t m = 0; packed != NULL && m < c->s.outputs; m++) {
        pack_one(c, w, &weights, m, packed);
    }
    return packed == NULL ? 0 : vtac_constant(l, packed, count * bytes);
}

/* ---- sums of the input's bytes under each window, where zero points of weights ask for them
 * ---------------------------------------------------------------------------------------------------- */

/* Ones for the bytes that are channels of the last block, one vector of words. */
static vtac_buffer *make_ones(vtac_lower *l, const blocked *c, int64_t lanes)
{
    uint8_t *ones = vta_arena_array(&l->program->arena, (size_t)lanes, 4);
    const int64_t last = c->s.per_group - (c->in_blocks - 1) * c->in->block;
    for (int64_t i = 0; ones != NULL && i < lanes * 4; i++) {
        ones[i] = i % c->in->block < last;
    }
    return vtac_use(l, ones == NULL ? 0 : vtac_constant(l, ones, (uint64_t)lanes * 4), "ones", VTAC_I32,
                    lanes);
}

/* Adds up the channel blocks of one vector of words from `first` on. */
static void sum_words(vtac_lower *l, const blocked *c, const vtac_finish *f, vtac_buffer *const *b,
                      const vtac_expr *batch, const vtac_expr *first, int64_t lanes)
{
    vtac_kernel *k = l->k;
    const int64_t plane = vtac_layout_plane(c->in, c->x_type) / 4;
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, lanes, "lane");
    vtac_store(k, b[2], lane, vtac_e_int(k, VTAC_I32, 0));
    vtac_end(k);
    for (int part = 0; part < 2; part++) { /* the last block has ones of its own */
        const int64_t blocks = part == 0 ? c->in_blocks - 1 : 1;
        if (blocks == 0) {
            continue;
        }
        const vtac_expr *block = vtac_for(k, VTAC_LOOP_SERIAL, blocks, "block");
        block = part == 0 ? block : vtac_i_addc(k, block, c->in_blocks - 1);
        const vtac_expr *base = vtac_i_add(k, vtac_i_mulc(k, batch, c->in_blocks), block);
        base = vtac_let(k, "base", vtac_i_add(k, vtac_i_mulc(k, base, plane), first));
        lane = vtac_for(k, VTAC_LOOP_VECTOR, lanes, "lane");
        const vtac_expr *word = vtac_finish_bytes(l, f, vtac_e_load(k, b[0], vtac_i_add(k, base, lane)));
        const vtac_expr *ones = part == 0 ? vtac_e_int(k, VTAC_I32, 0x01010101) : vtac_e_load(k, b[1], lane);
        vtac_store(k, b[2], lane, vtac_e3(k, f->dot, vtac_e_load(k, b[2], lane), word, ones));
        vtac_close(l, 2);
    }
    lane = vtac_for(k, VTAC_LOOP_VECTOR, lanes, "lane");
    const vtac_expr *to = vtac_i_add(k, vtac_i_add(k, vtac_i_mulc(k, batch, plane), first), lane);
    vtac_store(k, b[3], to, vtac_e_load(k, b[2], lane));
    vtac_end(k);
}

/* Sums over all channels of each place of the padded input, in words. */
static vta_status sum_channels(vtac_lower *l, const blocked *c, vtac_storage_id sums)
{
    VTA_TRY(vtac_begin(l, ".channels"));
    vtac_kernel *k = l->k;
    vtac_finish f;
    vtac_finish_dots(l, &c->s, true, &f);
    const int64_t batch = c->x_type->dim[0];
    const int64_t words = vtac_layout_plane(c->in, c->x_type) / 4;
    const int64_t lanes = l->program->target->vector_bytes / 4;
    vtac_buffer *b[] = {
        vtac_use(l, l->program->laid_out[c->x], "x", VTAC_I32, vtac_layout_elements(c->in, c->x_type) / 4),
        make_ones(l, c, lanes), vtac_local(l, "sum", VTAC_I32, lanes),
        vtac_use(l, sums, "sums", VTAC_I32, batch * words)};
    const int64_t vectors = (words + lanes - 1) / lanes;
    const vtac_expr *unit =
        vtac_for(k, vtac_parallel_if(batch * words * c->in_blocks), batch * vectors, "unit");
    const vtac_expr *at = vtac_let(k, "batch", vtac_i_divc(k, unit, vectors));
    const vtac_expr *i = vtac_let(k, "i", vtac_i_remc(k, unit, vectors));
    const vtac_expr *first = vtac_let(k, "first", vtac_i_mulc(k, i, lanes));
    const int64_t rest = words % lanes;
    if (rest != 0) {
        vtac_if(k, vtac_e2(k, VTAC_E_LT, i, vtac_e_index(k, vectors - 1)));
    }
    sum_words(l, c, &f, b, at, first, lanes);
    if (rest != 0) {
        vtac_end(k);
        vtac_if(k, vtac_e2(k, VTAC_E_EQ, i, vtac_e_index(k, vectors - 1)));
        sum_words(l, c, &f, b, at, first, rest);
        vtac_end(k);
    }
    vtac_end(k);
    return VTA_OK;
}

static vta_status sum_windows(vtac_lower *l, const blocked *c, vtac_storage_id channels, vtac_storage_id sums)
{
    VTA_TRY(vtac_begin(l, ".windows"));
    vtac_kernel *k = l->k;
    const vtac_window *w = &c->s.window;
    const int64_t batch = c->x_type->dim[0];
    const int64_t words = c->in->block / 4;
    const int64_t row = vtac_layout_row(c->in, c->x_type) / 4;
    const int64_t plane = vtac_layout_plane(c->in, c->x_type) / 4;
    vtac_buffer *from = vtac_use(l, channels, "channels", VTAC_I32, batch * plane);
    vtac_buffer *to = vtac_use(l, sums, "sums", VTAC_I32, batch * w->extent[0] * w->extent[1]);
    vtac_buffer *sum = vtac_local(l, "sum", VTAC_I32, 1);
    const vtac_expr *zero = vtac_e_index(k, 0);
    const vtac_expr *unit =
        vtac_for(k, vtac_parallel_if(batch * w->extent[0] * w->extent[1] * w->kernel[0] * w->kernel[1]),
                 batch * w->extent[0], "unit");
    const vtac_expr *y = vtac_i_remc(k, unit, w->extent[0]);
    const vtac_expr *corner =
        vtac_i_addc(k, vtac_i_mulc(k, y, w->stride[0]), c->in->before[0] - w->pad_begin[0]);
    corner =
        vtac_i_add(k, vtac_i_mulc(k, corner, row), vtac_i_mulc(k, vtac_i_divc(k, unit, w->extent[0]), plane));
    corner = vtac_let(k, "corner", vtac_i_addc(k, corner, (c->in->before[1] - w->pad_begin[1]) * words));
    const vtac_expr *x = vtac_for(k, VTAC_LOOP_SERIAL, w->extent[1], "x");
    const vtac_expr *at = vtac_let(k, "at", vtac_i_add(k, corner, vtac_i_mulc(k, x, w->stride[1] * words)));
    vtac_store(k, sum, zero, vtac_e_int(k, VTAC_I32, 0));
    const vtac_expr *ky = vtac_for(k, VTAC_LOOP_SERIAL, w->kernel[0], "ky");
    const vtac_expr *kx = vtac_for(k, VTAC_LOOP_SERIAL, w->kernel[1], "kx");
    const vtac_expr *tap =
        vtac_i_add(k, vtac_i_mulc(k, ky, w->dilation[0] * row), vtac_i_mulc(k, kx, w->dilation[1] * words));
    const vtac_expr *total = vtac_e_load(k, sum, zero);
    for (int64_t i = 0; i < words; i++) {
        total =
            vtac_e2(k, VTAC_E_ADD, total, vtac_e_load(k, from, vtac_i_addc(k, vtac_i_add(k, at, tap), i)));
    }
    vtac_store(k, sum, zero, total);
    vtac_close(l, 2);
    vtac_store(k, to, vtac_i_add(k, vtac_i_mulc(k, unit, w->extent[1]), x), vtac_e_load(k, sum, zero));
    vtac_close(l, 2);
    return VTA_OK;
}

static vta_status make_window_sums(vtac_lower *l, const blocked *c, vtac_storage_id *out)
{
    const vtac_window *w = &c->s.window;
    const int64_t batch = c->x_type->dim[0];
    const vtac_storage_id channels = vtac_temp(l, VTAC_I32, batch * vtac_layout_plane(c->in, c->x_type) / 4);
    *out = vtac_temp(l, VTAC_I32, batch * w->extent[0] * w->extent[1]);
    VTA_TRY(sum_channels(l, c, channels));
    return sum_windows(l, c, channels, *out);
}

/* ---- the kernel
 * ----------------------------------------------------------------------------------------------------------
 */

typedef struct kernel {
    const blocked *c;
    vtac_buffer *x, *weights, *sums;
    vtac_buffer *firsts; /* the first block that a panel reads; NULL: all blocks are read */
    vtac_buffer *mores;  /* whether a panel reads more than `core` blocks; NULL: none does */
    const vtac_expr *panel;
    vtac_buffer *windows; /* sums of the bytes under them; NULL: not needed */
    vtac_finish finish;
    const vtac_expr *batch, *channel_block; /* of the output */
    const vtac_expr *first;                 /* channel of the output */
    const vtac_expr *filter;                /* first weight of these outputs */
    const vtac_expr *skipped;               /* elements of the input before the first block; NULL: none */
    const vtac_expr *row, *column;          /* first position of the tile */
    const vtac_expr *places[MOST_FLAT][3];  /* of flat positions: row, column, elements from the corner on */
    const vtac_expr *corner;                /* its first element in the input */
    const vtac_expr *pass;                  /* number of the tile among those that these weights serve */
    bool ahead;                             /* weights are asked for early */
} kernel;

static const vtac_expr *sum_at(vtac_lower *l, const kernel *t, int64_t position, int64_t vector,
                               const vtac_expr *lane)
{
    return vtac_i_addc(l->k, lane, (position * t->c->vectors + vector) * t->c->lanes);
}

static void clear_sums(vtac_lower *l, const kernel *t)
{
    const blocked *c = t->c;
    const vtac_expr *lane = vtac_for(l->k, VTAC_LOOP_VECTOR, c->lanes, "lane");
    for (int64_t v = 0; v < c->vectors; v++) {
        const vtac_expr *channel = vtac_i_add(l->k, vtac_i_addc(l->k, t->first, v * c->lanes), lane);
        const vtac_expr *start = vtac_let(l->k, "start", vtac_finish_start(l, &t->finish, channel));
        for (int64_t p = 0; p < c->rows * c->columns; p++) {
            vtac_store(l->k, t->sums, sum_at(l, t, p, v, lane), start);
        }
    }
    vtac_end(l->k);
}

/* One step: `x` and `w` are the places of the tile's first input and weight. */
static void accumulate(vtac_lower *l, const kernel *t, const vtac_expr *x, const vtac_expr *w)
{
    const blocked *c = t->c;
    vtac_kernel *k = l->k;
    const vtac_window *window = &c->s.window;
    const int64_t down = window->stride[0] * vtac_layout_row(c->in, c->x_type) / c->step;
    const int64_t right = window->stride[1] * c->in->block / c->step;
    const vtac_expr *factors[MOST_VECTORS];
    if (t->ahead) {
        vtac_read_ahead(l, t->weights, w, c->vectors * c->lanes);
    }
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, c->lanes, "lane");
    for (int64_t v = 0; v < c->vectors; v++) {
        const vtac_expr *at = vtac_i_add(k, vtac_i_addc(k, w, v * c->lanes), lane);
        factors[v] = vtac_let(k, "w", vtac_e_cast(k, t->sums->dtype, vtac_e_load(k, t->weights, at)));
    }
    for (int64_t p = 0; p < c->rows * c->columns; p++) {
        const int64_t offset = p / c->columns * down + p % c->columns * right;
        const vtac_expr *from = c->flat ? vtac_i_add(k, x, t->places[p][2]) : vtac_i_addc(k, x, offset);
        const vtac_expr *value = vtac_e_load(k, t->x, from);
        value = c->s.quantized ? vtac_finish_bytes(l, &t->finish, vtac_e_cast(k, VTAC_I32, value)) : value;
        value = vtac_let(k, "x", value);
        for (int64_t v = 0; v < c->vectors; v++) {
            const vtac_expr *at = sum_at(l, t, p, v, lane);
            const vtac_expr *old = vtac_e_load(k, t->sums, at);
            vtac_store(k, t->sums, at,
                       c->step > 1 ? vtac_e3(k, t->finish.dot, old, value, factors[v])
                                   : vtac_e3(k, VTAC_E_FMA, value, factors[v], old));
        }
    }
    vtac_end(k);
}

/* A loop, or nothing for one round. */
static const vtac_expr *round_of(vtac_lower *l, int64_t extent, const char *name, uint32_t *loops)
{
    if (extent == 1) {
        return vtac_e_index(l->k, 0);
    }
    ++*loops;
    return vtac_for(l->k, VTAC_LOOP_SERIAL, extent, name);
}

/* The taps of a row. Where neighbours read the same elements of the input and the sums leave no registers for
 * them, LLVM must not keep them from tap to tap: sums would go to memory and back instead. */
static const vtac_expr *taps_of(vtac_lower *l, const blocked *c, uint32_t *loops)
{
    const vtac_window *w = &c->s.window;
    const int64_t spare =
        (int64_t)l->program->target->vector_count - c->rows * c->columns * c->vectors - c->vectors;
    const bool shared = c->in->block == 1 && w->dilation[1] % w->stride[1] == 0 && c->columns > 1;
    if (w->kernel[1] == 1 || c->s.quantized || c->flat || !shared || spare > c->rows * c->columns) {
        return round_of(l, w->kernel[1], "kx", loops);
    }
    ++*loops;
    return vtac_for(l->k, VTAC_LOOP_ROLLED, w->kernel[1], "kx");
}

/* Opens a condition: the tile's places under tap `at` of an axis are not all in the border, where only zeros
 * are. Asked where a tap reaches a quarter of the plane over its edge; bytes have other numbers there. */
static void skip_border(vtac_lower *l, const kernel *t, uint32_t axis, const vtac_expr *at, uint32_t *blocks)
{
    const vtac_window *w = &t->c->s.window;
    vtac_kernel *k = l->k;
    const int64_t size = t->c->x_type->dim[axis + 2];
    const int64_t count = axis == 0 ? t->c->rows : t->c->columns;
    if (t->c->s.quantized || !reaches_far(t->c, axis)) {
        return;
    }
    const vtac_expr *place = vtac_i_mulc(k, axis == 0 ? t->row : t->column, w->stride[axis]);
    place = vtac_i_addc(k, vtac_i_add(k, place, vtac_i_mulc(k, at, w->dilation[axis])), -w->pad_begin[axis]);
    place = vtac_let(k, "place", place);
    vtac_if(k, vtac_e2(k, VTAC_E_LT, place, vtac_e_index(k, size)));
    vtac_if(k, vtac_e2(k, VTAC_E_GE, place, vtac_e_index(k, -(count - 1) * w->stride[axis])));
    *blocks += 2;
}

/* `count` channel blocks from number `first` on, `inner` steps of each. */
static void sum_blocks(vtac_lower *l, const kernel *t, int64_t first, int64_t count, int64_t inner)
{
    const blocked *c = t->c;
    vtac_kernel *k = l->k;
    const vtac_window *w = &c->s.window;
    const int64_t wide = c->vectors * c->lanes;
    const int64_t taps = w->kernel[0] * w->kernel[1];
    uint32_t loops = 0;
    const vtac_expr *block = round_of(l, count, "block", &loops);
    const vtac_expr *ky = round_of(l, w->kernel[0], "ky", &loops);
    skip_border(l, t, 0, ky, &loops);
    const vtac_expr *kx = taps_of(l, c, &loops);
    skip_border(l, t, 1, kx, &loops);
    const vtac_expr *i = round_of(l, inner, "i", &loops);
    const vtac_expr *tap = vtac_i_add(k, vtac_i_mulc(k, ky, w->kernel[1]), kx);
    const vtac_expr *row = vtac_i_add(k, vtac_i_mulc(k, block, taps), tap);
    row = vtac_i_addc(k, vtac_i_add(k, vtac_i_mulc(k, row, inner), i), first * taps * c->in->block / c->step);
    const vtac_expr *x =
        vtac_i_mulc(k, vtac_i_addc(k, block, first), vtac_layout_plane(c->in, c->x_type) / c->step);
    x = vtac_i_add(k, x, vtac_i_mulc(k, ky, w->dilation[0] * vtac_layout_row(c->in, c->x_type) / c->step));
    x = vtac_i_add(k, x, vtac_i_mulc(k, kx, w->dilation[1] * c->in->block / c->step));
    x = t->skipped == NULL ? x : vtac_i_add(k, x, t->skipped);
    x = vtac_let(k, "x", vtac_i_add(k, vtac_i_add(k, t->corner, x), i));
    accumulate(l, t, x, vtac_let(k, "w", vtac_i_add(k, t->filter, vtac_i_mulc(k, row, wide))));
    vtac_close(l, loops);
}

static void sum_sources(vtac_lower *l, const kernel *t)
{
    const blocked *c = t->c;
    const int64_t whole = c->span != 0 ? c->core : c->rest == 0 ? c->in_blocks : c->in_blocks - 1;
    if (whole > 0) {
        sum_blocks(l, t, 0, whole, c->in->block / c->step);
    }
    if (c->rest != 0) {
        sum_blocks(l, t, whole, 1, c->rest / c->step);
    }
    if (t->mores != NULL) {
        vtac_if(l->k, vtac_e2(l->k, VTAC_E_NE, vtac_e_load(l->k, t->mores, t->panel), vtac_e_index(l->k, 0)));
        sum_blocks(l, t, whole, c->span - whole, c->in->block / c->step);
        vtac_end(l->k);
    }
}

/* The first tile that a panel of weights serves asks for them early; the others find them near. */
static void sum_all(vtac_lower *l, kernel *t)
{
    const blocked *c = t->c;
    vtac_kernel *k = l->k;
    const vtac_expr *zero = vtac_e_index(k, 0);
    const bool far = vtac_is_far(t->weights);
    const bool twice = far && c->tiles * c->chunks > 1;
    for (int i = twice ? 0 : 1; i < 2; i++) {
        t->ahead = far && (i == 0 || !twice);
        if (twice) {
            vtac_if(k, vtac_e2(k, i == 0 ? VTAC_E_EQ : VTAC_E_NE, t->pass, zero));
        }
        sum_sources(l, t);
        vtac_close(l, twice ? 1 : 0);
    }
}

static const vtac_expr *row_of(vtac_lower *l, const kernel *t, int64_t position)
{
    return t->c->flat ? t->places[position][0] : vtac_i_addc(l->k, t->row, position / t->c->columns);
}

static const vtac_expr *column_of(vtac_lower *l, const kernel *t, int64_t position)
{
    return t->c->flat ? t->places[position][1] : vtac_i_addc(l->k, t->column, position % t->c->columns);
}

/* The sum less what the weights' zero points add to it. */
static const vtac_expr *less_zeros(vtac_lower *l, const kernel *t, const vtac_expr *sum,
                                   const vtac_expr *channel, int64_t position)
{
    const blocked *c = t->c;
    vtac_kernel *k = l->k;
    if (t->windows == NULL) {
        return sum;
    }
    const int64_t *extent = c->s.window.extent;
    const vtac_expr *row = vtac_i_add(k, vtac_i_mulc(k, t->batch, extent[0]), row_of(l, t, position));
    const vtac_expr *at = vtac_i_add(k, vtac_i_mulc(k, row, extent[1]), column_of(l, t, position));
    const vtac_expr *zero = vtac_e_load(k, t->finish.zeros, channel);
    return vtac_e2(k, VTAC_E_SUB, sum, vtac_e2(k, VTAC_E_MUL, zero, vtac_e_load(k, t->windows, at)));
}

/* Where a position of the tile lies in the output. */
static const vtac_expr *output_place(vtac_lower *l, const blocked *c, uint32_t axis, const vtac_expr *place)
{
    return vtac_i_addc(l->k, vtac_i_mulc(l->k, place, c->s.out_stride[axis]), c->s.out_first[axis]);
}

static void store_vector(vtac_lower *l, const kernel *t, int64_t v)
{
    const blocked *c = t->c;
    vtac_kernel *k = l->k;
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, c->lanes, "lane");
    l->block = vtac_i_addc(k, t->channel_block, v);
    l->lane = lane;
    const vtac_expr *channel = vtac_i_add(k, vtac_i_addc(k, t->first, v * c->lanes), lane);
    const vtac_expr *scale = vtac_finish_scale(l, &t->finish, channel);
    for (int64_t p = 0; p < c->rows * c->columns; p++) {
        const vtac_expr *at[] = {t->batch, channel, output_place(l, c, 0, row_of(l, t, p)),
                                 output_place(l, c, 1, column_of(l, t, p))};
        const vtac_expr *sum = vtac_e_load(k, t->sums, sum_at(l, t, p, v, lane));
        sum = less_zeros(l, t, sum, channel, p);
        vtac_out_at(l, 0, at, vtac_finish_value(l, &t->finish, sum, scale));
    }
    vtac_end(k);
    l->block = l->lane = NULL;
}

static void store_tile(vtac_lower *l, const kernel *t)
{
    const blocked *c = t->c;
    const int64_t count = vectors_of(c);
    const int64_t last = count % c->vectors; /* real ones in the last tile; 0: all */
    for (int64_t v = 0; v < c->vectors; v++) {
        const bool guarded = last != 0 && v >= last;
        if (guarded) {
            vtac_if(l->k, vtac_e2(l->k, VTAC_E_LT, t->channel_block, vtac_e_index(l->k, count - v)));
        }
        store_vector(l, t, v);
        if (guarded) {
            vtac_end(l->k);
        }
    }
}

/* Where each of a flat tile's positions lies. */
static void place_positions(vtac_lower *l, kernel *t, const vtac_expr *first)
{
    const blocked *c = t->c;
    vtac_kernel *k = l->k;
    const vtac_window *w = &c->s.window;
    const int64_t down = w->stride[0] * vtac_layout_row(c->in, c->x_type) / c->step;
    const int64_t right = w->stride[1] * c->in->block / c->step;
    const int64_t width = w->extent[1];
    const vtac_expr *row = vtac_let(k, "row", vtac_i_divc(k, first, width));
    const vtac_expr *column = vtac_let(k, "column", vtac_i_remc(k, first, width));
    for (int64_t p = 0; p < c->columns; p++) {
        const vtac_expr *at = vtac_let(k, "at", vtac_i_addc(k, column, p));
        const vtac_expr **place = t->places[p];
        const vtac_expr *more = vtac_let(k, "more", vtac_i_divc(k, at, width));
        place[0] = vtac_let(k, "y", vtac_i_add(k, row, more));
        place[1] = vtac_let(k, "x", vtac_e2(k, VTAC_E_SUB, at, vtac_i_mulc(k, more, width)));
        const vtac_expr *far = vtac_i_add(k, vtac_i_mulc(k, place[0], down), vtac_i_mulc(k, place[1], right));
        place[2] = vtac_let(k, "far", far);
    }
}

/* The tile's place in input and output. */
static void place_tile(vtac_lower *l, kernel *t, const vtac_expr *chunk, const vtac_expr *group)
{
    const blocked *c = t->c;
    vtac_kernel *k = l->k;
    const vtac_window *w = &c->s.window;
    const int64_t width = c->flat ? w->extent[0] * w->extent[1] : w->extent[1];
    const int64_t all = c->flat ? c->tiles * c->chunks : c->tiles * c->parts;
    const vtac_expr *in_row = vtac_i_mulc(k, vtac_i_remc(k, chunk, c->parts), c->tiles);
    t->pass = vtac_i_mulc(k, chunk, c->tiles);
    if (c->tiles > 1) {
        const vtac_expr *tile = vtac_for(k, VTAC_LOOP_SERIAL, c->tiles, "tile");
        t->pass = vtac_i_add(k, t->pass, tile);
        in_row = vtac_i_add(k, in_row, tile);
    }
    const vtac_expr *column = vtac_i_mulc(k, c->flat ? t->pass : in_row, c->columns);
    chunk = vtac_i_divc(k, chunk, c->parts);
    if (all > 1 && all * c->columns != width) {
        column = vtac_e2(k, VTAC_E_MIN, column, vtac_e_index(k, width - c->columns));
    }
    if (c->flat) {
        place_positions(l, t, vtac_let(k, "position", column));
        chunk = column = vtac_e_index(k, 0);
    }
    t->column = vtac_let(k, "column", column);
    t->row = vtac_let(k, "row", vtac_i_mulc(k, chunk, c->rows));
    const vtac_expr *y = vtac_i_addc(k, vtac_i_mulc(k, t->row, w->stride[0]), -w->pad_begin[0]);
    const vtac_expr *x = vtac_i_addc(k, vtac_i_mulc(k, t->column, w->stride[1]), -w->pad_begin[1]);
    const vtac_expr *block = vtac_i_mulc(k, group, c->s.groups == 1 ? 0 : c->in_blocks);
    const vtac_expr *corner = vtac_layout_place(l, c->x, t->batch, block, y, x, vtac_e_index(k, 0));
    t->corner = vtac_let(k, "corner", vtac_i_divc(k, corner, c->step));
}

static vta_status multiply(vtac_lower *l, const blocked *c, kernel *t)
{
    vtac_kernel *k = l->k;
    const int64_t batch = c->x_type->dim[0];
    const int64_t wide = c->vectors * c->lanes;
    const int64_t groups = c->s.groups * c->vector_groups;
    const vtac_expr *unit = vtac_for(k, vtac_parallel_if(work_of(c)), batch * groups * c->chunks, "unit");
    const int64_t inner = c->rows_outside ? groups : c->chunks;
    const int64_t outer = c->rows_outside ? c->chunks : groups;
    const vtac_expr *low = vtac_let(k, "low", vtac_i_remc(k, unit, inner));
    const vtac_expr *rest = vtac_let(k, "rest", vtac_i_divc(k, unit, inner));
    const vtac_expr *high = vtac_let(k, "high", vtac_i_remc(k, rest, outer));
    t->batch = vtac_let(k, "batch", vtac_i_divc(k, rest, outer));
    const vtac_expr *panel = c->rows_outside ? low : high;
    t->first = vtac_let(k, "first", vtac_i_mulc(k, panel, wide));
    t->channel_block = vtac_let(k, "block", vtac_i_mulc(k, panel, c->vectors));
    t->filter = vtac_let(k, "filter", vtac_i_mulc(k, panel, c->sources / c->step * wide));
    t->panel = panel;
    if (t->firsts != NULL) {
        const int64_t plane = vtac_layout_plane(c->in, c->x_type) / c->step;
        t->skipped = vtac_let(k, "skipped", vtac_i_mulc(k, vtac_e_load(k, t->firsts, panel), plane));
    }
    place_tile(l, t, c->rows_outside ? high : low, vtac_i_divc(k, panel, c->vector_groups));
    clear_sums(l, t);
    sum_all(l, t);
    store_tile(l, t);
    vtac_close(l, c->tiles > 1 ? 2 : 1);
    l->step->flops =
        2 * (uint64_t)(batch * c->s.outputs * c->s.window.extent[0] * c->s.window.extent[1] *
                       (c->s.per_group / c->s.merged) * c->s.window.kernel[0] * c->s.window.kernel[1]);
    return l->diag->code;
}

/* The input, its border included, as 16-bit numbers; the last vector overlaps the one before it. */
static vta_status widen_input(vtac_lower *l, const blocked *c, vtac_storage_id *out)
{
    const int64_t elements = vtac_layout_elements(c->in, c->x_type);
    const int64_t most = l->program->target->vector_bytes / 2;
    const int64_t lanes = elements < most ? elements : most;
    const int64_t count = (elements + lanes - 1) / lanes;
    *out = vtac_temp(l, VTAC_I16, elements);
    VTA_TRY(vtac_begin(l, ".widen"));
    vtac_kernel *k = l->k;
    vtac_buffer *from = vtac_use(l, l->program->laid_out[c->x], "x", c->x_type->dtype, elements);
    vtac_buffer *to = vtac_use(l, *out, "wide", VTAC_I16, elements);
    const vtac_expr *first = vtac_i_mulc(k, vtac_for(k, vtac_parallel_if(elements), count, "i"), lanes);
    if (elements % lanes != 0) {
        first = vtac_e2(k, VTAC_E_MIN, first, vtac_e_index(k, elements - lanes));
    }
    first = vtac_let(k, "first", first);
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, lanes, "lane");
    const vtac_expr *at = vtac_i_add(k, first, lane);
    vtac_store(k, to, at, vtac_e_cast(k, VTAC_I16, vtac_e_load(k, from, at)));
    vtac_close(l, 2);
    return l->diag->code;
}

/* Where each panel begins, and whether it goes beyond `core`. */
static vta_status use_spans(vtac_lower *l, const blocked *c, kernel *t)
{
    const size_t bytes = (size_t)c->vector_groups * sizeof(int64_t);
    int64_t *first = vta_arena_array(&l->program->arena, (size_t)c->vector_groups, sizeof *first);
    int64_t *more = vta_arena_array(&l->program->arena, (size_t)c->vector_groups, sizeof *more);
    if (first == NULL || more == NULL) {
        return vta_fail(l->diag, VTA_NOMEM, "out of memory");
    }
    for (int64_t panel = 0; panel < c->vector_groups; panel++) {
        first[panel] = first_block(c, panel);
        more[panel] = panel_span(c, panel) > c->core;
    }
    t->firsts = vtac_use(l, vtac_constant(l, first, bytes), "firsts", VTAC_I64, c->vector_groups);
    if (c->span > c->core) {
        t->mores = vtac_use(l, vtac_constant(l, more, bytes), "mores", VTAC_I64, c->vector_groups);
    }
    return VTA_OK;
}

/* One convolution, or one phase of a transposed one. */
static vta_status convolve(vtac_lower *l, blocked *c)
{
    describe(l, c);
    choose_tile(l, c);
    narrow_span(c);
    kernel t = {.c = c};
    const vtac_storage_id weights = pack_weights(l, c);
    vtac_storage_id windows = 0;
    if (c->s.has_zeros) {
        VTA_TRY(make_window_sums(l, c, &windows));
    }
    vtac_storage_id input = l->program->laid_out[c->x];
    if (c->wide) {
        VTA_TRY(widen_input(l, c, &input));
    }
    VTA_TRY(vtac_begin(l, ""));
    VTA_TRY(vtac_finish_begin(l, &c->s, !c->wide, &t.finish));
    t.finish.dot = c->wide ? VTAC_E_DOT2 : t.finish.dot;
    const int64_t elements = vtac_layout_elements(c->in, c->x_type);
    const vtac_dtype sum_type = c->s.quantized ? VTAC_I32 : VTAC_F32;
    const vtac_dtype x_type =
        c->wide && c->step == 1 ? VTAC_I16 : sum_type; /* four bytes at once, or one number */
    t.x = vtac_use(l, input, "x", x_type, elements / c->step);
    t.weights = vtac_use(l, weights, "weights", x_type, packed_weights(c) / c->step);
    t.sums = vtac_local(l, "sums", sum_type, c->rows * c->columns * c->vectors * c->lanes);
    if (c->span != 0) {
        VTA_TRY(use_spans(l, c, &t));
    }
    if (windows != 0) {
        t.windows = vtac_use(l, windows, "windows", VTAC_I32,
                             c->x_type->dim[0] * c->s.window.extent[0] * c->s.window.extent[1]);
    }
    return multiply(l, c, &t);
}

vta_status vtac_lower_conv_blocked(vtac_lower *l)
{
    blocked c = {.x = 0};
    if (l->node->op != VTAC_OP_CONV_TRANSPOSE) {
        (void)vtac_conv_shape_of(l->program, l->node, &c.s);
        return convolve(l, &c);
    }
    int64_t stride[2];
    VTA_TRY(vtac_int_list(l->node, "strides", 2, 1, stride, l->diag));
    for (int64_t phase = 0; phase < stride[0] * stride[1]; phase++) {
        c = (blocked){.x = 0};
        const int64_t first[] = {phase / stride[1], phase % stride[1]};
        if (vtac_transposed_shape_of(l->program, l->node, first, &c.s) && c.s.window.extent[0] > 0 &&
            c.s.window.extent[1] > 0) {
            VTA_TRY(convolve(l, &c));
        }
    }
    return l->diag->code;
}
