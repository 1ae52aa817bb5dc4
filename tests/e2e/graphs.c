/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs as compiled and loaded models.
 */
#include "graphs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "temporary.h"
#include "vtac/codegen.h"
#include "vtac/pass.h"

static vta_status build(const graph_way *way, graph_model *m, vta_diag *diag)
{
    vtac_target target;
    vtac_artifact_image image;
    vtac_partition *partition = NULL;
    char path[TEMPORARY_PATH];
    const vtac_partition_options options = {
        .config = way->config, .always = !way->pays, .schedule = {.level = way->level}};
    VTA_TRY(vtac_target_find("host", &target, diag));
    VTA_TRY(vtac_run_passes(m->graph, &(vtac_pass_options){.level = way->level}, diag));
    VTA_TRY(way->device != NULL ? vtac_partition_graph(m->graph, &options, &partition, diag) : VTA_OK);
    m->regions = partition != NULL ? partition->region_count : 0;
    for (uint32_t i = 0; i < m->regions; i++) {
        m->layers += partition->regions[i].region.layer_count;
        for (uint32_t k = 0; k < partition->regions[i].image.plan_count; k++) {
            m->macs += partition->regions[i].image.plans[k].cost.macs;
        }
    }
    const vtac_compile_options how = {.level = way->level, .target = &target, .partition = partition};
    vta_status status = vtac_compile(m->graph, &how, &image, diag);
    if (status == VTA_OK) {
        const bool there = temporary_file(path, ".so");
        status = there ? vtac_link(&image, path, diag) : vta_fail(diag, VTA_IO, "no file '%s'", path);
        vtac_artifact_image_free(&image);
        const vta_model_options model = {.device = way->device, .threads = 1};
        status = status == VTA_OK ? vta_model_load(path, &model, &m->model, diag) : status;
        (void)(there && unlink(path));
    }
    vtac_partition_free(partition);
    return status;
}

vta_status graph_compile(vtac_graph *graph, const graph_way *way, graph_model *out, vta_diag *diag)
{
    *out = (graph_model){.graph = graph};
    const vta_status status = build(way, out, diag);
    if (status != VTA_OK) {
        graph_model_free(out);
    }
    return status;
}

void graph_model_free(graph_model *m)
{
    vta_model_destroy(m->model);
    vtac_graph_destroy(m->graph);
    *m = (graph_model){0};
}

void graph_fill(vta_model *model, uint64_t seed)
{
    rng r = rng_split(seed, 7);
    for (uint32_t i = 0; i < vta_model_input_count(model); i++) {
        const vta_tensor_info info = vta_model_input(model, i);
        const bool is_float = info.dtype_code == 2; /* as in DLPack */
        uint8_t *data = vta_model_input_data(model, i);
        for (size_t k = 0; k < info.bytes; k += is_float ? sizeof(float) : 1) {
            const uint64_t drawn = rng_next(&r);
            /* of all sizes up to 128: models differ in what they take */
            const float value = (float)(((double)(drawn >> 11) * 0x1p-52 - 1.0) * (double)(1 << (drawn & 7)));
            memcpy(data + k, is_float ? (const void *)&value : (const void *)&drawn,
                   is_float ? sizeof value : 1);
        }
    }
}
