/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams as VTA's own tool chain writes them: raw bits placed by hand at the offsets that VTA publishes for
 * its default configuration, absolute physical addresses over bases of 0, VTA's way with tokens and nops.
 * They run as they are, twice in a row with different data, on fsim and on the interpreter, and give what
 * plain C gives.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "interp.h"
#include "rng.h"
#include "vta/driver.h"

/* VTA's default: 1 x 16 x 16. */
enum { LANES = 16, INP_BYTES = 16, WGT_BYTES = 256, ACC_BYTES = 64, OUT_BYTES = 16, UOP_BYTES = 4 };
enum { LOAD = 0, STORE = 1, GEMM = 2, FINISH = 3, ALU = 4 };
enum { UOP = 0, WGT = 1, INP = 2, ACC = 3, OUT = 4 };
enum { MIN = 0, MAX = 1, ADD = 2, SHR = 3 };
enum { POP_PREV = 1 << 3, POP_NEXT = 1 << 4, PUSH_PREV = 1 << 5, PUSH_NEXT = 1 << 6 };

/* A stream in the making. */
typedef struct stream {
    uint64_t words[64][2];
    uint32_t count;
} stream;

/* Memory of a device and what the streams keep there. */
typedef struct bed {
    vta_device *device;
    vta_mem insns, memory;
} bed;

enum { A_AT = 0, B_AT = 0x4000, C_AT = 0x8000, UOPS_AT = 0xc000, MEMORY = 0x10000 };

/* ---- VTA's layout ---- */

/* Word 0: opcode and flags 6:0, memory 9:7, sram_base 25:10, dram_base 57:26. Word 1: y_size 15:0, x_size
 * 31:16, x_stride 47:32, then four bits each of top, bottom, left and right padding. */
static void transfer(stream *s, uint64_t opcode, uint64_t flags, uint64_t memory, uint64_t sram,
                     uint64_t dram, uint64_t y_size, uint64_t x_size, uint64_t x_stride, uint64_t pads)
{
    s->words[s->count][0] = opcode | flags | memory << 7 | sram << 10 | dram << 26;
    s->words[s->count++][1] = y_size | x_size << 16 | x_stride << 32 | pads << 48;
}

static void nop(stream *s, uint64_t opcode, uint64_t flags, uint64_t memory)
{
    transfer(s, opcode, flags, memory, 0, 0, 0, 0, 0, 0);
}

/* Word 0 of GEMM and ALU: reset 7, uop_begin 20:8, uop_end 34:21, iter_out 48:35, iter_in 62:49. */
static uint64_t nest(uint64_t opcode, uint64_t flags, uint64_t reset, uint64_t uop_end, uint64_t iter_out,
                     uint64_t iter_in)
{
    return opcode | flags | reset << 7 | uop_end << 21 | iter_out << 35 | iter_in << 49;
}

/* Word 1 of GEMM: dst 74:64 and 85:75, src 96:86 and 107:97, wgt 117:108 and 127:118, outer and inner. */
static void gemm(stream *s, uint64_t flags, uint64_t reset, const uint64_t count[3], const uint64_t steps[6])
{
    s->words[s->count][0] = nest(GEMM, flags, reset, count[0], count[1], count[2]);
    s->words[s->count++][1] =
        steps[0] | steps[1] << 11 | steps[2] << 22 | steps[3] << 33 | steps[4] << 44 | steps[5] << 54;
}

/* Word 1 of ALU: dst 74:64 and 85:75, src 96:86 and 107:97, operation 110:108, use_imm 111, imm 127:112. */
static void alu(stream *s, uint64_t flags, uint64_t tiles, uint64_t op, bool use_imm, int16_t imm)
{
    s->words[s->count][0] = nest(ALU, flags, 0, 1, tiles, 1);
    s->words[s->count++][1] =
        1 | UINT64_C(1) << 22 | op << 44 | (uint64_t)use_imm << 47 | (uint64_t)(uint16_t)imm << 48;
}

static void finish(stream *s, uint64_t flags)
{
    s->words[s->count][0] = FINISH | flags;
    s->words[s->count++][1] = UINT64_C(0xdeadbeefcafe); /* VTA's runtime leaves the rest as it is */
}

/* dst 10:0, src 21:11, wgt 31:22 */
static uint32_t uop(uint32_t dst, uint32_t src, uint32_t wgt)
{
    return dst | src << 11 | wgt << 22;
}

