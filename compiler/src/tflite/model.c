/* SPDX-License-Identifier: Apache-2.0
 *
 * From a flatbuffer to structures. Field numbers are those of TensorFlow Lite's schema, version 3.
 */
#include "model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../import/options.h"
#include "operators.h"
#include "vta/fail.h"
#include "vta/untrusted.h"

enum { MODEL_VERSION, MODEL_CODES, MODEL_SUBGRAPHS, MODEL_DESCRIPTION, MODEL_BUFFERS, MODEL_SIGNATURES = 7 };
enum { CODE_OLD, CODE_CUSTOM, CODE_VERSION, CODE_BUILTIN };
enum { GRAPH_TENSORS, GRAPH_INPUTS, GRAPH_OUTPUTS, GRAPH_OPERATORS, GRAPH_NAME };
enum {
    TENSOR_SHAPE,
    TENSOR_TYPE,
    TENSOR_BUFFER,
    TENSOR_NAME,
    TENSOR_QUANTIZATION,
    TENSOR_VARIABLE,
    TENSOR_SPARSITY,
    TENSOR_SIGNATURE,
    TENSOR_EXTERNAL = 10
};
enum { QUANT_SCALE = 2, QUANT_ZERO, QUANT_DETAILS, QUANT_AXIS = 6 };
enum { BUFFER_DATA, BUFFER_OFFSET, BUFFER_SIZE };
enum {
    OP_CODE,
    OP_INPUTS,
    OP_OUTPUTS,
    OP_OPTIONS = 4,
    OP_CUSTOM_OPTIONS,
    OP_INTERMEDIATES = 8,
    OP_MORE_OPTIONS = 12
};
enum { SIGNATURE_INPUTS, SIGNATURE_OUTPUTS, SIGNATURE_KEY, SIGNATURE_GRAPH = 4 };
enum { MAP_NAME, MAP_TENSOR };
enum { MAX_TENSORS = 1 << 20, MAX_GRAPHS = 1 << 10, CUSTOM = 32, RESOURCE = 13, INT4 = 17 };

/* By the number of the type. */
static const vtac_dtype dtypes[] = {VTAC_F32,      VTAC_F16,      VTAC_I32, VTAC_U8,       VTAC_I64,
                                    VTAC_NO_DTYPE, VTAC_BOOL,     VTAC_I16, VTAC_NO_DTYPE, VTAC_I8,
                                    VTAC_F64,      VTAC_NO_DTYPE, VTAC_U64, VTAC_NO_DTYPE, VTAC_NO_DTYPE,
                                    VTAC_U32,      VTAC_U16};

bool vtac_recognize_tflite(const vtac_model_file *file)
{
    return file->size >= 8 && memcmp(file->bytes + 4, "TFL3", 4) == 0;
}

static vta_status out_of_memory(vta_diag *diag)
{
    return vta_no_memory(diag);
}

/* Bytes of the character at p, whose text ends with a 0; 0: it is none of UTF-8's, or not one to print. */
static size_t character_at(const char *p)
{
    enum { LONGEST = 4 };
    uint32_t point;
    const size_t size = vta_utf8_character(p, strnlen(p, LONGEST), &point);
    return vta_is_plain(point) ? size : 0;
}

static const char *copy_text(vtac_tflite_model *m, vtac_flat_table t, uint32_t field)
{
    uint32_t length;
    const char *text = vtac_flat_text(&m->flat, t, field, &length);
    char *copy = vta_arena_string(m->arena, text == NULL ? "" : text, text == NULL ? 0 : length);
    for (char *p = copy; copy != NULL && *p != '\0';) {
        const size_t size = character_at(p);
        *p = size == 0 ? '_' : *p; /* a message is one line */
        p += size == 0 ? 1 : size;
    }
    return copy;
}

static vta_status copy_ints(vtac_tflite_model *m, vtac_flat_vector v, const int32_t **out, vta_diag *diag)
{
    int32_t *room = vta_arena_array(m->arena, v.count, sizeof *room);
    for (uint32_t i = 0; room != NULL && i < v.count; i++) {
        room[i] = (int32_t)vtac_flat_int_at(&m->flat, v, i, 4);
    }
    *out = room;
    return room == NULL ? out_of_memory(diag) : VTA_OK;
}

/* ---- tensors */

