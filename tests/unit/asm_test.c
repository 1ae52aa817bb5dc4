/* SPDX-License-Identifier: Apache-2.0
 *
 * Assembler, disassembler and container: what texts mean, what they are refused for, and that nothing is lost
 * on the way from bits to text to bits. Random tests print their seed; the first argument sets it.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rng.h"
#include "seed.h"
#include "vta/program.h"

static uint64_t seed;

static vta_program assemble_ok(const char *text)
{
    vta_program program;
    vta_diag diag = {0};
    if (vta_assemble(text, strlen(text), "t.vasm", NULL, &program, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    return program;
}

static void assert_refused(const char *text, const char *message)
{
    vta_program program;
    vta_diag diag = {0};
    const vta_status status = vta_assemble(text, strlen(text), "t.vasm", NULL, &program, &diag);
    assert_int_not_equal(status, VTA_OK);
    assert_string_equal(diag.text, message);
    assert_null(program.insns);
    assert_null(program.symbols);
}

static vta_insn insn_of(const vta_program *program, uint32_t index)
{
    vta_insn insn;
    vta_diag diag = {0};
    assert_true(index < program->insn_count);
    if (vta_insn_decode(&program->config, program->insns[index], &insn, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    return insn;
}

/* ---- what texts mean */

static void transfers_fill_their_fields(void **state)
{
    (void)state;
    vta_program p = assemble_ok(
        ".data a inp 64\n"
        ".data b inp 4 in 7\n"
        "[pop next] load.inp 5, b+1, 3 x 2, stride 7, pad (top 1, left 2), value -128 [push next]\n"
        "store 9, @3+11, 4x5 [push prev]\n"
        "load.acc8 1, 2, 3, pad 4\n"
        "load.inp 0, a\n");
    vta_insn i = insn_of(&p, 0);
    assert_int_equal(i.opcode, VTA_OP_LOAD);
    assert_int_equal(i.pop_next, 1);
    assert_int_equal(i.push_next, 1);
    assert_int_equal(i.pop_prev + i.push_prev, 0);
    assert_int_equal(i.mem.memory, VTA_MEM_INP);
    assert_int_equal(i.mem.sram_base, 5);
    assert_int_equal(i.mem.segment, 7);
    assert_int_equal(i.mem.dram_base, 1);
    assert_int_equal(i.mem.x_size, 3);
    assert_int_equal(i.mem.y_size, 2);
    assert_int_equal(i.mem.x_stride, 7);
    assert_int_equal(i.mem.y_pad_0, 1);
    assert_int_equal(i.mem.y_pad_1, 0);
    assert_int_equal(i.mem.x_pad_0, 2);
    assert_int_equal(i.mem.x_pad_1, 0);
    assert_int_equal(vta_insn_pad_value(&i), -128);
    i = insn_of(&p, 1);
    assert_int_equal(i.opcode, VTA_OP_STORE);
    assert_int_equal(i.mem.memory, VTA_MEM_OUT);
    assert_int_equal(i.mem.segment, 3);
    assert_int_equal(i.mem.dram_base, 11);
    assert_int_equal(i.mem.x_size, 4);
    assert_int_equal(i.mem.y_size, 5);
    assert_int_equal(i.mem.x_stride, 4);
    assert_int_equal(i.push_prev, 1);
    i = insn_of(&p, 2);
    assert_int_equal(i.mem.memory, VTA_MEM_ACC8);
    assert_int_equal(i.mem.segment, 0);
    assert_int_equal(i.mem.y_pad_0 + i.mem.y_pad_1 + i.mem.x_pad_0 + i.mem.x_pad_1, 16);
    i = insn_of(&p, 3);
    assert_int_equal(i.mem.x_size, 64);
    assert_int_equal(i.mem.y_size, 1);
    vta_program_free(&p);
}

