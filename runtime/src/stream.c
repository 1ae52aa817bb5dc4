/* SPDX-License-Identifier: Apache-2.0
 *
 * The typed calls. Each checks its arguments, encodes one instruction, says what that reads and writes, and
 * leaves the order to order.c.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Life. */

static uint32_t *new_marks(const vta_config *config, vta_memory memory)
{
    return calloc(config->depth[memory], sizeof(uint32_t));
}

static vta_status init(vta_stream *stream)
{
    const vta_config *config = &stream->config;
    stream->inp_writes = new_marks(config, VTA_MEM_INP);
    stream->inp_uses = new_marks(config, VTA_MEM_INP);
    stream->wgt_writes = new_marks(config, VTA_MEM_WGT);
    stream->wgt_reads = new_marks(config, VTA_MEM_WGT);
    stream->out_writes = new_marks(config, VTA_MEM_OUT);
    stream->out_reads = new_marks(config, VTA_MEM_OUT);
    if (stream->inp_writes == NULL || stream->inp_uses == NULL || stream->wgt_writes == NULL ||
        stream->wgt_reads == NULL || stream->out_writes == NULL || stream->out_reads == NULL) {
        return vta_fail(&stream->diag, VTA_NOMEM, "no memory for a stream");
    }
    stream->granule = config->elem_bytes[VTA_MEM_INP];
    for (vta_memory memory = VTA_MEM_WGT; memory < VTA_MEM_COUNT; memory++) {
        const uint32_t bytes = config->elem_bytes[memory];
        const bool smaller = memory != VTA_MEM_TAB && bytes < stream->granule; /* a table has many words */
        stream->granule = smaller ? bytes : stream->granule;
    }
    return vta_kernel_init(stream);
}

vta_status vta_stream_create(const vta_config *config, vta_stream **out, vta_diag *diag)
{
    *out = NULL;
    vta_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for a stream");
    }
    stream->config = *config;
    const vta_status status = init(stream);
    if (status != VTA_OK) {
        (void)vta_fail(diag, status, "%s", stream->diag.text);
        vta_stream_destroy(stream);
        return status;
    }
    *out = stream;
    return VTA_OK;
}

void vta_stream_destroy(vta_stream *stream)
{
    if (stream == NULL) {
        return;
    }
    for (uint32_t i = 0; i < VTA_STREAM_BUFFERS; i++) {
        buffer_record *buffer = &stream->buffers[i];
        free(buffer->name);
        vta_pages_free(&buffer->stores);
        vta_pages_free(&buffer->loads);
        vta_pages_free(&buffer->compute_loads);
    }
    uint32_t *const marks[] = {stream->inp_writes, stream->inp_uses,   stream->wgt_writes,
                               stream->wgt_reads,  stream->out_writes, stream->out_reads};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        free(marks[i]);
    }
    vta_kernel_free(stream);
    vta_order_free(stream);
    free(stream);
}

vta_status vta_stream_status(const vta_stream *stream)
{
    return stream->diag.code;
}

bool vta_call_begin(vta_stream *stream, const char *call)
{
    if (stream->diag.code != VTA_OK) {
        return false;
    }
    stream->call = call;
    stream->calls++;
    if (stream->sealed) {
        (void)vta_fail(&stream->diag, VTA_INVALID, "%s: the stream is sealed; record another", call);
    }
    return !stream->sealed;
}

void vta_call_end(vta_stream *stream)
{
    (void)vta_context(&stream->diag, "call %" PRIu64 " (%s)", stream->calls - 1, stream->call);
}

/* Buffers. */

