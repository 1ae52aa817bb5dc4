/* SPDX-License-Identifier: Apache-2.0
 *
 * The interpreter: fetch, three units with their queues and tokens, advanced one small step at a time.
 * Deliberately naive.
 */
#include "interp_machine.h"

#include <stdlib.h>
#include <string.h>

const char *const interp_event_names[INTERP_EVENT_COUNT] = {
#define INTERP_EVENT(id, doc) [INTERP_##id] = (doc),
    INTERP_EVENTS(INTERP_EVENT)
#undef INTERP_EVENT
};

/* ---- units ---- */

/* The queues of a unit; QUEUES where it has no such neighbour. */
static const int pop_prev_queue[UNITS] = {QUEUES, L2C, C2S};
static const int pop_next_queue[UNITS] = {C2L, S2C, QUEUES};
static const int push_prev_queue[UNITS] = {QUEUES, C2L, S2C};
static const int push_next_queue[UNITS] = {L2C, C2S, QUEUES};

static void pop(machine *m, int queue)
{
    m->tokens[queue]--;
    m->popped[queue]++;
}

static bool idle(const unit *x)
{
    return x->count == 0;
}

static bool can_start(const machine *m, int which)
{
    const interp_insn *x = head(&m->units[which]);
    return !(x->pop_prev && m->tokens[pop_prev_queue[which]] == 0) &&
           !(x->pop_next && m->tokens[pop_next_queue[which]] == 0);
}

static bool can_push(const machine *m, int which)
{
    const unit *x = &m->units[which];
    return (x->push_prev && m->tokens[push_prev_queue[which]] < TOKEN_PLACES) ||
           (x->push_next && m->tokens[push_next_queue[which]] < TOKEN_PLACES) ||
           (!x->push_prev && !x->push_next);
}

static bool can_act(machine *m, int which)
{
    unit *x = &m->units[which];
    if (idle(x)) {
        return false;
    }
    bool able = true;
    if (x->stage == STAGE_WAITING) {
        able = can_start(m, which);
        if (!able && !x->waited) {
            event(m, INTERP_WAITED_FOR_TOKEN);
        }
    } else if (x->stage == STAGE_WORKING) {
        able = head(x)->opcode != 3 || (idle(&m->units[LOAD_UNIT]) && idle(&m->units[STORE_UNIT]));
    } else {
        able = can_push(m, which);
        if (!able && !x->waited) {
            event(m, INTERP_WAITED_TO_PUSH);
        }
    }
    x->waited = !able;
    return able;
}

static void start(machine *m, int which)
{
    unit *x = &m->units[which];
    const interp_insn *insn = head(x);
    if (insn->pop_prev) {
        pop(m, pop_prev_queue[which]);
    }
    if (insn->pop_next) {
        pop(m, pop_next_queue[which]);
    }
    x->stage = STAGE_WORKING;
    x->at = 0;
    x->total = interp_steps_of(insn);
    if (insn->opcode <= 1 && insn->x_size > 0) {
        const int memory = insn->memory == ACC8 ? ACC : (int)insn->memory;
        if (x->total > (uint64_t)depth(m, memory) || insn->sram_base + (int64_t)x->total > depth(m, memory)) {
            fail_head(m, which, VTA_ERROR_SRAM_RANGE);
        }
    }
    for (int other = 0; other < UNITS; other++) {
        if (other != which && m->units[other].stage == STAGE_WORKING) {
            event(m, INTERP_OVERLAPPED);
        }
    }
}

static void retire(machine *m, int which)
{
    unit *x = &m->units[which];
    interp_count(m->config, head(x), &m->report->counters);
    const bool finish = head(x)->opcode == 3;
    const uint32_t index = x->queue[x->head].index;
    x->stage = STAGE_WAITING;
    x->head = (x->head + 1) % MAX_QUEUE;
    x->count--;
    if (finish) {
        for (int queue = 0; queue < QUEUES; queue++) {
            if (m->tokens[queue] != 0) {
                fail(m, VTA_ERROR_TOKENS_LEFT, which, index);
            }
        }
        m->over = true;
    }
}

static void push(machine *m, int which)
{
    unit *x = &m->units[which];
    if (x->push_prev && m->tokens[push_prev_queue[which]] < TOKEN_PLACES) {
        x->push_prev = false;
        m->tokens[push_prev_queue[which]]++;
        m->pushed[push_prev_queue[which]]++;
    } else if (x->push_next && m->tokens[push_next_queue[which]] < TOKEN_PLACES) {
        x->push_next = false;
        m->tokens[push_next_queue[which]]++;
        m->pushed[push_next_queue[which]]++;
    }
    if (!x->push_prev && !x->push_next) {
        retire(m, which);
    }
}

