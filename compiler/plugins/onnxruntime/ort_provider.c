/* SPDX-License-Identifier: Apache-2.0
 *
 * The execution provider of one session. The host asks once what of its graph the provider takes: by then
 * each part is compiled and loaded, so that what cannot be done stays with the host, with one line in its
 * log.
 */
#include "ort_provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort_options.h"
#include "ort_part.h"
#include "vta/fail.h"
#include "vta/vec.h"

typedef struct ort_provider {
    OrtEp ep; /* the first member: the host has its address */
    const OrtLogger *logger;
    vtac_plug *plug;
    vta_vec parts; /* of vtac_ort_part * */
} ort_provider;

/* A part as a node of a session. */
typedef struct ort_kernel {
    OrtNodeComputeInfo info; /* the first member: the host has its address */
    vtac_ort_part *part;
    uint32_t *inputs, *outputs; /* by the part's: the node's number */
} ort_kernel;

static void write_log(void *context, bool warning, const char *line)
{
    char text[1400];
    (void)snprintf(text, sizeof text, "vtac: %s", line);
    OrtStatus *status = vtac_ort_host.Logger_LogMessage(context, warning ? ORT_LOG_WARNING : ORT_LOG_INFO,
                                                        text, "libvta-onnxruntime.so", 0, "vtac");
    if (status != NULL) {
        vtac_ort_host.ReleaseStatus(status);
    }
}

/* ---- parts */

/* Hands the nodes of a region to the host as one. */
static vta_status claim_nodes(const vtac_ort_graph *graph, const int32_t *regions, int32_t region,
                              OrtEpGraphSupportInfo *support, uint32_t *count, vta_diag *diag)
{
    const OrtNodeFusionOptions options = {ORT_VERSION, true};
    const OrtNode **nodes = calloc((size_t)graph->shape.node_count + 1, sizeof *nodes);
    if (nodes == NULL) {
        return vta_no_memory(diag);
    }
    *count = 0;
    for (uint32_t i = 0; i < graph->shape.node_count; i++) {
        if (regions[i] == region) {
            nodes[(*count)++] = graph->nodes[i].node;
        }
    }
    const vta_status status = vtac_ort_check(
        vtac_ort_host.GetEpApi()->EpGraphSupportInfo_AddNodesToFuse(support, nodes, *count, &options), diag);
    free(nodes);
    return status;
}

static vta_status add_part(ort_provider *p, const vtac_ort_graph *graph, const int32_t *regions,
                           int32_t region, OrtEpGraphSupportInfo *support, vta_diag *diag)
{
    uint32_t count = 0;
    vtac_ort_part *part = NULL;
    VTA_TRY(vtac_ort_part_load(p->plug, graph, regions, region, &part, diag));
    if (vta_vec_push(&p->parts, &part) == NULL) {
        vtac_ort_part_free(part);
        return vta_no_memory(diag);
    }
    VTA_TRY(claim_nodes(graph, regions, region, support, &count, diag));
    vtac_plug_say(p->plug, false, "%u nodes run as one on the accelerator", count);
    return VTA_OK;
}

/* ---- what of a graph the provider takes */

static bool is_quantized(const vtac_ort_graph *graph)
{
    for (uint32_t i = 0; i < graph->shape.node_count; i++) {
        const char *op = graph->nodes[i].op;
        if (graph->nodes[i].is_known && (graph->shape.nodes[i].kind == VTAC_PLUG_DEQUANTIZE ||
                                         strncmp(op, "QLinear", 7) == 0 || strstr(op, "Integer") != NULL)) {
            return true;
        }
    }
    return false;
}

