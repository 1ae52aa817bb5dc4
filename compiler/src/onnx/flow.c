/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk of flow.h: which node is what, turn by turn.
 */
#include "flow_words.h"

#include "vta/fail.h"

#include <stdlib.h>
#include <string.h>

bool vtac_flow_is(const Onnx__NodeProto *node, const char *type)
{
    return vtac_plain_domain(node->domain)[0] == '\0' && strcmp(vtac_proto_text(node->op_type), type) == 0;
}

/* ---- the nodes of a block */

static vtac_flow_node *item_at(const vtac_flow_work *w, size_t i)
{
    return vta_vec_at(&w->items, i);
}

vta_status vtac_flow_add_nodes(vtac_flow_work *w, const vtac_import_place *at, Onnx__NodeProto *const *nodes,
                               size_t count, const vtac_flow_node *parent, vta_diag *diag)
{
    for (size_t i = 0; i < count; i++) {
        const vtac_flow_node item = {
            .node = nodes[i], .at = *at, .origin = parent != NULL ? parent->origin : (uint32_t)i};
        VTA_TRY(vtac_charge(w->b->im, diag));
        if (vta_vec_push(&w->items, &item) == NULL) {
            return vtac_flow_no_memory(diag);
        }
    }
    return VTA_OK;
}

typedef struct size_question {
    const vtac_import_place *at;
    bool ready;
    bool *needed;
} size_question;

static vta_status is_there(void *context, const char *name, vta_diag *diag)
{
    size_question *a = context;
    uint32_t value;
    (void)diag;
    if (!vtac_flow_find(a->at, name, &value)) {
        a->ready = false;
    } else if (a->needed != NULL) {
        a->needed[value] = true;
    }
    return VTA_OK;
}

static vta_status ask_sizes(const vtac_flow_node *item, size_question *a, vta_diag *diag)
{
    a->at = item->inside != NULL ? item->inside : &item->at;
    for (size_t i = 0; item->inside != NULL && i < item->rename_count; i++) {
        VTA_TRY(is_there(a, item->from[i], diag));
    }
    return item->inside != NULL ? VTA_OK : vtac_flow_node_names(item->node, NULL, is_there, a, 0, diag);
}

static vta_status is_ready(const vtac_flow_node *item, bool *out, vta_diag *diag)
{
    size_question a = {.ready = true};
    VTA_TRY(ask_sizes(item, &a, diag));
    *out = a.ready;
    return VTA_OK;
}

/* Gives a slot to what the open segment made and somebody else reads, and the instruction that runs it. */
static vta_status close_segment(vtac_flow_work *w, vta_diag *diag)
{
    vtac_flow_builder *b = w->b;
    if (b->segment == 0) {
        return VTA_OK;
    }
    size_question a = {.needed = calloc(b->values.count, sizeof(bool))};
    vtac_flow_draft d = VTAC_FLOW_DRAFT;
    vta_vec numbers = {.item_size = sizeof(uint32_t)};
    vta_status status = VTA_OK;
    if (a.needed == NULL) {
        return vtac_flow_no_memory(diag);
    }
    for (size_t i = 0; i < w->items.count; i++) {
        VTA_TRY_OUT(item_at(w, i)->done ? VTA_OK : ask_sizes(item_at(w, i), &a, diag));
    }
    a.at = &w->at;
    for (size_t i = 0; i < w->graph->n_output; i++) {
        VTA_TRY_OUT(is_there(&a, vtac_proto_text(w->graph->output[i]->name), diag));
    }
    for (uint32_t i = 1; i < b->values.count; i++) {
        vtac_flow_value *v = vtac_flow_at(b, i);
        if (!a.needed[i] || v->segment != b->segment || !v->made || v->constant != 0 || v->slot != 0) {
            continue;
        }
        v->slot = b->flow->slot_count++;
        VTA_TRY_OUT(vtac_add_output(b->im->graph, v->local, diag));
        VTA_TRY_OUT(vtac_flow_put_number(&numbers, b->im->graph->output_count - 1, diag));
        VTA_TRY_OUT(vtac_flow_put_number(&d.outputs, v->slot, diag));
    }
    if (numbers.count == 0) {
        b->segment = 0;
    } else {
        VTA_TRY_OUT(vtac_flow_put_word(&d.words, (int64_t)b->flow->segments.count, diag));
        VTA_TRY_OUT(vtac_flow_finish_segment(b, w->block, VTA_FLOW_RUN, "", &d, &numbers, diag));
    }
out:
    free(a.needed);
    vta_vec_free(&numbers);
    vtac_flow_free_draft(&d);
    return status;
}

