/* SPDX-License-Identifier: Apache-2.0
 *
 * fsim: GEMM, ALU, REQUANT, DEPTHWISE (ISA.md §5 to §8) with numbers that can be checked by hand. At 'tiny'
 * every vector has four lanes.
 */
#include <stdint.h>

#include "fsim_lab.h"

/* WGT entry `to` = scale · unit matrix. */
static void load_unit(lab *l, uint32_t to, int32_t scale)
{
    LAB_WRITE(l, VTA_MEM_WGT, to, scale, 0, 0, 0, 0, scale, 0, 0, 0, 0, scale, 0, 0, 0, 0, scale);
    lab_load(l, VTA_MEM_WGT, to, to, 1);
}

/* INP entries 0 … count-1: entry e has e in all lanes. */
static void load_ramp(lab *l, uint32_t count)
{
    for (uint32_t e = 0; e < count; e++) {
        const int32_t v = (int32_t)e;
        LAB_WRITE(l, VTA_MEM_INP, e, v, v, v, v);
    }
    lab_load(l, VTA_MEM_INP, 0, 0, count);
}

/* Micro-ops from DRAM 0 … count-1. */
static void load_uops(lab *l, uint32_t count)
{
    lab_load(l, VTA_MEM_UOP, 0, 0, count);
}

static vta_insn with_init(vta_insn gemm)
{
    gemm.gemm.init = 1;
    return gemm;
}

static vta_insn with_loops(vta_insn gemm, uint32_t out, uint32_t in)
{
    gemm.gemm.iter_out = out;
    gemm.gemm.iter_in = in;
    return gemm;
}

static void gemm_multiplies_and_adds(void **state)
{
    lab *l = *state;
    LAB_WRITE(l, VTA_MEM_INP, 0, 1, 2, 3, 4);
    LAB_WRITE(l, VTA_MEM_WGT, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 1, -1, 2, -3, 4);
    LAB_WRITE(l, VTA_MEM_ACC, 0, 100, 200, 300, -400);
    lab_load(l, VTA_MEM_INP, 6, 0, 1);
    lab_load(l, VTA_MEM_WGT, 5, 0, 1);
    lab_load(l, VTA_MEM_ACC, 7, 0, 1);
    lab_uop(l, 0, 7, 6, 5);
    load_uops(l, 1);
    (void)lab_add(l, lab_gemm(0, 1));
    lab_ok(l);
    LAB_ACC(l, 7, 101, 202, 310, -390);
    LAB_OUT(l, 7, 101, -54, 54, 122);
    assert_int_equal(l->report.counters.gemm_steps, 1);
}

/* The largest products, and a sum that wraps. */
static void gemm_extremes(void **state)
{
    lab *l = *state;
    LAB_WRITE(l, VTA_MEM_INP, 0, -128, -128, -128, -128);
    LAB_WRITE(l, VTA_MEM_WGT, 0, -128, -128, -128, -128, 127, 127, 127, 127, -128, 127, 0, 0, 0, 0, 0, -1);
    LAB_WRITE(l, VTA_MEM_ACC, 0, INT32_MAX, INT32_MIN, 0, INT32_MAX);
    lab_load(l, VTA_MEM_INP, 0, 0, 1);
    lab_load(l, VTA_MEM_WGT, 0, 0, 1);
    lab_load(l, VTA_MEM_ACC, 0, 0, 1);
    lab_uop(l, 0, 0, 0, 0);
    lab_uop(l, 1, 1, 0, 0);
    load_uops(l, 2);
    (void)lab_add(l, lab_gemm(0, 1));
    (void)lab_add(l, with_init(lab_gemm(1, 2)));
    lab_ok(l);
    LAB_ACC(l, 0, INT32_MIN + 65535, INT32_MAX - 65023, 128, INT32_MIN + 127);
    LAB_ACC(l, 1, 65536, -65024, 128, 128);
    LAB_OUT(l, 1, 0, 0, -128, -128);
}

/* dst = 3i + j, src = uop.src + 5i + 2j; weights 1 and 2: (5i + 2j) + 2 (10 + 5i + 2j). */
static void gemm_loops(void **state)
{
    lab *l = *state;
    load_ramp(l, 20);
    load_unit(l, 0, 1);
    load_unit(l, 1, 2);
    lab_uop(l, 0, 0, 0, 0);
    lab_uop(l, 1, 0, 10, 1);
    load_uops(l, 2);
    vta_insn gemm = with_init(with_loops(lab_gemm(0, 2), 2, 3));
    gemm.gemm.dst_out = 3;
    gemm.gemm.dst_in = 1;
    gemm.gemm.src_out = 5;
    gemm.gemm.src_in = 2;
    (void)lab_add(l, gemm);
    lab_ok(l);
    LAB_ACC(l, 0, 20, 20, 20, 20, 26, 26, 26, 26, 32, 32, 32, 32);
    LAB_ACC(l, 3, 35, 35, 35, 35, 41, 41, 41, 41, 47, 47, 47, 47);
    assert_int_equal(l->report.counters.gemm_steps, 12);
}

/* dst = i + j: each entry meets several passes, which add up. */
static void gemm_passes_overlap(void **state)
{
    lab *l = *state;
    load_ramp(l, 8);
    load_unit(l, 0, 1);
    lab_load(l, VTA_MEM_ACC, 0, 0, 4);
    lab_uop(l, 0, 0, 1, 0);
    load_uops(l, 1);
    vta_insn gemm = with_loops(lab_gemm(0, 1), 2, 3);
    gemm.gemm.dst_out = 1;
    gemm.gemm.dst_in = 1;
    gemm.gemm.src_out = 3;
    gemm.gemm.src_in = 1;
    (void)lab_add(l, gemm);
    lab_ok(l);
    LAB_ACC(l, 0, 1, 1, 1, 1, 2 + 4, 6, 6, 6, 3 + 5, 8, 8, 8, 6, 6, 6, 6);
}

