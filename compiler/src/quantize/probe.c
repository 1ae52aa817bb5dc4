/* SPDX-License-Identifier: Apache-2.0
 *
 * The values become outputs of the graph for as long as it is compiled.
 */
#include "probe.h"

#include <stdlib.h>

#include "vta/fail.h"
#include "vtac/load.h"

struct vtac_quant_probe {
    vtac_loaded loaded;
    uint32_t count;
    struct probe_place {
        bool is_input; /* of the graph: seen in the samples */
        uint32_t index;
    } * places;
};

static bool find_value(const vtac_value_id *list, uint32_t count, vtac_value_id value, uint32_t *index)
{
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] == value) {
            *index = i;
            return true;
        }
    }
    return false;
}

/* Makes outputs of all values that can be, and notes where each is found. */
static vta_status expose_values(vtac_graph *graph, const vtac_value_id *values, vtac_quant_probe *probe,
                                vta_diag *diag)
{
    for (uint32_t i = 0; i < probe->count; i++) {
        struct probe_place *place = &probe->places[i];
        place->is_input = find_value(graph->inputs, graph->input_count, values[i], &place->index);
        if (!place->is_input && !find_value(graph->outputs, graph->output_count, values[i], &place->index)) {
            place->index = graph->output_count;
            VTA_TRY(vtac_add_output(graph, values[i], diag));
        }
    }
    return VTA_OK;
}

/* Loads the code of the first probe into each of `count`. */
static vta_status load_models(const vtac_graph *graph, vtac_quant_probe *const *probes, uint32_t count,
                              vta_diag *diag)
{
    vtac_target target;
    vtac_artifact_image image;
    VTA_TRY(vtac_target_find("host", &target, diag));
    VTA_TRY(vtac_compile(graph, &(vtac_compile_options){.level = 1, .target = &target}, &image, diag));
    vta_status status = VTA_OK;
    for (uint32_t i = 0; status == VTA_OK && i < count; i++) {
        status = vtac_load(&image, NULL, &probes[i]->loaded, diag);
    }
    vtac_artifact_image_free(&image);
    return status;
}

/* A probe of nothing yet; NULL: out of memory. */
static vtac_quant_probe *create_probe(uint32_t count)
{
    vtac_quant_probe *probe = calloc(1, sizeof *probe);
    if (probe == NULL || (probe->places = calloc(count + (size_t)1, sizeof *probe->places)) == NULL) {
        free(probe);
        return NULL;
    }
    probe->count = count;
    return probe;
}

static vta_status open_probes(vtac_graph *graph, const vtac_value_id *values, uint32_t count,
                              vtac_quant_probe **probes, uint32_t probe_count, vta_diag *diag)
{
    const uint32_t outputs = graph->output_count;
    vta_status status = VTA_OK;
    for (uint32_t i = 0; i < probe_count; i++) {
        probes[i] = create_probe(count);
        VTA_TRY_OUT(vta_allocated(probes[i] != NULL, diag));
        VTA_TRY_OUT(expose_values(graph, values, probes[i], diag));
    }
    VTA_TRY_OUT(load_models(graph, probes, probe_count, diag));
out:
    vtac_drop_outputs(graph, outputs);
    for (uint32_t i = 0; status != VTA_OK && i < probe_count; i++) {
        vtac_quant_probe_close(probes[i]);
        probes[i] = NULL;
    }
    return status;
}

vta_status vtac_quant_probe_open(vtac_graph *graph, const vtac_value_id *values, uint32_t count,
                                 vtac_quant_probe **out, vta_diag *diag)
{
    *out = NULL;
    return open_probes(graph, values, count, out, 1, diag);
}

vta_status vtac_quant_probe_open_pair(vtac_graph *graph, const vtac_value_id *values, uint32_t count,
                                      vtac_quant_probe *out[2], vta_diag *diag)
{
    out[0] = out[1] = NULL;
    return open_probes(graph, values, count, out, 2, diag);
}

void vtac_quant_probe_close(vtac_quant_probe *probe)
{
    if (probe != NULL) {
        vtac_unload(&probe->loaded);
        free(probe->places);
        free(probe);
    }
}

vta_status vtac_quant_probe_run(vtac_quant_probe *probe, const vtac_samples *samples, uint32_t sample,
                                vta_diag *diag)
{
    for (uint32_t i = 0; i < samples->inputs; i++) {
        const vtac_tensor *tensor = &samples->tensors[(size_t)sample * samples->inputs + i];
        VTA_TRY(vta_model_set_input(probe->loaded.model, i, tensor->data, tensor->bytes, diag));
    }
    return vta_model_run(probe->loaded.model, diag);
}

vta_status vtac_quant_probe_set(vtac_quant_probe *probe, uint32_t i, const void *data, size_t bytes,
                                vta_diag *diag)
{
    return vta_model_set_input(probe->loaded.model, i, data, bytes, diag);
}

const float *vtac_quant_probe_output(const vtac_quant_probe *probe, uint32_t i)
{
    return vta_model_output_data(probe->loaded.model, i);
}

const float *vtac_quant_probe_value(const vtac_quant_probe *probe, uint32_t i)
{
    const struct probe_place *place = &probe->places[i];
    return place->is_input ? vta_model_input_data(probe->loaded.model, place->index)
                           : vta_model_output_data(probe->loaded.model, place->index);
}
