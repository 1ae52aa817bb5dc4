/* SPDX-License-Identifier: Apache-2.0
 *
 * Winograd's way of a 3 x 3 convolution of floats with stride 1 (S. Winograd 1980; A. Lavin, S. Gray 2016);
 * of volumes the same over rows and columns, with the sum over the window's planes taken of the products. A
 * tile of m x m outputs reads (m + 2) x (m + 2) inputs. Input and weights become as many numbers each, the
 * sum over channels is taken of their products one by one, and the outputs follow from these sums: (m + 2)^2
 * products instead of 9 m^2, for m = 2 4/9 of them, for m = 4 1/4.
 *
 *   .tiles      the input's tiles as they are multiplied,
 *               [plane][number of a tile][channel block][tile][lane]
 *   .products   for each of these numbers a product of matrices, tiles by channels by outputs
 *               (conv_blocked.c)
 *   (the node)  outputs from sums, with bias and whatever follows
 *
 * A last tile overlaps the one before it. Sums come in another order than the direct way has, and some of
 * larger numbers: an output differs in its last bits, for m = 4 by some 1e-6 of the largest ones. So this way
 * is taken where a schedule names it, never by itself.
 */
#include "conv_tile.h"

enum { MAX = 6, TAPS = 3 }; /* numbers of a tile, and of the weights, along one axis */

/* Along one axis: from inputs to what is multiplied, and from weights. The rows 1 and 2, 3 and 4 of `input`
 * differ in the sign of the odd columns. Outputs are powers of the points 0, 1, -1, 2, -2 and infinity. */
typedef struct form {
    int64_t m, size;
    float input[MAX][MAX];
    double weight[MAX][TAPS];
} form;

/* clang-format off */
static const form forms[] = {
    {2, 4,
     {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, -1, 0, 1}},
     {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}},
    {4, 6,
     {{4, 0, -5, 0, 1, 0}, {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0},
      {0, -2, -1, 2, 1, 0}, {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}},
     {{1.0 / 4, 0, 0}, {-1.0 / 6, -1.0 / 6, -1.0 / 6}, {-1.0 / 6, 1.0 / 6, -1.0 / 6},
      {1.0 / 24, 1.0 / 12, 1.0 / 6}, {1.0 / 24, -1.0 / 12, 1.0 / 6}, {0, 0, 1}}},
};
/* clang-format on */

static const form *form_of(int64_t m)
{
    return m == forms[0].m ? &forms[0] : &forms[1];
}

/* Tiles along an axis. */
static int64_t tiles_along(const vtac_blocked *c, int64_t m, uint32_t axis)
{
    return (c->s.window.extent[axis] + m - 1) / m;
}

/* Number of tiles of a plane in all batches. */
static int64_t tiles_of_all(const vtac_blocked *c, int64_t m)
{
    return c->x_type->dim[0] * tiles_along(c, m, 0) * tiles_along(c, m, 1);
}

