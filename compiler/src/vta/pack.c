/* SPDX-License-Identifier: Apache-2.0
 *
 * The constants of a convolution in the order in which its calls load them: weights by chunks (a group of
 * output blocks over a part of the input), each in the order of its kernels' micro-ops; then the parameters.
 */
#include <stdlib.h>

#include <string.h>

#include "sched.h"
#include "vta/number.h"

static int64_t chunk_count(const conv *c, const tiling *t)
{
    return (c->alike ? 1 : t->groups) * t->parts;
}

int64_t *vtac_vta_chunk_table(const conv *c, const tiling *t)
{
    int64_t *table = calloc((size_t)(t->groups * t->parts + 1), sizeof *table);
    for (int64_t i = 0; table != NULL && i < chunk_count(c, t); i++) {
        const int64_t group = i / t->parts;
        const part p = vtac_vta_tiling_part(c, t, group, i % t->parts);
        const bool own = vtac_vta_chunk_of(c, t, group, i % t->parts) == i;
        table[i + 1] = table[i] + (own ? vtac_vta_chunk_entries(c, t, group, &p) : 0);
    }
    return table;
}

/* A tile of weights: the first output of its block, its input block, a plane, a tap. */
typedef struct weight_tile {
    int64_t phase, out, in_block, plane, ky, kx;
} weight_tile;

static void pack_tile(const conv *c, int8_t *to, const weight_tile *at)
{
    const machine *m = c->machine;
    const int64_t lanes = c->twice ? m->block_out : m->block_in; /* of one output block */
    for (int64_t o = 0; o < m->block_out; o++) {
        for (int64_t i = 0; i < m->block_in; i++) {
            const int64_t out = at->out + i / lanes * m->block_out + o;
            int32_t v = out < c->c_out
                            ? vtac_vta_conv_weight(c, at->phase * c->c_out + out,
                                                   at->in_block * m->block_in + i % lanes, at->ky, at->kx)
                            : 0;
            for (int64_t p = 0; p < at->plane; p++) {
                v -= v > INT8_MAX ? INT8_MAX : v < INT8_MIN ? INT8_MIN : v;
            }
            to[o * m->block_in + i] = (int8_t)(v > INT8_MAX ? INT8_MAX : v < INT8_MIN ? INT8_MIN : v);
        }
    }
}

/* The weight of lane i of a block for a tap. Where pixels of the input are merged, a lane belongs to one of
 * them, and each output block has an entry of its own. */
static int32_t lane_weight(const conv *c, int64_t block, int64_t i, int64_t ky, int64_t kx)
{
    const int64_t own = block * c->machine->block_in + i;
    return c->lanes > 0 ? vtac_vta_conv_weight(c, block * c->lanes + i % c->lanes, i, ky, kx)
                        : vtac_vta_conv_weight(c, own, own, ky, kx);
}

/* Packs the taps of a block's window piece, one tap in a row. */
static void pack_window(const conv *c, const part *p, int8_t *to, int64_t block, int64_t index)
{
    const window_piece piece = vtac_vta_piece_of(c, p, index);
    const int64_t size = c->machine->block_in;
    for (int64_t tap = 0; tap < piece.rows * piece.cols; tap++) {
        const int64_t row = tap / piece.cols, column = tap % piece.cols;
        const int64_t ky = p->ky + piece.y + row, kx = p->kx + piece.x + column;
        if (row < piece.fresh_y || column < piece.fresh_x) {
            memset(to + tap * size, 0, (size_t)size);
            continue;
        }
        for (int64_t i = 0; i < size; i++) {
            to[tap * size + i] = (int8_t)lane_weight(c, block, i, ky, kx);
        }
    }
}

/* Packs one chunk, in the order of its kernels' micro-ops; returns its end. */
static int8_t *pack_chunk(const conv *c, const tiling *t, int64_t group, int64_t index, int8_t *to)
{
    const part p = vtac_vta_tiling_part(c, t, group, index);
    const reach r = vtac_vta_part_reach(c, t, group, &p);
    const int64_t entry = c->machine->block_in * c->machine->block_out;
    for (int64_t k = 0; c->depthwise && k < vtac_vta_chunk_entries(c, t, group, &p); k++, to += entry) {
        const int64_t pieces =
            c->alike ? vtac_vta_chunk_entries(c, t, group, &p) : vtac_vta_piece_count(c, p.kys, p.kxs);
        const int64_t block = (c->lanes > 0 ? group * t->group : group * t->group / c->ro) + k / pieces;
        pack_window(c, &p, to, block, vtac_vta_piece_of_kind(c, &p, k % pieces));
    }
    const int64_t filled = c->depthwise ? 0 : vtac_vta_filled_blocks(c, t, group);
    const int64_t each = c->twice ? 2 : 1; /* output blocks of a tile */
    for (int64_t n = 0; n < vta_ceil_div(filled, each) * c->phases; n++) {
        for (int64_t k = 0; k < vtac_vta_part_entries(c, t, group, &p); k++, to += entry) {
            const int64_t taps = p.kys * p.kxs, tap = k % taps;
            pack_tile(c, to,
                      &(weight_tile){.phase = n % c->phases,
                                     .out = (group * t->group + n / c->phases * each) * c->machine->block_out,
                                     .in_block = r.first + k / taps / c->planes,
                                     .plane = k / taps % c->planes,
                                     .ky = p.ky + tap / p.kxs,
                                     .kx = p.kx + tap % p.kxs});
        }
    }
    return to;
}

