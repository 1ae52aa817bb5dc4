/* SPDX-License-Identifier: Apache-2.0
 *
 * The checker against a plain reference: small random programs whose loop nests are run step by step, whose
 * order is the transitive closure of a graph of instructions, and whose conflicts are found by comparing
 * every pair. The checker must accept exactly the programs in which the reference finds nothing, and report
 * something that the reference has found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rng.h"
#include "seed.h"
#include "vta/check.h"

enum {
    PROGRAM = 0x10000,
    DATA = 0x20000,
    UOPS = 0x30000,
    DATA_BYTES = 1024,
    UOP_COUNT = 16,
    INSNS = 64,
    PLACES = 4, /* of an instruction queue */
    /* All that can be read and written, in one numbering. */
    AT_UOP = 0,
    AT_WGT = AT_UOP + 256,
    AT_INP = AT_WGT + 128,
    PARTS = 2, /* of an INP entry, at most */
    AT_ACC = AT_INP + 256 * PARTS,
    AT_OUT = AT_ACC + 128,
    AT_DRAM = AT_OUT + 128,
    THINGS = AT_DRAM + DATA_BYTES
};

/* Input tiles of one part, and of two. */
static const char *const config_texts[PARTS] = {
    "{\"LOG_BLOCK\": 2, \"LOG_UOP_BUFF_SIZE\": 10, \"LOG_INP_BUFF_SIZE\": 10, \"LOG_WGT_BUFF_SIZE\": 11,"
    " \"LOG_ACC_BUFF_SIZE\": 11, \"LOG_QUEUE_DEPTH\": 2}",
    "{\"LOG_BLOCK_IN\": 3, \"LOG_BLOCK_OUT\": 2, \"LOG_UOP_BUFF_SIZE\": 10, \"LOG_INP_BUFF_SIZE\": 11,"
    " \"LOG_WGT_BUFF_SIZE\": 12, \"LOG_ACC_BUFF_SIZE\": 11, \"LOG_QUEUE_DEPTH\": 2}"};

typedef struct trial {
    vta_config config;
    vta_insn insns[INSNS];
    vta_word words[INSNS];
    uint32_t count;
    uint32_t uops[UOP_COUNT];
    uint8_t data[DATA_BYTES];
} trial;

/* The reference's knowledge of each instruction. */
typedef struct reference {
    bool reads[INSNS][THINGS]; /* before the instruction itself wrote it */
    bool writes[INSNS][THINGS];
    bool runs[INSNS];
    bool before[INSNS][INSNS];
    bool violation[INSNS][32]; /* by error code */
    uint32_t violations;
    uint32_t uops[256];
} reference;

static trial t; /* too large for a stack */
static reference ref;

static void *trial_map(void *context, uint64_t addr, uint64_t size)
{
    trial *m = context;
    const struct {
        uint64_t addr, size;
        void *host;
    } blocks[] = {{PROGRAM, sizeof m->words, m->words},
                  {DATA, sizeof m->data, m->data},
                  {UOPS, sizeof m->uops, m->uops}};
    for (int i = 0; i < 3; i++) {
        if (addr >= blocks[i].addr && size <= blocks[i].size &&
            addr - blocks[i].addr <= blocks[i].size - size) {
            return (uint8_t *)blocks[i].host + (addr - blocks[i].addr);
        }
    }
    return NULL;
}

/* ---- the reference ---- */

static void violate(uint32_t insn, vta_error error)
{
    ref.violations += !ref.violation[insn][error];
    ref.violation[insn][error] = true;
}

static void reads(uint32_t insn, int64_t thing)
{
    ref.reads[insn][thing] |= !ref.writes[insn][thing];
}

static void writes(uint32_t insn, int64_t thing)
{
    ref.writes[insn][thing] = true;
}

static int64_t parts(void)
{
    return t.config.block_in / t.config.block_out;
}

static void reads_inp(uint32_t insn, int64_t entry)
{
    for (int64_t part = 0; part < parts(); part++) {
        reads(insn, AT_INP + entry * PARTS + part);
    }
}

static bool in_range(uint32_t insn, int64_t index, int64_t depth, vta_error error)
{
    if (index >= depth) {
        violate(insn, error);
    }
    return index < depth;
}

