/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's side of an accelerator region: tensors into the device's blocked layout (pack.c), one launch,
 * and out of it again.
 */
#include "device.h"
#include "layout.h"
#include "point.h"
#include "vta/fail.h"

enum { ROWS, COLUMNS };

static bool read_ints(const vtac_node *node, const char *name, size_t count, int64_t *out)
{
    const vtac_attr *attr = vtac_find_attr(node, name);
    for (size_t i = 0; attr != NULL && attr->kind == VTAC_ATTR_INTS && attr->count == count && i < count;
         i++) {
        out[i] = attr->ints[i];
    }
    return attr != NULL && attr->kind == VTAC_ATTR_INTS && attr->count == count;
}

bool vtac_device_read(const vtac_node *node, vtac_device_layout *g)
{
    int64_t block[2];
    if (!read_ints(node, "shape", 4, g->shape) || !read_ints(node, "stored", 3, g->stored + 1) ||
        !read_ints(node, "block", 2, block)) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        g->kernel[i] = g->stride[i] = g->dilation[i] = 1;
        g->before[i] = 0;
    }
    if (vtac_find_attr(node, "window_kernel") != NULL &&
        (!read_ints(node, "window_kernel", 2, g->kernel) || !read_ints(node, "window_stride", 2, g->stride) ||
         !read_ints(node, "window_dilation", 2, g->dilation) ||
         !read_ints(node, "window_before", 2, g->before))) {
        return false;
    }
    g->rows = block[ROWS];
    g->lanes = block[1];
    g->stored[0] = (g->shape[0] + g->rows - 1) / g->rows;
    g->zero = vtac_attr_int(node, "zero", 0);
    return true;
}

int64_t vtac_device_lanes(const vtac_device_layout *g)
{
    return (g->stored[1] + g->lanes - 1) / g->lanes * g->lanes;
}

const vtac_expr *vtac_device_row(vtac_lower *l, const vtac_device_layout *g, const vtac_expr *n,
                                 const vtac_expr *q, const vtac_expr *y)
{
    const int64_t blocks = vtac_device_lanes(g) / g->lanes;
    vtac_kernel *k = l->k;
    const vtac_expr *block =
        vtac_i_add(k, vtac_i_mulc(k, vtac_i_divc(k, n, g->rows), blocks), vtac_i_divc(k, q, g->lanes));
    const vtac_expr *row = vtac_i_add(k, vtac_i_mulc(k, block, g->stored[2]), y);
    const vtac_expr *lane =
        vtac_i_add(k, vtac_i_mulc(k, vtac_i_remc(k, n, g->rows), g->lanes), vtac_i_remc(k, q, g->lanes));
    return vtac_i_add(k, vtac_i_mulc(k, row, g->stored[3] * g->rows * g->lanes), lane);
}

vta_status vtac_device_place(vtac_lower *l, uint32_t i, int64_t offset)
{
    const vtac_value_id id = l->node->outputs[i];
    const uint64_t bytes = (uint64_t)vtac_type_elements(&l->graph->values[id].type);
    const vtac_storage storage = {
        .kind = VTAC_STORAGE_DEVICE_WORK, .offset = (uint64_t)offset, .bytes = bytes};
    if (vta_vec_push(&l->program->storages, &storage) == NULL) {
        return vta_no_memory(l->diag);
    }
    l->program->of_value[id] = (vtac_storage_id)(l->program->storages.count - 1);
    return VTA_OK;
}

/* ---- Unpack */

const vtac_expr *vtac_map_vta_unpack(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    vtac_device_layout g = {.zero = 0};
    if (!vtac_device_read(n, &g)) {
        (void)vtac_unsupported(l, "its attributes do not tell a layout");
        return NULL;
    }
    const vtac_type *type = &l->graph->values[n->outputs[0]].type;
    const vtac_expr *none = vtac_e_index(l->k, 0);
    const vtac_expr *y = type->rank == 4 ? at[2] : none;
    const vtac_expr *x = type->rank >= 3 ? at[type->rank - 1] : none;
    const vtac_expr *row = vtac_device_row(l, &g, at[0], type->rank >= 2 ? at[1] : none, y);
    const vtac_expr *place = vtac_i_add(l->k, row, vtac_i_mulc(l->k, x, g.rows * g.lanes));
    const vtac_expr *value = vtac_e_load(l->k, vtac_in(l, 0), place);
    if (type->dtype == VTAC_U8) {
        value = vtac_e2(l->k, VTAC_E_XOR, vtac_e_cast(l->k, VTAC_U8, value), vtac_e_int(l->k, VTAC_U8, 128));
    }
    return value;
}

/* ---- the region itself: a step without a kernel */

static vta_status add_argument(vtac_lower *l, vtac_storage_id storage)
{
    vtac_step_arg *args = vta_grow(l->step->args, &l->step->arg_room, l->step->arg_count + 1, sizeof *args);
    if (args == NULL || storage == 0) {
        return vta_no_memory(l->diag);
    }
    l->step->args = args;
    args[l->step->arg_count++] = (vtac_step_arg){.storage = storage};
    return VTA_OK;
}

vta_status vtac_lower_vta_region(vtac_lower *l)
{
    const uint32_t count = l->node->output_count;
    const vtac_attr *offsets = vtac_find_attr(l->node, "offset");
    const int64_t region = vtac_attr_int(l->node, "region", -1);
    if (region < 0 || offsets == NULL || offsets->kind != VTAC_ATTR_INTS || offsets->count != count) {
        return vtac_unsupported(l, "its attributes do not tell a region");
    }
    VTA_TRY(vtac_begin(l, ""));
    l->step->on_accelerator = true;
    l->step->region = (uint32_t)region;
    l->step->input_count = l->node->input_count;
    for (uint32_t i = 0; i < l->node->input_count; i++) {
        VTA_TRY(add_argument(l, l->program->of_value[l->node->inputs[i]]));
    }
    for (uint32_t i = 0; i < count; i++) {
        VTA_TRY(vtac_device_place(l, i, offsets->ints[i]));
        VTA_TRY(add_argument(l, l->program->of_value[l->node->outputs[i]]));
    }
    return VTA_OK;
}
