/* SPDX-License-Identifier: Apache-2.0
 *
 * Sparse contents: axes in an order of their own, an axis may be cut into blocks, and each is dense or a list
 * of the places that there are for every place of the axes before it. Here they become whole.
 */
#include <string.h>

#include "model.h"
#include "vta/fail.h"

enum { ORDER, BLOCKS, AXES };
enum { FORMAT, DENSE_SIZE, SEGMENTS_TYPE, SEGMENTS, INDICES_TYPE, INDICES };
enum { VALUES = 0, INT32_LIST = 1, UINT16_LIST, UINT8_LIST };
enum { MAX_AXES = 2 * VTAC_MAX_RANK, MAX_BYTES = 1 << 30 };

typedef struct list {
    vtac_flat_vector at;
    uint32_t width; /* bytes of a number */
} list;

typedef struct sparse_axis {
    bool sparse;
    int64_t size;
    list segments, indices;
    uint32_t number; /* in the tensor: its axes, then the blocks */
} sparse_axis;

typedef struct walk {
    vtac_flat *flat;
    sparse_axis axes[MAX_AXES];
    uint32_t count, rank;
    int64_t stride[MAX_AXES]; /* elements of the whole tensor, by number */
    const uint8_t *from;
    uint8_t *to;
    uint64_t given, elements, bytes; /* values; of the whole; of an element */
    uint64_t left;                   /* visits: damaged lists may lead to the same places again and again */
    bool bad;
} walk;

static int64_t list_item(walk *w, const list *l, uint64_t i)
{
    if (i >= l->at.count) {
        w->bad = true;
        return 0;
    }
    const int64_t v = vtac_flat_int_at(w->flat, l->at, (uint32_t)i, l->width);
    return l->width == 2 ? v & 0xffff : l->width == 1 ? v & 0xff : v;
}

static void visit_level(walk *w, uint32_t level, uint64_t place, int64_t offset)
{
    if (w->bad || w->left == 0) {
        w->bad = true;
        return;
    }
    w->left--;
    if (level == w->count) {
        if (place >= w->given || (uint64_t)offset >= w->elements) {
            w->bad = true;
            return;
        }
        memcpy(w->to + (uint64_t)offset * w->bytes, w->from + place * w->bytes, w->bytes);
        return;
    }
    const sparse_axis *a = &w->axes[level];
    const int64_t first =
        a->sparse ? list_item(w, &a->segments, place) : (int64_t)(place * (uint64_t)a->size);
    const int64_t last = a->sparse ? list_item(w, &a->segments, place + 1) : first + a->size;
    w->bad = w->bad || first < 0 || last < first || (a->sparse && last > (int64_t)a->indices.at.count);
    for (int64_t i = first; i < last && !w->bad; i++) {
        const int64_t index = a->sparse ? list_item(w, &a->indices, (uint64_t)i) : i - first;
        w->bad = w->bad || index < 0 || index >= a->size;
        visit_level(w, level + 1, (uint64_t)i, offset + index * w->stride[a->number]);
    }
}

static list list_of(vtac_flat *f, vtac_flat_table t, uint32_t type, uint32_t field)
{
    const int64_t kind = vtac_flat_int(f, t, type, 1, 0);
    const uint32_t width = kind == INT32_LIST ? 4 : kind == UINT16_LIST ? 2 : 1;
    return (list){vtac_flat_list(f, vtac_flat_sub(f, t, field), VALUES, width), width};
}

static bool begin_walk(walk *w, vtac_flat_table sparsity, const vtac_type *type)
{
    vtac_flat *f = w->flat;
    const vtac_flat_vector order = vtac_flat_list(f, sparsity, ORDER, 4);
    const vtac_flat_vector blocks = vtac_flat_list(f, sparsity, BLOCKS, 4);
    const vtac_flat_vector axes = vtac_flat_list(f, sparsity, AXES, 4);
    int64_t size[MAX_AXES] = {0};
    bool seen[MAX_AXES] = {false};
    if (order.count > MAX_AXES || axes.count != order.count || order.count != type->rank + blocks.count) {
        return false;
    }
    w->count = order.count;
    for (uint32_t i = 0; i < type->rank; i++) {
        size[i] = type->dim[i];
    }
    for (uint32_t i = 0; i < w->count; i++) {
        const int64_t number = vtac_flat_int_at(f, order, i, 4);
        const vtac_flat_table t = vtac_flat_item(f, axes, i);
        if (number < 0 || number >= (int64_t)w->count || seen[number]) {
            return false;
        }
        seen[number] = true;
        sparse_axis *a = &w->axes[i];
        a->number = (uint32_t)number;
        a->sparse = vtac_flat_int(f, t, FORMAT, 1, 0) != 0;
        a->size = vtac_flat_int(f, t, DENSE_SIZE, 4, 0);
        a->segments = list_of(f, t, SEGMENTS_TYPE, SEGMENTS);
        a->indices = list_of(f, t, INDICES_TYPE, INDICES);
        if (number >= (int64_t)type->rank) {
            size[number] = a->size;
        }
    }
    int64_t step = 1;
    for (uint32_t i = type->rank; i-- > 0;) {
        w->stride[i] = step;
        step *= type->dim[i];
    }
    for (uint32_t k = 0; k < blocks.count; k++) { /* a block's place within the axis that it cuts */
        const int64_t cut = vtac_flat_int_at(f, blocks, k, 4);
        const int64_t block = size[type->rank + k];
        if (cut < 0 || cut >= (int64_t)type->rank || block < 1 || size[cut] % block != 0) {
            return false;
        }
        w->stride[type->rank + k] = w->stride[cut];
        w->stride[cut] *= block;
        size[cut] /= block;
    }
    for (uint32_t i = 0; i < w->count; i++) {
        sparse_axis *a = &w->axes[i];
        a->size = size[a->number];
    }
    return !f->bad;
}

vta_status vtac_tflite_make_dense(vtac_tflite_model *m, vtac_flat_table sparsity, vtac_tflite_tensor *t,
                                  size_t size, vta_diag *diag)
{
    walk w = {.flat = &m->flat, .from = t->data, .bytes = vtac_dtype_bytes(t->type.dtype)};
    w.elements = (uint64_t)vtac_type_elements(&t->type);
    w.given = size / w.bytes;
    w.left = (w.elements + 1) * (MAX_AXES + 1);
    if (w.elements > MAX_BYTES / w.bytes) {
        return vta_fail(diag, VTA_RANGE, "tensor '%s' is too large", t->name);
    }
    w.to = vta_arena_array(m->arena, w.elements, w.bytes);
    if (w.to == NULL) {
        return vta_no_memory(diag);
    }
    memset(w.to, 0, w.elements * w.bytes);
    w.bad = !begin_walk(&w, sparsity, &t->type);
    visit_level(&w, 0, 0, 0);
    t->data = w.to;
    return w.bad
               ? vta_fail(diag, VTA_INVALID, "tensor '%s': its sparse contents do not fit its shape", t->name)
               : VTA_OK;
}
