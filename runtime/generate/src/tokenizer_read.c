/* SPDX-License-Identifier: Apache-2.0
 *
 * A tokenizer from its JSON. All of it is checked before it is used: a file may come from anywhere.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "tokenizer.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/hash.h"
#include "vta/untrusted.h"

enum { MAX_FILE = 256 << 20, MAX_TOKENS = 1 << 22, MAX_TOKEN_BYTES = 4096, MAX_NESTING = 8 };

typedef struct tokenizer_reader {
    vta_tokenizer *t;
    bool fused; /* decoders: a step that joins the tokens was seen */
    vta_diag *diag;
} tokenizer_reader;

/* ---- values */

static const cJSON *member_of(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNull(item) ? NULL : item;
}

static const char *text_of(const cJSON *object, const char *name, const char *otherwise)
{
    const cJSON *item = member_of(object, name);
    return cJSON_IsString(item) ? item->valuestring : otherwise;
}

static bool truth_of(const cJSON *object, const char *name, bool otherwise)
{
    const cJSON *item = member_of(object, name);
    return cJSON_IsBool(item) ? cJSON_IsTrue(item) : otherwise;
}

/* A whole number of 0 … max-1. */
static bool whole_of(const cJSON *item, uint32_t max, uint32_t *out)
{
    const bool good = cJSON_IsNumber(item) && item->valuedouble >= 0.0 && item->valuedouble < max &&
                      item->valuedouble == floor(item->valuedouble);
    *out = good ? (uint32_t)item->valuedouble : 0;
    return good;
}

static vta_slice keep_slice(tokenizer_reader *r, const char *text)
{
    const size_t size = strlen(text);
    return (vta_slice){vta_arena_string(&r->t->arena, text, size), size};
}

static vta_status refuse_part(const tokenizer_reader *r, const char *part, const char *type)
{
    return vta_fail(r->diag, VTA_UNSUPPORTED, "a %s of the type '%.60s' is not supported", part, type);
}

static vta_status push_item(tokenizer_reader *r, vta_vec *list, const void *item)
{
    return vta_allocated(vta_vec_push(list, item) != NULL, r->diag);
}

/* ---- vocabulary */

static vta_status add_token(tokenizer_reader *r, const char *text, uint32_t id, double score)
{
    vta_tokenizer *t = r->t;
    const size_t size = strlen(text);
    if (size > MAX_TOKEN_BYTES) {
        return vta_fail(r->diag, VTA_RANGE, "token %u has %zu bytes (limit: %d)", id, size, MAX_TOKEN_BYTES);
    }
    if (id >= t->tokens.count && vta_vec_add(&t->tokens, id + 1 - t->tokens.count) == NULL) {
        return vta_no_memory(r->diag);
    }
    vta_vocable *token = vta_vec_at(&t->tokens, id);
    if (token->at != NULL && (token->size != size || memcmp(token->at, text, size) != 0)) {
        return vta_fail(r->diag, VTA_SYNTAX, "two tokens have the number %u: '%.60s' and '%.60s'", id,
                        token->at, text);
    }
    token->at = keep_slice(r, text).at;
    token->size = (uint32_t)size;
    token->score = score;
    t->longest = token->size > t->longest ? token->size : t->longest;
    return vta_allocated(token->at != NULL, r->diag);
}

static vta_status read_vocabulary(tokenizer_reader *r, const cJSON *vocabulary)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, vocabulary)
    {
        uint32_t id;
        if (!whole_of(item, MAX_TOKENS, &id)) {
            return vta_fail(r->diag, VTA_SYNTAX, "the number of token '%.60s' is none below %d", item->string,
                            MAX_TOKENS);
        }
        VTA_TRY(add_token(r, item->string, id, 0.0));
    }
    return VTA_OK;
}

