/* SPDX-License-Identifier: Apache-2.0
 *
 * fsim: runs on one instance after another, instances beside each other, and runs that somebody stops.
 */
#include <pthread.h>
#include <time.h>

#include "fsim_lab.h"

/* A small program: 3 input entries times one weight entry, plus ACC entries, shifted right by one, stored. */
static void put_program(lab *l)
{
    lab_clear(l);
    lab_load(l, VTA_MEM_INP, 0, 0, 3);
    lab_load(l, VTA_MEM_WGT, 0, 0, 1);
    lab_load(l, VTA_MEM_ACC, 0, 0, 3);
    lab_uop(l, 0, 0, 0, 0);
    lab_load(l, VTA_MEM_UOP, 0, 0, 1);
    vta_insn gemm = lab_gemm(0, 1);
    gemm.gemm.iter_in = 3;
    gemm.gemm.dst_in = 1;
    gemm.gemm.src_in = 1;
    (void)lab_add(l, gemm);
    vta_insn half = lab_alu_imm(VTA_ALU_SHR, 0, 1, 1);
    half.alu.iter_out = 3;
    half.alu.dst_out = 1;
    half.alu.src_out = 1;
    (void)lab_add(l, half);
    lab_store(l, 0, 0, 3);
}

/* Data that depends on `k`; returns what byte n of the result must be. */
static void put_data(lab *l, int32_t k)
{
    for (int32_t e = 0; e < 3; e++) {
        LAB_WRITE(l, VTA_MEM_INP, (uint32_t)e, k + e, k - e, 1, -1);
        LAB_WRITE(l, VTA_MEM_ACC, (uint32_t)e, 1000 * e, k, -k, 7);
    }
    LAB_WRITE(l, VTA_MEM_WGT, 0, 1, 1, 0, 0, 0, 0, k, 0, 2, 0, 0, -3, -128, 0, 127, 1);
}

static int8_t expected(int32_t k, int32_t e, int32_t lane)
{
    const int32_t sums[4] = {1000 * e + 2 * k, k + k, -k + 2 * (k + e) + 3, 7 - 128 * (k + e) + 127 - 1};
    return (int8_t)(sums[lane] >> 1);
}

/* The number of bytes of the result that are wrong. */
static int wrong_bytes(const lab *l, int32_t k)
{
    int wrong = 0;
    for (int32_t n = 0; n < 12; n++) {
        wrong += (int8_t)l->mem[VTA_MEM_OUT][n] != expected(k, n / 4, n % 4);
    }
    return wrong;
}

static void runs_twice_with_different_data(void **state)
{
    lab *l = *state;
    for (int32_t k = 1; k < 60; k += 7) {
        put_program(l);
        put_data(l, k);
        lab_ok(l);
        assert_int_equal(wrong_bytes(l, k), 0);
        assert_int_equal(l->report.counters.gemm_steps, 3);
        assert_int_equal(l->report.counters.load_insns, 2);
        assert_int_equal(l->report.counters.compute_insns, 8);
        assert_int_equal(l->report.counters.store_insns, 1);
        assert_int_equal(l->report.counters.fetch_insns, 11);
        assert_int_equal(l->report.counters.fetch_bytes, 176);
        assert_int_equal(l->report.counters.cycles, 0);
    }
}

/* A run that fails in the middle, with instructions and tokens in its queues, leaves nothing behind. */
static void runs_after_a_failure(void **state)
{
    lab *l = *state;
    for (int32_t k = 3; k < 6; k++) {
        lab_clear(l);
        vta_insn load = lab_load_insn(VTA_MEM_INP, 0, 0, 1);
        load.push_next = 1;
        for (int n = 0; n < 9; n++) {
            (void)lab_add(l, load);
        }
        vta_insn blocked = lab_load_insn(VTA_MEM_OUT, 0, 0, 0);
        blocked.opcode = VTA_OP_STORE;
        blocked.pop_prev = 1;
        (void)lab_add(l, blocked);
        (void)lab_add(l, lab_gemm(255, 300));
        LAB_FAILS(l, VTA_ERROR_UOP_RANGE, VTA_UNIT_COMPUTE, 10);
        put_program(l);
        put_data(l, k);
        lab_ok(l);
        assert_int_equal(wrong_bytes(l, k), 0);
    }
}

/* Two simulators, each in its thread. */
typedef struct twin {
    lab *lab;
    int32_t first;
    int wrong;
} twin;

static void *run_many(void *argument)
{
    twin *t = argument;
    for (int32_t k = t->first; k < t->first + 30; k++) {
        put_data(t->lab, k);
        vta_report report;
        vta_diag diag = {0};
        t->wrong += vta_fsim_run(t->lab->fsim, &t->lab->launch, &report, &diag) != VTA_OK;
        t->wrong += report.error != VTA_ERROR_NONE;
        t->wrong += wrong_bytes(t->lab, k);
    }
    return NULL;
}

