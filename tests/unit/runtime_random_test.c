/* SPDX-License-Identifier: Apache-2.0
 *
 * Random call sequences. Recorded as they are, with tokens from the library, recorded once more with a
 * barrier after every call, and read back from a program file: all three must pass the checker and leave the
 * same bytes, the first must not wait more often than the second, and the third must be the first in every
 * part.
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

enum { BUFFERS = 3, KERNELS = 6, KERNEL_UOPS = 6, RUNS = 2 };

typedef struct setup {
    const vta_config *config;
    vta_stream *stream;
    vta_buffer buffers[BUFFERS];
    vta_kernel kernels[KERNELS];
    bool serial;
    rng random;
} setup;

static int64_t below(setup *s, int64_t bound)
{
    return rng_between(&s->random, 0, bound - 1);
}

static void call_done(setup *s)
{
    if (s->serial) {
        vta_stream_barrier(s->stream);
    }
}

/* Indices stay in the lower quarter of each scratchpad, steps and counts small enough that no sum leaves it.
 */
static int64_t quarter(const setup *s, vta_memory memory)
{
    return s->config->depth[memory] / 4;
}

static vta_kernel random_kernel(setup *s)
{
    const int64_t acc = quarter(s, VTA_MEM_ACC);
    const int64_t inp = quarter(s, VTA_MEM_INP);
    const int64_t src = acc < inp ? acc : inp;
    vta_uop uops[KERNEL_UOPS];
    const uint32_t count = 1 + (uint32_t)below(s, KERNEL_UOPS);
    for (uint32_t i = 0; i < count; i++) {
        uops[i] = (vta_uop){(uint32_t)below(s, acc), (uint32_t)below(s, src),
                            (uint32_t)below(s, quarter(s, VTA_MEM_WGT))};
    }
    return vta_stream_kernel(s->stream, uops, count);
}

/* Not a whole number of most elements. */
static uint64_t buffer_bytes(const vta_config *config)
{
    return 4 + (uint64_t)config->elem_bytes[VTA_MEM_WGT] * 128 +
           (uint64_t)config->elem_bytes[VTA_MEM_ACC] * 64;
}

static void random_load(setup *s, vta_memory memory)
{
    const int64_t elements = (int64_t)buffer_bytes(s->config) / s->config->elem_bytes[memory];
    vta_load2d load = {.memory = memory, .buffer = s->buffers[below(s, BUFFERS)]};
    load.y_size = below(s, 4);
    load.x_size = below(s, 5);
    load.x_stride = below(s, 8);
    load.y_pad_0 = below(s, 2);
    load.y_pad_1 = below(s, 2);
    load.x_pad_0 = below(s, 2);
    load.x_pad_1 = below(s, 2);
    load.pad_value = below(s, 256) - 128;
    load.offset = below(s, elements - 32);
    const int64_t rows = load.y_size + load.y_pad_0 + load.y_pad_1;
    const int64_t pitch = load.x_size + load.x_pad_0 + load.x_pad_1;
    const int64_t depth = s->config->depth[memory];
    if (rows * pitch > depth) {
        load.x_size = 0;
    } else {
        load.sram = below(s, depth / 2 < depth - rows * pitch ? depth / 2 : depth - rows * pitch + 1);
    }
    vta_stream_load2d(s->stream, &load);
}

static void random_store(setup *s)
{
    const int64_t elements = (int64_t)buffer_bytes(s->config) / s->config->elem_bytes[VTA_MEM_OUT];
    vta_store2d store = {.buffer = s->buffers[below(s, BUFFERS)]};
    store.y_size = below(s, 4);
    store.x_size = below(s, 5);
    store.x_stride = store.x_size + below(s, 4);
    store.offset = below(s, elements - 40);
    store.sram = below(s, s->config->depth[VTA_MEM_OUT] - 15);
    vta_stream_store2d(s->stream, &store);
}

static void random_gemm(setup *s)
{
    const int64_t step = 1 + below(s, 2);
    vta_stream_gemm(s->stream, &(vta_gemm){.kernel = s->kernels[below(s, KERNELS)],
                                           .reset = below(s, 4) == 0,
                                           .iter_out = below(s, 3),
                                           .iter_in = below(s, 4),
                                           .dst_out = below(s, 3),
                                           .dst_in = below(s, 2),
                                           .src_out = below(s, 3),
                                           .src_in = step,
                                           .wgt_out = below(s, 2),
                                           .wgt_in = below(s, 2)});
}

