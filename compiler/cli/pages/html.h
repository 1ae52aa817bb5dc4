/* SPDX-License-Identifier: Apache-2.0
 *
 * What the pages share that verbs write: text that stays text, lines, and a script with its helpers.
 */
#ifndef VTAC_CLI_HTML_H
#define VTAC_CLI_HTML_H

#include "vta/str.h"

/* A string of JSON that may stand in a script element, since no '<' ends it, and on a terminal: what is not
 * fit for one is written by its number, and bytes that are no UTF-8 as U+FFFD. */
void cli_put_json(vta_str *out, const char *text);

/* Lines, up to a NULL. */
void cli_put_lines(vta_str *out, const char *const *lines);

/* A script element of these lines; `element(tag, text, class)` is defined before them. */
void cli_put_script(vta_str *out, const char *const *lines);

#endif
