/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VTA_LIBC_INTTYPES_H
#define VTA_LIBC_INTTYPES_H

#include <stdint.h>

#define PRId32 "d"
#define PRIu32 "u"
#define PRIx32 "x"
#define PRIX32 "X"
#define PRIi64 "lli"
#define PRId64 "lld"
#define PRIu64 "llu"
#define PRIx64 "llx"
#define PRIX64 "llX"

#endif