/* The regions of the accelerator in what the compiler knows of the graph. */
static vta_status place_nodes(ort_provider *p, const vtac_ort_graph *graph, int32_t *regions, vta_diag *diag)
{
    vta_str text = {0};
    vtac_plug_border border = {0};
    for (uint32_t i = 0; i < graph->shape.node_count; i++) {
        regions[i] = graph->nodes[i].is_known ? 0 : VTAC_PLUG_STAYS;
    }
    vta_status status = vtac_plug_border_find(&graph->shape, regions, 0, &border, diag);
    VTA_TRY_OUT(status);
    VTA_TRY_OUT(vtac_ort_write(graph, regions, 0, &border, true, &text, diag));
    const vtac_plug_model model = {(const uint8_t *)text.text, text.size, "onnx", NULL};
    VTA_TRY_OUT(vtac_plug_place(p->plug, &model, regions, graph->shape.node_count, diag));
    VTA_TRY_OUT(vtac_plug_cut(&graph->shape, regions, diag));
out:
    vtac_plug_border_free(&border);
    vta_str_free(&text);
    return status;
}

/* A region whose part fails stays with the host, which goes on. */
static void add_parts(ort_provider *p, const vtac_ort_graph *graph, const int32_t *regions,
                      OrtEpGraphSupportInfo *support)
{
    int32_t count = 0;
    for (uint32_t i = 0; i < graph->shape.node_count; i++) {
        count = regions[i] >= count ? regions[i] + 1 : count;
    }
    for (int32_t region = 0; region < count; region++) {
        vta_diag diag = {0};
        bool any = false;
        for (uint32_t i = 0; i < graph->shape.node_count; i++) {
            any = any || regions[i] == region;
        }
        if (any && add_part(p, graph, regions, region, support, &diag) != VTA_OK) {
            vtac_plug_say(p->plug, true, "a part of the model stays with ONNX Runtime: %s", diag.text);
        }
    }
}

static vta_status take_graph(ort_provider *p, const vtac_ort_graph *graph, OrtEpGraphSupportInfo *support,
                             vta_diag *diag)
{
    if (!is_quantized(graph)) {
        return VTA_OK;
    }
    int32_t *regions = calloc((size_t)graph->shape.node_count + 1, sizeof *regions);
    VTA_TRY(vta_allocated(regions != NULL, diag));
    const vta_status status = place_nodes(p, graph, regions, diag);
    if (status == VTA_OK) {
        add_parts(p, graph, regions, support);
    }
    free(regions);
    return status;
}

static OrtStatus *get_capability(OrtEp *ep, const OrtGraph *host, OrtEpGraphSupportInfo *support)
{
    ort_provider *p = (ort_provider *)ep;
    const OrtNode *parent = NULL;
    vtac_ort_graph graph = {0};
    vta_diag diag = {0};
    vta_status status = vtac_ort_check(vtac_ort_host.Graph_GetParentNode(host, &parent), &diag);
    if (status == VTA_OK && parent == NULL) {
        status = vtac_ort_graph_read(host, &graph, &diag);
        if (status == VTA_OK) {
            status = take_graph(p, &graph, support, &diag);
        }
    }
    vtac_ort_graph_free(&graph);
    if (status != VTA_OK) {
        vtac_plug_say(p->plug, true, "the model stays with ONNX Runtime: %s", diag.text);
    }
    return NULL;
}

/* ---- nodes of the host */

static OrtStatus *create_state(OrtNodeComputeInfo *info, OrtNodeComputeContext *context, void **state)
{
    (void)context;
    *state = info;
    return NULL;
}

static OrtStatus *compute(OrtNodeComputeInfo *info, void *state, OrtKernelContext *context)
{
    const ort_kernel *kernel = (const ort_kernel *)info;
    vta_diag diag = {0};
    (void)state;
    const vta_status status =
        vtac_ort_part_run(kernel->part, context, kernel->inputs, kernel->outputs, &diag);
    return vtac_ort_status(status, &diag);
}

static void release_state(OrtNodeComputeInfo *info, void *state)
{
    (void)info;
    (void)state;
}

/* ---- from parts to nodes */

