/* SPDX-License-Identifier: Apache-2.0 */
#include "parts.h"

#include <stdlib.h>
#include <string.h>

#include "calib.h"
#include "passes.h"
#include "stages.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vtac/onnx.h"

static vtac_model_file file_of(const cli_parts *p)
{
    return (vtac_model_file){p->args->operands[0], p->folder, p->file, p->size};
}

static vta_status read_file(cli_parts *p, vta_diag *diag)
{
    enum { MAX_BYTES = 0x7fffffff };
    const char *path = p->args->operands[0], *slash = strrchr(path, '/');
    VTA_TRY(vta_file_read(path, MAX_BYTES, &p->file, &p->size, diag));
    p->folder = slash == NULL ? strdup(".") : strndup(path, slash == path ? 1 : (size_t)(slash - path));
    return vta_allocated(p->folder != NULL, diag);
}

static vta_status load_trunk(cli_parts *p, vtac_graph **out, vta_diag *diag)
{
    const vtac_import_options import = cli_import_options(p->shapes);
    const vtac_model_file file = file_of(p);
    return vtac_onnx_load_trunk(&file, &import, out, diag);
}

vta_status cli_parts_load(void *context, vtac_graph **out, vta_diag *diag)
{
    cli_parts *p = context;
    if (p->split) {
        return load_trunk(p, out, diag);
    }
    const char *path = p->args->operands[0];
    VTA_TRY(p->told ? cli_load_graph_again(path, p->shapes, out, diag)
                    : cli_load_graph(p->args, path, p->shapes, out, diag));
    p->told = true;
    if ((*out)->flow == NULL || p->file != NULL) {
        return VTA_OK;
    }
    VTA_TRY(read_file(p, diag));
    const vtac_model_file file = file_of(p);
    vtac_graph *trunk = NULL;
    vta_diag why = {0};
    if (!vtac_recognize_onnx(&file) || load_trunk(p, &trunk, &why) != VTA_OK || !vtac_quantizable(trunk)) {
        vtac_graph_destroy(trunk);
        return VTA_OK;
    }
    p->split = true;
    vtac_graph_destroy(*out);
    *out = trunk;
    return VTA_OK;
}

static vta_status load_joined(const cli_parts *p, vtac_graph **out, vta_diag *diag)
{
    const vtac_import_options import = cli_import_options(p->shapes);
    const char *path = p->args->operands[0];
    return vtac_onnx_parse(p->joined, p->joined_size, path, p->folder, &import, out, diag);
}

static vta_status compare_detections(const cli_parts *p, const vtac_samples *samples, const vtac_graph *trunk,
                                     vtac_quantize_report *report, vta_diag *diag)
{
    const vtac_import_options import = cli_import_options(p->shapes);
    vtac_graph *floats = NULL, *bytes = NULL;
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vtac_onnx_parse(p->file, p->size, p->args->operands[0], p->folder, &import, &floats, diag));
    VTA_TRY_OUT(load_joined(p, &bytes, diag));
    VTA_TRY_OUT(vtac_quant_detections(floats, bytes, trunk, samples, cli_stages(), report, diag));
out:
    vtac_graph_destroy(floats);
    vtac_graph_destroy(bytes);
    return status;
}

vta_status cli_parts_join(cli_parts *p, const vtac_samples *samples, vtac_graph **graph,
                          vtac_quantize_report *report, vta_diag *diag)
{
    if (!p->split) {
        return VTA_OK;
    }
    const vtac_import_options import = cli_import_options(p->shapes);
    const vtac_model_file file = file_of(p);
    vtac_graph *whole = NULL;
    VTA_TRY(vtac_onnx_graft(&file, &import, *graph, "vtac quantize", &p->joined, &p->joined_size, diag));
    VTA_TRY(samples != NULL ? compare_detections(p, samples, *graph, report, diag) : VTA_OK);
    VTA_TRY(load_joined(p, &whole, diag));
    vtac_graph_destroy(*graph);
    *graph = whole;
    return VTA_OK;
}

/* With calibration inputs layers stay float that would spoil the outputs; without them nothing is known of
 * the outputs. States have no samples. */
vta_status cli_parts_quantize(cli_parts *p, vtac_graph **graph, cli_mixed *mixed, vta_arena *arena,
                              vtac_quantize_report *report, vta_diag *diag)
{
    vtac_quantize_options how = VTAC_QUANTIZE_DEFAULTS;
    *mixed = cli_mixed_automatic(p->args);
    if (!mixed->automatic || !vtac_quantizable(*graph) || (*graph)->state_count > 0 ||
        cli_read_method(p->args, &how.method) != CLI_OK) {
        return cli_quantize_float(p->args, *graph, report, diag);
    }
    vtac_graph_destroy(*graph);
    *graph = NULL;
    how.progress = cli_stages();
    const cli_model_source source = {cli_parts_load, p};
    VTA_TRY(cli_quantize_mixed(p->args, &source, &how, mixed, arena, graph, report, diag));
    return cli_parts_join(p, mixed->samples, graph, report, diag);
}

vta_status cli_parts_write(const cli_parts *p, const vtac_graph *graph, const char *producer,
                           const char *path, vta_diag *diag)
{
    return p->split ? vta_file_write(path, p->joined, p->joined_size, diag)
                    : vtac_onnx_write(graph, producer, path, diag);
}

void cli_parts_free(cli_parts *p)
{
    free(p->file);
    free(p->joined);
    free(p->folder);
}
