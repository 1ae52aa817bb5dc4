/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's side of an accelerator region: tensors into the device's blocked layout (vtac/vta.h), one
 * launch, and out of it again. The layout is told by the attributes that src/partition writes:
 *
 *   shape   [n, c, h, w] of the image          block   [rows, lanes] of a tile
 *   stored  [c, h, w] as it lies in memory     offset  bytes from the start of device memory
 *   fold    kernel, stride, dilation, padding before, after of the windows that are stored (Pack; none: 1×1)
 *
 * Pack walks one row of one stored channel at a time: the row of the image is contiguous, the row in memory
 * has the pitch of a tile, and what is padding is known before the loop.
 */
#include "lower.h"
#include "point.h"

enum { N, C, H, W };
enum { ROWS, COLUMNS };

typedef struct layout {
    int64_t shape[4], stored[4]; /* stored: [ROWS of n in tiles, c, h, w] */
    int64_t rows, lanes;         /* of a tile */
    int64_t kernel[2], stride[2], dilation[2], before[2];
    int64_t zero;
    bool flip; /* uint8: moved by 128 */
} layout;

static bool read_ints(const vtac_node *node, const char *name, size_t count, int64_t *out)
{
    const vtac_attr *attr = vtac_find_attr(node, name);
    for (size_t i = 0; attr != NULL && attr->kind == VTAC_ATTR_INTS && attr->count == count && i < count;
         i++) {
        out[i] = attr->ints[i];
    }
    return attr != NULL && attr->kind == VTAC_ATTR_INTS && attr->count == count;
}

static bool read_layout(const vtac_node *node, layout *g)
{
    int64_t block[2];
    int64_t fold[10] = {1, 1, 1, 1, 1, 1, 0, 0, 0, 0};
    if (!read_ints(node, "shape", 4, g->shape) || !read_ints(node, "stored", 3, g->stored + 1) ||
        !read_ints(node, "block", 2, block)) {
        return false;
    }
    (void)read_ints(node, "fold", 10, fold);
    for (int i = 0; i < 2; i++) {
        g->kernel[i] = fold[i];
        g->stride[i] = fold[2 + i];
        g->dilation[i] = fold[4 + i];
        g->before[i] = fold[6 + i];
    }
    g->rows = block[ROWS];
    g->lanes = block[1];
    g->stored[N] = (g->shape[N] + g->rows - 1) / g->rows;
    g->zero = vtac_attr_int(node, "zero", 0);
    return true;
}

/* Lanes of a place, over all channel blocks. */
static int64_t all_lanes(const layout *g)
{
    return (g->stored[C] + g->lanes - 1) / g->lanes * g->lanes;
}

/* The byte of image `n`, stored channel `q`, row y, column 0; a step of a column is rows · lanes bytes. */
static const vtac_expr *stored_row(vtac_lower *l, const layout *g, const vtac_expr *n, const vtac_expr *q,
                                   const vtac_expr *y)
{
    const int64_t blocks = all_lanes(g) / g->lanes;
    const int64_t tile = g->rows * g->lanes;
    vtac_kernel *k = l->k;
    const vtac_expr *block =
        vtac_i_add(k, vtac_i_mulc(k, vtac_i_divc(k, n, g->rows), blocks), vtac_i_divc(k, q, g->lanes));
    const vtac_expr *row = vtac_i_add(k, vtac_i_mulc(k, block, g->stored[H]), y);
    const vtac_expr *lane =
        vtac_i_add(k, vtac_i_mulc(k, vtac_i_remc(k, n, g->rows), g->lanes), vtac_i_remc(k, q, g->lanes));
    return vtac_i_add(k, vtac_i_mulc(k, row, g->stored[W] * tile), lane);
}

/* ---- Pack */

typedef struct packer {
    vtac_lower *l;
    layout g;
    vtac_buffer *from, *to;
    const vtac_expr *n, *y;
} packer;

static void fill(const packer *p, const vtac_expr *to, int64_t begin, int64_t end)
{
    vtac_kernel *k = p->l->k;
    if (begin < end) {
        const vtac_expr *x = vtac_for(k, VTAC_LOOP_SERIAL, end - begin, "x");
        x = vtac_i_mulc(k, vtac_i_addc(k, x, begin), p->g.rows * p->g.lanes);
        vtac_store(k, p->to, vtac_i_add(k, to, x), vtac_e_int(k, VTAC_I8, p->g.zero));
        vtac_end(k);
    }
}

