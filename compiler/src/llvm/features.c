/* SPDX-License-Identifier: Apache-2.0
 *
 * What the code for a processor may use. LLVM-C has no such question, but its inliner has the answer: it puts
 * a function into another one only where the second may use all that the first may. So for each feature there
 * is a function that asks for it, and one caller, compiled for the processor; the features whose functions
 * were inlined are those that the processor has.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "target.h"

static const struct {
    const char *arch, *name;
} known[] = {
#define VTA_CPU_X86(name)          {"x86_64", name},
#define VTA_CPU_X86_AVX(name, bit) {"x86_64", name},
#define VTA_CPU_AARCH64(name, bit) {"aarch64", name},
#define VTA_CPU_ARM(name, bit)     {"arm", name},
#define VTA_CPU_RISCV(name, bit)   {"riscv64", name},
#include "vta/cpu_features.def"
    {"x86_64", "f16c"},     /* not for the loader: every processor with AVX2 has it */
    {"x86_64", "amx-int8"}, /* nor this: the kernels ask for it */
};
enum { KNOWN = sizeof known / sizeof known[0], HALF = KNOWN - 2, TILES };

bool vtac_target_is(const vtac_target *target, const char *arch)
{
    return strncmp(target->triple, arch, strlen(arch)) == 0 ||
           (strcmp(arch, "arm") == 0 && strncmp(target->triple, "thumb", 5) == 0);
}

static void set_text(LLVMContextRef context, LLVMValueRef function, const char *key, const char *value)
{
    LLVMAttributeRef attribute =
        LLVMCreateStringAttribute(context, key, (unsigned)strlen(key), value, (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute);
}

/* A function without arguments, compiled for the target, perhaps with one feature more; the builder stands in
 * its body. */
static LLVMValueRef add_function(LLVMModuleRef module, LLVMBuilderRef builder, const vtac_target *target,
                                 const char *name, const char *feature)
{
    char features[sizeof target->features + 80];
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(context), NULL, 0, 0);
    LLVMValueRef function = LLVMAddFunction(module, name, type);
    (void)snprintf(features, sizeof features, "%s%s%s", target->features,
                   target->features[0] != '\0' && feature != NULL ? "," : "", feature != NULL ? feature : "");
    set_text(context, function, "target-cpu", target->cpu);
    set_text(context, function, "target-features", features);
    LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, function, ""));
    return function;
}

static vta_status inline_all(LLVMModuleRef module, LLVMTargetMachineRef machine, vta_diag *diag)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(module, "cgscc(inline)", machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (error == NULL) {
        return VTA_OK;
    }
    char *message = LLVMGetErrorMessage(error);
    const vta_status status = vta_fail(diag, VTA_INVALID, "LLVM: %s", message);
    LLVMDisposeErrorMessage(message);
    return status;
}

static vta_status ask_processor(const vtac_target *target, LLVMTargetMachineRef machine, bool *has,
                                vta_diag *diag)
{
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext("features", context);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    LLVMValueRef asked[KNOWN] = {NULL};
    LLVMSetTarget(module, target->triple);
    for (size_t i = 0; i < KNOWN; i++) {
        char feature[64];
        (void)snprintf(feature, sizeof feature, "+%s", known[i].name);
        if (vtac_target_is(target, known[i].arch)) {
            asked[i] = add_function(module, builder, target, known[i].name, feature);
            LLVMBuildRetVoid(builder);
        }
    }
    (void)add_function(module, builder, target, "the processor", NULL);
    for (size_t i = 0; i < KNOWN; i++) {
        if (asked[i] != NULL) {
            LLVMBuildCall2(builder, LLVMGlobalGetValueType(asked[i]), asked[i], NULL, 0, "");
        }
    }
    LLVMBuildRetVoid(builder);
    const vta_status status = inline_all(module, machine, diag);
    for (size_t i = 0; i < KNOWN; i++) {
        has[i] = asked[i] != NULL && LLVMGetFirstUse(asked[i]) == NULL;
    }
    LLVMDisposeBuilder(builder);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    return status;
}

static bool requires_feature(const vtac_target *target, const char *feature)
{
    const size_t size = strlen(feature);
    for (const char *p = target->required; *p != '\0'; p += *p == ',') {
        const size_t length = strcspn(p, ",");
        if (length == size && strncmp(p, feature, size) == 0) {
            return true;
        }
        p += length;
    }
    return false;
}