/* One step; false ends the instruction. */
static bool step(uint32_t n, const vta_insn *insn, uint32_t k, int64_t i, int64_t j)
{
    const vta_uop uop = vta_uop_decode(&t.config, ref.uops[k]);
    int64_t dst = uop.dst;
    int64_t src = uop.src;
    bool dst_read = false;
    bool src_read = true;
    bool uses_src = true;
    switch ((vta_opcode)insn->opcode) {
    case VTA_OP_GEMM: {
        dst += i * insn->gemm.dst_out + j * insn->gemm.dst_in;
        src += i * insn->gemm.src_out + j * insn->gemm.src_in;
        const int64_t wgt = uop.aux + i * insn->gemm.wgt_out + j * insn->gemm.wgt_in;
        const bool first =
            k == insn->gemm.uop_begin || vta_uop_decode(&t.config, ref.uops[k - 1]).dst != uop.dst;
        dst_read = insn->gemm.reset == 0 && !(insn->gemm.init != 0 && first);
        if (!in_range(n, dst, 128, VTA_ERROR_ACC_RANGE)) {
            return false;
        }
        if (insn->gemm.reset == 0) {
            if (!in_range(n, src, 256, VTA_ERROR_INP_RANGE) || !in_range(n, wgt, 128, VTA_ERROR_WGT_RANGE)) {
                return false;
            }
            reads_inp(n, src);
            reads(n, AT_WGT + wgt);
        }
        src_read = false;
        break;
    }
    case VTA_OP_ALU:
        dst += i * insn->alu.dst_out + j * insn->alu.dst_in;
        src += i * insn->alu.src_out + j * insn->alu.src_in;
        dst_read = insn->alu.from_src == 0 && insn->alu.alu_op != VTA_ALU_MOV;
        src_read = insn->alu.use_imm == 0 || (insn->alu.from_src != 0 && insn->alu.alu_op != VTA_ALU_MOV);
        uses_src = insn->alu.use_imm == 0 || insn->alu.from_src != 0;
        if (insn->alu.alu_op == VTA_ALU_ROW) {
            dst_read = insn->alu.imm % 8 < 3; /* min, max, add */
        }
        break;
    case VTA_OP_REQUANT:
        dst += i * insn->requant.dst_out + j * insn->requant.dst_in;
        src += i * insn->requant.src_out + j * insn->requant.src_in;
        if (j == 0 && (i == 0 || insn->requant.by_row != 0)) {
            const int64_t size = insn->requant.wide != 0 ? 4 : 2;
            const int64_t last = uop.aux + (insn->requant.by_row != 0 ? insn->requant.iter_out - 1 : 0);
            if (!in_range(n, size * last + size - 1, 128, VTA_ERROR_ACC_RANGE)) {
                return false;
            }
            for (int64_t e = 0; e < size - (size == 4); e++) {
                reads(n, AT_ACC + size * (uop.aux + i) + e);
            }
        }
        if (insn->requant.to_inp != 0) {
            dst += 128 * insn->requant.dst_high;
            if (!in_range(n, dst, 256, VTA_ERROR_INP_RANGE) || !in_range(n, src, 128, VTA_ERROR_ACC_RANGE)) {
                return false;
            }
            reads(n, AT_ACC + src);
            writes(n, AT_INP + dst * PARTS + insn->requant.part);
            return true;
        }
        break;
    case VTA_OP_DEPTHWISE:
        dst += i * insn->depthwise.dst_out + j * insn->depthwise.dst_in;
        src += i * insn->depthwise.src_out + j * insn->depthwise.src_in;
        dst_read = insn->depthwise.init == 0;
        src_read = false;
        if (!in_range(n, dst, 128, VTA_ERROR_ACC_RANGE)) {
            return false;
        }
        for (int64_t r = 0; r < insn->depthwise.taps_y; r++) {
            for (int64_t c = 0; c < insn->depthwise.taps_x; c++) {
                const int64_t tap = src + r * insn->depthwise.row_step + c * insn->depthwise.col_step;
                if (!in_range(n, tap, 256, VTA_ERROR_INP_RANGE) ||
                    !in_range(n, uop.aux, 128, VTA_ERROR_WGT_RANGE)) {
                    return false;
                }
                reads_inp(n, tap);
                reads(n, AT_WGT + uop.aux);
            }
        }
        break;
    case VTA_OP_LOAD:
    case VTA_OP_STORE:
    case VTA_OP_FINISH:
    case VTA_OP_COUNT: return false;
    }
    if (!in_range(n, dst, 128, VTA_ERROR_ACC_RANGE)) {
        return false;
    }
    if (insn->opcode == VTA_OP_ALU || insn->opcode == VTA_OP_REQUANT) {
        if (uses_src && !in_range(n, src, 128, VTA_ERROR_ACC_RANGE)) {
            return false;
        }
        if (src_read) {
            reads(n, AT_ACC + src);
        }
    }
    if (dst_read) {
        reads(n, AT_ACC + dst);
    }
    writes(n, AT_ACC + dst);
    writes(n, AT_OUT + dst);
    return true;
}

