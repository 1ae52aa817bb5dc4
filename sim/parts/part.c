/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes a part: the state before it, and the instructions that bring it about.
 */
#include <stdlib.h>
#include <string.h>

#include "parts_internal.h"
#include "vta/fsim.h"

enum { PAGE = 4096 };

/* -- the state before a part */

/* Addresses of the scratchpads' contents. */
typedef struct contents {
    uint64_t at[VTA_MEM_COUNT]; /* device addresses */
    uint64_t zero;              /* of a micro-op that is all zero */
    uint64_t base;
} contents;

static uint64_t align_to(uint64_t address, uint64_t base, uint64_t bytes)
{
    return base + (address - base + bytes - 1) / bytes * bytes;
}

/* A block behind all others, with each scratchpad at a multiple of its elements from the base of segment 0.
 */
static vta_status make_image(const vta_walk *walk, contents *out, vta_diag *diag)
{
    const vta_config *config = walk->config;
    vta_dram *dram = walk->dram;
    const uint64_t base = walk->launch.base[0];
    uint64_t addr, size, end = base;
    void *host;
    for (size_t i = 0; vta_dram_block(dram, i, &addr, &host, &size); i++) {
        end = addr + size > end ? addr + size : end;
    }
    const uint64_t begin = (end / PAGE + 2) * PAGE;
    uint64_t at = begin;
    out->base = base;
    for (int m = 0; m < VTA_MEM_COUNT; m++) {
        out->at[m] = at = align_to(at, base, config->elem_bytes[m]);
        at += (uint64_t)config->depth[m] * config->elem_bytes[m];
    }
    out->zero = at = align_to(at, base, VTA_UOP_BYTES);
    VTA_TRY(vta_dram_alloc_at(dram, begin, at + VTA_UOP_BYTES - begin, &host, diag));
    for (int m = 0; m < VTA_MEM_COUNT; m++) {
        vta_fsim_scratchpad(walk->fsim, (vta_memory)m, (uint8_t *)host + (out->at[m] - begin));
    }
    return VTA_OK;
}

static vta_insn load_of(const vta_patch *p, const contents *image, vta_memory memory, uint64_t from,
                        uint32_t count)
{
    return (vta_insn){.opcode = VTA_OP_LOAD,
                      .mem = {.memory = memory,
                              .dram_base = (int64_t)((from - image->base) / p->config->elem_bytes[memory]),
                              .y_size = 1,
                              .x_size = count,
                              .x_stride = count}};
}

static void add_load(vta_patch *p, const contents *image, vta_memory memory)
{
    const vta_insn insn = load_of(p, image, memory, image->at[memory], p->config->depth[memory]);
    vta_patch_add(p, &insn);
}

/* OUT has no LOAD: what it holds goes through ACC, and each step that leaves ACC as it is writes OUT. */
static void add_out(vta_patch *p, const contents *image)
{
    const vta_insn zero = load_of(p, image, VTA_MEM_UOP, image->zero, 1);
    const vta_insn acc =
        load_of(p, image, VTA_MEM_ACC8, image->at[VTA_MEM_OUT], p->config->depth[VTA_MEM_OUT]);
    const vta_insn copy = {.opcode = VTA_OP_ALU,
                           .alu = {.uop_end = 1,
                                   .iter_out = 1,
                                   .iter_in = p->config->depth[VTA_MEM_ACC],
                                   .dst_in = 1,
                                   .alu_op = VTA_ALU_ADD,
                                   .use_imm = 1}};
    vta_patch_add(p, &zero);
    vta_patch_add(p, &acc);
    vta_patch_add(p, &copy);
}

static void add_begin(vta_patch *p, const contents *image, const uint8_t *tokens)
{
    vta_insn meet = vta_patch_carrier(VTA_UNIT_LOAD);
    meet.push_next = 1;
    add_load(p, image, VTA_MEM_INP);
    add_load(p, image, VTA_MEM_WGT);
    vta_patch_add(p, &meet);
    add_out(p, image);
    add_load(p, image, VTA_MEM_ACC);
    add_load(p, image, VTA_MEM_UOP);
    add_load(p, image, VTA_MEM_TAB);
    meet = vta_patch_carrier(VTA_UNIT_COMPUTE);
    meet.pop_prev = 1;
    vta_patch_add(p, &meet);
    vta_patch_tokens(p, tokens, true);
}

