/* SPDX-License-Identifier: Apache-2.0
 *
 * TensorProto to tensor: raw bytes, typed lists, or a piece of another file in the model's folder.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import.h"
#include "vta/inside.h"
#include "vta/room.h"
#include "vtac/protobuf.h"

/* ONNX's TensorProto.DataType numbers. */
static const vtac_dtype by_number[] = {
    [1] = VTAC_F32,     [2] = VTAC_U8,          [3] = VTAC_I8,        [4] = VTAC_U16,
    [5] = VTAC_I16,     [6] = VTAC_I32,         [7] = VTAC_I64,       [8] = VTAC_TEXT,
    [9] = VTAC_BOOL,    [10] = VTAC_F16,        [11] = VTAC_F64,      [12] = VTAC_U32,
    [13] = VTAC_U64,    [16] = VTAC_BF16,       [17] = VTAC_F8E4M3FN, [18] = VTAC_F8E4M3FNUZ,
    [19] = VTAC_F8E5M2, [20] = VTAC_F8E5M2FNUZ, [21] = VTAC_U4,       [22] = VTAC_I4,
    [23] = VTAC_F4E2M1, [24] = VTAC_F8E8M0,     [25] = VTAC_U2,       [26] = VTAC_I2,
};

vta_status vtac_import_dtype(int64_t onnx_type, vtac_dtype *out, vta_diag *diag)
{
    const bool known = onnx_type >= 0 && (size_t)onnx_type < sizeof by_number / sizeof by_number[0];
    *out = known ? by_number[onnx_type] : VTAC_NO_DTYPE;
    return *out != VTAC_NO_DTYPE
               ? VTA_OK
               : vta_fail(diag, VTA_UNSUPPORTED, "element type %lld of ONNX is not supported",
                          (long long)onnx_type);
}

int32_t vtac_export_dtype(vtac_dtype dtype)
{
    int32_t number = 0;
    for (size_t i = 0; i < sizeof by_number / sizeof by_number[0]; i++) {
        number = by_number[i] == dtype && dtype != VTAC_NO_DTYPE ? (int32_t)i : number;
    }
    return number;
}

/* The typed list that ONNX uses for an element type, as a plain array. */
typedef struct listing {
    const void *items;
    size_t count, item_bytes;
} listing;

static listing list_of(const Onnx__TensorProto *proto, vtac_dtype dtype)
{
    switch (dtype) {
    case VTAC_F32: return (listing){proto->float_data, proto->n_float_data, sizeof(float)};
    case VTAC_F64: return (listing){proto->double_data, proto->n_double_data, sizeof(double)};
    case VTAC_I64: return (listing){proto->int64_data, proto->n_int64_data, sizeof(int64_t)};
    case VTAC_U32:
    case VTAC_U64: return (listing){proto->uint64_data, proto->n_uint64_data, sizeof(uint64_t)};
    case VTAC_I8:
    case VTAC_I16:
    case VTAC_I32:
    case VTAC_U8:
    case VTAC_U16:
    case VTAC_F16:
    case VTAC_BF16:
    case VTAC_F8E4M3FN:
    case VTAC_F8E4M3FNUZ:
    case VTAC_F8E5M2:
    case VTAC_F8E5M2FNUZ:
    case VTAC_F8E8M0:
    case VTAC_F4E2M1:
    case VTAC_I4:
    case VTAC_U4:
    case VTAC_I2:
    case VTAC_U2:
    case VTAC_BOOL: return (listing){proto->int32_data, proto->n_int32_data, sizeof(int32_t)};
    case VTAC_TEXT:
    case VTAC_NO_DTYPE:
    case VTAC_DTYPE_COUNT: break;
    }
    return (listing){NULL, 0, 1};
}

/* Narrow types are the low bytes of each item: little endian. */
static void narrow_items(const listing *list, size_t bytes, uint8_t *to)
{
    for (size_t i = 0; i < list->count; i++) {
        memcpy(to + i * bytes, (const uint8_t *)list->items + i * list->item_bytes, bytes);
    }
}

