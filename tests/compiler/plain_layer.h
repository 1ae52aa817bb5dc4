/* SPDX-License-Identifier: Apache-2.0
 *
 * One quantized layer of a graph in plain loops: what the formula
 *
 *     saturate(round_half_even(v * s) + zero point)
 *
 * makes of the layer's own inputs. v is a whole number, s the float32 that ONNX Runtime's kernels compute,
 * and the product exact. Where s is settled (vtac/quant.h), `settled` has what this one gives.
 */
#ifndef VTAC_TEST_PLAIN_LAYER_H
#define VTAC_TEST_PLAIN_LAYER_H

#include "vtac/graph.h"

typedef struct plain_layer {
    int64_t count;
    int32_t *formula; /* owned */
    int32_t *settled; /* owned */
} plain_layer;

/* The contents of the node's input i. */
typedef vtac_tensor plain_input_fn(void *context, const vtac_node *node, uint32_t i);

/* False: not an operator of quantized numbers that this knows. */
bool plain_layer_evaluate(const vtac_graph *graph, const vtac_node *node, plain_input_fn *input,
                          void *context, plain_layer *out);
void plain_layer_free(plain_layer *all);

#endif
