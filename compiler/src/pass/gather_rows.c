/* SPDX-License-Identifier: Apache-2.0
 *
 * gather-rows: normalizations and softmax that an exporter wrote in their parts become one operator.
 *
 *     Div(c, Sqrt(ReduceMean(c * c) + epsilon)) * gain + bias,  c = x - ReduceMean(x)   -> LayerNormalization
 *     the same with c = x                                                               -> RMSNormalization
 *     x divided by its length, the root of the sum of its squares                      -> RMSNormalization
 *     the first over all axes behind the channels                             -> InstanceNormalization
 *     Reshape(InstanceNormalization(Reshape(x))) * gain + bias                -> GroupNormalization
 *     Div(x, Pow(AveragePool(Pad(x * x)) * alpha + k, beta)) over channels    -> LRN
 *     Div(e, ReduceSum(e)),  e = Exp(x - ReduceMax(x))                                  -> Softmax
 *     attention without a softmax: see gather_linear.c; that of one score a token: gather_separable.c
 *
 * The square may be Mul or Pow, the root Sqrt or Pow, the division Div, or Mul by Reciprocal, by Div or by
 * Pow; the mean is over the last axis, or over those of planes. Casts that change nothing, and Identity, may
 * stand anywhere.
 *
 * Requires   float32, and gains and biases that are known.
 * Cost       linear in the nodes.
 */
#include <math.h>
#include <string.h>

#include "rewrite.h"
#include "vta/fail.h"
#include "vtac/pass.h"

/* The value behind operators that change nothing. */
vtac_value_id vtac_origin_of(const vtac_rewrite *r, vtac_value_id value)
{
    const vtac_node *node = vtac_producer(r, value);
    while (node != NULL && (node->op == VTAC_OP_IDENTITY || node->op == VTAC_OP_CAST) &&
           r->graph->values[node->inputs[0]].type.dtype == r->graph->values[value].type.dtype) {
        value = node->inputs[0];
        node = vtac_producer(r, value);
    }
    return value;
}

/* The operator that makes a value; NULL: it is not this one. */
const vtac_node *vtac_maker_of(const vtac_rewrite *r, vtac_value_id value, vtac_op op)
{
    const vtac_node *node = vtac_producer(r, vtac_origin_of(r, value));
    return node != NULL && node->op == op ? node : NULL;
}

static bool is_number(const vtac_rewrite *r, vtac_value_id value, double number)
{
    double is;
    return vtac_scalar_of(r->graph, vtac_origin_of(r, value), &is) && is == number;
}

/* True if axes are the last one, that of the channels in front of others, or each one behind the channels. */
static bool are_axes(const vtac_tensor *axes, int64_t rank, vtac_mean_of how)
{
    const int64_t first = how == VTAC_OF_ROWS ? rank - 1 : how == VTAC_OF_CHANNELS ? 1 : 2;
    const int64_t end = how == VTAC_OF_CHANNELS ? 2 : rank, count = vtac_type_elements(&axes->type);
    uint32_t found = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t axis = vtac_tensor_int(axes, i);
        const int64_t at = axis < 0 ? axis + rank : axis;
        found |= at >= first && at < end ? 1U << at : 0;
    }
    return first < rank && (how != VTAC_OF_CHANNELS || end < rank) && count == end - first &&
           found == (1U << end) - (1U << first);
}

/* The operand of a reduction over these axes, which stay; 0: it is none, or the order of its sum is given. */
vtac_value_id vtac_reduced_by(const vtac_rewrite *r, vtac_value_id value, vtac_op op, vtac_mean_of how)
{
    const vtac_node *node = vtac_maker_of(r, value, op);
    const vtac_tensor *axes = node == NULL ? NULL : vtac_in_constant(r->graph, node, VTAC_REDUCE_AXES);
    if (axes == NULL || vtac_attr_int(node, "in_order", 0) != 0 || vtac_attr_int(node, "keepdims", 1) == 0) {
        return 0;
    }
    const int64_t rank = vtac_in_type(r->graph, node, VTAC_REDUCE_X)->rank;
    return are_axes(axes, rank, how) ? vtac_origin_of(r, node->inputs[VTAC_REDUCE_X]) : 0;
}

