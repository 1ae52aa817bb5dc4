/* SPDX-License-Identifier: Apache-2.0
 *
 * TorchScript: the part of Python that PyTorch prints. Code is read and followed at once: calls of operators
 * make nodes, numbers and lists are computed, methods of modules are gone into. Conditions and lengths of
 * loops must be known while that happens. Steps and depth are limited.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "torch.h"
#include "vta/fail.h"

typedef struct torch_cursor {
    const char *at, *begin, *end, *file;
    uint32_t nest; /* inside so many brackets, lines may end */
} torch_cursor;

typedef struct torch_frame {
    torch_cursor c;
    vtac_torch_list variables; /* names and values in turn */
    bool returned;
    vtac_torch_value result;
} torch_frame;

struct vtac_torch_script {
    vtac_torch_value constants;
    bool placed; /* the message has the place */
};

enum { COSTLY = 512 }; /* so many items of a search, or lines that are passed over, count as a step */

static vtac_torch_value read_expression(vtac_torch *im, torch_frame *f);
static void run_block(vtac_torch *im, torch_frame *f, size_t indent);
static vtac_torch_value call_function(vtac_torch *im, const torch_cursor *def, const vtac_torch_value *args,
                                      uint32_t count, const vtac_torch_named *named, uint32_t named_count);

/* ---- reading */

__attribute__((format(printf, 3, 4))) static void refuse_code(vtac_torch *im, torch_cursor *c,
                                                              const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    vtac_make_fail(&im->maker, VTA_UNSUPPORTED, "%s", text);
    c->at = c->end;
}

static bool is_word_byte(char b)
{
    return (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9') || b == '_';
}

static void skip_blanks(torch_cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || (c->nest > 0 && (*c->at == '\n' || *c->at == '\r')))) {
        c->at++;
    }
}

static bool is_at(torch_cursor *c, char b)
{
    skip_blanks(c);
    return c->at < c->end && *c->at == b;
}

static bool take_byte(torch_cursor *c, char b)
{
    const bool found = is_at(c, b);
    c->at += found ? 1 : 0;
    return found;
}

static void expect_byte(vtac_torch *im, torch_cursor *c, char b)
{
    if (!take_byte(c, b) && im->maker.status == VTA_OK) {
        refuse_code(im, c, "'%c' is expected before '%.*s'", b,
                    (int)(c->end - c->at < 20 ? c->end - c->at : 20), c->at);
    }
}

/* True, behind it, where the next word is this one. */
static bool take_word(torch_cursor *c, const char *word)
{
    const size_t length = strlen(word);
    skip_blanks(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0 ||
        (c->at + length < c->end && is_word_byte(c->at[length]))) {
        return false;
    }
    c->at += length;
    return true;
}

/* The next word, "" where there is none. */
static const char *read_word(vtac_torch *im, torch_cursor *c)
{
    skip_blanks(c);
    const char *start = c->at;
    while (c->at < c->end && is_word_byte(*c->at)) {
        c->at++;
    }
    const char *word = vta_arena_string(&im->maker.graph->arena, start, (size_t)(c->at - start));
    return word == NULL ? "" : word;
}

/* Behind a type: up to ',', '=', ')' or the end of the line outside of its own brackets. */
static void skip_type(torch_cursor *c)
{
    int deep = 0;
    for (; c->at < c->end; c->at++) {
        const char b = *c->at;
        if (deep == 0 && (b == ',' || b == '=' || b == ')' || b == '\n')) {
            return;
        }
        deep += b == '[' || b == '(' ? 1 : b == ']' || b == ')' ? -1 : 0;
    }
}

static void skip_line(torch_cursor *c)
{
    const char *end = memchr(c->at, '\n', (size_t)(c->end - c->at));
    c->at = end == NULL ? c->end : end + 1;
}

/* Blanks at the beginning of the line that c is at, past empty lines. SIZE_MAX: there is none. */
static size_t line_indent(torch_cursor *c)
{
    while (c->at < c->end) {
        const char *at = c->at;
        while (at < c->end && *at == ' ') {
            at++;
        }
        if (at < c->end && *at != '\n' && *at != '\r' && *at != '#') {
            return (size_t)(at - c->at);
        }
        skip_line(c);
    }
    return SIZE_MAX;
}

static bool count_step(vtac_torch *im, torch_cursor *c)
{
    if (++im->steps > TORCH_MAX_STEPS || im->depth > TORCH_MAX_DEPTH) {
        refuse_code(im, c, "the program takes more than %d steps or goes deeper than %d calls and brackets",
                    TORCH_MAX_STEPS, TORCH_MAX_DEPTH);
    }
    return im->maker.status == VTA_OK;
}

/* ---- variables and attributes */

static vtac_torch_value *find_variable(vtac_torch *im, const torch_frame *f, const char *name)
{
    im->steps += f->variables.count / COSTLY;
    for (uint32_t i = f->variables.count; i >= 2; i -= 2) {
        if (strcmp(f->variables.items[i - 2].s, name) == 0) {
            return &f->variables.items[i - 1];
        }
    }
    return NULL;
}

