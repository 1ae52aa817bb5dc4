/* SPDX-License-Identifier: Apache-2.0
 *
 * A compiled model for a client elsewhere.
 */
#include <inttypes.h>
#include <string.h>

#include "agent.h"

static vta_status need_model(const agent *a, vta_diag *diag)
{
    return a->model != NULL ? VTA_OK : vta_fail(diag, VTA_PROTOCOL, "no model is open");
}

static void put_tensor(vta_str *out, const vta_tensor_info *info)
{
    vta_put_text(out, info->name);
    vta_put_u32(out, info->dtype_code);
    vta_put_u32(out, info->dtype_bits);
    vta_put_u64(out, info->bytes);
    vta_put_u32(out, info->rank);
    for (uint32_t i = 0; i < info->rank; i++) {
        vta_put_u64(out, (uint64_t)info->dim[i]);
    }
}

static void put_steps(vta_str *out, const vta_model *model)
{
    uint32_t count;
    const vta_step_profile *steps = vta_model_steps(model, &count);
    vta_put_u32(out, count);
    for (uint32_t i = 0; i < count; i++) {
        vta_put_text(out, steps[i].name);
        vta_put_text(out, steps[i].op);
        vta_put_u32(out, steps[i].node);
        vta_put_u32(out, steps[i].on_accelerator != 0);
        vta_put_u64(out, steps[i].predicted);
        vta_put_u64(out, steps[i].flops);
    }
}

static void put_layers(vta_str *out, const vta_model *model)
{
    uint32_t count;
    const vta_layer_profile *layers = vta_model_layers(model, &count);
    vta_put_u32(out, count);
    for (uint32_t i = 0; i < count; i++) {
        vta_put_text(out, layers[i].name);
        vta_put_text(out, layers[i].op);
        vta_put_text(out, layers[i].schedule);
        vta_put_text(out, layers[i].bound);
        vta_put_u32(out, layers[i].step);
        vta_put_u32(out, layers[i].node);
        vta_put_u32(out, layers[i].joined != 0);
        vta_put_u64(out, layers[i].macs);
        vta_put_u64(out, layers[i].bytes_read);
        vta_put_u64(out, layers[i].bytes_written);
        vta_put_u64(out, layers[i].predicted);
    }
}

static void describe(vta_str *out, const vta_model *model)
{
    vta_put_text(out, vta_model_name(model));
    vta_put_text(out, vta_model_device_uri(model));
    vta_put_u64(out, vta_model_workspace_bytes(model));
    vta_put_u32(out, vta_model_input_count(model));
    for (uint32_t i = 0; i < vta_model_input_count(model); i++) {
        const vta_tensor_info info = vta_model_input(model, i);
        put_tensor(out, &info);
    }
    vta_put_u32(out, vta_model_output_count(model));
    for (uint32_t i = 0; i < vta_model_output_count(model); i++) {
        const vta_tensor_info info = vta_model_output(model, i);
        put_tensor(out, &info);
    }
    put_steps(out, model);
    put_layers(out, model);
}

vta_status agent_model_open(agent *a, vta_content *in, vta_str *out, vta_diag *diag)
{
    char path[4200];
    const uint64_t hash = vta_get_u64(in);
    const uint64_t size = vta_get_u64(in);
    vta_model_options options = {.threads = vta_get_u32(in), .progress = a->progress};
    options.device = vta_get_text(in);
    options.timeout_s = vta_get_f64(in);
    VTA_TRY(agent_read(in, diag));
    VTA_TRY(agent_takes(a, options.device, diag));
    if (options.threads > 1024) {
        return vta_fail(diag, VTA_RANGE, "%" PRIu32 " threads; at most 1024", options.threads);
    }
    options.timeout_s = options.timeout_s > 0 ? options.timeout_s : 0;
    vta_model_destroy(a->model);
    a->model = NULL;
    VTA_TRY(agent_cached(a, hash, size, path, sizeof path, diag));
    const vta_status status = vta_model_load(path, &options, &a->model, diag);
    if (status != VTA_OK) { /* the name in the cache says nothing to the user */
        const size_t length = strlen(path);
        if (diag->code != VTA_OK && strncmp(diag->text, path, length) == 0) {
            memmove(diag->text, diag->text + length + 2, strlen(diag->text + length + 2) + 1);
        }
        return status;
    }
    describe(out, a->model);
    return VTA_OK;
}

