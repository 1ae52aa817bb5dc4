/* SPDX-License-Identifier: Apache-2.0
 *
 * The container file. Little endian, without padding:
 *
 *   0   magic "VTAPROG\0"
 *   8   u32 version
 *   12  u32 flags: bit 0, source lines follow the code; bit 1, tags follow that
 *   16  u64 bytes of the file
 *   24  u64 checksum: FNV-1a over everything from byte 32 on
 *   32  u32 size, configuration as JSON
 *       u32 number of symbols; each: u32 size, name · u32 segment · u32 memory · u64 offset · u64 size
 *           · u32 flags (bit 0 data, bit 1 expectation) · data · expectation
 *       u32 number of instructions, 16 bytes each; with lines: as many u32; with tags: as many u32
 *
 * The reader trusts nothing: every size is compared with what is left of the file before it is used.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "asm_internal.h"
#include "vta/hash.h"
#include "vta/str.h"

enum {
    VERSION = 1,
    FLAG_LINES = 1,
    FLAG_TAGS = 2,
    FLAG_DATA = 1,
    FLAG_EXPECT = 2,
    AT_VERSION = 8,
    AT_SIZE = 16,
    AT_CHECKSUM = 24,
    AT_BODY = 32,
    SYMBOL_BYTES =
        32 /* of the smallest symbol, so that a count can be judged before memory is taken for it */
};

static const char magic[8] = "VTAPROG";

/* ---- writing */

static void put(vta_str *out, uint64_t value, size_t bytes)
{
    uint8_t text[8];
    for (size_t i = 0; i < bytes; i++) {
        text[i] = (uint8_t)(value >> (8 * i));
    }
    vta_str_append(out, text, bytes);
}

static void put_symbol(vta_str *out, const vta_symbol *symbol)
{
    const size_t size = strlen(symbol->name);
    put(out, size, 4);
    vta_str_append(out, symbol->name, size);
    put(out, symbol->segment, 4);
    put(out, (uint64_t)symbol->memory, 4);
    put(out, symbol->offset, 8);
    put(out, symbol->size, 8);
    put(out, (symbol->data != NULL ? FLAG_DATA : 0) | (symbol->expect != NULL ? FLAG_EXPECT : 0), 4);
    if (symbol->data != NULL) {
        vta_str_append(out, symbol->data, (size_t)symbol->size);
    }
    if (symbol->expect != NULL) {
        vta_str_append(out, symbol->expect, (size_t)symbol->size);
    }
}

static void put_body(vta_str *out, const vta_program *program, const char *json)
{
    put(out, strlen(json), 4);
    vta_str_put(out, json);
    put(out, program->symbol_count, 4);
    for (uint32_t i = 0; i < program->symbol_count; i++) {
        put_symbol(out, &program->symbols[i]);
    }
    put(out, program->insn_count, 4);
    for (uint32_t i = 0; i < program->insn_count; i++) {
        put(out, program->insns[i].w[0], 8);
        put(out, program->insns[i].w[1], 8);
    }
    for (uint32_t i = 0; program->lines != NULL && i < program->insn_count; i++) {
        put(out, program->lines[i], 4);
    }
    for (uint32_t i = 0; program->tags != NULL && i < program->insn_count; i++) {
        put(out, program->tags[i], 4);
    }
}

vta_status vta_program_write(const vta_program *program, uint8_t **bytes, size_t *size, vta_diag *diag)
{
    vta_str head = {0};
    vta_str body = {0};
    char *json = vta_config_to_json(&program->config);
    *bytes = NULL;
    *size = 0;
    if (json != NULL) {
        put_body(&body, program, json);
        vta_str_append(&head, magic, sizeof magic);
        put(&head, VERSION, 4);
        put(&head, (program->lines != NULL ? FLAG_LINES : 0) | (program->tags != NULL ? FLAG_TAGS : 0), 4);
        put(&head, AT_BODY + body.size, 8);
        put(&head, body.failed ? 0 : vta_hash_bytes(VTA_HASH_START, (const uint8_t *)body.text, body.size),
            8);
        head.failed = head.failed || body.failed;
        vta_str_append(&head, body.failed ? "" : body.text, body.failed ? 0 : body.size);
        *size = head.size;
        *bytes = (uint8_t *)vta_str_take(&head);
    }
    free(json);
    vta_str_free(&body);
    return *bytes != NULL ? VTA_OK : vta_fail(diag, VTA_NOMEM, "out of memory for the program file");
}

/* ---- reading */

typedef struct reader {
    const uint8_t *bytes;
    size_t size, at;
    const char *what;
    vta_program *out;
    vta_diag *diag;
} reader;

