/* SPDX-License-Identifier: Apache-2.0
 *
 * LOAD and STORE (ISA.md §4): rows between DRAM and scratchpads, contiguous ones merged.
 */
#include <string.h>

#include "fsim_internal.h"

/* A transfer, reduced to what moving it needs. */
typedef struct transfer {
    vta_memory memory; /* of the instruction; ACC8 stays ACC8 */
    uint32_t at;       /* next scratchpad entry */
    uint32_t bytes;    /* of an element in DRAM */
    int32_t pad;
} transfer;

bool vta_fsim_written(const vta_fsim *f, vta_memory memory, uint32_t first, uint32_t count)
{
    return f->written[memory] == NULL || count == 0 || memchr(f->written[memory] + first, 0, count) == NULL;
}

void vta_fsim_set_written(vta_fsim *f, vta_memory memory, uint32_t first, uint32_t count)
{
    const vta_memory real = memory == VTA_MEM_ACC8   ? VTA_MEM_ACC
                            : memory == VTA_MEM_WGT4 ? VTA_MEM_WGT
                                                     : memory;
    if (f->written[real] != NULL) {
        memset(f->written[real] + first, 1, count);
    }
}

/* Host memory of `bytes` at BASE[segment] + offset; NULL: the memory refuses. */
static uint8_t *map(const vta_fsim *f, int64_t segment, uint64_t offset, uint64_t bytes)
{
    const uint64_t base = f->launch->base[segment];
    if (offset > UINT64_MAX - base || bytes > UINT64_MAX - base - offset) {
        return NULL;
    }
    return f->bus.map(f->bus.context, base + offset, bytes);
}

/* `count` elements of weights of four bits, tile by tile: two in a byte, the lower one first. */
static void put_wgt4(const vta_fsim *f, const transfer *t, const uint8_t *from, uint32_t count)
{
    int8_t tile[64 * 64];
    for (uint32_t n = 0; n < count; n++, from += t->bytes) {
        for (uint32_t i = 0; i < 2 * t->bytes; i++) {
            const int nibble = from[i / 2] >> i % 2 * 4 & 15;
            tile[i] = (int8_t)(nibble < 8 ? nibble : nibble - 16);
        }
        f->kernel->pack_wgt(&f->mem, t->at + n, tile, 1);
    }
}

/* `count` elements of DRAM into the scratchpad. */
static void put(vta_fsim *f, transfer *t, const uint8_t *from, uint32_t count)
{
    const fsim_memory *m = &f->mem;
    const size_t lanes = (size_t)m->batch * m->out;
    int32_t *acc = m->acc + t->at * lanes;
    switch (t->memory) {
    case VTA_MEM_UOP: memcpy(f->uop + t->at, from, (size_t)count * sizeof *f->uop); break;
    case VTA_MEM_TAB: memcpy(f->tab + (size_t)4 * t->at, from, (size_t)count * 4); break;
    case VTA_MEM_WGT: f->kernel->pack_wgt(m, t->at, (const int8_t *)from, count); break;
    case VTA_MEM_WGT4: put_wgt4(f, t, from, count); break;
    case VTA_MEM_INP: f->kernel->pack_inp(m, t->at * m->batch, (const int8_t *)from, count * m->batch); break;
    case VTA_MEM_ACC: memcpy(acc, from, count * lanes * sizeof *acc); break;
    case VTA_MEM_ACC8:
        for (size_t l = 0; l < count * lanes; l++) {
            acc[l] = (int32_t)(int8_t)from[l];
        }
        break;
    case VTA_MEM_OUT:
    case VTA_MEM_COUNT: break;
    }
    t->at += count;
}

