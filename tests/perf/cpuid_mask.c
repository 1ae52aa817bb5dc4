/* SPDX-License-Identifier: Apache-2.0
 *
 * A library to preload (LD_PRELOAD): a program whose CPUID instructions cpuid_patch.c made undefined ones
 * then sees a processor without AVX-512, or without its dot products and tiles (AMX) alone, so that a peer
 * that chooses its kernels at run time can be measured on the instructions that `--host x86-64-v3` and
 * `x86-64-v4` have. VTAC_CPUID names them: "x86-64-v3" or "x86-64-v4"; anything else hides nothing. At its
 * end the program appends to the file VTAC_CPUID_TOLD how often it asked for those features, and whether this
 * thread used the registers that AVX-512 alone has: "asked 12 wide 0".
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

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
static atomic_uint asked;

static void ask(uint32_t leaf, uint32_t subleaf, uint32_t *r)
{
    __cpuid_count(leaf, subleaf, r[0], r[1], r[2], r[3]);
    if (leaf == 7 && subleaf == 0) {
        r[1] &= ~taken.b;
        r[2] &= ~taken.c;
        r[3] &= ~taken.d;
        asked++;
    } else if (leaf == 7 && subleaf == 1) {
        r[0] &= ~taken.a1;
    }
}

static void on_undefined(int number, siginfo_t *info, void *context)
{
    greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
    const uint8_t *code = (const uint8_t *)(uintptr_t)regs[REG_RIP];
    if (info->si_code > 0 && code[0] == 0x0f && code[1] == 0x0b) { /* UD2, which was CPUID */
        uint32_t r[4];
        ask((uint32_t)regs[REG_RAX], (uint32_t)regs[REG_RCX], r);
        regs[REG_RAX] = r[0];
        regs[REG_RBX] = r[1];
        regs[REG_RCX] = r[2];
        regs[REG_RDX] = r[3];
        regs[REG_RIP] += 2;
        return;
    }
    (void)signal(number, SIG_DFL); /* happens again, for good */
}

__attribute__((constructor)) static void start(void)
{
    const char *level = getenv("VTAC_CPUID");
    if (level != NULL && strcmp(level, "x86-64-v3") == 0) {
        taken = vectors;
    } else if (level != NULL && strcmp(level, "x86-64-v4") == 0) {
        taken = dots;
    }
    const struct sigaction action = {.sa_sigaction = on_undefined, .sa_flags = SA_SIGINFO | SA_NODEFER};
    (void)sigaction(SIGILL, &action, NULL);
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("VTAC_CPUID_TOLD");
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    if (file != NULL) {
        (void)fprintf(file, "%u\n", atomic_load(&asked));
        (void)fclose(file);
    }
}
