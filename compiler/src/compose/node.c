/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes of operators, and terms as their inputs.
 */
#include <string.h>

#include "run.h"

vtac_dtype vtac_run_dtype(vtac_compose_run *r, const vtac_term *term)
{
    switch (term->kind) {
    case VTAC_TERM_VALUE: return r->target->dtype(r->target->context, term->handle);
    case VTAC_TERM_WHOLE: return VTAC_I64;
    case VTAC_TERM_TRUTH: return VTAC_BOOL;
    case VTAC_TERM_TYPE: return term->type;
    case VTAC_TERM_NONE:
    case VTAC_TERM_REAL:
    case VTAC_TERM_TEXT:
    case VTAC_TERM_LIST: break;
    }
    return VTAC_NO_DTYPE;
}

static vtac_term number_of(vtac_compose_run *r, const vtac_syntax *at, vtac_dtype type, double number)
{
    vtac_handle handle = 0;
    if (r->status != VTA_OK) {
        return (vtac_term){0};
    }
    if (type == VTAC_NO_DTYPE) {
        return vtac_run_fail(r, at, "the type of a number is not known here: as(number, type)");
    }
    r->status = r->target->number(r->target->context, type, number, &handle);
    return vtac_term_value(handle);
}

static vtac_term integers_of(vtac_compose_run *r, const vtac_term *items, uint32_t count)
{
    vtac_handle handle = 0;
    int64_t *values = vta_arena_array(r->arena, count, sizeof *values);
    if (values == NULL || r->status != VTA_OK) {
        r->status = r->status == VTA_OK ? VTA_NOMEM : r->status;
        return (vtac_term){0};
    }
    for (uint32_t i = 0; i < count; i++) {
        values[i] = items[i].whole;
    }
    r->status = r->target->ints(r->target->context, values, count, &handle);
    return vtac_term_value(handle);
}

/* A list of wholes as a value: neighbours that are known are one constant. */
static vtac_term list_value(vtac_compose_run *r, const vtac_syntax *at, const vtac_term *list)
{
    static const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = 0};
    vtac_term *parts = vta_arena_array(r->arena, list->count + 1, sizeof *parts);
    uint32_t count = 0;
    uint32_t i = 0;
    if (parts == NULL) {
        r->status = VTA_NOMEM;
    }
    while (r->status == VTA_OK && (i < list->count || count == 0)) {
        uint32_t known = 0;
        while (i + known < list->count && list->items[i + known].kind == VTAC_TERM_WHOLE &&
               list->items[i + known].known) {
            known++;
        }
        if (known == 0 && i < list->count) {
            if (list->items[i].kind != VTAC_TERM_WHOLE && list->items[i].kind != VTAC_TERM_VALUE) {
                return vtac_run_fail(r, at, "place %u of a list is no whole number", i);
            }
            parts[count++] = vtac_term_value(list->items[i++].handle);
            continue;
        }
        parts[count++] = integers_of(r, list->items + i, known);
        i += known;
    }
    if (r->status != VTA_OK || count == 1) {
        return r->status == VTA_OK ? parts[0] : (vtac_term){0};
    }
    const vtac_node_parts concat = {"Concat", parts, count, &axis, 1};
    vtac_term out;
    vtac_run_node(r, at, &concat, &out, 1);
    return out;
}

vtac_term vtac_run_value(vtac_compose_run *r, const vtac_syntax *at, const vtac_term *term, vtac_dtype type)
{
    switch (term->kind) {
    case VTAC_TERM_NONE:
    case VTAC_TERM_VALUE: return *term;
    case VTAC_TERM_WHOLE:
        if (term->known) {
            return number_of(r, at, type == VTAC_NO_DTYPE ? VTAC_I64 : type, (double)term->whole);
        }
        return type == VTAC_NO_DTYPE ? vtac_term_value(term->handle)
                                     : vtac_run_cast(r, at, vtac_term_value(term->handle), type);
    case VTAC_TERM_REAL: return number_of(r, at, type, term->real);
    case VTAC_TERM_LIST: return list_value(r, at, term);
    case VTAC_TERM_TRUTH:
        if (term->known) {
            return number_of(r, at, VTAC_BOOL, (double)term->whole);
        }
        break;
    case VTAC_TERM_TEXT:
    case VTAC_TERM_TYPE: break;
    }
    return vtac_run_fail(r, at, "this is no value");
}

