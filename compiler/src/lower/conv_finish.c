/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocked convolutions: which nodes they take, and from a sum to an output. The zero point of the input is
 * taken off beforehand: sum (x - zx) w = sum x w - zx sum w, a constant of the output channel, since the
 * border of the input holds zx. Requantization follows quant.h.
 */
#include "conv_blocked.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"
#include "vtac/quant.h"

enum { MAX_BEYOND = 256 }; /* outputs that tiles may reach beyond the last */

static double number_of(const vtac_tensor *t, int64_t i)
{
    return vtac_tensor_float(t, vtac_type_elements(&t->type) == 1 ? 0 : i);
}

static bool is_scalar(const vtac_tensor *t)
{
    return t != NULL && vtac_type_elements(&t->type) == 1;
}

/* ---- weights as signed bytes */

static bool takes_in_zeros(const vtac_conv_weights *w)
{
    const int64_t outputs = w->w->type.dim[0];
    for (int64_t i = 0; i < outputs * w->inner; i++) {
        const int64_t value =
            vtac_tensor_int(w->w, i) -
            vtac_tensor_int(w->zero, vtac_type_elements(&w->zero->type) == 1 ? 0 : i / w->inner);
        if (value < INT8_MIN || value > INT8_MAX) {
            return false;
        }
    }
    return true;
}

vtac_conv_weights vtac_conv_weights_of(const vtac_graph *graph, const vtac_node *node)
{
    vtac_conv_weights w = {.w = vtac_in_constant(graph, node, VTAC_QLINEAR_CONV_WEIGHT),
                           .zero = vtac_in_constant(graph, node, VTAC_QLINEAR_CONV_WEIGHT_ZERO)};
    w.inner = vtac_type_elements(&w.w->type) / w.w->type.dim[0];
    bool shifted = true; /* all zero points are what a byte gains by the shift to signed ones */
    for (int64_t i = 0; i < vtac_type_elements(&w.zero->type); i++) {
        shifted = shifted && vtac_tensor_int(w.zero, i) == (w.w->type.dtype == VTAC_U8 ? 128 : 0);
    }
    w.folded = shifted || takes_in_zeros(&w);
    return w;
}

static int64_t own_zero(const vtac_conv_weights *w, int64_t output)
{
    return vtac_tensor_int(w->zero, vtac_type_elements(&w->zero->type) == 1 ? 0 : output);
}

int8_t vtac_conv_byte(const vtac_conv_weights *w, int64_t output, int64_t i)
{
    const int64_t off = w->folded ? own_zero(w, output) : w->w->type.dtype == VTAC_U8 ? 128 : 0;
    const uint8_t raw = ((const uint8_t *)w->w->data)[output * w->inner + i];
    return (int8_t)((w->w->type.dtype == VTAC_U8 ? (int64_t)raw : (int64_t)(int8_t)raw) - off);
}

int32_t vtac_conv_zero(const vtac_conv_weights *w, int64_t output)
{
    return w->folded ? 0 : (int32_t)(own_zero(w, output) - (w->w->type.dtype == VTAC_U8 ? 128 : 0));
}

int64_t vtac_conv_wide_step(const vtac_program *p, const vtac_conv_shape *s)
{
    enum { MIN = 4 }; /* positions that share a weight: wide ones are twice the bytes */
    const vtac_target *t = p->target;
    const bool few = s->window.extent[0] * s->window.extent[1] < MIN;
    /* sums of windows belong to one group: weights of many go less their zero points, but for depthwise ones
     */
    const bool depthwise = s->per_group == s->merged && s->out_per_group == s->merged;
    const bool apart = t->has_vnni && s->has_zeros && s->groups * s->merged > 1 && !depthwise;
    return few || t->has_signed_dot ? 0 : t->has_pairs || apart ? 2 : t->has_long ? 1 : 0;
}

