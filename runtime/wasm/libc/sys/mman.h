/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VTA_LIBC_MMAN_H
#define VTA_LIBC_MMAN_H

#include <stddef.h>

enum { PROT_READ = 1, PROT_WRITE = 2, MAP_PRIVATE = 2, MAP_ANONYMOUS = 32, MAP_NORESERVE = 0x4000 };
#define MAP_FAILED ((void *)-1)

/* Zeros in whole pages; all else that POSIX has them do is refused. */
void *mmap(void *at, size_t bytes, int protection, int flags, int file, long long offset);
int munmap(void *at, size_t bytes);

#endif
