/* SPDX-License-Identifier: Apache-2.0
 *
 * Values, slots, instructions, and segments: what the walk of flow.h is made of.
 */
#include "flow.h"

#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"

vta_status vtac_flow_no_memory(vta_diag *diag)
{
    return vta_no_memory(diag);
}

/* ---- values and slots */

vtac_flow_value *vtac_flow_at(const vtac_flow_builder *b, uint32_t i)
{
    return vta_vec_at(&b->values, i);
}

vta_status vtac_flow_add_value(vtac_flow_builder *b, const vtac_flow_value *value, uint32_t *out,
                               vta_diag *diag)
{
    *out = (uint32_t)b->values.count;
    return vta_vec_push(&b->values, value) != NULL ? VTA_OK : vtac_flow_no_memory(diag);
}

vta_status vtac_flow_add_constant(vtac_flow_builder *b, vtac_value_id id, uint32_t *out, vta_diag *diag)
{
    const vtac_type *type = &b->im->graph->values[id].type;
    const vtac_flow_value value = {
        .kind = VTA_FLOW_TENSOR, .dtype = type->dtype, .known = true, .type = *type, .constant = id};
    return vtac_flow_add_value(b, &value, out, diag);
}

/* Anything that has a slot. type NULL: not known. */
vta_status vtac_flow_add_slot(vtac_flow_builder *b, char kind, vtac_dtype dtype, const vtac_type *type,
                              uint32_t *out, vta_diag *diag)
{
    vtac_flow_value value = {.kind = kind, .dtype = dtype, .slot = b->flow->slot_count++};
    if (type != NULL && kind == VTA_FLOW_TENSOR) {
        value.known = true;
        value.type = *type;
    }
    return vtac_flow_add_value(b, &value, out, diag);
}

vta_status vtac_flow_slot(vtac_flow_builder *b, uint32_t i, uint32_t *out, vta_diag *diag)
{
    vtac_flow_value *v = vtac_flow_at(b, i);
    if (i != 0 && v->slot == 0) {
        if (v->constant == 0) {
            return vta_fail(diag, VTA_INVALID, "a value of a segment was not kept"); /* a bug of this file */
        }
        v->slot = b->flow->slot_count++;
        const vtac_flow_constant constant = {v->slot, *b->im->graph->values[v->constant].constant};
        if (vta_vec_push(&b->flow->constants, &constant) == NULL) {
            return vtac_flow_no_memory(diag);
        }
    }
    *out = i == 0 ? 0 : v->slot;
    return VTA_OK;
}

vtac_scope *vtac_flow_scope(vtac_flow_builder *b, const vtac_scope *outer)
{
    vtac_scope *scope = calloc(1, sizeof *scope);
    if (scope == NULL || vta_vec_push(&b->scopes, &scope) == NULL) {
        free(scope);
        return NULL;
    }
    scope->outer = outer;
    return scope;
}

bool vtac_flow_find(const vtac_import_place *at, const char *name, uint32_t *out)
{
    *out = 0;
    return vtac_proto_text(name)[0] == '\0' || vtac_scope_get(at->scope, name, out);
}

vta_status vtac_flow_bind(vtac_flow_builder *b, const vtac_import_place *at, const char *name, uint32_t value,
                          vta_diag *diag)
{
    (void)b;
    return vtac_proto_text(name)[0] != '\0' ? vtac_scope_set(at->scope, name, value, diag) : VTA_OK;
}

/* ---- instructions */

void *vtac_flow_kept(vtac_flow_builder *b, const void *items, size_t bytes)
{
    return vtac_flow_keep(b->im->graph, items, bytes);
}

vta_status vtac_flow_give(vtac_flow_builder *b, uint32_t block, vta_flow_op op, const char *name,
                          const vta_vec *inputs, const vta_vec *outputs, const vta_vec *words, vta_diag *diag)
{
    const vtac_flow_draft d = {*inputs, *outputs, *words};
    return vtac_flow_append(b->im->graph, block, op, name, &d, diag);
}

/* ---- segments */

void vtac_flow_open_segment(vtac_flow_builder *b)
{
    if (b->segment == 0) {
        b->segment = ++b->last_segment;
        b->seg_inputs.count = b->seg_slots.count = 0;
    }
}

vta_status vtac_flow_segment_input(vtac_flow_builder *b, uint32_t slot, const vtac_type *type,
                                   vtac_value_id *out, vta_diag *diag)
{
    vtac_graph *graph = b->im->graph;
    VTA_TRY(vtac_add_input(graph, NULL, type, out, diag));
    VTA_TRY(vtac_flow_put_number(&b->seg_inputs, graph->input_count - 1, diag));
    return vtac_flow_put_number(&b->seg_slots, slot, diag);
}

/* A value as the open segment sees it. */
vta_status vtac_flow_use(vtac_flow_builder *b, uint32_t i, vtac_value_id *out, vta_diag *diag)
{
    vtac_flow_value *v = vtac_flow_at(b, i);
    *out = i == 0 ? 0 : v->constant;
    if (i == 0 || v->constant != 0) {
        return VTA_OK;
    }
    if (v->segment != b->segment) {
        VTA_TRY(vtac_flow_segment_input(b, v->slot, &v->type, &v->local, diag));
        v = vtac_flow_at(b, i);
        v->segment = b->segment;
        v->made = false;
    }
    *out = v->local;
    return VTA_OK;
}

/* True if the node uses only the type of input i, neither its elements nor its size. */
bool vtac_flow_is_type_alone(const Onnx__NodeProto *node, size_t i)
{
    return i == 1 && vtac_flow_is(node, "CastLike");
}

/* One element of that type. */
vta_status vtac_flow_stand_in(vtac_flow_builder *b, vtac_dtype dtype, vtac_value_id *out, vta_diag *diag)
{
    static const uint64_t nothing[2] = {0, 0};
    const vtac_tensor one = {{dtype, 0, {0}}, nothing, vtac_dtype_bytes(dtype)};
    return vtac_add_constant(b->im->graph, NULL, &one, out, diag);
}

/* Closes a segment of the outputs that the draft has; `numbers`: the graph's outputs. */
vta_status vtac_flow_finish_segment(vtac_flow_builder *b, uint32_t block, vta_flow_op op, const char *name,
                                    vtac_flow_draft *d, vta_vec *numbers, vta_diag *diag)
{
    vtac_flow_segment segment = {.inputs = {.item_size = sizeof(uint32_t)}, .outputs = *numbers};
    b->segment = 0;
    for (size_t i = 0; i < b->seg_inputs.count; i++) {
        VTA_TRY(vtac_flow_put_number(&segment.inputs, *(uint32_t *)vta_vec_at(&b->seg_inputs, i), diag));
    }
    *numbers = (vta_vec){.item_size = sizeof(uint32_t)};
    if (vta_vec_push(&b->flow->segments, &segment) == NULL) {
        vta_vec_free(&segment.inputs);
        vta_vec_free(&segment.outputs);
        return vtac_flow_no_memory(diag);
    }
    d->inputs.count = 0;
    for (size_t i = 0; i < b->seg_slots.count; i++) {
        VTA_TRY(vtac_flow_put_number(&d->inputs, *(uint32_t *)vta_vec_at(&b->seg_slots, i), diag));
    }
    return vtac_flow_give(b, block, op, name, &d->inputs, &d->outputs, &d->words, diag);
}
