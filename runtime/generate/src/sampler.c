/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses a token by its logit. The candidates lie in a heap, so that no more of them are sorted than are
 * looked at.
 */
#include <math.h>
#include <stdlib.h>

#include "vta/exact_exp.h"
#include "vta/fail.h"
#include "vta/generate.h"
#include "vta/vec.h"

typedef struct token_score {
    float logit;
    uint32_t id;
} token_score;

vta_status vta_sampler_check(const vta_sampler *s, vta_diag *diag)
{
    if (!(s->temperature >= 0.0 && s->temperature <= 1e6)) {
        return vta_fail(diag, VTA_INVALID, "a temperature of %g is not between 0 and 1000000",
                        s->temperature);
    }
    return s->top_p >= 0.0 && s->top_p <= 1.0
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID, "top-p of %g is not between 0 and 1", s->top_p);
}

void vta_sampler_free(vta_sampler *s)
{
    free(s->scratch);
    s->scratch = NULL;
    s->room = 0;
}

/* splitmix64, for which all seeds are as good. 0 <= result < 1. */
static double next_uniform(vta_sampler *s)
{
    s->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = s->state;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

/* ---- the heap: the largest logit is first, and of equal ones the smallest number */

static int is_before(token_score a, token_score b)
{
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

static void sift_down(token_score *heap, uint32_t count, uint32_t at)
{
    for (uint32_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && is_before(heap[child + 1], heap[child])) {
            child++;
        }
        if (!is_before(heap[child], heap[at])) {
            return;
        }
        const token_score moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
        at = child;
    }
}

/* Takes the first one out; it lies behind the others then. */
static token_score pop_first(token_score *heap, uint32_t *count)
{
    const token_score first = heap[0];
    *count -= 1;
    heap[0] = heap[*count];
    heap[*count] = first;
    sift_down(heap, *count, 0);
    return first;
}

/* ---- choosing */

/* Logits that are no numbers come of a broken model; -infinity is a token that must not be chosen. */
static vta_status check_logits(const float *logits, uint32_t count, uint32_t *largest, vta_diag *diag)
{
    *largest = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (isnan(logits[i]) || (isinf(logits[i]) && logits[i] > 0.0F)) {
            return vta_fail(diag, VTA_INVALID,
                            "the logit of token %u is %g; the model computes no numbers here", i,
                            (double)logits[i]);
        }
        *largest = logits[i] > logits[*largest] ? i : *largest;
    }
    return count > 0 && !isinf(logits[*largest])
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID, "all logits are -infinity; the model leaves no token to choose");
}

/* The share of a token, times something that all have in common. */
static double weight_of(const vta_sampler *s, float logit, float largest)
{
    return vta_exact_exp(((double)logit - (double)largest) / s->temperature);
}

/* Draws among all tokens, in the order of their numbers. */
static uint32_t draw_among_all(vta_sampler *s, const float *logits, uint32_t count, uint32_t largest)
{
    double all = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        all += weight_of(s, logits[i], logits[largest]);
    }
    double at = next_uniform(s) * all;
    for (uint32_t i = 0; i < count; i++) {
        at -= weight_of(s, logits[i], logits[largest]);
        if (at < 0.0) {
            return i;
        }
    }
    return largest; /* rounding has left nothing */
}

/* Takes out of the heap the tokens among which is drawn: `max_tokens` at the most, and no more than have the
 * share top_p of the weight of those. Returns how many; they lie at the end of the heap, the first one last.
 */
static uint32_t take_candidates(const vta_sampler *s, token_score *heap, uint32_t count, uint32_t max_tokens,
                                double *weight)
{
    const float largest = heap[0].logit;
    const double share = s->top_p == 0.0 ? 1.0 : s->top_p;
    uint32_t left = count;
    double all = 0.0;
    for (uint32_t i = 0; i < max_tokens; i++) {
        all += weight_of(s, (max_tokens < count ? pop_first(heap, &left) : heap[i]).logit, largest);
    }
    uint32_t end = 0;
    *weight = 0.0;
    while (end < max_tokens && (end == 0 || share == 1.0 || *weight < share * all)) {
        const token_score next = max_tokens < count ? heap[count - 1 - end] : pop_first(heap, &left);
        *weight += weight_of(s, next.logit, largest);
        end++;
    }
    return end;
}

static uint32_t draw_candidate(vta_sampler *s, token_score *heap, uint32_t count, uint32_t max_tokens)
{
    double weight;
    const float largest = heap[0].logit;
    const uint32_t end = take_candidates(s, heap, count, max_tokens, &weight);
    double at = next_uniform(s) * weight;
    for (uint32_t i = 0; i < end; i++) {
        at -= weight_of(s, heap[count - 1 - i].logit, largest);
        if (at < 0.0) {
            return heap[count - 1 - i].id;
        }
    }
    return heap[count - 1].id; /* rounding has left nothing: the largest */
}

vta_status vta_sample(vta_sampler *s, const float *logits, uint32_t count, uint32_t *id, vta_diag *diag)
{
    VTA_TRY(vta_sampler_check(s, diag));
    VTA_TRY(check_logits(logits, count, id, diag));
    if (s->temperature == 0.0 || s->top_k == 1) {
        return VTA_OK;
    }
    if (s->top_k == 0 && (s->top_p == 0.0 || s->top_p == 1.0)) {
        *id = draw_among_all(s, logits, count, *id);
        return VTA_OK;
    }
    token_score *heap = vta_grow(s->scratch, &s->room, count, sizeof *heap);
    if (heap == NULL) {
        return vta_no_memory(diag);
    }
    s->scratch = heap;
    for (uint32_t i = 0; i < count; i++) {
        heap[i] = (token_score){logits[i], i};
    }
    for (uint32_t i = count / 2; i-- > 0;) {
        sift_down(heap, count, i);
    }
    *id = draw_candidate(s, heap, count, s->top_k == 0 || s->top_k > count ? count : s->top_k);
    return VTA_OK;
}