static vta_status declare(vta_stream *stream, const char *name, uint64_t size)
{
    if (stream->buffer_count == VTA_STREAM_BUFFERS) {
        return vta_fail(&stream->diag, VTA_RANGE, "buffer '%s' is one too many; a stream has %d at most",
                        name, VTA_STREAM_BUFFERS);
    }
    if (name == NULL || !vta_name_is_legal(name) || size == 0 || size % VTA_UOP_BYTES != 0) {
        return vta_fail(&stream->diag, VTA_INVALID,
                        "buffer '%.40s' of %" PRIu64
                        " bytes: a buffer needs a size that is a multiple of %d, and a "
                        "name of 1 to 200 characters without quotation marks and control characters",
                        name == NULL ? "" : name, size, VTA_UOP_BYTES);
    }
    for (uint32_t i = 0; i < stream->buffer_count; i++) {
        if (strcmp(stream->buffers[i].name, name) == 0) {
            return vta_fail(&stream->diag, VTA_INVALID, "buffer '%s' is declared twice", name);
        }
    }
    buffer_record *buffer = &stream->buffers[stream->buffer_count];
    buffer->name = strdup(name);
    if (buffer->name == NULL) {
        return vta_fail(&stream->diag, VTA_NOMEM, "no memory for buffer '%s'", name);
    }
    buffer->size = size;
    const uint64_t granules = size / stream->granule + 1;
    buffer->stores.granules = buffer->loads.granules = buffer->compute_loads.granules = granules;
    stream->buffer_count++;
    return VTA_OK;
}

vta_buffer vta_stream_buffer(vta_stream *stream, const char *name, uint64_t size)
{
    vta_buffer handle = {stream->buffer_count};
    if (vta_call_begin(stream, "buffer")) {
        (void)declare(stream, name, size);
        vta_call_end(stream);
    }
    return handle;
}

void vta_stream_tag(vta_stream *stream, uint32_t tag)
{
    stream->tag = tag;
}

/* LOAD and STORE. */

/* The DRAM elements of a transfer. */
typedef struct transfer {
    vta_buffer handle;
    vta_memory memory;
    int64_t offset, y_size, x_size, x_stride;
} transfer;

/* NULL, and the stream has failed, where there is no such buffer. */
static buffer_record *find_buffer(vta_stream *stream, vta_buffer handle)
{
    if (handle.index >= stream->buffer_count) {
        (void)vta_fail(&stream->diag, VTA_INVALID,
                       "buffer %" PRIu32 " was not declared; the stream has %" PRIu32, handle.index,
                       stream->buffer_count);
        return NULL;
    }
    return &stream->buffers[handle.index];
}

/* After encoding, which has checked the fields: no sum here can overflow. */
static vta_status check_transfer(vta_stream *stream, const transfer *what, buffer_record *buffer,
                                 rectangle *area)
{
    *area = (rectangle){0};
    if (what->x_size == 0 || what->y_size == 0) {
        return VTA_OK;
    }
    const uint64_t bytes = stream->config.elem_bytes[what->memory];
    const uint64_t end = (uint64_t)(what->offset + (what->y_size - 1) * what->x_stride + what->x_size);
    if (end * bytes > buffer->size) {
        return vta_fail(&stream->diag, VTA_RANGE,
                        "%s elements up to %" PRIu64 " are beyond buffer '%s', which has %" PRIu64
                        " of %" PRIu64 " bytes",
                        vta_memory_name(what->memory), end, buffer->name, buffer->size / bytes, bytes);
    }
    const uint64_t scale = bytes / stream->granule;
    *area = (rectangle){.start = (uint64_t)what->offset * scale,
                        .length = (uint64_t)what->x_size * scale,
                        .rows = (uint64_t)what->y_size,
                        .pitch = (uint64_t)what->x_stride * scale};
    if (!buffer->used) {
        buffer->used = true;
        buffer->memory = what->memory;
    }
    return VTA_OK;
}

static vta_status note(vta_stream *stream, page_map *pages, const rectangle *area, uint32_t position)
{
    if (stream->manual || area->rows == 0) {
        return VTA_OK;
    }
    return vta_pages_set(pages, area, position)
               ? VTA_OK
               : vta_fail(&stream->diag, VTA_NOMEM, "no memory to follow a buffer");
}