/* The same with init: the later pass starts again, i outside, j inside. */
static void gemm_init_keeps_the_last_pass(void **state)
{
    lab *l = *state;
    load_ramp(l, 8);
    load_unit(l, 0, 1);
    lab_uop(l, 0, 0, 1, 0);
    load_uops(l, 1);
    vta_insn gemm = with_init(with_loops(lab_gemm(0, 1), 2, 3));
    gemm.gemm.dst_out = 1;
    gemm.gemm.dst_in = 1;
    gemm.gemm.src_out = 3;
    gemm.gemm.src_in = 1;
    (void)lab_add(l, gemm);
    lab_ok(l);
    LAB_ACC(l, 0, 1, 1, 1, 1, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6);
    LAB_OUT(l, 0, 1, 1, 1, 1, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6);
}

/* Neither loop moves dst: without init all passes add up, with init the last one stays. */
static void gemm_reduces_over_loops(void **state)
{
    lab *l = *state;
    load_ramp(l, 12);
    load_unit(l, 0, 1);
    load_unit(l, 1, 10);
    load_unit(l, 2, 100);
    lab_load(l, VTA_MEM_ACC, 0, 0, 1);
    lab_uop(l, 0, 0, 0, 0);
    lab_uop(l, 1, 5, 0, 0);
    load_uops(l, 2);
    vta_insn gemm = with_loops(lab_gemm(0, 1), 2, 3);
    gemm.gemm.src_out = 4;
    gemm.gemm.src_in = 1;
    gemm.gemm.wgt_in = 1;
    (void)lab_add(l, gemm);
    gemm = with_init(gemm);
    gemm.gemm.uop_begin = 1;
    gemm.gemm.uop_end = 2;
    (void)lab_add(l, gemm);
    lab_ok(l);
    LAB_ACC(l, 0, 864, 864, 864, 864); /* 0 + 10 + 200 + 4 + 50 + 600 */
    LAB_ACC(l, 5, 600, 600, 600, 600);
}

/* Runs of equal dst: {0, 0}, {1}, {0}: the last one starts entry 0 again. */
static void gemm_init_per_run(void **state)
{
    lab *l = *state;
    load_ramp(l, 8);
    load_unit(l, 0, 1);
    lab_uop(l, 0, 0, 1, 0);
    lab_uop(l, 1, 0, 2, 0);
    lab_uop(l, 2, 1, 3, 0);
    lab_uop(l, 3, 0, 4, 0);
    load_uops(l, 4);
    (void)lab_add(l, with_init(lab_gemm(0, 3)));
    lab_ok(l);
    LAB_ACC(l, 0, 3, 3, 3, 3, 3, 3, 3, 3);
    lab_clear(l);
    load_ramp(l, 8);
    load_unit(l, 0, 1);
    load_uops(l, 4);
    (void)lab_add(l, with_init(lab_gemm(0, 4)));
    lab_ok(l);
    LAB_ACC(l, 0, 4, 4, 4, 4, 3, 3, 3, 3);
}

/* With several runs and a moving dst, a later run of an earlier pass does not overtake: dst = {0, 1} + j. */
static void gemm_init_runs_and_passes(void **state)
{
    lab *l = *state;
    load_ramp(l, 16);
    load_unit(l, 0, 1);
    lab_uop(l, 0, 0, 1, 0);
    lab_uop(l, 1, 1, 8, 0);
    load_uops(l, 2);
    vta_insn gemm = with_init(with_loops(lab_gemm(0, 2), 1, 3));
    gemm.gemm.dst_in = 1;
    gemm.gemm.src_in = 1;
    (void)lab_add(l, gemm);
    lab_ok(l);
    LAB_ACC(l, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 10, 10, 10, 10);
}

/* Micro-ops that share weights and move dst, while both loops reduce. */
static void gemm_micro_ops_as_rows(void **state)
{
    lab *l = *state;
    load_ramp(l, 16);
    load_unit(l, 0, 1);
    load_unit(l, 1, 2);
    lab_load(l, VTA_MEM_ACC, 0, 0, 16);
    for (uint32_t k = 0; k < 10; k++) {
        lab_uop(l, k, k, k, 0);
    }
    load_uops(l, 10);
    vta_insn gemm = with_loops(lab_gemm(0, 10), 1, 2);
    gemm.gemm.src_in = 1;
    gemm.gemm.wgt_in = 1;
    (void)lab_add(l, gemm);
    lab_ok(l);
    for (uint32_t k = 0; k < 10; k++) {
        const int32_t v = (int32_t)(k + 2 * (k + 1));
        LAB_ACC(l, k, v, v, v, v);
        LAB_OUT(l, k, v, v, v, v);
    }
    LAB_ACC(l, 10, 0, 0, 0, 0);
}

