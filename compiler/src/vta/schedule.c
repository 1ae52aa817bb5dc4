/* SPDX-License-Identifier: Apache-2.0
 *
 * Schedules a region: makes one stream of its layers, each planned and emitted as its kind says.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"
#include "timing.h"
#include "vta/number.h"

uint8_t *vtac_vta_blob_add(blob *b, uint64_t size, uint64_t align, uint64_t *offset)
{
    const uint64_t start = (b->size + align - 1) / align * align;
    uint8_t *bytes = vta_grow(b->bytes, &b->capacity, start + size + 1, 1);
    if (bytes == NULL) {
        return NULL;
    }
    b->bytes = bytes;
    memset(bytes + b->size, 0, start + size - b->size);
    b->size = start + size;
    *offset = start;
    return bytes + start;
}

const kind_of_layer vtac_vta_layer_kinds[VTAC_VTA_KINDS] = {
#define VTAC_VTA_KIND(id, name, rule, family)                                                                \
    [VTAC_VTA_##id] = {name, vtac_vta_##rule, vtac_vta_##family##_plan, vtac_vta_##family##_pack,            \
                       vtac_vta_##family##_emit},
#include "kinds.def"
#undef VTAC_VTA_KIND
};

void vtac_vta_plan_init(const machine *m, const vtac_vta_region *region, uint32_t number, plan *out)
{
    const vtac_vta_layer *layer = &region->layers[number];
    *out = (plan){.machine = m,
                  .region = region,
                  .layer = layer,
                  .number = number,
                  .images = vta_ceil_div(region->tensors[layer->output].n, m->batch)};
}

uint64_t vtac_vta_units_cycles(const load_of_units *units)
{
    enum { ENDS = 400 };
    const uint64_t work = units->array > units->alu ? units->array : units->alu;
    const uint64_t bus = units->load > units->store ? units->load : units->store;
    return (work > bus ? work : bus) + ENDS;
}

enum { LINE = 64 }; /* alignment of sizes in device memory */

/* A share of the machine for a layer, in 24ths, and what planning with it assumes. */
typedef struct portion {
    int64_t inp[2], wgt[2], acc[2]; /* [0]: of most layers; [1]: of depthwise layers */
    int64_t lag;
    bool by_blocks;
} portion;
enum { PORTION = 24, SIDE_OF = 4 };
enum { OTHERS_SHARE = 1, SHARE_PARTS = 2 }; /* of ACC, where layers on rows run beside others */
static const portion portions[OPTIONS] = {
    {{24, 24}, {24, 24}, {24, 24}, 0, false},
    {{12, 12}, {12, 3}, {12, 12}, 10, false},
    {{8, 10}, {12, 3}, {8, 8}, 50, false},
    {{8, 8}, {8, 3}, {8, 8}, 50, true},
};

candidate vtac_vta_plan_candidate(const plan *p)
{
    return p->grouped ? (candidate){.group = p->group.how} : (candidate){.tiling = p->tiling};
}

void vtac_vta_plan_apply(plan *p, const candidate *one)
{
    const uint64_t cycles = p->cycles; /* of the best tiling alone */
    if (p->grouped) {
        vtac_vta_group_apply(p, &one->group);
        p->cycles = cycles;
    } else {
        p->tiling = one->tiling;
    }
}

/* True if a plan is a convolution outside a group, perhaps with a sum or pool joined. */
static bool is_single(const plan *p)
{
    return !p->grouped && !p->factored && vtac_vta_layer_kinds[p->layer->kind].plan == vtac_vta_conv_plan;
}

bool vtac_vta_plan_has_tilings(const plan *p)
{
    return p->grouped || is_single(p);
}

static vta_status keep_candidate(scheduler *s, const stage *of, uint32_t option, candidate one,
                                 vta_diag *diag)
{
    one.stage = (uint32_t)(of - (const stage *)s->stages.items);
    one.option = option;
    return one.cycles == 0 || vta_vec_push(&s->candidates, &one) != NULL
               ? VTA_OK
               : vta_fail(diag, VTA_NOMEM, "no memory for a schedule");
}

bool vtac_vta_works_on_rows(const vtac_vta_layer *layer)
{
    return vtac_vta_layer_kinds[layer->kind].plan == vtac_vta_rows_plan || layer->kind == VTAC_VTA_PLANES;
}

