/* SPDX-License-Identifier: Apache-2.0
 *
 * The disassembler. Each printer writes the readable part of an instruction and records in `shown` what that
 * text says; whatever still differs is written by field name. So the text assembles back to the same bits, by
 * construction.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asm_internal.h"
#include "vta/str.h"

typedef struct printer {
    const vta_config *config;
    vta_field_info fields[VTA_FIELD_COUNT];
    vta_str out;
    vta_symbol_ref *sorted; /* by segment and offset; NULL without a program */
    uint32_t symbol_count;
    vta_symbol_ref *kernel_at; /* by scratchpad entry: the kernel last loaded there */
} printer;

/* ---- symbols */

/* The symbol that holds a byte of a segment, or NULL. */
static const vta_symbol *symbol_at(const printer *p, int64_t segment, uint64_t byte)
{
    uint32_t low = 0;
    uint32_t high = p->symbol_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const vta_symbol *s = p->sorted[middle].symbol;
        const bool before = s->segment != segment ? s->segment < segment : s->offset + s->size <= byte;
        if (before) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const vta_symbol *found = low < p->symbol_count ? p->sorted[low].symbol : NULL;
    return found != NULL && found->segment == segment && found->offset <= byte ? found : NULL;
}

static void print_name(printer *p, const vta_symbol *symbol)
{
    vta_str_printf(&p->out, vta_name_is_bare(symbol->name) ? "%s" : "\"%s\"", symbol->name);
}

static void print_address(printer *p, const vta_insn *insn)
{
    const uint64_t bytes = p->config->elem_bytes[insn->mem.memory];
    const uint64_t at = (uint64_t)insn->mem.dram_base * bytes;
    const vta_symbol *symbol = insn->mem.x_size > 0 ? symbol_at(p, insn->mem.segment, at) : NULL;
    if (symbol != NULL && symbol->offset % bytes == 0) {
        print_name(p, symbol);
        if (at > symbol->offset) {
            vta_str_printf(&p->out, "+%" PRIu64, (at - symbol->offset) / bytes);
        }
    } else if (insn->mem.segment == 0) {
        vta_str_printf(&p->out, "%" PRId64, insn->mem.dram_base);
    } else {
        vta_str_printf(&p->out, "@%" PRId64, insn->mem.segment);
        if (insn->mem.dram_base != 0) {
            vta_str_printf(&p->out, "+%" PRId64, insn->mem.dram_base);
        }
    }
}

/* ---- parts of an instruction */

static void print_pads(printer *p, const vta_insn *insn)
{
    const struct {
        const char *name;
        int64_t rows;
    } sides[] = {{"top", insn->mem.y_pad_0},
                 {"bottom", insn->mem.y_pad_1},
                 {"left", insn->mem.x_pad_0},
                 {"right", insn->mem.x_pad_1}};
    const int64_t first = sides[0].rows;
    if (first == sides[1].rows && first == sides[2].rows && first == sides[3].rows) {
        if (first != 0) {
            vta_str_printf(&p->out, ", pad %" PRId64, first);
        }
        return;
    }
    const char *between = ", pad (";
    for (size_t i = 0; i < 4; i++) {
        if (sides[i].rows != 0) {
            vta_str_printf(&p->out, "%s%s %" PRId64, between, sides[i].name, sides[i].rows);
            between = ", ";
        }
    }
    vta_str_put(&p->out, ")");
}

static void show_pads(vta_insn *shown, const vta_insn *insn)
{
    shown->mem.y_pad_0 = insn->mem.y_pad_0;
    shown->mem.y_pad_1 = insn->mem.y_pad_1;
    shown->mem.x_pad_0 = insn->mem.x_pad_0;
    shown->mem.x_pad_1 = insn->mem.x_pad_1;
    shown->mem.pad_low = insn->mem.pad_low;
    shown->mem.pad_high = insn->mem.pad_high;
}