static footprint contiguous(const span *entries)
{
    return (footprint){.bases = entries, .base_count = 1, .dim = {{1, 0}, {1, 0}, {1, 0}, {1, 0}}};
}

static vta_status check_sram(vta_stream *stream, vta_memory memory, int64_t sram, int64_t rows, int64_t pitch,
                             span *entries)
{
    const int64_t depth = stream->config.depth[memory];
    if (sram + rows * pitch > depth) {
        return vta_fail(&stream->diag, VTA_RANGE,
                        "%" PRId64 " rows of %" PRId64 " entries from %" PRId64 " on exceed the %" PRId64
                        " entries of %s",
                        rows, pitch, sram, depth, vta_memory_name(memory));
    }
    *entries = (span){(uint32_t)sram, (uint32_t)(rows * pitch)};
    return VTA_OK;
}

static vta_status encode_load(vta_stream *stream, const vta_load2d *args, vta_word *word)
{
    if (args->memory != VTA_MEM_INP && !vta_loads_wgt(args->memory) && args->memory != VTA_MEM_ACC &&
        args->memory != VTA_MEM_ACC8) {
        return vta_fail(&stream->diag, VTA_INVALID,
                        "memory '%s' is not for load2d; it takes inp, wgt, wgt4, acc, acc8",
                        vta_memory_name(args->memory));
    }
    if (args->pad_value < INT8_MIN || args->pad_value > INT8_MAX) {
        return vta_fail(&stream->diag, VTA_RANGE, "pad_value %" PRId64 " is not in -128 … 127",
                        args->pad_value);
    }
    vta_insn insn = {.opcode = VTA_OP_LOAD};
    insn.mem.memory = args->memory;
    insn.mem.sram_base = args->sram;
    insn.mem.segment = args->buffer.index;
    insn.mem.dram_base = args->offset;
    insn.mem.y_size = args->y_size;
    insn.mem.x_size = args->x_size;
    insn.mem.x_stride = args->x_stride;
    insn.mem.y_pad_0 = args->y_pad_0;
    insn.mem.y_pad_1 = args->y_pad_1;
    insn.mem.x_pad_0 = args->x_pad_0;
    insn.mem.x_pad_1 = args->x_pad_1;
    vta_insn_set_pad_value(&insn, (int32_t)args->pad_value);
    return vta_insn_encode(&stream->config, &insn, word, &stream->diag);
}

/* A LOAD by the load unit, into INP or WGT. */
static vta_status append_load(vta_stream *stream, vta_memory memory, vta_word word, const span *entries,
                              buffer_record *buffer, const rectangle *area)
{
    uint32_t *reads = memory == VTA_MEM_INP ? stream->inp_uses : stream->wgt_reads;
    uint32_t *writes = memory == VTA_MEM_INP ? stream->inp_writes : stream->wgt_writes;
    const footprint touched = contiguous(entries);
    instant need = {0};
    need.at[COMPUTE_LINE] = vta_marks_latest(reads, &touched);
    need.at[STORE_LINE] = vta_pages_latest(&buffer->stores, area);
    uint32_t position;
    VTA_TRY(vta_order_append(stream, LOAD_LINE, word, need, &position));
    vta_marks_set(writes, &touched, position);
    return note(stream, &buffer->loads, area, position);
}

/* A LOAD by the compute unit, into ACC, which no other unit sees. */
static vta_status append_acc_load(vta_stream *stream, vta_word word, buffer_record *buffer,
                                  const rectangle *area)
{
    instant need = {0};
    need.at[STORE_LINE] = vta_pages_latest(&buffer->stores, area);
    uint32_t position;
    VTA_TRY(vta_order_append(stream, COMPUTE_LINE, word, need, &position));
    return note(stream, &buffer->compute_loads, area, position);
}

