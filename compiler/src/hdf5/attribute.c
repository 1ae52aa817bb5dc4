/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes that are texts: of fixed length, in the attribute itself, or of any length, in heaps that the
 * whole file shares.
 */
#include <string.h>

#include "reader.h"
#include "vta/fail.h"

enum { MAX_TEXTS = 1 << 16, MAX_TEXT = 1 << 28 };

typedef struct attribute {
    vtac_h5_piece type, space, data;
} attribute;

static vta_status fail_damaged(vta_diag *diag, const char *what)
{
    return vta_fail(diag, VTA_SYNTAX, "'%s' cannot be read from the HDF5 file", what);
}

bool vtac_h5_space(const vtac_h5_file *file, vtac_h5_piece body, uint32_t *rank, uint64_t *dims,
                   uint64_t *count)
{
    enum { EMPTY = 2 };
    const uint64_t edition = vtac_h5_get(&body, 1);
    *rank = (uint32_t)vtac_h5_get(&body, 1);
    vtac_h5_skip(&body, 1);
    const uint64_t kind = edition == 2 ? vtac_h5_get(&body, 1) : 1;
    vtac_h5_skip(&body, edition == 1 ? 5 : 0);
    *count = edition == 2 && kind == EMPTY ? 0 : 1;
    for (uint32_t i = 0; i < *rank && !body.bad; i++) {
        const uint64_t dim = vtac_h5_get_length(file, &body);
        if (dim != 0 && *count > UINT64_MAX / dim) {
            return false;
        }
        *count *= dim;
        if (*rank <= VTAC_MAX_RANK) {
            dims[i] = dim;
        }
    }
    return !body.bad && (edition == 1 || edition == 2);
}

/* ---- finding one */

typedef struct attribute_search {
    const char *name;
    attribute found;
    bool is_there, bad;
} attribute_search;

static vtac_h5_piece take_padded(vtac_h5_piece *p, uint64_t size, bool padded)
{
    const vtac_h5_piece taken = vtac_h5_take(p, size);
    const uint64_t rest = (8 - size % 8) % 8;
    vtac_h5_skip(p, padded ? rest : 0);
    return taken;
}

static bool read_attribute(attribute_search *s, vtac_h5_piece p)
{
    const uint64_t edition = vtac_h5_get(&p, 1);
    const uint64_t flags = vtac_h5_get(&p, 1);
    const uint64_t name_bytes = vtac_h5_get(&p, 2);
    const uint64_t type_bytes = vtac_h5_get(&p, 2);
    const uint64_t space_bytes = vtac_h5_get(&p, 2);
    vtac_h5_skip(&p, edition == 3 ? 1 : 0);
    const vtac_h5_piece name = take_padded(&p, name_bytes, edition == 1);
    const size_t length = strlen(s->name);
    if (name.bad || edition < 1 || edition > 3) {
        s->bad = true;
        return false;
    }
    if (name_bytes != length + 1 || memcmp(name.at, s->name, length + 1) != 0) {
        return false;
    }
    s->found.type = take_padded(&p, type_bytes, edition == 1);
    s->found.space = take_padded(&p, space_bytes, edition == 1);
    s->found.data = (vtac_h5_piece){p.at, p.end, p.bad};
    s->is_there = true;
    s->bad = p.bad || (edition > 1 && flags != 0); /* a type or space that stands elsewhere */
    return true;
}

static bool visit_attribute(void *context, vtac_h5_piece object)
{
    return read_attribute(context, object);
}

static void search_dense(vtac_h5_file *file, attribute_search *s, vtac_h5_piece p)
{
    enum { HAS_ORDER = 1 };
    vtac_h5_skip(&p, 1);
    const uint64_t flags = vtac_h5_get(&p, 1);
    vtac_h5_skip(&p, (flags & HAS_ORDER) != 0 ? 2 : 0);
    const uint64_t heap = vtac_h5_get_address(file, &p);
    const uint64_t tree = vtac_h5_get_address(file, &p);
    if (!p.bad && vtac_h5_leads(file, heap) && vtac_h5_leads(file, tree)) {
        s->bad = !vtac_h5_dense(file, heap, tree, 0, visit_attribute, s) || s->bad;
    }
}

static void search_header(vtac_h5_file *file, uint64_t header, attribute_search *s)
{
    vtac_h5_walk walk;
    vtac_h5_message message;
    vtac_h5_walk_header(file, header, &walk);
    while (!s->is_there && vtac_h5_next(&walk, &message)) {
        if (message.kind == VTAC_H5_ATTRIBUTE && !message.shared) {
            (void)read_attribute(s, message.body);
        } else if (message.kind == VTAC_H5_ATTRIBUTES) {
            search_dense(file, s, message.body);
        }
    }
    s->bad = s->bad || walk.bad;
}

