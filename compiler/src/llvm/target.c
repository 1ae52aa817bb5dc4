/* SPDX-License-Identifier: Apache-2.0
 *
 * The targets that vtac knows, or that a user describes, in LLVM's words, and its machine for each.
 */
#include "target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

static void set_up_llvm(void)
{
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser(); /* for a system call */
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeARMTargetInfo();
    LLVMInitializeARMTarget();
    LLVMInitializeARMTargetMC();
    LLVMInitializeARMAsmPrinter();
    LLVMInitializeRISCVTargetInfo();
    LLVMInitializeRISCVTarget();
    LLVMInitializeRISCVTargetMC();
    LLVMInitializeRISCVAsmPrinter();
    LLVMInitializeWebAssemblyTargetInfo();
    LLVMInitializeWebAssemblyTarget();
    LLVMInitializeWebAssemblyTargetMC();
    LLVMInitializeWebAssemblyAsmPrinter();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
}

static void describe_target(vtac_target *out, const char *name, const char *triple, const char *cpu,
                            const char *features)
{
    *out = (vtac_target){0};
    (void)snprintf(out->name, sizeof out->name, "%s", name);
    (void)snprintf(out->triple, sizeof out->triple, "%s", triple);
    (void)snprintf(out->cpu, sizeof out->cpu, "%s", cpu);
    (void)snprintf(out->features, sizeof out->features, "%s", features);
}

/* This machine. */
static void describe_host(vtac_target *out)
{
    char *triple = LLVMGetDefaultTargetTriple();
    char *cpu = LLVMGetHostCPUName();
    char *features = LLVMGetHostCPUFeatures();
    describe_target(out, "host", triple, cpu, features);
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
}

/* ---- TRIPLE,cpu=NAME,features=+A,-B */

/* LLVM says on stderr what it does not know of a processor and goes on without it. A process of its own says
 * it into a pipe: *complained. */
static vta_status ask_llvm(const vtac_target *target, char *complaint, size_t size, vta_diag *diag)
{
    int ends[2] = {-1, -1};
    if (pipe(ends) != 0) {
        return vta_fail(diag, VTA_IO, "no pipe: %s", strerror(errno));
    }
    const pid_t child = fork();
    if (child == 0) {
        LLVMTargetMachineRef machine;
        (void)dup2(ends[1], STDERR_FILENO);
        _exit(vtac_machine_create(target, 0, &machine, NULL) == VTA_OK ? 0 : 1);
    }
    (void)close(ends[1]);
    size_t got = 0;
    for (ssize_t n = 1; child > 0 && n > 0;) {
        char more[256];
        n = read(ends[0], got < size - 1 ? complaint + got : more,
                 got < size - 1 ? size - 1 - got : sizeof more);
        got += n > 0 && got < size - 1 ? (size_t)n : 0;
    }
    complaint[got] = '\0';
    (void)close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
    return child > 0 ? VTA_OK : vta_fail(diag, VTA_IO, "no process: %s", strerror(errno));
}

/* The triple in LLVM's words, if LLVM has the processor and the features. */
static vta_status check_spec(vtac_target *target, vta_diag *diag)
{
    char complaint[256] = "";
    char *normal = LLVMNormalizeTargetTriple(target->triple);
    (void)snprintf(target->triple, sizeof target->triple, "%s", normal);
    LLVMDisposeMessage(normal);
    LLVMTargetMachineRef machine = NULL;
    const vtac_target plain = {.cpu = "", .features = ""};
    vtac_target bare = plain;
    memcpy(bare.triple, target->triple, sizeof bare.triple);
    VTA_TRY(vtac_machine_create(&bare, 0, &machine, diag));
    LLVMDisposeTargetMachine(machine);
    VTA_TRY(ask_llvm(target, complaint, sizeof complaint, diag));
    complaint[strcspn(complaint, "(\n")] = '\0';
    for (size_t size = strlen(complaint); size > 0 && complaint[size - 1] == ' '; size--) {
        complaint[size - 1] = '\0';
    }
    return complaint[0] == '\0'
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID, "host '%s': LLVM says: %s", target->name, complaint);
}

