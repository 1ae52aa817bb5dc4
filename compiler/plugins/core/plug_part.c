/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts: models of one region, compiled in process, loaded, run.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plug_internal.h"
#include "vta/fail.h"
#include "vta/model.h"
#include "vta/remote.h"
#include "vtac.h"

struct vtac_plug_part {
    vtac_plug *plug;
    vta_model *model;
    char *artifact;             /* its file */
    uint32_t *inputs, *outputs; /* the model's number of each */
    uint32_t input_count, output_count;
    bool is_rescued; /* the device failed, and the model runs on fsim */
    pthread_mutex_t lock;
};

/* ---- compiling */

static void say_note(void *context, const char *line)
{
    vtac_plug_say(context, false, "%s", line);
}

/* The words of the compiler for what libvtac_options has no member for; owned, the texts are not. */
static const char **list_words(const vtac_plug *plug, const vtac_plug_model *model)
{
    size_t count = 0;
    while (model->shapes != NULL && model->shapes[count] != NULL) {
        count++;
    }
    const char **words = calloc(2 * count + 3, sizeof *words);
    if (words != NULL) {
        words[0] = "--offload";
        words[1] = vtac_plug_value(plug, VTAC_PLUG_OFFLOAD);
    }
    for (size_t i = 0; words != NULL && i < count; i++) {
        words[2 * i + 2] = "--shape";
        words[2 * i + 3] = model->shapes[i];
    }
    return words;
}

static vta_status compile_file(vtac_plug *plug, const char *path, const char *const *more,
                               const char *artifact, vta_diag *diag)
{
    char *answer = NULL;
    const libvtac_options options = {.size = sizeof options,
                                     .output = artifact,
                                     .target = "vta",
                                     .config = plug->config_path,
                                     .host = plug->host,
                                     .more = more,
                                     .say = say_note,
                                     .context = plug};
    const int failed = libvtac_compile(path, &options, &answer);
    vta_status status = VTA_OK;
    if (failed != LIBVTAC_OK) {
        status = vta_fail(diag, (vta_status)failed, "%s", answer != NULL ? answer : "out of memory");
    }
    libvtac_free(answer);
    return status;
}

static vta_status compile_model(vtac_plug *plug, const vtac_plug_model *model, const char *artifact,
                                vta_diag *diag)
{
    char *path = NULL;
    const char **more = list_words(plug, model);
    vta_status status = vta_allocated(more != NULL, diag);
    if (status == VTA_OK) {
        status = vtac_plug_cache_keep(plug, model, &path, diag);
    }
    if (status == VTA_OK) {
        status = compile_file(plug, path, more, artifact, diag);
    }
    free(path);
    free(more);
    return status;
}

static vta_status load_model(vtac_plug_part *part, const char *device, vta_device *shared, vta_diag *diag)
{
    const vtac_plug *plug = part->plug;
    const vta_model_options options = {
        .size = sizeof options,
        .threads = (uint32_t)strtoul(vtac_plug_value(plug, VTAC_PLUG_THREADS), NULL, 10),
        .device = device,
        .shared = shared,
        .timeout_s = strtod(vtac_plug_value(plug, VTAC_PLUG_TIMEOUT), NULL)};
    return vta_model_load(part->artifact, &options, &part->model, diag);
}

static vta_status load_planned(vtac_plug_part *part, vta_diag *diag)
{
    return load_model(part, vtac_plug_value(part->plug, VTAC_PLUG_DEVICE),
                      vtac_plug_device_of(part->plug->device), diag);
}

/* An artifact of the cache that does not load, be it damaged or of another release, is compiled once more. */
static vta_status find_model(vtac_plug_part *part, const vtac_plug_model *model, vta_diag *diag)
{
    char *kept = NULL;
    if (access(part->artifact, R_OK) == 0) {
        VTA_TRY(vtac_plug_cache_keep(part->plug, model, &kept, diag)); /* the same model, to the byte */
        free(kept);
        if (load_planned(part, NULL) == VTA_OK) {
            return VTA_OK;
        }
        (void)unlink(part->artifact);
    }
    VTA_TRY(compile_model(part->plug, model, part->artifact, diag));
    return load_planned(part, diag);
}

/* ---- tensors by name */

typedef vta_tensor_info tensor_getter(const vta_model *model, uint32_t index);

/* The model's number of each of the tensors `letter`0, `letter`1, … An input that the compiler found unused
 * has none. */
static vta_status number_tensors(const vtac_plug_part *part, char letter, tensor_getter *get, uint32_t there,
                                 uint32_t *numbers, uint32_t count, vta_diag *diag)
{
    char name[16];
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "%c%u", letter, i);
        uint32_t k = 0;
        while (k < there && strcmp(get(part->model, k).name, name) != 0) {
            k++;
        }
        if (k == there && letter == 'o') {
            return vta_fail(diag, VTA_INVALID, "the compiled part has no output '%s'", name);
        }
        numbers[i] = k;
    }
    return VTA_OK;
}

