/* SPDX-License-Identifier: Apache-2.0
 *
 * A small builder of ONNX graphs. Every call adds a node and returns the name of its result; a failure sticks
 * and makes all later calls do nothing. Shapes are tracked, so that layers need only say what they make.
 */
#ifndef VTAC_ZOO_BUILD_H
#define VTAC_ZOO_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "onnx.pb-c.h"
#include "vta/arena.h"
#include "vta/status.h"

/* A value under construction: its name and its shape. */
typedef struct zoo_value {
    const char *name;
    uint32_t rank;
    int64_t dim[5];
} zoo_value;

typedef struct zoo {
    vta_arena arena;
    Onnx__GraphProto graph;
    size_t node_room, tensor_room;
    uint64_t random;
    uint32_t counter;
    vta_status status;
    vta_diag *diag;
} zoo;

/* Tensors of weights: values drawn from N(0, deviation^2), or all `mean` where the deviation is 0. */
zoo_value zoo_weight(zoo *z, const char *role, uint32_t rank, const int64_t *dim, float mean,
                     float deviation);
zoo_value zoo_ints(zoo *z, const char *role, uint32_t count, const int64_t *values);

zoo_value zoo_input(zoo *z, const char *name, uint32_t rank, const int64_t *dim);
void zoo_output(zoo *z, zoo_value value);

/* Any node with one result of the given shape. Attributes are added to it afterwards. */
zoo_value zoo_node(zoo *z, const char *type, const zoo_value *inputs, uint32_t count, uint32_t rank,
                   const int64_t *dim);
void zoo_attr_int(zoo *z, const char *name, int64_t value);
void zoo_attr_float(zoo *z, const char *name, float value);
void zoo_attr_ints(zoo *z, const char *name, uint32_t count, const int64_t *values);

void zoo_attr_text(zoo *z, const char *name, const char *value);

/* Layers. Convolutions are [N, C, …] with as many axes of space as their input; pad -1 means half of what the
 * kernel spans. */
typedef struct zoo_conv_shape {
    int64_t channels, kernel, stride, pad, group; /* group 0: 1; group -1: depthwise */
    int64_t kernel_w;                             /* of the last axis; 0: as kernel */
    int64_t dilation;                             /* 0: 1 */
    bool bias, same; /* same: ceil(input / stride) places, the odd pad at the end; `pad` is not used */
    bool causal;     /* all padding in front; `pad` is not used */
} zoo_conv_shape;
zoo_value zoo_conv(zoo *z, zoo_value x, zoo_conv_shape shape);
zoo_value zoo_conv_norm(zoo *z, zoo_value x, int64_t channels, int64_t kernel, int64_t stride, int64_t group);
zoo_value zoo_conv_relu(zoo *z, zoo_value x, int64_t channels, int64_t kernel, int64_t stride);
/* Kernel and stride of `factor`: every pixel becomes a square of pixels. */
zoo_value zoo_conv_transpose(zoo *z, zoo_value x, int64_t channels, int64_t factor);
zoo_value zoo_norm(zoo *z, zoo_value x);
zoo_value zoo_relu(zoo *z, zoo_value x);
zoo_value zoo_relu6(zoo *z, zoo_value x);
zoo_value zoo_add(zoo *z, zoo_value a, zoo_value b);
zoo_value zoo_unary(zoo *z, const char *type, zoo_value x);
zoo_value zoo_binary(zoo *z, const char *type, zoo_value a, zoo_value b);
zoo_value zoo_pool(zoo *z, const char *type, zoo_value x, int64_t kernel, int64_t stride, int64_t pad,
                   bool ceil_mode);
zoo_value zoo_global_average(zoo *z, zoo_value x);
zoo_value zoo_concat(zoo *z, const zoo_value *parts, uint32_t count);
zoo_value zoo_flatten(zoo *z, zoo_value x);
zoo_value zoo_dense(zoo *z, zoo_value x, int64_t features);
/* The last axis times a matrix, and a bias. */
zoo_value zoo_linear(zoo *z, zoo_value x, int64_t features);
zoo_value zoo_layer_norm(zoo *z, zoo_value x);
zoo_value zoo_hard_swish(zoo *z, zoo_value x);
zoo_value zoo_silu(zoo *z, zoo_value x);
zoo_value zoo_gelu(zoo *z, zoo_value x);
zoo_value zoo_reshape(zoo *z, zoo_value x, uint32_t rank, const int64_t *dim);
zoo_value zoo_transpose(zoo *z, zoo_value x, const int64_t *perm);
/* Halves along the channels. */
void zoo_halve(zoo *z, zoo_value x, zoo_value halves[2]);
/* To [.., h, w]; mode "nearest" or "linear". */
zoo_value zoo_resize(zoo *z, zoo_value x, const char *mode, int64_t h, int64_t w);
/* Squeeze and excite: channels times a gate made of their means, through `squeezed` channels. */
zoo_value zoo_excite(zoo *z, zoo_value x, int64_t squeezed);

#endif
