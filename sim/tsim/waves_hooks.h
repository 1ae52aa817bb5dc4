/* SPDX-License-Identifier: Apache-2.0
 *
 * Included before Verilator's writer of waves, which asks no call whether its bytes have reached the disk,
 * and maps files that may be shorter than what it wrote: the first failure of a stream is kept in
 * `vta_waves_error`, and what would be mapped is read.
 */
#ifndef VTA_WAVES_HOOKS_H
#define VTA_WAVES_HOOKS_H

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

extern thread_local int vta_waves_error; /* errno of the first failure, 0: none */

inline void vta_waves_note(bool failed)
{
    if (failed && vta_waves_error == 0) {
        vta_waves_error = errno != 0 ? errno : EIO;
    }
}

inline int vta_waves_flush(FILE *stream)
{
    errno = 0;
    const int result = fflush(stream);
    vta_waves_note(result != 0 || ferror(stream));
    return result;
}

inline int vta_waves_close(FILE *stream)
{
    (void)vta_waves_flush(stream);
    return fclose(stream);
}

/* The first `size` bytes of a file, 0 where it has none; free()d. */
inline void *vta_waves_map(size_t size, int file)
{
    char *bytes = static_cast<char *>(calloc(size > 0 ? size : 1, 1));
    size_t count = 0;
    ssize_t got = 1;
    errno = ENOMEM;
    while (bytes != nullptr && count < size && got > 0) {
        errno = 0;
        got = pread(file, bytes + count, size - count, static_cast<off_t>(count));
        got = got < 0 && errno == EINTR ? 1 : got;
        count += errno == 0 && got > 0 ? static_cast<size_t>(got) : 0;
    }
    vta_waves_note(bytes == nullptr || count < size);
    return bytes != nullptr ? bytes : MAP_FAILED;
}

#define fflush                                  vta_waves_flush
#define fclose                                  vta_waves_close
#define mmap(addr, size, prot, flags, file, at) vta_waves_map(size, file)
#define munmap(addr, size)                      free(addr)

#endif
