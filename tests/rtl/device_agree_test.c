/* SPDX-License-Identifier: Apache-2.0
 *
 * The accelerator itself on fsim, tsim and systemc: the same bytes on all three, the same cycles on the two
 * that have cycles, instruction by instruction; twice on each device with different data, and once more after
 * a reset.
 */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "vta/runtime.h"

enum {
    TILES = 12,
    INNER = 3,
    RUNS = 3,
    MAX_INSNS = 32,
    EARLY = 16 /* cycles that the write of the start may add */
};

static void assert_ok(vta_status status, const vta_diag *diag)
{
    if (status != VTA_OK) {
        fail_msg("%s", diag->text);
    }
}

/* Products, a requantized half and a shifted half, both stored. */
static vta_code *record(const vta_config *c)
{
    vta_diag diag = {0};
    vta_stream *s = NULL;
    vta_code *code = NULL;
    vta_uop dot[INNER];
    assert_ok(vta_stream_create(c, &s, &diag), &diag);
    const vta_buffer x = vta_stream_buffer(s, "x", (uint64_t)TILES * INNER * c->elem_bytes[VTA_MEM_INP]);
    const vta_buffer w = vta_stream_buffer(s, "w", (uint64_t)INNER * c->elem_bytes[VTA_MEM_WGT]);
    const vta_buffer p = vta_stream_buffer(s, "p", 2ULL * c->elem_bytes[VTA_MEM_ACC]);
    const vta_buffer y = vta_stream_buffer(s, "y", 2ULL * TILES * c->elem_bytes[VTA_MEM_OUT]);
    for (uint32_t k = 0; k < INNER; k++) {
        dot[k] = (vta_uop){.dst = 0, .src = k, .aux = k};
    }
    const vta_uop shift = {.dst = TILES, .src = 0};
    const vta_kernel dot_kernel = vta_stream_kernel(s, dot, INNER),
                     shift_kernel = vta_stream_kernel(s, &shift, 1);
    vta_stream_load2d(
        s, &(vta_load2d){
               .memory = VTA_MEM_INP, .buffer = x, .y_size = TILES, .x_size = INNER, .x_stride = INNER});
    vta_stream_load2d(s, &(vta_load2d){.memory = VTA_MEM_WGT, .buffer = w, .y_size = 1, .x_size = INNER});
    vta_stream_load2d(
        s, &(vta_load2d){.memory = VTA_MEM_ACC, .sram = 30, .buffer = p, .y_size = 1, .x_size = 2});
    vta_stream_gemm(s, &(vta_gemm){.kernel = dot_kernel,
                                   .init = true,
                                   .iter_out = 1,
                                   .iter_in = TILES,
                                   .dst_in = 1,
                                   .src_in = INNER});
    vta_stream_alu(s, &(vta_alu){.kernel = shift_kernel,
                                 .op = VTA_ALU_SHR,
                                 .use_imm = true,
                                 .imm = 3,
                                 .iter_out = 1,
                                 .iter_in = TILES,
                                 .dst_in = 1,
                                 .src_in = 1});
    vta_stream_requant(s, &(vta_requant){.params = 15,
                                         .iter_out = 1,
                                         .iter_in = TILES,
                                         .dst_in = 1,
                                         .src_in = 1,
                                         .zero_point = -4,
                                         .low = -100,
                                         .high = 110});
    vta_stream_store2d(s, &(vta_store2d){.buffer = y, .y_size = 1, .x_size = 2 * TILES});
    assert_ok(vta_stream_finish(s, &code, &diag), &diag);
    vta_stream_destroy(s);
    return code;
}

typedef struct outcome {
    uint8_t bytes[RUNS][4096];
    uint64_t cycles[RUNS];
    uint64_t account[RUNS][MAX_INSNS][VTA_CYCLE_CLASSES]; /* where they went; zeros: it is not known */
} outcome;

static void fill(uint8_t *bytes, uint64_t size, uint64_t seed)
{
    for (uint64_t i = 0; i < size; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        bytes[i] = (uint8_t)(seed >> 48);
    }
}

static void keep_account(vta_device *device, uint64_t account[MAX_INSNS][VTA_CYCLE_CLASSES])
{
    uint32_t insns = 0;
    const uint64_t *counts = vta_device_account(device, &insns);
    if (counts != NULL) {
        assert_in_range(insns, 1, MAX_INSNS);
        memcpy(account, counts, (size_t)insns * sizeof account[0]);
    }
}

static uint64_t sum_account(uint64_t account[MAX_INSNS][VTA_CYCLE_CLASSES])
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < MAX_INSNS; i++) {
        for (uint32_t class = 0; class < VTA_CYCLE_CLASSES; class ++) {
            sum += account[i][class];
        }
    }
    return sum;
}

