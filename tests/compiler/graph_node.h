/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes of graphs that tests make.
 */
#ifndef VTAC_TEST_GRAPH_NODE_H
#define VTAC_TEST_GRAPH_NODE_H

#include "vtac/graph.h"

/* The only output of a new node; the test fails where the graph does not take it. */
vtac_value_id graph_node(vtac_graph *g, vtac_op op, const vtac_value_id *inputs, uint32_t count,
                         const vtac_attr *attrs, uint32_t attr_count);

#endif
