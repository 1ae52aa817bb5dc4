/* SPDX-License-Identifier: Apache-2.0
 *
 * An operator of Caffe2 as the functions that import operators see it: arguments, inputs, outputs, and the
 * scales of 8-bit values.
 */
#ifndef VTAC_CAFFE2_CAFFE2_H
#define VTAC_CAFFE2_CAFFE2_H

#include "../import/blocks.h"
#include "../import/layered.h"
#include "../import/protobuf.h"
#include "../import/window.h"

enum { CAFFE2_MAX_ENDS = 64, CAFFE2_MAX_SIDE = 1 << 16, CAFFE2_MAX_OPS = 1 << 16 };

/* Scale and zero point of an 8-bit value. */
typedef struct vtac_caffe2_scale {
    vtac_id id;
    double scale;
    int64_t zero;
} vtac_caffe2_scale;

typedef struct vtac_caffe2 {
    vtac_layered net;
    vtac_wire op;
    const char *first_input; /* of the network: what the other net fills is a placeholder; or NULL */
    uint32_t in_count, out_count;
    vtac_id in[CAFFE2_MAX_ENDS];
    const char *outputs[CAFFE2_MAX_ENDS];
    vtac_caffe2_scale *scales; /* in the order in which they were made */
    uint32_t scale_count, scale_room;
} vtac_caffe2;

typedef void vtac_caffe2_make_fn(vtac_caffe2 *c, const char *how);
#define VTAC_CAFFE2_OP(group, name, min, max, fn, how) vtac_caffe2_make_fn vtac_caffe2_make_##fn;
#include "operators.def"

/* The argument of that name; false: there is none. */
bool vtac_caffe2_find(const vtac_caffe2 *c, const char *name, vtac_wire *out);
int64_t vtac_caffe2_int(vtac_caffe2 *c, const char *name, int64_t otherwise, int64_t min, int64_t max);
double vtac_caffe2_real(const vtac_caffe2 *c, const char *name, double otherwise);
bool vtac_caffe2_is(const vtac_caffe2 *c, const char *name, const char *word);
/* The whole numbers of a list, 0 where there is none; more than `room` are a failure. */
uint32_t vtac_caffe2_ints(vtac_caffe2 *c, const char *name, int64_t *out, uint32_t room);

vtac_type vtac_caffe2_type(const vtac_caffe2 *c, uint32_t i);
void vtac_caffe2_set(vtac_caffe2 *c, uint32_t i, vtac_id id);
/* Axis `name`, counted from the end where it is negative. */
uint32_t vtac_caffe2_axis(vtac_caffe2 *c, const char *name, int64_t otherwise);

/* True where the channels are the last axis. */
bool vtac_caffe2_last(const vtac_caffe2 *c);
/* A value with its channels on axis 1, and the way back; nothing where they are there. */
vtac_id vtac_caffe2_planes(vtac_caffe2 *c, vtac_id x);
vtac_id vtac_caffe2_plain(vtac_caffe2 *c, vtac_id x);

/* The numbers of the operator's window over x, and the rule by which windows are laid; `kernel` NULL: the
 * operator's own. */
vtac_window_rule vtac_caffe2_read_window(vtac_caffe2 *c, vtac_id x, const int64_t *kernel, bool pool,
                                         vtac_import_window *w);
/* The window of the operator over x, which has its channels on axis 1. False after a failure. */
bool vtac_caffe2_window(vtac_caffe2 *c, vtac_id x, const int64_t *kernel, bool pool, vtac_import_window *w);

/* bytes.c: an 8-bit value's scale; a failure where it has none. */
vtac_caffe2_scale vtac_caffe2_scale_of(vtac_caffe2 *c, vtac_id id);
void vtac_caffe2_set_scale(vtac_caffe2 *c, vtac_id id, double scale, int64_t zero);

#endif
