/* SPDX-License-Identifier: Apache-2.0
 *
 * Old forms of operators, rewritten into today's. A table row names the operator, the last opset
 * that has the old form, and the function that rewrites the draft.
 */
#include <math.h>
#include <string.h>

#include "import.h"
#include "vta/fail.h"

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
        return vta_no_memory(diag);
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
    VTA_TRY(attr_to_input(im, draft, draft->opset < 2 ? "paddings" : "pads", 1, diag));
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
static vta_status upgrade_dropout(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
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
        const vtac_value_id scales = draft->inputs[1]; /* of the older form */
        draft->inputs[VTAC_RESIZE_ROI] = 0;
        set_input(draft, VTAC_RESIZE_SCALES, scales);
    }
    draft->op_type = "Resize";
    set_string(draft, "coordinate_transformation_mode", "asymmetric");
    set_string(draft, "nearest_mode", "floor");
    return VTA_OK;
}

/* A reshape of input i to `type`'s dimensions. */
static vta_status reshape_input(vtac_importer *im, vtac_draft *draft, uint32_t i, const vtac_type *type,
                                vta_diag *diag)
{
    vtac_draft *reshape = vta_arena_alloc(&im->graph->arena, sizeof *reshape);
    if (reshape == NULL) {
        return vta_no_memory(diag);
    }
    *reshape = (vtac_draft){.name = draft->name, .input_count = 2, .output_count = 1};
    reshape->inputs[VTAC_RESHAPE_X] = draft->inputs[i];
    VTA_TRY(vtac_emit_ints(im, type->dim, type->rank, &reshape->inputs[VTAC_RESHAPE_SHAPE], diag));
    return vtac_emit(im, reshape, VTAC_OP_RESHAPE, NULL, &draft->inputs[i], diag);
}

/* Operands before opset 7: the second has the shape of the first, or with `broadcast` that of some of its
 * axes in a row, which begin at `axis` or end with the last. */
static vta_status broadcast_6(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    (void)after;
    const vtac_type *a = input_type(im, draft, 0);
    const vtac_type *b = input_type(im, draft, 1);
    const vtac_attr *axis = draft_attr(draft, "axis");
    const vtac_attr *broadcast = draft_attr(draft, "broadcast");
    if (a == NULL || b == NULL) {
        return vta_fail(diag, VTA_INVALID, "it needs two inputs");
    }
    const bool spreads = broadcast != NULL && broadcast->kind == VTAC_ATTR_INT && broadcast->i != 0;
    if (!spreads && a->rank != b->rank) {
        return vta_fail(diag, VTA_INVALID, "its inputs have %u and %u axes and it has no 'broadcast'",
                        a->rank, b->rank);
    }
    if (spreads && axis != NULL && axis->kind == VTAC_ATTR_INT && b->rank > 0) {
        const int64_t first = axis->i < 0 ? axis->i + (int64_t)a->rank : axis->i;
        if (first < 0 || first + (int64_t)b->rank > (int64_t)a->rank) {
            return vta_fail(diag, VTA_RANGE, "axis %lld does not fit inputs of %u and %u axes",
                            (long long)axis->i, a->rank, b->rank);
        }
        vtac_type placed = {b->dtype, a->rank - (uint32_t)first, {0}};
        for (uint32_t i = 0; i < placed.rank; i++) {
            placed.dim[i] = i < b->rank ? b->dim[i] : 1;
        }
        VTA_TRY(reshape_input(im, draft, 1, &placed, diag));
    }
    drop_attr(draft, "axis");
    drop_attr(draft, "broadcast");
    return VTA_OK;
}

/* PRelu before opset 7: one slope, or one for each channel. */
static vta_status prelu_6(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    (void)after;
    const vtac_type *x = input_type(im, draft, 0);
    const vtac_type *slope = input_type(im, draft, 1);
    if (x == NULL || slope == NULL || slope->rank != 1 || x->rank < 2 || slope->dim[0] != x->dim[1]) {
        return VTA_OK;
    }
    vtac_type placed = {slope->dtype, x->rank - 1, {slope->dim[0]}};
    for (uint32_t i = 1; i < placed.rank; i++) {
        placed.dim[i] = 1;
    }
    return reshape_input(im, draft, 1, &placed, diag);
}

