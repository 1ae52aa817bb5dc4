/* SPDX-License-Identifier: Apache-2.0
 *
 * The needs of each step, worked out before any time is known. A list uses few different ranges of entries:
 * their ends cut a scratchpad into places, and all entries of a place have the same marks.
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "vta/number.h"

static void track_init(track *of, int64_t depth)
{
    while (((int64_t)GRANULES << of->log_size) < depth) {
        of->log_size++;
    }
}

/* The granules of some entries; marks both ends of the range as cuts. */
static granule_run cut_range(track *of, entry_range where)
{
    const int64_t from = where.first >> of->log_size,
                  to = vta_min((where.first + vta_max(where.count, 1) - 1) >> of->log_size, GRANULES - 1);
    if (from > to) {
        return NOWHERE;
    }
    of->place[from] = of->place[to + 1] = 1;
    return (granule_run){(uint16_t)from, (uint16_t)to};
}

static entry_range range_of(int64_t first, int64_t count)
{
    return (entry_range){(int32_t)first, (int32_t)count};
}

static void transfer_of(const model *t, job *j, int64_t y, int64_t x, int64_t stride, vta_memory memory)
{
    const bursts b = vtac_vta_bursts_of(t, y, x, stride, t->m->config->elem_bytes[memory]);
    j->bursts = (int32_t)b.count;
    j->beats = (int32_t)b.each;
}

static void job_of_load(model *t, const vta_load2d *l, job *j)
{
    const list_range filled = list_fills(l);
    j->memory = (uint8_t)l->memory;
    j->works = l->buffer.index == WORK_BUFFER;
    j->dst = range_of(filled.first, filled.count);
    j->to = cut_range(load_track(t, j), j->dst);
    j->pads = (int32_t)(filled.count - l->y_size * l->x_size);
    j->gap = l->x_stride == l->x_size ? 0 : (int32_t)l->y_size * ROW_GAP;
    transfer_of(t, j, l->y_size, l->x_size, l->x_stride, l->memory);
}

static void job_of_store(model *t, const vta_store2d *s, job *j)
{
    j->src = range_of(s->sram, s->y_size * s->x_size);
    j->from = cut_range(&t->out, j->src);
    transfer_of(t, j, s->y_size, s->x_size, s->x_stride, VTA_MEM_OUT);
}

static void set_ranges(job *j, const list_nest *n)
{
    j->dst = range_of(n->dst, n->dst_count);
    j->src = range_of(n->src, n->src_count);
    j->other = range_of(n->wgt, n->wgt_count);
    j->spread = (int32_t)n->dst_spread;
}

/* The writes of a GEMM: a step that keeps its predecessor's destination adds to it in a register, so it
 * is written once. */
static int64_t writes_of(const vta_gemm *g, const list_nest *n)
{
    if (n->dst_runs > 1) {
        return g->iter_out * g->iter_in * n->dst_runs;
    }
    const int64_t inner = g->dst_in != 0 ? g->iter_in : 1;
    return inner > 1 || g->dst_out != 0 ? g->iter_out * inner : 1;
}

static inline void job_of_array(model *t, job *j, const list_nest *n)
{
    set_ranges(j, n);
    j->to = cut_range(&t->out, j->dst);
    j->from = cut_range(&t->inp, j->src);
    j->by = cut_range(&t->wgt, j->other);
}

static void job_of_gemm(model *t, const step *s, job *j)
{
    const vta_gemm *g = &s->gemm;
    const list_nest n = list_nest_of(t->list, s);
    j->kernel = g->kernel.index;
    j->reads = !g->init && !g->reset;
    j->steps = (int32_t)(g->iter_out * g->iter_in * n.uops);
    j->writes = (int32_t)writes_of(g, &n);
    job_of_array(t, j, &n);
    if (g->reset) {
        j->src = j->other = (entry_range){0};
        j->from = j->by = NOWHERE;
    }
}

static int64_t depthwise_steps(const model *t, const vta_depthwise *d)
{
    const vta_window_steps steps =
        vta_window_steps_of(t->m->config, d->taps_x, d->taps_y, d->col_step, d->row_step, d->src_in);
    const int64_t columns = d->taps_x + (d->iter_in - 1) * (d->taps_x - steps.kept);
    return d->iter_out * (d->taps_y / steps.rows) * columns;
}

static void job_of_depthwise(model *t, const step *s, job *j)
{
    const vta_depthwise *d = &s->depthwise;
    const list_nest n = list_nest_of(t->list, s);
    j->kernel = d->kernel.index;
    j->reads = !d->init;
    j->steps = (int32_t)depthwise_steps(t, d);
    j->writes = (int32_t)(d->iter_out * d->iter_in);
    job_of_array(t, j, &n);
}

/* The ALU's cycles for a step. */
static int64_t cycles_of_step(const vta_alu *a)
{
    return a->op == VTA_ALU_ROW && a->row.function >= VTA_ROW_ROOT ? UNIT : 1;
}

/* True if each of a step's two operands is the same entry, which is read once. */
static bool is_alike(const vta_alu *a, const list_nest *n)
{
    return n->uops == 1 && n->dst == n->src && a->dst_in == a->src_in && a->dst_out == a->src_out;
}

/* Steps that read another destination than the step before: results so far are forwarded. */
static int64_t runs_of(const vta_alu *a, const list_nest *n)
{
    const int64_t outer = a->dst_out == 0 ? 1 : a->iter_out;
    return n->uops == 1 && a->dst_in == 0 ? outer : a->iter_out * a->iter_in * n->dst_runs;
}

/* The fraction of steps whose operands lie in one bank. Where both advance, they stay as far apart as they
 * begin. */
