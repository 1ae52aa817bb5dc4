/* SPDX-License-Identifier: Apache-2.0
 *
 * From a text to tokens: added tokens are cut out, what is between them is normalized and split into pieces,
 * and each piece becomes tokens of the vocabulary.
 */
#include <stdlib.h>
#include <string.h>

#include "tokenizer.h"
#include "vta/fail.h"
#include "vta/untrusted.h"

/* Part of a text on its way: a token already, or text. */
typedef struct text_piece {
    vta_slice text;
    uint32_t id; /* VTA_NO_TOKEN: text */
    bool first;  /* begins the whole text */
} text_piece;

typedef struct text_encoder {
    const vta_tokenizer *t;
    vta_arena arena; /* of texts that steps have made */
    vta_vec pieces;  /* text_piece */
    vta_vec next;    /* those that a step makes */
    uint64_t budget; /* of patterns */
    vta_diag *diag;
} text_encoder;

static vta_status add_piece(text_encoder *e, const char *at, size_t size, uint32_t id, bool first)
{
    const text_piece piece = {{at, size}, id, first};
    if (size == 0 && id == VTA_NO_TOKEN) {
        return VTA_OK;
    }
    return vta_allocated(vta_vec_push(&e->next, &piece) != NULL, e->diag);
}

static void swap_pieces(text_encoder *e)
{
    const vta_vec made = e->next;
    e->next = e->pieces;
    e->next.count = 0;
    e->pieces = made;
}

/* ---- added tokens */

static size_t char_before(const char *text, size_t at, uint32_t *point)
{
    size_t size = 1;
    while (size < 4 && size < at && ((uint8_t)text[at - size] & 0xc0) == 0x80) {
        size++;
    }
    return at == 0 ? 0 : vta_utf8_character(text + at - size, size, point);
}

static bool is_word(uint32_t point)
{
    const uint32_t word = vta_unicode_categories("L", 1) | vta_unicode_categories("N", 1) |
                          vta_unicode_categories("M", 1) | vta_unicode_categories("Pc", 2);
    return (vta_unicode_category(point) & word) != 0;
}

static bool stands_alone(vta_slice text, size_t begin, size_t end)
{
    uint32_t point;
    const bool left = char_before(text.at, begin, &point) > 0 && is_word(point);
    return !left && !(vta_utf8_character(text.at + end, text.size - end, &point) > 0 && is_word(point));
}

static const vta_vocable *added_token_of(const vta_tokenizer *t, size_t place)
{
    return vta_token_at(t, *(uint32_t *)vta_vec_at(&t->added, place));
}

/* The first of the places from `low` on, below `high`, whose token has at least `byte` at `at`. The tokens
 * are sorted by bytes, are longer than `at`, and have the same bytes before it. */
