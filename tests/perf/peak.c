/* SPDX-License-Identifier: Apache-2.0
 *
 * Tight loops of int8 dot products (peak.h). The empty assembler statements make every accumulator's value
 * needed and every operand's value unknown, so that no compiler can take the work away, and cost no
 * instruction.
 */
#include "peak.h"

#include <string.h>

#if defined(__clang__)
#    define UNROLL _Pragma("unroll")
#else
#    define UNROLL _Pragma("GCC unroll 12")
#endif

#if defined(__x86_64__)
#    include <immintrin.h>

enum { CHAINS = 12 };

__attribute__((target("avx512f,avx512vnni"))) static double vnni(uint64_t loops)
{
    __m512i sum[CHAINS];
    __m512i x = _mm512_set1_epi8(3);
    __m512i w = _mm512_set1_epi8(5);
    UNROLL for (int c = 0; c < CHAINS; c++)
    {
        sum[c] = _mm512_setzero_si512();
    }
    for (uint64_t n = 0; n < loops; n++) {
        __asm__ volatile("" : "+v"(x), "+v"(w));
        UNROLL for (int c = 0; c < CHAINS; c++)
        {
            sum[c] = _mm512_dpbusd_epi32(sum[c], w, x);
            __asm__ volatile("" : "+v"(sum[c]));
        }
    }
    return (double)loops * CHAINS * 64;
}

__attribute__((target("avx2"))) static double avx2(uint64_t loops)
{
    __m256i sum[CHAINS];
    __m256i x = _mm256_set1_epi16(3);
    __m256i w = _mm256_set1_epi16(5);
    UNROLL for (int c = 0; c < CHAINS; c++)
    {
        sum[c] = _mm256_setzero_si256();
    }
    for (uint64_t n = 0; n < loops; n++) {
        __asm__ volatile("" : "+x"(x), "+x"(w));
        UNROLL for (int c = 0; c < CHAINS; c++)
        {
            sum[c] = _mm256_add_epi32(sum[c], _mm256_madd_epi16(w, x));
            __asm__ volatile("" : "+x"(sum[c]), "+x"(x)); /* or one product would serve all chains */
        }
    }
    return (double)loops * CHAINS * 16;
}
#endif

#if defined(__ARM_NEON)
#    include <arm_neon.h>

enum { CHAINS = 8 };

static double neon(uint64_t loops)
{
    int32x4_t sum[CHAINS];
    int16x4_t x = vdup_n_s16(3);
    int16x4_t w = vdup_n_s16(5);
    UNROLL for (int c = 0; c < CHAINS; c++)
    {
        sum[c] = vdupq_n_s32(0);
    }
    for (uint64_t n = 0; n < loops; n++) {
        __asm__ volatile("" : "+w"(x), "+w"(w));
        UNROLL for (int c = 0; c < CHAINS; c++)
        {
            sum[c] = vmlal_s16(sum[c], w, x);
            __asm__ volatile("" : "+w"(sum[c]));
        }
    }
    return (double)loops * CHAINS * 4;
}
#endif

/* Sixteen lanes of plain C, as the compiler vectorizes it. */
static double portable(uint64_t loops)
{
    int32_t sum[16] = {0};
    int16_t x[16];
    int16_t w[16];
    memset(x, 1, sizeof x);
    memset(w, 1, sizeof w);
    for (uint64_t n = 0; n < loops; n++) {
        __asm__ volatile("" : : "r"(x), "r"(w), "r"(sum) : "memory");
        for (int l = 0; l < 16; l++) {
            sum[l] = (int32_t)((uint32_t)sum[l] + (uint32_t)(x[l] * w[l]));
        }
    }
    __asm__ volatile("" : : "r"(sum) : "memory");
    return (double)loops * 16;
}

double peak_run(const char *kernel, uint64_t loops)
{
#if defined(__x86_64__)
    if (strcmp(kernel, "avx512-vnni") == 0) {
        return vnni(loops);
    }
    if (strcmp(kernel, "avx2") == 0) {
        return avx2(loops);
    }
#endif
#if defined(__ARM_NEON)
    if (strcmp(kernel, "neon") == 0) {
        return neon(loops);
    }
#endif
    return strcmp(kernel, "portable") == 0 ? portable(loops) : 0;
}
