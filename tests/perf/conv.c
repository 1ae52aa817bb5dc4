/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions as accelerator programs (conv.h).
 */
#include "conv.h"

#include <stdlib.h>
#include <string.h>

#include "rng.h"

/* A tile of the layer: `rows` result rows; `chunk` input channel tiles at a time. */
typedef struct tiling {
    uint32_t rows, chunk;
    uint32_t width; /* of the input tile, borders included */
    uint32_t pair;  /* of the parameters, at the end of ACC */
} tiling;

static uint32_t height(const conv_layer *layer, uint32_t rows)
{
    return (rows - 1) * layer->stride + layer->kernel;
}

/* The most rows, then the most channels, that fit. False: not even one row of one channel tile does. */
static bool choose_tiling(const conv_program *p, tiling *t)
{
    const conv_layer *l = &p->layer;
    const uint32_t *depth = p->config.depth;
    const uint32_t taps = l->kernel * l->kernel;
    t->width = height(l, l->size);
    t->pair = depth[VTA_MEM_ACC] / 2 - 1;
    for (t->chunk = p->in_tiles; t->chunk >= 1; t->chunk--) {
        for (t->rows = l->size; t->rows >= 1; t->rows--) {
            if (t->chunk * height(l, t->rows) * t->width <= depth[VTA_MEM_INP] &&
                t->chunk * taps <= depth[VTA_MEM_WGT] && t->chunk * taps < depth[VTA_MEM_UOP] &&
                t->rows * l->size <= depth[VTA_MEM_ACC] - 2) {
                return true;
            }
        }
    }
    return false;
}

static vta_status emit(conv_program *p, const vta_insn *insn, vta_diag *diag)
{
    if (p->count == p->capacity) {
        p->capacity = p->capacity == 0 ? 64 : 2 * p->capacity;
        vta_word *insns = realloc(p->insns, p->capacity * sizeof *insns);
        if (insns == NULL) {
            return vta_fail(diag, VTA_NOMEM, "no memory for the program");
        }
        p->insns = insns;
    }
    VTA_TRY(vta_insn_encode(&p->config, insn, &p->insns[p->count], diag));
    p->count++;
    return VTA_OK;
}

static vta_insn load(vta_memory memory, int64_t segment, uint32_t to, uint32_t from, uint32_t count)
{
    vta_insn insn = {.opcode = VTA_OP_LOAD};
    insn.mem.memory = memory;
    insn.mem.segment = segment;
    insn.mem.sram_base = to;
    insn.mem.dram_base = from;
    insn.mem.y_size = 1;
    insn.mem.x_size = count;
    return insn;
}

/* The input rows that result rows first … first + rows - 1 need, of one channel tile. */
static vta_insn load_input(const conv_program *p, const tiling *t, uint32_t channel, uint32_t slot,
                           uint32_t first, uint32_t rows)
{
    const int64_t border = (p->layer.kernel - 1) / 2;
    const int64_t top = (int64_t)first * p->layer.stride - border;
    const int64_t bottom = top + height(&p->layer, rows);
    const int64_t begin = top < 0 ? 0 : top;
    const int64_t end = bottom > p->in_size ? p->in_size : bottom;
    const int64_t width = t->width < p->in_size + border ? t->width - border : p->in_size;
    vta_insn insn = load(VTA_MEM_INP, CONV_INPUT, slot * height(&p->layer, t->rows) * t->width, 0, 0);
    insn.mem.dram_base = ((int64_t)channel * p->in_size + begin) * p->in_size;
    insn.mem.y_size = end - begin;
    insn.mem.x_size = width;
    insn.mem.x_stride = p->in_size;
    insn.mem.y_pad_0 = begin - top;
    insn.mem.y_pad_1 = bottom - end;
    insn.mem.x_pad_0 = border;
    insn.mem.x_pad_1 = t->width - border - width;
    return insn;
}

