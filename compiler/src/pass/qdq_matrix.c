/* SPDX-License-Identifier: Apache-2.0
 *
 * fold-qdq: convolutions and matrix products between DequantizeLinear and QuantizeLinear as QLinearConv,
 * QLinearMatMul and QGemm.
 *
 * The bias becomes an int32 in units of the accumulator, sx * sw[c]. Biases that were quantized so are taken
 * as they are. Others are rounded to it, where that moves no result by more than MAX_BIAS_ERROR output
 * steps.
 */
#include <math.h>
#include <string.h>

#include "qdq.h"
#include "vta/fail.h"
#include "vtac/quant.h"

#define MAX_BIAS_ERROR (1.0 / 64)
#define MAX_BIAS       ((double)(1 << 30))
#define SAME_SCALE     1e-6

enum { MAX_OPERANDS = 9 };

/* Both operands of a product and how its result is scaled. */
typedef struct matrix_product {
    vtac_qvalue x, w;
    int64_t outputs; /* channels or columns: what w's scales and the bias run along */
    vtac_value_id w_scale;
    const vtac_tensor *w_scales;
    const vtac_qparams *y; /* NULL: the result stays float */
    const int8_t *dead;    /* 1 for outputs that no input changes; NULL: none */
} matrix_product;

static double weight_scale(const matrix_product *p, int64_t c)
{
    return vtac_tensor_float(p->w_scales, c % vtac_type_elements(&p->w_scales->type)); /* groups share */
}

static float output_scale(const matrix_product *p, int64_t c)
{
    const float y = p->y == NULL ? 1.0F : vtac_qscale(p->y);
    return vtac_scale_product(vtac_qscale(&p->x.p), (float)weight_scale(p, c), y);
}

/* Reads both operands; w's scales run along `axis` or are one. */
static bool read_product(vtac_fold *f, uint32_t axis, int64_t outputs, matrix_product *p)
{
    const vtac_node *core = &f->core;
    if (!vtac_read_activation(f->r, core->inputs[VTAC_PRODUCT_X], &p->x) ||
        !vtac_read_dequantize(f->r, core->inputs[VTAC_PRODUCT_WEIGHT], &p->w) || p->w.p.dtype == VTAC_I32 ||
        (p->w.p.per_axis && p->w.p.axis != axis)) {
        return false;
    }
    p->outputs = outputs;
    p->w_scale = p->w.p.scale;
    p->w_scales = p->w.p.scales;
    return true;
}

static bool scales_fit(const matrix_product *p)
{
    vtac_fixed fixed;
    for (int64_t c = 0; c < vtac_type_elements(&p->w_scales->type); c++) {
        if (!vtac_fixed_of(output_scale(p, c), &fixed)) {
            return false;
        }
    }
    return true;
}

/* A bias: constant floats, or DequantizeLinear of constant integers. */
typedef struct reals {
    const vtac_tensor *values;
    const vtac_qparams *q; /* NULL: floats */
    vtac_qparams params;
    vtac_value_id id;
    int64_t count;
} reals;

static bool read_reals(const vtac_rewrite *r, vtac_value_id value, reals *out)
{
    vtac_qvalue q;
    *out = (reals){.id = value, .values = r->graph->values[value].constant};
    if (vtac_read_dequantize(r, value, &q)) {
        out->params = q.p;
        out->q = &out->params;
        out->id = q.q;
        out->values = r->graph->values[q.q].constant;
    }
    out->count = out->values == NULL ? 0 : vtac_type_elements(&out->values->type);
    return out->count > 0 && (out->q != NULL || out->values->type.dtype == VTAC_F32);
}

/* Element i as a multiple of `unit`. A scale that was meant to be the unit, but was rounded to float32 on
 * another way, is the unit. */
static double in_units(const reals *b, int64_t i, double unit)
{
    i = b->count == 1 ? 0 : i;
    if (b->q == NULL) {
        return vtac_tensor_float(b->values, i) / unit;
    }
    const int64_t c = b->q->per_axis ? i : 0;
    const int64_t zero = b->q->zeros == NULL ? 0 : vtac_tensor_int(b->q->zeros, c);
    const double ratio = vtac_tensor_float(b->q->scales, c) / unit;
    const double whole = (double)(vtac_tensor_int(b->values, i) - zero);
    return fabs(ratio - 1.0) < SAME_SCALE ? whole : whole * ratio;
}

