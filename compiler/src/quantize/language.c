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
                ids->rank + 1 == scores->rank && ids->dim[ids->rank - 1] > 0;
    for (uint32_t i = 0; fits && i < ids->rank; i++) {
        fits = ids->dim[i] == scores->dim[i];
    }
    return fits;
}

/* The input that says where in its text a sample begins: the only other one of a single whole number. */
static void find_place(const vtac_graph *g, vtac_quant_language *out)
{
    uint32_t found = 0;
    for (uint32_t i = 0; out->found && i < g->input_count; i++) {
        const vtac_type *type = &g->values[g->inputs[i]].type;
        const bool whole = type->dtype == VTAC_I64 || type->dtype == VTAC_I32;
        if (i != out->input && whole && vtac_type_elements(type) == 1) {
            out->place = i;
            found++;
        }
    }
    out->placed = found == 1;
    out->found = out->found && (out->placed || out->length > 1);
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
    find_place(g, out);
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

static const vtac_tensor *input_of(const vtac_samples *samples, uint32_t sample, uint32_t input)
{
    return &samples->tensors[(size_t)sample * samples->inputs + input];
}

/* True where the next sample has the ids behind those of this one, which are of one text. */
static bool goes_on(const vtac_quant_language *l, const vtac_samples *samples, uint32_t sample)
{
    const bool one = vtac_type_elements(&input_of(samples, sample, l->input)->type) == l->length;
    return l->placed && one && sample + 1 < samples->count &&
           vtac_tensor_int(input_of(samples, sample + 1, l->place), 0) ==
               vtac_tensor_int(input_of(samples, sample, l->place), 0) + l->length;
}

/* Counts that the scores at `at` predict an id. */
static void add_id(vtac_quant_language *l, int64_t id, const float *is, const float *should, int64_t at)
{
    l->is += cost_of(is + at * l->words, l->words, id);
    l->should += cost_of(should + at * l->words, l->words, id);
    l->predicted++;
}

void vtac_quant_language_add(vtac_quant_language *l, const vtac_samples *samples, uint32_t sample,
                             const float *is, const float *should)
{
    const vtac_tensor *ids = input_of(samples, sample, l->input);
    const int64_t count = vtac_type_elements(&ids->type);
    for (int64_t i = 0; i < count && l->found; i++) {
        const int64_t id = vtac_tensor_int(ids, i);
        l->found = id >= 0 && id < l->words;
        if (l->found && i % l->length > 0) {
            add_id(l, id, is, should, i - 1);
        }
    }
    if (l->found && goes_on(l, samples, sample)) {
        const int64_t id = vtac_tensor_int(input_of(samples, sample + 1, l->input), 0);
        l->found = id >= 0 && id < l->words;
        l->found ? add_id(l, id, is, should, count - 1) : (void)0;
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
