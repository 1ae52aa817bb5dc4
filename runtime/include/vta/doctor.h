/* SPDX-License-Identifier: Apache-2.0
 *
 * What is wrong with a device: one look after the other, from its nodes to a program whose answer is known.
 */
#ifndef VTA_DOCTOR_H
#define VTA_DOCTOR_H

#include "vta/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vta_finding { VTA_FINDING_GOOD, VTA_FINDING_BAD, VTA_FINDING_SKIPPED, VTA_FINDINGS } vta_finding;

enum { VTA_DOCTOR_ROWS = 32 };
typedef struct vta_doctor_row {
    vta_finding finding;
    char name[32];
    char text[768]; /* what was found; of a bad one, what to do, too */
} vta_doctor_row;

/* Looks at the device, here or through its agent; *count rows, in order. What cannot be looked at since an
 * earlier row is bad is skipped. */
void vta_doctor(const char *uri, const vta_progress *progress, vta_doctor_row rows[VTA_DOCTOR_ROWS],
                uint32_t *count);

#ifdef __cplusplus
}
#endif
#endif
