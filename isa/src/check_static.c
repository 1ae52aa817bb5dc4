/* SPDX-License-Identifier: Apache-2.0
 *
 * The checker's first pass: each instruction for itself, in program order. It also sorts the instructions by
 * unit and tells check_dram.c what will be stored to.
 */
#include <inttypes.h>
#include <string.h>

#include "check_internal.h"

check_rows vta_check_rows_of(const checker *c, const vta_insn *insn)
{
    const uint64_t bytes = c->config->elem_bytes[insn->mem.memory];
    check_rows rows = {
        .addr = c->launch->base[insn->mem.segment] + (uint64_t)insn->mem.dram_base * bytes,
        .bytes = (uint64_t)insn->mem.x_size * bytes,
        .step = (uint64_t)insn->mem.x_stride * bytes,
        .count = (uint32_t)insn->mem.y_size,
    };
    if (rows.bytes == 0) {
        rows.count = 0;
    } else if (rows.step == 0 && rows.count > 1) {
        rows.count = 1;
    } else if (rows.step == rows.bytes && rows.count > 1) {
        rows.bytes *= rows.count;
        rows.count = 1;
    }
    return rows;
}

static bool mapped(const checker *c, uint64_t addr, uint64_t bytes)
{
    return addr <= UINT64_MAX - bytes && c->bus->map(c->bus->context, addr, bytes) != NULL;
}

static vta_status outside(checker *c, uint32_t index, const vta_insn *insn, uint64_t addr, uint64_t bytes)
{
    return vta_check_report(c, index, VTA_ERROR_DRAM_RANGE, "dram_base", (int64_t)addr, (int64_t)bytes,
                            "dram_base %" PRId64 " in segment %" PRId64 ": %" PRIu64 " bytes at 0x%" PRIx64
                            " are outside the memory given to the program",
                            insn->mem.dram_base, insn->mem.segment, bytes, addr);
}

/* All of it at once where it is one block of memory, otherwise row by row. */
static vta_status check_dram_range(checker *c, uint32_t index, const vta_insn *insn)
{
    const check_rows rows = vta_check_rows_of(c, insn);
    if (rows.count == 0) {
        return VTA_OK;
    }
    const uint64_t offset = (uint64_t)insn->mem.dram_base * c->config->elem_bytes[insn->mem.memory];
    const uint64_t span = (rows.count - 1) * rows.step + rows.bytes;
    if (c->launch->base[insn->mem.segment] > UINT64_MAX - offset - span) {
        return outside(c, index, insn, rows.addr, span);
    }
    if (mapped(c, rows.addr, span)) {
        return VTA_OK;
    }
    for (uint32_t row = 0; row < rows.count; row++) {
        const uint64_t addr = rows.addr + row * rows.step;
        if (!mapped(c, addr, rows.bytes)) {
            return outside(c, index, insn, addr, rows.bytes);
        }
    }
    return VTA_OK;
}

static vta_status check_sram_range(checker *c, uint32_t index, const vta_insn *insn)
{
    const bool load = insn->opcode == VTA_OP_LOAD;
    const int64_t pitch = insn->mem.x_size + (load ? insn->mem.x_pad_0 + insn->mem.x_pad_1 : 0);
    const int64_t rows = insn->mem.y_size + (load ? insn->mem.y_pad_0 + insn->mem.y_pad_1 : 0);
    const int64_t end = insn->mem.sram_base + rows * pitch;
    const int64_t depth = c->config->depth[insn->mem.memory];
    if (end > depth) {
        return vta_check_report(c, index, VTA_ERROR_SRAM_RANGE, "sram_base", end, depth,
                                "sram_base %" PRId64 " and %" PRId64 " rows of %" PRId64 " end at %" PRId64
                                ", beyond the depth of %s (limit: %" PRId64 ")",
                                insn->mem.sram_base, rows, pitch, end, vta_memory_name(insn->mem.memory),
                                depth);
    }
    return VTA_OK;
}

