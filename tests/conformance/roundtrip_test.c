/* SPDX-License-Identifier: Apache-2.0
 *
 * Encodings against a second reading of ISA.md (interp_decode), and round trips: decode and encode,
 * disassemble and assemble, write and read, for random instructions of every format and for random programs.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "interp.h"
#include "progen.h"
#include "rng.h"
#include "seed.h"

enum { WORDS = 30000, TEXT_INSNS = 400, TEXT_PROGRAMS = 10, ROUND_TRIP_PROGRAMS = 60 };

static uint64_t seed;

/* Behind the shipped configurations, those with functions on rows or weights of four bits. */
static const char *const more[] = {VTA_TEST_CONFIGS "/rows.json", VTA_TEST_CONFIGS "/rows_batch.json",
                                   VTA_TEST_CONFIGS "/wgt4.json"};
enum { MORE = sizeof more / sizeof more[0] };

static uint32_t config_count(void)
{
    uint32_t count = 0;
    (void)vta_config_names(&count);
    return count + MORE;
}

static void config_of(uint32_t n, vta_config *config)
{
    uint32_t count = 0;
    const char *const *names = vta_config_names(&count);
    const uint32_t which = n % config_count();
    assert_int_equal(vta_config_load(which < count ? names[which] : more[which - count], config, NULL),
                     VTA_OK);
}

/* The instruction as sixteen bytes in the order of memory. */
static void to_bytes(vta_word word, uint8_t bytes[16])
{
    for (int i = 0; i < 16; i++) {
        bytes[i] = (uint8_t)(word.w[i / 8] >> (8 * (i % 8)));
    }
}

/* Any bits, but most words get a small number of set bits above the header, so that legal ones are among
 * them. */
static vta_word random_word(rng *r)
{
    vta_word word = {{rng_next(r), rng_next(r)}};
    const uint32_t thin = rng_below(r, 4);
    for (uint32_t i = 0; i < thin; i++) {
        word.w[0] &= rng_next(r);
        word.w[1] &= rng_next(r);
    }
    word.w[0] = (word.w[0] & ~UINT64_C(7)) | rng_below(r, 8);
    return word;
}

/* A word with random fields of a random format, and nothing outside fields. */
static vta_word random_fields(const vta_config *config, rng *r)
{
    static const char *const formats[] = {"MEM", "MEM", "GEMM", "FINISH", "ALU", "REQUANT", "DEPTHWISE"};
    vta_field_info fields[VTA_FIELD_COUNT];
    const uint32_t count = vta_isa_fields(config, fields);
    const uint32_t opcode = rng_below(r, VTA_OP_COUNT);
    const bool row =
        opcode == VTA_OP_ALU && rng_percent(r, 30); /* operation 7, its flags, a short immediate */
    vta_word word = {{opcode, 0}};
    for (uint32_t f = 0; f < count; f++) {
        const bool header = strcmp(fields[f].format, "HEADER") == 0 && fields[f].lsb > 2;
        if (!header && strcmp(fields[f].format, formats[opcode]) != 0) {
            continue;
        }
        const uint64_t mask = fields[f].width == 64 ? UINT64_MAX : (UINT64_C(1) << fields[f].width) - 1;
        uint64_t value = rng_percent(r, 40) ? 0 : rng_next(r) >> rng_below(r, 60);
        if (row && fields[f].lsb > fields[VTA_FIELD_ROW_ALU_src_in].lsb) {
            value = fields[f].width == 16 ? rng_below(r, 1 << 11) : UINT64_MAX;
        }
        if (row && f == VTA_FIELD_ROW_ALU_from_src) {
            value = 1;
        }
        word.w[fields[f].lsb / 64] |= (value & mask) << (fields[f].lsb % 64);
    }
    return word;
}

#define SAME(ours, theirs) assert_int_equal(ours, theirs)

