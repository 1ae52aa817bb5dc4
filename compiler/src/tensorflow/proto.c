/* SPDX-License-Identifier: Apache-2.0
 *
 * GraphDef in protobuf: nodes, attributes, tensors, functions.
 */
#include <string.h>

#include "graph.h"
#include "import.h"
#include "vta/fail.h"

enum { MAX_NODES = 1 << 20, MAX_REPEATED = 1 << 26 };

static vta_status malformed(const char *what, vta_diag *diag)
{
    return vta_fail(diag, VTA_SYNTAX, "damaged: %s is cut off or malformed", what);
}

static vta_status copy_text(vta_arena *arena, vtac_wire text, const char **out, vta_diag *diag)
{
    return vtac_tf_copy(arena, text.at, (size_t)(text.end - text.at), out, diag);
}

/* Counts each of the fields 1 ... 15. */
static vta_status count_fields(vtac_wire message, uint32_t count[16], const char *what, vta_diag *diag)
{
    vtac_wire_field field;
    memset(count, 0, 16 * sizeof *count);
    while (vtac_wire_next(&message, &field)) {
        count[field.number < 16 ? field.number : 0]++;
    }
    return message.at == message.end ? VTA_OK : malformed(what, diag);
}

/* ---- shapes and tensors */

vta_status vtac_tf_read_shape(vtac_wire message, vtac_tf_shape *out, vta_diag *diag)
{
    enum { DIM = 2, UNKNOWN_RANK = 3, SIZE = 1 };
    vtac_wire_field field;
    *out = (vtac_tf_shape){.rank = 0};
    bool open = false;
    while (vtac_wire_next(&message, &field)) {
        open = open || (field.number == UNKNOWN_RANK && vtac_wire_number(&field) != 0);
        if (field.number != DIM || field.type != VTAC_WIRE_BYTES) {
            continue;
        }
        if (out->rank == VTAC_MAX_RANK) {
            return vta_fail(diag, VTA_UNSUPPORTED, "a shape of more than %d axes", VTAC_MAX_RANK);
        }
        vtac_wire_field size;
        out->dim[out->rank++] =
            vtac_wire_find(field.bytes, SIZE, &size) ? (int64_t)vtac_wire_number(&size) : 0;
    }
    out->rank = open ? TF_OPEN_RANK : out->rank;
    return message.at == message.end ? VTA_OK : malformed("a shape", diag);
}

/* One value of a list that is not packed, or the values of one that is, into `to` as a type has them. */
typedef struct value_list {
    uint8_t *to;
    int64_t count, room;
    vtac_dtype dtype;
} value_list;

static void add_value(value_list *l, uint64_t value)
{
    const size_t size = vtac_dtype_bytes(l->dtype);
    if (l->count < l->room) {
        memcpy(l->to + (size_t)l->count * size, &value, size); /* the lowest byte comes first */
    }
    l->count++;
}

static uint64_t little_endian(const uint8_t *at, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, at, size);
    return value;
}

static bool add_values(value_list *l, const vtac_wire_field *field, size_t width)
{
    if (field->type == VTAC_WIRE_VARINT) {
        add_value(l, vtac_wire_number(field));
        return true;
    }
    if (width == 0) { /* packed numbers of variable length */
        vtac_wire packed = field->bytes;
        uint64_t value;
        while (packed.at < packed.end && vtac_wire_packed(&packed, &value)) {
            add_value(l, value);
        }
        return packed.at == packed.end;
    }
    for (const uint8_t *at = field->bytes.at; (size_t)(field->bytes.end - at) >= width; at += width) {
        add_value(l, little_endian(at, width));
    }
    return true;
}

/* The field of a tensor that holds values of a type, and the width of one; 0: of variable length. */
static uint64_t field_of_values(vtac_dtype dtype, size_t *width)
{
    enum { FLOATS = 5, DOUBLES = 6, INTS = 7, LONGS = 10, BOOLS = 11, HALVES = 13, U32S = 16, U64S = 17 };
    *width = dtype == VTAC_F32 ? 4 : dtype == VTAC_F64 ? 8 : 0;
    return dtype == VTAC_F32                         ? FLOATS
           : dtype == VTAC_F64                       ? DOUBLES
           : dtype == VTAC_I64                       ? LONGS
           : dtype == VTAC_BOOL                      ? BOOLS
           : dtype == VTAC_F16 || dtype == VTAC_BF16 ? HALVES
           : dtype == VTAC_U32                       ? U32S
           : dtype == VTAC_U64                       ? U64S
                                                     : INTS;
}

