/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights are symmetric (-127 … 127, those of 4 bits -8 … 7 times a factor; zero point 0). The bias has the
 * unit of the accumulator, x_scale times the scale of the weights, and 32 bits.
 */
#include "weights.h"

#include <math.h>
#include <string.h>

#include "insert.h"
#include "range.h"
#include "rounding.h"
#include "vta/fail.h"

#define MAX_BIAS ((double)(1 << 30))

enum { MAX_WEIGHT = 127, MAX_NARROW = 7 };

/* Number of elements between two output channels of the weights. */
static int64_t inner_of(const vtac_type *type, uint32_t axis)
{
    int64_t inner = 1;
    for (uint32_t i = axis + 1; i < type->rank; i++) {
        inner *= type->dim[i];
    }
    return inner;
}

static int64_t channel_of(const vtac_quant_product *p, int64_t i, int64_t inner)
{
    return i / inner % p->channels;
}

int64_t vtac_quant_terms(const vtac_quant_product *p)
{
    return vtac_type_elements(&p->type) / p->channels;
}

int64_t vtac_quant_blocks(const vtac_quant_product *p)
{
    return p->block > 0 ? (vtac_quant_terms(p) + p->block - 1) / p->block : 0;
}

int64_t vtac_quant_weight_place(const vtac_quant_product *p, int64_t c, int64_t k)
{
    const int64_t inner = inner_of(&p->type, p->axis);
    return p->axis == 0 ? c * inner + k : (k / inner * p->channels + c) * inner + k % inner;
}

vtac_quant_grid vtac_quant_grid_of(const vtac_quant_product *p, int64_t c, int64_t k)
{
    if (p->bits != 4) {
        return (vtac_quant_grid){-MAX_WEIGHT, MAX_WEIGHT, 1};
    }
    const int64_t blocks = vtac_quant_blocks(p);
    const int32_t step = p->factors == NULL ? 1 : p->factors[c * blocks + k / p->block];
    return (vtac_quant_grid){(-MAX_NARROW - 1) * step, MAX_NARROW * step, step};
}

double *vtac_quant_read_bias(const vtac_quant_plan *plan, const vtac_node *node, vtac_quant_product *p,
                             bool *usable)
{
    const vtac_graph *g = plan->graph;
    const bool has = vtac_in_type(g, node, VTAC_PRODUCT_BIAS) != NULL;
    const vtac_tensor *bias = vtac_in_constant(g, node, VTAC_PRODUCT_BIAS);
    double *values = vta_arena_array(plan->arena, (size_t)p->channels + 1, sizeof *values);
    if (values == NULL) {
        return NULL;
    }
    const bool plain = node->op == VTAC_OP_CONV || node->op == VTAC_OP_CONV_TRANSPOSE ||
                       (node->op == VTAC_OP_GEMM && vtac_attr_float(node, "alpha", 1.0) == 1.0 &&
                        vtac_attr_float(node, "beta", 1.0) == 1.0);
    *usable = plain && (!has || (bias != NULL && bias->type.dtype == VTAC_F32 && bias->type.rank > 0 &&
                                 vtac_type_elements(&bias->type) == p->channels &&
                                 bias->type.dim[bias->type.rank - 1] == p->channels));
    p->bias_type =
        *usable && has ? bias->type : (vtac_type){.dtype = VTAC_F32, .rank = 1, .dim = {p->channels}};
    for (int64_t c = 0; c < p->channels; c++) {
        values[c] = *usable && has ? vtac_tensor_float(bias, c) : 0.0;
    }
    return values;
}

/* Scales that have every weight in them, and every bias, whose floats become the least scale that they allow.
 */
static void choose_scales(vtac_quant_product *p, const float *w, const double *bias, float x_scale,
                          double *lower)
{
    const int64_t inner = inner_of(&p->type, p->axis);
    const int64_t count = vtac_type_elements(&p->type);
    float all = 0.0F;
    for (int64_t c = 0; c < p->channels; c++) {
        p->scales[c] = 0.0F;
    }
    for (int64_t i = 0; i < count; i++) {
        float *largest = &p->scales[channel_of(p, i, inner)];
        *largest = fabsf(w[i]) > *largest ? fabsf(w[i]) : *largest;
    }
    for (int64_t c = 0; c < p->channels; c++) {
        lower[c] = fabs(bias[c]) / (MAX_BIAS * (double)x_scale);
        const double scale = (double)p->scales[c] / (p->bits == 4 ? MAX_NARROW : MAX_WEIGHT);
        p->scales[c] = (float)(scale > lower[c] ? scale : lower[c]);
        all = p->scales[c] > all ? p->scales[c] : all;
    }
    all = all > QUANT_MIN_SCALE ? all : 1.0F;
    for (int64_t c = 0; c < p->channels; c++) { /* a channel of zeros: any scale will do */
        p->scales[c] = p->per_channel && p->scales[c] > QUANT_MIN_SCALE ? p->scales[c] : all;
    }
}

