/* SPDX-License-Identifier: Apache-2.0
 *
 * Composed operators over open sizes: the nodes of their texts (../compose) in ONNX's words. The type, the
 * number of axes and the sizes of a value that a text makes are known as far as they follow from what is
 * known of the operator's inputs (flow_facts.c).
 */
#include <string.h>

#include "../compose/template.h"
#include "flow_facts.h"
#include "flow_words.h"

typedef struct text_value {
    char *name;
    vtac_value_id constant;
    vtac_facts facts;
} text_value;

typedef struct text_work {
    vtac_words *w;
    vta_vec values; /* of text_value, by handle; 0 is none */
} text_work;

static text_value *value_at(void *context, vtac_handle handle)
{
    return vta_vec_at(&((const text_work *)context)->values, (size_t)handle);
}

static vta_status add_value(text_work *t, const text_value *value, vtac_handle *out)
{
    *out = t->values.count;
    t->w->make.failed = t->w->make.failed || value->name == NULL || vta_vec_push(&t->values, value) == NULL;
    return t->w->make.failed ? VTA_NOMEM : VTA_OK;
}

static vtac_dtype dtype_of(void *context, vtac_handle handle)
{
    return value_at(context, handle)->facts.dtype;
}

static int rank_of(void *context, vtac_handle handle)
{
    return value_at(context, handle)->facts.rank;
}

static int64_t dim_of(void *context, vtac_handle handle, uint32_t axis)
{
    const vtac_facts *f = &value_at(context, handle)->facts;
    return f->rank > (int)axis ? f->dim[axis] : -1;
}

static bool whole_of(void *context, vtac_handle handle, int64_t *out)
{
    const text_value *v = value_at(context, handle);
    const vtac_graph *graph = ((const text_work *)context)->w->w->b->im->graph;
    if (v->constant == 0 || vtac_type_elements(&graph->values[v->constant].type) != 1) {
        return false;
    }
    *out = vtac_tensor_int(graph->values[v->constant].constant, 0);
    return true;
}

static vta_status find_attribute(void *context, const char *name, vtac_attr *out, bool *found, vta_diag *diag)
{
    const vtac_words *w = ((const text_work *)context)->w;
    const Onnx__AttributeProto *attr = vtac_proto_attr(w->item->node, name);
    attr = attr != NULL ? vtac_resolve_attr(attr, w->item->at.caller) : NULL;
    *found = attr != NULL;
    return *found ? vtac_import_attr(w->w->b->im, attr, out, diag) : VTA_OK;
}

static vta_status make_number(void *context, vtac_dtype dtype, double value, vtac_handle *out)
{
    text_work *t = context;
    text_value v = {.name = vtac_words_number(t->w, dtype, value)};
    vtac_facts_none(&v.facts);
    v.facts.dtype = dtype;
    v.facts.rank = 0;
    return add_value(t, &v, out);
}

static vta_status make_ints(void *context, const int64_t *values, uint32_t count, vtac_handle *out)
{
    text_work *t = context;
    text_value v = {.name = vtac_words_ints(t->w, values, count)};
    vtac_facts_ints(&v.facts, values, count);
    return add_value(t, &v, out);
}

static void facts_of_node(text_work *t, const vtac_template_node *node, uint32_t output, vtac_facts *out)
{
    const vtac_facts *inputs[VTAC_FACTS_INPUTS] = {NULL};
    for (uint32_t i = 0; i < node->input_count && i < VTAC_FACTS_INPUTS; i++) {
        inputs[i] = node->inputs[i] == 0 ? NULL : &value_at(t, node->inputs[i])->facts;
    }
    vtac_facts_infer(node, inputs, output, out);
}

static vta_status make_node(void *context, const vtac_template_node *node, vtac_handle *out)
{
    text_work *t = context;
    Onnx__NodeProto *made =
        vtac_words_node(t->w, node->domain, node->name, node->input_count, node->output_count);
    for (uint32_t i = 0; made != NULL && i < node->input_count; i++) {
        static char nothing[] = "";
        made->input[i] = node->inputs[i] == 0 ? nothing : value_at(t, node->inputs[i])->name;
    }
    for (uint32_t i = 0; i < node->attr_count; i++) {
        vtac_words_attribute(t->w, made, &node->attrs[i]);
    }
    for (uint32_t i = 0; made != NULL && i < node->output_count; i++) {
        text_value v = {.name = made->output[i]};
        facts_of_node(t, node, i, &v.facts);
        VTA_TRY(add_value(t, &v, &out[i]));
    }
    return made != NULL ? VTA_OK : VTA_NOMEM;
}

