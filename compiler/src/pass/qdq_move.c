/* SPDX-License-Identifier: Apache-2.0
 *
 * fold-qdq: DequantizeLinear goes down and QuantizeLinear goes up past operators that move elements without
 * computing, or choose among them by order: scales are positive, so the order of the integers is that of the
 * reals. Nothing is rounded on the way: these are equalities.
 */
#include <math.h>
#include <string.h>

#include "qdq.h"
#include "vta/fail.h"

/* Treatment of a mover's operands. */
typedef enum mover_kind {
    NOT_A_MOVER,
    FIRST,     /* input 0 is data, the others say where it goes */
    ALL,       /* all inputs are data and need the same scale and zero point */
    BOTH,      /* so are the first two, and the third says where the second goes */
    PADDED,    /* as FIRST; the padding must be the real 0 */
    TRANSPOSED /* as FIRST; axes trade places, so that scales along an axis follow it */
} mover_kind;

enum { RESCALE_INPUTS = 5 }; /* of a QLinearConcat of one part */

/* Operators that move elements. `whole` ones output every element of the input exactly once. */
static const struct mover_row {
    mover_kind kind;
    bool whole;
} movers[VTAC_OP_COUNT] = {
    [VTAC_OP_DEPTH_TO_SPACE] = {FIRST, true},
    [VTAC_OP_EXPAND] = {FIRST, false},
    [VTAC_OP_FLATTEN] = {FIRST, true},
    [VTAC_OP_GATHER] = {FIRST, false},
    [VTAC_OP_GATHER_ELEMENTS] = {FIRST, false},
    [VTAC_OP_GATHER_ND] = {FIRST, false},
    [VTAC_OP_GLOBAL_MAX_POOL] = {FIRST, false},
    [VTAC_OP_IDENTITY] = {FIRST, false},
    [VTAC_OP_REDUCE_MAX] = {FIRST, false},
    [VTAC_OP_REDUCE_MIN] = {FIRST, false},
    [VTAC_OP_RESHAPE] = {FIRST, true},
    [VTAC_OP_SLICE] = {FIRST, false},
    [VTAC_OP_SPACE_TO_DEPTH] = {FIRST, true},
    [VTAC_OP_SPLIT] = {FIRST, false},
    [VTAC_OP_SQUEEZE] = {FIRST, true},
    [VTAC_OP_TILE] = {FIRST, false},
    [VTAC_OP_UNSQUEEZE] = {FIRST, true},
    [VTAC_OP_DROPOUT] = {FIRST, false},
    [VTAC_OP_MAX_POOL] = {FIRST, false},
    [VTAC_OP_RESIZE] = {FIRST, false},
    [VTAC_OP_CONCAT] = {ALL, false},
    [VTAC_OP_MAX] = {ALL, false},
    [VTAC_OP_MIN] = {ALL, false},
    [VTAC_OP_PAD] = {PADDED, false},
    [VTAC_OP_TENSOR_SCATTER] = {BOTH, false},
    [VTAC_OP_TRANSPOSE] = {TRANSPOSED, true},
};

static bool only_moves(const vtac_node *node)
{
    if (node->op == VTAC_OP_DROPOUT || node->op == VTAC_OP_MAX_POOL) {
        return node->output_count == 1;
    }
    if (node->op == VTAC_OP_RESIZE) {
        const char *coordinates = vtac_attr_string(node, "coordinate_transformation_mode", "");
        return strcmp(vtac_attr_string(node, "mode", "nearest"), "nearest") == 0 &&
               strcmp(coordinates, "tf_crop_and_resize") != 0;
    }
    return true;
}

static mover_kind kind_of(const vtac_node *node)
{
    return only_moves(node) ? movers[node->op].kind : NOT_A_MOVER;
}

/* The number of its first inputs that are data. */
static uint32_t data_count(const vtac_node *node, mover_kind kind)
{
    return kind == ALL ? node->input_count : kind == BOTH ? 2 : 1;
}

