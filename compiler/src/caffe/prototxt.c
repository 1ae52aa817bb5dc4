/* SPDX-License-Identifier: Apache-2.0 */
#include "prototxt.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"

enum { MAX_DEPTH = 32, MAX_FIELDS = 1 << 21 };

typedef struct text_reader {
    const char *at, *end;
    uint32_t line, fields;
    vta_arena *arena;
    vta_diag *diag;
} text_reader;

static void skip_blanks(text_reader *r)
{
    while (r->at < r->end && (isspace((unsigned char)*r->at) != 0 || *r->at == '#')) {
        if (*r->at == '#') {
            const char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
            r->at = stop == NULL ? r->end : stop;
            continue;
        }
        r->line += *r->at++ == '\n';
    }
}

static bool take_char(text_reader *r, char wanted)
{
    skip_blanks(r);
    if (r->at == r->end || *r->at != wanted) {
        return false;
    }
    r->at++;
    return true;
}

static vta_status expected(text_reader *r, const char *what)
{
    return vta_fail(r->diag, VTA_SYNTAX, "line %u: expected %s", r->line, what);
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) != 0 || c == '_' || c == '.' || c == '-' || c == '+' || c == '/';
}

static vta_status read_word(text_reader *r, const char *what, const char **out)
{
    skip_blanks(r);
    const char *from = r->at;
    while (r->at < r->end && is_word(*r->at)) {
        r->at++;
    }
    if (r->at == from) {
        return expected(r, what);
    }
    *out = vta_arena_string(r->arena, from, (size_t)(r->at - from));
    return vta_allocated(*out != NULL, r->diag);
}

/* A text in quotes on one line; what is not printable becomes '_'. */
static vta_status read_quoted(text_reader *r, const char **out)
{
    const char quote = *r->at++;
    const char *from = r->at;
    while (r->at < r->end && *r->at != quote && *r->at != '\n') {
        r->at += *r->at == '\\' && r->at + 1 < r->end ? 2 : 1;
    }
    if (r->at >= r->end || *r->at != quote) {
        return expected(r, "the end of a text in quotes");
    }
    char *text = vta_arena_string(r->arena, from, (size_t)(r->at - from));
    char *to = text;
    for (const char *c = text; c != NULL && *c != '\0'; c++) {
        c += *c == '\\' && c[1] != '\0';
        *to++ = (char)(isprint((unsigned char)*c) != 0 ? *c : '_');
    }
    if (text != NULL) {
        *to = '\0';
    }
    r->at++;
    *out = text;
    return vta_allocated(text != NULL, r->diag);
}

static vta_status read_value(text_reader *r, const char **out)
{
    skip_blanks(r);
    return r->at < r->end && (*r->at == '"' || *r->at == '\'') ? read_quoted(r, out)
                                                               : read_word(r, "a value", out);
}

static vta_status add_field(text_reader *r, vtac_prototxt_field *parent, vtac_prototxt_field **last,
                            const char *name, vtac_prototxt_field **out)
{
    vtac_prototxt_field *field = ++r->fields > MAX_FIELDS ? NULL : vta_arena_alloc(r->arena, sizeof *field);
    if (field == NULL) {
        return vta_fail(r->diag, VTA_NOMEM, "line %u: out of memory, or more than %d fields", r->line,
                        MAX_FIELDS);
    }
    *field = (vtac_prototxt_field){.name = name, .line = r->line};
    if (*last == NULL) {
        parent->first = field;
    } else {
        (*last)->next = field;
    }
    *last = *out = field;
    return VTA_OK;
}

/* `name: [a, b]` is `name: a name: b`. */
static vta_status read_list(text_reader *r, vtac_prototxt_field *parent, vtac_prototxt_field **last,
                            const char *name)
{
    while (!take_char(r, ']')) {
        vtac_prototxt_field *field = NULL;
        VTA_TRY(add_field(r, parent, last, name, &field));
        VTA_TRY(read_value(r, &field->value));
        (void)take_char(r, ',');
    }
    return VTA_OK;
}

