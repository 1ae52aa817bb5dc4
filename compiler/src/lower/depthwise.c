/* SPDX-License-Identifier: Apache-2.0
 *
 * Depthwise convolutions in blocked layouts: a vector holds one position of a block of channels. A tile of
 * positions stays in registers over all taps. Bytes go by four taps of a row: the bytes of a channel at four
 * neighbouring positions make a word, times the four weights.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "conv_blocked.h"
#include "space.h"

enum { MAX_TAPS_UNROLLED = 25, MAX_SUMS_UNROLLED = 100, MAX_ROWS = 8, MAX_COLUMNS = 14 };

typedef struct depthwise {
    vtac_conv_shape s;
    vtac_finish finish;
    const vtac_layout *in;
    vtac_value_id x, y;
    const vtac_type *x_type;
    vtac_dtype type; /* of the sums */
    int64_t lanes, blocks, taps;
    int64_t rows, columns, tiles; /* positions of a tile; tiles of a row of them */
    bool unrolled;                /* all taps of a tile, not one row of them */
    int64_t quads;                /* words of taps in a row; 0: taps go one by one */
    int64_t room;                 /* outputs in whole blocks */
    vtac_buffer *from, *weights, *sums;
    vtac_buffer *bytes; /* sums of the input's bytes, where weights have zero points; or NULL */
} depthwise;

/* True if four products of bytes take fewer instructions than a product of 16-bit numbers for each tap.
 * Processors without dot products have the latter. */
static bool takes_words(const vtac_target *t)
{
    return t->has_vnni || t->has_signed_dot || t->has_pairs;
}

/* Columns at once: those that leave registers for the inputs they share. */
static void choose_tile(const vtac_lower *l, depthwise *d)
{
    const int64_t max = l->program->target->vector_count > 16 ? 8 : 6;
    const int64_t width = d->s.window.extent[1];
    int64_t best = INT64_MAX;
    d->columns = 1;
    for (int64_t columns = 1; columns <= max && columns <= width; columns++) {
        const int64_t tiles = (width + columns - 1) / columns;
        if (tiles * (columns + 1) <= best) { /* each tile costs about one position more */
            best = tiles * (columns + 1);
            d->columns = columns;
        }
    }
    d->rows = 1;
    d->unrolled =
        d->quads > 0 || d->taps * d->columns <= MAX_SUMS_UNROLLED || d->taps <= d->s.window.kernel[1];
}

/* Half cycles of the layer, roughly, as measured on all tiles of four layers: products, which wait for each
 * other where sums are fewer than three (the next tile begins meanwhile), loads, and what becomes of a sum.
 * Neighbours share inputs where their taps are together. */
static double cost_of(const depthwise *d, int64_t rows, int64_t columns, bool unrolled)
{
    const vtac_window *w = &d->s.window;
    const double tiles = (double)(w->extent[0] / rows * ((w->extent[1] + columns - 1) / columns));
    const double positions = (double)(rows * columns);
    const int64_t reach[] = {(w->kernel[0] - 1) * w->dilation[0], (w->kernel[1] - 1) * w->dilation[1]};
    const int64_t across = (columns - 1) * w->stride[1] + 1 + reach[1];
    const int64_t all = columns * w->kernel[1];
    const double line = (double)(across < all ? across : all);
    const int64_t down = (rows - 1) * w->stride[0] + 1 + reach[0];
    const double lines = (double)(unrolled && down < rows * w->kernel[0] ? down : rows * w->kernel[0]);
    const double parts = d->quads > 0 ? (double)(w->kernel[0] * d->quads) : (double)d->taps;
    const double products = parts * fmax(positions, 3.0) * (d->quads > 0 ? 1.5 : 1.0);
    const double loads = (d->quads > 0 ? parts * positions : line * lines) + parts;
    return tiles * (products + 0.3 * loads + 6.0 * (positions - 1.0));
}

