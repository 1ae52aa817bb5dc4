/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds of models that are known and not read, told apart by their contents. Five of them are protobuf
 * messages, which have no mark: their inner fields decide. What a function here takes for its kind must be
 * none of a kind that is read.
 */
#include "foreign.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protobuf.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "zip.h"

enum { MAX_BYTES = 0x7fffffff }; /* of a file */

static bool begins_with(const vtac_model_file *file, const void *mark, size_t size)
{
    return file->size >= size && memcmp(file->bytes, mark, size) == 0;
}

/* ---- protobuf */

static vtac_wire message_of(const vtac_model_file *file)
{
    return (vtac_wire){file->bytes, file->bytes + file->size};
}

/* Operators: inputs, outputs and, as a text in field 4, the type; a layer of Caffe has a number in field 5.
 */
bool vtac_recognize_caffe2(const vtac_model_file *file)
{
    enum { NAME = 1, OPERATOR = 2, LAST = 8, OUTPUT = 2, TYPE = 4, ARGUMENT = 5 };
    const vtac_wire message = message_of(file);
    vtac_wire op;
    vtac_wire_field argument;
    return vtac_wire_has_only(message, LAST) && vtac_wire_message(message, OPERATOR, &op) &&
           vtac_wire_has_text(op, OUTPUT) && vtac_wire_has_text(op, TYPE) &&
           (!vtac_wire_find(op, ARGUMENT, &argument) || argument.type == VTAC_WIRE_BYTES);
}

/* Layers: in field 100 with a name and a type as texts, or, of the first version, in field 2 with a name in
 * field 4 and a number for the type. */
bool vtac_recognize_caffemodel(const vtac_model_file *file)
{
    enum { OLD_LAYER = 2, LAYER = 100, NAME = 1, TYPE = 2, OLD_NAME = 4, OLD_TYPE = 5 };
    const vtac_wire message = message_of(file);
    vtac_wire layer;
    vtac_wire_field type;
    if (vtac_wire_message(message, LAYER, &layer)) {
        return vtac_wire_has_text(layer, NAME) && vtac_wire_has_text(layer, TYPE);
    }
    return vtac_wire_message(message, OLD_LAYER, &layer) && vtac_wire_has_text(layer, OLD_NAME) &&
           vtac_wire_find(layer, OLD_TYPE, &type) && type.type == VTAC_WIRE_VARINT;
}

/* ---- text */

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (isspace((unsigned char)*at) != 0 || *at == '#')) {
        const char *stop = *at == '#' ? memchr(at, '\n', (size_t)(end - at)) : at;
        at = stop == NULL ? end : stop + 1;
    }
    return at;
}

static bool is_word(const char *at, const char *end, const char *word)
{
    const size_t length = strlen(word);
    if ((size_t)(end - at) <= length || memcmp(at, word, length) != 0) {
        return false;
    }
    at = skip_blanks(at + length, end);
    return at < end && (*at == '{' || *at == ':');
}

/* A word of Caffe's text, then a colon or a brace; and a layer somewhere. */
bool vtac_recognize_caffe(const vtac_model_file *file)
{
    static const char *const words[] = {"name",       "input", "input_dim", "input_shape", "force_backward",
                                        "debug_info", "state", "layer",     "layers"};
    const char *end = (const char *)file->bytes + file->size;
    const char *at = skip_blanks((const char *)file->bytes, end);
    bool known = false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        known = known || is_word(at, end, words[i]);
    }
    for (; known && at < end; at++) {
        if (*at == 'l' && (is_word(at, end, "layer") || is_word(at, end, "layers"))) {
            return true;
        }
    }
    return false;
}

bool vtac_json_has(const vtac_model_file *file, const char *a, const char *b)
{
    const char *end = (const char *)file->bytes + file->size;
    const char *at = skip_blanks((const char *)file->bytes, end);
    if (at == end || *at != '{') {
        return false;
    }
    cJSON *json = cJSON_ParseWithLength(at, (size_t)(end - at));
    const bool found = cJSON_IsObject(json) && cJSON_HasObjectItem(json, a) && cJSON_HasObjectItem(json, b);
    cJSON_Delete(json);
    return found;
}

/* The version, a description, and a field from 200 on, which says what kind of model it is; of a
 * package, the list of its files. */
