/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes a part: the state before it, and the instructions that bring it about.
 */
#include <stdlib.h>
#include <string.h>

#include "parts_internal.h"
#include "vta/fsim.h"

enum { PAGE = 4096, INSNS_ALIGN = VTA_BASE_ALIGN / VTA_INSN_BYTES, MOST_INSNS = 4 * VTA_TOKEN_CAPACITY + 32 };

/* Instructions that are put over a program. */
typedef struct patch {
    const vta_config *config;
    vta_word words[MOST_INSNS];
    uint32_t count;
    vta_status status;
    vta_diag *diag;
} patch;

static void add(patch *p, const vta_insn *insn)
{
    if (p->status == VTA_OK && p->count == MOST_INSNS) {
        p->status =
            vta_fail(p->diag, VTA_UNSUPPORTED, "too many tokens are under way where a program is cut");
    }
    if (p->status == VTA_OK) {
        p->status = vta_insn_encode(p->config, insn, &p->words[p->count], p->diag);
        p->count++;
    }
}

/* A transfer of nothing, for its tokens. */
static vta_insn token_carrier(vta_unit unit)
{
    const vta_memory memory = unit == VTA_UNIT_LOAD      ? VTA_MEM_INP
                              : unit == VTA_UNIT_COMPUTE ? VTA_MEM_UOP
                                                         : VTA_MEM_OUT;
    return (vta_insn){.opcode = unit == VTA_UNIT_STORE ? VTA_OP_STORE : VTA_OP_LOAD, .mem.memory = memory};
}

static void add_tokens(patch *p, const uint8_t *tokens, bool push)
{
    static const vta_unit producer[VTA_QUEUE_COUNT] = {
#define VTA_QUEUE(id, producer, consumer, doc) [VTA_QUEUE_##id] = VTA_UNIT_##producer,
#include "vta/isa.def"
    };
    static const vta_unit consumer[VTA_QUEUE_COUNT] = {
#define VTA_QUEUE(id, producer, consumer, doc) [VTA_QUEUE_##id] = VTA_UNIT_##consumer,
#include "vta/isa.def"
    };
    for (int q = 0; q < VTA_QUEUE_COUNT; q++) {
        const bool onward = producer[q] < consumer[q];
        vta_insn insn = token_carrier(push ? producer[q] : consumer[q]);
        insn.push_next = push && onward;
        insn.push_prev = push && !onward;
        insn.pop_prev = !push && onward;
        insn.pop_next = !push && !onward;
        for (uint32_t i = 0; i < tokens[q]; i++) {
            add(p, &insn);
        }
    }
}

/* What ends a program before its end: all tokens are taken, then FINISH. */
static void add_end(patch *p, const uint8_t *tokens)
{
    const vta_insn finish = {.opcode = VTA_OP_FINISH};
    add_tokens(p, tokens, false);
    add(p, &finish);
}

/* -- the state before a part */

/* Where the contents of the scratchpads lie. */
typedef struct contents {
    uint64_t at[VTA_MEM_COUNT]; /* device addresses */
    uint64_t zero;              /* of a micro-op that is all zero */
    uint64_t base;
} contents;

static vta_status run_before(const vta_cuts *cuts, const vta_launch *launch, uint32_t start, uint8_t *program,
                             vta_fsim *fsim, patch *p, vta_diag *diag)
{
    vta_report report;
    vta_launch before = *launch;
    add_end(p, cuts->insns[start].tokens);
    VTA_TRY(p->status);
    const size_t size = p->count * sizeof p->words[0];
    uint8_t *at = program + (size_t)start * VTA_INSN_BYTES;
    uint8_t *saved = malloc(size);
    if (saved == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory to cut a program");
    }
    memcpy(saved, at, size);
    memcpy(at, p->words, size);
    before.insn_count = start + p->count;
    const vta_status status = vta_fsim_run(fsim, &before, &report, diag);
    memcpy(at, saved, size);
    free(saved);
    VTA_TRY(status);
    return report.error == VTA_ERROR_NONE
               ? VTA_OK
               : vta_fail(diag, VTA_PROTOCOL, "what comes before a cut fails: %s, instruction %u",
                          vta_error_text(report.error), (unsigned)report.insn);
}

static uint64_t align_to(uint64_t address, uint64_t base, uint64_t bytes)
{
    return base + (address - base + bytes - 1) / bytes * bytes;
}

/* A block behind all others, with each scratchpad at a multiple of its elements from the base of segment 0.
 */
static vta_status make_image(const vta_config *config, vta_dram *dram, uint64_t base, const vta_fsim *fsim,
                             contents *out, vta_diag *diag)
{
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
        vta_fsim_scratchpad(fsim, (vta_memory)m, (uint8_t *)host + (out->at[m] - begin));
    }
    return VTA_OK;
}

static vta_insn load_of(const patch *p, const contents *image, vta_memory memory, uint64_t from,
                        uint32_t count)
{
    return (vta_insn){.opcode = VTA_OP_LOAD,
                      .mem = {.memory = memory,
                              .dram_base = (int64_t)((from - image->base) / p->config->elem_bytes[memory]),
                              .y_size = 1,
                              .x_size = count,
                              .x_stride = count}};
}