static void loop_nests_fill_their_fields(void **state)
{
    (void)state;
    vta_program p = assemble_ok(".uops k { for i in 4 { i, 0, 1 } }\n"
                                ".uops m sram 100 { 1, 2 }\n"
                                "gemm.init k : 14 (dst 15, src 16, wgt 17) x 18 (wgt 19, dst 20)\n"
                                "alu.shr k[1..3], -5 : 2 (src 3)\n"
                                "alu.clip 7..9\n"
                                "requant m, clip -5..9, zero -3 : 6 (dst 1) x 7 (src 2)\n"
                                "depthwise k[3], taps 3 x 2, col 1, row 200 : 8 (src 4)\n"
                                "gemm.reset m [push prev next]\n"
                                "alu.max.src 3, -7\n"
                                "requant m, table 1, wide, round twice_out\n"
                                "load.tab 64, @6, 64\n"
                                "requant m, to inp : 3 (dst 2) with dst_high 0\n");
    vta_insn i = insn_of(&p, 0);
    assert_int_equal(i.gemm.init, 1);
    assert_int_equal(i.gemm.uop_begin, 0);
    assert_int_equal(i.gemm.uop_end, 4);
    assert_int_equal(i.gemm.iter_out, 14);
    assert_int_equal(i.gemm.dst_out, 15);
    assert_int_equal(i.gemm.src_out, 16);
    assert_int_equal(i.gemm.wgt_out, 17);
    assert_int_equal(i.gemm.iter_in, 18);
    assert_int_equal(i.gemm.wgt_in, 19);
    assert_int_equal(i.gemm.dst_in, 20);
    i = insn_of(&p, 1);
    assert_int_equal(i.alu.alu_op, VTA_ALU_SHR);
    assert_int_equal(i.alu.use_imm, 1);
    assert_int_equal(i.alu.imm, -5);
    assert_int_equal(i.alu.uop_begin, 1);
    assert_int_equal(i.alu.uop_end, 3);
    assert_int_equal(i.alu.iter_out, 2);
    assert_int_equal(i.alu.src_out, 3);
    assert_int_equal(i.alu.iter_in, 1);
    i = insn_of(&p, 2);
    assert_int_equal(i.alu.use_imm, 0);
    assert_int_equal(i.alu.uop_begin, 7);
    assert_int_equal(i.alu.uop_end, 9);
    i = insn_of(&p, 6);
    assert_int_equal(i.alu.alu_op, VTA_ALU_MAX);
    assert_int_equal(i.alu.use_imm, 1);
    assert_int_equal(i.alu.from_src, 1);
    assert_int_equal(i.alu.imm, -7);
    assert_int_equal(insn_of(&p, 1).alu.from_src, 0);
    i = insn_of(&p, 7);
    assert_int_equal(i.requant.rounding, VTA_ROUND_TWICE_OUT);
    assert_int_equal(i.requant.wide, 1);
    assert_int_equal(i.requant.table, 2);
    assert_int_equal(insn_of(&p, 3).requant.table, 0);
    assert_int_equal(i.requant.to_inp, 0);
    assert_int_equal(insn_of(&p, 9).requant.to_inp, 1);
    i = insn_of(&p, 8);
    assert_int_equal(i.mem.memory, VTA_MEM_TAB);
    assert_int_equal(i.mem.x_size, 64);
    i = insn_of(&p, 3);
    assert_int_equal(i.requant.uop, 100);
    assert_int_equal(i.requant.low, -5);
    assert_int_equal(i.requant.high, 9);
    assert_int_equal(i.requant.zero_point, -3);
    assert_int_equal(i.requant.iter_in, 7);
    assert_int_equal(i.requant.src_in, 2);
    i = insn_of(&p, 4);
    assert_int_equal(i.depthwise.uop_begin, 3);
    assert_int_equal(i.depthwise.uop_end, 4);
    assert_int_equal(i.depthwise.taps_x, 3);
    assert_int_equal(i.depthwise.taps_y, 2);
    assert_int_equal(i.depthwise.row_step, 200);
    assert_int_equal(i.depthwise.init, 0);
    i = insn_of(&p, 5);
    assert_int_equal(i.gemm.reset, 1);
    assert_int_equal(i.push_prev, 1);
    assert_int_equal(i.push_next, 1);
    vta_program_free(&p);
}

static void loops_and_conditions_repeat_code(void **state)
{
    (void)state;
    vta_program p =
        assemble_ok(".set N = 2*2\n"
                    "for t in N, u in t..2 {\n"
                    "    [pop next if t > 0] load.inp t*10+u, 0, 1 [push next if t == 0 && u != 0]\n"
                    "}\n"
                    "for none in 5..5 { for z in 3 { finish } }\n"
                    "finish\n");
    /* (0,0) (0,1) (1,1), then finish */
    assert_int_equal(p.insn_count, 4);
    assert_int_equal(insn_of(&p, 0).mem.sram_base, 0);
    assert_int_equal(insn_of(&p, 0).push_next, 0);
    assert_int_equal(insn_of(&p, 1).mem.sram_base, 1);
    assert_int_equal(insn_of(&p, 1).push_next, 1);
    assert_int_equal(insn_of(&p, 1).pop_next, 0);
    assert_int_equal(insn_of(&p, 2).mem.sram_base, 11);
    assert_int_equal(insn_of(&p, 2).pop_next, 1);
    assert_int_equal(p.lines[2], 3);
    assert_int_equal(p.lines[3], 6);
    vta_program_free(&p);
}

