/* SPDX-License-Identifier: Apache-2.0 */
#include "parts.h"

#include <stdlib.h>
#include <string.h>

#include "calib.h"
#include "passes.h"
#include "stages.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vtac/convert.h"
#include "vtac/flow.h"
#include "vtac/onnx.h"
#include "vtac/pass.h"

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

/* ---- open sizes */

bool cli_leaves_open(const vtac_flow *flow)
{
    bool open = false;
    for (size_t i = 0; i < flow->inputs.count; i++) {
        const vtac_flow_end *end = vta_vec_at(&flow->inputs, i);
        for (int32_t k = 0; k < end->rank; k++) {
            open = open || end->dim[k] < 0;
        }
    }
    return open;
}

/* A graph of the inputs alone, whose open sizes are 1. */
static vta_status make_inputs(const vtac_flow *flow, vtac_graph *out, vta_diag *diag)
{
    for (size_t i = 0; i < flow->inputs.count; i++) {
        const vtac_flow_end *end = vta_vec_at(&flow->inputs, i);
        vtac_type type = {.dtype = end->dtype, .rank = (uint32_t)end->rank};
        vtac_value_id value;
        if (end->rank < 0) {
            return vta_fail(diag, VTA_UNSUPPORTED,
                            "input '%s' has no number of axes; give its size with --shape", end->name);
        }
        for (uint32_t k = 0; k < type.rank; k++) {
            type.dim[k] = end->dim[k] < 0 ? 1 : end->dim[k];
        }
        VTA_TRY(vtac_add_input(out, end->name, &type, &value, diag));
    }
    return VTA_OK;
}

/* Another size of an axis than `size`: longer by 32, twice the batch; within the range of an axis that has
 * one. */
static int64_t other_size(int64_t open, uint32_t axis, int64_t size)
{
    enum { LONGER = 32 };
    const int64_t range = -2 - open;
    const int64_t min = open < -1 ? range & INT32_MAX : 0, max = open < -1 ? range >> 31 : INT64_MAX;
    const int64_t longer = axis == 0 ? 2 * size : size + LONGER;
    return open >= 0 ? size : longer <= max ? longer : max != size ? max : min;
}

/* Behind the sizes of the inputs, one that differs from the first in all axes that are open. */
static vta_status make_size(cli_parts *p, const vtac_flow *flow, vta_diag *diag)
{
    for (uint32_t i = 0; i < p->inputs; i++) {
        const vtac_flow_end *end = vta_vec_at(&flow->inputs, i);
        vtac_type type = *(const vtac_type *)vta_vec_at(&p->sizes, i);
        for (uint32_t k = 0; k < type.rank; k++) {
            type.dim[k] = other_size(end->dim[k], k, type.dim[k]);
        }
        VTA_TRY(vta_allocated(vta_vec_push(&p->sizes, &type) != NULL, diag));
    }
    return VTA_OK;
}

static vta_status find_sizes(cli_parts *p, const vtac_flow *flow, vta_diag *diag)
{
    const char *path = cli_value(p->args, "--calib");
    p->sizes = (vta_vec){.item_size = sizeof(vtac_type)};
    p->inputs = (uint32_t)flow->inputs.count;
    p->ends = vtac_graph_create("inputs");
    VTA_TRY(vta_allocated(p->ends != NULL, diag));
    VTA_TRY(make_inputs(flow, p->ends, diag));
    VTA_TRY(path != NULL
                ? VTA_OK
                : vta_fail(diag, VTA_INVALID, "sizes are left open: give inputs of such sizes with --calib"));
    VTA_TRY(cli_scan_sizes(path, p->ends, &p->sizes, diag));
    p->given = p->inputs > 0 ? (uint32_t)(p->sizes.count / p->inputs) : 0;
    return make_size(p, flow, diag);
}

