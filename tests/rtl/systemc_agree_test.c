/* SPDX-License-Identifier: Apache-2.0
 *
 * tsim and systemc around one and the same RTL, the copy engine: with the simple memory they agree in every
 * cycle; then the DRAM and its traffic, waves, timeline, and failures that come back from the other process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "simlab.h"
#include "vta/file.h"

static simlab lab;
static char tsim[SIMLAB_PATH], systemc[SIMLAB_PATH], traced[SIMLAB_PATH];
static simlab_sim one, two;

static int open_lab(void **state)
{
    (void)state;
    simlab_open(&lab);
    assert_int_equal(simlab_locate(&lab, "tsim"), VTA_OK);
    memcpy(tsim, lab.path, sizeof tsim);
    assert_int_equal(simlab_locate(&lab, "systemc"), VTA_OK);
    memcpy(systemc, lab.path, sizeof systemc);
    assert_int_equal(simlab_locate(&lab, "tsim+trace"), VTA_OK);
    memcpy(traced, lab.path, sizeof traced);
    return 0;
}

static int close_lab(void **state)
{
    (void)state;
    simlab_close(&lab);
    return 0;
}

static void assert_clean(simlab_sim *sim)
{
    const char *failure = sim->rtl->failure(sim->self);
    assert_string_equal(failure != NULL ? failure : "", "");
}

static void agree(const vta_rtlsim_options *options)
{
    assert_true(simlab_load(&one, tsim, options));
    assert_true(simlab_load(&two, systemc, options));
    assert_string_equal(one.rtl->kind, "tsim");
    assert_string_equal(two.rtl->kind, "systemc");
    assert_int_equal(one.rtl->config_hash, two.rtl->config_hash);
    uint64_t seed = options->seed + 3;
    for (uint32_t run = 0; run < 20; run++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        const uint32_t from = SIMLAB_BASE + (uint32_t)(seed >> 60) * 0x800,
                       to = SIMLAB_BASE + 0x8000 + run % 8 * 0x800;
        const uint32_t beats = 1 + (uint32_t)(seed >> 33) % 256;
        assert_int_equal(simlab_run(&one, from, to, beats), simlab_run(&two, from, to, beats));
        assert_int_equal(one.rtl->read(one.self, COPIER_STATUS), 2);
        assert_int_equal(two.rtl->read(two.self, COPIER_STATUS), 2);
        assert_memory_equal(one.memory, two.memory, sizeof one.memory);
        assert_memory_equal(two.memory + (from - SIMLAB_BASE), two.memory + (to - SIMLAB_BASE), beats * 8);
    }
    assert_clean(&one);
    assert_clean(&two);
    simlab_unload(&one);
    simlab_unload(&two);
}

static void test_agree(void **state)
{
    (void)state;
    static const vta_rtlsim_options options[] = {
        {.latency = 64, .bandwidth = 8},
        {.latency = 1, .bandwidth = 0},
        {.latency = 2, .bandwidth = 3, .seed = 9},
        {.latency = 20, .bandwidth = 8, .shared_bytes = 49, .shared_cycles = 5, .seed = 11},
        {.latency = 17, .bandwidth = 5, .stall_percent = 30, .seed = 4},
        {.latency = 1, .bandwidth = 8, .stall_percent = 60, .seed = 5, .memory_model = "simple"},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        agree(&options[i]);
    }
}

/* With random back-pressure a run's time is that of its number: what the host does before it makes no
 * difference. */
static void test_runs_alike(void **state)
{
    (void)state;
    const vta_rtlsim_options options = {.latency = 9, .bandwidth = 8, .stall_percent = 40, .seed = 11};
    for (int kind = 0; kind < 2; kind++) {
        uint64_t took[3];
        assert_true(simlab_load(&one, kind == 0 ? tsim : systemc, &options));
        assert_true(simlab_load(&two, kind == 0 ? tsim : systemc, &options));
        for (uint32_t run = 0; run < 3; run++) {
            for (uint32_t i = 0; i < 5 + 8 * run; i++) {
                (void)two.rtl->read(two.self, COPIER_STATUS);
            }
            took[run] = simlab_run(&one, SIMLAB_BASE, SIMLAB_BASE + 0x4000, 200);
            assert_int_equal(took[run], simlab_run(&two, SIMLAB_BASE, SIMLAB_BASE + 0x4000, 200));
        }
        assert_false(took[0] == took[1] && took[1] == took[2]); /* but each has numbers of its own */
        simlab_unload(&one);
        simlab_unload(&two);
    }
}

