/* SPDX-License-Identifier: Apache-2.0
 *
 * The checker, instructions against each other: what was not written, not waited for, left over or stuck,
 * provoked once, by code, place and sentence; what it must let through; and that random programs do no harm.
 */
#include <stdio.h>

#include "check_lab.h"
#include "rng.h"
#include "seed.h"

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

/* A bench whose input tiles have two parts: four micro-ops loaded, ACC 0-7 loaded, INP 0-3 loaded if asked
 * for. Two instructions, or three. */
static void start_loop_back(bench *b, bool loaded)
{
    start(b,
          "{\"LOG_BLOCK_IN\": 3, \"LOG_BLOCK_OUT\": 2, \"LOG_UOP_BUFF_SIZE\": 10, \"LOG_INP_BUFF_SIZE\": 11,"
          " \"LOG_WGT_BUFF_SIZE\": 12, \"LOG_ACC_BUFF_SIZE\": 11}");
    uop(b, 2, 0, 2); /* INP 2 from ACC 0, parameters in ACC 4, 5; or ACC 2 from INP 0 */
    uop(b, 0, 2, 0); /* ACC 0 from INP 2 */
    add(b, load(VTA_MEM_UOP, 0, 0, 4));
    add(b, load(VTA_MEM_ACC, 0, 0, 8));
    if (loaded) {
        add(b, flags(load(VTA_MEM_INP, 0, 0, 4), PUSH_NEXT));
    }
}

static vta_insn to_inp(int64_t part)
{
    vta_insn insn = requant(0);
    insn.requant.to_inp = 1;
    insn.requant.part = part;
    return insn;
}

/* INP is written by two units, and in parts. */
static void loop_back_has_two_writers(void **state)
{
    (void)state;
    bench *b = &shared;
    start_loop_back(b, false);
    add(b, flags(load(VTA_MEM_WGT, 0, 0, 1), PUSH_NEXT));
    add(b, flags(to_inp(0), POP_PREV));
    add(b, gemm(1, 2));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UNWRITTEN, 4, "inp", 2, 0},
           "instruction 4 (gemm): inp entry 2 is read before anything was written to it");
    b->launch.insn_count = 4;
    add(b, to_inp(1));
    add(b, gemm(1, 2));
    add(b, finish);
    expect_ok(b);

    start_loop_back(b, true); /* nobody waits for the LOAD */
    add(b, to_inp(1));
    add(b, flags(reset(1, 2), POP_PREV));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UNORDERED, 3, "inp", 2, 2},
           "instruction 3 (requant): it writes inp entry 2, which instruction 2 (load) writes, and no token "
           "orders them");
    b->launch.insn_count = 2;
    add(b, flags(to_inp(0), PUSH_PREV)); /* the LOAD waits for it */
    add(b, flags(load(VTA_MEM_INP, 2, 0, 1), POP_NEXT));
    add(b, finish);
    expect_ok(b);
    b->launch.insn_count = 2;
    add(b, to_inp(0)); /* or does not */
    add(b, load(VTA_MEM_INP, 2, 0, 1));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UNORDERED, 3, "inp", 2, 2},
           "instruction 3 (load): it writes inp entry 2, which instruction 2 (requant) writes, and no token "
           "orders them");

    start_loop_back(b, true); /* a part of what was loaded; neither OUT nor ACC is written */
    add(b, flags(load(VTA_MEM_WGT, 0, 0, 1), PUSH_NEXT));
    add(b, flags(to_inp(1), POP_PREV));
    add(b, flags(gemm(1, 2), POP_PREV | PUSH_NEXT));
    add(b, flags(store(2, 0x100, 1), POP_PREV));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UNWRITTEN, 6, "out", 2, 0},
           "instruction 6 (store): out entry 2 is read before anything was written to it");
}

