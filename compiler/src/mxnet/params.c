/* SPDX-License-Identifier: Apache-2.0
 *
 * MXNet's files of arrays: a mark, the arrays, their names. An array has one of three headers, by the version
 * that wrote it: shapes of 64 bits behind a mark and a kind of storage, behind a mark alone, or of 32 bits
 * without a mark.
 */
#include <string.h>

#include "mxnet.h"
#include "vta/fail.h"

enum { MAX_ARRAYS = 1 << 16, MAX_NAME = 512 };
static const uint32_t mark_1 = 0xF993fac8;
static const uint32_t mark_2 = 0xF993fac9;
static const uint32_t mark_3 = 0xF993faca;

typedef struct params_reader {
    const uint8_t *begin, *at, *end;
    vta_diag *diag;
} params_reader;

static vta_status take_bytes(params_reader *r, void *out, size_t size)
{
    if ((size_t)(r->end - r->at) < size) {
        return vta_fail(r->diag, VTA_INVALID,
                        "the file of weights ends at byte %zu, within an array or a name",
                        (size_t)(r->end - r->begin));
    }
    memcpy(out, r->at, size);
    r->at += size;
    return VTA_OK;
}

static vta_status take_dims(params_reader *r, uint32_t rank, bool wide, vtac_type *type)
{
    if (rank > VTAC_MAX_RANK) {
        return vta_fail(r->diag, VTA_UNSUPPORTED, "byte %zu: an array of %u axes, up to %d are taken",
                        (size_t)(r->at - r->begin), rank, VTAC_MAX_RANK);
    }
    type->rank = rank;
    for (uint32_t a = 0; a < rank; a++) {
        uint32_t narrow = 0;
        VTA_TRY(wide ? take_bytes(r, &type->dim[a], 8) : take_bytes(r, &narrow, 4));
        type->dim[a] = wide ? type->dim[a] : narrow;
        if (type->dim[a] < 0) {
            return vta_fail(r->diag, VTA_INVALID, "byte %zu: an axis of %lld elements",
                            (size_t)(r->at - r->begin), (long long)type->dim[a]);
        }
    }
    return VTA_OK;
}

static vta_status take_shape(params_reader *r, vtac_type *type)
{
    uint32_t mark = 0;
    uint32_t rank = 0;
    int32_t storage = 0;
    VTA_TRY(take_bytes(r, &mark, 4));
    if (mark != mark_1 && mark != mark_2 && mark != mark_3) {
        return take_dims(r, mark, false, type);
    }
    if (mark != mark_1) {
        VTA_TRY(take_bytes(r, &storage, 4));
    }
    if (storage != 0) {
        return vta_fail(r->diag, VTA_UNSUPPORTED, "byte %zu: a sparse array; save it dense",
                        (size_t)(r->at - r->begin));
    }
    VTA_TRY(take_bytes(r, &rank, 4));
    return take_dims(r, rank, true, type);
}

static vta_status take_array(params_reader *r, vtac_mxnet_array *a)
{
    static const vtac_dtype dtypes[] = {VTAC_F32, VTAC_F64, VTAC_F16, VTAC_U8,
                                        VTAC_I32, VTAC_I8,  VTAC_I64, VTAC_BOOL};
    int32_t place[2];
    uint32_t dtype = 0;
    VTA_TRY(take_shape(r, &a->type));
    if (a->type.rank == 0) { /* nothing follows */
        a->type.dtype = VTAC_F32;
        a->type.rank = 1;
        return VTA_OK;
    }
    VTA_TRY(take_bytes(r, place, sizeof place));
    VTA_TRY(take_bytes(r, &dtype, 4));
    if (dtype >= sizeof dtypes / sizeof dtypes[0]) {
        return vta_fail(r->diag, VTA_INVALID, "byte %zu: elements of the unknown type %u",
                        (size_t)(r->at - r->begin), dtype);
    }
    a->type.dtype = dtypes[dtype];
    const int64_t count = vtac_type_elements(&a->type);
    const size_t left = (size_t)(r->end - r->at);
    if (count < 0 || (uint64_t)count > left / vtac_dtype_bytes(a->type.dtype)) {
        return vta_fail(r->diag, VTA_INVALID,
                        "byte %zu: an array of %lld elements, the file has %zu bytes more",
                        (size_t)(r->at - r->begin), (long long)count, left);
    }
    a->bytes = r->at;
    r->at += (size_t)count * vtac_dtype_bytes(a->type.dtype);
    return VTA_OK;
}

static vta_status take_name(vtac_mxnet *x, params_reader *r, vtac_mxnet_array *a)
{
    uint64_t length = 0;
    char text[MAX_NAME];
    VTA_TRY(take_bytes(r, &length, 8));
    if (length >= MAX_NAME) {
        return vta_fail(r->diag, VTA_INVALID, "byte %zu: a name of %llu characters",
                        (size_t)(r->at - r->begin), (unsigned long long)length);
    }
    VTA_TRY(take_bytes(r, text, (size_t)length));
    const bool kind = length > 4 && (memcmp(text, "arg:", 4) == 0 || memcmp(text, "aux:", 4) == 0);
    const size_t begin = kind ? 4 : 0;
    a->name = vtac_layered_text(&x->net, text + begin, (size_t)length - begin);
    return x->net.maker.status;
}

vta_status vtac_mxnet_read_params(vtac_mxnet *x, const uint8_t *bytes, size_t size)
{
    vta_diag *diag = x->net.maker.diag;
    params_reader r = {bytes, bytes, bytes + size, diag};
    uint64_t head[3] = {0};
    uint64_t names = 0;
    VTA_TRY(take_bytes(&r, head, sizeof head));
    if (head[0] != 0x112 || head[2] > MAX_ARRAYS) {
        return vta_fail(diag, VTA_INVALID,
                        "the file of weights begins with %#llx, expected 0x112, or has %llu "
                        "arrays, up to %d are taken",
                        (unsigned long long)head[0], (unsigned long long)head[2], MAX_ARRAYS);
    }
    x->array_count = (uint32_t)head[2];
    x->arrays = vta_arena_array(&x->net.maker.graph->arena, x->array_count, sizeof *x->arrays);
    VTA_TRY(vta_allocated(x->arrays != NULL, diag));
    for (uint32_t i = 0; i < x->array_count; i++) {
        x->arrays[i] = (vtac_mxnet_array){.name = ""};
        VTA_TRY(take_array(&r, &x->arrays[i]));
    }
    VTA_TRY(take_bytes(&r, &names, 8));
    if (names != x->array_count) {
        return vta_fail(diag, VTA_INVALID, "the file of weights has %u arrays and %llu names", x->array_count,
                        (unsigned long long)names);
    }
    for (uint32_t i = 0; i < x->array_count; i++) {
        VTA_TRY(take_name(x, &r, &x->arrays[i]));
    }
    return VTA_OK;
}

/* Most often the array behind the one that was wanted before. */
vtac_id vtac_mxnet_array_of(vtac_mxnet *x, const char *name)
{
    for (uint32_t i = 0; i < x->array_count; i++) {
        const uint32_t at = (x->next + i) % x->array_count;
        vtac_mxnet_array *a = &x->arrays[at];
        if (strcmp(a->name, name) == 0) {
            x->next = at + 1;
            a->id = a->id != 0 ? a->id : vtac_make_weights(&x->net.maker, &a->type, a->bytes);
            return a->id;
        }
    }
    return 0;
}
