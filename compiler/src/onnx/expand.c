/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that are several of ours: com.microsoft's FusedConv is a convolution, an addition and an
 * activation, which lowering fuses again.
 */
#include <string.h>

#include "import.h"
#include "vta/fail.h"

/* Activations of FusedConv, and which attributes its parameters are; those of Clip are inputs. */
static const struct {
    const char *name;
    vtac_op op;
    const char *parameters[2];
} activations[] = {
    {"Clip", VTAC_OP_CLIP, {NULL, NULL}},
    {"HardSigmoid", VTAC_OP_HARD_SIGMOID, {"alpha", "beta"}},
    {"LeakyRelu", VTAC_OP_LEAKY_RELU, {"alpha", NULL}},
    {"Relu", VTAC_OP_RELU, {NULL, NULL}},
    {"Sigmoid", VTAC_OP_SIGMOID, {NULL, NULL}},
    {"Tanh", VTAC_OP_TANH, {NULL, NULL}},
};
enum { ACTIVATIONS = sizeof activations / sizeof activations[0] };

typedef struct fused {
    size_t activation; /* ACTIVATIONS: none */
    double parameters[2];
    size_t count;
} fused;

/* Takes the attributes of the activation out of the draft; what stays is Conv's. */
static vta_status split_attributes(vtac_draft *draft, fused *f, vta_diag *diag)
{
    uint32_t kept = 0;
    f->activation = ACTIVATIONS;
    for (uint32_t i = 0; i < draft->attr_count; i++) {
        const vtac_attr *attr = &draft->attrs[i];
        if (strcmp(attr->name, "activation") == 0 && attr->kind == VTAC_ATTR_STRING) {
            for (size_t k = 0; k < ACTIVATIONS; k++) {
                f->activation = strcmp(attr->s, activations[k].name) == 0 ? k : f->activation;
            }
            if (f->activation == ACTIVATIONS && attr->s[0] != '\0') {
                return vta_fail(diag, VTA_UNSUPPORTED, "the activation '%.64s' is not known", attr->s);
            }
        } else if (strcmp(attr->name, "activation_params") == 0 && attr->kind == VTAC_ATTR_FLOATS) {
            f->count = attr->count < 2 ? attr->count : 2;
            memcpy(f->parameters, attr->floats, f->count * sizeof f->parameters[0]);
        } else {
            draft->attrs[kept++] = *attr;
        }
    }
    draft->attr_count = kept;
    return VTA_OK;
}

static vta_status clip_inputs(vtac_importer *im, vtac_draft *draft, const fused *f, vta_diag *diag)
{
    if (im->graph->values[draft->inputs[VTAC_CLIP_X]].type.dtype != VTAC_F32 || f->count != 2) {
        return vta_fail(diag, VTA_UNSUPPORTED, "the activation Clip needs float32 and two parameters");
    }
    for (uint32_t i = 0; i < 2; i++) {
        float *value = vta_arena_alloc(&im->graph->arena, sizeof *value);
        if (value == NULL) {
            return vta_no_memory(diag);
        }
        *value = (float)f->parameters[i];
        const vtac_tensor tensor = {{VTAC_F32, 0, {0}}, value, sizeof *value};
        VTA_TRY(vtac_add_constant(im->graph, NULL, &tensor, &draft->inputs[i + 1], diag));
    }
    draft->input_count = 3;
    return VTA_OK;
}

static vta_status emit_activation(vtac_importer *im, vtac_draft *draft, const fused *f,
                                  const char *const *names, vtac_value_id *value, vta_diag *diag)
{
    draft->inputs[0] = *value;
    draft->input_count = 1;
    draft->attr_count = 0;
    if (activations[f->activation].op == VTAC_OP_CLIP) {
        VTA_TRY(clip_inputs(im, draft, f, diag));
    }
    for (size_t i = 0; i < f->count; i++) {
        const char *name = activations[f->activation].parameters[i];
        if (name != NULL) {
            draft->attrs[draft->attr_count++] =
                (vtac_attr){.name = name, .kind = VTAC_ATTR_FLOAT, .f = f->parameters[i]};
        }
    }
    return vtac_emit(im, draft, activations[f->activation].op, names, value, diag);
}

