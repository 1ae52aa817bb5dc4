/* SPDX-License-Identifier: Apache-2.0
 *
 * Transpositions: the pixels of the input become channels, and its channels pixels. A block of as many pixels
 * as the array has outputs is one entry of WGT where it lies: output o of the entry is a pixel, and input i a
 * channel. The product with the unit matrix therefore has channels as its pixels. Products are single bytes,
 * so the sums are stored as they are.
 *
 * Two slots of WGT and of ACC are filled in turn; INP holds the unit matrix.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "sched.h"
#include "vta/number.h"

enum { TWO = 2 };

static const vtac_vta_tensor *tensor_in(const plan *p)
{
    return &p->region->tensors[p->layer->inputs[0]];
}

static const vtac_vta_tensor *tensor_out(const plan *p)
{
    return &p->region->tensors[p->layer->output];
}

vta_status vtac_vta_rule_transpose(const machine *m, const vtac_vta_region *region, uint32_t number,
                                   vta_diag *diag)
{
    const vtac_vta_tensor *in = &region->tensors[region->layers[number].inputs[0]];
    if (m->batch > 1 || m->block_in != m->block_out) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "it makes channels of pixels, and this machine has blocks of %" PRId64 "x%" PRId64
                        "x%" PRId64
                        "; use a configuration with LOG_BATCH 0 and LOG_BLOCK_IN equal to LOG_BLOCK_OUT",
                        m->batch, m->block_in, m->block_out);
    }
    if (in->h * in->w % m->block != 0) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "it makes channels of %" PRId64 " pixels, which is no multiple of %" PRId64
                        "; pad the image",
                        in->h * in->w, m->block);
    }
    return VTA_OK;
}

vta_status vtac_vta_transpose_plan(const machine *m, const vtac_vta_region *region, uint32_t number,
                                   plan *out, vta_diag *diag)
{
    vtac_vta_plan_init(m, region, number, out);
    transpose_tiling *t = &out->transpose;
    t->in_blocks = vta_ceil_div(tensor_in(out)->c, m->block);
    t->out_blocks = tensor_in(out)->h * tensor_in(out)->w / m->block;
    const int64_t room = vta_min(vta_min(m->wgt, m->uop) / TWO, m->acc / TWO / m->block);
    if (room < 1 || m->inp < m->block) {
        return vta_fail(diag, VTA_RANGE, "layer '%s' does not fit the buffers; larger ones would help",
                        out->layer->name);
    }
    t->outs = vta_min(t->out_blocks, room);
    t->ins = vta_min(t->in_blocks, room / t->outs);
    const int64_t tiles = out->images * t->in_blocks * t->out_blocks;
    const uint64_t bytes = (uint64_t)(tiles * m->config->elem_bytes[VTA_MEM_WGT]);
    out->units = (load_of_units){.array = (uint64_t)(tiles * m->block),
                                 .load = bytes / (uint64_t)m->beat,
                                 .store = bytes / (uint64_t)m->beat,
                                 .bytes_read = bytes,
                                 .bytes_written = bytes};
    out->cycles = vtac_vta_units_cycles(&out->units);
    return VTA_OK;
}

vta_status vtac_vta_transpose_pack(plan *p, blob *to, vta_diag *diag)
{
    const int64_t size = p->machine->block, element = p->machine->config->elem_bytes[VTA_MEM_INP];
    uint64_t offset;
    uint8_t *unit = vtac_vta_blob_add(to, (uint64_t)(size * element), (uint64_t)element, &offset);
    if (unit == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for the constants of layer '%s'", p->layer->name);
    }
    for (int64_t i = 0; i < size; i++) {
        unit[i * element + i] = 1;
    }
    p->at.weights = (int64_t)offset / element;
    return VTA_OK;
}

typedef struct transpose_emitter {
    const plan *p;
    step_list *list;
    vta_uop *uops; /* room for a kernel, owned */
    int64_t pieces;
} transpose_emitter;

/* Blocks of the input: of channels, and of pixels. */
typedef struct transpose_piece {
    int64_t image, in, ins, out, outs;
    int64_t wgt, acc; /* first entries */
} transpose_piece;

