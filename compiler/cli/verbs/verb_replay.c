/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac replay: one layer of a model alone on a device, with the inputs that it has in the whole model. These
 * come from a run of the whole on the functional simulator; what the layer makes there is what it must make
 * again.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calib.h"
#include "layers.h"
#include "probe.h"
#include "stages.h"
#include "tensors.h"
#include "vta/fail.h"
#include "vta/str.h"
#include "watch.h"

static const cli_option options[] = {
    {"--layer", "NAME", CLI_TEXT, "the layer, as `vtac explain` names its node"},
    {"--device", "URI", CLI_DEVICE, "where it runs (default tsim)"},
    {"--trace", "FILE", CLI_OUT, "waves (FST) of the layer alone"},
    {"--config", "NAME|FILE", CLI_CONFIG, "the accelerator's configuration (default pynq)"},
    CLI_CALIB_OPTIONS,
    CLI_INPUT_OPTIONS,
    {"--shape", "NAME=AxBxC", CLI_TEXT, "size of a dynamic input (may be repeated)"},
    CLI_MODEL_OPTIONS,
    {"-O", "N", CLI_TEXT, "0 to 3 (default 3)"},
    {"--json", NULL, CLI_FLAG, "print JSON"},
};

typedef struct replay {
    const cli_args *args;
    cli_probe_options options;
    cli_probe whole, alone;
    uint64_t elements, differing;
} replay;

/* ---- the layer as a model of its own */

