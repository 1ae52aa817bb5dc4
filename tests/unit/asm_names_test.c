/* SPDX-License-Identifier: Apache-2.0
 *
 * Any name that a symbol may have, and any tag, through text and through a file: the words of the language,
 * punctuation, letters of other scripts. And the names that a symbol may not have.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rng.h"
#include "vta/program.h"

enum { PROGRAMS = 600, SYMBOLS = 12, INSNS = 30, NAME_BYTES = 200 };

static uint64_t seed = 20261121;

/* ---- random programs with names of all kinds */

static const char *const words[] = {
    "for",
    "in",
    "if",
    "at",
    "fill",
    "random",
    "hex",
    "size",
    "depth",
    "min",
    "max",
    "BATCH",
    "BLOCK_IN",
    "BLOCK_OUT",
    "x",
    "sram",
    "stride",
    "pad",
    "value",
    "top",
    "bottom",
    "left",
    "right",
    "with",
    "pop",
    "push",
    "prev",
    "next",
    "taps",
    "col",
    "row",
    "group",
    "zero",
    "clip",
    "dst",
    "src",
    "wgt",
    "inp",
    "acc",
    "out",
    "acc8",
    "uop",
    "load",
    "store",
    "gemm",
    "load.inp",
    "alu.max",
    "requant",
    "finish",
    "nop",
    ".data",
    ".tag",
    "a.b",
    "a..b",
    "a.",
    "0",
    "4x1",
    "0x1f",
    "@3",
    "+1",
    "a b",
    ";",
    "{",
    "}",
    "[",
    "\\",
    "'",
    "%s",
    "%n",
    " ",
    "été",
    "層/卷积:0",
    "resnet/layer1.0/conv1",
    "-",
    "_",
    "uops",
};

static void random_name(rng *r, char *name)
{
    const uint32_t count = sizeof words / sizeof words[0];
    if (rng_percent(r, 60)) {
        (void)strcpy(name, words[rng_below(r, count)]);
        return;
    }
    const uint32_t size = 1 + rng_below(r, rng_percent(r, 10) ? NAME_BYTES : 8);
    for (uint32_t i = 0; i < size; i++) {
        do {
            name[i] = (char)(0x20 + rng_below(r, 0xe0));
        } while (name[i] == '"' || name[i] == 0x7f);
    }
    name[size] = '\0';
}

static uint8_t *random_bytes(rng *r, uint64_t size)
{
    uint8_t *bytes = malloc((size_t)size);
    assert_non_null(bytes);
    const uint8_t mask = rng_percent(r, 30) ? 0 : 0xff; /* a run, or anything */
    for (uint64_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)rng_next(r) & mask;
    }
    return bytes;
}

/* A symbol behind those that its segment has, unless the name is taken. */
static void add_symbol(rng *r, vta_program *program, uint64_t *ends)
{
    char name[NAME_BYTES + 1];
    random_name(r, name);
    if (vta_program_symbol(program, name) != NULL) {
        return;
    }
    vta_symbol *symbol = &program->symbols[program->symbol_count++];
    symbol->name = strdup(name);
    symbol->memory = (vta_memory)rng_below(r, VTA_MEM_COUNT);
    symbol->segment = rng_percent(r, 50) ? (uint32_t)symbol->memory : rng_below(r, VTA_SEGMENTS);
    const uint64_t element = program->config.elem_bytes[symbol->memory];
    const uint64_t gap = rng_percent(r, 50) ? rng_below(r, 5) * element : 64 * element;
    uint64_t *end = &ends[symbol->segment];
    symbol->offset = (*end + gap + element - 1) / element * element;
    symbol->size = element * (1 + rng_below(r, 5));
    *end = symbol->offset + symbol->size;
    symbol->data = rng_percent(r, 60) ? random_bytes(r, symbol->size) : NULL;
    symbol->expect = rng_percent(r, 20) ? random_bytes(r, symbol->size) : NULL;
}

