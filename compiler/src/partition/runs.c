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

/* True if a lane of a tile holds the number of lanes without a source. */
static bool is_filled(const block_finder *f, const vtac_vta_run *tile, int64_t lane)
{
    int64_t own[4];
    (void)vtac_image_shape(f->s->bases[tile->input], own);
    const int64_t channel = tile->from / pixels_of(own) % vta_ceil_div(own[1], f->block) * f->block + lane;
    return f->s->filled[tile->input][channel < own[1] ? channel : own[1]];
}

/* The number of the source of a lane of an output tile. */
static int32_t number_at(const block_finder *f, int64_t at, int64_t lane)
{
    const int64_t block = at / f->pixels % f->blocks, image = at / f->pixels / f->blocks;
    return f->s->numbers[(image * f->shape[1] + block * f->block + lane) * f->pixels + at % f->pixels];
}

/* The tile from which all lanes of an output tile come; lanes without a source may be of another tile where
 * that holds their number. */
static bool tile_of(const block_finder *f, int64_t at, vtac_vta_run *out)
{
    const int64_t lanes = vta_min(f->block, f->shape[1] - at / f->pixels % f->blocks * f->block);
    bool same = true;
    *out = (vtac_vta_run){.input = -1, .count = 1};
    for (int64_t lane = 0; same && lane < lanes; lane++) {
        const vtac_vta_run own = tile_behind(f, number_at(f, at, lane), lane);
        *out = out->input < 0 ? own : *out;
        same = own.input != -2 && (own.input == -1 || (own.input == out->input && own.from == out->from));
    }
    for (int64_t lane = 0; same && out->input >= 0 && lane < lanes; lane++) {
        same = number_at(f, at, lane) != 0 || is_filled(f, out, lane);
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
