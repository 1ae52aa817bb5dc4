/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights and biases of convolutions and dense layers as integers.
 */
#ifndef VTAC_QUANTIZE_WEIGHTS_H
#define VTAC_QUANTIZE_WEIGHTS_H

#include "patches.h"
#include "vtac/quantize.h"

typedef struct vtac_quant_product {
    vtac_node_id node;
    uint32_t axis;    /* of output channels in the weights */
    int64_t channels; /* of the output */
    const char *name; /* of the weights */
    vtac_type type;   /* of the weights */
    int8_t *weights;  /* integers */
    float *scales;    /* one for each channel, equal ones where one is for all */
    bool per_channel;
    uint32_t bits;    /* 8 or 4 */
    int64_t block;    /* this many weights of a channel have a factor; 0: none has one */
    uint8_t *factors; /* [channels][blocks]: `weights` are multiples of it, by -8 … 7; NULL: 1 */
    vtac_type bias_type;
    int32_t *bias;                          /* integers; NULL: none, or it stays float */
    bool tuned;                             /* which weights go up and which down follows from the outputs */
    double rounding_before, rounding_after; /* then: what rounding the weights adds to an output, squared */
} vtac_quant_product;

/* Bits of the weights of products. */
typedef struct vtac_quant_width {
    uint32_t bits;  /* 8 or 4 */
    uint32_t block; /* with 4 bits: inputs that share a scale; 0: all of a channel */
    bool per_channel;
} vtac_quant_width;

/* Factors of blocks are 1 … this: a number of 4 bits times a factor has 8. */
enum { QUANT_MAX_FACTOR = 16 };

/* Number of weights of an output channel, of its blocks, and the place of its weight `k` among all. */
int64_t vtac_quant_terms(const vtac_quant_product *p);
int64_t vtac_quant_blocks(const vtac_quant_product *p);
int64_t vtac_quant_weight_place(const vtac_quant_product *p, int64_t c, int64_t k);

/* The integers of weight `k` of channel `c`: multiples of `step` from `low` to `high`. */
typedef struct vtac_quant_grid {
    int32_t low, high, step;
} vtac_quant_grid;

vtac_quant_grid vtac_quant_grid_of(const vtac_quant_product *p, int64_t c, int64_t k);

/* The integer of a grid that is nearest to a weight in units of its scale. */
int32_t vtac_quant_nearest(const vtac_quant_grid *grid, double exact);

/* narrow.c: scales of 4 bits from those that have every weight in them, which are in p->scales; `lower` is
 * the least that the bias allows a channel. */
void vtac_quant_narrow_scales(vtac_quant_product *p, const float *w, const double *lower);

/* Rounds the weights and the bias of p->node: it keeps floats, but those that the integers stand for.
 * `mean` is that of each input channel, to correct the bias with; NULL: it is not corrected. `patches`
 * (NULL: none) tune the rounding, and are changed by that. */
vta_status vtac_quant_round_product(const vtac_quant_plan *plan, float x_scale, const vtac_quant_width *width,
                                    const double *mean, vtac_quant_patches *patches, vtac_quant_product *p,
                                    vta_diag *diag);

/* The bias of a product as floats, 0 where there is none, in memory of the plan's; NULL: out of memory.
 * *usable is false where a bias of [channels] has no place, or another one stands there. */
double *vtac_quant_read_bias(const vtac_quant_plan *plan, const vtac_node *node, vtac_quant_product *product,
                             bool *usable);

/* `real` becomes what the integers stand for. What rounding the weights adds to the mean of each output
 * channel, given the means of the input channels (NULL: nothing is known), is taken off the bias; `share` is
 * the part of its taps that an output sees. */
void vtac_quant_correct_bias(const vtac_quant_product *product, const float *w, float *real,
                             const double *mean, int64_t group, double share, double *bias);

/* The integer of a bias whose unit is that of the accumulator. */
int32_t vtac_quant_bias_integer(double bias, float unit);

/* Puts the integers and DequantizeLinear in their place. */
vta_status vtac_quant_store_product(const vtac_quant_plan *plan, const vtac_quant_product *product,
                                    float x_scale, vta_diag *diag);

#endif
