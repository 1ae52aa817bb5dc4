/* SPDX-License-Identifier: Apache-2.0
 *
 * Named DRAM: .data, .uops and .expect, and the lists of values that all three take.
 */
#include <stdlib.h>
#include <string.h>

#include "asm_internal.h"
#include "vta/vec.h"

/* Bytes under construction: the contents of one symbol, as they will stand in DRAM. */
typedef struct contents {
    uint8_t *bytes;
    size_t size, capacity;
    uint64_t limit; /* bytes of the symbol; UINT64_MAX where the contents decide */
    vta_memory memory;
    uint32_t lane_bytes;
    int64_t low, high; /* bounds of a lane */
    char name[VTA_SHOWN];
} contents;

static const struct {
    const char *name;
    vta_memory memory;
} memories[] = {
#define VTA_MEMORY(id, value, name, doc) {name, VTA_MEM_##id},
#include "vta/isa.def"
};

vta_status vta_asm_memory(const vta_token *token, const vta_asm *a, vta_memory *memory)
{
    const char *text = a->text + token->start;
    for (size_t i = 0; i < sizeof memories / sizeof memories[0]; i++) {
        const size_t size = strlen(memories[i].name);
        if (token->kind == VTA_TOKEN_NAME && token->size == size &&
            memcmp(text, memories[i].name, size) == 0) {
            *memory = memories[i].memory;
            return VTA_OK;
        }
    }
    return VTA_INVALID;
}

static contents contents_of(const vta_asm *a, vta_memory memory, uint64_t limit, const vta_token *name)
{
    contents c = {.limit = limit, .memory = memory};
    c.lane_bytes = a->config.elem_bytes[memory] / vta_program_lanes(&a->config, memory);
    c.low = memory == VTA_MEM_UOP ? 0 : c.lane_bytes == 1 ? INT8_MIN : INT32_MIN;
    c.high = memory == VTA_MEM_UOP ? UINT32_MAX : c.lane_bytes == 1 ? INT8_MAX : INT32_MAX;
    (void)strcpy(c.name, "");
    const char *shown = vta_asm_show(a, name, c.name);
    if (shown != c.name) {
        (void)strcpy(c.name, "it");
    }
    return c;
}

/* Room for `lanes` more; they are zero. NULL, with the message written, where they are too many. */
static uint8_t *reserve(vta_asm *a, contents *c, uint64_t lanes, const vta_token *at, vta_status *status)
{
    const uint64_t room = (c->limit - c->size) / c->lane_bytes;
    const uint64_t left = (VTA_PROGRAM_BYTES_MAX - a->bytes) / c->lane_bytes;
    if (lanes > room) {
        *status = vta_asm_fail(a, at, "too many values for %s; it holds %llu", c->name,
                               (unsigned long long)(c->limit / c->lane_bytes));
        return NULL;
    }
    if (lanes > left) {
        *status = vta_asm_fail(a, at, "too much data; limit: %d bytes altogether", VTA_PROGRAM_BYTES_MAX);
        return NULL;
    }
    const size_t bytes = (size_t)lanes * c->lane_bytes;
    uint8_t *grown = vta_grow(c->bytes, &c->capacity, c->size + bytes + 1, 1);
    if (grown == NULL) {
        *status = vta_fail(a->diag, VTA_NOMEM, "out of memory for the contents of %s", c->name);
        return NULL;
    }
    c->bytes = grown;
    uint8_t *added = grown + c->size;
    memset(added, 0, bytes);
    c->size += bytes;
    a->bytes += bytes;
    return added;
}

static void put_lane(uint8_t *bytes, uint32_t lane_bytes, int64_t value)
{
    for (uint32_t i = 0; i < lane_bytes; i++) {
        bytes[i] = (uint8_t)((uint64_t)value >> (8 * i));
    }
}

/* All values that still fit. */
static vta_status rest_of(vta_asm *a, const contents *c, const vta_token *at, int64_t *count)
{
    if (c->limit == UINT64_MAX) {
        return vta_asm_fail(a, at, "how many? give a count here, or %s a number of elements", c->name);
    }
    *count = (int64_t)((c->limit - c->size) / c->lane_bytes);
    return VTA_OK;
}