/* ---- texts */

/* The place of the last object that was found in a heap of texts: the next one often follows it. */
typedef struct heap_place {
    uint64_t heap, index;
    vtac_h5_piece rest; /* behind it */
} heap_place;

static vtac_h5_piece heap_object(vtac_h5_file *file, uint64_t heap, uint64_t index, heap_place *last)
{
    vtac_h5_piece p = last->rest;
    if (last->heap != heap || index <= last->index) {
        vtac_h5_piece head = vtac_h5_from(file, heap);
        const bool marked = vtac_h5_is(&head, "GCOL") && vtac_h5_get(&head, 1) == 1;
        vtac_h5_skip(&head, 3);
        const uint64_t size = vtac_h5_get_length(file, &head);
        p = vtac_h5_at(file, heap, size);
        vtac_h5_skip(&p, 8 + file->length_bytes);
        p.bad = p.bad || !marked;
    }
    while (!p.bad && p.at != p.end && vtac_h5_step(file, 1)) {
        const uint64_t number = vtac_h5_get(&p, 2);
        vtac_h5_skip(&p, 6);
        const uint64_t size = vtac_h5_get_length(file, &p);
        if (number == 0) { /* the rest is free */
            break;
        }
        const vtac_h5_piece object = vtac_h5_take(&p, size);
        const uint64_t pad = (8 - size % 8) % 8, left = (uint64_t)(p.end - p.at);
        vtac_h5_skip(&p, pad < left ? pad : left);
        if (number == index) {
            *last = (heap_place){heap, index, p};
            return object;
        }
    }
    return (vtac_h5_piece){file->bytes, file->bytes, true};
}

/* A text of any length: its length, and which object of which heap has it. */
static vtac_h5_piece loose_text(vtac_h5_file *file, vtac_h5_piece *data, heap_place *last)
{
    const uint64_t length = vtac_h5_get(data, 4);
    const uint64_t heap = vtac_h5_get_address(file, data);
    const uint64_t index = vtac_h5_get(data, 4);
    if (data->bad || length == 0) {
        return (vtac_h5_piece){data->at, data->at, data->bad};
    }
    vtac_h5_piece object = heap_object(file, heap, index, last);
    return object.bad ? object : vtac_h5_take(&object, length);
}

static vta_status read_texts(vtac_h5_file *file, attribute *a, const char *name, vta_arena *arena,
                             const char **texts, size_t count, vta_diag *diag)
{
    enum { FIXED = 3, LOOSE = 9, KIND_TEXT = 1 };
    heap_place last = {.heap = UINT64_MAX};
    uint64_t sum = 0;
    const uint64_t kind = vtac_h5_get(&a->type, 1) & 15;
    const uint64_t what = vtac_h5_get(&a->type, 1) & 15;
    vtac_h5_skip(&a->type, 2);
    const uint64_t size = vtac_h5_get(&a->type, 4);
    if (a->type.bad || !(kind == FIXED || (kind == LOOSE && what == KIND_TEXT))) {
        return fail_damaged(diag, name);
    }
    for (size_t i = 0; i < count; i++) {
        const vtac_h5_piece one =
            kind == LOOSE ? loose_text(file, &a->data, &last) : vtac_h5_take(&a->data, size);
        const size_t room = (size_t)(one.end - one.at);
        sum += room;
        if (one.bad || sum > MAX_TEXT) {
            return fail_damaged(diag, name);
        }
        texts[i] = vta_arena_string(arena, (const char *)one.at, strnlen((const char *)one.at, room));
        VTA_TRY(vta_allocated(texts[i] != NULL, diag));
    }
    return VTA_OK;
}

vta_status vtac_h5_texts(vtac_h5_file *file, uint64_t header, const char *name, vta_arena *arena,
                         const char *const **out, size_t *count, vta_diag *diag)
{
    attribute_search s = {.name = name};
    uint64_t dims[VTAC_MAX_RANK], points = 0;
    uint32_t rank;
    *out = NULL;
    *count = 0;
    search_header(file, header, &s);
    if (s.bad) {
        return fail_damaged(diag, name);
    }
    if (!s.is_there) {
        return VTA_OK;
    }
    if (!vtac_h5_space(file, s.found.space, &rank, dims, &points) || points > MAX_TEXTS) {
        return fail_damaged(diag, name);
    }
    const char **texts = vta_arena_array(arena, (size_t)points, sizeof *texts);
    VTA_TRY(vta_allocated(texts != NULL, diag));
    VTA_TRY(points == 0 ? VTA_OK : read_texts(file, &s.found, name, arena, texts, (size_t)points, diag));
    *out = texts;
    *count = (size_t)points;
    return VTA_OK;
}
