/* SPDX-License-Identifier: Apache-2.0
 *
 * What Python does with numbers, texts and lists: sizes are computed here, while the graph is made.
 */
#include <math.h>
#include <string.h>

#include "torch.h"

enum { COSTLY = 16 }; /* so many items of a list that is copied count as a step */

static bool is_name(const char *name, const char *a, const char *b)
{
    return strcmp(name, a) == 0 || strcmp(name, b) == 0;
}

static bool is_list(const vtac_torch_value *v)
{
    return v->kind == TORCH_LIST || v->kind == TORCH_TUPLE;
}

/* ---- comparisons */

static bool equal_values(const vtac_torch_value *a, const vtac_torch_value *b, uint32_t depth)
{
    if (vtac_torch_is_number(a) && vtac_torch_is_number(b)) {
        return vtac_torch_number(a) == vtac_torch_number(b);
    }
    if (a->kind == TORCH_TEXT && b->kind == TORCH_TEXT) {
        return strcmp(a->s, b->s) == 0;
    }
    if (!is_list(a) || !is_list(b) || a->list->count != b->list->count || depth > 8) {
        return a->kind == TORCH_NONE && b->kind == TORCH_NONE;
    }
    for (uint32_t i = 0; i < a->list->count; i++) {
        if (!equal_values(&a->list->items[i], &b->list->items[i], depth + 1)) {
            return false;
        }
    }
    return true;
}

static bool compare_numbers(const char *name, double a, double b, bool *out)
{
    const char *const names[] = {"lt", "le", "gt", "ge"};
    const bool results[] = {a<b, a <= b, a> b, a >= b};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = results[i];
            return true;
        }
    }
    return false;
}

static bool call_comparison(const char *name, const vtac_torch_value *a, const vtac_torch_value *b,
                            vtac_torch_value *out)
{
    bool result;
    if (is_name(name, "__is__", "__isnot__")) {
        const bool same = a->kind == TORCH_NONE && b->kind == TORCH_NONE;
        *out = vtac_torch_bool(strcmp(name, "__is__") == 0 ? same : !same);
        return a->kind == TORCH_NONE || b->kind == TORCH_NONE;
    }
    if (a->kind == TORCH_TENSOR || b->kind == TORCH_TENSOR) {
        return false;
    }
    if (is_name(name, "eq", "ne")) {
        const bool same = equal_values(a, b, 0);
        *out = vtac_torch_bool(name[0] == 'e' ? same : !same);
        return true;
    }
    if (!vtac_torch_is_number(a) || !vtac_torch_is_number(b) ||
        !compare_numbers(name, vtac_torch_number(a), vtac_torch_number(b), &result)) {
        return false;
    }
    *out = vtac_torch_bool(result);
    return true;
}

/* ---- arithmetic */

