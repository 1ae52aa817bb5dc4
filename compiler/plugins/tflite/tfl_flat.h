/* SPDX-License-Identifier: Apache-2.0
 *
 * A writer of flatbuffers from front to back: a table first, with places for what it refers to, then what
 * they refer to.
 */
#ifndef VTAC_TFL_FLAT_H
#define VTAC_TFL_FLAT_H

#include <stddef.h>
#include <stdint.h>

#include "vta/str.h"

typedef enum vtac_tfl_field_kind {
    VTAC_TFL_ABSENT,
    VTAC_TFL_BYTE,
    VTAC_TFL_INT,
    VTAC_TFL_FLOAT,
    VTAC_TFL_REFERENCE
} vtac_tfl_field_kind;

typedef struct vtac_tfl_field {
    vtac_tfl_field_kind kind;
    int32_t number;
    float real;
    size_t place; /* of a reference, once its table is written */
} vtac_tfl_field;

/* Writes a table with its list of offsets; returns where it begins. */
size_t vtac_tfl_put_table(vta_str *out, vtac_tfl_field *fields, uint32_t count);

/* Lets the reference at `place` lead to `target`. */
void vtac_tfl_link(vta_str *out, size_t place, size_t target);

/* A vector of `count` elements of `size` bytes, whose first element begins at a multiple of `align`; `bytes`
 * NULL: zeros. Returns where it begins; its elements begin four bytes behind. */
size_t vtac_tfl_put_vector(vta_str *out, const void *bytes, size_t count, size_t size, size_t align);
size_t vtac_tfl_put_text(vta_str *out, const char *text);

#endif
