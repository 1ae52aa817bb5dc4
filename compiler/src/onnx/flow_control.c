/* SPDX-License-Identifier: Apache-2.0
 *
 * If, Loop and Scan.
 */
#include "flow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"

vta_status vtac_flow_new_block(vtac_flow_builder *b, uint32_t *out, vta_diag *diag)
{
    return vtac_flow_add_block(b->im->graph, out, diag);
}

/* The numbers of the values that a block gives. */
static vta_status body_values(vtac_flow_builder *b, const vtac_import_place *at,
                              const Onnx__GraphProto *graph, uint32_t *values, vta_diag *diag)
{
    (void)b;
    for (size_t i = 0; i < graph->n_output; i++) {
        const char *name = vtac_proto_text(graph->output[i]->name);
        if (!vtac_flow_find(at, name, &values[i]) || values[i] == 0) {
            return vta_fail(diag, VTA_INVALID, "output '%s' of its body is defined by no node", name);
        }
    }
    return VTA_OK;
}

/* A list of slots that a block keeps. */
static vta_status keep_slots(vtac_flow_builder *b, const uint32_t *values, size_t count, const uint32_t **out,
                             vta_diag *diag)
{
    uint32_t *slots = vta_arena_alloc(&b->im->graph->arena, (count + 1) * sizeof *slots);
    if (slots == NULL) {
        return vtac_flow_no_memory(diag);
    }
    for (size_t i = 0; i < count; i++) {
        VTA_TRY(vtac_flow_slot(b, values[i], &slots[i], diag));
    }
    *out = slots;
    return VTA_OK;
}

/* A block of a graph in a scope of its own. Gives the values of its outputs. */
static vta_status add_body(vtac_flow_builder *b, const vtac_import_place *at, const Onnx__GraphProto *graph,
                           const uint32_t *parameters, uint32_t *number, uint32_t *values, vta_diag *diag)
{
    if (b->depth >= VTAC_MAX_DEPTH) {
        return vta_fail(diag, VTA_UNSUPPORTED, "functions and subgraphs nest deeper than %d", VTAC_MAX_DEPTH);
    }
    b->depth++;
    VTA_TRY(vtac_flow_new_block(b, number, diag));
    const size_t count = parameters != NULL ? graph->n_input : 0;
    for (size_t i = 0; i < count; i++) {
        VTA_TRY(vtac_flow_bind(b, at, graph->input[i]->name, parameters[i], diag));
    }
    VTA_TRY(vtac_flow_import_constants(b, at, graph, diag));
    VTA_TRY(vtac_flow_build_block(b, at, graph, *number, diag));
    VTA_TRY(body_values(b, at, graph, values, diag));
    const uint32_t *inputs = NULL;
    const uint32_t *outputs = NULL;
    VTA_TRY(keep_slots(b, parameters, count, &inputs, diag));
    VTA_TRY(keep_slots(b, values, graph->n_output, &outputs, diag));
    vtac_flow_block *block = vta_vec_at(&b->flow->blocks, *number);
    block->input_count = (uint32_t)count;
    block->inputs = inputs;
    block->output_count = (uint32_t)graph->n_output;
    block->outputs = outputs;
    b->depth--;
    return VTA_OK;
}

/* Sizes of the lists before a body, so that its entries can be dropped again. */
typedef struct mark {
    size_t segments, blocks;
    uint32_t inputs, outputs, nodes;
} mark;

static mark remember_place(const vtac_flow_builder *b)
{
    const vtac_graph *graph = b->im->graph;
    return (mark){b->flow->segments.count, b->flow->blocks.count, graph->input_count, graph->output_count,
                  graph->node_count};
}

