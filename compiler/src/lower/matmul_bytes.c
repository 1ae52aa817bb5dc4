/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of bytes by the target's dot product, four at a time. Both operands are packed: the left one to
 * rows of words, the right one to words of four rows of a column, in the order of use, by the compiler where
 * it is known. Bytes are read as those of the other sign where the dot product wants it (x + 128, or x -
 * 128), and zero points are taken off afterwards: sum (a - za)(b - zb) = sum ab - za sum b - zb sum a + k za
 * zb, of which the first two corrections belong to the column, the third one to the row. Where the target has
 * no such dot product, the numbers of products with some rows go by twos or one by one, as 16-bit numbers,
 * those of the right operand less its zero points. Where the target has tiles and the system gives them,
 * blocks of VTAC_TILE rows and columns are one product of theirs, of the same packed operands.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "matmul.h"
#include "space.h"
#include "vta/fail.h"

#define E2(op, a, b) vtac_e2(l->k, VTAC_E_##op, a, b)

enum {
    MAX_VECTORS = 8,
    MAX_ROWS = 12,
    MIN_WIDE = 4,
    CHUNK_BYTES = 131072,
    BEYOND = 256,
    TILE_WORDS = 16,
    PANEL_BYTES = 32768
};

typedef struct bytes {
    vtac_product *p;
    vtac_product_finish *finish;
    vtac_expr_op dot;
    bool a_shift, b_shift; /* bytes are read as those of the other sign */
    bool by_row;           /* zero points of the right operand are not all 0 */
    bool folded;           /* the right operand is packed less its zero points */
    bool tiled;            /* blocks are tiles of the processor's; `rows` is for those without */
    int64_t group;         /* numbers in a word: 4 bytes, or 2 or 1 of 16 bits */
    int64_t words;         /* of a row */
    int64_t lanes, vectors, rows;
    int64_t height;         /* rows of a block */
    int64_t columns, tiles; /* columns in whole vectors; tiles of them */
    int64_t blocks, chunk;  /* of rows; blocks that go through all tiles together */
    int64_t a_count, b_count;
    const vtac_tensor *a_zero, *b_zero, *known; /* NULL: not known */
    vtac_storage_id left, right, start, row_sums, zeros;
} bytes;

static bool is_byte(vtac_dtype dtype)
{
    return dtype == VTAC_I8 || dtype == VTAC_U8;
}

bool vtac_product_is_bytes(const vtac_lower *l, const vtac_product *p)
{
    return l->program->level > 0 && is_byte(p->a_type.dtype) && is_byte(p->b_type.dtype) && p->m > 0 &&
           p->n > 0 && p->k > 0 && l->program->target->vector_bytes >= 16;
}

/* ---- the plan */

static double cost_of(const bytes *y, int64_t rows, int64_t vectors)
{
    const vtac_product *p = y->p;
    const int64_t blocks = (p->m + rows - 1) / rows;
    const int64_t tiles = (y->columns / y->lanes + vectors - 1) / vectors;
    const double products = fmax((double)(rows * vectors), 4.0);
    const int64_t panel = y->words * vectors * y->lanes * 4; /* beyond the first cache: by the second one */
    const double column = panel > PANEL_BYTES ? (double)y->lanes / 4.0 : 0.5;
    const double loads = 0.5 * (double)rows + column * (double)vectors;
    const double step = fmax(products, loads) + 0.05 * (double)(rows + vectors) + 0.5;
    return (double)(blocks * tiles) * ((double)y->words * step + 4.0 * (double)(rows * vectors) + 12.0);
}

static void choose_tile(const vtac_lower *l, bytes *y)
{
    const vtac_product *p = y->p;
    const int64_t registers = (int64_t)l->program->target->vector_count;
    double best = HUGE_VAL;
    y->rows = 1;
    y->vectors = 1;
    y->lanes = (int64_t)l->program->target->vector_bytes / 4;
    while (y->lanes > 4 && p->n <= y->lanes / 2) {
        y->lanes /= 2;
    }
    y->words = (p->k + y->group - 1) / y->group;
    y->columns = (p->n + y->lanes - 1) / y->lanes * y->lanes;
    for (int64_t vectors = 1; vectors <= MAX_VECTORS && (vectors - 1) * y->lanes < p->n; vectors++) {
        for (int64_t rows = 1; rows <= MAX_ROWS && rows <= p->m; rows++) {
            if (rows * vectors + vectors + 1 < registers && cost_of(y, rows, vectors) < best) {
                best = cost_of(y, rows, vectors);
                y->rows = rows;
                y->vectors = vectors;
            }
        }
    }
}

/* Derives the numbers that follow from the tile, with the standard chunk. */
static void plan_tiles(bytes *y)
{
    y->words = (y->p->k + y->group - 1) / y->group;
    y->height = y->rows;
    if (y->tiled) {
        y->height = VTAC_TILE;
        y->rows = VTAC_TILE / 4;
        y->vectors = VTAC_TILE / y->lanes;
        y->words = (y->words + TILE_WORDS - 1) / TILE_WORDS * TILE_WORDS;
    }
    y->tiles = (y->columns / y->lanes + y->vectors - 1) / y->vectors;
    y->blocks = (y->p->m + y->height - 1) / y->height;
    y->chunk = CHUNK_BYTES / (y->height * y->words * 4);
    y->chunk = y->chunk < 1 ? 1 : y->chunk > y->blocks ? y->blocks : y->chunk;
}

/* A tile with its standard chunk, with one block and with all of them. The processor's own tiles take a cycle
 * for each row of words. */
