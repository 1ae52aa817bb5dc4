/* SPDX-License-Identifier: Apache-2.0
 *
 * Promises of `vtac build` about a board: its clock, and the cycles of networks that are compiled for it.
 * `vtac doctor` runs the same networks on a device and compares.
 */
#ifndef VTAC_CLI_PROMISE_H
#define VTAC_CLI_PROMISE_H

#include "cli.h"
#include "vta/config.h"
#include "vta/str.h"

/* Compiles a model, or one of the zoo in 8 bits, for a configuration's file into `library`, with the options
 * of this command by which it reads models; what it needs meanwhile lies in `folder`. */
vta_status cli_compile_network(const cli_args *args, const char *model, const char *config,
                               const char *folder, const char *library, uint64_t *predicted, vta_diag *diag);
/* A compiled network's cycles on a device. */
vta_status cli_count_network(const char *library, const char *device, const char *folder, uint64_t *cycles,
                             vta_diag *diag);

/* A network of a promise. */
typedef struct cli_promised {
    char name[64];
    char *library; /* owned */
    uint64_t cycles;
} cli_promised;

typedef struct cli_promise {
    char config[64], part[32]; /* part "": a simulator's */
    double mhz;
    cli_promised *items; /* owned */
    uint32_t count;
} cli_promise;

/* Compiles the networks of --models into `folder`/networks, and writes `folder`/promise.json. */
vta_status cli_make_promise(const cli_args *args, const vta_config *config, const char *part,
                            const char *folder, cli_promise *out, vta_diag *diag);
/* Reads such a file; the libraries lie beside it. */
vta_status cli_read_promise(const char *path, cli_promise *out, vta_diag *diag);
void cli_free_promise(cli_promise *promise);

#endif
