/* SPDX-License-Identifier: Apache-2.0
 *
 * A layer of Caffe as the functions that import layers see it: its fields, its weights, its values.
 */
#ifndef VTAC_CAFFE_CAFFE_H
#define VTAC_CAFFE_CAFFE_H

#include "../import/blocks.h"
#include "../import/layered.h"
#include "../import/protobuf.h"
#include "prototxt.h"

enum { CAFFE_MAX_LAYERS = 1 << 14, CAFFE_MAX_ENDS = 64 };

/* A layer of the file of weights. */
typedef struct vtac_caffe_stored {
    vtac_wire name, bytes;
    uint64_t blobs; /* number of the field that holds them */
} vtac_caffe_stored;

typedef struct vtac_caffe {
    vtac_layered net;
    const vtac_prototxt_field *root, *layer;
    const vtac_caffe_stored *stored; /* by their order in the file */
    uint32_t stored_count, next;
    const vtac_caffe_stored *own; /* of the layer; NULL: it has no weights */
    uint32_t own_count;           /* its blobs */
    uint32_t in_count, out_count;
    vtac_id in[CAFFE_MAX_ENDS];
    const char *tops[CAFFE_MAX_ENDS];
} vtac_caffe;

typedef void vtac_caffe_make_fn(vtac_caffe *c);
#define VTAC_CAFFE_LAYER(group, name, old, min, max, fn) vtac_caffe_make_fn vtac_caffe_make_##fn;
#include "layers.def"

/* Fields of the message `param` of the layer. A value that is no number, or out of range, is a failure. */
int64_t vtac_caffe_int(vtac_caffe *c, const char *param, const char *name, int64_t otherwise, int64_t min,
                       int64_t max);
double vtac_caffe_real(vtac_caffe *c, const char *param, const char *name, double otherwise);
bool vtac_caffe_flag(const vtac_caffe *c, const char *param, const char *name, bool otherwise);
const char *vtac_caffe_word(const vtac_caffe *c, const char *param, const char *name, const char *otherwise);
/* All values of that name among the fields of a message, up to `room`; more are a failure. */
uint32_t vtac_caffe_reals(vtac_caffe *c, const vtac_prototxt_field *message, const char *name, double *out,
                          uint32_t room);
uint32_t vtac_caffe_ints(vtac_caffe *c, const vtac_prototxt_field *message, const char *name, int64_t *out,
                         uint32_t room);

/* Blob i of the layer's weights, as a constant of that shape; 0 and a failure where it has other elements. */
vtac_id vtac_caffe_weights(vtac_caffe *c, uint32_t i, const int64_t *dims, uint32_t rank);
/* The number of elements of blob i; 0: there is no such blob. */
int64_t vtac_caffe_weight_count(const vtac_caffe *c, uint32_t i);

/* True where a layer other than a loss takes the value of that name. */
bool vtac_caffe_is_taken(const vtac_caffe *c, const char *name);

/* Type of bottom i. */
vtac_type vtac_caffe_type(const vtac_caffe *c, uint32_t i);
/* Top i has that value. */
void vtac_caffe_set(vtac_caffe *c, uint32_t i, vtac_id id);

#endif