static void add_chunks(vtac_schedule_space *s, bytes y)
{
    plan_tiles(&y);
    const double cost = y.tiled ? (double)(y.blocks * y.tiles * (y.words + (int64_t)8 * VTAC_TILE))
                                : cost_of(&y, y.rows, y.vectors);
    const int64_t chunks[] = {y.chunk, 1, 4, y.blocks};
    for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
        if (chunks[i] <= y.blocks) {
            vtac_space_add(s, (const int64_t[]){y.tiled, y.rows, y.vectors, chunks[i]},
                           cost * (i == 0 ? 1.0 : 1.02));
        }
    }
}

/* Asks for the tile in registers, whether it is the processor's own, and how many blocks of rows go through
 * all columns together. */
static void ask_for_tile(const vtac_lower *l, bytes *y)
{
    static const char *const names[] = {"tiles", "rows", "vectors", "chunk", NULL};
    const vtac_product *p = y->p;
    const int64_t registers = (int64_t)l->program->target->vector_count;
    vtac_schedule_space *s = vtac_space_new(l, "product_bytes", names);
    if (s == NULL) {
        return;
    }
    (void)snprintf(s->shape, sizeof s->shape,
                   "%s%s m%" PRId64 " k%" PRId64 " n%" PRId64 " batches%" PRId64 " right%" PRId64
                   " turned%d%d known%d group%" PRId64 " fused%u",
                   p->a_type.dtype == VTAC_U8 ? "u8" : "s8", p->b_type.dtype == VTAC_U8 ? "u8" : "s8", p->m,
                   p->k, p->n, vtac_type_elements(&p->lead), y->b_count, p->a_transposed, p->b_transposed,
                   y->known != NULL, y->group, l->chain_count);
    add_chunks(s, *y);
    bytes other = *y;
    other.tiled = false;
    for (other.vectors = 1; other.vectors <= MAX_VECTORS && (other.vectors - 1) * y->lanes < p->n;
         other.vectors++) {
        for (other.rows = 1; other.rows <= MAX_ROWS && other.rows <= p->m; other.rows++) {
            const int64_t blocks = (p->m + other.rows - 1) / other.rows;
            if (other.rows * other.vectors + other.vectors + 1 < registers &&
                (p->m + blocks - 1) / blocks == other.rows) { /* not more than as many blocks need */
                add_chunks(s, other);
            }
        }
    }
    int64_t chosen[VTAC_SPACE_NUMBERS];
    if (vtac_space_ask(l, s, chosen)) {
        y->tiled = chosen[0] != 0;
        y->rows = chosen[1];
        y->vectors = chosen[2];
        plan_tiles(y);
        y->chunk = chosen[3];
    }
}

static int64_t zero_of(const vtac_tensor *zero, int64_t i)
{
    return zero == NULL ? 0 : vtac_tensor_int(zero, vtac_type_elements(&zero->type) == 1 ? 0 : i);
}

static int64_t known_at(const bytes *y, int64_t matrix, int64_t row, int64_t column)
{
    const vtac_product *p = y->p;
    const int64_t from = p->b_transposed ? column * p->k + row : row * p->n + column;
    return vtac_tensor_int(y->known, matrix * p->k * p->n + from);
}

/* True if the known operand less its zero points still is bytes. */
static bool can_fold(const bytes *y)
{
    const vtac_product *p = y->p;
    const int64_t shift = y->b_shift ? 128 : 0;
    bool shifted = true;
    for (int64_t c = 0; c < p->n && shifted; c++) {
        shifted = zero_of(y->b_zero, c) == shift;
    }
    for (int64_t i = 0; i < y->b_count * p->k * p->n && !shifted; i++) {
        const int64_t column = i % p->n;
        const int64_t value =
            known_at(y, i / (p->k * p->n), i / p->n % p->k, column) - zero_of(y->b_zero, column);
        if (value < INT8_MIN || value > INT8_MAX) {
            return false;
        }
    }
    return true;
}

static void describe_space(vtac_lower *l, bytes *y)
{
    const vtac_product *p = y->p;
    const bool signed_dot = l->program->target->has_signed_dot;
    const bool pairs = l->program->target->has_pairs;
    const bool wide = (pairs || l->program->target->has_long) && !signed_dot && p->m >= MIN_WIDE;
    y->group = !wide ? 4 : pairs ? 2 : 1;
    y->dot = wide ? VTAC_E_DOT2 : signed_dot ? VTAC_E_SDOT4 : VTAC_E_DOT4;
    y->a_shift = !wide && signed_dot != (p->a_type.dtype == VTAC_I8);
    y->b_shift = !wide && p->b_type.dtype == VTAC_U8;
    y->a_count = vtac_product_matrices(&p->a_type);
    y->b_count = vtac_product_matrices(&p->b_type);
    y->a_zero = p->a_zero == 0 ? NULL : vtac_in_constant(l->graph, l->node, p->a_zero);
    y->b_zero = p->b_zero == 0 ? NULL : vtac_in_constant(l->graph, l->node, p->b_zero);
    y->known = p->b_zero == 0 || y->b_zero != NULL ? vtac_in_constant(l->graph, l->node, p->b) : NULL;
    y->tiled = l->program->target->has_tiles && y->group == 4 && !signed_dot && p->m >= VTAC_TILE / 2 &&
               p->n >= VTAC_TILE && p->k >= (int64_t)TILE_WORDS * 4;
    choose_tile(l, y);
    plan_tiles(y);
    ask_for_tile(l, y);
    y->folded = wide || (y->known != NULL && can_fold(y));
    y->by_row = !y->folded;
    if (y->by_row && (p->b_zero == 0 || y->b_zero != NULL)) { /* known zero points: perhaps none */
        y->by_row = false;
        for (int64_t c = 0; c < p->n; c++) {
            y->by_row = y->by_row || zero_of(y->b_zero, c) != (y->b_shift ? 128 : 0);
        }
    }
}