static void set_variable(vtac_torch *im, torch_frame *f, const char *name, vtac_torch_value value)
{
    vtac_torch_value *old = find_variable(im, f, name);
    if (old != NULL) {
        *old = value;
        return;
    }
    vtac_torch_append(im, &f->variables, vtac_torch_string(name));
    vtac_torch_append(im, &f->variables, value);
}

/* The text of a module's file: __torch__.a.b is code/__torch__/a/b.py. */
static bool open_code(vtac_torch *im, const char *module, size_t length, torch_cursor *c)
{
    char name[600];
    (void)snprintf(name, sizeof name, "code/%.*s", (int)(length < 500 ? length : 500), module);
    for (char *at = name; *at != '\0'; at++) {
        if (*at == '.') {
            *at = '/';
        }
    }
    (void)snprintf(name + strlen(name), sizeof name - strlen(name), ".py");
    const vtac_zip_member *member = vtac_torch_member(im, &im->archive, name);
    im->steps += im->archive.count / COSTLY;
    if (member == NULL) {
        return false;
    }
    const char *text = (const char *)member->bytes;
    *c = (torch_cursor){.at = text, .begin = text, .end = text + member->size, .file = member->name};
    return true;
}

/* Moves to behind "def NAME" or "class NAME" at this depth, before the next line that is less deep. */
static bool find_definition(vtac_torch *im, torch_cursor *c, const char *what, const char *name,
                            size_t indent)
{
    const size_t lead = strlen(what);
    const size_t length = strlen(name);
    for (uint32_t lines = 1;; lines++) {
        const size_t own = line_indent(c);
        if (own == SIZE_MAX || own < indent || (lines % COSTLY == 0 && !count_step(im, c))) {
            return false;
        }
        const char *at = c->at + own;
        const size_t left = (size_t)(c->end - at);
        if (own == indent && left > lead + length && memcmp(at, what, lead) == 0 &&
            memcmp(at + lead, name, length) == 0 && !is_word_byte(at[lead + length])) {
            c->at = at + lead + length;
            return true;
        }
        skip_line(c);
    }
}

/* A function, or with `method` a method of a class, by its path. */
static bool find_code(vtac_torch *im, const char *path, const char *method, torch_cursor *c)
{
    const char *dot = strrchr(path, '.');
    if (dot == NULL || !open_code(im, path, (size_t)(dot - path), c)) {
        return false;
    }
    if (method == NULL) {
        return find_definition(im, c, "def ", dot + 1, 0);
    }
    if (!find_definition(im, c, "class ", dot + 1, 0)) {
        return false;
    }
    skip_line(c);
    return find_definition(im, c, "def ", method, 2);
}

static vtac_torch_value call_method(vtac_torch *im, vtac_torch_object *object, const char *name,
                                    const vtac_torch_value *args, uint32_t count,
                                    const vtac_torch_named *named, uint32_t named_count)
{
    vtac_torch_value all[TORCH_MAX_INPUTS] = {{.kind = TORCH_OBJECT, .object = object}};
    torch_cursor def;
    if (count + 1 > TORCH_MAX_INPUTS || !find_code(im, object->class, name, &def)) {
        vtac_make_fail(&im->maker, VTA_UNSUPPORTED, "class '%.200s' has no method '%.60s' in the archive",
                       object->class, name);
        return vtac_torch_none;
    }
    for (uint32_t i = 0; i < count; i++) {
        all[i + 1] = args[i];
    }
    return call_function(im, &def, all, count + 1, named, named_count);
}

bool vtac_torch_attribute(vtac_torch *im, vtac_torch_object *object, const char *name, vtac_torch_value *out)
{
    torch_cursor unused;
    if (!object->ready && object->state.kind != TORCH_NONE) {
        object->ready = true;
        if (find_code(im, object->class, "__setstate__", &unused)) {
            (void)call_method(im, object, "__setstate__", &object->state, 1, NULL, 0);
        }
    }
    const vtac_torch_value *found = vtac_torch_look_up(object->attrs, name);
    *out = found == NULL ? vtac_torch_none : *found;
    return found != NULL;
}

static void set_attribute(vtac_torch *im, vtac_torch_object *object, const char *name, vtac_torch_value value)
{
    vtac_torch_value *found = vtac_torch_look_up(object->attrs, name);
    if (found != NULL) {
        *found = value;
        return;
    }
    vtac_torch_append(im, object->attrs, vtac_torch_string(name));
    vtac_torch_append(im, object->attrs, value);
}

/* ---- expressions */

static vtac_torch_value name_value(vtac_torch *im, const char *a, const char *b)
{
    char text[600];
    (void)snprintf(text, sizeof text, "%.300s%s%.200s", a, b[0] == '\0' ? "" : ".", b);
    const char *copy = vta_arena_string(&im->maker.graph->arena, text, strlen(text));
    return (vtac_torch_value){.kind = TORCH_NAME, .s = copy == NULL ? "" : copy};
}