bool vtac_winograd_products(const vtac_blocked *c, int64_t m, vtac_layout *in, vtac_type *x_type,
                            vtac_blocked *g)
{
    const vtac_window *w = &c->s.window;
    bool may = !c->s.quantized && !c->s.transposed && c->s.groups == 1 && c->s.merged == 1;
    for (uint32_t a = 0; a < 2; a++) {
        may = may && w->kernel[a] == TAPS && w->stride[a] == 1 && w->dilation[a] == 1 && w->extent[a] >= m &&
              c->s.out_stride[a] == 1;
    }
    if (!may) {
        return false;
    }
    const int64_t numbers = (m + 2) * (m + 2);
    const int64_t tiles = tiles_of_all(c, m);
    const int64_t block = c->in->block > 1 ? c->in->block : c->lanes;
    const int64_t blocks = (c->s.per_group + block - 1) / block;
    *in = (vtac_layout){.block = block, .blocks = numbers * blocks};
    *x_type = (vtac_type){.dtype = VTAC_F32, .rank = 4, .dim = {1, in->blocks * in->block, 1, tiles}};
    if (c->x_type->rank == 5) {
        *x_type = (vtac_type){
            .dtype = VTAC_F32, .rank = 5, .dim = {1, in->blocks * in->block, c->x_type->dim[2], 1, tiles}};
    }
    *g = *c;
    g->x = g->y = 0;
    g->in = in;
    g->x_type = g->y_type = x_type;
    g->s = (vtac_conv_shape){.depth = c->s.depth,
                             .groups = numbers,
                             .per_group = c->s.per_group,
                             .out_per_group = c->s.outputs,
                             .outputs = numbers * c->s.outputs,
                             .merged = 1,
                             .taps = {1, 1},
                             .tap_step = {1, 1},
                             .out_stride = {1, 1}};
    g->s.window.extent[0] = 1;
    g->s.window.extent[1] = tiles;
    for (uint32_t a = 0; a < 2; a++) {
        g->s.window.kernel[a] = g->s.window.stride[a] = g->s.window.dilation[a] = 1;
    }
    g->in_blocks = blocks;
    g->rest = c->s.per_group % block;
    g->sources = c->s.depth.kernel * c->s.per_group;
    g->images = c->s.depth.extent;
    g->winograd = 0;
    g->flat = false;
    g->rows = 1;
    return true;
}

double vtac_winograd_cost(const vtac_blocked *c, int64_t m)
{
    const double each = 6.0; /* for a number of a tile: it is moved three times, and added to others */
    const double numbers = (double)((m + 2) * (m + 2) * tiles_of_all(c, m));
    const double each_in = c->in->block > 1 ? each : 3.0 * each; /* channels are apart */
    const double blocks = (double)(c->in_blocks * c->in->block) / (double)c->lanes;
    const double planes = c->x_type->rank == 5 ? (double)c->x_type->dim[2] / (double)c->s.depth.extent : 1.0;
    return numbers * (each_in * blocks * planes + each * (double)vtac_blocked_vectors(c));
}

/* ---- along one axis */

/* The sum of the marked terms, those of factor 1 first; NULL: there are none. */
static const vtac_expr *sum_of(vtac_lower *l, const float *factors, const vtac_expr *const *x, int64_t first,
                               int64_t count, int64_t step)
{
    vtac_kernel *k = l->k;
    const vtac_expr *sum = NULL;
    for (int round = 0; round < 3; round++) { /* factors 1, -1, others */
        for (int64_t i = first; i < count; i += step) {
            const float f = factors[i];
            const int kind = f == 1.0F ? 0 : f == -1.0F ? 1 : 2;
            if (f == 0.0F || kind != round) {
                continue;
            }
            const vtac_expr *factor = vtac_e_float(k, VTAC_F32, (double)f);
            sum = sum == NULL ? (kind == 0 ? x[i] : vtac_e2(k, VTAC_E_MUL, x[i], factor))
                  : kind == 0 ? vtac_e2(k, VTAC_E_ADD, sum, x[i])
                  : kind == 1 ? vtac_e2(k, VTAC_E_SUB, sum, x[i])
                              : vtac_e3(k, VTAC_E_FMA, x[i], factor, sum);
        }
    }
    return sum == NULL ? NULL : vtac_let(k, "t", sum);
}

/* Inputs to what is multiplied. */
static void from_inputs(vtac_lower *l, const form *f, const vtac_expr *const *x, const vtac_expr **out)
{
    vtac_kernel *k = l->k;
    out[0] = sum_of(l, f->input[0], x, 0, f->size, 1);
    for (int64_t i = 1; i + 1 < f->size; i += 2) {
        const vtac_expr *even = sum_of(l, f->input[i], x, 0, f->size, 2);
        const vtac_expr *odd = sum_of(l, f->input[i], x, 1, f->size, 2);
        out[i] = vtac_let(k, "t", vtac_e2(k, VTAC_E_ADD, even, odd));
        out[i + 1] = vtac_let(k, "t", vtac_e2(k, VTAC_E_SUB, even, odd));
    }
    out[f->size - 1] = sum_of(l, f->input[f->size - 1], x, 0, f->size, 1);
}