static vta_status load2d(vta_stream *stream, const vta_load2d *args)
{
    buffer_record *buffer = find_buffer(stream, args->buffer);
    vta_word word;
    span entries;
    rectangle area;
    if (buffer == NULL) {
        return stream->diag.code;
    }
    VTA_TRY(encode_load(stream, args, &word));
    const int64_t rows = args->x_size == 0 ? 0 : args->y_pad_0 + args->y_size + args->y_pad_1;
    const int64_t pitch = args->x_pad_0 + args->x_size + args->x_pad_1;
    VTA_TRY(check_sram(stream, args->memory, args->sram, rows, pitch, &entries));
    const transfer what = {args->buffer, args->memory, args->offset,
                           args->y_size, args->x_size, args->x_stride};
    VTA_TRY(check_transfer(stream, &what, buffer, &area));
    if (args->memory == VTA_MEM_ACC || args->memory == VTA_MEM_ACC8) {
        return append_acc_load(stream, word, buffer, &area);
    }
    return append_load(stream, args->memory, word, &entries, buffer, &area);
}

void vta_stream_load2d(vta_stream *stream, const vta_load2d *args)
{
    if (vta_call_begin(stream, "load2d")) {
        (void)load2d(stream, args);
        vta_call_end(stream);
    }
}

/* A table is 64 words of TAB, which compute alone sees; its place in DRAM is kept in whole granules. */
static vta_status table(vta_stream *stream, int64_t number, vta_buffer which, int64_t offset)
{
    enum { WORDS = 1 << VTA_LOG_TABLE_WORDS, BYTES = 4 * WORDS };
    buffer_record *buffer = find_buffer(stream, which);
    vta_word word;
    rectangle area;
    if (buffer == NULL) {
        return stream->diag.code;
    }
    if (number < 0 || number >= VTA_TABLES || offset % BYTES != 0) {
        return vta_fail(&stream->diag, VTA_RANGE,
                        "table %" PRId64 " from byte %" PRId64 ": tables are 0 … %d, from multiples of %d on",
                        number, offset, VTA_TABLES - 1, BYTES);
    }
    vta_insn insn = {.opcode = VTA_OP_LOAD};
    insn.mem.memory = VTA_MEM_TAB;
    insn.mem.sram_base = number * WORDS;
    insn.mem.segment = which.index;
    insn.mem.dram_base = offset / 4;
    insn.mem.y_size = 1;
    insn.mem.x_size = WORDS;
    insn.mem.x_stride = WORDS;
    VTA_TRY(vta_insn_encode(&stream->config, &insn, &word, &stream->diag));
    const transfer what = {which, VTA_MEM_TAB, offset / 4, 1, WORDS, WORDS};
    VTA_TRY(check_transfer(stream, &what, buffer, &area));
    const uint64_t first = (uint64_t)offset / stream->granule;
    const uint64_t end = ((uint64_t)offset + BYTES + stream->granule - 1) / stream->granule;
    area = (rectangle){.start = first, .length = end - first, .rows = 1, .pitch = end - first};
    return append_acc_load(stream, word, buffer, &area);
}

void vta_stream_table(vta_stream *stream, int64_t number, vta_buffer buffer, int64_t offset)
{
    if (vta_call_begin(stream, "table")) {
        (void)table(stream, number, buffer, offset);
        vta_call_end(stream);
    }
}

static vta_status store2d(vta_stream *stream, const vta_store2d *args)
{
    buffer_record *buffer = find_buffer(stream, args->buffer);
    vta_word word;
    span entries;
    rectangle area;
    if (buffer == NULL) {
        return stream->diag.code;
    }
    vta_insn insn = {.opcode = VTA_OP_STORE};
    insn.mem.memory = VTA_MEM_OUT;
    insn.mem.sram_base = args->sram;
    insn.mem.segment = args->buffer.index;
    insn.mem.dram_base = args->offset;
    insn.mem.y_size = args->y_size;
    insn.mem.x_size = args->x_size;
    insn.mem.x_stride = args->x_stride;
    VTA_TRY(vta_insn_encode(&stream->config, &insn, &word, &stream->diag));
    VTA_TRY(check_sram(stream, VTA_MEM_OUT, args->sram, args->y_size, args->x_size, &entries));
    const transfer what = {args->buffer, VTA_MEM_OUT,  args->offset,
                           args->y_size, args->x_size, args->x_stride};
    VTA_TRY(check_transfer(stream, &what, buffer, &area));

    const footprint touched = contiguous(&entries);
    const uint32_t computed = vta_marks_latest(stream->out_writes, &touched);
    const uint32_t loaded = vta_pages_latest(&buffer->compute_loads, &area);
    instant need = {0};
    need.at[COMPUTE_LINE] = computed > loaded ? computed : loaded;
    need.at[LOAD_LINE] = vta_pages_latest(&buffer->loads, &area);
    uint32_t position;
    VTA_TRY(vta_order_append(stream, STORE_LINE, word, need, &position));
    vta_marks_set(stream->out_reads, &touched, position);
    return note(stream, &buffer->stores, &area, position);
}