static vtac_torch_value read_number(vtac_torch *im, torch_cursor *c)
{
    char text[64];
    size_t used = 0;
    bool real = false;
    while (c->at < c->end && used + 1 < sizeof text &&
           (is_word_byte(*c->at) || *c->at == '.' ||
            ((*c->at == '-' || *c->at == '+') && used > 0 &&
             (text[used - 1] == 'e' || text[used - 1] == 'E')))) {
        real = real || *c->at == '.' || *c->at == 'e' || *c->at == 'E';
        text[used++] = *c->at++;
    }
    text[used] = '\0';
    char *end;
    const vtac_torch_value v =
        real ? vtac_torch_real(strtod(text, &end)) : vtac_torch_integer(strtoll(text, &end, 10));
    if (*end != '\0' || used == 0) {
        refuse_code(im, c, "'%.20s' is no number", text);
    }
    return v;
}

static vtac_torch_value read_string(vtac_torch *im, torch_cursor *c)
{
    const char quote = *c->at++;
    const char *start = c->at;
    while (c->at < c->end && *c->at != quote && *c->at != '\n') {
        c->at += *c->at == '\\' && c->at + 1 < c->end ? 2 : 1;
    }
    const size_t length = (size_t)(c->at < c->end ? c->at - start : c->end - start);
    char *text = vta_arena_string(&im->maker.graph->arena, start, length);
    c->at += c->at < c->end ? 1 : 0;
    size_t used = 0;
    for (size_t i = 0; text != NULL && i < length; i++) { /* names need no more than \\ and \" */
        i += text[i] == '\\' && i + 1 < length ? 1 : 0;
        text[used++] = text[i];
    }
    if (text == NULL) {
        return vtac_torch_string("");
    }
    text[used] = '\0';
    return vtac_torch_string(text);
}

/* Items up to a closing bracket, which is taken. `comma`: one stood behind the last item. */
static vtac_torch_value read_items(vtac_torch *im, torch_frame *f, char close, vtac_torch_kind kind,
                                   bool *comma)
{
    const vtac_torch_value out = vtac_torch_list_value(im, kind, NULL, 0);
    *comma = false;
    f->c.nest++;
    while (!is_at(&f->c, close) && count_step(im, &f->c)) {
        vtac_torch_append(im, out.list, read_expression(im, f));
        *comma = take_byte(&f->c, kind == TORCH_DICT && out.list->count % 2 == 1 ? ':' : ',');
        if (!*comma && !is_at(&f->c, close)) {
            expect_byte(im, &f->c, close);
        }
    }
    f->c.nest -= f->c.nest > 0 ? 1 : 0;
    expect_byte(im, &f->c, close);
    return out;
}

/* A name: a variable, a constant of the language, or the beginning of a path. */
static vtac_torch_value read_named(vtac_torch *im, torch_frame *f)
{
    const char *word = read_word(im, &f->c);
    const vtac_torch_value *variable = find_variable(im, f, word);
    if (variable != NULL) {
        return *variable;
    }
    if (strcmp(word, "None") == 0) {
        return vtac_torch_none;
    }
    if (strcmp(word, "True") == 0 || strcmp(word, "False") == 0) {
        return vtac_torch_bool(word[0] == 'T');
    }
    if (strcmp(word, "inf") == 0 || strcmp(word, "nan") == 0) {
        return vtac_torch_real((double)(word[0] == 'i' ? INFINITY : NAN));
    }
    if (word[0] == '\0') {
        refuse_code(im, &f->c, "a value is expected before '%.*s'",
                    (int)(f->c.end - f->c.at < 20 ? f->c.end - f->c.at : 20), f->c.at);
    }
    return name_value(im, word, "");
}

static vtac_torch_value read_primary(vtac_torch *im, torch_frame *f)
{
    static const char end = '\n';
    bool comma;
    skip_blanks(&f->c);
    const char b = *(f->c.at < f->c.end ? f->c.at : &end);
    if (b == '"' || b == '\'') {
        return read_string(im, &f->c);
    }
    if ((b >= '0' && b <= '9') || b == '.') {
        return read_number(im, &f->c);
    }
    if (b == '-') {
        f->c.at++;
        const vtac_torch_value v = read_expression(im, f);
        vtac_torch_value out = vtac_torch_none;
        if (!vtac_torch_call_plain(im, "neg", &v, 1, &out)) {
            out = vtac_torch_call_op(im, "neg", &v, 1, NULL, 0);
        }
        return out;
    }
    if (b == '[' || b == '{') {
        f->c.at++;
        return read_items(im, f, b == '[' ? ']' : '}', b == '[' ? TORCH_LIST : TORCH_DICT, &comma);
    }
    if (b == '(') {
        f->c.at++;
        const vtac_torch_value v = read_items(im, f, ')', TORCH_TUPLE, &comma);
        return v.list->count == 1 && !comma ? v.list->items[0] : v;
    }
    return read_named(im, f);
}

/* ---- calls */

typedef struct torch_call {
    vtac_torch_value args[TORCH_MAX_INPUTS];
    vtac_torch_named named[TORCH_MAX_INPUTS];
    uint32_t count, named_count;
} torch_call;

static bool is_keyword(const torch_cursor *c)
{
    torch_cursor ahead = *c;
    skip_blanks(&ahead);
    const char *start = ahead.at;
    while (ahead.at < ahead.end && is_word_byte(*ahead.at)) {
        ahead.at++;
    }
    const bool word = ahead.at > start;
    skip_blanks(&ahead);
    return word && ahead.at + 1 < ahead.end && *ahead.at == '=' && ahead.at[1] != '=';
}

