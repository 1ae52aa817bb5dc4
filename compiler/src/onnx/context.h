/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoders whose cache has a fixed size (--context). The model is imported at that size and at two others:
 * a number that differs is a position, and follows from the input `position` then.
 */
#ifndef VTAC_ONNX_CONTEXT_H
#define VTAC_ONNX_CONTEXT_H

#include "import.h"

typedef enum vtac_context_kind {
    VTAC_CONTEXT_GIVEN,
    VTAC_CONTEXT_APPENDED, /* a cache to which the model appends */
    VTAC_CONTEXT_HELD,     /* a cache into which the model writes */
    VTAC_CONTEXT_ONES,
    VTAC_CONTEXT_PLACES,
    VTAC_CONTEXT_PAST,
    VTAC_CONTEXT_LAST,
    VTAC_CONTEXT_FILLED,
    VTAC_CONTEXT_ROOM,
    VTAC_CONTEXT_YES
} vtac_context_kind;

typedef struct vtac_context_input {
    vtac_context_kind kind;
    uint32_t open;             /* a bit for each axis whose size the model leaves open */
    uint32_t axis;             /* of a cache: that of the tokens */
    Onnx__TensorProto *tensor; /* its value, where that is a constant; the model's */
} vtac_context_input;

typedef struct vtac_context {
    Onnx__ModelProto *model;
    const char *folder;
    const vtac_import_options *options;
    int64_t step;               /* new tokens of a run */
    vtac_context_input *inputs; /* of the model */
    bool appends;               /* there is a cache to which it appends */
} vtac_context;

/* context_ends.c: reads of what kind the inputs are; gives them the sizes for a cache of `room` tokens. */
vta_status vtac_context_read(vtac_context *c, vta_diag *diag);
vta_status vtac_context_size(const vtac_context *c, int64_t room, vta_diag *diag);

/* The model with caches of fixed size, as `options` ask for. The model's inputs are changed. */
vta_status vtac_import_context(Onnx__ModelProto *model, const char *folder,
                               const vtac_import_options *options, vtac_graph **out, vta_diag *diag);

#endif
