/* SPDX-License-Identifier: Apache-2.0
 *
 * A pool at the end of a convolution: maxima, or sums for means, of what lies in ACC.
 */
#include "emit.h"

/* How many outputs from `at` on, of `room`, have the same taps of a pool's window inside. */
static int64_t alike_from(const conv *c, int d, int64_t at, int64_t room)
{
    const interval taps = vtac_vta_conv_pool_taps(c, d, at);
    int64_t run = 1;
    for (; run < room; run++) {
        const interval next = vtac_vta_conv_pool_taps(c, d, at + run);
        if (next.at != taps.at || next.count != taps.count) {
            break;
        }
    }
    return run;
}

/* A rectangle of a pool's outputs that have the same taps inside, and where its first one and the first tap
 * of that lie. */
typedef struct window_area {
    const patch *area;
    interval ys, xs;
    int64_t to, from;
    bool more; /* there is a maximum of other taps already */
    list_range dst, src;
} window_area;

/* Outputs of a pool in ACC, their first row, and the sums that they are maxima of. */
typedef struct pooled {
    int64_t dst, src, y;
    bool more;
} pooled;

static vta_alu_op taken_by(const conv *c)
{
    return c->mean_record > 0 ? VTA_ALU_ADD : VTA_ALU_MAX;
}

/* One operation of the ALU for all outputs of a row, and as the micro-ops and the outer loop say. */
static void take(emitter *e, const window_area *w, const vta_alu *how)
{
    vta_alu alu = *how;
    alu.dst_out = alu.iter_out > 1 ? alu.dst_out : 0;
    alu.src_out = alu.iter_out > 1 ? alu.src_out : 0;
    alu.dst_in = alu.iter_in > 1 ? e->c->machine->ro : 0;
    alu.src_in = alu.iter_in > 1 ? e->c->pool->window.stride[1] * e->c->machine->ro : 0;
    vtac_vta_list_alu(e->list, &alu, w->dst, w->src);
}

/* All taps of an output follow each other: the ALU keeps the maximum so far at hand. */
static void take_by_outputs(emitter *e, const piece *p, const window_area *w)
{
    const vtac_vta_window *window = &e->c->pool->window;
    const int64_t ro = e->c->machine->ro, cols = p->tile.cols, taps = w->ys.count * w->xs.count;
    for (int64_t rest = 0; rest < 2; rest++) {
        uint32_t uops = 0;
        for (int64_t k = 0; k < ro * taps; k++) {
            const int64_t r = k / taps, row = k % taps / w->xs.count * window->dilation[0],
                          column = k % w->xs.count * window->dilation[1];
            if ((k % taps > 0 || w->more) == (rest > 0)) {
                e->uops[uops++] = (vta_uop){.dst = (uint32_t)(w->to + r),
                                            .src = (uint32_t)(w->from + (row * cols + column) * ro + r)};
            }
        }
        if (uops > 0) {
            take(e, w,
                 &(vta_alu){.kernel = vtac_vta_list_kernel_of(e->list, e->uops, uops),
                            .op = rest > 0 ? taken_by(e->c) : VTA_ALU_MOV,
                            .iter_out = w->area->rows,
                            .iter_in = w->area->cols,
                            .dst_out = p->out.cols * ro,
                            .src_out = window->stride[0] * cols * ro});
        }
    }
}

/* One tap of all outputs after the other, `count` taps from column kx of row ky of the window on. */
static void take_taps(emitter *e, const piece *p, const window_area *w, int64_t ky, interval kx)
{
    const vtac_vta_window *window = &e->c->pool->window;
    const int64_t ro = e->c->machine->ro, cols = p->tile.cols;
    const int64_t from = w->from + (ky * window->dilation[0] * cols + kx.at * window->dilation[1]) * ro;
    uint32_t uops = 0;
    for (int64_t y = 0; y < w->area->rows; y++) {
        for (int64_t r = 0; r < ro; r++) {
            e->uops[uops++] = (vta_uop){.dst = (uint32_t)(w->to + y * p->out.cols * ro + r),
                                        .src = (uint32_t)(from + y * window->stride[0] * cols * ro + r)};
        }
    }
    if (kx.count > 0) {
        take(e, w,
             &(vta_alu){.kernel = vtac_vta_list_kernel_of(e->list, e->uops, uops),
                        .op = w->more || ky + kx.at > 0 ? taken_by(e->c) : VTA_ALU_MOV,
                        .iter_out = kx.count,
                        .iter_in = w->area->cols,
                        .src_out = window->dilation[1] * ro});
    }
}

/* Adds up the columns of a window that nobody else has a part of, in its first column: what a row has so far
 * is on its way while the other rows take theirs. */
