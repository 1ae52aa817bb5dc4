/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that a fuzz target writes its input to, and what its readers may answer.
 */
#ifndef VTA_TEST_FUZZ_FILES_H
#define VTA_TEST_FUZZ_FILES_H

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "temporary.h"
#include "vta/status.h"

/* A folder in memory where there is one: a disk writes through whenever a file is replaced. */
static inline const char *fuzz_root(void)
{
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : temporary_root();
}

static inline void fuzz_write(const char *path, const void *data, size_t size)
{
    const int out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    FUZZ_REQUIRE(out >= 0 && write(out, data, size) == (ssize_t)size && close(out) == 0);
}

/* A reader says in one line what it refuses, and nothing else. */
static inline void fuzz_check_outcome(vta_status status, const vta_diag *diag)
{
    FUZZ_REQUIRE(status < VTA_STATUS_COUNT && (status == VTA_OK) == (diag->text[0] == '\0'));
    FUZZ_REQUIRE(strchr(diag->text, '\n') == NULL);
}

#endif
