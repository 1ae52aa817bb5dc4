/* SPDX-License-Identifier: Apache-2.0
 *
 * Laying a program out in memory. Blocks at given addresses are rounded to the alignment of bases and merged
 * where they touch, so that a transfer may run from one file's image into the next.
 */
#include "image.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "vta/file.h"

enum { FILE_MAX = 1 << 30, LOWEST_ADDR = VTA_BASE_ALIGN };

/* A symbol's name or an address. */
static vta_status place_of(const char *text, const vta_program *program, uint64_t *addr,
                           const vta_symbol **symbol, vta_diag *diag)
{
    *symbol = NULL;
    if (cli_number(text, addr)) {
        if (*addr < LOWEST_ADDR) {
            return vta_fail(diag, VTA_RANGE, "address '%s' is below %d, where no memory can be", text,
                            LOWEST_ADDR);
        }
        return VTA_OK;
    }
    *symbol = vta_program_symbol(program, text);
    if (*symbol == NULL) {
        return vta_fail(diag, VTA_INVALID, "'%s' is neither an address nor a symbol of the program", text);
    }
    return VTA_OK;
}

/* FILE@PLACE or zero:BYTES@PLACE */
static vta_status read_input(cli_input *input, const char *spec, const vta_program *program, bool *usage,
                             vta_diag *diag)
{
    const char *at = strrchr(spec, '@');
    uint64_t zeros = 0;
    input->spec = spec;
    if (at == NULL || at == spec || at[1] == '\0') {
        *usage = true;
        return vta_fail(diag, VTA_INVALID, "'--mem %s': expected FILE@ADDR, FILE@SYMBOL or zero:BYTES@ADDR",
                        spec);
    }
    char *source = strndup(spec, (size_t)(at - spec));
    if (source == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory for '--mem %s'", spec);
    }
    vta_status status = place_of(at + 1, program, &input->addr, &input->symbol, diag);
    if (status == VTA_OK && strncmp(source, "zero:", 5) == 0) {
        if (!cli_number(source + 5, &zeros) || zeros == 0 || zeros > SIZE_MAX / 2) {
            *usage = true;
            status =
                vta_fail(diag, VTA_INVALID, "'--mem %s': expected a number of bytes after 'zero:'", spec);
        }
        input->size = (size_t)zeros;
    } else if (status == VTA_OK) {
        status = vta_file_read(source, FILE_MAX, &input->bytes, &input->size, diag);
        if (status == VTA_OK && input->size == 0) {
            status = vta_fail(diag, VTA_INVALID, "'%s' is empty", source);
        }
    }
    free(source);
    if (status == VTA_OK && input->symbol != NULL && input->size > input->symbol->size) {
        return vta_fail(diag, VTA_RANGE, "'--mem %s': %zu bytes do not fit in '%s' of %" PRIu64, spec,
                        input->size, input->symbol->name, input->symbol->size);
    }
    return status;
}

/* ADDR:BYTES=FILE or SYMBOL=FILE */
static vta_status read_output(cli_output *output, const char *spec, const vta_program *program, bool *usage,
                              vta_diag *diag)
{
    const char *equals = strchr(spec, '=');
    uint64_t bytes = 0;
    if (equals == NULL || equals == spec || equals[1] == '\0') {
        *usage = true;
        return vta_fail(diag, VTA_INVALID, "'--dump %s': expected ADDR:BYTES=FILE or SYMBOL=FILE", spec);
    }
    output->file = equals + 1;
    char *source = strndup(spec, (size_t)(equals - spec));
    if (source == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory for '--dump %s'", spec);
    }
    char *colon = strchr(source, ':');
    vta_status status = VTA_OK;
    if (colon != NULL) {
        *colon = '\0';
        if (!cli_number(colon + 1, &bytes) || bytes == 0 || bytes > FILE_MAX) {
            *usage = true;
            status = vta_fail(diag, VTA_INVALID, "'--dump %s': expected a number of bytes up to %d after ':'",
                              spec, FILE_MAX);
        }
        output->size = (size_t)bytes;
    }
    if (status == VTA_OK) {
        status = place_of(source, program, &output->addr, &output->symbol, diag);
    }
    if (status == VTA_OK && (output->symbol == NULL) != (colon != NULL)) {
        *usage = true;
        status = vta_fail(diag, VTA_INVALID, "'--dump %s': expected ADDR:BYTES=FILE or SYMBOL=FILE", spec);
    }
    free(source);
    return status;
}

