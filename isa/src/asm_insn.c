/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions as text. What is written out is laid over the defaults; every field of isa.def can also be set
 * by its name, after `with`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "asm_operand.h"
#include "vta/vec.h"

/* Fields of each format's loop nest. */
#define NEST(format)                                                                                         \
    {ROW(format, iter_out), ROW(format, iter_in)}, {ROW(format, dst_out), ROW(format, dst_in)},              \
    {                                                                                                        \
        ROW(format, src_out), ROW(format, src_in)                                                            \
    }
static const nest_rows gemm_rows = {
    ROW(GEMM, uop_begin), ROW(GEMM, uop_end), NEST(GEMM), {ROW(GEMM, wgt_out), ROW(GEMM, wgt_in)}};
static const nest_rows alu_rows = {ROW(ALU, uop_begin), ROW(ALU, uop_end), NEST(ALU), {-1, -1}};
static const nest_rows requant_rows = {ROW(REQUANT, uop), -1, NEST(REQUANT), {-1, -1}};
static const nest_rows depthwise_rows = {
    ROW(DEPTHWISE, uop_begin), ROW(DEPTHWISE, uop_end), NEST(DEPTHWISE), {-1, -1}};
int64_t vta_field_low(const vta_field_info *field)
{
    return field->width == 64 ? INT64_MIN : field->sign == 'S' ? -(INT64_C(1) << (field->width - 1)) : 0;
}

int64_t vta_field_high(const vta_field_info *field)
{
    if (field->width >= 63) {
        return INT64_MAX;
    }
    return (INT64_C(1) << (field->sign == 'S' ? field->width - 1 : field->width)) - 1;
}

void vta_insn_defaults(vta_insn *insn, int64_t opcode)
{
    *insn = (vta_insn){.opcode = opcode};
    switch ((vta_opcode)opcode) {
    case VTA_OP_STORE: insn->mem.memory = VTA_MEM_OUT; break;
    case VTA_OP_GEMM: insn->gemm.iter_out = insn->gemm.iter_in = 1; break;
    case VTA_OP_ALU: insn->alu.iter_out = insn->alu.iter_in = 1; break;
    case VTA_OP_REQUANT:
        insn->requant.iter_out = insn->requant.iter_in = 1;
        insn->requant.low = INT8_MIN;
        insn->requant.high = INT8_MAX;
        break;
    case VTA_OP_DEPTHWISE: insn->depthwise.iter_out = insn->depthwise.iter_in = 1; break;
    case VTA_OP_LOAD:
    case VTA_OP_FINISH:
    case VTA_OP_COUNT: break;
    }
}

/* ---- options: what follows a comma */

static vta_status transfer_option(draft *d)
{
    bool took = false;
    VTA_TRY(vta_take_word(d->a, "stride", &took));
    if (took) {
        return vta_draft_read(d, ROW(MEM, x_stride));
    }
    const bool load = d->insn.opcode == VTA_OP_LOAD;
    VTA_TRY(load ? vta_take_word(d->a, "pad", &took) : VTA_OK);
    if (took) {
        return vta_draft_pad(d);
    }
    VTA_TRY(load ? vta_take_word(d->a, "value", &took) : VTA_OK);
    if (took) {
        int64_t value = 0;
        VTA_TRY(vta_expr_within(d->a, "pad value", INT8_MIN, INT8_MAX, &value));
        vta_insn_set_pad_value(&d->insn, (int32_t)value);
        return VTA_OK;
    }
    return vta_asm_expected(d->a, load ? "'stride', 'pad' or 'value'" : "'stride'");
}

static vta_status requant_rounding(draft *d)
{
    for (int64_t mode = 0; mode < VTA_ROUND_COUNT; mode++) {
        bool took = false;
        VTA_TRY(vta_take_word(d->a, vta_rounding_name(mode), &took));
        if (took) {
            d->insn.requant.rounding = mode;
            return VTA_OK;
        }
    }
    return vta_asm_expected(d->a, "'even', 'up', 'twice_up' or 'twice_out'");
}

