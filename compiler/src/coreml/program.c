/* SPDX-License-Identifier: Apache-2.0
 *
 * CoreML's programs: functions with blocks of operations, whose arguments are values or constants. Constants
 * lie in the message or in a file beside it. Halves are computed as floats.
 */
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "vta/fail.h"
#include "vta/inside.h"

enum {
    MAX_WEIGHTS = 0x7fffffff,
    OP_TYPE = 1,
    OP_INPUTS = 2,
    OP_OUTPUTS = 3,
    OP_ATTRIBUTES = 5,
    KEY = 1,
    CONTENT = 2
};

typedef struct program_kind {
    const char *name, *how;
    vtac_coreml_do_fn *make;
} program_kind;

static const program_kind kinds[] = {
#define VTAC_COREML_OP(group, name, fn, how) {name, how, vtac_coreml_do_##fn},
#include "operations.def"
};

static const program_kind *kind_of(vtac_wire op)
{
    const vtac_wire type = vtac_coreml_message(op, OP_TYPE);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (vtac_wire_is(type, kinds[i].name)) {
            return &kinds[i];
        }
    }
    return NULL;
}

/* The content of a key in a map; false: there is none. */
static bool find_key(vtac_wire message, uint64_t map, const char *key, vtac_wire *out)
{
    vtac_wire entry;
    while (vtac_wire_each(&message, map, &entry)) {
        if (vtac_wire_is(vtac_coreml_message(entry, KEY), key)) {
            *out = vtac_coreml_message(entry, CONTENT);
            return true;
        }
    }
    return false;
}

/* ---- values of the message and of the file beside it */

enum { VALUE_TYPE = 2, IMMEDIATE = 3, BLOB = 5, TENSOR = 1 };

/* Our type for one of a program's; halves keep theirs until they are read. */
static vtac_dtype dtype_of(int64_t type)
{
    static const struct {
        int64_t number;
        vtac_dtype dtype;
    } types[] = {{1, VTAC_BOOL}, {10, VTAC_F16}, {11, VTAC_F32}, {12, VTAC_F64}, {21, VTAC_I8},
                 {22, VTAC_I16}, {23, VTAC_I32}, {24, VTAC_I64}, {31, VTAC_U8},  {32, VTAC_U16}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i].number == type) {
            return types[i].dtype;
        }
    }
    return VTAC_NO_DTYPE;
}

/* A tensor's type; false: it is none, or has sizes that are not known. */
static bool read_type(vtac_wire value_type, vtac_type *type)
{
    enum { DTYPE = 1, DIMENSION = 3, CONSTANT = 1, SIZE = 1 };
    vtac_wire tensor;
    vtac_wire axis;
    vtac_wire dim;
    if (!vtac_wire_message(value_type, 1, &tensor)) {
        return false;
    }
    *type = (vtac_type){.dtype = dtype_of(vtac_wire_int(tensor, DTYPE, 0))};
    while (vtac_wire_each(&tensor, DIMENSION, &axis)) {
        if (type->rank == VTAC_MAX_RANK) {
            return false;
        }
        type->dim[type->rank++] = vtac_wire_message(axis, CONSTANT, &dim) ? vtac_wire_int(dim, SIZE, 0) : -1;
    }
    return true;
}

