/* SPDX-License-Identifier: Apache-2.0
 *
 * A model in two parts. The trunk has the nodes that can be imported before anything is known of a run, from
 * the inputs on; the tail has the others that the outputs need: NonMaxSuppression, If with a condition that
 * the run decides, and what reads their results. The trunk is a graph as any other. vtac_onnx_graft makes a
 * model of a changed trunk and the tail as it was.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "uplift.h"
#include "vta/fail.h"
#include "vta/file.h"

typedef struct trunk_walk {
    vtac_importer im;
    vtac_scope scope; /* what the trunk knows */
    vtac_scope set;   /* the names of `needed` */
    vta_vec needed;   /* of const char *: names that the tail reads, and the model's outputs */
    vta_vec tail;     /* of Onnx__NodeProto *, the last first */
    vta_vec given;    /* of const char *: of `needed`, the outputs of the graph, in their order */
} trunk_walk;

static bool is_known(const trunk_walk *t, const char *name, vtac_value_id *value)
{
    *value = 0;
    return vtac_scope_get(&t->scope, name, value);
}

typedef struct known_question {
    const trunk_walk *walk;
    bool known;
} known_question;

static vta_status ask_known(void *context, const char *name, vta_diag *diag)
{
    known_question *q = context;
    vtac_value_id value;
    (void)diag;
    q->known = q->known && is_known(q->walk, name, &value);
    return VTA_OK;
}

/* Imports a node where all that it reads is known. What cannot be imported so is left to the tail. */
static vta_status try_node(trunk_walk *t, const vtac_import_place *at, Onnx__NodeProto *node, vta_diag *diag)
{
    known_question q = {t, true};
    VTA_TRY(vtac_flow_node_names(node, NULL, ask_known, &q, 0, diag));
    if (!q.known || vtac_flow_is(node, "NonMaxSuppression")) {
        return VTA_OK;
    }
    vta_diag why = {0};
    const vta_status status = vtac_import_nodes(&t->im, at, &node, 1, &why);
    if (status == VTA_OK || status == VTA_UNSUPPORTED || status == VTA_INVALID || status == VTA_RANGE) {
        return VTA_OK;
    }
    *diag = why;
    return status;
}

static vta_status import_trunk(trunk_walk *t, vta_diag *diag)
{
    const Onnx__ModelProto *model = t->im.model;
    const Onnx__GraphProto *graph = model->graph;
    const vtac_import_place at = {&t->scope, model->opset_import, model->n_opset_import, NULL};
    VTA_TRY(vtac_import_initializers(&t->im, &t->scope, graph, diag));
    VTA_TRY(vtac_import_inputs(&t->im, &t->scope, diag));
    t->im.depth = 1; /* nodes are numbered here */
    for (size_t i = 0; i < graph->n_node; i++) {
        t->im.origin = (uint32_t)i;
        VTA_TRY(try_node(t, &at, graph->node[i], diag));
    }
    return VTA_OK;
}

static vta_status need_name(void *context, const char *name, vta_diag *diag)
{
    trunk_walk *t = context;
    vtac_value_id known;
    if (vtac_scope_get(&t->set, name, &known)) {
        return VTA_OK;
    }
    VTA_TRY(vtac_scope_set(&t->set, name, 1, diag));
    return vta_allocated(vta_vec_push(&t->needed, &name) != NULL, diag);
}

/* True if an output of the node is needed and the trunk does not have it. */
static bool is_in_tail(const trunk_walk *t, const Onnx__NodeProto *node)
{
    bool in_tail = false;
    for (size_t i = 0; i < node->n_output; i++) {
        vtac_value_id value;
        const char *name = vtac_proto_text(node->output[i]);
        in_tail = in_tail ||
                  (name[0] != '\0' && vtac_scope_get(&t->set, name, &value) && !is_known(t, name, &value));
    }
    return in_tail;
}

/* The nodes that the outputs need and the trunk has not, from the last to the first, and what they read. */
static vta_status find_tail(trunk_walk *t, vta_diag *diag)
{
    const Onnx__GraphProto *graph = t->im.model->graph;
    for (size_t i = 0; i < graph->n_output; i++) {
        VTA_TRY(need_name(t, vtac_proto_text(graph->output[i]->name), diag));
    }
    for (size_t i = graph->n_node; i-- > 0;) {
        Onnx__NodeProto *node = graph->node[i];
        if (is_in_tail(t, node)) {
            VTA_TRY(vta_allocated(vta_vec_push(&t->tail, &node) != NULL, diag));
            VTA_TRY(vtac_flow_node_names(node, NULL, need_name, t, 0, diag));
        }
    }
    return VTA_OK;
}