/* Two platforms at once, in one process of ours. */
static void test_two_platforms(void **state)
{
    (void)state;
    const vta_rtlsim_options options = {.latency = 8, .bandwidth = 8};
    assert_true(simlab_load(&one, systemc, &options));
    assert_true(simlab_load(&two, systemc, &options));
    two.memory[5] = 99;
    const uint64_t a = simlab_run(&one, SIMLAB_BASE, SIMLAB_BASE + 0x4000, 100);
    const uint64_t b = simlab_run(&two, SIMLAB_BASE, SIMLAB_BASE + 0x4000, 50);
    assert_int_equal(a, b + 100); /* each beat comes in and goes out */
    assert_memory_equal(one.memory, one.memory + 0x4000, 800);
    assert_memory_equal(two.memory, two.memory + 0x4000, 400);
    assert_int_equal(two.memory[0x4005], 99);
    simlab_unload(&one);
    assert_int_equal(simlab_run(&two, SIMLAB_BASE, SIMLAB_BASE + 0x6000, 50), b);
    assert_clean(&two);
    simlab_unload(&two);
}

static uint64_t time_with(const vta_rtlsim_options *options)
{
    uint64_t sum = 0;
    assert_true(simlab_load(&two, systemc, options));
    for (uint32_t run = 0; run < 50; run++) {
        sum += simlab_run(&two, SIMLAB_BASE + run % 4 * 0x800, SIMLAB_BASE + 0x8000, 64);
        assert_memory_equal(two.memory + run % 4 * 0x800, two.memory + 0x8000, 512);
    }
    assert_clean(&two);
    simlab_unload(&two);
    return sum;
}

static void test_dram_and_traffic(void **state)
{
    (void)state;
    const uint64_t simple = time_with(&(vta_rtlsim_options){.latency = 40, .bandwidth = 8});
    const uint64_t dram =
        time_with(&(vta_rtlsim_options){.latency = 40, .bandwidth = 8, .memory_model = "dram"});
    const uint64_t busy =
        time_with(&(vta_rtlsim_options){.latency = 40, .bandwidth = 8, .traffic_percent = 60, .seed = 3});
    const uint64_t both = time_with(&(vta_rtlsim_options){
        .latency = 40, .bandwidth = 8, .memory_model = "dram", .traffic_percent = 60, .seed = 3});
    assert_int_not_equal(dram, simple);
    assert_true(busy > simple);
    assert_true(both > dram);
}

static void test_failures(void **state)
{
    (void)state;
    const vta_rtlsim_options options = {.latency = 8, .bandwidth = 8};
    static char texts[2][2][512];
    for (int kind = 0; kind < 2; kind++) {
        for (uint32_t fault = 0; fault < 2; fault++) {
            assert_true(simlab_load(&one, kind == 0 ? tsim : systemc, &options));
            one.rtl->write(one.self, COPIER_MISBEHAVE, 1U << fault);
            simlab_run(&one, SIMLAB_BASE, SIMLAB_BASE + 0x2000, 16);
            const char *failure = one.rtl->failure(one.self);
            assert_non_null(failure);
            assert_int_equal(one.rtl->step(one.self, 100), 0); /* it stands still then */
            snprintf(texts[kind][fault], sizeof texts[kind][fault], "%s", failure);
            simlab_unload(&one);
        }
    }
    assert_string_equal(texts[0][0], texts[1][0]);
    assert_string_equal(texts[0][1], texts[1][1]);
    assert_non_null(strstr(texts[0][0], "the RTL stopped in cycle "));
    assert_non_null(strstr(texts[0][0], "told to fail"));
    assert_non_null(strstr(texts[0][1], "WLAST came with beat 15 of the 16 beats at 0x3000"));
}

