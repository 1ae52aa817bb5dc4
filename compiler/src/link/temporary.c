/* SPDX-License-Identifier: Apache-2.0
 *
 * Temporary files. See vtac/temporary.h.
 */
#include "vtac/temporary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static vta_status name_it(const char *kind, char *path, const char **folder, vta_diag *diag)
{
    const char *set = getenv("TMPDIR");
    *folder = set != NULL && set[0] != '\0' ? set : "/tmp";
    const int size = snprintf(path, VTAC_TEMPORARY_PATH, "%s/vtac-%s-XXXXXX", *folder, kind);
    return size < VTAC_TEMPORARY_PATH
               ? VTA_OK
               : vta_fail(diag, VTA_IO, "the name of the folder for temporary files is too long; set TMPDIR");
}

static vta_status fail_refused(const char *what, const char *folder, vta_diag *diag)
{
    return vta_fail(diag, VTA_IO,
                    "cannot make a temporary %s in '%s': %s; set TMPDIR to one that can be written to", what,
                    folder, strerror(errno));
}

vta_status vtac_temporary_file(const char *kind, char path[VTAC_TEMPORARY_PATH], vta_diag *diag)
{
    const char *folder;
    VTA_TRY(name_it(kind, path, &folder, diag));
    const size_t end = strlen(path);
    int file;
    do { /* a failure may have taken the X's */
        memset(path + end - 6, 'X', 6);
        file = mkstemp(path);
    } while (file < 0 && errno == EINTR);
    if (file < 0) {
        return fail_refused("file", folder, diag);
    }
    (void)close(file);
    return VTA_OK;
}

vta_status vtac_temporary_folder(const char *kind, char path[VTAC_TEMPORARY_PATH], vta_diag *diag)
{
    const char *folder;
    VTA_TRY(name_it(kind, path, &folder, diag));
    return mkdtemp(path) != NULL ? VTA_OK : fail_refused("folder", folder, diag);
}

bool vtac_is_special(const char *path)
{
    static const char devices[] = "/dev/"; /* /dev/stdout is a link, to a file where the shell says so */
    struct stat info;
    if (stat(path, &info) != 0 || S_ISDIR(info.st_mode)) {
        return false;
    }
    return !S_ISREG(info.st_mode) || (strncmp(path, devices, sizeof devices - 1) == 0 &&
                                      lstat(path, &info) == 0 && S_ISLNK(info.st_mode));
}
