/* SPDX-License-Identifier: Apache-2.0
 *
 * fsim: every error of ISA.md §11 that a simulator reports, with its unit and instruction, at 'tiny' in
 * strict simulation.
 */
#include "fsim_lab.h"

/* Writes 4 entries of everything and 8 micro-ops that name entry 0, so that what a test adds is the first
 * fault. */
static void prepare(lab *l)
{
    lab_load(l, VTA_MEM_INP, 0, 0, 4);
    lab_load(l, VTA_MEM_WGT, 0, 0, 4);
    lab_load(l, VTA_MEM_ACC, 0, 0, 4);
    for (uint32_t n = 0; n < 8; n++) {
        lab_uop(l, n, 0, 0, 0);
    }
    lab_load(l, VTA_MEM_UOP, 0, 0, 8);
}

/* Replaces the last instruction's words. */
static void patch(lab *l, uint32_t index, uint64_t set_low, uint64_t set_high)
{
    l->insns[index].w[0] |= set_low;
    l->insns[index].w[1] |= set_high;
}

static void reserved_opcode(void **state)
{
    lab *l = *state;
    (void)lab_add(l, lab_gemm(0, 0));
    const uint32_t at = lab_add(l, lab_gemm(0, 0));
    patch(l, at, 7, 0);
    LAB_FAILS(l, VTA_ERROR_OPCODE, VTA_UNIT_FETCH, at);
}

static void illegal_field(void **state)
{
    lab *l = *state;
    const uint32_t at = lab_add(l, lab_requant(0, 0, -1, 1));
    patch(l, at, UINT64_C(1) << 60, 0); /* no field there */
    LAB_FAILS(l, VTA_ERROR_FIELD, VTA_UNIT_FETCH, at);
}

static void illegal_flag(void **state)
{
    lab *l = *state;
    const uint32_t at = lab_add(l, lab_load_insn(VTA_MEM_INP, 0, 0, 0));
    patch(l, at, 1 << 3, 0); /* load has no unit before it */
    LAB_FAILS(l, VTA_ERROR_FIELD, VTA_UNIT_FETCH, at);
}

static void micro_op_range(void **state)
{
    const vta_insn bad[] = {lab_gemm(255, 257), lab_alu(VTA_ALU_ADD, 0, 257), lab_requant(256, 0, 0, 0),
                            lab_depthwise(0, 257, 1, 1)};
    lab *l = *state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        lab_clear(l);
        prepare(l);
        const uint32_t at = lab_add(l, bad[i]);
        LAB_FAILS(l, VTA_ERROR_UOP_RANGE, VTA_UNIT_COMPUTE, at);
    }
}

static void gemm_ranges(void **state)
{
    lab *l = *state;
    static const struct {
        vta_error error;
        uint32_t dst, src, wgt; /* inner factors; 5 passes */
    } rows[] = {
        {VTA_ERROR_ACC_RANGE, 32, 0, 0},
        {VTA_ERROR_INP_RANGE, 0, 64, 0},
        {VTA_ERROR_WGT_RANGE, 0, 0, 32},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lab_clear(l);
        prepare(l);
        vta_insn gemm = lab_gemm(0, 1);
        gemm.gemm.iter_in = 5;
        gemm.gemm.dst_in = rows[i].dst;
        gemm.gemm.src_in = rows[i].src;
        gemm.gemm.wgt_in = rows[i].wgt;
        uint32_t at = lab_add(l, gemm);
        LAB_FAILS(l, rows[i].error, VTA_UNIT_COMPUTE, at);
        lab_clear(l);
        prepare(l);
        gemm.gemm.iter_out = 5;
        gemm.gemm.iter_in = 1;
        gemm.gemm.dst_out = rows[i].dst;
        gemm.gemm.src_out = rows[i].src;
        gemm.gemm.wgt_out = rows[i].wgt;
        at = lab_add(l, gemm);
        LAB_FAILS(l, rows[i].error, VTA_UNIT_COMPUTE, at);
    }
}

/* The last entry is in range, the one after it is not: 4 passes against 5, by the ACC's 128 entries. */
static void alu_ranges(void **state)
{
    lab *l = *state;
    for (int64_t passes = 128; passes <= 129; passes++) {
        for (int operand = 0; operand < 2; operand++) {
            lab_clear(l);
            prepare(l);
            lab_load(l, VTA_MEM_ACC, 0, 0, 128);
            vta_insn alu = lab_alu(VTA_ALU_ADD, 0, 1);
            alu.alu.iter_out = passes;
            alu.alu.dst_out = operand == 0;
            alu.alu.src_out = operand == 1;
            const uint32_t at = lab_add(l, alu);
            if (passes == 128) {
                lab_ok(l);
            } else {
                LAB_FAILS(l, VTA_ERROR_ACC_RANGE, VTA_UNIT_COMPUTE, at);
            }
        }
    }
}