static double share_of_one_bank(const model *t, const vta_alu *a, const list_nest *n)
{
    double share = 0.0;
    if (n->uops > 1 || (a->dst_in != 0 && a->src_in != 0)) {
        return bank_of(t, n->dst) == bank_of(t, n->src) ? 1.0 : 0.0;
    }
    for (int64_t bank = 0; bank < bank_of(t, t->m->acc); bank++) {
        share += share_of_bank(t, n->dst, n->dst_count, bank) * share_of_bank(t, n->src, n->src_count, bank);
    }
    return share;
}

static void job_of_alu(model *t, const step *s, job *j)
{
    const vta_alu *a = &s->alu;
    const list_nest n = list_nest_of(t->list, s);
    const int64_t passes = a->iter_out * a->iter_in;
    const bool two = !a->use_imm && a->op != VTA_ALU_MOV && a->op != VTA_ALU_ROW;
    const double one_bank = two && !is_alike(a, &n) ? share_of_one_bank(t, a, &n) : 0.0;
    set_ranges(j, &n);
    j->kernel = a->kernel.index;
    j->steps = (int32_t)(passes * n.uops * cycles_of_step(a) + (int64_t)(one_bank * (double)runs_of(a, &n)));
    j->writes = (int32_t)(passes * n.uops);
    j->to = cut_range(&t->out, j->dst);
    j->from = cut_range(&t->out, j->src);
}

static void job_of_requant(model *t, const vta_requant *r, job *j)
{
    const int64_t record = record_entries(r->wide), records = r->by_row ? r->iter_out : 1;
    const int64_t dst = list_requant_count(r);
    const int64_t src = (r->iter_out - 1) * r->src_out + (r->iter_in - 1) * r->src_in + 1;
    j->to_inp = r->to_inp;
    j->dst = range_of(r->dst, dst);
    j->src = range_of(r->src, r->to_inp ? src : dst);
    j->other = range_of(record * r->params, record * records);
    j->record = (uint8_t)record;
    j->by_row = r->by_row;
    j->writes = (int32_t)(r->iter_out * r->iter_in);
    j->steps = j->writes + (int32_t)records * (r->wide ? WIDE_RECORD : RECORD);
    j->lead = (int32_t)((j->steps / records) * (records - 1));
    j->to = cut_range(r->to_inp ? &t->inp : &t->out, j->dst);
    j->from = cut_range(&t->out, j->src);
    j->by = cut_range(&t->out, j->other);
}

static void job_of(model *t, const step *s, job *j)
{
    *j = (job){.kind = (uint8_t)s->kind,
               .early = list_is_early(s),
               .tag = s->tag,
               .to = NOWHERE,
               .from = NOWHERE,
               .by = NOWHERE};
    switch (s->kind) {
    case STEP_LOAD: job_of_load(t, &s->load, j); break;
    case STEP_STORE: job_of_store(t, &s->store, j); break;
    case STEP_GEMM: job_of_gemm(t, s, j); break;
    case STEP_DEPTHWISE: job_of_depthwise(t, s, j); break;
    case STEP_ALU: job_of_alu(t, s, j); break;
    case STEP_REQUANT: job_of_requant(t, &s->requant, j); break;
    }
    if (s->kept) { /* a transfer of nothing */
        j->bursts = j->beats = j->pads = j->gap = 0;
        j->works = false;
        j->to = NOWHERE;
    }
}

/* Numbers the places: the granules between two cuts. */
static void number_places(track *of)
{
    enum { BESIDE = 4 }; /* granules at a time: most groups have no cut */
    _Static_assert(GRANULES % BESIDE == 0, "granules are looked at four by four");
    uint16_t number = 0;
    for (size_t i = 0; i < GRANULES; i += BESIDE) {
        uint64_t cuts;
        memcpy(&cuts, &of->place[i], sizeof cuts);
        if (cuts == 0) {
            cuts = number * UINT64_C(0x0001000100010001);
            memcpy(&of->place[i], &cuts, sizeof cuts);
            continue;
        }
        for (size_t k = i; k < i + BESIDE; k++) {
            number = (uint16_t)(number + of->place[k]);
            of->place[k] = number;
        }
    }
    of->places = number + 1;
}

static void to_places(const track *of, granule_run *where)
{
    if (where->first <= where->last) {
        *where = (granule_run){of->place[where->first], of->place[where->last]};
    }
}

static void name_places(model *t, job *j)
{
    const bool array = runs_on_array(j);
    to_places(j->kind == STEP_LOAD ? load_track(t, j) : j->to_inp ? &t->inp : &t->out, &j->to);
    to_places(array ? &t->inp : &t->out, &j->from);
    to_places(array ? &t->wgt : &t->out, &j->by);
}

bool vtac_vta_jobs_make(model *t)
{
    t->count = t->list->steps.count;
    t->jobs = malloc((t->count + 1) * sizeof *t->jobs);
    if (t->jobs == NULL) {
        return false;
    }
    track_init(&t->inp, t->m->inp);
    track_init(&t->wgt, t->m->wgt);
    track_init(&t->out, t->m->acc);
    for (size_t i = 0; i < t->count; i++) {
        job *j = &t->jobs[i];
        job_of(t, step_at(t->list, i), j);
        t->loads_left += j->early;
        t->store_count += j->kind == STEP_STORE;
        t->requant_count += j->kind == STEP_REQUANT;
        *work_left(t, j) += work_of(j);
    }
    number_places(&t->inp);
    number_places(&t->wgt);
    number_places(&t->out);
    for (size_t i = 0; i < t->count; i++) {
        name_places(t, &t->jobs[i]);
    }
    return true;
}
