/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of compiling for the accelerator.
 */
#include "offload.h"

#include <stdio.h>
#include <string.h>

#include "stages.h"
#include "vta/kernels.h"
#include "vtac/codegen.h"
#include "vtac/tune.h"

/* The language of kernels: the target's, or that of a device that is named without a target. */
static const char *language_of(const cli_args *args, const char *target)
{
    if (target != NULL) {
        return vtac_kernels_language(target) != NULL ? target : NULL;
    }
    const char *device = cli_value(args, "--device");
    return device != NULL ? vta_kernels_language(device) : NULL;
}

void cli_offload_text(const cli_offload *offload, const vtac_target *target, char *text, size_t size)
{
    const size_t length = offload->kernels != NULL ? strcspn(offload->kernels, ":") : 0;
    const int used = length > 0 ? snprintf(text, size, "%.*s kernels of ", (int)length, offload->kernels) : 0;
    vtac_target_text(target, text + used, size - (size_t)used);
}

int cli_read_offload(const cli_args *args, cli_offload *out)
{
    const char *target = cli_value(args, "--target"); /* NULL for verbs without it */
    const char *how = cli_value(args, "--offload");
    vta_diag diag = {0};
    bool given;
    *out = (cli_offload){.wanted = target != NULL && strcmp(target, "vta") == 0,
                         .always = how != NULL && strcmp(how, "all") == 0,
                         .kernels = language_of(args, target),
                         .host = cli_value(args, "--host"),
                         .fold_cost = vtac_host_fold_cost(cli_value(args, "--host"))};
    if (target != NULL && !out->wanted && out->kernels == NULL && strcmp(target, "llvm") != 0) {
        return cli_usage(args, "unknown target '%s'; known are llvm, vta, opencl, cuda and webgpu", target);
    }
    if (how != NULL && !out->always && strcmp(how, "pays") != 0) {
        return cli_usage(args, "--offload takes pays or all, not '%s'", how);
    }
    return cli_config(args, &out->config, &given, &diag) == VTA_OK ? CLI_OK
                                                                   : cli_usage(args, "%s", diag.text);
}

vtac_network_end cli_offload_ends(const cli_offload *offload)
{
    if (!offload->always) {
        return VTAC_END_FLOAT;
    }
    return offload->config.rows ? VTAC_END_ROWS : VTAC_END_PLAIN;
}

vta_status cli_offload_graph(const cli_offload *offload, int level, vtac_graph *graph, vtac_partition **out,
                             vta_diag *diag)
{
    *out = NULL;
    const vtac_partition_options options = {.config = &offload->config,
                                            .schedule = {.level = level,
                                                         .fold_cost = offload->fold_cost,
                                                         .schedules = offload->schedules,
                                                         .progress = cli_stages()},
                                            .host = offload->host,
                                            .always = offload->always,
                                            .holds_states = offload->holds_states};
    return offload->wanted ? vtac_partition_graph(graph, &options, out, diag) : VTA_OK;
}