static void add_load(patch *p, const contents *image, vta_memory memory)
{
    const vta_insn insn = load_of(p, image, memory, image->at[memory], p->config->depth[memory]);
    add(p, &insn);
}

/* OUT has no LOAD: what it holds goes through ACC, and each step that leaves ACC as it is writes OUT. */
static void add_out(patch *p, const contents *image)
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
    add(p, &zero);
    add(p, &acc);
    add(p, &copy);
}

static void add_begin(patch *p, const contents *image, const uint8_t *tokens)
{
    vta_insn meet = token_carrier(VTA_UNIT_LOAD);
    meet.push_next = 1;
    add_load(p, image, VTA_MEM_INP);
    add_load(p, image, VTA_MEM_WGT);
    add(p, &meet);
    add_out(p, image);
    add_load(p, image, VTA_MEM_ACC);
    add_load(p, image, VTA_MEM_UOP);
    add_load(p, image, VTA_MEM_TAB);
    meet = token_carrier(VTA_UNIT_COMPUTE);
    meet.pop_prev = 1;
    add(p, &meet);
    add_tokens(p, tokens, true);
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

static vta_status place_begin(const vta_launch *launch, patch *p, uint8_t *program, vta_part *part,
                              vta_diag *diag)
{
    const vta_insn filler = token_carrier(VTA_UNIT_COMPUTE);
    while (p->status == VTA_OK && p->count <= part->start && (part->start - p->count) % INSNS_ALIGN != 0) {
        add(p, &filler);
    }
    VTA_TRY(p->status);
    if (p->count > part->start) {
        return vta_fail(diag, VTA_UNSUPPORTED, "a part needs %u instructions before its first",
                        (unsigned)p->count);
    }
    part->first = part->start - p->count;
    part->launch.insn_addr = launch->insn_addr + (uint64_t)part->first * VTA_INSN_BYTES;
    memcpy(program + (size_t)part->first * VTA_INSN_BYTES, p->words, p->count * sizeof p->words[0]);
    return VTA_OK;
}

static vta_status make(const vta_config *config, const vta_cuts *cuts, vta_dram *dram,
                       const vta_launch *launch, vta_fsim *fsim, patch *p, vta_part *part, vta_diag *diag)
{
    contents image;
    uint8_t *program = vta_dram_map(dram, launch->insn_addr, (uint64_t)launch->insn_count * VTA_INSN_BYTES);
    if (program == NULL || launch->insn_count != cuts->count) {
        return vta_fail(diag, VTA_INVALID, "the program that is to be cut is not in memory");
    }
    if (part->start > 0) {
        VTA_TRY(run_before(cuts, launch, part->start, program, fsim, p, diag));
        VTA_TRY(make_image(config, dram, launch->base[0], fsim, &image, diag));
        p->count = 0;
        add_begin(p, &image, cuts->insns[part->start].tokens);
        VTA_TRY(place_begin(launch, p, program, part, diag));
    }
    part->launch.insn_count = cuts->count - part->first;
    if (part->end < cuts->count) {
        part->starts = count_compute(config, program, part->first, part->end);
    }
    return VTA_OK;
}

vta_status vta_part_make(const vta_config *config, const vta_cuts *cuts, vta_dram *dram,
                         const vta_launch *launch, uint32_t start, uint32_t end, vta_part *out,
                         vta_diag *diag)
{
    if (start >= end || end > cuts->count || !cuts->insns[start].clean) {
        return vta_fail(diag, VTA_INVALID, "a program of %u instructions has no part from %u to %u",
                        (unsigned)cuts->count, (unsigned)start, (unsigned)end);
    }
    vta_fsim *fsim = NULL;
    patch *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory to cut a program");
    }
    const vta_bus bus = vta_dram_bus(dram);
    *p = (patch){.config = config, .diag = diag};
    *out = (vta_part){.start = start, .end = end, .launch = *launch};
    vta_status status = vta_fsim_create(config, &bus, false, &fsim, diag);
    status = status == VTA_OK ? make(config, cuts, dram, launch, fsim, p, out, diag) : status;
    vta_fsim_destroy(fsim);
    free(p);
    return status;
}

vta_status vta_cuts_run(const vta_config *config, const vta_cuts *cuts, vta_dram *dram,
                        const vta_launch *launch, uint32_t insns, vta_diag *diag)
{
    vta_fsim *fsim = NULL;
    vta_report report;
    const vta_bus bus = vta_dram_bus(dram);
    uint8_t *program = vta_dram_map(dram, launch->insn_addr, (uint64_t)launch->insn_count * VTA_INSN_BYTES);
    patch *p = calloc(1, sizeof *p);
    if (p == NULL || program == NULL || launch->insn_count != cuts->count) {
        free(p);
        return vta_fail(diag, VTA_INVALID, "the program that is to be cut is not in memory");
    }
    *p = (patch){.config = config, .diag = diag};
    vta_status status = vta_fsim_create(config, &bus, false, &fsim, diag);
    if (status == VTA_OK && insns < cuts->count) {
        status = run_before(cuts, launch, insns, program, fsim, p, diag);
    } else if (status == VTA_OK) {
        status = vta_fsim_run(fsim, launch, &report, diag);
    }
    vta_fsim_destroy(fsim);
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
