/* SPDX-License-Identifier: Apache-2.0
 *
 * From an ONNX file to a graph: typed, static, in one operator set, with shape arithmetic folded away; and
 * back.
 */
#ifndef VTAC_ONNX_H
#define VTAC_ONNX_H

#include "vtac/graph.h"
#include "vtac/import.h"

/* Reads a model. Errors name the file, the node and the fault; unsupported operators are listed all at once.
 */
vta_status vtac_onnx_load(const char *path, const vtac_import_options *options, vtac_graph **out,
                          vta_diag *diag);

/* Reads a model from memory; `folder` is where external data may lie (NULL: nowhere). */
vta_status vtac_onnx_parse(const uint8_t *bytes, size_t size, const char *what, const char *folder,
                           const vtac_import_options *options, vtac_graph **out, vta_diag *diag);

/* The trunk of a model with control flow or sizes that only the run knows: the nodes from its inputs on that
 * do not depend on either. The graph's outputs are what the other nodes read of it, and outputs of the model.
 */
vta_status vtac_onnx_load_trunk(const vtac_model_file *file, const vtac_import_options *options,
                                vtac_graph **out, vta_diag *diag);

/* The model with `trunk`, which came of vtac_onnx_load_trunk and was changed, in the place of its own; values
 * in `trunk` may get other names. *bytes is owned (free()). */
vta_status vtac_onnx_graft(const vtac_model_file *file, const vtac_import_options *options, vtac_graph *trunk,
                           const char *producer, uint8_t **bytes, size_t *size, vta_diag *diag);

/* The graph of a model whose sizes are open, at one size, becomes a graph for all; `other` is that at another
 * size, after the same passes. What depends on the size and cannot be written so is refused. */
vta_status vtac_open_sizes(vtac_graph *graph, const vtac_graph *other, vta_diag *diag);

/* Packs such a graph as a model in which the sizes of inputs and outputs that differ from those of `other`
 * are open. *bytes is owned (free()). */
vta_status vtac_onnx_pack_open(const vtac_graph *graph, const vtac_graph *other, const char *producer,
                               uint8_t **bytes, size_t *size, vta_diag *diag);

/* The operators that the importer makes of others: row i; false behind the last. */
typedef struct vtac_composition {
    const char *name, *domain;
    uint16_t since; /* the first opset that has this form of it */
    const char *limits;
} vtac_composition;
bool vtac_composition_get(uint32_t i, vtac_composition *out);

/* Writes a graph as a model, of the oldest opset from 13 on that has its operators. The file appears whole or
 * not at all. */
vta_status vtac_onnx_write(const vtac_graph *graph, const char *producer, const char *path, vta_diag *diag);

/* Reads one serialized TensorProto (the .pb files of ONNX test cases); its memory belongs to the arena. */
vta_status vtac_onnx_tensor(const uint8_t *bytes, size_t size, const char *what, vta_arena *arena,
                            vtac_tensor *out, vta_diag *diag);

/* The number of an element type in ONNX; 0: none. */
int32_t vtac_export_dtype(vtac_dtype dtype);

#endif
