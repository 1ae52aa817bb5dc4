/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that a verb will write. See writable.h.
 */
#include "writable.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void cli_folder_of(const char *path, char *folder, size_t size)
{
    const char *slash = strrchr(path, '/');
    const int length = slash == NULL || slash == path ? 1 : (int)(slash - path);
    (void)snprintf(folder, size, "%.*s", length, slash == NULL ? "." : path);
}

static vta_status ask_writable(const char *path, const char *whole, vta_diag *diag)
{
    if (access(path, W_OK) == 0) {
        return VTA_OK;
    }
    if (errno == ENOENT) {
        return vta_fail(diag, VTA_IO,
                        "cannot write '%s': there is no folder '%s'; make it, or name another file", whole,
                        path);
    }
    const char *why = strerror(errno);
    return path == whole ? vta_fail(diag, VTA_IO, "cannot write '%s': %s", path, why)
                         : vta_fail(diag, VTA_IO, "cannot write '%s': '%s': %s", whole, path, why);
}

/* Reads the file's kind if the file exists; for a new file its folder is asked. */
static vta_status look_at(const char *path, bool *there, struct stat *about, vta_diag *diag)
{
    const size_t length = strlen(path);
    *there = stat(path, about) == 0;
    if (*there && S_ISDIR(about->st_mode)) {
        return vta_fail(diag, VTA_IO, "cannot write '%s': it is a folder; name a file in it", path);
    }
    if (length == 0 || path[length - 1] == '/') {
        return vta_fail(diag, VTA_IO, "cannot write '%s': it names no file", path);
    }
    char folder[4096];
    cli_folder_of(path, folder, sizeof folder);
    return *there ? VTA_OK : ask_writable(folder, path, diag);
}

vta_status cli_can_write(const char *path, vta_diag *diag)
{
    char folder[4096];
    struct stat about;
    bool there = false;
    VTA_TRY(look_at(path, &there, &about, diag));
    cli_folder_of(path, folder, sizeof folder);
    if (!there) {
        return VTA_OK;
    }
    /* a file is replaced by another one, which its folder must take; a device is written to */
    return S_ISREG(about.st_mode) ? ask_writable(folder, path, diag) : ask_writable(path, path, diag);
}

vta_status cli_can_append(const char *path, vta_diag *diag)
{
    struct stat about;
    bool there = false;
    VTA_TRY(look_at(path, &there, &about, diag));
    return there ? ask_writable(path, path, diag) : VTA_OK;
}
