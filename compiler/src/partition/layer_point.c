/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers without weights: elementwise operators, pools, movements, joins.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "partition.h"
#include "vta/fail.h"

/* ---- two operands */

static vta_status binary_scales(const vtac_maker *m, float scale[3])
{
    VTA_TRY(vtac_layer_scale(m, VTAC_QLINEAR_PAIR_A_SCALE, &scale[0]));
    VTA_TRY(vtac_layer_scale(m, VTAC_QLINEAR_PAIR_B_SCALE, &scale[1]));
    return vtac_layer_scale(m, VTAC_QLINEAR_PAIR_Y_SCALE, &scale[2]);
}

/* True if input i is a gate: one number for each channel of each image of `y`, which changes with the input.
 */
static bool is_gate(const vtac_maker *m, uint32_t i, const int64_t y[4])
{
    int64_t x[4];
    const vtac_type *type = vtac_in_type(m->graph, m->node, i);
    return vtac_in_constant(m->graph, m->node, i) == NULL &&
           type->rank == m->graph->values[m->node->outputs[0]].type.rank && vtac_image_shape(type, x) &&
           x[0] == y[0] && x[1] == y[1] && x[2] == 1 && x[3] == 1 && y[2] * y[3] > 1;
}

/* The clamp that a fused Relu or Clip left on the node. */
static int32_t clamp_attr(const vtac_maker *m, const char *name, int32_t otherwise)
{
    const bool is_unsigned = m->graph->values[m->node->outputs[0]].type.dtype == VTAC_U8;
    const int64_t move = is_unsigned ? 128 : 0;
    const int64_t value = vtac_attr_int(m->node, name, otherwise + move) - move;
    return value < -128 ? -128 : value > 127 ? 127 : (int32_t)value;
}

/* TensorFlow Lite scales each operand of a sum by itself. */
static vta_status add_wide(const vtac_maker *m, vtac_vta_layer *layer, const float scale[3])
{
    const int32_t zero[] = {vtac_layer_zero(m, layer->inputs[0]), vtac_layer_zero(m, layer->inputs[1]),
                            vtac_layer_zero(m, layer->output)};
    vtac_tfl_sum_fit fit;
    vtac_fixed *factor = vtac_maker_array(m, 1, sizeof *factor);
    int32_t *bias = vtac_maker_array(m, 1, sizeof *bias);
    int8_t *table = vtac_maker_array(m, sizeof fit.table, 1);
    if (factor == NULL || bias == NULL || table == NULL) {
        return vta_no_memory(m->diag);
    }
    if (!vtac_tfl_sum_fit_of(scale, zero, &fit)) {
        return vtac_no_layer(m, "its scales %g, %g, %g cannot be brought to one", (double)scale[0],
                             (double)scale[1], (double)scale[2]);
    }
    *factor = fit.scale;
    *bias = fit.bias;
    memcpy(table, fit.table, sizeof fit.table);
    layer->sum = (vtac_fixed_sum){.a = fit.a, .b = fit.b};
    layer->scales = factor;
    layer->bias = bias;
    layer->rounding = fit.rounding;
    layer->table = fit.corrected < 0 ? NULL : table;
    layer->corrected = fit.corrected < 0 ? 0 : (uint32_t)fit.corrected;
    return VTA_OK;
}

vta_status vtac_layer_add(vtac_maker *m, vtac_vta_layer *layer)
{
    float s[3];
    int64_t y[4];
    VTA_TRY(binary_scales(m, s));
    m->any_rows = true;
    VTA_TRY(vtac_layer_output(m, layer, y));
    VTA_TRY(vtac_layer_operand(m, layer, VTAC_QLINEAR_PAIR_A, y));
    VTA_TRY(vtac_layer_operand(m, layer, VTAC_QLINEAR_PAIR_B, y));
    layer->kind = VTAC_VTA_ADD;
    layer->low = clamp_attr(m, "clip_low", -128);
    layer->high = clamp_attr(m, "clip_high", 127);
    if (layer->wide) {
        return add_wide(m, layer, s);
    }
    return vtac_fixed_sum_of(s[0], s[1], s[2], &layer->sum)
               ? VTA_OK
               : vtac_no_layer(m, "its scales %g, %g, %g cannot be brought to one", (double)s[0],
                               (double)s[1], (double)s[2]);
}