/* load.compute and the like: a transfer of nothing with nothing else set. */
static bool print_nop(printer *p, const vta_insn *insn, vta_insn *shown)
{
    static const char *const units[VTA_UNIT_COUNT] = {NULL, "nop.load", "nop.compute", "nop.store"};
    const vta_unit unit = vta_insn_unit(insn);
    vta_insn plain;
    vta_insn_defaults(&plain, insn->opcode);
    if (insn->opcode == VTA_OP_LOAD) {
        plain.mem.memory = unit == VTA_UNIT_LOAD ? VTA_MEM_INP : VTA_MEM_UOP;
    }
    if (memcmp(&plain.mem, &insn->mem, sizeof plain.mem) != 0) {
        return false;
    }
    *shown = plain;
    vta_str_put(&p->out, units[unit]);
    return true;
}

static void print_transfer(printer *p, const vta_insn *insn, vta_insn *shown)
{
    const bool load = insn->opcode == VTA_OP_LOAD;
    if (print_nop(p, insn, shown)) {
        return;
    }
    if (load) {
        shown->mem.memory = insn->mem.memory;
        vta_str_printf(&p->out, "load.%s", vta_memory_name(insn->mem.memory));
    } else {
        vta_str_put(&p->out, "store");
    }
    vta_str_printf(&p->out, " %" PRId64 ", ", insn->mem.sram_base);
    print_address(p, insn);
    vta_str_printf(&p->out, ", %" PRId64, insn->mem.x_size);
    if (insn->mem.y_size != 1) {
        vta_str_printf(&p->out, " x %" PRId64, insn->mem.y_size);
    }
    if (insn->mem.x_stride != insn->mem.x_size) {
        vta_str_printf(&p->out, ", stride %" PRId64, insn->mem.x_stride);
    }
    shown->mem.sram_base = insn->mem.sram_base;
    shown->mem.segment = insn->mem.segment;
    shown->mem.dram_base = insn->mem.dram_base;
    shown->mem.x_size = insn->mem.x_size;
    shown->mem.y_size = insn->mem.y_size;
    shown->mem.x_stride = insn->mem.x_stride;
    if (load) {
        print_pads(p, insn);
        if (vta_insn_pad_value(insn) != 0) {
            vta_str_printf(&p->out, ", value %" PRId32, vta_insn_pad_value(insn));
        }
        show_pads(shown, insn);
    }
}

static void print_micro_ops(printer *p, int64_t begin, int64_t end)
{
    vta_str_printf(&p->out, " %" PRId64, begin);
    if (end != begin + 1) {
        vta_str_printf(&p->out, "..%" PRId64, end);
    }
}

/* One level of a nest: its count and the steps that it has; a negative step does not exist in the format. */
typedef struct level {
    int64_t count, dst, src, wgt;
} level;

static bool is_plain(const level *l)
{
    return l->count == 1 && l->dst == 0 && l->src == 0 && l->wgt <= 0;
}

static void print_level(printer *p, const level *l)
{
    const struct {
        const char *name;
        int64_t step;
    } steps[] = {{"dst", l->dst}, {"src", l->src}, {"wgt", l->wgt}};
    const char *between = " (";
    vta_str_printf(&p->out, "%" PRId64, l->count);
    for (size_t i = 0; i < 3; i++) {
        if (steps[i].step > 0) {
            vta_str_printf(&p->out, "%s%s %" PRId64, between, steps[i].name, steps[i].step);
            between = ", ";
        }
    }
    vta_str_put(&p->out, strcmp(between, ", ") == 0 ? ")" : "");
}

static void print_nest(printer *p, level outer, level inner)
{
    if (is_plain(&outer) && is_plain(&inner)) {
        return;
    }
    vta_str_put(&p->out, " : ");
    print_level(p, &outer);
    if (!is_plain(&inner)) {
        vta_str_put(&p->out, " x ");
        print_level(p, &inner);
    }
}

static void print_gemm(printer *p, const vta_insn *insn, vta_insn *shown)
{
    vta_str_put(&p->out, insn->gemm.reset ? "gemm.reset" : insn->gemm.init ? "gemm.init" : "gemm");
    print_micro_ops(p, insn->gemm.uop_begin, insn->gemm.uop_end);
    print_nest(p, (level){insn->gemm.iter_out, insn->gemm.dst_out, insn->gemm.src_out, insn->gemm.wgt_out},
               (level){insn->gemm.iter_in, insn->gemm.dst_in, insn->gemm.src_in, insn->gemm.wgt_in});
    shown->gemm = insn->gemm;
}

