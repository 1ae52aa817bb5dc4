/* SPDX-License-Identifier: Apache-2.0
 *
 * Concatenations whose inputs begin in the middle of a block: the array moves the channels, with weights that
 * are 1 where a channel goes and 0 elsewhere; scale and zero point are those of each lane.
 */
#include <stdlib.h>

#include "sched.h"

/* One step of the array: a block of an input into a block of the output. */
typedef struct move {
    int64_t out;    /* output block */
    uint32_t input; /* which of the layer's */
    int64_t block;  /* input block of it */
} move;

static int64_t channels(const plan *p, uint32_t input)
{
    return p->region->tensors[p->layer->inputs[input]].c;
}

bool concat_is_aligned(const plan *p)
{
    int64_t first = 0;
    bool aligned = true;
    for (uint32_t k = 0; k < p->layer->input_count; k++) {
        aligned = aligned && first % p->machine->block == 0;
        first += channels(p, k);
    }
    return aligned;
}

/* The steps that make output block `o`. `moves` may be NULL: their number. */
static int64_t moves_into(const plan *p, int64_t o, move *moves)
{
    const machine *m = p->machine;
    const int64_t begin = o * m->block_out, end = begin + m->block_out;
    int64_t count = 0, first = 0;
    for (uint32_t k = 0; k < p->layer->input_count; first += channels(p, k++)) {
        const int64_t from = most(begin - first, 0), to = least(end - first, channels(p, k));
        for (int64_t i = from / m->block_in; from < to && i * m->block_in < to; i++, count++) {
            if (moves != NULL) {
                moves[count] = (move){o, k, i};
            }
        }
    }
    if (count == 0) { /* lanes beyond the last channel, which are stored all the same */
        if (moves != NULL) {
            moves[0] = (move){o, 0, 0};
        }
        count = 1;
    }
    return count;
}

/* Those that make a tile block. */
static int64_t moves_of(const plan *p, int64_t tile_block, move *moves)
{
    const int64_t ro = p->machine->ro;
    int64_t count = 0;
    for (int64_t o = tile_block * ro; o < (tile_block + 1) * ro; o++) {
        count += moves_into(p, o, moves != NULL ? moves + count : NULL);
    }
    return count;
}

static int64_t tile_blocks(const plan *p)
{
    return ceil_div(p->region->tensors[p->layer->output].c, p->machine->block);
}

vta_status concat_plan(const machine *m, const vtac_vta_region *region, uint32_t number, plan *out,
                       vta_diag *diag)
{
    plan_init(m, region, number, out);
    if (concat_is_aligned(out)) {
        return elementwise_plan(m, region, number, out, diag);
    }
    const vtac_vta_tensor *to = &region->tensors[out->layer->output];
    int64_t widest = 1, all = 0;
    for (int64_t t = 0; t < tile_blocks(out); t++) {
        const int64_t count = moves_of(out, t, NULL);
        widest = most(widest, count);
        all += count;
    }
    const int64_t pixels = to->h * to->w, fixed = 4 * m->ro;
    int64_t run = least(m->inp / 2 / (widest * m->ri), (m->acc - fixed) / 3 / m->ro);
    run = least(run, pixels);
    if (run < 1 || widest * 2 > m->wgt) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "%lld pieces of channels meet in one block; that needs larger LOG_INP_BUFF_SIZE or "
                        "LOG_WGT_BUFF_SIZE",
                        (long long)widest);
    }
    out->concat = (concat_tiling){.widest = widest, .run = ceil_div(pixels, most(1, ceil_div(pixels, run)))};
    const int64_t written = out->images * tile_blocks(out) * pixels * m->batch * m->block;
    const int64_t read =
        out->images * all * pixels * m->batch * m->block_in + all * m->block_in * m->block_out;
    out->units = (load_of_units){.array = (uint64_t)(out->images * all * pixels),
                                 .alu = (uint64_t)(out->images * tile_blocks(out) * m->ro * pixels),
                                 .load = (uint64_t)(read / m->beat),
                                 .store = (uint64_t)(written / m->beat),
                                 .bytes_read = (uint64_t)read,
                                 .bytes_written = (uint64_t)written};
    out->cycles = cycles_of(&out->units);
    return VTA_OK;
}