static const char *name_at(const vta_vec *names, size_t i)
{
    return *(const char *const *)vta_vec_at(names, i);
}

/* Needed values that nodes of the trunk compute become outputs of the graph. */
static vta_status give_outputs(trunk_walk *t, vta_diag *diag)
{
    vtac_graph *g = t->im.graph;
    for (size_t i = 0; i < t->needed.count; i++) {
        const char *name = name_at(&t->needed, i);
        vtac_value_id value;
        if (!is_known(t, name, &value) || value == 0 || g->values[value].constant != NULL ||
            g->values[value].node == 0) {
            continue;
        }
        VTA_TRY(vtac_is_output(g, value) ? VTA_OK : vtac_rename_value(g, value, name, diag));
        VTA_TRY(vtac_add_output(g, value, diag));
        VTA_TRY(vta_allocated(vta_vec_push(&t->given, &name) != NULL, diag));
    }
    return VTA_OK;
}

static vta_status walk_model(trunk_walk *t, vta_diag *diag)
{
    VTA_TRY(import_trunk(t, diag));
    VTA_TRY(find_tail(t, diag));
    return give_outputs(t, diag);
}

/* Unpacks the model and walks it. Close the walk also after a failure. */
static vta_status open_walk(const vtac_model_file *file, const vtac_import_options *options, trunk_walk *t,
                            Onnx__ModelProto **model, vta_diag *diag)
{
    *t = (trunk_walk){.needed = {.item_size = sizeof(const char *)},
                      .tail = {.item_size = sizeof(Onnx__NodeProto *)},
                      .given = {.item_size = sizeof(const char *)}};
    VTA_TRY(vtac_onnx_unpack(file->bytes, file->size, model, diag));
    t->im = (vtac_importer){.model = *model,
                            .folder = file->folder,
                            .options = options,
                            .graph = vtac_graph_create(vtac_proto_text((*model)->graph->name)),
                            .diag = diag,
                            .budget = VTAC_MAX_GROWTH + (*model)->graph->n_node,
                            .texts = {.item_size = sizeof(const char *)}};
    VTA_TRY(vta_allocated(t->im.graph != NULL, diag));
    return walk_model(t, diag);
}

static void close_walk(trunk_walk *t, Onnx__ModelProto *model)
{
    vtac_graph_destroy(t->im.graph);
    free(t->im.text_ids.slots);
    vta_vec_free(&t->im.texts);
    free(t->scope.slots);
    free(t->set.slots);
    vta_vec_free(&t->needed);
    vta_vec_free(&t->tail);
    vta_vec_free(&t->given);
    if (model != NULL) {
        onnx__model_proto__free_unpacked(model, NULL);
    }
}

vta_status vtac_onnx_load_trunk(const vtac_model_file *file, const vtac_import_options *options,
                                vtac_graph **out, vta_diag *diag)
{
    trunk_walk t;
    Onnx__ModelProto *model = NULL;
    *out = NULL;
    const vta_status status = open_walk(file, options, &t, &model, diag);
    if (status == VTA_OK) {
        (void)vtac_remove_dead(t.im.graph);
        *out = t.im.graph;
        t.im.graph = NULL;
    }
    close_walk(&t, model);
    return status == VTA_OK ? VTA_OK : vta_context(diag, "%s", file->path);
}

/* ---- grafting */

typedef struct graft_job {
    trunk_walk *walk;
    vtac_graph *trunk;
    vtac_onnx_writer writer;
    Onnx__ModelProto model; /* a shallow copy of the file's */
    Onnx__GraphProto graph; /* of the copy */
    vtac_scope taken;       /* names that the tail makes or reads */
    Onnx__NodeProto **tail; /* in the form of the result's opset */
    size_t tail_count;
} graft_job;