static void forget_since(vtac_flow_builder *b, const mark *m)
{
    vtac_graph *graph = b->im->graph;
    vtac_drop_outputs(graph, m->outputs);
    for (vtac_node_id id = graph->node_count; id > m->nodes; id--) {
        if (!graph->nodes[id].dead) {
            vtac_remove_node(graph, id);
        }
    }
    for (uint32_t i = m->inputs; i < graph->input_count; i++) {
        graph->values[graph->inputs[i]].dead = true;
    }
    graph->input_count = m->inputs;
    for (size_t i = m->segments; i < b->flow->segments.count; i++) {
        vtac_flow_segment *s = vta_vec_at(&b->flow->segments, i);
        vta_vec_free(&s->inputs);
        vta_vec_free(&s->outputs);
    }
    for (size_t i = m->blocks; i < b->flow->blocks.count; i++) {
        vta_vec_free(&((vtac_flow_block *)vta_vec_at(&b->flow->blocks, i))->insns);
    }
    b->flow->segments.count = m->segments;
    b->flow->blocks.count = m->blocks;
}

/* A block that refuses a run which comes to it, and gives nothing. */
static vta_status add_refusal(vtac_flow_builder *b, const char *text, size_t outputs, uint32_t *number,
                              uint32_t *values, vta_diag *diag)
{
    vtac_flow_draft d = VTAC_FLOW_DRAFT;
    const uint32_t *slots = NULL;
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vtac_flow_new_block(b, number, diag));
    VTA_TRY_OUT(vtac_flow_put_word(&d.words, (int64_t)strlen(text), diag));
    for (size_t i = 0; text[i] != '\0'; i++) {
        VTA_TRY_OUT(vtac_flow_put_word(&d.words, text[i], diag));
    }
    VTA_TRY_OUT(vtac_flow_give(b, *number, VTA_FLOW_REFUSE, "", &d.inputs, &d.outputs, &d.words, diag));
    for (size_t i = 0; i < outputs; i++) {
        VTA_TRY_OUT(vtac_flow_add_slot(b, VTA_FLOW_NOTHING, VTAC_NO_DTYPE, NULL, &values[i], diag));
    }
    VTA_TRY_OUT(keep_slots(b, values, outputs, &slots, diag));
    vtac_flow_block *block = vta_vec_at(&b->flow->blocks, *number);
    block->output_count = (uint32_t)outputs;
    block->outputs = slots;
out:
    vtac_flow_free_draft(&d);
    return status;
}

/* A branch of an If. `refused`, unless NULL: a branch that does not fit the sizes of its inputs becomes one
 * that refuses the run, with a note. */
static vta_status add_branch(vtac_flow_builder *b, const vtac_flow_node *item, const char *name,
                             uint32_t *number, uint32_t *values, bool *refused, vta_diag *diag)
{
    const Onnx__AttributeProto *branch = vtac_proto_attr(item->node, name);
    const mark before = remember_place(b);
    const uint32_t depth = b->depth;
    vtac_import_place at = item->at;
    vta_diag own = {0};
    char text[240];
    if (branch == NULL || branch->g == NULL || branch->g->n_output != item->node->n_output) {
        return vta_fail(diag, VTA_INVALID, "its branch is missing or does not give %zu outputs",
                        item->node->n_output);
    }
    at.scope = vtac_flow_scope(b, item->at.scope);
    if (at.scope == NULL) {
        return vtac_flow_no_memory(diag);
    }
    const vta_status status =
        add_body(b, &at, branch->g, NULL, number, values, refused == NULL ? diag : &own);
    if (status != VTA_INVALID || refused == NULL) {
        return status == VTA_OK || refused == NULL ? status : vta_fail(diag, status, "%s", own.text);
    }
    forget_since(b, &before);
    b->segment = 0; /* one that was open when the branch failed is gone */
    b->seg_inputs.count = 0;
    b->seg_slots.count = 0;
    b->depth = depth;
    *refused = true;
    (void)snprintf(text, sizeof text, "the %s does not fit the sizes that it was compiled for: %.150s", name,
                   own.text);
    if (b->im->options != NULL && b->im->options->note != NULL) {
        char note[400];
        (void)snprintf(note, sizeof note, "If '%.100s': %s; a run that takes it is refused",
                       vtac_proto_text(item->node->name), text);
        b->im->options->note(b->im->options->context, note);
    }
    return add_refusal(b, text, item->node->n_output, number, values, diag);
}

