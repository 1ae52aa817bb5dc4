/* SPDX-License-Identifier: Apache-2.0
 *
 * Recording: where tokens go and where not, every refusal with its sentence, sealed code, and jobs.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vta/runtime.h"

static void assert_says(const vta_diag *diag, vta_status code, const char *part)
{
    if (diag->code != code || strstr(diag->text, part) == NULL) {
        fail_msg("status %d, '%s'; expected status %d and '%s'", (int)diag->code, diag->text, (int)code,
                 part);
    }
}

static vta_device *open_device(const char *uri)
{
    vta_diag diag = {0};
    vta_device *device = NULL;
    if (vta_device_open(uri, NULL, &device, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    return device;
}

/* A pynq stream with two large buffers. */
typedef struct fixture {
    vta_config config;
    vta_stream *s;
    vta_buffer in, out;
    vta_kernel unit; /* one micro-op, all 0 */
} fixture;

static fixture begin(void)
{
    fixture f;
    vta_config_default(&f.config);
    assert_int_equal(vta_stream_create(&f.config, &f.s, NULL), VTA_OK);
    f.in = vta_stream_buffer(f.s, "x", 1 << 20);
    f.out = vta_stream_buffer(f.s, "y", 1 << 20);
    f.unit = vta_stream_kernel(f.s, &(vta_uop){0}, 1);
    return f;
}

