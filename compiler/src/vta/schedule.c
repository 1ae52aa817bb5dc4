/* SPDX-License-Identifier: Apache-2.0
 *
 * A region becomes one stream: layers in their order, each as its kind says.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched.h"

uint8_t *blob_add(blob *b, uint64_t size, uint64_t align, uint64_t *offset)
{
    const uint64_t start = (b->size + align - 1) / align * align;
    uint8_t *bytes = vta_grow(b->bytes, &b->capacity, start + size + 1, 1);
    if (bytes == NULL) {
        return NULL;
    }
    b->bytes = bytes;
    memset(bytes + b->size, 0, start + size - b->size);
    b->size = start + size;
    *offset = start;
    return bytes + start;
}

enum { LINE = 64 }; /* what sizes of device memory are multiples of */

typedef struct scheduler {
    machine hardware;
    vtac_vta_region *region;
    vtac_vta_image *image;
    blob constants;
    step_list list;
} scheduler;

static vta_status schedule_layer(scheduler *s, uint32_t number, vta_diag *diag)
{
    conv c;
    tiling t;
    constants at;
    conv_of(&s->hardware, s->region, number, &c);
    VTA_TRY(tiling_choose(&c, &t, diag));
    VTA_TRY(conv_pack(&c, &t, &s->constants, &at, diag));
    s->list.tag = number + 1;
    return conv_emit(&c, &t, &at, &s->list, diag);
}

static vta_status record(scheduler *s, vta_stream *stream, vta_code **code, vta_diag *diag)
{
    (void)vta_stream_buffer(stream, "constants", s->image->constant_bytes);
    (void)vta_stream_buffer(stream, "work", s->image->work_bytes);
    VTA_TRY(list_record(&s->list, stream, diag));
    return vta_stream_finish(stream, code, diag);
}

static vta_status seal(scheduler *s, vta_diag *diag)
{
    vta_stream *stream = NULL;
    vta_code *code = NULL;
    VTA_TRY(vta_stream_create(s->hardware.config, &stream, diag));
    vta_status status = record(s, stream, &code, diag);
    if (status == VTA_OK) {
        status = vta_code_program(code, &s->image->program, diag);
    }
    vta_code_destroy(code);
    vta_stream_destroy(stream);
    return status;
}

static vta_status schedule(scheduler *s, vta_diag *diag)
{
    vtac_vta_region *region = s->region;
    if (region->layer_count == 0) {
        return vta_fail(diag, VTA_INVALID, "region '%s' has no layers", region->name);
    }
    VTA_TRY(machine_of(s->hardware.config, &s->hardware, diag));
    s->image->plans = calloc(region->layer_count + 1, sizeof *s->image->plans);
    if (s->image->plans == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for %" PRIu32 " layers", region->layer_count);
    }
    s->image->plan_count = region->layer_count;
    VTA_TRY(layout_tensors(&s->hardware, region, &s->image->work_bytes, diag));
    for (uint32_t n = 0; n < region->layer_count; n++) {
        const vta_status status = vtac_vta_supports(s->hardware.config, region, n, diag);
        if (status != VTA_OK) {
            (void)vta_context(diag, "layer '%s'", region->layers[n].name);
            return status;
        }
        s->image->plans[n].joined_into = -1;
        VTA_TRY(schedule_layer(s, n, diag));
    }
    uint64_t offset;
    if (blob_add(&s->constants, 0, LINE, &offset) == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for constants");
    }
    s->image->constant_bytes = s->constants.size;
    return seal(s, diag);
}

vta_status vtac_vta_schedule(const vta_config *config, vtac_vta_region *region,
                             const vtac_vta_options *options, vtac_vta_image *out, vta_diag *diag)
{
    (void)options;
    *out = (vtac_vta_image){0};
    scheduler s = {.hardware.config = config, .region = region, .image = out};
    list_init(&s.list);
    const vta_status status = schedule(&s, diag);
    list_free(&s.list);
    out->constants = s.constants.bytes;
    if (status != VTA_OK) {
        vtac_vta_image_free(out);
    }
    return status;
}

void vtac_vta_image_free(vtac_vta_image *image)
{
    vta_program_free(&image->program);
    free(image->constants);
    free(image->plans);
    *image = (vtac_vta_image){0};
}
