/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices of the process: sessions that name the same device share it, since a board has one accelerator.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "plug_internal.h"
#include "vta/fail.h"

struct vtac_plug_device {
    char *uri;
    vta_device *device;
    uint32_t users;
    const vtac_plug *opener; /* the session whose log hears what the open waits for; NULL afterwards */
    vtac_plug_device *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static vtac_plug_device *devices; /* under `lock` */

static void say_wait(void *context, const char *line)
{
    const vtac_plug_device *device = context;
    if (device->opener != NULL) {
        vtac_plug_say(device->opener, false, "%s", line);
    }
}

static vtac_plug_device *find_device(const char *uri, const vta_config *expected)
{
    for (vtac_plug_device *d = devices; d != NULL; d = d->next) {
        if (strcmp(d->uri, uri) == 0 &&
            (expected == NULL || vta_device_config(d->device)->hash == expected->hash)) {
            return d;
        }
    }
    return NULL;
}

static vta_status add_device(const char *uri, const vta_config *expected, const vtac_plug *plug,
                             vtac_plug_device **out, vta_diag *diag)
{
    vtac_plug_device *d = calloc(1, sizeof *d);
    const vta_progress progress = {.line = say_wait, .context = d};
    char *name = strdup(uri);
    vta_status status = vta_allocated(d != NULL && name != NULL, diag);
    if (status == VTA_OK) {
        d->opener = plug;
        status = vta_device_open_progress(uri, expected, &progress, &d->device, diag);
        d->opener = NULL;
    }
    if (status != VTA_OK) {
        free(d);
        free(name);
        return status;
    }
    d->uri = name;
    d->next = devices;
    devices = d;
    *out = d;
    return VTA_OK;
}

vta_status vtac_plug_device_open(const char *uri, const vta_config *expected, const vtac_plug *plug,
                                 vtac_plug_device **out, vta_diag *diag)
{
    (void)pthread_mutex_lock(&lock);
    vta_status status = VTA_OK;
    *out = find_device(uri, expected);
    if (*out == NULL) {
        status = add_device(uri, expected, plug, out, diag);
    }
    if (status == VTA_OK) {
        (*out)->users++;
    }
    (void)pthread_mutex_unlock(&lock);
    return status;
}

vta_device *vtac_plug_device_of(const vtac_plug_device *device)
{
    return device != NULL ? device->device : NULL;
}

void vtac_plug_device_close(vtac_plug_device *device)
{
    if (device == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&lock);
    if (--device->users == 0) {
        vtac_plug_device **at = &devices;
        while (*at != device) {
            at = &(*at)->next;
        }
        *at = device->next;
        vta_device_close(device->device);
        free(device->uri);
        free(device);
    }
    (void)pthread_mutex_unlock(&lock);
}
