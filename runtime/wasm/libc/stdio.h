/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VTA_LIBC_STDIO_H
#define VTA_LIBC_STDIO_H

#include <stdarg.h>
#include <stddef.h>

__attribute__((format(printf, 3, 4))) int snprintf(char *to, size_t size, const char *form, ...);
__attribute__((format(printf, 3, 0))) int vsnprintf(char *to, size_t size, const char *form,
                                                    va_list arguments);

#endif
