/* SPDX-License-Identifier: Apache-2.0
 *
 * A job's memory on a device whose caches nobody keeps coherent: `test_board_caches URI`. Host and device
 * both write a buffer, in ranges that share pages and lines; each keeps what it wrote. The expected bytes
 * follow from the inputs.
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

enum { TILES = 40, ROUNDS = 12, RUNS = 3 };

static const char *uri = "fsim:tiny";

/* One job: `count` tiles from `from` of the input are doubled into the output, every `stride` tiles from
 * `to`. */
typedef struct layout {
    uint32_t from, to, count, stride;
} layout;

static vta_code *record(const vta_config *config, uint64_t bytes, const layout *l, vta_buffer *in,
                        vta_buffer *out)
{
    vta_stream *s = NULL;
    vta_code *code = NULL;
    vta_diag diag = {0};
    assert_int_equal(vta_stream_create(config, &s, NULL), VTA_OK);
    *in = vta_stream_buffer(s, "input", bytes);
    *out = vta_stream_buffer(s, "output", bytes);
    const vta_kernel all = vta_stream_kernel(s, &(vta_uop){0}, 1);
    vta_stream_load2d(
        s, &(vta_load2d){
               .memory = VTA_MEM_ACC8, .buffer = *in, .offset = l->from, .y_size = 1, .x_size = l->count});
    vta_stream_alu(
        s,
        &(vta_alu){
            .kernel = all, .op = VTA_ALU_ADD, .iter_out = 1, .iter_in = l->count, .dst_in = 1, .src_in = 1});
    vta_stream_store2d(
        s, &(vta_store2d){
               .buffer = *out, .offset = l->to, .y_size = l->count, .x_size = 1, .x_stride = l->stride});
    if (vta_stream_finish(s, &code, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    vta_stream_destroy(s);
    return code;
}

static void fill(rng *r, uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)rng_below(r, 256);
    }
}

static void run_once(rng *r, vta_job *job, const layout *l, size_t tile, const vta_buffer *buffers)
{
    uint8_t want[TILES * 64];
    void *in = NULL;
    void *out = NULL;
    vta_report report;
    vta_diag diag = {0};
    assert_true(TILES * tile <= sizeof want);
    assert_int_equal(vta_job_memory(job, buffers[0], &in, NULL), VTA_OK);
    assert_int_equal(vta_job_memory(job, buffers[1], &out, NULL), VTA_OK);
    fill(r, in, TILES * tile);
    fill(r, out, TILES * tile);
    memcpy(want, out, TILES * tile);
    for (uint32_t i = 0; i < l->count; i++) {
        for (size_t b = 0; b < tile; b++) {
            const uint8_t x = ((const uint8_t *)in)[(l->from + i) * tile + b];
            want[(l->to + (size_t)i * l->stride) * tile + b] = (uint8_t)(x + x);
        }
    }
    if (vta_job_run(job, NULL, 0, 60, &report, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    assert_memory_equal(out, want, TILES * tile);
}

static void both_keep_what_they_wrote(void **state)
{
    (void)state;
    rng r = {test_seed("board_caches")};
    vta_diag diag = {0};
    vta_device *device = NULL;
    if (vta_device_open(uri, NULL, &device, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    const vta_config *config = vta_device_config(device);
    const size_t tile = config->elem_bytes[VTA_MEM_OUT];
    for (int round = 0; round < ROUNDS; round++) {
        vta_buffer buffers[2];
        vta_job *job = NULL;
        layout l = {.count = 1 + rng_below(&r, 8), .stride = 1 + rng_below(&r, 4)};
        l.from = rng_below(&r, TILES - l.count + 1);
        l.to = rng_below(&r, TILES - (l.count - 1) * l.stride);
        vta_code *code = record(config, TILES * tile, &l, &buffers[0], &buffers[1]);
        assert_int_equal(vta_job_create(code, device, &job, NULL), VTA_OK);
        for (int run = 0; run < RUNS; run++) {
            run_once(&r, job, &l, tile, buffers);
        }
        vta_job_destroy(job);
        vta_code_destroy(code);
    }
    vta_device_close(device);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_keep_what_they_wrote)};
    uri = argc > 1 ? argv[1] : uri;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
