/* SPDX-License-Identifier: Apache-2.0
 *
 * What `vtac bench hw` runs. Sizes are fitted to the configuration; at "pynq" they are those of the table's
 * names. Accumulator tiles are laid out so that what should overlap lies in different quarters of ACC.
 */
#include "bench.h"
#include "vta/number.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static int64_t depth_of_memory(const vta_config *config, vta_memory memory)
{
    return (int64_t)config->depth[memory];
}

static vta_buffer new_buffer(vta_stream *s, const vta_config *config, const char *name, vta_memory memory,
                             int64_t count)
{
    return vta_stream_buffer(s, name, (uint64_t)count * config->elem_bytes[memory]);
}

static void emit_load(vta_stream *s, vta_memory memory, int64_t sram, vta_buffer from, int64_t offset,
                      int64_t count)
{
    vta_stream_load2d(s, &(vta_load2d){.memory = memory,
                                       .sram = sram,
                                       .buffer = from,
                                       .offset = offset,
                                       .y_size = 1,
                                       .x_size = count,
                                       .x_stride = count});
}

static void emit_store(vta_stream *s, int64_t sram, vta_buffer to, int64_t offset, int64_t count)
{
    vta_stream_store2d(
        s,
        &(vta_store2d){
            .sram = sram, .buffer = to, .offset = offset, .y_size = 1, .x_size = count, .x_stride = count});
}

static vta_kernel one_kernel(vta_stream *s, int64_t dst, int64_t src, int64_t aux)
{
    const vta_uop uop = {.dst = (uint32_t)dst, .src = (uint32_t)src, .aux = (uint32_t)aux};
    return vta_stream_kernel(s, &uop, 1);
}

static uint64_t macs_per_step(const vta_config *config)
{
    return (uint64_t)config->batch * config->block_in * config->block_out;
}

/* ---- matrix multiply */

enum { MATMUL_INNER = 16, MATMUL_OUTER = 16, MATMUL_CHUNKS = 16 };

/* A kernel that makes one output tile of a row of `inner` input tiles. */
static vta_kernel dot_kernel(vta_stream *s, int64_t dst, int64_t src, int64_t wgt, int64_t inner)
{
    vta_uop uops[64];
    for (int64_t k = 0; k < inner; k++) {
        uops[k] = (vta_uop){.dst = (uint32_t)dst, .src = (uint32_t)(src + k), .aux = (uint32_t)(wgt + k)};
    }
    return vta_stream_kernel(s, uops, (uint32_t)inner);
}

/* Rows of x times a matrix that stays in WGT: chunks of rows alternate between two halves of INP and of ACC.
 */
static uint64_t record_gemm(vta_stream *s, const vta_config *c, uint32_t variant, uint32_t length)
{
    const int64_t inner = MATMUL_INNER >> variant,
                  outer = vta_min(MATMUL_OUTER, depth_of_memory(c, VTA_MEM_WGT) / inner);
    const int64_t half_inp = depth_of_memory(c, VTA_MEM_INP) / 2,
                  half_acc = depth_of_memory(c, VTA_MEM_ACC) / 2;
    const int64_t rows = vta_min(half_inp / inner, half_acc / outer),
                  chunks = (int64_t)MATMUL_CHUNKS << variant;
    const vta_buffer x = new_buffer(s, c, "x", VTA_MEM_INP, chunks * rows * inner);
    const vta_buffer w = new_buffer(s, c, "w", VTA_MEM_WGT, outer * inner);
    const vta_buffer y = new_buffer(s, c, "y", VTA_MEM_OUT, chunks * rows * outer);
    for (int64_t chunk = 0; chunk < chunks; chunk++) {
        const int64_t inp = chunk % 2 * half_inp, acc = chunk % 2 * half_acc;
        emit_load(s, VTA_MEM_INP, inp, x, chunk * rows * inner, rows * inner);
        for (int64_t n = 0; n < outer; n++) {
            if (chunk == 0) {
                emit_load(s, VTA_MEM_WGT, n * inner, w, n * inner, inner);
            }
            vta_stream_gemm(s, &(vta_gemm){.kernel = dot_kernel(s, acc + n * rows, inp, n * inner, inner),
                                           .init = true,
                                           .iter_out = 1,
                                           .iter_in = rows,
                                           .dst_in = 1,
                                           .src_in = inner});
        }
        emit_store(s, acc, y, chunk * rows * outer, rows * outer);
    }
    (void)length;
    return (uint64_t)(chunks * rows * outer * inner) * macs_per_step(c);
}

