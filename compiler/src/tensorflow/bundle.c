/* SPDX-License-Identifier: Apache-2.0
 *
 * The variables of a SavedModel: an index, which is a table of LevelDB (blocks of sorted keys that share
 * their beginnings, packed by Snappy or not), and files of data, little endian. The index has a name for each
 * variable that TensorFlow 2 makes of the path through its objects; which variable that is says a graph of
 * objects, which is one of the texts in the data.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import.h"
#include "vta/fail.h"
#include "vta/inside.h"

enum { MAX_INDEX = 1 << 28, MAX_BLOCK = 1 << 26, MAX_KEY = 4096, MAX_ENTRIES = 1 << 20, FOOTER = 48 };

typedef struct bundle_entry {
    const char *key;
    vtac_wire value; /* BundleEntryProto */
    struct bundle_entry *next;
} bundle_entry;

/* A pair that the graph of objects gives: a variable's name, its key. */
typedef struct bundle_name {
    const char *name, *key;
    struct bundle_name *next;
} bundle_name;

struct vtac_tf_bundle {
    const char *folder;
    vta_arena *arena;
    bundle_entry *entries;
    bundle_name *names;
    uint32_t shards, count;
    uint64_t unpacked; /* bytes of blocks */
};

static vta_status damaged(const char *what, vta_diag *diag)
{
    return vta_fail(diag, VTA_SYNTAX, "variables/variables.index is damaged: %s", what);
}

/* ---- Snappy */

static bool copy_back(uint8_t *out, size_t *used, size_t size, size_t offset, size_t length)
{
    if (offset == 0 || offset > *used || length > size - *used) {
        return false;
    }
    for (; length > 0; length--, (*used)++) {
        out[*used] = out[*used - offset];
    }
    return true;
}

static size_t little_endian(const uint8_t *at, size_t bytes)
{
    size_t value = 0;
    for (size_t i = 0; i < bytes; i++) {
        value |= (size_t)at[i] << (8 * i);
    }
    return value;
}

/* Bytes as they are; a length above 59 says how many bytes of a length follow. */
static bool take_literal(vtac_wire *in, uint8_t *out, size_t *used, size_t size, unsigned tag)
{
    size_t length = tag >> 2;
    if (length >= 60) {
        const size_t bytes = length - 59;
        if ((size_t)(in->end - in->at) < bytes) {
            return false;
        }
        length = little_endian(in->at, bytes);
        in->at += bytes;
    }
    length++;
    if (length > (size_t)(in->end - in->at) || length > size - *used) {
        return false;
    }
    memcpy(out + *used, in->at, length);
    *used += length;
    in->at += length;
    return true;
}

static bool take_piece(vtac_wire *in, uint8_t *out, size_t *used, size_t size)
{
    static const size_t bytes_of[] = {0, 1, 2, 4};
    const unsigned tag = *in->at++;
    const unsigned kind = tag & 3U;
    if (kind == 0) {
        return take_literal(in, out, used, size, tag);
    }
    if ((size_t)(in->end - in->at) < bytes_of[kind]) {
        return false;
    }
    const size_t near = kind == 1 ? (size_t)(tag >> 5) << 8 : 0;
    const size_t offset = near | little_endian(in->at, bytes_of[kind]);
    in->at += bytes_of[kind];
    return copy_back(out, used, size, offset, kind == 1 ? (tag >> 2 & 7U) + 4 : (tag >> 2) + 1);
}

/* A block may be named often: all of them together have a limit. */
static vta_status unpack_snappy(struct vtac_tf_bundle *b, vtac_wire in, vtac_wire *out, vta_diag *diag)
{
    uint64_t size;
    uint8_t *room;
    size_t used = 0;
    if (!vtac_wire_packed(&in, &size) || size > MAX_BLOCK) {
        return damaged("a block has no length, or is too long", diag);
    }
    b->unpacked += size;
    if (b->unpacked > MAX_INDEX) {
        return damaged("its blocks are too long together", diag);
    }
    VTA_TRY(vtac_tf_room(b->arena, (size_t)size, 1, &room, diag));
    while (in.at < in.end) {
        if (!take_piece(&in, room, &used, (size_t)size)) {
            return damaged("a block cannot be unpacked", diag);
        }
    }
    *out = (vtac_wire){room, room + used};
    return used == size ? VTA_OK : damaged("a block is shorter than it says", diag);
}

