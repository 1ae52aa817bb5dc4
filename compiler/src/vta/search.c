/* SPDX-License-Identifier: Apache-2.0
 *
 * The search for tilings that are fastest together: the best tiling of a layer alone need not be the best
 * between its neighbours.
 */
#include <stdlib.h>

#include "schedule.h"
#include "vta/number.h"

/* The choice for a stage. */
typedef struct choice {
    uint32_t chosen;
    candidate candidates[OPTIONS];
} choice;

static choice choice_of(const stage *of)
{
    choice one = {.chosen = of->chosen};
    for (uint32_t k = 0; k < OPTIONS; k++) {
        one.candidates[k] = vtac_vta_plan_candidate(&of->options[k]);
    }
    return one;
}

static void restore_choice(stage *of, const choice *one)
{
    of->chosen = one->chosen;
    for (uint32_t k = 0; k < OPTIONS && vtac_vta_plan_has_tilings(&of->options[0]); k++) {
        if (of->there[k]) {
            vtac_vta_plan_apply(&of->options[k], &one->candidates[k]);
        }
    }
}

static void note_choices(scheduler *s, choice *all)
{
    for (size_t i = 0; i < s->stages.count; i++) {
        all[i] = choice_of(vtac_vta_stage_at(s, i));
    }
}

static void choose_again(scheduler *s, const choice *all)
{
    for (size_t i = 0; i < s->stages.count; i++) {
        restore_choice(vtac_vta_stage_at(s, i), &all[i]);
    }
}

static vta_status time_all(scheduler *s, uint64_t limit, uint64_t *cycles, vta_diag *diag)
{
    VTA_TRY(vtac_vta_schedule_build(s, diag));
    *cycles = vtac_vta_schedule_time(s, &s->list, limit);
    return VTA_OK;
}

/* Gives a stage another tiling, or none for NULL; returns the former choice. */
static choice apply_candidate(stage *of, const candidate *one)
{
    const choice before = choice_of(of);
    if (one != NULL) {
        of->chosen = one->option;
        vtac_vta_plan_apply(&of->options[one->option], one);
    }
    return before;
}

static bool is_eligible(const scheduler *s, const candidate *one)
{
    return (s->interleaves || one->option == 0) && one->price <= FAR_TILING;
}

/* True if the search chooses the tiling of a stage; others follow it. */
static bool follows_none(scheduler *s, size_t number)
{
    return vtac_vta_stage_at(s, number)->like == number;
}

static int by_price(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->stage != y->stage) {
        return x->stage < y->stage ? -1 : 1;
    }
    return x->price != y->price ? x->price < y->price ? -1 : 1 : x->number < y->number ? -1 : 1;
}

/* Sorts candidates by stage, and within a stage by how close they come to the best of their option. */
static void sort_candidates(scheduler *s)
{
    for (size_t w = 0; w < s->candidates.count; w++) {
        candidate *one = vta_vec_at(&s->candidates, w);
        const uint64_t best = vtac_vta_stage_at(s, one->stage)->options[one->option].cycles;
        one->price = best > 0 ? (double)one->cycles / (double)best : 1;
        one->number = (uint32_t)w;
    }
    if (s->candidates.count > 0) {
        qsort(s->candidates.items, s->candidates.count, sizeof(candidate), by_price);
    }
}

/* Times the stages first … end-1; UINT64_MAX: not below `limit`. */
static vta_status time_some(scheduler *s, size_t first, size_t end, uint64_t limit, uint64_t *cycles,
                            vta_diag *diag)
{
    uint64_t calls;
    VTA_TRY(vtac_vta_schedule_time_stages(s, first, end, limit, cycles, &calls, diag));
    s->calls_left -= calls < s->calls_left ? calls : s->calls_left;
    return VTA_OK;
}

/* The same together with their neighbours. */
static vta_status time_around(scheduler *s, size_t first, size_t end, uint64_t limit, uint64_t *cycles,
                              vta_diag *diag)
{
    return time_some(s, first > BESIDE ? first - BESIDE : 0,
                     end + BESIDE < s->stages.count ? end + BESIDE : s->stages.count, limit, cycles, diag);
}

