/* SPDX-License-Identifier: Apache-2.0
 *
 * Damages programs: bits, fields, micro-ops, tokens, order, length. What comes out may be legal or not.
 */
#ifndef VTA_TEST_CORRUPT_H
#define VTA_TEST_CORRUPT_H

#include "progen.h"
#include "rng.h"

typedef enum corruption {
    CORRUPT_BIT,       /* one bit of one instruction */
    CORRUPT_FIELD,     /* one field gets another value */
    CORRUPT_NUDGE,     /* one field changes by one */
    CORRUPT_UOP,       /* one bit of a micro-op in DRAM */
    CORRUPT_TOKEN,     /* one token flag */
    CORRUPT_DROP,      /* an instruction is missing */
    CORRUPT_DUPLICATE, /* one stands twice */
    CORRUPT_SWAP,      /* two change places */
    CORRUPT_TRUNCATE,  /* the end is missing */
    CORRUPTIONS
} corruption;

extern const char *const corruption_names[CORRUPTIONS];

/* Damages the program in place, once. */
void corrupt(progen_program *program, corruption kind, rng *random);

#endif
