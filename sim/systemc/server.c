/* SPDX-License-Identifier: Apache-2.0
 *
 * The other side of client.c, in the platform's own process: requests in, replies out. Memory is the
 * client's.
 */
#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vta/rtlsim.h"
#include "wire.h"

bool server_load(uint64_t addr, uint8_t *data, uint64_t size)
{
    const wire_message m = {WIRE_LOAD, addr, size};
    uint8_t there = 0;
    return wire_send(WIRE_SOCKET, &m, sizeof m) && wire_receive(WIRE_SOCKET, &there, 1) && there != 0 &&
           wire_receive(WIRE_SOCKET, data, size);
}

bool server_store(uint64_t addr, const uint8_t *data, uint32_t size, const uint64_t *strobes, uint32_t beats)
{
    const wire_message m = {WIRE_STORE, addr, size};
    uint8_t there = 0;
    return wire_send(WIRE_SOCKET, &m, sizeof m) && wire_send(WIRE_SOCKET, data, size) &&
           wire_send(WIRE_SOCKET, strobes, beats * sizeof *strobes) && wire_receive(WIRE_SOCKET, &there, 1) &&
           there != 0;
}

/* A copy of a piece of the client's memory, for the timeline: good until the next call. */
static void *map(void *context, uint64_t addr, uint64_t size)
{
    void **copy = context;
    free(*copy);
    *copy = size < (UINT64_C(1) << 32) ? malloc(size > 0 ? size : 1) : NULL;
    return *copy != NULL && server_load(addr, *copy, size) ? *copy : NULL;
}

static bool reply(const vta_rtlsim *sim, void *self, uint64_t result, const char *message)
{
    const char *failure = self != NULL ? sim->failure(self) : message;
    const wire_message m = {WIRE_REPLY, result, self != NULL && sim->irq(self)};
    char text[WIRE_TEXT] = "";
    if (failure != NULL) {
        (void)snprintf(text, sizeof text, "%s", failure);
    }
    return wire_send(WIRE_SOCKET, &m, sizeof m) && wire_send(WIRE_SOCKET, text, sizeof text);
}

static const char *text_or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

static void *create(const vta_rtlsim *sim, const vta_bus *bus)
{
    static wire_options w;
    char message[WIRE_TEXT] = "";
    if (!wire_receive(WIRE_SOCKET, &w, sizeof w)) {
        return NULL;
    }
    const vta_rtlsim_options options = {.latency = w.latency,
                                        .bandwidth = w.bandwidth,
                                        .shared_bytes = w.shared_bytes,
                                        .shared_cycles = w.shared_cycles,
                                        .stall_percent = w.stall_percent,
                                        .traffic_percent = w.traffic_percent,
                                        .dram = w.dram,
                                        .clock_mhz = w.clock_mhz,
                                        .seed = w.seed,
                                        .trace_begin = w.trace_begin,
                                        .trace_end = w.trace_end,
                                        .trace_file = text_or_null(w.trace_file),
                                        .trace_scope = text_or_null(w.trace_scope),
                                        .timeline_file = text_or_null(w.timeline_file),
                                        .memory_model = text_or_null(w.memory_model)};
    void *self = sim->create(&options, bus, message, sizeof message);
    reply(sim, self, self != NULL, message);
    return self;
}

/* Sends the cycles by class behind the reply. */
static bool reply_account(const vta_rtlsim *sim, void *self)
{
    uint32_t insn_count = 0;
    const uint64_t *counts = sim->account(self, &insn_count);
    insn_count = counts != NULL ? insn_count : 0;
    return reply(sim, self, insn_count, NULL) &&
           wire_send(WIRE_SOCKET, counts, wire_account_size(insn_count));
}

static bool reply_dram(const vta_rtlsim *sim, void *self)
{
    vta_dram_counts counts = {0};
    const bool is = sim->dram(self, &counts);
    return reply(sim, self, is, NULL) && wire_send(WIRE_SOCKET, &counts, sizeof counts);
}

int server_run(void)
{
    const vta_rtlsim *sim = vta_rtlsim_entry();
    void *copy = NULL, *self = NULL;
    const vta_bus bus = {map, &copy};
    wire_message m;
    bool good = wire_receive(WIRE_SOCKET, &m, sizeof m) && m.op == WIRE_CREATE;
    self = good ? create(sim, &bus) : NULL;
    good = self != NULL;
    while (good && wire_receive(WIRE_SOCKET, &m, sizeof m)) {
        uint64_t result = 0;
        if (m.op == WIRE_ACCOUNT || m.op == WIRE_DRAM) {
            good = m.op == WIRE_DRAM ? reply_dram(sim, self) : reply_account(sim, self);
            continue;
        }
        switch (m.op) {
        case WIRE_READ: result = sim->read(self, (uint32_t)m.a); break;
        case WIRE_WRITE: sim->write(self, (uint32_t)m.a, (uint32_t)m.b); break;
        case WIRE_STEP: result = sim->step(self, m.a); break;
        default: good = false; break;
        }
        good = good && reply(sim, self, result, NULL);
    }
    sim->destroy(self);
    free(copy);
    return 0;
}