/* Reset clears both scratchpads; what src and wgt would reach does not matter. */
static void gemm_resets(void **state)
{
    lab *l = *state;
    LAB_WRITE(l, VTA_MEM_ACC, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    lab_load(l, VTA_MEM_ACC, 0, 0, 3);
    lab_uop(l, 0, 0, 255, 127);
    lab_uop(l, 1, 1, 255, 127);
    load_uops(l, 2);
    vta_insn copy = lab_alu_imm(VTA_ALU_ADD, 0, 1, 50);
    copy.alu.uop_end = 0; /* no step: OUT stays unwritten */
    (void)lab_add(l, copy);
    vta_insn gemm = with_loops(lab_gemm(0, 2), 200, 1);
    gemm.gemm.reset = 1;
    gemm.gemm.src_out = 255;
    gemm.gemm.wgt_out = 127;
    (void)lab_add(l, gemm);
    lab_store(l, 0, 0, 2);
    lab_ok(l);
    LAB_ACC(l, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 10, 11, 12);
    assert_int_equal(l->report.counters.gemm_steps, 400);
    assert_int_equal(l->report.counters.alu_steps, 0);
}

/* OUT follows compute steps alone: a load into ACC leaves it. */
static void out_follows_steps(void **state)
{
    lab *l = *state;
    LAB_WRITE(l, VTA_MEM_ACC, 0, 300, -300, 127, -128, 1, 2, 3, 4);
    lab_load(l, VTA_MEM_ACC, 0, 0, 1);
    lab_uop(l, 0, 0, 0, 0);
    load_uops(l, 1);
    (void)lab_add(l, lab_alu_imm(VTA_ALU_ADD, 0, 1, 0));
    lab_load(l, VTA_MEM_ACC, 0, 1, 1);
    lab_store(l, 0, 0, 1);
    lab_ok(l);
    LAB_ACC(l, 0, 1, 2, 3, 4);
    LAB_OUT(l, 0, 44, -44, 127, -128);
    assert_memory_equal(l->mem[VTA_MEM_OUT], ((const int8_t[]){44, -44, 127, -128}), 4);
}

/* Every ALU operation on the same two vectors. */
static const int32_t alu_x[] = {5, -5, INT32_MAX, INT32_MIN};
static const int32_t alu_y[] = {3, 3, 1, -1};
static const struct {
    vta_alu_op op;
    int32_t result[4];
} alu_rows[] = {
    {VTA_ALU_MIN, {3, -5, 1, INT32_MIN}},
    {VTA_ALU_MAX, {5, 3, INT32_MAX, -1}},
    {VTA_ALU_ADD, {8, -2, INT32_MIN, INT32_MAX}},
    {VTA_ALU_SHR, {0, -1, 1073741823, 0}},
    {VTA_ALU_MUL, {15, -15, INT32_MAX, INT32_MIN}},
    {VTA_ALU_CLIP, {3, -3, 1, 1}},
    {VTA_ALU_MOV, {3, 3, 1, -1}},
};

static void alu_on_two_tensors(void **state)
{
    lab *l = *state;
    for (size_t i = 0; i < sizeof alu_rows / sizeof alu_rows[0]; i++) {
        lab_clear(l);
        lab_write(l, VTA_MEM_ACC, 0, alu_x, 4);
        lab_write(l, VTA_MEM_ACC, 1, alu_y, 4);
        lab_load(l, VTA_MEM_ACC, 0, 0, 2);
        lab_uop(l, 0, 0, 1, 0);
        load_uops(l, 1);
        (void)lab_add(l, lab_alu(alu_rows[i].op, 0, 1));
        lab_ok(l);
        lab_expect(l, VTA_MEM_ACC, 0, alu_rows[i].result, 4, __FILE__, __LINE__);
        lab_expect(l, VTA_MEM_ACC, 1, alu_y, 4, __FILE__, __LINE__);
        assert_int_equal(l->fsim->mem.out8[0], (int8_t)alu_rows[i].result[0]);
        assert_int_equal(l->fsim->mem.out8[3], (int8_t)alu_rows[i].result[3]);
        assert_int_equal(l->report.counters.alu_steps, 1);
    }
}

/* dst = op(dst, imm), where src does not matter, and dst = op(src, imm), where dst does not. */
static void alu_on_an_immediate(void **state)
{
    static const struct {
        vta_alu_op op;
        int32_t imm;
        int32_t result[4];
    } rows[] = {
        {VTA_ALU_MIN, -32768, {-32768, -32768, -32768, INT32_MIN}},
        {VTA_ALU_MAX, 32767, {32767, 32767, INT32_MAX, 32767}},
        {VTA_ALU_ADD, -1, {4, -6, INT32_MAX - 1, INT32_MAX}},
        {VTA_ALU_SHR, 31, {0, -1, 0, -1}},
        {VTA_ALU_SHR, 0, {5, -5, INT32_MAX, INT32_MIN}},
        {VTA_ALU_SHR, -4, {80, -80, -16, 0}},
        {VTA_ALU_SHR, -31, {INT32_MIN, INT32_MIN, INT32_MIN, 0}},
        {VTA_ALU_MUL, -32768, {-163840, 163840, 32768, 0}},
        {VTA_ALU_CLIP, 4, {4, -4, 4, -4}},
        {VTA_ALU_CLIP, -4, {4, 4, 4, 4}},
        {VTA_ALU_MOV, -32768, {-32768, -32768, -32768, -32768}},
    };
    lab *l = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (uint32_t from = 0; from < 2; from++) {
            lab_clear(l);
            lab_write(l, VTA_MEM_ACC, from, alu_x, 4);
            lab_load(l, VTA_MEM_ACC, from, from, 1);
            lab_uop(l, 0, 0, from == 1 ? 1 : (1U << l->config.log_depth[VTA_MEM_ACC]) - 1, 0);
            load_uops(l, 1);
            (void)lab_add(l, (from == 1 ? lab_alu_src : lab_alu_imm)(rows[i].op, 0, 1, rows[i].imm));
            lab_ok(l);
            lab_expect(l, VTA_MEM_ACC, 0, rows[i].result, 4, __FILE__, __LINE__);
            if (from == 1) {
                lab_expect(l, VTA_MEM_ACC, 1, alu_x, 4, __FILE__, __LINE__);
            }
        }
    }
}

static void alu_clamps_shifts_in_lanes(void **state)
{
    lab *l = *state;
    LAB_WRITE(l, VTA_MEM_ACC, 0, -8, -8, 1, 3, 1, INT32_MIN, -1, -1);
    LAB_WRITE(l, VTA_MEM_ACC, 2, 100, -100, 31, -31, INT32_MIN, INT32_MAX, 32, -32);
    lab_load(l, VTA_MEM_ACC, 0, 0, 4);
    lab_uop(l, 0, 0, 2, 0);
    lab_uop(l, 1, 1, 3, 0);
    load_uops(l, 2);
    (void)lab_add(l, lab_alu(VTA_ALU_SHR, 0, 2));
    lab_ok(l);
    LAB_ACC(l, 0, -1, 0, 0, INT32_MIN, INT32_MIN, -1, -1, INT32_MIN);
}

