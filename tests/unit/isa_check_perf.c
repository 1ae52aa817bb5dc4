/* SPDX-License-Identifier: Apache-2.0
 *
 * The checker's speed: a million instructions of a tiled, double-buffered convolution network at pynq, layer
 * after layer through DRAM, in under two seconds of one core; half of them in about half the time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "vta/check.h"
#include "vta/hash.h"

/* Output tiles of 14 x 14 from input tiles of 16 x 16 with a 3 x 3 window; 64 tiles of 4 input blocks are a
 * layer. */
enum {
    SIDE = 14,
    TILE = SIDE * SIDE,
    WINDOW = 16 * 16,
    TAPS = 9,
    BLOCKS = 4,
    LAYER_TILES = 64,
    REGION = LAYER_TILES * TILE,
    PARAMS = 2000,
    PROGRAM = 0x10000000,
    DATA = 0x40000000,
    DATA_SIZE = 0x10000000,
    UOPS = 0x60000000,
    UOP_COUNT = 4 * TAPS + 2
};

typedef struct network {
    vta_config config;
    vta_launch launch;
    vta_bus bus;
    vta_word *insns;
    uint32_t room;
    uint32_t uops[UOP_COUNT];
    uint32_t loads, tiles, layer; /* since the last layer began; layers */
} network;

static void *network_map(void *context, uint64_t addr, uint64_t size)
{
    network *n = context;
    if (addr >= PROGRAM && addr + size <= PROGRAM + (uint64_t)n->room * VTA_INSN_BYTES) {
        return (uint8_t *)n->insns + (addr - PROGRAM);
    }
    if (addr >= UOPS && addr + size <= UOPS + sizeof n->uops) {
        return (uint8_t *)n->uops + (addr - UOPS);
    }
    return addr >= DATA && addr + size <= (uint64_t)DATA + DATA_SIZE ? n : NULL; /* never looked into */
}

static void add(network *n, vta_insn insn)
{
    assert_true(n->launch.insn_count < n->room);
    assert_int_equal(vta_insn_encode(&n->config, &insn, &n->insns[n->launch.insn_count++], NULL), VTA_OK);
}

static vta_insn load(vta_memory memory, int64_t sram, int64_t dram, int64_t rows, int64_t width,
                     int64_t stride)
{
    return (vta_insn){.opcode = VTA_OP_LOAD,
                      .mem = {.memory = memory,
                              .sram_base = sram,
                              .dram_base = dram,
                              .y_size = rows,
                              .x_size = width,
                              .x_stride = stride}};
}

static void micro_ops(network *n)
{
    uint32_t at = 0;
    for (uint32_t acc = 0; acc < 2; acc++) {
        for (uint32_t buffer = 0; buffer < 2; buffer++) {
            for (uint32_t tap = 0; tap < TAPS; tap++) {
                const vta_uop uop = {.dst = acc * TILE,
                                     .src = buffer * WINDOW + tap / 3 * 16 + tap % 3,
                                     .aux = buffer * TAPS + tap};
                assert_int_equal(vta_uop_encode(&n->config, &uop, &n->uops[at++], NULL), VTA_OK);
            }
        }
    }
    for (uint32_t acc = 0; acc < 2; acc++) {
        const vta_uop uop = {.dst = acc * TILE, .src = acc * TILE, .aux = PARAMS / 2};
        assert_int_equal(vta_uop_encode(&n->config, &uop, &n->uops[at++], NULL), VTA_OK);
    }
    vta_insn insn = load(VTA_MEM_UOP, 0, 0, 1, UOP_COUNT, UOP_COUNT);
    insn.mem.segment = 1;
    add(n, insn);
}

/* One input block: two loads and a GEMM. */
static void block(network *n, uint32_t number)
{
    const uint32_t buffer = n->loads % 2;
    const int64_t from = (int64_t)(n->layer % 2 * REGION + (n->tiles * 7 + number) % LAYER_TILES * TILE);
    vta_insn inp = load(VTA_MEM_INP, buffer * WINDOW, from, SIDE, SIDE, SIDE);
    inp.mem.x_pad_0 = inp.mem.x_pad_1 = inp.mem.y_pad_0 = inp.mem.y_pad_1 = 1;
    inp.pop_next = n->loads >= 2;
    add(n, inp);
    vta_insn wgt =
        load(VTA_MEM_WGT, buffer * TAPS, 0x10000 + (n->tiles * BLOCKS + number) * TAPS, 1, TAPS, TAPS);
    wgt.push_next = 1;
    add(n, wgt);
    const int64_t begin = (n->tiles % 2 * 2 + buffer) * TAPS;
    add(n, (vta_insn){.opcode = VTA_OP_GEMM,
                      .pop_prev = 1,
                      .push_prev = 1,
                      .pop_next = number == 0 && n->tiles >= 2,
                      .gemm = {.init = number == 0,
                               .uop_begin = begin,
                               .uop_end = begin + TAPS,
                               .iter_out = SIDE,
                               .iter_in = SIDE,
                               .dst_out = SIDE,
                               .dst_in = 1,
                               .src_out = 16,
                               .src_in = 1}});
    n->loads++;
}

