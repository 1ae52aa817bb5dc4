/* SPDX-License-Identifier: Apache-2.0
 *
 * Schedules a region: makes one stream of its layers, each planned and emitted as its kind says.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"
#include "timing.h"
#include "vta/again.h"
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

enum { LINE = 64 };    /* alignment of sizes in device memory */
enum { TIMED = 4096 }; /* entries of the table of times */

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

static bool works_on_rows(const vtac_vta_layer *layer)
{
    return vtac_vta_layer_kinds[layer->kind].plan == vtac_vta_rows_plan || layer->kind == VTAC_VTA_PLANES;
}

/* The part of the machine that a layer has if layers on rows run beside others. */
static const machine *machine_beside(scheduler *s, const vtac_vta_layer *layer)
{
    const bool rows = works_on_rows(layer);
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

/* Adds words to what a report says of a schedule. */
__attribute__((format(printf, 2, 3))) static void describe(vtac_vta_plan *to, const char *format, ...)
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
            describe(&s->image->plans[vtac_vta_stage_at(s, i)->number], "begins beside %s",
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
static void advance_loads(const scheduler *s, step_list *list)
{
    const bool cells = has_cells(s->region);
    if (s->concurrent || cells) {
        vtac_vta_list_order(list, &s->hardware, s->image->work_bytes, cells);
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
        advance_loads(s, &s->list);
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
static vta_status choose_interleaving(scheduler *s, vta_diag *diag)
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
    advance_loads(s, list);
    *calls = list->steps.count;
    *cycles = status == VTA_OK ? vtac_vta_schedule_time(s, list, limit) : 0;
    return status;
}

static vta_status record_stream(scheduler *s, const step_list *list, vta_stream *stream, vta_code **code,
                                vta_diag *diag)
{
    (void)vta_stream_buffer(stream, "constants", s->image->constant_bytes);
    (void)vta_stream_buffer(stream, "work", s->image->work_bytes);
    VTA_TRY(vtac_vta_list_record(list, stream, diag));
    return vta_stream_finish(stream, code, diag);
}

/* *code is owned. */
static vta_status record_code(scheduler *s, const step_list *list, vta_code **code, vta_diag *diag)
{
    vta_stream *stream = NULL;
    VTA_TRY(vta_stream_create(s->hardware.config, &stream, diag));
    const vta_status status = record_stream(s, list, stream, code, diag);
    vta_stream_destroy(stream);
    return status;
}

static vta_status make_program(scheduler *s, vta_diag *diag)
{
    vta_code *code = NULL;
    VTA_TRY(record_code(s, &s->list, &code, diag));
    const vta_status status = vta_code_program(code, &s->image->program, diag);
    vta_code_destroy(code);
    return status;
}

/* ---- weights that stay on chip */

/* Marks the LOADs of a list that a second run of its code leaves out. Calls and instructions have one order;
 * between them the runtime has put LOADs of micro-ops and transfers of nothing. */
static void mark_kept(step_list *list, const vta_config *config, const vta_code *code, const vta_word *again)
{
    vta_code_info info;
    vta_code_describe(code, &info);
    const vta_word *first = vta_code_insns(code);
    step *s = list->steps.items;
    list->uops_kept = true;
    for (uint32_t i = 0; i < info.insn_count; i++) {
        vta_insn insn;
        (void)vta_insn_decode_raw(config, first[i], &insn);
        const bool moves = insn.opcode == VTA_OP_LOAD || insn.opcode == VTA_OP_STORE;
        const bool kept = memcmp(&first[i], &again[i], sizeof *first) != 0;
        if (insn.opcode == VTA_OP_LOAD && insn.mem.memory == VTA_MEM_UOP) {
            list->uops_kept = list->uops_kept && (kept || insn.mem.x_size == 0);
        } else if (insn.opcode != VTA_OP_FINISH && (!moves || insn.mem.x_size > 0)) {
            (s++)->kept = kept;
        }
    }
}

static void forget_kept(step_list *list)
{
    list->uops_kept = false;
    for (size_t i = 0; i < list->steps.count; i++) {
        ((step *)vta_vec_at(&list->steps, i))->kept = false;
    }
}

/* The cycles of a second run, which finds on chip what the first one left; `shares` as of
 * vtac_vta_timing_of. */
static vta_status time_again(scheduler *s, step_list *list, uint64_t *shares, uint32_t tags, uint64_t *cycles,
                             vta_diag *diag)
{
    vta_code *code = NULL;
    vta_code_info info;
    uint32_t kept;
    VTA_TRY(record_code(s, list, &code, diag));
    vta_code_describe(code, &info);
    vta_word *again = malloc(info.insn_count * sizeof *again);
    vta_status status = again != NULL ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory for a schedule");
    if (status == VTA_OK) {
        status = vta_code_again(code, UINT32_C(1) << CONSTANTS_BUFFER, again, &kept, diag);
    }
    if (status == VTA_OK) {
        mark_kept(list, s->hardware.config, code, again);
        *cycles = vtac_vta_timing_of(&s->hardware, list, s->image->work_bytes, shares, tags);
        forget_kept(list);
    }
    free(again);
    vta_code_destroy(code);
    return status;
}

/* The times of a list: of its first run, and of one behind it. */
typedef struct run_times {
    uint64_t first, again;
} run_times;

/* Moves LOADs up, and times the list. */
static vta_status time_list(scheduler *s, step_list *list, run_times *out, vta_diag *diag)
{
    advance_loads(s, list);
    out->first = vtac_vta_timing_of(&s->hardware, list, s->image->work_bytes, NULL, 0);
    return time_again(s, list, NULL, 0, &out->again, diag);
}

/* Gives weights places in which they stay, if the runs behind the first one become faster by more than one
 * cycle in WORTH and the first one does not become slower by as much. The list of the region has no LOAD
 * moved up yet. */
static vta_status choose_resident(scheduler *s, step_list *best, vta_diag *diag)
{
    enum { WORTH = 128, SHARES = 5 };
    static const int64_t shared[SHARES] = {0, 16, 8, 4, 2}; /* parts of WGT that are used in turn; 0: none */
    run_times plain, best_times, now;
    vtac_vta_list_copy(&s->list, best);
    VTA_TRY(time_list(s, best, &plain, diag));
    best_times = plain;
    for (int i = 0; i < SHARES; i++) {
        const int64_t turns = shared[i] > 0 ? s->hardware.wgt / shared[i] : 0;
        if (!vtac_vta_resident_place(&s->hardware, &s->list, turns, &s->trial)) {
            continue;
        }
        VTA_TRY(time_list(s, &s->trial, &now, diag));
        if (now.again + plain.again / WORTH < best_times.again &&
            now.first <= plain.first + plain.first / WORTH) {
            const step_list other = *best;
            *best = s->trial;
            s->trial = other;
            best_times = now;
        }
        if (turns == 0) {
            break;
        }
    }
    s->image->again = best_times.again;
    return VTA_OK;
}

static vta_status keep_weights(scheduler *s, vta_diag *diag)
{
    step_list best;
    vtac_vta_list_init(&best);
    const vta_status status = choose_resident(s, &best, diag);
    vtac_vta_list_free(status == VTA_OK ? &s->list : &best);
    if (status == VTA_OK) {
        s->list = best;
    }
    return status;
}

static vta_status check_layers(scheduler *s, vta_diag *diag)
{
    for (uint32_t n = 0; n < s->region->layer_count; n++) {
        if (vtac_vta_layer_kinds[s->region->layers[n].kind].rule(&s->hardware, s->region, n, diag) !=
            VTA_OK) {
            return vta_context(diag, "layer '%s'", s->region->layers[n].name);
        }
    }
    return VTA_OK;
}

static vta_status predict_cycles(scheduler *s, vta_diag *diag)
{
    const uint32_t tags = s->region->layer_count + 1;
    uint64_t *shares = calloc(tags, sizeof *shares);
    if (shares != NULL) {
        s->image->cycles = vtac_vta_timing_of(&s->hardware, &s->list, s->image->work_bytes, shares, tags);
    }
    for (uint32_t n = 0; shares != NULL && n < s->region->layer_count; n++) {
        s->image->plans[n].cost.cycles = shares[n + 1];
    }
    free(shares);
    return s->image->cycles > 0 ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory to predict cycles");
}

/* Checks the region, and makes room for its plans. */
static vta_status begin_region(scheduler *s, vta_diag *diag)
{
    const vtac_vta_region *region = s->region;
    if (region->layer_count == 0) {
        return vta_fail(diag, VTA_INVALID, "region '%s' has no layers", region->name);
    }
    VTA_TRY(vtac_vta_machine_of(s->hardware.config, &s->hardware, diag));
    s->image->plans = calloc(region->layer_count + 1, sizeof *s->image->plans);
    if (s->image->plans == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for %" PRIu32 " layers", region->layer_count);
    }
    s->image->plan_count = region->layer_count;
    vtac_vta_layout_twice(&s->hardware, s->region);
    return check_layers(s, diag);
}

/* Lays out tensors, and plans all stages for the whole machine. */
static vta_status plan_stages(scheduler *s, const vtac_vta_options *options, vta_diag *diag)
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

/* Moves LOADs up in the list of the region, if the runs behind the first one do not become slower by more
 * than one cycle in WORTH. */
static vta_status hoist_loads(scheduler *s, vta_diag *diag)
{
    enum { WORTH = 128 };
    uint64_t again = s->image->again;
    vtac_vta_list_copy(&s->list, &s->trial);
    vtac_vta_list_hoist(&s->trial, &s->hardware, s->image->work_bytes);
    if (again > 0) {
        VTA_TRY(time_again(s, &s->trial, NULL, 0, &again, diag));
    }
    if (again <= s->image->again + s->image->again / WORTH) {
        const step_list given = s->list;
        s->list = s->trial;
        s->trial = given;
        s->image->again = again;
    }
    return VTA_OK;
}

/* Chooses tilings and an order, and builds the list. */
static vta_status build_region(scheduler *s, const vtac_vta_options *options, vta_diag *diag)
{
    s->constants.places_only = true;
    VTA_TRY(s->interleaves ? choose_interleaving(s, diag) : VTA_OK);
    VTA_TRY(s->searches ? vtac_vta_schedule_search(s, diag) : VTA_OK);
    s->constants.places_only = options->predict_only;
    s->plain = s->searches && !options->predict_only && !options->no_keep;
    VTA_TRY(vtac_vta_schedule_build(s, diag));
    s->image->constant_bytes = s->constants.size;
    VTA_TRY(s->plain ? keep_weights(s, diag) : VTA_OK);
    return s->searches ? hoist_loads(s, diag) : VTA_OK;
}

static vta_status schedule_region(scheduler *s, const vtac_vta_options *options, vta_diag *diag)
{
    vtac_vta_region *region = s->region;
    VTA_TRY(begin_region(s, diag));
    VTA_TRY(vtac_progress_at(options->progress, "laying out", region->name, 0, 0, diag));
    VTA_TRY(vtac_vta_decisions_make(&s->hardware, region, options, s->groups, &s->decided, diag));
    if (s->before != NULL && s->before->feeds != NULL &&
        vtac_vta_decisions_alike(region, s->before, &s->decided)) {
        return VTA_OK;
    }
    VTA_TRY(plan_stages(s, options, diag));
    VTA_TRY(build_region(s, options, diag));
    VTA_TRY(vtac_progress_at(options->progress, "predicting cycles", region->name, 0, 0, diag));
    VTA_TRY(predict_cycles(s, diag));
    return options->predict_only ? VTA_OK : make_program(s, diag);
}

enum { MAX_LEVEL = 3 };

/* The number of tilings to time. With wide parameters the tilings of a layer take similar times, so more of
 * them are timed. */
static uint32_t trials_for(const vtac_vta_region *region, int level)
{
    enum { WIDE_TRIALS = 32 };
    static const uint32_t trials_of[MAX_LEVEL + 1] = {0, 4, 8, 24};
    for (uint32_t n = 0; n < region->layer_count && level == MAX_LEVEL; n++) {
        if (region->layers[n].wide) {
            return WIDE_TRIALS;
        }
    }
    return trials_of[level];
}

/* Kinds of schedules, besides the options. */
typedef enum variant {
    PLAIN,
    IN_GROUPS,    /* layers form groups wherever that is faster one by one */
    BEHIND_POOLS, /* the same, but pools of means are joined first */
    BESIDE_ROWS   /* layers on rows run beside others */
} variant;

static vta_status schedule_once(const vta_config *config, vtac_vta_region *region,
                                const vtac_vta_options *options, variant how, decisions *decided,
                                vtac_vta_image *out, vta_diag *diag)
{
    *out = (vtac_vta_image){0};
    const int level = options->level < 0 ? 0 : options->level > MAX_LEVEL ? MAX_LEVEL : options->level;
    scheduler s = {.hardware.config = config,
                   .region = region,
                   .image = out,
                   .trials = trials_for(region, level),
                   .schedules = options->schedules,
                   .groups = how == IN_GROUPS      ? GROUPS_EAGERLY
                             : how == BEHIND_POOLS ? GROUPS_BEHIND_POOLS
                                                   : GROUPS_SURELY,
                   .before = how == IN_GROUPS || how == BEHIND_POOLS ? decided : NULL,
                   .concurrent = how == BESIDE_ROWS,
                   .quick = options->predict_only,
                   .factors = options->all_factors,
                   .interleaves =
                       level == MAX_LEVEL && !(options->predict_only && options->schedules != NULL)};
    s.searches = s.interleaves;
    s.interleaves = s.interleaves && !s.concurrent;
    s.timed = s.searches ? calloc(TIMED, sizeof *s.timed) : NULL;
    vtac_vta_list_init(&s.list);
    vtac_vta_list_init(&s.trial);
    s.candidates.item_size = sizeof(candidate);
    s.stages.item_size = sizeof(stage);
    const vta_status status = schedule_region(&s, options, diag);
    vtac_vta_decisions_free(decided);
    *decided = s.decided;
    vta_vec_free(&s.stages);
    vta_vec_free(&s.candidates);
    vtac_vta_list_free(&s.list);
    vtac_vta_list_free(&s.trial);
    free(s.timed);
    out->constants = s.constants.bytes;
    if (status != VTA_OK) {
        vtac_vta_image_free(out);
    }
    return status;
}

/* Keeps the faster image in *out; the other one must gain more than `worth` cycles. */
static bool keep_faster(vtac_vta_image *out, vtac_vta_image *other, uint64_t worth)
{
    const bool faster = other->cycles > 0 && other->cycles + worth < out->cycles;
    if (faster) {
        const vtac_vta_image given = *out;
        *out = *other;
        *other = given;
    }
    vtac_vta_image_free(other);
    return faster;
}

/* Schedules the region again and keeps the faster result. In groups it must win by 0.5 %, and is not made
 * if the decisions are the same as before. The loser's tensor offsets are restored. */
static vta_status schedule_again(const vta_config *config, vtac_vta_region *region,
                                 const vtac_vta_options *options, variant how, decisions *decided,
                                 vtac_vta_image *out, vta_diag *diag)
{
    enum { WORTH = 200 };
    vtac_vta_image other;
    const size_t size = region->tensor_count * sizeof *region->tensors;
    vtac_vta_tensor *laid_out = malloc(size + 1);
    vta_status status = laid_out != NULL ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory for a schedule");
    if (status == VTA_OK) {
        memcpy(laid_out, region->tensors, size);
        status = schedule_once(config, region, options, how, decided, &other, diag);
    }
    if (how == BESIDE_ROWS && status == VTA_RANGE) { /* a row does not fit a share of the machine */
        memcpy(region->tensors, laid_out, size);
        *diag = (vta_diag){0};
        status = VTA_OK;
    } else if (status != VTA_OK) {
        vtac_vta_image_free(out);
    } else if (!keep_faster(out, &other, how == BESIDE_ROWS || how == PLAIN ? 0 : out->cycles / WORTH)) {
        memcpy(region->tensors, laid_out, size);
    }
    free(laid_out);
    return status;
}

/* True if layers on rows have layers of the array beside them. */
static bool can_run_beside(const vtac_vta_region *region)
{
    bool rows = false, products = false;
    for (uint32_t n = 0; n < region->layer_count; n++) {
        rows = rows || works_on_rows(&region->layers[n]);
        products = products || region->layers[n].kind == VTAC_VTA_CONV;
    }
    return rows && products;
}

static bool has_means(const vtac_vta_region *region)
{
    bool means = false;
    for (uint32_t n = 0; n < region->layer_count; n++) {
        means = means || region->layers[n].kind == VTAC_VTA_AVG_POOL;
    }
    return means;
}

/* True where a tile has several output blocks, of which layers with few channels leave some empty: groups
 * gain less there, and a pool more beside them. */
static bool has_blocks(const vta_config *config)
{
    return config->block_in > config->block_out;
}

/* Given schedules are the starting point of a search; a search without them may end at a better one. In short
 * programs, where layers wait for each other at their ends, groups may gain more than the estimate says. */
static vta_status schedule_best(const vta_config *config, vtac_vta_region *region,
                                const vtac_vta_options *options, decisions *decided, vtac_vta_image *out,
                                vta_diag *diag)
{
    enum { SHORT = 100000 };
    VTA_TRY(schedule_once(config, region, options, PLAIN, decided, out, diag));
    if (options->predict_only || options->level < MAX_LEVEL) {
        return VTA_OK;
    }
    if (options->schedules != NULL) {
        vtac_vta_options without = *options;
        without.schedules = NULL;
        VTA_TRY(schedule_again(config, region, &without, PLAIN, decided, out, diag));
    }
    if (can_run_beside(region)) {
        VTA_TRY(schedule_again(config, region, options, BESIDE_ROWS, decided, out, diag));
    }
    const bool joins = !options->no_join && !options->all_groups;
    if (!joins || out->cycles >= SHORT) {
        return VTA_OK;
    }
    VTA_TRY(schedule_again(config, region, options, IN_GROUPS, decided, out, diag));
    return has_blocks(config) && has_means(region)
               ? schedule_again(config, region, options, BEHIND_POOLS, decided, out, diag)
               : VTA_OK;
}

static vta_status schedule_alone(const vta_config *config, vtac_vta_region *region,
                                 const vtac_vta_options *options, vtac_vta_image *out, vta_diag *diag)
{
    decisions decided = {0};
    const vta_status status = schedule_best(config, region, options, &decided, out, diag);
    vtac_vta_decisions_free(&decided);
    return status;
}

/* The cycles of a region by the tilings of the rough estimate; 0 if it cannot be scheduled. */
static vta_status quick_cycles(const vta_config *config, merger *g, const vtac_vta_options *options,
                               uint64_t *cycles, vta_diag *diag)
{
    vtac_vta_options quick = *options;
    vtac_vta_image image;
    vta_diag own = {0};
    quick.level = 0;
    quick.predict_only = true;
    VTA_TRY(vtac_vta_merge_make(g, diag));
    const vta_status status = schedule_alone(config, &g->region, &quick, &image, &own);
    *cycles = status == VTA_OK ? image.cycles : 0;
    if (status == VTA_OK) {
        vtac_vta_image_free(&image);
    }
    return status == VTA_OK || status == VTA_RANGE || status == VTA_UNSUPPORTED
               ? VTA_OK
               : vta_fail(diag, status, "%s", own.text);
}

/* Merges pixels of one tensor after the other, where the quick schedule becomes faster by it; with splits
 * also where it becomes a little slower first, and faster by another one. *changed: any were. */
static vta_status choose_merges(const vta_config *config, merger *g, const vtac_vta_options *options,
                                bool *changed, vta_diag *diag)
{
    enum { MAX_TRIED = 32, NEAR = 64 };
    uint64_t best = 0, cycles = 0;
    uint32_t tried = 0;
    *changed = false;
    vtac_vta_merge_save(g);
    for (uint32_t i = 0; i < g->from->tensor_count && tried < MAX_TRIED; i++) {
        if (g->from->tensors[i].role != VTAC_VTA_INTERNAL || !vtac_vta_merge_try(g, i)) {
            continue;
        }
        if (options->all_merges) {
            *changed = true;
            continue;
        }
        vtac_vta_merge_swap(g);
        VTA_TRY(tried++ == 0 ? quick_cycles(config, g, options, &best, diag) : VTA_OK);
        vtac_vta_merge_swap(g);
        VTA_TRY(quick_cycles(config, g, options, &cycles, diag));
        if (cycles > 0 && cycles < best) {
            best = cycles;
            *changed = true;
            vtac_vta_merge_save(g);
        } else if (cycles == 0 || !g->splits || cycles - best > best / NEAR) {
            vtac_vta_merge_swap(g);
        }
    }
    if (!options->all_merges) {
        vtac_vta_merge_restore(g);
    }
    return VTA_OK;
}

/* For reports: adds how many pixels of a layer's output are one, or how many a split layer makes at once. */
static void describe_merges(const merger *g, vtac_vta_image *image)
{
    for (uint32_t n = 0; n < g->from->layer_count; n++) {
        const int64_t by = g->by[g->from->layers[n].output];
        if (by > 1) {
            describe(&image->plans[n], "%" PRId64 " pixels in one", by);
        }
        if (g->region.layers[n].phases > 0) {
            describe(&image->plans[n], "%" PRId64 " pixels at once", g->region.layers[n].phases);
        }
    }
}

/* Schedules the region again with more merged pixels, and keeps the faster result. */
static vta_status schedule_merged(const vta_config *config, vtac_vta_region *region,
                                  const vtac_vta_options *options, merger *g, vtac_vta_image *out,
                                  vta_diag *diag)
{
    vtac_vta_image other;
    bool changed;
    VTA_TRY(choose_merges(config, g, options, &changed, diag));
    if (!changed) {
        return VTA_OK;
    }
    VTA_TRY(vtac_vta_merge_make(g, diag));
    VTA_TRY(schedule_alone(config, &g->region, options, &other, diag));
    if (options->all_merges) {
        out->cycles = UINT64_MAX;
    }
    if (keep_faster(out, &other, 0)) {
        vtac_vta_merge_lay_out(g, region);
        describe_merges(g, out);
    }
    return VTA_OK;
}

vta_status vtac_vta_schedule(const vta_config *config, vtac_vta_region *region,
                             const vtac_vta_options *options, vtac_vta_image *out, vta_diag *diag)
{
    merger g;
    machine m;
    VTA_TRY(schedule_alone(config, region, options, out, diag));
    if (options->no_merge) {
        return VTA_OK;
    }
    vta_status status = vtac_vta_machine_of(config, &m, diag);
    if (status == VTA_OK) {
        status = vtac_vta_merge_open(&m, region, &g, diag);
    }
    if (status == VTA_OK) {
        g.splits = options->all_splits;
        status = schedule_merged(config, region, options, &g, out, diag);
        if (status == VTA_OK && !options->all_merges) {
            g.splits = true;
            status = schedule_merged(config, region, options, &g, out, diag);
        }
        vtac_vta_merge_close(&g);
    }
    if (status != VTA_OK) {
        vtac_vta_image_free(out);
    }
    return status;
}

void vtac_vta_image_free(vtac_vta_image *image)
{
    vta_program_free(&image->program);
    free(image->constants);
    free(image->plans);
    *image = (vtac_vta_image){0};
}