/* The model, or the one that came of it, at a size. */
static vta_status load_size(const cli_parts *p, const uint8_t *bytes, size_t size, uint32_t which,
                            vtac_graph **out, vta_diag *diag)
{
    vtac_shape_option *options = calloc(p->inputs + (size_t)1, sizeof *options);
    vtac_import_options import = cli_import_options(p->shapes);
    vta_status status = VTA_OK;
    if (options == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < p->inputs; i++) {
        const vtac_type *type = vta_vec_at(&p->sizes, (size_t)which * p->inputs + i);
        options[i] =
            (vtac_shape_option){.name = p->ends->values[p->ends->inputs[i]].name, .rank = type->rank};
        memcpy(options[i].dim, type->dim, sizeof type->dim);
    }
    import.shapes = options;
    import.shape_count = p->inputs;
    import.dynamic = false;
    VTA_TRY_OUT(vtac_onnx_parse(bytes, size, p->args->operands[0], p->folder, &import, out, diag));
    VTA_TRY_OUT(
        (*out)->flow == NULL
            ? vtac_run_passes(*out, &(vtac_pass_options){.level = 2, .progress = cli_stages()}, diag)
            : vta_fail(diag, VTA_UNSUPPORTED,
                       "sizes are left open, and others only the run knows: give the former with --shape"));
out:
    free(options);
    if (status != VTA_OK) {
        vtac_graph_destroy(*out);
        *out = NULL;
    }
    return status;
}

/* The model at the first size, made fit for all. */
static vta_status load_open(cli_parts *p, vtac_graph **out, vta_diag *diag)
{
    vtac_graph_destroy(p->other);
    p->other = NULL;
    VTA_TRY(load_size(p, p->file, p->size, 0, out, diag));
    VTA_TRY(load_size(p, p->file, p->size, p->given, &p->other, diag));
    return vtac_open_sizes(*out, p->other, diag);
}

static vta_status load_more(void *context, uint32_t i, vtac_graph **graph, const vtac_samples **samples,
                            vta_diag *diag)
{
    cli_parts *p = context;
    *graph = NULL;
    if (!p->open || i + 1 >= p->given) {
        return VTA_OK;
    }
    VTA_TRY(load_size(p, p->file, p->size, i + 1, graph, diag));
    VTA_TRY(cli_pick_samples(cli_value(p->args, "--calib"), *graph, &p->arena, &p->more, diag));
    *samples = &p->more;
    return VTA_OK;
}

vtac_more_sizes cli_parts_sizes(cli_parts *p)
{
    return (vtac_more_sizes){load_more, p};
}

/* ---- a source */

/* Takes the model in parts, or at the sizes of its inputs, where that is possible: *out is another graph
 * then. */
static vta_status split_model(cli_parts *p, vtac_graph **out, vta_diag *diag)
{
    VTA_TRY(read_file(p, diag));
    const vtac_model_file file = file_of(p);
    vtac_graph *trunk = NULL;
    vta_diag why = {0};
    if (!vtac_recognize_onnx(&file)) {
        return VTA_OK;
    }
    if (cli_leaves_open((*out)->flow)) {
        VTA_TRY(find_sizes(p, (*out)->flow, diag));
        VTA_TRY(load_open(p, &trunk, diag));
        p->open = true;
        p->by_rows = (*out)->flow->by_rows;
    } else if (load_trunk(p, &trunk, &why) != VTA_OK || !vtac_quantizable(trunk)) {
        vtac_graph_destroy(trunk);
        return VTA_OK;
    } else {
        p->split = true;
    }
    vtac_graph_destroy(*out);
    *out = trunk;
    return VTA_OK;
}

/* With calibration inputs a model that finds its scales in the run gets fixed ones. */
static vta_status make_static(const cli_parts *p, vtac_graph *graph, vta_diag *diag)
{
    return cli_value(p->args, "--calib") != NULL ? vtac_make_static(graph, diag) : VTA_OK;
}

static vta_status load_part(void *context, vtac_graph **out, vta_diag *diag)
{
    cli_parts *p = context;
    if (p->split || p->open) {
        return p->open ? load_open(p, out, diag) : load_trunk(p, out, diag);
    }
    const char *path = p->args->operands[0];
    VTA_TRY(p->told ? cli_load_graph_again(path, p->shapes, out, diag)
                    : cli_load_graph(p->args, path, p->shapes, out, diag));
    p->told = true;
    if ((*out)->flow == NULL) {
        return make_static(p, *out, diag);
    }
    return p->file == NULL ? split_model(p, out, diag) : VTA_OK;
}

