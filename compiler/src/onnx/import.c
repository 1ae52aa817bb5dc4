/* SPDX-License-Identifier: Apache-2.0
 *
 * The importer: walks the model's nodes in order and makes ours. Functions are inlined, If with a known
 * condition becomes its branch, Loop with a known trip count is unrolled; what can be computed now (shape
 * arithmetic) is a constant before the next node looks at it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../import/maker.h"
#include "../import/protobuf.h"
#include "compose.h"
#include "context.h"
#include "flow.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vtac/protobuf.h"

/* The first opset that all of this was written for. */
enum { OLDEST_OPSET = 1 };

const char *vtac_proto_text(const char *text)
{
    return text == NULL ? "" : text;
}

vta_status vtac_charge(vtac_importer *im, vta_diag *diag)
{
    if (im->budget == 0) {
        return vta_fail(diag, VTA_RANGE, "unrolling and inlining add more than %d nodes to the model",
                        VTAC_MAX_GROWTH);
    }
    im->budget--;
    return VTA_OK;
}

vtac_import_builder vtac_builder_at(vtac_importer *im, const char *name, vta_diag *diag)
{
    return (vtac_import_builder){.graph = im->graph,
                                 .diag = diag,
                                 .name = name,
                                 .origin = im->origin,
                                 .keeps_rows = im->options != NULL && im->options->cache_tokens > 0};
}

vta_status vtac_emit(vtac_importer *im, const vtac_draft *draft, vtac_op op, const char *const *names,
                     vtac_value_id *outputs, vta_diag *diag)
{
    vtac_import_builder m = vtac_builder_at(im, draft->name, diag);
    VTA_TRY(vtac_charge(im, diag));
    m.budget = 1;
    vtac_make_node(&m,
                   &(vtac_node_spec){.op = op,
                                     .inputs = draft->inputs,
                                     .input_count = draft->input_count,
                                     .output_count = draft->output_count,
                                     .output_names = names,
                                     .attrs = draft->attrs,
                                     .attr_count = draft->attr_count},
                   outputs);
    return m.status;
}

vta_status vtac_emit_ints(vtac_importer *im, const int64_t *values, uint32_t count, vtac_value_id *out,
                          vta_diag *diag)
{
    int64_t *data = vta_arena_array(&im->graph->arena, count, sizeof *data);
    if (data == NULL) {
        return vta_no_memory(diag);
    }
    if (count > 0) {
        memcpy(data, values, count * sizeof *data);
    }

    const vtac_tensor tensor = {{VTAC_I64, 1, {count}}, data, count * sizeof *data};
    return vtac_add_constant(im->graph, NULL, &tensor, out, diag);
}

const char *vtac_plain_domain(const char *domain)
{
    return domain == NULL || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

bool vtac_is_made(const Onnx__NodeProto *node)
{
    return node->n_output > 0 && vtac_proto_text(node->output[0])[0] == '\x01';
}

static int64_t opset_of(const vtac_import_place *at, const char *domain)
{
    for (size_t i = 0; i < at->opset_count; i++) {
        if (strcmp(vtac_plain_domain(at->opsets[i]->domain), domain) == 0) {
            return at->opsets[i]->version;
        }
    }
    return 1;
}

const Onnx__FunctionProto *vtac_find_function(const vtac_importer *im, const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < im->model->n_functions; i++) {
        const Onnx__FunctionProto *function = im->model->functions[i];
        if (strcmp(vtac_proto_text(function->name), vtac_proto_text(node->op_type)) == 0 &&
            strcmp(vtac_plain_domain(function->domain), vtac_plain_domain(node->domain)) == 0) {
            return function;
        }
    }
    return NULL;
}

vta_status vtac_look_up(const vtac_import_place *at, const char *name, vtac_value_id *out, vta_diag *diag)
{
    *out = 0;
    if (name == NULL || name[0] == '\0' || vtac_scope_get(at->scope, name, out)) {
        return VTA_OK;
    }
    return vta_fail(diag, VTA_INVALID,
                    "input '%s' is defined by no earlier node; the model is cyclic, unordered or incomplete",
                    name);
}

