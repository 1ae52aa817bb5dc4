/* SPDX-License-Identifier: Apache-2.0
 *
 * A session of a plug-in: its options, the device, the processor to compile for.
 */
#include "plug.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plug_internal.h"
#include "remote_host.h"
#include "vta/fail.h"
#include "vta/remote.h"

void vtac_plug_say(const vtac_plug *plug, bool warning, const char *fmt, ...)
{
    char line[1280];
    va_list args;
    if (plug->log.line == NULL || (!warning && strcmp(vtac_plug_value(plug, VTAC_PLUG_LOG), "all") != 0)) {
        return;
    }
    va_start(args, fmt);
    (void)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    line[strcspn(line, "\n")] = '\0';
    plug->log.line(plug->log.context, warning, line);
}

void vtac_plug_log_to(vtac_plug *plug, const vtac_plug_log *log)
{
    plug->log = *log;
}

static vta_status copy_settings(vtac_plug *plug, const vtac_plug_settings *settings, vta_diag *diag)
{
    for (uint32_t i = 0; i < VTAC_PLUG_OPTION_COUNT; i++) {
        if (settings->text[i] != NULL) {
            plug->settings.text[i] = strdup(settings->text[i]);
            VTA_TRY(vta_allocated(plug->settings.text[i] != NULL, diag));
        }
    }
    return VTA_OK;
}

static vta_status find_host(vtac_plug *plug, const char *device, vta_diag *diag)
{
    const char *host = vtac_plug_value(plug, VTAC_PLUG_HOST);
    if (host[0] == '\0') {
        VTA_TRY(cli_host_of(device, &host, diag));
    }
    plug->host = strdup(host);
    return vta_allocated(plug->host != NULL, diag);
}

/* The configuration is the one that was asked for, or that of the device. */
static vta_status open_device(vtac_plug *plug, vta_diag *diag)
{
    const char *uri = vtac_plug_value(plug, VTAC_PLUG_DEVICE);
    const char *config = vtac_plug_value(plug, VTAC_PLUG_CONFIG);
    const bool asked = config[0] != '\0';
    vta_config_default(&plug->config);
    if (asked) {
        VTA_TRY(vta_config_load(config, &plug->config, diag));
    }
    VTA_TRY(find_host(plug, uri, diag));
    if (vta_remote_is(uri)) {
        return VTA_OK;
    }
    VTA_TRY(vtac_plug_device_open(uri, asked ? &plug->config : NULL, plug, &plug->device, diag));
    plug->config = *vta_device_config(vtac_plug_device_of(plug->device));
    return VTA_OK;
}

static vta_status open_session(vtac_plug *plug, const vtac_plug_settings *settings, vta_diag *diag)
{
    VTA_TRY(copy_settings(plug, settings, diag));
    VTA_TRY(open_device(plug, diag));
    return vtac_plug_cache_open(plug, diag);
}

vta_status vtac_plug_open(const vtac_plug_settings *settings, const vtac_plug_log *log, vtac_plug **out,
                          vta_diag *diag)
{
    *out = NULL;
    vtac_plug *plug = calloc(1, sizeof *plug);
    VTA_TRY(vta_allocated(plug != NULL, diag));
    plug->log = *log;
    const vta_status status = open_session(plug, settings, diag);
    if (status != VTA_OK) {
        vtac_plug_close(plug);
        return status;
    }
    *out = plug;
    return VTA_OK;
}

void vtac_plug_close(vtac_plug *plug)
{
    if (plug == NULL) {
        return;
    }
    vtac_plug_cache_close(plug);
    vtac_plug_device_close(plug->device);
    vtac_plug_settings_free(&plug->settings);
    free(plug->host);
    free(plug);
}
