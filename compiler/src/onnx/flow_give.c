/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes that become instructions of a row of vta/flow.def.
 */
#include "flow.h"
#include "vta/fail.h"

#include <string.h>

vta_status vtac_flow_input_slots(vtac_flow_builder *b, const vtac_flow_node *item, vta_vec *slots,
                                 vta_diag *diag)
{
    size_t count = item->node->n_input;
    while (count > 0 && vtac_proto_text(item->node->input[count - 1])[0] == '\0') {
        count--;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t number;
        uint32_t slot = 0;
        (void)vtac_flow_find(&item->at, item->node->input[i], &number);
        VTA_TRY(vtac_flow_slot(b, number, &slot, diag));
        VTA_TRY(vtac_flow_put_number(slots, slot, diag));
    }
    return VTA_OK;
}

const vtac_flow_value *vtac_flow_input(const vtac_flow_builder *b, const vtac_flow_node *item, size_t i)
{
    uint32_t number = 0;
    if (i < item->node->n_input) {
        (void)vtac_flow_find(&item->at, item->node->input[i], &number);
    }
    return number != 0 ? vtac_flow_at(b, number) : NULL;
}

/* A new slot under the name of output i. */
vta_status vtac_flow_add_output(vtac_flow_builder *b, const vtac_flow_node *item, size_t i, char kind,
                                vtac_dtype dtype, const vtac_type *type, vta_vec *slots, vta_diag *diag)
{
    uint32_t number;
    const char *name = vtac_proto_text(item->node->output[i]);
    if (name[0] == '\0') {
        return vtac_flow_put_number(slots, 0, diag);
    }
    VTA_TRY(vtac_flow_add_slot(b, kind, dtype, type, &number, diag));
    VTA_TRY(vtac_flow_put_number(slots, vtac_flow_at(b, number)->slot, diag));
    return vtac_flow_bind(b, &item->at, name, number, diag);
}

/* The type of an output that a row leaves open but constants decide. */
static bool decided_type(const vtac_flow_builder *b, const vtac_flow_node *item, vta_flow_op op,
                         size_t output, vtac_dtype dtype, vtac_type *out)
{
    const vtac_flow_value *shape = vtac_flow_input(b, item, op == VTA_FLOW_CONSTANT_OF_SHAPE ? 0 : 1);
    const vtac_flow_value *from = vtac_flow_input(b, item, 0);
    if (op == VTA_FLOW_MOVE || op == VTA_FLOW_OPTIONAL || op == VTA_FLOW_OPTIONAL_GET_ELEMENT) {
        *out = from != NULL ? from->type : *out;
        return from != NULL && from->known;
    }
    if (op == VTA_FLOW_SIZE || op == VTA_FLOW_SEQUENCE_LENGTH || op == VTA_FLOW_OPTIONAL_HAS_ELEMENT ||
        (op == VTA_FLOW_DYNAMIC_QUANTIZE && output > 0)) {
        *out = (vtac_type){dtype, 0, {0}};
        return true;
    }
    if (op != VTA_FLOW_RESHAPE || shape == NULL || shape->constant == 0) {
        return false;
    }
    const vtac_tensor *sizes = b->im->graph->values[shape->constant].constant;
    const int64_t rank = vtac_type_elements(&sizes->type);
    *out = (vtac_type){dtype, (uint32_t)rank, {0}};
    bool known = rank <= VTAC_MAX_RANK;
    for (int64_t i = 0; known && i < rank; i++) {
        out->dim[i] = vtac_tensor_int(sizes, i);
        known = out->dim[i] > 0;
    }
    return known && vtac_type_elements(out) > 0;
}

/* Type of one row of the first axis, where constants and inputs decide it. */
static bool decided_row(const vtac_flow_builder *b, const vtac_flow_node *item, vta_flow_op op,
                        vtac_dtype dtype, vtac_type *out)
{
    if (op == VTA_FLOW_MOVE) {
        return vtac_flow_row_type(b, item, 0, out);
    }
    const vtac_flow_value *shape = vtac_flow_input(b, item, 1);
    if (op == VTA_FLOW_RESHAPE && shape != NULL && shape->constant != 0) {
        const vtac_tensor *sizes = b->im->graph->values[shape->constant].constant;
        const int64_t rank = vtac_type_elements(&sizes->type);
        bool known = rank > 0 && rank <= VTAC_MAX_RANK;
        *out = (vtac_type){.dtype = dtype, .rank = known ? (uint32_t)rank - 1 : 0};
        for (int64_t i = 1; known && i < rank; i++) {
            out->dim[i - 1] = vtac_tensor_int(sizes, i);
            known = out->dim[i - 1] > 0;
        }
        return known;
    }
    const Onnx__AttributeProto *axis = vtac_proto_attr(item->node, "axis");
    if (op != VTA_FLOW_CONCAT || axis == NULL || (axis->i != 1 && axis->i != -1)) {
        return false;
    }
    int64_t columns = 0;
    for (size_t i = 0; i < item->node->n_input; i++) {
        if (!vtac_flow_row_type(b, item, i, out) || out->rank != 1) {
            return false;
        }
        columns += out->dim[0];
    }
    out->dim[0] = columns;
    out->dtype = dtype;
    return item->node->n_input > 0;
}

