/* SPDX-License-Identifier: Apache-2.0
 *
 * Made-up inputs: pictures of leaves in the axes of an input that can be those of one.
 */
#include "leaves.h"
#include "steps.h"
#include "vta/fail.h"
#include "vtac/quantize.h"

enum { MAX_COLOURS = 4 };

/* The axes of an input as pictures: [n, channels, height, width], [n, height, width, channels] where the last
 * axis is short and axis 1 is not, or, of other ranks, one plane after the other. */
static int64_t pictures_in(const vtac_type *type, vtac_quant_picture *each)
{
    const int64_t width = type->rank == 0 ? 1 : type->dim[type->rank - 1];
    const int64_t height = type->rank < 3 ? 1 : type->dim[type->rank - 2];
    const int64_t count = vtac_type_elements(type);
    *each = (vtac_quant_picture){
        .channels = 1, .height = height, .width = width, .step = {height * width, width, 1}};
    if (type->rank != 4) {
        return count / (height * width);
    }
    each->channels = type->dim[1];
    if (width <= MAX_COLOURS && type->dim[1] > MAX_COLOURS) {
        each->channels = width;
        each->height = type->dim[1];
        each->width = type->dim[2];
        each->step[0] = 1;
        each->step[1] = each->width * each->channels;
        each->step[2] = each->channels;
    }
    return type->dim[0];
}

static vta_status make_sample(const vtac_graph *g, vtac_value_id input, const vtac_sample_range *range,
                              uint64_t *state, vta_arena *arena, vtac_tensor *out, vta_diag *diag)
{
    const vtac_type *type = &g->values[input].type;
    const int64_t count = vtac_type_elements(type);
    vtac_quant_picture picture;
    if (type->dtype != VTAC_F32 || count <= 0) {
        return vta_fail(diag, VTA_UNSUPPORTED, "input '%s' is not of float32: give calibration inputs",
                        g->values[input].name);
    }
    float *data = vta_arena_array(arena, (size_t)count, sizeof *data);
    if (data == NULL) {
        return vta_no_memory(diag);
    }
    const int64_t pictures = pictures_in(type, &picture);
    for (int64_t i = 0; i < pictures; i++) {
        picture.data = data + i * (count / pictures);
        VTA_TRY(vtac_quant_paint_leaves(&picture, range->low, range->high, state, diag));
    }
    *out = (vtac_tensor){.type = *type, .data = data, .bytes = (size_t)count * sizeof *data};
    return VTA_OK;
}

vta_status vtac_generate_samples(const vtac_graph *graph, const vtac_sample_range *range, uint32_t count,
                                 uint64_t seed, vta_arena *arena, vtac_samples *out, vta_diag *diag)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
    const size_t total = (size_t)count * graph->input_count;
    vtac_tensor *tensors = vta_arena_array(arena, total + 1, sizeof *tensors);
    state = state == 0 ? 1 : state;
    if (tensors == NULL) {
        return vta_no_memory(diag);
    }
    if (vtac_quant_has_steps(graph)) {
        VTA_TRY(vtac_quant_make_steps(graph, range, count, &state, arena, tensors, diag));
        *out = (vtac_samples){.tensors = tensors, .count = count, .inputs = graph->input_count};
        return VTA_OK;
    }
    for (size_t i = 0; i < total; i++) {
        VTA_TRY(make_sample(graph, graph->inputs[i % graph->input_count], range, &state, arena, &tensors[i],
                            diag));
    }
    *out = (vtac_samples){.tensors = tensors, .count = count, .inputs = graph->input_count};
    return VTA_OK;
}