/* Asks for the tile: of rows that divide the plane's, for whose sums there are registers. */
static void ask_for_tile(const vtac_lower *l, depthwise *d)
{
    static const char *const names[] = {"rows", "columns", "unrolled", NULL};
    const vtac_window *w = &d->s.window;
    const int64_t registers = (int64_t)l->program->target->vector_count - (d->quads > 0 ? 4 : 3);
    int64_t chosen[] = {d->rows, d->columns, d->unrolled};
    vtac_schedule_space *s = vtac_space_new(l, "depthwise", names);
    if (s == NULL) {
        return;
    }
    (void)snprintf(s->shape, sizeof s->shape,
                   "%s n%" PRId64 " channels%" PRId64 "x%" PRId64 " out%" PRId64 "x%" PRId64 " kernel%" PRId64
                   "x%" PRId64 " stride%" PRId64 "x%" PRId64 " dilation%" PRId64 "x%" PRId64
                   " zeros%d fused%u",
                   d->s.quantized ? "int8" : "float32", d->x_type->dim[0], d->blocks, d->lanes, w->extent[0],
                   w->extent[1], w->kernel[0], w->kernel[1], w->stride[0], w->stride[1], w->dilation[0],
                   w->dilation[1], d->s.has_zeros, l->chain_count);
    vtac_space_add(s, chosen, cost_of(d, d->rows, d->columns, d->unrolled));
    for (int64_t rows = 1; rows <= MAX_ROWS && rows <= w->extent[0]; rows++) {
        const int64_t max = registers / rows < MAX_COLUMNS ? registers / rows : MAX_COLUMNS;
        for (int64_t columns = 1; columns <= max && columns <= w->extent[1]; columns++) {
            const int64_t tiles = (w->extent[1] + columns - 1) / columns;
            if (w->extent[0] % rows != 0 || (w->extent[1] + tiles - 1) / tiles != columns) {
                continue; /* rows that are left, or wider than as many tiles need */
            }
            const bool may_roll = d->quads == 0 && w->kernel[0] > 1;
            for (int64_t unrolled = may_roll ? 0 : 1; unrolled <= 1; unrolled++) {
                const bool small =
                    d->quads > 0 || !may_roll || d->taps * rows * columns <= (int64_t)4 * MAX_SUMS_UNROLLED;
                if (unrolled == 0 || small) {
                    vtac_space_add(s, (const int64_t[]){rows, columns, unrolled},
                                   cost_of(d, rows, columns, unrolled != 0));
                }
            }
        }
    }
    (void)vtac_space_ask(l, s, chosen);
    d->rows = chosen[0];
    d->columns = chosen[1];
    d->unrolled = chosen[2] != 0;
}

/* [block][tap][lane]; bytes less their zero points as 16-bit numbers */
static vtac_storage_id pack_weights(vtac_lower *l, const depthwise *d, vtac_dtype *stored)
{
    const vtac_tensor *w = vtac_in_constant(l->graph, l->node, d->s.weight);
    const size_t bytes = d->s.quantized ? sizeof(int16_t) : sizeof(float);
    const size_t count = (size_t)(d->room * d->taps);
    uint8_t *packed = vta_arena_array(&l->program->arena, count, bytes);
    vtac_conv_weights own = {.w = w};
    if (d->s.quantized) {
        own = vtac_conv_weights_of(l->graph, l->node);
    }
    for (int64_t m = 0; packed != NULL && m < d->s.outputs; m++) {
        for (int64_t tap = 0; tap < d->taps; tap++) {
            const int64_t at = (m / d->lanes * d->taps + tap) * d->lanes + m % d->lanes;
            if (d->s.quantized) {
                ((int16_t *)(void *)packed)[at] =
                    (int16_t)(vtac_conv_byte(&own, m, tap) - vtac_conv_zero(&own, m));
            } else {
                ((float *)(void *)packed)[at] = ((const float *)w->data)[m * d->taps + tap];
            }
        }
    }
    if (packed != NULL && !d->s.quantized) {
        return vtac_float_constant(l, (const float *)(const void *)packed, count, stored);
    }
    return packed == NULL ? 0 : vtac_constant(l, packed, count * bytes);
}

