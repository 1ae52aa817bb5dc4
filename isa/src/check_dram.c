/* SPDX-License-Identifier: Apache-2.0
 *
 * DRAM's history, where a program stores to it: the time of the last store and of the last reads of every
 * granule, in pages that the static pass announces. A granule is as large as a STORE's element, up to the
 * alignment of segment bases, so that a STORE covers whole granules and nothing is refused for sharing one.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "check_internal.h"

enum { PAGE = 1024 /* granules */, FIRST_PAGES = 64 };

typedef struct dram_page {
    uint64_t number;
    uint32_t stored[PAGE];
    uint32_t read[2][PAGE]; /* by load, by compute */
} dram_page;

struct check_dram {
    uint32_t log_granule;
    uint64_t low, high; /* first and last page number there is */
    dram_page **pages;  /* hash table, a power of two of places */
    size_t capacity, count;
};

vta_status vta_check_dram_create(checker *c)
{
    struct check_dram *d = c->dram = calloc(1, sizeof *d);
    if (d == NULL) {
        return vta_check_no_memory(c);
    }
    for (uint32_t bytes = c->config->elem_bytes[VTA_MEM_OUT];
         bytes > 1 && 2U << d->log_granule <= VTA_BASE_ALIGN; bytes /= 2) {
        d->log_granule++;
    }
    d->low = UINT64_MAX;
    d->capacity = FIRST_PAGES;
    d->pages = calloc(d->capacity, sizeof(dram_page *));
    return d->pages != NULL ? VTA_OK : vta_check_no_memory(c);
}

void vta_check_dram_destroy(struct check_dram *dram)
{
    if (dram != NULL) {
        for (size_t i = 0; dram->pages != NULL && i < dram->capacity; i++) {
            free(dram->pages[i]);
        }
        free(dram->pages);
        free(dram);
    }
}

