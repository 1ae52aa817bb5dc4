/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of a text before it is worked: each name in it must stand for something; and the question whether it
 * goes element by element.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "run.h"
#include "vtac/codegen.h"

enum { MAX_NAMES = 128 };

typedef struct text_checker {
    const vtac_template_row *rows;
    bool (*known)(const char *domain, const char *name);
    const vtac_template *text;
    const char *names[MAX_NAMES];
    uint32_t count;
    vta_status status;
    vta_diag *diag;
} text_checker;

static const vtac_template_row *row_named(const vtac_template_row *rows, const char *domain, const char *name)
{
    for (const vtac_template_row *row = rows; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0 && strcmp(row->domain, domain) == 0) {
            return row;
        }
    }
    return NULL;
}

static void report_name(text_checker *c, const vtac_syntax *s, const char *what)
{
    if (c->status == VTA_OK) {
        c->status = vtac_template_fault(c->text->row, s, c->diag, "%s '%s'", what, s->name);
    }
}

static void define_name(text_checker *c, const vtac_syntax *s)
{
    if (c->count < MAX_NAMES) {
        c->names[c->count++] = s->name;
    } else {
        report_name(c, s, "it has too many names; the first too many is");
    }
}

static void check_name(text_checker *c, const vtac_syntax *s)
{
    static const char *const constants[] = {"open", "inf", "true", "false", "none"};
    for (uint32_t i = 0; i < c->count; i++) {
        if (strcmp(c->names[i], s->name) == 0) {
            return;
        }
    }
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++) {
        if (strcmp(constants[i], s->name) == 0) {
            return;
        }
    }
    if (vtac_dtype_parse(s->name) == VTAC_NO_DTYPE) {
        report_name(c, s, "nothing has the name");
    }
}

static void check_call(text_checker *c, const vtac_syntax *s)
{
    const char *point = strrchr(s->name, '.');
    const char *name = point == NULL ? s->name : point + 1;
    char domain[64] = "";
    if (point != NULL) {
        (void)snprintf(domain, sizeof domain, "%.*s", (int)(point - s->name), s->name);
    }
    if (islower((unsigned char)name[0])) {
        if (!vtac_is_builtin(name) && row_named(c->rows, "function", name) == NULL) {
            report_name(c, s, "there is no function");
        }
    } else if (row_named(c->rows, domain, name) == NULL && !c->known(domain, name)) {
        report_name(c, s, "there is no operator");
    }
}

/* Children first; names that a statement defines hold from there on. */
static void check_tree(text_checker *c, const vtac_syntax *s)
{
    if (c->status != VTA_OK) {
        return;
    }
    if (s->kind == VTAC_SYNTAX_ASSIGN) {
        check_tree(c, s->first);
        for (const vtac_syntax *name = s->first->next; name != NULL; name = name->next) {
            define_name(c, name);
        }
        return;
    }
    if (s->kind == VTAC_SYNTAX_FOR) {
        define_name(c, s);
    }
    for (const vtac_syntax *child = s->first; child != NULL; child = child->next) {
        check_tree(c, child);
    }
    if (s->kind == VTAC_SYNTAX_NAME) {
        check_name(c, s);
    } else if (s->kind == VTAC_SYNTAX_CALL) {
        check_call(c, s);
    }
}

static void check_text(text_checker *c)
{
    const vtac_syntax *const ends[] = {c->text->inputs, c->text->attrs};
    c->count = 0;
    for (uint32_t i = 0; i < 2; i++) {
        for (const vtac_syntax *name = ends[i]; name != NULL; name = name->next) {
            if (name->first != NULL) {
                check_tree(c, name->first);
            }
            define_name(c, name);
        }
    }
    check_tree(c, c->text->body);
    for (const vtac_syntax *name = c->text->outputs; name != NULL; name = name->next) {
        if (name->name[0] != '\0') {
            check_name(c, name);
        }
    }
}

vta_status vtac_template_check(const vtac_template_row *rows,
                               bool (*known)(const char *domain, const char *name), vta_diag *diag)
{
    vta_arena arena = {0};
    text_checker c = {.rows = rows, .known = known, .diag = diag};
    for (const vtac_template_row *row = rows; row->name != NULL && c.status == VTA_OK; row++) {
        c.status = vtac_template_parse(row, &arena, &c.text, diag);
        if (c.status == VTA_OK) {
            check_text(&c);
        }
    }
    vta_arena_free(&arena);
    return c.status;
}

/* ---- what a text is made of */

typedef struct call_walk {
    vta_arena arena;
    bool (*allowed)(const char *domain, const char *name);
} call_walk;

static bool allows_call(call_walk *w, const vtac_syntax *s, uint32_t depth);

static bool allows_tree(call_walk *w, const vtac_syntax *s, uint32_t depth)
{
    bool allowed = s->kind != VTAC_SYNTAX_CALL || allows_call(w, s, depth);
    for (const vtac_syntax *child = s->first; child != NULL && allowed; child = child->next) {
        allowed = allows_tree(w, child, depth);
    }
    return allowed;
}

static bool allows_text(call_walk *w, const vtac_template_row *row, uint32_t depth)
{
    const vtac_template *text;
    return depth < VTAC_COMPOSE_DEPTH && vtac_template_parse(row, &w->arena, &text, NULL) == VTA_OK &&
           allows_tree(w, text->body, depth + 1);
}

static bool allows_call(call_walk *w, const vtac_syntax *s, uint32_t depth)
{
    const vtac_template_row *function = vtac_template_find("function", s->name, 0, false);
    const char *point = strrchr(s->name, '.');
    char domain[64] = "";
    if (vtac_is_builtin(s->name)) {
        return w->allowed("function", s->name);
    }
    if (function != NULL) {
        return allows_text(w, function, depth);
    }
    if (point != NULL) {
        (void)snprintf(domain, sizeof domain, "%.*s", (int)(point - s->name), s->name);
    }
    const char *name = point == NULL ? s->name : point + 1;
    const vtac_template_row *row = vtac_template_find(domain, name, 0, false);
    return w->allowed(domain, name) || (row != NULL && allows_text(w, row, depth));
}

bool vtac_template_calls_only(const vtac_template_row *row,
                              bool (*allowed)(const char *domain, const char *name))
{
    call_walk walk = {.allowed = allowed};
    const bool result = allows_text(&walk, row, 0);
    vta_arena_free(&walk.arena);
    return result;
}

static bool goes_by_elements(const char *domain, const char *name)
{
    static const char *const facts[] = {"has", "type", "as", "sqrt", "shape", "rank"};
    const vtac_op op = vtac_op_find(domain, name);
    for (size_t i = 0; strcmp(domain, "function") == 0 && i < sizeof facts / sizeof facts[0]; i++) {
        if (strcmp(facts[i], name) == 0) {
            return true;
        }
    }
    return op != VTAC_OP_COUNT && vtac_is_pointwise(op);
}

bool vtac_template_is_pointwise(const vtac_template_row *row)
{
    return vtac_template_calls_only(row, goes_by_elements);
}
