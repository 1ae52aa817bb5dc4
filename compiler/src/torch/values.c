/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of PyTorch's programs, the archives that they lie in, and tensors in their storages.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "torch.h"
#include "vta/fail.h"

void vtac_torch_refuse(vtac_torch *im, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    vtac_make_fail(&im->maker, VTA_UNSUPPORTED, "%s; that is not taken", text);
}

/* ---- plain values */

const vtac_torch_value vtac_torch_none = {TORCH_NONE, {0}};

vtac_torch_value vtac_torch_bool(bool b)
{
    return (vtac_torch_value){.kind = TORCH_BOOL, .i = b};
}

vtac_torch_value vtac_torch_integer(int64_t i)
{
    return (vtac_torch_value){.kind = TORCH_INT, .i = i};
}

vtac_torch_value vtac_torch_real(double f)
{
    return (vtac_torch_value){.kind = TORCH_FLOAT, .f = f};
}

vtac_torch_value vtac_torch_string(const char *s)
{
    return (vtac_torch_value){.kind = TORCH_TEXT, .s = s};
}

bool vtac_torch_is_number(const vtac_torch_value *v)
{
    return v->kind == TORCH_BOOL || v->kind == TORCH_INT || v->kind == TORCH_FLOAT;
}

double vtac_torch_number(const vtac_torch_value *v)
{
    return v->kind == TORCH_FLOAT ? v->f : (double)v->i;
}

const char *vtac_torch_kind_name(vtac_torch_kind kind)
{
    static const char *const names[] = {"None",   "bool",   "int",     "float", "text",
                                        "name",   "tensor", "list",    "tuple", "dictionary",
                                        "object", "method", "storage", "mark"};
    return names[kind];
}

void vtac_torch_append(vtac_torch *im, vtac_torch_list *list, vtac_torch_value item)
{
    if (list->count == list->room) {
        const uint32_t room = list->room < 8 ? 8 : list->room * 2;
        vtac_torch_value *items =
            room > 1U << 22 ? NULL : vta_arena_array(&im->maker.graph->arena, room, sizeof *items);
        if (items == NULL) {
            vtac_make_fail(&im->maker, VTA_NOMEM, "out of memory");
            return;
        }
        if (list->count > 0) {
            memcpy(items, list->items, list->count * sizeof *items);
        }
        list->items = items;
        list->room = room;
    }
    list->items[list->count++] = item;
}

vtac_torch_value vtac_torch_list_value(vtac_torch *im, vtac_torch_kind kind, const vtac_torch_value *items,
                                       uint32_t count)
{
    static vtac_torch_list none;
    vtac_torch_list *list = vta_arena_alloc(&im->maker.graph->arena, sizeof *list);
    if (list == NULL) {
        vtac_make_fail(&im->maker, VTA_NOMEM, "out of memory");
        return (vtac_torch_value){.kind = kind, .list = &none};
    }
    for (uint32_t i = 0; i < count; i++) {
        vtac_torch_append(im, list, items[i]);
    }
    return (vtac_torch_value){.kind = kind, .list = list};
}

vtac_torch_value *vtac_torch_look_up(const vtac_torch_list *list, const char *key)
{
    for (uint32_t i = 0; i + 1 < list->count; i += 2) {
        const vtac_torch_value *k = &list->items[i];
        if (k->kind == TORCH_TEXT && strcmp(k->s, key) == 0) {
            return &list->items[i + 1];
        }
    }
    return NULL;
}

/* ---- archives */

vta_status vtac_torch_open(vtac_torch *im, const uint8_t *bytes, size_t size, vtac_torch_archive *archive)
{
    VTA_TRY(
        vtac_unzip(bytes, size, &im->maker.graph->arena, &archive->members, &archive->count, im->maker.diag));
    archive->folder = "";
    for (uint32_t i = 0; i < archive->count; i++) {
        const char *name = archive->members[i].name;
        const char *slash = strchr(name, '/');
        const char *end = slash == NULL ? "" : slash + 1;
        if (strcmp(end, "data.pkl") == 0 || strcmp(end, "version") == 0 ||
            strcmp(end, "archive_format") == 0) {
            archive->folder = vta_arena_string(&im->maker.graph->arena, name, (size_t)(slash + 1 - name));
        }
    }
    if (archive->folder == NULL) {
        return vta_no_memory(im->maker.diag);
    }
    const vtac_zip_member *order = vtac_torch_member(im, archive, "byteorder");
    archive->swapped = order != NULL && order->size >= 3 && memcmp(order->bytes, "big", 3) == 0;
    return VTA_OK;
}