/* A transfer of, near, or far from a symbol. */
static vta_word random_transfer(rng *r, const vta_program *program)
{
    vta_insn insn = {.opcode = rng_percent(r, 30) ? VTA_OP_STORE : VTA_OP_LOAD};
    insn.mem.memory = VTA_MEM_OUT;
    while (insn.opcode == VTA_OP_LOAD && insn.mem.memory == VTA_MEM_OUT) {
        insn.mem.memory = rng_below(r, program->config.wgt4 ? VTA_MEM_COUNT : VTA_MEM_WGT4);
    }
    const uint32_t element = program->config.elem_bytes[insn.mem.memory];
    insn.mem.segment = rng_below(r, VTA_SEGMENTS);
    insn.mem.dram_base = rng_below(r, 100);
    if (program->symbol_count > 0 && rng_percent(r, 80)) {
        const vta_symbol *symbol = &program->symbols[rng_below(r, program->symbol_count)];
        insn.mem.segment = symbol->segment;
        insn.mem.dram_base = (int64_t)(symbol->offset / element + rng_below(r, 3));
    }
    insn.mem.y_size = 1 + rng_below(r, 3);
    insn.mem.x_size = rng_below(r, 6);
    insn.mem.x_stride = rng_percent(r, 50) ? insn.mem.x_size : 9;
    vta_word word;
    assert_int_equal(vta_insn_encode(&program->config, &insn, &word, NULL), VTA_OK);
    return word;
}

static vta_word random_gemm(rng *r, const vta_program *program)
{
    vta_insn insn = {.opcode = VTA_OP_GEMM};
    insn.gemm.uop_begin = rng_below(r, 6);
    insn.gemm.uop_end = insn.gemm.uop_begin + rng_below(r, 5);
    insn.gemm.iter_out = 1 + rng_below(r, 2);
    insn.gemm.iter_in = 1;
    vta_word word;
    assert_int_equal(vta_insn_encode(&program->config, &insn, &word, NULL), VTA_OK);
    return word;
}

static vta_program random_program(rng *r)
{
    vta_program program = {0};
    uint64_t ends[VTA_SEGMENTS] = {0};
    uint32_t configs = 0;
    const char *const *names = vta_config_names(&configs);
    assert_int_equal(vta_config_load(names[rng_below(r, configs)], &program.config, NULL), VTA_OK);
    program.symbols = calloc(SYMBOLS, sizeof *program.symbols);
    program.insns = calloc(INSNS, sizeof *program.insns);
    program.tags = calloc(INSNS, sizeof *program.tags);
    assert_true(program.symbols != NULL && program.insns != NULL && program.tags != NULL);
    for (uint32_t n = rng_below(r, SYMBOLS + 1); n > 0; n--) {
        add_symbol(r, &program, ends);
    }
    program.insn_count = rng_below(r, INSNS + 1);
    uint32_t tag = 0;
    for (uint32_t i = 0; i < program.insn_count; i++) {
        program.insns[i] = rng_percent(r, 70) ? random_transfer(r, &program) : random_gemm(r, &program);
        tag = rng_percent(r, 70) ? tag : rng_percent(r, 50) ? rng_below(r, 4) : (uint32_t)rng_next(r);
        program.tags[i] = tag;
    }
    return program;
}

static uint32_t tag_of(const vta_program *program, uint32_t i)
{
    return program->tags != NULL ? program->tags[i] : 0;
}

static void assert_same(const vta_program *a, const vta_program *b, const char *text)
{
    assert_int_equal(a->symbol_count, b->symbol_count);
    for (uint32_t i = 0; i < a->symbol_count; i++) {
        const vta_symbol *s = &a->symbols[i];
        const vta_symbol *t = &b->symbols[i];
        assert_string_equal(s->name, t->name);
        assert_true(s->segment == t->segment && s->memory == t->memory);
        assert_true(s->offset == t->offset && s->size == t->size);
        assert_true((s->data == NULL) == (t->data == NULL) && (s->expect == NULL) == (t->expect == NULL));
        assert_true(s->data == NULL || memcmp(s->data, t->data, s->size) == 0);
        assert_true(s->expect == NULL || memcmp(s->expect, t->expect, s->size) == 0);
    }
    assert_int_equal(a->insn_count, b->insn_count);
    for (uint32_t i = 0; i < a->insn_count; i++) {
        if (a->insns[i].w[0] != b->insns[i].w[0] || a->insns[i].w[1] != b->insns[i].w[1] ||
            tag_of(a, i) != tag_of(b, i)) {
            fail_msg("seed %" PRIu64 ": instruction %" PRIu32 " or its tag comes back changed:\n%s", seed, i,
                     text);
        }
    }
}