/* Arguments behind '(', with the ')'. */
static void read_arguments(vtac_torch *im, torch_frame *f, torch_call *call)
{
    f->c.nest++;
    while (!is_at(&f->c, ')') && count_step(im, &f->c)) {
        if (call->count == TORCH_MAX_INPUTS || call->named_count == TORCH_MAX_INPUTS) {
            refuse_code(im, &f->c, "a call with more than %d arguments", TORCH_MAX_INPUTS);
            break;
        }
        if (is_keyword(&f->c)) {
            vtac_torch_named *n = &call->named[call->named_count++];
            n->name = read_word(im, &f->c);
            expect_byte(im, &f->c, '=');
            n->value = read_expression(im, f);
        } else {
            call->args[call->count++] = read_expression(im, f);
        }
        if (!take_byte(&f->c, ',') && !is_at(&f->c, ')')) {
            expect_byte(im, &f->c, ')');
        }
    }
    f->c.nest -= f->c.nest > 0 ? 1 : 0;
    expect_byte(im, &f->c, ')');
}

/* annotate(T, v), unchecked_cast(T, v), uninitialized(T) */
static vtac_torch_value read_typed(vtac_torch *im, torch_frame *f)
{
    vtac_torch_value v = vtac_torch_none;
    f->c.nest++;
    skip_type(&f->c);
    if (take_byte(&f->c, ',')) {
        v = read_expression(im, f);
    }
    f->c.nest -= f->c.nest > 0 ? 1 : 0;
    expect_byte(im, &f->c, ')');
    return v;
}

/* True where a class of the archive is a tuple with names. */
static bool is_named_tuple(vtac_torch *im, const char *path)
{
    torch_cursor c;
    const char *dot = strrchr(path, '.');
    return dot != NULL && open_code(im, path, (size_t)(dot - path), &c) &&
           find_definition(im, &c, "class ", dot + 1, 0) && take_byte(&c, '(') && take_word(&c, "NamedTuple");
}

static vtac_torch_value call_own(vtac_torch *im, const char *path, const torch_call *call)
{
    torch_cursor def;
    if (find_code(im, path, NULL, &def)) {
        return call_function(im, &def, call->args, call->count, call->named, call->named_count);
    }
    if (is_named_tuple(im, path)) {
        return vtac_torch_list_value(im, TORCH_TUPLE, call->args, call->count);
    }
    vtac_make_fail(&im->maker, VTA_UNSUPPORTED,
                   "'%.200s' is called, which the archive does not define, or an object "
                   "of it made",
                   path);
    return vtac_torch_none;
}

/* "torch.add", "ops.aten.add": "add"; "ops.quantized.add": "quantized.add". */
static const char *plain_name(const char *name)
{
    static const char *const leads[] = {"torch.jit.", "torch.", "ops.aten.", "ops.", "math."};
    for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++) {
        if (strncmp(name, leads[i], strlen(leads[i])) == 0) {
            return name + strlen(leads[i]);
        }
    }
    return name;
}

static vtac_torch_value call_named(vtac_torch *im, const char *path, const torch_call *call)
{
    vtac_torch_value out = vtac_torch_none;
    const char *name = plain_name(path);
    if (im->maker.status != VTA_OK) {
        return out;
    }
    if (strcmp(name, "getattr") == 0 && call->count == 2 && call->args[0].kind == TORCH_OBJECT &&
        call->args[1].kind == TORCH_TEXT) {
        if (!vtac_torch_attribute(im, call->args[0].object, call->args[1].s, &out)) {
            vtac_make_fail(&im->maker, VTA_INVALID, "an object has no '%.60s'", call->args[1].s);
        }
        return out;
    }
    if (strncmp(path, "__torch__.", 10) == 0) {
        return call_own(im, path, call);
    }
    if (call->named_count == 0 && vtac_torch_call_plain(im, name, call->args, call->count, &out)) {
        return out;
    }
    if (strncmp(name, "__", 2) == 0 && strstr(name, "__is") == name) {
        return vtac_torch_bool(name[4] == 'n'); /* neither is None */
    }
    if (strcmp(name, "len") == 0 && call->count == 1 && call->args[0].kind == TORCH_NONE) {
        return vtac_torch_integer(0);
    }
    return vtac_torch_call_op(im, name, call->args, call->count, call->named, call->named_count);
}

static vtac_torch_value call_value(vtac_torch *im, torch_frame *f, const vtac_torch_value *what)
{
    torch_call call;
    if (what->kind == TORCH_NAME &&
        (strcmp(what->s, "annotate") == 0 || strcmp(what->s, "unchecked_cast") == 0 ||
         strcmp(what->s, "uninitialized") == 0)) {
        return read_typed(im, f);
    }
    call.count = 0;
    call.named_count = 0;
    read_arguments(im, f, &call);
    if (im->maker.status != VTA_OK) {
        return vtac_torch_none;
    }
    if (what->kind == TORCH_METHOD) {
        return call_method(im, what->method->object, what->method->name, call.args, call.count, call.named,
                           call.named_count);
    }
    if (what->kind == TORCH_NAME) {
        return call_named(im, what->s, &call);
    }
    refuse_code(im, &f->c, "a %s is called", vtac_torch_kind_name(what->kind));
    return vtac_torch_none;
}

