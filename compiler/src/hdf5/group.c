/* SPDX-License-Identifier: Apache-2.0
 *
 * Links of groups: entries of a table of symbols (a B-tree of the first kind, its names in a heap), messages
 * of the header, or objects of dense storage.
 */
#include <string.h>

#include "reader.h"

enum { MAX_LEVELS = 16 };

/* The name that is looked for, and its link once it is found. */
typedef struct link_search {
    vtac_h5_file *file;
    const char *name;
    size_t length;
    vtac_h5_found found;
    uint64_t header;
    vtac_h5_piece names; /* of a table of symbols */
} link_search;

/* ---- a table of symbols */

static bool open_names(link_search *s, uint64_t heap)
{
    vtac_h5_piece p = vtac_h5_from(s->file, heap);
    const bool marked = vtac_h5_is(&p, "HEAP");
    vtac_h5_skip(&p, 4);
    const uint64_t size = vtac_h5_get_length(s->file, &p);
    (void)vtac_h5_get_length(s->file, &p); /* free space */
    const uint64_t at = vtac_h5_get_address(s->file, &p);
    s->names = vtac_h5_at(s->file, at, size);
    return marked && !p.bad && !s->names.bad;
}

static bool is_name(const link_search *s, uint64_t at)
{
    const uint64_t room = (uint64_t)(s->names.end - s->names.at);
    return at < room && s->length < room - at && memcmp(s->names.at + at, s->name, s->length) == 0 &&
           s->names.at[at + s->length] == '\0';
}

/* The entries of a leaf of the tree; false: they cannot be read. */
static bool search_symbols(link_search *s, uint64_t address)
{
    enum { SOFT = 2, CACHED = 16 };
    vtac_h5_piece p = vtac_h5_from(s->file, address);
    const bool marked = vtac_h5_is(&p, "SNOD");
    vtac_h5_skip(&p, 2);
    const uint64_t count = vtac_h5_get(&p, 2);
    for (uint64_t i = 0; marked && i < count && s->found == VTAC_H5_NONE; i++) {
        const uint64_t name = vtac_h5_get_address(s->file, &p);
        const uint64_t header = vtac_h5_get_address(s->file, &p);
        const uint64_t kind = vtac_h5_get(&p, 4);
        vtac_h5_skip(&p, 4 + CACHED);
        if (p.bad || !vtac_h5_step(s->file, 1)) {
            return false;
        }
        if (is_name(s, name)) {
            s->found = kind == SOFT ? VTAC_H5_ELSEWHERE : VTAC_H5_HERE;
            s->header = header;
        }
    }
    return marked && !p.bad;
}

/* NOLINTNEXTLINE(misc-no-recursion): a level less each time */
static bool search_tree(link_search *s, uint64_t address, uint32_t levels)
{
    vtac_h5_piece p = vtac_h5_from(s->file, address);
    const bool marked = vtac_h5_is(&p, "TREE") && vtac_h5_get(&p, 1) == 0;
    const uint64_t level = vtac_h5_get(&p, 1);
    const uint64_t count = vtac_h5_get(&p, 2);
    vtac_h5_skip(&p, 2 * (uint64_t)s->file->offset_bytes);
    bool good = marked && level < levels;
    for (uint64_t i = 0; good && i < count && s->found == VTAC_H5_NONE; i++) {
        (void)vtac_h5_get_length(s->file, &p); /* a name between the children */
        const uint64_t child = vtac_h5_get_address(s->file, &p);
        good = !p.bad && vtac_h5_step(s->file, 1) &&
               (level == 0 ? search_symbols(s, child) : search_tree(s, child, (uint32_t)level));
    }
    return good;
}

/* ---- messages */

/* A link's own message. */
static bool read_link(link_search *s, vtac_h5_piece p)
{
    enum { HAS_KIND = 8, HAS_ORDER = 4, HAS_CHARACTERS = 16, HARD = 0 };
    const bool known = vtac_h5_get(&p, 1) == 1;
    const uint64_t flags = vtac_h5_get(&p, 1);
    const uint64_t kind = (flags & HAS_KIND) != 0 ? vtac_h5_get(&p, 1) : HARD;
    vtac_h5_skip(&p, ((flags & HAS_ORDER) != 0 ? 8 : 0) + ((flags & HAS_CHARACTERS) != 0 ? 1 : 0));
    const uint64_t length = vtac_h5_get(&p, 1U << (flags & 3));
    const vtac_h5_piece name = vtac_h5_take(&p, length);
    if (!known || p.bad || length != s->length || memcmp(name.at, s->name, s->length) != 0) {
        return false;
    }
    const uint64_t header = kind == HARD ? vtac_h5_get_address(s->file, &p) : 0;
    s->found = kind != HARD ? VTAC_H5_ELSEWHERE : p.bad ? VTAC_H5_NONE : VTAC_H5_HERE;
    s->header = header;
    return s->found != VTAC_H5_NONE;
}

static bool visit_link(void *context, vtac_h5_piece object)
{
    return read_link(context, object);
}

static void search_dense(link_search *s, vtac_h5_piece p)
{
    enum { HAS_ORDER = 1, ID_AT = 4 };
    vtac_h5_skip(&p, 1);
    const uint64_t flags = vtac_h5_get(&p, 1);
    vtac_h5_skip(&p, (flags & HAS_ORDER) != 0 ? 8 : 0);
    const uint64_t heap = vtac_h5_get_address(s->file, &p);
    const uint64_t tree = vtac_h5_get_address(s->file, &p);
    if (!p.bad && vtac_h5_leads(s->file, heap) && vtac_h5_leads(s->file, tree)) {
        (void)vtac_h5_dense(s->file, heap, tree, ID_AT, visit_link, s);
    }
}

static void search_group(link_search *s, uint64_t group)
{
    vtac_h5_walk walk;
    vtac_h5_message message;
    vtac_h5_walk_header(s->file, group, &walk);
    while (s->found == VTAC_H5_NONE && vtac_h5_next(&walk, &message)) {
        if (message.kind == VTAC_H5_LINK) {
            (void)read_link(s, message.body);
        } else if (message.kind == VTAC_H5_LINKS) {
            search_dense(s, message.body);
        } else if (message.kind == VTAC_H5_SYMBOLS) {
            const uint64_t tree = vtac_h5_get_address(s->file, &message.body);
            const uint64_t heap = vtac_h5_get_address(s->file, &message.body);
            if (!message.body.bad && open_names(s, heap)) {
                (void)search_tree(s, tree, MAX_LEVELS);
            }
        }
    }
}

vtac_h5_found vtac_h5_find(vtac_h5_file *file, const char *path, uint64_t *header)
{
    *header = file->root;
    for (const char *at = path; *at != '\0';) {
        const size_t length = strcspn(at, "/");
        if (length > 0) {
            link_search s = {.file = file, .name = at, .length = length};
            search_group(&s, *header);
            if (s.found != VTAC_H5_HERE) {
                return s.found;
            }
            *header = s.header;
        }
        at += length + (at[length] == '/');
    }
    return VTAC_H5_HERE;
}