static void round_trip(const vta_program *program)
{
    vta_diag diag = {0};
    vta_program back;
    char *text = NULL;
    uint8_t *bytes = NULL;
    size_t size = 0;
    assert_int_equal(vta_disassemble(program, &text, &diag), VTA_OK);
    if (vta_assemble(text, strlen(text), "text", NULL, &back, &diag) != VTA_OK) {
        fail_msg("seed %" PRIu64 ": %s\n%s", seed, diag.text, text);
    }
    assert_same(program, &back, text);
    vta_program_free(&back);
    assert_int_equal(vta_program_write(program, &bytes, &size, &diag), VTA_OK);
    if (vta_program_read(bytes, size, "file", &back, &diag) != VTA_OK) {
        fail_msg("seed %" PRIu64 ": %s", seed, diag.text);
    }
    assert_same(program, &back, text);
    assert_true((program->tags == NULL) == (back.tags == NULL));
    vta_program_free(&back);
    free(bytes);
    free(text);
}

static void every_name_comes_back(void **state)
{
    (void)state;
    uint32_t tagged = 0;
    for (uint32_t n = 0; n < PROGRAMS; n++) {
        rng r = rng_split(seed, n);
        vta_program program = random_program(&r);
        for (uint32_t i = 0; i < program.insn_count; i++) {
            tagged += program.tags[i] != 0;
        }
        round_trip(&program);
        vta_program_free(&program);
    }
    assert_true(tagged > PROGRAMS);
}

/* Each word of the language once, whatever the random ones were. */
static void every_word_can_be_a_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char text[400];
        vta_program program;
        vta_diag diag = {0};
        (void)snprintf(text, sizeof text,
                       ".config tiny\n.data \"%s\" inp 3 in 3 at 64 = fill(1)\n.expect \"%s\" = fill(2)\n"
                       ".uops \"k%s\" sram 2 { 1 }\nload.uop \"k%s\"\n"
                       "load.inp size(\"%s\"), \"%s\"+1\ngemm \"k%s\"[0]\n",
                       words[i], words[i], words[i], words[i], words[i], words[i], words[i]);
        if (vta_assemble(text, strlen(text), "text", NULL, &program, &diag) != VTA_OK) {
            fail_msg("%s\n%s", diag.text, text);
        }
        vta_insn insn;
        assert_string_equal(program.symbols[0].name, words[i]);
        assert_int_equal(vta_insn_decode(&program.config, program.insns[1], &insn, NULL), VTA_OK);
        const int64_t first = 64 / (int64_t)program.config.elem_bytes[VTA_MEM_INP];
        assert_true(insn.mem.sram_base == 3 && insn.mem.segment == 3 && insn.mem.dram_base == first + 1 &&
                    insn.mem.x_size == 2);
        round_trip(&program);
        vta_program_free(&program);
    }
}

/* ---- what the quotes do not change, and what they cannot do */