vta_status vtac_layer_mul(vtac_maker *m, vtac_vta_layer *layer)
{
    float s[3];
    int64_t y[4];
    VTA_TRY(binary_scales(m, s));
    m->any_rows = true;
    VTA_TRY(vtac_layer_output(m, layer, y));
    const bool transposed = is_gate(m, VTAC_QLINEAR_PAIR_A, y); /* only the second factor may be a gate */
    const uint32_t image = transposed ? VTAC_QLINEAR_PAIR_B : VTAC_QLINEAR_PAIR_A,
                   other = transposed ? VTAC_QLINEAR_PAIR_A : VTAC_QLINEAR_PAIR_B;
    VTA_TRY(vtac_layer_operand(m, layer, image, y));
    if (is_gate(m, other, y)) {
        int64_t x[4];
        VTA_TRY(vtac_layer_input(m, layer, other, x, NULL));
    } else {
        VTA_TRY(vtac_layer_operand(m, layer, other, y));
    }
    layer->kind = VTAC_VTA_MUL;
    layer->low = clamp_attr(m, "clip_low", -128);
    layer->high = clamp_attr(m, "clip_high", 127);
    if (layer->wide) {
        vtac_fixed *factor = vtac_maker_array(m, 1, sizeof *factor);
        layer->scales = factor;
        return factor == NULL ? vta_no_memory(m->diag)
                              : vtac_layer_factor(m, vtac_tfl_scale_of((double)(s[0] * s[1] / s[2])), factor);
    }
    return vtac_layer_one_scale(m, layer, vtac_scale_product(s[0], s[1], s[2]));
}

vta_status vtac_layer_choose(vtac_maker *m, vtac_vta_layer *layer)
{
    int64_t y[4];
    if (m->node->input_count != 2) {
        return vtac_no_layer(m, "it chooses among %u values; choose between two at a time",
                             m->node->input_count);
    }
    m->any_rows = true;
    VTA_TRY(vtac_layer_output(m, layer, y));
    VTA_TRY(vtac_layer_operand(m, layer, 0, y));
    VTA_TRY(vtac_layer_operand(m, layer, 1, y));
    layer->kind = VTAC_VTA_CHOOSE;
    layer->min = m->node->op == VTAC_OP_MIN;
    return VTA_OK;
}

/* ---- pools */

static bool is_global(vtac_op op)
{
    return op == VTAC_OP_GLOBAL_MAX_POOL || op == VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL;
}

/* Sets the window between images of the shapes x and y. */
static vta_status pool_window(vtac_maker *m, vtac_vta_layer *layer, int64_t x[4], int64_t y[4])
{
    int64_t after[2];
    VTA_TRY(vtac_layer_input(m, layer, VTAC_QLINEAR_X, x, NULL));
    VTA_TRY(vtac_layer_output(m, layer, y));
    if (vtac_attr_int(m->node, "channels_last", 0) != 0) {
        return vtac_no_layer(m, "its channels are last; transpose it");
    }
    if (is_global(m->node->op)) {
        layer->window.kernel[0] = x[2];
        layer->window.kernel[1] = x[3];
        return VTA_OK;
    }
    VTA_TRY(vtac_layer_window(m, vtac_in_type(m->graph, m->node, VTAC_QLINEAR_X), NULL, true, &layer->window,
                              after));
    for (int d = 0; d < 2 && vtac_attr_int(m->node, "count_include_pad", 0) != 0; d++) {
        layer->counted_before[d] = layer->window.before[d];
        layer->counted_after[d] = after[d];
    }
    return VTA_OK;
}

