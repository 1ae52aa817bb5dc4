/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and texts that come from a model, an agent or a file, made fit for one line of a terminal. Control
 * characters (C0, DEL, C1), characters that change the direction or the lines of a text, and bytes that are
 * no UTF-8 each become one '?'; tabs and ends of lines become spaces.
 */
#ifndef VTA_UNTRUSTED_H
#define VTA_UNTRUSTED_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of the character of UTF-8 at `text`, of which `size` bytes are there, and its code point; 0: these
 * bytes are no character. */
size_t vta_utf8_character(const char *text, size_t size, uint32_t *point);

/* True where a terminal may show this code point. */
int vta_is_plain(uint32_t point);

/* Writes what a terminal may show of `size` bytes, up to the first 0, terminated; ends of lines at its end
 * are left out. The result is never longer than the text, so that `out` may be `text` itself. Returns `out`.
 */
char *vta_make_plain(const char *text, size_t size, char *out, size_t room);

#ifdef __cplusplus
}
#endif
#endif
