/* SPDX-License-Identifier: Apache-2.0
 *
 * JPEG pictures. The library reports by functions of ours; what it can only guess at (a file that ends early)
 * is an error here.
 */
#include <setjmp.h>
#include <stdio.h> /* jpeglib.h needs it */
#include <stdlib.h>

#include <jerror.h>
#include <jpeglib.h>

#include "picture.h"
#include "vta/fail.h"

typedef struct jpeg_failure {
    struct jpeg_error_mgr manager; /* first: the library hands out its address */
    jmp_buf back;
    char message[JMSG_LENGTH_MAX];
} jpeg_failure;

_Noreturn static void jpeg_failed(j_common_ptr jpeg)
{
    jpeg_failure *failure = (jpeg_failure *)jpeg->err;
    (*jpeg->err->format_message)(jpeg, failure->message);
    longjmp(failure->back, 1);
}

static void jpeg_warned(j_common_ptr jpeg, int level)
{
    const int code = jpeg->err->msg_code;
    if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE)) {
        jpeg_failed(jpeg);
    }
}

/* Orientation from the first marker that has one. */
static int orientation_of(j_decompress_ptr jpeg)
{
    int orientation = 1;
    for (jpeg_saved_marker_ptr marker = jpeg->marker_list; marker != NULL && orientation == 1;
         marker = marker->next) {
        orientation = cli_exif_orientation(marker->data, marker->data_length);
    }
    return orientation;
}

static vta_status jpeg_pixels(j_decompress_ptr jpeg, cli_picture *out, vta_diag *diag)
{
    jpeg_save_markers(jpeg, JPEG_APP0 + 1, 0xffff);
    (void)jpeg_read_header(jpeg, TRUE);
    const int orientation = orientation_of(jpeg);
    if (jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK) {
        return vta_fail(diag, VTA_UNSUPPORTED, "a picture in printing colours (CMYK); save it as RGB");
    }
    VTA_TRY(cli_picture_alloc(jpeg->image_width, jpeg->image_height, out, diag));
    jpeg->out_color_space = JCS_RGB;
    (void)jpeg_start_decompress(jpeg);
    while (jpeg->output_scanline < jpeg->output_height) {
        JSAMPROW row = out->rgb + (size_t)jpeg->output_scanline * out->width * 3;
        (void)jpeg_read_scanlines(jpeg, &row, 1);
    }
    (void)jpeg_finish_decompress(jpeg);
    return cli_picture_orient(out, orientation, diag);
}

vta_status cli_jpeg_parse(const uint8_t *bytes, size_t size, cli_picture *out, vta_diag *diag)
{
    struct jpeg_decompress_struct *jpeg = calloc(1, sizeof *jpeg);
    jpeg_failure *failure = calloc(1, sizeof *failure);
    vta_status status;
    if (jpeg == NULL || failure == NULL) {
        free(jpeg);
        free(failure);
        return vta_no_memory(diag);
    }
    jpeg->err = jpeg_std_error(&failure->manager);
    failure->manager.error_exit = jpeg_failed;
    failure->manager.emit_message = jpeg_warned;
    if (setjmp(failure->back) != 0) {
        status = vta_fail(diag, VTA_SYNTAX, "it is a damaged JPEG picture: %s", failure->message);
    } else {
        jpeg_create_decompress(jpeg);
        jpeg_mem_src(jpeg, bytes, size);
        status = jpeg_pixels(jpeg, out, diag);
    }
    jpeg_destroy_decompress(jpeg);
    free(jpeg);
    free(failure);
    return status;
}
