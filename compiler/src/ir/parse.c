/* SPDX-License-Identifier: Apache-2.0
 *
 * The text form back to a graph, line by line; print.c describes it. Types that nodes declare are checked
 * against inference.
 */
#include <stdlib.h>
#include <string.h>

#include "scan.h"
#include "vta/fail.h"
#include "vta/vec.h"

/* The lists of one node, on their way into the graph. */
typedef struct draft {
    vta_vec inputs, names, types, attrs;
    vta_vec items; /* of one list attribute */
} draft;

typedef struct parser {
    vtac_scan s;
    vtac_graph *graph;
    draft d;
} parser;

static vta_status push_item(parser *p, vta_vec *vec, const void *item)
{
    return vta_allocated(vta_vec_push(vec, item) != NULL, p->s.diag);
}

/* %name: type, of a value that is new here */
static vta_status parse_definition(parser *p, const char **name, vtac_type *type)
{
    VTA_TRY(vtac_scan_expect(&p->s, '%'));
    const char *start = p->s.at;
    VTA_TRY(vtac_scan_name(&p->s, name));
    if ((*name)[0] == '\0') {
        return vtac_scan_fail_at(&p->s, start, "the name is empty");
    }
    if (vtac_find_value(p->graph, *name) != 0) {
        return vtac_scan_fail_at(&p->s, start, "there is a '%s' already", *name);
    }
    VTA_TRY(vtac_scan_expect(&p->s, ':'));
    return vtac_scan_type(&p->s, type);
}

/* %name or _ */
static vta_status parse_use(parser *p, vtac_value_id *out)
{
    const char *name;
    *out = 0;
    if (vtac_scan_word(&p->s, "_")) {
        return VTA_OK;
    }
    const char *start = p->s.at;
    VTA_TRY(vtac_scan_expect(&p->s, '%'));
    VTA_TRY(vtac_scan_name(&p->s, &name));
    *out = vtac_find_value(p->graph, name);
    return *out != 0 ? VTA_OK : vtac_scan_fail_at(&p->s, start, "no line above defines '%s'", name);
}

static vta_status parse_input(parser *p)
{
    const char *name;
    vtac_type type;
    vtac_value_id value;
    VTA_TRY(parse_definition(p, &name, &type));
    return vtac_add_input(p->graph, name, &type, &value, p->s.diag);
}

static vta_status parse_constant(parser *p)
{
    const char *name;
    vtac_type type;
    vtac_tensor tensor;
    vtac_value_id value;
    VTA_TRY(parse_definition(p, &name, &type));
    VTA_TRY(vtac_scan_expect(&p->s, '='));
    VTA_TRY(vtac_scan_contents(&p->s, &type, &tensor));
    return vtac_add_constant(p->graph, name, &tensor, &value, p->s.diag);
}

static vta_status parse_output(parser *p)
{
    vtac_value_id value;
    vtac_scan_blanks(&p->s);
    const char *start = p->s.at;
    VTA_TRY(parse_use(p, &value));
    if (value == 0) {
        return vtac_scan_fail_at(&p->s, start, "expected a value");
    }
    return vtac_add_output(p->graph, value, p->s.diag);
}

/* 1, or 1.5f */
static vta_status parse_number(parser *p, vtac_attr_kind *kind, int64_t *i, double *f)
{
    vtac_scan_blanks(&p->s);
    const char *start = p->s.at;
    VTA_TRY(vtac_scan_float(&p->s, f));
    if (vtac_scan_char(&p->s, 'f')) {
        *kind = VTAC_ATTR_FLOAT;
        *f = (double)(float)*f; /* attributes are float32 */
        return VTA_OK;
    }
    p->s.at = start;
    *kind = VTAC_ATTR_INT;
    return vtac_scan_int(&p->s, INT64_MIN, INT64_MAX, i);
}

