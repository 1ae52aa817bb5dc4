/* SPDX-License-Identifier: Apache-2.0
 *
 * The device uio: an accelerator on this machine's own bus, reached without a driver of ours in the kernel
 * (UIO for the register page, u-dma-buf for memory). Processes share it: each has its part of the memory for
 * as long as it lives, and the accelerator for one run at a time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "own_copy.h"
#include "uio.h"
#include "vta/regs.h"
#include "vta/uio.h"

enum { WATCHDOG_CYCLES = 1 << 24, QUEUE_S = 600 };

typedef struct uio_options {
    const char *name, *memory;
    uint32_t watchdog, queue;
} uio_options;

#define MEMBER(name) offsetof(uio_options, name)
static const vta_option options[] = {
    {"name", VTA_OPTION_TEXT, MEMBER(name), 0, "of the UIO device, as its device tree has it; default 'vta'"},
    {"memory", VTA_OPTION_TEXT, MEMBER(memory), 0,
     "use this u-dma-buf alone, or '" UIO_MAP "' of the UIO device; default: all vta* and udmabuf*"},
    {"watchdog", VTA_OPTION_U32, MEMBER(watchdog), UINT32_MAX,
     "cycles without progress that end a run; 0: never"},
    {"queue", VTA_OPTION_U32, MEMBER(queue), 1 << 20, "seconds to wait for other processes"},
};

static const uio_options defaults = {.name = "vta", .watchdog = WATCHDOG_CYCLES, .queue = QUEUE_S};

typedef struct uio_device {
    char where[UIO_PATH];
    uio_page page;
    uio_memory memories[UIO_MEMORIES];
    uint32_t memory_count;
    uint32_t watchdog;
    uio_turn turn;
    vta_own_copy copy; /* of the program in work, where programs are checked */
    bool mine;         /* the accelerator, for the run in progress */
} uio_device;

/* ---- the accelerator */

/* A run that its process has not ended, since it was killed, is ended by the next one. */
static vta_status end_orphan(uio_device *d, vta_diag *diag)
{
    if (VTA_REG_GET(STATUS_BUSY, d->page.mmio.read(&d->page, VTA_REG_STATUS)) != 0) {
        VTA_TRY(vta_mmio_reset(&d->page.mmio, d->where, diag));
    }
    return vta_uio_page_check(&d->page, diag);
}

static void release(uio_device *d)
{
    if (d->mine) {
        vta_uio_page_release(&d->page);
    }
    d->mine = false;
}

/* The accelerator, idle, for this process alone. */
static vta_status acquire(uio_device *d, vta_diag *diag)
{
    if (d->mine) {
        return VTA_OK;
    }
    VTA_TRY(vta_uio_page_acquire(&d->page, &d->turn, diag));
    d->mine = true;
    const vta_status status = end_orphan(d, diag);
    if (status != VTA_OK) {
        release(d);
    }
    return status;
}

static vta_status uio_submit(void *self, const vta_launch *launch, vta_diag *diag)
{
    uio_device *d = self;
    VTA_TRY(acquire(d, diag));
    vta_mmio_start(&d->page.mmio, launch, d->watchdog);
    const vta_status status = vta_uio_page_check(&d->page, diag);
    if (status != VTA_OK) {
        release(d);
    }
    return status;
}

/* However it ends, the accelerator is idle and somebody else's. */
static vta_status uio_wait(void *self, double timeout_s, vta_report *report, vta_diag *diag)
{
    uio_device *d = self;
    vta_status status = vta_mmio_finish(&d->page.mmio, d->where, timeout_s, report, diag);
    const bool alive = vta_uio_page_check(&d->page, diag) == VTA_OK;
    if (alive && status != VTA_OK && status != VTA_INTERRUPTED && diag != NULL && diag->code == status) {
        (void)vta_mmio_reset(&d->page.mmio, d->where, NULL);
    }
    status = status == VTA_OK && !alive ? VTA_NO_DEVICE : status;
    release(d);
    return status;
}

static vta_status uio_reset(void *self, vta_diag *diag)
{
    uio_device *d = self;
    VTA_TRY(acquire(d, diag));
    vta_status status = vta_mmio_reset(&d->page.mmio, d->where, diag);
    status = status == VTA_OK ? vta_uio_page_check(&d->page, diag) : status;
    release(d);
    return status;
}

/* ---- memory */

static uio_memory *memory_of(uio_device *d, uint64_t addr, uint64_t size)
{
    for (uint32_t i = 0; i < d->memory_count; i++) {
        const uio_memory_node *node = &d->memories[i].node;
        if (addr >= node->addr && size <= node->bytes && addr - node->addr <= node->bytes - size) {
            return &d->memories[i];
        }
    }
    return NULL;
}

