/* SPDX-License-Identifier: Apache-2.0
 *
 * fold-qdq: LSTM, GRU and RNN between DequantizeLinear and QuantizeLinear, as a Recurrence for each
 * direction.
 */
#include "qdq.h"
#include "vta/fail.h"
#include "vtac/recurrence.h"

/* A cell of floats while it becomes integers. */
typedef struct float_cell {
    vtac_fold *f;
    vtac_qvalue x;
    vtac_recurrent_kind kind;
    int64_t steps, batch, inputs, hidden, directions, rows;
} float_cell;

/* Some parameters of a direction, which may be absent: the bias. */
static vta_status read_part(const float_cell *c, uint32_t input, int64_t direction, const vtac_type *type,
                            vtac_value_id *out)
{
    vtac_fold *f = c->f;
    if (vtac_in_type(f->r->graph, &f->core, input) == NULL) {
        float *none =
            vta_arena_array(&f->r->graph->arena, (size_t)vtac_type_elements(type) + 1, sizeof *none);
        return none == NULL ? vta_no_memory(f->r->diag) : vtac_new_constant(f->r, NULL, type, none, out);
    }
    return vtac_known_floats(f, f->core.inputs[input], type, direction * vtac_type_elements(type), out);
}

/* ---- states: floats outside, integers inside */

static vta_status add_simple(const float_cell *c, vtac_op op, const vtac_value_id *inputs, uint32_t count,
                             vtac_value_id *out)
{
    return vtac_new_simple(c->f->r, c->f->at, &c->f->core, op, inputs, count, out);
}

static vta_status add_with(const float_cell *c, vtac_op op, const vtac_value_id *inputs, uint32_t count,
                           vtac_attr attr, vtac_value_id *out)
{
    return vtac_new_node(c->f->r, c->f->at, &c->f->core,
                         (vtac_node_spec){.op = op,
                                          .inputs = inputs,
                                          .input_count = count,
                                          .output_count = 1,
                                          .attrs = &attr,
                                          .attr_count = 1},
                         out);
}

static vta_status take_slice(const float_cell *c, vtac_value_id x, int64_t at, vtac_value_id *out)
{
    vtac_value_id inputs[] = {x, 0, 0, 0};
    VTA_TRY(vtac_new_ints(c->f->r, (int64_t[]){at}, 1, &inputs[VTAC_SLICE_STARTS]));
    VTA_TRY(vtac_new_ints(c->f->r, (int64_t[]){at + 1}, 1, &inputs[VTAC_SLICE_ENDS]));
    VTA_TRY(vtac_new_ints(c->f->r, (int64_t[]){0}, 1, &inputs[VTAC_SLICE_AXES]));
    return add_simple(c, VTAC_OP_SLICE, inputs, 4, out);
}

/* A direction of a state that is given, [1, batch, hidden]. */
static vta_status given_state(const float_cell *c, uint32_t input, int64_t direction, vtac_value_id *out)
{
    vtac_fold *f = c->f;
    const vtac_type type = {.dtype = VTAC_F32, .rank = 3, .dim = {1, c->batch, c->hidden}};
    if (vtac_in_type(f->r->graph, &f->core, input) == NULL) {
        float *none =
            vta_arena_array(&f->r->graph->arena, (size_t)vtac_type_elements(&type) + 1, sizeof *none);
        return none == NULL ? vta_no_memory(f->r->diag) : vtac_new_constant(f->r, NULL, &type, none, out);
    }
    *out = f->core.inputs[input];
    return c->directions == 1 ? VTA_OK : take_slice(c, *out, direction, out);
}

/* h in the scale of y, as int8. */
static vta_status state_in_bytes(const float_cell *c, vtac_value_id x, vtac_value_id *out)
{
    const int8_t zero = (int8_t)(vtac_qzero(&c->f->y) - (c->f->y.dtype == VTAC_U8 ? -INT8_MIN : 0));
    vtac_value_id inputs[VTAC_QDQ_INPUTS] = {x, c->f->y.scale, 0};
    VTA_TRY(vtac_new_constant(c->f->r, NULL, &(vtac_type){.dtype = VTAC_I8}, &zero, &inputs[VTAC_QDQ_ZERO]));
    return add_simple(c, VTAC_OP_QUANTIZE_LINEAR, inputs, 3, out);
}

/* C or H as bytes, or floats of them. */
static vta_status convert_state(const float_cell *c, vtac_op op, vtac_value_id x, vtac_value_id *out)
{
    const vtac_attr kind = {.name = "kind", .kind = VTAC_ATTR_INT, .i = (int64_t)c->kind};
    return add_with(c, op, &x, 1, kind, out);
}

