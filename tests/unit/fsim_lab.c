/* SPDX-License-Identifier: Apache-2.0
 *
 * A workbench for small programs on fsim (fsim_lab.h).
 */
#include "fsim_lab.h"

#include <stdio.h>
#include <stdlib.h>

void lab_open(lab *l, const char *config, bool strict, const char *kernel)
{
    *l = (lab){0};
    const vta_status status = config[0] == '{' ? vta_config_parse(config, "test", &l->config, &l->diag)
                                               : vta_config_load(config, &l->config, &l->diag);
    if (status != VTA_OK) {
        fail_msg("%s", l->diag.text);
    }
    assert_int_equal(vta_dram_create(&l->dram, &l->diag), VTA_OK);
    l->bus = vta_dram_bus(l->dram);
    for (int i = 0; i < VTA_MEM_COUNT; i++) {
        void *host = NULL;
        assert_int_equal(vta_dram_alloc(l->dram, LAB_SEGMENT, &l->launch.base[i], &host, &l->diag), VTA_OK);
        l->mem[i] = host;
    }
    void *host = NULL;
    assert_int_equal(
        vta_dram_alloc(l->dram, LAB_INSNS * VTA_INSN_BYTES, &l->launch.insn_addr, &host, &l->diag), VTA_OK);
    l->insns = host;
    if (vta_fsim_create_kernel(&l->config, &l->bus, strict, kernel, &l->fsim, &l->diag) != VTA_OK) {
        fail_msg("%s", l->diag.text);
    }
}

void lab_close(lab *l)
{
    vta_fsim_destroy(l->fsim);
    vta_dram_destroy(l->dram);
}

void lab_clear(lab *l)
{
    l->count = 0;
}

uint32_t lab_add(lab *l, vta_insn insn)
{
    assert_true(l->count < LAB_INSNS);
    if (vta_insn_encode(&l->config, &insn, &l->insns[l->count], &l->diag) != VTA_OK) {
        fail_msg("%s", l->diag.text);
    }
    return l->count++;
}

vta_error lab_run(lab *l)
{
    (void)lab_add(l, (vta_insn){.opcode = VTA_OP_FINISH});
    l->launch.insn_count = l->count;
    l->diag = (vta_diag){0};
    assert_int_equal(vta_fsim_run(l->fsim, &l->launch, &l->report, &l->diag), VTA_OK);
    return l->report.error;
}

void lab_ok(lab *l)
{
    if (lab_run(l) != VTA_ERROR_NONE) {
        fail_msg("instruction %u: %s", l->report.insn, vta_error_text(l->report.error));
    }
}

vta_insn lab_load_insn(vta_memory memory, uint32_t to, uint32_t from, uint32_t count)
{
    vta_insn insn = {.opcode = VTA_OP_LOAD};
    insn.mem.memory = memory;
    insn.mem.segment = memory;
    insn.mem.sram_base = to;
    insn.mem.dram_base = from;
    insn.mem.y_size = 1;
    insn.mem.x_size = count;
    insn.mem.x_stride = count;
    return insn;
}

void lab_transfer(lab *l, vta_insn insn)
{
    const bool by_load_unit = vta_insn_unit(&insn) == VTA_UNIT_LOAD;
    insn.push_next = by_load_unit;
    (void)lab_add(l, insn);
    if (by_load_unit) {
        vta_insn wait = lab_load_insn(VTA_MEM_UOP, 0, 0, 0);
        wait.pop_prev = 1;
        (void)lab_add(l, wait);
    }
}

void lab_load(lab *l, vta_memory memory, uint32_t to, uint32_t from, uint32_t count)
{
    lab_transfer(l, lab_load_insn(memory, to, from, count));
}

void lab_store(lab *l, uint32_t from, uint32_t to, uint32_t count)
{
    vta_insn ready = lab_load_insn(VTA_MEM_UOP, 0, 0, 0);
    ready.push_next = 1;
    (void)lab_add(l, ready);
    vta_insn insn = lab_load_insn(VTA_MEM_OUT, from, to, count);
    insn.opcode = VTA_OP_STORE;
    insn.pop_prev = 1;
    (void)lab_add(l, insn);
}

void lab_uop(lab *l, uint32_t n, uint32_t dst, uint32_t src, uint32_t aux)
{
    const vta_uop uop = {.dst = dst, .src = src, .aux = aux};
    uint32_t word = 0;
    if (vta_uop_encode(&l->config, &uop, &word, &l->diag) != VTA_OK) {
        fail_msg("%s", l->diag.text);
    }
    memcpy(l->mem[VTA_MEM_UOP] + n * sizeof word, &word, sizeof word);
}

vta_insn lab_gemm(uint32_t begin, uint32_t end)
{
    vta_insn insn = {.opcode = VTA_OP_GEMM};
    insn.gemm.uop_begin = begin;
    insn.gemm.uop_end = end;
    insn.gemm.iter_out = 1;
    insn.gemm.iter_in = 1;
    return insn;
}

