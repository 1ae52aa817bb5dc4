/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators of integers as ONNX has them: DequantizeLinear before, the operator of floats, QuantizeLinear
 * behind. Tables become Gather, fixed-point factors a product in double. What a rounding is called here, and
 * what ONNX makes of it, is told.
 */
#include "vtac/convert.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../import/maker.h"
#include "../pass/rewrite.h"
#include "vtac/quant.h"

/* ---- what is told */

enum { MAX_LOSSES = 24 };

typedef struct loss {
    const char *op, *rounding, *first;
    uint32_t count;
} loss;

typedef struct converter {
    vtac_import_builder maker;
    const vtac_convert_options *options;
    const vtac_node *node; /* the one at hand: a copy */
    loss losses[MAX_LOSSES];
    uint32_t loss_count;
} converter;

static void note_rounding(converter *c, const char *rounding)
{
    const char *op = vtac_op_get(c->node->op)->name;
    for (uint32_t i = 0; i < c->loss_count; i++) {
        if (strcmp(c->losses[i].op, op) == 0 && strcmp(c->losses[i].rounding, rounding) == 0) {
            c->losses[i].count++;
            return;
        }
    }
    if (c->loss_count < MAX_LOSSES) {
        c->losses[c->loss_count++] = (loss){op, rounding, c->node->name, 1};
    }
}

static const char *meaning_of(const char *rounding)
{
    vtac_rounding known;
    if (!vtac_rounding_parse(rounding, &known)) {
        return "a rounding that has no name";
    }
    switch (known) {
    case VTAC_ROUND_UP: return "rounds twice, halves up";
    case VTAC_ROUND_AWAY: return "rounds twice, halves away from zero";
    case VTAC_ROUND_ONCE: return "rounds once, halves up, by a multiplier of 16 bits";
    case VTAC_ROUND_EVEN: break;
    }
    return "rounds once, halves to even, by a fixed-point factor";
}

static void report_roundings(const converter *c)
{
    for (uint32_t i = 0; i < c->loss_count && c->options->note != NULL; i++) {
        char text[600];
        const loss *l = &c->losses[i];
        (void)snprintf(text, sizeof text,
                       "%u %s (first '%.200s') %s; ONNX rounds once, halves to even: results may be one off",
                       l->count, l->op, l->first == NULL ? "" : l->first, meaning_of(l->rounding));
        c->options->note(c->options->context, text);
    }
}

/* ---- the pieces */

static vtac_id input_value(const converter *c, uint32_t i)
{
    return i < c->node->input_count ? c->node->inputs[i] : 0;
}

/* Input i as floats, its scale and zero point behind it; `axis`: of one scale each. */
static vtac_id real_of(converter *c, uint32_t i, int64_t axis)
{
    vtac_import_builder *m = &c->maker;
    const vtac_attr attr = vtac_attr_of_int("axis", axis);
    const vtac_type scale = vtac_made_type(m, input_value(c, i + 1));
    const bool each = scale.rank == 1 && scale.dim[0] > 1;
    vtac_id zero = input_value(c, i + 2);
    if (each && zero != 0 && vtac_made_elements(m, zero) == 1) {
        const vtac_tensor *known = vtac_made_constant(m, zero);
        const vtac_type type = {vtac_made_type(m, zero).dtype, 1, {scale.dim[0]}};
        uint8_t *all = vtac_make_room(m, scale.dim[0], vtac_dtype_bytes(type.dtype));
        if (known == NULL || all == NULL) {
            vtac_make_fail(m, VTA_UNSUPPORTED, "its zero point is not known");
            return 0;
        }
        memset(all, *(const uint8_t *)known->data, (size_t)scale.dim[0]);
        zero = vtac_make_borrowed(m, &type, all);
    }
    const vtac_id inputs[] = {input_value(c, i), input_value(c, i + 1), zero};
    return vtac_make(m, VTAC_OP_DEQUANTIZE_LINEAR, inputs, zero == 0 ? 2 : 3, each ? &attr : NULL, each);
}

