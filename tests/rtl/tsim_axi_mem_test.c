/* SPDX-License-Identifier: Apache-2.0
 *
 * The AXI memory model against a scripted master: timing to the cycle, contents, and every rule broken once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "axi_mem.h"

enum { BUS = 8, MEMORY = 16320, BASE = 0x10000, INCR = 1, SIZE_8 = 3 };

typedef struct bench {
    uint8_t memory[MEMORY];
    vta_axi_mem *mem;
    vta_axi_master m;
    vta_axi_slave s;
    uint8_t wdata[VTA_AXI_MAX_BYTES];
    uint64_t cycle;
} bench;

static void *map(void *context, uint64_t addr, uint64_t size)
{
    bench *b = context;
    if (addr < BASE || addr + size > BASE + MEMORY) {
        return NULL;
    }
    return b->memory + (addr - BASE);
}

static bench *open_with(const vta_axi_options *options)
{
    bench *b = calloc(1, sizeof *b);
    assert_non_null(b);
    for (uint32_t i = 0; i < MEMORY; i++) {
        b->memory[i] = (uint8_t)(i * 31 + i / 251);
    }
    const vta_bus bus = {map, b};
    b->mem = vta_axi_mem_create(options, &bus, NULL);
    assert_non_null(b->mem);
    b->s = vta_axi_mem_first(b->mem);
    b->m.wdata = b->wdata;
    return b;
}

static bench *open_bench(uint32_t latency, uint32_t bandwidth, uint32_t stall, uint64_t seed)
{
    const vta_axi_options options = {
        .bus_bytes = BUS, .latency = latency, .bandwidth = bandwidth, .stall_percent = stall, .seed = seed};
    return open_with(&options);
}

static void close_bench(bench *b)
{
    vta_axi_mem_destroy(b->mem);
    free(b);
}

static void tick(bench *b)
{
    vta_axi_mem_cycle(b->mem, &b->m, &b->s);
    b->cycle++;
}

static vta_axi_address address(uint64_t addr, uint32_t beats)
{
    return (vta_axi_address){
        .valid = 1, .addr = addr, .len = (uint8_t)(beats - 1), .size = SIZE_8, .burst = INCR};
}

/* Sends one address; the cycle in which it was taken. */
static uint64_t send(bench *b, vta_axi_address *channel, const uint8_t *ready, uint64_t addr, uint32_t beats)
{
    *channel = address(addr, beats);
    for (;;) {
        const uint8_t taken = *ready;
        tick(b);
        if (taken) {
            channel->valid = 0;
            return b->cycle - 1;
        }
        assert_in_range(b->cycle, 0, 100000);
    }
}

/* Waits for the next R beat and copies it; the cycle in which it came. */
static uint64_t take_beat(bench *b, uint8_t *data, uint8_t *last, uint8_t *resp)
{
    b->m.rready = 1;
    for (;;) {
        const vta_axi_slave s = b->s;
        if (s.rvalid) {
            memcpy(data, s.rdata, BUS);
            *last = s.rlast;
            *resp = s.rresp;
        }
        tick(b);
        if (s.rvalid) {
            b->m.rready = 0;
            return b->cycle - 1;
        }
        assert_in_range(b->cycle, 0, 100000);
    }
}

static void send_beat(bench *b, uint8_t fill, uint64_t strobe, bool last)
{
    memset(b->wdata, fill, BUS);
    b->m.wvalid = 1;
    b->m.wstrb = strobe;
    b->m.wlast = last;
    for (uint8_t taken = 0; !taken;) {
        taken = b->s.wready;
        tick(b);
        assert_in_range(b->cycle, 0, 100000);
    }
    b->m.wvalid = b->m.wlast = 0;
}

static uint8_t take_response(bench *b, uint64_t *cycle)
{
    b->m.bready = 1;
    for (;;) {
        const vta_axi_slave s = b->s;
        tick(b);
        if (s.bvalid) {
            b->m.bready = 0;
            *cycle = b->cycle - 1;
            return s.bresp;
        }
        assert_in_range(b->cycle, 0, 100000);
    }
}

static void assert_clean(bench *b)
{
    const char *failure = vta_axi_mem_failure(b->mem);
    assert_string_equal(failure != NULL ? failure : "", "");
}