static void pack_move(const plan *p, const move *one, int8_t *to)
{
    const machine *m = p->machine;
    int64_t first = 0;
    for (uint32_t k = 0; k < one->input; k++) {
        first += channels(p, k);
    }
    for (int64_t i = 0; i < m->block_in; i++) {
        const int64_t channel = one->block * m->block_in + i;
        const int64_t lane = first + channel - one->out * m->block_out;
        if (channel < channels(p, one->input) && lane >= 0 && lane < m->block_out) {
            to[lane * m->block_in + i] = 1;
        }
    }
}

static void pack_params(const plan *p, int32_t *entries)
{
    const machine *m = p->machine;
    const int64_t lanes = m->batch * m->block_out;
    int64_t c = 0;
    for (uint32_t k = 0; k < p->layer->input_count; k++) {
        const vtac_fixed scale = p->layer->scales[k];
        for (int64_t i = 0; i < channels(p, k); i++, c++) {
            for (int64_t b = 0; b < m->batch; b++) {
                int32_t *lane = entries + c / m->block_out * 2 * lanes + b * m->block_out + c % m->block_out;
                lane[0] = -p->region->tensors[p->layer->inputs[k]].zero;
                lane[lanes] = vta_requant_scale(scale.mult, scale.shift);
            }
        }
    }
}

vta_status concat_pack(plan *p, blob *to, vta_diag *diag)
{
    if (concat_is_aligned(p)) {
        return elementwise_pack(p, to, diag);
    }
    const vta_config *config = p->machine->config;
    const uint64_t wgt = config->elem_bytes[VTA_MEM_WGT], acc = config->elem_bytes[VTA_MEM_ACC];
    move *moves = calloc((size_t)p->concat.widest, sizeof *moves);
    bool good = moves != NULL;
    uint64_t offset = 0;
    for (int64_t t = 0; good && t < tile_blocks(p); t++) {
        const int64_t count = moves_of(p, t, moves);
        int8_t *tiles = (int8_t *)blob_add(to, (uint64_t)count * wgt, wgt, &offset);
        p->at.weights = t == 0 ? (int64_t)(offset / wgt) : p->at.weights;
        good = tiles != NULL;
        for (int64_t i = 0; good && i < count; i++) {
            pack_move(p, &moves[i], tiles + i * (int64_t)wgt);
        }
    }
    free(moves);
    int32_t *entries = NULL;
    if (good) {
        const uint64_t blocks = (uint64_t)(tile_blocks(p) * p->machine->ro);
        entries = (int32_t *)(void *)blob_add(to, blocks * 2 * acc, acc, &offset);
    }
    if (entries == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for the constants of layer '%s'", p->layer->name);
    }
    p->at.params = (int64_t)(offset / acc);
    pack_params(p, entries);
    return VTA_OK;
}

typedef struct concat_emitter {
    const plan *p;
    step_list *list;
    move *moves;   /* of the tile block, owned */
    vta_uop *uops; /* owned */
    int64_t pieces;
} concat_emitter;

static void load_row(concat_emitter *e, vta_memory memory, int64_t sram, uint32_t buffer, int64_t from,
                     int64_t count)
{
    list_load(e->list, &(vta_load2d){.memory = memory,
                                     .sram = sram,
                                     .buffer = {buffer},
                                     .offset = from,
                                     .y_size = 1,
                                     .x_size = count,
                                     .x_stride = count});
}

/* Loads the input of step i, a run of pixels and returns its first entry. */
static int64_t load_source(concat_emitter *e, int64_t i, int64_t image, int64_t pixel, int64_t count)
{
    const plan *p = e->p;
    const machine *m = p->machine;
    const move *one = &e->moves[i];
    const vtac_vta_tensor *in = &p->region->tensors[p->layer->inputs[one->input]];
    const int64_t blocks = ceil_div(in->c, m->block), tile_block = one->block / m->ri;
    const int64_t half = e->pieces % 2 * (m->inp / 2), sram = half + i * p->concat.run * m->ri;
    const int64_t first = ((image * blocks + tile_block) * in->h * in->w + pixel) * m->ri;
    load_row(e, VTA_MEM_INP, sram, WORK_BUFFER,
             (int64_t)in->offset / m->config->elem_bytes[VTA_MEM_INP] + first, count * m->ri);
    return sram + one->block % m->ri;
}

