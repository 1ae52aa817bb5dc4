/* SPDX-License-Identifier: Apache-2.0
 *
 * A bounded reader of flatbuffers: every offset is checked against the file before it is followed. Nothing
 * recurses, so that offsets which go round in circles cost nothing. What is absent reads as its default; what
 * lies outside the file marks the buffer as bad, reads as absent, and is told at the end by flat_bad.
 */
#ifndef VTAC_TFLITE_FLAT_H
#define VTAC_TFLITE_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct flat {
    const uint8_t *bytes;
    size_t size;
    bool bad;
    size_t bad_at; /* the first offset that led out of the file */
} flat;

/* A table; at 0: none. */
typedef struct flat_table {
    size_t at, vtable;
    uint32_t fields, bytes;
} flat_table;

/* A vector's elements; count 0: none. */
typedef struct flat_vector {
    size_t at;
    uint32_t count;
} flat_vector;

flat_table flat_root(flat *f);
flat_table flat_sub(flat *f, flat_table t, uint32_t field);
int64_t flat_int(flat *f, flat_table t, uint32_t field, uint32_t width, int64_t otherwise); /* signed */
float flat_float(flat *f, flat_table t, uint32_t field, float otherwise);
/* Elements of `size` bytes each. */
flat_vector flat_list(flat *f, flat_table t, uint32_t field, uint32_t size);
/* Element i of a list of tables; of integers. */
flat_table flat_item(flat *f, flat_vector v, uint32_t i);
int64_t flat_int_at(const flat *f, flat_vector v, uint32_t i, uint32_t width);
float flat_float_at(const flat *f, flat_vector v, uint32_t i);
/* A string: not terminated; NULL: none. */
const char *flat_text(flat *f, flat_table t, uint32_t field, uint32_t *length);

#endif
