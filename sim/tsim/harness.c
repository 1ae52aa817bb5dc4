/* SPDX-License-Identifier: Apache-2.0
 *
 * The plain C part of an RTL simulator: clock, memory, register page, timeline around one model (model.h). It
 * exports `vta_rtlsim_entry`.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account.h"
#include "model.h"
#include "recorder.h"
#include "timeline.h"

enum { RESET_CYCLES = 4, REPLY_LIMIT = 100000 };

enum {
#define VTA_REG(name, offset, access, doc) REG_##name = (offset),
#include "vta/regs.def"
};

typedef struct harness {
    const vta_model *model;
    void *self;
    vta_axi_mem *mem;
    bool beside; /* other accelerators, on the same memory: only they together make its time pass */
    vta_timeline *timeline;
    vta_account account;
    vta_recorder recorder;
    vta_player player;
    bool halted; /* where a recording was to end: no clock any more */
    vta_bus bus;
    vta_pins_in in;
    vta_pins_out out;
    uint64_t cycle;
    uint32_t threshold; /* of the register port's own back-pressure, of 65536 */
    uint64_t random, seed, runs;
    uint64_t insn_addr; /* as last written to the register page */
    uint32_t insn_count;
    char failure[256];
} harness;

static void fail(harness *h, const char *what, uint32_t offset)
{
    if (h->failure[0] == '\0') {
        (void)snprintf(h->failure, sizeof h->failure,
                       "AXI-Lite rule broken in cycle %" PRIu64 ": %s (register 0x%03x)", h->cycle, what,
                       (unsigned)offset);
    }
}

static const char *failure(void *self)
{
    harness *h = self;
    const char *text = h->mem != NULL ? vta_axi_mem_failure(h->mem) : NULL;
    if (text == NULL) {
        text = h->model->failure(h->self);
    }
    return text != NULL ? text : h->failure[0] != '\0' ? h->failure : NULL;
}

/* A cycle's first half: what `in` and `out` hold is seen by whoever looks on, and taken by the memory. */
static void begin_cycle(harness *h)
{
    if (h->timeline != NULL) {
        vta_timeline_cycle(h->timeline, h->cycle, h->out.debug);
    }
    vta_account_cycle(&h->account, h->out.debug);
    if (h->recorder.running) {
        h->halted = vta_recorder_cycle(&h->recorder, &h->in, &h->out, h->mem);
    }
    if (h->mem != NULL) {
        h->out.axi.reset = h->in.reset;
        vta_axi_mem_take(h->mem, &h->out.axi, &h->in.axi);
    }
}

/* Its second half: the values meet at the clock's edge; afterwards both hold those of the next cycle. */
static void end_cycle(harness *h)
{
    vta_axi_slave next = h->in.axi;
    if (h->mem != NULL) {
        vta_axi_mem_drive(h->mem, &h->out.axi, &next);
    }
    h->model->clock(h->self, &h->in, &h->out);
    h->in.axi = next;
    h->cycle++;
}

/* A cycle of this accelerator alone. */
static void clock_cycle(harness *h)
{
    begin_cycle(h);
    if (h->mem != NULL && !h->beside) {
        vta_axi_mem_tick(h->mem);
    }
    end_cycle(h);
}

/* ---- register page */

/* True where the host side of the register port holds a channel back in this cycle. */
static bool held(harness *h)
{
    if (h->threshold == 0) {
        return false;
    }
    h->random = h->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (h->random >> 40 & 0xffff) < h->threshold;
}

static void raise(harness *h, uint8_t *valid, bool sent)
{
    if (!sent && !*valid) {
        *valid = !held(h);
    }
}

/* Every run has random numbers of its own, so that the cycles between two runs, which are as many as the host
 * likes, make no difference. */