static vta_status damaged(reader *r, size_t at, const char *reason)
{
    return vta_fail(r->diag, VTA_SYNTAX, "%.300s: byte %zu: %s", r->what, at, reason);
}

static vta_status cut_short(reader *r, uint64_t wanted, const char *subject)
{
    (void)vta_fail(r->diag, VTA_SYNTAX, "%.300s: byte %zu: %s needs %" PRIu64 " bytes, %zu are left", r->what,
                   r->at, subject, wanted, r->size - r->at);
    return VTA_SYNTAX;
}

static uint64_t value_at(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return value;
}

static vta_status take(reader *r, size_t bytes, const char *subject, uint64_t *value)
{
    if (r->size - r->at < bytes) {
        return cut_short(r, bytes, subject);
    }
    *value = value_at(r->bytes + r->at, bytes);
    r->at += bytes;
    return VTA_OK;
}

static vta_status take32(reader *r, const char *subject, uint32_t *value)
{
    uint64_t wide = 0;
    VTA_TRY(take(r, 4, subject, &wide));
    *value = (uint32_t)wide;
    return VTA_OK;
}

/* A copy of the next bytes, terminated. */
static vta_status take_bytes(reader *r, uint64_t size, const char *subject, uint8_t **copy)
{
    if (r->size - r->at < size) {
        return cut_short(r, size, subject);
    }
    *copy = malloc((size_t)size + 1);
    if (*copy == NULL) {
        (void)vta_fail(r->diag, VTA_NOMEM, "out of memory for %s", subject);
        return VTA_NOMEM;
    }
    memcpy(*copy, r->bytes + r->at, (size_t)size);
    (*copy)[size] = '\0';
    r->at += (size_t)size;
    return VTA_OK;
}

static vta_status read_header(reader *r, uint32_t *flags)
{
    if (r->size < sizeof magic || memcmp(r->bytes, magic, sizeof magic) != 0) {
        return damaged(r, 0, "not a program file; it does not begin with 'VTAPROG'");
    }
    if (r->size < AT_BODY) {
        return damaged(r, r->size, "the file ends within its header of 32 bytes");
    }
    const uint64_t version = value_at(r->bytes + AT_VERSION, 4);
    if (version != VERSION) {
        return vta_fail(r->diag, VTA_UNSUPPORTED,
                        "%.300s: byte %d: version %" PRIu64 "; this reader knows %d", r->what, AT_VERSION,
                        version, VERSION);
    }
    const uint64_t size = value_at(r->bytes + AT_SIZE, 8);
    if (size != r->size) {
        return vta_fail(r->diag, VTA_SYNTAX,
                        "%.300s: byte %d: the file should have %" PRIu64 " bytes, it has %zu", r->what,
                        AT_SIZE, size, r->size);
    }
    if (value_at(r->bytes + AT_CHECKSUM, 8) !=
        vta_hash_bytes(VTA_HASH_START, r->bytes + AT_BODY, r->size - AT_BODY)) {
        return damaged(r, AT_CHECKSUM, "the checksum does not match; the file is damaged");
    }
    *flags = (uint32_t)value_at(r->bytes + AT_VERSION + 4, 4);
    if (*flags > (FLAG_LINES | FLAG_TAGS)) {
        return damaged(r, AT_VERSION + 4, "unknown flags");
    }
    r->at = AT_BODY;
    return VTA_OK;
}

static vta_status read_config(reader *r)
{
    uint32_t size = 0;
    uint8_t *json = NULL;
    vta_diag why = {0};
    VTA_TRY(take32(r, "the configuration's size", &size));
    const size_t at = r->at;
    VTA_TRY(take_bytes(r, size, "the configuration", &json));
    if (memchr(json, '\0', size) != NULL) {
        free(json);
        return damaged(r, at, "the configuration has a zero byte");
    }
    const vta_status status = vta_config_parse((const char *)json, "configuration", &r->out->config, &why);
    free(json);
    return status == VTA_OK ? VTA_OK : damaged(r, at, why.text);
}

static vta_status read_name(reader *r, vta_symbol *symbol)
{
    const size_t at = r->at;
    uint32_t size = 0;
    uint8_t *name = NULL;
    VTA_TRY(take32(r, "a name's size", &size));
    if (size > VTA_NAME_MAX) {
        return damaged(r, at, "a symbol's name is too long; limit: 200 characters");
    }
    VTA_TRY(take_bytes(r, size, "a name", &name));
    symbol->name = (char *)name;
    if (strlen(symbol->name) != size || !vta_name_is_legal(symbol->name)) {
        return damaged(r, at, "a symbol's name is empty, or has a character that none may have");
    }
    return VTA_OK;
}

