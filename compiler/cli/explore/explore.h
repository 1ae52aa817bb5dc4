/* SPDX-License-Identifier: Apache-2.0
 *
 * What `vtac explore` hands from one to the other: the exploration, and what is known beside it.
 */
#ifndef VTAC_CLI_EXPLORE_H
#define VTAC_CLI_EXPLORE_H

#include "networks.h"
#include "vtac/power.h"
#include "vtac/promises.h"

/* Configurations that come with vtac; finalists, which have files as those of the front do. */
enum { EXPLORE_SHIPPED = 16, EXPLORE_FINALISTS = 16 };

/* A finalist on tsim: cycles of each network as the compiler foretells them of its program, which it takes
 * more time for than the ranking does, and as they are; 0: it was not run. */
typedef struct cli_proof {
    uint64_t predicted[VTAC_MAX_NETWORKS], cycles[VTAC_MAX_NETWORKS];
    vtac_area counted; /* --count, in the LUTs of the fit; lut 0: it was not */
    char why[192];     /* it could not be run */
} cli_proof;

/* A configuration that the page shows with its layers. */
typedef struct cli_detailed {
    const vtac_candidate *candidate;
    char *layers; /* rows of JSON: [network, "layer", cycles, "bound by"]; owned */
} cli_detailed;

/* The best configuration with one key changed. */
typedef struct cli_changed_key {
    const char *key;
    uint32_t value;
    char why[192];           /* not legal, or what does not fit; "": */
    double fps, energy, lut; /* relative to the best; 1: the same */
} cli_changed_key;

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
    cli_detailed *detailed; /* owned */
    uint32_t detailed_count;
    cli_changed_key *keys; /* owned */
    uint32_t key_count;
    const vtac_powers *powers; /* measurements of boards */
    vtac_board_power power;    /* of the part's */
    vtac_promises promises;    /* of boards with the part, and what they did */
    double seconds;
} cli_explored;

/* Frees the parts that the structure owns; `found` is not among them. */
void cli_free_explored(cli_explored *e);

/* explore_shipped.c */
vta_status cli_time_shipped(cli_explored *e, vta_diag *diag);

/* explore_keys.c: the best configuration with each key changed to each value of the space, by `jobs`
 * processes. */
vta_status cli_time_keys(cli_explored *e, uint32_t jobs, vta_diag *diag);
void cli_print_keys(const cli_explored *e);
void cli_put_keys(vta_str *out, const cli_explored *e);

/* explore_prove.c: runs the best `count` on tsim, files in `folder`. */
vta_status cli_prove_finalists(const cli_args *args, cli_explored *e, uint32_t count, const char *folder,
                               vta_diag *diag);

/* explore_layers.c: those of the front, of the best and of the shipped configurations, by `jobs` processes.
 */
vta_status cli_explore_layers(cli_explored *e, uint32_t jobs, vta_diag *diag);
/* NULL: the page shows none of this candidate. */
const char *cli_layers_of(const cli_explored *e, const vtac_candidate *candidate);

/* explore_schedule.c: how much faster more workers would be, as text and as a drawing (SVG); owned; NULL
 * without memory. */
char *cli_schedule_text(const vtac_exploration *x);
char *cli_schedule_drawing(const vtac_exploration *x);

/* explore_export.c: writes the best configuration and the networks' convolutions as another tool reads them,
 * and a table of cycles, into `folder`/`tool`. */
vta_status cli_explore_export(const cli_explored *e, const char *tool, const char *folder, vta_diag *diag);
bool cli_knows_export(const char *tool);

/* explore_page.c: a page; owned; NULL without memory. */
char *cli_explore_page(const cli_explored *e);
/* The exploration as JSON. */
char *cli_explore_json(const cli_explored *e);

#endif
