/* SPDX-License-Identifier: Apache-2.0
 *
 * The codec against VTA's bit positions written out by hand, against itself, and against random words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rng.h"
#include "seed.h"
#include "vta/isa.h"

static const char lean[] = VTA_TEST_LEAN;
static const char with_rows[] = VTA_TEST_ROWS;

static vta_config load(const char *name)
{
    vta_config config;
    assert_int_equal(vta_config_load(name, &config, NULL), VTA_OK);
    return config;
}

static uint64_t field_ones(uint32_t width)
{
    return width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
}

/* No two fields of a format overlap, none crosses bit 64, all have a width; every opcode's format has the
 * header. */
static void fields_do_not_overlap(void **state)
{
    (void)state;
    uint32_t count = 0;
    const char *const *names = vta_config_names(&count);
    for (uint32_t n = 0; n < count; n++) {
        const vta_config config = load(names[n]);
        vta_field_info rows[VTA_FIELD_COUNT];
        assert_int_equal(vta_isa_fields(&config, rows), VTA_FIELD_COUNT);
        for (uint32_t i = 0; i < VTA_FIELD_COUNT; i++) {
            assert_in_range(rows[i].width, 1, 64);
            assert_int_equal(rows[i].lsb / 64, (rows[i].lsb + rows[i].width - 1) / 64);
            assert_true(rows[i].lsb < 128);
            for (uint32_t j = 0; j < i; j++) {
                const int related =
                    strcmp(rows[i].format, rows[j].format) == 0 || strcmp(rows[j].format, "HEADER") == 0;
                if (related) {
                    assert_true(rows[i].lsb >= rows[j].lsb + rows[j].width ||
                                rows[j].lsb >= rows[i].lsb + rows[i].width);
                    assert_true(strcmp(rows[i].member, rows[j].member) != 0);
                }
            }
        }
    }
}

/* VTA's layout at its default configuration, in numbers (word, shift). */
static void layout_is_vtas(void **state)
{
    (void)state;
    const vta_config config = load("pynq");
    vta_word word;

    vta_insn insn = {.opcode = VTA_OP_LOAD,
                     .pop_next = 1,
                     .push_next = 1,
                     .mem = {.memory = VTA_MEM_INP,
                             .sram_base = 0x123,
                             .dram_base = 0x89abcdef,
                             .y_size = 14,
                             .x_size = 0x1357,
                             .x_stride = 0x2468,
                             .y_pad_0 = 1,
                             .y_pad_1 = 2,
                             .x_pad_0 = 3,
                             .x_pad_1 = 4}};
    assert_int_equal(vta_insn_encode(&config, &insn, &word, NULL), VTA_OK);
    assert_true(word.w[0] == (0 | 1 << 4 | 1 << 6 | 2 << 7 | 0x123 << 10 | UINT64_C(0x89abcdef) << 26));
    assert_true(word.w[1] == (14 | 0x1357 << 16 | UINT64_C(0x2468) << 32 | UINT64_C(1) << 48 |
                              UINT64_C(2) << 52 | UINT64_C(3) << 56 | UINT64_C(4) << 60));

    insn = (vta_insn){.opcode = VTA_OP_GEMM,
                      .pop_prev = 1,
                      .push_prev = 1,
                      .gemm = {.reset = 1,
                               .uop_begin = 0x1555,
                               .uop_end = 0x2aaa,
                               .iter_out = 0x3fff,
                               .iter_in = 0x2001,
                               .dst_out = 0x7ff,
                               .dst_in = 0x401,
                               .src_out = 0x600,
                               .src_in = 0x3,
                               .wgt_out = 0x3ff,
                               .wgt_in = 0x201}};
    assert_int_equal(vta_insn_encode(&config, &insn, &word, NULL), VTA_OK);
    assert_true(word.w[0] == (2 | 1 << 3 | 1 << 5 | 1 << 7 | 0x1555 << 8 | UINT64_C(0x2aaa) << 21 |
                              UINT64_C(0x3fff) << 35 | UINT64_C(0x2001) << 49));
    assert_true(word.w[1] == (0x7ff | 0x401 << 11 | UINT64_C(0x600) << 22 | UINT64_C(0x3) << 33 |
                              UINT64_C(0x3ff) << 44 | UINT64_C(0x201) << 54));

    insn = (vta_insn){.opcode = VTA_OP_ALU,
                      .alu = {.uop_end = 1,
                              .iter_out = 1,
                              .iter_in = 1,
                              .dst_out = 1,
                              .dst_in = 2,
                              .src_out = 3,
                              .src_in = 4,
                              .alu_op = VTA_ALU_SHR,
                              .use_imm = 1,
                              .imm = -8}};
    assert_int_equal(vta_insn_encode(&config, &insn, &word, NULL), VTA_OK);
    assert_true(word.w[0] == (4 | 1 << 21 | UINT64_C(1) << 35 | UINT64_C(1) << 49));
    assert_true(word.w[1] == (1 | 2 << 11 | 3 << 22 | UINT64_C(4) << 33 | UINT64_C(3) << 44 |
                              UINT64_C(1) << 47 | UINT64_C(0xfff8) << 48));

    uint32_t uop = 0;
    assert_int_equal(
        vta_uop_encode(&config, &(vta_uop){.dst = 0x7ff, .src = 0x401, .aux = 0x3ff}, &uop, NULL), VTA_OK);
    assert_int_equal(uop, 0x7ffU | 0x401U << 11 | 0x3ffU << 22);
    assert_int_equal(vta_uop_max_aux(&config), 0x3ff);
}

