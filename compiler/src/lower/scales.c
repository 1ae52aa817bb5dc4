/* SPDX-License-Identifier: Apache-2.0
 *
 * Output scales of quantized products: a table of constants where the scales are known, else worked out by
 * the run.
 */
#include "lower.h"
#include "vtac/quant.h"

static vtac_storage_id make_table(vtac_lower *l, const vtac_tensor *const *in, double alpha)
{
    const int64_t count = vtac_type_elements(&in[1]->type);
    float *table = vta_arena_array(&l->program->arena, (size_t)count, sizeof *table);
    const float a = (float)vtac_tensor_float(in[0], 0);
    const float y = (float)vtac_tensor_float(in[2], 0);
    for (int64_t i = 0; table != NULL && i < count; i++) {
        const float ab = a * (float)vtac_tensor_float(in[1], i);
        table[i] = vtac_scale_product((float)alpha * ab, 1.0F, y);
    }
    return table == NULL ? 0 : vtac_constant(l, table, (uint64_t)count * sizeof *table);
}

const vtac_expr *vtac_output_scale(vtac_lower *l, uint32_t a, uint32_t b, uint32_t y, double alpha,
                                   const vtac_expr *channel)
{
    const uint32_t inputs[] = {a, b, y};
    const vtac_tensor *in[3];
    const bool one = vtac_type_elements(vtac_type_in(l, b)) == 1;
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const vtac_expr *place = one ? zero : channel;
    bool known = true;
    for (int i = 0; i < 3; i++) {
        in[i] = vtac_in_constant(l->graph, l->node, inputs[i]);
        known = known && in[i] != NULL;
    }
    if (known) {
        if (l->scales_of != l->node) { /* several steps and rows of one node share the table */
            l->scales = make_table(l, in, alpha);
            l->scales_of = l->node;
        }
        const int64_t count = vtac_type_elements(&in[1]->type);
        return vtac_e_load(l->k, vtac_use(l, l->scales, "scales", VTAC_F32, count), place);
    }
    const vtac_expr *ab = vtac_e2(l->k, VTAC_E_MUL, vtac_e_load(l->k, vtac_in(l, a), zero),
                                  vtac_e_load(l->k, vtac_in(l, b), place));
    ab = alpha == 1.0 ? ab : vtac_e2(l->k, VTAC_E_MUL, vtac_e_float(l->k, VTAC_F32, alpha), ab);
    return vtac_e2(l->k, VTAC_E_DIV, ab, vtac_e_load(l->k, vtac_in(l, y), zero));
}