/* The number whose square a value is. */
static vtac_value_id squared_by(const vtac_rewrite *r, vtac_value_id value)
{
    const vtac_node *mul = vtac_maker_of(r, value, VTAC_OP_MUL);
    const vtac_node *pow = vtac_maker_of(r, value, VTAC_OP_POW);
    if (mul != NULL &&
        vtac_origin_of(r, mul->inputs[VTAC_BINARY_A]) == vtac_origin_of(r, mul->inputs[VTAC_BINARY_B])) {
        return vtac_origin_of(r, mul->inputs[VTAC_BINARY_A]);
    }
    return pow != NULL && is_number(r, pow->inputs[VTAC_POW_EXPONENT], 2.0)
               ? vtac_origin_of(r, pow->inputs[VTAC_POW_X])
               : 0;
}

/* Number that a mean is taken from: x of x - mean(x); 0: the value is no such difference. */
static vtac_value_id centred_by(const vtac_rewrite *r, vtac_value_id value, vtac_mean_of how)
{
    const vtac_node *sub = vtac_maker_of(r, value, VTAC_OP_SUB);
    const vtac_value_id x = sub == NULL ? 0 : vtac_origin_of(r, sub->inputs[VTAC_BINARY_A]);
    return x != 0 && vtac_reduced_by(r, sub->inputs[VTAC_BINARY_B], VTAC_OP_REDUCE_MEAN, how) == x ? x : 0;
}

/* A sum with one number, either way round. */
vtac_value_id vtac_without_number(const vtac_rewrite *r, vtac_value_id value, double *number)
{
    const vtac_node *add = vtac_maker_of(r, value, VTAC_OP_ADD);
    for (uint32_t i = 0; add != NULL && i < 2; i++) {
        if (vtac_scalar_of(r->graph, vtac_origin_of(r, add->inputs[i]), number)) {
            return add->inputs[1 - i];
        }
    }
    *number = 0.0;
    return value;
}

/* The operand of a root, by Sqrt or by Pow with this exponent. */
static vtac_value_id rooted_by(const vtac_rewrite *r, vtac_value_id value, double exponent)
{
    const vtac_node *sqrt = vtac_maker_of(r, value, VTAC_OP_SQRT);
    const vtac_node *pow = vtac_maker_of(r, value, VTAC_OP_POW);
    if (sqrt != NULL && exponent > 0.0) {
        return sqrt->inputs[0];
    }
    return pow != NULL && is_number(r, pow->inputs[VTAC_POW_EXPONENT], exponent) ? pow->inputs[VTAC_POW_X]
                                                                                 : 0;
}

/* The number under the root that a value is the reciprocal of. */
static vtac_value_id inverse_rooted_by(const vtac_rewrite *r, vtac_value_id value)
{
    const vtac_node *reciprocal = vtac_maker_of(r, value, VTAC_OP_RECIPROCAL);
    const vtac_node *div = vtac_maker_of(r, value, VTAC_OP_DIV);
    if (reciprocal != NULL) {
        return rooted_by(r, reciprocal->inputs[0], 0.5);
    }
    if (div != NULL && is_number(r, div->inputs[VTAC_BINARY_A], 1.0)) {
        return rooted_by(r, div->inputs[VTAC_BINARY_B], 0.5);
    }
    return rooted_by(r, value, -0.5);
}

typedef struct gathered_norm {
    vtac_value_id x, gain, bias; /* gain, bias 0: none */
    vtac_mean_of how;
    bool centred;
    double epsilon;
    float plain;       /* the gain where there is none */
    vtac_node_id last; /* the node whose result is that of all */
} gathered_norm;

/* The variance that stands under the root, of the number that is divided. */
static bool read_variance(const vtac_rewrite *r, vtac_value_id under, vtac_value_id divided, gathered_norm *n)
{
    const vtac_value_id mean = under == 0 ? 0 : vtac_without_number(r, under, &n->epsilon);
    const vtac_value_id square = mean == 0 ? 0 : vtac_reduced_by(r, mean, VTAC_OP_REDUCE_MEAN, n->how);
    const vtac_value_id c = square == 0 ? 0 : squared_by(r, square);
    const vtac_value_id of = c == 0 ? 0 : centred_by(r, c, n->how);
    divided = vtac_origin_of(r, divided);
    n->centred = of != 0 && of == centred_by(r, divided, n->how);
    n->x = n->centred ? of : divided;
    return c != 0 && (n->centred || c == divided) && n->epsilon >= 0.0;
}