static vta_insn multiply(const conv_program *p, const tiling *t, uint32_t rows, bool init)
{
    vta_insn insn = {.opcode = VTA_OP_GEMM, .pop_prev = 1};
    insn.gemm.uop_begin = 1;
    insn.gemm.uop_end = 1 + (int64_t)t->chunk * p->layer.kernel * p->layer.kernel;
    insn.gemm.iter_out = rows;
    insn.gemm.iter_in = p->layer.size;
    insn.gemm.init = init;
    insn.gemm.dst_out = p->layer.size;
    insn.gemm.dst_in = 1;
    insn.gemm.src_out = (int64_t)p->layer.stride * t->width;
    insn.gemm.src_in = p->layer.stride;
    return insn;
}

static vta_insn requantize(const conv_program *p, uint32_t rows)
{
    vta_insn insn = {.opcode = VTA_OP_REQUANT, .push_next = 1};
    insn.requant.iter_out = rows;
    insn.requant.iter_in = p->layer.size;
    insn.requant.dst_out = p->layer.size;
    insn.requant.dst_in = 1;
    insn.requant.src_out = p->layer.size;
    insn.requant.src_in = 1;
    insn.requant.zero_point = 3;
    insn.requant.low = -120;
    insn.requant.high = 127;
    return insn;
}

/* Loads and multiplies one chunk of input channels for one output tile. */
static vta_status emit_chunk(conv_program *p, const tiling *t, uint32_t out, uint32_t channel, uint32_t first,
                             uint32_t rows, vta_diag *diag)
{
    const uint32_t taps = p->layer.kernel * p->layer.kernel;
    const bool alone = t->chunk == p->in_tiles; /* the input stays for all output tiles */
    bool must_wait = p->macs > 0;
    for (uint32_t c = 0; c < t->chunk && !(alone && out > 0); c++) {
        vta_insn insn = load_input(p, t, channel + c, c, first, rows);
        insn.pop_next = must_wait;
        must_wait = false;
        VTA_TRY(emit(p, &insn, diag));
    }
    vta_insn insn = load(VTA_MEM_WGT, CONV_WEIGHTS, 0, (out * p->in_tiles + channel) * taps, t->chunk * taps);
    insn.pop_next = must_wait;
    insn.push_next = 1;
    VTA_TRY(emit(p, &insn, diag));
    for (uint32_t n = 0; n < p->repeat; n++) {
        insn = multiply(p, t, rows, channel == 0 && n == 0);
        insn.pop_prev = n == 0;
        insn.pop_next = n == 0 && channel == 0 && (first > 0 || out > 0);
        insn.push_prev = n == p->repeat - 1;
        VTA_TRY(emit(p, &insn, diag));
    }
    p->macs += (double)rows * p->layer.size * t->chunk * taps * p->repeat * p->config.batch *
               p->config.block_in * p->config.block_out;
    return VTA_OK;
}

/* One output tile: all its chunks, then requantize and store. */
static vta_status emit_tile(conv_program *p, const tiling *t, uint32_t out, uint32_t first, uint32_t rows,
                            vta_diag *diag)
{
    for (uint32_t channel = 0; channel < p->in_tiles; channel += t->chunk) {
        VTA_TRY(emit_chunk(p, t, out, channel, first, rows, diag));
    }
    vta_insn insn = load(VTA_MEM_ACC, CONV_PARAMS, 2 * t->pair, 2 * out, 2);
    VTA_TRY(emit(p, &insn, diag));
    insn = requantize(p, rows);
    VTA_TRY(emit(p, &insn, diag));
    insn = load(VTA_MEM_OUT, CONV_RESULT, 0, (out * p->layer.size + first) * p->layer.size,
                rows * p->layer.size);
    insn.opcode = VTA_OP_STORE;
    insn.pop_prev = 1;
    insn.push_prev = 1;
    return emit(p, &insn, diag);
}

static vta_status emit_program(conv_program *p, const tiling *t, vta_diag *diag)
{
    const uint32_t uops = 1 + t->chunk * p->layer.kernel * p->layer.kernel;
    vta_insn insn = load(VTA_MEM_UOP, CONV_UOPS, 0, 0, uops);
    VTA_TRY(emit(p, &insn, diag));
    for (uint32_t first = 0; first < p->layer.size; first += t->rows) {
        const uint32_t left = p->layer.size - first;
        for (uint32_t out = 0; out < p->out_tiles; out++) {
            VTA_TRY(emit_tile(p, t, out, first, left < t->rows ? left : t->rows, diag));
        }
    }
    /* The last tile's tokens: input buffers are free, the result is stored. */
    insn = (vta_insn){.opcode = VTA_OP_LOAD, .pop_next = 1};
    insn.mem.memory = VTA_MEM_INP;
    VTA_TRY(emit(p, &insn, diag));
    insn = (vta_insn){.opcode = VTA_OP_FINISH, .pop_next = 1};
    return emit(p, &insn, diag);
}