/* The page's place in the table: its own or a free one. */
static dram_page **place_of(dram_page **pages, size_t capacity, uint64_t number)
{
    size_t at = (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (capacity - 1);
    while (pages[at] != NULL && pages[at]->number != number) {
        at = (at + 1) & (capacity - 1);
    }
    return &pages[at];
}

static dram_page *find_page(const struct check_dram *d, uint64_t number)
{
    if (number < d->low || number > d->high) {
        return NULL;
    }
    return *place_of(d->pages, d->capacity, number);
}

static bool grow(struct check_dram *d)
{
    dram_page **pages = calloc(2 * d->capacity, sizeof(dram_page *));
    if (pages == NULL) {
        return false;
    }
    for (size_t i = 0; i < d->capacity; i++) {
        if (d->pages[i] != NULL) {
            *place_of(pages, 2 * d->capacity, d->pages[i]->number) = d->pages[i];
        }
    }
    free(d->pages);
    d->pages = pages;
    d->capacity *= 2;
    return true;
}

static bool add_page(struct check_dram *d, uint64_t number)
{
    if (find_page(d, number) != NULL) {
        return true;
    }
    if (2 * d->count >= d->capacity && !grow(d)) {
        return false;
    }
    dram_page *page = calloc(1, sizeof *page);
    if (page == NULL) {
        return false;
    }
    page->number = number;
    *place_of(d->pages, d->capacity, number) = page;
    d->count++;
    d->low = number < d->low ? number : d->low;
    d->high = number > d->high ? number : d->high;
    return true;
}

static vta_status expect_row(checker *c, uint32_t index, uint64_t addr, uint64_t bytes)
{
    const uint64_t begin = c->launch->insn_addr;
    const uint64_t size = (uint64_t)c->launch->insn_count * VTA_INSN_BYTES;
    if (addr < begin + size && begin < addr + bytes) {
        return vta_check_report(c, index, VTA_ERROR_SELF_MODIFY, "dram_base", (int64_t)addr, (int64_t)begin,
                                "%" PRIu64 " bytes at 0x%" PRIx64
                                " lie over the program itself, at 0x%" PRIx64,
                                bytes, addr, begin);
    }
    const uint64_t last = (addr + bytes - 1) >> c->dram->log_granule;
    for (uint64_t page = (addr >> c->dram->log_granule) / PAGE; page <= last / PAGE; page++) {
        if (!add_page(c->dram, page)) {
            return vta_check_no_memory(c);
        }
    }
    return VTA_OK;
}

vta_status vta_check_dram_expect(checker *c, uint32_t index, const vta_insn *store)
{
    const check_rows rows = vta_check_rows_of(c, store);
    for (uint32_t row = 0; row < rows.count; row++) {
        VTA_TRY(expect_row(c, index, rows.addr + row * rows.step, rows.bytes));
    }
    return VTA_OK;
}

/* Part of a row that lies in one page: granules `first` to `end` of it. */
typedef struct dram_part {
    dram_page *page;
    uint32_t first, end;
} dram_part;

static vta_status unordered(checker *c, const check_step *step, const dram_part *part, uint32_t at,
                            bool writes, vta_unit unit, uint32_t time)
{
    const uint32_t other = c->of_unit[unit][time - 1];
    const uint64_t addr = (part->page->number * PAGE + at) << c->dram->log_granule;
    return vta_check_report(
        c, step->index, VTA_ERROR_UNORDERED, "dram", (int64_t)addr, other,
        "it %s DRAM at 0x%" PRIx64 ", which instruction %" PRIu32 " (%s) %s, and no token orders them",
        writes ? "writes" : "reads", addr, other, vta_check_name(c, other), writes ? "reads" : "writes");
}

static bool any_beyond(const uint32_t *times, const dram_part *part, uint32_t known)
{
    uint32_t beyond = 0;
    for (uint32_t i = part->first; i < part->end; i++) {
        beyond |= times[i] > known;
    }
    return beyond != 0;
}

static vta_status check_times(checker *c, const check_step *step, const dram_part *part,
                              const uint32_t *times, vta_unit unit)
{
    const uint32_t known = step->known->time[unit];
    if (!any_beyond(times, part, known)) {
        return VTA_OK;
    }
    uint32_t at = part->first;
    while (times[at] <= known) {
        at++;
    }
    return unordered(c, step, part, at, step->unit == VTA_UNIT_STORE, unit, times[at]);
}

static vta_status store_part(checker *c, const check_step *step, const dram_part *part)
{
    dram_page *page = part->page;
    VTA_TRY(check_times(c, step, part, page->read[0], VTA_UNIT_LOAD));
    VTA_TRY(check_times(c, step, part, page->read[1], VTA_UNIT_COMPUTE));
    for (uint32_t i = part->first; i < part->end; i++) {
        page->stored[i] = step->known->time[VTA_UNIT_STORE];
    }
    return VTA_OK;
}

static vta_status load_part(checker *c, const check_step *step, const dram_part *part)
{
    dram_page *page = part->page;
    if (step->insn.mem.memory == VTA_MEM_UOP && any_beyond(page->stored, part, 0)) {
        uint32_t at = part->first;
        while (page->stored[at] == 0) {
            at++;
        }
        const uint32_t other = c->of_unit[VTA_UNIT_STORE][page->stored[at] - 1];
        return vta_check_report(c, step->index, VTA_ERROR_SELF_MODIFY, "dram_base",
                                (int64_t)((page->number * PAGE + at) << c->dram->log_granule), other,
                                "it loads micro-ops that instruction %" PRIu32
                                " (store) may have changed, so that they cannot be checked",
                                other);
    }
    VTA_TRY(check_times(c, step, part, page->stored, VTA_UNIT_STORE));
    uint32_t *read = page->read[step->unit == VTA_UNIT_COMPUTE];
    for (uint32_t i = part->first; i < part->end; i++) {
        read[i] = step->known->time[step->unit];
    }
    return VTA_OK;
}

static vta_status step_row(checker *c, const check_step *step, uint64_t addr, uint64_t bytes)
{
    const uint64_t first = addr >> c->dram->log_granule;
    const uint64_t last = (addr + bytes - 1) >> c->dram->log_granule;
    uint64_t number = first / PAGE < c->dram->low ? c->dram->low : first / PAGE;
    const uint64_t end = last / PAGE < c->dram->high ? last / PAGE : c->dram->high;
    for (; number <= end; number++) {
        dram_part part = {find_page(c->dram, number), 0, PAGE};
        if (part.page == NULL) {
            continue;
        }
        part.first = number == first / PAGE ? (uint32_t)(first % PAGE) : 0;
        part.end = number == last / PAGE ? (uint32_t)(last % PAGE) + 1 : PAGE;
        VTA_TRY(step->unit == VTA_UNIT_STORE ? store_part(c, step, &part) : load_part(c, step, &part));
    }
    return VTA_OK;
}

vta_status vta_check_dram_step(checker *c, const check_step *step)
{
    const bool transfer = step->insn.opcode == VTA_OP_LOAD || step->insn.opcode == VTA_OP_STORE;
    if (!transfer || step->insn.mem.x_size == 0 || c->dram->count == 0) {
        return VTA_OK;
    }
    const check_rows rows = vta_check_rows_of(c, &step->insn);
    for (uint32_t row = 0; row < rows.count; row++) {
        VTA_TRY(step_row(c, step, rows.addr + row * rows.step, rows.bytes));
    }
    return VTA_OK;
}