static void same_header(const interp_insn *x, const vta_insn *y)
{
    SAME(x->opcode, y->opcode);
    SAME(x->pop_prev, y->pop_prev);
    SAME(x->pop_next, y->pop_next);
    SAME(x->push_prev, y->push_prev);
    SAME(x->push_next, y->push_next);
}

static void same_transfer(const interp_insn *x, const vta_insn *y)
{
    SAME(x->memory, y->mem.memory);
    SAME(x->sram_base, y->mem.sram_base);
    SAME(x->segment, y->mem.segment);
    SAME(x->dram_base, y->mem.dram_base);
    SAME(x->pad_value, vta_insn_pad_value(y));
    SAME(x->y_size, y->mem.y_size);
    SAME(x->x_size, y->mem.x_size);
    SAME(x->x_stride, y->mem.x_stride);
    SAME(x->y_pad_0, y->mem.y_pad_0);
    SAME(x->y_pad_1, y->mem.y_pad_1);
    SAME(x->x_pad_0, y->mem.x_pad_0);
    SAME(x->x_pad_1, y->mem.x_pad_1);
}

#define SAME_NEST(member)                                                                                    \
    do {                                                                                                     \
        SAME(x->uop_begin, y->member.uop_begin);                                                             \
        SAME(x->uop_end, y->member.uop_end);                                                                 \
        SAME(x->iter_out, y->member.iter_out);                                                               \
        SAME(x->iter_in, y->member.iter_in);                                                                 \
    } while (0)

#define SAME_STEPS(member)                                                                                   \
    do {                                                                                                     \
        SAME(x->dst_out, y->member.dst_out);                                                                 \
        SAME(x->dst_in, y->member.dst_in);                                                                   \
        SAME(x->src_out, y->member.src_out);                                                                 \
        SAME(x->src_in, y->member.src_in);                                                                   \
    } while (0)

static void same_gemm(const interp_insn *x, const vta_insn *y)
{
    SAME_NEST(gemm);
    SAME_STEPS(gemm);
    SAME(x->reset, y->gemm.reset);
    SAME(x->init, y->gemm.init);
    SAME(x->wgt_out, y->gemm.wgt_out);
    SAME(x->wgt_in, y->gemm.wgt_in);
}

static void same_alu(const interp_insn *x, const vta_insn *y)
{
    SAME_NEST(alu);
    SAME_STEPS(alu);
    SAME(x->ignored, y->alu.ignored);
    SAME(x->alu_op, y->alu.alu_op);
    SAME(x->use_imm, y->alu.use_imm);
    SAME(x->from_src, y->alu.from_src);
    SAME(x->imm, y->alu.imm);
}

static void same_requant(const interp_insn *x, const vta_insn *y)
{
    SAME_STEPS(requant);
    SAME(x->uop, y->requant.uop);
    SAME(x->iter_out, y->requant.iter_out);
    SAME(x->iter_in, y->requant.iter_in);
    SAME(x->zero_point, y->requant.zero_point);
    SAME(x->low, y->requant.low);
    SAME(x->high, y->requant.high);
    SAME(x->rounding, y->requant.rounding);
    SAME(x->wide, y->requant.wide);
    SAME(x->table, y->requant.table);
    SAME(x->to_inp, y->requant.to_inp);
    SAME(x->part, y->requant.part);
    SAME(x->dst_high, y->requant.dst_high);
    SAME(x->long_result, y->requant.long_result);
    SAME(x->by_row, y->requant.by_row);
}

static void same_depthwise(const interp_insn *x, const vta_insn *y)
{
    SAME_NEST(depthwise);
    SAME_STEPS(depthwise);
    SAME(x->init, y->depthwise.init);
    SAME(x->taps_x, y->depthwise.taps_x);
    SAME(x->taps_y, y->depthwise.taps_y);
    SAME(x->col_step, y->depthwise.col_step);
    SAME(x->row_step, y->depthwise.row_step);
    SAME(x->group, y->depthwise.group);
}