/* True if a Pad fills with the real 0, or repeats elements. */
static bool pads_with_zero(const vtac_rewrite *r, const vtac_node *node)
{
    double value;
    return vtac_in_type(r->graph, node, VTAC_PAD_VALUE) == NULL ||
           (vtac_scalar_of(r->graph, node->inputs[VTAC_PAD_VALUE], &value) && value == 0.0);
}

/* The integers of all data inputs; false where one has none, or the parameters differ. */
static bool read_data(const vtac_rewrite *r, const vtac_node *node, mover_kind kind, vtac_value_id *inputs,
                      vtac_qparams *params)
{
    memcpy(inputs, node->inputs, node->input_count * sizeof *inputs);
    for (uint32_t i = 0; i < data_count(node, kind); i++) {
        vtac_qvalue x;
        if (!vtac_read_dequantize(r, node->inputs[i], &x) || x.p.dtype == VTAC_I32 ||
            (x.p.per_axis && kind != TRANSPOSED) || (i > 0 && !vtac_same_params(&x.p, params))) {
            return false;
        }
        inputs[i] = x.q;
        *params = x.p;
    }
    return kind != PADDED || pads_with_zero(r, node);
}

/* Pad's third input: the zero point as a scalar. */
static vta_status pad_value(vtac_rewrite *r, const vtac_qparams *p, uint32_t *count, vtac_value_id *inputs)
{
    const int32_t zero = vtac_qzero(p); /* little endian: the first byte is the int8 */
    const vtac_type type = {.dtype = p->dtype};
    for (; *count < 3; (*count)++) {
        inputs[*count] = 0;
    }
    return vtac_new_constant(r, NULL, &type, &zero, &inputs[VTAC_PAD_VALUE]);
}

/* The axis of the scales after a Transpose. */
static uint32_t turned_axis(const vtac_node *node, uint32_t axis, uint32_t rank)
{
    const vtac_attr *perm = vtac_find_attr(node, "perm");
    for (uint32_t i = 0; i < rank; i++) {
        const int64_t from = perm != NULL ? perm->ints[i] : (int64_t)rank - 1 - i;
        if (from == (int64_t)axis) {
            return i;
        }
    }
    return axis;
}

/* OP(x, scale, zero), per axis or not. */
static vta_status insert_convert(vtac_rewrite *r, vtac_node_id before, const vtac_node *like, vtac_op op,
                                 vtac_value_id x, const vtac_qparams *p, vtac_value_id *out)
{
    const vtac_value_id inputs[] = {x, p->scale, p->zero};
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = p->axis};
    const vtac_node_spec spec = {.op = op,
                                 .inputs = inputs,
                                 .input_count = p->zero == 0 ? 2 : 3,
                                 .output_count = 1,
                                 .attrs = &axis,
                                 .attr_count = p->per_axis ? 1 : 0};
    return vtac_new_node(r, before, like, spec, out);
}

/* The mover on integers, with the same attributes. */
static vta_status move_integers(vtac_rewrite *r, vtac_node_id before, const vtac_node *mover,
                                const vtac_value_id *inputs, uint32_t count, vtac_value_id *outputs)
{
    if (mover->op == VTAC_OP_GLOBAL_MAX_POOL) {
        return vtac_plane_maximum(r, before, mover, inputs, outputs);
    }
    const vtac_node_spec spec = {.op = mover->op,
                                 .inputs = inputs,
                                 .input_count = count,
                                 .output_count = mover->output_count,
                                 .attrs = mover->attrs,
                                 .attr_count = mover->attr_count};
    return vtac_new_node(r, before, mover, spec, outputs);
}

