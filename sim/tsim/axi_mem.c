/* SPDX-License-Identifier: Apache-2.0
 *
 * The AXI4 memory model; axi_mem.h is its contract. `vta_axi_mem_cycle` runs once per simulated cycle and
 * dominates the harness: the common path of a cycle without a transfer is a handful of compares.
 */
#include "axi_mem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dram_queue.h"

#define NEVER UINT64_MAX

enum {
    BURST_INCR = 1,
    RESET_SETTLES = 2, /* cycles of a synchronous reset before its effect counts */
    AHEAD = 2
};

/* A burst from its address to its last answer. */
typedef struct burst {
    uint64_t base;     /* of its first beat, aligned to the bus */
    uint64_t ready;    /* cycle in which the answer may begin */
    uint64_t earliest; /* of a write: the same for the DRAM's controller */
    uint32_t first;    /* byte lane of its first byte */
    uint32_t id, beats, beat;
    bool error;
} burst;

/* Bursts of one direction, oldest first: [0, filled) have all their data (reads: all), [filled, count) wait
 * for W beats. */
typedef struct direction {
    burst bursts[VTA_AXI_BURSTS];
    uint8_t *data; /* VTA_AXI_BEATS beats for each slot */
    uint32_t head, count, filled;
    uint32_t credit; /* bytes that may still flow */
} direction;

/* A DRAM, and what of its data the port waits for. Times begin with the run. */
typedef struct axi_dram {
    vta_dram_queue queue;
    uint64_t begin;    /* the run's first cycle */
    uint64_t period;   /* of the clock, in millionths of a picosecond: 10^12 / MHz */
    uint32_t answer;   /* cycles from a write's last beat to its answer */
    uint32_t buffered; /* bytes that the controller holds for writing */
} axi_dram;

/* Answers that a DRAM owes one port. */
typedef struct axi_debt {
    uint64_t there[VTA_AXI_BURSTS][VTA_AXI_BEATS]; /* by beat of a read: the cycle from which it may go */
    vta_dram_request *filling[VTA_AXI_BURSTS];     /* by burst of writes */
} axi_debt;

/* The state that the ports of one memory share. */
typedef struct axi_pool {
    vta_axi_mem *ports[VTA_AXI_PORTS]; /* NULL: destroyed */
    uint32_t count;                    /* of ports, since the first was created */
    uint64_t cycle;                    /* of all ports together */
    uint64_t filled;                   /* the cycle that the credit is of */
    uint64_t credit, limit;            /* of both directions, in bytes times shared_cycles */
    uint64_t services;                 /* beats that went, so far */
    uint64_t promised;                 /* of the credit, to writes that may come in this cycle */
    axi_dram *dram;                    /* NULL: none */
} axi_pool;

struct vta_axi_mem {
    vta_axi_options options;
    axi_pool *pool;
    uint32_t port;  /* of the pool */
    axi_dram *dram; /* the pool's; NULL: none */
    axi_debt *debt; /* NULL: no DRAM */
    vta_bus bus;
    uint32_t credit_limit, threshold;
    int32_t reads_ahead; /* beats, of writes, as far as it is remembered: AHEAD */
    uint64_t served;     /* number of the pool's service that was the last one here */
    bool rests;          /* in this cycle nothing is driven anew */
    bool new_r, new_b;   /* the channel is free for the next beat */
    uint64_t cycle, random;
    direction read, write;
    uint64_t strobes[VTA_AXI_BURSTS][VTA_AXI_BEATS];
    bool hold_address; /* the next write address waits for its data */

    uint32_t reset_cycles;
    uint32_t waiting; /* channels whose payload waited in the last cycle */
    vta_axi_master last;
    uint8_t last_wdata[VTA_AXI_MAX_BYTES];
    char failure[256];
};

enum { WAIT_AR = 1, WAIT_AW = 2, WAIT_W = 4 };

__attribute__((format(printf, 2, 3))) static void fail(vta_axi_mem *mem, const char *fmt, ...)
{
    if (mem->failure[0] != '\0') {
        return;
    }
    int at =
        snprintf(mem->failure, sizeof mem->failure, "AXI rule broken in cycle %" PRIu64 ": ", mem->cycle);
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(mem->failure + at, sizeof mem->failure - (size_t)at, fmt, args);
    va_end(args);
}

