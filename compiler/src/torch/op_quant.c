/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators on quantized tensors: the integers between a DequantizeLinear of each operand and a
 * QuantizeLinear of the result, which the passes make one integer operator.
 */
#include <math.h>
#include <string.h>

#include "../import/window.h"
#include "torch.h"

static vtac_id floats_of(vtac_torch *im, const char *name)
{
    vtac_torch_tensor *t = vtac_torch_arg_tensor(im, name);
    return t == NULL ? 0 : vtac_torch_floats(im, t);
}

/* Floats quantized as the call says, activations as uint8. */
static vtac_torch_value quantized(vtac_torch *im, vtac_id x, const char *scale, const char *zero)
{
    const double s = vtac_torch_float(im, scale, 0.0);
    const int64_t z = vtac_torch_int(im, zero, 0);
    if (im->maker.status == VTA_OK && (!isfinite(s) || s <= 0.0 || z < 0 || z > 255)) {
        vtac_torch_refuse(im, "a scale of %g with the zero point %lld", s, (long long)z);
    }
    return im->maker.status != VTA_OK ? vtac_torch_none : vtac_torch_quantize(im, x, s, z, VTAC_U8);
}

vtac_torch_value vtac_torch_make_quantize(vtac_torch *im, int32_t how)
{
    const vtac_dtype dtype = vtac_torch_dtype_arg(im, "dtype", VTAC_U8);
    const vtac_id x = vtac_torch_in(im, "self");
    const double s = vtac_torch_float(im, "scale", 0.0);
    const int64_t z = vtac_torch_int(im, "zero_point", 0);
    (void)how;
    if (im->maker.status != VTA_OK || !isfinite(s) || s <= 0.0 || z < -128 || z > 255) {
        vtac_torch_refuse(im, "a scale of %g with the zero point %lld", s, (long long)z);
        return vtac_torch_none;
    }
    return vtac_torch_quantize(im, x, s, z, dtype);
}

vtac_torch_value vtac_torch_make_dequantize(vtac_torch *im, int32_t how)
{
    (void)how;
    return vtac_torch_tensor_of(im, floats_of(im, "self"));
}

/* ---- torch.export's form: integers whose scale is told at each operator */

vtac_torch_value vtac_torch_make_quantize_tensor(vtac_torch *im, int32_t how)
{
    vtac_id x = vtac_torch_in(im, "input");
    const vtac_dtype dtype = vtac_torch_dtype_arg(im, "dtype", VTAC_I8);
    const double s = vtac_torch_float(im, "scale", 0.0);
    const int64_t z = vtac_torch_int(im, "zero_point", 0);
    const int64_t low = vtac_torch_int(im, "quant_min", -128);
    const int64_t high = vtac_torch_int(im, "quant_max", 127);
    const int64_t first = dtype == VTAC_U8 ? 0 : -128;
    (void)how;
    if (im->maker.status != VTA_OK || (dtype != VTAC_U8 && dtype != VTAC_I8) || !isfinite(s) || s <= 0.0 ||
        low < first || high > first + 255 || z < low || z > high) {
        vtac_torch_refuse(im, "integers of this type from %lld to %lld", (long long)low, (long long)high);
        return vtac_torch_none;
    }
    if (low != first || high != first + 255) {
        x = vtac_make_clip(&im->maker, x, (double)(low - z) * s, (double)(high - z) * s);
    }
    const vtac_torch_value q = vtac_torch_quantize(im, x, s, z, dtype);
    return q.kind == TORCH_TENSOR ? vtac_torch_tensor_of(im, q.tensor->id) : q;
}

/* how: 1: a scale for each place of an axis */
vtac_torch_value vtac_torch_make_dequantize_tensor(vtac_torch *im, int32_t how)
{
    const vtac_id x = vtac_torch_in(im, "input");
    const vtac_type type = vtac_made_type(&im->maker, x);
    const vtac_id scale = vtac_make_cast(&im->maker, vtac_torch_in(im, "scale"), VTAC_F32);
    const vtac_id zero = vtac_make_cast(&im->maker, vtac_torch_in_or_none(im, "zero_point"), type.dtype);
    const vtac_attr axis = vtac_attr_of_int("axis", how == 1 ? vtac_torch_axis(im, "axis", 0, type.rank) : 0);
    const vtac_id in[] = {x, scale, zero};
    const vtac_id y = vtac_make(&im->maker, VTAC_OP_DEQUANTIZE_LINEAR, in, 3, &axis, how == 1 ? 1 : 0);
    return vtac_torch_tensor_of(
        im, vtac_make_cast(&im->maker, y, vtac_torch_dtype_arg(im, "out_dtype", VTAC_F32)));
}