/* The part of the machine that a layer has if layers on rows run beside others. */
static const machine *machine_beside(scheduler *s, const vtac_vta_layer *layer)
{
    const bool rows = vtac_vta_works_on_rows(layer);
    const int64_t all = s->hardware.acc;
    const int64_t others = all * OTHERS_SHARE / SHARE_PARTS;
    machine *share = &s->shares[0][rows];
    *share = s->hardware;
    share->first_acc = rows ? others : 0;
    share->acc = rows ? all - others : others;
    return share;
}

static const machine *machine_for(scheduler *s, const vtac_vta_layer *layer, uint32_t option)
{
    const machine *all = &s->hardware;
    const portion *share_of = &portions[option];
    const int k = layer->kind == VTAC_VTA_CONV && layer->groups > 1;
    machine *share = &s->shares[option][k];
    if (option == 0) {
        return s->concurrent ? machine_beside(s, layer) : all;
    }
    *share = *all;
    share->inp = all->inp * share_of->inp[k] / PORTION;
    share->wgt = all->wgt * share_of->wgt[k] / PORTION;
    share->side = all->acc / SIDE_OF * share_of->acc[k] / PORTION;
    share->acc = all->acc / SIDE_OF * (SIDE_OF - 1) * share_of->acc[k] / PORTION;
    share->lag = share_of->lag;
    share->by_blocks = share_of->by_blocks;
    return share;
}

static vta_status plan_group(scheduler *s, stage *of, uint32_t option, const machine *m, vta_diag *diag)
{
    plan *p = &of->options[option];
    const vtac_vta_layer *sum = of->joined >= 0 ? &s->region->layers[of->joined] : NULL;
    VTA_TRY(vtac_vta_group_plan(m, s->region, of->members, of->member_count, sum, p, diag));
    group_trials all = {.count = 0};
    VTA_TRY(s->trials > 0 ? vtac_vta_group_refine(p, s->trials, &all, diag) : VTA_OK);
    for (uint32_t i = 0; i < all.count && s->searches; i++) {
        const candidate one = {.cycles = all.tilings[i].cycles, .group = all.tilings[i]};
        VTA_TRY(keep_candidate(s, of, option, one, diag));
    }
    of->there[option] = true;
    return VTA_OK;
}

/* Plans a dense layer by its weights' factors where that is faster than with weights of 8 bits, by the timing
 * model or, where that is not asked, by the rough estimate. */
static bool takes_factors(scheduler *s, uint32_t number, plan *out)
{
    enum { TRIALS = 4 };
    plan whole;
    trials all;
    if (!vtac_vta_factors_plan(&s->hardware, s->region, number, out)) {
        return false;
    }
    uint64_t limit = UINT64_MAX;
    if (!s->factors && vtac_vta_conv_plan(&s->hardware, s->region, number, &whole, NULL) == VTA_OK) {
        limit =
            s->trials == 0 || vtac_vta_conv_refine(&whole, TRIALS, &all, NULL) == VTA_OK ? whole.cycles : 0;
    }
    return s->trials > 0 ? vtac_vta_factors_refine(out, limit) : out->cycles < limit;
}

static vta_status plan_option(scheduler *s, stage *of, uint32_t option, vta_diag *diag)
{
    const vtac_vta_layer *layer = &s->region->layers[of->number];
    const machine *m = machine_for(s, layer, option);
    plan *p = &of->options[option];
    const bool is_conv = vtac_vta_layer_kinds[layer->kind].plan == vtac_vta_conv_plan;
    if (of->member_count > 1) {
        return plan_group(s, of, option, m, diag);
    }
    if (of->joined < 0 && option == 0 && takes_factors(s, of->number, p)) {
        of->there[option] = true;
        return VTA_OK;
    }
    if (of->joined >= 0) {
        VTA_TRY(
            vtac_vta_conv_plan_joined(m, s->region, of->number, (uint32_t)of->joined, of->slice, p, diag));
    } else {
        VTA_TRY(vtac_vta_layer_kinds[layer->kind].plan(m, s->region, of->number, p, diag));
    }
    const bool asks = s->schedules != NULL && is_conv;
    if (s->trials > 0 && is_conv && !(s->quick && asks)) {
        trials all;
        VTA_TRY(vtac_vta_conv_refine(p, option > 0 ? (s->trials + 2) / 3 : s->trials, &all, diag));
        for (uint32_t i = 0; i < all.count && s->searches; i++) {
            const candidate one = {.cycles = all.cycles[i], .tiling = all.tilings[i]};
            VTA_TRY(keep_candidate(s, of, option, one, diag));
        }
    }
    of->there[option] = true;
    return asks ? vtac_vta_conv_pick(p, s->schedules, diag) : VTA_OK;
}

