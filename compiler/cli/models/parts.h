/* SPDX-License-Identifier: Apache-2.0
 *
 * A model of floats on its way to 8 bits: whole, or, with control flow or sizes that only the run knows, by
 * its trunk (vtac/onnx.h).
 */
#ifndef VTAC_CLI_PARTS_H
#define VTAC_CLI_PARTS_H

#include "mixed.h"
#include "tensors.h"
#include "vta/vec.h"
#include "vtac/flow.h"

/* True if a size of an input is left open. */
bool cli_leaves_open(const vtac_flow *flow);

typedef struct cli_parts {
    const cli_args *args;
    const cli_shapes *shapes;
    vtac_network_end max_end; /* what the search may give 8 bits at the end of the network */
    bool told;                /* what importing assumes was */
    bool split;               /* the graph is a trunk: the model has more */
    bool open;                /* the graph is the model at the first of `sizes` */
    bool by_rows;             /* and each row of its batch goes its own way */
    vta_vec sizes;            /* of vtac_type: an item for each input, at one size after the other */
    uint32_t inputs;          /* of the model */
    uint32_t given;           /* sizes that the calibration inputs have; one more is made up */
    vtac_graph *ends;         /* the inputs alone, for their names */
    vtac_graph *other;        /* at the size that is made up */
    vtac_samples more;        /* at the size that was asked for last */
    vta_arena arena;
    char *folder;
    uint8_t *file, *joined; /* the model's bytes; those of the quantized one */
    size_t size, joined_size;
} cli_parts;

/* The parts as a source for cli_quantize_mixed; the graph is that of the model, or of its trunk. */
cli_model_source cli_parts_source(cli_parts *parts);

/* Further sizes for the quantizer. */
vtac_more_sizes cli_parts_sizes(cli_parts *parts);

/* Quantizes *graph, which was loaded from the model, for the accelerator: with --calib and --method, layers
 * in float where the mark asks for it, a model with control flow by its trunk; a quantized model stays as it
 * is. The report is empty where nothing was quantized. Names are in the arena. */
vta_status cli_parts_quantize(cli_parts *parts, vtac_graph **graph, cli_mixed *mixed, vta_arena *arena,
                              vtac_quantize_report *report, vta_diag *diag);

/* Puts the quantized graph, which is the whole model then, in the place of the quantized trunk, and compares
 * the detections of both models on the samples (NULL: none). Nothing happens where the model is not split. */
vta_status cli_parts_join(cli_parts *parts, const vtac_samples *samples, vtac_graph **graph,
                          vtac_quantize_report *report, vta_diag *diag);

/* Writes the quantized model as a file. */
vta_status cli_parts_write(const cli_parts *parts, const vtac_graph *graph, const char *producer,
                           const char *path, vta_diag *diag);

void cli_parts_free(cli_parts *parts);

#endif