/* Elements of less than eight bits lie side by side in a file, the first lowest, and here in a byte each. */
static uint32_t packed_in_byte(vtac_dtype dtype)
{
    return vtac_dtype_bits(dtype) < 8 ? 8U / vtac_dtype_bits(dtype) : 1;
}

static void unpack_nibbles(vtac_dtype dtype, const uint8_t *from, size_t count, uint8_t *to)
{
    const uint32_t in_byte = packed_in_byte(dtype);
    const uint32_t bits = 8 / in_byte;
    const bool is_signed = vtac_dtype_held(dtype) == VTAC_I8;
    for (size_t i = 0; i < count; i++) {
        const uint8_t value =
            (uint8_t)((unsigned)from[i / in_byte] >> (bits * (i % in_byte)) & ((1U << bits) - 1));
        const bool negative = is_signed && (value >> (bits - 1)) != 0;
        to[i] = (uint8_t)(value | (negative ? 0xffU << bits : 0U));
    }
}

static const char *external_entry(const Onnx__TensorProto *proto, const char *key)
{
    for (size_t i = 0; i < proto->n_external_data; i++) {
        const Onnx__StringStringEntryProto *entry = proto->external_data[i];
        if (entry->key != NULL && entry->value != NULL && strcmp(entry->key, key) == 0) {
            return entry->value;
        }
    }
    return NULL;
}

static vta_status read_piece(int file, uint64_t offset, uint8_t *to, size_t size, const char *path,
                             vta_diag *diag)
{
    size_t got;
    if (vta_inside_read(file, offset, to, size, &got, diag) != VTA_OK) {
        return vta_context(diag, "cannot read its external data '%s'", path);
    }
    return got == size
               ? VTA_OK
               : vta_fail(diag, VTA_IO, "'%s' ends %zu bytes before the tensor does", path, size - got);
}

static vta_status parse_number(const char *text, const char *key, uint64_t *out, vta_diag *diag)
{
    char *end;
    *out = strtoull(text, &end, 10);
    const bool ok = text[0] >= '0' && text[0] <= '9' && *end == '\0' && *out <= INT64_MAX;
    return ok ? VTA_OK : vta_fail(diag, VTA_SYNTAX, "external data: %s '%s' is not a number", key, text);
}

static vta_status read_external(const char *folder, const Onnx__TensorProto *proto, uint8_t *to, size_t bytes,
                                vta_diag *diag)
{
    const char *location = external_entry(proto, "location");
    if (folder == NULL || location == NULL) {
        return vta_fail(diag, VTA_INVALID, "its external data has no location");
    }
    uint64_t offset = 0;
    uint64_t length = bytes;
    const char *text = external_entry(proto, "offset");
    if (text != NULL) {
        VTA_TRY(parse_number(text, "offset", &offset, diag));
    }
    text = external_entry(proto, "length");
    if (text != NULL) {
        VTA_TRY(parse_number(text, "length", &length, diag));
    }
    if (length != bytes) {
        return vta_fail(diag, VTA_INVALID, "its external data has %llu bytes, expected %zu",
                        (unsigned long long)length, bytes);
    }
    int file;
    char path[4096];
    VTA_TRY(vta_inside_open(folder, location, "its external data", &file, diag));
    (void)snprintf(path, sizeof path, "%s/%s", folder, location);
    const vta_status status = read_piece(file, offset, to, bytes, path, diag);
    (void)close(file);
    return status;
}