/* Packs the constants of a joined sum, the same in all lanes. */
static vta_status pack_sum(plan *p, blob *to, vta_diag *diag)
{
    const conv *c = &p->conv;
    const int64_t element = c->machine->config->elem_bytes[VTA_MEM_ACC], lanes = element / 4;
    const vtac_vta_layer *sum = c->sum;
    const int64_t count = sum_constants(sum);
    const int32_t bias = -(c->zero_out * c->factor + c->region->tensors[c->other].zero * c->other_factor) +
                         (sum->bias != NULL ? sum->bias[0] : 0);
    uint64_t offset;
    int32_t *entry =
        (int32_t *)(void *)vtac_vta_blob_add(to, (uint64_t)(count * element), (uint64_t)element, &offset);
    if (entry == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for the constants of layer '%s'", sum->name);
    }
    int32_t *factors = entry + record_entries(sum->wide) * lanes;
    for (int64_t i = 0; i < lanes; i++) {
        vtac_vta_record_fill(entry + i, lanes, sum->wide, bias, sum_scale(sum));
        factors[i] = c->factor;
        factors[lanes + i] = c->other_factor;
    }
    p->at.sum = (int64_t)offset / element;
    return VTA_OK;
}

/* Packs the record of a joined pool of means. */
static vta_status pack_mean(plan *p, blob *to, vta_diag *diag)
{
    conv mean;
    const conv *c = &p->conv;
    const uint64_t element = c->machine->config->elem_bytes[VTA_MEM_ACC];
    uint64_t offset;
    vtac_vta_conv_of(c->machine, c->region, (uint32_t)(c->pool - c->region->layers), &mean);
    int32_t *record =
        (int32_t *)(void *)vtac_vta_blob_add(to, (uint64_t)mean.record * element, element, &offset);
    if (record == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for the constants of layer '%s'", c->pool->name);
    }
    vtac_vta_conv_params(&mean, record);
    p->at.sum = (int64_t)(offset / element);
    return VTA_OK;
}

/* The order of REQUANT: the results for 0 … 127, then for -128 … -1. */
vta_status vtac_vta_table_pack(plan *p, const vtac_vta_layer *layer, const int8_t *table, blob *to,
                               vta_diag *diag)
{
    uint64_t offset;
    int8_t *bytes = (int8_t *)vtac_vta_blob_add(to, TABLE_BYTES, TABLE_BYTES, &offset);
    const bool clamps = layer->kind == VTAC_VTA_TABLE; /* other layers clamp before the table */
    if (bytes == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for the constants of layer '%s'", layer->name);
    }
    for (int i = 0; i < TABLE_BYTES; i++) {
        const int8_t q = table[(i + 128) % TABLE_BYTES];
        bytes[i] = clamps ? (int8_t)vta_min(vta_max(q, layer->low), layer->high) : q;
    }
    p->at.table = (int64_t)offset;
    return VTA_OK;
}

static void pack_chunks(const conv *c, const tiling *t, int8_t *tiles)
{
    for (int64_t i = 0; i < chunk_count(c, t); i++) {
        const bool own = vtac_vta_chunk_of(c, t, i / t->parts, i % t->parts) == i;
        tiles = own ? pack_chunk(c, t, i / t->parts, i % t->parts, tiles) : tiles;
    }
}

/* Packs weights of four bits: tiles of `bytes` bytes altogether, two weights in each, the lower one first. */
static bool pack_narrow(const conv *c, const tiling *t, uint64_t bytes, int8_t *to)
{
    int8_t *tiles = calloc(2 * bytes + 1, 1);
    if (tiles == NULL) {
        return false;
    }
    pack_chunks(c, t, tiles);
    for (uint64_t i = 0; i < bytes; i++) {
        to[i] = (int8_t)((tiles[2 * i] & 15) | (tiles[2 * i + 1] & 15) << 4);
    }
    free(tiles);
    return true;
}

vta_status vtac_vta_conv_pack(plan *p, blob *to, vta_diag *diag)
{
    const conv *c = &p->conv;
    const tiling *t = &p->tiling;
    const vta_config *config = c->machine->config;
    const uint64_t wgt = config->elem_bytes[conv_form(c)], acc = config->elem_bytes[VTA_MEM_ACC];
    int64_t *chunks = vtac_vta_chunk_table(c, t);
    uint64_t weights = 0, params = 0, count = 0;
    int8_t *tiles = NULL;
    if (chunks != NULL) {
        count = conv_packed(c) ? 0 : (uint64_t)chunks[chunk_count(c, t)];
        tiles = (int8_t *)vtac_vta_blob_add(to, count * wgt, wgt, &weights);
    }
    free(chunks);
    const bool fills = tiles != NULL && !to->places_only && !conv_packed(c);
    if (fills && !c->narrow) {
        pack_chunks(c, t, tiles);
    } else if (fills && !pack_narrow(c, t, count * wgt, tiles)) {
        tiles = NULL;
    }
    int32_t *entries =
        tiles != NULL
            ? (int32_t *)(void *)vtac_vta_blob_add(to, (uint64_t)(c->pairs * c->record) * acc, acc, &params)
            : NULL;
    if (entries == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for the weights of layer '%s'", c->layer->name);
    }
    if (!to->places_only) {
        vtac_vta_conv_params(c, entries);
    }
    p->at = (constants){.weights = (int64_t)(weights / wgt), .params = (int64_t)(params / acc)};
    VTA_TRY(c->sum != NULL ? pack_sum(p, to, diag) : VTA_OK);
    VTA_TRY(c->mean_record > 0 ? pack_mean(p, to, diag) : VTA_OK);
    const vtac_vta_layer *looks_up = conv_table(c);
    return looks_up != NULL ? vtac_vta_table_pack(p, looks_up, looks_up->behind, to, diag) : VTA_OK;
}