/* [block][row of taps][quad][lane][tap], zeros where a quad is not full */
static vtac_storage_id pack_quads(vtac_lower *l, const depthwise *d)
{
    const vtac_conv_weights w = vtac_conv_weights_of(l->graph, l->node);
    const int64_t rows = d->s.window.kernel[0];
    const int64_t wide = d->s.window.kernel[1];
    const size_t count = (size_t)(d->room * rows * d->quads * 4);
    int8_t *packed = vta_arena_array(&l->program->arena, count, 1);
    for (int64_t m = 0; packed != NULL && m < d->s.outputs; m++) {
        for (int64_t tap = 0; tap < d->taps; tap++) {
            const int64_t ky = tap / wide;
            const int64_t kx = tap % wide;
            const int64_t word = ((m / d->lanes * rows + ky) * d->quads + kx / 4) * d->lanes + m % d->lanes;
            packed[word * 4 + kx % 4] = vtac_conv_byte(&w, m, tap);
        }
    }
    return packed == NULL ? 0 : vtac_constant(l, packed, count);
}

/* Distance of the inputs of a tile's position from those of its first position. */
static int64_t place_of(const depthwise *d, int64_t position)
{
    const int64_t *stride = d->s.window.stride;
    return position / d->columns * stride[0] * vtac_layout_row(d->in, d->x_type) +
           position % d->columns * stride[1] * d->in->block;
}

static void sum_quads(vtac_lower *l, const depthwise *d, const vtac_expr *block, const vtac_expr *corner)
{
    vtac_kernel *k = l->k;
    const vtac_window *w = &d->s.window;
    const int64_t words = w->kernel[0] * d->quads;
    const int64_t unused = d->quads * 4 - w->kernel[1]; /* bytes of a row's last word */
    const vtac_expr *filter = vtac_let(k, "filter", vtac_i_mulc(k, block, words * d->lanes));
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, d->lanes, "lane");
    for (int64_t i = 0; i < words; i++) {
        const vtac_expr *at = vtac_i_add(k, vtac_i_addc(k, filter, i * d->lanes), lane);
        const vtac_expr *weight = vtac_let(k, "w", vtac_e_load(k, d->weights, at));
        const int64_t row = i / d->quads * w->dilation[0] * vtac_layout_row(d->in, d->x_type);
        for (int64_t p = 0; p < d->rows * d->columns; p++) {
            const int64_t x = row + place_of(d, p) + i % d->quads * 4 * d->in->block;
            const vtac_expr *place = vtac_i_add(k, vtac_i_addc(k, corner, x), lane);
            const vtac_expr *value = vtac_e_quad(k, d->from, place, d->in->block);
            value = vtac_finish_bytes(l, &d->finish, value);
            const vtac_expr *sum = vtac_i_addc(k, lane, p * d->lanes);
            if (d->bytes != NULL) {
                value = vtac_let(k, "x", value);
                const int64_t ones = 0x01010101 >> (8 * (i % d->quads + 1 == d->quads ? unused : 0));
                vtac_store(k, d->bytes, sum,
                           vtac_e3(k, d->finish.dot, vtac_e_load(k, d->bytes, sum), value,
                                   vtac_e_int(k, VTAC_I32, ones)));
            }
            vtac_store(k, d->sums, sum,
                       vtac_e3(k, d->finish.dot, vtac_e_load(k, d->sums, sum), value, weight));
        }
    }
    vtac_end(k);
}

/* The tap's weights times each position's input. `w` and `x` are the places of the first ones. */
static void accumulate_tap(vtac_lower *l, const depthwise *d, const vtac_expr *w, const vtac_expr *x,
                           const vtac_expr *lane)
{
    vtac_kernel *k = l->k;
    const vtac_expr *weight = vtac_e_load(k, d->weights, vtac_i_add(k, w, lane));
    weight = vtac_let(k, "w", vtac_e_cast(k, d->type, weight));
    for (int64_t p = 0; p < d->rows * d->columns; p++) {
        const vtac_expr *at = vtac_i_addc(k, x, place_of(d, p));
        const vtac_expr *value = vtac_e_cast(k, d->type, vtac_e_load(k, d->from, vtac_i_add(k, at, lane)));
        const vtac_expr *sum = vtac_i_addc(k, lane, p * d->lanes);
        vtac_store(k, d->sums, sum, vtac_e3(k, VTAC_E_FMA, value, weight, vtac_e_load(k, d->sums, sum)));
    }
}