static vta_status read_quantization(vtac_tflite_model *m, vtac_flat_table t, vtac_tflite_tensor *to,
                                    vta_diag *diag)
{
    const vtac_flat_table q = vtac_flat_sub(&m->flat, t, TENSOR_QUANTIZATION);
    const vtac_flat_vector scale = vtac_flat_list(&m->flat, q, QUANT_SCALE, 4);
    const vtac_flat_vector zero = vtac_flat_list(&m->flat, q, QUANT_ZERO, 8);
    if (vtac_flat_int(&m->flat, q, QUANT_DETAILS, 1, 0) > 1) { /* 1: anybody's own, which nothing reads */
        return vta_fail(
            diag, VTA_UNSUPPORTED,
            "tensor '%s': scales for blocks of numbers or for several axes; one scale, or one for "
            "each channel, is taken",
            to->name);
    }
    if (scale.count == 0 || vtac_dtype_kind(to->type.dtype) == 'f' || to->type.dtype == VTAC_BOOL) {
        return VTA_OK;
    }
    float *scales = vta_arena_array(m->arena, scale.count, sizeof *scales);
    int64_t *zeros = vta_arena_array(m->arena, scale.count, sizeof *zeros);
    if (scales == NULL || zeros == NULL) {
        return out_of_memory(diag);
    }
    for (uint32_t i = 0; i < scale.count; i++) {
        scales[i] = vtac_flat_float_at(&m->flat, scale, i);
        zeros[i] =
            zero.count == 0 ? 0 : vtac_flat_int_at(&m->flat, zero, zero.count == scale.count ? i : 0, 8);
        if (!(scales[i] > 0.0F) || isinf(scales[i])) {
            return vta_fail(diag, VTA_INVALID,
                            "tensor '%s': scale %u is %g; a scale must be finite and above 0", to->name, i,
                            (double)scales[i]);
        }
        if (zeros[i] < INT32_MIN || zeros[i] > INT32_MAX) {
            return vta_fail(diag, VTA_INVALID,
                            "tensor '%s': zero point %u is %lld, which has more than 32 bits", to->name, i,
                            (long long)zeros[i]);
        }
    }
    const int64_t axis = vtac_flat_int(&m->flat, q, QUANT_AXIS, 4, 0);
    to->axis =
        axis >= 0 && axis < (int64_t)to->type.rank ? (uint32_t)axis : 0; /* some files say 3 of a vector */
    if (scale.count > 1 && (to->type.rank == 0 || to->type.dim[to->axis] != (int64_t)scale.count)) {
        return vta_fail(diag, VTA_INVALID, "tensor '%s': %u scales for axis %u of %lld", to->name,
                        scale.count, to->axis, (long long)(to->type.rank == 0 ? 1 : to->type.dim[to->axis]));
    }
    to->scale = scales;
    to->zero = zeros;
    to->scale_count = scale.count;
    return VTA_OK;
}

/* Two numbers of four bits in a byte become one in a byte each. */
static vta_status unpack_half_bytes(vtac_tflite_model *m, vtac_tflite_tensor *to, size_t size, vta_diag *diag)
{
    const int64_t count = vtac_type_elements(&to->type);
    if ((uint64_t)(count + 1) / 2 != size) {
        return vta_fail(diag, VTA_INVALID, "tensor '%s': %zu bytes for %lld numbers of 4 bits", to->name,
                        size, (long long)count);
    }
    int8_t *room = vta_arena_array(m->arena, (size_t)count, 1);
    for (int64_t i = 0; room != NULL && i < count; i++) {
        const unsigned half = (unsigned)to->data[i / 2] >> (i % 2 * 4) & 15U;
        room[i] = (int8_t)((int)(half ^ 8U) - 8);
    }
    to->data = (const uint8_t *)room;
    return room == NULL ? out_of_memory(diag) : VTA_OK;
}

