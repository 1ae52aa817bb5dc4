/* SPDX-License-Identifier: Apache-2.0
 *
 * Unpacks deflated bytes into memory whose size is known.
 */
#ifndef VTAC_IMPORT_INFLATE_H
#define VTAC_IMPORT_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Deflate's blocks alone, as in a zip archive, or with zlib's header and sum around them. */
typedef enum vtac_inflate_form { VTAC_INFLATE_PLAIN, VTAC_INFLATE_ZLIB } vtac_inflate_form;

/* *size gets the number of bytes, `room` at most. False: the bytes are damaged, longer than `room`, or there
 * is no memory. */
bool vtac_inflate(const uint8_t *from, size_t packed, vtac_inflate_form form, uint8_t *to, size_t room,
                  size_t *size);

#endif