/* A chain of stages, as in dynamic programming: the cost of a stage depends on the one before. For some
 * candidates of each stage every pair of neighbours is timed, and the path that is fastest in sum is chosen.
 * This finds two or three layers that have to change together. */

enum { IN_CHAIN = 16 }; /* maximum of candidates of a stage */

typedef struct link {
    const candidate *candidates[IN_CHAIN]; /* NULL: as it is */
    int64_t alone[IN_CHAIN];
    int64_t until[IN_CHAIN]; /* cycles of all stages up to this one, on the best path */
    uint32_t from[IN_CHAIN]; /* the candidate of the stage before on that path */
    uint32_t count;
} link;

/* Takes `room` candidates of each stage: its present tiling, and the best others. */
static void chain_begin(scheduler *s, link *chain, uint32_t room)
{
    for (size_t i = 0; i < s->stages.count; i++) {
        chain[i] = (link){.count = 1};
    }
    for (size_t w = 0; w < s->candidates.count; w++) {
        const candidate *one = vta_vec_at(&s->candidates, w);
        link *of = &chain[one->stage];
        if (of->count < room && is_eligible(s, one) && follows_none(s, one->stage)) {
            of->candidates[of->count++] = one;
        }
    }
}

/* Finds the best path to each candidate of a stage. */
static vta_status chain_reach(scheduler *s, link *chain, size_t number, vta_diag *diag)
{
    link *to = &chain[number];
    stage *of = vtac_vta_stage_at(s, number), *last = number > 0 ? vtac_vta_stage_at(s, number - 1) : NULL;
    for (uint32_t k = 0; k < to->count; k++) {
        uint64_t cycles;
        const choice own = apply_candidate(of, to->candidates[k]);
        VTA_TRY(time_some(s, number, number + 1, UINT64_MAX, &cycles, diag));
        to->until[k] = to->alone[k] = (int64_t)cycles;
        for (uint32_t i = 0; last != NULL && i < to[-1].count; i++) {
            const choice before = apply_candidate(last, to[-1].candidates[i]);
            const int64_t others = to[-1].until[i] - to[-1].alone[i], limit = to->until[k] - others;
            VTA_TRY(time_some(s, number - 1, number + 1, i == 0 ? UINT64_MAX : (uint64_t)vta_max(limit, 0),
                              &cycles, diag));
            restore_choice(last, &before);
            const int64_t until = others + (int64_t)cycles;
            if (i == 0 || (cycles < UINT64_MAX && until < to->until[k])) {
                to->until[k] = until;
                to->from[k] = i;
            }
        }
        restore_choice(of, &own);
    }
    return VTA_OK;
}

static vta_status choose_chain(scheduler *s, link *chain, uint32_t room, vta_diag *diag)
{
    const size_t count = s->stages.count;
    uint32_t best = 0;
    chain_begin(s, chain, room);
    for (size_t i = 0; i < count; i++) {
        VTA_TRY(chain_reach(s, chain, i, diag));
    }
    for (uint32_t k = 1; k < chain[count - 1].count; k++) {
        best = chain[count - 1].until[k] < chain[count - 1].until[best] ? k : best;
    }
    for (size_t i = count; i > 0; i--) {
        (void)apply_candidate(vtac_vta_stage_at(s, i - 1), chain[i - 1].candidates[best]);
        best = chain[i - 1].from[best];
    }
    return VTA_OK;
}

/* A starting point of the search, and the best choice found from there. With `still`, layers begin at the
 * start of the scratchpads; otherwise behind the layer before. With `free_layers` their calls have
 * ORDER_FREE. */
typedef struct attempt {
    bool interleaves, still;
    order_rule rule; /* of layers that run concurrently */
    uint64_t cycles;
    choice *all;
} attempt;

