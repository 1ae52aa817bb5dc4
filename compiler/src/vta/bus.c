/* SPDX-License-Identifier: Apache-2.0
 *
 * The read bus: the order of bursts, and the limits on what is under way.
 */
#include "bus.h"

cycles vtac_vta_reader_opens(reader *who)
{
    const uint64_t all = who->count > 0 ? who->ring[(who->count - 1) % OWN_BURSTS].beats : 0;
    const uint64_t here =
        all < WINDOW ? 0 : all - WINDOW + 1; /* beats that must have arrived before the next request */
    while (who->open < who->count && who->ring[who->open % OWN_BURSTS].beats < here) {
        who->open++;
    }
    return here == 0 ? who->asked
                     : later(who->asked, who->ring[who->open % OWN_BURSTS].end -
                                             (who->ring[who->open % OWN_BURSTS].beats - here));
}

static void note_burst(reader *who, cycles asked, cycles end, cycles beats)
{
    const uint64_t all = who->count > 0 ? who->ring[(who->count - 1) % OWN_BURSTS].beats : 0;
    who->asked = asked;
    who->ring[who->count % OWN_BURSTS].beats = all + beats;
    who->ring[who->count % OWN_BURSTS].end = end;
    who->count++;
}

static struct burst *burst_at(read_bus *bus, uint64_t number)
{
    return &bus->ring[number % BURSTS];
}

/* Inserts an empty place into the ring, in the order of requests. */
static uint64_t place_of(read_bus *bus, uint64_t oldest, cycles asked)
{
    uint64_t at = bus->count++;
    bus->forgotten = at >= BURSTS ? burst_at(bus, at)->end : 0;
    while (at > oldest && burst_at(bus, at - 1)->asked > asked) {
        *burst_at(bus, at) = *burst_at(bus, at - 1);
        at--;
    }
    return at;
}

/* Delays the bursts behind burst `at`. */
static void delay_later(read_bus *bus, uint64_t at)
{
    for (uint64_t i = at + 1; i < bus->count; i++) {
        const struct burst *before = burst_at(bus, i - 1);
        struct burst *next = burst_at(bus, i);
        const cycles asked = later(next->asked, before->asked),
                     end = later(next->end, before->end + next->beats);
        if (asked == next->asked && end == next->end) {
            break;
        }
        if (next->owner > 0 && end > next->end && i < bus->moved) {
            bus->moved = i;
        }
        next->asked = asked;
        next->end = end;
    }
}

void vtac_vta_bus_yield(read_bus *bus, cycles when, cycles lead, cycles beats)
{
    const uint64_t oldest = bus->count < BURSTS ? 0 : bus->count - BURSTS + 1;
    const cycles asked = when > lead ? when - lead : 0;
    const uint64_t at = place_of(bus, oldest, asked);
    const cycles first = later(when, at > oldest ? burst_at(bus, at - 1)->end : bus->forgotten);
    *burst_at(bus, at) = (struct burst){asked, first + beats, beats, true, 0};
    delay_later(bus, at);
}

cycles vtac_vta_bus_busy(const read_bus *bus, cycles from, cycles to)
{
    const uint64_t oldest = bus->count < BURSTS ? 0 : bus->count - BURSTS;
    cycles busy = 0;
    for (uint64_t i = bus->count; i > oldest; i--) {
        const struct burst *b = &bus->ring[(i - 1) % BURSTS];
        if (b->end <= from) {
            break;
        }
        busy += b->hole ? 0 : overlap(from, to, b->end - b->beats, b->end);
    }
    return busy;
}

cycles vtac_vta_bus_known(const read_bus *bus)
{
    return bus->count > 0 ? bus->ring[(bus->count - 1) % BURSTS].end : 0;
}

cycles vtac_vta_bus_read(read_bus *bus, reader *who, cycles asked, cycles opens, cycles latency, cycles beats)
{
    const uint64_t oldest = bus->count < BURSTS ? 0 : bus->count - BURSTS + 1;
    who->second =
        who->pairs && !who->second && who->count > 0 && asked <= who->asked + 1 && opens > who->asked + 1;
    asked = who->second ? who->asked + 1 : later(asked, opens);
    const cycles lead = who->lead;
    const uint64_t at = place_of(bus, oldest, asked + lead);
    cycles first = asked + lead + latency;
    if (at >= oldest + READS_IN_FLIGHT) {
        const cycles room = burst_at(bus, at - READS_IN_FLIGHT)->end;
        asked = later(asked, room);
        first = later(first, room + latency);
    }
    first = later(first, at > oldest ? burst_at(bus, at - 1)->end : bus->forgotten);
    *burst_at(bus, at) = (struct burst){asked + lead, first + beats, beats, false, bus->owner};
    delay_later(bus, at);
    note_burst(who, asked, first + beats, beats);
    return first + beats;
}
