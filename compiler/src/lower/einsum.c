/* SPDX-License-Identifier: Apache-2.0
 *
 * Einsum: loops over the labels of the result, and within them, over those that are summed.
 */
#include "../ops/infer.h"
#include "lower.h"

/* The product of the operands at the places that the labels have. */
static const vtac_expr *product_at(vtac_lower *l, const vtac_einsum *e, const vtac_expr *const *place)
{
    const vtac_expr *all = NULL;
    for (uint32_t i = 0; i < l->node->input_count; i++) {
        const vtac_type *type = vtac_type_in(l, i);
        const vtac_expr *at[VTAC_MAX_RANK];
        for (uint32_t k = 0; k < type->rank; k++) { /* an axis of one place broadcasts */
            at[k] = type->dim[k] == 1 ? vtac_e_index(l->k, 0) : place[e->axis[i][k]];
        }
        const vtac_expr *x = vtac_in_at(l, i, at);
        all = i == 0 ? x : vtac_e2(l->k, VTAC_E_MUL, all, x);
    }
    return all;
}

vta_status vtac_lower_einsum(vtac_lower *l)
{
    vtac_einsum e;
    VTA_TRY(vtac_einsum_parse(l->graph, l->node, &e, l->diag));
    VTA_TRY(vtac_begin(l, ""));
    const vtac_type *y = vtac_type_out(l, 0);
    const vtac_dtype type = vtac_compute_type(y->dtype);
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const vtac_expr *at[VTAC_MAX_RANK];
    const vtac_expr *place[VTAC_EINSUM_LABELS] = {NULL};
    int64_t work = vtac_type_elements(y);
    vtac_buffer *sum = vtac_local(l, "sum", type, 1);
    const uint32_t outer = vtac_open(l, y, at, 1);
    for (uint32_t i = 0; i < e.result_rank; i++) {
        place[e.result[i]] = at[i];
    }
    vtac_store(l->k, sum, zero, vtac_e_int(l->k, type, 0));
    uint32_t inner = 0;
    for (uint32_t label = 0; label < VTAC_EINSUM_LABELS; label++) {
        if (e.size[label] >= 0 && place[label] == NULL) {
            place[label] = vtac_for(l->k, VTAC_LOOP_SERIAL, e.size[label], "s");
            work *= e.size[label];
            inner++;
        }
    }
    vtac_store(l->k, sum, zero,
               vtac_e2(l->k, VTAC_E_ADD, vtac_e_load(l->k, sum, zero), product_at(l, &e, place)));
    vtac_close(l, inner);
    vtac_out_at(l, 0, at, vtac_e_load(l->k, sum, zero));
    vtac_close(l, outer);
    l->step->flops = (uint64_t)work * l->node->input_count;
    return l->diag->code;
}