/* Plans a stage again for each share of the machine; a plan that does not fit is left out. Parted sums need
 * all of ACC: where they are best, a share would cost the ALU more than overlap saves. */
static void plan_shares(scheduler *s, stage *of)
{
    const kind_of_layer *kind = &vtac_vta_layer_kinds[s->region->layers[of->number].kind];
    const bool parted = is_single(&of->options[0]) && of->options[0].tiling.parted;
    const bool shares = !parted && !of->options[0].factored &&
                        (kind->plan == vtac_vta_conv_plan || kind->plan == vtac_vta_window_plan);
    for (uint32_t k = 1; k < OPTIONS && shares; k++) {
        (void)plan_option(s, of, k, NULL);
    }
}

static vta_status add_stage(scheduler *s, uint32_t number, int32_t joined, int64_t slice, vta_diag *diag)
{
    stage fresh = {.number = number, .joined = joined, .slice = slice};
    fresh.member_count = vtac_vta_decisions_members(&s->decided, number, fresh.members);
    return vta_vec_push(&s->stages, &fresh) != NULL ? VTA_OK
                                                    : vta_fail(diag, VTA_NOMEM, "no memory for a schedule");
}

/* A convolution that is joined to a sum or pool is emitted in the place of that layer. */
static vta_status add_stages(scheduler *s, uint32_t number, vta_diag *diag)
{
    const decisions *d = &s->decided;
    s->image->plans[number].joined_into = d->made_by[number];
    s->image->plans[number].feeds = d->feeds[number];
    if (d->sum_of[number] >= 0 || d->feeds[number] >= 0) {
        return VTA_OK;
    }
    if (d->made_by[number] < 0) {
        return add_stage(s, number, -1, 0, diag);
    }
    for (uint32_t maker = 0; maker < s->region->layer_count; maker++) {
        if (d->sum_of[maker] == (int32_t)number) {
            const bool inside = d->part_of[s->region->layers[maker].output] >= 0;
            const int64_t slice = inside ? d->block[s->region->layers[maker].output] : 0;
            VTA_TRY(add_stage(s, maker, (int32_t)number, slice, diag));
        }
    }
    return VTA_OK;
}

/* Allocates part of a scratchpad for a stage: behind the part of the stage before, or at the start. */
static int64_t allocate(int64_t *next, int64_t size, int64_t depth)
{
    enum { ALIGNED = 8 };
    const int64_t first = *next + size <= depth ? *next : 0;
    *next = vta_ceil_div(first + size, ALIGNED) * ALIGNED;
    return first;
}

/* Places a stage and emits its drafts. */
static vta_status draft_stage(scheduler *s, plan *p, entries_used *next, step_list *list,
                              interleave_stage *interleaved, vta_diag *diag)
{
    const machine *m = &s->hardware;
    const bool is_conv = is_single(p),
               is_window = vtac_vta_layer_kinds[p->layer->kind].plan == vtac_vta_window_plan;
    const size_t before = list->drafts.count;
    const entries_used free = *next;
    *interleaved = (interleave_stage){
        .inp = {0, m->inp}, .wgt = {0, m->wgt}, .acc = {0, m->acc}, .side = {0, m->acc}, .table = true};
    if ((is_conv || p->grouped) && p->machine->side > 0) {
        const entries_used used =
            is_conv ? vtac_vta_tiling_trim(&p->conv, &p->tiling) : vtac_vta_group_use(p);
        const int64_t sums = m->acc / SIDE_OF * (SIDE_OF - 1);
        const entries_used at = {allocate(&next->inp, used.inp, m->inp),
                                 allocate(&next->wgt, used.wgt, m->wgt), allocate(&next->acc, used.acc, sums),
                                 sums + allocate(&next->side, used.side, m->acc - sums)};
        if (is_conv) {
            vtac_vta_tiling_move(&p->tiling, &at);
        } else {
            vtac_vta_group_move(p, &at);
        }
        interleaved->inp = (list_range){at.inp, used.inp};
        interleaved->wgt = (list_range){at.wgt, used.wgt};
        interleaved->acc = (list_range){at.acc, used.acc};
        interleaved->side = (list_range){at.side, used.side};
        interleaved->table = !is_conv || conv_table(&p->conv) != NULL;
    } else if (is_window && p->machine->side > 0) {
        const int64_t sums = m->acc / SIDE_OF * (SIDE_OF - 1);
        p->window.first = allocate(&next->acc, p->machine->acc, sums);
        *interleaved = (interleave_stage){.acc = {p->window.first, p->machine->acc}};
    } else {
        *next = (entries_used){0};
    }
    list->tag = p->number + 1;
    list->flush = false;
    vtac_vta_list_piece(list);
    VTA_TRY(p->grouped    ? vtac_vta_group_emit(p, list, diag)
            : p->factored ? vtac_vta_factors_emit(p, list, diag)
                          : vtac_vta_layer_kinds[p->layer->kind].emit(p, list, diag));
    list->ends = is_conv && !s->still ? list->ends : (list_ends){0};
    interleaved->end = list->drafts.count;
    if (list->drafts.count == before) { /* nothing to do: the layer's inputs were made in place */
        *interleaved = (interleave_stage){.end = before};
        *next = free;
    }
    return VTA_OK;
}

