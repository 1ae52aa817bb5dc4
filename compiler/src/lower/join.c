/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that take tensors apart or put them together, and running sums and
 * products.
 */
#include <math.h>
#include <string.h>

#include "layout.h"
#include "rows.h"
#include "vtac/quant.h"

#define E2(op, a, b) vtac_e2(l->k, VTAC_E_##op, a, b)

/* ---- concatenations: inputs that are parts, or y_scale, y_zero and for each part x, scale, zero */

enum { JOIN_STRIDE = 3 }; /* inputs that a quantized part has: its numbers, scale and zero point */

static bool is_quantized(const vtac_node *node)
{
    return node->op == VTAC_OP_QLINEAR_CONCAT;
}

uint32_t vtac_part_count(const vtac_node *node)
{
    return is_quantized(node) ? (node->input_count - VTAC_QLINEAR_CONCAT_X) / JOIN_STRIDE : node->input_count;
}

uint32_t vtac_part_input(const vtac_node *node, uint32_t i)
{
    return is_quantized(node) ? VTAC_QLINEAR_CONCAT_X + JOIN_STRIDE * i : i;
}

bool vtac_part_is_copy(const vtac_graph *graph, const vtac_node *node, uint32_t i)
{
    const uint32_t input = vtac_part_input(node, i);
    if (!is_quantized(node)) {
        return true;
    }
    const vtac_tensor *in[] = {
        vtac_in_constant(graph, node, input + 1), vtac_in_constant(graph, node, VTAC_QLINEAR_CONCAT_Y_SCALE),
        vtac_in_constant(graph, node, input + 2), vtac_in_constant(graph, node, VTAC_QLINEAR_CONCAT_Y_ZERO)};
    return in[0] != NULL && in[1] != NULL && in[2] != NULL && in[3] != NULL &&
           in[2]->type.dtype == in[3]->type.dtype && /* of both, int8 or uint8 */
           vtac_tensor_float(in[0], 0) == vtac_tensor_float(in[1], 0) &&
           vtac_tensor_int(in[2], 0) == vtac_tensor_int(in[3], 0);
}

/* The scale that takes input `from`'s numbers to input `to`'s. */
static const vtac_expr *scale_ratio(vtac_lower *l, uint32_t from, uint32_t to)
{
    const vtac_tensor *x = vtac_in_constant(l->graph, l->node, from);
    const vtac_tensor *y = vtac_in_constant(l->graph, l->node, to);
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    if (x == NULL || y == NULL) {
        return E2(DIV, vtac_e_load(l->k, vtac_in(l, from), zero), vtac_e_load(l->k, vtac_in(l, to), zero));
    }
    const float known = vtac_scale_ratio((float)vtac_tensor_float(x, 0), (float)vtac_tensor_float(y, 0));
    return vtac_e_float(l->k, VTAC_F32, (double)known);
}

const vtac_expr *vtac_part_value(vtac_lower *l, uint32_t i, const vtac_expr *x)
{
    const uint32_t input = vtac_part_input(l->node, i);
    if (vtac_part_is_copy(l->graph, l->node, i)) {
        return x;
    }
    const vtac_expr *scale = scale_ratio(l, input + 1, VTAC_QLINEAR_CONCAT_Y_SCALE);
    return vtac_rescale_to(l, l->node, vtac_centred(l, l->node, x, input + 2), scale,
                           VTAC_QLINEAR_CONCAT_Y_ZERO);
}

/* A part whose elements stay as they are: the axes before the one that is cut make rows, of which it has one
 * piece each. */
typedef struct pieces {
    int64_t rows, piece, row, first; /* elements of a piece, of a row, of a row before the piece */
} pieces;

static pieces pieces_of(const vtac_type *part, const vtac_type *whole, uint32_t axis, int64_t begin)
{
    pieces p = {.rows = 1, .piece = part->dim[axis], .row = whole->dim[axis], .first = begin};
    for (uint32_t a = 0; a < part->rank; a++) {
        p.rows *= a < axis ? part->dim[a] : 1;
        p.piece *= a > axis ? part->dim[a] : 1;
        p.row *= a > axis ? part->dim[a] : 1;
        p.first *= a > axis ? part->dim[a] : 1;
    }
    return p;
}