static void draw_anew(harness *h)
{
    const uint64_t seed = h->seed ^ h->runs++ * UINT64_C(0xd1342543de82ef95);
    h->random = seed;
    if (h->mem != NULL) {
        vta_axi_mem_seed(h->mem, seed);
    } else {
        h->model->seed(h->self, seed);
    }
}

/* Prepares timeline, account and random numbers for a register write before its first cycle. */
static void watch_write(harness *h, uint32_t offset, uint32_t value)
{
    if (offset == REG_INSN_ADDR_LO) {
        h->insn_addr = (h->insn_addr & ~(uint64_t)UINT32_MAX) | value;
    } else if (offset == REG_INSN_ADDR_HI) {
        h->insn_addr = (h->insn_addr & UINT32_MAX) | (uint64_t)value << 32;
    } else if (offset == REG_INSN_COUNT) {
        h->insn_count = value;
    } else if (offset == REG_CONTROL && (value & 1) != 0) {
        draw_anew(h);
        vta_account_run(&h->account, &h->bus, h->insn_addr, h->insn_count);
        if (h->timeline != NULL) {
            vta_timeline_run(h->timeline, h->cycle, h->insn_addr, h->insn_count);
        }
    }
}

/* In place of the run that a write to CONTROL would start, the one that is to be played. */
static void play_run(harness *h)
{
    const vta_player *p = &h->player;
    for (uint64_t i = 0; i < p->count; i++) {
        const vta_stretch *s = &p->stretches[i];
        for (uint32_t k = 0; h->timeline != NULL && k < s->cycles; k++) {
            vta_timeline_cycle(h->timeline, h->cycle + k, s->debug);
        }
        vta_account_cycles(&h->account, s->debug, s->cycles);
        h->cycle += s->cycles;
    }
    h->player.ready = false;
    h->player.ended = true;
}

static void reg_write(void *self, uint32_t offset, uint32_t value)
{
    harness *h = self;
    bool address = false, data = false, done = false;
    const bool starts = offset == REG_CONTROL && (value & 1) != 0;
    if (h->halted) {
        return;
    }
    h->player.ended = h->player.ended && offset != REG_CONTROL;
    watch_write(h, offset, value);
    if (starts && h->player.ready) {
        play_run(h);
        return;
    }
    if (starts) {
        vta_recorder_run(&h->recorder);
    }
    h->in.awaddr = offset;
    h->in.wdata = value;
    for (uint32_t i = 0; !done && i < REPLY_LIMIT; i++) {
        raise(h, &h->in.awvalid, address);
        raise(h, &h->in.wvalid, data);
        raise(h, &h->in.bready, false);
        const bool aw = h->in.awvalid && h->out.awready, w = h->in.wvalid && h->out.wready;
        const bool b = h->in.bready && h->out.bvalid;
        if (h->out.bvalid && !(address && data)) {
            fail(h, "BVALID without a write", offset);
        }
        if (b && h->out.bresp != VTA_AXI_OKAY) {
            fail(h, "BRESP is not OKAY", offset);
        }
        const bool waits = h->out.bvalid && !b;
        clock_cycle(h);
        if (waits && !h->out.bvalid) {
            fail(h, "BVALID was taken back before BREADY", offset);
        }
        address = address || aw;
        data = data || w;
        done = b;
        h->in.awvalid = h->in.awvalid && !aw;
        h->in.wvalid = h->in.wvalid && !w;
    }
    h->in.awvalid = h->in.wvalid = h->in.bready = 0;
    if (!done) {
        fail(h, "a write was not answered", offset);
    }
}