/* Rows [token, score]: the place in the list is the number. */
static vta_status read_scores(tokenizer_reader *r, const cJSON *rows)
{
    const cJSON *row;
    uint32_t id = 0;
    double lowest = 0.0;
    cJSON_ArrayForEach(row, rows)
    {
        const cJSON *score = cJSON_GetArrayItem(row, 1);
        const cJSON *text = cJSON_GetArrayItem(row, 0);
        if (!cJSON_IsString(text) || !cJSON_IsNumber(score) || id >= MAX_TOKENS) {
            return vta_fail(r->diag, VTA_SYNTAX, "row %u of the vocabulary is no [token, score]", id);
        }
        lowest = score->valuedouble < lowest ? score->valuedouble : lowest;
        VTA_TRY(add_token(r, text->valuestring, id++, score->valuedouble));
    }
    r->t->unknown_score = lowest - 10.0;
    return VTA_OK;
}

static vta_status read_added(tokenizer_reader *r, const cJSON *list)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        uint32_t id;
        const char *text = text_of(item, "content", "");
        if (!whole_of(member_of(item, "id"), MAX_TOKENS, &id) || text[0] == '\0') {
            return vta_fail(r->diag, VTA_SYNTAX, "an added token needs a content and an id below %d",
                            MAX_TOKENS);
        }
        const vta_vocable *known = vta_token_at(r->t, id);
        VTA_TRY(add_token(r, text, id, known == NULL ? 0.0 : known->score));
        vta_vocable *token = vta_vec_at(&r->t->tokens, id);
        token->added = true;
        token->special = truth_of(item, "special", false);
        token->takes_left = truth_of(item, "lstrip", false);
        token->takes_right = truth_of(item, "rstrip", false);
        token->whole = truth_of(item, "single_word", false);
        token->early = !truth_of(item, "normalized", !token->special);
        VTA_TRY(push_item(r, &r->t->added, &id));
    }
    return VTA_OK;
}

typedef struct added_token {
    vta_slice text;
    uint32_t place, id; /* place: in the file */
} added_token;

static int compare_added(const void *a, const void *b)
{
    const added_token *x = a, *y = b;
    const size_t shared = x->text.size < y->text.size ? x->text.size : y->text.size;
    const int order = memcmp(x->text.at, y->text.at, shared);
    return order != 0                     ? order
           : x->text.size != y->text.size ? (x->text.size > y->text.size) - (x->text.size < y->text.size)
                                          : (x->place > y->place) - (x->place < y->place);
}

/* The added tokens by their bytes, and of equal ones the first of the file first: all that begin alike lie
 * side by side. */
static vta_status sort_added(tokenizer_reader *r)
{
    uint32_t *ids = r->t->added.items;
    const size_t count = r->t->added.count;
    added_token *rows = calloc(count + 1, sizeof *rows);
    if (rows == NULL) {
        return vta_no_memory(r->diag);
    }
    for (size_t i = 0; i < count; i++) {
        const vta_vocable *token = vta_token_at(r->t, ids[i]);
        rows[i] = (added_token){{token->at, token->size}, (uint32_t)i, ids[i]};
    }
    qsort(rows, count, sizeof *rows, compare_added);
    for (size_t i = 0; i < count; i++) {
        ids[i] = rows[i].id;
    }
    free(rows);
    return VTA_OK;
}

/* A power of two that leaves half of the slots empty. */
static uint32_t slots_for(size_t count)
{
    uint32_t slots = 16;
    while (slots < 2 * count) {
        slots *= 2;
    }
    return slots;
}

static vta_status index_tokens(tokenizer_reader *r)
{
    vta_tokenizer *t = r->t;
    const uint32_t slots = slots_for(t->tokens.count);
    t->by_text = malloc(slots * sizeof *t->by_text);
    if (t->by_text == NULL) {
        return vta_no_memory(r->diag);
    }
    memset(t->by_text, 0xff, slots * sizeof *t->by_text);
    t->text_mask = slots - 1;
    for (uint32_t id = 0; id < t->tokens.count; id++) {
        const vta_vocable *token = vta_token_at(t, id);
        if (token == NULL || vta_token_of(t, token->at, token->size) != VTA_NO_TOKEN) {
            continue; /* of two that are spelled alike the first is found */
        }
        uint32_t slot = (uint32_t)vta_hash_bytes(VTA_HASH_START, token->at, token->size) & t->text_mask;
        while (t->by_text[slot] != VTA_NO_SLOT) {
            slot = (slot + 1) & t->text_mask;
        }
        t->by_text[slot] = id;
    }
    return VTA_OK;
}

