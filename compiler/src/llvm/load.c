/* SPDX-License-Identifier: Apache-2.0
 *
 * Models in this process. See vtac/load.h. LLVM's linker places an object's sections in memory; what the
 * object calls and does not have is looked up in this program, which has the C library's functions.
 */
#include "vtac/load.h"

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>

#include "vta/artifact.h"

static vta_status told(LLVMErrorRef error, vta_diag *diag)
{
    if (error == LLVMErrorSuccess) {
        return VTA_OK;
    }
    char *text = LLVMGetErrorMessage(error);
    const vta_status status =
        vta_fail(diag, VTA_UNSUPPORTED, "the compiled code cannot be placed in memory: %s", text);
    LLVMDisposeErrorMessage(text);
    return status;
}

static vta_status add_object(LLVMOrcLLJITRef jit, const uint8_t *object, size_t bytes, const char *name,
                             vta_diag *diag)
{
    LLVMMemoryBufferRef copy = LLVMCreateMemoryBufferWithMemoryRangeCopy((const char *)object, bytes, name);
    return told(LLVMOrcLLJITAddObjectFile(jit, LLVMOrcLLJITGetMainJITDylib(jit), copy), diag);
}

static vta_status place(const vtac_artifact_image *image, LLVMOrcLLJITRef *jit, const vta_artifact **artifact,
                        vta_diag *diag)
{
    LLVMOrcDefinitionGeneratorRef ours = NULL;
    LLVMOrcExecutorAddress address = 0;
    VTA_TRY(told(LLVMOrcCreateLLJIT(jit, NULL), diag));
    VTA_TRY(told(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
                     &ours, LLVMOrcLLJITGetGlobalPrefix(*jit), NULL, NULL),
                 diag));
    LLVMOrcJITDylibAddGenerator(LLVMOrcLLJITGetMainJITDylib(*jit), ours);
    VTA_TRY(add_object(*jit, image->object, image->object_bytes, "model", diag));
    if (image->helpers != NULL) { /* placed only if one is called */
        VTA_TRY(add_object(*jit, image->helpers, image->helpers_bytes, "helpers", diag));
    }
    VTA_TRY(told(LLVMOrcLLJITLookup(*jit, &address, VTA_ARTIFACT_SYMBOL), diag));
    *artifact = (const vta_artifact *)(uintptr_t)address;
    return VTA_OK;
}

vta_status vtac_load(const vtac_artifact_image *image, const vta_model_options *options, vtac_loaded *out,
                     vta_diag *diag)
{
    const vta_artifact *artifact = NULL;
    *out = (vtac_loaded){0};
    vta_status status = place(image, &out->code, &artifact, diag);
    status = status == VTA_OK ? vta_model_open(artifact, options, &out->model, diag) : status;
    if (status != VTA_OK) {
        vtac_unload(out);
    }
    return status;
}

void vtac_unload(vtac_loaded *loaded)
{
    vta_model_destroy(loaded->model);
    if (loaded->code != NULL) {
        LLVMConsumeError(LLVMOrcDisposeLLJIT(loaded->code));
    }
    *loaded = (vtac_loaded){0};
}

/* The least processor of this machine's kind: what is computed here has the same bits on all of them. */
#if defined(__aarch64__)
#    define LEAST_PROCESSOR "aarch64"
#elif defined(__arm__)
#    define LEAST_PROCESSOR "armv7a"
#else
#    define LEAST_PROCESSOR "x86-64-v2"
#endif

/* Whether it is done sooner by slow code than good code for it is made: nothing takes longer than a product
 * of square matrices, and that a tenth of a second. */
static bool is_small(const vtac_graph *graph)
{
    const int64_t most = 1 << 19;
    int64_t elements = 0;
    for (uint32_t i = 1; i < graph->value_count && elements <= most; i++) {
        elements += vtac_type_elements(&graph->values[i].type);
    }
    return elements <= most;
}

vta_status vtac_load_graph(const vtac_graph *graph, int level, vtac_loaded *out, vta_diag *diag)
{
    vtac_target target;
    vtac_artifact_image image = {0};
    const vtac_compile_options options = {.level = level, .target = &target, .once = is_small(graph)};
    const vta_model_options model_options = {.threads = 1};
    *out = (vtac_loaded){0};
    vta_status status = vtac_target_find(LEAST_PROCESSOR, &target, diag);
    status = status == VTA_OK ? vtac_compile(graph, &options, &image, diag) : status;
    status = status == VTA_OK ? vtac_load(&image, &model_options, out, diag) : status;
    vtac_artifact_image_free(&image);
    return status;
}