/* ---- packed parameters: weight, bias, and how a window moves */

static void set_attr(vtac_torch *im, vtac_torch_object *o, const char *name, const vtac_torch_value *v)
{
    vtac_torch_append(im, o->attrs, vtac_torch_string(name));
    vtac_torch_append(im, o->attrs, *v);
}

vtac_torch_value vtac_torch_make_prepack(vtac_torch *im, int32_t how)
{
    static const char *const names[] = {"weight", "bias", "stride", "padding", "dilation", "groups"};
    vtac_torch_object *o = vtac_make_room(&im->maker, 1, sizeof *o);
    if (o == NULL) {
        return vtac_torch_none;
    }
    o->class = "packed";
    o->attrs = vtac_torch_list_value(im, TORCH_LIST, NULL, 0).list;
    for (int32_t i = 0; i < how; i++) {
        set_attr(im, o, names[i], vtac_torch_arg(im, names[i]));
    }
    return (vtac_torch_value){.kind = TORCH_OBJECT, .object = o};
}

/* Numbers of a packed convolution: axes, strides, pads, dilations, pads of the output, groups, flags. */
static bool unpack_window(vtac_torch *im, vtac_torch_object *o, const vtac_torch_list *numbers)
{
    static const char *const names[] = {"stride", "padding", "dilation", "output_padding"};
    const int64_t axes = numbers->count > 0 ? numbers->items[0].i : 0;
    if (axes < 1 || axes > 3 || numbers->count < 1 + 4 * axes + 2) {
        return false;
    }
    for (int64_t i = 0; i < 4; i++) {
        const vtac_torch_value list =
            vtac_torch_list_value(im, TORCH_LIST, numbers->items + 1 + i * axes, (uint32_t)axes);
        set_attr(im, o, names[i], &list);
    }
    set_attr(im, o, "groups", &numbers->items[1 + 4 * axes]);
    set_attr(im, o, "transposed", &numbers->items[2 + 4 * axes]);
    return true;
}

/* The integers of a tensor that holds them. */
static vtac_torch_value list_of_tensor(vtac_torch *im, const vtac_torch_value *v)
{
    const vtac_torch_value out = vtac_torch_list_value(im, TORCH_LIST, NULL, 0);
    const vtac_id id = v->kind == TORCH_TENSOR ? vtac_torch_id(im, v->tensor) : 0;
    const vtac_tensor *t = vtac_made_constant(&im->maker, id);
    for (int64_t i = 0; t != NULL && i < vtac_type_elements(&t->type) && i < 32; i++) {
        vtac_torch_append(im, out.list, vtac_torch_integer(vtac_tensor_int(t, i)));
    }
    return out;
}

static const vtac_torch_list *list_in(const vtac_torch_list *state, uint32_t i)
{
    const bool is_list = state != NULL && i < state->count &&
                         (state->items[i].kind == TORCH_LIST || state->items[i].kind == TORCH_TUPLE);
    return is_list ? state->items[i].list : NULL;
}

/* (version 2: "2", [numbers, weight], [bias]), (version 3: 3, [numbers], [None, weight, bias]), of a linear
 * layer (weight, bias). False: it is none of these. */