static int64_t floor_divided(int64_t a, int64_t b)
{
    const int64_t q = a / b;
    return q - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

/* False: it is no such operation of integers. */
static bool whole_result(vtac_torch *im, const char *name, int64_t a, int64_t b, int64_t *out)
{
    bool over = false;
    *out = 0;
    if (is_name(name, "add", "__add__")) {
        over = __builtin_add_overflow(a, b, out);
    } else if (strcmp(name, "sub") == 0) {
        over = __builtin_sub_overflow(a, b, out);
    } else if (strcmp(name, "mul") == 0) {
        over = __builtin_mul_overflow(a, b, out);
    } else if (is_name(name, "floordiv", "floor_divide") || strcmp(name, "remainder") == 0 ||
               strcmp(name, "mod") == 0) {
        over = b == 0 || (a == INT64_MIN && b == -1);
        *out = over ? 0 : name[0] == 'f' ? floor_divided(a, b) : a - floor_divided(a, b) * b;
    } else if (is_name(name, "prim.min", "min")) {
        *out = a < b ? a : b;
    } else if (is_name(name, "prim.max", "max")) {
        *out = a > b ? a : b;
    } else {
        return false;
    }
    if (over) {
        vtac_torch_refuse(im, "%s of %lld and %lld", name, (long long)a, (long long)b);
    }
    return true;
}

static bool real_result(const char *name, double a, double b, double *out)
{
    if (is_name(name, "div", "truediv")) {
        *out = a / b;
    } else if (strcmp(name, "pow") == 0) {
        *out = pow(a, b);
    } else if (is_name(name, "add", "__add__")) {
        *out = a + b;
    } else if (strcmp(name, "sub") == 0) {
        *out = a - b;
    } else if (strcmp(name, "mul") == 0) {
        *out = a * b;
    } else if (is_name(name, "floordiv", "floor_divide")) {
        *out = floor(a / b);
    } else if (is_name(name, "prim.min", "min")) {
        *out = a < b ? a : b;
    } else if (is_name(name, "prim.max", "max")) {
        *out = a > b ? a : b;
    } else {
        return false;
    }
    return true;
}

static bool call_arithmetic(vtac_torch *im, const char *name, const vtac_torch_value *a,
                            const vtac_torch_value *b, vtac_torch_value *out)
{
    int64_t whole;
    double real;
    if (!vtac_torch_is_number(a) || !vtac_torch_is_number(b)) {
        return false;
    }
    if (a->kind != TORCH_FLOAT && b->kind != TORCH_FLOAT && whole_result(im, name, a->i, b->i, &whole)) {
        *out = vtac_torch_integer(whole);
        return true;
    }
    if (is_name(name, "__and__", "__or__") && a->kind == TORCH_BOOL && b->kind == TORCH_BOOL) {
        *out = vtac_torch_bool(name[2] == 'a' ? a->i != 0 && b->i != 0 : a->i != 0 || b->i != 0);
        return true;
    }
    if (!real_result(name, vtac_torch_number(a), vtac_torch_number(b), &real)) {
        return false;
    }
    *out = vtac_torch_real(real);
    return true;
}

/* ---- one number */

static vtac_torch_value integer_of(vtac_torch *im, double v)
{
    if (!(fabs(v) < 9e18)) {
        vtac_torch_refuse(im, "the integer of %g", v);
        return vtac_torch_none;
    }
    return vtac_torch_integer((int64_t)v);
}

static bool call_number(vtac_torch *im, const char *name, const vtac_torch_value *given,
                        vtac_torch_value *out)
{
    vtac_torch_value v = *given;
    const bool casts = is_name(name, "int", "float") || strcmp(name, "bool") == 0;
    if (casts && v.kind == TORCH_TENSOR && !vtac_torch_item(im, v, &v)) {
        vtac_torch_refuse(im, "a number that the run finds where the program needs one now");
        *out = vtac_torch_none;
        return true;
    }
    if (strcmp(name, "float") == 0 && v.kind == TORCH_TEXT) {
        *out = vtac_torch_real((double)(v.s[0] == '-' ? -INFINITY : v.s[0] == 'n' ? NAN : INFINITY));
        return is_name(v.s, "inf", "-inf") || strcmp(v.s, "nan") == 0;
    }
    if (!vtac_torch_is_number(&v)) {
        return false;
    }
    const double number = vtac_torch_number(&v);
    if (strcmp(name, "int") == 0) {
        *out = v.kind == TORCH_FLOAT ? integer_of(im, v.f) : vtac_torch_integer(v.i);
    } else if (strcmp(name, "float") == 0) {
        *out = vtac_torch_real(number);
    } else if (strcmp(name, "bool") == 0) {
        *out = vtac_torch_bool(number != 0.0);
    } else if (strcmp(name, "__not__") == 0) {
        *out = vtac_torch_bool(number == 0.0);
    } else if (strcmp(name, "neg") == 0) {
        *out =
            v.kind == TORCH_FLOAT ? vtac_torch_real(-v.f) : vtac_torch_integer(v.i == INT64_MIN ? 0 : -v.i);
    } else if (strcmp(name, "sqrt") == 0) {
        *out = vtac_torch_real(sqrt(number));
    } else if (is_name(name, "floor", "ceil")) {
        *out = integer_of(im, name[0] == 'f' ? floor(number) : ceil(number));
    } else {
        return false;
    }
    return true;
}

/* ---- lists and dictionaries */

static bool item_of(vtac_torch *im, const vtac_torch_value *list, const vtac_torch_value *key,
                    vtac_torch_value *out)
{
    if (list->kind == TORCH_DICT && key->kind == TORCH_TEXT) {
        const vtac_torch_value *found = vtac_torch_look_up(list->list, key->s);
        if (found == NULL) {
            vtac_make_fail(&im->maker, VTA_INVALID, "the dictionary has no '%.60s'", key->s);
        }
        *out = found == NULL ? vtac_torch_none : *found;
        return true;
    }
    if (!is_list(list) || key->kind != TORCH_INT) {
        return false;
    }
    const int64_t at = key->i < 0 ? key->i + list->list->count : key->i;
    if (at < 0 || at >= list->list->count) {
        vtac_make_fail(&im->maker, VTA_INVALID, "item %lld of %u", (long long)key->i, list->list->count);
        *out = vtac_torch_none;
        return true;
    }
    *out = list->list->items[at];
    return true;
}

static int64_t clamped(const vtac_torch_value *v, int64_t otherwise, int64_t size)
{
    return vtac_torch_clamp(v->kind == TORCH_INT ? v->i : otherwise, size);
}

/* slice(list, start, end, step) */
static vtac_torch_value slice_of(vtac_torch *im, const vtac_torch_value *args, uint32_t count)
{
    const vtac_torch_list *list = args[0].list;
    const int64_t from = clamped(count > 1 ? &args[1] : &vtac_torch_none, 0, list->count);
    const int64_t to = clamped(count > 2 ? &args[2] : &vtac_torch_none, list->count, list->count);
    const int64_t step = count > 3 && args[3].kind == TORCH_INT ? args[3].i : 1;
    const vtac_torch_value out = vtac_torch_list_value(im, args[0].kind, NULL, 0);
    im->steps += list->count / COSTLY;
    for (int64_t i = from; step > 0 && i < to; i += step) {
        vtac_torch_append(im, out.list, list->items[i]);
    }
    return out;
}

static vtac_torch_value joined(vtac_torch *im, const vtac_torch_value *a, const vtac_torch_value *b)
{
    const vtac_torch_value out = vtac_torch_list_value(im, a->kind, a->list->items, a->list->count);
    im->steps += (a->list->count + b->list->count) / COSTLY;
    for (uint32_t i = 0; i < b->list->count; i++) {
        vtac_torch_append(im, out.list, b->list->items[i]);
    }
    return out;
}

static vtac_torch_value repeated(vtac_torch *im, const vtac_torch_value *list, int64_t times)
{
    const vtac_torch_value out = vtac_torch_list_value(im, list->kind, NULL, 0);
    if (times > 1 << 16 || (uint64_t)times * list->list->count > 1 << 16) {
        vtac_torch_refuse(im, "a list of %lld times %u items", (long long)times, list->list->count);
        return out;
    }
    im->steps += (uint64_t)times * list->list->count / COSTLY;
    for (int64_t i = 0; i < times; i++) {
        for (uint32_t k = 0; k < list->list->count; k++) {
            vtac_torch_append(im, out.list, list->list->items[k]);
        }
    }
    return out;
}

static bool contains(const vtac_torch_value *list, const vtac_torch_value *item)
{
    const uint32_t step = list->kind == TORCH_DICT ? 2 : 1;
    for (uint32_t i = 0; i < list->list->count; i += step) {
        if (equal_values(&list->list->items[i], item, 0)) {
            return true;
        }
    }
    return false;
}

static bool call_list(vtac_torch *im, const char *name, const vtac_torch_value *args, uint32_t count,
                      vtac_torch_value *out)
{
    const vtac_torch_value *list = &args[0];
    const bool holds = is_list(list) || list->kind == TORCH_DICT;
    if (list->kind == TORCH_TEXT && count == 1 && strcmp(name, "len") == 0) {
        *out = vtac_torch_integer((int64_t)strlen(list->s));
    } else if (holds && strcmp(name, "len") == 0) {
        *out = vtac_torch_integer(list->list->count / (list->kind == TORCH_DICT ? 2 : 1));
    } else if (count == 2 && list->kind == TORCH_LIST && strcmp(name, "append") == 0) {
        vtac_torch_append(im, list->list, args[1]);
        *out = *list;
    } else if (holds && count == 2 && strcmp(name, "__contains__") == 0) {
        *out = vtac_torch_bool(contains(list, &args[1]));
    } else if (holds && count == 2 && is_name(name, "__getitem__", "select")) {
        return item_of(im, list, &args[1], out);
    } else if (is_list(list) && strcmp(name, "slice") == 0) {
        *out = slice_of(im, args, count);
    } else if (is_list(list) && count == 1 && strcmp(name, "list") == 0) {
        *out = vtac_torch_list_value(im, TORCH_LIST, list->list->items, list->list->count);
    } else if (is_list(list) && count == 2 && is_list(&args[1]) && strcmp(name, "add") == 0) {
        *out = joined(im, list, &args[1]);
    } else if (is_list(list) && count == 2 && args[1].kind == TORCH_INT && strcmp(name, "mul") == 0) {
        *out = repeated(im, list, args[1].i);
    } else {
        return false;
    }
    return true;
}

/* Questions of a program about the machine. Where "autocast" is on it keeps to plain operators. */
static bool call_state(const char *name, vtac_torch_value *out)
{
    static const char *const off[] = {"prim.is_nested", "prim.is_cuda", "prim.requires_grad",
                                      "is_grad_enabled", "is_scripting"};
    if (strcmp(name, "is_autocast_enabled") == 0) {
        *out = vtac_torch_bool(true);
        return true;
    }
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++) {
        if (strcmp(name, off[i]) == 0) {
            *out = vtac_torch_bool(false);
            return true;
        }
    }
    return false;
}

