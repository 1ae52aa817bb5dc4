/* SPDX-License-Identifier: Apache-2.0
 *
 * The generator's state, shared by its parts: progen_track.c (who touched what, tokens), progen_insn.c (one
 * random instruction), progen_chain.c (many that meet), progen_order.c (interleaving), progen_data.c
 * (contents), progen.c (the whole).
 */
#ifndef VTA_TEST_PROGEN_INTERNAL_H
#define VTA_TEST_PROGEN_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "progen.h"
#include "rng.h"

enum { GEN_LOAD, GEN_COMPUTE, GEN_STORE, GEN_UNITS };
/* Spaces: scratchpads as vta_memory, and the arena in the place of ACC8. */
enum { GEN_DRAM = VTA_MEM_ACC8, GEN_SPACES = VTA_MEM_COUNT };
enum { GEN_GRANULE = 4 }; /* bytes of the arena that share a cell */

/* The scratchpad that a LOAD of `memory` writes. */
static inline vta_memory gen_space(vta_memory memory)
{
    return memory == VTA_MEM_ACC8 ? VTA_MEM_ACC : memory == VTA_MEM_WGT4 ? VTA_MEM_WGT : memory;
}

/* The last accesses to a place, by the unit's own count of instructions; 0: nobody. INP has a second writer,
 * compute: what it writes counts as read by it, for a LOAD must wait for either. */
typedef struct gen_cell {
    uint32_t write;
    uint32_t read[GEN_UNITS];
} gen_cell;

/* An instruction taken into the program. */
typedef struct gen_node {
    vta_insn insn;
    int unit;
    uint32_t clock[GEN_UNITS]; /* the last instruction of each unit that its end implies */
} gen_node;

/* A token queue as the program stands. */
typedef struct gen_queue {
    uint32_t *pushers; /* the producer's count of each push, ascending */
    uint32_t pushes, pops;
    uint32_t filled; /* an upper bound of the tokens in it just after the last push */
} gen_queue;

/* The part of a scratchpad that the random instructions of a program work in. */
typedef struct gen_window {
    uint32_t base, size;
} gen_window;

typedef struct gen {
    progen_program *program;
    const vta_config *config;
    rng random;
    gen_node *nodes;
    uint32_t node_count, node_room;
    uint32_t *by_count[GEN_UNITS]; /* node of each unit's n-th instruction */
    uint32_t count[GEN_UNITS];
    uint32_t known[GEN_UNITS][GEN_UNITS]; /* [u][v]: instructions of v over before u's next one starts */
    gen_queue queues[VTA_QUEUE_COUNT];
    gen_cell *cells[GEN_SPACES];
    uint8_t inp_parts[1 << 13]; /* of each INP entry: those that REQUANT has written, a bit for each */
    uint32_t *uop_words;        /* contents of the UOP scratchpad */
    uint32_t uop_cursor;        /* words of the UOP segment in use */
    gen_window windows[VTA_MEM_COUNT];
    uint32_t store_node; /* 1 + a recent STORE, 0: none */
    bool no_memory;
} gen;

/* Takes the instruction with the tokens it needs, or refuses (false) when it would break a rule. */
bool gen_take(gen *g, const vta_insn *insn);

/* An instruction of this unit that does nothing. */
vta_insn gen_nop(gen *g, int unit);

/* Fills a queue to its capacity and drains it. */
void gen_flood(gen *g);

/* Drains all tokens and appends FINISH. */
void gen_finish(gen *g);

/* Adds one random instruction and what it needs before it. */
void gen_random_insn(gen *g);

/* Adds instructions of the compute unit that meet in the same accumulators within a few cycles, and stores
 * what they leave. */
void gen_chain(gen *g);

/* Loads that stand before what uses them: the windows that the compute unit reads, where nothing is known of
 * them; one row of data; parameters of a requantization; micro-ops, whose place comes back in *begin. */
void gen_ensure_compute(gen *g);
bool gen_load_data(gen *g, vta_memory memory, int64_t sram, int64_t count);
bool gen_load_parameters(gen *g, int64_t first, int64_t size);
bool gen_load_uops(gen *g, const vta_uop *uops, uint32_t count, uint32_t *begin);

/* Any function on rows. */
int64_t gen_row(gen *g);

/* Stores a run of written OUT entries. */
bool gen_store_run(gen *g, uint32_t first, uint32_t count);

/* The order in which the nodes stand in the program: program order or another interleaving. `order` has room
 * for all. */
void gen_interleave(gen *g, uint32_t *order);

bool gen_written(const gen *g, int space, uint32_t index);

#endif