static void run_nest(uint32_t n, const vta_insn *insn)
{
    int64_t begin =
        insn->gemm.uop_begin; /* the same place in GEMM, ALU and DEPTHWISE of this test: see below */
    int64_t end = insn->gemm.uop_end;
    int64_t out = insn->gemm.iter_out;
    int64_t in = insn->gemm.iter_in;
    if (insn->opcode == VTA_OP_ALU) {
        begin = insn->alu.uop_begin, end = insn->alu.uop_end, out = insn->alu.iter_out,
        in = insn->alu.iter_in;
    } else if (insn->opcode == VTA_OP_REQUANT) {
        begin = insn->requant.uop, end = begin + 1, out = insn->requant.iter_out, in = insn->requant.iter_in;
    } else if (insn->opcode == VTA_OP_DEPTHWISE) {
        begin = insn->depthwise.uop_begin, end = insn->depthwise.uop_end;
        out = insn->depthwise.iter_out, in = insn->depthwise.iter_in;
    }
    for (int64_t k = begin; out > 0 && in > 0 && k < end; k++) {
        reads(n, AT_UOP + k);
    }
    /* DEPTHWISE has k outermost, the others innermost. */
    const bool outermost = insn->opcode == VTA_OP_DEPTHWISE;
    for (int64_t k0 = outermost ? begin : 0; k0 < (outermost ? end : 1); k0++) {
        for (int64_t i = 0; i < out; i++) {
            for (int64_t j = 0; j < in; j++) {
                for (int64_t k = outermost ? k0 : begin; k < (outermost ? k0 + 1 : end); k++) {
                    if (!step(n, insn, (uint32_t)k, i, j)) {
                        return;
                    }
                }
            }
        }
    }
}

static void run_transfer(uint32_t n, const vta_insn *insn)
{
    static const int things[] = {AT_UOP, AT_WGT, AT_INP, AT_ACC, AT_OUT, AT_ACC, -1, AT_WGT};
    const bool is_load = insn->opcode == VTA_OP_LOAD;
    const int64_t bytes = t.config.elem_bytes[insn->mem.memory];
    int64_t entry = things[insn->mem.memory] + insn->mem.sram_base;
    for (int64_t y = -insn->mem.y_pad_0; insn->mem.x_size > 0 && y < insn->mem.y_size + insn->mem.y_pad_1;
         y++) {
        for (int64_t x = -insn->mem.x_pad_0; x < insn->mem.x_size + insn->mem.x_pad_1; x++, entry++) {
            const bool inside = y >= 0 && y < insn->mem.y_size && x >= 0 && x < insn->mem.x_size;
            const int64_t element = insn->mem.dram_base + y * insn->mem.x_stride + x;
            for (int64_t byte = 0; inside && insn->mem.memory != VTA_MEM_UOP && byte < bytes; byte++) {
                (is_load ? reads : writes)(n, AT_DRAM + element * bytes + byte);
            }
            for (int64_t part = 0; insn->mem.memory == VTA_MEM_INP && part < parts(); part++) {
                writes(n, AT_INP + (entry - AT_INP) * PARTS + part);
            }
            if (insn->mem.memory != VTA_MEM_INP) {
                (is_load ? writes : reads)(n, entry);
            }
            if (is_load && insn->mem.memory == VTA_MEM_UOP) {
                ref.uops[entry - AT_UOP] = inside ? t.uops[element] : 0;
            }
        }
    }
}

