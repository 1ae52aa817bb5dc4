/* SPDX-License-Identifier: Apache-2.0
 *
 * The inner loops that need no intrinsics: ALU, REQUANT, DEPTHWISE, in GCC's vector extensions. Each kernel
 * file includes this one after it has defined X_TYPE, the type in which it keeps input lanes, and VECTOR, how
 * many 32-bit lanes a vector of its CPU has: 4, 8 or 16.
 *
 * Two entries are the same or disjoint, so that lanes of a step never depend on each other.
 */
#include <string.h>

#include "kernel.h"

#if defined(__clang__)
#    define UNROLL  _Pragma("unroll")
#    define UNROLL4 _Pragma("unroll 4")
#else
#    define UNROLL  _Pragma("GCC unroll 16")
#    define UNROLL4 _Pragma("GCC unroll 4")
#endif
#define INLINE static inline __attribute__((always_inline))

#define W 4
#include "kernel_lanes.h"
#if VECTOR > 4
#    define W 8
#    include "kernel_lanes.h"
#endif
#if VECTOR > 8
#    define W 16
#    include "kernel_lanes.h"
#endif
#define WIDE_(name, width) name##_##width
#define WIDE(name, width)  WIDE_(name, width)

static void requant(const fsim_memory *m, const fsim_steps *steps, const fsim_requant *q)
{
#if VECTOR > 8
    if (m->batch * m->out % 8 == 0) {
        requant_8(m, steps, q);
        return;
    }
#endif
    requant_4(m, steps, q);
}

static void alu(const fsim_memory *m, const fsim_steps *steps, vta_alu_op op, bool use_imm, int32_t imm)
{
#if VECTOR > 4
    if (m->batch * m->out % VECTOR == 0) {
        WIDE(alu, VECTOR)(m, steps, op, use_imm, imm);
        return;
    }
#endif
    alu_4(m, steps, op, use_imm, imm);
}

static void depthwise(const fsim_memory *m, const fsim_steps *steps, const fsim_window *w)
{
    if (w->lanes == 16) {
        WIDE(depthwise, VECTOR)(m, steps, w, 16);
#if VECTOR > 4
    } else if (w->lanes % VECTOR == 0) {
        WIDE(depthwise, VECTOR)(m, steps, w, w->lanes);
#endif
    } else {
        depthwise_4(m, steps, w, w->lanes);
    }
    for (uint32_t s = 0; s < steps->count && w->lanes < m->out; s++) { /* lanes without an input channel */
        for (uint32_t b = 0; b < m->batch; b++) {
            const size_t at = ((size_t)(steps->dst[s] + steps->dst0) * m->batch + b) * m->out;
            for (uint32_t l = w->lanes; l < m->out; l++) {
                m->acc[at + l] = w->zero ? 0 : m->acc[at + l];
                m->out8[at + l] = (int8_t)m->acc[at + l];
            }
        }
    }
}