static void random_alu(setup *s)
{
    const bool rows = s->config->rows != 0 && below(s, 2) == 0;
    vta_alu alu = {.kernel = s->kernels[below(s, KERNELS)],
                   .op = rows ? VTA_ALU_ROW : (vta_alu_op)below(s, VTA_ALU_ROW)};
    alu.row.function = (uint32_t)below(s, VTA_ROW_COUNT);
    alu.row.places = alu.row.function <= VTA_ROW_MOV ? (uint32_t)below(s, s->config->log_block_out) : 0;
    alu.use_imm = below(s, 2) == 0;
    alu.imm = below(s, 60) - 30;
    alu.iter_out = below(s, 3);
    alu.iter_in = below(s, 4);
    alu.dst_out = below(s, 3);
    alu.dst_in = below(s, 2);
    alu.src_out = below(s, 3);
    alu.src_in = below(s, 3);
    vta_stream_alu(s->stream, &alu);
}

/* To ACC, or, where a result fits there, to anywhere in INP. */
static void random_requant(setup *s)
{
    const int64_t acc = quarter(s, VTA_MEM_ACC);
    const int64_t parts = s->config->block_in / s->config->block_out;
    const bool to_inp = parts > 0 && below(s, 2) == 0;
    const bool rows = s->config->rows != 0;
    const bool long_result = rows && !to_inp && below(s, 2) == 0;
    vta_stream_requant(s->stream,
                       &(vta_requant){.to_inp = to_inp,
                                      .part = to_inp ? below(s, parts) : 0,
                                      .dst = below(s, to_inp ? s->config->depth[VTA_MEM_INP] - 9 : acc),
                                      .src = below(s, acc),
                                      .params = below(s, acc / 2),
                                      .iter_out = below(s, 3),
                                      .iter_in = below(s, 4),
                                      .dst_out = below(s, 3),
                                      .dst_in = 1,
                                      .src_out = below(s, 3),
                                      .src_in = 1,
                                      .by_row = rows && below(s, 2) == 0,
                                      .long_result = long_result,
                                      .zero_point = long_result ? 0 : below(s, 20) - 10,
                                      .low = long_result ? 0 : -100,
                                      .high = long_result ? 0 : 90});
}

static void random_depthwise(setup *s)
{
    const int64_t taps = 1 + below(s, s->config->block_out >= 9 ? 3 : 2);
    vta_stream_depthwise(s->stream, &(vta_depthwise){.kernel = s->kernels[below(s, KERNELS)],
                                                     .init = below(s, 2) == 0,
                                                     .iter_out = below(s, 3),
                                                     .iter_in = below(s, 3),
                                                     .dst_out = below(s, 3),
                                                     .dst_in = 1,
                                                     .src_out = below(s, 3),
                                                     .src_in = 1,
                                                     .taps_x = taps,
                                                     .taps_y = taps,
                                                     .col_step = below(s, 2),
                                                     .row_step = below(s, 3)});
}

static void random_call(setup *s)
{
    vta_stream_tag(s->stream, (uint32_t)below(s, 100));
    switch (below(s, 12)) {
    case 0:
    case 1: random_load(s, VTA_MEM_INP); break;
    case 2: random_load(s, s->config->wgt4 && below(s, 2) == 0 ? VTA_MEM_WGT4 : VTA_MEM_WGT); break;
    case 3: random_load(s, below(s, 2) == 0 ? VTA_MEM_ACC : VTA_MEM_ACC8); break;
    case 4:
    case 5: random_store(s); break;
    case 6: random_alu(s); break;
    case 7:
    case 8: random_requant(s); break;
    case 9: random_depthwise(s); break;
    default: random_gemm(s); break;
    }
    call_done(s);
}

