/* SPDX-License-Identifier: Apache-2.0
 *
 * a + b: numbers that are known are computed; sizes that only the run knows become nodes on integers; with a
 * value it is the operator of that meaning.
 */
#include <math.h>
#include <string.h>

#include "run.h"
#include "vta/fail.h"

static const struct {
    char mark;
    const char *name;
    bool compares;
} operators[] = {{'+', "Add", false},    {'-', "Sub", false},        {'*', "Mul", false},
                 {'/', "Div", false},    {'%', "Mod", false},        {'<', "Less", true},
                 {'>', "Greater", true}, {'l', "LessOrEqual", true}, {'g', "GreaterOrEqual", true},
                 {'=', "Equal", true},   {'a', "And", true},         {'o', "Or", true},
                 {'#', "", true} /* there is no such operator on values */};

static size_t operator_row(char mark)
{
    size_t i = 0;
    while (operators[i].mark != mark && operators[i].mark != '#') {
        i++;
    }
    return i;
}

static bool is_number(const vtac_term *t)
{
    return t->kind == VTAC_TERM_WHOLE || t->kind == VTAC_TERM_REAL;
}

static double real_of(const vtac_term *t)
{
    return t->kind == VTAC_TERM_REAL ? t->real : (double)t->whole;
}

/* ---- what is known */

static vtac_term combine_wholes(vtac_compose_run *r, const vtac_syntax *s, int64_t a, int64_t b)
{
    int64_t y = 0;
    bool fits = true;
    switch (s->mark) {
    case '+': fits = !__builtin_add_overflow(a, b, &y); break;
    case '-': fits = !__builtin_sub_overflow(a, b, &y); break;
    case '*': fits = !__builtin_mul_overflow(a, b, &y); break;
    case '/':
    case '%':
        fits = b != 0 && !(a == INT64_MIN && b == -1);
        y = !fits ? 0 : s->mark == '/' ? a / b : a % b;
        break;
    default: break;
    }
    if (!fits) {
        r->status = vta_fail(r->target->diag, VTA_INVALID, "%lld and %lld are not sizes that go together",
                             (long long)a, (long long)b);
    }
    return vtac_term_whole(y);
}

static double combine_reals(char mark, double a, double b)
{
    return mark == '+' ? a + b : mark == '-' ? a - b : mark == '*' ? a * b : mark == '/' ? a / b : fmod(a, b);
}

static bool compare_order(char mark, double order)
{
    return mark == '<'   ? order < 0.0
           : mark == '>' ? order > 0.0
           : mark == 'l' ? order <= 0.0
           : mark == 'g' ? order >= 0.0
           : mark == '=' ? order == 0.0
                         : order != 0.0;
}

static vtac_term compare_numbers(char mark, const vtac_term *a, const vtac_term *b)
{
    if (a->kind == VTAC_TERM_WHOLE && b->kind == VTAC_TERM_WHOLE) {
        return vtac_term_truth(compare_order(mark, a->whole < b->whole ? -1.0 : a->whole > b->whole));
    }
    const double x = real_of(a);
    const double y = real_of(b);
    return vtac_term_truth(compare_order(mark, x < y ? -1.0 : x > y));
}

static vtac_term known_pair(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *a, const vtac_term *b)
{
    if (operators[operator_row(s->mark)].compares) {
        return compare_numbers(s->mark, a, b);
    }
    if (a->kind == VTAC_TERM_WHOLE && b->kind == VTAC_TERM_WHOLE) {
        return combine_wholes(r, s, a->whole, b->whole);
    }
    return vtac_term_real(combine_reals(s->mark, real_of(a), real_of(b)));
}

/* ---- sizes that only the run knows */

/* An operation that changes nothing gives its operand. */
static bool is_neutral(char mark, const vtac_term *b)
{
    return b->known && ((b->whole == 0 && (mark == '+' || mark == '-')) ||
                        (b->whole == 1 && (mark == '*' || mark == '/')));
}

static vtac_term open_pair(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *a, const vtac_term *b)
{
    const size_t row = operator_row(s->mark);
    if (operators[row].compares) {
        return (vtac_term){.kind = VTAC_TERM_TRUTH};
    }
    if (is_neutral(s->mark, b)) {
        return *a;
    }
    const vtac_term left = {.kind = VTAC_TERM_LIST, .items = a, .count = 1};
    const vtac_term right = {.kind = VTAC_TERM_LIST, .items = b, .count = 1};
    const vtac_term y = vtac_run_node2(r, s, operators[row].name, left, right);
    return (vtac_term){.kind = VTAC_TERM_WHOLE, .handle = y.handle};
}