/* ---- the left operand: [matrix][row][word] */

static vtac_dtype packed_type(const bytes *y)
{
    return y->group <= 2 ? VTAC_I16 : VTAC_U8;
}

static vtac_dtype word_type(const bytes *y)
{
    return y->group == 1 ? VTAC_I16 : VTAC_I32;
}

/* A sum and the products of two words; NULL for ones. */
static const vtac_expr *add_products(vtac_lower *l, const bytes *y, const vtac_expr *sum, const vtac_expr *a,
                                     const vtac_expr *b)
{
    vtac_kernel *k = l->k;
    if (y->group == 1) {
        return a == NULL ? E2(ADD, sum, b) : vtac_e3(k, VTAC_E_FMA, a, b, sum);
    }
    a = a != NULL ? a : vtac_e_int(k, VTAC_I32, y->group == 2 ? 0x00010001 : 0x01010101);
    return vtac_e3(k, y->dot, sum, a, b);
}

/* Bytes from `first` on of one row. */
static void copy_bytes(vtac_lower *l, const bytes *y, vtac_buffer *const *b, const vtac_expr *const *at,
                       const vtac_expr *first, int64_t lanes)
{
    vtac_kernel *k = l->k;
    const vtac_product *p = y->p;
    const vtac_expr *lane = lanes == 1 ? vtac_e_index(k, 0) : vtac_for(k, VTAC_LOOP_VECTOR, lanes, "lane");
    const vtac_expr *i = vtac_i_add(k, first, lane);
    const vtac_expr *from =
        p->a_transposed ? vtac_i_add(k, vtac_i_mulc(k, i, p->m), at[1]) : vtac_i_add(k, at[0], i);
    const vtac_expr *value = vtac_e_load(k, b[0], from);
    if (y->a_shift) {
        value = E2(XOR, value, vtac_e_int(k, p->a_type.dtype, p->a_type.dtype == VTAC_I8 ? -128 : 128));
    }
    vtac_store(k, b[1], vtac_i_add(k, at[2], i), vtac_e_cast(k, packed_type(y), value));
    vtac_close(l, lanes == 1 ? 0 : 1);
}

/* Words of the left operand, with room for a tile that begins at the last row. */
static int64_t left_words(const bytes *y)
{
    return (y->a_count * y->p->m + (y->tiled ? VTAC_TILE - 1 : 0)) * y->words;
}

static vta_status pack_left(vtac_lower *l, bytes *y)
{
    const vtac_product *p = y->p;
    const int64_t rows = y->a_count * p->m;
    const int64_t wide =
        (int64_t)l->program->target->vector_bytes > 64 ? 64 : (int64_t)l->program->target->vector_bytes;
    VTA_TRY(vtac_begin(l, ".left"));
    vtac_kernel *k = l->k;
    y->left = vtac_temp(l, VTAC_I32, left_words(y));
    vtac_buffer *b[] = {vtac_in(l, p->a),
                        vtac_use(l, y->left, "left", packed_type(y), left_words(y) * y->group)};
    const vtac_expr *row = vtac_for(k, vtac_parallel_if(rows * p->k / 16), rows, "row");
    const vtac_expr *at[] = {vtac_let(k, "from", vtac_i_mulc(k, row, p->k)), row,
                             vtac_let(k, "to", vtac_i_mulc(k, row, y->words * y->group))};
    const int64_t whole = p->k / wide;
    if (whole > 0) {
        const vtac_expr *i = vtac_for(k, VTAC_LOOP_SERIAL, whole, "i");
        copy_bytes(l, y, b, at, vtac_i_mulc(k, i, wide), wide);
        vtac_end(k);
    }
    if (p->k % wide != 0) {
        copy_bytes(l, y, b, at, vtac_e_index(k, whole * wide), p->k % wide);
    }
    if (y->words * y->group > p->k) {
        const vtac_expr *i = vtac_for(k, VTAC_LOOP_VECTOR, y->words * y->group - p->k, "i");
        vtac_store(k, b[1], vtac_i_add(k, vtac_i_addc(k, at[2], p->k), i), vtac_e_int(k, packed_type(y), 0));
        vtac_end(k);
    }
    vtac_end(k);
    return l->diag->code;
}

/* Sums of the bytes of each row; what pads it is 0. */
static vta_status sum_rows(vtac_lower *l, bytes *y)
{
    const int64_t rows = y->a_count * y->p->m;
    VTA_TRY(vtac_begin(l, ".rows"));
    vtac_kernel *k = l->k;
    y->row_sums = vtac_temp(l, VTAC_I32, rows);
    vtac_buffer *from = vtac_use(l, y->left, "left", VTAC_I32, left_words(y));
    vtac_buffer *to = vtac_use(l, y->row_sums, "sums", VTAC_I32, rows);
    const int64_t lanes = y->lanes;
    const int64_t whole = y->words / lanes;
    vtac_buffer *sum = vtac_local(l, "sum", VTAC_I32, lanes);
    const vtac_expr *ones = vtac_e_int(k, VTAC_I32, 0x01010101);
    const vtac_expr *row = vtac_for(k, vtac_parallel_if(rows * y->words / 4), rows, "row");
    const vtac_expr *base = vtac_let(k, "base", vtac_i_mulc(k, row, y->words));
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, lanes, "lane");
    vtac_store(k, sum, lane, vtac_e_int(k, VTAC_I32, 0));
    vtac_end(k);
    if (whole > 0) {
        const vtac_expr *i = vtac_for(k, VTAC_LOOP_SERIAL, whole, "i");
        const vtac_expr *at = vtac_i_add(k, base, vtac_i_mulc(k, i, lanes));
        lane = vtac_for(k, VTAC_LOOP_VECTOR, lanes, "lane");
        const vtac_expr *word = vtac_e_load(k, from, vtac_i_add(k, at, lane));
        vtac_store(k, sum, lane, vtac_e3(k, y->dot, vtac_e_load(k, sum, lane), word, ones));
        vtac_close(l, 2);
    }
    const vtac_expr *total = vtac_e_int(k, VTAC_I32, 0);
    for (int64_t i = whole * lanes; i < y->words; i++) {
        total = vtac_e3(k, y->dot, total, vtac_e_load(k, from, vtac_i_addc(k, base, i)), ones);
    }
    for (int64_t i = 0; i < lanes; i++) {
        total = E2(ADD, total, vtac_e_load(k, sum, vtac_e_index(k, i)));
    }
    vtac_store(k, to, row, total);
    vtac_end(k);
    return l->diag->code;
}

