/* SPDX-License-Identifier: Apache-2.0
 *
 * The checker: every violation it knows, provoked once, by code, place and sentence; and what it must let
 * through.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rng.h"
#include "seed.h"
#include "vta/check.h"

/* A device with three blocks of memory: the program, data (segment 0) and micro-ops (segment 1). Segment 2
 * lies near the end of all addresses, segment 3 is the program. */
enum { PROGRAM = 0x100000, DATA = 0x200000, UOPS = 0x300000, DATA_SIZE = 0x8000, MAX_INSNS = 4096 };

typedef struct bench {
    vta_config config;
    vta_launch launch;
    vta_bus bus;
    uint32_t uop_count;
    vta_word insns[MAX_INSNS];
    uint8_t data[DATA_SIZE];
    uint32_t uops[512];
} bench;

static void *bench_map(void *context, uint64_t addr, uint64_t size)
{
    bench *b = context;
    const struct {
        uint64_t addr, size;
        uint8_t *host;
    } blocks[] = {
        {PROGRAM, sizeof b->insns, (uint8_t *)b->insns},
        {DATA, sizeof b->data, b->data},
        {UOPS, sizeof b->uops, (uint8_t *)b->uops},
    };
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        const uint64_t offset = addr - blocks[i].addr;
        if (addr >= blocks[i].addr && offset <= blocks[i].size && size <= blocks[i].size - offset) {
            return blocks[i].host + offset;
        }
    }
    return NULL;
}

static void start(bench *b, const char *config)
{
    memset(b, 0, sizeof *b);
    assert_int_equal(vta_config_load(config, &b->config, NULL), VTA_OK);
    b->bus = (vta_bus){bench_map, b};
    b->launch.insn_addr = PROGRAM;
    b->launch.base[0] = DATA;
    b->launch.base[1] = UOPS;
    b->launch.base[2] = UINT64_MAX - 63;
    b->launch.base[3] = PROGRAM;
}