/* The numbers of the host's values by the names of a part; a name that the node does not have is an error. */
static vta_status match_names(char *const *names, uint32_t count, const OrtValueInfo *const *infos,
                              size_t info_count, uint32_t *numbers, vta_diag *diag)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *name = NULL;
        numbers[i] = UINT32_MAX;
        for (size_t k = 0; k < info_count && numbers[i] == UINT32_MAX; k++) {
            VTA_TRY(vtac_ort_check(vtac_ort_host.GetValueInfoName(infos[k], &name), diag));
            numbers[i] = strcmp(name, names[i]) == 0 ? (uint32_t)k : UINT32_MAX;
        }
        if (numbers[i] == UINT32_MAX) {
            return vta_fail(diag, VTA_INVALID, "the fused node has no value '%s'", names[i]);
        }
    }
    return VTA_OK;
}

typedef OrtStatus *ends_counter(const OrtNode *node, size_t *out);
typedef OrtStatus *ends_getter(const OrtNode *node, const OrtValueInfo **values, size_t count);

static vta_status read_node_ends(const OrtNode *node, ends_counter *count_ends, ends_getter *get_ends,
                                 const OrtValueInfo ***infos, size_t *count, vta_diag *diag)
{
    VTA_TRY(vtac_ort_check(count_ends(node, count), diag));
    *infos = calloc(*count + 1, sizeof **infos);
    VTA_TRY(vta_allocated(*infos != NULL, diag));
    return vtac_ort_check(get_ends(node, *infos, *count), diag);
}

/* The part that makes the first output of a node. */
static vta_status find_part(const ort_provider *p, const OrtValueInfo *output, vtac_ort_part **out,
                            vta_diag *diag)
{
    const char *name = NULL;
    *out = NULL;
    VTA_TRY(vtac_ort_check(vtac_ort_host.GetValueInfoName(output, &name), diag));
    for (size_t i = 0; i < p->parts.count; i++) {
        vtac_ort_part *part = *(vtac_ort_part **)vta_vec_at(&p->parts, i);
        uint32_t count = 0;
        char *const *names = vtac_ort_part_outputs(part, &count);
        for (uint32_t k = 0; k < count; k++) {
            *out = strcmp(names[k], name) == 0 ? part : *out;
        }
    }
    return *out != NULL ? VTA_OK : vta_fail(diag, VTA_INVALID, "no part makes the value '%s'", name);
}

static void free_kernel(ort_kernel *kernel)
{
    free(kernel->inputs);
    free(kernel->outputs);
    free(kernel);
}

static vta_status fill_kernel(const ort_provider *p, const OrtNode *node, ort_kernel *kernel, vta_diag *diag)
{
    const OrtValueInfo **inputs = NULL;
    const OrtValueInfo **outputs = NULL;
    size_t input_count = 0;
    size_t output_count = 0;
    uint32_t ours_in = 0;
    uint32_t ours_out = 0;
    vta_status status = VTA_OK;
    VTA_TRY_OUT(read_node_ends(node, vtac_ort_host.Node_GetNumInputs, vtac_ort_host.Node_GetInputs, &inputs,
                               &input_count, diag));
    VTA_TRY_OUT(read_node_ends(node, vtac_ort_host.Node_GetNumOutputs, vtac_ort_host.Node_GetOutputs,
                               &outputs, &output_count, diag));
    VTA_TRY_OUT(output_count > 0 ? VTA_OK : vta_fail(diag, VTA_INVALID, "the fused node has no output"));
    VTA_TRY_OUT(find_part(p, outputs[0], &kernel->part, diag));
    char *const *names_in = vtac_ort_part_inputs(kernel->part, &ours_in);
    char *const *names_out = vtac_ort_part_outputs(kernel->part, &ours_out);
    kernel->inputs = calloc((size_t)ours_in + 1, sizeof *kernel->inputs);
    kernel->outputs = calloc((size_t)ours_out + 1, sizeof *kernel->outputs);
    VTA_TRY_OUT(vta_allocated(kernel->inputs != NULL && kernel->outputs != NULL, diag));
    VTA_TRY_OUT(match_names(names_in, ours_in, inputs, input_count, kernel->inputs, diag));
    VTA_TRY_OUT(match_names(names_out, ours_out, outputs, output_count, kernel->outputs, diag));
out:
    free(inputs);
    free(outputs);
    return status;
}