/* ---- what stands behind a value */

static vtac_torch_value member_value(vtac_torch *im, torch_frame *f, const vtac_torch_value *of,
                                     const char *name)
{
    vtac_torch_value out;
    if (of->kind == TORCH_NAME && strcmp(of->s, "CONSTANTS") == 0) {
        const vtac_torch_value *all = &im->script->constants;
        const unsigned long i = name[0] == 'c' ? strtoul(name + 1, NULL, 10) : 0;
        if ((all->kind != TORCH_TUPLE && all->kind != TORCH_LIST) || i >= all->list->count) {
            refuse_code(im, &f->c, "constant '%.20s' is not in the archive", name);
            return vtac_torch_none;
        }
        return all->list->items[i];
    }
    if (of->kind == TORCH_NAME) {
        return name_value(im, of->s, name);
    }
    if (of->kind != TORCH_OBJECT) {
        refuse_code(im, &f->c, "'%.60s' of a %s", name, vtac_torch_kind_name(of->kind));
        return vtac_torch_none;
    }
    if (vtac_torch_attribute(im, of->object, name, &out)) {
        return out;
    }
    vtac_torch_method *method = vtac_make_room(&im->maker, 1, sizeof *method);
    if (method == NULL) {
        return vtac_torch_none;
    }
    *method = (vtac_torch_method){of->object, name};
    return (vtac_torch_value){.kind = TORCH_METHOD, .method = method};
}

/* [i] or [a:b], behind the '[' */
static vtac_torch_value read_subscript(vtac_torch *im, torch_frame *f, const vtac_torch_value *of)
{
    vtac_torch_value args[3] = {*of, vtac_torch_none, vtac_torch_none};
    vtac_torch_value out = vtac_torch_none;
    f->c.nest++;
    if (!is_at(&f->c, ':')) {
        args[1] = read_expression(im, f);
    }
    const bool range = take_byte(&f->c, ':');
    if (range && !is_at(&f->c, ']')) {
        args[2] = read_expression(im, f);
    }
    f->c.nest -= f->c.nest > 0 ? 1 : 0;
    expect_byte(im, &f->c, ']');
    if (im->maker.status == VTA_OK &&
        !vtac_torch_call_plain(im, range ? "slice" : "__getitem__", args, range ? 3 : 2, &out)) {
        refuse_code(im, &f->c, "an item of a %s", vtac_torch_kind_name(of->kind));
    }
    return out;
}

static vtac_torch_value read_expression(vtac_torch *im, torch_frame *f)
{
    im->depth++;
    vtac_torch_value v = count_step(im, &f->c) ? read_primary(im, f) : vtac_torch_none;
    while (im->maker.status == VTA_OK && count_step(im, &f->c)) {
        if (take_byte(&f->c, '.')) {
            v = member_value(im, f, &v, read_word(im, &f->c));
        } else if (take_byte(&f->c, '(')) {
            v = call_value(im, f, &v);
        } else if (take_byte(&f->c, '[')) {
            v = read_subscript(im, f, &v);
        } else {
            break;
        }
    }
    im->depth--;
    return v;
}

/* ---- statements */

/* A condition or a length, which must be known. */
static bool read_condition(vtac_torch *im, torch_frame *f)
{
    vtac_torch_value v = read_expression(im, f);
    if (im->maker.status == VTA_OK && v.kind == TORCH_TENSOR && !vtac_torch_item(im, v, &v)) {
        refuse_code(im, &f->c,
                    "an 'if' or a loop depends on what the run computes; that is not taken: export the model "
                    "as .onnx, which has both");
        return false;
    }
    if (im->maker.status == VTA_OK && !vtac_torch_is_number(&v)) {
        refuse_code(im, &f->c, "a condition that is a %s", vtac_torch_kind_name(v.kind));
        return false;
    }
    return im->maker.status == VTA_OK && vtac_torch_number(&v) != 0.0;
}

static void skip_block(vtac_torch *im, torch_cursor *c, size_t indent)
{
    uint32_t lines = 0;
    for (size_t own = line_indent(c); own != SIZE_MAX && own > indent; own = line_indent(c)) {
        skip_line(c);
        lines++;
    }
    im->steps += lines / COSTLY;
}

static void run_if(vtac_torch *im, torch_frame *f, size_t indent)
{
    const bool yes = read_condition(im, f);
    expect_byte(im, &f->c, ':');
    skip_line(&f->c);
    if (yes) {
        run_block(im, f, indent + 1);
    } else {
        skip_block(im, &f->c, indent);
    }
    if (f->returned || im->maker.status != VTA_OK || line_indent(&f->c) != indent) {
        return;
    }
    torch_cursor ahead = f->c;
    if (take_word(&ahead, "else") && take_byte(&ahead, ':')) {
        f->c = ahead;
        skip_line(&f->c);
        if (yes) {
            skip_block(im, &f->c, indent);
        } else {
            run_block(im, f, indent + 1);
        }
    }
}