static vta_status requant_target(draft *d)
{
    bool took = false;
    VTA_TRY(vta_take_word(d->a, vta_memory_name(VTA_MEM_INP), &took));
    d->insn.requant.to_inp = took;
    return took ? VTA_OK : vta_asm_expected(d->a, "'inp'");
}

static vta_status requant_zero(draft *d)
{
    return vta_draft_read(d, ROW(REQUANT, zero_point));
}

static vta_status requant_wide(draft *d)
{
    d->insn.requant.wide = 1;
    return VTA_OK;
}

static vta_status requant_table(draft *d)
{
    VTA_TRY(vta_draft_read(d, ROW(REQUANT, table)));
    d->insn.requant.table++;
    return VTA_OK;
}

static vta_status requant_part(draft *d)
{
    return vta_draft_read(d, ROW(REQUANT, part));
}

/* by row */
static vta_status requant_by_row(draft *d)
{
    bool took = false;
    VTA_TRY(vta_take_word(d->a, "row", &took));
    d->insn.requant.by_row = took;
    return took ? VTA_OK : vta_asm_expected(d->a, "'row'");
}

static vta_status requant_clip(draft *d)
{
    VTA_TRY(vta_draft_read(d, ROW(REQUANT, low)));
    VTA_TRY(vta_need_mark(d->a, VTA_MARK2('.', '.'), "'..' and the largest result"));
    return vta_draft_read(d, ROW(REQUANT, high));
}

static vta_status requant_option(draft *d)
{
    static const struct {
        const char *name;
        vta_status (*read)(draft *d);
    } options[] = {{"zero", requant_zero},   {"wide", requant_wide}, {"round", requant_rounding},
                   {"table", requant_table}, {"to", requant_target}, {"part", requant_part},
                   {"clip", requant_clip},   {"by", requant_by_row}};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        bool took = false;
        VTA_TRY(vta_take_word(d->a, options[i].name, &took));
        if (took) {
            return options[i].read(d);
        }
    }
    return vta_asm_expected(d->a, "'zero', 'clip', 'round', 'wide', 'table', 'to', 'part' or 'by'");
}

static vta_status depthwise_option(draft *d)
{
    static const member options[] = {{"col", ROW(DEPTHWISE, col_step)},
                                     {"row", ROW(DEPTHWISE, row_step)},
                                     {"group", ROW(DEPTHWISE, group)}};
    bool took = false;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        VTA_TRY(vta_take_word(d->a, options[i].name, &took));
        if (took) {
            return vta_draft_read(d, options[i].row);
        }
    }
    VTA_TRY(vta_take_word(d->a, "taps", &took));
    if (!took) {
        return vta_asm_expected(d->a, "'taps', 'col', 'row' or 'group'");
    }
    VTA_TRY(vta_draft_read(d, ROW(DEPTHWISE, taps_x)));
    VTA_TRY(vta_take_word(d->a, "x", &took));
    if (!took) {
        return vta_asm_expected(d->a, "'x' and the window's rows");
    }
    return vta_draft_read(d, ROW(DEPTHWISE, taps_y));
}

static vta_status options(draft *d, vta_status (*option)(draft *d))
{
    for (;;) {
        bool took = false;
        VTA_TRY(vta_take_mark(d->a, ',', &took));
        if (!took) {
            return VTA_OK;
        }
        VTA_TRY(option(d));
    }
}

/* ---- mnemonics */

/* The part of a mnemonic after its first dot. */
static vta_token suffix_of(const draft *d)
{
    vta_token suffix = d->mnemonic;
    const char *text = d->a->text + suffix.start;
    const char *dot = memchr(text, '.', suffix.size);
    const size_t skip = dot == NULL ? suffix.size : (size_t)(dot - text) + 1;
    suffix.start += skip;
    suffix.size -= skip;
    return suffix;
}

static bool suffix_is(const draft *d, const char *word)
{
    const vta_token suffix = suffix_of(d);
    return suffix.size == strlen(word) && memcmp(d->a->text + suffix.start, word, suffix.size) == 0;
}