static vta_status take_names(graft_job *j, vta_diag *diag)
{
    const trunk_walk *t = j->walk;
    for (size_t i = 0; i < t->needed.count; i++) {
        VTA_TRY(vtac_scope_set(&j->taken, name_at(&t->needed, i), 1, diag));
    }
    for (size_t i = 0; i < t->tail.count; i++) {
        const Onnx__NodeProto *node = *(Onnx__NodeProto *const *)vta_vec_at(&t->tail, i);
        for (size_t k = 0; k < node->n_output; k++) {
            VTA_TRY(vtac_scope_set(&j->taken, vtac_proto_text(node->output[k]), 1, diag));
        }
    }
    return VTA_OK;
}

/* A value of the trunk is called as something of the tail, by chance or because both have that constant. */
static bool clashes(const graft_job *j, vtac_value_id id)
{
    const vtac_value *value = &j->trunk->values[id];
    vtac_value_id found;
    if (value->dead || value->name == NULL || (value->node == 0 && value->constant == NULL) ||
        !vtac_scope_get(&j->taken, value->name, &found)) {
        return false;
    }
    bool given = false;
    for (uint32_t k = 0; k < j->trunk->output_count; k++) {
        given =
            given || (j->trunk->outputs[k] == id && strcmp(name_at(&j->walk->given, k), value->name) == 0);
    }
    return !given;
}

static vta_status rename_clashes(graft_job *j, vta_diag *diag)
{
    enum { ROOM = 512 };
    vtac_graph *g = j->trunk;
    for (uint32_t id = 1; id <= g->value_count; id++) {
        if (!clashes(j, id)) {
            continue;
        }
        char name[ROOM];
        vtac_value_id found = 1;
        for (uint32_t n = 0; found != 0; n++) {
            (void)snprintf(name, sizeof name, "%.400s/8bit%u", g->values[id].name, n);
            found = vtac_find_value(g, name);
            found = found == 0 && vtac_scope_get(&j->taken, name, &found) ? 1 : found;
        }
        VTA_TRY(vtac_rename_value(g, id, name, diag));
    }
    return VTA_OK;
}

/* Constants that the tail reads: the file's own, and what was folded while the trunk was imported. */
static void put_constants(graft_job *j)
{
    const trunk_walk *t = j->walk;
    Onnx__TensorProto **list =
        vtac_writer_alloc(&j->writer, j->graph.n_initializer + t->needed.count + 1, sizeof(void *));
    if (list == NULL) {
        return;
    }
    if (j->graph.n_initializer > 0) {
        memcpy(list, j->graph.initializer, j->graph.n_initializer * sizeof(void *));
    }
    for (size_t i = 0; i < t->needed.count; i++) {
        vtac_value_id value;
        const char *name = name_at(&t->needed, i);
        const vtac_tensor *constant =
            is_known(t, name, &value) && value != 0 ? t->im.graph->values[value].constant : NULL;
        if (constant != NULL) {
            list[j->graph.n_initializer++] = vtac_writer_tensor(&j->writer, constant, name);
        }
    }
    j->graph.initializer = list;
}

static Onnx__NodeProto *make_node(graft_job *j, const char *op, char *in, char *out)
{
    Onnx__NodeProto *node = vtac_writer_alloc(&j->writer, 1, sizeof *node);
    char **ends = vtac_writer_alloc(&j->writer, 2, sizeof *ends);
    if (node == NULL || ends == NULL) {
        return NULL;
    }
    onnx__node_proto__init(node);
    ends[0] = in;
    ends[1] = out;
    node->op_type = vtac_writer_text(op);
    node->domain = vtac_writer_text("");
    node->name = out;
    node->n_input = in != NULL ? 1 : 0;
    node->n_output = 1;
    node->input = &ends[0];
    node->output = &ends[1];
    return node;
}

static char *value_name(const graft_job *j, vtac_value_id value)
{
    return vtac_writer_text(j->trunk->values[value].name);
}