static void assert_broken(bench *b, const char *sentence)
{
    const char *failure = vta_axi_mem_failure(b->mem);
    assert_non_null(failure);
    assert_non_null(strstr(failure, "AXI rule broken in cycle "));
    const char *colon = strstr(failure, ": ");
    assert_non_null(colon);
    assert_string_equal(colon + 2, sentence);
}

/* ---- timing and contents */

static void test_read_latency(void **state)
{
    (void)state;
    for (uint32_t latency = 1; latency <= 65; latency += 16) {
        bench *b = open_bench(latency, BUS, 0, 0);
        const uint64_t sent = send(b, &b->m.ar, &b->s.arready, BASE + 0x100, 4);
        for (uint32_t beat = 0; beat < 4; beat++) {
            uint8_t data[BUS], last = 0, resp = 0;
            const uint64_t came = take_beat(b, data, &last, &resp);
            assert_int_equal(came, sent + latency + beat);
            assert_memory_equal(data, b->memory + 0x100 + beat * BUS, BUS);
            assert_int_equal(last, beat == 3);
            assert_int_equal(resp, VTA_AXI_OKAY);
        }
        assert_true(vta_axi_mem_idle(b->mem));
        assert_clean(b);
        close_bench(b);
    }
}

/* Reads back to back at a rate below the bus: the beats come at exactly that rate. */
static void test_bandwidth(void **state)
{
    (void)state;
    for (uint32_t rate = 1; rate <= 9; rate++) {
        bench *b = open_bench(5, rate, 0, 0);
        send(b, &b->m.ar, &b->s.arready, BASE, 256);
        send(b, &b->m.ar, &b->s.arready, BASE + 2048, 256);
        uint64_t first = 0, came = 0;
        for (uint32_t beat = 0; beat < 512; beat++) {
            uint8_t data[BUS], last = 0, resp = 0;
            came = take_beat(b, data, &last, &resp);
            first = beat == 0 ? came : first;
            assert_memory_equal(data, b->memory + beat * BUS, BUS);
        }
        const uint64_t bytes_later = 511 * BUS, effective = rate < BUS ? rate : BUS;
        assert_in_range(came - first, bytes_later / effective - 8 / effective - 1,
                        bytes_later / effective + 1);
        close_bench(b);
    }
}

/* As many reads and writes as the memory takes, for so many cycles; the beats of each. */
static void flood(bench *b, uint64_t cycles, bool reads, bool writes, uint64_t *r, uint64_t *w)
{
    enum { BEATS = 16 };
    uint64_t in_burst = 0;
    *r = *w = 0;
    memset(b->wdata, 0x5a, BUS);
    b->m.rready = b->m.bready = 1;
    b->m.ar = address(BASE, BEATS);
    b->m.aw = address(BASE + 2048, BEATS);
    b->m.ar.valid = reads;
    b->m.aw.valid = writes;
    b->m.wstrb = 0xff;
    for (uint64_t i = 0; i < cycles; i++) {
        b->m.wvalid = writes;
        b->m.wlast = writes && in_burst == BEATS - 1;
        const bool wrote = b->m.wvalid && b->s.wready;
        *r += b->s.rvalid;
        *w += wrote;
        in_burst = wrote ? (in_burst + 1) % BEATS : in_burst;
        tick(b);
    }
    assert_clean(b);
}

/* Both directions share their bytes: never more than those, nothing lost, halves where both want them, all
 * for one that is alone. */
static void test_shared(void **state)
{
    (void)state;
    static const struct {
        uint32_t bytes, cycles;
    } budgets[] = {{1470, 150}, {147, 10}, {3, 1}, {8, 1}, {1, 7}, {16, 1}, {1000, 1}, {2980, 201}};
    enum { CYCLES = 20000, LATENCY = 30 };
    for (size_t i = 0; i < sizeof budgets / sizeof budgets[0]; i++) {
        for (int who = 1; who < 4; who++) {
            const bool reads = (who & 1) != 0, writes = (who & 2) != 0;
            const vta_axi_options options = {.bus_bytes = BUS,
                                             .latency = LATENCY,
                                             .bandwidth = BUS,
                                             .shared_bytes = budgets[i].bytes,
                                             .shared_cycles = budgets[i].cycles};
            const double budget = (double)budgets[i].bytes / budgets[i].cycles;
            const double want = (reads && writes ? 2.0 : 1.0) * BUS, rate = budget < want ? budget : want;
            bench *b = open_with(&options);
            uint64_t r, w;
            flood(b, CYCLES, reads, writes, &r, &w);
            const double bytes = (double)((r + w) * BUS);
            assert_true(bytes <= rate * CYCLES + 2 * BUS);
            assert_true(bytes >= rate * (CYCLES - 2 * LATENCY) - 4 * BUS);
            if (reads && writes && budget < 2 * BUS) {
                assert_in_range(r, w > LATENCY ? w - LATENCY : 0, w + LATENCY);
            }
            close_bench(b);
        }
    }
}

