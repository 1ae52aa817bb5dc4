/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions in blocked layouts. A tile of some output positions times some vectors of output channels
 * stays in registers over all input channels and taps: each step loads the vectors of weights, which lie in
 * the order of use, and multiplies them by one broadcast input element a position. Bytes go four channels at
 * a time; where the target has no such dot product, input and weights become 16-bit numbers beforehand, less
 * the weights' zero points, and go by twos or one by one. The border of the input makes every tile alike; a
 * row's last tile overlaps the one before it. Of a volume every plane of outputs is the sum over those planes
 * of inputs that its window has in the volume. Where that computes much twice, a tile's positions are
 * neighbours of the whole plane, and each has a place of its own in the input.
 */
#include "conv_tile.h"

#include <string.h>

#include "vta/fail.h"

enum {
    LINE = 16,      /* floats of a line of the caches */
    NEAREST = 6144, /* floats that stay in the nearest cache beside a tile's inputs */
    FEW_TILES = 64 /* that share a panel of weights: as measured on eight networks with vectors of 32 bytes */
};

/* True if an operand of the chain needs rows and columns apart. */
static bool chain_needs_rows(const vtac_lower *l, const vtac_type *y)
{
    for (uint32_t i = 0; i < l->chain_count; i++) {
        const vtac_node *n = l->chain[i];
        for (uint32_t k = 0; k < n->input_count; k++) {
            const vtac_type *type = vtac_in_type(l->graph, n, k);
            if (type != NULL && type->rank >= 2 &&
                (type->rank != y->rank || memcmp(type->dim, y->dim, sizeof y->dim[0] * y->rank) != 0) &&
                type->dim[type->rank - 1] * type->dim[type->rank - 2] != 1) {
                return true;
            }
        }
    }
    return false;
}

/* A window of one place over planes without borders: all positions are one row. */
static void merge_rows(const vtac_lower *l, vtac_blocked *c)
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

static void describe_space(vtac_lower *l, vtac_blocked *c)
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
    c->sources = c->s.depth.kernel * channels * c->s.window.kernel[0] * c->s.window.kernel[1];
    c->images = c->x_type->dim[0] * c->s.depth.extent;
    merge_rows(l, c);
}

/* ---- the kernel */

typedef struct kernel {
    const vtac_blocked *c;
    vtac_buffer *x, *weights, *sums;
    vtac_buffer *firsts; /* the first block that a panel reads; NULL: all blocks are read */
    vtac_buffer *mores;  /* whether a panel reads more than `core` blocks; NULL: none does */
    const vtac_expr *panel;
    vtac_buffer *windows; /* sums of the bytes under them; NULL: not needed */
    vtac_buffer *plain;   /* what sums are stored to as they are; NULL: they are outputs of the node */
    vtac_finish finish;
    const vtac_expr *image, *channel_block; /* of the output */
    const vtac_expr *at[3];                 /* its batch and, of a volume, its place along the depth */
    const vtac_expr *deep_x, *deep_w; /* how far a tap along the depth moves inputs and weights, or NULL */
    const vtac_expr *first;           /* channel of the output */
    const vtac_expr *filter;          /* first weight of these outputs */
    const vtac_expr *skipped;         /* elements of the input before the first block; NULL: none */
    const vtac_expr *row, *column;    /* first position of the tile */
    const vtac_expr
        *places[VTAC_BLOCKED_FLAT][3]; /* of flat positions: row, column, elements from the corner on */
    const vtac_expr *corner;           /* its first element in the input */
    const vtac_expr *pass;             /* number of the tile among those that these weights serve */
    bool ahead;                        /* weights are asked for early */
    const vtac_expr *next; /* what this tile's first step asks for of the next panel; NULL: nothing */
    int64_t share;         /* numbers of it that each step asks for */
} kernel;

static const vtac_expr *sum_at(vtac_lower *l, const kernel *t, int64_t position, int64_t vector,
                               const vtac_expr *lane)
{
    return vtac_i_addc(l->k, lane, (position * t->c->vectors + vector) * t->c->lanes);
}

