/* SPDX-License-Identifier: Apache-2.0
 *
 * Configurations: JSON in, one checked struct out. Every key and its bounds come from config.def; what keys
 * must fulfil together stands in `check_depths` and below, after ISA.md §1.
 */
#include "vta/config.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_shipped.h"
#include "json.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/hash.h"
#include "vta/isa.h"
#include "vta/str.h"

enum {
    MAX_FILE_BYTES = 1 << 20,
    MAX_LOG_ELEM_BYTES = 12, /* an element must fit in a page */
#define VTA_CONFIG(field, key, def, min, max, hw, doc) MAX_##field = (max),
#include "vta/config.def"
#undef VTA_CONFIG
};
_Static_assert(MAX_log_block_in + MAX_log_block_out <= MAX_LOG_ELEM_BYTES, "weight elements fit in a page");
_Static_assert(MAX_log_batch + MAX_log_block_in <= MAX_LOG_ELEM_BYTES, "input elements fit in a page");
_Static_assert(MAX_log_batch + MAX_log_block_out + 2 <= MAX_LOG_ELEM_BYTES, "accumulators fit in a page");

/* A numeric key and the member of vta_config behind it. The name lies in the row, since a pointer would need
 * a relocation. */
typedef struct number_key {
    char name[18];
    uint16_t offset;
    uint32_t def, min, max;
    uint32_t hw; /* as in config.def */
} number_key;

static const number_key number_keys[] = {
#define VTA_CONFIG(field, key, def, min, max, hw, doc)                                                       \
    {key, offsetof(vta_config, field), (def), (min), (max), (hw)},
#include "vta/config.def"
#undef VTA_CONFIG
};

typedef struct string_key {
    char name[12];
    uint16_t offset;
} string_key;

static const string_key string_keys[] = {
#define VTA_CONFIG(field, key, def, min, max, hw, doc)
#define VTA_CONFIG_TEXT(field, key, doc) {key, offsetof(vta_config, field)},
#include "vta/config.def"
#undef VTA_CONFIG_TEXT
#undef VTA_CONFIG
};

/* Values of `hw`. */
enum { LATE = 2, UNWRITTEN = 3 };

enum {
    NUMBERS = sizeof number_keys / sizeof number_keys[0],
    STRINGS = sizeof string_keys / sizeof string_keys[0],
    STRING_SIZE = sizeof(((vta_config *)0)->name)
};

/* True for a key that is left out of what is written down where it has its default. */
static bool is_unwritten(const number_key *key)
{
#define VTA_CONFIG(field, key, def, min, max, hw, doc)
#define VTA_CONFIG_LATE(field) || key->offset == offsetof(vta_config, field)
    return key->hw == UNWRITTEN
#include "vta/config.def"
        ;
#undef VTA_CONFIG_LATE
#undef VTA_CONFIG
}

/* VTA's one key for both sides of the array. */
static const char block_key[] = "LOG_BLOCK";

static uint32_t *number(vta_config *config, const number_key *key)
{
    return (uint32_t *)((char *)config + key->offset);
}

static uint32_t number_of(const vta_config *config, const number_key *key)
{
    uint32_t value = 0;
    memcpy(&value, (const char *)config + key->offset, sizeof value);
    return value;
}

static const number_key *find_number(const char *name)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        if (strcmp(number_keys[i].name, name) == 0) {
            return &number_keys[i];
        }
    }
    return NULL;
}

static const string_key *find_string(const char *name)
{
    for (size_t i = 0; i < STRINGS; i++) {
        if (strcmp(string_keys[i].name, name) == 0) {
            return &string_keys[i];
        }
    }
    return NULL;
}

static vta_status unknown_key(const char *name, vta_diag *diag)
{
    const char *names[NUMBERS + STRINGS + 1];
    size_t count = 0;
    for (size_t i = 0; i < NUMBERS; i++) {
        names[count++] = number_keys[i].name;
    }
    for (size_t i = 0; i < STRINGS; i++) {
        names[count++] = string_keys[i].name;
    }
    names[count++] = block_key;
    const char *nearest = vta_nearest(name, names, count);
    if (nearest != NULL) {
        return vta_fail(diag, VTA_INVALID, "unknown key '%.64s', did you mean '%s'?", name, nearest);
    }
    return vta_fail(diag, VTA_INVALID, "unknown key '%.64s'", name);
}

