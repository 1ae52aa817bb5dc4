/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts: their forms by the sizes of their inputs, and runs.
 */
#include "ort_part.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"
#include "vta/vec.h"

#define HOST_TRY(call) VTA_TRY(vtac_ort_check(call, diag))

enum { MAX_FORMS = 16 };

typedef struct input_sizes {
    uint32_t rank;
    int64_t dim[ORT_MAX_RANK];
} input_sizes;

/* The part for one set of sizes. */
typedef struct part_form {
    input_sizes *sizes; /* by input; owned */
    vtac_plug_part *part;
} part_form;

struct vtac_ort_part {
    vtac_plug *plug;
    char **inputs, **outputs;
    uint32_t input_count, output_count;
    int *types; /* by input */
    bool *open; /* by input: the model leaves sizes open */
    bool any_open;
    vta_str model; /* its bytes */
    vta_vec forms; /* of part_form; under `lock`, as runs are */
    pthread_mutex_t lock;
};

/* ---- forms */

static void free_form(part_form *form)
{
    vtac_plug_unload(form->part);
    free(form->sizes);
}

static char *shape_word(uint32_t input, const input_sizes *sizes)
{
    vta_str text = {0};
    vta_str_printf(&text, "i%u=", input);
    for (uint32_t i = 0; i < sizes->rank; i++) {
        vta_str_printf(&text, "%s%" PRId64, i > 0 ? "x" : "", sizes->dim[i]);
    }
    return vta_str_take(&text);
}

static void free_words(char **words)
{
    for (size_t i = 0; words != NULL && words[i] != NULL; i++) {
        free(words[i]);
    }
    free(words);
}

/* The sizes of inputs that the model leaves open, as words of the compiler; owned. */
static vta_status list_shapes(const vtac_ort_part *part, const input_sizes *sizes, char ***out,
                              vta_diag *diag)
{
    size_t count = 0;
    char **words = calloc((size_t)part->input_count + 1, sizeof *words);
    VTA_TRY(vta_allocated(words != NULL, diag));
    for (uint32_t i = 0; i < part->input_count; i++) {
        if (part->open[i]) {
            words[count] = shape_word(i, &sizes[i]);
            if (words[count++] == NULL) {
                free_words(words);
                return vta_no_memory(diag);
            }
        }
    }
    *out = words;
    return VTA_OK;
}

static vta_status load_form(vtac_ort_part *part, const input_sizes *sizes, vtac_plug_part **out,
                            vta_diag *diag)
{
    char **shapes = NULL;
    VTA_TRY(list_shapes(part, sizes, &shapes, diag));
    const vtac_plug_model model = {(const uint8_t *)part->model.text, part->model.size, "onnx",
                                   (const char *const *)shapes};
    const vta_status status =
        vtac_plug_load(part->plug, &model, part->input_count, part->output_count, out, diag);
    free_words(shapes);
    return status;
}

/* The oldest form goes where there are too many. */
static void make_room(vtac_ort_part *part)
{
    if (part->forms.count == MAX_FORMS) {
        part_form *forms = part->forms.items;
        free_form(&forms[0]);
        memmove(&forms[0], &forms[1], (MAX_FORMS - 1) * sizeof *forms);
        part->forms.count--;
    }
}

/* Takes the sizes over. */
static vta_status add_form(vtac_ort_part *part, input_sizes *sizes, vtac_plug_part **out, vta_diag *diag)
{
    part_form form = {.sizes = sizes};
    vta_status status = load_form(part, sizes, &form.part, diag);
    if (status == VTA_OK) {
        make_room(part);
        status = vta_allocated(vta_vec_push(&part->forms, &form) != NULL, diag);
    }
    if (status != VTA_OK) {
        free_form(&form);
        return status;
    }
    *out = form.part;
    return VTA_OK;
}

static bool are_equal(const input_sizes *a, const input_sizes *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (a[i].rank != b[i].rank || memcmp(a[i].dim, b[i].dim, a[i].rank * sizeof a[i].dim[0]) != 0) {
            return false;
        }
    }
    return true;
}

/* Takes the sizes over. */
static vta_status find_form(vtac_ort_part *part, input_sizes *sizes, vtac_plug_part **out, vta_diag *diag)
{
    const part_form *forms = part->forms.items;
    for (size_t i = part->forms.count; i-- > 0;) {
        if (are_equal(forms[i].sizes, sizes, part->input_count)) {
            free(sizes);
            *out = forms[i].part;
            return VTA_OK;
        }
    }
    if (!part->any_open) {
        free(sizes);
        return vta_fail(diag, VTA_INVALID, "an input has other sizes than the model says");
    }
    return add_form(part, sizes, out, diag);
}