/* c / root, or c * (1 / root). */
static bool read_quotient(const vtac_rewrite *r, const vtac_node *node, gathered_norm *n)
{
    if (node->op == VTAC_OP_DIV) {
        return read_variance(r, rooted_by(r, node->inputs[VTAC_BINARY_B], 0.5), node->inputs[VTAC_BINARY_A],
                             n);
    }
    for (uint32_t i = 0; node->op == VTAC_OP_MUL && i < 2; i++) {
        if (read_variance(r, inverse_rooted_by(r, node->inputs[i]), node->inputs[1 - i], n)) {
            return true;
        }
    }
    return false;
}

/* The known operand of what alone reads the result so far: one number for each column, or one for all; 0: it
 * has none. */
static vtac_value_id next_columns(const vtac_rewrite *r, vtac_op op, gathered_norm *n)
{
    vtac_value_id y = r->graph->nodes[n->last].outputs[0];
    const vtac_type *x = &r->graph->values[n->x].type;
    const vtac_node *user = vtac_only_user(r, y);
    while (user != NULL && (user->op == VTAC_OP_IDENTITY || user->op == VTAC_OP_CAST) &&
           vtac_origin_of(r, user->outputs[0]) == vtac_origin_of(r, y)) {
        y = user->outputs[0];
        user = vtac_only_user(r, y);
    }
    if (user == NULL || user->op != op || vtac_is_output(r->graph, y)) {
        return 0;
    }
    const vtac_value_id other = user->inputs[user->inputs[0] == y ? 1 : 0];
    const vtac_tensor *known = r->graph->values[vtac_origin_of(r, other)].constant;
    const uint32_t behind = n->how == VTAC_OF_ROWS ? 1 : x->rank - 1; /* axes from that of the numbers on */
    const int64_t columns = x->dim[x->rank - behind];
    const bool fits = known != NULL && known->type.rank <= x->rank &&
                      (known->type.rank == 0 || (known->type.rank >= behind &&
                                                 known->type.dim[known->type.rank - behind] == columns)) &&
                      vtac_type_elements(&known->type) == (known->type.rank == 0 ? 1 : columns);
    n->last = fits ? vtac_node_id_of(r, user) : n->last;
    return fits ? vtac_origin_of(r, other) : 0;
}

/* The columns as a constant of one axis; value 0: as many numbers `otherwise`. */
static vta_status columns_of(vtac_rewrite *r, vtac_value_id value, int64_t count, float otherwise,
                             vtac_value_id *out)
{
    const vtac_type type = {.dtype = VTAC_F32, .rank = 1, .dim = {count}};
    float *columns = vta_arena_array(&r->graph->arena, (size_t)count + 1, sizeof *columns);
    const vtac_tensor *known = value == 0 ? NULL : r->graph->values[value].constant;
    if (columns == NULL) {
        return vta_no_memory(r->diag);
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = known != NULL && vtac_type_elements(&known->type) == 1 ? 0 : i;
        columns[i] = known == NULL ? otherwise : (float)vtac_tensor_float(known, at);
    }
    return vtac_new_constant(r, NULL, &type, columns, out);
}

/* Moves the channels behind all other axes, or back. */
static vta_status move_channels(vtac_rewrite *r, const gathered_norm *n, bool back, vtac_value_id *value)
{
    const uint32_t rank = r->graph->values[n->x].type.rank;
    int64_t perm[VTAC_MAX_RANK] = {0};
    for (uint32_t d = 1; d < rank; d++) {
        perm[d] = back ? (d == 1 ? rank - 1 : d - 1) : (d == rank - 1 ? 1 : d + 1);
    }
    const vtac_node like = r->graph->nodes[n->last];
    const vtac_attr attr = {.name = "perm", .kind = VTAC_ATTR_INTS, .count = rank, .ints = perm};
    const vtac_node_spec spec = {.op = VTAC_OP_TRANSPOSE,
                                 .inputs = value,
                                 .input_count = 1,
                                 .output_count = 1,
                                 .attrs = &attr,
                                 .attr_count = 1};
    return vtac_new_node(r, n->last, &like, spec, value);
}

