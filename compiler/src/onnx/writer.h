/* SPDX-License-Identifier: Apache-2.0
 *
 * From a graph to the messages of an ONNX file: pieces for whoever puts a model together.
 */
#ifndef VTAC_ONNX_WRITER_H
#define VTAC_ONNX_WRITER_H

#include "onnx.pb-c.h"
#include "vtac/graph.h"

/* A job; a failure sticks, and everything afterwards does nothing. */
typedef struct vtac_onnx_writer {
    const vtac_graph *graph;
    vta_arena arena; /* of the messages */
    int64_t opset;   /* in whose form operators are written */
    bool failed;
} vtac_onnx_writer;

void *vtac_writer_alloc(vtac_onnx_writer *w, size_t count, size_t size);

/* A text for a message, which only reads it; NULL is "". */
char *vtac_writer_text(const char *text);

Onnx__TensorProto *vtac_writer_tensor(vtac_onnx_writer *w, const vtac_tensor *from, const char *name);

/* The whole graph. */
void vtac_writer_graph(vtac_onnx_writer *w, Onnx__GraphProto *to);

/* The graph as a model, whose graph is `graph`. */
vta_status vtac_writer_model(vtac_onnx_writer *w, const char *producer, Onnx__ModelProto *model,
                             Onnx__GraphProto *graph, vta_diag *diag);

/* Gives nodes of one name names of their own: ONNX Runtime wants that. */
void vtac_writer_name_apart(vtac_onnx_writer *w, Onnx__GraphProto *graph);

/* The opset for ONNX's operators, the oldest from 13 on that has all of the graph's; *microsoft tells whether
 * there are others. */
vta_status vtac_writer_opset(const vtac_graph *graph, int64_t *opset, bool *microsoft, vta_diag *diag);

/* The version of the file format that goes with an opset. */
int64_t vtac_writer_ir_version(int64_t opset);

#endif