/* ---- running ---- */

static void set_up(bed *b)
{
    memset(b, 0, sizeof *b);
    vta_diag diag = {0};
    if (vta_device_open("fsim:pynq?strict=1", NULL, &b->device, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    assert_int_equal(vta_device_alloc(b->device, sizeof((stream *)NULL)->words, &b->insns, &diag), VTA_OK);
    assert_int_equal(vta_device_alloc(b->device, MEMORY, &b->memory, &diag), VTA_OK);
}

static void tear_down(bed *b)
{
    vta_device_free(b->device, &b->memory);
    vta_device_free(b->device, &b->insns);
    vta_device_close(b->device);
}

static uint64_t element(const bed *b, uint64_t at, uint64_t bytes)
{
    assert_int_equal((b->memory.addr + at) % bytes, 0);
    return (b->memory.addr + at) / bytes;
}

static uint8_t *host(const bed *b, uint64_t at)
{
    return (uint8_t *)b->memory.host + at;
}

/* On the device, then the same on the interpreter from the same memory; the results must be equal. */
static void run(bed *b, const stream *s)
{
    static uint8_t before[MEMORY];
    static uint8_t after[MEMORY];
    memcpy(before, b->memory.host, MEMORY);
    memcpy(b->insns.host, s->words, sizeof s->words);
    const vta_launch launch = {.insn_addr = b->insns.addr, .insn_count = s->count};
    vta_diag diag = {0};
    vta_report report;
    assert_int_equal(vta_device_submit(b->device, &launch, &diag), VTA_OK);
    if (vta_device_wait(b->device, 30, &report, &diag) != VTA_OK) {
        fail_msg("%s (instruction %u)", diag.text, report.insn);
    }
    memcpy(after, b->memory.host, MEMORY);
    memcpy(b->memory.host, before, MEMORY);
    const vta_bus bus = vta_device_bus(b->device);
    assert_int_equal(interp_run(vta_device_config(b->device), &launch, &bus, 1, &report, NULL), VTA_OK);
    assert_int_equal(report.error, VTA_ERROR_NONE);
    assert_memory_equal(b->memory.host, after, MEMORY);
}

static int8_t narrow(int32_t value)
{
    return (int8_t)(uint8_t)((uint32_t)value & 255);
}

static int32_t acc_at(const uint8_t *p, uint32_t lane)
{
    int32_t value;
    memcpy(&value, p + 4 * lane, 4);
    return value;
}

/* ---- the streams ---- */

/* Vector addition as VTA's first tutorial does it: two ACC loads, ADD, STORE. */
static void vector_add(void **state)
{
    (void)state;
    enum { TILES = 8 };
    bed b;
    set_up(&b);
    for (uint64_t turn = 0; turn < 2; turn++) {
        rng r = rng_split(turn, 1);
        for (uint32_t i = 0; i < TILES * ACC_BYTES; i += 4) {
            const int32_t x = (int32_t)rng_between(&r, -1000, 1000);
            const int32_t y = (int32_t)rng_between(&r, -1000, 1000);
            memcpy(host(&b, A_AT + i), &x, 4);
            memcpy(host(&b, B_AT + i), &y, 4);
        }
        const uint32_t word = uop(0, TILES, 0);
        memcpy(host(&b, UOPS_AT), &word, 4);
        stream s = {.count = 0};
        transfer(&s, LOAD, 0, UOP, 0, element(&b, UOPS_AT, UOP_BYTES), 1, 1, 1, 0);
        transfer(&s, LOAD, 0, ACC, 0, element(&b, A_AT, ACC_BYTES), 1, TILES, TILES, 0);
        transfer(&s, LOAD, 0, ACC, TILES, element(&b, B_AT, ACC_BYTES), 1, TILES, TILES, 0);
        alu(&s, PUSH_NEXT, TILES, ADD, false, 0);
        transfer(&s, STORE, POP_PREV | PUSH_PREV, OUT, 0, element(&b, C_AT, OUT_BYTES), 1, TILES, TILES, 0);
        nop(&s, LOAD, POP_NEXT, UOP);
        finish(&s, 0);
        run(&b, &s);
        for (uint32_t i = 0; i < TILES * LANES; i++) {
            const int32_t sum = acc_at(host(&b, A_AT), i) + acc_at(host(&b, B_AT), i);
            assert_int_equal((int8_t)*host(&b, C_AT + i), narrow(sum));
        }
    }
    tear_down(&b);
}

enum { ROWS = 6, K_TILES = 4, N_TILES = 3 };

static int32_t product(const bed *b, uint32_t row, uint32_t column)
{
    int32_t sum = 0;
    for (uint32_t k = 0; k < K_TILES * LANES; k++) {
        const int8_t x = (int8_t)*host(b, A_AT + (row * K_TILES + k / LANES) * INP_BYTES + k % LANES);
        const uint32_t tile = column / LANES * K_TILES + k / LANES;
        const int8_t w = (int8_t)*host(b, B_AT + tile * WGT_BYTES + column % LANES * LANES + k % LANES);
        sum += x * w;
    }
    return sum;
}

/* C = clip((A · Bᵀ) >> 8, 0, 127): reset, GEMM over micro-ops and two loops, three ALU passes; every token
 * queue is used. */
static void multiply_stream(const bed *b, stream *s)
{
    const uint64_t clear[3] = {1, ROWS, N_TILES};
    const uint64_t clear_steps[6] = {N_TILES, 1, 0, 0, 0, 0};
    const uint64_t all[3] = {K_TILES, ROWS, N_TILES};
    const uint64_t steps[6] = {N_TILES, 1, K_TILES, 0, 0, K_TILES};
    transfer(s, LOAD, 0, INP, 0, element(b, A_AT, INP_BYTES), ROWS, K_TILES, K_TILES, 0);
    transfer(s, LOAD, PUSH_NEXT, WGT, 0, element(b, B_AT, WGT_BYTES), 1, K_TILES * N_TILES, K_TILES * N_TILES,
             0);
    transfer(s, LOAD, 0, UOP, 0, element(b, UOPS_AT, UOP_BYTES), 1, K_TILES, K_TILES, 0);
    gemm(s, 0, 1, clear, clear_steps);
    gemm(s, POP_PREV | PUSH_PREV, 0, all, steps);
    nop(s, LOAD, POP_NEXT, INP);
    alu(s, 0, ROWS * N_TILES, SHR, true, 8);
    alu(s, 0, ROWS * N_TILES, MAX, true, 0);
    alu(s, PUSH_NEXT, ROWS * N_TILES, MIN, true, 127);
    transfer(s, STORE, POP_PREV | PUSH_PREV, OUT, 0, element(b, C_AT, OUT_BYTES), ROWS, N_TILES, N_TILES + 1,
             0);
    nop(s, LOAD, POP_NEXT, UOP);
    finish(s, 0);
}

static void matrix_multiply(void **state)
{
    (void)state;
    bed b;
    set_up(&b);
    for (uint64_t turn = 0; turn < 2; turn++) {
        rng r = rng_split(turn, 2);
        for (uint32_t i = 0; i < C_AT; i++) {
            *host(&b, i) = (uint8_t)rng_next(&r);
        }
        for (uint32_t k = 0; k < K_TILES; k++) {
            const uint32_t word = uop(0, k, k);
            memcpy(host(&b, UOPS_AT + UOP_BYTES * k), &word, 4);
        }
        memset(host(&b, C_AT), 0x55, UOPS_AT - C_AT);
        stream s = {.count = 0};
        multiply_stream(&b, &s);
        run(&b, &s);
        for (uint32_t row = 0; row < ROWS; row++) {
            for (uint32_t column = 0; column < N_TILES * LANES; column++) {
                const int32_t shifted = product(&b, row, column) >> 8;
                const int32_t expected = shifted < 0 ? 0 : shifted > 127 ? 127 : shifted;
                assert_int_equal(*host(&b, C_AT + row * (N_TILES + 1) * OUT_BYTES + column), expected);
            }
            assert_int_equal(*host(&b, C_AT + (row * (N_TILES + 1) + N_TILES) * OUT_BYTES), 0x55);
        }
    }
    tear_down(&b);
}

/* A padded load as VTA's unit test has it: one tile in a frame of 1, 2, 3, 4 rows and columns of zeros. */
static void padded_load(void **state)
{
    (void)state;
    enum { WIDTH = 3 + 1 + 4, HEIGHT = 1 + 1 + 2 };
    bed b;
    set_up(&b);
    for (uint64_t turn = 0; turn < 2; turn++) {
        for (uint32_t lane = 0; lane < LANES; lane++) {
            const int32_t value = (int32_t)(lane + 1 + 10 * turn);
            memcpy(host(&b, A_AT + 4 * lane), &value, 4);
        }
        const uint32_t word = uop(0, 0, 0);
        memcpy(host(&b, UOPS_AT), &word, 4);
        stream s = {.count = 0};
        transfer(&s, LOAD, 0, UOP, 0, element(&b, UOPS_AT, UOP_BYTES), 1, 1, 1, 0);
        transfer(&s, LOAD, 0, ACC, 0, element(&b, A_AT, ACC_BYTES), 1, 1, 1, 0x4321);
        alu(&s, PUSH_NEXT, WIDTH * HEIGHT, ADD, true, 0);
        transfer(&s, STORE, POP_PREV, OUT, 0, element(&b, C_AT, OUT_BYTES), 1, WIDTH * HEIGHT, WIDTH * HEIGHT,
                 0);
        finish(&s, 0);
        run(&b, &s);
        for (uint32_t i = 0; i < WIDTH * HEIGHT * LANES; i++) {
            const bool inside = i / LANES == 1 * WIDTH + 3;
            assert_int_equal(*host(&b, C_AT + i), inside ? i % LANES + 1 + 10 * turn : 0);
        }
    }
    tear_down(&b);
}

/* The bits themselves, written out: what VTA's default configuration puts into memory for these instructions.
 */
static void literal_words(void **state)
{
    (void)state;
    static const struct {
        vta_word word;
        const char *what;
    } rows[] = {
        /* memory INP, sram 5, dram 0x1234, 2 rows of 3, stride 7, pads 1 2 3 4, push_next */
        {{{UINT64_C(0x00000048d0001540), UINT64_C(0x4321000700030002)}}, "load"},
        /* sram 9, dram 1, 1 row of 8, stride 8, pop_prev and push_prev */
        {{{UINT64_C(0x0000000004002629), UINT64_C(0x0000000800080001)}}, "store"},
        /* uops 1 .. 3, 4 x 5 iterations, dst 6 7, src 8 9, wgt 10 11 */
        {{{UINT64_C(0x000a002000600102), UINT64_C(0x02c0a01202003806)}}, "gemm"},
        /* uop 0 .. 1, 2 x 1 iterations, dst 1, src 1, SHR by the immediate -3 */
        {{{UINT64_C(0x0002001000200004), UINT64_C(0xfffdb00000400001)}}, "alu"},
        {{{UINT64_C(0x0000000000000003), UINT64_C(0)}}, "finish"},
    };
    vta_config config;
    vta_config_default(&config);
    vta_insn insn[5];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        vta_diag diag = {0};
        if (vta_insn_decode(&config, rows[i].word, &insn[i], &diag) != VTA_OK) {
            fail_msg("%s: %s", rows[i].what, diag.text);
        }
        assert_string_equal(vta_opcode_name(insn[i].opcode), rows[i].what);
    }
    assert_int_equal(insn[0].push_next, 1);
    assert_int_equal(insn[0].mem.memory, INP);
    assert_int_equal(insn[0].mem.sram_base, 5);
    assert_int_equal(insn[0].mem.dram_base, 0x1234);
    assert_int_equal(insn[0].mem.y_size, 2);
    assert_int_equal(insn[0].mem.x_size, 3);
    assert_int_equal(insn[0].mem.x_stride, 7);
    assert_int_equal(insn[0].mem.y_pad_0, 1);
    assert_int_equal(insn[0].mem.y_pad_1, 2);
    assert_int_equal(insn[0].mem.x_pad_0, 3);
    assert_int_equal(insn[0].mem.x_pad_1, 4);
    assert_int_equal(insn[1].pop_prev, 1);
    assert_int_equal(insn[1].push_prev, 1);
    assert_int_equal(insn[1].mem.sram_base, 9);
    assert_int_equal(insn[1].mem.x_size, 8);
    assert_int_equal(insn[2].gemm.uop_begin, 1);
    assert_int_equal(insn[2].gemm.uop_end, 3);
    assert_int_equal(insn[2].gemm.iter_out, 4);
    assert_int_equal(insn[2].gemm.iter_in, 5);
    assert_int_equal(insn[2].gemm.dst_out, 6);
    assert_int_equal(insn[2].gemm.dst_in, 7);
    assert_int_equal(insn[2].gemm.src_out, 8);
    assert_int_equal(insn[2].gemm.src_in, 9);
    assert_int_equal(insn[2].gemm.wgt_out, 10);
    assert_int_equal(insn[2].gemm.wgt_in, 11);
    assert_int_equal(insn[3].alu.uop_end, 1);
    assert_int_equal(insn[3].alu.iter_out, 2);
    assert_int_equal(insn[3].alu.iter_in, 1);
    assert_int_equal(insn[3].alu.dst_out, 1);
    assert_int_equal(insn[3].alu.src_out, 1);
    assert_int_equal(insn[3].alu.alu_op, SHR);
    assert_int_equal(insn[3].alu.use_imm, 1);
    assert_int_equal(insn[3].alu.imm, -3);
}

/* An immediate as other tool chains write it: the source fields of the micro-op and of the loops are 0, or
 * anything; the operand is the destination. 2 x 3 groups of 2 tiles, each operation over some of them. */
static void immediates(void **state)
{
    (void)state;
    enum { OUTER = 2, INNER = 3, UOPS = 2, TILES = OUTER * INNER * UOPS };
    static const struct {
        uint64_t op;
        int16_t imm;
    } passes[] = {{ADD, -77}, {SHR, 3}, {MAX, -50}, {MIN, 44}, {SHR, -2}, {ADD, 9}};
    bed b;
    set_up(&b);
    for (uint64_t turn = 0; turn < 4; turn++) {
        rng r = rng_split(turn, 3);
        int32_t expected[TILES * LANES];
        for (uint32_t i = 0; i < TILES * LANES; i++) {
            expected[i] = (int32_t)rng_between(&r, -3000, 3000);
            memcpy(host(&b, A_AT + 4 * i), &expected[i], 4);
        }
        const uint32_t src[2][UOPS] = {{0, 0}, {2047, rng_below(&r, 2048)}};
        for (uint32_t k = 0; k < UOPS; k++) {
            const uint32_t word = uop(k, src[turn % 2][k], 0);
            memcpy(host(&b, UOPS_AT + UOP_BYTES * k), &word, 4);
        }
        const uint64_t src_steps = turn < 2 ? 0 : UINT64_C(3) << 22 | UINT64_C(2047) << 33;
        stream s = {.count = 0};
        transfer(&s, LOAD, 0, UOP, 0, element(&b, UOPS_AT, UOP_BYTES), 1, UOPS, UOPS, 0);
        transfer(&s, LOAD, 0, ACC, 0, element(&b, A_AT, ACC_BYTES), 1, TILES, TILES, 0);
        for (size_t p = 0; p < sizeof passes / sizeof passes[0]; p++) {
            const bool last = p + 1 == sizeof passes / sizeof passes[0];
            s.words[s.count][0] = nest(ALU, last ? PUSH_NEXT : 0, turn & 1, UOPS, OUTER, INNER);
            s.words[s.count++][1] = INNER * UOPS | UOPS << 11 | src_steps | passes[p].op << 44 |
                                    UINT64_C(1) << 47 | (uint64_t)(uint16_t)passes[p].imm << 48;
            for (uint32_t i = 0; i < TILES * LANES; i++) {
                const int32_t x = expected[i];
                const int32_t y = passes[p].imm;
                switch (passes[p].op) {
                case MIN: expected[i] = x < y ? x : y; break;
                case MAX: expected[i] = x > y ? x : y; break;
                case ADD: expected[i] = x + y; break;
                default: expected[i] = y >= 0 ? x >> y : x * (1 << -y); break;
                }
            }
        }
        transfer(&s, STORE, POP_PREV | PUSH_PREV, OUT, 0, element(&b, C_AT, OUT_BYTES), 1, TILES, TILES, 0);
        nop(&s, LOAD, POP_NEXT, UOP);
        finish(&s, 0);
        run(&b, &s);
        for (uint32_t i = 0; i < TILES * LANES; i++) {
            assert_int_equal((int8_t)*host(&b, C_AT + i), narrow(expected[i]));
        }
    }
    tear_down(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(immediates),      cmocka_unit_test(literal_words), cmocka_unit_test(vector_add),
        cmocka_unit_test(matrix_multiply), cmocka_unit_test(padded_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