/* for NAME in range(N): */
static void run_for(vtac_torch *im, torch_frame *f, size_t indent)
{
    const char *name = read_word(im, &f->c);
    vtac_torch_value n = vtac_torch_none;
    if (take_word(&f->c, "in") && take_word(&f->c, "range")) {
        n = read_expression(im, f);
    }
    if (n.kind == TORCH_TENSOR) {
        (void)vtac_torch_item(im, n, &n);
    }
    if (n.kind != TORCH_INT) {
        refuse_code(im, &f->c, "a loop whose length is not known");
    }
    expect_byte(im, &f->c, ':');
    skip_line(&f->c);
    const torch_cursor body = f->c;
    for (int64_t i = 0; i < n.i && im->maker.status == VTA_OK && !f->returned; i++) {
        f->c = body;
        (void)count_step(im, &f->c);
        set_variable(im, f, name, vtac_torch_integer(i));
        run_block(im, f, indent + 1);
    }
    if (im->maker.status == VTA_OK && !f->returned) {
        f->c = body;
        skip_block(im, &f->c, indent);
    }
}

static void run_while(vtac_torch *im, torch_frame *f, size_t indent)
{
    const torch_cursor head = f->c;
    while (read_condition(im, f) && !f->returned) {
        expect_byte(im, &f->c, ':');
        skip_line(&f->c);
        run_block(im, f, indent + 1);
        if (im->maker.status != VTA_OK || f->returned || !count_step(im, &f->c)) {
            return;
        }
        f->c = head;
    }
    skip_line(&f->c);
    skip_block(im, &f->c, indent);
}

/* The words before '=', with commas; `count` 0: the statement assigns nothing. */
static uint32_t read_targets(vtac_torch *im, torch_cursor *c, const char **names, uint32_t max)
{
    torch_cursor ahead = *c;
    uint32_t count = 0;
    do {
        skip_blanks(&ahead);
        if (ahead.at < ahead.end && *ahead.at == '=') {
            break; /* a comma stood behind the last name */
        }
        names[count] = read_word(im, &ahead);
        if (names[count][0] == '\0') {
            return 0;
        }
        count++;
    } while (count < max && take_byte(&ahead, ','));
    if (take_byte(&ahead, ':')) {
        skip_type(&ahead);
    }
    if (ahead.at + 1 >= ahead.end || !is_at(&ahead, '=') || ahead.at[1] == '=') {
        return 0;
    }
    ahead.at++;
    *c = ahead;
    return count;
}

/* An expression, or several with commas between them: a tuple. */
static vtac_torch_value read_values(vtac_torch *im, torch_frame *f)
{
    const vtac_torch_value first = read_expression(im, f);
    if (im->maker.status != VTA_OK || !is_at(&f->c, ',')) {
        return first;
    }
    const vtac_torch_value out = vtac_torch_list_value(im, TORCH_TUPLE, &first, 1);
    while (take_byte(&f->c, ',') && !is_at(&f->c, '\n') && count_step(im, &f->c)) {
        vtac_torch_append(im, out.list, read_expression(im, f));
    }
    return out;
}

static void assign_values(vtac_torch *im, torch_frame *f, const char *const *names, uint32_t count,
                          bool several)
{
    const vtac_torch_value v = read_values(im, f);
    if (im->maker.status != VTA_OK) {
        return;
    }
    if (!several) {
        set_variable(im, f, names[0], v);
        return;
    }
    const bool is_list = v.kind == TORCH_TUPLE || v.kind == TORCH_LIST;
    if (!is_list || v.list->count != count) {
        refuse_code(im, &f->c, "%u names for a %s of %u", count, vtac_torch_kind_name(v.kind),
                    is_list ? v.list->count : 1);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        set_variable(im, f, names[i], v.list->items[i]);
    }
}

/* self.NAME = …; false: it is no such statement. */
static bool assign_attribute(vtac_torch *im, torch_frame *f)
{
    torch_cursor ahead = f->c;
    const char *object = read_word(im, &ahead);
    const vtac_torch_value *v = find_variable(im, f, object);
    if (v == NULL || v->kind != TORCH_OBJECT || !take_byte(&ahead, '.')) {
        return false;
    }
    vtac_torch_object *to = v->object;
    const char *name = read_word(im, &ahead);
    if (name[0] == '\0' || !is_at(&ahead, '=') || (ahead.at + 1 < ahead.end && ahead.at[1] == '=')) {
        return false;
    }
    f->c = ahead;
    f->c.at++;
    set_attribute(im, to, name, read_expression(im, f));
    return true;
}

enum { MAX_TARGETS = 256 };

static void run_plain(vtac_torch *im, torch_frame *f)
{
    const char *names[MAX_TARGETS];
    const char *start = f->c.at;
    const uint32_t count = read_targets(im, &f->c, names, MAX_TARGETS);
    if (count > 0) {
        const bool several = memchr(start, ',', (size_t)(f->c.at - start)) != NULL &&
                             (count > 1 || memchr(start, ':', (size_t)(f->c.at - start)) == NULL);
        assign_values(im, f, names, count, several);
    } else if (!assign_attribute(im, f)) {
        (void)read_expression(im, f);
    }
    skip_blanks(&f->c);
    if (im->maker.status == VTA_OK && f->c.at < f->c.end && *f->c.at != '\n' && *f->c.at != '\r') {
        refuse_code(im, &f->c, "'%.*s' is not taken",
                    (int)(f->c.end - f->c.at < 20 ? f->c.end - f->c.at : 20), f->c.at);
    }
    skip_line(&f->c);
}

