/* SPDX-License-Identifier: Apache-2.0
 *
 * The provider's own: the host's calls, its graph as the core sees it, the graph or a part of it as ONNX.
 */
#ifndef VTAC_ORT_H
#define VTAC_ORT_H

#include "../core/plug.h"
#include "ort_abi.h"
#include "vta/arena.h"
#include "vta/str.h"

/* ---- calls of the host */

typedef struct vtac_ort_calls {
#define ORT_CALL(result, name, slot, parameters) result(*name) parameters;
#include "ort_calls.def"
#undef ORT_CALL
} vtac_ort_calls;

/* Filled when the host loads the provider. */
extern vtac_ort_calls vtac_ort_host;

void vtac_ort_calls_of(const OrtApi *api, vtac_ort_calls *out);

/* VTA_OK for NULL, else the host's sentence in `diag`; the status is released. */
vta_status vtac_ort_check(OrtStatus *status, vta_diag *diag);

/* The host's status for a failure of ours; NULL for VTA_OK. */
OrtStatus *vtac_ort_status(vta_status status, const vta_diag *diag);

/* ---- the host's graph (ort_graph.c) */

enum { ORT_MAX_RANK = 8 };

typedef struct vtac_ort_value {
    const char *name;
    int type; /* ONNX's number of the element type; 0: no tensor, or not known */
    uint32_t rank;
    int64_t dim[ORT_MAX_RANK];
    bool is_ranked;           /* the number of its axes is known, and that of a constant; a scalar's is not */
    bool is_open;             /* the host knows some size only as it runs: below 0 in `dim` */
    const OrtValue *constant; /* an initializer that stays what it is; NULL: none */
} vtac_ort_value;

typedef struct vtac_ort_node {
    const OrtNode *node;
    const char *op, *domain; /* domain "" is ONNX's own */
    bool is_known;           /* can be written, and libvtac has the operator */
} vtac_ort_node;

/* Borrows from the host, which keeps the graph for as long as one of its calls lasts. */
typedef struct vtac_ort_graph {
    const OrtGraph *graph;
    vtac_ort_value *values;
    vtac_ort_node *nodes;
    vtac_plug_graph shape; /* the same nodes and values in the core's terms */
    vta_arena arena;
} vtac_ort_graph;

/* {0} and what this left may be freed. */
vta_status vtac_ort_graph_read(const OrtGraph *graph, vtac_ort_graph *out, vta_diag *diag);
void vtac_ort_graph_free(vtac_ort_graph *graph);

/* ---- ONNX (ort_onnx.c) */

/* Bits of an element by ONNX's number of its type; 0: none that goes to the compiler. */
uint32_t vtac_ort_bits(int type);

/* The nodes `region` of the graph as a model, with the names that plug.h asks for; borders of other nodes
 * become inputs and outputs. Open sizes stay open, or are 1 if `assume` says so. `out` is the caller's to
 * free, after a failure, too. */
vta_status vtac_ort_write(const vtac_ort_graph *graph, const int32_t *regions, int32_t region,
                          const vtac_plug_border *border, bool assume, vta_str *out, vta_diag *diag);

#endif