static vta_status draft_of(vtac_importer *im, const vtac_import_place *at, const Onnx__NodeProto *node,
                           vtac_draft *draft, vta_diag *diag)
{
    draft->op_type = vtac_proto_text(node->op_type);
    draft->domain = vtac_plain_domain(node->domain);
    draft->name = node->name != NULL && node->name[0] != '\0' ? node->name
                  : node->n_output > 0                        ? vtac_proto_text(node->output[0])
                                                              : "";
    draft->opset = vtac_is_made(node) ? VTAC_NEWEST_OPSET : opset_of(at, draft->domain);
    draft->input_count = 0;
    draft->attr_count = 0;
    draft->node = node;
    draft->at = at;
    const bool composed = vtac_is_composed(draft->domain, draft->op_type);
    if (node->n_input > VTAC_MAX_INPUTS || node->n_attribute > VTAC_MAX_ATTRS - 8) {
        return vta_fail(diag, VTA_UNSUPPORTED, "%zu inputs and %zu attributes are more than %d and %d",
                        node->n_input, node->n_attribute, VTAC_MAX_INPUTS, VTAC_MAX_ATTRS - 8);
    }
    for (size_t i = 0; i < node->n_input; i++) {
        VTA_TRY(vtac_look_up(at, node->input[i], &draft->inputs[i], diag));
        draft->input_count++;
    }
    while (draft->input_count > 0 && draft->inputs[draft->input_count - 1] == 0) {
        draft->input_count--; /* absent inputs at the end count as not given */
    }
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__AttributeProto *attr = vtac_resolve_attr(node->attribute[i], at->caller);
        if (attr == NULL || (composed && attr->g != NULL)) {
            continue; /* a composition imports its graphs itself */
        }
        VTA_TRY(vtac_import_attr(im, attr, &draft->attrs[draft->attr_count], diag));
        draft->attrs[draft->attr_count++].name = vtac_proto_text(node->attribute[i]->name);
    }
    draft->output_count = (uint32_t)node->n_output;
    while (draft->output_count > 1 && vtac_proto_text(node->output[draft->output_count - 1])[0] == '\0') {
        draft->output_count--;
    }
    return VTA_OK;
}

vta_status vtac_bind_outputs(const vtac_import_place *at, const Onnx__NodeProto *node,
                             const vtac_value_id *values, uint32_t count, vta_diag *diag)
{
    for (uint32_t i = 0; i < count && i < node->n_output; i++) {
        const bool named = vtac_proto_text(node->output[i])[0] != '\0';
        VTA_TRY(named ? vtac_scope_set(at->scope, node->output[i], values[i], diag) : VTA_OK);
    }
    return VTA_OK;
}

/* Constant: whichever attribute holds the value. */
static vta_status import_constant(vtac_importer *im, const vtac_import_place *at, const Onnx__NodeProto *node,
                                  vtac_draft *draft, vta_diag *diag)
{
    if (draft->attr_count != 1) {
        return vta_fail(diag, VTA_INVALID, "it needs one value, not %u", draft->attr_count);
    }

    const vtac_attr *attr = &draft->attrs[0];
    vtac_tensor tensor = {{VTAC_I64, 0, {0}}, NULL, 0};
    vtac_value_id value = 0;
    if (attr->kind == VTAC_ATTR_TENSOR) {
        tensor = attr->tensor;
    } else if (attr->kind == VTAC_ATTR_INT || attr->kind == VTAC_ATTR_INTS) {
        const bool list = attr->kind == VTAC_ATTR_INTS;
        const size_t count = list ? attr->count : 1;
        VTA_TRY(vtac_emit_ints(im, list ? attr->ints : &attr->i, (uint32_t)count, &value, diag));
        tensor = *im->graph->values[value].constant;
        tensor.type.rank = list ? 1 : 0;
    } else if (attr->kind == VTAC_ATTR_FLOAT || attr->kind == VTAC_ATTR_FLOATS) {
        const bool list = attr->kind == VTAC_ATTR_FLOATS;
        const size_t count = list ? attr->count : 1;
        float *data = vta_arena_array(&im->graph->arena, count, sizeof *data);
        for (size_t i = 0; data != NULL && i < count; i++) {
            data[i] = (float)(list ? attr->floats[i] : attr->f);
        }
        tensor = (vtac_tensor){{VTAC_F32, list ? 1 : 0, {(int64_t)count}}, data, count * sizeof *data};
    } else {
        const bool list = attr->kind == VTAC_ATTR_STRINGS;
        VTA_TRY(
            vtac_import_texts(im, list ? attr->strings : &attr->s, list ? attr->count : 1, &tensor, diag));
        tensor.type.rank = list ? 1 : 0;
    }
    if (tensor.data == NULL) {
        return vta_no_memory(diag);
    }
    VTA_TRY(vtac_add_constant(im->graph, vtac_proto_text(node->output[0]), &tensor, &value, diag));
    return vtac_bind_outputs(at, node, &value, 1, diag);
}