/* The device as messages name it. */
static void name_place(char *text, size_t size, const char *scheme, const char *place, uint32_t core)
{
    const int used = snprintf(text, size, "%s%s%s", scheme, *place != '\0' ? ":" : "", place);
    if (core > 0 && used >= 0 && (size_t)used < size) {
        (void)snprintf(text + used, size - (size_t)used, ", core %u", core);
    }
}

/* Free bytes of all memories: in the largest piece, together, and the size of all memories. */
typedef struct room {
    uint64_t piece, all, total;
} room;

static uint64_t add_room(room *r, const uio_memory *memory)
{
    uint64_t left;
    uint64_t largest;
    vta_uio_memory_left(memory, &left, &largest);
    r->all += left;
    r->piece = largest > r->piece ? largest : r->piece;
    r->total += memory->node.bytes;
    return largest;
}

static vta_status too_little(const char *where, uint64_t size, const room *r, vta_diag *diag)
{
    return vta_fail(diag, VTA_NOMEM,
                    "device '%s': %" PRIu64 " bytes of contiguous memory are needed, %" PRIu64
                    " are available in one "
                    "piece (%" PRIu64 " of %" PRIu64 " are free); end other programs that use it, or load "
                    "u-dma-buf with a larger udmabuf0=BYTES",
                    where, size, r->piece, r->all, r->total);
}

static vta_status no_room(uio_device *d, size_t size, vta_diag *diag)
{
    room r = {0};
    for (uint32_t i = 0; i < d->memory_count; i++) {
        (void)add_room(&r, &d->memories[i]);
    }
    return too_little(d->where, size, &r, diag);
}

/* Memory of a killed process may still be written by the run that it left: nobody gets memory before that run
 * has been ended. Its owner, if it is alive, keeps the accelerator until it has. */
static vta_status uio_alloc(void *self, uint64_t at, size_t size, vta_mem *out, vta_diag *diag)
{
    uio_device *d = self;
    if (at != VTA_ANYWHERE) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "device '%s' does not take memory at an address of one's choice; "
                        "use a simulator",
                        d->where);
    }
    const bool mine = d->mine;
    VTA_TRY(acquire(d, diag));
    if (!mine) {
        release(d);
    }
    for (uint32_t i = 0; i < d->memory_count; i++) {
        uio_memory *m = &d->memories[i];
        uint64_t offset;
        if (vta_uio_memory_take(m, size, &offset)) {
            *out = (vta_mem){.host = m->host + offset, .addr = m->node.addr + offset, .size = size};
            memset(out->host, 0, size);
            vta_uio_memory_sync(m, offset, size, true);
            return VTA_OK;
        }
    }
    return no_room(d, size, diag);
}

static void uio_free(void *self, const vta_mem *mem)
{
    uio_memory *m = memory_of(self, mem->addr, mem->size);
    if (m != NULL) {
        vta_uio_memory_give(m, mem->addr - m->node.addr);
    }
}

static void *map(void *context, uint64_t addr, uint64_t size)
{
    const uio_memory *m = memory_of(context, addr, size);
    for (size_t i = 0; m != NULL && i < m->own_count; i++) {
        const uint64_t offset = addr - m->node.addr;
        if (offset >= m->own[i].offset && size <= m->own[i].bytes &&
            offset - m->own[i].offset <= m->own[i].bytes - size) {
            return m->host + offset;
        }
    }
    return NULL;
}

static vta_bus uio_bus(void *self)
{
    return (vta_bus){map, self};
}

static void uio_flush(void *self, const vta_mem *mem, size_t offset, size_t size)
{
    const uio_memory *m = memory_of(self, mem->addr, mem->size);
    if (m != NULL) {
        vta_uio_memory_sync(m, mem->addr - m->node.addr + offset, size, true);
    }
}

static void uio_invalidate(void *self, const vta_mem *mem, size_t offset, size_t size)
{
    const uio_memory *m = memory_of(self, mem->addr, mem->size);
    if (m != NULL) {
        vta_uio_memory_sync(m, mem->addr - m->node.addr + offset, size, false);
    }
}

/* Other processes map this memory, too, and on most boards the processor's caches are not the device's. */
static vta_status uio_checked(void *self, const vta_config *config, const vta_launch *launch, vta_launch *out,
                              vta_diag *diag)
{
    static const vta_backend_ops memory = {
        .alloc = uio_alloc, .free = uio_free, .bus = uio_bus, .flush = uio_flush};
    uio_device *d = self;
    return vta_own_copy_check(&d->copy, &memory, d, config, launch, out, diag);
}