vta_status cli_image_read(cli_image *image, const cli_args *args, const vta_program *program, bool *usage,
                          vta_diag *diag)
{
    image->inputs = calloc(args->given_count + 1, sizeof *image->inputs);
    image->outputs = calloc(args->given_count + 1, sizeof *image->outputs);
    if (image->inputs == NULL || image->outputs == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory for the command line");
    }
    size_t at = 0;
    for (const char *spec = cli_next(args, "--mem", &at); spec != NULL; spec = cli_next(args, "--mem", &at)) {
        VTA_TRY(read_input(&image->inputs[image->input_count++], spec, program, usage, diag));
    }
    at = 0;
    for (const char *spec = cli_next(args, "--dump", &at); spec != NULL;
         spec = cli_next(args, "--dump", &at)) {
        VTA_TRY(read_output(&image->outputs[image->output_count++], spec, program, usage, diag));
    }
    return VTA_OK;
}

/* ---- blocks at given addresses */

static vta_status reserve_range(cli_image *image, uint64_t addr, uint64_t size, vta_diag *diag)
{
    const uint64_t low = addr / VTA_BASE_ALIGN * VTA_BASE_ALIGN;
    if (size > SIZE_MAX / 4 || addr > UINT64_MAX - size - VTA_BASE_ALIGN) {
        return vta_fail(diag, VTA_RANGE, "%" PRIu64 " bytes at address 0x%" PRIx64 " do not fit in 64 bits",
                        size, addr);
    }
    const uint64_t high = (addr + size + VTA_BASE_ALIGN - 1) / VTA_BASE_ALIGN * VTA_BASE_ALIGN;
    image->blocks[image->block_count++] = (vta_mem){.addr = low, .size = (size_t)(high - low)};
    return VTA_OK;
}