/* Adds a graph's initializers to a scope. */
vta_status vtac_import_initializers(vtac_importer *im, vtac_scope *scope, const Onnx__GraphProto *graph,
                                    vta_diag *diag)
{
    for (size_t i = 0; i < graph->n_initializer; i++) {
        vtac_tensor tensor;
        vtac_value_id value;
        VTA_TRY(vtac_import_any_tensor(im, graph->initializer[i], &tensor, diag));
        const char *name = vtac_proto_text(graph->initializer[i]->name);
        VTA_TRY(vtac_add_constant(im->graph, name, &tensor, &value, diag));
        VTA_TRY(vtac_scope_set(scope, vta_arena_string(&im->graph->arena, name, strlen(name)), value, diag));
    }
    return VTA_OK;
}

/* Reshape of the result, where an upgrade computed in another shape. */
static vta_status reshape_back(vtac_importer *im, vtac_draft *draft, const vtac_type *type,
                               vtac_value_id *value, vta_diag *diag)
{
    draft->inputs[VTAC_RESHAPE_X] = *value;
    VTA_TRY(vtac_emit_ints(im, type->dim, type->rank, &draft->inputs[VTAC_RESHAPE_SHAPE], diag));
    draft->input_count = 2;
    draft->attr_count = 0;
    return vtac_emit(im, draft, VTAC_OP_RESHAPE, NULL, value, diag);
}

static vta_status import_operator(vtac_importer *im, const vtac_import_place *at, const Onnx__NodeProto *node,
                                  vtac_draft *draft, vta_diag *diag)
{
    vtac_type reshape_after = {.dtype = VTAC_NO_DTYPE};
    if (draft->output_count < 1 || draft->output_count > VTAC_MAX_INPUTS) {
        return vta_fail(diag, VTA_INVALID, "it has %u outputs", draft->output_count);
    }
    vtac_value_id outputs[VTAC_MAX_INPUTS];
    bool expanded;
    VTA_TRY(vtac_compose_draft(im, draft, outputs, &expanded, diag));
    if (expanded) {
        return vtac_bind_outputs(at, node, outputs, draft->output_count, diag);
    }
    VTA_TRY(vtac_upgrade(im, draft, &reshape_after, diag));
    const vtac_op op = vtac_op_find(draft->domain, draft->op_type);
    if (op == VTAC_OP_COUNT || vtac_op_is_internal(op)) {
        return vta_fail(diag, VTA_UNSUPPORTED, "the operator is not supported");
    }
    if (draft->opset < vtac_op_get(op)->since && draft->domain[0] == '\0') {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "its form of opset %lld is not supported (from %u on); convert the model",
                        (long long)draft->opset, vtac_op_get(op)->since);
    }
    VTA_TRY(vtac_expand(im, draft, (const char *const *)node->output, &outputs[0], &expanded, diag));
    if (expanded) {
        return vtac_bind_outputs(at, node, outputs, 1, diag);
    }
    const bool plain = reshape_after.dtype == VTAC_NO_DTYPE;
    VTA_TRY(vtac_emit(im, draft, op, plain ? (const char *const *)node->output : NULL, outputs, diag));
    const uint32_t count = draft->output_count;
    if (!plain) {
        VTA_TRY(reshape_back(im, draft, &reshape_after, &outputs[0], diag));
    }
    return vtac_bind_outputs(at, node, outputs, count, diag);
}

static vta_status import_node(vtac_importer *im, const vtac_import_place *at, const Onnx__NodeProto *node,
                              vtac_draft *draft, vta_diag *diag)
{
    const Onnx__FunctionProto *function = vtac_find_function(im, node);
    if (function != NULL) {
        return vtac_import_call(im, at, node, function, diag);
    }

    const char *type = vtac_proto_text(node->op_type);
    const bool standard = vtac_plain_domain(node->domain)[0] == '\0';
    if (standard && strcmp(type, "If") == 0) {
        return vtac_import_if(im, at, node, diag);
    }
    if (standard && strcmp(type, "Loop") == 0) {
        draft->name = vtac_proto_text(node->name);
        return vtac_import_loop(im, at, node, draft, diag);
    }
    VTA_TRY(draft_of(im, at, node, draft, diag));
    if (standard && strcmp(type, "Constant") == 0) {
        return import_constant(im, at, node, draft, diag);
    }
    return import_operator(im, at, node, draft, diag);
}