static void alu_clip_bound_wraps(void **state)
{
    lab *l = *state;
    LAB_WRITE(l, VTA_MEM_ACC, 0, 7, -7, INT32_MAX, INT32_MIN);
    LAB_WRITE(l, VTA_MEM_ACC, 1, INT32_MIN, INT32_MIN, INT32_MAX, INT32_MAX);
    lab_load(l, VTA_MEM_ACC, 0, 0, 2);
    lab_uop(l, 0, 0, 1, 0);
    load_uops(l, 1);
    (void)lab_add(l, lab_alu(VTA_ALU_CLIP, 0, 1));
    lab_ok(l);
    LAB_ACC(l, 0, INT32_MIN, INT32_MIN, INT32_MAX, -INT32_MAX);
}

/* Each step reads what the one before it wrote: a running sum, over micro-ops and over both loops. */
static void alu_steps_depend_on_each_other(void **state)
{
    lab *l = *state;
    for (uint32_t e = 0; e < 9; e++) {
        LAB_WRITE(l, VTA_MEM_ACC, e, 1, 10, -1, (int32_t)e);
    }
    lab_load(l, VTA_MEM_ACC, 0, 0, 9);
    lab_uop(l, 0, 1, 0, 0);
    lab_uop(l, 1, 2, 1, 0);
    load_uops(l, 2);
    vta_insn sum = lab_alu(VTA_ALU_ADD, 0, 2);
    sum.alu.iter_out = 2;
    sum.alu.iter_in = 2;
    sum.alu.dst_out = 4;
    sum.alu.src_out = 4;
    sum.alu.dst_in = 2;
    sum.alu.src_in = 2;
    (void)lab_add(l, sum);
    lab_ok(l);
    LAB_ACC(l, 0, 1, 10, -1, 0, 2, 20, -2, 1, 3, 30, -3, 3);
    LAB_ACC(l, 8, 9, 90, -9, 36);
    assert_int_equal(l->report.counters.alu_steps, 8);
}

/* MOV does not read what it replaces, nor, with an immediate, anything. */
static void alu_mov_reads_its_source_only(void **state)
{
    lab *l = *state;
    LAB_WRITE(l, VTA_MEM_ACC, 0, 1, 2, 3, 4);
    lab_load(l, VTA_MEM_ACC, 0, 0, 1);
    lab_uop(l, 0, 5, 0, 0);
    lab_uop(l, 1, 6, 99, 0);
    load_uops(l, 2);
    (void)lab_add(l, lab_alu(VTA_ALU_MOV, 0, 1));
    (void)lab_add(l, lab_alu_imm(VTA_ALU_MOV, 1, 2, 77));
    lab_ok(l);
    LAB_ACC(l, 5, 1, 2, 3, 4, 77, 77, 77, 77);
}

/* Scales of one tile: multiplier and shift of each lane. */
#define SCALE(mult, shift) (int32_t)((uint32_t)(mult) | (uint32_t)(shift) << 24)

/* Requantizes entry 0 with biases and scales in ACC 2 and 3 into entry 1. */
static void requantize(lab *l, const int32_t *acc, const int32_t *bias, const int32_t *scale, vta_insn insn)
{
    lab_clear(l);
    lab_write(l, VTA_MEM_ACC, 0, acc, 4);
    lab_write(l, VTA_MEM_ACC, 2, bias, 4);
    lab_write(l, VTA_MEM_ACC, 3, scale, 4);
    lab_load(l, VTA_MEM_ACC, 0, 0, 1);
    lab_load(l, VTA_MEM_ACC, 2, 2, 2);
    lab_uop(l, 0, 1, 0, 1);
    load_uops(l, 1);
    (void)lab_add(l, insn);
    lab_ok(l);
}

static void requant_rounds_half_to_even(void **state)
{
    lab *l = *state;
    static const int32_t zero[4] = {0};
    static const int32_t half[] = {SCALE(1, 1), SCALE(1, 1), SCALE(1, 1), SCALE(1, 1)};
    requantize(l, (const int32_t[]){1, 3, 5, 7}, zero, half, lab_requant(0, 0, -128, 127));
    LAB_ACC(l, 1, 0, 2, 2, 4);
    LAB_OUT(l, 1, 0, 2, 2, 4);
    requantize(l, (const int32_t[]){-1, -3, -5, -7}, zero, half, lab_requant(0, 0, -128, 127));
    LAB_ACC(l, 1, 0, -2, -2, -4);
    static const int32_t fine[] = {SCALE(1 << 23, 24), SCALE(1 << 23, 24), SCALE((1 << 23) + 1, 24),
                                   SCALE(8388607, 24)};
    requantize(l, (const int32_t[]){1, 3, 1, 1}, zero, fine, lab_requant(0, 0, -128, 127));
    LAB_ACC(l, 1, 0, 2, 1, 0);
    requantize(l, (const int32_t[]){-1, -3, -1, -1}, zero, fine, lab_requant(0, 0, -128, 127));
    LAB_ACC(l, 1, 0, -2, -1, 0);
}

/* Bias before, zero point after the product; then the bounds. Bits 31:30 of a scale mean nothing. */
static void requant_orders_its_parts(void **state)
{
    lab *l = *state;
    const int32_t scale[] = {SCALE(3, 2), SCALE(3, 2 | 0xc0), SCALE(100, 0), SCALE(0, 5)};
    requantize(l, (const int32_t[]){10, 10, -7, 1000}, (const int32_t[]){2, -2, 0, 5}, scale,
               lab_requant(0, -5, -100, 90));
    LAB_ACC(l, 1, 4, 1, -100, -5);
    LAB_OUT(l, 1, 4, 1, -100, -5);
    requantize(l, (const int32_t[]){10, 10, 7, 1000}, (const int32_t[]){2, -2, 0, 5}, scale,
               lab_requant(0, 127, -128, 127));
    LAB_ACC(l, 1, 127, 127, 127, 127);
    requantize(l, (const int32_t[]){1, 2, 3, 4}, (const int32_t[]){0, 0, 0, 0}, scale,
               lab_requant(0, -128, 12, 12));
    LAB_ACC(l, 1, 12, 12, 12, 12);
}