/* fill(VALUE [, COUNT]) */
static vta_status fill(vta_asm *a, contents *c, const vta_token *at)
{
    int64_t value = 0;
    int64_t count = 0;
    bool more = false;
    VTA_TRY(vta_expr_within(a, "value", c->low, c->high, &value));
    VTA_TRY(vta_take_mark(a, ',', &more));
    VTA_TRY(more ? vta_expr_within(a, "count", 0, INT64_MAX, &count) : rest_of(a, c, at, &count));
    vta_status status = VTA_OK;
    uint8_t *bytes = reserve(a, c, (uint64_t)count, at, &status);
    for (int64_t i = 0; bytes != NULL && i < count; i++) {
        put_lane(bytes + (size_t)i * c->lane_bytes, c->lane_bytes, value);
    }
    return status;
}

/* The sequence that ASM.md states: SplitMix64. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* random(SEED [, LOW, HIGH [, COUNT]]) */
static vta_status fill_random(vta_asm *a, contents *c, const vta_token *at)
{
    int64_t seed = 0;
    int64_t low = c->low;
    int64_t high = c->high;
    int64_t count = 0;
    bool more = false;
    VTA_TRY(vta_expr(a, &seed));
    VTA_TRY(vta_take_mark(a, ',', &more));
    if (more) {
        VTA_TRY(vta_expr_within(a, "smallest value", c->low, c->high, &low));
        VTA_TRY(vta_need_mark(a, ',', "',' and the largest value"));
        VTA_TRY(vta_expr_within(a, "largest value", low, c->high, &high));
        VTA_TRY(vta_take_mark(a, ',', &more));
    }
    VTA_TRY(more ? vta_expr_within(a, "count", 0, INT64_MAX, &count) : rest_of(a, c, at, &count));
    vta_status status = VTA_OK;
    uint8_t *bytes = reserve(a, c, (uint64_t)count, at, &status);
    uint64_t state = (uint64_t)seed;
    const uint64_t span = (uint64_t)(high - low) + 1;
    for (int64_t i = 0; bytes != NULL && i < count; i++) {
        const int64_t value = low + (int64_t)(next_random(&state) % span);
        put_lane(bytes + (size_t)i * c->lane_bytes, c->lane_bytes, value);
    }
    return status;
}

/* "text": one lane a byte. */
static vta_status text_item(vta_asm *a, contents *c)
{
    const vta_token at = a->lex.token;
    vta_status status = VTA_OK;
    uint8_t *bytes = reserve(a, c, at.size - 2, &at, &status);
    for (size_t i = 0; bytes != NULL && i < at.size - 2; i++) {
        put_lane(bytes + i * c->lane_bytes, c->lane_bytes, (int8_t)a->text[at.start + 1 + i]);
    }
    return status != VTA_OK ? status : vta_lex_next(a);
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c == '\0' ? NULL : strchr(digits, c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c);
    return at == NULL ? -1 : (int)(at - digits);
}

/* hex "00 ff 7f…": bytes as they stand in memory. */
static vta_status hex_item(vta_asm *a, contents *c)
{
    const vta_token at = a->lex.token;
    if (at.kind != VTA_TOKEN_STRING) {
        return vta_asm_expected(a, "a string of hexadecimal digits");
    }
    size_t digits = 0;
    for (size_t i = 1; i + 1 < at.size; i++) {
        const char d = a->text[at.start + i];
        if (d != ' ' && hex_digit(d) < 0) {
            return vta_asm_fail(a, &at, "expected hexadecimal digits and spaces only");
        }
        digits += d != ' ';
    }
    if (digits % (2 * c->lane_bytes) != 0) {
        return vta_asm_fail(a, &at, "%zu hexadecimal digits; expected a multiple of %u", digits,
                            2 * c->lane_bytes);
    }
    vta_status status = VTA_OK;
    uint8_t *bytes = reserve(a, c, digits / (2 * c->lane_bytes), &at, &status);
    size_t digit = 0;
    for (size_t i = 1; bytes != NULL && i + 1 < at.size; i++) {
        const int value = hex_digit(a->text[at.start + i]);
        if (value >= 0) {
            bytes[digit / 2] = (uint8_t)(bytes[digit / 2] << 4 | value);
            digit++;
        }
    }
    return status != VTA_OK ? status : vta_lex_next(a);
}