static void contents_become_bytes(void **state)
{
    (void)state;
    vta_program p = assemble_ok(".config tiny\n"
                                ".data a inp = 1, -2, \"AB\", hex \"7f 80\"\n"
                                ".data b acc 2 = { for i in 3 {\n -i*70000 } ; comment\n 5,\n }\n"
                                ".data c out 3 = fill(9, 2), 4\n"
                                ".data d inp 2 = random(42, -1, 1)\n"
                                ".uops k { 1, 2, 3\n 4 }\n"
                                ".expect c = fill(-7)\n"
                                ".data e wgt 1\n");
    static const uint8_t a[8] = {1, 0xfe, 'A', 'B', 0x7f, 0x80, 0, 0};
    static const uint8_t b[16] = {0, 0, 0, 0, 0x90, 0xee, 0xfe, 0xff, 0x20, 0xdd, 0xfd, 0xff, 5, 0, 0, 0};
    static const uint8_t c[12] = {9, 9, 4};
    const vta_symbol *s = vta_program_symbol(&p, "a");
    assert_int_equal(s->size, sizeof a);
    assert_memory_equal(s->data, a, sizeof a);
    assert_null(s->expect);
    s = vta_program_symbol(&p, "b");
    assert_int_equal(s->size, 32);
    assert_memory_equal(s->data, b, sizeof b);
    s = vta_program_symbol(&p, "c");
    assert_int_equal(s->size, sizeof c);
    assert_memory_equal(s->data, c, sizeof c);
    for (size_t i = 0; i < sizeof c; i++) {
        assert_int_equal((int8_t)s->expect[i], -7);
    }
    s = vta_program_symbol(&p, "d");
    uint64_t state42 = 42; /* the sequence of ASM.md, written a second time */
    for (size_t i = 0; i < s->size; i++) {
        uint64_t z = state42 += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        assert_int_equal((int8_t)s->data[i], -1 + (int64_t)(z % 3));
    }
    s = vta_program_symbol(&p, "k");
    uint32_t word = 0;
    assert_int_equal(s->size, 8);
    memcpy(&word, s->data, 4);
    const vta_uop uop = vta_uop_decode(&p.config, word);
    assert_int_equal(uop.dst, 1);
    assert_int_equal(uop.src, 2);
    assert_int_equal(uop.aux, 3);
    assert_null(vta_program_symbol(&p, "e")->data);
    assert_null(vta_program_symbol(&p, "f"));
    vta_program_free(&p);
}

static void symbols_get_places(void **state)
{
    (void)state;
    vta_program p =
        assemble_ok(".data a inp 1\n.data b inp 1\n.data c wgt 1 in 2\n.data d inp 1 in 5 at 48\n");
    assert_int_equal(vta_program_symbol(&p, "a")->segment, VTA_MEM_INP);
    assert_int_equal(vta_program_symbol(&p, "a")->offset, 0);
    assert_int_equal(vta_program_symbol(&p, "b")->offset, 256);
    assert_int_equal(vta_program_symbol(&p, "c")->segment, 2);
    assert_int_equal(vta_program_symbol(&p, "c")->offset, 512);
    assert_int_equal(vta_program_symbol(&p, "d")->offset, 48);
    assert_int_equal(vta_program_segment_size(&p, 2), 768);
    assert_int_equal(vta_program_segment_size(&p, 5), 64);
    assert_int_equal(vta_program_segment_size(&p, 0), 0);
    vta_program_free(&p);
}

static void expressions_are_those_of_c(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } rows[] = {
        {"2+3*4", 14},
        {"(2+3)*4", 20},
        {"20-3-4", 13},
        {"-7/2", -7 / 2},
        {"-7%3", -7 % 3},
        {"1<<4|3&2^1", 1 << 4 | ((3 & 2) ^ 1)},
        {"~0 & 0xff", 255},
        {"!0 + !5", 1},
        {"3 < 4 && 4 <= 4 || 1/1 == 0", 1},
        {"min(3, -1) + max(2, 9)", 8},
        {"0b101 * 0x10", 80},
        {"size(a) + depth(inp)", 3 + 2048},
        {"BATCH * BLOCK_IN * BLOCK_OUT", 256},
        {"100 >> 2", 25},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, ".data a inp 3\n.set V = %s\nalu.add 0, V\n", rows[i].text);
        vta_program p = assemble_ok(text);
        assert_int_equal(insn_of(&p, 0).alu.imm, rows[i].value);
        vta_program_free(&p);
    }
}

/* ---- what texts are refused for */

