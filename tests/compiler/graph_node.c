/* SPDX-License-Identifier: Apache-2.0 */
#include "graph_node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

vtac_value_id graph_node(vtac_graph *g, vtac_op op, const vtac_value_id *inputs, uint32_t count,
                         const vtac_attr *attrs, uint32_t attr_count)
{
    const vtac_node_spec spec = {.op = op,
                                 .name = "node",
                                 .inputs = inputs,
                                 .input_count = count,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = attr_count};
    vta_diag diag = {0};
    vtac_node_id id;
    if (vtac_add_node(g, &spec, &id, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    return g->nodes[id].outputs[0];
}