/* Behind the trunk's nodes: names of its outputs that passes gave to no value, then the tail. */
static void put_tail(graft_job *j)
{
    const trunk_walk *t = j->walk;
    Onnx__NodeProto **list =
        vtac_writer_alloc(&j->writer, j->graph.n_node + t->given.count + j->tail_count + 1, sizeof(void *));
    if (list == NULL) {
        return;
    }
    if (j->graph.n_node > 0) {
        memcpy(list, j->graph.node, j->graph.n_node * sizeof(void *));
    }
    for (size_t k = 0; k < t->given.count; k++) {
        char *name = value_name(j, j->trunk->outputs[k]);
        char *wanted = vtac_writer_text(name_at(&t->given, k));
        if (strcmp(name, wanted) != 0) {
            list[j->graph.n_node++] = make_node(j, "Identity", name, wanted);
        }
    }
    memcpy(list + j->graph.n_node, j->tail, j->tail_count * sizeof(void *));
    j->graph.n_node += j->tail_count;
    j->graph.node = list;
}

static int64_t opset_in(const Onnx__ModelProto *model, const char *domain)
{
    for (size_t i = 0; i < model->n_opset_import; i++) {
        if (strcmp(vtac_plain_domain(model->opset_import[i]->domain), domain) == 0) {
            return model->opset_import[i]->version;
        }
    }
    return 0;
}

static Onnx__OperatorSetIdProto *make_opset(graft_job *j, const char *domain, int64_t version)
{
    Onnx__OperatorSetIdProto *set = vtac_writer_alloc(&j->writer, 1, sizeof *set);
    if (set != NULL) {
        onnx__operator_set_id_proto__init(set);
        set->domain = vtac_writer_text(domain);
        set->has_version = 1;
        set->version = version;
    }
    return set;
}

/* Another opset of ONNX's own operators. */
static void set_opset(graft_job *j, int64_t opset)
{
    Onnx__OperatorSetIdProto **list =
        vtac_writer_alloc(&j->writer, j->model.n_opset_import + 1, sizeof(void *));
    size_t count = 0;
    if (list == NULL) {
        return;
    }
    for (size_t i = 0; i < j->model.n_opset_import; i++) {
        if (vtac_plain_domain(j->model.opset_import[i]->domain)[0] != '\0') {
            list[count++] = j->model.opset_import[i];
        }
    }
    list[count++] = make_opset(j, "", opset);
    j->model.opset_import = list;
    j->model.n_opset_import = count;
}

/* Domains that the model's own list does not have are added to it. */
static void add_domain(graft_job *j, const char *domain)
{
    Onnx__OperatorSetIdProto **list =
        vtac_writer_alloc(&j->writer, j->model.n_opset_import + 1, sizeof(void *));
    if (list == NULL || opset_in(&j->model, domain) != 0) {
        return;
    }
    memcpy(list, j->model.opset_import, j->model.n_opset_import * sizeof(void *));
    list[j->model.n_opset_import] = make_opset(j, domain, 1);
    j->model.opset_import = list;
    j->model.n_opset_import++;
}

static const char trunk_domain[] = "vtac.trunk";

static Onnx__NodeProto *constant_node(graft_job *j, Onnx__TensorProto *tensor)
{
    Onnx__NodeProto *node = make_node(j, "Constant", NULL, tensor->name);
    Onnx__AttributeProto *attr = vtac_writer_alloc(&j->writer, 1, sizeof *attr);
    Onnx__AttributeProto **list = vtac_writer_alloc(&j->writer, 1, sizeof(void *));
    if (node == NULL || attr == NULL || list == NULL) {
        return NULL;
    }
    onnx__attribute_proto__init(attr);
    attr->name = vtac_writer_text("value");
    attr->has_type = 1;
    attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
    attr->t = tensor;
    list[0] = attr;
    node->n_attribute = 1;
    node->attribute = list;
    return node;
}

/* Names of the trunk's inputs; its outputs, each once, but for inputs and constants, which are there already.
 */
static char **trunk_inputs(graft_job *j)
{
    const vtac_graph *g = j->trunk;
    char **names = vtac_writer_alloc(&j->writer, g->input_count + (size_t)1, sizeof *names);
    for (uint32_t i = 0; names != NULL && i < g->input_count; i++) {
        names[i] = value_name(j, g->inputs[i]);
    }
    return names;
}

static char **trunk_outputs(graft_job *j, size_t *count)
{
    const vtac_graph *g = j->trunk;
    char **names = vtac_writer_alloc(&j->writer, g->output_count + (size_t)1, sizeof *names);
    *count = 0;
    for (uint32_t k = 0; names != NULL && k < g->output_count; k++) {
        bool told = g->values[g->outputs[k]].node == 0;
        for (uint32_t i = 0; i < k; i++) {
            told = told || g->outputs[i] == g->outputs[k];
        }
        if (!told) {
            names[(*count)++] = value_name(j, g->outputs[k]);
        }
    }
    return names;
}