/* ---- the right operand: [matrix][tile][word][column of the tile], and what its columns add to each sum */

static int64_t wide_of(const bytes *y)
{
    return y->vectors * y->lanes;
}

static int64_t packed_words(const bytes *y)
{
    return y->b_count * y->tiles * y->words * wide_of(y);
}

/* Distance of two matrices' start values of the columns' sums, with room for vectors beyond the last column.
 */
static int64_t start_stride(const bytes *y)
{
    return y->tiles * wide_of(y);
}

static void put_weight(const bytes *y, void *packed, int64_t at, int64_t value)
{
    if (y->group <= 2) {
        ((int16_t *)packed)[at] = (int16_t)value;
    } else {
        ((int8_t *)packed)[at] = (int8_t)value;
    }
}

static const vtac_expr *run_zero(vtac_lower *l, uint32_t input, const vtac_expr *place)
{
    if (input == 0) {
        return vtac_e_int(l->k, VTAC_I32, 0);
    }
    const bool one = vtac_type_elements(vtac_type_in(l, input)) == 1;
    return vtac_e_cast(l->k, VTAC_I32,
                       vtac_e_load(l->k, vtac_in(l, input), one ? vtac_e_index(l->k, 0) : place));
}

/* Addition to the left operand's zero point when its bytes are read with the other sign. */
static int64_t left_shift(const bytes *y)
{
    return !y->a_shift ? 0 : y->p->a_type.dtype == VTAC_I8 ? 128 : -128;
}

static bool left_zero_known(const bytes *y)
{
    return y->p->a_zero == 0 || y->a_zero != NULL;
}

/* The left operand's zero point comes as the model runs: what the columns' sums start from follows from what
 * they are for a zero point of 1. */
static vta_status start_run(vtac_lower *l, bytes *y, vtac_storage_id ones)
{
    const int64_t count = y->b_count * start_stride(y);
    VTA_TRY(vtac_begin(l, ".start"));
    vtac_kernel *k = l->k;
    y->start = vtac_temp(l, VTAC_I32, count);
    vtac_buffer *from = vtac_use(l, ones, "ones", VTAC_I32, count);
    vtac_buffer *to = vtac_use(l, y->start, "start", VTAC_I32, count);
    const vtac_expr *zero = run_zero(l, y->p->a_zero, vtac_e_index(k, 0));
    zero = vtac_let(k, "za", E2(ADD, zero, vtac_e_int(k, VTAC_I32, left_shift(y))));
    const vtac_expr *vector = vtac_for(k, vtac_parallel_if(count / 4), count / y->lanes, "vector");
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, y->lanes, "lane");
    const vtac_expr *at = vtac_i_add(k, vtac_i_mulc(k, vector, y->lanes), lane);
    vtac_store(k, to, at, E2(MUL, zero, vtac_e_load(k, from, at)));
    vtac_close(l, 2);
    return l->diag->code;
}

static vta_status pack_known(vtac_lower *l, bytes *y)
{
    vtac_product *p = y->p;
    const int64_t shift = y->b_shift ? 128 : 0;
    const int64_t a_zero = left_zero_known(y) ? zero_of(y->a_zero, 0) + left_shift(y) : 1;
    const int64_t wide = wide_of(y);
    void *packed = vta_arena_array(&l->program->arena, (size_t)packed_words(y), 4);
    int32_t *start =
        vta_arena_array(&l->program->arena, (size_t)(y->b_count * start_stride(y)), sizeof *start);
    int32_t *zeros = vta_arena_array(&l->program->arena, (size_t)start_stride(y), sizeof *zeros);
    if (packed == NULL || start == NULL || zeros == NULL) {
        return vta_no_memory(l->diag);
    }
    double max = 0.0;
    for (int64_t c = 0; c < y->b_count * p->n; c++) {
        const int64_t matrix = c / p->n;
        const int64_t column = c % p->n;
        const int64_t off = y->folded ? zero_of(y->b_zero, column) : shift;
        const int64_t zero = y->folded ? 0 : zero_of(y->b_zero, column) - shift;
        int64_t sum = 0;
        double size = 0.0;
        for (int64_t row = 0; row < p->k; row++) {
            const int64_t value = known_at(y, matrix, row, column) - off;
            const int64_t word =
                ((matrix * y->tiles + column / wide) * y->words + row / y->group) * wide + column % wide;
            put_weight(y, packed, word * y->group + row % y->group, value);
            sum += value;
            size += fabs((double)(value - zero));
        }
        max = fmax(max, 255.0 * size);
        start[matrix * start_stride(y) + column] =
            (int32_t)(uint32_t)(uint64_t)(a_zero * (p->k * zero - sum));
        zeros[column] = (int32_t)zero;
    }
    p->narrow = max <= 16777216.0 && l->node->op == VTAC_OP_QLINEAR_MATMUL;
    y->right = vtac_constant(l, packed, (uint64_t)packed_words(y) * 4);
    y->start = vtac_constant(l, start, (uint64_t)(y->b_count * start_stride(y)) * sizeof *start);
    y->zeros = vtac_constant(l, zeros, (uint64_t)start_stride(y) * sizeof *zeros);
    return left_zero_known(y) ? VTA_OK : start_run(l, y, y->start);
}

