/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers that go through windows of each block on the ALU: maximum pools and nearest resizing. The input is
 * loaded into ACC as int8; the padding of a pool is the smallest number.
 *
 * ACC: two slots for input in three quarters and three for output in the last quarter, so the ALU reads its
 * two operands from different quarters. A window too large for a slot is processed some rows at a time.
 */
#include <stdlib.h>

#include "sched.h"
#include "vta/number.h"

enum { IN_SLOTS = 2, OUT_SLOTS = 3 };

/* The input pixels that `pixels` outputs need along dimension d, with `taps` taps. */
static int64_t input_span(const plan *p, int d, int64_t pixels, int64_t taps)
{
    const vtac_vta_window *w = &p->layer->window;
    if (p->layer->kind == VTAC_VTA_RESIZE) {
        return pixels / w->stride[d];
    }
    return (pixels - 1) * w->stride[d] + (taps - 1) * w->dilation[d] + 1;
}

static const vtac_vta_tensor *tensor_in(const plan *p)
{
    return &p->region->tensors[p->layer->inputs[0]];
}

static const vtac_vta_tensor *tensor_out(const plan *p)
{
    return &p->region->tensors[p->layer->output];
}

static bool fits(const plan *p, const window_tiling *t)
{
    const int64_t ro = p->machine->ro;
    const int64_t in =
        input_span(p, 0, t->rows, t->part) * input_span(p, 1, t->cols, p->layer->window.kernel[1]);
    const int64_t uops = t->part * p->layer->window.kernel[1] * ro;
    /* repeated rows are only stored again */
    const int64_t out_rows =
        p->layer->kind == VTAC_VTA_RESIZE ? t->rows / p->layer->window.stride[0] : t->rows;
    return in * ro <= t->in_slot && out_rows * t->cols * ro <= t->out_slot && uops <= p->machine->uop;
}

/* The size of pieces of `total`, in multiples of `unit`, when it is cut into one piece more than now. */
static int64_t next_smaller(int64_t total, int64_t size, int64_t unit)
{
    const int64_t pieces = vta_ceil_div(total, size) + 1;
    return vta_max(unit, vta_min(size - unit, vta_ceil_div(vta_ceil_div(total, unit), pieces) * unit));
}

static vta_status choose_tiling(plan *p, vta_diag *diag)
{
    const vtac_vta_window *w = &p->layer->window;
    const bool resize = p->layer->kind == VTAC_VTA_RESIZE;
    const int64_t acc = p->machine->acc, unit[2] = {resize ? w->stride[0] : 1, resize ? w->stride[1] : 1};
    window_tiling *t = &p->window;
    *t = (window_tiling){.rows = tensor_out(p)->h,
                         .cols = tensor_out(p)->w,
                         .part = resize ? 1 : w->kernel[0],
                         .in_slot = acc / 4 * 3 / IN_SLOTS,
                         .out_slot = acc / 4 / OUT_SLOTS};
    while (!fits(p, t) && t->rows > unit[0]) {
        t->rows = next_smaller(tensor_out(p)->h, t->rows, unit[0]);
    }
    while (!fits(p, t) && t->cols > unit[1]) {
        t->cols = next_smaller(tensor_out(p)->w, t->cols, unit[1]);
    }
    while (!fits(p, t) && t->part > 1) {
        t->part--;
    }
    if (!fits(p, t)) {
        return vta_fail(
            diag, VTA_RANGE,
            "a window row of %lld pixels does not fit the accumulators; a larger LOG_ACC_BUFF_SIZE "
            "would help",
            (long long)(resize ? unit[1] : w->kernel[1]));
    }
    return VTA_OK;
}