static vta_status read_contents(vtac_tflite_model *m, vtac_flat_table t, vtac_flat_vector buffers, bool half,
                                vtac_tflite_tensor *to, vta_diag *diag)
{
    const int64_t number = vtac_flat_int(&m->flat, t, TENSOR_BUFFER, 4, 0);
    if (vtac_flat_int(&m->flat, t, TENSOR_EXTERNAL, 4, 0) != 0) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "tensor '%s': its contents lie in another file; only what lies in the file itself is "
                        "read",
                        to->name);
    }
    if (number == 0) {
        return VTA_OK;
    }
    if (number < 0 || number >= (int64_t)buffers.count) {
        return vta_fail(diag, VTA_INVALID, "tensor '%s': buffer %lld of %u", to->name, (long long)number,
                        buffers.count);
    }
    const vtac_flat_table b = vtac_flat_item(&m->flat, buffers, (uint32_t)number);
    const vtac_flat_vector data = vtac_flat_list(&m->flat, b, BUFFER_DATA, 1);
    const uint64_t offset = (uint64_t)vtac_flat_int(&m->flat, b, BUFFER_OFFSET, 8, 0);
    size_t size = data.count;
    to->data = data.count == 0 ? NULL : m->flat.bytes + data.at;
    if (offset > 1) { /* behind the flatbuffer */
        const uint64_t length = (uint64_t)vtac_flat_int(&m->flat, b, BUFFER_SIZE, 8, 0);
        if (offset > m->flat.size || length > m->flat.size - offset) {
            return vta_fail(diag, VTA_INVALID,
                            "tensor '%s': its contents end behind byte %zu, the file's last", to->name,
                            m->flat.size);
        }
        to->data = m->flat.bytes + offset;
        size = (size_t)length;
    }
    const uint64_t wanted =
        (uint64_t)vtac_type_elements(&to->type) * (uint64_t)vtac_dtype_bytes(to->type.dtype);
    if (to->data == NULL && wanted != 0) {
        return VTA_OK; /* a value that the run makes */
    }
    const vtac_flat_table sparsity = vtac_flat_sub(&m->flat, t, TENSOR_SPARSITY);
    if (sparsity.at != 0 && !half && to->data != NULL) {
        return vtac_tflite_make_dense(m, sparsity, to, size, diag);
    }
    if (half) {
        return unpack_half_bytes(m, to, size, diag);
    }
    char text[160];
    to->data = to->data == NULL ? m->flat.bytes : to->data;
    return size == wanted ? VTA_OK
                          : vta_fail(diag, VTA_INVALID, "tensor '%s': %zu bytes of contents for %s", to->name,
                                     size, vtac_type_text(&to->type, text, sizeof text));
}

static vta_status read_tensor(vtac_tflite_model *m, vtac_flat_table t, vtac_flat_vector buffers,
                              vtac_tflite_tensor *to, vta_diag *diag)
{
    to->name = copy_text(m, t, TENSOR_NAME);
    if (to->name == NULL) {
        return out_of_memory(diag);
    }
    const int64_t number = vtac_flat_int(&m->flat, t, TENSOR_TYPE, 1, 0);
    const bool half = number == INT4;
    to->is_resource = number == RESOURCE;
    to->type.dtype = half                                                                  ? VTAC_I8
                     : number >= 0 && number < (int64_t)(sizeof dtypes / sizeof dtypes[0]) ? dtypes[number]
                                                                                           : VTAC_NO_DTYPE;
    const vtac_flat_vector shape = vtac_flat_list(&m->flat, t, TENSOR_SHAPE, 4);
    const vtac_flat_vector open = vtac_flat_list(&m->flat, t, TENSOR_SIGNATURE, 4);
    if (shape.count > VTAC_MAX_RANK) {
        return vta_fail(diag, VTA_UNSUPPORTED, "tensor '%s' has %u axes, at most %d are taken", to->name,
                        shape.count, VTAC_MAX_RANK);
    }
    to->type.rank = shape.count;
    for (uint32_t i = 0; i < shape.count; i++) {
        to->type.dim[i] = vtac_flat_int_at(&m->flat, shape, i, 4);
        to->open[i] = open.count == shape.count && vtac_flat_int_at(&m->flat, open, i, 4) < 0;
        if (to->type.dim[i] < 0) {
            to->open[i] = true;
            to->type.dim[i] = 1;
        }
    }
    if (to->type.dtype == VTAC_NO_DTYPE) {
        return VTA_OK; /* refused where something uses it */
    }
    if (vtac_type_elements(&to->type) < 0) {
        return vta_fail(diag, VTA_RANGE, "tensor '%s' is too large", to->name);
    }
    to->variable = vtac_flat_int(&m->flat, t, TENSOR_VARIABLE, 1, 0) != 0;
    VTA_TRY(read_quantization(m, t, to, diag));
    return read_contents(m, t, buffers, half, to, diag);
}

/* ---- operators */

