/* SPDX-License-Identifier: Apache-2.0
 *
 * Islands (vtac/island.h) with a constant for each channel, as BatchNormalization that nobody folded leaves
 * them. A table for each channel is nothing that an accelerator has; a weight and a bias for each are:
 *
 *     Q(Relu(Add(Mul(D(q), a), b)))    -> Clip(QLinearConv(q, w, bias))          one weight for each channel
 *     Q(PRelu(D(q), slopes))           -> QLinearAdd(Clip(QLinearConv(q)), Clip(QLinearConv(q)))
 *
 * The second form takes what is above zero and what is below it apart; one of the two is zero everywhere. A
 * channel with a negative slope is above zero on both sides: a third convolution has its left side.
 * Weights are found from the island's results (vtac_line_fit_of), and all 256 of each channel are compared.
 * Where one channel has no weight, the island stays.
 *
 * Channels that are the last axis are turned to the front, and back.
 */
#include "qdq.h"
#include "vta/fail.h"
#include "vtac/codegen.h"
#include "vtac/island.h"

enum { NUMBERS = 256 };

typedef struct lines {
    vtac_rewrite *r;
    vtac_node_id at;
    vtac_node like;
    vtac_qvalue x;
    vtac_qparams y;
    int64_t channels;
    bool last; /* they are the last axis; the convolution reads `source` */
    vtac_value_id source;
    const int32_t *results; /* of all channels */
    int32_t low, high;      /* the least and the greatest of them */
    int8_t *weights;
    float *scales;
    int32_t *bias;
} lines;

/* Reads the DequantizeLinear of the source and the QuantizeLinear of the result. */
static bool read_ends(const vtac_island *is, lines *l)
{
    const vtac_graph *g = l->r->graph;
    l->at = is->nodes[0];
    l->like = g->nodes[l->at];
    if (!vtac_read_quantize(l->r, &l->like, &l->y)) {
        return false;
    }
    for (uint32_t i = 0; i < is->count; i++) {
        const vtac_node *node = &g->nodes[is->nodes[i]];
        if (node->op == VTAC_OP_DEQUANTIZE_LINEAR && node->inputs[VTAC_QDQ_X] == is->source) {
            return vtac_read_activation(l->r, node->outputs[0], &l->x) && l->x.p.dtype == l->y.dtype;
        }
    }
    return false;
}

static vta_status make_lines(lines *l, const void *numbers, vta_arena *arena)
{
    const size_t count = (size_t)l->channels;
    int32_t *results = vta_arena_array(arena, count * NUMBERS, sizeof *results);
    l->weights = vta_arena_array(arena, count, sizeof *l->weights);
    l->scales = vta_arena_array(arena, count, sizeof *l->scales);
    l->bias = vta_arena_array(arena, count, sizeof *l->bias);
    if (results == NULL || l->weights == NULL || l->scales == NULL || l->bias == NULL) {
        return vta_no_memory(l->r->diag);
    }
    l->low = vtac_qhigh(l->y.dtype);
    l->high = vtac_qlow(l->y.dtype);
    for (size_t i = 0; i < count * NUMBERS; i++) {
        const size_t at = l->last ? i % NUMBERS * count + i / NUMBERS : i;
        results[i] = l->y.dtype == VTAC_U8 ? ((const uint8_t *)numbers)[at] : ((const int8_t *)numbers)[at];
        l->low = results[i] < l->low ? results[i] : l->low;
        l->high = results[i] > l->high ? results[i] : l->high;
    }
    l->results = results;
    return VTA_OK;
}

/* Weights and biases for the results, held in a range; false: a channel has none. */
static bool fit_lines(const lines *l, int32_t low, int32_t high)
{
    int32_t held[NUMBERS];
    const vtac_line line = {.results = held,
                            .first = vtac_qlow(l->x.p.dtype),
                            .low = low,
                            .high = high,
                            .x_scale = vtac_qscale(&l->x.p),
                            .y_scale = vtac_qscale(&l->y),
                            .x_zero = vtac_qzero(&l->x.p),
                            .y_zero = vtac_qzero(&l->y)};
    for (int64_t c = 0; c < l->channels; c++) {
        vtac_line_fit one;
        for (int i = 0; i < NUMBERS; i++) {
            const int32_t q = l->results[c * NUMBERS + i];
            held[i] = q < low ? low : q > high ? high : q;
        }
        if (!vtac_line_fit_of(&line, &one)) {
            return false;
        }
        l->weights[c] = (int8_t)one.weight;
        l->scales[c] = one.scale;
        l->bias[c] = one.bias;
    }
    return true;
}