/* The middle field of a micro-op has A bits where A > I, and aux takes the rest. */
static void uops_round_trip(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t dst, src;
    } want[] = {{"tiny", 7, 8}, {"rect", 8, 8}, {"pynq", 11, 11}, {"batch2", 7, 8}};
    rng r = rng_split(test_seed("isa_codec micro-ops"), 0);
    for (size_t n = 0; n < sizeof want / sizeof want[0]; n++) {
        const vta_config config = load(want[n].name);
        for (int i = 0; i < 1000; i++) {
            const uint32_t word = (uint32_t)rng_next(&r);
            const vta_uop uop = vta_uop_decode(&config, word);
            assert_int_equal(uop.dst, word & ((1U << want[n].dst) - 1));
            assert_int_equal(uop.src, word >> want[n].dst & ((1U << want[n].src) - 1));
            assert_int_equal(uop.aux, word >> (want[n].dst + want[n].src));
            uint32_t back = 0;
            assert_int_equal(vta_uop_encode(&config, &uop, &back, NULL), VTA_OK);
            assert_int_equal(back, word);
        }
        vta_diag diag = {0};
        uint32_t back = 0;
        const vta_uop large = {.dst = 1U << want[n].dst};
        assert_int_equal(vta_uop_encode(&config, &large, &back, &diag), VTA_RANGE);
        assert_non_null(strstr(diag.text, "micro-op: dst "));
        assert_non_null(strstr(diag.text, "does not fit in its field (limit: "));
    }
}

static const char *format_of(int64_t opcode)
{
    static const char *const formats[] = {
#define VTA_OPCODE(id, value, format, mnemonic, doc) #format,
#include "vta/isa.def"
    };
    return formats[opcode];
}

static int in_format(const vta_field_info *row, int64_t opcode)
{
    return strcmp(row->format, "HEADER") == 0 || strcmp(row->format, format_of(opcode)) == 0;
}

static int64_t *member(vta_insn *insn, const vta_field_info *row)
{
    return (int64_t *)((char *)insn + row->offset);
}

/* A value of the field's range, its ends more often than the rest. */
static int64_t random_value(rng *r, const vta_field_info *row)
{
    const uint64_t ones = field_ones(row->width);
    const uint32_t kind = rng_below(r, 8);
    const uint64_t bits = kind == 0 ? 0 : kind == 1 ? ones : kind == 2 ? ones >> 1 : rng_next(r) & ones;
    if (row->sign == 'S' && (bits >> (row->width - 1) & 1) != 0) {
        return (int64_t)(bits | ~ones);
    }
    return (int64_t)bits;
}