static void errors_name_place_and_remedy(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"load.inp 8192, 0, 1", "t.vasm:1:10: sram_base 8192 is out of range; expected 0 to 8191"},
        {"\n  gemm 0 : 16384", "t.vasm:2:12: iter_out 16384 is out of range; expected 0 to 16383"},
        {"load.inp 0, a, 1", "t.vasm:1:13: undefined name 'a'; names must be defined before they are used"},
        {".set counter = 1\nload.inp countr, 0, 1",
         "t.vasm:2:10: undefined name 'countr'; did you mean 'counter'?"},
        {".set a = 1\n.set a = 2", "t.vasm:2:6: duplicate name 'a'; it was defined in line 1"},
        {".set fill = 1", "t.vasm:1:6: 'fill' is a reserved word; choose another name"},
        {".set BATCH = 1", "t.vasm:1:6: 'BATCH' is given by the configuration; choose another name"},
        {".data a inp = \"abc", "t.vasm:1:15: unterminated string; expected '\"' before the end of the line"},
        {".data a inp = { 1,\n2", "t.vasm:1:15: unterminated '{'; expected '}' before the end of the text"},
        {"for i in 0 { finish", "t.vasm:1:5: unterminated loop; expected '}' before the end of the text"},
        {"# hi", "t.vasm:1:1: unexpected character '#'; a comment starts with ';'"},
        {"\x01", "t.vasm:1:1: unexpected character '\\x01'"},
        {"12ab", "t.vasm:1:1: malformed number '12ab'"},
        {"jump 3", "t.vasm:1:1: unknown instruction 'jump'; expected load, store, gemm, alu, requant, "
                   "depthwise, finish or nop"},
        {"alu.sub 0", "t.vasm:1:1: unknown instruction 'alu.sub'; expected alu.min, alu.max, alu.add, "
                      "alu.shr, alu.mul, alu.clip, alu.mov, alu.row_min, alu.row_max, alu.row_add, "
                      "alu.row_mov, alu.exp2, alu.root, alu.recip or alu.recip_root"},
        {"load.out 0, 0, 1", "t.vasm:1:1: unknown instruction 'load.out'; expected load.uop, load.wgt, "
                             "load.wgt4, load.inp, load.acc, load.acc8 or load.tab"},
        {".dta", "t.vasm:1:1: expected one of .config .set .data .uops .expect .insn .tag, not '.dta'"},
        {"finish finish", "t.vasm:1:8: expected the end of the line, not 'finish'"},
        {"load.inp 0", "t.vasm:1:11: expected ',' and a DRAM address, not the end of the text"},
        {"load.inp 0, 4\n", "t.vasm:1:14: expected ',' and a number of elements, not the end of the line"},
        {"load.inp 0, 4, 1, bad 2", "t.vasm:1:19: expected 'stride', 'pad' or 'value', not 'bad'"},
        {"load.inp 0, 4, 1, value 128", "t.vasm:1:25: pad value 128 is out of range; expected -128 to 127"},
        {"[pop up] finish", "t.vasm:1:6: expected 'prev' or 'next', not 'up'"},
        {"gemm 0 : 1 (imp 3)", "t.vasm:1:13: expected 'dst', 'src' or 'wgt', not 'imp'"},
        {"finish with opcode 3", "t.vasm:1:13: 'opcode' is no field of finish; 'isa.def' lists them"},
        {"alu.shr 0, 40", "t.vasm:1:1: alu: imm 40 (limit: 31): a shift moves at most 31 places"},
        {"[pop prev] load.inp 0, 0, 1",
         "t.vasm:1:12: load: pop_prev 1 (limit: 0): no unit comes before load"},
        {".data a inp 2 = fill(1, 33)", "t.vasm:1:17: too many values for 'a'; it holds 32"},
        {".data a inp = fill(1)", "t.vasm:1:15: how many? give a count here, or 'a' a number of elements"},
        {".data a inp = 200", "t.vasm:1:15: value 200 is out of range; expected -128 to 127"},
        {".data a inp",
         "t.vasm:1:12: expected a number of elements, or '=' and contents, not the end of the text"},
        {".data a foo 3", "t.vasm:1:9: expected a memory: uop, wgt, inp, acc, out, acc8, tab or wgt4, "
                          "not 'foo'"},
        {".data a acc = hex \"123\"", "t.vasm:1:19: 3 hexadecimal digits; expected a multiple of 8"},
        {".data a inp 1 in 8", "t.vasm:1:18: segment 8 is out of range; expected 0 to 7"},
        {".data a inp 1 at 8", "t.vasm:1:18: offset 8 is not a multiple of the 16 bytes of an element"},
        {".data a inp 1\n.data b inp 1 at 0", "t.vasm: 'a' and 'b' overlap in segment 2"},
        {".data a inp 4\n.expect a = 1, 2", "t.vasm:2:9: 2 values are expected of 'a', which holds 64"},
        {".data a inp 1\n.expect a = fill(0)\n.expect a = fill(0)",
         "t.vasm:3:9: duplicate expectation for 'a'"},
        {".uops k { 1, 2, 3, 4 }", "t.vasm:1:11: too many values for a micro-op; expected dst, src and aux"},
        {".uops k { 2048 }", "t.vasm:1:11: micro-op: dst 2048 does not fit in its field (limit: 2047)"},
        {".uops k { }", "t.vasm:1:7: 'k' is empty; it needs at least one micro-op"},
        {".uops k { 0\n1 }\nrequant k", "t.vasm:3:9: 2 micro-ops; requant takes one, as in k[0]"},
        {".uops k { 0\n1 }\ngemm k[1..3]", "t.vasm:3:6: the kernel has micro-ops 0 to 1, not 1..3"},
        {".uops k sram 8191 { 0\n1 }\ngemm k", "t.vasm:3:6: kernel 'k' would take micro-ops 8191 to 8192 of "
                                               "a scratchpad of 8192; give it a place with 'sram'"},
        {".set a = 1/0", "t.vasm:1:11: division by zero"},
        {".set a = 1 << 64", "t.vasm:1:12: shift by 64; expected 0 to 63"},
        {".set a = 0x7fffffffffffffff + 1", "t.vasm:1:29: the result does not fit in 64 bits"},
        {".set a = 18446744073709551616",
         "t.vasm:1:10: number '18446744073709551616' does not fit in 64 bits"},
        {".set a = 18446744073709551615",
         "t.vasm:1:10: number '18446744073709551615' is too large; limit: 9223372036854775807"},
        {".data a inp 1\n.set b = a",
         "t.vasm:2:10: 'a' names memory and has no value; write size(...) for its number of elements"},
        {"for i in 2 { .set a = 1\n}", "t.vasm:1:14: expected an instruction, not '.set'"},
        {"for i in 2, i in 2 { finish }", "t.vasm:1:13: duplicate name 'i'; it was defined in line 1"},
        {".set a = 1\n.config tiny", "t.vasm:2:1: '.config' must come before everything else"},
        {".config nope", "t.vasm:1:9: no configuration is called 'nope'; 'vtac config list' lists them"},
        {".config {", "t.vasm:1:9: unterminated configuration; expected '}' before the end of the text"},
        {".insn 1", "t.vasm:1:8: expected its high 64 bits, not the end of the text"},
        {"for i in 1000000000 { }", NULL},
        {"for i in 9999, j in 9999 { finish }", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].message != NULL) {
            assert_refused(rows[i].text, rows[i].message);
            continue;
        }
        vta_program program;
        vta_diag diag = {0};
        assert_int_equal(vta_assemble(rows[i].text, strlen(rows[i].text), "t.vasm", NULL, &program, &diag),
                         VTA_SYNTAX);
        assert_non_null(strstr(diag.text, "loops run too long; limit: 16777216 characters read altogether"));
    }
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    char *text = malloc(DEPTH + 16);
    assert_non_null(text);
    memcpy(text, ".set a = ", 9);
    memset(text + 9, '(', DEPTH);
    text[9 + DEPTH] = '\0';
    assert_refused(text, "t.vasm:1:74: nested too deeply; limit: 64 levels");
    memset(text + 9, '-', DEPTH);
    assert_refused(text, "t.vasm:1:74: nested too deeply; limit: 64 levels");
    free(text);
}