static vta_status dtype_attr(vtac_flow_builder *b, const vtac_flow_node *item, vtac_dtype *out,
                             vta_diag *diag)
{
    const Onnx__AttributeProto *attr = vtac_proto_attr(item->node, "dtype");
    (void)b;
    *out = VTAC_F32;
    return attr != NULL ? vtac_import_dtype(attr->i, out, diag) : VTA_OK;
}

static vta_status row_output(vtac_flow_builder *b, const vtac_flow_node *item, const vtac_flow_row *row,
                             size_t i, vtac_dtype from_attrs, vta_vec *slots, vta_diag *diag)
{
    const size_t pairs = strlen(row->outs) / 2;
    const char *pair = row->outs + 2 * (i < pairs ? i : pairs - 1);
    const vtac_flow_value *first = vtac_flow_input(b, item, 0);
    const vtac_flow_value *like =
        pair[1] >= '0' && pair[1] <= '9' ? vtac_flow_input(b, item, (size_t)(pair[1] - '0')) : NULL;
    char kind = pair[0];
    vtac_dtype dtype = like != NULL     ? like->dtype
                       : pair[1] == 'l' ? VTAC_I64
                       : pair[1] == 'b' ? VTAC_BOOL
                       : pair[1] == 'i' ? VTAC_I32
                       : pair[1] == 'u' ? VTAC_U8
                       : pair[1] == 'x' ? VTAC_TEXT
                       : pair[1] == 'a' ? from_attrs
                                        : VTAC_F32;
    if (pair[0] == '=') {
        kind = first != NULL ? first->kind : VTA_FLOW_NOTHING;
        dtype = first != NULL ? first->dtype : VTAC_F32;
    }
    if (pair[1] >= '0' && pair[1] <= '9' && like == NULL) {
        return vta_fail(diag, VTA_INVALID, "its input %c is absent", pair[1]);
    }
    vtac_type type;
    const bool known = kind == VTA_FLOW_TENSOR && decided_type(b, item, row->op, i, dtype, &type);
    VTA_TRY(vtac_flow_add_output(b, item, i, kind, dtype, known ? &type : NULL, slots, diag));
    if (kind == VTA_FLOW_TENSOR && !known && decided_row(b, item, row->op, dtype, &type)) {
        vtac_flow_set_row(b, item, i, &type);
    }
    return VTA_OK;
}

/* Instructions that only move elements or are for texts: all others compute with the elements. */
static const bool takes_text[] = {
    [VTA_FLOW_MOVE] = true,
    [VTA_FLOW_SHAPE] = true,
    [VTA_FLOW_SIZE] = true,
    [VTA_FLOW_RESHAPE] = true,
    [VTA_FLOW_FLATTEN] = true,
    [VTA_FLOW_SQUEEZE] = true,
    [VTA_FLOW_UNSQUEEZE] = true,
    [VTA_FLOW_TRANSPOSE] = true,
    [VTA_FLOW_SLICE] = true,
    [VTA_FLOW_CONCAT] = true,
    [VTA_FLOW_SPLIT] = true,
    [VTA_FLOW_EXPAND] = true,
    [VTA_FLOW_TILE] = true,
    [VTA_FLOW_PAD] = true,
    [VTA_FLOW_GATHER] = true,
    [VTA_FLOW_GATHER_ELEMENTS] = true,
    [VTA_FLOW_GATHER_ND] = true,
    [VTA_FLOW_SCATTER_ELEMENTS] = true,
    [VTA_FLOW_SCATTER_ND] = true,
    [VTA_FLOW_COMPRESS] = true,
    [VTA_FLOW_UNIQUE] = true,
    [VTA_FLOW_SEQUENCE_EMPTY] = true,
    [VTA_FLOW_SEQUENCE_CONSTRUCT] = true,
    [VTA_FLOW_SEQUENCE_INSERT] = true,
    [VTA_FLOW_SEQUENCE_ERASE] = true,
    [VTA_FLOW_SEQUENCE_AT] = true,
    [VTA_FLOW_SEQUENCE_LENGTH] = true,
    [VTA_FLOW_SPLIT_TO_SEQUENCE] = true,
    [VTA_FLOW_CONCAT_FROM_SEQUENCE] = true,
    [VTA_FLOW_OPTIONAL] = true,
    [VTA_FLOW_OPTIONAL_HAS_ELEMENT] = true,
    [VTA_FLOW_OPTIONAL_GET_ELEMENT] = true,
    [VTA_FLOW_DEPTH_TO_SPACE] = true,
    [VTA_FLOW_SPACE_TO_DEPTH] = true,
    [VTA_FLOW_STRING_NORMALIZER] = true,
    [VTA_FLOW_STRING_CONCAT] = true,
    [VTA_FLOW_STRING_SPLIT] = true,
    [VTA_FLOW_REGEX_FULL_MATCH] = true,
    [VTA_FLOW_TOKENIZER] = true,
};