/* ---- opening and closing */

static void uio_close(void *self)
{
    uio_device *d = self;
    if (d->mine) {
        (void)vta_mmio_reset(&d->page.mmio, d->where, NULL);
        release(d);
    }
    for (uint32_t i = 0; i < d->memory_count; i++) {
        vta_uio_memory_close(&d->memories[i]);
    }
    vta_uio_page_close(&d->page);
    free(d);
}

static const vta_backend_ops ops = {
    .close = uio_close,
    .alloc = uio_alloc,
    .free = uio_free,
    .bus = uio_bus,
    .flush = uio_flush,
    .invalidate = uio_invalidate,
    .checked = uio_checked,
    .submit = uio_submit,
    .wait = uio_wait,
    .reset = uio_reset,
};

static vta_status open_memories(uio_device *d, const char *dir, const char *name, const uio_options *set,
                                vta_diag *diag)
{
    uio_memory_node nodes[UIO_MEMORIES];
    uint32_t count;
    VTA_TRY(vta_uio_find_memory(dir, name, set->memory, nodes, &count, diag));
    for (uint32_t i = 0; i < count; i++) {
        VTA_TRY(vta_uio_memory_open(&nodes[i], &d->memories[d->memory_count], diag));
        d->memory_count++;
    }
    return VTA_OK;
}

static vta_status open_parts(uio_device *d, vta_opening *opening, vta_diag *diag)
{
    const uio_options *set = opening->options;
    uio_node node;
    char name[UIO_NAME];
    vta_uio_core_name(set->name, opening->core, name);
    VTA_TRY(vta_uio_find(opening->place, name, &node, diag));
    VTA_TRY(vta_uio_page_open(&node, d->where, &d->page, diag));
    d->page.mmio.stop = opening->stop;
    d->page.mmio.again = opening->again;
    VTA_TRY(vta_mmio_config(&d->page.mmio, d->where, &opening->config, diag));
    opening->cores = vta_uio_count(opening->place, set->name);
    return open_memories(d, opening->place, set->name, set, diag);
}

static vta_status open_uio(vta_opening *opening, vta_diag *diag)
{
    const uio_options *set = opening->options;
    uio_device *d = calloc(1, sizeof *d);
    if (d == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for device '%s'", opening->uri);
    }
    name_place(d->where, sizeof d->where, opening->scheme, opening->place, opening->core);
    d->page = (uio_page){.fd = -1, .irq_fd = -1, .unmask_fd = -1};
    d->watchdog = set->watchdog;
    d->turn = (uio_turn){.wait_s = (double)set->queue, .stop = opening->stop};
    if (opening->progress != NULL) {
        d->turn.progress = *opening->progress;
    }
    const vta_status status = open_parts(d, opening, diag);
    if (status != VTA_OK) {
        uio_close(d);
        return status;
    }
    opening->ops = &ops;
    opening->self = d;
    return VTA_OK;
}

const vta_backend_kind vta_uio_kind = {
    .has_cores = true,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(uio_options),
    .defaults = &defaults,
    .open = open_uio,
};

/* ---- looking for what is wrong */

bool vta_uio_is(const char *uri)
{
    return uri != NULL && strncmp(uri, "uio", 3) == 0 && (uri[3] == '\0' || uri[3] == ':' || uri[3] == '?');
}

/* `open`: looks into it, too, and adds what is free to `r`. */
static vta_status survey_memory(const char *dir, const uio_options *set, bool open, room *r, char *text,
                                size_t size, vta_diag *diag)
{
    uio_memory_node nodes[UIO_MEMORIES];
    uint32_t count;
    int used = 0;
    VTA_TRY(vta_uio_find_memory(dir, set->name, set->memory, nodes, &count, diag));
    for (uint32_t i = 0; i < count && used >= 0 && (size_t)used < size; i++) {
        uio_memory memory;
        uint64_t piece = 0;
        if (open) {
            VTA_TRY(vta_uio_memory_open(&nodes[i], &memory, diag));
            piece = add_room(r, &memory);
            vta_uio_memory_close(&memory);
        }
        used += snprintf(text + used, size - (size_t)used,
                         "%s%s: %" PRIu64 " KiB at 0x%" PRIx64 ", %" PRIu64 " KiB free in one piece, %s",
                         i > 0 ? "; " : "", nodes[i].node, nodes[i].bytes >> 10, nodes[i].addr, piece >> 10,
                         nodes[i].coherent ? "coherent"
                         : nodes[i].copied ? "copied for each run, since the kernel has no module u-dma-buf"
                                           : "caches are maintained");
    }
    return VTA_OK;
}

