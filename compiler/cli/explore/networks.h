/* SPDX-License-Identifier: Apache-2.0
 *
 * The networks that an exploration or a tuning is for: their regions, as the accelerator would take them.
 */
#ifndef VTAC_CLI_NETWORKS_H
#define VTAC_CLI_NETWORKS_H

#include "tensors.h"
#include "vtac/explore.h"

typedef struct cli_network {
    char name[64];
    vtac_graph *graph;
    vtac_partition *partition;
} cli_network;

typedef struct cli_networks {
    cli_network *items; /* owned */
    uint32_t count;
    vtac_explored explored[VTAC_MAX_NETWORKS];
    uint64_t hash; /* of the models */
} cli_networks;

/* "a.onnx,resnet18": files, or names of the zoo, which are taken with 8-bit integers. */
vta_status cli_load_networks(const cli_args *args, const char *list, const vta_config *config,
                             const cli_shapes *shapes, cli_networks *out, vta_diag *diag);
/* Fails, with the name, where one of such a list is not there. */
vta_status cli_check_networks(const char *list, vta_diag *diag);
/* The name of a network in reports, by its path. */
void cli_network_name(const char *path, char *name, size_t size);
void cli_free_networks(cli_networks *networks);

#endif
