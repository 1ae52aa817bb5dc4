/* SPDX-License-Identifier: Apache-2.0
 *
 * fold-qdq: LSTM, GRU and RNN between DequantizeLinear and QuantizeLinear, as a Recurrence for each
 * direction.
 */
#include "qdq.h"
#include "vta/fail.h"
#include "vtac/recurrence.h"

enum { ONNX_W = 1, ONNX_R = 2, ONNX_B = 3, INPUTS = 8 };

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

/* The Recurrence of a direction; *out 0: it has none. */
static vta_status make_direction(const float_cell *c, int64_t direction, vtac_value_id *out)
{
    vtac_fold *f = c->f;
    const bool reverse = direction == 1 || vtac_attr_string(&f->core, "direction", "forward")[0] == 'r';
    const vtac_type w = {.dtype = VTAC_F32, .rank = 2, .dim = {c->rows, c->inputs}};
    const vtac_type r = {.dtype = VTAC_F32, .rank = 2, .dim = {c->rows, c->hidden}};
    const vtac_type b = {.dtype = VTAC_F32, .rank = 1, .dim = {2 * c->rows}};
    vtac_value_id inputs[INPUTS] = {c->x.q, c->x.p.scale, 0, f->y.scale, f->y_zero};
    vtac_attr attrs[] = {{.name = "kind", .kind = VTAC_ATTR_INT, .i = (int64_t)c->kind},
                         {.name = "reset_after",
                          .kind = VTAC_ATTR_INT,
                          .i = vtac_attr_int(&f->core, "linear_before_reset", 0) != 0},
                         {.name = "reverse", .kind = VTAC_ATTR_INT, .i = reverse}};
    VTA_TRY(vtac_zero_operand(f->r, &c->x.p, &inputs[2]));
    VTA_TRY(read_part(c, ONNX_W, direction, &w, &inputs[5]));
    VTA_TRY(read_part(c, ONNX_R, direction, &r, &inputs[6]));
    VTA_TRY(read_part(c, ONNX_B, direction, &b, &inputs[7]));
    const vtac_node_spec spec = {.op = VTAC_OP_RECURRENCE,
                                 .inputs = inputs,
                                 .input_count = INPUTS,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = 3};
    const vtac_node probe = {
        .op = spec.op, .inputs = inputs, .input_count = INPUTS, .attrs = attrs, .attr_count = 3};
    vtac_recurrent numbers;
    *out = 0;
    return inputs[5] != 0 && inputs[6] != 0 && inputs[7] != 0 &&
                   vtac_recurrent_of_node(f->r->graph, &probe, &f->r->graph->arena, &numbers)
               ? vtac_new_node(f->r, f->at, &f->core, spec, out)
               : VTA_OK;
}

static vta_status reshape(const float_cell *c, const int64_t *dims, uint32_t rank, vtac_value_id *x)
{
    vtac_value_id inputs[2] = {*x};
    VTA_TRY(vtac_new_ints(c->f->r, dims, rank, &inputs[1]));
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
    vtac_value_id parts[2] = {0, 0};
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
        VTA_TRY(make_direction(&c, d, &parts[d]));
        if (parts[d] == 0) {
            return VTA_OK;
        }
    }
    *out = parts[0];
    return c.directions == 1 ? reshape(&c, (int64_t[]){c.steps, 1, c.batch, c.hidden}, 4, out)
                             : join_directions(&c, parts, out);
}