/* Random values through the encoder; the word is also made here from the rows, bit by bit. */
static void instructions_round_trip(void **state)
{
    (void)state;
    const uint64_t seed = test_seed("isa_codec round trip");
    uint32_t count = 0;
    const char *const *names = vta_config_names(&count);
    for (uint32_t n = 0; n < 2 * count; n++) {
        vta_config config = load(names[n / 2]);
        config.rows = config.wgt4 = n % 2;
        vta_field_info rows[VTA_FIELD_COUNT];
        const uint32_t row_count = vta_isa_fields(&config, rows);
        rng r = rng_split(seed, n);
        for (int64_t opcode = 0; opcode < VTA_OP_COUNT; opcode++) {
            uint32_t legal = 0;
            for (int round = 0; round < 5000; round++) {
                vta_insn insn = {0};
                vta_word want = {{0, 0}};
                for (uint32_t i = 0; i < row_count; i++) {
                    if (in_format(&rows[i], opcode)) {
                        const int64_t value = rows[i].offset == 0 ? opcode : random_value(&r, &rows[i]);
                        *member(&insn, &rows[i]) = value;
                        want.w[rows[i].lsb / 64] |= ((uint64_t)value & field_ones(rows[i].width))
                                                    << rows[i].lsb % 64;
                    }
                }
                vta_word word = {{0, 0}};
                vta_insn back;
                vta_diag diag = {0};
                if (vta_insn_encode(&config, &insn, &word, &diag) == VTA_OK) {
                    legal++;
                    assert_memory_equal(&word, &want, sizeof word);
                    assert_int_equal(vta_insn_decode(&config, word, &back, &diag), VTA_OK);
                    assert_memory_equal(&back, &insn, sizeof insn);
                } else {
                    vta_diag second = {0};
                    assert_int_equal(vta_insn_decode(&config, want, &back, &second), VTA_ILLEGAL_INSN);
                    assert_string_equal(diag.text, second.text);
                    assert_int_equal(vta_insn_decode_raw(&config, want, &back), VTA_ERROR_FIELD);
                }
            }
            assert_true(legal > 15);
        }
    }
}

static void random_words_decode_or_not(void **state)
{
    (void)state;
    const uint64_t seed = test_seed("isa_codec random words");
    rng r = rng_split(seed, 0);
    uint32_t count = 0;
    const char *const *names = vta_config_names(&count);
    for (uint32_t n = 0; n < 2 * count; n++) {
        vta_config config = load(names[n / 2]);
        config.rows = config.wgt4 = n % 2;
        uint32_t legal = 0;
        for (int round = 0; round < 50000; round++) {
            const vta_word word = {{rng_next(&r), rng_next(&r)}};
            vta_insn insn;
            if (vta_insn_decode_raw(&config, word, &insn) == VTA_ERROR_NONE) {
                vta_word back;
                legal++;
                assert_int_equal(vta_insn_encode(&config, &insn, &back, NULL), VTA_OK);
                assert_memory_equal(&word, &back, sizeof word);
            }
        }
        assert_true(legal > 1000);
    }
}

/* Every value beyond the ends of every field is refused by name. */
static void values_that_do_not_fit(void **state)
{
    (void)state;
    const vta_config config = load("rect");
    vta_field_info rows[VTA_FIELD_COUNT];
    const uint32_t row_count = vta_isa_fields(&config, rows);
    for (int64_t opcode = 0; opcode < VTA_OP_COUNT; opcode++) {
        for (uint32_t i = 1; i < row_count; i++) {
            if (!in_format(&rows[i], opcode) || rows[i].width == 64) {
                continue;
            }
            const int64_t high = (int64_t)(field_ones(rows[i].width) >> (rows[i].sign == 'S'));
            const int64_t low = rows[i].sign == 'S' ? -high - 1 : 0;
            const int64_t bad[] = {high + 1, low - 1, INT64_MAX, INT64_MIN};
            for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
                vta_insn insn = {.opcode = opcode};
                vta_word word;
                vta_diag diag = {0};
                char want[128];
                *member(&insn, &rows[i]) = bad[k];
                (void)snprintf(want, sizeof want, "%s: %s %lld does not fit in its field (limit: %lld)",
                               vta_opcode_name(opcode), rows[i].member, (long long)bad[k],
                               (long long)(bad[k] < low ? low : high));
                assert_int_equal(vta_insn_encode(&config, &insn, &word, &diag), VTA_RANGE);
                assert_string_equal(diag.text, want);
            }
        }
    }
}

static void expect_illegal(const char *name, const vta_insn *insn, const char *message)
{
    const vta_config config = load(name);
    vta_word word;
    vta_diag diag = {0};
    assert_int_equal(vta_insn_encode(&config, insn, &word, &diag), VTA_ILLEGAL_INSN);
    assert_string_equal(diag.text, message);
}

