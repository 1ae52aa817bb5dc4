/* SPDX-License-Identifier: Apache-2.0
 *
 * Models whose course or sizes are known only at run time. Such a model is a list of instructions over slots;
 * a slot holds a tensor, a sequence, or nothing. What is static lies in segments: steps of the artifact with
 * inputs and outputs of their own (VTA_FLOW_RUN), on the host and the accelerator as in any other model. What
 * is not is done by a function here, one for each row of vta/flow.def; pointwise operators on tensors of
 * unknown size are segments, too, run piece by piece (VTA_FLOW_MAP).
 *
 * How the artifact holds this: vta/flow.h.
 */
#ifndef VTA_FLOW_WALK_H
#define VTA_FLOW_WALK_H

#include <stdbool.h>

#include "vta/artifact.h"
#include "vta/flow.h"
#include "vta/status.h"
#include "vta/stop.h"

typedef struct vta_text vta_text;

/* A value in a slot. Holders are counted: an item that several hold is not written to. */
typedef struct vta_item {
    uint32_t refs, type, rank;
    char kind;
    int64_t dim[VTA_FLOW_RANK];
    int64_t count; /* elements, items */
    size_t bytes;
    uint8_t *data;
    void *owner;           /* of the data; NULL: it belongs to the artifact or to the model */
    struct vta_item *base; /* whose data or items this shows; NULL: nobody's */
    struct vta_item *
        *items; /* of a sequence; of one that others show, `bytes` is how many there is room for */
} vta_item;

typedef struct vta_list {
    int64_t count;
    const int64_t *at;
} vta_list;

typedef struct vta_flow_insn {
    vta_flow_op op;
    const char *name;
    int name_size;
    vta_list inputs, outputs, words;
} vta_flow_insn;

typedef struct vta_block {
    vta_list inputs, outputs;
    int64_t count;
    vta_flow_insn *insns;
} vta_block;

typedef struct vta_segment {
    vta_list steps, inputs, outputs;
} vta_segment;

/* An input or output of the model. */
typedef struct vta_flow_end {
    int64_t slot, kind, type, rank;
    const int64_t *dim;
    const char *name;
    int name_size;
} vta_flow_end;

typedef struct vta_flow {
    const vta_artifact *artifact;
    int64_t slot_count, constant_count, segment_count, block_count, input_count, output_count;
    vta_item **slots;
    vta_item **constants; /* and their slots */
    int64_t *constant_slots;
    vta_segment *segments;
    vta_block *blocks;
    vta_flow_end *inputs, *outputs;
    uint64_t used, max; /* bytes of all items, and what they may come to */
    uint32_t depth;
    vta_text **texts;     /* flow_text.h */
    uint32_t *text_slots; /* where a text is found, by its hash: its number + 1; twice as many */
    size_t text_count, text_room;

    /* Its owner's: does a step, with the artifact's inputs and outputs at these places. */
    uint8_t **input_places, **output_places;
    vta_status (*run_steps)(void *self, const int64_t *steps, int64_t count, vta_diag *diag);
    void *self;
    vta_stop *stop;
} vta_flow;

/* Of an artifact that has one. What a failure leaves, vta_flow_close frees. */
vta_status vta_flow_open(const vta_artifact *artifact, vta_flow *out, vta_diag *diag);
void vta_flow_close(vta_flow *flow);

/* One run. `inputs` are borrowed until vta_flow_clear empties all slots; the outputs are in theirs until
 * then. */
void vta_flow_clear(vta_flow *flow);
vta_status vta_flow_go(vta_flow *flow, vta_item *inputs, vta_diag *diag);
const vta_item *vta_flow_output(const vta_flow *flow, int64_t i);

/* ---- for the functions of the rows */

typedef struct vta_call {
    vta_flow *flow;
    const vta_flow_insn *insn;
    vta_item **in;  /* NULL: absent; as many as the instruction has */
    vta_item **out; /* to be filled in */
    vta_diag *diag;
} vta_call;
typedef vta_status vta_flow_fn(vta_call *call);
#define X(id, function, ...) vta_flow_fn vta_flow_##function;
VTA_FLOW_TABLE(X)
#undef X

