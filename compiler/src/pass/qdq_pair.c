/* SPDX-License-Identifier: Apache-2.0
 *
 * fold-qdq: two activations of one shape, and the mean over channels.
 *
 *     Q(Max(D(a), D(b)))             -> Max of both as numbers of the output
 *     Q(Sub(D(a), D(b)))             -> QLinearAdd(a, LookUp(b)), the table turns each integer over
 *     Q(ReduceMean(D(x))), channels  -> QLinearConv(x) with weights of 1
 *
 * An integer that is turned over, -1 - q (255 - q of uint8), stands for the negative real with the zero point
 * turned over as well, so that the difference is rounded once.
 */
#include "qdq.h"
#include "vta/fail.h"

enum { NUMBERS = 256 };

/* Both operands as integers of the output's type and shape. */
static bool read_pair(const vtac_fold *f, vtac_qvalue pair[2])
{
    const vtac_value *values = f->r->graph->values;
    bool good = f->core.input_count == 2;
    for (uint32_t i = 0; good && i < 2; i++) {
        good = vtac_read_activation(f->r, f->core.inputs[i], &pair[i]) && pair[i].p.dtype == f->y.dtype &&
               vtac_type_equal(&values[f->core.inputs[i]].type, &values[f->core.outputs[0]].type);
    }
    return good;
}

vta_status vtac_fold_choice(vtac_fold *f, vtac_value_id *out)
{
    vtac_qvalue pair[2];
    vtac_value_id inputs[2];
    *out = 0;
    if (!read_pair(f, pair)) {
        return VTA_OK;
    }
    for (uint32_t i = 0; i < 2; i++) {
        VTA_TRY(vtac_emit_rescale(f, &pair[i], &inputs[i]));
        if (inputs[i] == 0) {
            return VTA_OK;
        }
    }
    return vtac_new_simple(f->r, f->at, &f->core, f->core.op, inputs, 2, out);
}

/* *x becomes its negative: integers and zero point turned over. */
static vta_status negate_integers(vtac_fold *f, vtac_qvalue *x)
{
    const bool is_unsigned = x->p.dtype == VTAC_U8;
    const int32_t turned = (is_unsigned ? UINT8_MAX : -1) - vtac_qzero(&x->p); /* the low byte comes first */
    const vtac_type scalar = {.dtype = x->p.dtype}, list = {.dtype = x->p.dtype, .rank = 1, .dim = {NUMBERS}};
    const vtac_attr first = {.name = "first", .kind = VTAC_ATTR_INT, .i = is_unsigned ? 0 : INT8_MIN};
    uint8_t table[NUMBERS];
    for (int i = 0; i < NUMBERS; i++) {
        table[i] = (uint8_t)(is_unsigned ? UINT8_MAX - i : INT8_MAX - i);
    }
    vtac_value_id inputs[VTAC_LOOK_UP_INPUTS] = {x->q};
    VTA_TRY(vtac_new_constant(f->r, NULL, &list, table, &inputs[VTAC_LOOK_UP_TABLE]));
    VTA_TRY(vtac_new_constant(f->r, NULL, &scalar, &turned, &x->p.zero));
    const vtac_node_spec spec = {.op = VTAC_OP_LOOK_UP,
                                 .inputs = inputs,
                                 .input_count = 2,
                                 .output_count = 1,
                                 .attrs = &first,
                                 .attr_count = 1};
    return vtac_new_node(f->r, f->at, &f->core, spec, &x->q);
}

vta_status vtac_fold_difference(vtac_fold *f, vtac_value_id *out)
{
    vtac_qvalue pair[2];
    vtac_fixed_sum sum;
    vtac_value_id zero;
    *out = 0;
    if (!read_pair(f, pair) ||
        !vtac_fixed_sum_of(vtac_qscale(&pair[0].p), vtac_qscale(&pair[1].p), vtac_qscale(&f->y), &sum)) {
        return VTA_OK;
    }
    VTA_TRY(negate_integers(f, &pair[1]));
    VTA_TRY(vtac_zero_operand(f->r, &pair[0].p, &zero));
    const vtac_value_id inputs[] = {pair[0].q,       pair[0].p.scale, zero,       pair[1].q,
                                    pair[1].p.scale, pair[1].p.zero,  f->y.scale, f->y_zero};
    return vtac_new_simple(f->r, f->at, &f->core, VTAC_OP_QLINEAR_ADD, inputs, 8, out);
}

vta_status vtac_fold_channel_mean(vtac_fold *f, const vtac_qvalue *x, vtac_value_id *out)
{
    const int64_t channels = f->r->graph->values[x->q].type.dim[1];
    const vtac_type weights = {.dtype = VTAC_I8, .rank = 4, .dim = {1, channels, 1, 1}};
    const vtac_type real = {.dtype = VTAC_F32}, scalar = {.dtype = VTAC_I8};
    const float part = 1.0F / (float)channels;
    static const int8_t nothing = 0;
    vtac_value_id inputs[8] = {x->q, x->p.scale};
    vtac_fixed fixed;
    *out = 0;
    if (channels < 1 ||
        !vtac_fixed_of(vtac_scale_product(vtac_qscale(&x->p), part, vtac_qscale(&f->y)), &fixed)) {
        return VTA_OK;
    }
    int8_t *ones = vta_arena_array(&f->r->graph->arena, (size_t)channels, 1);
    if (ones == NULL) {
        return vta_no_memory(f->r->diag);
    }
    for (int64_t c = 0; c < channels; c++) {
        ones[c] = 1;
    }
    VTA_TRY(vtac_zero_operand(f->r, &x->p, &inputs[VTAC_QLINEAR_CONV_X_ZERO]));
    VTA_TRY(vtac_new_constant(f->r, NULL, &weights, ones, &inputs[VTAC_QLINEAR_CONV_WEIGHT]));
    VTA_TRY(vtac_new_constant(f->r, NULL, &real, &part, &inputs[VTAC_QLINEAR_CONV_WEIGHT_SCALE]));
    VTA_TRY(vtac_new_constant(f->r, NULL, &scalar, &nothing, &inputs[VTAC_QLINEAR_CONV_WEIGHT_ZERO]));
    inputs[VTAC_QLINEAR_CONV_Y_SCALE] = f->y.scale;
    inputs[VTAC_QLINEAR_CONV_Y_ZERO] = f->y_zero;
    return vtac_new_simple(f->r, f->at, &f->core, VTAC_OP_QLINEAR_CONV, inputs, 8, out);
}
