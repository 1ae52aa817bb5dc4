/* SPDX-License-Identifier: Apache-2.0
 *
 * fsim: LOAD and STORE (ISA.md §4), at 'tiny': entries of INP, ACC and OUT have four lanes, a WGT entry
 * sixteen.
 */
#include "fsim_lab.h"

#include "rng.h"
#include "seed.h"

/* Reads four lanes of an INP entry by multiplying it with the unit matrix, into ACC and OUT entry 0. */
static void show_input(lab *l, uint32_t entry)
{
    LAB_WRITE(l, VTA_MEM_WGT, 7, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1);
    lab_load(l, VTA_MEM_WGT, 7, 7, 1);
    lab_uop(l, 0, 0, entry, 7);
    lab_load(l, VTA_MEM_UOP, 0, 0, 1);
    vta_insn gemm = lab_gemm(0, 1);
    gemm.gemm.init = 1;
    (void)lab_add(l, gemm);
}

static void loads_accumulators(void **state)
{
    lab *l = *state;
    LAB_WRITE(l, VTA_MEM_ACC, 3, 1, -2, 2147483647, -2147483647 - 1, 5, 6, 7, 8);
    lab_load(l, VTA_MEM_ACC, 10, 3, 2);
    lab_ok(l);
    LAB_ACC(l, 10, 1, -2, 2147483647, -2147483647 - 1, 5, 6, 7, 8);
    assert_int_equal(l->report.counters.acc_bytes, 32);
}

static void sign_extends_acc8(void **state)
{
    lab *l = *state;
    LAB_WRITE(l, VTA_MEM_ACC8, 1, 127, -128, -1, 0, 1, 2, -3, 100);
    lab_load(l, VTA_MEM_ACC8, 127 - 1, 1, 2);
    lab_ok(l);
    LAB_ACC(l, 126, 127, -128, -1, 0, 1, 2, -3, 100);
    assert_int_equal(l->report.counters.acc_bytes, 8);
}

static void loads_inputs_and_weights(void **state)
{
    lab *l = *state;
    LAB_WRITE(l, VTA_MEM_INP, 2, 127, -128, -1, 3);
    LAB_WRITE(l, VTA_MEM_WGT, 1, 1, 0, 0, 0, 0, 2, 0, 0, 1, 1, 1, 1, -128, -128, -128, -128);
    lab_load(l, VTA_MEM_INP, 255, 2, 1);
    lab_load(l, VTA_MEM_WGT, 127, 1, 1);
    lab_uop(l, 0, 4, 255, 127);
    lab_load(l, VTA_MEM_UOP, 255, 0, 1);
    vta_insn gemm = lab_gemm(255, 256);
    gemm.gemm.init = 1;
    (void)lab_add(l, gemm);
    lab_ok(l);
    LAB_ACC(l, 4, 127, -256, 1, -128);
    LAB_OUT(l, 4, 127, 0, 1, -128);
    assert_int_equal(l->report.counters.inp_bytes, 4);
    assert_int_equal(l->report.counters.wgt_bytes, 16);
    assert_int_equal(l->report.counters.uop_bytes, 4);
}

/* A configuration with weights of four bits: random tiles between pads. */
static void extends_weights_of_four_bits(void **state)
{
    enum { TILES = 3, PAIRS = 8, TO = 5 };
    lab l;
    int8_t got[128][2 * PAIRS];
    rng r = rng_split(test_seed("fsim weights of four bits"), 0);
    lab_open(&l, VTA_TEST_CONFIGS "/wgt4.json", true, vta_fsim_kernel(((lab *)*state)->fsim));
    for (uint32_t i = 0; i < TILES * PAIRS; i++) {
        l.mem[VTA_MEM_WGT4][i] = (uint8_t)rng_below(&r, 256);
    }
    vta_insn insn = lab_load_insn(VTA_MEM_WGT4, TO, 0, TILES);
    insn.mem.x_pad_0 = insn.mem.x_pad_1 = 1;
    vta_insn_set_pad_value(&insn, -77);
    lab_transfer(&l, insn);
    lab_ok(&l);
    vta_fsim_scratchpad(l.fsim, VTA_MEM_WGT, got);
    for (uint32_t i = 0; i < 2 * PAIRS; i++) {
        assert_int_equal(got[TO][i], -77);
        assert_int_equal(got[TO + TILES + 1][i], -77);
        for (uint32_t t = 0; t < TILES; t++) {
            const int byte = l.mem[VTA_MEM_WGT4][t * PAIRS + i / 2];
            const int weight = i % 2 == 0 ? byte % 16 : byte / 16;
            assert_int_equal(got[TO + 1 + t][i], weight >= 8 ? weight - 16 : weight);
        }
    }
    assert_int_equal(l.report.counters.wgt_bytes, TILES * PAIRS);
    lab_close(&l);
}

