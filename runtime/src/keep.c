/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program leaves on chip for its next run. An entry of a scratchpad that one LOAD alone writes, from
 * memory that does not change, holds the same numbers after each run: the next run needs no such LOAD. It
 * becomes a transfer of nothing with the same tokens, so the program keeps its length, its order, and what
 * the checker has proved of it.
 *
 * WGT, UOP and TAB are written by LOADs alone. ACC is written by the compute unit, too: as its loops have
 * many steps, all entries from the first to the last that an instruction may write count as written.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "vta/again.h"

enum { ONCE = 1, OFTEN = 2 };

/* By scratchpad and entry: how many instructions write it, OFTEN at most. */
typedef struct writers {
    const vta_code *code;
    uint32_t constants; /* buffers whose bytes do not change, a bit each */
    uint8_t *by[VTA_MEM_COUNT];
    uint32_t *uops; /* the contents of UOP */
} writers;

static vta_memory scratchpad_of(vta_memory memory)
{
    switch (memory) {
    case VTA_MEM_WGT4: return VTA_MEM_WGT;
    case VTA_MEM_ACC8: return VTA_MEM_ACC;
    case VTA_MEM_UOP:
    case VTA_MEM_WGT:
    case VTA_MEM_INP:
    case VTA_MEM_ACC:
    case VTA_MEM_OUT:
    case VTA_MEM_TAB:
    case VTA_MEM_COUNT: break;
    }
    return memory;
}

static void add_writer(writers *w, vta_memory where, uint64_t first, uint64_t count)
{
    const uint64_t depth = w->code->info.config.depth[where];
    for (uint64_t e = first; e < first + count && e < depth; e++) {
        uint8_t *by = &w->by[where][e];
        *by = (uint8_t)(*by + (*by < OFTEN));
    }
}

/* The entries that a LOAD fills, padding included. */
static span filled_by(const vta_insn *load)
{
    const int64_t rows = load->mem.y_pad_0 + load->mem.y_size + load->mem.y_pad_1;
    const int64_t pitch = load->mem.x_pad_0 + load->mem.x_size + load->mem.x_pad_1;
    return (span){(uint32_t)load->mem.sram_base, load->mem.x_size > 0 ? (uint32_t)(rows * pitch) : 0};
}

/* Micro-ops are loaded in one row; those of any other shape leave `uops` as it is, and their loops count as
 * writers of all of ACC. */
static void take_uops(writers *w, const vta_insn *load)
{
    const vta_code *code = w->code;
    const uint64_t from = (uint64_t)load->mem.dram_base, count = (uint64_t)load->mem.x_size;
    const uint32_t at = (uint32_t)load->mem.sram_base;
    const bool row = load->mem.y_size == 1 && filled_by(load).length == count;
    if (row && from + count <= code->info.uop_count && at + count <= code->info.config.depth[VTA_MEM_UOP]) {
        memcpy(&w->uops[at], &code->uops[from], (size_t)count * sizeof *w->uops);
    } else {
        add_writer(w, VTA_MEM_ACC, 0, UINT32_MAX);
        add_writer(w, VTA_MEM_ACC, 0, UINT32_MAX);
    }
}

static void add_load(writers *w, const vta_insn *load)
{
    const vta_memory where = scratchpad_of((vta_memory)load->mem.memory);
    const span entries = filled_by(load);
    if (w->by[where] != NULL) {
        add_writer(w, where, entries.start, entries.length);
    }
    if (where == VTA_MEM_UOP && entries.length > 0) {
        take_uops(w, load);
    }
}

/* Instructions of the compute unit count twice, since no LOAD of theirs could be left out. */
static void add_nest(writers *w, int64_t uop_begin, int64_t uop_end, int64_t reach)
{
    const vta_config *config = &w->code->info.config;
    for (int64_t k = uop_begin; k < uop_end && k < (int64_t)config->depth[VTA_MEM_UOP]; k++) {
        const uint64_t first = vta_uop_decode(config, w->uops[k]).dst;
        add_writer(w, VTA_MEM_ACC, first, (uint64_t)reach + 1);
        add_writer(w, VTA_MEM_ACC, first, (uint64_t)reach + 1);
    }
}

static int64_t reach_of(int64_t iter_out, int64_t dst_out, int64_t iter_in, int64_t dst_in)
{
    return iter_out > 0 && iter_in > 0 ? (iter_out - 1) * dst_out + (iter_in - 1) * dst_in : 0;
}

