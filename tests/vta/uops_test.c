/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the timing model expects LOADs of micro-ops, against the programs that the runtime makes of the same
 * lists: random kernels that come again, more than the scratchpad holds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "seed.h"

#include "model.h"

enum { LISTS = 12, STEPS = 6000, KERNELS = 2500, MAX_UOPS = 9 };

typedef struct lab {
    vta_config config;
    machine hardware;
    step_list list;
    model model;
    vta_stream *stream;
    vta_code *code;
} lab;

/* Kernels near the one before, mostly: new ones come, and old ones come again. */
static void fill(lab *l, rng *r)
{
    const int64_t acc = l->config.depth[VTA_MEM_ACC];
    int64_t kernel = 0;
    for (int i = 0; i < STEPS; i++) {
        kernel = (kernel + rng_between(r, rng_below(r, 8) == 0 ? -(KERNELS / 2) : -1, 3) + KERNELS) % KERNELS;
        vta_uop uops[MAX_UOPS];
        const uint32_t count = 1 + (uint32_t)(kernel * 7 % MAX_UOPS);
        for (uint32_t k = 0; k < count; k++) {
            uops[k] = (vta_uop){.dst = (uint32_t)((kernel + k) % acc), .src = (uint32_t)(kernel / acc)};
        }
        if (count == 1 && rng_below(r, 2) == 0) { /* the same micro-op, or one with parameters */
            const int64_t params = rng_below(r, 2) == 0 ? 0 : acc / 2 - 1;
            vtac_vta_list_requant(&l->list,
                                  &(vta_requant){.dst = uops[0].dst,
                                                 .src = uops[0].src,
                                                 .params = params,
                                                 .iter_out = 1,
                                                 .iter_in = 1,
                                                 .low = -128,
                                                 .high = 127},
                                  (list_range){0, 1}, (list_range){0, 1});
        } else {
            vtac_vta_list_alu(&l->list,
                              &(vta_alu){.op = VTA_ALU_ADD,
                                         .kernel = vtac_vta_list_kernel_of(&l->list, uops, count),
                                         .iter_out = 1,
                                         .iter_in = 1},
                              (list_range){0, 1}, (list_range){0, 1});
        }
    }
    vtac_vta_list_flush(&l->list);
}

static void begin(lab *l, const char *config, rng *r)
{
    assert_int_equal(vta_config_load(config, &l->config, NULL), VTA_OK);
    assert_int_equal(vtac_vta_machine_of(&l->config, &l->hardware, NULL), VTA_OK);
    vtac_vta_list_init(&l->list);
    fill(l, r);
    assert_false(l->list.failed);
    l->model = (model){.m = &l->hardware, .list = &l->list};
    assert_true(vtac_vta_jobs_make(&l->model));
    assert_true(vtac_vta_uop_plan_make(&l->model));
    assert_int_equal(vta_stream_create(&l->config, &l->stream, NULL), VTA_OK);
    assert_int_equal(vtac_vta_list_record(&l->list, l->stream, NULL), VTA_OK);
    assert_int_equal(vta_stream_finish(l->stream, &l->code, NULL), VTA_OK);
}

static void end(lab *l)
{
    vta_code_destroy(l->code);
    vta_stream_destroy(l->stream);
    vtac_vta_uop_plan_free(&l->model.uops);
    free(l->model.jobs);
    vtac_vta_list_free(&l->list);
}

/* Compares the loads that the program has: each stands where it is expected, and brings as many; and the
 * micro-ops of each instruction come by the load that is expected. Returns their number. */
static size_t compare(const lab *l)
{
    vta_code_info info;
    vta_code_describe(l->code, &info);
    size_t done = 0, load = 0, loads = 0;
    uint32_t *by = calloc(l->config.depth[VTA_MEM_UOP], sizeof *by); /* which LOAD brought an entry */
    assert_non_null(by);
    for (size_t i = 0; i < info.insn_count; i++) {
        vta_insn insn;
        assert_int_equal(vta_insn_decode(&l->config, vta_code_insns(l->code)[i], &insn, NULL), VTA_OK);
        if (insn.opcode == VTA_OP_ALU || insn.opcode == VTA_OP_REQUANT) {
            const int64_t first = insn.opcode == VTA_OP_ALU ? insn.alu.uop_begin : insn.requant.uop;
            assert_int_equal(by[first], l->model.uops.need[done]);
            done++;
        } else if (insn.opcode == VTA_OP_LOAD && insn.mem.x_size > 0) {
            const uop_load *expected = vta_vec_at(&l->model.uops.loads, load++);
            while (expected->count == 0) { /* was kept and not used */
                expected = vta_vec_at(&l->model.uops.loads, load++);
            }
            assert_int_equal(expected->at, done);
            assert_int_equal(expected->count, insn.mem.x_size);
            for (int64_t k = 0; k < insn.mem.x_size; k++) {
                by[insn.mem.sram_base + k] = (uint32_t)load;
            }
            loads++;
        }
    }
    assert_int_equal(done, STEPS);
    free(by);
    return loads;
}

static void test_as_recorded(void **state)
{
    (void)state;
    const char *configs[] = {"tiny", "pynq", "ultra96", "ultra96_lm"};
    rng r = rng_split(test_seed("vta_uops"), 0);
    for (int i = 0; i < LISTS; i++) {
        lab l = {0};
        begin(&l, configs[i % 3], &r);
        assert_true(compare(&l) > 1);
        end(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_recorded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
