/* SPDX-License-Identifier: Apache-2.0
 *
 * Micro-op kernels: kept once, resident while there is room, right however many there are. The reference is
 * four lines of C.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rng.h"
#include "seed.h"
#include "vta/runtime.h"

/* A recording of `calls` calls of randomly chosen kernels, each "ACC[dst] += ACC[src]" over its micro-ops,
 * and what it must leave in ACC. */
typedef struct sums {
    const vta_config *config;
    uint32_t entries, lanes;
    vta_stream *stream;
    vta_buffer in, out;
    uint32_t kernel_count;
    vta_kernel *kernels;
    vta_uop **uops;
    uint32_t *counts;
    uint32_t *called;
    uint32_t calls;
} sums;

static vta_device *open_device(const char *uri)
{
    vta_diag diag = {0};
    vta_device *device = NULL;
    if (vta_device_open(uri, NULL, &device, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    return device;
}

static void add_kernel(sums *s, uint32_t index, uint32_t count, rng *random)
{
    s->counts[index] = count;
    s->uops[index] = calloc(count, sizeof(vta_uop));
    for (uint32_t i = 0; i < count; i++) {
        s->uops[index][i].dst = rng_below(random, s->entries);
        s->uops[index][i].src = rng_below(random, s->entries);
    }
    s->kernels[index] = vta_stream_kernel(s->stream, s->uops[index], count);
}

static void begin_sums(sums *s, const vta_config *config, uint32_t kernels, uint32_t calls)
{
    *s = (sums){.config = config, .entries = 64, .lanes = config->elem_bytes[VTA_MEM_OUT]};
    assert_int_equal(vta_stream_create(config, &s->stream, NULL), VTA_OK);
    s->in = vta_stream_buffer(s->stream, "in", (uint64_t)s->entries * s->lanes);
    s->out = vta_stream_buffer(s->stream, "out", (uint64_t)s->entries * s->lanes);
    s->kernels = calloc(kernels, sizeof *s->kernels);
    s->uops = calloc(kernels, sizeof(vta_uop *));
    s->counts = calloc(kernels, sizeof *s->counts);
    s->called = calloc(calls, sizeof *s->called);
    s->kernel_count = kernels;
    vta_stream_load2d(s->stream, &(vta_load2d){.memory = VTA_MEM_ACC8,
                                               .buffer = s->in,
                                               .y_size = 1,
                                               .x_size = s->entries,
                                               .x_stride = s->entries});
}

static void call_kernel(sums *s, uint32_t index)
{
    vta_stream_alu(s->stream,
                   &(vta_alu){.kernel = s->kernels[index], .op = VTA_ALU_ADD, .iter_out = 1, .iter_in = 1});
    s->called[s->calls++] = index;
}

static vta_code *end_sums(sums *s)
{
    vta_diag diag = {0};
    vta_code *code = NULL;
    const vta_kernel touch = vta_stream_kernel(s->stream, &(vta_uop){0}, 1);
    vta_stream_alu(s->stream, &(vta_alu){.kernel = touch,
                                         .op = VTA_ALU_ADD,
                                         .use_imm = true,
                                         .iter_out = 1,
                                         .iter_in = s->entries,
                                         .dst_in = 1,
                                         .src_in = 1});
    vta_stream_store2d(s->stream, &(vta_store2d){.buffer = s->out, .y_size = 1, .x_size = s->entries});
    if (vta_stream_finish(s->stream, &code, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    vta_stream_destroy(s->stream);
    return code;
}

static void reference(const sums *s, const int8_t *in, int8_t *out)
{
    uint32_t *acc = calloc((size_t)s->entries * s->lanes, sizeof *acc);
    for (uint32_t i = 0; i < s->entries * s->lanes; i++) {
        acc[i] = (uint32_t)in[i];
    }
    for (uint32_t c = 0; c < s->calls; c++) {
        for (uint32_t u = 0; u < s->counts[s->called[c]]; u++) {
            const vta_uop uop = s->uops[s->called[c]][u];
            for (uint32_t l = 0; l < s->lanes; l++) {
                acc[uop.dst * s->lanes + l] += acc[uop.src * s->lanes + l];
            }
        }
    }
    for (uint32_t i = 0; i < s->entries * s->lanes; i++) {
        out[i] = (int8_t)acc[i];
    }
    free(acc);
}

/* Runs twice with different data and compares; frees everything. */
static void check_sums(sums *s, vta_device *device, vta_code *code)
{
    vta_diag diag = {0};
    vta_job *job = NULL;
    void *in = NULL;
    void *out = NULL;
    const size_t bytes = (size_t)s->entries * s->lanes;
    int8_t *want = calloc(bytes, 1);
    assert_int_equal(vta_job_create(code, device, &job, &diag), VTA_OK);
    assert_int_equal(vta_job_memory(job, s->in, &in, &diag), VTA_OK);
    assert_int_equal(vta_job_memory(job, s->out, &out, &diag), VTA_OK);
    for (int r = 0; r < 2; r++) {
        for (size_t i = 0; i < bytes; i++) {
            ((int8_t *)in)[i] = (int8_t)(i * 31 + (size_t)r * 17 + i / 9);
        }
        reference(s, in, want);
        if (vta_job_run(job, NULL, 0, 60, NULL, &diag) != VTA_OK) {
            fail_msg("%s", diag.text);
        }
        assert_memory_equal(out, want, bytes);
    }
    free(want);
    vta_job_destroy(job);
    vta_code_destroy(code);
    for (uint32_t i = 0; i < s->kernel_count; i++) {
        free(s->uops[i]);
    }
    free(s->uops);
    free(s->kernels);
    free(s->counts);
    free(s->called);
}

/* Far more micro-ops than the scratchpad holds, sizes mixed, some kernels hot. */
static void random_kernels(const char *uri, uint32_t kernels, uint32_t calls, uint32_t smallest,
                           uint32_t largest, uint64_t seed)
{
    print_message("%s: %u kernels of %u to %u micro-ops, seed %llu\n", uri, kernels, smallest, largest,
                  (unsigned long long)seed);
    vta_device *device = open_device(uri);
    rng random = {seed};
    sums s;
    begin_sums(&s, vta_device_config(device), kernels, calls);
    uint64_t total = 0;
    for (uint32_t i = 0; i < kernels; i++) {
        add_kernel(&s, i, smallest + rng_below(&random, largest - smallest + 1), &random);
        total += s.counts[i];
    }
    assert_true(total > 2 * (uint64_t)s.config->depth[VTA_MEM_UOP]);
    for (uint32_t c = 0; c < calls; c++) {
        const bool hot = rng_percent(&random, 40);
        call_kernel(&s, hot ? rng_below(&random, 3) : rng_below(&random, kernels));
    }
    vta_code *code = end_sums(&s);
    vta_code_info info;
    vta_code_describe(code, &info);
    assert_true(info.uop_loads > 2);
    assert_true(info.nops <= 1); /* the place of a LOAD that never came */
    check_sums(&s, device, code);
    vta_device_close(device);
}

static void kernels_beyond_the_scratchpad_are_right(void **state)
{
    (void)state;
    uint64_t seed = test_seed("runtime_kernel");
    for (uint32_t n = 0; n < 20; n++) {
        random_kernels("fsim:tiny?strict=1&check=1", 150, 1000, 1, 60, seed++);
    }
    random_kernels("fsim:tiny?strict=1&check=1", 60, 300, 100, 256, seed++);
    random_kernels("fsim:pynq?strict=1&check=1", 40, 60, 900, 2000, seed++);
    random_kernels("fsim:pynq?strict=1&check=1", 20000, 40000, 1, 4, seed);
}

/* VTA's own failure: one pass over 12 kernels of 1000, then over 10 of 2000, in an 8192-entry scratchpad. */
static void one_pass_over_many_is_right(void **state)
{
    (void)state;
    const struct {
        uint32_t kernels, size;
    } cases[] = {{12, 1000}, {10, 2000}, {3, 8192}};
    vta_device *device = open_device("fsim:pynq?strict=1&check=1");
    rng random = {5};
    for (int c = 0; c < 3; c++) {
        sums s;
        begin_sums(&s, vta_device_config(device), cases[c].kernels, cases[c].kernels);
        for (uint32_t i = 0; i < cases[c].kernels; i++) {
            add_kernel(&s, i, cases[c].size, &random);
        }
        for (uint32_t i = 0; i < cases[c].kernels; i++) {
            call_kernel(&s, i);
        }
        check_sums(&s, device, end_sums(&s));
    }
    vta_device_close(device);
}

/* Kernels that fit are loaded once, small neighbours together; the hot kernel survives a stream of others. */
static void resident_kernels_are_not_loaded_again(void **state)
{
    (void)state;
    vta_device *device = open_device("fsim:tiny?check=1");
    const uint32_t depth = vta_device_config(device)->depth[VTA_MEM_UOP];
    vta_code_info info;
    rng random = {6};
    sums s;
    begin_sums(&s, vta_device_config(device), 10, 1000);
    for (uint32_t i = 0; i < 10; i++) {
        add_kernel(&s, i, depth / 16, &random);
    }
    for (uint32_t c = 0; c < 1000; c++) {
        call_kernel(&s, c % 10);
    }
    vta_code *code = end_sums(&s);
    vta_code_describe(code, &info);
    assert_true(info.uop_loads <= 2 + info.uop_count / 32); /* each brings 32 at least, but for two */
    assert_int_equal(info.uop_count, depth / 16 * 10 + 1);
    check_sums(&s, device, code);

    begin_sums(&s, vta_device_config(device), 41, 400);
    for (uint32_t i = 0; i < 41; i++) {
        add_kernel(&s, i, depth / 8, &random);
    }
    for (uint32_t c = 0; c < 200; c++) {
        call_kernel(&s, 0);
        call_kernel(&s, 1 + c % 40);
    }
    code = end_sums(&s);
    vta_code_describe(code, &info);
    assert_true(info.uop_loads <= 202); /* the others' each time, the hot one's once */
    check_sums(&s, device, code);
    vta_device_close(device);
}

/* Once the scratchpad is full, small kernels still come several with one LOAD. */
static void small_kernels_come_together(void **state)
{
    (void)state;
    enum { KERNELS = 2000 };
    rng random = {test_seed("runtime_kernel")};
    vta_device *device = open_device("fsim:tiny?strict=1&check=1");
    sums s;
    begin_sums(&s, vta_device_config(device), KERNELS, KERNELS);
    for (uint32_t i = 0; i < KERNELS; i++) {
        add_kernel(&s, i, 2, &random);
        call_kernel(&s, i);
    }
    vta_code *code = end_sums(&s);
    vta_code_info info;
    vta_code_describe(code, &info);
    assert_true(info.uop_loads * 3 < KERNELS);
    check_sums(&s, device, code);
    vta_device_close(device);
}

static void equal_kernels_are_one(void **state)
{
    (void)state;
    vta_config config;
    vta_stream *stream = NULL;
    vta_config_default(&config);
    assert_int_equal(vta_stream_create(&config, &stream, NULL), VTA_OK);
    vta_uop uops[300];
    vta_kernel kernels[300];
    for (uint32_t i = 0; i < 300; i++) {
        uops[i] = (vta_uop){.dst = i, .src = i * 3 % 2048, .aux = i % 7};
        kernels[i] = vta_stream_kernel(stream, uops, i + 1);
        assert_int_equal(kernels[i].index, i);
    }
    for (uint32_t i = 0; i < 300; i++) {
        assert_int_equal(vta_stream_kernel(stream, uops, i + 1).index, i);
    }
    uops[299].aux++;
    assert_int_equal(vta_stream_kernel(stream, uops, 300).index, 300);
    assert_int_equal(vta_stream_status(stream), VTA_OK);
    vta_stream_destroy(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_beyond_the_scratchpad_are_right),
        cmocka_unit_test(one_pass_over_many_is_right),
        cmocka_unit_test(resident_kernels_are_not_loaded_again),
        cmocka_unit_test(small_kernels_come_together),
        cmocka_unit_test(equal_kernels_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