/* Ports of one memory, the last of which may write while the others read, all without a pause. */
typedef struct several {
    bench *ports[VTA_AXI_PORTS];
    uint64_t moved[VTA_AXI_PORTS]; /* beats */
    uint32_t count;
    bool writes;
} several;

static bool is_writer(const several *all, uint32_t port)
{
    return all->writes && port + 1 == all->count;
}

static void open_several(several *all, const vta_axi_options *options)
{
    for (uint32_t p = 0; p < all->count; p++) {
        bench *b = calloc(1, sizeof *b);
        assert_non_null(b);
        const vta_bus bus = {map, b};
        b->mem = vta_axi_mem_create(options, &bus, p == 0 ? NULL : all->ports[0]->mem);
        assert_non_null(b->mem);
        b->s = vta_axi_mem_first(b->mem);
        b->m = (vta_axi_master){.wdata = b->wdata, .wstrb = 0xff, .rready = 1, .bready = 1};
        b->m.wvalid = b->m.wlast = is_writer(all, p);
        *(is_writer(all, p) ? &b->m.aw : &b->m.ar) = address(BASE, 1);
        all->ports[p] = b;
    }
}

/* Clocks all ports once; the port that was served longest ago comes first. */
static void tick_several(several *all)
{
    bench *turn[VTA_AXI_PORTS];
    for (uint32_t p = 0; p < all->count; p++) {
        bench *b = all->ports[p];
        uint32_t at = p;
        for (; at > 0 && vta_axi_mem_served(turn[at - 1]->mem) > vta_axi_mem_served(b->mem); at--) {
            turn[at] = turn[at - 1];
        }
        turn[at] = b;
        all->moved[p] += is_writer(all, p) ? b->s.wready : b->s.rvalid;
    }
    for (uint32_t p = 0; p < all->count; p++) {
        vta_axi_mem_take(turn[p]->mem, &turn[p]->m, &turn[p]->s);
    }
    vta_axi_mem_tick(all->ports[0]->mem);
    for (uint32_t p = 0; p < all->count; p++) {
        vta_axi_mem_drive(turn[p]->mem, &turn[p]->m, &turn[p]->s);
    }
}

/* Each port moves an equal share of what the memory has, or a beat a cycle where that is less; together they
 * move no more than that. */
static void check_shares(uint32_t count, uint32_t bytes_in_ten, bool writes)
{
    enum { CYCLES = 4000, STARTING = 20 };
    const vta_axi_options options = {
        .bus_bytes = BUS, .latency = 5, .shared_bytes = bytes_in_ten, .shared_cycles = 10};
    several all = {.count = count, .writes = writes};
    open_several(&all, &options);
    for (uint32_t c = 0; c < CYCLES; c++) {
        tick_several(&all);
    }
    const uint64_t whole = (uint64_t)CYCLES * bytes_in_ten / 10 / BUS;
    const uint64_t one = whole / count < CYCLES ? whole / count : CYCLES;
    uint64_t sum = 0;
    for (uint32_t p = 0; p < count; p++) {
        assert_in_range(all.moved[p], one - one / 50 - STARTING, one + one / 50 + STARTING);
        sum += all.moved[p];
        assert_clean(all.ports[p]);
        close_bench(all.ports[p]);
    }
    assert_in_range(sum, 1, whole + STARTING);
}

static void test_ports(void **state)
{
    (void)state;
    for (uint32_t count = 2; count <= VTA_AXI_PORTS; count++) {
        for (uint32_t bytes_in_ten = 20; bytes_in_ten <= 160; bytes_in_ten += 20) {
            check_shares(count, bytes_in_ten, false);
            check_shares(count, bytes_in_ten, true);
        }
    }
}