static vta_status check_transfer(checker *c, uint32_t index, const vta_insn *insn)
{
    if (insn->mem.x_size == 0) {
        return VTA_OK;
    }
    VTA_TRY(check_sram_range(c, index, insn));
    VTA_TRY(check_dram_range(c, index, insn));
    return insn->opcode == VTA_OP_STORE ? vta_check_dram_expect(c, index, insn) : VTA_OK;
}

/* FINISH is the last instruction and no other. */
static vta_status check_finish(checker *c, uint32_t index, const vta_insn *insn)
{
    const uint32_t count = c->launch->insn_count;
    if (insn->opcode == VTA_OP_FINISH && index + 1 < count) {
        return vta_check_report(c, index, VTA_ERROR_NO_FINISH, "opcode", index, (int64_t)count - 1,
                                "%" PRIu32 " instructions come after it", count - 1 - index);
    }
    if (insn->opcode != VTA_OP_FINISH && index + 1 == count) {
        return vta_check_report(c, index, VTA_ERROR_NO_FINISH, "opcode", insn->opcode, VTA_OP_FINISH,
                                "the last instruction must be finish");
    }
    return VTA_OK;
}

static vta_status check_one(checker *c, uint32_t index, vta_insn *insn)
{
    vta_word word;
    vta_fault fault;
    if (!vta_check_fetch(c, index, &word)) {
        return vta_check_report(c, index, VTA_ERROR_FETCH_BUS, "insn_addr", (int64_t)c->launch->insn_addr,
                                index, "the instruction is outside the memory given to the program");
    }
    if (vta_insn_inspect(c->config, word, insn, &fault) != VTA_ERROR_NONE) {
        return vta_check_report(c, index, fault.error, fault.field, fault.value, fault.bound,
                                "%s %" PRId64 " (limit: %" PRId64 "): %s", fault.field, fault.value,
                                fault.bound, fault.rule);
    }
    VTA_TRY(check_finish(c, index, insn));
    if (insn->opcode == VTA_OP_LOAD || insn->opcode == VTA_OP_STORE) {
        return check_transfer(c, index, insn);
    }
    const check_plan plan = vta_check_plan_of(c, insn);
    return vta_check_plan_uops(c, index, &plan);
}

static uint8_t pack_flags(const vta_insn *insn)
{
    return (uint8_t)((int)vta_insn_unit(insn) | (insn->pop_prev != 0 ? CHECK_POP_PREV : 0) |
                     (insn->pop_next != 0 ? CHECK_POP_NEXT : 0) |
                     (insn->push_prev != 0 ? CHECK_PUSH_PREV : 0) |
                     (insn->push_next != 0 ? CHECK_PUSH_NEXT : 0));
}

static void sort_by_unit(checker *c)
{
    uint32_t *next[VTA_UNIT_COUNT];
    uint32_t *place = c->members;
    for (int unit = 0; unit < VTA_UNIT_COUNT; unit++) {
        c->of_unit[unit] = next[unit] = place;
        place += c->count[unit];
    }
    for (uint32_t index = 0; index < c->limit; index++) {
        *next[c->flags[index] & CHECK_UNIT]++ = index;
    }
}

vta_status vta_check_static(checker *c)
{
    vta_status status = VTA_OK;
    if (c->launch->insn_count == 0) {
        status = vta_check_report(c, 0, VTA_ERROR_NO_FINISH, "insn_count", 0, 1,
                                  "the program is empty, it must end with finish");
    }
    while (status == VTA_OK && c->limit < c->launch->insn_count) {
        vta_insn insn = {0};
        status = check_one(c, c->limit, &insn);
        if (status == VTA_OK) {
            c->flags[c->limit] = pack_flags(&insn);
            c->count[vta_insn_unit(&insn)]++;
            c->limit++;
        }
    }
    sort_by_unit(c);
    return status;
}
