/* SPDX-License-Identifier: Apache-2.0 */
#include "vta/untrusted.h"

#include <stdbool.h>
#include <string.h>

/* Bytes of a character whose first byte this is; 0: no character begins so. */
static size_t length_of(unsigned char first)
{
    return first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
}

size_t vta_utf8_character(const char *text, size_t size, uint32_t *point)
{
    static const uint8_t bits_of_first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    static const uint32_t min[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t length = size > 0 ? length_of((unsigned char)*text) : 0;
    *point = 0;
    if (length == 0 || length > size) {
        return 0;
    }
    uint32_t code = (unsigned char)*text & bits_of_first[length];
    for (size_t i = 1; i < length; i++) {
        const unsigned char more = (unsigned char)text[i];
        if ((more & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | (more & 0x3f);
    }
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    if (code < min[length] || code > 0x10ffff || surrogate) {
        return 0;
    }
    *point = code;
    return length;
}

int vta_is_plain(uint32_t point)
{
    static const struct {
        uint32_t first, last;
    } refused[] = {
        {0, 0x1f},          /* C0 */
        {0x7f, 0x9f},       /* DEL, C1 */
        {0x61c, 0x61c},     /* direction */
        {0x200e, 0x200f},   /* direction */
        {0x2028, 0x202e},   /* ends of lines and paragraphs, direction */
        {0x2066, 0x2069},   /* direction */
        {0xfeff, 0xfeff},   /* byte order */
        {0xfff9, 0xfffb},   /* annotations */
        {0xe0000, 0xe007f}, /* tags, which nothing shows */
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (point >= refused[i].first && point <= refused[i].last) {
            return 0;
        }
    }
    return 1;
}

char *vta_make_plain(const char *text, size_t size, char *out, size_t room)
{
    size_t to = 0;
    size_t shown = 0; /* up to the last character that ends no line */
    for (size_t from = 0, bytes; from < size && text[from] != '\0'; from += bytes) {
        uint32_t point;
        bytes = vta_utf8_character(text + from, size - from, &point);
        const bool plain = bytes > 0 && vta_is_plain(point);
        const bool space = bytes == 1 && point >= '\t' && point <= '\r';
        const size_t wide = plain ? bytes : 1;
        if (to + wide >= room) {
            break;
        }
        if (plain) {
            memmove(out + to, text + from, bytes);
        } else {
            out[to] = space ? ' ' : '?';
        }
        to += wide;
        shown = bytes == 1 && (point == '\n' || point == '\r') ? shown : to;
        bytes = bytes > 0 ? bytes : 1;
    }
    if (room > 0) {
        out[shown] = '\0';
    }
    return out;
}
