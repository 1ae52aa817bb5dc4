/* SPDX-License-Identifier: Apache-2.0
 *
 * What fsim asks of its inner loops. A kernel is one implementation of them for one kind of CPU; it chooses
 * how input and weight entries lie in their scratchpads (ACC and OUT lie as in DRAM). Indices are in range:
 * callers check.
 */
#ifndef VTA_FSIM_KERNEL_H
#define VTA_FSIM_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/isa.h"

/* The scratchpads and their shape. A row is one batch row of an entry: row = entry · batch + b. */
typedef struct fsim_memory {
    uint32_t batch, in, out; /* block_in, block_out */
    size_t inp_row;          /* bytes of an INP row as the kernel keeps it */
    size_t wgt_entry;        /* bytes of a WGT entry as the kernel keeps it */
    uint8_t *inp;
    uint8_t *wgt;
    int32_t *acc; /* [entry][batch][out] */
    int8_t *out8; /* the same */
} fsim_memory;

/* For every row r:  ACC[row_acc[r] + acc0] = (zero ? 0 : itself) + Σ_t INP[row_inp[r] + inp0 + term_inp[t]] ·
 * WGT[wgt0 + term_wgt[t]], and OUT with it. The rows' accumulators are distinct, or `zero` is set: then the
 * last row wins. INP and ACC indices count rows. */
typedef struct fsim_gemm {
    uint32_t rows;
    const uint32_t *row_acc, *row_inp;
    uint32_t terms;
    const uint32_t *term_inp, *term_wgt;
    uint32_t acc0, inp0, wgt0;
    bool zero;
} fsim_gemm;

/* A list of steps on whole entries, done in order: dst[s] + dst0, src[s] + src0. */
typedef struct fsim_steps {
    uint32_t count;
    const uint32_t *dst, *src;
    uint32_t dst0, src0;
} fsim_steps;

/* Parameters of a REQUANT, lane by lane (batch · out lanes): q = (acc·mult + addend) / 2^shift, rounded half
 * to even. */
typedef struct fsim_requant {
    const int64_t *mult, *addend, *shift; /* shift <= FSIM_MAX_SHIFT */
    int32_t zero_point, low, high;
} fsim_requant;

/* |acc·mult + addend| < 2^56, so that every larger shift gives 0 as this one does. */
enum { FSIM_MAX_SHIFT = 57 };

/* The window of a DEPTHWISE for one weight entry. */
typedef struct fsim_window {
    uint32_t taps;
    const uint32_t *offset; /* of each tap, in INP entries */
    const int32_t *weight;  /* [tap][lanes] */
    uint32_t first, lanes;  /* input channels first … first + lanes - 1 feed output lanes 0 … lanes - 1 */
    bool zero;              /* start from 0 */
} fsim_window;

typedef struct fsim_kernel {
    const char *name;
    bool (*supported)(void);
    uint32_t inp_bytes; /* of a channel in an INP row, which begins with them: 1 or 2 */
    size_t (*inp_row)(uint32_t in);
    size_t (*wgt_entry)(uint32_t in, uint32_t out);
    void (*pack_inp)(const fsim_memory *m, uint32_t row, const int8_t *from, uint32_t rows);
    void (*pack_wgt)(const fsim_memory *m, uint32_t entry, const int8_t *from, uint32_t entries);
    int32_t (*weight)(const fsim_memory *m, uint32_t entry, uint32_t o, uint32_t i);
    void (*gemm)(const fsim_memory *m, const fsim_gemm *job);
    void (*alu)(const fsim_memory *m, const fsim_steps *steps, vta_alu_op op, bool use_imm, int32_t imm);
    void (*requant)(const fsim_memory *m, const fsim_steps *steps, const fsim_requant *q);
    void (*depthwise)(const fsim_memory *m, const fsim_steps *steps, const fsim_window *window);
} fsim_kernel;

/* All kernels of this build, best first; NULL-terminated. The last one is always supported. */
extern const fsim_kernel *const vta_fsim_kernels[];

#endif
