/* SPDX-License-Identifier: Apache-2.0
 *
 * Which nodes of a graph are quantized, and which values have one scale together.
 */
#ifndef VTAC_QUANTIZE_PLAN_H
#define VTAC_QUANTIZE_PLAN_H

#include "vtac/graph.h"
#include "vtac/quantize.h"

typedef enum vtac_quant_role {
    QUANT_FLOAT,
    QUANT_PRODUCT,
    QUANT_RECURRENT,
    QUANT_FREE,
    QUANT_SHARE,
    QUANT_JOIN,
    QUANT_CLAMP
} vtac_quant_role;

typedef struct vtac_quant_plan {
    vtac_graph *graph;
    vta_arena *arena;
    const bool *kept; /* by node: it stays float; NULL: none does */
    bool *active;     /* by node */
    bool *exact;      /* by node: its result needs more than 8 bits (relative.h) */
    bool *early;      /* by node: it begins the network, and is quantized where 8 bits are read (early.h) */
    bool *whole;      /* by node: it stays in 8 bits whether something reads them or not */
    bool *wanted;     /* by value: it is to be quantized */
    bool *mask;       /* by value: it hides scores of a Softmax and stays as it is */
    uint32_t *island; /* by node: the function of one value, or the Softmax with its masks, that it is part
                         of, from 1 on; 0: none */
    vtac_value_id *parent; /* by value: towards the one that stands for its group */
    uint32_t node_room, value_room;
    vtac_network_end ends;
} vtac_quant_plan;

/* `kept` nodes stay float: by node; NULL: none. */
vta_status vtac_quant_plan_make(vtac_graph *graph, const bool *kept, vtac_network_end ends, vta_arena *arena,
                                vtac_quant_plan *out, vta_diag *diag);

vtac_quant_role vtac_quant_role_of(vtac_op op);

/* The value that stands for all with which this one shares a scale. */
vtac_value_id vtac_quant_group(const vtac_quant_plan *plan, vtac_value_id value);

/* The number of node `id`'s inputs, from the first on, that are activations. */
uint32_t vtac_quant_operands(const vtac_quant_plan *plan, vtac_node_id id);

/* Joins the groups of two values. */
void vtac_quant_join(const vtac_quant_plan *plan, vtac_value_id a, vtac_value_id b);

/* Joins all values that have one scale together. */
void vtac_quant_join_groups(const vtac_quant_plan *plan);

/* True for a node (0: none) that is a function whose range is known. */
bool vtac_quant_is_bounded(const vtac_graph *graph, vtac_node_id id);

/* True for a node that moves elements without computing. */
bool vtac_quant_moves(const vtac_node *node);

/* True where only its island reads the result of a node. */
bool vtac_quant_is_inside(const vtac_quant_plan *plan, vtac_node_id id);

/* Makes active nodes float again whose 8-bit results nothing would read. */
void vtac_quant_move_border(const vtac_quant_plan *plan);

/* True for an interpolation by whole factors, which has integers, of pixels that become more. */
bool vtac_quant_makes_pixels(const vtac_quant_plan *plan, vtac_node_id id);

/* True if the operator is that of a product; with constant weights, the node is a product. */
bool vtac_quant_may_be_product(const vtac_node *node);

/* True for a product of two matrices that both change with the input: what stands beside other products. */
bool vtac_quant_is_pair(const vtac_graph *graph, const vtac_node *node);

/* True for an LSTM, GRU or RNN that has integers (vtac/recurrence.h). */
bool vtac_quant_is_recurrent(const vtac_graph *graph, const vtac_node *node);

/* The multiplications of a product or a recurrent layer; 0 for other nodes. */
uint64_t vtac_quant_macs(const vtac_graph *graph, const vtac_node *node);

/* True if the operator is Conv, Gemm or MatMul with weights known at compile time; *axis is that of the
 * output channels in the weights. */
bool vtac_quant_is_product(const vtac_graph *graph, const vtac_node *node, uint32_t *axis);

#endif
