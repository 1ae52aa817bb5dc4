/* SPDX-License-Identifier: Apache-2.0
 *
 * The tile of a blocked convolution: what it costs, which ones there are, and which is taken.
 */
#include "conv_tile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_ROWS = 8,
    UNITS = 16 /* of work, or more, so that all threads have some */
};

/* Vectors of a group's outputs; the last one of all may have lanes beyond the last output. */
int64_t vtac_blocked_vectors(const vtac_blocked *c)
{
    return (c->s.out_per_group + c->lanes - 1) / c->lanes;
}

/* The first of the channel blocks that a panel of `wide` outputs reads, and how many: of merged groups those
 * alone that it belongs to. */
int64_t vtac_blocked_span(const vtac_blocked *c, int64_t wide, int64_t panel, int64_t *first)
{
    const int64_t out_per_group = c->s.out_per_group / c->s.merged;
    const int64_t per_group = c->s.per_group / c->s.merged;
    const int64_t end = (panel + 1) * wide < c->s.outputs ? (panel + 1) * wide : c->s.outputs;
    *first = panel * wide / out_per_group * per_group / c->in->block;
    return (((end - 1) / out_per_group + 1) * per_group - 1) / c->in->block + 1 - *first;
}

bool vtac_blocked_has_spans(const vtac_blocked *c)
{
    return c->s.quantized && c->s.groups == 1 && c->s.merged > 1;
}

/* The share of the blocks that panels of so many vectors read. */
static double share_of(const vtac_blocked *c, int64_t vectors)
{
    const int64_t wide = vectors * c->lanes;
    const int64_t panels = (c->s.outputs + wide - 1) / wide;
    int64_t sum = 0;
    int64_t first;
    if (!vtac_blocked_has_spans(c)) {
        return 1.0;
    }
    for (int64_t panel = 0; panel < panels; panel++) {
        sum += vtac_blocked_span(c, wide, panel, &first);
    }
    return (double)sum / (double)(panels * c->in_blocks);
}

bool vtac_blocked_is_long(const vtac_lower *l, const vtac_blocked *c)
{
    return vtac_is_wide_x86(l) && !c->s.quantized && c->in->block > 1;
}

/* True if a tap of the axis reaches beyond the edge by a quarter of the plane. */
bool vtac_blocked_reaches_far(const vtac_blocked *c, uint32_t axis)
{
    const vtac_window *w = &c->s.window;
    return w->kernel[axis] != 1 &&
           w->pad_begin[axis] + w->pad_end[axis] >= vtac_layout_extent(c->x_type, axis) / 2;
}

/* Tiles that cover a plane. */
static int64_t tiles_of(const vtac_blocked *c, int64_t rows, int64_t columns, bool flat)
{
    const int64_t *extent = c->s.window.extent;
    return flat ? (extent[0] * extent[1] + columns - 1) / columns
                : extent[0] / rows * ((extent[1] + columns - 1) / columns);
}

/* True if each position may have an address of its own: the processor adds such an address in its loads, and
 * no part of the border is left out (skip_border). */
static bool may_go_flat(const vtac_lower *l, const vtac_blocked *c)
{
    const vtac_window *w = &c->s.window;
    const bool skips = vtac_blocked_reaches_far(c, 0) || vtac_blocked_reaches_far(c, 1);
    return !c->s.quantized && !l->program->target->has_neon && !skips && w->extent[0] > 1 && w->extent[1] > 1;
}

/* Time of a step relative to its products at two a cycle, for floats of x86 with few registers. The model was
 * fitted to measurements of all tiles of 21 layers. A cycle has two products and two loads, one of them for
 * each input and each vector of weights. Fewer than a dozen sums wait for each other. */
static double step_of_floats(double positions, double wide, bool far)
{
    const double sums = positions * wide;
    const double waits = sums < 12.0 ? 0.015 * (12.0 - sums) : 0.0;
    const double products = fmax(sums * (1.0 + waits), 8.6);
    return fmax(products, positions + wide * (far ? 1.5 : 1.0));
}

