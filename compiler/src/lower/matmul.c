/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products. The right operand is packed to rows of the type of the sums (at compile time where it is
 * known); a tile of some rows of the left times some vectors of columns stays in registers. Columns that fill
 * no tile get narrower ones, in steps of their own.
 */
#include <string.h>

#include "matmul.h"
#include "vta/fail.h"

enum {
    MAX_DEEP_ROWS = 256,
    MIN_UNITS = 16,       /* for threads to share */
    NEAR_BYTES = 1048576, /* of a right operand that stays in the cache anyway */
    CHUNK_BYTES = 262144, /* of the left operand's rows that stay there otherwise */
    FAR_LEFT_BYTES = 4194304,
    LINE_BYTES = 64 /* of a cache */
};

static const vtac_expr *less_zero(vtac_lower *l, const vtac_product *p, uint32_t input,
                                  const vtac_expr *value, const vtac_expr *place)
{
    value = vtac_e_cast(l->k, p->type, value);
    if (input == 0) {
        return value;
    }
    const bool one = vtac_type_elements(vtac_type_in(l, input)) == 1;
    const vtac_expr *zero = vtac_e_load(l->k, vtac_in(l, input), one ? vtac_e_index(l->k, 0) : place);
    return vtac_e2(l->k, VTAC_E_SUB, value, vtac_e_cast(l->k, p->type, zero));
}

int64_t vtac_product_matrices(const vtac_type *type)
{
    int64_t count = 1;
    for (uint32_t i = 0; i + 2 < type->rank; i++) {
        count *= type->dim[i];
    }
    return count;
}

static void put_element(vtac_dtype dtype, uint8_t *to, double value, int64_t whole)
{
    const float narrow = (float)value;
    const int32_t word = (int32_t)(uint32_t)whole;
    const int16_t half = (int16_t)word;
    const void *from = dtype == VTAC_F32   ? (const void *)&narrow
                       : dtype == VTAC_F64 ? (const void *)&value
                       : dtype == VTAC_I16 ? (const void *)&half
                       : dtype == VTAC_I32 ? (const void *)&word
                                           : (const void *)&whole;
    memcpy(to, from, vtac_dtype_bytes(dtype));
}

/* Place of an element of a tiled matrix. */
static int64_t tiled_place(const vtac_product *p, int64_t row, int64_t column)
{
    const vtac_product_region *r = p->regions;
    while (column >= r->begin + r->tiles * r->lanes * r->vectors) {
        r++;
    }
    const int64_t wide = r->lanes * r->vectors;
    const int64_t within = column - r->begin;
    return (r->begin + within / wide * wide) * p->k + row * wide + within % wide;
}

/* `zero` NULL: none. */
static vtac_storage_id pack_constant(vtac_lower *l, vtac_product *p, const vtac_tensor *b,
                                     const vtac_tensor *zero)
{
    const size_t bytes = vtac_dtype_bytes(p->stored);
    const int64_t count = vtac_product_matrices(&p->b_type);
    const bool is_float = vtac_dtype_kind(p->type) == 'f';
    const bool one = zero != NULL && vtac_type_elements(&zero->type) == 1;
    uint8_t *packed = vta_arena_array(&l->program->arena, (size_t)(count * p->k * p->room), bytes);
    for (int64_t i = 0; packed != NULL && i < count * p->k * p->n; i++) {
        const int64_t column = i % p->n;
        const int64_t row = i / p->n % p->k;
        const int64_t from = p->b_transposed ? column * p->k + row : i;
        const int64_t off = zero == NULL ? 0 : vtac_tensor_int(zero, one ? 0 : column);
        const int64_t to = i / (p->k * p->n) * (p->k * p->room) + tiled_place(p, row, column);
        put_element(p->stored, packed + (size_t)to * bytes, is_float ? vtac_tensor_float(b, from) : 0.0,
                    is_float ? 0 : vtac_tensor_int(b, from) - off);
    }
    if (packed != NULL && p->stored == VTAC_F32) {
        return vtac_float_constant(l, (const float *)(const void *)packed, (uint64_t)(count * p->k * p->room),
                                   &p->stored);
    }
    return packed == NULL ? 0 : vtac_constant(l, packed, (uint64_t)(count * p->k * p->room) * bytes);
}

/* `lanes` columns of row i from number `within` of the tile on; NULL: zeros. */
typedef struct tile_pack {
    vtac_buffer *from, *to;
    const vtac_expr *base, *column, *target, *i;
    int64_t wide;
    int64_t rows; /* at once */
} tile_pack;

static void pack_lanes(vtac_lower *l, const vtac_product *p, const tile_pack *t, const vtac_expr *within,
                       int64_t lanes, bool zeros)
{
    vtac_kernel *k = l->k;
    const int64_t all = lanes * t->rows;
    const vtac_expr *lane = all == 1 ? vtac_e_index(k, 0) : vtac_for(k, VTAC_LOOP_VECTOR, all, "lane");
    const vtac_expr *i = t->rows == 1 ? t->i : vtac_i_add(k, t->i, vtac_i_divc(k, lane, lanes));
    within = vtac_i_add(k, within, t->rows == 1 ? lane : vtac_i_remc(k, lane, lanes));
    const vtac_expr *at = vtac_i_add(k, t->column, within);
    at = p->b_transposed ? vtac_i_add(k, vtac_i_mulc(k, at, p->k), i)
                         : vtac_i_add(k, vtac_i_mulc(k, i, p->n), at);
    const vtac_expr *place = vtac_i_add(k, vtac_i_add(k, t->target, vtac_i_mulc(k, i, t->wide)), within);
    vtac_store(k, t->to, place,
               zeros ? vtac_e_int(k, p->type, 0)
                     : vtac_e_cast(k, p->type, vtac_e_load(k, t->from, vtac_i_add(k, t->base, at))));
    vtac_close(l, all == 1 ? 0 : 1);
}