static void copy_pieces(vtac_lower *l, const pieces *p, vtac_buffer *part, vtac_buffer *whole, bool joins)
{
    vtac_kernel *k = l->k;
    const vtac_loop_kind kind = vtac_parallel_if(p->rows * p->piece);
    const vtac_expr *row = p->rows == 1 ? vtac_e_index(k, 0) : vtac_for(k, kind, p->rows, "row");
    const vtac_expr *i = vtac_for(k, p->rows == 1 ? kind : VTAC_LOOP_SERIAL, p->piece, "i");
    const vtac_expr *small = vtac_i_add(k, vtac_i_mulc(k, row, p->piece), i);
    const vtac_expr *large = vtac_i_add(k, vtac_i_addc(k, vtac_i_mulc(k, row, p->row), p->first), i);
    vtac_store(k, joins ? whole : part, joins ? large : small,
               vtac_e_load(k, joins ? part : whole, joins ? small : large));
    vtac_close(l, p->rows == 1 ? 1 : 2);
}

/* Part i, in a step of its own. */
static vta_status join_part(vtac_lower *l, uint32_t i, uint32_t axis, int64_t begin)
{
    const uint32_t input = vtac_part_input(l->node, i);
    VTA_TRY(vtac_begin(l, begin == 0 ? "" : ".part"));
    if (l->chain_count == 0 && vtac_part_is_copy(l->graph, l->node, i)) {
        const pieces p = pieces_of(vtac_type_in(l, input), vtac_type_out(l, 0), axis, begin);
        copy_pieces(l, &p, vtac_in(l, input), vtac_out(l, 0), true);
        return l->diag->code;
    }
    const vtac_expr *at[VTAC_MAX_RANK];
    const uint32_t loops = vtac_open(l, vtac_type_in(l, input), at, 1);
    const vtac_expr *value = vtac_part_value(l, i, vtac_in_at(l, input, at));
    at[axis] = vtac_i_addc(l->k, at[axis], begin);
    vtac_out_at(l, 0, at, value);
    vtac_close(l, loops);
    return l->diag->code;
}

vta_status vtac_lower_concat(vtac_lower *l)
{
    uint32_t axis;
    int64_t begin = 0;
    VTA_TRY(vtac_axis(vtac_attr_int(l->node, "axis", 1), vtac_type_out(l, 0)->rank, &axis, l->diag));
    for (uint32_t i = 0; i < vtac_part_count(l->node); i++) {
        const vtac_type *part = vtac_type_in(l, vtac_part_input(l->node, i));
        VTA_TRY(vtac_type_elements(part) > 0 ? join_part(l, i, axis, begin) : VTA_OK);
        begin += part->dim[axis];
    }
    return VTA_OK;
}

/* Output i: what the input has from `begin` on. */
static vta_status split_part(vtac_lower *l, uint32_t i, uint32_t axis, int64_t begin)
{
    VTA_TRY(vtac_begin(l, ""));
    if (i > 0 || l->chain_count == 0) {
        const pieces p = pieces_of(vtac_type_out(l, i), vtac_type_in(l, VTAC_SPLIT_X), axis, begin);
        copy_pieces(l, &p, vtac_out(l, i), vtac_in(l, VTAC_SPLIT_X), false);
        return l->diag->code;
    }
    const vtac_expr *at[VTAC_MAX_RANK];
    const vtac_expr *from[VTAC_MAX_RANK];
    const uint32_t loops = vtac_open(l, vtac_type_out(l, i), at, 1);
    memcpy(from, at, sizeof from);
    from[axis] = vtac_i_addc(l->k, at[axis], begin);
    vtac_out_at(l, i, at, vtac_in_at(l, VTAC_SPLIT_X, from));
    vtac_close(l, loops);
    return VTA_OK;
}

