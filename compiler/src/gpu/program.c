/* SPDX-License-Identifier: Apache-2.0
 *
 * All steps of a program as kernels; layers of one shape share one.
 */
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "vta/fail.h"

const vtac_printer *vtac_printer_of(const char *target, const char **detail)
{
    static const vtac_printer *const printers[] = {&vtac_opencl_printer, &vtac_ptx_printer,
                                                   &vtac_wgsl_printer};
    const size_t length = target != NULL ? strcspn(target, ":") : 0;
    for (size_t i = 0; length > 0 && i < sizeof printers / sizeof printers[0]; i++) {
        if (strlen(printers[i]->language) == length && strncmp(printers[i]->language, target, length) == 0) {
            if (detail != NULL) {
                *detail = target + length + (target[length] == ':');
            }
            return printers[i];
        }
    }
    return NULL;
}

static vtac_step *step_at(const vtac_program *p, size_t i)
{
    return *(vtac_step **)vta_vec_at(&p->steps, i);
}

/* The place of a source among those that are there; a new one is taken, an old one freed. */
static int64_t place_of(vtac_gpu *gpu, const vtac_gpu_kernel *kernel)
{
    for (size_t i = 0; i < gpu->kernels.count; i++) {
        if (strcmp(((vtac_gpu_kernel *)vta_vec_at(&gpu->kernels, i))->source, kernel->source) == 0) {
            free(kernel->source);
            return (int64_t)i;
        }
    }
    return vta_vec_push(&gpu->kernels, kernel) != NULL ? (int64_t)gpu->kernels.count - 1 : -1;
}

static vta_status print_bound(vtac_gpu *gpu, const vtac_bound *bound, const char *name, vta_str *text,
                              vtac_gpu_launch *launch, vta_diag *diag)
{
    vtac_gpu_kernel kernel = {.name = name};
    VTA_TRY(gpu->printer->print(bound, &gpu->options, text, &kernel.needs, diag));
    kernel.source = vta_str_take(text);
    VTA_TRY(vta_allocated(kernel.source != NULL, diag));
    launch->items = bound->items;
    launch->group = bound->group;
    launch->kernel = place_of(gpu, &kernel);
    if (launch->kernel < 0) {
        free(kernel.source);
    }
    return vta_allocated(launch->kernel >= 0, diag);
}

/* A bit for each argument of a step, set where it is a constant; a step has VTA_KERNEL_MAX_BUFFERS of them at
 * most. */
static uint64_t held_of(const vtac_program *p, const vtac_step *step)
{
    uint64_t held = 0;
    for (size_t i = 0; i < step->arg_count; i++) {
        const vtac_storage *storage = vta_vec_at(&p->storages, step->args[i].storage);
        held |= storage->kind == VTAC_STORAGE_CONSTANT ? UINT64_C(1) << i : 0;
    }
    return held;
}

static bool stores_parts(const vtac_kernel *k)
{
    bool found = false;
    for (size_t i = 0; i < k->buffer_count; i++) {
        const vtac_buffer *b = k->buffers[i];
        found = found || (b->space == VTAC_BUFFER_ARGUMENT && b->written &&
                          vtac_dtype_bytes(b->dtype) < sizeof(uint32_t));
    }
    return found;
}

/* VTA_UNSUPPORTED: the step is to stay on the host, by its price. */
static vta_status check_price(const vtac_gpu *gpu, const vtac_step *step, const vtac_bound *bound,
                              vta_diag *diag)
{
    const vtac_gpu_price price = vtac_gpu_price_of(&step->kernel, bound, &gpu->printer->transfer);
    if (!gpu->options.groups || gpu->options.always || !vtac_gpu_price_stays(&price)) {
        return VTA_OK;
    }
    return vta_fail(diag, VTA_UNSUPPORTED,
                    "%lld item%s would take about %.3g ms, the host takes %.3g and %.3g for what moves",
                    (long long)bound->items, bound->items > 1 ? "s" : "", 1e3 * price.device_s,
                    1e3 * price.host_s, 1e3 * price.transfer_s);
}