static uint32_t add(bench *b, vta_insn insn)
{
    vta_diag diag = {0};
    const uint32_t index = b->launch.insn_count++;
    assert_true(index < MAX_INSNS);
    if (vta_insn_encode(&b->config, &insn, &b->insns[index], &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    return index;
}

static void uop(bench *b, uint32_t dst, uint32_t src, uint32_t aux)
{
    const vta_uop fields = {.dst = dst, .src = src, .aux = aux};
    assert_int_equal(vta_uop_encode(&b->config, &fields, &b->uops[b->uop_count++], NULL), VTA_OK);
}

/* Token flags, to be or-ed. */
enum { POP_PREV = 1, POP_NEXT = 2, PUSH_PREV = 4, PUSH_NEXT = 8 };

static vta_insn flags(vta_insn insn, int tokens)
{
    insn.pop_prev = (tokens & POP_PREV) != 0;
    insn.pop_next = (tokens & POP_NEXT) != 0;
    insn.push_prev = (tokens & PUSH_PREV) != 0;
    insn.push_next = (tokens & PUSH_NEXT) != 0;
    return insn;
}

static vta_insn load(vta_memory memory, int64_t sram, int64_t dram, int64_t count)
{
    return (vta_insn){.opcode = VTA_OP_LOAD,
                      .mem = {.memory = memory,
                              .sram_base = sram,
                              .segment = memory == VTA_MEM_UOP,
                              .dram_base = dram,
                              .y_size = 1,
                              .x_size = count,
                              .x_stride = count}};
}

static vta_insn store(int64_t sram, int64_t dram, int64_t count)
{
    vta_insn insn = load(VTA_MEM_OUT, sram, dram, count);
    insn.opcode = VTA_OP_STORE;
    return insn;
}

static vta_insn gemm(int64_t begin, int64_t end)
{
    return (vta_insn){.opcode = VTA_OP_GEMM,
                      .gemm = {.init = 1, .uop_begin = begin, .uop_end = end, .iter_out = 1, .iter_in = 1}};
}

static vta_insn reset(int64_t begin, int64_t end)
{
    vta_insn insn = gemm(begin, end);
    insn.gemm.init = 0;
    insn.gemm.reset = 1;
    return insn;
}

static vta_insn alu(vta_alu_op op, int64_t begin, int64_t end, int use_imm, int64_t imm)
{
    return (vta_insn){.opcode = VTA_OP_ALU,
                      .alu = {.alu_op = op,
                              .uop_begin = begin,
                              .uop_end = end,
                              .iter_out = 1,
                              .iter_in = 1,
                              .use_imm = use_imm,
                              .imm = imm}};
}

static vta_insn requant(int64_t at)
{
    return (vta_insn){.opcode = VTA_OP_REQUANT,
                      .requant = {.uop = at, .iter_out = 1, .iter_in = 1, .low = -128, .high = 127}};
}

static vta_insn depthwise(int64_t begin, int64_t end, int64_t taps_x, int64_t taps_y)
{
    return (vta_insn){.opcode = VTA_OP_DEPTHWISE,
                      .depthwise = {.uop_begin = begin,
                                    .uop_end = end,
                                    .iter_out = 1,
                                    .iter_in = 1,
                                    .init = 1,
                                    .taps_x = taps_x,
                                    .taps_y = taps_y,
                                    .col_step = 1,
                                    .row_step = 4}};
}

static const vta_insn finish = {.opcode = VTA_OP_FINISH};

/* UOP loaded; INP 0-7 and WGT 0-3 loaded by load, with one token for compute. Three instructions. */
static void prologue(bench *b)
{
    add(b, load(VTA_MEM_UOP, 0, 0, b->uop_count));
    add(b, load(VTA_MEM_INP, 0, 0, 8));
    add(b, flags(load(VTA_MEM_WGT, 0, 0, 4), PUSH_NEXT));
}

static void expect_ok(bench *b)
{
    for (int round = 0; round < 2; round++) {
        vta_violation violation;
        vta_diag diag = {0};
        if (vta_check(&b->config, &b->launch, &b->bus, &violation, &diag) != VTA_OK) {
            fail_msg("%s", diag.text);
        }
        assert_int_equal(violation.error, VTA_ERROR_NONE);
    }
}

static void expect(bench *b, vta_violation want, const char *message)
{
    for (int round = 0; round < 2; round++) {
        vta_violation got;
        vta_diag diag = {0};
        assert_int_equal(vta_check(&b->config, &b->launch, &b->bus, &got, &diag), VTA_ILLEGAL_PROGRAM);
        assert_string_equal(diag.text, message);
        assert_int_equal(got.error, want.error);
        assert_int_equal(got.insn, want.insn);
        assert_string_equal(got.field, want.field);
        assert_int_equal(got.value, want.value);
        assert_int_equal(got.bound, want.bound);
        assert_int_equal(vta_check(&b->config, &b->launch, &b->bus, NULL, NULL), VTA_ILLEGAL_PROGRAM);
    }
}

static bench shared; /* too large for a stack */

static void whole_program_passes(void **state)
{
    (void)state;
    static const char *const configs[] = {"pynq", "tiny", "rect", "batch2", "ultra96", "wide"};
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        bench *b = &shared;
        start(b, configs[i]);
        uop(b, 0, 0, 0);
        uop(b, 0, 1, 1);
        uop(b, 4, 0, 2); /* parameter pair 2: acc 4 and 5 */
        add(b, load(VTA_MEM_UOP, 0, 0, 3));
        add(b, load(VTA_MEM_INP, 0, 0, 8));
        add(b, flags(load(VTA_MEM_WGT, 0, 0, 2), PUSH_NEXT));
        add(b, load(VTA_MEM_ACC, 4, 0, 2));
        add(b, flags(reset(0, 1), POP_PREV));
        add(b, gemm(0, 2));
        vta_insn again = gemm(0, 2);
        again.gemm.init = 0;
        add(b, again);
        add(b, alu(VTA_ALU_MAX, 0, 1, 1, 0));
        add(b, flags(requant(2), PUSH_NEXT));
        add(b, flags(store(4, 0x100, 1), POP_PREV | PUSH_PREV));
        add(b, flags(finish, POP_NEXT));
        expect_ok(b);
    }
}

static void encodings(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "pynq");
    add(b, load(VTA_MEM_INP, 0, 0, 1));
    b->insns[b->launch.insn_count++] = (vta_word){{7, 0}};
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_OPCODE, 1, "opcode", 7, 6},
           "instruction 1 (reserved): opcode 7 (limit: 6): the opcode is reserved");
    b->insns[1] = (vta_word){{4, UINT64_C(7) << 44}};
    expect(b, (vta_violation){VTA_ERROR_FIELD, 1, "alu_op", 7, 6},
           "instruction 1 (alu): alu_op 7 (limit: 6): the operation is reserved");
    b->insns[1] = (vta_word){{0 | 4 << 7, 0}};
    expect(b, (vta_violation){VTA_ERROR_FIELD, 1, "memory", 4, 5},
           "instruction 1 (load): memory 4 (limit: 5): nothing loads into out");
    start(b, "tiny");
    b->insns[b->launch.insn_count++] = (vta_word){{2 | UINT64_C(1) << 60, 0}};
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_FIELD, 0, "reserved bit", 60, 0},
           "instruction 0 (gemm): reserved bit 60 (limit: 0): bits that no field covers must be 0");
}

static void finish_is_last(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "pynq");
    expect(b, (vta_violation){VTA_ERROR_NO_FINISH, 0, "insn_count", 0, 1},
           "instruction 0 (missing): the program is empty, it must end with finish");
    add(b, load(VTA_MEM_INP, 0, 0, 1));
    expect(b, (vta_violation){VTA_ERROR_NO_FINISH, 0, "opcode", 0, 3},
           "instruction 0 (load): the last instruction must be finish");
    add(b, finish);
    expect_ok(b);
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_NO_FINISH, 1, "opcode", 1, 2},
           "instruction 1 (finish): 1 instructions come after it");
}

