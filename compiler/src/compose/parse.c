/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "syntax.h"
#include "vta/fail.h"

enum { MAX_NESTING = 64 };

typedef enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_TEXT, TOKEN_MARK } token_kind;

typedef struct text_parser {
    const vtac_template_row *row;
    vta_arena *arena;
    vta_diag *diag;
    vta_status status;
    const char *at; /* behind the token */
    const char *line_start;
    uint32_t line, depth;
    /* the token */
    token_kind kind;
    char mark;
    const char *start;
    size_t size;
    uint32_t token_line, token_column;
    vtac_syntax none; /* what is made after a fault; never read */
} text_parser;

__attribute__((format(printf, 5, 0))) static vta_status report_fault(const vtac_template_row *row,
                                                                     uint32_t line, uint32_t column,
                                                                     vta_diag *diag, const char *format,
                                                                     va_list args)
{
    char text[256];
    (void)vsnprintf(text, sizeof text, format, args);
    return vta_fail(diag, VTA_INVALID, "%s:%u:%u: %s", row->file, row->line + line - 1, column, text);
}

vta_status vtac_template_fault(const vtac_template_row *row, const vtac_syntax *at, vta_diag *diag,
                               const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const vta_status status = report_fault(row, at->line, at->column, diag, format, args);
    va_end(args);
    return status;
}

__attribute__((format(printf, 2, 3))) static void fail_at_token(text_parser *p, const char *format, ...)
{
    if (p->status == VTA_OK) {
        va_list args;
        va_start(args, format);
        p->status = report_fault(p->row, p->token_line, p->token_column, p->diag, format, args);
        va_end(args);
    }
    p->kind = TOKEN_END;
    p->size = 0;
}

/* ---- tokens */