static void print_row(printer *p, const vta_insn *insn)
{
    const vta_row row = vta_row_of(insn->alu.imm);
    vta_str_printf(&p->out, "alu.%s", vta_row_name(row.function));
    print_micro_ops(p, insn->alu.uop_begin, insn->alu.uop_end);
    if (row.places != 0) {
        vta_str_printf(&p->out, ", places %" PRIu32, row.places);
    }
    if (row.form != VTA_ROW_FORM_SCALE) {
        vta_str_printf(&p->out, ", %s", vta_row_form_name(row.form));
    }
}

static void print_plain_alu(printer *p, const vta_insn *insn)
{
    vta_str_printf(&p->out, "alu.%s%s", vta_alu_op_name(insn->alu.alu_op), insn->alu.from_src ? ".src" : "");
    print_micro_ops(p, insn->alu.uop_begin, insn->alu.uop_end);
    if (insn->alu.use_imm) {
        vta_str_printf(&p->out, ", %" PRId64, insn->alu.imm);
    }
}

static void print_alu(printer *p, const vta_insn *insn, vta_insn *shown)
{
    if (insn->alu.alu_op == VTA_ALU_ROW) {
        print_row(p, insn);
    } else {
        print_plain_alu(p, insn);
    }
    print_nest(p, (level){insn->alu.iter_out, insn->alu.dst_out, insn->alu.src_out, -1},
               (level){insn->alu.iter_in, insn->alu.dst_in, insn->alu.src_in, -1});
    shown->alu = insn->alu;
    shown->alu.ignored = 0;
    shown->alu.imm = insn->alu.use_imm ? insn->alu.imm : 0;
}

static void print_requant(printer *p, const vta_insn *insn, vta_insn *shown)
{
    const bool long_result = insn->requant.long_result != 0;
    vta_str_printf(&p->out, "requant%s %" PRId64, long_result ? ".long" : "", insn->requant.uop);
    if (insn->requant.zero_point != 0) {
        vta_str_printf(&p->out, ", zero %" PRId64, insn->requant.zero_point);
    }
    if (!long_result && (insn->requant.low != INT8_MIN || insn->requant.high != INT8_MAX)) {
        vta_str_printf(&p->out, ", clip %" PRId64 "..%" PRId64, insn->requant.low, insn->requant.high);
    }
    if (insn->requant.rounding != VTA_ROUND_EVEN) {
        vta_str_printf(&p->out, ", round %s", vta_rounding_name(insn->requant.rounding));
    }
    if (insn->requant.wide) {
        vta_str_put(&p->out, ", wide");
    }
    if (insn->requant.table != 0) {
        vta_str_printf(&p->out, ", table %" PRId64, insn->requant.table - 1);
    }
    if (insn->requant.to_inp) {
        vta_str_put(&p->out, ", to inp");
    }
    if (insn->requant.part != 0) {
        vta_str_printf(&p->out, ", part %" PRId64, insn->requant.part);
    }
    if (insn->requant.by_row) {
        vta_str_put(&p->out, ", by row");
    }
    print_nest(p, (level){insn->requant.iter_out, insn->requant.dst_out, insn->requant.src_out, -1},
               (level){insn->requant.iter_in, insn->requant.dst_in, insn->requant.src_in, -1});
    shown->requant = insn->requant;
    shown->requant.dst_high = 0;
}

static void print_depthwise(printer *p, const vta_insn *insn, vta_insn *shown)
{
    const struct {
        const char *name;
        int64_t value;
    } options[] = {{"col", insn->depthwise.col_step},
                   {"row", insn->depthwise.row_step},
                   {"group", insn->depthwise.group}};
    vta_str_put(&p->out, insn->depthwise.init ? "depthwise.init" : "depthwise");
    print_micro_ops(p, insn->depthwise.uop_begin, insn->depthwise.uop_end);
    vta_str_printf(&p->out, ", taps %" PRId64 " x %" PRId64, insn->depthwise.taps_x, insn->depthwise.taps_y);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (options[i].value != 0) {
            vta_str_printf(&p->out, ", %s %" PRId64, options[i].name, options[i].value);
        }
    }
    print_nest(p, (level){insn->depthwise.iter_out, insn->depthwise.dst_out, insn->depthwise.src_out, -1},
               (level){insn->depthwise.iter_in, insn->depthwise.dst_in, insn->depthwise.src_in, -1});
    shown->depthwise = insn->depthwise;
}

