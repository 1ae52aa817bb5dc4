/* SPDX-License-Identifier: Apache-2.0
 *
 * What the assembler and the reader of program files say to mistakes that asm_test.c has not: each message
 * once, with its place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vta/program.h"

static void assert_refused(const char *text, size_t size, const char *message)
{
    vta_program program;
    vta_diag diag = {0};
    assert_int_not_equal(vta_assemble(text, size, "t", NULL, &program, &diag), VTA_OK);
    assert_string_equal(diag.text, message);
    assert_null(program.insns);
    assert_null(program.symbols);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"for 3 in 2 { }", "t:1:5: expected the name of a loop variable, not '3'"},
        {"for i in 2 finish", "t:1:12: expected '{', or ',' and another loop variable, not 'finish'"},
        {"for i in 2 { finish finish }", "t:1:21: expected '}' or the end of the line, not 'finish'"},
        {".data a inp = { 1 2 }", "t:1:19: expected ',', '}' or the end of the line, not '2'"},
        {".config 5", "t:1:9: expected the name of a configuration or '{', not '5'"},
        {".set a = size(5)", "t:1:15: expected the name of data or of a kernel, not '5'"},
        {".set a = 1 << 63", "t:1:12: the shift does not fit in 64 bits"},
        {".set a = (-9223372036854775807 - 1) / -1", "t:1:37: the quotient does not fit in 64 bits"},
        {".data 5 inp 1", "t:1:7: expected a name for the data, not '5'"},
        {".data a inp 1 = random(1, -200, 3)",
         "t:1:27: smallest value -200 is out of range; expected -128 to 127"},
        {".data a inp 1 = random(1, 5)", "t:1:28: expected ',' and the largest value, not ')'"},
        {".data a inp 1 = random(1, 5, 3)", "t:1:30: largest value 3 is out of range; expected 5 to 127"},
        {".data a inp = hex 12", "t:1:19: expected a string of hexadecimal digits, not '12'"},
        {".data a inp = hex \"0g\"", "t:1:19: expected hexadecimal digits and spaces only"},
        {".data a inp 3000000 = fill(1)", "t:1:23: too much data; limit: 33554432 bytes altogether"},
        {".data a inp 67108864\n.data b inp 1", "t:2:7: segment 2 grows beyond 1073741824 bytes"},
        {".data a inp 67108864\n.data b acc 16777216",
         "t: the segments take 2147483648 bytes; limit: 1073741824"},
        {".uops 5 { 1 }", "t:1:7: expected a name for the kernel, not '5'"},
        {".uops k { -1 }", "t:1:11: micro-op field -1 is out of range; expected 0 to 4294967295"},
        {".uops k sram 8192 { 1 }", "t:1:14: scratchpad entry 8192 is out of range; expected 0 to 8191"},
        {".set x = 1\n.expect x = 1", "t:2:9: expected the name of data, not 'x'"},
        {".expect 5 = 1", "t:1:9: expected the name of data, not '5'"},
        {".data a inp 1\n.expect a 1", "t:2:11: expected '=' and the expected contents, not '1'"},
        {"[poop next] finish", "t:1:2: expected 'pop' or 'push', not 'poop'"},
        {"store.out 0, 0, 1", "t:1:1: unknown instruction 'store.out'; expected store"},
        {"gemm.no 0", "t:1:1: unknown instruction 'gemm.no'; expected gemm, gemm.init or gemm.reset"},
        {"requant.no 0", "t:1:1: unknown instruction 'requant.no'; expected requant or requant.long"},
        {"depthwise.no 0", "t:1:1: unknown instruction 'depthwise.no'; expected depthwise or depthwise.init"},
        {"finish.no", "t:1:1: unknown instruction 'finish.no'; expected finish"},
        {"nop.no", "t:1:1: unknown instruction 'nop.no'; expected nop.load, nop.compute or nop.store"},
        {".uops k { 0 }\nrequant k, low 3",
         "t:2:12: expected 'zero', 'clip', 'round', 'wide', 'table', 'to', 'part' or 'by', not 'low'"},
        {".uops k { 0 }\nrequant k, to out", "t:2:15: expected 'inp', not 'out'"},
        {".uops k { 0 }\nrequant k, by col", "t:2:15: expected 'row', not 'col'"},
        {".uops k { 0 }\nrequant k, by row",
         "t:2:1: requant: by_row 1 (limit: 0): the configuration has no functions on rows (ROWS is 0)"},
        {"alu.recip 0, odd", "t:1:14: expected 'places', 'scale', 'multiplier' or 'shift', not 'odd'"},
        {"alu.recip 0, places 64", "t:1:21: places 64 is out of range; expected 0 to 63"},
        {"alu.exp2 0",
         "t:1:1: alu: alu_op 7 (limit: 6): the configuration has no functions on rows (ROWS is 0)"},
        {".uops k { 0 }\nrequant k, clip 0",
         "t:2:18: expected '..' and the largest result, not the end of the text"},
        {".uops k { 0 }\ndepthwise k, step 3",
         "t:2:14: expected 'taps', 'col', 'row' or 'group', not 'step'"},
        {".uops k { 0 }\ndepthwise k, taps 3",
         "t:2:20: expected 'x' and the window's rows, not the end of the text"},
        {"alu.add 0 : 2 (imp 1)", "t:1:16: expected 'dst' or 'src', not 'imp'"},
        {"load.inp 0, @9, 1", "t:1:14: expected a segment, 0 to 7, not '9'"},
        {"load.inp 0, 0, 1, pad (up 1)", "t:1:24: expected 'top', 'bottom', 'left' or 'right', not 'up'"},
        {".data a inp 1\nload.inp 0, a - 1", "t:2:13: element -1 of 'a' is out of range"},
        {".insn x", "t:1:7: expected the low 64 bits of the instruction, not 'x'"},
    };
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            assert_refused(rows[i].text, strlen(rows[i].text), rows[i].message);
        }
    }
}

/* The limit comes before the first character is read. */
static void a_text_has_a_limit(void **state)
{
    (void)state;
    assert_refused("", ((size_t)1 << 30) + 1, "t: text of 1073741825 bytes; limit: 1073741824");
}

