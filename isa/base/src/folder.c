/* SPDX-License-Identifier: Apache-2.0
 *
 * Folders.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "vta/fail.h"
#include "vta/file.h"

/* A folder whose parent is there. */
static vta_status make_one_folder(const char *path, unsigned mode, vta_diag *diag)
{
    struct stat about;
    if (mkdir(path, (mode_t)mode) == 0) {
        return VTA_OK;
    }
    const int why = errno;
    if (why == EEXIST && stat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
        return VTA_OK;
    }
    return vta_fail(diag, VTA_IO, "cannot make the folder '%s': %s", path,
                    strerror(why == EEXIST ? ENOTDIR : why));
}

vta_status vta_folder_make(const char *path, unsigned mode, vta_diag *diag)
{
    char *part = strdup(path);
    vta_status status = part == NULL      ? vta_no_memory(diag)
                        : part[0] == '\0' ? make_one_folder(part, mode, diag)
                                          : VTA_OK;
    for (char *slash = part; status == VTA_OK && slash != NULL && *slash != '\0';) {
        slash = strchr(slash + 1, '/');
        if (slash != NULL) {
            *slash = '\0';
        }
        status = make_one_folder(part, mode, diag);
        if (slash != NULL) {
            *slash = '/';
        }
    }
    free(part);
    return status;
}
