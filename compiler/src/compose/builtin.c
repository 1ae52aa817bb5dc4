/* SPDX-License-Identifier: Apache-2.0
 *
 * The language's own functions: facts of a value, and numbers.
 */
#include <math.h>
#include <string.h>

#include "run.h"
#include "vta/fail.h"

enum { MAX_OPERANDS = 3 };

typedef vtac_term builtin_fn(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *x);

static bool is_value(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *x)
{
    if (x->kind != VTAC_TERM_VALUE) {
        (void)vtac_run_fail(r, s, "'%s' asks for a value", s->name);
    }
    return x->kind == VTAC_TERM_VALUE;
}

static vtac_term has_term(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *x)
{
    (void)r;
    (void)s;
    return vtac_term_truth(x[0].kind != VTAC_TERM_NONE);
}

/* -1 where it is not known, which is where sizes are open alone. */
static vtac_term rank_of(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *x)
{
    return is_value(r, s, x) ? vtac_term_whole(r->target->rank(r->target->context, x->handle))
                             : (vtac_term){0};
}

static vtac_term type_of(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *x)
{
    (void)s;
    return vtac_term_type(vtac_run_dtype(r, x));
}

/* A size of x that only the run knows, as integers of one axis. */
static vtac_term open_dim(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *x, int64_t axis)
{
    const vtac_term from[] = {vtac_term_whole(axis), vtac_term_whole(axis == -1 ? INT32_MAX : axis + 1)};
    const vtac_handle before = vtac_run_size(r, x->handle, axis, 0);
    vtac_term shape = vtac_term_value(vtac_run_size(r, x->handle, VTAC_COMPOSE_SHAPE, 0));
    if (before != 0) {
        return (vtac_term){.kind = VTAC_TERM_WHOLE, .handle = before};
    }
    if (shape.kind == VTAC_TERM_NONE) {
        shape = vtac_run_node1(r, s, "Shape", *x);
        (void)vtac_run_size(r, x->handle, VTAC_COMPOSE_SHAPE, shape.handle);
    }
    const vtac_term inputs[] = {shape,
                                {.kind = VTAC_TERM_LIST, .items = &from[0], .count = 1},
                                {.kind = VTAC_TERM_LIST, .items = &from[1], .count = 1}};
    const vtac_node_parts slice = {.name = "Slice", .inputs = inputs, .input_count = 3};
    vtac_term out;
    vtac_run_node(r, s, &slice, &out, 1);
    (void)vtac_run_size(r, x->handle, axis, out.handle);
    return (vtac_term){.kind = VTAC_TERM_WHOLE, .handle = out.handle};
}

static vtac_term dim_of(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *x)
{
    if (!is_value(r, s, x)) {
        return (vtac_term){0};
    }
    const int rank = r->target->rank(r->target->context, x->handle);
    const int64_t given = x[1].whole;
    const int64_t axis = given < 0 && rank >= 0 ? given + rank : given;
    if (x[1].kind != VTAC_TERM_WHOLE || !x[1].known || (rank >= 0 && (axis < 0 || axis >= rank))) {
        r->status = r->status == VTA_OK
                        ? vta_fail(r->target->diag, VTA_INVALID, "a value of %d axes has no axis %lld", rank,
                                   (long long)given)
                        : r->status;
        return (vtac_term){0};
    }
    const int64_t size = axis < 0 ? -1 : r->target->dim(r->target->context, x->handle, (uint32_t)axis);
    return size >= 0 ? vtac_term_whole(size) : open_dim(r, s, x, axis);
}

