/* SPDX-License-Identifier: Apache-2.0
 *
 * Code from a program: what is refused, with its sentence. That what is taken is the same as what was saved
 * is shown by runtime_random_test.c, on random code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vta/runtime.h"

/* The symbols of the program that `record` makes. */
enum { TILES = 6, IN = 0, OUT = 1, UOPS = 2 };

/* out = in + in, on int8 tiles of `tiny`. */
static vta_program record(void)
{
    vta_config config;
    vta_stream *s = NULL;
    vta_code *code = NULL;
    vta_program program = {0};
    vta_diag diag = {0};
    assert_int_equal(vta_config_load("tiny", &config, NULL), VTA_OK);
    assert_int_equal(vta_stream_create(&config, &s, NULL), VTA_OK);
    const uint64_t bytes = (uint64_t)TILES * config.elem_bytes[VTA_MEM_OUT];
    const vta_buffer in = vta_stream_buffer(s, "input", bytes);
    const vta_buffer out = vta_stream_buffer(s, "output", bytes);
    const vta_kernel all = vta_stream_kernel(s, &(vta_uop){0}, 1);
    vta_stream_tag(s, 5);
    vta_stream_load2d(s, &(vta_load2d){.memory = VTA_MEM_ACC8, .buffer = in, .y_size = 1, .x_size = TILES});
    vta_stream_tag(s, 77);
    vta_stream_alu(
        s, &(vta_alu){
               .kernel = all, .op = VTA_ALU_ADD, .iter_out = 1, .iter_in = TILES, .dst_in = 1, .src_in = 1});
    vta_stream_store2d(s, &(vta_store2d){.buffer = out, .y_size = 1, .x_size = TILES});
    if (vta_stream_finish(s, &code, &diag) != VTA_OK || vta_code_program(code, &program, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    vta_code_destroy(code);
    vta_stream_destroy(s);
    return program;
}

static uint32_t find(const vta_program *program, vta_opcode opcode, vta_memory memory, vta_insn *insn)
{
    for (uint32_t i = 0; i < program->insn_count; i++) {
        assert_int_equal(vta_insn_decode(&program->config, program->insns[i], insn, NULL), VTA_OK);
        if (insn->opcode == opcode && insn->mem.memory == memory) {
            return i;
        }
    }
    fail_msg("no such instruction");
    return 0;
}

static void put(vta_program *program, uint32_t at, const vta_insn *insn)
{
    assert_int_equal(vta_insn_encode(&program->config, insn, &program->insns[at], NULL), VTA_OK);
}

static void rename_to(vta_symbol *symbol, const char *name)
{
    free(symbol->name);
    symbol->name = strdup(name);
    assert_non_null(symbol->name);
}

/* One change each, from a program that is fine. */

static void no_name(vta_program *p)
{
    rename_to(&p->symbols[OUT], "");
}

static void two_of_a_name(vta_program *p)
{
    rename_to(&p->symbols[OUT], "input");
}

static void shared_segment(vta_program *p)
{
    p->symbols[OUT].segment = 0;
}

static void segment_skipped(vta_program *p)
{
    p->symbols[OUT].segment = 4;
}

static void segment_out_of_range(vta_program *p)
{
    p->symbols[OUT].segment = VTA_SEGMENTS;
}

static void not_at_the_start(vta_program *p)
{
    p->symbols[IN].offset = 4;
}

static void empty_buffer(vta_program *p)
{
    p->symbols[IN].size = 0;
}

static void uops_without_contents(vta_program *p)
{
    free(p->symbols[UOPS].data);
    p->symbols[UOPS].data = NULL;
}

static void uops_of_another_kind(vta_program *p)
{
    p->symbols[UOPS].memory = VTA_MEM_WGT;
}

static void uops_from_a_buffer(vta_program *p)
{
    vta_insn insn;
    const uint32_t at = find(p, VTA_OP_LOAD, VTA_MEM_UOP, &insn);
    insn.mem.segment = 0;
    put(p, at, &insn);
}

static void store_over_uops(vta_program *p)
{
    vta_insn insn;
    const uint32_t at = find(p, VTA_OP_STORE, VTA_MEM_OUT, &insn);
    insn.mem.segment = VTA_SEGMENTS - 1;
    put(p, at, &insn);
}

static void beyond_the_buffer(vta_program *p)
{
    vta_insn insn;
    const uint32_t at = find(p, VTA_OP_STORE, VTA_MEM_OUT, &insn);
    insn.mem.dram_base = 1;
    put(p, at, &insn);
}

static void far_beyond_the_buffer(vta_program *p)
{
    vta_insn insn;
    const uint32_t at = find(p, VTA_OP_LOAD, VTA_MEM_ACC8, &insn);
    insn.mem.dram_base = UINT32_MAX;
    put(p, at, &insn);
}

static void segment_that_is_not_there(vta_program *p)
{
    vta_insn insn;
    const uint32_t at = find(p, VTA_OP_LOAD, VTA_MEM_ACC8, &insn);
    insn.mem.segment = 3;
    put(p, at, &insn);
}

static void token_too_few(vta_program *p)
{
    vta_insn insn;
    const uint32_t at = find(p, VTA_OP_STORE, VTA_MEM_OUT, &insn);
    insn.pop_prev = 0;
    put(p, at, &insn);
}

static void wrong_uop(vta_program *p)
{
    const vta_uop far = {.dst = p->config.depth[VTA_MEM_ACC] - 1};
    uint32_t word = 0;
    assert_int_equal(vta_uop_encode(&p->config, &far, &word, NULL), VTA_OK);
    memcpy(p->symbols[UOPS].data, &word, sizeof word);
}

static void illegal_bits(vta_program *p)
{
    p->insns[0].w[0] |= 7;
}

static void no_finish(vta_program *p)
{
    p->insn_count--;
}

static void nothing(vta_program *p)
{
    p->insn_count = 0;
}

static const struct {
    void (*change)(vta_program *program);
    vta_status status;
    const char *text;
} refusals[] = {
    {no_name, VTA_INVALID, "a symbol of segment 1 has no name"},
    {two_of_a_name, VTA_INVALID, "two symbols are called 'input'"},
    {shared_segment, VTA_INVALID, "'input' and 'output' share segment 0; in code, each buffer has a segment"},
    {segment_skipped, VTA_INVALID, "segment 1 has no symbol; in code, buffers are numbered from 0"},
    {segment_out_of_range, VTA_INVALID, "symbol 'output': segment 8, memory 4; limits: 7, 7"},
    {not_at_the_start, VTA_INVALID, "symbol 'input': 24 bytes at offset 4; in code, a buffer begins its"},
    {empty_buffer, VTA_INVALID, "symbol 'input': 0 bytes at offset 0; in code, a buffer begins its segment"},
    {uops_without_contents, VTA_INVALID, "symbol 'uops': segment 7 is for micro-ops, with their contents"},
    {uops_of_another_kind, VTA_INVALID, "symbol 'uops': segment 7 is for micro-ops, with their contents"},
    {uops_from_a_buffer, VTA_INVALID, "load of uop in segment 0; in code, segment 7 has the micro-ops, and"},
    {store_over_uops, VTA_INVALID, "store of out in segment 7; in code, segment 7 has the micro-ops, and"},
    {beyond_the_buffer, VTA_ILLEGAL_PROGRAM, "dram_base 1 in segment 1: 24 bytes at"},
    {far_beyond_the_buffer, VTA_ILLEGAL_PROGRAM, "dram_base 4294967295 in segment 0: 24 bytes at"},
    {segment_that_is_not_there, VTA_ILLEGAL_PROGRAM, "dram_base 0 in segment 3: 24 bytes at"},
    {token_too_few, VTA_ILLEGAL_PROGRAM, "no token orders them"},
    {wrong_uop, VTA_ILLEGAL_PROGRAM, "dst of micro-op 0 reaches"},
    {illegal_bits, VTA_ILLEGAL_PROGRAM, "instruction 0 ("},
    {no_finish, VTA_ILLEGAL_PROGRAM, "the last instruction must be finish"},
    {nothing, VTA_ILLEGAL_PROGRAM, "the program is empty, it must end with finish"},
};

static void what_is_no_code_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        vta_program program = record();
        vta_diag diag = {0};
        vta_code *code = (vta_code *)&diag;
        refusals[i].change(&program);
        const vta_status status = vta_code_from_program(&program, &code, &diag);
        if (status != refusals[i].status || strstr(diag.text, refusals[i].text) == NULL) {
            fail_msg("case %zu: status %d, '%s'; expected '%s'", i, (int)status, diag.text, refusals[i].text);
        }
        assert_null(code);
        vta_program_free(&program);
    }
}