/* Binds the outputs of a node that was imported as ever. */
static vta_status take_outputs(vtac_flow_builder *b, const vtac_flow_node *item, const vtac_scope *made,
                               vta_diag *diag)
{
    for (size_t i = 0; i < item->node->n_output; i++) {
        const char *name = vtac_proto_text(item->node->output[i]);
        vtac_value_id id = 0;
        uint32_t number;
        if (name[0] == '\0' || !vtac_scope_get(made, name, &id) || id == 0) {
            continue;
        }
        const vtac_value *value = &b->im->graph->values[id];
        if (value->constant != NULL) {
            VTA_TRY(vtac_flow_add_constant(b, id, &number, diag));
        } else {
            const vtac_flow_value v = {.kind = VTA_FLOW_TENSOR,
                                       .dtype = value->type.dtype,
                                       .known = true,
                                       .type = value->type,
                                       .segment = b->segment,
                                       .local = id,
                                       .made = true};
            VTA_TRY(vtac_flow_add_value(b, &v, &number, diag));
        }
        VTA_TRY(vtac_flow_bind(b, &item->at, name, number, diag));
    }
    return VTA_OK;
}

/* True if a node that is ready can only be an instruction. */
static bool needs_instruction(const vtac_flow_builder *b, const vtac_flow_node *item)
{
    static const char *const control[] = {"If", "Loop", "Scan", "NonMaxSuppression", "SequenceMap"};
    const Onnx__NodeProto *node = item->node;
    vtac_dtype to;
    bool needs = vtac_flow_casts_text(b, item, &to);
    for (size_t i = 0; i < sizeof control / sizeof control[0]; i++) {
        needs = needs || vtac_flow_is(node, control[i]);
    }
    for (size_t i = 0; !needs && i < node->n_input; i++) {
        uint32_t number;
        (void)vtac_flow_find(&item->at, node->input[i], &number);
        needs = number != 0 && !vtac_flow_at(b, number)->known && !vtac_flow_is_type_alone(node, i);
    }
    return needs;
}

/* Imports a node into the open segment, where its inputs are static. `done` false: it is not of that kind,
 * and `why` says so where it was tried. */
static vta_status try_static(vtac_flow_work *w, vtac_flow_node *item, bool *done, vta_diag *why,
                             vta_diag *diag)
{
    vtac_flow_builder *b = w->b;
    Onnx__NodeProto *node = item->node;
    *done = false;
    if (needs_instruction(b, item)) {
        return VTA_OK;
    }
    vtac_flow_open_segment(b);
    vtac_scope scope = {.outer = NULL};
    vta_status status = VTA_OK;
    for (size_t i = 0; status == VTA_OK && i < node->n_input; i++) {
        uint32_t number;
        vtac_value_id id;
        const char *name = vtac_proto_text(node->input[i]);
        (void)vtac_flow_find(&item->at, name, &number);
        status = vtac_flow_is_type_alone(node, i) && number != 0
                     ? vtac_flow_stand_in(b, vtac_flow_at(b, number)->dtype, &id, diag)
                     : vtac_flow_use(b, number, &id, diag);
        if (status == VTA_OK && name[0] != '\0') {
            status = vtac_scope_set(&scope, name, id, diag);
        }
    }
    vtac_import_place at = item->at;
    at.scope = &scope;
    b->im->origin = item->origin;
    if (status == VTA_OK) {
        Onnx__NodeProto *nodes[] = {node};
        status = vtac_import_nodes(b->im, &at, nodes, 1, why);
        *done = status == VTA_OK;
        status = status == VTA_UNSUPPORTED || status == VTA_INVALID ? VTA_OK : status;
    }
    status = status == VTA_OK && *done ? take_outputs(b, item, &scope, diag) : status;
    free(scope.slots);
    if (status != VTA_OK && diag->text[0] == '\0') {
        *diag = *why;
    }
    return status;
}