static vta_status inside(uint64_t offset, uint32_t size, size_t bytes, vta_diag *diag)
{
    return size <= bytes && offset <= bytes - size && size <= VTA_WIRE_CHUNK
               ? VTA_OK
               : vta_fail(diag, VTA_RANGE, "%" PRIu32 " bytes at %" PRIu64 " are not in a tensor of %zu",
                          size, offset, bytes);
}

vta_status agent_input(agent *a, vta_content *in, vta_str *out, vta_diag *diag)
{
    const uint32_t index = vta_get_u32(in);
    const uint64_t offset = vta_get_u64(in);
    uint32_t size;
    const uint8_t *bytes = vta_get_bytes(in, &size);
    (void)out;
    VTA_TRY(agent_read(in, diag));
    VTA_TRY(need_model(a, diag));
    uint8_t *to = vta_model_input_data(a->model, index);
    VTA_TRY(inside(offset, size, to != NULL ? vta_model_input(a->model, index).bytes : 0, diag));
    if (size > 0) {
        memcpy(to + offset, bytes, size);
    }
    return VTA_OK;
}

vta_status agent_output(agent *a, vta_content *in, vta_str *out, vta_diag *diag)
{
    const uint32_t index = vta_get_u32(in);
    const uint64_t offset = vta_get_u64(in);
    const uint32_t size = vta_get_u32(in);
    VTA_TRY(agent_read(in, diag));
    VTA_TRY(need_model(a, diag));
    const uint8_t *from = vta_model_output_data(a->model, index);
    VTA_TRY(inside(offset, size, from != NULL ? vta_model_output(a->model, index).bytes : 0, diag));
    vta_put_bytes(out, size > 0 ? from + offset : (const uint8_t *)"", size);
    return VTA_OK;
}

vta_status agent_model_run(agent *a, vta_content *in, vta_str *out, vta_diag *diag)
{
    const uint32_t profiled = vta_get_u32(in);
    const vta_step_profile *steps;
    uint32_t count;
    (void)out;
    VTA_TRY(agent_read(in, diag));
    VTA_TRY(need_model(a, diag));
    agent_running(a, NULL, a->model);
    const vta_status status =
        profiled != 0 ? vta_model_profile(a->model, &steps, &count, diag) : vta_model_run(a->model, diag);
    agent_running(a, NULL, NULL);
    return status;
}

/* Rows from `first` on, as many as a frame takes; how many there are in all and here comes first. */
static uint32_t put_counts(vta_str *out, uint32_t count, uint32_t first, uint32_t row_bytes)
{
    const uint32_t max = (VTA_WIRE_CHUNK - 64) / row_bytes;
    const uint32_t left = first < count ? count - first : 0;
    const uint32_t here = left < max ? left : max;
    vta_put_u32(out, count);
    vta_put_u32(out, here);
    return here;
}

vta_status agent_steps(agent *a, vta_content *in, vta_str *out, vta_diag *diag)
{
    const uint32_t first = vta_get_u32(in);
    uint32_t count;
    VTA_TRY(agent_read(in, diag));
    VTA_TRY(need_model(a, diag));
    const vta_step_profile *steps = vta_model_steps(a->model, &count);
    const uint32_t here = put_counts(out, count, first, 16);
    for (uint32_t i = 0; i < here; i++) {
        vta_put_f64(out, steps[first + i].seconds);
        vta_put_u64(out, steps[first + i].cycles);
    }
    return VTA_OK;
}

vta_status agent_layers(agent *a, vta_content *in, vta_str *out, vta_diag *diag)
{
    const uint32_t first = vta_get_u32(in);
    uint32_t count;
    VTA_TRY(agent_read(in, diag));
    VTA_TRY(need_model(a, diag));
    const vta_layer_profile *layers = vta_model_layers(a->model, &count);
    const uint32_t here = put_counts(out, count, first, 8 + 8 * VTA_CYCLE_CLASSES);
    for (uint32_t i = 0; i < here; i++) {
        vta_put_u64(out, layers[first + i].cycles);
        for (uint32_t c = 0; c < VTA_CYCLE_CLASSES; c++) {
            vta_put_u64(out, layers[first + i].split[c]);
        }
    }
    return VTA_OK;
}
