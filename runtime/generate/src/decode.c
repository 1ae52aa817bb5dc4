/* SPDX-License-Identifier: Apache-2.0
 *
 * From tokens to a text. What is known of it waits in a stream until its last character is whole.
 */
#include <stdlib.h>
#include <string.h>

#include "tokenizer.h"
#include "vta/fail.h"
#include "vta/untrusted.h"

struct vta_text_stream {
    const vta_tokenizer *t;
    vta_str waiting; /* bytes whose character is not whole yet */
    vta_str given;   /* what the last call gave */
    vta_str token;   /* of the token in work, */
    vta_str next;    /* and what a step makes of it */
    bool begun;      /* a token has been seen, */
    uint32_t left;   /* characters that may still go at the text's begin */
};

static const vta_decode_step *step_at(const vta_tokenizer *t, size_t i)
{
    return vta_vec_at(&t->decoders, i);
}

static void begin_anew(vta_text_stream *s)
{
    s->begun = false;
    s->waiting.size = 0;
    s->left = 0;
    for (size_t i = 0; i < s->t->decoders.count; i++) {
        s->left = step_at(s->t, i)->whole ? step_at(s->t, i)->count : s->left;
    }
}

vta_status vta_text_stream_create(const vta_tokenizer *tokenizer, vta_text_stream **out, vta_diag *diag)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL) {
        return vta_no_memory(diag);
    }
    (*out)->t = tokenizer;
    begin_anew(*out);
    return VTA_OK;
}

void vta_text_stream_destroy(vta_text_stream *s)
{
    if (s != NULL) {
        vta_str_free(&s->waiting);
        vta_str_free(&s->given);
        vta_str_free(&s->token);
        vta_str_free(&s->next);
        free(s);
    }
}

/* ---- steps on one token */

/* The byte of a token that is spelled "<0x41>"; -1. */
static int fallback_byte(const vta_str *token)
{
    char *end;
    if (token->size != 6 || memcmp(token->text, "<0x", 3) != 0 || token->text[5] != '>') {
        return -1;
    }
    const unsigned long byte = strtoul(token->text + 3, &end, 16);
    return end == token->text + 5 ? (int)byte : -1;
}

static void replace_all(vta_slice text, vta_slice from, vta_slice by, vta_str *out)
{
    for (size_t at = 0; at < text.size;) {
        const bool found =
            from.size > 0 && text.size - at >= from.size && memcmp(text.at + at, from.at, from.size) == 0;
        vta_str_append(out, found ? by.at : text.at + at, found ? by.size : 1);
        at += found ? from.size : 1;
    }
}

/* Characters become the bytes that they stand for, unless one stands for none: then all stay. */
static void to_bytes(vta_slice text, vta_str *out)
{
    for (size_t at = 0; at < text.size;) {
        uint32_t point = 0;
        const size_t size = vta_utf8_character(text.at + at, text.size - at, &point);
        const int byte = size == 0 ? -1 : vta_point_byte(point);
        if (byte < 0) {
            out->size = 0;
            vta_str_append(out, text.at, text.size);
            return;
        }
        const char one = (char)byte;
        vta_str_append(out, &one, 1);
        at += size;
    }
}

/* *count: so many may go, and are taken off as they do. */
static void strip_begin(const vta_decode_step *step, vta_slice text, uint32_t *count, vta_str *out)
{
    while (*count > 0 && step->from.size > 0 && text.size >= step->from.size &&
           memcmp(text.at, step->from.at, step->from.size) == 0) {
        text.at += step->from.size;
        text.size -= step->from.size;
        *count -= 1;
    }
    vta_str_append(out, text.at, text.size);
}

static void decode_step(vta_text_stream *s, const vta_decode_step *step, int *byte)
{
    const vta_slice text = {s->token.text, s->token.size};
    const vta_slice nothing = {"", 0};
    uint32_t count = step->count;
    const vta_slice space = {" ", 1};
    s->next.size = 0;
    switch (step->kind) {
    case VTA_DECODE_BYTES: to_bytes(text, &s->next); break;
    case VTA_DECODE_MARKS:
        replace_all(text, step->from, step->first && !s->begun ? nothing : space, &s->next);
        break;
    case VTA_DECODE_REPLACE: replace_all(text, step->from, step->text, &s->next); break;
    case VTA_DECODE_STRIP: strip_begin(step, text, step->whole ? &s->left : &count, &s->next); break;
    case VTA_DECODE_JOIN:
        vta_str_append(&s->next, " ", s->begun);
        vta_str_append(&s->next, text.at, text.size);
        break;
    case VTA_DECODE_FALLBACK: *byte = fallback_byte(&s->token); return;
    }
    const vta_str made = s->next;
    s->next = s->token;
    s->token = made;
}