static int32_t round_weight(double value, double max)
{
    const double whole = rint(value);
    return (int32_t)(whole > max ? max : whole < -max ? -max : whole);
}

int32_t vtac_quant_nearest(const vtac_quant_grid *grid, double exact)
{
    const double whole = rint(exact / grid->step) * grid->step;
    return (int32_t)(whole > grid->high ? grid->high : whole < grid->low ? grid->low : whole);
}

static void round_weights(vtac_quant_product *p, const float *w)
{
    const int64_t terms = vtac_quant_terms(p);
    for (int64_t c = 0; c < p->channels; c++) {
        for (int64_t k = 0; k < terms; k++) {
            const int64_t i = vtac_quant_weight_place(p, c, k);
            const vtac_quant_grid grid = vtac_quant_grid_of(p, c, k);
            p->weights[i] = (int8_t)vtac_quant_nearest(&grid, (double)w[i] / (double)p->scales[c]);
        }
    }
}

/* Taps of a kernel that hangs over the edge see zeros: they are counted as if they did not, which is little
 * where the picture is larger than the kernel. */
void vtac_quant_correct_bias(const vtac_quant_product *p, const float *w, float *real, const double *mean,
                             int64_t group, double share, double *bias)
{
    const int64_t inner = inner_of(&p->type, p->axis);
    const int64_t count = vtac_type_elements(&p->type);
    const bool conv = p->type.rank > 2 && p->axis == 0; /* [channels, inputs of the group, taps …] */
    const int64_t taps = conv ? inner / p->type.dim[1] : 1;
    for (int64_t i = 0; i < count; i++) {
        const int64_t c = channel_of(p, i, inner);
        real[i] = (float)p->weights[i] * p->scales[c];
        if (mean != NULL) {
            const int64_t per_group = p->channels / group;
            const int64_t input = conv           ? c / per_group * p->type.dim[1] + i / taps % p->type.dim[1]
                                  : p->axis == 0 ? i % inner
                                                 : i / (p->channels * inner);
            bias[c] -= ((double)real[i] - (double)w[i]) * mean[input] * share;
        }
    }
}

int32_t vtac_quant_bias_integer(double bias, float unit)
{
    return round_weight(bias / (double)unit, MAX_BIAS);
}

/* Gives a product a bias. */
static vta_status set_bias(const vtac_quant_plan *plan, vtac_node_id id, vtac_value_id bias, vta_diag *diag)
{
    return plan->graph->nodes[id].input_count <= VTAC_PRODUCT_BIAS
               ? vtac_append_input(plan->graph, id, bias, diag)
               : vtac_set_input(plan->graph, id, VTAC_PRODUCT_BIAS, bias, diag);
}

static vta_status round_bias(const vtac_quant_plan *plan, vtac_quant_product *p, const double *bias,
                             float x_scale, vta_diag *diag)
{
    p->bias = vta_arena_array(&plan->graph->arena, (size_t)p->channels + 1, sizeof *p->bias);
    float *real = vta_arena_array(&plan->graph->arena, (size_t)p->channels + 1, sizeof *real);
    if (p->bias == NULL || real == NULL) {
        return vta_no_memory(diag);
    }
    for (int64_t c = 0; c < p->channels; c++) {
        const float unit = x_scale * p->scales[c];
        p->bias[c] = vtac_quant_bias_integer(bias[c], unit);
        real[c] = (float)p->bias[c] * unit;
    }
    const vtac_tensor tensor = {
        .type = p->bias_type, .data = real, .bytes = (size_t)p->channels * sizeof *real};
    vtac_value_id value;
    VTA_TRY(vtac_add_constant(plan->graph, "", &tensor, &value, diag));
    return set_bias(plan, p->node, value, diag);
}

static vta_status check_finite(const vtac_graph *g, const vtac_node *node, vta_diag *diag)
{
    for (uint32_t i = 1; i < node->input_count; i++) {
        const vtac_tensor *t = vtac_in_constant(g, node, i);
        for (int64_t k = 0; t != NULL && k < vtac_type_elements(&t->type); k++) {
            if (!isfinite(vtac_tensor_float(t, k))) {
                return vta_fail(diag, VTA_INVALID, "node '%s': '%s' holds a value that is not finite",
                                node->name, g->values[node->inputs[i]].name);
            }
        }
    }
    return VTA_OK;
}