/* ---- round trips */

static void assert_same_program(const vta_program *a, const vta_program *b)
{
    assert_int_equal(a->config.hash, b->config.hash);
    assert_string_equal(a->config.name, b->config.name);
    assert_int_equal(a->insn_count, b->insn_count);
    assert_int_equal(a->symbol_count, b->symbol_count);
    for (uint32_t i = 0; i < a->insn_count; i++) {
        if (memcmp(&a->insns[i], &b->insns[i], sizeof a->insns[i]) != 0) {
            fail_msg("seed %" PRIu64 ": instruction %" PRIu32 ": %016" PRIx64 " %016" PRIx64
                     " became %016" PRIx64 " %016" PRIx64,
                     seed, i, a->insns[i].w[0], a->insns[i].w[1], b->insns[i].w[0], b->insns[i].w[1]);
        }
    }
    for (uint32_t i = 0; i < a->symbol_count; i++) {
        const vta_symbol *s = &a->symbols[i];
        const vta_symbol *t = &b->symbols[i];
        assert_string_equal(s->name, t->name);
        assert_int_equal(s->segment, t->segment);
        assert_int_equal(s->memory, t->memory);
        assert_int_equal(s->offset, t->offset);
        assert_int_equal(s->size, t->size);
        assert_int_equal(s->data != NULL, t->data != NULL);
        assert_int_equal(s->expect != NULL, t->expect != NULL);
        assert_true(s->data == NULL || memcmp(s->data, t->data, s->size) == 0);
        assert_true(s->expect == NULL || memcmp(s->expect, t->expect, s->size) == 0);
    }
}

/* Through text, and through a file. */
static void round_trip(const vta_program *program)
{
    char *text = NULL;
    uint8_t *bytes = NULL;
    size_t size = 0;
    vta_program back;
    vta_diag diag = {0};
    assert_int_equal(vta_disassemble(program, &text, &diag), VTA_OK);
    if (vta_assemble(text, strlen(text), "back", NULL, &back, &diag) != VTA_OK) {
        fail_msg("seed %" PRIu64 ": %s", seed, diag.text);
    }
    assert_same_program(program, &back);
    vta_program_free(&back);
    free(text);
    assert_int_equal(vta_program_write(program, &bytes, &size, &diag), VTA_OK);
    if (vta_program_read(bytes, size, "back", &back, &diag) != VTA_OK) {
        fail_msg("seed %" PRIu64 ": %s", seed, diag.text);
    }
    assert_same_program(program, &back);
    assert_int_equal(program->lines != NULL, back.lines != NULL);
    assert_true(program->lines == NULL ||
                memcmp(program->lines, back.lines, 4 * (size_t)back.insn_count) == 0);
    vta_program_free(&back);
    free(bytes);
}

/* Small, extreme or any value of a field. */
static int64_t random_value(rng *r, const vta_field_info *field)
{
    const uint64_t ones = field->width == 64 ? UINT64_MAX : (UINT64_C(1) << field->width) - 1;
    const uint64_t any = rng_next(r);
    uint64_t bits = any & ones;
    switch (rng_next(r) % 4) {
    case 0: bits = any % 3 & ones; break;
    case 1: bits = (any & 1) != 0 ? ones : ones ^ (ones >> 1); break;
    default: break;
    }
    if (field->sign == 'S' && bits > ones >> 1) {
        return (int64_t)(bits | ~ones);
    }
    return (int64_t)bits;
}