/* Sums of products to outputs: output i is the sum of point^i times the sum at that point. */
static void to_outputs(vtac_lower *l, const form *f, const vtac_expr *const *x, const vtac_expr **out)
{
    vtac_kernel *k = l->k;
    const vtac_expr *both[2][2] = {{NULL}}; /* [pair of points][sum, difference] */
    const int64_t pairs = (f->size - 2) / 2;
    for (int64_t p = 0; p < pairs; p++) {
        both[p][0] = vtac_let(k, "t", vtac_e2(k, VTAC_E_ADD, x[2 * p + 1], x[2 * p + 2]));
        both[p][1] = vtac_let(k, "t", vtac_e2(k, VTAC_E_SUB, x[2 * p + 1], x[2 * p + 2]));
    }
    for (int64_t i = 0; i < f->m; i++) {
        const vtac_expr *sum = both[0][i % 2];
        if (pairs > 1) {
            const vtac_expr *power = vtac_e_float(k, VTAC_F32, (double)(INT64_C(1) << i));
            sum = vtac_e3(k, VTAC_E_FMA, both[1][i % 2], power, sum);
        }
        sum = i == 0 ? vtac_e2(k, VTAC_E_ADD, sum, x[0]) : sum;
        sum = i == f->m - 1 ? vtac_e2(k, VTAC_E_ADD, sum, x[f->size - 1]) : sum;
        out[i] = vtac_let(k, "t", sum);
    }
}

/* ---- weights */

/* Transforms one filter to the form that is multiplied, [row][column]. */
static void filter_of(const form *f, const double *taps, float *out)
{
    for (int64_t i = 0; i < f->size * f->size; i++) {
        double sum = 0.0;
        for (int64_t y = 0; y < TAPS; y++) {
            for (int64_t x = 0; x < TAPS; x++) {
                sum += f->weight[i / f->size][y] * taps[y * TAPS + x] * f->weight[i % f->size][x];
            }
        }
        out[i] = (float)sum;
    }
}

static vtac_storage_id pack_weights(vtac_lower *l, const vtac_blocked *c, const vtac_blocked *g,
                                    const form *f)
{
    const float *w = vtac_in_constant(l->graph, l->node, c->s.weight)->data;
    const int64_t wide = g->vectors * g->lanes;
    const int64_t count = vtac_blocked_weights(g);
    float *packed = vta_arena_array(&l->program->arena, (size_t)count, sizeof *packed);
    const int64_t depth = c->s.depth.kernel;
    for (int64_t i = 0; packed != NULL && i < c->s.outputs * c->s.per_group * depth; i++) {
        const int64_t output = i / (c->s.per_group * depth);
        const int64_t channel = i / depth % c->s.per_group;
        const int64_t kz = i % depth;
        double taps[TAPS * TAPS];
        float numbers[MAX * MAX];
        for (int64_t tap = 0; tap < TAPS * TAPS; tap++) {
            taps[tap] = (double)w[vtac_blocked_weight(c, output, channel, kz * TAPS * TAPS + tap)];
        }
        filter_of(f, taps, numbers);
        for (int64_t e = 0; e < f->size * f->size; e++) {
            const int64_t panel = e * g->vector_groups + output / wide;
            const int64_t row = panel * g->sources + vtac_blocked_source(g, channel, kz);
            packed[row * wide + output % wide] = numbers[e];
        }
    }
    return packed == NULL ? 0 : vtac_constant(l, packed, (uint64_t)count * sizeof *packed);
}

/* ---- tiles */

/* A row of tiles of one block of channels, and one of its tiles. */
typedef struct winograd_place {
    const vtac_expr *batch, *block, *y, *x; /* the tile's first output */
    const vtac_expr *plane;                 /* of a volume; NULL */
    const vtac_expr *row;                   /* of tiles */
    const vtac_expr *number;                /* of the tile, among all */
} winograd_place;

