/* SPDX-License-Identifier: Apache-2.0
 *
 * Inner loops for Arm with NEON, 32 or 64 bits: vmlal multiplies four 16-bit lanes by a scalar and adds to 32
 * bits. Operands lie as kernel_wide.h says, unpaired. Chosen when the build targets NEON; every such CPU has
 * it.
 */
#include "kernel.h"

#if defined(__ARM_NEON)
#    include <arm_neon.h>

#    define X_TYPE int16_t
#    define VECTOR 4
#    define PAIR   1
#    include "kernel_common.h"
#    include "kernel_wide.h"

#    if defined(__aarch64__)
enum { ROWS_MAX = 4 }; /* 32 vector registers */
#    else
enum { ROWS_MAX = 2 }; /* 16 */
#    endif

static bool supported(void)
{
    return true;
}

INLINE const int16_t *inp_at(const fsim_memory *m, size_t row)
{
    return (const int16_t *)(const void *)(m->inp + row * m->inp_row);
}

/* `rows` rows times `vecs` vectors of 4 output channels, from channel `lane` on; block_in is a multiple of 4.
 */
/* One function, so that the sums stay in registers. */
/* NOLINTNEXTLINE(readability-function-size) */
INLINE void block(const fsim_memory *m, const fsim_gemm *job, uint32_t first, uint32_t lane, const int rows,
                  const int vecs)
{
    const int16_t *x[4];
    int32x4_t sum[4][4];
    UNROLL for (int r = 0; r < rows; r++)
    {
        x[r] = inp_at(m, job->row_inp[first + (uint32_t)r] + job->inp0);
        UNROLL for (int c = 0; c < vecs; c++)
        {
            sum[r][c] = vdupq_n_s32(0);
        }
    }
    for (uint32_t t = 0; t < job->terms; t++) {
        const size_t at = (size_t)job->term_inp[t] * m->in;
        const uint8_t *entry = m->wgt + (size_t)(job->wgt0 + job->term_wgt[t]) * m->wgt_entry;
        const int16_t *w = (const int16_t *)(const void *)entry + lane;
        for (uint32_t i = 0; i < m->in; i++) {
            UNROLL for (int c = 0; c < vecs; c++)
            {
                const int16x4_t wc = vld1_s16(w + c * 4);
                UNROLL for (int r = 0; r < rows; r++)
                {
                    sum[r][c] = vmlal_n_s16(sum[r][c], wc, x[r][at + i]);
                }
            }
            w += m->out;
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
    {
        const size_t to = (size_t)(job->row_acc[first + (uint32_t)r] + job->acc0) * m->out + lane;
        UNROLL for (int c = 0; c < vecs; c++)
        {
            int32_t *acc = m->acc + to + c * 4;
            const int32x4_t all = job->zero ? sum[r][c] : vaddq_s32(sum[r][c], vld1q_s32(acc));
            vst1q_s32(acc, all);
            const int16x4_t words = vmovn_s32(all);
            const int8x8_t bytes = vmovn_s16(vcombine_s16(words, words));
            const uint32_t four = vget_lane_u32(vreinterpret_u32_s8(bytes), 0);
            memcpy(m->out8 + to + c * 4, &four, sizeof four);
        }
    }
}

INLINE void blocks(const fsim_memory *m, const fsim_gemm *job, uint32_t lane, const int vecs)
{
    uint32_t r = 0;
    for (; job->rows - r >= ROWS_MAX; r += ROWS_MAX) {
        block(m, job, r, lane, ROWS_MAX, vecs);
    }
    for (; r < job->rows; r++) {
        block(m, job, r, lane, 1, vecs);
    }
}

static void gemm(const fsim_memory *m, const fsim_gemm *job)
{
    if (m->out == 4) {
        blocks(m, job, 0, 1);
    } else if (m->out == 8) {
        blocks(m, job, 0, 2);
    } else {
        for (uint32_t lane = 0; lane < m->out; lane += 16) {
            blocks(m, job, lane, 4);
        }
    }
}

const fsim_kernel vta_fsim_neon = {
    .name = "neon",
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
#endif