/* A beat of either direction out of what both share. */
static uint64_t shared_beat(const vta_axi_mem *mem)
{
    return (uint64_t)mem->options.bus_bytes * mem->options.shared_cycles;
}

static bool is_shared(const vta_axi_mem *mem)
{
    return mem->options.shared_bytes != 0 && mem->options.shared_cycles != 0;
}

/* Once in a cycle of all ports, for whichever drives first. */
static void refill_shared(const vta_axi_mem *mem)
{
    axi_pool *pool = mem->pool;
    if (pool->filled != pool->cycle) {
        const uint64_t sum = pool->credit + mem->options.shared_bytes;
        pool->credit = sum < pool->limit ? sum : pool->limit;
        pool->filled = pool->cycle;
        pool->promised = 0;
    }
}

/* Takes a beat out of what both directions share. */
static void spend(vta_axi_mem *mem, bool write)
{
    if (is_shared(mem)) {
        const uint64_t beat = shared_beat(mem);
        axi_pool *pool = mem->pool;
        pool->credit -= beat <= pool->credit ? beat : pool->credit;
        mem->served = write ? mem->served : ++pool->services;
        mem->reads_ahead += write ? (mem->reads_ahead > -AHEAD ? -1 : 0) : (mem->reads_ahead < AHEAD ? 1 : 0);
    }
}

/* True where a beat may go although a waiting beat of the other direction goes first. */
static bool has_share(const vta_axi_mem *mem, bool others_first)
{
    return !is_shared(mem) ||
           mem->pool->credit >= mem->pool->promised + shared_beat(mem) * (others_first ? 2 : 1);
}

/* No port waits for the memory. */
static bool is_idle_pool(const axi_pool *pool)
{
    for (uint32_t i = 0; i < pool->count; i++) {
        if (pool->ports[i] != NULL && !vta_axi_mem_idle(pool->ports[i])) {
            return false;
        }
    }
    return true;
}

/* A DRAM at rest, at the time of the next cycle, if no port waits for any of its data. */
static void rest_dram(vta_axi_mem *mem)
{
    axi_dram *d = mem->dram;
    if (d != NULL && is_idle_pool(mem->pool)) {
        d->queue = (vta_dram_queue){.kind = mem->options.dram, .counts = d->queue.counts};
        d->begin = mem->pool->cycle;
        d->buffered = 0;
    }
}

static axi_dram *create_dram(const vta_axi_options *options)
{
    axi_dram *d = calloc(1, sizeof *d);
    if (d != NULL) {
        d->queue.kind = options->dram;
        d->queue.counts.peak = 1e6 * options->dram.rate * options->dram.width / 8;
        d->period = UINT64_C(1000000000000) / options->clock_mhz;
        d->answer = vta_dram_answer_cycles(&options->dram, options->clock_mhz);
    }
    return d;
}

/* A port's pool: that of the memory that it is a port of, or one of its own. */
static bool join_pool(vta_axi_mem *mem, vta_axi_mem *beside)
{
    axi_pool *pool = beside != NULL ? beside->pool : calloc(1, sizeof *pool);
    const bool is_dram = mem->options.dram.rate > 0;
    if (pool == NULL || pool->count == VTA_AXI_PORTS) {
        return false;
    }
    mem->pool = pool;
    mem->port = pool->count;
    pool->ports[pool->count++] = mem;
    if (beside == NULL) {
        pool->limit = 2 * shared_beat(mem) + mem->options.shared_bytes - 1;
        pool->dram = is_dram ? create_dram(&mem->options) : NULL;
    }
    mem->dram = pool->dram;
    mem->debt = is_dram ? calloc(1, sizeof *mem->debt) : NULL;
    return !is_dram || (mem->dram != NULL && mem->debt != NULL);
}

/* The last port takes the pool along. */
static void leave_pool(vta_axi_mem *mem)
{
    axi_pool *pool = mem->pool;
    if (pool == NULL) {
        return;
    }
    pool->ports[mem->port] = NULL;
    for (uint32_t i = 0; i < pool->count; i++) {
        if (pool->ports[i] != NULL) {
            return;
        }
    }
    free(pool->dram);
    free(pool);
}