/* The weights of a product, channel by channel; false where they are not known. */
static bool read_terms(const vtac_fold *f, const matrix_product *p, vtac_bias_terms *t)
{
    const vtac_tensor *w = f->r->graph->values[p->w.q].constant;
    const bool rows = f->core.op == VTAC_OP_CONV ||
                      (f->core.op == VTAC_OP_GEMM && vtac_attr_int(&f->core, "transB", 0) != 0);
    if (w == NULL || p->y == NULL || f->core.op == VTAC_OP_CONV_TRANSPOSE) {
        return false;
    }
    *t = (vtac_bias_terms){.w = w,
                           .w_zero = p->w.p.zeros,
                           .terms = vtac_type_elements(&w->type) / p->outputs,
                           .x_low = vtac_low_of(p->x.p.zeros, p->x.p.dtype)};
    t->output_step = rows ? t->terms : 1;
    t->term_step = rows ? 1 : p->outputs;
    return true;
}

/* True if channel c has the same result for every input and that result is far from the next rounding
 * boundary. *out is the result less the zero point. */
static bool is_dead(const vtac_fold *f, const matrix_product *p, int64_t c, double exact, int32_t *out)
{
    const double near = 1e-3;
    vtac_bias_terms t;
    if (!p->w.p.per_axis || vtac_type_elements(&p->w_scales->type) != p->outputs || !read_terms(f, p, &t) ||
        !(fabs(exact) >= 0.0)) {
        return false;
    }
    const vtac_bias_room room = vtac_bias_room_of(&t, c);
    const double unit = (double)vtac_qscale(&p->x.p) * weight_scale(p, c) / (double)vtac_qscale(p->y);
    const double zero = (double)vtac_qzero(p->y);
    const double low = (double)vtac_qlow(p->y->dtype) - zero, high = (double)vtac_qhigh(p->y->dtype) - zero;
    const double first = fmax(low, fmin(high, rint((exact + (double)room.min) * unit - near)));
    const double last = fmax(low, fmin(high, rint((exact + (double)room.max) * unit + near)));
    *out = first == last ? (int32_t)first : 0;
    return first == last;
}

/* Weights that are their zero point for outputs that are dead, whose scale makes their bias the result. */
static vta_status silence_dead_outputs(vtac_fold *f, matrix_product *p)
{
    vtac_bias_terms t;
    const int64_t count = p->outputs;
    float *scales = vta_arena_array(&f->r->graph->arena, (size_t)count, sizeof *scales);
    if (scales == NULL || !read_terms(f, p, &t)) {
        return vta_no_memory(f->r->diag);
    }
    int8_t *data = vta_arena_array(&f->r->graph->arena, (size_t)vtac_type_elements(&t.w->type), 1);
    if (data == NULL) {
        return vta_no_memory(f->r->diag);
    }
    memcpy(data, t.w->data, (size_t)vtac_type_elements(&t.w->type));
    for (int64_t c = 0; c < count; c++) {
        const int64_t zero =
            t.w_zero == NULL ? 0
                             : vtac_tensor_int(t.w_zero, vtac_type_elements(&t.w_zero->type) == 1 ? 0 : c);
        scales[c] = p->dead[c] ? vtac_qscale(p->y) / vtac_qscale(&p->x.p) : (float)weight_scale(p, c);
        for (int64_t k = 0; p->dead[c] && k < t.terms; k++) {
            data[c * t.output_step + k * t.term_step] = (int8_t)(uint8_t)zero;
        }
    }
    const vtac_type w = t.w->type, list = p->w_scales->type;
    VTA_TRY(vtac_new_constant(f->r, NULL, &w, data, &p->w.q));
    VTA_TRY(vtac_new_constant(f->r, NULL, &list, scales, &p->w_scale));
    p->w_scales = f->r->graph->values[p->w_scale].constant;
    return VTA_OK;
}

/* The bias of channel c beside its sum, where it is too large for 32 bits; see qdq_bias.c. */
static bool fit_large(const vtac_fold *f, const matrix_product *p, int64_t c, double exact, int32_t *out)
{
    const double max = 0x1p40;
    vtac_bias_terms t;
    vtac_fixed scale;
    if (!read_terms(f, p, &t) || !(fabs(exact) >= 0.0) || !vtac_fixed_of(output_scale(p, c), &scale) ||
        scale.mult == 0) {
        return false;
    }
    const vtac_bias_room room = vtac_bias_room_of(&t, c);
    return vtac_bias_fit((int64_t)rint(fmax(-max, fmin(max, exact))), &room, scale, vtac_qzero(p->y),
                         vtac_qlow(p->y->dtype), vtac_qhigh(p->y->dtype), out);
}

