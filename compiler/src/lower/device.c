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
    g->planes[2] = 1;
    g->planes[1] = g->shape[2] * g->shape[3];
    g->planes[0] = g->shape[1] * g->planes[1];
    if (vtac_find_attr(node, "planes") != NULL && !read_ints(node, "planes", 3, g->planes)) {
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

/* The number at a place of the image: image, channel, row, column. */
static const vtac_expr *unpacked_element(vtac_lower *l, const vtac_device_layout *g,
                                         const vtac_expr *const *at)
{
    const vtac_expr *row = vtac_device_row(l, g, at[0], at[1], at[2]);
    const vtac_expr *place = vtac_i_add(l->k, row, vtac_i_mulc(l->k, at[3], g->rows * g->lanes));
    const vtac_expr *value = vtac_e_load(l->k, vtac_in(l, 0), place);
    if (vtac_type_out(l, 0)->dtype == VTAC_U8) {
        value = vtac_e2(l->k, VTAC_E_XOR, vtac_e_cast(l->k, VTAC_U8, value), vtac_e_int(l->k, VTAC_U8, 128));
    }
    return value;
}

static const vtac_expr *map_unpacked(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    vtac_device_layout g = {.zero = 0};
    (void)vtac_device_read(n, &g);
    const uint32_t rank = vtac_type_out(l, 0)->rank;
    const vtac_expr *none = vtac_e_index(l->k, 0);
    const vtac_expr *const place[] = {at[0], rank >= 2 ? at[1] : none, rank == 4 ? at[2] : none,
                                      rank >= 3 ? at[rank - 1] : none};
    return unpacked_element(l, &g, place);
}

enum { MAX_LOOPS = 16 };

/* Loops over an image in the order of the output's elements. */
typedef struct unpack_walk {
    int64_t size[MAX_LOOPS], axis[MAX_LOOPS], stride[MAX_LOOPS], start[4];
    uint32_t count;
} unpack_walk;

static bool read_walk(const vtac_node *node, unpack_walk *w)
{
    const vtac_attr *size = vtac_find_attr(node, "walk_size");
    w->count = (uint32_t)size->count;
    bool good = size->count <= MAX_LOOPS && read_ints(node, "walk_size", w->count, w->size) &&
                read_ints(node, "walk_axis", w->count, w->axis) &&
                read_ints(node, "walk_stride", w->count, w->stride) &&
                read_ints(node, "walk_start", 4, w->start);
    for (uint32_t i = 0; good && i < w->count; i++) {
        good = w->axis[i] >= 0 && w->axis[i] < 4;
    }
    return good;
}

/* The axes of the output whose loops end with loop i; each index is what its loops have counted. */
static void index_output(const vtac_lower *l, const unpack_walk *w, const vtac_expr *const *step,
                         const vtac_expr **at)
{
    const vtac_type *type = vtac_type_out(l, 0);
    uint32_t i = 0;
    for (uint32_t d = 0; d < type->rank; d++) {
        at[d] = vtac_e_index(l->k, 0);
        for (int64_t places = 1; places < type->dim[d] && i < w->count; i++) {
            at[d] = vtac_i_add(l->k, vtac_i_mulc(l->k, at[d], w->size[i]), step[i]);
            places *= w->size[i];
        }
    }
}

static vta_status unpack_in_order(vtac_lower *l, const vtac_device_layout *g)
{
    unpack_walk w = {.count = 0};
    const vtac_expr *step[MAX_LOOPS], *place[4], *at[VTAC_MAX_RANK];
    if (!read_walk(l->node, &w)) {
        return vtac_unsupported(l, "its attributes do not tell an order");
    }
    VTA_TRY(vtac_begin(l, ""));
    vtac_kernel *k = l->k;
    for (uint32_t i = 0; i < w.count; i++) {
        step[i] =
            vtac_for(k, i > 0 ? VTAC_LOOP_SERIAL : vtac_parallel_if(vtac_type_elements(vtac_type_out(l, 0))),
                     w.size[i], "i");
    }
    for (int axis = 0; axis < 4; axis++) {
        place[axis] = vtac_e_index(k, w.start[axis]);
    }
    for (uint32_t i = 0; i < w.count; i++) {
        place[w.axis[i]] = vtac_i_add(k, place[w.axis[i]], vtac_i_mulc(k, step[i], w.stride[i]));
    }
    index_output(l, &w, step, at);
    vtac_out_at(l, 0, at, unpacked_element(l, g, place));
    vtac_close(l, w.count);
    vtac_kernel_hoist(k);
    return l->diag->code;
}

vta_status vtac_lower_vta_unpack(vtac_lower *l)
{
    vtac_device_layout g = {.zero = 0};
    if (!vtac_device_read(l->node, &g)) {
        return vtac_unsupported(l, "its attributes do not tell a layout");
    }
    return vtac_find_attr(l->node, "walk_size") != NULL ? unpack_in_order(l, &g)
                                                        : vtac_lower_mapped(l, map_unpacked);
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