static vtac_term shape_of(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *x)
{
    const vtac_term rank = rank_of(r, s, x);
    vtac_term *items = vta_arena_array(r->arena, VTAC_MAX_RANK, sizeof *items);
    if (r->status != VTA_OK || items == NULL || rank.whole < 0) {
        return vtac_run_fail(r, s, "the number of axes is not known");
    }
    for (int64_t i = 0; i < rank.whole && i < VTAC_MAX_RANK; i++) {
        const vtac_term both[] = {x[0], vtac_term_whole(i)};
        items[i] = dim_of(r, s, both);
    }
    return (vtac_term){.kind = VTAC_TERM_LIST, .items = items, .count = (uint32_t)rank.whole};
}

static vtac_term elements_of(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *x)
{
    const vtac_term shape = shape_of(r, s, x);
    const vtac_syntax product = {.mark = '*', .line = s->line, .column = s->column};
    vtac_term count = vtac_term_whole(1);
    for (uint32_t i = 0; i < shape.count; i++) {
        count = vtac_run_binary(r, &product, shape.items[i], count);
    }
    return count;
}

/* as(x, type): x in a type, or in that of a value. */
static vtac_term as_type(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *x)
{
    const vtac_dtype type = vtac_run_dtype(r, &x[1]);
    if (type == VTAC_NO_DTYPE) {
        r->status = vta_fail(r->target->diag, VTA_UNSUPPORTED, "over open sizes its type is to be known");
        return (vtac_term){0};
    }
    const vtac_term y = vtac_run_value(r, s, x, type);
    return y.kind == VTAC_TERM_NONE ? y : vtac_run_cast(r, s, y, type);
}

/* The one integer that a value is. */
static vtac_term whole_of(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *x)
{
    static const vtac_term one = {.kind = VTAC_TERM_WHOLE, .known = true, .whole = 1};
    const vtac_term flat = {.kind = VTAC_TERM_LIST, .items = &one, .count = 1};
    int64_t known = 0;
    if (!is_value(r, s, x)) {
        return (vtac_term){0};
    }
    if (r->target->whole(r->target->context, x->handle, &known)) {
        return vtac_term_whole(known);
    }
    if (!r->target->open) {
        r->status = vta_fail(r->target->diag, VTA_UNSUPPORTED,
                             "an input that is to be one integer is not known at compile time");
        return (vtac_term){0};
    }
    const vtac_term y = vtac_run_node2(r, s, "Reshape", vtac_run_cast(r, s, *x, VTAC_I64), flat);
    return (vtac_term){.kind = VTAC_TERM_WHOLE, .handle = y.handle};
}

static vtac_term count_of(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *x)
{
    return x->kind == VTAC_TERM_LIST ? vtac_term_whole(x->count)
                                     : vtac_run_fail(r, s, "'count' asks for a list");
}

/* The smaller or larger one of two sizes. */
static vtac_term choose_size(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *x, bool smaller)
{
    if (x[0].kind != VTAC_TERM_WHOLE || x[1].kind != VTAC_TERM_WHOLE) {
        return vtac_run_fail(r, s, "'%s' asks for whole numbers", s->name);
    }
    if (x[0].known && x[1].known) {
        return vtac_term_whole((x[0].whole < x[1].whole) == smaller ? x[0].whole : x[1].whole);
    }
    const vtac_term a = {.kind = VTAC_TERM_LIST, .items = &x[0], .count = 1};
    const vtac_term b = {.kind = VTAC_TERM_LIST, .items = &x[1], .count = 1};
    const vtac_term y = vtac_run_node2(r, s, smaller ? "Min" : "Max", a, b);
    return (vtac_term){.kind = VTAC_TERM_WHOLE, .handle = y.handle};
}

static vtac_term smaller_of(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *x)
{
    return choose_size(r, s, x, true);
}

static vtac_term larger_of(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *x)
{
    return choose_size(r, s, x, false);
}

static vtac_term absolute_of(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *x)
{
    return x->kind == VTAC_TERM_REAL ? vtac_term_real(fabs(x->real))
                                     : vtac_run_fail(r, s, "'abs' asks for a real number");
}

