/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds nodes beside a node that the partition rewrites: the host's packing and unpacking for it. All get
 * the name of that node. Nodes of the host have the attribute `host`: they never become layers, and reports
 * leave them out.
 */
#ifndef VTAC_PARTITION_BUILDER_H
#define VTAC_PARTITION_BUILDER_H

#include "vta/arena.h"
#include "vta/config.h"
#include "vtac/graph.h"

typedef struct vtac_node_builder {
    vtac_graph *graph;
    vta_arena *arena; /* of the partition */
    const vta_config *config;
    vtac_node like;
    vta_diag *diag;
} vtac_node_builder;

/* The type of a value, a copy: the next node that is added moves the values. */
vtac_type vtac_b_type(const vtac_node_builder *b, vtac_value_id value);
int64_t vtac_b_elements(const vtac_node_builder *b, vtac_value_id value);
vta_status vtac_b_no_memory(const vtac_node_builder *b);

/* A node that may become a layer. */
vta_status vtac_b_layer(const vtac_node_builder *b, vtac_op op, const vtac_value_id *inputs, uint32_t count,
                        const vtac_attr *attrs, uint32_t attr_count, vtac_value_id *out);
vta_status vtac_b_add(const vtac_node_builder *b, vtac_op op, const vtac_value_id *inputs, uint32_t count,
                      const vtac_attr *attrs, uint32_t attr_count, vtac_value_id *out);
/* Constants; the data are copied. */
vta_status vtac_b_constant(const vtac_node_builder *b, vtac_type type, const void *data, vtac_value_id *out);
vta_status vtac_b_list(const vtac_node_builder *b, const int64_t *values, uint32_t count, vtac_value_id *out);
vta_status vtac_b_number(const vtac_node_builder *b, vtac_dtype dtype, const void *value, vtac_value_id *out);

/* Applies an operator to *x, and to `more` if that is not 0; `attr` may be NULL. */
vta_status vtac_b_apply(const vtac_node_builder *b, vtac_op op, vtac_value_id more, const vtac_attr *attr,
                        vtac_value_id *x);
/* Applies a binary operator to *x and an int32 number. */
vta_status vtac_b_with(const vtac_node_builder *b, vtac_op op, int32_t number, vtac_value_id *x);
vta_status vtac_b_reshape(const vtac_node_builder *b, const int64_t *dims, uint32_t rank, vtac_value_id *x);
vta_status vtac_b_transpose(const vtac_node_builder *b, const int64_t *perm, uint32_t rank, vtac_value_id *x);
vta_status vtac_b_slice(const vtac_node_builder *b, int64_t axis, int64_t first, int64_t count,
                        vtac_value_id *x);
vta_status vtac_b_cast(const vtac_node_builder *b, vtac_dtype to, vtac_value_id *x);

/* Gives a value another name by an Identity node, whose input follows later rewrites of the value. */
vta_status vtac_b_hold(const vtac_node_builder *b, vtac_value_id value, vtac_node_id *node,
                       vtac_value_id *out);

#endif
