/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products. The right operand is packed to rows of the type of the sums (at compile time where it is
 * known); a tile of some rows of the left times some vectors of columns stays in registers. Columns that fill
 * no tile get narrower ones, in steps of their own.
 */
#include <string.h>

#include "lower.h"

typedef struct region {
    int64_t begin, lanes, vectors, tiles; /* columns from `begin` on */
    int64_t block;                        /* rows at once */
} region;

enum { MOST_REGIONS = 16 };

typedef struct product {
    uint32_t a, b, a_zero, b_zero; /* inputs; zero points 0: none */
    bool a_turned, b_turned;       /* given transposed (matrices only) */
    vtac_dtype type, stored;       /* of the sums, of the packed operand */
    int64_t m, n, k;
    vtac_type a_type, b_type, lead; /* with at least two axes; the batch axes of the result */
    bool row, column;               /* a, b given as vectors */
    vtac_storage_id packed;
    bool direct; /* b as it is */
    bool tiled;  /* packed in the order of use: [matrix][tile of columns][k][column] */
    region regions[MOST_REGIONS];
    uint32_t region_count;
} product;

static const vtac_expr *less_zero(vtac_lower *l, const product *p, uint32_t input, const vtac_expr *value,
                                  const vtac_expr *place)
{
    value = vtac_e_cast(l->k, p->type, value);
    if (input == 0) {
        return value;
    }
    const bool one = vtac_type_elements(vtac_type_in(l, input)) == 1;
    const vtac_expr *zero = vtac_e_load(l->k, vtac_in(l, input), one ? vtac_e_index(l->k, 0) : place);
    return vtac_e2(l->k, VTAC_E_SUB, value, vtac_e_cast(l->k, p->type, zero));
}

static int64_t matrices(const vtac_type *type)
{
    int64_t count = 1;
    for (uint32_t i = 0; i + 2 < type->rank; i++) {
        count *= type->dim[i];
    }
    return count;
}

static void put(vtac_dtype dtype, uint8_t *to, double value, int64_t whole)
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

/* Where an element of a tiled matrix lies. */
static int64_t tiled_place(const product *p, int64_t row, int64_t column)
{
    const region *r = p->regions;
    while (column >= r->begin + r->tiles * r->lanes * r->vectors) {
        r++;
    }
    const int64_t wide = r->lanes * r->vectors;
    const int64_t within = column - r->begin;
    return (r->begin + within / wide * wide) * p->k + row * wide + within % wide;
}

/* `zero` NULL: none. */
static vtac_storage_id pack_constant(vtac_lower *l, const product *p, const vtac_tensor *b,
                                     const vtac_tensor *zero)
{
    const size_t bytes = vtac_dtype_bytes(p->stored);
    const int64_t count = matrices(&p->b_type);
    const bool is_float = vtac_dtype_kind(p->type) == 'f';
    const bool one = zero != NULL && vtac_type_elements(&zero->type) == 1;
    uint8_t *packed = vta_arena_array(&l->program->arena, (size_t)(count * p->k * p->n), bytes);
    for (int64_t i = 0; packed != NULL && i < count * p->k * p->n; i++) {
        const int64_t column = i % p->n;
        const int64_t row = i / p->n % p->k;
        const int64_t from = p->b_turned ? column * p->k + row : i;
        const int64_t off = zero == NULL ? 0 : vtac_tensor_int(zero, one ? 0 : column);
        const int64_t to = i / (p->k * p->n) * (p->k * p->n) + tiled_place(p, row, column);
        put(p->stored, packed + (size_t)to * bytes, is_float ? vtac_tensor_float(b, from) : 0.0,
            is_float ? 0 : vtac_tensor_int(b, from) - off);
    }
    return packed == NULL ? 0 : vtac_constant(l, packed, (uint64_t)(count * p->k * p->n) * bytes);
}

