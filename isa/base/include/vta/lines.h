/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of text that somebody else wrote: UTF-8, with or without its mark, lines ended by "\n" or "\r\n".
 * UTF-16, a NUL and a "\r" inside a line are refused by a sentence that names the place.
 */
#ifndef VTA_LINES_H
#define VTA_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "vta/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The lines of a file, each terminated and without its end. An empty file has none; a newline at the end of
 * the file begins no further line. */
typedef struct vta_lines {
    char **line;
    size_t count;
    bool open;  /* the last line has no newline: a writer may have been cut off there */
    char *text; /* owned: where the lines lie */
} vta_lines;

/* Reads a file of text of at most `limit` bytes. *text is owned (free()) and terminated; it has no mark and
 * no NUL. */
vta_status vta_text_read(const char *path, size_t limit, char **text, vta_diag *diag);

/* Reads the lines of such a file. */
vta_status vta_lines_read(const char *path, size_t limit, vta_lines *out, vta_diag *diag);

/* The lines of `size` bytes that are there already, terminated, and belong to the lines from now on; `path`
 * is the file that a failure names. */
vta_status vta_lines_take(const char *path, char *bytes, size_t size, vta_lines *out, vta_diag *diag);
void vta_lines_free(vta_lines *lines);

#ifdef __cplusplus
}
#endif
#endif
