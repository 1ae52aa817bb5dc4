/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor files: NumPy's .npy (version 1 to 3, little endian) and ONNX's TensorProto.
 */
#include "tensors.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/import/zip.h"
#include "parcels.h"
#include "stages.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/order.h"
#include "vta/str.h"

static const size_t max_bytes = (size_t)1 << 32;

static int read_outputs(const cli_args *args, cli_shapes *out)
{
    size_t at = 0;
    out->output_count = 0;
    for (const char *name = cli_next(args, "--output-value", &at); name != NULL;
         name = cli_next(args, "--output-value", &at)) {
        if (out->output_count == CLI_MAX_SHAPES) {
            return cli_usage(args, "more than %d --output-value options", CLI_MAX_SHAPES);
        }
        out->outputs[out->output_count++] = name;
    }
    return CLI_OK;
}

static int read_states(const cli_args *args, cli_shapes *out)
{
    size_t at = 0;
    out->state_count = 0;
    for (const char *text = cli_next(args, "--state", &at); text != NULL;
         text = cli_next(args, "--state", &at)) {
        const char *equals = strchr(text, '=');
        char *input = out->state_inputs[out->state_count];
        if (out->state_count == CLI_MAX_SHAPES) {
            return cli_usage(args, "more than %d --state options", CLI_MAX_SHAPES);
        }
        if (equals == NULL || equals == text || equals[1] == '\0' ||
            equals - text >= (ptrdiff_t)sizeof out->state_inputs[0]) {
            return cli_usage(args, "--state takes INPUT=OUTPUT, two names of the model, not '%s'", text);
        }
        (void)snprintf(input, sizeof out->state_inputs[0], "%.*s", (int)(equals - text), text);
        out->states_named[out->state_count++] = (vtac_state_name){input, equals + 1};
    }
    return CLI_OK;
}

static int read_context(const cli_args *args, cli_shapes *out)
{
    const char *text = cli_value(args, "--context");
    const char *colon = text != NULL ? strchr(text, ':') : NULL;
    char room[32] = "";
    out->context = 0;
    out->step = 1;
    if (text == NULL) {
        return CLI_OK;
    }
    (void)snprintf(room, sizeof room, "%.*s", colon != NULL ? (int)(colon - text) : (int)strlen(text), text);
    if (!cli_number(room, &out->context) || out->context == 0 || out->context > INT32_MAX ||
        (colon != NULL && (!cli_number(colon + 1, &out->step) || out->step == 0 || out->step > INT32_MAX))) {
        return cli_usage(
            args, "--context takes tokens of a cache, or those and the new ones of a run (256:16), not '%s'",
            text);
    }
    return CLI_OK;
}

vtac_import_options cli_import_options(const cli_shapes *shapes)
{
    return (vtac_import_options){.shapes = shapes->items,
                                 .shape_count = shapes->count,
                                 .weights = shapes->weights,
                                 .dynamic = shapes->dynamic,
                                 .states = shapes->states,
                                 .outputs = shapes->outputs,
                                 .output_count = shapes->output_count,
                                 .cache_tokens = (int64_t)shapes->context,
                                 .new_tokens = (int64_t)shapes->step,
                                 .state_names = shapes->states_named,
                                 .state_name_count = shapes->state_count,
                                 .signature = shapes->signature};
}

bool cli_names_bits(const char *word)
{
    static const char name[] = "int";
    return strncmp(word, name, sizeof name - 1) == 0 && isdigit((unsigned char)word[sizeof name - 1]) &&
           strpbrk(word, "./") == NULL;
}

/* The last --weights that is a file. */
static const char *weights_file(const cli_args *args)
{
    const char *last = NULL;
    size_t at = 0;
    for (const char *word = cli_next(args, "--weights", &at); word != NULL;
         word = cli_next(args, "--weights", &at)) {
        last = cli_names_bits(word) ? last : word;
    }
    return last;
}

