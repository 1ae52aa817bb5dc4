/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers that multiply by weights: convolutions, and dense layers as convolutions with a window as large
 * as the image.
 */
#include <stdlib.h>
#include <string.h>

#include "partition.h"
#include "vta/fail.h"

/* Weights as the node has them: a tensor, its scales and zero points (one, or one per output). */
typedef struct weights {
    const vtac_tensor *tensor, *scale, *zero; /* zero NULL: 0 */
    int64_t outputs, terms;
    int64_t output_step, term_step; /* elements from output to output, from term to term */
} weights;

static bool one_or_each(const vtac_tensor *t, int64_t outputs)
{
    const int64_t count = t == NULL ? 0 : vtac_type_elements(&t->type);
    return count == 1 || count == outputs;
}

static int64_t index_of(const vtac_tensor *t, int64_t i)
{
    return vtac_type_elements(&t->type) == 1 ? 0 : i;
}

/* Reads weights from inputs i, i + 1, i + 2 of the node. */
static vta_status read_weights(const vtac_maker *m, uint32_t i, weights *w)
{
    w->tensor = vtac_in_constant(m->graph, m->node, i);
    w->scale = vtac_in_constant(m->graph, m->node, i + 1);
    w->zero = vtac_in_constant(m->graph, m->node, i + 2);
    const bool zero_known = w->zero != NULL || vtac_in_type(m->graph, m->node, i + 2) == NULL;
    if (w->tensor == NULL || w->scale == NULL || !zero_known) {
        return vtac_no_layer(m, "its weights are not known at compile time; make them initializers");
    }
    const vtac_dtype dtype = w->tensor->type.dtype;
    if (dtype != VTAC_I8 && dtype != VTAC_U8) {
        return vtac_no_layer(m, "its weights are %s; the accelerator multiplies int8",
                             vtac_dtype_name(dtype));
    }
    return VTA_OK;
}

/* Keeps weights in the order of outputs and terms, and their zero points; uint8 moved by 128. */
static vta_status keep_weights(const vtac_maker *m, const weights *w, vtac_vta_layer *layer)
{
    const int move = w->tensor->type.dtype == VTAC_U8 ? 128 : 0;
    const uint8_t *from = w->tensor->data;
    int8_t *data = vtac_maker_array(m, (size_t)(w->outputs * w->terms), 1);
    int32_t *zero = vtac_maker_array(m, (size_t)w->outputs, sizeof *zero);
    bool any_zero = false;
    if (data == NULL || zero == NULL) {
        return vta_no_memory(m->diag);
    }
    if (!one_or_each(w->scale, w->outputs) || (w->zero != NULL && !one_or_each(w->zero, w->outputs))) {
        return vtac_no_layer(m, "its weights have neither one scale and zero point nor one for each output");
    }
    for (int64_t o = 0; o < w->outputs; o++) {
        for (int64_t t = 0; t < w->terms; t++) {
            const uint8_t raw = from[o * w->output_step + t * w->term_step];
            data[o * w->terms + t] = (int8_t)(move != 0 ? (int)raw - move : (int)(int8_t)raw);
        }
        const int64_t given = w->zero == NULL ? 0 : vtac_tensor_int(w->zero, index_of(w->zero, o));
        zero[o] = (int32_t)given - move;
        any_zero = any_zero || zero[o] != 0;
    }
    layer->weights = data;
    layer->weight_zero = any_zero ? zero : NULL;
    return VTA_OK;
}

/* Keeps the scale of each output: of the input (input x of the node), the weights, the output (input y).
 * TensorFlow Lite multiplies the first two in float32 in dense layers, and in convolutions of uint8. */
static vta_status keep_scales(const vtac_maker *m, const weights *w, uint32_t x, uint32_t y,
                              vtac_vta_layer *layer)
{
    float sx;
    float sy;
    vtac_fixed *scales = vtac_maker_array(m, (size_t)w->outputs, sizeof *scales);
    if (scales == NULL) {
        return vta_no_memory(m->diag);
    }
    VTA_TRY(vtac_layer_scale(m, x, &sx));
    VTA_TRY(vtac_layer_scale(m, y, &sy));
    for (int64_t o = 0; o < w->outputs; o++) {
        const float sw = (float)vtac_tensor_float(w->scale, index_of(w->scale, o));
        if (layer->wide) {
            const bool narrow = m->node->op != VTAC_OP_QLINEAR_CONV ||
                                vtac_in_type(m->graph, m->node, VTAC_QLINEAR_CONV_X)->dtype == VTAC_U8;
            const vtac_tfl_scale factor = vtac_tfl_scale_of(vtac_tfl_product(sx, sw, sy, narrow));
            VTA_TRY(vtac_layer_factor(m, factor, &scales[o]));
        } else {
            VTA_TRY(vtac_layer_fixed(m, vtac_scale_product(sx, sw, sy), &scales[o]));
        }
    }
    layer->scales = scales;
    return VTA_OK;
}