static vta_status pack_right(vtac_lower *l, product *p)
{
    const int64_t elements = matrices(&p->b_type) * p->k * p->n;
    const vtac_tensor *b = vtac_in_constant(l->graph, l->node, p->b);
    const vtac_tensor *zero = p->b_zero == 0 ? NULL : vtac_in_constant(l->graph, l->node, p->b_zero);
    const bool known = vtac_dtype_kind(p->type) == 'f' || p->type == VTAC_I32 || p->type == VTAC_I64;
    p->stored = p->type;
    if (b != NULL && (p->b_zero == 0 || zero != NULL) && known) {
        p->stored = vtac_dtype_bytes(p->b_type.dtype) == 1 ? VTAC_I16 : p->type; /* bytes less a zero point */
        p->tiled = true;
        p->packed = pack_constant(l, p, b, zero);
        return p->packed != 0 ? VTA_OK : vta_fail(l->diag, VTA_NOMEM, "out of memory");
    }
    p->direct = !p->b_turned && p->b_zero == 0 && p->b_type.dtype == p->type;
    if (p->direct) {
        return VTA_OK;
    }
    VTA_TRY(vtac_begin(l, ".pack"));
    p->packed = vtac_temp(l, p->type, elements);
    vtac_buffer *to = vtac_use(l, p->packed, "packed", p->type, elements);
    const vtac_expr *row = vtac_for(l->k, vtac_parallel_if(elements), matrices(&p->b_type) * p->k, "row");
    const vtac_expr *column = vtac_for(l->k, VTAC_LOOP_SERIAL, p->n, "column");
    const vtac_expr *at = vtac_i_add(l->k, vtac_i_mulc(l->k, row, p->n), column);
    const vtac_expr *from = p->b_turned ? vtac_i_add(l->k, vtac_i_mulc(l->k, column, p->k), row) : at;
    vtac_store(l->k, to, at, less_zero(l, p, p->b_zero, vtac_e_load(l->k, vtac_in(l, p->b), from), column));
    vtac_close(l, 2);
    return VTA_OK;
}

typedef const vtac_expr *finish_fn(vtac_lower *l, const product *p, const vtac_expr *sum,
                                   const vtac_expr *const *at);

/* Which matrix of an operand belongs to the batch index. */
static const vtac_expr *matrix_of(vtac_lower *l, const vtac_type *type, const vtac_type *lead,
                                  const vtac_expr *const *at)
{
    vtac_type own = *type;
    own.rank -= 2;
    return vtac_flat(l, &own, at + (lead->rank - own.rank));
}

static void sum_rows(vtac_lower *l, const product *p, const region *r, vtac_buffer *sums,
                     const vtac_expr *const *rows, const vtac_expr *b_base)
{
    vtac_kernel *k = l->k;
    vtac_buffer *b = p->direct
                         ? vtac_in(l, p->b)
                         : vtac_use(l, p->packed, "packed", p->stored, matrices(&p->b_type) * p->k * p->n);
    vtac_buffer *a = vtac_in(l, p->a);
    const vtac_expr *i = vtac_for(k, VTAC_LOOP_SERIAL, p->k, "k");
    const int64_t step = p->tiled ? r->lanes * r->vectors : p->n;
    const vtac_expr *line = vtac_let(k, "line", vtac_i_add(k, b_base, vtac_i_mulc(k, i, step)));
    const vtac_expr *left[32];
    for (int64_t o = 0; o < r->block; o++) {
        const vtac_expr *from = p->a_turned ? vtac_i_add(k, vtac_i_mulc(k, i, p->m), rows[o])
                                            : vtac_i_add(k, vtac_i_mulc(k, rows[o], p->k), i);
        left[o] = vtac_let(k, "a", less_zero(l, p, p->a_zero, vtac_e_load(k, a, from), vtac_e_index(k, 0)));
    }
    const vtac_expr *v = vtac_for(k, VTAC_LOOP_UNROLL, r->vectors, "v");
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, r->lanes, "lane");
    const vtac_expr *within = vtac_i_add(k, vtac_i_mulc(k, v, r->lanes), lane);
    const vtac_expr *value = vtac_e_load(k, b, vtac_i_add(k, line, within));
    value = vtac_let(k, "b", vtac_e_cast(k, p->type, value));
    for (int64_t o = 0; o < r->block; o++) {
        const vtac_expr *sum = vtac_i_addc(k, within, o * r->vectors * r->lanes);
        vtac_store(k, sums, sum, vtac_e3(k, VTAC_E_FMA, left[o], value, vtac_e_load(k, sums, sum)));
    }
    vtac_close(l, 3);
}