/* Everything but the input known. */
static bool quantized_shape(const vtac_graph *graph, const vtac_node *node, vtac_conv_shape *out)
{
    const vtac_tensor *zero = vtac_in_constant(graph, node, VTAC_QLINEAR_CONV_WEIGHT_ZERO);
    out->quantized = true;
    out->weight = VTAC_QLINEAR_CONV_WEIGHT;
    out->bias = node->input_count > VTAC_QLINEAR_CONV_BIAS && node->inputs[VTAC_QLINEAR_CONV_BIAS] != 0
                    ? VTAC_QLINEAR_CONV_BIAS
                    : 0;
    if (!is_scalar(vtac_in_constant(graph, node, VTAC_QLINEAR_CONV_X_SCALE)) ||
        !is_scalar(vtac_in_constant(graph, node, VTAC_QLINEAR_CONV_X_ZERO)) ||
        !is_scalar(vtac_in_constant(graph, node, VTAC_QLINEAR_CONV_Y_SCALE)) ||
        !is_scalar(vtac_in_constant(graph, node, VTAC_QLINEAR_CONV_Y_ZERO)) ||
        vtac_in_constant(graph, node, VTAC_QLINEAR_CONV_WEIGHT_SCALE) == NULL || zero == NULL ||
        (out->bias != 0 && vtac_in_constant(graph, node, out->bias) == NULL) ||
        vtac_in_constant(graph, node, VTAC_QLINEAR_CONV_WEIGHT) == NULL ||
        vtac_dtype_bytes(vtac_in_type(graph, node, VTAC_QLINEAR_CONV_WEIGHT)->dtype) != 1 ||
        vtac_dtype_bytes(vtac_in_type(graph, node, VTAC_QLINEAR_CONV_X)->dtype) != 1) {
        return false;
    }
    out->x_zero = number_of(vtac_in_constant(graph, node, VTAC_QLINEAR_CONV_X_ZERO), 0);
    return true;
}

static bool float_shape(const vtac_graph *graph, const vtac_node *node, vtac_conv_shape *out)
{
    const char *activation = vtac_attr_string(node, "activation", "");
    const bool biased = vtac_in_type(graph, node, VTAC_CONV_BIAS) != NULL;
    out->weight = VTAC_CONV_WEIGHT;
    out->bias = biased ? VTAC_CONV_BIAS : 0;
    return vtac_in_type(graph, node, VTAC_CONV_X)->dtype == VTAC_F32 &&
           vtac_in_type(graph, node, VTAC_FUSED_CONV_ADDEND) == NULL &&
           (activation[0] == '\0' || strcmp(activation, "Relu") == 0);
}

/* Splits off the first axis of a volume's window. */
static void split_depth(vtac_window *w, vtac_conv_depth *depth)
{
    *depth = (vtac_conv_depth){1, 1, 1, 0, 1};
    if (w->axes == 2) {
        return;
    }
    *depth = (vtac_conv_depth){w->kernel[0], w->stride[0], w->dilation[0], w->pad_begin[0], w->extent[0]};
    w->axes = 2;
    for (uint32_t a = 0; a < 2; a++) {
        w->kernel[a] = w->kernel[a + 1];
        w->stride[a] = w->stride[a + 1];
        w->dilation[a] = w->dilation[a + 1];
        w->pad_begin[a] = w->pad_begin[a + 1];
        w->pad_end[a] = w->pad_end[a + 1];
        w->extent[a] = w->extent[a + 1];
    }
}

bool vtac_conv_shape_of(const vtac_program *p, const vtac_node *node, vtac_conv_shape *out)
{
    const vtac_type *x = vtac_in_type(p->graph, node, VTAC_CONV_X);
    *out = (vtac_conv_shape){.weight = 0};
    if ((x->rank != 4 && (x->rank != 5 || node->op == VTAC_OP_QLINEAR_CONV)) ||
        !(node->op == VTAC_OP_QLINEAR_CONV ? quantized_shape(p->graph, node, out)
                                           : float_shape(p->graph, node, out))) {
        return false;
    }
    const vtac_tensor *w = vtac_in_constant(p->graph, node, out->weight);
    vta_diag ignored = {0};
    if (w == NULL || vtac_window_of(node, x, &w->type, false, &out->window, &ignored) != VTA_OK) {
        return false;
    }
    out->groups = vtac_attr_int(node, "group", 1);
    out->outputs = w->type.dim[0];
    out->per_group = w->type.dim[1];
    out->out_per_group = out->outputs / out->groups;
    out->merged = 1;
    split_depth(&out->window, &out->depth);
    for (uint32_t a = 0; a < 2; a++) {
        out->taps[a] = out->window.kernel[a];
        out->tap_step[a] = out->out_stride[a] = 1;
    }
    if (out->quantized) {
        const vtac_conv_weights weights = vtac_conv_weights_of(p->graph, node);
        for (int64_t m = 0; m < out->outputs && !out->has_zeros; m++) {
            out->has_zeros = vtac_conv_zero(&weights, m) != 0;
        }
    }
    return true;
}

