/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "vta/fail.h"

vtac_term vtac_run_fail(vtac_compose_run *r, const vtac_syntax *at, const char *format, ...)
{
    if (r->status == VTA_OK) {
        char text[256];
        va_list args;
        va_start(args, format);
        (void)vsnprintf(text, sizeof text, format, args);
        va_end(args);
        r->status = vtac_template_fault(r->text->row, at, r->target->diag, "%s", text);
    }
    return (vtac_term){0};
}

/* ---- names */

static const vtac_binding *find_name(const vtac_compose_run *r, const char *name)
{
    const vtac_binding *b = r->names;
    while (b != NULL && strcmp(b->name, name) != 0) {
        b = b->next;
    }
    return b;
}

static void bind_name(vtac_compose_run *r, const char *name, vtac_term term)
{
    vtac_binding *b = r->names;
    while (b != NULL && strcmp(b->name, name) != 0) {
        b = b->next;
    }
    if (b == NULL) {
        b = vta_arena_alloc(r->arena, sizeof *b);
        if (b == NULL) {
            r->status = vta_no_memory(r->target->diag);
            return;
        }
        b->name = name;
        b->next = r->names;
        r->names = b;
    }
    b->term = term;
}

static vtac_term evaluate_name(vtac_compose_run *r, const vtac_syntax *s)
{
    const vtac_binding *b = find_name(r, s->name);
    const vtac_dtype type = b == NULL ? vtac_dtype_parse(s->name) : VTAC_NO_DTYPE;
    return b != NULL                       ? b->term
           : strcmp(s->name, "open") == 0  ? vtac_term_truth(r->target->open)
           : strcmp(s->name, "inf") == 0   ? vtac_term_real(HUGE_VAL)
           : strcmp(s->name, "true") == 0  ? vtac_term_truth(true)
           : strcmp(s->name, "false") == 0 ? vtac_term_truth(false)
           : strcmp(s->name, "none") == 0  ? (vtac_term){0}
           : type != VTAC_NO_DTYPE         ? vtac_term_type(type)
                                           : vtac_run_fail(r, s, "'%s' has no value here", s->name);
}

vtac_handle vtac_run_size(vtac_compose_run *r, vtac_handle of, int64_t axis, vtac_handle size)
{
    for (const vtac_open_size *one = *r->sizes; one != NULL; one = one->next) {
        if (one->of == of && one->axis == axis) {
            return one->size;
        }
    }
    vtac_open_size *new = size == 0 ? NULL : vta_arena_alloc(r->arena, sizeof *new);
    if (new != NULL) {
        *new = (vtac_open_size){of, size, axis, *r->sizes};
        *r->sizes = new;
    }
    return size;
}

/* ---- truths */

/* True where a condition holds; a size that only the run knows decides nothing. */
static bool holds(vtac_compose_run *r, const vtac_syntax *at, const vtac_term *t)
{
    switch (t->kind) {
    case VTAC_TERM_NONE: return false;
    case VTAC_TERM_VALUE:
    case VTAC_TERM_TYPE: return true;
    case VTAC_TERM_REAL: return t->real != 0.0;
    case VTAC_TERM_TEXT: return t->text[0] != '\0';
    case VTAC_TERM_LIST: return t->count > 0;
    case VTAC_TERM_WHOLE:
    case VTAC_TERM_TRUTH: break;
    }
    if (!t->known) {
        (void)vtac_run_fail(r, at, "a size that only the run knows decides nothing");
    }
    return t->whole != 0;
}

/* a and b, a or b: of values the operator of that name; b is not looked at where a decides. */
static vtac_term evaluate_logic(vtac_compose_run *r, const vtac_syntax *s)
{
    const vtac_term a = vtac_run_evaluate(r, s->first);
    if (r->status != VTA_OK) {
        return a;
    }
    if (a.kind == VTAC_TERM_VALUE) {
        return vtac_run_binary(r, s, a, vtac_run_evaluate(r, s->first->next));
    }
    if (a.kind == VTAC_TERM_TRUTH && !a.known) {
        return a;
    }
    if (holds(r, s, &a) == (s->mark == 'o')) {
        return vtac_term_truth(s->mark == 'o');
    }
    return vtac_run_evaluate(r, s->first->next);
}

