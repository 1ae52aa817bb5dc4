/* SPDX-License-Identifier: Apache-2.0
 *
 * A node of MXNet as the functions that import operators see it: its attributes, which are all texts, and its
 * values.
 */
#ifndef VTAC_MXNET_MXNET_H
#define VTAC_MXNET_MXNET_H

#include <cjson/cJSON.h>

#include "../import/blocks.h"
#include "../import/layered.h"

enum { MXNET_MAX_ENDS = 64, MXNET_MAX_LIST = 16, MXNET_MAX_SIDE = 1 << 16 };

/* An array of the file of weights. */
typedef struct vtac_mxnet_array {
    const char *name; /* without "arg:" or "aux:" */
    vtac_type type;
    const uint8_t *bytes;
    vtac_id id; /* its constant; 0: nobody wanted it yet */
} vtac_mxnet_array;

typedef struct vtac_mxnet {
    vtac_layered net;
    const cJSON *node;
    vtac_mxnet_array *arrays;
    uint32_t array_count, next;
    uint32_t in_count;
    vtac_id in[MXNET_MAX_ENDS];
    vtac_id out[MXNET_MAX_ENDS];
    uint32_t out_count; /* that the operator gave */
} vtac_mxnet;

typedef void vtac_mxnet_make_fn(vtac_mxnet *x, const char *how);
#define VTAC_MXNET_OP(group, name, min, max, fn, how) vtac_mxnet_make_fn vtac_mxnet_make_##fn;
#include "operators.def"

/* ---- params.c */

/* All arrays of a file of weights. */
vta_status vtac_mxnet_read_params(vtac_mxnet *x, const uint8_t *bytes, size_t size);
/* The constant of an array; 0 where there is none of that name. */
vtac_id vtac_mxnet_array_of(vtac_mxnet *x, const char *name);

/* ---- import.c */

/* An attribute of the node; NULL: it has none, or "None". */
const char *vtac_mxnet_text(const vtac_mxnet *x, const char *name);
int64_t vtac_mxnet_int(vtac_mxnet *x, const char *name, int64_t otherwise, int64_t min, int64_t max);
double vtac_mxnet_real(vtac_mxnet *x, const char *name, double otherwise);
bool vtac_mxnet_flag(const vtac_mxnet *x, const char *name, bool otherwise);
/* The numbers of "(3, 3)" or of "3"; none where there is no such attribute. An element "None" is
 * VTAC_MXNET_NONE. */
#define VTAC_MXNET_NONE INT64_MIN
uint32_t vtac_mxnet_ints(vtac_mxnet *x, const char *name, int64_t *out, uint32_t room);
/* `count` numbers, all the default where there is no such attribute. */
void vtac_mxnet_exactly(vtac_mxnet *x, const char *name, int64_t otherwise, int64_t *out, uint32_t count);

vtac_type vtac_mxnet_type(const vtac_mxnet *x, uint32_t i);
/* The operator's next output. */
void vtac_mxnet_give(vtac_mxnet *x, vtac_id id);
/* An axis of the first input: the attribute `name`. */
uint32_t vtac_mxnet_axis(vtac_mxnet *x, const char *name, int64_t otherwise);

#endif
