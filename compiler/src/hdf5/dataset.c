/* SPDX-License-Identifier: Apache-2.0
 *
 * Data sets of numbers: in the header itself, in one piece, or in chunks, which a tree finds by their place
 * (a B-tree of the first kind) or which lie behind each other.
 */
#include <stdlib.h>
#include <string.h>

#include "reader.h"
#include "vta/fail.h"

enum { MAX_NUMBERS = 1 << 28, MAX_CHUNK = 1 << 30, MAX_LEVELS = 16, MAX_RATIO = 1100 };

typedef struct dataset {
    vtac_h5_file *file;
    const char *path;
    vtac_h5_number type;
    vtac_h5_filters filters;
    uint64_t header;
    uint32_t rank;
    uint64_t dims[VTAC_MAX_RANK], chunk[VTAC_MAX_RANK];
    uint64_t count, chunk_count; /* of numbers; of those of a chunk */
    uint64_t chunks_left;        /* that a sound file may still have */
    float *to;
    uint8_t *room, *work; /* of a chunk; owned while chunks are read */
    float *floats;        /* of a chunk */
} dataset;

static vta_status fail_damaged(const dataset *d, vta_diag *diag)
{
    return vta_fail(diag, VTA_SYNTAX, "'%.200s' cannot be read from the HDF5 file", d->path);
}

/* ---- messages */

static vta_status read_space(dataset *d, uint64_t header, vta_diag *diag)
{
    vtac_h5_message m;
    if (!vtac_h5_message_of(d->file, header, VTAC_H5_SPACE, &m) ||
        !vtac_h5_space(d->file, m.body, &d->rank, d->dims, &d->count)) {
        return fail_damaged(d, diag);
    }
    if (d->rank > VTAC_MAX_RANK) {
        return vta_fail(diag, VTA_INVALID, "'%.200s' holds no numbers of at most %d axes", d->path,
                        VTAC_MAX_RANK);
    }
    /* Inflating makes at most 1032 bytes of one. */
    const bool is_plausible = d->count <= MAX_NUMBERS && d->count / MAX_RATIO <= d->file->size;
    return is_plausible ? VTA_OK : vta_fail(diag, VTA_RANGE, "'%.200s' is too large", d->path);
}

static vta_status read_type(dataset *d, uint64_t header, vta_diag *diag)
{
    vtac_h5_message m;
    if (!vtac_h5_message_of(d->file, header, VTAC_H5_TYPE, &m)) {
        return fail_damaged(d, diag);
    }
    if (!vtac_h5_number_of(m.body, &d->type)) {
        return vta_fail(diag, VTA_INVALID, "'%.200s' holds no numbers of at most %d axes", d->path,
                        VTAC_MAX_RANK);
    }
    if (vtac_h5_message_of(d->file, header, VTAC_H5_EXTERNAL, &m)) {
        return vta_fail(diag, VTA_INVALID,
                        "'%.200s' lies in another file; only what lies in the file itself is read", d->path);
    }
    return vtac_h5_message_of(d->file, header, VTAC_H5_FILTERS, &m)
               ? vtac_h5_filters_of(m.body, d->type.bytes, &d->filters, diag)
               : VTA_OK;
}

/* Numbers that nobody wrote are what the file says, or 0. */
static void fill_numbers(const dataset *d)
{
    enum { IS_DEFINED = 0x20 };
    vtac_h5_message m;
    float value = 0;
    if (vtac_h5_message_of(d->file, d->header, VTAC_H5_FILL, &m)) {
        const uint64_t edition = vtac_h5_get(&m.body, 1);
        const uint64_t flags = edition == 3 ? vtac_h5_get(&m.body, 1) : 0;
        vtac_h5_skip(&m.body, edition == 3 ? 0 : 2);
        const bool defined = edition == 3 ? (flags & IS_DEFINED) != 0 : vtac_h5_get(&m.body, 1) != 0;
        const bool is_there = defined || edition == 1;
        const uint64_t size = is_there ? vtac_h5_get(&m.body, 4) : 0;
        const vtac_h5_piece bytes = vtac_h5_take(&m.body, size);
        if (!bytes.bad && size == d->type.bytes) {
            vtac_h5_to_floats(&d->type, bytes.at, &value, 1);
        }
    }
    for (uint64_t i = 0; i < d->count; i++) {
        d->to[i] = value;
    }
}