static vta_status wrong_type(const vta_json_item *item, const char *wanted, vta_diag *diag)
{
    const char *quote = item->kind == VTA_JSON_STRING ? "\"" : "";
    return vta_fail(diag, VTA_INVALID, "key '%s' is %s%.64s%s, it must be %s", item->key, quote, item->text,
                    quote, wanted);
}

static vta_status read_number(const vta_json_item *item, const number_key *key, uint32_t *out, vta_diag *diag)
{
    if (item->kind != VTA_JSON_NUMBER) {
        return wrong_type(item, "a number", diag);
    }
    const double value = item->number;
    if (!(value >= key->min && value <= key->max)) {
        return vta_fail(diag, VTA_RANGE, "key '%s' is %.17g, out of range (%" PRIu32 " to %" PRIu32 ")",
                        item->key, value, key->min, key->max);
    }
    if (value != floor(value)) {
        return vta_fail(diag, VTA_RANGE,
                        "key '%s' is %.17g, it must be a whole number (%" PRIu32 " to %" PRIu32 ")",
                        item->key, value, key->min, key->max);
    }
    *out = (uint32_t)value;
    return VTA_OK;
}

static bool is_plain(char c)
{
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static vta_status read_string(const vta_json_item *item, char *out, vta_diag *diag)
{
    if (item->kind != VTA_JSON_STRING) {
        return wrong_type(item, "a string", diag);
    }
    const char *text = item->text;
    const size_t size = strlen(text);
    if (size == 0 || size >= STRING_SIZE) {
        return vta_fail(diag, VTA_RANGE, "key '%s' has %zu characters (1 to %d)", item->key, size,
                        STRING_SIZE - 1);
    }
    const bool name = strcmp(item->key, "NAME") == 0;
    for (size_t i = 0; i < size; i++) {
        if (!(name ? is_name(text[i]) : is_plain(text[i]))) {
            return vta_fail(diag, VTA_INVALID, "key '%s' has an illegal character at position %zu (%s)",
                            item->key, i + 1,
                            name ? "letters, digits, '_', '-' and '.' are allowed" : "plain text is allowed");
        }
    }
    memcpy(out, text, size + 1);
    return VTA_OK;
}

/* The earlier key of the object that sets the same as `item`: that key again, or LOG_BLOCK beside
 * LOG_BLOCK_IN or _OUT. NULL: there is none. */
static const char *set_before(const vta_json_item *items, const vta_json_item *item)
{
    const bool block = strncmp(item->key, block_key, sizeof block_key - 1) == 0;
    for (const vta_json_item *other = items; other != item; other = other->next) {
        const bool same = strcmp(other->key, item->key) == 0;
        const bool both = block && strcmp(other->key, block_key) == 0;
        const bool part =
            strcmp(item->key, block_key) == 0 && strncmp(other->key, block_key, sizeof block_key - 1) == 0;
        if (same || both || part) {
            return other->key;
        }
    }
    return NULL;
}

static vta_status read_key(const vta_json_item *item, vta_config *out, vta_diag *diag)
{
    const string_key *text = find_string(item->key);
    if (text != NULL) {
        return read_string(item, (char *)out + text->offset, diag);
    }
    const bool block = strcmp(item->key, block_key) == 0;
    const number_key *key = find_number(block ? "LOG_BLOCK_IN" : item->key);
    if (key == NULL) {
        return unknown_key(item->key, diag);
    }
    VTA_TRY(read_number(item, key, number(out, key), diag));
    if (block) {
        out->log_block_out = out->log_block_in;
    }
    return VTA_OK;
}

static vta_status read_keys(const vta_json_item *items, vta_config *out, vta_diag *diag)
{
    for (const vta_json_item *item = items; item != NULL; item = item->next) {
        const char *before = set_before(items, item);
        if (before != NULL && strcmp(before, item->key) == 0) {
            return vta_fail(diag, VTA_INVALID, "key '%.64s' stands there twice", item->key);
        }
        VTA_TRY(read_key(item, out, diag));
        if (before != NULL) {
            return vta_fail(diag, VTA_INVALID, "keys '%s' and '%s' set the same value, remove one", before,
                            item->key);
        }
    }
    return VTA_OK;
}

/* The buffer's depth is 2^(buff - elem) entries: between 2 and 2^max. `keys` names what the element depends
 * on. */
static vta_status check_depth(const char *key, uint32_t buff, const char *entry, uint32_t elem, uint32_t max,
                              vta_diag *diag)
{
    if (buff < elem + 1) {
        return vta_fail(diag, VTA_RANGE,
                        "key '%s' is %" PRIu32 ": %s of 2^%" PRIu32 " bytes need at least %" PRIu32
                        " (2 entries)",
                        key, buff, entry, elem, elem + 1);
    }
    if (buff > elem + max) {
        return vta_fail(diag, VTA_RANGE,
                        "key '%s' is %" PRIu32 ": with %s of 2^%" PRIu32 " bytes it may be at most %" PRIu32
                        " (2^%" PRIu32 " entries, the width of an index)",
                        key, buff, entry, elem, elem + max, max);
    }
    return VTA_OK;
}

/* Checks the depth of each scratchpad by itself. */
static vta_status check_depths(const vta_config *c, vta_diag *diag)
{
    VTA_TRY(check_depth("LOG_UOP_BUFF_SIZE", c->log_uop_buff, "micro-ops", 2, 13, diag));
    VTA_TRY(check_depth("LOG_INP_BUFF_SIZE", c->log_inp_buff, "inputs (LOG_BATCH, LOG_BLOCK_IN)",
                        c->log_batch + c->log_block_in, 13, diag));
    VTA_TRY(check_depth("LOG_WGT_BUFF_SIZE", c->log_wgt_buff, "weights (LOG_BLOCK_IN, LOG_BLOCK_OUT)",
                        c->log_block_in + c->log_block_out, 13, diag));
    return check_depth("LOG_ACC_BUFF_SIZE", c->log_acc_buff, "accumulators (LOG_BATCH, LOG_BLOCK_OUT)",
                       c->log_batch + c->log_block_out + 2, 11, diag);
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Checks that the indices that share a micro-op fit in it together. */
static vta_status check_sums(const vta_config *c, vta_diag *diag)
{
    const uint32_t a = c->log_depth[VTA_MEM_ACC];
    const uint32_t i = c->log_depth[VTA_MEM_INP];
    const uint32_t w = c->log_depth[VTA_MEM_WGT];
    const uint32_t m = larger(a, i);
    if (a + m + w > 32) {
        return vta_fail(diag, VTA_RANGE,
                        "keys 'LOG_ACC_BUFF_SIZE' %" PRIu32 ", 'LOG_INP_BUFF_SIZE' %" PRIu32
                        ", 'LOG_WGT_BUFF_SIZE' %" PRIu32 " make 2^%" PRIu32 ", 2^%" PRIu32 " and 2^%" PRIu32
                        " entries: %" PRIu32 " index bits in a micro-op (limit: 32)",
                        c->log_acc_buff, c->log_inp_buff, c->log_wgt_buff, a, i, w, a + m + w);
    }
    if (a + m + a - 1 > 32) {
        return vta_fail(diag, VTA_RANGE,
                        "keys 'LOG_ACC_BUFF_SIZE' %" PRIu32 ", 'LOG_INP_BUFF_SIZE' %" PRIu32
                        " make 2^%" PRIu32 " and 2^%" PRIu32 " entries: %" PRIu32
                        " bits in a micro-op that names a parameter pair (limit: 32)",
                        c->log_acc_buff, c->log_inp_buff, a, i, a + m + a - 1);
    }
    return VTA_OK;
}

/* At twice the clock, the multipliers of the two halves of a reduction are the same: the depthwise taps of
 * all lanes must find weight rows of their own, every other one (vta_array_dsp.v). */
static vta_status check_pump(const vta_config *c, vta_diag *diag)
{
    if (c->array_pump == 2 && c->log_block_out < 4 && c->log_block_in <= c->log_block_out) {
        return vta_fail(
            diag, VTA_RANGE,
            "key 'ARRAY_PUMP' is 2: 'LOG_BLOCK_OUT' must be at least 4, or less than 'LOG_BLOCK_IN' (it is "
            "%" PRIu32 ")",
            c->log_block_out);
    }
    return VTA_OK;
}

/* Checks that `value` is one of `count` `values`. The refusal of `key` names them all. */
static vta_status check_value(const char *key, uint32_t value, const uint32_t *values, size_t count,
                              vta_diag *diag)
{
    char all[64] = "";
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof all; i++) {
        if (value == values[i]) {
            return VTA_OK;
        }
        const char *before = i == 0 ? "" : i + 1 == count ? " or " : ", ";
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%" PRIu32, before, values[i]);
    }
    return vta_fail(diag, VTA_RANGE, "key '%s' is %" PRIu32 ", it must be %s", key, value, all);
}

static vta_status check_values(const vta_config *c, vta_diag *diag)
{
#define VTA_CONFIG(field, key, def, min, max, hw, doc)
#define VTA_CONFIG_VALUES(field, key, ...)                                                                   \
    VTA_TRY(check_value((key), c->field, (const uint32_t[]){__VA_ARGS__},                                    \
                        sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), diag));
#include "vta/config.def"
#undef VTA_CONFIG_VALUES
#undef VTA_CONFIG
    return VTA_OK;
}