static vta_status check_numbers(const vtac_tflite_graph *g, const int32_t *numbers, uint32_t count,
                                bool absent, const char *what, vta_diag *diag)
{
    for (uint32_t i = 0; i < count; i++) {
        if (numbers[i] >= (int32_t)g->tensor_count || numbers[i] < (absent ? -1 : 0)) {
            return vta_fail(diag, VTA_INVALID, "%s %u is tensor %d of %u", what, i, numbers[i],
                            g->tensor_count);
        }
    }
    return VTA_OK;
}

static vta_status read_op(vtac_tflite_model *m, const vtac_tflite_graph *g, vtac_flat_table t,
                          vtac_flat_vector codes, vtac_tflite_op *to, vta_diag *diag)
{
    const vtac_flat_vector inputs = vtac_flat_list(&m->flat, t, OP_INPUTS, 4);
    const vtac_flat_vector outputs = vtac_flat_list(&m->flat, t, OP_OUTPUTS, 4);
    const int64_t code = vtac_flat_int(&m->flat, t, OP_CODE, 4, 0);
    if (code < 0 || code >= (int64_t)codes.count) {
        return vta_fail(diag, VTA_INVALID, "an operator has code %lld of %u", (long long)code, codes.count);
    }
    const vtac_flat_table c = vtac_flat_item(&m->flat, codes, (uint32_t)code);
    const int32_t old = (int32_t)vtac_flat_int(&m->flat, c, CODE_OLD, 1, 0);
    const int32_t new = (int32_t)vtac_flat_int(&m->flat, c, CODE_BUILTIN, 4, 0);
    to->code = old > new ? old : new;
    to->version = (int32_t)vtac_flat_int(&m->flat, c, CODE_VERSION, 4, 1);
    to->custom = to->code == CUSTOM ? copy_text(m, c, CODE_CUSTOM) : NULL;
    to->kind = to->custom != NULL ? vtac_tflite_custom_find(to->custom) : vtac_tflite_operator_find(to->code);
    to->options = vtac_flat_sub(&m->flat, t, OP_OPTIONS);
    if (to->options.at == 0) { /* those of younger operators */
        to->options = vtac_flat_sub(&m->flat, t, OP_MORE_OPTIONS);
    }
    to->custom_options = vtac_flat_list(&m->flat, t, OP_CUSTOM_OPTIONS, 1);
    to->input_count = inputs.count;
    to->output_count = outputs.count;
    VTA_TRY(copy_ints(m, inputs, &to->inputs, diag));
    VTA_TRY(copy_ints(m, outputs, &to->outputs, diag));
    const vtac_flat_vector between = vtac_flat_list(&m->flat, t, OP_INTERMEDIATES, 4);
    to->intermediate_count = between.count;
    VTA_TRY(copy_ints(m, between, &to->intermediates, diag));
    VTA_TRY(check_numbers(g, to->intermediates, between.count, false, "an operator's intermediate", diag));
    VTA_TRY(check_numbers(g, to->inputs, to->input_count, true, "an operator's input", diag));
    return check_numbers(g, to->outputs, to->output_count, false, "an operator's output", diag);
}

/* The names that a signature of this graph gives to inputs or outputs, where it names each. */
static vta_status read_signature(vtac_tflite_model *m, vtac_flat_table s, uint32_t field,
                                 const int32_t *tensors, uint32_t count, const char ***out, vta_diag *diag)
{
    const vtac_flat_vector map = vtac_flat_list(&m->flat, s, field, 4);
    const char **names = vta_arena_array(m->arena, count, sizeof *names);
    if (names == NULL) {
        return out_of_memory(diag);
    }
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        names[i] = NULL;
        for (uint32_t k = 0; k < map.count && map.count == count; k++) {
            const vtac_flat_table entry = vtac_flat_item(&m->flat, map, k);
            if (names[i] == NULL && vtac_flat_int(&m->flat, entry, MAP_TENSOR, 4, 0) == tensors[i]) {
                names[i] = copy_text(m, entry, MAP_NAME);
                found += names[i] != NULL && names[i][0] != '\0';
            }
        }
    }
    *out = found == count ? names : NULL;
    return VTA_OK;
}

/* Reads the inputs and outputs of a graph whose tensors are there. */
static vta_status read_ends(vtac_tflite_model *m, vtac_flat_vector inputs, vtac_flat_vector outputs,
                            vtac_tflite_graph *g, vta_diag *diag)
{
    g->input_count = inputs.count;
    g->output_count = outputs.count;
    VTA_TRY(copy_ints(m, inputs, &g->inputs, diag));
    VTA_TRY(copy_ints(m, outputs, &g->outputs, diag));
    VTA_TRY(check_numbers(g, g->inputs, g->input_count, false, "input", diag));
    return check_numbers(g, g->outputs, g->output_count, false, "output", diag);
}