/* Some rows of a tile, from row i on. */
static void pack_rows(vtac_lower *l, const vtac_product *p, const vtac_product_region *r, const tile_pack *t)
{
    vtac_kernel *k = l->k;
    const int64_t whole = r->vectors - (r->part != 0 ? 1 : 0);
    if (whole > 0) {
        const vtac_expr *v = vtac_for(k, VTAC_LOOP_UNROLL, whole, "v");
        pack_lanes(l, p, t, vtac_i_mulc(k, v, r->lanes), r->lanes, false);
        vtac_end(k);
    }
    if (r->part != 0) {
        pack_lanes(l, p, t, vtac_e_index(k, whole * r->lanes), r->part, false);
        pack_lanes(l, p, t, vtac_e_index(k, whole * r->lanes + r->part), r->lanes - r->part, true);
    }
}

/* Packs an operand that only the run knows: tiles of a region, row by row, in the order of use. */
static vta_status pack_tiles(vtac_lower *l, const vtac_product *p, const vtac_product_region *r)
{
    VTA_TRY(vtac_begin(l, ".pack"));
    vtac_kernel *k = l->k;
    const int64_t matrices = vtac_product_matrices(&p->b_type);
    tile_pack t = {.from = vtac_in(l, p->b),
                   .to = vtac_use(l, p->packed, "packed", p->type, matrices * p->k * p->room),
                   .wide = r->lanes * r->vectors};
    const vtac_expr *unit =
        vtac_for(k, vtac_parallel_if(matrices * p->k * r->tiles * t.wide / 4), matrices * r->tiles, "unit");
    const vtac_expr *matrix = vtac_let(k, "matrix", vtac_i_divc(k, unit, r->tiles));
    const vtac_expr *tile = vtac_i_mulc(k, vtac_i_remc(k, unit, r->tiles), t.wide);
    t.base = vtac_let(k, "base", vtac_i_mulc(k, matrix, p->k * p->n));
    t.column = vtac_let(k, "column", vtac_i_addc(k, tile, r->begin));
    t.target = vtac_let(
        k, "to", vtac_i_add(k, vtac_i_mulc(k, matrix, p->k * p->room), vtac_i_mulc(k, t.column, p->k)));
    /* columns that lie along the inner axis come by small matrices that vectors turn */
    t.rows = p->b_transposed && r->part == 0 ? VTAC_TRANSPOSE_BYTES / (int64_t)vtac_dtype_bytes(p->type) : 1;
    const int64_t groups = p->k / t.rows;
    if (groups > 0) {
        t.i = vtac_i_mulc(k, vtac_for(k, VTAC_LOOP_SERIAL, groups, "k"), t.rows);
        pack_rows(l, p, r, &t);
        vtac_end(k);
    }
    if (p->k > groups * t.rows) {
        t.i = vtac_i_addc(k, vtac_for(k, VTAC_LOOP_SERIAL, p->k - groups * t.rows, "k"), groups * t.rows);
        t.rows = 1;
        pack_rows(l, p, r, &t);
        vtac_end(k);
    }
    vtac_end(k);
    return l->diag->code;
}

/* True if the right operand is packed in the order of use: by the compiler, or at run time where there
 * are enough rows. */
static bool is_tiled(const vtac_lower *l, const vtac_product *p, bool *known)
{
    const bool is_known = vtac_in_constant(l->graph, l->node, p->b) != NULL &&
                          (p->b_zero == 0 || vtac_in_constant(l->graph, l->node, p->b_zero) != NULL);
    *known = is_known && (vtac_dtype_kind(p->type) == 'f' || p->type == VTAC_I32 || p->type == VTAC_I64);
    return *known || (p->m >= VTAC_MIN_TILED && p->b_zero == 0 && l->program->level > 0);
}

static vta_status pack_right(vtac_lower *l, vtac_product *p)
{
    const int64_t elements = vtac_product_matrices(&p->b_type) * p->k * p->n;
    p->stored = p->type;
    if (p->tiled && p->known) {
        const vtac_tensor *zero = p->b_zero == 0 ? NULL : vtac_in_constant(l->graph, l->node, p->b_zero);
        p->stored = vtac_dtype_bytes(p->b_type.dtype) == 1 ? VTAC_I16 : p->type; /* bytes less a zero point */
        p->packed = pack_constant(l, p, vtac_in_constant(l->graph, l->node, p->b), zero);
        return vta_allocated(p->packed != 0, l->diag);
    }
    if (p->tiled) {
        p->packed = vtac_temp(l, p->type, vtac_product_matrices(&p->b_type) * p->k * p->room);
        for (uint32_t i = 0; i < p->region_count; i++) {
            VTA_TRY(pack_tiles(l, p, &p->regions[i]));
        }
        return VTA_OK;
    }
    p->direct = !p->b_transposed && p->b_zero == 0 && p->b_type.dtype == p->type;
    if (p->direct) {
        return VTA_OK;
    }
    VTA_TRY(vtac_begin(l, ".pack"));
    p->packed = vtac_temp(l, p->type, elements);
    vtac_buffer *to = vtac_use(l, p->packed, "packed", p->type, elements);
    const vtac_expr *row =
        vtac_for(l->k, vtac_parallel_if(elements), vtac_product_matrices(&p->b_type) * p->k, "row");
    const vtac_expr *column = vtac_for(l->k, VTAC_LOOP_SERIAL, p->n, "column");
    const vtac_expr *at = vtac_i_add(l->k, vtac_i_mulc(l->k, row, p->n), column);
    const vtac_expr *from = p->b_transposed ? vtac_i_add(l->k, vtac_i_mulc(l->k, column, p->k), row) : at;
    vtac_store(l->k, to, at, less_zero(l, p, p->b_zero, vtac_e_load(l->k, vtac_in(l, p->b), from), column));
    vtac_close(l, 2);
    return VTA_OK;
}

/* Number of the operand's matrix that belongs to the batch index. */
const vtac_expr *vtac_product_matrix(vtac_lower *l, const vtac_type *type, const vtac_type *lead,
                                     const vtac_expr *const *at)
{
    vtac_type own = *type;
    own.rank -= 2;
    return vtac_flat(l, &own, at + (lead->rank - own.rank));
}

