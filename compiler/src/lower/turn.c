/* SPDX-License-Identifier: Apache-2.0
 *
 * Transpose where the last axis changes: small matrices of neighbours of the input by neighbours of the
 * output, which vectors turn (../llvm/turn.c). Whatever moves whole rows, or has too short ones, is a loop
 * over elements.
 */
#include "../ops/infer.h"
#include "lower.h"

enum { MAX_ACROSS = 16 };

typedef struct matrix_transpose {
    int64_t perm[VTAC_MAX_RANK];
    uint32_t last;         /* of both: the axes' number less one */
    uint32_t row;          /* where the input's last axis lies in the output */
    int64_t across, along; /* of a matrix: places of the output's last axis, of the input's */
} matrix_transpose;

/* Largest power of two up to both. */
static int64_t power_of_two(int64_t max, int64_t extent)
{
    int64_t size = 1;
    while (2 * size <= max && 2 * size <= extent) {
        size *= 2;
    }
    return size;
}

static bool plan_transpose(const vtac_lower *l, matrix_transpose *t)
{
    const vtac_type *x = vtac_type_in(l, 0);
    const int64_t bytes = (int64_t)vtac_dtype_bytes(x->dtype);
    if (l->program->level == 0 || l->chain_count > 0 || x->rank < 2 || x->dtype == VTAC_BOOL ||
        vtac_dtype_held(x->dtype) != x->dtype || !vtac_perm_of(l->node, x->rank, t->perm)) {
        return false;
    }
    t->last = x->rank - 1;
    t->row = 0;
    while (t->perm[t->row] != t->last) {
        t->row++;
    }
    const int64_t lanes = (int64_t)l->program->target->vector_bytes / bytes;
    t->across = power_of_two(lanes < MAX_ACROSS ? lanes : MAX_ACROSS, x->dim[t->perm[t->last]]);
    t->along = power_of_two(VTAC_TRANSPOSE_BYTES / bytes, x->dim[t->last]);
    return t->row != t->last && t->across >= 4 && t->along >= 2;
}

bool vtac_is_matrix_transpose(const vtac_lower *l)
{
    matrix_transpose t;
    return l->node->op == VTAC_OP_TRANSPOSE && plan_transpose(l, &t);
}

/* The first place of each matrix along an axis: the last one reaches back. */
static const vtac_expr *open_tiles(vtac_lower *l, vtac_loop_kind kind, int64_t extent, int64_t size)
{
    const vtac_expr *i = vtac_for(l->k, kind, (extent + size - 1) / size, "tile");
    i = vtac_i_mulc(l->k, i, size);
    return vtac_let(l->k, "first",
                    extent % size == 0 ? i : vtac_e2(l->k, VTAC_E_MIN, i, vtac_e_index(l->k, extent - size)));
}

vta_status vtac_lower_matrix_transpose(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, 0);
    const vtac_type *y = vtac_type_out(l, 0);
    matrix_transpose t;
    const vtac_expr *at[VTAC_MAX_RANK];
    const vtac_expr *from[VTAC_MAX_RANK];
    (void)plan_transpose(l, &t);
    VTA_TRY(vtac_begin(l, ""));
    vtac_kernel *k = l->k;
    uint32_t loops = 0;
    for (uint32_t axis = 0; axis < t.last; axis++) {
        if (y->dim[axis] == 1) { /* what comes first is for threads to share */
            at[axis] = vtac_e_index(k, 0);
            continue;
        }
        const vtac_loop_kind kind = loops++ == 0 ? vtac_parallel_if(vtac_type_elements(x)) : VTAC_LOOP_SERIAL;
        at[axis] =
            axis == t.row ? open_tiles(l, kind, y->dim[axis], t.along) : vtac_for(k, kind, y->dim[axis], "i");
    }
    const vtac_expr *first = open_tiles(l, VTAC_LOOP_SERIAL, y->dim[t.last], t.across);
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, t.across * t.along, "lane");
    at[t.row] = vtac_i_add(k, at[t.row], vtac_i_divc(k, lane, t.across));
    at[t.last] = vtac_i_add(k, first, vtac_i_remc(k, lane, t.across));
    for (uint32_t axis = 0; axis <= t.last; axis++) {
        from[t.perm[axis]] = at[axis];
    }
    vtac_out_at(l, 0, at, vtac_in_at(l, 0, from));
    vtac_close(l, loops + 2);
    l->step->flops = (uint64_t)vtac_type_elements(y);
    return l->diag->code;
}
