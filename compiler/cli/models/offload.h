/* SPDX-License-Identifier: Apache-2.0
 *
 * What the verbs that compile for the accelerator share: --target, --config, --offload.
 */
#ifndef VTAC_CLI_OFFLOAD_H
#define VTAC_CLI_OFFLOAD_H

#include "cli.h"
#include "vtac/codegen.h"
#include "vtac/partition.h"
#include "vtac/quantize.h"

typedef struct cli_offload {
    bool wanted;         /* --target vta */
    const char *kernels; /* --target opencl, cuda:sm_80: the host's steps as such kernels, too; else NULL */
    vta_config config;
    bool always;
    const char *host;                /* --host */
    double fold_cost;                /* of the host (vtac_host_fold_cost) */
    const vtac_schedules *schedules; /* NULL: the standard ones */
    bool holds_states;               /* caches stay in device memory, in the accelerator's order */
} cli_offload;

/* Rows of a verb's option table. */
#define CLI_OFFLOAD_OPTIONS                                                                                  \
    {"--target", "TARGET", CLI_TEXT, "llvm (default), vta (accelerator), opencl or cuda (GPU)"},             \
        {"--config", "NAME|FILE", CLI_CONFIG, "vta: the accelerator's configuration (default pynq)"},        \
    {                                                                                                        \
        "--offload", "HOW", CLI_TEXT, "vta, GPU: what pays (default), or all that it can"                    \
    }

/* The processor's words of a record; kernels for another device have their own. */
void cli_offload_text(const cli_offload *offload, const vtac_target *target, char *text, size_t size);

int cli_read_offload(const cli_args *args, cli_offload *out);

/* The most that may have 8 bits at the end of a network: what the configuration computes, where all that it
 * can goes there; else floats, which the host computes more exactly. */
vtac_network_end cli_offload_ends(const cli_offload *offload);

/* Moves to the accelerator what belongs there; *out is NULL where nothing is wanted there, else owned. */
vta_status cli_offload_graph(const cli_offload *offload, int level, vtac_graph *graph, vtac_partition **out,
                             vta_diag *diag);

#endif
