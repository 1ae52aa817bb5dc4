/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the assembler share. The text is read once from front to back; only the body of a loop is
 * read again, by setting the lexer back. Names must be defined before they are used, so there is one pass and
 * one table.
 *
 *   asm.c          statements and loops
 *   asm_lex.c      characters to tokens
 *   asm_name.c     the table of names
 *   asm_expr.c     expressions
 *   asm_data.c     .data, .uops, .expect and their contents
 *   asm_insn.c     instructions · asm_operand.c: what they are about
 *
 * All functions that return vta_status have written the diagnostic, with file, line and column, when they
 * fail.
 */
#ifndef VTA_ASM_INTERNAL_H
#define VTA_ASM_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/program.h"

enum {
    VTA_NAME_MAX = 200,              /* characters of a name */
    VTA_ASM_NESTING = 64,            /* parentheses, signs and loops inside each other */
    VTA_ASM_LOOP_BYTES = 1 << 24,    /* of text that loops may read altogether */
    VTA_PROGRAM_TEXT_MAX = 1 << 30,  /* bytes of text */
    VTA_PROGRAM_BYTES_MAX = 1 << 25, /* of written-out contents and expectations */
    VTA_PROGRAM_SPACE_MAX = 1 << 30, /* bytes of all segments together */
    VTA_PROGRAM_INSNS_MAX = 1 << 24
};

typedef enum vta_token_kind {
    VTA_TOKEN_END,
    VTA_TOKEN_NEWLINE,
    VTA_TOKEN_NUMBER,
    VTA_TOKEN_NAME,
    VTA_TOKEN_DIRECTIVE, /* a name with a dot in front */
    VTA_TOKEN_STRING,
    VTA_TOKEN_JSON, /* braces and what is between, after .config */
    VTA_TOKEN_MARK  /* an operator or a bracket; `value` holds its characters, see VTA_MARK2 */
} vta_token_kind;

#define VTA_MARK2(a, b) ((uint64_t)(a) | ((uint64_t)(b) << 8))

typedef struct vta_token {
    vta_token_kind kind;
    uint32_t line;
    size_t start, size; /* in the text */
    bool quoted;        /* a name out of a string, without its quotes */
    uint64_t value;     /* of a number, or the characters of a mark */
} vta_token;

typedef struct vta_lexer {
    size_t at, line_start;
    uint32_t line;
    size_t number_end; /* so that 4x1 is a number, an x and a number */
    vta_token token;   /* the one to be looked at next */
} vta_lexer;

typedef enum vta_name_kind {
    VTA_NAME_NONE,
    VTA_NAME_RESERVED,
    VTA_NAME_VALUE,  /* .set, loop variables and what the configuration fixes */
    VTA_NAME_DATA,   /* a symbol; `value` is its index */
    VTA_NAME_KERNEL, /* a symbol of micro-ops, with a place in the scratchpad */
} vta_name_kind;

typedef struct vta_name {
    vta_name_kind kind;
    const char *text; /* borrowed: of the source, or of the table of reserved words */
    size_t size;
    int64_t value;
    uint32_t line;  /* of its definition; 0: built in */
    uint32_t place; /* of a kernel: its first entry in the scratchpad */
    bool hidden;    /* by a word of the language: only quotes reach it */
    uint32_t next;  /* of the same bucket, plus 1 */
} vta_name;

typedef struct vta_names {
    vta_name *items;
    size_t count, capacity;
    uint32_t *buckets; /* index plus 1 of the newest of each hash */
    uint32_t bucket_count;
} vta_names;

typedef struct vta_asm {
    const char *text, *what;
    size_t size;
    vta_lexer lex;
    vta_config config;
    vta_field_info fields[VTA_FIELD_COUNT];
    vta_names names;
    vta_program *program;
    size_t symbol_capacity, insn_capacity, line_capacity, tag_capacity;
    uint32_t tag; /* of the instructions to come */
    bool tagged;  /* .tag has been used */
    uint64_t segment_end[VTA_SEGMENTS];
    uint64_t bytes; /* contents and expectations so far */
    uint64_t loop_bytes;
    uint32_t next_place; /* of a kernel in the micro-op scratchpad */
    uint32_t loops;      /* that enclose the current token */
    uint32_t depth;
    vta_diag *diag;
} vta_asm;

/* ---- asm_lex.c */

void vta_lex_start(vta_asm *a);
vta_status vta_lex_next(vta_asm *a);
/* Reads `{ … }` whole, from the current token, which must be the opening brace. */
vta_status vta_lex_json(vta_asm *a);

/* Fails at a token: "what:LINE:COL: sentence". */
__attribute__((format(printf, 3, 4))) vta_status vta_asm_fail(vta_asm *a, const vta_token *at,
                                                              const char *fmt, ...);
/* "expected WANTED, not 'TOKEN'" at the current token. */
vta_status vta_asm_expected(vta_asm *a, const char *wanted);
/* The token as a message shows it: quoted, printable, short. `text` has VTA_SHOWN bytes. */
enum { VTA_SHOWN = 64 };
const char *vta_asm_show(const vta_asm *a, const vta_token *token, char *text);