static void find_byte_tokens(vta_tokenizer *t)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        static const char digits[] = "0123456789ABCDEF";
        const char text[] = {'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'};
        t->bytes[byte] = t->byte_fallback ? vta_token_of(t, text, sizeof text) : VTA_NO_TOKEN;
    }
}

/* ---- merges */

/* The two halves of a merge: "a b", or ["a", "b"]. */
static bool halves_of(const cJSON *item, vta_slice *left, vta_slice *right)
{
    const cJSON *second = cJSON_IsArray(item) ? cJSON_GetArrayItem(item, 1) : NULL;
    const cJSON *first = cJSON_IsArray(item) ? cJSON_GetArrayItem(item, 0) : item;
    if (!cJSON_IsString(first) || (cJSON_IsArray(item) && !cJSON_IsString(second))) {
        return false;
    }
    const char *space = second != NULL ? NULL : strchr(first->valuestring, ' ');
    *left = (vta_slice){first->valuestring,
                        space != NULL ? (size_t)(space - first->valuestring) : strlen(first->valuestring)};
    right->at = second != NULL ? second->valuestring : space != NULL ? space + 1 : "";
    right->size = strlen(right->at);
    return right->size > 0 && left->size > 0;
}

static vta_status merge_of(tokenizer_reader *r, const cJSON *item, vta_merge *out)
{
    vta_slice left;
    vta_slice right;
    char whole[2 * MAX_TOKEN_BYTES];
    if (!halves_of(item, &left, &right) || left.size + right.size > sizeof whole) {
        return vta_fail(r->diag, VTA_SYNTAX, "merge %u is no pair of tokens", out->rank);
    }
    memcpy(whole, left.at, left.size);
    memcpy(whole + left.size, right.at, right.size);
    out->left = vta_token_of(r->t, left.at, left.size);
    out->right = vta_token_of(r->t, right.at, right.size);
    out->whole = vta_token_of(r->t, whole, left.size + right.size);
    return out->left != VTA_NO_TOKEN && out->right != VTA_NO_TOKEN && out->whole != VTA_NO_TOKEN
               ? VTA_OK
               : vta_fail(r->diag, VTA_SYNTAX,
                          "merge %u of '%.40s' and '%.40s' is of tokens that the vocabulary does not have",
                          out->rank, left.at, right.at);
}

static vta_status read_merges(tokenizer_reader *r, const cJSON *list)
{
    vta_tokenizer *t = r->t;
    const int count = cJSON_GetArraySize(list);
    if (!cJSON_IsArray(list) || count > MAX_TOKENS) {
        return vta_fail(r->diag, VTA_SYNTAX, "the model needs a list of merges");
    }
    const uint32_t slots = slots_for((size_t)count);
    t->merges = malloc(slots * sizeof *t->merges);
    if (t->merges == NULL) {
        return vta_no_memory(r->diag);
    }
    memset(t->merges, 0xff, slots * sizeof *t->merges);
    t->merge_mask = slots - 1;
    vta_merge merge = {0};
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        VTA_TRY(merge_of(r, item, &merge));
        uint32_t slot =
            (uint32_t)vta_hash_u32(vta_hash_u32(VTA_HASH_START, merge.left), merge.right) & t->merge_mask;
        while (t->merges[slot].whole != VTA_NO_SLOT &&
               (t->merges[slot].left != merge.left || t->merges[slot].right != merge.right)) {
            slot = (slot + 1) & t->merge_mask;
        }
        t->merges[slot] = merge;
        merge.rank++;
    }
    return VTA_OK;
}

/* ---- the model */

static vta_status check_bpe(tokenizer_reader *r, const cJSON *model)
{
    static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    for (size_t i = 0; i < sizeof affixes / sizeof affixes[0]; i++) {
        if (text_of(model, affixes[i], "")[0] != '\0') {
            return vta_fail(r->diag, VTA_UNSUPPORTED, "BPE with '%s' is not supported", affixes[i]);
        }
    }
    return VTA_OK;
}