/* Clip(q, low, high), where that is not all of the type. */
static vta_status emit_clamp(const lines *l, int32_t low, int32_t high, vtac_value_id *x)
{
    const vtac_type type = {.dtype = l->y.dtype};
    vtac_value_id inputs[VTAC_CLIP_INPUTS] = {*x};
    if (low == vtac_qlow(l->y.dtype) && high == vtac_qhigh(l->y.dtype)) {
        return VTA_OK;
    }
    /* The low byte of a bound comes first. */
    VTA_TRY(vtac_new_constant(l->r, NULL, &type, &low, &inputs[VTAC_CLIP_MIN]));
    VTA_TRY(vtac_new_constant(l->r, NULL, &type, &high, &inputs[VTAC_CLIP_MAX]));
    return vtac_new_simple(l->r, l->at, &l->like, VTAC_OP_CLIP, inputs, 3, x);
}

/* The convolution of the weights that were found. */
static vta_status emit_convolution(const lines *l, vtac_value_id y_zero, vtac_value_id *out)
{
    static const int8_t no_zero = 0;
    const vtac_type each = {.dtype = VTAC_F32, .rank = 1, .dim = {l->channels}};
    const vtac_type sums = {.dtype = VTAC_I32, .rank = 1, .dim = {l->channels}};
    const vtac_type zero = {.dtype = VTAC_I8};
    vtac_type filter = {.dtype = VTAC_I8, .rank = l->r->graph->values[l->source].type.rank};
    vtac_value_id inputs[VTAC_QLINEAR_CONV_INPUTS] = {l->source, l->x.p.scale, 0,      0, 0,
                                                      0,         l->y.scale,   y_zero, 0};
    for (uint32_t i = 0; i < filter.rank; i++) {
        filter.dim[i] = i == 0 ? l->channels : 1;
    }
    VTA_TRY(vtac_zero_operand(l->r, &l->x.p, &inputs[VTAC_QLINEAR_CONV_X_ZERO]));
    VTA_TRY(vtac_new_constant(l->r, NULL, &filter, l->weights, &inputs[VTAC_QLINEAR_CONV_WEIGHT]));
    VTA_TRY(vtac_new_constant(l->r, NULL, &each, l->scales, &inputs[VTAC_QLINEAR_CONV_WEIGHT_SCALE]));
    VTA_TRY(vtac_new_constant(l->r, NULL, &zero, &no_zero, &inputs[VTAC_QLINEAR_CONV_WEIGHT_ZERO]));
    VTA_TRY(vtac_new_constant(l->r, NULL, &sums, l->bias, &inputs[VTAC_QLINEAR_CONV_BIAS]));
    const vtac_attr group = {.name = "group", .kind = VTAC_ATTR_INT, .i = l->channels};
    const vtac_node_spec spec = {.op = VTAC_OP_QLINEAR_CONV,
                                 .inputs = inputs,
                                 .input_count = 9,
                                 .output_count = 1,
                                 .attrs = &group,
                                 .attr_count = 1};
    return vtac_new_node(l->r, l->at, &l->like, spec, out);
}

/* One convolution, and a clamp where there has to be one. */
static vta_status put_one(const lines *l, int32_t low, int32_t high, vtac_value_id y_zero, vtac_value_id *out)
{
    *out = 0;
    if (!fit_lines(l, low, high)) {
        return VTA_OK;
    }
    VTA_TRY(emit_convolution(l, y_zero, out));
    return emit_clamp(l, low, high, out);
}

/* ---- a sum of parts, of which all but one are zero for any number: sums of equal scales are exact */

typedef enum part { ABOVE, BELOW, AGAIN, PARTS } part;

/* The place of the least result of a channel whose results fall and then rise, as a negative slope makes
 * them; -1: they only rise or only fall. */
static int vertex_of(const int32_t *results)
{
    int at = 0;
    bool rises = false;
    bool falls = false;
    for (int i = 1; i < NUMBERS; i++) {
        rises = rises || results[i] > results[i - 1];
        falls = falls || results[i] < results[i - 1];
        at = results[i] < results[at] ? i : at;
    }
    return rises && falls ? at : -1;
}

/* A channel's results above or below zero; of one with a vertex ABOVE has the right side, AGAIN the left one.
 */
static void fill_channel(const int32_t *results, part which, int32_t zero, int32_t *out)
{
    const int vertex = vertex_of(results);
    for (int i = 0; i < NUMBERS; i++) {
        const bool own =
            vertex < 0 ? which == (results[i] > zero ? ABOVE : BELOW) : which == (i < vertex ? AGAIN : ABOVE);
        out[i] = own ? results[i] : zero;
    }
}

/* The convolution of one part, which is added to `sum` (0: there is none yet). False: a channel has no
 * weight. */