static void two_simulators_in_two_threads(void **state)
{
    lab other;
    lab_open(&other, "tiny", false, NULL);
    twin twins[2] = {{*state, 1, 0}, {&other, 40, 0}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        put_program(twins[i].lab);
        put_data(twins[i].lab, 2);
        lab_ok(twins[i].lab);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_many, &twins[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(twins[i].wrong, 0);
    }
    lab_close(&other);
}

/* A run in a thread of its own, which somebody else stops. */
typedef struct runner {
    lab *lab;
    vta_status status;
    vta_diag diag;
    atomic_bool ended;
} runner;

static void *run_once(void *argument)
{
    runner *r = argument;
    r->status = vta_fsim_run(r->lab->fsim, &r->lab->launch, &r->lab->report, &r->diag);
    atomic_store(&r->ended, true);
    return NULL;
}

/* Runs, waits a little, and asks for the end until it comes. */
static void run_and_stop(lab *l)
{
    (void)lab_add(l, (vta_insn){.opcode = VTA_OP_FINISH});
    l->launch.insn_count = l->count;
    runner r = {.lab = l};
    atomic_init(&r.ended, false);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_once, &r), 0);
    const struct timespec pause = {.tv_nsec = 5000000};
    (void)nanosleep(&pause, NULL);
    const bool early = atomic_load(&r.ended);
    while (!atomic_load(&r.ended)) {
        vta_fsim_interrupt(l->fsim);
        (void)nanosleep(&pause, NULL);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(early);
    assert_int_equal(r.status, VTA_INTERRUPTED);
    assert_non_null(strstr(r.diag.text, "interrupted after"));
}

/* The longest nests that can be encoded, of every kind: none ends by itself, all can be stopped. */
static void endless_nests_can_be_stopped(void **state)
{
    lab *l = *state;
    enum { MAX = 16383 };
    vta_insn nests[5] = {lab_gemm(0, 256), lab_gemm(0, 256), lab_alu(VTA_ALU_ADD, 0, 256),
                         lab_requant(0, 0, -1, 1), lab_depthwise(0, 256, 2, 2)};
    for (int i = 0; i < 2; i++) {
        nests[i].gemm.iter_out = MAX;
        nests[i].gemm.iter_in = MAX;
        nests[i].gemm.init = i;
    }
    nests[2].alu.iter_out = MAX;
    nests[2].alu.iter_in = MAX;
    nests[3].requant.iter_out = MAX;
    nests[3].requant.iter_in = MAX;
    nests[4].depthwise.iter_out = MAX;
    nests[4].depthwise.iter_in = MAX;
    for (int i = 0; i < 5; i++) {
        lab_clear(l);
        lab_load(l, VTA_MEM_INP, 0, 0, 256);
        lab_load(l, VTA_MEM_WGT, 0, 0, 128);
        lab_load(l, VTA_MEM_ACC, 0, 0, 128);
        memset(l->mem[VTA_MEM_UOP], 0, 1024);
        lab_load(l, VTA_MEM_UOP, 0, 0, 256);
        (void)lab_add(l, nests[i]);
        run_and_stop(l);
    }
    put_program(l);
    put_data(l, 9);
    lab_ok(l);
    assert_int_equal(wrong_bytes(l, 9), 0);
}

/* The same without strictness, where no check walks the nest first. */
static void endless_nests_can_be_stopped_when_lenient(void **state)
{
    (void)state;
    lab l;
    lab_open(&l, "tiny", false, NULL);
    void *here = &l;
    endless_nests_can_be_stopped(&here);
    lab_close(&l);
}

/* A request without a run does not stop the next one. */
static void a_late_request_is_lost(void **state)
{
    lab *l = *state;
    vta_fsim_interrupt(l->fsim);
    put_program(l);
    put_data(l, 5);
    lab_ok(l);
    assert_int_equal(wrong_bytes(l, 5), 0);
}

static void misaligned_addresses_are_refused(void **state)
{
    lab *l = *state;
    put_program(l);
    lab_ok(l);
    vta_launch launch = l->launch;
    vta_diag diag = {0};
    launch.insn_addr += 16;
    assert_int_equal(vta_fsim_run(l->fsim, &launch, &l->report, &diag), VTA_INVALID);
    assert_non_null(strstr(diag.text, "is not a multiple of 64"));
    launch = l->launch;
    launch.base[7] = 32;
    diag = (vta_diag){0};
    assert_int_equal(vta_fsim_run(l->fsim, &launch, &l->report, &diag), VTA_INVALID);
    assert_string_equal(diag.text, "base 0x20 of segment 7 is not a multiple of 64");
}

static void unknown_kernels_are_refused(void **state)
{
    lab *l = *state;
    vta_fsim *fsim = NULL;
    vta_diag diag = {0};
    assert_int_equal(vta_fsim_create_kernel(&l->config, &l->bus, false, "abacus", &fsim, &diag),
                     VTA_UNSUPPORTED);
    assert_string_equal(diag.text, "fsim has no kernel 'abacus' for this cpu");
    assert_null(fsim);
    vta_fsim_destroy(NULL);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_twice_with_different_data),
        cmocka_unit_test(runs_after_a_failure),
        cmocka_unit_test(two_simulators_in_two_threads),
        cmocka_unit_test(endless_nests_can_be_stopped),
        cmocka_unit_test(endless_nests_can_be_stopped_when_lenient),
        cmocka_unit_test(a_late_request_is_lost),
        cmocka_unit_test(misaligned_addresses_are_refused),
        cmocka_unit_test(unknown_kernels_are_refused),
    };
    return lab_main("tiny", tests, sizeof tests / sizeof tests[0]);
}