static void words_keep_their_meaning(void **state)
{
    (void)state;
    static const char text[] = ".config tiny\n"
                               ".data \"min\" inp 5\n.data \"BATCH\" inp 2\n.data \"in\" inp 1\n"
                               ".data y inp min(2, 7) in 5\n.data \"z\" inp BATCH\n"
                               "load.inp min(size(\"min\"), 9), y\n"
                               "load.inp 0, z\n";
    vta_program program;
    vta_insn insn;
    vta_diag diag = {0};
    if (vta_assemble(text, sizeof text - 1, "text", NULL, &program, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    assert_int_equal(program.symbols[3].size, 2 * program.config.elem_bytes[VTA_MEM_INP]);
    assert_int_equal(program.symbols[3].segment, 5);
    assert_int_equal(program.symbols[4].size, program.config.batch * program.config.elem_bytes[VTA_MEM_INP]);
    assert_int_equal(vta_insn_decode(&program.config, program.insns[0], &insn, NULL), VTA_OK);
    assert_int_equal(insn.mem.sram_base, 5);
    vta_program_free(&program);
}

static void bad_names_are_refused(void **state)
{
    (void)state;
    char long_name[300] = ".data \"";
    memset(long_name + 7, 'n', 201);
    (void)strcpy(long_name + 208, "\" inp 1");
    const struct {
        const char *text, *message;
    } cases[] = {
        {".data \"\" inp 1", "t:1:7: a name has 1 to 200 characters, and no control character among them"},
        {".data \"a\tb\" inp 1",
         "t:1:7: a name has 1 to 200 characters, and no control character among them"},
        {long_name, "t:1:7: a name has 1 to 200 characters, and no control character among them"},
        {".data in inp 1", "t:1:7: 'in' is a reserved word; choose another name or put it in quotes"},
        {".uops BATCH { 1 }",
         "t:1:7: 'BATCH' is given by the configuration; choose another name or put it in quotes"},
        {".data \"in\" inp 1\n.data \"in\" inp 1", "t:2:8: duplicate name 'in'; it was defined in line 1"},
        {".data \"a\" inp 1\n.data a inp 1", "t:2:7: duplicate name 'a'; it was defined in line 1"},
        {".set \"in\" = 1", "t:1:6: expected a name, not '\"in\"'"},
        {".expect \"nix\" = 1", "t:1:10: undefined name 'nix'; names must be defined before they are used"},
        {".data \"in\" inp 1\nload.inp 0, in", "t:2:13: expected a number or an expression, not 'in'"},
        {"load.inp 0, \"in\"", "t:1:13: expected a number or an expression, not '\"in\"'"},
        {".tag 4294967296", "t:1:6: tag 4294967296 is out of range; expected 0 to 4294967295"},
        {".tag", "t:1:5: expected a number or an expression, not the end of the text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vta_program program;
        vta_diag diag = {0};
        assert_int_not_equal(vta_assemble(cases[i].text, strlen(cases[i].text), "t", NULL, &program, &diag),
                             VTA_OK);
        assert_string_equal(diag.text, cases[i].message);
    }
}

static void names_in_files_are_judged(void **state)
{
    (void)state;
    static char names[][8] = {"", "a\"b", "a\nb", "\x7f"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        vta_symbol symbol = {.name = names[i], .memory = VTA_MEM_ACC};
        vta_program program = {.symbols = &symbol, .symbol_count = 1};
        vta_program back;
        uint8_t *bytes = NULL;
        size_t size = 0;
        vta_diag diag = {0};
        vta_config_default(&program.config);
        symbol.size = program.config.elem_bytes[VTA_MEM_ACC];
        assert_false(vta_name_is_legal(names[i]));
        assert_int_equal(vta_program_write(&program, &bytes, &size, &diag), VTA_OK);
        assert_int_equal(vta_program_read(bytes, size, "file", &back, &diag), VTA_SYNTAX);
        assert_non_null(strstr(diag.text, "a symbol's name is empty, or has a character that none may have"));
        free(bytes);
    }
}

/* A tag holds until the next, in loops too; a text without any has none. */
static void tags_hold_until_the_next(void **state)
{
    (void)state;
    static const char text[] =
        "nop.load\n.tag 7\nnop.load\nfor i in 3 {\n.tag 10*i\nnop.load\nnop.store\n}\nfinish\n";
    static const uint32_t want[] = {0, 7, 0, 0, 10, 10, 20, 20, 20};
    vta_program program;
    vta_diag diag = {0};
    if (vta_assemble(text, sizeof text - 1, "text", NULL, &program, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    assert_int_equal(program.insn_count, sizeof want / sizeof want[0]);
    assert_memory_equal(program.tags, want, sizeof want);
    round_trip(&program);
    vta_program_free(&program);
    assert_int_equal(vta_assemble("finish", 6, "text", NULL, &program, &diag), VTA_OK);
    assert_null(program.tags);
    vta_program_free(&program);
}

int main(int argc, char **argv)
{
    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : seed;
    print_message("seed %" PRIu64 "\n", seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_comes_back),     cmocka_unit_test(every_word_can_be_a_name),
        cmocka_unit_test(words_keep_their_meaning),  cmocka_unit_test(bad_names_are_refused),
        cmocka_unit_test(names_in_files_are_judged), cmocka_unit_test(tags_hold_until_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
