/* SPDX-License-Identifier: Apache-2.0
 *
 * Old forms of operators, rewritten into those of opset 21. A table row names the operator, the last opset
 * that has the old form, and the function that rewrites the draft.
 */
#include <math.h>
#include <string.h>

#include "import.h"

static const vtac_attr *draft_attr(const vtac_draft *draft, const char *name)
{
    for (uint32_t i = 0; i < draft->attr_count; i++) {
        if (strcmp(draft->attrs[i].name, name) == 0) {
            return &draft->attrs[i];
        }
    }
    return NULL;
}

static void drop_attr(vtac_draft *draft, const char *name)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < draft->attr_count; i++) {
        if (strcmp(draft->attrs[i].name, name) != 0) {
            draft->attrs[kept++] = draft->attrs[i];
        }
    }
    draft->attr_count = kept;
}

static void set_attr(vtac_draft *draft, vtac_attr attr)
{
    drop_attr(draft, attr.name);
    draft->attrs[draft->attr_count++] = attr; /* draft_of leaves room for a few more */
}

static void set_string(vtac_draft *draft, const char *name, const char *value)
{
    set_attr(draft, (vtac_attr){.name = name, .kind = VTAC_ATTR_STRING, .s = value});
}

static void set_input(vtac_draft *draft, uint32_t i, vtac_value_id value)
{
    while (draft->input_count <= i) {
        draft->inputs[draft->input_count++] = 0;
    }
    draft->inputs[i] = value;
}

/* An integer or integer list attribute becomes input i; nothing happens where there is none. */
static vta_status attr_to_input(vtac_importer *im, vtac_draft *draft, const char *name, uint32_t i,
                                vta_diag *diag)
{
    const vtac_attr *attr = draft_attr(draft, name);
    if (attr == NULL) {
        return VTA_OK;
    }
    if (attr->kind != VTAC_ATTR_INTS && attr->kind != VTAC_ATTR_INT) {
        return vta_fail(diag, VTA_INVALID, "attribute '%s' must hold integers", name);
    }
    const bool list = attr->kind == VTAC_ATTR_INTS;
    vtac_value_id value;
    VTA_TRY(vtac_emit_ints(im, list ? attr->ints : &attr->i, list ? (uint32_t)attr->count : 1, &value, diag));
    set_input(draft, i, value);
    drop_attr(draft, name);
    return VTA_OK;
}

/* A float constant, a scalar or a list of one axis. */
static vta_status float_to_input(vtac_importer *im, vtac_draft *draft, const double *values,
                                 const vtac_type *type, uint32_t i, vta_diag *diag)
{
    const vtac_dtype dtype = type->dtype;
    const size_t bytes = vtac_dtype_bytes(dtype);
    const size_t count = (size_t)vtac_type_elements(type);
    if (dtype != VTAC_F32 && dtype != VTAC_F64) {
        return vta_fail(diag, VTA_UNSUPPORTED, "this old form on %s is not supported",
                        vtac_dtype_name(dtype));
    }
    uint8_t *data = vta_arena_array(&im->graph->arena, count, bytes);
    if (data == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory");
    }
    for (size_t k = 0; k < count; k++) {
        const float narrow = (float)values[k];
        memcpy(data + k * bytes, dtype == VTAC_F32 ? (const void *)&narrow : (const void *)&values[k], bytes);
    }
    const vtac_tensor tensor = {*type, data, count * bytes};
    vtac_value_id value;
    VTA_TRY(vtac_add_constant(im->graph, NULL, &tensor, &value, diag));
    set_input(draft, i, value);
    return VTA_OK;
}

static const vtac_type *input_type(const vtac_importer *im, const vtac_draft *draft, uint32_t i)
{
    return i < draft->input_count && draft->inputs[i] != 0 ? &im->graph->values[draft->inputs[i]].type : NULL;
}

/* ---- the rewrites ---- */

typedef vta_status upgrade_fn(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag);

static vta_status axes_to_input(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    (void)after;
    return attr_to_input(im, draft, "axes", 1, diag);
}

