/* SPDX-License-Identifier: Apache-2.0
 *
 * The compute unit of the timing model. Instructions issue in order into the queues of three concurrent
 * pipelines: the array, the ALU with REQUANT, and LOADs into ACC. They meet at the ports and banks of ACC.
 * Micro-ops are loaded by LOADs of their own.
 */
#include <math.h>

#include "model.h"
#include "vta/number.h"

void vtac_vta_compute_done(model *t, cycles over)
{
    t->now.over = over;
    t->failed = t->failed || (t->keep && vta_vec_push(&t->deeds, &t->now) == NULL);
    t->now = (timing_deed){.tag = t->now.tag};
}

static void set_busy(model *t, bool run_array, cycles from, cycles to)
{
    t->now.array = run_array;
    t->now.busy_from = from;
    t->now.busy_to = to;
}

/* The time when the store unit has read OUT entries and its token has come. */
static cycles stored_at(const model *t, granule_run g, uint32_t *number)
{
    *number = (uint32_t)latest_at(&t->out.read, g);
    return *number > 0 ? t->store_end[*number] + TOKEN : 0;
}

static cycles retire_at(model *t, cycles end)
{
    t->retired = later(t->retired + 1, end);
    return t->retired;
}

static cycles issue_at(model *t, window_of_times *queue, cycles ready)
{
    t->now.asked = later(later(vtac_vta_traffic_fetch(t), t->compute_issue + 1), queue_room(queue));
    t->now.issued = t->compute_issue = later(t->now.asked, ready);
    return t->compute_issue;
}

/* Runs a LOAD of micro-ops. An empty one, which the runtime has reserved and not used, is a NOP. */
static void load_uops(model *t, const uop_load *l, cycles *end)
{
    const int64_t bytes = (int64_t)l->count * VTA_UOP_BYTES;
    const cycles issued = issue_at(t, &t->load_queue, 0);
    if (l->count == 0) {
        return;
    }
    const cycles start = later(later(issued + 1, t->acc_load), later(t->array_fetched, t->alu_fetched));
    const cycles beats =
        vtac_vta_traffic_paced(t, (cycles)vta_ceil_div(bytes, vta_min(VTA_UOP_BYTES * 2, t->m->beat)), bytes);
    queue_take(&t->load_queue, start);
    t->acc_load = start + LOAD_GAP;
    *end = retire_at(t, vtac_vta_traffic_read(t, &t->computing, start, (bursts){1, beats}));
}

/* The time when the step's micro-ops are there. Runs the LOADs of micro-ops before the step. */
static cycles uops_ready(model *t)
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

#define ALWAYS 0.95 /* fraction of cycles with a write from which hardly any cycle is free */

/* The cycles that a LOAD into ACC loses to a concurrent writer: an entry waits where both use the same bank,
 * until a cycle without a write. */
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

/* Delays the LOADs into ACC that meet an instruction of the array or the ALU which writes there. */
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
        t->retired = later(t->retired, l->to); /* instructions retire in order */
    }
    if (lost > 0) {
        vtac_vta_bus_yield(&t->reads, writer->from, (cycles)t->m->latency, lost);
    }
}

