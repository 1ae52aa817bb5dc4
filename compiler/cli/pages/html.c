/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of pages. See html.h.
 */
#include "html.h"

/* clang-format off */
static const char *const helpers[] = {
    "'use strict';",
    "function element(tag, text, name) {",
    "  const e = document.createElement(tag);",
    "  if (text !== undefined) e.textContent = text;",
    "  if (name) e.className = name;",
    "  return e;",
    "}",
    NULL};
/* clang-format on */

void cli_put_json(vta_str *out, const char *text)
{
    vta_str_put(out, "\"");
    for (const char *p = text; *p != '\0'; p++) {
        const unsigned char c = (unsigned char)*p;
        if (c < 0x20 || c == '"' || c == '\\' || c == '<') {
            vta_str_printf(out, "\\u%04x", c);
        } else {
            vta_str_append(out, p, 1);
        }
    }
    vta_str_put(out, "\"");
}

void cli_put_lines(vta_str *out, const char *const *lines)
{
    for (; *lines != NULL; lines++) {
        vta_str_put(out, *lines);
        vta_str_put(out, "\n");
    }
}

void cli_put_script(vta_str *out, const char *const *lines)
{
    vta_str_put(out, "<script>\n");
    cli_put_lines(out, helpers);
    cli_put_lines(out, lines);
    vta_str_put(out, "</script>");
}