/* Opens the register page of a core. */
static vta_status survey_core(const char *dir, const uio_options *set, uint32_t core, bool *guarded,
                              uio_node *node, vta_diag *diag)
{
    char name[UIO_NAME];
    uio_page page;
    vta_uio_core_name(set->name, core, name);
    VTA_TRY(vta_uio_find(dir, name, node, diag));
    VTA_TRY(vta_uio_page_open(node, "uio", &page, diag));
    *guarded = *guarded && VTA_REG_GET(GUARD_WINDOWS, page.mmio.read(&page, VTA_REG_GUARD)) != 0;
    vta_uio_page_close(&page);
    return VTA_OK;
}

/* The nodes of all cores in a list; `guarded`, unless NULL: opens them, and all have their windows set. */
static vta_status survey_cores(const char *dir, const uio_options *set, bool *guarded, char *text,
                               size_t size, vta_diag *diag)
{
    uint32_t core = 0;
    int used = 0;
    do {
        char name[UIO_NAME];
        uio_node node;
        vta_uio_core_name(set->name, core, name);
        VTA_TRY(guarded != NULL ? survey_core(dir, set, core, guarded, &node, diag)
                                : vta_uio_find(dir, name, &node, diag));
        used += snprintf(text + used, size - (size_t)used, guarded != NULL ? "%s%s" : "%s%s is '%s'",
                         core > 0 ? ", " : "", node.node, name);
        core++;
    } while (core < vta_uio_count(dir, set->name) && used >= 0 && (size_t)used < size);
    return VTA_OK;
}

static vta_status survey_part(const vta_uri *uri, const uio_options *set, vta_uio_part part, char *text,
                              size_t size, vta_diag *diag)
{
    enum { MIN = 64 << 10 }; /* a small program and its data */
    const char *dir = uri->place;
    room r = {0};
    bool guarded = true;
    char other[UIO_PATH];
    if (part == VTA_UIO_TEMPERATURE) {
        return vta_uio_temperature(dir, text, size, diag);
    }
    if (part == VTA_UIO_MEMORY) {
        VTA_TRY(survey_memory(dir, set, true, &r, text, size, diag));
        name_place(other, sizeof other, uri->scheme, dir, 0);
        return r.piece >= MIN ? VTA_OK : too_little(other, MIN, &r, diag);
    }
    if (part == VTA_UIO_NODE) {
        VTA_TRY(survey_cores(dir, set, NULL, text, size, diag));
        return survey_memory(dir, set, false, &r, other, sizeof other, diag);
    }
    VTA_TRY(survey_cores(dir, set, &guarded, text, size, diag));
    if (part == VTA_UIO_WINDOWS) {
        (void)snprintf(text, size, "%s",
                       guarded
                           ? "in force: programs reach the memory that the system has set, and no other"
                           : "not set: whoever may use the accelerator can read and write all memory; 'sudo "
                             "vta-load' sets them");
        return VTA_OK;
    }
    VTA_TRY(survey_memory(dir, set, true, &r, other, sizeof other, diag));
    (void)snprintf(text + strlen(text), size - strlen(text), " and the memory can be opened");
    return VTA_OK;
}

vta_status vta_uio_survey(const char *uri, vta_uio_part part, char *text, size_t size, vta_diag *diag)
{
    vta_uri parsed;
    uio_options set = defaults;
    const vta_option_set sets[] = {{options, sizeof options / sizeof options[0], &set}};
    text[0] = '\0';
    VTA_TRY(vta_uri_parse(uri, &parsed, diag));
    parsed.passes_options = true;
    vta_status status = vta_uri_options(&parsed, sets, 1, diag);
    status = status == VTA_OK ? survey_part(&parsed, &set, part, text, size, diag) : status;
    vta_uri_free(&parsed);
    return status;
}

bool vta_uio_get_clock(const char *uri, double *hertz)
{
    vta_uri parsed;
    if (vta_uri_parse(uri, &parsed, NULL) != VTA_OK) {
        return false;
    }
    const bool good = vta_uio_clock_rate(parsed.place, hertz);
    vta_uri_free(&parsed);
    return good;
}

bool vta_uio_set_clock(const char *uri, double hertz)
{
    vta_uri parsed;
    if (vta_uri_parse(uri, &parsed, NULL) != VTA_OK) {
        return false;
    }
    const bool good = vta_uio_clock_set(parsed.place, hertz);
    vta_uri_free(&parsed);
    return good;
}