void vtac_product_place(vtac_lower *l, const vtac_product *p, const vtac_expr **at, const vtac_expr *row,
                        const vtac_expr *column)
{
    vtac_kernel *k = l->k;
    const uint32_t rank = p->folded.rank != 0 ? p->folded.rank : p->lead.rank;
    if (p->folded.rank != 0) {
        const vtac_expr *matrix = vtac_let(k, "matrix", vtac_i_divc(k, row, p->folded_rows));
        row = vtac_i_remc(k, row, p->folded_rows);
        for (uint32_t axis = rank; axis-- > 0;) {
            at[axis] = vtac_let(k, "at", vtac_i_remc(k, matrix, p->folded.dim[axis]));
            matrix = vtac_let(k, "matrix", vtac_i_divc(k, matrix, p->folded.dim[axis]));
        }
    }
    if (!p->row) {
        at[rank] = row;
    }
    if (!p->column) {
        at[p->row ? rank : rank + 1] = column;
    }
}

/* `count` products of each element from number `from` on. */
typedef struct depth {
    const vtac_expr *from;
    int64_t count;
    const vtac_expr *next; /* what the first of them asks for of the columns that come next; NULL: nothing */
    int64_t share;         /* numbers of those that each product asks for */
} depth;

/* Prefetches panels that no cache holds: the blocks of rows that meet the same columns each prefetch a part
 * of the next ones. Panels beyond the nearest cache are prefetched a second time. */
static void read_on(vtac_lower *l, const vtac_product *p, vtac_buffer *b, const vtac_expr *line, int64_t wide,
                    const depth *d, const vtac_expr *step)
{
    const int64_t size = (int64_t)vtac_dtype_bytes(p->stored);
    const bool far = p->known ? vtac_is_far_constant(l, b) : vtac_is_far(b);
    if (d->next == NULL ? far : d->count * wide * size > VTAC_PRODUCT_NEAREST) {
        vtac_read_early(l, b, line, wide);
    }
    for (int64_t part = 0; d->next != NULL && part < d->share; part += LINE_BYTES / size) {
        const vtac_expr *at = vtac_i_add(l->k, d->next, vtac_i_mulc(l->k, step, d->share));
        vtac_ahead_later(l->k, b, vtac_i_addc(l->k, at, part));
    }
}

static void sum_rows(vtac_lower *l, const vtac_product *p, const vtac_product_region *r, vtac_buffer *sums,
                     const vtac_expr *const *rows, const vtac_expr *b_base, depth d)
{
    vtac_kernel *k = l->k;
    vtac_buffer *b = p->direct ? vtac_in(l, p->b)
                               : vtac_use(l, p->packed, "packed", p->stored,
                                          vtac_product_matrices(&p->b_type) * p->k * p->room);
    vtac_buffer *a = p->wide_left == 0 ? vtac_in(l, p->a)
                                       : vtac_use(l, p->wide_left, "left", p->type,
                                                  vtac_type_elements(vtac_type_in(l, p->a)));
    const vtac_expr *number = vtac_for(k, VTAC_LOOP_SERIAL, d.count, "k");
    const vtac_expr *i = vtac_i_add(k, d.from, number);
    const int64_t step = p->tiled ? r->lanes * r->vectors : p->n;
    const vtac_expr *line = vtac_let(k, "line", vtac_i_add(k, b_base, vtac_i_mulc(k, i, step)));
    const vtac_expr *right[VTAC_PRODUCT_VECTORS];
    if (p->tiled) {
        read_on(l, p, b, line, step, &d, number);
    }
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, r->lanes, "lane");
    for (int64_t v = 0; v < r->vectors; v++) {
        const vtac_expr *value = vtac_e_load(k, b, vtac_i_add(k, line, vtac_i_addc(k, lane, v * r->lanes)));
        right[v] = vtac_let(k, "b", vtac_e_cast(k, p->type, value));
    }
    for (int64_t o = 0; o < r->block;
         o++) { /* one number of the left at a time: registers are for the sums */
        const vtac_expr *from = p->a_transposed ? vtac_i_add(k, vtac_i_mulc(k, i, p->m), rows[o])
                                                : vtac_i_add(k, vtac_i_mulc(k, rows[o], p->k), i);
        const vtac_expr *left =
            vtac_let(k, "a", less_zero(l, p, p->a_zero, vtac_e_load(k, a, from), vtac_e_index(k, 0)));
        for (int64_t v = 0; v < r->vectors; v++) {
            const vtac_expr *sum = vtac_i_addc(k, lane, (o * r->vectors + v) * r->lanes);
            vtac_store(k, sums, sum, vtac_e3(k, VTAC_E_FMA, left, right[v], vtac_e_load(k, sums, sum)));
        }
    }
    vtac_close(l, 2);
}

/* A tile's sums, its place in the output, and what is made of each sum (NULL: nothing). */
typedef struct tile_place {
    vtac_buffer *sums;
    vtac_product_finish *finish;
    const vtac_expr **at, *first, *column, *row;
} tile_place;

/* `lanes` elements of row `o` of the tile, from column `within` on. */
static void store_lanes(vtac_lower *l, const vtac_product *p, const vtac_product_region *r,
                        const tile_place *t, int64_t o, const vtac_expr *within, int64_t lanes)
{
    vtac_kernel *k = l->k;
    const vtac_expr *lane = lanes == 1 ? vtac_e_index(k, 0) : vtac_for(k, VTAC_LOOP_VECTOR, lanes, "lane");
    within = vtac_i_add(k, within, lane);
    vtac_product_place(l, p, t->at, t->row, vtac_i_add(k, t->column, within));
    const vtac_expr *sum = vtac_e_load(k, t->sums, vtac_i_addc(k, within, o * r->vectors * r->lanes));
    vtac_out_at(l, 0, t->at, t->finish == NULL ? sum : t->finish(l, p, sum, t->at));
    vtac_close(l, lanes == 1 ? 0 : 1);
}