/* ---- loading */

static vta_status copy_names(const vtac_ort_graph *graph, const uint32_t *values, uint32_t count,
                             char ***names, vta_diag *diag)
{
    *names = calloc((size_t)count + 1, sizeof **names);
    VTA_TRY(vta_allocated(*names != NULL, diag));
    for (uint32_t i = 0; i < count; i++) {
        (*names)[i] = strdup(graph->values[values[i]].name);
        VTA_TRY(vta_allocated((*names)[i] != NULL, diag));
    }
    return VTA_OK;
}

static vta_status describe_part(const vtac_ort_graph *graph, const vtac_plug_border *border,
                                vtac_ort_part *part, vta_diag *diag)
{
    part->input_count = border->input_count;
    part->output_count = border->output_count;
    part->types = calloc((size_t)border->input_count + 1, sizeof *part->types);
    part->open = calloc((size_t)border->input_count + 1, sizeof *part->open);
    VTA_TRY(vta_allocated(part->types != NULL && part->open != NULL, diag));
    for (uint32_t i = 0; i < border->input_count; i++) {
        const vtac_ort_value *value = &graph->values[border->inputs[i]];
        part->types[i] = value->type;
        part->open[i] = value->is_open;
        part->any_open = part->any_open || value->is_open;
    }
    VTA_TRY(copy_names(graph, border->inputs, border->input_count, &part->inputs, diag));
    return copy_names(graph, border->outputs, border->output_count, &part->outputs, diag);
}

/* The first form, for what the host knows of the sizes. */
static vta_status load_first(const vtac_ort_graph *graph, const vtac_plug_border *border, vtac_ort_part *part,
                             vta_diag *diag)
{
    vtac_plug_part *first = NULL;
    input_sizes *sizes = calloc((size_t)border->input_count + 1, sizeof *sizes);
    VTA_TRY(vta_allocated(sizes != NULL, diag));
    for (uint32_t i = 0; i < border->input_count; i++) {
        const vtac_ort_value *value = &graph->values[border->inputs[i]];
        sizes[i].rank = value->rank;
        for (uint32_t k = 0; k < value->rank; k++) {
            sizes[i].dim[k] = value->dim[k] < 0 ? 1 : value->dim[k];
        }
    }
    return add_form(part, sizes, &first, diag);
}

static vta_status fill_part(const vtac_ort_graph *graph, const int32_t *regions, int32_t region,
                            vtac_ort_part *part, vta_diag *diag)
{
    vtac_plug_border border = {0};
    vta_status status = vtac_plug_border_find(&graph->shape, regions, region, &border, diag);
    VTA_TRY_OUT(status);
    VTA_TRY_OUT(describe_part(graph, &border, part, diag));
    VTA_TRY_OUT(vtac_ort_write(graph, regions, region, &border, false, &part->model, diag));
    VTA_TRY_OUT(load_first(graph, &border, part, diag));
    if (!part->any_open) {
        vta_str_free(&part->model); /* no other form will be made */
    }
out:
    vtac_plug_border_free(&border);
    return status;
}

vta_status vtac_ort_part_load(vtac_plug *plug, const vtac_ort_graph *graph, const int32_t *regions,
                              int32_t region, vtac_ort_part **out, vta_diag *diag)
{
    vtac_ort_part *part = calloc(1, sizeof *part);
    if (part == NULL) {
        return vta_no_memory(diag);
    }
    part->plug = plug;
    part->forms.item_size = sizeof(part_form);
    (void)pthread_mutex_init(&part->lock, NULL);
    const vta_status status = fill_part(graph, regions, region, part, diag);
    if (status != VTA_OK) {
        vtac_ort_part_free(part);
        return status;
    }
    *out = part;
    return VTA_OK;
}

static void free_names(char **names, uint32_t count)
{
    for (uint32_t i = 0; names != NULL && i < count; i++) {
        free(names[i]);
    }
    free(names);
}

void vtac_ort_part_free(vtac_ort_part *part)
{
    if (part == NULL) {
        return;
    }
    for (size_t i = 0; i < part->forms.count; i++) {
        free_form(vta_vec_at(&part->forms, i));
    }
    vta_vec_free(&part->forms);
    vta_str_free(&part->model);
    (void)pthread_mutex_destroy(&part->lock);
    free_names(part->inputs, part->input_count);
    free_names(part->outputs, part->output_count);
    free(part->types);
    free(part->open);
    free(part);
}

