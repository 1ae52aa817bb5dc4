/* SPDX-License-Identifier: Apache-2.0
 *
 * A path is walked folder by folder, each opened in the one before it: no link is followed at any step,
 * whatever else happens to the folders meanwhile, and no kernel is too old for it.
 */
#include "vta/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vta/fail.h"

/* Below the folder: relative, and without "..". */
static bool is_inside(const char *name)
{
    if (name[0] == '/' || name[0] == '\0') {
        return false;
    }
    for (const char *p = name; *p != '\0';) {
        const size_t part = strcspn(p, "/");
        if (part == 2 && p[0] == '.' && p[1] == '.') {
            return false;
        }
        p += part;
        p += *p == '/';
    }
    return true;
}

static int open_again(int folder, const char *name, int flags)
{
    int file;
    do {
        file = openat(folder, name, flags | O_RDONLY | O_CLOEXEC);
    } while (file < 0 && errno == EINTR);
    return file;
}

/* Goes from a folder, which is closed, to what `path` names in it; `path` is cut apart. -1: errno says why.
 */
static int walk(int folder, char *path)
{
    while (folder >= 0 && *path != '\0') {
        const size_t size = strcspn(path, "/");
        const bool last = path[size] == '\0';
        path[size] = '\0';
        const int next = size == 0 ? dup(folder)
                                   : open_again(folder, path, O_NOFOLLOW | (last ? O_NONBLOCK : O_DIRECTORY));
        const int cause = errno;
        (void)close(folder);
        errno = cause;
        folder = next;
        path += size + !last;
    }
    return folder;
}

static vta_status cannot_open(const char *folder, const char *name, const char *what, vta_diag *diag)
{
    switch (errno) {
    case ELOOP:
    case ENOTDIR:
        return vta_fail(diag, VTA_INVALID,
                        "%s '%s/%s' is reached through a symbolic link, or through what is no folder; put "
                        "the file itself "
                        "there",
                        what, folder, name);
    case ENOMEM: return vta_no_memory(diag);
    default:
        return vta_fail(diag, VTA_IO, "cannot read %s '%s/%s'; it must lie beside the model", what, folder,
                        name);
    }
}

vta_status vta_inside_open(const char *folder, const char *name, const char *what, int *file, vta_diag *diag)
{
    struct stat info;
    *file = -1;
    if (folder == NULL) {
        return vta_fail(diag, VTA_INVALID,
                        "%s '%s' lies beside the model, which was read from memory; load it by its path",
                        what, name);
    }
    if (!is_inside(name)) {
        return vta_fail(diag, VTA_INVALID, "%s '%s' lies outside the model's folder; move it there", what,
                        name);
    }
    char *path = strdup(name);
    VTA_TRY(vta_allocated(path != NULL, diag));
    const int found = walk(open_again(AT_FDCWD, folder, O_DIRECTORY), path);
    free(path);
    if (found < 0) {
        return cannot_open(folder, name, what, diag);
    }
    if (fstat(found, &info) != 0 || !S_ISREG(info.st_mode)) {
        (void)close(found);
        return vta_fail(diag, VTA_INVALID, "%s '%s/%s' is no regular file", what, folder, name);
    }
    *file = found;
    return VTA_OK;
}

vta_status vta_inside_read(int file, uint64_t offset, void *to, size_t size, size_t *got, vta_diag *diag)
{
    *got = 0;
    while (*got < size) {
        const ssize_t more = pread(file, (char *)to + *got, size - *got, (off_t)(offset + *got));
        if (more < 0 && errno != EINTR) {
            return vta_fail(diag, VTA_IO, "%s", strerror(errno));
        }
        if (more == 0) {
            break;
        }
        *got += more > 0 ? (size_t)more : 0;
    }
    return VTA_OK;
}

static vta_status read_whole(int file, size_t limit, uint8_t **bytes, size_t *size, vta_diag *diag)
{
    struct stat info;
    if (fstat(file, &info) != 0 || info.st_size < 0 || (uintmax_t)info.st_size > limit) {
        return vta_fail(diag, VTA_RANGE, "it is too long (limit: %zu bytes)", limit);
    }
    *bytes = calloc((size_t)info.st_size + 1, 1);
    VTA_TRY(vta_allocated(*bytes != NULL, diag));
    return vta_inside_read(file, 0, *bytes, (size_t)info.st_size, size, diag);
}

vta_status vta_inside_whole(const char *folder, const char *name, const char *what, size_t limit,
                            uint8_t **bytes, size_t *size, vta_diag *diag)
{
    int file;
    *bytes = NULL;
    *size = 0;
    VTA_TRY(vta_inside_open(folder, name, what, &file, diag));
    const vta_status status = read_whole(file, limit, bytes, size, diag);
    (void)close(file);
    if (status != VTA_OK) {
        free(*bytes);
        *bytes = NULL;
        (void)vta_context(diag, "%s '%s/%s'", what, folder, name);
    }
    return status;
}
