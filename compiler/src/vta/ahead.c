/* SPDX-License-Identifier: Apache-2.0
 *
 * Prefetch: loads move up in the list. A load waits until its input is stored, and the load unit learns that
 * through the compute unit, which learns it in program order. So a load behind the previous piece's work
 * would wait until that work is over, and the array would then wait for the load. Loads into INP and WGT
 * therefore move up, in their own order, before enough work of the array to hide the memory, as far as no
 * call between writes their source or uses the entries that they fill.
 */
#include <stdlib.h>
#include <string.h>

#include "list.h"

enum {
    LATENCIES = 5
}; /* work that should follow a load, in latencies of the memory; covers a store's and the load's own */

/* The bytes of its buffer from the first to the last that a transfer touches. */
static list_range byte_span(int64_t offset, int64_t y_size, int64_t x_size, int64_t x_stride, int64_t bytes)
{
    const int64_t elements = y_size > 0 ? (y_size - 1) * x_stride + x_size : 0;
    return (list_range){offset * bytes, elements * bytes};
}

static bool fills_what_is_read(const step_list *list, const vta_load2d *load, const step *work)
{
    const list_nest n = list_nest_of(list, work);
    const list_range inp = {n.src, n.src_count}, wgt = {n.wgt, n.wgt_count};
    return list_meets(list_fills(load), load->memory == VTA_MEM_INP ? inp : wgt);
}

static bool reads_what_is_stored(const vta_config *config, const vta_load2d *l, const vta_store2d *s)
{
    const list_range from =
        byte_span(l->offset, l->y_size, l->x_size, l->x_stride, config->elem_bytes[l->memory]);
    const list_range to =
        byte_span(s->offset, s->y_size, s->x_size, s->x_stride, config->elem_bytes[VTA_MEM_OUT]);
    return l->buffer.index == s->buffer.index && list_meets(from, to);
}

/* True if a REQUANT writes entries of INP that the load fills. */
static bool fills_what_is_made(const vta_load2d *load, const vta_requant *r)
{
    return r->to_inp && load->memory == VTA_MEM_INP &&
           list_meets(list_fills(load), (list_range){r->dst, list_requant_count(r)});
}

static bool must_follow(const step_list *list, const vta_config *config, const vta_load2d *load,
                        const step *s)
{
    switch (s->kind) {
    case STEP_LOAD: return list_is_early(s);
    case STEP_STORE: return reads_what_is_stored(config, load, &s->store);
    case STEP_GEMM: return !s->gemm.reset && fills_what_is_read(list, load, s);
    case STEP_DEPTHWISE: return fills_what_is_read(list, load, s);
    case STEP_REQUANT: return fills_what_is_made(load, &s->requant);
    case STEP_ALU: break;
    }
    return false;
}

int64_t vtac_vta_list_work_of(const step_list *list, const vta_config *config, const step *s)
{
    if (s->kind == STEP_GEMM) {
        uint32_t uops;
        (void)vtac_vta_list_uops(list, s->gemm.kernel, &uops);
        return s->gemm.iter_out * s->gemm.iter_in * uops;
    }
    if (s->kind != STEP_DEPTHWISE) {
        return 0;
    }
    const vta_depthwise *d = &s->depthwise;
    const vta_window_steps steps =
        vta_window_steps_of(config, d->taps_x, d->taps_y, d->col_step, d->row_step, d->src_in);
    return d->iter_out * d->iter_in * (d->taps_x - steps.kept) * (d->taps_y / steps.rows);
}

void vtac_vta_list_reorder(step_list *list, const uint32_t *order)
{
    const step *old = list->steps.items;
    vta_vec fresh = list->spare;
    fresh.items = vta_grow(fresh.items, &fresh.capacity, list->steps.count, sizeof *old);
    step *to = fresh.items;
    if (to == NULL) {
        list->failed = true;
        return;
    }
    for (size_t i = 0; i < list->steps.count; i++) {
        to[i] = old[order[i]];
    }
    fresh.count = list->steps.count;
    list->spare = list->steps;
    list->steps = fresh;
}

/* The place in `order` to which the load at place i moves. */
static size_t place_of(const step_list *list, const vta_config *config, const uint32_t *order,
                       int64_t latency, size_t i)
{
    const step *steps = list->steps.items;
    const int64_t enough = LATENCIES * latency;
    int64_t hidden = 0;
    size_t to = i;
    for (size_t k = i; k > 0 && hidden < enough; k--) {
        const step *before = &steps[order[k - 1]];
        if (must_follow(list, config, &steps[order[i]].load, before)) {
            break;
        }
        hidden += vtac_vta_list_work_of(list, config, before);
        to = hidden > 0 ? k - 1 : to;
    }
    return to;
}

void vtac_vta_list_load_ahead(step_list *list, const vta_config *config, int64_t latency)
{
    const step *steps = list->steps.items;
    const size_t count = list->steps.count;
    uint32_t *order = malloc((count + 1) * sizeof *order);
    bool moved = false;
    for (size_t i = 0; order != NULL && i < count; i++) {
        order[i] = (uint32_t)i;
        const size_t to = list_is_early(&steps[i]) ? place_of(list, config, order, latency, i) : i;
        if (to < i) {
            memmove(&order[to + 1], &order[to], (i - to) * sizeof *order);
            order[to] = (uint32_t)i;
            moved = true;
        }
    }
    if (moved) {
        vtac_vta_list_reorder(list, order);
    }
    list->failed = list->failed || order == NULL;
    free(order);
}