static const vtac_expr *first_of(vtac_lower *l, const vtac_blocked *c, const form *f, uint32_t axis,
                                 const vtac_expr *tile)
{
    const int64_t extent = c->s.window.extent[axis];
    const vtac_expr *first = vtac_i_mulc(l->k, tile, f->m);
    return extent % f->m == 0 ? first : vtac_e2(l->k, VTAC_E_MIN, first, vtac_e_index(l->k, extent - f->m));
}

/* Two loops: over rows of tiles, which are independent, and their tiles. */
static winograd_place open_tiles(vtac_lower *l, const vtac_blocked *c, const form *f, int64_t blocks,
                                 int64_t depth)
{
    vtac_kernel *k = l->k;
    const int64_t rows = tiles_along(c, f->m, 0);
    const int64_t columns = tiles_along(c, f->m, 1);
    const int64_t units = c->x_type->dim[0] * depth * blocks * rows;
    const int64_t work = units * columns * f->size * f->size * c->lanes;
    winograd_place p = {.plane = NULL};
    const vtac_expr *unit = vtac_for(k, vtac_parallel_if(work), units, "unit");
    const vtac_expr *plane = vtac_let(k, "plane", vtac_i_divc(k, unit, rows));
    p.row = vtac_let(k, "row", vtac_i_remc(k, unit, rows));
    p.block = vtac_let(k, "block", vtac_i_remc(k, plane, blocks));
    p.batch = vtac_let(k, "batch", vtac_i_divc(k, plane, blocks));
    if (c->x_type->rank == 5) {
        p.plane = vtac_let(k, "z", vtac_i_remc(k, p.batch, depth));
        p.batch = vtac_let(k, "batch", vtac_i_divc(k, p.batch, depth));
    }
    p.y = vtac_let(k, "y", first_of(l, c, f, 0, p.row));
    const vtac_expr *tile = vtac_for(k, VTAC_LOOP_SERIAL, columns, "tile");
    p.x = vtac_let(k, "x", first_of(l, c, f, 1, tile));
    const vtac_expr *all = vtac_i_add(k, vtac_i_mulc(k, p.batch, rows), p.row);
    p.number = vtac_let(k, "number", vtac_i_add(k, vtac_i_mulc(k, all, columns), tile));
    return p;
}

/* The block's number among those of all planes. */
static const vtac_expr *block_of(vtac_lower *l, const winograd_place *p, const vtac_expr *block,
                                 int64_t blocks)
{
    return p->plane == NULL ? block : vtac_i_add(l->k, vtac_i_mulc(l->k, p->plane, blocks), block);
}

/* Place of a tile's first input, of the channel at a lane. Beyond the last channel the place is arbitrary: no
 * product reads it. */
static const vtac_expr *corner_of(vtac_lower *l, const vtac_blocked *c, const vtac_blocked *g,
                                  const winograd_place *p, const vtac_expr *y, const vtac_expr *x,
                                  const vtac_expr *lane)
{
    vtac_kernel *k = l->k;
    const vtac_expr *at[] = {p->batch, NULL, p->plane};
    const vtac_expr *image = vtac_layout_image(l, c->x_type, at);
    if (c->in->block > 1) {
        return vtac_layout_place(l, c->x, image, p->block, y, x, lane);
    }
    const vtac_expr *channel = vtac_i_add(k, vtac_i_mulc(k, p->block, g->in->block), lane);
    if (g->rest != 0) {
        channel = vtac_e2(k, VTAC_E_MIN, channel, vtac_e_index(k, c->s.per_group - 1));
    }
    return vtac_layout_place(l, c->x, image, channel, y, x, vtac_e_index(k, 0));
}

