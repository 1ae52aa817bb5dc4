/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions in blocked layouts. A tile of some output positions times some vectors of output channels
 * stays in registers over all input channels and taps: each step loads the vectors of weights, which lie in
 * the order of use, and multiplies them by one broadcast input element a position. Bytes go four channels at
 * a time. The border of the input makes every tile alike; a row's last tile overlaps the one before it.
 */
#include "conv_blocked.h"

#include <math.h>
#include <string.h>

enum { MOST_VECTORS = 8, MOST_ROWS = 8 }; /* of a tile */

typedef struct blocked {
    vtac_conv_shape s;
    const vtac_layout *in;
    vtac_value_id x, y;
    const vtac_type *x_type, *y_type;
    int64_t lanes, vectors, vector_groups; /* of output channels; groups of `vectors`, per conv group */
    int64_t rows, columns, chunks, tiles;  /* the tile's positions, and how many cover a plane */
    int64_t in_blocks, step;               /* channel blocks of one conv group; channels in a step */
    int64_t sources;                       /* weights of one output channel, with padded channels */
    bool rows_outside;                     /* order of the parallel loop */
} blocked;

/* ---- the tile
 * -------------------------------------------------------------------------------------------------------- */

/* Cycles for the whole layer, roughly: one multiplication a cycle, weights from the second cache. */
static double cost_of(const blocked *c, int64_t rows, int64_t columns, int64_t vectors)
{
    const int64_t tiles = c->s.window.extent[0] / rows * ((c->s.window.extent[1] + columns - 1) / columns);
    const int64_t groups = c->s.out_per_group / c->lanes / vectors;
    const int64_t steps = c->sources / c->step;
    const double positions = (double)(rows * columns);
    const double wide = (double)vectors;
    const double panel = (double)(steps * vectors * c->lanes) * 4.0;
    const double weights = wide * (panel > 24576.0 ? 2.5 : 0.5);
    const double products = fmax(positions * wide, 8.0);
    const double inside = fmax(products, 0.5 * positions + weights) + 0.02 * positions;
    return (double)(tiles * groups) * ((double)steps * inside + 3.0 * positions * wide + 12.0);
}

static bool fits(const vtac_target *t, int64_t positions, int64_t vectors)
{
    return positions * vectors + vectors + 1 < (int64_t)t->vector_count;
}

/* The best number of columns for so many rows and vectors. */
static void try_columns(const vtac_lower *l, blocked *c, int64_t rows, int64_t vectors, double *best)
{
    const int64_t width = c->s.window.extent[1];
    for (int64_t columns = 1; columns <= width && fits(l->program->target, rows * columns, vectors);
         columns++) {
        const double cost = cost_of(c, rows, columns, vectors);
        if (cost < *best) {
            *best = cost;
            c->vectors = vectors;
            c->rows = rows;
            c->columns = columns;
        }
    }
}

static void choose_tile(const vtac_lower *l, blocked *c)
{
    const int64_t height = c->s.window.extent[0];
    const int64_t width = c->s.window.extent[1];
    const int64_t count = c->s.out_per_group / c->lanes;
    double best = HUGE_VAL;
    for (int64_t vectors = 1; vectors <= MOST_VECTORS; vectors++) {
        for (int64_t rows = 1; rows <= MOST_ROWS; rows++) {
            if (count % vectors == 0 && height % rows == 0) {
                try_columns(l, c, rows, vectors, &best);
            }
        }
    }
    c->vector_groups = count / c->vectors;
    c->chunks = height / c->rows;
    c->tiles = (width + c->columns - 1) / c->columns;
    const double weights = (double)(c->sources * c->s.out_per_group);
    c->rows_outside = weights < (double)(vtac_layout_plane(c->in, c->x_type) * c->in_blocks);
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
    bool apart = chain_needs_rows(l, c->y_type);
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
    (void)vtac_conv_shape_of(l->program, l->node, &c->s);
    c->x = l->node->inputs[0];
    c->y = vtac_final_value(l, 0);
    c->x_type = &l->graph->values[c->x].type;
    c->y_type = &l->graph->values[c->y].type;
    c->in = vtac_layout_of(l->program, c->x);
    c->lanes = l->program->layouts[c->y].block;
    c->step = c->s.quantized ? 4 : 1;
    c->in_blocks = c->s.groups == 1 ? l->program->layouts[c->x].blocks : c->s.per_group / c->in->block;
    c->sources = c->in_blocks * c->in->block * c->s.window.kernel[0] * c->s.window.kernel[1];
    merge_rows(l, c);
}