static vta_status fused_conv(vtac_importer *im, vtac_draft *draft, const char *const *names,
                             vtac_value_id *value, vta_diag *diag)
{
    fused f = {0};
    VTA_TRY(split_attributes(draft, &f, diag));
    const vtac_value_id added =
        draft->input_count > VTAC_FUSED_CONV_ADDEND ? draft->inputs[VTAC_FUSED_CONV_ADDEND] : 0;
    const bool active = f.activation < ACTIVATIONS;
    draft->input_count = draft->input_count > VTAC_CONV_INPUTS ? VTAC_CONV_INPUTS : draft->input_count;
    draft->output_count = 1;
    VTA_TRY(vtac_emit(im, draft, VTAC_OP_CONV, active || added != 0 ? NULL : names, value, diag));
    if (added != 0) {
        draft->inputs[VTAC_BINARY_A] = *value;
        draft->inputs[VTAC_BINARY_B] = added;
        draft->input_count = 2;
        draft->attr_count = 0;
        VTA_TRY(vtac_emit(im, draft, VTAC_OP_ADD, active ? NULL : names, value, diag));
    }
    return active ? emit_activation(im, draft, &f, names, value, diag) : VTA_OK;
}

/* ---- pools with channels last */

static vta_status transpose_value(vtac_importer *im, const vtac_draft *like, bool channels_first,
                                  const char *const *names, vtac_value_id *value, vta_diag *diag)
{
    int64_t order[VTAC_MAX_RANK];
    const uint32_t rank = im->graph->values[*value].type.rank;
    for (uint32_t i = 0; i < rank; i++) { /* 0, rank - 1, 1, 2 ... or 0, 2, 3 ... 1 */
        order[i] = i == 0 ? 0 : channels_first ? (i == 1 ? rank - 1 : i - 1) : (i + 1 == rank ? 1 : i + 1);
    }
    vtac_draft *draft = vta_arena_alloc(&im->graph->arena, sizeof *draft);
    if (draft == NULL) {
        return vta_no_memory(diag);
    }
    draft->name = like->name;
    draft->inputs[0] = *value;
    draft->input_count = 1;
    draft->attrs[0] = (vtac_attr){.name = "perm", .kind = VTAC_ATTR_INTS, .count = rank, .ints = order};
    draft->attr_count = 1;
    draft->output_count = 1;
    return vtac_emit(im, draft, VTAC_OP_TRANSPOSE, names, value, diag);
}

static bool channels_last(const vtac_draft *draft)
{
    for (uint32_t i = 0; i < draft->attr_count; i++) {
        const vtac_attr *attr = &draft->attrs[i];
        if (strcmp(attr->name, "channels_last") == 0) {
            return attr->kind == VTAC_ATTR_INT && attr->i != 0;
        }
    }
    return false;
}

static vta_status turned_pool(vtac_importer *im, vtac_draft *draft, const char *const *names,
                              vtac_value_id *value, vta_diag *diag)
{
    uint32_t kept = 0;
    if (draft->input_count == 0 || draft->inputs[0] == 0) {
        return vta_fail(diag, VTA_INVALID, "input 0 is missing");
    }
    VTA_TRY(transpose_value(im, draft, true, NULL, &draft->inputs[0], diag));
    for (uint32_t i = 0; i < draft->attr_count; i++) {
        if (strcmp(draft->attrs[i].name, "channels_last") != 0) {
            draft->attrs[kept++] = draft->attrs[i];
        }
    }
    draft->attr_count = kept;
    draft->output_count = 1;
    VTA_TRY(vtac_emit(im, draft, VTAC_OP_QLINEAR_AVERAGE_POOL, NULL, value, diag));
    return transpose_value(im, draft, false, names, value, diag);
}

vta_status vtac_expand(vtac_importer *im, vtac_draft *draft, const char *const *names, vtac_value_id *value,
                       bool *done, vta_diag *diag)
{
    const bool microsoft = strcmp(draft->domain, "com.microsoft") == 0;
    *done = true;
    if (microsoft && strcmp(draft->op_type, "FusedConv") == 0) {
        return fused_conv(im, draft, names, value, diag);
    }
    if (microsoft && strcmp(draft->op_type, "QLinearAveragePool") == 0 && channels_last(draft)) {
        return turned_pool(im, draft, names, value, diag);
    }
    *done = false;
    return VTA_OK;
}
