/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph as one HTML page that needs nothing else: drawn in layers, to pan, zoom and search; a click on a
 * node shows its attributes, the types of its operands and the ranges of its weights.
 */
#ifndef VTAC_CLI_PAGE_H
#define VTAC_CLI_PAGE_H

#include "vta/str.h"
#include "vtac/partition.h"

/* Position of a drawn node: its layer from the top, its rank in the layer, and in pixels the middle
 * of its top. */
typedef struct cli_place {
    uint32_t layer, rank;
    double x, y;
} cli_place;

enum { CLI_NODE_WIDTH = 206, CLI_NODE_HEIGHT = 42, CLI_LAYER_STEP = 74, CLI_RANK_STEP = 232 };

/* Places for the nodes in order, and behind them for the inputs and then the outputs of the graph. Owned;
 * NULL without memory. */
cli_place *cli_place_graph(const vtac_graph *graph, double *width, double *height);

/* Draws less: the quantization of values and constants becomes part of the edges. Returns how many nodes
 * went. The graph is for drawing alone afterwards. */
uint32_t cli_fold_quantization(vtac_graph *graph);

/* The page; owned, NULL without memory. With `places` (by node id, or NULL) it shows where each node runs.
 * `folded` is how many nodes were folded into edges, which the page tells. */
char *cli_graph_page(const vtac_graph *graph, const vtac_placement *places, uint32_t folded);

/* The graph as Graphviz reads it, for `dot -Tsvg`: what runs on the accelerator by colour. Owned; NULL
 * without memory. */
char *cli_graph_dot(const vtac_graph *graph);

#endif