static void restore_attempt(scheduler *s, const attempt *one)
{
    s->interleaves = one->interleaves;
    s->rule = one->rule;
    s->still = one->still;
    choose_again(s, one->all);
}

/* Keeps the present choice if the whole region is faster with it. */
static vta_status keep_if_faster(scheduler *s, attempt *best, bool *better, vta_diag *diag)
{
    uint64_t now;
    VTA_TRY(time_all(s, best->cycles, &now, diag));
    s->calls_left -= s->list.steps.count < s->calls_left ? s->list.steps.count : s->calls_left;
    *better = now > 0 && now < best->cycles;
    if (*better) {
        best->cycles = now;
        note_choices(s, best->all);
    }
    return VTA_OK;
}

/* A change that is better for a stage and its neighbours may be worse for the region: tries the changes
 * one by one. */
static vta_status keep_faster_changes(scheduler *s, attempt *best, choice *wanted, bool *better,
                                      vta_diag *diag)
{
    note_choices(s, wanted);
    choose_again(s, best->all);
    for (size_t i = 0; i < s->stages.count && s->calls_left > 0; i++) {
        stage *of = vtac_vta_stage_at(s, i);
        bool good;
        if (of->changed && follows_none(s, i)) {
            of->moved = ++s->clock;
            const choice before = choice_of(of);
            restore_choice(of, &wanted[i]);
            vtac_vta_alike_follow(s);
            VTA_TRY(keep_if_faster(s, best, &good, diag));
            *better = *better || good;
            if (!good) {
                restore_choice(of, &before);
                vtac_vta_alike_follow(s);
            }
        }
    }
    return VTA_OK;
}

/* True if a neighbour of a stage has changed since all tilings of the stage were tried. */
static bool is_new_there(scheduler *s, size_t number)
{
    const size_t first = number > BESIDE ? number - BESIDE : 0;
    bool fresh = false;
    for (size_t i = first; i < s->stages.count && i <= number + BESIDE; i++) {
        fresh = fresh || vtac_vta_stage_at(s, i)->moved >= vtac_vta_stage_at(s, number)->looked;
    }
    return fresh;
}

/* Finds the best tiling of a stage with its present neighbours, within `calls` calls. */
static vta_status improve_stage(scheduler *s, size_t number, uint64_t calls, vta_diag *diag)
{
    stage *of = vtac_vta_stage_at(s, number);
    size_t w = 0;
    if (!is_new_there(s, number)) {
        return VTA_OK;
    }
    const uint64_t until = s->calls_left > calls ? s->calls_left - calls : 0;
    uint64_t best;
    VTA_TRY(time_around(s, number, number + 1, UINT64_MAX, &best, diag));
    for (; s->calls_left > until && w < s->candidates.count; w++) {
        const candidate *one = vta_vec_at(&s->candidates, w);
        uint64_t cycles;
        if (one->stage != number || !is_eligible(s, one)) {
            continue;
        }
        const choice before = apply_candidate(of, one);
        VTA_TRY(time_around(s, number, number + 1, best, &cycles, diag));
        if (cycles > 0 && cycles < best) {
            best = cycles;
            of->changed = true;
            of->moved = ++s->clock;
        } else {
            restore_choice(of, &before);
        }
    }
    of->looked = w == s->candidates.count ? ++s->clock : 0;
    return VTA_OK;
}

/* Finds the best tilings of a stage and the next one together, within `calls` calls. */
static vta_status improve_pair(scheduler *s, size_t number, const link *pair, uint64_t calls, vta_diag *diag)
{
    stage *of = vtac_vta_stage_at(s, number), *next = vtac_vta_stage_at(s, number + 1);
    const uint64_t until = s->calls_left > calls ? s->calls_left - calls : 0;
    uint64_t best, cycles;
    VTA_TRY(time_around(s, number, number + 2, UINT64_MAX, &best, diag));
    for (uint32_t sum = 2; sum + 2 <= pair[0].count + pair[1].count; sum++) { /* best ones first */
        for (uint32_t i = 1; i < sum && i < pair[0].count && s->calls_left > until; i++) {
            if (sum - i >= pair[1].count) {
                continue;
            }
            const choice before = apply_candidate(of, pair[0].candidates[i]),
                         next_before = apply_candidate(next, pair[1].candidates[sum - i]);
            VTA_TRY(time_around(s, number, number + 2, best, &cycles, diag));
            if (cycles > 0 && cycles < best) {
                best = cycles;
                of->changed = next->changed = true;
                of->moved = next->moved = ++s->clock;
            } else {
                restore_choice(of, &before);
                restore_choice(next, &next_before);
            }
        }
    }
    return VTA_OK;
}