/* The queue that a flag means: L2C, C2L, C2S, S2C; -1 without the flag. */
static int pushes(const vta_insn *insn, int queue)
{
    const vta_unit unit = vta_insn_unit(insn);
    return (queue == 0 && unit == VTA_UNIT_LOAD && insn->push_next != 0) ||
           (queue == 1 && unit == VTA_UNIT_COMPUTE && insn->push_prev != 0) ||
           (queue == 2 && unit == VTA_UNIT_COMPUTE && insn->push_next != 0) ||
           (queue == 3 && unit == VTA_UNIT_STORE && insn->push_prev != 0);
}

static int pops(const vta_insn *insn, int queue)
{
    const vta_unit unit = vta_insn_unit(insn);
    return (queue == 0 && unit == VTA_UNIT_COMPUTE && insn->pop_prev != 0) ||
           (queue == 1 && unit == VTA_UNIT_LOAD && insn->pop_next != 0) ||
           (queue == 2 && unit == VTA_UNIT_STORE && insn->pop_prev != 0) ||
           (queue == 3 && unit == VTA_UNIT_COMPUTE && insn->pop_next != 0);
}

/* The instruction that gives the `number`-th token of a queue, or -1. */
static int giver(int queue, int number)
{
    for (uint32_t n = 0; n < t.count; n++) {
        if (pushes(&t.insns[n], queue) && number-- == 0) {
            return (int)n;
        }
    }
    return -1;
}

/* Edges of the order; also whether n can run, given those that do. */
static bool can_run(uint32_t n)
{
    const vta_unit unit = vta_insn_unit(&t.insns[n]);
    uint32_t unfinished[VTA_UNIT_COUNT] = {0};
    bool ok = true;
    for (uint32_t m = 0; m < n; m++) {
        /* Fetch passes m only when fewer than PLACES of its unit wait before it. */
        const vta_unit other = vta_insn_unit(&t.insns[m]);
        ok = ok && unfinished[other] < PLACES;
        unfinished[other] += !ref.runs[m];
    }
    ok = ok && unfinished[unit] == 0;
    for (int queue = 0; queue < 4; queue++) {
        if (pops(&t.insns[n], queue)) {
            int number = 0;
            for (uint32_t m = 0; m < n; m++) {
                number += pops(&t.insns[m], queue);
            }
            const int from = giver(queue, number);
            ok = ok && from >= 0 && ref.runs[from];
            if (from >= 0) {
                ref.before[from][n] = true;
            }
        }
    }
    for (uint32_t m = 0; m < t.count && t.insns[n].opcode == VTA_OP_FINISH; m++) {
        ok = ok && (m == n || ref.runs[m]);
    }
    return ok;
}

static void find_order(void)
{
    for (bool progress = true; progress;) {
        progress = false;
        for (uint32_t n = 0; n < t.count; n++) {
            if (!ref.runs[n] && can_run(n)) {
                ref.runs[n] = progress = true;
            }
        }
    }
    for (uint32_t n = 0; n < t.count; n++) {
        for (uint32_t m = 0; m < n; m++) {
            ref.before[m][n] |= vta_insn_unit(&t.insns[m]) == vta_insn_unit(&t.insns[n]);
        }
    }
    for (uint32_t k = 0; k < t.count; k++) {
        for (uint32_t i = 0; i < t.count; i++) {
            for (uint32_t j = 0; ref.before[i][k] && j < t.count; j++) {
                ref.before[i][j] |= ref.before[k][j];
            }
        }
    }
}

static void find_conflicts(uint32_t i, uint32_t j)
{
    if (!ref.runs[i] || !ref.runs[j] || ref.before[i][j] || ref.before[j][i]) {
        return;
    }
    for (uint32_t thing = 0; thing < THINGS; thing++) {
        const bool read_write = ref.reads[i][thing] && ref.writes[j][thing];
        const bool write_read = ref.writes[i][thing] && ref.reads[j][thing];
        if (read_write || write_read || (ref.writes[i][thing] && ref.writes[j][thing])) {
            violate(i, VTA_ERROR_UNORDERED);
            violate(j, VTA_ERROR_UNORDERED);
            return;
        }
    }
}

static void find_unwritten(uint32_t n)
{
    for (uint32_t thing = 0; ref.runs[n] && thing < AT_DRAM; thing++) {
        bool written = !ref.reads[n][thing];
        for (uint32_t m = 0; m < t.count; m++) {
            written = written || (ref.runs[m] && ref.before[m][n] && ref.writes[m][thing]);
        }
        if (!written) {
            violate(n, VTA_ERROR_UNWRITTEN);
        }
    }
}

