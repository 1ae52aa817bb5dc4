/* SPDX-License-Identifier: Apache-2.0 */
#include "vta/cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vta/fail.h"
#include "vta/file.h"
#include "vta/str.h"

vta_status vta_cache_name(const char *kind, char **path, vta_diag *diag)
{
    const char *own = getenv("VTAC_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    vta_str name = {0};
    *path = NULL;
    if (own != NULL && own[0] != '\0') {
        vta_str_printf(&name, "%s/%s", own, kind);
    } else if (xdg != NULL && xdg[0] == '/') {
        vta_str_printf(&name, "%s/vtac/%s", xdg, kind);
    } else if (home != NULL && home[0] == '/') {
        vta_str_printf(&name, "%s/.cache/vtac/%s", home, kind);
    } else {
        return vta_fail(diag, VTA_IO,
                        "no cache folder: neither VTAC_CACHE nor XDG_CACHE_HOME nor HOME names one");
    }
    *path = vta_str_take(&name);
    return vta_allocated(*path != NULL, diag);
}

vta_status vta_cache_make(const char *path, vta_diag *diag)
{
    struct stat about;
    vta_diag why = {0};
    if (vta_folder_make(path, 0700, &why) != VTA_OK) {
        return vta_fail(diag, why.code, "%s; VTAC_CACHE names another place", why.text);
    }
    if (stat(path, &about) != 0) {
        return vta_fail(diag, VTA_IO, "cannot look at the cache folder '%s': %s", path, strerror(errno));
    }
    const bool foreign = about.st_uid != geteuid() && about.st_uid != 0;
    const bool shared = (about.st_mode & S_IWGRP) != 0 && about.st_gid != getegid();
    return !foreign && !shared && (about.st_mode & S_IWOTH) == 0
               ? VTA_OK
               : vta_fail(diag, VTA_IO,
                          "others may write to the cache folder '%s', from which code is loaded; make it "
                          "yours, with mode 700, or name another with VTAC_CACHE",
                          path);
}
