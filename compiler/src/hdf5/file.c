/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of a file, its superblock, and the messages of object headers. See reader.h.
 */
#include <string.h>

#include "reader.h"
#include "vta/fail.h"

enum { MAX_STEPS = 1 << 28 };

/* ---- pieces */

vtac_h5_piece vtac_h5_at(const vtac_h5_file *file, uint64_t address, uint64_t size)
{
    const uint64_t whole = file->size;
    const bool inside =
        file->base <= whole && address <= whole - file->base && size <= whole - file->base - address;
    const uint8_t *at = file->bytes + (inside ? file->base + address : 0);
    return (vtac_h5_piece){at, at + (inside ? size : 0), !inside};
}

vtac_h5_piece vtac_h5_from(const vtac_h5_file *file, uint64_t address)
{
    vtac_h5_piece piece = vtac_h5_at(file, address, 0);
    piece.end = piece.bad ? piece.at : file->bytes + file->size;
    return piece;
}

static uint64_t left_in(const vtac_h5_piece *piece)
{
    return (uint64_t)(piece->end - piece->at);
}

uint64_t vtac_h5_get(vtac_h5_piece *piece, uint32_t bytes)
{
    uint64_t value = 0;
    if (bytes > 8 || left_in(piece) < bytes) {
        piece->bad = true;
        piece->at = piece->end;
        return 0;
    }
    for (uint32_t i = bytes; i-- > 0;) {
        value = value << 8 | piece->at[i];
    }
    piece->at += bytes;
    return value;
}

uint64_t vtac_h5_get_address(const vtac_h5_file *file, vtac_h5_piece *piece)
{
    return vtac_h5_get(piece, file->offset_bytes);
}

uint64_t vtac_h5_get_length(const vtac_h5_file *file, vtac_h5_piece *piece)
{
    return vtac_h5_get(piece, file->length_bytes);
}

vtac_h5_piece vtac_h5_take(vtac_h5_piece *piece, uint64_t size)
{
    if (left_in(piece) < size) {
        piece->bad = true;
        piece->at = piece->end;
        return (vtac_h5_piece){piece->end, piece->end, true};
    }
    const vtac_h5_piece taken = {piece->at, piece->at + size, piece->bad};
    piece->at += size;
    return taken;
}

void vtac_h5_skip(vtac_h5_piece *piece, uint64_t bytes)
{
    (void)vtac_h5_take(piece, bytes);
}

bool vtac_h5_is(vtac_h5_piece *piece, const char mark[4])
{
    const vtac_h5_piece taken = vtac_h5_take(piece, 4);
    return !taken.bad && memcmp(taken.at, mark, 4) == 0;
}

bool vtac_h5_leads(const vtac_h5_file *file, uint64_t address)
{
    return address != UINT64_MAX >> (64 - 8 * file->offset_bytes);
}

bool vtac_h5_step(vtac_h5_file *file, uint64_t count)
{
    const bool enough = file->steps >= count;
    file->steps = enough ? file->steps - count : 0;
    return enough;
}

uint32_t vtac_h5_width(uint64_t value)
{
    uint32_t bytes = 1;
    while (bytes < 8 && value >> (8 * bytes) != 0) {
        bytes++;
    }
    return bytes;
}

/* ---- superblock */

static bool has_number_sizes(const vtac_h5_file *file)
{
    const uint32_t o = file->offset_bytes, l = file->length_bytes;
    return (o == 2 || o == 4 || o == 8) && (l == 2 || l == 4 || l == 8);
}

/* The old form: behind numbers of trees stand four addresses and the root's entry in a table of symbols. */
static uint64_t read_old(vtac_h5_file *file, vtac_h5_piece *p, uint64_t edition)
{
    vtac_h5_skip(p, 4); /* editions of other structures */
    file->offset_bytes = (uint32_t)vtac_h5_get(p, 1);
    file->length_bytes = (uint32_t)vtac_h5_get(p, 1);
    vtac_h5_skip(p, edition == 1 ? 1 + 4 + 4 + 4 : 1 + 4 + 4);
    if (!has_number_sizes(file)) {
        p->bad = true;
        return 0;
    }
    file->base = vtac_h5_get_address(file, p);
    (void)vtac_h5_get_address(file, p); /* free space */
    const uint64_t end = vtac_h5_get_address(file, p);
    (void)vtac_h5_get_address(file, p); /* a driver's block */
    (void)vtac_h5_get_address(file, p); /* the root's name */
    file->root = vtac_h5_get_address(file, p);
    return end;
}

static uint64_t read_new(vtac_h5_file *file, vtac_h5_piece *p)
{
    file->offset_bytes = (uint32_t)vtac_h5_get(p, 1);
    file->length_bytes = (uint32_t)vtac_h5_get(p, 1);
    vtac_h5_skip(p, 1);
    if (!has_number_sizes(file)) {
        p->bad = true;
        return 0;
    }
    file->base = vtac_h5_get_address(file, p);
    (void)vtac_h5_get_address(file, p); /* an extension */
    const uint64_t end = vtac_h5_get_address(file, p);
    file->root = vtac_h5_get_address(file, p);
    return end;
}