static vtac_id quantized_value(converter *c, vtac_id x, uint32_t scale)
{
    const vtac_id inputs[] = {x, input_value(c, scale), input_value(c, scale + 1)};
    return vtac_make(&c->maker, VTAC_OP_QUANTIZE_LINEAR, inputs, input_value(c, scale + 1) == 0 ? 2 : 3, NULL,
                     0);
}

/* An int32 bias has the product of two scales. */
static vtac_id real_bias(converter *c, uint32_t i, uint32_t x_scale, uint32_t w_scale)
{
    vtac_import_builder *m = &c->maker;
    const vtac_attr attr = vtac_attr_of_int("axis", 0);
    if (input_value(c, i) == 0) {
        return 0;
    }
    const vtac_id scale = vtac_make2(m, VTAC_OP_MUL, input_value(c, x_scale), input_value(c, w_scale));
    const vtac_type type = vtac_made_type(m, scale);
    const bool each = type.rank == 1 && type.dim[0] > 1;
    const vtac_id one = type.rank == 1 && type.dim[0] == 1 ? vtac_make_reshape(m, scale, NULL, 0) : scale;
    const vtac_id inputs[] = {input_value(c, i), each ? scale : one};
    return vtac_make(m, VTAC_OP_DEQUANTIZE_LINEAR, inputs, 2, each ? &attr : NULL, each);
}

/* An attribute that says what is so without it, and that old opsets do not have. */
static bool says_nothing(const vtac_attr *attr)
{
    bool ones = strcmp(attr->name, "dilations") == 0 && attr->kind == VTAC_ATTR_INTS;
    for (size_t i = 0; ones && i < attr->count; i++) {
        ones = attr->ints[i] == 1;
    }
    return ones;
}

/* Converts a node with the same attributes, without the compiler's own. */
static vtac_id convert_plain(converter *c, vtac_op op, const vtac_id *inputs, uint32_t count)
{
    vtac_attr attrs[24];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->node->attr_count; i++) {
        const char *name = c->node->attrs[i].name;
        if (strcmp(name, "rounding") == 0) {
            note_rounding(c, c->node->attrs[i].s);
        } else if (strcmp(name, "in_order") != 0 && strcmp(name, "channels_last") != 0 &&
                   !says_nothing(&c->node->attrs[i]) && kept < sizeof attrs / sizeof attrs[0]) {
            attrs[kept++] = c->node->attrs[i];
        }
    }
    return vtac_make(&c->maker, op, inputs, count, attrs, kept);
}

/* ---- operators */

static vtac_id convert_convolution(converter *c)
{
    const vtac_id inputs[] = {
        real_of(c, VTAC_QLINEAR_CONV_X, 1), real_of(c, VTAC_QLINEAR_CONV_WEIGHT, 0),
        real_bias(c, VTAC_QLINEAR_CONV_BIAS, VTAC_QLINEAR_CONV_X_SCALE, VTAC_QLINEAR_CONV_WEIGHT_SCALE)};
    return quantized_value(c, convert_plain(c, VTAC_OP_CONV, inputs, inputs[VTAC_CONV_BIAS] == 0 ? 2 : 3),
                           VTAC_QLINEAR_CONV_Y_SCALE);
}

static vtac_id convert_matrix(converter *c)
{
    const vtac_id inputs[] = {real_of(c, VTAC_QLINEAR_PAIR_A, 1), real_of(c, VTAC_QLINEAR_PAIR_B, 1)};
    return quantized_value(c, convert_plain(c, VTAC_OP_MATMUL, inputs, 2), VTAC_QLINEAR_PAIR_Y_SCALE);
}