/* ---- the table */

/* A handle is the place and size of a block; behind the block are its kind and a checksum. */
static vta_status read_block(struct vtac_tf_bundle *b, vtac_wire file, vtac_wire handle, vtac_wire *out,
                             vta_diag *diag)
{
    enum { TRAILER = 5, PLAIN = 0, SNAPPY = 1 };
    const size_t whole = (size_t)(file.end - file.at);
    uint64_t at;
    uint64_t size;
    if (!vtac_wire_packed(&handle, &at) || !vtac_wire_packed(&handle, &size) || at > whole ||
        size > whole - at || whole - at - size < TRAILER) {
        return damaged("a block lies outside of it", diag);
    }
    *out = (vtac_wire){file.at + at, file.at + at + size};
    const unsigned kind = *out->end;
    if (kind == SNAPPY) {
        return unpack_snappy(b, *out, out, diag);
    }
    return kind == PLAIN ? VTA_OK : damaged("a block is packed in a way that is not known", diag);
}

typedef vta_status entry_fn(struct vtac_tf_bundle *b, vtac_wire file, const char *key, vtac_wire value,
                            vta_diag *diag);

/* The next entry of a block: how much of the last key it keeps, what comes behind, and the value. */
static bool next_entry(vtac_wire *block, char key[MAX_KEY], size_t *length, vtac_wire *value)
{
    uint64_t shared;
    uint64_t own;
    uint64_t size;
    if (!vtac_wire_packed(block, &shared) || !vtac_wire_packed(block, &own) ||
        !vtac_wire_packed(block, &size)) {
        return false;
    }
    const uint64_t left = (uint64_t)(block->end - block->at);
    if (shared > *length || own > left || size > left - own || shared + own >= MAX_KEY) {
        return false;
    }
    memcpy(key + shared, block->at, (size_t)own);
    *length = (size_t)(shared + own);
    key[*length] = '\0';
    *value = (vtac_wire){block->at + own, block->at + own + size};
    block->at = value->end;
    return true;
}

static vta_status each_entry(struct vtac_tf_bundle *b, vtac_wire file, vtac_wire block, entry_fn *take,
                             vta_diag *diag)
{
    char key[MAX_KEY];
    size_t length = 0;
    vtac_wire value;
    const size_t size = (size_t)(block.end - block.at);
    const size_t restarts = size < 4 ? 0 : little_endian(block.end - 4, 4);
    if (size < 4 || restarts > (size - 4) / 4) {
        return damaged("a block is too short", diag);
    }
    block.end -= 4 + 4 * restarts;
    while (block.at < block.end) {
        if (!next_entry(&block, key, &length, &value)) {
            return damaged("an entry is cut off", diag);
        }
        VTA_TRY(take(b, file, key, value, diag));
    }
    return VTA_OK;
}

static vta_status take_entry(struct vtac_tf_bundle *b, vtac_wire file, const char *key, vtac_wire value,
                             vta_diag *diag)
{
    enum { SHARDS = 1, ENDIAN = 2 };
    bundle_entry *entry;
    (void)file;
    if (key[0] == '\0') { /* the header */
        b->shards = (uint32_t)vtac_wire_int(value, SHARDS, 0);
        return vtac_wire_int(value, ENDIAN, 0) == 0
                   ? VTA_OK
                   : vta_fail(diag, VTA_UNSUPPORTED, "its variables are big-endian");
    }
    if (++b->count > MAX_ENTRIES) {
        return damaged("it has too many entries", diag);
    }
    VTA_TRY(vtac_tf_room(b->arena, 1, sizeof *entry, &entry, diag));
    *entry = (bundle_entry){.value = value, .next = b->entries};
    VTA_TRY(vtac_tf_copy(b->arena, key, strlen(key), &entry->key, diag));
    b->entries = entry;
    return VTA_OK;
}

static vta_status take_block(struct vtac_tf_bundle *b, vtac_wire file, const char *key, vtac_wire value,
                             vta_diag *diag)
{
    vtac_wire block;
    (void)key;
    VTA_TRY(read_block(b, file, value, &block, diag));
    return each_entry(b, file, block, take_entry, diag);
}