/* Adds the states that a direction begins with, as a Recurrence takes them. */
static vta_status begin_state(const float_cell *c, int64_t direction, vtac_value_id *inputs)
{
    const uint32_t of_wide =
        c->kind == VTAC_RECURRENT_LSTM ? VTAC_RECURRENT_INITIAL_C : VTAC_RECURRENT_INITIAL_H;
    vtac_value_id x;
    if (!vtac_recurrent_has_state(c->f->r->graph, &c->f->core)) {
        return VTA_OK;
    }
    if (c->kind != VTAC_RECURRENT_GRU) {
        VTA_TRY(given_state(c, VTAC_RECURRENT_INITIAL_H, direction, &x));
        VTA_TRY(state_in_bytes(c, x, &inputs[VTAC_RECURRENCE_H_BEFORE]));
    }
    if (c->kind == VTAC_RECURRENT_RNN) {
        return VTA_OK;
    }
    VTA_TRY(given_state(c, of_wide, direction, &x));
    return convert_state(c, VTAC_OP_STATE_BYTES, x, &inputs[VTAC_RECURRENCE_STATE]);
}

/* h at the end of a direction, as floats: its last step of y. */
static vta_status last_step(const float_cell *c, vtac_value_id y, int64_t direction, vtac_value_id *out)
{
    const bool reverse = direction == 1 || vtac_attr_string(&c->f->core, "direction", "forward")[0] == 'r';
    vtac_value_id inputs[VTAC_QDQ_INPUTS] = {0, c->f->y.scale, c->f->y_zero};
    inputs[VTAC_QDQ_X] = y;
    if (c->steps > 1) {
        VTA_TRY(take_slice(c, y, reverse ? 0 : c->steps - 1, &inputs[VTAC_QDQ_X]));
    }
    return add_simple(c, VTAC_OP_DEQUANTIZE_LINEAR, inputs, VTAC_QDQ_INPUTS, out);
}

static bool gives(const float_cell *c, uint32_t output)
{
    return vtac_recurrent_gives(c->f->r->graph, &c->f->core, output);
}

/* True if C or H is read at the end. */
static bool gives_wide(const float_cell *c)
{
    return c->kind != VTAC_RECURRENT_RNN &&
           gives(c, c->kind == VTAC_RECURRENT_LSTM ? VTAC_RECURRENT_Y_C : VTAC_RECURRENT_Y_H);
}

/* A state of all directions in the place of what the layer gave. */
static vta_status replace_state(const float_cell *c, uint32_t output, const vtac_value_id *parts)
{
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = 0};
    vtac_value_id out = parts[0];
    VTA_TRY(c->directions == 1 ? VTA_OK : add_with(c, VTAC_OP_CONCAT, parts, 2, axis, &out));
    vtac_replace(c->f->r, c->f->core.outputs[output], out);
    return VTA_OK;
}

/* Both outputs of each direction's Recurrence. */
typedef struct direction_outputs {
    vtac_value_id of[VTAC_RECURRENCE_OUTPUTS];
} direction_outputs;

/* The states at the end, as floats. */
static vta_status give_states(const float_cell *c, const direction_outputs *made)
{
    vtac_value_id h[2] = {0, 0}, wide[2] = {0, 0};
    for (int64_t d = 0; d < c->directions; d++) {
        if (gives_wide(c)) {
            VTA_TRY(
                convert_state(c, VTAC_OP_STATE_FLOATS, made[d].of[VTAC_RECURRENCE_STATE_AFTER], &wide[d]));
        }
        if (gives(c, VTAC_RECURRENT_Y_H) && c->kind != VTAC_RECURRENT_GRU) {
            VTA_TRY(last_step(c, made[d].of[VTAC_RECURRENCE_Y], d, &h[d]));
        }
    }
    if (h[0] != 0) {
        VTA_TRY(replace_state(c, VTAC_RECURRENT_Y_H, h));
    }
    return wide[0] == 0
               ? VTA_OK
               : replace_state(c, c->kind == VTAC_RECURRENT_LSTM ? VTAC_RECURRENT_Y_C : VTAC_RECURRENT_Y_H,
                               wide);
}

/* ---- the layer */

