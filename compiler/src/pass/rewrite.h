/* SPDX-License-Identifier: Apache-2.0
 *
 * What passes share: rules by operator, and the few changes that
 * rules make. New nodes stand where the node that they replace stood, so that the order stays topological and
 * follows the model.
 */
#ifndef VTAC_PASS_REWRITE_H
#define VTAC_PASS_REWRITE_H

#include "vtac/pass.h"

typedef struct vtac_rewrite {
    vtac_graph *graph;
    vta_diag *diag;
    uint32_t changes;
} vtac_rewrite;

/* Looks at one node and changes the graph around it, or does not (*changed tells). */
typedef vta_status vtac_rule_fn(vtac_rewrite *r, vtac_node_id id, bool *changed);

typedef struct vtac_rule {
    vtac_op op; /* VTAC_OP_COUNT: any */
    vtac_rule_fn *apply;
} vtac_rule;

/* Applies the rules to all nodes, and again to what came of it, until nothing changes; removes what is dead.
 */
vta_status vtac_apply_rules(vtac_graph *graph, const vtac_rule *rules, size_t count, uint32_t *changes,
                            vta_diag *diag);

/* The node that makes a value; NULL: it is a graph input or a constant. */
const vtac_node *vtac_producer(const vtac_rewrite *r, vtac_value_id value);

/* The one node that uses a value, once, where nothing else does; NULL otherwise. */
const vtac_node *vtac_only_user(const vtac_rewrite *r, vtac_value_id value);
vtac_node_id vtac_node_id_of(const vtac_rewrite *r, const vtac_node *node);

/* Adds a node in front of `before`. Name and origin come from `like`. Pointers to nodes and values of the
 * graph are invalid afterwards. */
vta_status vtac_new_node(vtac_rewrite *r, vtac_node_id before, const vtac_node *like, vtac_node_spec spec,
                         vtac_value_id *outputs);

/* Adds a node with one output and no attributes. */
vta_status vtac_new_simple(vtac_rewrite *r, vtac_node_id before, const vtac_node *like, vtac_op op,
                           const vtac_value_id *inputs, uint32_t count, vtac_value_id *out);

/* Adds a Transpose. */
vta_status vtac_new_transpose(vtac_rewrite *r, vtac_node_id before, const vtac_node *like,
                              const int64_t *perm, uint32_t rank, vtac_value_id x, vtac_value_id *out);

/* A new constant; `data` is copied. */
vta_status vtac_new_constant(vtac_rewrite *r, const char *name, const vtac_type *type, const void *data,
                             vtac_value_id *out);
vta_status vtac_new_ints(vtac_rewrite *r, const int64_t *values, uint32_t count, vtac_value_id *out);

/* True if `new` can replace `old` everywhere. A graph output `old` passes its name on. */
bool vtac_can_replace(const vtac_graph *graph, vtac_value_id old, vtac_value_id new);

/* Everything that used `old` uses `new`, which takes its name if it has none of its own or `old` is a graph
 * output. */
void vtac_replace(vtac_rewrite *r, vtac_value_id old, vtac_value_id new);

/* The attributes of a node but for those named in `without` (NULL: none left out). */
vta_status vtac_attrs_without(vtac_rewrite *r, const vtac_node *node, const char *without, vtac_attr **attrs,
                              uint32_t *count);

/* Elementwise with one operand that is not a single number; nothing about it depends on an axis.
 * alter_layout.c */
bool vtac_is_plain(const vtac_rewrite *r, const vtac_node *node);

/* ---- gather-rows */

/* The value behind operators that change nothing. */
vtac_value_id vtac_origin_of(const vtac_rewrite *r, vtac_value_id value);
/* The operator that makes a value; NULL: it is not this one. */
const vtac_node *vtac_maker_of(const vtac_rewrite *r, vtac_value_id value, vtac_op op);
/* A sum with one number, either way round. */
vtac_value_id vtac_without_number(const vtac_rewrite *r, vtac_value_id value, double *number);
/* The axes that a mean goes over: the last one, all behind the channels, or the channels in front of others.
 */
typedef enum vtac_mean_of { VTAC_OF_ROWS, VTAC_OF_PLANES, VTAC_OF_CHANNELS } vtac_mean_of;
/* The operand of a reduction over these axes, which stay; 0: it is none, or the order of its sum is given. */
vtac_value_id vtac_reduced_by(const vtac_rewrite *r, vtac_value_id value, vtac_op op, vtac_mean_of how);
/* Elements from `first` to `end` of an axis of a value. */
typedef struct vtac_seen_part {
    vtac_value_id value;
    int64_t axis, first, end;
} vtac_seen_part;

/* The part of a value that Slice or Split takes. */
bool vtac_takes_part(const vtac_rewrite *r, vtac_value_id value, vtac_seen_part *part);
/* Linear attention (gather_linear.c), separable attention (gather_separable.c). */
vtac_rule_fn vtac_gather_linear, vtac_gather_separable;

/* A convolution of one axis as one of two; and elementwise operators keep the axis that it gained (line.c).
 */
vtac_rule_fn vtac_line_to_picture, vtac_row_stays;
/* A Pad with zeros as the padding of the convolution behind it (join_pad.c). */
vtac_rule_fn vtac_join_pad;
/* A convolution or a maximum pool of 16-bit floats as one of floats (halves.c). */
vtac_rule_fn vtac_widen_halves;
/* An Einsum of two operands as a product of matrices (einsum.c). */
vtac_rule_fn vtac_einsum_to_product;

#endif