vta_status vtac_vta_window_plan(const machine *m, const vtac_vta_region *region, uint32_t number, plan *out,
                                vta_diag *diag)
{
    vtac_vta_plan_init(m, region, number, out);
    VTA_TRY(choose_tiling(out, diag));
    const vtac_vta_tensor *in = tensor_in(out), *to = tensor_out(out);
    const vtac_vta_window *w = &out->layer->window;
    const int64_t blocks = out->images * vta_ceil_div(to->c, m->block), size = m->batch * m->block;
    const int64_t row_tiles = vta_ceil_div(to->h, out->window.rows),
                  col_tiles = vta_ceil_div(to->w, out->window.cols);
    const int64_t rows =
        vta_min(row_tiles * input_span(out, 0, out->window.rows, w->kernel[0]), in->h * row_tiles);
    const int64_t cols =
        vta_min(col_tiles * input_span(out, 1, out->window.cols, w->kernel[1]), in->w * col_tiles);
    const int64_t passes = out->layer->kind == VTAC_VTA_RESIZE ? 1 : w->kernel[0] * w->kernel[1];
    out->units = (load_of_units){.alu = (uint64_t)(blocks * to->h * to->w * passes * m->ro),
                                 .bytes_read = (uint64_t)(blocks * rows * cols * size),
                                 .bytes_written = (uint64_t)(blocks * to->h * to->w * size)};
    out->units.load = out->units.bytes_read / (uint64_t)m->beat;
    out->units.store = out->units.bytes_written / (uint64_t)m->beat;
    out->cycles = vtac_vta_units_cycles(&out->units);
    return VTA_OK;
}

vta_status vtac_vta_window_pack(plan *p, blob *to, vta_diag *diag)
{
    (void)p;
    (void)to;
    (void)diag;
    return VTA_OK; /* no constants */
}

typedef struct window_emitter {
    const plan *p;
    step_list *list;
    vta_uop *uops; /* room for a kernel, owned */
    int64_t in_pieces, pieces;
} window_emitter;

/* Loads the input of a tile for `taps` rows of the window from `ky` on; returns its first entry. */
static int64_t load_input(window_emitter *e, int64_t plane, const patch *tile, int64_t ky, int64_t taps)
{
    const plan *p = e->p;
    const vtac_vta_tensor *in = tensor_in(p);
    const vtac_vta_window *w = &p->layer->window;
    const int64_t ro = p->machine->ro, sram = p->window.first + e->in_pieces++ % IN_SLOTS * p->window.in_slot;
    const bool resize = p->layer->kind == VTAC_VTA_RESIZE;
    const int64_t y =
        resize ? tile->y / w->stride[0] : tile->y * w->stride[0] - w->before[0] + ky * w->dilation[0];
    const int64_t x = resize ? tile->x / w->stride[1] : tile->x * w->stride[1] - w->before[1];
    const extent rows = vtac_vta_extent_of(y, input_span(p, 0, tile->rows, taps), in->h);
    const extent cols = vtac_vta_extent_of(x, input_span(p, 1, tile->cols, w->kernel[1]), in->w);
    const int64_t first = (plane * in->h + rows.at) * in->w + cols.at;
    vtac_vta_list_load_padded(
        e->list, &(vta_load2d){.memory = VTA_MEM_ACC8,
                               .sram = sram,
                               .buffer = {WORK_BUFFER},
                               .offset = (int64_t)in->offset / p->machine->config->elem_bytes[VTA_MEM_ACC8] +
                                         first * ro,
                               .y_size = rows.count,
                               .x_size = cols.count * ro,
                               .x_stride = in->w * ro,
                               .y_pad_0 = rows.before,
                               .y_pad_1 = rows.after,
                               .x_pad_0 = cols.before * ro,
                               .x_pad_1 = cols.after * ro,
                               .pad_value = INT8_MIN});
    return sram;
}

/* An ALU operation over a tile's pixels; the micro-ops say the rest. */
typedef struct alu_pass {
    vta_alu_op op;
    bool use_imm;
    int64_t imm;
    uint32_t uops;
    int64_t outer, inner, dst_out, dst_in, src_out, src_in;
    list_range to, from;
} alu_pass;

