/* SPDX-License-Identifier: Apache-2.0
 *
 * c = a + b on int8 vectors, saturating. Usage: vector_add [DEVICE]
 */
#include "example.h"

enum { TILES = 64 };

/* Loads a and b into the accumulator, adds, clips to int8, stores. */
static vta_status record(const vta_config *config, vta_code **code, vta_diag *diag)
{
    const uint64_t bytes = (uint64_t)TILES * config->elem_bytes[VTA_MEM_OUT];
    vta_stream *s;
    VTA_TRY(vta_stream_create(config, &s, diag));
    const vta_buffer a = vta_stream_buffer(s, "a", bytes);
    const vta_buffer b = vta_stream_buffer(s, "b", bytes);
    const vta_buffer c = vta_stream_buffer(s, "c", bytes);
    const vta_kernel add =
        vta_stream_kernel(s, &(vta_uop){.dst = 0, .src = TILES}, 1); /* and the tiles after them */
    const vta_kernel self = vta_stream_kernel(s, &(vta_uop){.dst = 0, .src = 0}, 1);

    vta_load2d load = {.memory = VTA_MEM_ACC8, .buffer = a, .y_size = 1, .x_size = TILES, .x_stride = TILES};
    vta_stream_load2d(s, &load);
    load.buffer = b;
    load.sram = TILES;
    vta_stream_load2d(s, &load);
    vta_alu alu = {
        .kernel = add, .op = VTA_ALU_ADD, .iter_out = 1, .iter_in = TILES, .dst_in = 1, .src_in = 1};
    vta_stream_alu(s, &alu);
    alu.kernel = self;
    alu.use_imm = true;
    alu.op = VTA_ALU_MAX;
    alu.imm = INT8_MIN;
    vta_stream_alu(s, &alu);
    alu.op = VTA_ALU_MIN;
    alu.imm = INT8_MAX;
    vta_stream_alu(s, &alu);
    vta_stream_store2d(s, &(vta_store2d){.buffer = c, .y_size = 1, .x_size = TILES, .x_stride = TILES});
    const vta_status status = vta_stream_finish(s, code, diag);
    vta_stream_destroy(s);
    return status;
}

static vta_status run(vta_job *job, const vta_config *config, void *const *host, example_result *result,
                      vta_diag *diag)
{
    int8_t *a = host[0], *b = host[1], *c = host[2];
    result->results = (size_t)TILES * config->elem_bytes[VTA_MEM_OUT];
    VTA_TRY(vta_job_run(job, NULL, 0, 60, NULL, diag));
    for (size_t i = 0; i < result->results; i++) {
        const int sum = a[i] + b[i];
        result->wrong += c[i] != (sum < INT8_MIN ? INT8_MIN : sum > INT8_MAX ? INT8_MAX : sum);
    }
    return VTA_OK;
}

int main(int argc, char **argv)
{
    return example_main(argc, argv, record, run);
}
