/* SPDX-License-Identifier: Apache-2.0
 *
 * Concatenations: tile by tile where all inputs begin with a block or have all channels, movements of
 * channels otherwise.
 */
#include "sched.h"

static bool is_aligned(const machine *m, const vtac_vta_region *region, const vtac_vta_layer *layer)
{
    int64_t first = 0;
    bool aligned = true;
    for (uint32_t k = 0; k < layer->input_count && !layer->by_pixels; k++) {
        aligned = aligned && first % m->block == 0;
        first += region->tensors[layer->inputs[k]].c;
    }
    return aligned;
}

vta_status vtac_vta_concat_plan(const machine *m, const vtac_vta_region *region, uint32_t number, plan *out,
                                vta_diag *diag)
{
    return is_aligned(m, region, &region->layers[number])
               ? vtac_vta_elementwise_plan(m, region, number, out, diag)
               : vtac_vta_move_plan(m, region, number, out, diag);
}

vta_status vtac_vta_concat_pack(plan *p, blob *to, vta_diag *diag)
{
    return is_aligned(p->machine, p->region, p->layer) ? vtac_vta_elementwise_pack(p, to, diag)
                                                       : vtac_vta_move_pack(p, to, diag);
}

vta_status vtac_vta_concat_emit(const plan *p, step_list *list, vta_diag *diag)
{
    return is_aligned(p->machine, p->region, p->layer) ? vtac_vta_elementwise_emit(p, list, diag)
                                                       : vtac_vta_move_emit(p, list, diag);
}
