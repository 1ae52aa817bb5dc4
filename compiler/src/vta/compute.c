/* SPDX-License-Identifier: Apache-2.0
 *
 * The compute unit of the timing model: instructions issue in order, into the queues of three pipelines that
 * go on beside each other: the array, the ALU with REQUANT, and LOADs into ACC. They meet at ACC's ports and
 * banks; micro-ops come by LOADs of their own.
 */
#include <math.h>

#include "model.h"

/* An instruction of the compute unit is over. */
void compute_done(model *t, cycles over)
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
static cycles until_stored(const model *t, granules g, uint32_t *number)
{
    *number = (uint32_t)marks_latest(&t->out.read, g);
    return *number > 0 ? t->store_end[*number] + TOKEN : 0;
}

static cycles retire(model *t, cycles end)
{
    t->retired = later(t->retired + 1, end);
    return t->retired;
}

static cycles issue(model *t, window_of_times *queue, cycles ready)
{
    t->now.asked = later(later(traffic_fetch(t), t->compute_issue + 1), room(queue));
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
        traffic_paced(t, (cycles)ceil_div(bytes, least(VTA_UOP_BYTES * 2, t->m->beat)), bytes);
    taken(&t->load_queue, start);
    t->acc_load = start + LOAD_GAP;
    *end = retire(t, traffic_read(t, &t->computing, start, (bursts){1, beats}));
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

static int64_t bank_of(const model *t, int64_t entry)
{
    const int64_t banks = t->m->acc == 512 || t->m->acc == 1024 ? 2 : 4; /* LOG_BANK of vta_compute.v */
    return entry * banks / t->m->acc;
}

/* How much of these entries lies in a bank. */
static double share_of_bank(const model *t, int64_t first, int64_t count, int64_t bank)
{
    const int64_t size = t->m->acc / bank_of(t, t->m->acc), begin = bank * size;
    const int64_t from = most(first, begin), to = least(first + count, begin + size);
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
        marks_raise(&t->load_acc, granules_of(t->out.log_size, l->first, l->count), l->to);
        t->retired = later(t->retired, l->to); /* in order: what is at hand is over after them */
    }
    if (lost > 0) {
        bus_yield(&t->reads, writer->from, t->m->config->mem_latency, lost);
    }
}

static cycles acc_load(model *t, const vta_load2d *l)
{
    const int64_t bytes = t->m->config->elem_bytes[l->memory];
    const list_range filled = list_fills(l);
    const granules g = granules_of(t->out.log_size, filled.first, filled.count);
    uint32_t number;
    const cycles data = load_stored(t, l, bytes, &number);
    cycles start = issue(t, &t->load_queue, data > 0 ? data + TOKEN : 0);
    start = later(later(start + 1, t->acc_load), later(t->array_start, t->alu_start));
    start = later(start, later(marks_latest(&t->array_acc, g), marks_latest(&t->alu_acc, g)));
    start = later(start, marks_latest(&t->alu_read, g));
    taken(&t->load_queue, start);
    t->acc_load = start + LOAD_GAP;
    const bursts b = bursts_of(t, l->y_size, l->x_size, l->x_stride, bytes);
    const uint32_t transferred = transfer_begin(t);
    const cycles came = traffic_read(t, &t->computing, start, b);
    cycles end = came + 3 + load_padding(l);
    acc_span own = {end - (cycles)b.count * b.each, end, filled.first, filled.count, 0, transferred};
    for (uint32_t i = 0; i < NEWEST; i++) {
        own.to += lost_to_writer(t, &own, &t->acc_writers[i]);
    }
    if (own.to > end) { /* whoever comes behind it on the bus waits, too */
        bus_yield(&t->reads, came, came - t->computing.asked - COMPUTE_LEAD, own.to - end);
    }
    end = own.to;
    t->acc_loads[t->acc_loaded++ % NEWEST] = own;
    marks_set(&t->load_acc, g, end);
    transfer_end(t, (transfer){transferred, came, end, NULL, g}, 0);
    traffic_settle(t);
    const cycles over = retire(t, end);
    load_learn(t, number, over);
    compute_done(t, over);
    return over;
}

typedef struct array_work {
    int64_t steps, writes;
    bool reads; /* ACC, where it writes */
    const list_nest *n;
} array_work;