stage *vtac_vta_stage_at(scheduler *s, size_t i)
{
    return vta_vec_at(&s->stages, i);
}

uint64_t vtac_vta_schedule_time(const scheduler *s, const step_list *list, uint64_t limit)
{
    const uint64_t hash = s->timed != NULL ? vtac_vta_list_hash(list) : 0;
    timed_list *known = s->timed != NULL ? &s->timed[hash % TIMED] : NULL;
    if (known != NULL && known->hash == hash && known->cycles > 0) {
        if (known->cycles >= limit) {
            return UINT64_MAX;
        }
        if (!known->at_least) {
            return known->cycles;
        }
    }
    const uint64_t cycles = vtac_vta_timing_below(&s->hardware, list, s->image->work_bytes, limit);
    if (known != NULL) {
        *known = (timed_list){hash, cycles < UINT64_MAX ? cycles : limit, cycles == UINT64_MAX};
    }
    return cycles;
}

/* A rough estimate of the time of the stages first … end-1 together. */
static vta_status try_stages(scheduler *s, size_t first, size_t end, uint64_t *cycles, vta_diag *diag)
{
    enum { MAX_STAGES = 16 };
    interleave_stage interleaved[MAX_STAGES];
    step_list *list = &s->trial;
    entries_used next = {0};
    vta_status status = VTA_OK;
    vtac_vta_list_clear(list);
    list->drafting = true;
    for (size_t i = first; i < end && status == VTA_OK; i++) {
        const stage *of = vtac_vta_stage_at(s, i);
        plan p = of->options[of->chosen];
        p.at = (constants){0};
        status = draft_stage(s, &p, &next, list, &interleaved[i - first], diag);
    }
    if (status == VTA_OK) {
        status = vtac_vta_list_interleave(list, &s->hardware, interleaved, (uint32_t)(end - first),
                                          s->image->work_bytes, cycles, diag);
    }
    return status;
}

/* Chooses the option of stage i that is best together with its neighbours. */
static vta_status choose_option(scheduler *s, size_t i, vta_diag *diag)
{
    enum { BEFORE = 2, BEHIND = 2 };
    const size_t count = s->stages.count;
    const size_t first = i > BEFORE ? i - BEFORE : 0, end = i + BEHIND + 1 < count ? i + BEHIND + 1 : count;
    stage *of = vtac_vta_stage_at(s, i);
    uint64_t best = UINT64_MAX;
    uint32_t chosen = 0;
    for (uint32_t k = 0; k < OPTIONS; k++) {
        uint64_t cycles;
        if (of->there[k]) {
            of->chosen = k;
            VTA_TRY(try_stages(s, first, end, &cycles, diag));
            chosen = cycles < best ? k : chosen;
            best = cycles < best ? cycles : best;
        }
    }
    of->chosen = chosen;
    return VTA_OK;
}

static vta_status choose_options(scheduler *s, vta_diag *diag)
{
    for (size_t i = 0; i < s->stages.count; i++) {
        vtac_vta_stage_at(s, i)->chosen = vtac_vta_stage_at(s, i)->there[1] ? 1 : 0;
    }
    for (size_t i = 0; i < s->stages.count; i++) {
        VTA_TRY(choose_option(s, i, diag));
    }
    return VTA_OK;
}