static void set_memory(vta_config *c, vta_memory memory, uint32_t log_buff, uint32_t log_elem)
{
    c->log_depth[memory] = log_buff - log_elem;
    c->depth[memory] = 1U << c->log_depth[memory];
    c->elem_bytes[memory] = 1U << log_elem;
}

/* Fills what follows from the keys. The depths must have been checked. */
static void derive(vta_config *c)
{
    const uint32_t log_out = c->log_batch + c->log_block_out;
    c->batch = 1U << c->log_batch;
    c->block_in = 1U << c->log_block_in;
    c->block_out = 1U << c->log_block_out;
    set_memory(c, VTA_MEM_UOP, c->log_uop_buff, 2);
    set_memory(c, VTA_MEM_WGT, c->log_wgt_buff, c->log_block_in + c->log_block_out);
    set_memory(c, VTA_MEM_INP, c->log_inp_buff, c->log_batch + c->log_block_in);
    set_memory(c, VTA_MEM_ACC, c->log_acc_buff, log_out + 2);
    set_memory(c, VTA_MEM_OUT, c->log_acc_buff - 2, log_out);
    set_memory(c, VTA_MEM_ACC8, c->log_acc_buff - 2, log_out);
    set_memory(c, VTA_MEM_WGT4, c->log_wgt_buff - 1, c->log_block_in + c->log_block_out - 1);
    set_memory(c, VTA_MEM_TAB, VTA_LOG_TABLE_WORDS + 2 + 1, 2); /* VTA_TABLES of them */

    c->hash = vta_hash_u32(VTA_HASH_START, VTA_ISA_MAJOR);
    uint32_t row = 0; /* of the registers */
    for (size_t i = 0; i < NUMBERS; i++) {
        const uint32_t value = number_of(c, &number_keys[i]);
        const bool late = number_keys[i].hw >= LATE && value != number_keys[i].def;
        if (late) {
            c->hash = vta_hash_u32(c->hash, row); /* which of them it is */
        }
        if (number_keys[i].hw == 1 || late) {
            c->hash = vta_hash_u32(c->hash, value);
        }
        row += number_keys[i].hw != 0;
    }
}