static vta_status value_item(vta_asm *a, void *context)
{
    contents *c = context;
    const vta_token at = a->lex.token;
    bool is_fill = false;
    bool is_random = false;
    bool is_hex = false;
    if (at.kind == VTA_TOKEN_STRING) {
        return text_item(a, c);
    }
    VTA_TRY(vta_take_word(a, "hex", &is_hex));
    if (is_hex) {
        return hex_item(a, c);
    }
    VTA_TRY(vta_take_word(a, "fill", &is_fill));
    VTA_TRY(is_fill ? VTA_OK : vta_take_word(a, "random", &is_random));
    if (is_fill || is_random) {
        VTA_TRY(vta_need_mark(a, '(', "'('"));
        VTA_TRY(is_fill ? fill(a, c, &at) : fill_random(a, c, &at));
        return vta_need_mark(a, ')', "')'");
    }
    int64_t value = 0;
    VTA_TRY(vta_expr_within(a, "value", c->low, c->high, &value));
    vta_status status = VTA_OK;
    uint8_t *bytes = reserve(a, c, 1, &at, &status);
    if (bytes != NULL) {
        put_lane(bytes, c->lane_bytes, value);
    }
    return status;
}

/* A list on the line, or in braces over several. */
static vta_status value_list(vta_asm *a, contents *c)
{
    if (vta_at_mark(a, '{')) {
        return vta_asm_body(a, value_item, c, true);
    }
    for (bool more = true; more;) {
        VTA_TRY(value_item(a, c));
        VTA_TRY(vta_take_mark(a, ',', &more));
    }
    return VTA_OK;
}

/* The place that a symbol is to have. */
typedef struct place {
    int64_t segment, offset, sram; /* -1: not said */
} place;

static vta_status place_offset(vta_asm *a, const contents *c, place *where)
{
    const vta_token at = a->lex.token;
    VTA_TRY(vta_expr_within(a, "offset", 0, VTA_PROGRAM_SPACE_MAX, &where->offset));
    if (where->offset % a->config.elem_bytes[c->memory] != 0) {
        return vta_asm_fail(a, &at, "offset %lld is not a multiple of the %u bytes of an element",
                            (long long)where->offset, a->config.elem_bytes[c->memory]);
    }
    return VTA_OK;
}

/* [sram ENTRY] [in SEGMENT] [at OFFSET], in any order */
static vta_status place_options(vta_asm *a, const contents *c, place *where, bool kernel)
{
    const int64_t entries = a->config.depth[VTA_MEM_UOP];
    for (;;) {
        bool in = false;
        bool at = false;
        bool sram = false;
        VTA_TRY(vta_take_word(a, "in", &in));
        VTA_TRY(in ? vta_expr_within(a, "segment", 0, VTA_SEGMENTS - 1, &where->segment) : VTA_OK);
        VTA_TRY(vta_take_word(a, "at", &at));
        VTA_TRY(at ? place_offset(a, c, where) : VTA_OK);
        VTA_TRY(kernel ? vta_take_word(a, "sram", &sram) : VTA_OK);
        VTA_TRY(sram ? vta_expr_within(a, "scratchpad entry", 0, entries - 1, &where->sram) : VTA_OK);
        if (!in && !at && !sram) {
            return VTA_OK;
        }
    }
}

