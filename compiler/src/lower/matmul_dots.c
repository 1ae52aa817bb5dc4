/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of few rows by a right operand that is given transposed and comes as the model runs: one token's
 * query by all keys, a vector by a matrix of rows; and of any rows by one column. Packing the operand would
 * take longer than the product; rows of both operands lie side by side, so each sum has a part in every lane,
 * and the parts are joined at the end.
 */
#include "matmul.h"

#define E2(op, a, b) vtac_e2(l->k, VTAC_E_##op, a, b)

enum { FEW_ROWS = 4, MAX_SUMS = 8, MAX_ROWS = MAX_SUMS, MAX_COLUMNS = MAX_SUMS };

typedef struct dots {
    const vtac_product *p;
    int64_t lanes, rows, columns; /* of a block */
    vtac_buffer *a, *b, *sums;
    const vtac_expr *at[VTAC_MAX_RANK + 2];
    const vtac_expr *row, *column; /* the block's first ones */
    const vtac_expr *left[MAX_ROWS], *right[MAX_COLUMNS];
} dots;

static int64_t lanes_of(const vtac_lower *l, const vtac_product *p)
{
    return (int64_t)(l->program->target->vector_bytes / vtac_dtype_bytes(p->type));
}

bool vtac_product_is_dots(const vtac_lower *l, const vtac_product *p)
{
    const bool known = vtac_in_constant(l->graph, l->node, p->b) != NULL;
    const int64_t lanes = lanes_of(l, p);
    const bool few = p->b_transposed && !known && p->m < VTAC_MIN_TILED;
    return l->program->level > 0 && (few || p->n == 1) && p->a_zero == 0 && p->b_zero == 0 &&
           (!p->a_transposed || p->m == 1 || few) && p->m > 0 && p->n > 0 && lanes >= 2 && p->k >= lanes;
}

static const vtac_expr *sum_at(vtac_lower *l, const dots *d, int64_t row, int64_t column,
                               const vtac_expr *lane)
{
    return vtac_i_addc(l->k, lane, (row * d->columns + column) * d->lanes);
}

/* `lanes` numbers of all rows and columns, from number `i` on. */
static void add_lanes(vtac_lower *l, const dots *d, const vtac_expr *i, int64_t lanes)
{
    vtac_kernel *k = l->k;
    const vtac_expr *a[MAX_ROWS];
    const vtac_expr *lane = lanes == 1 ? vtac_e_index(k, 0) : vtac_for(k, VTAC_LOOP_VECTOR, lanes, "lane");
    i = vtac_i_add(k, i, lane);
    for (int64_t r = 0; r < d->rows; r++) {
        a[r] =
            vtac_let(k, "a", vtac_e_cast(k, d->p->type, vtac_e_load(k, d->a, vtac_i_add(k, d->left[r], i))));
    }
    for (int64_t c = 0; c < d->columns; c++) {
        const vtac_expr *b = vtac_e_load(k, d->b, vtac_i_add(k, d->right[c], i));
        b = vtac_let(k, "b", vtac_e_cast(k, d->p->type, b));
        for (int64_t r = 0; r < d->rows; r++) {
            const vtac_expr *at = sum_at(l, d, r, c, lane);
            vtac_store(k, d->sums, at, vtac_e3(k, VTAC_E_FMA, a[r], b, vtac_e_load(k, d->sums, at)));
        }
    }
    vtac_close(l, lanes == 1 ? 0 : 1);
}

/* The upper half of the lanes to the lower one, until one is left. */
static void join_lanes(vtac_lower *l, const dots *d)
{
    vtac_kernel *k = l->k;
    for (int64_t half = d->lanes / 2; half > 0; half /= 2) {
        const vtac_expr *lane = half == 1 ? vtac_e_index(k, 0) : vtac_for(k, VTAC_LOOP_VECTOR, half, "lane");
        for (int64_t i = 0; i < d->rows * d->columns; i++) {
            const vtac_expr *at = vtac_i_addc(k, lane, i * d->lanes);
            const vtac_expr *upper = vtac_e_load(k, d->sums, vtac_i_addc(k, at, half));
            vtac_store(k, d->sums, at, E2(ADD, vtac_e_load(k, d->sums, at), upper));
        }
        vtac_close(l, half == 1 ? 0 : 1);
    }
}

static void store_sums(vtac_lower *l, dots *d, vtac_product_finish *finish)
{
    vtac_kernel *k = l->k;
    const vtac_product *p = d->p;
    for (int64_t i = 0; i < d->rows * d->columns; i++) {
        const vtac_expr *row = vtac_i_addc(k, d->row, i / d->columns);
        const vtac_expr *column = vtac_i_addc(k, d->column, i % d->columns);
        const bool guards[] = {p->m % d->rows != 0, p->n % d->columns != 0};
        if (guards[0]) {
            vtac_if(k, E2(LT, row, vtac_e_index(k, p->m)));
        }
        if (guards[1]) {
            vtac_if(k, E2(LT, column, vtac_e_index(k, p->n)));
        }
        vtac_product_place(l, p, d->at, row, column);
        const vtac_expr *sum = vtac_e_load(k, d->sums, vtac_e_index(k, i * d->lanes));
        vtac_out_at(l, 0, d->at, finish == NULL ? sum : finish(l, p, sum, d->at));
        vtac_close(l, (guards[0] ? 1u : 0u) + (guards[1] ? 1u : 0u));
    }
}

