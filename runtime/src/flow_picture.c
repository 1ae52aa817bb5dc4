/* SPDX-License-Identifier: Apache-2.0
 *
 * ImageDecoder: pictures by the program's reader. This library has none, since boards have no room for it.
 */
#include <stdlib.h>

#include "flow_walk.h"
#include "vta/model.h"

static struct {
    vta_picture_reader *read;
    void *context;
} reader;

void vta_model_read_pictures(vta_picture_reader *read, void *context)
{
    reader.read = read;
    reader.context = context;
}

enum { RGB, BGR, GREY };

/* Grey with the weights of ITU-R 601 in 65536ths, which sum to one. */
static void reorder(const uint8_t *rgb, int64_t pixels, int64_t order, uint8_t *to)
{
    for (int64_t i = 0; i < pixels; i++, rgb += 3) {
        if (order == GREY) {
            *to++ = (uint8_t)((19595U * rgb[0] + 38470U * rgb[1] + 7471U * rgb[2] + 32768U) >> 16);
            continue;
        }
        for (int c = 0; c < 3; c++) {
            *to++ = rgb[order == BGR ? 2 - c : c];
        }
    }
}

vta_status vta_flow_image_decoder(vta_call *call)
{
    uint8_t *rgb = NULL;
    uint32_t width = 0;
    uint32_t height = 0;
    VTA_TRY(vta_call_needs(call, 1));
    const vta_item *x = call->in[0];
    const int64_t order = vta_call_word(call, 0);
    if (x->type != VTA_FLOW_U8 || x->rank != 1) {
        return vta_call_refuse(call, "its input is to be a file's bytes: one axis of uint8");
    }
    if (reader.read == NULL) {
        return vta_call_refuse(
            call, "it reads a picture, for which this program has set no reader (vta_model_read_pictures)");
    }
    VTA_TRY(reader.read(reader.context, x->data, (size_t)x->count, &width, &height, &rgb, call->diag));
    const int64_t dim[3] = {height, width, order == GREY ? 1 : 3};
    const vta_status status = vta_item_tensor(call->flow, VTA_FLOW_U8, 3, dim, &call->out[0], call->diag);
    if (status == VTA_OK) {
        reorder(rgb, (int64_t)width * height, order, call->out[0]->data);
    }
    free(rgb);
    return status;
}
