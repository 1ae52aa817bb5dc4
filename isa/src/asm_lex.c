/* SPDX-License-Identifier: Apache-2.0
 *
 * Characters to tokens, and messages that point at them.
 */
#include "asm_internal.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool is_name_start(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The character `ahead` of the current one; '\0' beyond the end. */
static char peek(const vta_asm *a, size_t ahead)
{
    if (ahead >= a->size - a->lex.at) {
        return '\0';
    }
    return a->text[a->lex.at + ahead];
}

const char *vta_asm_show(const vta_asm *a, const vta_token *token, char *text)
{
    if (token->kind == VTA_TOKEN_END) {
        return "the end of the text";
    }
    if (token->kind == VTA_TOKEN_NEWLINE) {
        return "the end of the line";
    }
    size_t used = 0;
    text[used++] = '\'';
    for (size_t i = 0; i < token->size; i++) {
        const char c = a->text[token->start + i];
        if (used > VTA_SHOWN - 9) {
            used += (size_t)snprintf(text + used, VTA_SHOWN - used, "...");
            break;
        }
        const bool printable = (unsigned char)c >= 0x20 && (unsigned char)c < 0x7f;
        used +=
            (size_t)snprintf(text + used, VTA_SHOWN - used, printable ? "%c" : "\\x%02x", (unsigned char)c);
    }
    (void)snprintf(text + used, VTA_SHOWN - used, "'");
    return text;
}

static unsigned column(const vta_asm *a, const vta_token *at)
{
    size_t start = at->start;
    while (start > 0 && a->text[start - 1] != '\n') {
        start--;
    }
    return (unsigned)(at->start - start) + 1;
}

vta_status vta_asm_fail(vta_asm *a, const vta_token *at, const char *fmt, ...)
{
    char sentence[600];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    return vta_fail(a->diag, VTA_SYNTAX, "%.300s:%u:%u: %s", a->what, at->line, column(a, at), sentence);
}

vta_status vta_asm_expected(vta_asm *a, const char *wanted)
{
    char shown[VTA_SHOWN];
    return vta_asm_fail(a, &a->lex.token, "expected %s, not %s", wanted,
                        vta_asm_show(a, &a->lex.token, shown));
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 99;
}

/* 12, 0x1f, 0b101. A decimal number may be followed at once by an x, as in 4x1. */
static vta_status lex_number(vta_asm *a, vta_token *token)
{
    unsigned base = 10;
    token->kind = VTA_TOKEN_NUMBER;
    if (peek(a, 0) == '0' && (peek(a, 1) == 'x' || peek(a, 1) == 'X')) {
        base = 16;
    } else if (peek(a, 0) == '0' && (peek(a, 1) == 'b' || peek(a, 1) == 'B')) {
        base = 2;
    }
    size_t size = base == 10 ? 0 : 2;
    const size_t digits = size;
    bool fits = true;
    for (; (unsigned)digit_value(peek(a, size)) < base; size++) {
        const unsigned digit = (unsigned)digit_value(peek(a, size));
        fits = fits && token->value <= (UINT64_MAX - digit) / base;
        token->value = fits ? token->value * base + digit : 0;
    }
    const size_t end = size;
    while (is_name_char(peek(a, size)) && !(size == end && base == 10 && peek(a, size) == 'x')) {
        size++;
    }
    token->size = size;
    char shown[VTA_SHOWN];
    if (size > end || end == digits) {
        return vta_asm_fail(a, token, "malformed number %s", vta_asm_show(a, token, shown));
    }
    if (!fits) {
        return vta_asm_fail(a, token, "number %s does not fit in 64 bits", vta_asm_show(a, token, shown));
    }
    a->lex.number_end = token->start + size;
    return VTA_OK;
}

/* A name may hold single dots inside: load.inp. */
static void lex_name(const vta_asm *a, vta_token *token)
{
    size_t size = 0;
    if (peek(a, 0) == '.') {
        token->kind = VTA_TOKEN_DIRECTIVE;
        size = 1;
    } else {
        token->kind = VTA_TOKEN_NAME;
    }
    if (peek(a, 0) == 'x' && a->lex.number_end == token->start && token->start > 0) {
        token->size = 1;
        return;
    }
    while (is_name_char(peek(a, size)) || (peek(a, size) == '.' && is_name_char(peek(a, size + 1)))) {
        size++;
    }
    token->size = size;
}

static vta_status lex_string(vta_asm *a, vta_token *token)
{
    size_t size = 1;
    while (peek(a, size) != '"') {
        if (size >= a->size - a->lex.at || peek(a, size) == '\n') {
            token->size = 1;
            return vta_asm_fail(a, token, "unterminated string; expected '\"' before the end of the line");
        }
        size++;
    }
    token->kind = VTA_TOKEN_STRING;
    token->size = size + 1;
    return VTA_OK;
}