/* One element of a list; all have one kind. */
static vta_status parse_item(parser *p, vtac_attr_kind *kind)
{
    vtac_scan_blanks(&p->s);
    const char *start = p->s.at;
    union {
        int64_t i;
        double f;
        const char *s;
    } item = {0};
    vtac_attr_kind one = VTAC_ATTR_STRING;
    if (vtac_scan_sees_string(&p->s)) {
        VTA_TRY(vtac_scan_string(&p->s, &item.s));
    } else {
        int64_t i = 0;
        double f = 0.0;
        VTA_TRY(parse_number(p, &one, &i, &f));
        if (one == VTAC_ATTR_INT) {
            item.i = i;
        } else {
            item.f = f;
        }
    }
    const vtac_attr_kind list = one == VTAC_ATTR_INT     ? VTAC_ATTR_INTS
                                : one == VTAC_ATTR_FLOAT ? VTAC_ATTR_FLOATS
                                                         : VTAC_ATTR_STRINGS;
    if (p->d.items.count > 0 && list != *kind) {
        return vtac_scan_fail_at(&p->s, start, "the elements of a list have one kind");
    }
    *kind = list;
    return push_item(p, &p->d.items, &item);
}

/* The kind of a list without elements, told by a letter behind it. */
static vtac_attr_kind empty_kind(parser *p)
{
    return vtac_scan_char(&p->s, 'f')   ? VTAC_ATTR_FLOATS
           : vtac_scan_char(&p->s, 's') ? VTAC_ATTR_STRINGS
                                        : VTAC_ATTR_INTS;
}

/* The elements found, for the graph to keep. */
static vta_status keep_items(parser *p, vtac_attr *attr)
{
    attr->count = p->d.items.count;
    int64_t *kept = vta_arena_array(&p->graph->arena, attr->count, sizeof *kept);
    if (kept == NULL) {
        return vta_no_memory(p->s.diag);
    }
    if (attr->count > 0) {
        memcpy(kept, p->d.items.items, attr->count * sizeof *kept);
    }
    attr->ints = kept; /* integers, doubles and pointers have one size */
    return VTA_OK;
}

static vta_status parse_list(parser *p, vtac_attr *attr)
{
    p->d.items.count = 0;
    while (!vtac_scan_char(&p->s, ']')) {
        VTA_TRY(vtac_scan_comma(&p->s, p->d.items.count == 0));
        VTA_TRY(parse_item(p, &attr->kind));
    }
    if (p->d.items.count == 0) {
        attr->kind = empty_kind(p);
    }
    return keep_items(p, attr);
}
_Static_assert(sizeof(int64_t) == sizeof(double) && sizeof(int64_t) >= sizeof(char *), "list items");

static vta_status parse_attr_value(parser *p, vtac_attr *attr)
{
    vtac_scan_blanks(&p->s);
    if (vtac_scan_sees_string(&p->s)) {
        attr->kind = VTAC_ATTR_STRING;
        return vtac_scan_string(&p->s, &attr->s);
    }
    if (vtac_scan_char(&p->s, '[')) {
        return parse_list(p, attr);
    }
    if (vtac_scan_sees_type(&p->s)) {
        vtac_type type;
        VTA_TRY(vtac_scan_type(&p->s, &type));
        attr->kind = VTAC_ATTR_TENSOR;
        return vtac_scan_contents(&p->s, &type, &attr->tensor);
    }
    int64_t i = 0;
    double f = 0.0;
    VTA_TRY(parse_number(p, &attr->kind, &i, &f));
    if (attr->kind == VTAC_ATTR_INT) {
        attr->i = i;
    } else {
        attr->f = f;
    }
    return VTA_OK;
}

/* {name=value, ...} */
static vta_status parse_attrs(parser *p)
{
    p->d.attrs.count = 0;
    if (!vtac_scan_char(&p->s, '{')) {
        return VTA_OK;
    }
    do {
        vtac_attr attr = {0};
        VTA_TRY(vtac_scan_name(&p->s, &attr.name));
        VTA_TRY(vtac_scan_expect(&p->s, '='));
        VTA_TRY(parse_attr_value(p, &attr));
        VTA_TRY(push_item(p, &p->d.attrs, &attr));
    } while (vtac_scan_char(&p->s, ','));
    return vtac_scan_expect(&p->s, '}');
}

