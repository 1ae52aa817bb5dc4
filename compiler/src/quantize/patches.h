/* SPDX-License-Identifier: Apache-2.0
 *
 * What the outputs of a layer are sums of: one column of inputs for each of some outputs, from the samples.
 */
#ifndef VTAC_QUANTIZE_PATCHES_H
#define VTAC_QUANTIZE_PATCHES_H

#include "observe.h"

enum { QUANT_LANES = 16 };

typedef struct vtac_quant_patches {
    uint32_t count;         /* of the columns; 0: this layer has none */
    uint32_t room;          /* the same in whole lanes: what is behind the last column is 0 */
    int64_t channels, taps; /* of the input, all groups; rows are [channels][taps] */
    float *data;            /* [channels * taps][room] */
    double share;           /* of the taps that an output sees: below 1 in transposed convolutions */

    /* where they come from */
    vtac_value_id x;
    int64_t images, image_step, channel_step;
    bool transposed;
    uint32_t axes;
    int64_t kernel[VTAC_MAX_RANK], stride[VTAC_MAX_RANK], dilation[VTAC_MAX_RANK], pad[VTAC_MAX_RANK];
    int64_t in[VTAC_MAX_RANK], out[VTAC_MAX_RANK];
    uint64_t positions; /* outputs of a channel in one sample */
    uint32_t taken;     /* columns that are filled */
} vtac_quant_patches;

/* Plans the columns of inputs for a product; `outputs` channels are computed from them. */
void vtac_quant_patches_plan(const vtac_quant_plan *plan, vtac_node_id product, uint32_t samples,
                             vtac_quant_patches *out);

size_t vtac_quant_patches_bytes(const vtac_quant_patches *p);

/* One walk over the samples for all of `list`; their data are in the arena. */
vta_status vtac_quant_patches_collect(const vtac_quant_observer *observer, const vtac_samples *samples,
                                      vtac_quant_patches *list, uint32_t count, const vtac_progress *progress,
                                      vta_arena *arena, vta_diag *diag);

/* The part of its taps that an output of a product sees. */
double vtac_quant_tap_share(const vtac_graph *graph, const vtac_node *node);

#endif