/* Micro-op 0 requantizes; the others are the taps of all channels of a chunk. */
static vta_status fill_uops(const conv_program *p, const tiling *t, vta_diag *diag)
{
    uint32_t word = 0;
    vta_uop uop = {.aux = t->pair};
    VTA_TRY(vta_uop_encode(&p->config, &uop, &word, diag));
    memcpy(p->host[CONV_UOPS], &word, sizeof word);
    uint32_t n = 1;
    for (uint32_t c = 0; c < t->chunk; c++) {
        for (uint32_t y = 0; y < p->layer.kernel; y++) {
            for (uint32_t x = 0; x < p->layer.kernel; x++, n++) {
                uop = (vta_uop){.src = (c * height(&p->layer, t->rows) + y) * t->width + x, .aux = n - 1};
                VTA_TRY(vta_uop_encode(&p->config, &uop, &word, diag));
                memcpy(p->host[CONV_UOPS] + n * sizeof word, &word, sizeof word);
            }
        }
    }
    return VTA_OK;
}

static void fill_data(const conv_program *p, const uint64_t *size, uint64_t seed)
{
    rng r = rng_split(seed, p->layer.in + p->layer.out + p->layer.size);
    for (uint64_t i = 0; i < size[CONV_INPUT]; i++) {
        p->host[CONV_INPUT][i] = (uint8_t)rng_next(&r);
    }
    for (uint64_t i = 0; i < size[CONV_WEIGHTS]; i++) {
        p->host[CONV_WEIGHTS][i] = (uint8_t)rng_next(&r);
    }
    const uint32_t lanes = p->config.batch * p->config.block_out;
    int32_t *params = (int32_t *)(void *)p->host[CONV_PARAMS];
    for (uint32_t o = 0; o < p->out_tiles; o++) {
        for (uint32_t l = 0; l < lanes; l++) {
            params[(2 * o) * lanes + l] = (int32_t)rng_between(&r, -10000, 10000);
            params[(2 * o + 1) * lanes + l] = (int32_t)(rng_between(&r, 1 << 20, 1 << 23) | 34 << 24);
        }
    }
}

vta_status conv_build(const vta_config *config, vta_dram *dram, const conv_layer *layer, uint32_t repeat,
                      uint64_t seed, conv_program *out, vta_diag *diag)
{
    *out = (conv_program){.config = *config, .layer = *layer, .repeat = repeat};
    out->in_tiles = (layer->in + config->block_in - 1) / config->block_in;
    out->out_tiles = (layer->out + config->block_out - 1) / config->block_out;
    out->in_size = layer->size * layer->stride;
    tiling t;
    if (!choose_tiling(out, &t)) {
        return vta_fail(diag, VTA_UNSUPPORTED, "the layer does not fit configuration '%s'", config->name);
    }
    while (out->in_tiles % t.chunk != 0) {
        t.chunk--;
    }
    const uint32_t taps = layer->kernel * layer->kernel;
    const uint32_t *bytes = config->elem_bytes;
    const uint64_t size[VTA_SEGMENTS] = {
        [CONV_UOPS] = (1 + (uint64_t)t.chunk * taps) * bytes[VTA_MEM_UOP],
        [CONV_INPUT] = (uint64_t)out->in_tiles * out->in_size * out->in_size * bytes[VTA_MEM_INP],
        [CONV_WEIGHTS] = (uint64_t)out->in_tiles * out->out_tiles * taps * bytes[VTA_MEM_WGT],
        [CONV_PARAMS] = 2 * (uint64_t)out->out_tiles * bytes[VTA_MEM_ACC],
        [CONV_RESULT] = (uint64_t)out->out_tiles * layer->size * layer->size * bytes[VTA_MEM_OUT],
    };
    for (int s = CONV_UOPS; s <= CONV_RESULT; s++) {
        void *host = NULL;
        VTA_TRY(vta_dram_alloc(dram, size[s], &out->addr[s], &host, diag));
        out->host[s] = host;
    }
    fill_data(out, size, seed);
    VTA_TRY(fill_uops(out, &t, diag));
    VTA_TRY(emit_program(out, &t, diag));
    void *host = NULL;
    VTA_TRY(vta_dram_alloc(dram, (uint64_t)out->count * VTA_INSN_BYTES, &out->insn_addr, &host, diag));
    memcpy(host, out->insns, (size_t)out->count * VTA_INSN_BYTES);
    return VTA_OK;
}

