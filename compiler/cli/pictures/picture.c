/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures: which kind a file is, PNG, and the change of size.
 */
#include "picture.h"

#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "vta/fail.h"
#include "vta/file.h"
#include "vta/model.h"

static const size_t max_bytes = (size_t)1 << 30;

enum { CHANNELS = 3, WHITE = 255, MAX_PIXELS = 1 << 27 };

bool cli_is_picture(const char *path)
{
    const char *dot = strrchr(path, '.');
    static const char *const kinds[] = {".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".pgm", ".pbm", ".pnm"};
    for (size_t i = 0; dot != NULL && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcasecmp(dot, kinds[i]) == 0) {
            return true;
        }
    }
    return false;
}

vta_status cli_picture_alloc(uint32_t width, uint32_t height, cli_picture *out, vta_diag *diag)
{
    *out = (cli_picture){.width = width, .height = height};
    if (width == 0 || height == 0 || (uint64_t)width * height > MAX_PIXELS) {
        return vta_fail(diag, VTA_UNSUPPORTED, "a picture of %u x %u; from 1 to %d pixels will do", width,
                        height, MAX_PIXELS);
    }
    out->rgb = malloc((size_t)width * height * CHANNELS);
    return vta_allocated(out->rgb != NULL, diag);
}

void cli_picture_free(cli_picture *picture)
{
    free(picture->rgb);
    *picture = (cli_picture){0};
}

vta_status cli_picture_parse(const uint8_t *bytes, size_t size, cli_picture *out, vta_diag *diag)
{
    static const uint8_t png[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    static const uint8_t jpeg[] = {0xff, 0xd8, 0xff};
    vta_status status;
    *out = (cli_picture){0};
    if (size >= sizeof png && memcmp(bytes, png, sizeof png) == 0) {
        status = cli_png_parse(bytes, size, out, diag);
    } else if (size >= sizeof jpeg && memcmp(bytes, jpeg, sizeof jpeg) == 0) {
        status = cli_jpeg_parse(bytes, size, out, diag);
    } else if (size >= 2 && bytes[0] == 'B' && bytes[1] == 'M') {
        status = cli_bmp_parse(bytes, size, out, diag);
    } else if (size >= 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6') {
        status = cli_pnm_parse(bytes, size, out, diag);
    } else {
        status = vta_fail(diag, VTA_SYNTAX, "it is no PNG, JPEG, BMP or PNM picture");
    }
    if (status != VTA_OK) {
        cli_picture_free(out);
    }
    return status;
}

vta_status cli_picture_read(const char *path, cli_picture *out, vta_diag *diag)
{
    uint8_t *bytes;
    size_t size;
    *out = (cli_picture){0};
    VTA_TRY(vta_file_read(path, max_bytes, &bytes, &size, diag));
    const vta_status status = cli_picture_parse(bytes, size, out, diag);
    free(bytes);
    return status == VTA_OK ? VTA_OK : vta_context(diag, "%s", path);
}

static vta_status read_picture(void *context, const uint8_t *bytes, size_t size, uint32_t *width,
                               uint32_t *height, uint8_t **rgb, vta_diag *diag)
{
    cli_picture picture;
    (void)context;
    VTA_TRY(cli_picture_parse(bytes, size, &picture, diag));
    *width = picture.width;
    *height = picture.height;
    *rgb = picture.rgb;
    return VTA_OK;
}

void cli_picture_serve(void)
{
    vta_model_read_pictures(read_picture, NULL);
}

/* ---- PNG: the library calls back for bytes, and jumps out with what is wrong */

typedef struct png_source {
    const uint8_t *bytes;
    size_t size, at;
    char message[128];
    png_bytep *rows; /* owned by cli_png_parse, across the jumps */
    uint8_t *pixels;
} png_source;

static void png_more(png_structp png, png_bytep to, size_t size)
{
    png_source *source = png_get_io_ptr(png);
    if (size > source->size - source->at) {
        png_error(png, "it is cut off");
    }
    memcpy(to, source->bytes + source->at, size);
    source->at += size;
}

_Noreturn static void png_failed(png_structp png, const char *message)
{
    png_source *source = png_get_error_ptr(png);
    (void)snprintf(source->message, sizeof source->message, "%s", message);
    png_longjmp(png, 1);
}

static void png_warned(png_structp png, const char *message)
{
    (void)png;
    (void)message;
}

/* Over white, as a viewer shows it. */
static void blend_on_white(const uint8_t *rgba, size_t pixels, uint8_t *rgb)
{
    for (size_t i = 0; i < pixels; i++) {
        const unsigned alpha = rgba[4 * i + 3];
        for (size_t c = 0; c < CHANNELS; c++) {
            rgb[CHANNELS * i + c] =
                (uint8_t)((rgba[4 * i + c] * alpha + WHITE * (WHITE - alpha) + WHITE / 2) / WHITE);
        }
    }
}

/* Reads the pixels of any PNG file as rows of red, green, blue and alpha. */
static vta_status png_pixels(png_structp png, png_infop info, png_source *source, cli_picture *out,
                             vta_diag *diag)
{
    png_read_info(png, info);
    VTA_TRY(cli_picture_alloc(png_get_image_width(png, info), png_get_image_height(png, info), out, diag));
    png_set_expand(png);
    png_set_scale_16(png);
    png_set_gray_to_rgb(png);
    png_set_add_alpha(png, WHITE, PNG_FILLER_AFTER);
    (void)png_set_interlace_handling(png);
    png_read_update_info(png, info);
    const size_t row = (size_t)out->width * 4;
    source->pixels = malloc(row * out->height);
    source->rows = calloc(out->height, sizeof *source->rows);
    if (source->pixels == NULL || source->rows == NULL) {
        return vta_no_memory(diag);
    }
    if (png_get_rowbytes(png, info) != row) {
        return vta_fail(diag, VTA_UNSUPPORTED, "a PNG picture of an unknown kind");
    }
    for (uint32_t y = 0; y < out->height; y++) {
        source->rows[y] = source->pixels + y * row;
    }
    png_read_image(png, source->rows);
    png_read_end(png, NULL);
    blend_on_white(source->pixels, (size_t)out->width * out->height, out->rgb);
    return VTA_OK;
}

vta_status cli_png_parse(const uint8_t *bytes, size_t size, cli_picture *out, vta_diag *diag)
{
    png_source *source = calloc(1, sizeof *source);
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, source, png_failed, png_warned);
    png_infop info = png != NULL ? png_create_info_struct(png) : NULL;
    vta_status status;
    if (source == NULL || info == NULL) {
        status = vta_no_memory(diag);
    } else if (setjmp(png_jmpbuf(png)) != 0) {
        status = vta_fail(diag, VTA_SYNTAX, "it is a damaged PNG picture: %s", source->message);
    } else {
        source->bytes = bytes;
        source->size = size;
        png_set_read_fn(png, source, png_more);
        status = png_pixels(png, info, source, out, diag);
    }
    png_destroy_read_struct(&png, &info, NULL);
    if (source != NULL) {
        free(source->rows);
        free(source->pixels);
    }
    free(source);
    return status;
}