/* Says once where a failure lies. */
static void place_failure(vtac_torch *im, const torch_cursor *c, const char *at)
{
    unsigned line = 1;
    if (im->maker.status == VTA_OK || im->script->placed || im->again) {
        return;
    }
    for (const char *b = c->begin; b < at; b++) {
        line += *b == '\n';
    }
    im->script->placed = true;
    (void)vta_context(im->maker.diag, "'%.200s', line %u", c->file, line);
}

static void run_statement(vtac_torch *im, torch_frame *f, size_t indent)
{
    if (take_word(&f->c, "return")) {
        skip_blanks(&f->c);
        f->result = f->c.at < f->c.end && *f->c.at != '\n' ? read_values(im, f) : vtac_torch_none;
        f->returned = true;
    } else if (take_word(&f->c, "if")) {
        run_if(im, f, indent);
    } else if (take_word(&f->c, "for")) {
        run_for(im, f, indent);
    } else if (take_word(&f->c, "while")) {
        run_while(im, f, indent);
    } else if (take_word(&f->c, "pass")) {
        skip_line(&f->c);
    } else {
        run_plain(im, f);
    }
}

/* The lines that are at least so deep. */
static void run_block(vtac_torch *im, torch_frame *f, size_t indent)
{
    im->depth++;
    while (!f->returned && count_step(im, &f->c)) {
        const size_t own = line_indent(&f->c);
        if (own == SIZE_MAX || own < indent) {
            break;
        }
        const char *start = f->c.at += own;
        run_statement(im, f, own);
        place_failure(im, &f->c, start);
    }
    im->depth--;
}

/* ---- functions */

/* Parameters behind '(': names, and the values of those that are not given. */
static void bind_parameters(vtac_torch *im, torch_frame *f, const vtac_torch_value *args, uint32_t count,
                            const vtac_torch_named *named, uint32_t named_count)
{
    uint32_t i = 0;
    expect_byte(im, &f->c, '(');
    f->c.nest = 1;
    while (!is_at(&f->c, ')') && count_step(im, &f->c)) {
        const char *name = read_word(im, &f->c);
        vtac_torch_value value = vtac_torch_none;
        bool given = i < count;
        skip_type(&f->c);
        if (take_byte(&f->c, '=')) {
            value = read_expression(im, f);
            given = true;
        }
        value = i < count ? args[i] : value;
        for (uint32_t k = 0; k < named_count; k++) {
            const bool own = strcmp(named[k].name, name) == 0;
            value = own ? named[k].value : value;
            given = given || own;
        }
        if (!given) {
            refuse_code(im, &f->c, "the argument '%.60s' is not given", name);
        }
        set_variable(im, f, name, value);
        i++;
        (void)take_byte(&f->c, ',');
    }
    f->c.nest = 0;
}

static vtac_torch_value call_function(vtac_torch *im, const torch_cursor *def, const vtac_torch_value *args,
                                      uint32_t count, const vtac_torch_named *named, uint32_t named_count)
{
    torch_frame *f = vtac_make_room(&im->maker, 1, sizeof *f);
    if (f == NULL) {
        return vtac_torch_none;
    }
    im->depth += 4;
    f->c = *def;
    bind_parameters(im, f, args, count, named, named_count);
    skip_line(&f->c);
    const size_t indent = line_indent(&f->c);
    if (indent != SIZE_MAX && indent > 0) {
        run_block(im, f, indent);
    }
    im->depth -= 4;
    return f->result;
}

/* ---- the program */

typedef struct torch_ends {
    vtac_torch_value args[TORCH_MAX_INPUTS];
    vtac_torch_named named[TORCH_MAX_INPUTS];
    uint32_t count;
    char missing[300];
    const char *first; /* of those */
} torch_ends;

/* An input for a parameter that is a tensor. What has a value of its own needs none. */
static void read_parameter(vtac_torch *im, torch_frame *f, torch_ends *ends)
{
    const char *name = read_word(im, &f->c);
    (void)take_byte(&f->c, ':');
    skip_blanks(&f->c);
    const char *type = f->c.at;
    skip_type(&f->c);
    const size_t length = (size_t)(f->c.at - type);
    const bool tensor = length == 6 && memcmp(type, "Tensor", 6) == 0;
    const bool maybe = length == 16 && memcmp(type, "Optional[Tensor]", 16) == 0;
    bool own = false;
    if (take_byte(&f->c, '=')) {
        (void)read_expression(im, f);
        own = true;
    }
    vtac_torch_named *n = &ends->named[ends->count];
    if ((tensor || maybe) && vtac_import_shape(im->options, name) != NULL) {
        *n = (vtac_torch_named){name, vtac_torch_input(im, name, NULL)};
        ends->count++;
    } else if (maybe && !own) {
        *n = (vtac_torch_named){name, vtac_torch_none};
        ends->count++;
    } else if (tensor) {
        const size_t used = strlen(ends->missing);
        ends->first = used == 0 ? name : ends->first;
        (void)snprintf(ends->missing + used, sizeof ends->missing - used, "%s'%.60s'", used == 0 ? "" : ", ",
                       name);
    } else if (!own) {
        vtac_make_fail(&im->maker, VTA_UNSUPPORTED,
                       "input '%.60s' is of type %.*s; tensors are taken: trace the model, or give the "
                       "argument a default",
                       name, (int)(length < 60 ? length : 60), type);
    }
}