const vtac_zip_member *vtac_torch_member(const vtac_torch *im, const vtac_torch_archive *archive,
                                         const char *name)
{
    const size_t length = strlen(archive->folder);
    (void)im;
    for (uint32_t i = 0; i < archive->count; i++) {
        if (strncmp(archive->members[i].name, archive->folder, length) == 0 &&
            strcmp(archive->members[i].name + length, name) == 0) {
            return &archive->members[i];
        }
    }
    return NULL;
}

/* ---- types */

static const vtac_dtype codes[] = {VTAC_U8,  VTAC_I8,  VTAC_I16,      VTAC_I32,      VTAC_I64,      VTAC_F16,
                                   VTAC_F32, VTAC_F64, VTAC_NO_DTYPE, VTAC_NO_DTYPE, VTAC_NO_DTYPE, VTAC_BOOL,
                                   VTAC_I8,  VTAC_U8,  VTAC_I32,      VTAC_BF16};

vtac_dtype vtac_torch_dtype(int64_t code)
{
    return code < 0 || code >= (int64_t)(sizeof codes / sizeof codes[0]) ? VTAC_NO_DTYPE : codes[code];
}

int64_t vtac_torch_dtype_code(vtac_dtype dtype)
{
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i] == dtype) {
            return (int64_t)i;
        }
    }
    return -1;
}

/* ---- tensors */

vtac_torch_value vtac_torch_tensor_of(vtac_torch *im, vtac_id id)
{
    vtac_torch_tensor *t = vtac_make_room(&im->maker, 1, sizeof *t);
    uint32_t *changes = vtac_make_room(&im->maker, 1, sizeof *changes);
    if (t == NULL || changes == NULL) {
        return vtac_torch_none;
    }
    t->id = id;
    t->changes = changes;
    return (vtac_torch_value){.kind = TORCH_TENSOR, .tensor = t};
}

vtac_torch_value vtac_torch_quantized_of(vtac_torch *im, vtac_id id, double scale, int64_t zero)
{
    const vtac_torch_value v = vtac_torch_tensor_of(im, id);
    if (v.kind == TORCH_TENSOR) {
        v.tensor->quantized = true;
        v.tensor->scale = scale;
        v.tensor->zero = zero;
    }
    return v;
}

vtac_torch_value vtac_torch_stored(vtac_torch *im, const vtac_torch_storage *storage, int64_t offset,
                                   const vtac_type *type, const int64_t *stride)
{
    const int64_t count = vtac_type_elements(type);
    const int64_t size = (int64_t)vtac_dtype_bytes(type->dtype);
    const int64_t held = size == 0 ? 0 : (int64_t)storage->size / size;
    int64_t last = offset;
    bool fits = offset >= 0 && offset <= held && count >= 0 && size > 0;
    for (uint32_t i = 0; fits && count > 0 && i < type->rank; i++) {
        const int64_t steps = type->dim[i] - 1;
        fits = stride[i] >= 0 && (steps == 0 || stride[i] <= (held - last) / steps);
        last += fits ? steps * stride[i] : 0;
    }
    fits = fits && (count <= held || count <= 1 << 24); /* one element may stand for many */
    if (!fits || (count > 0 && last >= held)) {
        char text[160];
        vtac_make_fail(&im->maker, VTA_INVALID, "a tensor %s does not lie in its storage of %zu bytes",
                       vtac_type_text(type, text, sizeof text), storage->size);
        return vtac_torch_none;
    }
    const vtac_torch_value v = vtac_torch_tensor_of(im, 0);
    if (v.kind == TORCH_TENSOR) {
        v.tensor->storage = storage;
        v.tensor->offset = offset;
        v.tensor->type = *type;
        memcpy(v.tensor->stride, stride, type->rank * sizeof *stride);
    }
    return v;
}

static void copy_element(uint8_t *to, const uint8_t *from, size_t size, bool swapped)
{
    for (size_t i = 0; i < size; i++) {
        to[i] = from[swapped ? size - 1 - i : i];
    }
}