/* One small step of a unit that can act. */
static void act(machine *m, int which)
{
    unit *x = &m->units[which];
    if (x->stage == STAGE_WAITING) {
        start(m, which);
    } else if (x->stage == STAGE_PUSHING) {
        push(m, which);
    } else if (x->at < x->total) {
        interp_step(m, which);
    } else {
        x->stage = STAGE_PUSHING;
        x->push_prev = head(x)->push_prev;
        x->push_next = head(x)->push_next;
    }
}

/* ---- fetch ---- */

static int unit_of(const interp_insn *x)
{
    if (x->opcode == 1) {
        return STORE_UNIT;
    }
    return x->opcode == 0 && (x->memory == WGT || x->memory == INP || x->memory == WGT4) ? LOAD_UNIT
                                                                                         : COMPUTE_UNIT;
}

/* Reads the next instruction without taking it: false when there is none or it is in error. */
static bool peek(machine *m)
{
    const uint32_t index = m->fetched;
    if (m->peeked || index >= m->launch->insn_count) {
        return m->peeked;
    }
    interp_insn *out = &m->next;
    const uint8_t *bytes = m->bus->map(m->bus->context, m->launch->insn_addr + UINT64_C(16) * index, 16);
    if (bytes == NULL) {
        fail(m, VTA_ERROR_FETCH_BUS, FETCH, index);
        return false;
    }
    const vta_error error = interp_decode(m->config, bytes, out);
    if (error != VTA_ERROR_NONE) {
        fail(m, error, FETCH, index);
        return false;
    }
    if ((out->opcode == 3) != (index + 1 == m->launch->insn_count)) {
        fail(m, VTA_ERROR_NO_FINISH, FETCH, index);
        return false;
    }
    m->peeked = true;
    return true;
}

/* Fetches one instruction if there is one and its unit has room. */
static bool fetch(machine *m)
{
    if (!peek(m)) {
        return m->over;
    }
    unit *x = &m->units[unit_of(&m->next)];
    if (x->count >= m->places) {
        event(m, INTERP_WAITED_TO_FETCH);
        return false;
    }
    queued *place = &x->queue[(x->head + x->count) % MAX_QUEUE];
    place->index = m->fetched;
    place->insn = m->next;
    x->count++;
    m->fetched++;
    m->peeked = false;
    return true;
}

/* ---- the whole ---- */

/* One action of the first actor in `order` that can do anything. */
static bool advance(machine *m, const int order[ACTORS])
{
    for (int i = 0; i < ACTORS; i++) {
        if (order[i] == FETCH) {
            if (fetch(m)) {
                return true;
            }
        } else if (can_act(m, order[i])) {
            act(m, order[i]);
            return true;
        }
    }
    return false;
}