/* The operator of all; InstanceNormalization has no axis, and always a bias. */
static vta_status put_norm(vtac_rewrite *r, const gathered_norm *n)
{
    const bool planes = n->how == VTAC_OF_PLANES, channels = n->how == VTAC_OF_CHANNELS;
    const vtac_node last = r->graph->nodes[n->last];
    const vtac_type *x = &r->graph->values[n->x].type;
    const int64_t columns = x->dim[planes || channels ? 1 : x->rank - 1];
    const vtac_attr attrs[] = {{.name = "epsilon", .kind = VTAC_ATTR_FLOAT, .f = n->epsilon},
                               {.name = "axis", .kind = VTAC_ATTR_INT, .i = -1}};
    vtac_value_id inputs[VTAC_NORM_INPUTS] = {n->x};
    vtac_value_id y;
    VTA_TRY(channels ? move_channels(r, n, false, &inputs[VTAC_NORM_X]) : VTA_OK);
    VTA_TRY(columns_of(r, n->gain, columns, n->plain, &inputs[VTAC_NORM_SCALE]));
    VTA_TRY(n->bias == 0 && !planes ? VTA_OK
                                    : columns_of(r, n->bias, columns, 0.0F, &inputs[VTAC_NORM_BIAS]));
    const vtac_node_spec spec = {.op = planes       ? VTAC_OP_INSTANCE_NORMALIZATION
                                       : n->centred ? VTAC_OP_LAYER_NORMALIZATION
                                                    : VTAC_OP_RMS_NORMALIZATION,
                                 .inputs = inputs,
                                 .input_count = inputs[VTAC_NORM_BIAS] == 0 ? 2 : 3,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = planes ? 1 : 2};
    VTA_TRY(vtac_new_node(r, n->last, &last, spec, &y));
    VTA_TRY(channels ? move_channels(r, n, true, &y) : VTA_OK);
    vtac_replace(r, last.outputs[0], y);
    vtac_remove_node(r->graph, n->last);
    return VTA_OK;
}

static vta_status gather_norm_of(vtac_rewrite *r, vtac_node_id id, vtac_mean_of how, bool *changed)
{
    const vtac_node node = r->graph->nodes[id];
    gathered_norm n = {.last = id, .how = how, .plain = 1.0F};
    const vtac_type *y = &r->graph->values[node.outputs[0]].type;
    if (y->dtype != VTAC_F32 || y->rank == 0 || vtac_type_elements(y) <= 0 || !read_quotient(r, &node, &n) ||
        !vtac_type_equal(&r->graph->values[n.x].type, y) || (how != VTAC_OF_ROWS && !n.centred)) {
        return VTA_OK;
    }
    n.gain = next_columns(r, VTAC_OP_MUL, &n);
    n.bias = n.centred ? next_columns(r, VTAC_OP_ADD, &n) : 0;
    *changed = true;
    return put_norm(r, &n);
}

/* ---- rows that are divided by their length */

/* The largest floor of a length that is there to avoid a division by 0, and not to shorten rows. */
static const double no_length = 1e-6;

/* The value without its floor, which Clip, Max or Add make; a floor of 0: it has none. */
static vtac_value_id without_floor(const vtac_rewrite *r, vtac_value_id value, double *floor)
{
    const vtac_node *clip = vtac_maker_of(r, value, VTAC_OP_CLIP),
                    *max = vtac_maker_of(r, value, VTAC_OP_MAX);
    if (clip != NULL && clip->input_count > VTAC_CLIP_MIN && clip->inputs[VTAC_CLIP_MIN] != 0 &&
        (clip->input_count <= VTAC_CLIP_MAX || clip->inputs[VTAC_CLIP_MAX] == 0) &&
        vtac_scalar_of(r->graph, vtac_origin_of(r, clip->inputs[VTAC_CLIP_MIN]), floor)) {
        return clip->inputs[VTAC_CLIP_X];
    }
    for (uint32_t i = 0; max != NULL && max->input_count == 2 && i < 2; i++) {
        if (vtac_scalar_of(r->graph, vtac_origin_of(r, max->inputs[i]), floor)) {
            return max->inputs[1 - i];
        }
    }
    return vtac_without_number(r, value, floor);
}

