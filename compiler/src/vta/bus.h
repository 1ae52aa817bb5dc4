/* SPDX-License-Identifier: Apache-2.0
 *
 * The read bus of the timing model, burst by burst. The bus answers in the order in which bursts were asked
 * for. Fetch, load and compute unit ask concurrently, and the list of calls does not say who asks first. So a
 * burst is inserted before those that another unit asks for later, and delays them. Times that were derived
 * from their former ends are not corrected.
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

/* The length of the intersection of two intervals. */
static inline cycles overlap(cycles from, cycles to, cycles other_from, cycles other_to)
{
    const cycles begin = later(from, other_from), end = to < other_to ? to : other_to;
    return end > begin ? end - begin : 0;
}

enum {
    WINDOW = 160,         /* beats that a reader may have under way when it asks for more: vta_tload.v */
    READS_IN_FLIGHT = 32, /* bursts of all readers: LOG_FLIGHT of vta_axi_read.v */
    BURSTS = 512,         /* bursts that the model remembers */
    OWN_BURSTS = 256,     /* the same of one reader: more than WINDOW, as each has a beat */
};

/* Rings: burst number i is entry i % size. */
typedef struct read_bus {
    struct burst {
        cycles asked, end, beats; /* asked: the time when the address leaves for the memory */
        bool hole;                /* a gap: nothing is read */
        uint32_t owner;           /* 0: none */
    } ring[BURSTS];
    uint64_t count;
    uint32_t owner;   /* the owner of the bursts to come */
    uint64_t moved;   /* the first owned burst that was delayed: later ones may be too */
    cycles forgotten; /* the end of the newest burst that has left the ring */
} read_bus;

/* A unit that reads, and the bursts that it has asked for. */
typedef struct reader {
    cycles lead;  /* cycles from an instruction's start to its first beat, beyond the memory's latency */
    cycles asked; /* the time of its last request */
    struct {
        uint64_t beats; /* the sum of beats up to this burst */
        cycles end;
    } ring[OWN_BURSTS];
    bool pairs;  /* the unit notices one cycle late that it may ask no more, so it asks twice (vta_tload.v) */
    bool second; /* the last request was such a second one */
    uint64_t count, open; /* open: the first burst whose beats may still be under way at the next request */
} reader;

/* The earliest time at which a reader may ask for its next burst. */
cycles vtac_vta_reader_opens(reader *who);

/* Takes the bus away from reads for `beats` cycles from `when` on. A read whose data would come at `when` was
 * asked for `lead` cycles earlier. */
void vtac_vta_bus_yield(read_bus *bus, cycles when, cycles lead, cycles beats);

/* The number of cycles from `from` to `to` in which the bus moves data, as far as is known. */
cycles vtac_vta_bus_busy(const read_bus *bus, cycles from, cycles to);

/* The end of the last burst: the bus is known until then. */
cycles vtac_vta_bus_known(const read_bus *bus);

/* Reads one burst; returns its end. `opens` is the result of vtac_vta_reader_opens. */
cycles vtac_vta_bus_read(read_bus *bus, reader *who, cycles asked, cycles opens, cycles latency,
                         cycles beats);

#endif