static vta_status read_tokens(tokenizer_reader *r, const cJSON *model)
{
    const cJSON *vocabulary = member_of(model, "vocab");
    const char *type = text_of(model, "type", cJSON_IsArray(vocabulary) ? "Unigram" : "BPE");
    r->t->model = strcmp(type, "Unigram") == 0 ? VTA_MODEL_UNIGRAM : VTA_MODEL_BPE;
    if (strcmp(type, "Unigram") != 0 && strcmp(type, "BPE") != 0) {
        return refuse_part(r, "model", type);
    }
    if (r->t->model == VTA_MODEL_UNIGRAM ? !cJSON_IsArray(vocabulary) : !cJSON_IsObject(vocabulary)) {
        return vta_fail(r->diag, VTA_SYNTAX, "the model has no vocabulary of its kind, %s", type);
    }
    return r->t->model == VTA_MODEL_UNIGRAM ? read_scores(r, vocabulary) : read_vocabulary(r, vocabulary);
}

static vta_status read_unknown(tokenizer_reader *r, const cJSON *model)
{
    vta_tokenizer *t = r->t;
    const char *text = text_of(model, "unk_token", NULL);
    uint32_t id;
    t->unknown = VTA_NO_TOKEN;
    const bool numbered =
        t->model == VTA_MODEL_UNIGRAM && whole_of(member_of(model, "unk_id"), MAX_TOKENS, &id);
    if (numbered || (text != NULL && vta_tokenizer_find(t, text, &id))) {
        t->unknown = id;
    }
    t->fuse_unknown = t->model == VTA_MODEL_UNIGRAM || truth_of(model, "fuse_unk", false);
    t->ignore_merges = truth_of(model, "ignore_merges", false);
    return t->unknown == VTA_NO_TOKEN || vta_token_at(t, t->unknown) != NULL
               ? VTA_OK
               : vta_fail(r->diag, VTA_RANGE, "the unknown token %u is none of the vocabulary", t->unknown);
}

static vta_status read_model(tokenizer_reader *r, const cJSON *root)
{
    const cJSON *model = member_of(root, "model");
    if (!cJSON_IsObject(model)) {
        return vta_fail(r->diag, VTA_SYNTAX, "no tokenizer: it has no 'model'");
    }
    VTA_TRY(check_bpe(r, model));
    VTA_TRY(read_tokens(r, model));
    VTA_TRY(read_added(r, member_of(root, "added_tokens")));
    if (r->t->tokens.count == 0) {
        return vta_fail(r->diag, VTA_SYNTAX, "the vocabulary is empty");
    }
    VTA_TRY(sort_added(r));
    VTA_TRY(index_tokens(r));
    r->t->byte_fallback = truth_of(model, "byte_fallback", false);
    find_byte_tokens(r->t);
    VTA_TRY(read_unknown(r, model));
    return r->t->model == VTA_MODEL_BPE ? read_merges(r, member_of(model, "merges")) : VTA_OK;
}

/* ---- steps: each kind of part has a function that adds what it does */

/* {"Regex": …} or {"String": …}, of a step. */
static vta_status read_pattern(tokenizer_reader *r, const cJSON *part, vta_text_step *step)
{
    const cJSON *pattern = member_of(part, "pattern");
    const char *expression = text_of(pattern, "Regex", NULL);
    const char *text = text_of(pattern, "String", NULL);
    if (expression != NULL) {
        return vta_pattern_compile(keep_slice(r, expression).at, &r->t->arena, &step->pattern, r->diag);
    }
    if (text == NULL || text[0] == '\0') {
        return vta_fail(r->diag, VTA_SYNTAX, "a step '%s' needs a pattern, a String or a Regex",
                        text_of(part, "type", ""));
    }
    step->from = keep_slice(r, text);
    return VTA_OK;
}