static void test_write_latency(void **state)
{
    (void)state;
    bench *b = open_bench(20, 0, 0, 0);
    uint8_t before[64], expect[64];
    memcpy(before, b->memory + 0x40, sizeof before);
    memcpy(expect, before, sizeof expect);
    send(b, &b->m.aw, &b->s.awready, BASE + 0x40, 3);
    send_beat(b, 0x11, 0xff, false);
    send_beat(b, 0x22, 0x3c, false);
    send_beat(b, 0x33, 0x01, true);
    memset(expect, 0x11, 8);
    memset(expect + 10, 0x22, 4);
    expect[16] = 0x33;
    const uint64_t last = b->cycle - 1;
    assert_memory_equal(b->memory + 0x40, before, sizeof before); /* not visible before the answer */
    uint64_t came = 0;
    assert_int_equal(take_response(b, &came), VTA_AXI_OKAY);
    assert_int_equal(came, last + 20);
    assert_memory_equal(b->memory + 0x40, expect, sizeof expect);
    assert_clean(b);
    close_bench(b);
}

/* A read that is sent before the answer to a write gets the old bytes, one that is sent after it the new
 * ones. */
static void test_read_before_answer(void **state)
{
    (void)state;
    bench *b = open_bench(10, 0, 0, 0);
    uint8_t old[BUS], data[BUS], last = 0, resp = 0;
    memcpy(old, b->memory + 0x200, BUS);
    send(b, &b->m.aw, &b->s.awready, BASE + 0x200, 1);
    send_beat(b, 0x77, 0xff, true);
    send(b, &b->m.ar, &b->s.arready, BASE + 0x200, 1);
    uint64_t came = 0;
    take_response(b, &came);
    take_beat(b, data, &last, &resp);
    assert_memory_equal(data, old, BUS);
    send(b, &b->m.ar, &b->s.arready, BASE + 0x200, 1);
    take_beat(b, data, &last, &resp);
    memset(old, 0x77, BUS);
    assert_memory_equal(data, old, BUS);
    close_bench(b);
}

static void test_outstanding(void **state)
{
    (void)state;
    bench *b = open_bench(1000, 0, 0, 0);
    for (uint32_t i = 0; i < VTA_AXI_BURSTS; i++) {
        assert_true(b->s.arready);
        send(b, &b->m.ar, &b->s.arready, BASE + 64 * i, 1 + i % 3);
    }
    assert_false(b->s.arready);
    for (uint32_t i = 0; i < VTA_AXI_BURSTS; i++) {
        for (uint32_t beat = 0; beat <= i % 3; beat++) {
            uint8_t data[BUS], last = 0, resp = 0;
            take_beat(b, data, &last, &resp);
            assert_memory_equal(data, b->memory + 64 * i + BUS * beat, BUS);
            assert_int_equal(last, beat == i % 3);
        }
    }
    assert_clean(b);
    close_bench(b);
}

static void test_unmapped(void **state)
{
    (void)state;
    bench *b = open_bench(4, 0, 0, 0);
    uint8_t data[BUS], last = 0, resp = 0;
    send(b, &b->m.ar, &b->s.arready, BASE + MEMORY, 2);
    take_beat(b, data, &last, &resp);
    assert_int_equal(resp, VTA_AXI_DECERR);
    assert_int_equal(last, 0);
    take_beat(b, data, &last, &resp);
    assert_int_equal(resp, VTA_AXI_DECERR);
    assert_int_equal(last, 1);

    uint8_t before[BUS];
    memcpy(before, b->memory + MEMORY - BUS, BUS);
    uint64_t came = 0;
    send(b, &b->m.aw, &b->s.awready, BASE + MEMORY - BUS, 2); /* half inside: refused as a whole */
    send_beat(b, 0x44, 0xff, false);
    send_beat(b, 0x44, 0xff, true);
    assert_int_equal(take_response(b, &came), VTA_AXI_DECERR);
    assert_memory_equal(b->memory + MEMORY - BUS, before, BUS);

    send(b, &b->m.aw, &b->s.awready, BASE + MEMORY - BUS, 2); /* only strobed bytes count */
    send_beat(b, 0x55, 0x81, false);
    send_beat(b, 0x55, 0x00, true);
    assert_int_equal(take_response(b, &came), VTA_AXI_OKAY);
    before[0] = before[7] = 0x55;
    assert_memory_equal(b->memory + MEMORY - BUS, before, BUS);
    assert_clean(b);
    close_bench(b);
}

/* A memory that ends within a beat. */
static void *map_short(void *context, uint64_t addr, uint64_t size)
{
    return addr + size > BASE + 0x103 ? NULL : map(context, addr, size);
}