static void store_sums(vtac_lower *l, const vtac_product *p, const vtac_product_region *r, tile_place *t)
{
    vtac_kernel *k = l->k;
    for (int64_t o = 0; o < r->block; o++) {
        const vtac_expr *row = vtac_i_addc(k, t->first, o);
        const bool guarded = p->m % r->block != 0;
        if (guarded) {
            vtac_if(k, vtac_e2(k, VTAC_E_LT, row, vtac_e_index(k, p->m)));
        }
        t->row = row;
        const int64_t whole = r->vectors - (r->part != 0 ? 1 : 0);
        if (whole > 0) {
            const vtac_expr *v = vtac_for(k, VTAC_LOOP_UNROLL, whole, "v");
            store_lanes(l, p, r, t, o, vtac_i_mulc(k, v, r->lanes), r->lanes);
            vtac_end(k);
        }
        if (r->part != 0) {
            store_lanes(l, p, r, t, o, vtac_e_index(k, whole * r->lanes), r->part);
        }
        vtac_close(l, guarded ? 1 : 0);
    }
}

/* A kernel over tiles: what its loops share. */
typedef struct product_kernel {
    const vtac_product *p;
    const vtac_product_region *r;
    vtac_product_finish *finish;
    vtac_buffer *sums;
    int64_t blocks, chunk; /* of rows; those that go through all tiles together */
    const vtac_expr *at[VTAC_MAX_RANK + 2], *column, *left, *right;
} product_kernel;

/* The places of batch and column; the left operand's matrix, the right one's tile. */
static void place_tile(vtac_lower *l, product_kernel *t, const vtac_expr *batch, const vtac_expr *tile)
{
    vtac_kernel *k = l->k;
    const vtac_product *p = t->p;
    const vtac_product_region *r = t->r;
    for (uint32_t axis = p->lead.rank; axis-- > 0;) {
        t->at[axis] = vtac_let(k, "at", vtac_i_remc(k, batch, p->lead.dim[axis]));
        batch = vtac_let(k, "batch", vtac_i_divc(k, batch, p->lead.dim[axis]));
    }
    t->column = vtac_let(k, "column", vtac_i_addc(k, vtac_i_mulc(k, tile, r->vectors * r->lanes), r->begin));
    t->left = vtac_let(
        k, "left",
        vtac_i_mulc(k, vtac_product_matrix(l, &p->a_type, &p->lead, t->at), p->a_transposed ? 0 : p->m));
    const vtac_expr *right = vtac_product_matrix(l, &p->b_type, &p->lead, t->at);
    right = vtac_i_mulc(k, right, p->k * (p->tiled ? p->room : p->n));
    t->right = vtac_let(k, "right", vtac_i_add(k, right, vtac_i_mulc(k, t->column, p->tiled ? p->k : 1)));
}

/* Multiplies a block of rows, from a partial sum (NULL: 0) to a partial sum (NULL: to the output). */
static void do_block(vtac_lower *l, product_kernel *t, const vtac_expr *block, depth d, vtac_buffer *before,
                     vtac_buffer *after, const vtac_expr *partial)
{
    vtac_kernel *k = l->k;
    const vtac_product *p = t->p;
    const vtac_product_region *r = t->r;
    const vtac_expr *rows[32];
    const vtac_expr *first = vtac_let(k, "first", vtac_i_mulc(k, block, r->block));
    for (int64_t o = 0; o < r->block; o++) {
        const vtac_expr *row = vtac_i_addc(k, first, o);
        row = p->m % r->block == 0 ? row : vtac_e2(k, VTAC_E_MIN, row, vtac_e_index(k, p->m - 1));
        rows[o] = vtac_let(k, "row", vtac_i_add(k, t->left, row));
    }
    for (int i = 0; i < 2; i++) {
        if (i == 1) {
            sum_rows(l, p, r, t->sums, rows, t->right, d);
        }
        if (i == 1 && after == NULL) {
            store_sums(l, p, r, &(tile_place){t->sums, t->finish, t->at, first, t->column, NULL});
            return;
        }
        const vtac_expr *v = vtac_for(k, VTAC_LOOP_UNROLL, r->block * r->vectors, "i");
        const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, r->lanes, "lane");
        const vtac_expr *at = vtac_i_add(k, vtac_i_mulc(k, v, r->lanes), lane);
        const vtac_expr *there = partial == NULL ? at : vtac_i_add(k, partial, at);
        const vtac_expr *zero = vtac_e_int(k, p->type, 0);
        vtac_store(k, i == 0 ? t->sums : after, i == 0 ? at : there,
                   i == 1           ? vtac_e_load(k, t->sums, at)
                   : before == NULL ? zero
                                    : vtac_e_load(k, before, there));
        vtac_close(l, 2);
    }
}

/* Block `inner` of a chunk asks for its part of what comes next. */
static void plan_next(vtac_lower *l, const product_kernel *t, const vtac_expr *inner, depth *d)
{
    vtac_kernel *k = l->k;
    const vtac_product *p = t->p;
    const int64_t wide = t->r->lanes * t->r->vectors;
    const vtac_buffer whole = {.elements = p->k * p->room, .dtype = p->stored};
    if (!vtac_is_wide_x86(l) || !p->tiled || !p->known || t->chunk < 2 || !vtac_is_far_constant(l, &whole)) {
        return;
    }
    d->share = (wide + t->chunk - 1) / t->chunk;
    const vtac_expr *next = vtac_i_mulc(k, vtac_i_addc(k, d->from, d->count), wide);
    next = vtac_i_add(k, vtac_i_add(k, t->right, next), vtac_i_mulc(k, inner, d->count * d->share));
    d->next = vtac_let(k, "next", next);
}

