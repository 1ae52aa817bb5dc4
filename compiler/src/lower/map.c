/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that move data: each element of the output tells which element of the input it is. Indices that
 * come from tensors are kept inside, so that no model can make a kernel read elsewhere.
 */
#include <math.h>
#include <string.h>

#include "../ops/infer.h"
#include "point.h"

#define E2(op, a, b) vtac_e2(l->k, VTAC_E_##op, a, b)

static const vtac_type *in_type(const vtac_lower *l, const vtac_node *n, uint32_t i)
{
    return vtac_in_type(l->graph, n, i);
}

static const vtac_type *out_type(const vtac_lower *l, const vtac_node *n)
{
    return &l->graph->values[n->outputs[0]].type;
}

static uint32_t axis_attr(const vtac_node *n, const char *name, int64_t otherwise, uint32_t rank)
{
    const int64_t axis = vtac_attr_int(n, name, otherwise);
    return (uint32_t)(axis < 0 ? axis + rank : axis);
}

static bool known_ints(vtac_lower *l, const vtac_node *n, uint32_t i, int64_t *out, uint32_t *count)
{
    return vtac_need_ints(l->graph, n, i, "input", out, 2 * VTAC_MAX_RANK, count, l->diag) == VTA_OK;
}

/* An index from a tensor: negative ones count from the end, others are held inside. */
static const vtac_expr *clamp_index(vtac_lower *l, const vtac_expr *index, int64_t dim)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    index = vtac_let(l->k, "index", vtac_e_cast(l->k, VTAC_I64, index));
    index = vtac_e3(l->k, VTAC_E_SELECT, E2(LT, index, zero), vtac_i_addc(l->k, index, dim), index);
    return vtac_let(l->k, "index", E2(MAX, zero, E2(MIN, vtac_e_index(l->k, dim - 1), index)));
}

const vtac_expr *vtac_map_transpose(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_type *x = in_type(l, n, 0);
    const vtac_attr *perm = vtac_find_attr(n, "perm");
    const vtac_expr *from[VTAC_MAX_RANK];
    for (uint32_t i = 0; i < x->rank; i++) {
        const uint32_t axis =
            perm != NULL && perm->count == x->rank ? (uint32_t)perm->ints[i] : x->rank - 1 - i;
        from[axis] = at[i];
    }
    return vtac_in_at(l, 0, from);
}

const vtac_expr *vtac_map_slice(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_type *x = in_type(l, n, VTAC_SLICE_X);
    int64_t starts[2 * VTAC_MAX_RANK];
    int64_t axes[2 * VTAC_MAX_RANK];
    int64_t steps[2 * VTAC_MAX_RANK];
    uint32_t count;
    uint32_t same;
    const vtac_expr *from[VTAC_MAX_RANK];
    if (!known_ints(l, n, VTAC_SLICE_STARTS, starts, &count)) {
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        axes[i] = i;
        steps[i] = 1;
    }
    if ((in_type(l, n, VTAC_SLICE_AXES) != NULL && !known_ints(l, n, VTAC_SLICE_AXES, axes, &same)) ||
        (in_type(l, n, VTAC_SLICE_STEPS) != NULL && !known_ints(l, n, VTAC_SLICE_STEPS, steps, &same))) {
        return NULL;
    }
    memcpy(from, at, sizeof from);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t axis = (uint32_t)(axes[i] < 0 ? axes[i] + x->rank : axes[i]);
        const int64_t dim = x->dim[axis];
        int64_t start = starts[i] < 0 ? starts[i] + dim : starts[i];
        const int64_t high = steps[i] > 0 ? dim : dim - 1;
        start = start < 0 ? 0 : start > high ? high : start;
        from[axis] = vtac_i_addc(l->k, vtac_i_mulc(l->k, at[axis], steps[i]), start);
    }
    return vtac_in_at(l, VTAC_SLICE_X, from);
}

/* Place whose value a place beyond the edge takes; NULL: it takes none. */
static const vtac_expr *padded_place(vtac_lower *l, const char *mode, const vtac_expr *place, int64_t dim)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const vtac_expr *last = vtac_e_index(l->k, dim - 1);
    const vtac_expr *edge = E2(MAX, zero, E2(MIN, last, place));
    if (strcmp(mode, "wrap") == 0) {
        const vtac_expr *rest = vtac_let(l->k, "rest", vtac_i_remc(l->k, place, dim));
        return vtac_e3(l->k, VTAC_E_SELECT, E2(LT, rest, zero), vtac_i_addc(l->k, rest, dim), rest);
    }
    if (strcmp(mode, "reflect") == 0 && dim > 1) {
        const int64_t period = 2 * (dim - 1);
        const vtac_expr *rest =
            vtac_let(l->k, "rest", vtac_i_remc(l->k, vtac_e1(l->k, VTAC_E_ABS, place), period));
        return E2(MIN, rest, E2(SUB, vtac_e_index(l->k, period), rest));
    }
    return edge;
}