static bool read_weights_file(vtac_coreml *c, vtac_wire name)
{
    static const char prefix[] = "@model_path/";
    const char *path = vtac_coreml_bytes_text(c, name);
    path += strncmp(path, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0;
    if (c->weights != NULL) {
        return true;
    }
    if (c->folder == NULL) {
        vtac_make_fail(&c->net.maker, VTA_INVALID, "a program without the folder of its weights '%.80s'",
                       path);
        return false;
    }
    const vta_status status = vta_inside_whole(c->folder, path, "its weights", MAX_WEIGHTS, &c->weights,
                                               &c->weights_size, c->net.maker.diag);
    c->net.maker.status = c->net.maker.status == VTA_OK ? status : c->net.maker.status;
    return status == VTA_OK;
}

/* A record of the file: a mark, the type, the size and the place of the numbers. */
static const void *find_record(vtac_coreml *c, vtac_wire blob, size_t wanted)
{
    enum { FILE_NAME = 1, OFFSET = 2, RECORD = 64 };
    const uint64_t offset = (uint64_t)vtac_wire_int(blob, OFFSET, 0);
    uint32_t mark = 0;
    uint64_t place[2] = {0, 0}; /* bytes, and where they begin */
    if (!read_weights_file(c, vtac_coreml_message(blob, FILE_NAME))) {
        return NULL;
    }
    if (offset <= c->weights_size && c->weights_size - offset >= RECORD) {
        memcpy(&mark, c->weights + offset, sizeof mark);
        memcpy(place, c->weights + offset + 8, sizeof place);
    }
    if (mark != 0xDEADBEEF || place[0] < wanted || place[1] > c->weights_size ||
        c->weights_size - place[1] < place[0]) {
        vtac_make_fail(&c->net.maker, VTA_INVALID, "its weights have no record of %zu bytes at byte %llu",
                       wanted, (unsigned long long)offset);
        return NULL;
    }
    return c->weights + place[1];
}

/* Numbers of a field of the tensor's, one after another, into elements of another size. */
static int64_t read_numbers(vtac_wire list, const vtac_type *type, uint8_t *out, int64_t room)
{
    const size_t size = vtac_dtype_bytes(type->dtype);
    int64_t count = 0;
    vtac_wire_field f;
    while (vtac_wire_next(&list, &f)) {
        vtac_wire packed = f.bytes;
        uint64_t value = f.type == VTAC_WIRE_VARINT ? vtac_wire_number(&f) : 0;
        const size_t fixed = type->dtype == VTAC_F64 ? 8 : 4;
        const bool real = type->dtype == VTAC_F32 || type->dtype == VTAC_F64;
        while (f.type == VTAC_WIRE_BYTES || f.type == VTAC_WIRE_FOUR || f.type == VTAC_WIRE_EIGHT
                   ? real ? (size_t)(packed.end - packed.at) >= fixed : vtac_wire_packed(&packed, &value)
                   : f.type == VTAC_WIRE_VARINT) {
            if (count < room) {
                memcpy(out + (size_t)count * size, real ? packed.at : (const uint8_t *)&value, size);
            }
            count++;
            packed.at += real ? fixed : 0;
            if (f.type == VTAC_WIRE_VARINT) {
                break;
            }
        }
    }
    return count;
}

/* The numbers of a value in the message: floats, whole numbers, or raw bytes. */
static const void *read_immediate(vtac_coreml *c, vtac_wire tensor, const vtac_type *type)
{
    enum { FLOATS = 1, INTS = 2, BOOLS = 3, LONGS = 5, DOUBLES = 6, BYTES = 7 };
    vtac_import_builder *m = &c->net.maker;
    const int64_t count = vtac_type_elements(type);
    const size_t size = vtac_dtype_bytes(type->dtype);
    uint8_t *room = vtac_make_room(m, count, size);
    vtac_wire_field f;
    int64_t found = -1;
    if (room == NULL || !vtac_wire_next(&tensor, &f) || f.type != VTAC_WIRE_BYTES) {
        return count == 0 ? room : NULL;
    }
    if (f.number == BYTES) {
        const vtac_wire raw = vtac_coreml_message(f.bytes, 1);
        found = (raw.end - raw.at) / (int64_t)size;
        if (found == count && count > 0) {
            memcpy(room, raw.at, (size_t)count * size);
        }
    } else if (f.number == FLOATS || f.number == INTS || f.number == BOOLS || f.number == LONGS ||
               f.number == DOUBLES) {
        found = read_numbers(f.bytes, type, room, count);
    }
    if (found != count) {
        vtac_make_fail(m, VTA_INVALID, "%lld numbers for a tensor of %lld", (long long)found,
                       (long long)count);
        return NULL;
    }
    return room;
}

vtac_id vtac_coreml_value(vtac_coreml *c, vtac_wire value)
{
    vtac_import_builder *m = &c->net.maker;
    vtac_type type;
    vtac_wire blob;
    if (!read_type(vtac_coreml_message(value, VALUE_TYPE), &type) || type.dtype == VTAC_NO_DTYPE ||
        vtac_type_elements(&type) < 0) {
        vtac_make_fail(m, VTA_UNSUPPORTED,
                       "a constant of another type than numbers of 8 bits and more, or too large");
        return 0;
    }
    const void *bytes =
        vtac_wire_message(value, BLOB, &blob)
            ? find_record(c, blob, (size_t)vtac_type_elements(&type) * vtac_dtype_bytes(type.dtype))
            : read_immediate(c, vtac_coreml_message(vtac_coreml_message(value, IMMEDIATE), TENSOR), &type);
    if (bytes == NULL) {
        vtac_make_fail(m, VTA_INVALID, "a constant without its numbers");
        return 0;
    }
    return type.dtype == VTAC_F16 ? vtac_make_weights(m, &type, bytes) : vtac_make_constant(m, &type, bytes);
}

/* ---- arguments */

uint32_t vtac_coreml_arguments(vtac_coreml *c, const char *name, vtac_id *out, uint32_t room)
{
    enum { BINDING = 1, BOUND_NAME = 1, BOUND_VALUE = 2 };
    vtac_wire argument;
    vtac_wire binding;
    vtac_wire bound;
    uint32_t count = 0;
    if (!find_key(c->layer, OP_INPUTS, name, &argument)) {
        const bool has = find_key(c->layer, OP_ATTRIBUTES, name, &argument) && room > 0;
        out[0] = has ? vtac_coreml_value(c, argument) : 0;
        return has ? 1 : 0;
    }
    while (vtac_wire_each(&argument, BINDING, &binding)) {
        if (count == room) {
            vtac_make_fail(&c->net.maker, VTA_RANGE, "more than %u values of '%s'", room, name);
            return 0;
        }
        out[count++] = vtac_wire_message(binding, BOUND_VALUE, &bound)
                           ? vtac_coreml_value(c, bound)
                           : vtac_layered_get(&c->net, vtac_coreml_text(c, binding, BOUND_NAME));
    }
    return count;
}

vtac_id vtac_coreml_argument(vtac_coreml *c, const char *name, bool wanted)
{
    vtac_id id = 0;
    if (vtac_coreml_arguments(c, name, &id, 1) == 0 && wanted) {
        vtac_make_fail(&c->net.maker, VTA_INVALID, "it has no '%s'", name);
    }
    return id;
}

const vtac_tensor *vtac_coreml_known(vtac_coreml *c, const char *name)
{
    const vtac_id id = vtac_coreml_argument(c, name, false);
    const vtac_tensor *known = vtac_made_constant(&c->net.maker, id);
    if (id != 0 && known == NULL) {
        vtac_make_fail(&c->net.maker, VTA_UNSUPPORTED, "'%s' that the run computes", name);
    }
    return known;
}

double vtac_coreml_real(vtac_coreml *c, const char *name, double otherwise)
{
    const vtac_tensor *known = vtac_coreml_known(c, name);
    return known != NULL && vtac_type_elements(&known->type) == 1 ? vtac_tensor_float(known, 0) : otherwise;
}

int64_t vtac_coreml_int(vtac_coreml *c, const char *name, int64_t otherwise, int64_t min, int64_t max)
{
    const double value = vtac_coreml_real(c, name, (double)otherwise);
    if (!(value >= (double)min && value <= (double)max)) {
        vtac_make_fail(&c->net.maker, VTA_RANGE, "%s is %g, expected %lld to %lld", name, value,
                       (long long)min, (long long)max);
        return min;
    }
    return (int64_t)value;
}

uint32_t vtac_coreml_ints(vtac_coreml *c, const char *name, int64_t *out, uint32_t room)
{
    const vtac_tensor *known = vtac_coreml_known(c, name);
    const int64_t count = known == NULL ? 0 : vtac_type_elements(&known->type);
    if (count > (int64_t)room) {
        vtac_make_fail(&c->net.maker, VTA_RANGE, "%s has %lld numbers, up to %u are taken", name,
                       (long long)count, room);
        return 0;
    }
    for (int64_t i = 0; i < count; i++) {
        out[i] = (int64_t)vtac_tensor_float(known, i);
    }
    return (uint32_t)count;
}

/* ---- texts: they are no values of the graph, so a constant text is kept as its message */

/* The text of a Value message; NULL: it is none. */
static const char *text_of(vtac_coreml *c, vtac_wire value)
{
    enum { STRINGS = 4 };
    const vtac_wire tensor = vtac_coreml_message(vtac_coreml_message(value, IMMEDIATE), TENSOR);
    vtac_wire strings;
    return vtac_wire_message(tensor, STRINGS, &strings) ? vtac_coreml_text(c, strings, 1) : NULL;
}

const char *vtac_coreml_word(vtac_coreml *c, const char *name, const char *otherwise)
{
    vtac_wire argument;
    vtac_wire value;
    const char *found = NULL;
    if (!find_key(c->layer, OP_INPUTS, name, &argument)) {
        return otherwise;
    }
    const vtac_wire binding = vtac_coreml_message(argument, 1);
    if (vtac_wire_message(binding, 2, &value)) {
        found = text_of(c, value);
        return found == NULL ? otherwise : found;
    }
    const char *own = vtac_coreml_text(c, binding, 1);
    for (uint32_t i = 0; i < c->text_count && found == NULL; i++) {
        found = strcmp(c->texts[i].name, own) == 0 ? c->texts[i].text : NULL;
    }
    return found == NULL ? otherwise : found;
}

static void keep_text(vtac_coreml *c, const char *name, const char *text)
{
    if (c->text_count == c->text_room) {
        const uint32_t room = c->text_room == 0 ? 64 : 2 * c->text_room;
        vtac_coreml_named *all = vtac_make_room(&c->net.maker, room, sizeof *all);
        if (all == NULL) {
            return;
        }
        for (uint32_t i = 0; c->texts != NULL && i < c->text_count; i++) {
            all[i] = c->texts[i];
        }
        c->texts = all;
        c->text_room = room;
    }
    c->texts[c->text_count++] = (vtac_coreml_named){name, text};
}

void vtac_coreml_do_const(vtac_coreml *c, const char *how)
{
    vtac_wire value = {NULL, NULL};
    (void)how;
    if (!find_key(c->layer, OP_ATTRIBUTES, "val", &value)) {
        vtac_make_fail(&c->net.maker, VTA_INVALID, "a constant without 'val'");
        return;
    }
    const char *text = text_of(c, value);
    if (text != NULL) {
        keep_text(c, c->outputs[0], text);
        return;
    }
    vtac_layered_set_constant(&c->net, c->outputs[0], vtac_coreml_value(c, value));
}

/* ---- the program */

static vta_status import_op(vtac_coreml *c, vtac_wire op, uint32_t number)
{
    const program_kind *kind = kind_of(op);
    vtac_wire walked = op;
    vtac_wire output;
    c->layer = op;
    c->in_count = c->out_count = 0;
    while (c->out_count < COREML_MAX_ENDS && vtac_wire_each(&walked, OP_OUTPUTS, &output)) {
        c->outputs[c->out_count++] = vtac_coreml_text(c, output, 1);
    }
    const char *name = c->out_count > 0 ? c->outputs[0] : "";
    vtac_layered_at(&c->net, name, number);
    if (kind != NULL && c->out_count > 0) {
        kind->make(c, kind->how);
    } else {
        vtac_make_fail(&c->net.maker, VTA_INVALID, "an operation without an output");
    }
    return c->net.maker.status == VTA_OK ? VTA_OK
                                         : vta_context(c->net.maker.diag, "operation %u '%.80s' (%s)", number,
                                                       name, kind == NULL ? "" : kind->name);
}

static vta_status check_ops(vtac_coreml *c, vtac_wire block)
{
    enum { OPERATION = 3 };
    vtac_wire op;
    uint32_t count = 0;
    while (vtac_wire_each(&block, OPERATION, &op)) {
        if (++count <= COREML_MAX_LAYERS && kind_of(op) == NULL) {
            vtac_layered_miss(&c->net, vtac_coreml_text(c, op, OP_TYPE));
        }
    }
    return count > COREML_MAX_LAYERS
               ? vta_fail(c->net.maker.diag, VTA_RANGE, "it has more than %d operations", COREML_MAX_LAYERS)
               : vtac_layered_missing(&c->net, "operations");
}

static vta_status add_inputs(vtac_coreml *c, vtac_wire function)
{
    enum { INPUT = 1, NAME = 1, TYPE = 2 };
    vtac_wire input;
    while (vtac_wire_each(&function, INPUT, &input)) {
        vtac_type type;
        const char *name = vtac_coreml_text(c, input, NAME);
        if (!read_type(vtac_coreml_message(input, TYPE), &type) || type.dtype == VTAC_NO_DTYPE) {
            return vta_fail(c->net.maker.diag, VTA_UNSUPPORTED, "input '%.80s' is no tensor of numbers",
                            name);
        }
        type.dtype = type.dtype == VTAC_F16 ? VTAC_F32 : type.dtype;
        (void)vtac_layered_input(&c->net, name, &type);
        VTA_TRY(c->net.maker.status);
    }
    return VTA_OK;
}

vta_status vtac_coreml_program(vtac_coreml *c, vtac_wire program)
{
    enum { FUNCTIONS = 2, OPSET = 2, BLOCKS = 3, BLOCK_OUTPUT = 2, OPERATION = 3 };
    vtac_wire function;
    vtac_wire block = {NULL, NULL};
    vtac_wire part;
    uint32_t number = 0;
    if (!find_key(program, FUNCTIONS, "main", &function) ||
        !find_key(function, BLOCKS, vtac_coreml_text(c, function, OPSET), &block)) {
        return vta_fail(c->net.maker.diag, VTA_INVALID, "a program without a function 'main' and its block");
    }
    VTA_TRY(check_ops(c, block));
    VTA_TRY(add_inputs(c, function));
    for (vtac_wire walked = block; vtac_wire_each(&walked, OPERATION, &part);) {
        VTA_TRY(import_op(c, part, number++));
    }
    while (vtac_wire_each(&block, BLOCK_OUTPUT, &part)) {
        vtac_layered_output(&c->net, vtac_coreml_bytes_text(c, part));
    }
    return vtac_layered_outputs(&c->net, "a program without outputs");
}
