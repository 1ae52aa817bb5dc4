/* SPDX-License-Identifier: Apache-2.0
 *
 * Files and folders of a test's own, in $TMPDIR or /tmp. Whoever makes one removes it.
 */
#ifndef VTA_TEST_TEMPORARY_H
#define VTA_TEST_TEMPORARY_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEMPORARY_PATH = 512 };

static inline const char *temporary_root(void)
{
    const char *root = getenv("TMPDIR");
    return root != NULL && *root != '\0' ? root : "/tmp";
}

/* An empty file whose name ends in `ending`; false: there is none. */
static inline bool temporary_file(char path[TEMPORARY_PATH], const char *ending)
{
    const int size = snprintf(path, TEMPORARY_PATH, "%s/vta-test-XXXXXX%s", temporary_root(), ending);
    const int file = size < TEMPORARY_PATH ? mkstemps(path, (int)strlen(ending)) : -1;
    return file >= 0 && close(file) == 0;
}

static inline bool temporary_folder(char path[TEMPORARY_PATH])
{
    return snprintf(path, TEMPORARY_PATH, "%s/vta-test-XXXXXX", temporary_root()) < TEMPORARY_PATH &&
           mkdtemp(path) != NULL;
}

#endif