static void requant_ranges(void **state)
{
    lab *l = *state;
    static const struct {
        uint32_t dst, src, pair;
        vta_error error;
    } rows[] = {
        {127, 127, 63, VTA_ERROR_NONE},
        {127, 127, 64, VTA_ERROR_ACC_RANGE},
        {127, 128, 63, VTA_ERROR_ACC_RANGE},
        {0, 0, 1 << 16, VTA_ERROR_ACC_RANGE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lab_clear(l);
        lab_load(l, VTA_MEM_ACC, 0, 0, 128);
        lab_uop(l, 0, rows[i].dst, rows[i].src, rows[i].pair);
        lab_load(l, VTA_MEM_UOP, 0, 0, 1);
        const uint32_t at = lab_add(l, lab_requant(0, 0, -1, 1));
        if (rows[i].error == VTA_ERROR_NONE) {
            lab_ok(l);
        } else {
            LAB_FAILS(l, rows[i].error, VTA_UNIT_COMPUTE, at);
        }
    }
    lab_clear(l);
    lab_load(l, VTA_MEM_ACC, 0, 0, 128);
    lab_load(l, VTA_MEM_UOP, 0, 0, 1);
    lab_uop(l, 0, 0, 0, 0);
    vta_insn insn = lab_requant(0, 0, -1, 1);
    insn.requant.iter_in = 2;
    insn.requant.dst_in = 128;
    const uint32_t at = lab_add(l, insn);
    LAB_FAILS(l, VTA_ERROR_ACC_RANGE, VTA_UNIT_COMPUTE, at);
}

static void depthwise_ranges(void **state)
{
    lab *l = *state;
    static const struct {
        uint32_t dst, src, wgt;
        vta_error error;
    } rows[] = {
        {127, 250, 127, VTA_ERROR_NONE},
        {128 - 1, 251, 127, VTA_ERROR_INP_RANGE},
        {127, 255, 127, VTA_ERROR_INP_RANGE},
        {127, 250, 128, VTA_ERROR_WGT_RANGE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lab_clear(l);
        lab_load(l, VTA_MEM_INP, 0, 0, 256);
        lab_load(l, VTA_MEM_WGT, 0, 0, 128);
        lab_load(l, VTA_MEM_ACC, 0, 0, 128);
        lab_uop(l, 0, rows[i].dst, rows[i].src, rows[i].wgt);
        lab_load(l, VTA_MEM_UOP, 0, 0, 1);
        vta_insn insn = lab_depthwise(0, 1, 2, 2);
        insn.depthwise.row_step = 4;
        insn.depthwise.col_step = 1;
        const uint32_t at = lab_add(l, insn);
        if (rows[i].error == VTA_ERROR_NONE) {
            lab_ok(l);
        } else {
            LAB_FAILS(l, rows[i].error, VTA_UNIT_COMPUTE, at);
        }
    }
    lab_clear(l);
    prepare(l);
    vta_insn insn = lab_depthwise(0, 1, 1, 1);
    insn.depthwise.iter_out = 2;
    insn.depthwise.dst_out = 128;
    const uint32_t at = lab_add(l, insn);
    LAB_FAILS(l, VTA_ERROR_ACC_RANGE, VTA_UNIT_COMPUTE, at);
}

static void transfer_ranges(void **state)
{
    lab *l = *state;
    static const struct {
        vta_memory memory;
        uint32_t depth;
        vta_unit unit;
    } rows[] = {
        {VTA_MEM_UOP, 256, VTA_UNIT_COMPUTE},  {VTA_MEM_WGT, 128, VTA_UNIT_LOAD},
        {VTA_MEM_INP, 256, VTA_UNIT_LOAD},     {VTA_MEM_ACC, 128, VTA_UNIT_COMPUTE},
        {VTA_MEM_ACC8, 128, VTA_UNIT_COMPUTE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lab_clear(l);
        lab_load(l, rows[i].memory, rows[i].depth - 2, 0, 2);
        lab_ok(l);
        lab_clear(l);
        const uint32_t at = lab_add(l, lab_load_insn(rows[i].memory, rows[i].depth - 2, 0, 3));
        LAB_FAILS(l, VTA_ERROR_SRAM_RANGE, rows[i].unit, at);
        lab_clear(l);
        vta_insn pads = lab_load_insn(rows[i].memory, rows[i].depth - 2, 0, 1);
        pads.mem.x_pad_1 = 1;
        pads.mem.y_pad_1 = 1;
        (void)lab_add(l, pads);
        LAB_FAILS(l, VTA_ERROR_SRAM_RANGE, rows[i].unit, 0);
    }
    lab_clear(l);
    vta_insn store = lab_load_insn(VTA_MEM_OUT, 127, 0, 2);
    store.opcode = VTA_OP_STORE;
    (void)lab_add(l, store);
    LAB_FAILS(l, VTA_ERROR_SRAM_RANGE, VTA_UNIT_STORE, 0);
    lab_clear(l);
    store.mem.y_size = 16383;
    store.mem.x_size = 65535;
    (void)lab_add(l, store);
    LAB_FAILS(l, VTA_ERROR_SRAM_RANGE, VTA_UNIT_STORE, 0);
}

static void refused_reads(void **state)
{
    lab *l = *state;
    const uint32_t elements = LAB_SEGMENT / 16;
    lab_load(l, VTA_MEM_ACC, 0, elements - 1, 1);
    const uint32_t at = lab_add(l, lab_load_insn(VTA_MEM_ACC, 0, elements - 1, 2));
    LAB_FAILS(l, VTA_ERROR_READ_BUS, VTA_UNIT_COMPUTE, at);
    assert_int_equal(l->report.counters.acc_bytes, 16);
    lab_clear(l);
    vta_insn rows = lab_load_insn(VTA_MEM_INP, 0, 0, 1);
    rows.mem.y_size = 2;
    rows.mem.x_stride = LAB_SEGMENT / 4;
    (void)lab_add(l, rows);
    LAB_FAILS(l, VTA_ERROR_READ_BUS, VTA_UNIT_LOAD, 0);
    lab_clear(l);
    l->launch.base[VTA_MEM_WGT] = UINT64_MAX - 63;
    (void)lab_add(l, lab_load_insn(VTA_MEM_WGT, 0, 4, 1));
    LAB_FAILS(l, VTA_ERROR_READ_BUS, VTA_UNIT_LOAD, 0);
    lab_clear(l);
    (void)lab_add(l, lab_load_insn(VTA_MEM_WGT, 0, 0xffffffff, 128));
    LAB_FAILS(l, VTA_ERROR_READ_BUS, VTA_UNIT_LOAD, 0);
}

static void refused_writes(void **state)
{
    lab *l = *state;
    prepare(l);
    vta_insn reset = lab_gemm(0, 1);
    reset.gemm.reset = 1;
    (void)lab_add(l, reset);
    const uint32_t at = l->count + 1;
    lab_store(l, 0, LAB_SEGMENT / 4, 1);
    LAB_FAILS(l, VTA_ERROR_WRITE_BUS, VTA_UNIT_STORE, at);
    assert_int_equal(l->report.counters.out_bytes, 0);
    assert_int_equal(l->report.counters.store_insns, 0);
}

/* The program's last instructions lie beyond the memory; the ones before them run. */
static void refused_fetch(void **state)
{
    lab *l = *state;
    void *host = NULL;
    assert_int_equal(vta_dram_alloc_at(l->dram, 0x20000000, 64, &host, &l->diag), VTA_OK);
    lab_load(l, VTA_MEM_ACC, 0, 0, 4);
    (void)lab_add(l, lab_alu(VTA_ALU_ADD, 0, 0));
    (void)lab_add(l, lab_alu(VTA_ALU_ADD, 0, 0));
    (void)lab_add(l, lab_alu(VTA_ALU_ADD, 0, 0));
    memcpy(host, l->insns, 64);
    l->launch.insn_addr = 0x20000000;
    LAB_FAILS(l, VTA_ERROR_FETCH_BUS, VTA_UNIT_FETCH, 4);
    assert_int_equal(l->report.counters.acc_bytes, 64);
    assert_int_equal(l->report.counters.fetch_insns, 4);
    l->launch.insn_addr = UINT64_MAX - 63;
    l->launch.insn_count = 100;
    assert_int_equal(vta_fsim_run(l->fsim, &l->launch, &l->report, &l->diag), VTA_OK);
    assert_int_equal(l->report.error, VTA_ERROR_FETCH_BUS);
    assert_int_equal(l->report.insn, 0);
}

/* Runs exactly what is there. */
static vta_error run_as_is(lab *l)
{
    l->launch.insn_count = l->count;
    assert_int_equal(vta_fsim_run(l->fsim, &l->launch, &l->report, &l->diag), VTA_OK);
    return l->report.error;
}

static void no_finish(void **state)
{
    lab *l = *state;
    assert_int_equal(run_as_is(l), VTA_ERROR_NO_FINISH);
    (void)lab_add(l, lab_alu(VTA_ALU_ADD, 0, 0));
    (void)lab_add(l, lab_alu(VTA_ALU_ADD, 0, 0));
    assert_int_equal(run_as_is(l), VTA_ERROR_NO_FINISH);
    assert_int_equal(l->report.insn, 1);
    lab_clear(l);
    (void)lab_add(l, (vta_insn){.opcode = VTA_OP_FINISH});
    LAB_FAILS(l, VTA_ERROR_NO_FINISH, VTA_UNIT_FETCH, 0);
}

static void tokens_left(void **state)
{
    lab *l = *state;
    vta_insn load = lab_load_insn(VTA_MEM_INP, 0, 0, 0);
    load.push_next = 1;
    (void)lab_add(l, load);
    LAB_FAILS(l, VTA_ERROR_TOKENS_LEFT, VTA_UNIT_COMPUTE, 1);
    lab_clear(l);
    lab_ok(l); /* they do not survive their run */
    lab_clear(l);
    (void)lab_add(l, (vta_insn){.opcode = VTA_OP_FINISH, .push_next = 1});
    l->launch.insn_count = 1;
    assert_int_equal(vta_fsim_run(l->fsim, &l->launch, &l->report, &l->diag), VTA_OK);
    assert_int_equal(l->report.error, VTA_ERROR_TOKENS_LEFT);
}

/* Compute waits for load, which waits for compute; the oldest that waits is named. */
static void deadlock(void **state)
{
    lab *l = *state;
    (void)lab_add(l, lab_alu(VTA_ALU_ADD, 0, 0));
    vta_insn load = lab_load_insn(VTA_MEM_INP, 0, 0, 0);
    load.pop_next = 1;
    load.push_next = 1;
    (void)lab_add(l, load);
    vta_insn alu = lab_alu(VTA_ALU_ADD, 0, 0);
    alu.pop_prev = 1;
    alu.push_prev = 1;
    (void)lab_add(l, alu);
    LAB_FAILS(l, VTA_ERROR_DEADLOCK, VTA_UNIT_LOAD, 1);
}

static void deadlock_without_strictness(void **state)
{
    (void)state;
    lab l;
    lab_open(&l, "tiny", false, NULL);
    (void)lab_add(&l, lab_alu(VTA_ALU_ADD, 0, 0));
    vta_insn alu = lab_alu(VTA_ALU_ADD, 0, 0);
    alu.pop_next = 1;
    (void)lab_add(&l, alu);
    LAB_FAILS(&l, VTA_ERROR_WATCHDOG, VTA_UNIT_COMPUTE, 1);
    lab_close(&l);
}

/* 16 instructions can wait for compute; when the load that lets them go comes after them, one more is too
 * many. */
static void full_queue(void **state)
{
    lab *l = *state;
    for (uint32_t waiting = 16; waiting <= 17; waiting++) {
        lab_clear(l);
        for (uint32_t n = 0; n < waiting; n++) {
            vta_insn alu = lab_alu(VTA_ALU_ADD, 0, 0);
            alu.pop_prev = n == 0;
            (void)lab_add(l, alu);
        }
        vta_insn load = lab_load_insn(VTA_MEM_INP, 0, 0, 0);
        load.push_next = 1;
        (void)lab_add(l, load);
        if (waiting == 16) {
            lab_ok(l);
        } else {
            LAB_FAILS(l, VTA_ERROR_DEADLOCK, VTA_UNIT_COMPUTE, 0);
        }
    }
}

/* 255 tokens fit; the unit that gives one more waits with it, and so do the instructions behind it. */
static void full_tokens(void **state)
{
    static const struct {
        uint32_t loads;
        vta_error error;
    } rows[] = {
        {255, VTA_ERROR_NONE}, {256, VTA_ERROR_NONE}, {260, VTA_ERROR_NONE}, {300, VTA_ERROR_DEADLOCK}};
    lab *l = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lab_clear(l);
        vta_insn load = lab_load_insn(VTA_MEM_INP, 0, 0, 0);
        load.push_next = 1;
        for (uint32_t n = 0; n < rows[i].loads; n++) {
            (void)lab_add(l, load);
        }
        vta_insn alu = lab_alu(VTA_ALU_ADD, 0, 0);
        alu.pop_prev = 1;
        for (uint32_t n = 0; n < rows[i].loads; n++) {
            (void)lab_add(l, alu);
        }
        if (rows[i].error == VTA_ERROR_NONE) {
            lab_ok(l);
        } else {
            LAB_FAILS(l, rows[i].error, VTA_UNIT_LOAD, 255);
        }
    }
}

/* Strict simulation: each operand in turn names an entry that was not written. */
static void unwritten_operands(void **state)
{
    lab *l = *state;
    vta_insn insns[10];
    for (int i = 0; i < 10; i++) {
        insns[i] = i < 4 ? lab_gemm(8, 9) : i < 6 ? lab_alu(VTA_ALU_ADD, 8, 9) : lab_requant(8, 0, -1, 1);
    }
    insns[7] = lab_depthwise(8, 9, 1, 1);
    insns[8] = lab_depthwise(8, 9, 1, 1);
    insns[9] = lab_depthwise(8, 9, 2, 1); /* the second tap */
    insns[9].depthwise.col_step = 4;
    static const uint32_t uops[10][3] = {{9, 0, 0}, {0, 9, 0}, {0, 0, 9}, {0, 0, 0}, {9, 0, 0},
                                         {0, 9, 0}, {0, 0, 9}, {0, 9, 0}, {0, 0, 9}, {0, 0, 0}};
    for (int i = 0; i < 10; i++) {
        lab_clear(l);
        prepare(l);
        lab_uop(l, 8, uops[i][0], uops[i][1], uops[i][2]);
        if (i != 3) { /* 3: the micro-op itself */
            lab_load(l, VTA_MEM_UOP, 8, 8, 1);
        }
        const uint32_t at = lab_add(l, insns[i]);
        LAB_FAILS(l, VTA_ERROR_UNWRITTEN, VTA_UNIT_COMPUTE, at);
    }
}

/* A load writes ACC, not OUT; what a run wrote does not count in the next. */
static void unwritten_out_and_old_runs(void **state)
{
    lab *l = *state;
    prepare(l);
    const uint32_t at = l->count + 1;
    lab_store(l, 0, 0, 1);
    LAB_FAILS(l, VTA_ERROR_UNWRITTEN, VTA_UNIT_STORE, at);
    lab_clear(l);
    (void)lab_add(l, lab_gemm(0, 1));
    LAB_FAILS(l, VTA_ERROR_UNWRITTEN, VTA_UNIT_COMPUTE, 0);
}

/* A step may read what an earlier step of the same instruction wrote, but not what a later one will. */
static void written_within_an_instruction(void **state)
{
    lab *l = *state;
    prepare(l);
    vta_insn move = lab_alu(VTA_ALU_MOV, 8, 9);
    move.alu.iter_in = 3;
    move.alu.dst_in = 1;
    move.alu.src_in = 1;
    lab_uop(l, 8, 4, 3, 0);
    lab_load(l, VTA_MEM_UOP, 8, 8, 1);
    (void)lab_add(l, move);
    lab_ok(l);
    lab_clear(l);
    prepare(l);
    lab_uop(l, 8, 3, 4, 0);
    lab_load(l, VTA_MEM_UOP, 8, 8, 1);
    const uint32_t at = lab_add(l, move);
    LAB_FAILS(l, VTA_ERROR_UNWRITTEN, VTA_UNIT_COMPUTE, at);
}

/* The error of an instruction is reported before those of instructions after it, though they are fetched
 * first. */
static void earlier_errors_go_first(void **state)
{
    lab *l = *state;
    (void)lab_add(l, lab_load_insn(VTA_MEM_ACC, 128, 0, 1));
    const uint32_t at = lab_add(l, lab_gemm(0, 0));
    patch(l, at, 7, 0);
    LAB_FAILS(l, VTA_ERROR_SRAM_RANGE, VTA_UNIT_COMPUTE, 0);
}

/* A program of micro-op 8 and one instruction after `prepare`; returns the index of the instruction. */
static uint32_t run_last(lab *l, vta_uop uop, vta_insn insn)
{
    lab_clear(l);
    prepare(l);
    lab_uop(l, 8, uop.dst, uop.src, uop.aux);
    lab_load(l, VTA_MEM_UOP, 8, 8, 1);
    return lab_add(l, insn);
}

/* Functions on rows read src; those that join two lanes read dst, too. */
static void rows_read_their_operands(void **state)
{
    lab *l = *state;
    for (uint32_t function = 0; function < VTA_ROW_COUNT; function++) {
        const vta_insn insn =
            lab_alu_src(VTA_ALU_ROW, 8, 9, (int32_t)vta_row_imm((vta_row){.function = function}));
        uint32_t at = run_last(l, (vta_uop){.dst = 9}, insn);
        if (function == VTA_ROW_MIN || function == VTA_ROW_MAX || function == VTA_ROW_ADD) {
            LAB_FAILS(l, VTA_ERROR_UNWRITTEN, VTA_UNIT_COMPUTE, at);
        } else {
            lab_ok(l);
        }
        at = run_last(l, (vta_uop){.dst = 1, .src = 9}, insn);
        LAB_FAILS(l, VTA_ERROR_UNWRITTEN, VTA_UNIT_COMPUTE, at);
    }
}

/* Records 1 to 3 lie in entries 2 to 7, of which 4 to 7 are not written before. */
static void records_by_row(void **state)
{
    lab *l = *state;
    vta_insn insn = lab_requant(8, 0, -1, 1);
    insn.requant.by_row = 1;
    insn.requant.iter_out = 3;
    insn.requant.iter_in = 2;
    insn.requant.dst_in = 1;
    uint32_t at = run_last(l, (vta_uop){.dst = 20, .aux = 1}, insn);
    LAB_FAILS(l, VTA_ERROR_UNWRITTEN, VTA_UNIT_COMPUTE, at);
    insn.requant.dst_out = 2; /* each pass writes the record of the next one */
    (void)run_last(l, (vta_uop){.dst = 4, .aux = 1}, insn);
    lab_ok(l);
    at = run_last(l, (vta_uop){.dst = 6, .aux = 1}, insn);
    LAB_FAILS(l, VTA_ERROR_UNWRITTEN, VTA_UNIT_COMPUTE, at);
    insn.requant.dst_out = 0;
    at = run_last(l, (vta_uop){.dst = 20, .aux = 62}, insn); /* ACC has 64 pairs */
    LAB_FAILS(l, VTA_ERROR_ACC_RANGE, VTA_UNIT_COMPUTE, at);
    insn.requant.wide = 1;
    at = run_last(l, (vta_uop){.dst = 20, .aux = 30}, insn); /* and 32 records of four */
    LAB_FAILS(l, VTA_ERROR_ACC_RANGE, VTA_UNIT_COMPUTE, at);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(reserved_opcode),
        cmocka_unit_test(illegal_field),
        cmocka_unit_test(illegal_flag),
        cmocka_unit_test(micro_op_range),
        cmocka_unit_test(gemm_ranges),
        cmocka_unit_test(alu_ranges),
        cmocka_unit_test(requant_ranges),
        cmocka_unit_test(depthwise_ranges),
        cmocka_unit_test(transfer_ranges),
        cmocka_unit_test(refused_reads),
        cmocka_unit_test(refused_writes),
        cmocka_unit_test(refused_fetch),
        cmocka_unit_test(no_finish),
        cmocka_unit_test(tokens_left),
        cmocka_unit_test(deadlock),
        cmocka_unit_test(deadlock_without_strictness),
        cmocka_unit_test(full_queue),
        cmocka_unit_test(full_tokens),
        cmocka_unit_test(unwritten_operands),
        cmocka_unit_test(unwritten_out_and_old_runs),
        cmocka_unit_test(written_within_an_instruction),
        cmocka_unit_test(earlier_errors_go_first),
    };
    static const struct CMUnitTest with_rows[] = {
        cmocka_unit_test(rows_read_their_operands),
        cmocka_unit_test(records_by_row),
    };
    static const char rows[] = "{\"LOG_BLOCK\": 2, \"LOG_ACC_BUFF_SIZE\": 11, \"LOG_INP_BUFF_SIZE\": 10,"
                               "\"LOG_WGT_BUFF_SIZE\": 11, \"LOG_UOP_BUFF_SIZE\": 10, \"ROWS\": 1}";
    return lab_main("tiny", tests, sizeof tests / sizeof tests[0]) +
           lab_main(rows, with_rows, sizeof with_rows / sizeof with_rows[0]);
}