/* The bias times `factor` as int32; *fits is false where it cannot be one. */
static vta_status integer_bias(vtac_fold *f, matrix_product *p, vtac_value_id value, double factor,
                               vtac_value_id *out, bool *fits)
{
    reals b;
    const vtac_type *type = &f->r->graph->values[value].type;
    const vtac_type list = {.dtype = VTAC_I32, .rank = 1, .dim = {p->outputs}};
    *fits = false;
    if (!read_reals(f->r, value, &b) || !(b.count == 1 || (type->rank > 0 && b.count == p->outputs &&
                                                           type->dim[type->rank - 1] == p->outputs))) {
        return VTA_OK;
    }
    int32_t *rounded = vta_arena_array(&f->r->graph->arena, (size_t)p->outputs, sizeof *rounded);
    int8_t *dead = vta_arena_array(&f->r->graph->arena, (size_t)p->outputs, sizeof *dead);
    if (rounded == NULL || dead == NULL) {
        return vta_no_memory(f->r->diag);
    }
    bool same = b.q != NULL && vtac_type_equal(&b.values->type, &list);
    for (int64_t c = 0; c < p->outputs; c++) {
        const double unit = (double)vtac_qscale(&p->x.p) * weight_scale(p, c);
        const double exact = in_units(&b, c, unit / factor);
        const double error = fabs(exact - rint(exact)) * (double)output_scale(p, c);
        if (fabs(exact) <= MAX_BIAS && error <= MAX_BIAS_ERROR) {
            rounded[c] = (int32_t)rint(exact);
        } else if (fabs(exact) > MAX_BIAS && is_dead(f, p, c, exact, &rounded[c])) {
            dead[c] = 1;
            p->dead = dead;
        } else if (fabs(exact) <= MAX_BIAS || !fit_large(f, p, c, exact, &rounded[c])) {
            return VTA_OK;
        }
        same = same && vtac_tensor_int(b.values, c) == rounded[c];
    }
    *fits = true;
    *out = b.id;
    VTA_TRY(p->dead != NULL ? silence_dead_outputs(f, p) : VTA_OK);
    return same ? VTA_OK : vtac_new_constant(f->r, NULL, &list, rounded, out);
}

/* x, x_scale, x_zero, w, w_scale, w_zero */
static vta_status put_operands(vtac_fold *f, const matrix_product *p, vtac_value_id *inputs)
{
    vtac_value_id x_zero;
    vtac_value_id w_zero;
    VTA_TRY(vtac_zero_operand(f->r, &p->x.p, &x_zero));
    VTA_TRY(vtac_zero_operand(f->r, &p->w.p, &w_zero));
    const vtac_value_id all[] = {p->x.q, p->x.p.scale, x_zero, p->w.q, p->w_scale, w_zero};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        inputs[i] = all[i];
    }
    return VTA_OK;
}

static vta_status reshape_value(vtac_fold *f, vtac_value_id x, const int64_t *dims, uint32_t rank,
                                vtac_value_id *out)
{
    vtac_value_id inputs[VTAC_RESHAPE_INPUTS] = {x};
    VTA_TRY(vtac_new_ints(f->r, dims, rank, &inputs[VTAC_RESHAPE_SHAPE]));
    return vtac_new_simple(f->r, f->at, &f->core, VTAC_OP_RESHAPE, inputs, 2, out);
}

vta_status vtac_fold_conv(vtac_fold *f, vtac_value_id *out)
{
    matrix_product p = {.y = &f->y};
    vtac_value_id inputs[MAX_OPERANDS];
    const int64_t outputs = f->r->graph->values[f->core.inputs[VTAC_CONV_WEIGHT]].type.dim[0];
    *out = 0;
    if (!read_product(f, 0, outputs, &p) || !scales_fit(&p)) {
        return VTA_OK;
    }
    uint32_t count = 8;
    if (vtac_in_type(f->r->graph, &f->core, VTAC_CONV_BIAS) != NULL) {
        bool fits;
        VTA_TRY(integer_bias(f, &p, f->core.inputs[VTAC_CONV_BIAS], 1.0, &inputs[count++], &fits));
        if (!fits) {
            return VTA_OK;
        }
    }
    VTA_TRY(put_operands(f, &p, inputs));
    inputs[VTAC_QLINEAR_CONV_Y_SCALE] = f->y.scale;
    inputs[VTAC_QLINEAR_CONV_Y_ZERO] = f->y_zero;
    const vtac_node_spec spec = {.op = VTAC_OP_QLINEAR_CONV,
                                 .inputs = inputs,
                                 .input_count = count,
                                 .output_count = 1,
                                 .attrs = f->core.attrs,
                                 .attr_count = f->core.attr_count};
    return vtac_new_node(f->r, f->at, &f->core, spec, out);
}