static void skip_blanks(text_parser *p)
{
    for (; *p->at != '\0'; p->at++) {
        if (*p->at == '#') {
            p->at += strcspn(p->at, "\n");
        }
        if (*p->at == '\n') {
            p->line++;
            p->line_start = p->at + 1;
        } else if (*p->at != ' ') {
            return;
        }
    }
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Length of a name; a point between two letters belongs to it (com.microsoft.Gelu). */
static size_t name_length(const char *text)
{
    size_t size = 0;
    while (is_word(text[size]) || (text[size] == '.' && isalpha((unsigned char)text[size + 1]))) {
        size++;
    }
    return size;
}

static size_t number_length(const char *text)
{
    size_t size = strspn(text, "0123456789");
    if (text[size] == '.' && isdigit((unsigned char)text[size + 1])) {
        size += 1 + strspn(text + size + 1, "0123456789");
    }
    if (text[size] == 'e') {
        size += text[size + 1] == '-' ? 2 : 1;
        size += strspn(text + size, "0123456789");
    }
    return size;
}

static void scan_mark(text_parser *p)
{
    p->kind = TOKEN_MARK;
    p->mark = *p->start;
    p->size = 1;
    for (size_t i = 0; i < sizeof vtac_syntax_pairs / sizeof vtac_syntax_pairs[0]; i++) {
        if (strncmp(p->start, vtac_syntax_pairs[i].text, 2) == 0) {
            p->mark = vtac_syntax_pairs[i].mark;
            p->size = 2;
        }
    }
}

static void next_token(text_parser *p)
{
    if (p->status != VTA_OK) {
        return;
    }
    skip_blanks(p);
    p->start = p->at;
    p->token_line = p->line;
    p->token_column = (uint32_t)(p->at - p->line_start) + 1;
    p->mark = '\0';
    if (*p->at == '\0') {
        p->kind = TOKEN_END;
        p->size = 0;
    } else if (isdigit((unsigned char)*p->at)) {
        p->kind = TOKEN_NUMBER;
        p->size = number_length(p->at);
    } else if (is_word(*p->at)) {
        p->kind = TOKEN_NAME;
        p->size = name_length(p->at);
    } else if (*p->at == '"') {
        p->kind = TOKEN_TEXT;
        p->size = 1 + strcspn(p->at + 1, "\"\n");
        if (p->at[p->size] != '"') {
            fail_at_token(p, "the text has no end");
            return;
        }
        p->size++;
    } else {
        scan_mark(p);
    }
    p->at += p->size;
}

static bool is_mark(const text_parser *p, char mark, size_t size)
{
    return p->kind == TOKEN_MARK && p->mark == mark && p->size == size;
}

static bool accept_mark(text_parser *p, char mark, size_t size)
{
    const bool here = is_mark(p, mark, size);
    if (here) {
        next_token(p);
    }
    return here;
}

static void expect_mark(text_parser *p, char mark)
{
    if (!accept_mark(p, mark, 1)) {
        fail_at_token(p, "expected '%c' before '%.*s'", mark, (int)p->size, p->start);
    }
}

static bool is_word_token(const text_parser *p, const char *word)
{
    return p->kind == TOKEN_NAME && p->size == strlen(word) && memcmp(p->start, word, p->size) == 0;
}

static bool accept_word(text_parser *p, const char *word)
{
    const bool here = is_word_token(p, word);
    if (here) {
        next_token(p);
    }
    return here;
}

/* ---- the tree */

static vtac_syntax *new_syntax(text_parser *p, vtac_syntax_kind kind)
{
    vtac_syntax *s = p->status == VTA_OK ? vta_arena_alloc(p->arena, sizeof *s) : NULL;
    if (s == NULL) {
        p->status = p->status == VTA_OK ? vta_no_memory(p->diag) : p->status;
        p->kind = TOKEN_END;
        p->none = (vtac_syntax){.kind = VTAC_SYNTAX_WHOLE, .name = ""};
        return &p->none;
    }
    *s = (vtac_syntax){.kind = kind, .line = p->token_line, .column = p->token_column, .name = ""};
    return s;
}

/* The token's text without `cut` characters at both ends. */
static const char *token_text(text_parser *p, size_t cut)
{
    const char *text = vta_arena_string(p->arena, p->start + cut, p->size - 2 * cut);
    if (text == NULL) {
        p->status = p->status == VTA_OK ? vta_no_memory(p->diag) : p->status;
        return "";
    }
    return text;
}

static vtac_syntax *parse_name(text_parser *p, vtac_syntax_kind kind)
{
    vtac_syntax *s = new_syntax(p, kind);
    if (p->kind != TOKEN_NAME) {
        fail_at_token(p, "expected a name before '%.*s'", (int)p->size, p->start);
        return s;
    }
    s->name = token_text(p, 0);
    next_token(p);
    return s;
}

static vtac_syntax *parse_expression(text_parser *p);

static vtac_syntax *parse_number(text_parser *p)
{
    vtac_syntax *s = new_syntax(p, VTAC_SYNTAX_WHOLE);
    const char *text = token_text(p, 0);
    errno = 0;
    if (strpbrk(text, ".e") != NULL) {
        s->kind = VTAC_SYNTAX_REAL;
        s->real = strtod(text, NULL);
    } else {
        s->whole = strtoll(text, NULL, 10);
    }
    if (errno != 0) {
        fail_at_token(p, "the number %s is too large", text);
    }
    next_token(p);
    return s;
}

/* Appends what stands up to `end` to a parent: expressions, `name = expression`, `...`. */
static void parse_items(text_parser *p, vtac_syntax *parent, char end)
{
    vtac_syntax **tail = &parent->first;
    while (p->status == VTA_OK && !is_mark(p, end, 1)) {
        vtac_syntax *item = NULL;
        if (is_mark(p, '.', 2)) {
            item = new_syntax(p, VTAC_SYNTAX_NAMED);
            item->mark = '*';
            next_token(p);
            expect_mark(p, '.');
        } else {
            item = parse_expression(p);
        }
        if (item->kind == VTAC_SYNTAX_NAME && accept_mark(p, '=', 1)) {
            item->kind = VTAC_SYNTAX_NAMED;
            item->first = parse_expression(p);
        }
        *tail = item;
        tail = &item->next;
        if (!accept_mark(p, ',', 1)) {
            break;
        }
    }
    expect_mark(p, end);
}

static vtac_syntax *parse_primary(text_parser *p)
{
    vtac_syntax *s;
    switch (p->kind) {
    case TOKEN_NUMBER: return parse_number(p);
    case TOKEN_TEXT:
        s = new_syntax(p, VTAC_SYNTAX_TEXT);
        s->name = token_text(p, 1);
        next_token(p);
        return s;
    case TOKEN_NAME:
        s = parse_name(p, VTAC_SYNTAX_NAME);
        if (accept_mark(p, '(', 1)) {
            s->kind = VTAC_SYNTAX_CALL;
            parse_items(p, s, ')');
        }
        return s;
    case TOKEN_MARK:
        s = new_syntax(p, VTAC_SYNTAX_LIST);
        if (accept_mark(p, '[', 1)) {
            parse_items(p, s, ']');
            return s;
        }
        if (accept_mark(p, '(', 1)) {
            s = parse_expression(p);
            expect_mark(p, ')');
            return s;
        }
        break;
    case TOKEN_END: break;
    }
    fail_at_token(p, "expected a value before '%.*s'", (int)p->size, p->start);
    return new_syntax(p, VTAC_SYNTAX_WHOLE);
}

static vtac_syntax *parse_unary(text_parser *p)
{
    const bool minus = is_mark(p, '-', 1);
    if (minus || is_word_token(p, "not")) {
        vtac_syntax *s = new_syntax(p, VTAC_SYNTAX_UNARY);
        s->mark = minus ? '-' : '!';
        next_token(p);
        s->first = parse_unary(p);
        return s;
    }
    vtac_syntax *s = parse_primary(p);
    while (is_mark(p, '[', 1)) {
        vtac_syntax *item = new_syntax(p, VTAC_SYNTAX_ITEM);
        next_token(p);
        item->first = s;
        s->next = parse_expression(p);
        expect_mark(p, ']');
        s = item;
    }
    return s;
}

/* Binary operators by strength, the weakest first; a word stands for its first letter. */
static const char *const levels[] = {"o", "a", "<>lg=#", "+-", "*/%"};
enum { LEVELS = sizeof levels / sizeof levels[0] };

static char binary_mark(const text_parser *p, size_t level)
{
    char mark = '\0';
    if (is_word_token(p, "or") || is_word_token(p, "and")) {
        mark = p->start[0];
    } else if (p->kind == TOKEN_MARK && !is_mark(p, '=', 1) && !is_mark(p, '>', 2)) {
        mark = p->mark;
    }
    if (mark != '\0' && strchr(levels[level], mark) == NULL) {
        mark = '\0';
    }
    return mark;
}

static vtac_syntax *parse_level(text_parser *p, size_t level)
{
    vtac_syntax *left = level == LEVELS ? parse_unary(p) : parse_level(p, level + 1);
    while (level < LEVELS && p->status == VTA_OK && binary_mark(p, level) != '\0') {
        vtac_syntax *s = new_syntax(p, VTAC_SYNTAX_BINARY);
        s->mark = binary_mark(p, level);
        next_token(p);
        s->first = left;
        left->next = parse_level(p, level + 1);
        left = s;
    }
    return left;
}

static vtac_syntax *parse_expression(text_parser *p)
{
    if (++p->depth > MAX_NESTING) {
        fail_at_token(p, "expressions nest deeper than %d", MAX_NESTING);
        return new_syntax(p, VTAC_SYNTAX_WHOLE);
    }
    vtac_syntax *s = parse_level(p, 0);
    if (is_mark(p, '?', 1)) {
        vtac_syntax *choice = new_syntax(p, VTAC_SYNTAX_CHOICE);
        next_token(p);
        choice->first = s;
        s->next = parse_expression(p);
        expect_mark(p, ':');
        s->next->next = parse_expression(p);
        s = choice;
    }
    p->depth--;
    return s;
}

/* ---- statements */

static vtac_syntax *parse_block(text_parser *p);

static vtac_syntax *parse_if(text_parser *p)
{
    vtac_syntax *s = new_syntax(p, VTAC_SYNTAX_IF);
    next_token(p);
    s->first = parse_expression(p);
    s->first->next = parse_block(p);
    if (accept_word(p, "else")) {
        s->first->next->next = is_word_token(p, "if") ? parse_if(p) : parse_block(p);
    }
    return s;
}

static vtac_syntax *parse_for(text_parser *p)
{
    vtac_syntax *s = new_syntax(p, VTAC_SYNTAX_FOR);
    next_token(p);
    s->name = parse_name(p, VTAC_SYNTAX_NAME)->name;
    if (!accept_word(p, "in")) {
        fail_at_token(p, "expected 'in' before '%.*s'", (int)p->size, p->start);
    }
    s->first = parse_expression(p);
    vtac_syntax *last = s->first;
    if (accept_mark(p, '.', 2)) {
        last->next = parse_expression(p);
        last = last->next;
    }
    last->next = parse_block(p);
    return s;
}

static vtac_syntax *parse_condition(text_parser *p, vtac_syntax_kind kind)
{
    vtac_syntax *s = new_syntax(p, kind);
    next_token(p);
    s->first = parse_expression(p);
    vtac_syntax *last = s->first;
    expect_mark(p, ',');
    if (p->kind != TOKEN_TEXT) {
        fail_at_token(p, "expected the message of a fault before '%.*s'", (int)p->size, p->start);
        return s;
    }
    s->name = token_text(p, 1);
    next_token(p);
    while (accept_mark(p, ',', 1)) {
        last->next = parse_expression(p);
        last = last->next;
    }
    expect_mark(p, ';');
    return s;
}

static vtac_syntax *parse_assignment(text_parser *p)
{
    vtac_syntax *s = new_syntax(p, VTAC_SYNTAX_ASSIGN);
    vtac_syntax *names = parse_name(p, VTAC_SYNTAX_NAME);
    for (vtac_syntax *last = names; accept_mark(p, ',', 1); last = last->next) {
        last->next = parse_name(p, VTAC_SYNTAX_NAME);
    }
    expect_mark(p, '=');
    s->first = parse_expression(p);
    s->first->next = names;
    expect_mark(p, ';');
    return s;
}

static vtac_syntax *parse_statement(text_parser *p)
{
    return is_word_token(p, "if")        ? parse_if(p)
           : is_word_token(p, "for")     ? parse_for(p)
           : is_word_token(p, "expect")  ? parse_condition(p, VTAC_SYNTAX_EXPECT)
           : is_word_token(p, "support") ? parse_condition(p, VTAC_SYNTAX_SUPPORT)
                                         : parse_assignment(p);
}

static vtac_syntax *parse_block(text_parser *p)
{
    vtac_syntax *s = new_syntax(p, VTAC_SYNTAX_BLOCK);
    vtac_syntax **tail = &s->first;
    expect_mark(p, '{');
    if (++p->depth > MAX_NESTING) {
        fail_at_token(p, "blocks nest deeper than %d", MAX_NESTING);
    }
    while (p->status == VTA_OK && !is_mark(p, '}', 1)) {
        *tail = parse_statement(p);
        tail = &(*tail)->next;
    }
    p->depth--;
    expect_mark(p, '}');
    return s;
}

/* ---- the header */

/* x, bias?, parts... */
static vtac_syntax *parse_inputs(text_parser *p)
{
    vtac_syntax *first = NULL;
    vtac_syntax **tail = &first;
    while (p->status == VTA_OK && p->kind == TOKEN_NAME) {
        *tail = parse_name(p, VTAC_SYNTAX_NAME);
        if (accept_mark(p, '?', 1)) {
            (*tail)->mark = '?';
        } else if (accept_mark(p, '.', 2)) {
            expect_mark(p, '.');
            (*tail)->mark = '*';
        }
        tail = &(*tail)->next;
        if (!accept_mark(p, ',', 1)) {
            break;
        }
    }
    return first;
}

/* alpha = 1.0, axis */
static vtac_syntax *parse_attributes(text_parser *p)
{
    vtac_syntax *first = NULL;
    vtac_syntax **tail = &first;
    do {
        vtac_syntax *name = parse_name(p, VTAC_SYNTAX_NAME);
        *tail = name;
        if (accept_mark(p, '=', 1)) {
            name->first = parse_expression(p);
        }
        tail = &name->next;
    } while (accept_mark(p, ',', 1));
    return first;
}

/* y, -, sum */
static vtac_syntax *parse_outputs(text_parser *p)
{
    vtac_syntax *first = NULL;
    vtac_syntax **tail = &first;
    do {
        if (is_mark(p, '-', 1)) {
            *tail = new_syntax(p, VTAC_SYNTAX_NAME);
            next_token(p);
        } else {
            *tail = parse_name(p, VTAC_SYNTAX_NAME);
        }
        tail = &(*tail)->next;
    } while (accept_mark(p, ',', 1));
    return first;
}

/* `= expression;`: the one output is that. */
static vtac_syntax *parse_formula(text_parser *p, vtac_template *t)
{
    vtac_syntax *block = new_syntax(p, VTAC_SYNTAX_BLOCK);
    vtac_syntax *result = new_syntax(p, VTAC_SYNTAX_NAME);
    vtac_syntax *target = new_syntax(p, VTAC_SYNTAX_NAME);
    vtac_syntax *assign = new_syntax(p, VTAC_SYNTAX_ASSIGN);
    result->name = target->name = "result";
    t->outputs = result;
    assign->first = parse_expression(p);
    assign->first->next = target;
    block->first = assign;
    expect_mark(p, ';');
    return block;
}

static void parse_header(text_parser *p, vtac_template *t)
{
    next_token(p); /* `operator` or `function`, and its name: embed.py has read them */
    (void)parse_name(p, VTAC_SYNTAX_NAME);
    (void)parse_name(p, VTAC_SYNTAX_NAME);
    if (accept_mark(p, '@', 1)) {
        next_token(p);
        if (accept_mark(p, '-', 1)) {
            next_token(p);
        }
    }
    expect_mark(p, '(');
    t->inputs = parse_inputs(p);
    if (accept_mark(p, ';', 1)) {
        t->attrs = parse_attributes(p);
    }
    expect_mark(p, ')');
    (void)accept_word(p, "open");
    if (accept_word(p, "limits")) {
        next_token(p);
    }
}

vta_status vtac_template_parse(const vtac_template_row *row, vta_arena *arena, const vtac_template **out,
                               vta_diag *diag)
{
    text_parser p = {
        .row = row, .arena = arena, .diag = diag, .at = row->text, .line_start = row->text, .line = 1};
    vtac_template *t = vta_arena_alloc(arena, sizeof *t);
    if (t == NULL) {
        return vta_no_memory(diag);
    }
    t->row = row;
    parse_header(&p, t);
    if (accept_mark(&p, '>', 2)) {
        t->outputs = parse_outputs(&p);
        t->body = parse_block(&p);
    } else {
        expect_mark(&p, '=');
        t->body = parse_formula(&p, t);
    }
    if (p.status == VTA_OK && p.kind != TOKEN_END) {
        fail_at_token(&p, "expected the end of '%s' before '%.*s'", row->name, (int)p.size, p.start);
    }
    *out = t;
    return p.status;
}
