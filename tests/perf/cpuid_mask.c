/* SPDX-License-Identifier: Apache-2.0
 *
 * A library to preload (LD_PRELOAD): the program then sees a processor without AVX-512, or without its dot
 * products and tiles (AMX) alone, so that a peer that chooses its kernels at run time can be measured on the
 * instructions that `--host x86-64-v3` and `x86-64-v4` have. VTAC_CPUID names them: "x86-64-v3" or
 * "x86-64-v4"; anything else hides nothing. The kernel is asked to let CPUID fault, and the fault is answered
 * with the bits taken away. Where it refuses (other processors, some virtual machines), a line on stderr says
 * so and the program ends with status 4.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { SET_CPUID = 0x1012 }; /* of arch_prctl: 0 lets CPUID fault in this thread and those that it starts */

/* Bits of leaf 7 (registers b, c, d of subleaf 0, a of subleaf 1). */
typedef struct hidden {
    uint32_t b, c, d, a1;
} hidden;
#define BIT(n) (UINT32_C(1) << (n))
static const hidden dots = {.c = BIT(11), .d = BIT(22) | BIT(24) | BIT(25), .a1 = BIT(4) | BIT(5) | BIT(21)};
static const hidden vectors = {.b = BIT(16) | BIT(17) | BIT(21) | BIT(26) | BIT(27) | BIT(28) | BIT(30) |
                                    BIT(31),
                               .c = BIT(1) | BIT(6) | BIT(11) | BIT(12) | BIT(14),
                               .d = BIT(2) | BIT(3) | BIT(8) | BIT(22) | BIT(23) | BIT(24) | BIT(25),
                               .a1 = BIT(4) | BIT(5) | BIT(21) | BIT(23)};
static hidden taken;
static struct sigaction before; /* what the program wants of other faults */
typedef int sigaction_fn(int number, const struct sigaction *action, struct sigaction *old);
static sigaction_fn *real;

static void ask(uint32_t leaf, uint32_t subleaf, uint32_t *r)
{
    (void)syscall(SYS_arch_prctl, SET_CPUID, 1UL);
    __cpuid_count(leaf, subleaf, r[0], r[1], r[2], r[3]);
    (void)syscall(SYS_arch_prctl, SET_CPUID, 0UL);
    if (leaf == 7 && subleaf == 0) {
        r[1] &= ~taken.b;
        r[2] &= ~taken.c;
        r[3] &= ~taken.d;
    } else if (leaf == 7 && subleaf == 1) {
        r[0] &= ~taken.a1;
    }
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
    const uint8_t *code = (const uint8_t *)(uintptr_t)regs[REG_RIP];
    if (info->si_code == SI_KERNEL && code[0] == 0x0f && code[1] == 0xa2) { /* CPUID */
        uint32_t r[4];
        ask((uint32_t)regs[REG_RAX], (uint32_t)regs[REG_RCX], r);
        regs[REG_RAX] = r[0];
        regs[REG_RBX] = r[1];
        regs[REG_RCX] = r[2];
        regs[REG_RDX] = r[3];
        regs[REG_RIP] += 2;
        return;
    }
    if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != NULL) {
        before.sa_sigaction(number, info, context);
        return;
    }
    const struct sigaction plain = {.sa_handler = SIG_DFL};
    (void)real(number, &plain, NULL); /* happens again, for good */
}

/* Takes the place of the C library's: the fault stays ours. */
__attribute__((visibility("default"))) int sigaction(int number, const struct sigaction *action,
                                                     struct sigaction *old)
{
    if (number != SIGSEGV || (taken.b | taken.c) == 0) {
        sigaction_fn *next = real;
        if (next == NULL) {
            *(void **)&next = dlsym(RTLD_NEXT, "sigaction");
        }
        return next(number, action, old);
    }
    if (old != NULL) {
        *old = before;
    }
    if (action != NULL) {
        before = *action;
    }
    return 0;
}

__attribute__((constructor)) static void start(void)
{
    const char *level = getenv("VTAC_CPUID");
    const bool narrow = level != NULL && strcmp(level, "x86-64-v3") == 0;
    if (!narrow && (level == NULL || strcmp(level, "x86-64-v4") != 0)) {
        return;
    }
    *(void **)&real = dlsym(RTLD_NEXT, "sigaction");
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    (void)sigaction(SIGSEGV, &action, &before);
    taken = narrow ? vectors : dots;
    if (syscall(SYS_arch_prctl, SET_CPUID, 0UL) != 0) {
        static const char text[] =
            "cpuid_mask: this processor answers CPUID without asking; nothing can be hidden\n";
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
        _exit(4);
    }
}