static vta_status make_kernel(const ort_provider *p, const OrtNode *node, OrtNodeComputeInfo **out,
                              vta_diag *diag)
{
    ort_kernel *kernel = calloc(1, sizeof *kernel);
    VTA_TRY(vta_allocated(kernel != NULL, diag));
    kernel->info = (OrtNodeComputeInfo){ORT_VERSION, create_state, compute, release_state};
    const vta_status status = fill_kernel(p, node, kernel, diag);
    if (status != VTA_OK) {
        free_kernel(kernel);
        return status;
    }
    *out = &kernel->info;
    return VTA_OK;
}

static void release_kernels(OrtEp *ep, OrtNodeComputeInfo **infos, size_t count)
{
    (void)ep;
    for (size_t i = 0; i < count; i++) {
        if (infos[i] != NULL) {
            free_kernel((ort_kernel *)infos[i]);
        }
    }
}

static OrtStatus *compile(OrtEp *ep, const OrtGraph **graphs, const OrtNode **fused, size_t count,
                          OrtNodeComputeInfo **infos, OrtNode **contexts)
{
    const ort_provider *p = (const ort_provider *)ep;
    vta_diag diag = {0};
    (void)graphs;
    (void)contexts;
    for (size_t i = 0; i < count; i++) {
        const vta_status status = make_kernel(p, fused[i], &infos[i], &diag);
        if (status != VTA_OK) {
            release_kernels(ep, infos, i);
            memset(infos, 0, count * sizeof *infos);
            return vtac_ort_status(status, &diag);
        }
    }
    return NULL;
}

/* ---- the provider */

static const char *get_name(const OrtEp *ep)
{
    (void)ep;
    return VTAC_ORT_NAME;
}

static const OrtEp table = {.ort_version_supported = ORT_VERSION,
                            .GetName = get_name,
                            .GetCapability = get_capability,
                            .Compile = compile,
                            .ReleaseNodeComputeInfos = release_kernels};

static vta_status open_plug(ort_provider *p, const OrtSessionOptions *options, vta_diag *diag)
{
    const vtac_plug_log log = {write_log, (void *)(uintptr_t)p->logger};
    vtac_plug_settings settings = {0};
    vta_status status = vtac_ort_options_read(options, &settings, diag);
    if (status == VTA_OK) {
        status = vtac_plug_open(&settings, &log, &p->plug, diag);
    }
    vtac_plug_settings_free(&settings);
    return status;
}

vta_status vtac_ort_provider_create(const OrtSessionOptions *options, const OrtLogger *logger, OrtEp **out,
                                    vta_diag *diag)
{
    ort_provider *p = calloc(1, sizeof *p);
    VTA_TRY(vta_allocated(p != NULL, diag));
    p->ep = table;
    p->logger = logger;
    p->parts.item_size = sizeof(vtac_ort_part *);
    const vta_status status = open_plug(p, options, diag);
    if (status != VTA_OK) {
        (void)vta_context(diag, VTAC_ORT_NAME);
        free(p);
        return status;
    }
    *out = &p->ep;
    return VTA_OK;
}

void vtac_ort_provider_destroy(OrtEp *ep)
{
    ort_provider *p = (ort_provider *)ep;
    for (size_t i = 0; i < p->parts.count; i++) {
        vtac_ort_part_free(*(vtac_ort_part **)vta_vec_at(&p->parts, i));
    }
    vta_vec_free(&p->parts);
    vtac_plug_close(p->plug);
    free(p);
}