vta_status vta_item_tensor(vta_flow *flow, uint32_t type, uint32_t rank, const int64_t *dim, vta_item **out,
                           vta_diag *diag);
/* Counts bytes as used, where there is room for them. */
vta_status vta_item_take(vta_flow *flow, uint64_t bytes, vta_diag *diag);
vta_status vta_item_sequence(vta_flow *flow, int64_t count, vta_item **out, vta_diag *diag);
vta_item *vta_item_hold(vta_item *item);
void vta_item_drop(vta_flow *flow, vta_item *item);

static inline uint32_t vta_item_size(const vta_item *t)
{
    return t->type >> 16;
}
/* True where input i is present and a tensor. */
bool vta_call_has(const vta_call *call, int64_t i);
vta_status vta_call_needs(const vta_call *call, int64_t count);
__attribute__((format(printf, 2, 3))) vta_status vta_call_refuse(const vta_call *call, const char *fmt, ...);
#ifdef __clang_analyzer__ /* as for vta_fail in vta/status.h: the analyzer does not see that this is a       \
                             failure */
/* NOLINTNEXTLINE(readability-identifier-naming): it stands for the function */
#    define vta_call_refuse(call, ...) ((void)(vta_call_refuse)(call, __VA_ARGS__), VTA_INVALID)
#endif

/* The words of an instruction in turn. */
int64_t vta_call_word(const vta_call *call, int64_t i);
double vta_call_float(const vta_call *call, int64_t i);
/* The list at word i; count -1: absent. `next`, if not NULL, is the word behind it. */
vta_list vta_call_list(const vta_call *call, int64_t i, int64_t *next);
/* The list at word i or, where that is absent, the integers of input `input`; count -1: neither. `store` has
 * room for VTA_FLOW_MOST of them. */
enum { VTA_FLOW_MAX = 64 };
vta_status vta_call_ints(const vta_call *call, int64_t word, int64_t input, int64_t *store, vta_list *out);

int64_t vta_item_int(const vta_item *t, int64_t i);
double vta_item_float(const vta_item *t, int64_t i);
void vta_item_set_int(vta_item *t, int64_t i, int64_t value);
void vta_item_set_float(vta_item *t, int64_t i, double value);
bool vta_item_is_float(const vta_item *t);
/* An axis that may count from the end; refused outside of -rank … rank-1. */
vta_status vta_call_axis(const vta_call *call, int64_t given, int64_t rank, int64_t *out);
/* Elements of the axes first … last-1. */
int64_t vta_dims_product(const vta_item *t, int64_t first, int64_t last);

/* Copies a block of `rank` axes, at most 2 * VTA_FLOW_RANK; strides in elements of `size` bytes. */
void vta_copy_block(uint8_t *to, const int64_t *to_stride, const uint8_t *from, const int64_t *from_stride,
                    const int64_t *dim, uint32_t rank, uint32_t size);
void vta_row_strides(const int64_t *dim, uint32_t rank, int64_t *stride);

/* `t` as it broadcasts to these sizes; itself, held, where they are its own. */
vta_status vta_item_broadcast(vta_flow *flow, vta_item *t, uint32_t rank, const int64_t *dim, vta_item **out,
                              vta_diag *diag);
vta_status vta_broadcast_dims(const vta_call *call, vta_item *const *items, int64_t count, int64_t min_rank,
                              int64_t *rank, int64_t *dim);
/* A tensor of the same elements under other sizes. */
vta_status vta_item_view(vta_flow *flow, vta_item *t, uint32_t rank, const int64_t *dim, vta_item **out,
                         vta_diag *diag);
vta_status vta_join(const vta_call *call, vta_item *const *items, int64_t count, int64_t axis, bool new_axis,
                    vta_item **out);

#endif