static vta_status place_symbol(vta_asm *a, const vta_token *at, const place *where, vta_symbol *symbol)
{
    const uint64_t align = vta_program_alignment(&a->config);
    symbol->segment = where->segment >= 0 ? (uint32_t)where->segment : (uint32_t)symbol->memory;
    uint64_t *end = &a->segment_end[symbol->segment];
    symbol->offset = where->offset >= 0 ? (uint64_t)where->offset : (*end + align - 1) / align * align;
    if (symbol->size > VTA_PROGRAM_SPACE_MAX || symbol->offset > VTA_PROGRAM_SPACE_MAX - symbol->size) {
        return vta_asm_fail(a, at, "segment %u grows beyond %d bytes", symbol->segment,
                            VTA_PROGRAM_SPACE_MAX);
    }
    const uint64_t reach = symbol->offset + symbol->size;
    *end = *end > reach ? *end : reach;
    return VTA_OK;
}

/* Takes the contents over, also when it fails. */
static vta_status add_symbol(vta_asm *a, const vta_token *at, const place *where, contents *c, uint64_t size)
{
    vta_symbol symbol = {.memory = c->memory, .size = size, .data = c->bytes};
    c->bytes = NULL;
    vta_status status = place_symbol(a, at, where, &symbol);
    vta_program *program = a->program;
    vta_symbol *grown =
        vta_grow(program->symbols, &a->symbol_capacity, (size_t)program->symbol_count + 1, sizeof *grown);
    symbol.name = malloc(at->size + 1);
    if (status == VTA_OK && (grown == NULL || symbol.name == NULL)) {
        (void)vta_fail(a->diag, VTA_NOMEM, "out of memory for symbols");
        status = VTA_NOMEM;
    }
    program->symbols = grown == NULL ? program->symbols : grown;
    if (status != VTA_OK) {
        free(symbol.name);
        free(symbol.data);
        return status;
    }
    memcpy(symbol.name, a->text + at->start, at->size);
    symbol.name[at->size] = '\0';
    program->symbols[program->symbol_count++] = symbol;
    return VTA_OK;
}

/* Brings the contents to whole elements, or to the size that was said, with zeros. */
static vta_status complete(vta_asm *a, contents *c, uint64_t *size, const vta_token *at)
{
    const uint64_t element = a->config.elem_bytes[c->memory];
    vta_status status = VTA_OK;
    if (c->limit == UINT64_MAX) {
        *size = (c->size + element - 1) / element * element;
    }
    if (c->bytes != NULL) {
        (void)reserve(a, c, (*size - c->size) / c->lane_bytes, at, &status);
    }
    return status;
}

static vta_status data_parts(vta_asm *a, const vta_token *name, contents *c)
{
    place where = {-1, -1, -1};
    int64_t count = 0;
    const bool sized =
        !vta_at_line_end(a) && !vta_at_word(a, "in") && !vta_at_word(a, "at") && !vta_at_mark(a, '=');
    const uint64_t element = a->config.elem_bytes[c->memory];
    if (sized) {
        VTA_TRY(
            vta_expr_within(a, "number of elements", 1, (int64_t)(VTA_PROGRAM_SPACE_MAX / element), &count));
        c->limit = (uint64_t)count * element;
    }
    uint64_t size = (uint64_t)count * element;
    VTA_TRY(place_options(a, c, &where, false));
    bool given = false;
    VTA_TRY(vta_take_mark(a, '=', &given));
    if (given) {
        VTA_TRY(value_list(a, c));
        VTA_TRY(complete(a, c, &size, name));
    } else if (!sized) {
        return vta_asm_expected(a, "a number of elements, or '=' and contents");
    }
    if (size == 0) {
        return vta_asm_fail(a, name, "%s is empty; it needs at least one element", c->name);
    }
    return add_symbol(a, name, &where, c, size);
}

vta_status vta_asm_data(vta_asm *a)
{
    vta_token name;
    vta_memory memory = VTA_MEM_UOP;
    VTA_TRY(vta_take_symbol_name(a, "a name for the data", &name));
    if (vta_asm_memory(&a->lex.token, a, &memory) != VTA_OK) {
        return vta_asm_expected(a, "a memory: uop, wgt, inp, acc, out, acc8, tab or wgt4");
    }
    VTA_TRY(vta_lex_next(a));
    contents c = contents_of(a, memory, UINT64_MAX, &name);
    const vta_status status = data_parts(a, &name, &c);
    free(c.bytes);
    VTA_TRY(status);
    return vta_names_define(a, &name, VTA_NAME_DATA, (int64_t)a->program->symbol_count - 1);
}

