/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole writes. See file.h.
 */
#include <errno.h>
#include <unistd.h>
#ifndef VTA_BAREMETAL
#    include <poll.h>
#endif

#include "vta/file.h"

/* True for a failure after which the same call may succeed. A pipe that a program before us has made
 * non-blocking is waited for. */
static bool may_write_again(int file)
{
#ifdef VTA_BAREMETAL
    (void)file;
    return errno == EINTR;
#else
    if (errno == EAGAIN) {
        struct pollfd room = {.fd = file, .events = POLLOUT};
        return poll(&room, 1, -1) == 1 || errno == EINTR;
    }
    return errno == EINTR;
#endif
}

int vta_write_all(int file, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    while (size > 0) {
        const ssize_t wrote = write(file, at, size);
        if (wrote < 0 && !may_write_again(file)) {
            return errno;
        }
        at += wrote > 0 ? wrote : 0;
        size -= wrote > 0 ? (size_t)wrote : 0;
    }
    return 0;
}