vta_status vtac_sink_dequantize(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node mover = r->graph->nodes[id];
    const mover_kind kind = kind_of(&mover);
    if (kind == NOT_A_MOVER) {
        return VTA_OK;
    }
    vtac_value_id *inputs = vta_arena_array(&r->graph->arena, mover.input_count + 3, sizeof *inputs);
    vtac_value_id *outputs = vta_arena_array(&r->graph->arena, mover.output_count, sizeof *outputs);
    if (inputs == NULL || outputs == NULL) {
        return vta_no_memory(r->diag);
    }
    vtac_qparams p = {0};
    uint32_t count = mover.input_count;
    if (!read_data(r, &mover, kind, inputs, &p)) {
        return VTA_OK;
    }
    if (kind == PADDED) {
        VTA_TRY(pad_value(r, &p, &count, inputs));
    }
    if (p.per_axis) {
        p.axis = turned_axis(&mover, p.axis, r->graph->values[mover.outputs[0]].type.rank);
    }
    VTA_TRY(move_integers(r, id, &mover, inputs, count, outputs));
    for (uint32_t i = 0; i < mover.output_count; i++) {
        vtac_value_id real;
        VTA_TRY(insert_convert(r, id, &mover, VTAC_OP_DEQUANTIZE_LINEAR, outputs[i], &p, &real));
        vtac_replace(r, mover.outputs[i], real);
    }
    vtac_remove_node(r->graph, id);
    *changed = true;
    return VTA_OK;
}

bool vtac_orders_anew(const vtac_node *node)
{
    return movers[node->op].whole;
}

vta_status vtac_move_like(vtac_rewrite *r, vtac_node_id before, const vtac_node *mover,
                          const vtac_value_id *inputs, vtac_value_id *outputs)
{
    return move_integers(r, before, mover, inputs, mover->input_count, outputs);
}

/* True for a node that only moves elements, and whose first input alone is data. */
static bool moves_one(const vtac_node *node)
{
    const mover_kind kind = kind_of(node);
    const bool chooses = node->op == VTAC_OP_MAX_POOL || node->op == VTAC_OP_GLOBAL_MAX_POOL ||
                         node->op == VTAC_OP_REDUCE_MAX || node->op == VTAC_OP_REDUCE_MIN;
    const bool repeats = node->op == VTAC_OP_EXPAND || node->op == VTAC_OP_TILE || node->op == VTAC_OP_RESIZE;
    return (kind == FIRST || kind == TRANSPOSED) && !chooses && !repeats;
}

/* True if all that reads a value moves its elements. */
static bool is_only_moved(const vtac_rewrite *r, vtac_value_id value)
{
    const vtac_value *v = &r->graph->values[value];
    bool moved = v->output_uses == 0;
    for (uint32_t i = 0; moved && i < v->user_count; i++) {
        const vtac_node *user = &r->graph->nodes[v->users[i]];
        moved = user->dead || (user->inputs[0] == value && moves_one(user));
    }
    return moved;
}

vta_status vtac_sink_table(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node mover = r->graph->nodes[id];
    const vtac_node *above = moves_one(&mover) ? vtac_producer(r, mover.inputs[0]) : NULL;
    if (above == NULL || above->op != VTAC_OP_LOOK_UP || !is_only_moved(r, mover.inputs[0]) ||
        r->graph->values[mover.inputs[0]].type.dtype != VTAC_F32) {
        return VTA_OK;
    }
    const vtac_node table = *above;
    vtac_value_id *inputs = vta_arena_array(&r->graph->arena, mover.input_count + 1, sizeof *inputs);
    vtac_value_id *outputs = vta_arena_array(&r->graph->arena, mover.output_count, sizeof *outputs);
    if (inputs == NULL || outputs == NULL) {
        return vta_no_memory(r->diag);
    }
    memcpy(inputs, mover.inputs, mover.input_count * sizeof *inputs);
    inputs[0] = table.inputs[VTAC_LOOK_UP_X];
    VTA_TRY(move_integers(r, id, &mover, inputs, mover.input_count, outputs));
    for (uint32_t i = 0; i < mover.output_count; i++) {
        vtac_value_id real;
        if (mover.outputs[i] == 0) {
            continue;
        }
        const vtac_value_id operands[] = {outputs[i], table.inputs[VTAC_LOOK_UP_TABLE]};
        const vtac_node_spec spec = {.op = VTAC_OP_LOOK_UP,
                                     .inputs = operands,
                                     .input_count = 2,
                                     .output_count = 1,
                                     .attrs = table.attrs,
                                     .attr_count = table.attr_count};
        VTA_TRY(vtac_new_node(r, id, &table, spec, &real));
        vtac_replace(r, mover.outputs[i], real);
    }
    vtac_remove_node(r->graph, id);
    *changed = true;
    return VTA_OK;
}