/* Conv, or com.microsoft.QLinearAdd */
static vta_status parse_op(parser *p, vtac_op *out)
{
    const char *text;
    vtac_scan_blanks(&p->s);
    const char *start = p->s.at;
    VTA_TRY(vtac_scan_name(&p->s, &text));
    const char *dot = strrchr(text, '.');
    const char *domain = dot == NULL ? "" : vta_arena_string(&p->graph->arena, text, (size_t)(dot - text));
    if (domain == NULL) {
        return vta_no_memory(p->s.diag);
    }
    *out = vtac_op_find(domain, dot == NULL ? text : dot + 1);
    return *out != VTAC_OP_COUNT ? VTA_OK
                                 : vtac_scan_fail_at(&p->s, start, "there is no operator '%s'", text);
}

/* %a: type, %b: type */
static vta_status parse_results(parser *p)
{
    p->d.names.count = p->d.types.count = 0;
    do {
        const char *name;
        vtac_type type;
        vtac_scan_blanks(&p->s);
        VTA_TRY(parse_definition(p, &name, &type));
        VTA_TRY(push_item(p, &p->d.names, &name));
        VTA_TRY(push_item(p, &p->d.types, &type));
    } while (vtac_scan_char(&p->s, ','));
    return VTA_OK;
}

/* (%x, _, %y) */
static vta_status parse_operands(parser *p)
{
    p->d.inputs.count = 0;
    VTA_TRY(vtac_scan_expect(&p->s, '('));
    while (!vtac_scan_char(&p->s, ')')) {
        vtac_value_id value;
        VTA_TRY(vtac_scan_comma(&p->s, p->d.inputs.count == 0));
        VTA_TRY(parse_use(p, &value));
        VTA_TRY(push_item(p, &p->d.inputs, &value));
    }
    return VTA_OK;
}

static vta_status check_types(parser *p, const char *start, const vtac_node *node)
{
    for (uint32_t i = 0; i < node->output_count; i++) {
        const vtac_type *declared = vta_vec_at(&p->d.types, i);
        const vtac_value *value = &p->graph->values[node->outputs[i]];
        const char *const *name = vta_vec_at(&p->d.names, i);
        char a[200];
        char b[200];
        if (!vtac_type_equal(declared, &value->type)) {
            return vtac_scan_fail_at(&p->s, start, "'%s' is declared %s, but %s gives %s", *name,
                                     vtac_type_text(declared, a, sizeof a), vtac_op_get(node->op)->name,
                                     vtac_type_text(&value->type, b, sizeof b));
        }
        if (strcmp(value->name, *name) != 0) {
            return vtac_scan_fail_at(&p->s, start, "'%s' is defined twice", *name);
        }
    }
    return VTA_OK;
}

/* # "name" @17, where it is there */
static vta_status parse_origin(parser *p, vtac_node_spec *spec)
{
    int64_t origin = 0;
    if (!vtac_scan_char(&p->s, '#')) {
        return VTA_OK;
    }
    VTA_TRY(vtac_scan_string(&p->s, &spec->name));
    const bool given = vtac_scan_char(&p->s, '@');
    const vta_status status = given ? vtac_scan_int(&p->s, 0, UINT32_MAX, &origin) : VTA_OK;
    spec->origin = (uint32_t)origin;
    return status;
}

/* Adds what has been read to the graph. */
static vta_status add_node(parser *p, const char *start, vtac_node_spec *spec)
{
    spec->inputs = p->d.inputs.items;
    spec->input_count = (uint32_t)p->d.inputs.count;
    spec->output_count = (uint32_t)p->d.names.count;
    spec->output_names = p->d.names.items;
    spec->attrs = p->d.attrs.items;
    spec->attr_count = (uint32_t)p->d.attrs.count;
    vtac_node_id id;
    vta_diag own = {0};
    const vta_status status = vtac_add_node(p->graph, spec, &id, &own);
    if (status == VTA_NOMEM) {
        return vta_fail(p->s.diag, status, "%s", own.text);
    }
    return status == VTA_OK ? check_types(p, start, &p->graph->nodes[id])
                            : vtac_scan_fail_at(&p->s, start, "%s", own.text);
}