void conv_free(conv_program *p, vta_dram *dram)
{
    for (int s = CONV_UOPS; s <= CONV_RESULT; s++) {
        vta_dram_free(dram, p->addr[s]);
    }
    vta_dram_free(dram, p->insn_addr);
    free(p->insns);
}

vta_launch conv_launch(const conv_program *p)
{
    vta_launch launch = {.insn_addr = p->insn_addr, .insn_count = p->count};
    memcpy(launch.base, p->addr, sizeof launch.base);
    return launch;
}

static int64_t half_even(int64_t value, uint32_t shift)
{
    const int64_t unit = INT64_C(1) << shift;
    int64_t floor = value / unit;
    int64_t rest = value % unit;
    if (rest < 0) {
        rest += unit;
        floor--;
    }
    return floor + (2 * rest > unit || (2 * rest == unit && floor % 2 != 0));
}

/* One lane of the result, with the loops of a textbook. */
static int8_t expected(const conv_program *p, uint32_t out, uint32_t y, uint32_t x, uint32_t b, uint32_t lane)
{
    const conv_layer *l = &p->layer;
    const int64_t in = p->config.block_in;
    const int64_t border = (l->kernel - 1) / 2;
    int64_t sum = 0;
    for (uint32_t c = 0; c < p->in_tiles; c++) {
        for (uint32_t tap = 0; tap < l->kernel * l->kernel; tap++) {
            const int64_t row = (int64_t)y * l->stride + tap / l->kernel - border;
            const int64_t column = (int64_t)x * l->stride + tap % l->kernel - border;
            if (row < 0 || row >= p->in_size || column < 0 || column >= p->in_size) {
                continue;
            }
            const int64_t entry = ((int64_t)c * p->in_size + row) * p->in_size + column;
            const int64_t tile = ((int64_t)out * p->in_tiles + c) * l->kernel * l->kernel + tap;
            const uint8_t *input = p->host[CONV_INPUT] + (entry * p->config.batch + b) * in;
            const uint8_t *weights = p->host[CONV_WEIGHTS] + (tile * p->config.block_out + lane) * in;
            for (int64_t i = 0; i < in; i++) {
                sum += (int8_t)input[i] * (int8_t)weights[i];
            }
        }
    }
    const uint32_t lanes = p->config.batch * p->config.block_out;
    const int32_t *params = (const int32_t *)(const void *)p->host[CONV_PARAMS] + (size_t)2 * out * lanes;
    const uint32_t at = b * p->config.block_out + lane;
    const int32_t scale = params[lanes + at];
    const int64_t value = half_even((sum + params[at]) * (scale & 0xffffff), (uint32_t)scale >> 24) + 3;
    return (int8_t)(value < -120 ? -120 : value > 127 ? 127 : value);
}

size_t conv_wrong(const conv_program *p)
{
    const uint8_t *result = p->host[CONV_RESULT];
    size_t wrong = 0;
    for (uint32_t out = 0; out < p->out_tiles; out++) {
        for (uint32_t y = 0; y < p->layer.size; y++) {
            for (uint32_t x = 0; x < p->layer.size; x++) {
                for (uint32_t b = 0; b < p->config.batch; b++) {
                    for (uint32_t lane = 0; lane < p->config.block_out; lane++) {
                        wrong += (int8_t)*result++ != expected(p, out, y, x, b, lane);
                    }
                }
            }
        }
    }
    return wrong;
}