static void find_token_errors(void)
{
    bool all = true;
    for (uint32_t n = 0; n < t.count; n++) {
        all = all && ref.runs[n];
    }
    for (uint32_t n = 0; n < t.count && !all; n++) {
        if (!ref.runs[n]) {
            violate(n, VTA_ERROR_DEADLOCK);
        }
    }
    for (int queue = 0; queue < 4 && all; queue++) {
        int tokens = 0;
        for (uint32_t n = 0; n < t.count; n++) {
            tokens += pushes(&t.insns[n], queue) - pops(&t.insns[n], queue);
        }
        if (tokens != 0) {
            violate(t.count - 1, VTA_ERROR_TOKENS_LEFT);
        }
    }
}

static void run_reference(void)
{
    memset(&ref, 0, sizeof ref);
    for (uint32_t n = 0; n < t.count; n++) {
        const vta_insn *insn = &t.insns[n];
        if (insn->opcode == VTA_OP_LOAD || insn->opcode == VTA_OP_STORE) {
            run_transfer(n, insn);
        } else if (insn->opcode != VTA_OP_FINISH) {
            run_nest(n, insn);
        }
    }
    find_order();
    for (uint32_t i = 0; i < t.count; i++) {
        find_unwritten(i);
        for (uint32_t j = 0; j < i; j++) {
            find_conflicts(i, j);
        }
    }
    find_token_errors();
}

/* ---- random programs ---- */

static void add(vta_insn insn)
{
    assert_true(t.count < INSNS);
    t.insns[t.count++] = insn;
}

/* Orders the newest instruction after the newest one before it in a neighbouring unit, most of the time. */
static void sync_with(rng *r, vta_unit other)
{
    vta_insn *to = &t.insns[t.count - 1];
    const vta_unit unit = vta_insn_unit(to);
    for (uint32_t n = t.count - 1; n-- > 0;) {
        vta_insn *from = &t.insns[n];
        if (vta_insn_unit(from) == other) {
            int64_t *push = other < unit ? &from->push_next : &from->push_prev;
            int64_t *pop = other < unit ? &to->pop_prev : &to->pop_next;
            if (*push == 0 && *pop == 0 && !rng_percent(r, 3)) {
                *push = *pop = 1;
            }
            return;
        }
    }
}

static vta_insn random_transfer(rng *r, vta_memory memory)
{
    const bool load = memory != VTA_MEM_OUT;
    return (vta_insn){.opcode = load ? VTA_OP_LOAD : VTA_OP_STORE,
                      .mem = {.memory = memory,
                              .sram_base = rng_below(r, 6),
                              .segment = memory == VTA_MEM_UOP,
                              .dram_base = rng_below(r, memory == VTA_MEM_OUT ? 12 : 5),
                              .y_size = rng_below(r, 3),
                              .x_size = rng_below(r, 4),
                              .x_stride = rng_below(r, 4),
                              .x_pad_1 = load ? rng_below(r, 2) : 0,
                              .y_pad_0 = load ? rng_below(r, 2) : 0}};
}

