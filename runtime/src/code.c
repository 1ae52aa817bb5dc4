/* SPDX-License-Identifier: Apache-2.0
 *
 * Sealed code: the recording without what only recording needs.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* The instructions with their flags in their headers. */
static vta_status merge_flags(vta_stream *stream)
{
    enum { COMBINATIONS = 16 };
    vta_word bits[COMBINATIONS];
    for (uint32_t flags = 0; flags < COMBINATIONS; flags++) {
        VTA_TRY(vta_order_flag_bits(&stream->config, flags, &bits[flags], &stream->diag));
    }
    for (uint32_t i = 0; i < stream->count; i++) {
        stream->words[i].w[0] |= bits[stream->insn_flags[i]].w[0];
    }
    return VTA_OK;
}

static void take_buffers(vta_stream *stream, vta_code *code)
{
    for (uint32_t i = 0; i < stream->buffer_count; i++) {
        buffer_record *from = &stream->buffers[i];
        code->buffers[i].name = from->name;
        code->buffers[i].size = from->size;
        code->buffers[i].memory = from->used ? from->memory : VTA_MEM_OUT;
        code->buffers[i].loaded = from->loaded;
        code->buffers[i].stored = from->stored;
        from->name = NULL;
    }
}

vta_status vta_code_seal(vta_stream *stream, vta_code **out)
{
    VTA_TRY(merge_flags(stream));
    vta_code *code = calloc(1, sizeof *code);
    if (code == NULL) {
        return vta_fail(&stream->diag, VTA_NOMEM, "no memory to seal a stream");
    }
    code->info = (vta_code_info){.config = stream->config,
                                 .insn_count = stream->count,
                                 .uop_count = (uint32_t)stream->uops.image_count,
                                 .buffer_count = stream->buffer_count,
                                 .kernel_count = (uint32_t)stream->uops.kernel_count,
                                 .nops = stream->nops,
                                 .uop_loads = stream->uop_loads,
                                 .tokens = vta_order_tokens(stream)};
    code->insns = stream->words;
    code->tags = stream->tags;
    code->uops = stream->uops.image;
    stream->words = NULL;
    stream->tags = NULL;
    stream->uops.image = NULL;
    take_buffers(stream, code);
    *out = code;
    return VTA_OK;
}

void vta_code_destroy(vta_code *code)
{
    if (code == NULL) {
        return;
    }
    for (uint32_t i = 0; i < VTA_STREAM_BUFFERS; i++) {
        free(code->buffers[i].name);
    }
    free(code->insns);
    free(code->tags);
    free(code->uops);
    free(code);
}

void vta_code_describe(const vta_code *code, vta_code_info *out)
{
    *out = code->info;
}

vta_status vta_code_buffer(const vta_code *code, vta_buffer buffer, vta_buffer_info *out, vta_diag *diag)
{
    if (buffer.index >= code->info.buffer_count) {
        return vta_fail(diag, VTA_INVALID, "buffer %" PRIu32 " does not exist; the code has %" PRIu32,
                        buffer.index, code->info.buffer_count);
    }
    const struct code_buffer *from = &code->buffers[buffer.index];
    *out = (vta_buffer_info){from->name, from->size, from->loaded, from->stored};
    return VTA_OK;
}

const vta_word *vta_code_insns(const vta_code *code)
{
    return code->insns;
}

const uint32_t *vta_code_tags(const vta_code *code)
{
    return code->tags;
}

/* As a program. */

static bool add_symbol(vta_program *program, const vta_symbol *symbol, const void *data)
{
    vta_symbol *place = &program->symbols[program->symbol_count++];
    *place = *symbol;
    place->name = strdup(symbol->name);
    if (data != NULL) {
        place->data = malloc((size_t)symbol->size);
        if (place->data != NULL) {
            memcpy(place->data, data, (size_t)symbol->size);
        }
    }
    return place->name != NULL && (data == NULL || place->data != NULL);
}

static bool copy_insns(const vta_code *code, vta_program *out)
{
    const size_t bytes = code->info.insn_count * sizeof *code->insns;
    out->insns = malloc(bytes);
    out->symbols = calloc(code->info.buffer_count + 1U, sizeof *out->symbols);
    if (out->insns == NULL || out->symbols == NULL) {
        return false;
    }
    memcpy(out->insns, code->insns, bytes);
    out->insn_count = code->info.insn_count;
    return true;
}

vta_status vta_code_program(const vta_code *code, vta_program *out, vta_diag *diag)
{
    *out = (vta_program){.config = code->info.config};
    bool good = copy_insns(code, out);
    for (uint32_t i = 0; good && i < code->info.buffer_count; i++) {
        const struct code_buffer *from = &code->buffers[i];
        const vta_symbol symbol = {
            .name = from->name, .segment = i, .memory = from->memory, .size = from->size};
        good = add_symbol(out, &symbol, NULL);
    }
    if (good && code->info.uop_count > 0) {
        char name[] = "uops";
        const vta_symbol symbol = {.name = name,
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