vta_axi_mem *vta_axi_mem_create(const vta_axi_options *options, const vta_bus *bus, vta_axi_mem *beside)
{
    vta_axi_mem *mem = calloc(1, sizeof *mem);
    if (mem == NULL) {
        return NULL;
    }
    mem->options = *options;
    mem->bus = *bus;
    mem->options.latency = options->latency > 0 ? options->latency : 1;
    mem->options.shared_bytes = options->dram.rate > 0 ? 0 : options->shared_bytes;
    mem->credit_limit = options->bus_bytes + options->bandwidth - 1;
    mem->threshold = (uint32_t)((uint64_t)options->stall_percent * 65536 / 100);
    mem->random = options->seed;
    size_t bytes = (size_t)VTA_AXI_BURSTS * VTA_AXI_BEATS * options->bus_bytes;
    mem->read.data = malloc(bytes);
    mem->write.data = malloc(bytes);
    if (!join_pool(mem, beside) || mem->read.data == NULL || mem->write.data == NULL) {
        vta_axi_mem_destroy(mem);
        return NULL;
    }
    rest_dram(mem);
    return mem;
}

void vta_axi_mem_destroy(vta_axi_mem *mem)
{
    if (mem != NULL) {
        leave_pool(mem);
        free(mem->debt);
        free(mem->read.data);
        free(mem->write.data);
        free(mem);
    }
}

const char *vta_axi_mem_failure(const vta_axi_mem *mem)
{
    return mem->failure[0] != '\0' ? mem->failure : NULL;
}

bool vta_axi_mem_idle(const vta_axi_mem *mem)
{
    return mem->read.count == 0 && mem->write.count == 0;
}

/* ---- contents */

bool vta_axi_copy_in(const vta_bus *bus, uint32_t bus_bytes, uint64_t addr, uint8_t *data, uint32_t size)
{
    const void *host = bus->map(bus->context, addr, size);
    if (host != NULL) {
        memcpy(data, host, size);
        return true;
    }
    for (uint32_t beat = 0; beat < size; beat += bus_bytes) {
        bool edge = beat == 0 || beat + bus_bytes == size;
        uint32_t mapped = 0;
        for (uint32_t i = 0; i < bus_bytes; i++) {
            const uint8_t *byte = bus->map(bus->context, addr + beat + i, 1);
            data[beat + i] = byte != NULL ? *byte : 0;
            mapped += byte != NULL;
        }
        if (mapped == 0 || (mapped < bus_bytes && !edge)) {
            return false;
        }
    }
    return true;
}

static bool strobed(const uint64_t *strobes, uint32_t bus_bytes, uint32_t byte)
{
    return (strobes[byte / bus_bytes] >> (byte % bus_bytes) & 1) != 0;
}

/* The end of the run of equally strobed bytes that begins at `begin`. */
static uint32_t run_end(const uint64_t *strobes, uint32_t bus_bytes, uint32_t begin, uint32_t size)
{
    const uint64_t full = bus_bytes == 64 ? UINT64_MAX : (UINT64_C(1) << bus_bytes) - 1;
    const bool on = strobed(strobes, bus_bytes, begin);
    uint32_t end = begin + 1;
    while (end < size) {
        if (end % bus_bytes == 0 && strobes[end / bus_bytes] == (on ? full : 0)) {
            end += bus_bytes;
        } else if (strobed(strobes, bus_bytes, end) == on) {
            end++;
        } else {
            break;
        }
    }
    return end;
}

bool vta_axi_copy_out(const vta_bus *bus, uint32_t bus_bytes, uint64_t addr, const uint8_t *data,
                      uint32_t size, const uint64_t *strobes)
{
    for (int pass = 0; pass < 2; pass++) { /* first look, then write: a refused burst has no effect */
        for (uint32_t begin = 0, end = 0; begin < size; begin = end) {
            end = run_end(strobes, bus_bytes, begin, size);
            if (!strobed(strobes, bus_bytes, begin)) {
                continue;
            }
            uint8_t *host = bus->map(bus->context, addr + begin, end - begin);
            if (host == NULL) {
                return false;
            }
            if (pass == 1) {
                memcpy(host, data + begin, end - begin);
            }
        }
    }
    return true;
}

/* ---- rules */