vta_status vtac_layer_max_pool(vtac_maker *m, vtac_vta_layer *layer)
{
    int64_t x[4];
    int64_t y[4];
    layer->kind = VTAC_VTA_MAX_POOL;
    return pool_window(m, layer, x, y);
}

/* Adds a number to a list unless the list has it. */
static void add_once(int64_t *numbers, uint32_t *count, int64_t number)
{
    uint32_t i = 0;
    while (i < *count && numbers[i] != number) {
        i++;
    }
    numbers[i] = number;
    *count += i == *count;
}

/* Finds the numbers of elements that means have: all products of the counts along rows and along columns. */
static vta_status find_divisors(const vtac_maker *m, vtac_vta_layer *layer, const int64_t x[4],
                                const int64_t y[4])
{
    uint32_t count[2] = {0};
    int64_t *along[2];
    for (int d = 0; d < 2; d++) {
        along[d] = vtac_maker_array(m, (size_t)y[2 + d], sizeof *along[d]);
        for (int64_t i = 0; along[d] != NULL && i < y[2 + d]; i++) {
            add_once(along[d], &count[d], vtac_vta_elements(layer, d, i, x[2 + d]));
        }
    }
    int64_t *divisors = vtac_maker_array(m, (size_t)count[0] * count[1], sizeof *divisors);
    if (along[0] == NULL || along[1] == NULL || divisors == NULL) {
        return vta_no_memory(m->diag);
    }
    for (uint32_t i = 0; i < count[0] * count[1]; i++) {
        add_once(divisors, &layer->divisor_count, along[0][i % count[0]] * along[1][i / count[0]]);
    }
    layer->divisors = divisors;
    return VTA_OK;
}

/* TensorFlow Lite's mean of `count` numbers from their sum less zero points: of a window, or of a whole
 * plane. All numbers are those of the file: uint8 is not moved. */
typedef struct tfl_mean {
    bool of_plane, is_unsigned;
    int64_t count, x_zero, y_zero; /* zero points of the file */
    int32_t added;                 /* what REQUANT adds, so the mean leaves it out */
    vtac_tfl_scale scale;          /* int8 over a plane: of the sum, before dividing */
    vtac_tfl_mean mean;            /* uint8 over a plane */
} tfl_mean;

static int64_t round_quotient(int64_t sum, int64_t count)
{
    return (sum < 0 ? sum - count / 2 : sum + count / 2) / count;
}

static int32_t mean_of(const void *context, int64_t v)
{
    const tfl_mean *f = context;
    const int64_t raw = v + f->x_zero * f->count;
    int64_t q;
    if (!f->of_plane) {
        q = round_quotient(raw, f->count);
    } else if (f->is_unsigned) {
        q = (int64_t)vtac_tfl_rescale(raw, f->mean.scale, VTAC_ROUND_AWAY) + f->mean.bias;
    } else {
        q = round_quotient(vtac_tfl_rescale(v, f->scale, VTAC_ROUND_AWAY), f->count) + f->y_zero;
    }
    const int64_t move = f->is_unsigned ? 128 : 0;
    const int64_t low = -128 + move;
    const int64_t high = 127 + move;
    return (int32_t)((q < low ? low : q > high ? high : q) - move) - f->added;
}

/* The number for REQUANT to add: if possible, the integer that is added beside the rounding of the mean. */
static int32_t added_of(const tfl_mean *f)
{
    const int64_t move = f->is_unsigned ? 128 : 0;
    const int64_t own = !f->of_plane ? 0 : f->is_unsigned ? f->mean.bias : f->y_zero;
    return own - move < -128 || own - move > 127 ? (int32_t)(f->y_zero - move) : (int32_t)(own - move);
}