/* `count` entries of padding. */
static void pad(vta_fsim *f, transfer *t, uint32_t count)
{
    const size_t lanes = (size_t)f->mem.batch * f->mem.out;
    switch (t->memory) {
    case VTA_MEM_UOP: memset(f->uop + t->at, 0, (size_t)count * sizeof *f->uop); break;
    case VTA_MEM_TAB: memset(f->tab + (size_t)4 * t->at, 0, (size_t)count * 4); break;
    case VTA_MEM_ACC:
    case VTA_MEM_ACC8:
        for (size_t l = t->at * lanes; l < (t->at + count) * lanes; l++) {
            f->mem.acc[l] = t->pad;
        }
        break;
    case VTA_MEM_INP:
    case VTA_MEM_WGT4:
    case VTA_MEM_WGT: {
        uint8_t element[64 * 64]; /* the largest of them */
        transfer whole = *t;
        whole.memory = t->memory == VTA_MEM_INP ? VTA_MEM_INP : VTA_MEM_WGT;
        memset(element, (uint8_t)t->pad, f->config.elem_bytes[whole.memory]);
        for (uint32_t i = 0; i < count; i++) {
            put(f, &whole, element, 1);
        }
        break;
    }
    case VTA_MEM_OUT:
    case VTA_MEM_COUNT: break;
    }
    t->at += count;
}

static uint64_t *bytes_counter(vta_counters *c, vta_memory memory)
{
    switch (memory) {
    case VTA_MEM_UOP:
    case VTA_MEM_TAB: return &c->uop_bytes;
    case VTA_MEM_WGT:
    case VTA_MEM_WGT4: return &c->wgt_bytes;
    case VTA_MEM_INP: return &c->inp_bytes;
    case VTA_MEM_ACC:
    case VTA_MEM_ACC8: return &c->acc_bytes;
    case VTA_MEM_OUT:
    case VTA_MEM_COUNT: break;
    }
    return &c->out_bytes;
}

/* A row that is not in one piece of memory, element by element. */
static bool put_scattered(vta_fsim *f, transfer *t, int64_t segment, uint64_t offset, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *from = map(f, segment, offset + (uint64_t)i * t->bytes, t->bytes);
        if (from == NULL) {
            return false;
        }
        put(f, t, from, 1);
    }
    return true;
}

/* The y_size rows with their pads left and right. */
static vta_error load_rows(vta_fsim *f, transfer *t, const vta_insn *insn)
{
    const uint64_t rows = (uint64_t)insn->mem.y_size;
    const uint32_t row = (uint32_t)insn->mem.x_size;
    const uint64_t stride = (uint64_t)insn->mem.x_stride;
    const uint64_t first = (uint64_t)insn->mem.dram_base * t->bytes;
    if (rows == 0) {
        return VTA_ERROR_NONE;
    }
    const uint8_t *all = map(f, insn->mem.segment, first, ((rows - 1) * stride + row) * t->bytes);
    const bool merge = stride == row && insn->mem.x_pad_0 == 0 && insn->mem.x_pad_1 == 0;
    if (all != NULL && merge) {
        put(f, t, all, (uint32_t)rows * row);
        return VTA_ERROR_NONE;
    }
    for (uint64_t y = 0; y < rows && !fsim_stopped(f); y++) {
        const uint64_t offset = y * stride * t->bytes;
        pad(f, t, (uint32_t)insn->mem.x_pad_0);
        const uint8_t *from =
            all != NULL ? all + offset : map(f, insn->mem.segment, first + offset, (uint64_t)row * t->bytes);
        if (from != NULL) {
            put(f, t, from, row);
        } else if (!put_scattered(f, t, insn->mem.segment, first + offset, row)) {
            return VTA_ERROR_READ_BUS;
        }
        pad(f, t, (uint32_t)insn->mem.x_pad_1);
    }
    return VTA_ERROR_NONE;
}

