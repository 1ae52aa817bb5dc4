/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading QuantizeLinear and DequantizeLinear.
 */
#include <math.h>
#include <string.h>

#include "qdq.h"
#include "vta/fail.h"

int32_t vtac_qlow(vtac_dtype dtype)
{
    return dtype == VTAC_I8 ? INT8_MIN : 0;
}

int32_t vtac_qhigh(vtac_dtype dtype)
{
    return dtype == VTAC_I8 ? INT8_MAX : UINT8_MAX;
}

float vtac_qscale(const vtac_qparams *p)
{
    return (float)vtac_tensor_float(p->scales, 0);
}

int32_t vtac_qzero(const vtac_qparams *p)
{
    return p->zeros == NULL ? 0 : (int32_t)vtac_tensor_int(p->zeros, 0);
}

static bool good_scales(const vtac_tensor *scales)
{
    const int64_t count = scales == NULL ? 0 : vtac_type_elements(&scales->type);
    for (int64_t i = 0; i < count; i++) {
        const double s = vtac_tensor_float(scales, i);
        if (!(s > 0.0) || !isfinite(s)) {
            return false;
        }
    }
    return count > 0 && scales->type.dtype == VTAC_F32;
}

/* Inputs 1 and 2 of either operator; `dtype` is that of the integers. */
static bool read_params(const vtac_rewrite *r, const vtac_node *node, vtac_dtype dtype, vtac_qparams *out)
{
    const vtac_graph *g = r->graph;
    const bool has_zero = vtac_in_type(g, node, VTAC_QDQ_ZERO) != NULL;
    *out = (vtac_qparams){.dtype = dtype,
                          .scale = node->inputs[VTAC_QDQ_SCALE],
                          .zero = has_zero ? node->inputs[VTAC_QDQ_ZERO] : 0,
                          .scales = vtac_in_constant(g, node, VTAC_QDQ_SCALE),
                          .zeros = vtac_in_constant(g, node, VTAC_QDQ_ZERO)};
    if (vtac_attr_int(node, "block_size", 0) != 0 || !good_scales(out->scales) ||
        (has_zero && (out->zeros == NULL || out->zeros->type.dtype != dtype))) {
        return false;
    }
    const int64_t count = vtac_type_elements(&out->scales->type);
    const int64_t rank = (int64_t)g->values[node->inputs[VTAC_QDQ_X]].type.rank;
    const int64_t axis = vtac_attr_int(node, "axis", 1);
    out->per_axis = count > 1;
    out->axis = (uint32_t)(axis < 0 ? axis + rank : axis);
    return out->zeros == NULL || vtac_type_elements(&out->zeros->type) == count;
}

bool vtac_read_dequantize(const vtac_rewrite *r, vtac_value_id value, vtac_qvalue *out)
{
    const vtac_node *node = value == 0 ? NULL : vtac_producer(r, value);
    if (node == NULL || node->op != VTAC_OP_DEQUANTIZE_LINEAR) {
        return false;
    }
    out->q = node->inputs[VTAC_QDQ_X];
    const vtac_dtype dtype = r->graph->values[out->q].type.dtype;
    return (dtype == VTAC_I8 || dtype == VTAC_U8 || dtype == VTAC_I32) &&
           read_params(r, node, dtype, &out->p);
}

bool vtac_read_activation(const vtac_rewrite *r, vtac_value_id value, vtac_qvalue *out)
{
    return vtac_read_dequantize(r, value, out) && !out->p.per_axis && out->p.dtype != VTAC_I32;
}

bool vtac_read_quantize(const vtac_rewrite *r, const vtac_node *node, vtac_qparams *out)
{
    const vtac_dtype dtype = r->graph->values[node->outputs[0]].type.dtype;
    return (dtype == VTAC_I8 || dtype == VTAC_U8) && read_params(r, node, dtype, out) && !out->per_axis;
}

/* Equal contents; the shapes [] and [1] do not matter. */
static bool same_contents(const vtac_tensor *a, const vtac_tensor *b)
{
    return a->bytes == b->bytes && memcmp(a->data, b->data, a->bytes) == 0;
}

static bool all_zero(const vtac_tensor *t)
{
    for (int64_t i = 0; t != NULL && i < vtac_type_elements(&t->type); i++) {
        if (vtac_tensor_int(t, i) != 0) {
            return false;
        }
    }
    return true;
}

bool vtac_same_params(const vtac_qparams *a, const vtac_qparams *b)
{
    if (a->dtype != b->dtype || a->per_axis != b->per_axis || (a->per_axis && a->axis != b->axis) ||
        !same_contents(a->scales, b->scales)) {
        return false;
    }
    return a->zeros != NULL && b->zeros != NULL ? same_contents(a->zeros, b->zeros)
                                                : all_zero(a->zeros) && all_zero(b->zeros);
}

bool vtac_same_reals(const vtac_qparams *a, const vtac_qparams *b)
{
    if (a->per_axis || b->per_axis || a->dtype == VTAC_I32 || b->dtype == VTAC_I32) {
        return vtac_same_params(a, b);
    }
    return same_contents(a->scales, b->scales) &&
           vtac_qzero(a) - vtac_qlow(a->dtype) == vtac_qzero(b) - vtac_qlow(b->dtype);
}

vta_status vtac_zero_operand(vtac_rewrite *r, const vtac_qparams *p, vtac_value_id *out)
{
    static const int32_t zero = 0;
    const vtac_type type = {.dtype = p->dtype};
    *out = p->zero;
    return p->zero != 0 ? VTA_OK : vtac_new_constant(r, NULL, &type, &zero, out);
}

/* Element i of what a DequantizeLinear makes of known integers. */
static double known_real(const vtac_tensor *known, const vtac_qparams *p, int64_t i)
{
    int64_t inner = 1;
    for (uint32_t axis = p->axis + 1; p->per_axis && axis < known->type.rank; axis++) {
        inner *= known->type.dim[axis];
    }
    const int64_t at = p->per_axis ? i / inner % vtac_type_elements(&p->scales->type) : 0;
    const double zero = p->zeros != NULL ? vtac_tensor_float(p->zeros, at) : 0.0;
    return (vtac_tensor_float(known, i) - zero) * vtac_tensor_float(p->scales, at);
}

vta_status vtac_known_floats(vtac_fold *f, vtac_value_id value, const vtac_type *type, int64_t first,
                             vtac_value_id *out)
{
    vtac_qvalue stored;
    const bool quantized = vtac_read_dequantize(f->r, value, &stored);
    const vtac_tensor *known = f->r->graph->values[quantized ? stored.q : value].constant;
    const int64_t count = vtac_type_elements(type);
    *out = 0;
    if (known == NULL || first + count > vtac_type_elements(&known->type) ||
        (first == 0 && known->type.rank == type->rank && vtac_type_elements(&known->type) != count)) {
        return VTA_OK;
    }
    float *numbers = vta_arena_array(&f->r->graph->arena, (size_t)count + 1, sizeof *numbers);
    if (numbers == NULL) {
        return vta_no_memory(f->r->diag);
    }
    for (int64_t i = 0; i < count; i++) {
        numbers[i] = (float)(quantized ? known_real(known, &stored.p, first + i)
                                       : vtac_tensor_float(known, first + i));
    }
    return vtac_new_constant(f->r, NULL, type, numbers, out);
}