/* ---- the turns of a block */

int64_t vtac_flow_opset(const vtac_flow_node *item)
{
    const vtac_import_place *at = &item->at;
    if (vtac_is_made(item->node)) {
        return VTAC_NEWEST_OPSET;
    }
    for (size_t i = 0; i < at->opset_count; i++) {
        if (vtac_plain_domain(at->opsets[i]->domain)[0] == '\0') {
            return at->opsets[i]->version;
        }
    }
    return 1;
}

static bool is_old_scan(const vtac_flow_node *item)
{
    return vtac_flow_is(item->node, "Scan") && vtac_flow_opset(item) < 9;
}

/* A node of which only the form is known: control with known conditions, functions. `done`: it was replaced.
 */
static vta_status try_inline(vtac_flow_work *w, vtac_flow_node *item, bool *done, vta_diag *diag)
{
    const Onnx__FunctionProto *function = vtac_find_function(w->b->im, item->node);
    *done = true;
    if (function != NULL) {
        return vtac_flow_inline_call(w, item, function, diag);
    }
    if (vtac_flow_is_recurrent(w->b, item)) {
        return vtac_flow_inline_recurrent(w, item, diag);
    }
    if (vtac_flow_is_fused(w->b, item)) {
        return vtac_flow_inline_fused(w, item, diag);
    }
    if (is_old_scan(item)) {
        return vtac_flow_inline_scan(w, item, diag);
    }
    const vtac_flow_value *condition = vtac_flow_is(item->node, "If") ? vtac_flow_input(w->b, item, 0) : NULL;
    if (condition != NULL && condition->constant != 0 && vtac_type_elements(&condition->type) == 1) {
        const bool which = vtac_tensor_int(w->b->im->graph->values[condition->constant].constant, 0) != 0;
        return vtac_flow_inline_branch(w, item, which, diag);
    }
    *done = false;
    return VTA_OK;
}

static vta_status give_node(vtac_flow_work *w, const vtac_flow_node *item, vta_diag *diag)
{
    if (vtac_flow_is(item->node, "If")) {
        return vtac_flow_give_if(w, item, diag);
    }
    if (vtac_flow_is(item->node, "Loop")) {
        return vtac_flow_give_loop(w, item, diag);
    }
    if (vtac_flow_is(item->node, "Scan")) {
        return vtac_flow_give_scan(w, item, diag);
    }
    if (vtac_flow_is(item->node, "SequenceMap")) {
        return vtac_flow_give_map(w, item, diag);
    }
    vtac_dtype to;
    if (vtac_flow_casts_text(w->b, item, &to)) {
        return vtac_flow_give_text_cast(w, item, to, diag);
    }
    if (vtac_flow_is_window(item->node)) {
        return vtac_flow_give_window(w, item, diag);
    }
    const vtac_flow_row *row = vtac_flow_row_in(item->node, vtac_flow_opset(item));
    return row != NULL ? vtac_flow_give_row(w, item, row, diag) : vtac_flow_give_piece(w, item, diag);
}

static vta_status name_failure(const vtac_flow_node *item, vta_status status, vta_diag *diag)
{
    if (status != VTA_OK && strncmp(diag->text, "node ", 5) != 0) {
        const char *name = vtac_proto_text(item->node->name);
        const char *first = item->node->n_output > 0 ? vtac_proto_text(item->node->output[0]) : "";
        (void)vta_context(diag, "node '%s' (%s)", name[0] != '\0' ? name : first,
                          vtac_proto_text(item->node->op_type));
    }
    return status;
}

