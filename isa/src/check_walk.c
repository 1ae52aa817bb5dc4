/* SPDX-License-Identifier: Apache-2.0
 *
 * The checker's second pass: three units, their instruction queues and the four token queues, instruction by
 * instruction.
 *
 * Units and queues form a network in which nobody chooses, so that any order that the queues allow ends in
 * the same place; the walk takes the ready instruction with the lowest index. Where ISA.md leaves hardware
 * some room (two pushes at once, when a queue's place becomes free) the walk takes the choice that blocks
 * soonest.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check_internal.h"

/* A token queue: what its producer knew when it gave each token. */
typedef struct token_queue {
    vta_clock clocks[VTA_TOKEN_CAPACITY];
    uint32_t first, count;
} token_queue;

typedef struct unit_state {
    vta_clock clock;
    uint32_t fetched, retired; /* of the unit's instructions */
    bool executed;             /* the one at `retired` has run and waits to give its tokens */
} unit_state;

typedef struct walk {
    checker *c;
    token_queue queues[VTA_QUEUE_COUNT];
    unit_state units[VTA_UNIT_COUNT];
    uint32_t fetched; /* instructions, of the program */
} walk;

/* The token queue that a flag of a unit means; for legal instructions only. */
static vta_queue queue_of(vta_unit unit, int flag)
{
    const bool next = flag == CHECK_POP_NEXT || flag == CHECK_PUSH_NEXT;
    const bool pop = flag == CHECK_POP_PREV || flag == CHECK_POP_NEXT;
    const vta_unit other = next ? unit + 1 : unit - 1;
    const vta_unit producer = pop ? other : unit;
    const vta_unit consumer = pop ? unit : other;
    static const struct {
        vta_unit producer, consumer;
    } ends[] = {
#define VTA_QUEUE(id, from, to, doc) [VTA_QUEUE_##id] = {VTA_UNIT_##from, VTA_UNIT_##to},
#include "vta/isa.def"
    };
    int queue = 0;
    while (queue + 1 < VTA_QUEUE_COUNT &&
           (ends[queue].producer != producer || ends[queue].consumer != consumer)) {
        queue++;
    }
    return (vta_queue)queue;
}

static const char *queue_field(vta_queue queue)
{
    static const char *const names[] = {
#define VTA_QUEUE(id, from, to, doc) [VTA_QUEUE_##id] = "tokens " #id,
#include "vta/isa.def"
    };
    return names[queue];
}

static const char *queue_name(vta_queue queue)
{
    return queue_field(queue) + strlen("tokens ");
}

static uint32_t head_of(const walk *w, vta_unit unit)
{
    return w->c->of_unit[unit][w->units[unit].retired];
}

static bool has_head(const walk *w, vta_unit unit)
{
    return w->units[unit].retired < w->units[unit].fetched;
}

/* Fetch hands out instructions until one finds its queue full. */
static void fetch(walk *w)
{
    const uint32_t places = 1U << w->c->config->log_queue;
    while (w->fetched < w->c->limit) {
        unit_state *unit = &w->units[w->c->flags[w->fetched] & CHECK_UNIT];
        if (unit->fetched - unit->retired >= places) {
            break;
        }
        unit->fetched++;
        w->fetched++;
    }
}

/* The token that a unit's next instruction waits for. */
typedef struct wait {
    enum { WAIT_NONE, WAIT_POP, WAIT_PUSH, WAIT_FINISH } kind;
    vta_queue queue;
} wait;

static bool is_last(const walk *w, uint32_t index)
{
    return index + 1 == w->c->launch->insn_count;
}

static wait wait_of(const walk *w, vta_unit unit)
{
    static const int pops[] = {CHECK_POP_PREV, CHECK_POP_NEXT};
    static const int pushes[] = {CHECK_PUSH_PREV, CHECK_PUSH_NEXT};
    const bool executed = w->units[unit].executed;
    const uint32_t index = head_of(w, unit);
    for (int i = 0; i < 2; i++) {
        const int flag = executed ? pushes[i] : pops[i];
        if ((w->c->flags[index] & flag) == 0) {
            continue;
        }
        const vta_queue queue = queue_of(unit, flag);
        const uint32_t count = w->queues[queue].count;
        if (executed ? count == VTA_TOKEN_CAPACITY : count == 0) {
            return (wait){executed ? WAIT_PUSH : WAIT_POP, queue};
        }
    }
    if (is_last(w, index) && (has_head(w, VTA_UNIT_LOAD) || has_head(w, VTA_UNIT_STORE))) {
        return (wait){WAIT_FINISH, VTA_QUEUE_L2C};
    }
    return (wait){WAIT_NONE, VTA_QUEUE_L2C};
}

static void learn(vta_clock *clock, const vta_clock *from)
{
    for (int unit = 0; unit < VTA_UNIT_COUNT; unit++) {
        if (clock->time[unit] < from->time[unit]) {
            clock->time[unit] = from->time[unit];
        }
    }
}

static void take_tokens(walk *w, vta_unit unit, uint32_t flags)
{
    static const int pops[] = {CHECK_POP_PREV, CHECK_POP_NEXT};
    for (int i = 0; i < 2; i++) {
        if ((flags & (uint32_t)pops[i]) != 0) {
            token_queue *queue = &w->queues[queue_of(unit, pops[i])];
            learn(&w->units[unit].clock, &queue->clocks[queue->first]);
            queue->first = (queue->first + 1) % VTA_TOKEN_CAPACITY;
            queue->count--;
        }
    }
}