/* All but the contents. */
static vta_status read_place(reader *r, vta_symbol *symbol, uint32_t *flags)
{
    const size_t at = r->at;
    uint32_t memory = 0;
    VTA_TRY(take32(r, "a segment", &symbol->segment));
    VTA_TRY(take32(r, "a memory", &memory));
    VTA_TRY(take(r, 8, "an offset", &symbol->offset));
    VTA_TRY(take(r, 8, "a size", &symbol->size));
    VTA_TRY(take32(r, "a symbol's flags", flags));
    if (memory >= VTA_MEM_COUNT || symbol->segment >= VTA_SEGMENTS || *flags > (FLAG_DATA | FLAG_EXPECT)) {
        return damaged(r, at, "a symbol's memory, segment or flags are out of range");
    }
    symbol->memory = (vta_memory)memory;
    return VTA_OK;
}

static vta_status read_symbol(reader *r, vta_symbol *symbol)
{
    uint32_t flags = 0;
    VTA_TRY(read_name(r, symbol));
    VTA_TRY(read_place(r, symbol, &flags));
    if (flags & FLAG_DATA) {
        VTA_TRY(take_bytes(r, symbol->size, "a symbol's data", &symbol->data));
    }
    if (flags & FLAG_EXPECT) {
        VTA_TRY(take_bytes(r, symbol->size, "a symbol's expectation", &symbol->expect));
    }
    return VTA_OK;
}

static vta_status read_symbols(reader *r)
{
    uint32_t count = 0;
    const size_t at = r->at;
    VTA_TRY(take32(r, "the number of symbols", &count));
    if (count > (r->size - r->at) / SYMBOL_BYTES) {
        return damaged(r, at, "more symbols than the file has room for");
    }
    r->out->symbols = calloc((size_t)count + 1, sizeof *r->out->symbols);
    if (r->out->symbols == NULL) {
        return vta_fail(r->diag, VTA_NOMEM, "out of memory for %" PRIu32 " symbols", count);
    }
    for (uint32_t i = 0; i < count; i++) {
        r->out->symbol_count = i + 1;
        VTA_TRY(read_symbol(r, &r->out->symbols[i]));
    }
    vta_diag why = {0};
    return vta_program_verify(r->out, &why) == VTA_OK ? VTA_OK : damaged(r, at, why.text);
}

/* One number for each instruction. */
static vta_status read_numbers(reader *r, uint32_t count, const char *subject, uint32_t **numbers)
{
    *numbers = calloc((size_t)count + 1, sizeof **numbers);
    if (*numbers == NULL) {
        return vta_fail(r->diag, VTA_NOMEM, "out of memory for %" PRIu32 " instructions", count);
    }
    for (uint32_t i = 0; i < count; i++) {
        VTA_TRY(take32(r, subject, &(*numbers)[i]));
    }
    return VTA_OK;
}

static vta_status read_code(reader *r, uint32_t flags)
{
    const bool lines = (flags & FLAG_LINES) != 0;
    const bool tags = (flags & FLAG_TAGS) != 0;
    uint32_t count = 0;
    const size_t at = r->at;
    VTA_TRY(take32(r, "the number of instructions", &count));
    const size_t each = VTA_INSN_BYTES + (lines ? 4U : 0U) + (tags ? 4U : 0U);
    if (count > VTA_PROGRAM_INSNS_MAX || r->size - r->at != count * each) {
        return damaged(r, at, "the number of instructions does not agree with the size of the file");
    }
    r->out->insns = calloc((size_t)count + 1, sizeof *r->out->insns);
    if (r->out->insns == NULL) {
        return vta_fail(r->diag, VTA_NOMEM, "out of memory for %" PRIu32 " instructions", count);
    }
    for (uint32_t i = 0; i < count; i++) {
        r->out->insns[i].w[0] = value_at(r->bytes + r->at, 8);
        r->out->insns[i].w[1] = value_at(r->bytes + r->at + 8, 8);
        r->at += VTA_INSN_BYTES;
    }
    r->out->insn_count = count;
    VTA_TRY(lines ? read_numbers(r, count, "a line", &r->out->lines) : VTA_OK);
    return tags ? read_numbers(r, count, "a tag", &r->out->tags) : VTA_OK;
}

static vta_status read_all(reader *r)
{
    uint32_t flags = 0;
    VTA_TRY(read_header(r, &flags));
    VTA_TRY(read_config(r));
    VTA_TRY(read_symbols(r));
    return read_code(r, flags);
}

vta_status vta_program_read(const uint8_t *bytes, size_t size, const char *what, vta_program *out,
                            vta_diag *diag)
{
    *out = (vta_program){0};
    reader r = {.bytes = bytes, .size = size, .what = what, .out = out, .diag = diag};
    const vta_status status = read_all(&r);
    if (status != VTA_OK) {
        vta_program_free(out);
    }
    return status;
}