static vta_word random_word(rng *r, const vta_config *config, const vta_field_info *fields)
{
    static const char *const formats[] = {
#define VTA_OPCODE(id, value, format, mnemonic, doc) [(value)] = #format,
#include "vta/isa.def"
    };
    for (;;) {
        vta_insn insn = {.opcode = (int64_t)(rng_next(r) % VTA_OP_COUNT)};
        const int64_t opcode = insn.opcode;
        const bool flags = rng_next(r) % 2 == 0;
        for (int row = 0; row < VTA_FIELD_COUNT; row++) {
            const bool header = strcmp(fields[row].format, "HEADER") == 0;
            if ((header && flags) || strcmp(fields[row].format, formats[opcode]) == 0) {
                const int64_t value = random_value(r, &fields[row]);
                memcpy((char *)&insn + fields[row].offset, &value, sizeof value);
            }
        }
        insn.opcode = opcode;
        vta_word word;
        if (vta_insn_encode(config, &insn, &word, NULL) == VTA_OK) {
            return word;
        }
    }
}

static void every_legal_instruction_comes_back(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    uint32_t configs = 0;
    const char *const *names = vta_config_names(&configs);
    rng r = {seed};
    for (uint32_t c = 0; c < configs; c++) {
        vta_program program = {.insn_count = COUNT};
        vta_field_info fields[VTA_FIELD_COUNT];
        uint32_t seen = 0;
        assert_int_equal(vta_config_load(names[c], &program.config, NULL), VTA_OK);
        assert_int_equal(vta_isa_fields(&program.config, fields), VTA_FIELD_COUNT);
        program.insns = calloc(COUNT, sizeof *program.insns);
        assert_non_null(program.insns);
        for (uint32_t i = 0; i < COUNT; i++) {
            const bool legal = i % 50 != 0; /* others go through .insn */
            program.insns[i] =
                legal ? random_word(&r, &program.config, fields) : (vta_word){{rng_next(&r), rng_next(&r)}};
            seen |= 1u << (program.insns[i].w[0] & 7);
        }
        assert_int_equal(seen & ((1u << VTA_OP_COUNT) - 1), (1u << VTA_OP_COUNT) - 1);
        round_trip(&program);
        for (uint32_t i = 0; i < 100; i++) {
            char line[512];
            vta_insn_print(&program.config, program.insns[i], line, sizeof line);
            vta_program one;
            vta_diag diag = {0};
            if (vta_assemble(line, strlen(line), "line", &program.config, &one, &diag) != VTA_OK) {
                fail_msg("seed %" PRIu64 ": %s: '%s'", seed, diag.text, line);
            }
            assert_int_equal(one.insn_count, 1);
            assert_memory_equal(&one.insns[0], &program.insns[i], sizeof one.insns[0]);
            vta_program_free(&one);
        }
        vta_program_free(&program);
    }
}

static const char rich[] = ".config tiny\n"
                           ".data a inp 64 = random(7)\n"
                           ".data quiet acc 9 = fill(0)\n"
                           ".data far out 3 in 6 at 4096 = 1, 2\n"
                           ".data c out 3\n"
                           ".expect c = { 1, 2, 3, fill(5, 9) }\n"
                           ".data words uop 3\n"
                           ".data w wgt 4 = random(8)\n"
                           ".data s acc8 9 = fill(3, 36)\n"
                           ".data r acc 40 = random(9)\n"
                           ".uops k { for i in 4 { i, i, i } }\n"
                           ".expect k = fill(77)\n"
                           "load.uop k\nload.inp 3, a+5, 3x2, stride 9\nload.acc 0, far, 1\ngemm k\nfinish\n";

static void whole_programs_come_back(void **state)
{
    (void)state;
    vta_program program = assemble_ok(rich);
    round_trip(&program);
    char *listing = NULL;
    assert_int_equal(vta_disassemble(&program, &listing, NULL), VTA_OK);
    assert_non_null(strstr(listing, "load.inp 3, a+5, 3 x 2, stride 9"));
    assert_non_null(strstr(listing, "; 3 k\n"));
    assert_non_null(strstr(listing, ".data far out 3 in 6 at 4096 = {"));
    assert_non_null(strstr(listing, ".data quiet acc 9 = fill(0)\n"));
    assert_non_null(strstr(listing, ".data words uop 3\n"));
    free(listing);
    vta_program_free(&program);
}

