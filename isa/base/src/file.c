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

#include "vta/vec.h"

/* Returns the bytes that a file says it has, 0 where it does not say; lowers the limit of what is no regular
 * file. A bare machine's C library knows no such question. */
static size_t claimed_size(FILE *file, size_t *limit)
{
#ifndef VTA_BAREMETAL
    struct stat info;
    if (fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode)) {
        return (size_t)info.st_size;
    }
#endif
    (void)file;
    *limit = *limit < VTA_FILE_STREAM ? *limit : VTA_FILE_STREAM;
    return 0;
}

/* Reads to the end, at most one byte beyond the limit; false on a read error or without memory (errno says
 * which). */
static bool read_all(FILE *file, size_t claimed, size_t limit, uint8_t **bytes, size_t *size)
{
    size_t capacity = 0;
    if (claimed > limit) { /* and may take long to read: a hole of a terabyte costs no disk */
        *size = claimed;
        return true;
    }
    for (;;) {
        const size_t wanted = *size < claimed ? claimed : *size;
        uint8_t *grown = vta_grow(*bytes, &capacity, wanted + 4096 + 1, 1);
        if (grown == NULL) {
            errno = ENOMEM;
            return false;
        }
        *bytes = grown;
        const size_t room = capacity - 1 - *size;
        const size_t got = fread(grown + *size, 1, room, file);
        *size += got;
        if (got < room && ferror(file) != 0 && errno == EINTR) {
            clearerr(file);
            continue;
        }
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
    FILE *file;
    do {
        file = fopen(path, "rbe");
    } while (file == NULL && errno == EINTR);
    if (file == NULL) {
        return vta_fail(diag, VTA_IO, "cannot open '%s': %s", path, strerror(errno));
    }
    vta_status status = VTA_OK;
    const size_t claimed = claimed_size(file, &limit);
    if (!read_all(file, claimed, limit, bytes, size)) {
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
