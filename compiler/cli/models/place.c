/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph compiled and made ready to run. See place.h.
 */
#include "place.h"

#include "stages.h"
#include "temporary.h"
#include "vta/fail.h"
#include "vta/remote.h"
#include "vtac/codegen.h"
#include "vtac/pass.h"

vta_status cli_compile_image(vtac_graph *graph, const char *host, int level, const cli_offload *offload,
                             vtac_artifact_image *out, vta_diag *diag)
{
    vtac_target target;
    *out = (vtac_artifact_image){0};
    VTA_TRY(vtac_target_find(host, &target, diag));
    VTA_TRY(vtac_run_passes(graph, &(vtac_pass_options){.level = level, .progress = cli_stages()}, diag));
    vtac_partition *partition;
    VTA_TRY(cli_offload_graph(offload, level, graph, &partition, diag));
    const vtac_compile_options options = {.level = level,
                                          .target = &target,
                                          .partition = partition,
                                          .kernels = offload->kernels,
                                          .kernels_always = offload->always,
                                          .progress = cli_stages()};
    const vta_status status = vtac_compile(graph, &options, out, diag);
    vtac_partition_free(partition);
    if (status != VTA_OK) {
        vtac_artifact_image_free(out);
    }
    return status;
}

vta_status cli_compile_graph(vtac_graph *graph, const char *host, int level, const cli_offload *offload,
                             const char *path, vta_diag *diag)
{
    vtac_artifact_image image;
    vta_status status = cli_compile_image(graph, host, level, offload, &image, diag);
    if (status == VTA_OK) {
        cli_stage("linking", NULL, 0, 0);
        status = vtac_link(&image, path, diag);
        vtac_artifact_image_free(&image);
    }
    return status;
}

/* Through a file, which is gone when the model is loaded. */
static vta_status link_and_load(const vtac_artifact_image *image, const vta_model_options *options,
                                vta_model **out, vta_diag *diag)
{
    char path[VTAC_TEMPORARY_PATH];
    VTA_TRY(cli_temporary_file("model", path, diag));
    cli_stage("linking", NULL, 0, 0);
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vtac_link(image, path, diag));
    VTA_TRY_OUT(vta_model_load(path, options, out, diag));
out:
    cli_temporary_remove(path);
    return status;
}

vta_status cli_place_image(const vtac_artifact_image *image, const vta_model_options *options,
                           vtac_loaded *out, vta_diag *diag)
{
    *out = (vtac_loaded){0};
    return vtac_can_load(image) && !vta_remote_is(options->device)
               ? vtac_load(image, options, out, diag)
               : link_and_load(image, options, &out->model, diag);
}
