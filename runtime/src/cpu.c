/* SPDX-License-Identifier: Apache-2.0
 *
 * The features of vta/cpu_features.def, looked for on the machine that runs this.
 */
#include "cpu.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#    include <cpuid.h>

/* Bit `bit` of eax of leaf 7.1, on a system that keeps the registers of AVX. */
static bool late_avx(unsigned bit)
{
    unsigned a = 0;
    unsigned b;
    unsigned c;
    unsigned d;
    return __builtin_cpu_supports("avx2") != 0 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 &&
           (a >> bit & 1U) != 0;
}

#    define VTA_CPU_X86(name)          {name, __builtin_cpu_supports(name) != 0},
#    define VTA_CPU_X86_AVX(name, bit) {name, late_avx(bit)},

#elif defined(__linux__)
#    include <stdlib.h>
#    include <sys/auxv.h>

/* True where the kernel reports the feature of the processor. */
static bool kernel_says(unsigned bit)
{
    if (bit < 64) {
        return bit < 8 * sizeof(unsigned long) && (getauxval(AT_HWCAP) >> bit & 1UL) != 0;
    }
    if (bit < 128) {
        return bit - 64 < 8 * sizeof(unsigned long) && (getauxval(AT_HWCAP2) >> (bit - 64) & 1UL) != 0;
    }
    union {
        unsigned long number;
        const char *text;
    } platform = {.number = getauxval(AT_PLATFORM)};
    return platform.text != NULL && platform.text[0] == 'v' && strtol(platform.text + 1, NULL, 10) >= 8;
}

#    define KERNEL_SAYS(name, bit) {name, kernel_says(bit)},
#    if defined(__aarch64__)
#        define VTA_CPU_AARCH64 KERNEL_SAYS
#    elif defined(__arm__)
#        define VTA_CPU_ARM KERNEL_SAYS
#    elif defined(__riscv)
#        define VTA_CPU_RISCV KERNEL_SAYS
#    endif
#endif

#if !defined(__x86_64__) && !defined(__linux__)

/* There is no system to ask: who builds the program has named the processor. */
vta_status vta_cpu_check(const char *required, vta_diag *diag)
{
    (void)required;
    (void)diag;
    return VTA_OK;
}

#else

static bool cpu_has(const char *feature)
{
    const struct {
        const char *name;
        bool here;
    } known[] = {
#    include "vta/cpu_features.def"
        {"", true},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(feature, known[i].name) == 0) {
            return known[i].here;
        }
    }
    return false;
}

vta_status vta_cpu_check(const char *required, vta_diag *diag)
{
    char feature[64];
    for (const char *p = required; *p != '\0';) {
        const size_t size = strcspn(p, ",");
        (void)snprintf(feature, sizeof feature, "%.*s", (int)(size < 63 ? size : 63), p);
        if (!cpu_has(feature)) {
            return vta_fail(diag, VTA_UNSUPPORTED,
                            "it needs the CPU feature '%s', which this machine lacks; compile it for "
                            "this machine with --host host",
                            feature);
        }
        p += size;
        p += *p == ',';
    }
    return VTA_OK;
}

#endif
