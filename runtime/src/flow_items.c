/* SPDX-License-Identifier: Apache-2.0
 *
 * What slots hold: tensors and sequences, counted, and bounded in all by what the model may use.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow_walk.h"
#include "vta/fail.h"

enum { CODE_INT, CODE_UINT, CODE_FLOAT, CODE_BRAIN = 4, CODE_BOOL = 6 };

vta_status vta_item_take(vta_flow *flow, uint64_t bytes, vta_diag *diag)
{
    if (bytes > flow->max - flow->used || flow->used > flow->max) {
        return vta_fail(
            diag, VTA_NOMEM,
            "the model's tensors need more than the %llu bytes that it may use (%llu are in use, %llu "
            "more wanted); VTAC_MEMORY, in MiB, sets another bound",
            (unsigned long long)flow->max, (unsigned long long)flow->used, (unsigned long long)bytes);
    }
    flow->used += bytes;
    return VTA_OK;
}

static vta_status new_item(vta_flow *flow, char kind, uint64_t bytes, vta_item **out, vta_diag *diag)
{
    *out = NULL;
    VTA_TRY(vta_item_take(flow, bytes + sizeof **out, diag));
    *out = calloc(1, sizeof **out);
    if (*out == NULL) {
        flow->used -= bytes + sizeof **out;
        return vta_no_memory(diag);
    }
    (*out)->refs = 1;
    (*out)->kind = kind;
    return VTA_OK;
}

/* Bytes that are freed when an item goes. */
static uint64_t weight(const vta_item *item)
{
    const uint64_t own = item->owner != NULL ? item->bytes + VTA_ARTIFACT_ALIGN : 0;
    const uint64_t places = (uint64_t)item->count > item->bytes ? (uint64_t)item->count : item->bytes;
    const uint64_t list = item->items != NULL && item->base == NULL ? places * sizeof(vta_item *) : 0;
    return own + list + sizeof *item;
}

static bool measure(uint32_t type, uint32_t rank, const int64_t *dim, int64_t *count, size_t *bytes)
{
    *count = 1;
    bool ok = rank <= VTA_FLOW_RANK;
    for (uint32_t i = 0; ok && i < rank; i++) {
        ok = dim[i] >= 0 && !__builtin_mul_overflow(*count, dim[i], count);
    }
    const uint64_t max = (SIZE_MAX < INT64_MAX ? SIZE_MAX : (uint64_t)INT64_MAX) / 4;
    return ok && (uint64_t)*count <= SIZE_MAX / 4 &&
           !__builtin_mul_overflow((size_t)*count, (size_t)(type >> 16), bytes) && *bytes <= max;
}

vta_status vta_item_tensor(vta_flow *flow, uint32_t type, uint32_t rank, const int64_t *dim, vta_item **out,
                           vta_diag *diag)
{
    int64_t count;
    size_t bytes;
    if (!measure(type, rank, dim, &count, &bytes)) {
        return vta_fail(diag, VTA_RANGE,
                        "a tensor of %u axes has a size below 0 or too large to count (at most %d "
                        "axes)",
                        rank, VTA_FLOW_RANK);
    }
    VTA_TRY(new_item(flow, VTA_FLOW_TENSOR, bytes + VTA_ARTIFACT_ALIGN, out, diag));
    vta_item *item = *out;
    item->bytes = bytes;
    item->count = count;
    item->type = type;
    item->rank = rank;
    if (rank > 0) {
        memcpy(item->dim, dim, rank * sizeof *dim);
    }
    item->owner = malloc(bytes + VTA_ARTIFACT_ALIGN);
    if (item->owner == NULL) {
        flow->used -= bytes + VTA_ARTIFACT_ALIGN + sizeof *item;
        free(item);
        *out = NULL;
        return vta_no_memory(diag);
    }
    const uintptr_t at = (uintptr_t)item->owner;
    item->data = (uint8_t *)item->owner + (VTA_ARTIFACT_ALIGN - at % VTA_ARTIFACT_ALIGN) % VTA_ARTIFACT_ALIGN;
    return VTA_OK;
}

