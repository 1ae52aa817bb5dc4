/* SPDX-License-Identifier: Apache-2.0
 *
 * The devices ssh and pipe: a device of a vtac-agent elsewhere. Its memory has a copy here; flush brings a
 * piece of it there, invalidate brings one back.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "vta/clock.h"
#include "vta/fail.h"
#include "vta/remote.h"
#include "vta/room.h"
#include "vta/untrusted.h"
#include "vta/vec.h"

typedef struct block {
    uint32_t number; /* as the agent counts its blocks */
    uint64_t addr;
    size_t size;
    void *host;
} block;

typedef struct remote_device {
    vta_remote *connection;
    block *blocks;
    size_t block_count, block_capacity;
    uint64_t *account;
    uint32_t account_insns;
    bool account_known;
    vta_launch launch; /* submitted, not yet sent: the timeout comes with the wait */
    vta_diag broken;   /* what a flush or invalidate had to say: they cannot fail, the next run does */
} remote_device;

/* ---- memory */

static block *find_block(const remote_device *d, uint64_t addr, uint64_t size)
{
    for (size_t i = 0; i < d->block_count; i++) {
        block *b = &d->blocks[i];
        if (addr >= b->addr && size <= b->size && addr - b->addr <= b->size - size) {
            return b;
        }
    }
    return NULL;
}

static void *map(void *context, uint64_t addr, uint64_t size)
{
    const block *b = find_block(context, addr, size);
    return b != NULL ? (uint8_t *)b->host + (addr - b->addr) : NULL;
}

static vta_bus remote_bus(void *self)
{
    return (vta_bus){map, self};
}

static vta_status alloc_there(remote_device *d, uint64_t at, block *b, vta_diag *diag)
{
    vta_str request = {0};
    vta_content reply;
    vta_put_u64(&request, at);
    vta_put_u64(&request, b->size);
    VTA_TRY(vta_remote_call(d->connection, VTA_WIRE_ALLOC, &request, &reply, diag));
    b->number = vta_get_u32(&reply);
    b->addr = vta_get_u64(&reply);
    reply.bad = reply.bad || b->addr % VTA_BASE_ALIGN != 0 || b->addr > UINT64_MAX - b->size ||
                (at != VTA_ANYWHERE && b->addr != at);
    return vta_remote_check(d->connection, &reply, diag);
}

static vta_status remote_alloc(void *self, uint64_t at, size_t size, vta_mem *out, vta_diag *diag)
{
    remote_device *d = self;
    block *grown = vta_grow(d->blocks, &d->block_capacity, d->block_count + 1, sizeof *grown);
    d->blocks = grown != NULL ? grown : d->blocks;
    block b = {.size = size};
    void *host;
    vta_status status = vta_allocated(grown != NULL, diag);
    status =
        status == VTA_OK ? vta_room_zeros("the copy of its memory", size, 1, &b.host, &host, diag) : status;
    status = status == VTA_OK ? alloc_there(d, at, &b, diag) : status;
    if (status != VTA_OK) {
        free(b.host);
        return status;
    }
    d->blocks[d->block_count++] = b;
    *out = (vta_mem){.host = b.host, .addr = b.addr, .size = size};
    return VTA_OK;
}

static void remote_free(void *self, const vta_mem *mem)
{
    remote_device *d = self;
    block *b = find_block(d, mem->addr, mem->size);
    vta_str request = {0};
    vta_content reply;
    if (b != NULL) {
        vta_put_u32(&request, b->number);
        (void)vta_remote_call(d->connection, VTA_WIRE_FREE, &request, &reply, NULL);
        free(b->host);
        *b = d->blocks[--d->block_count];
    }
}

static vta_status send_piece(remote_device *d, const block *b, size_t offset, size_t size, vta_diag *diag)
{
    vta_str request = {0};
    vta_content reply;
    vta_put_u32(&request, b->number);
    vta_put_u64(&request, offset);
    vta_put_bytes(&request, (const uint8_t *)b->host + offset, size);
    VTA_TRY(vta_remote_call(d->connection, VTA_WIRE_WRITE, &request, &reply, diag));
    return vta_remote_check(d->connection, &reply, diag);
}