vta_error vta_fsim_load(vta_fsim *f, const vta_insn *insn)
{
    const vta_memory memory = (vta_memory)insn->mem.memory;
    if (insn->mem.x_size == 0) {
        return VTA_ERROR_NONE;
    }
    const int64_t pitch = insn->mem.x_pad_0 + insn->mem.x_size + insn->mem.x_pad_1;
    const int64_t rows = insn->mem.y_pad_0 + insn->mem.y_size + insn->mem.y_pad_1;
    if (insn->mem.sram_base + rows * pitch > (int64_t)f->config.depth[memory]) {
        return VTA_ERROR_SRAM_RANGE;
    }
    const uint32_t first = (uint32_t)insn->mem.sram_base;
    transfer t = {.memory = memory,
                  .at = first,
                  .bytes = f->config.elem_bytes[memory],
                  .pad = vta_insn_pad_value(insn)};
    pad(f, &t, (uint32_t)(insn->mem.y_pad_0 * pitch));
    const vta_error error = load_rows(f, &t, insn);
    if (error != VTA_ERROR_NONE) {
        return error;
    }
    pad(f, &t, (uint32_t)(insn->mem.y_pad_1 * pitch));
    vta_fsim_set_written(f, memory, first, (uint32_t)(rows * pitch));
    *bytes_counter(&f->report->counters, memory) += (uint64_t)(insn->mem.y_size * insn->mem.x_size) * t.bytes;
    return VTA_ERROR_NONE;
}

/* A row that is not in one piece of memory, element by element. */
static bool get_scattered(const vta_fsim *f, int64_t segment, uint64_t offset, const int8_t *from,
                          uint64_t bytes, uint32_t element)
{
    for (uint64_t at = 0; at < bytes; at += element) {
        uint8_t *to = map(f, segment, offset + at, element);
        if (to == NULL) {
            return false;
        }
        memcpy(to, from + at, element);
    }
    return true;
}

static vta_error store_rows(vta_fsim *f, const vta_insn *insn, uint32_t element)
{
    const uint64_t rows = (uint64_t)insn->mem.y_size;
    const uint64_t row = (uint64_t)insn->mem.x_size * element;
    const uint64_t stride = (uint64_t)insn->mem.x_stride * element;
    const uint64_t first = (uint64_t)insn->mem.dram_base * element;
    const int8_t *from = f->mem.out8 + (uint64_t)insn->mem.sram_base * element;
    uint8_t *all = map(f, insn->mem.segment, first, (rows - 1) * stride + row);
    if (all != NULL && stride == row) {
        memcpy(all, from, (size_t)(rows * row));
        return VTA_ERROR_NONE;
    }
    for (uint64_t y = 0; y < rows && !fsim_stopped(f); y++) {
        uint8_t *to = all != NULL ? all + y * stride : map(f, insn->mem.segment, first + y * stride, row);
        if (to != NULL) {
            memcpy(to, from, (size_t)row);
        } else if (!get_scattered(f, insn->mem.segment, first + y * stride, from, row, element)) {
            return VTA_ERROR_WRITE_BUS;
        }
        from += row;
    }
    return VTA_ERROR_NONE;
}

vta_error vta_fsim_store(vta_fsim *f, const vta_insn *insn)
{
    if (insn->mem.x_size == 0) {
        return VTA_ERROR_NONE;
    }
    const int64_t count = insn->mem.y_size * insn->mem.x_size;
    if (insn->mem.sram_base + count > (int64_t)f->config.depth[VTA_MEM_OUT]) {
        return VTA_ERROR_SRAM_RANGE;
    }
    if (count == 0) {
        return VTA_ERROR_NONE;
    }
    if (!vta_fsim_written(f, VTA_MEM_OUT, (uint32_t)insn->mem.sram_base, (uint32_t)count)) {
        return VTA_ERROR_UNWRITTEN;
    }
    const uint32_t element = f->config.elem_bytes[VTA_MEM_OUT];
    const vta_error error = store_rows(f, insn, element);
    if (error == VTA_ERROR_NONE) {
        f->report->counters.out_bytes += (uint64_t)count * element;
    }
    return error;
}
