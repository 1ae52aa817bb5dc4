/* SPDX-License-Identifier: Apache-2.0
 *
 * Models to be looked into.
 */
#include "probe.h"

#include <stdlib.h>
#include <string.h>

#include "calib.h"
#include "place.h"
#include "remote_host.h"
#include "stages.h"
#include "vta/kernels.h"
#include "vtac/codegen.h"
#include "vtac/pass.h"

int cli_read_probe(const cli_args *args, cli_probe_options *out)
{
    const char *how = cli_value(args, "--offload");
    const char *level = cli_value(args, "-O");
    uint64_t number = 3;
    vtac_range_method method;
    if (cli_read_inputs(args, &out->inputs) != CLI_OK || cli_read_shapes(args, &out->shapes) != CLI_OK ||
        cli_read_offload(args, &out->offload) != CLI_OK || cli_read_method(args, &method) != CLI_OK) {
        return CLI_USAGE;
    }
    if (level != NULL && (!cli_number(level, &number) || number > 3)) {
        return cli_usage(args, "-O takes 0 to 3, not '%s'", level);
    }
    out->level = (int)number;
    out->offload.always = how == NULL || out->offload.always;
    return CLI_OK;
}

vta_status cli_probe_import(const cli_args *args, const cli_probe_options *options, vtac_graph **out,
                            vta_diag *diag)
{
    const vtac_import_options import = cli_import_options(&options->shapes);
    VTA_TRY(vtac_model_load(args->operands[0], &import, out, diag));
    VTA_TRY(cli_quantize_float(args, *out, NULL, diag));
    return vtac_run_passes(*out, &(vtac_pass_options){.level = options->level, .progress = cli_stages()},
                           diag);
}

static vta_status show_value(vtac_graph *graph, vtac_value_id id, vta_diag *diag)
{
    const vtac_value *value = &graph->values[id];
    bool shown = value->constant != NULL || (value->type.dtype != VTAC_I8 && value->type.dtype != VTAC_U8);
    for (uint32_t k = 0; k < graph->output_count; k++) {
        shown = shown || graph->outputs[k] == id;
    }
    return shown ? VTA_OK : vtac_add_output(graph, id, diag);
}

vta_status cli_probe_show(vtac_graph *graph, vta_diag *diag)
{
    for (uint32_t i = 0; i < graph->order_count; i++) {
        const vtac_node *node = &graph->nodes[graph->order[i]];
        for (uint32_t k = 0; k < node->output_count; k++) {
            VTA_TRY(node->outputs[k] != 0 ? show_value(graph, node->outputs[k], diag) : VTA_OK);
        }
    }
    return VTA_OK;
}

vta_status cli_probe_load(cli_probe *probe, const cli_probe_options *options, const char *device,
                          vta_diag *diag)
{
    vtac_target target;
    vtac_artifact_image image;
    const char *host;
    cli_offload offload = options->offload;
    offload.kernels = vta_kernels_language(device);
    offload.wanted = device != NULL && offload.kernels == NULL;
    VTA_TRY(cli_host_of(device, &host, diag));
    VTA_TRY(vtac_target_find(host, &target, diag));
    VTA_TRY(cli_offload_graph(&offload, options->level, probe->graph, &probe->partition, diag));
    const vtac_compile_options how = {.level = options->level,
                                      .target = &target,
                                      .partition = probe->partition,
                                      .kernels = offload.kernels,
                                      .kernels_always = true,
                                      .progress = cli_stages()};
    VTA_TRY(vtac_compile(probe->graph, &how, &image, diag));
    const vta_status status =
        cli_place_image(&image, &(vta_model_options){.device = device}, &probe->loaded, diag);
    vtac_artifact_image_free(&image);
    return status;
}

void cli_probe_free(cli_probe *probe)
{
    vtac_unload(&probe->loaded);
    vtac_partition_free(probe->partition);
    vtac_graph_destroy(probe->graph);
    *probe = (cli_probe){0};
}

/* ---- inputs */

vta_status cli_probe_bind(const cli_probe_options *options, vta_model *model, vta_diag *diag)
{
    cli_inputs inputs = options->inputs;
    uint32_t cases = 1;
    VTA_TRY(cli_count_cases(&inputs, model, &cases, diag));
    return cases == 1 ? cli_bind_case(&inputs, model, 0, diag)
                      : vta_fail(diag, VTA_INVALID, "one file for each input, not %u", cases);
}