static vtac_id convert_dense(converter *c)
{
    const int64_t axis = vtac_attr_int(c->node, "transB", 0) != 0 ? 0 : 1;
    const vtac_id inputs[] = {real_of(c, VTAC_QGEMM_A, 1), real_of(c, VTAC_QGEMM_B, axis),
                              real_bias(c, VTAC_QGEMM_C, VTAC_QGEMM_A_SCALE, VTAC_QGEMM_B_SCALE)};
    const vtac_id y = convert_plain(c, VTAC_OP_GEMM, inputs, inputs[VTAC_GEMM_C] == 0 ? 2 : 3);
    return input_value(c, VTAC_QGEMM_Y_SCALE) == 0 ? y : quantized_value(c, y, VTAC_QGEMM_Y_SCALE);
}

static vtac_id convert_pair(converter *c)
{
    const vtac_id inputs[] = {real_of(c, VTAC_QLINEAR_PAIR_A, 1), real_of(c, VTAC_QLINEAR_PAIR_B, 1)};
    return quantized_value(
        c, convert_plain(c, c->node->op == VTAC_OP_QLINEAR_ADD ? VTAC_OP_ADD : VTAC_OP_MUL, inputs, 2), 6);
}

static vtac_id convert_pool(converter *c)
{
    const bool global = c->node->op == VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL;
    const vtac_id x = real_of(c, 0, 1);
    if (vtac_attr_int(c->node, "channels_last", 0) != 0) {
        return 0; /* a model's own operator: it stays */
    }
    return quantized_value(
        c, convert_plain(c, global ? VTAC_OP_GLOBAL_AVERAGE_POOL : VTAC_OP_AVERAGE_POOL, &x, 1), 3);
}

/* Operands of their own scales, joined. */
static vtac_id convert_join(converter *c)
{
    enum { MAX = 64, FIRST = 2, EACH = 3 };
    vtac_id inputs[MAX];
    const uint32_t count = (c->node->input_count - FIRST) / EACH;
    if (count > MAX) {
        return 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        inputs[i] = real_of(c, FIRST + EACH * i, 1);
    }
    return quantized_value(c, convert_plain(c, VTAC_OP_CONCAT, inputs, count), 0);
}

/* table[x - first] */
static vtac_id convert_table(converter *c)
{
    vtac_import_builder *m = &c->maker;
    const double first = (double)vtac_attr_int(c->node, "first", 0);
    vtac_id at = vtac_make_cast(m, input_value(c, 0), VTAC_I64);
    if (first != 0.0) {
        at = vtac_make2(m, VTAC_OP_SUB, at, vtac_make_number(m, VTAC_I64, first));
    }
    return vtac_make2(m, VTAC_OP_GATHER, input_value(c, 1), at);
}

/* round(x * mult * 2^(shift - 31)) */
static vtac_id convert_factor(converter *c)
{
    vtac_import_builder *m = &c->maker;
    const vtac_tensor *mult = vtac_made_constant(m, input_value(c, 1));
    const vtac_tensor *shift = vtac_made_constant(m, input_value(c, 2));
    const vtac_type x = vtac_made_type(m, input_value(c, 0));
    const int64_t axis = vtac_attr_int(c->node, "axis", 1);
    if (mult == NULL || shift == NULL) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "its factors are not known");
        return 0;
    }
    const int64_t count = vtac_type_elements(&mult->type);
    double *factors = vtac_make_room(m, count, sizeof *factors);
    for (int64_t i = 0; factors != NULL && i < count; i++) {
        factors[i] = ldexp((double)vtac_tensor_int(mult, i), (int)vtac_tensor_int(shift, i) - 31);
    }
    vtac_type type = {VTAC_F64, 0, {0}};
    if (count > 1) {
        type.rank = x.rank - (uint32_t)axis;
        for (uint32_t i = 0; i < type.rank; i++) {
            type.dim[i] = i == 0 ? count : 1;
        }
    }
    note_rounding(c, vtac_attr_string(c->node, "rounding", ""));
    if (factors == NULL) {
        return 0;
    }
    const vtac_id y = vtac_make2(m, VTAC_OP_MUL, vtac_make_cast(m, input_value(c, 0), VTAC_F64),
                                 vtac_make_borrowed(m, &type, factors));
    return vtac_make_cast(m, vtac_make1(m, VTAC_OP_ROUND, y), VTAC_I32);
}