static void what_is_code_is_taken(void **state)
{
    (void)state;
    vta_program program = record();
    vta_code *code = NULL;
    vta_code_info info;
    vta_diag diag = {0};
    assert_int_equal(program.tags[0], 5);
    if (vta_code_from_program(&program, &code, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    vta_code_describe(code, &info);
    assert_int_equal(info.buffer_count, 2);
    assert_int_equal(info.uop_count, 1);
    assert_memory_equal(vta_code_tags(code), program.tags, info.insn_count * sizeof(uint32_t));
    vta_code_destroy(code);

    free(program.tags);
    program.tags = NULL;
    assert_int_equal(vta_code_from_program(&program, &code, &diag), VTA_OK);
    for (uint32_t i = 0; i < info.insn_count; i++) {
        assert_int_equal(vta_code_tags(code)[i], 0);
    }
    vta_code_destroy(code);
    vta_program_free(&program);
}

/* A text by hand is code, too, where it has that shape. */
static void a_text_is_code(void **state)
{
    (void)state;
    static const char text[] = ".config tiny\n"
                               ".data x acc8 2 in 0\n"
                               ".data y out 2 in 1\n"
                               ".uops move in 7 { for i in 2 { i, i } }\n"
                               ".tag 3\n"
                               "load.uop move\n"
                               "load.acc8 0, x\n"
                               ".tag 4\n"
                               "alu.add move, 1 [push next]\n"
                               "[pop prev] store 0, y\n"
                               "finish\n";
    vta_program program = {0};
    vta_code *code = NULL;
    vta_device *device = NULL;
    vta_job *job = NULL;
    vta_diag diag = {0};
    if (vta_assemble(text, sizeof text - 1, "text", NULL, &program, &diag) != VTA_OK ||
        vta_code_from_program(&program, &code, &diag) != VTA_OK ||
        vta_device_open("fsim:tiny?strict=1", &program.config, &device, &diag) != VTA_OK ||
        vta_job_create(code, device, &job, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    assert_memory_equal(vta_code_tags(code), ((uint32_t[]){3, 3, 4, 4, 4}), 5 * sizeof(uint32_t));
    vta_program_free(&program);
    for (int run = 0; run < 2; run++) {
        void *x = NULL;
        void *y = NULL;
        assert_int_equal(vta_job_memory(job, (vta_buffer){0}, &x, NULL), VTA_OK);
        assert_int_equal(vta_job_memory(job, (vta_buffer){1}, &y, NULL), VTA_OK);
        const int lanes = 2 * (int)vta_device_config(device)->elem_bytes[VTA_MEM_OUT];
        for (int i = 0; i < lanes; i++) {
            ((int8_t *)x)[i] = (int8_t)(i * 9 - 50 * run);
        }
        assert_int_equal(vta_job_run(job, NULL, 0, 10, NULL, &diag), VTA_OK);
        for (int i = 0; i < lanes; i++) {
            assert_int_equal(((int8_t *)y)[i], (int8_t)(i * 9 - 50 * run + 1));
        }
    }
    vta_job_destroy(job);
    vta_device_close(device);
    vta_code_destroy(code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_code_is_refused),
        cmocka_unit_test(what_is_code_is_taken),
        cmocka_unit_test(a_text_is_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