/* The type that numbers among the inputs have: that of the first value which is not a condition. */
static vtac_dtype type_of_numbers(vtac_compose_run *r, const vtac_term *inputs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const vtac_dtype type =
            inputs[i].kind == VTAC_TERM_VALUE ? vtac_run_dtype(r, &inputs[i]) : VTAC_NO_DTYPE;
        if (type != VTAC_NO_DTYPE && type != VTAC_BOOL) {
            return type;
        }
    }
    return VTAC_NO_DTYPE;
}

/* True for a Slice of one axis that gives all of its input. */
static bool is_whole_slice(vtac_compose_run *r, const vtac_node_parts *parts)
{
    const vtac_term *inputs = parts->inputs;
    if (strcmp(parts->name, "Slice") != 0 || parts->input_count != 4 || inputs[0].kind != VTAC_TERM_VALUE) {
        return false;
    }
    int64_t from[3];
    for (uint32_t i = 0; i < 3; i++) {
        const vtac_term *list = &inputs[i + 1];
        if (list->kind != VTAC_TERM_LIST || list->count != 1 || !list->items[0].known) {
            return false;
        }
        from[i] = list->items[0].whole;
    }
    return from[0] == 0 && from[2] >= 0 &&
           r->target->dim(r->target->context, inputs[0].handle, (uint32_t)from[2]) == from[1];
}

static void make_node(vtac_compose_run *r, const vtac_template_node *node, vtac_term *out)
{
    vtac_handle made[VTAC_COMPOSE_RESULTS] = {0};
    r->status = r->target->node(r->target->context, node, made);
    for (uint32_t i = 0; i < node->output_count; i++) {
        out[i] = vtac_term_value(r->status == VTA_OK ? made[i] : 0);
    }
}

void vtac_run_node(vtac_compose_run *r, const vtac_syntax *at, const vtac_node_parts *parts, vtac_term *out,
                   uint32_t output_count)
{
    const vtac_dtype type = type_of_numbers(r, parts->inputs, parts->input_count);
    uint32_t input_count = parts->input_count;
    vtac_handle *handles = vta_arena_array(r->arena, input_count, sizeof *handles);
    memset(out, 0, output_count * sizeof *out);
    if (handles == NULL) {
        r->status = r->status == VTA_OK ? VTA_NOMEM : r->status;
        return;
    }
    if (is_whole_slice(r, parts)) {
        out[0] = parts->inputs[0];
        return;
    }
    for (uint32_t i = 0; i < input_count; i++) {
        handles[i] = vtac_run_value(r, at, &parts->inputs[i], type).handle;
    }
    while (input_count > 0 && handles[input_count - 1] == 0) {
        input_count--;
    }
    const char *name = parts->name;
    const char *point = strrchr(name, '.');
    const vtac_template_node node = {
        .domain = point == NULL ? "" : vta_arena_string(r->arena, name, (size_t)(point - name)),
        .name = point == NULL ? name : point + 1,
        .inputs = handles,
        .input_count = input_count,
        .attrs = parts->attrs,
        .attr_count = parts->attr_count,
        .output_count = output_count};
    if (r->status == VTA_OK && node.domain != NULL) {
        make_node(r, &node, out);
    }
}

vtac_term vtac_run_node1(vtac_compose_run *r, const vtac_syntax *at, const char *name, vtac_term a)
{
    const vtac_node_parts parts = {.name = name, .inputs = &a, .input_count = 1};
    vtac_term out;
    vtac_run_node(r, at, &parts, &out, 1);
    return out;
}

vtac_term vtac_run_node2(vtac_compose_run *r, const vtac_syntax *at, const char *name, vtac_term a,
                         vtac_term b)
{
    const vtac_term inputs[] = {a, b};
    const vtac_node_parts parts = {.name = name, .inputs = inputs, .input_count = 2};
    vtac_term out;
    vtac_run_node(r, at, &parts, &out, 1);
    return out;
}

vtac_term vtac_run_cast(vtac_compose_run *r, const vtac_syntax *at, vtac_term x, vtac_dtype type)
{
    vtac_term out;
    if (vtac_run_dtype(r, &x) == type || r->status != VTA_OK) {
        return x;
    }
    const vtac_attr to = {.name = "to", .kind = VTAC_ATTR_STRING, .s = vtac_dtype_name(type)};
    const vtac_node_parts parts = {"Cast", &x, 1, &to, 1};
    vtac_run_node(r, at, &parts, &out, 1);
    return out;
}