static vta_status read_table(struct vtac_tf_bundle *b, vtac_wire file, vta_diag *diag)
{
    static const uint8_t magic[] = {0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb};
    vtac_wire index;
    uint64_t unused;
    if (file.end - file.at < FOOTER || memcmp(file.end - sizeof magic, magic, sizeof magic) != 0) {
        return damaged("its end is not that of a table", diag);
    }
    vtac_wire footer = {file.end - FOOTER, file.end - sizeof magic};
    for (int i = 0; i < 2; i++) { /* place and size of a block that says nothing */
        if (!vtac_wire_packed(&footer, &unused)) {
            return damaged("its end is not that of a table", diag);
        }
    }
    VTA_TRY(read_block(b, file, footer, &index, diag));
    return each_entry(b, file, index, take_block, diag);
}

/* ---- contents */

static const bundle_entry *find_entry(const struct vtac_tf_bundle *b, const char *key)
{
    for (const bundle_entry *e = b->entries; e != NULL; e = e->next) {
        if (strcmp(e->key, key) == 0) {
            return e;
        }
    }
    return NULL;
}

enum { E_DTYPE = 1, E_SHAPE, E_SHARD, E_OFFSET, E_SIZE, E_SLICES = 7 }; /* fields of BundleEntryProto */

/* The bytes of an entry, in an open file. */
static vta_status read_part(const struct vtac_tf_bundle *b, const bundle_entry *e, int file, vtac_wire *out,
                            vta_diag *diag)
{
    const uint64_t offset = (uint64_t)vtac_wire_int(e->value, E_OFFSET, 0);
    const uint64_t size = (uint64_t)vtac_wire_int(e->value, E_SIZE, 0);
    const off_t end = lseek(file, 0, SEEK_END);
    uint8_t *room;
    size_t got = 0;
    if (end < 0 || offset > (uint64_t)end || size > (uint64_t)end - offset || size > INT32_MAX) {
        return vta_fail(diag, VTA_INVALID,
                        "a file of variables has %lld bytes, and variable '%.100s' is %llu from byte %llu on",
                        (long long)end, e->key, (unsigned long long)size, (unsigned long long)offset);
    }
    VTA_TRY(vtac_tf_room(b->arena, (size_t)size, 1, &room, diag));
    VTA_TRY(vta_inside_read(file, offset, room, (size_t)size, &got, diag));
    *out = (vtac_wire){room, room + got};
    return VTA_OK;
}

static vta_status read_bytes(const struct vtac_tf_bundle *b, const bundle_entry *e, vtac_wire *out,
                             vta_diag *diag)
{
    char name[64];
    vtac_wire slices;
    int file;
    if (vtac_wire_message(e->value, E_SLICES, &slices)) {
        return vta_fail(diag, VTA_UNSUPPORTED, "variable '%.100s' is in slices", e->key);
    }
    (void)snprintf(name, sizeof name, "variables/variables.data-%05u-of-%05u",
                   (unsigned)vtac_wire_int(e->value, E_SHARD, 0), b->shards);
    VTA_TRY(vta_inside_open(b->folder, name, "its variables", &file, diag));
    const vta_status status = read_part(b, e, file, out, diag);
    (void)close(file);
    return status;
}

/* Nodes, each with attributes: a variable's full name, and the key of its contents. */
static vta_status read_objects(struct vtac_tf_bundle *b, vtac_wire graph, vta_diag *diag)
{
    enum { NODES = 1, ATTRIBUTES = 2, FULL_NAME = 2, KEY = 3 };
    vtac_wire_field node;
    vtac_wire_field attr;
    while (vtac_wire_next(&graph, &node)) {
        while (node.number == NODES && vtac_wire_next(&node.bytes, &attr)) {
            vtac_wire name;
            vtac_wire key;
            bundle_name *entry;
            if (attr.number != ATTRIBUTES || attr.type != VTAC_WIRE_BYTES ||
                !vtac_wire_message(attr.bytes, FULL_NAME, &name) ||
                !vtac_wire_message(attr.bytes, KEY, &key)) {
                continue;
            }
            VTA_TRY(vtac_tf_room(b->arena, 1, sizeof *entry, &entry, diag));
            VTA_TRY(vtac_tf_copy(b->arena, name.at, (size_t)(name.end - name.at), &entry->name, diag));
            VTA_TRY(vtac_tf_copy(b->arena, key.at, (size_t)(key.end - key.at), &entry->key, diag));
            entry->next = b->names;
            b->names = entry;
        }
    }
    return VTA_OK;
}