/* One node that may be static: done, or found to be an instruction. */
static vta_status static_node(vtac_flow_work *w, size_t i, vta_diag *diag)
{
    bool done = false;
    vta_diag why = {0};
    if (item_at(w, i)->inside != NULL) {
        VTA_TRY(vtac_flow_rename_outputs(w, item_at(w, i), diag));
        done = true;
    }
    vtac_flow_node item = *item_at(w, i);
    if (!done) {
        VTA_TRY(name_failure(&item, try_inline(w, &item, &done, diag), diag));
    }
    if (!done) {
        VTA_TRY(name_failure(&item, try_static(w, &item, &done, &why, diag), diag));
    }
    /* A row helps what a static operator does not take, not what is wrong in the model. */
    const bool refused = !done && why.text[0] != '\0';
    if (refused && (why.code == VTA_INVALID || vtac_flow_row_of(item.node) == NULL)) {
        *diag = why;
        return why.code;
    }
    item_at(w, i)->done = done;
    item_at(w, i)->dynamic = !done;
    return VTA_OK;
}

/* Nodes of a model stand in order: behind so many in a row that wait for others, the next turn finds more. */
enum { MAX_WAITING = 1024 };

/* Each turn looks at all nodes: functions that call each other twice make many turns of many nodes. */
static vta_status count_visit(vtac_flow_work *w, bool waits, vta_diag *diag)
{
    enum { OF_DONE = 1, OF_WAITING = 2 };
    w->visits += waits ? OF_WAITING : OF_DONE;
    return w->visits <= UINT64_C(1) << 27
               ? VTA_OK
               : vta_fail(diag, VTA_RANGE,
                          "functions and subgraphs that call each other come to too many nodes");
}

/* All that can be done without an instruction; `progress`: something was. */
static vta_status static_round(vtac_flow_work *w, bool *progress, vta_diag *diag)
{
    size_t waiting = 0;
    for (size_t i = w->first; i < w->items.count; i++) { /* it grows meanwhile */
        bool ready;
        const bool over = item_at(w, i)->done || item_at(w, i)->dynamic;
        VTA_TRY(count_visit(w, !over, diag));
        if (over) {
            continue;
        }
        VTA_TRY(is_ready(item_at(w, i), &ready, diag));
        waiting = ready ? 0 : waiting + 1;
        if (ready) {
            VTA_TRY(static_node(w, i, diag));
            *progress = true;
        } else if (*progress && waiting > MAX_WAITING) {
            break;
        }
    }
    return VTA_OK;
}

/* Decides whether node i becomes an instruction now. */
static vta_status is_due(vtac_flow_work *w, size_t i, bool *out, vta_diag *diag)
{
    vtac_flow_node *item = item_at(w, i);
    const bool becomes_others = item->inside != NULL || vtac_flow_is(item->node, "If") ||
                                vtac_find_function(w->b->im, item->node) != NULL ||
                                vtac_flow_is_recurrent(w->b, item) || vtac_flow_is_fused(w->b, item) ||
                                is_old_scan(item);
    const bool open = !item->dynamic && !becomes_others;
    *out = false;
    if (item->dynamic || open) {
        VTA_TRY(is_ready(item, out, diag));
    }
    if (*out && open) {
        *out = item->dynamic = needs_instruction(w->b, item);
    }
    return VTA_OK;
}

static vta_status dynamic_round(vtac_flow_work *w, bool *progress, vta_diag *diag)
{
    size_t waiting = 0;
    for (size_t i = w->first; i < w->items.count; i++) {
        bool due = false;
        VTA_TRY(count_visit(w, !item_at(w, i)->done, diag));
        if (item_at(w, i)->done) {
            continue;
        }
        VTA_TRY(is_due(w, i, &due, diag));
        waiting = due ? 0 : waiting + 1;
        if (due) {
            const vtac_flow_node item = *item_at(w, i);
            VTA_TRY(name_failure(&item, give_node(w, &item, diag), diag));
            item_at(w, i)->done = true;
            *progress = true;
        } else if (*progress && waiting > MAX_WAITING) {
            break;
        }
    }
    while (w->first < w->items.count && item_at(w, w->first)->done) {
        w->first++;
    }
    return VTA_OK;
}

