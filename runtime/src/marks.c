/* SPDX-License-Identifier: Apache-2.0
 *
 * Who touched what last. Scratchpads are small: one number per entry. DRAM buffers are not: pages of
 * granules.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { PAGE_GRANULES = 256 };

typedef void run_function(void *context, uint64_t start, uint64_t length);

static void walk(uint64_t start, uint64_t length, const struct dim *dim, uint32_t dims, run_function *run,
                 void *context)
{
    if (dims == 0) {
        run(context, start, length);
        return;
    }
    for (uint64_t i = 0; i < dim->count; i++) {
        walk(start + i * dim->step, length, dim + 1, dims - 1, run, context);
    }
}

/* Calls `run` for spans that together are the footprint. Dimensions that leave no gap melt into the span
 * first, the smallest step before the others: what is left costs at most as much as the instruction itself.
 */
static void walk_footprint(const footprint *entries, run_function *run, void *context)
{
    for (uint32_t b = 0; b < entries->base_count; b++) {
        uint64_t length = entries->bases[b].length;
        struct dim left[FOOTPRINT_DIMS];
        uint32_t dims = 0;
        for (uint32_t d = 0; d < FOOTPRINT_DIMS; d++) {
            if (entries->dim[d].count == 0) {
                return;
            }
            uint32_t place = dims++;
            for (; place > 0 && left[place - 1].step > entries->dim[d].step; place--) {
                left[place] = left[place - 1];
            }
            left[place] = entries->dim[d];
        }
        uint32_t kept = 0;
        for (uint32_t d = 0; d < dims; d++) {
            if (left[d].count == 1 || left[d].step <= length) {
                length += (left[d].count - 1) * (left[d].count == 1 ? 0 : left[d].step);
            } else {
                left[kept++] = left[d];
            }
        }
        walk((uint64_t)entries->offset + entries->bases[b].start, length, left, kept, run, context);
    }
}

typedef struct marks_query {
    const uint32_t *marks;
    uint32_t latest;
} marks_query;

static void query_run(void *context, uint64_t start, uint64_t length)
{
    marks_query *query = context;
    uint32_t latest = query->latest;
    for (uint64_t i = start; i < start + length; i++) {
        latest = query->marks[i] > latest ? query->marks[i] : latest;
    }
    query->latest = latest;
}

uint32_t vta_marks_latest(const uint32_t *marks, const footprint *entries)
{
    marks_query query = {.marks = marks};
    walk_footprint(entries, query_run, &query);
    return query.latest;
}

typedef struct marks_update {
    uint32_t *marks;
    uint32_t position;
} marks_update;

static void update_run(void *context, uint64_t start, uint64_t length)
{
    const marks_update *update = context;
    for (uint64_t i = start; i < start + length; i++) {
        update->marks[i] = update->position;
    }
}

/* NOLINTNEXTLINE(readability-non-const-parameter): written to by update_run */
void vta_marks_set(uint32_t *marks, const footprint *entries, uint32_t position)
{
    marks_update update = {.marks = marks, .position = position};
    walk_footprint(entries, update_run, &update);
}

/* DRAM. */

/* Rows without a gap between them are one. */
static rectangle merged(rectangle area)
{
    if (area.length == 0 || area.rows == 0) {
        return (rectangle){0};
    }
    if (area.pitch <= area.length) {
        area.length += (area.rows - 1) * area.pitch;
        area.rows = 1;
    }
    return area;
}

static uint32_t row_latest(const page_map *pages, uint64_t start, uint64_t end)
{
    uint32_t latest = 0;
    while (start < end) {
        const dram_page *page = &pages->page[start / PAGE_GRANULES];
        const uint64_t page_end = (start / PAGE_GRANULES + 1) * PAGE_GRANULES;
        const uint64_t stop = end < page_end ? end : page_end;
        if (page->each == NULL) {
            latest = page->all > latest ? page->all : latest;
        } else {
            for (uint64_t i = start; i < stop; i++) {
                const uint32_t mark = page->each[i % PAGE_GRANULES];
                latest = mark > latest ? mark : latest;
            }
        }
        start = stop;
    }
    return latest;
}

uint32_t vta_pages_latest(const page_map *pages, const rectangle *area)
{
    uint32_t latest = 0;
    const rectangle rows = merged(*area);
    for (uint64_t y = 0; pages->page != NULL && y < rows.rows; y++) {
        const uint64_t start = rows.start + y * rows.pitch;
        const uint32_t row = row_latest(pages, start, start + rows.length);
        latest = row > latest ? row : latest;
    }
    return latest;
}

static bool split_page(dram_page *page)
{
    page->each = malloc(PAGE_GRANULES * sizeof *page->each);
    for (uint32_t i = 0; page->each != NULL && i < PAGE_GRANULES; i++) {
        page->each[i] = page->all;
    }
    return page->each != NULL;
}

static bool row_set(page_map *pages, uint64_t start, uint64_t end, uint32_t position)
{
    while (start < end) {
        dram_page *page = &pages->page[start / PAGE_GRANULES];
        const uint64_t page_start = start / PAGE_GRANULES * PAGE_GRANULES;
        const uint64_t page_end = page_start + PAGE_GRANULES;
        const uint64_t stop = end < page_end ? end : page_end;
        if (start == page_start && (stop == page_end || stop == pages->granules)) {
            free(page->each);
            *page = (dram_page){.all = position};
        } else if (page->each == NULL && !split_page(page)) {
            return false;
        } else {
            for (uint64_t i = start; i < stop; i++) {
                page->each[i % PAGE_GRANULES] = position;
            }
        }
        start = stop;
    }
    return true;
}

bool vta_pages_set(page_map *pages, const rectangle *area, uint32_t position)
{
    const rectangle rows = merged(*area);
    if (pages->page == NULL) {
        pages->page = calloc((size_t)(pages->granules / PAGE_GRANULES + 1), sizeof *pages->page);
    }
    bool good = pages->page != NULL;
    for (uint64_t y = 0; good && y < rows.rows; y++) {
        const uint64_t start = rows.start + y * rows.pitch;
        good = row_set(pages, start, start + rows.length, position);
    }
    return good;
}

void vta_pages_free(page_map *pages)
{
    for (uint64_t i = 0; pages->page != NULL && i < pages->granules / PAGE_GRANULES + 1; i++) {
        free(pages->page[i].each);
    }
    free(pages->page);
    *pages = (page_map){0};
}