static void test_partial_beat(void **state)
{
    (void)state;
    bench *b = open_bench(4, 0, 0, 0);
    const vta_bus bus = {map_short, b};
    uint8_t data[32];
    assert_true(vta_axi_copy_in(&bus, BUS, BASE + 0xf8, data, 16));
    assert_memory_equal(data, b->memory + 0xf8, 11);
    assert_int_equal(data[11] | data[15], 0);
    assert_false(vta_axi_copy_in(&bus, BUS, BASE + 0xf8, data, 24));
    const uint64_t inside[] = {0xff, 0x07}, outside[] = {0xff, 0x0f};
    uint8_t before[32];
    memcpy(before, b->memory + 0xf8, sizeof before);
    memset(data, 0xee, sizeof data);
    assert_false(vta_axi_copy_out(&bus, BUS, BASE + 0xf8, data, 16, outside));
    assert_memory_equal(b->memory + 0xf8, before, sizeof before);
    assert_true(vta_axi_copy_out(&bus, BUS, BASE + 0xf8, data, 16, inside));
    memset(before, 0xee, 11);
    assert_memory_equal(b->memory + 0xf8, before, sizeof before);
    close_bench(b);
}

/* ---- random traffic */

static uint32_t next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (uint32_t)(*seed >> 16);
}

static void write_burst(bench *b, uint64_t *seed, uint8_t *model)
{
    const uint32_t beats = 1 + next(seed) % 16, slot = next(seed) % 8;
    send(b, &b->m.aw, &b->s.awready, BASE + slot * 512, beats);
    for (uint32_t beat = 0; beat < beats; beat++) {
        const uint64_t strobe = next(seed) & 0xff;
        const uint8_t fill = (uint8_t)next(seed);
        send_beat(b, fill, strobe, beat + 1 == beats);
        for (uint32_t i = 0; i < BUS; i++) {
            if ((strobe >> i & 1) != 0) {
                model[slot * 512 + beat * BUS + i] = fill;
            }
        }
    }
    uint64_t came = 0;
    assert_int_equal(take_response(b, &came), VTA_AXI_OKAY);
}

static void read_burst(bench *b, uint64_t *seed, const uint8_t *model)
{
    const uint32_t beats = 1 + next(seed) % 16, slot = next(seed) % 8;
    send(b, &b->m.ar, &b->s.arready, BASE + slot * 512, beats);
    for (uint32_t beat = 0; beat < beats; beat++) {
        uint8_t data[BUS], last = 0, resp = 0;
        for (uint32_t wait = next(seed) % 4; wait > 0; wait--) {
            tick(b); /* not ready: the beat must stay */
        }
        take_beat(b, data, &last, &resp);
        assert_memory_equal(data, model + slot * 512 + beat * BUS, BUS);
        assert_int_equal(last, beat + 1 == beats);
    }
}

/* The address waits for its data in some bursts: send_beat alone would wait for ever, so the data is offered
 * with the address. */
static void write_together(bench *b, uint8_t fill, uint8_t *model)
{
    b->m.aw = address(BASE, 1);
    memset(b->wdata, fill, BUS);
    b->m.wvalid = b->m.wlast = 1;
    b->m.wstrb = 0xff;
    while (b->m.aw.valid || b->m.wvalid) {
        const bool a = b->m.aw.valid && b->s.awready, w = b->m.wvalid && b->s.wready;
        tick(b);
        b->m.aw.valid = b->m.aw.valid && !a;
        b->m.wvalid = b->m.wvalid && !w;
        assert_in_range(b->cycle, 0, 1000000);
    }
    uint64_t came = 0;
    assert_int_equal(take_response(b, &came), VTA_AXI_OKAY);
    memset(model, fill, BUS);
}

static void test_stalls(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        print_message("seed %u\n", (unsigned)seed);
        bench *b = open_bench(7, 5, 40, seed);
        static uint8_t model[4096];
        memcpy(model, b->memory, sizeof model);
        uint64_t random = seed * 77777;
        uint32_t held = 0;
        for (uint32_t i = 0; i < 300; i++) {
            write_together(b, (uint8_t)i, model);
            read_burst(b, &random, model);
            held += (b->s.arready ? 0U : 1U) + (b->s.awready ? 0U : 1U);
            b->cycle = 0;
        }
        assert_in_range(held, 100, 500); /* two channels, 40 percent of 300 */
        assert_memory_equal(b->memory, model, sizeof model);
        assert_clean(b);
        close_bench(b);
    }
}