int cli_read_shapes(const cli_args *args, cli_shapes *out)
{
    vta_diag diag = {0};
    size_t at = 0;
    out->count = 0;
    out->weights = weights_file(args);
    out->signature = cli_value(args, "--signature");
    out->dynamic = cli_flag(args, "--dynamic");
    out->states = false;
    if (read_outputs(args, out) != CLI_OK || read_states(args, out) != CLI_OK ||
        read_context(args, out) != CLI_OK) {
        return CLI_USAGE;
    }
    for (const char *text = cli_next(args, "--shape", &at); text != NULL;
         text = cli_next(args, "--shape", &at)) {
        if (out->count == CLI_MAX_SHAPES) {
            return cli_usage(args, "more than %d --shape options", CLI_MAX_SHAPES);
        }
        if (vtac_shape_parse(text, out->names[out->count], sizeof out->names[0], &out->items[out->count],
                             &diag) != VTA_OK) {
            return cli_usage(args, "--shape: %s", diag.text);
        }
        out->count++;
    }
    return CLI_OK;
}

/* ---- .npy */

static const struct {
    vtac_dtype dtype;
    const char *text; /* NumPy's name without the byte order, */
    const char *name; /* and in full */
} npy_types[] = {
    {VTAC_F32, "f4", "float32"}, {VTAC_F64, "f8", "float64"}, {VTAC_F16, "f2", "float16"},
    {VTAC_I8, "i1", "int8"},     {VTAC_I16, "i2", "int16"},   {VTAC_I32, "i4", "int32"},
    {VTAC_I64, "i8", "int64"},   {VTAC_U8, "u1", "uint8"},    {VTAC_U16, "u2", "uint16"},
    {VTAC_U32, "u4", "uint32"},  {VTAC_U64, "u8", "uint64"},  {VTAC_BOOL, "b1", "bool"},
};

const char *cli_npy_name(vtac_dtype dtype)
{
    for (size_t i = 0; i < sizeof npy_types / sizeof npy_types[0]; i++) {
        if (npy_types[i].dtype == dtype) {
            return npy_types[i].name;
        }
    }
    return NULL;
}

static vta_status npy_shape(const char *p, vtac_type *type, vta_diag *diag)
{
    type->rank = 0;
    for (p++; *p != ')' && *p != '\0';) {
        char *end = NULL;
        const long long dim = strtoll(p, &end, 10);
        if (end == p) {
            p++;
            continue;
        }
        if (type->rank == VTAC_MAX_RANK || dim < 0) {
            return vta_fail(diag, VTA_SYNTAX, "its shape is negative or has more than %d axes",
                            VTAC_MAX_RANK);
        }
        type->dim[type->rank++] = dim;
        p = end;
    }
    return VTA_OK;
}

static vta_status npy_type(char *header, vtac_type *type, vta_diag *diag)
{
    const char *descr = strstr(header, "'descr':");
    const char *shape = strstr(header, "'shape':");
    descr = descr == NULL ? NULL : strchr(descr + 8, '\'');
    shape = shape == NULL ? NULL : strchr(shape, '(');
    if (descr == NULL || shape == NULL || descr[1] == '>') {
        return vta_fail(diag, VTA_UNSUPPORTED, "it is not a little-endian .npy file");
    }
    type->dtype = VTAC_NO_DTYPE;
    for (size_t i = 0; i < sizeof npy_types / sizeof npy_types[0]; i++) {
        if (strncmp(descr + 2, npy_types[i].text, 2) == 0) {
            type->dtype = npy_types[i].dtype;
        }
    }
    if (type->dtype == VTAC_NO_DTYPE) {
        return vta_fail(diag, VTA_UNSUPPORTED, "its element type '%.*s' is not supported",
                        (int)strcspn(descr + 1, "'"), descr + 1);
    }
    return npy_shape(shape, type, diag);
}

vta_status cli_parse_npy(const uint8_t *bytes, size_t size, vta_arena *arena, vtac_tensor *out,
                         vta_diag *diag)
{
    const size_t start = size > 6 && bytes[6] == 1 ? 10 : 12;
    if (size < 12 || memcmp(bytes, "\x93NUMPY", 6) != 0) {
        return vta_fail(diag, VTA_SYNTAX, "it does not begin as a .npy file does");
    }
    const size_t length = start == 10 ? (size_t)bytes[8] | (size_t)bytes[9] << 8
                                      : (size_t)bytes[8] | (size_t)bytes[9] << 8 | (size_t)bytes[10] << 16;
    if (length > size - start) {
        return vta_fail(diag, VTA_SYNTAX, "its header is cut off");
    }
    char *header = vta_arena_string(arena, (const char *)bytes + start, length);
    if (header == NULL) {
        return vta_no_memory(diag);
    }
    VTA_TRY(npy_type(header, &out->type, diag));
    const int64_t elements = vtac_type_elements(&out->type);
    const size_t left = size - start - length;
    if (elements < 0 || (uint64_t)elements > left / vtac_dtype_bytes(out->type.dtype)) {
        return vta_fail(diag, VTA_SYNTAX, "it holds %zu bytes, fewer than its shape needs", left);
    }
    out->bytes = (size_t)elements * vtac_dtype_bytes(out->type.dtype);
    void *data = vta_arena_alloc(arena, out->bytes + 1);
    if (data == NULL) {
        return vta_no_memory(diag);
    }
    if (strstr(header, "'fortran_order': True") != NULL) {
        vta_order_rows(out->type.dim, out->type.rank, vtac_dtype_bytes(out->type.dtype),
                       bytes + start + length, data);
    } else {
        memcpy(data, bytes + start + length, out->bytes);
    }
    out->data = data;
    return VTA_OK;
}

