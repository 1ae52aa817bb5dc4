/* SPDX-License-Identifier: Apache-2.0
 *
 * Small networks for tests: each operator goes into a graph for the compiler and is evaluated here in plain
 * loops over doubles (whole numbers where the network is quantized).
 */
#ifndef VTAC_TEST_PLAIN_NET_H
#define VTAC_TEST_PLAIN_NET_H

#include "rng.h"
#include "vtac/graph.h"

enum { NET_MAX = 16 };

typedef enum net_kind {
    NET_CONV,
    NET_CONV_TRANSPOSE,
    NET_MAX_POOL,
    NET_AVERAGE_POOL,
    NET_GLOBAL_POOL,
    NET_LP_POOL,
    NET_GLOBAL_LP_POOL,
    NET_INSTANCE_NORM,
    NET_GROUP_NORM,
    NET_MEAN_VARIANCE, /* over all batches */
    NET_LRN,           /* of as many neighbours as there are groups */
    NET_RELU,
    NET_CHANNEL_MUL,
    NET_ADD,
    NET_CONCAT
} net_kind;

typedef struct net_value {
    int64_t dim[4];
    double *number;
    double scale;
    int32_t zero;
    vtac_value_id id;
} net_value;

typedef struct net_op {
    net_kind kind;
    uint32_t in[2];
    bool has_bias, count_all;
    bool by_group; /* a group normalization's weights: one for each group, not for each channel */
    int64_t groups, outputs, kernel[2], stride[2], dilation[2], pad[4];
    int64_t p;              /* of an Lp pool */
    double epsilon;         /* of a normalization */
    double *weights, *bias; /* as whole numbers in a quantized network, zero points taken off */
    float *scales;          /* of the weights, by output */
    double *zeros; /* and their zero points: the weights of a quantized convolution are uint8 or int8 */
    bool unsigned_weights;
} net_op;

typedef struct net {
    vtac_graph *graph;
    net_value values[NET_MAX]; /* [0] is the input, [i] what ops[i] makes */
    net_op ops[NET_MAX];
    uint32_t count;
    uint32_t outputs[NET_MAX], output_count;
    bool quantized, is_signed;
} net;

/* A network of an input alone; quantized: of bytes, signed or not. */
void net_start(net *n, const int64_t *dim, bool quantized, bool is_signed);
/* Appends an operator; its weights are random. Its value is a graph output where nothing follows yet. */
void net_add(net *n, rng *r, const net_op *given);
/* Random input, here and in the model's memory. */
void net_fill(net *n, rng *r, void *memory);
/* Every value. */
void net_evaluate(net *n);
int64_t net_elements(const net_value *v);
void net_free(net *n);

#endif
