/* SPDX-License-Identifier: Apache-2.0 */
#include "mmio.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vta/clock.h"
#include "vta/regs.h"
#include "vta/str.h"

enum { RESET_POLLS = 1000 };

static uint32_t get(const vta_mmio *mmio, uint32_t offset)
{
    return mmio->read(mmio->context, offset);
}

static void put(const vta_mmio *mmio, uint32_t offset, uint32_t value)
{
    mmio->write(mmio->context, offset, value);
}

static uint64_t get64(const vta_mmio *mmio, uint32_t low_offset)
{
    const uint64_t low = get(mmio, low_offset);
    return low | (uint64_t)get(mmio, low_offset + 4) << 32;
}

static void put64(const vta_mmio *mmio, uint32_t low_offset, uint64_t value)
{
    put(mmio, low_offset, (uint32_t)value);
    put(mmio, low_offset + 4, (uint32_t)(value >> 32));
}

/* Identification. */

static vta_status check_id(const vta_mmio *mmio, const char *where, vta_diag *diag)
{
    const uint32_t id = get(mmio, VTA_REG_ID);
    if (id != VTA_REG_ID_VALUE) {
        return vta_fail(diag, VTA_NO_DEVICE,
                        "device '%s': identification register holds 0x%08" PRIx32
                        ", not 0x%08x; the accelerator is not "
                        "loaded or not at this address",
                        where, id, (unsigned)VTA_REG_ID_VALUE);
    }
    const uint32_t version = get(mmio, VTA_REG_VERSION);
    const int major = (int)VTA_REG_GET(VERSION_MAJOR, version);
    const int minor = (int)VTA_REG_GET(VERSION_MINOR, version);
    if (major != VTA_ISA_MAJOR || minor < VTA_ISA_MINOR) {
        return vta_fail(diag, VTA_CONFIG_MISMATCH,
                        "device '%s' speaks ISA version %" PRIu32 ".%" PRIu32
                        ", this software %d.%d; load hardware and "
                        "software of the same release",
                        where, major, minor, VTA_ISA_MAJOR, VTA_ISA_MINOR);
    }
    return VTA_OK;
}

/* The registers as the text of a configuration, so that the one parser derives and checks the rest. */
static char *config_text(const vta_mmio *mmio)
{
    static const uint16_t rows[] = {
#define VTA_CONFIG(field, key, def, min, max, hw, doc) (hw) != 0 ? offsetof(vta_config, field) : 0,
#include "vta/config.def"
#undef VTA_CONFIG
    };
    vta_config config;
    uint32_t offset = VTA_REG_CONFIG0;
    if (vta_config_parse("{}", "", &config, NULL) != VTA_OK) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i] != 0) {
            const uint32_t value = get(mmio, offset);
            memcpy((char *)&config + rows[i], &value, sizeof value);
            offset += 4;
        }
    }
    return vta_config_to_json(&config);
}

/* Registers hold no name: that of a shipped configuration with the same values, else "". */
static void name_it(vta_config *config)
{
    uint32_t count;
    const char *const *names = vta_config_names(&count);
    config->name[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        vta_config shipped;
        if (vta_config_load(names[i], &shipped, NULL) == VTA_OK && shipped.hash == config->hash) {
            *config = shipped;
        }
    }
}

vta_status vta_mmio_config(const vta_mmio *mmio, const char *where, vta_config *out, vta_diag *diag)
{
    VTA_TRY(check_id(mmio, where, diag));
    char *text = config_text(mmio);
    if (text == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for the configuration of device '%s'", where);
    }
    const vta_status status = vta_config_parse(text, where, out, diag);
    free(text);
    VTA_TRY(status);
    name_it(out);
    const uint64_t hash = get64(mmio, VTA_REG_HASH_LO);
    if (hash != out->hash) {
        return vta_fail(diag, VTA_CONFIG_MISMATCH,
                        "device '%s': its registers give configuration hash %016" PRIx64
                        ", its fields %016" PRIx64 "; the hardware was built by another release",
                        where, hash, out->hash);
    }
    return VTA_OK;
}