static vta_status bad_suffix(const draft *d, const char *wanted)
{
    char shown[VTA_SHOWN];
    return vta_asm_fail(d->a, &d->mnemonic, "unknown instruction %s; expected %s",
                        vta_asm_show(d->a, &d->mnemonic, shown), wanted);
}

/* load.uop KERNEL: to the kernel's own place. */
static vta_status load_kernel(draft *d, bool *done)
{
    vta_asm *a = d->a;
    const vta_token at = a->lex.token;
    const vta_name *name = vta_names_symbol(a);
    *done = d->insn.mem.memory == VTA_MEM_UOP && name != NULL && name->kind == VTA_NAME_KERNEL;
    if (!*done) {
        return VTA_OK;
    }
    int64_t begin = 0;
    int64_t end = 0;
    int64_t whole = 0;
    VTA_TRY(vta_draft_kernel(d, name, &at, &begin, &end));
    VTA_TRY(vta_draft_set(d, ROW(MEM, sram_base), begin, &at));
    VTA_TRY(vta_draft_dram(d, &whole));
    VTA_TRY(vta_draft_set(d, ROW(MEM, y_size), 1, &at));
    VTA_TRY(vta_draft_set(d, ROW(MEM, x_size), whole, &at));
    return vta_draft_set(d, ROW(MEM, x_stride), whole, &at);
}

/* SRAM, DRAM [, WIDTH [x HEIGHT]] [, options] */
static vta_status transfer(draft *d)
{
    vta_asm *a = d->a;
    bool done = false;
    VTA_TRY(load_kernel(d, &done));
    if (done) {
        return VTA_OK;
    }
    int64_t whole = 0;
    VTA_TRY(vta_draft_read(d, ROW(MEM, sram_base)));
    VTA_TRY(vta_need_mark(a, ',', "',' and a DRAM address"));
    const vta_token at = a->lex.token;
    VTA_TRY(vta_draft_dram(d, &whole));
    VTA_TRY(vta_draft_extent(d, whole, &at));
    return options(d, transfer_option);
}

static vta_status load(draft *d)
{
    const vta_token suffix = suffix_of(d);
    vta_memory memory = VTA_MEM_UOP;
    if (vta_asm_memory(&suffix, d->a, &memory) != VTA_OK || memory == VTA_MEM_OUT) {
        return bad_suffix(d, "load.uop, load.wgt, load.wgt4, load.inp, load.acc, load.acc8 or load.tab");
    }
    d->insn.mem.memory = memory;
    return transfer(d);
}

static vta_status store(draft *d)
{
    return suffix_of(d).size == 0 ? transfer(d) : bad_suffix(d, "store");
}

static vta_status gemm(draft *d)
{
    d->insn.gemm.reset = suffix_is(d, "reset");
    d->insn.gemm.init = suffix_is(d, "init");
    if (suffix_of(d).size != 0 && d->insn.gemm.reset == 0 && d->insn.gemm.init == 0) {
        return bad_suffix(d, "gemm, gemm.init or gemm.reset");
    }
    VTA_TRY(vta_draft_micro_ops(d, &gemm_rows));
    return vta_draft_nest(d, &gemm_rows);
}

/* Of a function on rows: places N, or a form by its name. */
static vta_status row_option(draft *d)
{
    vta_row row = vta_row_of(d->insn.alu.imm);
    bool took = false;
    VTA_TRY(vta_take_word(d->a, "places", &took));
    if (took) {
        int64_t places = 0;
        VTA_TRY(vta_expr_within(d->a, "places", 0, 63, &places));
        row.places = (uint32_t)places;
    }
    for (uint32_t form = 0; form < VTA_ROW_FORM_COUNT && !took; form++) {
        VTA_TRY(vta_take_word(d->a, vta_row_form_name(form), &took));
        row.form = took ? form : row.form;
    }
    d->insn.alu.imm = vta_row_imm(row);
    return took ? VTA_OK : vta_asm_expected(d->a, "'places', 'scale', 'multiplier' or 'shift'");
}

