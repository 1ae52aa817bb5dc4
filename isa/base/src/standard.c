/* SPDX-License-Identifier: Apache-2.0
 *
 * Standard input, output and error of a program that is started without one of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "vta/file.h"

int vta_standard_hold(void)
{
    for (int standard = STDIN_FILENO; standard <= STDERR_FILENO; standard++) {
        if (fcntl(standard, F_GETFD) >= 0) {
            continue;
        }
        /* The lowest number that is free is this one, since those below it are taken. */
        const int how = standard == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (open("/dev/null", how) < 0) { /* NOLINT(android-cloexec-open): children have it, too */
            return errno;
        }
    }
    return 0;
}
