/* SPDX-License-Identifier: Apache-2.0
 *
 * What the code of a model may call, so that its link can be complete without a board's file system at hand:
 * the few names of libc and libm that LLVM uses (the linker finds them in libraries with nothing behind the
 * names, notes which of the two a model needs and refuses every other name), and, for 32-bit ARM, the
 * arithmetic that its processors lack. Elsewhere that comes from the compiler's own library, which a board
 * need not have, and which Debian has for the machine that compiles alone: compiler-rt for ARM is in no
 * package of amd64's.
 */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>

#include "target.h"
#include "vta/fail.h"
#include "vta/str.h"

static const char *const libc_names[] = {"memset", "memcpy", "memmove", NULL};
static const char *const libm_names[] = {"rintf", "floorf", "ceilf", "truncf", "fmaf", "fmodf", "rint",
                                         "floor", "ceil",   "trunc", "fma",    "fmod", NULL};

/* clang-format off */
/* Names and results as ARM's run-time ABI has them: floats in integer registers, also where everything else is
 * hard float. Division goes bit by bit from the quotient's first one; a divisor of 0, which no code of ours has,
 * gives 0. Integers become floats in one rounding: what lies below a double's bits is first folded into the
 * lowest of them. */

/* Division of 32 bits by that of 64, and its quotient alone. */
#define DIVISION_32(both, quotient, extend, wide)                                           \
    "define hidden arm_aapcscc { i32, i32 } @__aeabi_" both "(i32 %n, i32 %d) nounwind {\n" \
    "  %n64 = " extend " i32 %n to i64\n"                                                   \
    "  %d64 = " extend " i32 %d to i64\n"                                                   \
    "  %u = call arm_aapcscc { i64, i64 } @__aeabi_" wide "(i64 %n64, i64 %d64)\n"          \
    "  %uq = extractvalue { i64, i64 } %u, 0\n"                                             \
    "  %ur = extractvalue { i64, i64 } %u, 1\n"                                             \
    "  %q = trunc i64 %uq to i32\n"                                                         \
    "  %r = trunc i64 %ur to i32\n"                                                         \
    "  %both = insertvalue { i32, i32 } poison, i32 %q, 0\n"                                \
    "  %all = insertvalue { i32, i32 } %both, i32 %r, 1\n"                                  \
    "  ret { i32, i32 } %all\n"                                                             \
    "}\n"                                                                                   \
    "define hidden arm_aapcscc i32 @__aeabi_" quotient "(i32 %n, i32 %d) nounwind {\n"      \
    "  %u = call arm_aapcscc { i32, i32 } @__aeabi_" both "(i32 %n, i32 %d)\n"              \
    "  %q = extractvalue { i32, i32 } %u, 0\n"                                              \
    "  ret i32 %q\n"                                                                        \
    "}\n"