/* A transposed convolution: all its pixels of one phase of the stride are a convolution of the input, with
 * the taps of that phase. One convolution makes the channels of all phases, and depth to space puts them side
 * by side.
 *
 *     y[Y] = sum of x[q - t] w[phase + stride t],     Y + pad = stride q + phase
 */
typedef struct transposed_product {
    int64_t inputs, outputs, groups; /* outputs: of all groups */
    uint32_t axes;
    int64_t stride[2], kernel[2], step[2]; /* of the weights; step: between their taps */
    int64_t taps[2];                       /* of each phase */
    int64_t begin[2], size[2];             /* the part of the squares that is the output */
    int64_t rows[2];                       /* of the convolution's output */
    int64_t after[2];                      /* its padding behind */
} transposed_product;

static int64_t int_of(const vtac_node *node, const char *name, size_t i, int64_t otherwise)
{
    const vtac_attr *attr = vtac_find_attr(node, name);
    return attr != NULL && attr->kind == VTAC_ATTR_INTS && attr->count > i ? attr->ints[i] : otherwise;
}

/* Padding in front of the output: as the node says, or derived from the padding that its size leaves in all.
 */
static int64_t padding_before(const vtac_node *node, uint32_t d, const transposed_product *t, int64_t size)
{
    const char *mode = vtac_attr_string(node, "auto_pad", "NOTSET");
    if (vtac_find_attr(node, "output_shape") == NULL && strncmp(mode, "SAME", 4) != 0) {
        return int_of(node, "pads", d, 0);
    }
    const int64_t all =
        (size - 1) * t->stride[d] + int_of(node, "output_padding", d, 0) + t->kernel[d] - t->size[d];
    return all < 0 ? 0 : strcmp(mode, "SAME_UPPER") == 0 ? all / 2 : all - all / 2;
}

static void read_axis(const vtac_graph *graph, const vtac_node *node, transposed_product *t, uint32_t d)
{
    const vtac_type *x = vtac_in_type(graph, node, VTAC_CONV_X),
                    *w = vtac_in_type(graph, node, VTAC_CONV_WEIGHT);
    t->stride[d] = int_of(node, "strides", d, 1);
    t->step[d] = int_of(node, "dilations", d, 1);
    t->kernel[d] = (w->dim[2 + d] - 1) * t->step[d] + 1;
    t->taps[d] = (t->kernel[d] + t->stride[d] - 1) / t->stride[d];
    t->size[d] = graph->values[node->outputs[0]].type.dim[2 + d];
    t->begin[d] = padding_before(node, d, t, x->dim[2 + d]);
    const int64_t needed = (t->begin[d] + t->size[d] + t->stride[d] - 1) / t->stride[d];
    t->after[d] = needed > x->dim[2 + d] ? needed - x->dim[2 + d] : 0;
    t->rows[d] = x->dim[2 + d] + t->after[d];
}

static bool read_transposed(const vtac_graph *graph, const vtac_node *node, transposed_product *t)
{
    const vtac_type *x = vtac_in_type(graph, node, VTAC_CONV_X),
                    *w = vtac_in_type(graph, node, VTAC_CONV_WEIGHT);
    if (x->rank < 3 || x->rank > 4) {
        return false;
    }
    *t = (transposed_product){.inputs = w->dim[0],
                              .groups = vtac_attr_int(node, "group", 1),
                              .axes = x->rank - 2,
                              .stride = {1, 1},
                              .kernel = {1, 1},
                              .step = {1, 1},
                              .taps = {1, 1}};
    t->outputs = w->dim[1] * t->groups;
    bool plain = true;
    for (uint32_t d = 0; d < t->axes; d++) {
        read_axis(graph, node, t, d);
        plain = plain && t->begin[d] >= 0 && t->stride[d] > 0;
    }
    return plain;
}

static int64_t phases_of(const transposed_product *t)
{
    return t->stride[0] * t->stride[1];
}

/* The output whose weights, scale and bias are those of channel c of the convolution: the channels of a group
 * are its outputs in the first phase, then those in the next one, and so on. */
static int64_t output_of(const transposed_product *t, int64_t c, int64_t *phase)
{
    const int64_t each = t->outputs / t->groups, all = each * phases_of(t);
    *phase = c % all / each;
    return c / all * each + c % each;
}

/* Place d of a tap in the weights of the phase; -1: it has none there. */
static int64_t tap_at(const transposed_product *t, uint32_t d, int64_t phase, int64_t tap)
{
    const int64_t at = phase + t->stride[d] * (t->taps[d] - 1 - tap);
    return at < t->kernel[d] && at % t->step[d] == 0 ? at / t->step[d] : -1;
}

/* Weights [groups, phases, outputs, inputs, taps, taps]; taps that a phase does not have are its zero point.
 */
