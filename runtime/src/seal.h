/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a file is a whole compiled model for this machine; says why not.
 */
#ifndef VTA_SEAL_H
#define VTA_SEAL_H

#include <stddef.h>
#include <stdint.h>

#include "vta/status.h"

vta_status vta_seal_check(const uint8_t *bytes, size_t size, vta_diag *diag);

#endif