static void emit_pass(window_emitter *e, const alu_pass *s)
{
    if (s->uops == 0) {
        return;
    }
    vtac_vta_list_alu(e->list,
                      &(vta_alu){.kernel = vtac_vta_list_kernel_of(e->list, e->uops, s->uops),
                                 .op = s->op,
                                 .use_imm = s->use_imm,
                                 .imm = s->imm,
                                 .iter_out = s->outer,
                                 .iter_in = s->inner,
                                 .dst_out = s->outer > 1 ? s->dst_out : 0,
                                 .dst_in = s->inner > 1 ? s->dst_in : 0,
                                 .src_out = s->outer > 1 ? s->src_out : 0,
                                 .src_in = s->inner > 1 ? s->src_in : 0},
                      s->to, s->from);
}

static void apply_immediate(window_emitter *e, vta_alu_op op, int64_t imm, int64_t at, int64_t count)
{
    e->uops[0] = (vta_uop){.dst = (uint32_t)at, .src = (uint32_t)at};
    emit_pass(e, &(alu_pass){.op = op,
                             .use_imm = true,
                             .imm = imm,
                             .uops = 1,
                             .outer = 1,
                             .inner = count,
                             .dst_in = 1,
                             .src_in = 1,
                             .to = {at, count},
                             .from = {at, count}});
}

/* Takes the maximum over `taps` rows of the window into dst; `first`: dst has no maximum yet. All taps of an
 * output follow each other, so the ALU forwards the maximum so far. */
static void emit_maximum(window_emitter *e, const patch *tile, int64_t dst, int64_t src, int64_t taps,
                         bool first)
{
    const plan *p = e->p;
    const vtac_vta_window *w = &p->layer->window;
    const int64_t ro = p->machine->ro, in_cols = input_span(p, 1, tile->cols, w->kernel[1]);
    const int64_t in_size = input_span(p, 0, tile->rows, taps) * in_cols * ro;
    alu_pass s = {.outer = tile->rows,
                  .inner = tile->cols,
                  .dst_out = tile->cols * ro,
                  .dst_in = ro,
                  .src_out = w->stride[0] * in_cols * ro,
                  .src_in = w->stride[1] * ro,
                  .to = {dst, tile->rows * tile->cols * ro},
                  .from = {src, in_size}};
    for (int64_t from = 0; from < 2; from++) {
        /* the first tap is copied */
        s.uops = 0;
        for (int64_t k = 0; k < ro * taps * w->kernel[1]; k++) {
            const int64_t r = k / (taps * w->kernel[1]), tap = k % (taps * w->kernel[1]);
            const int64_t y = tap / w->kernel[1] * w->dilation[0], x = tap % w->kernel[1] * w->dilation[1];
            if ((first && tap == 0) == (from == 0)) {
                e->uops[s.uops++] = (vta_uop){.dst = (uint32_t)(dst + r),
                                              .src = (uint32_t)(src + (y * in_cols + x) * ro + r)};
            }
        }
        s.op = from == 0 ? VTA_ALU_MOV : VTA_ALU_MAX;
        emit_pass(e, &s);
    }
}

static void emit_max_pool(window_emitter *e, int64_t plane, const patch *tile, int64_t dst)
{
    const plan *p = e->p;
    const vtac_vta_layer *layer = p->layer;
    const int64_t count = tile->rows * tile->cols * p->machine->ro;
    for (int64_t ky = 0; ky < layer->window.kernel[0]; ky += p->window.part) {
        const int64_t taps = vta_min(p->window.part, layer->window.kernel[0] - ky);
        const int64_t src = load_input(e, plane, tile, ky, taps);
        vtac_vta_list_flush(e->list);
        emit_maximum(e, tile, dst, src, taps, ky == 0);
    }
    if (layer->low > INT8_MIN) {
        apply_immediate(e, VTA_ALU_MAX, layer->low, dst, count);
    }
    if (layer->high < INT8_MAX) {
        apply_immediate(e, VTA_ALU_MIN, layer->high, dst, count);
    }
    const vtac_vta_tensor *to = tensor_out(p);
    const int64_t ro = p->machine->ro, first = (plane * to->h + tile->y) * to->w + tile->x;
    vtac_vta_list_store(
        e->list, &(vta_store2d){.sram = dst,
                                .buffer = {WORK_BUFFER},
                                .offset = (int64_t)to->offset / p->machine->config->elem_bytes[VTA_MEM_OUT] +
                                          first * ro,
                                .y_size = tile->rows,
                                .x_size = tile->cols * ro,
                                .x_stride = to->w * ro});
}

