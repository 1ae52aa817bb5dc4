/* SPDX-License-Identifier: Apache-2.0
 *
 * A model whose layers switch between floats and 8 bits while it runs: compiled once, it shows what any
 * choice of layers and ranges does to the outputs.
 */
#ifndef VTAC_QUANTIZE_SWITCHES_H
#define VTAC_QUANTIZE_SWITCHES_H

#include "observe.h"
#include "weights.h"

/* An activation, or a constant beside one. */
typedef struct vtac_quant_switch {
    vtac_value_id value;
    vtac_node_id node; /* of a constant: the node that reads it as input `operand`; 0: whoever reads it */
    uint32_t operand;
    uint32_t input; /* of the model: on, scale, least and greatest number of steps */
} vtac_quant_switch;

/* A product with both kinds of weights. */
typedef struct vtac_quant_dual {
    vtac_quant_product product;
    const float *w; /* weights in float */
    double *bias;   /* in float, before rounding; NULL: the node keeps its own */
    float *rounded; /* room for the bias in units of the accumulator */
    int64_t group;  /* of a convolution */
    double share;   /* of its taps that an output sees */
    bool corrected; /* `bias` has the correction for the rounding of the weights */
    uint32_t input; /* of the model: on, then the bias */
} vtac_quant_dual;

typedef struct vtac_quant_switches {
    vtac_quant_switch *values; /* `observed` activations, then constants */
    uint32_t value_count, observed;
    vtac_quant_dual *products;
    uint32_t product_count;
    vtac_quant_probe *floats, *probe; /* all off; as it is switched. They show the activations in order */
} vtac_quant_switches;

/* Changes the plan's graph, which stays as long as the switches; values and nodes keep their numbers.
 * `values` are the activations. Memory is the plan's arena's. Close it also after a failure. */
vta_status vtac_quant_switches_open(const vtac_quant_plan *plan, const vtac_value_id *values, uint32_t count,
                                    const vtac_quant_width *width, vtac_quant_switches *out, vta_diag *diag);
void vtac_quant_switches_close(vtac_quant_switches *switches);

/* Switches an activation or a constant on, with the scale and zero point of 8 bits of a type. */
vta_status vtac_quant_switch_value(const vtac_quant_switches *switches, uint32_t i, vtac_dtype dtype,
                                   float scale, int32_t zero, vta_diag *diag);
/* Switches the weights of a product on, whose operand has a scale. */
vta_status vtac_quant_switch_product(const vtac_quant_switches *switches, uint32_t i, float x_scale,
                                     vta_diag *diag);
/* Switches all off. */
vta_status vtac_quant_switch_off(const vtac_quant_switches *switches, vta_diag *diag);

#endif
