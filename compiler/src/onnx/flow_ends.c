/* SPDX-License-Identifier: Apache-2.0
 *
 * The ends of a model that has instructions. Sequences, optionals and texts go in and out as parcels
 * (vta/flow.h): an instruction makes of a parcel what the model says it is, or the other way.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "vta/fail.h"
#include "vta/str.h"

/* Declaration of an input or output in the model. */
typedef struct declared {
    char kind; /* of what is there, where it is optional */
    vtac_dtype dtype;
    bool may_be_absent, is_parcel;
    const Onnx__TensorShapeProto *shape; /* of a tensor; NULL: any */
} declared;

static vta_status declared_type(const Onnx__ValueInfoProto *info, declared *out, vta_diag *diag)
{
    const Onnx__TypeProto *type = info->type;
    *out = (declared){.kind = VTA_FLOW_TENSOR};
    if (type != NULL && type->value_case == ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE) {
        out->may_be_absent = true;
        type = type->optional_type->elem_type;
    }
    if (type != NULL && type->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE) {
        out->kind = VTA_FLOW_SEQUENCE;
        type = type->sequence_type->elem_type;
    }
    if (type == NULL || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) {
        return vta_fail(
            diag, VTA_UNSUPPORTED,
            "'%s' is neither a tensor nor a sequence of tensors, nor one of these that may be absent",
            vtac_proto_text(info->name));
    }
    out->shape = out->kind == VTA_FLOW_TENSOR ? type->tensor_type->shape : NULL;
    VTA_TRY(vtac_import_dtype(type->tensor_type->elem_type, &out->dtype, diag));
    out->is_parcel = out->may_be_absent || out->kind == VTA_FLOW_SEQUENCE || out->dtype == VTAC_TEXT;
    return VTA_OK;
}

static vta_status add_parcel_end(vtac_flow_builder *b, vta_vec *ends, const char *name, uint32_t *slot,
                                 vta_diag *diag)
{
    uint32_t number;
    vtac_flow_end end = {.name = vta_arena_string(&b->im->graph->arena, name, strlen(name)),
                         .kind = VTA_FLOW_TENSOR,
                         .dtype = VTAC_TEXT, /* the same words: opaque */
                         .rank = 1,
                         .dim = {-1}};
    VTA_TRY(vtac_flow_add_slot(b, VTA_FLOW_TENSOR, VTAC_TEXT, NULL, &number, diag));
    end.slot = *slot = vtac_flow_at(b, number)->slot;
    return end.name != NULL && vta_vec_push(ends, &end) != NULL ? VTA_OK : vtac_flow_no_memory(diag);
}

/* An instruction by which a value comes in or goes out: one input, one output. */
typedef struct crossing {
    vta_flow_op op;
    const char *name;
    uint32_t from, to; /* slots */
    const int64_t *words;
    size_t count;
} crossing;

static vta_status give_one(vtac_flow_builder *b, uint32_t block, const crossing *c, vta_diag *diag)
{
    vtac_flow_draft d = VTAC_FLOW_DRAFT;
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vtac_flow_put_number(&d.inputs, c->from, diag));
    VTA_TRY_OUT(vtac_flow_put_number(&d.outputs, c->to, diag));
    for (size_t i = 0; i < c->count; i++) {
        VTA_TRY_OUT(vtac_flow_put_word(&d.words, c->words[i], diag));
    }
    VTA_TRY_OUT(vtac_flow_give(b, block, c->op, c->name, &d.inputs, &d.outputs, &d.words, diag));
out:
    vtac_flow_free_draft(&d);
    return status;
}

enum { UNPACK_WORDS = 4 + VTAC_MAX_RANK };

static vta_status import_parcel(vtac_flow_builder *b, const vtac_import_place *at, uint32_t block,
                                const Onnx__ValueInfoProto *info, const declared *is, vta_diag *diag)
{
    const char *name = info->name;
    uint32_t slot;
    uint32_t number;
    vtac_type type = {.dtype = is->dtype};
    int64_t words[UNPACK_WORDS] = {is->kind, vtac_flow_type(is->dtype), is->may_be_absent, -1};
    size_t count = 4;
    bool known = is->shape != NULL && !is->may_be_absent;
    if (is->shape != NULL && is->shape->n_dim <= VTAC_MAX_RANK) {
        type.rank = (uint32_t)is->shape->n_dim;
        words[3] = type.rank;
        for (uint32_t i = 0; i < type.rank; i++) {
            const Onnx__TensorShapeProto__Dimension *dim = is->shape->dim[i];
            const bool fixed =
                dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && dim->dim_value > 0;
            words[count++] = fixed ? dim->dim_value : -1;
            type.dim[i] = fixed ? dim->dim_value : 0;
            known = known && fixed;
        }
    }
    VTA_TRY(add_parcel_end(b, &b->flow->inputs, name, &slot, diag));
    VTA_TRY(vtac_flow_add_slot(b, is->kind, is->dtype, known ? &type : NULL, &number, diag));
    const crossing in = {VTA_FLOW_UNPACK, name, slot, vtac_flow_at(b, number)->slot, words, count};
    VTA_TRY(give_one(b, block, &in, diag));
    return vtac_flow_bind(b, at, name, number, diag);
}