/* One round: improves every stage, or every pair of neighbours. */
static vta_status improve_round(scheduler *s, bool pairs, attempt *best, choice *wanted, link *chain,
                                bool *better, vta_diag *diag)
{
    const size_t count = s->stages.count;
    for (size_t i = 0; i < count; i++) {
        vtac_vta_stage_at(s, i)->changed = false;
    }
    if (pairs) {
        chain_begin(s, chain, IN_CHAIN);
    }
    for (size_t i = 0; i + pairs < count && s->calls_left > 0; i++) {
        if (!follows_none(s, i)) {
            continue;
        }
        const uint64_t calls = s->calls_left / vtac_vta_alike_count(s, i); /* a fair share for each stage */
        if (pairs) {
            VTA_TRY(improve_pair(s, i, &chain[i], calls, diag));
        } else if (vtac_vta_plan_has_tilings(&vtac_vta_stage_at(s, i)->options[0])) {
            VTA_TRY(improve_stage(s, i, calls, diag));
        }
    }
    vtac_vta_alike_follow(s);
    VTA_TRY(keep_if_faster(s, best, better, diag));
    return *better ? VTA_OK : keep_faster_changes(s, best, wanted, better, diag);
}

/* Repeats rounds as long as the region becomes faster. */
static vta_status improve_all(scheduler *s, attempt *best, choice *wanted, link *chain, vta_diag *diag)
{
    restore_attempt(s, best);
    for (size_t i = 0; i < s->stages.count; i++) {
        vtac_vta_stage_at(s, i)->looked = 0;
    }
    for (bool better = true; better && s->calls_left > 0;) {
        VTA_TRY(improve_round(s, false, best, wanted, chain, &better, diag));
        if (!better && s->calls_left > 0) {
            VTA_TRY(improve_round(s, true, best, wanted, chain, &better, diag));
        }
    }
    return VTA_OK;
}

enum { ATTEMPTS = 6 };

/* True if no attempt in `all` has the same starting point. */
static bool is_new_start(const attempt *all, uint32_t count, const attempt *one)
{
    bool other = one->cycles > 0;
    for (uint32_t k = 0; k < count; k++) {
        other = other && (all[k].interleaves != one->interleaves || all[k].rule != one->rule ||
                          all[k].cycles != one->cycles);
    }
    return other;
}

/* Inserts an attempt in order of cycles. */
static void attempt_add(attempt *all, uint32_t *count, attempt one)
{
    uint32_t to = (*count)++;
    for (; to > 0 && all[to - 1].cycles > one.cycles; to--) {
        all[to] = all[to - 1];
    }
    all[to] = one;
}

/* Times the whole region at each starting point. */
static vta_status begin_attempts(scheduler *s, attempt *all, uint32_t *count, vta_diag *diag)
{
    static const order_rule rules[ATTEMPTS / 2] = {ORDER_LAYERS, ORDER_FREE, ORDER_LATE};
    const bool interleaves = s->interleaves;
    const uint32_t ways = s->concurrent ? ATTEMPTS : s->may_interleave ? 4 : 2;
    choice *given = all[ATTEMPTS].all;
    note_choices(s, given);
    *count = 0;
    for (uint32_t i = 0; i < ways; i++) {
        attempt one = {.interleaves = !s->concurrent && interleaves == (i < 2),
                       .rule = s->concurrent ? rules[i / 2] : s->rule,
                       .still = i % 2 > 0,
                       .all = all[*count].all};
        choose_again(s, given);
        for (size_t k = 0; k < s->stages.count && !one.interleaves; k++) {
            vtac_vta_stage_at(s, k)->chosen = 0;
        }
        s->interleaves = one.interleaves;
        s->rule = one.rule;
        s->still = one.still;
        note_choices(s, one.all);
        VTA_TRY(time_all(s, UINT64_MAX, &one.cycles, diag));
        if (is_new_start(all, *count, &one)) {
            attempt_add(all, count, one);
        }
    }
    return VTA_OK;
}

