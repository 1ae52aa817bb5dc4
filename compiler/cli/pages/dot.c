/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph in Graphviz's words: nodes with operator and name, edges with the types of what flows.
 */
#include <stdlib.h>
#include <string.h>

#include "page.h"

static void put_quoted(vta_str *out, const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\') {
            vta_str_put(out, "\\");
        }
        if ((unsigned char)*p >= 0x20) {
            vta_str_append(out, p, 1);
        }
    }
}

static void put_box(vta_str *out, const char *prefix, uint32_t number, const char *title, const char *below,
                    const char *more)
{
    vta_str_printf(out, "  %s%u [label=\"", prefix, number);
    put_quoted(out, title);
    vta_str_put(out, "\\n");
    put_quoted(out, below);
    vta_str_printf(out, "\"%s];\n", more);
}

static void put_edge(vta_str *out, const vtac_graph *g, vtac_value_id value, const char *to, uint32_t number)
{
    char type[200];
    vta_str_printf(out, "  v%u -> %s%u [label=\"", value, to, number);
    put_quoted(out, vtac_type_text(&g->values[value].type, type, sizeof type));
    vta_str_put(out, "\"];\n");
}

/* Constants are left out: there are too many to see anything. A value is the node that makes it, by way of
 * an edge's tail "vN", which is a point without a size. */
char *cli_graph_dot(const vtac_graph *g)
{
    vta_str out = {0};
    vta_str_put(&out, "digraph \"");
    put_quoted(&out, g->name);
    vta_str_put(&out, "\" {\n  node [shape=box, style=\"rounded,filled\", fillcolor=white, "
                      "fontname=sans];\n  edge [fontname=sans, fontsize=9];\n");
    for (uint32_t i = 0; i < g->input_count; i++) {
        put_box(&out, "v", g->inputs[i], "input", g->values[g->inputs[i]].name, ", fillcolor=grey85");
    }
    for (uint32_t i = 0; i < g->order_count; i++) {
        const vtac_node *node = &g->nodes[g->order[i]];
        put_box(&out, "n", g->order[i], vtac_op_get(node->op)->name, node->name,
                node->op == VTAC_OP_VTA_REGION ? ", fillcolor=lightblue" : "");
        for (uint32_t k = 0; k < node->input_count; k++) {
            if (node->inputs[k] != 0 && g->values[node->inputs[k]].constant == NULL) {
                put_edge(&out, g, node->inputs[k], "n", g->order[i]);
            }
        }
        for (uint32_t k = 0; k < node->output_count; k++) {
            if (node->outputs[k] != 0) {
                vta_str_printf(&out,
                               "  v%u [shape=point, width=0.02, label=\"\"];\n  n%u -> v%u [dir=none];\n",
                               node->outputs[k], g->order[i], node->outputs[k]);
            }
        }
    }
    for (uint32_t i = 0; i < g->output_count; i++) {
        put_box(&out, "o", i, "output", g->values[g->outputs[i]].name, ", fillcolor=grey85");
        put_edge(&out, g, g->outputs[i], "o", i);
    }
    vta_str_put(&out, "}\n");
    if (out.failed) {
        vta_str_free(&out);
        return NULL;
    }
    return vta_str_take(&out);
}
