/* SPDX-License-Identifier: Apache-2.0
 *
 * fold-qdq: biases that leave no room for a sum in 32 bits. They come from channels whose weights are nearly
 * dead: the bias, in units of their tiny scale, is a huge number, and the result is the same whatever the
 * input is. A smaller bias with that result takes its place, on the host and on the accelerator alike.
 */
#include <stdlib.h>

#include "qdq.h"
#include "vta/fail.h"
#include "vtac/quant.h"

int64_t vtac_low_of(const vtac_tensor *zero, vtac_dtype dtype)
{
    return vtac_qlow(dtype) - (zero == NULL ? 0 : vtac_tensor_int(zero, 0));
}

vtac_bias_room vtac_bias_room_of(const vtac_bias_terms *t, int64_t output)
{
    const int64_t zero =
        t->w_zero == NULL
            ? 0
            : vtac_tensor_int(t->w_zero, vtac_type_elements(&t->w_zero->type) == 1 ? 0 : output);
    const int64_t low = t->x_low, high = t->x_low + UINT8_MAX;
    vtac_bias_room room = {0};
    int64_t size = 0;
    for (int64_t k = 0; k < t->terms; k++) {
        const int64_t w = vtac_tensor_int(t->w, output * t->output_step + k * t->term_step) - zero;
        room.min += w * (w > 0 ? low : high);
        room.max += w * (w > 0 ? high : low);
        size += llabs(w);
    }
    /* the bias minus x's zero point times the weights must be 32 bits wide, too */
    room.high = INT32_MAX - (UINT8_MAX + 1) * size;
    room.low = -room.high;
    return room;
}

/* The operands of a QLinearConv or QGemm with constant weights; false for others. */
static bool read_terms(const vtac_graph *graph, const vtac_node *node, vtac_bias_terms *t, int64_t *outputs)
{
    const vtac_tensor *x_zero = vtac_in_constant(graph, node, VTAC_QLINEAR_CONV_X_ZERO);
    const bool conv = node->op == VTAC_OP_QLINEAR_CONV;
    t->w = vtac_in_constant(graph, node, VTAC_QLINEAR_CONV_WEIGHT);
    t->w_zero = vtac_in_constant(graph, node, VTAC_QLINEAR_CONV_WEIGHT_ZERO);
    if (t->w == NULL || x_zero == NULL || t->w_zero == NULL) {
        return false;
    }
    const int64_t *dim = t->w->type.dim;
    const bool rows = conv || vtac_attr_int(node, "transB", 0) != 0;
    *outputs = dim[rows ? 0 : 1];
    t->terms = *outputs > 0 ? vtac_type_elements(&t->w->type) / *outputs : 0;
    t->output_step = rows ? t->terms : 1;
    t->term_step = rows ? 1 : *outputs;
    t->x_low = vtac_low_of(x_zero, vtac_in_type(graph, node, VTAC_QLINEAR_CONV_X)->dtype);
    return true;
}

static int64_t element_at(const vtac_tensor *t, int64_t i)
{
    return vtac_type_elements(&t->type) == 1 ? 0 : i;
}

vta_status vtac_fit_bias(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node node = r->graph->nodes[id];
    const bool conv = node.op == VTAC_OP_QLINEAR_CONV;
    const uint32_t place = conv ? 8 : 6, y = conv ? 6 : 7;
    const vtac_tensor *bias = vtac_in_constant(r->graph, &node, place);
    const vtac_tensor *sx = vtac_in_constant(r->graph, &node, VTAC_QLINEAR_CONV_X_SCALE),
                      *sw = vtac_in_constant(r->graph, &node, VTAC_QLINEAR_CONV_WEIGHT_SCALE),
                      *sy = vtac_in_constant(r->graph, &node, y),
                      *zy = vtac_in_constant(r->graph, &node, y + 1);
    vtac_bias_terms t;
    int64_t outputs = 0;
    if (bias == NULL || sx == NULL || sw == NULL || sy == NULL || zy == NULL ||
        bias->type.dtype != VTAC_I32 || !read_terms(r->graph, &node, &t, &outputs) ||
        vtac_type_elements(&bias->type) != outputs) {
        return VTA_OK;
    }
    int32_t *fitted = vta_arena_array(&r->graph->arena, (size_t)outputs, sizeof *fitted);
    if (fitted == NULL) {
        return vta_no_memory(r->diag);
    }
    bool moved = false;
    for (int64_t o = 0; o < outputs; o++) {
        fitted[o] = (int32_t)vtac_tensor_int(bias, o);
        if (llabs(fitted[o]) < INT32_MAX / 4) {
            continue; /* far from where it matters: no row of weights is that long */
        }
        const vtac_bias_room room = vtac_bias_room_of(&t, o);
        const vtac_dtype dtype = zy->type.dtype;
        vtac_fixed scale;
        int32_t fit;
        if (vtac_fixed_of(vtac_scale_product((float)vtac_tensor_float(sx, 0),
                                             (float)vtac_tensor_float(sw, element_at(sw, o)),
                                             (float)vtac_tensor_float(sy, 0)),
                          &scale) &&
            vtac_bias_fit(fitted[o], &room, scale, (int32_t)vtac_tensor_int(zy, 0), vtac_qlow(dtype),
                          vtac_qhigh(dtype), &fit)) {
            moved = moved || fit != fitted[o];
            fitted[o] = fit;
        }
    }
    if (moved) {
        vtac_value_id new = 0;
        VTA_TRY(vtac_new_constant(r, NULL, &bias->type, fitted, &new));
        VTA_TRY(vtac_set_input(r->graph, id, place, new, r->diag));
        *changed = true;
    }
    return VTA_OK;
}