/* Records a smaller version of the program, for slow simulators. */
uint64_t cli_bench_record_short(vta_stream *s, const vta_config *c)
{
    const int64_t inner = 4, outer = 4, rows = 24;
    const vta_buffer x = new_buffer(s, c, "x", VTA_MEM_INP, rows * inner);
    const vta_buffer w = new_buffer(s, c, "w", VTA_MEM_WGT, outer * inner);
    const vta_buffer y = new_buffer(s, c, "y", VTA_MEM_OUT, rows * outer);
    emit_load(s, VTA_MEM_INP, 0, x, 0, rows * inner);
    emit_load(s, VTA_MEM_WGT, 0, w, 0, outer * inner);
    for (int64_t n = 0; n < outer; n++) {
        vta_stream_gemm(s, &(vta_gemm){.kernel = dot_kernel(s, n * rows, 0, n * inner, inner),
                                       .init = true,
                                       .iter_out = 1,
                                       .iter_in = rows,
                                       .dst_in = 1,
                                       .src_in = inner});
    }
    emit_store(s, 0, y, 0, rows * outer);
    return (uint64_t)(rows * outer * inner) * macs_per_step(c);
}

/* ---- convolutions */

/* Biases and scales of `blocks` output blocks, in the last tiles of ACC; the first pair. */
static int64_t load_params(vta_stream *s, const vta_config *c, int64_t blocks)
{
    const vta_buffer params = new_buffer(s, c, "params", VTA_MEM_ACC, 2 * blocks);
    const int64_t at = depth_of_memory(c, VTA_MEM_ACC) - 2 * blocks;
    emit_load(s, VTA_MEM_ACC, at, params, 0, 2 * blocks);
    return at / 2;
}

static void emit_requantize(vta_stream *s, int64_t acc, int64_t count, int64_t params)
{
    vta_stream_requant(s, &(vta_requant){.dst = acc,
                                         .src = acc,
                                         .params = params,
                                         .iter_out = 1,
                                         .iter_in = count,
                                         .dst_in = 1,
                                         .src_in = 1,
                                         .zero_point = 3,
                                         .low = INT8_MIN,
                                         .high = INT8_MAX});
}

/* A 3×3 convolution of an image that is too deep for INP: a part of its input channels at a time, a group of
 * output blocks in ACC meanwhile. */
typedef struct conv_shape {
    int64_t size, in_blocks, out_blocks; /* pixels each way; channels in blocks */
    int64_t part, group;                 /* input blocks at a time, output blocks at a time */
} conv_shape;

static vta_kernel window_kernel(vta_stream *s, const conv_shape *k, int64_t dst, int64_t src, int64_t wgt)
{
    vta_uop uops[9 * 8];
    const int64_t pitch = k->size + 2, plane = pitch * pitch;
    uint32_t count = 0;
    for (int64_t block = 0; block < k->part; block++) {
        for (int64_t tap = 0; tap < 9; tap++) {
            uops[count] = (vta_uop){.dst = (uint32_t)dst,
                                    .src = (uint32_t)(src + block * plane + tap / 3 * pitch + tap % 3),
                                    .aux = (uint32_t)(wgt + count)};
            count++;
        }
    }
    return vta_stream_kernel(s, uops, count);
}

typedef struct conv_buffers {
    vta_buffer x, w, y;
    int64_t params;
} conv_buffers;