/* A function on rows; false where the mnemonic names none. */
static bool names_row(draft *d)
{
    for (uint32_t function = 0; function < VTA_ROW_COUNT; function++) {
        if (suffix_is(d, vta_row_name(function))) {
            d->insn.alu.alu_op = VTA_ALU_ROW;
            d->insn.alu.use_imm = d->insn.alu.from_src = 1;
            d->insn.alu.imm = vta_row_imm((vta_row){.function = function});
            return true;
        }
    }
    return false;
}

static vta_status alu_row(draft *d)
{
    VTA_TRY(vta_draft_micro_ops(d, &alu_rows));
    VTA_TRY(options(d, row_option));
    return vta_draft_nest(d, &alu_rows);
}

static vta_status alu(draft *d)
{
    enum { PLAIN = VTA_ALU_ROW }; /* the operations before it */
    bool known = false;
    if (names_row(d)) {
        return alu_row(d);
    }
    for (int64_t operation = 0; operation < PLAIN; operation++) {
        const char *name = vta_alu_op_name(operation);
        char three[16];
        (void)snprintf(three, sizeof three, "%s.src", name);
        if (suffix_is(d, name) || suffix_is(d, three)) {
            d->insn.alu.alu_op = operation;
            d->insn.alu.from_src = suffix_is(d, three);
            known = true;
        }
    }
    if (!known) {
        return bad_suffix(d, "alu.min, alu.max, alu.add, alu.shr, alu.mul, alu.clip, alu.mov, alu.row_min, "
                             "alu.row_max, alu.row_add, alu.row_mov, alu.exp2, alu.root, alu.recip or "
                             "alu.recip_root");
    }
    bool immediate = false;
    VTA_TRY(vta_draft_micro_ops(d, &alu_rows));
    VTA_TRY(vta_take_mark(d->a, ',', &immediate));
    d->insn.alu.use_imm = immediate;
    VTA_TRY(immediate ? vta_draft_read(d, ROW(ALU, imm)) : VTA_OK);
    return vta_draft_nest(d, &alu_rows);
}

static vta_status requant(draft *d)
{
    d->insn.requant.long_result = suffix_is(d, "long");
    if (suffix_of(d).size != 0 && d->insn.requant.long_result == 0) {
        return bad_suffix(d, "requant or requant.long");
    }
    if (d->insn.requant.long_result != 0) {
        d->insn.requant.low = d->insn.requant.high = 0;
    }
    VTA_TRY(vta_draft_micro_ops(d, &requant_rows));
    VTA_TRY(options(d, requant_option));
    return vta_draft_nest(d, &requant_rows);
}

static vta_status depthwise(draft *d)
{
    d->insn.depthwise.init = suffix_is(d, "init");
    if (suffix_of(d).size != 0 && d->insn.depthwise.init == 0) {
        return bad_suffix(d, "depthwise or depthwise.init");
    }
    VTA_TRY(vta_draft_micro_ops(d, &depthwise_rows));
    VTA_TRY(options(d, depthwise_option));
    return vta_draft_nest(d, &depthwise_rows);
}

static vta_status finish(draft *d)
{
    return suffix_of(d).size == 0 ? VTA_OK : bad_suffix(d, "finish");
}

/* nop.UNIT: a transfer of nothing, for its tokens. */
static vta_status nop(draft *d)
{
    if (suffix_is(d, "store")) {
        vta_insn_defaults(&d->insn, VTA_OP_STORE);
        return VTA_OK;
    }
    if (!suffix_is(d, "load") && !suffix_is(d, "compute")) {
        return bad_suffix(d, "nop.load, nop.compute or nop.store");
    }
    d->insn.mem.memory = suffix_is(d, "load") ? VTA_MEM_INP : VTA_MEM_UOP;
    return VTA_OK;
}

/* ---- around the operands: token flags, and fields by name */