bool vta_at_mark(const vta_asm *a, uint64_t mark);
bool vta_at_word(const vta_asm *a, const char *word);
bool vta_at_line_end(const vta_asm *a); /* newline, end, or the brace that closes a loop */
/* Takes the token if it is the one; *took says so. */
vta_status vta_take_mark(vta_asm *a, uint64_t mark, bool *took);
vta_status vta_take_word(vta_asm *a, const char *word, bool *took);
vta_status vta_need_mark(vta_asm *a, uint64_t mark, const char *wanted);
vta_status vta_skip_newlines(vta_asm *a);

/* ---- asm_name.c */

vta_status vta_names_start(vta_asm *a);
vta_status vta_names_define_config(vta_asm *a);
void vta_names_free(vta_names *names);
/* NULL where it is not defined. Valid until the next definition. */
vta_name *vta_names_find(const vta_asm *a, const vta_token *token);
vta_status vta_names_define(vta_asm *a, const vta_token *token, vta_name_kind kind, int64_t value);
/* Forgets the newest name: the variable of a loop that ends. */
void vta_names_drop(vta_asm *a);
/* "undefined name 'x'", with the nearest one that exists. */
vta_status vta_names_undefined(vta_asm *a, const vta_token *token);
/* The name of a symbol: bare, or in quotes, where any name may stand. */
vta_status vta_take_symbol_name(vta_asm *a, const char *wanted, vta_token *name);
/* The symbol that the current token names, which stays current; NULL where it names none. */
const vta_name *vta_names_symbol(const vta_asm *a);
/* May it stand without quotes? */
bool vta_name_is_bare(const char *name);

/* ---- asm_expr.c */

vta_status vta_expr(vta_asm *a, int64_t *value);
/* With bounds, both inclusive; `subject` is named in the message. */
vta_status vta_expr_within(vta_asm *a, const char *subject, int64_t low, int64_t high, int64_t *value);
/* The rest of a sum whose first operand is `*value`: "+ 16 - 2*i"; nothing if no sign follows. */
vta_status vta_expr_sum_rest(vta_asm *a, int64_t *value);

/* ---- asm.c: loops, shared by data, micro-ops and code */

typedef vta_status vta_asm_item(vta_asm *a, void *context);
/* `{`, the current token, items that `item` reads one by one, loops of them, and the closing brace. A newline
 * stands between items; with `commas`, a comma may. */
vta_status vta_asm_body(vta_asm *a, vta_asm_item *item, void *context, bool commas);
/* A loop, from the token after `for`: its body once for each value. */
vta_status vta_asm_for(vta_asm *a, vta_asm_item *item, void *context, bool commas);
vta_status vta_asm_enter(vta_asm *a);
void vta_asm_leave(vta_asm *a);

/* ---- asm_data.c, asm_insn.c: statements, from the token after the directive */

vta_status vta_asm_data(vta_asm *a);
vta_status vta_asm_uops(vta_asm *a);
vta_status vta_asm_expect(vta_asm *a);
vta_status vta_asm_insn(vta_asm *a);
vta_status vta_asm_insn_bits(vta_asm *a);
vta_status vta_asm_tag(vta_asm *a);
vta_status vta_asm_memory(const vta_token *token, const vta_asm *a, vta_memory *memory);

/* ---- program.c: what the assembler and the container file both promise */

/* Alignment of a symbol where the text does not say: every element size of the configuration divides it. */
uint64_t vta_program_alignment(const vta_config *config);
/* Lanes of an element (1 for a micro-op) and the bytes of each in DRAM. */
uint32_t vta_program_lanes(const vta_config *config, vta_memory memory);
/* Symbols to be sorted, without moving them. */
typedef struct vta_symbol_ref {
    const vta_symbol *symbol;
} vta_symbol_ref;
/* For qsort: by segment and offset. */
int vta_symbol_by_place(const void *left, const void *right);
/* Names legal and unique, offsets and sizes multiples of the element, nothing overlaps, nothing too large. */
vta_status vta_program_verify(const vta_program *program, vta_diag *diag);

/* ---- fields by row of isa.def */

static inline int64_t vta_field_get(const vta_field_info *field, const vta_insn *insn)
{
    return *(const int64_t *)(const void *)((const char *)insn + field->offset);
}

static inline void vta_field_set(const vta_field_info *field, vta_insn *insn, int64_t value)
{
    *(int64_t *)(void *)((char *)insn + field->offset) = value;
}

int64_t vta_field_low(const vta_field_info *field);
int64_t vta_field_high(const vta_field_info *field);

/* Gives each field the value that it has where a text does not mention it. Sets opcode and, for LOAD, nothing
 * else than zeros and loops of 1. */
void vta_insn_defaults(vta_insn *insn, int64_t opcode);

/* "pynq" if the configuration is that shipped one in every value, else NULL. */
const char *vta_program_shipped_name(const vta_config *config);

#endif
