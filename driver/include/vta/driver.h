/* SPDX-License-Identifier: Apache-2.0
 *
 * One interface to every accelerator: a device is opened by URI, gives memory that both sides see, and runs
 * programs.
 *
 *   fsim[:CONFIG][?strict=1]                    functional simulator; CONFIG is a shipped name or a JSON file
 *   tsim[:CONFIG][?stall=PERCENT&seed=N&…]      cycle-accurate RTL
 *   systemc[:CONFIG][?…]                        RTL in its SystemC platform
 *   uio[:DIR]                                   the board's Linux driver
 *   ssh://[USER@]HOST[:PORT][/DEVICE]           a device on another machine (remote.h)
 *   pipe:COMMAND[?device=DEVICE]                the same through any command that talks like vtac-agent
 *
 * Every device takes the option check=1: vta_check sees each program before it runs. VTA_CHECK=1 or 0 in the
 * environment sets what holds where the URI does not say.
 *
 * Several devices can be open at once; one device is used by one thread at a time, different ones freely.
 * Threads that share one take it first (vta_device_take); models do so by themselves. After a fork the child
 * has fsim and tsim as its own copy; every other device it must open again.
 */
#ifndef VTA_DRIVER_H
#define VTA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/launch.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct vta_device vta_device;

/* Memory that host and device share. `host` is valid until it is freed. */
typedef struct vta_mem {
    void *host;
    uint64_t addr; /* device address, multiple of VTA_BASE_ALIGN */
    size_t size;
} vta_mem;

/* Opens a device. `expected` is the configuration that the program was made for; each field is compared with
 * the device's. NULL: any configuration will do. A simulator whose URI names no configuration takes
 * `expected`. */
vta_status vta_device_open(const char *uri, const vta_config *expected, vta_device **out, vta_diag *diag);

/* The same for a device that may have to be made first (an RTL simulator) or that others use (a board):
 * `line` gets a line of text, without a newline, whenever there is something to wait for, and every 30 s
 * while a simulator is built. `waits` is called again and again while another process has the device, and
 * once more with `over`; what it returns ends the wait. Each of the three may be NULL; `context` must outlive
 * the device. */
typedef struct vta_progress {
    void (*line)(void *context, const char *line);
    void *context;
    bool (*waits)(void *context, bool over);
} vta_progress;
vta_status vta_device_open_progress(const char *uri, const vta_config *expected, const vta_progress *progress,
                                    vta_device **out, vta_diag *diag);

void vta_device_close(vta_device *device);

const vta_config *vta_device_config(const vta_device *device);

/* As it was opened, a simulator's with the name of its configuration. */
const char *vta_device_uri(const vta_device *device);

/* Zeros. A size that is beyond the device's memory, or for a simulator the machine's, is refused. */
vta_status vta_device_alloc(vta_device *device, size_t size, vta_mem *out, vta_diag *diag);

/* At a given address: simulators only, for raw programs with physical addresses. */
vta_status vta_device_alloc_at(vta_device *device, uint64_t addr, size_t size, vta_mem *out, vta_diag *diag);
void vta_device_free(vta_device *device, vta_mem *mem);

/* Before the device reads what the host wrote, and before the host reads what the device wrote. Free where
 * memory is coherent. */
void vta_device_flush(vta_device *device, const vta_mem *mem, size_t offset, size_t size);
void vta_device_invalidate(vta_device *device, const vta_mem *mem, size_t offset, size_t size);

/* Reports that the connection to the memory was lost, which a flush or an invalidate cannot report. To be
 * called after the last invalidate and before its bytes are believed; a run asks by itself. */
vta_status vta_device_trouble(vta_device *device, vta_diag *diag);

/* The device for the calling thread alone, until it gives it back: the highest priority first, among equals
 * who came first; those who wait gain on those who come after them, so that everybody's turn comes. */
vta_status vta_device_take(vta_device *device, int32_t priority, vta_diag *diag);
void vta_device_give(vta_device *device);

/* Starts a run. The device must be idle. */
vta_status vta_device_submit(vta_device *device, const vta_launch *launch, vta_diag *diag);

/* Waits for its end; timeout_s <= 0 waits for ever. VTA_OK: FINISH reached. VTA_TIMEOUT: the device was reset
 * and is idle. Any other status: report->error says what the program did. `report` may be NULL. */
vta_status vta_device_wait(vta_device *device, double timeout_s, vta_report *report, vta_diag *diag);

/* Number of cycles of the run in progress that have passed, as a simulator knows while another thread waits;
 * 0 where the device does not report it. Safe from every thread. */
uint64_t vta_device_cycles(vta_device *device);

/* The cycles of the last run by class: VTA_CYCLE_CLASSES numbers for each of its *insn_count instructions,
 * valid until the next run. NULL where the device does not report them. */
const uint64_t *vta_device_account(vta_device *device, uint32_t *insn_count);

/* Makes the wait that another thread is in, or the next one, end soon with VTA_INTERRUPTED; the device was
 * reset then and is idle. Each call ends one wait. The one call that is safe from every thread, and from a
 * signal handler. */
void vta_device_interrupt(vta_device *device);

/* Stops whatever runs; the device is as after open, its memory untouched. */
vta_status vta_device_reset(vta_device *device, vta_diag *diag);

/* The bus to this device's memory, for the checker. */
vta_bus vta_device_bus(vta_device *device);

/* The registry: rows of "scheme", "doc"; `available` says whether this build has it, `alone` whether it opens
 * by its scheme alone. */
typedef struct vta_device_kind {
    const char *scheme;
    const char *doc;
    int available;
    int alone;
} vta_device_kind;
const vta_device_kind *vta_device_kinds(uint32_t *count);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