/* Fewer values than elements: the last is repeated. None: zeros. */
static vta_status read_values(vtac_wire message, vtac_tensor *t, int64_t elements, vta_arena *arena,
                              vta_diag *diag)
{
    const size_t size = vtac_dtype_bytes(t->type.dtype);
    size_t width;
    const uint64_t number = field_of_values(t->type.dtype, &width);
    value_list list = {.room = elements, .dtype = t->type.dtype};
    vtac_wire_field field;
    if (elements > MAX_REPEATED) {
        return vta_fail(diag, VTA_RANGE,
                        "a constant of %lld elements that are not all in the file; %d are the most",
                        (long long)elements, MAX_REPEATED);
    }
    VTA_TRY(vtac_tf_room(arena, (size_t)elements, size, &list.to, diag));
    while (vtac_wire_next(&message, &field)) {
        if (field.number == number && !add_values(&list, &field, width)) {
            return malformed("a constant", diag);
        }
    }
    for (int64_t i = list.count; list.count > 0 && i < elements; i++) {
        memcpy(list.to + (size_t)i * size, list.to + (size_t)(list.count - 1) * size, size);
    }
    if (list.count > elements) {
        return vta_fail(diag, VTA_INVALID, "a constant of %lld elements has %lld values", (long long)elements,
                        (long long)list.count);
    }
    t->data = list.to;
    t->bytes = (size_t)elements * size;
    return VTA_OK;
}

static vta_status read_tensor(vtac_wire message, vta_arena *arena, vtac_tensor *out, vta_diag *diag)
{
    enum { DTYPE = 1, SHAPE = 2, CONTENT = 4 };
    vtac_wire_field dtype = {.number = 0};
    vtac_wire shape;
    vtac_wire content;
    vtac_tf_shape dims;
    (void)vtac_wire_find(message, DTYPE, &dtype);
    (void)vtac_wire_message(message, SHAPE, &shape);
    VTA_TRY(vtac_tf_read_shape(shape, &dims, diag));
    *out =
        (vtac_tensor){.type = {.dtype = vtac_tf_dtype((int64_t)vtac_wire_number(&dtype)), .rank = dims.rank}};
    if (out->type.dtype == VTAC_NO_DTYPE) {
        return VTA_OK; /* texts and the like, which are no values here */
    }
    if (dims.rank == TF_OPEN_RANK) {
        return vta_fail(diag, VTA_INVALID, "a constant whose shape is open");
    }
    memcpy(out->type.dim, dims.dim, sizeof dims.dim);
    const int64_t elements = vtac_type_elements(&out->type);
    for (uint32_t i = 0; i < dims.rank; i++) {
        if (dims.dim[i] < 0 || elements < 0) {
            return vta_fail(diag, VTA_INVALID, "a constant whose axis %u is %lld", i, (long long)dims.dim[i]);
        }
    }
    if (!vtac_wire_message(message, CONTENT, &content) || content.at == content.end) {
        return read_values(message, out, elements, arena, diag);
    }
    out->bytes = (size_t)elements * vtac_dtype_bytes(out->type.dtype);
    if ((size_t)(content.end - content.at) != out->bytes) {
        return vta_fail(diag, VTA_INVALID, "a constant of %zu bytes has %zu", out->bytes,
                        (size_t)(content.end - content.at));
    }
    void *copy;
    VTA_TRY(vtac_tf_room(arena, out->bytes, 1, &copy, diag)); /* aligned */
    memcpy(copy, content.at, out->bytes);
    out->data = copy;
    return VTA_OK;
}

/* ---- attributes */

enum { A_LIST = 1, A_TEXT, A_INT, A_FLOAT, A_BOOL, A_TYPE, A_SHAPE, A_TENSOR, A_FUNC = 10 };

static vta_status read_list(vtac_wire message, vta_arena *arena, vtac_tf_attr *a, vta_diag *diag)
{
    uint32_t count[16];
    vtac_wire_field field;
    VTA_TRY(count_fields(message, count, "a list of an attribute", diag));
    VTA_TRY(vtac_tf_room(arena, count[A_TEXT] + count[A_FUNC - 1], sizeof *a->texts, &a->texts, diag));
    size_t numbers = 0;
    for (vtac_wire m = message; vtac_wire_next(&m, &field);) {
        numbers += field.type == VTAC_WIRE_BYTES ? (size_t)(field.bytes.end - field.bytes.at) : 1;
    }
    VTA_TRY(vtac_tf_room(arena, numbers, sizeof *a->list, &a->list, diag));
    value_list list = {.to = (uint8_t *)a->list, .room = (int64_t)numbers, .dtype = VTAC_I64};
    while (vtac_wire_next(&message, &field)) {
        if (field.number == A_TEXT && field.type == VTAC_WIRE_BYTES) {
            VTA_TRY(copy_text(arena, field.bytes, &a->texts[a->text_count++], diag));
        } else if (field.number == A_INT || field.number == A_TYPE) {
            (void)add_values(&list, &field, 0);
        }
    }
    a->list_count = (uint32_t)list.count;
    return VTA_OK;
}