static void set_defaults(vta_config *out)
{
    *out = (vta_config){.target = "sim", .hw_ver = "0.0.2", .clock_from = "assumed"};
    for (size_t i = 0; i < NUMBERS; i++) {
        *number(out, &number_keys[i]) = number_keys[i].def;
    }
}

/* The name of a file without folder and extension, as far as it makes a legal name. */
static void name_from(const char *what, char *name)
{
    const char *slash = strrchr(what, '/');
    const char *base = slash == NULL ? what : slash + 1;
    const char *dot = strrchr(base, '.');
    size_t size = dot == NULL || dot == base ? strlen(base) : (size_t)(dot - base);
    size = size < STRING_SIZE ? size : STRING_SIZE - 1;
    for (size_t i = 0; i < size; i++) {
        name[i] = base[i];
        if (!is_name(base[i])) {
            name[i] = '_';
        }
    }
    name[size] = '\0';
    if (size == 0) {
        memcpy(name, "unnamed", sizeof "unnamed");
    }
}

static vta_status syntax_error(const char *text, const char *where, vta_diag *diag)
{
    unsigned line = 1;
    unsigned column = 1;
    for (const char *c = text; c < where && *c != '\0'; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    return vta_fail(diag, VTA_SYNTAX, "line %u, column %u: not JSON", line, column);
}

static vta_status parse(const char *text, vta_config *out, vta_diag *diag)
{
    const char *where;
    vta_json_item *items;
    switch (vta_json_read(text, &items, &where)) {
    case VTA_JSON_OK: break;
    case VTA_JSON_SYNTAX: return syntax_error(text, where, diag);
    case VTA_JSON_NO_MEMORY: return vta_no_memory(diag);
    case VTA_JSON_NO_OBJECT: return vta_fail(diag, VTA_SYNTAX, "a configuration must be one JSON object");
    }
    const vta_status status = read_keys(items, out, diag);
    vta_json_free(items);
    VTA_TRY(status);
    VTA_TRY(check_depths(out, diag));
    derive(out);
    VTA_TRY(check_pump(out, diag));
    VTA_TRY(check_values(out, diag));
    return check_sums(out, diag);
}

vta_status vta_config_parse(const char *text, const char *what, vta_config *out, vta_diag *diag)
{
    vta_config config;
    vta_diag own = {0};
    set_defaults(&config);
    name_from(what, config.name);
    if (parse(text, &config, &own) != VTA_OK) {
        return vta_fail(diag, own.code, "%s: %s", what, own.text);
    }
    *out = config;
    return VTA_OK;
}

static vta_status load_file(const char *path, vta_config *out, vta_diag *diag)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    VTA_TRY(vta_file_read(path, MAX_FILE_BYTES, &bytes, &size, diag));
    vta_status status = VTA_OK;
    if (memchr(bytes, '\0', size) != NULL) {
        status = vta_fail(diag, VTA_SYNTAX, "%s: not JSON: it has a zero byte", path);
    } else {
        status = vta_config_parse((const char *)bytes, path, out, diag);
    }
    free(bytes);
    return status;
}