/* One input for each parameter behind the first, which is the object. */
static void read_parameters(vtac_torch *im, const torch_cursor *def, torch_ends *ends)
{
    torch_frame f = {.c = *def};
    expect_byte(im, &f.c, '(');
    f.c.nest = 1;
    for (uint32_t i = 0; !is_at(&f.c, ')') && count_step(im, &f.c); i++) {
        if (i == 0) {
            (void)read_word(im, &f.c);
            skip_type(&f.c);
        } else if (ends->count < TORCH_MAX_INPUTS - 1) {
            read_parameter(im, &f, ends);
        } else {
            refuse_code(im, &f.c, "more than %d inputs", TORCH_MAX_INPUTS - 2);
        }
        (void)take_byte(&f.c, ',');
    }
    if (im->maker.status == VTA_OK && ends->missing[0] != '\0') {
        vtac_make_fail(&im->maker, VTA_INVALID,
                       "a TorchScript holds no shapes of its inputs: give one for %s, as in --shape "
                       "%.60s=1x3x224x224",
                       ends->missing, ends->first);
    }
}

/* The operator that is called at a place of code: "torch.NAME(" or "ops.SPACE.NAME(". False: none. */
static bool operator_at(const torch_cursor *c, char *name, size_t size)
{
    torch_cursor ahead = *c;
    const bool begins = c->at == c->begin || (!is_word_byte(c->at[-1]) && c->at[-1] != '.');
    if (!begins || (!take_word(&ahead, "torch") && !take_word(&ahead, "ops")) || ahead.at == ahead.end ||
        *ahead.at != '.') {
        return false;
    }
    while (ahead.at < ahead.end && (is_word_byte(*ahead.at) || *ahead.at == '.')) {
        ahead.at++;
    }
    (void)snprintf(name, size, "%.*s", (int)(ahead.at - c->at < 90 ? ahead.at - c->at : 90), c->at);
    return ahead.at < ahead.end && *ahead.at == '(';
}

static bool names_item(const char *list, const char *name)
{
    const size_t length = strlen(name);
    if (length == 0) { /* "torch.(" names nothing */
        return true;
    }
    for (const char *at = strstr(list, name); at != NULL; at = strstr(at + 1, name)) {
        if ((at == list || at[-1] == ' ') && (at[length] == ',' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

void vtac_torch_list_unknown(const vtac_torch *im, char *list, size_t size)
{
    char name[100];
    for (uint32_t i = 0; i < im->archive.count; i++) {
        const vtac_zip_member *m = &im->archive.members[i];
        const size_t length = strlen(m->name);
        const char *text = (const char *)m->bytes;
        torch_cursor c = {.at = text, .begin = text, .end = text + m->size};
        for (; length > 3 && strcmp(m->name + length - 3, ".py") == 0 && c.at < c.end; c.at++) {
            if ((*c.at != 't' && *c.at != 'o') || !operator_at(&c, name, sizeof name)) {
                continue;
            }
            const char *plain = plain_name(name);
            const size_t used = strlen(list);
            if (!vtac_torch_is_known(plain) && !names_item(list, plain) && used + strlen(plain) + 3 < size) {
                (void)snprintf(list + used, size - used, "%s%s", used == 0 ? "" : ", ", plain);
            }
        }
    }
}

void vtac_torch_run_script(vtac_torch *im)
{
    struct vtac_torch_script script = {.placed = false};
    torch_cursor def;
    im->script = &script;
    const vtac_torch_value root = vtac_torch_unpickle(im, &im->archive, "data.pkl", "data");
    if (vtac_torch_member(im, &im->archive, "constants.pkl") != NULL) {
        script.constants = vtac_torch_unpickle(im, &im->archive, "constants.pkl", "constants");
    }
    if (im->maker.status != VTA_OK) {
        return;
    }
    if (root.kind != TORCH_OBJECT || !find_code(im, root.object->class, "forward", &def)) {
        vtac_make_fail(&im->maker, VTA_INVALID, "its first object is no module with a method 'forward'");
        return;
    }
    torch_ends *ends = vtac_make_room(&im->maker, 1, sizeof *ends);
    if (ends == NULL) {
        return;
    }
    read_parameters(im, &def, ends);
    if (im->maker.status != VTA_OK) {
        return;
    }
    const vtac_torch_value out = call_function(im, &def, &root, 1, ends->named, ends->count);
    if (im->maker.status == VTA_OK) {
        vtac_torch_output(im, &out, "output");
    }
}