static vta_status number_all(vtac_plug_part *part, vta_diag *diag)
{
    part->inputs = calloc((size_t)part->input_count + 1, sizeof *part->inputs);
    part->outputs = calloc((size_t)part->output_count + 1, sizeof *part->outputs);
    VTA_TRY(vta_allocated(part->inputs != NULL && part->outputs != NULL, diag));
    VTA_TRY(number_tensors(part, 'i', vta_model_input, vta_model_input_count(part->model), part->inputs,
                           part->input_count, diag));
    return number_tensors(part, 'o', vta_model_output, vta_model_output_count(part->model), part->outputs,
                          part->output_count, diag);
}

static vta_status check_moved(const vtac_plug_part *part, vta_diag *diag)
{
    const bool away = vta_remote_is(vtac_plug_value(part->plug, VTAC_PLUG_DEVICE));
    return away || vta_model_device(part->model) != NULL
               ? VTA_OK
               : vta_fail(diag, VTA_UNSUPPORTED, "by itself it does not pay on '%s'",
                          part->plug->config.name);
}

static vta_status fill_part(vtac_plug_part *part, const vtac_plug_model *model, vta_diag *diag)
{
    part->artifact = vtac_plug_cache_name(part->plug, model, "so");
    VTA_TRY(vta_allocated(part->artifact != NULL, diag));
    VTA_TRY(find_model(part, model, diag));
    VTA_TRY(check_moved(part, diag));
    return number_all(part, diag);
}

vta_status vtac_plug_load(vtac_plug *plug, const vtac_plug_model *model, uint32_t inputs, uint32_t outputs,
                          vtac_plug_part **out, vta_diag *diag)
{
    *out = NULL;
    vtac_plug_part *part = calloc(1, sizeof *part);
    VTA_TRY(vta_allocated(part != NULL, diag));
    *part = (vtac_plug_part){.plug = plug, .input_count = inputs, .output_count = outputs};
    (void)pthread_mutex_init(&part->lock, NULL);
    const vta_status status = fill_part(part, model, diag);
    if (status != VTA_OK) {
        vtac_plug_unload(part);
        return status;
    }
    *out = part;
    return VTA_OK;
}

vtac_plug_shape vtac_plug_output(const vtac_plug_part *part, uint32_t output)
{
    if (output >= part->output_count) {
        return (vtac_plug_shape){0};
    }
    const vta_tensor_info info = vta_model_output(part->model, part->outputs[output]);
    return (vtac_plug_shape){info.dim, info.rank, info.bytes};
}

void vtac_plug_unload(vtac_plug_part *part)
{
    if (part == NULL) {
        return;
    }
    vta_model_destroy(part->model);
    (void)pthread_mutex_destroy(&part->lock);
    free(part->artifact);
    free(part->inputs);
    free(part->outputs);
    free(part);
}

/* ---- running */

static vta_status bind_tensors(vtac_plug_part *part, const vtac_plug_tensor *inputs,
                               const vtac_plug_tensor *outputs, vta_diag *diag)
{
    for (uint32_t i = 0; i < part->input_count; i++) {
        if (part->inputs[i] < vta_model_input_count(part->model)) {
            VTA_TRY(
                vta_model_bind_input(part->model, part->inputs[i], inputs[i].data, inputs[i].bytes, diag));
        }
    }
    for (uint32_t i = 0; i < part->output_count; i++) {
        VTA_TRY(
            vta_model_bind_output(part->model, part->outputs[i], outputs[i].data, outputs[i].bytes, diag));
    }
    return VTA_OK;
}

/* Loads the same artifact on the simulator, which has the same integers; one compiled for another processor
 * does not load here. */
static vta_status rescue_part(vtac_plug_part *part, vta_diag *diag)
{
    vta_model *lost = part->model;
    part->model = NULL;
    part->is_rescued = true;
    const vta_status status = load_model(part, "fsim", NULL, diag);
    if (status != VTA_OK) {
        part->model = lost;
        return status;
    }
    vta_model_destroy(lost);
    return VTA_OK;
}

/* Goes on in the simulator after the device failed, which `why` has the sentence of. */
static vta_status run_rescued(vtac_plug_part *part, const vtac_plug_tensor *inputs,
                              const vtac_plug_tensor *outputs, vta_diag *why)
{
    if (part->is_rescued || rescue_part(part, NULL) != VTA_OK) {
        return why->code;
    }
    vtac_plug_say(part->plug, true, "%s; from here on the simulator fsim computes in its place", why->text);
    *why = (vta_diag){0};
    VTA_TRY(bind_tensors(part, inputs, outputs, why));
    return vta_model_run(part->model, why);
}

vta_status vtac_plug_run(vtac_plug_part *part, const vtac_plug_tensor *inputs,
                         const vtac_plug_tensor *outputs, vta_diag *diag)
{
    vta_diag why = {0};
    (void)pthread_mutex_lock(&part->lock);
    vta_status status = bind_tensors(part, inputs, outputs, &why);
    if (status == VTA_OK) {
        status = vta_model_run(part->model, &why);
        status = status != VTA_OK ? run_rescued(part, inputs, outputs, &why) : VTA_OK;
    }
    (void)pthread_mutex_unlock(&part->lock);
    return status == VTA_OK ? VTA_OK : vta_fail(diag, status, "%s", why.text);
}