vta_status vtac_lower_split(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, VTAC_SPLIT_X);
    uint32_t axis;
    int64_t begin = 0;
    VTA_TRY(vtac_axis(vtac_attr_int(l->node, "axis", 0), x->rank, &axis, l->diag));
    for (uint32_t i = 0; i < l->node->output_count; i++) {
        const vtac_type *y = vtac_type_out(l, i);
        VTA_TRY(vtac_type_elements(y) > 0 ? split_part(l, i, axis, begin) : VTA_OK);
        begin += y->dim[axis];
    }
    return VTA_OK;
}

/* CumSum, CumProd */
vta_status vtac_lower_cum_sum(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, VTAC_CUM_SUM_X);
    const vtac_tensor *given = vtac_in_constant(l->graph, l->node, VTAC_CUM_SUM_AXIS);
    if (given == NULL) {
        return vtac_unsupported(l, "the axis (input 1) is not known at compile time");
    }
    uint32_t axis;
    VTA_TRY(vtac_axis(vtac_tensor_int(given, 0), x->rank, &axis, l->diag));
    const bool exclusive = vtac_attr_int(l->node, "exclusive", 0) != 0;
    const bool product = l->node->op == VTAC_OP_CUM_PROD;
    const bool reverse = vtac_attr_int(l->node, "reverse", 0) != 0;
    VTA_TRY(vtac_begin(l, ""));
    const vtac_dtype type = vtac_compute_type(x->dtype);
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const vtac_expr *at[VTAC_MAX_RANK];
    vtac_buffer *sum = vtac_local(l, "sum", type, 1);
    vtac_type outer = *x;
    outer.dim[axis] = 1;
    const uint32_t loops = vtac_open(l, &outer, at, x->dim[axis]);
    vtac_store(l->k, sum, zero, vtac_e_int(l->k, type, product));
    const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, x->dim[axis], "i");
    at[axis] = reverse ? E2(SUB, vtac_e_index(l->k, x->dim[axis] - 1), i) : i;
    const vtac_expr *before = vtac_let(l->k, "before", vtac_e_load(l->k, sum, zero));
    const vtac_expr *own = vtac_in_at(l, VTAC_CUM_SUM_X, at);
    const vtac_expr *after = vtac_let(l->k, "after", product ? E2(MUL, before, own) : E2(ADD, before, own));
    vtac_store(l->k, sum, zero, after);
    vtac_out_at(l, 0, at, exclusive ? before : after);
    vtac_close(l, loops + 1);
    return l->diag->code;
}

/* DynamicQuantizeLinear: the least and the largest so far in each lane. Units of `chunk` elements, of which
 * the last ones overlap, go to threads: ranges, what follows from them all, then the numbers. */
typedef struct byte_ranges {
    int64_t elements, lanes, chunk, units;
    vtac_storage_id lows, highs, factors, zeros; /* [units][lanes], [units][lanes], [1], [1] */
    vtac_buffer *x, *y, *low, *high;
    const vtac_expr *first; /* element of the unit */
    const vtac_expr *scale, *point;
} byte_ranges;

static void plan_ranges(vtac_lower *l, byte_ranges *r)
{
    enum { MIN_CHUNK = 8192, MAX_UNITS = 64 };
    r->elements = vtac_type_elements(vtac_type_in(l, 0));
    r->lanes = vtac_row_lanes(l, VTAC_F32, r->elements);
    r->chunk = r->elements;
    if (r->lanes > 1 && vtac_parallel_if(r->elements) == VTAC_LOOP_PARALLEL) {
        const int64_t even = (r->elements + MAX_UNITS - 1) / MAX_UNITS;
        r->chunk = even > MIN_CHUNK ? even : MIN_CHUNK;
        r->lanes *= 4; /* comparisons that do not wait for each other */
        r->chunk = (r->chunk + r->lanes - 1) / r->lanes * r->lanes;
    }
    r->units = r->elements == 0 ? 1 : (r->elements + r->chunk - 1) / r->chunk;
    r->lows = vtac_temp(l, VTAC_F32, r->units * r->lanes);
    r->highs = vtac_temp(l, VTAC_F32, r->units * r->lanes);
    r->factors = vtac_temp(l, VTAC_F32, 1);
    r->zeros = vtac_temp(l, VTAC_U8, 1);
}

