/* SPDX-License-Identifier: Apache-2.0
 *
 * Models in this process. See vtac/load.h. LLVM's linker places an object's sections in memory; what the
 * object calls and does not have is looked up in this program, which has the C library's functions; as where
 * it is linked, what is in neither of the image's lists of names is refused.
 */
#include "vtac/load.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

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

/* What LLVM would print on stderr: the first of it is the reason, what its functions give says what failed.
 */
typedef struct complaint {
    char text[400];
} complaint;

static void keep(void *context, LLVMErrorRef error)
{
    complaint *c = context;
    char *text = LLVMGetErrorMessage(error);
    if (c != NULL && c->text[0] == '\0') {
        (void)snprintf(c->text, sizeof c->text, "%s", text);
        c->text[strcspn(c->text, "\n")] = '\0';
    }
    LLVMDisposeErrorMessage(text);
}

static vta_status add_object(LLVMOrcLLJITRef jit, LLVMOrcJITDylibRef code, const uint8_t *object,
                             size_t bytes, const char *name, vta_diag *diag)
{
    LLVMMemoryBufferRef copy = LLVMCreateMemoryBufferWithMemoryRangeCopy((const char *)object, bytes, name);
    return told(LLVMOrcLLJITAddObjectFile(jit, code, copy), diag);
}

static bool has_name(const char *const *names, const char *name)
{
    bool found = false;
    for (; names != NULL && *names != NULL && !found; names++) {
        found = strcmp(*names, name) == 0;
    }
    return found;
}

/* Whether the code may call a function of that name. */
static int may_call(void *context, LLVMOrcSymbolStringPoolEntryRef symbol)
{
    const vtac_artifact_image *image = context;
    const char *name = LLVMOrcSymbolStringPoolEntryStr(symbol);
    return has_name(image->libc, name) || has_name(image->libm, name);
}

typedef struct answer {
    LLVMErrorRef error;
    LLVMOrcExecutorAddress address;
} answer;

static void take_answer(LLVMErrorRef error, LLVMOrcCSymbolMapPairs found, size_t count, void *context)
{
    *(answer *)context = (answer){error, count > 0 ? found[0].Sym.Address : 0};
}

/* Places all that the artifact of `code` leads to: the answer is there when the question returns. */
static vta_status look_up(LLVMOrcExecutionSessionRef session, LLVMOrcJITDylibRef code,
                          const vta_artifact **artifact, vta_diag *diag)
{
    complaint said = {""};
    answer got = {NULL, 0};
    LLVMOrcCJITDylibSearchOrderElement where = {code, LLVMOrcJITDylibLookupFlagsMatchExportedSymbolsOnly};
    LLVMOrcCLookupSetElement what = {LLVMOrcExecutionSessionIntern(session, VTA_ARTIFACT_SYMBOL),
                                     LLVMOrcSymbolLookupFlagsRequiredSymbol};
    LLVMOrcExecutionSessionSetErrorReporter(session, keep, &said);
    LLVMOrcExecutionSessionLookup(session, LLVMOrcLookupKindStatic, &where, 1, &what, 1, take_answer, &got);
    LLVMOrcExecutionSessionSetErrorReporter(session, keep, NULL);
    *artifact = (const vta_artifact *)(uintptr_t)got.address;
    if (said.text[0] != '\0') { /* the reason; the error says what failed for it */
        LLVMConsumeError(got.error);
        return vta_fail(diag, VTA_UNSUPPORTED, "the compiled code cannot be placed in memory: %s", said.text);
    }
    return told(got.error, diag);
}

/* In a library of its own: LLVM lets the first one of a session see all that this program has. */
static vta_status place(const vtac_artifact_image *image, LLVMOrcLLJITRef *jit, const vta_artifact **artifact,
                        vta_diag *diag)
{
    vtac_artifact_image calls = *image; /* nothing is looked up later */
    LLVMOrcDefinitionGeneratorRef ours = NULL;
    VTA_TRY(told(LLVMOrcCreateLLJIT(jit, NULL), diag));
    LLVMOrcExecutionSessionRef session = LLVMOrcLLJITGetExecutionSession(*jit);
    LLVMOrcJITDylibRef code = LLVMOrcExecutionSessionCreateBareJITDylib(session, "model");
    VTA_TRY(told(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
                     &ours, LLVMOrcLLJITGetGlobalPrefix(*jit), may_call, &calls),
                 diag));
    LLVMOrcJITDylibAddGenerator(code, ours);
    VTA_TRY(add_object(*jit, code, image->object, image->object_bytes, "model", diag));
    if (image->helpers != NULL) { /* placed only if one is called */
        VTA_TRY(add_object(*jit, code, image->helpers, image->helpers_bytes, "helpers", diag));
    }
    return look_up(session, code, artifact, diag);
}

/* What a processor is called in the header of an object. */
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