/* ---- chunks */

/* Puts a chunk's numbers, those that are inside the data set, to their places. */
static void place_chunk(const dataset *d, const uint64_t *at)
{
    uint64_t inside[VTAC_MAX_RANK], index[VTAC_MAX_RANK] = {0};
    if (d->rank == 0 || d->rank > VTAC_MAX_RANK) {
        return;
    }
    for (uint32_t i = 0; i < d->rank; i++) {
        if (at[i] >= d->dims[i]) {
            return;
        }
        inside[i] = d->chunk[i] < d->dims[i] - at[i] ? d->chunk[i] : d->dims[i] - at[i];
    }
    const uint32_t last = d->rank - 1;
    for (bool more = true; more;) {
        uint64_t from = 0, to = 0;
        for (uint32_t i = 0; i < d->rank; i++) {
            from = from * d->chunk[i] + index[i];
            to = to * d->dims[i] + at[i] + index[i];
        }
        memcpy(d->to + to, d->floats + from, (size_t)inside[last] * sizeof *d->to);
        more = false;
        for (uint32_t i = last; i-- > 0 && !more;) {
            more = ++index[i] < inside[i];
            index[i] = more ? index[i] : 0;
        }
    }
}

/* Numbers of a chunk that lie outside the data set. */
static uint64_t count_outside(const dataset *d, const uint64_t *at)
{
    uint64_t inside = 1;
    for (uint32_t i = 0; i < d->rank; i++) {
        const uint64_t left = at[i] < d->dims[i] ? d->dims[i] - at[i] : 0;
        inside *= d->chunk[i] < left ? d->chunk[i] : left;
    }
    return d->chunk_count - inside;
}

/* Numbers outside take steps: a few bytes unpack to a gigabyte of them, as often as they are named. */
static bool read_chunk(dataset *d, uint64_t address, uint64_t stored, uint32_t mask, const uint64_t *at)
{
    const size_t size = (size_t)d->chunk_count * d->type.bytes;
    const vtac_h5_piece piece = vtac_h5_at(d->file, address, stored);
    if (piece.bad || d->chunks_left == 0 || !vtac_h5_step(d->file, count_outside(d, at)) ||
        !vtac_h5_unfilter(&d->filters, mask, piece, d->room, d->work, size)) {
        return false;
    }
    d->chunks_left--;
    vtac_h5_to_floats(&d->type, d->room, d->floats, (size_t)d->chunk_count);
    place_chunk(d, at);
    return true;
}

/* NOLINTNEXTLINE(misc-no-recursion): a level less each time */
static bool read_tree(dataset *d, uint64_t address, uint32_t levels)
{
    vtac_h5_file *file = d->file;
    vtac_h5_piece p = vtac_h5_from(file, address);
    const bool marked = vtac_h5_is(&p, "TREE") && vtac_h5_get(&p, 1) == 1;
    const uint64_t level = vtac_h5_get(&p, 1);
    const uint64_t count = vtac_h5_get(&p, 2);
    vtac_h5_skip(&p, 2 * (uint64_t)file->offset_bytes);
    bool good = marked && level < levels;
    for (uint64_t i = 0; good && i < count; i++) {
        uint64_t at[VTAC_MAX_RANK];
        const uint64_t stored = vtac_h5_get(&p, 4);
        const uint32_t mask = (uint32_t)vtac_h5_get(&p, 4);
        for (uint32_t k = 0; k < d->rank; k++) {
            at[k] = vtac_h5_get(&p, 8);
        }
        vtac_h5_skip(&p, 8); /* inside a number: 0 */
        const uint64_t child = vtac_h5_get_address(file, &p);
        good = !p.bad && vtac_h5_step(file, 1) &&
               (level == 0 ? read_chunk(d, child, stored, mask, at) : read_tree(d, child, (uint32_t)level));
    }
    return good;
}

