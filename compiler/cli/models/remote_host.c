/* SPDX-License-Identifier: Apache-2.0 */
#include "remote_host.h"

#include <string.h>

#include "vta/remote.h"
#include "vta/untrusted.h"

/* Names of an agent's machine, and the least capable processor of each. */
static const struct machine_row {
    const char *machine, *host;
} rows[] = {
    {"arm", "pynq"},
    {"aarch64", "rasp3b"},
    {"x86-64", "x86-64-v3"},
    {"riscv64", "riscv64"},
};

static vta_status ask_device(const char *device, char *machine, size_t room, vta_diag *diag)
{
    const vta_remote_options how = {0};
    vta_remote_place place;
    vta_remote *remote = NULL;
    VTA_TRY(vta_remote_parse(device, &place, diag));
    const vta_status status = vta_remote_open(&place, &how, &remote, diag);
    vta_remote_place_free(&place);
    if (status == VTA_OK) {
        const char *found = vta_remote_machine(remote);
        (void)vta_make_plain(found, strlen(found), machine, room);
        vta_remote_close(remote);
    }
    return status;
}

vta_status cli_host_of(const char *device, const char **host, vta_diag *diag)
{
    char machine[32];
    *host = "host";
    if (!vta_remote_is(device)) {
        return VTA_OK;
    }
    VTA_TRY(ask_device(device, machine, sizeof machine, diag));
    if (strcmp(machine, vta_wire_machine()) == 0) {
        return VTA_OK;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(machine, rows[i].machine) == 0) {
            *host = rows[i].host;
            return VTA_OK;
        }
    }
    return vta_fail(diag, VTA_UNSUPPORTED, "device '%s' is on '%s', for which there is no compiler", device,
                    machine);
}