/* Two rows of two entries out of rows of five: DRAM entries 1, 2, 6, 7. Pads 1 left, 2 right, 1 above, 3
 * below. */
static void pads_on_all_sides(void **state)
{
    lab *l = *state;
    for (int32_t e = 0; e < 10; e++) {
        LAB_WRITE(l, VTA_MEM_ACC, (uint32_t)e, 10 * e, 10 * e + 1, 10 * e + 2, 10 * e + 3);
    }
    vta_insn insn = lab_load_insn(VTA_MEM_ACC, 20, 1, 2);
    insn.mem.y_size = 2;
    insn.mem.x_stride = 5;
    insn.mem.x_pad_0 = 1;
    insn.mem.x_pad_1 = 2;
    insn.mem.y_pad_0 = 1;
    insn.mem.y_pad_1 = 3;
    vta_insn_set_pad_value(&insn, -7);
    lab_transfer(l, insn);
    lab_ok(l);
    for (uint32_t e = 0; e < 30; e++) {
        const bool middle = e == 6 || e == 7 || e == 11 || e == 12;
        if (!middle) {
            LAB_ACC(l, 20 + e, -7, -7, -7, -7);
        }
    }
    LAB_ACC(l, 26, 10, 11, 12, 13, 20, 21, 22, 23);
    LAB_ACC(l, 31, 60, 61, 62, 63, 70, 71, 72, 73);
    assert_int_equal(l->report.counters.acc_bytes, 64);
}

static void pads_by_fifteen(void **state)
{
    lab *l = *state;
    LAB_WRITE(l, VTA_MEM_ACC8, 0, 9, 8, 7, 6);
    vta_insn insn = lab_load_insn(VTA_MEM_ACC8, 1, 0, 1);
    insn.mem.x_pad_0 = 15;
    insn.mem.x_pad_1 = 15;
    insn.mem.y_pad_1 = 3;
    vta_insn_set_pad_value(&insn, 127);
    lab_transfer(l, insn);
    lab_ok(l);
    LAB_ACC(l, 15, 127, 127, 127, 127, 9, 8, 7, 6, 127, 127, 127, 127);
    LAB_ACC(l, 1, 127, 127, 127, 127);
    LAB_ACC(l, 124, 127, 127, 127, 127);
    LAB_ACC(l, 125, 0, 0, 0, 0);
}

static void pads_inputs(void **state)
{
    lab *l = *state;
    LAB_WRITE(l, VTA_MEM_INP, 0, 1, 2, 3, 4);
    vta_insn insn = lab_load_insn(VTA_MEM_INP, 0, 0, 1);
    insn.mem.x_pad_0 = 2;
    insn.mem.y_pad_1 = 1;
    vta_insn_set_pad_value(&insn, -128);
    lab_transfer(l, insn);
    show_input(l, 2);
    lab_ok(l);
    LAB_ACC(l, 0, 1, 2, 3, 4);
    lab_clear(l);
    lab_transfer(l, insn);
    show_input(l, 5);
    lab_ok(l);
    LAB_ACC(l, 0, -128, -128, -128, -128);
}

