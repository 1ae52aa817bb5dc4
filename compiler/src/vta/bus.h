/* SPDX-License-Identifier: Apache-2.0
 *
 * The read bus of the timing model, burst by burst. It answers in the order in which bursts were asked for.
 * Fetch, load and compute unit ask in turn, and the list of calls does not say who is first: a burst goes
 * before those that another unit has asked for later, and these come later, too. What had been worked out
 * from their former ends stays.
 */
#ifndef VTAC_VTA_BUS_H
#define VTAC_VTA_BUS_H

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t cycles;

static inline cycles later(cycles a, cycles b)
{
    return a > b ? a : b;
}

/* How long two times have in common. */
static inline cycles overlap(cycles from, cycles to, cycles other_from, cycles other_to)
{
    const cycles begin = later(from, other_from), end = to < other_to ? to : other_to;
    return end > begin ? end - begin : 0;
}

enum {
    WINDOW = 160,         /* beats that a reader may have under way when it asks for more: vta_tload.v */
    READS_IN_FLIGHT = 32, /* bursts of all readers: LOG_FLIGHT of vta_axi_read.v */
    BURSTS = 512,         /* that are remembered */
    OWN_BURSTS = 256,     /* and of a reader's: each has a beat at least, so more than WINDOW */
};

/* In rings, entry i % size is number i. */
typedef struct read_bus {
    struct burst {
        cycles asked, end, beats; /* asked: since when its address is on its way to the memory */
        bool hole;                /* nothing is read */
        uint32_t owner;           /* 0: nobody */
    } ring[BURSTS];
    uint64_t count;
    uint32_t owner;   /* of the bursts to come, */
    uint64_t moved;   /* and the first that has an owner and was put off, or a later number */
    cycles forgotten; /* the end of the newest that has left the ring */
} read_bus;

/* A unit that reads: what it has asked for. */
typedef struct reader {
    cycles lead;  /* beyond the memory's latency, from an instruction's start to its first beat */
    cycles asked; /* the last time, for a burst */
    struct {
        uint64_t beats; /* with all before it */
        cycles end;
    } ring[OWN_BURSTS];
    bool pairs;  /* it knows a cycle late that it may not ask for more: vta_tload.v. Then it asks twice, */
    bool second; /* and this was the second */
    uint64_t count,
        open; /* open: the first whose beats may still be under way when the next one is asked for */
} reader;

/* When a reader may ask for its next burst. */
cycles vtac_vta_reader_opens(reader *who);

/* The bus is not there for reads for so many cycles from `when` on; `lead`: from there back to the address
 * of a read whose data would come then. */
void vtac_vta_bus_yield(read_bus *bus, cycles when, cycles lead, cycles beats);

/* In how many cycles of a time it moves data, as far as is known. */
cycles vtac_vta_bus_busy(const read_bus *bus, cycles from, cycles to);

/* Until when that is: the end of the last burst. */
cycles vtac_vta_bus_known(const read_bus *bus);

/* One burst; returns its end. `opens` is what vtac_vta_reader_opens says. */
cycles vtac_vta_bus_read(read_bus *bus, reader *who, cycles asked, cycles opens, cycles latency,
                         cycles beats);

#endif