/* The sum has 33 bits, the product 57; no shift is too long. */
static void requant_extremes(void **state)
{
    lab *l = *state;
    static const int32_t low[] = {INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN};
    static const int32_t high[] = {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX};
    const int32_t scale[] = {SCALE(0xffffff, 0), SCALE(0xffffff, 55), SCALE(0xffffff, 56),
                             SCALE(0xffffff, 63)};
    requantize(l, low, low, scale, lab_requant(0, 0, -128, 127));
    LAB_ACC(l, 1, -128, -2, -1, 0);
    requantize(l, high, high, scale, lab_requant(0, 0, -128, 127));
    LAB_ACC(l, 1, 127, 2, 1, 0);
    const int32_t more[] = {SCALE(0xffffff, 57), SCALE(0xffffff, 58), SCALE(1, 26), SCALE(1, 33)};
    requantize(l, low, low, more, lab_requant(0, 0, -128, 127));
    LAB_ACC(l, 1, 0, 0, -64, 0);
    requantize(l, low, high, more, lab_requant(0, 7, -128, 127));
    LAB_ACC(l, 1, 7, 7, 7, 7);
}

/* Steps 1 and 2 overwrite the pair that step 3 uses: it was read before. */
static void requant_reads_its_pair_once(void **state)
{
    lab *l = *state;
    LAB_WRITE(l, VTA_MEM_ACC, 0, 1, 1, 1, 1, SCALE(2, 0), SCALE(2, 0), SCALE(2, 0), SCALE(2, 0));
    LAB_WRITE(l, VTA_MEM_ACC, 4, 10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33);
    lab_load(l, VTA_MEM_ACC, 0, 0, 2);
    lab_load(l, VTA_MEM_ACC, 4, 4, 3);
    lab_uop(l, 0, 0, 4, 0);
    load_uops(l, 1);
    vta_insn insn = lab_requant(0, 0, -128, 127);
    insn.requant.iter_in = 3;
    insn.requant.dst_in = 1;
    insn.requant.src_in = 1;
    (void)lab_add(l, insn);
    lab_ok(l);
    LAB_ACC(l, 0, 22, 24, 26, 28, 42, 44, 46, 48, 62, 64, 66, 68);
    assert_int_equal(l->report.counters.requant_steps, 3);
}

static const char two_parts[] =
    "{\"LOG_BATCH\": 1, \"LOG_BLOCK_IN\": 3, \"LOG_BLOCK_OUT\": 2, \"LOG_UOP_BUFF_SIZE\": 10,"
    " \"LOG_INP_BUFF_SIZE\": 12, \"LOG_WGT_BUFF_SIZE\": 12, \"LOG_ACC_BUFF_SIZE\": 12}";

/* Two requantizations fill the two parts of INP 3 … 3 + 2·19, then a GEMM sums each entry's rows. */
static void requant_writes_parts_of_inp(void **state)
{
    enum { STEPS = 20, LANES = 8, OUT = 4, IN = 8 };
    lab own;
    lab_open(&own, two_parts, true, vta_fsim_kernel(((lab *)*state)->fsim));
    lab *l = &own;
    int32_t acc[STEPS * LANES];
    int32_t ones[OUT * IN];
    for (int32_t i = 0; i < STEPS * LANES; i++) {
        acc[i] = i * 7 % 101 - 50;
    }
    for (int32_t i = 0; i < OUT * IN; i++) {
        ones[i] = i / IN == i % OUT; /* output o takes channels o and o + 4 */
    }
    lab_write(l, VTA_MEM_ACC, 8, acc, STEPS * LANES);
    lab_write(l, VTA_MEM_WGT, 0, ones, OUT * IN);
    LAB_WRITE(l, VTA_MEM_ACC, 0, 0, 0, 0, 0, 0, 0, 0, 0, SCALE(1, 0), SCALE(1, 0), SCALE(1, 0), SCALE(1, 0),
              SCALE(1, 0), SCALE(1, 0), SCALE(1, 0), SCALE(1, 0));
    lab_load(l, VTA_MEM_ACC, 0, 0, 2);
    lab_load(l, VTA_MEM_ACC, 8, 8, STEPS);
    lab_load(l, VTA_MEM_WGT, 0, 0, 1);
    lab_uop(l, 0, 3, 8, 0);
    lab_uop(l, 1, 40, 3, 0);
    load_uops(l, 2);
    vta_insn insn = lab_requant(0, 1, -30, 30);
    insn.requant.iter_in = STEPS;
    insn.requant.dst_in = 2;
    insn.requant.src_in = 1;
    insn.requant.to_inp = 1;
    insn.requant.part = 1;
    (void)lab_add(l, insn);
    insn.requant.part = 0;
    insn.requant.rounding = VTA_ROUND_UP; /* the general form */
    insn.requant.low = -40;
    (void)lab_add(l, insn);
    insn = lab_gemm(1, 2);
    insn.gemm.init = 1;
    insn.gemm.iter_in = STEPS;
    insn.gemm.dst_in = 1;
    insn.gemm.src_in = 2;
    (void)lab_add(l, insn);
    lab_ok(l);
    assert_int_equal(l->report.counters.requant_steps, 2 * STEPS);
    int32_t want[STEPS * LANES];
    for (int32_t i = 0; i < STEPS * LANES; i++) {
        const int32_t q = acc[i] + 1 > 30 ? 30 : acc[i] + 1;
        want[i] = (q < -40 ? -40 : q) + (q < -30 ? -30 : q);
    }
    lab_expect(l, VTA_MEM_ACC, 40, want, STEPS * LANES, __FILE__, __LINE__);
    lab_expect(l, VTA_MEM_ACC, 8, acc, STEPS * LANES, __FILE__, __LINE__);

    /* One part alone is not an entry. */
    lab_clear(l);
    lab_load(l, VTA_MEM_ACC, 0, 0, 28);
    lab_load(l, VTA_MEM_WGT, 0, 0, 1);
    load_uops(l, 2);
    insn = lab_requant(0, 0, -128, 127);
    insn.requant.to_inp = 1;
    (void)lab_add(l, insn);
    const uint32_t at = lab_add(l, lab_gemm(1, 2));
    LAB_FAILS(l, VTA_ERROR_UNWRITTEN, VTA_UNIT_COMPUTE, at);
    lab_close(l);
}

