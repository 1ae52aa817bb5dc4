/* SPDX-License-Identifier: Apache-2.0
 *
 * A rough estimate of the time that a group takes. An item is one channel block of the first member, in one
 * tile. The model is a small pipeline of what the members ask of the array, the
 * ALU and the memory; each unit waits until a slot is free. The work of the busiest unit would be a bad
 * estimate: it always favours large tiles, which leave room for one slot only.
 */
#ifndef VTAC_VTA_FLOW_H
#define VTAC_VTA_FLOW_H

#include <stdbool.h>
#include <stdint.h>

enum { FLOW_MEMBERS = 3, FLOW_SLOTS = 4 };

typedef struct flow_member {
    double array;          /* cycles for an item, or for a tile if the member streams */
    double alu;            /* the same, also for a tile if the member gathers */
    double writes;         /* entries of ACC that the array writes in a cycle */
    int64_t calls, passes; /* calls of the array for an item or a piece; calls of the ALU for each */
    int64_t slots;         /* for sums */
    bool gathers;          /* the member sums over all items of a tile */
} flow_member;

typedef struct flow {
    flow_member members[FLOW_MEMBERS];
    uint32_t count;
    bool streams;                 /* the last member works in pieces, between the items of the next tile */
    int64_t tiles, items, pieces; /* items and pieces: of one tile */
    int64_t inputs;               /* slots for the input of the first member */
    double load, store;           /* bus cycles of a tile: the first input, the last output */
    double load_of_item;          /* bus cycles of an item for weights and parameters */
    int64_t parts;                /* blocks of the first member's input that it sums one by one */
    double latency;               /* of the memory, in cycles */
} flow;

double vtac_vta_flow_cycles(const flow *f);

#endif