static void check_address(vta_axi_mem *mem, const char *channel, const vta_axi_address *a, bool waited,
                          const vta_axi_address *last)
{
    if (waited) {
        if (!a->valid) {
            fail(mem, "%sVALID was taken back before %sREADY", channel, channel);
        } else if (a->addr != last->addr || a->len != last->len || a->size != last->size ||
                   a->burst != last->burst || a->id != last->id) {
            fail(mem,
                 "%s changed while it waited: address 0x%" PRIx64 " length %u became 0x%" PRIx64 " length %u",
                 channel, last->addr, last->len + 1U, a->addr, a->len + 1U);
        }
        return;
    }
    if (!a->valid) {
        return;
    }
    const uint32_t bus_bytes = mem->options.bus_bytes;
    if (a->burst != BURST_INCR) {
        fail(mem, "%sBURST is %u; only incrementing bursts (1) are used here", channel, a->burst);
    }
    if (a->size > 7 || (1U << a->size) != bus_bytes) {
        fail(mem, "%sSIZE is %u; beats must have the full width of the bus, %u bytes", channel, a->size,
             bus_bytes);
    }
    uint64_t first = a->addr & ~(uint64_t)(bus_bytes - 1);
    uint64_t bytes = ((uint64_t)a->len + 1) * bus_bytes;
    if ((first % VTA_AXI_PAGE) + bytes > VTA_AXI_PAGE) {
        fail(mem, "the %s burst of %u beats at 0x%" PRIx64 " crosses a 4 KiB border", channel, a->len + 1U,
             a->addr);
    }
}

static void check_data(vta_axi_mem *mem, const vta_axi_master *m)
{
    const uint32_t bus_bytes = mem->options.bus_bytes;
    if ((mem->waiting & WAIT_W) != 0) {
        if (!m->wvalid) {
            fail(mem, "WVALID was taken back before WREADY");
        } else if (m->wlast != mem->last.wlast || m->wstrb != mem->last.wstrb ||
                   memcmp(m->wdata, mem->last_wdata, bus_bytes) != 0) {
            fail(mem, "W changed while it waited");
        }
    }
    if (m->wvalid && bus_bytes < 64 && m->wstrb >> bus_bytes != 0) {
        fail(mem, "WSTRB 0x%" PRIx64 " names bytes beyond the bus of %u bytes", m->wstrb, bus_bytes);
    }
}

/* A W beat that is taken now, against the burst that it belongs to. */
static void check_beat(vta_axi_mem *mem, const vta_axi_master *m, const burst *b)
{
    const bool last = b->beat + 1 == b->beats;
    if (m->wlast && !last) {
        fail(mem, "WLAST came with beat %u of the %u beats at 0x%" PRIx64, b->beat + 1, b->beats,
             b->base + b->first);
    } else if (!m->wlast && last) {
        fail(mem, "WLAST is missing on the last of the %u beats at 0x%" PRIx64, b->beats, b->base + b->first);
    }
    if (b->beat == 0 && (m->wstrb & ((UINT64_C(1) << b->first) - 1)) != 0) {
        fail(mem, "WSTRB 0x%" PRIx64 " names bytes below the burst's address 0x%" PRIx64, m->wstrb,
             b->base + b->first);
    }
}

static void check_master(vta_axi_mem *mem, const vta_axi_master *m)
{
    const uint32_t waiting = mem->waiting;
    if (m->reset) {
        if (++mem->reset_cycles > RESET_SETTLES && (m->ar.valid || m->aw.valid || m->wvalid)) {
            fail(mem, "%sVALID is high in reset", m->ar.valid ? "AR" : m->aw.valid ? "AW" : "W");
        }
        mem->waiting = 0;
        return;
    }
    mem->reset_cycles = 0;
    if (m->ar.valid || (waiting & WAIT_AR) != 0) {
        check_address(mem, "AR", &m->ar, (waiting & WAIT_AR) != 0, &mem->last.ar);
    }
    if (m->aw.valid || (waiting & WAIT_AW) != 0) {
        check_address(mem, "AW", &m->aw, (waiting & WAIT_AW) != 0, &mem->last.aw);
    }
    if (m->wvalid || (waiting & WAIT_W) != 0) {
        check_data(mem, m);
    }
}

static void remember(vta_axi_mem *mem, const vta_axi_master *m, const vta_axi_slave *s)
{
    mem->waiting = (m->ar.valid && !s->arready ? WAIT_AR : 0U) | (m->aw.valid && !s->awready ? WAIT_AW : 0U) |
                   (m->wvalid && !s->wready ? WAIT_W : 0U);
    if (mem->waiting != 0) {
        mem->last = *m;
        if ((mem->waiting & WAIT_W) != 0) {
            memcpy(mem->last_wdata, m->wdata, mem->options.bus_bytes);
        }
    }
}