void vta_stream_store2d(vta_stream *stream, const vta_store2d *args)
{
    if (vta_call_begin(stream, "store2d")) {
        (void)store2d(stream, args);
        vta_call_end(stream);
    }
}

/* Order. */

void vta_stream_barrier(vta_stream *stream)
{
    if (!vta_call_begin(stream, "barrier")) {
        return;
    }
    if (stream->manual) {
        (void)vta_fail(&stream->diag, VTA_INVALID,
                       "a barrier is for streams whose tokens the library places");
    }
    for (int u = 0; u < LINES; u++) {
        stream->floor.at[u] = stream->lines[u].count;
    }
    vta_call_end(stream);
}

void vta_stream_manual(vta_stream *stream)
{
    if (!vta_call_begin(stream, "manual")) {
        return;
    }
    if (stream->count > 0) {
        (void)vta_fail(&stream->diag, VTA_INVALID,
                       "the stream has instructions already; it must come before the first");
    }
    stream->manual = true;
    vta_call_end(stream);
}

void vta_stream_flags(vta_stream *stream, uint32_t flags)
{
    const uint32_t all = VTA_POP_PREV | VTA_POP_NEXT | VTA_PUSH_PREV | VTA_PUSH_NEXT;
    if (!vta_call_begin(stream, "flags")) {
        return;
    }
    if (!stream->manual || (flags & ~all) != 0) {
        (void)vta_fail(&stream->diag, VTA_INVALID, "flags 0x%" PRIx32 " %s", flags,
                       stream->manual ? "have bits without a meaning"
                                      : "are for manual streams; call vta_stream_manual first");
    }
    stream->flags = flags;
    vta_call_end(stream);
}

void vta_stream_nop(vta_stream *stream, vta_unit unit)
{
    if (!vta_call_begin(stream, "nop")) {
        return;
    }
    if (unit < VTA_UNIT_LOAD || unit > VTA_UNIT_STORE) {
        (void)vta_fail(&stream->diag, VTA_INVALID, "unit %d has no nop; load, compute and store have",
                       (int)unit);
    } else {
        (void)vta_order_nop(stream, vta_line_of(unit), (instant){0}, NULL);
    }
    vta_call_end(stream);
}

static vta_status finish(vta_stream *stream, vta_code **out)
{
    const vta_insn insn = {.opcode = VTA_OP_FINISH};
    vta_word word;
    VTA_TRY(vta_insn_encode(&stream->config, &insn, &word, &stream->diag));
    stream->floor = (instant){0}; /* FINISH waits for all units by itself */
    VTA_TRY(vta_order_append(stream, COMPUTE_LINE, word, (instant){0}, NULL));
    stream->sealed = true;
    return vta_code_seal(stream, out);
}

vta_status vta_stream_finish(vta_stream *stream, vta_code **out, vta_diag *diag)
{
    *out = NULL;
    if (vta_call_begin(stream, "finish")) {
        (void)finish(stream, out);
        vta_call_end(stream);
    }
    const vta_status status = stream->diag.code;
    return status == VTA_OK ? VTA_OK : vta_fail(diag, status, "%s", stream->diag.text);
}