/* Chunks in the order of their places, one behind the other. */
static bool read_row_of_chunks(dataset *d, uint64_t address)
{
    uint64_t at[VTAC_MAX_RANK] = {0};
    const uint64_t size = d->chunk_count * d->type.bytes;
    for (uint64_t i = 0;; i++) {
        if (!read_chunk(d, address + i * size, size, 0, at)) {
            return false;
        }
        uint32_t axis = d->rank;
        while (axis > 0 && (at[axis - 1] += d->chunk[axis - 1]) >= d->dims[axis - 1]) {
            at[--axis] = 0;
        }
        if (axis == 0) {
            return true;
        }
    }
}

/* The sizes of a chunk; the last one is the bytes of a number. */
static bool read_chunk_shape(dataset *d, vtac_h5_piece *p, uint64_t axes, uint32_t width)
{
    d->chunk_count = 1;
    d->chunks_left = 1;
    for (uint32_t i = 0; i < d->rank && axes == d->rank + 1; i++) {
        d->chunk[i] = vtac_h5_get(p, width);
        if (d->chunk[i] == 0 || d->chunk_count > MAX_CHUNK / d->chunk[i]) {
            return false;
        }
        d->chunk_count *= d->chunk[i];
        d->chunks_left *= (d->dims[i] + d->chunk[i] - 1) / d->chunk[i];
    }
    return axes == d->rank + 1 && d->rank > 0 && vtac_h5_get(p, width) == d->type.bytes && !p->bad &&
           d->chunk_count <= MAX_CHUNK / d->type.bytes;
}

typedef struct chunk_index {
    uint64_t kind, address, stored;
    uint32_t mask;
} chunk_index;

enum { BY_TREE = 0, SINGLE = 1, IN_ORDER = 2 };

/* Reads all chunks that an index leads to. */
static bool read_chunks(dataset *d, const chunk_index *index)
{
    const uint64_t none[VTAC_MAX_RANK] = {0};
    const size_t size = (size_t)d->chunk_count * d->type.bytes + VTAC_H5_SPARE;
    d->room = malloc(size);
    d->work = malloc(size);
    d->floats = malloc((size_t)d->chunk_count * sizeof *d->floats);
    bool good = d->room != NULL && d->work != NULL && d->floats != NULL;
    if (good && index->kind == BY_TREE) {
        good = read_tree(d, index->address, MAX_LEVELS);
    } else if (good && index->kind == SINGLE) {
        good = read_chunk(d, index->address, index->stored, index->mask, none);
    } else if (good) {
        good = read_row_of_chunks(d, index->address);
    }
    free(d->floats);
    free(d->work);
    free(d->room);
    return good;
}

static vta_status read_new_chunks(dataset *d, vtac_h5_piece *p, chunk_index *index, vta_diag *diag)
{
    enum { HAS_FILTER = 2 };
    const uint64_t flags = vtac_h5_get(p, 1);
    const uint64_t axes = vtac_h5_get(p, 1);
    const uint32_t width = (uint32_t)vtac_h5_get(p, 1);
    if (width > 8 || !read_chunk_shape(d, p, axes, width)) {
        return fail_damaged(d, diag);
    }
    index->kind = vtac_h5_get(p, 1);
    index->stored = d->chunk_count * d->type.bytes;
    if (index->kind != SINGLE && index->kind != IN_ORDER) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "'%.200s' lies in chunks with an index of kind %u; write the file with libver="
                        "'earliest', h5py's default",
                        d->path, (unsigned)index->kind);
    }
    if (index->kind == SINGLE && (flags & HAS_FILTER) != 0) {
        index->stored = vtac_h5_get_length(d->file, p);
        index->mask = (uint32_t)vtac_h5_get(p, 4);
    }
    index->address = vtac_h5_get_address(d->file, p);
    return VTA_OK;
}