static vtac_term evaluate_unary(vtac_compose_run *r, const vtac_syntax *s)
{
    const vtac_term a = vtac_run_evaluate(r, s->first);
    if (r->status != VTA_OK || s->mark == '-' || a.kind == VTAC_TERM_VALUE) {
        return r->status == VTA_OK ? vtac_run_unary(r, s, a) : a;
    }
    return a.kind == VTAC_TERM_TRUTH && !a.known ? a : vtac_term_truth(!holds(r, s, &a));
}

/* ---- expressions */

static vtac_term evaluate_list(vtac_compose_run *r, const vtac_syntax *s)
{
    uint32_t count = 0;
    for (const vtac_syntax *item = s->first; item != NULL; item = item->next) {
        count++;
    }
    vtac_term *items = vta_arena_array(r->arena, count, sizeof *items);
    if (items == NULL) {
        r->status = vta_no_memory(r->target->diag);
        return (vtac_term){0};
    }
    count = 0;
    for (const vtac_syntax *item = s->first; item != NULL && r->status == VTA_OK; item = item->next) {
        items[count++] = vtac_run_evaluate(r, item);
    }
    return (vtac_term){.kind = VTAC_TERM_LIST, .items = items, .count = count};
}

static vtac_term evaluate_item(vtac_compose_run *r, const vtac_syntax *s)
{
    const vtac_term list = vtac_run_evaluate(r, s->first);
    const vtac_term at = vtac_run_evaluate(r, s->first->next);
    if (r->status != VTA_OK) {
        return list;
    }
    if (list.kind != VTAC_TERM_LIST || at.kind != VTAC_TERM_WHOLE || !at.known || at.whole < 0 ||
        at.whole >= (int64_t)list.count) {
        return vtac_run_fail(r, s, "there is no such place of a list");
    }
    return list.items[at.whole];
}

static vtac_term evaluate_choice(vtac_compose_run *r, const vtac_syntax *s)
{
    const vtac_term condition = vtac_run_evaluate(r, s->first);
    const bool first = r->status == VTA_OK && holds(r, s, &condition);
    return vtac_run_evaluate(r, first ? s->first->next : s->first->next->next);
}

vtac_term vtac_run_evaluate(vtac_compose_run *r, const vtac_syntax *s)
{
    vtac_term out = {0};
    if (r->status != VTA_OK) {
        return out;
    }
    switch (s->kind) {
    case VTAC_SYNTAX_WHOLE: return vtac_term_whole(s->whole);
    case VTAC_SYNTAX_REAL: return vtac_term_real(s->real);
    case VTAC_SYNTAX_TEXT: return (vtac_term){.kind = VTAC_TERM_TEXT, .known = true, .text = s->name};
    case VTAC_SYNTAX_LIST: return evaluate_list(r, s);
    case VTAC_SYNTAX_NAME: return evaluate_name(r, s);
    case VTAC_SYNTAX_ITEM: return evaluate_item(r, s);
    case VTAC_SYNTAX_UNARY: return evaluate_unary(r, s);
    case VTAC_SYNTAX_CHOICE: return evaluate_choice(r, s);
    case VTAC_SYNTAX_CALL: vtac_run_call(r, s, &out, 1); return out;
    case VTAC_SYNTAX_BINARY:
        if (s->mark == 'a' || s->mark == 'o') {
            return evaluate_logic(r, s);
        }
        out = vtac_run_evaluate(r, s->first);
        return vtac_run_binary(r, s, out, vtac_run_evaluate(r, s->first->next));
    case VTAC_SYNTAX_NAMED:
    case VTAC_SYNTAX_ASSIGN:
    case VTAC_SYNTAX_IF:
    case VTAC_SYNTAX_FOR:
    case VTAC_SYNTAX_EXPECT:
    case VTAC_SYNTAX_SUPPORT:
    case VTAC_SYNTAX_BLOCK: break;
    }
    return vtac_run_fail(r, s, "this is no value");
}