static vta_status read_graph(vtac_tflite_model *m, vtac_flat_table root, vtac_flat_table graph,
                             vtac_tflite_graph *g, vta_diag *diag)
{
    const vtac_flat_vector codes = vtac_flat_list(&m->flat, root, MODEL_CODES, 4);
    const vtac_flat_vector buffers = vtac_flat_list(&m->flat, root, MODEL_BUFFERS, 4);
    const vtac_flat_vector tensors = vtac_flat_list(&m->flat, graph, GRAPH_TENSORS, 4);
    const vtac_flat_vector ops = vtac_flat_list(&m->flat, graph, GRAPH_OPERATORS, 4);
    const vtac_flat_vector inputs = vtac_flat_list(&m->flat, graph, GRAPH_INPUTS, 4);
    const vtac_flat_vector outputs = vtac_flat_list(&m->flat, graph, GRAPH_OUTPUTS, 4);
    if (tensors.count > MAX_TENSORS - m->tensor_count || ops.count > MAX_TENSORS) {
        return vta_fail(diag, VTA_RANGE, "%u tensors and %u operators; %d are the most", tensors.count,
                        ops.count, MAX_TENSORS);
    }
    g->name = copy_text(m, graph, GRAPH_NAME);
    g->tensors = vta_arena_array(m->arena, tensors.count, sizeof *g->tensors);
    g->ops = vta_arena_array(m->arena, ops.count, sizeof *g->ops);
    if (g->tensors == NULL || g->ops == NULL || g->name == NULL) {
        return out_of_memory(diag);
    }
    memset(g->tensors, 0, tensors.count * sizeof *g->tensors);
    memset(g->ops, 0, ops.count * sizeof *g->ops);
    g->tensor_count = tensors.count;
    m->tensor_count += tensors.count;
    g->op_count = ops.count;
    for (uint32_t i = 0; i < tensors.count; i++) {
        VTA_TRY(read_tensor(m, vtac_flat_item(&m->flat, tensors, i), buffers, &g->tensors[i], diag));
    }
    for (uint32_t i = 0; i < ops.count; i++) {
        VTA_TRY(read_op(m, g, vtac_flat_item(&m->flat, ops, i), codes, &g->ops[i], diag));
    }
    return read_ends(m, inputs, outputs, g, diag);
}

/* The keys of the signatures; of a model without one, the names of its graphs. */
static vta_status read_keys(vtac_tflite_model *m, vtac_flat_vector signatures, vta_diag *diag)
{
    m->has_signatures = signatures.count > 0;
    m->key_count = m->has_signatures ? signatures.count : m->graph_count;
    m->keys = vta_arena_array(m->arena, m->key_count, sizeof *m->keys);
    if (m->keys == NULL || signatures.count > MAX_GRAPHS) {
        return out_of_memory(diag);
    }
    for (uint32_t i = 0; i < m->key_count; i++) {
        m->keys[i] = signatures.count == 0
                         ? m->graphs[i].name
                         : copy_text(m, vtac_flat_item(&m->flat, signatures, i), SIGNATURE_KEY);
        if (m->keys[i] == NULL) {
            return out_of_memory(diag);
        }
    }
    return VTA_OK;
}

/* Adds the keys, each in quotes, to a text. */
static void list_keys(const vtac_tflite_model *m, char *text, size_t size)
{
    size_t used = 0;
    for (uint32_t i = 0; i < m->key_count && used + 48 < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s'%.40s'", i == 0 ? "" : ", ", m->keys[i]);
    }
}

/* The number of the signature that was asked for, or of the first. */
static vta_status choose_key(const vtac_tflite_model *m, const char *wanted, uint32_t *out, vta_diag *diag)
{
    char list[320] = "";
    for (*out = 0; wanted != NULL && *out < m->key_count; (*out)++) {
        if (strcmp(m->keys[*out], wanted) == 0) {
            return VTA_OK;
        }
    }
    list_keys(m, list, sizeof list);
    return wanted == NULL
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID, "no signature is called '%.100s'; there are %s", wanted, list);
}