static cycles run_acc_load(model *t)
{
    const job *j = &t->jobs[t->at];
    const granule_run g = j->to;
    uint32_t number;
    if (step_at(t->list, t->at)->kept) {
        return issue_at(t, &t->load_queue, 0);
    }
    const cycles data = vtac_vta_load_stored(t, t->at, &number);
    cycles start = issue_at(t, &t->load_queue, data > 0 ? data + TOKEN : 0);
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
    if (own.to > end) { /* reads behind it on the bus wait, too */
        vtac_vta_bus_yield(&t->reads, came, came - t->computing.asked - COMPUTE_LEAD, own.to - end);
    }
    end = own.to;
    t->acc_loads[t->acc_loaded++ % NEWEST] = own;
    set_places(&t->load_acc, g, end);
    vtac_vta_transfer_end(t, (transfer){transferred, came, end, NULL, g}, 0);
    vtac_vta_traffic_settle(t);
    const cycles over = retire_at(t, end);
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

static cycles run_array(model *t)
{
    const job *j = &t->jobs[t->at];
    const granule_run dst = j->to, inp = j->from, wgt = j->by;
    const cycles kernel = uops_ready(t);
    uint32_t number;
    const cycles ready = later(stored_at(t, dst, &number),
                               later(latest_at(&t->inp.wrote, inp), latest_at(&t->wgt.wrote, wgt)) + TOKEN);
    cycles start = issue_at(t, &t->array_queue, ready) + 2;
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
    const cycles end = t->array_free + ARRAY_DRAIN, over = retire_at(t, end);
    vtac_vta_load_learn(t, number, over);
    set_busy(t, true, start, t->array_free);
    vtac_vta_compute_done(t, over);
    set_places(&t->array_acc, dst, end);
    set_places(&t->inp.read, inp, over);
    set_places(&t->array_inp, inp, t->array_free);
    set_places(&t->wgt.read, wgt, over);
    set_places(&t->out.wrote, dst, over);
    return over;
}

/* The ALU's remaining work at a time. It reads `count` entries of ACC from `first` on in order, and
 * may write them. */
typedef struct alu_work {
    double now, left, steps;
    int64_t first, count;
    bool writes;
} alu_work;

/* The number of entries from `entry` on in its bank, up to `end`. */
static double rest_of_bank(const model *t, double entry, int64_t end)
{
    const int64_t size = t->m->acc / bank_of(t, t->m->acc), next = ((int64_t)entry / size + 1) * size;
    return (double)(next < end ? next : end) - entry;
}

/* Runs the ALU to `until` at most, while the array leaves it this share of the cycles. */
static void advance_alu(alu_work *run_alu, double until, double share)
{
    const double there = share * (until - run_alu->now);
    if (there >= run_alu->left) {
        run_alu->now += run_alu->left / share;
        run_alu->left = 0;
    } else {
        run_alu->now = until;
        run_alu->left -= there;
    }
}

/* Runs the ALU beside an instruction of the array, which has priority at the write port of ACC and at the
 * read port of each bank. */
static void alu_beside(const model *t, alu_work *run_alu, const array_span *run_array)
{
    const double stage = run_alu->writes ? WRITE_STAGE : READ_STAGE;
    const double begin = (double)run_array->begin + stage, array_end = (double)run_array->end + stage;
    const double length = array_end - begin;
    if (run_alu->left > 0 && run_alu->now < begin) {
        advance_alu(run_alu, begin, 1.0);
    }
    while (run_alu->left > 0 && run_alu->now < array_end) {
        const double writes = run_alu->writes ? run_array->writes : 0.0;
        double until = array_end, share = 1.0 - writes;
        if (run_array->reads > 0) {
            const double gone = (run_alu->now - begin) / length;
            const double entry = (double)run_array->first + gone * (double)run_array->count;
            const double own =
                (double)run_alu->first + (1.0 - run_alu->left / run_alu->steps) * (double)run_alu->count;
            const int64_t bank = bank_of(t, (int64_t)own), end = run_array->first + run_array->count;
            int64_t meets = bank_of(t, (int64_t)entry) == bank, of = 1;
            double rest = rest_of_bank(t, entry, end);
            if (run_array->spread > 0) {
                const double other = entry + (double)run_array->spread;
                meets += bank_of(t, (int64_t)other) == bank;
                of = 2;
                rest = fmin(rest, rest_of_bank(t, other, end + run_array->spread));
            }
            if (run_array->apart || !run_alu->writes) {
                share -= run_array->reads * (double)meets / (double)of;
            }
            const double own_rest = rest_of_bank(t, own, run_alu->first + run_alu->count) * run_alu->steps /
                                    (double)run_alu->count;
            until = rest * length / (double)run_array->count;
            until = fmax(share > 0.01 ? fmin(until, own_rest / share) : until, 1.0);
            until = fmin(run_alu->now + until, array_end);
        }
        advance_alu(run_alu, until, share > 0.01 ? share : 0.0);
    }
}

/* True if the array's step `to` waits for a transfer between the step at hand and it. */
static bool array_waits(const model *t, size_t to)
{
    const job *run_array = &t->jobs[to];
    for (size_t i = t->at + 1; i < to; i++) {
        const job *j = &t->jobs[i];
        bool waits = false;
        if (j->kind == STEP_STORE) {
            waits = stretches_meet(j->src, run_array->dst);
        } else if (j->kind == STEP_LOAD) {
            waits = stretches_meet(j->dst, j->memory == VTA_MEM_INP   ? run_array->src
                                           : vta_loads_wgt(j->memory) ? run_array->other
                                                                      : run_array->dst);
        }
        if (waits) {
            return true;
        }
    }
    return false;
}

/* The time when the array may begin step j, as far as known; `queued` steps of the array come before it. */
static cycles array_begins(const model *t, const job *j, cycles *issued, uint32_t queued, cycles free)
{
    uint32_t number;
    const cycles stored = stored_at(t, j->to, &number);
    const cycles loaded = later(latest_at(&t->inp.wrote, j->from), latest_at(&t->wgt.wrote, j->by)) + TOKEN;
    *issued = later(*issued + 1, later(stored, loaded));
    *issued = later(*issued, t->array_queue.at[(t->array_queue.next + queued) % PIPE_QUEUE]);
    cycles begin = later(later(*issued + 2, free), later(t->alu_start, latest_at(&t->load_acc, j->to)));
    begin = later(begin, later(latest_at(&t->alu_acc, j->to), latest_at(&t->alu_read, j->to)));
    return later(begin, latest_at(&t->alu_inp, j->from));
}

/* The time when the ALU is done that begins at `start`, beside the array: its current instruction, and later
 * ones that begin before the ALU is done and do not depend on it. */
static cycles alu_until(const model *t, cycles start, const job *own)
{
    const double steps = own->steps;
    alu_work run_alu = {(double)start, steps, steps, own->src.first, own->src.count, !own->to_inp};
    cycles free = t->array_free, issued = t->compute_issue;
    uint32_t queued = 0;
    alu_beside(t, &run_alu, &t->newest);
    for (size_t i = t->at + 1; run_alu.left > 0 && i < t->count && queued < PIPE_QUEUE; i++) {
        const job *j = &t->jobs[i];
        if (j->kind == STEP_ALU || j->kind == STEP_REQUANT) {
            break; /* this begins behind the ALU's instruction, and the array's next behind it */
        }
        if (!runs_on_array(j)) {
            continue;
        }
        if (stretches_meet(j->dst, own->src) || stretches_meet(own->to_inp ? j->src : j->dst, own->dst) ||
            array_waits(t, i)) {
            break;
        }
        const array_span span = span_of_array(j, array_begins(t, j, &issued, queued, free));
        alu_beside(t, &run_alu, &span);
        free = span.end;
        queued++;
    }
    return (cycles)ceil(run_alu.now + run_alu.left);
}

/* The time from which a REQUANT by row finds the records that the ALU makes. */
static cycles records_made(const model *t, const job *j)
{
    const cycles made = j->by_row ? latest_at(&t->alu_acc, j->by) : 0, lead = (cycles)j->lead;
    return made > lead ? made - lead : 0;
}

static cycles run_alu(model *t)
{
    const job *j = &t->jobs[t->at];
    const granule_run dst = j->to, src = j->from, params = j->by;
    const cycles steps = (cycles)j->steps, kernel = uops_ready(t);
    uint32_t number;
    cycles start = issue_at(t, &t->alu_queue, stored_at(t, dst, &number)) + 2;
    t->alu_fetched = later(later(start, t->alu_free), kernel);
    start = later(t->alu_fetched, t->array_start);
    queue_take(&t->alu_queue, start);
    t->alu_start = start;
    start = later(start, later(latest_at(&t->array_acc, src), latest_at(&t->array_acc, dst)));
    start = later(start, later(latest_at(&t->load_acc, src), latest_at(&t->load_acc, dst)));
    start = later(start, latest_at(&t->load_acc, params));
    if (t->alu_free > 0) { /* results still in the pipeline */
        const cycles flow = later(latest_at(&t->alu_acc, src), latest_at(&t->alu_acc, dst));
        start = later(start, flow > steps ? flow - steps : 0);
    }
    start = later(start, records_made(t, j));
    t->alu_free = alu_until(t, start + ALU_START, j);
    beside_acc_loads(t, &(acc_span){start, t->alu_free, j->dst.first, j->dst.count, dst,
                                    (double)j->writes / (double)(t->alu_free - start), 0});
    const cycles end = t->alu_free + ALU_DRAIN, over = retire_at(t, end);
    vtac_vta_load_learn(t, number, over);
    set_busy(t, false, start, t->alu_free);
    vtac_vta_compute_done(t, over);
    set_places(&t->alu_read, src, t->alu_free);
    set_places(&t->alu_read, params, t->alu_free);
    set_places(&t->alu_acc, dst, end);
    set_places(&t->out.wrote, dst, over);
    return over;
}

/* Runs a REQUANT into INP. */
static cycles run_requant_to_inp(model *t)
{
    const job *j = &t->jobs[t->at];
    const granule_run dst = j->to, src = j->from, params = j->by;
    const cycles kernel = uops_ready(t);
    const cycles loaded = latest_at(&t->inp.wrote, dst);
    cycles start = issue_at(t, &t->alu_queue, loaded > 0 ? loaded + TOKEN : 0) + 2;
    t->alu_fetched = later(later(start, t->alu_free), kernel);
    start = later(t->alu_fetched, t->array_start);
    queue_take(&t->alu_queue, start);
    t->alu_start = start;
    start = later(start, later(latest_at(&t->array_acc, src), latest_at(&t->load_acc, src)));
    start = later(start, later(latest_at(&t->array_inp, dst), latest_at(&t->load_acc, params)));
    start = later(start, records_made(t, j));
    t->alu_free = alu_until(t, start + ALU_START, j);
    const cycles end = t->alu_free + ALU_DRAIN, over = retire_at(t, end);
    set_busy(t, false, start, t->alu_free);
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
        return run_acc_load(t);
    }
    if (runs_on_array(j)) {
        return run_array(t);
    }
    if (j->kind == STEP_ALU) {
        t->now.steps = (uint64_t)j->writes;
        t->now.beats = (uint64_t)j->steps;
    }
    return j->to_inp ? run_requant_to_inp(t) : run_alu(t);
}
