/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs: lookup, sizes, and the rules that the assembler's and the container's symbols both keep.
 */
#include "vta/program.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "asm_internal.h"

void vta_program_free(vta_program *program)
{
    for (uint32_t i = 0; i < program->symbol_count; i++) {
        free(program->symbols[i].name);
        free(program->symbols[i].data);
        free(program->symbols[i].expect);
    }
    free(program->symbols);
    free(program->insns);
    free(program->lines);
    free(program->tags);
    *program = (vta_program){0};
}

const vta_symbol *vta_program_symbol(const vta_program *program, const char *name)
{
    for (uint32_t i = 0; i < program->symbol_count; i++) {
        if (strcmp(program->symbols[i].name, name) == 0) {
            return &program->symbols[i];
        }
    }
    return NULL;
}

uint64_t vta_program_segment_size(const vta_program *program, uint32_t segment)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < program->symbol_count; i++) {
        const vta_symbol *symbol = &program->symbols[i];
        if (symbol->segment == segment && symbol->offset + symbol->size > size) {
            size = symbol->offset + symbol->size;
        }
    }
    return size;
}

uint64_t vta_program_alignment(const vta_config *config)
{
    uint64_t alignment = VTA_BASE_ALIGN;
    for (int memory = 0; memory < VTA_MEM_COUNT; memory++) {
        if (config->elem_bytes[memory] > alignment) {
            alignment = config->elem_bytes[memory];
        }
    }
    return alignment;
}

uint32_t vta_program_lanes(const vta_config *config, vta_memory memory)
{
    switch (memory) {
    case VTA_MEM_UOP: return 1;
    case VTA_MEM_TAB: return 4;
    case VTA_MEM_WGT: return config->block_out * config->block_in;
    case VTA_MEM_WGT4: return config->block_out * config->block_in / 2; /* bytes: two weights in each */
    case VTA_MEM_INP: return config->batch * config->block_in;
    case VTA_MEM_ACC:
    case VTA_MEM_ACC8:
    case VTA_MEM_OUT:
    case VTA_MEM_COUNT: break;
    }
    return config->batch * config->block_out;
}

static vta_status verify_symbol(const vta_program *program, const vta_symbol *symbol, vta_diag *diag)
{
    if (!vta_name_is_legal(symbol->name)) {
        return vta_fail(diag, VTA_SYNTAX,
                        "illegal symbol name; a name has 1 to %d characters, none of them a quotation mark "
                        "or a control character",
                        VTA_NAME_MAX);
    }
    if (symbol->segment >= VTA_SEGMENTS || (unsigned)symbol->memory >= VTA_MEM_COUNT) {
        return vta_fail(diag, VTA_SYNTAX, "symbol '%s': segment %" PRIu32 ", memory %d; limits: %d, %d",
                        symbol->name, symbol->segment, (int)symbol->memory, VTA_SEGMENTS - 1,
                        VTA_MEM_COUNT - 1);
    }
    const uint32_t element = program->config.elem_bytes[symbol->memory];
    if (symbol->size == 0 || symbol->size % element != 0 || symbol->offset % element != 0) {
        return vta_fail(diag, VTA_SYNTAX,
                        "symbol '%s': %" PRIu64 " bytes at offset %" PRIu64
                        "; expected multiples of %" PRIu32,
                        symbol->name, symbol->size, symbol->offset, element);
    }
    if (symbol->size > VTA_PROGRAM_SPACE_MAX || symbol->offset > VTA_PROGRAM_SPACE_MAX - symbol->size) {
        return vta_fail(diag, VTA_SYNTAX, "symbol '%s' ends beyond the %d bytes that a segment may have",
                        symbol->name, VTA_PROGRAM_SPACE_MAX);
    }
    return VTA_OK;
}

int vta_symbol_by_place(const void *left, const void *right)
{
    const vta_symbol *a = ((const vta_symbol_ref *)left)->symbol;
    const vta_symbol *b = ((const vta_symbol_ref *)right)->symbol;
    if (a->segment != b->segment) {
        return a->segment < b->segment ? -1 : 1;
    }
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const vta_symbol_ref *)left)->symbol->name,
                  ((const vta_symbol_ref *)right)->symbol->name);
}

static vta_status verify_neighbours(vta_symbol_ref *sorted, uint32_t count, vta_diag *diag)
{
    qsort(sorted, count, sizeof *sorted, by_name);
    for (uint32_t i = 1; i < count; i++) {
        if (strcmp(sorted[i - 1].symbol->name, sorted[i].symbol->name) == 0) {
            return vta_fail(diag, VTA_SYNTAX, "two symbols are called '%s'", sorted[i].symbol->name);
        }
    }
    qsort(sorted, count, sizeof *sorted, vta_symbol_by_place);
    for (uint32_t i = 1; i < count; i++) {
        const vta_symbol *a = sorted[i - 1].symbol;
        const vta_symbol *b = sorted[i].symbol;
        if (a->segment == b->segment && a->offset + a->size > b->offset) {
            return vta_fail(diag, VTA_SYNTAX, "'%s' and '%s' overlap in segment %" PRIu32, a->name, b->name,
                            a->segment);
        }
    }
    return VTA_OK;
}

vta_status vta_program_verify(const vta_program *program, vta_diag *diag)
{
    uint64_t space = 0;
    for (uint32_t i = 0; i < program->symbol_count; i++) {
        VTA_TRY(verify_symbol(program, &program->symbols[i], diag));
    }
    for (uint32_t segment = 0; segment < VTA_SEGMENTS; segment++) {
        space += vta_program_segment_size(program, segment);
    }
    if (space > VTA_PROGRAM_SPACE_MAX) {
        return vta_fail(diag, VTA_SYNTAX, "the segments take %" PRIu64 " bytes; limit: %d", space,
                        VTA_PROGRAM_SPACE_MAX);
    }
    if (program->symbol_count == 0) {
        return VTA_OK;
    }
    vta_symbol_ref *sorted = malloc(program->symbol_count * sizeof *sorted);
    if (sorted == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory for %" PRIu32 " symbols", program->symbol_count);
    }
    for (uint32_t i = 0; i < program->symbol_count; i++) {
        sorted[i].symbol = &program->symbols[i];
    }
    const vta_status status = verify_neighbours(sorted, program->symbol_count, diag);
    free(sorted);
    return status;
}

const char *vta_program_shipped_name(const vta_config *config)
{
    uint32_t count = 0;
    const char *const *names = vta_config_names(&count);
    char *mine = vta_config_to_json(config);
    const char *found = NULL;
    for (uint32_t i = 0; mine != NULL && found == NULL && i < count; i++) {
        vta_config shipped;
        if (strcmp(names[i], config->name) == 0 && vta_config_load(names[i], &shipped, NULL) == VTA_OK) {
            char *other = vta_config_to_json(&shipped);
            found = other != NULL && strcmp(mine, other) == 0 ? names[i] : NULL;
            free(other);
        }
    }
    free(mine);
    return found;
}