/* One or two 16-bit numbers, `down` elements apart, less their zero point. */
static const vtac_expr *pair_at(vtac_lower *l, const bytes *y, vtac_buffer *from, const vtac_expr *at,
                                const vtac_expr *column, int64_t count, int64_t down)
{
    vtac_kernel *k = l->k;
    const vtac_expr *zero = run_zero(l, y->p->b_zero, column);
    const vtac_expr *word = NULL;
    for (int64_t i = 0; i < count; i++) {
        const vtac_expr *one = vtac_e_cast(k, VTAC_I32, vtac_e_load(k, from, vtac_i_addc(k, at, i * down)));
        one = E2(SUB, one, zero);
        word = y->group == 1 ? one
               : i == 0      ? E2(AND, one, vtac_e_int(k, VTAC_I32, 65535))
                             : E2(OR, word, E2(SHL, one, vtac_e_int(k, VTAC_I32, 16)));
    }
    return word;
}

/* The word of `count` rows from number `row` on, at a column. */
static const vtac_expr *word_at(vtac_lower *l, const bytes *y, vtac_buffer *from, const vtac_expr *matrix,
                                const vtac_expr *row, const vtac_expr *column, int64_t count)
{
    vtac_kernel *k = l->k;
    const vtac_product *p = y->p;
    const int64_t down = p->b_transposed ? 1 : p->n;
    const vtac_expr *at =
        vtac_i_add(k, vtac_i_mulc(k, row, down), vtac_i_mulc(k, column, p->b_transposed ? p->k : 1));
    at = vtac_i_add(k, matrix, at);
    const vtac_expr *word = NULL;
    if (y->group <= 2) {
        return pair_at(l, y, from, at, column, count, down);
    }
    if (count == 4) {
        word = vtac_e_quad(k, from, at, down);
    } else {
        for (int64_t i = 0; i < count; i++) {
            const vtac_expr *byte = vtac_e_load(k, from, vtac_i_addc(k, at, i * down));
            byte = E2(AND, vtac_e_cast(k, VTAC_I32, byte), vtac_e_int(k, VTAC_I32, 255));
            byte = E2(SHL, byte, vtac_e_int(k, VTAC_I32, 8 * i));
            word = word == NULL ? byte : E2(OR, word, byte);
        }
    }
    return y->b_shift ? E2(XOR, word, vtac_e_int(k, VTAC_I32, (int32_t)(0x80808080U >> (8 * (4 - count)))))
                      : word;
}

typedef struct packing {
    vtac_buffer *from, *to, *sums;
    const vtac_expr *matrix, *source, *first; /* number, first element of it, first column */
} packing;

static void pack_word(vtac_lower *l, const bytes *y, const packing *g, const vtac_expr *word, int64_t count,
                      int64_t lanes)
{
    vtac_kernel *k = l->k;
    const int64_t wide = wide_of(y);
    const vtac_expr *tile = vtac_i_divc(k, g->first, wide);
    const vtac_expr *line = vtac_i_add(k, vtac_i_mulc(k, g->matrix, y->tiles), tile);
    line = vtac_i_add(k, vtac_i_mulc(k, line, y->words), word);
    line = vtac_i_add(k, vtac_i_mulc(k, line, wide), vtac_i_remc(k, g->first, wide));
    line = vtac_let(k, "line", line);
    const vtac_expr *lane = lanes == 1 ? vtac_e_index(k, 0) : vtac_for(k, VTAC_LOOP_VECTOR, lanes, "lane");
    const vtac_expr *column = vtac_i_add(k, g->first, lane);
    const vtac_expr *value =
        vtac_let(k, "word", word_at(l, y, g->from, g->source, vtac_i_mulc(k, word, y->group), column, count));
    vtac_store(k, g->to, vtac_i_add(k, line, lane), vtac_e_cast(k, word_type(y), value));
    vtac_store(k, g->sums, lane, add_products(l, y, vtac_e_load(k, g->sums, lane), NULL, value));
    vtac_close(l, lanes == 1 ? 0 : 1);
}

