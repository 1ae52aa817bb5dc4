/* SPDX-License-Identifier: Apache-2.0
 *
 * C = (A · Bᵀ) >> 8 on int8 tiles, double buffered: while one half of INP and WGT is multiplied, the other is
 * filled. Nothing here says so but the addresses; the library finds the order. Usage: matmul [DEVICE]
 */
#include "example.h"

enum { M = 4, N = 8, K = 16 }; /* in tiles */

static vta_status record(const vta_config *config, vta_code **code, vta_diag *diag)
{
    vta_stream *s;
    VTA_TRY(vta_stream_create(config, &s, diag));
    const vta_buffer a =
        vta_stream_buffer(s, "a", (uint64_t)M * K * config->elem_bytes[VTA_MEM_INP]); /* [M][K] */
    const vta_buffer b =
        vta_stream_buffer(s, "b", (uint64_t)N * K * config->elem_bytes[VTA_MEM_WGT]); /* [N][K] */
    const vta_buffer c =
        vta_stream_buffer(s, "c", (uint64_t)M * N * config->elem_bytes[VTA_MEM_OUT]); /* [N][M] */
    for (uint32_t n = 0; n < N; n++) {
        const uint32_t half = n % 2;
        const uint32_t acc = half * M;
        vta_uop dot[K]; /* one row of A's tiles with one row of B's */
        for (uint32_t k = 0; k < K; k++) {
            dot[k] = (vta_uop){.dst = acc, .src = half * M * K + k, .aux = half * K + k};
        }
        const vta_kernel kernel = vta_stream_kernel(s, dot, K);
        const vta_kernel rows = vta_stream_kernel(s, &(vta_uop){.dst = acc, .src = acc}, 1);
        vta_load2d load = {
            .memory = VTA_MEM_INP, .sram = half * M * K, .buffer = a, .y_size = 1, .x_size = M * K};
        vta_stream_load2d(s, &load);
        load =
            (vta_load2d){.memory = VTA_MEM_WGT, .sram = half * K, .buffer = b, .offset = n * K, .y_size = 1};
        load.x_size = K;
        vta_stream_load2d(s, &load);
        vta_stream_gemm(
            s, &(vta_gemm){kernel, .init = true, .iter_out = 1, .iter_in = M, .dst_in = 1, .src_in = K});
        vta_alu shift = {
            .kernel = rows, .op = VTA_ALU_SHR, .use_imm = true, .imm = 8, .iter_out = 1, .iter_in = M};
        shift.dst_in = shift.src_in = 1;
        vta_stream_alu(s, &shift);
        vta_stream_store2d(s, &(vta_store2d){acc, c, .offset = n * M, .y_size = 1, .x_size = M});
    }
    const vta_status status = vta_stream_finish(s, code, diag);
    vta_stream_destroy(s);
    return status;
}

/* One element of C from tiles in DRAM order. */
static int8_t expected(const vta_config *config, const int8_t *a, const int8_t *b, uint32_t n, uint32_t m,
                       uint32_t lane)
{
    const uint32_t in = config->block_in, out = config->block_out, row = lane / out, col = lane % out;
    uint32_t sum = 0;
    for (uint32_t k = 0; k < K * in; k++) {
        const int left = a[((m * K + k / in) * config->batch + row) * in + k % in];
        const int right = b[((n * K + k / in) * out + col) * in + k % in];
        sum += (uint32_t)(left * right);
    }
    return (int8_t)((int32_t)sum >> 8);
}

static vta_status run(vta_job *job, const vta_config *config, void *const *host, example_result *result,
                      vta_diag *diag)
{
    int8_t *a = host[0], *b = host[1], *c = host[2];
    VTA_TRY(vta_job_run(job, NULL, 0, 60, NULL, diag));
    const uint32_t lanes = config->elem_bytes[VTA_MEM_OUT];
    result->results = (size_t)M * N * lanes;
    for (uint32_t i = 0; i < result->results; i++) {
        result->wrong += c[i] != expected(config, a, b, i / lanes / M, i / lanes % M, i % lanes);
    }
    return VTA_OK;
}

int main(int argc, char **argv)
{
    return example_main(argc, argv, record, run);
}