/* ---- constants of the output channels */

/* The sum of a channel's bytes, and of the absolute values of its weights. */
static void sum_channel(const vtac_conv_weights *w, int64_t output, double *sum, double *size)
{
    const int32_t zero = vtac_conv_zero(w, output);
    *sum = *size = 0.0;
    for (int64_t i = 0; i < w->inner; i++) {
        const int8_t byte = vtac_conv_byte(w, output, i);
        *sum += byte;
        *size += abs(byte - zero);
    }
}

static vta_status quantized_begin(vtac_lower *l, vtac_finish *f)
{
    const vtac_conv_shape *s = f->shape;
    const vtac_tensor *in[VTAC_QLINEAR_CONV_INPUTS];
    for (uint32_t i = 0; i < VTAC_QLINEAR_CONV_INPUTS; i++) {
        in[i] = i < l->node->input_count ? vtac_in_constant(l->graph, l->node, i) : NULL;
    }
    const vtac_conv_weights weights = vtac_conv_weights_of(l->graph, l->node);
    const size_t room = (size_t)s->outputs + MAX_BEYOND; /* vectors may reach beyond the last */
    int32_t *start = vta_arena_array(&l->program->arena, room, sizeof *start);
    int32_t *zero = vta_arena_array(&l->program->arena, room, sizeof *zero);
    float *scale = vta_arena_array(&l->program->arena, room, sizeof *scale);
    if (start == NULL || zero == NULL || scale == NULL) {
        return vta_no_memory(l->diag);
    }
    f->narrow = true;
    f->rounding = vtac_rounding_of(l->node);
    for (int64_t m = 0; m < s->outputs; m++) {
        double sum;
        double size;
        sum_channel(&weights, m, &sum, &size);
        zero[m] = vtac_conv_zero(&weights, m);
        const double bias = s->bias == 0 ? 0.0 : number_of(in[VTAC_QLINEAR_CONV_BIAS], m);
        const double first = bias - (s->x_zero + f->shift) * (sum - (double)zero[m] * (double)weights.inner);
        start[m] = (int32_t)(uint32_t)(int64_t)first; /* sums wrap, as the accelerator's do */
        scale[m] = vtac_scale_product((float)number_of(in[VTAC_QLINEAR_CONV_X_SCALE], 0),
                                      (float)number_of(in[VTAC_QLINEAR_CONV_WEIGHT_SCALE], m),
                                      (float)number_of(in[VTAC_QLINEAR_CONV_Y_SCALE], 0));
        const double max = fabs(bias) + 255.0 * size;
        f->narrow = f->narrow && max <= 16777216.0;
        f->saturates = f->saturates || !(max * (double)scale[m] < 1073741824.0);
    }
    f->zero = (int32_t)number_of(in[VTAC_QLINEAR_CONV_Y_ZERO], 0);
    f->start = vtac_use(l, vtac_constant(l, start, room * sizeof *start), "start", VTAC_I32, (int64_t)room);
    f->scale = vtac_use(l, vtac_constant(l, scale, room * sizeof *scale), "scale", VTAC_F32, (int64_t)room);
    f->zeros = !s->has_zeros ? NULL
                             : vtac_use(l, vtac_constant(l, zero, room * sizeof *zero), "zeros", VTAC_I32,
                                        (int64_t)room);
    return VTA_OK;
}

