/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows that the run counts (rows.c), and the sizes that are computed from their number (sizes.c).
 */
#ifndef VTAC_TENSORFLOW_ROWS_H
#define VTAC_TENSORFLOW_ROWS_H

#include "import.h"

enum { MAX_TERMS = 6, MAX_SIZES = 16, MAX_ROWS = 1 << 20, MAX_NUMBER = 1 << 24 };

/* base + factor * count + ... */
struct vtac_tf_size {
    int64_t base;
    uint32_t terms;
    struct {
        uint32_t count; /* its number among the counts of the import */
        int64_t factor;
    } term[MAX_TERMS];
};

/* A tensor of at max two axes, whose numbers are sizes. */
struct vtac_tf_sizes {
    uint32_t count;
    vtac_tf_size at[MAX_SIZES];
};

/* ---- sums */
vtac_tf_size vtac_tf_constant_size(int64_t value);
/* a + factor * b; false: too long a sum, or too large. */
bool vtac_tf_add_sizes(vtac_tf_size *a, const vtac_tf_size *b, int64_t factor);
bool vtac_tf_same_size(const vtac_tf_size *a, const vtac_tf_size *b);
/* The largest that a sum can be, each count being from 0 to its max; the smallest with `sign` -1. */
int64_t vtac_tf_size_bound(const vtac_tf *im, const vtac_tf_size *s, int sign);
/* A number that the run finds, from 0 to `max`. */
vtac_tf_size vtac_tf_new_count(vtac_tf *im, vtac_id value, int64_t max);
/* The run's value of a sum: i64, of rank 0. */
vtac_id vtac_tf_size_value(vtac_tf *im, const vtac_tf_size *s);

/* ---- values with sizes and rows */
/* The sizes in input i: those of the value, or whole numbers that the graph knows; false: neither. */
bool vtac_tf_read_sizes(vtac_tf *im, uint32_t i, vtac_tf_sizes *out);
/* Output i has these sizes; where all are known it is a constant. */
void vtac_tf_set_sizes(vtac_tf *im, uint32_t i, const vtac_tf_sizes *sizes);
/* The count of the rows of input i; NULL: its size is known. */
const vtac_tf_size *vtac_tf_rows_of(const vtac_tf *im, uint32_t i);
void vtac_tf_refuse_rows(vtac_tf *im);
/* Shape and Size of inputs with such rows. */
void vtac_tf_import_row_sizes(vtac_tf *im);
/* The sizes that an operator makes of sizes; false: numbers that are no sizes any more. */
bool vtac_tf_sizes_made(vtac_tf *im, vtac_tf_import_fn *what, vtac_tf_sizes *out);

#endif