static vta_status split_to_input(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    (void)after;
    return attr_to_input(im, draft, "split", 1, diag);
}

static vta_status k_to_input(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    (void)after;
    return attr_to_input(im, draft, "k", 1, diag);
}

static vta_status slice_to_inputs(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    (void)after;
    VTA_TRY(attr_to_input(im, draft, "starts", 1, diag));
    VTA_TRY(attr_to_input(im, draft, "ends", 2, diag));
    return attr_to_input(im, draft, "axes", 3, diag);
}

static vta_status pad_to_inputs(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    (void)after;
    const vtac_type *x = input_type(im, draft, 0);
    const vtac_attr *attr = draft_attr(draft, "value");
    const double value = attr != NULL && attr->kind == VTAC_ATTR_FLOAT ? attr->f : 0.0;
    VTA_TRY(attr_to_input(im, draft, "pads", 1, diag));
    if (value != 0.0 && x != NULL) {
        const vtac_type scalar = {.dtype = x->dtype};
        VTA_TRY(float_to_input(im, draft, &value, &scalar, 2, diag));
    }
    drop_attr(draft, "value");
    return VTA_OK;
}

static vta_status clip_to_inputs(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    (void)after;
    static const char *const names[] = {"min", "max"};
    const vtac_type *x = input_type(im, draft, 0);
    for (uint32_t i = 0; i < 2; i++) {
        const vtac_attr *bound = draft_attr(draft, names[i]);
        const bool given = bound != NULL && bound->kind == VTAC_ATTR_FLOAT && x != NULL;
        const vtac_type scalar = {.dtype = given ? x->dtype : VTAC_NO_DTYPE};
        VTA_TRY(given ? float_to_input(im, draft, &bound->f, &scalar, i + 1, diag) : VTA_OK);
        drop_attr(draft, names[i]);
    }
    return VTA_OK;
}

/* Without training mode Dropout is the identity, and its mask all true (which nothing asks for in an
 * inference model). */
static vta_status dropout(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    (void)im;
    (void)after;
    (void)diag;
    if (draft->output_count == 1 && draft->input_count < 3) {
        draft->op_type = "Identity";
        draft->input_count = draft->input_count > 1 ? 1 : draft->input_count;
        draft->attr_count = 0;
    }
    return VTA_OK;
}

/* Softmax and its kin before opset 13: over all axes from `axis` on at once. */
static vta_status coerced_softmax(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    const vtac_type *x = input_type(im, draft, 0);
    if (x == NULL) {
        return vta_fail(diag, VTA_INVALID, "input 0 is missing");
    }
    const vtac_attr *attr = draft_attr(draft, "axis");
    int64_t axis = attr != NULL && attr->kind == VTAC_ATTR_INT ? attr->i : 1;
    axis = axis < 0 ? axis + (int64_t)x->rank : axis;
    if (axis < 0 || axis > (int64_t)x->rank) {
        return vta_fail(diag, VTA_RANGE, "axis %lld is outside the input's %u", (long long)axis, x->rank);
    }
    if (axis + 1 != (int64_t)x->rank) {
        vtac_draft flat = {.op_type = "Flatten",
                           .domain = "",
                           .name = draft->name,
                           .opset = 21,
                           .input_count = 1,
                           .output_count = 1,
                           .attr_count = 1};
        flat.inputs[0] = draft->inputs[0];
        flat.attrs[0] = (vtac_attr){.name = "axis", .kind = VTAC_ATTR_INT, .i = axis};
        *after = *x;
        VTA_TRY(vtac_emit(im, &flat, VTAC_OP_FLATTEN, NULL, &draft->inputs[0], diag));
    }
    set_attr(draft, (vtac_attr){.name = "axis", .kind = VTAC_ATTR_INT, .i = -1});
    return VTA_OK;
}

/* Opset 13 and later: the default axis is the last one. */
static vta_status softmax_axis(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    (void)im;
    (void)after;
    (void)diag;
    if (draft_attr(draft, "axis") == NULL) {
        set_attr(draft, (vtac_attr){.name = "axis", .kind = VTAC_ATTR_INT, .i = -1});
    }
    return VTA_OK;
}