/* ---- size: a triangle as wide as a pixel of the coarser grid, along the rows, then along the columns */

typedef struct resample_axis {
    uint32_t from, to; /* of the source, that any tap needs */
    uint32_t *first, *count;
    double *weights; /* `max` for each */
    uint32_t max;
} resample_axis;

static void axis_free(resample_axis *a)
{
    free(a->first);
    free(a->count);
    free(a->weights);
}

/* Taps of the pixel whose middle lies at `middle` of the source. */
static void find_taps(resample_axis *a, uint32_t i, double middle, double reach, uint32_t source)
{
    const double low = fmax(0.0, floor(middle - reach + 0.5));
    const double high = fmin(fmin(source, low + a->max), floor(middle + reach + 0.5));
    double *weights = a->weights + (size_t)i * a->max;
    double sum = 0.0;
    a->first[i] = (uint32_t)fmin(low, source - 1.0);
    a->count[i] = high > low ? (uint32_t)(high - low) : 1;
    for (uint32_t k = 0; k < a->count[i]; k++) {
        weights[k] = fmax(0.0, 1.0 - fabs((a->first[i] + k + 0.5 - middle) / reach));
        sum += weights[k];
    }
    for (uint32_t k = 0; k < a->count[i]; k++) {
        weights[k] = sum > 0.0 ? weights[k] / sum : 1.0 / a->count[i];
    }
}