/* ---- transfers */

static uint32_t slot_at(const direction *d, uint32_t index)
{
    return (d->head + index) % VTA_AXI_BURSTS;
}

static uint8_t *slot_data(const vta_axi_mem *mem, const direction *d, uint32_t slot)
{
    return d->data + (size_t)slot * VTA_AXI_BEATS * mem->options.bus_bytes;
}

static uint32_t take_address(vta_axi_mem *mem, direction *d, const vta_axi_address *a)
{
    const uint32_t slot = slot_at(d, d->count++);
    const uint64_t lane = a->addr & (mem->options.bus_bytes - 1);
    d->bursts[slot] = (burst){
        .base = a->addr - lane, .first = (uint32_t)lane, .ready = NEVER, .id = a->id, .beats = a->len + 1U};
    return slot;
}

/* ---- the DRAM */

static uint64_t time_of(const axi_dram *d, uint64_t cycle)
{
    return (cycle - d->begin) * d->period / 1000000;
}

/* The first cycle at or after a time. */
static uint64_t cycle_of(const axi_dram *d, uint64_t ps)
{
    return d->begin + (ps * 1000000 + d->period - 1) / d->period;
}

/* A burst of a port, as the DRAM knows it. */
static uint32_t tag_of(const vta_axi_mem *mem, uint32_t slot)
{
    return mem->port * VTA_AXI_BURSTS + slot;
}

/* Asks the DRAM for a read burst. */
static void ask_dram(vta_axi_mem *mem, uint32_t slot, uint32_t bytes)
{
    axi_dram *d = mem->dram;
    const burst *b = &mem->read.bursts[slot];
    (void)vta_dram_add(&d->queue, false, time_of(d, mem->pool->cycle), b->base, bytes, tag_of(mem, slot));
    for (uint32_t i = 0; i < b->beats; i++) {
        mem->debt->there[slot][i] = NEVER;
    }
}

/* Announces a write burst, of whose data nothing is there. */
static void announce_write(vta_axi_mem *mem, uint32_t slot)
{
    axi_dram *d = mem->dram;
    const burst *b = &mem->write.bursts[slot];
    vta_dram_request *r = vta_dram_add(&d->queue, true, time_of(d, mem->pool->cycle), b->base,
                                       b->beats * mem->options.bus_bytes, tag_of(mem, slot));
    r->there = 0;
    mem->debt->filling[slot] = r;
}

/* A beat of a write burst has come; `b->beat` counts it. */
static void fill_write(vta_axi_mem *mem, uint32_t slot)
{
    axi_dram *d = mem->dram;
    const burst *b = &mem->write.bursts[slot];
    vta_dram_request *r = mem->debt->filling[slot];
    const uint32_t bus = mem->options.bus_bytes, column = vta_dram_column_bytes(&d->queue.kind);
    const uint64_t end = b->base + (uint64_t)b->beat * bus;
    r->there = b->beat == b->beats ? r->columns : (uint32_t)((end - r->addr) / column);
    d->buffered += bus;
}

/* The bytes of a column of a burst. */
static uint32_t bytes_of_column(const vta_axi_mem *mem, const burst *b, uint32_t column, uint64_t *first)
{
    const uint32_t size = vta_dram_column_bytes(&mem->dram->queue.kind);
    const uint64_t end = b->base + (uint64_t)b->beats * mem->options.bus_bytes;
    const uint64_t from = (b->base / size + column) * size, to = from + size;
    *first = from > b->base ? from : b->base;
    return (uint32_t)((to < end ? to : end) - *first);
}

/* The data of a column are there: beats that end in it may go. */
static void finish_column(axi_pool *pool, const vta_dram_done *done)
{
    axi_dram *d = pool->dram;
    uint64_t first;
    if (done->write) {
        const uint32_t bytes = vta_dram_column_bytes(&d->queue.kind);
        d->buffered -= bytes < d->buffered ? bytes : d->buffered;
        return;
    }
    const uint32_t slot = done->tag % VTA_AXI_BURSTS;
    vta_axi_mem *mem = pool->ports[done->tag / VTA_AXI_BURSTS];
    if (mem == NULL) {
        return;
    }
    const burst *b = &mem->read.bursts[slot];
    const uint32_t bytes = bytes_of_column(mem, b, done->column, &first), bus = mem->options.bus_bytes;
    const uint64_t begin = (first - b->base) / bus, end = (first + bytes - b->base) / bus;
    for (uint64_t i = begin; i < end; i++) {
        mem->debt->there[slot][i] = cycle_of(d, done->at);
    }
}