static vta_status phase_weights(vtac_fold *f, const matrix_product *p, const transposed_product *t,
                                vtac_value_id *out)
{
    const vtac_tensor *w = f->r->graph->values[p->w.q].constant;
    const vtac_tensor *zeros = p->w.p.zeros;
    const int64_t own = t->inputs / t->groups, each = t->outputs / t->groups;
    const int64_t high = t->axes == 2 ? w->type.dim[2] : 1, wide = w->type.dim[1 + t->axes];
    vtac_type type = {.dtype = p->w.p.dtype, .rank = 2, .dim = {phases_of(t) * t->outputs, own}};
    for (uint32_t d = 0; d < t->axes; d++) {
        type.dim[type.rank++] = t->taps[d];
    }
    int8_t *data = vta_arena_array(&f->r->graph->arena, (size_t)vtac_type_elements(&type), 1);
    if (data == NULL) {
        return vta_no_memory(f->r->diag);
    }
    /* one axis: rows of a single tap */
    const uint32_t last = t->axes - 1;
    const int64_t taps_x = t->taps[last], taps_y = t->axes == 2 ? t->taps[0] : 1;
    for (int64_t e = 0; e < vtac_type_elements(&type); e++) {
        const int64_t tx = e % taps_x, ty = e / taps_x % taps_y, i = e / taps_x / taps_y % own;
        int64_t phase;
        const int64_t o = output_of(t, e / taps_x / taps_y / own, &phase);
        const int64_t kx = tap_at(t, last, phase % t->stride[last], tx);
        const int64_t ky = t->axes == 2 ? tap_at(t, 0, phase / t->stride[1], ty) : 0;
        const int64_t at = (((o / each * own + i) * each + o % each) * high + ky) * wide + kx;
        const int64_t zero = zeros == NULL ? 0 : vtac_tensor_int(zeros, o % vtac_type_elements(&zeros->type));
        data[e] = (int8_t)(uint8_t)(kx >= 0 && ky >= 0 ? vtac_tensor_int(w, at) : zero);
    }
    return vtac_new_constant(f->r, NULL, &type, data, out);
}

/* A list of one number for each output, once for each phase; what is one number for all stays. */
static vta_status each_phase(vtac_fold *f, const transposed_product *t, vtac_value_id list,
                             vtac_value_id *out)
{
    const vtac_tensor *one = f->r->graph->values[list].constant;
    *out = list;
    if (vtac_type_elements(&one->type) == 1 && one->type.rank == 0) {
        return VTA_OK;
    }
    const size_t size = vtac_dtype_bytes(one->type.dtype);
    const int64_t count = phases_of(t) * t->outputs, own = vtac_type_elements(&one->type);
    const vtac_type type = {.dtype = one->type.dtype, .rank = 1, .dim = {count}};
    char *data = vta_arena_array(&f->r->graph->arena, (size_t)count, size);
    if (data == NULL) {
        return vta_no_memory(f->r->diag);
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t phase;
        const int64_t o = output_of(t, i, &phase) % own; /* groups share scales */
        memcpy(data + (size_t)i * size, (const char *)one->data + (size_t)o * size, size);
    }
    return vtac_new_constant(f->r, NULL, &type, data, out);
}

/* The pixels of the phases side by side:
 * [n, groups · phases · each, rows, cols] -> [n, groups, each, rows, phases, cols, phases] */
static vta_status spread_phases(vtac_fold *f, const transposed_product *t, vtac_value_id *x)
{
    static const int64_t one[] = {0, 1, 3, 4, 2}, two[] = {0, 1, 4, 5, 2, 6, 3};
    const int64_t n = f->r->graph->values[*x].type.dim[0], each = t->outputs / t->groups;
    const uint32_t rank = 3 + 2 * t->axes;
    const int64_t apart[] = {n, t->groups, t->stride[0], t->stride[1], each, t->rows[0], t->rows[1]};
    const int64_t apart1[] = {n, t->groups, t->stride[0], each, t->rows[0]};
    const int64_t whole[] = {n, t->outputs, t->rows[0] * t->stride[0], t->rows[1] * t->stride[1]};
    VTA_TRY(reshape_value(f, *x, t->axes == 1 ? apart1 : apart, rank, x));
    VTA_TRY(vtac_new_transpose(f->r, f->at, &f->core, t->axes == 1 ? one : two, rank, *x, x));
    return reshape_value(f, *x, whole, 2 + t->axes, x);
}

