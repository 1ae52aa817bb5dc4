/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph in the words of ONNX: what importers of other kinds made becomes operators that every reader of
 * ONNX has, quantized ones in QDQ form.
 */
#ifndef VTAC_CONVERT_H
#define VTAC_CONVERT_H

#include "vtac/graph.h"

typedef struct vtac_convert_options {
    /* Told, a sentence for each kind of rounding that ONNX cannot express, where and how often it is. May be
     * NULL. */
    void (*note)(void *context, const char *text);
    void *context;
    bool keep_products; /* QLinearConv, QGemm, QLinearMatMul, QLinearAdd and QLinearMul stay as they are */
} vtac_convert_options;

/* Afterwards vtac_onnx_write takes the graph. */
vta_status vtac_convert_graph(vtac_graph *graph, const vtac_convert_options *options, vta_diag *diag);

#endif
