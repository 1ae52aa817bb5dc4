/* SPDX-License-Identifier: Apache-2.0
 *
 * Parcels. A file of a sequence and one of an optional are alike: fields of tensors (3) and of sequences (5)
 * in a row; an optional of nothing says 0 in field 2. What an input is to be, its model knows.
 */
#include "parcels.h"

#include <stdlib.h>
#include <string.h>

#include "onnx.pb-c.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/flow.h"
#include "vta/untrusted.h"
#include "vtac/flow.h"
#include "vtac/protobuf.h"

static const size_t max_bytes = (size_t)1 << 32;
enum { MAX_DEPTH = 4 };

bool cli_is_parcel(const vta_tensor_info *info)
{
    return info->dtype_code == 3 && info->dtype_bits == 64;
}

static void put_word(vta_str *out, int64_t word)
{
    vta_str_append(out, &word, sizeof word);
}

static void put_bytes(vta_str *out, const void *data, size_t size)
{
    static const uint8_t zeros[8] = {0};
    vta_str_append(out, data, size);
    vta_str_append(out, zeros, (8 - size % 8) % 8);
}

static void put_tensor(vta_str *out, const vtac_tensor *t)
{
    put_word(out, VTA_FLOW_TENSOR);
    put_word(out, vtac_flow_type(t->type.dtype));
    put_word(out, t->type.rank);
    for (uint32_t i = 0; i < t->type.rank; i++) {
        put_word(out, t->type.dim[i]);
    }
    put_bytes(out, t->data, t->bytes);
}

static vta_status put_texts(vta_str *out, const Onnx__TensorProto *proto, vta_diag *diag)
{
    size_t count = 1;
    put_word(out, VTA_FLOW_TENSOR);
    put_word(out, VTA_FLOW_TEXT);
    put_word(out, (int64_t)proto->n_dims);
    for (size_t i = 0; i < proto->n_dims; i++) {
        put_word(out, proto->dims[i]);
        if (proto->dims[i] < 0 || __builtin_mul_overflow(count, (size_t)proto->dims[i], &count)) {
            return vta_fail(diag, VTA_SYNTAX, "a size is %lld", (long long)proto->dims[i]);
        }
    }
    for (size_t i = 0; i < proto->n_string_data; i++) {
        put_word(out, (int64_t)proto->string_data[i].len);
        put_bytes(out, proto->string_data[i].data, proto->string_data[i].len);
    }
    return proto->n_string_data == count && proto->n_dims <= VTAC_MAX_RANK
               ? VTA_OK
               : vta_fail(diag, VTA_SYNTAX, "it holds %zu texts, which is not what its sizes say",
                          proto->n_string_data);
}

/* ---- files */

typedef struct field {
    uint64_t number, value; /* value: of a number */
    const uint8_t *at;      /* of bytes */
    size_t size;
} field;

static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        const uint8_t byte = *(*at)++;
        *out |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            return true;
        }
    }
    return false;
}

/* The next field of a message; false: it is damaged. */
static bool next_field(const uint8_t **at, const uint8_t *end, field *out)
{
    uint64_t key;
    uint64_t size = 0;
    *out = (field){.at = NULL};
    if (!read_varint(at, end, &key)) {
        return false;
    }
    out->number = key >> 3;
    if ((key & 7) == 0) {
        return read_varint(at, end, &out->value);
    }
    if ((key & 7) == 2 && !read_varint(at, end, &size)) {
        return false;
    }
    size = (key & 7) == 1 ? 8 : (key & 7) == 5 ? 4 : size;
    if (((key & 7) != 2 && size == 0) || size > (uint64_t)(end - *at)) {
        return false;
    }
    out->at = *at;
    out->size = (size_t)size;
    *at += size;
    return true;
}

/* A tensor has its name in field 8 and its contents in 9, or a list of its own kind. */
static bool is_tensor(const uint8_t *bytes, size_t size)
{
    const uint8_t *at = bytes;
    field f;
    bool tensor = false;
    while (at < bytes + size && next_field(&at, bytes + size, &f)) {
        tensor = tensor || f.number > 7 || (f.number == 1 && f.at == NULL);
    }
    return tensor;
}

