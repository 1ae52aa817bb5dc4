/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products: what the general way (matmul.c) and the one of bytes (matmul_bytes.c) share.
 */
#ifndef VTAC_LOWER_MATMUL_H
#define VTAC_LOWER_MATMUL_H

#include "lower.h"

typedef struct vtac_product_region {
    int64_t begin, lanes, vectors, tiles; /* columns from `begin` on */
    int64_t part;                         /* columns of the last vector, where it is not full; else 0 */
    int64_t block;                        /* rows at once */
} vtac_product_region;

enum {
    MAX_REGIONS = 16,
    VTAC_PRODUCT_VECTORS = 8,    /* of columns in a tile, at most */
    VTAC_MIN_TILED = 24,         /* rows that pay for packing the right operand as the model runs */
    VTAC_PRODUCT_DEPTH = 256,    /* of the inner axis, at once */
    VTAC_PRODUCT_NEAREST = 32768 /* bytes of a tile of columns that stay in the nearest cache */
};

typedef struct vtac_product {
    uint32_t a, b, a_zero, b_zero;   /* inputs; zero points 0: none */
    bool a_transposed, b_transposed; /* given transposed: the last two axes */
    vtac_dtype type, stored;         /* of the sums, of the packed operand */
    int64_t m, n, k;
    int64_t room;                   /* columns of the packed operand: whole vectors */
    vtac_type a_type, b_type, lead; /* with at least two axes; the batch axes of the result */
    vtac_type folded;               /* batch axes whose matrices are rows of one; rank 0: none */
    int64_t folded_rows;            /* of each of them */
    vtac_storage_id wide_left;      /* the left operand in the type of the sums; 0: as it is */
    bool row, column;               /* a, b given as vectors */
    vtac_storage_id packed;
    bool direct;                     /* b as it is */
    bool known;                      /* b, and its zero points */
    bool tiled;                      /* packed in the order of use: [matrix][tile of columns][k][column] */
    bool once;                       /* the left operand is to be read once alone */
    bool narrow;                     /* sums, and what is added to them, stay below 2^24 */
    int64_t tile_rows, tile_vectors; /* that a schedule asks for; 0: the standard ones */
    int64_t depth;                   /* of the inner axis, at once */
    int64_t chunk; /* blocks of rows that meet a tile of columns before the next; 0: the standard */
    vtac_product_region regions[MAX_REGIONS];
    uint32_t region_count;
} vtac_product;

/* Epilogue of a sum at the output's index `at`; NULL: the sum itself. */
typedef const vtac_expr *vtac_product_finish(vtac_lower *l, const vtac_product *p, const vtac_expr *sum,
                                             const vtac_expr *const *at);

int64_t vtac_product_matrices(const vtac_type *type);
/* Number of the operand's matrix that belongs to the batch index. */
const vtac_expr *vtac_product_matrix(vtac_lower *l, const vtac_type *type, const vtac_type *lead,
                                     const vtac_expr *const *at);

/* The output's index of a row and a column; the batch axes that are not folded are there already. */
void vtac_product_place(vtac_lower *l, const vtac_product *p, const vtac_expr **at, const vtac_expr *row,
                        const vtac_expr *column);

/* True if the inner axis is cut in parts of about `depth`. */
static inline bool vtac_product_is_deep(const vtac_product *p, int64_t depth)
{
    return p->tiled && p->k > depth + depth / 2 && p->m >= VTAC_MIN_TILED;
}

/* Blocks of so many rows that go through a tile of columns before they go to the next one, by the standard
 * schedule: where the right operand is large, as many as stay in the cache, as each tile does meanwhile. */
int64_t vtac_product_chunk(const vtac_lower *l, const vtac_product *p, int64_t rows);

/* Regions of columns: tiles of full vectors, then of what is left, by the tile that p has, or the standard
 * one. */
void vtac_product_plan(const vtac_lower *l, vtac_product *p);
/* Chooses the standard tile and depth where the target has many long registers, and plans by them. */
void vtac_product_choose(const vtac_lower *l, vtac_product *p);

/* Asks for the schedule of a product whose regions are planned by the standard one (matmul_tile.c). Whether
 * it is another: then the regions are to be planned again. */
bool vtac_product_ask(const vtac_lower *l, vtac_product *p);

/* Products of few rows whose right operand is given transposed and not known before (matmul_dots.c). */
bool vtac_product_is_dots(const vtac_lower *l, const vtac_product *p);
vta_status vtac_multiply_dots(vtac_lower *l, const vtac_product *p, vtac_product_finish *finish);

bool vtac_product_is_bytes(const vtac_lower *l, const vtac_product *p);
vta_status vtac_multiply_bytes(vtac_lower *l, vtac_product *p, vtac_product_finish *finish);

#endif