static void programs_outside_memory(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "pynq");
    add(b, finish);
    b->launch.insn_addr = PROGRAM - 64;
    expect(b, (vta_violation){VTA_ERROR_FETCH_BUS, 0, "insn_addr", PROGRAM - 64, 0},
           "instruction 0 (missing): there is no memory at 0xfffc0");
    b->launch.insn_addr = UINT64_MAX - 63;
    b->launch.insn_count = UINT32_MAX;
    expect(b, (vta_violation){VTA_ERROR_FETCH_BUS, 0, "insn_addr", -64, 0},
           "instruction 0 (missing): there is no memory at 0xffffffffffffffc0");

    start(b, "pynq");
    for (int i = 0; i < MAX_INSNS; i++) {
        add(b, load(VTA_MEM_INP, 0, 0, 0));
    }
    b->launch.insn_count = UINT32_MAX;
    expect(b, (vta_violation){VTA_ERROR_FETCH_BUS, MAX_INSNS, "insn_addr", PROGRAM, MAX_INSNS},
           "instruction 4096 (missing): the instruction is outside the memory given to the program");

    vta_diag diag = {0};
    b->launch.insn_addr = PROGRAM + 8;
    assert_int_equal(vta_check(&b->config, &b->launch, &b->bus, NULL, &diag), VTA_INVALID);
    assert_string_equal(diag.text, "instruction address 0x100008 is not a multiple of 64");
    diag = (vta_diag){0};
    b->launch.insn_addr = PROGRAM;
    b->launch.base[7] = 32;
    assert_int_equal(vta_check(&b->config, &b->launch, &b->bus, NULL, &diag), VTA_INVALID);
    assert_string_equal(diag.text, "base 0x20 of segment 7 is not a multiple of 64");
}

static void scratchpad_ranges(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "pynq");
    add(b, load(VTA_MEM_INP, 2040, 0, 8));
    add(b, finish);
    expect_ok(b);
    start(b, "pynq");
    add(b, load(VTA_MEM_INP, 2041, 0, 8));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_SRAM_RANGE, 0, "sram_base", 2049, 2048},
           "instruction 0 (load): sram_base 2041 and 1 rows of 8 end at 2049, beyond the depth of inp "
           "(limit: 2048)");
    start(b, "pynq");
    vta_insn padded = load(VTA_MEM_INP, 0, 0, 1);
    padded.mem.y_size = 13;
    padded.mem.x_stride = 1;
    padded.mem.x_pad_0 = padded.mem.x_pad_1 = padded.mem.y_pad_0 = 15;
    padded.mem.y_pad_1 = 15;
    add(b, padded);
    add(b, finish);
    expect_ok(b); /* 43 rows of 31: 1333 */
    padded.mem.sram_base = 716;
    start(b, "pynq");
    add(b, padded);
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_SRAM_RANGE, 0, "sram_base", 2049, 2048},
           "instruction 0 (load): sram_base 716 and 43 rows of 31 end at 2049, beyond the depth of inp "
           "(limit: 2048)");

    start(b, "pynq");
    vta_insn huge = load(VTA_MEM_WGT, 0, 0, 65535);
    huge.mem.y_size = 16383;
    huge.mem.x_stride = 65535;
    add(b, huge);
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_SRAM_RANGE, 0, "sram_base", INT64_C(16383) * 65535, 1024},
           "instruction 0 (load): sram_base 0 and 16383 rows of 65535 end at 1073659905, beyond the depth of "
           "wgt (limit: "
           "1024)");
}

static void dram_ranges(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "pynq");
    add(b, load(VTA_MEM_INP, 0, 0x7ff, 1));
    add(b, finish);
    expect_ok(b);
    start(b, "pynq");
    add(b, load(VTA_MEM_INP, 0, 0x7ff, 2));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_DRAM_RANGE, 0, "dram_base", DATA + 0x7ff0, 32},
           "instruction 0 (load): dram_base 2047 in segment 0: 32 bytes at 0x207ff0 are outside the memory "
           "given to the "
           "program");
    start(b, "pynq");
    vta_insn far = load(VTA_MEM_INP, 0, 0xffffffff, 1);
    far.mem.segment = 2;
    add(b, far);
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_DRAM_RANGE, 0, "dram_base", INT64_C(0xfffffffb0), 16},
           "instruction 0 (load): dram_base 4294967295 in segment 2: 16 bytes at 0xfffffffb0 are outside the "
           "memory given to "
           "the program");
    start(b, "pynq");
    vta_insn rows = load(VTA_MEM_INP, 0, 0, 1);
    rows.mem.y_size = 3;
    rows.mem.x_stride = 0x400;
    add(b, rows);
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_DRAM_RANGE, 0, "dram_base", DATA + 0x8000, 16},
           "instruction 0 (load): dram_base 0 in segment 0: 16 bytes at 0x208000 are outside the memory "
           "given to the program");
    rows.mem.y_size = 2;
    start(b, "pynq");
    add(b, rows);
    add(b, finish);
    expect_ok(b);
    /* Rows in two blocks: the bounding range is no one block, each row is. */
    rows.mem.x_stride = 0x10000;
    rows.mem.x_stride--;
    rows.mem.dram_base = 1;
    start(b, "pynq");
    add(b, rows);
    add(b, finish);
    expect_ok(b);
}

