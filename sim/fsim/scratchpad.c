/* SPDX-License-Identifier: Apache-2.0
 *
 * What the scratchpads hold, as it would lie in DRAM.
 */
#include <string.h>

#include "fsim_internal.h"

static void copy_inp(const vta_fsim *f, int8_t *out)
{
    const fsim_memory *m = &f->mem;
    const uint32_t rows = f->config.depth[VTA_MEM_INP] * m->batch;
    for (uint32_t r = 0; r < rows; r++) {
        const uint8_t *row = m->inp + r * m->inp_row;
        for (uint32_t i = 0; i < m->in; i++) {
            *out++ = (int8_t)row[(size_t)i * f->kernel->inp_bytes]; /* little endian */
        }
    }
}

static void copy_wgt(const vta_fsim *f, int8_t *out)
{
    const fsim_memory *m = &f->mem;
    for (uint32_t e = 0; e < f->config.depth[VTA_MEM_WGT]; e++) {
        for (uint32_t o = 0; o < m->out; o++) {
            for (uint32_t i = 0; i < m->in; i++) {
                *out++ = (int8_t)f->kernel->weight(m, e, o, i);
            }
        }
    }
}

void vta_fsim_scratchpad(const vta_fsim *f, vta_memory memory, void *out)
{
    const size_t bytes = (size_t)f->config.depth[memory] * f->config.elem_bytes[memory];
    switch (memory) {
    case VTA_MEM_UOP: memcpy(out, f->uop, bytes); break;
    case VTA_MEM_TAB: memcpy(out, f->tab, bytes); break;
    case VTA_MEM_ACC: memcpy(out, f->mem.acc, bytes); break;
    case VTA_MEM_OUT: memcpy(out, f->mem.out8, bytes); break;
    case VTA_MEM_INP: copy_inp(f, out); break;
    case VTA_MEM_WGT: copy_wgt(f, out); break;
    case VTA_MEM_ACC8:
    case VTA_MEM_WGT4:
    case VTA_MEM_COUNT: break;
    }
}