static void clear_sums(vtac_lower *l, const kernel *t)
{
    const vtac_blocked *c = t->c;
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

/* Computes one step: `x` and `w` are the places of the tile's first input and weight. */
static void accumulate_step(vtac_lower *l, const kernel *t, const vtac_expr *x, const vtac_expr *w)
{
    const vtac_blocked *c = t->c;
    vtac_kernel *k = l->k;
    const vtac_window *window = &c->s.window;
    const int64_t down = window->stride[0] * vtac_layout_row(c->in, c->x_type) / c->step;
    const int64_t right = window->stride[1] * c->in->block / c->step;
    const vtac_expr *factors[VTAC_BLOCKED_VECTORS];
    if (t->ahead) {
        vtac_read_early(l, t->weights, w, c->vectors * c->lanes);
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
static const vtac_expr *taps_of(vtac_lower *l, const vtac_blocked *c, uint32_t *loops)
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
    const int64_t size = vtac_layout_extent(t->c->x_type, axis);
    const int64_t count = axis == 0 ? t->c->rows : t->c->columns;
    if (t->c->s.quantized || !vtac_blocked_reaches_far(t->c, axis)) {
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
    const vtac_blocked *c = t->c;
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
    x = t->deep_x == NULL ? x : vtac_i_add(k, x, t->deep_x);
    row = t->deep_w == NULL ? row : vtac_i_add(k, row, t->deep_w);
    x = vtac_let(k, "x", vtac_i_add(k, vtac_i_add(k, t->corner, x), i));
    for (int64_t part = 0; t->next != NULL && part < t->share; part += LINE) {
        const vtac_expr *at = vtac_i_add(k, t->next, vtac_i_mulc(k, row, t->share));
        vtac_ahead_later(k, t->weights, vtac_i_addc(k, at, part));
    }
    accumulate_step(l, t, x, vtac_let(k, "w", vtac_i_add(k, t->filter, vtac_i_mulc(k, row, wide))));
    vtac_close(l, loops);
}

/* Opens the loop over the window's planes, those that lie in the volume: how many blocks to close. */
static uint32_t open_depth(vtac_lower *l, kernel *t)
{
    const vtac_blocked *c = t->c;
    const vtac_conv_depth *d = &c->s.depth;
    vtac_kernel *k = l->k;
    const int64_t plane = c->in->blocks * vtac_layout_plane(c->in, c->x_type);
    if (c->x_type->rank != 5) {
        return 0;
    }
    uint32_t loops = 0;
    const vtac_expr *tap = vtac_e_index(k, 0);
    if (d->kernel > 1) {
        tap = vtac_for(k, VTAC_LOOP_ROLLED, d->kernel, "kz");
        loops++;
    }
    const int64_t last = (d->extent - 1) * d->stride + (d->kernel - 1) * d->dilation - d->pad_begin;
    if (d->pad_begin > 0 || last >= c->x_type->dim[2]) {
        const vtac_expr *from =
            vtac_i_add(k, vtac_i_mulc(k, t->at[2], d->stride), vtac_i_mulc(k, tap, d->dilation));
        from = vtac_let(k, "from", vtac_i_addc(k, from, -d->pad_begin));
        vtac_if(k, vtac_e2(k, VTAC_E_AND, vtac_e2(k, VTAC_E_GE, from, vtac_e_index(k, 0)),
                           vtac_e2(k, VTAC_E_LT, from, vtac_e_index(k, c->x_type->dim[2]))));
        loops++;
    }
    t->deep_x = vtac_let(k, "deep", vtac_i_mulc(k, tap, d->dilation * plane));
    t->deep_w = vtac_let(k, "deep", vtac_i_mulc(k, tap, c->sources / d->kernel));
    return loops;
}

static void sum_sources(vtac_lower *l, kernel *t)
{
    const vtac_blocked *c = t->c;
    const uint32_t loops = open_depth(l, t);
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
    vtac_close(l, loops);
}

/* Chooses how weights are prefetched. With blocked inputs, long vectors of floats use weights faster than the
 * second cache delivers without a prefetch: all tiles prefetch weights that leave the nearest cache. Weights
 * that no cache holds are prefetched by the tiles of the panel before, a part each. With vectors of half the
 * length this pays only for few tiles, since each step pays for its prefetch. */
static bool stream_weights(vtac_lower *l, kernel *t)
{
    const vtac_blocked *c = t->c;
    vtac_kernel *k = l->k;
    const int64_t steps = c->sources / c->step;
    const int64_t wide = c->vectors * c->lanes;
    const int64_t passes = c->tiles * c->chunks;
    const bool is_long = vtac_blocked_is_long(l, c);
    const bool far = vtac_is_far_constant(l, t->weights);
    const bool pays = vtac_is_x86(l) && l->program->target->vector_bytes == 32 && !c->s.quantized &&
                      c->in->block > 1 && far && passes <= FEW_TILES;
    if (!is_long && !pays) {
        return false;
    }
    t->ahead = far || steps * wide > NEAREST;
    if (far && !c->rows_outside && passes > 1) {
        t->share = (wide + passes - 1) / passes;
        const vtac_expr *first = vtac_i_addc(k, t->filter, steps * wide);
        t->next = vtac_let(k, "next", vtac_i_add(k, first, vtac_i_mulc(k, t->pass, steps * t->share)));
    }
    return true;
}

/* The first tile that a panel of weights serves asks for them early; the others find them near. */
static void sum_all(vtac_lower *l, kernel *t)
{
    const vtac_blocked *c = t->c;
    vtac_kernel *k = l->k;
    const vtac_expr *zero = vtac_e_index(k, 0);
    if (stream_weights(l, t)) {
        sum_sources(l, t);
        return;
    }
    const bool far = c->s.quantized ? vtac_is_far(t->weights) : vtac_is_far_constant(l, t->weights);
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
    const vtac_blocked *c = t->c;
    vtac_kernel *k = l->k;
    if (t->windows == NULL) {
        return sum;
    }
    const int64_t *extent = c->s.window.extent;
    const vtac_expr *row = vtac_i_add(k, vtac_i_mulc(k, t->image, extent[0]), row_of(l, t, position));
    const vtac_expr *at = vtac_i_add(k, vtac_i_mulc(k, row, extent[1]), column_of(l, t, position));
    const vtac_expr *zero = vtac_e_load(k, t->finish.zeros, channel);
    return vtac_e2(k, VTAC_E_SUB, sum, vtac_e2(k, VTAC_E_MUL, zero, vtac_e_load(k, t->windows, at)));
}

/* Output position of a position of the tile. */
static const vtac_expr *output_place(vtac_lower *l, const vtac_blocked *c, uint32_t axis,
                                     const vtac_expr *place)
{
    return vtac_i_addc(l->k, vtac_i_mulc(l->k, place, c->s.out_stride[axis]), c->s.out_first[axis]);
}

/* Sums as they are, one plane of positions for each vector. */
static void store_plain(vtac_lower *l, const kernel *t, int64_t v, const vtac_expr *lane)
{
    const vtac_blocked *c = t->c;
    vtac_kernel *k = l->k;
    const vtac_expr *row = vtac_i_mulc(k, t->image, c->s.groups * vtac_blocked_vectors(c));
    row = vtac_i_mulc(k, vtac_i_add(k, row, l->block), c->s.window.extent[1]);
    row = vtac_i_add(k, row, t->column);
    for (int64_t p = 0; p < c->columns; p++) {
        const vtac_expr *at = vtac_i_add(k, vtac_i_mulc(k, vtac_i_addc(k, row, p), c->lanes), lane);
        vtac_store(k, t->plain, at, vtac_e_load(k, t->sums, sum_at(l, t, p, v, lane)));
    }
}

static void store_vector(vtac_lower *l, const kernel *t, int64_t v)
{
    const vtac_blocked *c = t->c;
    vtac_kernel *k = l->k;
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, c->lanes, "lane");
    l->block = vtac_i_addc(k, t->channel_block, v);
    l->lane = lane;
    const vtac_expr *channel = vtac_i_add(k, vtac_i_addc(k, t->first, v * c->lanes), lane);
    if (t->plain != NULL) {
        store_plain(l, t, v, lane);
        vtac_end(k);
        l->block = l->lane = NULL;
        return;
    }
    const vtac_expr *scale = vtac_finish_scale(l, &t->finish, channel);
    for (int64_t p = 0; p < c->rows * c->columns; p++) {
        const vtac_expr *at[5] = {t->at[0], channel, t->at[2]};
        at[c->y_type->rank - 2] = output_place(l, c, 0, row_of(l, t, p));
        at[c->y_type->rank - 1] = output_place(l, c, 1, column_of(l, t, p));
        const vtac_expr *sum = vtac_e_load(k, t->sums, sum_at(l, t, p, v, lane));
        sum = less_zeros(l, t, sum, channel, p);
        vtac_out_at(l, 0, at, vtac_finish_value(l, &t->finish, sum, scale));
    }
    vtac_end(k);
    l->block = l->lane = NULL;
}

static void store_tile(vtac_lower *l, const kernel *t)
{
    const vtac_blocked *c = t->c;
    const int64_t count = vtac_blocked_vectors(c);
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

/* Computes the place of each position of a flat tile. */
static void place_positions(vtac_lower *l, kernel *t, const vtac_expr *first)
{
    const vtac_blocked *c = t->c;
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
    const vtac_blocked *c = t->c;
    vtac_kernel *k = l->k;
    const vtac_window *w = &c->s.window;
    const int64_t width = c->flat ? w->extent[0] * w->extent[1] : w->extent[1];
    const int64_t all = c->flat ? c->tiles * c->chunks : c->tiles * c->parts;
    const vtac_expr *in_row = vtac_i_mulc(k, vtac_i_remc(k, chunk, c->parts), c->tiles);
    t->pass = vtac_i_mulc(k, chunk, c->tiles);
    if (c->tiles > 1) {
        const vtac_expr *tile = vtac_for(k, VTAC_LOOP_APART, c->tiles, "tile");
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
    const vtac_expr *none = vtac_e_index(k, 0);
    const vtac_expr *image = t->at[0];
    if (c->x_type->rank == 5) {
        image = vtac_i_add(k, vtac_i_mulc(k, image, c->x_type->dim[2]),
                           vtac_i_mulc(k, t->at[2], c->s.depth.stride));
        image = vtac_i_addc(k, image, -c->s.depth.pad_begin);
    }
    const vtac_expr *corner = c->x != 0 ? vtac_layout_place(l, c->x, image, block, y, x, none)
                                        : vtac_layout_at(l, c->in, c->x_type, image, block, y, x, none);
    t->corner = vtac_let(k, "corner", vtac_i_divc(k, corner, c->step));
}

static vta_status multiply_tiles(vtac_lower *l, const vtac_blocked *c, kernel *t)
{
    vtac_kernel *k = l->k;
    const int64_t wide = c->vectors * c->lanes;
    const int64_t groups = c->s.groups * c->vector_groups;
    const vtac_expr *unit =
        vtac_for(k, vtac_parallel_if(vtac_blocked_work(c)), c->images * groups * c->chunks, "unit");
    const int64_t inner = c->rows_outside ? groups : c->chunks;
    const int64_t outer = c->rows_outside ? c->chunks : groups;
    const vtac_expr *low = vtac_let(k, "low", vtac_i_remc(k, unit, inner));
    const vtac_expr *rest = vtac_let(k, "rest", vtac_i_divc(k, unit, inner));
    const vtac_expr *high = vtac_let(k, "high", vtac_i_remc(k, rest, outer));
    t->image = t->at[0] = vtac_let(k, "image", vtac_i_divc(k, rest, outer));
    if (c->x_type->rank == 5) {
        t->at[0] = vtac_let(k, "batch", vtac_i_divc(k, t->image, c->s.depth.extent));
        t->at[2] = vtac_let(k, "z", vtac_i_remc(k, t->image, c->s.depth.extent));
    }
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
    l->step->flops = 2 * (uint64_t)(c->images * c->s.outputs * c->s.window.extent[0] * c->s.window.extent[1] *
                                    (c->s.per_group / c->s.merged) * c->s.depth.kernel *
                                    c->s.window.kernel[0] * c->s.window.kernel[1]);
    return l->diag->code;
}

/* The input, its border included, as 16-bit numbers; the last vector overlaps the one before it. */
static vta_status widen_input(vtac_lower *l, const vtac_blocked *c, vtac_storage_id *out)
{
    const int64_t elements = vtac_layout_elements(c->in, c->x_type);
    const int64_t max = l->program->target->vector_bytes / 2;
    const int64_t lanes = elements < max ? elements : max;
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

/* Makes the table of panels: first block of each, and whether the panel goes beyond `core`. */
static vta_status use_spans(vtac_lower *l, const vtac_blocked *c, kernel *t)
{
    const size_t bytes = (size_t)c->vector_groups * sizeof(int64_t);
    int64_t *first = vta_arena_array(&l->program->arena, (size_t)c->vector_groups, sizeof *first);
    int64_t *more = vta_arena_array(&l->program->arena, (size_t)c->vector_groups, sizeof *more);
    if (first == NULL || more == NULL) {
        return vta_no_memory(l->diag);
    }
    for (int64_t panel = 0; panel < c->vector_groups; panel++) {
        first[panel] = vtac_blocked_first(c, panel);
        more[panel] = vtac_blocked_reads(c, panel) > c->core;
    }
    t->firsts = vtac_use(l, vtac_constant(l, first, bytes), "firsts", VTAC_I64, c->vector_groups);
    if (c->span > c->core) {
        t->mores = vtac_use(l, vtac_constant(l, more, bytes), "mores", VTAC_I64, c->vector_groups);
    }
    return VTA_OK;
}

vta_status vtac_blocked_products(vtac_lower *l, const vtac_blocked *c, vtac_storage_id input,
                                 vtac_storage_id weights, vtac_storage_id output)
{
    kernel t = {.c = c, .finish = {.shape = &c->s}};
    const int64_t planes = c->images * c->s.groups * vtac_blocked_vectors(c);
    t.x = vtac_use(l, input, "x", VTAC_F32, vtac_layout_elements(c->in, c->x_type));
    t.weights = vtac_use(l, weights, "weights", VTAC_F32, vtac_blocked_weights(c));
    t.plain = vtac_use(l, output, "products", VTAC_F32, planes * c->s.window.extent[1] * c->lanes);
    t.sums = vtac_local(l, "sums", VTAC_F32, c->columns * c->vectors * c->lanes);
    return multiply_tiles(l, c, &t);
}

/* Lowers one convolution, or one phase of a transposed one. */
static vta_status lower_convolution(vtac_lower *l, vtac_blocked *c)
{
    describe_space(l, c);
    vtac_blocked_choose(l, c);
    if (c->winograd != 0) {
        return vtac_winograd(l, c);
    }
    vtac_blocked_narrow(c);
    kernel t = {.c = c};
    vtac_dtype stored = VTAC_F32;
    const vtac_storage_id weights = vtac_blocked_pack(l, c, &stored);
    vtac_storage_id windows = 0;
    if (c->s.has_zeros) {
        VTA_TRY(vtac_blocked_windows(l, c, &windows));
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
    t.weights =
        vtac_use(l, weights, "weights", c->s.quantized ? x_type : stored, vtac_blocked_weights(c) / c->step);
    t.sums = vtac_local(l, "sums", sum_type, c->rows * c->columns * c->vectors * c->lanes);
    if (c->span != 0) {
        VTA_TRY(use_spans(l, c, &t));
    }
    if (windows != 0) {
        t.windows = vtac_use(l, windows, "windows", VTAC_I32,
                             c->x_type->dim[0] * c->s.window.extent[0] * c->s.window.extent[1]);
    }
    return multiply_tiles(l, c, &t);
}

vta_status vtac_lower_conv_blocked(vtac_lower *l)
{
    vtac_blocked c = {.x = 0};
    if (l->node->op != VTAC_OP_CONV_TRANSPOSE) {
        (void)vtac_conv_shape_of(l->program, l->node, &c.s);
        return lower_convolution(l, &c);
    }
    int64_t stride[2];
    VTA_TRY(vtac_int_list(l->node, "strides", 2, 1, stride, l->diag));
    for (int64_t phase = 0; phase < stride[0] * stride[1]; phase++) {
        c = (vtac_blocked){.x = 0};
        const int64_t first[] = {phase / stride[1], phase % stride[1]};
        if (vtac_transposed_shape_of(l->program, l->node, first, &c.s) && c.s.window.extent[0] > 0 &&
            c.s.window.extent[1] > 0) {
            VTA_TRY(lower_convolution(l, &c));
        }
    }
    return l->diag->code;
}
