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
    vtac_type bias_type;
    int32_t *bias;                          /* integers; NULL: none, or it stays float */
    bool tuned;                             /* which weights go up and which down follows from the outputs */
    double rounding_before, rounding_after; /* then: what rounding the weights adds to an output, squared */
} vtac_quant_product;

/* Rounds the weights and the bias of p->node: it keeps floats, but those that the integers stand for.
 * `mean` is that of each input channel, to correct the bias with; NULL: it is not corrected. `patches`
 * (NULL: none) tune the rounding, and are changed by that. */
vta_status vtac_quant_round_product(const vtac_quant_plan *plan, float x_scale, bool per_channel,
                                    const double *mean, vtac_quant_patches *patches, vtac_quant_product *p,
                                    vta_diag *diag);

/* Puts the integers and DequantizeLinear in their place. */
vta_status vtac_quant_store_product(const vtac_quant_plan *plan, const vtac_quant_product *product,
                                    float x_scale, vta_diag *diag);

#endif