static bool unpack_state(vtac_torch *im, vtac_torch_object *o)
{
    const vtac_torch_value none = vtac_torch_none;
    const vtac_torch_list *state =
        o->state.kind == TORCH_TUPLE || o->state.kind == TORCH_LIST ? o->state.list : NULL;
    const vtac_torch_list *first = list_in(state, 1);
    const vtac_torch_list *second = list_in(state, 2);
    if (state != NULL && state->count == 2 && state->items[0].kind == TORCH_TENSOR) {
        set_attr(im, o, "weight", &state->items[0]);
        set_attr(im, o, "bias", &state->items[1]);
        return true;
    }
    if (first == NULL || second == NULL || first->count == 0) {
        return false;
    }
    if (first->items[0].kind == TORCH_TENSOR && first->count >= 2) {
        const vtac_torch_value numbers = list_of_tensor(im, &first->items[0]);
        set_attr(im, o, "weight", &first->items[1]);
        set_attr(im, o, "bias", second->count > 0 ? &second->items[0] : &none);
        return unpack_window(im, o, numbers.list);
    }
    if (first->items[0].kind == TORCH_INT && second->count >= 3) {
        set_attr(im, o, "weight", &second->items[1]);
        set_attr(im, o, "bias", &second->items[2]);
        return unpack_window(im, o, first);
    }
    return false;
}

static vtac_torch_object *packed_of(vtac_torch *im)
{
    const vtac_torch_value *v = vtac_torch_arg(im, "packed");
    vtac_torch_object *o = v->kind == TORCH_OBJECT ? v->object : NULL;
    const vtac_torch_value *weight = o == NULL ? NULL : vtac_torch_look_up(o->attrs, "weight");
    if (o != NULL && weight == NULL && unpack_state(im, o)) {
        weight = vtac_torch_look_up(o->attrs, "weight");
    }
    if (weight == NULL || weight->kind != TORCH_TENSOR || !weight->tensor->quantized) {
        vtac_torch_refuse(im, "packed parameters of this form");
        return NULL;
    }
    return o;
}

/* The bias in steps of the products' scales, as PyTorch has it: sx * sw, one for each channel or one. */
static vtac_id bias_of(vtac_torch *im, const vtac_torch_object *o, const vtac_torch_tensor *x,
                       const vtac_torch_tensor *w)
{
    vtac_import_builder *m = &im->maker;
    const vtac_torch_value *bias = vtac_torch_look_up(o->attrs, "bias");
    const vtac_id id = bias == NULL || bias->kind != TORCH_TENSOR ? 0 : vtac_torch_id(im, bias->tensor);
    const vtac_tensor *b = vtac_made_constant(m, id);
    const vtac_tensor *scales = vtac_made_constant(m, w->scales);
    if (b == NULL) {
        return 0;
    }
    const int64_t count = vtac_type_elements(&b->type);
    const vtac_type whole = {VTAC_I32, 1, {count}};
    int32_t *steps = vtac_make_room(m, count, sizeof *steps);
    float *sizes = vtac_make_room(m, count, sizeof *sizes);
    for (int64_t i = 0; steps != NULL && sizes != NULL && i < count; i++) {
        const bool own = scales != NULL && i < vtac_type_elements(&scales->type);
        const double sw = own ? vtac_tensor_float(scales, i) : w->scale;
        sizes[i] = (float)((float)x->scale * (float)sw);
        const double q = nearbyint(vtac_tensor_float(b, i) / (double)sizes[i]);
        steps[i] = q > 2147483647.0 ? INT32_MAX : q < -2147483648.0 ? INT32_MIN : (int32_t)q;
    }
    if (steps == NULL || sizes == NULL || count == 0) {
        return 0;
    }
    const vtac_attr axis = vtac_attr_of_int("axis", 0);
    const vtac_id in[] = {vtac_make_borrowed(m, &whole, steps),
                          scales != NULL ? vtac_make_floats(m, sizes, count)
                                         : vtac_make_number(m, VTAC_F32, (double)sizes[0])};
    return vtac_make(m, VTAC_OP_DEQUANTIZE_LINEAR, in, 2, &axis, scales != NULL ? 1 : 0);
}

static void window_numbers(const vtac_torch_object *o, const char *name, int64_t otherwise, uint32_t axes,
                           int64_t *out)
{
    const vtac_torch_value *v = vtac_torch_look_up(o->attrs, name);
    const bool is_list = v != NULL && (v->kind == TORCH_LIST || v->kind == TORCH_TUPLE);
    for (uint32_t a = 0; a < axes; a++) {
        const bool there = is_list && v->list->count == axes && v->list->items[a].kind == TORCH_INT;
        out[a] = there ? v->list->items[a].i : otherwise;
    }
}

static int64_t window_number(const vtac_torch_object *o, const char *name, int64_t otherwise)
{
    const vtac_torch_value *v = vtac_torch_look_up(o->attrs, name);
    return v == NULL || (v->kind != TORCH_INT && v->kind != TORCH_BOOL) ? otherwise : v->i;
}