static vta_status fetch_piece(remote_device *d, const block *b, size_t offset, size_t size, vta_diag *diag)
{
    vta_str request = {0};
    vta_content reply;
    uint32_t got;
    vta_put_u32(&request, b->number);
    vta_put_u64(&request, offset);
    vta_put_u32(&request, (uint32_t)size);
    VTA_TRY(vta_remote_call(d->connection, VTA_WIRE_READ, &request, &reply, diag));
    const uint8_t *bytes = vta_get_bytes(&reply, &got);
    reply.bad = reply.bad || got != size;
    VTA_TRY(vta_remote_check(d->connection, &reply, diag));
    memcpy((uint8_t *)b->host + offset, bytes, size);
    return VTA_OK;
}

/* A range through `move`, in pieces that fit a frame, with a line now and then where it takes long. */
static void transfer(remote_device *d, const vta_mem *mem, size_t offset, size_t size, const char *what,
                     vta_status (*move)(remote_device *d, const block *b, size_t offset, size_t size,
                                        vta_diag *diag))
{
    const double often_s = 0.5;
    double told = vta_now();
    const block *b = find_block(d, mem->addr, mem->size);
    for (size_t at = 0; b != NULL && at < size && d->broken.code == VTA_OK;) {
        const size_t here = size - at < VTA_WIRE_CHUNK ? size - at : VTA_WIRE_CHUNK;
        (void)move(d, b, offset + at, here, &d->broken);
        at += here;
        if (vta_now() - told > often_s) {
            told = vta_now();
            vta_remote_tell(d->connection, "%s memory: %zu of %zu KiB", what, at / 1024, size / 1024);
        }
    }
}

static void remote_flush(void *self, const vta_mem *mem, size_t offset, size_t size)
{
    transfer(self, mem, offset, size, "sending", send_piece);
}

static void remote_invalidate(void *self, const vta_mem *mem, size_t offset, size_t size)
{
    transfer(self, mem, offset, size, "fetching", fetch_piece);
}

/* ---- running */

static vta_status remote_trouble(void *self, vta_diag *diag)
{
    const remote_device *d = self;
    return d->broken.code == VTA_OK ? VTA_OK : vta_fail(diag, d->broken.code, "%s", d->broken.text);
}

static vta_status remote_submit(void *self, const vta_launch *launch, vta_diag *diag)
{
    remote_device *d = self;
    VTA_TRY(remote_trouble(self, diag));
    d->launch = *launch;
    free(d->account);
    d->account = NULL;
    d->account_known = false;
    return VTA_OK;
}

static vta_status take_report(remote_device *d, vta_content *in, vta_report *report, vta_diag *diag)
{
    uint64_t counters[sizeof report->counters / sizeof(uint64_t)];
    char sentence[900];
    const uint32_t status = vta_get_u32(in);
    const char *text = vta_get_text(in);
    (void)vta_make_plain(text, strlen(text), sentence, sizeof sentence);
    const uint32_t error = vta_get_u32(in);
    const uint32_t unit = vta_get_u32(in);
    report->insn = vta_get_u32(in);
    in->bad = in->bad || vta_get_u32(in) != sizeof counters / sizeof counters[0];
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        counters[i] = vta_get_u64(in);
    }
    in->bad = in->bad || status >= VTA_STATUS_COUNT || error > 0xff || unit >= VTA_UNIT_COUNT;
    VTA_TRY(vta_remote_check(d->connection, in, diag));
    memcpy(&report->counters, counters, sizeof counters);
    report->error = (vta_error)error;
    report->unit = (vta_unit)unit;
    if (status == VTA_OK || report->error != VTA_ERROR_NONE || status == VTA_TIMEOUT ||
        status == VTA_INTERRUPTED) {
        return report->error != VTA_ERROR_NONE ? VTA_OK : (vta_status)status;
    }
    return vta_fail(diag, (vta_status)status, "%s",
                    *sentence != '\0' ? sentence : vta_status_text((vta_status)status));
}

static vta_status remote_wait(void *self, double timeout_s, vta_report *report, vta_diag *diag)
{
    remote_device *d = self;
    vta_str request = {0};
    vta_content reply;
    vta_put_u64(&request, d->launch.insn_addr);
    vta_put_u32(&request, d->launch.insn_count);
    for (uint32_t i = 0; i < VTA_SEGMENTS; i++) {
        vta_put_u64(&request, d->launch.base[i]);
    }
    vta_put_f64(&request, timeout_s);
    VTA_TRY(vta_remote_call(d->connection, VTA_WIRE_RUN, &request, &reply, diag));
    return take_report(d, &reply, report, diag);
}