vta_status vtac_import_nodes(vtac_importer *im, const vtac_import_place *at, Onnx__NodeProto *const *nodes,
                             size_t count, vta_diag *diag)
{
    vtac_draft *draft = malloc(sizeof *draft);
    if (draft == NULL) {
        return vta_no_memory(diag);
    }

    vta_status status = VTA_OK;
    for (size_t i = 0; status == VTA_OK && i < count; i++) {
        if (im->depth == 0) {
            im->origin = (uint32_t)i;
        }
        status = import_node(im, at, nodes[i], draft, diag);
        if (status != VTA_OK && strncmp(diag->text, "node ", 5) != 0) {
            const char *name = vtac_proto_text(nodes[i]->name);
            const char *first = nodes[i]->n_output > 0 ? vtac_proto_text(nodes[i]->output[0]) : "";
            (void)vta_context(diag, "node '%s' (%s)", name[0] != '\0' ? name : first,
                              vtac_proto_text(nodes[i]->op_type));
        }
    }
    free(draft);
    return status;
}

/* Outputs have the model's names, whatever the value was called where it was made (in a function, a branch).
 */
static vta_status import_graph(vtac_importer *im, vta_diag *diag)
{
    const Onnx__GraphProto *graph = im->model->graph;
    VTA_TRY(vtac_check_operators(im, diag));
    vtac_scope scope = {.outer = NULL};
    const vtac_import_place at = {&scope, im->model->opset_import, im->model->n_opset_import, NULL};
    vta_status status = vtac_import_initializers(im, &scope, graph, diag);
    if (status == VTA_OK) {
        status = vtac_import_inputs(im, &scope, diag);
    }
    if (status == VTA_OK) {
        status = vtac_import_nodes(im, &at, graph->node, graph->n_node, diag);
    }
    for (size_t i = 0; status == VTA_OK && i < graph->n_output; i++) {
        vtac_value_id value = 0;
        status = vtac_look_up(&at, graph->output[i]->name, &value, diag);
        if (status == VTA_OK && value == 0) {
            status = vta_fail(diag, VTA_INVALID, "output %zu has no name", i);
        }
        if (status == VTA_OK && im->graph->values[value].node != 0 && !vtac_is_output(im->graph, value)) {
            status = vtac_rename_value(im->graph, value, graph->output[i]->name, diag);
        }
        if (status == VTA_OK) {
            status = vtac_add_output(im->graph, value, diag);
        }
    }
    free(scope.slots);
    return status;
}

/* A newer opset than we know is taken as the newest that we do: most operators do not change from one to the
 * next. */
static vta_status check_opsets(const Onnx__ModelProto *model, const vtac_import_options *options,
                               vta_diag *diag)
{
    for (size_t i = 0; i < model->n_opset_import; i++) {
        const int64_t version = model->opset_import[i]->version;
        if (vtac_plain_domain(model->opset_import[i]->domain)[0] != '\0') {
            continue;
        }
        if (version < OLDEST_OPSET) {
            return vta_fail(diag, VTA_UNSUPPORTED, "opset %lld is not one of ONNX, which begin with %d",
                            (long long)version, OLDEST_OPSET);
        }
        if (version > VTAC_NEWEST_OPSET && options != NULL && options->note != NULL) {
            char text[160];
            (void)snprintf(
                text, sizeof text,
                "opset %lld is newer than %d, the newest that is known; its operators are taken as "
                "they are there",
                (long long)version, VTAC_NEWEST_OPSET);
            options->note(options->context, text);
        }
    }
    return VTA_OK;
}

/* True if the caller asks for sizes that are known only at run time. */
static bool leaves_sizes_open(const vtac_import_options *options)
{
    bool open = options != NULL && options->dynamic;
    for (uint32_t i = 0; options != NULL && i < options->shape_count; i++) {
        for (uint32_t k = 0; k < options->shapes[i].rank; k++) {
            open = open || options->shapes[i].max[k] > 0;
        }
    }
    return open;
}

/* True if an operator's name begins with `name`. */
static bool has_node(Onnx__NodeProto *const *nodes, size_t count, const char *name)
{
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        found = found || strncmp(vtac_proto_text(nodes[i]->op_type), name, strlen(name)) == 0;
    }
    return found;
}