static vtac_torch_value activated(vtac_torch *im, vtac_id y, bool relu, const char *scale, const char *zero)
{
    return quantized(im, relu ? vtac_make1(&im->maker, VTAC_OP_RELU, y) : y, scale, zero);
}

/* how: 1: with a ReLU behind it */
vtac_torch_value vtac_torch_make_q_conv(vtac_torch *im, int32_t how)
{
    vtac_torch_tensor *x = vtac_torch_arg_tensor(im, "qx");
    vtac_torch_object *o = packed_of(im);
    if (im->maker.status != VTA_OK || !x->quantized || window_number(o, "transposed", 0) != 0) {
        vtac_torch_refuse(im, "a convolution of what is not quantized, or a transposed one");
        return vtac_torch_none;
    }
    vtac_torch_tensor *w = vtac_torch_look_up(o->attrs, "weight")->tensor;
    const vtac_id weight = vtac_torch_floats(im, w);
    const uint32_t rank = vtac_made_type(&im->maker, weight).rank;
    vtac_import_window window = {.axes = rank < 2 ? 0 : rank - 2};
    if (window.axes < 1 || window.axes > VTAC_WINDOW_AXES) {
        vtac_torch_refuse(im, "a weight of rank %u", rank);
        return vtac_torch_none;
    }
    window_numbers(o, "stride", 1, window.axes, window.stride);
    window_numbers(o, "padding", 0, window.axes, window.pads);
    window_numbers(o, "padding", 0, window.axes, window.pads + window.axes);
    window_numbers(o, "dilation", 1, window.axes, window.dilation);
    const vtac_id y = vtac_make_conv(&im->maker, vtac_torch_floats(im, x), weight, bias_of(im, o, x, w),
                                     &window, window_number(o, "groups", 1));
    return activated(im, y, how == 1, "scale", "zero_point");
}

vtac_torch_value vtac_torch_make_q_linear(vtac_torch *im, int32_t how)
{
    vtac_torch_tensor *x = vtac_torch_arg_tensor(im, "qx");
    vtac_torch_object *o = packed_of(im);
    if (im->maker.status != VTA_OK || !x->quantized) {
        vtac_torch_refuse(im, "a product of what is not quantized");
        return vtac_torch_none;
    }
    vtac_torch_tensor *w = vtac_torch_look_up(o->attrs, "weight")->tensor;
    const vtac_id y =
        vtac_torch_linear(im, vtac_torch_floats(im, x), vtac_torch_floats(im, w), bias_of(im, o, x, w));
    return activated(im, y, how == 1, "scale", "zero_point");
}

/* ---- elements */

/* how: the operator; below 0: with a ReLU behind it */
vtac_torch_value vtac_torch_make_q_binary(vtac_torch *im, int32_t how)
{
    const vtac_op op = (vtac_op)(how < 0 ? -how : how);
    const vtac_id y = vtac_make2(&im->maker, op, floats_of(im, "qa"), floats_of(im, "qb"));
    return activated(im, y, how < 0, "scale", "zero_point");
}

/* x * c: the scale is multiplied. how: 1: with a ReLU behind it */
vtac_torch_value vtac_torch_make_q_times(vtac_torch *im, int32_t how)
{
    vtac_torch_tensor *x = vtac_torch_arg_tensor(im, "qa");
    const double c = vtac_torch_float(im, "qb", 0.0);
    if (im->maker.status != VTA_OK || !x->quantized || x->scales != 0 || c <= 0.0) {
        vtac_torch_refuse(im, "a quantized tensor times %g", c);
        return vtac_torch_none;
    }
    const vtac_torch_value y = vtac_torch_quantized_of(im, vtac_torch_id(im, x), x->scale * c, x->zero);
    return how == 0 || y.kind != TORCH_TENSOR
               ? y
               : vtac_torch_quantize_like(
                     im, vtac_make1(&im->maker, VTAC_OP_RELU, vtac_torch_floats(im, y.tensor)), y.tensor);
}