/* All rows of a chunk over one range of the inner axis. */
static void do_chunk(vtac_lower *l, product_kernel *t, const vtac_expr *chunk, depth d, vtac_buffer *before,
                     vtac_buffer *after)
{
    vtac_kernel *k = l->k;
    const vtac_product_region *r = t->r;
    const vtac_expr *inner = vtac_for(k, VTAC_LOOP_SERIAL, t->chunk, "inner");
    const vtac_expr *block = vtac_let(k, "block", vtac_i_add(k, vtac_i_mulc(k, chunk, t->chunk), inner));
    const bool ragged = t->blocks % t->chunk != 0;
    if (ragged) {
        vtac_if(k, vtac_e2(k, VTAC_E_LT, block, vtac_e_index(k, t->blocks)));
    }
    const vtac_expr *partial = vtac_i_mulc(k, inner, r->block * r->vectors * r->lanes);
    plan_next(l, t, inner, &d);
    do_block(l, t, block, d, before, after, vtac_let(k, "partial", partial));
    vtac_close(l, ragged ? 2 : 1);
}

/* Multiplies tiles whose columns exceed the nearest cache: the inner axis is cut in parts that fit for all
 * rows of a chunk, and the sums wait in memory for the next part. The order of the additions is the same. */
static void multiply_deep(vtac_lower *l, product_kernel *t, int64_t batches)
{
    vtac_kernel *k = l->k;
    const vtac_product *p = t->p;
    const vtac_product_region *r = t->r;
    const int64_t parts = (p->k + p->depth - 1) / p->depth;
    const int64_t each = (p->k + parts - 1) / parts;
    const int64_t units = batches * t->blocks * r->tiles;
    int64_t chunk = MAX_DEEP_ROWS / r->block;
    const int64_t element = (int64_t)vtac_dtype_bytes(p->type);
    if (p->k * p->n * element <= NEAR_BYTES && chunk * r->block * p->k * element > CHUNK_BYTES) {
        chunk = CHUNK_BYTES / (r->block * p->k * element); /* the next tile finds them in the cache */
    }
    chunk = chunk > t->blocks ? t->blocks : chunk;
    chunk = chunk > 1 && units / chunk < MIN_UNITS ? units / MIN_UNITS : chunk;
    t->chunk = chunk < 1 ? 1 : chunk;
    const int64_t chunks = (t->blocks + t->chunk - 1) / t->chunk;
    vtac_buffer *partial = vtac_kernel_buffer(
        k, "partial", p->type, t->chunk * r->block * r->vectors * r->lanes, VTAC_BUFFER_SCRATCH);
    const vtac_expr *unit =
        vtac_for(k, vtac_parallel_if(batches * p->m * p->k * r->tiles * r->vectors * r->lanes),
                 batches * chunks * r->tiles, "unit");
    const vtac_expr *tile = vtac_let(k, "tile", vtac_i_remc(k, unit, r->tiles));
    const vtac_expr *rest = vtac_let(k, "rest", vtac_i_divc(k, unit, r->tiles));
    const vtac_expr *rows = vtac_let(k, "chunk", vtac_i_remc(k, rest, chunks));
    place_tile(l, t, vtac_let(k, "batch", vtac_i_divc(k, rest, chunks)), tile);
    do_chunk(l, t, rows, (depth){.from = vtac_e_index(k, 0), .count = each}, NULL, partial);
    if (parts > 2) {
        const vtac_expr *part = vtac_for(k, VTAC_LOOP_SERIAL, parts - 2, "part");
        const vtac_expr *from = vtac_let(k, "from", vtac_i_mulc(k, vtac_i_addc(k, part, 1), each));
        do_chunk(l, t, rows, (depth){.from = from, .count = each}, partial, partial);
        vtac_end(k);
    }
    const int64_t last = (parts - 1) * each;
    do_chunk(l, t, rows, (depth){.from = vtac_e_index(k, last), .count = p->k - last}, partial, NULL);
    vtac_end(k);
}

int64_t vtac_product_chunk(const vtac_lower *l, const vtac_product *p, int64_t rows)
{
    const int64_t row_bytes = rows * p->k * (int64_t)vtac_dtype_bytes(p->type);
    const int64_t bytes = p->k * p->n * (int64_t)vtac_dtype_bytes(p->type);
    const bool far = bytes > (p->known && vtac_is_wide_x86(l) ? VTAC_PRODUCT_NEAREST : NEAR_BYTES);
    const int64_t chunk = row_bytes > 0 && far ? CHUNK_BYTES / row_bytes : 1;
    const int64_t blocks = (p->m + rows - 1) / rows;
    return chunk < 1 ? 1 : chunk < blocks ? chunk : blocks;
}

static void multiply_flat(vtac_lower *l, product_kernel *t, int64_t batches)
{
    vtac_kernel *k = l->k;
    const vtac_product *p = t->p;
    const vtac_product_region *r = t->r;
    const int64_t asked = p->chunk != 0 ? p->chunk : vtac_product_chunk(l, p, r->block);
    const int64_t chunk = asked < t->blocks ? asked : t->blocks;
    const int64_t chunks = (t->blocks + chunk - 1) / chunk;
    t->chunk = chunk;
    const vtac_expr *unit =
        vtac_for(k, vtac_parallel_if(batches * p->m * p->k * r->tiles * r->vectors * r->lanes),
                 batches * chunks * r->tiles * chunk, "unit");
    const vtac_expr *inner = vtac_let(k, "inner", vtac_i_remc(k, unit, chunk));
    const vtac_expr *rest = vtac_let(k, "rest", vtac_i_divc(k, unit, chunk));
    const vtac_expr *tile = vtac_let(k, "tile", vtac_i_remc(k, rest, r->tiles));
    rest = vtac_let(k, "rest", vtac_i_divc(k, rest, r->tiles));
    const vtac_expr *block =
        vtac_let(k, "block", vtac_i_add(k, vtac_i_mulc(k, vtac_i_remc(k, rest, chunks), chunk), inner));
    rest = vtac_let(k, "batch", vtac_i_divc(k, rest, chunks));
    const bool ragged = t->blocks % chunk != 0;
    if (ragged) {
        vtac_if(k, vtac_e2(k, VTAC_E_LT, block, vtac_e_index(k, t->blocks)));
    }
    place_tile(l, t, rest, tile);
    depth d = {.from = vtac_e_index(k, 0), .count = p->k};
    plan_next(l, t, inner, &d);
    do_block(l, t, block, d, NULL, NULL, NULL);
    vtac_close(l, ragged ? 2 : 1);
}