static const vtac_expr *open_units(vtac_lower *l, byte_ranges *r)
{
    vtac_kernel *k = l->k;
    const vtac_expr *unit = vtac_for(k, vtac_parallel_if(r->elements), r->units, "unit");
    const vtac_expr *first = vtac_i_mulc(k, unit, r->chunk);
    if (r->units * r->chunk != r->elements) {
        first = E2(MIN, first, vtac_e_index(k, r->elements - r->chunk));
    }
    r->first = vtac_let(k, "first", first);
    return unit;
}

static void take_range(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    const byte_ranges *r = context;
    const vtac_expr *value = vtac_let(l->k, "x", vtac_e_load(l->k, r->x, vtac_i_add(l->k, r->first, i)));
    vtac_store(l->k, r->low, lane, E2(MIN, vtac_e_load(l->k, r->low, lane), value));
    vtac_store(l->k, r->high, lane, E2(MAX, vtac_e_load(l->k, r->high, lane), value));
}

static void copy_lanes(vtac_lower *l, const byte_ranges *r, const vtac_buffer *from, vtac_buffer *to,
                       const vtac_expr *first)
{
    const vtac_expr *lane = vtac_lane_loop(l, r->lanes);
    vtac_store(l->k, to, vtac_i_add(l->k, first, lane), vtac_e_load(l->k, from, lane));
    vtac_close(l, r->lanes == 1 ? 0 : 1);
}

static vta_status find_ranges(vtac_lower *l, byte_ranges *r)
{
    VTA_TRY(vtac_begin(l, ".range"));
    const int64_t room = r->units * r->lanes;
    const vtac_expr *none = vtac_e_float(l->k, VTAC_F32, 0.0);
    vtac_buffer *lows = vtac_use(l, r->lows, "lows", VTAC_F32, room);
    vtac_buffer *highs = vtac_use(l, r->highs, "highs", VTAC_F32, room);
    r->x = vtac_in(l, 0);
    r->low = vtac_local(l, "low", VTAC_F32, r->lanes);
    r->high = vtac_local(l, "high", VTAC_F32, r->lanes);
    const vtac_expr *unit = open_units(l, r);
    vtac_set_lanes(l, r->low, r->lanes, none);
    vtac_set_lanes(l, r->high, r->lanes, none);
    vtac_each_of_row(l, r->chunk, r->lanes, take_range, r);
    const vtac_expr *to = vtac_let(l->k, "to", vtac_i_mulc(l->k, unit, r->lanes));
    copy_lanes(l, r, r->low, lows, to);
    copy_lanes(l, r, r->high, highs, to);
    vtac_end(l->k);
    return l->diag->code;
}

/* One lane of all units' ranges. */
static void join_units(vtac_lower *l, const byte_ranges *r, const vtac_buffer *parts, vtac_buffer *all,
                       vtac_expr_op op)
{
    vtac_set_lanes(l, all, r->lanes, vtac_e_float(l->k, VTAC_F32, 0.0));
    const vtac_expr *unit = vtac_for(l->k, VTAC_LOOP_SERIAL, r->units, "unit");
    const vtac_expr *lane = vtac_lane_loop(l, r->lanes);
    const vtac_expr *part =
        vtac_e_load(l->k, parts, vtac_i_add(l->k, vtac_i_mulc(l->k, unit, r->lanes), lane));
    vtac_store(l->k, all, lane, vtac_e2(l->k, op, vtac_e_load(l->k, all, lane), part));
    vtac_close(l, r->lanes == 1 ? 1 : 2);
}