static uint32_t weight_bits(const conv *c)
{
    return c->layer->weights == NULL ? 0 : c->narrow ? 4 : 8;
}

/* Sets the cost of each member of a group as if it were a layer alone. */
static void set_member_costs(scheduler *s, const plan *p)
{
    for (uint32_t m = 0; m < p->group.count; m++) {
        const group_member *own = &p->group.members[m];
        const plan alone = {.machine = p->machine,
                            .region = p->region,
                            .layer = own->conv.layer,
                            .images = p->images,
                            .units = own->units,
                            .cycles = vtac_vta_units_cycles(&own->units)};
        vtac_vta_plan *to = &s->image->plans[own->conv.number];
        vtac_vta_plan_cost(&alone, &to->cost);
        to->weight_bits = weight_bits(&own->conv);
        vtac_vta_group_describe(p, m, to->schedule, sizeof to->schedule);
    }
}

static vta_status emit_stage(scheduler *s, const stage *of, interleave_stage *interleaved, vta_diag *diag)
{
    plan own = of->options[of->chosen], *p = &own;
    vtac_vta_plan *to = &s->image->plans[p->number];
    vtac_vta_plan_cost(p, &to->cost);
    if (is_single(p)) {
        to->weight_bits = weight_bits(&p->conv);
        vtac_vta_tiling_describe(&p->conv, &p->tiling, to->schedule, sizeof to->schedule);
    } else if (p->grouped) {
        set_member_costs(s, p);
    } else if (p->factored) {
        to->weight_bits = 4;
        vtac_vta_factors_describe(p, to->schedule, sizeof to->schedule);
    }
    VTA_TRY(p->grouped    ? vtac_vta_group_pack(p, &s->constants, diag)
            : p->factored ? vtac_vta_factors_pack(p, &s->constants, diag)
                          : vtac_vta_layer_kinds[p->layer->kind].pack(p, &s->constants, diag));
    return draft_stage(s, p, &s->next, &s->list, interleaved, diag);
}

void vtac_vta_plan_describe(vtac_vta_plan *to, const char *format, ...)
{
    size_t used = strlen(to->schedule);
    va_list words;
    used += (size_t)snprintf(to->schedule + used, sizeof to->schedule - used, "%s", used > 0 ? ", " : "");
    va_start(words, format);
    if (used < sizeof to->schedule) {
        (void)vsnprintf(to->schedule + used, sizeof to->schedule - used, format, words);
    }
    va_end(words);
}

/* For reports: adds the layer that was still at work when this one began. */
static void describe_overlaps(scheduler *s, const interleave_stage *interleaved)
{
    for (size_t i = 0; i < s->stages.count; i++) {
        if (interleaved[i].beside > 0) {
            vtac_vta_plan_describe(
                &s->image->plans[vtac_vta_stage_at(s, i)->number], "begins beside %s",
                s->region->layers[vtac_vta_stage_at(s, interleaved[i].beside - 1)->number].name);
        }
    }
}

static vta_status emit_stages(scheduler *s, vta_diag *diag)
{
    interleave_stage *interleaved = calloc(s->stages.count + 1, sizeof *interleaved);
    vta_status status = interleaved != NULL ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory for a schedule");
    s->list.drafting = s->interleaves;
    for (size_t i = 0; status == VTA_OK && i < s->stages.count; i++) {
        status = emit_stage(s, vtac_vta_stage_at(s, i), &interleaved[i], diag);
    }
    if (status == VTA_OK && s->interleaves) {
        status = vtac_vta_list_interleave(&s->list, &s->hardware, interleaved, (uint32_t)s->stages.count,
                                          s->image->work_bytes, NULL, diag);
        describe_overlaps(s, interleaved);
    }
    free(interleaved);
    return status;
}

/* True if a layer's calls for the array and for the ALU must be put into one order. */
static bool has_cells(const vtac_vta_region *region)
{
    bool any = false;
    for (uint32_t n = 0; n < region->layer_count; n++) {
        any = any || region->layers[n].kind == VTAC_VTA_RECURRENT;
    }
    return any;
}

/* Chooses the places of calls in the list that is emitted. */
void vtac_vta_schedule_advance(const scheduler *s, step_list *list)
{
    const bool cells = has_cells(s->region);
    if (s->concurrent || cells) {
        vtac_vta_list_order(list, &s->hardware, s->image->work_bytes, cells ? ORDER_CELLS : s->rule);
    } else {
        vtac_vta_list_load_ahead(list, s->hardware.config, s->hardware.latency);
    }
}