static vta_status multiply_region(vtac_lower *l, const vtac_product *p, const vtac_product_region *r,
                                  vtac_product_finish *finish)
{
    VTA_TRY(vtac_begin(l, r->begin == 0 ? "" : ".rest"));
    product_kernel t = {.p = p, .r = r, .finish = finish, .blocks = (p->m + r->block - 1) / r->block};
    const int64_t batches = vtac_type_elements(&p->lead);
    t.sums = vtac_local(l, "sums", p->type, r->block * r->vectors * r->lanes);
    if (vtac_product_is_deep(p, p->depth) && !l->program->groups) {
        multiply_deep(l, &t, batches);
    } else {
        multiply_flat(l, &t, batches);
    }
    l->step->flops = 2 * (uint64_t)(batches * p->m * p->k * r->tiles * r->vectors * r->lanes);
    return l->diag->code;
}

static void add_region(const vtac_lower *l, vtac_product *p, vtac_product_region *r, int64_t columns)
{
    const int64_t registers = l->program->target->vector_count > 16 ? 24 : 12;
    const int64_t wide = r->lanes * r->vectors;
    r->block = registers / r->vectors;
    r->block = r->block > 12 ? 12 : r->block;
    r->block = p->tile_rows != 0 && r->vectors == p->tile_vectors ? p->tile_rows : r->block;
    const int64_t blocks = p->m > r->block ? (p->m + r->block - 1) / r->block : 1;
    r->block = (p->m + blocks - 1) / blocks; /* of like sizes */
    r->tiles = columns < wide ? 1 : columns / wide;
    r->part = columns < wide ? columns % r->lanes : 0;
    p->regions[p->region_count++] = *r;
    r->begin += r->tiles * wide;
}

/* Tiles of full vectors, then of what is left: narrower ones, or, where the right operand is packed, one with
 * room behind the last column. */
void vtac_product_plan(const vtac_lower *l, vtac_product *p)
{
    const int64_t lanes = (int64_t)(l->program->target->vector_bytes / vtac_dtype_bytes(p->type));
    vtac_product_region r = {.lanes = lanes > 1 ? lanes : 1, .vectors = p->m == 1 ? 8 : 2};
    p->tiled = is_tiled(l, p, &p->known);
    while (p->tiled && r.lanes > 4 && p->n <= r.lanes / 2) {
        r.lanes /= 2;
    }
    const int64_t count = (p->n + r.lanes - 1) / r.lanes;
    /* a left operand that no cache holds is read once */
    const bool once = count == 5 && p->m * p->k * (int64_t)vtac_dtype_bytes(p->type) > FAR_LEFT_BYTES;
    if (p->tiled && (count <= 3 || once)) {
        r.vectors = count;
    }
    r.vectors = p->tile_vectors != 0 ? p->tile_vectors : r.vectors;
    p->region_count = 0;
    for (int64_t left = p->n; left > 0; left = p->n - r.begin) {
        const int64_t rest = (left + r.lanes - 1) / r.lanes;
        if (p->tiled && r.vectors == 2 && rest % 2 != 0 && rest > 3) {
            add_region(l, p, &r,
                       (rest - 3) * r.lanes); /* three at the end: one alone would load for each sum */
            continue;
        }
        if (p->tiled && r.vectors == 2 && rest == 3) {
            r.vectors = rest;
        }
        if (p->tiled && r.vectors * r.lanes > left) {
            r.vectors = (left + r.lanes - 1) / r.lanes;
        }
        while (!p->tiled && r.lanes > 1 && r.lanes > left) {
            r.lanes /= 2;
            r.vectors = 1;
        }
        while (!p->tiled && r.vectors > 1 && r.vectors * r.lanes > left) {
            r.vectors /= 2;
        }
        add_region(l, p, &r, left);
    }
    p->room = r.begin;
    p->once = once;
}

/* Narrow floats of the left operand that meet several tiles of columns are widened once. */
static vta_status widen_left(vtac_lower *l, vtac_product *p)
{
    const vtac_type *type = vtac_type_in(l, p->a);
    const int64_t elements = vtac_type_elements(type);
    if (type->dtype == p->type || vtac_dtype_kind(type->dtype) != 'f' || l->program->level == 0 ||
        (p->region_count == 1 && p->regions[0].tiles < 2)) {
        return VTA_OK;
    }
    p->wide_left = vtac_temp(l, p->type, elements);
    VTA_TRY(vtac_begin(l, ".left"));
    vtac_buffer *to = vtac_use(l, p->wide_left, "left", p->type, elements);
    const int64_t max = (int64_t)(l->program->target->vector_bytes / vtac_dtype_bytes(p->type));
    const int64_t lanes = elements < max ? elements : max;
    const int64_t count = (elements + lanes - 1) / lanes;
    const vtac_expr *first = vtac_i_mulc(l->k, vtac_for(l->k, vtac_parallel_if(elements), count, "i"), lanes);
    if (elements % lanes != 0) {
        first = vtac_e2(l->k, VTAC_E_MIN, first, vtac_e_index(l->k, elements - lanes));
    }
    first = vtac_let(l->k, "first", first);
    const vtac_expr *lane = vtac_for(l->k, VTAC_LOOP_VECTOR, lanes, "lane");
    const vtac_expr *at = vtac_i_add(l->k, first, lane);
    vtac_store(l->k, to, at, vtac_e_cast(l->k, p->type, vtac_e_load(l->k, vtac_in(l, p->a), at)));
    vtac_close(l, 2);
    return l->diag->code;
}