/* `lanes` columns from the first of the vector on. */
static void pack_columns(vtac_lower *l, const bytes *y, const packing *g, vtac_buffer *start,
                         vtac_buffer *zeros, int64_t lanes)
{
    vtac_kernel *k = l->k;
    const vtac_product *p = y->p;
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, y->lanes, "lane");
    vtac_store(k, g->sums, lane, vtac_e_int(k, VTAC_I32, 0));
    vtac_end(k);
    if (p->k / y->group > 0) {
        const vtac_expr *word = vtac_for(k, VTAC_LOOP_SERIAL, p->k / y->group, "word");
        pack_word(l, y, g, word, y->group, lanes);
        vtac_end(k);
    }
    if (p->k % y->group != 0) {
        pack_word(l, y, g, vtac_e_index(k, p->k / y->group), p->k % y->group, lanes);
    }
    const vtac_expr *a_zero = run_zero(l, p->a_zero, vtac_e_index(k, 0));
    a_zero = vtac_let(k, "za", E2(ADD, a_zero, vtac_e_int(k, VTAC_I32, left_shift(y))));
    lane = lanes == 1 ? vtac_e_index(k, 0) : vtac_for(k, VTAC_LOOP_VECTOR, lanes, "lane");
    const vtac_expr *column = vtac_i_add(k, g->first, lane);
    const vtac_expr *zero =
        y->folded ? vtac_e_int(k, VTAC_I32, 0) /* the words are less it */ : run_zero(l, p->b_zero, column);
    zero = vtac_let(k, "zb", E2(SUB, zero, vtac_e_int(k, VTAC_I32, y->b_shift ? 128 : 0)));
    const vtac_expr *sum =
        E2(SUB, E2(MUL, zero, vtac_e_int(k, VTAC_I32, p->k)), vtac_e_load(k, g->sums, lane));
    const vtac_expr *to = vtac_i_add(k, vtac_i_mulc(k, g->matrix, start_stride(y)), column);
    vtac_store(k, start, to, E2(MUL, a_zero, sum));
    vtac_store(k, zeros, to, zero);
    vtac_close(l, lanes == 1 ? 0 : 1);
}

static vta_status pack_run(vtac_lower *l, bytes *y)
{
    const vtac_product *p = y->p;
    VTA_TRY(vtac_begin(l, ".right"));
    vtac_kernel *k = l->k;
    y->right = vtac_temp(l, VTAC_I32, packed_words(y));
    y->start = vtac_temp(l, VTAC_I32, y->b_count * start_stride(y));
    y->zeros = vtac_temp(l, VTAC_I32, y->b_count * start_stride(y));
    vtac_buffer *start = vtac_use(l, y->start, "start", VTAC_I32, y->b_count * start_stride(y));
    vtac_buffer *zeros = vtac_use(l, y->zeros, "zeros", VTAC_I32, y->b_count * start_stride(y));
    packing g = {.from = vtac_in(l, p->b),
                 .to = vtac_use(l, y->right, "right", word_type(y), packed_words(y)),
                 .sums = vtac_local(l, "sums", VTAC_I32, y->lanes)};
    const int64_t vectors = y->columns / y->lanes;
    const int64_t rest = p->n % y->lanes;
    const vtac_expr *unit =
        vtac_for(k, vtac_parallel_if(y->b_count * p->k * p->n / 4), y->b_count * vectors, "unit");
    g.matrix = vtac_let(k, "matrix", vtac_i_divc(k, unit, vectors));
    g.source = vtac_let(k, "source", vtac_i_mulc(k, g.matrix, p->k * p->n));
    const vtac_expr *vector = vtac_let(k, "vector", vtac_i_remc(k, unit, vectors));
    g.first = vtac_let(k, "first", vtac_i_mulc(k, vector, y->lanes));
    if (rest == 0) {
        pack_columns(l, y, &g, start, zeros, y->lanes);
    } else {
        if (vectors > 1) {
            vtac_if(k, E2(LT, vector, vtac_e_index(k, vectors - 1)));
            pack_columns(l, y, &g, start, zeros, y->lanes);
            vtac_end(k);
        }
        vtac_if(k, E2(EQ, vector, vtac_e_index(k, vectors - 1)));
        pack_columns(l, y, &g, start, zeros, rest);
        vtac_end(k);
    }
    vtac_end(k);
    return l->diag->code;
}

/* ---- the product */

typedef struct bytes_tile {
    vtac_buffer *left, *right, *start, *zeros, *row_sums, *sums;
    vtac_buffer *block;   /* sums of a block of the processor's tiles */
    const vtac_expr **at; /* of the output */
    const vtac_expr *first, *column, *matrix,
        *a_rows; /* row and column of the tile; first row of a's matrix */
    const vtac_expr *start_base;
    const vtac_expr *rows[MAX_ROWS];
} bytes_tile;

static const vtac_expr *sum_at(vtac_lower *l, const bytes *y, int64_t row, int64_t vector,
                               const vtac_expr *lane)
{
    return vtac_i_addc(l->k, lane, (row * y->vectors + vector) * y->lanes);
}

static void sum_tile(vtac_lower *l, const bytes *y, const bytes_tile *t)
{
    vtac_kernel *k = l->k;
    const int64_t wide = wide_of(y);
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, y->lanes, "lane");
    for (int64_t v = 0; v < y->vectors; v++) {
        const vtac_expr *column = vtac_i_add(k, vtac_i_addc(k, t->column, v * y->lanes), lane);
        const vtac_expr *start =
            vtac_let(k, "start", vtac_e_load(k, t->start, vtac_i_add(k, t->start_base, column)));
        for (int64_t r = 0; r < y->rows; r++) {
            vtac_store(k, t->sums, sum_at(l, y, r, v, lane), start);
        }
    }
    vtac_end(k);
    const vtac_expr *word = vtac_for(k, VTAC_LOOP_SERIAL, y->words, "word");
    const vtac_expr *line = vtac_let(k, "line", vtac_i_add(k, t->matrix, vtac_i_mulc(k, word, wide)));
    vtac_read_ahead(l, t->right, line, wide);
    lane = vtac_for(k, VTAC_LOOP_VECTOR, y->lanes, "lane");
    const vtac_expr *factors[MAX_VECTORS] = {NULL};
    for (int64_t v = 0; v < y->vectors; v++) {
        factors[v] = vtac_let(
            k, "b",
            vtac_e_cast(k, VTAC_I32,
                        vtac_e_load(k, t->right, vtac_i_add(k, vtac_i_addc(k, line, v * y->lanes), lane))));
    }
    for (int64_t r = 0; r < y->rows; r++) {
        const vtac_expr *value = vtac_e_load(k, t->left, vtac_i_add(k, t->rows[r], word));
        value = vtac_let(k, "a", vtac_e_cast(k, VTAC_I32, value));
        for (int64_t v = 0; v < y->vectors; v++) {
            const vtac_expr *at = sum_at(l, y, r, v, lane);
            vtac_store(k, t->sums, at, add_products(l, y, vtac_e_load(k, t->sums, at), value, factors[v]));
        }
    }
    vtac_close(l, 2);
}