static array_span span_of_array(const array_work *w, cycles begin)
{
    const double writes = (double)w->writes / (double)most(w->steps, 1);
    const int64_t each = w->steps / most(w->writes, 1); /* steps from write to write */
    return (array_span){.begin = begin,
                        .end = begin + (cycles)w->steps,
                        .first = w->n->dst,
                        .count = w->n->dst_count - w->n->dst_spread,
                        .spread = w->n->dst_spread,
                        .writes = writes,
                        .reads = w->reads ? writes : 0.0,
                        .apart = each == 0 || READ_STAGE % each != 0};
}

static cycles array(model *t, const array_work *w)
{
    const granules dst = granules_of(t->out.log_size, w->n->dst, w->n->dst_count);
    const granules inp = granules_of(t->inp.log_size, w->n->src, w->n->src_count);
    const granules wgt = granules_of(t->wgt.log_size, w->n->wgt, w->n->wgt_count);
    const cycles kernel = need_uops(t);
    uint32_t number;
    const cycles ready =
        later(until_stored(t, dst, &number),
              later(marks_latest(&t->inp.wrote, inp), marks_latest(&t->wgt.wrote, wgt)) + TOKEN);
    cycles start = issue(t, &t->array_queue, ready) + 2;
    t->array_fetched = later(later(start, t->array_free), kernel);
    start = later(t->array_fetched, t->alu_start);
    start = later(start, later(marks_latest(&t->alu_acc, dst), marks_latest(&t->load_acc, dst)));
    start = later(start, later(marks_latest(&t->alu_read, dst), marks_latest(&t->alu_inp, inp)));
    taken(&t->array_queue, start);
    t->array_start = start;
    t->newest = span_of_array(w, start);
    beside_acc_loads(t, &(acc_span){start, t->newest.end, w->n->dst, w->n->dst_count, t->newest.writes, 0});
    t->array_free = t->newest.end;
    const cycles end = t->array_free + ARRAY_DRAIN, over = retire(t, end);
    load_learn(t, number, over);
    busy(t, true, start, t->array_free);
    compute_done(t, over);
    marks_set(&t->array_acc, dst, end);
    marks_set(&t->inp.read, inp, over);
    marks_set(&t->array_inp, inp, t->array_free);
    marks_set(&t->wgt.read, wgt, over);
    marks_set(&t->out.wrote, dst, over);
    return over;
}

/* What the array does in a step. */
static array_work array_work_of(const model *t, const step *s, const list_nest *n);

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
static bool array_waits(const model *t, size_t to, const list_nest *n)
{
    const list_range dst = {n->dst, n->dst_count}, src = {n->src, n->src_count}, wgt = {n->wgt, n->wgt_count};
    for (size_t i = t->at + 1; i < to; i++) {
        const step *s = step_at(t->list, i);
        const vta_store2d *out = &s->store;
        bool waits = false;
        if (s->kind == STEP_STORE) {
            waits = list_meets((list_range){out->sram, out->y_size * out->x_size}, dst);
        } else if (s->kind == STEP_LOAD) {
            const vta_memory to_memory = s->load.memory;
            waits = list_meets(list_fills(&s->load), to_memory == VTA_MEM_INP   ? src
                                                     : to_memory == VTA_MEM_WGT ? wgt
                                                                                : dst);
        }
        if (waits) {
            return true;
        }
    }
    return false;
}

/* When `steps` of the ALU that begin at `start` are done, beside the array: the instruction that is there,
 * and those behind this one that begin before it is done and need nothing of it. */