/* Finds one product for each mean; all divisors must share a rounding mode. */
static vta_status fit_means(const vtac_maker *m, vtac_vta_layer *layer, float sx, float sy)
{
    const bool is_unsigned = vtac_in_type(m->graph, m->node, VTAC_QLINEAR_X)->dtype == VTAC_U8;
    const int32_t move = is_unsigned ? 128 : 0;
    const int32_t x_zero = vtac_layer_zero(m, layer->inputs[0]);
    const int32_t y_zero = vtac_layer_zero(m, layer->output);
    vtac_fixed *scales = vtac_maker_array(m, layer->divisor_count, sizeof *scales);
    int32_t *bias = vtac_maker_array(m, layer->divisor_count, sizeof *bias);
    if (scales == NULL || bias == NULL) {
        return vta_no_memory(m->diag);
    }
    for (uint32_t i = 0; i < layer->divisor_count; i++) {
        const int64_t count = layer->divisors[i];
        if (count < 1) {
            continue; /* the accelerator refuses such a window */
        }
        tfl_mean f = {.of_plane = m->node->op == VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL,
                      .is_unsigned = is_unsigned,
                      .count = count,
                      .x_zero = x_zero + move,
                      .y_zero = y_zero + move,
                      .scale = vtac_tfl_scale_of((double)sx / (double)sy),
                      .mean = vtac_tfl_mean_of(sx, x_zero + move, sy, y_zero + move, count)};
        f.added = added_of(&f);
        const vtac_steps steps = {
            .fn = mean_of,
            .context = &f,
            .first = count * (-128 - x_zero),
            .last = count * (127 - x_zero),
            .low = -128 - f.added,
            .high = 127 - f.added,
            .slope = (f.of_plane ? (double)sx / (double)sy : 1.0) / (double)count,
        };
        vtac_steps_fit fit;
        const bool good = vtac_steps_fit_of(&steps, &fit);
        if (!good || (i > 0 && (fit.rounding != layer->rounding || fit.times - 1 != layer->more_times))) {
            return vtac_no_layer(m, "no product is TensorFlow Lite's mean of %lld numbers", (long long)count);
        }
        scales[i] = fit.scale;
        bias[i] = fit.bias;
        layer->rounding = fit.rounding;
        layer->more_times = fit.times - 1;
        layer->zero_less = y_zero - f.added;
    }
    layer->scales = scales;
    layer->bias = bias;
    return VTA_OK;
}

vta_status vtac_layer_average_pool(vtac_maker *m, vtac_vta_layer *layer)
{
    int64_t x[4];
    int64_t y[4];
    float sx;
    float sy;
    VTA_TRY(pool_window(m, layer, x, y));
    VTA_TRY(vtac_layer_scale(m, VTAC_QLINEAR_X_SCALE, &sx));
    VTA_TRY(vtac_layer_scale(m, VTAC_QLINEAR_Y_SCALE, &sy));
    VTA_TRY(find_divisors(m, layer, x, y));
    if (layer->wide) {
        layer->kind = VTAC_VTA_AVG_POOL;
        return fit_means(m, layer, sx, sy);
    }
    vtac_fixed *scales = vtac_maker_array(m, layer->divisor_count, sizeof *scales);
    if (scales == NULL) {
        return vta_no_memory(m->diag);
    }
    for (uint32_t i = 0; i < layer->divisor_count; i++) {
        if (layer->divisors[i] > 0) { /* else the accelerator refuses the window */
            VTA_TRY(vtac_layer_fixed(m, vtac_scale_mean(sx, sy, layer->divisors[i]), &scales[i]));
        }
    }
    layer->kind = VTAC_VTA_AVG_POOL;
    layer->scales = scales;
    return VTA_OK;
}

/* ---- clamps: joined to the layer before if nothing else reads its output, else a layer */

