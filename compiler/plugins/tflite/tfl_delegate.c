/* SPDX-License-Identifier: Apache-2.0
 *
 * The external delegate. The host asks it once for each of its graphs: by then each part is compiled and
 * loaded, so that what cannot be done stays with the host, with one line in its log.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tfl.h"
#include "vta/fail.h"

#define EXPORTED __attribute__((visibility("default")))

typedef void report_function(const char *message);

typedef struct tfl_delegate {
    TfLiteDelegate table; /* the first member: the host has its address */
    vtac_plug *plug;
    struct tfl_part *ready; /* the part that the host makes a node of next */
} tfl_delegate;

/* A part of the host's graph, which the host runs as one node. */
typedef struct tfl_part {
    vtac_plug *plug;
    vtac_plug_part *part;
    uint32_t input_count, output_count;
    uint32_t *tensors; /* numbers of the host's tensors: inputs, then outputs */
    size_t *bytes;
} tfl_part;

/* ---- the log */

static void log_to_context(void *context, bool warning, const char *line)
{
    TfLiteContext *host = context;
    (void)warning;
    host->ReportError(host, "vtac: %s", line);
}

static void log_to_report(void *context, bool warning, const char *line)
{
    report_function *report;
    char text[1400];
    (void)warning;
    memcpy(&report, context, sizeof report);
    (void)snprintf(text, sizeof text, "vtac: %s", line);
    if (report != NULL) {
        report(text);
    }
}

/* ---- nodes of the host */

static void free_part(tfl_part *part)
{
    if (part != NULL) {
        vtac_plug_unload(part->part);
        free(part->tensors);
        free(part->bytes);
        free(part);
    }
}

static void *init_node(TfLiteContext *context, const char *buffer, size_t length)
{
    TfLiteDelegateParams params;
    (void)context;
    (void)length;
    memcpy(&params, buffer, sizeof params);
    tfl_delegate *delegate = (tfl_delegate *)params.delegate;
    tfl_part *part = delegate->ready;
    delegate->ready = NULL;
    return part;
}

static void free_node(TfLiteContext *context, void *buffer)
{
    (void)context;
    free_part(buffer);
}

/* A part is compiled for the sizes that its tensors had when the delegate was applied. */
static int prepare_node(TfLiteContext *context, TfLiteNode *node)
{
    const tfl_part *part = node->user_data;
    if (part == NULL) {
        context->ReportError(context, "vtac: the host made a node that the delegate has no part for");
        return TFL_ERROR;
    }
    for (uint32_t i = 0; i < part->input_count + part->output_count; i++) {
        if (context->tensors[part->tensors[i]].bytes != part->bytes[i]) {
            context->ReportError(context,
                                 "vtac: tensor '%s' has %zu bytes, not the %zu that it had when the "
                                 "delegate was applied; resize inputs before",
                                 context->tensors[part->tensors[i]].name,
                                 context->tensors[part->tensors[i]].bytes, part->bytes[i]);
            return TFL_ERROR;
        }
    }
    return TFL_OK;
}

static vta_status run_part(const TfLiteContext *context, const tfl_part *part, vta_diag *diag)
{
    const uint32_t count = part->input_count + part->output_count;
    vtac_plug_tensor *tensors = calloc((size_t)count + 1, sizeof *tensors);
    VTA_TRY(vta_allocated(tensors != NULL, diag));
    for (uint32_t i = 0; i < count; i++) {
        tensors[i] = (vtac_plug_tensor){context->tensors[part->tensors[i]].data, part->bytes[i]};
    }
    const vta_status status = vtac_plug_run(part->part, tensors, tensors + part->input_count, diag);
    free(tensors);
    return status;
}

static int invoke_node(TfLiteContext *context, TfLiteNode *node)
{
    vta_diag diag = {0};
    if (run_part(context, node->user_data, &diag) != VTA_OK) {
        context->ReportError(context, "vtac: %s", diag.text);
        return TFL_ERROR;
    }
    return TFL_OK;
}

static const char *describe_node(const TfLiteContext *context, const TfLiteNode *node)
{
    (void)context;
    (void)node;
    return "vtac";
}

static const TfLiteRegistration node_table = {.init = init_node,
                                              .free = free_node,
                                              .prepare = prepare_node,
                                              .invoke = invoke_node,
                                              .profiling_string = describe_node,
                                              .custom_name = "vtac",
                                              .version = 1};

/* ---- parts */

/* The numbers of the nodes for which `regions` has `region`; owned, NULL without memory. */
static TfLiteIntArray *list_nodes(const vtac_tfl_graph *graph, const int32_t *regions, int32_t region)
{
    TfLiteIntArray *list =
        calloc(1, sizeof *list + ((size_t)graph->shape.node_count + 1) * sizeof list->data[0]);
    for (uint32_t i = 0; list != NULL && i < graph->shape.node_count; i++) {
        if (regions[i] == region) {
            list->data[list->size++] = graph->nodes[i].index;
        }
    }
    return list;
}