static int by_addr(const void *left, const void *right)
{
    const vta_mem *a = left;
    const vta_mem *b = right;
    return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static void merge_ranges(cli_image *image)
{
    size_t count = 0;
    if (image->block_count > 0) {
        qsort(image->blocks, image->block_count, sizeof *image->blocks, by_addr);
    }
    for (size_t i = 0; i < image->block_count; i++) {
        const vta_mem block = image->blocks[i];
        vta_mem *last = count > 0 ? &image->blocks[count - 1] : NULL;
        if (last != NULL && block.addr <= last->addr + last->size) {
            const uint64_t end = block.addr + block.size;
            const uint64_t reach = last->addr + last->size;
            last->size = (size_t)((end > reach ? end : reach) - last->addr);
        } else {
            image->blocks[count++] = block;
        }
    }
    image->block_count = count;
}

/* Everything that has an address of its own. */
static vta_status want_all(cli_image *image, const uint64_t *insn_addr, uint64_t code_size, vta_diag *diag)
{
    vta_status status = insn_addr != NULL ? reserve_range(image, *insn_addr, code_size, diag) : VTA_OK;
    for (size_t i = 0; i < image->input_count && status == VTA_OK; i++) {
        const cli_input *input = &image->inputs[i];
        status = input->symbol == NULL ? reserve_range(image, input->addr, input->size, diag) : VTA_OK;
    }
    for (size_t i = 0; i < image->output_count && status == VTA_OK; i++) {
        const cli_output *output = &image->outputs[i];
        status = output->symbol == NULL ? reserve_range(image, output->addr, output->size, diag) : VTA_OK;
    }
    return status;
}

static vta_status place_blocks(cli_image *image, const uint64_t *insn_addr, uint64_t code_size,
                               vta_diag *diag)
{
    image->blocks = calloc(image->input_count + image->output_count + 1, sizeof *image->blocks);
    if (image->blocks == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory for the command line");
    }
    VTA_TRY(want_all(image, insn_addr, code_size, diag));
    merge_ranges(image);
    for (size_t i = 0; i < image->block_count; i++) {
        vta_mem *block = &image->blocks[i];
        VTA_TRY(image->alloc(image->context, block->addr, block->size, block, diag));
    }
    return VTA_OK;
}

uint8_t *cli_image_at(const cli_image *image, uint64_t addr, size_t size)
{
    for (size_t i = 0; i < image->block_count; i++) {
        const vta_mem *block = &image->blocks[i];
        if (block->host != NULL && addr >= block->addr && size <= block->size &&
            addr - block->addr <= block->size - size) {
            return (uint8_t *)block->host + (addr - block->addr);
        }
    }
    return NULL;
}

uint8_t *cli_image_symbol(const cli_image *image, const vta_symbol *symbol)
{
    return (uint8_t *)image->segments[symbol->segment].host + symbol->offset;
}

/* ---- filling */

static vta_status place_segment(cli_image *image, const vta_program *program, uint32_t segment,
                                vta_diag *diag)
{
    const uint64_t size = vta_program_segment_size(program, segment);
    vta_mem *mem = &image->segments[segment];
    if (size == 0) {
        return VTA_OK;
    }
    VTA_TRY(image->alloc(image->context, 0, (size_t)size, mem, diag));
    image->launch.base[segment] = mem->addr;
    return VTA_OK;
}

static vta_status place_segments(cli_image *image, const vta_program *program, vta_diag *diag)
{
    for (uint32_t i = 0; i < VTA_SEGMENTS; i++) {
        VTA_TRY(place_segment(image, program, i, diag));
    }
    for (uint32_t i = 0; i < program->symbol_count; i++) {
        const vta_symbol *symbol = &program->symbols[i];
        if (symbol->data != NULL) {
            memcpy(cli_image_symbol(image, symbol), symbol->data, (size_t)symbol->size);
        }
    }
    return VTA_OK;
}

static void fill_inputs(const cli_image *image)
{
    for (size_t i = 0; i < image->input_count; i++) {
        const cli_input *input = &image->inputs[i];
        uint8_t *to = input->symbol != NULL ? cli_image_symbol(image, input->symbol)
                                            : cli_image_at(image, input->addr, input->size);
        if (input->bytes != NULL) {
            memcpy(to, input->bytes, input->size);
        } else {
            memset(to, 0, input->size);
        }
    }
}

static void fill_code(uint8_t *to, const vta_program *program)
{
    for (size_t i = 0; i < (size_t)program->insn_count * VTA_INSN_BYTES; i++) {
        to[i] = (uint8_t)(program->insns[i / VTA_INSN_BYTES].w[i % VTA_INSN_BYTES / 8] >> (8 * (i % 8)));
    }
}

vta_status cli_image_place(cli_image *image, const cli_args *args, const vta_program *program, vta_diag *diag)
{
    const char *at = cli_value(args, "--insn-addr");
    const size_t size = (size_t)program->insn_count * VTA_INSN_BYTES;
    uint64_t insn_addr = 0;
    if (size == 0) {
        return vta_fail(diag, VTA_INVALID, "the program has no instructions; it needs at least 'finish'");
    }
    if (at != NULL &&
        (!cli_number(at, &insn_addr) || insn_addr < LOWEST_ADDR || insn_addr % VTA_BASE_ALIGN != 0)) {
        return vta_fail(diag, VTA_INVALID, "'--insn-addr %s': expected a multiple of %d, not 0", at,
                        VTA_BASE_ALIGN);
    }
    VTA_TRY(place_blocks(image, at != NULL ? &insn_addr : NULL, size, diag));
    VTA_TRY(place_segments(image, program, diag));
    if (at == NULL) {
        VTA_TRY(image->alloc(image->context, 0, size, &image->code, diag));
    } else {
        image->code = (vta_mem){cli_image_at(image, insn_addr, size), insn_addr, size};
    }
    fill_inputs(image);
    fill_code(image->code.host, program);
    image->launch.insn_addr = image->code.addr;
    image->launch.insn_count = program->insn_count;
    return VTA_OK;
}

void cli_image_free(cli_image *image)
{
    for (size_t i = 0; i < image->input_count; i++) {
        free(image->inputs[i].bytes);
    }
    free(image->inputs);
    free(image->outputs);
    free(image->blocks);
}
