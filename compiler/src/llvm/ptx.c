/* SPDX-License-Identifier: Apache-2.0
 *
 * Bound nests to PTX by LLVM's back end for NVIDIA's processors: one module a kernel, of which the artifact
 * takes the parameters and the body.
 */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "../gpu/gpu.h"
#include "emit.h"
#include "target.h"
#include "vta/fail.h"

enum { ENTRY_CONVENTION = 71 }; /* LLVM's number for kernels */

typedef struct ptx_writer {
    vtac_emitter em;
    const vtac_bound *bound;
    LLVMTypeRef i64;
    vta_diag *diag;
} ptx_writer;

static vtac_target processor_target(const char *processor)
{
    vtac_target target = {.triple = "nvptx64-nvidia-cuda",
                          .features = "+ptx78",
                          .vector_bytes = 16,
                          .vector_count = 64,
                          .has_fma = true,
                          .has_half = true,
                          .has_rounding = true,
                          .has_division = true};
    strncpy(target.cpu, processor, sizeof target.cpu - 1);
    return target;
}

static void start_module(ptx_writer *w, LLVMTargetMachineRef machine, const vtac_target *target)
{
    vtac_emitter *em = &w->em;
    em->context = LLVMContextCreate();
    em->module = LLVMModuleCreateWithNameInContext("kernel", em->context);
    em->builder = LLVMCreateBuilderInContext(em->context);
    em->target = target;
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    LLVMSetModuleDataLayout(em->module, layout);
    LLVMDisposeTargetData(layout);
    LLVMSetTarget(em->module, target->triple);
    w->i64 = LLVMInt64TypeInContext(em->context);
}

/* A special register as an index. */
static LLVMValueRef read_register(ptx_writer *w, const char *name)
{
    LLVMValueRef value = vtac_llvm_intrinsic(&w->em, name, NULL, 0, NULL, 0);
    return LLVMBuildZExt(w->em.builder, value, w->i64, "");
}

/* Parameters: the buffers in turn, the scratch memory of all items, the bytes of each. */
static vta_status start_function(ptx_writer *w)
{
    vtac_emitter *em = &w->em;
    const uint32_t count = w->bound->kernel.argument_count;
    LLVMTypeRef *types = calloc(count + 2, sizeof *types);
    em->arguments = calloc(count + 1, sizeof(LLVMValueRef));
    if (types == NULL || em->arguments == NULL) {
        free(types);
        return vta_no_memory(w->diag);
    }
    for (uint32_t i = 0; i < count + 1; i++) {
        types[i] = LLVMPointerTypeInContext(em->context, 0);
    }
    types[count + 1] = w->i64;
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(em->context), types, count + 2, 0);
    free(types);
    em->function = LLVMAddFunction(em->module, "k", type);
    LLVMSetFunctionCallConv(em->function, ENTRY_CONVENTION);
    for (uint32_t i = 0; i < count; i++) {
        em->arguments[i] = LLVMGetParam(em->function, i);
    }
    em->scratch = LLVMGetParam(em->function, count);
    LLVMPositionBuilderAtEnd(em->builder, LLVMAppendBasicBlockInContext(em->context, em->function, "entry"));
    return VTA_OK;
}

/* Leaves the kernel to the first item where the nest has no loop that is shared out. */
static void keep_first(ptx_writer *w, LLVMValueRef number)
{
    vtac_emitter *em = &w->em;
    LLVMBasicBlockRef one = LLVMAppendBasicBlockInContext(em->context, em->function, "one");
    LLVMBasicBlockRef other = LLVMAppendBasicBlockInContext(em->context, em->function, "other");
    LLVMValueRef first = LLVMBuildICmp(em->builder, LLVMIntEQ, number, LLVMConstNull(w->i64), "");
    LLVMBuildCondBr(em->builder, first, one, other);
    LLVMPositionBuilderAtEnd(em->builder, other);
    LLVMBuildRetVoid(em->builder);
    LLVMPositionBuilderAtEnd(em->builder, one);
}

/* The numbers of the item, and its scratch memory. */
static void find_item(ptx_writer *w)
{
    vtac_emitter *em = &w->em;
    LLVMBuilderRef b = em->builder;
    LLVMTypeRef byte = LLVMInt8TypeInContext(em->context);
    em->group = read_register(w, "llvm.nvvm.read.ptx.sreg.ctaid.x");
    em->item = read_register(w, "llvm.nvvm.read.ptx.sreg.tid.x");
    LLVMValueRef size = read_register(w, "llvm.nvvm.read.ptx.sreg.ntid.x");
    LLVMValueRef groups = read_register(w, "llvm.nvvm.read.ptx.sreg.nctaid.x");
    em->begin = LLVMBuildAdd(b, LLVMBuildMul(b, em->group, size, ""), em->item, "");
    em->step = LLVMBuildMul(b, groups, size, "");
    em->end = LLVMConstInt(w->i64, (uint64_t)w->bound->items, 0);
    LLVMValueRef each = LLVMGetParam(em->function, w->bound->kernel.argument_count + 1);
    LLVMValueRef offset = LLVMBuildMul(b, em->begin, each, "");
    em->scratch = LLVMBuildGEP2(b, byte, em->scratch, &offset, 1, "");
    if (w->bound->items == 1 && w->bound->group == 0) {
        keep_first(w, em->begin);
    }
}