static void micro_op_ranges(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "tiny");
    uop(b, 0, 0, 0);
    prologue(b);
    add(b, flags(gemm(0, 257), POP_PREV));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UOP_RANGE, 3, "uop_end", 256, 255},
           "instruction 3 (gemm): uop_end: micro-op 256 is out of range (limit: 255)");
    start(b, "tiny");
    add(b, requant(4000));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UOP_RANGE, 0, "uop", 4000, 255},
           "instruction 0 (requant): uop: micro-op 4000 is out of range (limit: 255)");
    start(b, "tiny");
    vta_insn idle = requant(4000);
    idle.requant.iter_in = 0;
    add(b, idle);
    add(b, gemm(5, 5));
    add(b, gemm(6, 5));
    idle = gemm(0, 511);
    idle.gemm.iter_out = 0;
    add(b, idle);
    add(b, finish);
    expect_ok(b);
}

static void index_ranges(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "tiny");
    uop(b, 126, 0, 0);
    uop(b, 127, 250, 126);
    prologue(b);
    vta_insn insn = flags(reset(0, 2), POP_PREV);
    insn.gemm.iter_in = 2;
    insn.gemm.dst_in = 1;
    add(b, insn);
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_ACC_RANGE, 3, "dst", 128, 127},
           "instruction 3 (gemm): dst of micro-op 1 reaches 128, out of range of acc (limit: 127)");

    b->launch.insn_count = 3;
    insn = flags(gemm(1, 2), POP_PREV);
    insn.gemm.iter_out = 16383;
    insn.gemm.src_out = 255;
    add(b, insn);
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_INP_RANGE, 3, "src", 250 + 16382 * 255, 255},
           "instruction 3 (gemm): src of micro-op 1 reaches 4177660, out of range of inp (limit: 255)");

    b->launch.insn_count = 3;
    insn.gemm.src_out = 0;
    insn.gemm.iter_out = 3;
    insn.gemm.wgt_out = 1;
    add(b, insn);
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_WGT_RANGE, 3, "aux", 128, 127},
           "instruction 3 (gemm): aux of micro-op 1 reaches 128, out of range of wgt (limit: 127)");

    b->launch.insn_count = 3;
    add(b, flags(alu(VTA_ALU_ADD, 1, 2, 1, 1), POP_PREV));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_ACC_RANGE, 3, "src", 250, 127},
           "instruction 3 (alu): src of micro-op 1 reaches 250, out of range of acc (limit: 127)");

    start(b, "tiny");
    uop(b, 0, 0, 64);
    prologue(b);
    add(b, flags(requant(0), POP_PREV));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_ACC_RANGE, 3, "aux", 64, 63},
           "instruction 3 (requant): aux of micro-op 0 names parameter pair 64, out of range of acc (limit: "
           "63)");

    start(b, "tiny");
    uop(b, 0, 251, 0);
    prologue(b);
    add(b, flags(depthwise(0, 1, 2, 2), POP_PREV));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_INP_RANGE, 3, "src", 256, 255},
           "instruction 3 (depthwise): src of micro-op 0 reaches 256, out of range of inp (limit: 255)");

    /* What does not take part is not looked at: a reset's src and wgt, a window without taps. */
    start(b, "tiny");
    uop(b, 0, 255, 127);
    prologue(b);
    insn = flags(reset(0, 1), POP_PREV);
    insn.gemm.iter_in = 2;
    insn.gemm.src_in = insn.gemm.wgt_in = 1;
    add(b, insn);
    insn = depthwise(0, 1, 0, 3);
    insn.depthwise.iter_in = 2;
    insn.depthwise.src_in = 1;
    add(b, insn);
    add(b, finish);
    expect_ok(b);
}

