/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded streams: the tokens that the library places, or the caller.
 */
#include <stdio.h>

#include "stream_lab.h"

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

/* Bytes that one layer stores are loaded by the next one: through compute, by a nop only where nothing there
 * waits for the store yet. */
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