static void emit_run(concat_emitter *e, int64_t t, int64_t image, int64_t pixel, int64_t wgt)
{
    const plan *p = e->p;
    const machine *m = p->machine;
    const vtac_vta_tensor *to = &p->region->tensors[p->layer->output];
    const int64_t fixed = 4 * m->ro, pixels = to->h * to->w, count = least(p->concat.run, pixels - pixel);
    const int64_t acc = fixed + e->pieces % 3 * p->concat.run * m->ro, params = t % 2 * 2 * m->ro;
    const list_range range = {acc, count * m->ro};
    const int64_t steps = moves_of(p, t, e->moves);
    for (int64_t i = 0; i < steps; i++) {
        e->uops[i] = (vta_uop){.dst = (uint32_t)(acc + e->moves[i].out % m->ro),
                               .src = (uint32_t)load_source(e, i, image, pixel, count),
                               .aux = (uint32_t)(wgt + i)};
    }
    list_gemm(e->list,
              &(vta_gemm){.kernel = list_kernel_of(e->list, e->uops, (uint32_t)steps),
                          .init = true,
                          .iter_out = 1,
                          .iter_in = count,
                          .dst_in = count > 1 ? m->ro : 0,
                          .src_in = count > 1 ? m->ri : 0},
              range);
    for (int64_t r = 0; r < m->ro; r++) {
        list_requant(e->list,
                     &(vta_requant){.dst = acc + r,
                                    .src = acc + r,
                                    .params = params / 2 + r,
                                    .iter_out = 1,
                                    .iter_in = count,
                                    .dst_in = count > 1 ? m->ro : 0,
                                    .src_in = count > 1 ? m->ro : 0,
                                    .zero_point = to->zero,
                                    .low = p->layer->low,
                                    .high = p->layer->high},
                     range, range);
    }
    list_store(e->list, &(vta_store2d){.sram = acc,
                                       .buffer = {WORK_BUFFER},
                                       .offset = (int64_t)to->offset / m->config->elem_bytes[VTA_MEM_OUT] +
                                                 ((image * tile_blocks(p) + t) * pixels + pixel) * m->ro,
                                       .y_size = 1,
                                       .x_size = count * m->ro,
                                       .x_stride = count * m->ro});
    e->pieces++;
}

static void emit_tiles(concat_emitter *e)
{
    const plan *p = e->p;
    const machine *m = p->machine;
    const vtac_vta_tensor *to = &p->region->tensors[p->layer->output];
    int64_t weights = p->at.weights;
    for (int64_t t = 0; t < tile_blocks(p); t++) {
        const int64_t steps = moves_of(p, t, NULL), wgt = t % 2 * (m->wgt / 2);
        load_row(e, VTA_MEM_WGT, wgt, CONSTANTS_BUFFER, weights, steps);
        load_row(e, VTA_MEM_ACC, t % 2 * 2 * m->ro, CONSTANTS_BUFFER, p->at.params + t * 2 * m->ro,
                 2 * m->ro);
        weights += steps;
        for (int64_t image = 0; image < p->images; image++) {
            for (int64_t pixel = 0; pixel < to->h * to->w; pixel += p->concat.run) {
                emit_run(e, t, image, pixel, wgt);
            }
        }
    }
    list_flush(e->list);
}

vta_status concat_emit(const plan *p, step_list *list, vta_diag *diag)
{
    if (concat_is_aligned(p)) {
        return elementwise_emit(p, list, diag);
    }
    concat_emitter e = {.p = p,
                        .list = list,
                        .moves = calloc((size_t)p->concat.widest, sizeof *e.moves),
                        .uops = calloc((size_t)p->concat.widest, sizeof *e.uops)};
    if (e.moves != NULL && e.uops != NULL) {
        emit_tiles(&e);
    }
    const bool good = e.moves != NULL && e.uops != NULL && !list->failed;
    free(e.moves);
    free(e.uops);
    return good ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory to schedule layer '%s'", p->layer->name);
}