/* Fills every scratchpad, so that nothing is read that was not written. */
static void fill(setup *s)
{
    const vta_memory memories[] = {VTA_MEM_INP, VTA_MEM_WGT, VTA_MEM_ACC};
    for (int m = 0; m < 3; m++) {
        const int64_t depth = s->config->depth[memories[m]];
        vta_stream_load2d(s->stream, &(vta_load2d){.memory = memories[m],
                                                   .buffer = s->buffers[m],
                                                   .y_size = depth,
                                                   .x_size = 1,
                                                   .pad_value = 3});
        call_done(s);
    }
    const vta_kernel all = vta_stream_kernel(s->stream, &(vta_uop){0}, 1);
    vta_stream_alu(s->stream, &(vta_alu){.kernel = all,
                                         .op = VTA_ALU_ADD,
                                         .use_imm = true,
                                         .iter_out = 1,
                                         .iter_in = s->config->depth[VTA_MEM_ACC],
                                         .dst_in = 1,
                                         .src_in = 1});
    call_done(s);
}

static vta_code *record(const vta_config *config, uint64_t seed, uint32_t calls, bool serial)
{
    static const char *const names[BUFFERS] = {"in", "layer 1/conv:0", "c"};
    setup s = {.config = config, .serial = serial, .random = {seed}};
    vta_diag diag = {0};
    vta_code *code = NULL;
    assert_int_equal(vta_stream_create(config, &s.stream, &diag), VTA_OK);
    for (uint32_t i = 0; i < BUFFERS; i++) {
        s.buffers[i] = vta_stream_buffer(s.stream, names[i], buffer_bytes(config));
    }
    for (uint32_t i = 0; i < KERNELS; i++) {
        s.kernels[i] = random_kernel(&s);
    }
    fill(&s);
    for (uint32_t i = 0; i < calls; i++) {
        random_call(&s);
    }
    (void)vta_stream_finish(s.stream, &code, &diag);
    if (code == NULL) {
        fail_msg("seed 0x%llx: %s", (unsigned long long)seed, diag.text);
    }
    vta_stream_destroy(s.stream);
    return code;
}

/* Runs twice with different data in the same memory; appends what is in the buffers then. */
static void run(vta_device *device, const vta_code *code, uint64_t seed, uint8_t *result)
{
    vta_diag diag = {0};
    vta_job *job = NULL;
    assert_int_equal(vta_job_create(code, device, &job, &diag), VTA_OK);
    const size_t bytes = buffer_bytes(vta_device_config(device));
    rng random = {seed + 1};
    for (int r = 0; r < RUNS; r++) {
        void *host[BUFFERS];
        for (uint32_t i = 0; i < BUFFERS; i++) {
            assert_int_equal(vta_job_memory(job, (vta_buffer){i}, &host[i], &diag), VTA_OK);
            for (size_t k = 0; k < bytes; k++) {
                ((uint8_t *)host[i])[k] = (uint8_t)rng_next(&random);
            }
        }
        if (vta_job_run(job, NULL, 0, 60, NULL, &diag) != VTA_OK) {
            fail_msg("seed 0x%llx: %s", (unsigned long long)seed, diag.text);
        }
        for (uint32_t i = 0; i < BUFFERS; i++) {
            memcpy(result + ((size_t)r * BUFFERS + i) * bytes, host[i], bytes);
        }
    }
    vta_job_destroy(job);
}

/* The file that a code is saved as. */
static uint8_t *saved(const vta_code *code, size_t *size)
{
    vta_program program;
    uint8_t *bytes = NULL;
    assert_int_equal(vta_code_program(code, &program, NULL), VTA_OK);
    assert_int_equal(vta_program_write(&program, &bytes, size, NULL), VTA_OK);
    vta_program_free(&program);
    return bytes;
}