static vta_insn random_nest(rng *r)
{
    const int64_t begin = rng_below(r, 10);
    const int64_t end = begin + 1 + rng_below(r, 4);
    const int64_t out = rng_below(r, 20) == 0 ? 0 : 1 + rng_below(r, 3);
    const int64_t in = 1 + rng_below(r, 3);
    const int64_t a = rng_below(r, 3);
    const int64_t b = rng_below(r, 2);
    const int64_t c = rng_below(r, 3);
    const int64_t d = rng_below(r, 2);
    switch (rng_below(r, 8)) {
    case 0:
    case 1:
    case 2: {
        const bool reset = rng_percent(r, 20);
        return (vta_insn){.opcode = VTA_OP_GEMM,
                          .gemm = {.reset = reset,
                                   .init = !reset && rng_percent(r, 60),
                                   .uop_begin = begin,
                                   .uop_end = end,
                                   .iter_out = out,
                                   .iter_in = in,
                                   .dst_out = a,
                                   .dst_in = b,
                                   .src_out = c,
                                   .src_in = d,
                                   .wgt_out = rng_percent(r, 2) ? 100 : 0,
                                   .wgt_in = rng_below(r, 2)}};
    }
    case 3: {
        const bool to_inp = rng_percent(r, 45);
        return (vta_insn){.opcode = VTA_OP_REQUANT,
                          .requant = {.uop = begin,
                                      .iter_out = out,
                                      .iter_in = in,
                                      .dst_out = a,
                                      .dst_in = b,
                                      .src_out = c,
                                      .src_in = d,
                                      .by_row = rng_percent(r, 60),
                                      .long_result = !to_inp && rng_percent(r, 50),
                                      .wide = rng_percent(r, 40),
                                      .to_inp = to_inp,
                                      .part = to_inp ? rng_below(r, (uint32_t)parts()) : 0,
                                      .dst_high = to_inp && rng_percent(r, 5)}};
    }
    case 4:
        return (vta_insn){.opcode = VTA_OP_DEPTHWISE,
                          .depthwise = {.uop_begin = begin,
                                        .uop_end = end,
                                        .iter_out = out,
                                        .iter_in = in,
                                        .dst_out = a,
                                        .dst_in = b,
                                        .src_out = c,
                                        .src_in = d,
                                        .init = rng_percent(r, 70),
                                        .taps_x = rng_below(r, 3),
                                        .taps_y = rng_below(r, 3),
                                        .col_step = 1,
                                        .row_step = 2}};
    default: {
        if (rng_percent(r, 40)) {
            return (vta_insn){.opcode = VTA_OP_ALU,
                              .alu = {.uop_begin = begin,
                                      .uop_end = end,
                                      .iter_out = out,
                                      .iter_in = in,
                                      .dst_out = a,
                                      .dst_in = b,
                                      .src_out = c,
                                      .src_in = d,
                                      .use_imm = 1,
                                      .from_src = 1,
                                      .alu_op = VTA_ALU_ROW,
                                      .imm = rng_below(r, 8)}};
        }
        const int64_t imm = rng_percent(r, 70);
        return (vta_insn){.opcode = VTA_OP_ALU,
                          .alu = {.uop_begin = begin,
                                  .uop_end = end,
                                  .iter_out = out,
                                  .iter_in = in,
                                  .dst_out = a,
                                  .dst_in = b,
                                  .src_out = c,
                                  .src_in = d,
                                  .use_imm = imm,
                                  .from_src = imm && rng_percent(r, 50),
                                  .alu_op = rng_percent(r, 40) ? VTA_ALU_MOV : VTA_ALU_ADD}};
    }
    }
}

static void random_step(rng *r)
{
    const uint32_t kind = rng_below(r, 10);
    if (kind < 2) {
        const vta_memory weights = rng_percent(r, 30) ? VTA_MEM_WGT4 : VTA_MEM_WGT;
        add(random_transfer(r, kind == 0 ? VTA_MEM_INP : weights));
    } else if (kind == 2) {
        add(random_transfer(r, rng_percent(r, 50) ? VTA_MEM_ACC : VTA_MEM_ACC8));
    } else if (kind == 3) {
        add(random_transfer(r, VTA_MEM_UOP));
    } else if (kind < 6) {
        add(random_transfer(r, VTA_MEM_OUT));
    } else {
        add(random_nest(r));
    }
    const vta_unit unit = vta_insn_unit(&t.insns[t.count - 1]);
    if (unit != VTA_UNIT_COMPUTE) {
        if (rng_percent(r, 90)) {
            sync_with(r, VTA_UNIT_COMPUTE);
        }
    } else {
        if (rng_percent(r, 85)) {
            sync_with(r, VTA_UNIT_LOAD);
        }
        if (rng_percent(r, 85)) {
            sync_with(r, VTA_UNIT_STORE);
        }
    }
}