static void unwritten_entries(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "tiny");
    uop(b, 3, 2, 1);
    uop(b, 3, 8, 1);
    uop(b, 3, 2, 4);
    add(b, load(VTA_MEM_UOP, 0, 0, 3));
    add(b, reset(2, 4));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UNWRITTEN, 1, "uop", 3, 0},
           "instruction 1 (gemm): uop entry 3 is read before anything was written to it");

    b->launch.insn_count = 0;
    prologue(b);
    add(b, flags(gemm(0, 2), POP_PREV));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UNWRITTEN, 3, "inp", 8, 0},
           "instruction 3 (gemm): inp entry 8 is read before anything was written to it");
    b->launch.insn_count = 3;
    add(b, flags(gemm(2, 3), POP_PREV));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UNWRITTEN, 3, "wgt", 4, 0},
           "instruction 3 (gemm): wgt entry 4 is read before anything was written to it");
    b->launch.insn_count = 3;
    vta_insn insn = flags(gemm(0, 1), POP_PREV);
    insn.gemm.init = 0;
    add(b, insn);
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UNWRITTEN, 3, "acc", 3, 0},
           "instruction 3 (gemm): acc entry 3 is read before anything was written to it");
    b->launch.insn_count = 3;
    add(b, flags(gemm(0, 1), POP_PREV | PUSH_NEXT));
    add(b, flags(store(3, 0x100, 2), POP_PREV));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UNWRITTEN, 4, "out", 4, 0},
           "instruction 4 (store): out entry 4 is read before anything was written to it");

    /* LOAD into ACC does not write OUT, and a requantization reads its parameters. */
    start(b, "tiny");
    uop(b, 3, 2, 2);
    add(b, load(VTA_MEM_UOP, 0, 0, 1));
    add(b, flags(load(VTA_MEM_ACC8, 0, 0, 5), PUSH_NEXT));
    add(b, flags(store(0, 0x100, 1), POP_PREV));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UNWRITTEN, 2, "out", 0, 0},
           "instruction 2 (store): out entry 0 is read before anything was written to it");
    b->launch.insn_count = 1;
    add(b, load(VTA_MEM_ACC8, 0, 0, 5));
    add(b, requant(0));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UNWRITTEN, 2, "acc", 5, 0},
           "instruction 2 (requant): acc entry 5 is read before anything was written to it");
}

/* Within one instruction the order of steps decides. */
static void reads_after_own_writes(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "tiny");
    uop(b, 0, 0, 0);
    uop(b, 5, 0, 0); /* reads what the first has written */
    uop(b, 6, 5, 0);
    uop(b, 7, 8, 0); /* reads what the next one writes */
    uop(b, 8, 0, 0);
    add(b, load(VTA_MEM_UOP, 0, 0, 5));
    add(b, load(VTA_MEM_ACC, 0, 0, 1));
    add(b, alu(VTA_ALU_ADD, 0, 3, 1, 1));
    add(b, finish);
    expect_ok(b);
    b->launch.insn_count = 3;
    add(b, alu(VTA_ALU_ADD, 3, 5, 1, 1));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UNWRITTEN, 3, "acc", 8, 0},
           "instruction 3 (alu): acc entry 8 is read before anything was written to it");

    /* A chain over the loops: acc[i + 1] = acc[i] + 1, upwards right, downwards wrong. */
    start(b, "tiny");
    uop(b, 1, 0, 0);
    uop(b, 0, 1, 0);
    add(b, load(VTA_MEM_UOP, 0, 0, 2));
    add(b, load(VTA_MEM_ACC, 0, 0, 1));
    vta_insn chain = alu(VTA_ALU_ADD, 0, 1, 1, 1);
    chain.alu.iter_out = 3;
    chain.alu.iter_in = 4;
    chain.alu.dst_out = chain.alu.src_out = 4;
    chain.alu.dst_in = chain.alu.src_in = 1;
    add(b, chain);
    add(b, finish);
    expect_ok(b);
    b->launch.insn_count = 1;
    add(b, load(VTA_MEM_ACC, 12, 0, 1));
    chain.alu.uop_begin = 1;
    chain.alu.uop_end = 2;
    add(b, chain);
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UNWRITTEN, 2, "acc", 1, 0},
           "instruction 2 (alu): acc entry 1 is read before anything was written to it");

    /* MOV does not look at what it overwrites, nor at src when it has an immediate. */
    start(b, "tiny");
    uop(b, 9, 0, 0);
    uop(b, 10, 11, 0);
    add(b, load(VTA_MEM_UOP, 0, 0, 2));
    add(b, load(VTA_MEM_ACC, 0, 0, 1));
    add(b, alu(VTA_ALU_MOV, 0, 1, 0, 0));
    add(b, alu(VTA_ALU_MOV, 1, 2, 1, 5));
    add(b, finish);
    expect_ok(b);
    b->launch.insn_count = 2;
    add(b, alu(VTA_ALU_ADD, 0, 1, 0, 0));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UNWRITTEN, 2, "acc", 9, 0},
           "instruction 2 (alu): acc entry 9 is read before anything was written to it");
}

