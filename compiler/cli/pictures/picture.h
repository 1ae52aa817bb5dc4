/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures from files, and what becomes of them on their way into a model: a size, an order of channels, a
 * range of values.
 */
#ifndef VTAC_CLI_PICTURE_H
#define VTAC_CLI_PICTURE_H

#include "vta/model.h"
#include "vtac/graph.h"

/* Three bytes a pixel, red first; a grey picture has three equal ones. Owned: cli_picture_free. */
typedef struct cli_picture {
    uint32_t width, height;
    uint8_t *rgb;
} cli_picture;

/* Whether the file's name is one of a picture. */
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

/* How the picture is to be turned, 1 (not at all) to 8, by a JPEG marker with Exif data in it; 1 where it is
 * no such marker, or damaged. */
int cli_exif_orientation(const uint8_t *bytes, size_t size);
vta_status cli_picture_turn(cli_picture *picture, int orientation, vta_diag *diag);

/* The middle of a picture: scaled, bilinearly, until the result covers the share `crop` of it, then cut. */
vta_status cli_picture_fit(const cli_picture *from, uint32_t width, uint32_t height, double crop,
                           cli_picture *out, vta_diag *diag);

typedef enum cli_layout { CLI_LAYOUT_GUESS, CLI_LAYOUT_NCHW, CLI_LAYOUT_NHWC } cli_layout;

/* An element is (pixel / scale - mean) / std, channel by channel. */
typedef struct cli_preprocess {
    const char *name; /* of a row of preprocess.def; NULL: nothing was said */
    double scale;
    double mean[3], std[3];
    bool bgr;
    cli_layout layout;
    double crop; /* how much of the short side stays */
} cli_preprocess;

/* "imagenet", "mean=…,std=…,layout=nhwc", or a name and then what differs; NULL: by the input's type. */
vta_status cli_preprocess_parse(const char *text, cli_preprocess *out, vta_diag *diag);

/* Reads a picture and puts it into an input's memory. *guessed: which preset was taken for want of another,
 * where others would have done as well. */
vta_status cli_picture_input(const char *path, const cli_preprocess *how, const vta_tensor_info *info,
                             void *data, const char **guessed, vta_diag *diag);

#endif