static vta_code *read_back(const uint8_t *bytes, size_t size)
{
    vta_diag diag = {0};
    vta_program program;
    vta_code *code = NULL;
    if (vta_program_read(bytes, size, "saved", &program, &diag) != VTA_OK ||
        vta_code_from_program(&program, &code, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    vta_program_free(&program);
    return code;
}

/* Saved and read back: the same description, the same file once more, the same results. */
static void compare_saved(vta_device *device, const vta_code *code, uint64_t seed, const uint8_t *want,
                          size_t result_bytes)
{
    size_t size = 0;
    size_t size_again = 0;
    uint8_t *bytes = saved(code, &size);
    vta_code *copy = read_back(bytes, size);
    uint8_t *bytes_again = saved(copy, &size_again);
    uint8_t *result = calloc(1, result_bytes);
    vta_code_info a;
    vta_code_info b;
    vta_code_describe(code, &a);
    vta_code_describe(copy, &b);
    assert_int_equal(b.kernel_count, 0);
    assert_int_equal(a.insn_count, b.insn_count);
    assert_int_equal(a.uop_count, b.uop_count);
    assert_int_equal(a.buffer_count, b.buffer_count);
    assert_memory_equal(vta_code_tags(code), vta_code_tags(copy), a.insn_count * sizeof(uint32_t));
    for (uint32_t i = 0; i < a.buffer_count; i++) {
        vta_buffer_info x;
        vta_buffer_info y;
        assert_int_equal(vta_code_buffer(code, (vta_buffer){i}, &x, NULL), VTA_OK);
        assert_int_equal(vta_code_buffer(copy, (vta_buffer){i}, &y, NULL), VTA_OK);
        assert_string_equal(x.name, y.name);
        assert_int_equal(x.size, y.size);
        assert_true(x.loaded == y.loaded && x.stored == y.stored);
    }
    assert_int_equal(size, size_again);
    assert_memory_equal(bytes, bytes_again, size);
    run(device, copy, seed, result);
    if (memcmp(want, result, result_bytes) != 0) {
        fail_msg("seed 0x%llx: the code that was read back leaves different bytes", (unsigned long long)seed);
    }
    vta_code_destroy(copy);
    free(result);
    free(bytes);
    free(bytes_again);
}

static void compare(vta_device *device, uint64_t seed, uint32_t calls)
{
    const vta_config *config = vta_device_config(device);
    const size_t bytes = buffer_bytes(config) * BUFFERS * RUNS;
    uint8_t *results[2] = {calloc(1, bytes), calloc(1, bytes)};
    uint32_t tokens[2];
    for (int serial = 0; serial < 2; serial++) {
        vta_code_info info;
        vta_code *code = record(config, seed, calls, serial != 0);
        vta_code_describe(code, &info);
        tokens[serial] = info.tokens;
        run(device, code, seed, results[serial]);
        if (serial == 0) {
            compare_saved(device, code, seed, results[0], bytes);
        }
        vta_code_destroy(code);
    }
    if (memcmp(results[0], results[1], bytes) != 0) {
        fail_msg("%s, seed 0x%llx: the two recordings leave different bytes", config->name,
                 (unsigned long long)seed);
    }
    assert_true(tokens[0] <= tokens[1]);
    free(results[0]);
    free(results[1]);
}

static void random_sequences(const char *config, uint32_t sequences, uint64_t seed)
{
    char uri[512];
    vta_diag diag = {0};
    vta_device *device = NULL;
    (void)snprintf(uri, sizeof uri, "fsim:%s?strict=1&check=1", config);
    assert_int_equal(vta_device_open(uri, NULL, &device, &diag), VTA_OK);
    print_message("%s: %u sequences from seed 0x%llx\n", config, sequences, (unsigned long long)seed);
    for (uint32_t i = 0; i < sequences; i++) {
        compare(device, seed + i, 10 + i % 90);
    }
    vta_device_close(device);
}

static uint64_t first_seed(void)
{
    return test_seed("runtime_random");
}

static void tiny_agrees(void **state)
{
    (void)state;
    random_sequences("tiny", 300, first_seed());
}

static void batch2_agrees(void **state)
{
    (void)state;
    random_sequences("batch2", 40, first_seed() + 1000);
}

static void rect_agrees(void **state)
{
    (void)state;
    random_sequences("rect", 40, first_seed() + 2000);
}

static void pynq_agrees(void **state)
{
    (void)state;
    random_sequences("pynq", 20, first_seed() + 3000);
}

static void pynq512_agrees(void **state)
{
    (void)state;
    random_sequences("pynq512", 20, first_seed() + 4000);
}

static void rows_agree(void **state)
{
    (void)state;
    random_sequences(VTA_TEST_CONFIGS "/rows.json", 150, first_seed() + 5000);
    random_sequences(VTA_TEST_CONFIGS "/rows_batch.json", 40, first_seed() + 6000);
}

static void weights_of_four_bits_agree(void **state)
{
    (void)state;
    random_sequences(VTA_TEST_CONFIGS "/wgt4.json", 150, first_seed() + 7000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_of_four_bits_agree),
        cmocka_unit_test(rows_agree),
        cmocka_unit_test(tiny_agrees),
        cmocka_unit_test(batch2_agrees),
        cmocka_unit_test(rect_agrees),
        cmocka_unit_test(pynq_agrees),
        cmocka_unit_test(pynq512_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
