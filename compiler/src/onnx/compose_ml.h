/* SPDX-License-Identifier: Apache-2.0
 *
 * What the compositions of ai.onnx.ml share: attributes that are lists or tensors, labels, and what is done
 * to scores.
 */
#ifndef VTAC_ONNX_COMPOSE_ML_H
#define VTAC_ONNX_COMPOSE_ML_H

#include "compose.h"

/* A list of numbers, whichever attribute of `names` (a list that ends with NULL) holds it. */
typedef struct vtac_numbers {
    const int64_t *ints; /* one of the three is set, or none: count is 0 */
    const double *floats;
    const vtac_tensor *tensor;
    int64_t count;
    vtac_dtype dtype; /* of a tensor; I64, F32 or TEXT of a list */
} vtac_numbers;

vtac_numbers vtac_c_list(vtac_compose *c, const char *const *names);
vtac_numbers vtac_c_list_of(vtac_compose *c, const char *name);
double vtac_number_at(const vtac_numbers *list, int64_t i);
int64_t vtac_integer_at(const vtac_numbers *list, int64_t i);
/* The list as a constant of one axis. */
vtac_value_id vtac_c_constant(vtac_compose *c, const vtac_numbers *list, vtac_dtype dtype);
vtac_value_id vtac_c_integers(vtac_compose *c, const int64_t *values, int64_t count);

/* x as float32, or as float64 where it is that and `wide`. */
vtac_value_id vtac_c_floats(vtac_compose *c, uint32_t input, bool wide);
/* x [rows, columns]; of one axis: one row. */
vtac_value_id vtac_c_rows(vtac_compose *c, vtac_value_id x);

/* The class labels: integers, or texts. */
vtac_numbers vtac_c_labels(vtac_compose *c, const char *ints, const char *strings);
/* The label of the largest score of each row. */
vtac_value_id vtac_c_best_label(vtac_compose *c, vtac_value_id scores, const vtac_numbers *labels);
/* One label or the other. */
vtac_value_id vtac_c_choose(vtac_compose *c, vtac_value_id condition, const vtac_numbers *labels,
                            int64_t if_true, int64_t if_false);
/* post_transform of scores [rows, classes] */
vtac_value_id vtac_c_post(vtac_compose *c, vtac_value_id scores);

#endif