/* __range_length(from, to, step), __derive_index(i, from, step) */
static bool call_range(const char *name, const vtac_torch_value *args, uint32_t count, vtac_torch_value *out)
{
    const int64_t limit = (int64_t)1 << 40;
    for (uint32_t i = 0; i < count; i++) {
        if (args[i].kind != TORCH_INT || args[i].i > limit || args[i].i < -limit) {
            return false;
        }
    }
    if (count == 3 && strcmp(name, "__range_length") == 0 && args[2].i != 0) {
        const int64_t n = -floor_divided(args[0].i - args[1].i, args[2].i);
        *out = vtac_torch_integer(n < 0 ? 0 : n);
        return true;
    }
    if (count == 3 && strcmp(name, "__derive_index") == 0 && args[0].i < 1 << 20 && args[2].i < 1 << 20) {
        *out = vtac_torch_integer(args[1].i + args[0].i * args[2].i);
        return true;
    }
    return false;
}

bool vtac_torch_call_plain(vtac_torch *im, const char *name, const vtac_torch_value *args, uint32_t count,
                           vtac_torch_value *out)
{
    *out = vtac_torch_none;
    if (is_name(name, "warn", "format") || is_name(name, "prim.Print", "print") || strcmp(name, "str") == 0) {
        *out = vtac_torch_string("");
        return true;
    }
    if (strcmp(name, "prim.RaiseException") == 0) {
        vtac_make_fail(&im->maker, VTA_INVALID, "the program refuses these inputs: %.200s",
                       count > 0 && args[0].kind == TORCH_TEXT && args[0].s[0] != '\0' ? args[0].s
                                                                                       : "an exception");
        return true;
    }
    if (is_name(name, "device", "prim.device")) {
        *out = vtac_torch_string("cpu");
        return true;
    }
    if (call_state(name, out) || call_range(name, args, count, out) ||
        (count > 0 && call_list(im, name, args, count, out))) {
        return true;
    }
    if (count == 1) {
        return call_number(im, name, &args[0], out);
    }
    return count == 2 && (call_comparison(name, &args[0], &args[1], out) ||
                          call_arithmetic(im, name, &args[0], &args[1], out));
}