/* The rows whose sum of squares a value is; 0: none. */
static vtac_value_id summed_squares(const vtac_rewrite *r, vtac_value_id value)
{
    const vtac_value_id x = vtac_reduced_by(r, value, VTAC_OP_REDUCE_SUM_SQUARE, VTAC_OF_ROWS);
    const vtac_value_id squares = x != 0 ? 0 : vtac_reduced_by(r, value, VTAC_OP_REDUCE_SUM, VTAC_OF_ROWS);
    return x != 0 ? x : squares == 0 ? 0 : squared_by(r, squares);
}

/* The rows whose length a value is, with a floor of the length that counts as none. */
static vtac_value_id length_of(const vtac_rewrite *r, vtac_value_id value, double *floor)
{
    double inner = 0.0;
    value = without_floor(r, value, floor);
    const vtac_value_id x = vtac_reduced_by(r, value, VTAC_OP_REDUCE_L2, VTAC_OF_ROWS);
    const vtac_value_id under = x != 0 ? 0 : rooted_by(r, value, 0.5);
    const vtac_value_id y = under == 0 ? x : summed_squares(r, without_floor(r, under, &inner));
    *floor = *floor > 0.0 || inner < 0.0 ? *floor : sqrt(inner);
    return inner > no_length * no_length ? 0 : y;
}

/* x divided by its length, or times the reciprocal of it: the mean of the squares is their sum divided by the
 * number of columns. */
static vta_status gather_length(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node node = r->graph->nodes[id];
    const vtac_type *y = &r->graph->values[node.outputs[0]].type;
    gathered_norm n = {.last = id, .how = VTAC_OF_ROWS};
    double floor = 0.0;
    for (uint32_t i = 0; n.x == 0 && i < 2; i++) {
        const vtac_value_id x = vtac_origin_of(r, node.inputs[1 - i]);
        vtac_value_id length = node.inputs[i];
        if (node.op == VTAC_OP_MUL) {
            const vtac_node *reciprocal = vtac_maker_of(r, length, VTAC_OP_RECIPROCAL);
            length = reciprocal == NULL ? 0 : reciprocal->inputs[0];
        } else if (i == 0) {
            continue; /* the numerator */
        }
        const vtac_node *expand = length == 0 ? NULL : vtac_maker_of(r, length, VTAC_OP_EXPAND);
        length = expand != NULL ? expand->inputs[0] : length;
        n.x = length != 0 && length_of(r, length, &floor) == x ? x : 0;
    }
    if (n.x == 0 || y->dtype != VTAC_F32 || vtac_type_elements(y) <= 0 || floor < 0.0 || floor > no_length ||
        !vtac_type_equal(&r->graph->values[n.x].type, y)) {
        return VTA_OK;
    }
    const double columns = (double)y->dim[y->rank - 1];
    n.plain = (float)(1.0 / sqrt(columns));
    n.epsilon = floor * floor / columns;
    *changed = true;
    return put_norm(r, &n);
}

static vta_status gather_norm(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    VTA_TRY(gather_norm_of(r, id, VTAC_OF_ROWS, changed));
    if (!*changed && !r->graph->nodes[id].dead) {
        VTA_TRY(gather_norm_of(r, id, VTAC_OF_PLANES, changed));
    }
    return *changed || r->graph->nodes[id].dead ? VTA_OK : gather_length(r, id, changed);
}

static vta_status gather_channel_norm(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    return gather_norm_of(r, id, VTAC_OF_CHANNELS, changed);
}

vta_status vtac_gather_channel_norms(vtac_graph *graph, vta_diag *diag)
{
    static const vtac_rule rules[] = {{VTAC_OP_DIV, gather_channel_norm}, {VTAC_OP_MUL, gather_channel_norm}};
    uint32_t changes;
    return vtac_apply_rules(graph, rules, sizeof rules / sizeof rules[0], &changes, diag);
}

/* ---- groups of channels that are normalized as instances of another shape */