/* The trunk's constants as nodes, then its nodes. */
static void fill_function(graft_job *j, Onnx__FunctionProto *function)
{
    Onnx__NodeProto **nodes =
        vtac_writer_alloc(&j->writer, j->graph.n_initializer + j->graph.n_node + 1, sizeof(void *));
    size_t count = 0;
    for (size_t i = 0; nodes != NULL && i < j->graph.n_initializer; i++) {
        nodes[count++] = constant_node(j, j->graph.initializer[i]);
    }
    for (size_t i = 0; nodes != NULL && i < j->graph.n_node; i++) {
        nodes[count++] = j->graph.node[i];
    }
    function->n_node = count;
    function->node = nodes;
}

static void add_function(graft_job *j, Onnx__FunctionProto *function)
{
    Onnx__FunctionProto **list = vtac_writer_alloc(&j->writer, j->model.n_functions + 1, sizeof(void *));
    if (list == NULL) {
        return;
    }
    if (j->model.n_functions > 0) {
        memcpy(list, j->model.functions, j->model.n_functions * sizeof(void *));
    }
    list[j->model.n_functions++] = function;
    j->model.functions = list;
}

/* The trunk's nodes as a function with an opset of its own, since the tail's forms are older. */
static void move_to_function(graft_job *j, int64_t opset, bool microsoft)
{
    vtac_onnx_writer *w = &j->writer;
    Onnx__FunctionProto *function = vtac_writer_alloc(w, 1, sizeof *function);
    Onnx__OperatorSetIdProto **sets = vtac_writer_alloc(w, 2, sizeof(void *));
    Onnx__NodeProto *call = make_node(j, "Trunk", NULL, NULL);
    Onnx__NodeProto **only = vtac_writer_alloc(w, 1, sizeof(void *));
    if (w->failed || function == NULL || call == NULL || only == NULL) {
        return;
    }
    onnx__function_proto__init(function);
    sets[0] = make_opset(j, "", opset);
    sets[1] = make_opset(j, "com.microsoft", 1);
    call->name = call->op_type;
    call->domain = vtac_writer_text(trunk_domain);
    call->n_input = j->trunk->input_count;
    call->input = trunk_inputs(j);
    call->output = trunk_outputs(j, &call->n_output);
    function->name = call->op_type;
    function->domain = call->domain;
    function->n_input = call->n_input;
    function->input = call->input;
    function->n_output = call->n_output;
    function->output = call->output;
    function->n_opset_import = microsoft ? 2 : 1;
    function->opset_import = sets;
    fill_function(j, function);
    add_function(j, function);
    only[0] = call;
    j->graph.node = only;
    j->graph.n_node = 1;
    j->graph.n_initializer = 0;
    add_domain(j, trunk_domain);
}

/* Declared types of what the tail makes. */
static void keep_declarations(graft_job *j, const Onnx__GraphProto *from)
{
    vtac_value_id found;
    Onnx__ValueInfoProto **list = vtac_writer_alloc(&j->writer, from->n_value_info + 1, sizeof(void *));
    j->graph.n_value_info = 0;
    j->graph.value_info = list;
    for (size_t i = 0; list != NULL && i < from->n_value_info; i++) {
        const char *name = vtac_proto_text(from->value_info[i]->name);
        if (vtac_scope_get(&j->taken, name, &found) && !is_known(j->walk, name, &found)) {
            list[j->graph.n_value_info++] = from->value_info[i];
        }
    }
}

static vta_status pack_model(graft_job *j, uint8_t **bytes, size_t *size, vta_diag *diag)
{
    if (j->writer.failed) {
        return vta_no_memory(diag);
    }
    *size = onnx__model_proto__get_packed_size(&j->model);
    *bytes = *size <= VTAC_MAX_MODEL_BYTES ? malloc(*size + 1) : NULL;
    if (*bytes == NULL) {
        return *size <= VTAC_MAX_MODEL_BYTES
                   ? vta_no_memory(diag)
                   : vta_fail(diag, VTA_RANGE, "a model in one file has at most 2 GiB");
    }
    (void)onnx__model_proto__pack(&j->model, *bytes);
    (*bytes)[*size] = 0;
    return VTA_OK;
}