/* One group of output blocks over one part of the input channels. */
static void conv_step(vta_stream *s, const vta_config *c, const conv_shape *k, const conv_buffers *b,
                      int64_t group, int64_t part, int64_t parity)
{
    const int64_t pixels = k->size * k->size, pitch = k->size + 2, plane = pitch * pitch;
    const int64_t inp = parity * (depth_of_memory(c, VTA_MEM_INP) / 2),
                  wgt = parity * (depth_of_memory(c, VTA_MEM_WGT) / 2);
    const int64_t acc = group % 2 * (depth_of_memory(c, VTA_MEM_ACC) / 2), taps = 9 * k->part;
    for (int64_t block = 0; block < k->part; block++) {
        vta_stream_load2d(s, &(vta_load2d){.memory = VTA_MEM_INP,
                                           .sram = inp + block * plane,
                                           .buffer = b->x,
                                           .offset = (part * k->part + block) * pixels,
                                           .y_size = k->size,
                                           .x_size = k->size,
                                           .x_stride = k->size,
                                           .y_pad_0 = 1,
                                           .y_pad_1 = 1,
                                           .x_pad_0 = 1,
                                           .x_pad_1 = 1,
                                           .pad_value = -5});
    }
    for (int64_t n = 0; n < k->group; n++) {
        const int64_t block = group * k->group + n, dst = acc + n * pixels;
        emit_load(s, VTA_MEM_WGT, wgt + n * taps, b->w, (block * k->in_blocks / k->part + part) * taps, taps);
        vta_stream_gemm(s, &(vta_gemm){.kernel = window_kernel(s, k, dst, inp, wgt + n * taps),
                                       .init = part == 0,
                                       .iter_out = k->size,
                                       .iter_in = k->size,
                                       .dst_out = k->size,
                                       .dst_in = 1,
                                       .src_out = pitch,
                                       .src_in = 1});
        if ((part + 1) * k->part == k->in_blocks) {
            emit_requantize(s, dst, pixels, b->params + block);
            emit_store(s, dst, b->y, block * pixels, pixels);
        }
    }
}

static uint64_t record_conv3x3(vta_stream *s, const vta_config *c, uint32_t variant, uint32_t length)
{
    /* 14×14×256→256 at blocks of 16; the variants keep different parts of it resident. */
    const int64_t plane = 16 * 16, pixels = 14 * 14;
    conv_shape k = {
        .size = 14, .in_blocks = 256 / (int64_t)c->block_in, .out_blocks = 256 / (int64_t)c->block_out};
    k.part = vta_min(depth_of_memory(c, VTA_MEM_INP) / 2 / plane, 4);
    k.group = vta_min((depth_of_memory(c, VTA_MEM_ACC) / 2 - 2 * k.out_blocks) / pixels,
                      depth_of_memory(c, VTA_MEM_WGT) / 2 / (9 * k.part));
    k.group = vta_min(k.group, variant == 1 ? 2 : 4);
    k.part = variant == 2 && k.part > 1 ? k.part / 2 : k.part;
    const conv_buffers b = {
        .x = new_buffer(s, c, "x", VTA_MEM_INP, k.in_blocks * pixels),
        .w = new_buffer(s, c, "w", VTA_MEM_WGT, k.out_blocks * k.in_blocks * 9),
        .y = new_buffer(s, c, "y", VTA_MEM_OUT, k.out_blocks * pixels),
        .params = load_params(s, c, k.out_blocks),
    };
    int64_t step = 0;
    for (int64_t group = 0; group < k.out_blocks / k.group; group++) {
        for (int64_t part = 0; part < k.in_blocks / k.part; part++) {
            conv_step(s, c, &k, &b, group, part, step++ % 2);
        }
    }
    (void)length;
    return (uint64_t)(pixels * k.out_blocks * k.in_blocks * 9) * macs_per_step(c);
}

/* 56×56×64→64: four steps make an output tile, so requantize and transfers weigh as much as the array's work.
 * Rows go through three quarters of ACC in turn; the fourth holds the parameters. */