static vta_status tensor_parcel(const uint8_t *bytes, size_t size, vta_str *out, vta_diag *diag)
{
    bool starved;
    ProtobufCAllocator allocator = vtac_protobuf_allocator(&starved);
    Onnx__TensorProto *proto = onnx__tensor_proto__unpack(&allocator, size, bytes);
    vta_status status = VTA_SYNTAX;
    if (proto == NULL) {
        return starved ? vta_no_memory(diag) : vta_fail(diag, VTA_SYNTAX, "not a serialized ONNX tensor");
    }
    if (proto->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__STRING) {
        status = put_texts(out, proto, diag);
    } else {
        vta_arena arena = {0};
        vtac_tensor tensor;
        status = vtac_onnx_tensor(bytes, size, "tensor", &arena, &tensor, diag);
        if (status == VTA_OK) {
            put_tensor(out, &tensor);
        }
        vta_arena_free(&arena);
    }
    onnx__tensor_proto__free_unpacked(proto, NULL);
    return status;
}

static vta_status list_parcel(const uint8_t *bytes, size_t size, int depth, vta_str *out, vta_diag *diag)
{
    const uint8_t *end = bytes + size;
    field f;
    int64_t count = 0;
    bool nothing = false;
    for (const uint8_t *at = bytes; at < end;) {
        if (!next_field(&at, end, &f) || depth >= MAX_DEPTH) {
            return vta_fail(diag, VTA_SYNTAX, "not a serialized ONNX sequence or optional");
        }
        if ((f.number == 3 || f.number == 5) && f.at == NULL) {
            return vta_fail(diag, VTA_SYNTAX, "field %d of a sequence is a number", (int)f.number);
        }
        if (f.number == 4 || f.number > 5) {
            return vta_fail(diag, VTA_UNSUPPORTED, "it has maps or sparse tensors in it");
        }
        count += f.number == 3 || f.number == 5;
        nothing = nothing || (f.number == 2 && f.value == 0);
    }
    if (count == 0 && nothing) {
        put_word(out, VTA_FLOW_NOTHING);
        return VTA_OK;
    }
    put_word(out, VTA_FLOW_SEQUENCE);
    put_word(out, count);
    for (const uint8_t *at = bytes; at < end && next_field(&at, end, &f);) {
        if (f.number == 3) {
            VTA_TRY(tensor_parcel(f.at, f.size, out, diag));
        } else if (f.number == 5) {
            VTA_TRY(list_parcel(f.at, f.size, depth + 1, out, diag));
        }
    }
    return VTA_OK;
}

/* ---- lists of maps from labels to scores */

enum { LIST_MAP = 6, LIST_TENSOR = 3, MAP_VALUES = 5 }; /* fields of ONNX's SequenceProto and MapProto */

bool cli_is_map_list(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    const uint8_t *end = at + size;
    field f = {.number = 0};
    bool maps = false;
    while (at < end && next_field(&at, end, &f) && f.number <= LIST_MAP) {
        if (f.number == LIST_MAP && f.at == NULL) { /* a number */
            return false;
        }
        maps = maps || f.number == LIST_MAP;
    }
    return at == end && maps && !is_tensor(bytes, size);
}

/* The scores of one map behind those that are there. */
static vta_status map_scores(const uint8_t *bytes, size_t size, vta_str *out, vta_diag *diag)
{
    const uint8_t *at = bytes;
    field f;
    while (at < bytes + size && next_field(&at, bytes + size, &f)) {
        const uint8_t *inner = f.at;
        field value;
        while (f.number == MAP_VALUES && inner != NULL && inner < f.at + f.size &&
               next_field(&inner, f.at + f.size, &value)) {
            vta_arena arena = {0};
            vtac_tensor scores = {.data = NULL};
            vta_status status = value.number == LIST_TENSOR && value.at != NULL
                                    ? vtac_onnx_tensor(value.at, value.size, "scores", &arena, &scores, diag)
                                    : VTA_OK;
            if (status == VTA_OK && scores.data != NULL && scores.type.dtype != VTAC_F32) {
                status = vta_fail(diag, VTA_UNSUPPORTED, "maps to another type than float32");
            } else if (status == VTA_OK && scores.data != NULL) {
                vta_str_append(out, scores.data, scores.bytes);
            }
            vta_arena_free(&arena);
            VTA_TRY(status);
        }
    }
    return VTA_OK;
}