/* Copies the numbers of tensors; without constants where `constant` is given. */
static vta_status copy_tensors(const TfLiteIntArray *from, const bool *constant, uint32_t **to,
                               uint32_t *count, vta_diag *diag)
{
    *to = calloc((size_t)from->size + 1, sizeof **to);
    VTA_TRY(vta_allocated(*to != NULL, diag));
    for (int i = 0; i < from->size; i++) {
        if (from->data[i] >= 0 && (constant == NULL || !constant[from->data[i]])) {
            (*to)[(*count)++] = (uint32_t)from->data[i];
        }
    }
    return VTA_OK;
}

/* The border as the host sees it, who alone knows what its graph gives to its program. */
static vta_status find_border(TfLiteContext *context, const vtac_tfl_graph *graph,
                              const TfLiteIntArray *nodes, vtac_plug_border *out, vta_diag *diag)
{
    TfLiteDelegateParams *parts = NULL;
    int count = 0;
    if (context->PreviewDelegatePartitioning == NULL ||
        context->PreviewDelegatePartitioning(context, nodes, &parts, &count) != TFL_OK) {
        return vta_fail(diag, VTA_UNSUPPORTED, "this host is older than TensorFlow Lite 2.3");
    }
    if (count != 1) {
        return vta_fail(diag, VTA_UNSUPPORTED, "the host would cut %d nodes into %d parts", nodes->size,
                        count);
    }
    VTA_TRY(
        copy_tensors(parts[0].input_tensors, graph->shape.constant, &out->inputs, &out->input_count, diag));
    return copy_tensors(parts[0].output_tensors, NULL, &out->outputs, &out->output_count, diag);
}

static vta_status describe_part(const TfLiteContext *context, const vtac_plug_border *border, tfl_part *part,
                                vta_diag *diag)
{
    const size_t count = (size_t)border->input_count + border->output_count + 1;
    part->tensors = calloc(count, sizeof *part->tensors);
    part->bytes = calloc(count, sizeof *part->bytes);
    VTA_TRY(vta_allocated(part->tensors != NULL && part->bytes != NULL, diag));
    for (uint32_t i = 0; i < border->input_count; i++) {
        part->tensors[part->input_count++] = border->inputs[i];
    }
    for (uint32_t i = 0; i < border->output_count; i++) {
        part->tensors[part->input_count + part->output_count++] = border->outputs[i];
    }
    for (uint32_t i = 0; i < part->input_count + part->output_count; i++) {
        part->bytes[i] = context->tensors[part->tensors[i]].bytes;
    }
    return VTA_OK;
}

static vta_status load_part(const vtac_tfl_graph *graph, const int32_t *regions, int32_t region,
                            const vtac_plug_border *border, tfl_part *part, vta_diag *diag)
{
    vta_str text = {0};
    VTA_TRY(describe_part(graph->context, border, part, diag));
    vta_status status = vtac_tfl_write(graph, regions, region, border, false, &text, diag);
    if (status == VTA_OK) {
        const vtac_plug_model model = {(const uint8_t *)text.text, text.size, "tflite", NULL};
        status = vtac_plug_load(part->plug, &model, part->input_count, part->output_count, &part->part, diag);
    }
    vta_str_free(&text);
    return status;
}

/* Hands nodes to the host as one, which calls init_node meanwhile. */
static vta_status claim_nodes(TfLiteContext *context, tfl_delegate *delegate, const TfLiteIntArray *nodes,
                              tfl_part **part, vta_diag *diag)
{
    delegate->ready = *part;
    *part = NULL;
    const int failed =
        context->ReplaceNodeSubsetsWithDelegateKernels(context, node_table, nodes, &delegate->table);
    free_part(delegate->ready); /* the host took none */
    delegate->ready = NULL;
    return failed == TFL_OK ? VTA_OK : vta_fail(diag, VTA_INVALID, "the host does not take a part");
}

static vta_status add_part(TfLiteContext *context, tfl_delegate *delegate, const vtac_tfl_graph *graph,
                           const int32_t *regions, int32_t region, vta_diag *diag)
{
    vtac_plug_border border = {0};
    tfl_part *part = calloc(1, sizeof *part);
    TfLiteIntArray *nodes = list_nodes(graph, regions, region);
    vta_status status = vta_allocated(part != NULL && nodes != NULL, diag);
    VTA_TRY_OUT(status);
    if (nodes->size == 0) {
        goto out;
    }
    part->plug = delegate->plug;
    VTA_TRY_OUT(find_border(context, graph, nodes, &border, diag));
    VTA_TRY_OUT(load_part(graph, regions, region, &border, part, diag));
    VTA_TRY_OUT(claim_nodes(context, delegate, nodes, &part, diag));
    vtac_plug_say(delegate->plug, false, "%d nodes run as one on the accelerator", nodes->size);
out:
    vtac_plug_border_free(&border);
    free_part(part);
    free(nodes);
    return status;
}

/* ---- what of a graph the delegate takes */

