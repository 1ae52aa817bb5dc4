/* SPDX-License-Identifier: Apache-2.0
 *
 * Islands: operators element by element between one value and another, whose other operands are all known
 * numbers. Whatever they compute is one function of one number.
 *
 * An island is found from its end upwards. The value that is made last is taken in next, so that the ways
 * from a value and back to it are all inside when only that value is left. Of the places where a single value
 * is left the highest counts, but for what others read, which has to be made anyway.
 */
#ifndef VTAC_ISLAND_H
#define VTAC_ISLAND_H

#include "vtac/graph.h"

enum { VTAC_ISLAND_NODES = 64 };

typedef struct vtac_island {
    vtac_node_id nodes[VTAC_ISLAND_NODES]; /* the last one first */
    uint32_t count;
    vtac_value_id source;
} vtac_island;

typedef struct vtac_island_search {
    const vtac_graph *graph;
    const uint32_t *position;                                      /* of a node in the order, from 1 on */
    bool (*begins)(const vtac_graph *graph, vtac_value_id value);  /* may one begin with it? */
    bool (*takes)(const vtac_graph *graph, const vtac_node *node); /* may it be inside? NULL: any */
    int axis; /* constants may have a number for each place along it, then the smallest island is wanted; 0:
                 none, -1: the last one */
} vtac_island_search;

/* Places of the nodes in the order of execution, from 1 on; NULL: no memory. */
uint32_t *vtac_positions(const vtac_graph *graph, vta_arena *arena);

/* The island that ends in a node, whether worth anything or not; false: there is none. */
bool vtac_find_island(const vtac_island_search *search, vtac_node_id root, vtac_island *out);

/* A number, or the table of a LookUp: what an island may contain beside its source. */
bool vtac_island_knows(const vtac_graph *graph, const vtac_node *node, uint32_t input);

/* Islands with a constant for each column of rows become depthwise convolutions, with the rows turned into an
 * image and back: worth it where what makes the rows, and what reads them, are turned as well. */
vta_status vtac_fold_row_islands(vtac_graph *graph, uint32_t *changes, vta_diag *diag);

#endif