/* True for a size, or a value that is one integer, which is known while the text is worked. */
static vtac_term is_known(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *x)
{
    int64_t whole;
    (void)s;
    return vtac_term_truth(x->kind == VTAC_TERM_VALUE
                               ? r->target->whole(r->target->context, x->handle, &whole)
                               : x->kind != VTAC_TERM_NONE && x->known);
}

/* True for an output that the model reads, counted from 0. */
static vtac_term is_asked(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *x)
{
    const vtac_template_target *t = r->target;
    (void)s;
    return vtac_term_truth(x->whole >= 0 && x->whole < (int64_t)t->output_count &&
                           (t->output_names == NULL ||
                            (t->output_names[x->whole] != NULL && t->output_names[x->whole][0] != '\0')));
}

/* A size as a value, i64. */
static vtac_term value_of(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *x)
{
    return vtac_run_value(r, s, x, VTAC_NO_DTYPE);
}

/* The root of a size; where only the run knows the size, a value in float. */
static vtac_term square_root(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *x)
{
    if (x->kind == VTAC_TERM_WHOLE && !x->known) {
        return vtac_run_node1(r, s, "Sqrt", vtac_run_cast(r, s, vtac_term_value(x->handle), VTAC_F32));
    }
    return x->kind == VTAC_TERM_VALUE
               ? vtac_run_node1(r, s, "Sqrt", *x)
               : vtac_term_real(sqrt(x->kind == VTAC_TERM_REAL ? x->real : (double)x->whole));
}

/* 0, 1 ... n - 1, i64 of one axis. */
static vtac_term places_of(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *x)
{
    const vtac_term zero = vtac_term_whole(0);
    const vtac_term one = vtac_term_whole(1);
    const vtac_term n = x->known ? *x : vtac_run_node1(r, s, "Squeeze", vtac_term_value(x->handle));
    const vtac_term inputs[] = {zero, n, one};
    const vtac_node_parts range = {.name = "Range", .inputs = inputs, .input_count = 3};
    vtac_term out;
    vtac_run_node(r, s, &range, &out, 1);
    return out;
}

static const struct {
    const char *name;
    uint32_t operands;
    builtin_fn *function;
} builtins[] = {{"asked", 1, is_asked},       {"has", 1, has_term},    {"rank", 1, rank_of},
                {"type", 1, type_of},         {"dim", 2, dim_of},      {"shape", 1, shape_of},
                {"as", 2, as_type},           {"whole", 1, whole_of},  {"count", 1, count_of},
                {"elements", 1, elements_of}, {"min", 2, smaller_of},  {"max", 2, larger_of},
                {"abs", 1, absolute_of},      {"known", 1, is_known},  {"value", 1, value_of},
                {"sqrt", 1, square_root},     {"places", 1, places_of}};
enum { BUILTINS = sizeof builtins / sizeof builtins[0] };

static size_t builtin_row(const char *name)
{
    size_t i = 0;
    while (i < BUILTINS && strcmp(builtins[i].name, name) != 0) {
        i++;
    }
    return i;
}

bool vtac_is_builtin(const char *name)
{
    return builtin_row(name) < BUILTINS;
}

bool vtac_run_builtin(vtac_compose_run *r, const vtac_syntax *s, vtac_term *out)
{
    const size_t row = builtin_row(s->name);
    vtac_term operands[MAX_OPERANDS] = {{0}};
    uint32_t count = 0;
    if (row == BUILTINS) {
        return false;
    }
    for (const vtac_syntax *x = s->first; x != NULL && count < MAX_OPERANDS; x = x->next) {
        operands[count++] = vtac_run_evaluate(r, x);
    }
    if (r->status == VTA_OK && count != builtins[row].operands) {
        (void)vtac_run_fail(r, s, "'%s' takes %u operands", s->name, builtins[row].operands);
    }
    if (r->status == VTA_OK) {
        *out = builtins[row].function(r, s, operands);
    }
    return true;
}
