/* SPDX-License-Identifier: Apache-2.0
 *
 * Binding: the outermost loop of a nest is shared among work items.
 */
#include <stdlib.h>
#include <string.h>

#include "../loop/schedule.h"
#include "bind.h"
#include "vta/fail.h"

/* Items below which the next loop is made part of the bound one. */
enum { FEW_ITEMS = 256 };

static vta_status copy_nest(const vtac_kernel *nest, vtac_kernel *out, vta_diag *diag)
{
    *out = *nest;
    out->buffers = malloc((nest->buffer_count + 1) * sizeof *out->buffers);
    if (out->buffers == NULL) {
        return vta_no_memory(diag);
    }
    memcpy(out->buffers, nest->buffers, nest->buffer_count * sizeof *out->buffers);
    out->body = vtac_copy_block(out, nest->body);
    return vta_allocated(!out->failed, diag);
}

static bool is_only_loop(const vtac_stmt *s)
{
    return s != NULL && s->kind == VTAC_S_FOR && s->next == NULL;
}

vta_status vtac_bind(const vtac_kernel *nest, bool groups, vtac_bound *out, vta_diag *diag)
{
    vtac_kernel *k = &out->kernel;
    *out = (vtac_bound){.items = 1};
    VTA_TRY(copy_nest(nest, k, diag));
    vtac_stmt *loop = k->body;
    if (!is_only_loop(loop) ||
        (loop->loop != VTAC_LOOP_PARALLEL && vtac_loop_parallel(k, loop->var, NULL) != VTA_OK)) {
        return VTA_OK;
    }
    while (loop->extent < FEW_ITEMS && is_only_loop(loop->body) &&
           vtac_loop_fuse(k, loop->var, loop->body->var, NULL) == VTA_OK) {
    }
    out->items = loop->extent;
    VTA_TRY(vta_allocated(!k->failed, diag));
    return groups ? vtac_bind_lanes(out, diag) : VTA_OK;
}

void vtac_bound_free(vtac_bound *bound)
{
    vtac_kernel_free(&bound->kernel);
}