static vta_status parse_spec(const char *spec, vtac_target *out, vta_diag *diag)
{
    static const char *const keys[] = {",cpu=", ",features="};
    char text[sizeof out->features];
    char *found[2];
    if (snprintf(text, sizeof text, "%s", spec) >= (int)sizeof text) {
        return vta_fail(diag, VTA_INVALID, "the host's description is longer than %zu characters",
                        sizeof text - 1);
    }
    for (size_t i = 0; i < 2; i++) {
        found[i] = strstr(text, keys[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        if (found[i] != NULL) {
            *found[i] = '\0';
            found[i] += strlen(keys[i]);
        }
    }
    if (strchr(text, ',') != NULL || strlen(text) >= sizeof out->triple ||
        (found[0] != NULL && strlen(found[0]) >= sizeof out->cpu)) {
        return vta_fail(diag, VTA_INVALID, "host '%s' is not TRIPLE,cpu=NAME,features=+A,-B", spec);
    }
    describe_target(out, "", text, found[0] != NULL ? found[0] : "generic", found[1] != NULL ? found[1] : "");
    (void)snprintf(out->name, sizeof out->name, "%.*s", (int)sizeof out->name - 1, text);
    return check_spec(out, diag);
}

static vta_status fail_unknown(const char *name, vta_diag *diag)
{
    char known[512] = "";
    size_t count = 0;
    const vtac_target_row *rows = vtac_targets(&count);
    for (size_t i = 0; i < count; i++) {
        const size_t size = strlen(known);
        (void)snprintf(known + size, sizeof known - size, "%s%s", i > 0 ? ", " : "", rows[i].name);
    }
    return vta_fail(diag, VTA_INVALID, "unknown host '%s'; known are %s, and TRIPLE,cpu=NAME,features=+A,-B",
                    name, known);
}

/* A triple alone, or with a processor and features behind commas; "cortex-a53" is none. */
static bool may_be_spec(const char *name)
{
    char *message = NULL;
    LLVMTargetRef found = NULL;
    if (strchr(name, '-') == NULL || strcspn(name, "-") <= 2) {
        return false;
    }
    if (strchr(name, ',') != NULL || LLVMGetTargetFromTriple(name, &found, &message) == 0) {
        return true;
    }
    LLVMDisposeMessage(message);
    return false;
}

static vta_status find_target(const char *name, vtac_target *out, vta_diag *diag)
{
    if (strcmp(name, "host") == 0) {
        describe_host(out);
        return VTA_OK;
    }
    size_t count = 0;
    const vtac_target_row *rows = vtac_targets(&count);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(name, rows[i].name) == 0) {
            describe_target(out, name, rows[i].triple, rows[i].cpu, rows[i].features);
            return VTA_OK;
        }
    }
    return may_be_spec(name) ? parse_spec(name, out, diag) : fail_unknown(name, diag);
}

vta_status vtac_llvm_find(const char *name, vtac_target *out, vta_diag *diag)
{
    set_up_llvm();
    VTA_TRY(find_target(name, out, diag));
    return vtac_target_learn(out, diag);
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
    *out = LLVMCreateTargetMachine(
        found, target->triple, target->cpu, target->features,
        level == VTAC_LEVEL_ONCE ? LLVMCodeGenLevelNone : levels[level > 3 ? 3 : level],
        strstr(target->triple, "-none-") != NULL || vtac_target_is(target, "wasm32") ? LLVMRelocStatic
                                                                                     : LLVMRelocPIC,
        LLVMCodeModelDefault);
    return *out != NULL ? VTA_OK
                        : vta_fail(diag, VTA_UNSUPPORTED, "LLVM has no machine for '%s'", target->triple);
}
