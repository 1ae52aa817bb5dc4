/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes that the partition puts beside a node which it gives another form: what the host packs and unpacks
 * for it. All are named as that node is, and those that are the host's have the attribute `host`: they are no
 * layers, and no news to who asks what runs where.
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

const vtac_type *vtac_b_type(const vtac_node_builder *b, vtac_value_id value);
vta_status vtac_b_no_memory(const vtac_node_builder *b);

vta_status vtac_b_add(const vtac_node_builder *b, vtac_op op, const vtac_value_id *inputs, uint32_t count,
                      const vtac_attr *attrs, uint32_t attr_count, vtac_value_id *out);
/* Constants; the data are copied. */
vta_status vtac_b_constant(const vtac_node_builder *b, vtac_type type, const void *data, vtac_value_id *out);
vta_status vtac_b_list(const vtac_node_builder *b, const int64_t *values, uint32_t count, vtac_value_id *out);
vta_status vtac_b_number(const vtac_node_builder *b, vtac_dtype dtype, const void *value, vtac_value_id *out);

/* *x becomes what an operator makes of it, and of `more` where that is not 0; `attr` may be NULL. */
vta_status vtac_b_apply(const vtac_node_builder *b, vtac_op op, vtac_value_id more, const vtac_attr *attr,
                        vtac_value_id *x);
vta_status vtac_b_reshape(const vtac_node_builder *b, const int64_t *dims, uint32_t rank, vtac_value_id *x);
vta_status vtac_b_transpose(const vtac_node_builder *b, const int64_t *perm, uint32_t rank, vtac_value_id *x);
vta_status vtac_b_cast(const vtac_node_builder *b, vtac_dtype to, vtac_value_id *x);

/* The value under another name, by a node whose input follows what becomes of it. */
vta_status vtac_b_hold(const vtac_node_builder *b, vtac_value_id value, vtac_node_id *node,
                       vtac_value_id *out);

#endif