/* Copies every input pixel to `stride[1]` places of its row, and stores the row `stride[0]` times. */
static void emit_resize(window_emitter *e, int64_t plane, const patch *tile, int64_t dst)
{
    const plan *p = e->p;
    const vtac_vta_layer *layer = p->layer;
    const vtac_vta_tensor *to = tensor_out(p);
    const int64_t ro = p->machine->ro, wide = layer->window.stride[1], high = layer->window.stride[0];
    const int64_t rows = tile->rows / high, pixels = rows * (tile->cols / wide), count = pixels * wide * ro;
    const int64_t src = load_input(e, plane, tile, 0, 1);
    vtac_vta_list_flush(e->list);
    for (int64_t i = 0; i < wide * ro; i++) {
        e->uops[0] = (vta_uop){.dst = (uint32_t)(dst + i), .src = (uint32_t)(src + i % ro)};
        emit_pass(e, &(alu_pass){.op = VTA_ALU_MAX,
                                 .use_imm = true,
                                 .imm = layer->low,
                                 .uops = 1,
                                 .outer = 1,
                                 .inner = pixels,
                                 .dst_in = wide * ro,
                                 .src_in = ro,
                                 .to = {dst, count},
                                 .from = {src, pixels * ro}});
    }
    if (layer->high < INT8_MAX) {
        apply_immediate(e, VTA_ALU_MIN, layer->high, dst, count);
    }
    for (int64_t y = 0; y < tile->rows; y++) {
        const int64_t first = (plane * to->h + tile->y + y) * to->w + tile->x;
        vtac_vta_list_store(
            e->list,
            &(vta_store2d){.sram = dst + y / high * tile->cols * ro,
                           .buffer = {WORK_BUFFER},
                           .offset =
                               (int64_t)to->offset / p->machine->config->elem_bytes[VTA_MEM_OUT] + first * ro,
                           .y_size = 1,
                           .x_size = tile->cols * ro,
                           .x_stride = tile->cols * ro});
    }
}

static void emit_piece(window_emitter *e, int64_t plane, const patch *tile)
{
    const plan *p = e->p;
    const int64_t slots = p->window.first + p->machine->acc / 4 * 3;
    const int64_t dst = slots + e->pieces++ % OUT_SLOTS * p->window.out_slot;
    vtac_vta_list_piece(e->list);
    if (p->layer->kind == VTAC_VTA_RESIZE) {
        emit_resize(e, plane, tile, dst);
    } else {
        emit_max_pool(e, plane, tile, dst);
    }
}

/* Goes through all blocks of some rows, then through those of the next rows, in the order in which the layer
 * before makes them. */
static void emit_planes(window_emitter *e, int64_t first, int64_t planes)
{
    const plan *p = e->p;
    const vtac_vta_tensor *to = tensor_out(p);
    for (int64_t y = 0; y < to->h; y += p->window.rows) {
        for (int64_t x = 0; x < to->w; x += p->window.cols) {
            const patch tile = {.y = y,
                                .x = x,
                                .rows = vta_min(p->window.rows, to->h - y),
                                .cols = vta_min(p->window.cols, to->w - x)};
            for (int64_t k = 0; k < planes; k++) {
                emit_piece(e, first + k, &tile);
            }
        }
    }
}

vta_status vtac_vta_window_emit(const plan *p, step_list *list, vta_diag *diag)
{
    const int64_t planes = vta_ceil_div(tensor_out(p)->c, p->machine->block);
    window_emitter e = {.p = p, .list = list, .uops = calloc((size_t)p->machine->uop, sizeof *e.uops)};
    for (int64_t image = 0; e.uops != NULL && image < p->images; image++) {
        emit_planes(&e, image * planes, planes);
    }
    vtac_vta_list_flush(list);
    const bool good = e.uops != NULL && !list->failed;
    free(e.uops);
    return good ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory to schedule layer '%s'", p->layer->name);
}