/* The inputs of the operator as values. */
static vta_status add_inputs(text_work *t, vtac_handle *inputs)
{
    const Onnx__NodeProto *node = t->w->item->node;
    for (size_t i = 0; i < node->n_input; i++) {
        const vtac_flow_value *v = vtac_flow_input(t->w->w->b, t->w->item, i);
        if (!vtac_words_has(t->w, i)) {
            continue;
        }
        text_value value = {.name = node->input[i], .constant = v != NULL ? v->constant : 0};
        vtac_facts_none(&value.facts);
        value.facts.dtype = v != NULL ? v->dtype : VTAC_NO_DTYPE;
        value.facts.rank = vtac_words_rank(t->w, i);
        for (uint32_t a = 0; v != NULL && v->known && a < v->type.rank; a++) {
            value.facts.dim[a] = v->type.dim[a];
        }
        VTA_TRY(add_value(t, &value, &inputs[i]));
    }
    return VTA_OK;
}

/* The name of an output. A value that is an input of the operator, too, gets one of its own. */
static char *output_name(text_work *t, vtac_handle handle, size_t inputs)
{
    text_value *v = value_at(t, handle);
    Onnx__NodeProto *made =
        handle > inputs || t->w->make.failed ? NULL : vtac_words_node(t->w, "", "Identity", 1, 1);
    if (made == NULL) {
        return v->name;
    }
    made->input[0] = v->name;
    return made->output[0];
}

static vta_status write_text(text_work *t, const vtac_template_row *row, char **names, vta_diag *diag)
{
    const Onnx__NodeProto *node = t->w->item->node;
    vtac_handle first;
    vtac_handle *inputs = vtac_fm_room(&t->w->make, node->n_input, sizeof *inputs);
    vtac_handle *out = vtac_fm_room(&t->w->make, node->n_output, sizeof *out);
    vtac_attr *attrs = vtac_fm_room(&t->w->make, node->n_attribute, sizeof *attrs);
    const text_value absent = {.name = node->op_type};
    if (t->w->make.failed) {
        return vtac_flow_no_memory(diag);
    }
    VTA_TRY(add_value(t, &absent, &first));
    VTA_TRY(add_inputs(t, inputs));
    const size_t given = t->values.count - 1;
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__AttributeProto *attr = vtac_resolve_attr(node->attribute[i], t->w->item->at.caller);
        attrs[i] = (vtac_attr){.name = ""};
        VTA_TRY(attr == NULL ? VTA_OK : vtac_import_attr(t->w->w->b->im, attr, &attrs[i], diag));
    }
    const vtac_template_target target = {.context = t,
                                         .diag = diag,
                                         .open = true,
                                         .inputs = inputs,
                                         .input_count = (uint32_t)node->n_input,
                                         .attr = find_attribute,
                                         .all_attrs = attrs,
                                         .all_attr_count = (uint32_t)node->n_attribute,
                                         .output_names = (const char *const *)node->output,
                                         .output_count = (uint32_t)node->n_output,
                                         .dtype = dtype_of,
                                         .rank = rank_of,
                                         .dim = dim_of,
                                         .whole = whole_of,
                                         .number = make_number,
                                         .ints = make_ints,
                                         .node = make_node};
    VTA_TRY(vtac_template_make(row, &target, out, (uint32_t)node->n_output));
    for (size_t i = 0; i < node->n_output; i++) {
        names[i] = out[i] == 0 ? node->output[i] : output_name(t, out[i], given);
    }
    return VTA_OK;
}

vta_status vtac_words_text(vtac_words *w, const vtac_template_row *row, char **names, vta_diag *diag)
{
    text_work t = {.w = w, .values = {.item_size = sizeof(text_value)}};
    const vta_status status = write_text(&t, row, names, diag);
    vta_vec_free(&t.values);
    return status == VTA_NOMEM || w->make.failed ? vtac_flow_no_memory(diag) : status;
}