/* Columns begin … end-1 of a stored row come from the image's row at `from`, column x·stride + shift. */
static void copy(const packer *p, const vtac_expr *to, const vtac_expr *from, int64_t shift, int64_t begin,
                 int64_t end)
{
    vtac_kernel *k = p->l->k;
    if (begin < end) {
        const vtac_expr *x = vtac_i_addc(k, vtac_for(k, VTAC_LOOP_SERIAL, end - begin, "x"), begin);
        const vtac_expr *at = vtac_i_addc(k, vtac_i_mulc(k, x, p->g.stride[COLUMNS]), shift);
        const vtac_expr *value = vtac_e_load(k, p->from, vtac_i_add(k, from, at));
        if (p->g.flip) {
            value = vtac_e2(k, VTAC_E_XOR, value, vtac_e_int(k, VTAC_U8, 128));
        }
        to = vtac_i_add(k, to, vtac_i_mulc(k, x, p->g.rows * p->g.lanes));
        vtac_store(k, p->to, to, vtac_e_cast(k, VTAC_I8, value));
        vtac_end(k);
    }
}

static int64_t held(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* One row of all channels of the taps in one column of the window, `ky` the tap's row. Columns are told apart
 * here, so that their borders are known; rows by a loop, so that a large window is no large kernel. */
static void pack_taps(const packer *p, const vtac_expr *ky, int64_t kx)
{
    const layout *g = &p->g;
    vtac_kernel *k = p->l->k;
    const int64_t shift = kx * g->dilation[COLUMNS] - g->before[COLUMNS];
    const int64_t step = g->stride[COLUMNS];
    const int64_t begin = shift >= 0 ? 0 : held((-shift + step - 1) / step, 0, g->stored[W]);
    const int64_t last = g->shape[W] - 1 - shift;
    const int64_t end = last < 0 ? begin : held(last / step + 1, begin, g->stored[W]);
    const int64_t reach =
        (g->stored[H] - 1) * g->stride[ROWS] + (g->kernel[ROWS] - 1) * g->dilation[ROWS] - g->before[ROWS];
    const vtac_expr *down = vtac_i_addc(k, vtac_i_mulc(k, ky, g->dilation[ROWS]), -g->before[ROWS]);
    const vtac_expr *row = vtac_let(k, "row", vtac_i_add(k, vtac_i_mulc(k, p->y, g->stride[ROWS]), down));
    const vtac_expr *tap = vtac_i_addc(k, vtac_i_mulc(k, ky, g->kernel[COLUMNS]), kx);
    const vtac_expr *ch = vtac_for(k, VTAC_LOOP_SERIAL, g->shape[C], "c");
    const vtac_expr *q = vtac_let(k, "q", vtac_i_add(k, vtac_i_mulc(k, tap, g->shape[C]), ch));
    const vtac_expr *to = vtac_let(k, "to", stored_row(p->l, g, p->n, q, p->y));
    const vtac_expr *plane = vtac_i_add(k, vtac_i_mulc(k, p->n, g->shape[C]), ch);
    const vtac_expr *from =
        vtac_i_mulc(k, vtac_i_add(k, vtac_i_mulc(k, plane, g->shape[H]), row), g->shape[W]);
    const vtac_expr *outside = NULL;
    if (g->before[ROWS] > 0 || reach >= g->shape[H]) {
        const vtac_expr *lower = vtac_e2(k, VTAC_E_LT, row, vtac_e_index(k, 0));
        const vtac_expr *upper = vtac_e2(k, VTAC_E_GE, row, vtac_e_index(k, g->shape[H]));
        outside = vtac_let(k, "outside", vtac_e2(k, VTAC_E_OR, lower, upper));
        vtac_if(k, outside);
        fill(p, to, 0, g->stored[W]);
        vtac_end(k);
        vtac_if(k, vtac_e1(k, VTAC_E_NOT, outside));
    }
    fill(p, to, 0, begin);
    copy(p, to, vtac_let(k, "from", from), shift, begin, end);
    fill(p, to, end, g->stored[W]);
    if (outside != NULL) {
        vtac_end(k);
    }
    vtac_end(k);
}

static void fill_channels(const packer *p, int64_t begin, int64_t end)
{
    vtac_kernel *k = p->l->k;
    if (begin < end) {
        const vtac_expr *q = vtac_i_addc(k, vtac_for(k, VTAC_LOOP_SERIAL, end - begin, "c"), begin);
        fill(p, vtac_let(k, "to", stored_row(p->l, &p->g, p->n, q, p->y)), 0, p->g.stored[W]);
        vtac_end(k);
    }
}

static void pack_row(const packer *p)
{
    vtac_kernel *k = p->l->k;
    const bool ragged = p->g.shape[N] % p->g.rows != 0;
    const vtac_expr *images = vtac_e_index(k, p->g.shape[N]);
    if (ragged) {
        vtac_if(k, vtac_e2(k, VTAC_E_LT, p->n, images));
    }
    const int64_t rows = p->g.kernel[ROWS];
    const vtac_expr *ky = rows > 1 ? vtac_for(k, VTAC_LOOP_SERIAL, rows, "ky") : vtac_e_index(k, 0);
    for (int64_t kx = 0; kx < p->g.kernel[COLUMNS]; kx++) {
        pack_taps(p, ky, kx);
    }
    if (rows > 1) {
        vtac_end(k);
    }
    fill_channels(p, p->g.stored[C], all_lanes(&p->g));
    if (ragged) {
        vtac_end(k);
        vtac_if(k, vtac_e2(k, VTAC_E_GE, p->n, images));
        fill_channels(p, 0, all_lanes(&p->g));
        vtac_end(k);
    }
}

/* Where output i of the node lives: at a fixed place in device memory. */
static vta_status place_output(vtac_lower *l, uint32_t i, int64_t offset)
{
    const vtac_value_id id = l->node->outputs[i];
    const uint64_t bytes = (uint64_t)vtac_type_elements(&l->graph->values[id].type);
    const vtac_storage storage = {
        .kind = VTAC_STORAGE_DEVICE_WORK, .offset = (uint64_t)offset, .bytes = bytes};
    if (vta_vec_push(&l->program->storages, &storage) == NULL) {
        return vta_fail(l->diag, VTA_NOMEM, "out of memory");
    }
    l->program->of_value[id] = (vtac_storage_id)(l->program->storages.count - 1);
    return VTA_OK;
}

vta_status vtac_lower_vta_pack(vtac_lower *l)
{
    packer p = {.l = l};
    if (!read_layout(l->node, &p.g)) {
        return vtac_unsupported(l, "its attributes do not tell a layout");
    }
    p.g.flip = vtac_type_in(l, 0)->dtype == VTAC_U8;
    VTA_TRY(place_output(l, 0, vtac_attr_int(l->node, "offset", 0)));
    VTA_TRY(vtac_begin(l, ""));
    p.from = vtac_in(l, 0);
    p.to = vtac_out(l, 0);
    const int64_t rows = p.g.stored[N] * p.g.rows * p.g.stored[H];
    const vtac_expr *i = vtac_for(l->k, vtac_parallel_if(rows * p.g.stored[W] * all_lanes(&p.g)), rows, "i");
    p.n = vtac_let(l->k, "n", vtac_i_divc(l->k, i, p.g.stored[H]));
    p.y = vtac_let(l->k, "y", vtac_i_remc(l->k, i, p.g.stored[H]));
    pack_row(&p);
    vtac_end(l->k);
    return VTA_OK;
}

/* ---- Unpack */

const vtac_expr *vtac_map_vta_unpack(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    layout g = {.zero = 0};
    if (!read_layout(n, &g)) {
        (void)vtac_unsupported(l, "its attributes do not tell a layout");
        return NULL;
    }
    const vtac_type *type = &l->graph->values[n->outputs[0]].type;
    const vtac_expr *none = vtac_e_index(l->k, 0);
    const vtac_expr *y = type->rank == 4 ? at[2] : none;
    const vtac_expr *x = type->rank >= 3 ? at[type->rank - 1] : none;
    const vtac_expr *row = stored_row(l, &g, at[0], type->rank >= 2 ? at[1] : none, y);
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
        return vta_fail(l->diag, VTA_NOMEM, "out of memory");
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
        VTA_TRY(place_output(l, i, offsets->ints[i]));
        VTA_TRY(add_argument(l, l->program->of_value[l->node->outputs[i]]));
    }
    return VTA_OK;
}