static vta_status run_product(vtac_lower *l, vtac_product *p, vtac_product_finish *finish)
{
    if (vtac_product_is_bytes(l, p)) {
        return vtac_multiply_bytes(l, p, finish);
    }
    if (vtac_product_is_dots(l, p)) {
        return vtac_multiply_dots(l, p, finish);
    }
    p->depth = VTAC_PRODUCT_DEPTH;
    vtac_product_plan(l, p);
    vtac_product_choose(l, p);
    if (p->tiled && vtac_dtype_kind(p->type) == 'f' && l->program->schedules != NULL &&
        vtac_product_ask(l, p)) {
        vtac_product_plan(l, p);
    }
    VTA_TRY(pack_right(l, p));
    VTA_TRY(widen_left(l, p));
    for (uint32_t i = 0; i < p->region_count; i++) {
        VTA_TRY(multiply_region(l, p, &p->regions[i], finish));
    }
    return VTA_OK;
}

/* Matrices of few rows that all meet the same right operand are one of many. */
static void fold_batches(vtac_product *p)
{
    const int64_t matrices = vtac_type_elements(&p->lead);
    if (p->a_transposed || p->row || p->m >= VTAC_MIN_TILED || matrices < 2 ||
        vtac_product_matrices(&p->b_type) != 1) {
        return;
    }
    p->folded = p->lead;
    p->folded_rows = p->m;
    p->m *= matrices;
    p->lead.rank = 0;
    p->a_type = (vtac_type){p->a_type.dtype, 2, {p->m, p->k}};
    p->b_type.dim[0] = p->b_type.dim[p->b_type.rank - 2];
    p->b_type.dim[1] = p->b_type.dim[p->b_type.rank - 1];
    p->b_type.rank = 2;
}

/* Sizes by NumPy's rule: vectors gain an axis. */
static void shape_product(vtac_lower *l, vtac_product *p)
{
    p->a_type = *vtac_type_in(l, p->a);
    p->b_type = *vtac_type_in(l, p->b);
    p->row = p->a_type.rank == 1;
    p->column = p->b_type.rank == 1;
    if (p->row) {
        p->a_type = (vtac_type){p->a_type.dtype, 2, {1, p->a_type.dim[0]}};
    }
    if (p->column) {
        p->b_type = (vtac_type){p->b_type.dtype, 2, {p->b_type.dim[0], 1}};
    }
    p->m = p->a_type.dim[p->a_type.rank - (p->a_transposed ? 1 : 2)];
    p->k = p->a_type.dim[p->a_type.rank - (p->a_transposed ? 2 : 1)];
    p->n = p->b_type.dim[p->b_type.rank - (p->b_transposed ? 2 : 1)];
    p->lead = *vtac_type_out(l, 0);
    p->lead.rank -= (p->row ? 0u : 1u) + (p->column ? 0u : 1u);
    const vtac_dtype dtype = p->a_type.dtype;
    const bool narrow = vtac_dtype_kind(dtype) != 'f' && vtac_dtype_bytes(dtype) < 4;
    p->type = narrow ? VTAC_I32 : vtac_compute_type(dtype);
    fold_batches(p);
}

/* Turns a sum of products into a result of the output's scale. A QGemm and a QLinearMatMul have the same
 * operands but for the bias, which stands before the output's scale. */
static const vtac_expr *requantize_sum(vtac_lower *l, const vtac_product *p, const vtac_expr *sum,
                                       const vtac_expr *const *at)
{
    const bool gemm = l->node->op == VTAC_OP_QGEMM;
    const uint32_t y = gemm ? VTAC_QGEMM_Y_SCALE : VTAC_QLINEAR_PAIR_Y_SCALE;
    const uint32_t y_zero = gemm ? VTAC_QGEMM_Y_ZERO : VTAC_QLINEAR_PAIR_Y_ZERO;
    const uint32_t last = vtac_type_out(l, 0)->rank - 1;
    const double alpha = gemm ? vtac_attr_float(l->node, "alpha", 1.0) : 1.0;
    if (gemm && vtac_has_in(l, VTAC_QGEMM_C)) {
        sum = vtac_e2(l->k, VTAC_E_ADD, sum, vtac_arg(l, l->node, VTAC_QGEMM_C, at));
    }
    if (!vtac_has_in(l, y)) { /* floats */
        const vtac_expr *scale =
            vtac_e2(l->k, VTAC_E_MUL, vtac_axis_arg(l, l->node, VTAC_QLINEAR_PAIR_A_SCALE, 0, at),
                    vtac_axis_arg(l, l->node, VTAC_QLINEAR_PAIR_B_SCALE, last, at));
        scale = vtac_e2(l->k, VTAC_E_MUL, vtac_e_float(l->k, VTAC_F32, alpha), scale);
        return vtac_e2(l->k, VTAC_E_MUL, vtac_e_cast(l->k, VTAC_F32, sum), scale);
    }
    const vtac_rounding rounding = vtac_rounding_of(l->node);
    if (rounding != VTAC_ROUND_EVEN) {
        const vtac_expr *channel = p->column ? vtac_e_index(l->k, 0) : at[last];
        const vtac_expr *factor = vtac_let(
            l->k, "factor",
            vtac_tfl_output_scale(l, VTAC_QLINEAR_PAIR_A_SCALE, VTAC_QLINEAR_PAIR_B_SCALE, y, true, channel));
        return vtac_tfl_stored(l, vtac_tfl_scaled(l, sum, factor, rounding),
                               vtac_has_in(l, y_zero) ? vtac_axis_arg(l, l->node, y_zero, 0, at) : NULL,
                               vtac_type_out(l, 0)->dtype);
    }
    const vtac_expr *scale = vtac_output_scale(l, VTAC_QLINEAR_PAIR_A_SCALE, VTAC_QLINEAR_PAIR_B_SCALE, y,
                                               alpha, p->column ? vtac_e_index(l->k, 0) : at[last]);
    const vtac_expr *zero = vtac_has_in(l, y_zero) ? vtac_axis_arg(l, l->node, y_zero, 0, at) : NULL;
    const bool zero_known = zero == NULL || vtac_in_constant(l->graph, l->node, y_zero) != NULL;
    if (p->narrow && zero_known) {
        return vtac_rescale_to(l, l->node, sum, scale, y_zero);
    }
    return vtac_rescale(l, sum, scale, false, zero, vtac_type_out(l, 0)->dtype);
}