static double float_of(vtac_wire bytes)
{
    float value = 0.0F;
    if (bytes.end - bytes.at == (ptrdiff_t)sizeof value) {
        memcpy(&value, bytes.at, sizeof value);
    }
    return (double)value;
}

/* A field of an attribute that is a message or a text. */
static vta_status read_part(uint64_t number, vtac_wire part, vta_arena *arena, vtac_tf_attr *a,
                            vta_diag *diag)
{
    vtac_wire name;
    if (number == A_TEXT) {
        return copy_text(arena, part, &a->text, diag);
    }
    if (number == A_FUNC && vtac_wire_message(part, 1, &name)) {
        return copy_text(arena, name, &a->text, diag);
    }
    if (number == A_SHAPE) {
        return vtac_tf_read_shape(part, &a->shape, diag);
    }
    if (number == A_TENSOR) {
        VTA_TRY(vtac_tf_room(arena, 1, sizeof *a->tensor, &a->tensor, diag));
        return read_tensor(part, arena, a->tensor, diag);
    }
    return number == A_LIST ? read_list(part, arena, a, diag) : VTA_OK;
}

static vta_status read_value(vtac_wire message, vta_arena *arena, vtac_tf_attr *a, vta_diag *diag)
{
    vtac_wire_field field;
    while (vtac_wire_next(&message, &field)) {
        if (field.type == VTAC_WIRE_BYTES) {
            VTA_TRY(read_part(field.number, field.bytes, arena, a, diag));
        } else if (field.number == A_FLOAT) {
            a->real = float_of(field.bytes);
        } else if (field.type == VTAC_WIRE_VARINT) { /* an integer, a truth, a type */
            a->number = (int64_t)vtac_wire_number(&field);
        }
    }
    return message.at == message.end ? VTA_OK : malformed("an attribute", diag);
}

static vta_status read_attr(vtac_wire entry, vta_arena *arena, vtac_tf_attr *a, vta_diag *diag)
{
    vtac_wire name;
    vtac_wire value;
    (void)vtac_wire_message(entry, 1, &name);
    (void)vtac_wire_message(entry, 2, &value);
    *a = (vtac_tf_attr){.text = "", .shape = {.rank = TF_OPEN_RANK}};
    VTA_TRY(copy_text(arena, name, &a->name, diag));
    const vta_status status = read_value(value, arena, a, diag);
    return status == VTA_OK ? VTA_OK : vta_context(diag, "attribute '%.60s'", a->name);
}

/* ---- nodes */

enum { N_NAME = 1, N_OP, N_INPUT, N_ATTR = 5 };

static vta_status read_node_field(uint64_t number, vtac_wire part, vta_arena *arena, vtac_tf_node *node,
                                  vta_diag *diag)
{
    const bool after =
        part.at < part.end && *part.at == '^'; /* it waits for a node, and takes nothing of it */
    if (number == N_NAME || number == N_OP) {
        return copy_text(arena, part, number == N_NAME ? &node->name : &node->op, diag);
    }
    if (number == N_INPUT && !after) {
        return copy_text(arena, part, &node->inputs[node->input_count++].text, diag);
    }
    return number == N_ATTR ? read_attr(part, arena, &node->attrs[node->attr_count++], diag) : VTA_OK;
}

static vta_status read_node(vtac_wire message, vta_arena *arena, vtac_tf_node *node, vta_diag *diag)
{
    uint32_t count[16];
    vtac_wire_field field;
    VTA_TRY(count_fields(message, count, "a node", diag));
    node->name = node->op = "";
    VTA_TRY(vtac_tf_room(arena, count[N_INPUT], sizeof *node->inputs, &node->inputs, diag));
    VTA_TRY(vtac_tf_room(arena, count[N_ATTR], sizeof *node->attrs, &node->attrs, diag));
    while (vtac_wire_next(&message, &field)) {
        const vta_status status = field.type == VTAC_WIRE_BYTES
                                      ? read_node_field(field.number, field.bytes, arena, node, diag)
                                      : VTA_OK;
        if (status != VTA_OK) {
            return vta_context(diag, "node '%.100s' (%.40s)", node->name, node->op);
        }
    }
    return VTA_OK;
}