static cycles alu_until(const model *t, cycles start, cycles steps, const list_nest *own, bool to_inp)
{
    const list_range dst = {own->dst, own->dst_count}, src = {own->src, own->src_count};
    alu_work alu = {(double)start, (double)steps, (double)steps, own->src, own->src_count, !to_inp};
    cycles free = t->array_free, issued = t->compute_issue;
    uint32_t queued = 0;
    alu_beside(t, &alu, &t->newest);
    for (size_t i = t->at + 1; i < t->list->steps.count && queued < PIPE_QUEUE; i++) {
        const step *s = step_at(t->list, i);
        if (s->kind == STEP_ALU || s->kind == STEP_REQUANT) {
            break; /* that begins behind this one, and the array's next behind that */
        }
        if (s->kind != STEP_GEMM && s->kind != STEP_DEPTHWISE) {
            continue;
        }
        const list_nest n = list_nest_of(t->list, s);
        const list_range to = {n.dst, n.dst_count};
        const list_range from = {n.src, n.src_count};
        if (list_meets(to, src) || list_meets(to_inp ? from : to, dst) || array_waits(t, i, &n)) {
            break;
        }
        const array_work w = array_work_of(t, s, &n);
        const granules to_acc = granules_of(t->out.log_size, n.dst, n.dst_count);
        const granules inp = granules_of(t->inp.log_size, n.src, n.src_count);
        const granules wgt = granules_of(t->wgt.log_size, n.wgt, n.wgt_count);
        uint32_t number;
        const cycles stored = until_stored(t, to_acc, &number);
        const cycles loaded =
            later(marks_latest(&t->inp.wrote, inp), marks_latest(&t->wgt.wrote, wgt)) + TOKEN;
        issued = later(issued + 1, later(stored, loaded));
        issued = later(issued, t->array_queue.at[(t->array_queue.next + queued) % PIPE_QUEUE]);
        cycles begin =
            later(later(issued + 2, free), later(t->alu_start, marks_latest(&t->load_acc, to_acc)));
        begin = later(begin, later(marks_latest(&t->alu_acc, to_acc), marks_latest(&t->alu_read, to_acc)));
        begin = later(begin, marks_latest(&t->alu_inp, inp));
        const array_span span = span_of_array(&w, begin);
        alu_beside(t, &alu, &span);
        free = span.end;
        queued++;
        if (alu.left <= 0) {
            break;
        }
    }
    return (cycles)ceil(alu.now + alu.left);
}

/* It writes `written` times. */
static cycles alu(model *t, cycles steps, cycles written, const list_nest *n, granules params, cycles kernel)
{
    const granules dst = granules_of(t->out.log_size, n->dst, n->dst_count);
    const granules src = granules_of(t->out.log_size, n->src, n->src_count);
    uint32_t number;
    cycles start = issue(t, &t->alu_queue, until_stored(t, dst, &number)) + 2;
    t->alu_fetched = later(later(start, t->alu_free), kernel);
    start = later(t->alu_fetched, t->array_start);
    taken(&t->alu_queue, start);
    t->alu_start = start;
    start = later(start, later(marks_latest(&t->array_acc, src), marks_latest(&t->array_acc, dst)));
    start = later(start, later(marks_latest(&t->load_acc, src), marks_latest(&t->load_acc, dst)));
    start = later(start, marks_latest(&t->load_acc, params));
    if (t->alu_free > 0) { /* results that are still on their way */
        const cycles flow = later(marks_latest(&t->alu_acc, src), marks_latest(&t->alu_acc, dst));
        start = later(start, flow > steps ? flow - steps : 0);
    }
    t->alu_free = alu_until(t, start + ALU_START, steps, n, false);
    beside_acc_loads(t, &(acc_span){start, t->alu_free, n->dst, n->dst_count,
                                    (double)written / (double)(t->alu_free - start), 0});
    const cycles end = t->alu_free + ALU_DRAIN, over = retire(t, end);
    load_learn(t, number, over);
    busy(t, false, start, t->alu_free);
    compute_done(t, over);
    marks_set(&t->alu_read, src, t->alu_free);
    marks_set(&t->alu_read, params, t->alu_free);
    marks_set(&t->alu_acc, dst, end);
    marks_set(&t->out.wrote, dst, over);
    return over;
}

/* A requantization into INP. */
static cycles inwards(model *t, const vta_requant *r, const list_nest *n, granules params, cycles kernel)
{
    const granules dst = granules_of(t->inp.log_size, n->dst, n->dst_count);
    const granules src = granules_of(t->out.log_size, n->src, n->src_count);
    const cycles steps = (cycles)(r->iter_out * r->iter_in + (r->wide ? WIDE_RECORD : RECORD));
    const cycles loaded = marks_latest(&t->inp.wrote, dst);
    cycles start = issue(t, &t->alu_queue, loaded > 0 ? loaded + TOKEN : 0) + 2;
    t->alu_fetched = later(later(start, t->alu_free), kernel);
    start = later(t->alu_fetched, t->array_start);
    taken(&t->alu_queue, start);
    t->alu_start = start;
    start = later(start, later(marks_latest(&t->array_acc, src), marks_latest(&t->load_acc, src)));
    start = later(start, later(marks_latest(&t->array_inp, dst), marks_latest(&t->load_acc, params)));
    t->alu_free = alu_until(t, start + ALU_START, steps, n, true);
    const cycles end = t->alu_free + ALU_DRAIN, over = retire(t, end);
    busy(t, false, start, t->alu_free);
    compute_done(t, over);
    load_beside(t, start, t->alu_free);
    marks_set(&t->alu_read, src, t->alu_free);
    marks_set(&t->alu_read, params, t->alu_free);
    marks_set(&t->alu_inp, dst, end);
    marks_set(&t->inp.read, dst, over);
    return over;
}