/* Derives the lowering's properties of a target from its features. */
static void shape_target(vtac_target *t)
{
    const bool is_x86 = vtac_target_is(t, "x86_64");
    const bool is_aarch64 = vtac_target_is(t, "aarch64");
    t->is_bare = strstr(t->triple, "-none-") != NULL;
    t->is_wasm = vtac_target_is(t, "wasm32");
    const bool is_riscv = vtac_target_is(t, "riscv32") || vtac_target_is(t, "riscv64");
    t->has_floats = !is_riscv || requires_feature(t, "f");
    t->vector_bytes = vtac_target_is(t, "arm") && !requires_feature(t, "neon") ? 4 : 16; /* 4: one by one */
    t->is_scalar = is_riscv || t->vector_bytes == 4;
    t->vector_count = is_aarch64 || vtac_target_is(t, "riscv64") ? 32 : 16;
    if (requires_feature(t, "avx512f") && requires_feature(t, "avx512vl")) {
        t->vector_bytes = 64;
        t->vector_count = 32;
        t->has_vnni = requires_feature(t, "avx512vnni");
        t->takes_halves = strcmp(t->cpu, "znver4") == 0; /* alone among those with AVX-512 */
    } else if (requires_feature(t, "avx2")) {
        t->vector_bytes = 32;
        t->has_vnni = requires_feature(t, "avxvnni");
    }
    t->has_signed_dot = is_aarch64 && requires_feature(t, "dotprod");
    t->has_pairs = (is_x86 && !t->has_vnni) || t->is_wasm;
    t->has_neon = t->vector_bytes == 16 && (is_aarch64 || vtac_target_is(t, "arm"));
    t->has_long = t->has_neon && !t->has_signed_dot;
    t->has_division = !t->has_neon || is_aarch64;
    t->has_fma =
        is_aarch64 || requires_feature(t, "fma") || requires_feature(t, "vfp4") || requires_feature(t, "f");
    t->has_rounding = (!is_x86 || requires_feature(t, "sse4.2")) &&
                      (!vtac_target_is(t, "arm") || requires_feature(t, "fp-armv8"));
}

static vta_status learn_features(vtac_target *target, vta_diag *diag)
{
    LLVMTargetMachineRef machine;
    bool has[KNOWN];
    VTA_TRY(vtac_machine_create(target, 1, &machine, diag));
    const vta_status status = ask_processor(target, machine, has, diag);
    LLVMDisposeTargetMachine(machine);
    VTA_TRY(status);
    target->required[0] = '\0';
    for (size_t i = 0; i < HALF; i++) {
        const size_t size = strlen(target->required);
        if (has[i]) {
            (void)snprintf(target->required + size, sizeof target->required - size, "%s%s",
                           size > 0 ? "," : "", known[i].name);
        }
    }
    shape_target(target);
    target->has_tiles = has[TILES] && target->has_vnni && strstr(target->triple, "linux") != NULL;
    target->has_half = vtac_target_is(target, "aarch64") || (has[HALF] && target->vector_bytes >= 32);
    return VTA_OK;
}

/* ---- what was learned before, in this process: asking takes as long as compiling a small model */

enum { MAX_LEARNED = 8 };
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static vtac_target learned[MAX_LEARNED]; /* without a triple: free */
static size_t next_learned;

static bool same_processor(const vtac_target *a, const vtac_target *b)
{
    return strcmp(a->triple, b->triple) == 0 && strcmp(a->cpu, b->cpu) == 0 &&
           strcmp(a->features, b->features) == 0;
}

/* Copies remembered features of the target's processor into the target; false: none are remembered. */
static bool recall_features(vtac_target *target)
{
    bool known_already = false;
    (void)pthread_mutex_lock(&guard);
    for (size_t i = 0; i < MAX_LEARNED && !known_already; i++) {
        known_already = same_processor(&learned[i], target);
        if (known_already) {
            char name[sizeof target->name];
            memcpy(name, target->name, sizeof name);
            *target = learned[i];
            memcpy(target->name, name, sizeof name);
        }
    }
    (void)pthread_mutex_unlock(&guard);
    return known_already;
}

static void remember_features(const vtac_target *target)
{
    (void)pthread_mutex_lock(&guard);
    learned[next_learned] = *target;
    next_learned = (next_learned + 1) % MAX_LEARNED; /* the oldest one goes */
    (void)pthread_mutex_unlock(&guard);
}

vta_status vtac_target_learn(vtac_target *target, vta_diag *diag)
{
    if (!recall_features(target)) {
        VTA_TRY(learn_features(target, diag));
        remember_features(target);
    }
    return VTA_OK;
}
