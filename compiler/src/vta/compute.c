/* SPDX-License-Identifier: Apache-2.0
 *
 * The compute unit of the timing model: instructions issue in order, into the queues of three pipelines that
 * go on beside each other: the array, the ALU with REQUANT, and LOADs into ACC. They meet at ACC's ports and
 * banks; micro-ops come by LOADs of their own.
 */
#include <math.h>

#include "model.h"
#include "vta/number.h"

/* An instruction of the compute unit is over. */
void vtac_vta_compute_done(model *t, cycles over)
{
    t->now.over = over;
    t->failed = t->failed || (t->keep && vta_vec_push(&t->deeds, &t->now) == NULL);
    t->now = (timing_deed){.tag = t->now.tag};
}

static void busy(model *t, bool array, cycles from, cycles to)
{
    t->now.array = array;
    t->now.busy_from = from;
    t->now.busy_to = to;
}

/* OUT entries that the store unit still reads: the compute unit waits for its token. */
static cycles until_stored(const model *t, granule_run g, uint32_t *number)
{
    *number = (uint32_t)latest_at(&t->out.read, g);
    return *number > 0 ? t->store_end[*number] + TOKEN : 0;
}

static cycles retire(model *t, cycles end)
{
    t->retired = later(t->retired + 1, end);
    return t->retired;
}

static cycles issue(model *t, window_of_times *queue, cycles ready)
{
    t->now.asked = later(later(vtac_vta_traffic_fetch(t), t->compute_issue + 1), queue_room(queue));
    t->now.issued = t->compute_issue = later(t->now.asked, ready);
    return t->compute_issue;
}

/* A LOAD of micro-ops. The one that was kept and is not used is a NOP. */
static void load_uops(model *t, const uop_load *l, cycles *end)
{
    const int64_t bytes = (int64_t)l->count * VTA_UOP_BYTES;
    const cycles issued = issue(t, &t->load_queue, 0);
    if (l->count == 0) {
        return;
    }
    const cycles start = later(later(issued + 1, t->acc_load), later(t->array_fetched, t->alu_fetched));
    const cycles beats =
        vtac_vta_traffic_paced(t, (cycles)vta_ceil_div(bytes, vta_min(VTA_UOP_BYTES * 2, t->m->beat)), bytes);
    queue_take(&t->load_queue, start);
    t->acc_load = start + LOAD_GAP;
    *end = retire(t, vtac_vta_traffic_read(t, &t->computing, start, (bursts){1, beats}));
}

/* When the micro-ops of the step at hand are there: LOADs before it come first. */
static cycles need_uops(model *t)
{
    for (; t->uop_loads < t->uops.loads.count; t->uop_loads++) {
        const uop_load *l = vta_vec_at(&t->uops.loads, t->uop_loads);
        if (l->at > t->at) {
            break;
        }
        load_uops(t, l, &t->uops.end[t->uop_loads + 1]);
    }
    return t->uops.end[t->uops.need[t->at]];
}

#define ALWAYS 0.95 /* cycles with a write, in which there is hardly one without */

/* How much of these entries lies in a bank. */
static double share_of_bank(const model *t, int64_t first, int64_t count, int64_t bank)
{
    const int64_t size = t->m->acc / bank_of(t, t->m->acc), begin = bank * size;
    const int64_t from = vta_max(first, begin), to = vta_min(first + count, begin + size);
    return to > from ? (double)(to - from) / (double)count : 0.0;
}

/* What a LOAD into ACC loses to what writes there at the same time: an entry waits where both want the same
 * bank, until there is a cycle without a write. */
static cycles lost_to_writer(const model *t, const acc_span *load, const acc_span *writer)
{
    const cycles beside = overlap(load->from, load->to, writer->from, writer->to);
    double same = 0.0;
    for (int64_t bank = 0; beside > 0 && bank < bank_of(t, t->m->acc); bank++) {
        same += share_of_bank(t, load->first, load->count, bank) *
                share_of_bank(t, writer->first, writer->count, bank);
    }
    if (writer->writes < ALWAYS) {
        const double each = fmax((double)(load->to - load->from) / (double)load->count, 1.0);
        const double waits = writer->writes / (1.0 - writer->writes);
        same *= waits / (each + waits);
    }
    return (cycles)((double)beside * same);
}