/* The column accesses of the cycle that begins. */
static void run_dram(axi_pool *pool)
{
    axi_dram *d = pool->dram;
    const uint64_t now = time_of(d, pool->cycle), until = time_of(d, pool->cycle + 1);
    vta_dram_done done;
    if (vta_dram_is_idle(&d->queue)) {
        d->buffered = 0; /* columns that were written in part */
        return;
    }
    d->queue.counts.busy_ps += vta_dram_is_busy(&d->queue) ? until - now : 0;
    while (vta_dram_next(&d->queue, now, until, &done)) {
        finish_column(pool, &done);
    }
}

const vta_dram_counts *vta_axi_mem_counts(const vta_axi_mem *mem)
{
    return mem->dram != NULL ? &mem->dram->queue.counts : NULL;
}

/* ---- transfers */

static void take_read(vta_axi_mem *mem, const vta_axi_address *a)
{
    direction *d = &mem->read;
    const uint32_t slot = take_address(mem, d, a);
    burst *b = &d->bursts[slot];
    const uint32_t size = b->beats * mem->options.bus_bytes;
    uint8_t *data = slot_data(mem, d, slot);
    d->filled = d->count;
    if (mem->dram != NULL) {
        ask_dram(mem, slot, size);
    }
    if (mem->options.backend.begin != NULL) {
        mem->options.backend.begin(mem->options.backend.context, slot, false, b->base, data, size, NULL);
        return;
    }
    b->ready = mem->dram != NULL ? 0 : mem->cycle + mem->options.latency;
    b->error = !vta_axi_copy_in(&mem->bus, mem->options.bus_bytes, b->base, data, size);
    if (b->error) {
        memset(data, 0, size);
    }
}

static void take_data(vta_axi_mem *mem, const vta_axi_master *m)
{
    direction *d = &mem->write;
    const uint32_t slot = slot_at(d, d->filled), bus_bytes = mem->options.bus_bytes;
    burst *b = &d->bursts[slot];
    check_beat(mem, m, b);
    memcpy(slot_data(mem, d, slot) + (size_t)b->beat * bus_bytes, m->wdata, bus_bytes);
    mem->strobes[slot][b->beat] = m->wstrb;
    d->credit -= bus_bytes <= d->credit ? bus_bytes : d->credit;
    spend(mem, true);
    b->beat++;
    if (mem->dram != NULL) {
        fill_write(mem, slot);
    }
    if (b->beat < b->beats) {
        return;
    }
    d->filled++;
    b->earliest = mem->cycle + (mem->dram != NULL ? mem->dram->answer : 0);
    if (mem->options.backend.begin != NULL) {
        mem->options.backend.begin(mem->options.backend.context, slot, true, b->base, slot_data(mem, d, slot),
                                   b->beats * bus_bytes, mem->strobes[slot]);
    } else {
        b->ready = mem->dram != NULL ? 0 : mem->cycle + mem->options.latency;
    }
}

static void retire(direction *d)
{
    d->head = slot_at(d, 1);
    d->count--;
    d->filled--;
}

void vta_axi_mem_answer(vta_axi_mem *mem, uint32_t slot, bool write, bool error)
{
    burst *b = &(write ? &mem->write : &mem->read)->bursts[slot];
    b->ready = 0;
    b->error = error;
}

/* ---- what is driven next */