static vta_status clamp_range(const vtac_maker *m, int32_t *low, int32_t *high)
{
    const bool is_unsigned = vtac_in_type(m->graph, m->node, 0)->dtype == VTAC_U8;
    const int64_t move = is_unsigned ? 128 : 0;
    int64_t range[2] = {-128, 127};
    if (m->node->op == VTAC_OP_RELU) {
        range[0] = -move; /* the integer 0 */
    }
    for (uint32_t i = 0; m->node->op == VTAC_OP_CLIP && i < 2; i++) {
        const vtac_tensor *limit = vtac_in_constant(m->graph, m->node, i + 1);
        if (limit != NULL) {
            range[i] = vtac_tensor_int(limit, 0) - move;
        } else if (vtac_in_type(m->graph, m->node, i + 1) != NULL) {
            return vtac_no_layer(m, "its limits are not known at compile time; make them initializers");
        }
    }
    if (range[0] > range[1]) {
        return vtac_no_layer(m, "its limits are in the wrong order");
    }
    *low = range[0] < -128 ? -128 : range[0] > 127 ? 127 : (int32_t)range[0];
    *high = range[1] < -128 ? -128 : range[1] > 127 ? 127 : (int32_t)range[1];
    return VTA_OK;
}

static int32_t clamp_number(int32_t value, int32_t low, int32_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* A table clamped to a range; NULL: no memory. */
static const int8_t *clamp_table(const vtac_maker *m, const int8_t *table, int32_t low, int32_t high)
{
    enum { NUMBERS = 256 };
    int8_t *held_table = vtac_maker_array(m, NUMBERS, 1);
    for (int i = 0; held_table != NULL && i < NUMBERS; i++) {
        held_table[i] = (int8_t)clamp_number(table[i], low, high);
    }
    return held_table;
}

/* True for layers that do not requantize what they make. */
static bool makes_as_is(const vtac_vta_layer *layer)
{
    return layer->kind == VTAC_VTA_RECURRENT || layer->kind == VTAC_VTA_TRANSPOSE ||
           layer->kind == VTAC_VTA_RUNS;
}

/* Joins the clamp to the layer that makes its input; false if there is none, or the input has other readers.
 */
static bool join_clamp(vtac_maker *m, int32_t low, int32_t high)
{
    vtac_vta_tensor *to;
    vtac_vta_layer *found = vtac_joined_layer(m, &to);
    vtac_vta_layer *before = found != NULL && makes_as_is(found) ? NULL : found;
    const int8_t *behind =
        before == NULL || before->behind == NULL ? NULL : clamp_table(m, before->behind, low, high);
    if (before == NULL || (before->behind != NULL && behind == NULL) || !vtac_join_layer(m, before, to)) {
        return false;
    }
    if (behind != NULL) {
        before->behind = behind;
    } else {
        before->low = clamp_number(before->low, low, high);
        before->high = clamp_number(before->high, low, high);
    }
    return true;
}

vta_status vtac_layer_clamp(vtac_maker *m, vtac_vta_layer *layer)
{
    int64_t x[4];
    int64_t y[4];
    VTA_TRY(clamp_range(m, &layer->low, &layer->high));
    if (join_clamp(m, layer->low, layer->high)) {
        return VTA_OK;
    }
    m->any_rows = true;
    VTA_TRY(vtac_layer_input(m, layer, 0, x, NULL));
    VTA_TRY(vtac_layer_output(m, layer, y));
    layer->kind = VTAC_VTA_RESCALE;
    return vtac_layer_one_scale(m, layer, 1.0F);
}

/* ---- movements */

/* Checks that the fill is the zero point, which a MOVE gives to places without a source. */
static vta_status check_fill(const vtac_maker *m, const vtac_vta_layer *layer)
{
    const vtac_attr *fill = vtac_find_attr(m->node, "fill");
    const int64_t move = m->graph->values[m->node->outputs[0]].type.dtype == VTAC_U8 ? 128 : 0;
    return fill == NULL || fill->i - move == vtac_layer_zero(m, layer->output)
               ? VTA_OK
               : vtac_no_layer(m, "it pads with %lld, which is not the zero point", (long long)fill->i);
}

static const int64_t *two_ints(const vtac_node *node, const char *name)
{
    return vtac_find_attr(node, name)->ints; /* always present: the partitioner added it */
}

vta_status vtac_layer_move(vtac_maker *m, vtac_vta_layer *layer)
{
    int64_t x[4];
    int64_t y[4];
    const vtac_attr *from = vtac_find_attr(m->node, "from");
    const size_t count = from->count / VTAC_MOVE_INTS;
    vtac_vta_from *places = vtac_maker_array(m, count, sizeof *places);
    vtac_fixed *scales = vtac_maker_array(m, m->node->input_count, sizeof *scales);
    if (places == NULL || scales == NULL) {
        return vta_no_memory(m->diag);
    }
    VTA_TRY(vtac_layer_output(m, layer, y));
    VTA_TRY(check_fill(m, layer));
    for (uint32_t k = 0; k < m->node->input_count; k++) {
        bool flat;
        VTA_TRY(vtac_layer_input(m, layer, k, x, &flat));
        if (flat) {
            return vtac_no_layer(m, "it reads '%s' flattened", m->graph->values[m->node->inputs[k]].name);
        }
        VTA_TRY(vtac_layer_fixed(m, 1.0F, &scales[k]));
    }
    for (size_t i = 0; i < count; i++) {
        const int64_t *one = from->ints + VTAC_MOVE_INTS * i;
        places[i] = (vtac_vta_from){(int32_t)one[0], (int32_t)one[1], (int32_t)one[2], (int32_t)one[3],
                                    (int32_t)one[4]};
    }
    for (int d = 0; d < 2; d++) {
        layer->up[d] = two_ints(m->node, "up")[d];
        layer->down[d] = two_ints(m->node, "down")[d];
    }
    layer->kind = VTAC_VTA_MOVE;
    layer->from = places;
    layer->across = vtac_attr_int(m->node, "across", 0) != 0;
    layer->beyond = (vtac_vta_beyond)vtac_attr_int(m->node, "beyond", VTAC_VTA_ZEROS);
    layer->scales = scales;
    return VTA_OK;
}

/* Attribute `runs`: input, first tile and count of each. */
vta_status vtac_layer_runs(vtac_maker *m, vtac_vta_layer *layer)
{
    int64_t x[4];
    int64_t y[4];
    const vtac_attr *all = vtac_find_attr(m->node, "runs");
    const size_t count = all->count / VTAC_RUN_INTS;
    vtac_vta_run *runs = vtac_maker_array(m, count, sizeof *runs);
    if (runs == NULL) {
        return vta_no_memory(m->diag);
    }
    m->any_rows = true;
    VTA_TRY(vtac_layer_output(m, layer, y));
    VTA_TRY(check_fill(m, layer));
    for (uint32_t k = 0; k < m->node->input_count; k++) {
        VTA_TRY(vtac_layer_input(m, layer, k, x, NULL));
    }
    for (size_t i = 0; i < count; i++) {
        const int64_t *one = all->ints + VTAC_RUN_INTS * i;
        runs[i] = (vtac_vta_run){one[0], one[1], one[2]};
    }
    layer->kind = VTAC_VTA_RUNS;
    layer->runs = runs;
    layer->run_count = (uint32_t)count;
    return VTA_OK;
}

/* ---- joins */

/* Channels follow one another, or pixels: the rows of images, or the columns of images of one row. */
static vta_status join_axis(vtac_maker *m, vtac_vta_layer *layer, const int64_t y[4])
{
    const int64_t rank = m->graph->values[m->node->outputs[0]].type.rank;
    const int64_t named = vtac_attr_int(m->node, "axis", 1), axis = named < 0 ? named + rank : named;
    layer->by_pixels = axis == 2 || (axis == 3 && y[2] == 1);
    m->any_rows = layer->by_pixels;
    return axis == 1 || layer->by_pixels
               ? VTA_OK
               : vtac_no_layer(m,
                               "it joins along axis %lld; the accelerator joins channels (axis 1) or rows "
                               "of pixels (axis 2)",
                               (long long)named);
}

vta_status vtac_layer_concat(vtac_maker *m, vtac_vta_layer *layer)
{
    const vtac_layer_row *row = vtac_layer_row_of(m->node->op);
    const uint32_t count = vtac_operand_count(m->node, row);
    const bool own_scales = m->node->op == VTAC_OP_QLINEAR_CONCAT;
    vtac_fixed *scales = vtac_maker_array(m, count, sizeof *scales);
    int64_t y[4];
    float sy = 1.0F;
    if (scales == NULL) {
        return vta_no_memory(m->diag);
    }
    VTA_TRY(vtac_layer_output(m, layer, y));
    VTA_TRY(join_axis(m, layer, y));
    VTA_TRY(own_scales ? vtac_layer_scale(m, VTAC_QLINEAR_CONCAT_Y_SCALE, &sy) : VTA_OK);
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t i = vtac_operand(row, k);
        const vtac_type *type = vtac_in_type(m->graph, m->node, i);
        float sx = 1.0F;
        int64_t x[4];
        if (type == NULL || !vtac_image_shape(type, x)) {
            return vtac_no_layer(m, "its operand %u is no image", k);
        }
        VTA_TRY(vtac_layer_operand(m, layer, i, x));
        VTA_TRY(own_scales ? vtac_layer_scale(m, i + 1, &sx) : VTA_OK);
        VTA_TRY(vtac_layer_fixed(m, vtac_scale_ratio(sx, sy), &scales[k]));
    }
    layer->kind = VTAC_VTA_CONCAT;
    layer->scales = scales;
    return VTA_OK;
}