/* An instruction of the array or the ALU writes ACC: the LOADs that it meets there end later. */
static void beside_acc_loads(model *t, const acc_span *writer)
{
    t->acc_writers[t->acc_writer++ % NEWEST] = *writer;
    cycles lost = 0;
    for (uint32_t i = 0; i < NEWEST; i++) {
        acc_span *l = &t->acc_loads[(t->acc_loaded + i) % NEWEST];
        if (l->to <= writer->from) {
            continue;
        }
        l->from += lost;
        l->to += lost;
        const cycles own = lost_to_writer(t, l, writer);
        lost += own;
        l->to += own;
        vtac_vta_marks_raise(&t->load_acc, granules_of(l->where), l->to);
        t->retired = later(t->retired, l->to); /* in order: what is at hand is over after them */
    }
    if (lost > 0) {
        vtac_vta_bus_yield(&t->reads, writer->from, t->m->config->mem_latency, lost);
    }
}

static cycles acc_load(model *t)
{
    const job *j = &t->jobs[t->at];
    const granule_run g = j->to;
    uint32_t number;
    const cycles data = vtac_vta_load_stored(t, t->at, &number);
    cycles start = issue(t, &t->load_queue, data > 0 ? data + TOKEN : 0);
    start = later(later(start + 1, t->acc_load), later(t->array_start, t->alu_start));
    start = later(start, later(latest_at(&t->array_acc, g), latest_at(&t->alu_acc, g)));
    start = later(start, latest_at(&t->alu_read, g));
    queue_take(&t->load_queue, start);
    t->acc_load = start + LOAD_GAP;
    const bursts b = {j->bursts, (cycles)j->beats};
    const uint32_t transferred = vtac_vta_transfer_begin(t);
    const cycles came = vtac_vta_traffic_read(t, &t->computing, start, b);
    cycles end = came + 3 + vtac_vta_load_padding(j);
    acc_span own = {end - (cycles)b.count * b.each, end, j->dst.first, j->dst.count, g, 0, transferred};
    for (uint32_t i = 0; i < NEWEST; i++) {
        own.to += lost_to_writer(t, &own, &t->acc_writers[i]);
    }
    if (own.to > end) { /* whoever comes behind it on the bus waits, too */
        vtac_vta_bus_yield(&t->reads, came, came - t->computing.asked - COMPUTE_LEAD, own.to - end);
    }
    end = own.to;
    t->acc_loads[t->acc_loaded++ % NEWEST] = own;
    set_places(&t->load_acc, g, end);
    vtac_vta_transfer_end(t, (transfer){transferred, came, end, NULL, g}, 0);
    vtac_vta_traffic_settle(t);
    const cycles over = retire(t, end);
    vtac_vta_load_learn(t, number, over);
    vtac_vta_compute_done(t, over);
    return over;
}

static array_span span_of_array(const job *j, cycles begin)
{
    const double writes = (double)j->writes / (double)vta_max(j->steps, 1);
    const int32_t each = j->steps / (j->writes > 1 ? j->writes : 1); /* steps from write to write */
    return (array_span){.begin = begin,
                        .end = begin + (cycles)j->steps,
                        .first = j->dst.first,
                        .count = j->dst.count - j->spread,
                        .spread = j->spread,
                        .writes = writes,
                        .reads = j->reads ? writes : 0.0,
                        .apart = each == 0 || READ_STAGE % each != 0};
}

static cycles array(model *t)
{
    const job *j = &t->jobs[t->at];
    const granule_run dst = j->to, inp = j->from, wgt = j->by;
    const cycles kernel = need_uops(t);
    uint32_t number;
    const cycles ready = later(until_stored(t, dst, &number),
                               later(latest_at(&t->inp.wrote, inp), latest_at(&t->wgt.wrote, wgt)) + TOKEN);
    cycles start = issue(t, &t->array_queue, ready) + 2;
    t->array_fetched = later(later(start, t->array_free), kernel);
    start = later(t->array_fetched, t->alu_start);
    start = later(start, later(latest_at(&t->alu_acc, dst), latest_at(&t->load_acc, dst)));
    start = later(start, later(latest_at(&t->alu_read, dst), latest_at(&t->alu_inp, inp)));
    queue_take(&t->array_queue, start);
    t->array_start = start;
    t->newest = span_of_array(j, start);
    beside_acc_loads(t,
                     &(acc_span){start, t->newest.end, j->dst.first, j->dst.count, dst, t->newest.writes, 0});
    t->array_free = t->newest.end;
    const cycles end = t->array_free + ARRAY_DRAIN, over = retire(t, end);
    vtac_vta_load_learn(t, number, over);
    busy(t, true, start, t->array_free);
    vtac_vta_compute_done(t, over);
    set_places(&t->array_acc, dst, end);
    set_places(&t->inp.read, inp, over);
    set_places(&t->array_inp, inp, t->array_free);
    set_places(&t->wgt.read, wgt, over);
    set_places(&t->out.wrote, dst, over);
    return over;
}