const vtac_expr *vtac_map_pad(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_type *x = in_type(l, n, VTAC_PAD_X);
    const char *mode = vtac_attr_string(n, "mode", "constant");
    int64_t pads[2 * VTAC_MAX_RANK];
    int64_t axes[2 * VTAC_MAX_RANK];
    uint32_t count;
    uint32_t named = x->rank;
    const vtac_expr *from[VTAC_MAX_RANK];
    const vtac_expr *inside = NULL;
    for (uint32_t i = 0; i < x->rank; i++) {
        axes[i] = i;
    }
    if (!known_ints(l, n, VTAC_PAD_PADS, pads, &count) ||
        (in_type(l, n, VTAC_PAD_AXES) != NULL && !known_ints(l, n, VTAC_PAD_AXES, axes, &named))) {
        return NULL;
    }
    memcpy(from, at, sizeof from);
    for (uint32_t i = 0; i < named; i++) {
        const uint32_t axis = (uint32_t)(axes[i] < 0 ? axes[i] + x->rank : axes[i]);
        if (pads[i] == 0 && pads[i + named] == 0) {
            continue;
        }
        const vtac_expr *place = vtac_let(l->k, "place", vtac_i_addc(l->k, at[axis], -pads[i]));
        const vtac_expr *in =
            E2(AND, E2(GE, place, vtac_e_index(l->k, 0)), E2(LT, place, vtac_e_index(l->k, x->dim[axis])));
        inside = inside == NULL ? in : E2(AND, inside, in);
        from[axis] = vtac_let(l->k, "from", padded_place(l, mode, place, x->dim[axis]));
    }
    const bool empty = vtac_type_elements(x) == 0;
    const vtac_dtype type = vtac_compute_type(vtac_dtype_held(x->dtype));
    const vtac_expr *value = empty ? vtac_e_int(l->k, type, 0) : vtac_in_at(l, VTAC_PAD_X, from);
    if (strcmp(mode, "constant") != 0 || inside == NULL) {
        return value;
    }
    const vtac_expr *fill = in_type(l, n, VTAC_PAD_VALUE) != NULL
                                ? vtac_e_load(l->k, vtac_in(l, VTAC_PAD_VALUE), vtac_e_index(l->k, 0))
                                : vtac_e_int(l->k, type, 0);
    return empty ? fill : vtac_e3(l->k, VTAC_E_SELECT, inside, value, fill);
}

/* Expand, Tile: every axis repeats. */
const vtac_expr *vtac_map_repeat(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_type *x = in_type(l, n, 0);
    const vtac_type *y = out_type(l, n);
    const vtac_expr *from[VTAC_MAX_RANK];
    for (uint32_t i = 0; i < x->rank; i++) {
        const vtac_expr *place = at[i + y->rank - x->rank];
        from[i] = x->dim[i] == y->dim[i + y->rank - x->rank] ? place : vtac_i_remc(l->k, place, x->dim[i]);
    }
    return vtac_in_at(l, 0, from);
}

const vtac_expr *vtac_map_gather(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_type *x = in_type(l, n, VTAC_GATHER_DATA);
    const vtac_type *indices = in_type(l, n, VTAC_GATHER_INDICES);
    const uint32_t axis = axis_attr(n, "axis", 0, x->rank);
    const vtac_expr *from[VTAC_MAX_RANK];
    for (uint32_t i = 0; i < x->rank; i++) {
        from[i] = i < axis    ? at[i]
                  : i == axis ? clamp_index(l, vtac_in_at(l, VTAC_GATHER_INDICES, at + axis), x->dim[axis])
                              : at[i + indices->rank - 1];
    }
    return vtac_in_at(l, VTAC_GATHER_DATA, from);
}