static void give_tokens(walk *w, vta_unit unit, uint32_t flags)
{
    static const int pushes[] = {CHECK_PUSH_PREV, CHECK_PUSH_NEXT};
    for (int i = 0; i < 2; i++) {
        if ((flags & (uint32_t)pushes[i]) != 0) {
            token_queue *queue = &w->queues[queue_of(unit, pushes[i])];
            queue->clocks[(queue->first + queue->count) % VTA_TOKEN_CAPACITY] = w->units[unit].clock;
            queue->count++;
        }
    }
}

static vta_status execute(walk *w, vta_unit unit)
{
    unit_state *state = &w->units[unit];
    check_step step = {.index = head_of(w, unit), .unit = unit, .known = &state->clock};
    take_tokens(w, unit, w->c->flags[step.index]);
    state->clock.time[unit] = state->retired + 1;
    (void)vta_check_fetch(w->c, step.index, &step.word); /* as in the static pass */
    (void)vta_insn_decode_raw(w->c->config, step.word, &step.insn);
    VTA_TRY(vta_check_sram_step(w->c, &step));
    return vta_check_dram_step(w->c, &step);
}

/* The unit's first instruction runs, and retires unless it has to wait with its tokens. */
static vta_status advance(walk *w, vta_unit unit)
{
    unit_state *state = &w->units[unit];
    if (!state->executed) {
        VTA_TRY(execute(w, unit));
        state->executed = true;
    }
    if (wait_of(w, unit).kind == WAIT_NONE) {
        give_tokens(w, unit, w->c->flags[head_of(w, unit)]);
        state->executed = false;
        state->retired++;
    }
    return VTA_OK;
}

/* The unit whose first instruction is ready and has the lowest index; FETCH where none is. */
static vta_unit choose(const walk *w)
{
    vta_unit best = VTA_UNIT_FETCH;
    for (vta_unit unit = VTA_UNIT_LOAD; unit < VTA_UNIT_COUNT; unit++) {
        if (has_head(w, unit) && wait_of(w, unit).kind == WAIT_NONE) {
            if (best == VTA_UNIT_FETCH || head_of(w, unit) < head_of(w, best)) {
                best = unit;
            }
        }
    }
    return best;
}

static void describe_wait(const walk *w, vta_unit unit, char *text, size_t size)
{
    const wait why = wait_of(w, unit);
    const uint32_t index = head_of(w, unit);
    const char *name = vta_unit_name(unit);
    if (why.kind == WAIT_FINISH) {
        (void)snprintf(text, size, "%s waits with finish for the others to end", name);
    } else {
        (void)snprintf(text, size, "%s waits for a %s in %s with instruction %" PRIu32 " (%s)", name,
                       why.kind == WAIT_PUSH ? "place" : "token", queue_name(why.queue), index,
                       vta_check_name(w->c, index));
    }
}

static vta_status deadlock(walk *w)
{
    char text[480] = "";
    size_t used = 0;
    vta_unit first = VTA_UNIT_FETCH;
    for (vta_unit unit = VTA_UNIT_LOAD; unit < VTA_UNIT_COUNT; unit++) {
        if (!has_head(w, unit)) {
            continue;
        }
        char one[120];
        describe_wait(w, unit, one, sizeof one);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used == 0 ? "" : ", ", one);
        if (first == VTA_UNIT_FETCH || head_of(w, unit) < head_of(w, first)) {
            first = unit;
        }
    }
    if (w->fetched < w->c->limit) {
        const vta_unit unit = w->c->flags[w->fetched] & CHECK_UNIT;
        (void)snprintf(text + used, sizeof text - used,
                       ", fetch waits for a place before %s with instruction %" PRIu32, vta_unit_name(unit),
                       w->fetched);
    }
    const wait why = wait_of(w, first);
    return vta_check_report(w->c, head_of(w, first), VTA_ERROR_DEADLOCK, queue_field(why.queue),
                            w->queues[why.queue].count, why.kind == WAIT_PUSH ? VTA_TOKEN_CAPACITY : 1,
                            "deadlock: %s", text);
}

static vta_status check_left_over(const walk *w)
{
    for (int queue = 0; queue < VTA_QUEUE_COUNT; queue++) {
        const uint32_t count = w->queues[queue].count;
        if (count > 0) {
            return vta_check_report(w->c, w->c->launch->insn_count - 1, VTA_ERROR_TOKENS_LEFT,
                                    queue_field((vta_queue)queue), count, 0,
                                    "%" PRIu32 " tokens are left over in %s (limit: 0)", count,
                                    queue_name((vta_queue)queue));
        }
    }
    return VTA_OK;
}

vta_status vta_check_walk(checker *c)
{
    walk w = {.c = c};
    for (;;) {
        fetch(&w);
        const vta_unit unit = choose(&w);
        if (unit == VTA_UNIT_FETCH) {
            break;
        }
        VTA_TRY(advance(&w, unit));
    }
    if (c->limit < c->launch->insn_count || c->launch->insn_count == 0) {
        return VTA_OK; /* the static pass knows what is wrong */
    }
    for (vta_unit unit = VTA_UNIT_LOAD; unit < VTA_UNIT_COUNT; unit++) {
        if (has_head(&w, unit)) {
            return deadlock(&w);
        }
    }
    return check_left_over(&w);
}
