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
#include "vtac/zoo.h"

/* Sizes that the run decides: new tokens, tokens in the cache, both. */
enum { VTAC_ZOO_NEW = -1, VTAC_ZOO_PAST = -2, VTAC_ZOO_ALL = -3 };

/* Element types, by ONNX's numbers. */
enum { VTAC_ZOO_FLOAT = 1, VTAC_ZOO_LONG = 7, VTAC_ZOO_BOOL = 9 };

enum { VTAC_ZOO_MAX_LAYERS = 64 };

/* A value under construction: its name and its shape. */
typedef struct vtac_zoo_value {
    const char *name;
    uint32_t rank;
    int64_t dim[5];
} vtac_zoo_value;

typedef struct vtac_zoo {
    vta_arena arena;
    Onnx__GraphProto graph;
    size_t node_room, tensor_room;
    uint64_t random;
    uint32_t counter;
    vtac_zoo_sizes sizes;
    size_t given; /* weights that were taken of those in `sizes` */
    vta_status status;
    vta_diag *diag;
} vtac_zoo;

/* Tensors of weights: values drawn from N(0, deviation^2), or all `mean` where the deviation is 0. */
vtac_zoo_value vtac_zoo_weight(vtac_zoo *z, const char *role, uint32_t rank, const int64_t *dim, float mean,
                               float deviation);
vtac_zoo_value vtac_zoo_ints(vtac_zoo *z, const char *role, uint32_t count, const int64_t *values);
/* A tensor of these numbers, which are the arena's; NULL: there was no memory. */
vtac_zoo_value vtac_zoo_floats(vtac_zoo *z, const char *role, uint32_t rank, const int64_t *dim,
                               float *values);

/* One integer without axes. */
vtac_zoo_value vtac_zoo_whole(vtac_zoo *z, const char *role, int64_t value);

/* An input of floats, and one of another type, whose name is copied. */
vtac_zoo_value vtac_zoo_input(vtac_zoo *z, const char *name, uint32_t rank, const int64_t *dim);
vtac_zoo_value vtac_zoo_input_of(vtac_zoo *z, const char *name, int32_t type, uint32_t rank,
                                 const int64_t *dim);
void vtac_zoo_output(vtac_zoo *z, vtac_zoo_value value);

/* Adds a node with one result of the given shape. Attributes are added to it afterwards. */
vtac_zoo_value vtac_zoo_node(vtac_zoo *z, const char *type, const vtac_zoo_value *inputs, uint32_t count,
                             uint32_t rank, const int64_t *dim);
/* Another name for the result of the node that was added last. */
void vtac_zoo_rename(vtac_zoo *z, vtac_zoo_value *value, const char *name);
/* Adds a result to that node; name NULL: the node's own. */
vtac_zoo_value vtac_zoo_more(vtac_zoo *z, const char *name, uint32_t rank, const int64_t *dim);
void vtac_zoo_attr_int(vtac_zoo *z, const char *name, int64_t value);
void vtac_zoo_attr_float(vtac_zoo *z, const char *name, float value);
void vtac_zoo_attr_ints(vtac_zoo *z, const char *name, uint32_t count, const int64_t *values);

void vtac_zoo_attr_text(vtac_zoo *z, const char *name, const char *value);

/* Layers. Convolutions are [N, C, …] with as many axes of space as their input; pad -1 means half of what the
 * kernel spans. */
typedef struct vtac_zoo_conv_shape {
    int64_t channels, kernel, stride, pad, group; /* group 0: 1; group -1: depthwise */
    int64_t kernel_w;                             /* of the last axis; 0: as kernel */
    int64_t dilation;                             /* 0: 1 */
    bool bias, same; /* same: ceil(input / stride) places, the odd pad at the end; `pad` is not used */
    bool causal;     /* all padding in front; `pad` is not used */
} vtac_zoo_conv_shape;
vtac_zoo_value vtac_zoo_conv(vtac_zoo *z, vtac_zoo_value x, vtac_zoo_conv_shape shape);
vtac_zoo_value vtac_zoo_conv_norm(vtac_zoo *z, vtac_zoo_value x, int64_t channels, int64_t kernel,
                                  int64_t stride, int64_t group);
vtac_zoo_value vtac_zoo_conv_relu(vtac_zoo *z, vtac_zoo_value x, int64_t channels, int64_t kernel,
                                  int64_t stride);
/* Kernel and stride of `factor`: every pixel becomes a square of pixels. */
vtac_zoo_value vtac_zoo_conv_transpose(vtac_zoo *z, vtac_zoo_value x, int64_t channels, int64_t factor);
vtac_zoo_value vtac_zoo_norm(vtac_zoo *z, vtac_zoo_value x);
vtac_zoo_value vtac_zoo_relu(vtac_zoo *z, vtac_zoo_value x);
vtac_zoo_value vtac_zoo_relu6(vtac_zoo *z, vtac_zoo_value x);
vtac_zoo_value vtac_zoo_add(vtac_zoo *z, vtac_zoo_value a, vtac_zoo_value b);
vtac_zoo_value vtac_zoo_unary(vtac_zoo *z, const char *type, vtac_zoo_value x);
vtac_zoo_value vtac_zoo_binary(vtac_zoo *z, const char *type, vtac_zoo_value a, vtac_zoo_value b);
vtac_zoo_value vtac_zoo_pool(vtac_zoo *z, const char *type, vtac_zoo_value x, int64_t kernel, int64_t stride,
                             int64_t pad, bool ceil_mode);
vtac_zoo_value vtac_zoo_global_average(vtac_zoo *z, vtac_zoo_value x);
vtac_zoo_value vtac_zoo_concat(vtac_zoo *z, const vtac_zoo_value *parts, uint32_t count);
vtac_zoo_value vtac_zoo_flatten(vtac_zoo *z, vtac_zoo_value x);
vtac_zoo_value vtac_zoo_dense(vtac_zoo *z, vtac_zoo_value x, int64_t features);
/* The last axis times a matrix, and the same with a bias. */
vtac_zoo_value vtac_zoo_project(vtac_zoo *z, vtac_zoo_value x, int64_t features);
vtac_zoo_value vtac_zoo_linear(vtac_zoo *z, vtac_zoo_value x, int64_t features);
vtac_zoo_value vtac_zoo_layer_norm(vtac_zoo *z, vtac_zoo_value x);
vtac_zoo_value vtac_zoo_hard_swish(vtac_zoo *z, vtac_zoo_value x);
vtac_zoo_value vtac_zoo_silu(vtac_zoo *z, vtac_zoo_value x);
vtac_zoo_value vtac_zoo_gelu(vtac_zoo *z, vtac_zoo_value x);
vtac_zoo_value vtac_zoo_reshape(vtac_zoo *z, vtac_zoo_value x, uint32_t rank, const int64_t *dim);
vtac_zoo_value vtac_zoo_transpose(vtac_zoo *z, vtac_zoo_value x, const int64_t *perm);
/* Halves along the channels. */
void vtac_zoo_halve(vtac_zoo *z, vtac_zoo_value x, vtac_zoo_value halves[2]);
/* Resizes to [.., h, w]; mode "nearest" or "linear". */
vtac_zoo_value vtac_zoo_resize(vtac_zoo *z, vtac_zoo_value x, const char *mode, int64_t h, int64_t w);
/* Squeeze and excite: channels times a gate made of their means, through `squeezed` channels. */
vtac_zoo_value vtac_zoo_excite(vtac_zoo *z, vtac_zoo_value x, int64_t squeezed);

#endif