const vtac_expr *vtac_map_gather_elements(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_type *x = in_type(l, n, VTAC_GATHER_DATA);
    const uint32_t axis = axis_attr(n, "axis", 0, x->rank);
    const vtac_expr *from[VTAC_MAX_RANK];
    memcpy(from, at, sizeof from);
    from[axis] = clamp_index(l, vtac_in_at(l, VTAC_GATHER_INDICES, at), x->dim[axis]);
    return vtac_in_at(l, VTAC_GATHER_DATA, from);
}

/* An element of the cache depends on the element of the old cache at its own place alone, so that both may be
 * one buffer. */
const vtac_expr *vtac_map_tensor_scatter(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_type *cache = in_type(l, n, VTAC_TENSOR_SCATTER_CACHE);
    const uint32_t axis = axis_attr(n, "axis", -2, cache->rank);
    const int64_t rows = in_type(l, n, VTAC_TENSOR_SCATTER_UPDATE)->dim[axis];
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const vtac_expr *row = at[axis];
    const vtac_expr *from[VTAC_MAX_RANK];
    if (vtac_type_elements(in_type(l, n, VTAC_TENSOR_SCATTER_UPDATE)) == 0) {
        return vtac_in_at(l, VTAC_TENSOR_SCATTER_CACHE, at);
    }
    if (in_type(l, n, VTAC_TENSOR_SCATTER_INDICES) != NULL) {
        const vtac_expr *first = vtac_e_load(l->k, vtac_in(l, VTAC_TENSOR_SCATTER_INDICES), at[0]);
        row = E2(SUB, row, vtac_e_cast(l->k, VTAC_I64, first));
    }
    row = vtac_let(l->k, "row", row);
    if (strcmp(vtac_attr_string(n, "mode", "linear"), "circular") == 0) {
        const vtac_expr *rest = vtac_let(l->k, "rest", vtac_i_remc(l->k, row, cache->dim[axis]));
        row =
            vtac_e3(l->k, VTAC_E_SELECT, E2(LT, rest, zero), vtac_i_addc(l->k, rest, cache->dim[axis]), rest);
        row = vtac_let(l->k, "row", row);
    }
    const vtac_expr *inside = E2(AND, E2(GE, row, zero), E2(LT, row, vtac_e_index(l->k, rows)));
    memcpy(from, at, sizeof from);
    from[axis] = vtac_let(l->k, "from", E2(MAX, zero, E2(MIN, vtac_e_index(l->k, rows - 1), row)));
    return vtac_e3(l->k, VTAC_E_SELECT, inside, vtac_in_at(l, VTAC_TENSOR_SCATTER_UPDATE, from),
                   vtac_in_at(l, VTAC_TENSOR_SCATTER_CACHE, at));
}

const vtac_expr *vtac_map_gather_nd(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_type *x = in_type(l, n, VTAC_GATHER_DATA);
    const vtac_type *indices = in_type(l, n, VTAC_GATHER_INDICES);
    const uint32_t batch = (uint32_t)vtac_attr_int(n, "batch_dims", 0);
    const uint32_t depth = (uint32_t)indices->dim[indices->rank - 1];
    const vtac_expr *from[VTAC_MAX_RANK];
    const vtac_expr *where[VTAC_MAX_RANK];
    memcpy(where, at, sizeof where);
    for (uint32_t i = 0; i < x->rank; i++) {
        if (i >= batch && i < batch + depth) {
            where[indices->rank - 1] = vtac_e_index(l->k, i - batch);
            from[i] = clamp_index(l, vtac_in_at(l, VTAC_GATHER_INDICES, where), x->dim[i]);
        } else {
            from[i] = i < batch ? at[i] : at[i - batch - depth + indices->rank - 1];
        }
    }
    return vtac_in_at(l, VTAC_GATHER_DATA, from);
}

const vtac_expr *vtac_map_depth_to_space(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const int64_t b = vtac_attr_int(n, "blocksize", 1);
    const bool dcr = strcmp(vtac_attr_string(n, "mode", "DCR"), "DCR") == 0;
    const int64_t channels = out_type(l, n)->dim[1];
    const vtac_expr *part =
        vtac_i_add(l->k, vtac_i_mulc(l->k, vtac_i_remc(l->k, at[2], b), b), vtac_i_remc(l->k, at[3], b));
    const vtac_expr *c = dcr ? vtac_i_add(l->k, vtac_i_mulc(l->k, part, channels), at[1])
                             : vtac_i_add(l->k, vtac_i_mulc(l->k, at[1], b * b), part);
    const vtac_expr *from[] = {at[0], c, vtac_i_divc(l->k, at[2], b), vtac_i_divc(l->k, at[3], b)};
    return vtac_in_at(l, 0, from);
}