static void same_insn(const interp_insn *x, const vta_insn *y)
{
    same_header(x, y);
    switch ((vta_opcode)y->opcode) {
    case VTA_OP_LOAD:
    case VTA_OP_STORE: same_transfer(x, y); break;
    case VTA_OP_GEMM: same_gemm(x, y); break;
    case VTA_OP_ALU: same_alu(x, y); break;
    case VTA_OP_REQUANT: same_requant(x, y); break;
    case VTA_OP_DEPTHWISE: same_depthwise(x, y); break;
    case VTA_OP_FINISH:
        assert_true(x->ignored_low == (uint64_t)y->finish.ignored_low);
        assert_true(x->ignored_high == (uint64_t)y->finish.ignored_high);
        break;
    case VTA_OP_COUNT: fail();
    }
}

/* Both decoders on one word; true when it is legal. */
static bool same_reading(const vta_config *config, vta_word word)
{
    uint8_t bytes[16];
    to_bytes(word, bytes);
    interp_insn ours;
    vta_insn theirs;
    const vta_error expected = interp_decode(config, bytes, &ours);
    const vta_error got = vta_insn_decode_raw(config, word, &theirs);
    if (expected != got) {
        fail_msg("%s, word %016" PRIx64 " %016" PRIx64 ": '%s' by the text, '%s' by the codec", config->name,
                 word.w[1], word.w[0], vta_error_text(expected), vta_error_text(got));
    }
    vta_diag diag = {0};
    vta_insn again;
    assert_int_equal(vta_insn_decode(config, word, &again, &diag) == VTA_OK, expected == VTA_ERROR_NONE);
    assert_int_equal(diag.text[0] == '\0', expected == VTA_ERROR_NONE);
    if (expected != VTA_ERROR_NONE) {
        return false;
    }
    same_insn(&ours, &theirs);
    vta_word back = {{0, 0}};
    assert_int_equal(vta_insn_encode(config, &theirs, &back, NULL), VTA_OK);
    assert_true(back.w[0] == word.w[0] && back.w[1] == word.w[1]);
    return true;
}

static void words_read_alike(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < config_count(); c++) {
        vta_config config;
        config_of(c, &config);
        rng r = rng_split(seed, c);
        uint32_t legal[VTA_OP_COUNT] = {0};
        uint32_t illegal = 0;
        for (uint32_t n = 0; n < WORDS; n++) {
            const vta_word word = n % 2 == 0 ? random_word(&r) : random_fields(&config, &r);
            if (same_reading(&config, word)) {
                legal[word.w[0] & 7]++;
            } else {
                illegal++;
            }
        }
        for (int opcode = 0; opcode < VTA_OP_COUNT; opcode++) {
            assert_true(legal[opcode] > 50);
        }
        assert_true(illegal > WORDS / 10);
    }
}

/* One bit changed at a time: each of the 128 bits is a field's, ignored, or reserved, in both readings. */
static void every_bit_reads_alike(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < config_count(); c++) {
        vta_config config;
        config_of(c, &config);
        rng r = rng_split(seed, 100 + c);
        for (uint32_t n = 0; n < 40; n++) {
            const vta_word word = random_fields(&config, &r);
            for (uint32_t bit = 0; bit < 128; bit++) {
                vta_word flipped = word;
                flipped.w[bit / 64] ^= UINT64_C(1) << (bit % 64);
                (void)same_reading(&config, flipped);
            }
        }
    }
}

static void micro_ops_read_alike(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < config_count(); c++) {
        vta_config config;
        config_of(c, &config);
        rng r = rng_split(seed, 200 + c);
        for (uint32_t n = 0; n < 2000; n++) {
            const uint32_t word = (uint32_t)rng_next(&r);
            const uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16),
                                      (uint8_t)(word >> 24)};
            const interp_uop ours = interp_decode_uop(&config, bytes);
            const vta_uop theirs = vta_uop_decode(&config, word);
            SAME(ours.dst, theirs.dst);
            SAME(ours.src, theirs.src);
            SAME(ours.aux, theirs.aux);
            uint32_t back = 0;
            assert_int_equal(vta_uop_encode(&config, &theirs, &back, NULL), VTA_OK);
            assert_int_equal(back, word);
        }
    }
}