static vta_status check_texts(vtac_flow_builder *b, const vtac_flow_node *item, const vtac_flow_row *row,
                              vta_diag *diag)
{
    const bool adds = row->op == VTA_FLOW_SCATTER_ELEMENTS || row->op == VTA_FLOW_SCATTER_ND;
    const Onnx__AttributeProto *reduction = vtac_proto_attr(item->node, "reduction");
    const bool moves = row->op < sizeof takes_text / sizeof takes_text[0] && takes_text[row->op] &&
                       !(adds && reduction != NULL && reduction->s.len != 4);
    for (size_t i = 0; !moves && i < item->node->n_input; i++) {
        const vtac_flow_value *v = vtac_flow_input(b, item, i);
        if (v != NULL && v->dtype == VTAC_TEXT) {
            return vta_fail(diag, VTA_INVALID, "its input %zu is of texts, with which it cannot compute", i);
        }
    }
    return VTA_OK;
}

vta_status vtac_flow_give_row(vtac_flow_work *w, const vtac_flow_node *item, const vtac_flow_row *row,
                              vta_diag *diag)
{
    vtac_flow_draft d = VTAC_FLOW_DRAFT;
    vtac_dtype dtype = VTAC_F32;
    const char *name = vtac_proto_text(item->node->name);
    vta_status status = VTA_OK;
    VTA_TRY_OUT(check_texts(w->b, item, row, diag));
    VTA_TRY_OUT(vtac_flow_input_slots(w->b, item, &d.inputs, diag));
    if (row->op == VTA_FLOW_SEQUENCE_EMPTY) {
        VTA_TRY_OUT(dtype_attr(w->b, item, &dtype, diag));
    }
    VTA_TRY_OUT(vtac_flow_words(w->b, row, item->node, &item->at, &d.words, &dtype, diag));
    if (row->op == VTA_FLOW_CONCAT && d.words.count == 0) {
        VTA_TRY_OUT(vtac_flow_put_word(&d.words, 0, diag));
    }
    for (size_t i = 0; i < item->node->n_output; i++) {
        VTA_TRY_OUT(row_output(w->b, item, row, i, dtype, &d.outputs, diag));
    }
    name = name[0] == '\0' && item->node->n_output > 0 ? vtac_proto_text(item->node->output[0]) : name;
    VTA_TRY_OUT(vtac_flow_give(w->b, w->block, row->op, name, &d.inputs, &d.outputs, &d.words, diag));
out:
    vtac_flow_free_draft(&d);
    return status;
}

bool vtac_flow_casts_text(const vtac_flow_builder *b, const vtac_flow_node *item, vtac_dtype *to)
{
    const vtac_flow_value *x = vtac_flow_input(b, item, 0);
    const vtac_flow_value *like = vtac_flow_input(b, item, 1);
    const Onnx__AttributeProto *attr = vtac_proto_attr(item->node, "to");
    vta_diag none = {0};
    *to = VTAC_NO_DTYPE;
    if (vtac_flow_is(item->node, "Cast") && attr != NULL) {
        attr = vtac_resolve_attr(attr, item->at.caller);
        (void)(attr != NULL ? vtac_import_dtype(attr->i, to, &none) : VTA_OK);
    } else if (vtac_flow_is(item->node, "CastLike") && like != NULL) {
        *to = like->dtype;
    }
    return x != NULL && *to != VTAC_NO_DTYPE && (x->dtype == VTAC_TEXT) != (*to == VTAC_TEXT);
}

vta_status vtac_flow_give_text_cast(vtac_flow_work *w, const vtac_flow_node *item, vtac_dtype to,
                                    vta_diag *diag)
{
    vtac_flow_draft d = VTAC_FLOW_DRAFT;
    const vtac_flow_value x = *vtac_flow_input(w->b, item, 0);
    const vta_flow_op op = to == VTAC_TEXT ? VTA_FLOW_TO_TEXT : VTA_FLOW_FROM_TEXT;
    vtac_type type = x.type;
    type.dtype = to;
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vtac_dtype_kind(to) == 'n' || vtac_dtype_kind(x.dtype) == 'n'
                    ? vta_fail(diag, VTA_UNSUPPORTED, "texts of types of eight bits and less")
                    : vtac_flow_input_slots(w->b, item, &d.inputs, diag));
    d.inputs.count = d.inputs.count > 1 ? 1 : d.inputs.count;
    VTA_TRY_OUT(vtac_flow_put_word(&d.words, vtac_flow_type(to), diag));
    VTA_TRY_OUT(
        vtac_flow_add_output(w->b, item, 0, VTA_FLOW_TENSOR, to, x.known ? &type : NULL, &d.outputs, diag));
    VTA_TRY_OUT(vtac_flow_give(w->b, w->block, op, vtac_proto_text(item->node->output[0]), &d.inputs,
                               &d.outputs, &d.words, diag));
out:
    vtac_flow_free_draft(&d);
    return status;
}
