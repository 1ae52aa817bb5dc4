/* SPDX-License-Identifier: Apache-2.0
 *
 * A bounded reader of flatbuffers: every offset is checked against the file before it is followed. Nothing
 * recurses, so that offsets which go round in circles cost nothing. What is absent reads as its default; what
 * lies outside the file marks the buffer as bad, reads as absent, and is told at the end by vtac_flat_bad.
 */
#ifndef VTAC_TFLITE_FLAT_H
#define VTAC_TFLITE_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vtac_flat {
    const uint8_t *bytes;
    size_t size;
    bool bad;
    size_t bad_at; /* the first offset that led out of the file */
} vtac_flat;

/* A table; at 0: none. */
typedef struct vtac_flat_table {
    size_t at, vtable;
    uint32_t fields, bytes;
} vtac_flat_table;

/* A vector's elements; count 0: none. */
typedef struct vtac_flat_vector {
    size_t at;
    uint32_t count;
} vtac_flat_vector;

vtac_flat_table vtac_flat_root(vtac_flat *f);
vtac_flat_table vtac_flat_sub(vtac_flat *f, vtac_flat_table t, uint32_t field);
int64_t vtac_flat_int(vtac_flat *f, vtac_flat_table t, uint32_t field, uint32_t width,
                      int64_t otherwise); /* signed */
float vtac_flat_float(vtac_flat *f, vtac_flat_table t, uint32_t field, float otherwise);
/* Elements of `size` bytes each. */
vtac_flat_vector vtac_flat_list(vtac_flat *f, vtac_flat_table t, uint32_t field, uint32_t size);
/* Element i of a list of tables; of integers. */
vtac_flat_table vtac_flat_item(vtac_flat *f, vtac_flat_vector v, uint32_t i);
int64_t vtac_flat_int_at(const vtac_flat *f, vtac_flat_vector v, uint32_t i, uint32_t width);
float vtac_flat_float_at(const vtac_flat *f, vtac_flat_vector v, uint32_t i);
/* A string: not terminated; NULL: none. */
const char *vtac_flat_text(vtac_flat *f, vtac_flat_table t, uint32_t field, uint32_t *length);

#endif
