/* SPDX-License-Identifier: Apache-2.0
 *
 * A quantized 3×3 convolution, padding 1, with bias and requantize per channel, of one tile of channels.
 * Usage: conv3x3 [DEVICE]
 */
#include <math.h>

#include "example.h"

enum { SIZE = 6, PITCH = SIZE + 2, PIXELS = SIZE * SIZE, SHIFT = 20, ZERO_IN = -3, ZERO_OUT = 5 };

static vta_status record(const vta_config *config, vta_code **code, vta_diag *diag)
{
    const uint32_t params = PIXELS / 2; /* the pair of ACC entries after the image */
    vta_uop taps[9];
    vta_stream *s;
    VTA_TRY(vta_stream_create(config, &s, diag));
    const vta_buffer x = vta_stream_buffer(s, "x", (uint64_t)PIXELS * config->elem_bytes[VTA_MEM_INP]);
    const vta_buffer w = vta_stream_buffer(s, "w", 9ULL * config->elem_bytes[VTA_MEM_WGT]);
    const vta_buffer p = vta_stream_buffer(s, "p", 2ULL * config->elem_bytes[VTA_MEM_ACC]);
    const vta_buffer y = vta_stream_buffer(s, "y", (uint64_t)PIXELS * config->elem_bytes[VTA_MEM_OUT]);
    for (uint32_t t = 0; t < 9; t++) {
        taps[t] = (vta_uop){.dst = 0, .src = t / 3 * PITCH + t % 3, .aux = t};
    }
    vta_load2d image = {.memory = VTA_MEM_INP, .buffer = x, .y_size = SIZE, .x_size = SIZE, .x_stride = SIZE};
    image.y_pad_0 = image.y_pad_1 = image.x_pad_0 = image.x_pad_1 = 1, image.pad_value = ZERO_IN;
    vta_stream_load2d(s, &image);
    vta_stream_load2d(s, &(vta_load2d){.memory = VTA_MEM_WGT, .buffer = w, .y_size = 1, .x_size = 9});
    vta_stream_load2d(s, &(vta_load2d){VTA_MEM_ACC, 2 * params, p, .y_size = 1, .x_size = 2});
    vta_gemm conv = {vta_stream_kernel(s, taps, 9), .init = true, .iter_out = SIZE, .iter_in = SIZE};
    conv.dst_out = SIZE, conv.src_out = PITCH, conv.dst_in = conv.src_in = 1;
    vta_stream_gemm(s, &conv);
    vta_requant requant = {.params = params, .iter_out = 1, .iter_in = PIXELS, .dst_in = 1, .src_in = 1};
    requant.zero_point = ZERO_OUT, requant.low = INT8_MIN, requant.high = INT8_MAX;
    vta_stream_requant(s, &requant);
    vta_stream_store2d(s, &(vta_store2d){.buffer = y, .y_size = 1, .x_size = PIXELS});
    const vta_status status = vta_stream_finish(s, code, diag);
    vta_stream_destroy(s);
    return status;
}

static int pixel(const int8_t *x, uint32_t in, uint32_t row, uint32_t col, uint32_t channel)
{
    const bool inside = row >= 1 && row <= SIZE && col >= 1 && col <= SIZE;
    return inside ? x[((row - 1) * SIZE + col - 1) * in + channel] : ZERO_IN;
}

static vta_status run(vta_job *job, const vta_config *config, void *const *host, example_result *result,
                      vta_diag *diag)
{
    const uint32_t in = config->batch * config->block_in, out = config->batch * config->block_out;
    const int8_t *x = host[0], *w = host[1], *y = host[3];
    int32_t *bias = host[2], *scale = bias + out;
    for (uint32_t o = 0; o < out; o++) {
        bias[o] = 100 * (int32_t)o - 300;
        scale[o] = vta_requant_scale(1000 + 77 * o, SHIFT);
    }
    VTA_TRY(vta_job_run(job, NULL, 0, 60, NULL, diag));
    result->results = (size_t)PIXELS * out;
    for (uint32_t i = 0; i < result->results; i++) {
        const uint32_t at = i / out, lane = i % out, row = lane / config->block_out,
                       channel = lane % config->block_out;
        int sum = bias[lane];
        for (uint32_t k = 0; k < 9 * config->block_in; k++) {
            const uint32_t t = k / config->block_in, c = k % config->block_in;
            sum += pixel(x, in, at / SIZE + t / 3, at % SIZE + t % 3, row * config->block_in + c) *
                   w[(t * config->block_out + channel) * config->block_in + c];
        }
        const double value = nearbyint(ldexp((double)sum * (1000 + 77 * lane), -SHIFT)) + ZERO_OUT;
        result->wrong += y[i] != (int8_t)fmin(fmax(value, INT8_MIN), INT8_MAX);
    }
    return VTA_OK;
}

int main(int argc, char **argv)
{
    return example_main(argc, argv, record, run);
}