static void sum_taps(vtac_lower *l, const depthwise *d, const vtac_expr *filter, const vtac_expr *corner)
{
    vtac_kernel *k = l->k;
    const vtac_window *w = &d->s.window;
    const int64_t down = w->dilation[0] * vtac_layout_row(d->in, d->x_type);
    const int64_t right = w->dilation[1] * d->in->block;
    if (!d->unrolled) {
        /* a row of taps at once, whose positions share inputs, unless it is long */
        const bool whole = w->kernel[1] <= MAX_TAPS_UNROLLED;
        const vtac_expr *zero = vtac_e_index(k, 0);
        const vtac_expr *ky = vtac_for(k, VTAC_LOOP_SERIAL, w->kernel[0], "ky");
        const vtac_expr *kx = whole ? zero : vtac_for(k, VTAC_LOOP_SERIAL, w->kernel[1], "kx");
        const vtac_expr *tap = vtac_i_add(k, vtac_i_mulc(k, ky, w->kernel[1]), kx);
        const vtac_expr *x = vtac_i_add(k, vtac_i_mulc(k, ky, down), vtac_i_mulc(k, kx, right));
        tap = vtac_let(k, "tap", vtac_i_add(k, filter, vtac_i_mulc(k, tap, d->lanes)));
        x = vtac_let(k, "x", vtac_i_add(k, corner, x));
        const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, d->lanes, "lane");
        for (int64_t i = 0; i < (whole ? w->kernel[1] : 1); i++) {
            accumulate_tap(l, d, vtac_i_addc(k, tap, i * d->lanes), vtac_i_addc(k, x, i * right), lane);
        }
        vtac_close(l, whole ? 2 : 3);
        return;
    }
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, d->lanes, "lane");
    for (int64_t tap = 0; tap < d->taps; tap++) {
        const int64_t x = tap / w->kernel[1] * down + tap % w->kernel[1] * right;
        accumulate_tap(l, d, vtac_i_addc(k, filter, tap * d->lanes), vtac_i_addc(k, corner, x), lane);
    }
    vtac_end(k);
}

static void do_tile(vtac_lower *l, const depthwise *d, const vtac_expr *batch, const vtac_expr *block,
                    const vtac_expr *y, const vtac_expr *x)
{
    vtac_kernel *k = l->k;
    const vtac_window *w = &d->s.window;
    const vtac_expr *first = vtac_let(k, "first", vtac_i_mulc(k, block, d->lanes));
    const vtac_expr *filter = vtac_let(k, "filter", vtac_i_mulc(k, first, d->taps));
    const vtac_expr *from_y = vtac_i_addc(k, vtac_i_mulc(k, y, w->stride[0]), -w->pad_begin[0]);
    const vtac_expr *from_x = vtac_i_addc(k, vtac_i_mulc(k, x, w->stride[1]), -w->pad_begin[1]);
    const vtac_expr *corner = vtac_layout_place(l, d->x, batch, block, from_y, from_x, vtac_e_index(k, 0));
    corner = vtac_let(k, "corner", corner);
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, d->lanes, "lane");
    const vtac_expr *channel = vtac_i_add(k, first, lane);
    const vtac_expr *start = vtac_let(k, "start", vtac_finish_start(l, &d->finish, channel));
    for (int64_t p = 0; p < d->rows * d->columns; p++) {
        vtac_store(k, d->sums, vtac_i_addc(k, lane, p * d->lanes), start);
        if (d->bytes != NULL) {
            vtac_store(k, d->bytes, vtac_i_addc(k, lane, p * d->lanes), vtac_e_int(k, VTAC_I32, 0));
        }
    }
    vtac_end(k);
    if (d->quads > 0) {
        sum_quads(l, d, block, corner);
    } else {
        sum_taps(l, d, filter, corner);
    }
    lane = vtac_for(k, VTAC_LOOP_VECTOR, d->lanes, "lane");
    l->block = block;
    l->lane = lane;
    channel = vtac_i_add(k, first, lane);
    const vtac_expr *scale = vtac_finish_scale(l, &d->finish, channel);
    for (int64_t p = 0; p < d->rows * d->columns; p++) {
        const vtac_expr *at[] = {batch, channel, vtac_i_addc(k, y, p / d->columns),
                                 vtac_i_addc(k, x, p % d->columns)};
        const vtac_expr *sum = vtac_e_load(k, d->sums, vtac_i_addc(k, lane, p * d->lanes));
        if (d->bytes != NULL) {
            const vtac_expr *bytes = vtac_e_load(k, d->bytes, vtac_i_addc(k, lane, p * d->lanes));
            const vtac_expr *zero = vtac_e_load(k, d->finish.zeros, channel);
            sum = vtac_e2(k, VTAC_E_SUB, sum, vtac_e2(k, VTAC_E_MUL, zero, bytes));
        }
        vtac_out_at(l, 0, at, vtac_finish_value(l, &d->finish, sum, scale));
    }
    l->block = l->lane = NULL;
    vtac_end(k);
}