static uint64_t record_conv1x1(vta_stream *s, const vta_config *c, uint32_t variant, uint32_t length)
{
    const int64_t rows = variant == 1 ? 2 : 1, width = 56, height = 56, chunks = height / rows,
                  pixels = rows * width;
    const int64_t in = 64 / (int64_t)c->block_in, out = 64 / (int64_t)c->block_out;
    const int64_t quarter = depth_of_memory(c, VTA_MEM_ACC) / 4,
                  half = depth_of_memory(c, VTA_MEM_INP) / (variant == 2 ? 4 : 2);
    const vta_buffer x = new_buffer(s, c, "x", VTA_MEM_INP, chunks * pixels * in);
    const vta_buffer w = new_buffer(s, c, "w", VTA_MEM_WGT, in * out);
    const vta_buffer y = new_buffer(s, c, "y", VTA_MEM_OUT, chunks * pixels * out);
    emit_load(s, VTA_MEM_WGT, 0, w, 0, in * out);
    const int64_t params = load_params(s, c, out);
    for (int64_t chunk = 0; chunk < chunks; chunk++) {
        const int64_t inp = chunk % (variant == 2 ? 4 : 2) * half, acc = chunk % 3 * quarter;
        emit_load(s, VTA_MEM_INP, inp, x, chunk * pixels * in, pixels * in);
        for (int64_t n = 0; n < out; n++) {
            vta_stream_gemm(s, &(vta_gemm){.kernel = dot_kernel(s, acc + n * pixels, inp, n * in, in),
                                           .init = true,
                                           .iter_out = 1,
                                           .iter_in = pixels,
                                           .dst_in = 1,
                                           .src_in = in});
        }
        for (int64_t n = 0; n < out; n++) {
            emit_requantize(s, acc + n * pixels, pixels, params + n);
        }
        emit_store(s, acc, y, chunk * pixels * out, pixels * out);
    }
    (void)length;
    return (uint64_t)(chunks * pixels * in * out) * macs_per_step(c);
}

/* 56×56×144, padding 1: a strip of rows of one block of channels at a time. */
static uint64_t record_depthwise(vta_stream *s, const vta_config *c, uint32_t variant, uint32_t length)
{
    static const int64_t strips[BENCH_VARIANTS] = {14, 8, 7};
    const int64_t size = 56, pitch = size + 2, rows = strips[variant], blocks = 144 / (int64_t)c->block_in;
    const int64_t half_inp = depth_of_memory(c, VTA_MEM_INP) / 2,
                  half_acc = depth_of_memory(c, VTA_MEM_ACC) / 2;
    const vta_buffer x = new_buffer(s, c, "x", VTA_MEM_INP, blocks * size * size);
    const vta_buffer w = new_buffer(s, c, "w", VTA_MEM_WGT, blocks);
    const vta_buffer y = new_buffer(s, c, "y", VTA_MEM_OUT, blocks * size * size);
    int64_t step = 0;
    emit_load(s, VTA_MEM_WGT, 0, w, 0, blocks);
    for (int64_t block = 0; block < blocks; block++) {
        for (int64_t row = 0; row < size; row += rows, step++) {
            const int64_t inp = step % 2 * half_inp, acc = step % 2 * half_acc;
            const int64_t above = row == 0, below = row + rows == size;
            vta_stream_load2d(s, &(vta_load2d){.memory = VTA_MEM_INP,
                                               .sram = inp,
                                               .buffer = x,
                                               .offset = block * size * size + (row - 1 + above) * size,
                                               .y_size = rows + 2 - above - below,
                                               .x_size = size,
                                               .x_stride = size,
                                               .y_pad_0 = above,
                                               .y_pad_1 = below,
                                               .x_pad_0 = 1,
                                               .x_pad_1 = 1,
                                               .pad_value = 7});
            vta_stream_depthwise(s, &(vta_depthwise){.kernel = one_kernel(s, acc, inp, block),
                                                     .init = true,
                                                     .iter_out = rows,
                                                     .iter_in = size,
                                                     .dst_out = size,
                                                     .dst_in = 1,
                                                     .src_out = pitch,
                                                     .src_in = 1,
                                                     .taps_x = 3,
                                                     .taps_y = 3,
                                                     .col_step = 1,
                                                     .row_step = pitch});
            emit_store(s, acc, y, block * size * size + row * size, rows * size);
        }
    }
    (void)length;
    return (uint64_t)(blocks * size * size * 9) * c->batch * c->block_in;
}

/* ---- ALU and requantize */

