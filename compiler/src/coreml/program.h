/* SPDX-License-Identifier: Apache-2.0
 *
 * An operation of a program as the functions that import operations see it: arguments by name, which are
 * values or constants.
 */
#ifndef VTAC_COREML_PROGRAM_H
#define VTAC_COREML_PROGRAM_H

#include "coreml.h"

typedef void vtac_coreml_do_fn(vtac_coreml *c, const char *how);
#define VTAC_COREML_OP(group, name, fn, how) vtac_coreml_do_fn vtac_coreml_do_##fn;
#include "operations.def"

/* The values of an argument, or those of an attribute; up to `room`, 0 where there is none. */
uint32_t vtac_coreml_arguments(vtac_coreml *c, const char *name, vtac_id *out, uint32_t room);
/* The value of an argument; 0 where there is none, and a failure, too, where the argument is wanted. */
vtac_id vtac_coreml_argument(vtac_coreml *c, const char *name, bool wanted);
/* A constant text; the default where there is none. */
const char *vtac_coreml_word(vtac_coreml *c, const char *name, const char *otherwise);
/* Constant numbers. */
double vtac_coreml_real(vtac_coreml *c, const char *name, double otherwise);
int64_t vtac_coreml_int(vtac_coreml *c, const char *name, int64_t otherwise, int64_t min, int64_t max);
uint32_t vtac_coreml_ints(vtac_coreml *c, const char *name, int64_t *out, uint32_t room);
/* A constant, whose contents are known; NULL and a failure where it is not one. */
const vtac_tensor *vtac_coreml_known(vtac_coreml *c, const char *name);
/* The value of a Value message. */
vtac_id vtac_coreml_value(vtac_coreml *c, vtac_wire value);

#endif
