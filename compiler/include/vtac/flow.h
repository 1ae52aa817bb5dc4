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