/* Writes the tail for the trunk's opset where that is newer than the model's own. False: it is left as it is,
 * and the trunk needs an opset of its own. */
static bool choose_tail(graft_job *j, int64_t own, int64_t opset)
{
    const trunk_walk *t = j->walk;
    Onnx__NodeProto **nodes = vtac_writer_alloc(&j->writer, t->tail.count + 1, sizeof(void *));
    for (size_t i = 0; nodes != NULL && i < t->tail.count; i++) {
        nodes[i] = *(Onnx__NodeProto *const *)vta_vec_at(&t->tail, t->tail.count - 1 - i);
    }
    j->tail = nodes == NULL ? NULL
                            : vtac_uplift_nodes(&j->writer, nodes, t->tail.count, own, opset, &j->tail_count);
    const bool fits = j->tail != NULL;
    if (fits && opset > own) {
        set_opset(j, opset);
    }
    if (!fits && nodes != NULL) { /* copies: nodes may get other names */
        j->tail = vtac_uplift_nodes(&j->writer, nodes, t->tail.count, own, own, &j->tail_count);
    }
    return fits;
}

static vta_status graft_trunk(graft_job *j, const char *producer, uint8_t **bytes, size_t *size,
                              vta_diag *diag)
{
    const Onnx__GraphProto *from = j->walk->im.model->graph;
    int64_t opset;
    bool microsoft;
    if (j->trunk->output_count != j->walk->given.count) {
        return vta_fail(diag, VTA_INVALID, "the trunk has %u outputs, the model reads %zu of it",
                        j->trunk->output_count, j->walk->given.count);
    }
    VTA_TRY(vtac_writer_opset(j->trunk, &opset, &microsoft, diag));
    VTA_TRY(take_names(j, diag));
    VTA_TRY(rename_clashes(j, diag));
    j->model = *j->walk->im.model;
    j->writer.opset = opset > opset_in(&j->model, "") ? opset : opset_in(&j->model, "");
    vtac_writer_graph(&j->writer, &j->graph);
    const int64_t own = opset_in(&j->model, "");
    const bool apart = !choose_tail(j, own, opset);
    if (apart && !j->writer.failed) {
        move_to_function(j, opset, microsoft);
    } else if (microsoft) {
        add_domain(j, "com.microsoft");
    }
    put_constants(j);
    put_tail(j);
    if (j->writer.failed) {
        return vta_no_memory(diag);
    }
    vtac_writer_name_apart(&j->writer, &j->graph);
    keep_declarations(j, from);
    j->graph.n_output = from->n_output;
    j->graph.output = from->output;
    j->graph.n_sparse_initializer = from->n_sparse_initializer;
    j->graph.sparse_initializer = from->sparse_initializer;
    const int64_t version = vtac_writer_ir_version(apart && opset < 15 ? 15 : opset); /* functions: 8 */
    j->model.has_ir_version = 1;
    j->model.ir_version = j->model.ir_version > version ? j->model.ir_version : version;
    j->model.producer_name = vtac_writer_text(producer);
    j->model.graph = &j->graph;
    return pack_model(j, bytes, size, diag);
}

vta_status vtac_onnx_graft(const vtac_model_file *file, const vtac_import_options *options, vtac_graph *trunk,
                           const char *producer, uint8_t **bytes, size_t *size, vta_diag *diag)
{
    trunk_walk t;
    Onnx__ModelProto *model = NULL;
    vtac_import_options silent = options != NULL ? *options : (vtac_import_options){0};
    graft_job j = {.walk = &t, .trunk = trunk, .writer = {.graph = trunk}};
    vta_status status = VTA_OK;
    silent.note = NULL;
    *bytes = NULL;
    VTA_TRY_OUT(open_walk(file, &silent, &t, &model, diag));
    VTA_TRY_OUT(graft_trunk(&j, producer, bytes, size, diag));
out:
    free(j.taken.slots);
    vta_arena_free(&j.writer.arena);
    close_walk(&t, model);
    return status == VTA_OK ? VTA_OK : vta_context(diag, "%s", file->path);
}
