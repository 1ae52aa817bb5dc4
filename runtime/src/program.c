/* SPDX-License-Identifier: Apache-2.0
 *
 * Sealed code as a program, and back. A program that is code has a segment to itself for each buffer,
 * numbered from 0, and its micro-ops in the segment behind the last one that a buffer can have. What comes
 * back is trusted no more than any file: the checker sees it before it becomes code.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "vta/check.h"

static char uops_name[] = "uops";

/* To a program. */

static void *copy_of(const void *data, size_t size)
{
    void *copy = malloc(size > 0 ? size : 1);
    return copy != NULL && size > 0 ? memcpy(copy, data, size) : copy;
}

static bool add_symbol(vta_program *program, const vta_symbol *symbol, const void *data)
{
    vta_symbol *place = &program->symbols[program->symbol_count++];
    *place = *symbol;
    place->name = strdup(symbol->name);
    place->data = data != NULL ? copy_of(data, (size_t)symbol->size) : NULL;
    return place->name != NULL && (data == NULL || place->data != NULL);
}

static bool copy_insns(const vta_code *code, vta_program *out)
{
    const uint32_t count = code->info.insn_count;
    out->insns = copy_of(code->insns, count * sizeof *code->insns);
    out->tags = copy_of(code->tags, count * sizeof *code->tags);
    out->symbols = calloc(code->info.buffer_count + 1U, sizeof *out->symbols);
    out->insn_count = count;
    return out->insns != NULL && out->tags != NULL && out->symbols != NULL;
}

vta_status vta_code_program(const vta_code *code, vta_program *out, vta_diag *diag)
{
    *out = (vta_program){.config = code->info.config};
    bool good = copy_insns(code, out);
    for (uint32_t i = 0; good && i < code->info.buffer_count; i++) {
        const struct code_buffer *from = &code->buffers[i];
        const bool whole = from->size % code->info.config.elem_bytes[from->memory] == 0;
        const vta_symbol symbol = {.name = from->name,
                                   .segment = i,
                                   .memory = whole ? from->memory : VTA_MEM_UOP,
                                   .size = from->size};
        good = add_symbol(out, &symbol, NULL);
    }
    if (good && code->info.uop_count > 0) {
        const vta_symbol symbol = {.name = uops_name,
                                   .segment = UOP_SEGMENT,
                                   .memory = VTA_MEM_UOP,
                                   .size = (uint64_t)code->info.uop_count * VTA_UOP_BYTES};
        good = add_symbol(out, &symbol, code->uops);
    }
    if (!good) {
        vta_program_free(out);
        return vta_fail(diag, VTA_NOMEM, "no memory for a program of %" PRIu32 " instructions",
                        code->info.insn_count);
    }
    return VTA_OK;
}

/* From a program. */

/* The one symbol of a segment, or NULL. */
static const vta_symbol *symbol_of(const vta_program *program, uint32_t segment)
{
    for (uint32_t i = 0; i < program->symbol_count; i++) {
        if (program->symbols[i].segment == segment) {
            return &program->symbols[i];
        }
    }
    return NULL;
}

static vta_status check_symbol(const vta_program *program, const vta_symbol *symbol, vta_diag *diag)
{
    if (symbol->name == NULL || *symbol->name == '\0') {
        return vta_fail(diag, VTA_INVALID, "a symbol of segment %" PRIu32 " has no name", symbol->segment);
    }
    if (symbol->segment >= VTA_SEGMENTS || (unsigned)symbol->memory >= VTA_MEM_COUNT) {
        return vta_fail(diag, VTA_INVALID, "symbol '%s': segment %" PRIu32 ", memory %d; limits: %d, %d",
                        symbol->name, symbol->segment, (int)symbol->memory, VTA_SEGMENTS - 1,
                        VTA_MEM_COUNT - 1);
    }
    const vta_symbol *first = symbol_of(program, symbol->segment);
    if (first != symbol) {
        return vta_fail(diag, VTA_INVALID,
                        "'%s' and '%s' share segment %" PRIu32
                        "; in code, each buffer has a segment to itself",
                        first->name, symbol->name, symbol->segment);
    }
    if (symbol->offset != 0 || symbol->size == 0) {
        return vta_fail(diag, VTA_INVALID,
                        "symbol '%s': %" PRIu64 " bytes at offset %" PRIu64
                        "; in code, a buffer begins its segment and is not empty",
                        symbol->name, symbol->size, symbol->offset);
    }
    if (symbol->segment == UOP_SEGMENT &&
        (symbol->memory != VTA_MEM_UOP || symbol->data == NULL || symbol->size % VTA_UOP_BYTES != 0 ||
         symbol->size / VTA_UOP_BYTES > UINT32_MAX)) {
        return vta_fail(diag, VTA_INVALID, "symbol '%s': segment %d is for micro-ops, with their contents",
                        symbol->name, UOP_SEGMENT);
    }
    for (const vta_symbol *other = program->symbols; other < symbol; other++) {
        if (strcmp(other->name, symbol->name) == 0) {
            return vta_fail(diag, VTA_INVALID, "two symbols are called '%s'", symbol->name);
        }
    }
    return VTA_OK;
}