/* Parameters for each place (spatial 0) are those of as many channels: the places join the channels. */
static vta_status batch_norm_8(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    const vtac_attr *spatial = draft_attr(draft, "spatial");
    const vtac_type *x = input_type(im, draft, 0);
    if (spatial != NULL && spatial->kind == VTAC_ATTR_INT && spatial->i == 0 && x != NULL && x->rank > 2) {
        const int64_t places = vtac_type_elements(x);
        vtac_type flat = {x->dtype, 2, {x->dim[0], x->dim[0] == 0 ? 0 : places / x->dim[0]}};
        const vtac_type list = {x->dtype, 1, {flat.dim[1]}};
        *after = *x;
        VTA_TRY(reshape_input(im, draft, 0, &flat, diag));
        for (uint32_t i = 1; i < draft->input_count && i < 5; i++) {
            VTA_TRY(reshape_input(im, draft, i, &list, diag));
        }
    }
    drop_attr(draft, "spatial");
    draft->output_count = 1; /* the others belong to training */
    return VTA_OK;
}

/* Cast before opset 6 names the type as the schema does. */
static vta_status cast_1(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    (void)im;
    (void)after;
    const vtac_attr *to = draft_attr(draft, "to");
    const ProtobufCEnumValue *named =
        to != NULL && to->kind == VTAC_ATTR_STRING
            ? protobuf_c_enum_descriptor_get_value_by_name(&onnx__tensor_proto__data_type__descriptor, to->s)
            : NULL;
    vtac_dtype dtype = VTAC_NO_DTYPE;
    if (named == NULL) {
        return vta_fail(diag, VTA_INVALID, "attribute 'to' is '%.32s', no type of ONNX",
                        to != NULL && to->kind == VTAC_ATTR_STRING ? to->s : "");
    }
    VTA_TRY(vtac_import_dtype(named->value, &dtype, diag));
    set_string(draft, "to", vtac_dtype_name(dtype));
    return VTA_OK;
}

static vta_status reshape_1(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    (void)after;
    return attr_to_input(im, draft, "shape", 1, diag);
}

/* Tile of opset 1: x, how often, along which axis. */
static vta_status tile_1(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    (void)after;
    const vtac_type *x = input_type(im, draft, 0);
    const vtac_tensor *given[2] = {NULL, NULL};
    for (uint32_t i = 0; i < 2 && draft->input_count == 3; i++) {
        given[i] = im->graph->values[draft->inputs[i + 1]].constant;
    }
    if (x == NULL || given[0] == NULL || given[1] == NULL || vtac_type_elements(&given[0]->type) != 1 ||
        vtac_type_elements(&given[1]->type) != 1) {
        return vta_fail(diag, VTA_UNSUPPORTED, "how often and along which axis is not known at compile time");
    }
    int64_t repeats[VTAC_MAX_RANK];
    const double axis = vtac_tensor_float(given[1], 0);
    for (uint32_t i = 0; i < x->rank; i++) {
        repeats[i] = (double)i == axis ? (int64_t)vtac_tensor_float(given[0], 0) : 1;
    }
    draft->input_count = 2;
    return vtac_emit_ints(im, repeats, x->rank, &draft->inputs[VTAC_TILE_REPEATS], diag);
}

static void default_float(vtac_draft *draft, const char *name, double value)
{
    if (draft_attr(draft, name) == NULL) {
        set_attr(draft, (vtac_attr){.name = name, .kind = VTAC_ATTR_FLOAT, .f = value});
    }
}

static vta_status selu_1(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    (void)im;
    (void)after;
    (void)diag;
    default_float(draft, "alpha", 1.6732);
    default_float(draft, "gamma", 1.0507);
    return VTA_OK;
}

static vta_status p_to_integer(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    (void)im;
    (void)after;
    const vtac_attr *p = draft_attr(draft, "p");
    if (p != NULL && p->kind == VTAC_ATTR_FLOAT) {
        if (!(p->f >= 1.0 && p->f <= 1e6) || p->f != floor(p->f)) {
            return vta_fail(diag, VTA_UNSUPPORTED, "a norm of p = %g is not supported (whole numbers)", p->f);
        }
        set_attr(draft, (vtac_attr){.name = "p", .kind = VTAC_ATTR_INT, .i = (int64_t)p->f});
    }
    return VTA_OK;
}