/* pop | push, then prev and next in any number, then [if EXPRESSION] */
static vta_status flag(draft *d)
{
    vta_asm *a = d->a;
    bool pop = false;
    bool push = false;
    bool prev = false;
    bool next = false;
    bool condition = false;
    VTA_TRY(vta_take_word(a, "pop", &pop));
    VTA_TRY(pop ? VTA_OK : vta_take_word(a, "push", &push));
    if (!pop && !push) {
        return vta_asm_expected(a, "'pop' or 'push'");
    }
    VTA_TRY(vta_take_word(a, "prev", &prev));
    VTA_TRY(vta_take_word(a, "next", &next));
    if (!prev && !next) {
        return vta_asm_expected(a, "'prev' or 'next'");
    }
    VTA_TRY(vta_take_word(a, "if", &condition));
    int64_t value = 1;
    VTA_TRY(condition ? vta_expr(a, &value) : VTA_OK);
    if (value != 0) {
        d->insn.pop_prev |= pop && prev;
        d->insn.pop_next |= pop && next;
        d->insn.push_prev |= push && prev;
        d->insn.push_next |= push && next;
    }
    return VTA_OK;
}

static vta_status flags(draft *d)
{
    bool took = false;
    VTA_TRY(vta_take_mark(d->a, '[', &took));
    while (took) {
        VTA_TRY(flag(d));
        VTA_TRY(vta_take_mark(d->a, ',', &took));
        if (!took) {
            return vta_need_mark(d->a, ']', "',' or ']'");
        }
    }
    return VTA_OK;
}

static const char *format_name(int64_t opcode)
{
    static const char *const names[] = {
#define VTA_OPCODE(id, value, format, mnemonic, doc) [(value)] = #format,
#include "vta/isa.def"
    };
    return names[opcode];
}

/* The row of the current token in isa.def, among the fields of the instruction's format; -1 if there is none.
 */
static int row_here(const draft *d)
{
    const vta_asm *a = d->a;
    for (int row = 0; row < VTA_FIELD_COUNT; row++) {
        if (strcmp(a->fields[row].format, format_name(d->insn.opcode)) == 0 &&
            vta_at_word(a, a->fields[row].member)) {
            return row;
        }
    }
    return -1;
}

/* FIELD VALUE, by the name in isa.def. */
static vta_status field_by_name(draft *d)
{
    vta_asm *a = d->a;
    const vta_token name = a->lex.token;
    const int row = row_here(d);
    char shown[VTA_SHOWN];
    if (row < 0) {
        return vta_asm_fail(a, &name, "%s is no field of %s; 'isa.def' lists them",
                            vta_asm_show(a, &name, shown), vta_opcode_name(d->insn.opcode));
    }
    VTA_TRY(vta_lex_next(a));
    if (a->fields[row].width == 64 && a->lex.token.kind == VTA_TOKEN_NUMBER) {
        vta_field_set(&a->fields[row], &d->insn, (int64_t)a->lex.token.value);
        return vta_lex_next(a);
    }
    return vta_draft_read(d, row);
}

static vta_status named_fields(draft *d)
{
    bool took = false;
    VTA_TRY(vta_take_word(d->a, "with", &took));
    while (took) {
        VTA_TRY(field_by_name(d));
        VTA_TRY(vta_take_mark(d->a, ',', &took));
    }
    return VTA_OK;
}

static const struct {
    const char *name;
    int64_t opcode;
    vta_status (*operands)(draft *d);
} mnemonics[] = {
    {"load", VTA_OP_LOAD, load},          {"store", VTA_OP_STORE, store},
    {"gemm", VTA_OP_GEMM, gemm},          {"alu", VTA_OP_ALU, alu},
    {"requant", VTA_OP_REQUANT, requant}, {"depthwise", VTA_OP_DEPTHWISE, depthwise},
    {"finish", VTA_OP_FINISH, finish},    {"nop", VTA_OP_LOAD, nop},
};

