/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts of a value over open sizes: those that follow for an operator's result from what is known of its
 * inputs.
 */
#ifndef VTAC_ONNX_FLOW_FACTS_H
#define VTAC_ONNX_FLOW_FACTS_H

#include "../compose/template.h"

enum { VTAC_FACTS_INPUTS = 16 };

typedef struct vtac_facts {
    vtac_dtype dtype;           /* VTAC_NO_DTYPE: not known */
    int rank;                   /* -1: not known */
    int64_t dim[VTAC_MAX_RANK]; /* -1: not known */
    int length;                 /* of integers of one axis that make a shape; -1: not known, or no such */
    int64_t ints[VTAC_MAX_RANK + 1]; /* these integers; VTAC_OPEN_INT: only the run knows it */
} vtac_facts;
#define VTAC_OPEN_INT INT64_MIN

void vtac_facts_none(vtac_facts *f);
void vtac_facts_ints(vtac_facts *f, const int64_t *values, uint32_t count);
/* The facts of an output of a node; inputs that are absent are NULL. */
void vtac_facts_infer(const vtac_template_node *node, const vtac_facts *const *inputs, uint32_t output,
                      vtac_facts *out);

#endif