/* A constant of floats that another node looks up, as the bytes that QuantizeLinear would make of what it
 * finds; NaN gives 0. */
static vta_status quantize_table(vtac_rewrite *r, vtac_value_id table, const vtac_qparams *p,
                                 vtac_value_id *out)
{
    const vtac_tensor from = *r->graph->values[table].constant;
    const size_t count = (size_t)vtac_type_elements(&from.type);
    const float *real = from.data;
    const float scale = vtac_qscale(p), zero = (float)vtac_qzero(p);
    const float low = (float)vtac_qlow(p->dtype), high = (float)vtac_qhigh(p->dtype);
    uint8_t *bytes = vta_arena_array(&r->graph->arena, count + 1, 1);
    if (bytes == NULL) {
        return vta_no_memory(r->diag);
    }
    for (size_t i = 0; i < count; i++) {
        const float q = rintf(real[i] / scale) + zero;
        bytes[i] = (uint8_t)(int32_t)(q >= high ? high : q > low ? q : q <= low ? low : 0.0F);
    }
    vtac_tensor tensor = {.type = from.type, .data = bytes, .bytes = count};
    tensor.type.dtype = p->dtype;
    return vtac_add_constant(r->graph, NULL, &tensor, out, r->diag);
}

/* True for rows of a constant that the run looks up. */
static bool looks_up(const vtac_rewrite *r, const vtac_node *mover)
{
    const vtac_tensor *table =
        mover->op == VTAC_OP_GATHER ? vtac_in_constant(r->graph, mover, VTAC_GATHER_DATA) : NULL;
    return table != NULL && table->type.dtype == VTAC_F32 &&
           vtac_in_constant(r->graph, mover, VTAC_GATHER_INDICES) == NULL;
}

/* True if quantizing before the mover costs nothing more, or may be fused to the maker of its operand. */
static bool worth_raising(const vtac_rewrite *r, const vtac_node *mover, mover_kind kind)
{
    const vtac_value *values = r->graph->values;
    if (looks_up(r, mover)) {
        return true;
    }
    for (uint32_t i = 0; i < data_count(mover, kind); i++) {
        const vtac_value *in = &values[mover->inputs[i]];
        const bool shrinks =
            vtac_type_elements(&in->type) > vtac_type_elements(&values[mover->outputs[0]].type);
        if (in->type.dtype != VTAC_F32 || in->constant != NULL ||
            (shrinks && (in->node == 0 || vtac_only_user(r, mover->inputs[i]) == NULL))) {
            return false;
        }
    }
    return true;
}

vta_status vtac_raise_quantize(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node quantize = r->graph->nodes[id];
    const vtac_node *above = vtac_producer(r, quantize.inputs[VTAC_QDQ_X]);
    vtac_qparams p;
    if (above == NULL || vtac_only_user(r, quantize.inputs[VTAC_QDQ_X]) == NULL || above->output_count != 1 ||
        !vtac_read_quantize(r, &quantize, &p)) {
        return VTA_OK;
    }
    const vtac_node mover = *above;
    const mover_kind kind = kind_of(&mover);
    vtac_value_id inputs[VTAC_MAX_RANK + 3];
    uint32_t count = mover.input_count;
    if (kind == NOT_A_MOVER || count > VTAC_MAX_RANK || (kind == PADDED && !pads_with_zero(r, &mover)) ||
        !worth_raising(r, &mover, kind)) {
        return VTA_OK;
    }
    memcpy(inputs, mover.inputs, count * sizeof *inputs);
    const bool known = looks_up(r, &mover);
    VTA_TRY(known ? quantize_table(r, mover.inputs[VTAC_GATHER_DATA], &p, &inputs[VTAC_GATHER_DATA])
                  : VTA_OK);
    for (uint32_t i = 0; i < (known ? 0 : data_count(&mover, kind)); i++) {
        VTA_TRY(insert_convert(r, id, &quantize, VTAC_OP_QUANTIZE_LINEAR, mover.inputs[i], &p, &inputs[i]));
    }
    if (kind == PADDED) {
        VTA_TRY(pad_value(r, &p, &count, inputs));
    }
    vtac_value_id out;
    VTA_TRY(move_integers(r, id, &mover, inputs, count, &out));
    vtac_replace(r, quantize.outputs[0], out);
    vtac_remove_node(r->graph, id);
    *changed = true;
    return VTA_OK;
}

