/* SPDX-License-Identifier: Apache-2.0
 *
 * Composed operators as nodes of a graph, whose sizes are known.
 */
#ifndef VTAC_COMPOSE_GRAPH_H
#define VTAC_COMPOSE_GRAPH_H

#include "../import/maker.h"
#include "template.h"

/* An operator that is to be composed. */
typedef struct vtac_composed_node {
    const vtac_id *inputs;
    uint32_t input_count;
    const vtac_attr *attrs;
    uint32_t attr_count;
    const char *const *output_names; /* NULL: every output is needed */
    uint32_t output_count;
    /* Makes a node of an operator that has neither a kernel nor a text; NULL: there is none. */
    vta_status (*other)(void *context, vtac_import_builder *m, const vtac_template_node *node, vtac_id *out);
    void *context;
} vtac_composed_node;

/* Makes the nodes of a text; a fault is the builder's. Writes `output_count` values. */
void vtac_compose_graph(vtac_import_builder *m, const vtac_template_row *row, const vtac_composed_node *node,
                        vtac_id *out);

/* The value of an operator of a domain of texts with one input, one output and no attributes; *found is false
 * where there is no such text. */
vtac_id vtac_compose_named(vtac_import_builder *m, const char *domain, const char *name, vtac_id x,
                           bool *found);

#endif