/* Scale and zero point from the range of the data, which always holds 0. */
static vta_status find_scale(vtac_lower *l, byte_ranges *r)
{
    VTA_TRY(vtac_begin(l, ".scale"));
    const int64_t room = r->units * r->lanes;
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const vtac_expr *none = vtac_e_float(l->k, VTAC_F32, 0.0);
    r->low = vtac_local(l, "low", VTAC_F32, r->lanes);
    r->high = vtac_local(l, "high", VTAC_F32, r->lanes);
    join_units(l, r, vtac_use(l, r->lows, "lows", VTAC_F32, room), r->low, VTAC_E_MIN);
    join_units(l, r, vtac_use(l, r->highs, "highs", VTAC_F32, room), r->high, VTAC_E_MAX);
    const vtac_expr *low = vtac_let(l->k, "low", vtac_join_lanes(l, r->low, r->lanes, VTAC_E_MIN));
    const vtac_expr *span = E2(SUB, vtac_join_lanes(l, r->high, r->lanes, VTAC_E_MAX), low);
    const vtac_expr *scale = vtac_let(l->k, "scale", E2(DIV, span, vtac_e_float(l->k, VTAC_F32, 255.0)));
    const vtac_expr *safe =
        vtac_e3(l->k, VTAC_E_SELECT, E2(EQ, scale, none), vtac_e_float(l->k, VTAC_F32, 1.0), scale);
    safe = vtac_let(l->k, "safe", safe);
    const vtac_expr *offset = vtac_e1(l->k, VTAC_E_NEG, E2(DIV, low, safe));
    const vtac_expr *point = vtac_let(l->k, "zero", vtac_requantize(l, offset, NULL, NULL, VTAC_U8));
    for (uint32_t k = 1; k < l->node->output_count; k++) {
        if (l->node->outputs[k] != 0) {
            vtac_store(l->k, vtac_out(l, k), zero, k == 1 ? scale : point);
        }
    }
    vtac_store(l->k, vtac_use(l, r->factors, "safe", VTAC_F32, 1), zero, safe);
    vtac_store(l->k, vtac_use(l, r->zeros, "point", VTAC_U8, 1), zero, point);
    return l->diag->code;
}

static void put_quantized(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    const byte_ranges *r = context;
    const vtac_expr *at = vtac_i_add(l->k, r->first, i);
    (void)lane;
    vtac_store(l->k, r->y, at, vtac_requantize(l, vtac_e_load(l->k, r->x, at), r->scale, r->point, VTAC_U8));
}

vta_status vtac_lower_dynamic_quantize(vtac_lower *l)
{
    byte_ranges r = {.elements = 0};
    plan_ranges(l, &r);
    VTA_TRY(find_ranges(l, &r));
    VTA_TRY(find_scale(l, &r));
    VTA_TRY(vtac_begin(l, ""));
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    r.x = vtac_in(l, 0);
    r.y = vtac_out(l, 0);
    vtac_buffer *safe = vtac_use(l, r.factors, "safe", VTAC_F32, 1);
    vtac_buffer *point = vtac_use(l, r.zeros, "point", VTAC_U8, 1);
    (void)open_units(l, &r);
    r.scale = vtac_let(l->k, "safe", vtac_e_load(l->k, safe, zero));
    r.point = vtac_let(l->k, "zero", vtac_e_load(l->k, point, zero));
    vtac_each_of_row(l, r.chunk, r.lanes, put_quantized, &r);
    vtac_end(l->k);
    return l->diag->code;
}

