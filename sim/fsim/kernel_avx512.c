/* SPDX-License-Identifier: Apache-2.0
 *
 * Inner loops for x86-64 with AVX-512 VNNI: vpdpbusd adds four products of an unsigned and a signed byte to
 * each 32-bit lane.
 *
 * Weights become unsigned by adding 128, so that every sum is 128·Σx too large. An INP row therefore carries
 * -128·Σx behind its bytes; it is added up in scalar registers, beside the vector unit, and once to the
 * result.
 *
 *   INP row     int8 [in], int32 -128·Σx
 *   WGT entry   uint8 [in / 4][lanes][4], lanes = block_out, at least 16 (the rest unused)
 */
#include "kernel.h"

#if defined(__x86_64__)
#    include <immintrin.h>
#    include <string.h>

static bool supported(void)
{
    return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

/* From here on, code for that CPU. */
#    if defined(__clang__)
#        pragma clang attribute push(                                                                        \
            __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"))), apply_to = function)
#    else
#        pragma GCC push_options
#        pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,prefer-vector-width=512")
#    endif
#    define X_TYPE int8_t
#    define VECTOR 16
#    include "kernel_common.h"

enum { LANES_16 = 16 };

static size_t inp_row(uint32_t in)
{
    return in + sizeof(int32_t);
}

static uint32_t padded(uint32_t out)
{
    return out < LANES_16 ? LANES_16 : out;
}

static size_t wgt_entry(uint32_t in, uint32_t out)
{
    return (size_t)in * padded(out);
}

INLINE int32_t load_i32(const uint8_t *at)
{
    int32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

INLINE void store_i32(uint8_t *at, int32_t value)
{
    memcpy(at, &value, sizeof value);
}

INLINE void pack_rows(uint8_t *to, const int8_t *from, uint32_t rows, uint32_t in)
{
    for (uint32_t r = 0; r < rows; r++) {
        int32_t sum = 0;
        for (uint32_t i = 0; i < in; i++) {
            sum += from[i];
        }
        memcpy(to, from, in);
        store_i32(to + in, -128 * sum);
        from += in;
        to += in + sizeof sum;
    }
}

static void pack_inp(const fsim_memory *m, uint32_t row, const int8_t *from, uint32_t rows)
{
    uint8_t *to = m->inp + row * m->inp_row;
    if (m->in == 16) {
        for (uint32_t r = 0; r < rows; r++) {
            const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(from + r * 16));
            const __m128i sum = _mm_dpbusd_epi32(_mm_setzero_si128(), _mm_set1_epi8(1), x);
            const __m128i half = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
            const __m128i all = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xb1));
            _mm_storeu_si128((__m128i *)(void *)(to + r * 20), x);
            store_i32(to + r * 20 + 16, -128 * _mm_cvtsi128_si32(all));
        }
    } else {
        pack_rows(to, from, rows, m->in);
    }
}

/* Sixteen rows of sixteen channels at a stride of `in`: a transposition of 32-bit lanes. */
INLINE void pack_square(uint8_t *to, size_t to_stride, const int8_t *from, size_t in)
{
    const __m512i flip = _mm512_set1_epi8(-128);
    __m512i rows[4];
    UNROLL for (int g = 0; g < 4; g++)
    {
        const int8_t *at = from + 4 * (size_t)g * in;
        __m512i r = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)at));
        r = _mm512_inserti32x4(r, _mm_loadu_si128((const __m128i *)(const void *)(at + in)), 1);
        r = _mm512_inserti32x4(r, _mm_loadu_si128((const __m128i *)(const void *)(at + 2 * in)), 2);
        rows[g] = _mm512_inserti32x4(r, _mm_loadu_si128((const __m128i *)(const void *)(at + 3 * in)), 3);
    }
    UNROLL for (int q = 0; q < 4; q++)
    {
        const __m512i pick =
            _mm512_add_epi32(_mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28),
                             _mm512_set1_epi32(q));
        const __m512i low = _mm512_permutex2var_epi32(rows[0], pick, rows[1]);
        const __m512i high = _mm512_permutex2var_epi32(rows[2], pick, rows[3]);
        const __m512i both = _mm512_shuffle_i64x2(low, high, 0x44);
        _mm512_storeu_si512(to + (size_t)q * to_stride, _mm512_xor_si512(both, flip));
    }
}

static size_t place(const fsim_memory *m, uint32_t o, uint32_t i)
{
    return ((size_t)(i / 4) * padded(m->out) + o) * 4 + i % 4;
}

static void pack_squares(const fsim_memory *m, uint8_t *to, const int8_t *from)
{
    for (uint32_t o = 0; o < m->out; o += 16) {
        for (uint32_t i = 0; i < m->in; i += 16) {
            pack_square(to + place(m, o, i), (size_t)m->out * 4, from + (size_t)o * m->in + i, m->in);
        }
    }
}

static void pack_bytes(const fsim_memory *m, uint8_t *to, const int8_t *from)
{
    for (uint32_t o = 0; o < m->out; o++) {
        for (uint32_t i = 0; i < m->in; i++) {
            to[place(m, o, i)] = (uint8_t)(from[(size_t)o * m->in + i] + 128);
        }
    }
}

static void pack_wgt(const fsim_memory *m, uint32_t entry, const int8_t *from, uint32_t entries)
{
    const bool squares = m->in % 16 == 0 && m->out % 16 == 0;
    for (uint32_t e = 0; e < entries; e++) {
        uint8_t *to = m->wgt + (entry + e) * m->wgt_entry;
        if (squares) {
            pack_squares(m, to, from);
        } else {
            pack_bytes(m, to, from);
        }
        from += (size_t)m->in * m->out;
    }
}