vta_status vtac_flow_give_if(vtac_flow_work *w, const vtac_flow_node *item, vta_diag *diag)
{
    static const char *const names[] = {"then_branch", "else_branch"};
    vtac_flow_builder *b = w->b;
    vtac_flow_draft d = VTAC_FLOW_DRAFT;
    uint32_t values[2][VTAC_FLOW_ENDS];
    vta_status status = item->node->n_input == 1 && item->node->n_output <= VTAC_FLOW_ENDS
                            ? vtac_flow_input_slots(b, item, &d.inputs, diag)
                            : vta_fail(diag, VTA_INVALID,
                                       "it takes one condition and gives at most %d outputs", VTAC_FLOW_ENDS);
    bool refused = false;
    for (int i = 0; status == VTA_OK && i < 2; i++) {
        uint32_t number = 0;
        status = add_branch(b, item, names[i], &number, values[i], refused ? NULL : &refused, diag);
        status = status == VTA_OK ? vtac_flow_put_word(&d.words, number, diag) : status;
    }
    for (size_t i = 0; status == VTA_OK && i < item->node->n_output; i++) {
        vtac_flow_value a = *vtac_flow_at(b, values[0][i]);
        vtac_flow_value c = *vtac_flow_at(b, values[1][i]);
        if (a.kind == VTA_FLOW_NOTHING || c.kind == VTA_FLOW_NOTHING) {
            a = a.kind == VTA_FLOW_NOTHING ? c : a;
            a.known = a.known && refused;
        } else if (a.kind != c.kind || (a.dtype != c.dtype)) {
            status = vta_fail(diag, VTA_INVALID,
                              "output %zu is of one type in one branch, of another in the other", i);
            break;
        }
        const bool known = a.known && (refused || (c.known && vtac_type_equal(&a.type, &c.type)));
        status = vtac_flow_add_output(b, item, i, a.kind, a.dtype, known ? &a.type : NULL, &d.outputs, diag);
    }
    status = status == VTA_OK ? vtac_flow_give(b, w->block, VTA_FLOW_IF, vtac_proto_text(item->node->name),
                                               &d.inputs, &d.outputs, &d.words, diag)
                              : status;
    vtac_flow_free_draft(&d);
    return status;
}

/* The body of a Loop or a Scan: `states` of its parameters from `first` on come back as outputs from `back`
 * on. A state whose type does not come back as it went in is of unknown size, and the body is built anew. */
typedef struct looping {
    const Onnx__GraphProto *body;
    const vtac_flow_node *item;
    vtac_flow_value parameters[VTAC_FLOW_ENDS];
    uint32_t values[VTAC_FLOW_ENDS]; /* of the outputs */
    uint32_t number;                 /* of the block */
    uint32_t first, back, states;
} looping;

static vta_status build_loop(vtac_flow_builder *b, looping *l, vta_diag *diag)
{
    for (bool again = true; again;) {
        const mark before = remember_place(b);
        uint32_t numbers[VTAC_FLOW_ENDS];
        vtac_import_place at = l->item->at;
        at.scope = vtac_flow_scope(b, l->item->at.scope);
        if (at.scope == NULL) {
            return vtac_flow_no_memory(diag);
        }
        for (size_t i = 0; i < l->body->n_input; i++) {
            const vtac_flow_value *p = &l->parameters[i];
            VTA_TRY(vtac_flow_add_slot(b, p->kind, p->dtype, p->known ? &p->type : NULL, &numbers[i], diag));
        }
        VTA_TRY(add_body(b, &at, l->body, numbers, &l->number, l->values, diag));
        again = false;
        for (uint32_t i = 0; i < l->states; i++) {
            vtac_flow_value *in = &l->parameters[l->first + i];
            const vtac_flow_value *out = vtac_flow_at(b, l->values[l->back + i]);
            const bool nothing = in->kind == VTA_FLOW_NOTHING && out->kind != VTA_FLOW_NOTHING;
            if (!nothing && out->kind != VTA_FLOW_NOTHING &&
                (in->kind != out->kind || in->dtype != out->dtype)) {
                return vta_fail(diag, VTA_INVALID, "what it carries as '%s' comes back as another type",
                                vtac_proto_text(l->body->input[l->first + i]->name));
            }
            if (nothing) {
                in->kind = out->kind;
                in->dtype = out->dtype;
            }
            if (nothing || (in->known && !(out->known && vtac_type_equal(&in->type, &out->type)))) {
                in->known = false;
                again = true;
            }
        }
        if (again) {
            forget_since(b, &before);
        }
    }
    return VTA_OK;
}

