/* SPDX-License-Identifier: Apache-2.0
 *
 * The delegate's own: the host's graph as the core sees it, the graph or a part of it as a .tflite file.
 */
#ifndef VTAC_TFL_H
#define VTAC_TFL_H

#include "../core/plug.h"
#include "tfl_abi.h"
#include "tfl_flat.h"
#include "vta/arena.h"

/* ---- operators (tfl_ops.c) */

enum { TFL_MAX_FIELDS = 8 };

typedef struct vtac_tfl_op vtac_tfl_op;

/* The row of an operator by its number in the schema; NULL: the delegate does not write it. */
const vtac_tfl_op *vtac_tfl_op_find(int code);

/* The number of the operator's options in the schema; 0: it has none. */
int vtac_tfl_op_options(const vtac_tfl_op *op);

/* The fields of its options by the host's parameters; returns how many. */
uint32_t vtac_tfl_op_fields(const vtac_tfl_op *op, const void *params, vtac_tfl_field *fields);

/* A list of numbers that is the first field of its options; NULL: there is none. */
const int32_t *vtac_tfl_op_list(const vtac_tfl_op *op, const void *params, uint32_t *count);

/* The schema's number of a type of the host; below 0: a type that is not taken. */
int vtac_tfl_type(int type);

/* ---- the host's graph (tfl_graph.c) */

typedef struct vtac_tfl_node {
    int index; /* the host's */
    const TfLiteNode *node;
    int code, version;
    const vtac_tfl_op *op; /* NULL: it stays with the host */
} vtac_tfl_node;

/* Values are the host's tensors, by the same numbers. */
typedef struct vtac_tfl_graph {
    const TfLiteContext *context;
    vtac_tfl_node *nodes;
    vtac_plug_graph shape;
    vta_arena arena;
} vtac_tfl_graph;

vta_status vtac_tfl_graph_read(TfLiteContext *context, vtac_tfl_graph *out, vta_diag *diag);
void vtac_tfl_graph_free(vtac_tfl_graph *graph);

/* ---- files (tfl_write.c) */

/* The nodes `region` of the graph as a model with these borders. `plan`: what node i makes first has the name
 * "n<i>", as vtac_plug_place asks for; else borders have the names of vtac_plug_load. `out` is the
 * caller's to free, after a failure, too. */
vta_status vtac_tfl_write(const vtac_tfl_graph *graph, const int32_t *regions, int32_t region,
                          const vtac_plug_border *border, bool plan, vta_str *out, vta_diag *diag);

#endif