/* True if a node of the model is control flow, or has a sequence. */
static bool needs_flow(Onnx__NodeProto *const *nodes, size_t count)
{
    static const char *const marks[] = {"If",     "Loop", "Scan", "Sequence", "Optional", "SplitToSequence",
                                        "String", "Regex"};
    bool found = false;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        found = found || has_node(nodes, count, marks[i]);
    }
    return found;
}

/* True if an input is a sequence, texts, or may be absent: only the import with flow takes these. */
static bool takes_parcels(const Onnx__GraphProto *graph)
{
    bool takes = false;
    for (size_t i = 0; i < graph->n_input; i++) {
        const Onnx__TypeProto *type = graph->input[i]->type;
        takes = takes ||
                (type != NULL && (type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
                                  type->tensor_type->elem_type == ONNX__TENSOR_PROTO__DATA_TYPE__STRING));
    }
    return takes;
}

/* Once more, into a new graph, with instructions for what is known only at run time. Where neither way is
 * possible, the sentence is that of the way that the model asks for. */
static vta_status import_dynamic(vtac_importer *im, vtac_graph **graph, vta_status status, vta_diag *diag)
{
    vta_diag second = {0};
    vtac_graph *other = vtac_graph_create((*graph)->name);
    if (other == NULL) {
        return vta_no_memory(diag);
    }
    vtac_graph *first = im->graph;
    im->graph = other;
    im->has_flow = true;
    im->budget = VTAC_MAX_GROWTH + im->model->graph->n_node;
    vta_status again = vtac_check_operators(im, &second);
    again = again == VTA_OK ? vtac_import_flow(im, &second) : again;
    if (again != VTA_OK) {
        vtac_graph_destroy(other);
        im->graph = first;
        if (diag->text[0] == '\0' || needs_flow(im->model->graph->node, im->model->graph->n_node) ||
            takes_parcels(im->model->graph)) {
            *diag = second;
            return again;
        }
        return status;
    }
    vtac_graph_destroy(first);
    *graph = other;
    *diag = (vta_diag){0};
    return VTA_OK;
}

/* The static way first, but where the data decide the size of something that the static way must take at its
 * most.
 */
static vta_status import_either(vtac_importer *im, vtac_graph **graph, vta_diag *diag)
{
    const Onnx__GraphProto *model = im->model->graph;
    const bool open = leaves_sizes_open(im->options);
    bool tried = false;
    vta_status status = VTA_UNSUPPORTED;
    if (open) {
        VTA_TRY(vtac_import_batch(im, graph, &tried, diag));
        if (tried) {
            return VTA_OK;
        }
    }
    if (open || has_node(model->node, model->n_node, "NonMaxSuppression")) {
        tried = true;
        status = import_dynamic(im, graph, status, diag);
    }
    if (status == VTA_UNSUPPORTED && !open) {
        *diag = (vta_diag){0};
        im->has_flow = false;
        im->depth = 0;
        im->budget = VTAC_MAX_GROWTH + model->n_node;
        status = import_graph(im, diag);
    }
    return !tried && (status == VTA_UNSUPPORTED || status == VTA_INVALID)
               ? import_dynamic(im, graph, status, diag)
               : status;
}

static vta_status create_graph(const Onnx__ModelProto *model, const vtac_import_options *options,
                               vtac_graph **out, vta_diag *diag)
{
    VTA_TRY(check_opsets(model, options, diag));
    VTA_TRY(vtac_check_names(model, diag));
    *out = vtac_graph_create(vtac_proto_text(model->graph->name));
    return vta_allocated(*out != NULL, diag);
}

vta_status vtac_onnx_unpack(const uint8_t *bytes, size_t size, Onnx__ModelProto **out, vta_diag *diag)
{
    bool starved;
    ProtobufCAllocator allocator = vtac_protobuf_allocator(&starved);
    *out = NULL;
    VTA_TRY(vtac_wire_check(&onnx__model_proto__descriptor, bytes, size, diag));
    Onnx__ModelProto *model = onnx__model_proto__unpack(&allocator, size, bytes);
    if (model != NULL && model->graph != NULL) {
        *out = model;
        return VTA_OK;
    }
    if (model != NULL) {
        onnx__model_proto__free_unpacked(model, NULL);
    }
    return starved ? vta_no_memory(diag)
                   : vta_fail(diag, VTA_SYNTAX, "not an ONNX model, or damaged (%zu bytes)", size);
}