/* Upsample of opset 1: a factor for the height and one for the width. */
static vta_status upsample_1(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    const vtac_attr *height = draft_attr(draft, "height_scale");
    const vtac_attr *width = draft_attr(draft, "width_scale");
    if (height == NULL || width == NULL || height->kind != VTAC_ATTR_FLOAT ||
        width->kind != VTAC_ATTR_FLOAT) {
        return vta_fail(diag, VTA_INVALID, "it needs the attributes height_scale and width_scale");
    }
    const double scales[] = {1.0, 1.0, height->f, width->f};
    const vtac_type list = {VTAC_F32, 1, {4}};
    VTA_TRY(float_to_input(im, draft, scales, &list, 1, diag));
    return resize_10(im, draft, after, diag);
}

static vta_status upgrade_upsample(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
{
    const vtac_attr *scales = draft_attr(draft, "scales");
    if (scales != NULL && scales->kind == VTAC_ATTR_FLOATS) {
        const vtac_type list = {VTAC_F32, 1, {(int64_t)scales->count}};
        VTA_TRY(float_to_input(im, draft, scales->floats, &list, 1, diag));
        drop_attr(draft, "scales");
    }
    return resize_10(im, draft, after, diag);
}

static vta_status upgrade_scatter(vtac_importer *im, vtac_draft *draft, vtac_type *after, vta_diag *diag)
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

enum { NEWEST = INT32_MAX };

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
    {"Split", 1, 12, split_to_input},
    {"TopK", 1, 9, k_to_input},
    {"Slice", 1, 9, slice_to_inputs},
    {"Pad", 1, 10, pad_to_inputs},
    {"Clip", 1, 10, clip_to_inputs},
    {"Add", 1, 6, broadcast_6},
    {"Sub", 1, 6, broadcast_6},
    {"Mul", 1, 6, broadcast_6},
    {"Div", 1, 6, broadcast_6},
    {"Pow", 1, 6, broadcast_6},
    {"And", 1, 6, broadcast_6},
    {"Or", 1, 6, broadcast_6},
    {"Xor", 1, 6, broadcast_6},
    {"Equal", 1, 6, broadcast_6},
    {"Greater", 1, 6, broadcast_6},
    {"Less", 1, 6, broadcast_6},
    {"PRelu", 1, 6, prelu_6},
    {"BatchNormalization", 1, 8, batch_norm_8},
    {"Cast", 1, 5, cast_1},
    {"Reshape", 1, 4, reshape_1},
    {"Tile", 1, 5, tile_1},
    {"Selu", 1, 5, selu_1},
    {"LpPool", 1, 1, p_to_integer},
    {"GlobalLpPool", 1, 1, p_to_integer},
    {"Upsample", 1, 6, upsample_1},
    {"Dropout", 1, NEWEST, upgrade_dropout},
    {"Softmax", 1, 12, coerced_softmax},
    {"LogSoftmax", 1, 12, coerced_softmax},
    {"Hardmax", 1, 12, coerced_softmax},
    {"Softmax", 13, NEWEST, softmax_axis},
    {"LogSoftmax", 13, NEWEST, softmax_axis},
    {"Hardmax", 13, NEWEST, softmax_axis},
    {"Resize", 10, 10, resize_10},
    {"Upsample", 7, 9, upgrade_upsample},
    {"Scatter", 9, 10, upgrade_scatter},
    {"GroupNormalization", 18, 20, group_scale},
};

vta_status vtac_upgrade(vtac_importer *im, vtac_draft *draft, vtac_type *reshape_after, vta_diag *diag)
{
    const char *type = draft->op_type;
    for (size_t i = 0; draft->domain[0] == '\0' && i < sizeof upgrades / sizeof upgrades[0]; i++) {
        if (draft->opset >= upgrades[i].first && draft->opset <= upgrades[i].last &&
            strcmp(type, upgrades[i].op_type) == 0) {
            const vta_status status = upgrades[i].rewrite(im, draft, reshape_after, diag);
            draft->opset = NEWEST; /* it has today's form now, and no second row applies */
            return status;
        }
    }
    return VTA_OK;
}
