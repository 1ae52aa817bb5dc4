/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of operators: the row, its arguments by position or by name, changes in place.
 */
#include <stdio.h>
#include <string.h>

#include "torch.h"

static const vtac_torch_op table[] = {
#define TORCH_OP(name, fn, how, traits, args) {name, vtac_torch_make_##fn, how, traits, args},
#include "ops.def"
};

const vtac_torch_op *vtac_torch_op_find(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

/* ---- the arguments of a row */

/* The next name of a row's list, without its '-'. False: there is none. */
static bool next_name(const char **list, char *name, size_t size, bool *ignored)
{
    while (**list == ' ') {
        ++*list;
    }
    const size_t length = strcspn(*list, " ");
    *ignored = **list == '-';
    (void)snprintf(name, size, "%.*s", (int)length - *ignored, *list + *ignored);
    *list += length;
    return length > 0;
}

/* True where a name is one of several with '|' between them. */
static bool is_named(const char *names, const char *wanted)
{
    const size_t length = strlen(wanted);
    for (const char *at = names; at != NULL; at = strchr(at, '|')) {
        at += *at == '|' ? 1 : 0;
        if (strncmp(at, wanted, length) == 0 && (at[length] == '|' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/* The place of an argument in the operator's row; TORCH_MAX_ARGS: it has none of that name. */
static uint32_t place_of(const vtac_torch_op *op, const char *wanted)
{
    const char *list = op->args;
    char name[48];
    bool ignored;
    for (uint32_t i = 0; next_name(&list, name, sizeof name, &ignored) && i < TORCH_MAX_ARGS; i++) {
        if (is_named(name, wanted)) {
            return i;
        }
    }
    return TORCH_MAX_ARGS;
}

static uint32_t count_names(const vtac_torch_op *op)
{
    const char *list = op->args;
    char name[48];
    bool ignored;
    uint32_t count = 0;
    while (next_name(&list, name, sizeof name, &ignored)) {
        count++;
    }
    return count;
}

static void bind_arguments(vtac_torch *im, const vtac_torch_value *args, uint32_t count,
                           const vtac_torch_named *named, uint32_t named_count)
{
    memset(im->given, 0, sizeof im->given);
    memset(im->used, 0, sizeof im->used);
    if (count > count_names(im->op)) {
        vtac_torch_refuse(im, "a call with %u arguments", count);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        im->args[i] = args[i];
        im->given[i] = true;
    }
    for (uint32_t i = 0; i < named_count; i++) {
        const uint32_t at = place_of(im->op, named[i].name);
        if (at < TORCH_MAX_ARGS) {
            im->args[at] = named[i].value;
            im->given[at] = true;
        } else if (named[i].value.kind != TORCH_NONE) {
            vtac_torch_refuse(im, "the argument '%.60s'", named[i].name);
        }
    }
}

/* An argument that the operator did not ask for must not change anything. */
static void check_used(vtac_torch *im)
{
    const char *list = im->op->args;
    char name[48];
    bool ignored;
    for (uint32_t i = 0; next_name(&list, name, sizeof name, &ignored); i++) {
        if (im->given[i] && !im->used[i] && !ignored && im->args[i].kind != TORCH_NONE) {
            vtac_torch_refuse(im, "the argument '%s' in this form", name);
        }
    }
}

const vtac_torch_value *vtac_torch_arg(vtac_torch *im, const char *name)
{
    static const vtac_torch_value none;
    const uint32_t at = place_of(im->op, name);
    if (at == TORCH_MAX_ARGS || !im->given[at]) {
        return &none;
    }
    im->used[at] = true;
    return &im->args[at];
}

bool vtac_torch_has(vtac_torch *im, const char *name)
{
    return vtac_torch_arg(im, name)->kind != TORCH_NONE;
}

static void refuse_kind(vtac_torch *im, const char *name, const vtac_torch_value *v)
{
    vtac_torch_refuse(im, "the argument '%s' is a %s", name, vtac_torch_kind_name(v->kind));
}

vtac_torch_tensor *vtac_torch_arg_tensor(vtac_torch *im, const char *name)
{
    const vtac_torch_value *v = vtac_torch_arg(im, name);
    if (v->kind != TORCH_TENSOR) {
        refuse_kind(im, name, v);
        return NULL;
    }
    return im->maker.status == VTA_OK ? v->tensor : NULL;
}

static bool has_trait(const vtac_torch *im, char trait)
{
    return strchr(im->op->traits, trait) != NULL;
}

vtac_id vtac_torch_value_id(vtac_torch *im, const vtac_torch_value *v, const char *name)
{
    if (v->kind == TORCH_TENSOR && v->tensor->quantized && has_trait(im, 'l')) {
        return vtac_torch_floats(im, v->tensor);
    }
    if (v->kind == TORCH_TENSOR && v->tensor->quantized && !has_trait(im, 'm')) {
        vtac_torch_refuse(im, "the argument '%s' is quantized", name);
        return 0;
    }
    if (v->kind == TORCH_TENSOR) {
        return vtac_torch_id(im, v->tensor);
    }
    if (!vtac_torch_is_number(v)) {
        refuse_kind(im, name, v);
        return 0;
    }
    const vtac_dtype dtype = v->kind == TORCH_FLOAT ? VTAC_F32 : v->kind == TORCH_INT ? VTAC_I64 : VTAC_BOOL;
    return vtac_make_number(&im->maker, dtype, vtac_torch_number(v));
}

vtac_id vtac_torch_in(vtac_torch *im, const char *name)
{
    return vtac_torch_value_id(im, vtac_torch_arg(im, name), name);
}

vtac_id vtac_torch_in_or_none(vtac_torch *im, const char *name)
{
    return vtac_torch_has(im, name) ? vtac_torch_in(im, name) : 0;
}

/* A number, or a tensor whose one number is known. */
static bool number_of(vtac_torch *im, const char *name, vtac_torch_value *out)
{
    *out = *vtac_torch_arg(im, name);
    if (out->kind == TORCH_NONE) {
        return false;
    }
    if (out->kind == TORCH_TENSOR && !vtac_torch_item(im, *out, out)) {
        vtac_torch_refuse(im, "the argument '%s' is a number that the run finds", name);
        return false;
    }
    if (!vtac_torch_is_number(out)) {
        refuse_kind(im, name, out);
        return false;
    }
    return true;
}

int64_t vtac_torch_int(vtac_torch *im, const char *name, int64_t otherwise)
{
    vtac_torch_value v;
    if (!number_of(im, name, &v)) {
        return otherwise;
    }
    if (v.kind == TORCH_FLOAT) {
        refuse_kind(im, name, &v);
        return otherwise;
    }
    return v.i;
}

double vtac_torch_float(vtac_torch *im, const char *name, double otherwise)
{
    vtac_torch_value v;
    return number_of(im, name, &v) ? vtac_torch_number(&v) : otherwise;
}

bool vtac_torch_flag(vtac_torch *im, const char *name, bool otherwise)
{
    vtac_torch_value v;
    return number_of(im, name, &v) ? vtac_torch_number(&v) != 0.0 : otherwise;
}

const char *vtac_torch_text(vtac_torch *im, const char *name, const char *otherwise)
{
    const vtac_torch_value *v = vtac_torch_arg(im, name);
    if (v->kind != TORCH_NONE && v->kind != TORCH_TEXT) {
        refuse_kind(im, name, v);
    }
    return v->kind == TORCH_TEXT ? v->s : otherwise;
}

uint32_t vtac_torch_ints(vtac_torch *im, const char *name, int64_t *out, uint32_t max)
{
    const vtac_torch_value *v = vtac_torch_arg(im, name);
    const bool is_list = v->kind == TORCH_LIST || v->kind == TORCH_TUPLE;
    const uint32_t count = is_list ? v->list->count : v->kind == TORCH_NONE ? 0 : 1;
    if (count > max) {
        vtac_torch_refuse(im, "the argument '%s' has %u numbers, at most %u are expected", name, count, max);
        return 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        vtac_torch_value item = is_list ? v->list->items[i] : *v;
        if (item.kind == TORCH_TENSOR && !vtac_torch_item(im, item, &item)) {
            vtac_torch_refuse(im, "the argument '%s' is a size that the run finds", name);
            return 0;
        }
        if (item.kind != TORCH_INT && item.kind != TORCH_BOOL) {
            refuse_kind(im, name, &item);
            return 0;
        }
        out[i] = item.i;
    }
    return count;
}

uint32_t vtac_torch_wrap(vtac_torch *im, int64_t axis, uint32_t rank)
{
    const int64_t room = rank == 0 ? 1 : rank;
    if (axis < -room || axis >= room) {
        vtac_make_fail(&im->maker, VTA_INVALID, "axis %lld of a tensor of rank %u", (long long)axis, rank);
        return 0;
    }
    return (uint32_t)(axis < 0 ? axis + room : axis);
}

int64_t vtac_torch_clamp(int64_t at, int64_t size)
{
    at = at < 0 ? at + size : at;
    return at < 0 ? 0 : at > size ? size : at;
}

uint32_t vtac_torch_axis(vtac_torch *im, const char *name, int64_t otherwise, uint32_t rank)
{
    return vtac_torch_wrap(im, vtac_torch_int(im, name, otherwise), rank);
}

vtac_dtype vtac_torch_dtype_arg(vtac_torch *im, const char *name, vtac_dtype otherwise)
{
    if (!vtac_torch_has(im, name)) {
        return otherwise;
    }
    const int64_t code = vtac_torch_int(im, name, 0);
    const vtac_dtype dtype = vtac_torch_dtype(code);
    if (dtype == VTAC_NO_DTYPE) {
        vtac_torch_refuse(im, "numbers of type %lld", (long long)code);
    }
    return dtype;
}

vtac_id vtac_torch_indices(vtac_torch *im, const char *name)
{
    const vtac_id id = vtac_torch_in(im, name);
    for (uint32_t i = 0; i < im->input_count; i++) {
        if (id != 0 && im->inputs[i] == id && !im->indices[i]) {
            im->indices[i] = true;
            im->again = true;
            vtac_make_fail(&im->maker, VTA_INVALID, "an input is one of indices");
            return 0;
        }
    }
    const vtac_dtype dtype = vtac_made_type(&im->maker, id).dtype;
    if (id != 0 && vtac_dtype_kind(dtype) != 'i' && dtype != VTAC_U8) {
        vtac_torch_refuse(im, "the argument '%s' holds %s instead of integers", name, vtac_dtype_name(dtype));
    }
    return dtype == VTAC_I32 || dtype == VTAC_I64 ? id : vtac_make_cast(&im->maker, id, VTAC_I64);
}

/* ---- calls */

/* The result shares the memory of the first argument. */
static void join_views(vtac_torch *im, const vtac_torch_value *result, const vtac_torch_tensor *of)
{
    const bool many = result->kind == TORCH_LIST || result->kind == TORCH_TUPLE;
    const uint32_t count = many ? result->list->count : 1;
    for (uint32_t i = 0; i < count; i++) {
        const vtac_torch_value *v = many ? &result->list->items[i] : result;
        if (v->kind == TORCH_TENSOR && v->tensor != of) {
            v->tensor->changes = of->changes;
            v->tensor->seen = of->seen;
        }
    }
    (void)im;
}

/* A moved or recomputed quantized tensor keeps its scale. */
static vtac_torch_value keep_scale(vtac_torch *im, vtac_torch_value result, const vtac_torch_tensor *of)
{
    const bool many = result.kind == TORCH_LIST || result.kind == TORCH_TUPLE;
    for (uint32_t i = 0; many && i < result.list->count; i++) {
        result.list->items[i] = keep_scale(im, result.list->items[i], of);
    }
    if (result.kind != TORCH_TENSOR || result.tensor == of || result.tensor->quantized) {
        return result;
    }
    if (of->scales != 0) {
        vtac_torch_refuse(im, "a tensor with a scale for each channel");
        return result;
    }
    if (has_trait(im, 'l')) {
        return vtac_torch_quantize_like(im, result.tensor->id, of);
    }
    result.tensor->quantized = true;
    result.tensor->scale = of->scale;
    result.tensor->zero = of->zero;
    return result;
}

/* The tensor that an operator with '_' at its end changes becomes the result. */
static vtac_torch_value change_in_place(vtac_torch *im, vtac_torch_tensor *t, vtac_torch_value result)
{
    if (result.kind != TORCH_TENSOR || result.tensor == t) {
        return result;
    }
    const vtac_id id = vtac_torch_id(im, t);
    vtac_id to = vtac_torch_id(im, result.tensor);
    if (im->maker.status != VTA_OK) {
        return result;
    }
    to = t->quantized ? to : vtac_make_cast(&im->maker, to, vtac_made_type(&im->maker, id).dtype);
    if (im->maker.status == VTA_OK && !vtac_made_alike(&im->maker, id, to)) {
        vtac_torch_refuse(im, "a change in place to another shape");
    }
    t->id = to;
    t->scale = result.tensor->scale;
    t->zero = result.tensor->zero;
    t->seen = ++*t->changes;
    return (vtac_torch_value){.kind = TORCH_TENSOR, .tensor = t};
}

/* Constants that are computed may not be out of proportion to the file. */
static void count_constants(vtac_torch *im, const vtac_torch_value *result)
{
    const bool many = result->kind == TORCH_LIST || result->kind == TORCH_TUPLE;
    const uint32_t count = many ? result->list->count : 1;
    for (uint32_t i = 0; i < count; i++) {
        const vtac_torch_value *v = many ? &result->list->items[i] : result;
        const vtac_tensor *t = v->kind == TORCH_TENSOR ? vtac_made_constant(&im->maker, v->tensor->id) : NULL;
        im->made += t == NULL ? 0 : t->bytes;
    }
    if (im->made > ((uint64_t)1 << 27) + 8 * im->stored) {
        vtac_torch_refuse(im, "a program that computes %llu MB of constants",
                          (unsigned long long)(im->made >> 20));
    }
}

static vtac_torch_value call_row(vtac_torch *im, bool in_place)
{
    const vtac_torch_op *op = im->op;
    vtac_torch_tensor *first = im->given[0] && im->args[0].kind == TORCH_TENSOR ? im->args[0].tensor : NULL;
    const bool quantized = first != NULL && first->quantized;
    vtac_torch_value result = op->make(im, op->how);
    if (im->maker.status == VTA_OK) {
        check_used(im);
        count_constants(im, &result);
    }
    if (im->maker.status == VTA_OK && quantized && (has_trait(im, 'm') || has_trait(im, 'l'))) {
        result = keep_scale(im, result, first);
    }
    if (im->maker.status == VTA_OK && first != NULL && in_place) {
        return change_in_place(im, first, result);
    }
    if (im->maker.status == VTA_OK && first != NULL && has_trait(im, 'v')) {
        join_views(im, &result, first);
    }
    return result;
}

/* "relu_": the row "relu". */
static const vtac_torch_op *find_row(const char *name, bool *in_place)
{
    char plain[80];
    const size_t length = strlen(name);
    const vtac_torch_op *op = vtac_torch_op_find(name);
    *in_place = false;
    if (op != NULL || length < 2 || length >= sizeof plain || name[length - 1] != '_' ||
        name[length - 2] == '_') {
        return op;
    }
    memcpy(plain, name, length - 1);
    plain[length - 1] = '\0';
    *in_place = true;
    return vtac_torch_op_find(plain);
}

bool vtac_torch_is_known(const char *name)
{
    static const char *const plain[] = {"__is__",       "__isnot__",
                                        "__not__",      "__getitem__",
                                        "__contains__", "append",
                                        "format",       "warn",
                                        "list",         "mod",
                                        "truediv",      "prim.min",
                                        "prim.max",     "prim.RaiseException",
                                        "prim.Print",   "prim.device",
                                        "device"};
    bool unused;
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (strcmp(name, plain[i]) == 0) {
            return true;
        }
    }
    return find_row(name, &unused) != NULL;
}

vtac_torch_value vtac_torch_call_op(vtac_torch *im, const char *name, const vtac_torch_value *args,
                                    uint32_t count, const vtac_torch_named *named, uint32_t named_count)
{
    vtac_torch_value out = vtac_torch_none;
    bool in_place;
    if (im->maker.status != VTA_OK) {
        return out;
    }
    im->op = find_row(name, &in_place);
    if (im->op == NULL) {
        char list[400] = "";
        if (im->script != NULL) {
            vtac_torch_list_unknown(im, list, sizeof list);
        }
        vtac_make_fail(&im->maker, VTA_UNSUPPORTED, "it is not supported%s%s%s",
                       list[0] == '\0' ? "" : "; its code, used or not, names these that are not: ", list,
                       "; export the model as .onnx");
    } else {
        im->maker.name = im->op->name;
        bind_arguments(im, args, count, named, named_count);
    }
    if (im->maker.status == VTA_OK) {
        out = call_row(im, in_place);
    }
    if (im->maker.status != VTA_OK) {
        (void)vta_context(im->maker.diag, "operator '%.100s'", name);
        return vtac_torch_none;
    }
    return out;
}