/* Part of ACC as it comes from DRAM, and OUT of it back to DRAM at the end. */
static vta_buffer fill_acc(vta_stream *s, const vta_config *c, int64_t count)
{
    const vta_buffer a = new_buffer(s, c, "a", VTA_MEM_ACC, count);
    emit_load(s, VTA_MEM_ACC, 0, a, 0, count);
    return new_buffer(s, c, "y", VTA_MEM_OUT, count);
}

static const vta_alu_op alu_ops[BENCH_VARIANTS] = {VTA_ALU_ADD, VTA_ALU_MUL, VTA_ALU_SHR};

typedef struct alu_bench {
    bool use_imm;
    bool move;     /* MOV of tiles, which reads one operand only */
    bool one_bank; /* both operands in one quarter of ACC, else in different ones */
} alu_bench;

static uint64_t record_alu(vta_stream *s, const vta_config *c, uint32_t variant, uint32_t length,
                           alu_bench how)
{
    const int64_t count = vta_min(depth_of_memory(c, VTA_MEM_ACC) / 8, 512) >> variant;
    const int64_t passes = 24 * (int64_t)length << variant;
    const int64_t other = how.one_bank ? count : depth_of_memory(c, VTA_MEM_ACC) / 2;
    const vta_buffer a = new_buffer(s, c, "a", VTA_MEM_ACC, 2 * count);
    const vta_buffer y = new_buffer(s, c, "y", VTA_MEM_OUT, 2 * count);
    emit_load(s, VTA_MEM_ACC, 0, a, 0, count);
    emit_load(s, VTA_MEM_ACC, other, a, count, count);
    for (int64_t i = 0; i < passes; i++) {
        const bool back = i % 2 != 0; /* the two operands in turn */
        vta_stream_alu(
            s, &(vta_alu){.kernel = one_kernel(s, back ? other : 0, back ? 0 : other, 0),
                          .op = how.move ? VTA_ALU_MOV : alu_ops[(variant + (uint64_t)i) % BENCH_VARIANTS],
                          .use_imm = how.use_imm,
                          .imm = 1 + i % 3,
                          .iter_out = 1,
                          .iter_in = count,
                          .dst_in = 1,
                          .src_in = 1});
    }
    emit_store(s, 0, y, 0, count);
    emit_store(s, other, y, count, count);
    return (uint64_t)(passes * count);
}

static uint64_t record_alu_imm(vta_stream *s, const vta_config *c, uint32_t variant, uint32_t length)
{
    return record_alu(s, c, variant, length, (alu_bench){.use_imm = true});
}

static uint64_t record_alu_tt(vta_stream *s, const vta_config *c, uint32_t variant, uint32_t length)
{
    return record_alu(s, c, variant, length, (alu_bench){.use_imm = false});
}

static uint64_t record_alu_one_bank(vta_stream *s, const vta_config *c, uint32_t variant, uint32_t length)
{
    return record_alu(s, c, variant, length, (alu_bench){.one_bank = true});
}

static uint64_t record_alu_move(vta_stream *s, const vta_config *c, uint32_t variant, uint32_t length)
{
    return record_alu(s, c, variant, length, (alu_bench){.move = true, .one_bank = true});
}

static uint64_t record_requantize(vta_stream *s, const vta_config *c, uint32_t variant, uint32_t length)
{
    const int64_t count = vta_min(depth_of_memory(c, VTA_MEM_ACC) / 2, 512) >> variant,
                  passes = 24 * (int64_t)length << variant;
    const int64_t params = load_params(s, c, 2);
    const vta_buffer y = fill_acc(s, c, count);
    for (int64_t i = 0; i < passes; i++) {
        emit_requantize(s, 0, count, params + i % 2);
    }
    emit_store(s, 0, y, 0, count);
    return (uint64_t)(passes * count);
}

/* ---- transfers */

/* Uses what was loaded, so that it is compared: one product into OUT, from the first and from the last entry.
 */
