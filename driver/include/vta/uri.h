/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of a device's URI: SCHEME[:PLACE][?NAME=VALUE[&NAME=VALUE…]].
 */
#ifndef VTA_URI_H
#define VTA_URI_H

#include <stdbool.h>
#include <stddef.h>

#include "vta/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Finds the option `name`: *value begins behind its '=' and has *size bytes. An option is found by its whole
 * name, never inside the value of another option. False: the URI has no such option. */
bool vta_uri_option(const char *uri, const char *name, const char **value, size_t *size);

/* VTA_NO_DEVICE where the scheme is no device's (driver.h). Nothing is opened. */
vta_status vta_uri_check(const char *uri, vta_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
