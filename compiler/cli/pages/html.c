/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of pages. See html.h.
 */
#include "html.h"

#include <stdint.h>
#include <string.h>

#include "vta/untrusted.h"

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

/* Writes a code point by its number, as JSON does: two numbers beyond the first 65536. */
static void put_number(vta_str *out, uint32_t point)
{
    if (point < 0x10000) {
        vta_str_printf(out, "\\u%04x", point);
    } else {
        vta_str_printf(out, "\\u%04x\\u%04x", 0xd800 + ((point - 0x10000) >> 10), 0xdc00 + (point & 0x3ff));
    }
}

void cli_put_json(vta_str *out, const char *text)
{
    enum { NO_CHARACTER = 0xfffd };
    const size_t size = strlen(text);
    vta_str_put(out, "\"");
    for (size_t at = 0, bytes; at<size; at += bytes> 0 ? bytes : 1) {
        uint32_t point;
        bytes = vta_utf8_character(text + at, size - at, &point);
        if (bytes == 0) {
            put_number(out, NO_CHARACTER);
        } else if (!vta_is_plain(point) || point == '<') { /* '<': no script element ends here */
            put_number(out, point);
        } else {
            vta_str_append(out, "\\", point == '"' || point == '\\');
            vta_str_append(out, text + at, bytes);
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
