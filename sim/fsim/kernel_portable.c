/* SPDX-License-Identifier: Apache-2.0
 *
 * Inner loops for any CPU, in plain C that a compiler can vectorize.
 */
#define X_TYPE int16_t
#define VECTOR 4
#define PAIR   1
#include "kernel_common.h"
#include "kernel_wide.h"

static bool supported(void)
{
    return true;
}

/* One row, `lanes` output channels from `first` on. */
INLINE void gemm_row(const fsim_memory *m, const fsim_gemm *job, uint32_t r, uint32_t first, uint32_t lanes)
{
    const size_t at = (size_t)(job->row_acc[r] + job->acc0) * m->out + first;
    uint32_t sum[16];
    for (uint32_t l = 0; l < lanes; l++) {
        sum[l] = job->zero ? 0 : (uint32_t)m->acc[at + l];
    }
    for (uint32_t t = 0; t < job->terms; t++) {
        const size_t row = (size_t)(job->row_inp[r] + job->inp0) + job->term_inp[t];
        const int16_t *x = (const int16_t *)(const void *)(m->inp + row * m->inp_row);
        const size_t entry = (size_t)job->wgt0 + job->term_wgt[t];
        const int16_t *w = (const int16_t *)(const void *)(m->wgt + entry * m->wgt_entry) + first;
        for (uint32_t i = 0; i < m->in; i++) {
            for (uint32_t l = 0; l < lanes; l++) {
                sum[l] += (uint32_t)(x[i] * w[l]);
            }
            w += m->out;
        }
    }
    for (uint32_t l = 0; l < lanes; l++) {
        m->acc[at + l] = (int32_t)sum[l];
        m->out8[at + l] = (int8_t)sum[l];
    }
}

static void gemm(const fsim_memory *m, const fsim_gemm *job)
{
    for (uint32_t r = 0; r < job->rows; r++) {
        if (m->out == 4) {
            gemm_row(m, job, r, 0, 4);
        } else if (m->out == 8) {
            gemm_row(m, job, r, 0, 8);
        } else {
            for (uint32_t first = 0; first < m->out; first += 16) {
                gemm_row(m, job, r, first, 16);
            }
        }
    }
}

const fsim_kernel vta_fsim_portable = {
    .name = "portable",
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
