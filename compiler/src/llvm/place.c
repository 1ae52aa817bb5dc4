/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects in this process. LLVM's linker places an object's sections in memory; what the object calls and
 * does not have is looked up in this program, which has the C library's functions; as where it is linked,
 * what is in neither of the image's lists of names is refused.
 */
#include "place.h"

#include <stdio.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>

static vta_status fail_with_error(LLVMErrorRef error, vta_diag *diag)
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

/* First of LLVM's messages, which would otherwise go to stderr: it is the reason of a failure. */
typedef struct complaint {
    char text[400];
} complaint;

static void keep_error(void *context, LLVMErrorRef error)
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
    return fail_with_error(LLVMOrcLLJITAddObjectFile(jit, code, copy), diag);
}

static bool has_name(const char *const *names, const char *name)
{
    bool found = false;
    for (; names != NULL && *names != NULL && !found; names++) {
        found = strcmp(*names, name) == 0;
    }
    return found;
}

/* True if the code may call a function of that name. */
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
    LLVMOrcExecutionSessionSetErrorReporter(session, keep_error, &said);
    LLVMOrcExecutionSessionLookup(session, LLVMOrcLookupKindStatic, &where, 1, &what, 1, take_answer, &got);
    LLVMOrcExecutionSessionSetErrorReporter(session, keep_error, NULL);
    *artifact = (const vta_artifact *)(uintptr_t)got.address;
    if (said.text[0] != '\0') { /* the reason; the error says what failed for it */
        LLVMConsumeError(got.error);
        return vta_fail(diag, VTA_UNSUPPORTED, "the compiled code cannot be placed in memory: %s", said.text);
    }
    return fail_with_error(got.error, diag);
}

/* In a library of its own: LLVM lets the first one of a session see all that this program has. */
vta_status vtac_llvm_place(const vtac_artifact_image *image, LLVMOrcLLJITRef *jit,
                           const vta_artifact **artifact, vta_diag *diag)
{
    vtac_artifact_image calls = *image; /* nothing is looked up later */
    LLVMOrcDefinitionGeneratorRef ours = NULL;
    VTA_TRY(fail_with_error(LLVMOrcCreateLLJIT(jit, NULL), diag));
    LLVMOrcExecutionSessionRef session = LLVMOrcLLJITGetExecutionSession(*jit);
    LLVMOrcJITDylibRef code = LLVMOrcExecutionSessionCreateBareJITDylib(session, "model");
    VTA_TRY(fail_with_error(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
                                &ours, LLVMOrcLLJITGetGlobalPrefix(*jit), may_call, &calls),
                            diag));
    LLVMOrcJITDylibAddGenerator(code, ours);
    VTA_TRY(add_object(*jit, code, image->object, image->object_bytes, "model", diag));
    if (image->helpers != NULL) { /* placed only if one is called */
        VTA_TRY(add_object(*jit, code, image->helpers, image->helpers_bytes, "helpers", diag));
    }
    return look_up(session, code, artifact, diag);
}

void vtac_llvm_forget(LLVMOrcLLJITRef jit)
{
    LLVMConsumeError(LLVMOrcDisposeLLJIT(jit));
}
