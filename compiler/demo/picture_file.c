/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures as PNG files.
 */
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "vta/fail.h"
#include "vta/file.h"

enum { MAX_FILE_BYTES = 1 << 20 };

static void copy_picture(const picture *p, uint32_t zoom, size_t stride, uint8_t *to)
{
    for (uint32_t y = 0; y < PICTURE_SIDE * zoom; y++) {
        for (uint32_t x = 0; x < PICTURE_SIDE * zoom; x++) {
            memcpy(to + y * stride + (size_t)x * PICTURE_CHANNELS, p->rgb[y / zoom * PICTURE_SIDE + x / zoom],
                   PICTURE_CHANNELS);
        }
    }
}

/* The file in memory, owned by the caller; NULL for want of memory. */
static uint8_t *encode_png(png_image *image, const uint8_t *pixels, size_t *size)
{
    png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(*image);
    uint8_t *file = malloc(bytes);
    if (file != NULL && !png_image_write_to_memory(image, file, &bytes, 0, pixels, 0, NULL)) {
        free(file);
        file = NULL;
    }
    *size = bytes;
    return file;
}

vta_status demo_picture_write(const picture *pictures, uint32_t count, uint32_t columns, uint32_t zoom,
                              const char *path, vta_diag *diag)
{
    const uint32_t step = PICTURE_SIDE * zoom + (count > 1 ? zoom : 0); /* a line between them */
    const uint32_t gap = count > 1 ? zoom : 0;
    png_image image = {.version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB};
    image.width = columns * step - gap;
    image.height = (count + columns - 1) / columns * step - gap;
    const size_t stride = (size_t)image.width * PICTURE_CHANNELS;
    uint8_t *pixels = malloc(stride * image.height);
    if (pixels == NULL) {
        return vta_no_memory(diag);
    }
    memset(pixels, 255, stride * image.height);
    for (uint32_t i = 0; i < count; i++) {
        copy_picture(&pictures[i], zoom, stride,
                     pixels + i / columns * step * stride + (size_t)(i % columns) * step * PICTURE_CHANNELS);
    }
    size_t size;
    uint8_t *file = encode_png(&image, pixels, &size);
    free(pixels);
    const vta_status status = file == NULL ? vta_fail(diag, VTA_NOMEM, "%s: %s", path, image.message)
                                           : vta_file_write(path, file, size, diag);
    free(file);
    return status;
}

static vta_status decode_png(png_image *image, const char *path, picture *out, vta_diag *diag)
{
    image->format = PNG_FORMAT_RGB;
    if (image->width != PICTURE_SIDE || image->height != PICTURE_SIDE) {
        return vta_fail(diag, VTA_INVALID, "%s: it has %u x %u pixels, expected %d x %d", path, image->width,
                        image->height, PICTURE_SIDE, PICTURE_SIDE);
    }
    if (!png_image_finish_read(image, NULL, out->rgb, 0, NULL)) {
        return vta_fail(diag, VTA_INVALID, "%s: %s", path, image->message);
    }
    return VTA_OK;
}

vta_status demo_picture_read(const char *path, picture *out, vta_diag *diag)
{
    uint8_t *bytes;
    size_t size;
    png_image image = {.version = PNG_IMAGE_VERSION};
    VTA_TRY(vta_file_read(path, MAX_FILE_BYTES, &bytes, &size, diag));
    const vta_status status = png_image_begin_read_from_memory(&image, bytes, size)
                                  ? decode_png(&image, path, out, diag)
                                  : vta_fail(diag, VTA_INVALID, "%s: %s", path, image.message);
    png_image_free(&image);
    free(bytes);
    return status;
}