/* `source` pixels become `scaled`, of which `size` from `offset` on are wanted. */
static vta_status axis_create(uint32_t source, double scaled, uint32_t size, double offset, resample_axis *a,
                              vta_diag *diag)
{
    const double step = source / scaled;
    const double reach = fmax(step, 1.0);
    *a = (resample_axis){.max = (uint32_t)(2.0 * reach) + 3, .from = source};
    a->first = calloc(size, sizeof *a->first);
    a->count = calloc(size, sizeof *a->count);
    a->weights = calloc((size_t)size * a->max, sizeof *a->weights);
    if (a->first == NULL || a->count == NULL || a->weights == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < size; i++) {
        find_taps(a, i, (i + offset + 0.5) * step, reach, source);
        const uint32_t end = a->first[i] + a->count[i];
        a->from = a->first[i] < a->from ? a->first[i] : a->from;
        a->to = end > a->to ? end : a->to;
    }
    return VTA_OK;
}

static uint8_t to_byte(double value)
{
    return (uint8_t)fmin(fmax(floor(value + 0.5), 0.0), WHITE);
}

/* Sums `count` pixels, `step` bytes apart. */
static void sum_weighted(const uint8_t *from, size_t step, const double *weights, uint32_t count, uint8_t *to)
{
    for (size_t c = 0; c < CHANNELS; c++) {
        double sum = 0.0;
        for (uint32_t k = 0; k < count; k++) {
            sum += weights[k] * from[k * step + c];
        }
        to[c] = to_byte(sum);
    }
}

static vta_status resample_picture(const cli_picture *from, const resample_axis *across,
                                   const resample_axis *down, cli_picture *out, vta_diag *diag)
{
    cli_picture middle;
    if (out->rgb == NULL) {
        return vta_no_memory(diag);
    }
    VTA_TRY(cli_picture_alloc(out->width, down->to - down->from, &middle, diag));
    if (middle.rgb == NULL) {
        return vta_no_memory(diag);
    }
    const size_t row = (size_t)out->width * CHANNELS;
    for (uint32_t y = 0; y < middle.height; y++) {
        const uint8_t *line = from->rgb + (size_t)(y + down->from) * from->width * CHANNELS;
        for (uint32_t x = 0; x < out->width; x++) {
            sum_weighted(line + (size_t)across->first[x] * CHANNELS, CHANNELS,
                         across->weights + (size_t)x * across->max, across->count[x],
                         middle.rgb + y * row + (size_t)x * CHANNELS);
        }
    }
    for (uint32_t y = 0; y < out->height; y++) {
        for (size_t x = 0; x < out->width; x++) {
            sum_weighted(middle.rgb + (down->first[y] - down->from) * row + x * CHANNELS, row,
                         down->weights + (size_t)y * down->max, down->count[y],
                         out->rgb + y * row + x * CHANNELS);
        }
    }
    cli_picture_free(&middle);
    return VTA_OK;
}

vta_status cli_picture_fit(const cli_picture *from, uint32_t width, uint32_t height, double crop,
                           cli_picture *out, vta_diag *diag)
{
    VTA_TRY(cli_picture_alloc(width, height, out, diag));
    if (from->width == width && from->height == height) {
        memcpy(out->rgb, from->rgb, (size_t)width * height * CHANNELS);
        return VTA_OK;
    }
    /* the side that is short, measured by what is wanted of it, decides */
    const double min_x = fmax(width, floor(width / crop + 0.5));
    const double min_y = fmax(height, floor(height / crop + 0.5));
    const double scale = fmax(min_x / from->width, min_y / from->height);
    const double scaled_x = fmax(min_x, floor(from->width * scale + 0.5));
    const double scaled_y = fmax(min_y, floor(from->height * scale + 0.5));
    resample_axis across = {0};
    resample_axis down = {0};
    vta_status status = VTA_OK;
    VTA_TRY_OUT(
        axis_create(from->width, scaled_x, width, nearbyint((scaled_x - width) / 2.0), &across, diag));
    VTA_TRY_OUT(
        axis_create(from->height, scaled_y, height, nearbyint((scaled_y - height) / 2.0), &down, diag));
    VTA_TRY_OUT(resample_picture(from, &across, &down, out, diag));
out:
    axis_free(&across);
    axis_free(&down);
    if (status != VTA_OK) {
        cli_picture_free(out);
    }
    return status;
}
