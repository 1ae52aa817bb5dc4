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

/* The head of a page: its title, and the styles of all pages (runtime/wasm/family.css) and of this kind
 * (assets/KIND.css). The body begins. */
void cli_put_page_head(vta_str *out, const char *kind, const char *title);

/* The text of a file of assets/; the tree has it. */
void cli_put_asset(vta_str *out, const char *file);

/* The script of a kind of pages, assets/KIND.js, behind `element(tag, text, class)` and its other helpers
 * (assets/helpers.js). The page ends. */
void cli_put_page_script(vta_str *out, const char *kind);

#endif