/* ---- weights: [group][vectors][channel block][tap][channel][output], bytes by fours of channels
 * -------------------------------------------------------------------------------------------------- */

static void pack_one(const blocked *c, const vtac_tensor *w, int64_t output, void *packed)
{
    const int64_t taps = c->s.window.kernel[0] * c->s.window.kernel[1];
    const int64_t wide = c->vectors * c->lanes;
    const int64_t group = output / wide;
    for (int64_t channel = 0; channel < c->s.per_group; channel++) {
        const int64_t block = channel / c->in->block;
        const int64_t within = channel % c->in->block;
        for (int64_t tap = 0; tap < taps; tap++) {
            const int64_t from = (output * c->s.per_group + channel) * taps + tap;
            const int64_t row = (block * taps + tap) * c->in->block + within;
            const int64_t at = (group * c->sources + row / c->step * c->step) * wide +
                               output % wide * c->step + row % c->step;
            if (c->s.quantized) {
                ((int8_t *)packed)[at] = ((const int8_t *)w->data)[from];
            } else {
                ((float *)packed)[at] = ((const float *)w->data)[from];
            }
        }
    }
}

static vtac_storage_id pack_weights(vtac_lower *l, const blocked *c)
{
    const vtac_tensor *w = vtac_in_constant(l->graph, l->node, c->s.weight);
    const size_t bytes = c->s.quantized ? 1 : sizeof(float);
    const size_t count = (size_t)(c->s.outputs * c->sources);
    uint8_t *packed = vta_arena_array(&l->program->arena, count, bytes);
    for (int64_t m = 0; packed != NULL && m < c->s.outputs; m++) {
        pack_one(c, w, m, packed);
    }
    return packed == NULL ? 0 : vtac_constant(l, packed, count * bytes);
}

/* ---- the kernel
 * ----------------------------------------------------------------------------------------------------------
 */