/* %a: type = Op(%x) {attribute=1}  # "name" @17 */
static vta_status parse_node(parser *p)
{
    const char *start = p->s.at;
    vtac_node_spec spec = {0};
    VTA_TRY(parse_results(p));
    VTA_TRY(vtac_scan_expect(&p->s, '='));
    VTA_TRY(parse_op(p, &spec.op));
    VTA_TRY(parse_operands(p));
    VTA_TRY(parse_attrs(p));
    VTA_TRY(parse_origin(p, &spec));
    return add_node(p, start, &spec);
}

static vta_status parse_line(parser *p)
{
    if (*p->s.at == '%') {
        return parse_node(p);
    }
    if (vtac_scan_word(&p->s, "input")) {
        return parse_input(p);
    }
    if (vtac_scan_word(&p->s, "const")) {
        return parse_constant(p);
    }
    if (vtac_scan_word(&p->s, "output")) {
        return parse_output(p);
    }
    return vtac_scan_fail(&p->s, "expected input, const, output, or a node: %%name: type = Op(...)");
}

static vta_status parse_text(parser *p)
{
    while (vtac_scan_line(&p->s)) {
        VTA_TRY(parse_line(p));
        VTA_TRY(vtac_scan_end_of_line(&p->s));
    }
    return p->graph->output_count > 0 ? VTA_OK : vtac_scan_fail(&p->s, "the graph has no output");
}

/* graph "name", which comes first */
static vta_status start_graph(vtac_scan *s, vtac_graph **out)
{
    vta_arena arena = {0};
    const char *name = NULL;
    s->arena = &arena;
    vta_status status = VTA_OK;
    if (!vtac_scan_line(s) || !vtac_scan_word(s, "graph")) {
        status = vtac_scan_fail(s, "expected graph \"NAME\": is this the text of a graph?");
    }
    if (status == VTA_OK) {
        vtac_scan_blanks(s);
        status = vtac_scan_string(s, &name);
    }
    if (status == VTA_OK) {
        status = vtac_scan_end_of_line(s);
    }
    if (status == VTA_OK) {
        *out = vtac_graph_create(name);
        status = vta_allocated(*out != NULL, s->diag);
    }
    vta_arena_free(&arena);
    return status;
}

vta_status vtac_graph_parse(const char *text, size_t size, const char *what, vtac_graph **out, vta_diag *diag)
{
    vta_diag own = {0};
    parser p = {.s = {.what = what,
                      .begin = text,
                      .at = text,
                      .end = text + size,
                      .diag = diag == NULL ? &own : diag},
                .d = {.inputs = {.item_size = sizeof(vtac_value_id)},
                      .names = {.item_size = sizeof(const char *)},
                      .types = {.item_size = sizeof(vtac_type)},
                      .attrs = {.item_size = sizeof(vtac_attr)},
                      .items = {.item_size = sizeof(int64_t)}}};
    *out = NULL;
    if (memchr(text, '\0', size) != NULL) {
        return vta_fail(p.s.diag, VTA_SYNTAX, "%s: not text", what);
    }
    vta_status status = start_graph(&p.s, &p.graph);
    if (status == VTA_OK) {
        p.s.arena = &p.graph->arena;
        status = parse_text(&p);
    }
    vta_vec_free(&p.d.inputs);
    vta_vec_free(&p.d.names);
    vta_vec_free(&p.d.types);
    vta_vec_free(&p.d.attrs);
    vta_vec_free(&p.d.items);
    if (status == VTA_OK) {
        *out = p.graph;
    } else {
        vtac_graph_destroy(p.graph);
    }
    return status;
}