static vta_status unknown_config(const char *name, vta_diag *diag)
{
    vta_str list = {0};
    for (uint32_t i = 0; i < vta_shipped_count; i++) {
        vta_str_printf(&list, "%s'%s'", i == 0 ? "" : ", ", vta_shipped_names[i]);
    }
    const vta_status status = vta_fail(
        diag, VTA_INVALID, "no configuration is called '%.64s' (there are %s; a file needs a '/' or '.json')",
        name, list.failed ? "others" : list.text);
    vta_str_free(&list);
    return status;
}

vta_status vta_config_load(const char *name_or_file, vta_config *out, vta_diag *diag)
{
    const size_t size = strlen(name_or_file);
    if (strchr(name_or_file, '/') != NULL || (size > 5 && strcmp(name_or_file + size - 5, ".json") == 0)) {
        return load_file(name_or_file, out, diag);
    }
    for (uint32_t i = 0; i < vta_shipped_count; i++) {
        if (strcmp(vta_shipped_names[i], name_or_file) == 0) {
            return vta_config_parse(vta_shipped_texts[i], name_or_file, out, diag);
        }
    }
    return unknown_config(name_or_file, diag);
}

const char *const *vta_config_names(uint32_t *count)
{
    *count = vta_shipped_count;
    return vta_shipped_names;
}

void vta_config_default(vta_config *out)
{
    if (vta_config_load("pynq", out, NULL) == VTA_OK) {
        return;
    }
    set_defaults(out); /* without memory: the same, but for what is shown of it */
    memcpy(out->name, "pynq", sizeof "pynq");
    memcpy(out->target, "pynq", sizeof "pynq");
    derive(out);
}

char *vta_config_to_json(const vta_config *config)
{
    vta_str str = {0};
    vta_str_put(&str, "{\n");
    for (size_t i = 0; i < STRINGS; i++) {
        const char *text = (const char *)config + string_keys[i].offset;
        if (text[0] != '\0') {
            vta_str_printf(&str, "  \"%s\" : \"%s\",\n", string_keys[i].name, text);
        }
    }
    const char *between = "";
    for (size_t i = 0; i < NUMBERS; i++) {
        const uint32_t value = number_of(config, &number_keys[i]);
        if (!is_unwritten(&number_keys[i]) || value != number_keys[i].def) {
            vta_str_printf(&str, "%s  \"%s\" : %" PRIu32, between, number_keys[i].name, value);
            between = ",\n";
        }
    }
    vta_str_put(&str, "\n}\n");
    return vta_str_take(&str);
}

uint32_t vta_config_diff(const vta_config *a, const vta_config *b, char *text, uint32_t size)
{
    uint32_t count = 0;
    size_t used = 0;
    if (size > 0) {
        text[0] = '\0';
    }
    for (size_t i = 0; i < NUMBERS; i++) {
        const uint32_t left = number_of(a, &number_keys[i]);
        const uint32_t right = number_of(b, &number_keys[i]);
        if (number_keys[i].hw == 0 || left == right) {
            continue;
        }
        if (used < size) {
            const int wrote = snprintf(text + used, size - used, "%s%s %" PRIu32 " != %" PRIu32,
                                       count == 0 ? "" : ", ", number_keys[i].name, left, right);
            used += wrote < 0 ? 0 : (size_t)wrote;
        }
        count++;
    }
    return count;
}