/* A tile's sums and its place in the output. */
typedef struct tile_place {
    vtac_buffer *sums;
    const vtac_expr **at, *first, *column;
} tile_place;

static void store_sums(vtac_lower *l, const product *p, const region *r, const tile_place *t,
                       finish_fn *finish)
{
    vtac_kernel *k = l->k;
    const uint32_t rank = p->lead.rank;
    const uint32_t row_axis = rank;
    const uint32_t column_axis = p->row ? rank : rank + 1;
    for (int64_t o = 0; o < r->block; o++) {
        const vtac_expr *row = vtac_i_addc(k, t->first, o);
        const bool guarded = p->m % r->block != 0;
        if (guarded) {
            vtac_if(k, vtac_e2(k, VTAC_E_LT, row, vtac_e_index(k, p->m)));
        }
        const vtac_expr *v = vtac_for(k, VTAC_LOOP_UNROLL, r->vectors, "v");
        const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, r->lanes, "lane");
        const vtac_expr *within = vtac_i_add(k, vtac_i_mulc(k, v, r->lanes), lane);
        if (!p->row) {
            t->at[row_axis] = row;
        }
        if (!p->column) {
            t->at[column_axis] = vtac_i_add(k, t->column, within);
        }
        const vtac_expr *sum = vtac_e_load(k, t->sums, vtac_i_addc(k, within, o * r->vectors * r->lanes));
        vtac_out_at(l, 0, t->at, finish == NULL ? sum : finish(l, p, sum, t->at));
        vtac_close(l, guarded ? 3 : 2);
    }
}

static vta_status multiply(vtac_lower *l, const product *p, const region *r, finish_fn *finish)
{
    VTA_TRY(vtac_begin(l, r->begin == 0 ? "" : ".rest"));
    vtac_kernel *k = l->k;
    const vtac_expr *at[VTAC_MAX_RANK + 2];
    const int64_t blocks = (p->m + r->block - 1) / r->block;
    const int64_t batches = vtac_type_elements(&p->lead);
    vtac_buffer *sums = vtac_local(l, "sums", p->type, r->block * r->vectors * r->lanes);
    const vtac_expr *unit =
        vtac_for(k, vtac_parallel_if(batches * p->m * p->k * r->tiles * r->vectors * r->lanes),
                 batches * blocks * r->tiles, "unit");
    const vtac_expr *tile = vtac_let(k, "tile", vtac_i_remc(k, unit, r->tiles));
    const vtac_expr *outer = vtac_let(k, "outer", vtac_i_divc(k, unit, r->tiles));
    const vtac_expr *block = vtac_let(k, "block", vtac_i_remc(k, outer, blocks));
    const vtac_expr *rest = vtac_let(k, "batch", vtac_i_divc(k, outer, blocks));
    for (uint32_t axis = p->lead.rank; axis-- > 0;) {
        at[axis] = vtac_let(k, "at", vtac_i_remc(k, rest, p->lead.dim[axis]));
        rest = vtac_let(k, "batch", vtac_i_divc(k, rest, p->lead.dim[axis]));
    }
    const vtac_expr *column =
        vtac_let(k, "column", vtac_i_addc(k, vtac_i_mulc(k, tile, r->vectors * r->lanes), r->begin));
    const vtac_expr *first = vtac_let(k, "first", vtac_i_mulc(k, block, r->block));
    const vtac_expr *matrix =
        vtac_let(k, "left", vtac_i_mulc(k, matrix_of(l, &p->a_type, &p->lead, at), p->a_turned ? 0 : p->m));
    const vtac_expr *right = vtac_i_mulc(k, matrix_of(l, &p->b_type, &p->lead, at), p->k * p->n);
    right = vtac_let(k, "right", vtac_i_add(k, right, vtac_i_mulc(k, column, p->tiled ? p->k : 1)));
    const vtac_expr *rows[32];
    for (int64_t o = 0; o < r->block; o++) {
        const vtac_expr *row = vtac_i_addc(k, first, o);
        row = p->m % r->block == 0 ? row : vtac_e2(k, VTAC_E_MIN, row, vtac_e_index(k, p->m - 1));
        rows[o] = vtac_let(k, "row", vtac_i_add(k, matrix, row));
    }
    const vtac_expr *i = vtac_for(k, VTAC_LOOP_UNROLL, r->block * r->vectors, "i");
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, r->lanes, "lane");
    vtac_store(k, sums, vtac_i_add(k, vtac_i_mulc(k, i, r->lanes), lane), vtac_e_int(k, p->type, 0));
    vtac_close(l, 2);
    sum_rows(l, p, r, sums, rows, right);
    store_sums(l, p, r, &(tile_place){sums, at, first, column}, finish);
    vtac_end(k);
    l->step->flops = 2 * (uint64_t)(batches * p->m * p->k * r->tiles * r->vectors * r->lanes);
    return l->diag->code;
}