bool vtac_recognize_coreml(const vtac_model_file *file)
{
    enum { VERSION = 1, DESCRIPTION = 2, LAST_COMMON = 10, FIRST_KIND = 200, LAST_KIND = 3000 };
    vtac_wire message = message_of(file);
    vtac_wire_field field;
    vtac_wire description;
    bool has_kind = false;
    if (!vtac_wire_find(message, VERSION, &field) || field.type != VTAC_WIRE_VARINT ||
        !vtac_wire_message(message, DESCRIPTION, &description)) {
        return vtac_json_has(file, "fileFormatVersion", "itemInfoEntries");
    }
    while (vtac_wire_next(&message, &field)) {
        const bool is_kind = field.number >= FIRST_KIND && field.number <= LAST_KIND;
        if (field.number > LAST_COMMON && !is_kind) {
            return false;
        }
        has_kind = has_kind || (is_kind && field.type == VTAC_WIRE_BYTES);
    }
    const bool is_cut = message.at != message.end && field.type == VTAC_WIRE_BYTES;
    return has_kind || (is_cut && field.number >= FIRST_KIND && field.number <= LAST_KIND);
}

bool vtac_recognize_mxnet(const vtac_model_file *file)
{
    return vtac_json_has(file, "nodes", "heads");
}

/* ---- marks and archives */

bool vtac_recognize_mxnet_params(const vtac_model_file *file)
{
    return begins_with(file, "\x12\x01\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
}

static bool has_member(const vtac_model_file *file, const char *part)
{
    return begins_with(file, "PK\3\4", 4) && vtac_zip_names(file->bytes, file->size, part);
}

/* An archive of pickled objects or, before PyTorch 1.6, a pickle that begins with a number of its own. */
static bool is_torch_save(const vtac_model_file *file)
{
    const bool saved = has_member(file, "/data.pkl") && !has_member(file, "/code/__torch__") &&
                       !has_member(file, "serialized_exported_program.json") &&
                       !has_member(file, "/archive_format");
    return saved || begins_with(file, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14);
}

/* The length of the header, then the header, which is JSON. */
static bool is_safetensors(const vtac_model_file *file)
{
    uint64_t length = 0;
    for (unsigned i = 0; i < 8 && i < file->size; i++) {
        length |= (uint64_t)file->bytes[i] << (8 * i);
    }
    return file->size > 10 && length >= 2 && length <= file->size - 8 &&
           memcmp(file->bytes + 8, "{\"", 2) == 0;
}

/* ---- the table */

typedef struct foreign_kind {
    const char *name, *advice, *member;
    bool (*is_kind)(const vtac_model_file *file);
} foreign_kind;

static const foreign_kind kinds[] = {
#define VTAC_FOREIGN(name, advice, member, suffix) {name, advice, member, is_##suffix},
#include "vtac/foreign.def"
};

static vta_status refuse(const char *path, const foreign_kind *kind, vta_diag *diag)
{
    return vta_fail(diag, VTA_UNSUPPORTED, "%s: %s is not read; %s", path, kind->name, kind->advice);
}

vta_status vtac_refuse_foreign_file(const vtac_model_file *file, vta_diag *diag)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (file->size > 0 && kinds[i].is_kind(file)) {
            return refuse(file->path, &kinds[i], diag);
        }
    }
    return VTA_OK;
}

/* True where a folder has the file by which it is known, of that kind or empty. */
static bool has_file(const char *path, const foreign_kind *kind)
{
    char inside[4200];
    vtac_model_file file = {.path = inside};
    uint8_t *bytes = NULL;
    vta_diag unused = {0};
    (void)snprintf(inside, sizeof inside, "%.4096s/%s", path, kind->member);
    if (kind->member[0] == '\0' || vta_file_read(inside, MAX_BYTES, &bytes, &file.size, &unused) != VTA_OK) {
        return false;
    }
    file.bytes = bytes;
    const bool is_it = file.size == 0 || kind->is_kind(&file);
    free(bytes);
    return is_it;
}

vta_status vtac_refuse_foreign_folder(const char *path, vta_diag *diag)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (has_file(path, &kinds[i])) {
            return refuse(path, &kinds[i], diag);
        }
    }
    return VTA_OK;
}