static vta_status remote_reset(void *self, vta_diag *diag)
{
    remote_device *d = self;
    vta_content reply;
    VTA_TRY(remote_trouble(self, diag));
    VTA_TRY(vta_remote_call(d->connection, VTA_WIRE_RESET, &(vta_str){0}, &reply, diag));
    return vta_remote_check(d->connection, &reply, diag);
}

static vta_status fetch_account(remote_device *d)
{
    for (uint32_t first = 0, count = 1; first < count;) {
        vta_str request = {0};
        vta_content reply;
        vta_put_u32(&request, first);
        VTA_TRY(vta_remote_call(d->connection, VTA_WIRE_ACCOUNT, &request, &reply, NULL));
        const uint32_t all = vta_get_u32(&reply);
        const uint32_t here = vta_get_u32(&reply);
        reply.bad = reply.bad || (first > 0 && all != count) || all > d->launch.insn_count ||
                    here > all - first || (here == 0 && all > 0);
        count = reply.bad ? 0 : all;
        if (first == 0 && count > 0) {
            d->account = calloc((size_t)count * VTA_CYCLE_CLASSES, sizeof *d->account);
            d->account_insns = count;
        }
        for (size_t i = 0; d->account != NULL && !reply.bad && i < (size_t)here * VTA_CYCLE_CLASSES; i++) {
            d->account[(size_t)first * VTA_CYCLE_CLASSES + i] = vta_get_u64(&reply);
        }
        VTA_TRY(d->account != NULL || count == 0 ? vta_remote_check(d->connection, &reply, NULL) : VTA_NOMEM);
        first += here;
    }
    return VTA_OK;
}

static const uint64_t *remote_account(void *self, uint32_t *insn_count)
{
    remote_device *d = self;
    if (!d->account_known) {
        d->account_known = true;
        if (fetch_account(d) != VTA_OK) {
            free(d->account);
            d->account = NULL;
        }
    }
    *insn_count = d->account != NULL ? d->account_insns : 0;
    return d->account;
}

static void remote_close(void *self)
{
    remote_device *d = self;
    vta_remote_close(d->connection);
    for (size_t i = 0; i < d->block_count; i++) {
        free(d->blocks[i].host);
    }
    free(d->blocks);
    free(d->account);
    free(d);
}

static const vta_backend_ops ops = {
    .close = remote_close,
    .alloc = remote_alloc,
    .free = remote_free,
    .bus = remote_bus,
    .flush = remote_flush,
    .invalidate = remote_invalidate,
    .trouble = remote_trouble,
    .submit = remote_submit,
    .wait = remote_wait,
    .reset = remote_reset,
    .account = remote_account,
};

/* ---- opening */

static vta_status open_there(remote_device *d, const vta_remote_place *place, vta_opening *opening,
                             vta_diag *diag)
{
    vta_str request = {0};
    vta_content reply;
    char *json = opening->expected != NULL ? vta_config_to_json(opening->expected) : NULL;
    vta_put_text(&request, place->device);
    vta_put_text(&request, json != NULL ? json : "");
    free(json);
    VTA_TRY(vta_remote_call(d->connection, VTA_WIRE_OPEN, &request, &reply, diag));
    (void)vta_get_text(&reply);
    const char *text = vta_get_text(&reply);
    VTA_TRY(vta_remote_check(d->connection, &reply, diag));
    return vta_config_parse(text, "the configuration of the device there", &opening->config, diag);
}

static vta_status open_remote(vta_opening *opening, vta_diag *diag)
{
    const vta_remote_options how = {opening->progress, opening->stop};
    vta_remote_place place;
    VTA_TRY(vta_remote_parse(opening->uri, &place, diag));
    remote_device *d = calloc(1, sizeof *d);
    if (d == NULL) {
        vta_remote_place_free(&place);
        return vta_fail(diag, VTA_NOMEM, "no memory for device '%s'", opening->uri);
    }
    vta_status status = vta_remote_open(&place, &how, &d->connection, diag);
    status = status == VTA_OK ? open_there(d, &place, opening, diag) : status;
    vta_remote_place_free(&place);
    if (status != VTA_OK) {
        remote_close(d);
        return status;
    }
    opening->ops = &ops;
    opening->self = d;
    return VTA_OK;
}

const vta_backend_kind vta_remote_kind = {.passes_options = true, .open = open_remote};
