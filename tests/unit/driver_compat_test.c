/* SPDX-License-Identifier: Apache-2.0
 *
 * VTA's entry points, driven the way VTA's runtime does: buffers with 32-bit physical addresses, streams in
 * one buffer and micro-ops in another, addresses in elements, padding done by LOAD, a run that waits.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vta/compat.h"
#include "vta/isa.h"

/* C = relu(A · Bᵀ) of one padded image row: WIDTH pixels with a pixel of padding at each end, three taps. */
enum { WIDTH = 10, TAPS = 3, BLOCK = 16, WAIT_US = 60000000 };

typedef struct job {
    VTADeviceHandle device;
    int8_t *input, *weight, *output;
    vta_word *insns;
    uint32_t *uops;
    uint32_t count;
} job;

static void emit(job *j, vta_insn insn)
{
    vta_config config;
    vta_config_default(&config);
    assert_int_equal(vta_insn_encode(&config, &insn, &j->insns[j->count++], NULL), VTA_OK);
}

/* As VTA's runtime fills it: the physical address in elements. */
static vta_insn transfer(vta_opcode opcode, vta_memory memory, void *buffer, uint32_t bytes, uint32_t count)
{
    vta_insn insn = {.opcode = opcode};
    insn.mem.memory = memory;
    assert_int_equal(VTAMemGetPhyAddr(buffer) % bytes, 0);
    insn.mem.dram_base = VTAMemGetPhyAddr(buffer) / bytes;
    insn.mem.y_size = 1;
    insn.mem.x_size = count;
    insn.mem.x_stride = count;
    return insn;
}

static vta_insn gemm(uint32_t begin, uint32_t end, bool reset)
{
    vta_insn insn = {.opcode = VTA_OP_GEMM};
    insn.gemm.reset = reset;
    insn.gemm.uop_begin = begin;
    insn.gemm.uop_end = end;
    insn.gemm.iter_out = WIDTH;
    insn.gemm.iter_in = 1;
    insn.gemm.dst_out = 1;
    insn.gemm.src_out = 1;
    return insn;
}

static void record(job *j)
{
    vta_config config;
    vta_config_default(&config);
    j->count = 0;
    for (uint32_t t = 0; t < TAPS; t++) {
        const vta_uop uop = {.dst = 0, .src = t, .aux = t};
        assert_int_equal(vta_uop_encode(&config, &uop, &j->uops[t], NULL), VTA_OK);
    }
    vta_insn input = transfer(VTA_OP_LOAD, VTA_MEM_INP, j->input, BLOCK, WIDTH);
    input.mem.x_pad_0 = 1;
    input.mem.x_pad_1 = 1;
    emit(j, input);
    vta_insn weight = transfer(VTA_OP_LOAD, VTA_MEM_WGT, j->weight, BLOCK * BLOCK, TAPS);
    weight.push_next = 1;
    emit(j, weight);
    emit(j, transfer(VTA_OP_LOAD, VTA_MEM_UOP, j->uops, VTA_UOP_BYTES, TAPS));
    emit(j, gemm(0, 1, true));
    vta_insn multiply = gemm(0, TAPS, false);
    multiply.pop_prev = 1;
    emit(j, multiply);
    vta_insn relu = {.opcode = VTA_OP_ALU, .push_next = 1};
    relu.alu.uop_end = 1;
    relu.alu.iter_out = WIDTH;
    relu.alu.iter_in = 1;
    relu.alu.dst_out = 1;
    relu.alu.src_out = 1;
    relu.alu.alu_op = VTA_ALU_MAX;
    relu.alu.use_imm = 1;
    emit(j, relu);
    vta_insn store = transfer(VTA_OP_STORE, VTA_MEM_OUT, j->output, BLOCK, WIDTH);
    store.pop_prev = 1;
    store.push_prev = 1;
    emit(j, store);
    emit(j, (vta_insn){.opcode = VTA_OP_FINISH, .pop_next = 1});
    j->insns[j->count - 1].w[1] = UINT64_C(0xdeadbeef); /* VTA leaves it unset */
}

static job make_job(void)
{
    job j = {.device = VTADeviceAlloc()};
    assert_non_null(j.device);
    j.input = VTAMemAlloc((size_t)WIDTH * BLOCK, 1);
    j.weight = VTAMemAlloc((size_t)TAPS * BLOCK * BLOCK, 1);
    j.output = VTAMemAlloc((size_t)WIDTH * BLOCK, 1);
    j.insns = VTAMemAlloc(64 * sizeof(vta_word), 0);
    j.uops = VTAMemAlloc(1024, 0);
    assert_true(j.input != NULL && j.weight != NULL && j.output != NULL && j.insns != NULL && j.uops != NULL);
    return j;
}

static void free_job(job *j)
{
    VTAMemFree(j->input);
    VTAMemFree(j->weight);
    VTAMemFree(j->output);
    VTAMemFree(j->insns);
    VTAMemFree(j->uops);
    VTADeviceFree(j->device);
}