/* The number of each channel: that of its group times `times`, and `more` added; values 0: 1, and 0. */
static vta_status channels_of(vtac_rewrite *r, const vtac_type *x, vtac_value_id groups, vtac_value_id times,
                              vtac_value_id more, vtac_value_id *out)
{
    const int64_t count = x->dim[1];
    const vtac_type type = {.dtype = VTAC_F32, .rank = 1, .dim = {count}};
    float *numbers = vta_arena_array(&r->graph->arena, (size_t)count + 1, sizeof *numbers);
    const vtac_tensor *group = r->graph->values[groups].constant;
    vtac_value_id gain = 0, bias = 0;
    VTA_TRY(columns_of(r, times, count, 1.0F, &gain));
    VTA_TRY(columns_of(r, more, count, 0.0F, &bias));
    const int64_t each = count / vtac_type_elements(&group->type);
    if (numbers == NULL) {
        return vta_no_memory(r->diag);
    }
    for (int64_t c = 0; c < count; c++) {
        numbers[c] = (float)(vtac_tensor_float(group, c / each) *
                                 vtac_tensor_float(r->graph->values[gain].constant, c) +
                             vtac_tensor_float(r->graph->values[bias].constant, c));
    }
    return vtac_new_constant(r, NULL, &type, numbers, out);
}

/* The image whose groups of channels an InstanceNormalization reads as channels, and the Reshape behind it
 * that makes the image again; 0: it reads none. */
static vtac_value_id regrouped_by(const vtac_rewrite *r, const vtac_node *node, vtac_node_id *back)
{
    const vtac_node *front = vtac_maker_of(r, node->inputs[0], VTAC_OP_RESHAPE);
    const vtac_node *behind = vtac_only_user(r, node->outputs[0]);
    if (front == NULL || behind == NULL || behind->op != VTAC_OP_RESHAPE ||
        vtac_is_output(r->graph, node->outputs[0])) {
        return 0;
    }
    const vtac_type *x = vtac_in_type(r->graph, front, 0), *groups = vtac_in_type(r->graph, node, 0);
    const bool fits = x->dtype == VTAC_F32 && x->rank >= 3 && groups->rank >= 3 &&
                      x->dim[0] == groups->dim[0] && groups->dim[1] > 0 && x->dim[1] % groups->dim[1] == 0 &&
                      vtac_type_elements(x) > 0 &&
                      vtac_type_equal(x, &r->graph->values[behind->outputs[0]].type);
    *back = vtac_node_id_of(r, behind);
    return fits ? front->inputs[0] : 0;
}

static vta_status gather_groups(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node node = r->graph->nodes[id];
    gathered_norm n = {.how = VTAC_OF_PLANES};
    n.x = regrouped_by(r, &node, &n.last);
    if (n.x == 0 || vtac_in_constant(r->graph, &node, VTAC_NORM_SCALE) == NULL ||
        vtac_in_constant(r->graph, &node, VTAC_NORM_BIAS) == NULL) {
        return VTA_OK;
    }
    n.gain = next_columns(r, VTAC_OP_MUL, &n);
    n.bias = next_columns(r, VTAC_OP_ADD, &n);
    const vtac_node last = r->graph->nodes[n.last];
    const vtac_type x = r->graph->values[n.x].type;
    const vtac_attr attrs[] = {
        {.name = "epsilon", .kind = VTAC_ATTR_FLOAT, .f = vtac_attr_float(&node, "epsilon", 1e-5)},
        {.name = "num_groups",
         .kind = VTAC_ATTR_INT,
         .i = vtac_in_type(r->graph, &node, VTAC_NORM_X)->dim[1]}};
    vtac_value_id inputs[VTAC_NORM_INPUTS] = {n.x};
    vtac_value_id y;
    VTA_TRY(channels_of(r, &x, node.inputs[VTAC_NORM_SCALE], n.gain, 0, &inputs[VTAC_NORM_SCALE]));
    VTA_TRY(channels_of(r, &x, node.inputs[VTAC_NORM_BIAS], n.gain, n.bias, &inputs[VTAC_NORM_BIAS]));
    const vtac_node_spec spec = {.op = VTAC_OP_GROUP_NORMALIZATION,
                                 .inputs = inputs,
                                 .input_count = 3,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = 2};
    VTA_TRY(vtac_new_node(r, n.last, &last, spec, &y));
    vtac_replace(r, last.outputs[0], y);
    vtac_remove_node(r->graph, n.last);
    *changed = true;
    return VTA_OK;
}

/* ---- normalization by neighbouring channels */