static void do_block(vtac_lower *l, dots *d, vtac_product_finish *finish)
{
    vtac_kernel *k = l->k;
    const vtac_product *p = d->p;
    const int64_t whole = p->k / d->lanes;
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, d->lanes, "lane");
    for (int64_t i = 0; i < d->rows * d->columns; i++) {
        vtac_store(k, d->sums, vtac_i_addc(k, lane, i * d->lanes), vtac_e_int(k, p->type, 0));
    }
    vtac_end(k);
    const vtac_expr *i = vtac_for(k, VTAC_LOOP_SERIAL, whole, "k");
    add_lanes(l, d, vtac_i_mulc(k, i, d->lanes), d->lanes);
    vtac_end(k);
    if (p->k % d->lanes != 0) {
        add_lanes(l, d, vtac_e_index(k, whole * d->lanes), p->k % d->lanes);
    }
    join_lanes(l, d);
    store_sums(l, d, finish);
}

/* Computes the beginnings of the operands' rows; rows behind the last one repeat the last one. */
static void place_rows(vtac_lower *l, dots *d, const vtac_expr *matrix, const vtac_expr *first, int64_t count,
                       int64_t all, const vtac_expr **out)
{
    vtac_kernel *k = l->k;
    for (int64_t i = 0; i < count; i++) {
        const vtac_expr *row = vtac_i_addc(k, first, i);
        row = all % count == 0 ? row : E2(MIN, row, vtac_e_index(k, all - 1));
        out[i] = vtac_let(k, "row", vtac_i_mulc(k, vtac_i_add(k, matrix, row), d->p->k));
    }
}

static void place_matrices(vtac_lower *l, dots *d, const vtac_expr *batch, const vtac_expr **matrix)
{
    vtac_kernel *k = l->k;
    const vtac_product *p = d->p;
    for (uint32_t axis = p->lead.rank; axis-- > 0;) {
        d->at[axis] = vtac_let(k, "at", vtac_i_remc(k, batch, p->lead.dim[axis]));
        batch = vtac_let(k, "batch", vtac_i_divc(k, batch, p->lead.dim[axis]));
    }
    matrix[0] = vtac_i_mulc(k, vtac_product_matrix(l, &p->a_type, &p->lead, d->at), p->m);
    matrix[0] = vtac_let(k, "left", matrix[0]);
    matrix[1] = vtac_i_mulc(k, vtac_product_matrix(l, &p->b_type, &p->lead, d->at), p->n);
    matrix[1] = vtac_let(k, "right", matrix[1]);
}

/* The few columns of a left operand that is given transposed become rows. */
static vta_status transpose_left(vtac_lower *l, const vtac_product *p, vtac_storage_id *out)
{
    VTA_TRY(vtac_begin(l, ".left"));
    vtac_kernel *k = l->k;
    const vtac_dtype type = p->a_type.dtype;
    *out = vtac_temp(l, type, p->m * p->k);
    vtac_buffer *to = vtac_use(l, *out, "left", type, p->m * p->k);
    const vtac_expr *row = vtac_for(k, VTAC_LOOP_SERIAL, p->m, "row");
    const vtac_expr *i = vtac_for(k, VTAC_LOOP_SERIAL, p->k, "k");
    vtac_store(k, to, vtac_i_add(k, vtac_i_mulc(k, row, p->k), i),
               vtac_e_load(k, vtac_in(l, p->a), vtac_i_add(k, vtac_i_mulc(k, i, p->m), row)));
    vtac_close(l, 2);
    return l->diag->code;
}

vta_status vtac_multiply_dots(vtac_lower *l, const vtac_product *p, vtac_product_finish *finish)
{
    vtac_storage_id left = 0;
    if (p->a_transposed && p->m > 1) {
        VTA_TRY(transpose_left(l, p, &left));
    }
    VTA_TRY(vtac_begin(l, ""));
    vtac_kernel *k = l->k;
    dots d = {.p = p, .lanes = lanes_of(l, p), .b = vtac_in(l, p->b)};
    d.a = left == 0 ? vtac_in(l, p->a) : vtac_use(l, left, "left", p->a_type.dtype, p->m * p->k);
    const int64_t max = p->n == 1 ? MAX_ROWS : FEW_ROWS;
    d.rows = p->m < max ? p->m : max;
    d.columns = MAX_SUMS / d.rows < p->n ? MAX_SUMS / d.rows : p->n;
    d.sums = vtac_local(l, "sums", p->type, d.rows * d.columns * d.lanes);
    const int64_t batches = vtac_type_elements(&p->lead);
    const int64_t groups = (p->n + d.columns - 1) / d.columns;
    const int64_t blocks = (p->m + d.rows - 1) / d.rows;
    const int64_t work = batches * p->m * p->n * p->k;
    const vtac_expr *matrix[2];
    const vtac_expr *unit = vtac_for(k, vtac_parallel_if(work), batches * groups * blocks, "unit");
    const vtac_expr *block = vtac_let(k, "block", vtac_i_remc(k, unit, blocks));
    unit = vtac_let(k, "rest", vtac_i_divc(k, unit, blocks));
    const vtac_expr *group = vtac_let(k, "group", vtac_i_remc(k, unit, groups));
    place_matrices(l, &d, vtac_let(k, "batch", vtac_i_divc(k, unit, groups)), matrix);
    d.column = vtac_let(k, "column", vtac_i_mulc(k, group, d.columns));
    place_rows(l, &d, matrix[1], d.column, d.columns, p->n, d.right);
    d.row = vtac_let(k, "first", vtac_i_mulc(k, block, d.rows));
    place_rows(l, &d, matrix[0], d.row, d.rows, p->m, d.left);
    do_block(l, &d, finish);
    vtac_end(k);
    l->step->flops = 2 * (uint64_t)work;
    return l->diag->code;
}
