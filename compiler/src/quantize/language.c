/* SPDX-License-Identifier: Apache-2.0
 *
 * Perplexity: e to the mean of -log of the probability that the scores at a place give to the id at the next
 * place. A model that chooses blindly among n ids has n.
 */
#include "language.h"

#include <math.h>

#include "vtac/exact.h"

static bool holds_ids(const vtac_type *ids, const vtac_type *scores)
{
    bool fits = (ids->dtype == VTAC_I64 || ids->dtype == VTAC_I32) && ids->rank > 0 &&
                ids->rank + 1 == scores->rank && ids->dim[ids->rank - 1] > 1;
    for (uint32_t i = 0; fits && i < ids->rank; i++) {
        fits = ids->dim[i] == scores->dim[i];
    }
    return fits;
}

void vtac_quant_language_find(const vtac_graph *g, vtac_quant_language *out)
{
    *out = (vtac_quant_language){0};
    for (uint32_t o = 0; o < g->output_count && !out->found; o++) {
        const vtac_type *scores = &g->values[g->outputs[o]].type;
        for (uint32_t i = 0; scores->dtype == VTAC_F32 && i < g->input_count && !out->found; i++) {
            const vtac_type *ids = &g->values[g->inputs[i]].type;
            if (holds_ids(ids, scores)) {
                *out = (vtac_quant_language){.found = true,
                                             .input = i,
                                             .output = o,
                                             .length = ids->dim[ids->rank - 1],
                                             .words = scores->dim[ids->rank]};
            }
        }
    }
}

/* -log of the probability of `id` by a row of scores. */
static double cost_of(const float *scores, int64_t count, int64_t id)
{
    double largest = (double)scores[0], sum = 0.0;
    for (int64_t i = 1; i < count; i++) {
        largest = fmax(largest, (double)scores[i]);
    }
    for (int64_t i = 0; i < count; i++) {
        sum += vtac_exp((double)scores[i] - largest);
    }
    return vtac_log(sum) + largest - (double)scores[id];
}

void vtac_quant_language_add(vtac_quant_language *l, const vtac_tensor *ids, const float *is,
                             const float *should)
{
    const int64_t count = vtac_type_elements(&ids->type);
    for (int64_t i = 0; i < count && l->found; i++) {
        const int64_t id = vtac_tensor_int(ids, i);
        l->found = id >= 0 && id < l->words;
        if (l->found && i % l->length > 0) {
            l->is += cost_of(is + (i - 1) * l->words, l->words, id);
            l->should += cost_of(should + (i - 1) * l->words, l->words, id);
            l->predicted++;
        }
    }
}

void vtac_quant_language_close(const vtac_quant_language *l, vtac_quantize_report *report)
{
    if (l->found && l->predicted > 0) {
        report->predicted = l->predicted;
        report->perplexity = vtac_exp(l->is / (double)l->predicted);
        report->perplexity_float = vtac_exp(l->should / (double)l->predicted);
    }
}
