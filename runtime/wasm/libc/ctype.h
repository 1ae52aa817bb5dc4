/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VTA_LIBC_CTYPE_H
#define VTA_LIBC_CTYPE_H

int isalnum(int byte);
int isalpha(int byte);
int isdigit(int byte);
int isprint(int byte);
int isspace(int byte);
int isxdigit(int byte);
int tolower(int byte);
int toupper(int byte);

#endif