static vta_status read_part(void *context, const vtac_graph *graph, vta_arena *arena,
                            const vtac_samples **out, vta_diag *diag)
{
    const cli_parts *p = context;
    if (!p->open) {
        return cli_read_samples(p->args, graph, arena, out, diag);
    }
    vtac_samples *samples = vta_arena_alloc(arena, sizeof *samples);
    VTA_TRY(vta_allocated(samples != NULL, diag));
    *out = samples;
    return cli_pick_samples(cli_value(p->args, "--calib"), graph, arena, samples, diag);
}

cli_model_source cli_parts_source(cli_parts *p)
{
    return (cli_model_source){load_part, read_part, p};
}

/* ---- the quantized model */

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

/* Fails where the model is not right at the other size: a pass has made something that depends on sizes. */
static vta_status check_form(const cli_parts *p, vta_diag *diag)
{
    vtac_graph *again = NULL;
    VTA_TRY(load_size(p, p->joined, p->joined_size, p->given, &again, diag));
    bool same = again->output_count == p->other->output_count;
    for (uint32_t i = 0; same && i < again->output_count; i++) {
        same = vtac_type_equal(&again->values[again->outputs[i]].type,
                               &p->other->values[p->other->outputs[i]].type);
    }
    vtac_graph_destroy(again);
    return same ? VTA_OK
                : vta_fail(diag, VTA_UNSUPPORTED,
                           "8 bits depend on the sizes that are left open; give them with --shape");
}

/* Integers in the place of floats between the operators: at run time there is no pass. A model of rows is
 * compiled for one, with all passes. */
static vta_status join_open(cli_parts *p, vtac_graph **graph, vta_diag *diag)
{
    vtac_graph *whole = NULL;
    const vtac_pass_options folding = {.level = 2, .stop_after = true, .last = VTAC_PASS_FOLD_QDQ};
    if (!p->by_rows) {
        VTA_TRY(vtac_run_passes(*graph, &folding, diag));
        VTA_TRY(vtac_convert_graph(*graph, &(vtac_convert_options){.keep_products = true}, diag));
    }
    VTA_TRY(vtac_onnx_pack_open(*graph, p->other, "vtac quantize", &p->joined, &p->joined_size, diag));
    VTA_TRY(check_form(p, diag));
    VTA_TRY(load_joined(p, &whole, diag));
    vtac_graph_destroy(*graph);
    *graph = whole;
    return VTA_OK;
}

vta_status cli_parts_join(cli_parts *p, const vtac_samples *samples, vtac_graph **graph,
                          vtac_quantize_report *report, vta_diag *diag)
{
    if (!p->split) {
        return p->open ? join_open(p, graph, diag) : VTA_OK;
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
    mixed->arena = arena;
    VTA_TRY(make_static(p, *graph, diag));
    if (!mixed->automatic || !vtac_quantizable(*graph) || (*graph)->state_count > 0 ||
        cli_read_method(p->args, &how.method) != CLI_OK || cli_read_width(p->args, &how) != CLI_OK) {
        return cli_quantize_float(p->args, *graph, report, diag);
    }
    vtac_graph_destroy(*graph);
    *graph = NULL;
    how.progress = cli_stages();
    const cli_model_source source = cli_parts_source(p);
    how.sizes = cli_parts_sizes(p);
    how.ends = p->max_end;
    VTA_TRY(cli_quantize_mixed(p->args, &source, &how, mixed, graph, report, diag));
    return cli_parts_join(p, mixed->samples, graph, report, diag);
}

vta_status cli_parts_write(const cli_parts *p, const vtac_graph *graph, const char *producer,
                           const char *path, vta_diag *diag)
{
    return p->joined != NULL ? vta_file_write(path, p->joined, p->joined_size, diag)
                             : vtac_onnx_write(graph, producer, path, diag);
}

void cli_parts_free(cli_parts *p)
{
    free(p->file);
    free(p->joined);
    free(p->folder);
    vtac_graph_destroy(p->other);
    vtac_graph_destroy(p->ends);
    vta_vec_free(&p->sizes);
    vta_arena_free(&p->arena);
}
