/* SPDX-License-Identifier: Apache-2.0
 *
 * Movements of whole blocks of channels (vtac/vta.h, RUNS): read from the sources of all numbers, as move.c
 * finds them.
 */
#include "partition.h"
#include "vta/number.h"

typedef struct block_finder {
    const vtac_sources *s;
    int64_t block, pixels, blocks; /* of the output */
    int64_t shape[4];
    int64_t *runs;
    size_t count;
} block_finder;

static int64_t pixels_of(const int64_t shape[4])
{
    return shape[2] * shape[3];
}

/* The tile of an input from which a lane comes that is `lane` there, too; input -1: no number, -2: another
 * lane. */
static vtac_vta_run tile_behind(const block_finder *f, int64_t number, int64_t lane)
{
    vtac_vta_run tile = {.input = -1, .count = 1};
    int64_t own[4], rest = number - 1;
    if (number == 0) {
        return tile;
    }
    for (tile.input = 0; rest >= vtac_type_elements(f->s->bases[tile.input]); tile.input++) {
        rest -= vtac_type_elements(f->s->bases[tile.input]);
    }
    (void)vtac_image_shape(f->s->bases[tile.input], own);
    const int64_t pixel = rest % pixels_of(own), channel = rest / pixels_of(own) % own[1];
    const int64_t image = rest / pixels_of(own) / own[1];
    tile.from = (image * vta_ceil_div(own[1], f->block) + channel / f->block) * pixels_of(own) + pixel;
    tile.input = channel % f->block == lane ? tile.input : -2;
    return tile;
}

/* The tile from which all lanes of an output tile come. */
static bool tile_of(const block_finder *f, int64_t at, vtac_vta_run *out)
{
    const int64_t pixel = at % f->pixels, block = at / f->pixels % f->blocks,
                  image = at / f->pixels / f->blocks;
    const int64_t lanes = vta_min(f->block, f->shape[1] - block * f->block);
    bool same = true;
    for (int64_t lane = 0; same && lane < lanes; lane++) {
        const int64_t channel = block * f->block + lane;
        const vtac_vta_run own =
            tile_behind(f, f->s->numbers[(image * f->shape[1] + channel) * f->pixels + pixel], lane);
        *out = lane == 0 ? own : *out;
        same = own.input != -2 && own.input == out->input && own.from == out->from;
    }
    return same;
}

static void add_tile(block_finder *f, const vtac_vta_run *tile)
{
    int64_t *last = f->runs + VTAC_RUN_INTS * (f->count > 0 ? f->count - 1 : 0);
    const bool follows = tile->input < 0 || tile->from == last[1] + last[2];
    if (f->count > 0 && last[0] == tile->input && follows) {
        last[2]++;
        return;
    }
    int64_t *next = f->runs + VTAC_RUN_INTS * f->count++;
    next[0] = tile->input;
    next[1] = tile->from;
    next[2] = 1;
}

bool vtac_find_runs(const vtac_sources *sources, int64_t block, int64_t *runs, size_t *count)
{
    block_finder f = {.s = sources, .block = block};
    (void)vtac_image_shape(sources->to, f.shape);
    f.pixels = pixels_of(f.shape);
    f.blocks = vta_ceil_div(f.shape[1], block);
    f.runs = runs;
    bool found = true;
    for (int64_t at = 0; found && at < f.shape[0] * f.blocks * f.pixels; at++) {
        vtac_vta_run tile = {0};
        found = tile_of(&f, at, &tile);
        if (found) {
            add_tile(&f, &tile);
        }
    }
    *count = f.count;
    return found;
}

int64_t vtac_max_runs(const vtac_type *to, int64_t block)
{
    int64_t shape[4];
    (void)vtac_image_shape(to, shape);
    return shape[0] * vta_ceil_div(shape[1], block) * pixels_of(shape);
}
