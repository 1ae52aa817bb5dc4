/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts windows of nodes, with one or two axes, to rows and columns.
 */
#include "../ops/infer.h"
#include "partition.h"

vta_status vtac_layer_window(const vtac_maker *m, const vtac_type *x, const vtac_type *weight, bool pool,
                             vtac_vta_window *out, int64_t pads_after[2])
{
    vtac_window w;
    VTA_TRY(vtac_window_of(m->node, x, weight, pool, &w, m->diag));
    if (w.axes > 2) {
        return vtac_no_layer(m, "its window has %u axes; the accelerator takes one or two", w.axes);
    }
    for (uint32_t i = 0; i < 2; i++) {
        out->kernel[i] = out->stride[i] = out->dilation[i] = 1;
        out->before[i] = out->after[i] = pads_after[i] = 0;
    }
    for (uint32_t axis = 0; axis < w.axes; axis++) {
        const uint32_t i = axis + 2 - w.axes;
        const int64_t reach =
            (w.extent[axis] - 1) * w.stride[axis] + (w.kernel[axis] - 1) * w.dilation[axis] + 1;
        const int64_t need = reach - x->dim[axis + 2] - w.pad_begin[axis];
        out->kernel[i] = w.kernel[axis];
        out->stride[i] = w.stride[axis];
        out->dilation[i] = w.dilation[axis];
        out->before[i] = w.pad_begin[axis];
        out->after[i] = need > 0 ? need : 0; /* with ceil_mode, more than pads say */
        pads_after[i] = w.pad_end[axis];
    }
    return VTA_OK;
}
