/* SPDX-License-Identifier: Apache-2.0
 *
 * How long layers take that are computed together, roughly: a small pipeline of what they ask of the array,
 * the ALU and the memory, each of which waits for the others where no slot is free. By the busiest unit's
 * work alone large tiles would always be best, and they leave room for one slot only.
 */
#ifndef VTAC_VTA_FLOW_H
#define VTAC_VTA_FLOW_H

#include <stdbool.h>
#include <stdint.h>

enum { FLOW_MEMBERS = 3, FLOW_SLOTS = 4 };

typedef struct flow_member {
    double array;  /* cycles of an item, which is a channel block of the first member; of one that streams: of
                      a tile */
    double alu;    /* the same, of one that gathers or streams: of a tile */
    double writes; /* of the array into ACC, in a cycle */
    int64_t calls, passes; /* of the array, for an item or a piece; and of the ALU, for each */
    int64_t slots;         /* of sums */
    bool gathers;          /* it sums up what comes item by item */
} flow_member;

typedef struct flow {
    flow_member members[FLOW_MEMBERS];
    uint32_t count;
    bool streams;                 /* the last one: in pieces, between the items of the next tile */
    int64_t tiles, items, pieces; /* items and pieces of a tile */
    int64_t inputs;               /* slots of what the first one reads */
    double load, store;  /* cycles of the bus, of a tile: the first one's input, the last one's output; */
    double load_of_item; /* and whatever else is loaded */
    int64_t parts;       /* blocks of the first one's input, which it sums up one by one */
    double latency;      /* of the memory */
} flow;

double vtac_vta_flow_cycles(const flow *f);

#endif