vta_status vtac_h5_open(const uint8_t *bytes, size_t size, vtac_h5_file *out, vta_diag *diag)
{
    static const uint8_t mark[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    *out = (vtac_h5_file){.bytes = bytes, .size = size, .steps = MAX_STEPS};
    vtac_h5_piece p = {bytes, bytes + size, false};
    const vtac_h5_piece first = vtac_h5_take(&p, sizeof mark);
    const uint64_t edition = vtac_h5_get(&p, 1);
    if (p.bad || memcmp(first.at, mark, sizeof mark) != 0) {
        return vta_fail(diag, VTA_SYNTAX, "it is no whole HDF5 file");
    }
    if (edition > 3) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "an HDF5 file whose superblock has version %u; 0 to 3 can be read",
                        (unsigned)edition);
    }
    const uint64_t end = edition < 2 ? read_old(out, &p, edition) : read_new(out, &p);
    return p.bad || end > size || !vtac_h5_leads(out, out->root)
               ? vta_fail(diag, VTA_SYNTAX, "it is no whole HDF5 file")
               : VTA_OK;
}

/* ---- object headers */

/* A header of the first edition: a count of messages, then so many bytes of them. */
static void begin_old(vtac_h5_walk *walk, vtac_h5_piece p)
{
    vtac_h5_skip(&p, 1 + 1 + 2 + 4);
    const uint64_t size = vtac_h5_get(&p, 4);
    vtac_h5_skip(&p, 4);
    walk->edition = 1;
    walk->here = vtac_h5_take(&p, size);
    walk->bad = walk->here.bad;
}

void vtac_h5_walk_header(vtac_h5_file *file, uint64_t address, vtac_h5_walk *walk)
{
    enum { HAS_TIMES = 0x20, HAS_LIMITS = 0x10 };
    *walk = (vtac_h5_walk){.file = file};
    vtac_h5_piece p = vtac_h5_from(file, address);
    if (p.bad || p.at == p.end) {
        walk->bad = true;
        return;
    }
    if (*p.at == 1) {
        begin_old(walk, p);
        return;
    }
    walk->bad = !vtac_h5_is(&p, "OHDR") || vtac_h5_get(&p, 1) != 2;
    walk->edition = 2;
    walk->flags = (uint32_t)vtac_h5_get(&p, 1);
    vtac_h5_skip(&p, (walk->flags & HAS_TIMES) != 0 ? 16 : 0);
    vtac_h5_skip(&p, (walk->flags & HAS_LIMITS) != 0 ? 4 : 0);
    walk->here = vtac_h5_take(&p, vtac_h5_get(&p, 1U << (walk->flags & 3)));
    walk->bad = walk->bad || walk->here.bad;
}

static uint32_t message_head(const vtac_h5_walk *walk)
{
    return walk->edition == 1 ? 8 : (walk->flags & 4) != 0 ? 6 : 4;
}

/* Goes on with the next piece that continues the header; false: there is none. */
static bool continue_walk(vtac_h5_walk *walk)
{
    if (walk->bad || walk->more_done == walk->more_count) {
        return false;
    }
    walk->here =
        vtac_h5_at(walk->file, walk->more[walk->more_done].address, walk->more[walk->more_done].size);
    walk->more_done++;
    if (walk->edition == 2) {
        walk->bad = !vtac_h5_is(&walk->here, "OCHK") || left_in(&walk->here) < 4;
        walk->here.end -= walk->bad ? 0 : 4; /* a checksum */
    }
    walk->bad = walk->bad || walk->here.bad;
    return !walk->bad;
}

static void note_continuation(vtac_h5_walk *walk, vtac_h5_piece body)
{
    enum { MORE = sizeof walk->more / sizeof walk->more[0] };
    if (walk->more_count == MORE) {
        walk->bad = true;
        return;
    }
    walk->more[walk->more_count].address = vtac_h5_get_address(walk->file, &body);
    walk->more[walk->more_count].size = vtac_h5_get_length(walk->file, &body);
    walk->more_count++;
    walk->bad = walk->bad || body.bad;
}

static bool read_message(vtac_h5_walk *walk, vtac_h5_message *out)
{
    enum { SHARED = 2 };
    const bool old = walk->edition == 1;
    vtac_h5_piece *p = &walk->here;
    out->kind = (uint32_t)vtac_h5_get(p, old ? 2 : 1);
    const uint64_t size = vtac_h5_get(p, 2);
    out->shared = (vtac_h5_get(p, 1) & SHARED) != 0;
    vtac_h5_skip(p, message_head(walk) - (old ? 5 : 4));
    out->body = vtac_h5_take(p, size);
    walk->bad = walk->bad || p->bad || !vtac_h5_step(walk->file, 1);
    return !walk->bad;
}

bool vtac_h5_next(vtac_h5_walk *walk, vtac_h5_message *out)
{
    while (!walk->bad) {
        if (left_in(&walk->here) < message_head(walk)) {
            if (!continue_walk(walk)) {
                return false;
            }
            continue;
        }
        if (!read_message(walk, out)) {
            return false;
        }
        if (out->kind != VTAC_H5_CONTINUED) {
            return true;
        }
        note_continuation(walk, out->body);
    }
    return false;
}

bool vtac_h5_message_of(vtac_h5_file *file, uint64_t address, vtac_h5_kind kind, vtac_h5_message *out)
{
    vtac_h5_walk walk;
    vtac_h5_walk_header(file, address, &walk);
    while (vtac_h5_next(&walk, out)) {
        if (out->kind == (uint32_t)kind) {
            return !out->shared;
        }
    }
    return false;
}