vta_status vta_item_sequence(vta_flow *flow, int64_t count, vta_item **out, vta_diag *diag)
{
    VTA_TRY(new_item(flow, VTA_FLOW_SEQUENCE, (uint64_t)count * sizeof(vta_item *), out, diag));
    (*out)->count = count;
    (*out)->items = calloc((size_t)count + 1, sizeof(vta_item *));
    if ((*out)->items == NULL) {
        flow->used -= weight(*out);
        free(*out);
        *out = NULL;
        return vta_no_memory(diag);
    }
    return VTA_OK;
}

vta_item *vta_item_hold(vta_item *item)
{
    item->refs++;
    return item;
}

void vta_item_drop(vta_flow *flow, vta_item *item)
{
    while (item != NULL && --item->refs == 0) {
        vta_item *base = item->base;
        for (int64_t i = 0; item->items != NULL && base == NULL && i < item->count; i++) {
            vta_item_drop(flow, item->items[i]);
        }
        flow->used -= weight(item);
        free(base == NULL ? item->items : NULL);
        free(item->owner);
        free(item);
        item = base;
    }
}

vta_status vta_item_view(vta_flow *flow, vta_item *t, uint32_t rank, const int64_t *dim, vta_item **out,
                         vta_diag *diag)
{
    int64_t count;
    size_t bytes;
    if (!measure(t->type, rank, dim, &count, &bytes) || count != t->count) {
        return vta_fail(diag, VTA_INVALID, "%lld elements do not fit the new shape", (long long)t->count);
    }
    VTA_TRY(new_item(flow, VTA_FLOW_TENSOR, 0, out, diag));
    vta_item *view = *out;
    view->type = t->type;
    view->rank = rank;
    memcpy(view->dim, dim, rank * sizeof *dim);
    view->count = count;
    view->bytes = bytes;
    view->data = t->data;
    view->base = vta_item_hold(t->base != NULL ? t->base : t);
    return VTA_OK;
}

/* ---- elements ---- */

static double half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31;
    const double mantissa = bits & 1023;
    const double sign = bits >> 15 != 0 ? -1.0 : 1.0;
    if (exponent == 31) {
        return mantissa != 0 ? (double)NAN : sign * (double)INFINITY;
    }
    return sign * (exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024.0 + mantissa, exponent - 25));
}

static uint16_t half_bits(double value)
{
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const double size = fabs(value);
    if (isnan(value)) {
        return 0x7e00;
    }
    if (size >= 65520.0) {
        return sign | 0x7c00;
    }
    int exponent;
    (void)frexp(size, &exponent);
    exponent = size < 0x1p-14 ? -13 : exponent;                    /* also of zero, whose own is 0 */
    const double mantissa = nearbyint(ldexp(size, 11 - exponent)); /* up to 2048: the next exponent */
    return sign | (uint16_t)((uint32_t)mantissa +
                             (mantissa >= 1024.0 || exponent > -13 ? (uint32_t)(exponent + 13) << 10 : 0U));
}

bool vta_item_is_float(const vta_item *t)
{
    const uint32_t code = t->type & 255;
    return code == CODE_FLOAT || code == CODE_BRAIN;
}

#define LOAD(type, t, i) (((const type *)(const void *)(t)->data)[i])

int64_t vta_item_int(const vta_item *t, int64_t i)
{
    const bool whole = (t->type & 255) == CODE_INT;
    switch (vta_item_size(t)) {
    case 1: return whole ? (int64_t)LOAD(int8_t, t, i) : (int64_t)LOAD(uint8_t, t, i);
    case 2: return whole ? (int64_t)LOAD(int16_t, t, i) : (int64_t)LOAD(uint16_t, t, i);
    case 4: return whole ? (int64_t)LOAD(int32_t, t, i) : (int64_t)LOAD(uint32_t, t, i);
    default: return LOAD(int64_t, t, i);
    }
}