static void test_refusals(void **state)
{
    (void)state;
    char waves[SIMLAB_PATH + 8];
    (void)snprintf(waves, sizeof waves, "%s/x.fst", lab.folder);
    assert_false(simlab_load(&one, tsim, &(vta_rtlsim_options){.trace_file = waves}));
    assert_string_equal(one.message, "this build of the simulator cannot write waves; a '+trace' build can");
    assert_false(simlab_load(&one, systemc, &(vta_rtlsim_options){.memory_model = "sram"}));
    assert_string_equal(one.message, "no memory model is called 'sram'; there are simple and dram");
    assert_false(simlab_load(&one, tsim, &(vta_rtlsim_options){.memory_model = "dram"}));
    assert_string_equal(one.message, "tsim has no memory model 'dram'; systemc has");
    assert_false(simlab_load(&one, systemc, &(vta_rtlsim_options){.timeline_file = "/nonexistent/t.json"}));
    assert_string_equal(one.message,
                        "cannot write the timeline '/nonexistent/t.json': No such file or directory");
    char name[SIMLAB_PATH];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_false(simlab_load(&one, systemc, &(vta_rtlsim_options){.timeline_file = name}));
    assert_non_null(strstr(one.message, "a file name is longer than "));
    assert_false(simlab_load(&one, tsim, &(vta_rtlsim_options){.stall_percent = 100}));
    assert_string_equal(one.message, "stall_percent is 100; at 100 nothing would ever move");
    assert_false(simlab_load(&one, traced, &(vta_rtlsim_options){.trace_file = "/nonexistent/t.fst"}));
    assert_string_equal(one.message,
                        "cannot write the trace '/nonexistent/t.fst': No such file or directory");
}

static size_t trace_size(const char *scope, uint64_t begin, uint64_t end)
{
    char file[SIMLAB_PATH + 16];
    snprintf(file, sizeof file, "%s/t.fst", lab.folder);
    const vta_rtlsim_options options = {.latency = 8,
                                        .bandwidth = 8,
                                        .trace_file = file,
                                        .trace_scope = scope,
                                        .trace_begin = begin,
                                        .trace_end = end};
    assert_true(simlab_load(&one, traced, &options));
    for (uint32_t i = 0; i < 20; i++) {
        simlab_run(&one, SIMLAB_BASE, SIMLAB_BASE + 0x2000, 64);
    }
    assert_clean(&one);
    simlab_unload(&one);
    uint8_t *bytes = NULL;
    size_t size = 0;
    assert_int_equal(vta_file_read(file, 1 << 24, &bytes, &size, NULL), VTA_OK);
    assert_true(size > 9);
    assert_int_equal(bytes[0], 0); /* the header block of an FST file, 329 bytes long */
    assert_int_equal(bytes[7] << 8 | bytes[8], 329);
    free(bytes);
    return size;
}

static void test_waves(void **state)
{
    (void)state;
    const size_t all = trace_size(NULL, 0, 0), window = trace_size(NULL, 100, 200);
    assert_true(window < all);
    assert_in_range(trace_size("vta_top", 0, 0), window, all - 1); /* all but the wrapper's pins */
}

/* The copy engine behaves like a load unit with one instruction: the timeline shows a slice for each run. */
static void test_timeline(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        char file[SIMLAB_PATH + 16];
        snprintf(file, sizeof file, "%s/t.json", lab.folder);
        assert_true(simlab_load(&one, kind == 0 ? tsim : systemc,
                                &(vta_rtlsim_options){.latency = 8, .bandwidth = 8, .timeline_file = file}));
        uint64_t took = 0;
        for (uint32_t i = 0; i < 3; i++) {
            took = simlab_run(&one, SIMLAB_BASE, SIMLAB_BASE + 0x2000, 64);
        }
        simlab_unload(&one);
        uint8_t *bytes = NULL;
        size_t size = 0;
        assert_int_equal(vta_file_read(file, 1 << 24, &bytes, &size, NULL), VTA_OK);
        cJSON *json = cJSON_ParseWithLength((const char *)bytes, size);
        assert_non_null(json);
        uint32_t slices = 0;
        const cJSON *event = NULL;
        cJSON_ArrayForEach(event, cJSON_GetObjectItem(json, "traceEvents"))
        {
            const cJSON *args = cJSON_GetObjectItem(event, "args");
            if (cJSON_GetObjectItem(args, "insn") != NULL) {
                assert_string_equal(cJSON_GetObjectItem(args, "unit")->valuestring, "load");
                const double length = cJSON_GetObjectItem(event, "dur")->valuedouble;
                assert_in_range((uint64_t)length, took - 4, took + 4);
                slices++;
            }
        }
        assert_int_equal(slices, 3);
        cJSON_Delete(json);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agree),         cmocka_unit_test(test_runs_alike),
        cmocka_unit_test(test_two_platforms), cmocka_unit_test(test_dram_and_traffic),
        cmocka_unit_test(test_failures),      cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_waves),         cmocka_unit_test(test_timeline),
    };
    return cmocka_run_group_tests(tests, open_lab, close_lab);
}
