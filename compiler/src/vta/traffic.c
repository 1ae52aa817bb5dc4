/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of the timing model. Fetch, load and compute unit read, and the store unit writes. The list
 * does not say who asks first: a burst that is asked for earlier than others delays those, and their data
 * come later (vtac_vta_traffic_settle).
 */
#include <math.h>

#include "model.h"
#include "vta/number.h"

cycles vtac_vta_traffic_paced(const model *t, cycles beats, int64_t bytes)
{
    return t->m->shared > 0 ? later(beats, (cycles)ceil((double)bytes / t->m->shared)) : beats;
}

/* The cycles of a transfer with what it costs the memory to begin one. */
static cycles reopened(const model *t, cycles beats)
{
    return beats + (cycles)t->m->reopen;
}

/* The longest burst: bounded by beats and by a page of bytes (vta_burst.v). */
static cycles burst_beats(const model *t)
{
    enum { MAX_BEATS = 256, PAGE = 4096 };
    const int64_t beats = vta_min(MAX_BEATS, PAGE / t->m->beat);
    return vtac_vta_traffic_paced(t, (cycles)beats, beats * t->m->beat);
}

void vtac_vta_traffic_init(model *t)
{
    t->burst_beats = burst_beats(t);
    const cycles chunk = (cycles)vta_ceil_div(CHUNK_BYTES, t->m->beat);
    t->chunk_beats = vtac_vta_traffic_paced(t, chunk, CHUNK_BYTES);
    t->chunk_beats =
        reopened(t, reopened(t, t->chunk_beats)); /* its row, and that of the transfer behind it */
}

bursts vtac_vta_bursts_of(const model *t, int64_t y, int64_t x, int64_t stride, int64_t bytes)
{
    const int64_t beat = t->m->beat;
    if (stride == x || y == 1) {
        x *= y;
        y = 1;
    }
    const cycles beats = (cycles)(bytes < beat ? x : vta_ceil_div(x * bytes, beat));
    return (bursts){y, reopened(t, vtac_vta_traffic_paced(t, beats, x * bytes))};
}

/* The extra cycles of a beat in one direction while the other direction is busy, too: each gets half of
 * the shared bandwidth. */
static double overlap_cost(const model *t)
{
    const double beat = (double)t->m->beat, alone = fmin(beat, t->m->shared); /* of one direction */
    return t->m->shared <= 0 || t->m->both >= 2 * beat ? 0 : fmax(2 * alone / t->m->both - 1, 0);
}

/* The fraction of a time that reads take. Where they are not known yet, the fraction of the
 * time before counts. */
static double reads_beside(const model *t, cycles from, cycles count)
{
    enum { BEFORE = 512 };
    const cycles known = vtac_vta_bus_known(&t->reads), begin = from > BEFORE ? from - BEFORE : 0;
    const cycles until = known < from ? known : from;
    double reads = (double)vtac_vta_bus_busy(&t->reads, from, from + count);
    if (known < from + count && until > begin && t->loads_left > 0) {
        const double unknown = (double)(from + count - later(known, from));
        reads += unknown * (double)vtac_vta_bus_busy(&t->reads, begin, until) / (double)(until - begin);
    }
    return reads / (double)count;
}

cycles vtac_vta_traffic_yield(model *t, cycles when, cycles writes)
{
    const double share = overlap_cost(t), both = 2 / (1 + share);
    if (share == 0) {
        return 0;
    }
    vtac_vta_load_before(t, when + writes); /* the load unit reads beside the writes */
    const double left = fmin(1, fmax(both / 2, both - reads_beside(t, when, writes)));
    t->yielded += share * (double)writes;
    const cycles whole = (cycles)t->yielded;
    if (whole > 0) {
        t->yielded -= (double)whole;
        vtac_vta_bus_yield(&t->reads, when, (cycles)t->m->latency, whole);
    }
    return (cycles)((double)writes * (1 / left - 1));
}

cycles vtac_vta_traffic_write(cycles *bus, bursts_in_flight *flight, cycles first, cycles answer, bursts b)
{
    for (int64_t i = 0; i < b.count; i++) {
        cycles *answered = &flight->answered[flight->next++ % WRITES_IN_FLIGHT];
        *bus = later(later(first, *bus), *answered) + b.each;
        *answered = *bus + answer;
    }
    return *bus;
}

