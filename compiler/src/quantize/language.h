/* SPDX-License-Identifier: Apache-2.0
 *
 * The perplexity of a model that scores the next id, on the ids of its own inputs.
 */
#ifndef VTAC_QUANTIZE_LANGUAGE_H
#define VTAC_QUANTIZE_LANGUAGE_H

#include "vtac/quantize.h"

typedef struct vtac_quant_language {
    bool found;
    uint32_t input;  /* of ids: [rows, length], or [length] */
    uint32_t output; /* [rows, length, words] */
    bool placed;     /* `place` is an input, and of one number: where in its text a sample begins */
    uint32_t place;
    int64_t length, words; /* of a row; ids are below `words` */
    uint64_t predicted;    /* ids that had one before them */
    double is, should;     /* what they cost, summed: -log of their probability, quantized and in floats */
} vtac_quant_language;

/* Finds the ids and their scores; `found` is false where a model has none. */
void vtac_quant_language_find(const vtac_graph *graph, vtac_quant_language *out);

/* Counts a sample, whose scores are those of both models. Its last scores predict the first id of the next
 * sample where that goes on with the same text. Ids that have no scores end it: they are no ids. */
void vtac_quant_language_add(vtac_quant_language *language, const vtac_samples *samples, uint32_t sample,
                             const float *is, const float *should);

/* The perplexities; nothing is reported where no id was predicted. */
void vtac_quant_language_close(const vtac_quant_language *language, vtac_quantize_report *report);

#endif