static void illegal_instructions(void **state)
{
    (void)state;
    vta_insn insn = {.opcode = VTA_OP_LOAD, .mem = {.memory = VTA_MEM_OUT}};
    expect_illegal("pynq", &insn, "load: memory 4 (limit: 5): nothing loads into out");
    insn.mem.memory = 7;
    expect_illegal("pynq", &insn,
                   "load: memory 7 (limit: 6): the configuration has no weights of four bits (WGT4 is 0)");
    insn = (vta_insn){.opcode = VTA_OP_LOAD, .mem = {.memory = VTA_MEM_UOP, .x_size = 1}};
    vta_insn_set_pad_value(&insn, -128);
    expect_illegal("pynq", &insn, "load: pad -128 (limit: 0): micro-ops are padded with 0 alone");
    insn = (vta_insn){.opcode = VTA_OP_LOAD, .pop_prev = 1, .mem = {.memory = VTA_MEM_INP}};
    expect_illegal("pynq", &insn, "load: pop_prev 1 (limit: 0): no unit comes before load");
    insn = (vta_insn){.opcode = VTA_OP_LOAD, .push_prev = 1, .mem = {.memory = VTA_MEM_WGT}};
    expect_illegal("pynq", &insn, "load: push_prev 1 (limit: 0): no unit comes before load");

    insn = (vta_insn){.opcode = VTA_OP_STORE, .mem = {.memory = VTA_MEM_ACC, .x_size = 1}};
    expect_illegal("pynq", &insn, "store: memory 3 (limit: 4): a store takes its data from out");
    insn.mem.memory = VTA_MEM_OUT;
    insn.mem.x_pad_1 = 15;
    expect_illegal("pynq", &insn, "store: x_pad_1 15 (limit: 0): a store has no padding");
    insn.mem.x_pad_1 = 0;
    insn.mem.pad_low = 3;
    expect_illegal("pynq", &insn, "store: pad 3 (limit: 0): a store has no padding");
    insn.mem.pad_low = 0;
    insn.pop_next = 1;
    expect_illegal("pynq", &insn, "store: pop_next 1 (limit: 0): no unit comes after store");
    insn.pop_next = 0;
    insn.push_next = 1;
    expect_illegal("pynq", &insn, "store: push_next 1 (limit: 0): no unit comes after store");

    insn = (vta_insn){.opcode = VTA_OP_GEMM, .gemm = {.reset = 1, .init = 1}};
    expect_illegal("pynq", &insn, "gemm: init 1 (limit: 0): a reset clears everything anyway");
    insn = (vta_insn){.opcode = VTA_OP_ALU, .alu = {.alu_op = 7}};
    expect_illegal("pynq", &insn,
                   "alu: alu_op 7 (limit: 6): the configuration has no functions on rows (ROWS is 0)");
    insn = (vta_insn){.opcode = VTA_OP_ALU, .alu = {.alu_op = VTA_ALU_ADD, .from_src = 1}};
    expect_illegal("pynq", &insn, "alu: from_src 1 (limit: 0): only an immediate has a third address");
    insn = (vta_insn){.opcode = VTA_OP_ALU, .alu = {.alu_op = VTA_ALU_SHR, .use_imm = 1, .imm = 32}};
    expect_illegal("pynq", &insn, "alu: imm 32 (limit: 31): a shift moves at most 31 places");
    insn.alu.imm = -32;
    expect_illegal("pynq", &insn, "alu: imm -32 (limit: -31): a shift moves at most 31 places");
    insn = (vta_insn){.opcode = VTA_OP_REQUANT, .requant = {.low = 5, .high = 4}};
    expect_illegal("pynq", &insn, "requant: low 5 (limit: 4): low must not exceed high");
    insn = (vta_insn){.opcode = VTA_OP_REQUANT, .requant = {.part = 1}};
    expect_illegal("pynq512", &insn, "requant: part 1 (limit: 0): only an input tile has parts");
    insn = (vta_insn){.opcode = VTA_OP_REQUANT, .requant = {.dst_high = 1}};
    expect_illegal("tiny", &insn, "requant: dst_high 1 (limit: 0): acc has no such entries");
    insn = (vta_insn){.opcode = VTA_OP_REQUANT, .requant = {.to_inp = 1, .part = 2}};
    expect_illegal("pynq512", &insn, "requant: part 2 (limit: 1): the input tile has no such lanes");
    insn = (vta_insn){.opcode = VTA_OP_REQUANT, .requant = {.to_inp = 1, .dst_high = 2}};
    expect_illegal("tiny", &insn, "requant: dst_high 2 (limit: 1): inp has no such entries");
    insn = (vta_insn){.opcode = VTA_OP_REQUANT, .requant = {.to_inp = 1}};
    expect_illegal("rect", &insn,
                   "requant: to_inp 1 (limit: 0): a tile of block_out lanes does not fit in one of block_in");
    insn = (vta_insn){.opcode = VTA_OP_DEPTHWISE, .depthwise = {.taps_x = 3, .taps_y = 6}};
    expect_illegal("pynq", &insn,
                   "depthwise: taps_x * taps_y 18 (limit: 16): the taps are the rows of one weight entry");
    insn = (vta_insn){.opcode = VTA_OP_DEPTHWISE, .depthwise = {.group = 1}};
    expect_illegal("pynq", &insn, "depthwise: group 1 (limit: 0): the input tile has no such lanes");
    /* Operations that this configuration has not. */
    insn = (vta_insn){.opcode = VTA_OP_DEPTHWISE};
    expect_illegal(
        lean, &insn,
        "depthwise: opcode 6 (limit: 5): the configuration has no DEPTHWISE (DEPTHWISE_TAPS is 0)");
    insn = (vta_insn){.opcode = VTA_OP_REQUANT, .requant = {.table = 1}};
    expect_illegal(lean, &insn, "requant: table 1 (limit: 0): the configuration has no tables (TABLE is 0)");
    insn = (vta_insn){.opcode = VTA_OP_REQUANT, .requant = {.to_inp = 1}};
    expect_illegal(lean, &insn,
                   "requant: to_inp 1 (limit: 0): the configuration has no way back to inp (LOOP_BACK is 0)");
    insn = (vta_insn){.opcode = VTA_OP_LOAD, .mem = {.memory = VTA_MEM_TAB}};
    expect_illegal(lean, &insn, "load: memory 6 (limit: 5): the configuration has no tables (TABLE is 0)");
    insn.opcode = 7;
    expect_illegal("pynq", &insn, "opcode 7 (limit: 6): the opcode is reserved");
}

