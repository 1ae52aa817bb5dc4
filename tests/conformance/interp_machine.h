/* SPDX-License-Identifier: Apache-2.0
 *
 * The interpreter's machine: interp.c has its units, queues and tokens, interp_step.c what one small step of
 * an instruction does.
 */
#ifndef VTA_TEST_INTERP_MACHINE_H
#define VTA_TEST_INTERP_MACHINE_H

#include <stddef.h>

#include "interp_count.h"
#include "rng.h"

/* Memories by their number in the instruction. */
enum { UOP, WGT, INP, ACC, OUT, ACC8, TAB, WGT4, MEMORIES };
enum { LOAD_UNIT, COMPUTE_UNIT, STORE_UNIT, UNITS, FETCH = UNITS, ACTORS };
enum { L2C, C2L, C2S, S2C, QUEUES };
enum { TOKEN_PLACES = 255, MAX_QUEUE = 512 };

typedef enum stage { STAGE_WAITING, STAGE_WORKING, STAGE_PUSHING } stage;

typedef struct queued {
    uint32_t index;
    interp_insn insn;
} queued;

typedef struct unit {
    queued queue[MAX_QUEUE]; /* the head stays until it is finished */
    uint32_t head, count;
    stage stage;
    uint64_t at, total; /* steps of the head */
    bool push_prev, push_next;
    bool waited;
} unit;

typedef struct machine {
    const vta_config *config;
    const vta_launch *launch;
    const vta_bus *bus;
    vta_report *report;
    uint64_t *events;
    rng random;
    unit units[UNITS];
    uint32_t places; /* in each unit's queue */
    uint32_t fetched;
    bool peeked; /* `next` holds the instruction at `fetched` */
    interp_insn next;
    uint32_t tokens[QUEUES];
    uint32_t pushed[QUEUES], popped[QUEUES];
    bool over;
    uint8_t *data[MEMORIES]; /* as bytes in DRAM order; nothing is kept in those of ACC8, WGT4 */
    bool *written[MEMORIES];
    bool *lanes;                   /* of INP entries: those that REQUANT has written */
    int64_t *bias, *mult, *amount; /* a REQUANT's parameters */
} machine;

static inline int64_t batch(const machine *m)
{
    return (int64_t)m->config->batch;
}

static inline int64_t block_in(const machine *m)
{
    return (int64_t)m->config->block_in;
}

static inline int64_t block_out(const machine *m)
{
    return (int64_t)m->config->block_out;
}

static inline int64_t depth(const machine *m, int memory)
{
    return memory == TAB ? 128
                         : INT64_C(1) << m->config->log_depth[memory == ACC8   ? ACC
                                                              : memory == WGT4 ? WGT
                                                                               : memory];
}

/* Bytes of an element in DRAM. */
static inline int64_t dram_bytes(const machine *m, int64_t memory)
{
    switch (memory) {
    case UOP:
    case TAB: return 4;
    case WGT: return block_out(m) * block_in(m);
    case WGT4: return block_out(m) * block_in(m) / 2;
    case INP: return batch(m) * block_in(m);
    case ACC: return 4 * batch(m) * block_out(m);
    default: return batch(m) * block_out(m);
    }
}

static inline void event(machine *m, int id)
{
    if (m->events != NULL) {
        m->events[id]++;
    }
}

static inline void fail(machine *m, vta_error error, int actor, uint32_t index)
{
    if (!m->over) {
        m->over = true;
        m->report->error = error;
        m->report->unit = actor == FETCH ? VTA_UNIT_FETCH : (vta_unit)(VTA_UNIT_LOAD + actor);
        m->report->insn = index;
    }
}

static const interp_insn *head(const unit *x)
{
    return &x->queue[x->head].insn;
}

static inline void fail_head(machine *m, int which, vta_error error)
{
    const unit *x = &m->units[which];
    fail(m, error, which, x->queue[x->head].index);
}

/* The number of steps that the instruction takes. */
uint64_t interp_steps_of(const interp_insn *x);

/* The next one of the instruction at the head of a unit's queue. */
void interp_step(machine *m, int which);

#endif