static int32_t weight(const fsim_memory *m, uint32_t entry, uint32_t o, uint32_t i)
{
    return m->wgt[entry * m->wgt_entry + place(m, o, i)] - 128;
}

/* Shape of a block that is compiled: R rows times C vectors of 16 output channels; Q quads of input channels,
 * 0: as in the configuration; each sum is split in P parts, because a vpdpbusd must wait for the one before
 * it. */
typedef struct shape {
    int R, C, P;
    uint32_t Q;
    bool narrow; /* fewer than 16 output channels */
} shape;

/* One function, so that the sums stay in registers. */
/* NOLINTNEXTLINE(readability-function-size) */
INLINE void block(const fsim_memory *m, const fsim_gemm *job, uint32_t first, const shape s)
{
    const uint32_t quads = s.Q != 0 ? s.Q : m->in / 4;
    const size_t column = (size_t)s.C * 64;
    const size_t lanes = s.narrow ? m->out : (size_t)s.C * 16;
    const __mmask16 mask = _cvtu32_mask16(s.narrow ? (1U << m->out) - 1 : 0xffff);
    const uint8_t *x[8];
    uint32_t extra[8];
    __m512i sum[8][4];
    UNROLL for (int r = 0; r < s.R; r++)
    {
        x[r] = m->inp + (size_t)(job->row_inp[first + (uint32_t)r] + job->inp0) * m->inp_row;
        extra[r] = 0;
        UNROLL for (int c = 0; c < s.C * s.P; c++)
        {
            sum[r][c] = _mm512_setzero_si512();
        }
    }
    for (uint32_t t = 0; t < job->terms; t++) {
        const size_t at = job->term_inp[t] * m->inp_row;
        const uint8_t *w = m->wgt + (size_t)(job->wgt0 + job->term_wgt[t]) * m->wgt_entry;
        UNROLL for (int r = 0; r < s.R; r++)
        {
            extra[r] += (uint32_t)load_i32(x[r] + at + quads * 4);
        }
        UNROLL4 for (uint32_t q = 0; q < quads; q++)
        {
            const int part = s.P > 1 ? (int)q % s.P * s.C : 0;
            __m512i wq[4];
            UNROLL for (int c = 0; c < s.C; c++)
            {
                wq[c] = _mm512_loadu_si512(w + q * column + (size_t)c * 64);
            }
            UNROLL for (int r = 0; r < s.R; r++)
            {
                const __m512i xq = _mm512_set1_epi32(load_i32(x[r] + at + q * 4));
                UNROLL for (int c = 0; c < s.C; c++)
                {
                    sum[r][part + c] = _mm512_dpbusd_epi32(sum[r][part + c], wq[c], xq);
                }
            }
        }
    }
    UNROLL for (int r = 0; r < s.R; r++)
    {
        const size_t to = (size_t)(job->row_acc[first + (uint32_t)r] + job->acc0) * lanes;
        const __m512i more = _mm512_set1_epi32((int32_t)extra[r]);
        UNROLL for (int c = 0; c < s.C; c++)
        {
            int32_t *acc = m->acc + to + c * 16;
            __m512i all = _mm512_add_epi32(sum[r][c], more);
            UNROLL for (int p = 1; p < s.P; p++)
            {
                all = _mm512_add_epi32(all, sum[r][p * s.C + c]);
            }
            if (!job->zero) {
                all = _mm512_add_epi32(all, _mm512_maskz_loadu_epi32(mask, acc));
            }
            if (s.narrow) {
                _mm512_mask_storeu_epi32(acc, mask, all);
                _mm512_mask_cvtepi32_storeu_epi8(m->out8 + to, mask, all);
            } else {
                _mm512_storeu_si512(acc, all);
                _mm_storeu_si128((__m128i *)(void *)(m->out8 + to + c * 16), _mm512_cvtepi32_epi8(all));
            }
        }
    }
}

/* All rows: blocks of 8 (or 4, where 8 need too many registers), then what is left. */
INLINE void blocks(const fsim_memory *m, const fsim_gemm *job, shape s)
{
    uint32_t r = 0;
    const bool split = s.C == 1 && s.Q == 4;
    for (s.R = 8, s.P = 1; s.C < 4 && job->rows - r >= 8; r += 8) {
        block(m, job, r, s);
    }
    for (s.R = 4, s.P = split ? 2 : 1; job->rows - r >= 4; r += 4) {
        block(m, job, r, s);
    }
    for (s.R = 2, s.P = split ? 4 : 1; job->rows - r >= 2; r += 2) {
        block(m, job, r, s);
    }
    for (s.R = 1; r < job->rows; r++) {
        block(m, job, r, s);
    }
}

static void gemm(const fsim_memory *m, const fsim_gemm *job)
{
    if (m->out == 16 && m->in == 16) {
        blocks(m, job, (shape){.C = 1, .Q = 4});
    } else if (m->out < 16) {
        blocks(m, job, (shape){.C = 1, .narrow = true});
    } else if (m->out == 16) {
        blocks(m, job, (shape){.C = 1});
    } else if (m->out == 32) {
        blocks(m, job, (shape){.C = 2});
    } else {
        blocks(m, job, (shape){.C = 4});
    }
}

const fsim_kernel vta_fsim_avx512 = {
    .name = "avx512-vnni",
    .supported = supported,
    .inp_bytes = 1,
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