static void add_insn(writers *w, const vta_insn *i)
{
    switch ((vta_opcode)i->opcode) {
    case VTA_OP_LOAD: add_load(w, i); break;
    case VTA_OP_GEMM:
        add_nest(w, i->gemm.uop_begin, i->gemm.uop_end,
                 reach_of(i->gemm.iter_out, i->gemm.dst_out, i->gemm.iter_in, i->gemm.dst_in));
        break;
    case VTA_OP_DEPTHWISE:
        add_nest(
            w, i->depthwise.uop_begin, i->depthwise.uop_end,
            reach_of(i->depthwise.iter_out, i->depthwise.dst_out, i->depthwise.iter_in, i->depthwise.dst_in));
        break;
    case VTA_OP_ALU:
        add_nest(w, i->alu.uop_begin, i->alu.uop_end,
                 reach_of(i->alu.iter_out, i->alu.dst_out, i->alu.iter_in, i->alu.dst_in));
        break;
    case VTA_OP_REQUANT:
        if (i->requant.to_inp == 0) {
            add_nest(
                w, i->requant.uop, i->requant.uop + 1,
                reach_of(i->requant.iter_out, i->requant.dst_out, i->requant.iter_in, i->requant.dst_in));
        }
        break;
    case VTA_OP_STORE:
    case VTA_OP_FINISH:
    case VTA_OP_COUNT: break;
    }
}

/* True if nothing but this LOAD writes the entries that it fills, from memory that does not change. */
static bool stays(const writers *w, const vta_insn *load)
{
    if (load->opcode != VTA_OP_LOAD) {
        return false;
    }
    const vta_memory where = scratchpad_of((vta_memory)load->mem.memory);
    const span entries = filled_by(load);
    const uint32_t segment = (uint32_t)load->mem.segment;
    const bool fixed = segment == UOP_SEGMENT || (w->constants >> segment & 1) != 0;
    bool alone = entries.length > 0 && fixed && w->by[where] != NULL;
    for (uint32_t e = entries.start; alone && e < entries.start + entries.length; e++) {
        alone = w->by[where][e] == ONCE;
    }
    return alone;
}

/* A transfer of nothing by the same unit, with the same tokens. */
static vta_status empty(const vta_config *config, const vta_insn *load, vta_word *word, vta_diag *diag)
{
    vta_insn nothing = *load;
    memset(&nothing.mem, 0, sizeof nothing.mem);
    nothing.mem.memory = load->mem.memory == VTA_MEM_WGT4 ? VTA_MEM_WGT : load->mem.memory;
    return vta_insn_encode(config, &nothing, word, diag);
}

static vta_status empty_loads(const writers *w, vta_word *out, uint32_t *kept, vta_diag *diag)
{
    const vta_code *code = w->code;
    for (uint32_t i = 0; i < code->info.insn_count; i++) {
        vta_insn insn;
        out[i] = code->insns[i];
        (void)vta_insn_decode_raw(&code->info.config, code->insns[i], &insn);
        if (stays(w, &insn)) {
            VTA_TRY(empty(&code->info.config, &insn, &out[i], diag));
            (*kept)++;
        }
    }
    return VTA_OK;
}

static bool make_writers(writers *w)
{
    static const vta_memory followed[] = {VTA_MEM_WGT, VTA_MEM_UOP, VTA_MEM_TAB, VTA_MEM_ACC};
    const uint32_t *depth = w->code->info.config.depth;
    bool good = true;
    for (size_t i = 0; i < sizeof followed / sizeof followed[0]; i++) {
        w->by[followed[i]] = calloc((size_t)depth[followed[i]] + 1, 1);
        good = good && w->by[followed[i]] != NULL;
    }
    w->uops = calloc((size_t)depth[VTA_MEM_UOP] + 1, sizeof *w->uops);
    return good && w->uops != NULL;
}

static void free_writers(writers *w)
{
    for (int i = 0; i < VTA_MEM_COUNT; i++) {
        free(w->by[i]);
    }
    free(w->uops);
}

vta_status vta_code_again(const vta_code *code, uint32_t constants, vta_word *out, uint32_t *kept,
                          vta_diag *diag)
{
    writers w = {.code = code, .constants = constants};
    *kept = 0;
    for (uint32_t b = 0; b < code->info.buffer_count; b++) {
        w.constants &= code->buffers[b].stored ? ~(UINT32_C(1) << b) : UINT32_MAX;
    }
    vta_status status = make_writers(&w) ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory for a job");
    for (uint32_t i = 0; status == VTA_OK && i < code->info.insn_count; i++) {
        vta_insn insn;
        (void)vta_insn_decode_raw(&code->info.config, code->insns[i], &insn);
        add_insn(&w, &insn);
    }
    if (status == VTA_OK) {
        status = empty_loads(&w, out, kept, diag);
    }
    free_writers(&w);
    return status;
}