static void pads_weights(void **state)
{
    lab *l = *state;
    LAB_WRITE(l, VTA_MEM_INP, 0, 1, 2, 3, 4);
    lab_load(l, VTA_MEM_INP, 0, 0, 1);
    vta_insn insn = lab_load_insn(VTA_MEM_WGT, 0, 0, 1);
    insn.mem.x_pad_1 = 1;
    vta_insn_set_pad_value(&insn, -3);
    lab_transfer(l, insn);
    lab_uop(l, 0, 0, 0, 1);
    lab_load(l, VTA_MEM_UOP, 0, 0, 1);
    vta_insn gemm = lab_gemm(0, 1);
    gemm.gemm.init = 1;
    (void)lab_add(l, gemm);
    lab_ok(l);
    LAB_ACC(l, 0, -30, -30, -30, -30);
}

/* A padded micro-op is the word 0: dst 0, src 0, aux 0. */
static void pads_micro_ops(void **state)
{
    lab *l = *state;
    LAB_WRITE(l, VTA_MEM_ACC, 0, 1, 2, 3, 4);
    lab_load(l, VTA_MEM_ACC, 0, 0, 1);
    lab_uop(l, 0, 9, 9, 0);
    vta_insn insn = lab_load_insn(VTA_MEM_UOP, 4, 0, 1);
    insn.mem.x_pad_0 = 1;
    lab_transfer(l, insn);
    (void)lab_add(l, lab_alu_imm(VTA_ALU_ADD, 4, 5, 100));
    lab_ok(l);
    LAB_ACC(l, 0, 101, 102, 103, 104);
}

static void nothing_moves_without_columns(void **state)
{
    lab *l = *state;
    LAB_WRITE(l, VTA_MEM_ACC, 0, 1, 2, 3, 4);
    lab_load(l, VTA_MEM_ACC, 5, 0, 1);
    vta_insn insn = lab_load_insn(VTA_MEM_ACC, 8191, 0xffffffff, 0);
    insn.mem.x_pad_0 = 15;
    insn.mem.y_pad_0 = 15;
    insn.mem.y_size = 16383;
    (void)lab_add(l, insn);
    insn = (vta_insn){.opcode = VTA_OP_STORE};
    insn.mem.memory = VTA_MEM_OUT;
    insn.mem.sram_base = 8191;
    insn.mem.y_size = 16383;
    (void)lab_add(l, insn);
    lab_ok(l);
    LAB_ACC(l, 5, 1, 2, 3, 4);
    LAB_ACC(l, 4, 0, 0, 0, 0);
    assert_int_equal(l->report.counters.store_insns, 1);
    assert_int_equal(l->report.counters.out_bytes, 0);
}

/* y_size = 0: pad rows as wide as x_size says, and no DRAM is touched, not even a wrong address. */
static void pad_rows_alone(void **state)
{
    lab *l = *state;
    vta_insn insn = lab_load_insn(VTA_MEM_ACC, 3, 0xffffffff, 2);
    insn.mem.y_size = 0;
    insn.mem.x_pad_1 = 1;
    insn.mem.y_pad_0 = 1;
    insn.mem.y_pad_1 = 1;
    vta_insn_set_pad_value(&insn, 5);
    lab_transfer(l, insn);
    insn = lab_load_insn(VTA_MEM_OUT, 0, 0xffffffff, 2);
    insn.opcode = VTA_OP_STORE;
    insn.mem.y_size = 0;
    (void)lab_add(l, insn);
    lab_ok(l);
    LAB_ACC(l, 2, 0, 0, 0, 0);
    for (uint32_t e = 3; e < 9; e++) {
        LAB_ACC(l, e, 5, 5, 5, 5);
    }
    LAB_ACC(l, 9, 0, 0, 0, 0);
}