static vta_status add_part(const lines *l, part which, int32_t *room, vtac_value_id y_zero,
                           vtac_value_id *sum, bool *good)
{
    const int32_t zero = vtac_qzero(&l->y);
    lines own = *l;
    vtac_value_id one;
    bool any = false;
    for (int64_t i = 0; i < l->channels * NUMBERS; i++) {
        if (i % NUMBERS == 0) {
            fill_channel(l->results + i, which, zero, room + i);
        }
        any = any || room[i] != zero;
    }
    if (!any) {
        return VTA_OK;
    }
    own.results = room;
    VTA_TRY(put_one(&own, which == BELOW ? l->low : zero, which == BELOW ? zero : l->high, y_zero, &one));
    *good = one != 0;
    if (*sum == 0 || !*good) {
        *sum = one;
        return VTA_OK;
    }
    const vtac_value_id inputs[] = {*sum, l->y.scale, y_zero, one, l->y.scale, y_zero, l->y.scale, y_zero};
    return vtac_new_simple(l->r, l->at, &l->like, VTAC_OP_QLINEAR_ADD, inputs, 8, sum);
}

static vta_status put_parts(const lines *l, vta_arena *arena, vtac_value_id y_zero, vtac_value_id *out)
{
    int32_t *room = vta_arena_array(arena, (size_t)l->channels * NUMBERS, sizeof *room);
    bool good = room != NULL;
    *out = 0;
    for (part which = ABOVE; good && which < PARTS; which++) {
        VTA_TRY(add_part(l, which, room, y_zero, out, &good));
    }
    *out = good ? *out : 0;
    return room == NULL ? vta_no_memory(l->r->diag) : VTA_OK;
}

static vta_status reshape_value(const lines *l, const int64_t *dims, uint32_t rank, vtac_value_id *x)
{
    const vtac_type shape = {.dtype = VTAC_I64, .rank = 1, .dim = {rank}};
    vtac_value_id inputs[VTAC_RESHAPE_INPUTS] = {*x};
    VTA_TRY(vtac_new_constant(l->r, NULL, &shape, dims, &inputs[VTAC_RESHAPE_SHAPE]));
    return vtac_new_simple(l->r, l->at, &l->like, VTAC_OP_RESHAPE, inputs, 2, x);
}

/* The last two axes of three trade places. */
static vta_status transpose_value(const lines *l, vtac_value_id *x)
{
    static const int64_t perm[] = {0, 2, 1};
    return vtac_new_transpose(l->r, l->at, &l->like, perm, 3, *x, x);
}

/* Rows as an image. */
static vta_status transpose_source(lines *l)
{
    const int64_t elements = vtac_type_elements(&l->r->graph->values[l->x.q].type);
    l->source = l->x.q;
    if (!l->last) {
        return VTA_OK;
    }
    VTA_TRY(reshape_value(l, (int64_t[]){1, elements / l->channels, l->channels}, 3, &l->source));
    return transpose_value(l, &l->source);
}

static vta_status transpose_back(const lines *l, vtac_value_id *x)
{
    const vtac_type type = l->r->graph->values[l->x.q].type;
    if (!l->last || *x == 0) {
        return VTA_OK;
    }
    VTA_TRY(transpose_value(l, x));
    return reshape_value(l, type.dim, type.rank, x);
}

static vta_status replace_lines(lines *l, vta_arena *arena, bool *done)
{
    const vtac_value_id old = l->like.outputs[0];
    vtac_value_id y_zero;
    vtac_value_id new;
    VTA_TRY(transpose_source(l));
    VTA_TRY(vtac_zero_operand(l->r, &l->y, &y_zero));
    VTA_TRY(put_one(l, vtac_qlow(l->y.dtype), vtac_qhigh(l->y.dtype), y_zero, &new));
    if (new == 0) {
        VTA_TRY(put_one(l, l->low, l->high, y_zero, &new));
    }
    if (new == 0 && vtac_op_limits(VTAC_OP_QLINEAR_ADD) != NULL) {
        VTA_TRY(put_parts(l, arena, y_zero, &new));
    }
    VTA_TRY(transpose_back(l, &new));
    *done = new != 0 && vtac_can_replace(l->r->graph, old, new);
    if (*done) {
        vtac_replace(l->r, old, new);
    }
    return VTA_OK;
}

vta_status vtac_put_lines(vtac_rewrite *r, const vtac_island *island, int axis, const void *numbers,
                          bool *done)
{
    vta_arena arena = {0};
    const vtac_type *type = &r->graph->values[island->source].type;
    lines l = {.r = r, .channels = type->dim[axis < 0 ? type->rank - 1 : 1], .last = axis < 0};
    *done = false;
    if (vtac_op_limits(VTAC_OP_QLINEAR_CONV) == NULL || !read_ends(island, &l)) {
        return VTA_OK;
    }
    vta_status status = VTA_OK;
    VTA_TRY_OUT(make_lines(&l, numbers, &arena));
    VTA_TRY_OUT(replace_lines(&l, &arena, done));
out:
    vta_arena_free(&arena);
    return status;
}