/* ---- dimensions of one name */

/* Some exporters call every open dimension alike. */
static bool is_name(const Onnx__TensorShapeProto__Dimension *dim)
{
    const char *name = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM
                           ? vtac_proto_text(dim->dim_param)
                           : "";
    return isalpha((unsigned char)name[0]) != 0 && strcmp(name, "None") != 0;
}

/* The dimensions of an input that have names, and are open: those that came up before are to be the same. */
static vta_status expect_same_sizes(vtac_flow_builder *b, uint32_t block, const Onnx__ValueInfoProto *info,
                                    const vtac_flow_end *end, vtac_scope *names, vta_vec *dims,
                                    vta_diag *diag)
{
    const bool tensor = end->dtype != VTAC_TEXT && /* a parcel's axis is not the model's */
                        info->type != NULL && info->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE &&
                        info->type->tensor_type->shape != NULL;
    const int32_t rank = tensor ? (int32_t)info->type->tensor_type->shape->n_dim : 0;
    for (int32_t k = 0; k < end->rank && k < rank; k++) {
        const Onnx__TensorShapeProto__Dimension *dim = info->type->tensor_type->shape->dim[k];
        const vtac_flow_axis here = {end->name, end->slot, k};
        vtac_value_id known;
        if (end->dim[k] >= 0 || !is_name(dim)) {
            continue;
        }
        if (vtac_scope_get(names, dim->dim_param, &known)) {
            VTA_TRY(vtac_flow_same_size(b->im->graph, block, dim->dim_param, vta_vec_at(dims, known), &here,
                                        diag));
            continue;
        }
        VTA_TRY(vtac_scope_set(names, dim->dim_param, (vtac_value_id)dims->count, diag));
        if (vta_vec_push(dims, &here) == NULL) {
            return vtac_flow_no_memory(diag);
        }
    }
    return VTA_OK;
}

static vta_status import_inputs(vtac_flow_builder *b, const vtac_import_place *at, uint32_t block,
                                vta_diag *diag)
{
    const Onnx__GraphProto *graph = b->im->model->graph;
    for (size_t i = 0; i < graph->n_input; i++) {
        const char *name = vtac_proto_text(graph->input[i]->name);
        uint32_t number;
        if (vtac_flow_find(at, name, &number)) {
            continue;
        }
        vtac_flow_end end = {.name = name};
        declared is;
        VTA_TRY(declared_type(graph->input[i], &is, diag));
        if (is.is_parcel) {
            VTA_TRY(import_parcel(b, at, block, graph->input[i], &is, diag));
            continue;
        }
        VTA_TRY(vtac_import_input(b->im, graph->input[i], &end, diag));
        vtac_type type = {.dtype = end.dtype, .rank = end.rank < 0 ? 0 : (uint32_t)end.rank};
        bool known = end.rank >= 0;
        for (int32_t k = 0; k < end.rank; k++) {
            type.dim[k] = end.dim[k];
            known = known && end.dim[k] >= 0;
        }
        end.name = vta_arena_string(&b->im->graph->arena, name, strlen(name));
        VTA_TRY(vtac_flow_add_slot(b, end.kind, end.dtype, known ? &type : NULL, &number, diag));
        end.slot = vtac_flow_at(b, number)->slot;
        VTA_TRY(vtac_flow_bind(b, at, end.name, number, diag));
        if (end.name == NULL || vta_vec_push(&b->flow->inputs, &end) == NULL) {
            return vtac_flow_no_memory(diag);
        }
    }
    return vtac_check_shape_options(b->im, diag);
}

vta_status vtac_flow_import_ends(vtac_flow_builder *b, const vtac_import_place *at, uint32_t block,
                                 vta_diag *diag)
{
    const Onnx__GraphProto *graph = b->im->model->graph;
    vtac_scope names = {.outer = NULL};
    vta_vec dims = {.item_size = sizeof(vtac_flow_axis)};
    vta_status status = import_inputs(b, at, block, diag);
    size_t next = 0; /* of the ends, which are inputs of the graph in its order */
    for (size_t i = 0; status == VTA_OK && i < graph->n_input && next < b->flow->inputs.count; i++) {
        const vtac_flow_end *end = vta_vec_at(&b->flow->inputs, next);
        if (strcmp(end->name, vtac_proto_text(graph->input[i]->name)) == 0) {
            status = expect_same_sizes(b, block, graph->input[i], end, &names, &dims, diag);
            next++;
        }
    }
    free(names.slots);
    vta_vec_free(&dims);
    return status;
}

/* An output that leaves as a parcel: text, a sequence, what may be absent. */
static vta_status export_parcel(vtac_flow_builder *b, uint32_t block, const char *name, uint32_t number,
                                vta_diag *diag)
{
    crossing out = {.op = VTA_FLOW_PACK, .name = name};
    VTA_TRY(vtac_flow_slot(b, number, &out.from, diag));
    VTA_TRY(add_parcel_end(b, &b->flow->outputs, name, &out.to, diag));
    return give_one(b, block, &out, diag);
}