/* Everything that the random steps may read is written first, most of the time. */
static void random_program(rng *r)
{
    memset(&t, 0, sizeof t);
    assert_int_equal(vta_config_parse(config_texts[rng_below(r, PARTS)], "x", &t.config, NULL), VTA_OK);
    t.config.rows = t.config.wgt4 = 1;
    for (int i = 0; i < UOP_COUNT; i++) {
        const vta_uop uop = {
            .dst = rng_below(r, 6), .src = rng_below(r, 6), .aux = rng_below(r, rng_percent(r, 1) ? 90 : 4)};
        assert_int_equal(vta_uop_encode(&t.config, &uop, &t.uops[i], NULL), VTA_OK);
    }
    const int64_t few = rng_percent(r, 15) ? rng_below(r, 24) : 24;
    const int64_t few_acc = rng_percent(r, 60) ? rng_below(r, 6) : 24;
    const vta_memory memories[] = {VTA_MEM_UOP, VTA_MEM_ACC8, VTA_MEM_INP, VTA_MEM_WGT};
    for (int i = 0; i < 4; i++) {
        const int64_t count = memories[i] == VTA_MEM_UOP    ? UOP_COUNT
                              : memories[i] == VTA_MEM_ACC8 ? few_acc
                                                            : few;
        add((vta_insn){
            .opcode = VTA_OP_LOAD,
            .mem = {
                .memory = memories[i], .segment = memories[i] == VTA_MEM_UOP, .y_size = 1, .x_size = count}});
    }
    add((vta_insn){.opcode = VTA_OP_ALU,
                   .alu = {.alu_op = VTA_ALU_MOV,
                           .use_imm = 1,
                           .uop_begin = 0,
                           .uop_end = few_acc < 24 ? rng_below(r, 3) : 16,
                           .iter_out = 1,
                           .iter_in = 1 + rng_below(r, 3),
                           .dst_in = 1}});
    sync_with(r, VTA_UNIT_LOAD);
    for (uint32_t count = rng_below(r, 12); count > 0; count--) {
        random_step(r);
    }
    add((vta_insn){.opcode = VTA_OP_FINISH});
    for (uint32_t n = 0; n < t.count; n++) {
        if (rng_percent(r, 1)) {
            int64_t *flags[] = {&t.insns[n].pop_next, &t.insns[n].push_next};
            flags[rng_below(r, 2)][0] ^= vta_insn_unit(&t.insns[n]) == VTA_UNIT_COMPUTE;
        }
        vta_diag diag = {0};
        if (vta_insn_encode(&t.config, &t.insns[n], &t.words[n], &diag) != VTA_OK) {
            fail_msg("%s", diag.text);
        }
    }
}

static void agrees_with_reference(void **state)
{
    (void)state;
    const uint64_t seed = test_seed("isa_check_reference");
    enum { ROUNDS = 20000 };
    uint32_t accepted = 0;
    uint32_t found[32] = {0};
    for (uint32_t round = 0; round < ROUNDS; round++) {
        rng r = rng_split(seed, round);
        random_program(&r);
        run_reference();
        const vta_launch launch = {.insn_addr = PROGRAM, .insn_count = t.count, .base = {DATA, UOPS}};
        const vta_bus bus = {trial_map, &t};
        vta_violation violation;
        vta_diag diag = {0};
        const vta_status status = vta_check(&t.config, &launch, &bus, &violation, &diag);
        if (status == VTA_OK) {
            accepted++;
            if (ref.violations != 0) {
                fail_msg("round %u: accepted, but the reference finds %u violations", round, ref.violations);
            }
        } else {
            assert_int_equal(status, VTA_ILLEGAL_PROGRAM);
            found[violation.error]++;
            if (!ref.violation[violation.insn][violation.error]) {
                fail_msg("round %u: %s", round, diag.text);
            }
        }
    }
    print_message("%u accepted, %u unwritten, %u unordered, %u deadlocks, %u left over, %u out of range\n",
                  accepted, found[VTA_ERROR_UNWRITTEN], found[VTA_ERROR_UNORDERED], found[VTA_ERROR_DEADLOCK],
                  found[VTA_ERROR_TOKENS_LEFT],
                  found[VTA_ERROR_ACC_RANGE] + found[VTA_ERROR_INP_RANGE] + found[VTA_ERROR_WGT_RANGE]);
    assert_true(accepted > ROUNDS / 20);
    assert_true(found[VTA_ERROR_UNWRITTEN] > 100 && found[VTA_ERROR_UNORDERED] > 100 &&
                found[VTA_ERROR_DEADLOCK] > 100);
    assert_true(found[VTA_ERROR_TOKENS_LEFT] > 20 && found[VTA_ERROR_WGT_RANGE] > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_reference)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