/* ---- truths, texts, types, lists */

static vtac_term same_or_not(const vtac_syntax *s, bool same)
{
    return vtac_term_truth(s->mark == '#' ? !same : same);
}

static vtac_term join_lists(vtac_compose_run *r, const vtac_term *a, const vtac_term *b)
{
    vtac_term *items = vta_arena_array(r->arena, a->count + b->count + 1, sizeof *items);
    if (items == NULL || a->count + b->count > VTAC_COMPOSE_ITEMS) {
        r->status = r->status == VTA_OK ? VTA_NOMEM : r->status;
        return (vtac_term){0};
    }
    if (a->count > 0) {
        memcpy(items, a->items, a->count * sizeof *items);
    }
    if (b->count > 0) {
        memcpy(items + a->count, b->items, b->count * sizeof *items);
    }
    return (vtac_term){.kind = VTAC_TERM_LIST, .items = items, .count = a->count + b->count};
}

/* a == b, a != b of lists of known numbers. */
static vtac_term compare_lists(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *a,
                               const vtac_term *b)
{
    bool same = a->count == b->count;
    if (s->mark != '=' && s->mark != '#') {
        return vtac_run_fail(r, s, "lists are joined or compared for equality");
    }
    for (uint32_t i = 0; i < a->count && same; i++) {
        if (!a->items[i].known || !b->items[i].known) {
            return (vtac_term){.kind = VTAC_TERM_TRUTH};
        }
        same = a->items[i].whole == b->items[i].whole;
    }
    return same_or_not(s, same);
}

static vtac_term value_pair(vtac_compose_run *r, const vtac_syntax *s, const vtac_term *a, const vtac_term *b)
{
    const size_t row = operator_row(s->mark);
    if (operators[row].name[0] == '\0' || a->kind == VTAC_TERM_NONE || b->kind == VTAC_TERM_NONE) {
        return vtac_run_fail(r, s, "an operand is absent, or '%s' does not work on values",
                             operators[row].name);
    }
    return vtac_run_node2(r, s, operators[row].name, *a, *b);
}

vtac_term vtac_run_binary(vtac_compose_run *r, const vtac_syntax *s, vtac_term a, vtac_term b)
{
    if (r->status != VTA_OK) {
        return (vtac_term){0};
    }
    if (is_number(&a) && is_number(&b)) {
        if (a.known && b.known) {
            return known_pair(r, s, &a, &b);
        }
        if (a.kind == VTAC_TERM_WHOLE && b.kind == VTAC_TERM_WHOLE) {
            return open_pair(r, s, &a, &b);
        }
        return vtac_run_fail(r, s, "a number and a size that only the run knows: cast the size first");
    }
    if (a.kind == VTAC_TERM_TEXT && b.kind == VTAC_TERM_TEXT) {
        return same_or_not(s, strcmp(a.text, b.text) == 0);
    }
    if (a.kind == VTAC_TERM_TYPE && b.kind == VTAC_TERM_TYPE) {
        return same_or_not(s, a.type == b.type);
    }
    if (a.kind == VTAC_TERM_LIST && b.kind == VTAC_TERM_LIST) {
        return s->mark == '+' ? join_lists(r, &a, &b) : compare_lists(r, s, &a, &b);
    }
    return value_pair(r, s, &a, &b);
}

vtac_term vtac_run_unary(vtac_compose_run *r, const vtac_syntax *s, vtac_term a)
{
    if (s->mark == '!') {
        return vtac_run_node1(r, s, "Not", a);
    }
    if (a.kind == VTAC_TERM_REAL) {
        return vtac_term_real(-a.real);
    }
    if (a.kind == VTAC_TERM_WHOLE) {
        const vtac_term zero = vtac_term_whole(0);
        return a.known ? combine_wholes(r, &(vtac_syntax){.mark = '-', .line = s->line, .column = s->column},
                                        0, a.whole)
                       : open_pair(r, &(vtac_syntax){.mark = '-'}, &zero, &a);
    }
    return vtac_run_node1(r, s, "Neg", a);
}
