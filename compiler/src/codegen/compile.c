/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole way from a graph to an object: lower, plan, emit.
 */
#include <stdlib.h>

#include "../gpu/gpu.h"
#include "llvm.h"
#include "vta/fail.h"
#include "vta/str.h"
#include "vtac/states.h"

static vtac_step *step_at(const vtac_program *p, size_t i)
{
    return *(vtac_step **)vta_vec_at(&p->steps, i);
}

static char *loops_text(const vtac_program *p)
{
    vta_str text = {0};
    vta_str_put(&text, "");
    for (size_t i = 0; i < p->steps.count; i++) {
        vtac_kernel_print(&step_at(p, i)->kernel, &text);
    }
    return vta_str_take(&text);
}

static char *plan_text(const vtac_program *p)
{
    static const char *const spaces[] = {"workspace", "constant", "input", "output", "device"};
    vta_str text = {0};
    vta_str_printf(&text, "workspace %llu bytes (%llu without sharing), constants %llu bytes\n",
                   (unsigned long long)p->workspace_bytes, (unsigned long long)p->unshared_bytes,
                   (unsigned long long)p->constant_bytes);
    for (size_t i = 0; i < p->steps.count; i++) {
        const vtac_step *step = step_at(p, i);
        vta_str_printf(&text, "step %zu \"%s\" (%s) x%lld\n", i, step->name, step->op,
                       (long long)vtac_kernel_extent(&step->kernel));
        for (size_t k = 0; k < step->arg_count; k++) {
            const vtac_storage *s = vta_vec_at(&p->storages, step->args[k].storage);
            vta_str_printf(&text, "  %s %s%.0u +%llu, %llu bytes\n",
                           step->args[k].written ? "writes" : "reads ", spaces[s->kind], s->index,
                           (unsigned long long)s->offset, (unsigned long long)s->bytes);
        }
    }
    return vta_str_take(&text);
}

/* A line for each step that stays on the host, and the number of the others. */
static char *left_text(const vtac_program *p, const vtac_gpu *gpu, uint32_t *launch_count)
{
    vta_str text = {0};
    vta_str_put(&text, "");
    for (size_t i = 0; i < p->steps.count; i++) {
        const vtac_gpu_launch *launch = &gpu->launches[i];
        *launch_count += launch->kernel >= 0;
        if (launch->kernel < 0) {
            vta_str_printf(&text, "step '%s' stays on the host: %s\n", step_at(p, i)->name, launch->reason);
        }
    }
    return vta_str_take(&text);
}

/* A line for each step: the operator, the kernel and its items. */
static char *kernels_plan(const vtac_program *p, const vtac_gpu *gpu)
{
    vta_str text = {0};
    vta_str_put(&text, "");
    for (size_t i = 0; i < p->steps.count; i++) {
        const vtac_gpu_launch *launch = &gpu->launches[i];
        const vtac_step *step = step_at(p, i);
        vta_str_printf(&text, "%s (%s): ", step->name, step->op);
        if (launch->kernel < 0) {
            vta_str_printf(&text, "on the host: %s\n", launch->reason);
        } else {
            const vtac_gpu_kernel *kernel = vta_vec_at(&gpu->kernels, (size_t)launch->kernel);
            vta_str_printf(&text, "kernel k%lld, %lld items%s\n", (long long)launch->kernel,
                           (long long)launch->items,
                           (kernel->needs & VTA_KERNEL_DOUBLES) != 0 ? ", double precision" : "");
        }
    }
    return vta_str_take(&text);
}

/* The steps in the language of a GPU, beside the host's code. */
static vta_status print_kernels(vtac_program *p, const vtac_compile_options *options, vtac_gpu *gpu,
                                vtac_artifact_image *out, vta_diag *diag)
{
    const char *detail = "";
    const vtac_printer *printer = vtac_printer_of(options->kernels, &detail);
    const vtac_llvm_calls *llvm = NULL;
    if (options->kernels == NULL) {
        return VTA_OK;
    }
    if (printer == NULL || p->target->is_wasm != printer->of_browsers || p->target->is_bare) {
        return vta_fail(
            diag, VTA_UNSUPPORTED, "kernels in '%s' cannot be made for %s%s", options->kernels,
            p->target->name,
            printer != NULL && printer->of_browsers ? "; they run in a browser: add '--host wasm32'" : "");
    }
    VTA_TRY(vtac_progress_at(p->progress, "printing kernels", options->kernels, 0, 0, diag));
    VTA_TRY(vtac_llvm_get(&llvm, diag));
    VTA_TRY(vtac_gpu_print(
        printer, &(vtac_print_options){.detail = detail, .always = options->kernels_always, .ptx = llvm->ptx},
        p, gpu, diag));
    out->kernels_left = left_text(p, gpu, &out->launch_count);
    out->kernels_plan = kernels_plan(p, gpu);
    out->kernels = options->want_texts ? vtac_gpu_text(gpu) : NULL;
    p->gpu = gpu;
    return vta_allocated(out->kernels_left != NULL && out->kernels_plan != NULL &&
                             (!options->want_texts || out->kernels != NULL),
                         diag);
}

