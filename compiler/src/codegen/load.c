/* SPDX-License-Identifier: Apache-2.0
 *
 * Models in this process. See vtac/load.h.
 */
#include "vtac/load.h"
#include "vta/fail.h"

#include <elf.h>
#include <string.h>

#include "llvm.h"

/* ELF's number of this processor, as in the header of an object. */
#if defined(__x86_64__)
#    define THIS_MACHINE EM_X86_64
#elif defined(__aarch64__)
#    define THIS_MACHINE EM_AARCH64
#elif defined(__arm__)
#    define THIS_MACHINE EM_ARM
#elif defined(__riscv)
#    define THIS_MACHINE EM_RISCV
#else
#    define THIS_MACHINE EM_NONE
#endif

bool vtac_can_load(const vtac_artifact_image *image)
{
    Elf32_Ehdr header; /* its first fields are those of both classes */
    const uint8_t class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    if (image->is_bare || image->is_wasm || image->object_bytes < sizeof header) {
        return false;
    }
    memcpy(&header, image->object, sizeof header);
    return memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == class &&
           header.e_machine == THIS_MACHINE && THIS_MACHINE != EM_NONE;
}

vta_status vtac_load(const vtac_artifact_image *image, const vta_model_options *options, vtac_loaded *out,
                     vta_diag *diag)
{
    const vta_artifact *artifact = NULL;
    *out = (vtac_loaded){0};
    const vtac_llvm_calls *llvm = NULL;
    VTA_TRY(vtac_llvm_get(&llvm, diag));
    vta_status status = VTA_OK;
    VTA_TRY_OUT(llvm->place(image, &out->code, &artifact, diag));
    VTA_TRY_OUT(vta_model_open(artifact, options, &out->model, diag));
out:
    if (status != VTA_OK) {
        vtac_unload(out);
    }
    return status;
}

void vtac_unload(vtac_loaded *loaded)
{
    vta_model_destroy(loaded->model);
    const vtac_llvm_calls *llvm = NULL;
    if (loaded->code != NULL && vtac_llvm_get(&llvm, NULL) == VTA_OK) {
        llvm->forget(loaded->code);
    }
    *loaded = (vtac_loaded){0};
}

/* The least processor of this machine's kind: what is computed here has the same bits on all of them. */
#if defined(__aarch64__)
#    define MIN_PROCESSOR "aarch64"
#elif defined(__arm__)
#    define MIN_PROCESSOR "armv7a"
#else
#    define MIN_PROCESSOR "x86-64-v2"
#endif

/* True if slow code finishes sooner than good code is compiled: no operator costs more than a product of
 * square matrices, and such a product takes a tenth of a second. */
static bool is_small(const vtac_graph *graph)
{
    const int64_t max = 1 << 19;
    int64_t elements = 0;
    for (uint32_t i = 1; i < graph->value_count && elements <= max; i++) {
        elements += vtac_type_elements(&graph->values[i].type);
    }
    return elements <= max;
}

vta_status vtac_load_graph(const vtac_graph *graph, int level, vtac_loaded *out, vta_diag *diag)
{
    vtac_target target;
    vtac_artifact_image image = {0};
    const vtac_compile_options options = {.level = level, .target = &target, .once = is_small(graph)};
    const vta_model_options model_options = {.threads = 1};
    *out = (vtac_loaded){0};
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vtac_target_find(MIN_PROCESSOR, &target, diag));
    VTA_TRY_OUT(vtac_compile(graph, &options, &image, diag));
    VTA_TRY_OUT(vtac_load(&image, &model_options, out, diag));
out:
    vtac_artifact_image_free(&image);
    return status;
}