static void print_flags(printer *p, const char *verb, bool prev, bool next, bool before)
{
    if (prev || next) {
        vta_str_printf(&p->out, "%s[%s%s%s]%s", before ? "" : " ", verb, prev ? " prev" : "",
                       next ? " next" : "", before ? " " : "");
    }
}

/* The fields that the readable part has not said. */
static void print_named_fields(printer *p, const vta_insn *insn, const vta_insn *shown, const char *format)
{
    const char *between = " with ";
    for (int row = 0; row < VTA_FIELD_COUNT; row++) {
        const vta_field_info *field = &p->fields[row];
        const int64_t value = vta_field_get(field, insn);
        if (strcmp(field->format, format) == 0 && value != vta_field_get(field, shown)) {
            vta_str_printf(&p->out, field->width == 64 ? "%s%s 0x%" PRIx64 : "%s%s %" PRId64, between,
                           field->member, value);
            between = ", ";
        }
    }
}

static void print_insn(printer *p, const vta_insn *insn)
{
    static const struct {
        const char *format;
        void (*print)(printer *p, const vta_insn *insn, vta_insn *shown);
    } rows[] = {
#define PRINT_MEM                                    print_transfer
#define PRINT_GEMM                                   print_gemm
#define PRINT_ALU                                    print_alu
#define PRINT_REQUANT                                print_requant
#define PRINT_DEPTHWISE                              print_depthwise
#define PRINT_FINISH                                 NULL
#define VTA_OPCODE(id, value, format, mnemonic, doc) [(value)] = {#format, PRINT_##format},
#include "vta/isa.def"
    };
    vta_insn shown;
    vta_insn_defaults(&shown, insn->opcode);
    print_flags(p, "pop", insn->pop_prev, insn->pop_next, true);
    if (rows[insn->opcode].print != NULL) {
        rows[insn->opcode].print(p, insn, &shown);
    } else {
        vta_str_put(&p->out, vta_opcode_name(insn->opcode));
    }
    print_named_fields(p, insn, &shown, rows[insn->opcode].format);
    print_flags(p, "push", insn->push_prev, insn->push_next, false);
}

static void print_bits(printer *p, vta_word word)
{
    vta_str_printf(&p->out, ".insn 0x%016" PRIx64 " 0x%016" PRIx64, word.w[0], word.w[1]);
}

void vta_insn_print(const vta_config *config, vta_word word, char *text, size_t size)
{
    printer p = {.config = config};
    vta_insn insn;
    (void)vta_isa_fields(config, p.fields);
    if (vta_insn_decode(config, word, &insn, NULL) == VTA_OK) {
        print_insn(&p, &insn);
    } else {
        print_bits(&p, word);
    }
    char *line = vta_str_take(&p.out);
    (void)snprintf(text, size, "%s", line == NULL ? "" : line);
    free(line);
}

/* ---- whole programs */

/* Remembers which kernel a LOAD puts where, and names it beside the instructions that use it. */
static const char *kernel_of(printer *p, const vta_insn *insn)
{
    int64_t begin = 0;
    int64_t end = 0;
    switch ((vta_opcode)insn->opcode) {
    case VTA_OP_LOAD:
        if (insn->mem.memory == VTA_MEM_UOP && insn->mem.x_size > 0 &&
            insn->mem.sram_base < p->config->depth[VTA_MEM_UOP]) {
            const uint64_t at = (uint64_t)insn->mem.dram_base * VTA_UOP_BYTES;
            p->kernel_at[insn->mem.sram_base].symbol = symbol_at(p, insn->mem.segment, at);
        }
        return NULL;
    case VTA_OP_GEMM:
        begin = insn->gemm.uop_begin;
        end = insn->gemm.uop_end;
        break;
    case VTA_OP_ALU:
        begin = insn->alu.uop_begin;
        end = insn->alu.uop_end;
        break;
    case VTA_OP_REQUANT:
        begin = insn->requant.uop;
        end = begin + 1;
        break;
    case VTA_OP_DEPTHWISE:
        begin = insn->depthwise.uop_begin;
        end = insn->depthwise.uop_end;
        break;
    case VTA_OP_STORE:
    case VTA_OP_FINISH:
    case VTA_OP_COUNT: return NULL;
    }
    const vta_symbol *kernel = begin < p->config->depth[VTA_MEM_UOP] ? p->kernel_at[begin].symbol : NULL;
    return kernel != NULL && kernel->size / VTA_UOP_BYTES == (uint64_t)(end - begin) ? kernel->name : NULL;
}