static void load_piece(const transpose_emitter *e, const transpose_piece *at)
{
    const plan *p = e->p;
    const transpose_tiling *t = &p->transpose;
    const int64_t first = (at->image * t->in_blocks + at->in) * t->out_blocks + at->out;
    vtac_vta_list_load(e->list, &(vta_load2d){.memory = VTA_MEM_WGT,
                                              .sram = at->wgt,
                                              .buffer = {WORK_BUFFER},
                                              .offset = (int64_t)tensor_in(p)->offset /
                                                            p->machine->config->elem_bytes[VTA_MEM_WGT] +
                                                        first,
                                              .y_size = at->ins,
                                              .x_size = at->outs,
                                              .x_stride = t->out_blocks});
}

static void multiply_piece(const transpose_emitter *e, const transpose_piece *at)
{
    const int64_t size = e->p->machine->block, count = at->ins * at->outs;
    for (int64_t k = 0; k < count; k++) {
        const int64_t in = k / at->outs, out = k % at->outs;
        e->uops[k] = (vta_uop){.dst = (uint32_t)(at->acc + (out * at->ins + in) * size),
                               .aux = (uint32_t)(at->wgt + k)};
    }
    vtac_vta_list_gemm(e->list,
                       &(vta_gemm){.kernel = vtac_vta_list_kernel_of(e->list, e->uops, (uint32_t)count),
                                   .init = true,
                                   .iter_out = 1,
                                   .iter_in = size,
                                   .dst_in = 1,
                                   .src_in = 1},
                       (list_range){at->acc, count * size});
}

/* The last block of channels may have fewer than it has room for. */
static void store_piece(const transpose_emitter *e, const transpose_piece *at)
{
    const plan *p = e->p;
    const int64_t size = p->machine->block, pixels = tensor_out(p)->h * tensor_out(p)->w;
    const int64_t count = vta_min(at->ins * size, pixels - at->in * size);
    const int64_t first = (at->image * p->transpose.out_blocks + at->out) * pixels + at->in * size;
    const int64_t rows = count == at->ins * size ? at->outs : 1;
    for (int64_t k = 0; k < at->outs; k += rows) {
        vtac_vta_list_store(e->list,
                            &(vta_store2d){.sram = at->acc + k * at->ins * size,
                                           .buffer = {WORK_BUFFER},
                                           .offset = (int64_t)tensor_out(p)->offset /
                                                         p->machine->config->elem_bytes[VTA_MEM_OUT] +
                                                     first + k * pixels,
                                           .y_size = rows,
                                           .x_size = count,
                                           .x_stride = rows > 1 ? pixels : count});
    }
}

static void emit_piece(transpose_emitter *e, int64_t image, int64_t in, int64_t out)
{
    const transpose_tiling *t = &e->p->transpose;
    const int64_t slot = e->pieces++ % TWO, tiles = t->ins * t->outs;
    const transpose_piece at = {.image = image,
                                .in = in,
                                .ins = vta_min(t->ins, t->in_blocks - in),
                                .out = out,
                                .outs = vta_min(t->outs, t->out_blocks - out),
                                .wgt = slot * tiles,
                                .acc = slot * tiles * e->p->machine->block};
    load_piece(e, &at);
    multiply_piece(e, &at);
    store_piece(e, &at);
}

vta_status vtac_vta_transpose_emit(const plan *p, step_list *list, vta_diag *diag)
{
    const transpose_tiling *t = &p->transpose;
    transpose_emitter e = {.p = p, .list = list};
    e.uops = calloc((size_t)(t->ins * t->outs), sizeof *e.uops);
    if (e.uops != NULL) {
        vtac_vta_list_load(list, &(vta_load2d){.memory = VTA_MEM_INP,
                                               .buffer = {CONSTANTS_BUFFER},
                                               .offset = p->at.weights,
                                               .y_size = 1,
                                               .x_size = p->machine->block,
                                               .x_stride = p->machine->block});
    }
    const int64_t pieces = vta_ceil_div(t->in_blocks, t->ins) * vta_ceil_div(t->out_blocks, t->outs);
    const int64_t across = vta_ceil_div(t->out_blocks, t->outs);
    for (int64_t k = 0; e.uops != NULL && k < p->images * pieces; k++) {
        emit_piece(&e, k / pieces, k % pieces / across * t->ins, k % across * t->outs);
    }
    vtac_vta_list_flush(list);
    const bool good = e.uops != NULL && !list->failed;
    free(e.uops);
    return good ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory to schedule layer '%s'", p->layer->name);
}