static cycles depthwise_steps(const model *t, const vta_depthwise *d)
{
    const vta_window_steps steps =
        vta_window_steps_of(t->m->config, d->taps_x, d->taps_y, d->col_step, d->row_step, d->src_in);
    const int64_t columns = d->taps_x + (d->iter_in - 1) * (d->taps_x - steps.kept);
    return (cycles)(d->iter_out * (d->taps_y / steps.rows) * columns);
}

/* Micro-ops that have another destination than the one before: it is read, and not at hand. */
static int64_t count_runs(const step_list *list, vta_kernel kernel)
{
    uint32_t count;
    const vta_uop *uops = list_uops(list, kernel, &count);
    int64_t runs = 1;
    for (uint32_t i = 1; i < count; i++) {
        runs += uops[i].dst != uops[i - 1].dst;
    }
    return runs;
}

/* A step that keeps the destination of the one before adds to it in a register: it is written once. */
static int64_t writes_of(const model *t, const vta_gemm *g, const list_nest *n)
{
    const int64_t runs = n->dst_spread > 0 ? count_runs(t->list, g->kernel) : 1;
    if (runs > 1) {
        return g->iter_out * g->iter_in * runs;
    }
    const int64_t inner = g->dst_in != 0 ? g->iter_in : 1;
    return inner > 1 || g->dst_out != 0 ? g->iter_out * inner : 1;
}

static array_work array_work_of(const model *t, const step *s, const list_nest *n)
{
    if (s->kind == STEP_GEMM) {
        const vta_gemm *g = &s->gemm;
        return (array_work){g->iter_out * g->iter_in * n->uops, writes_of(t, g, n), !g->init && !g->reset, n};
    }
    const vta_depthwise *d = &s->depthwise;
    return (array_work){(int64_t)depthwise_steps(t, d), d->iter_out * d->iter_in, !d->init, n};
}

cycles compute_step(model *t, const step *s)
{
    switch (s->kind) {
    case STEP_LOAD: return acc_load(t, &s->load);
    case STEP_GEMM:
    case STEP_DEPTHWISE: {
        const list_nest n = list_nest_of(t->list, s);
        const array_work w = array_work_of(t, s, &n);
        return array(t, &w);
    }
    case STEP_ALU: {
        const vta_alu *a = &s->alu;
        const list_nest n = list_nest_of(t->list, s);
        const int64_t passes = a->iter_out * a->iter_in;
        const bool one_bank = !a->use_imm && a->op != VTA_ALU_MOV && bank_of(t, n.dst) == bank_of(t, n.src);
        const cycles kernel = need_uops(t);
        const int64_t again = one_bank ? count_runs(t->list, a->kernel) : 0;
        t->now.steps = n.uops;
        t->now.beats = n.uops + (uint64_t)again;
        return alu(t, (cycles)(passes * (n.uops + again)), (cycles)(passes * n.uops), &n, (granules){0, -1},
                   kernel);
    }
    case STEP_STORE:
    case STEP_REQUANT: break;
    }
    const vta_requant *r = &s->requant;
    const int64_t count = (r->iter_out - 1) * r->dst_out + (r->iter_in - 1) * r->dst_in + 1;
    const list_nest n = {.dst = r->dst, .dst_count = count, .src = r->src, .src_count = count};
    const cycles kernel = need_uops(t);
    const int64_t record = record_entries(r->wide);
    const granules params = granules_of(t->out.log_size, record * r->params, record);
    if (r->to_inp) {
        const int64_t read = (r->iter_out - 1) * r->src_out + (r->iter_in - 1) * r->src_in + 1;
        return inwards(t, r,
                       &(list_nest){.dst = r->dst, .dst_count = count, .src = r->src, .src_count = read},
                       params, kernel);
    }
    const cycles outs = (cycles)(r->iter_out * r->iter_in);
    return alu(t, outs + (r->wide ? WIDE_RECORD : RECORD), outs, &n, params, kernel);
}
