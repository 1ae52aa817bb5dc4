/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of Linux that lie in memory and have no name.
 */
#ifndef VTA_ANONYMOUS_H
#define VTA_ANONYMOUS_H

#include <sys/syscall.h>
#include <unistd.h>

/* A descriptor, which no program that is started inherits; -1 where the system has no such files. `name` is
 * for whoever looks at the process. */
static inline int vta_anonymous_file(const char *name)
{
    return (int)syscall(SYS_memfd_create, name, 1U /* MFD_CLOEXEC */);
}

#endif