/* Time of a step with many registers of 64 bytes, fitted to measurements of the tiles of 8 layers: the second
 * cache delivers 28 bytes a cycle of prefetched weights, and few sums wait for each other. */
static double step_of_long(double positions, double wide, bool far)
{
    const double sums = positions * wide;
    const double waits = sums < 20.0 ? 0.01 * (20.0 - sums) : 0.0;
    const double products = fmax(sums * (1.0 + waits), 8.0);
    return fmax(fmax(products, positions + wide * (far ? 1.5 : 1.0)), far ? 4.6 * wide : 0.0);
}

/* Time of a step on all other targets. */
static double step_of(const vtac_blocked *c, double positions, double wide, double panel, bool few)
{
    const bool pairs = c->wide && c->step == 2;
    const double weights = wide * (panel > 24576.0 ? 2.5 : 0.5);
    /* sums wait for each other: as measured with few registers, of pairs of bytes */
    const double min = few && pairs ? 7.5 : 8.0;
    const double products = fmax(positions * wide, min);
    const double apart = few ? 0.3 : 0.06; /* for more than two vectors of weights that do not stay near */
    const double more = pairs && wide > 2.0 && panel > 16384.0 ? apart * (wide - 2.0) : 0.0;
    return fmax(products, 0.5 * positions + weights) + 0.02 * positions + more;
}

/* Cycles for the whole layer, roughly: one multiplication a cycle, weights from the second cache. */
static double cost_of(const vtac_lower *l, const vtac_blocked *c, int64_t rows, int64_t columns,
                      int64_t vectors, bool flat)
{
    const vtac_target *target = l->program->target;
    const int64_t count = tiles_of(c, rows, columns, flat);
    const int64_t groups = (vtac_blocked_vectors(c) + vectors - 1) / vectors;
    const int64_t steps = c->sources / c->step;
    const bool few = target->vector_count <= 16; /* registers */
    const bool floats = few && !target->has_neon && !c->s.quantized;
    const double positions = (double)(rows * columns);
    const double wide = (double)vectors;
    const double panel = (double)(steps * vectors * c->lanes) * 4.0;
    const double inside = floats                       ? step_of_floats(positions, wide, panel > 24576.0)
                          : vtac_blocked_is_long(l, c) ? step_of_long(positions, wide, panel > 24576.0)
                                                       : step_of(c, positions, wide, panel, few);
    const double places = flat ? (floats ? 4.0 : 8.0) * positions : 0.0;
    return (double)(count * groups) *
           ((double)steps * share_of(c, vectors) * inside + 3.0 * positions * wide + 12.0 + places);
}

/* True if the registers hold sums, weights and inputs of the tile. Neighbouring taps of a row read the same
 * elements for neighbouring columns: where elements lie one by one, they stay in registers from tap to tap.
 */
static bool fits_registers(const vtac_lower *l, const vtac_blocked *c, int64_t rows, int64_t columns,
                           int64_t vectors)
{
    const vtac_window *w = &c->s.window;
    const int64_t registers = (int64_t)l->program->target->vector_count;
    const bool shared = !c->s.quantized && c->in->block == 1 && w->kernel[1] > 1 && registers > 16 &&
                        w->dilation[1] % w->stride[1] == 0;
    const int64_t inputs = shared ? rows * columns : 1;
    return rows * columns * vectors + vectors + inputs < registers;
}

