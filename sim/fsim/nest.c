/* SPDX-License-Identifier: Apache-2.0
 *
 * Loop nests as a whole: what they reach, and in strict simulation what they read and write.
 */
#include <string.h>

#include "fsim_internal.h"

vta_error vta_fsim_decode_uops(vta_fsim *f, uint32_t begin, uint32_t end)
{
    if (end > f->config.depth[VTA_MEM_UOP]) {
        return VTA_ERROR_UOP_RANGE;
    }
    if (!vta_fsim_written(f, VTA_MEM_UOP, begin, end - begin)) {
        return VTA_ERROR_UNWRITTEN;
    }
    const fsim_uop_field d = f->uop_dst;
    const fsim_uop_field s = f->uop_src;
    const fsim_uop_field a = f->uop_aux;
    const uint32_t *uop = f->uop + begin;
    uint32_t *dst = f->dst;
    uint32_t *src = f->src;
    uint32_t *aux = f->aux;
    for (uint32_t k = 0; k < end - begin; k++) {
        dst[k] = uop[k] >> d.lsb & d.mask;
        src[k] = uop[k] >> s.lsb & s.mask;
        aux[k] = uop[k] >> a.lsb & a.mask;
    }
    return VTA_ERROR_NONE;
}

uint64_t vta_fsim_reach(const fsim_nest *nest, const uint32_t *list, uint32_t out, uint32_t in)
{
    uint32_t max = 0;
    for (uint32_t k = 0; k < nest->uops; k++) {
        max = list[k] > max ? list[k] : max;
    }
    return max + (uint64_t)(nest->iter_out - 1) * out + (uint64_t)(nest->iter_in - 1) * in;
}

static bool all_written(const uint8_t *written, const uint32_t *list, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        if (written[list[k]] == 0) {
            return false;
        }
    }
    return true;
}

bool vta_fsim_nest_written(const vta_fsim *f, const fsim_nest *nest, vta_memory memory, const uint32_t *list,
                           uint32_t out, uint32_t in, uint32_t offset)
{
    const uint8_t *written = f->written[memory];
    const uint32_t iter_out = out == 0 ? 1 : nest->iter_out;
    const uint32_t iter_in = in == 0 ? 1 : nest->iter_in;
    for (uint32_t i = 0; written != NULL && i < iter_out; i++) {
        for (uint32_t j = 0; j < iter_in && !fsim_stopped(f); j++) {
            if (!all_written(written + offset + i * out + j * in, list, nest->uops)) {
                return false;
            }
        }
    }
    return true;
}

void vta_fsim_nest_write(vta_fsim *f, const fsim_nest *nest)
{
    if (!f->strict) {
        return;
    }
    const uint32_t iter_out = nest->dst_out == 0 ? 1 : nest->iter_out;
    const uint32_t iter_in = nest->dst_in == 0 ? 1 : nest->iter_in;
    for (uint32_t i = 0; i < iter_out; i++) {
        for (uint32_t j = 0; j < iter_in && !fsim_stopped(f); j++) {
            const uint32_t base = i * nest->dst_out + j * nest->dst_in;
            for (uint32_t k = 0; k < nest->uops; k++) {
                f->written[VTA_MEM_ACC][base + f->dst[k]] = 1;
                f->written[VTA_MEM_OUT][base + f->dst[k]] = 1;
            }
        }
    }
}

void vta_fsim_nest_write_inp(vta_fsim *f, const fsim_nest *nest, uint32_t part)
{
    const uint32_t parts = f->config.block_in / f->config.block_out;
    const uint32_t whole = (1U << parts) - 1;
    for (uint32_t i = 0; f->strict && i < nest->iter_out; i++) {
        for (uint32_t j = 0; j < nest->iter_in && !fsim_stopped(f); j++) {
            const uint32_t at = f->dst[0] + i * nest->dst_out + j * nest->dst_in;
            f->inp_parts[at] |= (uint8_t)(1U << part);
            f->written[VTA_MEM_INP][at] |= f->inp_parts[at] == whole;
        }
    }
}