static vta_status read_fields(text_reader *r, vtac_prototxt_field *parent, char closing, unsigned depth);

/* A field with its value, or with the fields in it. */
/* NOLINTNEXTLINE(misc-no-recursion): messages lie in others, up to MAX_DEPTH of them */
static vta_status read_field(text_reader *r, vtac_prototxt_field *parent, vtac_prototxt_field **last,
                             unsigned depth)
{
    const char *name;
    vtac_prototxt_field *field = NULL;
    VTA_TRY(read_word(r, "the name of a field", &name));
    const bool colon = take_char(r, ':');
    if (colon && take_char(r, '[')) {
        return read_list(r, parent, last, name);
    }
    VTA_TRY(add_field(r, parent, last, name, &field));
    if (take_char(r, '{')) {
        return read_fields(r, field, '}', depth + 1);
    }
    if (take_char(r, '<')) {
        return read_fields(r, field, '>', depth + 1);
    }
    return colon ? read_value(r, &field->value)
                 : expected(r, "a colon or a brace behind the name of a field");
}

/* Fields up to what closes them, '\0': the end of the file. */
/* NOLINTNEXTLINE(misc-no-recursion): messages lie in others, up to MAX_DEPTH of them */
static vta_status read_fields(text_reader *r, vtac_prototxt_field *parent, char closing, unsigned depth)
{
    vtac_prototxt_field *last = NULL;
    if (depth > MAX_DEPTH) {
        return vta_fail(r->diag, VTA_RANGE, "line %u: more than %d messages in each other", r->line,
                        MAX_DEPTH);
    }
    for (;;) {
        while (take_char(r, ',') || take_char(r, ';')) {
        }
        skip_blanks(r);
        if (r->at == r->end) {
            return closing == '\0' ? VTA_OK : expected(r, "a brace that closes a message");
        }
        if (closing != '\0' && take_char(r, closing)) {
            return VTA_OK;
        }
        VTA_TRY(read_field(r, parent, &last, depth));
    }
}

vta_status vtac_prototxt_parse(const vtac_model_file *file, vta_arena *arena, vtac_prototxt_field *out,
                               vta_diag *diag)
{
    const char *text = (const char *)file->bytes;
    text_reader r = {.at = text, .end = text + file->size, .line = 1, .arena = arena, .diag = diag};
    *out = (vtac_prototxt_field){.line = 1};
    return read_fields(&r, out, '\0', 0);
}

const vtac_prototxt_field *vtac_prototxt_next(const vtac_prototxt_field *message,
                                              const vtac_prototxt_field *from, const char *name)
{
    const vtac_prototxt_field *f = from != NULL ? from->next : message == NULL ? NULL : message->first;
    while (f != NULL && strcmp(f->name, name) != 0) {
        f = f->next;
    }
    return f;
}

const char *vtac_prototxt_word(const vtac_prototxt_field *message, const char *name, const char *otherwise)
{
    const vtac_prototxt_field *f = NULL;
    while ((f = vtac_prototxt_next(message, f, name)) != NULL) {
        otherwise = f->value == NULL ? otherwise : f->value;
    }
    return otherwise;
}

bool vtac_prototxt_number(const char *word, double *out)
{
    char *end = NULL;
    *out = strtod(word, &end);
    return end != word && (*end == '\0' || strcmp(end, "f") == 0) && isfinite(*out);
}

const vtac_prototxt_field *vtac_prototxt_message(const vtac_prototxt_field *message, const char *name)
{
    const vtac_prototxt_field *found = NULL;
    const vtac_prototxt_field *f = NULL;
    while ((f = vtac_prototxt_next(message, f, name)) != NULL) {
        found = f->value == NULL ? f : found;
    }
    return found;
}
