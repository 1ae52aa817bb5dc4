/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that the accelerator itself writes over: `test_board_programs URI`, a device that checks
 * programs. The processor sees what it wrote, a harmless program; the memory holds one that stores far away.
 * Whichever of the two is checked is what must run: the harmless one runs, or the other one is refused. A
 * driver that runs the memory as it is ends in a bus error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rng.h"
#include "seed.h"
#include "vta/runtime.h"

enum { ROUNDS = 6, TILES = 8 };

static const char *uri = "fsim:tiny?check=1";

/* Code that adds `addend` to so many tiles. */
static vta_code *record(const vta_config *config, uint32_t tiles, int64_t addend)
{
    vta_stream *s = NULL;
    vta_code *code = NULL;
    vta_diag diag = {0};
    const uint64_t bytes = (uint64_t)tiles * config->elem_bytes[VTA_MEM_OUT];
    assert_int_equal(vta_stream_create(config, &s, NULL), VTA_OK);
    const vta_buffer in = vta_stream_buffer(s, "input", bytes);
    const vta_buffer out = vta_stream_buffer(s, "output", bytes);
    const vta_kernel all = vta_stream_kernel(s, &(vta_uop){0}, 1);
    vta_stream_load2d(s, &(vta_load2d){.memory = VTA_MEM_ACC8, .buffer = in, .y_size = 1, .x_size = tiles});
    vta_stream_alu(s, &(vta_alu){.kernel = all,
                                 .op = VTA_ALU_ADD,
                                 .use_imm = true,
                                 .imm = addend,
                                 .iter_out = 1,
                                 .iter_in = tiles,
                                 .dst_in = 1,
                                 .src_in = 1});
    vta_stream_store2d(s, &(vta_store2d){.buffer = out, .y_size = 1, .x_size = tiles});
    if (vta_stream_finish(s, &code, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    vta_stream_destroy(s);
    return code;
}

static vta_mem take(vta_device *device, size_t size)
{
    vta_mem mem;
    vta_diag diag = {0};
    if (vta_device_alloc(device, size, &mem, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    return mem;
}

static void write_all(vta_device *device, const vta_mem *mem, const void *bytes, size_t size)
{
    memcpy(mem->host, bytes, size);
    vta_device_flush(device, mem, 0, mem->size);
}

/* The same instructions, but the stores go to the end of what an offset reaches. */
static vta_word *far_away(const vta_config *config, const vta_word *insns, uint32_t count)
{
    vta_word *out = malloc(count * sizeof *out);
    assert_non_null(out);
    for (uint32_t i = 0; i < count; i++) {
        vta_insn insn;
        assert_int_equal(vta_insn_decode(config, insns[i], &insn, NULL), VTA_OK);
        if (insn.opcode == VTA_OP_STORE && insn.mem.x_size > 0) {
            insn.mem.dram_base = UINT32_MAX;
        }
        assert_int_equal(vta_insn_encode(config, &insn, &out[i], NULL), VTA_OK);
    }
    return out;
}

/* The accelerator copies `bytes` over `to`, which nobody invalidates. */
static void store_over(vta_device *device, const vta_mem *to, const void *bytes)
{
    const vta_config *config = vta_device_config(device);
    const uint32_t tiles = (uint32_t)(to->size / config->elem_bytes[VTA_MEM_OUT]);
    vta_code *code = record(config, tiles, 0);
    vta_mem from = take(device, to->size);
    vta_job *job = NULL;
    vta_diag diag = {0};
    write_all(device, &from, bytes, to->size);
    assert_int_equal(vta_job_create(code, device, &job, &diag), VTA_OK);
    if (vta_job_run(job, (const uint64_t[]){from.addr, to->addr}, 2, 60, NULL, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    vta_job_destroy(job);
    vta_device_free(device, &from);
    vta_code_destroy(code);
}

/* Returns whether it ran. Of a device elsewhere the checker's word comes with the end. */
static bool run_or_refuse(vta_device *device, const vta_launch *launch, vta_diag *diag)
{
    vta_report report = {0};
    vta_status status = vta_device_submit(device, launch, diag);
    status = status == VTA_OK ? vta_device_wait(device, 60, &report, diag) : status;
    if (status != VTA_OK && (status != VTA_ILLEGAL_PROGRAM || report.error != VTA_ERROR_NONE)) {
        fail_msg("%s", diag->text);
    }
    return status == VTA_OK;
}

static void once(vta_device *device, rng *r)
{
    const vta_config *config = vta_device_config(device);
    const size_t size = TILES * (size_t)config->elem_bytes[VTA_MEM_OUT];
    const int64_t addend = 1 + (int64_t)rng_below(r, 100);
    vta_code *code = record(config, TILES, addend);
    vta_code_info info;
    vta_program program;
    vta_diag diag = {0};
    vta_code_describe(code, &info);
    assert_int_equal(vta_code_program(code, &program, NULL), VTA_OK);
    const vta_symbol *uops = vta_program_symbol(&program, "uops");
    assert_non_null(uops);
    vta_word *harmful = far_away(config, vta_code_insns(code), info.insn_count);
    vta_mem mems[] = {take(device, info.insn_count * sizeof(vta_word)), take(device, (size_t)uops->size),
                      take(device, size), take(device, size)};
    write_all(device, &mems[0], vta_code_insns(code), mems[0].size);
    write_all(device, &mems[1], uops->data, mems[1].size);
    uint8_t *in = mems[2].host;
    for (size_t i = 0; i < size; i++) {
        in[i] = (uint8_t)rng_below(r, 20);
    }
    vta_device_flush(device, &mems[2], 0, size);
    store_over(device, &mems[0], harmful);
    const vta_launch launch = {.insn_addr = mems[0].addr,
                               .insn_count = info.insn_count,
                               .base = {mems[2].addr, mems[3].addr, [VTA_SEGMENTS - 1] = mems[1].addr}};
    const bool ran = run_or_refuse(device, &launch, &diag);
    vta_device_invalidate(device, &mems[3], 0, size);
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(((const uint8_t *)mems[3].host)[i], ran ? (uint8_t)(in[i] + addend) : 0);
    }
    for (size_t i = 0; i < sizeof mems / sizeof mems[0]; i++) {
        vta_device_free(device, &mems[i]);
    }
    free(harmful);
    vta_program_free(&program);
    vta_code_destroy(code);
}

static void what_was_checked_runs(void **state)
{
    (void)state;
    rng r = {test_seed("board_programs")};
    vta_device *device = NULL;
    vta_diag diag = {0};
    if (vta_device_open(uri, NULL, &device, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    for (int round = 0; round < ROUNDS; round++) {
        once(device, &r);
    }
    vta_device_close(device);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_checked_runs)};
    uri = argc > 1 ? argv[1] : uri;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
