/* SPDX-License-Identifier: Apache-2.0
 *
 * protobuf's text format, without a schema: fields with a value or with fields of their own.
 */
#ifndef VTAC_CAFFE_PROTOTXT_H
#define VTAC_CAFFE_PROTOTXT_H

#include <stdint.h>

#include "vta/arena.h"
#include "vta/status.h"
#include "vtac/import.h"

typedef struct vtac_prototxt_field {
    const char *name;
    const char *value; /* a number, a word or what stood in quotes; NULL: it has fields */
    const struct vtac_prototxt_field *first, *next;
    uint32_t line;
} vtac_prototxt_field;

/* All fields of a file, as those of *out. */
vta_status vtac_prototxt_parse(const vtac_model_file *file, vta_arena *arena, vtac_prototxt_field *out,
                               vta_diag *diag);

/* The next field of that name behind `from` among the fields of a message (NULL: the first); NULL: none. */
const vtac_prototxt_field *vtac_prototxt_next(const vtac_prototxt_field *message,
                                              const vtac_prototxt_field *from, const char *name);

/* A value, the last of that name; the default where there is none. `message` may be NULL. */
const char *vtac_prototxt_word(const vtac_prototxt_field *message, const char *name, const char *otherwise);
/* A value as a number. False: it is none. */
bool vtac_prototxt_number(const char *word, double *out);
/* The fields of a field; NULL: there is none. */
const vtac_prototxt_field *vtac_prototxt_message(const vtac_prototxt_field *message, const char *name);

#endif
