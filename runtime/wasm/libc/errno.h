/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VTA_LIBC_ERRNO_H
#define VTA_LIBC_ERRNO_H

extern int errno;
enum { ENOMEM = 12 };

#endif