static vta_status keep_bias(const vtac_maker *m, uint32_t i, int64_t outputs, vtac_vta_layer *layer)
{
    const vtac_tensor *bias = vtac_in_constant(m->graph, m->node, i);
    if (bias == NULL) {
        return vtac_in_type(m->graph, m->node, i) == NULL
                   ? VTA_OK
                   : vtac_no_layer(m, "its bias is not known at compile time; make it an initializer");
    }
    if (bias->type.dtype != VTAC_I32 || !one_or_each(bias, outputs)) {
        return vtac_no_layer(m, "its bias is not int32, one for each output");
    }
    int32_t *kept = vtac_maker_array(m, (size_t)outputs, sizeof *kept);
    if (kept == NULL) {
        return vta_no_memory(m->diag);
    }
    for (int64_t o = 0; o < outputs; o++) {
        kept[o] = (int32_t)vtac_tensor_int(bias, index_of(bias, o));
    }
    layer->bias = kept;
    return VTA_OK;
}

/* Keeps the clamp that a fused Relu or Clip left on the node, in the output's integers. */
static void keep_clamp(const vtac_maker *m, vtac_vta_layer *layer)
{
    const bool is_unsigned = m->graph->values[m->node->outputs[0]].type.dtype == VTAC_U8;
    const int64_t move = is_unsigned ? 128 : 0;
    const int64_t low = vtac_attr_int(m->node, "clip_low", -128 + move) - move;
    const int64_t high = vtac_attr_int(m->node, "clip_high", 127 + move) - move;
    layer->low = low > -128 ? (int32_t)low : -128;
    layer->high = high < 127 ? (int32_t)high : 127;
}

static bool is_pixel(const vtac_vta_window *w)
{
    bool one = true;
    for (int d = 0; d < 2; d++) {
        one = one && w->kernel[d] == 1 && w->stride[d] == 1 && w->before[d] == 0 && w->after[d] == 0;
    }
    return one;
}

/* Keeps the window, the input and the weights, [outputs][c / groups][kernel], of a convolution. */
static vta_status keep_window(vtac_maker *m, weights *w, vtac_vta_layer *layer)
{
    int64_t x[4];
    int64_t after[2];
    VTA_TRY(read_weights(m, VTAC_QLINEAR_CONV_WEIGHT, w));
    const vtac_type *type = &w->tensor->type;
    layer->kind = VTAC_VTA_CONV;
    layer->groups = vtac_attr_int(m->node, "group", 1);
    VTA_TRY(vtac_layer_window(m, vtac_in_type(m->graph, m->node, VTAC_QLINEAR_CONV_X), type, false,
                              &layer->window, after));
    m->any_rows = is_pixel(&layer->window);
    VTA_TRY(vtac_layer_input(m, layer, VTAC_QLINEAR_CONV_X, x, NULL));
    w->outputs = type->dim[0];
    w->terms = vtac_type_elements(type) / w->outputs;
    w->output_step = w->terms;
    w->term_step = 1;
    return keep_weights(m, w, layer);
}

vta_status vtac_layer_conv(vtac_maker *m, vtac_vta_layer *layer)
{
    weights w;
    int64_t y[4];
    VTA_TRY(keep_window(m, &w, layer));
    VTA_TRY(keep_scales(m, &w, VTAC_QLINEAR_CONV_X_SCALE, VTAC_QLINEAR_CONV_Y_SCALE, layer));
    VTA_TRY(keep_bias(m, VTAC_QLINEAR_CONV_BIAS, w.outputs, layer));
    keep_clamp(m, layer);
    return vtac_layer_output(m, layer, y);
}

/* Multiplies rows by a matrix [terms, outputs], or [outputs, terms] with `transposed`. */
static vta_status make_dense(vtac_maker *m, vtac_vta_layer *layer, bool transposed, uint32_t bias,
                             uint32_t y_scale)
{
    weights w;
    int64_t x[4];
    int64_t y[4];
    bool flat;
    VTA_TRY(vtac_layer_input(m, layer, VTAC_QLINEAR_PRODUCT_X, x, &flat));
    VTA_TRY(read_weights(m, VTAC_QLINEAR_PRODUCT_WEIGHT, &w));
    const vtac_type *type = &w.tensor->type;
    const vtac_type *rows = vtac_in_type(m->graph, m->node, VTAC_QLINEAR_PRODUCT_X);
    if (type->rank != 2 || rows->rank != 2) {
        return vtac_no_layer(m, "it multiplies other than rows [n, c] with one matrix; reshape it to rank 2");
    }
    layer->kind = VTAC_VTA_CONV;
    layer->window.kernel[0] = x[2];
    layer->window.kernel[1] = x[3];
    w.outputs = type->dim[transposed ? 0 : 1];
    w.terms = type->dim[transposed ? 1 : 0];
    w.output_step = transposed ? w.terms : 1;
    w.term_step = transposed ? 1 : w.outputs;
    VTA_TRY(keep_weights(m, &w, layer));
    VTA_TRY(keep_scales(m, &w, VTAC_QLINEAR_PRODUCT_X_SCALE, y_scale, layer));
    VTA_TRY(bias > 0 ? keep_bias(m, bias, w.outputs, layer) : VTA_OK);
    keep_clamp(m, layer);
    return vtac_layer_output(m, layer, y);
}

