/* SPDX-License-Identifier: Apache-2.0
 *
 * What `vtac explore` hands from one to the other: the exploration, and what is known beside it.
 */
#ifndef VTAC_CLI_EXPLORE_H
#define VTAC_CLI_EXPLORE_H

#include "networks.h"

enum { EXPLORE_SHIPPED = 16, EXPLORE_FINALISTS = 16 };

/* A finalist on tsim: cycles of each network; 0: it was not run. */
typedef struct cli_proof {
    uint64_t cycles[VTAC_MOST_NETWORKS];
    char why[192]; /* it could not be run */
} cli_proof;

typedef struct cli_explored {
    const vtac_part *part;
    const vtac_explore_options *options;
    const cli_networks *networks;
    vtac_exploration *found;
    vtac_candidate *shipped; /* configurations that come with vtac, for comparison; owned */
    uint32_t shipped_count;
    char fits[EXPLORE_SHIPPED][96]; /* "" or by what it does not fit the part */
    cli_proof proofs[EXPLORE_FINALISTS];
    uint32_t proof_count;
    double seconds;
} cli_explored;

/* explore_shipped.c */
vta_status cli_time_shipped(cli_explored *e, vta_diag *diag);

/* explore_prove.c: runs the best `count` on tsim, files in `folder`. */
vta_status cli_prove_finalists(const cli_args *args, cli_explored *e, uint32_t count, const char *folder,
                               vta_diag *diag);

/* explore_page.c: a page; owned; NULL without memory. */
char *cli_explore_page(const cli_explored *e);
/* The same as JSON. */
char *cli_explore_json(const cli_explored *e);

#endif
