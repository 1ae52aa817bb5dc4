/* SPDX-License-Identifier: Apache-2.0
 *
 * See recorder.h.
 */
#include "recorder.h"

#include <stdlib.h>
#include <string.h>

#include "vta/regs.h"

void vta_recorder_free(vta_recorder *r)
{
    free(r->stretches);
    *r = (vta_recorder){0};
}

void vta_recorder_run(vta_recorder *r)
{
    r->count = r->starts = 0;
    r->failed = false;
    r->running = r->on;
}

static uint32_t mix(uint32_t hash, uint64_t value)
{
    const uint64_t product = ((uint64_t)hash << 32 ^ hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(product >> 32 ^ product >> 7);
}

/* The handshakes of all channels, and the addresses that are asked for. */
static uint32_t mix_port(uint32_t hash, const vta_axi_slave *s, const vta_axi_master *m)
{
    const uint32_t levels =
        (uint32_t)(m->ar.valid | m->aw.valid << 1 | m->wvalid << 2 | m->rready << 3 | m->bready << 4 |
                   s->arready << 5 | s->awready << 6 | s->wready << 7 | s->rvalid << 8 | s->bvalid << 9);
    hash = mix(hash, levels);
    hash = m->ar.valid ? mix(hash, m->ar.addr ^ (uint64_t)m->ar.len << 56) : hash;
    return m->aw.valid ? mix(hash, m->aw.addr ^ (uint64_t)m->aw.len << 56) : hash;
}

static vta_stretch *add(vta_recorder *r, uint32_t debug, const vta_axi_mem *mem)
{
    if (r->stretches == NULL || r->count == r->capacity) {
        const uint64_t room = r->capacity < 1024 ? 1024 : 2 * r->capacity;
        vta_stretch *grown = realloc(r->stretches, room * sizeof *grown);
        if (grown == NULL) {
            r->failed = true;
            r->running = false;
            return NULL;
        }
        r->stretches = grown;
        r->capacity = room;
    }
    vta_stretch *next = &r->stretches[r->count++];
    *next = (vta_stretch){.debug = debug, .bus = mem != NULL ? mix(0, vta_axi_mem_pace(mem)) : 0};
    return next;
}

bool vta_recorder_cycle(vta_recorder *r, const vta_pins_in *in, const vta_pins_out *out,
                        const vta_axi_mem *mem)
{
    enum { COMPUTE = 1 };
    if (out->irq) {
        r->running = false;
        return false;
    }
    vta_stretch *last = r->count > 0 ? &r->stretches[r->count - 1] : NULL;
    if (last == NULL || last->debug != out->debug || (out->debug & VTA_DEBUG_MOVES) != 0 ||
        last->cycles == UINT32_MAX) {
        last = add(r, out->debug, mem);
    }
    if (last != NULL) {
        last->cycles++;
        last->bus = mix_port(last->bus, &in->axi, &out->axi);
    }
    r->starts += out->debug >> (VTA_DEBUG_START + COMPUTE) & 1;
    const bool over = r->max_starts != 0 && r->starts >= r->max_starts;
    r->running = r->running && !over;
    return over;
}

uint32_t vta_player_value(const vta_player *p, uint32_t offset, uint32_t value)
{
    if (offset == VTA_REG_STATUS) {
        return VTA_REG_PUT(STATUS_DONE, 1);
    }
    if (offset < VTA_REG_CYCLES || offset - VTA_REG_CYCLES >= sizeof p->counters) {
        return value;
    }
    memcpy(&value, (const uint8_t *)&p->counters + (offset - VTA_REG_CYCLES), sizeof value);
    return value;
}
