/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures that are not compressed: BMP of 8, 24 and 32 bits a pixel, and PNM (PBM, PGM, PPM) in words or
 * bytes.
 */
#include <string.h>

#include "picture.h"

static uint32_t read_little_endian(const uint8_t *p, size_t bytes)
{
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; i++) {
        value |= (uint32_t)p[i] << 8 * i;
    }
    return value;
}

/* ---- BMP */

typedef struct bmp {
    const uint8_t *palette, *rows;
    size_t row; /* bytes, padded to four */
    uint32_t bits, colours;
    bool down; /* the first row is the top one */
} bmp;

static vta_status bmp_header(const uint8_t *bytes, size_t size, bmp *b, cli_picture *out, vta_diag *diag)
{
    if (size < 54 || read_little_endian(bytes + 14, 4) < 40 ||
        read_little_endian(bytes + 14, 4) > size - 14) {
        return vta_fail(diag, VTA_SYNTAX, "it is a damaged BMP picture, or one from before 1990");
    }
    const uint32_t begin = read_little_endian(bytes + 10, 4);
    const uint32_t width = read_little_endian(bytes + 18, 4);
    const uint32_t height = read_little_endian(bytes + 22, 4);
    const uint32_t coded = read_little_endian(bytes + 30, 4);
    b->bits = read_little_endian(bytes + 28, 2);
    b->down = height >> 31 != 0;
    b->palette = bytes + 14 + read_little_endian(bytes + 14, 4);
    b->colours = read_little_endian(bytes + 46, 4);
    b->colours = b->colours == 0 || b->colours > 256 ? 256 : b->colours;
    if (coded != 0 || (b->bits != 8 && b->bits != 24 && b->bits != 32)) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "a BMP picture of %u bits a pixel, compression %u; 8, 24 and 32, plain, will do",
                        b->bits, coded);
    }
    VTA_TRY(cli_picture_alloc(width, b->down ? 0U - height : height, out, diag));
    b->row = ((size_t)width * (b->bits / 8) + 3) / 4 * 4;
    const size_t palette_end = (size_t)(b->palette - bytes) + (b->bits == 8 ? 4 * (size_t)b->colours : 0);
    if (palette_end > size || begin > size || (size - begin) / b->row < out->height) {
        return vta_fail(diag, VTA_SYNTAX, "it is a damaged BMP picture: it is cut off");
    }
    b->rows = bytes + begin;
    return VTA_OK;
}

vta_status cli_bmp_parse(const uint8_t *bytes, size_t size, cli_picture *out, vta_diag *diag)
{
    bmp b = {0};
    VTA_TRY(bmp_header(bytes, size, &b, out, diag));
    uint8_t *to = out->rgb;
    for (uint32_t y = 0; y < out->height; y++) {
        const uint8_t *p = b.rows + (b.down ? y : out->height - 1 - y) * b.row;
        for (uint32_t x = 0; x < out->width; x++, p += b.bits / 8, to += 3) {
            if (b.bits == 8 && *p >= b.colours) {
                return vta_fail(diag, VTA_SYNTAX, "it is a damaged BMP picture: colour %u of %u", *p,
                                b.colours);
            }
            const uint8_t *colour = b.bits == 8 ? b.palette + 4 * (size_t)*p : p;
            to[0] = colour[2];
            to[1] = colour[1];
            to[2] = colour[0];
        }
    }
    return VTA_OK;
}

/* ---- PNM */

typedef struct pnm {
    const uint8_t *at, *end;
    uint32_t max; /* the value that is white */
    bool bits, words;
} pnm;

/* The next number; UINT32_MAX: there is none. Between numbers there are blanks, and comments to the end of a
 * line. */
static uint32_t pnm_number(pnm *p, bool one_digit)
{
    uint32_t value = 0;
    const uint8_t *begin;
    while (p->at < p->end && (*p->at == '#' || (*p->at != 0 && strchr(" \t\r\n", *p->at) != NULL))) {
        if (*p->at++ == '#') {
            while (p->at < p->end && *p->at != '\n') {
                p->at++;
            }
        }
    }
    for (begin = p->at; p->at < p->end && *p->at >= '0' && *p->at <= '9' && value < 1U << 24; p->at++) {
        value = 10 * value + (uint32_t)(*p->at - '0');
        if (one_digit) {
            p->at++;
            return value;
        }
    }
    return p->at == begin ? UINT32_MAX : value;
}

static uint32_t pnm_sample(pnm *p, uint32_t x)
{
    const size_t bytes = p->max > 255 ? 2 : 1;
    uint32_t value = UINT32_MAX;
    if (p->words) {
        value = pnm_number(p, p->bits);
    } else if (p->bits && p->at < p->end) {
        value = *p->at >> (7 - x % 8) & 1U;
        p->at += x % 8 == 7;
    } else if ((size_t)(p->end - p->at) >= bytes) {
        value = bytes == 2 ? (uint32_t)p->at[0] << 8 | p->at[1] : p->at[0];
        p->at += bytes;
    }
    return value > p->max ? UINT32_MAX : p->bits ? 1 - value : value;
}

static vta_status pnm_pixels(pnm *p, uint32_t channels, cli_picture *out, vta_diag *diag)
{
    uint8_t *to = out->rgb;
    for (uint32_t y = 0; y < out->height; y++) {
        for (uint32_t x = 0; x < out->width; x++, to += 3) {
            for (uint32_t c = 0; c < channels; c++) {
                const uint32_t value = pnm_sample(p, x);
                if (value == UINT32_MAX) {
                    return vta_fail(diag, VTA_SYNTAX, "it is a damaged PNM picture: row %u, pixel %u", y, x);
                }
                to[c] = (uint8_t)((value * 255 + p->max / 2) / p->max);
            }
            if (channels == 1) {
                to[1] = to[2] = to[0];
            }
        }
        p->at += p->bits && !p->words && out->width % 8 != 0 && p->at < p->end;
    }
    return VTA_OK;
}

vta_status cli_pnm_parse(const uint8_t *bytes, size_t size, cli_picture *out, vta_diag *diag)
{
    const uint8_t kind = bytes[1] - '0';
    pnm p = {.at = bytes + 2, .end = bytes + size, .max = 1, .bits = kind % 3 == 1, .words = kind <= 3};
    const uint32_t width = pnm_number(&p, false);
    const uint32_t height = pnm_number(&p, false);
    p.max = p.bits ? 1 : pnm_number(&p, false);
    if (p.max == 0 || p.max > 65535) {
        return vta_fail(diag, VTA_SYNTAX, "it is a damaged PNM picture: white is to be 1 to 65535");
    }
    VTA_TRY(cli_picture_alloc(width, height, out, diag));
    p.at += !p.words && p.at < p.end; /* one blank */
    return pnm_pixels(&p, kind % 3 == 0 ? 3 : 1, out, diag);
}
