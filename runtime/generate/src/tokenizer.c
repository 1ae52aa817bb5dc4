/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking tokens and merges up, and what a user asks about them.
 */
#include "tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"
#include "vta/hash.h"

const vta_vocable *vta_token_at(const vta_tokenizer *t, uint32_t id)
{
    const vta_vocable *token = id < t->tokens.count ? vta_vec_at(&t->tokens, id) : NULL;
    return token == NULL || token->at == NULL ? NULL : token;
}

uint32_t vta_token_of_hash(const vta_tokenizer *t, uint64_t hash, const char *text, size_t size)
{
    for (uint32_t slot = (uint32_t)hash & t->text_mask; t->by_text[slot] != VTA_NO_SLOT;
         slot = (slot + 1) & t->text_mask) {
        const vta_vocable *token = vta_token_at(t, t->by_text[slot]);
        if (token->size == size && memcmp(token->at, text, size) == 0) {
            return t->by_text[slot];
        }
    }
    return VTA_NO_TOKEN;
}

uint32_t vta_token_of(const vta_tokenizer *t, const char *text, size_t size)
{
    return vta_token_of_hash(t, vta_hash_bytes(VTA_HASH_START, text, size), text, size);
}

const vta_merge *vta_merge_of(const vta_tokenizer *t, uint32_t left, uint32_t right)
{
    if (t->merges == NULL) {
        return NULL;
    }
    uint32_t slot = (uint32_t)vta_hash_u32(vta_hash_u32(VTA_HASH_START, left), right) & t->merge_mask;
    for (; t->merges[slot].whole != VTA_NO_SLOT; slot = (slot + 1) & t->merge_mask) {
        if (t->merges[slot].left == left && t->merges[slot].right == right) {
            return &t->merges[slot];
        }
    }
    return NULL;
}

/* Bytes that are characters one can see stand for themselves; the others are, in their order, the characters
 * from 256 on. */
static bool byte_is_plain(uint32_t byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
}

uint32_t vta_byte_point(uint8_t byte)
{
    uint32_t before = 0;
    for (uint32_t i = 0; i < byte; i++) {
        before += !byte_is_plain(i);
    }
    return byte_is_plain(byte) ? byte : 256 + before;
}

int vta_point_byte(uint32_t point)
{
    if (point < 256) {
        return byte_is_plain(point) ? (int)point : -1;
    }
    for (uint32_t i = 0, before = 256; i < 256 && before <= point; i++) {
        if (!byte_is_plain(i) && before++ == point) {
            return (int)i;
        }
    }
    return -1;
}

void vta_tokenizer_destroy(vta_tokenizer *t)
{
    if (t == NULL) {
        return;
    }
    vta_vec *const lists[] = {&t->tokens, &t->added, &t->normalizers, &t->splitters, &t->decoders, &t->begin};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        vta_vec_free(lists[i]);
    }
    free(t->by_text);
    free(t->merges);
    vta_arena_free(&t->arena);
    free(t);
}

uint32_t vta_tokenizer_size(const vta_tokenizer *t)
{
    return (uint32_t)t->tokens.count;
}

const char *vta_tokenizer_token(const vta_tokenizer *t, uint32_t id)
{
    const vta_vocable *token = vta_token_at(t, id);
    return token == NULL ? NULL : token->at;
}

int vta_tokenizer_find(const vta_tokenizer *t, const char *token, uint32_t *id)
{
    *id = vta_token_of(t, token, strlen(token));
    return *id != VTA_NO_TOKEN;
}

int vta_tokenizer_is_special(const vta_tokenizer *t, uint32_t id)
{
    const vta_vocable *token = vta_token_at(t, id);
    return token != NULL && token->special;
}

int vta_tokenizer_is_end(const vta_tokenizer *t, uint32_t id)
{
    static const char *const ends[] = {"</s>",       "<eos>",   "<|endoftext|>",  "<|end_of_text|>",
                                       "<|eot_id|>", "[EOS]",   "<|im_end|>",     "<end_of_turn>",
                                       "<|end|>",    "<|eot|>", "<|endofprompt|>"};
    const vta_vocable *token = vta_token_at(t, id);
    for (size_t i = 0; token != NULL && token->special && i < sizeof ends / sizeof ends[0]; i++) {
        if (strcmp(token->at, ends[i]) == 0) {
            return 1;
        }
    }
    return 0;
}