static vta_status read_nodes(vtac_wire message, uint64_t number, vta_arena *arena, vtac_tf_function *f,
                             vta_diag *diag)
{
    uint32_t count[16];
    vtac_wire_field field;
    VTA_TRY(count_fields(message, count, "the graph", diag));
    if (count[number] > MAX_NODES) {
        return vta_fail(diag, VTA_RANGE, "%u nodes; %d are the most", count[number], MAX_NODES);
    }
    VTA_TRY(vtac_tf_room(arena, count[number], sizeof *f->nodes, &f->nodes, diag));
    while (vtac_wire_next(&message, &field)) {
        if (field.number == number && field.type == VTAC_WIRE_BYTES) {
            VTA_TRY(read_node(field.bytes, arena, &f->nodes[f->node_count++], diag));
        }
    }
    return VTA_OK;
}

/* ---- functions */

/* The names of a signature's arguments or outputs. */
static vta_status read_names(vtac_wire signature, uint64_t number, uint32_t count, vta_arena *arena,
                             const char ***out, vta_diag *diag)
{
    vtac_wire_field field;
    vtac_wire name;
    uint32_t used = 0;
    VTA_TRY(vtac_tf_room(arena, count, sizeof **out, out, diag));
    while (vtac_wire_next(&signature, &field)) {
        if (field.number == number) {
            (void)vtac_wire_message(field.bytes, 1, &name);
            VTA_TRY(copy_text(arena, name, &(*out)[used++], diag));
        }
    }
    return VTA_OK;
}

static vta_status read_results(vtac_wire message, vta_arena *arena, vtac_tf_function *f, vta_diag *diag)
{
    enum { RET = 4 };
    vtac_wire_field field;
    while (vtac_wire_next(&message, &field)) {
        vtac_wire wires[2];
        const char *texts[2];
        if (field.number != RET) {
            continue;
        }
        for (int i = 0; i < 2; i++) {
            (void)vtac_wire_message(field.bytes, (uint64_t)i + 1, &wires[i]);
            VTA_TRY(copy_text(arena, wires[i], &texts[i], diag));
        }
        for (uint32_t i = 0; i < f->out_count; i++) {
            f->results[i].text = strcmp(f->outs[i], texts[0]) == 0 ? texts[1] : f->results[i].text;
        }
    }
    return VTA_OK;
}

static vta_status read_function(const vtac_tf_graph *g, vtac_wire message, vtac_tf_function *f,
                                vta_diag *diag)
{
    enum { SIGNATURE = 1, NODE = 3, NAME = 1, ARG = 2, OUT = 3 };
    uint32_t count[16];
    vtac_wire signature;
    vtac_wire name;
    (void)vtac_wire_message(message, SIGNATURE, &signature);
    VTA_TRY(count_fields(signature, count, "the signature of a function", diag));
    (void)vtac_wire_message(signature, NAME, &name);
    VTA_TRY(copy_text(g->arena, name, &f->name, diag));
    f->arg_count = count[ARG];
    f->out_count = count[OUT];
    VTA_TRY(read_names(signature, ARG, f->arg_count, g->arena, &f->args, diag));
    VTA_TRY(read_names(signature, OUT, f->out_count, g->arena, &f->outs, diag));
    VTA_TRY(vtac_tf_room(g->arena, f->out_count, sizeof *f->results, &f->results, diag));
    for (uint32_t i = 0; i < f->out_count; i++) {
        f->results[i].text = "";
    }
    VTA_TRY(read_results(message, g->arena, f, diag));
    VTA_TRY(read_nodes(message, NODE, g->arena, f, diag));
    return vtac_tf_resolve(g, f, diag);
}

static vta_status read_library(vtac_tf_graph *g, vtac_wire message, vta_diag *diag)
{
    enum { FUNCTION = 1 };
    uint32_t count[16];
    vtac_wire_field field;
    VTA_TRY(count_fields(message, count, "the library of functions", diag));
    VTA_TRY(vtac_tf_room(g->arena, count[FUNCTION], sizeof *g->library, &g->library, diag));
    while (vtac_wire_next(&message, &field)) {
        if (field.number == FUNCTION && field.type == VTAC_WIRE_BYTES) {
            vtac_tf_function *f = &g->library[g->library_count++];
            const vta_status status = read_function(g, field.bytes, f, diag);
            VTA_TRY(status == VTA_OK
                        ? VTA_OK
                        : vta_context(diag, "function '%.100s'", f->name == NULL ? "" : f->name));
        }
    }
    return VTA_OK;
}

vta_status vtac_tf_read_graph(vtac_tf_graph *g, vtac_wire message, vta_diag *diag)
{
    enum { NODE = 1, LIBRARY = 2 };
    vtac_wire library;
    VTA_TRY(read_nodes(message, NODE, g->arena, &g->main, diag));
    (void)vtac_wire_message(message, LIBRARY, &library);
    VTA_TRY(read_library(g, library, diag));
    return vtac_tf_resolve(g, &g->main, diag);
}
