/* SPDX-License-Identifier: Apache-2.0
 *
 * Byte pair encoding: of all pairs beside each other the one whose merge was learnt first is merged, the
 * leftmost of equal ones, until no pair is left. Pairs wait in a heap; one that has changed since is passed
 * over.
 */
#include <string.h>

#include "tokenizer.h"
#include "vta/fail.h"
#include "vta/untrusted.h"

#define BPE_END UINT32_MAX

typedef struct bpe_symbol {
    uint32_t id, previous, next; /* of the symbols, BPE_END at the ends; id VTA_NO_TOKEN: merged away */
} bpe_symbol;

typedef struct bpe_pair {
    uint32_t rank, at; /* the symbol on the left */
    uint32_t left, right, whole;
} bpe_pair;

typedef struct bpe_work {
    const vta_tokenizer *t;
    vta_vec symbols; /* bpe_symbol */
    vta_vec heap;    /* bpe_pair */
    vta_diag *diag;
} bpe_work;

static bool pair_before(const bpe_pair *a, const bpe_pair *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void swap_pairs(bpe_pair *a, bpe_pair *b)
{
    const bpe_pair moved = *a;
    *a = *b;
    *b = moved;
}

static vta_status push_pair(bpe_work *w, bpe_pair pair)
{
    if (vta_vec_push(&w->heap, &pair) == NULL) {
        return vta_no_memory(w->diag);
    }
    bpe_pair *heap = w->heap.items;
    for (size_t at = w->heap.count - 1; at > 0 && pair_before(&heap[at], &heap[(at - 1) / 2]);
         at = (at - 1) / 2) {
        swap_pairs(&heap[at], &heap[(at - 1) / 2]);
    }
    return VTA_OK;
}

static bpe_pair pop_pair(bpe_work *w)
{
    bpe_pair *heap = w->heap.items;
    const bpe_pair first = heap[0];
    const size_t count = --w->heap.count;
    heap[0] = heap[count];
    size_t at = 0;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && pair_before(&heap[child + 1], &heap[child]);
        if (!pair_before(&heap[child], &heap[at])) {
            break;
        }
        swap_pairs(&heap[child], &heap[at]);
        at = child;
    }
    return first;
}

/* The pair of a symbol and the next one waits where the two merge. */
static vta_status offer_pair(bpe_work *w, uint32_t at)
{
    const bpe_symbol *symbols = w->symbols.items;
    if (at == BPE_END || symbols[at].next == BPE_END) {
        return VTA_OK;
    }
    const uint32_t left = symbols[at].id;
    const uint32_t right = symbols[symbols[at].next].id;
    const vta_merge *merge = vta_merge_of(w->t, left, right);
    return merge == NULL ? VTA_OK : push_pair(w, (bpe_pair){merge->rank, at, left, right, merge->whole});
}

static vta_status merge_pair(bpe_work *w, const bpe_pair *pair)
{
    bpe_symbol *symbols = w->symbols.items;
    bpe_symbol *left = &symbols[pair->at];
    if (left->id != pair->left || left->next == BPE_END || symbols[left->next].id != pair->right) {
        return VTA_OK; /* one of the two has become part of another */
    }
    bpe_symbol *right = &symbols[left->next];
    left->id = pair->whole;
    right->id = VTA_NO_TOKEN;
    left->next = right->next;
    if (right->next != BPE_END) {
        symbols[right->next].previous = pair->at;
    }
    const uint32_t previous = left->previous;
    VTA_TRY(offer_pair(w, previous));
    return offer_pair(w, pair->at);
}

/* A symbol for each character, or the tokens of its bytes. */
static vta_status list_characters(bpe_work *w, vta_slice piece, vta_vec *ids)
{
    bool fused = false;
    for (size_t at = 0; at < piece.size;) {
        uint32_t point;
        const size_t bytes = vta_utf8_character(piece.at + at, piece.size - at, &point);
        const vta_slice character = {piece.at + at, bytes == 0 ? 1 : bytes};
        const uint32_t id = vta_token_of(w->t, character.at, character.size);
        fused = fused && id == VTA_NO_TOKEN;
        if (id == VTA_NO_TOKEN) {
            VTA_TRY(vta_encode_unknown(w->t, character, &fused, ids, w->diag));
        } else if (vta_vec_push(ids, &id) == NULL) {
            return vta_no_memory(w->diag);
        }
        at += character.size;
    }
    return VTA_OK;
}

static vta_status link_symbols(bpe_work *w, const vta_vec *ids)
{
    bpe_symbol *symbols = vta_vec_add(&w->symbols, ids->count);
    if (symbols == NULL && ids->count > 0) {
        return vta_no_memory(w->diag);
    }
    for (size_t i = 0; i < ids->count; i++) {
        symbols[i] = (bpe_symbol){*(uint32_t *)vta_vec_at(ids, i), i == 0 ? BPE_END : (uint32_t)i - 1,
                                  i + 1 == ids->count ? BPE_END : (uint32_t)i + 1};
    }
    for (size_t i = 0; i < ids->count; i++) {
        VTA_TRY(offer_pair(w, (uint32_t)i));
    }
    return VTA_OK;
}

static vta_status merge_all(bpe_work *w, vta_slice piece, vta_vec *ids)
{
    VTA_TRY(list_characters(w, piece, ids));
    VTA_TRY(link_symbols(w, ids));
    while (w->heap.count > 0) {
        const bpe_pair pair = pop_pair(w);
        VTA_TRY(merge_pair(w, &pair));
    }
    ids->count = 0;
    for (size_t i = 0; i < w->symbols.count; i++) {
        const bpe_symbol *s = vta_vec_at(&w->symbols, i);
        if (s->id != VTA_NO_TOKEN && vta_vec_push(ids, &s->id) == NULL) {
            return vta_no_memory(w->diag);
        }
    }
    return VTA_OK;
}

vta_status vta_encode_bpe(const vta_tokenizer *t, vta_slice piece, vta_vec *ids, vta_diag *diag)
{
    bpe_work w = {t, {.item_size = sizeof(bpe_symbol)}, {.item_size = sizeof(bpe_pair)}, diag};
    vta_vec own = {.item_size = sizeof(uint32_t)};
    const uint32_t whole = t->ignore_merges ? vta_token_of(t, piece.at, piece.size) : VTA_NO_TOKEN;
    if (whole != VTA_NO_TOKEN) {
        return vta_allocated(vta_vec_push(ids, &whole) != NULL, diag);
    }
    vta_status status = VTA_OK;
    VTA_TRY_OUT(merge_all(&w, piece, &own));
    for (size_t i = 0; i < own.count && status == VTA_OK; i++) {
        status = vta_allocated(vta_vec_push(ids, vta_vec_at(&own, i)) != NULL, diag);
    }
out:
    vta_vec_free(&own);
    vta_vec_free(&w.symbols);
    vta_vec_free(&w.heap);
    return status;
}
