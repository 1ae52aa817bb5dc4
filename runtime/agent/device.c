/* SPDX-License-Identifier: Apache-2.0
 *
 * A device for a client elsewhere: its memory here is what the client's copy is brought to and from.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "vta/remote.h"
#include "vta/uri.h"

void agent_device_close(agent *a)
{
    for (uint32_t i = 0; a->device != NULL && i < AGENT_BLOCKS; i++) {
        vta_device_free(a->device, &a->blocks[i]);
    }
    vta_device_close(a->device);
    a->device = NULL;
    a->block_bytes = 0;
}

/* True if a URI asks for programs that the checker does not see. */
static bool asks_unchecked(const char *uri)
{
    const char *value;
    size_t size;
    return vta_uri_option(uri, "check", &value, &size) && (size != 1 || *value != '1');
}

vta_status agent_takes(const agent *a, const char *uri, vta_diag *diag)
{
    if (vta_remote_is(uri)) {
        return vta_fail(diag, VTA_UNSUPPORTED, "an agent opens no device of another machine, such as '%s'",
                        uri);
    }
    if (asks_unchecked(uri) && !a->is_unchecked) {
        return vta_fail(
            diag, VTA_UNSUPPORTED,
            "this agent checks every program; start it as 'vtac-agent --stdio --unchecked' for '%s'", uri);
    }
    return VTA_OK;
}

static vta_status need_device(const agent *a, vta_diag *diag)
{
    return a->device != NULL ? VTA_OK : vta_fail(diag, VTA_PROTOCOL, "no device is open");
}

/* The checker sees every program that comes over the line: what it could do to the memory of this machine is
 * not the client's to decide, but of who started the agent. */
static vta_status open_checked(agent *a, const char *uri, const vta_config *expected, vta_diag *diag)
{
    const char *value;
    size_t size;
    vta_str full = {0};
    vta_str_put(&full, uri);
    if (!vta_uri_option(uri, "check", &value, &size)) {
        vta_str_printf(&full, "%ccheck=1", strchr(uri, '?') == NULL ? '?' : '&');
    }
    const vta_status status =
        full.failed ? vta_fail(diag, VTA_NOMEM, "no memory for device '%s'", uri)
                    : vta_device_open_progress(full.text, expected, a->progress, &a->device, diag);
    vta_str_free(&full);
    return status;
}

vta_status agent_open(agent *a, vta_content *in, vta_str *out, vta_diag *diag)
{
    vta_config expected;
    const char *uri = vta_get_text(in);
    const char *json = vta_get_text(in);
    VTA_TRY(agent_read(in, diag));
    VTA_TRY(agent_takes(a, uri, diag));
    agent_device_close(a);
    if (*json != '\0') {
        VTA_TRY(vta_config_parse(json, "the client's configuration", &expected, diag));
    }
    VTA_TRY(open_checked(a, uri, *json != '\0' ? &expected : NULL, diag));
    char *text = vta_config_to_json(vta_device_config(a->device));
    vta_put_text(out, vta_device_uri(a->device));
    vta_put_text(out, text != NULL ? text : "");
    free(text);
    return VTA_OK;
}

vta_status agent_alloc(agent *a, vta_content *in, vta_str *out, vta_diag *diag)
{
    const uint64_t addr = vta_get_u64(in);
    const uint64_t size = vta_get_u64(in);
    uint32_t block = 0;
    VTA_TRY(agent_read(in, diag));
    VTA_TRY(need_device(a, diag));
    while (block < AGENT_BLOCKS && a->blocks[block].host != NULL) {
        block++;
    }
    if (block == AGENT_BLOCKS || size > AGENT_BYTES - a->block_bytes) {
        return vta_fail(diag, VTA_NOMEM,
                        "%" PRIu64 " bytes are too much beside %" PRIu64 " of at most %" PRIu64, size,
                        a->block_bytes, AGENT_BYTES);
    }
    vta_mem *mem = &a->blocks[block];
    VTA_TRY(addr == UINT64_MAX ? vta_device_alloc(a->device, (size_t)size, mem, diag)
                               : vta_device_alloc_at(a->device, addr, (size_t)size, mem, diag));
    a->block_bytes += size;
    vta_put_u32(out, block);
    vta_put_u64(out, mem->addr);
    return VTA_OK;
}

/* The end of a request, and the block that it is about. NULL: there is none, as `diag` says. */
static vta_mem *read_block(agent *a, vta_content *in, uint32_t block, vta_diag *diag)
{
    if (agent_read(in, diag) != VTA_OK || need_device(a, diag) != VTA_OK) {
        return NULL;
    }
    if (block >= AGENT_BLOCKS || a->blocks[block].host == NULL) {
        (void)vta_fail(diag, VTA_RANGE, "there is no block %" PRIu32, block);
        return NULL;
    }
    return &a->blocks[block];
}