/* The number of candidates of a stage for which a chain needs at most `calls` calls; at least 2. */
static uint32_t room_in_chain(uint64_t calls, uint64_t steps)
{
    uint32_t room = 2;
    while (room < IN_CHAIN && 2 * steps * (room + 1) * (room + 1) <= calls) {
        room++;
    }
    return room;
}

/* Improves the starting points that are not much worse than the best one: first by chains, as long as most of
 * the calls are left and, in long programs, one chain has helped; then by rounds. */
static vta_status improve_each(scheduler *s, attempt *all, link *chain, vta_diag *diag)
{
    enum { LONG = 10000, CALLS = 3900000, FEW_CALLS = 1000000, FAR = 16 };
    attempt order[ATTEMPTS];
    uint32_t count, sorted = 0, best = 0;
    bool better, useless[2] = {false, false}; /* [interleaved]: a chain did not help */
    sort_candidates(s);
    if (!vtac_vta_alike_find(s)) {
        return vta_fail(diag, VTA_NOMEM, "no memory for a schedule");
    }
    VTA_TRY(begin_attempts(s, all, &count, diag));
    if (count == 0) {
        return vta_fail(diag, VTA_NOMEM, "no memory for a schedule");
    }
    const uint64_t steps = s->list.steps.count,
                   chained = steps * vtac_vta_alike_count(s, 0) / s->stages.count,
                   calls = s->may_interleave || s->concurrent || steps <= LONG ? CALLS : FEW_CALLS;
    const uint64_t far = all[0].cycles + all[0].cycles / FAR;
    s->calls_left = calls;
    for (uint32_t i = 0; i < count && all[i].cycles <= far; i++) {
        if (!(useless[all[i].interleaves] && steps > LONG) && s->calls_left >= calls / 4 * 3) {
            restore_attempt(s, &all[i]);
            VTA_TRY(choose_chain(s, chain, room_in_chain(calls / 9 * 2, chained), diag));
            vtac_vta_alike_follow(s);
            VTA_TRY(keep_if_faster(s, &all[i], &better, diag));
            useless[all[i].interleaves] = !better;
        }
        attempt_add(order, &sorted, all[i]);
    }
    for (uint32_t i = 0; i < sorted && s->calls_left > 0; i++) {
        if (order[i].cycles <= order[best].cycles + order[best].cycles / FAR) {
            VTA_TRY(improve_all(s, &order[i], all[ATTEMPTS].all, chain, diag));
            best = order[i].cycles < order[best].cycles ? i : best;
        }
    }
    restore_attempt(s, &order[best]);
    return VTA_OK;
}

vta_status vtac_vta_schedule_search(scheduler *s, vta_diag *diag)
{
    const size_t count = s->stages.count + 1;
    choice *choices = calloc((ATTEMPTS + 1) * count, sizeof *choices);
    link *chain = calloc(count, sizeof *chain);
    attempt all[ATTEMPTS + 1] = {0};
    for (size_t i = 0; choices != NULL && i <= ATTEMPTS; i++) {
        all[i].all = choices + i * count;
    }
    const vta_status status = choices != NULL && chain != NULL
                                  ? improve_each(s, all, chain, diag)
                                  : vta_fail(diag, VTA_NOMEM, "no memory for a schedule");
    free(chain);
    free(choices);
    return status;
}