static const char arm_division[] =
    "declare i64 @llvm.ctlz.i64(i64, i1)\n"
    "define hidden arm_aapcscc { i64, i64 } @__aeabi_uldivmod(i64 %n, i64 %d) nounwind {\n"
    "  %zero = icmp eq i64 %d, 0\n"
    "  %less = icmp ult i64 %n, %d\n"
    "  %small = or i1 %zero, %less\n"
    "  br i1 %small, label %end, label %start\n"
    "start:\n"
    "  %nz = call i64 @llvm.ctlz.i64(i64 %n, i1 true)\n"
    "  %dz = call i64 @llvm.ctlz.i64(i64 %d, i1 true)\n"
    "  %shift = sub i64 %dz, %nz\n"
    "  %top = shl i64 %d, %shift\n"
    "  br label %bit\n"
    "bit:\n"
    "  %i = phi i64 [ %shift, %start ], [ %i1, %bit ]\n"
    "  %q = phi i64 [ 0, %start ], [ %q1, %bit ]\n"
    "  %r = phi i64 [ %n, %start ], [ %r1, %bit ]\n"
    "  %t = phi i64 [ %top, %start ], [ %t1, %bit ]\n"
    "  %fits = icmp uge i64 %r, %t\n"
    "  %rest = sub i64 %r, %t\n"
    "  %r1 = select i1 %fits, i64 %rest, i64 %r\n"
    "  %one = zext i1 %fits to i64\n"
    "  %twice = shl i64 %q, 1\n"
    "  %q1 = or i64 %twice, %one\n"
    "  %t1 = lshr i64 %t, 1\n"
    "  %i1 = sub i64 %i, 1\n"
    "  %last = icmp eq i64 %i, 0\n"
    "  br i1 %last, label %end, label %bit\n"
    "end:\n"
    "  %quotient = phi i64 [ 0, %0 ], [ %q1, %bit ]\n"
    "  %remainder = phi i64 [ %n, %0 ], [ %r1, %bit ]\n"
    "  %both = insertvalue { i64, i64 } poison, i64 %quotient, 0\n"
    "  %all = insertvalue { i64, i64 } %both, i64 %remainder, 1\n"
    "  ret { i64, i64 } %all\n"
    "}\n"
    "define hidden arm_aapcscc { i64, i64 } @__aeabi_ldivmod(i64 %n, i64 %d) nounwind {\n"
    "  %ns = ashr i64 %n, 63\n"
    "  %ds = ashr i64 %d, 63\n"
    "  %qs = xor i64 %ns, %ds\n"
    "  %nx = xor i64 %n, %ns\n"
    "  %na = sub i64 %nx, %ns\n"
    "  %dx = xor i64 %d, %ds\n"
    "  %da = sub i64 %dx, %ds\n"
    "  %u = call arm_aapcscc { i64, i64 } @__aeabi_uldivmod(i64 %na, i64 %da)\n"
    "  %uq = extractvalue { i64, i64 } %u, 0\n"
    "  %ur = extractvalue { i64, i64 } %u, 1\n"
    "  %qx = xor i64 %uq, %qs\n"
    "  %q = sub i64 %qx, %qs\n"
    "  %rx = xor i64 %ur, %ns\n"
    "  %r = sub i64 %rx, %ns\n"
    "  %both = insertvalue { i64, i64 } poison, i64 %q, 0\n"
    "  %all = insertvalue { i64, i64 } %both, i64 %r, 1\n"
    "  ret { i64, i64 } %all\n"
    "}\n"
    DIVISION_32("uidivmod", "uidiv", "zext", "uldivmod")
    DIVISION_32("idivmod", "idiv", "sext", "ldivmod");
static const char arm_conversion[] =
    "define hidden arm_aapcscc double @__aeabi_ul2d(i64 %x) nounwind {\n"
    "  %up = lshr i64 %x, 32\n"
    "  %high = trunc i64 %up to i32\n"
    "  %low = trunc i64 %x to i32\n"
    "  %h = uitofp i32 %high to double\n"
    "  %l = uitofp i32 %low to double\n"
    "  %s = fmul double %h, 4294967296.0\n"
    "  %y = fadd double %s, %l\n"
    "  ret double %y\n"
    "}\n"
    "define hidden arm_aapcscc double @__aeabi_l2d(i64 %x) nounwind {\n"
    "  %up = lshr i64 %x, 32\n"
    "  %high = trunc i64 %up to i32\n"
    "  %low = trunc i64 %x to i32\n"
    "  %h = sitofp i32 %high to double\n"
    "  %l = uitofp i32 %low to double\n"
    "  %s = fmul double %h, 4294967296.0\n"
    "  %y = fadd double %s, %l\n"
    "  ret double %y\n"
    "}\n"
    "define hidden arm_aapcscc float @__aeabi_ul2f(i64 %x) nounwind {\n"
    "  %large = icmp ugt i64 %x, 9007199254740991\n"
    "  %below = and i64 %x, 4095\n"
    "  %some = icmp ne i64 %below, 0\n"
    "  %sticky = select i1 %some, i64 2048, i64 0\n"
    "  %above = and i64 %x, -4096\n"
    "  %folded = or i64 %above, %sticky\n"
    "  %exact = select i1 %large, i64 %folded, i64 %x\n"
    "  %d = call arm_aapcscc double @__aeabi_ul2d(i64 %exact)\n"
    "  %y = fptrunc double %d to float\n"
    "  ret float %y\n"
    "}\n"
    "define hidden arm_aapcscc float @__aeabi_l2f(i64 %x) nounwind {\n"
    "  %s = ashr i64 %x, 63\n"
    "  %flip = xor i64 %x, %s\n"
    "  %a = sub i64 %flip, %s\n"
    "  %y = call arm_aapcscc float @__aeabi_ul2f(i64 %a)\n"
    "  %minus = fneg float %y\n"
    "  %negative = icmp slt i64 %x, 0\n"
    "  %signed = select i1 %negative, float %minus, float %y\n"
    "  ret float %signed\n"
    "}\n"
    "define hidden arm_aapcscc i64 @__aeabi_d2ulz(double %x) nounwind {\n"
    "  %s = fmul double %x, 0x3DF0000000000000\n"
    "  %high = fptoui double %s to i32\n"
    "  %h = uitofp i32 %high to double\n"
    "  %back = fmul double %h, 4294967296.0\n"
    "  %rest = fsub double %x, %back\n"
    "  %low = fptoui double %rest to i32\n"
    "  %h64 = zext i32 %high to i64\n"
    "  %l64 = zext i32 %low to i64\n"
    "  %up = shl i64 %h64, 32\n"
    "  %y = or i64 %up, %l64\n"
    "  ret i64 %y\n"
    "}\n"
    "define hidden arm_aapcscc i64 @__aeabi_d2lz(double %x) nounwind {\n"
    "  %negative = fcmp olt double %x, 0.0\n"
    "  %minus = fneg double %x\n"
    "  %a = select i1 %negative, double %minus, double %x\n"
    "  %y = call arm_aapcscc i64 @__aeabi_d2ulz(double %a)\n"
    "  %flip = sub i64 0, %y\n"
    "  %signed = select i1 %negative, i64 %flip, i64 %y\n"
    "  ret i64 %signed\n"
    "}\n"
    "define hidden arm_aapcscc i64 @__aeabi_f2ulz(float %x) nounwind {\n"
    "  %d = fpext float %x to double\n"
    "  %y = call arm_aapcscc i64 @__aeabi_d2ulz(double %d)\n"
    "  ret i64 %y\n"
    "}\n"
    "define hidden arm_aapcscc i64 @__aeabi_f2lz(float %x) nounwind {\n"
    "  %d = fpext float %x to double\n"
    "  %y = call arm_aapcscc i64 @__aeabi_d2lz(double %d)\n"
    "  ret i64 %y\n"
    "}\n";

