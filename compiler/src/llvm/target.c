/* SPDX-License-Identifier: Apache-2.0
 *
 * The targets that vtac knows, and LLVM's machine for each.
 */
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

#define BASE   "sse4.2"
#define LEVEL3 "avx2,fma,bmi2"
#define LEVEL4 LEVEL3 ",avx512f,avx512bw,avx512dq,avx512vl"

enum { VNNI = 1, SIGNED_DOT = 2, FMA = 4 };
static const struct {
    const char *name, *triple, *cpu, *features, *required;
    uint32_t vector_bytes, vector_count;
    unsigned has;
} targets[] = {
    {"x86-64-v2", "x86_64-pc-linux-gnu", "x86-64-v2", "", BASE, 16, 16, 0},
    {"x86-64-v3", "x86_64-pc-linux-gnu", "x86-64-v3", "", LEVEL3, 32, 16, FMA},
    {"x86-64-avxvnni", "x86_64-pc-linux-gnu", "x86-64-v3", "+avxvnni", LEVEL3 ",avxvnni", 32, 16, FMA | VNNI},
    {"x86-64-v4", "x86_64-pc-linux-gnu", "x86-64-v4", "", LEVEL4, 64, 32, FMA},
    {"x86-64-vnni", "x86_64-pc-linux-gnu", "x86-64-v4", "+avx512vnni", LEVEL4 ",avx512vnni", 64, 32,
     FMA | VNNI},
    {"aarch64", "aarch64-linux-gnu", "generic", "+neon", "neon", 16, 32, FMA},
    {"aarch64-dotprod", "aarch64-linux-gnu", "generic", "+neon,+dotprod", "neon,dotprod", 16, 32,
     FMA | SIGNED_DOT},
    {"armv7a", "armv7a-linux-gnueabihf", "cortex-a9", "+neon", "", 16, 16, 0},
};
enum { DEFAULT_TARGET = 1 };

static void set_up_llvm(void)
{
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeARMTargetInfo();
    LLVMInitializeARMTarget();
    LLVMInitializeARMTargetMC();
    LLVMInitializeARMAsmPrinter();
}

/* Whether LLVM's list of features turns one on. */
static bool has_feature(const char *features, const char *name)
{
    const size_t size = strlen(name);
    for (const char *p = features; (p = strchr(p, '+')) != NULL; p++) {
        if (strncmp(p + 1, name, size) == 0 && (p[1 + size] == ',' || p[1 + size] == '\0')) {
            return true;
        }
    }
    return false;
}

static void require(vtac_target *target, const char *feature)
{
    const size_t size = strlen(target->required);
    (void)snprintf(target->required + size, sizeof target->required - size, "%s%s", size > 0 ? "," : "",
                   feature);
}

/* This machine, with the features that the loader knows how to look for. */
static void describe_host(vtac_target *out)
{
    static const char *const checked[] = {"sse4.2",   "avx",        "avx2",     "fma",
                                          "bmi2",     "avx512f",    "avx512bw", "avx512dq",
                                          "avx512vl", "avx512vnni", "avxvnni"};
    char *triple = LLVMGetDefaultTargetTriple();
    char *cpu = LLVMGetHostCPUName();
    char *features = LLVMGetHostCPUFeatures();
    *out = (vtac_target){.name = "host", .vector_bytes = 16, .vector_count = 16};
    (void)snprintf(out->triple, sizeof out->triple, "%s", triple);
    (void)snprintf(out->cpu, sizeof out->cpu, "%s", cpu);
    (void)snprintf(out->features, sizeof out->features, "%s", features);
    for (size_t i = 0; i < sizeof checked / sizeof checked[0]; i++) {
        if (has_feature(features, checked[i])) {
            require(out, checked[i]);
        }
    }
    if (has_feature(features, "avx512f") && has_feature(features, "avx512vl")) {
        out->vector_bytes = 64;
        out->vector_count = 32;
        out->has_vnni = has_feature(features, "avx512vnni");
    } else if (has_feature(features, "avx2")) {
        out->vector_bytes = 32;
        out->has_vnni = has_feature(features, "avxvnni");
    } else if (strncmp(out->triple, "aarch64", 7) == 0) {
        out->vector_count = 32;
        out->has_fma = true;
        out->has_signed_dot = has_feature(features, "dotprod");
        require(out, out->has_signed_dot ? "neon,dotprod" : "neon");
    }
    out->has_fma = out->has_fma || has_feature(features, "fma");
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
}

vta_status vtac_target_find(const char *name, vtac_target *out, vta_diag *diag)
{
    if (name != NULL && strcmp(name, "host") == 0) {
        describe_host(out);
        return VTA_OK;
    }
    char known[256] = "host";
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        if (name == NULL ? i == DEFAULT_TARGET : strcmp(name, targets[i].name) == 0) {
            *out = (vtac_target){.vector_bytes = targets[i].vector_bytes,
                                 .vector_count = targets[i].vector_count,
                                 .has_vnni = (targets[i].has & VNNI) != 0,
                                 .has_signed_dot = (targets[i].has & SIGNED_DOT) != 0,
                                 .has_fma = (targets[i].has & FMA) != 0};
            (void)snprintf(out->name, sizeof out->name, "%s", targets[i].name);
            (void)snprintf(out->triple, sizeof out->triple, "%s", targets[i].triple);
            (void)snprintf(out->cpu, sizeof out->cpu, "%s", targets[i].cpu);
            (void)snprintf(out->features, sizeof out->features, "%s", targets[i].features);
            (void)snprintf(out->required, sizeof out->required, "%s", targets[i].required);
            return VTA_OK;
        }
        const size_t size = strlen(known);
        (void)snprintf(known + size, sizeof known - size, ", %s", targets[i].name);
    }
    return vta_fail(diag, VTA_INVALID, "unknown host '%s'; known are %s", name, known);
}

vta_status vtac_machine_create(const vtac_target *target, int level, LLVMTargetMachineRef *out,
                               vta_diag *diag)
{
    static const LLVMCodeGenOptLevel levels[] = {LLVMCodeGenLevelLess, LLVMCodeGenLevelDefault,
                                                 LLVMCodeGenLevelDefault, LLVMCodeGenLevelAggressive};
    char *message = NULL;
    LLVMTargetRef found = NULL;
    set_up_llvm();
    if (LLVMGetTargetFromTriple(target->triple, &found, &message) != 0) {
        const vta_status status = vta_fail(diag, VTA_UNSUPPORTED, "target '%s': %s", target->triple, message);
        LLVMDisposeMessage(message);
        return status;
    }
    *out = LLVMCreateTargetMachine(found, target->triple, target->cpu, target->features,
                                   levels[level < 0   ? 0
                                          : level > 3 ? 3
                                                      : level],
                                   LLVMRelocPIC, LLVMCodeModelDefault);
    return *out != NULL ? VTA_OK
                        : vta_fail(diag, VTA_UNSUPPORTED, "LLVM has no machine for '%s'", target->triple);
}