/* The value behind operators that change nothing but its shape. */
static vtac_value_id before_shapes(const vtac_rewrite *r, vtac_value_id value)
{
    const vtac_node *node = vtac_producer(r, value);
    while (node != NULL && (node->op == VTAC_OP_IDENTITY || node->op == VTAC_OP_RESHAPE ||
                            node->op == VTAC_OP_SQUEEZE || node->op == VTAC_OP_UNSQUEEZE)) {
        value = node->inputs[0];
        node = vtac_producer(r, value);
    }
    return value;
}

/* True for a list that is absent, or whose numbers are all `number`. */
static bool all_are(const vtac_node *node, const char *name, int64_t number)
{
    const vtac_attr *attr = vtac_find_attr(node, name);
    bool all = true;
    for (size_t i = 0; attr != NULL && i < attr->count; i++) {
        all = all && attr->ints[i] == number;
    }
    return all;
}

enum { DEEP = 5, DEEP_AXIS = 2 }; /* channels as the depth of a volume */

/* The channels that a mean over them goes over; 0: the node is no such mean. */
static int64_t size_of_mean(const vtac_node *node)
{
    const vtac_attr *kernel = vtac_find_attr(node, "kernel_shape");
    const bool fits = kernel != NULL && kernel->count == DEEP - 2 && kernel->ints[1] == 1 &&
                      kernel->ints[2] == 1 && all_are(node, "strides", 1) && all_are(node, "pads", 0) &&
                      all_are(node, "dilations", 1) && vtac_attr_int(node, "ceil_mode", 0) == 0 &&
                      strcmp(vtac_attr_string(node, "auto_pad", "NOTSET"), "NOTSET") == 0;
    return fits ? kernel->ints[0] : 0;
}

/* Behind Pads of zeros along the channels, whose numbers are counted; 0: others are among them. */
static vtac_value_id before_pads(const vtac_rewrite *r, vtac_value_id value, int64_t *before, int64_t *after)
{
    const vtac_node *pad = vtac_maker_of(r, value, VTAC_OP_PAD);
    *before = *after = 0;
    for (; pad != NULL; pad = vtac_maker_of(r, value, VTAC_OP_PAD)) {
        const vtac_tensor *pads = vtac_in_constant(r->graph, pad, VTAC_PAD_PADS);
        const bool zeros = pad->input_count < 3 || pad->inputs[VTAC_PAD_VALUE] == 0 ||
                           is_number(r, pad->inputs[VTAC_PAD_VALUE], 0.0);
        if (pads == NULL || !zeros || pad->input_count > 3 || vtac_type_elements(&pads->type) != 2 * DEEP ||
            vtac_attr_string(pad, "mode", "constant")[0] != 'c') {
            return 0;
        }
        for (int64_t i = 0; i < 2 * DEEP; i++) {
            const int64_t count = vtac_tensor_int(pads, i);
            if (i % DEEP != DEEP_AXIS && count != 0) {
                return 0;
            }
            *(i < DEEP ? before : after) += count;
        }
        value = pad->inputs[VTAC_PAD_X];
    }
    return value;
}

/* The image whose squares' mean over neighbouring channels a value is; 0: it is none. */
static vtac_value_id neighbours_of(const vtac_rewrite *r, vtac_value_id value, int64_t *size)
{
    const vtac_node *mean = vtac_maker_of(r, before_shapes(r, value), VTAC_OP_AVERAGE_POOL);
    int64_t before, after;
    *size = mean == NULL ? 0 : size_of_mean(mean);
    const vtac_value_id deep = *size < 1 ? 0 : before_pads(r, mean->inputs[0], &before, &after);
    const vtac_value_id x = deep == 0 ? 0 : squared_by(r, before_shapes(r, deep));
    const vtac_type *from = &r->graph->values[x].type, *to = &r->graph->values[deep].type;
    const bool fits = x != 0 && from->dtype == VTAC_F32 && from->rank == 4 && to->rank == DEEP &&
                      to->dim[0] == from->dim[0] && to->dim[1] == 1 && to->dim[2] == from->dim[1] &&
                      before == (*size - 1) / 2 && after == *size - 1 - before;
    return fits ? x : 0;
}

