/* SPDX-License-Identifier: Apache-2.0
 *
 * `vtac explain --what-if KEY=VALUE`: the network on a configuration with other values of some keys, beside
 * the configuration as it is.
 */
#ifndef VTAC_CLI_WHAT_IF_H
#define VTAC_CLI_WHAT_IF_H

#include "cli.h"
#include "vtac/partition.h"
#include "vtac/power.h"

/* The network on one configuration. */
typedef struct cli_changed {
    char change[96]; /* "LOG_BLOCK_IN=5"; "": the configuration as it is */
    bool legal;      /* else `why` is all there is */
    char why[192];   /* not legal, what does not fit the part, or why its area is not known */
    uint32_t regions;
    double cycles, host_cycles; /* on the accelerator; on the host, in cycles of the accelerator's clock */
    double seconds, joules;     /* of a run; joules 0: nobody measured a board with the part */
    vtac_area area;             /* lut 0: not known */
} cli_changed;

typedef struct cli_what_if {
    cli_changed *rows; /* owned; the first is the configuration as it is */
    uint32_t count;
} cli_what_if;

/* CLI_OK, or CLI_USAGE with a message where a '--what-if' is none. */
int cli_what_if_check(const cli_args *args, const vta_config *config);

/* Evaluates every '--what-if' of `args`; count 0 where there is none. The graph, which no partition has
 * looked at before, stays as it is. */
vta_status cli_what_if_find(const cli_args *args, vtac_graph *graph, const vtac_partition_options *how,
                            const vtac_powers *powers, cli_what_if *out, vta_diag *diag);
void cli_what_if_free(cli_what_if *found);

void cli_what_if_text(const cli_what_if *found);
/* Puts ', "what_if": [...]', or nothing where there is none. */
void cli_what_if_json(const cli_what_if *found);

#endif
