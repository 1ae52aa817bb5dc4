/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VTA_LIBC_STDLIB_H
#define VTA_LIBC_STDLIB_H

#include <stddef.h>

void *aligned_alloc(size_t alignment, size_t bytes);
void *calloc(size_t count, size_t size);
void free(void *memory);
char *getenv(const char *name);
void *malloc(size_t bytes);
void qsort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *));
void *realloc(void *memory, size_t bytes);
double strtod(const char *text, char **end);
unsigned long long strtoull(const char *text, char **end, int base);
_Noreturn void abort(void);

#endif