static vta_status to_squares(vtac_fold *f, const transposed_product *t, vtac_value_id *x)
{
    const vtac_attr size = {.name = "blocksize", .kind = VTAC_ATTR_INT, .i = t->stride[0]};
    const vtac_node_spec spec = {.op = VTAC_OP_DEPTH_TO_SPACE,
                                 .inputs = x,
                                 .input_count = 1,
                                 .output_count = 1,
                                 .attrs = &size,
                                 .attr_count = 1};
    return t->axes == 2 && t->groups == 1 && t->stride[0] == t->stride[1]
               ? vtac_new_node(f->r, f->at, &f->core, spec, x)
               : spread_phases(f, t, x);
}

/* The phases side by side, and the part of them that is the output. */
static vta_status unfold_phases(vtac_fold *f, const transposed_product *t, vtac_value_id *x)
{
    bool whole = true;
    int64_t end[2];
    VTA_TRY(phases_of(t) > 1 ? to_squares(f, t, x) : VTA_OK);
    for (uint32_t d = 0; d < t->axes; d++) {
        end[d] = t->begin[d] + t->size[d];
        whole = whole && t->begin[d] == 0 && t->size[d] == t->rows[d] * t->stride[d];
    }
    if (whole) {
        return VTA_OK;
    }
    vtac_value_id inputs[4] = {*x};
    VTA_TRY(vtac_new_ints(f->r, t->begin, t->axes, &inputs[VTAC_SLICE_STARTS]));
    VTA_TRY(vtac_new_ints(f->r, end, t->axes, &inputs[VTAC_SLICE_ENDS]));
    VTA_TRY(vtac_new_ints(f->r, (int64_t[]){2, 3}, t->axes, &inputs[VTAC_SLICE_AXES]));
    return vtac_new_simple(f->r, f->at, &f->core, VTAC_OP_SLICE, inputs, 4, x);
}

static vta_status phase_bias(vtac_fold *f, matrix_product *p, const transposed_product *t, vtac_value_id *out,
                             bool *fits)
{
    VTA_TRY(integer_bias(f, p, f->core.inputs[VTAC_CONV_BIAS], 1.0, out, fits));
    return *fits ? each_phase(f, t, *out, out) : VTA_OK;
}

static vta_status phase_conv(vtac_fold *f, const transposed_product *t, const vtac_value_id *inputs,
                             uint32_t count, vtac_value_id *out)
{
    int64_t pads[4];
    for (uint32_t d = 0; d < t->axes; d++) {
        pads[d] = t->taps[d] - 1;
        pads[t->axes + d] = t->after[d];
    }
    const vtac_attr attrs[] = {
        {.name = "kernel_shape", .kind = VTAC_ATTR_INTS, .count = t->axes, .ints = t->taps},
        {.name = "pads", .kind = VTAC_ATTR_INTS, .count = 2 * (size_t)t->axes, .ints = pads},
        {.name = "group", .kind = VTAC_ATTR_INT, .i = t->groups}};
    const vtac_node_spec spec = {.op = VTAC_OP_QLINEAR_CONV,
                                 .inputs = inputs,
                                 .input_count = count,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = 3};
    return vtac_new_node(f->r, f->at, &f->core, spec, out);
}

vta_status vtac_fold_conv_transpose(vtac_fold *f, vtac_value_id *out)
{
    matrix_product p = {.y = &f->y};
    transposed_product t;
    vtac_value_id inputs[MAX_OPERANDS];
    *out = 0;
    if (!read_transposed(f->r->graph, &f->core, &t) || !read_product(f, 1, t.outputs / t.groups, &p) ||
        !scales_fit(&p) || f->r->graph->values[p.w.q].constant == NULL) {
        return VTA_OK;
    }
    p.outputs = t.outputs;
    uint32_t count = 8;
    if (vtac_in_type(f->r->graph, &f->core, VTAC_CONV_BIAS) != NULL) {
        bool fits;
        VTA_TRY(phase_bias(f, &p, &t, &inputs[count++], &fits));
        if (!fits) {
            return VTA_OK;
        }
    }
    VTA_TRY(put_operands(f, &p, inputs));
    VTA_TRY(phase_weights(f, &p, &t, &inputs[VTAC_QLINEAR_CONV_WEIGHT]));
    VTA_TRY(
        each_phase(f, &t, inputs[VTAC_QLINEAR_CONV_WEIGHT_SCALE], &inputs[VTAC_QLINEAR_CONV_WEIGHT_SCALE]));
    VTA_TRY(each_phase(f, &t, inputs[VTAC_QLINEAR_CONV_WEIGHT_ZERO], &inputs[VTAC_QLINEAR_CONV_WEIGHT_ZERO]));
    inputs[VTAC_QLINEAR_CONV_Y_SCALE] = f->y.scale;
    inputs[VTAC_QLINEAR_CONV_Y_ZERO] = f->y_zero;
    VTA_TRY(phase_conv(f, &t, inputs, count, out));
    return unfold_phases(f, &t, out);
}