static void use_loaded(vta_stream *s, const vta_config *c, vta_memory memory, int64_t count)
{
    const vta_buffer y = new_buffer(s, c, "y", VTA_MEM_OUT, 2);
    if (memory == VTA_MEM_ACC) {
        vta_uop uops[2] = {{.dst = 0, .src = 0}, {.dst = 1, .src = (uint32_t)(count - 1)}};
        vta_stream_alu(s, &(vta_alu){.kernel = vta_stream_kernel(s, uops, 2),
                                     .op = VTA_ALU_ADD,
                                     .use_imm = true,
                                     .imm = 1,
                                     .iter_out = 1,
                                     .iter_in = 1});
    } else {
        const vta_buffer other = new_buffer(s, c, "w", memory == VTA_MEM_INP ? VTA_MEM_WGT : VTA_MEM_INP, 1);
        emit_load(s, memory == VTA_MEM_INP ? VTA_MEM_WGT : VTA_MEM_INP, 0, other, 0, 1);
        const uint32_t last = (uint32_t)(count - 1), inp = memory == VTA_MEM_INP ? last : 0;
        vta_uop uops[2] = {{.dst = 0}, {.dst = 1, .src = inp, .aux = last - inp}};
        vta_stream_gemm(
            s,
            &(vta_gemm){.kernel = vta_stream_kernel(s, uops, 2), .init = true, .iter_out = 1, .iter_in = 1});
    }
    emit_store(s, 0, y, 0, 2);
}

static uint64_t record_load(vta_stream *s, const vta_config *c, uint32_t variant, uint32_t length)
{
    static const vta_memory memories[BENCH_VARIANTS] = {VTA_MEM_INP, VTA_MEM_WGT, VTA_MEM_ACC};
    const vta_memory memory = memories[variant];
    const int64_t bytes = (int64_t)c->elem_bytes[memory],
                  count = vta_min(depth_of_memory(c, memory), 16384 / bytes);
    const vta_buffer a = new_buffer(s, c, "a", memory, 2 * count);
    for (int64_t i = 0; i < 4 * (int64_t)length; i++) {
        emit_load(s, memory, 0, a, i % 2 * count, count);
    }
    use_loaded(s, c, memory, count);
    return 4 * length * (uint64_t)(count * bytes);
}

/* Rows of `bytes` that lie four times as far apart. */
static uint64_t record_load_rows(vta_stream *s, const vta_config *c, uint32_t variant, uint32_t length,
                                 int64_t bytes)
{
    static const int64_t rows[BENCH_VARIANTS] = {64, 32, 16};
    const int64_t row =
        bytes / (int64_t)c->elem_bytes[VTA_MEM_INP] > 0 ? bytes / (int64_t)c->elem_bytes[VTA_MEM_INP] : 1;
    const int64_t y_size = vta_min(depth_of_memory(c, VTA_MEM_INP) / row, rows[variant]),
                  loads = 4 * (int64_t)length << variant;
    const vta_buffer a = new_buffer(s, c, "a", VTA_MEM_INP, 4 * row * y_size);
    for (int64_t i = 0; i < loads; i++) {
        vta_stream_load2d(s, &(vta_load2d){.memory = VTA_MEM_INP,
                                           .buffer = a,
                                           .offset = i % 3 * row,
                                           .y_size = y_size,
                                           .x_size = row,
                                           .x_stride = 4 * row});
    }
    use_loaded(s, c, VTA_MEM_INP, y_size * row);
    return (uint64_t)(loads * y_size * row) * c->elem_bytes[VTA_MEM_INP];
}

static uint64_t record_load_rows64(vta_stream *s, const vta_config *c, uint32_t variant, uint32_t length)
{
    return record_load_rows(s, c, variant, length, 64);
}

static uint64_t record_load_rows256(vta_stream *s, const vta_config *c, uint32_t variant, uint32_t length)
{
    return record_load_rows(s, c, variant, length, 256);
}

static uint64_t record_store(vta_stream *s, const vta_config *c, uint32_t variant, uint32_t length)
{
    const int64_t count = vta_min(depth_of_memory(c, VTA_MEM_OUT), 1024) >> variant,
                  stores = 4 * (int64_t)length << variant;
    fill_acc(s, c, count);
    const vta_buffer z = new_buffer(s, c, "z", VTA_MEM_OUT, stores * count);
    vta_stream_alu(s, &(vta_alu){.kernel = one_kernel(s, 0, 0, 0),
                                 .op = VTA_ALU_ADD,
                                 .use_imm = true,
                                 .imm = 1,
                                 .iter_out = 1,
                                 .iter_in = count,
                                 .dst_in = 1,
                                 .src_in = 1});
    for (int64_t i = 0; i < stores; i++) {
        emit_store(s, 0, z, i * count, count);
    }
    return (uint64_t)(stores * count) * c->elem_bytes[VTA_MEM_OUT];
}