/* clang-format on */

static vta_status assemble_text(LLVMTargetMachineRef machine, const vtac_target *target, const char *text,
                                vtac_artifact_image *out, vta_diag *diag)
{
    LLVMContextRef context = LLVMContextCreate();
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "helpers");
    LLVMModuleRef module = NULL;
    char *message = NULL;
    vta_status status;
    if (LLVMParseIRInContext(context, buffer, &module, &message) != 0) { /* takes the buffer */
        status = vta_fail(diag, VTA_INVALID, "LLVM: %s", message);
        LLVMDisposeMessage(message);
    } else {
        LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
        LLVMSetModuleDataLayout(module, layout);
        LLVMDisposeTargetData(layout);
        LLVMSetTarget(module, target->triple);
        status = vtac_emit_module(machine, module, LLVMObjectFile, &out->helpers, &out->helpers_bytes, diag);
        LLVMDisposeModule(module);
    }
    LLVMContextDispose(context);
    return status;
}

static vta_status assemble_arm(LLVMTargetMachineRef machine, const vtac_target *target,
                               vtac_artifact_image *out, vta_diag *diag)
{
    vta_str text = {0};
    vta_str_printf(&text, "%s%s", arm_division, arm_conversion);
    char *ir = vta_str_take(&text);
    const vta_status status =
        ir != NULL ? assemble_text(machine, target, ir, out, diag) : vta_no_memory(diag);
    free(ir);
    return status;
}

static bool holds_word(const uint8_t *bytes, size_t size, const char *word)
{
    const size_t length = strlen(word);
    for (const uint8_t *at = bytes; size - (size_t)(at - bytes) >= length; at++) {
        at = memchr(at, word[0], size - (size_t)(at - bytes) - (length - 1));
        if (at == NULL) {
            return false;
        }
        if (memcmp(at, word, length) == 0) {
            return true;
        }
    }
    return false;
}

/* True if one of the names may be in the object's table of symbols. A false positive costs nothing. */
static bool may_call(const vtac_artifact_image *image, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (holds_word(image->object, image->object_bytes, *names)) {
            return true;
        }
    }
    return false;
}

vta_status vtac_emit_libraries(const vtac_target *target, vtac_artifact_image *image, vta_diag *diag)
{
    static const char *const arm_names[] = {"__aeabi_", NULL};
    image->libc = may_call(image, libc_names) ? libc_names : NULL;
    image->libm = may_call(image, libm_names) ? libm_names : NULL;
    if (!may_call(image, arm_names)) {
        return VTA_OK;
    }
    LLVMTargetMachineRef machine;
    VTA_TRY(vtac_machine_create(target, 1, &machine, diag));
    const vta_status status = assemble_arm(machine, target, image, diag);
    LLVMDisposeTargetMachine(machine);
    return status;
}