static vta_status transform_inputs(vtac_lower *l, const vtac_blocked *c, const vtac_blocked *g, const form *f,
                                   vtac_storage_id tiles)
{
    VTA_TRY(vtac_begin(l, ".tiles"));
    vtac_kernel *k = l->k;
    const int64_t row = vtac_layout_row(c->in, c->x_type);
    const int64_t elements = vtac_layout_elements(g->in, g->x_type);
    vtac_buffer *from =
        vtac_use(l, l->program->laid_out[c->x], "x", VTAC_F32, vtac_layout_elements(c->in, c->x_type));
    vtac_buffer *to = vtac_use(l, tiles, "tiles", VTAC_F32, elements);
    const winograd_place p = open_tiles(l, c, f, g->in_blocks, c->x_type->rank == 5 ? c->x_type->dim[2] : 1);
    const vtac_expr *y = vtac_i_addc(k, p.y, -c->s.window.pad_begin[0]);
    const vtac_expr *x = vtac_i_addc(k, p.x, -c->s.window.pad_begin[1]);
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, g->in->block, "lane");
    const vtac_expr *corner = corner_of(l, c, g, &p, y, x, lane);
    const vtac_expr *half[MAX][MAX]; /* [column][row] */
    const vtac_expr *in[MAX];
    const vtac_expr *out[MAX];
    for (int64_t j = 0; j < f->size; j++) {
        for (int64_t i = 0; i < f->size; i++) {
            const vtac_expr *at = vtac_i_addc(k, corner, i * row + j * c->in->block);
            in[i] = vtac_let(k, "d", vtac_e_load(k, from, at));
        }
        from_inputs(l, f, in, half[j]);
    }
    const int64_t plane = g->in->block * g->s.window.extent[1];
    const vtac_expr *base = vtac_i_mulc(k, block_of(l, &p, p.block, g->in->blocks), plane);
    base = vtac_i_add(k, base, vtac_i_mulc(k, p.number, g->in->block));
    for (int64_t i = 0; i < f->size; i++) {
        for (int64_t j = 0; j < f->size; j++) {
            in[j] = half[j][i];
        }
        from_inputs(l, f, in, out);
        for (int64_t j = 0; j < f->size; j++) {
            const vtac_expr *at = vtac_i_addc(k, base, (i * f->size + j) * g->in_blocks * plane);
            vtac_store(k, to, vtac_i_add(k, at, lane), out[j]);
        }
    }
    vtac_close(l, 3);
    l->step->flops = 2 * (uint64_t)elements;
    return l->diag->code;
}

/* ---- outputs */

/* The tile's outputs, to `sums` [row][column][lane]. */
static void transform_outputs(vtac_lower *l, const vtac_blocked *c, const vtac_blocked *g, const form *f,
                              const winograd_place *p, const vtac_finish *finish, vtac_buffer *products,
                              vtac_buffer *sums)
{
    vtac_kernel *k = l->k;
    const int64_t plane = c->lanes * g->s.window.extent[1];
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, c->lanes, "lane");
    const int64_t blocks = g->s.groups * vtac_blocked_vectors(c);
    const vtac_expr *base = vtac_i_mulc(k, block_of(l, p, p->block, blocks), plane);
    base = vtac_i_add(k, base, vtac_i_mulc(k, p->number, c->lanes));
    const vtac_expr *half[MAX][MAX]; /* [column][row] */
    const vtac_expr *in[MAX];
    const vtac_expr *out[MAX];
    for (int64_t j = 0; j < f->size; j++) {
        for (int64_t i = 0; i < f->size; i++) {
            const int64_t planes = (i * f->size + j) * vtac_blocked_vectors(c);
            const vtac_expr *at = vtac_i_add(k, vtac_i_addc(k, base, planes * plane), lane);
            in[i] = vtac_let(k, "s", vtac_e_load(k, products, at));
        }
        to_outputs(l, f, in, half[j]);
    }
    const vtac_expr *channel = vtac_i_add(k, vtac_i_mulc(k, p->block, c->lanes), lane);
    const vtac_expr *start = vtac_let(k, "start", vtac_finish_start(l, finish, channel));
    for (int64_t i = 0; i < f->m; i++) {
        for (int64_t j = 0; j < f->size; j++) {
            in[j] = half[j][i];
        }
        to_outputs(l, f, in, out);
        for (int64_t j = 0; j < f->m; j++) {
            const vtac_expr *at = vtac_i_addc(k, lane, (i * f->m + j) * c->lanes);
            vtac_store(k, sums, at, vtac_e2(k, VTAC_E_ADD, out[j], start));
        }
    }
    vtac_end(k);
}

