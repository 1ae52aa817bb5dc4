/* SPDX-License-Identifier: Apache-2.0
 *
 * Sealed code: what it says of itself, jobs with it, one device or several.
 */
#include <pthread.h>
#include <stdlib.h>

#include "stream_lab.h"

/* Sealed code. */

static void tags_stay_with_their_calls(void **state)
{
    (void)state;
    fixture f = begin();
    vta_stream_tag(f.s, 7);
    load(&f, VTA_MEM_INP, 0, 0, 1);
    load(&f, VTA_MEM_WGT, 0, 0, 1);
    vta_stream_tag(f.s, UINT32_MAX);
    gemm_at(&f, 0, 0, 0);
    vta_stream_tag(f.s, 9);
    store_at(&f, 0, 0, 1);
    vta_code *code = seal(&f);
    const uint32_t want[] = {7, 7, UINT32_MAX, UINT32_MAX, 9, 9};
    assert_memory_equal(vta_code_tags(code), want, sizeof want);
    vta_code_destroy(code);
}

static void code_is_a_program(void **state)
{
    (void)state;
    vta_diag diag = {0};
    fixture f = begin();
    load(&f, VTA_MEM_INP, 0, 0, 1);
    load(&f, VTA_MEM_WGT, 0, 0, 1);
    gemm_at(&f, 5, 0, 0);
    store_at(&f, 5, 0, 1);
    vta_code *code = seal(&f);
    vta_code_info info;
    vta_buffer_info buffer;
    vta_program program;
    vta_program again;
    char *text = NULL;
    vta_code_describe(code, &info);
    assert_int_equal(vta_code_buffer(code, (vta_buffer){1}, &buffer, &diag), VTA_OK);
    assert_string_equal(buffer.name, "y");
    assert_true(buffer.stored && !buffer.loaded && buffer.size == 1 << 20);
    assert_int_equal(vta_code_buffer(code, (vta_buffer){2}, &buffer, &diag), VTA_INVALID);
    assert_says(&diag, VTA_INVALID, "buffer 2 does not exist; the code has 2");
    diag = (vta_diag){0};
    assert_int_equal(vta_code_program(code, &program, &diag), VTA_OK);
    assert_int_equal(program.symbol_count, 3);
    assert_string_equal(program.symbols[2].name, "uops");
    assert_int_equal(program.symbols[2].size, info.uop_count * 4);
    if (vta_disassemble(&program, &text, &diag) != VTA_OK ||
        vta_assemble(text, strlen(text), "dump", &f.config, &again, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    assert_int_equal(again.insn_count, info.insn_count);
    assert_memory_equal(again.insns, vta_code_insns(code), info.insn_count * sizeof(vta_word));
    free(text);
    vta_program_free(&again);
    vta_program_free(&program);
    vta_code_destroy(code);
}

/* Jobs. */

enum { COPY_TILES = 40 };

/* out = 3 · in on int8 tiles. */
static vta_code *record_triple(const vta_config *config)
{
    vta_diag diag = {0};
    vta_stream *s = NULL;
    vta_code *code = NULL;
    assert_int_equal(vta_stream_create(config, &s, NULL), VTA_OK);
    const uint64_t bytes = (uint64_t)COPY_TILES * config->elem_bytes[VTA_MEM_OUT];
    const vta_buffer in = vta_stream_buffer(s, "in", bytes);
    const vta_buffer out = vta_stream_buffer(s, "out", bytes);
    const vta_kernel all = vta_stream_kernel(s, &(vta_uop){0}, 1);
    vta_stream_load2d(s,
                      &(vta_load2d){.memory = VTA_MEM_ACC8, .buffer = in, .y_size = 1, .x_size = COPY_TILES});
    vta_stream_alu(s, &(vta_alu){.kernel = all,
                                 .op = VTA_ALU_MUL,
                                 .use_imm = true,
                                 .imm = 3,
                                 .iter_out = 1,
                                 .iter_in = COPY_TILES,
                                 .dst_in = 1,
                                 .src_in = 1});
    vta_stream_store2d(s, &(vta_store2d){.buffer = out, .y_size = 1, .x_size = COPY_TILES});
    if (vta_stream_finish(s, &code, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    vta_stream_destroy(s);
    return code;
}

static void run_triple(vta_job *job, vta_device *device, int seed)
{
    vta_diag diag = {0};
    vta_mem in;
    vta_mem out;
    const size_t bytes = (size_t)COPY_TILES * vta_device_config(device)->elem_bytes[VTA_MEM_OUT];
    assert_int_equal(vta_device_alloc(device, bytes, &in, NULL), VTA_OK);
    assert_int_equal(vta_device_alloc(device, bytes, &out, NULL), VTA_OK);
    for (size_t i = 0; i < bytes; i++) {
        ((int8_t *)in.host)[i] = (int8_t)((int)i * 11 + seed);
    }
    vta_device_flush(device, &in, 0, bytes);
    if (vta_job_run(job, (uint64_t[]){in.addr, out.addr}, 2, 60, NULL, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    vta_device_invalidate(device, &out, 0, bytes);
    for (size_t i = 0; i < bytes; i++) {
        assert_int_equal(((int8_t *)out.host)[i], (int8_t)(3 * (int8_t)((int)i * 11 + seed)));
    }
    vta_device_free(device, &in);
    vta_device_free(device, &out);
}

static void replay_binds_new_memory(void **state)
{
    (void)state;
    vta_device *device = open_device("fsim:tiny?strict=1&check=1");
    vta_code *code = record_triple(vta_device_config(device));
    vta_job *job = NULL;
    vta_mem keep[6];
    assert_int_equal(vta_job_create(code, device, &job, NULL), VTA_OK);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(vta_device_alloc(device, 5000, &keep[i], NULL),
                         VTA_OK); /* other addresses each time */
        run_triple(job, device, i);
    }
    vta_job_destroy(job);
    vta_code_destroy(code);
    vta_device_close(device);
}

static void jobs_check_their_addresses(void **state)
{
    (void)state;
    vta_device *device = open_device("fsim:tiny");
    vta_code *code = record_triple(vta_device_config(device));
    vta_job *job = NULL;
    vta_mem mem;
    assert_int_equal(vta_job_create(code, device, &job, NULL), VTA_OK);
    assert_int_equal(vta_device_alloc(device, 4096, &mem, NULL), VTA_OK);
    const struct {
        uint64_t addrs[2];
        uint32_t count;
        vta_status status;
        const char *text;
    } cases[] = {
        {{mem.addr, mem.addr + 1024}, 1, VTA_INVALID, "1 addresses given, but the code has 2 buffers"},
        {{mem.addr, mem.addr + 1}, 2, VTA_INVALID, "is not a multiple of 64"},
        {{mem.addr, mem.addr + 4032}, 2, VTA_RANGE, "buffer 'out': 160 bytes at address 0x"},
        {{mem.addr, mem.addr + 64},
         2,
         VTA_INVALID,
         "buffers 'in' and 'out' overlap, and the code stores to one"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vta_diag diag = {0};
        assert_int_equal(vta_job_run(job, cases[i].addrs, cases[i].count, 1, NULL, &diag), cases[i].status);
        assert_says(&diag, cases[i].status, cases[i].text);
    }
    run_triple(job, device, 1);
    vta_job_destroy(job);
    vta_job_destroy(NULL);
    vta_device_close(device);

    vta_diag diag = {0};
    device = open_device("fsim:pynq");
    assert_int_equal(vta_job_create(code, device, &job, &diag), VTA_CONFIG_MISMATCH);
    assert_null(job);
    assert_says(&diag, VTA_CONFIG_MISMATCH,
                "recorded for configuration 'tiny', but device 'fsim:pynq' differs in");
    assert_says(&diag, VTA_CONFIG_MISMATCH, "LOG_BLOCK_IN 2 != 4");
    vta_code_destroy(code);
    vta_device_close(device);
}

static void *record_and_run(void *uri)
{
    vta_device *device = open_device(uri);
    for (int i = 0; i < 30; i++) {
        vta_job *job = NULL;
        vta_code *code = record_triple(vta_device_config(device));
        assert_int_equal(vta_job_create(code, device, &job, NULL), VTA_OK);
        run_triple(job, device, i);
        run_triple(job, device, i + 100);
        vta_job_destroy(job);
        vta_code_destroy(code);
    }
    vta_device_close(device);
    return NULL;
}

static void two_streams_on_two_devices_at_once(void **state)
{
    (void)state;
    char tiny[] = "fsim:tiny?check=1";
    char pynq[] = "fsim:pynq";
    pthread_t threads[2];
    assert_int_equal(pthread_create(&threads[0], NULL, record_and_run, tiny), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, record_and_run, pynq), 0);
    assert_int_equal(pthread_join(threads[0], NULL), 0);
    assert_int_equal(pthread_join(threads[1], NULL), 0);
}

/* One code, shared by jobs on two devices. */

typedef struct shared_code {
    const vta_code *code;
} shared_code;

static void *run_shared(void *context)
{
    const shared_code *shared = context;
    vta_device *device = open_device("fsim:tiny");
    vta_job *job = NULL;
    assert_int_equal(vta_job_create(shared->code, device, &job, NULL), VTA_OK);
    for (int i = 0; i < 100; i++) {
        run_triple(job, device, i);
    }
    vta_job_destroy(job);
    vta_device_close(device);
    return NULL;
}

static void two_devices_share_one_code(void **state)
{
    (void)state;
    vta_config config;
    assert_int_equal(vta_config_load("tiny", &config, NULL), VTA_OK);
    vta_code *code = record_triple(&config);
    shared_code shared = {code};
    pthread_t threads[2];
    assert_int_equal(pthread_create(&threads[0], NULL, run_shared, &shared), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, run_shared, &shared), 0);
    assert_int_equal(pthread_join(threads[0], NULL), 0);
    assert_int_equal(pthread_join(threads[1], NULL), 0);
    vta_code_destroy(code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_stay_with_their_calls),
        cmocka_unit_test(code_is_a_program),
        cmocka_unit_test(replay_binds_new_memory),
        cmocka_unit_test(jobs_check_their_addresses),
        cmocka_unit_test(two_streams_on_two_devices_at_once),
        cmocka_unit_test(two_devices_share_one_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