/* w's scales times alpha, so that nobody behind us has to know of it. */
static vta_status scale_weights(vtac_fold *f, matrix_product *p, double alpha)
{
    if (alpha == 1.0) {
        return VTA_OK;
    }
    const int64_t count = vtac_type_elements(&p->w_scales->type);
    float *scaled = vta_arena_array(&f->r->graph->arena, (size_t)count, sizeof *scaled);
    if (scaled == NULL) {
        return vta_no_memory(f->r->diag);
    }
    for (int64_t i = 0; i < count; i++) {
        scaled[i] = (float)(alpha * vtac_tensor_float(p->w_scales, i));
    }
    VTA_TRY(vtac_new_constant(f->r, NULL, &p->w_scales->type, scaled, &p->w_scale));
    p->w_scales = f->r->graph->values[p->w_scale].constant;
    return VTA_OK;
}

/* QGemm of a product that has been read; the output operands are there where p->y is. */
static vta_status emit_gemm(vtac_fold *f, matrix_product *p, vtac_value_id bias, double factor, bool trans_a,
                            bool trans_b, vtac_value_id *out)
{
    vtac_value_id inputs[MAX_OPERANDS] = {0};
    uint32_t count = 6;
    *out = 0;
    if (!scales_fit(p)) {
        return VTA_OK;
    }
    if (bias != 0) {
        bool fits;
        VTA_TRY(integer_bias(f, p, bias, factor, &inputs[VTAC_QGEMM_C], &fits));
        if (!fits) {
            return VTA_OK;
        }
        count = 7;
    }
    VTA_TRY(put_operands(f, p, inputs));
    if (p->y != NULL) {
        inputs[VTAC_QGEMM_Y_SCALE] = f->y.scale;
        inputs[VTAC_QGEMM_Y_ZERO] = f->y_zero;
        count = 9;
    }
    const vtac_attr attrs[] = {{.name = "transA", .kind = VTAC_ATTR_INT, .i = trans_a},
                               {.name = "transB", .kind = VTAC_ATTR_INT, .i = trans_b}};
    const vtac_node_spec spec = {.op = VTAC_OP_QGEMM,
                                 .inputs = inputs,
                                 .input_count = count,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = 2};
    return vtac_new_node(f->r, f->at, &f->core, spec, out);
}

static vta_status fold_gemm(vtac_fold *f, const vtac_qparams *y, vtac_value_id *out)
{
    matrix_product p = {.y = y};
    const bool trans_a = vtac_attr_int(&f->core, "transA", 0) != 0;
    const bool trans_b = vtac_attr_int(&f->core, "transB", 0) != 0;
    const double alpha = vtac_attr_float(&f->core, "alpha", 1.0);
    const vtac_type *w = &f->r->graph->values[f->core.inputs[VTAC_GEMM_B]].type;
    const uint32_t axis = trans_b ? 0 : 1;
    *out = 0;
    if (!(alpha > 0.0) || w->rank != 2 || !read_product(f, axis, w->dim[axis], &p)) {
        return VTA_OK;
    }
    VTA_TRY(scale_weights(f, &p, alpha));
    const bool has_bias = vtac_in_type(f->r->graph, &f->core, VTAC_GEMM_C) != NULL;
    return emit_gemm(f, &p, has_bias ? f->core.inputs[VTAC_GEMM_C] : 0,
                     vtac_attr_float(&f->core, "beta", 1.0), trans_a, trans_b, out);
}

vta_status vtac_fold_gemm(vtac_fold *f, vtac_value_id *out)
{
    return fold_gemm(f, &f->y, out);
}

vta_status vtac_fold_float_gemm(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    vtac_fold f = {.r = r, .at = id, .core = r->graph->nodes[id]};
    const vtac_node *user = vtac_only_user(r, f.core.outputs[0]);
    vtac_value_id out;
    if (user != NULL &&
        (user->op == VTAC_OP_QUANTIZE_LINEAR || user->op == VTAC_OP_RELU || user->op == VTAC_OP_CLIP)) {
        return VTA_OK; /* its QuantizeLinear may take it whole */
    }
    VTA_TRY(fold_gemm(&f, NULL, &out));
    if (out != 0) {
        vtac_replace(r, f.core.outputs[0], out);
        *changed = true;
    }
    return VTA_OK;
}