/* A vector of the tile's row number `row` of the output; its sums lie from `sums` on. */
static void store_vector(vtac_lower *l, const bytes *y, const bytes_tile *t, const vtac_expr *row,
                         const vtac_expr *sums, int64_t v, int64_t lanes)
{
    vtac_kernel *k = l->k;
    const vtac_product *p = y->p;
    const vtac_expr *lane = lanes == 1 ? vtac_e_index(k, 0) : vtac_for(k, VTAC_LOOP_VECTOR, lanes, "lane");
    const vtac_expr *column = vtac_i_add(k, vtac_i_addc(k, t->column, v * y->lanes), lane);
    vtac_product_place(l, p, t->at, row, column);
    const vtac_expr *at = vtac_i_add(k, vtac_i_addc(k, sums, v * y->lanes), lane);
    const vtac_expr *sum = vtac_e_load(k, y->tiled ? t->block : t->sums, at);
    if (y->by_row) {
        const vtac_expr *zero = vtac_e_load(
            k, t->zeros, vtac_i_add(k, y->known != NULL ? vtac_e_index(k, 0) : t->start_base, column));
        const vtac_expr *own = vtac_e_load(k, t->row_sums, vtac_i_add(k, t->a_rows, row));
        sum = E2(SUB, sum, E2(MUL, zero, own));
    }
    vtac_out_at(l, 0, t->at, y->finish == NULL ? sum : y->finish(l, p, sum, t->at));
    vtac_close(l, lanes == 1 ? 0 : 1);
}

static void store_row(vtac_lower *l, const bytes *y, const bytes_tile *t, const vtac_expr *row,
                      const vtac_expr *sums)
{
    vtac_kernel *k = l->k;
    const vtac_product *p = y->p;
    const int64_t whole = p->n / y->lanes;
    const int64_t rest = p->n % y->lanes;
    for (int64_t v = 0; v < y->vectors; v++) {
        const vtac_expr *begin = vtac_i_addc(k, t->column, v * y->lanes);
        const bool some_end =
            y->tiles * y->vectors > whole; /* the last tile has vectors that are not whole */
        const int64_t last = (y->tiles - 1) * y->vectors + v; /* in the last tile */
        const bool test = some_end && last >= whole;
        if (test && y->tiles > 1) {
            vtac_if(k, E2(LT, begin, vtac_e_index(k, whole * y->lanes)));
        }
        if (!test || y->tiles > 1) {
            store_vector(l, y, t, row, sums, v, y->lanes);
        }
        if (test && y->tiles > 1) {
            vtac_end(k);
        }
        if (test && last == whole && rest != 0) {
            vtac_if(k, E2(EQ, begin, vtac_e_index(k, whole * y->lanes)));
            store_vector(l, y, t, row, sums, v, rest);
            vtac_end(k);
        }
    }
}

static void store_tile(vtac_lower *l, const bytes *y, const bytes_tile *t)
{
    vtac_kernel *k = l->k;
    const int64_t last = y->p->m % y->rows; /* rows of the last tile; 0: all */
    for (int64_t r = 0; r < y->rows; r++) {
        const bool guarded = last != 0 && r >= last;
        const vtac_expr *row = vtac_i_addc(k, t->first, r);
        if (guarded) {
            vtac_if(k, E2(LT, row, vtac_e_index(k, y->p->m)));
        }
        store_row(l, y, t, row, vtac_e_index(k, r * y->vectors * y->lanes));
        if (guarded) {
            vtac_end(k);
        }
    }
}

/* Computes the places of a tile's rows in the left operand, from row `first` of the matrix on. */
static void place_rows(vtac_lower *l, const bytes *y, bytes_tile *t, const vtac_expr *first)
{
    vtac_kernel *k = l->k;
    for (int64_t r = 0; r < y->rows; r++) {
        const vtac_expr *row = vtac_i_addc(k, first, r);
        row = y->p->m % y->height == 0 ? row : E2(MIN, row, vtac_e_index(k, y->p->m - 1));
        t->rows[r] = vtac_let(k, "row", vtac_i_mulc(k, vtac_i_add(k, t->a_rows, row), y->words));
    }
}