static void unordered_scratchpads(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "tiny");
    uop(b, 3, 2, 1);
    add(b, load(VTA_MEM_UOP, 0, 0, 1));
    add(b, load(VTA_MEM_INP, 0, 0, 8));
    add(b, load(VTA_MEM_WGT, 0, 0, 4));
    add(b, gemm(0, 1));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UNORDERED, 3, "inp", 2, 1},
           "instruction 3 (gemm): it reads inp entry 2, which instruction 1 (load) writes, and no token "
           "orders them");

    b->launch.insn_count = 0;
    prologue(b);
    add(b, flags(gemm(0, 1), POP_PREV));
    add(b, load(VTA_MEM_WGT, 1, 0, 1));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UNORDERED, 4, "wgt", 1, 3},
           "instruction 4 (load): it writes wgt entry 1, which instruction 3 (gemm) reads, and no token "
           "orders them");
    b->launch.insn_count = 3;
    add(b, flags(gemm(0, 1), POP_PREV | PUSH_PREV));
    add(b, flags(load(VTA_MEM_WGT, 1, 0, 1), POP_NEXT));
    add(b, finish);
    expect_ok(b);

    b->launch.insn_count = 3;
    add(b, flags(gemm(0, 1), POP_PREV | PUSH_NEXT));
    add(b, flags(store(3, 0x100, 1), POP_PREV));
    add(b, gemm(0, 1));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UNORDERED, 5, "out", 3, 4},
           "instruction 5 (gemm): it writes out entry 3, which instruction 4 (store) reads, and no token "
           "orders them");
    b->launch.insn_count = 3;
    add(b, flags(gemm(0, 1), POP_PREV | PUSH_NEXT));
    add(b, flags(store(3, 0x100, 1), POP_PREV | PUSH_PREV));
    add(b, flags(gemm(0, 1), POP_NEXT));
    add(b, finish);
    expect_ok(b);
}

/* DRAM: a layer's results are loaded by the next one. */
static void unordered_dram(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "tiny");
    uop(b, 3, 2, 1);
    prologue(b);
    add(b, flags(gemm(0, 1), POP_PREV | PUSH_NEXT));
    add(b, flags(store(3, 0x100, 1), POP_PREV));
    add(b, load(VTA_MEM_INP, 100, 0xff, 3));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UNORDERED, 5, "dram", DATA + 0x400, 4},
           "instruction 5 (load): it reads DRAM at 0x200400, which instruction 4 (store) writes, and no "
           "token orders them");

    /* The chain goes through compute: store, compute, load. */
    b->launch.insn_count = 4;
    add(b, flags(store(3, 0x100, 1), POP_PREV | PUSH_PREV));
    add(b, flags(load(VTA_MEM_ACC8, 20, 0x100, 1), POP_NEXT | PUSH_PREV));
    add(b, flags(load(VTA_MEM_INP, 100, 0xff, 3), POP_NEXT));
    add(b, finish);
    expect_ok(b);
    b->launch.insn_count = 5;
    add(b, load(VTA_MEM_ACC8, 20, 0x100, 1));
    add(b, flags(finish, POP_NEXT));
    expect(b, (vta_violation){VTA_ERROR_UNORDERED, 5, "dram", DATA + 0x400, 4},
           "instruction 5 (load): it reads DRAM at 0x200400, which instruction 4 (store) writes, and no "
           "token orders them");

    /* A store over what another unit may still be loading; neighbours do not matter. */
    b->launch.insn_count = 4;
    add(b, flags(store(3, 8, 1), POP_PREV));
    add(b, finish);
    expect_ok(b);
    b->launch.insn_count = 4;
    add(b, load(VTA_MEM_INP, 50, 0x180, 16));
    add(b, flags(store(3, 0x18f, 1), POP_PREV));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UNORDERED, 5, "dram", DATA + 0x63c, 4},
           "instruction 5 (store): it writes DRAM at 0x20063c, which instruction 4 (load) reads, and no "
           "token orders them");
    b->launch.insn_count = 4;
    add(b, load(VTA_MEM_INP, 50, 0x180, 16));
    add(b, flags(store(3, 0x190, 1), POP_PREV));
    add(b, finish);
    expect_ok(b);
}

static void self_modification(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "tiny");
    uop(b, 3, 2, 1);
    prologue(b);
    add(b, flags(gemm(0, 1), POP_PREV | PUSH_NEXT));
    vta_insn over = flags(store(3, 0, 1), POP_PREV | PUSH_PREV);
    over.mem.segment = 3;
    add(b, over);
    add(b, flags(finish, POP_NEXT));
    expect(b, (vta_violation){VTA_ERROR_SELF_MODIFY, 4, "dram_base", PROGRAM, PROGRAM},
           "instruction 4 (store): 4 bytes at 0x100000 lie over the program itself, at 0x100000");
    b->launch.insn_count = 4;
    over.mem.segment = 1;
    add(b, over);
    add(b, flags(load(VTA_MEM_UOP, 0, 0, 1), POP_NEXT));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_SELF_MODIFY, 5, "dram_base", UOPS, 4},
           "instruction 5 (load): it loads micro-ops that instruction 4 (store) may have changed, so that "
           "they cannot be "
           "checked");
    /* Afterwards nobody minds. */
    b->launch.insn_count = 4;
    add(b, over);
    add(b, flags(finish, POP_NEXT));
    expect_ok(b);
}