/* The contents in row-major order. */
static vtac_id make_contents(vtac_torch *im, const vtac_torch_tensor *t)
{
    const size_t size = vtac_dtype_bytes(t->type.dtype);
    const int64_t count = vtac_type_elements(&t->type);
    int64_t at[VTAC_MAX_RANK] = {0};
    uint8_t *room = vtac_make_room(&im->maker, count > 0 ? count : 1, size);
    for (int64_t i = 0; room != NULL && i < count; i++) {
        int64_t place = t->offset;
        for (uint32_t a = 0; a < t->type.rank; a++) {
            place += at[a] * t->stride[a];
        }
        copy_element(room + (size_t)i * size, t->storage->bytes + (size_t)place * size, size,
                     t->storage->swapped);
        for (uint32_t a = t->type.rank; a-- > 0 && ++at[a] == t->type.dim[a];) {
            at[a] = 0;
        }
    }
    return room == NULL ? 0 : vtac_make_borrowed(&im->maker, &t->type, room);
}

vtac_id vtac_torch_id(vtac_torch *im, vtac_torch_tensor *t)
{
    if (t->seen != *t->changes) {
        vtac_torch_refuse(im, "a tensor is read after a view of it was changed in place");
        return 0;
    }
    if (t->id == 0 && t->storage != NULL && im->maker.status == VTA_OK) {
        t->id = make_contents(im, t);
    }
    return t->id;
}

/* The scale and the zero point of a quantized tensor, as nodes have them. */
static void make_scales(vtac_torch *im, const vtac_torch_tensor *t, vtac_dtype dtype, vtac_id *scale,
                        vtac_id *zero)
{
    *scale = t->scales != 0 ? t->scales : vtac_make_number(&im->maker, VTAC_F32, t->scale);
    *zero = t->scales != 0 ? t->zeros : vtac_make_number(&im->maker, dtype, (double)t->zero);
}

vtac_id vtac_torch_floats(vtac_torch *im, vtac_torch_tensor *t)
{
    vtac_id in[3] = {vtac_torch_id(im, t), 0, 0};
    if (!t->quantized || im->maker.status != VTA_OK) {
        return in[0];
    }
    const vtac_attr axis = vtac_attr_of_int("axis", t->axis);
    make_scales(im, t, vtac_made_type(&im->maker, in[0]).dtype, &in[1], &in[2]);
    return vtac_make(&im->maker, VTAC_OP_DEQUANTIZE_LINEAR, in, 3, &axis, t->scales != 0 ? 1 : 0);
}

vtac_torch_value vtac_torch_quantize(vtac_torch *im, vtac_id x, double scale, int64_t zero, vtac_dtype dtype)
{
    vtac_torch_tensor like = {.scale = scale, .zero = zero, .type = {.dtype = dtype}};
    return vtac_torch_quantize_like(im, x, &like);
}

vtac_torch_value vtac_torch_quantize_like(vtac_torch *im, vtac_id x, const vtac_torch_tensor *t)
{
    const vtac_dtype dtype = t->id != 0 ? vtac_made_type(&im->maker, t->id).dtype : t->type.dtype;
    vtac_id in[3] = {x, 0, 0};
    make_scales(im, t, dtype, &in[1], &in[2]);
    const vtac_attr axis = vtac_attr_of_int("axis", t->axis);
    const vtac_id q = vtac_make(&im->maker, VTAC_OP_QUANTIZE_LINEAR, in, 3, &axis, t->scales != 0 ? 1 : 0);
    const vtac_torch_value v = vtac_torch_quantized_of(im, q, t->scale, t->zero);
    if (v.kind == TORCH_TENSOR) {
        v.tensor->scales = t->scales;
        v.tensor->zeros = t->zeros;
        v.tensor->axis = t->axis;
    }
    return v;
}

bool vtac_torch_item(vtac_torch *im, vtac_torch_value v, vtac_torch_value *out)
{
    const vtac_id id = v.kind == TORCH_TENSOR ? vtac_torch_id(im, v.tensor) : 0;
    const vtac_tensor *t = vtac_made_constant(&im->maker, id);
    if (t == NULL || vtac_type_elements(&t->type) != 1 || v.tensor->quantized) {
        return false;
    }
    const char kind = vtac_dtype_kind(t->type.dtype);
    *out = kind == 'f'   ? vtac_torch_real(vtac_tensor_float(t, 0))
           : kind == 'b' ? vtac_torch_bool(vtac_tensor_int(t, 0) != 0)
                         : vtac_torch_integer(vtac_tensor_int(t, 0));
    return true;
}
