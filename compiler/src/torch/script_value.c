/* SPDX-License-Identifier: Apache-2.0
 *
 * See script.h: variables, attributes, expressions and calls.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"

/* ---- variables and attributes */

vtac_torch_value *vtac_script_find_variable(vtac_torch *im, const torch_frame *f, const char *name)
{
    im->steps += f->variables.count / TORCH_COSTLY;
    for (uint32_t i = f->variables.count; i >= 2; i -= 2) {
        if (strcmp(f->variables.items[i - 2].s, name) == 0) {
            return &f->variables.items[i - 1];
        }
    }
    return NULL;
}

void vtac_script_set_variable(vtac_torch *im, torch_frame *f, const char *name, vtac_torch_value value)
{
    vtac_torch_value *old = vtac_script_find_variable(im, f, name);
    if (old != NULL) {
        *old = value;
        return;
    }
    vtac_torch_append(im, &f->variables, vtac_torch_string(name));
    vtac_torch_append(im, &f->variables, value);
}

static vtac_torch_value call_method(vtac_torch *im, vtac_torch_object *object, const char *name,
                                    const vtac_torch_value *args, uint32_t count,
                                    const vtac_torch_named *named, uint32_t named_count)
{
    vtac_torch_value all[TORCH_MAX_INPUTS] = {{.kind = TORCH_OBJECT, .object = object}};
    torch_cursor def;
    if (count + 1 > TORCH_MAX_INPUTS || !vtac_script_find_code(im, object->class, name, &def)) {
        vtac_make_fail(&im->maker, VTA_UNSUPPORTED, "class '%.200s' has no method '%.60s' in the archive",
                       object->class, name);
        return vtac_torch_none;
    }
    for (uint32_t i = 0; i < count; i++) {
        all[i + 1] = args[i];
    }
    return vtac_script_call_function(im, &def, all, count + 1, named, named_count);
}

bool vtac_torch_attribute(vtac_torch *im, vtac_torch_object *object, const char *name, vtac_torch_value *out)
{
    torch_cursor unused;
    if (!object->ready && object->state.kind != TORCH_NONE) {
        object->ready = true;
        if (vtac_script_find_code(im, object->class, "__setstate__", &unused)) {
            (void)call_method(im, object, "__setstate__", &object->state, 1, NULL, 0);
        }
    }
    const vtac_torch_value *found = vtac_torch_look_up(object->attrs, name);
    *out = found == NULL ? vtac_torch_none : *found;
    return found != NULL;
}

void vtac_script_set_attribute(vtac_torch *im, vtac_torch_object *object, const char *name,
                               vtac_torch_value value)
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
           (vtac_script_is_word_byte(*c->at) || *c->at == '.' ||
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
        vtac_script_refuse_code(im, c, "'%.20s' is no number", text);
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
    while (!vtac_script_is_at(&f->c, close) && vtac_script_count_step(im, &f->c)) {
        vtac_torch_append(im, out.list, vtac_script_read_expression(im, f));
        *comma = vtac_script_take_byte(&f->c, kind == TORCH_DICT && out.list->count % 2 == 1 ? ':' : ',');
        if (!*comma && !vtac_script_is_at(&f->c, close)) {
            vtac_script_expect_byte(im, &f->c, close);
        }
    }
    f->c.nest -= f->c.nest > 0 ? 1 : 0;
    vtac_script_expect_byte(im, &f->c, close);
    return out;
}

/* A name: a variable, a constant of the language, or the beginning of a path. */
static vtac_torch_value read_named(vtac_torch *im, torch_frame *f)
{
    const char *word = vtac_script_read_word(im, &f->c);
    const vtac_torch_value *variable = vtac_script_find_variable(im, f, word);
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
        vtac_script_refuse_code(im, &f->c, "a value is expected before '%.*s'",
                                (int)(f->c.end - f->c.at < 20 ? f->c.end - f->c.at : 20), f->c.at);
    }
    return name_value(im, word, "");
}

