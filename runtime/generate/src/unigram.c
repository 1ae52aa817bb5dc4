/* SPDX-License-Identifier: Apache-2.0
 *
 * Unigram: of all ways to cut a piece into tokens the one with the largest sum of scores. The best way to
 * each place is known when the places behind it are looked at.
 */
#include "tokenizer.h"
#include "vta/fail.h"
#include "vta/hash.h"
#include "vta/untrusted.h"

typedef struct unigram_place {
    double score;
    size_t from; /* where the last token begins */
    uint32_t id; /* VTA_NO_TOKEN: the vocabulary does not have this character */
    bool reached;
} unigram_place;

static void offer_token(unigram_place *place, size_t from, double score, uint32_t id)
{
    if (!place->reached || score > place->score) {
        *place = (unigram_place){score, from, id, true};
    }
}

/* All tokens that begin at a place; a character that is none by itself counts as unknown. */
static void extend_from(const vta_tokenizer *t, vta_slice piece, size_t at, unigram_place *places)
{
    uint32_t point;
    const size_t bytes = vta_utf8_character(piece.at + at, piece.size - at, &point);
    const size_t character = bytes == 0 ? 1 : bytes;
    const size_t left = piece.size - at;
    uint64_t hash = VTA_HASH_START;
    bool single = false;
    for (size_t size = 1; size <= left && size <= t->longest; size++) {
        hash = vta_hash_word(hash, (uint8_t)piece.at[at + size - 1]);
        const uint32_t id = vta_token_of_hash(t, hash, piece.at + at, size);
        if (id == VTA_NO_TOKEN || id == t->unknown) {
            continue;
        }
        single = single || size == character;
        offer_token(&places[at + size], at, places[at].score + vta_token_at(t, id)->score, id);
    }
    if (!single) {
        offer_token(&places[at + character], at, places[at].score + t->unknown_score, VTA_NO_TOKEN);
    }
}

/* Adds the tokens from the first on; `ends` are the places behind each, the last first. */
static vta_status add_tokens(const vta_tokenizer *t, vta_slice piece, const unigram_place *places,
                             const vta_vec *ends, vta_vec *ids, vta_diag *diag)
{
    bool fused = false;
    for (size_t i = ends->count; i-- > 0;) {
        const unigram_place *place = &places[*(size_t *)vta_vec_at(ends, i)];
        const vta_slice text = {piece.at + place->from, *(size_t *)vta_vec_at(ends, i) - place->from};
        fused = fused && place->id == VTA_NO_TOKEN;
        if (place->id == VTA_NO_TOKEN) {
            VTA_TRY(vta_encode_unknown(t, text, &fused, ids, diag));
        } else if (vta_vec_push(ids, &place->id) == NULL) {
            return vta_no_memory(diag);
        }
    }
    return VTA_OK;
}

vta_status vta_encode_unigram(const vta_tokenizer *t, vta_slice piece, vta_vec *ids, vta_diag *diag)
{
    vta_vec places = {.item_size = sizeof(unigram_place)};
    vta_vec ends = {.item_size = sizeof(size_t)};
    unigram_place *at = vta_vec_add(&places, piece.size + 1);
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vta_allocated(at != NULL, diag));
    at[0].reached = true;
    for (size_t i = 0; i < piece.size; i++) {
        if (at[i].reached) {
            extend_from(t, piece, i, at);
        }
    }
    for (size_t end = piece.size; end > 0; end = at[end].from) {
        VTA_TRY_OUT(vta_allocated(vta_vec_push(&ends, &end) != NULL, diag));
    }
    VTA_TRY_OUT(add_tokens(t, piece, at, &ends, ids, diag));
out:
    vta_vec_free(&places);
    vta_vec_free(&ends);
    return status;
}
