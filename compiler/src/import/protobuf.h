/* SPDX-License-Identifier: Apache-2.0
 *
 * The fields of a protobuf message, one after the other, without a schema.
 */
#ifndef VTAC_IMPORT_PROTOBUF_H
#define VTAC_IMPORT_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VTAC_WIRE_VARINT = 0, VTAC_WIRE_EIGHT = 1, VTAC_WIRE_BYTES = 2, VTAC_WIRE_FOUR = 5 };

typedef struct vtac_wire {
    const uint8_t *at, *end;
} vtac_wire;

typedef struct vtac_wire_field {
    uint64_t number;
    unsigned type;   /* VTAC_WIRE_* */
    vtac_wire bytes; /* the contents; of a field that is cut off, as much as is there */
} vtac_wire_field;

/* The next field. False: the message ends here, or is malformed; `at` is `end` then only where it ends. A
 * field whose length goes beyond the end is malformed, and yet `out` has its number and type. */
bool vtac_wire_next(vtac_wire *message, vtac_wire_field *out);

/* The first field of a number. False: there is none. */
bool vtac_wire_find(vtac_wire message, uint64_t number, vtac_wire_field *out);
/* The bytes of the first field of a number. False: there is none, or it holds no bytes. */
bool vtac_wire_message(vtac_wire message, uint64_t number, vtac_wire *out);
/* The bytes of the next field of a number that holds bytes; the message is moved behind it. False: there is
 * none, and the message is moved to its end or to where it is damaged. */
bool vtac_wire_each(vtac_wire *message, uint64_t number, vtac_wire *out);
/* True where bytes are a text's. */
bool vtac_wire_is(vtac_wire bytes, const char *text);
/* True where the first field of a number is a text that is printable and not empty. */
bool vtac_wire_has_text(vtac_wire message, uint64_t number);
/* True where all fields are among the numbers 1 ... max, and there is one. */
bool vtac_wire_has_only(vtac_wire message, uint64_t max);

/* The value of a varint, and of a float (FOUR) or double (EIGHT); 0 of a field of another type. */
uint64_t vtac_wire_number(const vtac_wire_field *field);
double vtac_wire_real(const vtac_wire_field *field);

/* The last field of a number as such a value; the default where there is none. */
int64_t vtac_wire_int(vtac_wire message, uint64_t number, int64_t otherwise);
double vtac_wire_float(vtac_wire message, uint64_t number, double otherwise);

/* Next number of a packed list of varints. False: it ends, or is cut off. */
bool vtac_wire_packed(vtac_wire *list, uint64_t *out);

/* All numbers of a repeated field of integers, packed or not; up to `room` are written, all are counted. */
size_t vtac_wire_ints(vtac_wire message, uint64_t number, int64_t *out, size_t room);

#endif