static void run_on(const char *uri, outcome *out)
{
    vta_diag diag = {0};
    vta_device *device = NULL;
    vta_job *job = NULL;
    void *host[4];
    assert_ok(vta_device_open(uri, NULL, &device, &diag), &diag);
    vta_code *code = record(vta_device_config(device));
    assert_ok(vta_job_create(code, device, &job, &diag), &diag);
    for (uint32_t run = 0; run < RUNS; run++) {
        uint64_t stored = 0;
        for (uint32_t i = 0; i < 4; i++) {
            vta_buffer_info buffer;
            assert_ok(vta_code_buffer(code, (vta_buffer){i}, &buffer, &diag), &diag);
            assert_ok(vta_job_memory(job, (vta_buffer){i}, &host[i], &diag), &diag);
            fill(host[i], buffer.size, 10 * run + i);
            stored = buffer.size;
        }
        if (run == RUNS - 1) {
            assert_ok(vta_device_reset(device, &diag), &diag);
        }
        vta_report report = {0};
        assert_ok(vta_job_run(job, NULL, 0, 60, &report, &diag), &diag);
        assert_in_range(stored, 1, sizeof out->bytes[run]);
        memcpy(out->bytes[run], host[3], stored);
        out->cycles[run] = report.counters.cycles;
        keep_account(device, out->account[run]);
    }
    vta_job_destroy(job);
    vta_code_destroy(code);
    vta_device_close(device);
}

static void agree(const char *config, const char *options)
{
    static outcome reference, tsim, systemc;
    char uri[256];
    memset(&reference, 0, sizeof reference);
    memset(&tsim, 0, sizeof tsim);
    memset(&systemc, 0, sizeof systemc);
    snprintf(uri, sizeof uri, "fsim:%s", config);
    run_on(uri, &reference);
    snprintf(uri, sizeof uri, "tsim:%s%s", config, options);
    run_on(uri, &tsim);
    snprintf(uri, sizeof uri, "systemc:%s%s", config, options);
    run_on(uri, &systemc);
    assert_memory_not_equal(reference.bytes[0], reference.bytes[1], 64);
    for (uint32_t run = 0; run < RUNS; run++) {
        assert_memory_equal(tsim.bytes[run], reference.bytes[run], sizeof tsim.bytes[run]);
        assert_memory_equal(systemc.bytes[run], reference.bytes[run], sizeof tsim.bytes[run]);
        assert_true(tsim.cycles[run] > 0);
        assert_int_equal(systemc.cycles[run], tsim.cycles[run]);
        assert_memory_equal(systemc.account[run], tsim.account[run], sizeof tsim.account[run]);
        assert_in_range(sum_account(systemc.account[run]), tsim.cycles[run] - EARLY,
                        tsim.cycles[run] + EARLY);
    }
}

static void test_plain(void **state)
{
    (void)state;
    agree("tiny", "");
}

static void test_back_pressure(void **state)
{
    (void)state;
    agree("tiny", "?stall=35&seed=77&latency=9&bandwidth=3");
}

/* The DRAM changes the cycles, not the bytes. */
static void test_dram(void **state)
{
    (void)state;
    static outcome simple, dram;
    run_on("systemc:tiny", &simple);
    run_on("systemc:tiny?memory=dram&traffic=50&seed=6", &dram);
    for (uint32_t run = 0; run < RUNS; run++) {
        assert_memory_equal(dram.bytes[run], simple.bytes[run], sizeof simple.bytes[run]);
        assert_true(dram.cycles[run] != simple.cycles[run]);
        assert_memory_not_equal(dram.account[run], simple.account[run], sizeof dram.account[run]);
    }
}

/* The signals that a thread of ours holds back: bit 0 is signal 1. */
static uint64_t held_by(const char *thread)
{
    static const char key[] = "SigBlk:";
    char name[64];
    char line[128];
    uint64_t held = 0;
    (void)snprintf(name, sizeof name, "/proc/self/task/%.20s/status", thread);
    FILE *file = fopen(name, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, sizeof key - 1) == 0) {
            held = strtoull(line + sizeof key - 1, NULL, 16);
        }
    }
    fclose(file);
    return held;
}

/* The code that cleans up after a signal relies on it: only the first thread takes those that end a process.
 */
static void assert_first_takes_signals(const char *uri)
{
    const uint64_t ending = 1U << (SIGINT - 1) | 1U << (SIGTERM - 1) | 1U << (SIGHUP - 1);
    const struct timespec nap = {.tv_nsec = 100000000}; /* a thread that begins holds back all of them */
    (void)nanosleep(&nap, NULL);
    DIR *threads = opendir("/proc/self/task");
    assert_non_null(threads);
    for (const struct dirent *d = readdir(threads); d != NULL; d = readdir(threads)) {
        if (d->d_name[0] == '.') {
            continue;
        }
        const bool first = strtol(d->d_name, NULL, 10) == getpid();
        if (!first && (held_by(d->d_name) & ending) != ending) {
            fail_msg("%s: thread %s would take a signal", uri, d->d_name);
        }
    }
    closedir(threads);
}

static void test_signals(void **state)
{
    (void)state;
    static const char *const uris[] = {"fsim:tiny", "tsim:tiny", "systemc:tiny", "tsim:tiny"};
    for (size_t i = 0; i < sizeof uris / sizeof uris[0]; i++) {
        vta_diag diag = {0};
        vta_device *device = NULL;
        assert_ok(vta_device_open(uris[i], NULL, &device, &diag), &diag);
        assert_first_takes_signals(uris[i]);
        vta_device_close(device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain), cmocka_unit_test(test_back_pressure),
                                       cmocka_unit_test(test_dram), cmocka_unit_test(test_signals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
