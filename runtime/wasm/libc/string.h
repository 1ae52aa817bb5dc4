/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VTA_LIBC_STRING_H
#define VTA_LIBC_STRING_H

#include <stddef.h>

void *memchr(const void *bytes, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);
void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
char *strchr(const char *text, int byte);
int strcmp(const char *a, const char *b);
char *strcpy(char *to, const char *from);
size_t strcspn(const char *text, const char *stops);
char *strdup(const char *text);
char *strerror(int number);
size_t strlen(const char *text);
int strncmp(const char *a, const char *b, size_t size);
size_t strspn(const char *text, const char *members);
char *strrchr(const char *text, int byte);

#endif