vta_status vtac_vta_schedule_build(scheduler *s, vta_diag *diag)
{
    uint64_t offset;
    vtac_vta_list_clear(&s->list);
    s->constants.size = 0;
    s->next = (entries_used){0};
    VTA_TRY(emit_stages(s, diag));
    if (vtac_vta_blob_add(&s->constants, s->constants.size == 0 ? LINE : 0, LINE, &offset) == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for constants");
    }
    if (!s->plain) {
        vtac_vta_schedule_advance(s, &s->list);
    }
    return VTA_OK;
}

/* A lower bound: the busiest unit's work for all stages, in any order of their calls. */
static uint64_t work_of_stages(scheduler *s)
{
    load_of_units sum = {0};
    for (size_t i = 0; i < s->stages.count; i++) {
        const load_of_units *units = &vtac_vta_stage_at(s, i)->options[0].units;
        sum.array += units->array;
        sum.alu += units->alu;
        sum.load += units->load;
        sum.store += units->store;
    }
    return vtac_vta_units_cycles(&sum);
}

/* Interleaves layers if the timing model finds that faster. It is not asked where little can be gained, nor
 * for very long lists. */
vta_status vtac_vta_schedule_interleave(scheduler *s, vta_diag *diag)
{
    enum { MAX_STEPS = 100000, WORTH = 24 };
    s->interleaves = false;
    VTA_TRY(vtac_vta_schedule_build(s, diag));
    const uint64_t plain = vtac_vta_schedule_time(s, &s->list, UINT64_MAX);
    const uint64_t work = work_of_stages(s);
    if (s->list.steps.count > MAX_STEPS || plain <= work + plain / WORTH) {
        return VTA_OK;
    }
    for (size_t i = 0; i < s->stages.count; i++) {
        plan_shares(s, vtac_vta_stage_at(s, i));
    }
    VTA_TRY(choose_options(s, diag));
    s->interleaves = s->may_interleave = true;
    VTA_TRY(vtac_vta_schedule_build(s, diag));
    const uint64_t interleaved = vtac_vta_schedule_time(s, &s->list, UINT64_MAX);
    s->interleaves = interleaved > 0 && interleaved < plain;
    return VTA_OK;
}

vta_status vtac_vta_schedule_time_stages(scheduler *s, size_t first, size_t end, uint64_t limit,
                                         uint64_t *cycles, uint64_t *calls, vta_diag *diag)
{
    interleave_stage interleaved[2 * BESIDE + 2];
    step_list *list = &s->trial;
    entries_used next = {0};
    vta_status status = VTA_OK;
    vtac_vta_list_clear(list);
    list->drafting = s->interleaves;
    for (size_t i = first; i < end && status == VTA_OK; i++) {
        const stage *of = vtac_vta_stage_at(s, i);
        plan p = of->options[of->chosen];
        p.at = (constants){0};
        status = draft_stage(s, &p, &next, list, &interleaved[i - first], diag);
    }
    if (status == VTA_OK && s->interleaves) {
        status = vtac_vta_list_interleave(list, &s->hardware, interleaved, (uint32_t)(end - first),
                                          s->image->work_bytes, NULL, diag);
    }
    vtac_vta_schedule_advance(s, list);
    *calls = list->steps.count;
    *cycles = status == VTA_OK ? vtac_vta_schedule_time(s, list, limit) : 0;
    return status;
}

/* Lays out tensors, and plans all stages for the whole machine. */
vta_status vtac_vta_schedule_plan(scheduler *s, const vtac_vta_options *options, vta_diag *diag)
{
    vtac_vta_region *region = s->region;
    VTA_TRY(vtac_vta_layout_tensors(&s->hardware, region, &s->decided, &s->image->work_bytes, diag));
    for (uint32_t n = 0; n < region->layer_count; n++) {
        VTA_TRY(vtac_progress_at(options->progress, "scheduling layer", region->layers[n].name, n,
                                 region->layer_count, diag));
        VTA_TRY(add_stages(s, n, diag));
    }
    for (size_t i = 0; i < s->stages.count; i++) {
        VTA_TRY(plan_option(s, vtac_vta_stage_at(s, i), 0, diag));
    }
    return VTA_OK;
}