/* A window of 2 x 2 taps over entries 4 apart: taps 0, 1 in the first row, 2, 3 in the second. */
static void load_window(lab *l, uint32_t lanes)
{
    for (int32_t e = 0; e < 12; e++) {
        int32_t x[8];
        for (int32_t c = 0; c < 8; c++) {
            x[c] = 10 * e + c;
        }
        lab_write(l, VTA_MEM_INP, (uint32_t)e, x, lanes);
    }
    lab_load(l, VTA_MEM_INP, 0, 0, 12);
}

static void depthwise_slides_a_window(void **state)
{
    lab *l = *state;
    load_window(l, 4);
    LAB_WRITE(l, VTA_MEM_WGT, 3, 1, 1, 1, 1, 0, 0, 2, 2, -1, 0, 0, -128, 3, 3, 3, 127);
    LAB_WRITE(l, VTA_MEM_ACC, 0, 1000, 2000, 3000, 4000, 0, 0, 0, 0);
    lab_load(l, VTA_MEM_WGT, 3, 3, 1);
    lab_load(l, VTA_MEM_ACC, 0, 0, 2);
    lab_uop(l, 0, 0, 1, 3);
    load_uops(l, 1);
    vta_insn insn = lab_depthwise(0, 1, 2, 2);
    insn.depthwise.col_step = 1;
    insn.depthwise.row_step = 4;
    insn.depthwise.iter_in = 2;
    insn.depthwise.dst_in = 1;
    insn.depthwise.src_in = 1;
    (void)lab_add(l, insn);
    lab_ok(l);
    /* lane c of step j: x(1+j) w0 + x(2+j) w1 + x(5+j) w2 + x(6+j) w3, x(e) = 10 e + c */
    LAB_ACC(l, 0, 1000 + 10 - 50 + 180, 2000 + 11 + 183, 3000 + 12 + 44 + 186, 4000 + 13 + 46 - 6784 + 8001);
    LAB_ACC(l, 1, 20 - 60 + 210, 21 + 213, 22 + 64 + 216, 23 + 66 - 8064 + 9271);
    LAB_OUT(l, 1, -86, -22, 46, 16);
    assert_int_equal(l->report.counters.depthwise_steps, 4 + 2); /* the second keeps a column of two rows */
}

/* The micro-op loop is outermost: with init, the last micro-op decides, in every pass. */
static void depthwise_micro_ops_outermost(void **state)
{
    lab *l = *state;
    load_window(l, 4);
    LAB_WRITE(l, VTA_MEM_WGT, 0, 1, 1, 1, 1);
    lab_load(l, VTA_MEM_WGT, 0, 0, 1);
    lab_uop(l, 0, 1, 0, 0);
    lab_uop(l, 1, 0, 6, 0);
    load_uops(l, 2);
    vta_insn insn = lab_depthwise(0, 2, 1, 1);
    insn.depthwise.init = 1;
    insn.depthwise.iter_in = 2;
    insn.depthwise.dst_in = 1;
    insn.depthwise.src_in = 1;
    (void)lab_add(l, insn);
    lab_ok(l);
    /* k = 0: ACC 1, 2 = x(0), x(1); then k = 1: ACC 0, 1 = x(6), x(7) */
    LAB_ACC(l, 0, 60, 61, 62, 63, 70, 71, 72, 73, 10, 11, 12, 13);
}

static void depthwise_without_taps(void **state)
{
    lab *l = *state;
    LAB_WRITE(l, VTA_MEM_ACC, 0, 300, 2, 3, 4, 5, 6, 7, 8);
    lab_load(l, VTA_MEM_ACC, 0, 0, 2);
    lab_uop(l, 0, 0, 9, 9);
    lab_uop(l, 1, 1, 9, 9);
    load_uops(l, 2);
    (void)lab_add(l, lab_depthwise(0, 1, 0, 2));
    vta_insn insn = lab_depthwise(1, 2, 2, 0);
    insn.depthwise.init = 1;
    (void)lab_add(l, insn);
    lab_store(l, 0, 0, 2);
    lab_ok(l);
    LAB_ACC(l, 0, 300, 2, 3, 4, 0, 0, 0, 0);
    LAB_OUT(l, 0, 44, 2, 3, 4, 0, 0, 0, 0);
}

/* block_in 8, block_out 4: group 1 takes channels 4 to 7. */
static void depthwise_second_group(void **state)
{
    lab *l = *state;
    load_window(l, 8);
    LAB_WRITE(l, VTA_MEM_WGT, 0, 9, 9, 9, 9, 1, 2, 3, 4, 9, 9, 9, 9, -1, 0, 0, 1);
    lab_load(l, VTA_MEM_WGT, 0, 0, 1);
    lab_uop(l, 0, 0, 1, 0);
    load_uops(l, 1);
    vta_insn insn = lab_depthwise(0, 1, 2, 1);
    insn.depthwise.init = 1;
    insn.depthwise.group = 1;
    insn.depthwise.col_step = 7;
    (void)lab_add(l, insn);
    lab_ok(l);
    LAB_ACC(l, 0, 14 - 84, 30, 48, 68 + 87);
}