/* Every immediate of a function on rows, against the rules of ISA.md, section 7, said once more. */
static void row_functions(void **state)
{
    (void)state;
    const vta_config config = load(with_rows);
    uint32_t legal = 0;
    for (int64_t imm = INT16_MIN; imm <= INT16_MAX; imm++) {
        const int64_t function = imm & 7, form = imm >> 3 & 3, places = imm >> 5;
        const int64_t last = function < 4 ? config.log_block_out - 1 : function < 6 ? 0 : 63;
        const bool good = places >= 0 && places <= last && form <= (function < 6 ? 0 : 2);
        const vta_insn insn = {.opcode = VTA_OP_ALU,
                               .alu = {.alu_op = VTA_ALU_ROW, .use_imm = 1, .from_src = 1, .imm = imm}};
        vta_insn back;
        vta_word word;
        assert_int_equal(vta_insn_encode(&config, &insn, &word, NULL), good ? VTA_OK : VTA_ILLEGAL_INSN);
        if (good) {
            const vta_row row = vta_row_of(imm);
            assert_int_equal(vta_insn_decode(&config, word, &back, NULL), VTA_OK);
            assert_memory_equal(&back, &insn, sizeof back);
            assert_true(row.function == function && row.form == form && row.places == places);
            assert_int_equal(vta_row_imm(row), imm);
            legal++;
        }
    }
    assert_int_equal(legal, 4 * config.log_block_out + 2 + 2 * 3 * 64);
}