static vta_status decode_token(vta_text_stream *s, const vta_vocable *token, vta_diag *diag)
{
    int byte = -1;
    s->token.size = 0;
    vta_str_append(&s->token, token->at, token->size);
    for (size_t i = 0; i < s->t->decoders.count && !s->token.failed && byte < 0; i++) {
        decode_step(s, step_at(s->t, i), &byte);
    }
    if (byte >= 0) {
        const char one = (char)byte;
        s->token.size = 0;
        vta_str_append(&s->token, &one, 1);
    }
    s->left = s->token.size > 0 ? 0 : s->left;
    s->begun = true;
    vta_str_append(&s->waiting, s->token.text, s->token.size);
    return vta_allocated(!s->token.failed && !s->next.failed && !s->waiting.failed, diag);
}

/* ---- whole characters */

/* The size of a character that begins so; 0: none does. */
static size_t size_by_first(uint8_t byte)
{
    return byte < 0x80 ? 1 : byte < 0xc2 ? 0 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : byte < 0xf5 ? 4 : 0;
}

/* True where the bytes that are there may be the begin of a character. */
static bool may_become_whole(const uint8_t *at, size_t size)
{
    static const struct {
        uint8_t first, low, high;
    } second[] = {{0xe0, 0xa0, 0xbf}, {0xed, 0x80, 0x9f}, {0xf0, 0x90, 0xbf}, {0xf4, 0x80, 0x8f}};
    if (size >= size_by_first(at[0])) {
        return false;
    }
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return false;
        }
    }
    for (size_t i = 0; size > 1 && i < sizeof second / sizeof second[0]; i++) {
        if (at[0] == second[i].first && (at[1] < second[i].low || at[1] > second[i].high)) {
            return false;
        }
    }
    return true;
}

/* Bytes in front that one U+FFFD stands for: the begin of a character as far as it could be one. */
static size_t broken_size(const uint8_t *at, size_t size)
{
    size_t broken = 1;
    while (broken < size && may_become_whole(at, broken + 1)) {
        broken++;
    }
    return broken;
}

/* Gives the characters that are whole; at the end of a text, what is left of one as U+FFFD, too. */
static vta_status give_characters(vta_text_stream *s, bool end, const char **text, size_t *size,
                                  vta_diag *diag)
{
    size_t at = 0;
    s->given.size = 0;
    while (at < s->waiting.size) {
        uint32_t point;
        const char *here = s->waiting.text + at;
        const size_t left = s->waiting.size - at;
        const size_t bytes = vta_utf8_character(here, left, &point);
        if (bytes == 0 && !end && may_become_whole((const uint8_t *)here, left)) {
            break;
        }
        bytes > 0 ? vta_str_append(&s->given, here, bytes) : vta_unicode_append(&s->given, 0xfffd);
        at += bytes > 0 ? bytes : broken_size((const uint8_t *)here, left);
    }
    if (at > 0) {
        memmove(s->waiting.text, s->waiting.text + at, s->waiting.size - at);
        s->waiting.size -= at;
    }
    *text = s->given.size > 0 ? s->given.text : "";
    *size = s->given.size;
    return vta_allocated(!s->given.failed, diag);
}

vta_status vta_text_stream_add(vta_text_stream *s, uint32_t id, const char **text, size_t *size,
                               vta_diag *diag)
{
    const vta_vocable *token = vta_token_at(s->t, id);
    if (token == NULL) {
        return vta_fail(
            diag, VTA_RANGE,
            "token %u is none of the tokenizer's %u: take the tokenizer that belongs to the model", id,
            vta_tokenizer_size(s->t));
    }
    if (!token->special) {
        VTA_TRY(decode_token(s, token, diag));
    }
    return give_characters(s, false, text, size, diag);
}

vta_status vta_text_stream_end(vta_text_stream *s, const char **text, size_t *size, vta_diag *diag)
{
    const vta_status status = give_characters(s, true, text, size, diag);
    begin_anew(s);
    return status;
}

static vta_status decode_all(vta_text_stream *s, const uint32_t *ids, size_t count, vta_str *out,
                             vta_diag *diag)
{
    const char *text;
    size_t size;
    for (size_t i = 0; i < count; i++) {
        VTA_TRY(vta_text_stream_add(s, ids[i], &text, &size, diag));
        vta_str_append(out, text, size);
    }
    VTA_TRY(vta_text_stream_end(s, &text, &size, diag));
    vta_str_append(out, text, size);
    return vta_allocated(!out->failed, diag);
}

vta_status vta_tokenizer_decode(const vta_tokenizer *t, const uint32_t *ids, size_t count, char **text,
                                size_t *size, vta_diag *diag)
{
    vta_text_stream *s = NULL;
    vta_str out = {0};
    vta_status status = VTA_OK;
    *text = NULL;
    *size = 0;
    VTA_TRY_OUT(vta_text_stream_create(t, &s, diag));
    VTA_TRY_OUT(decode_all(s, ids, count, &out, diag));
    *size = out.size;
    *text = out.text == NULL ? calloc(1, 1) : vta_str_take(&out);
    status = vta_allocated(*text != NULL, diag);
out:
    vta_str_free(&out);
    vta_text_stream_destroy(s);
    return status;
}
