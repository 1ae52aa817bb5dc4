/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole files. Works on pipes too: nothing relies on a file's size before it has been read.
 */
#include "vta/file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vta/hold.h"
#include "vta/vec.h"

#ifdef VTA_BAREMETAL /* its C library knows no links */
#    define lstat stat
#endif

/* Reads to the end, at most one byte beyond the limit; false on a read error or without memory (errno says
 * which). */
static bool read_all(FILE *file, size_t limit, uint8_t **bytes, size_t *size)
{
    size_t capacity = 0;
    *bytes = NULL;
    *size = 0;
    for (;;) {
        uint8_t *grown = vta_grow(*bytes, &capacity, *size + 4096 + 1, 1);
        if (grown == NULL) {
            errno = ENOMEM;
            return false;
        }
        *bytes = grown;
        const size_t room = capacity - 1 - *size;
        const size_t got = fread(grown + *size, 1, room, file);
        *size += got;
        if (got < room || *size > limit) {
            grown[*size] = 0;
            return ferror(file) == 0;
        }
    }
}

vta_status vta_file_read(const char *path, size_t limit, uint8_t **bytes, size_t *size, vta_diag *diag)
{
    *bytes = NULL;
    *size = 0;
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        return vta_fail(diag, VTA_IO, "cannot open '%s': %s", path, strerror(errno));
    }
    vta_status status = VTA_OK;
    if (!read_all(file, limit, bytes, size)) {
        status = vta_fail(diag, errno == ENOMEM ? VTA_NOMEM : VTA_IO, "cannot read '%s': %s", path,
                          strerror(errno));
    } else if (*size > limit) {
        status = vta_fail(diag, VTA_RANGE, "'%s' is too long (limit: %zu bytes)", path, limit);
    }
    (void)fclose(file);
    if (status != VTA_OK) {
        free(*bytes);
        *bytes = NULL;
        *size = 0;
    }
    return status;
}

/* Writes straight to `path`: for the temporary name, and for devices and pipes. */
static bool write_all(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wbe");
    if (file == NULL) {
        return false;
    }
    const bool written = fwrite(bytes, 1, size, file) == size;
    const bool closed = fclose(file) == 0;
    return written && closed;
}

static bool write_and_rename(const char *path, const void *bytes, size_t size)
{
    const size_t room = strlen(path) + 32;
    char *temporary = malloc(room);
    if (temporary == NULL) {
        errno = ENOMEM;
        return false;
    }
    (void)snprintf(temporary, room, "%s.tmp%ld", path, (long)getpid());
    sigset_t was;
    vta_hold_signals(&was);
    const bool done = write_all(temporary, bytes, size) && rename(temporary, path) == 0;
    if (!done) {
        const int cause = errno;
        (void)remove(temporary);
        errno = cause;
    }
    vta_release_signals(&was);
    free(temporary);
    return done;
}

vta_status vta_file_write(const char *path, const void *bytes, size_t size, vta_diag *diag)
{
    struct stat info;
    const bool special = lstat(path, &info) == 0 && !S_ISREG(info.st_mode); /* /dev/stdout is a link */
    const bool done = special ? write_all(path, bytes, size) : write_and_rename(path, bytes, size);
    return done ? VTA_OK : vta_fail(diag, VTA_IO, "cannot write '%s': %s", path, strerror(errno));
}