/* Stores one row of the tile. Where the last row of tiles overlaps the one before it, which another thread
 * may make, the overlapping outputs are left out. */
static void store_row(vtac_lower *l, const vtac_blocked *c, const form *f, const winograd_place *p,
                      const vtac_finish *finish, vtac_buffer *sums, int64_t i)
{
    vtac_kernel *k = l->k;
    const bool overlaps = c->s.window.extent[0] % f->m != 0;
    const vtac_expr *y = vtac_i_addc(k, p->y, i);
    if (overlaps) {
        vtac_if(k, vtac_e2(k, VTAC_E_GE, y, vtac_i_mulc(k, p->row, f->m)));
    }
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, c->lanes, "lane");
    const vtac_expr *channel = vtac_i_add(k, vtac_i_mulc(k, p->block, c->lanes), lane);
    l->block = p->block;
    l->lane = lane;
    for (int64_t j = 0; j < f->m; j++) {
        const vtac_expr *at[5] = {p->batch, channel, p->plane};
        at[c->y_type->rank - 2] = y;
        at[c->y_type->rank - 1] = vtac_i_addc(k, p->x, j);
        const vtac_expr *sum = vtac_e_load(k, sums, vtac_i_addc(k, lane, (i * f->m + j) * c->lanes));
        vtac_out_at(l, 0, at, vtac_finish_value(l, finish, sum, NULL));
    }
    l->block = l->lane = NULL;
    vtac_close(l, overlaps ? 2 : 1);
}

static int64_t products_of(const vtac_blocked *c, const vtac_blocked *g)
{
    return g->images * g->s.groups * vtac_blocked_vectors(c) * g->s.window.extent[1] * c->lanes;
}

static vta_status finish_tiles(vtac_lower *l, const vtac_blocked *c, const vtac_blocked *g, const form *f,
                               vtac_storage_id products)
{
    vtac_finish finish;
    VTA_TRY(vtac_begin(l, ""));
    VTA_TRY(vtac_finish_begin(l, &c->s, true, &finish));
    const int64_t elements = products_of(c, g);
    vtac_buffer *from = vtac_use(l, products, "products", VTAC_F32, elements);
    vtac_buffer *sums = vtac_local(l, "sums", VTAC_F32, f->m * f->m * c->lanes);
    const winograd_place p = open_tiles(l, c, f, vtac_blocked_vectors(c), c->s.depth.extent);
    transform_outputs(l, c, g, f, &p, &finish, from, sums);
    for (int64_t i = 0; i < f->m; i++) {
        store_row(l, c, f, &p, &finish, sums, i);
    }
    vtac_close(l, 2);
    l->step->flops = 2 * (uint64_t)elements;
    return l->diag->code;
}

vta_status vtac_winograd(vtac_lower *l, const vtac_blocked *c)
{
    const form *f = form_of(c->winograd);
    vtac_layout in;
    vtac_type type;
    vtac_blocked g;
    if (!vtac_winograd_products(c, f->m, &in, &type, &g)) {
        return vta_fail(l->diag, VTA_INVALID, "%s: no convolution for Winograd's way", l->node->name);
    }
    g.rows_outside = g.sources * g.s.out_per_group < g.s.window.extent[1] * g.sources;
    vtac_blocked_cut(&g);
    const vtac_storage_id weights = pack_weights(l, c, &g, f);
    const vtac_storage_id tiles = vtac_temp(l, VTAC_F32, vtac_layout_elements(&in, &type));
    const vtac_storage_id products = vtac_temp(l, VTAC_F32, products_of(c, &g));
    VTA_TRY(transform_inputs(l, c, &g, f, tiles));
    VTA_TRY(vtac_begin(l, ".products"));
    VTA_TRY(vtac_blocked_products(l, &g, tiles, weights, products));
    return finish_tiles(l, c, &g, f, products);
}