static void illegal_rows(void **state)
{
    (void)state;
    vta_insn insn = {.opcode = VTA_OP_ALU, .alu = {.alu_op = VTA_ALU_ROW, .from_src = 1}};
    expect_illegal(
        with_rows, &insn,
        "alu: use_imm 0 (limit: 1): a function on rows has its name in imm and its operand in src");
    insn.alu.use_imm = 1;
    insn.alu.from_src = 0;
    expect_illegal(
        with_rows, &insn,
        "alu: from_src 0 (limit: 1): a function on rows has its name in imm and its operand in src");
    insn.alu.from_src = 1;
    insn.alu.imm = 1 << 11;
    expect_illegal(with_rows, &insn,
                   "alu: imm 2048 (limit: 0): bits that no field of a row's function covers must be 0");
    insn.alu.imm = VTA_ROW_EXP2 | 1 << 3;
    expect_illegal(with_rows, &insn, "alu: form 1 (limit: 0): only recip and recip_root have forms");
    insn.alu.imm = VTA_ROW_RECIP | 3 << 3;
    expect_illegal(with_rows, &insn, "alu: form 3 (limit: 2): there is no such form");
    insn.alu.imm = VTA_ROW_MAX | 2 << 5;
    expect_illegal(with_rows, &insn, "alu: places 2 (limit: 1): the two lanes are of one tile");
    insn.alu.imm = VTA_ROW_ROOT | 1 << 5;
    expect_illegal(with_rows, &insn, "alu: places 1 (limit: 0): the function takes no places");

    insn = (vta_insn){.opcode = VTA_OP_REQUANT, .requant = {.long_result = 1}};
    expect_illegal(
        "pynq", &insn,
        "requant: long_result 1 (limit: 0): the configuration has no functions on rows (ROWS is 0)");
    insn.requant.high = 1;
    expect_illegal(with_rows, &insn, "requant: high 1 (limit: 0): a long result goes to acc as it is");
    insn.requant.high = 0;
    insn.requant.to_inp = 1;
    expect_illegal(with_rows, &insn, "requant: to_inp 1 (limit: 0): a long result goes to acc as it is");
    insn = (vta_insn){.opcode = VTA_OP_REQUANT, .requant = {.by_row = 1}};
    expect_illegal("pynq", &insn,
                   "requant: by_row 1 (limit: 0): the configuration has no functions on rows (ROWS is 0)");
    assert_string_equal(vta_row_name(VTA_ROW_RECIP_ROOT), "recip_root");
    assert_string_equal(vta_row_name(8), "reserved");
    assert_string_equal(vta_row_form_name(VTA_ROW_FORM_SHIFT), "shift");
    assert_string_equal(vta_row_form_name(3), "reserved");
}

/* Instructions that the rules above must let through. */
static void legal_edges(void **state)
{
    (void)state;
    const vta_insn insns[] = {
        {.opcode = VTA_OP_STORE,
         .pop_prev = 1,
         .push_prev = 1,
         .mem = {.memory = VTA_MEM_UOP, .x_pad_0 = 3, .pad_low = 9}},
        {.opcode = VTA_OP_LOAD, .mem = {.memory = VTA_MEM_UOP, .pad_low = 9}},
        {.opcode = VTA_OP_LOAD,
         .pop_prev = 1,
         .push_prev = 1,
         .pop_next = 1,
         .mem = {.memory = VTA_MEM_ACC8, .x_size = 1}},
        {.opcode = VTA_OP_LOAD, .mem = {.memory = VTA_MEM_WGT4, .x_size = 1, .pad_low = 9}},
        {.opcode = VTA_OP_STORE, .mem = {.memory = VTA_MEM_WGT4}},
        {.opcode = VTA_OP_ALU, .alu = {.ignored = 1, .alu_op = VTA_ALU_SHR, .imm = 1000}},
        {.opcode = VTA_OP_ALU, .alu = {.alu_op = VTA_ALU_SHR, .use_imm = 1, .imm = -31}},
        {.opcode = VTA_OP_ALU, .alu = {.alu_op = VTA_ALU_MOV, .use_imm = 1, .from_src = 1}},
        {.opcode = VTA_OP_REQUANT, .requant = {.low = -128, .high = -128}},
        {.opcode = VTA_OP_REQUANT, .requant = {.to_inp = 1, .part = 1}},
        {.opcode = VTA_OP_DEPTHWISE, .depthwise = {.group = 1, .taps_x = 2, .taps_y = 8}},
        {.opcode = VTA_OP_FINISH, .finish = {.ignored_low = 0x1ffffffffffffff, .ignored_high = -1}},
    };
    vta_config config = load("pynq512");
    config.wgt4 = 1;
    for (size_t i = 0; i < sizeof insns / sizeof insns[0]; i++) {
        vta_word word;
        vta_insn back;
        vta_diag diag = {0};
        assert_int_equal(vta_insn_encode(&config, &insns[i], &word, &diag), VTA_OK);
        assert_int_equal(vta_insn_decode(&config, word, &back, &diag), VTA_OK);
        assert_memory_equal(&back, &insns[i], sizeof back);
    }
}