double vta_item_float(const vta_item *t, int64_t i)
{
    const uint32_t code = t->type & 255;
    if (code == CODE_BRAIN) {
        const uint32_t bits = (uint32_t)LOAD(uint16_t, t, i) << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    }
    if (code != CODE_FLOAT) {
        return code == CODE_UINT && vta_item_size(t) == 8 ? (double)LOAD(uint64_t, t, i)
                                                          : (double)vta_item_int(t, i);
    }
    switch (vta_item_size(t)) {
    case 2: return half_value(LOAD(uint16_t, t, i));
    case 4: return (double)LOAD(float, t, i);
    default: return LOAD(double, t, i);
    }
}

#define STORE(type, t, i, value) (((type *)(void *)(t)->data)[i] = (type)(value))

void vta_item_set_int(vta_item *t, int64_t i, int64_t value)
{
    switch (vta_item_size(t)) {
    case 1: STORE(uint8_t, t, i, value); break;
    case 2: STORE(uint16_t, t, i, value); break;
    case 4: STORE(uint32_t, t, i, value); break;
    default: STORE(int64_t, t, i, value); break;
    }
}

void vta_item_set_float(vta_item *t, int64_t i, double value)
{
    const uint32_t code = t->type & 255;
    if (code == CODE_BRAIN) {
        const float narrow = (float)value;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        STORE(uint16_t, t, i, isnan(value) ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    } else if (code != CODE_FLOAT) {
        vta_item_set_int(t, i,
                         value >= 9223372036854775808.0    ? INT64_MAX
                         : value >= -9223372036854775808.0 ? (int64_t)value
                                                           : INT64_MIN);
    } else if (vta_item_size(t) == 2) {
        STORE(uint16_t, t, i, half_bits(value));
    } else if (vta_item_size(t) == 4) {
        STORE(float, t, i, value);
    } else {
        STORE(double, t, i, value);
    }
}

/* ---- what an instruction is given ---- */

vta_status(vta_call_refuse)(const vta_call *call, const char *fmt, ...)
{
    char text[400];
    va_list list;
    va_start(list, fmt);
    (void)vsnprintf(text, sizeof text, fmt, list);
    va_end(list);
    return vta_fail(call->diag, VTA_INVALID, "%s", text);
}

bool vta_call_has(const vta_call *call, int64_t i)
{
    return i < call->insn->inputs.count && call->in[i] != NULL && call->in[i]->kind == VTA_FLOW_TENSOR;
}

vta_status vta_call_needs(const vta_call *call, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (!vta_call_has(call, i)) {
            return vta_call_refuse(call, "input %lld is not there, or is no tensor", (long long)i);
        }
    }
    return VTA_OK;
}

int64_t vta_call_word(const vta_call *call, int64_t i)
{
    return i < call->insn->words.count ? call->insn->words.at[i] : VTA_FLOW_ABSENT;
}