/* The Recurrence of a direction; out all 0: it has none. */
static vta_status make_direction(const float_cell *c, int64_t direction, direction_outputs *out)
{
    vtac_fold *f = c->f;
    const bool reverse = direction == 1 || vtac_attr_string(&f->core, "direction", "forward")[0] == 'r';
    const vtac_type w = {.dtype = VTAC_F32, .rank = 2, .dim = {c->rows, c->inputs}};
    const vtac_type r = {.dtype = VTAC_F32, .rank = 2, .dim = {c->rows, c->hidden}};
    const vtac_type b = {.dtype = VTAC_F32, .rank = 1, .dim = {2 * c->rows}};
    vtac_value_id inputs[VTAC_RECURRENCE_INPUTS] = {c->x.q, c->x.p.scale, 0, f->y.scale, f->y_zero};
    vtac_attr attrs[] = {{.name = "kind", .kind = VTAC_ATTR_INT, .i = (int64_t)c->kind},
                         {.name = "reset_after",
                          .kind = VTAC_ATTR_INT,
                          .i = vtac_attr_int(&f->core, "linear_before_reset", 0) != 0},
                         {.name = "reverse", .kind = VTAC_ATTR_INT, .i = reverse}};
    VTA_TRY(vtac_zero_operand(f->r, &c->x.p, &inputs[VTAC_RECURRENCE_X_ZERO]));
    VTA_TRY(read_part(c, VTAC_RECURRENT_W, direction, &w, &inputs[VTAC_RECURRENCE_W]));
    VTA_TRY(read_part(c, VTAC_RECURRENT_R, direction, &r, &inputs[VTAC_RECURRENCE_R]));
    VTA_TRY(read_part(c, VTAC_RECURRENT_B, direction, &b, &inputs[VTAC_RECURRENCE_B]));
    VTA_TRY(begin_state(c, direction, inputs));
    const uint32_t input_count = inputs[VTAC_RECURRENCE_STATE] != 0      ? VTAC_RECURRENCE_INPUTS
                                 : inputs[VTAC_RECURRENCE_H_BEFORE] != 0 ? VTAC_RECURRENCE_STATE
                                                                         : VTAC_RECURRENCE_H_BEFORE;
    const vtac_node_spec spec = {.op = VTAC_OP_RECURRENCE,
                                 .inputs = inputs,
                                 .input_count = input_count,
                                 .output_count = gives_wide(c) ? 2 : 1,
                                 .attrs = attrs,
                                 .attr_count = 3};
    const vtac_node probe = {
        .op = spec.op, .inputs = inputs, .input_count = input_count, .attrs = attrs, .attr_count = 3};
    vtac_recurrent numbers;
    *out = (direction_outputs){{0}};
    return inputs[VTAC_RECURRENCE_W] != 0 && inputs[VTAC_RECURRENCE_R] != 0 &&
                   inputs[VTAC_RECURRENCE_B] != 0 &&
                   vtac_recurrent_of_node(f->r->graph, &probe, &f->r->graph->arena, &numbers)
               ? vtac_new_node(f->r, f->at, &f->core, spec, out->of)
               : VTA_OK;
}

static vta_status reshape(const float_cell *c, const int64_t *dims, uint32_t rank, vtac_value_id *x)
{
    vtac_value_id inputs[VTAC_RESHAPE_INPUTS] = {*x};
    VTA_TRY(vtac_new_ints(c->f->r, dims, rank, &inputs[VTAC_RESHAPE_SHAPE]));
    return vtac_new_simple(c->f->r, c->f->at, &c->f->core, VTAC_OP_RESHAPE, inputs, 2, x);
}

/* Both directions side by side, as Y has them: [steps, directions, batch, hidden]. */
static vta_status join_directions(const float_cell *c, const vtac_value_id *parts, vtac_value_id *out)
{
    static const int64_t perm[] = {0, 2, 1, 3};
    vtac_fold *f = c->f;
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = 2};
    const vtac_node_spec spec = {.op = VTAC_OP_CONCAT,
                                 .inputs = parts,
                                 .input_count = 2,
                                 .output_count = 1,
                                 .attrs = &axis,
                                 .attr_count = 1};
    VTA_TRY(vtac_new_node(f->r, f->at, &f->core, spec, out));
    VTA_TRY(reshape(c, (int64_t[]){c->steps, c->batch, c->directions, c->hidden}, 4, out));
    return vtac_new_transpose(f->r, f->at, &f->core, perm, 4, *out, out);
}

vta_status vtac_fold_recurrence(vtac_fold *f, vtac_value_id *out)
{
    float_cell c = {.f = f};
    direction_outputs made[2] = {0};
    *out = 0;
    if (!vtac_read_operand(f, &c.x) || !vtac_recurrent_kind_of(f->core.op, &c.kind) ||
        !vtac_recurrent_is_plain(f->r->graph, &f->core)) {
        return VTA_OK;
    }
    const vtac_type y = f->r->graph->values[f->core.outputs[0]].type;
    c.steps = y.dim[0];
    c.directions = y.dim[1];
    c.batch = y.dim[2];
    c.hidden = y.dim[3];
    c.inputs = f->r->graph->values[c.x.q].type.dim[2];
    c.rows = vtac_recurrent_gates(c.kind) * c.hidden;
    for (int64_t d = 0; d < c.directions; d++) {
        VTA_TRY(make_direction(&c, d, &made[d]));
        if (made[d].of[VTAC_RECURRENCE_Y] == 0) {
            return VTA_OK;
        }
    }
    VTA_TRY(give_states(&c, made));
    *out = made[0].of[VTAC_RECURRENCE_Y];
    return c.directions == 1
               ? reshape(&c, (int64_t[]){c.steps, 1, c.batch, c.hidden}, 4, out)
               : join_directions(
                     &c, (vtac_value_id[]){made[0].of[VTAC_RECURRENCE_Y], made[1].of[VTAC_RECURRENCE_Y]},
                     out);
}