/* ---- program files whose checksum is right */

static uint64_t fnv(const uint8_t *bytes, size_t size)
{
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++) {
        sum = (sum ^ bytes[i]) * 0x100000001b3u;
    }
    return sum;
}

static void put(uint8_t *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] = (uint8_t)(value >> (8 * i));
    }
}

enum { AT_FLAGS = 12, AT_SIZE = 16, AT_SUM = 24, AT_BODY = 32 };

/* A file of one symbol, `a`, with data and expectation, and one instruction; where its parts lie. */
typedef struct file {
    uint8_t *bytes;
    size_t size, symbols, name, place, data, code;
} file;

static file make(void)
{
    static const char text[] = ".config tiny\n.data a inp 1 = fill(1)\n.expect a = fill(1)\nfinish\n";
    vta_program program;
    file f = {0};
    vta_diag diag = {0};
    if (vta_assemble(text, sizeof text - 1, "t", NULL, &program, &diag) != VTA_OK ||
        vta_program_write(&program, &f.bytes, &f.size, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    const size_t json = f.bytes[AT_BODY] | (size_t)f.bytes[AT_BODY + 1] << 8;
    const size_t element = program.config.elem_bytes[VTA_MEM_INP];
    f.symbols = AT_BODY + 4 + json;
    f.name = f.symbols + 4;
    f.place = f.name + 4 + 1;
    f.data = f.place + 28;
    f.code = f.data + 2 * element;
    vta_program_free(&program);
    return f;
}

/* The file cut to `size` bytes, with header made right, is refused at byte `at`. */
static void assert_judged(file *f, size_t size, size_t at, const char *message)
{
    char whole[300];
    vta_program program;
    vta_diag diag = {0};
    put(f->bytes + AT_SIZE, size, 8);
    put(f->bytes + AT_SUM, fnv(f->bytes + AT_BODY, size - AT_BODY), 8);
    (void)snprintf(whole, sizeof whole, "p.bin: byte %zu: %s", at, message);
    assert_int_not_equal(vta_program_read(f->bytes, size, "p.bin", &program, &diag), VTA_OK);
    assert_string_equal(diag.text, whole);
    assert_null(program.insns);
    assert_null(program.symbols);
    free(f->bytes);
}

/* A file that ends `left` bytes into a part of `wanted` bytes at byte `at`. */
static void cut(size_t at, size_t left, size_t wanted, const char *part)
{
    char message[200];
    file f = make();
    (void)snprintf(message, sizeof message, "%s needs %zu bytes, %zu are left", part, wanted, left);
    assert_judged(&f, at + left, at, message);
}

static void change(size_t at, uint64_t value, size_t bytes, size_t told, const char *message)
{
    file f = make();
    put(f.bytes + at, value, bytes);
    assert_judged(&f, f.size, told, message);
}

static void parts_of_files_are_judged(void **state)
{
    (void)state;
    file f = make();
    free(f.bytes);
    for (int round = 0; round < 2; round++) {
        change(AT_FLAGS, 4, 4, AT_FLAGS, "unknown flags");
        change(AT_BODY + 4, 0, 1, AT_BODY + 4, "the configuration has a zero byte");
        change(f.symbols, 1000, 4, f.symbols, "more symbols than the file has room for");
        change(f.name, 201, 4, f.name, "a symbol's name is too long; limit: 200 characters");
        change(f.name, 0, 4, f.name, "a symbol's name is empty, or has a character that none may have");
        change(f.name + 4, round == 0 ? '"' : 0, 1, f.name,
               "a symbol's name is empty, or has a character that none may have");
        change(f.place, 8, 4, f.place, "a symbol's memory, segment or flags are out of range");
        change(f.place + 4, VTA_MEM_COUNT, 4, f.place,
               "a symbol's memory, segment or flags are out of range");
        change(f.place + 24, 4, 4, f.place, "a symbol's memory, segment or flags are out of range");
        change(f.code, 7, 4, f.code, "the number of instructions does not agree with the size of the file");
    }
    const size_t element = (f.code - f.data) / 2;
    cut(AT_BODY, 2, 4, "the configuration's size");
    cut(AT_BODY + 4, 9, f.symbols - AT_BODY - 4, "the configuration");
    cut(f.symbols, 2, 4, "the number of symbols");
    cut(f.data, element - 1, element, "a symbol's data");
    cut(f.data + element, 0, element, "a symbol's expectation");
    cut(f.code, 3, 4, "the number of instructions");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(a_text_has_a_limit),
        cmocka_unit_test(parts_of_files_are_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
