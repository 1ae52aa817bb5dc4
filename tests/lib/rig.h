/* SPDX-License-Identifier: Apache-2.0
 *
 * The rig runs one program on several devices and compares what they leave in memory. Its reference is the
 * interpreter, the device "interp"; the others are opened through the driver by URI, with the configuration's
 * name put in and "{seed}" replaced, so that "tsim?stall=30&seed={seed}" meets other stalls every time.
 */
#ifndef VTA_TEST_RIG_H
#define VTA_TEST_RIG_H

#include "progen.h"
#include "vta/check.h"
#include "vta/driver.h"

typedef struct rig_device rig_device;

/* Opens a device for a configuration. */
vta_status rig_open(const char *uri, const vta_config *config, uint64_t seed, rig_device **out,
                    vta_diag *diag);
void rig_close(rig_device *device);
const char *rig_uri(const rig_device *device);

/* Runs the program on `arena` (arena_size bytes, in and out). VTA_OK: the report says how it ended, also when
 * the program failed. Any other status: it could not be run, did not end in time, or the device broke its own
 * rules. */
vta_status rig_run(rig_device *device, const progen_program *program, uint8_t *arena, vta_report *report,
                   vta_diag *diag);

/* vta_check on the program. */
vta_status rig_check(const progen_program *program, uint64_t data_seed, vta_violation *violation,
                     vta_diag *diag);

/* Runs the program on `device` and on the interpreter, from the data of `data_seed`. True when both reach
 * FINISH, leave the same bytes and count the same, as far as that needs no clock; otherwise `text` says what
 * differs. Events of the interpreter are added to `events` (or NULL). */
bool rig_agree(rig_device *device, const progen_program *program, uint64_t data_seed, uint64_t *events,
               char *text, size_t size);

/* The cycles of the last run in which `rig_agree` found nothing to say; 0 for a device without a clock. */
uint64_t rig_cycles(const rig_device *device);

/* True if a program fails in one way only, by an error that every device reports: the interpreter meets the
 * same one in several orders, whatever the places in its queues, and so does the checker. `expected` gets it.
 */
bool rig_fails_surely(const progen_program *program, uint64_t data_seed, vta_report *expected);

/* Runs a failing program; true when the device reports the expected error, unit and instruction, and has
 * written nothing but where the program's legal STOREs go. A deadlock may be reported as WATCHDOG. */
bool rig_fails_alike(rig_device *device, const progen_program *program, uint64_t data_seed,
                     const vta_report *expected, char *text, size_t size);

#endif
