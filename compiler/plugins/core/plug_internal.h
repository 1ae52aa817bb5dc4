/* SPDX-License-Identifier: Apache-2.0
 *
 * The core's own: a session, the cache of compiled parts, devices that sessions share.
 */
#ifndef VTAC_PLUG_INTERNAL_H
#define VTAC_PLUG_INTERNAL_H

#include "plug.h"
#include "vta/config.h"
#include "vta/driver.h"

typedef struct vtac_plug_device vtac_plug_device;

struct vtac_plug {
    vtac_plug_settings settings;
    vtac_plug_log log;
    vta_config config;
    vtac_plug_device *device; /* NULL: another machine runs whole parts */
    char *host;               /* the processor to compile for; owned */
    char *folder;             /* of compiled parts; owned */
    bool is_temporary;        /* the folder goes with the session */
    char *config_path;        /* the configuration as a file in the folder; owned */
};

/* The value of an option, the standard one where none was given. */
const char *vtac_plug_value(const vtac_plug *plug, vtac_plug_option option);

/* ---- devices (plug_device.c) */

/* Opens a device, or takes the one that another session has. `expected` as in vta_device_open. */
vta_status vtac_plug_device_open(const char *uri, const vta_config *expected, const vtac_plug *plug,
                                 vtac_plug_device **out, vta_diag *diag);
vta_device *vtac_plug_device_of(const vtac_plug_device *device);
void vtac_plug_device_close(vtac_plug_device *device);

/* ---- the cache (plug_cache.c) */

/* Makes the folder, or a temporary one where it cannot be, and writes the configuration into it. */
vta_status vtac_plug_cache_open(vtac_plug *plug, vta_diag *diag);
void vtac_plug_cache_close(vtac_plug *plug);

/* The name of the file of `model` that has this ending; its name is of the model's bytes and of all that the
 * compiler is told. Owned: free(); NULL without memory. */
char *vtac_plug_cache_name(const vtac_plug *plug, const vtac_plug_model *model, const char *ending);

/* Puts the model into the cache unless it is there; *path is owned. */
vta_status vtac_plug_cache_keep(const vtac_plug *plug, const vtac_plug_model *model, char **path,
                                vta_diag *diag);

#endif