static void reserved_words(void **state)
{
    (void)state;
    const vta_config tiny = load("tiny");
    vta_insn insn;
    vta_diag diag = {0};
    assert_int_equal(vta_insn_decode_raw(&tiny, (vta_word){{7, 0}}, &insn), VTA_ERROR_OPCODE);
    assert_int_equal(vta_insn_decode(&tiny, (vta_word){{7, 0}}, &insn, &diag), VTA_ILLEGAL_INSN);
    assert_string_equal(diag.text, "reserved: opcode 7 (limit: 6): the opcode is reserved");

    /* At U = 8 a GEMM leaves bits 53 to 62 free, and its second word ends at 2(A + I + W) = 44. */
    diag = (vta_diag){0};
    assert_int_equal(vta_insn_decode(&tiny, (vta_word){{2 | UINT64_C(1) << 53, 0}}, &insn, &diag),
                     VTA_ILLEGAL_INSN);
    assert_string_equal(diag.text, "gemm: reserved bit 53 (limit: 0): bits that no field covers must be 0");
    diag = (vta_diag){0};
    assert_int_equal(vta_insn_decode(&tiny, (vta_word){{2, UINT64_C(1) << 44}}, &insn, &diag),
                     VTA_ILLEGAL_INSN);
    assert_string_equal(diag.text, "gemm: reserved bit 108 (limit: 0): bits that no field covers must be 0");
    assert_int_equal(
        vta_insn_decode(&tiny, (vta_word){{2 | UINT64_C(1) << 63, UINT64_C(1) << 43}}, &insn, NULL), VTA_OK);
}

static void pad_values_and_units(void **state)
{
    (void)state;
    for (int32_t value = -128; value < 128; value++) {
        vta_insn insn = {.opcode = VTA_OP_LOAD};
        vta_insn_set_pad_value(&insn, value);
        assert_int_equal(vta_insn_pad_value(&insn), value);
        assert_in_range(insn.mem.pad_low, 0, 63);
        assert_in_range(insn.mem.pad_high, 0, 3);
    }
    static const vta_unit of_load[] = {VTA_UNIT_COMPUTE, VTA_UNIT_LOAD, VTA_UNIT_LOAD, VTA_UNIT_COMPUTE};
    for (int64_t memory = 0; memory < 4; memory++) {
        const vta_insn insn = {.opcode = VTA_OP_LOAD, .mem = {.memory = memory}};
        assert_int_equal(vta_insn_unit(&insn), of_load[memory]);
    }
    assert_int_equal(vta_insn_unit(&(vta_insn){.opcode = VTA_OP_STORE}), VTA_UNIT_STORE);
    assert_int_equal(vta_insn_unit(&(vta_insn){.opcode = VTA_OP_FINISH}), VTA_UNIT_COMPUTE);
    assert_string_equal(vta_opcode_name(VTA_OP_DEPTHWISE), "depthwise");
    assert_string_equal(vta_opcode_name(-1), "reserved");
    assert_string_equal(vta_memory_name(VTA_MEM_ACC8), "acc8");
    assert_string_equal(vta_alu_op_name(VTA_ALU_CLIP), "clip");
    assert_string_equal(vta_unit_name(VTA_UNIT_STORE), "store");
    assert_string_equal(vta_error_text(VTA_ERROR_DEADLOCK), "units wait for each other");
    assert_string_equal(vta_error_text((vta_error)14), "unknown error");
    assert_string_equal(vta_error_text((vta_error)99), "unknown error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_do_not_overlap),
        cmocka_unit_test(layout_is_vtas),
        cmocka_unit_test(uops_round_trip),
        cmocka_unit_test(instructions_round_trip),
        cmocka_unit_test(random_words_decode_or_not),
        cmocka_unit_test(values_that_do_not_fit),
        cmocka_unit_test(illegal_instructions),
        cmocka_unit_test(row_functions),
        cmocka_unit_test(illegal_rows),
        cmocka_unit_test(legal_edges),
        cmocka_unit_test(reserved_words),
        cmocka_unit_test(pad_values_and_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