/* ---- calls */

/* An attribute of a node from a term; false: it has none. */
static bool attribute_of(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *t, vtac_attr *out)
{
    *out = (vtac_attr){.name = s->name, .kind = VTAC_ATTR_INT};
    switch (t->kind) {
    case VTAC_TERM_NONE:
    case VTAC_TERM_VALUE: break;
    case VTAC_TERM_WHOLE:
    case VTAC_TERM_TRUTH: out->i = t->whole; break;
    case VTAC_TERM_REAL:
        out->kind = VTAC_ATTR_FLOAT;
        out->f = t->real;
        break;
    case VTAC_TERM_TEXT:
        out->kind = VTAC_ATTR_STRING;
        out->s = t->text;
        break;
    case VTAC_TERM_TYPE:
        out->kind = VTAC_ATTR_STRING;
        out->s = vtac_dtype_name(t->type);
        break;
    case VTAC_TERM_LIST: {
        int64_t *ints = vta_arena_array(r->arena, t->count, sizeof *ints);
        for (uint32_t i = 0; ints != NULL && i < t->count; i++) {
            ints[i] = t->items[i].whole;
        }
        out->kind = VTAC_ATTR_INTS;
        out->ints = ints;
        out->count = t->count;
        break;
    }
    }
    if (t->kind == VTAC_TERM_VALUE || (t->kind == VTAC_TERM_WHOLE && !t->known)) {
        (void)vtac_run_fail(r, s, "the attribute '%s' is known at run time only", s->name);
    }
    return t->kind != VTAC_TERM_NONE && r->status == VTA_OK;
}

static bool is_declared(const vtac_compose_run *r, const char *name)
{
    const vtac_syntax *a = r->text->attrs;
    while (a != NULL && strcmp(a->name, name) != 0) {
        a = a->next;
    }
    return a != NULL;
}

/* The attributes that `...` hands on: those of the operator that its header does not name. */
static uint32_t hand_on(const vtac_compose_run *r, vtac_attr *attrs, uint32_t room)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->target->all_attr_count && count < room; i++) {
        if (!is_declared(r, r->target->all_attrs[i].name)) {
            attrs[count++] = r->target->all_attrs[i];
        }
    }
    return count;
}

typedef struct call_parts {
    vtac_term *inputs;
    vtac_attr attrs[64];
    uint32_t input_count, attr_count, room;
} call_parts;

static bool is_spread(const vtac_term *t)
{
    return t->kind == VTAC_TERM_LIST && t->count > 0 && t->items[0].kind == VTAC_TERM_VALUE;
}

static void append_input(vtac_compose_run *r, const vtac_syntax *s, call_parts *parts, vtac_term t)
{
    const uint32_t more = is_spread(&t) ? t.count : 1;
    if (parts->input_count + more > VTAC_COMPOSE_ITEMS) {
        (void)vtac_run_fail(r, s, "it has more than %d inputs", VTAC_COMPOSE_ITEMS);
        return;
    }
    if (parts->input_count + more > parts->room) {
        const uint32_t room = 2 * parts->room + more + 4;
        vtac_term *inputs = vta_arena_array(r->arena, room, sizeof *inputs);
        if (inputs == NULL) {
            r->status = vta_no_memory(r->target->diag);
            return;
        }
        if (parts->input_count > 0) {
            memcpy(inputs, parts->inputs, parts->input_count * sizeof *inputs);
        }
        parts->inputs = inputs;
        parts->room = room;
    }
    memcpy(parts->inputs + parts->input_count, is_spread(&t) ? t.items : &t, more * sizeof t);
    parts->input_count += more;
}