/* block_in 4, block_out 8: output lanes 4 to 7 have no input channel and only copy or clear. */
static void depthwise_lanes_without_input(void **state)
{
    lab *l = *state;
    load_window(l, 4);
    LAB_WRITE(l, VTA_MEM_WGT, 0, 1, 2, 3, 4);
    LAB_WRITE(l, VTA_MEM_ACC, 0, 1, 2, 3, 4, 5, 6, 7, 300);
    lab_load(l, VTA_MEM_WGT, 0, 0, 1);
    lab_load(l, VTA_MEM_ACC, 0, 0, 1);
    lab_load(l, VTA_MEM_ACC, 1, 0, 1);
    lab_uop(l, 0, 0, 1, 0);
    lab_uop(l, 1, 1, 1, 0);
    load_uops(l, 2);
    (void)lab_add(l, lab_depthwise(0, 1, 1, 1));
    vta_insn insn = lab_depthwise(1, 2, 1, 1);
    insn.depthwise.init = 1;
    (void)lab_add(l, insn);
    lab_ok(l);
    LAB_ACC(l, 0, 1 + 10, 2 + 22, 3 + 36, 4 + 52, 5, 6, 7, 300, 10, 22, 36, 52, 0, 0, 0, 0);
    LAB_OUT(l, 0, 11, 24, 39, 56, 5, 6, 7, 44, 10, 22, 36, 52, 0, 0, 0, 0);
}

/* A count of 0 or an empty range does nothing, and nothing that it names is looked at. */
static void zero_trips(void **state)
{
    lab *l = *state;
    LAB_WRITE(l, VTA_MEM_ACC, 0, 1, 2, 3, 4);
    lab_load(l, VTA_MEM_ACC, 0, 0, 1);
    vta_insn insns[] = {
        with_loops(lab_gemm(0, 256), 0, 1),
        with_loops(lab_gemm(0, 256), 1, 0),
        lab_gemm(5, 5),
        lab_gemm(200, 3),
        lab_alu(VTA_ALU_ADD, 7, 7),
        lab_alu(VTA_ALU_ADD, 0, 9),
        lab_requant(8191, 0, -1, 1),
        lab_depthwise(9, 9, 1, 1),
        lab_depthwise(0, 8192, 1, 1),
    };
    insns[5].alu.iter_in = 0;
    insns[6].requant.iter_out = 0;
    insns[8].depthwise.iter_out = 0;
    for (size_t i = 0; i < sizeof insns / sizeof insns[0]; i++) {
        (void)lab_add(l, insns[i]);
    }
    lab_ok(l);
    LAB_ACC(l, 0, 1, 2, 3, 4);
    assert_int_equal(l->report.counters.compute_insns, 11);
    assert_int_equal(l->report.counters.gemm_steps + l->report.counters.alu_steps, 0);
    assert_int_equal(l->report.counters.requant_steps + l->report.counters.depthwise_steps, 0);
}

/* A function on what entry 0 holds, with entry 1 as its destination. */
static void one_row(lab *l, vta_row row, const int32_t *dst, const int32_t *src, const int32_t *result)
{
    lab_clear(l);
    lab_write(l, VTA_MEM_ACC, 0, src, 4);
    lab_write(l, VTA_MEM_ACC, 1, dst, 4);
    lab_load(l, VTA_MEM_ACC, 0, 0, 2);
    lab_uop(l, 0, 1, 0, 0);
    load_uops(l, 1);
    (void)lab_add(l, lab_alu_src(VTA_ALU_ROW, 0, 1, (int32_t)vta_row_imm(row)));
    lab_ok(l);
    lab_expect(l, VTA_MEM_ACC, 1, result, 4, __FILE__, __LINE__);
    lab_expect(l, VTA_MEM_ACC, 0, src, 4, __FILE__, __LINE__);
    assert_int_equal(l->fsim->mem.out8[4 + 2], (int8_t)result[2]);
    assert_int_equal(l->report.counters.alu_steps, 1);
}