static const struct {
    vtac_op op;
    vtac_id (*convert)(converter *c);
    bool product; /* stays where products are kept */
} rules[] = {
    {VTAC_OP_QLINEAR_CONV, convert_convolution, true},
    {VTAC_OP_QLINEAR_MATMUL, convert_matrix, true},
    {VTAC_OP_QGEMM, convert_dense, true},
    {VTAC_OP_QLINEAR_ADD, convert_pair, true},
    {VTAC_OP_QLINEAR_MUL, convert_pair, true},
    {VTAC_OP_QLINEAR_AVERAGE_POOL, convert_pool, false},
    {VTAC_OP_QLINEAR_CONCAT, convert_join, false},
    {VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL, convert_pool, false},
    {VTAC_OP_LOOK_UP, convert_table, false},
    {VTAC_OP_RESCALE, convert_factor, false},
};

/* ONNX clips the gates' sums, and never the cell. */
static void drop_cell_clip(converter *c, vtac_node *node)
{
    char text[300];
    vtac_attr *kept = vtac_make_room(&c->maker, (int64_t)node->attr_count, sizeof *kept);
    uint32_t count = 0;
    for (uint32_t i = 0; kept != NULL && i < node->attr_count; i++) {
        if (strcmp(node->attrs[i].name, "cell_clip") != 0) {
            kept[count++] = node->attrs[i];
        } else if (c->options->note != NULL) {
            (void)snprintf(text, sizeof text,
                           "'%.150s' keeps its cell within %g; ONNX's LSTM has no such limit", node->name,
                           node->attrs[i].f);
            c->options->note(c->options->context, text);
        }
    }
    if (kept != NULL) {
        node->attrs = kept;
        node->attr_count = count;
    }
}

static vta_status convert_node(converter *c, vtac_node_id id)
{
    vtac_import_builder *m = &c->maker;
    if (m->graph->nodes[id].op == VTAC_OP_LSTM) {
        drop_cell_clip(c, &m->graph->nodes[id]);
    }
    const vtac_node node = m->graph->nodes[id]; /* stays where it is while nodes are added */
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].op != node.op || (rules[i].product && c->options->keep_products)) {
            continue;
        }
        c->node = &node;
        m->name = node.name;
        m->origin = node.origin;
        const vtac_id y = rules[i].convert(c);
        if (m->status != VTA_OK) {
            return vta_context(m->diag, "node '%s' (%s)", node.name, vtac_op_get(node.op)->name);
        }
        vtac_rewrite r = {.graph = m->graph, .diag = m->diag};
        if (y != 0) {
            vtac_replace(&r, node.outputs[0], y);
        }
    }
    return VTA_OK;
}

vta_status vtac_convert_graph(vtac_graph *graph, const vtac_convert_options *options, vta_diag *diag)
{
    converter c = {.maker = {.graph = graph, .diag = diag, .name = "", .budget = VTAC_BUILDER_NODES},
                   .options = options};
    const uint32_t count = graph->order_count;
    vtac_node_id *order = vtac_make_room(&c.maker, count, sizeof *order);
    if (order == NULL) {
        return c.maker.status != VTA_OK ? c.maker.status : VTA_OK;
    }
    memcpy(order, graph->order, count * sizeof *order);
    for (uint32_t i = 0; i < count; i++) {
        VTA_TRY(convert_node(&c, order[i]));
    }
    VTA_TRY(vtac_graph_sort(graph, diag));
    (void)vtac_remove_dead(graph);
    report_roundings(&c);
    return VTA_OK;
}