char *const *vtac_ort_part_inputs(const vtac_ort_part *part, uint32_t *count)
{
    *count = part->input_count;
    return part->inputs;
}

char *const *vtac_ort_part_outputs(const vtac_ort_part *part, uint32_t *count)
{
    *count = part->output_count;
    return part->outputs;
}

/* ---- runs */

static vta_status read_sizes(const OrtValue *value, input_sizes *sizes, vta_diag *diag)
{
    OrtTensorTypeAndShapeInfo *info = NULL;
    size_t rank = 0;
    HOST_TRY(vtac_ort_host.GetTensorTypeAndShape(value, &info));
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vtac_ort_check(vtac_ort_host.GetDimensionsCount(info, &rank), diag));
    VTA_TRY_OUT(rank <= ORT_MAX_RANK
                    ? VTA_OK
                    : vta_fail(diag, VTA_RANGE, "an input has %zu axes, %d are taken", rank, ORT_MAX_RANK));
    sizes->rank = (uint32_t)rank;
    VTA_TRY_OUT(vtac_ort_check(vtac_ort_host.GetDimensions(info, sizes->dim, rank), diag));
out:
    vtac_ort_host.ReleaseTensorTypeAndShapeInfo(info);
    return status;
}

static size_t bytes_of(const input_sizes *sizes, int type)
{
    size_t count = 1; /* the host has so many elements in its memory */
    for (uint32_t i = 0; i < sizes->rank; i++) {
        count *= (size_t)sizes->dim[i];
    }
    return (count * vtac_ort_bits(type) + 7) / 8;
}

static vta_status read_inputs(const vtac_ort_part *part, const OrtKernelContext *context,
                              const uint32_t *numbers, vtac_plug_tensor *tensors, input_sizes *sizes,
                              vta_diag *diag)
{
    const OrtValue *value = NULL;
    const void *data = NULL;
    for (uint32_t i = 0; i < part->input_count; i++) {
        HOST_TRY(vtac_ort_host.KernelContext_GetInput(context, numbers[i], &value));
        VTA_TRY(read_sizes(value, &sizes[i], diag));
        HOST_TRY(vtac_ort_host.GetTensorData(value, &data));
        tensors[i] = (vtac_plug_tensor){(void *)(uintptr_t)data, bytes_of(&sizes[i], part->types[i])};
    }
    return VTA_OK;
}

static vta_status make_outputs(const vtac_ort_part *part, const vtac_plug_part *form,
                               OrtKernelContext *context, const uint32_t *numbers, vtac_plug_tensor *tensors,
                               vta_diag *diag)
{
    OrtValue *value = NULL;
    for (uint32_t i = 0; i < part->output_count; i++) {
        const vtac_plug_shape shape = vtac_plug_output(form, i);
        HOST_TRY(vtac_ort_host.KernelContext_GetOutput(context, numbers[i], shape.dim, shape.rank, &value));
        HOST_TRY(vtac_ort_host.GetTensorMutableData(value, &tensors[i].data));
        tensors[i].bytes = shape.bytes;
    }
    return VTA_OK;
}

static vta_status run_part(vtac_ort_part *part, OrtKernelContext *context, const uint32_t *inputs,
                           const uint32_t *outputs, vtac_plug_tensor *tensors, vta_diag *diag)
{
    vtac_plug_part *form = NULL;
    input_sizes *sizes = calloc((size_t)part->input_count + 1, sizeof *sizes);
    VTA_TRY(vta_allocated(sizes != NULL, diag));
    const vta_status status = read_inputs(part, context, inputs, tensors, sizes, diag);
    if (status != VTA_OK) {
        free(sizes);
        return status;
    }
    VTA_TRY(find_form(part, sizes, &form, diag));
    VTA_TRY(make_outputs(part, form, context, outputs, tensors + part->input_count, diag));
    return vtac_plug_run(form, tensors, tensors + part->input_count, diag);
}

vta_status vtac_ort_part_run(vtac_ort_part *part, OrtKernelContext *context, const uint32_t *inputs,
                             const uint32_t *outputs, vta_diag *diag)
{
    vtac_plug_tensor *tensors = calloc((size_t)part->input_count + part->output_count + 1, sizeof *tensors);
    VTA_TRY(vta_allocated(tensors != NULL, diag));
    (void)pthread_mutex_lock(&part->lock);
    const vta_status status = run_part(part, context, inputs, outputs, tensors, diag);
    (void)pthread_mutex_unlock(&part->lock);
    free(tensors);
    return status;
}