const vtac_expr *vtac_map_space_to_depth(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const int64_t b = vtac_attr_int(n, "blocksize", 1);
    const int64_t channels = in_type(l, n, 0)->dim[1];
    const vtac_expr *part = vtac_let(l->k, "part", vtac_i_divc(l->k, at[1], channels));
    const vtac_expr *y = vtac_i_add(l->k, vtac_i_mulc(l->k, at[2], b), vtac_i_divc(l->k, part, b));
    const vtac_expr *x = vtac_i_add(l->k, vtac_i_mulc(l->k, at[3], b), vtac_i_remc(l->k, part, b));
    const vtac_expr *from[] = {at[0], vtac_i_remc(l->k, at[1], channels), y, x};
    return vtac_in_at(l, 0, from);
}

const vtac_expr *vtac_map_one_hot(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_type *y = out_type(l, n);
    const uint32_t axis = axis_attr(n, "axis", -1, y->rank);
    const vtac_expr *from[VTAC_MAX_RANK];
    for (uint32_t i = 0; i + 1 < y->rank; i++) {
        from[i] = at[i < axis ? i : i + 1];
    }
    const vtac_expr *index =
        vtac_let(l->k, "index", vtac_e_cast(l->k, VTAC_I64, vtac_in_at(l, VTAC_ONE_HOT_INDICES, from)));
    const vtac_expr *turned = vtac_i_addc(l->k, index, y->dim[axis]);
    index = vtac_e3(l->k, VTAC_E_SELECT, E2(LT, index, vtac_e_index(l->k, 0)), turned, index);
    const vtac_expr *off = vtac_e_load(l->k, vtac_in(l, VTAC_ONE_HOT_VALUES), vtac_e_index(l->k, 0));
    const vtac_expr *on = vtac_e_load(l->k, vtac_in(l, VTAC_ONE_HOT_VALUES), vtac_e_index(l->k, 1));
    return vtac_e3(l->k, VTAC_E_SELECT, E2(EQ, index, at[axis]), on, off);
}

const vtac_expr *vtac_map_trilu(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_type *x = in_type(l, n, VTAC_TRILU_X);
    const vtac_expr *k = vtac_e_index(l->k, 0);
    if (in_type(l, n, VTAC_TRILU_K) != NULL) {
        k = vtac_e_load(l->k, vtac_in(l, VTAC_TRILU_K), vtac_e_index(l->k, 0));
    }
    const vtac_expr *diagonal = E2(SUB, E2(SUB, at[x->rank - 1], at[x->rank - 2]), k);
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const bool upper = vtac_attr_int(n, "upper", 1) != 0;
    const vtac_expr *keep = upper ? E2(GE, diagonal, zero) : E2(LE, diagonal, zero);
    return vtac_e3(l->k, VTAC_E_SELECT, keep, vtac_in_at(l, VTAC_TRILU_X, at), vtac_e_int(l->k, x->dtype, 0));
}

const vtac_expr *vtac_map_eye_like(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_expr *on = E2(EQ, at[1], vtac_i_addc(l->k, at[0], vtac_attr_int(n, "k", 0)));
    const vtac_dtype type = out_type(l, n)->dtype;
    return vtac_e3(l->k, VTAC_E_SELECT, on, vtac_e_int(l->k, type, 1), vtac_e_int(l->k, type, 0));
}

const vtac_expr *vtac_map_constant_of_shape(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    (void)at;
    const vtac_attr *value = vtac_find_attr(n, "value");
    const vtac_dtype type = out_type(l, n)->dtype;
    if (value == NULL || value->kind != VTAC_ATTR_TENSOR) {
        return vtac_e_int(l->k, type, 0);
    }
    return vtac_dtype_kind(type) == 'f' ? vtac_e_float(l->k, type, vtac_tensor_float(&value->tensor, 0))
                                        : vtac_e_int(l->k, type, vtac_tensor_int(&value->tensor, 0));
}

const vtac_expr *vtac_map_range(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_type *x = out_type(l, n);
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const vtac_expr *start = vtac_e_load(l->k, vtac_in(l, VTAC_RANGE_START), zero);
    const vtac_expr *step = vtac_e_load(l->k, vtac_in(l, VTAC_RANGE_DELTA), zero);
    (void)n;
    return E2(ADD, start, E2(MUL, vtac_e_cast(l->k, x->dtype, at[0]), step));
}