void vtac_finish_dots(const vtac_lower *l, const vtac_conv_shape *s, bool dots, vtac_finish *out)
{
    const bool signed_dot = l->program->target->has_signed_dot;
    const bool signed_input = vtac_type_in(l, 0)->dtype == VTAC_I8;
    *out = (vtac_finish){.shape = s, .dot = signed_dot ? VTAC_E_SDOT4 : VTAC_E_DOT4};
    out->shift = !s->quantized || !dots || signed_dot == signed_input ? 0 : signed_dot ? -128 : 128;
}

vta_status vtac_finish_begin(vtac_lower *l, const vtac_conv_shape *s, bool dots, vtac_finish *out)
{
    vtac_finish_dots(l, s, dots, out);
    if (s->quantized) {
        return quantized_begin(l, out);
    }
    const vtac_tensor *bias = s->bias == 0 ? NULL : vtac_in_constant(l->graph, l->node, s->bias);
    out->start = s->bias != 0 && bias == NULL ? vtac_in(l, s->bias) : NULL;
    if (bias != NULL) {
        float *start = vta_arena_array(&l->program->arena, (size_t)s->outputs + MAX_BEYOND, sizeof *start);
        if (start == NULL) {
            return vta_no_memory(l->diag);
        }
        memcpy(start, bias->data, bias->bytes);
        const int64_t room = s->outputs + MAX_BEYOND;
        out->start =
            vtac_use(l, vtac_constant(l, start, (uint64_t)room * sizeof *start), "start", VTAC_F32, room);
    }
    out->relu = vtac_attr_string(l->node, "activation", "")[0] != '\0';
    return VTA_OK;
}

/* ---- values */

const vtac_expr *vtac_finish_bytes(vtac_lower *l, const vtac_finish *f, const vtac_expr *word)
{
    return f->shift == 0 ? word
                         : vtac_e2(l->k, VTAC_E_XOR, word, vtac_e_int(l->k, VTAC_I32, (int32_t)0x80808080));
}

const vtac_expr *vtac_finish_start(vtac_lower *l, const vtac_finish *f, const vtac_expr *channel)
{
    return f->start != NULL ? vtac_e_load(l->k, f->start, channel)
                            : vtac_e_int(l->k, f->shape->quantized ? VTAC_I32 : VTAC_F32, 0);
}

const vtac_expr *vtac_finish_scale(vtac_lower *l, const vtac_finish *f, const vtac_expr *channel)
{
    if (f->rounding != VTAC_ROUND_EVEN) {
        const bool narrow = vtac_type_in(l, 0)->dtype == VTAC_U8;
        return vtac_let(l->k, "scale",
                        vtac_tfl_output_scale(l, VTAC_QLINEAR_CONV_X_SCALE, VTAC_QLINEAR_CONV_WEIGHT_SCALE,
                                              VTAC_QLINEAR_CONV_Y_SCALE, narrow, channel));
    }
    return f->scale == NULL ? NULL : vtac_let(l->k, "scale", vtac_e_load(l->k, f->scale, channel));
}

const vtac_expr *vtac_finish_value(vtac_lower *l, const vtac_finish *f, const vtac_expr *sum,
                                   const vtac_expr *scale)
{
    vtac_kernel *k = l->k;
    if (!f->shape->quantized) {
        return f->relu ? vtac_e2(k, VTAC_E_MAX, vtac_e_float(k, VTAC_F32, 0.0), sum) : sum;
    }
    if (f->rounding != VTAC_ROUND_EVEN) {
        return vtac_tfl_stored(l, vtac_tfl_scaled(l, sum, scale, f->rounding),
                               vtac_e_int(k, VTAC_I32, f->zero), vtac_type_out(l, 0)->dtype);
    }
    if (f->narrow && (f->saturates || l->program->target->has_fma)) {
        return vtac_rescale_narrow(l, sum, scale, f->zero, vtac_type_out(l, 0)->dtype);
    }
    return vtac_rescale(l, sum, scale, !f->saturates, vtac_e_int(k, VTAC_I32, f->zero),
                        vtac_type_out(l, 0)->dtype);
}