static vta_status multiply_tiles(vtac_lower *l, const depthwise *d)
{
    vtac_kernel *k = l->k;
    const vtac_window *w = &d->s.window;
    const int64_t batch = d->x_type->dim[0];
    const int64_t lines = w->extent[0] / d->rows;
    const vtac_expr *unit =
        vtac_for(k, vtac_parallel_if(batch * d->s.outputs * d->taps * w->extent[0] * w->extent[1]),
                 batch * d->blocks * lines, "unit");
    const vtac_expr *y = vtac_let(k, "y", vtac_i_mulc(k, vtac_i_remc(k, unit, lines), d->rows));
    const vtac_expr *plane = vtac_let(k, "plane", vtac_i_divc(k, unit, lines));
    const vtac_expr *block = vtac_let(k, "block", vtac_i_remc(k, plane, d->blocks));
    const vtac_expr *x = vtac_e_index(k, 0);
    if (d->tiles > 1) {
        x = vtac_i_mulc(k, vtac_for(k, VTAC_LOOP_APART, d->tiles, "tile"), d->columns);
        if (w->extent[1] % d->columns != 0) { /* the last one overlaps the one before it */
            x = vtac_e2(k, VTAC_E_MIN, x, vtac_e_index(k, w->extent[1] - d->columns));
        }
    }
    const vtac_expr *image = vtac_let(k, "batch", vtac_i_divc(k, plane, d->blocks));
    do_tile(l, d, image, block, y, vtac_let(k, "x", x));
    vtac_close(l, d->tiles > 1 ? 2 : 1);
    l->step->flops = 2 * (uint64_t)(vtac_type_elements(&l->graph->values[d->y].type) * d->taps);
    return l->diag->code;
}

vta_status vtac_lower_depthwise(vtac_lower *l)
{
    depthwise d = {.x = l->node->inputs[0], .y = vtac_final_value(l, 0)};
    (void)vtac_conv_shape_of(l->program, l->node, &d.s);
    d.x_type = &l->graph->values[d.x].type;
    d.in = vtac_layout_of(l->program, d.x);
    d.lanes = d.in->block;
    d.blocks = l->program->layouts[d.x].blocks;
    d.room = d.blocks * d.lanes;
    d.taps = d.s.window.kernel[0] * d.s.window.kernel[1];
    d.type = d.s.quantized ? VTAC_I32 : VTAC_F32;
    const vtac_window *w = &d.s.window;
    if (d.s.quantized && takes_words(l->program->target) && w->kernel[1] > 1 && w->dilation[1] == 1 &&
        d.taps <= MAX_TAPS_UNROLLED) {
        d.quads = (w->kernel[1] + 3) / 4;
    }
    choose_tile(l, &d);
    ask_for_tile(l, &d);
    d.tiles = (w->extent[1] + d.columns - 1) / d.columns;
    vtac_dtype stored = VTAC_F32;
    const vtac_storage_id weights = d.quads > 0 ? pack_quads(l, &d) : pack_weights(l, &d, &stored);
    VTA_TRY(vtac_begin(l, ".depthwise"));
    VTA_TRY(vtac_finish_begin(l, &d.s, d.quads > 0, &d.finish));
    d.from = vtac_layout_buffer(l, d.x, "x");
    d.weights = d.quads > 0
                    ? vtac_use(l, weights, "weights", VTAC_I32, d.room * w->kernel[0] * d.quads)
                    : vtac_use(l, weights, "weights", d.s.quantized ? VTAC_I16 : stored, d.room * d.taps);
    d.bytes =
        d.quads > 0 && d.s.has_zeros ? vtac_local(l, "bytes", VTAC_I32, d.rows * d.columns * d.lanes) : NULL;
    d.sums = vtac_local(l, "sums", d.type, d.rows * d.columns * d.lanes);
    return multiply_tiles(l, &d);
}
