/* SPDX-License-Identifier: Apache-2.0
 *
 * com.microsoft's Tokenizer: texts in tokens, by separators that are patterns, by a pattern of tokens, or by
 * characters. A match is the first one, and of those the longest.
 */
#include <stdlib.h>
#include <string.h>

#include "flow_regex.h"
#include "flow_text.h"
#include "vta/fail.h"

/* Part of a text. */
typedef struct token {
    const char *at;
    size_t size;
} token;

typedef struct token_list {
    token *items;
    size_t count, room;
} token_list;

/* Words of an instruction, and what is made of them. */
typedef struct tokenizing {
    vta_call *call;
    bool marks;         /* a text of its own begins and ends a row */
    int64_t min;        /* characters of a token */
    bool by_characters; /* there is one separator, which is empty */
    regex_t *patterns;  /* separators, or the one of tokens */
    int64_t count;
    bool searches; /* the pattern is that of tokens */
    token_list tokens[2];
} tokenizing;

static size_t characters_of(const token *t)
{
    size_t count = 0;
    for (size_t i = 0; i < t->size; i++) {
        count += ((unsigned char)t->at[i] & 0xc0) != 0x80;
    }
    return count;
}

/* Adds a token that is long enough. */
static vta_status add_token(const tokenizing *t, token_list *list, const char *at, size_t size)
{
    const token own = {at, size};
    if ((int64_t)characters_of(&own) < t->min) {
        return VTA_OK;
    }
    if (list->count == list->room) {
        const size_t room = 2 * list->room + 16;
        token *items = realloc(list->items, room * sizeof *items);
        if (items == NULL) {
            return vta_no_memory(t->call->diag);
        }
        list->items = items;
        list->room = room;
    }
    list->items[list->count++] = own;
    return VTA_OK;
}

/* Finds a match from `from` on; what stands in front of it is seen. */
static bool find_match(const regex_t *pattern, const token *text, size_t from, size_t *start, size_t *end)
{
    regmatch_t match = {.rm_so = (regoff_t)from, .rm_eo = (regoff_t)text->size};
    if (from > text->size || regexec(pattern, text->at, 1, &match, REG_STARTEND) != 0) {
        return false;
    }
    *start = (size_t)match.rm_so;
    *end = (size_t)match.rm_eo;
    return true;
}

/* Adds the matches in a text, or what stands between them. An empty match is none. */
static vta_status cut_text(const tokenizing *t, const regex_t *pattern, const token *text, token_list *out)
{
    size_t from = 0, behind = 0, start, end; /* behind: the last match */
    while (find_match(pattern, text, from, &start, &end)) {
        if (end == start) {
            from = start + 1;
            continue;
        }
        VTA_TRY(t->searches ? add_token(t, out, text->at + start, end - start)
                            : add_token(t, out, text->at + behind, start - behind));
        from = behind = end;
    }
    return t->searches ? VTA_OK : add_token(t, out, text->at + behind, text->size - behind);
}

static vta_status cut_characters(tokenizing *t, const token *text)
{
    size_t end;
    for (size_t i = 0; i < text->size; i = end) {
        for (end = i + 1; end < text->size && ((unsigned char)text->at[end] & 0xc0) == 0x80; end++) {
        }
        VTA_TRY(add_token(t, &t->tokens[0], text->at + i, end - i));
    }
    return VTA_OK;
}

/* Tokens of a text, in the first list. One separator after the other cuts what is there. */
static vta_status find_tokens(tokenizing *t, int64_t number)
{
    token text;
    text.at = vta_text_at(t->call->flow, number, &text.size);
    t->tokens[0].count = 0;
    if (strlen(text.at) != text.size) {
        return vta_call_refuse(t->call, "a text has a zero byte");
    }
    if (t->by_characters) {
        return cut_characters(t, &text);
    }
    VTA_TRY(t->searches ? cut_text(t, &t->patterns[0], &text, &t->tokens[0])
                        : add_token(t, &t->tokens[0], text.at, text.size));
    for (int64_t k = 0; !t->searches && k < t->count; k++) {
        t->tokens[1].count = 0;
        for (size_t i = 0; i < t->tokens[0].count; i++) {
            /* a pattern reads a text up to its end: each part is one of its own */
            VTA_TRY(cut_text(t, &t->patterns[k], &t->tokens[0].items[i], &t->tokens[1]));
        }
        const token_list last = t->tokens[0];
        t->tokens[0] = t->tokens[1];
        t->tokens[1] = last;
    }
    return VTA_OK;
}

static vta_status set_token(const tokenizing *t, int64_t place, const char *at, size_t size)
{
    int64_t number;
    VTA_TRY(vta_text_number(t->call->flow, at, size, &number, t->call->diag));
    vta_item_set_int(t->call->out[0], place, number);
    return VTA_OK;
}

