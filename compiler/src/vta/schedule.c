/* SPDX-License-Identifier: Apache-2.0
 *
 * A region becomes one stream: layers in their order, each as its kind says.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched.h"
#include "timing.h"

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

const kind_of_layer kinds[VTAC_VTA_KINDS] = {
#define VTAC_VTA_KIND(id, name, rule, family)                                                                \
    [VTAC_VTA_##id] = {name, rule, family##_plan, family##_pack, family##_emit},
#include "kinds.def"
#undef VTAC_VTA_KIND
};

void plan_init(const machine *m, const vtac_vta_region *region, uint32_t number, plan *out)
{
    const vtac_vta_layer *layer = &region->layers[number];
    *out = (plan){.machine = m,
                  .region = region,
                  .layer = layer,
                  .number = number,
                  .images = ceil_div(region->tensors[layer->output].n, m->batch)};
}

uint64_t cycles_of(const load_of_units *units)
{
    enum { ENDS = 400 };
    const uint64_t work = units->array > units->alu ? units->array : units->alu;
    const uint64_t bus = units->load > units->store ? units->load : units->store;
    return (work > bus ? work : bus) + ENDS;
}

enum { LINE = 64 }; /* what sizes of device memory are multiples of */

typedef struct scheduler {
    machine hardware;
    vtac_vta_region *region;
    vtac_vta_image *image;
    decisions decided;
    uint32_t trials; /* ways to cut a convolution that are timed; 0: the rough estimate decides */
    blob constants;
    step_list list;
} scheduler;

static vta_status plan_layer(scheduler *s, uint32_t number, plan *p, vta_diag *diag)
{
    const int32_t maker = s->decided.made_by[number];
    if (maker >= 0) {
        return conv_plan_joined(&s->hardware, s->region, (uint32_t)maker, number, p, diag);
    }
    return kinds[s->region->layers[number].kind].plan(&s->hardware, s->region, number, p, diag);
}

/* A convolution that makes a sum is computed in the sum's place. */
static vta_status schedule_layer(scheduler *s, uint32_t number, vta_diag *diag)
{
    plan p;
    vtac_vta_plan *plans = s->image->plans;
    plans[number].joined_into = s->decided.made_by[number];
    if (s->decided.sum_of[number] >= 0) {
        return VTA_OK;
    }
    VTA_TRY(plan_layer(s, number, &p, diag));
    if (s->trials > 0 && kinds[p.layer->kind].plan == conv_plan) {
        VTA_TRY(conv_refine(&p, s->trials, diag));
    }
    plan_cost(&p, &plans[p.number].cost);
    if (kinds[p.layer->kind].plan == conv_plan) {
        tiling_describe(&p.conv, &p.tiling, plans[p.number].schedule, sizeof plans[p.number].schedule);
    }
    VTA_TRY(kinds[p.layer->kind].pack(&p, &s->constants, diag));
    s->list.tag = p.number + 1;
    return kinds[p.layer->kind].emit(&p, &s->list, diag);
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

static vta_status check_layers(scheduler *s, vta_diag *diag)
{
    for (uint32_t n = 0; n < s->region->layer_count; n++) {
        if (kinds[s->region->layers[n].kind].rule(&s->hardware, s->region, n, diag) != VTA_OK) {
            return vta_context(diag, "layer '%s'", s->region->layers[n].name);
        }
    }
    return VTA_OK;
}

static vta_status predict(scheduler *s, vta_diag *diag)
{
    const uint32_t tags = s->region->layer_count + 1;
    uint64_t *shares = calloc(tags, sizeof *shares);
    if (shares != NULL) {
        s->image->cycles = timing_of(&s->hardware, &s->list, s->image->work_bytes, shares, tags);
    }
    for (uint32_t n = 0; shares != NULL && n < s->region->layer_count; n++) {
        s->image->plans[n].cost.cycles = shares[n + 1];
    }
    free(shares);
    return s->image->cycles > 0 ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory to predict cycles");
}

static vta_status schedule(scheduler *s, const vtac_vta_options *options, vta_diag *diag)
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
    VTA_TRY(check_layers(s, diag));
    vtac_progress_at(options->progress, "laying out", region->name, 0, 0);
    VTA_TRY(decide(&s->hardware, region, options, &s->decided, diag));
    VTA_TRY(layout_tensors(&s->hardware, region, &s->decided, &s->image->work_bytes, diag));
    for (uint32_t n = 0; n < region->layer_count; n++) {
        vtac_progress_at(options->progress, "scheduling layer", region->layers[n].name, n,
                         region->layer_count);
        VTA_TRY(schedule_layer(s, n, diag));
    }
    uint64_t offset;
    if (blob_add(&s->constants, s->constants.size == 0 ? LINE : 0, LINE, &offset) == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for constants");
    }
    s->image->constant_bytes = s->constants.size;
    list_load_ahead(&s->list, s->hardware.config);
    vtac_progress_at(options->progress, "predicting cycles", region->name, 0, 0);
    VTA_TRY(predict(s, diag));
    return seal(s, diag);
}

vta_status vtac_vta_schedule(const vta_config *config, vtac_vta_region *region,
                             const vtac_vta_options *options, vtac_vta_image *out, vta_diag *diag)
{
    *out = (vtac_vta_image){0};
    static const uint32_t trials[] = {0, 4, 8, 24};
    const int level = options->level < 0 ? 0 : options->level > 3 ? 3 : options->level;
    scheduler s = {.hardware.config = config, .region = region, .image = out, .trials = trials[level]};
    list_init(&s.list);
    const vta_status status = schedule(&s, options, diag);
    decisions_free(&s.decided);
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