typedef vta_status import_method(vtac_importer *im, vtac_graph **graph, vta_diag *diag);

static vta_status import_model(const Onnx__ModelProto *model, const char *folder,
                               const vtac_import_options *options, import_method *method, vtac_graph **graph,
                               vta_diag *diag)
{
    VTA_TRY(create_graph(model, options, graph, diag));
    vtac_importer im = {.model = model,
                        .folder = folder,
                        .options = options,
                        .graph = *graph,
                        .diag = diag,
                        .budget = VTAC_MAX_GROWTH + model->graph->n_node,
                        .texts = {.item_size = sizeof(const char *)}};
    const vta_status status = method(&im, graph, diag);
    free(im.text_ids.slots);
    vta_vec_free(&im.texts);
    return status;
}

static vta_status import_fixed(vtac_importer *im, vtac_graph **graph, vta_diag *diag)
{
    (void)graph;
    return import_graph(im, diag);
}

vta_status vtac_import_static(const Onnx__ModelProto *model, const char *folder,
                              const vtac_import_options *options, vtac_graph **out, vta_diag *diag)
{
    return import_model(model, folder, options, import_fixed, out, diag);
}

vta_status vtac_onnx_parse(const uint8_t *bytes, size_t size, const char *what, const char *folder,
                           const vtac_import_options *options, vtac_graph **out, vta_diag *diag)
{
    vta_diag own = {0};
    diag = diag == NULL ? &own : diag;
    *out = NULL;
    Onnx__ModelProto *model = NULL;
    vtac_graph *graph = NULL;
    vta_status status = vtac_onnx_unpack(bytes, size, &model, diag);
    if (status == VTA_OK) {
        status = options != NULL && options->cache_tokens > 0
                     ? vtac_import_context(model, folder, options, &graph, diag)
                     : import_model(model, folder, options, import_either, &graph, diag);
    }
    if (model != NULL) {
        onnx__model_proto__free_unpacked(model, NULL);
    }
    if (status != VTA_OK) {
        vtac_graph_destroy(graph);
        (void)vta_context(diag, "%s", what);
        return status;
    }
    (void)vtac_remove_dead(graph);
    *out = graph;
    return VTA_OK;
}

vta_status vtac_onnx_load(const char *path, const vtac_import_options *options, vtac_graph **out,
                          vta_diag *diag)
{
    uint8_t *bytes;
    size_t size;
    VTA_TRY(vta_file_read(path, VTAC_MAX_MODEL_BYTES, &bytes, &size, diag));
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(path, slash == path ? 1 : (size_t)(slash - path));
    vta_status status =
        folder != NULL ? vtac_onnx_parse(bytes, size, path, folder, options, out, diag) : vta_no_memory(diag);
    free(folder);
    free(bytes);
    return status;
}

/* A field of a model is its graph where its message begins with a node, a name, a value or a list. */
static bool is_graph(const vtac_wire_field *field)
{
    enum { GRAPH = 7, LAST_OF_GRAPH = 15 };
    vtac_wire graph = field->bytes;
    vtac_wire_field first = {.number = 0};
    if (field->number != GRAPH || field->type != VTAC_WIRE_BYTES) {
        return false;
    }
    (void)vtac_wire_next(&graph, &first); /* it may be cut off */
    return first.type == VTAC_WIRE_BYTES && first.number >= 1 && first.number <= LAST_OF_GRAPH;
}

/* A message of protobuf has no mark of its own. A model is one with a graph, whose first field is no text; a
 * file that is called ONNX is looked into in any case. */
bool vtac_recognize_onnx(const vtac_model_file *file)
{
    const size_t length = strlen(file->path);
    vtac_wire message = {file->bytes, file->bytes + file->size};
    vtac_wire_field field = {.number = 0};
    bool found = false;
    if (length >= 5 && strcmp(file->path + length - 5, ".onnx") == 0) {
        return true;
    }
    for (bool more = true; more && !found;) {
        more = vtac_wire_next(&message, &field);
        found = is_graph(&field);
        more = more && (field.number != 1 || field.type == VTAC_WIRE_VARINT);
    }
    return found;
}

vta_status vtac_load_onnx(const vtac_model_file *file, const vtac_import_options *options, vtac_graph **out,
                          vta_diag *diag)
{
    return vtac_onnx_parse(file->bytes, file->size, file->path, file->folder, options, out, diag);
}
