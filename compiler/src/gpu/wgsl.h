/* SPDX-License-Identifier: Apache-2.0
 *
 * Loop nests as WGSL, the language of WebGPU. It has scalars of 32 bits alone. Bytes and halves of words are
 * parts of them; integers of 64 bits are one word where the values are known to fit, and else two.
 */
#ifndef VTAC_GPU_WGSL_H
#define VTAC_GPU_WGSL_H

#include "walk.h"

enum { VTAC_WGSL_LANES = 4 };

typedef enum vtac_wgsl_form {
    VTAC_WGSL_INT,
    VTAC_WGSL_UINT,
    VTAC_WGSL_FLOAT,
    VTAC_WGSL_BOOL,
    /* Pairs of words, vec2<u32>, the lower one first; there are no vectors of them. */
    VTAC_WGSL_WIDE,  /* an integer of 64 bits */
    VTAC_WGSL_DOUBLE /* the bits of a float of double precision */
} vtac_wgsl_form;

/* Values that an integer may have. */
typedef struct vtac_wgsl_range {
    int64_t min, max;
} vtac_wgsl_range;

typedef struct vtac_wgsl {
    vtac_walker walk;
    vtac_wgsl_range *ranges; /* of the variables */
    uint64_t held;           /* bit i: argument i is a constant */
    int64_t items;
    bool opaque;         /* literals are arguments of a function: the compiler must not compute with them */
    bool refused;        /* a vector has no form: its loop is to be printed lane by lane */
    bool atomic;         /* items write parts of one word */
    const char *missing; /* what has no form at all */
} vtac_wgsl;

/* The smallest range that an integer expression is known to keep to. */
vtac_wgsl_range vtac_wgsl_range_of(const vtac_wgsl *p, const vtac_expr *e);
vtac_wgsl_form vtac_wgsl_form_of(const vtac_wgsl *p, const vtac_expr *e);

/* Prints an expression in its form, with its own lanes. */
void vtac_wgsl_put(vtac_wgsl *p, const vtac_expr *e);
/* The same with `lanes` lanes, those of a scalar all the same; of 64 bits in the form `form`. */
void vtac_wgsl_put_spread(vtac_wgsl *p, const vtac_expr *e, unsigned lanes, vtac_wgsl_form form);
bool vtac_wgsl_is_pair(vtac_wgsl_form form);
/* An operation or cast whose operands or result are pairs, of one lane. */
void vtac_wgsl_put_pair(vtac_wgsl *p, const vtac_expr *e);
/* Prints a product that is scaled and rounded in double precision, with all its lanes; false: the expression
 * is something else. */
bool vtac_wgsl_put_rounded(vtac_wgsl *p, const vtac_expr *e);
/* An index at one lane, or of a scalar: an i32. */
void vtac_wgsl_put_index(vtac_wgsl *p, const vtac_expr *index, int lane);
/* True for a buffer that is an array of the language: an item's own, or a group's. */
bool vtac_wgsl_is_array(const vtac_buffer *buffer);
/* "work" or "held": the memory that a buffer is a part of. */
const char *vtac_wgsl_memory(const vtac_wgsl *p, const vtac_buffer *buffer);
/* "i8", "f16": what the functions of the prelude call an element type. */
const char *vtac_wgsl_element(vtac_dtype dtype);
const char *vtac_wgsl_type(vtac_wgsl_form form);

extern const char vtac_wgsl_prelude[];

#endif
