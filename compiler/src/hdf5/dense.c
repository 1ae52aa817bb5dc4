/* SPDX-License-Identifier: Apache-2.0
 *
 * Dense storage: a tree of records (a B-tree of the second kind) that identify objects of a fractal heap,
 * whose blocks lie in a table of rows: the first two rows of blocks of the starting size, each further row of
 * blocks twice as large as the row before.
 */
#include "reader.h"

enum { MAX_DEPTH = 8, MAX_ROWS = 64 };

/* ---- the heap */

typedef struct heap {
    vtac_h5_file *file;
    uint32_t id_bytes, offset_bytes, size_bytes; /* of an identifier; of the two numbers in it */
    uint32_t width, direct_rows; /* blocks of a row; rows whose blocks hold objects themselves */
    uint64_t start;              /* bytes of the smallest block */
    uint64_t root;
    uint32_t root_rows; /* 0: the root is a block of objects */
} heap;

/* Logarithm of a power of two; 64: it is none. */
static uint32_t log_of(uint64_t value)
{
    uint32_t log = 0;
    while (log < 63 && UINT64_C(1) << log < value) {
        log++;
    }
    return value != 0 && UINT64_C(1) << log == value ? log : 64;
}

static bool open_heap(vtac_h5_file *file, uint64_t address, heap *h)
{
    vtac_h5_piece p = vtac_h5_from(file, address);
    bool good = vtac_h5_is(&p, "FRHP") && vtac_h5_get(&p, 1) == 0;
    *h = (heap){.file = file};
    h->id_bytes = (uint32_t)vtac_h5_get(&p, 2);
    good = good && vtac_h5_get(&p, 2) == 0; /* objects pass no filters */
    vtac_h5_skip(&p, 1);
    const uint64_t max_object = vtac_h5_get(&p, 4);
    vtac_h5_skip(&p, 2 * (uint64_t)file->offset_bytes + 10 * (uint64_t)file->length_bytes);
    h->width = (uint32_t)vtac_h5_get(&p, 2);
    h->start = vtac_h5_get_length(file, &p);
    const uint64_t max_direct = vtac_h5_get_length(file, &p);
    h->offset_bytes = ((uint32_t)vtac_h5_get(&p, 2) + 7) / 8;
    vtac_h5_skip(&p, 2);
    h->root = vtac_h5_get_address(file, &p);
    h->root_rows = (uint32_t)vtac_h5_get(&p, 2);
    const uint32_t direct = vtac_h5_width(max_direct), object = vtac_h5_width(max_object);
    h->size_bytes = direct < object ? direct : object;
    good = good && !p.bad && log_of(h->start) < 32 && log_of(max_direct) < 32 && max_direct >= h->start &&
           log_of(h->width) < 16 && h->offset_bytes <= 8 && h->root_rows <= MAX_ROWS &&
           1 + h->offset_bytes + h->size_bytes <= h->id_bytes;
    h->direct_rows = good ? log_of(max_direct) - log_of(h->start) + 2 : 0;
    return good;
}

static uint64_t block_bytes(const heap *h, uint32_t row)
{
    return row < 2 ? h->start : h->start << (row - 1);
}

/* Bytes of the heap in front of a row. */
static uint64_t row_offset(const heap *h, uint32_t row)
{
    return row == 0 ? 0 : (h->width * h->start) << (row - 1);
}

/* `size` bytes at `offset` of a block of objects. */
static vtac_h5_piece object_in(const heap *h, uint64_t block, uint64_t bytes, uint64_t offset, uint64_t size)
{
    vtac_h5_piece p = vtac_h5_at(h->file, block, bytes);
    p.bad = p.bad || !vtac_h5_is(&p, "FHDB") || size > bytes || offset > bytes - size;
    return p.bad ? p : vtac_h5_at(h->file, block + offset, size);
}

/* An object of the heap's address `offset`, through the blocks that only name others. */
static vtac_h5_piece object_at(const heap *h, uint64_t offset, uint64_t size)
{
    const vtac_h5_piece none = {h->file->bytes, h->file->bytes, true};
    uint64_t block = h->root;
    uint32_t rows = h->root_rows;
    if (rows == 0) {
        return object_in(h, block, h->start, offset, size);
    }
    for (uint32_t depth = 0; depth < MAX_DEPTH && vtac_h5_step(h->file, 1); depth++) {
        uint32_t row = 0;
        while (row + 1 < rows && row + 1 < 32 && offset >= row_offset(h, row + 1)) {
            row++;
        }
        const uint64_t inside = offset - row_offset(h, row);
        const uint64_t column = inside / block_bytes(h, row);
        if (column >= h->width) {
            return none;
        }
        vtac_h5_piece p = vtac_h5_from(h->file, block);
        if (!vtac_h5_is(&p, "FHIB")) {
            return none;
        }
        vtac_h5_skip(&p, 1 + h->file->offset_bytes + h->offset_bytes);
        vtac_h5_skip(&p, ((uint64_t)row * h->width + column) * h->file->offset_bytes);
        block = vtac_h5_get_address(h->file, &p);
        offset = inside - column * block_bytes(h, row);
        if (p.bad || !vtac_h5_leads(h->file, block)) {
            return none;
        }
        if (row < h->direct_rows) {
            return object_in(h, block, block_bytes(h, row), offset, size);
        }
        rows = log_of(block_bytes(h, row)) - log_of(h->start * h->width) + 1;
    }
    return none;
}

