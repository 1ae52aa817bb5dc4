/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of pages. See html.h.
 */
#include "html.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "assets.h"
#include "vta/untrusted.h"

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

/* Puts text into an element; what would begin another element or an entity is written as an entity. */
static void put_title(vta_str *out, const char *text)
{
    for (; *text != '\0'; text++) {
        const char one[2] = {*text, '\0'};
        vta_str_put(out, *text == '<' ? "&lt;" : *text == '&' ? "&amp;" : one);
    }
}

void cli_put_asset(vta_str *out, const char *file)
{
    const cli_asset *asset = cli_assets;
    while (strcmp(asset->file, file) != 0) {
        asset++;
    }
    for (const char *const *line = asset->lines; *line != NULL; line++) {
        vta_str_put(out, *line);
        vta_str_put(out, "\n");
    }
}

static void put_asset_of(vta_str *out, const char *kind, const char *suffix)
{
    char file[64];
    (void)snprintf(file, sizeof file, "%s.%s", kind, suffix);
    cli_put_asset(out, file);
}

void cli_put_page_head(vta_str *out, const char *kind, const char *title)
{
    vta_str_put(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width\"><title>");
    put_title(out, title);
    vta_str_put(out, "</title><style>\n");
    cli_put_asset(out, "family.css");
    put_asset_of(out, kind, "css");
    vta_str_put(out, "</style></head><body>\n");
}

void cli_put_page_script(vta_str *out, const char *kind)
{
    vta_str_put(out, "<script>\n");
    cli_put_asset(out, "helpers.js");
    put_asset_of(out, kind, "js");
    vta_str_put(out, "</script></body></html>\n");
}