static vta_status no_layer(const vtac_graph *graph, const vtac_partition *p, const char *name, vta_diag *diag)
{
    const char **names = calloc((size_t)graph->order_count + 1, sizeof *names);
    size_t count = 0;
    for (uint32_t i = 0; names != NULL && i < graph->order_count; i++) {
        if (p->places[graph->order[i]].kind == VTAC_PLACE_ACCELERATOR) {
            names[count++] = graph->nodes[graph->order[i]].name;
        }
    }
    const char *near = names != NULL ? vta_nearest(name, names, count) : NULL;
    const vta_status status =
        vta_fail(diag, VTA_INVALID, "no layer '%s' on the accelerator%s%s%s; 'vtac explain' lists them", name,
                 near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'" : "");
    free(names);
    return status;
}

/* The nodes that the named one is one layer with. */
static vta_status find_nodes(const vtac_graph *graph, const vtac_partition *p, const char *name, bool *mine,
                             vta_diag *diag)
{
    vtac_node_id found = 0;
    for (uint32_t i = 0; i < graph->order_count; i++) {
        const vtac_node_id id = graph->order[i];
        if (p->places[id].kind == VTAC_PLACE_ACCELERATOR && strcmp(graph->nodes[id].name, name) == 0) {
            found = id;
        }
    }
    if (found == 0) {
        return no_layer(graph, p, name, diag);
    }
    for (uint32_t i = 0; i < graph->order_count; i++) {
        const vtac_placement *place = &p->places[graph->order[i]];
        mine[graph->order[i]] = place->kind == VTAC_PLACE_ACCELERATOR &&
                                place->region == p->places[found].region &&
                                place->layer == p->places[found].layer;
    }
    return VTA_OK;
}

/* The value of the new graph for one of the old; an input where no copied node makes it. */
static vta_status carry_value(vtac_graph *to, const vtac_graph *from, vtac_value_id *map, vtac_value_id id,
                              vta_diag *diag)
{
    const vtac_value *value = &from->values[id];
    if (id == 0 || map[id] != 0) {
        return VTA_OK;
    }
    return value->constant != NULL ? vtac_add_constant(to, value->name, value->constant, &map[id], diag)
                                   : vtac_add_input(to, value->name, &value->type, &map[id], diag);
}

static vta_status carry_node(vtac_graph *to, const vtac_graph *from, vtac_value_id *map,
                             const vtac_node *node, vta_diag *diag)
{
    vtac_value_id *inputs = vta_arena_array(&to->arena, node->input_count + 1U, sizeof *inputs);
    const char *name = from->values[node->outputs[0]].name;
    vtac_node_id id;
    if (inputs == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        VTA_TRY(carry_value(to, from, map, node->inputs[i], diag));
        inputs[i] = map[node->inputs[i]];
    }
    const vtac_node_spec spec = {.op = node->op,
                                 .name = node->name,
                                 .origin = node->origin,
                                 .inputs = inputs,
                                 .input_count = node->input_count,
                                 .output_count = 1,
                                 .output_names = &name,
                                 .attrs = node->attrs,
                                 .attr_count = node->attr_count};
    VTA_TRY(vtac_add_node(to, &spec, &id, diag));
    map[node->outputs[0]] = to->nodes[id].outputs[0];
    return VTA_OK;
}

/* Constants stay those of `from`, which must live on. */
static vta_status carry_layer(vtac_graph *to, const vtac_graph *from, const bool *mine, vta_diag *diag)
{
    vtac_value_id *map = vta_arena_array(&to->arena, from->value_count + 1U, sizeof *map);
    vtac_value_id last = 0;
    if (map == NULL) {
        return vta_no_memory(diag);
    }
    vta_status status = VTA_OK;
    for (uint32_t i = 0; i < from->order_count && status == VTA_OK; i++) {
        const vtac_node *node = &from->nodes[from->order[i]];
        if (mine[from->order[i]]) {
            status = carry_node(to, from, map, node, diag);
            last = map[node->outputs[0]];
        }
    }
    return status == VTA_OK ? vtac_add_output(to, last, diag) : status;
}

static vta_status cut_out(const replay *r, vtac_graph *from, vtac_graph *to, vta_diag *diag)
{
    const vtac_partition_options look = {.config = &r->options.offload.config,
                                         .always = true,
                                         .look = true,
                                         .schedule = {.level = r->options.level}};
    vtac_partition *p = NULL;
    VTA_TRY(vtac_partition_graph(from, &look, &p, diag));
    bool *mine = calloc((size_t)from->node_count + 1, sizeof *mine);
    if (mine == NULL) {
        vtac_partition_free(p);
        return vta_no_memory(diag);
    }
    vta_status status = VTA_OK;
    VTA_TRY_OUT(find_nodes(from, p, cli_value(r->args, "--layer"), mine, diag));
    VTA_TRY_OUT(carry_layer(to, from, mine, diag));
out:
    free(mine);
    vtac_partition_free(p);
    return status;
}

/* ---- its inputs, and what it must make */

static const void *find_output(vta_model *model, const char *name, vta_tensor_info *info)
{
    for (uint32_t i = 0; i < vta_model_output_count(model); i++) {
        *info = vta_model_output(model, i);
        if (strcmp(info->name, name) == 0) {
            return vta_model_output_data(model, i);
        }
    }
    return NULL;
}

static vta_status give_inputs(const replay *r, vta_diag *diag)
{
    for (uint32_t i = 0; i < vta_model_input_count(r->alone.loaded.model); i++) {
        const vta_tensor_info in = vta_model_input(r->alone.loaded.model, i);
        vta_tensor_info from = {0};
        const void *data = find_output(r->whole.loaded.model, in.name, &from);
        for (uint32_t k = 0; data == NULL && k < vta_model_input_count(r->whole.loaded.model); k++) {
            from = vta_model_input(r->whole.loaded.model, k);
            data = strcmp(from.name, in.name) == 0 ? vta_model_input_data(r->whole.loaded.model, k) : NULL;
        }
        assert(data != NULL); /* cli_probe_show has seen to it */
        VTA_TRY(vta_model_set_input(r->alone.loaded.model, i, data, from.bytes, diag));
    }
    return VTA_OK;
}

static void compare_layer(replay *r)
{
    const vta_tensor_info out = vta_model_output(r->alone.loaded.model, 0);
    const uint8_t *got = vta_model_output_data(r->alone.loaded.model, 0);
    vta_tensor_info info;
    const uint8_t *want = find_output(r->whole.loaded.model, out.name, &info);
    assert(want != NULL && info.bytes == out.bytes);
    r->elements = out.bytes;
    for (size_t i = 0; i < out.bytes; i++) {
        r->differing += got[i] != want[i];
    }
}

/* ---- the whole */

/* The device with its trace, as a URI. */
static char *device_of(const cli_args *args)
{
    const char *device = cli_value(args, "--device");
    const char *trace = cli_value(args, "--trace");
    vta_str uri = {0};
    vta_str_put(&uri, device != NULL ? device : "tsim");
    if (trace != NULL) {
        vta_str_printf(&uri, "%ctrace=%s", device != NULL && strchr(device, '?') != NULL ? '&' : '?', trace);
    }
    return vta_str_take(&uri);
}

static vta_status load_whole(replay *r, vta_diag *diag)
{
    VTA_TRY(cli_probe_import(r->args, &r->options, &r->whole.graph, diag));
    r->alone.graph = vtac_graph_create("layer");
    if (r->alone.graph == NULL) {
        return vta_no_memory(diag);
    }
    VTA_TRY(cut_out(r, r->whole.graph, r->alone.graph, diag));
    VTA_TRY(cli_probe_show(r->whole.graph, diag));
    VTA_TRY(cli_probe_load(&r->whole, &r->options, "fsim", diag));
    return cli_probe_bind(&r->options, r->whole.loaded.model, diag);
}

static vta_status run_whole(replay *r, vta_diag *diag)
{
    cli_stages_begin();
    const vta_status status = load_whole(r, diag);
    cli_stages_end();
    return status == VTA_OK ? cli_watch_model(r->whole.loaded.model, diag) : status;
}

static vta_status run_alone(replay *r, const char *device, vta_diag *diag)
{
    VTA_TRY(cli_probe_load(&r->alone, &r->options, device, diag));
    VTA_TRY(give_inputs(r, diag));
    VTA_TRY(cli_watch_model(r->alone.loaded.model, diag));
    compare_layer(r);
    return VTA_OK;
}

static int print_replay(const replay *r, const char *device)
{
    const char *trace = cli_value(r->args, "--trace");
    const uint64_t cycles = vta_model_cycles(r->alone.loaded.model);
    if (cli_flag(r->args, "--json")) {
        cli_print("{\"layer\": ");
        cli_json_string(cli_value(r->args, "--layer"));
        cli_print(", \"device\": ");
        cli_json_string(device);
        cli_print(", \"elements\": %" PRIu64 ", \"differing\": %" PRIu64 ", \"cycles\": %" PRIu64,
                  r->elements, r->differing, cycles);
        cli_layers_json(r->alone.loaded.model);
        cli_print("}\n");
    } else {
        cli_print("layer '%s' on %s: %" PRIu64 " of %" PRIu64 " elements differ from fsim's, %" PRIu64
                  " cycles\n",
                  cli_value(r->args, "--layer"), device, r->differing, r->elements, cycles);
        cli_layers_text(r->alone.loaded.model);
        if (trace != NULL) {
            cli_print("waves: %s\n", trace);
        }
    }
    const int done = cli_done(r->args);
    return r->differing > 0 ? CLI_FAILED : done;
}

static int run_replay(const cli_args *args)
{
    replay r = {.args = args};
    vta_diag diag = {0};
    if (cli_value(args, "--layer") == NULL) {
        return cli_usage(args, "--layer is missing; 'vtac explain %s' lists the layers", args->operands[0]);
    }
    if (cli_read_probe(args, &r.options) != CLI_OK) {
        return CLI_USAGE;
    }
    char *device = device_of(args);
    vta_status status = device == NULL ? vta_no_memory(&diag) : run_whole(&r, &diag);
    if (status == VTA_OK) {
        status = run_alone(&r, device, &diag);
    }
    const int result = status == VTA_OK ? print_replay(&r, device) : cli_fail_model(args, &diag);
    cli_probe_free(&r.alone);
    cli_probe_free(&r.whole);
    free(device);
    return result;
}

const cli_verb cli_verb_replay = {
    .name = "replay",
    .operands = "MODEL",
    .summary = "run one layer of a model alone on a device, with waves",
    .more = "Example: vtac replay m.onnx --layer conv1 --device tsim --trace t.fst\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .min = 1,
    .max = 1,
    .run = run_replay,
};