vta_status vtac_fold_matmul(vtac_fold *f, vtac_value_id *out)
{
    matrix_product p = {.y = &f->y};
    const vtac_type *w = &f->r->graph->values[f->core.inputs[VTAC_MATMUL_B]].type;
    *out = 0;
    if (w->rank < 2 || !read_product(f, w->rank - 1, w->dim[w->rank - 1], &p) || !scales_fit(&p) ||
        (p.w.p.per_axis && w->rank != 2)) {
        return VTA_OK;
    }
    vtac_value_id inputs[MAX_OPERANDS];
    VTA_TRY(put_operands(f, &p, inputs));
    inputs[VTAC_QLINEAR_PAIR_Y_SCALE] = f->y.scale;
    inputs[VTAC_QLINEAR_PAIR_Y_ZERO] = f->y_zero;
    return vtac_new_simple(f->r, f->at, &f->core, VTAC_OP_QLINEAR_MATMUL, inputs, 8, out);
}

/* MatMul(x, w) + bias: a QGemm over all rows of x. The core is the Add. */
static vta_status fold_dense(vtac_fold *f, const vtac_node *matmul, vtac_value_id bias, vtac_value_id *out)
{
    matrix_product p = {.y = &f->y};
    vtac_fold inner = *f;
    inner.core = *matmul;
    const vtac_type x = f->r->graph->values[matmul->inputs[VTAC_MATMUL_A]].type;
    const vtac_type w = f->r->graph->values[matmul->inputs[VTAC_MATMUL_B]].type;
    const vtac_type y = f->r->graph->values[f->core.outputs[0]].type;
    *out = 0;
    if (w.rank != 2 || x.rank < 2 || !read_product(&inner, 1, w.dim[1], &p) ||
        !vtac_type_equal(&y, &f->r->graph->values[matmul->outputs[0]].type)) {
        return VTA_OK;
    }
    if (x.rank == 2) {
        return emit_gemm(&inner, &p, bias, 1.0, false, false, out);
    }
    const int64_t rows = vtac_type_elements(&x) / (w.dim[0] > 0 ? w.dim[0] : 1);
    VTA_TRY(reshape_value(&inner, p.x.q, (int64_t[]){rows, w.dim[0]}, 2, &p.x.q));
    VTA_TRY(emit_gemm(&inner, &p, bias, 1.0, false, false, out));
    return *out == 0 ? VTA_OK : reshape_value(&inner, *out, y.dim, y.rank, out);
}

vta_status vtac_fold_add(vtac_fold *f, vtac_value_id *out)
{
    vtac_qvalue a;
    vtac_qvalue b;
    vtac_fixed_sum sum;
    *out = 0;
    for (uint32_t i = 0; i < 2; i++) {
        const vtac_node *side = vtac_producer(f->r, f->core.inputs[i]);
        if (side != NULL && side->op == VTAC_OP_MATMUL && vtac_only_user(f->r, side->outputs[0]) != NULL) {
            const vtac_node matmul = *side;
            return fold_dense(f, &matmul, f->core.inputs[1 - i], out);
        }
    }
    if (!vtac_read_activation(f->r, f->core.inputs[VTAC_BINARY_A], &a) ||
        !vtac_read_activation(f->r, f->core.inputs[VTAC_BINARY_B], &b) ||
        !vtac_fixed_sum_of(vtac_qscale(&a.p), vtac_qscale(&b.p), vtac_qscale(&f->y), &sum)) {
        return VTA_OK;
    }
    vtac_value_id a_zero;
    vtac_value_id b_zero;
    VTA_TRY(vtac_zero_operand(f->r, &a.p, &a_zero));
    VTA_TRY(vtac_zero_operand(f->r, &b.p, &b_zero));
    const vtac_value_id inputs[] = {a.q, a.p.scale, a_zero, b.q, b.p.scale, b_zero, f->y.scale, f->y_zero};
    return vtac_new_simple(f->r, f->at, &f->core, VTAC_OP_QLINEAR_ADD, inputs, 8, out);
}

vta_status vtac_fold_mul(vtac_fold *f, vtac_value_id *out)
{
    matrix_product p = {.y = &f->y};
    *out = 0;
    if (!read_product(f, 0, 1, &p) || p.w.p.per_axis || !scales_fit(&p)) {
        return VTA_OK;
    }
    vtac_value_id inputs[MAX_OPERANDS];
    VTA_TRY(put_operands(f, &p, inputs));
    inputs[VTAC_QLINEAR_PAIR_Y_SCALE] = f->y.scale;
    inputs[VTAC_QLINEAR_PAIR_Y_ZERO] = f->y_zero;
    return vtac_new_simple(f->r, f->at, &f->core, VTAC_OP_QLINEAR_MUL, inputs, 8, out);
}
