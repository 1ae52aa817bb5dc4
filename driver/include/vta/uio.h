/* SPDX-License-Identifier: Apache-2.0
 *
 * What a board's device says of itself before it is opened, for those who look for what is wrong.
 */
#ifndef VTA_UIO_H
#define VTA_UIO_H

#include <stdbool.h>
#include <stddef.h>

#include "vta/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vta_uio_part {
    VTA_UIO_NODE,       /* the register page */
    VTA_UIO_RIGHTS,     /* to open all that is needed */
    VTA_UIO_MEMORY,     /* contiguous memory, and how much of it is free */
    VTA_UIO_WINDOWS,    /* whether the system confines the accelerator to windows of memory */
    VTA_UIO_TEMPERATURE /* of whatever has a sensor */
} vta_uio_part;

/* True where a device URI names a UIO device of this machine. */
bool vta_uio_is(const char *uri);

/* A sentence about a part of the device `uri`; a failure says what to do. */
vta_status vta_uio_survey(const char *uri, vta_uio_part part, char *text, size_t size, vta_diag *diag);

/* The rate of the accelerator's clock, where the kernel lets this process read it, and set it. */
bool vta_uio_get_clock(const char *uri, double *hertz);
bool vta_uio_set_clock(const char *uri, double hertz);

/* The processor time, in seconds, that this thread has spent until registers had taken its commands: a
 * board's have at once, those of a virtual board ('vtac board') when its process comes to them. */
double vta_uio_waited(void);

#ifdef __cplusplus
}
#endif
#endif