/* Work of the ALU that is left at a time. It reads `count` entries of ACC from `first` on, one after the
 * other, and writes there, or not. */
typedef struct alu_work {
    double now, left, steps;
    int64_t first, count;
    bool writes;
} alu_work;

/* How many entries from this one on are in its bank, of those before `end`. */
static double rest_of_bank(const model *t, double entry, int64_t end)
{
    const int64_t size = t->m->acc / bank_of(t, t->m->acc), next = ((int64_t)entry / size + 1) * size;
    return (double)(next < end ? next : end) - entry;
}

/* Up to `until` at most, where the array leaves it this share of the cycles. */
static void alu_goes(alu_work *alu, double until, double share)
{
    const double there = share * (until - alu->now);
    if (there >= alu->left) {
        alu->now += alu->left / share;
        alu->left = 0;
    } else {
        alu->now = until;
        alu->left -= there;
    }
}

/* Beside an instruction of the array, which comes first at the port that writes ACC, and at each bank's port
 * that reads it. */
static void alu_beside(const model *t, alu_work *alu, const array_span *array)
{
    const double stage = alu->writes ? WRITE_STAGE : READ_STAGE;
    const double begin = (double)array->begin + stage, array_end = (double)array->end + stage;
    const double length = array_end - begin;
    if (alu->left > 0 && alu->now < begin) {
        alu_goes(alu, begin, 1.0);
    }
    while (alu->left > 0 && alu->now < array_end) {
        const double writes = alu->writes ? array->writes : 0.0;
        double until = array_end, share = 1.0 - writes;
        if (array->reads > 0) {
            const double gone = (alu->now - begin) / length;
            const double entry = (double)array->first + gone * (double)array->count;
            const double own = (double)alu->first + (1.0 - alu->left / alu->steps) * (double)alu->count;
            const int64_t bank = bank_of(t, (int64_t)own), end = array->first + array->count;
            int64_t meets = bank_of(t, (int64_t)entry) == bank, of = 1;
            double rest = rest_of_bank(t, entry, end);
            if (array->spread > 0) {
                const double other = entry + (double)array->spread;
                meets += bank_of(t, (int64_t)other) == bank;
                of = 2;
                rest = fmin(rest, rest_of_bank(t, other, end + array->spread));
            }
            if (array->apart || !alu->writes) {
                share -= array->reads * (double)meets / (double)of;
            }
            const double own_rest =
                rest_of_bank(t, own, alu->first + alu->count) * alu->steps / (double)alu->count;
            until = rest * length / (double)array->count;
            until = fmax(share > 0.01 ? fmin(until, own_rest / share) : until, 1.0);
            until = fmin(alu->now + until, array_end);
        }
        alu_goes(alu, until, share > 0.01 ? share : 0.0);
    }
}

/* Whether a step between the one at hand and `to` must come before what the array does there. */
static bool array_waits(const model *t, size_t to)
{
    const job *array = &t->jobs[to];
    for (size_t i = t->at + 1; i < to; i++) {
        const job *j = &t->jobs[i];
        bool waits = false;
        if (j->kind == STEP_STORE) {
            waits = stretches_meet(j->src, array->dst);
        } else if (j->kind == STEP_LOAD) {
            waits = stretches_meet(j->dst, j->memory == VTA_MEM_INP   ? array->src
                                           : j->memory == VTA_MEM_WGT ? array->other
                                                                      : array->dst);
        }
        if (waits) {
            return true;
        }
    }
    return false;
}

/* When what the array does in a step may begin, as far as it is known: it is the next but so many. */
static cycles array_begins(const model *t, const job *j, cycles *issued, uint32_t queued, cycles free)
{
    uint32_t number;
    const cycles stored = until_stored(t, j->to, &number);
    const cycles loaded = later(latest_at(&t->inp.wrote, j->from), latest_at(&t->wgt.wrote, j->by)) + TOKEN;
    *issued = later(*issued + 1, later(stored, loaded));
    *issued = later(*issued, t->array_queue.at[(t->array_queue.next + queued) % PIPE_QUEUE]);
    cycles begin = later(later(*issued + 2, free), later(t->alu_start, latest_at(&t->load_acc, j->to)));
    begin = later(begin, later(latest_at(&t->alu_acc, j->to), latest_at(&t->alu_read, j->to)));
    return later(begin, latest_at(&t->alu_inp, j->from));
}

/* When what the ALU begins at `start` is done, beside the array: the instruction that is there, and those
 * behind this one that begin before it is done and need nothing of it. */