static vta_status add_split(tokenizer_reader *r, const char *expression, vta_split_behaviour behaviour)
{
    vta_text_step step = {.kind = VTA_STEP_SPLIT, .behaviour = behaviour};
    VTA_TRY(vta_pattern_compile(expression, &r->t->arena, &step.pattern, r->diag));
    return push_item(r, &r->t->splitters, &step);
}

static vta_status read_behaviour(tokenizer_reader *r, const cJSON *part, vta_split_behaviour *out)
{
    static const char *const names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext",
                                        "Contiguous"};
    static const vta_split_behaviour all[] = {VTA_SPLIT_REMOVED, VTA_SPLIT_ISOLATED, VTA_SPLIT_PREVIOUS,
                                              VTA_SPLIT_NEXT, VTA_SPLIT_CONTIGUOUS};
    const char *name = text_of(part, "behavior", "");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0) {
            *out = all[i];
            return VTA_OK;
        }
    }
    return refuse_part(r, "split with a behavior", name);
}

static vta_status read_split(tokenizer_reader *r, const cJSON *part)
{
    vta_text_step step = {.kind = VTA_STEP_SPLIT, .inverse = truth_of(part, "invert", false)};
    VTA_TRY(read_behaviour(r, part, &step.behaviour));
    VTA_TRY(read_pattern(r, part, &step));
    return push_item(r, &r->t->splitters, &step);
}

static vta_status read_byte_level(tokenizer_reader *r, const cJSON *part)
{
    static const char words[] =
        "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
    const vta_text_step space = {.kind = VTA_STEP_SPACE};
    const vta_text_step bytes = {.kind = VTA_STEP_BYTES};
    if (truth_of(part, "add_prefix_space", true)) {
        VTA_TRY(push_item(r, &r->t->splitters, &space));
    }
    if (truth_of(part, "use_regex", true)) {
        VTA_TRY(add_split(r, words, VTA_SPLIT_ISOLATED));
    }
    return push_item(r, &r->t->splitters, &bytes);
}

static vta_status read_prepend(tokenizer_reader *r, const cJSON *part, vta_prepend *out)
{
    const char *scheme =
        text_of(part, "prepend_scheme", truth_of(part, "add_prefix_space", true) ? "always" : "never");
    *out = strcmp(scheme, "first") == 0   ? VTA_PREPEND_FIRST
           : strcmp(scheme, "never") == 0 ? VTA_PREPEND_NEVER
                                          : VTA_PREPEND_ALWAYS;
    return *out != VTA_PREPEND_ALWAYS || strcmp(scheme, "always") == 0
               ? VTA_OK
               : refuse_part(r, "Metaspace with a prepend_scheme", scheme);
}

static vta_status read_marks(tokenizer_reader *r, const cJSON *part)
{
    vta_text_step step = {.kind = VTA_STEP_MARKS};
    step.text = keep_slice(r, text_of(part, "replacement", "\xe2\x96\x81"));
    VTA_TRY(read_prepend(r, part, &step.prepend));
    if (step.text.size == 0) {
        return vta_fail(r->diag, VTA_SYNTAX, "Metaspace needs a replacement");
    }
    VTA_TRY(push_item(r, &r->t->splitters, &step));
    step = (vta_text_step){.kind = VTA_STEP_SPLIT, .from = step.text, .behaviour = VTA_SPLIT_NEXT};
    return truth_of(part, "split", true) ? push_item(r, &r->t->splitters, &step) : VTA_OK;
}

static vta_status read_digits(tokenizer_reader *r, const cJSON *part)
{
    return add_split(r, truth_of(part, "individual_digits", false) ? "\\p{N}" : "\\p{N}+",
                     VTA_SPLIT_ISOLATED);
}

static vta_status read_whitespace(tokenizer_reader *r, const cJSON *part)
{
    (void)part;
    VTA_TRY(add_split(r, "\\s+", VTA_SPLIT_REMOVED));
    return add_split(r, "\\w+|[^\\w\\s]+", VTA_SPLIT_ISOLATED);
}

static vta_status read_whitespace_split(tokenizer_reader *r, const cJSON *part)
{
    (void)part;
    return add_split(r, "\\s+", VTA_SPLIT_REMOVED);
}