/* ---- text and file ---- */

static void same_program(const vta_program *one, const vta_program *two, const char *text)
{
    assert_true(one->config.hash == two->config.hash);
    assert_int_equal(one->insn_count, two->insn_count);
    for (uint32_t i = 0; i < one->insn_count; i++) {
        if (memcmp(&one->insns[i], &two->insns[i], sizeof one->insns[i]) != 0) {
            char line[256];
            vta_insn_print(&one->config, one->insns[i], line, sizeof line);
            fail_msg("instruction %u (%s) comes back as other bits; the text:\n%.3000s", i, line, text);
        }
    }
    assert_int_equal(one->symbol_count, two->symbol_count);
    for (uint32_t i = 0; i < one->symbol_count; i++) {
        const vta_symbol *x = &one->symbols[i];
        const vta_symbol *y = vta_program_symbol(two, x->name);
        assert_non_null(y);
        assert_int_equal(x->segment, y->segment);
        assert_true(x->offset == y->offset && x->size == y->size);
        assert_true((x->data != NULL) == (y->data != NULL));
        assert_true(x->data == NULL || memcmp(x->data, y->data, x->size) == 0);
    }
}

static void through_text(const vta_program *program)
{
    char *text = NULL;
    vta_diag diag = {0};
    assert_int_equal(vta_disassemble(program, &text, &diag), VTA_OK);
    vta_program back;
    if (vta_assemble(text, strlen(text), "text", &program->config, &back, &diag) != VTA_OK) {
        fail_msg("%s\n%.3000s", diag.text, text);
    }
    same_program(program, &back, text);
    vta_program_free(&back);
    free(text);
}

static void through_file(const vta_program *program)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    vta_diag diag = {0};
    assert_int_equal(vta_program_write(program, &bytes, &size, &diag), VTA_OK);
    vta_program back;
    if (vta_program_read(bytes, size, "file", &back, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    same_program(program, &back, "");
    vta_program_free(&back);
    free(bytes);
}

static void programs_come_back(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < ROUND_TRIP_PROGRAMS; n++) {
        vta_config config;
        config_of(n, &config);
        progen_program program;
        vta_program exported;
        assert_int_equal(progen_make(&config, seed + n, 1 + n, &program, NULL), VTA_OK);
        assert_int_equal(progen_export(&program, seed, &exported), VTA_OK);
        through_text(&exported);
        through_file(&exported);
        vta_program_free(&exported);
        progen_free(&program);
    }
}

/* Every legal instruction has a text, also those that make no sense in a program. */
static void every_instruction_has_a_text(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < TEXT_PROGRAMS * config_count(); n++) {
        vta_config config;
        config_of(n, &config);
        rng r = rng_split(seed, 300 + n);
        vta_program program = {.config = config};
        program.insns = malloc(TEXT_INSNS * sizeof *program.insns);
        assert_non_null(program.insns);
        while (program.insn_count < TEXT_INSNS) {
            const vta_word word = random_fields(&config, &r);
            vta_insn insn;
            if (vta_insn_decode_raw(&config, word, &insn) == VTA_ERROR_NONE) {
                program.insns[program.insn_count++] = word;
            }
        }
        through_text(&program);
        through_file(&program);
        vta_program_free(&program);
    }
}

int main(int argc, char **argv)
{
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : test_seed("conformance_roundtrip");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_read_alike),
        cmocka_unit_test(every_bit_reads_alike),
        cmocka_unit_test(micro_ops_read_alike),
        cmocka_unit_test(programs_come_back),
        cmocka_unit_test(every_instruction_has_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