static void shuffle(rng *random, int order[ACTORS])
{
    for (uint32_t i = ACTORS - 1; i > 0; i--) {
        const uint32_t j = rng_below(random, i + 1);
        const int swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
}

/* Nothing can move: names the oldest instruction that waits, whatever for. */
static void report_stuck(machine *m)
{
    int which = COMPUTE_UNIT;
    uint32_t oldest = UINT32_MAX;
    for (int u = 0; u < UNITS; u++) {
        const unit *x = &m->units[u];
        if (!idle(x) && x->queue[x->head].index < oldest) {
            oldest = x->queue[x->head].index;
            which = u;
        }
    }
    fail(m, VTA_ERROR_DEADLOCK, which, oldest);
}

/* Priorities are redrawn after a random while: now and then one unit runs far ahead of the others. */
static void run(machine *m)
{
    int order[ACTORS] = {FETCH, LOAD_UNIT, COMPUTE_UNIT, STORE_UNIT};
    while (!m->over) {
        shuffle(&m->random, order);
        uint32_t burst = 1 + rng_below(&m->random, rng_percent(&m->random, 20) ? 2000 : 12);
        while (burst-- > 0 && !m->over) {
            if (!advance(m, order)) {
                report_stuck(m);
            }
        }
    }
}

/* Counts programs in which some pop stands before its push. */
static void count_forward_tokens(machine *m)
{
    uint32_t pushes[QUEUES] = {0};
    uint32_t pops[QUEUES] = {0};
    for (uint32_t i = 0; i < m->launch->insn_count; i++) {
        const uint8_t *bytes = m->bus->map(m->bus->context, m->launch->insn_addr + UINT64_C(16) * i, 16);
        interp_insn x;
        if (bytes == NULL || interp_decode(m->config, bytes, &x) != VTA_ERROR_NONE) {
            return;
        }
        const int which = unit_of(&x);
        const int from[2] = {x.pop_prev ? pop_prev_queue[which] : QUEUES,
                             x.pop_next ? pop_next_queue[which] : QUEUES};
        for (int f = 0; f < 2; f++) {
            if (from[f] != QUEUES && ++pops[from[f]] > pushes[from[f]]) {
                event(m, INTERP_POPPED_BEFORE_PUSHED);
                return;
            }
        }
        pushes[push_prev_queue[which] % QUEUES] += x.push_prev ? 1 : 0;
        pushes[push_next_queue[which] % QUEUES] += x.push_next ? 1 : 0;
    }
}

static void release(machine *m)
{
    for (int memory = 0; m != NULL && memory < MEMORIES; memory++) {
        free(m->data[memory]);
        free(m->written[memory]);
    }
    if (m != NULL) {
        free(m->lanes);
        free(m->bias);
        free(m->mult);
        free(m->amount);
    }
    free(m);
}

static machine *build(const vta_config *config, const vta_launch *launch, const vta_bus *bus)
{
    machine *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return NULL;
    }
    m->config = config;
    m->launch = launch;
    m->bus = bus;
    m->places = 1U << config->log_queue;
    const size_t lanes = (size_t)(batch(m) * block_out(m));
    m->bias = calloc(lanes, sizeof *m->bias);
    m->mult = calloc(lanes, sizeof *m->mult);
    m->amount = calloc(lanes, sizeof *m->amount);
    m->lanes = calloc((size_t)depth(m, INP), (size_t)block_in(m));
    bool whole = m->lanes != NULL && m->bias != NULL && m->mult != NULL && m->amount != NULL;
    for (int memory = 0; memory < MEMORIES; memory++) {
        const size_t entries = (size_t)depth(m, memory == OUT ? ACC : memory);
        m->data[memory] = calloc(entries, (size_t)dram_bytes(m, memory));
        m->written[memory] = calloc(entries, sizeof(bool));
        whole = whole && m->data[memory] != NULL && m->written[memory] != NULL;
    }
    if (!whole) {
        release(m);
        return NULL;
    }
    return m;
}

vta_status interp_run(const vta_config *config, const vta_launch *launch, const vta_bus *bus, uint64_t seed,
                      vta_report *report, uint64_t *events)
{
    memset(report, 0, sizeof *report);
    machine *m = build(config, launch, bus);
    if (m == NULL) {
        return VTA_NOMEM;
    }
    m->report = report;
    m->events = events;
    m->random = rng_split(seed, 1);
    if (launch->insn_count == 0) {
        fail(m, VTA_ERROR_NO_FINISH, FETCH, 0);
    }
    if (events != NULL) {
        count_forward_tokens(m);
    }
    run(m);
    release(m);
    return VTA_OK;
}

/* Lane operations of one step. */
static double cost_of_step(const vta_config *config, const interp_insn *x)
{
    const double lanes = (double)config->batch * (double)config->block_out;
    switch (x->opcode) {
    case 1:
    case 0: return lanes * (double)config->block_in;
    case 2: return x->reset ? lanes : lanes * (double)config->block_in;
    case 5: return lanes * 64;
    case 6: return lanes * (double)(1 + x->taps_x * x->taps_y);
    default: return lanes;
    }
}

double interp_cost(const vta_config *config, const vta_launch *launch, const vta_bus *bus)
{
    double cost = 0;
    for (uint32_t i = 0; i < launch->insn_count; i++) {
        const uint8_t *bytes = bus->map(bus->context, launch->insn_addr + UINT64_C(16) * i, 16);
        interp_insn x;
        if (bytes == NULL || interp_decode(config, bytes, &x) != VTA_ERROR_NONE) {
            return cost;
        }
        const uint64_t steps = interp_steps_of(&x);
        if (x.opcode > 1 ||
            steps <= config->depth[x.memory]) { /* a transfer beyond its memory does not start */
            cost += cost_of_step(config, &x) * (double)steps;
        }
    }
    return cost;
}