static vta_status all_rounds(vtac_flow_work *w, vta_diag *diag)
{
    for (bool progress = true; progress;) {
        progress = false;
        VTA_TRY(static_round(w, &progress, diag));
        VTA_TRY(close_segment(w, diag));
        VTA_TRY(dynamic_round(w, &progress, diag));
    }
    for (size_t i = 0; i < w->items.count; i++) {
        const vtac_flow_node *item = item_at(w, i);
        if (!item->done) {
            return name_failure(
                item,
                vta_fail(diag, VTA_INVALID,
                         "an input is defined by no earlier node; the model is cyclic, unordered or "
                         "incomplete"),
                diag);
        }
    }
    return VTA_OK;
}

vta_status vtac_flow_build_block(vtac_flow_builder *b, const vtac_import_place *at,
                                 const Onnx__GraphProto *graph, uint32_t number, vta_diag *diag)
{
    vtac_flow_work w = {
        .b = b, .block = number, .items = {.item_size = sizeof(vtac_flow_node)}, .at = *at, .graph = graph};
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vtac_flow_add_nodes(&w, at, graph->node, graph->n_node, NULL, diag));
    VTA_TRY_OUT(all_rounds(&w, diag));
out:
    vta_vec_free(&w.items);
    return status;
}

/* ---- the model */

static vta_status build_model(vtac_flow_builder *b, vta_diag *diag)
{
    const Onnx__GraphProto *graph = b->im->model->graph;
    const vtac_import_place at = {vtac_flow_scope(b, NULL), b->im->model->opset_import,
                                  b->im->model->n_opset_import, NULL};
    const vtac_flow_value none = {.kind = VTA_FLOW_NOTHING};
    uint32_t number;
    if (at.scope == NULL || vta_vec_push(&b->values, &none) == NULL) {
        return vtac_flow_no_memory(diag);
    }
    for (size_t i = 0; i < graph->n_input + graph->n_value_info; i++) {
        const Onnx__ValueInfoProto *info =
            i < graph->n_input ? graph->input[i] : graph->value_info[i - graph->n_input];
        VTA_TRY(vtac_scope_set(&b->declared, vtac_proto_text(info->name), (vtac_value_id)(i + 1), diag));
    }
    VTA_TRY(vtac_flow_new_block(b, &number, diag));
    VTA_TRY(vtac_flow_import_constants(b, &at, graph, diag));
    VTA_TRY(vtac_flow_import_ends(b, &at, number, diag));
    VTA_TRY(vtac_flow_build_block(b, &at, graph, number, diag));
    VTA_TRY(vtac_flow_export_ends(b, &at, number, diag));
    return vtac_flow_give_texts(b, number, diag);
}

vta_status vtac_import_flow(vtac_importer *im, vta_diag *diag)
{
    vtac_flow_builder b = {.im = im,
                           .flow = vtac_flow_create(),
                           .values = {.item_size = sizeof(vtac_flow_value)},
                           .scopes = {.item_size = sizeof(vtac_scope *)},
                           .seg_inputs = {.item_size = sizeof(uint32_t)},
                           .seg_slots = {.item_size = sizeof(uint32_t)}};
    im->graph->flow = b.flow;
    im->depth = 1; /* nodes are numbered here */
    const vta_status status = b.flow != NULL ? build_model(&b, diag) : vtac_flow_no_memory(diag);
    for (size_t i = 0; i < b.scopes.count; i++) {
        vtac_scope *scope = *(vtac_scope **)vta_vec_at(&b.scopes, i);
        free(scope->slots);
        free(scope);
    }
    vta_vec_free(&b.scopes);
    free(b.declared.slots);
    vta_vec_free(&b.values);
    vta_vec_free(&b.seg_inputs);
    vta_vec_free(&b.seg_slots);
    return status;
}
