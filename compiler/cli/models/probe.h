/* SPDX-License-Identifier: Apache-2.0
 *
 * A model compiled and loaded to be looked into: what `vtac diff` and `vtac replay` share.
 */
#ifndef VTAC_CLI_PROBE_H
#define VTAC_CLI_PROBE_H

#include "inputs.h"
#include "offload.h"
#include "tensors.h"
#include "vtac/load.h"

typedef struct cli_probe {
    vtac_graph *graph;
    vtac_partition *partition; /* NULL: all on the host */
    vtac_loaded loaded;
    uint32_t outputs; /* of the model itself; those behind them are its inner values */
} cli_probe;

/* --shape, --config, --offload, -O and the inputs, as the verbs of this kind take them: all that can go to
 * the accelerator does unless --offload says otherwise. */
typedef struct cli_probe_options {
    cli_shapes shapes;
    cli_offload offload;
    int level;
    cli_inputs inputs;
} cli_probe_options;
int cli_read_probe(const cli_args *args, cli_probe_options *out);

/* The model of a file, imported, quantized where it is one of floats, and optimized; *out is owned. */
vta_status cli_probe_import(const cli_args *args, const cli_probe_options *options, vtac_graph **out,
                            vta_diag *diag);

/* Makes outputs of all 8-bit integers that a node makes. */
vta_status cli_probe_show(vtac_graph *graph, vta_diag *diag);

/* Compiles the probe's graph and loads it: device NULL is the host alone. */
vta_status cli_probe_load(cli_probe *probe, const cli_probe_options *options, const char *device,
                          vta_diag *diag);
void cli_probe_free(cli_probe *probe);

/* Inputs from --input in their order, the others from a seed. */
vta_status cli_probe_bind(const cli_probe_options *options, vta_model *model, vta_diag *diag);

#endif