/* Tiles of full vectors, then of what is left. */
static void plan_regions(const vtac_lower *l, product *p)
{
    const vtac_target *t = l->program->target;
    const int64_t registers = t->vector_count > 16 ? 24 : 12;
    const int64_t lanes = (int64_t)(t->vector_bytes / vtac_dtype_bytes(p->type));
    region r = {.lanes = lanes > 1 ? lanes : 1, .vectors = p->m == 1 ? 8 : 2};
    for (int64_t left = p->n; left > 0; left = p->n - r.begin) {
        while (r.lanes > 1 && r.lanes > left) {
            r.lanes /= 2;
            r.vectors = 1;
        }
        while (r.vectors > 1 && r.vectors * r.lanes > left) {
            r.vectors /= 2;
        }
        r.block = registers / r.vectors;
        r.block = r.block > 8 ? 8 : r.block;
        r.block = r.block > p->m ? p->m : r.block;
        r.tiles = left / (r.lanes * r.vectors);
        p->regions[p->region_count++] = r;
        r.begin += r.tiles * r.lanes * r.vectors;
    }
}

static vta_status run_product(vtac_lower *l, product *p, finish_fn *finish)
{
    plan_regions(l, p);
    VTA_TRY(pack_right(l, p));
    for (uint32_t i = 0; i < p->region_count; i++) {
        VTA_TRY(multiply(l, p, &p->regions[i], finish));
    }
    return VTA_OK;
}

/* Sizes by NumPy's rule: vectors gain an axis. */
static void shape_product(vtac_lower *l, product *p)
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
    p->m = p->a_type.dim[p->a_type.rank - (p->a_turned ? 1 : 2)];
    p->k = p->a_type.dim[p->a_type.rank - (p->a_turned ? 2 : 1)];
    p->n = p->b_type.dim[p->b_type.rank - (p->b_turned ? 2 : 1)];
    p->lead = *vtac_type_out(l, 0);
    p->lead.rank -= (p->row ? 0u : 1u) + (p->column ? 0u : 1u);
    const vtac_dtype dtype = p->a_type.dtype;
    const bool narrow = vtac_dtype_kind(dtype) != 'f' && vtac_dtype_bytes(dtype) < 4;
    p->type = narrow ? VTAC_I32 : vtac_compute_type(dtype);
}

