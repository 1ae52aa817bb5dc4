/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of a model. A tensor of texts holds their numbers (vta/flow.h); those that the model itself has are
 * the first, in the order in which they are met here.
 */
#include <string.h>

#include "import.h"
#include "vta/fail.h"

static vta_status add_text(vtac_importer *im, const char *text, int64_t *out, vta_diag *diag)
{
    const char *kept = vta_arena_string(&im->graph->arena, text, strlen(text));
    *out = (int64_t)im->texts.count;
    if (kept == NULL || vta_vec_push(&im->texts, &kept) == NULL) {
        return vta_no_memory(diag);
    }
    return vtac_scope_set(&im->text_ids, kept, (vtac_value_id)*out, diag);
}

vta_status vtac_text_number(vtac_importer *im, const char *text, int64_t *out, vta_diag *diag)
{
    vtac_value_id known;
    if (!im->has_flow) {
        return vta_fail(diag, VTA_UNSUPPORTED, "texts are taken at run time alone");
    }
    if (im->texts.count == 0) { /* the empty one is number 0 */
        VTA_TRY(add_text(im, "", out, diag));
    }
    if (vtac_scope_get(&im->text_ids, text, &known)) {
        *out = known;
        return VTA_OK;
    }
    return add_text(im, text, out, diag);
}

vta_status vtac_import_texts(vtac_importer *im, const char *const *texts, size_t count, vtac_tensor *out,
                             vta_diag *diag)
{
    int64_t *data = vta_arena_array(&im->graph->arena, count, sizeof *data);
    if (data == NULL) {
        return vta_no_memory(diag);
    }
    for (size_t i = 0; i < count; i++) {
        VTA_TRY(vtac_text_number(im, texts[i], &data[i], diag));
    }
    *out = (vtac_tensor){{VTAC_TEXT, 1, {(int64_t)count}}, data, count * sizeof *data};
    return VTA_OK;
}

static vta_status tensor_of_texts(vtac_importer *im, const Onnx__TensorProto *proto, vtac_tensor *out,
                                  vta_diag *diag)
{
    const size_t count = proto->n_string_data;
    const char **texts = vta_arena_array(&im->graph->arena, count, sizeof *texts);
    if (proto->n_dims > VTAC_MAX_RANK) {
        return vta_fail(diag, VTA_UNSUPPORTED, "it has %zu axes, at most %d are supported", proto->n_dims,
                        VTAC_MAX_RANK);
    }
    if (texts == NULL) {
        return vta_no_memory(diag);
    }
    for (size_t i = 0; i < count; i++) {
        const ProtobufCBinaryData *from = &proto->string_data[i];
        if (memchr(from->len > 0 ? (const char *)from->data : "", '\0', from->len) != NULL) {
            return vta_fail(diag, VTA_UNSUPPORTED, "text %zu has a zero byte in it", i);
        }
        texts[i] =
            vta_arena_string(&im->graph->arena, from->len > 0 ? (const char *)from->data : "", from->len);
        if (texts[i] == NULL) {
            return vta_no_memory(diag);
        }
    }
    VTA_TRY(vtac_import_texts(im, texts, count, out, diag));
    out->type.rank = (uint32_t)proto->n_dims;
    for (size_t i = 0; i < proto->n_dims; i++) {
        out->type.dim[i] = proto->dims[i];
    }
    return vtac_type_elements(&out->type) == (int64_t)count
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID, "it holds %zu texts, which is not what its sizes say", count);
}

vta_status vtac_import_any_tensor(vtac_importer *im, const Onnx__TensorProto *proto, vtac_tensor *out,
                                  vta_diag *diag)
{
    if (proto->data_type != ONNX__TENSOR_PROTO__DATA_TYPE__STRING) {
        return vtac_import_tensor(&im->graph->arena, im->folder, proto, out, diag);
    }
    const vta_status status = tensor_of_texts(im, proto, out, diag);
    if (status != VTA_OK) {
        (void)vta_context(diag, "tensor '%s'", vtac_proto_text(proto->name));
    }
    return status;
}