/* The object that an identifier names. */
static vtac_h5_piece object_of(const heap *h, vtac_h5_piece id)
{
    enum { MANAGED = 0, TINY = 2 };
    const uint64_t head = vtac_h5_get(&id, 1);
    vtac_h5_piece object = {id.end, id.end, true};
    if (head >> 4 == MANAGED) {
        const uint64_t offset = vtac_h5_get(&id, h->offset_bytes);
        const uint64_t size = vtac_h5_get(&id, h->size_bytes);
        object = id.bad ? object : object_at(h, offset, size);
    } else if (head >> 4 == TINY && h->id_bytes <= 17) {
        object = vtac_h5_take(&id, (head & 15) + 1);
    }
    return object;
}

/* ---- the tree */

typedef struct tree {
    heap objects;
    uint32_t id_at, record_bytes, node_bytes, depth;
    uint32_t count_bytes;            /* of the number of records of a node */
    uint32_t total_bytes[MAX_DEPTH]; /* of the number of records below a node, by its level */
    vtac_h5_visit *visit;
    void *context;
} tree;

typedef enum seen { SEEN_ALL, SEEN_ENOUGH, SEEN_BAD } seen;

/* Sets the widths of the numbers in nodes of each level, which follow from the number of records that fit. */
static bool measure_levels(tree *t)
{
    enum { NODE_HEAD = 10 };
    if (t->record_bytes == 0 || t->node_bytes < NODE_HEAD + t->record_bytes || t->depth >= MAX_DEPTH) {
        return false;
    }
    uint64_t fits = (t->node_bytes - NODE_HEAD) / t->record_bytes;
    t->count_bytes = vtac_h5_width(fits);
    for (uint32_t level = 1; level <= t->depth; level++) {
        const uint64_t pointer =
            t->objects.file->offset_bytes + t->count_bytes + (level > 1 ? t->total_bytes[level - 1] : 0);
        if (t->node_bytes < NODE_HEAD + pointer) {
            return false;
        }
        const uint64_t here = (t->node_bytes - NODE_HEAD - pointer) / (t->record_bytes + pointer);
        if (fits > UINT32_MAX) {
            return false;
        }
        fits = (here + 1) * fits + here;
        t->total_bytes[level] = vtac_h5_width(fits);
    }
    return true;
}

static seen visit_records(const tree *t, vtac_h5_piece *p, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        vtac_h5_piece record = vtac_h5_take(p, t->record_bytes);
        vtac_h5_skip(&record, t->id_at);
        const vtac_h5_piece object = object_of(&t->objects, vtac_h5_take(&record, t->objects.id_bytes));
        if (p->bad || object.bad || !vtac_h5_step(t->objects.file, 1)) {
            return SEEN_BAD;
        }
        if (t->visit(t->context, object)) {
            return SEEN_ENOUGH;
        }
    }
    return SEEN_ALL;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the tree, at fits MAX_DEPTH */
static seen visit_node(const tree *t, uint64_t address, uint64_t count, uint32_t level)
{
    vtac_h5_piece p = vtac_h5_at(t->objects.file, address, t->node_bytes);
    if (!vtac_h5_is(&p, level == 0 ? "BTLF" : "BTIN") || !vtac_h5_step(t->objects.file, 1)) {
        return SEEN_BAD;
    }
    vtac_h5_skip(&p, 2);
    const seen here = visit_records(t, &p, count);
    if (here != SEEN_ALL || level == 0) {
        return here;
    }
    for (uint64_t i = 0; i <= count; i++) {
        const uint64_t child = vtac_h5_get_address(t->objects.file, &p);
        const uint64_t records = vtac_h5_get(&p, t->count_bytes);
        vtac_h5_skip(&p, level > 1 ? t->total_bytes[level - 1] : 0);
        const seen below = p.bad ? SEEN_BAD : visit_node(t, child, records, level - 1);
        if (below != SEEN_ALL) {
            return below;
        }
    }
    return SEEN_ALL;
}

bool vtac_h5_dense(vtac_h5_file *file, uint64_t heap_address, uint64_t tree_address, uint32_t id_at,
                   vtac_h5_visit *visit, void *context)
{
    tree t = {.id_at = id_at, .visit = visit, .context = context};
    vtac_h5_piece p = vtac_h5_from(file, tree_address);
    bool good = vtac_h5_is(&p, "BTHD") && vtac_h5_get(&p, 1) == 0;
    vtac_h5_skip(&p, 1);
    t.node_bytes = (uint32_t)vtac_h5_get(&p, 4);
    t.record_bytes = (uint32_t)vtac_h5_get(&p, 2);
    t.depth = (uint32_t)vtac_h5_get(&p, 2);
    vtac_h5_skip(&p, 2);
    const uint64_t root = vtac_h5_get_address(file, &p);
    const uint64_t count = vtac_h5_get(&p, 2);
    good = good && !p.bad && open_heap(file, heap_address, &t.objects) && measure_levels(&t);
    if (!good || count == 0 || !vtac_h5_leads(file, root)) {
        return good;
    }
    return visit_node(&t, root, count, t.depth) != SEEN_BAD;
}