/* Instructions that take a cycle at most: nops for all units in turn, single ALU steps, single GEMM steps. */
static uint64_t record_fetch(vta_stream *s, const vta_config *c, uint32_t variant, uint32_t length)
{
    const int64_t tiles = vta_min(depth_of_memory(c, VTA_MEM_ACC), 64), count = 512 * (int64_t)length;
    const vta_buffer y = fill_acc(s, c, tiles), x = new_buffer(s, c, "x", VTA_MEM_INP, 1),
                     w = new_buffer(s, c, "w", VTA_MEM_WGT, 1);
    emit_load(s, VTA_MEM_INP, 0, x, 0, 1);
    emit_load(s, VTA_MEM_WGT, 0, w, 0, 1);
    static const vta_unit units[] = {VTA_UNIT_LOAD, VTA_UNIT_COMPUTE, VTA_UNIT_STORE};
    for (int64_t i = 0; i < count; i++) {
        if (variant == 0 && i > 0) {
            vta_stream_nop(s, units[i % 3]);
        } else if (variant == 2) {
            vta_stream_gemm(
                s, &(vta_gemm){.kernel = one_kernel(s, i % tiles, 0, 0), .iter_out = 1, .iter_in = 1});
        } else {
            vta_stream_alu(s, &(vta_alu){.kernel = one_kernel(s, i % tiles, i % tiles, 0),
                                         .op = VTA_ALU_ADD,
                                         .use_imm = true,
                                         .imm = 1,
                                         .iter_out = 1,
                                         .iter_in = 1});
        }
    }
    emit_store(s, 0, y, 0, variant == 0 ? 1 : tiles);
    return (uint64_t)count;
}

const cli_bench_row cli_bench_rows[] = {
    {"gemm", BENCH_MAC_SHARE, 0.97, record_gemm, "matrix multiply, weights reused, of the array's peak"},
    {"conv3x3", BENCH_MAC_SHARE, 0.93, record_conv3x3, "3x3 convolution 14x14x256 to 256, all included"},
    {"conv1x1", BENCH_MAC_SHARE, 0.85, record_conv1x1, "1x1 convolution 56x56x64 to 64, all included"},
    {"alu_imm", BENCH_TILES, 0.97, record_alu_imm, "ALU, immediate, tiles a cycle"},
    {"alu_tt", BENCH_TILES, 0.97, record_alu_tt, "ALU, tensor-tensor, tiles a cycle"},
    {"alu_tt_one_bank", BENCH_TILES, 0, record_alu_one_bank, "the same, both operands in one quarter of ACC"},
    {"alu_move", BENCH_TILES, 0.97, record_alu_move, "MOV of tiles in one quarter of ACC, tiles a cycle"},
    {"requantize", BENCH_TILES, 0.97, record_requantize, "requantize, tiles a cycle"},
    {"load", BENCH_BUS_SHARE, 0.95, record_load, "contiguous LOAD, of the bus"},
    {"store", BENCH_BUS_SHARE, 0.92, record_store, "contiguous STORE, of the bus"},
    {"load_rows64", BENCH_BUS_SHARE, 0.75, record_load_rows64, "2-D LOAD, rows of 64 bytes, of the bus"},
    {"load_rows256", BENCH_BUS_SHARE, 0.90, record_load_rows256, "2-D LOAD, rows of 256 bytes, of the bus"},
    {"fetch", BENCH_CYCLES_EACH, 2.0, record_fetch, "cycles per small instruction"},
    {"depthwise", BENCH_MAC, 40.0, record_depthwise, "depthwise 3x3, 56x56x144, MAC a cycle"},
};
const uint32_t cli_bench_row_count = LENGTH(cli_bench_rows);