static vta_status read_punctuation(tokenizer_reader *r, const cJSON *part)
{
    vta_split_behaviour behaviour = VTA_SPLIT_ISOLATED;
    if (member_of(part, "behavior") != NULL) {
        VTA_TRY(read_behaviour(r, part, &behaviour));
    }
    return add_split(r, "[\\p{P}$+<=>^`|~]", behaviour);
}

static vta_status read_normal_form(tokenizer_reader *r, const cJSON *part)
{
    static const char *const names[] = {"NFC", "NFD", "NFKC", "NFKD"};
    static const vta_unicode_form forms[] = {VTA_FORM_NFC, VTA_FORM_NFD, VTA_FORM_NFKC, VTA_FORM_NFKD};
    vta_text_step step = {.kind = VTA_STEP_FORM};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        step.form = strcmp(text_of(part, "type", ""), names[i]) == 0 ? forms[i] : step.form;
    }
    return push_item(r, &r->t->normalizers, &step);
}

static vta_status read_prepended(tokenizer_reader *r, const cJSON *part)
{
    const vta_text_step step = {.kind = VTA_STEP_PREPEND,
                                .text = keep_slice(r, text_of(part, "prepend", ""))};
    return push_item(r, &r->t->normalizers, &step);
}

static vta_status read_replaced(tokenizer_reader *r, const cJSON *part)
{
    vta_text_step step = {.kind = VTA_STEP_REPLACE, .text = keep_slice(r, text_of(part, "content", ""))};
    VTA_TRY(read_pattern(r, part, &step));
    return push_item(r, &r->t->normalizers, &step);
}

static vta_status read_stripped(tokenizer_reader *r, const cJSON *part)
{
    const vta_text_step step = {.kind = VTA_STEP_STRIP,
                                .left = truth_of(part, "strip_left", true),
                                .right = truth_of(part, "strip_right", true)};
    return push_item(r, &r->t->normalizers, &step);
}

/* ---- decoders */

static vta_status add_decoder(tokenizer_reader *r, vta_decode_step step)
{
    if (r->fused && step.kind != VTA_DECODE_STRIP) {
        return vta_fail(r->diag, VTA_UNSUPPORTED, "a decoder behind Fuse that is no Strip is not supported");
    }
    step.whole = r->fused;
    return push_item(r, &r->t->decoders, &step);
}

static vta_status decode_bytes(tokenizer_reader *r, const cJSON *part)
{
    (void)part;
    return add_decoder(r, (vta_decode_step){.kind = VTA_DECODE_BYTES});
}

static vta_status decode_fallback(tokenizer_reader *r, const cJSON *part)
{
    (void)part;
    return add_decoder(r, (vta_decode_step){.kind = VTA_DECODE_FALLBACK});
}

static vta_status decode_fused(tokenizer_reader *r, const cJSON *part)
{
    (void)part;
    r->fused = true;
    return VTA_OK;
}

static vta_status decode_marks(tokenizer_reader *r, const cJSON *part)
{
    vta_prepend prepend;
    VTA_TRY(read_prepend(r, part, &prepend));
    return add_decoder(r,
                       (vta_decode_step){.kind = VTA_DECODE_MARKS,
                                         .from = keep_slice(r, text_of(part, "replacement", "\xe2\x96\x81")),
                                         .first = prepend != VTA_PREPEND_NEVER});
}

static vta_status decode_replaced(tokenizer_reader *r, const cJSON *part)
{
    vta_text_step step = {.kind = VTA_STEP_REPLACE};
    VTA_TRY(read_pattern(r, part, &step));
    return step.pattern != NULL
               ? refuse_part(r, "decoder with a pattern", "Regex")
               : add_decoder(r, (vta_decode_step){.kind = VTA_DECODE_REPLACE,
                                                  .from = step.from,
                                                  .text = keep_slice(r, text_of(part, "content", ""))});
}