static size_t first_with_byte(const vta_tokenizer *t, size_t low, size_t high, size_t at, unsigned byte)
{
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((uint8_t)added_token_of(t, middle)->at[at] < byte) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The longest added token at a place of a text, of equal ones the first of the file; VTA_NO_TOKEN. [low,
 * high) are those that begin with the `size` bytes of the text which have been read. */
static uint32_t added_at(const vta_tokenizer *t, vta_slice text, size_t at, bool early)
{
    uint32_t found = VTA_NO_TOKEN;
    size_t low = 0;
    size_t high = t->added.count;
    for (size_t size = 0; low < high; size++) {
        bool ends = false;
        for (; low < high && added_token_of(t, low)->size == size; low++) {
            const vta_vocable *token = added_token_of(t, low);
            if (!ends && token->early == early && (!token->whole || stands_alone(text, at, at + size))) {
                found = *(uint32_t *)vta_vec_at(&t->added, low);
                ends = true;
            }
        }
        if (at + size == text.size) {
            break;
        }
        const unsigned byte = (uint8_t)text.at[at + size];
        low = first_with_byte(t, low, high, size, byte);
        high = first_with_byte(t, low, high, size, byte + 1);
    }
    return found;
}

static size_t skip_spaces(vta_slice text, size_t at)
{
    uint32_t point;
    for (size_t size = vta_utf8_character(text.at + at, text.size - at, &point);
         size > 0 && vta_unicode_is_space(point);
         size = vta_utf8_character(text.at + at, text.size - at, &point)) {
        at += size;
    }
    return at;
}

static size_t skip_spaces_back(vta_slice text, size_t at, size_t floor)
{
    uint32_t point;
    for (size_t size = char_before(text.at, at, &point);
         size > 0 && at - size >= floor && vta_unicode_is_space(point);
         size = char_before(text.at, at, &point)) {
        at -= size;
    }
    return at;
}

static vta_status cut_piece(text_encoder *e, const text_piece *piece, bool early)
{
    const vta_slice text = piece->text;
    size_t begin = 0;
    for (size_t at = 0; at < text.size;) {
        const uint32_t id = added_at(e->t, text, at, early);
        if (id == VTA_NO_TOKEN) {
            at++;
            continue;
        }
        const vta_vocable *token = vta_token_at(e->t, id);
        const size_t end = token->takes_left ? skip_spaces_back(text, at, begin) : at;
        VTA_TRY(add_piece(e, text.at + begin, end - begin, VTA_NO_TOKEN, piece->first && begin == 0));
        VTA_TRY(add_piece(e, text.at + at, 0, id, false));
        at += token->size;
        at = begin = token->takes_right ? skip_spaces(text, at) : at;
    }
    return add_piece(e, text.at + begin, text.size - begin, VTA_NO_TOKEN, piece->first && begin == 0);
}

/* Cuts added tokens out of all pieces: those that stand in the text as it is, or in what was normalized. */
static vta_status cut_added(text_encoder *e, bool early)
{
    for (size_t i = 0; i < e->pieces.count; i++) {
        const text_piece piece = *(text_piece *)vta_vec_at(&e->pieces, i);
        VTA_TRY(piece.id != VTA_NO_TOKEN ? add_piece(e, piece.text.at, 0, piece.id, false)
                                         : cut_piece(e, &piece, early));
    }
    swap_pieces(e);
    return VTA_OK;
}

/* ---- matches within a piece */

typedef struct text_points {
    vta_pattern_text text;
    size_t *places; /* the byte of each point, and one more: the end */
} text_points;

static vta_status spread_points(text_encoder *e, vta_slice text, text_points *out)
{
    size_t count = 0;
    uint32_t *points = vta_arena_array(&e->arena, text.size + 1, sizeof *points);
    out->places = vta_arena_array(&e->arena, text.size + 1, sizeof *out->places);
    if (points == NULL || out->places == NULL) {
        return vta_no_memory(e->diag);
    }
    for (size_t at = 0; at < text.size;) {
        const size_t size = vta_utf8_character(text.at + at, text.size - at, &points[count]);
        out->places[count++] = at;
        at += size == 0 ? 1 : size;
    }
    out->places[count] = text.size;
    out->text = (vta_pattern_text){points, count, e->budget};
    return VTA_OK;
}

/* Finds the next match of a step in bytes; *begin is the size of the text where there is none. */
static vta_status find_match(text_encoder *e, const vta_text_step *s, vta_slice text, text_points *p,
                             size_t *from, size_t *begin, size_t *end)
{
    if (s->pattern != NULL) {
        vta_pattern_match match;
        VTA_TRY(vta_pattern_find(s->pattern, &p->text, *from, &match, e->diag));
        e->budget = p->text.budget;
        *begin = p->places[match.begin];
        *end = p->places[match.end];
        *from = match.end;
        return VTA_OK;
    }
    *begin = *end = text.size;
    for (size_t at = *from; s->from.size > 0 && at + s->from.size <= text.size; at++) {
        if (memcmp(text.at + at, s->from.at, s->from.size) == 0) {
            *begin = at;
            *end = at + s->from.size;
            break;
        }
    }
    *from = *end;
    return VTA_OK;
}

/* ---- steps */

/* A text that a step has made, as the piece that it was. */
static vta_status keep_text(text_encoder *e, vta_str *made, const text_piece *piece)
{
    if (made->failed) {
        return vta_no_memory(e->diag);
    }
    const char *kept = vta_arena_string(&e->arena, made->text == NULL ? "" : made->text, made->size);
    return kept == NULL ? vta_no_memory(e->diag) : add_piece(e, kept, made->size, VTA_NO_TOKEN, piece->first);
}

static vta_status replace_text(text_encoder *e, const vta_text_step *s, vta_slice text, vta_str *made)
{
    text_points points = {0};
    size_t from = 0;
    size_t done = 0;
    VTA_TRY(s->pattern == NULL ? VTA_OK : spread_points(e, text, &points));
    while (done < text.size) {
        size_t begin;
        size_t end;
        VTA_TRY(find_match(e, s, text, &points, &from, &begin, &end));
        vta_str_append(made, text.at + done, begin - done);
        if (end > begin) {
            vta_str_append(made, s->text.at, s->text.size);
        }
        done = end;
    }
    return VTA_OK;
}

static void append_bytes(vta_slice text, vta_str *made)
{
    for (size_t i = 0; i < text.size; i++) {
        vta_unicode_append(made, vta_byte_point((uint8_t)text.at[i]));
    }
}

static bool begins_with(vta_slice text, vta_slice what)
{
    return text.size >= what.size && memcmp(text.at, what.at, what.size) == 0;
}

static void append_marked(const vta_text_step *s, const text_piece *piece, vta_str *made)
{
    const vta_slice text = piece->text;
    const bool asked = s->prepend == VTA_PREPEND_ALWAYS || (s->prepend == VTA_PREPEND_FIRST && piece->first);
    if (asked && text.at[0] != ' ' && !begins_with(text, s->text)) {
        vta_str_append(made, s->text.at, s->text.size);
    }
    for (size_t i = 0; i < text.size; i++) {
        text.at[i] == ' ' ? vta_str_append(made, s->text.at, s->text.size)
                          : vta_str_append(made, text.at + i, 1);
    }
}

static void append_stripped(const vta_text_step *s, vta_slice text, vta_str *made)
{
    const size_t begin = s->left ? skip_spaces(text, 0) : 0;
    const size_t end = s->right ? skip_spaces_back(text, text.size, begin) : text.size;
    vta_str_append(made, text.at + begin, end - begin);
}

/* ---- splitting */

typedef struct text_part {
    size_t begin, end;
    bool matched;
} text_part;

/* The parts of a piece, matches and what is between them, in turn. */
static vta_status list_parts(text_encoder *e, const vta_text_step *s, vta_slice text, vta_vec *parts)
{
    text_points points = {0};
    size_t from = 0;
    size_t done = 0;
    VTA_TRY(s->pattern == NULL ? VTA_OK : spread_points(e, text, &points));
    while (done < text.size) {
        size_t begin;
        size_t end;
        VTA_TRY(find_match(e, s, text, &points, &from, &begin, &end));
        const text_part both[] = {{done, begin, s->inverse}, {begin, end, !s->inverse}};
        for (int i = 0; i < 2; i++) {
            if (both[i].end > both[i].begin && vta_vec_push(parts, &both[i]) == NULL) {
                return vta_no_memory(e->diag);
            }
        }
        done = end;
    }
    return VTA_OK;
}

/* True where a part belongs to the one before it. */
static bool joins_previous(vta_split_behaviour how, const text_part *previous, const text_part *part)
{
    switch (how) {
    case VTA_SPLIT_PREVIOUS: return part->matched && !previous->matched;
    case VTA_SPLIT_NEXT: return previous->matched && !part->matched;
    case VTA_SPLIT_CONTIGUOUS: return previous->matched == part->matched;
    case VTA_SPLIT_REMOVED:
    case VTA_SPLIT_ISOLATED: break;
    }
    return false;
}

static vta_status split_piece(text_encoder *e, const vta_text_step *s, const text_piece *piece,
                              vta_vec *parts)
{
    VTA_TRY(list_parts(e, s, piece->text, parts));
    for (size_t i = 0; i < parts->count;) {
        const text_part *first = vta_vec_at(parts, i);
        size_t end = first->end;
        for (i++;
             i < parts->count && joins_previous(s->behaviour, vta_vec_at(parts, i - 1), vta_vec_at(parts, i));
             i++) {
            end = ((text_part *)vta_vec_at(parts, i))->end;
        }
        if (s->behaviour != VTA_SPLIT_REMOVED || !first->matched) {
            VTA_TRY(add_piece(e, piece->text.at + first->begin, end - first->begin, VTA_NO_TOKEN,
                              piece->first && first->begin == 0));
        }
    }
    return VTA_OK;
}

static vta_status split_text(text_encoder *e, const vta_text_step *s, const text_piece *piece)
{
    vta_vec parts = {.item_size = sizeof(text_part)};
    const vta_status status = split_piece(e, s, piece, &parts);
    vta_vec_free(&parts);
    return status;
}

static vta_status change_text(text_encoder *e, const vta_text_step *s, const text_piece *piece, vta_str *made)
{
    const vta_slice text = piece->text;
    switch (s->kind) {
    case VTA_STEP_PREPEND:
        vta_str_append(made, s->text.at, s->text.size);
        vta_str_append(made, text.at, text.size);
        break;
    case VTA_STEP_SPACE:
        vta_str_append(made, " ", text.at[0] != ' ');
        vta_str_append(made, text.at, text.size);
        break;
    case VTA_STEP_REPLACE: VTA_TRY(replace_text(e, s, text, made)); break;
    case VTA_STEP_FORM: VTA_TRY(vta_unicode_normalize(s->form, text.at, text.size, made, e->diag)); break;
    case VTA_STEP_STRIP: append_stripped(s, text, made); break;
    case VTA_STEP_BYTES: append_bytes(text, made); break;
    case VTA_STEP_MARKS: append_marked(s, piece, made); break;
    case VTA_STEP_SPLIT: break;
    }
    return keep_text(e, made, piece);
}

static vta_status apply_steps(text_encoder *e, const vta_vec *steps)
{
    for (size_t k = 0; k < steps->count; k++) {
        const vta_text_step *s = vta_vec_at(steps, k);
        for (size_t i = 0; i < e->pieces.count; i++) {
            const text_piece piece = *(text_piece *)vta_vec_at(&e->pieces, i);
            vta_str made = {0};
            const vta_status status = piece.id != VTA_NO_TOKEN
                                          ? add_piece(e, piece.text.at, 0, piece.id, false)
                                      : s->kind == VTA_STEP_SPLIT ? split_text(e, s, &piece)
                                                                  : change_text(e, s, &piece, &made);
            vta_str_free(&made);
            VTA_TRY(status);
        }
        swap_pieces(e);
    }
    return VTA_OK;
}

/* ---- the whole */

vta_status vta_encode_unknown(const vta_tokenizer *t, vta_slice character, bool *fused, vta_vec *ids,
                              vta_diag *diag)
{
    bool all = t->byte_fallback;
    for (size_t i = 0; i < character.size && all; i++) {
        all = t->bytes[(uint8_t)character.at[i]] != VTA_NO_TOKEN;
    }
    for (size_t i = 0; i < character.size && all; i++) {
        if (vta_vec_push(ids, &t->bytes[(uint8_t)character.at[i]]) == NULL) {
            return vta_no_memory(diag);
        }
    }
    if (all || t->unknown == VTA_NO_TOKEN || (*fused && t->fuse_unknown)) {
        return VTA_OK;
    }
    *fused = true;
    return vta_allocated(vta_vec_push(ids, &t->unknown) != NULL, diag);
}

static vta_status check_utf8(const char *text, size_t size, vta_diag *diag)
{
    for (size_t at = 0; at < size;) {
        uint32_t point;
        const size_t bytes = vta_utf8_character(text + at, size - at, &point);
        if (bytes == 0) {
            return vta_fail(diag, VTA_SYNTAX, "byte %zu of the text is no UTF-8; convert it first", at);
        }
        at += bytes;
    }
    return VTA_OK;
}

static vta_status encode_pieces(text_encoder *e, vta_vec *ids)
{
    for (size_t i = 0; i < e->pieces.count; i++) {
        const text_piece *piece = vta_vec_at(&e->pieces, i);
        if (piece->id != VTA_NO_TOKEN) {
            VTA_TRY(vta_allocated(vta_vec_push(ids, &piece->id) != NULL, e->diag));
        } else {
            VTA_TRY((e->t->model == VTA_MODEL_BPE ? vta_encode_bpe : vta_encode_unigram)(e->t, piece->text,
                                                                                         ids, e->diag));
        }
    }
    return VTA_OK;
}

static vta_status encode_text(text_encoder *e, const char *text, size_t size, vta_vec *ids)
{
    VTA_TRY(check_utf8(text, size, e->diag));
    VTA_TRY(add_piece(e, text, size, VTA_NO_TOKEN, true));
    swap_pieces(e);
    VTA_TRY(cut_added(e, true));
    VTA_TRY(apply_steps(e, &e->t->normalizers));
    VTA_TRY(cut_added(e, false));
    VTA_TRY(apply_steps(e, &e->t->splitters));
    return encode_pieces(e, ids);
}

vta_status vta_tokenizer_encode(const vta_tokenizer *t, const char *text, size_t size, int begin,
                                uint32_t **ids, size_t *count, vta_diag *diag)
{
    enum { STEPS_A_BYTE = 2000, STEPS = 100000 };
    text_encoder e = {.t = t,
                      .pieces.item_size = sizeof(text_piece),
                      .next.item_size = sizeof(text_piece),
                      .budget = STEPS + (uint64_t)STEPS_A_BYTE * size,
                      .diag = diag};
    vta_vec out = {.item_size = sizeof(uint32_t)};
    vta_status status = VTA_OK;
    *ids = NULL;
    *count = 0;
    for (size_t i = 0; begin && i < t->begin.count; i++) {
        VTA_TRY_OUT(vta_allocated(vta_vec_push(&out, vta_vec_at(&t->begin, i)) != NULL, diag));
    }
    VTA_TRY_OUT(encode_text(&e, text, size, &out));
    *ids = out.items != NULL ? out.items : calloc(1, sizeof **ids);
    *count = out.count;
    status = vta_allocated(*ids != NULL, diag);
    out = (vta_vec){0};
out:
    vta_vec_free(&out);
    vta_vec_free(&e.pieces);
    vta_vec_free(&e.next);
    vta_arena_free(&e.arena);
    return status;
}
