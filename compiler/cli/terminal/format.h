/* SPDX-License-Identifier: Apache-2.0
 *
 * printf for a terminal: what a format and its numbers say stands as it is, and each text that a conversion
 * %s inserts is made fit for one line of a terminal (vta/untrusted.h), since it may be a name out of a model,
 * a file or an agent.
 */
#ifndef VTAC_CLI_FORMAT_H
#define VTAC_CLI_FORMAT_H

#include <stdarg.h>
#include <stdbool.h>

#include "vta/str.h"

__attribute__((format(printf, 2, 0))) void cli_format(vta_str *out, const char *fmt, va_list list);

/* The whole of a text of several lines: its ends of lines and tabs stay. */
void cli_format_text(vta_str *out, const char *text);

typedef enum cli_color { CLI_RED, CLI_GREEN, CLI_USUAL } cli_color;

/* The sequence that makes a terminal write in a colour, "" where `fancy` is false: the one text with a
 * control character that %s lets through. It is known by its address. */
const char *cli_color_text(cli_color color, bool fancy);

#endif
