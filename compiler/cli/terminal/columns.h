/* SPDX-License-Identifier: Apache-2.0
 *
 * How wide a terminal is, and names that must fit.
 */
#ifndef VTAC_CLI_COLUMNS_H
#define VTAC_CLI_COLUMNS_H

#include <stddef.h>

/* Columns of the terminal behind `fd`; 80 where it is none or does not say. */
int cli_columns(int fd);

/* The text itself, or, where it is longer than `width`, its beginning and its end with two dots between.
 * Bytes of one character stay together. The result is in `out`. */
const char *cli_elide(const char *text, int width, char *out, size_t size);

#endif