/* Sizes and numbers of the planned program, and its texts where they are wanted. */
static vta_status describe(const vtac_program *p, bool want_texts, vtac_artifact_image *out, vta_diag *diag)
{
    vta_state *states;
    out->workspace_bytes = p->workspace_bytes;
    out->constant_bytes = p->constant_bytes;
    out->step_count = (uint32_t)p->steps.count;
    VTA_TRY(vtac_find_states(p->graph, &states, &out->state_count, diag));
    free(states);
    if (!want_texts) {
        return VTA_OK;
    }
    out->plan = plan_text(p);
    out->loops = loops_text(p);
    return vta_allocated(out->plan != NULL && out->loops != NULL, diag);
}

static vta_status compile_program(vtac_program *p, const vtac_compile_options *options, vtac_gpu *gpu,
                                  vtac_artifact_image *out, vta_diag *diag)
{
    const vtac_llvm_calls *llvm = NULL;
    if (p->target->is_wasm && p->graph->flow != NULL) {
        return vta_fail(
            diag, VTA_UNSUPPORTED,
            "it has control flow, or sizes that are known only at run time; WebAssembly takes static "
            "models: give fixed sizes with --shape, or compile for a processor");
    }
    VTA_TRY(vtac_lower_graph(p, diag));
    VTA_TRY(vtac_progress_at(p->progress, "planning memory", NULL, 0, 0, diag));
    VTA_TRY(vtac_plan(p, diag));
    VTA_TRY(describe(p, options->want_texts, out, diag));
    VTA_TRY(print_kernels(p, options, gpu, out, diag));
    VTA_TRY(vtac_llvm_get(&llvm, diag));
    VTA_TRY(llvm->emit(p, options->want_texts, out, diag));
    out->is_bare = p->target->is_bare;
    out->is_wasm = p->target->is_wasm;
    return out->is_bare || out->is_wasm ? VTA_OK : llvm->add_libraries(p->target, out, diag);
}

/* The printer of kernels in groups; NULL: there is none, or it wants items that are shared out freely. */
static const vtac_printer *printer_of_groups(const vtac_compile_options *options)
{
    vtac_print_options how = {.detail = ""};
    const vtac_printer *printer = vtac_printer_of(options->kernels, &how.detail);
    return printer != NULL && printer->wants_groups(&how) ? printer : NULL;
}

/* The host, with nests of four products of bytes where a GPU that has such runs them, too. */
static vtac_target shared_target(const vtac_compile_options *options)
{
    const vtac_printer *printer = printer_of_groups(options);
    vtac_target target = *options->target;
    if (printer != NULL && printer->has_dots && !target.has_vnni && !target.has_signed_dot) {
        target.has_vnni = target.dots_by_pairs = true;
        target.has_pairs = target.has_long = false;
    }
    return target;
}

vta_status vtac_compile(const vtac_graph *graph, const vtac_compile_options *options,
                        vtac_artifact_image *out, vta_diag *diag)
{
    *out = (vtac_artifact_image){0};
    const vtac_printer *groups = printer_of_groups(options);
    const vtac_target target = shared_target(options);
    vtac_program program = {.graph = graph,
                            .target = &target,
                            .partition = options->partition,
                            .level = options->level,
                            .row_major = options->row_major,
                            .apart = options->apart,
                            .once = options->once,
                            .groups = groups != NULL,
                            .halves = groups != NULL && groups->has_halves,
                            .schedules = options->schedules,
                            .progress = options->progress};
    vtac_gpu gpu = {0};
    const vta_status status = compile_program(&program, options, &gpu, out, diag);
    vtac_gpu_free(&gpu);
    vtac_program_free(&program);
    if (status != VTA_OK) {
        vtac_artifact_image_free(out);
    }
    return status;
}

const char *vtac_kernels_language(const char *target)
{
    const vtac_printer *printer = vtac_printer_of(target, NULL);
    return printer != NULL ? printer->language : NULL;
}

void vtac_artifact_image_free(vtac_artifact_image *image)
{
    free(image->object);
    free(image->helpers);
    free(image->plan);
    free(image->loops);
    free(image->ll);
    free(image->assembly);
    free(image->kernels);
    free(image->kernels_left);
    free(image->kernels_plan);
    *image = (vtac_artifact_image){0};
}