vta_status vta_mmio_probe(const vta_mmio *mmio, const char *where, const vta_config *config, vta_diag *diag)
{
    VTA_TRY(check_id(mmio, where, diag));
    if (get64(mmio, VTA_REG_HASH_LO) == config->hash) {
        return VTA_OK;
    }
    vta_config found;
    VTA_TRY(vta_mmio_config(mmio, where, &found, diag));
    char fields[512];
    (void)vta_config_diff(config, &found, fields, sizeof fields);
    return vta_fail(
        diag, VTA_CONFIG_MISMATCH,
        "device '%s' does not have configuration '%s': it differs in %s; load the hardware of '%s', or "
        "choose the device's own configuration with '--config'",
        where, config->name, fields, config->name);
}

/* Running. */

/* The address of the instructions to run: `again` where the registers still name the last run. Another
 * process has other memory, and a device that was without power has no address. */
static uint64_t program_of(const vta_mmio *mmio, const vta_launch *launch)
{
    const uint64_t again = mmio->again != NULL ? *mmio->again : 0;
    if (again == 0) {
        return launch->insn_addr;
    }
    const uint64_t last = get64(mmio, VTA_REG_INSN_ADDR_LO);
    return last == launch->insn_addr || last == again ? again : launch->insn_addr;
}

void vta_mmio_start(const vta_mmio *mmio, const vta_launch *launch, uint32_t watchdog)
{
    put64(mmio, VTA_REG_INSN_ADDR_LO, program_of(mmio, launch));
    put(mmio, VTA_REG_INSN_COUNT, launch->insn_count);
    for (uint32_t i = 0; i < VTA_SEGMENTS; i++) {
        put64(mmio, VTA_REG_BASE0_LO + 8 * i, launch->base[i]);
    }
    put(mmio, VTA_REG_WATCHDOG, watchdog);
    put(mmio, VTA_REG_IRQ_STATUS, VTA_REG_PUT(IRQ_STATUS_ENDED, 1));
    put(mmio, VTA_REG_IRQ_ENABLE, VTA_REG_PUT(IRQ_ENABLE_ENDED, 1));
    put(mmio, VTA_REG_CONTROL, VTA_REG_PUT(CONTROL_START, 1));
}

vta_status vta_mmio_reset(const vta_mmio *mmio, const char *where, vta_diag *diag)
{
    const double poll_s = 1e-6;
    put(mmio, VTA_REG_CONTROL, VTA_REG_PUT(CONTROL_RESET, 1));
    for (int i = 0; i < RESET_POLLS; i++) {
        if (VTA_REG_GET(STATUS_BUSY, get(mmio, VTA_REG_STATUS)) == 0) {
            put(mmio, VTA_REG_IRQ_STATUS, VTA_REG_PUT(IRQ_STATUS_ENDED, 1));
            return VTA_OK;
        }
        VTA_TRY(mmio->wait(mmio->context, poll_s, diag));
    }
    return vta_fail(diag, VTA_PROTOCOL, "device '%s' stays busy after a soft reset; load the hardware again",
                    where);
}

/* A counter that cannot be above `most`: a read of a register costs a board's processor a tenth of a
 * microsecond and more, so an upper word that must be 0 is left alone. */
static uint64_t get_counter(const vta_mmio *mmio, uint32_t low_offset, uint64_t max)
{
    return max > UINT32_MAX ? get64(mmio, low_offset) : get(mmio, low_offset);
}

/* The counters stand in regs.def in the order of vta_counters, 8 bytes each. What one can grow by in a cycle
 * is ISA.md's (section 12). */