/* DST [, SRC [, AUX]] */
static vta_status uop_item(vta_asm *a, void *context)
{
    contents *c = context;
    const vta_token at = a->lex.token;
    int64_t values[3] = {0};
    bool more = true;
    for (int i = 0; i < 3 && more; i++) {
        VTA_TRY(vta_expr_within(a, "micro-op field", 0, UINT32_MAX, &values[i]));
        VTA_TRY(vta_take_mark(a, ',', &more));
    }
    if (more) {
        return vta_asm_fail(a, &at, "too many values for a micro-op; expected dst, src and aux");
    }
    const vta_uop uop = {.dst = (uint32_t)values[0], .src = (uint32_t)values[1], .aux = (uint32_t)values[2]};
    uint32_t word = 0;
    vta_diag why = {0};
    if (vta_uop_encode(&a->config, &uop, &word, &why) != VTA_OK) {
        return vta_asm_fail(a, &at, "%s", why.text);
    }
    vta_status status = VTA_OK;
    uint8_t *bytes = reserve(a, c, 1, &at, &status);
    if (bytes != NULL) {
        put_lane(bytes, c->lane_bytes, word);
    }
    return status;
}

static vta_status uops_parts(vta_asm *a, const vta_token *name, contents *c, place *where)
{
    VTA_TRY(place_options(a, c, where, true));
    VTA_TRY(vta_asm_body(a, uop_item, c, false));
    if (c->size == 0) {
        return vta_asm_fail(a, name, "%s is empty; it needs at least one micro-op", c->name);
    }
    return add_symbol(a, name, where, c, c->size);
}

vta_status vta_asm_uops(vta_asm *a)
{
    vta_token name;
    VTA_TRY(vta_take_symbol_name(a, "a name for the kernel", &name));
    place where = {-1, -1, -1};
    contents c = contents_of(a, VTA_MEM_UOP, UINT64_MAX, &name);
    const vta_status status = uops_parts(a, &name, &c, &where);
    free(c.bytes);
    VTA_TRY(status);
    VTA_TRY(vta_names_define(a, &name, VTA_NAME_KERNEL, (int64_t)a->program->symbol_count - 1));
    vta_name *kernel = vta_names_find(a, &name);
    kernel->place = where.sram >= 0 ? (uint32_t)where.sram : a->next_place;
    a->next_place = kernel->place + (uint32_t)(c.size / VTA_UOP_BYTES);
    return VTA_OK;
}

static vta_status expect_values(vta_asm *a, const vta_token *name, contents *c)
{
    VTA_TRY(vta_need_mark(a, '=', "'=' and the expected contents"));
    VTA_TRY(value_list(a, c));
    if (c->size != c->limit) {
        return vta_asm_fail(a, name, "%zu values are expected of %s, which holds %llu",
                            c->size / c->lane_bytes, c->name, (unsigned long long)(c->limit / c->lane_bytes));
    }
    return VTA_OK;
}

vta_status vta_asm_expect(vta_asm *a)
{
    const vta_name *name = vta_names_symbol(a);
    vta_token token;
    if (name == NULL && a->lex.token.kind == VTA_TOKEN_NAME && vta_names_find(a, &a->lex.token) != NULL) {
        return vta_asm_expected(a, "the name of data");
    }
    VTA_TRY(vta_take_symbol_name(a, "the name of data", &token));
    if (name == NULL) {
        return vta_names_undefined(a, &token);
    }
    const size_t index = (size_t)name->value;
    const vta_symbol *symbol = &a->program->symbols[index];
    contents c = contents_of(a, symbol->memory, symbol->size, &token);
    if (symbol->expect != NULL) {
        return vta_asm_fail(a, &token, "duplicate expectation for %s", c.name);
    }
    const vta_status status = expect_values(a, &token, &c);
    if (status != VTA_OK) {
        free(c.bytes);
        return status;
    }
    a->program->symbols[index].expect = c.bytes;
    return VTA_OK;
}