/* A MatMul of few rows reads what a Transpose of the last two axes reads, which then has nothing to do. */
static const vtac_node *transposed_right(const vtac_program *program, const vtac_node *node)
{
    const vtac_value *b =
        node->op == VTAC_OP_MATMUL ? &program->graph->values[node->inputs[VTAC_MATMUL_B]] : NULL;
    const vtac_node *transpose =
        b == NULL || b->node == 0 || b->constant != NULL ? NULL : &program->graph->nodes[b->node];
    const uint32_t rank = b == NULL ? 0 : b->type.rank;
    if (transpose == NULL || transpose->op != VTAC_OP_TRANSPOSE || rank < 2) {
        return NULL;
    }
    const vtac_attr *perm = vtac_find_attr(transpose, "perm");
    for (uint32_t i = 0; i < rank; i++) {
        const int64_t axis = i + 2 < rank ? i : i + 2 == rank ? i + 1 : i - 1;
        if (perm != NULL ? perm->ints[i] != axis : rank != 2) {
            return NULL;
        }
    }
    return transpose;
}

/* The node as it then reads: with room for its inputs. */
static bool as_transposed(vtac_program *program, const vtac_node *node, vtac_node *as, vtac_value_id *inputs)
{
    const vtac_node *transpose =
        program->level > 0 && program->partition == NULL ? transposed_right(program, node) : NULL;
    if (transpose == NULL || vtac_only_user_of(program->graph, transpose->outputs[0]) == 0 ||
        vtac_in_constant(program->graph, transpose, 0) != NULL ||
        program->layouts[transpose->inputs[0]].natural ||
        (program->segments != NULL &&
         program->segments[transpose->outputs[0]] != program->segments[node->outputs[0]])) {
        return false;
    }
    inputs[VTAC_MATMUL_A] = node->inputs[VTAC_MATMUL_A];
    inputs[VTAC_MATMUL_B] = transpose->inputs[0];
    *as = *node;
    as->inputs = inputs;
    vtac_lower l = {.program = program, .graph = program->graph, .node = as};
    vtac_product p = {.b = VTAC_MATMUL_B, .b_transposed = true};
    shape_product(&l, &p);
    return vtac_product_is_dots(&l, &p);
}

bool vtac_product_skips(vtac_program *program, const vtac_node *node)
{
    vtac_node as;
    vtac_value_id inputs[VTAC_MATMUL_INPUTS];
    const vtac_node_id user =
        node->op == VTAC_OP_TRANSPOSE ? vtac_only_user_of(program->graph, node->outputs[0]) : 0;
    return user != 0 && program->graph->nodes[user].op == VTAC_OP_MATMUL &&
           program->graph->nodes[user].inputs[VTAC_MATMUL_B] == node->outputs[0] &&
           as_transposed(program, &program->graph->nodes[user], &as, inputs);
}

vta_status vtac_lower_matmul(vtac_lower *l)
{
    vtac_product p = {.b = VTAC_MATMUL_B};
    if (l->node->op == VTAC_OP_QLINEAR_MATMUL) {
        p = (vtac_product){
            .b = VTAC_QLINEAR_PAIR_B, .a_zero = VTAC_QLINEAR_PAIR_A_ZERO, .b_zero = VTAC_QLINEAR_PAIR_B_ZERO};
    } else if (l->node->op == VTAC_OP_MATMUL_INTEGER) {
        p.a_zero = vtac_has_in(l, VTAC_MATMUL_INTEGER_A_ZERO) ? VTAC_MATMUL_INTEGER_A_ZERO : 0;
        p.b_zero = vtac_has_in(l, VTAC_MATMUL_INTEGER_B_ZERO) ? VTAC_MATMUL_INTEGER_B_ZERO : 0;
    }
    vtac_node as;
    vtac_value_id inputs[VTAC_MATMUL_INPUTS];
    const vtac_node *node = l->node;
    p.b_transposed = as_transposed(l->program, node, &as, inputs);
    l->node = p.b_transposed ? &as : node;
    shape_product(l, &p);
    if (p.a_zero != 0 && vtac_type_elements(vtac_type_in(l, p.a_zero)) > 1) {
        return vtac_unsupported(l, "a zero point for each row is not lowered");
    }
    const vta_status status = run_product(l, &p, node->op == VTAC_OP_QLINEAR_MATMUL ? requantize_sum : NULL);
    l->node = node;
    return status;
}

static const vtac_expr *gemm_finish(vtac_lower *l, const vtac_product *p, const vtac_expr *sum,
                                    const vtac_expr *const *at)
{
    const double alpha = vtac_attr_float(l->node, "alpha", 1.0);
    const double beta = vtac_attr_float(l->node, "beta", 1.0);
    if (alpha != 1.0) {
        sum = vtac_e2(l->k, VTAC_E_MUL, vtac_e_float(l->k, p->type, alpha), sum);
    }
    if (!vtac_has_in(l, VTAC_GEMM_C)) {
        return sum;
    }
    const vtac_expr *c = vtac_arg(l, l->node, VTAC_GEMM_C, at);
    c = beta != 1.0 ? vtac_e2(l->k, VTAC_E_MUL, vtac_e_float(l->k, p->type, beta), c) : c;
    return vtac_e2(l->k, VTAC_E_ADD, sum, c);
}

vta_status vtac_lower_gemm(vtac_lower *l)
{
    const bool quantized = l->node->op == VTAC_OP_QGEMM;
    vtac_product p = {.b = quantized ? VTAC_QGEMM_B : VTAC_GEMM_B};
    if (quantized) {
        p.a_zero = vtac_has_in(l, VTAC_QGEMM_A_ZERO) ? VTAC_QGEMM_A_ZERO : 0;
        p.b_zero = vtac_has_in(l, VTAC_QGEMM_B_ZERO) ? VTAC_QGEMM_B_ZERO : 0;
    }
    p.a_transposed = vtac_attr_int(l->node, "transA", 0) != 0;
    p.b_transposed = vtac_attr_int(l->node, "transB", 0) != 0;
    shape_product(l, &p);
    return run_product(l, &p, quantized ? requantize_sum : gemm_finish);
}
