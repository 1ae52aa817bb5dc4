/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of neighbouring elements, gone through by vectors: what softmax and normalizations are made of. A sum
 * has a part in each lane; the parts are joined in pairs at the end.
 */
#include "rows.h"

#include <string.h>

int64_t vtac_row_lanes(const vtac_lower *l, vtac_dtype type, int64_t extent)
{
    int64_t lanes = (int64_t)l->program->target->vector_bytes / (int64_t)vtac_dtype_bytes(type);
    while (lanes > 1 && lanes > extent) {
        lanes /= 2;
    }
    return l->program->level == 0 || lanes < 4 ? 1 : lanes;
}

static void some_lanes(vtac_lower *l, const vtac_expr *first, int64_t lanes, vtac_row_fn *fn, void *context)
{
    const vtac_expr *lane =
        lanes == 1 ? vtac_e_index(l->k, 0) : vtac_for(l->k, VTAC_LOOP_VECTOR, lanes, "lane");
    fn(l, context, vtac_i_add(l->k, first, lane), lane);
    vtac_close(l, lanes == 1 ? 0 : 1);
}

void vtac_each_of_row(vtac_lower *l, int64_t extent, int64_t lanes, vtac_row_fn *fn, void *context)
{
    const int64_t whole = extent / lanes;
    if (whole == 1) {
        some_lanes(l, vtac_e_index(l->k, 0), lanes, fn, context);
    } else if (whole > 1) {
        const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, whole, "i");
        some_lanes(l, vtac_i_mulc(l->k, i, lanes), lanes, fn, context);
        vtac_end(l->k);
    }
    if (extent % lanes != 0) {
        some_lanes(l, vtac_e_index(l->k, whole * lanes), extent % lanes, fn, context);
    }
}

const vtac_expr *vtac_lane_loop(vtac_lower *l, int64_t lanes)
{
    return lanes == 1 ? vtac_e_index(l->k, 0) : vtac_for(l->k, VTAC_LOOP_VECTOR, lanes, "lane");
}

void vtac_set_lanes(vtac_lower *l, vtac_buffer *buffer, int64_t lanes, const vtac_expr *value)
{
    vtac_store(l->k, buffer, vtac_lane_loop(l, lanes), value);
    vtac_close(l, lanes == 1 ? 0 : 1);
}

static const vtac_expr *join_lanes(vtac_lower *l, const vtac_buffer *buffer, int64_t first, int64_t lanes,
                                   vtac_expr_op op)
{
    if (lanes == 1) {
        return vtac_e_load(l->k, buffer, vtac_e_index(l->k, first));
    }
    const vtac_expr *low = join_lanes(l, buffer, first, lanes / 2, op);
    const vtac_expr *high = join_lanes(l, buffer, first + lanes / 2, lanes / 2, op);
    return vtac_let(l->k, "part", vtac_e2(l->k, op, low, high));
}

const vtac_expr *vtac_join_lanes(vtac_lower *l, const vtac_buffer *buffer, int64_t lanes, vtac_expr_op op)
{
    return join_lanes(l, buffer, 0, lanes, op);
}

void vtac_open_others(vtac_lower *l, const vtac_type *type, const bool *marks, const vtac_expr **at)
{
    vtac_kernel *k = l->k;
    int64_t count = 1;
    for (uint32_t axis = 0; axis < type->rank; axis++) {
        count *= marks[axis] ? 1 : type->dim[axis];
    }
    const vtac_expr *rest = vtac_for(k, vtac_parallel_if(vtac_type_elements(type)), count, "row");
    for (uint32_t axis = type->rank; axis-- > 0;) {
        if (!marks[axis]) {
            at[axis] = vtac_let(k, "at", vtac_i_remc(k, rest, type->dim[axis]));
            rest = vtac_let(k, "rest", vtac_i_divc(k, rest, type->dim[axis]));
        }
    }
}

int64_t vtac_row_fills(const vtac_lower *l, vtac_dtype type)
{
    return 4 * (int64_t)l->program->target->vector_bytes / (int64_t)vtac_dtype_bytes(type);
}

uint32_t vtac_lane_axis(const vtac_type *type, uint32_t axis)
{
    uint32_t last = type->rank - 1;
    while (last > axis && type->dim[last] == 1) {
        last--;
    }
    return last;
}

bool vtac_counts_through(const vtac_lower *l)
{
    const vtac_type *y = vtac_type_out(l, 0);
    for (uint32_t c = 0; c < l->chain_count; c++) {
        const vtac_node *n = l->chain[c];
        if (vtac_find_attr(n, "axis") != NULL || n->op == VTAC_OP_BATCH_NORMALIZATION) {
            return false;
        }
        for (uint32_t i = 0; i < n->input_count; i++) {
            const vtac_type *type = vtac_in_type(l->graph, n, i);
            const bool same = type != NULL && type->rank == y->rank &&
                              memcmp(type->dim, y->dim, y->rank * sizeof *y->dim) == 0;
            if (type != NULL && !same && vtac_type_elements(type) != 1) {
                return false;
            }
        }
    }
    return true;
}