static void own_configurations_travel_with_the_program(void **state)
{
    (void)state;
    static const char text[] = ".config { \"LOG_BLOCK_IN\": 3,\n \"LOG_INP_BUFF_SIZE\": 12, "
                               "\"LOG_WGT_BUFF_SIZE\": 16, \"NAME\": \"mine\" }\nfinish\n";
    vta_program program;
    vta_diag diag = {0};
    if (vta_assemble(text, strlen(text), "t.vasm", NULL, &program, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    assert_int_equal(program.config.block_in, 8);
    assert_int_equal(program.lines[0], 3);
    round_trip(&program);
    vta_program_free(&program);
}

/* ---- damage */

static void container_of(const char *text, uint8_t **bytes, size_t *size)
{
    vta_program program = assemble_ok(text);
    assert_int_equal(vta_program_write(&program, bytes, size, NULL), VTA_OK);
    vta_program_free(&program);
}

static uint64_t fnv(const uint8_t *bytes, size_t size)
{
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++) {
        sum = (sum ^ bytes[i]) * 0x100000001b3u;
    }
    return sum;
}

static void assert_file_refused(const uint8_t *bytes, size_t size, const char *message)
{
    vta_program program;
    vta_diag diag = {0};
    assert_int_not_equal(vta_program_read(bytes, size, "p.bin", &program, &diag), VTA_OK);
    if (strstr(diag.text, message) == NULL) {
        fail_msg("'%s' instead of '%s'", diag.text, message);
    }
    assert_null(program.symbols);
    assert_null(program.insns);
}

static void damaged_files_are_refused(void **state)
{
    (void)state;
    uint8_t *bytes = NULL;
    size_t size = 0;
    container_of(".data a inp 2 = random(1)\nfinish\n", &bytes, &size);
    assert_file_refused((const uint8_t *)"hello, world", 12,
                        "p.bin: byte 0: not a program file; it does not begin with 'VTAPROG'");
    assert_file_refused(bytes, 20, "p.bin: byte 20: the file ends within its header of 32 bytes");
    assert_file_refused(bytes, size - 1, "p.bin: byte 16: the file should have");
    bytes[8] = 9;
    assert_file_refused(bytes, size, "p.bin: byte 8: version 9; this reader knows 1");
    bytes[8] = 1;
    bytes[size - 1] ^= 1;
    assert_file_refused(bytes, size, "p.bin: byte 24: the checksum does not match; the file is damaged");
    bytes[size - 1] ^= 1;
    for (size_t i = 0; i < size; i++) { /* every single byte is guarded */
        vta_program program;
        bytes[i] ^= 0x10;
        assert_int_not_equal(vta_program_read(bytes, size, "p.bin", &program, NULL), VTA_OK);
        bytes[i] ^= 0x10;
    }
    free(bytes);
}

/* With the checksum made right again, whatever lies behind it must still be judged. */
static void forged_files_are_judged(void **state)
{
    (void)state;
    enum { ROUNDS = 20000 };
    uint8_t *bytes = NULL;
    size_t size = 0;
    size_t accepted = 0;
    container_of(
        ".config tiny\n.data a inp 2 = random(1)\n.data b out 1\n.expect b = fill(2)\n.uops k { 1 }\n"
        "load.uop k\nfinish\n",
        &bytes, &size);
    uint8_t *copy = malloc(size);
    assert_non_null(copy);
    rng r = {seed};
    for (int i = 0; i < ROUNDS; i++) {
        memcpy(copy, bytes, size);
        const size_t from = 700; /* most are behind the configuration, which has tests of its own */
        for (uint64_t n = rng_next(&r) % 3 + 1; n > 0; n--) {
            const size_t at =
                i % 8 == 0 ? 32 + rng_next(&r) % (size - 32)
                           : (from < size ? from : 32) + rng_next(&r) % (size - (from < size ? from : 32));
            const uint64_t kind = rng_next(&r);
            copy[at] = kind % 3 == 0 ? 0xff : kind % 3 == 1 ? 0 : (uint8_t)(kind >> 8);
        }
        const uint64_t sum = fnv(copy + 32, size - 32);
        memcpy(copy + 24, &sum, sizeof sum);
        vta_program program;
        vta_diag diag = {0};
        if (vta_program_read(copy, size, "p.bin", &program, &diag) == VTA_OK) {
            accepted++;
            char *text = NULL;
            assert_int_equal(vta_disassemble(&program, &text, NULL), VTA_OK);
            free(text);
            round_trip(&program);
            vta_program_free(&program);
        } else {
            assert_non_null(strstr(diag.text, "p.bin: byte "));
        }
    }
    print_message("seed %" PRIu64 ": %zu of %d forged files were still programs\n", seed, accepted, ROUNDS);
    assert_in_range(accepted, 1, ROUNDS - 1);
    free(copy);
    free(bytes);
}

/* Garbage and mutilated programs: an answer, and no damage. */
static void any_text_gets_an_answer(void **state)
{
    (void)state;
    enum { ROUNDS = 2000 };
    static const char *const pieces[] = {
        "{",  "}",      "[",   "]",   "(",           ")", ",", "..",    "=",       "for i in ", "\n",   "0x",
        "\"", ".data ", "inp", " x ", "99999999999", "-", "*", "fill(", "random(", "@7",        "with "};
    rng r = {seed + 1};
    char text[2 * sizeof rich];
    size_t good = 0;
    for (int i = 0; i < ROUNDS; i++) {
        size_t size = sizeof rich - 1;
        memcpy(text, rich, size);
        for (uint64_t n = rng_next(&r) % 4; n > 0; n--) {
            const char *piece = pieces[rng_next(&r) % (sizeof pieces / sizeof pieces[0])];
            const size_t at = rng_next(&r) % size;
            const size_t cut = rng_next(&r) % 2 == 0 ? 0 : rng_next(&r) % (size - at) % 20;
            memmove(text + at + strlen(piece), text + at + cut, size - at - cut);
            memcpy(text + at, piece, strlen(piece));
            size = size - cut + strlen(piece);
        }
        vta_program program;
        vta_diag diag = {0};
        if (vta_assemble(text, size, "t.vasm", NULL, &program, &diag) == VTA_OK) {
            good++;
            vta_program_free(&program);
        } else {
            assert_int_equal(strncmp(diag.text, "t.vasm:", 7), 0);
        }
    }
    print_message("seed %" PRIu64 ": %zu of %d texts were still programs\n", seed + 1, good, ROUNDS);
    assert_in_range(good, 1, ROUNDS - 1);
}

/* Weights of four bits: a symbol of two tiles of 16 x 16, a byte for two weights. */
static void narrow_weights_have_words(void **state)
{
    (void)state;
    vta_program p = assemble_ok(".config { \"WGT4\" : 1 }\n"
                                ".data w wgt4 2 = { 0x12, -1, fill(3) }\n"
                                "load.wgt4 depth(wgt4) - 2, w + 1, 1\n");
    const vta_insn i = insn_of(&p, 0);
    assert_int_equal(i.mem.memory, VTA_MEM_WGT4);
    assert_int_equal(i.mem.sram_base, 1022);
    assert_int_equal(i.mem.segment, VTA_MEM_WGT4);
    assert_int_equal(i.mem.dram_base, 1);
    assert_int_equal(p.symbols[0].size, 256);
    assert_int_equal(p.symbols[0].data[0], 0x12);
    assert_int_equal(p.symbols[0].data[1], 0xff);
    assert_int_equal(p.symbols[0].data[255], 3);
    vta_program_free(&p);
    assert_refused("load.wgt4 0, 0, 1", "t.vasm:1:1: load: memory 7 (limit: 6): the configuration has no "
                                        "weights of four bits (WGT4 is 0)");
}

/* Functions on rows, and what REQUANT has with them. */
static void rows_have_words(void **state)
{
    (void)state;
    vta_program p = assemble_ok(".config { \"ROWS\" : 1 }\n"
                                ".uops k { 1, 2, 3 }\n"
                                "alu.row_max k, places 3 : 4 (dst 2, src 5)\n"
                                "alu.exp2 7..9\n"
                                "alu.recip k, places 8, multiplier\n"
                                "alu.recip_root k, shift, places 1+2\n"
                                "requant.long k, wide, round up, by row : 2 x 3 (src 1)\n"
                                "requant k, zero 1, to inp, by row\n"
                                "alu.row_mov k with imm 0x23\n");
    const int64_t imms[] = {VTA_ROW_MAX | 3 << 5, VTA_ROW_EXP2, VTA_ROW_RECIP | 1 << 3 | 8 << 5,
                            VTA_ROW_RECIP_ROOT | 2 << 3 | 3 << 5};
    for (uint32_t n = 0; n < 4; n++) {
        const vta_insn i = insn_of(&p, n);
        assert_int_equal(i.alu.alu_op, VTA_ALU_ROW);
        assert_true(i.alu.use_imm == 1 && i.alu.from_src == 1);
        assert_int_equal(i.alu.imm, imms[n]);
    }
    assert_int_equal(insn_of(&p, 0).alu.src_out, 5);
    assert_int_equal(insn_of(&p, 1).alu.uop_end, 9);
    assert_int_equal(insn_of(&p, 6).alu.imm, VTA_ROW_MOV | 1 << 5);
    vta_insn i = insn_of(&p, 4);
    assert_true(i.requant.long_result == 1 && i.requant.by_row == 1 && i.requant.wide == 1);
    assert_true(i.requant.low == 0 && i.requant.high == 0 && i.requant.rounding == VTA_ROUND_UP);
    assert_int_equal(i.requant.src_in, 1);
    i = insn_of(&p, 5);
    assert_true(i.requant.long_result == 0 && i.requant.by_row == 1 && i.requant.to_inp == 1);
    assert_true(i.requant.low == -128 && i.requant.high == 127 && i.requant.zero_point == 1);
    vta_program_free(&p);
}

int main(int argc, char **argv)
{
    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : test_seed("asm");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transfers_fill_their_fields),
        cmocka_unit_test(loop_nests_fill_their_fields),
        cmocka_unit_test(narrow_weights_have_words),
        cmocka_unit_test(rows_have_words),
        cmocka_unit_test(loops_and_conditions_repeat_code),
        cmocka_unit_test(contents_become_bytes),
        cmocka_unit_test(symbols_get_places),
        cmocka_unit_test(expressions_are_those_of_c),
        cmocka_unit_test(errors_name_place_and_remedy),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(every_legal_instruction_comes_back),
        cmocka_unit_test(whole_programs_come_back),
        cmocka_unit_test(own_configurations_travel_with_the_program),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(forged_files_are_judged),
        cmocka_unit_test(any_text_gets_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