vta_status vtac_layer_matmul(vtac_maker *m, vtac_vta_layer *layer)
{
    return make_dense(m, layer, false, 0, VTAC_QLINEAR_PAIR_Y_SCALE);
}

/* Makes the layer of whole sums: x and its weights have no scales (integer.c); the weights may be packed
 * ones (integer_pair.c). */
vta_status vtac_layer_sums(vtac_maker *m, vtac_vta_layer *layer)
{
    weights w;
    int64_t shape[4], y[4];
    layer->outputs = vtac_attr_int(m->node, "outputs", 0);
    if (layer->outputs > 0) {
        VTA_TRY(vtac_layer_input(m, layer, VTAC_VTA_SUMS_X, shape, NULL));
        VTA_TRY(vtac_layer_input(m, layer, VTAC_VTA_SUMS_WEIGHT, shape, NULL));
        layer->kind = VTAC_VTA_CONV;
        layer->groups = vtac_attr_int(m->node, "group", 1);
        layer->planes = 1;
    } else {
        VTA_TRY(keep_window(m, &w, layer));
        layer->outputs = w.outputs;
    }
    vtac_fixed *scales = vtac_maker_array(m, (size_t)layer->outputs, sizeof *scales);
    if (scales == NULL) {
        return vta_no_memory(m->diag);
    }
    layer->scales = scales; /* unused */
    layer->bytes = vtac_attr_int(m->node, "bytes", 1);
    layer->products = (uint64_t)vtac_attr_int(m->node, "products", 0);
    return vtac_layer_output(m, layer, y);
}

/* Keeps the scale of a product of two activations, the same for all outputs. */
static vta_status keep_product_scale(const vtac_maker *m, int64_t outputs, vtac_vta_layer *layer)
{
    float scale[3];
    VTA_TRY(vtac_layer_scale(m, VTAC_VTA_PRODUCT_X_SCALE, &scale[0]));
    VTA_TRY(vtac_layer_scale(m, VTAC_VTA_PRODUCT_WEIGHT_SCALE, &scale[1]));
    VTA_TRY(vtac_layer_scale(m, VTAC_VTA_PRODUCT_Y_SCALE, &scale[2]));
    vtac_fixed *scales = vtac_maker_array(m, (size_t)outputs, sizeof *scales);
    if (scales == NULL) {
        return vta_no_memory(m->diag);
    }
    for (int64_t o = 0; o < outputs; o++) {
        VTA_TRY(vtac_layer_fixed(m, vtac_scale_product(scale[0], scale[1], scale[2]), &scales[o]));
    }
    layer->scales = scales;
    return VTA_OK;
}

/* Makes the layer of a product of two activations (product.c). */
vta_status vtac_layer_product(vtac_maker *m, vtac_vta_layer *layer)
{
    enum { TRANSPOSED = 2 };
    int64_t shape[4];
    int64_t y[4];
    m->any_rows = true; /* its pixels are rows of matrices */
    VTA_TRY(vtac_layer_input(m, layer, VTAC_VTA_PRODUCT_X, shape, NULL));
    VTA_TRY(vtac_layer_input(m, layer, VTAC_VTA_PRODUCT_WEIGHT, shape, NULL));
    for (uint32_t i = VTAC_VTA_PRODUCT_RECORDS; i < m->node->input_count; i++) {
        VTA_TRY(m->node->inputs[i] != 0 ? vtac_layer_input(m, layer, i, shape, NULL) : VTA_OK);
    }
    VTA_TRY(vtac_layer_output(m, layer, y));
    layer->kind = VTAC_VTA_CONV;
    layer->groups = vtac_attr_int(m->node, "group", 1);
    layer->planes = vtac_attr_int(m->node, "planes", 1);
    layer->image = vtac_attr_int(m->node, "image", 0) != 0;
    layer->readers = vtac_attr_int(m->node, "readers", 1);
    layer->more_terms =
        m->node->input_count > VTAC_VTA_PRODUCT_MORE && vtac_attr_int(m->node, "image", 0) == TRANSPOSED;
    layer->products = (uint64_t)vtac_attr_int(m->node, "products", 0);
    VTA_TRY(keep_product_scale(m, y[1], layer));
    keep_clamp(m, layer);
    return VTA_OK;
}

vta_status vtac_layer_gemm(vtac_maker *m, vtac_vta_layer *layer)
{
    if (vtac_attr_int(m->node, "transA", 0) != 0 || vtac_attr_float(m->node, "alpha", 1.0) != 1.0) {
        return vtac_no_layer(m, "it has transA or an alpha; fold them into its operands");
    }
    if (vtac_in_type(m->graph, m->node, VTAC_QGEMM_Y_SCALE) == NULL) {
        return vtac_no_layer(m, "its output is float; give it a scale");
    }
    return make_dense(m, layer, vtac_attr_int(m->node, "transB", 0) != 0, VTAC_QGEMM_C, VTAC_QGEMM_Y_SCALE);
}