/* Writes type, rank and sizes of an output that gathered no iteration. The body's declaration counts where
 * its nodes leave them open; an unknown size is 0. */
static vta_status put_none(const vtac_flow_value *v, const Onnx__ValueInfoProto *declared, vta_vec *words,
                           vta_diag *diag)
{
    const Onnx__TypeProto *type = declared->type;
    const bool tensor = type != NULL && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    const Onnx__TensorShapeProto *shape = tensor ? type->tensor_type->shape : NULL;
    const bool told = !v->known && shape != NULL && shape->n_dim <= VTAC_MAX_RANK;
    VTA_TRY(vtac_flow_put_word(words, vtac_flow_type(v->dtype), diag));
    VTA_TRY(vtac_flow_put_word(words,
                               v->known ? (int64_t)v->type.rank
                               : told   ? (int64_t)shape->n_dim
                                        : -1,
                               diag));
    for (uint32_t i = 0; i < VTAC_MAX_RANK; i++) {
        int64_t size = v->known && i < v->type.rank ? v->type.dim[i] : 0;
        if (told && i < shape->n_dim && shape->dim[i]->dim_value > 0 &&
            shape->dim[i]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
            size = shape->dim[i]->dim_value;
        }
        VTA_TRY(vtac_flow_put_word(words, size, diag));
    }
    return VTA_OK;
}

static const Onnx__GraphProto *body_of(const vtac_flow_node *item)
{
    const Onnx__AttributeProto *attr = vtac_proto_attr(item->node, "body");
    return attr != NULL ? attr->g : NULL;
}

static vta_status loop_insn(vtac_flow_work *w, const vtac_flow_node *item, looping *l, vtac_flow_draft *d,
                            vta_diag *diag)
{
    vtac_flow_builder *b = w->b;
    VTA_TRY(vtac_flow_input_slots(b, item, &d->inputs, diag));
    while (d->inputs.count < item->node->n_input) {
        VTA_TRY(vtac_flow_put_number(&d->inputs, 0, diag));
    }
    VTA_TRY(build_loop(b, l, diag));
    VTA_TRY(vtac_flow_put_word(&d->words, l->number, diag));
    VTA_TRY(vtac_flow_put_word(&d->words, l->states, diag));
    for (uint32_t i = 0; i < item->node->n_output; i++) {
        const vtac_flow_value v = *vtac_flow_at(b, l->values[1 + i]);
        const bool carried = i < l->states;
        const vtac_flow_value *state = &l->parameters[2 + (carried ? i : 0)];
        VTA_TRY(carried ? VTA_OK : put_none(&v, l->body->output[1 + i], &d->words, diag));
        VTA_TRY(vtac_flow_add_output(b, item, i, carried ? v.kind : VTA_FLOW_TENSOR, v.dtype,
                                     carried && state->known ? &state->type : NULL, &d->outputs, diag));
    }
    return vtac_flow_give(b, w->block, VTA_FLOW_LOOP, vtac_proto_text(item->node->name), &d->inputs,
                          &d->outputs, &d->words, diag);
}