vta_insn lab_alu(vta_alu_op op, uint32_t begin, uint32_t end)
{
    vta_insn insn = {.opcode = VTA_OP_ALU};
    insn.alu.uop_begin = begin;
    insn.alu.uop_end = end;
    insn.alu.iter_out = 1;
    insn.alu.iter_in = 1;
    insn.alu.alu_op = op;
    return insn;
}

vta_insn lab_alu_imm(vta_alu_op op, uint32_t begin, uint32_t end, int32_t imm)
{
    vta_insn insn = lab_alu(op, begin, end);
    insn.alu.use_imm = 1;
    insn.alu.imm = imm;
    return insn;
}

vta_insn lab_alu_src(vta_alu_op op, uint32_t begin, uint32_t end, int32_t imm)
{
    vta_insn insn = lab_alu_imm(op, begin, end, imm);
    insn.alu.from_src = 1;
    return insn;
}

vta_insn lab_requant(uint32_t uop, int32_t zero_point, int32_t low, int32_t high)
{
    vta_insn insn = {.opcode = VTA_OP_REQUANT};
    insn.requant.uop = uop;
    insn.requant.iter_out = 1;
    insn.requant.iter_in = 1;
    insn.requant.zero_point = zero_point;
    insn.requant.low = low;
    insn.requant.high = high;
    return insn;
}

vta_insn lab_depthwise(uint32_t begin, uint32_t end, uint32_t taps_x, uint32_t taps_y)
{
    vta_insn insn = {.opcode = VTA_OP_DEPTHWISE};
    insn.depthwise.uop_begin = begin;
    insn.depthwise.uop_end = end;
    insn.depthwise.iter_out = 1;
    insn.depthwise.iter_in = 1;
    insn.depthwise.taps_x = taps_x;
    insn.depthwise.taps_y = taps_y;
    return insn;
}

void lab_write(lab *l, vta_memory memory, uint32_t at, const int32_t *lanes, size_t count)
{
    uint8_t *to = l->mem[memory] + (size_t)at * l->config.elem_bytes[memory];
    for (size_t i = 0; i < count; i++) {
        if (memory == VTA_MEM_ACC) {
            memcpy(to + i * sizeof *lanes, &lanes[i], sizeof *lanes);
        } else {
            to[i] = (uint8_t)lanes[i];
        }
    }
}

void lab_expect(lab *l, vta_memory memory, uint32_t at, const int32_t *lanes, size_t count, const char *file,
                int line)
{
    const size_t first = (size_t)at * l->config.batch * l->config.block_out;
    for (size_t i = 0; i < count; i++) {
        const int32_t is = memory == VTA_MEM_ACC ? l->fsim->mem.acc[first + i] : l->fsim->mem.out8[first + i];
        if (is != lanes[i]) {
            print_error("%s: lane %zu is %d, expected %d\n", vta_fsim_kernel(l->fsim), i, is, lanes[i]);
            _fail(file, line);
        }
    }
}

void lab_fails(lab *l, vta_error error, vta_unit unit, uint32_t insn, const char *file, int line)
{
    (void)lab_run(l);
    if (l->report.error != error || l->report.unit != unit || l->report.insn != insn) {
        print_error("'%s' in the %s unit at %u, expected '%s' in the %s unit at %u\n",
                    vta_error_text(l->report.error), vta_unit_name(l->report.unit), l->report.insn,
                    vta_error_text(error), vta_unit_name(unit), insn);
        _fail(file, line);
    }
}

/* The words of lab_main for its fixtures: cmocka gives them no argument of ours, the state of the group
 * carries it. */
typedef struct bench {
    const char *config, *kernel;
    lab lab;
} bench;

static int set_up(void **state)
{
    bench *b = *state;
    lab_open(&b->lab, b->config, true, b->kernel);
    *state = &b->lab;
    return 0;
}

static int tear_down(void **state)
{
    lab_close(*state);
    return 0;
}

int lab_main(const char *config, const struct CMUnitTest *tests, size_t count)
{
    int failed = 0;
    for (const fsim_kernel *const *k = vta_fsim_kernels; *k != NULL; k++) {
        if (!(*k)->supported()) {
            continue;
        }
        bench b = {.config = config, .kernel = (*k)->name};
        struct CMUnitTest *own = calloc(count, sizeof *own);
        if (own == NULL) {
            return 1;
        }
        for (size_t i = 0; i < count; i++) {
            own[i] = tests[i];
            own[i].setup_func = set_up;
            own[i].teardown_func = tear_down;
            own[i].initial_state = &b;
        }
        failed += _cmocka_run_group_tests((*k)->name, own, count, NULL, NULL);
        free(own);
    }
    return failed;
}