static vta_status decode_stripped(tokenizer_reader *r, const cJSON *part)
{
    vta_decode_step step = {.kind = VTA_DECODE_STRIP, .from = keep_slice(r, text_of(part, "content", " "))};
    uint32_t stop = 0;
    if (!whole_of(member_of(part, "start"), 1000, &step.count) ||
        !whole_of(member_of(part, "stop"), 1000, &stop) || stop != 0) {
        return vta_fail(r->diag, VTA_UNSUPPORTED,
                        "a decoder Strip takes 'start' from the begin, 'stop' is 0");
    }
    return add_decoder(r, step);
}

/* ---- tables of parts */

typedef struct part_reader {
    const char *type;
    vta_status (*read)(tokenizer_reader *r, const cJSON *part);
} part_reader;

typedef struct part_kind {
    const char *name, *members; /* for messages; of a Sequence */
    const part_reader *readers;
    size_t count;
} part_kind;

static const part_reader normalizers[] = {{"NFC", read_normal_form},   {"NFD", read_normal_form},
                                          {"NFKC", read_normal_form},  {"NFKD", read_normal_form},
                                          {"Prepend", read_prepended}, {"Replace", read_replaced},
                                          {"Strip", read_stripped}};
static const part_reader splitters[] = {
    {"ByteLevel", read_byte_level},   {"Split", read_split},
    {"Metaspace", read_marks},        {"Digits", read_digits},
    {"Whitespace", read_whitespace},  {"WhitespaceSplit", read_whitespace_split},
    {"Punctuation", read_punctuation}};
static const part_reader decoders[] = {{"ByteLevel", decode_bytes},  {"ByteFallback", decode_fallback},
                                       {"Fuse", decode_fused},       {"Metaspace", decode_marks},
                                       {"Replace", decode_replaced}, {"Strip", decode_stripped}};

static vta_status read_part(tokenizer_reader *r, const part_kind *kind, const cJSON *part, int depth)
{
    const char *type = text_of(part, "type", "");
    if (strcmp(type, "Sequence") == 0 && depth < MAX_NESTING) {
        const cJSON *inner;
        cJSON_ArrayForEach(inner, member_of(part, kind->members))
        {
            VTA_TRY(read_part(r, kind, inner, depth + 1));
        }
        return VTA_OK;
    }
    for (size_t i = 0; i < kind->count; i++) {
        if (strcmp(kind->readers[i].type, type) == 0) {
            return kind->readers[i].read(r, part);
        }
    }
    return refuse_part(r, kind->name, type);
}

static vta_status read_steps(tokenizer_reader *r, const cJSON *root)
{
    static const part_kind normal = {"normalizer", "normalizers", normalizers,
                                     sizeof normalizers / sizeof normalizers[0]};
    static const part_kind split = {"pre-tokenizer", "pretokenizers", splitters,
                                    sizeof splitters / sizeof splitters[0]};
    static const part_kind decode = {"decoder", "decoders", decoders, sizeof decoders / sizeof decoders[0]};
    const cJSON *normalizer = member_of(root, "normalizer");
    const cJSON *splitter = member_of(root, "pre_tokenizer");
    const cJSON *decoder = member_of(root, "decoder");
    VTA_TRY(normalizer == NULL ? VTA_OK : read_part(r, &normal, normalizer, 0));
    VTA_TRY(splitter == NULL ? VTA_OK : read_part(r, &split, splitter, 0));
    return decoder == NULL ? add_decoder(r, (vta_decode_step){.kind = VTA_DECODE_JOIN})
                           : read_part(r, &decode, decoder, 0);
}

/* ---- tokens in front of a text */

static vta_status add_begin(tokenizer_reader *r, const char *text)
{
    uint32_t id;
    if (!vta_tokenizer_find(r->t, text, &id)) {
        return vta_fail(r->diag, VTA_SYNTAX,
                        "the post-processor puts '%.60s' in front, which the vocabulary does not have", text);
    }
    return push_item(r, &r->t->begin, &id);
}

