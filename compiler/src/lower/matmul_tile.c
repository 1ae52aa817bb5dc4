/* SPDX-License-Identifier: Apache-2.0
 *
 * The schedules that a product of packed matrices may have: how many rows and vectors of columns its tile in
 * registers has, and how much of the inner axis goes through all rows of a chunk at once. None of them
 * changes the order of a sum's additions.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "matmul.h"

typedef struct tile_choice {
    int64_t rows, vectors, depth, chunk;
} tile_choice;

typedef struct tile_choices {
    char points[VTAC_MAX_POINTS][VTAC_POINT_TEXT];
    double guesses[VTAC_MAX_POINTS];
    tile_choice items[VTAC_MAX_POINTS];
    uint32_t count;
} tile_choices;

enum { MAX_LEFT = 14 }; /* rows of a tile of the standard schedule */

/* Half cycles for the whole product, roughly: two products and two loads a cycle; sums of fewer than eight
 * wait for each other; sums that wait in memory are written and read again. Tiles of columns that nothing
 * keeps near come from the next cache. */
static double cost_of(const vtac_product *p, const tile_choice *c)
{
    const int64_t lanes = p->regions[0].lanes;
    const int64_t vectors = (p->n + lanes - 1) / lanes;
    const double blocks = (double)((p->m + c->rows - 1) / c->rows);
    const double tiles = (double)vectors / (double)c->vectors;
    const double sums = (double)(c->rows * c->vectors);
    const bool all_near = p->k * p->n * (int64_t)vtac_dtype_bytes(p->type) <= VTAC_PRODUCT_NEAREST;
    const bool far = c->chunk == 1 && c->depth >= p->k && !all_near;
    const double step = fmax(fmax(sums, 8.0), (double)(c->rows + c->vectors)) + 0.02 * (double)c->rows +
                        (far ? 1.5 * (double)c->vectors : 0.0);
    const double parts = c->depth < p->k ? (double)p->k / (double)c->depth : 1.0;
    return blocks * tiles * ((double)p->k * step + 3.0 * sums * parts + 12.0);
}

static void add_choice(const vtac_product *p, tile_choices *all, tile_choice c)
{
    const tile_choice *first = &all->items[0];
    const bool again = all->count > 0 && c.rows == first->rows && c.vectors == first->vectors &&
                       c.depth == first->depth && c.chunk == first->chunk;
    if (again || all->count == VTAC_MAX_POINTS) {
        return;
    }
    (void)snprintf(all->points[all->count], sizeof all->points[0],
                   "rows=%" PRId64 " vectors=%" PRId64 " depth=%" PRId64 " chunk=%" PRId64, c.rows, c.vectors,
                   c.depth, c.chunk);
    all->guesses[all->count] = cost_of(p, &c);
    all->items[all->count++] = c;
}

/* Tiles of some rows and vectors, with each depth and chunk that makes a difference. By parts of the inner
 * axis a chunk is what it always is. */
static void add_depths(const vtac_product *p, tile_choices *all, int64_t rows, int64_t vectors)
{
    static const int64_t depths[] = {128, 256, 512};
    const bool deep = p->m >= VTAC_MIN_TILED;
    for (size_t i = 0; deep && i < sizeof depths / sizeof depths[0]; i++) {
        if (vtac_product_is_deep(p, depths[i])) {
            add_choice(p, all, (tile_choice){rows, vectors, depths[i], 0});
        }
    }
    const int64_t blocks = (p->m + rows - 1) / rows;
    for (int64_t chunk = 1; chunk < blocks; chunk *= 4) {
        add_choice(p, all, (tile_choice){rows, vectors, p->k, chunk});
    }
    add_choice(p, all, (tile_choice){rows, vectors, p->k, blocks});
}

/* The standard one, then all for whose sums, vectors of columns and number of the left there are registers.
 */