/* The row of `mnemonics` for the stem of the mnemonic, or -1. */
static int mnemonic_row(const draft *d)
{
    const size_t suffix = suffix_of(d).size;
    const size_t stem = d->mnemonic.size - suffix - (suffix > 0 ? 1 : 0);
    for (size_t i = 0; i < sizeof mnemonics / sizeof mnemonics[0]; i++) {
        if (stem == strlen(mnemonics[i].name) &&
            memcmp(d->a->text + d->mnemonic.start, mnemonics[i].name, stem) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static vta_status operands(draft *d)
{
    vta_asm *a = d->a;
    char shown[VTA_SHOWN];
    const vta_insn flagged = d->insn;
    d->mnemonic = a->lex.token;
    if (d->mnemonic.kind != VTA_TOKEN_NAME) {
        return vta_asm_expected(a, "an instruction");
    }
    const int row = mnemonic_row(d);
    if (row < 0) {
        return vta_asm_fail(
            a, &d->mnemonic,
            "unknown instruction %s; expected load, store, gemm, alu, requant, depthwise, finish or nop",
            vta_asm_show(a, &d->mnemonic, shown));
    }
    VTA_TRY(vta_lex_next(a));
    vta_insn_defaults(&d->insn, mnemonics[row].opcode);
    VTA_TRY(mnemonics[row].operands(d));
    d->insn.pop_prev = flagged.pop_prev;
    d->insn.pop_next = flagged.pop_next;
    d->insn.push_prev = flagged.push_prev;
    d->insn.push_next = flagged.push_next;
    return VTA_OK;
}

static vta_status append(vta_asm *a, vta_word word, const vta_token *at)
{
    vta_program *program = a->program;
    const size_t count = program->insn_count;
    if (count >= VTA_PROGRAM_INSNS_MAX) {
        return vta_asm_fail(a, at, "too many instructions; limit: %d", VTA_PROGRAM_INSNS_MAX);
    }
    vta_word *insns = vta_grow(program->insns, &a->insn_capacity, count + 1, sizeof *insns);
    program->insns = insns == NULL ? program->insns : insns;
    uint32_t *lines = vta_grow(program->lines, &a->line_capacity, count + 1, sizeof *lines);
    program->lines = lines == NULL ? program->lines : lines;
    uint32_t *tags = vta_grow(program->tags, &a->tag_capacity, count + 1, sizeof *tags);
    program->tags = tags == NULL ? program->tags : tags;
    if (insns == NULL || lines == NULL || tags == NULL) {
        return vta_fail(a->diag, VTA_NOMEM, "out of memory for instructions");
    }
    program->insns[count] = word;
    program->lines[count] = at->line;
    program->tags[count] = a->tag;
    program->insn_count++;
    return VTA_OK;
}

vta_status vta_asm_insn(vta_asm *a)
{
    draft d = {.a = a};
    vta_word word = {0};
    vta_diag why = {0};
    VTA_TRY(flags(&d));
    VTA_TRY(operands(&d));
    VTA_TRY(named_fields(&d));
    VTA_TRY(flags(&d));
    if (vta_insn_encode(&a->config, &d.insn, &word, &why) != VTA_OK) {
        return vta_asm_fail(a, &d.mnemonic, "%s", why.text);
    }
    return append(a, word, &d.mnemonic);
}

vta_status vta_asm_insn_bits(vta_asm *a)
{
    const vta_token at = a->lex.token;
    vta_word word = {0};
    for (int half = 0; half < 2; half++) {
        if (a->lex.token.kind != VTA_TOKEN_NUMBER) {
            return vta_asm_expected(a, half == 0 ? "the low 64 bits of the instruction" : "its high 64 bits");
        }
        word.w[half] = a->lex.token.value;
        VTA_TRY(vta_lex_next(a));
    }
    return append(a, word, &at);
}

vta_status vta_asm_tag(vta_asm *a)
{
    int64_t tag = 0;
    VTA_TRY(vta_expr_within(a, "tag", 0, UINT32_MAX, &tag));
    a->tag = (uint32_t)tag;
    a->tagged = true;
    return VTA_OK;
}