static vta_status all_scores(const uint8_t *bytes, size_t size, vta_str *out, int64_t *rows, vta_diag *diag)
{
    const uint8_t *at = bytes;
    field f;
    size_t row = 0; /* bytes of one */
    while (at < bytes + size && next_field(&at, bytes + size, &f)) {
        if (f.number != LIST_MAP) {
            continue;
        }
        const size_t before = out->size;
        VTA_TRY(map_scores(f.at, f.size, out, diag));
        if (*rows > 0 && out->size - before != row) {
            return vta_fail(diag, VTA_UNSUPPORTED, "its maps differ in length");
        }
        row = out->size - before;
        ++*rows;
    }
    return VTA_OK;
}

vta_status cli_read_map_list(const void *bytes, size_t size, vta_arena *arena, vtac_tensor *out,
                             vta_diag *diag)
{
    vta_str scores = {0};
    int64_t rows = 0;
    vta_status status = all_scores(bytes, size, &scores, &rows, diag);
    void *data = status == VTA_OK && !scores.failed ? vta_arena_alloc(arena, scores.size + 1) : NULL;
    if (status == VTA_OK && data == NULL) {
        status = vta_no_memory(diag);
    } else if (status == VTA_OK) {
        memcpy(data, scores.text != NULL ? scores.text : "", scores.size);
        const int64_t columns = rows > 0 ? (int64_t)(scores.size / sizeof(float)) / rows : 0;
        *out = (vtac_tensor){.type = {VTAC_F32, 2, {rows, columns}}, .data = data, .bytes = scores.size};
    }
    vta_str_free(&scores);
    return status;
}

vta_status cli_read_parcel(const char *path, vta_str *out, vta_diag *diag)
{
    const size_t length = strlen(path);
    uint8_t *bytes;
    size_t size;
    vta_status status;
    if (length > 4 && strcmp(path + length - 4, ".npy") == 0) {
        vta_arena arena = {0};
        vtac_tensor tensor;
        status = cli_read_tensor(path, &arena, &tensor, diag);
        if (status == VTA_OK) {
            put_tensor(out, &tensor);
        }
        vta_arena_free(&arena);
        return status;
    }
    VTA_TRY(vta_file_read(path, max_bytes, &bytes, &size, diag));
    status = is_tensor(bytes, size) ? tensor_parcel(bytes, size, out, diag)
                                    : list_parcel(bytes, size, 0, out, diag);
    free(bytes);
    status = status == VTA_OK && out->failed ? vta_no_memory(diag) : status;
    return status == VTA_OK ? VTA_OK : vta_context(diag, "%s", path);
}

vta_status cli_give_parcel(vta_model *model, uint32_t i, const char *path, vta_diag *diag)
{
    vta_str parcel = {0};
    int64_t words = 0;
    vta_status status = VTA_OK;
    VTA_TRY_OUT(cli_read_parcel(path, &parcel, diag));
    words = (int64_t)(parcel.size / 8);
    VTA_TRY_OUT(vta_model_set_input_shape(model, i, &words, 1, diag));
    VTA_TRY_OUT(vta_model_set_input(model, i, parcel.text, parcel.size, diag));
out:
    vta_str_free(&parcel);
    return status;
}

/* ---- reading them */

typedef struct parcel_reader {
    const uint8_t *at, *end;
} parcel_reader;

static int64_t read_word(parcel_reader *r)
{
    int64_t value = -1;
    if ((size_t)(r->end - r->at) >= sizeof value) {
        memcpy(&value, r->at, sizeof value);
        r->at += sizeof value;
    }
    return value;
}