typedef struct kernel {
    const blocked *c;
    vtac_buffer *x, *weights, *sums;
    vtac_finish finish;
    const vtac_expr *batch, *channel_block; /* of the output */
    const vtac_expr *first;                 /* channel of the output */
    const vtac_expr *filter;                /* first weight of these outputs */
    const vtac_expr *row, *column;          /* first position of the tile */
    const vtac_expr *corner;                /* its first element in the input */
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
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, c->lanes, "lane");
    for (int64_t v = 0; v < c->vectors; v++) {
        const vtac_expr *at = vtac_i_add(k, vtac_i_addc(k, w, v * c->lanes), lane);
        factors[v] = vtac_let(k, "w", vtac_e_load(k, t->weights, at));
    }
    for (int64_t p = 0; p < c->rows * c->columns; p++) {
        const int64_t offset = p / c->columns * down + p % c->columns * right;
        const vtac_expr *value = vtac_e_load(k, t->x, vtac_i_addc(k, x, offset));
        value = c->s.quantized ? vtac_finish_bytes(l, &t->finish, value) : value;
        value = vtac_let(k, "x", value);
        for (int64_t v = 0; v < c->vectors; v++) {
            const vtac_expr *at = sum_at(l, t, p, v, lane);
            const vtac_expr *old = vtac_e_load(k, t->sums, at);
            vtac_store(k, t->sums, at,
                       c->s.quantized ? vtac_e3(k, t->finish.dot, old, value, factors[v])
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

static void sum_sources(vtac_lower *l, const kernel *t)
{
    const blocked *c = t->c;
    vtac_kernel *k = l->k;
    const vtac_window *w = &c->s.window;
    const int64_t wide = c->vectors * c->lanes;
    const int64_t inner = c->in->block / c->step;
    uint32_t loops = 0;
    const vtac_expr *block = round_of(l, c->in_blocks, "block", &loops);
    const vtac_expr *ky = round_of(l, w->kernel[0], "ky", &loops);
    const vtac_expr *kx = round_of(l, w->kernel[1], "kx", &loops);
    const vtac_expr *i = round_of(l, inner, "i", &loops);
    const vtac_expr *tap = vtac_i_add(k, vtac_i_mulc(k, ky, w->kernel[1]), kx);
    const vtac_expr *row = vtac_i_add(k, vtac_i_mulc(k, block, w->kernel[0] * w->kernel[1]), tap);
    row = vtac_i_add(k, vtac_i_mulc(k, row, inner), i);
    const vtac_expr *x = vtac_i_mulc(k, block, vtac_layout_plane(c->in, c->x_type) / c->step);
    x = vtac_i_add(k, x, vtac_i_mulc(k, ky, w->dilation[0] * vtac_layout_row(c->in, c->x_type) / c->step));
    x = vtac_i_add(k, x, vtac_i_mulc(k, kx, w->dilation[1] * c->in->block / c->step));
    x = vtac_let(k, "x", vtac_i_add(k, vtac_i_add(k, t->corner, x), i));
    accumulate(l, t, x, vtac_let(k, "w", vtac_i_add(k, t->filter, vtac_i_mulc(k, row, wide))));
    vtac_close(l, loops);
}

static void store_tile(vtac_lower *l, const kernel *t)
{
    const blocked *c = t->c;
    vtac_kernel *k = l->k;
    for (int64_t v = 0; v < c->vectors; v++) {
        const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, c->lanes, "lane");
        l->block = vtac_i_addc(k, t->channel_block, v);
        l->lane = lane;
        const vtac_expr *channel = vtac_i_add(k, vtac_i_addc(k, t->first, v * c->lanes), lane);
        const vtac_expr *scale = vtac_finish_scale(l, &t->finish, channel);
        for (int64_t p = 0; p < c->rows * c->columns; p++) {
            const vtac_expr *at[] = {t->batch, channel, vtac_i_addc(k, t->row, p / c->columns),
                                     vtac_i_addc(k, t->column, p % c->columns)};
            const vtac_expr *sum = vtac_e_load(k, t->sums, sum_at(l, t, p, v, lane));
            vtac_out_at(l, 0, at, vtac_finish_value(l, &t->finish, sum, scale));
        }
        vtac_end(k);
    }
    l->block = l->lane = NULL;
}

/* The tile's place in input and output. */
static void place_tile(vtac_lower *l, kernel *t, const vtac_expr *chunk, const vtac_expr *group)
{
    const blocked *c = t->c;
    vtac_kernel *k = l->k;
    const vtac_window *w = &c->s.window;
    const int64_t width = w->extent[1];
    const vtac_expr *column = vtac_e_index(k, 0);
    if (c->tiles > 1) {
        column = vtac_i_mulc(k, vtac_for(k, VTAC_LOOP_SERIAL, c->tiles, "tile"), c->columns);
        if (width % c->columns != 0) {
            column = vtac_e2(k, VTAC_E_MIN, column, vtac_e_index(k, width - c->columns));
        }
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
    const vtac_expr *unit = vtac_for(k,
                                     vtac_parallel_if(batch * c->s.outputs * c->sources * c->chunks *
                                                      c->rows * c->s.window.extent[1] / c->step),
                                     batch * groups * c->chunks, "unit");
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
    place_tile(l, t, c->rows_outside ? high : low, vtac_i_divc(k, panel, c->vector_groups));
    clear_sums(l, t);
    sum_sources(l, t);
    store_tile(l, t);
    vtac_close(l, c->tiles > 1 ? 2 : 1);
    l->step->flops = 2 * (uint64_t)(vtac_type_elements(c->y_type) * c->s.per_group * c->s.window.kernel[0] *
                                    c->s.window.kernel[1]);
    return l->diag->code;
}

vta_status vtac_lower_conv_blocked(vtac_lower *l)
{
    blocked c = {.x = 0};
    describe(l, &c);
    choose_tile(l, &c);
    kernel t = {.c = &c};
    const vtac_storage_id weights = pack_weights(l, &c);
    VTA_TRY(vtac_begin(l, ""));
    VTA_TRY(vtac_finish_begin(l, &c.s, true, &t.finish));
    const int64_t elements = vtac_layout_elements(c.in, c.x_type);
    const vtac_dtype x_type = c.s.quantized ? VTAC_I32 : VTAC_F32; /* four bytes at once */
    t.x = vtac_use(l, l->program->laid_out[c.x], "x", x_type, elements / c.step);
    t.weights = vtac_use(l, weights, "weights", x_type, c.s.outputs * c.sources / c.step);
    t.sums = vtac_local(l, "sums", x_type, c.rows * c.columns * c.vectors * c.lanes);
    return multiply(l, &c, &t);
}