vta_status cli_read_tensor(const char *path, vta_arena *arena, vtac_tensor *out, vta_diag *diag)
{
    uint8_t *bytes;
    size_t size;
    VTA_TRY(vta_file_read(path, max_bytes, &bytes, &size, diag));
    if (size == 0) {
        free(bytes);
        return vta_fail(diag, VTA_SYNTAX, "%s: it is empty", path);
    }
    const size_t length = strlen(path);
    const bool npy = length > 4 && strcmp(path + length - 4, ".npy") == 0;
    vta_status status;
    if (npy) {
        status = cli_parse_npy(bytes, size, arena, out, diag);
        free(bytes);
    } else { /* the tensor may point into the bytes */
        void *kept = vta_arena_alloc(arena, size + 1);
        if (kept != NULL) {
            memcpy(kept, bytes, size);
        }
        free(bytes);
        status = kept == NULL                  ? vta_no_memory(diag)
                 : cli_is_map_list(kept, size) ? cli_read_map_list(kept, size, arena, out, diag)
                                               : vtac_onnx_tensor(kept, size, "tensor", arena, out, diag);
    }
    if (status != VTA_OK) {
        (void)vta_context(diag, "%s", path);
    }
    return status;
}

bool cli_member_is(const char *member, const char *name)
{
    const size_t length = strlen(member);
    const size_t stem = length > 4 && strcmp(member + length - 4, ".npy") == 0 ? length - 4 : length;
    return strlen(name) == stem && strncmp(name, member, stem) == 0;
}

static vta_status parse_member(const vtac_zip_member *members, uint32_t count, const char *name, bool only,
                               vta_arena *arena, vtac_tensor *out, vta_diag *diag)
{
    uint32_t m = 0;
    while (m < count && !cli_member_is(members[m].name, name)) {
        m++;
    }
    m = m == count && only && count == 1 ? 0 : m;
    if (m == count) {
        return vta_fail(diag, VTA_INVALID, "none of its %u members is called '%s', as the input is", count,
                        name);
    }
    return cli_parse_npy(members[m].bytes, members[m].size, arena, out, diag) == VTA_OK
               ? VTA_OK
               : vta_context(diag, "%s", members[m].name);
}

vta_status cli_read_member(const char *path, const char *name, bool only, vta_arena *arena, vtac_tensor *out,
                           vta_diag *diag)
{
    uint8_t *bytes;
    size_t size;
    vtac_zip_member *members;
    uint32_t count;
    VTA_TRY(vta_file_read(path, max_bytes, &bytes, &size, diag));
    vta_status status = vtac_unzip(bytes, size, arena, &members, &count, diag);
    free(bytes);
    if (status == VTA_OK) {
        status = parse_member(members, count, name, only, arena, out, diag);
    }
    return status == VTA_OK ? VTA_OK : vta_context(diag, "%s", path);
}

vtac_dtype cli_dtype(const vta_tensor_info *info)
{
    for (int d = VTAC_NO_DTYPE + 1; d < VTAC_DTYPE_COUNT; d++) {
        const vtac_dtype dtype = (vtac_dtype)d;
        if (info->dtype_code == vtac_dtype_code(dtype) && info->dtype_bits == vtac_dtype_bits(dtype)) {
            return dtype;
        }
    }
    return VTAC_NO_DTYPE;
}

vtac_tensor cli_as_tensor(const vta_tensor_info *info, const void *data)
{
    vtac_tensor t = {
        .type = {.dtype = cli_dtype(info), .rank = info->rank}, .data = data, .bytes = info->bytes};
    memcpy(t.type.dim, info->dim, info->rank * sizeof t.type.dim[0]);
    return t;
}