/* A number of parcels, each of which takes a word or more; -1: there cannot be so many. */
static int64_t count_of(parcel_reader *r)
{
    const int64_t count = read_word(r);
    return count >= 0 && count <= (r->end - r->at) / (int64_t)sizeof count ? count : -1;
}

static const uint8_t *bytes_of(parcel_reader *r, int64_t size)
{
    const uint8_t *at = r->at;
    const int64_t left = r->end - r->at;
    if (size < 0 || size > left || (size + 7) / 8 * 8 > left) {
        return NULL;
    }
    r->at += (size + 7) / 8 * 8;
    return at;
}

/* The type and, but for texts, the contents; false: it is damaged. */
static bool read_tensor(parcel_reader *r, vtac_tensor *out)
{
    const int64_t type = read_word(r);
    const int64_t rank = read_word(r);
    *out = (vtac_tensor){.type = {.dtype = VTAC_NO_DTYPE}};
    for (int d = VTAC_NO_DTYPE + 1; d < VTAC_DTYPE_COUNT; d++) {
        out->type.dtype = vtac_flow_type((vtac_dtype)d) == type ? (vtac_dtype)d : out->type.dtype;
    }
    if (rank < 0 || rank > VTAC_MAX_RANK || out->type.dtype == VTAC_NO_DTYPE) {
        return false;
    }
    out->type.rank = (uint32_t)rank;
    for (int64_t i = 0; i < rank; i++) {
        out->type.dim[i] = read_word(r);
    }
    const int64_t elements = vtac_type_elements(&out->type);
    if (elements < 0 || out->type.dtype == VTAC_TEXT) {
        return elements >= 0;
    }
    out->bytes = (size_t)elements * vtac_dtype_bytes(out->type.dtype);
    out->data = bytes_of(r, (int64_t)out->bytes);
    return out->data != NULL;
}

static vta_status fail_damaged(vta_diag *diag)
{
    return vta_fail(diag, VTA_SYNTAX, "a parcel is damaged");
}

typedef struct comparing {
    parcel_reader got, expected;
    double rtol, atol;
    vta_diag *diag;
} comparing;

static vta_status compare_texts(comparing *c, int64_t elements)
{
    for (int64_t i = 0; i < elements; i++) {
        const int64_t a = read_word(&c->got);
        const int64_t b = read_word(&c->expected);
        const char *got = (const char *)bytes_of(&c->got, a);
        const char *expected = (const char *)bytes_of(&c->expected, b);
        if (got == NULL || expected == NULL) {
            return fail_damaged(c->diag);
        }
        if (a != b || memcmp(got, expected, (size_t)a) != 0) {
            return vta_fail(c->diag, VTA_INVALID, "text %lld is '%.*s', expected '%.*s'", (long long)i,
                            (int)(a < 80 ? a : 80), got, (int)(b < 80 ? b : 80), expected);
        }
    }
    return VTA_OK;
}

static vta_status compare_tensors(comparing *c)
{
    vtac_tensor got;
    vtac_tensor expected;
    char a[160];
    char b[160];
    if (!read_tensor(&c->got, &got) || !read_tensor(&c->expected, &expected)) {
        return fail_damaged(c->diag);
    }
    if (!vtac_type_equal(&got.type, &expected.type)) {
        return vta_fail(c->diag, VTA_INVALID, "it is %s, expected %s", vtac_type_text(&got.type, a, sizeof a),
                        vtac_type_text(&expected.type, b, sizeof b));
    }
    if (got.type.dtype == VTAC_TEXT) {
        return compare_texts(c, vtac_type_elements(&got.type));
    }
    const cli_difference d = cli_compare_tensors(&got, &expected, c->rtol, c->atol);
    return d.equal ? VTA_OK
                   : vta_fail(c->diag, VTA_INVALID,
                              "it differs by up to %.3g: element %lld is %.9g, expected %.9g", d.worst,
                              (long long)d.at, d.got, d.expected);
}