static void rows_by_hand(void **state)
{
    lab *l = *state;
    static const int32_t x[] = {5, -5, INT32_MAX, 0};
    static const struct {
        vta_row row;
        int32_t src[4], result[4];
    } rows[] = {
        {{.function = VTA_ROW_MIN}, {3, -7, 9, 2}, {-7, -5, 2, 0}},
        {{.function = VTA_ROW_MAX, .places = 1}, {3, -7, 9, 2}, {9, 2, INT32_MAX, 0}},
        {{.function = VTA_ROW_ADD}, {3, -7, 9, 2}, {-2, 4, INT32_MIN + 1, 3}},
        {{.function = VTA_ROW_MOV, .places = 1}, {3, -7, 9, 2}, {9, 2, 3, -7}},
        {{.function = VTA_ROW_EXP2}, {0, -4096, -2048, INT32_MAX}, {65536, 32768, 46341, 65536}},
        {{.function = VTA_ROW_EXP2}, {-17 * 4096, -18 * 4096 + 1, INT32_MIN, -1}, {0, 0, 0, 65524}},
        {{.function = VTA_ROW_ROOT}, {2, 99, 99, 99}, {46340 | 15 << 24}},
        {{.function = VTA_ROW_ROOT}, {-5, 99, 99, 99}, {32768 | 15 << 24}},
        {{.function = VTA_ROW_ROOT}, {INT32_MAX, 1, 1, 1}, {46340}},
        {{.function = VTA_ROW_RECIP}, {3, 99, 99, 99}, {43690 | 17 << 24}},
        {{.function = VTA_ROW_RECIP, .places = 8}, {3, 99, 99, 99}, {43690 | 9 << 24}},
        {{.function = VTA_ROW_RECIP, .form = VTA_ROW_FORM_MULTIPLIER}, {0, 99, 99, 99}, {65535}},
        {{.function = VTA_ROW_RECIP, .form = VTA_ROW_FORM_SHIFT, .places = 63}, {1, 99, 99, 99}, {0}},
        {{.function = VTA_ROW_RECIP_ROOT}, {46340 | 15 << 24, 99, 99, 99}, {46341 | 16 << 24}},
        {{.function = VTA_ROW_RECIP_ROOT, .form = VTA_ROW_FORM_SHIFT}, {40 << 24, 9, 9, 9}, {0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int32_t result[4];
        for (int o = 0; o < 4; o++) { /* the last functions leave the same in all lanes */
            result[o] = rows[i].result[rows[i].row.function > VTA_ROW_EXP2 ? 0 : o];
        }
        one_row(l, rows[i].row, x, rows[i].src, result);
    }
}

static void row_maximum_in_place(void **state)
{
    lab *l = *state;
    LAB_WRITE(l, VTA_MEM_ACC, 0, 3, -7, 9, 2, -1, -1, -8, -3);
    lab_load(l, VTA_MEM_ACC, 0, 0, 2);
    lab_uop(l, 0, 0, 0, 0);
    load_uops(l, 1);
    for (uint32_t places = 0; places < 2; places++) {
        const vta_row row = {.function = VTA_ROW_MAX, .places = places};
        vta_insn insn = lab_alu_src(VTA_ALU_ROW, 0, 1, (int32_t)vta_row_imm(row));
        insn.alu.iter_in = 2;
        insn.alu.dst_in = insn.alu.src_in = 1;
        (void)lab_add(l, insn);
    }
    lab_ok(l);
    LAB_ACC(l, 0, 9, 9, 9, 9, -1, -1, -1, -1);
}

/* Three passes of two steps; each pass writes the bias of the next. 18 bits, and what is beyond. */
static void requant_by_row(void **state)
{
    lab *l = *state;
    LAB_WRITE(l, VTA_MEM_ACC, 0, 1, 2, 3, 4);
    LAB_WRITE(l, VTA_MEM_ACC, 4, 10, 20, 30, -40);
    for (uint32_t record = 0; record < 3; record++) {
        LAB_WRITE(l, VTA_MEM_ACC, 5 + 2 * record, SCALE(3, 0), SCALE(1, 1), SCALE(1000000, 0),
                  SCALE(9000, 0));
        LAB_WRITE(l, VTA_MEM_ACC, 6 + 2 * record, 77, 77, 77, 77);
    }
    lab_load(l, VTA_MEM_ACC, 0, 0, 1);
    lab_load(l, VTA_MEM_ACC, 4, 4, 7);
    lab_uop(l, 0, 6, 0, 2);
    load_uops(l, 1);
    vta_insn insn = lab_requant(0, 0, 0, 0);
    insn.requant.iter_out = 3;
    insn.requant.iter_in = 2;
    insn.requant.dst_out = 2;
    insn.requant.long_result = insn.requant.by_row = 1;
    (void)lab_add(l, insn);
    lab_ok(l);
    LAB_ACC(l, 6, 33, 11, 131071, -131072);
    LAB_ACC(l, 8, 102, 6, 131071, -131072);
    LAB_ACC(l, 10, 309, 4, 131071, -131072);
    assert_int_equal(l->fsim->mem.out8[6 * 4], 33);
    assert_int_equal(l->fsim->mem.out8[8 * 4 + 2], -1);
    assert_int_equal(l->report.counters.requant_steps, 6);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm_multiplies_and_adds),
        cmocka_unit_test(gemm_extremes),
        cmocka_unit_test(gemm_loops),
        cmocka_unit_test(gemm_passes_overlap),
        cmocka_unit_test(gemm_init_keeps_the_last_pass),
        cmocka_unit_test(gemm_reduces_over_loops),
        cmocka_unit_test(gemm_init_per_run),
        cmocka_unit_test(gemm_init_runs_and_passes),
        cmocka_unit_test(gemm_micro_ops_as_rows),
        cmocka_unit_test(gemm_resets),
        cmocka_unit_test(out_follows_steps),
        cmocka_unit_test(alu_on_two_tensors),
        cmocka_unit_test(alu_on_an_immediate),
        cmocka_unit_test(alu_clamps_shifts_in_lanes),
        cmocka_unit_test(alu_clip_bound_wraps),
        cmocka_unit_test(alu_steps_depend_on_each_other),
        cmocka_unit_test(alu_mov_reads_its_source_only),
        cmocka_unit_test(requant_rounds_half_to_even),
        cmocka_unit_test(requant_orders_its_parts),
        cmocka_unit_test(requant_extremes),
        cmocka_unit_test(requant_reads_its_pair_once),
        cmocka_unit_test(requant_writes_parts_of_inp),
        cmocka_unit_test(depthwise_slides_a_window),
        cmocka_unit_test(depthwise_micro_ops_outermost),
        cmocka_unit_test(depthwise_without_taps),
        cmocka_unit_test(zero_trips),
    };
    static const struct CMUnitTest with_rows[] = {
        cmocka_unit_test(rows_by_hand),
        cmocka_unit_test(row_maximum_in_place),
        cmocka_unit_test(requant_by_row),
    };
    static const char rows[] = "{\"LOG_BLOCK\": 2, \"LOG_ACC_BUFF_SIZE\": 11, \"LOG_INP_BUFF_SIZE\": 10,"
                               "\"LOG_WGT_BUFF_SIZE\": 11, \"LOG_UOP_BUFF_SIZE\": 10, \"ROWS\": 1}";
    static const struct CMUnitTest wide_input[] = {cmocka_unit_test(depthwise_second_group)};
    static const struct CMUnitTest wide_output[] = {cmocka_unit_test(depthwise_lanes_without_input)};
    static const char in_8_out_4[] = "{\"LOG_BLOCK_IN\": 3, \"LOG_BLOCK_OUT\": 2, \"LOG_INP_BUFF_SIZE\": 10,"
                                     "\"LOG_WGT_BUFF_SIZE\": 12, \"LOG_ACC_BUFF_SIZE\": 11}";
    static const char in_4_out_8[] = "{\"LOG_BLOCK_IN\": 2, \"LOG_BLOCK_OUT\": 3, \"LOG_INP_BUFF_SIZE\": 10,"
                                     "\"LOG_WGT_BUFF_SIZE\": 12, \"LOG_ACC_BUFF_SIZE\": 12}";
    return lab_main("tiny", tests, sizeof tests / sizeof tests[0]) + lab_main(in_8_out_4, wide_input, 1) +
           lab_main(in_4_out_8, wide_output, 1) + lab_main(rows, with_rows, 3);
}