static vta_status lex_mark(vta_asm *a, vta_token *token)
{
    static const char doubles[][3] = {"..", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
    token->kind = VTA_TOKEN_MARK;
    for (size_t i = 0; i < sizeof doubles / sizeof doubles[0]; i++) {
        if (peek(a, 0) == doubles[i][0] && peek(a, 1) == doubles[i][1]) {
            token->size = 2;
            token->value = VTA_MARK2(doubles[i][0], doubles[i][1]);
            return VTA_OK;
        }
    }
    token->size = 1;
    token->value = (unsigned char)peek(a, 0);
    if (peek(a, 0) == '\0' || strchr("+-*/%&|^~!<>()[]{},:=@", peek(a, 0)) == NULL) {
        char shown[VTA_SHOWN];
        const bool comment = peek(a, 0) == '#';
        return vta_asm_fail(a, token, "unexpected character %s%s", vta_asm_show(a, token, shown),
                            comment ? "; a comment starts with ';'" : "");
    }
    return VTA_OK;
}

static void skip_blank(vta_asm *a)
{
    while (peek(a, 0) == ' ' || peek(a, 0) == '\t' || peek(a, 0) == '\r') {
        a->lex.at++;
    }
    if (peek(a, 0) == ';') {
        const char *end = memchr(a->text + a->lex.at, '\n', a->size - a->lex.at);
        a->lex.at = end == NULL ? a->size : (size_t)(end - a->text);
    }
}

vta_status vta_lex_next(vta_asm *a)
{
    const size_t before = a->lex.at;
    skip_blank(a);
    vta_token token = {.line = a->lex.line, .start = a->lex.at};
    a->lex.token = token;
    if (a->loop_bytes > VTA_ASM_LOOP_BYTES) {
        return vta_asm_fail(a, &token, "loops run too long; limit: %d characters read altogether",
                            VTA_ASM_LOOP_BYTES);
    }
    const char c = peek(a, 0);
    if (a->lex.at == a->size) {
        token.kind = VTA_TOKEN_END;
    } else if (c == '\n') {
        token.kind = VTA_TOKEN_NEWLINE;
        token.size = 1;
        a->lex.line++;
    } else if (isdigit((unsigned char)c)) {
        VTA_TRY(lex_number(a, &token));
    } else if (is_name_start(c) || (c == '.' && is_name_start(peek(a, 1)))) {
        lex_name(a, &token);
    } else if (c == '"') {
        VTA_TRY(lex_string(a, &token));
    } else {
        VTA_TRY(lex_mark(a, &token));
    }
    a->lex.at += token.size;
    a->lex.token = token;
    a->loop_bytes += a->loops > 0 ? a->lex.at - before : 0;
    return VTA_OK;
}

vta_status vta_lex_json(vta_asm *a)
{
    vta_token token = a->lex.token;
    size_t nesting = 0;
    bool quoted = false;
    for (size_t i = token.start; i < a->size; i++) {
        const char c = a->text[i];
        if (c == '\n') {
            a->lex.line++;
        }
        if (c == '"' && (!quoted || a->text[i - 1] != '\\')) {
            quoted = !quoted;
        } else if (!quoted && c == '{') {
            nesting++;
        } else if (!quoted && c == '}' && --nesting == 0) {
            token.kind = VTA_TOKEN_JSON;
            token.size = i + 1 - token.start;
            a->lex.token = token;
            a->lex.at = i + 1;
            return VTA_OK;
        }
    }
    return vta_asm_fail(a, &token, "unterminated configuration; expected '}' before the end of the text");
}

void vta_lex_start(vta_asm *a)
{
    a->lex = (vta_lexer){.line = 1};
}

bool vta_at_mark(const vta_asm *a, uint64_t mark)
{
    return a->lex.token.kind == VTA_TOKEN_MARK && a->lex.token.value == mark;
}

bool vta_at_word(const vta_asm *a, const char *word)
{
    const vta_token *token = &a->lex.token;
    return token->kind == VTA_TOKEN_NAME && token->size == strlen(word) &&
           memcmp(a->text + token->start, word, token->size) == 0;
}

bool vta_at_line_end(const vta_asm *a)
{
    return a->lex.token.kind == VTA_TOKEN_END || a->lex.token.kind == VTA_TOKEN_NEWLINE ||
           vta_at_mark(a, '}');
}

vta_status vta_take_mark(vta_asm *a, uint64_t mark, bool *took)
{
    *took = vta_at_mark(a, mark);
    return *took ? vta_lex_next(a) : VTA_OK;
}

vta_status vta_take_word(vta_asm *a, const char *word, bool *took)
{
    *took = vta_at_word(a, word);
    return *took ? vta_lex_next(a) : VTA_OK;
}

vta_status vta_need_mark(vta_asm *a, uint64_t mark, const char *wanted)
{
    return vta_at_mark(a, mark) ? vta_lex_next(a) : vta_asm_expected(a, wanted);
}

vta_status vta_skip_newlines(vta_asm *a)
{
    while (a->lex.token.kind == VTA_TOKEN_NEWLINE) {
        VTA_TRY(vta_lex_next(a));
    }
    return VTA_OK;
}
