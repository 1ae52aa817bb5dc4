/* SPDX-License-Identifier: Apache-2.0 */
#include "graph.h"

#include <string.h>

typedef struct graph_work {
    vtac_import_builder *m;
    const vtac_composed_node *of;
} graph_work;

static vta_status find_attribute(void *context, const char *name, vtac_attr *out, bool *found, vta_diag *diag)
{
    const vtac_composed_node *of = ((const graph_work *)context)->of;
    (void)diag;
    *found = false;
    for (uint32_t i = 0; i < of->attr_count && !*found; i++) {
        *found = strcmp(of->attrs[i].name, name) == 0;
        if (*found) {
            *out = of->attrs[i];
        }
    }
    return VTA_OK;
}

static vtac_dtype dtype_of(void *context, vtac_handle value)
{
    return vtac_made_type(((const graph_work *)context)->m, (vtac_id)value).dtype;
}

static int rank_of(void *context, vtac_handle value)
{
    return (int)vtac_made_type(((const graph_work *)context)->m, (vtac_id)value).rank;
}

static int64_t dim_of(void *context, vtac_handle value, uint32_t axis)
{
    const vtac_type type = vtac_made_type(((const graph_work *)context)->m, (vtac_id)value);
    return axis < type.rank ? type.dim[axis] : -1;
}

static bool whole_of(void *context, vtac_handle value, int64_t *out)
{
    const vtac_tensor *known = vtac_made_constant(((const graph_work *)context)->m, (vtac_id)value);
    if (known == NULL || vtac_type_elements(&known->type) != 1 || vtac_dtype_kind(known->type.dtype) == 'f') {
        return false;
    }
    *out = vtac_tensor_int(known, 0);
    return true;
}

/* Floats of 16 bits and less are made of others. */
static vta_status make_number(void *context, vtac_dtype dtype, double value, vtac_handle *out)
{
    vtac_import_builder *m = ((const graph_work *)context)->m;
    const char kind = vtac_dtype_kind(dtype);
    const bool plain = dtype == VTAC_F32 || dtype == VTAC_F64 || kind == 'i' || kind == 'u' || kind == 'b';
    *out = vtac_make_cast(m, vtac_make_number(m, plain ? dtype : VTAC_F64, value), dtype);
    return m->status;
}

static vta_status make_ints(void *context, const int64_t *values, uint32_t count, vtac_handle *out)
{
    vtac_import_builder *m = ((const graph_work *)context)->m;
    *out = vtac_make_ints(m, values, count);
    return m->status;
}

static void make_values(graph_work *w, const vtac_template_node *node, const vtac_id *inputs, vtac_id *out)
{
    const vtac_op op = vtac_op_find(node->domain, node->name);
    const vtac_template_row *row = vtac_template_find(node->domain, node->name, 0, false);
    if (op != VTAC_OP_COUNT) {
        vtac_make_many(w->m, op, inputs, node->input_count, node->attrs, node->attr_count, out,
                       node->output_count);
    } else if (row != NULL) {
        const vtac_composed_node inner = {.inputs = inputs,
                                          .input_count = node->input_count,
                                          .attrs = node->attrs,
                                          .attr_count = node->attr_count,
                                          .output_count = node->output_count,
                                          .other = w->of->other,
                                          .context = w->of->context};
        vtac_compose_graph(w->m, row, &inner, out);
    } else if (w->of->other != NULL) {
        w->m->status = w->of->other(w->of->context, w->m, node, out);
    } else {
        vtac_make_refuse(w->m, "there is no operator '%.64s' to compose it of", node->name);
    }
}

enum { MAX_OUTPUTS = 8 };

static vta_status make_node(void *context, const vtac_template_node *node, vtac_handle *out)
{
    graph_work *w = context;
    vtac_id made[MAX_OUTPUTS] = {0};
    vtac_id *inputs = vtac_make_room(w->m, node->input_count, sizeof *inputs);
    if (inputs == NULL || node->output_count > MAX_OUTPUTS) {
        return w->m->status;
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        inputs[i] = (vtac_id)node->inputs[i];
    }
    make_values(w, node, inputs, made);
    for (uint32_t i = 0; i < node->output_count; i++) {
        out[i] = made[i];
    }
    return w->m->status;
}

void vtac_compose_graph(vtac_import_builder *m, const vtac_template_row *row, const vtac_composed_node *node,
                        vtac_id *out)
{
    graph_work work = {m, node};
    vtac_handle made[MAX_OUTPUTS] = {0};
    vtac_handle *inputs = vtac_make_room(m, node->input_count, sizeof *inputs);
    memset(out, 0, node->output_count * sizeof *out);
    if (inputs == NULL || m->status != VTA_OK) {
        return;
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        inputs[i] = node->inputs[i];
    }
    const vtac_template_target target = {.context = &work,
                                         .diag = m->diag,
                                         .inputs = inputs,
                                         .input_count = node->input_count,
                                         .attr = find_attribute,
                                         .all_attrs = node->attrs,
                                         .all_attr_count = node->attr_count,
                                         .output_names = node->output_names,
                                         .output_count = node->output_count,
                                         .dtype = dtype_of,
                                         .rank = rank_of,
                                         .dim = dim_of,
                                         .whole = whole_of,
                                         .number = make_number,
                                         .ints = make_ints,
                                         .node = make_node};
    const uint32_t count = node->output_count < MAX_OUTPUTS ? node->output_count : MAX_OUTPUTS;
    m->status = vtac_template_make(row, &target, made, count);
    for (uint32_t i = 0; i < count; i++) {
        out[i] = m->status == VTA_OK ? (vtac_id)made[i] : 0;
    }
}

vtac_id vtac_compose_named(vtac_import_builder *m, const char *domain, const char *name, vtac_id x,
                           bool *found)
{
    const vtac_template_row *row = vtac_template_find(domain, name, 0, false);
    const vtac_composed_node node = {.inputs = &x, .input_count = 1, .output_count = 1};
    vtac_id out = 0;
    *found = row != NULL;
    if (*found) {
        vtac_compose_graph(m, row, &node, &out);
    }
    return out;
}