/* True if each element of the output is a function of one integer, with scales and a table that are the same
 * for all elements. */
static bool is_function(const vtac_node *node)
{
    if (node->op == VTAC_OP_CLIP) {
        return node->input_count == 3;
    }
    if (node->op == VTAC_OP_QLINEAR_CONCAT) {
        return node->input_count == RESCALE_INPUTS;
    }
    return node->op == VTAC_OP_LOOK_UP || node->op == VTAC_OP_QLINEAR_LEAKY_RELU ||
           node->op == VTAC_OP_QLINEAR_SIGMOID;
}

/* The input that is data: a change of scale begins with that of its output. */
static uint32_t data_of(const vtac_node *function)
{
    return function->op == VTAC_OP_QLINEAR_CONCAT ? 2 : 0;
}

vta_status vtac_call_function(vtac_rewrite *r, vtac_node_id before, const vtac_node *function, uint32_t input,
                              vtac_value_id x, vtac_value_id *out)
{
    vtac_value_id *inputs = vta_arena_array(&r->graph->arena, function->input_count, sizeof *inputs);
    if (inputs == NULL) {
        return vta_no_memory(r->diag);
    }
    memcpy(inputs, function->inputs, function->input_count * sizeof *inputs);
    inputs[input] = x;
    const vtac_attr channels = {
        .name = "axis", .kind = VTAC_ATTR_INT, .i = r->graph->values[x].type.rank > 1}; /* joins one */
    const bool joins = function->op == VTAC_OP_QLINEAR_CONCAT;
    const vtac_node_spec spec = {.op = function->op,
                                 .inputs = inputs,
                                 .input_count = function->input_count,
                                 .output_count = 1,
                                 .attrs = joins ? &channels : function->attrs,
                                 .attr_count = joins ? 1 : function->attr_count};
    return vtac_new_node(r, before, function, spec, out);
}

static bool is_made(const vtac_rewrite *r, vtac_value_id value)
{
    return r->graph->values[value].node != 0 && vtac_only_user(r, value) != NULL;
}

vta_status vtac_raise_function(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node function = r->graph->nodes[id];
    const vtac_value_id x = is_function(&function) ? function.inputs[data_of(&function)] : 0;
    const vtac_node *above = x != 0 ? vtac_producer(r, x) : NULL;
    const vtac_dtype dtype = above == NULL ? VTAC_F32 : r->graph->values[x].type.dtype;
    if (above == NULL || (dtype != VTAC_I8 && dtype != VTAC_U8) || !is_made(r, x)) {
        return VTA_OK;
    }
    const vtac_node mover = *above;
    const bool joins = mover.op == VTAC_OP_CONCAT;
    bool good = joins || (movers[mover.op].whole && is_made(r, mover.inputs[0]));
    for (uint32_t i = 0; joins && i < mover.input_count; i++) {
        good = good && is_made(r, mover.inputs[i]);
    }
    if (!good) {
        return VTA_OK;
    }
    vtac_value_id *inputs = vta_arena_array(&r->graph->arena, mover.input_count, sizeof *inputs);
    vtac_value_id out;
    if (inputs == NULL) {
        return vta_no_memory(r->diag);
    }
    memcpy(inputs, mover.inputs, mover.input_count * sizeof *inputs);
    for (uint32_t i = 0; i < (joins ? mover.input_count : 1); i++) {
        VTA_TRY(vtac_call_function(r, id, &function, data_of(&function), mover.inputs[i], &inputs[i]));
    }
    VTA_TRY(move_integers(r, id, &mover, inputs, mover.input_count, &out));
    vtac_replace(r, function.outputs[0], out);
    vtac_remove_node(r->graph, id);
    *changed = true;
    return VTA_OK;
}
