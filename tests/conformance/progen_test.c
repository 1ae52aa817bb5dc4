/* SPDX-License-Identifier: Apache-2.0
 *
 * The generator itself: its programs meet every feature and every event, run without error under any order of
 * the units, and come out the same for the same seed. With -v the counts are printed.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hostmem.h"
#include "interp.h"
#include "progen.h"
#include "rng.h"
#include "seed.h"

enum { PROGRAMS = 720, ORDERS = 3 };

static const uint64_t insn_addr = 0x10000;
static const uint64_t arena_addr = UINT64_C(0x123456789000);

static bool verbose;

/* The shipped configurations, and those that have what is left out there. */
static void config_of(uint32_t n, vta_config *config)
{
    static const char *const more[] = {VTA_TEST_CONFIGS "/rows.json", VTA_TEST_CONFIGS "/rows_pynq.json",
                                       VTA_TEST_CONFIGS "/rows_batch.json", VTA_TEST_CONFIGS "/wgt4.json"};
    enum { MORE = sizeof more / sizeof more[0] };
    uint32_t count = 0;
    const char *const *names = vta_config_names(&count);
    const uint32_t which = n % (count + MORE);
    assert_int_equal(vta_config_load(which < count ? names[which] : more[which - count], config, NULL),
                     VTA_OK);
}

/* Runs the program in one order of the units; returns its memory, owned. */
static uint8_t *run(const progen_program *program, uint64_t data_seed, uint64_t order, uint64_t *events)
{
    uint8_t *arena = malloc(program->arena_size);
    assert_non_null(arena);
    progen_fill(program, data_seed, arena);
    hostmem memory = {0};
    hostmem_add(&memory, insn_addr, program->insns, sizeof *program->insns * program->insn_count);
    hostmem_add(&memory, arena_addr, arena, program->arena_size);
    const vta_bus bus = hostmem_bus(&memory);
    const vta_launch launch = progen_launch(program, insn_addr, arena_addr);
    vta_report report;
    assert_int_equal(interp_run(&program->config, &launch, &bus, order, &report, events), VTA_OK);
    if (report.error != VTA_ERROR_NONE) {
        fail_msg("seed %" PRIu64 " (%s), instruction %u: %s", program->seed, program->config.name,
                 report.insn, vta_error_text(report.error));
    }
    return arena;
}

static void same_in_every_order(const progen_program *program, uint64_t *events)
{
    uint8_t *first = run(program, 1, 0, events);
    for (uint64_t order = 1; order < ORDERS; order++) {
        uint8_t *again = run(program, 1, order, events);
        if (memcmp(first, again, program->arena_size) != 0) {
            fail_msg("seed %" PRIu64 " (%s): the result depends on the order of the units", program->seed,
                     program->config.name);
        }
        free(again);
    }
    free(first);
}

static void report_counts(const char *const *names, const uint64_t *counts, int count, bool required)
{
    for (int i = 0; i < count; i++) {
        if (verbose) {
            (void)printf("%10" PRIu64 "  %s\n", counts[i], names[i]);
        }
        if (required && counts[i] == 0) {
            fail_msg("no program had: %s", names[i]);
        }
    }
}

static void everything_is_met(void **state)
{
    (void)state;
    const uint64_t seed = test_seed("conformance_progen");
    uint64_t features[PROGEN_FEATURE_COUNT] = {0};
    uint64_t events[INTERP_EVENT_COUNT] = {0};
    for (uint32_t n = 0; n < PROGRAMS; n++) {
        vta_config config;
        config_of(n, &config);
        progen_program program;
        vta_diag diag = {0};
        if (progen_make(&config, seed + n, n % 10 == 0 ? 200 : 45, &program, &diag) != VTA_OK) {
            fail_msg("seed %" PRIu64 " (%s): %s", seed + n, config.name, diag.text);
        }
        progen_features(&program, features);
        same_in_every_order(&program, events);
        progen_free(&program);
    }
    report_counts(progen_feature_names, features, PROGEN_FEATURE_COUNT, true);
    report_counts(interp_event_names, events, INTERP_EVENT_COUNT, true);
}

static void the_same_seed_gives_the_same_program(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < 24; n++) {
        vta_config config;
        config_of(n, &config);
        progen_program one;
        progen_program two;
        assert_int_equal(progen_make(&config, n, 30, &one, NULL), VTA_OK);
        assert_int_equal(progen_make(&config, n, 30, &two, NULL), VTA_OK);
        assert_int_equal(one.insn_count, two.insn_count);
        assert_memory_equal(one.insns, two.insns, sizeof *one.insns * one.insn_count);
        uint8_t *data_one = run(&one, 9, 1, NULL);
        uint8_t *data_two = run(&two, 9, 2, NULL);
        assert_memory_equal(data_one, data_two, one.arena_size);
        free(data_one);
        free(data_two);
        progen_free(&one);
        progen_free(&two);
    }
}

static void any_length_ends_with_finish(void **state)
{
    (void)state;
    for (uint32_t length = 0; length < 24; length++) {
        vta_config config;
        config_of(length, &config);
        progen_program program;
        assert_int_equal(progen_make(&config, length, length, &program, NULL), VTA_OK);
        assert_true(program.insn_count >= 1);
        assert_int_equal(program.insns[program.insn_count - 1].w[0] & 7, VTA_OP_FINISH);
        free(run(&program, length, 3, NULL));
        progen_free(&program);
    }
}

int main(int argc, char **argv)
{
    verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_met),
        cmocka_unit_test(the_same_seed_gives_the_same_program),
        cmocka_unit_test(any_length_ends_with_finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