static uint32_t reg_read(void *self, uint32_t offset)
{
    harness *h = self;
    bool address = false, done = false;
    uint32_t value = 0;
    if (h->halted) {
        return vta_player_value(&h->player, offset, value);
    }
    h->in.araddr = offset;
    for (uint32_t i = 0; !done && i < REPLY_LIMIT; i++) {
        raise(h, &h->in.arvalid, address);
        raise(h, &h->in.rready, false);
        const bool ar = h->in.arvalid && h->out.arready, r = h->in.rready && h->out.rvalid;
        if (h->out.rvalid && !address) {
            fail(h, "RVALID without a read", offset);
        }
        if (r && h->out.rresp != VTA_AXI_OKAY) {
            fail(h, "RRESP is not OKAY", offset);
        }
        const bool waits = h->out.rvalid && !r;
        value = h->out.rdata;
        clock_cycle(h);
        if (waits && (!h->out.rvalid || h->out.rdata != value)) {
            fail(h, "RVALID or RDATA changed before RREADY", offset);
        }
        address = address || ar;
        done = r;
        h->in.arvalid = h->in.arvalid && !ar;
    }
    h->in.arvalid = h->in.rready = 0;
    if (!done) {
        fail(h, "a read was not answered", offset);
    }
    return h->player.ended ? vta_player_value(&h->player, offset, value) : value;
}

/* ---- the interface */

static void flush_timeline(harness *h)
{
    const int cause = vta_timeline_flush(h->timeline);
    if (cause != 0 && h->failure[0] == '\0') {
        (void)snprintf(h->failure, sizeof h->failure, VTA_RTLSIM_TIMELINE "cannot be written: %s",
                       strerror(cause));
    }
}

static uint64_t advance(harness *h, uint64_t cycles)
{
    for (uint64_t i = 0; i < cycles; i++) {
        if (h->out.irq || h->player.ended || h->halted || failure(h) != NULL) {
            return i;
        }
        clock_cycle(h);
    }
    return cycles;
}

static uint64_t step(void *self, uint64_t cycles)
{
    harness *h = self;
    const uint64_t advanced = advance(h, cycles);
    if (h->timeline != NULL) {
        flush_timeline(h);
    }
    return advanced;
}

static bool must_stop(const harness *h)
{
    return h->out.irq || h->player.ended || h->halted;
}

/* The accelerators that were served longest ago come first, so that what they share goes round. */
static void order_by_service(harness **all, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        harness *h = all[i];
        uint32_t at = i;
        while (at > 0 && vta_axi_mem_served(all[at - 1]->mem) > vta_axi_mem_served(h->mem)) {
            all[at] = all[at - 1];
            at--;
        }
        all[at] = h;
    }
}

static uint64_t step_together(void *const *selves, uint32_t count, uint64_t cycles)
{
    harness *all[VTA_AXI_PORTS];
    for (uint32_t i = 0; i < count; i++) {
        all[i] = selves[i];
    }
    for (uint64_t cycle = 0; count > 0 && cycle < cycles; cycle++) {
        for (uint32_t i = 0; i < count; i++) {
            if (must_stop(all[i]) || failure(all[i]) != NULL) {
                return cycle;
            }
        }
        order_by_service(all, count);
        for (uint32_t i = 0; i < count; i++) {
            begin_cycle(all[i]);
        }
        vta_axi_mem_tick(all[0]->mem);
        for (uint32_t i = 0; i < count; i++) {
            end_cycle(all[i]);
        }
    }
    return cycles;
}

static bool irq(void *self)
{
    return must_stop(self);
}

static void record(void *self, uint64_t starts)
{
    vta_recorder *r = &((harness *)self)->recorder;
    r->on = true;
    r->max_starts = starts;
}

static const vta_stretch *recording(void *self, uint64_t *count)
{
    const vta_recorder *r = &((harness *)self)->recorder;
    *count = r->failed ? 0 : r->count;
    return r->stretches;
}

static void play(void *self, const vta_stretch *stretches, uint64_t count, const vta_counters *counters)
{
    ((harness *)self)->player =
        (vta_player){.stretches = stretches, .count = count, .counters = *counters, .ready = true};
}