void vtac_vta_traffic_read_chunk(model *t)
{
    cycles *queue_room = &t->chunk_room[t->chunks % CHUNKS];
    const cycles beats = t->chunk_beats;
    const uint32_t owner = t->reads.owner;
    t->reads.owner = 0;
    const cycles end = vtac_vta_bus_read(&t->reads, &t->fetching, *queue_room,
                                         vtac_vta_reader_opens(&t->fetching), (cycles)t->m->latency, beats);
    t->reads.owner = owner;
    const cycles first = later(t->chunk_handed, end - beats);
    t->chunk_at[t->chunks++ % CHUNKS_AHEAD] = first;
    *queue_room = t->chunk_handed = first + FETCH * CHUNK_INSNS;
}

/* The number of instructions, from the step at hand on, that fit into the queues: until the compute
 * unit's is full. */
static uint64_t queue_reach(model *t)
{
    const uint64_t queue = UINT64_C(1) << t->m->config->log_queue;
    if (t->reach < t->at) {
        t->reach = t->at;
        t->reached = t->computes;
    }
    while (t->reach + 1 < t->count && t->reached - t->computes < queue &&
           t->reach - t->at < CHUNKS_AHEAD * CHUNK_INSNS / 2) {
        const job *next = &t->jobs[++t->reach];
        t->reached += next->kind != STEP_STORE && !next->early;
    }
    return t->reach - t->at;
}

/* Asks for chunks of the program until `when`, as far ahead as the queues go. */
static void read_ahead(model *t, cycles when)
{
    const uint64_t ahead = t->insns + queue_reach(t);
    const uint64_t until = ahead < t->count ? ahead : t->count;
    while (t->chunks * CHUNK_INSNS < until && t->chunk_room[t->chunks % CHUNKS] <= when) {
        vtac_vta_traffic_read_chunk(t);
    }
    if (until == ahead && t->chunks * CHUNK_INSNS >= until) { /* the queues have been full up to now */
        cycles *queue_room = &t->chunk_room[t->chunks % CHUNKS];
        *queue_room = later(*queue_room, when);
    }
}

cycles vtac_vta_traffic_fetch(model *t)
{
    const uint64_t number = t->insns++, chunk = number / CHUNK_INSNS;
    if (chunk >= t->chunks) {
        vtac_vta_traffic_read_chunk(t);
    }
    t->fetch = later(t->fetch, t->chunk_at[chunk % CHUNKS_AHEAD]) + FETCH;
    return t->fetch + DECODE;
}

cycles vtac_vta_traffic_read(model *t, reader *who, cycles start, bursts b)
{
    const cycles latency = (cycles)t->m->latency, at_most = t->burst_beats;
    cycles end = start + who->lead + latency, asks = start;
    for (int64_t i = 0; i < b.count; i++) {
        for (cycles left = b.each; left > 0; asks++) {
            const cycles beats = left < at_most ? left : at_most, opens = vtac_vta_reader_opens(who),
                         when = later(asks, opens);
            if (who == &t->computing) {
                vtac_vta_load_before(t, when);
            }
            read_ahead(t, when);
            end = vtac_vta_bus_read(&t->reads, who, asks, opens, latency, beats);
            left -= beats;
        }
    }
    return end;
}

uint32_t vtac_vta_transfer_begin(model *t)
{
    t->reads.owner = ++t->transferred;
    return t->reads.owner;
}

void vtac_vta_transfer_end(model *t, transfer what, uint32_t owner)
{
    t->reads.owner = owner;
    t->transfers[what.number % TRANSFERS] = what;
}

static void delay_transfer(model *t, transfer *f, cycles by)
{
    f->bus_end += by;
    f->end += by;
    vtac_vta_marks_raise(f->to != NULL ? &f->to->wrote : &t->load_acc, granules_of(f->where), f->end);
    if (f->to != NULL) {
        t->load_engine = later(t->load_engine, f->end);
        return;
    }
    t->retired = later(t->retired, f->end);
    for (uint32_t i = 0; i < NEWEST; i++) {
        acc_span *l = &t->acc_loads[i];
        if (l->transfer == f->number && l->to < f->end) { /* the delay by writers may be counted already */
            l->from += f->end - l->to;
            l->to = f->end;
        }
    }
}

void vtac_vta_traffic_settle(model *t)
{
    const uint64_t count = t->reads.count, back = count > BURSTS_BACK ? count - BURSTS_BACK : 0;
    const uint64_t first = later(back, t->reads.moved);
    for (uint64_t i = count; i > first; i--) {
        const struct burst *b = &t->reads.ring[(i - 1) % BURSTS];
        transfer *f = &t->transfers[b->owner % TRANSFERS];
        if (b->owner > 0 && f->number == b->owner && b->end > f->bus_end) {
            delay_transfer(t, f, b->end - f->bus_end);
        }
    }
    t->reads.moved = UINT64_MAX;
}
