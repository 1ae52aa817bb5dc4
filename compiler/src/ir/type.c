/* SPDX-License-Identifier: Apache-2.0
 *
 * Element types, tensor types, and reading single elements of known tensors.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "vtac/graph.h"

static const struct {
    const char *name;
    size_t bytes;
    char kind;
    uint8_t code, bits;
} dtypes[VTAC_DTYPE_COUNT] = {[VTAC_NO_DTYPE] = {"none", 0, ' ', 0, 0},
#define X(id, name, bytes, kind, code, bits) [VTAC_##id] = {name, bytes, kind, code, bits},
                              VTAC_DTYPES(X)
#undef X
};

size_t vtac_dtype_bytes(vtac_dtype dtype)
{
    return dtypes[dtype].bytes;
}

const char *vtac_dtype_name(vtac_dtype dtype)
{
    return dtypes[dtype].name;
}

char vtac_dtype_kind(vtac_dtype dtype)
{
    return dtypes[dtype].kind;
}

uint8_t vtac_dtype_code(vtac_dtype dtype)
{
    return dtypes[dtype].code;
}

uint8_t vtac_dtype_bits(vtac_dtype dtype)
{
    return dtypes[dtype].bits;
}

vtac_dtype vtac_dtype_parse(const char *name)
{
    for (int i = VTAC_NO_DTYPE + 1; i < VTAC_DTYPE_COUNT; i++) {
        if (strcmp(dtypes[i].name, name) == 0) {
            return (vtac_dtype)i;
        }
    }
    return VTAC_NO_DTYPE;
}

bool vtac_type_equal(const vtac_type *a, const vtac_type *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dim, b->dim, a->rank * sizeof a->dim[0]) == 0;
}

int64_t vtac_type_elements(const vtac_type *type)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < type->rank; i++) {
        if (type->dim[i] < 0 || __builtin_mul_overflow(count, type->dim[i], &count)) {
            return -1;
        }
    }
    int64_t bytes;
    return __builtin_mul_overflow(count, (int64_t)dtypes[type->dtype].bytes, &bytes) ? -1 : count;
}

int64_t vtac_broadcast_at(const vtac_type *type, const vtac_type *to, int64_t i)
{
    int64_t at = 0;
    int64_t stride = 1;
    for (uint32_t axis = to->rank; axis + type->rank > to->rank; axis--) {
        const int64_t size = type->dim[axis - 1 + type->rank - to->rank];
        at += size == 1 ? 0 : i % to->dim[axis - 1] * stride;
        stride *= size;
        i /= to->dim[axis - 1];
    }
    return at;
}

const char *vtac_type_text(const vtac_type *type, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s[", dtypes[type->dtype].name);
    for (uint32_t i = 0; i < type->rank && used < size; i++) {
        used +=
            (size_t)snprintf(text + used, size - used, "%s%lld", i == 0 ? "" : ",", (long long)type->dim[i]);
    }
    if (used < size) {
        (void)snprintf(text + used, size - used, "]");
    }
    return text;
}

/* IEEE half to double, exactly. */
static double half_to_double(uint16_t bits)
{
    const int exponent = (bits >> 10) & 31;
    const double fraction = (bits & 1023) / 1024.0;
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (exponent == 31) {
        return fraction == 0.0 ? sign * HUGE_VAL : (double)NAN;
    }
    return exponent == 0 ? sign * ldexp(fraction, -14) : sign * ldexp(1.0 + fraction, exponent - 15);
}

static double bfloat_to_double(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return (double)value;
}

/* Reads item `i` of type T from `data`, which need not be aligned. */
#define ITEM(T, name)                                                                                        \
    static T item_##name(const void *data, int64_t i)                                                        \
    {                                                                                                        \
        T value;                                                                                             \
        memcpy(&value, (const char *)data + (size_t)i * sizeof value, sizeof value);                         \
        return value;                                                                                        \
    }
ITEM(float, f32)
ITEM(double, f64)
ITEM(int8_t, i8)
ITEM(int16_t, i16)
ITEM(int32_t, i32)
ITEM(int64_t, i64)
ITEM(uint8_t, u8)
ITEM(uint16_t, u16)
ITEM(uint32_t, u32)
ITEM(uint64_t, u64)
#undef ITEM

#define NARROW_CASES                                                                                         \
    case VTAC_F8E4M3FN:                                                                                      \
    case VTAC_F8E4M3FNUZ:                                                                                    \
    case VTAC_F8E5M2:                                                                                        \
    case VTAC_F8E5M2FNUZ:                                                                                    \
    case VTAC_F8E8M0:                                                                                        \
    case VTAC_F4E2M1:                                                                                        \
    case VTAC_I4:                                                                                            \
    case VTAC_U4:                                                                                            \
    case VTAC_I2:                                                                                            \
    case VTAC_U2

int64_t vtac_tensor_int(const vtac_tensor *tensor, int64_t i)
{
    switch (tensor->type.dtype) {
    case VTAC_I8: return item_i8(tensor->data, i);
    case VTAC_I16: return item_i16(tensor->data, i);
    case VTAC_I32: return item_i32(tensor->data, i);
    case VTAC_TEXT:
    case VTAC_I64: return item_i64(tensor->data, i);
    case VTAC_U8: return item_u8(tensor->data, i);
    case VTAC_BOOL: return item_u8(tensor->data, i) != 0;
    case VTAC_U16: return item_u16(tensor->data, i);
    case VTAC_U32: return item_u32(tensor->data, i);
    case VTAC_U64: return (int64_t)item_u64(tensor->data, i);
    case VTAC_F32:
    case VTAC_F64:
    case VTAC_F16:
    case VTAC_BF16:
    NARROW_CASES:
        return (int64_t)vtac_tensor_float(tensor, i);
    case VTAC_NO_DTYPE:
    case VTAC_DTYPE_COUNT: break;
    }
    return 0;
}

double vtac_tensor_float(const vtac_tensor *tensor, int64_t i)
{
    switch (tensor->type.dtype) {
    case VTAC_F32: return (double)item_f32(tensor->data, i);
    case VTAC_F64: return item_f64(tensor->data, i);
    case VTAC_F16: return half_to_double(item_u16(tensor->data, i));
    case VTAC_BF16:
        return bfloat_to_double(item_u16(tensor->data, i));
    NARROW_CASES:
        return vtac_narrow_value(tensor->type.dtype, item_u8(tensor->data, i));
    case VTAC_U64: return (double)item_u64(tensor->data, i);
    case VTAC_I8:
    case VTAC_I16:
    case VTAC_I32:
    case VTAC_I64:
    case VTAC_U8:
    case VTAC_U16:
    case VTAC_U32:
    case VTAC_TEXT:
    case VTAC_BOOL: return (double)vtac_tensor_int(tensor, i);
    case VTAC_NO_DTYPE:
    case VTAC_DTYPE_COUNT: break;
    }
    return 0.0;
}