vta_status agent_release(agent *a, vta_content *in, vta_str *out, vta_diag *diag)
{
    const uint32_t block = vta_get_u32(in);
    (void)out;
    vta_mem *mem = read_block(a, in, block, diag);
    if (mem == NULL) {
        return diag->code;
    }
    a->block_bytes -= mem->size;
    vta_device_free(a->device, mem);
    return VTA_OK;
}

static vta_status inside(const vta_mem *mem, uint64_t offset, uint32_t size, vta_diag *diag)
{
    return size <= mem->size && offset <= mem->size - size && size <= VTA_WIRE_CHUNK
               ? VTA_OK
               : vta_fail(diag, VTA_RANGE, "%" PRIu32 " bytes at %" PRIu64 " are not in a block of %zu", size,
                          offset, mem->size);
}

vta_status agent_write(agent *a, vta_content *in, vta_str *out, vta_diag *diag)
{
    const uint32_t block = vta_get_u32(in);
    const uint64_t offset = vta_get_u64(in);
    uint32_t size;
    const uint8_t *bytes = vta_get_bytes(in, &size);
    (void)out;
    vta_mem *mem = read_block(a, in, block, diag);
    if (mem == NULL) {
        return diag->code;
    }
    VTA_TRY(inside(mem, offset, size, diag));
    memcpy((uint8_t *)mem->host + offset, bytes, size);
    vta_device_flush(a->device, mem, (size_t)offset, size);
    return VTA_OK;
}

vta_status agent_fetch(agent *a, vta_content *in, vta_str *out, vta_diag *diag)
{
    const uint32_t block = vta_get_u32(in);
    const uint64_t offset = vta_get_u64(in);
    const uint32_t size = vta_get_u32(in);
    vta_mem *mem = read_block(a, in, block, diag);
    if (mem == NULL) {
        return diag->code;
    }
    VTA_TRY(inside(mem, offset, size, diag));
    vta_device_invalidate(a->device, mem, (size_t)offset, size);
    vta_put_bytes(out, (const uint8_t *)mem->host + offset, size);
    return VTA_OK;
}

vta_status agent_run(agent *a, vta_content *in, vta_str *out, vta_diag *diag)
{
    vta_launch launch = {.insn_addr = vta_get_u64(in), .insn_count = vta_get_u32(in)};
    for (uint32_t i = 0; i < VTA_SEGMENTS; i++) {
        launch.base[i] = vta_get_u64(in);
    }
    const double timeout_s = vta_get_f64(in);
    VTA_TRY(agent_read(in, diag));
    VTA_TRY(need_device(a, diag));
    VTA_TRY(vta_device_submit(a->device, &launch, diag));
    vta_report report;
    vta_diag end = {0};
    agent_running(a, a->device, NULL);
    const vta_status status = vta_device_wait(a->device, timeout_s > 0 ? timeout_s : 0, &report, &end);
    agent_running(a, NULL, NULL);
    uint64_t counters[sizeof report.counters / sizeof(uint64_t)];
    memcpy(counters, &report.counters, sizeof counters);
    vta_put_u32(out, (uint32_t)status);
    vta_put_text(out, end.text);
    vta_put_u32(out, (uint32_t)report.error);
    vta_put_u32(out, (uint32_t)report.unit);
    vta_put_u32(out, report.insn);
    vta_put_u32(out, sizeof counters / sizeof counters[0]);
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        vta_put_u64(out, counters[i]);
    }
    return VTA_OK;
}

vta_status agent_account(agent *a, vta_content *in, vta_str *out, vta_diag *diag)
{
    enum { ROW = VTA_CYCLE_CLASSES * 8, ROWS = VTA_WIRE_CHUNK / ROW };
    const uint32_t first = vta_get_u32(in);
    uint32_t count = 0;
    VTA_TRY(agent_read(in, diag));
    VTA_TRY(need_device(a, diag));
    const uint64_t *account = vta_device_account(a->device, &count);
    const uint32_t left = account != NULL && first < count ? count - first : 0;
    const uint32_t here = left < ROWS ? left : ROWS;
    vta_put_u32(out, account != NULL ? count : 0);
    vta_put_u32(out, here);
    for (size_t i = 0; i < (size_t)here * VTA_CYCLE_CLASSES; i++) {
        vta_put_u64(out, account[(size_t)first * VTA_CYCLE_CLASSES + i]);
    }
    return VTA_OK;
}

vta_status agent_reset(agent *a, vta_content *in, vta_str *out, vta_diag *diag)
{
    (void)out;
    VTA_TRY(agent_read(in, diag));
    VTA_TRY(need_device(a, diag));
    return vta_device_reset(a->device, diag);
}