/* The best number of columns for so many rows and vectors. */
static void try_columns(const vtac_lower *l, vtac_blocked *c, int64_t rows, int64_t vectors, double *best)
{
    const int64_t width = c->s.window.extent[1];
    for (int64_t columns = 1; columns <= width && fits_registers(l, c, rows, columns, vectors); columns++) {
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

/* True if tiles of `columns` positions of the plane are a choice. */
static bool may_be_flat(const vtac_lower *l, const vtac_blocked *c, int64_t columns, int64_t vectors)
{
    const int64_t *extent = c->s.window.extent;
    return may_go_flat(l, c) && columns <= VTAC_BLOCKED_FLAT && columns < extent[0] * extent[1] &&
           fits_registers(l, c, 1, columns, vectors);
}

static void try_flat(const vtac_lower *l, vtac_blocked *c, int64_t vectors, double *best)
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

/* True if tiles of `rows` rows and `vectors` vectors cover the outputs. */
static bool divides_outputs(const vtac_lower *l, const vtac_blocked *c, int64_t rows, int64_t vectors)
{
    const int64_t count = vtac_blocked_vectors(c);
    const bool known = c->s.bias == 0 || vtac_in_constant(l->graph, l->node, c->s.bias) != NULL;
    const bool may_exceed = c->s.groups == 1 && known; /* with vectors that are computed for nothing */
    return (count % vectors == 0 || (may_exceed && vectors < count)) && c->s.window.extent[0] % rows == 0;
}

/* All tiles that there are registers for. */
typedef struct tiles {
    char points[VTAC_MAX_POINTS][VTAC_POINT_TEXT];
    double guesses[VTAC_MAX_POINTS];
    vtac_blocked choices[VTAC_MAX_POINTS];
    uint32_t count, standard;
} tiles;

static void add_tile(const vtac_lower *l, tiles *t, const vtac_blocked *c, int64_t rows, int64_t columns,
                     int64_t vectors, bool outside, bool flat)
{
    if (t->count == VTAC_MAX_POINTS) {
        return;
    }
    vtac_blocked *own = &t->choices[t->count];
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

static void add_winograd(const vtac_lower *l, tiles *t, const vtac_blocked *c, const vtac_blocked *products,
                         int64_t m, int64_t columns, int64_t vectors)
{
    if (t->count == VTAC_MAX_POINTS) {
        return;
    }
    vtac_blocked *own = &t->choices[t->count];
    *own = *c;
    own->winograd = m;
    own->rows = 1;
    own->columns = columns;
    own->vectors = vectors;
    own->flat = false;
    (void)snprintf(t->points[t->count], sizeof t->points[0],
                   "winograd=%" PRId64 " columns=%" PRId64 " vectors=%" PRId64, m, columns, vectors);
    t->guesses[t->count++] = cost_of(l, products, 1, columns, vectors, false) + vtac_winograd_cost(c, m);
}

/* Fewer products: their tiles, by the same costs. */
static void list_winograd(const vtac_lower *l, const vtac_blocked *c, tiles *t)
{
    static const int64_t outputs[] = {2, 4};
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
        vtac_layout in;
        vtac_type type;
        vtac_blocked g;
        if (!vtac_winograd_products(c, outputs[i], &in, &type, &g)) {
            continue;
        }
        for (int64_t vectors = 1; vectors <= VTAC_BLOCKED_VECTORS; vectors++) {
            for (int64_t columns = 1; divides_outputs(l, &g, 1, vectors) && columns <= g.s.window.extent[1] &&
                                      fits_registers(l, &g, 1, columns, vectors);
                 columns++) {
                add_winograd(l, t, c, &g, outputs[i], columns, vectors);
            }
        }
    }
}

static void list_tiles(const vtac_lower *l, const vtac_blocked *c, tiles *t)
{
    /* the standard one is there, however many there are */
    add_tile(l, t, c, c->rows, c->columns, c->vectors, c->rows_outside, c->flat);
    for (int64_t k = 0; k < (int64_t)VTAC_BLOCKED_VECTORS * MAX_ROWS * 2; k++) {
        const int64_t vectors = k / 2 / MAX_ROWS + 1;
        const int64_t rows = k / 2 % MAX_ROWS + 1;
        for (int64_t columns = 1; divides_outputs(l, c, rows, vectors) && columns <= c->s.window.extent[1] &&
                                  fits_registers(l, c, rows, columns, vectors);
             columns++) {
            const bool standard = rows == c->rows && columns == c->columns && vectors == c->vectors &&
                                  (k % 2 != 0) == c->rows_outside && !c->flat;
            if (!standard) {
                add_tile(l, t, c, rows, columns, vectors, k % 2 != 0, false);
            }
        }
    }
    for (int64_t vectors = 1; vectors <= VTAC_BLOCKED_VECTORS; vectors++) {
        for (int64_t columns = 2; divides_outputs(l, c, 1, vectors) && may_be_flat(l, c, columns, vectors);
             columns++) {
            if (!c->flat || columns != c->columns || vectors != c->vectors) {
                add_tile(l, t, c, 1, columns, vectors, c->rows_outside, true);
            }
        }
    }
    list_winograd(l, c, t);
}

static void ask_for_tile(const vtac_lower *l, vtac_blocked *c)
{
    const vtac_window *w = &c->s.window;
    const vtac_conv_depth *d = &c->s.depth;
    char shape[256];
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
    if (c->x_type->rank == 5) {
        const size_t end = strlen(shape);
        (void)snprintf(shape + end, sizeof shape - end,
                       " depth%" PRId64 " out%" PRId64 " kernel%" PRId64 " stride%" PRId64 " dilation%" PRId64
                       " pad%" PRId64,
                       c->x_type->dim[2], d->extent, d->kernel, d->stride, d->dilation, d->pad_begin);
    }
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

/* Chunks of about a row, whose tiles are few more than there are: the last ones come more than once. A single
 * chunk is cut into its tiles: around one loop over all of them LLVM keeps sums in memory. */
static int64_t flat_chunks(int64_t height, int64_t all)
{
    int64_t chunks = height < all ? height : all;
    while ((all + chunks - 1) / chunks * chunks > all + all / 64) {
        chunks--;
    }
    return chunks == 1 ? all : chunks;
}

/* Products of the layer. */
int64_t vtac_blocked_work(const vtac_blocked *c)
{
    const int64_t *extent = c->s.window.extent;
    return c->images * extent[0] * extent[1] * c->s.outputs * c->sources / c->step;
}

/* Into how many equal parts a row of `row` tiles goes: as few as make enough of `units` units of work. */
static int64_t parts_of(const vtac_blocked *c, int64_t row, int64_t units)
{
    int64_t parts = 1;
    if (vtac_parallel_if(vtac_blocked_work(c)) == VTAC_LOOP_PARALLEL) {
        while (parts < row && (units * parts < UNITS || row % parts != 0)) {
            parts++;
        }
    }
    return parts;
}

void vtac_blocked_cut(vtac_blocked *c)
{
    const int64_t height = c->s.window.extent[0];
    c->vector_groups = (vtac_blocked_vectors(c) + c->vectors - 1) / c->vectors;
    const int64_t all = tiles_of(c, c->rows, c->columns, c->flat);
    c->chunks = c->flat ? flat_chunks(height, all) : height / c->rows;
    c->tiles = (all + c->chunks - 1) / c->chunks;
    c->parts = c->flat ? 1 : parts_of(c, c->tiles, c->images * c->s.groups * c->vector_groups * c->chunks);
    c->chunks *= c->parts;
    c->tiles /= c->parts;
}

void vtac_blocked_choose(const vtac_lower *l, vtac_blocked *c)
{
    double best = HUGE_VAL;
    for (int64_t vectors = 1; vectors <= VTAC_BLOCKED_VECTORS; vectors++) {
        for (int64_t rows = 1; rows <= MAX_ROWS; rows++) {
            if (divides_outputs(l, c, rows, vectors)) {
                try_columns(l, c, rows, vectors, &best);
            }
        }
        if (divides_outputs(l, c, 1, vectors)) {
            try_flat(l, c, vectors, &best);
        }
    }
    const double weights = (double)(c->sources * c->s.out_per_group);
    c->rows_outside = weights < (double)(vtac_layout_plane(c->in, c->x_type) * c->in_blocks);
    if (l->program->schedules != NULL) {
        ask_for_tile(l, c);
    }
    if (c->winograd == 0) {
        vtac_blocked_cut(c);
    }
}