double vta_call_float(const vta_call *call, int64_t i)
{
    const int64_t word = vta_call_word(call, i);
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

vta_list vta_call_list(const vta_call *call, int64_t i, int64_t *next)
{
    const vta_list *words = &call->insn->words;
    vta_list list = {-1, NULL};
    if (i < words->count && words->at[i] >= 0 && words->at[i] <= words->count - i - 1) {
        list = (vta_list){words->at[i], words->at + i + 1};
    }
    if (next != NULL) {
        *next = i + 1 + (list.count > 0 ? list.count : 0);
    }
    return list;
}

vta_status vta_call_ints(const vta_call *call, int64_t word, int64_t input, int64_t *store, vta_list *out)
{
    *out = vta_call_list(call, word, NULL);
    if (out->count >= 0 || !vta_call_has(call, input)) {
        return VTA_OK;
    }
    const vta_item *t = call->in[input];
    if (t->count > VTA_FLOW_MAX || vta_item_is_float(t)) {
        return vta_call_refuse(call, "input %lld is to be at most %d integers, not %lld numbers",
                               (long long)input, VTA_FLOW_MAX, (long long)t->count);
    }
    for (int64_t i = 0; i < t->count; i++) {
        store[i] = vta_item_int(t, i);
    }
    *out = (vta_list){t->count, store};
    return VTA_OK;
}

vta_status vta_call_axis(const vta_call *call, int64_t given, int64_t rank, int64_t *out)
{
    *out = given < 0 ? given + rank : given;
    return given >= -rank && *out < rank ? VTA_OK
                                         : vta_call_refuse(call, "axis %lld is outside of %lld axes",
                                                           (long long)given, (long long)rank);
}

int64_t vta_dims_product(const vta_item *t, int64_t first, int64_t last)
{
    int64_t product = 1;
    for (int64_t i = first; i < last; i++) {
        product *= t->dim[i];
    }
    return product;
}

/* ---- copies ---- */

void vta_row_strides(const int64_t *dim, uint32_t rank, int64_t *stride)
{
    int64_t step = 1;
    for (uint32_t i = rank; i-- > 0;) {
        stride[i] = step;
        step *= dim[i];
    }
}

void vta_copy_block(uint8_t *to, const int64_t *to_stride, const uint8_t *from, const int64_t *from_stride,
                    const int64_t *dim, uint32_t rank, uint32_t size)
{
    if (rank == 0) {
        memcpy(to, from, size);
        return;
    }
    if (rank == 1 && to_stride[0] == 1 && from_stride[0] == 1) {
        memcpy(to, from, (size_t)dim[0] * size);
        return;
    }
    for (int64_t i = 0; i < dim[0]; i++) {
        vta_copy_block(to + i * to_stride[0] * size, to_stride + 1, from + i * from_stride[0] * size,
                       from_stride + 1, dim + 1, rank - 1, size);
    }
}

vta_status vta_broadcast_dims(const vta_call *call, vta_item *const *items, int64_t count, int64_t min_rank,
                              int64_t *rank, int64_t *dim)
{
    *rank = min_rank;
    for (int64_t k = 0; k < count; k++) {
        *rank = items[k] != NULL && items[k]->rank > *rank ? items[k]->rank : *rank;
    }
    for (int64_t i = 0; i < *rank; i++) {
        dim[i] = 1;
    }
    for (int64_t k = 0; k < count; k++) {
        for (int64_t i = 0; items[k] != NULL && i < items[k]->rank; i++) {
            int64_t *at = &dim[*rank - items[k]->rank + i];
            const int64_t own = items[k]->dim[i];
            if (own != 1 && *at != 1 && own != *at) {
                return vta_call_refuse(call, "sizes %lld and %lld do not broadcast", (long long)*at,
                                       (long long)own);
            }
            *at = own != 1 ? own : *at;
        }
    }
    return VTA_OK;
}

vta_status vta_item_broadcast(vta_flow *flow, vta_item *t, uint32_t rank, const int64_t *dim, vta_item **out,
                              vta_diag *diag)
{
    int64_t from[VTA_FLOW_RANK] = {0};
    int64_t to[VTA_FLOW_RANK];
    int64_t own[VTA_FLOW_RANK];
    const uint32_t skip = rank - t->rank;
    if (t->rank == rank && memcmp(t->dim, dim, rank * sizeof *dim) == 0) {
        *out = vta_item_hold(t);
        return VTA_OK;
    }
    VTA_TRY(vta_item_tensor(flow, t->type, rank, dim, out, diag));
    vta_row_strides(t->dim, t->rank, own);
    vta_row_strides(dim, rank, to);
    for (uint32_t i = skip; i < rank; i++) {
        from[i] = t->dim[i - skip] == 1 ? 0 : own[i - skip];
    }
    if ((*out)->count > 0) {
        vta_copy_block((*out)->data, to, t->data, from, dim, rank, vta_item_size(t));
    }
    return VTA_OK;
}