/* Resize of opset 10: x, scales; places are scaled from the corner and rounded down. */
static vta_status resize_10(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    (void)im;
    (void)after;
    (void)diag;
    if (draft->input_count == 2) {
        const vtac_value_id scales = draft->inputs[1];
        draft->inputs[1] = 0;
        set_input(draft, 2, scales);
    }
    draft->op_type = "Resize";
    set_string(draft, "coordinate_transformation_mode", "asymmetric");
    set_string(draft, "nearest_mode", "floor");
    return VTA_OK;
}

static vta_status upsample(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    const vtac_attr *scales = draft_attr(draft, "scales");
    if (scales != NULL && scales->kind == VTAC_ATTR_FLOATS) {
        const vtac_type list = {VTAC_F32, 1, {(int64_t)scales->count}};
        VTA_TRY(float_to_input(im, draft, scales->floats, &list, 1, diag));
        drop_attr(draft, "scales");
    }
    return resize_10(im, draft, after, diag);
}

static vta_status scatter(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    (void)im;
    (void)after;
    (void)diag;
    draft->op_type = "ScatterElements";
    draft->opset = 11;
    return VTA_OK;
}

/* GroupNormalization before opset 21 has a scale and bias for each group, not for each channel. */
static vta_status group_scale(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    (void)im;
    (void)after;
    (void)diag;
    set_attr(draft, (vtac_attr){.name = "scale_per_group", .kind = VTAC_ATTR_INT, .i = 1});
    return VTA_OK;
}

static const struct {
    const char *op_type;
    int64_t first, last; /* opsets that have this form */
    upgrade_fn *rewrite;
} upgrades[] = {
    {"Squeeze", 1, 12, axes_to_input},
    {"Unsqueeze", 1, 12, axes_to_input},
    {"ReduceSum", 1, 12, axes_to_input},
    {"ReduceL1", 1, 17, axes_to_input},
    {"ReduceL2", 1, 17, axes_to_input},
    {"ReduceLogSum", 1, 17, axes_to_input},
    {"ReduceLogSumExp", 1, 17, axes_to_input},
    {"ReduceMax", 1, 17, axes_to_input},
    {"ReduceMean", 1, 17, axes_to_input},
    {"ReduceMin", 1, 17, axes_to_input},
    {"ReduceProd", 1, 17, axes_to_input},
    {"ReduceSumSquare", 1, 17, axes_to_input},
    {"Split", 2, 12, split_to_input},
    {"TopK", 1, 9, k_to_input},
    {"Slice", 1, 9, slice_to_inputs},
    {"Pad", 2, 10, pad_to_inputs},
    {"Clip", 6, 10, clip_to_inputs},
    {"Dropout", 7, 21, dropout},
    {"Softmax", 1, 12, coerced_softmax},
    {"LogSoftmax", 1, 12, coerced_softmax},
    {"Hardmax", 1, 12, coerced_softmax},
    {"Softmax", 13, 21, softmax_axis},
    {"LogSoftmax", 13, 21, softmax_axis},
    {"Hardmax", 13, 21, softmax_axis},
    {"Resize", 10, 10, resize_10},
    {"Upsample", 7, 9, upsample},
    {"Scatter", 9, 10, scatter},
    {"GroupNormalization", 18, 20, group_scale},
};

vta_status vtac_upgrade(vtac_importer *im, vtac_draft *draft, vtac_type *reshape_after, vta_diag *diag)
{
    const char *type = draft->op_type;
    for (size_t i = 0; draft->domain[0] == '\0' && i < sizeof upgrades / sizeof upgrades[0]; i++) {
        if (draft->opset >= upgrades[i].first && draft->opset <= upgrades[i].last &&
            strcmp(type, upgrades[i].op_type) == 0) {
            const vta_status status = upgrades[i].rewrite(im, draft, reshape_after, diag);
            draft->opset = 21; /* it has today's form now, and no second row applies */
            return status;
        }
    }
    return VTA_OK;
}