/* A product with one number, either way round; `number` 1: it is none. */
static vtac_value_id without_factor(const vtac_rewrite *r, vtac_value_id value, double *number)
{
    const vtac_node *mul = vtac_maker_of(r, value, VTAC_OP_MUL);
    for (uint32_t i = 0; mul != NULL && i < 2; i++) {
        if (vtac_scalar_of(r->graph, vtac_origin_of(r, mul->inputs[i]), number)) {
            return mul->inputs[1 - i];
        }
    }
    *number = 1.0;
    return value;
}

static vta_status gather_neighbours(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node node = r->graph->nodes[id];
    const vtac_node *pow = vtac_maker_of(r, node.inputs[VTAC_BINARY_B], VTAC_OP_POW);
    double beta, bias, alpha;
    int64_t size;
    if (pow == NULL || !vtac_scalar_of(r->graph, vtac_origin_of(r, pow->inputs[VTAC_POW_EXPONENT]), &beta)) {
        return VTA_OK;
    }
    const vtac_value_id mean =
        without_factor(r, vtac_without_number(r, pow->inputs[VTAC_POW_X], &bias), &alpha);
    const vtac_value_id x = neighbours_of(r, mean, &size);
    if (x == 0 || x != vtac_origin_of(r, node.inputs[VTAC_BINARY_A]) || beta <= 0.0 || alpha <= 0.0 ||
        bias <= 0.0) {
        return VTA_OK;
    }
    const vtac_attr attrs[] = {{.name = "alpha", .kind = VTAC_ATTR_FLOAT, .f = alpha},
                               {.name = "beta", .kind = VTAC_ATTR_FLOAT, .f = beta},
                               {.name = "bias", .kind = VTAC_ATTR_FLOAT, .f = bias},
                               {.name = "size", .kind = VTAC_ATTR_INT, .i = size}};
    const vtac_node_spec spec = {.op = VTAC_OP_LRN,
                                 .inputs = &x,
                                 .input_count = 1,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = 4};
    vtac_value_id y;
    VTA_TRY(vtac_new_node(r, id, &node, spec, &y));
    vtac_replace(r, node.outputs[0], y);
    vtac_remove_node(r->graph, id);
    *changed = true;
    return VTA_OK;
}

static vta_status gather_softmax(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node node = r->graph->nodes[id];
    const vtac_value_id e = vtac_origin_of(r, node.inputs[VTAC_BINARY_A]);
    const vtac_node *exp = vtac_maker_of(r, e, VTAC_OP_EXP);
    const vtac_node *sub = exp == NULL ? NULL : vtac_maker_of(r, exp->inputs[0], VTAC_OP_SUB);
    if (sub == NULL ||
        vtac_reduced_by(r, node.inputs[VTAC_BINARY_B], VTAC_OP_REDUCE_SUM, VTAC_OF_ROWS) != e ||
        vtac_reduced_by(r, sub->inputs[VTAC_BINARY_B], VTAC_OP_REDUCE_MAX, VTAC_OF_ROWS) !=
            vtac_origin_of(r, sub->inputs[VTAC_BINARY_A])) {
        return VTA_OK;
    }
    const vtac_value_id x = sub->inputs[VTAC_BINARY_A];
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = -1};
    const vtac_node_spec spec = {.op = VTAC_OP_SOFTMAX,
                                 .inputs = &x,
                                 .input_count = 1,
                                 .output_count = 1,
                                 .attrs = &axis,
                                 .attr_count = 1};
    vtac_value_id y;
    VTA_TRY(vtac_new_node(r, id, &node, spec, &y));
    vtac_replace(r, node.outputs[0], y);
    vtac_remove_node(r->graph, id);
    *changed = true;
    return VTA_OK;
}

static const vtac_rule rules[] = {
    {VTAC_OP_DIV, gather_norm},        {VTAC_OP_MUL, gather_norm},
    {VTAC_OP_DIV, gather_softmax},     {VTAC_OP_DIV, vtac_gather_linear},
    {VTAC_OP_MUL, vtac_gather_linear}, {VTAC_OP_REDUCE_SUM, vtac_gather_separable},
    {VTAC_OP_DIV, gather_neighbours},  {VTAC_OP_INSTANCE_NORMALIZATION, gather_groups},
};

vtac_pass_fn vtac_pass_gather_rows;

vta_status vtac_pass_gather_rows(vtac_graph *graph, uint32_t *changes, vta_diag *diag)
{
    return vtac_apply_rules(graph, rules, sizeof rules / sizeof rules[0], changes, diag);
}