/* True if the weights of a channel are one for each input, so that blocks of inputs can have factors. */
static bool has_blocks(const vtac_node *node, const vtac_type *type)
{
    bool points = node->op != VTAC_OP_CONV_TRANSPOSE;
    for (uint32_t i = 2; i < type->rank; i++) {
        points = points && type->dim[i] == 1;
    }
    return points;
}

/* Integers from floats, in rooms of the graph's. */
static vta_status round_floats(vtac_graph *g, vtac_quant_product *p, const vtac_tensor *w, const double *bias,
                               float x_scale, vta_diag *diag)
{
    const size_t count = (size_t)vtac_type_elements(&w->type);
    const int64_t blocks = vtac_quant_blocks(p);
    double *lower = vta_arena_array(&g->arena, (size_t)p->channels + 1, sizeof *lower);
    p->weights = vta_arena_array(&g->arena, count + 1, sizeof *p->weights);
    p->scales = vta_arena_array(&g->arena, (size_t)p->channels + 1, sizeof *p->scales);
    p->factors = blocks > 0 ? vta_arena_array(&g->arena, (size_t)(p->channels * blocks), 1) : NULL;
    if (lower == NULL || p->weights == NULL || p->scales == NULL || (blocks > 0 && p->factors == NULL)) {
        return vta_no_memory(diag);
    }
    choose_scales(p, w->data, bias, x_scale, lower);
    if (p->bits == 4 && p->per_channel) {
        vtac_quant_narrow_scales(p, w->data, lower);
    }
    round_weights(p, w->data);
    return VTA_OK;
}

vta_status vtac_quant_round_product(const vtac_quant_plan *plan, float x_scale, const vtac_quant_width *width,
                                    const double *mean, vtac_quant_patches *patches, vtac_quant_product *p,
                                    vta_diag *diag)
{
    const vtac_node_id id = p->node;
    vtac_graph *g = plan->graph;
    const vtac_node *node = &g->nodes[id];
    const vtac_tensor *w = vtac_in_constant(g, node, VTAC_PRODUCT_WEIGHT);
    VTA_TRY(check_finite(g, node, diag));
    *p = (vtac_quant_product){.node = id,
                              .type = w->type,
                              .per_channel = width->per_channel,
                              .bits = width->bits,
                              .block = width->bits == 4 && has_blocks(node, &w->type) ? width->block : 0,
                              .name = g->values[node->inputs[VTAC_PRODUCT_WEIGHT]].name};
    (void)vtac_quant_is_product(g, node, &p->axis);
    p->channels = w->type.dim[p->axis];
    float *real = vta_arena_array(&g->arena, (size_t)vtac_type_elements(&w->type) + 1, sizeof *real);
    bool usable = false;
    double *bias = vtac_quant_read_bias(plan, node, p, &usable);
    if (real == NULL || bias == NULL) {
        return vta_no_memory(diag);
    }
    VTA_TRY(round_floats(g, p, w, bias, x_scale, diag));
    mean = usable ? mean : NULL;
    if (patches != NULL && patches->count > 0) {
        VTA_TRY(vtac_quant_tune_rounding(p, w->data, mean, patches, diag));
    }
    vtac_quant_correct_bias(p, w->data, real, mean, vtac_attr_int(node, "group", 1),
                            vtac_quant_tap_share(g, node), bias);
    const bool has_bias = usable && (vtac_in_type(g, node, VTAC_PRODUCT_BIAS) != NULL || mean != NULL);
    const vtac_tensor tensor = {.type = w->type, .data = real, .bytes = w->bytes};
    vtac_value_id value;
    VTA_TRY(vtac_add_constant(g, "", &tensor, &value, diag));
    VTA_TRY(vtac_set_input(g, id, VTAC_PRODUCT_WEIGHT, value, diag));
    return has_bias ? round_bias(plan, p, bias, x_scale, diag) : VTA_OK;
}

/* The scales as an operand: one, or one for each channel. */
static vta_status scale_operand(vtac_graph *g, const vtac_quant_product *p, float factor,
                                vtac_quant_params *to, vta_diag *diag)
{
    const size_t count = p->per_channel ? (size_t)p->channels : 1;
    const vtac_type type = {.dtype = VTAC_F32, .rank = p->per_channel, .dim = {p->channels}};
    float *scales = vta_arena_array(&g->arena, count, sizeof *scales);
    if (scales == NULL) {
        return vta_no_memory(diag);
    }
    for (size_t c = 0; c < count; c++) {
        scales[c] = factor * p->scales[c];
    }
    const vtac_tensor tensor = {.type = type, .data = scales, .bytes = count * sizeof *scales};
    return vtac_add_constant(g, "", &tensor, &to->scale, diag);
}