static vta_status name_ends(vtac_tflite_model *m, vtac_flat_table signature, vta_diag *diag)
{
    const vtac_tflite_graph *g = &m->graphs[m->chosen];
    VTA_TRY(read_signature(m, signature, SIGNATURE_INPUTS, g->inputs, g->input_count, &m->input_names, diag));
    return read_signature(m, signature, SIGNATURE_OUTPUTS, g->outputs, g->output_count, &m->output_names,
                          diag);
}

/* Without a wish: the first graph, with the names of the first signature that names an end of that graph. */
static vta_status read_signatures(vtac_tflite_model *m, vtac_flat_table root, const char *wanted,
                                  vta_diag *diag)
{
    const vtac_flat_vector signatures = vtac_flat_list(&m->flat, root, MODEL_SIGNATURES, 4);
    uint32_t first;
    VTA_TRY(read_keys(m, signatures, diag));
    VTA_TRY(choose_key(m, wanted, &first, diag));
    if (wanted != NULL) {
        const int64_t graph =
            signatures.count == 0
                ? first
                : vtac_flat_int(&m->flat, vtac_flat_item(&m->flat, signatures, first), SIGNATURE_GRAPH, 4, 0);
        if (graph < 0 || graph >= (int64_t)m->graph_count) {
            return vta_fail(diag, VTA_INVALID, "signature '%.100s' is of graph %lld of %u", wanted,
                            (long long)graph, m->graph_count);
        }
        m->chosen = (uint32_t)graph;
    }
    for (uint32_t i = first; i < signatures.count && m->input_names == NULL && m->output_names == NULL; i++) {
        const vtac_flat_table s = vtac_flat_item(&m->flat, signatures, i);
        if (vtac_flat_int(&m->flat, s, SIGNATURE_GRAPH, 4, 0) == (int64_t)m->chosen) {
            VTA_TRY(name_ends(m, s, diag));
        }
    }
    return VTA_OK;
}

void vtac_tflite_list_signatures(const vtac_tflite_model *m, const vtac_import_options *options)
{
    char list[320] = "";
    if (!m->has_signatures || m->key_count < 2 || options == NULL || options->signature != NULL) {
        return;
    }
    list_keys(m, list, sizeof list);
    vtac_import_note(options, "it has %u signatures, %s; --signature takes another than the first",
                     m->key_count, list);
}

/* Every graph: operators of the first name others. */
static vta_status read_graphs(vtac_tflite_model *m, vtac_flat_table root, vtac_flat_vector graphs,
                              const char *wanted, vta_diag *diag)
{
    if (graphs.count > MAX_GRAPHS) {
        return vta_fail(diag, VTA_RANGE, "%u graphs; %d are the most", graphs.count, MAX_GRAPHS);
    }
    m->graphs = vta_arena_array(m->arena, graphs.count, sizeof *m->graphs);
    if (m->graphs == NULL) {
        return out_of_memory(diag);
    }
    memset(m->graphs, 0, graphs.count * sizeof *m->graphs);
    m->graph_count = graphs.count;
    for (uint32_t i = 0; i < graphs.count; i++) {
        VTA_TRY(read_graph(m, root, vtac_flat_item(&m->flat, graphs, i), &m->graphs[i], diag));
    }
    return read_signatures(m, root, wanted, diag);
}

vta_status vtac_tflite_model_read(const vtac_model_file *file, vta_arena *arena, const char *wanted,
                                  vtac_tflite_model *out, vta_diag *diag)
{
    *out = (vtac_tflite_model){
        .flat = {.bytes = file->bytes, .size = file->size}, .arena = arena, .path = file->path};
    vtac_flat *f = &out->flat;
    const vtac_flat_table root = vtac_flat_root(f);
    const int64_t version = vtac_flat_int(f, root, MODEL_VERSION, 4, 0);
    const vtac_flat_vector graphs = vtac_flat_list(f, root, MODEL_SUBGRAPHS, 4);
    if (!f->bad && version != 3) {
        return vta_fail(diag, VTA_UNSUPPORTED, "schema version %lld, expected 3", (long long)version);
    }
    if (!f->bad && graphs.count == 0) {
        return vta_fail(diag, VTA_INVALID, "a model without a graph");
    }
    const vta_status status = f->bad ? VTA_OK : read_graphs(out, root, graphs, wanted, diag);
    if (f->bad) {
        *diag = (vta_diag){0};
        return vta_fail(diag, VTA_SYNTAX,
                        "damaged: the offset at byte %zu leads out of the file, which has %zu bytes",
                        f->bad_at, f->size);
    }
    return status;
}