static void read_counters(const vta_mmio *mmio, vta_counters *out)
{
    enum { COUNT = sizeof *out / sizeof(uint64_t), MAX_BYTES = 1023 };
    _Static_assert(VTA_REG_OUT_BYTES == VTA_REG_CYCLES + 8 * (COUNT - 1), "one register pair per counter");
    _Static_assert(VTA_REG_GEMM_STEPS == VTA_REG_CYCLES + offsetof(vta_counters, gemm_steps),
                   "in the same order");
    _Static_assert(VTA_REG_FETCH_BYTES == VTA_REG_CYCLES + offsetof(vta_counters, fetch_bytes),
                   "those of bytes come last");
    uint64_t values[COUNT] = {get64(mmio, VTA_REG_CYCLES)};
    const uint64_t cycles = values[0];
    const uint64_t bytes = cycles <= UINT32_MAX ? cycles * MAX_BYTES : cycles;
    for (uint32_t i = 1; i < COUNT; i++) {
        const uint32_t offset = VTA_REG_CYCLES + 8 * i;
        values[i] = get_counter(mmio, offset, offset < VTA_REG_FETCH_BYTES ? cycles : bytes);
    }
    memcpy(out, values, sizeof *out);
}

static vta_status read_end(const vta_mmio *mmio, const char *where, uint32_t status, vta_report *report,
                           vta_diag *diag)
{
    put(mmio, VTA_REG_IRQ_STATUS, VTA_REG_PUT(IRQ_STATUS_ENDED, 1));
    read_counters(mmio, &report->counters);
    if (VTA_REG_GET(STATUS_ERROR, status) == 0) {
        return VTA_OK;
    }
    const uint32_t error = get(mmio, VTA_REG_ERROR);
    report->insn = get(mmio, VTA_REG_ERROR_INSN);
    report->error = (vta_error)VTA_REG_GET(ERROR_CODE, error);
    const uint32_t unit = VTA_REG_GET(ERROR_UNIT, error);
    if (report->error == VTA_ERROR_NONE || unit >= VTA_UNIT_COUNT) {
        return vta_fail(diag, VTA_PROTOCOL,
                        "device '%s' reports an error without meaning: error register 0x%08" PRIx32, where,
                        error);
    }
    report->unit = (vta_unit)unit;
    const bool on_bus = report->error == VTA_ERROR_READ_BUS || report->error == VTA_ERROR_WRITE_BUS ||
                        report->error == VTA_ERROR_FETCH_BUS;
    const bool refused = VTA_REG_GET(ERROR_REFUSED, error) != 0;
    const uint64_t address = on_bus ? get64(mmio, VTA_REG_ERROR_ADDR_LO) : 0;
    VTA_TRY(vta_mmio_reset(mmio, where, diag));
    if (diag != NULL && (refused || address != 0)) {
        (void)snprintf(diag->text, sizeof diag->text, " at 0x%" PRIx64 "%s", address,
                       refused ? ", outside of the DMA windows that the system has set" : "");
    }
    return VTA_OK;
}

static bool has_ended(uint32_t status)
{
    return VTA_REG_GET(STATUS_DONE, status) != 0 || VTA_REG_GET(STATUS_ERROR, status) != 0;
}

vta_status vta_mmio_finish(const vta_mmio *mmio, const char *where, double timeout_s, vta_report *report,
                           vta_diag *diag)
{
    const double slice_s = 0.1; /* between two looks at `stop` */
    double end =
        0; /* known when the first wait was not enough: a look at the clock is a system call on some boards */
    uint32_t status = get(mmio, VTA_REG_STATUS);
    double left = timeout_s > 0 ? timeout_s : slice_s;
    bool stopped = false;
    while (!has_ended(status) && left > 0 && !stopped) {
        const double slice = left < slice_s ? left : slice_s;
        VTA_TRY(mmio->wait(mmio->context, slice, diag));
        status = get(mmio, VTA_REG_STATUS);
        if (has_ended(status)) {
            break;
        }
        end = end > 0 ? end : vta_now() + timeout_s - slice;
        left = timeout_s > 0 ? end - vta_now() : slice_s;
        stopped = vta_stop_wanted(mmio->stop);
    }
    if (has_ended(status)) {
        return read_end(mmio, where, status, report, diag);
    }
    VTA_TRY(vta_mmio_reset(mmio, where, diag));
    return stopped ? VTA_INTERRUPTED : VTA_TIMEOUT;
}
