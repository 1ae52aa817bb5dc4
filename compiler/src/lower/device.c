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

/* ---- caches that stay in device memory */

static void copy_bytes(vtac_lower *l)
{
    const int64_t count = vtac_type_elements(&l->graph->values[l->node->outputs[0]].type);
    vtac_buffer *from = vtac_in(l, 0), *to = vtac_out(l, 0);
    const vtac_expr *i = vtac_for(l->k, vtac_parallel_if(count), count, "i");
    vtac_store(l->k, to, i, vtac_e_load(l->k, from, i));
    vtac_end(l->k);
}

/* To device memory, or from there: a step that the runtime leaves out where both are one place. */
vta_status vtac_lower_vta_state(vtac_lower *l)
{
    const int64_t offset = vtac_attr_int(l->node, "offset", -1);
    VTA_TRY(offset >= 0 ? vtac_device_place(l, 0, offset) : VTA_OK);
    VTA_TRY(vtac_begin(l, ""));
    l->step->moves_state = true;
    copy_bytes(l);
    return VTA_OK;
}

typedef struct cache_layout {
    int64_t heads, tokens, count, columns, full, lanes; /* full: columns of a head with its padding */
    bool transposed;
} cache_layout;

static cache_layout cache_layout_of(const vtac_lower *l)
{
    const vtac_type *rows = vtac_type_in(l, VTAC_TENSOR_SCATTER_UPDATE);
    return (cache_layout){.heads = rows->dim[1],
                          .tokens = vtac_attr_int(l->node, "tokens", 1),
                          .count = rows->dim[2],
                          .columns = rows->dim[3],
                          .full = vtac_attr_int(l->node, "columns", 1),
                          .lanes = vtac_attr_int(l->node, "lanes", 1),
                          .transposed = vtac_attr_int(l->node, "transposed", 0) != 0};
}

/* The byte of the cache that belongs to a head's column of a token. */
static const vtac_expr *place_in_cache(vtac_lower *l, const cache_layout *c, const vtac_expr *head,
                                       const vtac_expr *token, const vtac_expr *column)
{
    vtac_kernel *k = l->k;
    const vtac_expr *channel = vtac_i_add(k, vtac_i_mulc(k, head, c->full), column);
    const vtac_expr *lane = c->transposed ? token : channel, *pixel = c->transposed ? channel : token;
    const int64_t pixels = c->transposed ? c->heads * c->full : c->tokens;
    const vtac_expr *block = vtac_i_mulc(k, vtac_i_divc(k, lane, c->lanes), pixels);
    return vtac_i_add(k, vtac_i_mulc(k, vtac_i_add(k, block, pixel), c->lanes),
                      vtac_i_remc(k, lane, c->lanes));
}

static void write_rows(vtac_lower *l, const cache_layout *c, vtac_buffer *to)
{
    vtac_kernel *k = l->k;
    vtac_buffer *rows = vtac_in(l, VTAC_TENSOR_SCATTER_UPDATE),
                *position = vtac_in(l, VTAC_TENSOR_SCATTER_INDICES);
    const vtac_expr *first = vtac_e_cast(k, VTAC_I64, vtac_e_load(k, position, vtac_e_index(k, 0)));
    first = vtac_let(k, "first", first);
    const vtac_expr *t = vtac_for(k, VTAC_LOOP_SERIAL, c->count, "t");
    const vtac_expr *token = vtac_let(k, "token", vtac_i_add(k, first, t));
    vtac_if(k, vtac_e2(k, VTAC_E_AND, vtac_e2(k, VTAC_E_GE, token, vtac_e_index(k, 0)),
                       vtac_e2(k, VTAC_E_LT, token, vtac_e_index(k, c->tokens))));
    const vtac_expr *h = vtac_for(k, VTAC_LOOP_SERIAL, c->heads, "h");
    const vtac_expr *d = vtac_for(k, VTAC_LOOP_SERIAL, c->columns, "d");
    const vtac_expr *row = vtac_i_add(k, vtac_i_mulc(k, h, c->count), t);
    const vtac_expr *from = vtac_i_add(k, vtac_i_mulc(k, row, c->columns), d);
    vtac_store(k, to, place_in_cache(l, c, h, token, d), vtac_e_load(k, rows, from));
    for (int i = 0; i < 4; i++) {
        vtac_end(k);
    }
}

/* Writes new rows into a cache: in its place, if that is device memory. */
vta_status vtac_lower_vta_append(vtac_lower *l)
{
    const cache_layout c = cache_layout_of(l);
    const vtac_storage_id cache = l->program->of_value[l->node->inputs[VTAC_TENSOR_SCATTER_CACHE]];
    const vtac_storage *storage = vta_vec_at(&l->program->storages, cache);
    const bool in_place = cache != 0 && storage->kind == VTAC_STORAGE_DEVICE_WORK;
    if (in_place) {
        l->program->of_value[l->node->outputs[0]] = cache;
    }
    VTA_TRY(vtac_begin(l, ""));
    if (!in_place) {
        copy_bytes(l);
    }
    write_rows(l, &c, vtac_out(l, 0));
    return VTA_OK;
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