static vta_code *seal(fixture *f)
{
    vta_diag diag = {0};
    vta_code *code = NULL;
    if (vta_stream_finish(f->s, &code, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    vta_stream_destroy(f->s);
    return code;
}

static void load(fixture *f, vta_memory memory, int64_t sram, int64_t offset, int64_t count)
{
    vta_stream_load2d(f->s, &(vta_load2d){.memory = memory,
                                          .sram = sram,
                                          .buffer = f->in,
                                          .offset = offset,
                                          .y_size = 1,
                                          .x_size = count,
                                          .x_stride = count});
}

static void gemm_at(fixture *f, uint32_t dst, uint32_t src, uint32_t wgt)
{
    const vta_kernel kernel = vta_stream_kernel(f->s, &(vta_uop){dst, src, wgt}, 1);
    vta_stream_gemm(f->s, &(vta_gemm){.kernel = kernel, .init = true, .iter_out = 1, .iter_in = 1});
}

static void store_at(fixture *f, int64_t sram, int64_t offset, int64_t count)
{
    vta_stream_store2d(f->s, &(vta_store2d){sram, f->out, offset, .y_size = 1, .x_size = count});
}

/* An instruction's unit and flags: "load", "compute pop_prev push_next" … */
static const char *shape(const vta_code *code, uint32_t index, char *text, size_t size)
{
    vta_code_info info;
    vta_insn insn;
    vta_code_describe(code, &info);
    assert_true(index < info.insn_count);
    assert_int_equal(vta_insn_decode(&info.config, vta_code_insns(code)[index], &insn, NULL), VTA_OK);
    (void)snprintf(text, size, "%s%s%s%s%s", vta_unit_name(vta_insn_unit(&insn)),
                   insn.pop_prev ? " pop_prev" : "", insn.pop_next ? " pop_next" : "",
                   insn.push_prev ? " push_prev" : "", insn.push_next ? " push_next" : "");
    return text;
}

static void assert_shapes(const vta_code *code, const char *const *shapes, uint32_t count)
{
    vta_code_info info;
    char text[64];
    vta_code_describe(code, &info);
    for (uint32_t i = 0; i < count && i < info.insn_count; i++) {
        assert_string_equal(shape(code, i, text, sizeof text), shapes[i]);
    }
    assert_int_equal(info.insn_count, count);
}

/* Tokens. */

static void a_chain_has_a_token_per_link(void **state)
{
    (void)state;
    static const char *const want[] = {
        "load",                       /* inp */
        "load push_next",             /* wgt: stands for both */
        "compute",                    /* micro-ops wait for nobody */
        "compute pop_prev push_next", /* gemm */
        "store pop_prev",             /* finish waits by itself */
        "compute",
    };
    fixture f = begin();
    load(&f, VTA_MEM_INP, 0, 0, 1);
    load(&f, VTA_MEM_WGT, 0, 0, 1);
    gemm_at(&f, 0, 0, 0);
    store_at(&f, 0, 0, 1);
    vta_code *code = seal(&f);
    assert_shapes(code, want, 6);
    vta_code_destroy(code);
}

/* Two halves in turn: the load of a half waits for the product that used it before, and for nothing else. */
static void double_buffering_does_not_serialize(void **state)
{
    (void)state;
    static const char *const want[] = {
        "load",                                 /* weights */
        "load push_next",                       /* half 0 */
        "compute",                              /* micro-ops of both halves */
        "compute pop_prev push_prev push_next", /* product 0 */
        "store pop_prev push_prev",             /* its result */
        "load push_next",                       /* half 1: free */
        "compute pop_prev push_prev push_next", /* product 1 */
        "store pop_prev push_prev",
        "load pop_next push_next",             /* half 0 again: after product 0 */
        "compute pop_prev pop_next push_next", /* OUT 0 again: after store 0 */
        "store pop_prev",
        "load pop_next push_next", /* half 1 again: after product 1 */
        "compute pop_prev pop_next push_next",
        "store pop_prev",
        "compute",
    };
    fixture f = begin();
    load(&f, VTA_MEM_WGT, 0, 0, 1);
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t half = i % 2;
        load(&f, VTA_MEM_INP, 10 * half, i, 1);
        gemm_at(&f, half, 10 * half, 0);
        store_at(&f, half, i, 1);
    }
    vta_code *code = seal(&f);
    assert_shapes(code, want, 15);
    vta_code_info info;
    vta_code_describe(code, &info);
    assert_int_equal(info.nops, 0);
    assert_int_equal(info.uop_loads, 1);
    assert_int_equal(info.tokens, 12);
    vta_code_destroy(code);
}

/* Accesses that only touch neighbours need no tokens: strides and windows are followed entry by entry. */
static void interleaved_sets_are_independent(void **state)
{
    (void)state;
    fixture f = begin();
    char text[64];
    vta_code_info info;
    load(&f, VTA_MEM_WGT, 0, 0, 1);
    load(&f, VTA_MEM_INP, 0, 0, 32);
    const vta_kernel even = vta_stream_kernel(f.s, &(vta_uop){0}, 1);
    vta_stream_gemm(
        f.s,
        &(vta_gemm){.kernel = even, .init = true, .iter_out = 8, .iter_in = 1, .dst_out = 2, .src_out = 2});
    load(&f, VTA_MEM_INP, 1, 0, 1);  /* odd: nobody read it */
    load(&f, VTA_MEM_INP, 16, 0, 1); /* beyond */
    load(&f, VTA_MEM_INP, 14, 0, 1); /* the last that was read */
    vta_code *code = seal(&f);
    vta_code_describe(code, &info);
    assert_string_equal(shape(code, 4, text, sizeof text), "load");
    assert_string_equal(shape(code, 5, text, sizeof text), "load");
    assert_string_equal(shape(code, 6, text, sizeof text), "load pop_next");
    assert_int_equal(info.tokens, 2);
    vta_code_destroy(code);
}

/* What one layer stores, the next one loads: through compute, by a nop only where nothing there waits for the
 * store yet. */
static void stored_bytes_are_loaded_after_the_store(void **state)
{
    (void)state;
    static const char *const want[] = {
        "compute",                    /* micro-ops */
        "compute push_next",          /* clear */
        "store pop_prev push_prev",   /* bytes 0 … 63 */
        "load",                       /* other bytes: at once */
        "compute pop_next push_prev", /* nop */
        "load pop_next",              /* the same bytes */
        "load",                       /* and their neighbours */
        "compute",
    };
    fixture f = begin();
    vta_stream_gemm(f.s,
                    &(vta_gemm){.kernel = f.unit, .reset = true, .iter_out = 1, .iter_in = 4, .dst_in = 1});
    store_at(&f, 0, 0, 4);
    f.in = f.out;
    load(&f, VTA_MEM_INP, 0, 4, 8);
    load(&f, VTA_MEM_INP, 8, 3, 1);
    load(&f, VTA_MEM_INP, 9, 0, 2);
    vta_code *code = seal(&f);
    assert_shapes(code, want, 8);
    vta_code_info info;
    vta_code_describe(code, &info);
    assert_int_equal(info.nops, 1);
    vta_code_destroy(code);
}

static void a_barrier_orders_everything(void **state)
{
    (void)state;
    static const char *const want[] = {
        "load push_next",
        "compute",                             /* micro-ops */
        "compute push_prev push_next",         /* clear, unrelated to both */
        "store pop_prev push_prev",            /* barrier after it */
        "compute pop_prev pop_next push_prev", /* the first of compute waits for both */
        "load pop_next",                       /* through it */
        "compute",
    };
    fixture f = begin();
    load(&f, VTA_MEM_INP, 0, 0, 1);
    vta_stream_gemm(f.s, &(vta_gemm){.kernel = f.unit, .reset = true, .iter_out = 1, .iter_in = 1});
    store_at(&f, 0, 0, 1);
    vta_stream_barrier(f.s);
    vta_stream_alu(
        f.s, &(vta_alu){.kernel = f.unit, .op = VTA_ALU_MOV, .use_imm = true, .iter_out = 1, .iter_in = 1});
    load(&f, VTA_MEM_INP, 100, 0, 1);
    vta_code *code = seal(&f);
    char text[64];
    assert_string_equal(shape(code, 0, text, sizeof text), want[0]);
    assert_string_equal(shape(code, 4, text, sizeof text), want[4]);
    assert_string_equal(shape(code, 5, text, sizeof text), want[5]);
    vta_code_info info;
    vta_code_describe(code, &info);
    assert_int_equal(info.insn_count, 7);
    vta_code_destroy(code);
}

/* More than 255 products before the first load may wait for one: tokens under way stay below the capacity. */
static void many_tokens_do_not_block(void **state)
{
    (void)state;
    enum { MANY = 1000 };
    vta_device *device = open_device("fsim:pynq?strict=1&check=1");
    fixture f = begin();
    load(&f, VTA_MEM_WGT, 0, 0, 1);
    for (uint32_t i = 0; i < MANY; i++) {
        load(&f, VTA_MEM_INP, i, i, 1);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        gemm_at(&f, i, i, 0);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        load(&f, VTA_MEM_INP, i, i + 1, 1);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        gemm_at(&f, i, i, 0);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        store_at(&f, i, i, 1);
    }
    vta_code *code = seal(&f);
    vta_code_info info;
    vta_code_describe(code, &info);
    vta_diag diag = {0};
    vta_job *job = NULL;
    void *in = NULL;
    void *out = NULL;
    assert_int_equal(vta_job_create(code, device, &job, &diag), VTA_OK);
    assert_int_equal(vta_job_memory(job, (vta_buffer){0}, &in, &diag), VTA_OK);
    assert_int_equal(vta_job_memory(job, (vta_buffer){1}, &out, &diag), VTA_OK);
    int8_t *x = in;
    for (int i = 0; i < 1 << 20; i++) {
        x[i] = (int8_t)(i * 13 + i / 300);
    }
    if (vta_job_run(job, NULL, 0, 60, NULL, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    for (int i = 0; i < MANY; i++) {
        for (int o = 0; o < 16; o++) {
            int sum = 0;
            for (int c = 0; c < 16; c++) {
                sum += x[(i + 1) * 16 + c] * x[o * 16 + c];
            }
            assert_int_equal(((int8_t *)out)[i * 16 + o], (int8_t)sum);
        }
    }
    vta_job_destroy(job);
    vta_code_destroy(code);
    vta_device_close(device);
}

static void manual_flags_are_the_callers(void **state)
{
    (void)state;
    static const char *const want[] = {
        "load push_next",           "compute",          "compute pop_prev push_next",
        "store pop_prev push_prev", "compute pop_next", "compute"};
    fixture f = begin();
    vta_stream_manual(f.s);
    vta_stream_flags(f.s, VTA_PUSH_NEXT);
    load(&f, VTA_MEM_INP, 0, 0, 1);
    vta_stream_flags(f.s, VTA_POP_PREV | VTA_PUSH_NEXT);
    vta_stream_gemm(f.s, &(vta_gemm){.kernel = f.unit, .reset = true, .iter_out = 1, .iter_in = 1});
    vta_stream_flags(f.s, VTA_POP_PREV | VTA_PUSH_PREV);
    store_at(&f, 0, 0, 1);
    vta_stream_flags(f.s, VTA_POP_NEXT);
    vta_stream_nop(f.s, VTA_UNIT_COMPUTE);
    vta_code *code = seal(&f);
    assert_shapes(code, want, 6);
    vta_code_destroy(code);
}

/* Errors: each provoked once. */

typedef void bad_call(fixture *f);

static void assert_fails(bad_call *provoke, vta_status code, const char *part)
{
    vta_diag diag = {0};
    vta_code *sealed = NULL;
    fixture f = begin();
    provoke(&f);
    assert_int_equal(vta_stream_status(f.s), code);
    store_at(&f, 1 << 20, 0, 1); /* the first failure stays */
    assert_int_equal(vta_stream_finish(f.s, &sealed, &diag), code);
    assert_null(sealed);
    assert_says(&diag, code, part);
    vta_stream_destroy(f.s);
}

static void load_uop(fixture *f)
{
    load(f, VTA_MEM_UOP, 0, 0, 1);
}
static void load_out(fixture *f)
{
    load(f, VTA_MEM_OUT, 0, 0, 1);
}
static void load_too_wide(fixture *f)
{
    load(f, VTA_MEM_INP, 0, 0, 70000);
}
static void load_too_high(fixture *f)
{
    vta_stream_load2d(f->s,
                      &(vta_load2d){.memory = VTA_MEM_INP, .buffer = f->in, .y_size = 16384, .x_size = 1});
}
static void load_negative(fixture *f)
{
    load(f, VTA_MEM_INP, -1, 0, 1);
}
static void load_far(fixture *f)
{
    load(f, VTA_MEM_INP, 0, INT64_C(1) << 32, 1);
}
static void load_pad(fixture *f)
{
    vta_stream_load2d(
        f->s, &(vta_load2d){.memory = VTA_MEM_INP, .buffer = f->in, .y_size = 1, .x_size = 1, .x_pad_0 = 17});
}
static void load_pad_value(fixture *f)
{
    vta_stream_load2d(
        f->s,
        &(vta_load2d){.memory = VTA_MEM_INP, .buffer = f->in, .y_size = 1, .x_size = 1, .pad_value = 200});
}
static void load_beyond_scratchpad(fixture *f)
{
    load(f, VTA_MEM_INP, 2000, 0, 49);
}
static void load_beyond_buffer(fixture *f)
{
    load(f, VTA_MEM_WGT, 0, 4095, 2);
}
static void load_undeclared(fixture *f)
{
    f->in.index = 5;
    load(f, VTA_MEM_INP, 0, 0, 1);
}
static void store_beyond_scratchpad(fixture *f)
{
    store_at(f, 2040, 0, 9);
}
static void store_beyond_buffer(fixture *f)
{
    vta_stream_store2d(
        f->s, &(vta_store2d){.buffer = f->out, .offset = 65000, .y_size = 3, .x_size = 1, .x_stride = 300});
}
static void gemm_beyond_acc(fixture *f)
{
    vta_stream_gemm(
        f->s, &(vta_gemm){.kernel = f->unit, .reset = true, .iter_out = 1, .iter_in = 2049, .dst_in = 1});
}
static void gemm_beyond_inp(fixture *f)
{
    vta_stream_gemm(f->s, &(vta_gemm){.kernel = f->unit, .iter_out = 3, .iter_in = 1, .src_out = 1024});
}
static void gemm_beyond_wgt(fixture *f)
{
    vta_stream_gemm(
        f->s, &(vta_gemm){.kernel = f->unit, .iter_out = 2, .iter_in = 2, .wgt_out = 1000, .wgt_in = 24});
}
static void gemm_iterations(fixture *f)
{
    vta_stream_gemm(f->s, &(vta_gemm){.kernel = f->unit, .iter_out = 16384, .iter_in = 1});
}
static void gemm_step(fixture *f)
{
    vta_stream_gemm(f->s, &(vta_gemm){.kernel = f->unit, .iter_out = 1, .iter_in = 1, .dst_out = 2048});
}
static void gemm_reset_and_init(fixture *f)
{
    vta_stream_gemm(f->s,
                    &(vta_gemm){.kernel = f->unit, .reset = true, .init = true, .iter_out = 1, .iter_in = 1});
}
static void gemm_no_kernel(fixture *f)
{
    vta_stream_gemm(f->s, &(vta_gemm){.kernel = {99}, .iter_out = 1, .iter_in = 1});
}
static void alu_immediate(fixture *f)
{
    vta_stream_alu(f->s, &(vta_alu){.kernel = f->unit,
                                    .op = VTA_ALU_ADD,
                                    .use_imm = true,
                                    .imm = 70000,
                                    .iter_out = 1,
                                    .iter_in = 1});
}
static void alu_shift(fixture *f)
{
    vta_stream_alu(
        f->s,
        &(vta_alu){
            .kernel = f->unit, .op = VTA_ALU_SHR, .use_imm = true, .imm = 32, .iter_out = 1, .iter_in = 1});
}
static void alu_operation(fixture *f)
{
    vta_stream_alu(f->s, &(vta_alu){.kernel = f->unit, .op = (vta_alu_op)7, .iter_out = 1, .iter_in = 1});
}
static void alu_source(fixture *f)
{
    vta_stream_alu(
        f->s,
        &(vta_alu){
            .kernel = f->unit, .op = VTA_ALU_ADD, .iter_out = 2, .iter_in = 2, .src_out = 2047, .src_in = 1});
}
static void requant_params(fixture *f)
{
    vta_stream_requant(f->s, &(vta_requant){.params = 1024, .iter_out = 1, .iter_in = 1});
}
static void requant_range(fixture *f)
{
    vta_stream_requant(f->s, &(vta_requant){.iter_out = 1, .iter_in = 1, .low = 5, .high = 4});
}
static void requant_zero_point(fixture *f)
{
    vta_stream_requant(f->s, &(vta_requant){.iter_out = 1, .iter_in = 1, .zero_point = 128});
}
static void requant_destination(fixture *f)
{
    vta_stream_requant(f->s, &(vta_requant){.dst = 2048, .iter_out = 1, .iter_in = 1});
}
static void depthwise_taps(fixture *f)
{
    vta_stream_depthwise(
        f->s, &(vta_depthwise){.kernel = f->unit, .iter_out = 1, .iter_in = 1, .taps_x = 5, .taps_y = 4});
}
static void depthwise_source(fixture *f)
{
    vta_stream_depthwise(f->s, &(vta_depthwise){.kernel = f->unit,
                                                .iter_out = 9,
                                                .iter_in = 1,
                                                .src_out = 250,
                                                .taps_x = 3,
                                                .taps_y = 3,
                                                .col_step = 1,
                                                .row_step = 30});
}
static void kernel_empty(fixture *f)
{
    (void)vta_stream_kernel(f->s, &(vta_uop){0}, 0);
}
static void kernel_too_long(fixture *f)
{
    static const vta_uop uops[8193];
    (void)vta_stream_kernel(f->s, uops, 8193);
}
static void kernel_field(fixture *f)
{
    (void)vta_stream_kernel(f->s, &(vta_uop){.dst = 2048}, 1);
}
static void buffers_too_many(fixture *f)
{
    char name[16];
    for (int i = 0; i < 6; i++) {
        (void)snprintf(name, sizeof name, "b%d", i);
        (void)vta_stream_buffer(f->s, name, 64);
    }
}
static void buffer_twice(fixture *f)
{
    (void)vta_stream_buffer(f->s, "x", 64);
}
static void buffer_empty(fixture *f)
{
    (void)vta_stream_buffer(f->s, "z", 0);
}

static void buffer_of_odd_size(fixture *f)
{
    (void)vta_stream_buffer(f->s, "odd", 18);
}

static void buffer_of_bad_name(fixture *f)
{
    (void)vta_stream_buffer(f->s, "a\nb", 16);
}
static void flags_without_manual(fixture *f)
{
    vta_stream_flags(f->s, VTA_POP_PREV);
}
static void flags_unknown(fixture *f)
{
    vta_stream_manual(f->s);
    vta_stream_flags(f->s, 16);
}
static void manual_late(fixture *f)
{
    load(f, VTA_MEM_INP, 0, 0, 1);
    vta_stream_manual(f->s);
}
static void manual_barrier(fixture *f)
{
    vta_stream_manual(f->s);
    vta_stream_barrier(f->s);
}
static void nop_of_fetch(fixture *f)
{
    vta_stream_nop(f->s, VTA_UNIT_FETCH);
}

static void every_bad_argument_is_named(void **state)
{
    (void)state;
    static const struct {
        bad_call *provoke;
        vta_status code;
        const char *text;
    } cases[] = {
        {load_uop, VTA_INVALID,
         "call 2 (load2d): memory 'uop' is not for load2d; it takes inp, wgt, acc, acc8"},
        {load_out, VTA_INVALID, "memory 'out' is not for load2d"},
        {load_too_wide, VTA_RANGE,
         "call 2 (load2d): load: x_size 70000 does not fit in its field (limit: 65535)"},
        {load_too_high, VTA_RANGE, "load: y_size 16384 does not fit in its field (limit: 16383)"},
        {load_negative, VTA_RANGE, "load: sram_base -1 does not fit in its field"},
        {load_far, VTA_RANGE, "load: dram_base 4294967296 does not fit in its field (limit: 4294967295)"},
        {load_pad, VTA_RANGE, "load: x_pad_0 17 does not fit in its field (limit: 15)"},
        {load_pad_value, VTA_RANGE, "pad_value 200 is not in -128 … 127"},
        {load_beyond_scratchpad, VTA_RANGE,
         "1 rows of 49 entries from 2000 on exceed the 2048 entries of inp"},
        {load_beyond_buffer, VTA_RANGE,
         "wgt elements up to 4097 are beyond buffer 'x', which has 4096 of 256 bytes"},
        {load_undeclared, VTA_INVALID, "buffer 5 was not declared; the stream has 2"},
        {store_beyond_scratchpad, VTA_RANGE, "call 2 (store2d): 1 rows of 9 entries from 2040 on exceed"},
        {store_beyond_buffer, VTA_RANGE,
         "out elements up to 65601 are beyond buffer 'y', which has 65536 of 16 bytes"},
        {gemm_beyond_acc, VTA_RANGE, "call 2 (gemm): dst reaches entry 2048, but acc has 2048"},
        {gemm_beyond_inp, VTA_RANGE, "src reaches entry 2048, but inp has 2048"},
        {gemm_beyond_wgt, VTA_RANGE, "wgt reaches entry 1024, but wgt has 1024"},
        {gemm_iterations, VTA_RANGE, "gemm: iter_out 16384 does not fit in its field (limit: 16383)"},
        {gemm_step, VTA_RANGE, "gemm: dst_out 2048 does not fit in its field (limit: 2047)"},
        {gemm_reset_and_init, VTA_ILLEGAL_INSN, "gemm: init 1"},
        {gemm_no_kernel, VTA_INVALID, "kernel 99 was not recorded; the stream has 1"},
        {alu_immediate, VTA_RANGE, "alu: imm 70000 does not fit in its field (limit: 32767)"},
        {alu_shift, VTA_ILLEGAL_INSN, "alu: imm 32 (limit: 31)"},
        {alu_operation, VTA_ILLEGAL_INSN, "alu: alu_op 7"},
        {alu_source, VTA_RANGE, "call 2 (alu): src reaches entry 2048, but acc has 2048"},
        {requant_params, VTA_RANGE, "call 2 (requant): params 1024 is not in 0 … 1023"},
        {requant_range, VTA_ILLEGAL_INSN, "requant: low 5"},
        {requant_zero_point, VTA_RANGE, "requant: zero_point 128 does not fit in its field (limit: 127)"},
        {requant_destination, VTA_RANGE, "dst 2048 is not in 0 … 2047"},
        {depthwise_taps, VTA_ILLEGAL_INSN, "call 2 (depthwise): depthwise: taps"},
        {depthwise_source, VTA_RANGE, "src reaches entry 2062, but inp has 2048"},
        {kernel_empty, VTA_RANGE, "a kernel of 0 micro-ops is not possible (1 to 8192, the depth of uop)"},
        {kernel_too_long, VTA_RANGE, "a kernel of 8193 micro-ops is not possible"},
        {kernel_field, VTA_RANGE,
         "kernel 1: micro-op 0: micro-op: dst 2048 does not fit in its field (limit: 2047)"},
        {buffers_too_many, VTA_RANGE, "call 7 (buffer): buffer 'b5' is one too many; a stream has 7 at most"},
        {buffer_twice, VTA_INVALID, "buffer 'x' is declared twice"},
        {buffer_empty, VTA_INVALID,
         "of 0 bytes: a buffer needs a size that is a multiple of 4, and a name of 1"},
        {buffer_of_odd_size, VTA_INVALID,
         "buffer 'odd' of 18 bytes: a buffer needs a size that is a multiple"},
        {buffer_of_bad_name, VTA_INVALID,
         "a name of 1 to 200 characters without quotation marks and control"},
        {flags_without_manual, VTA_INVALID, "flags 0x1 are for manual streams; call vta_stream_manual first"},
        {flags_unknown, VTA_INVALID, "flags 0x10 have bits without a meaning"},
        {manual_late, VTA_INVALID, "the stream has instructions already; it must come before the first"},
        {manual_barrier, VTA_INVALID, "a barrier is for streams whose tokens the library places"},
        {nop_of_fetch, VTA_INVALID, "unit 0 has no nop; load, compute and store have"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_fails(cases[i].provoke, cases[i].code, cases[i].text);
    }
}

static void a_sealed_stream_takes_no_more(void **state)
{
    (void)state;
    vta_diag diag = {0};
    vta_code *code = NULL;
    vta_code *second = NULL;
    fixture f = begin();
    assert_int_equal(vta_stream_finish(f.s, &code, &diag), VTA_OK);
    load(&f, VTA_MEM_INP, 0, 0, 1);
    assert_int_equal(vta_stream_finish(f.s, &second, &diag), VTA_INVALID);
    assert_null(second);
    assert_says(&diag, VTA_INVALID, "load2d: the stream is sealed; record another");
    vta_stream_destroy(f.s);
    vta_stream_destroy(NULL);
    vta_code_destroy(code);
    vta_code_destroy(NULL);
}

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
        cmocka_unit_test(a_chain_has_a_token_per_link),
        cmocka_unit_test(double_buffering_does_not_serialize),
        cmocka_unit_test(interleaved_sets_are_independent),
        cmocka_unit_test(stored_bytes_are_loaded_after_the_store),
        cmocka_unit_test(a_barrier_orders_everything),
        cmocka_unit_test(many_tokens_do_not_block),
        cmocka_unit_test(manual_flags_are_the_callers),
        cmocka_unit_test(every_bad_argument_is_named),
        cmocka_unit_test(a_sealed_stream_takes_no_more),
        cmocka_unit_test(tags_stay_with_their_calls),
        cmocka_unit_test(code_is_a_program),
        cmocka_unit_test(replay_binds_new_memory),
        cmocka_unit_test(jobs_check_their_addresses),
        cmocka_unit_test(two_streams_on_two_devices_at_once),
        cmocka_unit_test(two_devices_share_one_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