static void left_over_tokens(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "pynq");
    add(b, flags(load(VTA_MEM_INP, 0, 0, 0), PUSH_NEXT));
    add(b, flags(load(VTA_MEM_INP, 0, 0, 0), PUSH_NEXT));
    add(b, flags(store(0, 0, 0), PUSH_PREV));
    add(b, flags(finish, POP_NEXT));
    expect(b, (vta_violation){VTA_ERROR_TOKENS_LEFT, 3, "tokens L2C", 2, 0},
           "instruction 3 (finish): 2 tokens are left over in L2C (limit: 0)");
    b->launch.insn_count = 0;
    add(b, flags(finish, PUSH_NEXT));
    expect(b, (vta_violation){VTA_ERROR_TOKENS_LEFT, 0, "tokens C2S", 1, 0},
           "instruction 0 (finish): 1 tokens are left over in C2S (limit: 0)");
}

static void deadlocks(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "pynq");
    add(b, flags(load(VTA_MEM_INP, 0, 0, 0), POP_NEXT | PUSH_NEXT));
    add(b, flags(load(VTA_MEM_UOP, 0, 0, 0), POP_PREV | PUSH_PREV | PUSH_NEXT));
    add(b, flags(store(0, 0, 0), POP_PREV | PUSH_PREV));
    add(b, flags(finish, POP_NEXT));
    expect(
        b, (vta_violation){VTA_ERROR_DEADLOCK, 0, "tokens C2L", 0, 1},
        "instruction 0 (load): deadlock: load waits for a token in C2L with instruction 0 (load), compute "
        "waits for a "
        "token in L2C with instruction 1 (load), store waits for a token in C2S with instruction 2 (store)");

    /* finish waits for load, which waits for finish. */
    start(b, "pynq");
    add(b, flags(load(VTA_MEM_INP, 0, 0, 0), POP_NEXT));
    add(b, flags(finish, PUSH_PREV));
    expect(b, (vta_violation){VTA_ERROR_DEADLOCK, 0, "tokens C2L", 0, 1},
           "instruction 0 (load): deadlock: load waits for a token in C2L with instruction 0 (load), compute "
           "waits with "
           "finish for the others to end");

    /* The token comes from an instruction behind the full queue: 16 places in tiny. */
    for (int loads = 16; loads <= 17; loads++) {
        start(b, "tiny");
        add(b, flags(load(VTA_MEM_INP, 0, 0, 0), POP_NEXT));
        for (int i = 1; i < loads; i++) {
            add(b, load(VTA_MEM_INP, 0, 0, 0));
        }
        add(b, flags(load(VTA_MEM_UOP, 0, 0, 0), PUSH_PREV));
        add(b, finish);
        if (loads == 16) {
            expect_ok(b);
        } else {
            expect(b, (vta_violation){VTA_ERROR_DEADLOCK, 0, "tokens C2L", 0, 1},
                   "instruction 0 (load): deadlock: load waits for a token in C2L with instruction 0 (load), "
                   "fetch waits for a "
                   "place before load with instruction 16");
        }
    }

    /* 255 tokens fit; the 256th waits for a taker that fetch has not reached. */
    for (int pushes = 255; pushes <= 256; pushes++) {
        start(b, "pynq");
        add(b, flags(store(0, 0, 0), POP_PREV));
        for (int i = 0; i < pushes; i++) {
            add(b, flags(load(VTA_MEM_INP, 0, 0, 0), PUSH_NEXT));
        }
        add(b, flags(load(VTA_MEM_INP, 0, 0, 0), POP_NEXT));
        add(b, flags(load(VTA_MEM_UOP, 0, 0, 0), POP_PREV | PUSH_NEXT));
        for (int i = 1; i < pushes; i++) {
            add(b, flags(load(VTA_MEM_UOP, 0, 0, 0), POP_PREV | (i == 1 ? PUSH_PREV : 0)));
        }
        add(b, finish);
        expect_ok(b);
    }
    start(b, "pynq");
    for (int i = 0; i < 256; i++) {
        add(b, flags(load(VTA_MEM_INP, 0, 0, 0), PUSH_NEXT));
    }
    add(b, flags(load(VTA_MEM_UOP, 0, 0, 0), POP_NEXT));
    add(b, flags(store(0, 0, 0), POP_PREV | PUSH_PREV));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_DEADLOCK, 255, "tokens L2C", 255, 255},
           "instruction 255 (load): deadlock: load waits for a place in L2C with instruction 255 (load), "
           "compute waits for a "
           "token in S2C with instruction 256 (load), store waits for a token in C2S with instruction 257 "
           "(store)");
}

/* The first violation is the one reported, whichever pass finds it. */
static void first_of_several(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "tiny");
    uop(b, 3, 2, 1);
    add(b, load(VTA_MEM_UOP, 0, 0, 1));
    add(b, gemm(0, 1));
    add(b, load(VTA_MEM_INP, 255, 0, 9));
    b->insns[b->launch.insn_count++] = (vta_word){{7, 0}};
    expect(b, (vta_violation){VTA_ERROR_UNWRITTEN, 1, "inp", 2, 0},
           "instruction 1 (gemm): inp entry 2 is read before anything was written to it");
    b->insns[1] = b->insns[0];
    expect(b, (vta_violation){VTA_ERROR_SRAM_RANGE, 2, "sram_base", 264, 256},
           "instruction 2 (load): sram_base 255 and 1 rows of 9 end at 264, beyond the depth of inp (limit: "
           "256)");
    b->insns[2] = b->insns[0];
    expect(b, (vta_violation){VTA_ERROR_OPCODE, 3, "opcode", 7, 6},
           "instruction 3 (reserved): opcode 7 (limit: 6): the opcode is reserved");
}