static void gather_parts(vtac_compose_run *r, const vtac_syntax *s, call_parts *parts)
{
    bool has_zero = false;
    for (const vtac_syntax *a = s->first; a != NULL && r->status == VTA_OK; a = a->next) {
        const uint32_t room = (uint32_t)(sizeof parts->attrs / sizeof parts->attrs[0]) - parts->attr_count;
        if (a->kind != VTAC_SYNTAX_NAMED) {
            append_input(r, a, parts, vtac_run_evaluate(r, a));
        } else if (a->mark == '*') {
            parts->attr_count += hand_on(r, parts->attrs + parts->attr_count, room);
        } else if (room > 1) {
            const vtac_term t = vtac_run_evaluate(r, a->first);
            has_zero = has_zero || strcmp(a->name, "allowzero") == 0;
            parts->attr_count += attribute_of(r, a, &t, &parts->attrs[parts->attr_count]);
        }
    }
    if (strcmp(s->name, "Reshape") == 0 && !has_zero && parts->input_count == 2 &&
        parts->inputs[1].kind == VTAC_TERM_LIST) {
        parts->attrs[parts->attr_count++] = (vtac_attr){.name = "allowzero", .kind = VTAC_ATTR_INT, .i = 1};
    }
}

static void call_operator(vtac_compose_run *r, const vtac_syntax *s, vtac_term *out, uint32_t count)
{
    call_parts work = {.input_count = 0};
    call_parts *parts = &work;
    gather_parts(r, s, parts);
    const bool casts = strcmp(s->name, "Cast") == 0 && parts->input_count == 1 && parts->attr_count == 1 &&
                       parts->attrs[0].kind == VTAC_ATTR_STRING;
    if (r->status != VTA_OK) {
        return;
    }
    if (casts) {
        const vtac_term x = vtac_run_value(r, s, &parts->inputs[0], VTAC_NO_DTYPE);
        out[0] = vtac_run_cast(r, s, x, vtac_dtype_parse(parts->attrs[0].s));
        return;
    }
    const vtac_node_parts node = {s->name, parts->inputs, parts->input_count, parts->attrs,
                                  parts->attr_count};
    vtac_run_node(r, s, &node, out, count);
}

void vtac_run_call(vtac_compose_run *r, const vtac_syntax *s, vtac_term *out, uint32_t count)
{
    memset(out, 0, count * sizeof *out);
    if (r->status != VTA_OK || vtac_run_builtin(r, s, out)) {
        return;
    }
    const vtac_template_row *function = vtac_template_find("function", s->name, 0, false);
    if (function != NULL) {
        vtac_run_function(r, s, function, out, count);
        return;
    }
    call_operator(r, s, out, count);
}

/* ---- statements */

static void run_block(vtac_compose_run *r, const vtac_syntax *block);

static void run_assignment(vtac_compose_run *r, const vtac_syntax *s)
{
    vtac_term out[VTAC_COMPOSE_RESULTS] = {{0}};
    uint32_t count = 0;
    for (const vtac_syntax *name = s->first->next; name != NULL; name = name->next) {
        count++;
    }
    if (count > VTAC_COMPOSE_RESULTS || (count > 1 && s->first->kind != VTAC_SYNTAX_CALL)) {
        (void)vtac_run_fail(r, s, "several values come of a call, at most %d", VTAC_COMPOSE_RESULTS);
        return;
    }
    if (count > 1) {
        vtac_run_call(r, s->first, out, count);
    } else {
        out[0] = vtac_run_evaluate(r, s->first);
    }
    count = 0;
    for (const vtac_syntax *name = s->first->next; name != NULL && r->status == VTA_OK; name = name->next) {
        bind_name(r, name->name, out[count++]);
    }
}