vta_tensor_info cli_as_info(const vtac_type *type, const char *name)
{
    const size_t bytes = vtac_dtype_bytes(type->dtype);
    vta_tensor_info info = {.name = name, .rank = type->rank, .dim = type->dim};
    info.dtype_code = vtac_dtype_code(type->dtype);
    info.dtype_bits = vtac_dtype_bits(type->dtype);
    info.bytes = (size_t)vtac_type_elements(type) * bytes;
    return info;
}

bool cli_is_float(vtac_dtype dtype)
{
    return dtype == VTAC_F32 || dtype == VTAC_F64 || dtype == VTAC_F16 || dtype == VTAC_BF16;
}

cli_nonfinite cli_warn_nonfinite(const char *verb, const char *file, const char *input,
                                 const vtac_tensor *tensor)
{
    const int64_t count = cli_is_float(tensor->type.dtype) ? vtac_type_elements(&tensor->type) : 0;
    cli_nonfinite found = {0};
    for (int64_t e = 0; e < count; e++) {
        const double number = vtac_tensor_float(tensor, e);
        found.nans += isnan(number) ? 1 : 0;
        found.infinities += isinf(number) ? 1 : 0;
    }
    if (found.nans + found.infinities > 0) {
        cli_stages_hide();
        cli_say_once(
            "vtac %s: warning: %s: of the %lld numbers of input '%s', %llu are NaN and %llu infinite\n", verb,
            file, (long long)count, input, (unsigned long long)found.nans,
            (unsigned long long)found.infinities);
    }
    return found;
}

void cli_format_npy(const vta_tensor_info *info, const void *data, vta_str *out)
{
    const vtac_dtype dtype = cli_dtype(info);
    const vtac_dtype held = vtac_dtype_held(dtype); /* narrow types: their bytes */
    const char *name = dtype == VTAC_BF16 ? "u2" : "";
    for (size_t i = 0; i < sizeof npy_types / sizeof npy_types[0]; i++) {
        name = npy_types[i].dtype == held ? npy_types[i].text : name;
    }
    vta_str header = {0};
    vta_str_printf(&header, "{'descr': '%s%s', 'fortran_order': False, 'shape': (",
                   info->dtype_bits <= 8 ? "|" : "<", name);
    for (uint32_t i = 0; i < info->rank; i++) {
        vta_str_printf(&header, "%lld,%s", (long long)info->dim[i], i + 1 < info->rank ? " " : "");
    }
    vta_str_put(&header, "), }");
    while ((header.size + 11) % 64 != 0 && !header.failed) {
        vta_str_put(&header, " ");
    }
    vta_str_put(&header, "\n");
    const uint8_t prefix[] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)header.size, (uint8_t)(header.size >> 8)};
    vta_str_append(out, prefix, sizeof prefix);
    vta_str_append(out, header.text, header.size);
    vta_str_append(out, data, info->bytes);
    out->failed = out->failed || header.failed;
    vta_str_free(&header);
}

vta_status cli_write_npy(const char *path, const vta_tensor_info *info, const void *data, vta_diag *diag)
{
    vta_str file = {0};
    cli_format_npy(info, data, &file);
    const vta_status status =
        file.failed ? vta_no_memory(diag) : vta_file_write(path, file.text, file.size, diag);
    vta_str_free(&file);
    return status;
}

cli_difference cli_compare_tensors(const vtac_tensor *got, const vtac_tensor *expected, double rtol,
                                   double atol)
{
    cli_difference d = {.equal = true};
    double named = 0.0; /* how far the element is off that is named */
    const int64_t elements = vtac_type_elements(&expected->type);
    for (int64_t i = 0; i < elements; i++) {
        const double a = vtac_tensor_float(got, i);
        const double b = vtac_tensor_float(expected, i);
        if (a == b || (isnan(a) && isnan(b))) {
            continue;
        }
        const double off = isfinite(a) && isfinite(b) ? fabs(a - b) : (double)INFINITY;
        const bool passes = off <= atol + rtol * fabs(b);
        if ((d.equal && !passes) || (off > named && passes == d.equal)) {
            named = off;
            d = (cli_difference){d.equal && passes, d.worst, i, a, b};
        }
        d.worst = off > d.worst ? off : d.worst;
    }
    return d;
}