static cycles alu_until(const model *t, cycles start, const job *own)
{
    const double steps = own->steps;
    alu_work alu = {(double)start, steps, steps, own->src.first, own->src.count, !own->to_inp};
    cycles free = t->array_free, issued = t->compute_issue;
    uint32_t queued = 0;
    alu_beside(t, &alu, &t->newest);
    for (size_t i = t->at + 1; alu.left > 0 && i < t->count && queued < PIPE_QUEUE; i++) {
        const job *j = &t->jobs[i];
        if (j->kind == STEP_ALU || j->kind == STEP_REQUANT) {
            break; /* that begins behind this one, and the array's next behind that */
        }
        if (!runs_on_array(j)) {
            continue;
        }
        if (stretches_meet(j->dst, own->src) || stretches_meet(own->to_inp ? j->src : j->dst, own->dst) ||
            array_waits(t, i)) {
            break;
        }
        const array_span span = span_of_array(j, array_begins(t, j, &issued, queued, free));
        alu_beside(t, &alu, &span);
        free = span.end;
        queued++;
    }
    return (cycles)ceil(alu.now + alu.left);
}

static cycles alu(model *t)
{
    const job *j = &t->jobs[t->at];
    const granule_run dst = j->to, src = j->from, params = j->by;
    const cycles steps = (cycles)j->steps, kernel = need_uops(t);
    uint32_t number;
    cycles start = issue(t, &t->alu_queue, until_stored(t, dst, &number)) + 2;
    t->alu_fetched = later(later(start, t->alu_free), kernel);
    start = later(t->alu_fetched, t->array_start);
    queue_take(&t->alu_queue, start);
    t->alu_start = start;
    start = later(start, later(latest_at(&t->array_acc, src), latest_at(&t->array_acc, dst)));
    start = later(start, later(latest_at(&t->load_acc, src), latest_at(&t->load_acc, dst)));
    start = later(start, latest_at(&t->load_acc, params));
    if (t->alu_free > 0) { /* results that are still on their way */
        const cycles flow = later(latest_at(&t->alu_acc, src), latest_at(&t->alu_acc, dst));
        start = later(start, flow > steps ? flow - steps : 0);
    }
    t->alu_free = alu_until(t, start + ALU_START, j);
    beside_acc_loads(t, &(acc_span){start, t->alu_free, j->dst.first, j->dst.count, dst,
                                    (double)j->writes / (double)(t->alu_free - start), 0});
    const cycles end = t->alu_free + ALU_DRAIN, over = retire(t, end);
    vtac_vta_load_learn(t, number, over);
    busy(t, false, start, t->alu_free);
    vtac_vta_compute_done(t, over);
    set_places(&t->alu_read, src, t->alu_free);
    set_places(&t->alu_read, params, t->alu_free);
    set_places(&t->alu_acc, dst, end);
    set_places(&t->out.wrote, dst, over);
    return over;
}

/* A requantization into INP. */
static cycles inwards(model *t)
{
    const job *j = &t->jobs[t->at];
    const granule_run dst = j->to, src = j->from, params = j->by;
    const cycles kernel = need_uops(t);
    const cycles loaded = latest_at(&t->inp.wrote, dst);
    cycles start = issue(t, &t->alu_queue, loaded > 0 ? loaded + TOKEN : 0) + 2;
    t->alu_fetched = later(later(start, t->alu_free), kernel);
    start = later(t->alu_fetched, t->array_start);
    queue_take(&t->alu_queue, start);
    t->alu_start = start;
    start = later(start, later(latest_at(&t->array_acc, src), latest_at(&t->load_acc, src)));
    start = later(start, later(latest_at(&t->array_inp, dst), latest_at(&t->load_acc, params)));
    t->alu_free = alu_until(t, start + ALU_START, j);
    const cycles end = t->alu_free + ALU_DRAIN, over = retire(t, end);
    busy(t, false, start, t->alu_free);
    vtac_vta_compute_done(t, over);
    vtac_vta_load_delay(t, start, t->alu_free);
    set_places(&t->alu_read, src, t->alu_free);
    set_places(&t->alu_read, params, t->alu_free);
    set_places(&t->alu_inp, dst, end);
    set_places(&t->inp.read, dst, over);
    return over;
}

cycles vtac_vta_compute_step(model *t)
{
    const job *j = &t->jobs[t->at];
    if (j->kind == STEP_LOAD) {
        return acc_load(t);
    }
    if (runs_on_array(j)) {
        return array(t);
    }
    if (j->kind == STEP_ALU) {
        t->now.steps = (uint64_t)j->writes;
        t->now.beats = (uint64_t)j->steps;
    }
    return j->to_inp ? inwards(t) : alu(t);
}