static vta_status print_kernel(vtac_gpu *gpu, vtac_program *p, const vtac_step *step, vtac_gpu_launch *launch,
                               vta_diag *diag)
{
    vtac_bound bound;
    vta_str text = {0};
    vta_status status = VTA_OK;
    const bool groups = gpu->options.groups && !(gpu->printer->stores_words && stores_parts(&step->kernel));
    VTA_TRY_OUT(vtac_bind_step(p, step, groups, &bound, diag));
    bound.held = held_of(p, step);
    VTA_TRY_OUT(check_price(gpu, step, &bound, diag));
    status = print_bound(gpu, &bound, step->name, &text, launch, diag);
out:
    vta_str_free(&text);
    vtac_bound_free(&bound);
    return status;
}

static vta_status print_step(vtac_gpu *gpu, vtac_program *p, const vtac_step *step, vtac_gpu_launch *launch,
                             vta_diag *diag)
{
    vta_diag own = {0};
    launch->kernel = -1;
    launch->reason = "";
    if (step->on_accelerator) {
        launch->reason = "the accelerator runs it";
        return VTA_OK;
    }
    if (step->arg_count > VTA_KERNEL_MAX_BUFFERS) {
        launch->reason = "it has more buffers than a kernel takes";
        return VTA_OK;
    }
    const vta_status status = print_kernel(gpu, p, step, launch, &own);
    if (status == VTA_UNSUPPORTED) {
        launch->reason = vta_arena_string(&p->arena, own.text, strlen(own.text));
        return vta_allocated(launch->reason != NULL, diag);
    }
    return status == VTA_OK ? VTA_OK : vta_fail(diag, status, "step '%s': %s", step->name, own.text);
}

static vta_status print_prelude(vtac_gpu *gpu, vta_diag *diag)
{
    vta_str text = {0};
    const vta_status status = gpu->printer->begin(&gpu->options, &text, diag);
    gpu->prelude = vta_str_take(&text);
    VTA_TRY(status);
    return vta_allocated(gpu->prelude != NULL, diag);
}

vta_status vtac_gpu_print(const vtac_printer *printer, const vtac_print_options *options, vtac_program *p,
                          vtac_gpu *out, vta_diag *diag)
{
    *out = (vtac_gpu){
        .printer = printer, .options = *options, .kernels = {.item_size = sizeof(vtac_gpu_kernel)}};
    out->options.groups = printer->wants_groups(options);
    VTA_TRY(print_prelude(out, diag));
    out->launches = vta_arena_array(&p->arena, p->steps.count + 1, sizeof *out->launches);
    if (out->launches == NULL) {
        return vta_no_memory(diag);
    }
    for (size_t i = 0; i < p->steps.count; i++) {
        VTA_TRY(print_step(out, p, step_at(p, i), &out->launches[i], diag));
    }
    return VTA_OK;
}

void vtac_gpu_free(vtac_gpu *gpu)
{
    for (size_t i = 0; i < gpu->kernels.count; i++) {
        free(((vtac_gpu_kernel *)vta_vec_at(&gpu->kernels, i))->source);
    }
    vta_vec_free(&gpu->kernels);
    free(gpu->prelude);
    gpu->prelude = NULL;
}

char *vtac_gpu_text(const vtac_gpu *gpu)
{
    vta_str text = {0};
    vta_str_put(&text, gpu->prelude);
    for (size_t i = 0; i < gpu->kernels.count; i++) {
        const vtac_gpu_kernel *kernel = vta_vec_at(&gpu->kernels, i);
        vta_str_printf(&text, "\n/* %s */\n%s k%zu%s", kernel->name, gpu->printer->head, i, kernel->source);
    }
    return vta_str_take(&text);
}
