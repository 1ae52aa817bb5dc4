/* SPDX-License-Identifier: Apache-2.0
 *
 * Inner loops for x86-64 with AVX2: vpmaddwd multiplies pairs of 16-bit lanes and adds each pair, without
 * loss, which the 8-bit multiplication of AVX2 cannot promise. Operands lie as kernel_wide.h says, in pairs.
 */
#include "kernel.h"

#if defined(__x86_64__)
#    include <immintrin.h>
#    include <string.h>

static bool supported(void)
{
    return __builtin_cpu_supports("avx2");
}

/* From here on, code for that CPU. */
#    if defined(__clang__)
#        pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#    else
#        pragma GCC push_options
#        pragma GCC target("avx2")
#    endif
#    define X_TYPE int16_t
#    define VECTOR 8
#    define PAIR   2
#    include "kernel_common.h"
#    include "kernel_wide.h"

INLINE int32_t pair_of(const int16_t *x)
{
    int32_t pair;
    memcpy(&pair, x, sizeof pair);
    return pair;
}

INLINE const int16_t *inp_at(const fsim_memory *m, size_t row)
{
    return (const int16_t *)(const void *)(m->inp + row * m->inp_row);
}

INLINE const int16_t *wgt_at(const fsim_memory *m, size_t entry)
{
    return (const int16_t *)(const void *)(m->wgt + entry * m->wgt_entry);
}

/* `rows` rows times `vecs` vectors of 8 output channels, from channel `lane` on. */
/* One function, so that the sums stay in registers. */
/* NOLINTNEXTLINE(readability-function-size) */
INLINE void block(const fsim_memory *m, const fsim_gemm *job, uint32_t first, uint32_t lane, const int rows,
                  const int vecs)
{
    const int16_t *x[8];
    __m256i sum[8][2];
    UNROLL for (int r = 0; r < rows; r++)
    {
        x[r] = inp_at(m, job->row_inp[first + (uint32_t)r] + job->inp0);
        UNROLL for (int c = 0; c < vecs; c++)
        {
            sum[r][c] = _mm256_setzero_si256();
        }
    }
    for (uint32_t t = 0; t < job->terms; t++) {
        const size_t at = (size_t)job->term_inp[t] * m->in;
        const int16_t *w = wgt_at(m, job->wgt0 + job->term_wgt[t]) + (size_t)lane * PAIR;
        for (uint32_t i = 0; i < m->in; i += PAIR) {
            __m256i wi[2];
            UNROLL for (int c = 0; c < vecs; c++)
            {
                wi[c] = _mm256_loadu_si256((const __m256i *)(const void *)(w + c * 16));
            }
            w += (size_t)m->out * PAIR;
            UNROLL for (int r = 0; r < rows; r++)
            {
                const __m256i xi = _mm256_set1_epi32(pair_of(x[r] + at + i));
                UNROLL for (int c = 0; c < vecs; c++)
                {
                    sum[r][c] = _mm256_add_epi32(sum[r][c], _mm256_madd_epi16(wi[c], xi));
                }
            }
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
    {
        const size_t to = (size_t)(job->row_acc[first + (uint32_t)r] + job->acc0) * m->out + lane;
        UNROLL for (int c = 0; c < vecs; c++)
        {
            __m256i *acc = (__m256i *)(void *)(m->acc + to + c * 8);
            const __m256i all = job->zero ? sum[r][c] : _mm256_add_epi32(sum[r][c], _mm256_loadu_si256(acc));
            _mm256_storeu_si256(acc, all);
            const __m256i low = _mm256_and_si256(all, _mm256_set1_epi32(255));
            const __m256i words = _mm256_packus_epi32(low, low);
            const __m256i bytes = _mm256_packus_epi16(words, words);
            const int32_t halves[2] = {_mm256_extract_epi32(bytes, 0), _mm256_extract_epi32(bytes, 4)};
            memcpy(m->out8 + to + c * 8, halves, sizeof halves);
        }
    }
}

INLINE void blocks(const fsim_memory *m, const fsim_gemm *job, uint32_t lane, const int vecs)
{
    uint32_t r = 0;
    for (; job->rows - r >= 6; r += 6) {
        block(m, job, r, lane, 6, vecs);
    }
    for (; job->rows - r >= 2; r += 2) {
        block(m, job, r, lane, 2, vecs);
    }
    for (; r < job->rows; r++) {
        block(m, job, r, lane, 1, vecs);
    }
}

/* Four output channels. */
static void narrow_row(const fsim_memory *m, const fsim_gemm *job, uint32_t r)
{
    const int16_t *x = inp_at(m, job->row_inp[r] + job->inp0);
    const size_t to = (size_t)(job->row_acc[r] + job->acc0) * m->out;
    __m128i *acc = (__m128i *)(void *)(m->acc + to);
    __m128i sum = job->zero ? _mm_setzero_si128() : _mm_loadu_si128(acc);
    for (uint32_t t = 0; t < job->terms; t++) {
        const int16_t *xt = x + (size_t)job->term_inp[t] * m->in;
        const int16_t *w = wgt_at(m, job->wgt0 + job->term_wgt[t]);
        for (uint32_t i = 0; i < m->in; i += PAIR) {
            const __m128i wi = _mm_loadu_si128((const __m128i *)(const void *)(w + (size_t)i * m->out));
            sum = _mm_add_epi32(sum, _mm_madd_epi16(wi, _mm_set1_epi32(pair_of(xt + i))));
        }
    }
    _mm_storeu_si128(acc, sum);
    for (int l = 0; l < 4; l++) {
        m->out8[to + (size_t)l] = (int8_t)m->acc[to + (size_t)l];
    }
}

static void gemm(const fsim_memory *m, const fsim_gemm *job)
{
    if (m->out == 4) {
        for (uint32_t r = 0; r < job->rows; r++) {
            narrow_row(m, job, r);
        }
    } else if (m->out == 8) {
        blocks(m, job, 0, 1);
    } else {
        for (uint32_t lane = 0; lane < m->out; lane += 16) {
            blocks(m, job, lane, 2);
        }
    }
}

const fsim_kernel vta_fsim_avx2 = {
    .name = "avx2",
    .supported = supported,
    .inp_bytes = 2,
    .inp_row = inp_row,
    .wgt_entry = wgt_entry,
    .pack_inp = pack_inp,
    .pack_wgt = pack_wgt,
    .weight = weight,
    .gemm = gemm,
    .alu = alu,
    .requant = requant,
    .depthwise = depthwise,
};

#    if defined(__clang__)
#        pragma clang attribute pop
#    else
#        pragma GCC pop_options
#    endif
#endif