static vta_status llvm_failure(ptx_writer *w, char *message)
{
    const vta_status status = vta_fail(w->diag, VTA_INVALID, "LLVM: %s", message);
    LLVMDisposeMessage(message);
    return status;
}

static vta_status optimize_kernel(ptx_writer *w, LLVMTargetMachineRef machine)
{
    static const char passes[] =
        "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,loop-mssa(loop-rotate,"
        "licm),"
        "loop(indvars,loop-idiom,loop-deletion,loop-unroll-full),sroa,gvn,instcombine<no-verify-fixpoint>,"
        "loop-mssa(licm),simplifycfg),globaldce";
    char *message = NULL;
    if (LLVMVerifyModule(w->em.module, LLVMReturnStatusAction, &message) != 0) {
        return llvm_failure(w, message);
    }
    LLVMDisposeMessage(message);
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(w->em.module, passes, machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (error == NULL) {
        return VTA_OK;
    }
    message = LLVMGetErrorMessage(error);
    const vta_status status = vta_fail(w->diag, VTA_INVALID, "LLVM: %s", message);
    LLVMDisposeErrorMessage(message);
    return status;
}

/* ---- the text */

/* Refuses functions that the module calls and does not have: LLVM prints an operation that the processor
 * lacks as the declaration of such a function, and the driver's linker finds none. */
static vta_status check_functions(const ptx_writer *w, const char *text)
{
    static const char *const bad[] = {".extern .func", ".func"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *found = strstr(text, bad[i]);
        if (found != NULL) {
            return vta_fail(w->diag, VTA_UNSUPPORTED, "PTX has no form for it: %.*s",
                            (int)strcspn(found, "\n"), found);
        }
    }
    return VTA_OK;
}

/* Data behind the head of the module, as tables of constants would be: the artifact has kernels alone. */
static vta_status check_data(const ptx_writer *w, const char *text, const char *entry)
{
    static const char *const bad[] = {"\n.global", "\n.const", "\n.shared", "\n.extern"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *found = strstr(text, bad[i]);
        if (found != NULL && found < entry) {
            return vta_fail(w->diag, VTA_UNSUPPORTED, "PTX has no form for its data: %.*s",
                            (int)strcspn(found + 1, "\n"), found + 1);
        }
    }
    return VTA_OK;
}

/* Appends a text without comments and empty lines. */
static void put_lines(vta_str *out, const char *text)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        const char *comment = strstr(text, "//");
        size_t kept = comment != NULL && comment < text + length ? (size_t)(comment - text) : length;
        while (kept > 0 && strchr(" \t", text[kept - 1]) != NULL) {
            kept--;
        }
        if (kept > 0) {
            vta_str_append(out, text, kept);
            vta_str_append(out, "\n", 1);
        }
        text += length + (text[length] == '\n');
    }
}

/* Appends all that follows the kernel's name: parameters, how many items a group has, the body. */
static vta_status take_kernel(const ptx_writer *w, const char *text, vta_str *out)
{
    static const char head[] = ".visible .entry k(";
    const char *entry = strstr(text, head);
    const char *body = entry != NULL ? strstr(entry, ")\n") : NULL;
    if (body == NULL) {
        return vta_fail(w->diag, VTA_INVALID, "LLVM has printed no kernel");
    }
    VTA_TRY(check_functions(w, text));
    VTA_TRY(check_data(w, text, entry));
    vta_str_append(out, entry + sizeof head - 2, (size_t)(body - entry) - (sizeof head - 2));
    vta_str_put(out, ")\n");
    if (w->bound->group > 0) {
        vta_str_printf(out, ".reqntid %lld, 1, 1\n", (long long)w->bound->group);
    }
    put_lines(out, body + 2);
    return vta_allocated(!out->failed, w->diag);
}

static vta_status write_kernel(ptx_writer *w, LLVMTargetMachineRef machine, vta_str *out)
{
    uint8_t *text = NULL;
    size_t size;
    VTA_TRY(start_function(w));
    find_item(w);
    vtac_emit_body(&w->em, &w->bound->kernel);
    if (w->em.failed) {
        return vta_no_memory(w->diag);
    }
    VTA_TRY(optimize_kernel(w, machine));
    VTA_TRY(vtac_emit_module(machine, w->em.module, LLVMAssemblyFile, &text, &size, w->diag));
    const vta_status status = take_kernel(w, (const char *)text, out);
    free(text);
    return status;
}

vta_status vtac_emit_ptx(const vtac_bound *bound, const char *processor, vta_str *out, uint32_t *needs,
                         vta_diag *diag)
{
    LLVMTargetMachineRef machine;
    const vtac_target target = processor_target(processor);
    ptx_writer w = {.bound = bound, .diag = diag};
    *needs = 0; /* every processor has double precision */
    VTA_TRY(vtac_machine_create(&target, 2, &machine, diag));
    start_module(&w, machine, &target);
    const vta_status status = write_kernel(&w, machine, out);
    free(w.em.arguments);
    LLVMDisposeBuilder(w.em.builder);
    LLVMDisposeModule(w.em.module);
    LLVMContextDispose(w.em.context);
    LLVMDisposeTargetMachine(machine);
    return status;
}
