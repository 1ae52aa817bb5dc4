/* SPDX-License-Identifier: Apache-2.0
 *
 * Drives an accelerator through its register page (regs.def), whatever stands behind it: RTL in a simulator,
 * or a board.
 */
#ifndef VTA_MMIO_H
#define VTA_MMIO_H

#include "vta/launch.h"
#include "vta/stop.h"

/* Access to one register page. */
typedef struct vta_mmio {
    void *context;
    uint32_t (*read)(void *context, uint32_t offset);
    void (*write)(void *context, uint32_t offset, uint32_t value);

    /* Returns when the interrupt is raised, or after about `seconds` (in a simulation: lets time pass until
     * then). VTA_OK in both cases: the caller looks at the status register. Another status: the device is
     * broken. */
    vta_status (*wait)(void *context, double seconds, vta_diag *diag);

    const vta_stop *stop;  /* NULL: never; else wanted when a run is to be stopped */
    const uint64_t *again; /* NULL: never; else as vta_opening has it */
} vta_mmio;

/* Is it our accelerator, of this ISA version and of this configuration? A mismatch names the fields that
 * differ, as the registers have them, and how to get out. `where` names the device in messages. */
vta_status vta_mmio_probe(const vta_mmio *mmio, const char *where, const vta_config *config, vta_diag *diag);

/* The configuration that the registers hold, for a device that is asked what it is. */
vta_status vta_mmio_config(const vta_mmio *mmio, const char *where, vta_config *out, vta_diag *diag);

/* Programs the registers and starts. `watchdog`: cycles without progress that end the run, 0: never. */
void vta_mmio_start(const vta_mmio *mmio, const vta_launch *launch, uint32_t watchdog);

/* Waits for the end and reads how it ended; leaves the device idle and, after an error, reset. VTA_TIMEOUT:
 * the time was over, VTA_INTERRUPTED: `stop` became true; the device has been reset. VTA_OK: the report says
 * how it ended; of a bus error diag->text says where, as the end of a sentence. */
vta_status vta_mmio_finish(const vta_mmio *mmio, const char *where, double timeout_s, vta_report *report,
                           vta_diag *diag);

/* Soft reset; VTA_PROTOCOL when the device stays busy. */
vta_status vta_mmio_reset(const vta_mmio *mmio, const char *where, vta_diag *diag);

#endif
