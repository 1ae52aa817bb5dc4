/* SPDX-License-Identifier: Apache-2.0
 *
 * How a camera was held: the orientation in a JPEG picture's Exif data, a TIFF file in little. Data that are
 * damaged in any way turn nothing.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"

enum { ORIENTATION = 0x112, SHORT = 3, HEAD = 8, ENTRY = 12, UPRIGHT = 1, LAST = 8 };

typedef struct tiff {
    const uint8_t *bytes;
    size_t size;
    bool big_endian;
} tiff;

/* Number of 2 or 4 bytes, which must be there. */
static uint32_t number_at(const tiff *t, size_t at, int bytes)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++) {
        value = value << 8 | t->bytes[at + (size_t)(t->big_endian ? i : bytes - 1 - i)];
    }
    return value;
}

/* In the first directory: 2 bytes with the number of entries, then these (tag, type, count, value). */
static uint32_t find_orientation(const tiff *t)
{
    const size_t directory = number_at(t, 4, 4);
    if (directory > t->size - 2) {
        return UPRIGHT;
    }
    const size_t room = (t->size - directory - 2) / ENTRY;
    const size_t said = number_at(t, directory, 2);
    for (size_t i = 0; i < said && i < room; i++) {
        const size_t entry = directory + 2 + i * ENTRY;
        if (number_at(t, entry, 2) == ORIENTATION) {
            const bool sound = number_at(t, entry + 2, 2) == SHORT && number_at(t, entry + 4, 4) == 1;
            return sound ? number_at(t, entry + 8, 2) : UPRIGHT;
        }
    }
    return UPRIGHT;
}

int cli_exif_orientation(const uint8_t *bytes, size_t size)
{
    static const uint8_t exif[] = {'E', 'x', 'i', 'f', 0, 0};
    if (size < sizeof exif + HEAD || memcmp(bytes, exif, sizeof exif) != 0) {
        return UPRIGHT;
    }
    tiff t = {.bytes = bytes + sizeof exif, .size = size - sizeof exif};
    t.big_endian = t.bytes[0] == 'M';
    if (t.bytes[0] != t.bytes[1] || (t.bytes[0] != 'M' && t.bytes[0] != 'I') || number_at(&t, 2, 2) != 42) {
        return UPRIGHT;
    }
    const uint32_t found = find_orientation(&t);
    return found >= UPRIGHT && found <= LAST ? (int)found : UPRIGHT;
}

/* Row 0 of what is stored is the top (1, 2), the bottom (3, 4), the left (5, 8) or the right (6, 7); column 0
 * the left (1, 4), the right (2, 3), the top (5, 6) or the bottom (7, 8). */
vta_status cli_picture_orient(cli_picture *picture, int orientation, vta_diag *diag)
{
    const bool swapped = orientation >= 5;
    const bool last_row = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    const bool last_column = orientation == 2 || orientation == 3 || orientation >= 7;
    cli_picture made = {0};
    if (orientation == UPRIGHT) {
        return VTA_OK;
    }
    VTA_TRY(cli_picture_alloc(swapped ? picture->height : picture->width,
                              swapped ? picture->width : picture->height, &made, diag));
    uint8_t *to = made.rgb;
    for (uint32_t y = 0; y < made.height; y++) {
        for (uint32_t x = 0; x < made.width; x++, to += 3) {
            const uint32_t r = swapped ? x : y;
            const uint32_t c = swapped ? y : x;
            const size_t row = last_row ? picture->height - 1 - r : r;
            const size_t column = last_column ? picture->width - 1 - c : c;
            memcpy(to, picture->rgb + (row * picture->width + column) * 3, 3);
        }
    }
    cli_picture_free(picture);
    *picture = made;
    return VTA_OK;
}