/* -- the whole */

static uint64_t count_compute(const vta_config *config, const uint8_t *program, uint32_t from, uint32_t to)
{
    uint64_t count = 0;
    for (uint32_t i = from; i < to; i++) {
        vta_word word;
        vta_insn insn;
        memcpy(&word, program + (size_t)i * VTA_INSN_BYTES, sizeof word);
        count += vta_insn_decode_raw(config, word, &insn) == VTA_ERROR_NONE &&
                 vta_insn_unit(&insn) == VTA_UNIT_COMPUTE;
    }
    return count;
}

static vta_status place_begin(const vta_launch *launch, vta_patch *p, uint8_t *program, vta_part *part)
{
    VTA_TRY(vta_patch_align(p, part->start));
    part->first = part->start - p->count;
    part->launch.insn_addr = launch->insn_addr + (uint64_t)part->first * VTA_INSN_BYTES;
    memcpy(program + (size_t)part->first * VTA_INSN_BYTES, p->words, p->count * sizeof p->words[0]);
    return VTA_OK;
}

static vta_status make(vta_walk *walk, vta_patch *p, vta_part *part, vta_diag *diag)
{
    contents image;
    const vta_cuts *cuts = walk->cuts;
    if (part->start > 0) {
        VTA_TRY(vta_walk_to(walk, part->start, diag));
        VTA_TRY(make_image(walk, &image, diag));
        add_begin(p, &image, cuts->insns[part->start].tokens);
        VTA_TRY(place_begin(&walk->launch, p, walk->program, part));
    }
    part->launch.insn_count = cuts->count - part->first;
    if (part->end < cuts->count) {
        part->starts = count_compute(walk->config, walk->program, part->first, part->end);
    }
    return VTA_OK;
}

vta_status vta_part_make(vta_walk *walk, uint32_t start, uint32_t end, vta_part *out, vta_diag *diag)
{
    const vta_cuts *cuts = walk->cuts;
    if (start >= end || end > cuts->count || !cuts->insns[start].clean || start < walk->at) {
        return vta_fail(diag, VTA_INVALID, "a program of %u instructions has no part from %u to %u",
                        (unsigned)cuts->count, (unsigned)start, (unsigned)end);
    }
    vta_patch *p = vta_patch_create(walk->config, diag);
    if (p == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory to cut a program");
    }
    *out = (vta_part){.start = start, .end = end, .launch = walk->launch};
    const vta_status status = make(walk, p, out, diag);
    free(p);
    return status;
}

/* The n-th STORE of a part, by its place in the program; the number of instructions where there are not so
 * many. What the part has put before its start stands for STOREs that give back tokens. */
static uint32_t nth_store(const vta_cuts *cuts, const vta_part *part, uint64_t n)
{
    const uint64_t own = part->start > 0 ? cuts->insns[part->start].tokens[VTA_QUEUE_S2C] : 0;
    uint64_t seen = own;
    if (n < own) {
        return part->start;
    }
    for (uint32_t i = part->start; i < cuts->count; i++) {
        seen += cuts->insns[i].unit == VTA_UNIT_STORE;
        if (seen == n + 1 && cuts->insns[i].unit == VTA_UNIT_STORE) {
            return i;
        }
    }
    return cuts->count;
}

void vta_part_stored(const vta_cuts *cuts, const vta_part_run *run, uint32_t *from, uint32_t *to)
{
    enum { STORE = 2 };
    uint64_t started = 0;
    uint64_t retired = 0;
    for (uint64_t i = 0; i < run->count; i++) {
        started += run->stretches[i].debug >> (VTA_DEBUG_START + STORE) & 1;
        retired += run->stretches[i].debug >> (VTA_DEBUG_RETIRE + STORE) & 1;
    }
    const uint32_t first = nth_store(cuts, &run->part, retired);
    *from = first;
    while (*from<cuts->count && * from> 0 && !cuts->insns[*from].clean) {
        --*from;
    }
    *to = vta_cuts_next(cuts, started > retired ? nth_store(cuts, &run->part, started - 1) + 1 : first);
}