static void tile(network *n)
{
    for (uint32_t number = 0; number < BLOCKS; number++) {
        block(n, number);
    }
    const int64_t uop = 4 * TAPS + n->tiles % 2;
    add(n, load(VTA_MEM_ACC, PARAMS, 0x4000 + 2 * (int64_t)n->tiles, 1, 2, 2));
    add(n, (vta_insn){.opcode = VTA_OP_ALU,
                      .alu = {.uop_begin = uop,
                              .uop_end = uop + 1,
                              .iter_out = 1,
                              .iter_in = TILE,
                              .dst_in = 1,
                              .src_in = 1,
                              .alu_op = VTA_ALU_MAX,
                              .use_imm = 1}});
    add(n, (vta_insn){.opcode = VTA_OP_REQUANT,
                      .push_next = 1,
                      .requant = {.uop = uop,
                                  .iter_out = 1,
                                  .iter_in = TILE,
                                  .dst_in = 1,
                                  .src_in = 1,
                                  .low = -128,
                                  .high = 127}});
    vta_insn store = load(VTA_MEM_OUT, n->tiles % 2 * TILE, (n->layer + 1) % 2 * REGION + n->tiles * TILE,
                          SIDE, SIDE, SIDE);
    store.opcode = VTA_OP_STORE;
    store.pop_prev = store.push_prev = 1;
    add(n, store);
    n->tiles++;
}

/* All stores done, all loads of the next layer after them. */
static void end_layer(network *n)
{
    for (int i = 0; i < 2; i++) {
        vta_insn drain = load(VTA_MEM_UOP, 0, 0, 0, 0, 0);
        drain.pop_next = 1;
        drain.push_prev = i == 1;
        add(n, drain);
    }
    for (int i = 0; i < 3; i++) {
        vta_insn wait = load(VTA_MEM_INP, 0, 0, 0, 0, 0);
        wait.pop_next = 1;
        add(n, wait);
    }
    n->loads = n->tiles = 0;
    n->layer++;
}

static void build(network *n, uint32_t count)
{
    *n = (network){.room = count + 100};
    vta_config_default(&n->config);
    n->insns = calloc(n->room, sizeof *n->insns);
    assert_non_null(n->insns);
    n->bus = (vta_bus){network_map, n};
    n->launch.insn_addr = PROGRAM;
    n->launch.base[0] = DATA;
    n->launch.base[1] = UOPS;
    micro_ops(n);
    while (n->launch.insn_count < count || n->tiles != 0) {
        if (n->tiles == LAYER_TILES || (n->tiles >= 2 && n->launch.insn_count + 25 >= count)) {
            end_layer(n);
        } else {
            tile(n);
        }
        if (n->launch.insn_count + 25 >= count && n->tiles == 0) {
            break;
        }
    }
    add(n, (vta_insn){.opcode = VTA_OP_FINISH});
}

static double cpu_seconds(void)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Processor seconds of a fixed piece of work: FNV-1a over a table, then steps from entry to entry of it. */
static double yard_seconds(void)
{
    enum { ENTRIES = 1 << 16, ROUNDS = 64 };
    static uint32_t next[ENTRIES];
    const double begin = cpu_seconds();
    uint64_t hash = VTA_HASH_START;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < ENTRIES; i++) {
            next[i] = (i * UINT32_C(40503) + 13 * round + 1) % ENTRIES;
        }
        hash = vta_hash_bytes(hash, next, sizeof next);
        for (uint32_t i = 0, at = round; i < ENTRIES; i++) {
            at = next[at];
            hash ^= at;
        }
    }
    assert_int_not_equal(hash, 0); /* the work is needed */
    return cpu_seconds() - begin;
}

/* In yards: the best of three, each beside a yard, since what else runs on the machine lengthens both. */
static double check_cost(uint32_t count)
{
    static network n;
    double best = 0;
    build(&n, count);
    assert_in_range(n.launch.insn_count, count - 30, count + 100);
    for (int round = 0; round < 3; round++) {
        vta_diag diag = {0};
        const double before = yard_seconds();
        const double begin = cpu_seconds();
        if (vta_check(&n.config, &n.launch, &n.bus, NULL, &diag) != VTA_OK) {
            fail_msg("%s", diag.text);
        }
        const double seconds = cpu_seconds() - begin;
        const double yards = 2 * seconds / (before + yard_seconds());
        best = round == 0 || yards < best ? yards : best;
    }
    free(n.insns);
    print_message("%u instructions: %.2f yards\n", n.launch.insn_count, best);
    return best;
}

static void a_million_instructions(void **state)
{
    (void)state;
#ifdef NDEBUG
    const double limit = 20; /* yards */
#else
    const double limit = 60; /* without optimization, with sanitizers */
#endif
    const double half = check_cost(500000);
    const double whole = check_cost(1000000);
    print_message("twice the program takes %.2f times as long\n", whole / half);
    assert_true(whole < limit);
    assert_true(whole / half < 2.8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_million_instructions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