/* With back-pressure some addresses are not taken before their data is offered: a master that waits for
 * AWREADY would hang. */
static void test_address_waits_for_data(void **state)
{
    (void)state;
    static uint8_t model[BUS];
    bench *b = open_bench(2, 0, 10, 5);
    uint32_t waited = 0;
    for (uint32_t i = 0; i < 100; i++) {
        b->m.aw = address(BASE, 1);
        for (uint32_t wait = 0; wait < 40 && b->m.aw.valid; wait++) {
            const bool a = b->s.awready;
            tick(b);
            b->m.aw.valid = !a;
        }
        waited += b->m.aw.valid;
        if (b->m.aw.valid) {
            write_together(b, (uint8_t)i, model);
        } else {
            uint64_t came = 0;
            send_beat(b, (uint8_t)i, 0xff, true);
            assert_int_equal(take_response(b, &came), VTA_AXI_OKAY);
        }
        b->cycle = 0;
    }
    assert_in_range(waited, 10, 40); /* a quarter */
    assert_clean(b);
    close_bench(b);
}

static void test_random_contents(void **state)
{
    (void)state;
    bench *b = open_bench(3, 0, 0, 9);
    static uint8_t model[4096];
    memcpy(model, b->memory, sizeof model);
    uint64_t random = 4711;
    for (uint32_t i = 0; i < 500; i++) {
        write_burst(b, &random, model);
        read_burst(b, &random, model);
        b->cycle = 0;
    }
    assert_memory_equal(b->memory, model, sizeof model);
    assert_clean(b);
    close_bench(b);
}

/* -- rules
 * ------------------------------------------------------------------------------------------------------------
 */

/* Fills the 32 places, so that the next address waits. */
static bench *blocked(vta_axi_address *(*channel)(bench *))
{
    bench *b = open_bench(10000, 0, 0, 0);
    vta_axi_address *a = channel(b);
    for (uint32_t i = 0; i < VTA_AXI_BURSTS; i++) {
        *a = address(BASE, 1);
        tick(b);
    }
    *a = address(BASE + 64, 4);
    tick(b);
    return b;
}

static vta_axi_address *read_channel(bench *b)
{
    return &b->m.ar;
}
static vta_axi_address *write_channel(bench *b)
{
    return &b->m.aw;
}

static void test_address_stability(void **state)
{
    (void)state;
    bench *b = blocked(read_channel);
    assert_clean(b);
    tick(b);
    assert_clean(b);
    b->m.ar.addr += 8;
    tick(b);
    assert_broken(b, "AR changed while it waited: address 0x10040 length 4 became 0x10048 length 4");
    close_bench(b);

    b = blocked(write_channel);
    b->m.aw.len = 1;
    tick(b);
    assert_broken(b, "AW changed while it waited: address 0x10040 length 4 became 0x10040 length 2");
    close_bench(b);

    b = blocked(read_channel);
    b->m.ar.valid = 0;
    tick(b);
    assert_broken(b, "ARVALID was taken back before ARREADY");
    close_bench(b);

    b = blocked(write_channel);
    b->m.aw.valid = 0;
    tick(b);
    assert_broken(b, "AWVALID was taken back before AWREADY");
    close_bench(b);
}

static void test_data_stability(void **state)
{
    (void)state;
    static const char *const sentences[] = {"W changed while it waited", "W changed while it waited",
                                            "W changed while it waited",
                                            "WVALID was taken back before WREADY"};
    for (uint32_t kind = 0; kind < 4; kind++) {
        bench *b = open_bench(4, 0, 0, 0);
        b->m.wvalid = 1; /* no address yet: it waits */
        b->m.wstrb = 0xff;
        tick(b);
        tick(b);
        assert_clean(b);
        switch (kind) {
        case 0: b->wdata[5] ^= 1; break;
        case 1: b->m.wstrb = 0x7f; break;
        case 2: b->m.wlast = 1; break;
        default: b->m.wvalid = 0; break;
        }
        tick(b);
        assert_broken(b, sentences[kind]);
        close_bench(b);
    }
}

static void break_address(vta_axi_address a, bool write, const char *sentence)
{
    bench *b = open_bench(4, 0, 0, 0);
    *(write ? &b->m.aw : &b->m.ar) = a;
    tick(b);
    assert_broken(b, sentence);
    close_bench(b);
}

