/* SPDX-License-Identifier: Apache-2.0 */
#include "insert.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "vta/fail.h"

enum { NAME_ROOM = 256 };

vta_status vtac_quant_add_params(vtac_graph *graph, vtac_dtype dtype, float scale, int32_t zero,
                                 vtac_quant_params *out, vta_diag *diag)
{
    float *real = vta_arena_alloc(&graph->arena, sizeof *real);
    uint8_t *byte = vta_arena_alloc(&graph->arena, 1);
    if (real == NULL || byte == NULL) {
        return vta_no_memory(diag);
    }
    *real = scale;
    *byte = (uint8_t)zero;
    const vtac_tensor scales = {.type = {.dtype = VTAC_F32}, .data = real, .bytes = sizeof *real};
    const vtac_tensor zeros = {.type = {.dtype = dtype}, .data = byte, .bytes = 1};
    *out = (vtac_quant_params){0};
    VTA_TRY(vtac_add_constant(graph, "", &scales, &out->scale, diag));
    return vtac_add_constant(graph, "", &zeros, &out->zero, diag);
}

static const char *derived_name(char *to, const char *from, const char *suffix)
{
    (void)snprintf(to, NAME_ROOM, "%.200s%s", from == NULL ? "" : from, suffix);
    return to;
}

vta_status vtac_quant_add_constant(vtac_graph *graph, const char *like, const vtac_tensor *tensor,
                                   vtac_value_id *out, vta_diag *diag)
{
    char name[NAME_ROOM];
    return vtac_add_constant(graph, derived_name(name, like, "_quantized"), tensor, out, diag);
}

/* Either operator with what ends the names it derives. */
typedef struct affine_kind {
    vtac_op op;
    const char *suffix;
} affine_kind;

static const affine_kind quantize = {VTAC_OP_QUANTIZE_LINEAR, "_quantized"};
static const affine_kind dequantize = {VTAC_OP_DEQUANTIZE_LINEAR, "_dequantized"};
static const affine_kind give_back = {VTAC_OP_DEQUANTIZE_LINEAR, "_real"};

/* Adds one of them beside node `near` (0: it belongs to none). */
static vta_status add_affine(vtac_graph *graph, const affine_kind *what, vtac_node_id near, vtac_value_id x,
                             const vtac_quant_params *params, vtac_value_id *out, vta_diag *diag)
{
    const char *suffix = what->suffix;
    char name[NAME_ROOM];
    char output[NAME_ROOM];
    const char *const outputs[] = {derived_name(output, graph->values[x].name, suffix)};
    const vtac_value_id inputs[] = {x, params->scale, params->zero};
    const vtac_attr attrs[] = {{.name = "axis", .kind = VTAC_ATTR_INT, .i = params->axis},
                               {.name = "block_size", .kind = VTAC_ATTR_INT, .i = params->block}};
    const vtac_node *like = near == 0 ? NULL : &graph->nodes[near];
    const vtac_node_spec spec = {
        .op = what->op,
        .name = derived_name(name, like == NULL ? graph->values[x].name : like->name, suffix),
        .origin = like == NULL ? 0 : like->origin,
        .inputs = inputs,
        .input_count = params->zero == 0 ? 2 : 3,
        .output_count = 1,
        .output_names = outputs,
        .attrs = attrs,
        .attr_count = params->block > 0 ? 2 : params->per_axis};
    vtac_node_id node;
    VTA_TRY(vtac_add_node(graph, &spec, &node, diag));
    *out = graph->nodes[node].outputs[0];
    return VTA_OK;
}

vta_status vtac_quant_add_dequantize(vtac_graph *graph, vtac_node_id near, vtac_value_id q,
                                     const vtac_quant_params *params, vtac_value_id *out, vta_diag *diag)
{
    return add_affine(graph, &dequantize, near, q, params, out, diag);
}

vta_status vtac_quant_wrap(vtac_graph *graph, vtac_value_id value, const vtac_quant_params *params,
                           vtac_value_id *out, vta_diag *diag)
{
    const vtac_node_id near = graph->values[value].node;
    vtac_value_id q;
    VTA_TRY(add_affine(graph, &quantize, near, value, params, &q, diag));
    const vtac_node_id maker = graph->values[q].node;
    VTA_TRY(add_affine(graph, &give_back, near, q, params, out, diag));
    if (vtac_is_output(graph, value)) {
        vtac_swap_names(graph, value, *out);
    }
    vtac_replace_uses(graph, value, *out);
    return vtac_set_input(graph, maker, VTAC_QDQ_X, value, diag);
}

vta_status vtac_quant_wrap_constant(vtac_graph *graph, vtac_value_id value, const vtac_quant_params *params,
                                    vtac_value_id *out, vta_diag *diag)
{
    const vtac_tensor *real = graph->values[value].constant;
    const vtac_tensor *zero = graph->values[params->zero].constant;
    const double scale = vtac_tensor_float(graph->values[params->scale].constant, 0);
    const size_t count = (size_t)vtac_type_elements(&real->type);
    const double low = zero->type.dtype == VTAC_I8 ? INT8_MIN : 0;
    uint8_t *bytes = vta_arena_array(&graph->arena, count + 1, 1);
    if (bytes == NULL) {
        return vta_no_memory(diag);
    }
    for (size_t i = 0; i < count; i++) {
        const double q = rint(vtac_tensor_float(real, (int64_t)i) / scale) + (double)vtac_tensor_int(zero, 0);
        bytes[i] = (uint8_t)(int32_t)(q < low ? low : q > low + UINT8_MAX ? low + UINT8_MAX : q);
    }
    vtac_tensor tensor = {.type = real->type, .data = bytes, .bytes = count};
    tensor.type.dtype = zero->type.dtype;
    vtac_value_id q;
    VTA_TRY(vtac_quant_add_constant(graph, graph->values[value].name, &tensor, &q, diag));
    return vtac_quant_add_dequantize(graph, 0, q, params, out, diag);
}