static vta_status type_of(const Onnx__TensorProto *proto, vtac_type *type, vta_diag *diag)
{
    *type = (vtac_type){.rank = (uint32_t)proto->n_dims};
    if (proto->n_dims > VTAC_MAX_RANK) {
        return vta_fail(diag, VTA_UNSUPPORTED, "it has %zu axes, at most %d are supported", proto->n_dims,
                        VTAC_MAX_RANK);
    }
    VTA_TRY(vtac_import_dtype(proto->data_type, &type->dtype, diag));
    if (type->dtype == VTAC_TEXT) {
        return vta_fail(diag, VTA_UNSUPPORTED, "it is of texts, which are taken at run time alone");
    }
    for (uint32_t i = 0; i < type->rank; i++) {
        type->dim[i] = proto->dims[i];
    }
    return vtac_type_elements(type) >= 0
               ? VTA_OK
               : vta_fail(diag, VTA_RANGE, "its dimensions are negative or too large");
}

static vta_status fill_tensor(vta_arena *arena, const char *folder, const Onnx__TensorProto *proto,
                              vtac_tensor *out, vta_diag *diag)
{
    const size_t elements = (size_t)vtac_type_elements(&out->type);
    const size_t size = vtac_dtype_bytes(out->type.dtype);
    const uint32_t in_byte = packed_in_byte(out->type.dtype);
    const size_t items = elements / in_byte + (elements % in_byte != 0); /* of the file */
    const bool external = proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    const listing list = list_of(proto, out->type.dtype);
    if (!external && proto->has_raw_data && proto->raw_data.len != items * size) {
        return vta_fail(diag, VTA_INVALID, "it holds %zu bytes, expected %zu", proto->raw_data.len,
                        items * size);
    }
    if (!external && !proto->has_raw_data && list.count != items) {
        return vta_fail(diag, VTA_INVALID, "it holds %zu elements, expected %zu", list.count, items);
    }
    if (external) { /* a file says how much; many tensors may say the same part of it */
        VTA_TRY(vta_room_check("its external data", (uint64_t)items * size, diag));
    }
    uint8_t *stored = vta_arena_alloc(arena, items * size);
    uint8_t *data = in_byte == 1 ? stored : vta_arena_alloc(arena, elements);
    if (stored == NULL || data == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory for %zu bytes", elements * size);
    }
    if (external) {
        VTA_TRY(read_external(folder, proto, stored, items * size, diag));
    } else if (!proto->has_raw_data) {
        narrow_items(&list, size, stored);
    } else if (items > 0) {
        memcpy(stored, proto->raw_data.data, items * size);
    }
    if (in_byte > 1) {
        unpack_nibbles(out->type.dtype, stored, elements, data);
    }
    out->data = data;
    out->bytes = elements * size;
    return VTA_OK;
}

vta_status vtac_import_tensor(vta_arena *arena, const char *folder, const Onnx__TensorProto *proto,
                              vtac_tensor *out, vta_diag *diag)
{
    vta_status status = type_of(proto, &out->type, diag);
    if (status == VTA_OK) {
        status = fill_tensor(arena, folder, proto, out, diag);
    }
    if (status != VTA_OK) {
        (void)vta_context(diag, "tensor '%s'", proto->name == NULL ? "" : proto->name);
    }
    return status;
}

vta_status vtac_onnx_tensor(const uint8_t *bytes, size_t size, const char *what, vta_arena *arena,
                            vtac_tensor *out, vta_diag *diag)
{
    vta_status status = vtac_wire_check(&onnx__tensor_proto__descriptor, bytes, size, diag);
    bool starved;
    ProtobufCAllocator allocator = vtac_protobuf_allocator(&starved);
    Onnx__TensorProto *proto = status == VTA_OK ? onnx__tensor_proto__unpack(&allocator, size, bytes) : NULL;
    if (status == VTA_OK && proto == NULL) {
        status = starved ? vta_no_memory(diag) : vta_fail(diag, VTA_SYNTAX, "not a serialized ONNX tensor");
    } else if (status == VTA_OK) {
        status = vtac_import_tensor(arena, NULL, proto, out, diag);
        onnx__tensor_proto__free_unpacked(proto, NULL);
    }
    if (status != VTA_OK) {
        (void)vta_context(diag, "%s", what);
    }
    return status;
}
