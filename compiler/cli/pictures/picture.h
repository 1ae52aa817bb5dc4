/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures from files: read, turned, scaled.
 */
#ifndef VTAC_CLI_PICTURE_H
#define VTAC_CLI_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/status.h"

/* Three bytes a pixel, red first; a grey picture has three equal ones. Owned: cli_picture_free. */
typedef struct cli_picture {
    uint32_t width, height;
    uint8_t *rgb;
} cli_picture;

/* True if the file's name is that of a picture. */
bool cli_is_picture(const char *path);

/* PNG, JPEG, BMP or PNM, by its first bytes: any depth, palette, grey, or with alpha (over white). */
vta_status cli_picture_read(const char *path, cli_picture *out, vta_diag *diag);
vta_status cli_picture_parse(const uint8_t *bytes, size_t size, cli_picture *out, vta_diag *diag);

/* Models that read pictures themselves have these readers in this process. */
void cli_picture_serve(void);

void cli_picture_free(cli_picture *picture);

/* Space for a picture of this size, which must be one that a program can hold. */
vta_status cli_picture_alloc(uint32_t width, uint32_t height, cli_picture *out, vta_diag *diag);

vta_status cli_png_parse(const uint8_t *bytes, size_t size, cli_picture *out, vta_diag *diag);
vta_status cli_jpeg_parse(const uint8_t *bytes, size_t size, cli_picture *out, vta_diag *diag);

vta_status cli_bmp_parse(const uint8_t *bytes, size_t size, cli_picture *out, vta_diag *diag);
vta_status cli_pnm_parse(const uint8_t *bytes, size_t size, cli_picture *out, vta_diag *diag);

/* Orientation in a JPEG marker with Exif data, 1 (upright) to 8; 1 also for any other marker and
 * for damaged data. */
int cli_exif_orientation(const uint8_t *bytes, size_t size);
vta_status cli_picture_orient(cli_picture *picture, int orientation, vta_diag *diag);

/* The middle of a picture: scaled, bilinearly, until the result covers the share `crop` of it, then cut. */
vta_status cli_picture_fit(const cli_picture *from, uint32_t width, uint32_t height, double crop,
                           cli_picture *out, vta_diag *diag);

#endif
