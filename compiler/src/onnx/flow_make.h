/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes in ONNX's own words that the second way makes of another node. They are the graph's; without memory
 * `failed` is set, and nothing may be done with what came of it.
 */
#ifndef VTAC_ONNX_FLOW_MAKE_H
#define VTAC_ONNX_FLOW_MAKE_H

#include "flow.h"

typedef struct vtac_flow_maker {
    vtac_flow_builder *b;
    bool failed;
} vtac_flow_maker;

/* A name that no model has; `i` below 0: none. */
char *vtac_fm_name(vtac_flow_maker *m, const char *what, int i);
void *vtac_fm_room(vtac_flow_maker *m, size_t count, size_t size);
/* A node without names; one of at most two inputs (NULL: fewer) and one output. */
Onnx__NodeProto *vtac_fm_node(vtac_flow_maker *m, const char *type, size_t inputs, size_t outputs);
Onnx__NodeProto *vtac_fm_simple(vtac_flow_maker *m, const char *type, char *a, char *c, char *out);
/* The one attribute of a node, to be filled in. */
Onnx__AttributeProto *vtac_fm_attr(vtac_flow_maker *m, Onnx__NodeProto *node, const char *name);
void vtac_fm_set_int(vtac_flow_maker *m, Onnx__NodeProto *node, const char *name, int64_t value);
/* The tensor that a Constant gives, of this type, to be filled in. */
Onnx__TensorProto *vtac_fm_tensor(vtac_flow_maker *m, Onnx__NodeProto *constant, int32_t type);
/* Names as the inputs or outputs of a graph. */
Onnx__ValueInfoProto **vtac_fm_infos(vtac_flow_maker *m, char *const *names, size_t count);
/* A graph of nodes (Onnx__NodeProto *). */
Onnx__GraphProto *vtac_fm_graph(vtac_flow_maker *m, const vta_vec *nodes, char *const *in, size_t inputs,
                                char *const *out, size_t outputs);

#endif