/* a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero; QGemm has the bias at 6 */
static const vtac_expr *requantize(vtac_lower *l, const product *p, const vtac_expr *sum,
                                   const vtac_expr *const *at)
{
    const bool gemm = l->node->op == VTAC_OP_QGEMM;
    const uint32_t y = gemm ? 7 : 6;
    const uint32_t last = vtac_type_out(l, 0)->rank - 1;
    const double alpha = gemm ? vtac_attr_float(l->node, "alpha", 1.0) : 1.0;
    if (gemm && vtac_has_in(l, 6)) {
        sum = vtac_e2(l->k, VTAC_E_ADD, sum, vtac_arg(l, l->node, 6, at));
    }
    if (!vtac_has_in(l, y)) { /* floats */
        const vtac_expr *scale = vtac_e2(l->k, VTAC_E_MUL, vtac_axis_arg(l, l->node, 1, 0, at),
                                         vtac_axis_arg(l, l->node, 4, last, at));
        scale = vtac_e2(l->k, VTAC_E_MUL, vtac_e_float(l->k, VTAC_F32, alpha), scale);
        return vtac_e2(l->k, VTAC_E_MUL, vtac_e_cast(l->k, VTAC_F32, sum), scale);
    }
    const vtac_rounding rounding = vtac_rounding_of(l->node);
    if (rounding != VTAC_ROUND_EVEN) {
        const vtac_expr *channel = p->column ? vtac_e_index(l->k, 0) : at[last];
        const vtac_expr *factor = vtac_let(l->k, "factor", vtac_tfl_output_scale(l, 1, 4, y, true, channel));
        return vtac_tfl_stored(l, vtac_tfl_scaled(l, sum, factor, rounding),
                               vtac_has_in(l, y + 1) ? vtac_axis_arg(l, l->node, y + 1, 0, at) : NULL,
                               vtac_type_out(l, 0)->dtype);
    }
    const vtac_expr *scale =
        vtac_output_scale(l, 1, 4, y, alpha, p->column ? vtac_e_index(l->k, 0) : at[last]);
    const vtac_expr *zero = vtac_has_in(l, y + 1) ? vtac_axis_arg(l, l->node, y + 1, 0, at) : NULL;
    return vtac_rescale(l, sum, scale, false, zero, vtac_type_out(l, 0)->dtype);
}

vta_status vtac_lower_matmul(vtac_lower *l)
{
    product p = {.b = 1};
    if (l->node->op == VTAC_OP_QLINEAR_MATMUL) {
        p = (product){.b = 3, .a_zero = 2, .b_zero = 5};
    } else if (l->node->op == VTAC_OP_MATMUL_INTEGER) {
        p.a_zero = vtac_has_in(l, 2) ? 2 : 0;
        p.b_zero = vtac_has_in(l, 3) ? 3 : 0;
    }
    shape_product(l, &p);
    if (p.a_zero != 0 && vtac_type_elements(vtac_type_in(l, p.a_zero)) > 1) {
        return vtac_unsupported(l, "a zero point for each row is not lowered");
    }
    return run_product(l, &p, l->node->op == VTAC_OP_QLINEAR_MATMUL ? requantize : NULL);
}

static const vtac_expr *gemm_finish(vtac_lower *l, const product *p, const vtac_expr *sum,
                                    const vtac_expr *const *at)
{
    const double alpha = vtac_attr_float(l->node, "alpha", 1.0);
    const double beta = vtac_attr_float(l->node, "beta", 1.0);
    if (alpha != 1.0) {
        sum = vtac_e2(l->k, VTAC_E_MUL, vtac_e_float(l->k, p->type, alpha), sum);
    }
    if (!vtac_has_in(l, 2)) {
        return sum;
    }
    const vtac_expr *c = vtac_arg(l, l->node, 2, at);
    c = beta != 1.0 ? vtac_e2(l->k, VTAC_E_MUL, vtac_e_float(l->k, p->type, beta), c) : c;
    return vtac_e2(l->k, VTAC_E_ADD, sum, c);
}

vta_status vtac_lower_gemm(vtac_lower *l)
{
    const bool quantized = l->node->op == VTAC_OP_QGEMM;
    product p = {.b = quantized ? 3 : 1};
    if (quantized) {
        p.a_zero = vtac_has_in(l, 2) ? 2 : 0;
        p.b_zero = vtac_has_in(l, 5) ? 5 : 0;
    }
    p.a_turned = vtac_attr_int(l->node, "transA", 0) != 0;
    p.b_turned = vtac_attr_int(l->node, "transB", 0) != 0;
    shape_product(l, &p);
    return run_product(l, &p, quantized ? requantize : gemm_finish);
}
