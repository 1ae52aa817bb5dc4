/* SPDX-License-Identifier: Apache-2.0
 *
 * The DRAM and its controller; dram_queue.h is its contract.
 */
#include "dram_queue.h"

#include <stddef.h>

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

vta_dram_request *vta_dram_add(vta_dram_queue *q, bool write, uint64_t now, uint64_t addr, uint32_t bytes,
                               uint32_t tag)
{
    if (q->count[write] == VTA_DRAM_REQUESTS) {
        return NULL;
    }
    const uint32_t column = vta_dram_column_bytes(&q->kind);
    const uint64_t first = addr / column, last = (addr + bytes - 1) / column;
    const uint32_t columns = (uint32_t)(last - first + 1);
    vta_dram_request *r = &q->requests[write][(q->head[write] + q->count[write]++) % VTA_DRAM_REQUESTS];
    *r = (vta_dram_request){
        .addr = first * column, .arrived = now, .columns = columns, .there = columns, .tag = tag};
    return r;
}

static vta_dram_request *oldest(vta_dram_queue *q, bool write)
{
    vta_dram_request *r = &q->requests[write][q->head[write] % VTA_DRAM_REQUESTS];
    return q->count[write] > 0 && r->done < r->there ? r : NULL;
}

/* The refreshes that are due at `now`. After a long rest only the last one matters. */
static void refresh(vta_dram_queue *q, uint64_t now)
{
    const vta_dram_kind *k = &q->kind;
    if (k->refi == 0) {
        return;
    }
    q->refresh_at = later(q->refresh_at, k->refi);
    if (q->refresh_at > now) {
        return;
    }
    const uint64_t due = (now - q->refresh_at) / k->refi, at = q->refresh_at + due * k->refi;
    uint64_t begin = at;
    for (uint32_t i = 0; i < k->banks; i++) {
        const vta_dram_row_bank *b = &q->banks[i];
        begin = later(begin, b->open ? b->precharge_at + k->rp : b->activate_at);
    }
    for (uint32_t i = 0; i < k->banks; i++) {
        q->banks[i] = (vta_dram_row_bank){.activate_at = begin + k->rfc};
    }
    q->counts.refreshes += due + 1;
    q->refresh_at = at + k->refi;
}

/* Opens the row of a request's next column in its bank, as early as the times allow. */
static void open_row(vta_dram_queue *q, const vta_dram_request *r, vta_dram_row_bank *b, uint64_t row)
{
    const vta_dram_kind *k = &q->kind;
    q->counts.conflicts += b->open;
    q->counts.closed += !b->open;
    uint64_t at = b->open ? later(b->precharge_at, r->arrived) + k->rp : later(b->activate_at, r->arrived);
    if (q->activated > 0) {
        at = later(at, q->activates[(q->activated - 1) % VTA_DRAM_WINDOW] + k->rrd);
    }
    if (q->activated >= VTA_DRAM_WINDOW) {
        at = later(at, q->activates[q->activated % VTA_DRAM_WINDOW] + k->faw);
    }
    q->activates[q->activated++ % VTA_DRAM_WINDOW] = at;
    *b = (vta_dram_row_bank){.row = row, .open = true, .column_at = at + k->rcd, .precharge_at = at + k->ras};
}

static uint64_t next_addr(const vta_dram_queue *q, const vta_dram_request *r)
{
    return r->addr + (uint64_t)r->done * vta_dram_column_bytes(&q->kind);
}

/* The row that an access needs open in its bank. Where rows do not stay open, each access has one of its own.
 */
static uint64_t row_of(const vta_dram_queue *q, uint64_t addr, bool write)
{
    return q->kind.open != 0 ? addr / q->kind.row / q->kind.banks : addr << 1 | write;
}

/* The bank of a request's next column, with its row open. */
static vta_dram_row_bank *open_bank(vta_dram_queue *q, vta_dram_request *r, bool write)
{
    const uint64_t addr = next_addr(q, r), row = row_of(q, addr, write);
    vta_dram_row_bank *b = &q->banks[addr / q->kind.row % q->kind.banks];
    if (!b->open || b->row != row) {
        open_row(q, r, b, row);
    } else {
        q->counts.hits += !r->opens;
    }
    r->opens = true;
    return b;
}

/* The time of a column's command. */
static uint64_t command_at(const vta_dram_queue *q, const vta_dram_row_bank *b, bool write, uint64_t now)
{
    const vta_dram_kind *k = &q->kind;
    const uint64_t latency = write ? k->cwl : k->cl, turns = write != q->writing;
    uint64_t at = later(later(now, b->column_at), q->bus_free > latency ? q->bus_free - latency : 0);
    if (turns && !write) {
        at = later(at, q->bus_free + k->wtr);
    } else if (turns && q->bus_free + k->rtw > latency) {
        at = later(at, q->bus_free + k->rtw - latency);
    }
    return at;
}

static bool chooses_write(vta_dram_queue *q, bool *write)
{
    const bool here = oldest(q, q->writing) != NULL, there = oldest(q, !q->writing) != NULL;
    *write = here && (!there || q->run < VTA_DRAM_RUN) ? q->writing : !q->writing;
    return here || there;
}

bool vta_dram_is_busy(vta_dram_queue *q)
{
    return oldest(q, false) != NULL || oldest(q, true) != NULL;
}

bool vta_dram_next(vta_dram_queue *q, uint64_t now, uint64_t until, vta_dram_done *done)
{
    const vta_dram_kind *k = &q->kind;
    bool write;
    if (!chooses_write(q, &write)) {
        return false;
    }
    refresh(q, now);
    vta_dram_request *r = oldest(q, write);
    vta_dram_row_bank *b = open_bank(q, r, write);
    const uint64_t at = command_at(q, b, write, now);
    if (at >= until) {
        return false;
    }
    const uint32_t bytes = vta_dram_column_bytes(k);
    q->bus_free = at + (write ? k->cwl : k->cl) + vta_dram_column_ps(k);
    b->precharge_at = later(b->precharge_at, write ? q->bus_free + k->wr : at + k->rtp);
    if (k->open == 0) {
        b->precharge_at = later(b->precharge_at, q->bus_free);
        b->row = row_of(q, next_addr(q, r) + bytes, write);
    }
    q->counts.turns += write != q->writing;
    q->run = write != q->writing ? 1 : q->run + 1;
    q->writing = write;
    *(write ? &q->counts.written_bytes : &q->counts.read_bytes) += bytes;
    *done = (vta_dram_done){q->bus_free + k->port, r->tag, r->done, write};
    r->opens = false;
    if (++r->done == r->columns) {
        q->head[write] = (q->head[write] + 1) % VTA_DRAM_REQUESTS;
        q->count[write]--;
    }
    return true;
}
