/* SPDX-License-Identifier: Apache-2.0 */
#include "vta/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef VTA_BAREMETAL /* its C library opens no files */
uint64_t vta_room_available(void)
{
    return SIZE_MAX;
}
#else
/* The number behind `name` in a line of /proc/meminfo, which counts KiB; 0: it is another line. */
static uint64_t row(const char *line, const char *name)
{
    const size_t size = strlen(name);
    return strncmp(line, name, size) == 0 ? strtoull(line + size, NULL, 10) * 1024 : 0;
}

uint64_t vta_room_available(void)
{
    char line[128];
    uint64_t bytes = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        bytes += row(line, "MemAvailable:") + row(line, "SwapFree:");
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return bytes > 0 && bytes < SIZE_MAX ? bytes : SIZE_MAX;
}
#endif

vta_status vta_room_check(const char *what, uint64_t bytes, vta_diag *diag)
{
    const uint64_t available = vta_room_available();
    return bytes <= available
               ? VTA_OK
               : vta_fail(
                     diag, VTA_NOMEM,
                     "%llu bytes of memory are needed for %s, %llu are available; end other programs, or "
                     "use a machine with more",
                     (unsigned long long)bytes, what, (unsigned long long)available);
}

vta_status vta_room_zeros(const char *what, uint64_t bytes, size_t align, void **owner, void **out,
                          vta_diag *diag)
{
    *owner = NULL;
    VTA_TRY(vta_room_check(what, bytes, diag));
    *owner = bytes <= SIZE_MAX - align ? calloc(1, (size_t)bytes + align) : NULL;
    if (*owner == NULL) {
        return vta_fail(diag, VTA_NOMEM, "%llu bytes of memory are needed for %s, the system refuses them",
                        (unsigned long long)bytes, what);
    }
    *out = (uint8_t *)*owner + (align - (uintptr_t)*owner % align) % align;
    return VTA_OK;
}