static void print_code(printer *p, const vta_program *program)
{
    enum { COMMENT_COLUMN = 80 };
    for (uint32_t i = 0; i < program->insn_count; i++) {
        vta_insn insn;
        vta_diag why = {0};
        const char *kernel = NULL;
        if (program->tags != NULL && program->tags[i] != (i > 0 ? program->tags[i - 1] : 0)) {
            vta_str_printf(&p->out, ".tag %" PRIu32 "\n", program->tags[i]);
        }
        const size_t start = p->out.size;
        vta_str_put(&p->out, "    ");
        if (vta_insn_decode(p->config, program->insns[i], &insn, &why) == VTA_OK) {
            print_insn(p, &insn);
            kernel = kernel_of(p, &insn);
        } else {
            print_bits(p, program->insns[i]);
        }
        const size_t width = p->out.size - start;
        vta_str_printf(&p->out, "%*s; %" PRIu32 "%s%s%s%s\n",
                       width < COMMENT_COLUMN ? (int)(COMMENT_COLUMN - width) : 1, "", i,
                       kernel == NULL ? "" : " ", kernel == NULL ? "" : kernel,
                       why.code == VTA_OK ? "" : " illegal: ", why.text);
    }
}

static int64_t lane_at(const uint8_t *bytes, uint32_t lane_bytes)
{
    uint32_t value = 0;
    for (uint32_t i = 0; i < lane_bytes; i++) {
        value |= (uint32_t)bytes[i] << (8 * i);
    }
    return lane_bytes == 1 ? (int8_t)value : (int32_t)value;
}

/* Number of lanes, from the first on, that are equal to the first. */
static size_t run_length(const uint8_t *bytes, size_t lanes, uint32_t lane_bytes)
{
    size_t run = 1;
    while (run < lanes && memcmp(bytes, bytes + run * lane_bytes, lane_bytes) == 0) {
        run++;
    }
    return run;
}

/* " = …" and a newline: rows of at most a tile's row, long runs as fill(). */
static void print_contents(printer *p, const vta_symbol *symbol, const uint8_t *bytes)
{
    enum { LONG_RUN = 32, ROW = 16 };
    const uint32_t lane_bytes =
        p->config->elem_bytes[symbol->memory] / vta_program_lanes(p->config, symbol->memory);
    const size_t lanes = (size_t)symbol->size / lane_bytes;
    if (symbol->memory != VTA_MEM_UOP && run_length(bytes, lanes, lane_bytes) == lanes) {
        vta_str_printf(&p->out, " = fill(%" PRId64 ")\n", lane_at(bytes, lane_bytes));
        return;
    }
    vta_str_put(&p->out, " = {");
    size_t in_row = ROW;
    for (size_t i = 0; i < lanes; i++) {
        const uint8_t *lane = bytes + i * lane_bytes;
        const int64_t value =
            symbol->memory == VTA_MEM_UOP ? (int64_t)(uint32_t)lane_at(lane, 4) : lane_at(lane, lane_bytes);
        const bool starts_run = i == 0 || memcmp(lane - lane_bytes, lane, lane_bytes) != 0;
        const size_t run = starts_run ? run_length(lane, lanes - i, lane_bytes) : 0;
        if (run >= LONG_RUN) {
            vta_str_printf(&p->out, "\n    fill(%" PRId64 ", %zu)", value, run);
            i += run - 1;
            in_row = ROW;
        } else {
            vta_str_put(&p->out, in_row == ROW ? "\n    " : ", ");
            in_row = in_row == ROW ? 1 : in_row + 1;
            vta_str_printf(&p->out, "%" PRId64, value);
        }
    }
    vta_str_put(&p->out, "\n}\n");
}