static void run_for(vtac_compose_run *r, const vtac_syntax *s)
{
    const vtac_term first = vtac_run_evaluate(r, s->first);
    const bool of_list = s->first->next->kind == VTAC_SYNTAX_BLOCK;
    const vtac_term last = of_list ? first : vtac_run_evaluate(r, s->first->next);
    const vtac_syntax *block = of_list ? s->first->next : s->first->next->next;
    if (r->status != VTA_OK) {
        return;
    }
    if (of_list
            ? first.kind != VTAC_TERM_LIST
            : first.kind != VTAC_TERM_WHOLE || last.kind != VTAC_TERM_WHOLE || !first.known || !last.known) {
        (void)vtac_run_fail(r, s, "it goes over a list, or from one known whole number to another");
        return;
    }
    const int64_t begin = of_list ? 0 : first.whole;
    const int64_t end = of_list ? (int64_t)first.count : last.whole;
    if (begin < -VTAC_COMPOSE_ITEMS || end > VTAC_COMPOSE_ITEMS) {
        (void)vtac_run_fail(r, s, "it goes round more than %d times", VTAC_COMPOSE_ITEMS);
    }
    for (int64_t i = begin; i < end && r->status == VTA_OK; i++) {
        bind_name(r, s->name, of_list ? first.items[i] : vtac_term_whole(i));
        run_block(r, block);
    }
}

/* The message of a fault, % standing for the terms behind it. */
static void write_message(vtac_compose_run *r, const vtac_syntax *s, char *text, size_t room)
{
    const vtac_syntax *value = s->first->next;
    size_t at = 0;
    for (const char *c = s->name; *c != '\0' && at + 1 < room; c++) {
        if (*c != '%' || value == NULL) {
            text[at++] = *c;
            continue;
        }
        const vtac_term t = vtac_run_evaluate(r, value);
        const int size = t.kind == VTAC_TERM_TEXT ? snprintf(text + at, room - at, "%.64s", t.text)
                         : t.kind == VTAC_TERM_REAL
                             ? snprintf(text + at, room - at, "%g", t.real)
                             : snprintf(text + at, room - at, "%lld", (long long)t.whole);
        at += size > 0 && (size_t)size < room - at ? (size_t)size : 0;
        value = value->next;
    }
    text[at] = '\0';
}

static void run_condition(vtac_compose_run *r, const vtac_syntax *s)
{
    const vtac_term t = vtac_run_evaluate(r, s->first);
    if (r->status != VTA_OK || (t.kind == VTAC_TERM_TRUTH && !t.known) || holds(r, s, &t)) {
        return;
    }
    char text[256];
    write_message(r, s, text, sizeof text);
    if (r->status == VTA_OK) {
        r->status = vta_fail(r->target->diag, s->kind == VTAC_SYNTAX_EXPECT ? VTA_INVALID : VTA_UNSUPPORTED,
                             "%s", text);
    }
}

static void run_if(vtac_compose_run *r, const vtac_syntax *s)
{
    const vtac_term t = vtac_run_evaluate(r, s->first);
    if (r->status != VTA_OK) {
        return;
    }
    const vtac_syntax *taken = holds(r, s, &t) ? s->first->next : s->first->next->next;
    if (taken != NULL && taken->kind == VTAC_SYNTAX_IF) {
        run_if(r, taken);
    } else if (taken != NULL) {
        run_block(r, taken);
    }
}

static void run_block(vtac_compose_run *r, const vtac_syntax *block)
{
    for (const vtac_syntax *s = block->first; s != NULL && r->status == VTA_OK; s = s->next) {
        switch (s->kind) {
        case VTAC_SYNTAX_IF: run_if(r, s); break;
        case VTAC_SYNTAX_FOR: run_for(r, s); break;
        case VTAC_SYNTAX_EXPECT:
        case VTAC_SYNTAX_SUPPORT: run_condition(r, s); break;
        case VTAC_SYNTAX_ASSIGN:
        case VTAC_SYNTAX_WHOLE:
        case VTAC_SYNTAX_REAL:
        case VTAC_SYNTAX_TEXT:
        case VTAC_SYNTAX_LIST:
        case VTAC_SYNTAX_NAME:
        case VTAC_SYNTAX_CALL:
        case VTAC_SYNTAX_NAMED:
        case VTAC_SYNTAX_ITEM:
        case VTAC_SYNTAX_UNARY:
        case VTAC_SYNTAX_BINARY:
        case VTAC_SYNTAX_CHOICE:
        case VTAC_SYNTAX_BLOCK: run_assignment(r, s); break;
        }
    }
}