/* The regions of the accelerator in what the delegate can write of the graph. */
static vta_status place_nodes(vtac_plug *plug, const vtac_tfl_graph *graph, int32_t *regions, vta_diag *diag)
{
    vta_str text = {0};
    vtac_plug_border border = {0};
    uint32_t known = 0;
    for (uint32_t i = 0; i < graph->shape.node_count; i++) {
        regions[i] = graph->nodes[i].op != NULL ? 0 : VTAC_PLUG_STAYS;
        known += graph->nodes[i].op != NULL;
    }
    vta_status status = VTA_OK;
    if (known == 0) {
        return VTA_OK;
    }
    VTA_TRY_OUT(vtac_plug_border_find(&graph->shape, regions, 0, &border, diag));
    VTA_TRY_OUT(vtac_tfl_write(graph, regions, 0, &border, true, &text, diag));
    const vtac_plug_model model = {(const uint8_t *)text.text, text.size, "tflite", NULL};
    VTA_TRY_OUT(vtac_plug_place(plug, &model, regions, graph->shape.node_count, diag));
    VTA_TRY_OUT(vtac_plug_cut(&graph->shape, regions, diag));
out:
    vtac_plug_border_free(&border);
    vta_str_free(&text);
    return status;
}

/* A region whose part fails stays with the host, which goes on. */
static void add_parts(TfLiteContext *context, tfl_delegate *delegate, const vtac_tfl_graph *graph,
                      const int32_t *regions)
{
    int32_t count = 0;
    for (uint32_t i = 0; i < graph->shape.node_count; i++) {
        count = regions[i] >= count ? regions[i] + 1 : count;
    }
    for (int32_t region = 0; region < count; region++) {
        vta_diag diag = {0};
        if (add_part(context, delegate, graph, regions, region, &diag) != VTA_OK) {
            vtac_plug_say(delegate->plug, true, "a part of the model stays with TensorFlow Lite: %s",
                          diag.text);
        }
    }
}

static vta_status take_graph(TfLiteContext *context, tfl_delegate *delegate, vta_diag *diag)
{
    vtac_tfl_graph graph = {0};
    int32_t *regions = NULL;
    vta_status status = vtac_tfl_graph_read(context, &graph, diag);
    VTA_TRY_OUT(status);
    regions = calloc((size_t)graph.shape.node_count + 1, sizeof *regions);
    VTA_TRY_OUT(vta_allocated(regions != NULL, diag));
    VTA_TRY_OUT(place_nodes(delegate->plug, &graph, regions, diag));
    add_parts(context, delegate, &graph, regions);
out:
    free(regions);
    vtac_tfl_graph_free(&graph);
    return status;
}

static int prepare_graph(TfLiteContext *context, TfLiteDelegate *table)
{
    tfl_delegate *delegate = (tfl_delegate *)table;
    const vtac_plug_log log = {log_to_context, context};
    vta_diag diag = {0};
    vtac_plug_log_to(delegate->plug, &log);
    if (take_graph(context, delegate, &diag) != VTA_OK) {
        vtac_plug_say(delegate->plug, true, "the model stays with TensorFlow Lite: %s", diag.text);
    }
    return TFL_OK;
}

/* ---- the delegate */

static vta_status read_options(char *const *keys, char *const *values, size_t count,
                               vtac_plug_settings *settings, vta_diag *diag)
{
    for (size_t i = 0; i < count; i++) {
        VTA_TRY(vtac_plug_set(settings, keys[i], values[i], diag));
    }
    return VTA_OK;
}

static vta_status open_plug(char *const *keys, char *const *values, size_t count, report_function *report,
                            vtac_plug **out, vta_diag *diag)
{
    vtac_plug_settings settings = {0};
    const vtac_plug_log log = {log_to_report, &report};
    vta_status status = read_options(keys, values, count, &settings, diag);
    if (status == VTA_OK) {
        status = vtac_plug_open(&settings, &log, out, diag);
    }
    if (status == VTA_OK) {
        vtac_plug_log_to(*out, &(vtac_plug_log){NULL, NULL}); /* until there is a graph with a log */
    }
    vtac_plug_settings_free(&settings);
    return status;
}

EXPORTED TfLiteDelegate *tflite_plugin_create_delegate(char **keys, char **values, size_t count,
                                                       void (*report)(const char *message))
{
    vta_diag diag = {0};
    tfl_delegate *delegate = calloc(1, sizeof *delegate);
    if (delegate == NULL || open_plug(keys, values, count, report, &delegate->plug, &diag) != VTA_OK) {
        (void)vta_context(&diag, "vtac");
        if (report != NULL) {
            report(delegate != NULL ? diag.text : "vtac: out of memory");
        }
        free(delegate);
        return NULL;
    }
    delegate->table = (TfLiteDelegate){.data_ = delegate, .Prepare = prepare_graph};
    return &delegate->table;
}

EXPORTED void tflite_plugin_destroy_delegate(TfLiteDelegate *table)
{
    tfl_delegate *delegate = (tfl_delegate *)table;
    if (delegate != NULL) {
        vtac_plug_close(delegate->plug);
        free(delegate);
    }
}