/* x + c: the zero point moves by c in steps of the scale; where it would leave uint8, the scale grows. */
vtac_torch_value vtac_torch_make_q_plus(vtac_torch *im, int32_t how)
{
    vtac_torch_tensor *x = vtac_torch_arg_tensor(im, "qa");
    const double c = vtac_torch_float(im, "qb", 0.0);
    if (im->maker.status != VTA_OK || !x->quantized || x->scales != 0 || fabs(c / x->scale) > 1e6) {
        vtac_torch_refuse(im, "a quantized tensor plus %g", c);
        return vtac_torch_none;
    }
    const int64_t steps = (int64_t)nearbyint(c / x->scale);
    const int64_t zero = x->zero - steps;
    const int64_t bound = zero < 0 ? 0 : zero > 255 ? 255 : zero;
    vtac_torch_value y;
    if (bound == zero) {
        y = vtac_torch_quantized_of(im, vtac_torch_id(im, x), x->scale, zero);
    } else {
        const double grown = x->scale * (double)(zero < 0 ? 255 - zero : zero) / 255.0;
        const vtac_id sum =
            vtac_torch_with(im, VTAC_OP_ADD, vtac_torch_floats(im, x), (double)steps * x->scale);
        y = vtac_torch_quantize(im, sum, grown, bound, VTAC_U8);
    }
    return how == 0 || y.kind != TORCH_TENSOR
               ? y
               : vtac_torch_quantize_like(
                     im, vtac_make1(&im->maker, VTAC_OP_RELU, vtac_torch_floats(im, y.tensor)), y.tensor);
}

/* how: 1: with a ReLU behind it */
vtac_torch_value vtac_torch_make_q_cat(vtac_torch *im, int32_t how)
{
    const vtac_torch_value *list = vtac_torch_arg(im, "qx");
    const uint32_t count = list->kind == TORCH_LIST ? list->list->count : 0;
    vtac_id *parts = vtac_make_room(&im->maker, (int64_t)count + 1, sizeof *parts);
    for (uint32_t i = 0; parts != NULL && i < count; i++) {
        const vtac_torch_value *v = &list->list->items[i];
        parts[i] = v->kind == TORCH_TENSOR ? vtac_torch_floats(im, v->tensor) : 0;
    }
    if (parts == NULL || count == 0 || parts[0] == 0) {
        vtac_torch_refuse(im, "a row of no tensors");
        return vtac_torch_none;
    }
    const uint32_t axis = vtac_torch_axis(im, "dim", 0, vtac_made_type(&im->maker, parts[0]).rank);
    return activated(im, vtac_make_concat(&im->maker, parts, count, axis), how == 1, "scale", "zero_point");
}

/* how: the operator of one operand; -1: a leaky ReLU, -2: a ReLU6 that keeps the scale */
vtac_torch_value vtac_torch_make_q_unary(vtac_torch *im, int32_t how)
{
    const vtac_id x = floats_of(im, "qx");
    if (how == -2) {
        const vtac_torch_tensor *like = vtac_torch_arg_tensor(im, "qx");
        const vtac_id y = vtac_make_clip(&im->maker, x, 0.0, 6.0);
        return like == NULL ? vtac_torch_none : vtac_torch_quantize_like(im, y, like);
    }
    if (how == -1) {
        const vtac_attr attr = vtac_attr_of_float("alpha", vtac_torch_float(im, "negative_slope", 0.01));
        return quantized(im, vtac_make(&im->maker, VTAC_OP_LEAKY_RELU, &x, 1, &attr, 1), "scale",
                         "zero_point");
    }
    return quantized(im, vtac_make1(&im->maker, (vtac_op)how, x), "scale", "zero_point");
}

/* how: 1: with a ReLU behind it */
vtac_torch_value vtac_torch_make_q_batch_norm(vtac_torch *im, int32_t how)
{
    const vtac_attr attr = vtac_attr_of_float("epsilon", vtac_torch_float(im, "eps", 1e-5));
    const vtac_id in[] = {floats_of(im, "qx"), vtac_torch_in(im, "weight"), vtac_torch_in(im, "bias"),
                          vtac_torch_in(im, "mean"), vtac_torch_in(im, "var")};
    return activated(im, vtac_make(&im->maker, VTAC_OP_BATCH_NORMALIZATION, in, 5, &attr, 1), how == 1,
                     "scale", "zero_point");
}
