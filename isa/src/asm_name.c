/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of names: one hash table for symbols, constants, loop variables and reserved words. The newest
 * definition is always the head of its bucket, so that the variable of a loop is dropped in one step.
 */
#include "asm_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "vta/hash.h"
#include "vta/str.h"
#include "vta/vec.h"

/* Words that may stand where a name or an expression may. */
static const char *const reserved[] = {"for", "in",   "if",    "at",  "fill", "random",
                                       "hex", "size", "depth", "min", "max"};
/* Names whose values the configuration fixes. */
static const char *const given[] = {"BATCH", "BLOCK_IN", "BLOCK_OUT"};
enum { RESERVED = sizeof reserved / sizeof reserved[0], GIVEN = sizeof given / sizeof given[0] };

static uint32_t hash_name(const char *text, size_t size)
{
    const uint32_t value = vta_hash32_bytes(VTA_HASH32_START, text, size);
    return value ^ (value >> 15);
}

static void link_name(vta_names *names, uint32_t index)
{
    vta_name *name = &names->items[index];
    uint32_t *bucket = &names->buckets[hash_name(name->text, name->size) & (names->bucket_count - 1)];
    name->next = *bucket;
    *bucket = index + 1;
}

static vta_status grow_buckets(vta_asm *a)
{
    vta_names *names = &a->names;
    const uint32_t count = names->bucket_count == 0 ? 64 : 2 * names->bucket_count;
    uint32_t *buckets = calloc(count, sizeof *buckets);
    if (buckets == NULL) {
        return vta_fail(a->diag, VTA_NOMEM, "out of memory for %u names", (unsigned)count);
    }
    free(names->buckets);
    names->buckets = buckets;
    names->bucket_count = count;
    for (uint32_t i = 0; i < names->count; i++) {
        link_name(names, i);
    }
    return VTA_OK;
}

static vta_status add(vta_asm *a, vta_name name)
{
    vta_names *names = &a->names;
    vta_name *grown = vta_grow(names->items, &names->capacity, names->count + 1, sizeof *grown);
    if (grown == NULL) {
        return vta_fail(a->diag, VTA_NOMEM, "out of memory for names");
    }
    names->items = grown;
    if (names->count >= names->bucket_count) {
        VTA_TRY(grow_buckets(a));
    }
    names->items[names->count++] = name;
    link_name(names, (uint32_t)names->count - 1);
    return VTA_OK;
}

static vta_status add_built_in(vta_asm *a, const char *text, vta_name_kind kind, int64_t value)
{
    return add(a, (vta_name){.kind = kind, .text = text, .size = strlen(text), .value = value});
}

vta_status vta_names_start(vta_asm *a)
{
    for (size_t i = 0; i < RESERVED; i++) {
        VTA_TRY(add_built_in(a, reserved[i], VTA_NAME_RESERVED, 0));
    }
    return VTA_OK;
}

vta_status vta_names_define_config(vta_asm *a)
{
    const uint32_t values[GIVEN] = {a->config.batch, a->config.block_in, a->config.block_out};
    for (size_t i = 0; i < GIVEN; i++) {
        VTA_TRY(add_built_in(a, given[i], VTA_NAME_VALUE, values[i]));
    }
    return VTA_OK;
}

void vta_names_free(vta_names *names)
{
    free(names->items);
    free(names->buckets);
    *names = (vta_names){0};
}

/* A word that the language or the configuration gives a meaning. */
static bool is_own_word(const char *name, size_t size)
{
    for (size_t i = 0; i < RESERVED + GIVEN; i++) {
        const char *word = i < RESERVED ? reserved[i] : given[i - RESERVED];
        if (strlen(word) == size && memcmp(word, name, size) == 0) {
            return true;
        }
    }
    return false;
}

static bool characters_are_legal(const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f || name[i] == '"') {
            return false;
        }
    }
    return size > 0 && size <= VTA_NAME_MAX;
}

bool vta_name_is_legal(const char *name)
{
    return characters_are_legal(name, strlen(name));
}

bool vta_name_is_bare(const char *name)
{
    const size_t size = strlen(name);
    if (size == 0 || !(isalpha((unsigned char)name[0]) || name[0] == '_')) {
        return false;
    }
    for (size_t i = 1; i < size; i++) {
        const bool dot = name[i] == '.' && i + 1 < size && name[i + 1] != '.';
        if (!isalnum((unsigned char)name[i]) && name[i] != '_' && !dot) {
            return false;
        }
    }
    return !is_own_word(name, size);
}

