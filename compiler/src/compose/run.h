/* SPDX-License-Identifier: Apache-2.0
 *
 * The making of nodes from a text: terms, the parts of expressions, and the names that stand for terms.
 */
#ifndef VTAC_COMPOSE_RUN_H
#define VTAC_COMPOSE_RUN_H

#include "syntax.h"

typedef enum vtac_term_kind {
    VTAC_TERM_NONE,  /* an absent input or attribute */
    VTAC_TERM_VALUE, /* handle */
    VTAC_TERM_WHOLE, /* a size or an integer: `whole` where it is known, else `handle`, i64 of one axis */
    VTAC_TERM_REAL,
    VTAC_TERM_TRUTH, /* `whole` is 0 or 1; without `known`, it follows from sizes that only the run knows */
    VTAC_TERM_TEXT,
    VTAC_TERM_TYPE,
    VTAC_TERM_LIST
} vtac_term_kind;

typedef struct vtac_term {
    vtac_term_kind kind;
    bool known;
    vtac_handle handle;
    int64_t whole;
    double real;
    const char *text;
    vtac_dtype type;
    const struct vtac_term *items;
    uint32_t count;
} vtac_term;

/* The terms that a call gives: one, or several of a function or an operator with as many outputs. */
enum { VTAC_COMPOSE_RESULTS = 8, VTAC_COMPOSE_ITEMS = 1024, VTAC_COMPOSE_DEPTH = 16 };

typedef struct vtac_binding {
    const char *name;
    vtac_term term;
    struct vtac_binding *next;
} vtac_binding;

/* Sizes that only the run knows and that were asked for: axis VTAC_COMPOSE_SHAPE is the whole shape. */
enum { VTAC_COMPOSE_SHAPE = INT32_MAX };
typedef struct vtac_open_size {
    vtac_handle of, size;
    int64_t axis;
    struct vtac_open_size *next;
} vtac_open_size;

/* A text at work. `status` is the first fault's; after it nothing is done. */
typedef struct vtac_compose_run {
    const vtac_template_target *target;
    const vtac_template *text;
    vta_arena *arena; /* of this work: gone with it */
    vtac_binding *names;
    vtac_open_size **sizes; /* shared with the functions that it calls */
    vta_status status;
    uint32_t depth;
} vtac_compose_run;

vtac_term vtac_run_fail(vtac_compose_run *r, const vtac_syntax *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
vtac_term vtac_run_evaluate(vtac_compose_run *r, const vtac_syntax *s);
/* The value of a call in several terms. */
void vtac_run_call(vtac_compose_run *r, const vtac_syntax *s, vtac_term *out, uint32_t count);
/* The terms of a function of a text; done in a run of its own. */
void vtac_run_function(vtac_compose_run *r, const vtac_syntax *s, const vtac_template_row *row,
                       vtac_term *out, uint32_t count);

/* The size of a value that was asked for before, 0: none; `size`, unless it is 0, is kept for the next time.
 */
vtac_handle vtac_run_size(vtac_compose_run *r, vtac_handle of, int64_t axis, vtac_handle size);

/* The parts of a node, as a text writes them: its name with its domain, terms as inputs. */
typedef struct vtac_node_parts {
    const char *name;
    const vtac_term *inputs;
    uint32_t input_count;
    const vtac_attr *attrs;
    uint32_t attr_count;
} vtac_node_parts;

/* node.c: nodes of operators; arithmetic on values; a whole or a list of wholes as a value. */
void vtac_run_node(vtac_compose_run *r, const vtac_syntax *at, const vtac_node_parts *parts, vtac_term *out,
                   uint32_t output_count);
vtac_term vtac_run_value(vtac_compose_run *r, const vtac_syntax *at, const vtac_term *term, vtac_dtype type);
vtac_term vtac_run_node1(vtac_compose_run *r, const vtac_syntax *at, const char *name, vtac_term a);
vtac_term vtac_run_node2(vtac_compose_run *r, const vtac_syntax *at, const char *name, vtac_term a,
                         vtac_term b);
vtac_term vtac_run_cast(vtac_compose_run *r, const vtac_syntax *at, vtac_term x, vtac_dtype type);
vtac_dtype vtac_run_dtype(vtac_compose_run *r, const vtac_term *term);

/* arithmetic.c */
vtac_term vtac_run_binary(vtac_compose_run *r, const vtac_syntax *s, vtac_term a, vtac_term b);
vtac_term vtac_run_unary(vtac_compose_run *r, const vtac_syntax *s, vtac_term a);

/* builtin.c: the language's own functions. False: there is none of this name. */
bool vtac_run_builtin(vtac_compose_run *r, const vtac_syntax *s, vtac_term *out);
bool vtac_is_builtin(const char *name);

static inline vtac_term vtac_term_value(vtac_handle handle)
{
    return (vtac_term){.kind = handle == 0 ? VTAC_TERM_NONE : VTAC_TERM_VALUE, .handle = handle};
}
static inline vtac_term vtac_term_whole(int64_t whole)
{
    return (vtac_term){.kind = VTAC_TERM_WHOLE, .known = true, .whole = whole};
}
static inline vtac_term vtac_term_real(double real)
{
    return (vtac_term){.kind = VTAC_TERM_REAL, .known = true, .real = real};
}
static inline vtac_term vtac_term_truth(bool truth)
{
    return (vtac_term){.kind = VTAC_TERM_TRUTH, .known = true, .whole = truth};
}
static inline vtac_term vtac_term_type(vtac_dtype type)
{
    return (vtac_term){.kind = VTAC_TERM_TYPE, .known = true, .type = type};
}

#endif