static void loop_back_ranges(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "tiny");
    uop(b, 120, 0, 2);
    add(b, load(VTA_MEM_UOP, 0, 0, 4));
    add(b, load(VTA_MEM_ACC, 0, 0, 8));
    vta_insn insn = to_inp(0);
    insn.requant.iter_in = 3;
    insn.requant.dst_in = 3;
    insn.requant.dst_high = 1; /* 248, 251, 254 of 256; ACC has 128 */
    add(b, insn);
    add(b, finish);
    expect_ok(b);
    b->launch.insn_count = 2;
    insn.requant.iter_in = 4;
    add(b, insn);
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_INP_RANGE, 2, "dst", 257, 255},
           "instruction 2 (requant): dst of micro-op 0 reaches 257, out of range of inp (limit: 255)");
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

    /* In place an immediate meets dst: src may name anything. With three addresses it is the other way round.
     */
    for (int from_src = 0; from_src < 2; from_src++) {
        vta_insn add_imm = alu(VTA_ALU_ADD, 0, 2, 1, 1);
        add_imm.alu.from_src = from_src;
        start(b, "tiny");
        uop(b, 0, 0, 0);
        uop(b, 1, 100, 0);
        add(b, load(VTA_MEM_UOP, 0, 0, 2));
        add(b, load(VTA_MEM_ACC, 0, 0, 2));
        add(b, add_imm);
        add(b, finish);
        if (from_src == 0) {
            expect_ok(b);
        } else {
            expect(b, (vta_violation){VTA_ERROR_UNWRITTEN, 2, "acc", 100, 0},
                   "instruction 2 (alu): acc entry 100 is read before anything was written to it");
        }
        start(b, "tiny");
        uop(b, 7, 0, 0);
        add(b, load(VTA_MEM_UOP, 0, 0, 1));
        add(b, load(VTA_MEM_ACC, 0, 0, 1));
        add_imm.alu.uop_end = 1;
        add_imm.alu.src_out = 1;
        add(b, add_imm);
        add(b, finish);
        if (from_src == 1) {
            expect_ok(b);
        } else {
            expect(b, (vta_violation){VTA_ERROR_UNWRITTEN, 2, "acc", 7, 0},
                   "instruction 2 (alu): acc entry 7 is read before anything was written to it");
        }
    }
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

/* Records 1 to 3 lie in entries 2 to 7, of which 4 to 7 are not written before: each pass writes the record
 * of the next one, or a later one. */
static void records_by_row_are_read_in_turn(void **state)
{
    (void)state;
    bench *b = &shared;
    for (uint32_t dst = 4; dst <= 6; dst += 2) {
        start(b, "{\"LOG_BLOCK\": 2, \"LOG_UOP_BUFF_SIZE\": 10, \"LOG_INP_BUFF_SIZE\": 10,"
                 " \"LOG_WGT_BUFF_SIZE\": 11, \"LOG_ACC_BUFF_SIZE\": 11, \"ROWS\": 1}");
        uop(b, dst, 0, 1);
        add(b, load(VTA_MEM_UOP, 0, 0, 1));
        add(b, load(VTA_MEM_ACC8, 0, 0, 4));
        vta_insn insn = requant(0);
        insn.requant.by_row = 1;
        insn.requant.iter_out = 3;
        insn.requant.iter_in = 2;
        insn.requant.dst_out = 2;
        insn.requant.dst_in = 1;
        add(b, insn);
        add(b, finish);
        if (dst == 4) {
            expect_ok(b);
        } else {
            expect(b, (vta_violation){VTA_ERROR_UNWRITTEN, 2, "acc", 4, 0},
                   "instruction 2 (requant): acc entry 4 is read before anything was written to it");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unwritten_entries),
        cmocka_unit_test(loop_back_has_two_writers),
        cmocka_unit_test(loop_back_ranges),
        cmocka_unit_test(reads_after_own_writes),
        cmocka_unit_test(records_by_row_are_read_in_turn),
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