static void test_address_rules(void **state)
{
    (void)state;
    vta_axi_address a = address(BASE + 0xff8, 2);
    break_address(a, false, "the AR burst of 2 beats at 0x10ff8 crosses a 4 KiB border");
    break_address(a, true, "the AW burst of 2 beats at 0x10ff8 crosses a 4 KiB border");
    a = address(BASE + 0x801, 256);
    bench *b = open_bench(4, 0, 0, 0);
    b->m.ar = a;
    tick(b);
    assert_clean(b); /* the last byte of the page is its last byte */
    close_bench(b);
    a = address(BASE + 0x808, 256);
    break_address(a, false, "the AR burst of 256 beats at 0x10808 crosses a 4 KiB border");
    a = address(BASE, 1);
    a.size = 2;
    break_address(a, false, "ARSIZE is 2; beats must have the full width of the bus, 8 bytes");
    a.size = 4;
    break_address(a, true, "AWSIZE is 4; beats must have the full width of the bus, 8 bytes");
    a = address(BASE, 1);
    a.burst = 0;
    break_address(a, true, "AWBURST is 0; only incrementing bursts (1) are used here");
}

static void test_last(void **state)
{
    (void)state;
    bench *b = open_bench(4, 0, 0, 0);
    send(b, &b->m.aw, &b->s.awready, BASE, 3);
    send_beat(b, 1, 0xff, false);
    send_beat(b, 2, 0xff, true);
    assert_broken(b, "WLAST came with beat 2 of the 3 beats at 0x10000");
    close_bench(b);

    b = open_bench(4, 0, 0, 0);
    send(b, &b->m.aw, &b->s.awready, BASE + 8, 2);
    send_beat(b, 1, 0xff, false);
    send_beat(b, 2, 0xff, false);
    assert_broken(b, "WLAST is missing on the last of the 2 beats at 0x10008");
    close_bench(b);
}

static void test_strobes(void **state)
{
    (void)state;
    bench *b = open_bench(4, 0, 0, 0);
    send(b, &b->m.aw, &b->s.awready, BASE + 3, 1);
    send_beat(b, 1, 0xf8, true);
    assert_clean(b);
    send(b, &b->m.aw, &b->s.awready, BASE + 3, 1);
    send_beat(b, 1, 0xfc, true);
    assert_broken(b, "WSTRB 0xfc names bytes below the burst's address 0x10003");
    close_bench(b);

    b = open_bench(4, 0, 0, 0);
    b->m.wvalid = 1;
    b->m.wstrb = 0x1ff;
    tick(b);
    assert_broken(b, "WSTRB 0x1ff names bytes beyond the bus of 8 bytes");
    close_bench(b);
}

static void test_reset(void **state)
{
    (void)state;
    static const char *const sentences[] = {"ARVALID is high in reset", "AWVALID is high in reset",
                                            "WVALID is high in reset"};
    for (uint32_t kind = 0; kind < 3; kind++) {
        bench *b = open_bench(4, 0, 0, 0);
        b->m.reset = 1;
        tick(b);
        tick(b);
        b->m.ar.valid = kind == 0;
        b->m.aw.valid = kind == 1;
        b->m.wvalid = kind == 2;
        tick(b);
        assert_broken(b, sentences[kind]);
        close_bench(b);
    }
}

/* Only the first breach is kept. */
static void test_first_failure(void **state)
{
    (void)state;
    bench *b = open_bench(4, 0, 0, 0);
    b->m.ar = address(BASE, 1);
    b->m.ar.burst = 2;
    tick(b);
    b->m.ar.valid = 0;
    tick(b);
    b->m.aw = address(BASE, 1);
    b->m.aw.burst = 0;
    tick(b);
    assert_broken(b, "ARBURST is 2; only incrementing bursts (1) are used here");
    close_bench(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_latency),
        cmocka_unit_test(test_bandwidth),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_write_latency),
        cmocka_unit_test(test_read_before_answer),
        cmocka_unit_test(test_outstanding),
        cmocka_unit_test(test_unmapped),
        cmocka_unit_test(test_partial_beat),
        cmocka_unit_test(test_stalls),
        cmocka_unit_test(test_address_waits_for_data),
        cmocka_unit_test(test_random_contents),
        cmocka_unit_test(test_address_stability),
        cmocka_unit_test(test_data_stability),
        cmocka_unit_test(test_address_rules),
        cmocka_unit_test(test_last),
        cmocka_unit_test(test_strobes),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_first_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