static vtac_torch_value read_primary(vtac_torch *im, torch_frame *f)
{
    static const char end = '\n';
    bool comma;
    vtac_script_skip_blanks(&f->c);
    const char b = *(f->c.at < f->c.end ? f->c.at : &end);
    if (b == '"' || b == '\'') {
        return read_string(im, &f->c);
    }
    if ((b >= '0' && b <= '9') || b == '.') {
        return read_number(im, &f->c);
    }
    if (b == '-') {
        f->c.at++;
        const vtac_torch_value v = vtac_script_read_expression(im, f);
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
    vtac_script_skip_blanks(&ahead);
    const char *start = ahead.at;
    while (ahead.at < ahead.end && vtac_script_is_word_byte(*ahead.at)) {
        ahead.at++;
    }
    const bool word = ahead.at > start;
    vtac_script_skip_blanks(&ahead);
    return word && ahead.at + 1 < ahead.end && *ahead.at == '=' && ahead.at[1] != '=';
}

/* Arguments behind '(', with the ')'. */
static void read_arguments(vtac_torch *im, torch_frame *f, torch_call *call)
{
    f->c.nest++;
    while (!vtac_script_is_at(&f->c, ')') && vtac_script_count_step(im, &f->c)) {
        if (call->count == TORCH_MAX_INPUTS || call->named_count == TORCH_MAX_INPUTS) {
            vtac_script_refuse_code(im, &f->c, "a call with more than %d arguments", TORCH_MAX_INPUTS);
            break;
        }
        if (is_keyword(&f->c)) {
            vtac_torch_named *n = &call->named[call->named_count++];
            n->name = vtac_script_read_word(im, &f->c);
            vtac_script_expect_byte(im, &f->c, '=');
            n->value = vtac_script_read_expression(im, f);
        } else {
            call->args[call->count++] = vtac_script_read_expression(im, f);
        }
        if (!vtac_script_take_byte(&f->c, ',') && !vtac_script_is_at(&f->c, ')')) {
            vtac_script_expect_byte(im, &f->c, ')');
        }
    }
    f->c.nest -= f->c.nest > 0 ? 1 : 0;
    vtac_script_expect_byte(im, &f->c, ')');
}

/* annotate(T, v), unchecked_cast(T, v), uninitialized(T) */
static vtac_torch_value read_typed(vtac_torch *im, torch_frame *f)
{
    vtac_torch_value v = vtac_torch_none;
    f->c.nest++;
    vtac_script_skip_type(&f->c);
    if (vtac_script_take_byte(&f->c, ',')) {
        v = vtac_script_read_expression(im, f);
    }
    f->c.nest -= f->c.nest > 0 ? 1 : 0;
    vtac_script_expect_byte(im, &f->c, ')');
    return v;
}

/* True where a class of the archive is a tuple with names. */
static bool is_named_tuple(vtac_torch *im, const char *path)
{
    torch_cursor c;
    const char *dot = strrchr(path, '.');
    return dot != NULL && vtac_script_open_code(im, path, (size_t)(dot - path), &c) &&
           vtac_script_find_definition(im, &c, "class ", dot + 1, 0) && vtac_script_take_byte(&c, '(') &&
           vtac_script_take_word(&c, "NamedTuple");
}

static vtac_torch_value call_own(vtac_torch *im, const char *path, const torch_call *call)
{
    torch_cursor def;
    if (vtac_script_find_code(im, path, NULL, &def)) {
        return vtac_script_call_function(im, &def, call->args, call->count, call->named, call->named_count);
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

const char *vtac_script_plain_name(const char *name)
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
    const char *name = vtac_script_plain_name(path);
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
    vtac_script_refuse_code(im, &f->c, "a %s is called", vtac_torch_kind_name(what->kind));
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
            vtac_script_refuse_code(im, &f->c, "constant '%.20s' is not in the archive", name);
            return vtac_torch_none;
        }
        return all->list->items[i];
    }
    if (of->kind == TORCH_NAME) {
        return name_value(im, of->s, name);
    }
    if (of->kind != TORCH_OBJECT) {
        vtac_script_refuse_code(im, &f->c, "'%.60s' of a %s", name, vtac_torch_kind_name(of->kind));
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
    if (!vtac_script_is_at(&f->c, ':')) {
        args[1] = vtac_script_read_expression(im, f);
    }
    const bool range = vtac_script_take_byte(&f->c, ':');
    if (range && !vtac_script_is_at(&f->c, ']')) {
        args[2] = vtac_script_read_expression(im, f);
    }
    f->c.nest -= f->c.nest > 0 ? 1 : 0;
    vtac_script_expect_byte(im, &f->c, ']');
    if (im->maker.status == VTA_OK &&
        !vtac_torch_call_plain(im, range ? "slice" : "__getitem__", args, range ? 3 : 2, &out)) {
        vtac_script_refuse_code(im, &f->c, "an item of a %s", vtac_torch_kind_name(of->kind));
    }
    return out;
}

vtac_torch_value vtac_script_read_expression(vtac_torch *im, torch_frame *f)
{
    im->depth++;
    vtac_torch_value v = vtac_script_count_step(im, &f->c) ? read_primary(im, f) : vtac_torch_none;
    while (im->maker.status == VTA_OK && vtac_script_count_step(im, &f->c)) {
        if (vtac_script_take_byte(&f->c, '.')) {
            v = member_value(im, f, &v, vtac_script_read_word(im, &f->c));
        } else if (vtac_script_take_byte(&f->c, '(')) {
            v = call_value(im, f, &v);
        } else if (vtac_script_take_byte(&f->c, '[')) {
            v = read_subscript(im, f, &v);
        } else {
            break;
        }
    }
    im->depth--;
    return v;
}