static vta_token unquoted(const vta_token *string)
{
    vta_token name = *string;
    name.kind = VTA_TOKEN_NAME;
    name.quoted = true;
    name.start++;
    name.size -= 2;
    return name;
}

/* In quotes, the language's own words are names like any other; without, they come first. */
vta_name *vta_names_find(const vta_asm *a, const vta_token *token)
{
    const vta_names *names = &a->names;
    const char *text = a->text + token->start;
    uint32_t at = names->buckets[hash_name(text, token->size) & (names->bucket_count - 1)];
    while (at != 0) {
        vta_name *name = &names->items[at - 1];
        const bool meant = token->quoted ? name->line > 0 : !name->hidden;
        if (meant && name->size == token->size && memcmp(name->text, text, token->size) == 0) {
            return name;
        }
        at = name->next;
    }
    return NULL;
}

const vta_name *vta_names_symbol(const vta_asm *a)
{
    vta_token token = a->lex.token;
    if (token.kind == VTA_TOKEN_STRING && token.size > 2) {
        token = unquoted(&token);
    } else if (token.kind != VTA_TOKEN_NAME) {
        return NULL;
    }
    const vta_name *name = vta_names_find(a, &token);
    return name != NULL && (name->kind == VTA_NAME_DATA || name->kind == VTA_NAME_KERNEL) ? name : NULL;
}

vta_status vta_take_symbol_name(vta_asm *a, const char *wanted, vta_token *name)
{
    *name = a->lex.token;
    if (name->kind == VTA_TOKEN_STRING) {
        *name = unquoted(name);
        if (!characters_are_legal(a->text + name->start, name->size)) {
            return vta_asm_fail(a, &a->lex.token,
                                "a name has 1 to %d characters, and no control character among them",
                                VTA_NAME_MAX);
        }
    } else if (name->kind != VTA_TOKEN_NAME) {
        return vta_asm_expected(a, wanted);
    }
    return vta_lex_next(a);
}

vta_status vta_names_define(vta_asm *a, const vta_token *token, vta_name_kind kind, int64_t value)
{
    char shown[VTA_SHOWN];
    if (token->size > VTA_NAME_MAX) {
        return vta_asm_fail(a, token, "name of %zu characters; limit: %d", token->size, VTA_NAME_MAX);
    }
    const bool symbol = kind == VTA_NAME_DATA || kind == VTA_NAME_KERNEL;
    const vta_name *old = vta_names_find(a, token);
    if (old != NULL && old->line == 0) {
        return vta_asm_fail(a, token, "%s is %s; choose another name%s", vta_asm_show(a, token, shown),
                            old->kind == VTA_NAME_RESERVED ? "a reserved word" : "given by the configuration",
                            symbol ? " or put it in quotes" : "");
    }
    if (old != NULL) {
        return vta_asm_fail(a, token, "duplicate name %s; it was defined in line %u",
                            vta_asm_show(a, token, shown), old->line);
    }
    return add(a, (vta_name){.kind = kind,
                             .text = a->text + token->start,
                             .size = token->size,
                             .value = value,
                             .line = token->line,
                             .hidden = token->quoted && is_own_word(a->text + token->start, token->size)});
}

void vta_names_drop(vta_asm *a)
{
    vta_names *names = &a->names;
    const vta_name *name = &names->items[--names->count];
    names->buckets[hash_name(name->text, name->size) & (names->bucket_count - 1)] = name->next;
}

/* The nearest of the first few hundred names: enough for people, and no burden for a text made by a program.
 */
vta_status vta_names_undefined(vta_asm *a, const vta_token *token)
{
    enum { NEAR = 256, LONGEST = 40 };
    char copies[NEAR][LONGEST + 1];
    const char *candidates[NEAR];
    size_t count = 0;
    for (size_t i = RESERVED; i < a->names.count && count < NEAR; i++) {
        const vta_name *name = &a->names.items[i];
        if (name->size <= LONGEST) {
            memcpy(copies[count], name->text, name->size);
            copies[count][name->size] = '\0';
            candidates[count] = copies[count];
            count++;
        }
    }
    char word[LONGEST + 1] = "";
    if (token->size <= LONGEST) {
        memcpy(word, a->text + token->start, token->size);
        word[token->size] = '\0';
    }
    const char *near = vta_nearest(word, candidates, count);
    char shown[VTA_SHOWN];
    (void)vta_asm_show(a, token, shown);
    if (near != NULL && word[0] != '\0') {
        return vta_asm_fail(a, token, "undefined name %s; did you mean '%s'?", shown, near);
    }
    return vta_asm_fail(a, token, "undefined name %s; names must be defined before they are used", shown);
}