/* ---- functions and operators */

static void give_outputs(const vtac_compose_run *r, vtac_term *out, uint32_t count)
{
    const vtac_syntax *name = r->text->outputs;
    for (uint32_t i = 0; i < count && name != NULL; i++) {
        const vtac_binding *b = name->name[0] == '\0' ? NULL : find_name(r, name->name);
        out[i] = b == NULL ? (vtac_term){0} : b->term;
        name = name->next;
    }
}

void vtac_run_function(vtac_compose_run *r, const vtac_syntax *s, const vtac_template_row *row,
                       vtac_term *out, uint32_t count)
{
    vtac_compose_run inner = {
        .target = r->target, .arena = r->arena, .sizes = r->sizes, .depth = r->depth + 1};
    if (inner.depth > VTAC_COMPOSE_DEPTH) {
        (void)vtac_run_fail(r, s, "functions call each other deeper than %d", VTAC_COMPOSE_DEPTH);
        return;
    }
    r->status = vtac_template_parse(row, r->arena, &inner.text, r->target->diag);
    if (r->status != VTA_OK) {
        return;
    }
    const vtac_syntax *given = s->first;
    for (const vtac_syntax *name = inner.text->inputs; name != NULL; name = name->next) {
        if (given == NULL && name->mark != '?') {
            (void)vtac_run_fail(r, s, "'%s' needs a value for '%s'", row->name, name->name);
            return;
        }
        bind_name(&inner, name->name, given == NULL ? (vtac_term){0} : vtac_run_evaluate(r, given));
        given = given == NULL ? NULL : given->next;
    }
    if (given != NULL) {
        (void)vtac_run_fail(r, given, "'%s' takes no more values", row->name);
    }
    inner.status = r->status;
    run_block(&inner, inner.text->body);
    give_outputs(&inner, out, count);
    r->status = inner.status;
}

static void bind_inputs(vtac_compose_run *r)
{
    const vtac_template_target *t = r->target;
    uint32_t i = 0;
    for (const vtac_syntax *name = r->text->inputs; name != NULL && r->status == VTA_OK; name = name->next) {
        if (name->mark == '*') {
            vtac_term *items = vta_arena_array(r->arena, t->input_count, sizeof *items);
            uint32_t count = 0;
            for (; items != NULL && i < t->input_count; i++) {
                items[count++] = vtac_term_value(t->inputs[i]);
            }
            bind_name(r, name->name, (vtac_term){.kind = VTAC_TERM_LIST, .items = items, .count = count});
            continue;
        }
        const vtac_handle handle = i < t->input_count ? t->inputs[i] : 0;
        if (handle == 0 && name->mark != '?') {
            r->status = vta_fail(t->diag, VTA_INVALID, "input %u is missing", i);
        }
        bind_name(r, name->name, vtac_term_value(handle));
        i++;
    }
}

static vtac_term list_of_ints(vtac_compose_run *r, const vtac_attr *attr)
{
    vtac_term *items = vta_arena_array(r->arena, attr->count, sizeof *items);
    if (items == NULL) {
        r->status = vta_no_memory(r->target->diag);
        return (vtac_term){0};
    }
    for (size_t i = 0; i < attr->count; i++) {
        items[i] =
            attr->kind == VTAC_ATTR_INTS ? vtac_term_whole(attr->ints[i]) : vtac_term_real(attr->floats[i]);
    }
    return (vtac_term){.kind = VTAC_TERM_LIST, .items = items, .count = (uint32_t)attr->count};
}

