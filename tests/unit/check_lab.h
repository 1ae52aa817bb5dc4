/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs for the checker, put down one instruction at a time, and what it must say of them.
 */
#ifndef VTA_TEST_CHECK_LAB_H
#define VTA_TEST_CHECK_LAB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

static inline void *bench_map(void *context, uint64_t addr, uint64_t size)
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

static inline void start(bench *b, const char *config)
{
    memset(b, 0, sizeof *b);
    const bool text = config[0] == '{';
    assert_int_equal(text ? vta_config_parse(config, "x", &b->config, NULL)
                          : vta_config_load(config, &b->config, NULL),
                     VTA_OK);
    b->bus = (vta_bus){bench_map, b};
    b->launch.insn_addr = PROGRAM;
    b->launch.base[0] = DATA;
    b->launch.base[1] = UOPS;
    b->launch.base[2] = UINT64_MAX - 63;
    b->launch.base[3] = PROGRAM;
}

static inline uint32_t add(bench *b, vta_insn insn)
{
    vta_diag diag = {0};
    const uint32_t index = b->launch.insn_count++;
    assert_true(index < MAX_INSNS);
    if (vta_insn_encode(&b->config, &insn, &b->insns[index], &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    return index;
}

static inline void uop(bench *b, uint32_t dst, uint32_t src, uint32_t aux)
{
    const vta_uop fields = {.dst = dst, .src = src, .aux = aux};
    assert_int_equal(vta_uop_encode(&b->config, &fields, &b->uops[b->uop_count++], NULL), VTA_OK);
}

/* Token flags, to be or-ed. */
enum { POP_PREV = 1, POP_NEXT = 2, PUSH_PREV = 4, PUSH_NEXT = 8 };

static inline vta_insn flags(vta_insn insn, int tokens)
{
    insn.pop_prev = (tokens & POP_PREV) != 0;
    insn.pop_next = (tokens & POP_NEXT) != 0;
    insn.push_prev = (tokens & PUSH_PREV) != 0;
    insn.push_next = (tokens & PUSH_NEXT) != 0;
    return insn;
}

static inline vta_insn load(vta_memory memory, int64_t sram, int64_t dram, int64_t count)
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

static inline vta_insn store(int64_t sram, int64_t dram, int64_t count)
{
    vta_insn insn = load(VTA_MEM_OUT, sram, dram, count);
    insn.opcode = VTA_OP_STORE;
    return insn;
}

static inline vta_insn gemm(int64_t begin, int64_t end)
{
    return (vta_insn){.opcode = VTA_OP_GEMM,
                      .gemm = {.init = 1, .uop_begin = begin, .uop_end = end, .iter_out = 1, .iter_in = 1}};
}

static inline vta_insn reset(int64_t begin, int64_t end)
{
    vta_insn insn = gemm(begin, end);
    insn.gemm.init = 0;
    insn.gemm.reset = 1;
    return insn;
}

/* With an immediate: three addresses. */
static inline vta_insn alu(vta_alu_op op, int64_t begin, int64_t end, int use_imm, int64_t imm)
{
    return (vta_insn){.opcode = VTA_OP_ALU,
                      .alu = {.alu_op = op,
                              .uop_begin = begin,
                              .uop_end = end,
                              .iter_out = 1,
                              .iter_in = 1,
                              .use_imm = use_imm,
                              .from_src = use_imm,
                              .imm = imm}};
}

static inline vta_insn requant(int64_t at)
{
    return (vta_insn){.opcode = VTA_OP_REQUANT,
                      .requant = {.uop = at, .iter_out = 1, .iter_in = 1, .low = -128, .high = 127}};
}

static inline vta_insn depthwise(int64_t begin, int64_t end, int64_t taps_x, int64_t taps_y)
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
static inline void prologue(bench *b)
{
    add(b, load(VTA_MEM_UOP, 0, 0, b->uop_count));
    add(b, load(VTA_MEM_INP, 0, 0, 8));
    add(b, flags(load(VTA_MEM_WGT, 0, 0, 4), PUSH_NEXT));
}

static inline void expect_ok(bench *b)
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

static inline void expect(bench *b, vta_violation want, const char *message)
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

#endif
