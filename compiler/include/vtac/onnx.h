/* SPDX-License-Identifier: Apache-2.0
 *
 * From an ONNX file to a graph: typed, static, in one operator set, with shape arithmetic folded away; and
 * back.
 */
#ifndef VTAC_ONNX_H
#define VTAC_ONNX_H

#include "vtac/graph.h"

/* A shape for one graph input: "name=1x3x224x224" on the command line. */
typedef struct vtac_shape_option {
    const char *name;
    uint32_t rank;
    int64_t dim[VTAC_MAX_RANK];
} vtac_shape_option;

typedef struct vtac_import_options {
    const vtac_shape_option *shapes;
    uint32_t shape_count;
    /* Told, a sentence at a time, what was assumed ("input 'data': batch dimension 'N' taken as 1"). May be
     * NULL. */
    void (*note)(void *context, const char *text);
    void *context;
} vtac_import_options;

/* Parses NAME=AxBxC; dims are 0 or more. */
vta_status vtac_shape_parse(const char *text, char *name, size_t name_size, vtac_shape_option *out,
                            vta_diag *diag);

/* Reads a model. Errors name the file, the node and the fault; unsupported operators are listed all at once.
 */
vta_status vtac_onnx_load(const char *path, const vtac_import_options *options, vtac_graph **out,
                          vta_diag *diag);

/* The same from memory; `folder` is where external data may lie (NULL: nowhere). */
vta_status vtac_onnx_parse(const uint8_t *bytes, size_t size, const char *what, const char *folder,
                           const vtac_import_options *options, vtac_graph **out, vta_diag *diag);

/* Writes a graph as a model, of the oldest opset from 13 on that has its operators. The file appears whole or
 * not at all. */
vta_status vtac_onnx_write(const vtac_graph *graph, const char *producer, const char *path, vta_diag *diag);

/* Reads one serialized TensorProto (the .pb files of ONNX test cases); its memory belongs to the arena. */
vta_status vtac_onnx_tensor(const uint8_t *bytes, size_t size, const char *what, vta_arena *arena,
                            vtac_tensor *out, vta_diag *diag);

#endif