vta_status vtac_flow_give_loop(vtac_flow_work *w, const vtac_flow_node *item, vta_diag *diag)
{
    const Onnx__NodeProto *node = item->node;
    const Onnx__GraphProto *body = body_of(item);
    if (body == NULL || node->n_input < 2 || node->n_input > VTAC_FLOW_ENDS ||
        body->n_input != node->n_input || body->n_output != node->n_output + 1 ||
        node->n_output >= VTAC_FLOW_ENDS || node->n_output + 2 < node->n_input) {
        return vta_fail(diag, VTA_INVALID, "its body is missing or does not fit its inputs and outputs");
    }
    const vtac_flow_value *trips = vtac_flow_input(w->b, item, 0);
    if (trips != NULL &&
        (vtac_dtype_kind(trips->dtype) != 'i' || (trips->known && vtac_type_elements(&trips->type) != 1))) {
        return vta_fail(diag, VTA_INVALID, "the trip count is to be one integer, its type is %s",
                        vtac_dtype_name(trips->dtype));
    }
    looping *l = calloc(1, sizeof *l);
    if (l == NULL) {
        return vtac_flow_no_memory(diag);
    }
    *l = (looping){.body = body, .item = item, .first = 2, .back = 1, .states = (uint32_t)node->n_input - 2};
    l->parameters[0] = (vtac_flow_value){
        .kind = VTA_FLOW_TENSOR, .dtype = VTAC_I64, .known = true, .type = {.dtype = VTAC_I64}};
    l->parameters[1] = (vtac_flow_value){
        .kind = VTA_FLOW_TENSOR, .dtype = VTAC_BOOL, .known = true, .type = {.dtype = VTAC_BOOL}};
    vta_status status = VTA_OK;
    for (size_t i = 2; status == VTA_OK && i < node->n_input; i++) {
        const vtac_flow_value *v = vtac_flow_input(w->b, item, i);
        if (v == NULL) {
            status = vta_fail(diag, VTA_INVALID, "its input %zu is absent", i);
        } else {
            l->parameters[i] = *v;
        }
    }
    vtac_flow_draft d = VTAC_FLOW_DRAFT;
    status = status == VTA_OK ? loop_insn(w, item, l, &d, diag) : status;
    vtac_flow_free_draft(&d);
    free(l);
    return status;
}

/* Item i of a list of integers that is an attribute; 0 where it is absent. */
static int64_t listed_int(const Onnx__NodeProto *node, const char *name, size_t i)
{
    const Onnx__AttributeProto *attr = vtac_proto_attr(node, name);
    return attr != NULL && i < attr->n_ints ? attr->ints[i] : 0;
}

static vta_status scan_parameters(vtac_flow_work *w, looping *l, vta_diag *diag)
{
    for (size_t i = 0; i < l->body->n_input; i++) {
        const vtac_flow_value *v = vtac_flow_input(w->b, l->item, i);
        if (v == NULL || v->kind != VTA_FLOW_TENSOR) {
            return vta_fail(diag, VTA_INVALID, "its input %zu is no tensor", i);
        }
        vtac_flow_value *p = &l->parameters[i];
        *p = (vtac_flow_value){.kind = v->kind, .dtype = v->dtype, .known = v->known, .type = v->type};
        if (i < l->states || !v->known) {
            continue;
        }
        int64_t axis = listed_int(l->item->node, "scan_input_axes", i - l->states);
        axis = axis < 0 ? axis + v->type.rank : axis;
        if (axis < 0 || axis >= v->type.rank) {
            return vta_fail(diag, VTA_INVALID, "its input %zu has no axis %lld", i, (long long)axis);
        }
        p->type.rank--;
        for (uint32_t k = (uint32_t)axis; k < p->type.rank; k++) {
            p->type.dim[k] = p->type.dim[k + 1];
        }
    }
    return VTA_OK;
}

/* Writes the first `count` items of a list of integers that is an attribute. */
static vta_status put_list(const Onnx__NodeProto *node, const char *name, size_t count, vta_vec *words,
                           vta_diag *diag)
{
    for (size_t i = 0; i < count; i++) {
        VTA_TRY(vtac_flow_put_word(words, listed_int(node, name, i), diag));
    }
    return VTA_OK;
}