/* Writes a row of the output: a mark, the tokens, a mark, then padding. */
static vta_status put_row(const tokenizing *t, int64_t row, int64_t width, const char *pad, size_t pad_size)
{
    const token_list *list = &t->tokens[0];
    int64_t place = row * width;
    const int64_t end = place + width;
    VTA_TRY(t->marks ? set_token(t, place++, "\002", 1) : VTA_OK);
    for (size_t i = 0; i < list->count; i++) {
        VTA_TRY(set_token(t, place++, list->items[i].at, list->items[i].size));
    }
    VTA_TRY(t->marks ? set_token(t, place++, "\003", 1) : VTA_OK);
    for (; place < end; place++) {
        VTA_TRY(set_token(t, place, pad, pad_size));
    }
    return VTA_OK;
}

/* Fills the output, whose last axis is as long as the longest row. */
static vta_status put_tokens(tokenizing *t, const char *pad, size_t pad_size)
{
    const vta_item *x = t->call->in[0];
    int64_t dim[VTA_FLOW_RANK] = {0}, width = 0;
    memcpy(dim, x->dim, x->rank * sizeof *dim);
    for (int64_t i = 0; i < x->count; i++) {
        VTA_TRY(find_tokens(t, vta_item_int(x, i)));
        width = (int64_t)t->tokens[0].count > width ? (int64_t)t->tokens[0].count : width;
    }
    width += t->marks && width > 0 ? 2 : 0;
    dim[x->rank] = width;
    VTA_TRY(vta_item_tensor(t->call->flow, VTA_FLOW_TEXT, x->rank + (x->count > 0), dim, &t->call->out[0],
                            t->call->diag));
    for (int64_t i = 0; width > 0 && i < x->count; i++) {
        VTA_TRY(find_tokens(t, vta_item_int(x, i)));
        VTA_TRY(put_row(t, i, width, pad, pad_size));
    }
    return VTA_OK;
}

static vta_status add_pattern(tokenizing *t, const char *text, size_t size)
{
    const char *why = vta_text_regex(text, size, false, &t->patterns[t->count]);
    t->count += why == NULL;
    return why == NULL
               ? VTA_OK
               : vta_call_refuse(t->call, "its pattern '%.80s' is not taken because of %s", text, why);
}

/* Compiles the separators, numbers of texts, or the pattern of tokens. */
static vta_status read_patterns(tokenizing *t, const vta_list *separators, const char *tokens, size_t size)
{
    const int64_t count = separators->count > 0 ? separators->count : 1;
    if ((separators->count > 0) == (size > 0)) {
        return vta_call_refuse(t->call, "expected 'separators' or 'tokenexp', and not both");
    }
    t->patterns = calloc((size_t)count, sizeof *t->patterns);
    if (t->patterns == NULL) {
        return vta_no_memory(t->call->diag);
    }
    t->searches = size > 0;
    if (t->searches) {
        return add_pattern(t, tokens, size);
    }
    for (int64_t i = 0; i < separators->count; i++) {
        size_t own;
        const char *text = vta_text_at(t->call->flow, separators->at[i], &own);
        if (own == 0 && separators->count > 1) {
            return vta_call_refuse(t->call, "an empty separator stands beside others");
        }
        t->by_characters = own == 0;
        VTA_TRY(own == 0 ? VTA_OK : add_pattern(t, text, own));
    }
    return VTA_OK;
}

static vta_status tokenize_texts(tokenizing *t, const vta_list *separators, const char *tokens, size_t size,
                                 const char *pad, size_t pad_size)
{
    const vta_item *x = t->call->in[0];
    if (x->rank < 1 || x->rank > 2) {
        return vta_call_refuse(t->call, "its input is to be of the shape [C] or [N,C]");
    }
    VTA_TRY(read_patterns(t, separators, tokens, size));
    if (t->min < 1 || (t->by_characters && t->min > 1)) {
        return vta_call_refuse(t->call, "its 'mincharnum' is %lld; expected 1%s", (long long)t->min,
                               t->by_characters ? " for single characters" : " or more");
    }
    return put_tokens(t, pad, pad_size);
}

/* words: mark, mincharnum, pad_value, separators, tokenexp */
vta_status vta_flow_tokenizer(vta_call *call)
{
    enum { PAD = 2 };
    int64_t next, last;
    VTA_TRY(vta_texts_needed(call, 1));
    (void)vta_call_list(call, PAD, &next);
    const vta_list separators = vta_call_list(call, next, &last);
    size_t pad_size, size;
    char *pad = vta_text_word(call, PAD, &pad_size), *tokens = vta_text_word(call, last, &size);
    tokenizing t = {.call = call, .marks = vta_call_word(call, 0) != 0, .min = vta_call_word(call, 1)};
    const vta_status status = pad == NULL || tokens == NULL
                                  ? vta_no_memory(call->diag)
                                  : tokenize_texts(&t, &separators, tokens, size, pad, pad_size);
    for (int64_t i = 0; i < t.count; i++) {
        regfree(&t.patterns[i]);
    }
    free(t.patterns);
    free(t.tokens[0].items);
    free(t.tokens[1].items);
    free(pad);
    free(tokens);
    return status;
}