static vta_status check_symbols(const vta_program *program, uint32_t *buffers, vta_diag *diag)
{
    *buffers = 0;
    for (uint32_t i = 0; i < program->symbol_count; i++) {
        VTA_TRY(check_symbol(program, &program->symbols[i], diag));
        *buffers += program->symbols[i].segment != UOP_SEGMENT;
    }
    for (uint32_t segment = 0; segment < *buffers; segment++) {
        if (symbol_of(program, segment) == NULL) {
            return vta_fail(diag, VTA_INVALID,
                            "segment %" PRIu32 " has no symbol; in code, buffers are numbered from 0",
                            segment);
        }
    }
    return VTA_OK;
}

/* Micro-ops come from their segment, and nothing else does: the checker's answer then holds wherever a job
 * binds the buffers, and whatever is in them. */
static vta_status check_segments(const vta_program *program, vta_diag *diag)
{
    for (uint32_t i = 0; i < program->insn_count; i++) {
        vta_insn insn;
        if (vta_insn_decode_raw(&program->config, program->insns[i], &insn) != VTA_ERROR_NONE) {
            return VTA_OK; /* the checker says it better */
        }
        const bool moves = (insn.opcode == VTA_OP_LOAD || insn.opcode == VTA_OP_STORE) &&
                           insn.mem.x_size > 0 && insn.mem.y_size > 0;
        if (moves && (insn.mem.memory == VTA_MEM_UOP) != (insn.mem.segment == UOP_SEGMENT)) {
            return vta_fail(diag, VTA_INVALID,
                            "instruction %" PRIu32 ": %s of %s in segment %" PRId64
                            "; in code, segment %d has the micro-ops, and nothing else",
                            i, vta_opcode_name(insn.opcode), vta_memory_name(insn.mem.memory),
                            insn.mem.segment, UOP_SEGMENT);
        }
    }
    return VTA_OK;
}

/* Addresses that the checker sees: each segment, and the instructions behind them, so far apart that no
 * address of one reaches the next. */
enum { LOG_APART = 56 };

static uint64_t home(uint32_t segment)
{
    return (uint64_t)(segment + 1) << LOG_APART;
}

/* The contents of a buffer are never looked at, only those of the micro-ops. */
static void *map(void *context, uint64_t addr, uint64_t size)
{
    const vta_program *program = context;
    const uint64_t offset = addr & (((uint64_t)1 << LOG_APART) - 1);
    const uint64_t place = addr >> LOG_APART;
    if (place == VTA_SEGMENTS + 1) {
        const uint64_t bytes = (uint64_t)program->insn_count * VTA_INSN_BYTES;
        return offset <= bytes && size <= bytes - offset ? (uint8_t *)program->insns + offset : NULL;
    }
    const vta_symbol *symbol = place > 0 ? symbol_of(program, (uint32_t)place - 1) : NULL;
    if (symbol == NULL || offset > symbol->size || size > symbol->size - offset) {
        return NULL;
    }
    return symbol->segment == UOP_SEGMENT ? (void *)(symbol->data + offset) : context;
}

static vta_status check(const vta_program *program, vta_diag *diag)
{
    vta_program seen = *program; /* the bus is not const */
    const vta_bus bus = {map, &seen};
    vta_launch launch = {.insn_addr = home(VTA_SEGMENTS), .insn_count = program->insn_count};
    for (uint32_t segment = 0; segment < VTA_SEGMENTS; segment++) {
        launch.base[segment] = home(segment);
    }
    return vta_check(&program->config, &launch, &bus, NULL, diag);
}

static bool copy_symbols(const vta_program *program, vta_code *code)
{
    bool good = true;
    for (uint32_t i = 0; good && i < program->symbol_count; i++) {
        const vta_symbol *symbol = &program->symbols[i];
        if (symbol->segment == UOP_SEGMENT) {
            code->uops = copy_of(symbol->data, (size_t)symbol->size);
            code->info.uop_count = (uint32_t)(symbol->size / VTA_UOP_BYTES);
            good = code->uops != NULL;
        } else {
            struct code_buffer *buffer = &code->buffers[symbol->segment];
            buffer->name = strdup(symbol->name);
            buffer->size = symbol->size;
            buffer->memory = symbol->memory;
            good = buffer->name != NULL;
        }
    }
    return good;
}

static vta_status take_program(const vta_program *program, vta_code *code, vta_diag *diag)
{
    const size_t count = program->insn_count;
    VTA_TRY(check_symbols(program, &code->info.buffer_count, diag));
    VTA_TRY(check_segments(program, diag));
    VTA_TRY(check(program, diag));
    code->info.config = program->config;
    code->info.insn_count = program->insn_count;
    code->insns = copy_of(program->insns, count * sizeof *code->insns);
    code->tags = program->tags != NULL ? copy_of(program->tags, count * sizeof *code->tags)
                                       : calloc(count, sizeof *code->tags);
    if (code->insns == NULL || code->tags == NULL || !copy_symbols(program, code)) {
        return vta_fail(diag, VTA_NOMEM, "no memory for code of %" PRIu32 " instructions",
                        program->insn_count);
    }
    vta_code_count(code);
    return VTA_OK;
}

vta_status vta_code_from_program(const vta_program *program, vta_code **out, vta_diag *diag)
{
    *out = NULL;
    vta_code *code = calloc(1, sizeof *code);
    if (code == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for code");
    }
    const vta_status status = take_program(program, code, diag);
    if (status != VTA_OK) {
        vta_code_destroy(code);
        return status;
    }
    *out = code;
    return VTA_OK;
}
