/* SPDX-License-Identifier: Apache-2.0
 *
 * Models with control flow, or with sizes that are known only at run time. Their static parts lie side by
 * side in one graph, each a segment with inputs and outputs of its own, so that passes, partition and
 * lowerings see nothing new; what joins them is a list of instructions (vta/flow.h) beside the graph.
 */
#ifndef VTAC_FLOW_H
#define VTAC_FLOW_H

#include "vta/flow.h"
#include "vta/str.h"
#include "vta/vec.h"
#include "vtac/graph.h"

typedef struct vtac_flow_insn {
    vta_flow_op op;
    const char *name; /* of the node */
    uint32_t input_count, output_count, word_count;
    const uint32_t *inputs, *outputs; /* slots; 0: absent */
    const int64_t *words;
} vtac_flow_insn;

typedef struct vtac_flow_block {
    uint32_t input_count, output_count;
    const uint32_t *inputs, *outputs; /* slots */
    vta_vec insns;                    /* of vtac_flow_insn */
} vtac_flow_block;

/* Numbers of inputs and outputs of the graph, in the order of the instruction that runs the segment. */
typedef struct vtac_flow_segment {
    vta_vec inputs, outputs; /* of uint32_t */
} vtac_flow_segment;

typedef struct vtac_flow_constant {
    uint32_t slot;
    vtac_tensor tensor; /* the graph's */
} vtac_flow_constant;

/* An input or output of the model. rank -1: any; a size of -1: any; below: -2 - (least | most << 31). */
typedef struct vtac_flow_end {
    const char *name;
    uint32_t slot;
    char kind;
    vtac_dtype dtype;
    int32_t rank;
    int64_t dim[VTAC_MAX_RANK];
} vtac_flow_end;

typedef struct vtac_flow {
    uint32_t slot_count;     /* slot 0 is none */
    vta_vec constants;       /* of vtac_flow_constant */
    vta_vec segments;        /* of vtac_flow_segment */
    vta_vec blocks;          /* of vtac_flow_block; 0 is the model */
    vta_vec inputs, outputs; /* of vtac_flow_end */
    bool by_rows;            /* the graph is the model at a batch of one, run for each row */
} vtac_flow;

vtac_flow *vtac_flow_create(void);
void vtac_flow_destroy(vtac_flow *flow);

/* DLPack's code, bits, bytes of an element, as an instruction has them. */
int64_t vtac_flow_type(vtac_dtype dtype);

/* Three lists of an instruction that is being put together. */
typedef struct vtac_flow_draft {
    vta_vec inputs, outputs, words;
} vtac_flow_draft;
#define VTAC_FLOW_DRAFT                                                                                      \
    {                                                                                                        \
        .inputs = {.item_size = sizeof(uint32_t)}, .outputs = {.item_size = sizeof(uint32_t)},               \
        .words = {.item_size = sizeof(int64_t)},                                                             \
    }

vta_status vtac_flow_put_number(vta_vec *vec, uint32_t number, vta_diag *diag);
vta_status vtac_flow_put_word(vta_vec *vec, int64_t word, vta_diag *diag);
void vtac_flow_free_draft(vtac_flow_draft *d);

/* Copies bytes into the graph's arena; NULL: there is no memory. */
void *vtac_flow_keep(vtac_graph *graph, const void *items, size_t bytes);

/* A new block of graph->flow, which has no instructions yet. */
vta_status vtac_flow_add_block(vtac_graph *graph, uint32_t *number, vta_diag *diag);

/* Puts an instruction at the end of a block of graph->flow; its name and lists are copied. */
vta_status vtac_flow_append(vtac_graph *graph, uint32_t block, vta_flow_op op, const char *name,
                            const vtac_flow_draft *d, vta_diag *diag);

/* An axis of an input that has a size of a name. */
typedef struct vtac_flow_axis {
    const char *input;
    uint32_t slot;
    int64_t axis;
} vtac_flow_axis;

/* An instruction that refuses a run in which both differ. */
vta_status vtac_flow_same_size(vtac_graph *graph, uint32_t block, const char *name,
                               const vtac_flow_axis *first, const vtac_flow_axis *second, vta_diag *diag);

/* ---- models whose only open size is that of a batch */

/* A batch of this size stands for all that are larger than one: a prime, so that no other size of a network
 * is taken for it. */
enum { VTAC_MANY_ROWS = 13 };

/* True if every row of a batch goes its own way. `one` is a model at a batch of one, `many` at one of
 * VTAC_MANY_ROWS; *axis gets the axis of the batch in each value of `one`, -1: it has none. The caller frees
 * *axis. */
vta_status vtac_rows_apart(const vtac_graph *one, const vtac_graph *many, int **axis, bool *apart,
                           vta_diag *diag);

/* Makes `graph`, a model at a batch of one, the model for any batch: all of it is one segment, and a Scan
 * runs it for each row. `inputs`: the ends of its inputs, the batch's axis -1 or a range; `outputs`: the
 * names of its outputs, NULL: those of the values; `symbol`: the name of the open size. */
vta_status vtac_loop_rows(vtac_graph *graph, const vtac_flow_end *inputs, const char *const *outputs,
                          const char *symbol, const int *axis, vta_diag *diag);

/* True if an operator of ONNX takes tensors whose sizes are known only at run time. */
bool vtac_flow_takes(const char *domain, const char *name);

/* Operators that are instructions alone, in turn; name NULL: no more. */
typedef struct vtac_flow_only {
    const char *name;
    uint32_t since;
    const char *limits, *domain;
} vtac_flow_only;
vtac_flow_only vtac_flow_only_get(uint32_t i);

/* The segment of each value of the graph, from 1; 0: none (a constant). `of_value` has room for all values.
 */
void vtac_flow_segments(const vtac_graph *graph, uint32_t *of_value);

/* The instructions as the artifact has them. `steps`: of each step its segment, from 1. */
vta_status vtac_flow_encode(const vtac_graph *graph, const uint32_t *steps, uint32_t step_count, vta_str *out,
                            vta_diag *diag);

#endif