static uint64_t draw(vta_axi_mem *mem)
{
    uint64_t z = mem->random += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

void vta_axi_mem_seed(vta_axi_mem *mem, uint64_t seed)
{
    mem->random = seed;
    rest_dram(mem);
}

/* A bit for each channel that is held back in the next cycle. */
enum { STALL_AR = 1, STALL_AW = 2, STALL_W = 4, STALL_R = 8, STALL_B = 16 };

static uint32_t stalls(vta_axi_mem *mem)
{
    uint64_t a = draw(mem), b = draw(mem);
    uint32_t bits = 0;
    for (uint32_t i = 0; i < 4; i++) {
        bits |= (uint32_t)((a >> (16 * i) & 0xffff) < mem->threshold) << i;
    }
    return bits | (uint32_t)((b & 0xffff) < mem->threshold) << 4;
}

/* True where a beat takes more than a cycle's bandwidth. */
static bool is_slow(const vta_axi_mem *mem)
{
    return mem->options.bandwidth != 0 && mem->options.bandwidth < mem->options.bus_bytes;
}

static void refill(const vta_axi_mem *mem, direction *d)
{
    const uint32_t sum = d->credit + mem->options.bandwidth;
    d->credit = sum < mem->credit_limit ? sum : mem->credit_limit;
}

static bool has_credit(const vta_axi_mem *mem, const direction *d)
{
    return !is_slow(mem) || d->credit >= mem->options.bus_bytes;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* True where the DRAM's controller takes another beat, and another burst. */
static bool has_room(const vta_axi_mem *mem)
{
    return mem->dram == NULL || mem->dram->buffered + mem->options.bus_bytes <= VTA_DRAM_WRITE_BUFFER;
}

static bool takes_write(const vta_axi_mem *mem)
{
    return mem->dram == NULL || mem->dram->queue.count[1] < VTA_DRAM_REQUESTS - 1;
}

/* `writing`: the master offers write data, too. */
static void drive_read(vta_axi_mem *mem, vta_axi_slave *s, bool writing)
{
    direction *d = &mem->read;
    s->rvalid = 0;
    if (d->count == 0 || !has_credit(mem, d)) {
        return;
    }
    const burst *b = &d->bursts[d->head];
    if (b->ready > mem->cycle || !has_share(mem, writing && mem->reads_ahead > 0) ||
        (mem->debt != NULL && mem->debt->there[d->head][b->beat] > mem->pool->cycle)) {
        return;
    }
    spend(mem, false);
    d->credit -= mem->options.bus_bytes <= d->credit ? mem->options.bus_bytes : d->credit;
    s->rvalid = 1;
    s->rid = b->id;
    s->rresp = b->error ? VTA_AXI_DECERR : VTA_AXI_OKAY;
    s->rlast = b->beat + 1 == b->beats;
    s->rdata = slot_data(mem, d, d->head) + (size_t)b->beat * mem->options.bus_bytes;
}

static void drive_response(vta_axi_mem *mem, vta_axi_slave *s)
{
    direction *d = &mem->write;
    s->bvalid = 0;
    if (d->filled == 0 || later(d->bursts[d->head].ready, d->bursts[d->head].earliest) > mem->cycle) {
        return;
    }
    burst *b = &d->bursts[d->head];
    if (mem->options.backend.begin == NULL) {
        b->error = !vta_axi_copy_out(&mem->bus, mem->options.bus_bytes, b->base, slot_data(mem, d, d->head),
                                     b->beats * mem->options.bus_bytes, mem->strobes[d->head]);
    }
    s->bvalid = 1;
    s->bid = b->id;
    s->bresp = b->error ? VTA_AXI_DECERR : VTA_AXI_OKAY;
}

/* Takes what both directions and all ports share for a write that may come in the next cycle. One that is
 * offered already counts as served now. */
static bool promise_write(vta_axi_mem *mem, bool offered)
{
    if (!has_share(mem, false)) {
        return false;
    }
    if (is_shared(mem)) {
        mem->pool->promised += shared_beat(mem);
        mem->served = offered ? ++mem->pool->services : mem->served;
    }
    return true;
}

static void drive(vta_axi_mem *mem, const vta_axi_master *m, vta_axi_slave *s)
{
    const uint32_t held = mem->threshold != 0 ? stalls(mem) : 0;
    if (is_slow(mem)) {
        refill(mem, &mem->read);
        refill(mem, &mem->write);
    }
    if (is_shared(mem)) {
        refill_shared(mem);
    }
    if (mem->new_r) {
        s->rvalid = 0;
        if ((held & STALL_R) == 0) {
            drive_read(mem, s, m->wvalid && mem->write.filled < mem->write.count);
        }
    }
    if (mem->new_b) {
        s->bvalid = 0;
        if ((held & STALL_B) == 0) {
            drive_response(mem, s);
        }
    }
    const bool owes_data = mem->write.filled < mem->write.count;
    s->arready = mem->read.count < VTA_AXI_BURSTS && (held & STALL_AR) == 0;
    s->awready = mem->write.count < VTA_AXI_BURSTS && (held & STALL_AW) == 0 && takes_write(mem);
    if (mem->hold_address && !owes_data && !m->wvalid) {
        s->awready = 0;
    }
    s->wready = owes_data && (held & STALL_W) == 0 && has_credit(mem, &mem->write) && has_room(mem) &&
                promise_write(mem, m->wvalid != 0);
}

vta_axi_slave vta_axi_mem_first(vta_axi_mem *mem)
{
    vta_axi_slave s = {.rdata = mem->read.data, .arready = 1, .awready = 1};
    return s;
}

uint64_t vta_axi_mem_pace(const vta_axi_mem *mem)
{
    const uint64_t slow = is_slow(mem) ? (uint64_t)mem->read.credit << 16 ^ mem->write.credit : 0;
    const uint64_t shared =
        is_shared(mem) ? mem->pool->credit << 32 ^ (uint64_t)(uint32_t)mem->reads_ahead << 28 : 0;
    return slow ^ shared;
}

/* Nothing is in flight, nothing is asked for, and nothing is made up: what is driven stays as it is. */
static bool rests(const vta_axi_mem *mem, const vta_axi_master *m, const vta_axi_slave *s)
{
    const uint32_t asked = m->reset | m->ar.valid | m->aw.valid | m->wvalid | s->rvalid | s->bvalid;
    const uint32_t open =
        mem->read.count | mem->write.count | mem->waiting | mem->threshold | mem->reset_cycles;
    const bool full = (!is_slow(mem) ||
                       (mem->read.credit == mem->credit_limit && mem->write.credit == mem->credit_limit)) &&
                      (!is_shared(mem) || mem->pool->credit == mem->pool->limit);
    return (asked | open) == 0 && full && (mem->dram == NULL || vta_dram_is_idle(&mem->dram->queue));
}

void vta_axi_mem_take(vta_axi_mem *mem, const vta_axi_master *m, const vta_axi_slave *s)
{
    mem->rests = rests(mem, m, s);
    if (mem->rests) {
        mem->cycle++;
        return;
    }
    check_master(mem, m);
    const bool r = s->rvalid && m->rready, b = s->bvalid && m->bready;
    mem->new_r = r || !s->rvalid;
    mem->new_b = b || !s->bvalid;
    if (!m->reset) {
        remember(mem, m, s);
        if (r && ++mem->read.bursts[mem->read.head].beat == mem->read.bursts[mem->read.head].beats) {
            retire(&mem->read);
        }
        if (m->ar.valid && s->arready) {
            take_read(mem, &m->ar);
        }
        if (b) {
            retire(&mem->write);
        }
        if (m->wvalid && s->wready) {
            take_data(mem, m);
        }
        if (m->aw.valid && s->awready) {
            const uint32_t slot = take_address(mem, &mem->write, &m->aw);
            if (mem->dram != NULL) {
                announce_write(mem, slot);
            }
            mem->hold_address = mem->threshold != 0 && (draw(mem) & 3) == 0;
        }
    }
    mem->cycle++;
}

/* Every port drives on what it drove. */
static bool is_pool_at_rest(const axi_pool *pool)
{
    for (uint32_t i = 0; i < pool->count; i++) {
        if (pool->ports[i] != NULL && !pool->ports[i]->rests) {
            return false;
        }
    }
    return true;
}

void vta_axi_mem_tick(vta_axi_mem *mem)
{
    mem->pool->cycle++;
    if (mem->dram != NULL && !is_pool_at_rest(mem->pool)) {
        run_dram(mem->pool);
    }
}

void vta_axi_mem_drive(vta_axi_mem *mem, const vta_axi_master *m, vta_axi_slave *s)
{
    if (!mem->rests) {
        drive(mem, m, s);
    }
}

uint64_t vta_axi_mem_served(const vta_axi_mem *mem)
{
    return mem->served;
}

void vta_axi_mem_cycle(vta_axi_mem *mem, const vta_axi_master *m, vta_axi_slave *s)
{
    vta_axi_mem_take(mem, m, s);
    vta_axi_mem_tick(mem);
    vta_axi_mem_drive(mem, m, s);
}