/* Outside training Dropout copies, and its mask is all true. */
vta_status vtac_lower_dropout(vtac_lower *l)
{
    const vtac_tensor *training = vtac_in_constant(l->graph, l->node, VTAC_DROPOUT_TRAINING);
    if (vtac_has_in(l, VTAC_DROPOUT_TRAINING) && (training == NULL || vtac_tensor_int(training, 0) != 0)) {
        return vtac_unsupported(l, "training mode is not lowered");
    }
    for (uint32_t i = 0; i < l->node->output_count; i++) {
        if (i > 0 && (l->node->outputs[i] == 0 || vtac_use_count(l->graph, l->node->outputs[i]) == 0)) {
            continue;
        }
        VTA_TRY(vtac_begin(l, i == 0 ? "" : ".mask"));
        const vtac_expr *at[VTAC_MAX_RANK];
        const uint32_t loops = vtac_open(l, vtac_type_in(l, VTAC_DROPOUT_X), at, 1);
        vtac_out_at(l, i, at,
                    i == 0 ? vtac_in_at(l, VTAC_DROPOUT_X, at)
                           : vtac_e_int(l->k, vtac_type_out(l, i)->dtype, 1));
        vtac_close(l, loops);
    }
    return l->diag->code;
}

/* A copy of the data, then each update to its place: in order, so that the last of several wins. */
static const vtac_expr *updated_element(vtac_lower *l, const vtac_expr *old, const vtac_expr *update)
{
    const char *how = vtac_attr_string(l->node, "reduction", "none");
    if (strcmp(how, "add") == 0) {
        return E2(ADD, old, update);
    }
    if (strcmp(how, "mul") == 0) {
        return E2(MUL, old, update);
    }
    if (strcmp(how, "max") == 0) {
        return E2(MAX, old, update);
    }
    return strcmp(how, "min") == 0 ? E2(MIN, old, update) : update;
}

static const vtac_expr *clamp_index(vtac_lower *l, const vtac_expr *index, int64_t dim)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    index = vtac_let(l->k, "index", vtac_e_cast(l->k, VTAC_I64, index));
    index = vtac_e3(l->k, VTAC_E_SELECT, E2(LT, index, zero), vtac_i_addc(l->k, index, dim), index);
    return vtac_let(l->k, "index", E2(MAX, zero, E2(MIN, vtac_e_index(l->k, dim - 1), index)));
}

vta_status vtac_lower_scatter(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, VTAC_SCATTER_DATA);
    const vtac_type *indices = vtac_type_in(l, VTAC_SCATTER_INDICES);
    const vtac_type *updates = vtac_type_in(l, VTAC_SCATTER_UPDATES);
    const bool nd = l->node->op == VTAC_OP_SCATTER_ND;
    const int64_t elements = vtac_type_elements(x);
    uint32_t axis = 0;
    VTA_TRY(vtac_begin(l, ""));
    vtac_buffer *to = vtac_out(l, 0);
    const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, elements, "i");
    vtac_store(l->k, to, i, vtac_e_load(l->k, vtac_in(l, VTAC_SCATTER_DATA), i));
    vtac_end(l->k);
    if (!nd) {
        VTA_TRY(vtac_axis(vtac_attr_int(l->node, "axis", 0), x->rank, &axis, l->diag));
    }
    const vtac_expr *at[VTAC_MAX_RANK];
    const vtac_expr *place[VTAC_MAX_RANK];
    const uint32_t loops = vtac_open(l, nd ? updates : indices, at, 0);
    memcpy(place, at, sizeof place);
    if (nd) {
        const uint32_t depth = (uint32_t)indices->dim[indices->rank - 1];
        const vtac_expr *where[VTAC_MAX_RANK];
        memcpy(where, at, sizeof where);
        for (uint32_t k = 0; k < x->rank; k++) {
            where[indices->rank - 1] = vtac_e_index(l->k, k);
            place[k] = k < depth ? clamp_index(l, vtac_in_at(l, VTAC_SCATTER_INDICES, where), x->dim[k])
                                 : at[k - depth + indices->rank - 1];
        }
    } else {
        place[axis] = clamp_index(l, vtac_in_at(l, VTAC_SCATTER_INDICES, at), x->dim[axis]);
    }
    const vtac_expr *flat = vtac_let(l->k, "place", vtac_flat(l, x, place));
    vtac_store(l->k, to, flat,
               updated_element(l, vtac_e_load(l->k, to, flat), vtac_in_at(l, VTAC_SCATTER_UPDATES, at)));
    vtac_close(l, loops);
    return l->diag->code;
}