static vta_status weight_zero(vtac_graph *g, const vtac_quant_product *p, vtac_quant_params *to,
                              vta_diag *diag)
{
    const size_t count = p->per_channel ? (size_t)p->channels : 1;
    const vtac_type type = {
        .dtype = p->bits == 4 ? VTAC_I4 : VTAC_I8, .rank = p->per_channel, .dim = {p->channels}};
    int8_t *zeros = vta_arena_array(&g->arena, count, 1);
    if (zeros == NULL) {
        return vta_no_memory(diag);
    }
    memset(zeros, 0, count);
    const vtac_tensor tensor = {.type = type, .data = zeros, .bytes = count};
    return vtac_add_constant(g, "", &tensor, &to->zero, diag);
}

static vta_status store_bias(vtac_graph *g, const vtac_quant_product *p, float x_scale, vta_diag *diag)
{
    vtac_tensor tensor = {
        .type = p->bias_type, .data = p->bias, .bytes = (size_t)p->channels * sizeof *p->bias};
    vtac_quant_params params = {.axis = p->bias_type.rank - 1, .per_axis = p->per_channel};
    vtac_value_id stored;
    vtac_value_id real;
    tensor.type.dtype = VTAC_I32;
    VTA_TRY(vtac_quant_add_constant(g, g->nodes[p->node].name, &tensor, &stored, diag));
    VTA_TRY(scale_operand(g, p, x_scale, &params, diag));
    VTA_TRY(vtac_quant_add_dequantize(g, p->node, stored, &params, &real, diag));
    return vtac_set_input(g, p->node, VTAC_PRODUCT_BIAS, real, diag);
}

/* The scales of blocks: that of the channel times the factor, which is exact (narrow.c). */
static vta_status block_operand(vtac_graph *g, const vtac_quant_product *p, vtac_quant_params *to,
                                vta_diag *diag)
{
    const int64_t blocks = vtac_quant_blocks(p);
    const size_t count = (size_t)(p->channels * blocks);
    vtac_type type = p->type;
    float *scales = vta_arena_array(&g->arena, count, sizeof *scales);
    if (scales == NULL) {
        return vta_no_memory(diag);
    }
    for (int64_t i = 0; i < p->channels * blocks; i++) {
        const int64_t to_place = p->axis == 0 ? i : i % blocks * p->channels + i / blocks;
        scales[to_place] = p->scales[i / blocks] * (float)p->factors[i];
    }
    type.dim[1 - p->axis] = blocks;
    const vtac_tensor tensor = {.type = type, .data = scales, .bytes = count * sizeof *scales};
    to->axis = 1 - p->axis;
    to->block = (uint32_t)p->block;
    return vtac_add_constant(g, "", &tensor, &to->scale, diag);
}

/* Numbers of 4 bits in place of their multiples. */
static void divide_by_factors(const vtac_quant_product *p)
{
    const int64_t terms = vtac_quant_terms(p);
    for (int64_t i = 0; p->factors != NULL && i < p->channels * terms; i++) {
        const vtac_quant_grid grid = vtac_quant_grid_of(p, i / terms, i % terms);
        int8_t *weight = &p->weights[vtac_quant_weight_place(p, i / terms, i % terms)];
        *weight = (int8_t)(*weight / grid.step);
    }
}

vta_status vtac_quant_store_product(const vtac_quant_plan *plan, const vtac_quant_product *p, float x_scale,
                                    vta_diag *diag)
{
    vtac_graph *g = plan->graph;
    const size_t count = (size_t)vtac_type_elements(&p->type);
    vtac_tensor tensor = {.type = p->type, .data = p->weights, .bytes = count};
    vtac_quant_params params = {.axis = p->axis, .per_axis = p->per_channel};
    vtac_value_id stored;
    vtac_value_id real;
    divide_by_factors(p);
    tensor.type.dtype = p->bits == 4 ? VTAC_I4 : VTAC_I8;
    VTA_TRY(vtac_quant_add_constant(g, p->name, &tensor, &stored, diag));
    VTA_TRY(p->factors != NULL ? block_operand(g, p, &params, diag)
                               : scale_operand(g, p, 1.0F, &params, diag));
    VTA_TRY(p->factors != NULL ? VTA_OK : weight_zero(g, p, &params, diag));
    VTA_TRY(vtac_quant_add_dequantize(g, p->node, stored, &params, &real, diag));
    VTA_TRY(vtac_set_input(g, p->node, VTAC_PRODUCT_WEIGHT, real, diag));
    return p->bias == NULL ? VTA_OK : store_bias(g, p, x_scale, diag);
}