static int8_t expected(const int8_t *input, const int8_t *weight, int x, int o)
{
    int sum = 0;
    for (int t = 0; t < TAPS; t++) {
        const int at = x + t - 1;
        for (int c = 0; c < BLOCK && at >= 0 && at < WIDTH; c++) {
            sum += input[at * BLOCK + c] * weight[(t * BLOCK + o) * BLOCK + c];
        }
    }
    return (int8_t)(sum > 0 ? sum : 0);
}

static void run_once(job *j, int seed)
{
    int8_t input[WIDTH * BLOCK];
    int8_t weight[TAPS * BLOCK * BLOCK];
    int8_t output[WIDTH * BLOCK];
    for (int i = 0; i < WIDTH * BLOCK; i++) {
        input[i] = (int8_t)((i * 7 + seed) % 19 - 9);
    }
    for (int i = 0; i < TAPS * BLOCK * BLOCK; i++) {
        weight[i] = (int8_t)((i * 3 + seed * 5) % 7 - 3);
    }
    VTAMemCopyFromHost(j->input, input, sizeof input);
    VTAMemCopyFromHost(j->weight, weight, sizeof weight);
    VTAFlushCache(j->input, VTAMemGetPhyAddr(j->input), sizeof input);
    VTAFlushCache(j->weight, VTAMemGetPhyAddr(j->weight), sizeof weight);
    record(j);
    VTAFlushCache(j->insns, VTAMemGetPhyAddr(j->insns), (int)(j->count * sizeof(vta_word)));
    if (VTADeviceRun(j->device, VTAMemGetPhyAddr(j->insns), j->count, WAIT_US) != 0) {
        fail_msg("%s", VTALastError());
    }
    VTAInvalidateCache(j->output, VTAMemGetPhyAddr(j->output), sizeof output);
    VTAMemCopyToHost(output, j->output, sizeof output);
    for (int i = 0; i < WIDTH * BLOCK; i++) {
        assert_int_equal(output[i], expected(input, weight, i / BLOCK, i % BLOCK));
    }
}

static void runs_as_vta_does(void **state)
{
    (void)state;
    job j = make_job();
    run_once(&j, 1);
    run_once(&j, 4);
    free_job(&j);
    job again = make_job();
    run_once(&again, 9);
    free_job(&again);
}

static void the_environment_chooses_the_device(void **state)
{
    (void)state;
    assert_int_equal(setenv("VTA_DEVICE", "fsim:pynq?strict=1&check=1", 1), 0);
    job j = make_job();
    run_once(&j, 2);
    run_once(&j, 3);
    free_job(&j);
    assert_int_equal(setenv("VTA_DEVICE", "nix", 1), 0);
    assert_null(VTADeviceAlloc());
    assert_non_null(strstr(VTALastError(), "unknown device 'nix'"));
    assert_null(VTAMemAlloc(64, 0));
    assert_int_equal(unsetenv("VTA_DEVICE"), 0);
}

static void errors_are_codes_with_sentences(void **state)
{
    (void)state;
    assert_int_equal(setenv("VTA_CHECK", "0", 1), 0);
    job j = make_job();
    record(&j);
    j.insns[1].w[0] |= 7;
    assert_int_equal(VTADeviceRun(j.device, VTAMemGetPhyAddr(j.insns), j.count, WAIT_US), 2);
    assert_non_null(
        strstr(VTALastError(), "illegal instruction on device 'fsim:pynq': reserved opcode, instruction 1"));
    assert_int_equal(VTADeviceRun(NULL, 0, 1, 0), 2);
    assert_string_equal(VTALastError(), "the device handle is not one of VTADeviceAlloc");
    int local = 0;
    assert_int_equal(VTAMemGetPhyAddr(&local), 0);
    assert_non_null(strstr(VTALastError(), "is not in memory of VTAMemAlloc"));
    assert_int_equal(VTAMemGetPhyAddr(j.input + 32), VTAMemGetPhyAddr(j.input) + 32);
    assert_null(VTAMemAlloc(0, 0));
    assert_non_null(strstr(VTALastError(), "cannot allocate 0 bytes"));
    run_once(&j, 8);
    free_job(&j);
    assert_int_equal(unsetenv("VTA_CHECK"), 0);
}

/* Two blocks of 2 GiB, of which no page is touched: the second has no address of 32 bits. */
static void addresses_end_at_four_gib(void **state)
{
    (void)state;
    const size_t half = (size_t)1 << 31;
    for (int round = 0; round < 2; round++) {
        void *first = VTAMemAlloc(half, 1);
        assert_non_null(first);
        assert_null(VTAMemAlloc(half, 1));
        assert_string_equal(VTALastError(),
                            "2147483648 bytes do not fit below 4 GiB, where VTA's addresses end");
        job j = make_job();
        run_once(&j, round);
        free_job(&j);
        VTAMemFree(first);
    }
}

static void *run_in_thread(void *unused)
{
    (void)unused;
    for (int i = 0; i < 20; i++) {
        job j = make_job();
        run_once(&j, i);
        free_job(&j);
    }
    return NULL;
}

static void threads_share_the_device(void **state)
{
    (void)state;
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_in_thread, NULL), 0);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_as_vta_does),
        cmocka_unit_test(the_environment_chooses_the_device),
        cmocka_unit_test(errors_are_codes_with_sentences),
        cmocka_unit_test(addresses_end_at_four_gib),
        cmocka_unit_test(threads_share_the_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