static const char *kind_text(int64_t kind)
{
    return kind == VTA_FLOW_TENSOR ? "a tensor" : kind == VTA_FLOW_SEQUENCE ? "a sequence" : "nothing";
}

static vta_status compare_items(comparing *c, int depth)
{
    int64_t got = read_word(&c->got);
    int64_t expected = read_word(&c->expected);
    /* Files store an optional value as a list of one item or none. */
    if (depth == 0 && expected == VTA_FLOW_SEQUENCE && got != VTA_FLOW_SEQUENCE) {
        const int64_t count = count_of(&c->expected);
        expected = count == 1 ? read_word(&c->expected) : count == 0 ? VTA_FLOW_NOTHING : expected;
    }
    if (got != expected) {
        return vta_fail(c->diag, VTA_INVALID, "it is %s, expected %s", kind_text(got), kind_text(expected));
    }
    if (got == VTA_FLOW_TENSOR) {
        return compare_tensors(c);
    }
    if (got != VTA_FLOW_SEQUENCE) {
        return VTA_OK;
    }
    const int64_t count = count_of(&c->got);
    int64_t wanted = count_of(&c->expected);
    parcel_reader inside = c->expected;
    if (depth == 0 && wanted == 1 && read_word(&inside) == VTA_FLOW_SEQUENCE) { /* an optional sequence */
        wanted = count_of(&inside);
        c->expected = inside;
    }
    if (count < 0 || wanted < 0) {
        return fail_damaged(c->diag);
    }
    if (count != wanted || depth >= MAX_DEPTH) {
        return vta_fail(c->diag, VTA_INVALID, "it is a sequence of %lld, expected %lld", (long long)count,
                        (long long)wanted);
    }
    for (int64_t i = 0; i < count; i++) {
        if (compare_items(c, depth + 1) != VTA_OK) {
            return vta_context(c->diag, "item %lld", (long long)i);
        }
    }
    return VTA_OK;
}

vta_status cli_compare_parcels(const void *got, size_t got_bytes, const void *expected, size_t expected_bytes,
                               double rtol, double atol, vta_diag *diag)
{
    comparing c = {.got = {got, (const uint8_t *)got + got_bytes},
                   .expected = {expected, (const uint8_t *)expected + expected_bytes},
                   .rtol = rtol,
                   .atol = atol,
                   .diag = diag};
    return compare_items(&c, 0);
}

/* ---- for a reader, and to files */

static bool item_text(parcel_reader *r, vta_str *out, int depth)
{
    enum { SHOWN = 16 };
    const int64_t kind = read_word(r);
    vtac_tensor t;
    char type[160];
    if (kind == VTA_FLOW_SEQUENCE && depth < MAX_DEPTH) {
        const int64_t count = count_of(r);
        if (count < 0) {
            return false;
        }
        vta_str_printf(out, "sequence of %lld", (long long)count);
        for (int64_t i = 0; i < count; i++) {
            vta_str_put(out, i == 0 ? ": " : i < SHOWN ? ", " : i == SHOWN ? ", ..." : "");
            if (i >= SHOWN || !item_text(r, out, depth + 1)) {
                return i >= SHOWN;
            }
        }
        return true;
    }
    if (kind == VTA_FLOW_NOTHING) {
        vta_str_put(out, "nothing");
        return true;
    }
    if (kind != VTA_FLOW_TENSOR || !read_tensor(r, &t)) {
        return false;
    }
    vta_str_put(out, vtac_type_text(&t.type, type, sizeof type));
    const int64_t elements = vtac_type_elements(&t.type);
    for (int64_t i = 0; t.type.dtype == VTAC_TEXT && i < elements; i++) {
        const int64_t size = read_word(r);
        const char *text = (const char *)bytes_of(r, size);
        if (text == NULL) {
            return false;
        }
        if (i < SHOWN) {
            char plain[81];
            vta_str_printf(out, " '%s'", vta_make_plain(text, (size_t)size, plain, sizeof plain));
        } else if (i == SHOWN) {
            vta_str_put(out, " ...");
        }
    }
    return true;
}

