/* SPDX-License-Identifier: Apache-2.0
 *
 * vta-editor vim|textmate: how an editor colours assembler text (ASM.md), with the mnemonics of isa.def. Vim
 * takes the first as syntax/vasm.vim, VS Code and others the second as a TextMate grammar.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "vta/isa.h"

static const char *const opcodes[] = {
#define VTA_OPCODE(id, value, format, mnemonic, doc) mnemonic,
#include "vta/isa.def"
#undef VTA_OPCODE
    "nop", NULL};

/* Words behind the dot of an opcode. */
static const char *const suffixes[] = {
#define VTA_MEMORY(id, value, name, doc)           name,
#define VTA_ALU_OP(id, value, mnemonic, doc)       mnemonic,
#define VTA_ROW_FUNCTION(id, value, mnemonic, doc) mnemonic,
#include "vta/isa.def"
#undef VTA_MEMORY
#undef VTA_ALU_OP
#undef VTA_ROW_FUNCTION
    "init", "reset", "long", "src", "load", "compute", "store", NULL};

static const char *const words[] = {
#define VTA_MEMORY(id, value, name, doc)       name,
#define VTA_ROUNDING(id, value, mnemonic, doc) mnemonic,
#define VTA_ROW_FORM(id, value, mnemonic, doc) mnemonic,
#include "vta/isa.def"
#undef VTA_MEMORY
#undef VTA_ROUNDING
#undef VTA_ROW_FORM
    "for",    "in",  "at",    "sram", "pop",    "push", "prev",  "next",  "if",     "dst",   "src",
    "stride", "pad", "value", "top",  "bottom", "left", "right", "zero",  "clip",   "round", "wide",
    "table",  "to",  "part",  "by",   "row",    "taps", "col",   "group", "places", "with",  NULL};

static const char *const functions[] = {"min", "max", "size", "depth", "fill", "random", "hex", NULL};
static const char *const constants[] = {"BATCH", "BLOCK_IN", "BLOCK_OUT", NULL};
static const char *const directives[] = {"config", "set", "data", "uops", "expect", "insn", "tag", NULL};

/* The lists as an editor's classes: name in Vim, scope in TextMate, what stands before a word of the list. */
static const struct {
    const char *vim, *group, *scope, *before;
    const char *const *list;
} classes[] = {
    {"vasmDirective", "PreProc", "keyword.control.directive", "\\.", directives},
    {"vasmOpcode", "Statement", "keyword.mnemonic", "", opcodes},
    {"vasmSuffix", "Type", "support.type", "\\.", suffixes},
    {"vasmFunction", "Function", "support.function", "", functions},
    {"vasmConstant", "Constant", "constant.language", "", constants},
    {"vasmWord", "Keyword", "keyword.other", "", words},
};
enum { CLASSES = sizeof classes / sizeof classes[0] };

static bool is_first(const char *const *list, size_t i)
{
    size_t at = 0;
    while (strcmp(list[at], list[i]) != 0) {
        at++;
    }
    return at == i;
}

/* Prints "a|b|c", each word once, with `bar` between. */
static void print_alternatives(const char *const *list, const char *bar)
{
    for (size_t i = 0; list[i] != NULL; i++) {
        if (is_first(list, i)) {
            (void)printf("%s%s", i > 0 ? bar : "", list[i]);
        }
    }
}

static void print_vim(void)
{
    (void)printf("\" SPDX-License-Identifier: Apache-2.0\n\" Vim syntax of assembler text for the "
                 "accelerator, written by vta-editor.\n"
                 "if exists(\"b:current_syntax\")\n  finish\nendif\n");
    for (size_t i = 0; i < CLASSES; i++) {
        (void)printf("syntax match %s \"%s\\<\\%%(", classes[i].vim, classes[i].before);
        print_alternatives(classes[i].list, "\\|");
        (void)printf("\\)\\>\"\n");
    }
    (void)printf("syntax match vasmNumber \"\\<\\%%(0x\\x\\+\\|0b[01]\\+\\|\\d\\+\\)\\>\"\n"
                 "syntax region vasmString start=+\"+ end=+\"+ oneline\nsyntax match vasmComment \";.*$\"\n");
    for (size_t i = 0; i < CLASSES; i++) {
        (void)printf("highlight default link %s %s\n", classes[i].vim, classes[i].group);
    }
    (void)printf("highlight default link vasmNumber Number\nhighlight default link vasmString String\n"
                 "highlight default link vasmComment Comment\nlet b:current_syntax = \"vasm\"\n");
}

static void print_textmate(void)
{
    (void)printf("{\n  \"name\": \"vasm\",\n  \"scopeName\": \"source.vasm\",\n  \"fileTypes\": "
                 "[\"vasm\"],\n  \"patterns\": [\n"
                 "    {\"name\": \"comment.line.semicolon.vasm\", \"match\": \";.*$\"},\n"
                 "    {\"name\": \"string.quoted.double.vasm\", \"match\": \"\\\"[^\\\"]*\\\"\"},\n");
    for (size_t i = 0; i < CLASSES; i++) {
        (void)printf("    {\"name\": \"%s.vasm\", \"match\": \"%s\\\\b(?:", classes[i].scope,
                     classes[i].before[0] != '\0' ? "\\\\." : "");
        print_alternatives(classes[i].list, "|");
        (void)printf(")\\\\b\"},\n");
    }
    (void)printf("    {\"name\": \"constant.numeric.vasm\", \"match\": "
                 "\"\\\\b(?:0x[0-9A-Fa-f]+|0b[01]+|[0-9]+)\\\\b\"}\n  ]\n}\n");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "vim") == 0) {
        print_vim();
    } else if (argc == 2 && strcmp(argv[1], "textmate") == 0) {
        print_textmate();
    } else {
        (void)fprintf(stderr, "usage: vta-editor vim|textmate\n");
        return 2;
    }
    return fflush(stdout) != 0 || ferror(stdout);
}
