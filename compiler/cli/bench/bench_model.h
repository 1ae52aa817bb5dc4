/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that cli_bench_model.c hands on.
 */
#ifndef VTAC_BENCH_MODEL_H
#define VTAC_BENCH_MODEL_H

#include "cli.h"
#include "vta/model.h"

/* --pipeline on a compiled model; images 0: the usual number. */
vta_status cli_bench_pipeline(const cli_args *args, const vta_model_options *options, const char *path,
                              uint64_t images, double slower, vta_diag *diag);

#endif