/* Micro-ops come from DRAM with pads and strides like everything else, and may change under one instruction.
 */
static void micro_ops_are_followed(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "tiny");
    for (int round = 0; round < 4; round++) {
        uop(b, 1, 2, 0);
        uop(b, 2, 255, 0);
    }
    prologue(b);
    vta_insn rows = load(VTA_MEM_UOP, 8, 0, 1); /* every second one: src 2, with zero micro-ops around */
    rows.mem.y_size = 4;
    rows.mem.x_stride = 2;
    rows.mem.x_pad_0 = 1;
    rows.mem.y_pad_1 = 1;
    add(b, rows);
    add(b, flags(gemm(8, 18), POP_PREV));
    add(b, gemm(0, 1));
    add(b, load(VTA_MEM_UOP, 0, 2, 1));
    add(b, gemm(0, 1));
    add(b, load(VTA_MEM_UOP, 0, 3, 1));
    add(b, gemm(0, 1));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UNWRITTEN, 9, "inp", 255, 0},
           "instruction 9 (gemm): inp entry 255 is read before anything was written to it");
}

/* Whatever the bits are, the checker comes back. */
static void random_programs_are_survived(void **state)
{
    (void)state;
    const uint64_t seed = test_seed("isa_check");
    static const char *const configs[] = {"tiny", "rect", "batch2", "pynq", "wide"};
    bench *b = &shared;
    uint32_t accepted = 0;
    for (uint32_t round = 0; round < 3000; round++) {
        rng r = rng_split(seed, round);
        start(b, configs[round % 5]);
        for (size_t i = 0; i < sizeof b->uops / sizeof b->uops[0]; i++) {
            b->uops[i] = (uint32_t)rng_next(&r) & (rng_percent(&r, 50) ? UINT32_MAX : 0x0c0303U);
        }
        add(b, load(VTA_MEM_UOP, 0, 0, 100));
        add(b, load(VTA_MEM_INP, 0, 0, 100));
        add(b, flags(load(VTA_MEM_WGT, 0, 0, 8), PUSH_NEXT));
        add(b, flags(load(VTA_MEM_UOP, 0, 0, 0), POP_PREV));
        const uint32_t count = 1 + rng_below(&r, 20);
        for (uint32_t i = 0; i < count; i++) {
            const vta_insn kinds[] = {gemm(rng_below(&r, 100), rng_below(&r, 120)),
                                      alu(VTA_ALU_ADD, 0, rng_below(&r, 8), 1, 3),
                                      requant(0),
                                      depthwise(0, 4, 1, 2),
                                      flags(load(VTA_MEM_INP, 0, rng_below(&r, 9), 9), 0),
                                      store(0, 0, 1)};
            add(b, kinds[rng_below(&r, 6)]);
            vta_word *last = &b->insns[b->launch.insn_count - 1];
            for (uint32_t flips = rng_percent(&r, 20) ? rng_below(&r, 4) : 0; flips > 0; flips--) {
                last->w[rng_below(&r, 2)] ^= UINT64_C(1) << rng_below(&r, 64);
            }
            if (rng_percent(&r, 1)) {
                *last = (vta_word){{rng_next(&r), rng_next(&r)}};
            }
        }
        add(b, finish);
        vta_diag diag = {0};
        const vta_status status = vta_check(&b->config, &b->launch, &b->bus, NULL, &diag);
        assert_true(status == VTA_OK || status == VTA_ILLEGAL_PROGRAM);
        assert_true((status == VTA_OK) == (diag.text[0] == '\0'));
        accepted += status == VTA_OK;
    }
    print_message("%u of 3000 accepted\n", accepted);
    assert_in_range(accepted, 20, 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_program_passes),
        cmocka_unit_test(encodings),
        cmocka_unit_test(finish_is_last),
        cmocka_unit_test(programs_outside_memory),
        cmocka_unit_test(scratchpad_ranges),
        cmocka_unit_test(dram_ranges),
        cmocka_unit_test(micro_op_ranges),
        cmocka_unit_test(index_ranges),
        cmocka_unit_test(unwritten_entries),
        cmocka_unit_test(reads_after_own_writes),
        cmocka_unit_test(unordered_scratchpads),
        cmocka_unit_test(unordered_dram),
        cmocka_unit_test(self_modification),
        cmocka_unit_test(left_over_tokens),
        cmocka_unit_test(deadlocks),
        cmocka_unit_test(first_of_several),
        cmocka_unit_test(micro_ops_are_followed),
        cmocka_unit_test(random_programs_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