void cli_parcel_text(const void *parcel, size_t bytes, vta_str *out)
{
    parcel_reader r = {parcel, (const uint8_t *)parcel + bytes};
    if (!item_text(&r, out, 0)) {
        const bool spaced = out->size == 0 || out->text[out->size - 1] == ' ';
        vta_str_put(out, spaced ? "(damaged)" : " (damaged)");
    }
}

static void put_varint(vta_str *out, uint64_t value)
{
    for (; value >= 128; value >>= 7) {
        const uint8_t byte = (uint8_t)(value | 128);
        vta_str_append(out, &byte, 1);
    }
    const uint8_t byte = (uint8_t)value;
    vta_str_append(out, &byte, 1);
}

static void put_field(vta_str *out, uint64_t number, const void *data, size_t size)
{
    put_varint(out, number << 3 | 2);
    put_varint(out, size);
    vta_str_append(out, data, size);
}

static void put_number(vta_str *out, uint64_t number, uint64_t value)
{
    put_varint(out, number << 3);
    put_varint(out, value);
}

static bool tensor_file(parcel_reader *r, vta_str *out)
{
    enum { DIMS = 1, TYPE = 2, TEXTS = 6, RAW = 9 };
    vtac_tensor t;
    if (!read_tensor(r, &t) || vtac_dtype_bits(t.type.dtype) < 8) { /* files pack these */
        return false;
    }
    for (uint32_t i = 0; i < t.type.rank; i++) {
        put_number(out, DIMS, (uint64_t)t.type.dim[i]);
    }
    put_number(out, TYPE, (uint64_t)vtac_export_dtype(t.type.dtype));
    const int64_t elements = vtac_type_elements(&t.type);
    for (int64_t i = 0; t.type.dtype == VTAC_TEXT && i < elements; i++) {
        const int64_t size = read_word(r);
        const uint8_t *text = bytes_of(r, size);
        if (text == NULL) {
            return false;
        }
        put_field(out, TEXTS, text, (size_t)size);
    }
    if (t.type.dtype != VTAC_TEXT) {
        put_field(out, RAW, t.data, t.bytes);
    }
    put_field(out, 8, "", 0); /* its name, by which a tensor is known */
    return true;
}

static bool item_file(parcel_reader *r, vta_str *out, int depth)
{
    enum { TYPE = 2, TENSORS = 3, SEQUENCES = 5, OF_TENSORS = 1 };
    const int64_t kind = read_word(r);
    if (kind == VTA_FLOW_TENSOR) {
        return tensor_file(r, out);
    }
    const int64_t count = kind == VTA_FLOW_SEQUENCE ? count_of(r) : 0;
    put_number(out, TYPE, kind == VTA_FLOW_SEQUENCE ? OF_TENSORS : 0);
    bool good = depth < MAX_DEPTH && count >= 0 && (kind == VTA_FLOW_SEQUENCE || kind == VTA_FLOW_NOTHING);
    for (int64_t i = 0; good && i < count; i++) {
        vta_str inside = {0};
        parcel_reader next = *r;
        const bool list = read_word(&next) != VTA_FLOW_TENSOR;
        good = item_file(r, &inside, depth + 1);
        put_field(out, list ? SEQUENCES : TENSORS, inside.text, inside.size);
        out->failed = out->failed || inside.failed;
        vta_str_free(&inside);
    }
    return good;
}

vta_status cli_write_parcel(const char *path, const void *parcel, size_t bytes, vta_diag *diag)
{
    parcel_reader r = {parcel, (const uint8_t *)parcel + bytes};
    vta_str file = {0};
    const bool good = item_file(&r, &file, 0);
    const vta_status status =
        file.failed ? vta_no_memory(diag)
        : !good ? vta_fail(diag, VTA_UNSUPPORTED, "%s: it is damaged, or of types of less than 8 bits", path)
                : vta_file_write(path, file.text, file.size, diag);
    vta_str_free(&file);
    return status;
}