static vta_status read_chunked(dataset *d, uint64_t edition, vtac_h5_piece *p, vta_diag *diag)
{
    chunk_index index = {.kind = BY_TREE};
    if (edition == 3) {
        const uint64_t axes = vtac_h5_get(p, 1);
        index.address = vtac_h5_get_address(d->file, p);
        if (!read_chunk_shape(d, p, axes, 4)) {
            return fail_damaged(d, diag);
        }
    } else {
        VTA_TRY(read_new_chunks(d, p, &index, diag));
    }
    if (p->bad) {
        return fail_damaged(d, diag);
    }
    fill_numbers(d);
    const bool is_empty = !vtac_h5_leads(d->file, index.address) || d->count == 0;
    return is_empty || read_chunks(d, &index) ? VTA_OK : fail_damaged(d, diag);
}

static vta_status read_layout(dataset *d, vtac_h5_piece p, vta_diag *diag)
{
    enum { COMPACT = 0, CONTIGUOUS = 1, CHUNKED = 2, VIRTUAL = 3 };
    const uint64_t edition = vtac_h5_get(&p, 1);
    const uint64_t kind = vtac_h5_get(&p, 1);
    const uint64_t bytes = d->count * d->type.bytes;
    if (edition != 3 && edition != 4) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "'%.200s' is laid out by version %u of HDF5's rules; 3 and 4 can be read", d->path,
                        (unsigned)edition);
    }
    if (kind == VIRTUAL) {
        return vta_fail(diag, VTA_INVALID,
                        "'%.200s' lies in another file; only what lies in the file itself is read", d->path);
    }
    if (kind == CHUNKED) {
        return read_chunked(d, edition, &p, diag);
    }
    vtac_h5_piece from = {p.at, p.at, true};
    if (kind == COMPACT) {
        const uint64_t size = vtac_h5_get(&p, 2);
        from = vtac_h5_take(&p, size);
    } else if (kind == CONTIGUOUS) {
        const uint64_t address = vtac_h5_get_address(d->file, &p);
        if (!p.bad && !vtac_h5_leads(d->file, address)) {
            fill_numbers(d);
            return VTA_OK;
        }
        from = vtac_h5_at(d->file, address, bytes);
    }
    if (p.bad || from.bad || (uint64_t)(from.end - from.at) < bytes) {
        return fail_damaged(d, diag);
    }
    vtac_h5_to_floats(&d->type, from.at, d->to, (size_t)d->count);
    return VTA_OK;
}

vta_status vtac_h5_floats(vtac_h5_file *file, uint64_t header, const char *path, vta_arena *arena,
                          vtac_tensor *out, vta_diag *diag)
{
    dataset d = {.file = file, .path = path, .header = header};
    vtac_h5_message layout;
    VTA_TRY(read_space(&d, header, diag));
    VTA_TRY(read_type(&d, header, diag));
    vtac_type type = {.dtype = VTAC_F32, .rank = d.rank};
    for (uint32_t i = 0; i < d.rank; i++) {
        if (d.dims[i] > INT32_MAX) {
            return vta_fail(diag, VTA_RANGE, "'%.200s' is too large", path);
        }
        type.dim[i] = (int64_t)d.dims[i];
    }
    if (!vtac_h5_message_of(file, header, VTAC_H5_LAYOUT, &layout)) {
        return fail_damaged(&d, diag);
    }
    d.to = vta_arena_array(arena, (size_t)d.count, sizeof *d.to);
    VTA_TRY(vta_allocated(d.to != NULL, diag));
    VTA_TRY(read_layout(&d, layout.body, diag));
    *out = (vtac_tensor){type, d.to, (size_t)d.count * sizeof *d.to};
    return VTA_OK;
}