static void fold_columns(emitter *e, const piece *p, const window_area *w)
{
    const vtac_vta_window *window = &e->c->pool->window;
    const int64_t ro = e->c->machine->ro, cols = p->tile.cols;
    uint32_t uops = 0;
    for (int64_t k = 0; k < w->ys.count * ro; k++) {
        const int64_t at = w->from + k / ro * window->dilation[0] * cols * ro + k % ro;
        e->uops[uops++] = (vta_uop){.dst = (uint32_t)at, .src = (uint32_t)(at + window->dilation[1] * ro)};
    }
    vtac_vta_list_alu(e->list,
                      &(vta_alu){.kernel = vtac_vta_list_kernel_of(e->list, e->uops, uops),
                                 .op = VTA_ALU_ADD,
                                 .iter_out = w->xs.count - 1,
                                 .iter_in = 1,
                                 .src_out = w->xs.count > 2 ? window->dilation[1] * ro : 0},
                      w->src, w->src);
}

/* The maxima of `ro` blocks' sums, for a rectangle of outputs that have the same taps inside; the first tap
 * is copied. Beside the array it is better to take one tap of all outputs after the other: where the array
 * writes, the ALU waits for a cycle, and forgets the maximum that it had at hand, which then is on its way
 * for FLIGHT cycles. */
static void take_maxima(emitter *e, const piece *p, const patch *area, interval ys, const pooled *to)
{
    enum { FLIGHT = 8 };
    const conv *c = e->c;
    const vtac_vta_window *w = &c->pool->window;
    const int64_t ro = c->machine->ro, cols = p->tile.cols, out_cols = p->out.cols;
    const interval xs = vtac_vta_conv_pool_taps(c, 1, area->x);
    const int64_t y = area->y * w->stride[0] - w->before[0] - p->tile.y + ys.at * w->dilation[0];
    const int64_t x = area->x * w->stride[1] - w->before[1] - p->tile.x + xs.at * w->dilation[1];
    window_area of = {.area = area,
                      .ys = ys,
                      .xs = xs,
                      .to = to->dst + ((area->y - to->y) * out_cols + area->x - p->out.x) * ro,
                      .from = to->src + (y * cols + x) * ro,
                      .more = to->more,
                      .dst = {to->dst, p->out.rows * out_cols * ro},
                      .src = {to->src, p->tile.rows * cols * ro}};
    if (c->mean_record > 0 && p->out.rows * p->out.cols == 1 && xs.count > 1 && ys.count > 1) {
        fold_columns(e, p, &of);
        of.xs.count = 1;
    }
    if (area->rows * area->cols * ro < FLIGHT || area->rows * ro > c->machine->uop) {
        take_by_outputs(e, p, &of);
        return;
    }
    if (!of.more) {
        take_taps(e, p, &of, 0, (interval){0, 1});
    }
    for (int64_t ky = 0; ky < ys.count; ky++) {
        const int64_t taken = ky == 0 && !of.more;
        take_taps(e, p, &of, ky, (interval){taken, xs.count - taken});
    }
}

/* The rows of a pool from y on that have the same `ys` of their windows to take. */
static void take_rows(emitter *e, const piece *p, int64_t y, int64_t rows, interval ys, const pooled *to)
{
    const patch *out = &p->out;
    for (int64_t x = out->x, cols; x < out->x + out->cols && ys.count > 0; x += cols) {
        cols = alike_from(e->c, 1, x, out->x + out->cols - x);
        take_maxima(e, p, &(patch){.y = y, .x = x, .rows = rows, .cols = cols}, ys, to);
    }
}

static int64_t other_slot(const emitter *e, int64_t number)
{
    return e->t->other_first + number % e->t->other_slots * e->t->other_size;
}

/* The pool over `ro` blocks' sums; returns where its outputs lie. Rows that the tile below needs, too, go at
 * once into the first row of what will be its outputs. */
int64_t vtac_vta_emit_pool(emitter *e, const piece *p, int64_t at)
{
    const conv *c = e->c;
    const patch *out = &p->out;
    const int64_t kept = e->t->kept, end = out->y + out->rows, number = e->others++;
    pooled to = {.dst = other_slot(e, number), .src = at, .y = out->y};
    for (int64_t y = out->y, rows; y < end; y += rows) {
        interval ys = vtac_vta_conv_pool_taps(c, 0, y);
        to.more = kept > 0 && y == out->y && y > 0;
        rows = to.more ? 1 : alike_from(c, 0, y, end - y);
        ys = to.more ? (interval){kept, ys.count - kept} : ys;
        take_rows(e, p, y, rows, ys, &to);
    }
    if (kept > 0 && end < c->oh) {
        const pooled next = {.dst = other_slot(e, number + p->blocks / c->machine->ro), .src = at, .y = end};
        take_rows(e, p, end, 1, (interval){0, kept}, &next);
    }
    return to.dst;
}