static void list_choices(const vtac_lower *l, const vtac_product *p, tile_choices *all)
{
    const vtac_product_region *r = &p->regions[0];
    const int64_t registers = (int64_t)l->program->target->vector_count;
    const int64_t columns = (p->n + r->lanes - 1) / r->lanes;
    const bool deep = vtac_product_is_deep(p, p->depth);
    add_choice(p, all,
               (tile_choice){r->block, r->vectors, deep ? p->depth : p->k,
                             deep ? 0 : vtac_product_chunk(l, p, r->block)});
    for (int64_t vectors = 1; vectors <= VTAC_PRODUCT_VECTORS && vectors <= columns; vectors++) {
        for (int64_t rows = 1; rows <= p->m && rows * vectors + vectors + 1 <= registers; rows++) {
            const int64_t blocks = (p->m + rows - 1) / rows;
            if ((p->m + blocks - 1) / blocks == rows) { /* not more than as many blocks need */
                add_depths(p, all, rows, vectors);
            }
        }
    }
}

/* Half cycles for all regions: two products and two loads a cycle, and what is asked for early is a load. */
static double cost_of_regions(const vtac_product *p)
{
    double cost = 0.0;
    for (uint32_t i = 0; i < p->region_count; i++) {
        const vtac_product_region *r = &p->regions[i];
        const double sums = (double)(r->block * r->vectors);
        const double step = fmax(fmax(sums, 8.0), (double)(r->block + 2 * r->vectors + 1));
        const double tiles = (double)((p->m + r->block - 1) / r->block * r->tiles);
        cost += tiles * ((double)p->k * step + 3.0 * sums + 12.0);
    }
    return cost;
}

void vtac_product_choose(const vtac_lower *l, vtac_product *p)
{
    const int64_t registers = (int64_t)l->program->target->vector_count;
    if (!vtac_is_wide_x86(l) || !p->tiled || vtac_dtype_kind(p->type) != 'f' || p->m < VTAC_MIN_TILED ||
        p->once) {
        return;
    }
    const int64_t columns = (p->n + p->regions[0].lanes - 1) / p->regions[0].lanes;
    double best = 0.99 * cost_of_regions(p); /* what is as good may stay */
    vtac_product chosen = *p;
    for (int64_t vectors = 2; vectors <= VTAC_PRODUCT_VECTORS && vectors <= columns; vectors++) {
        for (int64_t rows = 4; rows <= MAX_LEFT && rows * vectors + vectors + 1 <= registers; rows++) {
            p->tile_rows = rows;
            p->tile_vectors = vectors;
            vtac_product_plan(l, p);
            const double cost = cost_of_regions(p);
            if (cost < best) {
                best = cost;
                chosen = *p;
            }
        }
    }
    *p = chosen;
    const int64_t wide = p->regions[0].lanes * p->regions[0].vectors * (int64_t)vtac_dtype_bytes(p->type);
    const int64_t max = VTAC_PRODUCT_NEAREST / wide;
    p->depth = max < p->depth ? max : p->depth;
}

bool vtac_product_ask(const vtac_lower *l, vtac_product *p)
{
    char shape[224];
    tile_choices *all = calloc(1, sizeof *all);
    if (all == NULL) {
        return false; /* the standard one will do */
    }
    list_choices(l, p, all);
    (void)snprintf(shape, sizeof shape,
                   "float%zu m%" PRId64 " k%" PRId64 " n%" PRId64 " batches%" PRId64 " right%" PRId64
                   " turned%d%d known%d fused%u",
                   8 * vtac_dtype_bytes(p->type), p->m, p->k, p->n, vtac_type_elements(&p->lead),
                   vtac_product_matrices(&p->b_type), p->a_transposed, p->b_transposed, p->known,
                   l->chain_count);
    const vtac_kernel_space space = {.kernel = "product",
                                     .shape = shape,
                                     .step = l->node->name,
                                     .points = (const char(*)[VTAC_POINT_TEXT])all->points,
                                     .guesses = all->guesses,
                                     .count = all->count};
    const uint32_t point = vtac_schedule_pick(l->program->schedules, &space);
    const tile_choice c = all->items[point];
    free(all);
    if (point != space.standard) {
        p->tile_rows = c.rows;
        p->tile_vectors = c.vectors;
        p->depth = c.depth;
        p->chunk = c.chunk;
    }
    return point != space.standard;
}
