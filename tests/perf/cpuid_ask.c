/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program sees of its processor, for the test of cpuid_patch.c and cpuid_mask.c: whether leaf 7 tells
 * of AVX-512 and of its dot products, and a number whose bytes in the code are those of CPUID, which must
 * stay.
 */
#include <cpuid.h>
#include <stdint.h>
#include <stdio.h>

int main(void)
{
    uint32_t a, b, c, d;
    uint32_t number;
    __cpuid_count(7, 0, a, b, c, d);
    __asm__ volatile("movl $0xa20fa20f, %0" : "=r"(number));
    (void)printf("vectors %u dots %u bmi2 %u number %x\n", b >> 16 & 1, c >> 11 & 1, b >> 8 & 1,
                 (unsigned)number);
    return 0;
}
