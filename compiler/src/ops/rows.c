/* SPDX-License-Identifier: Apache-2.0
 *
 * From nodes to the numbers of rows.
 */
#include "vtac/rows.h"

/* Scales and zero points, both as the integers are stored. */
static bool known_numbers(const vtac_graph *graph, const vtac_node *node, double out[4])
{
    bool known = true;
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t at = VTAC_QLINEAR_X_SCALE + i;
        known = known && at < node->input_count && vtac_scalar_of(graph, node->inputs[at], &out[i]);
    }
    const vtac_type *x = vtac_in_type(graph, node, 0);
    return known && x->rank > 0 && (x->dtype == VTAC_I8 || x->dtype == VTAC_U8);
}

/* Numbers of a row: those of the last axis, but in the partition's images. */
static int64_t numbers_of(const vtac_node *node, const vtac_type *x)
{
    return vtac_attr_int(node, "numbers", x->rank > 0 ? x->dim[x->rank - 1] : 0);
}

bool vtac_softmax_of_node(const vtac_graph *graph, const vtac_node *node, vtac_softmax *out)
{
    const vtac_type *x = vtac_in_type(graph, node, VTAC_ROW_SOFTMAX_X);
    double known[4];
    if (!known_numbers(graph, node, known)) {
        return false;
    }
    const int32_t low = x->dtype == VTAC_I8 ? INT8_MIN : 0;
    const vtac_softmax_want want = {.n = numbers_of(node, x),
                                    .x_scale = (float)known[0],
                                    .y_scale = (float)known[2],
                                    .y_zero = (int32_t)known[3],
                                    .y_low = low,
                                    .y_high = low + UINT8_MAX,
                                    .linear = vtac_attr_int(node, VTAC_ROW_LINEAR, 0) != 0,
                                    .x_zero = (int32_t)known[1] - low + INT8_MIN};
    return vtac_softmax_of(&want, out);
}

/* A float for each column; NULL: not known, not as many, or no memory. */
static const float *known_columns(const vtac_graph *graph, const vtac_node *node, uint32_t i, int64_t n,
                                  vta_arena *arena)
{
    const vtac_tensor *tensor = vtac_in_constant(graph, node, i);
    float *columns = vta_arena_array(arena, (size_t)n, sizeof *columns);
    if (tensor == NULL || vtac_type_elements(&tensor->type) != n || columns == NULL) {
        return NULL;
    }
    for (int64_t c = 0; c < n; c++) {
        columns[c] = (float)vtac_tensor_float(tensor, c);
    }
    return columns;
}

bool vtac_norm_of_node(const vtac_graph *graph, const vtac_node *node, vta_arena *arena, vtac_norm *out)
{
    const vtac_type *x = vtac_in_type(graph, node, VTAC_ROW_NORM_X);
    const bool biased = vtac_in_type(graph, node, VTAC_ROW_NORM_BIAS) != NULL;
    double known[4];
    const int64_t n = numbers_of(node, x);
    if (!known_numbers(graph, node, known) || n < 1 || n > VTAC_ROW_LONGEST) {
        return false;
    }
    const int32_t low = x->dtype == VTAC_I8 ? INT8_MIN : 0;
    const vtac_norm_want want = {.n = (int32_t)n,
                                 .centered = vtac_attr_int(node, "centered", 1) != 0,
                                 .epsilon = vtac_attr_float(node, "epsilon", 1e-5),
                                 .gain = known_columns(graph, node, VTAC_ROW_NORM_GAIN, n, arena),
                                 .bias =
                                     biased ? known_columns(graph, node, VTAC_ROW_NORM_BIAS, n, arena) : NULL,
                                 .x_scale = (float)known[0],
                                 .y_scale = (float)known[2],
                                 .x_zero = (int32_t)known[1] - low + INT8_MIN,
                                 .y_zero = (int32_t)known[3],
                                 .y_low = low,
                                 .y_high = low + UINT8_MAX};
    vtac_norm_column *columns = vta_arena_array(arena, (size_t)n, sizeof *columns);
    return columns != NULL && want.gain != NULL && (!biased || want.bias != NULL) &&
           vtac_norm_of(&want, columns, out);
}

bool vtac_planes_of_node(const vtac_graph *graph, const vtac_node *node, vta_arena *arena, vtac_planes *out)
{
    const vtac_type *x = vtac_in_type(graph, node, VTAC_ROW_NORM_X);
    double known[4];
    if (!known_numbers(graph, node, known) || x->rank < 3 || x->dim[1] < 1 || x->dim[1] > INT16_MAX) {
        return false;
    }
    int64_t pixels = 1;
    for (uint32_t i = 2; i < x->rank; i++) {
        pixels *= x->dim[i];
    }
    const int32_t low = x->dtype == VTAC_I8 ? INT8_MIN : 0;
    const int64_t channels = x->dim[1], groups = vtac_attr_int(node, "groups", channels);
    const vtac_planes_want want = {.pixels = pixels,
                                   .channels = (int32_t)channels,
                                   .groups = (int32_t)(groups > 0 && groups <= channels ? groups : 0),
                                   .epsilon = vtac_attr_float(node, "epsilon", 1e-5),
                                   .gain = known_columns(graph, node, VTAC_ROW_NORM_GAIN, channels, arena),
                                   .bias = known_columns(graph, node, VTAC_ROW_NORM_BIAS, channels, arena),
                                   .x_scale = (float)known[0],
                                   .y_scale = (float)known[2],
                                   .y_zero = (int32_t)known[3],
                                   .y_low = low,
                                   .y_high = low + UINT8_MAX};
    vtac_planes_channel *channel = vta_arena_array(arena, (size_t)channels, sizeof *channel);
    return channel != NULL && want.gain != NULL && want.bias != NULL && vtac_planes_of(&want, channel, out);
}
