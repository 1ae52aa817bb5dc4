/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of one operator as a tree (README.md has the language).
 */
#ifndef VTAC_COMPOSE_SYNTAX_H
#define VTAC_COMPOSE_SYNTAX_H

#include <stdbool.h>
#include <stdint.h>

#include "template.h"

typedef enum vtac_syntax_kind {
    VTAC_SYNTAX_WHOLE,   /* 12: whole */
    VTAC_SYNTAX_REAL,    /* 0.5, inf: real */
    VTAC_SYNTAX_TEXT,    /* "tanh": name */
    VTAC_SYNTAX_LIST,    /* [a, b]: children */
    VTAC_SYNTAX_NAME,    /* x: name; in a header, mark: '?' may be absent, '*' all that follow */
    VTAC_SYNTAX_CALL,    /* Gelu(x, approximate = "tanh"): name, children, of which NAMED are last */
    VTAC_SYNTAX_NAMED,   /* name = child; a mark '*': all attributes of the operator */
    VTAC_SYNTAX_ITEM,    /* a[b]: two children */
    VTAC_SYNTAX_UNARY,   /* mark ('-', '!'), one child */
    VTAC_SYNTAX_BINARY,  /* mark (+ - * / % < > and the letters of `vtac_syntax_pairs`), two children */
    VTAC_SYNTAX_CHOICE,  /* a ? b : c: three children */
    VTAC_SYNTAX_ASSIGN,  /* the value, behind it the NAMEs that it goes to */
    VTAC_SYNTAX_IF,      /* the condition, a BLOCK, a BLOCK or nothing */
    VTAC_SYNTAX_FOR,     /* name; first and behind the last, or a list; a BLOCK */
    VTAC_SYNTAX_EXPECT,  /* name: the message; the condition, what the message shows */
    VTAC_SYNTAX_SUPPORT, /* the same for what is legal and not supported */
    VTAC_SYNTAX_BLOCK
} vtac_syntax_kind;

typedef struct vtac_syntax {
    vtac_syntax_kind kind;
    char mark;
    uint32_t line, column;
    const char *name;
    int64_t whole;
    double real;
    struct vtac_syntax *first, *next; /* the first child; the next of the same parent */
} vtac_syntax;

/* Operators of two characters and the mark that stands for each. */
static const struct {
    char text[3], mark;
} vtac_syntax_pairs[] = {{"==", '='}, {"!=", '#'}, {"<=", 'l'}, {">=", 'g'}, {"->", '>'}, {"..", '.'}};

typedef struct vtac_template {
    const vtac_template_row *row;
    const vtac_syntax *inputs, *attrs, *outputs; /* NAMEs; an attribute's child is its default */
    const vtac_syntax *body;                     /* a BLOCK */
} vtac_template;

/* Parses the text of a row. A fault is one line with file, line and column. */
vta_status vtac_template_parse(const vtac_template_row *row, vta_arena *arena, const vtac_template **out,
                               vta_diag *diag);

/* Reports a fault at a place of the text of a row. */
vta_status vtac_template_fault(const vtac_template_row *row, const vtac_syntax *at, vta_diag *diag,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