/* A block of the processor's tiles, or by vectors where it may not use them. */
static void multiply_block(vtac_lower *l, const bytes *y, bytes_tile *t)
{
    vtac_kernel *k = l->k;
    const int64_t wide = wide_of(y);
    const vtac_expr *left = vtac_i_mulc(k, vtac_i_add(k, t->a_rows, t->first), y->words);
    vtac_if(k, vtac_e_tiles(k));
    vtac_store(k, t->block, vtac_e_index(k, 0),
               vtac_e_tile(k, vtac_e_load(k, t->start, vtac_i_add(k, t->start_base, t->column)),
                           vtac_e_load(k, t->left, left), vtac_e_load(k, t->right, t->matrix), y->words));
    vtac_end(k);
    vtac_if(k, vtac_e1(k, VTAC_E_NOT, vtac_e_tiles(k)));
    const vtac_expr *part = vtac_for(k, VTAC_LOOP_SERIAL, VTAC_TILE / y->rows, "part");
    place_rows(l, y, t, vtac_i_add(k, t->first, vtac_i_mulc(k, part, y->rows)));
    sum_tile(l, y, t);
    const vtac_expr *to = vtac_let(k, "to", vtac_i_mulc(k, part, y->rows * wide));
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, y->lanes, "lane");
    for (int64_t i = 0; i < y->rows * y->vectors; i++) {
        const vtac_expr *at = vtac_i_addc(k, lane, i * y->lanes);
        vtac_store(k, t->block, vtac_i_add(k, to, at), vtac_e_load(k, t->sums, at));
    }
    vtac_close(l, 3);
    const vtac_expr *r = vtac_for(k, VTAC_LOOP_SERIAL, VTAC_TILE, "r");
    const vtac_expr *row = vtac_let(k, "row", vtac_i_add(k, t->first, r));
    const bool ragged = y->p->m % VTAC_TILE != 0;
    if (ragged) {
        vtac_if(k, E2(LT, row, vtac_e_index(k, y->p->m)));
    }
    store_row(l, y, t, row, vtac_let(k, "sums", vtac_i_mulc(k, r, wide)));
    vtac_close(l, ragged ? 2 : 1);
}

static vta_status multiply_tiles(vtac_lower *l, const bytes *y)
{
    const vtac_product *p = y->p;
    VTA_TRY(vtac_begin(l, ""));
    vtac_kernel *k = l->k;
    const vtac_expr *at[VTAC_MAX_RANK + 2];
    const int64_t batches = vtac_type_elements(&p->lead);
    const int64_t chunks = (y->blocks + y->chunk - 1) / y->chunk;
    const int64_t work = batches * p->m * y->words * y->columns;
    const bool by_matrix = y->known == NULL || y->b_count > 1;
    bytes_tile t = {.left = vtac_use(l, y->left, "left", word_type(y), left_words(y)),
                    .right = vtac_use(l, y->right, "right", word_type(y), packed_words(y)),
                    .start = vtac_use(l, y->start, "start", VTAC_I32, y->b_count * start_stride(y)),
                    .sums = vtac_local(l, "sums", VTAC_I32, y->rows * y->vectors * y->lanes),
                    .at = at};
    if (y->tiled) {
        t.block =
            vtac_kernel_buffer(k, "block", VTAC_I32, (int64_t)VTAC_TILE * VTAC_TILE, VTAC_BUFFER_SCRATCH);
    }
    if (y->by_row) {
        t.zeros = vtac_use(l, y->zeros, "zeros", VTAC_I32, (by_matrix ? y->b_count : 1) * start_stride(y));
        t.row_sums = vtac_use(l, y->row_sums, "rows", VTAC_I32, y->a_count * p->m);
    }
    const vtac_expr *unit =
        vtac_for(k, vtac_parallel_if(work), batches * chunks * y->tiles * y->chunk, "unit");
    const vtac_expr *inner = vtac_let(k, "inner", vtac_i_remc(k, unit, y->chunk));
    const vtac_expr *rest = vtac_let(k, "rest", vtac_i_divc(k, unit, y->chunk));
    const vtac_expr *column_tile = vtac_let(k, "tile", vtac_i_remc(k, rest, y->tiles));
    rest = vtac_let(k, "rest", vtac_i_divc(k, rest, y->tiles));
    const vtac_expr *block =
        vtac_let(k, "block", vtac_i_add(k, vtac_i_mulc(k, vtac_i_remc(k, rest, chunks), y->chunk), inner));
    rest = vtac_let(k, "batch", vtac_i_divc(k, rest, chunks));
    for (uint32_t axis = p->lead.rank; axis-- > 0;) {
        at[axis] = vtac_let(k, "at", vtac_i_remc(k, rest, p->lead.dim[axis]));
        rest = vtac_let(k, "batch", vtac_i_divc(k, rest, p->lead.dim[axis]));
    }
    const bool ragged = y->blocks % y->chunk != 0;
    if (ragged) {
        vtac_if(k, E2(LT, block, vtac_e_index(k, y->blocks)));
    }
    t.column = vtac_let(k, "column", vtac_i_mulc(k, column_tile, wide_of(y)));
    t.first = vtac_let(k, "first", vtac_i_mulc(k, block, y->height));
    t.a_rows = vtac_let(k, "left", vtac_i_mulc(k, vtac_product_matrix(l, &p->a_type, &p->lead, at), p->m));
    const vtac_expr *matrix = vtac_let(k, "right", vtac_product_matrix(l, &p->b_type, &p->lead, at));
    t.start_base = vtac_let(k, "start", vtac_i_mulc(k, matrix, start_stride(y)));
    matrix = vtac_i_add(k, vtac_i_mulc(k, matrix, y->tiles), column_tile);
    t.matrix = vtac_let(k, "right", vtac_i_mulc(k, matrix, y->words * wide_of(y)));
    if (y->tiled) {
        multiply_block(l, y, &t);
    } else {
        place_rows(l, y, &t, t.first);
        sum_tile(l, y, &t);
        store_tile(l, y, &t);
    }
    vtac_close(l, ragged ? 2 : 1);
    l->step->flops = 2 * (uint64_t)(batches * p->m * p->k * p->n);
    return l->diag->code;
}

vta_status vtac_multiply_bytes(vtac_lower *l, vtac_product *p, vtac_product_finish *finish)
{
    bytes y = {.p = p, .finish = finish};
    describe_space(l, &y);
    VTA_TRY(pack_left(l, &y));
    if (y.by_row) {
        VTA_TRY(sum_rows(l, &y));
    }
    VTA_TRY(y.known != NULL ? pack_known(l, &y) : pack_run(l, &y));
    return multiply_tiles(l, &y);
}