/* The term of a given attribute, in the kind of its default. */
static vtac_term attribute_term(vtac_compose_run *r, const vtac_attr *attr, const vtac_term *otherwise)
{
    switch (attr->kind) {
    case VTAC_ATTR_INT:
        return otherwise->kind == VTAC_TERM_REAL ? vtac_term_real((double)attr->i) : vtac_term_whole(attr->i);
    case VTAC_ATTR_FLOAT: return vtac_term_real(attr->f);
    case VTAC_ATTR_STRING:
        return otherwise->kind == VTAC_TERM_TYPE
                   ? (vtac_dtype_parse(attr->s) == VTAC_NO_DTYPE ? *otherwise
                                                                 : vtac_term_type(vtac_dtype_parse(attr->s)))
                   : (vtac_term){.kind = VTAC_TERM_TEXT, .known = true, .text = attr->s};
    case VTAC_ATTR_INTS:
    case VTAC_ATTR_FLOATS: return list_of_ints(r, attr);
    case VTAC_ATTR_STRINGS:
    case VTAC_ATTR_TENSOR: break;
    }
    return (vtac_term){0};
}

static void bind_attributes(vtac_compose_run *r)
{
    const vtac_template_target *t = r->target;
    for (const vtac_syntax *name = r->text->attrs; name != NULL && r->status == VTA_OK; name = name->next) {
        vtac_term term = name->first != NULL ? vtac_run_evaluate(r, name->first) : (vtac_term){0};
        vtac_attr attr;
        bool found = false;
        r->status = r->status == VTA_OK ? t->attr(t->context, name->name, &attr, &found, t->diag) : r->status;
        if (r->status == VTA_OK && found) {
            const vtac_term given = attribute_term(r, &attr, &term);
            if (given.kind == VTAC_TERM_NONE ||
                (name->first != NULL && given.kind != term.kind && term.kind != VTAC_TERM_NONE)) {
                r->status =
                    vta_fail(t->diag, VTA_INVALID, "its attribute '%s' is of another kind", name->name);
            }
            term = given;
        }
        bind_name(r, name->name, term);
    }
}

static bool is_named(const vtac_template_target *t, uint32_t i)
{
    return t->output_names == NULL || (t->output_names[i] != NULL && t->output_names[i][0] != '\0');
}

static void give_values(vtac_compose_run *r, vtac_handle *out, uint32_t out_count)
{
    vtac_term terms[VTAC_COMPOSE_RESULTS] = {{0}};
    const vtac_template_target *t = r->target;
    give_outputs(r, terms, VTAC_COMPOSE_RESULTS);
    for (uint32_t i = 0; i < out_count && r->status == VTA_OK; i++) {
        out[i] =
            i >= VTAC_COMPOSE_RESULTS ? 0 : vtac_run_value(r, r->text->body, &terms[i], VTAC_NO_DTYPE).handle;
        if (r->status == VTA_OK && out[i] == 0 && i < t->output_count && is_named(t, i)) {
            r->status = vta_fail(t->diag, VTA_UNSUPPORTED, "its output %u is not made", i);
        }
    }
}

vta_status vtac_template_make(const vtac_template_row *row, const vtac_template_target *target,
                              vtac_handle *out, uint32_t out_count)
{
    vta_arena arena = {0};
    vtac_open_size *sizes = NULL;
    vtac_compose_run r = {.target = target, .arena = &arena, .sizes = &sizes};
    memset(out, 0, out_count * sizeof *out);
    r.status = vtac_template_parse(row, &arena, &r.text, target->diag);
    bind_inputs(&r);
    bind_attributes(&r);
    if (r.status == VTA_OK) {
        run_block(&r, r.text->body);
        give_values(&r, out, out_count);
    }
    vta_arena_free(&arena);
    return r.status;
}

const vtac_template_row *vtac_template_find(const char *domain, const char *name, int64_t opset, bool open)
{
    for (const vtac_template_row *row = vtac_template_rows; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0 && strcmp(row->domain, domain) == 0 && (open || !row->open) &&
            (opset == 0 || (opset >= row->since && opset <= row->last))) {
            return row;
        }
    }
    return NULL;
}
