/* SPDX-License-Identifier: Apache-2.0
 *
 * What compositions are built with. See compose.h.
 */
#include "compose.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../compose/graph.h"
#include "vta/fail.h"
#include "vtac/onnx.h"

/* NOLINTBEGIN(readability-identifier-naming): as in compose.def */
static const char ONNX[] = "";
static const char MS[] = "com.microsoft";
static const char ML[] = "ai.onnx.ml";
static const char PREVIEW[] = "ai.onnx.preview";
static const char TRAIN[] = "ai.onnx.preview.training";
/* NOLINTEND(readability-identifier-naming) */
enum { NEWEST = INT32_MAX };

static const struct {
    vtac_compose_fn *function;
    vtac_composition what;
    int64_t last;
} table[] = {
#define COMPOSED(function, name, domain, since, last, limits)                                                \
    {vtac_composed_##function, {name, domain, since, limits}, last},
#include "compose.def"
};
enum { ROWS = sizeof table / sizeof table[0] };

/* True for a text of an operator that models name: other front ends have words of their own. */
static bool is_of_models(const vtac_template_row *row)
{
    static const char *const domains[] = {ONNX, MS, ML, PREVIEW, TRAIN};
    for (size_t i = 0; i < sizeof domains / sizeof domains[0]; i++) {
        if (strcmp(row->domain, domains[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool vtac_composition_get(uint32_t i, vtac_composition *out)
{
    if (i < ROWS) {
        *out = table[i].what;
        return true;
    }
    i -= ROWS;
    for (const vtac_template_row *row = vtac_template_rows; row->name != NULL; row++) {
        if (is_of_models(row) && !row->open && i-- == 0) {
            *out = (vtac_composition){row->name, row->domain, row->since, row->limits};
            return true;
        }
    }
    return false;
}

bool vtac_is_composed(const char *domain, const char *name)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(table[i].what.name, name) == 0 && strcmp(table[i].what.domain, domain) == 0) {
            return true;
        }
    }
    return vtac_template_find(domain, name, 0, false) != NULL;
}

static vta_status compose_call(vtac_importer *im, const vtac_draft *draft, size_t row, vtac_value_id *out,
                               vta_diag *diag)
{
    vtac_compose c = {.im = im, .of = draft, .make = vtac_builder_at(im, draft->name, diag)};
    table[row].function(&c, out);
    for (uint32_t i = 0; out[0] != 0 && i < draft->output_count; i++) {
        if (c.make.status == VTA_OK && out[i] == 0) {
            (void)vtac_compose_fail(&c, VTA_UNSUPPORTED, "its output %u is not made", i);
        }
    }
    return c.make.status;
}

/* An operator that a text is made of and that a function composes. */
static vta_status compose_other(void *context, vtac_import_builder *m, const vtac_template_node *node,
                                vtac_id *out)
{
    const vtac_draft *of = ((const vtac_compose *)context)->of;
    vtac_draft *draft = malloc(sizeof *draft);
    vtac_value_id *values = malloc(VTAC_MAX_INPUTS * sizeof *values);
    bool done = false;
    vta_status status = vta_allocated(draft != NULL && values != NULL, m->diag);
    if (status == VTA_OK) {
        *draft = (vtac_draft){.op_type = node->name,
                              .domain = node->domain,
                              .name = of->name,
                              .opset = VTAC_NEWEST_OPSET,
                              .input_count = node->input_count,
                              .attr_count = node->attr_count,
                              .output_count = node->output_count,
                              .at = of->at};
        for (uint32_t i = 0; i < node->input_count; i++) {
            draft->inputs[i] = (vtac_value_id)node->inputs[i];
        }
        memcpy(draft->attrs, node->attrs, node->attr_count * sizeof *node->attrs);
        status = vtac_compose_draft(((const vtac_compose *)context)->im, draft, values, &done, m->diag);
    }
    if (status == VTA_OK && !done) {
        status =
            vta_fail(m->diag, VTA_UNSUPPORTED, "there is no operator '%.64s' to compose it of", node->name);
    }
    for (uint32_t i = 0; status == VTA_OK && i < node->output_count; i++) {
        out[i] = values[i];
    }
    free(values);
    free(draft);
    return status;
}

static vta_status compose_text(vtac_importer *im, const vtac_draft *draft, const vtac_template_row *row,
                               vtac_value_id *out, vta_diag *diag)
{
    vtac_compose c = {.im = im, .of = draft, .make = vtac_builder_at(im, draft->name, diag)};
    char *const *names = draft->node == NULL ? NULL : draft->node->output;
    const vtac_composed_node node = {.inputs = draft->inputs,
                                     .input_count = draft->input_count,
                                     .attrs = draft->attrs,
                                     .attr_count = draft->attr_count,
                                     .output_names = (const char *const *)names,
                                     .output_count = draft->output_count,
                                     .other = compose_other,
                                     .context = &c};
    c.make.budget = im->budget;
    vtac_compose_graph(&c.make, row, &node, out);
    im->budget = im->budget < c.make.budget ? im->budget : c.make.budget;
    return c.make.status;
}

vta_status vtac_compose_draft(vtac_importer *im, const vtac_draft *draft, vtac_value_id *out, bool *done,
                              vta_diag *diag)
{
    size_t row = 0;
    const vtac_template_row *text =
        vtac_template_find(draft->domain, draft->op_type, draft->domain[0] == '\0' ? draft->opset : 0, false);
    while (row < ROWS && (strcmp(table[row].what.name, draft->op_type) != 0 ||
                          strcmp(table[row].what.domain, draft->domain) != 0 ||
                          (draft->domain[0] == '\0' &&
                           (draft->opset < table[row].what.since || draft->opset > table[row].last)))) {
        row++;
    }
    *done = row < ROWS || text != NULL;
    if (!*done) {
        return VTA_OK;
    }
    memset(out, 0, VTAC_MAX_INPUTS * sizeof *out);
    VTA_TRY(text != NULL ? compose_text(im, draft, text, out, diag)
                         : compose_call(im, draft, row, out, diag));
    *done = out[0] != 0;
    return VTA_OK;
}

vtac_value_id vtac_compose_fail(vtac_compose *c, vta_status status, const char *format, ...)
{
    if (c->make.status == VTA_OK) {
        char text[256];
        va_list args;
        va_start(args, format);
        (void)vsnprintf(text, sizeof text, format, args);
        va_end(args);
        c->make.status = vta_fail(c->make.diag, status, "%s", text);
    }
    return 0;
}

/* ---- the operator that is composed */

bool vtac_c_has(const vtac_compose *c, uint32_t i)
{
    return i < c->of->input_count && c->of->inputs[i] != 0;
}

vtac_value_id vtac_c_in(vtac_compose *c, uint32_t i)
{
    return vtac_c_has(c, i) ? c->of->inputs[i] : vtac_compose_fail(c, VTA_INVALID, "input %u is missing", i);
}

const vtac_attr *vtac_c_attr(const vtac_compose *c, const char *name)
{
    for (uint32_t i = 0; i < c->of->attr_count; i++) {
        if (strcmp(c->of->attrs[i].name, name) == 0) {
            return &c->of->attrs[i];
        }
    }
    return NULL;
}

int64_t vtac_c_int(const vtac_compose *c, const char *name, int64_t otherwise)
{
    const vtac_attr *attr = vtac_c_attr(c, name);
    return attr != NULL && attr->kind == VTAC_ATTR_INT ? attr->i : otherwise;
}

double vtac_c_float(const vtac_compose *c, const char *name, double otherwise)
{
    const vtac_attr *attr = vtac_c_attr(c, name);
    return attr != NULL && attr->kind == VTAC_ATTR_FLOAT ? attr->f : otherwise;
}

const char *vtac_c_string(const vtac_compose *c, const char *name, const char *otherwise)
{
    const vtac_attr *attr = vtac_c_attr(c, name);
    return attr != NULL && attr->kind == VTAC_ATTR_STRING ? attr->s : otherwise;
}

vtac_value_id vtac_c_apply(vtac_compose *c, const char *attr, vtac_value_id x)
{
    const Onnx__AttributeProto *found = c->of->node == NULL ? NULL : vtac_proto_attr(c->of->node, attr);
    found = found == NULL ? NULL : vtac_resolve_attr(found, c->of->at->caller);
    if (found == NULL || c->make.status != VTA_OK) {
        return x;
    }
    const Onnx__GraphProto *body = found->g;
    if (body == NULL || body->n_input != 1 || body->n_output != 1) {
        return vtac_compose_fail(c, VTA_INVALID, "'%s' is to be a graph with one input and one output", attr);
    }
    vtac_scope scope = {.outer = c->of->at->scope};
    vtac_value_id y = 0;
    c->make.status = vtac_scope_set(&scope, vtac_proto_text(body->input[0]->name), x, c->make.diag);
    if (c->make.status == VTA_OK) {
        c->make.status = vtac_import_body(c->im, c->of->at, &scope, body, &y, c->make.diag);
    }
    free(scope.slots);
    const vtac_type given = vtac_c_type(c, x), made = vtac_c_type(c, y);
    if (c->make.status == VTA_OK && (y == 0 || !vtac_type_equal(&given, &made))) {
        return vtac_compose_fail(c, VTA_INVALID, "'%s' is to keep the type and shape of what it is given",
                                 attr);
    }
    return y;
}

vtac_type vtac_c_type(const vtac_compose *c, vtac_value_id value)
{
    static const vtac_type some = {.dtype = VTAC_F32, .rank = VTAC_MAX_RANK, .dim = {1, 1, 1, 1, 1, 1, 1, 1}};
    return value == 0 || c->make.status != VTA_OK ? some : c->im->graph->values[value].type;
}

int64_t vtac_c_elements(const vtac_compose *c, vtac_value_id value)
{
    const vtac_type type = vtac_c_type(c, value);
    return vtac_type_elements(&type);
}

uint32_t vtac_c_rank(const vtac_compose *c, vtac_value_id value)
{
    return vtac_c_type(c, value).rank;
}

int64_t vtac_c_dim(const vtac_compose *c, vtac_value_id value, uint32_t axis)
{
    return vtac_c_type(c, value).dim[axis];
}

vtac_dtype vtac_c_dtype(const vtac_compose *c, vtac_value_id value)
{
    return vtac_c_type(c, value).dtype;
}

const vtac_tensor *vtac_c_known(const vtac_compose *c, vtac_value_id value)
{
    return value == 0 || c->make.status != VTA_OK ? NULL : c->im->graph->values[value].constant;
}

bool vtac_c_known_ints(vtac_compose *c, uint32_t i, int64_t *out, uint32_t room, uint32_t *count)
{
    const vtac_tensor *known = vtac_c_known(c, vtac_c_in(c, i));
    const int64_t elements = known == NULL ? 0 : vtac_type_elements(&known->type);
    if (c->make.status == VTA_OK && known == NULL) {
        (void)vtac_compose_fail(c, VTA_UNSUPPORTED, "input %u is not known at compile time", i);
    } else if (c->make.status == VTA_OK &&
               (elements < 0 || elements > room || vtac_dtype_kind(known->type.dtype) == 'f')) {
        (void)vtac_compose_fail(c, VTA_INVALID, "input %u needs at most %u integers", i, room);
    }
    for (int64_t k = 0; c->make.status == VTA_OK && k < elements; k++) {
        out[k] = vtac_tensor_int(known, k);
    }
    *count = (uint32_t)elements;
    return c->make.status == VTA_OK;
}

double vtac_c_known_number(vtac_compose *c, uint32_t i)
{
    const vtac_tensor *known = vtac_c_known(c, vtac_c_in(c, i));
    if (c->make.status == VTA_OK && known == NULL) {
        (void)vtac_compose_fail(c, VTA_UNSUPPORTED, "input %u is not known at compile time", i);
    } else if (c->make.status == VTA_OK && vtac_type_elements(&known->type) != 1) {
        (void)vtac_compose_fail(c, VTA_INVALID, "input %u needs one number", i);
    }
    return c->make.status == VTA_OK ? vtac_tensor_float(known, 0) : 0.0;
}

int64_t vtac_c_known_integer(vtac_compose *c, uint32_t i)
{
    int64_t value = 0;
    uint32_t count;
    if (vtac_c_known_ints(c, i, &value, 1, &count) && count != 1) {
        (void)vtac_compose_fail(c, VTA_INVALID, "input %u needs one integer", i);
    }
    return value;
}

double *vtac_c_room(vtac_compose *c, int64_t count)
{
    double *numbers =
        count < 0 ? NULL : vta_arena_array(&c->im->graph->arena, (size_t)count, sizeof *numbers);
    if (numbers == NULL) {
        (void)vtac_compose_fail(c, VTA_NOMEM, "out of memory");
    }
    return numbers;
}

vtac_dtype vtac_c_dtype_attr(vtac_compose *c, const char *name, vtac_dtype otherwise)
{
    const vtac_attr *attr = vtac_c_attr(c, name);
    vtac_dtype dtype = otherwise;
    if (attr != NULL && attr->kind == VTAC_ATTR_STRING) { /* its number was read before */
        dtype = vtac_dtype_parse(attr->s);
    } else if (attr != NULL && attr->kind == VTAC_ATTR_INT &&
               vtac_import_dtype(attr->i, &dtype, c->make.diag) != VTA_OK) {
        c->make.status = c->make.status == VTA_OK ? VTA_UNSUPPORTED : c->make.status;
    }
    if (dtype == VTAC_NO_DTYPE) {
        (void)vtac_compose_fail(c, VTA_UNSUPPORTED, "attribute '%s' is no type that is known", name);
        return otherwise;
    }
    return dtype;
}

uint32_t vtac_c_axis(vtac_compose *c, int64_t axis, uint32_t rank)
{
    if (axis < -(int64_t)rank || axis >= (int64_t)rank) {
        return vtac_compose_fail(c, VTA_RANGE, "axis %lld is outside -%u ... %d", (long long)axis, rank,
                                 (int)rank - 1);
    }
    return (uint32_t)(axis < 0 ? axis + rank : axis);
}

bool vtac_c_expect_rank(vtac_compose *c, uint32_t input, uint32_t rank)
{
    const vtac_value_id x = vtac_c_in(c, input);
    if (c->make.status == VTA_OK && vtac_c_rank(c, x) != rank) {
        (void)vtac_compose_fail(c, VTA_INVALID, "input %u has %u axes, expected %u", input, vtac_c_rank(c, x),
                                rank);
    }
    return c->make.status == VTA_OK;
}

/* ---- nodes */

static void set_attr(vtac_compose *c, vtac_attr attr)
{
    if (c->attr_count < VTAC_MAX_ATTRS) {
        c->attrs[c->attr_count++] = attr;
    }
}

void vtac_c_set_int(vtac_compose *c, const char *name, int64_t value)
{
    set_attr(c, (vtac_attr){.name = name, .kind = VTAC_ATTR_INT, .i = value});
}

void vtac_c_set_float(vtac_compose *c, const char *name, double value)
{
    set_attr(c, (vtac_attr){.name = name, .kind = VTAC_ATTR_FLOAT, .f = value});
}

void vtac_c_set_string(vtac_compose *c, const char *name, const char *value)
{
    set_attr(c, (vtac_attr){.name = name, .kind = VTAC_ATTR_STRING, .s = value});
}

void vtac_c_set_ints(vtac_compose *c, const char *name, const int64_t *values, size_t count)
{
    set_attr(c, (vtac_attr){.name = name, .kind = VTAC_ATTR_INTS, .count = count, .ints = values});
}

void vtac_c_nodes(vtac_compose *c, vtac_op op, const vtac_value_id *inputs, uint32_t count,
                  vtac_value_id *out, uint32_t outputs)
{
    memset(out, 0, outputs * sizeof *out);
    if (c->make.status == VTA_OK && count <= VTAC_MAX_INPUTS) {
        c->make.status = vtac_charge(c->im, c->make.diag);
        c->make.budget = 1;
        vtac_make_many(&c->make, op, inputs, count, c->attrs, c->attr_count, out, outputs);
    }
    c->attr_count = 0;
}

vtac_value_id vtac_c_node(vtac_compose *c, vtac_op op, const vtac_value_id *inputs, uint32_t count)
{
    vtac_value_id out;
    vtac_c_nodes(c, op, inputs, count, &out, 1);
    return out;
}

/* ---- constants */

vtac_value_id vtac_c_ints(vtac_compose *c, const int64_t *values, uint32_t count)
{
    vtac_value_id out = 0;
    if (c->make.status == VTA_OK) {
        c->make.status = vtac_emit_ints(c->im, values, count, &out, c->make.diag);
    }
    return out;
}

vtac_value_id vtac_c_numbers(vtac_compose *c, const vtac_type *type, const double *values)
{
    const int64_t count = vtac_type_elements(type);
    const vtac_dtype plain = vtac_dtype_kind(type->dtype) == 'f' ? VTAC_F64 : VTAC_I64;
    if (c->make.status != VTA_OK) {
        return 0;
    }
    union {
        double f;
        int64_t i;
    } *data = vta_arena_array(&c->im->graph->arena, (size_t)count, sizeof *data);
    if (data == NULL) {
        return vtac_compose_fail(c, VTA_NOMEM, "out of memory");
    }
    for (int64_t i = 0; i < count; i++) {
        if (plain == VTAC_F64) {
            data[i].f = values[i];
        } else {
            data[i].i = (int64_t)values[i];
        }
    }
    vtac_tensor tensor = {*type, data, (size_t)count * sizeof *data};
    tensor.type.dtype = plain;
    vtac_value_id value = 0;
    c->make.status = vtac_add_constant(c->im->graph, NULL, &tensor, &value, c->make.diag);
    return vtac_c_cast(c, value, type->dtype);
}

vtac_value_id vtac_c_number(vtac_compose *c, vtac_dtype dtype, double value)
{
    const vtac_type type = {.dtype = dtype};
    return vtac_c_numbers(c, &type, &value);
}

/* ---- shapes */

vtac_value_id vtac_c_reshape(vtac_compose *c, vtac_value_id x, const int64_t *dim, uint32_t rank)
{
    const vtac_value_id shape = vtac_c_ints(c, dim, rank);
    vtac_c_set_int(c, "allowzero", 1);
    return vtac_c2(c, VTAC_OP_RESHAPE, x, shape);
}

vtac_value_id vtac_c_like(vtac_compose *c, vtac_value_id x, const vtac_type *shape)
{
    return vtac_c_reshape(c, x, shape->dim, shape->rank);
}

vtac_value_id vtac_c_transpose(vtac_compose *c, vtac_value_id x, const int64_t *order, uint32_t rank)
{
    vtac_c_set_ints(c, "perm", order, rank);
    return vtac_c1(c, VTAC_OP_TRANSPOSE, x);
}

vtac_value_id vtac_c_expand(vtac_compose *c, vtac_value_id x, const int64_t *dim, uint32_t rank)
{
    return vtac_c2(c, VTAC_OP_EXPAND, x, vtac_c_ints(c, dim, rank));
}

vtac_value_id vtac_c_unsqueeze(vtac_compose *c, vtac_value_id x, int64_t axis)
{
    return vtac_c2(c, VTAC_OP_UNSQUEEZE, x, vtac_c_ints(c, &axis, 1));
}

vtac_value_id vtac_c_squeeze(vtac_compose *c, vtac_value_id x, int64_t axis)
{
    return vtac_c2(c, VTAC_OP_SQUEEZE, x, vtac_c_ints(c, &axis, 1));
}

vtac_value_id vtac_c_slice(vtac_compose *c, vtac_value_id x, uint32_t axis, int64_t from, int64_t to)
{
    const int64_t which = axis;
    const vtac_value_id inputs[] = {x, vtac_c_ints(c, &from, 1), vtac_c_ints(c, &to, 1),
                                    vtac_c_ints(c, &which, 1)};
    return from == 0 && to == vtac_c_dim(c, x, axis) ? x : vtac_c_node(c, VTAC_OP_SLICE, inputs, 4);
}

vtac_value_id vtac_c_concat(vtac_compose *c, const vtac_value_id *parts, uint32_t count, int64_t axis)
{
    vtac_c_set_int(c, "axis", axis);
    return vtac_c_node(c, VTAC_OP_CONCAT, parts, count);
}

vtac_value_id vtac_c_pad(vtac_compose *c, vtac_value_id x, uint32_t axis, int64_t before, int64_t after)
{
    int64_t pads[2 * VTAC_MAX_RANK] = {0};
    const uint32_t rank = vtac_c_rank(c, x);
    if (before == 0 && after == 0) {
        return x;
    }
    pads[axis] = before;
    pads[rank + axis] = after;
    return vtac_c2(c, VTAC_OP_PAD, x, vtac_c_ints(c, pads, 2 * rank));
}

vtac_value_id vtac_c_along(vtac_compose *c, vtac_value_id x, uint32_t axis, uint32_t rank)
{
    int64_t dim[VTAC_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) {
        dim[i] = i == axis ? vtac_c_elements(c, x) : 1;
    }
    return vtac_c_reshape(c, x, dim, rank);
}

vtac_value_id vtac_c_fill(vtac_compose *c, const vtac_type *type, double value)
{
    return vtac_c_expand(c, vtac_c_number(c, type->dtype, value), type->dim, type->rank);
}

vtac_value_id vtac_c_gather_elements(vtac_compose *c, vtac_value_id x, vtac_value_id indices, int64_t axis)
{
    vtac_c_set_int(c, "axis", axis);
    return vtac_c2(c, VTAC_OP_GATHER_ELEMENTS, x, indices);
}

vtac_value_id vtac_c_cast(vtac_compose *c, vtac_value_id x, vtac_dtype dtype)
{
    if (c->make.status != VTA_OK || vtac_c_dtype(c, x) == dtype) {
        return x;
    }
    const bool of_text = vtac_c_dtype(c, x) == VTAC_TEXT;
    const vtac_op op = of_text || dtype == VTAC_TEXT ? VTAC_OP_BIT_CAST : VTAC_OP_CAST;
    x = dtype == VTAC_TEXT ? vtac_c_cast(c, x, VTAC_I64) : x;
    vtac_c_set_string(c, "to", vtac_dtype_name(of_text ? VTAC_I64 : dtype));
    const vtac_value_id y = vtac_c1(c, op, x);
    return of_text ? vtac_c_cast(c, y, dtype) : y;
}

vtac_value_id vtac_c_reduce(vtac_compose *c, vtac_op op, vtac_value_id x, uint32_t first, uint32_t last)
{
    int64_t axes[VTAC_MAX_RANK];
    uint32_t count = 0;
    for (uint32_t i = first; i <= last && count < VTAC_MAX_RANK; i++) {
        axes[count++] = i;
    }
    const vtac_value_id list = vtac_c_ints(c, axes, count);
    vtac_c_set_int(c, "keepdims", 1);
    return vtac_c2(c, op, x, list);
}

vtac_value_id vtac_c_softmax(vtac_compose *c, vtac_value_id x, int64_t axis)
{
    vtac_c_set_int(c, "axis", axis);
    return vtac_c1(c, VTAC_OP_SOFTMAX, x);
}

vtac_value_id vtac_c_range(vtac_compose *c, vtac_dtype dtype, int64_t count)
{
    const vtac_value_id start = vtac_c_number(c, dtype, 0.0);
    const vtac_value_id limit = vtac_c_number(c, dtype, (double)count);
    return vtac_c3(c, VTAC_OP_RANGE, start, limit, vtac_c_number(c, dtype, 1.0));
}

vtac_value_id vtac_c_gather(vtac_compose *c, vtac_value_id x, vtac_value_id indices, int64_t axis)
{
    vtac_c_set_int(c, "axis", axis);
    return vtac_c2(c, VTAC_OP_GATHER, x, indices);
}

const int64_t *vtac_c_texts(vtac_compose *c, const char *const *texts, size_t count)
{
    vtac_tensor tensor = {.data = NULL};
    if (c->make.status == VTA_OK) {
        c->make.status = vtac_import_texts(c->im, texts, count, &tensor, c->make.diag);
    }
    return c->make.status == VTA_OK ? tensor.data : NULL;
}