static vta_status put_scan_lists(const Onnx__NodeProto *node, size_t scanned, size_t gathered, vta_vec *words,
                                 vta_diag *diag)
{
    VTA_TRY(put_list(node, "scan_input_axes", scanned, words, diag));
    VTA_TRY(put_list(node, "scan_input_directions", scanned, words, diag));
    VTA_TRY(put_list(node, "scan_output_axes", gathered, words, diag));
    return put_list(node, "scan_output_directions", gathered, words, diag);
}

static vta_status scan_output(vtac_flow_builder *b, const vtac_flow_node *item, const looping *l, uint32_t i,
                              vtac_flow_draft *d, vta_diag *diag)
{
    const vtac_flow_value v = *vtac_flow_at(b, l->values[i]);
    const bool carried = i < l->states;
    const vtac_flow_value *state = &l->parameters[carried ? i : 0];
    VTA_TRY(carried ? VTA_OK : put_none(&v, l->body->output[i], &d->words, diag));
    VTA_TRY(vtac_flow_add_output(b, item, i, VTA_FLOW_TENSOR, v.dtype,
                                 carried && state->known ? &state->type : NULL, &d->outputs, diag));
    if (!carried && v.known && listed_int(item->node, "scan_output_axes", i - l->states) == 0) {
        vtac_flow_set_row(b, item, i, &v.type);
    }
    return VTA_OK;
}

static vta_status scan_insn(vtac_flow_work *w, const vtac_flow_node *item, looping *l, uint32_t scanned,
                            vtac_flow_draft *d, vta_diag *diag)
{
    vtac_flow_builder *b = w->b;
    const uint32_t gathered = (uint32_t)item->node->n_output - l->states;
    VTA_TRY(scan_parameters(w, l, diag));
    VTA_TRY(vtac_flow_input_slots(b, item, &d->inputs, diag));
    VTA_TRY(build_loop(b, l, diag));
    VTA_TRY(vtac_flow_put_word(&d->words, l->number, diag));
    VTA_TRY(vtac_flow_put_word(&d->words, scanned, diag));
    VTA_TRY(put_scan_lists(item->node, scanned, gathered, &d->words, diag));
    for (uint32_t i = 0; i < item->node->n_output; i++) {
        VTA_TRY(scan_output(b, item, l, i, d, diag));
    }
    return vtac_flow_give(b, w->block, VTA_FLOW_SCAN, vtac_proto_text(item->node->name), &d->inputs,
                          &d->outputs, &d->words, diag);
}

vta_status vtac_flow_give_scan(vtac_flow_work *w, const vtac_flow_node *item, vta_diag *diag)
{
    const Onnx__NodeProto *node = item->node;
    const Onnx__GraphProto *body = body_of(item);
    const Onnx__AttributeProto *count = vtac_proto_attr(node, "num_scan_inputs");
    if (body == NULL || count == NULL || count->i < 1 || node->n_input > VTAC_FLOW_ENDS ||
        node->n_output > VTAC_FLOW_ENDS || count->i > (int64_t)node->n_input ||
        body->n_input != node->n_input || body->n_output != node->n_output ||
        node->n_output < node->n_input - (size_t)count->i) {
        return vta_fail(diag, VTA_INVALID, "its body is missing or does not fit its inputs and outputs");
    }
    looping *l = calloc(1, sizeof *l);
    if (l == NULL) {
        return vtac_flow_no_memory(diag);
    }
    *l = (looping){.body = body, .item = item, .states = (uint32_t)(node->n_input - (size_t)count->i)};
    vtac_flow_draft d = VTAC_FLOW_DRAFT;
    const vta_status status = scan_insn(w, item, l, (uint32_t)count->i, &d, diag);
    vtac_flow_free_draft(&d);
    free(l);
    return status;
}