static void print_micro_op_rows(printer *p, const vta_symbol *symbol)
{
    vta_str_put(&p->out, " {\n");
    for (uint64_t i = 0; i < symbol->size / VTA_UOP_BYTES; i++) {
        const vta_uop uop = vta_uop_decode(p->config, (uint32_t)lane_at(symbol->data + i * VTA_UOP_BYTES, 4));
        vta_str_printf(&p->out, "    %" PRIu32 ", %" PRIu32 ", %" PRIu32 "\n", uop.dst, uop.src, uop.aux);
    }
    vta_str_put(&p->out, "}\n");
}

/* `ends` holds where the assembler would put the next symbol of each segment. */
static void print_symbol(printer *p, const vta_symbol *symbol, uint64_t *ends)
{
    const bool kernel = symbol->memory == VTA_MEM_UOP && symbol->data != NULL;
    const uint64_t align = vta_program_alignment(p->config);
    uint64_t *end = &ends[symbol->segment];
    if (kernel) {
        vta_str_put(&p->out, ".uops ");
        print_name(p, symbol);
    } else {
        vta_str_put(&p->out, ".data ");
        print_name(p, symbol);
        vta_str_printf(&p->out, " %s %" PRIu64, vta_memory_name(symbol->memory),
                       symbol->size / p->config->elem_bytes[symbol->memory]);
    }
    if (symbol->segment != (uint32_t)symbol->memory) {
        vta_str_printf(&p->out, " in %" PRIu32, symbol->segment);
    }
    if (symbol->offset != (*end + align - 1) / align * align) {
        vta_str_printf(&p->out, " at %" PRIu64, symbol->offset);
    }
    *end = *end > symbol->offset + symbol->size ? *end : symbol->offset + symbol->size;
    if (kernel) {
        print_micro_op_rows(p, symbol);
    } else if (symbol->data != NULL) {
        print_contents(p, symbol, symbol->data);
    } else {
        vta_str_put(&p->out, "\n");
    }
    if (symbol->expect != NULL) {
        vta_str_put(&p->out, ".expect ");
        print_name(p, symbol);
        print_contents(p, symbol, symbol->expect);
    }
}

static void print_config(printer *p)
{
    const char *shipped = vta_program_shipped_name(p->config);
    if (shipped != NULL) {
        vta_str_printf(&p->out, ".config %s\n\n", shipped);
        return;
    }
    char *json = vta_config_to_json(p->config);
    p->out.failed = p->out.failed || json == NULL;
    vta_str_printf(&p->out, ".config %s\n", json == NULL ? "" : json);
    free(json);
}

vta_status vta_disassemble(const vta_program *program, char **text, vta_diag *diag)
{
    uint64_t ends[VTA_SEGMENTS] = {0};
    *text = NULL;
    printer p = {.config = &program->config, .symbol_count = program->symbol_count};
    (void)vta_isa_fields(p.config, p.fields);
    p.sorted = calloc((size_t)program->symbol_count + 1, sizeof *p.sorted);
    p.kernel_at = calloc(p.config->depth[VTA_MEM_UOP], sizeof *p.kernel_at);
    if (p.sorted != NULL && p.kernel_at != NULL) {
        for (uint32_t i = 0; i < program->symbol_count; i++) {
            p.sorted[i].symbol = &program->symbols[i];
        }
        qsort(p.sorted, program->symbol_count, sizeof *p.sorted, vta_symbol_by_place);
        print_config(&p);
        for (uint32_t i = 0; i < program->symbol_count; i++) {
            print_symbol(&p, &program->symbols[i], ends);
        }
        vta_str_put(&p.out, program->symbol_count > 0 ? "\n" : "");
        print_code(&p, program);
        *text = vta_str_take(&p.out);
    }
    vta_str_free(&p.out);
    free(p.sorted);
    free(p.kernel_at);
    return *text != NULL ? VTA_OK : vta_fail(diag, VTA_NOMEM, "out of memory for the disassembly");
}