/* A tensor's rank and sizes, as far as the graph or, for the rank, its declaration says them. */
static void set_sizes(const vtac_flow_value *v, const Onnx__TypeProto *type, vtac_flow_end *end)
{
    const Onnx__TypeProto__Tensor *tensor =
        type != NULL && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? type->tensor_type : NULL;
    if (v->known) {
        end->rank = (int32_t)v->type.rank;
        memcpy(end->dim, v->type.dim, sizeof end->dim);
    } else if (tensor != NULL && tensor->shape != NULL && tensor->shape->n_dim <= VTAC_MAX_RANK) {
        end->rank = (int32_t)tensor->shape->n_dim;
        for (int32_t k = 0; k < end->rank; k++) {
            end->dim[k] = -1;
        }
    }
}

static vta_status export_end(vtac_flow_builder *b, uint32_t block, const Onnx__ValueInfoProto *info,
                             uint32_t number, vta_diag *diag)
{
    const char *name = vtac_proto_text(info->name);
    const vtac_flow_value v = *vtac_flow_at(b, number);
    declared is;
    vta_diag why = {0};
    const bool said = declared_type(info, &is, &why) == VTA_OK;
    if (v.kind != VTA_FLOW_TENSOR || v.dtype == VTAC_TEXT || (said && is.is_parcel)) {
        return export_parcel(b, block, name, number, diag);
    }
    vtac_flow_end end = {.name = vta_arena_string(&b->im->graph->arena, name, strlen(name)),
                         .kind = v.kind,
                         .dtype = v.dtype,
                         .rank = -1};
    set_sizes(&v, info->type, &end);
    VTA_TRY(vtac_flow_slot(b, number, &end.slot, diag));
    return end.name != NULL && vta_vec_push(&b->flow->outputs, &end) != NULL ? VTA_OK
                                                                             : vtac_flow_no_memory(diag);
}

vta_status vtac_flow_export_ends(vtac_flow_builder *b, const vtac_import_place *at, uint32_t block,
                                 vta_diag *diag)
{
    const Onnx__GraphProto *graph = b->im->model->graph;
    for (size_t i = 0; i < graph->n_output; i++) {
        const char *name = vtac_proto_text(graph->output[i]->name);
        uint32_t number;
        if (!vtac_flow_find(at, name, &number) || number == 0) {
            return vta_fail(diag, VTA_INVALID, "output %zu ('%s') is defined by no node", i, name);
        }
        VTA_TRY(export_end(b, block, graph->output[i], number, diag));
    }
    return VTA_OK;
}

/* The first instruction of all numbers the model's own texts, as vtac_text_number did. */
vta_status vtac_flow_give_texts(vtac_flow_builder *b, uint32_t block, vta_diag *diag)
{
    const vta_vec *texts = &b->im->texts;
    const int64_t head[] = {VTA_FLOW_TENSOR, vtac_flow_type(VTAC_TEXT), 1, (int64_t)texts->count};
    const int64_t words[] = {VTA_FLOW_TENSOR, vtac_flow_type(VTAC_TEXT), 0, -1};
    vta_str parcel = {0};
    if (texts->count == 0) {
        return VTA_OK;
    }
    vta_str_append(&parcel, head, sizeof head);
    for (size_t i = 0; i < texts->count; i++) {
        static const uint8_t zeros[8] = {0};
        const char *text = *(const char **)vta_vec_at(texts, i);
        const int64_t size = (int64_t)strlen(text);
        vta_str_append(&parcel, &size, sizeof size);
        vta_str_append(&parcel, text, (size_t)size);
        vta_str_append(&parcel, zeros, (size_t)(-size & 7));
    }
    vtac_tensor tensor = {.type = {VTAC_I64, 1, {(int64_t)(parcel.size / 8)}},
                          .data = parcel.failed ? NULL : vtac_flow_kept(b, parcel.text, parcel.size),
                          .bytes = parcel.size};
    vta_str_free(&parcel);
    const vtac_flow_constant constant = {b->flow->slot_count, tensor};
    if (tensor.data == NULL || vta_vec_push(&b->flow->constants, &constant) == NULL) {
        return vtac_flow_no_memory(diag);
    }
    b->flow->slot_count += 2;
    const crossing in = {VTA_FLOW_UNPACK, "", constant.slot, constant.slot + 1, words, 4};
    VTA_TRY(give_one(b, block, &in, diag));
    vta_vec *insns = &((vtac_flow_block *)vta_vec_at(&b->flow->blocks, block))->insns;
    vtac_flow_insn *first = vta_vec_at(insns, 0);
    const vtac_flow_insn last = first[insns->count - 1];
    memmove(first + 1, first, (insns->count - 1) * sizeof *first);
    *first = last;
    return VTA_OK;
}