static bool dram(void *self, vta_dram_counts *out)
{
    const harness *h = self;
    const vta_dram_counts *counts = h->mem != NULL           ? vta_axi_mem_counts(h->mem)
                                    : h->model->dram != NULL ? h->model->dram(h->self)
                                                             : NULL;
    if (counts != NULL) {
        *out = *counts;
    }
    return counts != NULL;
}

static const uint64_t *account(void *self, uint32_t *insn_count)
{
    const harness *h = self;
    *insn_count = h->account.insn_count;
    return h->account.counts;
}

static void destroy(void *self)
{
    harness *h = self;
    if (h == NULL) {
        return;
    }
    if (h->timeline != NULL) {
        vta_timeline_cycle(h->timeline, h->cycle, h->out.debug);
    }
    if (h->self != NULL) {
        h->model->destroy(h->self);
    }
    vta_timeline_destroy(h->timeline);
    vta_account_free(&h->account);
    vta_recorder_free(&h->recorder);
    vta_axi_mem_destroy(h->mem);
    free(h);
}

static bool open_parts(harness *h, const vta_rtlsim_options *options, const vta_bus *bus, char *message,
                       uint32_t size)
{
    h->bus = *bus;
    h->self = h->model->create(options, bus, message, size);
    if (h->self == NULL) {
        return false;
    }
    if (options->timeline_file != NULL) {
        h->timeline = vta_timeline_create(options->timeline_file, bus);
        if (h->timeline == NULL) {
            (void)snprintf(message, size, "cannot write the timeline '%s': %s", options->timeline_file,
                           strerror(errno));
            return false;
        }
    }
    if (h->model->has_memory) {
        return true;
    }
    const vta_axi_options axi = {.bus_bytes = h->model->bus_bytes,
                                 .latency = options->latency,
                                 .bandwidth = options->bandwidth,
                                 .shared_bytes = options->shared_bytes,
                                 .shared_cycles = options->shared_cycles,
                                 .dram = options->dram,
                                 .clock_mhz = options->clock_mhz,
                                 .stall_percent = options->stall_percent,
                                 .seed = options->seed};
    harness *first = options->beside;
    h->mem = vta_axi_mem_create(&axi, bus, first != NULL ? first->mem : NULL);
    if (first != NULL) {
        first->beside = h->beside = true;
    }
    if (h->mem == NULL) {
        (void)snprintf(message, size, "out of memory");
        return false;
    }
    h->in.axi = vta_axi_mem_first(h->mem);
    return true;
}

static void *create(const vta_rtlsim_options *options, const vta_bus *bus, char *message, uint32_t size)
{
    if (options->stall_percent >= 100) {
        (void)snprintf(message, size, "stall_percent is %u; at 100 nothing would ever move",
                       options->stall_percent);
        return NULL;
    }
    harness *h = calloc(1, sizeof *h);
    if (h == NULL) {
        (void)snprintf(message, size, "out of memory");
        return NULL;
    }
    h->model = vta_model_get();
    h->threshold = (uint32_t)((uint64_t)options->stall_percent * 65536 / 100);
    h->seed = h->random = options->seed;
    if (!open_parts(h, options, bus, message, size)) {
        destroy(h);
        return NULL;
    }
    h->in.reset = 1;
    for (int i = 0; i < RESET_CYCLES; i++) {
        clock_cycle(h);
    }
    h->in.reset = 0;
    return h;
}

__attribute__((visibility("default"))) const vta_rtlsim *vta_rtlsim_entry(void)
{
    static vta_rtlsim entry = {.abi = VTA_RTLSIM_ABI,
                               .create = create,
                               .destroy = destroy,
                               .read = reg_read,
                               .write = reg_write,
                               .step = step,
                               .irq = irq,
                               .failure = failure,
                               .account = account,
                               .record = record,
                               .recording = recording,
                               .play = play,
                               .dram = dram,
                               .step_together = step_together};
    entry.kind = vta_model_get()->kind;
    entry.config_hash = vta_model_get()->config_hash;
    return &entry;
}
