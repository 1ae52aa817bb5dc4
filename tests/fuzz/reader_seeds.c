/* SPDX-License-Identifier: Apache-2.0
 *
 * First inputs of the target `readers`, one for each of its readers, in their order. Usage: reader_seeds
 * FOLDER
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h> /* before jpeglib.h */
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

#include "vta/file.h"
#include "vta/flow.h"
#include "vta/str.h"

static void save(const char *folder, unsigned reader, const char *name, const void *bytes, size_t size)
{
    char path[4096];
    vta_str file = {0};
    vta_diag diag = {0};
    const uint8_t first = (uint8_t)reader;
    vta_str_append(&file, &first, 1);
    vta_str_append(&file, bytes, size);
    (void)snprintf(path, sizeof path, "%s/%02u-%s", folder, reader, name);
    if (file.failed || vta_file_write(path, file.text, file.size, &diag) != VTA_OK) {
        (void)fprintf(stderr, "reader_seeds: %s\n", diag.text);
        exit(1);
    }
    vta_str_free(&file);
}

static void save_text(const char *folder, unsigned reader, const char *name, const char *text)
{
    save(folder, reader, name, text, strlen(text));
}

static void save_words(const char *folder, unsigned reader, const char *name, const int64_t *words,
                       size_t count)
{
    save(folder, reader, name, words, count * sizeof *words);
}

/* ---- pictures */

static const uint8_t pixels[2 * 3 * 3] = {255, 0, 0, 0,   255, 0,   0,   0,   255,
                                          9,   8, 7, 100, 110, 120, 200, 201, 202};
/* little endian; one entry: orientation, a short, 1 of them, 6 */
static const char exif[] = "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";

static void save_jpeg(const char *folder, unsigned reader)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long size = 0;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &bytes, &size);
    jpeg.image_width = 2;
    jpeg.image_height = 3;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    jpeg_write_marker(&jpeg, JPEG_APP0 + 1, (const JOCTET *)exif, sizeof exif - 1);
    for (int y = 0; y < 3; y++) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(pixels + (ptrdiff_t)6 * y);
        (void)jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    save(folder, reader, "jpeg", bytes, size);
    free(bytes);
}

static void save_png(const char *folder, unsigned reader, uint32_t format, const char *name)
{
    uint8_t bytes[4096];
    png_alloc_size_t size = sizeof bytes;
    png_image png = {.version = PNG_IMAGE_VERSION, .width = 2, .height = 2, .format = format};
    static const uint8_t colors[4 * 256] = {1, 2, 3, 4, 5, 6, 7, 8};
    if (png_image_write_to_memory(&png, bytes, &size, 0, pixels, 0, colors) != 0) {
        save(folder, reader, name, bytes, size);
    }
}

static void save_pictures(const char *folder, unsigned picture, unsigned marker)
{
    /* headers of 14 and 40 bytes, then a row of 2 pixels, padded */
    static const char bmp[] =
        "BM\x3e\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x02\0\0\0\x01\0\0\0\x01\0\x18\0\0\0\0\0"
        "\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
        "abcdef\0";
    save_jpeg(folder, picture);
    save_png(folder, picture, PNG_FORMAT_RGB, "png");
    save_png(folder, picture, PNG_FORMAT_RGBA, "png-alpha");
    save_png(folder, picture, PNG_FORMAT_GRAY, "png-grey");
    save(folder, picture, "bmp", bmp, sizeof bmp);
    save_text(folder, picture, "ppm", "P6 2 1 255\nabcdef");
    save_text(folder, picture, "pgm", "P2\n# grey\n2 2 9\n1 2 3 4\n");
    save_text(folder, picture, "pbm", "P4 9 1\nab");
    save(folder, marker, "exif", exif, sizeof exif - 1);
}

int main(int argc, char **argv)
{
    enum {
        LINES,
        LABELS,
        RECORDS,
        SUITE,
        SPACE,
        NPY,
        NPZ,
        PB,
        PARCEL,
        PARCEL_PB,
        OPTIONS,
        PICTURE,
        EXIF,
        IMAGE
    };
    static const char npy[] =
        "\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }        \n"
        "012345678901234567890123";
    /* dims 2 and 1, type float32, raw data of eight bytes, an empty name */
    static const char tensor[] = "\x08\x02\x08\x01\x10\x01\x4a\x08"
                                 "abcdefgh"
                                 "\x42";
    /* an archive of no members */
    static const char zip[] = "PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    static const int64_t texts[] = {VTA_FLOW_TENSOR, VTA_FLOW_TEXT, 1, 2, 3, 0x636261, 0};
    static const int64_t list[] = {VTA_FLOW_SEQUENCE, 2, VTA_FLOW_TENSOR, VTA_FLOW_F32, 1, 2, 0,
                                   VTA_FLOW_NOTHING};
    static const char image[] = "`%@0x10000\n`zero:64@0x10010\na0x10000:128=%\nb0x20000\n\0"
                                "0123456789abcdef0123456789abcdef";
    if (argc != 2) {
        (void)fprintf(stderr, "usage: reader_seeds FOLDER\n");
        return 2;
    }
    const char *folder = argv[1];
    save_text(folder, LINES, "lines",
              "\xef\xbb\xbf"
              "cat\r\ndog\n\nfish");
    save(folder, LINES, "wide",
         "\xff\xfe"
         "a\0\n\0",
         6);
    save_text(folder, LABELS, "labels", "tench\ngoldfish\nshark\n");
    save_text(folder, RECORDS, "records",
              "{\"kernel\": \"matmul\", \"shape\": \"m1\", \"target\": \"x\", \"version\": \"1.0.0\", "
              "\"point\": \"4x4\", \"cost\": 1.5}\n");
    save_text(folder, SUITE, "suite",
              "{\"configs\": [\"tiny\"], \"devices\": [\"fsim\"], \"timeout\": 5, \"models\": [{\"model\": "
              "\"m.onnx\", \"tolerance\": 1}]}");
    save_text(folder, SPACE, "space", "{\"LOG_BLOCK_IN\": [3, 4, 5], \"TABLE\": 1}");
    save(folder, NPY, "npy", npy, sizeof npy - 1);
    save(folder, NPZ, "npz", zip, sizeof zip);
    save(folder, PB, "tensor", tensor, sizeof tensor);
    save_words(folder, PARCEL, "texts", texts, sizeof texts / sizeof texts[0]);
    save_words(folder, PARCEL, "list", list, sizeof list / sizeof list[0]);
    save(folder, PARCEL_PB, "tensor", tensor, sizeof tensor);
    /* Findings: numbers where a map, a tensor or a sequence must be. */
    save_text(folder, PARCEL_PB, "map-number", "0\x35");
    save_text(folder, PARCEL_PB, "tensor-number", "\x18\x35");
    save_text(folder, PARCEL_PB, "sequence-number", "(\x35");
    save_text(folder, OPTIONS, "options", "tsim:tiny?scope=check=1&seed=3&check=1");
    save_pictures(folder, PICTURE, EXIF);
    save(folder, IMAGE, "memory", image, sizeof image - 1);
    return 0;
}