/* The special tokens of a template in front of its sequence. */
static vta_status read_template(tokenizer_reader *r, const cJSON *part)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, member_of(part, "single"))
    {
        const cJSON *special = member_of(item, "SpecialToken");
        if (special == NULL) {
            break;
        }
        VTA_TRY(add_begin(r, text_of(special, "id", "")));
    }
    return VTA_OK;
}

static vta_status read_class_token(tokenizer_reader *r, const cJSON *part)
{
    const cJSON *token = cJSON_GetArrayItem(member_of(part, "cls"), 0);
    return add_begin(r, cJSON_IsString(token) ? token->valuestring : "");
}

static vta_status read_nothing(tokenizer_reader *r, const cJSON *part)
{
    (void)r;
    (void)part;
    return VTA_OK;
}

static vta_status read_post(tokenizer_reader *r, const cJSON *root)
{
    static const part_reader readers[] = {{"TemplateProcessing", read_template},
                                          {"BertProcessing", read_class_token},
                                          {"RobertaProcessing", read_class_token},
                                          {"ByteLevel", read_nothing}};
    static const part_kind kind = {"post-processor", "processors", readers,
                                   sizeof readers / sizeof readers[0]};
    const cJSON *post = member_of(root, "post_processor");
    return post == NULL ? VTA_OK : read_part(r, &kind, post, 0);
}

/* ---- the whole */

/* Refuses bytes that are no UTF-8, a 0 among them, and an escape that stands for a 0: texts end there. */
static vta_status check_bytes(const char *json, size_t size, vta_diag *diag)
{
    bool escaped = false;
    for (size_t at = 0; at < size;) {
        uint32_t point;
        const size_t bytes = vta_utf8_character(json + at, size - at, &point);
        if (bytes == 0 || point == 0) {
            return vta_fail(diag, VTA_SYNTAX, "byte %zu is no character of a JSON in UTF-8", at);
        }
        if (escaped && size - at >= 5 && memcmp(json + at, "u0000", 5) == 0) {
            return vta_fail(diag, VTA_SYNTAX, "byte %zu: a text with the character 0 in it is not supported",
                            at);
        }
        escaped = !escaped && point == '\\';
        at += bytes;
    }
    return VTA_OK;
}

static vta_status read_all(tokenizer_reader *r, const cJSON *root)
{
    VTA_TRY(read_model(r, root));
    VTA_TRY(read_steps(r, root));
    return read_post(r, root);
}

vta_status vta_tokenizer_parse(const char *json, size_t size, vta_tokenizer **out, vta_diag *diag)
{
    const char *where = json;
    *out = NULL;
    VTA_TRY(check_bytes(json, size, diag));
    cJSON *root = cJSON_ParseWithLengthOpts(json, size, &where, false);
    while (root != NULL && where < json + size && strchr(" \t\r\n", *where) != NULL) {
        where++;
    }
    if (root == NULL || where < json + size) {
        cJSON_Delete(root);
        return vta_fail(diag, VTA_SYNTAX, "byte %zu: no JSON", (size_t)(where - json));
    }
    vta_tokenizer *t = calloc(1, sizeof *t);
    tokenizer_reader r = {.t = t, .diag = diag};
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vta_allocated(t != NULL, diag));
    t->tokens.item_size = sizeof(vta_vocable);
    t->added.item_size = t->begin.item_size = sizeof(uint32_t);
    t->normalizers.item_size = t->splitters.item_size = sizeof(vta_text_step);
    t->decoders.item_size = sizeof(vta_decode_step);
    VTA_TRY_OUT(read_all(&r, root));
    *out = t;
    t = NULL;
out:
    vta_tokenizer_destroy(t);
    cJSON_Delete(root);
    return status;
}

vta_status vta_tokenizer_load(const char *path, vta_tokenizer **out, vta_diag *diag)
{
    uint8_t *bytes = NULL;
    size_t size;
    *out = NULL;
    VTA_TRY(vta_file_read(path, MAX_FILE, &bytes, &size, diag));
    const vta_status status = vta_tokenizer_parse((const char *)bytes, size, out, diag);
    free(bytes);
    if (status != VTA_OK) {
        (void)vta_context(diag, "%s", path);
    }
    return status;
}
