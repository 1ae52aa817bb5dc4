/* SPDX-License-Identifier: Apache-2.0
 *
 * Open-file-description locks: they belong to an open file, not to a process, are seen by all other open
 * files, and end with it, however its process ends.
 */
#include <errno.h>
#include <fcntl.h>

#include "uio.h"

static struct flock range(short type, uint64_t start, uint64_t size)
{
    return (struct flock){
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)start, .l_len = (off_t)size};
}

bool vta_uio_lock(int fd, uint64_t start, uint64_t size)
{
    struct flock lock = range(F_WRLCK, start, size);
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

void vta_uio_unlock(int fd, uint64_t start, uint64_t size)
{
    struct flock lock = range(F_UNLCK, start, size);
    (void)fcntl(fd, F_OFD_SETLK, &lock);
}

bool vta_uio_lock_conflict(int fd, uint64_t start, uint64_t size, uint64_t *first, uint64_t *end)
{
    struct flock lock = range(F_WRLCK, start, size);
    if (fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) {
        return false;
    }
    *first = (uint64_t)lock.l_start;
    *end = lock.l_len == 0 ? start + size : (uint64_t)lock.l_start + (uint64_t)lock.l_len;
    return true;
}
