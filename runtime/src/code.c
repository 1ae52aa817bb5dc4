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
        from->name = NULL;
    }
}

static void count_transfer(vta_code *code, const vta_insn *insn)
{
    if (insn->mem.x_size == 0) {
        code->info.nops++;
    } else if (insn->mem.memory == VTA_MEM_UOP) {
        code->info.uop_loads++;
    } else if (insn->mem.y_size > 0) {
        struct code_buffer *buffer = &code->buffers[insn->mem.segment];
        buffer->loaded = buffer->loaded || insn->opcode == VTA_OP_LOAD;
        buffer->stored = buffer->stored || insn->opcode == VTA_OP_STORE;
    }
}

void vta_code_count(vta_code *code)
{
    for (uint32_t i = 0; i < code->info.insn_count; i++) {
        vta_insn insn;
        (void)vta_insn_decode_raw(&code->info.config, code->insns[i], &insn);
        code->info.tokens += (insn.pop_prev != 0 ? 1U : 0U) + (insn.pop_next != 0 ? 1U : 0U);
        if (insn.opcode == VTA_OP_LOAD || insn.opcode == VTA_OP_STORE) {
            count_transfer(code, &insn);
        }
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
                                 .kernel_count = (uint32_t)stream->uops.kernel_count};
    code->insns = stream->words;
    code->tags = stream->tags;
    code->uops = stream->uops.image;
    stream->words = NULL;
    stream->tags = NULL;
    stream->uops.image = NULL;
    take_buffers(stream, code);
    vta_code_count(code);
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
    *out = (vta_buffer_info){0};
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