/* The graph of objects is a text: a length, a checksum of four bytes, then the text. */
static vta_status read_object_graph(struct vtac_tf_bundle *b, vta_diag *diag)
{
    enum { CHECKSUM = 4 };
    const bundle_entry *e = find_entry(b, "_CHECKPOINTABLE_OBJECT_GRAPH");
    vtac_wire text;
    uint64_t length;
    if (e == NULL) {
        return VTA_OK; /* of TensorFlow 1 */
    }
    VTA_TRY(read_bytes(b, e, &text, diag));
    if (!vtac_wire_packed(&text, &length) || (uint64_t)(text.end - text.at) != length + CHECKSUM) {
        return vta_fail(diag, VTA_SYNTAX, "the graph of objects in its variables is damaged");
    }
    text.at += CHECKSUM;
    return read_objects(b, text, diag);
}

static vta_status take_index(struct vtac_tf_bundle *b, const uint8_t *bytes, size_t size, vta_diag *diag)
{
    uint8_t *copy;
    VTA_TRY(vtac_tf_room(b->arena, size, 1, &copy, diag));
    memcpy(copy, bytes, size);
    VTA_TRY(read_table(b, (vtac_wire){copy, copy + size}, diag));
    return read_object_graph(b, diag);
}

vta_status vtac_tf_bundle_open(const char *folder, vta_arena *arena, const struct vtac_tf_bundle **out,
                               vta_diag *diag)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    struct vtac_tf_bundle *b;
    VTA_TRY(vtac_tf_room(arena, 1, sizeof *b, &b, diag));
    *b = (struct vtac_tf_bundle){.folder = folder, .arena = arena};
    VTA_TRY(vta_inside_whole(folder, "variables/variables.index", "its variables", MAX_INDEX, &bytes, &size,
                             diag));
    const vta_status status = take_index(b, bytes, size, diag);
    free(bytes);
    *out = status == VTA_OK ? b : NULL;
    return status;
}

/* The entry of a variable: by the graph of objects, by its name, by its name as a path. */
static const bundle_entry *entry_of(const struct vtac_tf_bundle *b, const char *name)
{
    char path[MAX_KEY];
    for (const bundle_name *n = b->names; n != NULL; n = n->next) {
        if (strcmp(n->name, name) == 0) {
            return find_entry(b, n->key);
        }
    }
    const bundle_entry *e = find_entry(b, name);
    (void)snprintf(path, sizeof path, "%.2048s/.ATTRIBUTES/VARIABLE_VALUE", name);
    return e != NULL ? e : find_entry(b, path);
}

vta_status vtac_tf_bundle_read(const struct vtac_tf_bundle *bundle, const char *name, vta_arena *arena,
                               vtac_tensor *out, vta_diag *diag)
{
    const bundle_entry *e = entry_of(bundle, name);
    vtac_tf_shape shape;
    vtac_wire message;
    vtac_wire bytes;
    (void)arena;
    if (e == NULL) {
        return vta_fail(diag, VTA_INVALID, "variable '%.100s' is not among the %u of variables.index", name,
                        bundle->count);
    }
    (void)vtac_wire_message(e->value, E_SHAPE, &message);
    VTA_TRY(vtac_tf_read_shape(message, &shape, diag));
    *out = (vtac_tensor){
        .type = {.dtype = vtac_tf_dtype(vtac_wire_int(e->value, E_DTYPE, 0)), .rank = shape.rank}};
    if (out->type.dtype == VTAC_NO_DTYPE || shape.rank == TF_OPEN_RANK) {
        return vta_fail(diag, VTA_UNSUPPORTED, "variable '%.100s' holds no numbers", name);
    }
    memcpy(out->type.dim, shape.dim, sizeof shape.dim);
    VTA_TRY(read_bytes(bundle, e, &bytes, diag));
    out->data = bytes.at;
    out->bytes = (size_t)(bytes.end - bytes.at);
    const int64_t elements = vtac_type_elements(&out->type);
    if (elements < 0 || (size_t)elements * vtac_dtype_bytes(out->type.dtype) != out->bytes) {
        return vta_fail(diag, VTA_INVALID, "variable '%.100s' has %zu bytes, its shape %lld elements", name,
                        out->bytes, (long long)elements);
    }
    return VTA_OK;
}