/* The nearest pixel for place i of a row whose pixels are repeated `factor` times. */
static double nearest_to(int64_t i, int64_t factor, bool half_pixel, const char *rounding)
{
    const double at = ((double)i + (half_pixel ? 0.5 : 0.0)) / (double)factor - (half_pixel ? 0.5 : 0.0);
    return vtac_resize_nearest(rounding, at);
}

/* True if rounding to the nearest pixel repeats each pixel `factor` times. */
static bool takes_nearest(const vtac_node *node, int64_t factor)
{
    const char *place = vtac_attr_string(node, "coordinate_transformation_mode", "half_pixel");
    const char *rounding = vtac_attr_string(node, "nearest_mode", "round_prefer_floor");
    const bool half_pixel = strcmp(place, "half_pixel") == 0;
    bool good = strcmp(vtac_attr_string(node, "mode", "nearest"), "nearest") == 0 &&
                (half_pixel || strcmp(place, "asymmetric") == 0);
    for (int64_t i = 0; good && factor > 1 && i < 2 * factor; i++) {
        good = nearest_to(i, factor, half_pixel, rounding) == (double)(i / factor);
    }
    return good;
}

bool vtac_repeats_pixels(const vtac_graph *graph, const vtac_node *node)
{
    int64_t x[4];
    int64_t y[4];
    return vtac_image_shape(vtac_in_type(graph, node, 0), x) &&
           vtac_image_shape(&graph->values[node->outputs[0]].type, y) && x[0] == y[0] && x[1] == y[1] &&
           y[2] % x[2] == 0 && y[3] % x[3] == 0 && takes_nearest(node, y[2] / x[2]) &&
           takes_nearest(node, y[3] / x[3]);
}

vta_status vtac_layer_resize(vtac_maker *m, vtac_vta_layer *layer)
{
    int64_t x[4];
    int64_t y[4];
    VTA_TRY(vtac_layer_input(m, layer, 0, x, NULL));
    VTA_TRY(vtac_layer_output(m, layer, y));
    if (!vtac_repeats_pixels(m->graph, m->node)) {
        return vtac_no_layer(m,
                             "it does not repeat rows and columns a whole number of times; use nearest with "
                             "whole factors");
    }
    layer->kind = VTAC_VTA_RESIZE;
    layer->window.stride[0] = y[2] / x[2];
    layer->window.stride[1] = y[3] / x[3];
    return VTA_OK;
}