static void rows_may_overlap(void **state)
{
    lab *l = *state;
    LAB_WRITE(l, VTA_MEM_ACC8, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    vta_insn insn = lab_load_insn(VTA_MEM_ACC8, 0, 0, 2);
    insn.mem.y_size = 2;
    insn.mem.x_stride = 1;
    lab_transfer(l, insn);
    insn.mem.sram_base = 4;
    insn.mem.y_size = 3;
    insn.mem.x_size = 1;
    insn.mem.x_stride = 0;
    lab_transfer(l, insn);
    lab_ok(l);
    LAB_ACC(l, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3);
    LAB_ACC(l, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
}

/* Rows of two entries, three apart. */
static void stores_rows(void **state)
{
    lab *l = *state;
    memset(l->mem[VTA_MEM_OUT], 0x55, 64);
    LAB_WRITE(l, VTA_MEM_ACC, 0, 1, 2, 3, 4, 255, 256, 257, -1, -128, 128, 127, -129, 0, 0, 0, 0);
    lab_load(l, VTA_MEM_ACC, 8, 0, 4);
    lab_uop(l, 0, 8, 8, 0);
    lab_load(l, VTA_MEM_UOP, 0, 0, 1);
    vta_insn copy = lab_alu_imm(VTA_ALU_ADD, 0, 1, 0);
    copy.alu.iter_in = 4;
    copy.alu.dst_in = 1;
    copy.alu.src_in = 1;
    copy.push_next = 1;
    (void)lab_add(l, copy);
    vta_insn insn = lab_load_insn(VTA_MEM_OUT, 8, 1, 2);
    insn.opcode = VTA_OP_STORE;
    insn.pop_prev = 1;
    insn.mem.y_size = 2;
    insn.mem.x_stride = 3;
    (void)lab_add(l, insn);
    lab_ok(l);
    static const uint8_t expected[] = {0x55, 0x55, 0x55, 0x55, 1,    2,    3,    4, 0xff, 0, 1, 0xff, 0x55,
                                       0x55, 0x55, 0x55, 0x80, 0x80, 0x7f, 0x7f, 0, 0,    0, 0, 0x55, 0x55};
    assert_memory_equal(l->mem[VTA_MEM_OUT], expected, sizeof expected);
    assert_int_equal(l->report.counters.out_bytes, 16);
}

/* A row that lies in two neighbouring blocks of memory is one row for a bus. */
static void rows_cross_blocks(void **state)
{
    lab *l = *state;
    void *low = NULL;
    void *high = NULL;
    assert_int_equal(vta_dram_alloc_at(l->dram, 0x10000000, 64, &low, &l->diag), VTA_OK);
    assert_int_equal(vta_dram_alloc_at(l->dram, 0x10000040, 64, &high, &l->diag), VTA_OK);
    memset(low, 3, 64);
    memset(high, 4, 64);
    l->launch.base[VTA_MEM_ACC8] = 0x10000000;
    lab_load(l, VTA_MEM_ACC8, 0, 15, 2);
    lab_uop(l, 0, 0, 0, 0);
    lab_load(l, VTA_MEM_UOP, 0, 0, 1);
    vta_insn twice = lab_alu_imm(VTA_ALU_ADD, 0, 1, 5);
    twice.alu.iter_in = 2;
    twice.alu.dst_in = 1;
    twice.alu.src_in = 1;
    (void)lab_add(l, twice);
    l->launch.base[VTA_MEM_OUT] = 0x10000000;
    lab_store(l, 0, 15, 2);
    lab_ok(l);
    LAB_ACC(l, 0, 8, 8, 8, 8, 9, 9, 9, 9);
    assert_int_equal(((uint8_t *)low)[63], 8);
    assert_int_equal(((uint8_t *)high)[0], 9);
    assert_int_equal(((uint8_t *)high)[4], 4);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_accumulators),
        cmocka_unit_test(sign_extends_acc8),
        cmocka_unit_test(loads_inputs_and_weights),
        cmocka_unit_test(extends_weights_of_four_bits),
        cmocka_unit_test(pads_on_all_sides),
        cmocka_unit_test(pads_by_fifteen),
        cmocka_unit_test(pads_inputs),
        cmocka_unit_test(pads_weights),
        cmocka_unit_test(pads_micro_ops),
        cmocka_unit_test(nothing_moves_without_columns),
        cmocka_unit_test(pad_rows_alone),
        cmocka_unit_test(rows_may_overlap),
        cmocka_unit_test(stores_rows),
        cmocka_unit_test(rows_cross_blocks),
    };
    return lab_main("tiny", tests, sizeof tests / sizeof tests[0]);
}
