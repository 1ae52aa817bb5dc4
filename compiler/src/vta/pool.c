/* SPDX-License-Identifier: Apache-2.0
 *
 * A pool joined to a convolution: maxima of the sums in ACC, or sums of requantized numbers for means.
 */
#include "emit.h"

/* The number of outputs from `at` on, at most `room`, whose windows have the same taps inside. */
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

/* A rectangle of a pool's outputs whose windows have the same taps inside; ACC entries of its first output,
 * and of that output's first tap. */
typedef struct window_area {
    const patch *area;
    interval ys, xs;
    int64_t to, from;
    bool more; /* the outputs already hold a maximum of other taps */
    list_range dst, src;
} window_area;

/* A pool's outputs in ACC: their first entry and first row, and the first entry of the sums. */
typedef struct pooled {
    int64_t dst, src, y;
    bool more;
} pooled;

static vta_alu_op pool_op(const conv *c)
{
    return c->mean_record > 0 ? VTA_ALU_ADD : VTA_ALU_MAX;
}

/* Emits one ALU operation for all outputs of a row; `how` has the micro-ops and the outer loop. */
static void emit_row_operation(emitter *e, const window_area *w, const vta_alu *how)
{
    vta_alu alu = *how;
    alu.dst_out = alu.iter_out > 1 ? alu.dst_out : 0;
    alu.src_out = alu.iter_out > 1 ? alu.src_out : 0;
    alu.dst_in = alu.iter_in > 1 ? e->c->ro : 0;
    alu.src_in = alu.iter_in > 1 ? e->c->pool->window.stride[1] * e->c->ro : 0;
    vtac_vta_list_alu(e->list, &alu, w->dst, w->src);
}

/* Goes through outputs, each with all its taps: the ALU forwards the maximum so far from step to step. */
static void pool_by_outputs(emitter *e, const piece *p, const window_area *w)
{
    const vtac_vta_window *window = &e->c->pool->window;
    const int64_t ro = e->c->ro, cols = p->tile.cols, taps = w->ys.count * w->xs.count;
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
            emit_row_operation(e, w,
                               &(vta_alu){.kernel = vtac_vta_list_kernel_of(e->list, e->uops, uops),
                                          .op = rest > 0 ? pool_op(e->c) : VTA_ALU_MOV,
                                          .iter_out = w->area->rows,
                                          .iter_in = w->area->cols,
                                          .dst_out = p->out.cols * ro,
                                          .src_out = window->stride[0] * cols * ro});
        }
    }
}

/* Goes through taps, each for all outputs: `count` taps from column kx of row ky of the window on. */
static void pool_by_taps(emitter *e, const piece *p, const window_area *w, int64_t ky, interval kx)
{
    const vtac_vta_window *window = &e->c->pool->window;
    const int64_t ro = e->c->ro, cols = p->tile.cols;
    const int64_t from = w->from + (ky * window->dilation[0] * cols + kx.at * window->dilation[1]) * ro;
    uint32_t uops = 0;
    for (int64_t y = 0; y < w->area->rows; y++) {
        for (int64_t r = 0; r < ro; r++) {
            e->uops[uops++] = (vta_uop){.dst = (uint32_t)(w->to + y * p->out.cols * ro + r),
                                        .src = (uint32_t)(from + y * window->stride[0] * cols * ro + r)};
        }
    }
    if (kx.count > 0) {
        emit_row_operation(e, w,
                           &(vta_alu){.kernel = vtac_vta_list_kernel_of(e->list, e->uops, uops),
                                      .op = w->more || ky + kx.at > 0 ? pool_op(e->c) : VTA_ALU_MOV,
                                      .iter_out = kx.count,
                                      .iter_in = w->area->cols,
                                      .src_out = window->dilation[1] * ro});
    }
}

/* Adds the columns of a window into its first column, for windows that do not overlap: sums of several rows
 * are in the pipeline at a time. */
static void fold_columns(emitter *e, const piece *p, const window_area *w)
{
    const vtac_vta_window *window = &e->c->pool->window;
    const int64_t ro = e->c->ro, cols = p->tile.cols;
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

/* Pools `ro` blocks' sums for a rectangle of outputs with the same taps inside; the first tap is copied.
 * Beside the array, going through taps is faster: each write of the array makes the ALU wait for a cycle and
 * lose the forwarded maximum, which then takes FLIGHT cycles to come back from ACC. */
static void pool_rectangle(emitter *e, const piece *p, const patch *area, interval ys, const pooled *to)
{
    enum { FLIGHT = 8 };
    const conv *c = e->c;
    const vtac_vta_window *w = &c->pool->window;
    const int64_t ro = c->ro, cols = p->tile.cols, out_cols = p->out.cols;
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
        pool_by_outputs(e, p, &of);
        return;
    }
    if (!of.more) {
        pool_by_taps(e, p, &of, 0, (interval){0, 1});
    }
    for (int64_t ky = 0; ky < ys.count; ky++) {
        const int64_t taken = ky == 0 && !of.more;
        pool_by_taps(e, p, &of, ky, (interval){taken, xs.count - taken});
    }
}

/* Pools the outputs of the rows from y on, whose windows have the rows `ys` inside. */
static void pool_rows(emitter *e, const piece *p, int64_t y, int64_t rows, interval ys, const pooled *to)
{
    const patch *out = &p->out;
    for (int64_t x = out->x, cols; x < out->x + out->cols && ys.count > 0; x += cols) {
        cols = alike_from(e->c, 1, x, out->x + out->cols - x);
        pool_rectangle(e, p, &(patch){.y = y, .x = x, .rows = rows, .cols = cols}, ys, to);
    }
}

static int64_t other_slot(const emitter *e, int64_t number)
{
    return e->t->other_first + number % e->t->other_slots * e->t->other_size;
}

/* Rows that the tile below needs, too, are also pooled into the first row of that tile's outputs. */
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
        pool_rows(e, p, y, rows, ys, &to);
    }
    if (kept > 0 && end < c->oh) {
        const pooled next = {.dst = other_slot(e, number + p->blocks / c->ro), .src = at, .y = end};
        pool_rows(e, p, end, 1, (interval){0, kept}, &next);
    }
    return to.dst;
}
