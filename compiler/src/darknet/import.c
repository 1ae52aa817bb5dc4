/* SPDX-License-Identifier: Apache-2.0
 *
 * Darknet: a .cfg and a file of weights to a graph of floats. The outputs are what goes into each layer of
 * boxes ([yolo], [region], [detection]), or else the last layer's; a layer's value is called by its number,
 * counted from 0 after [net], and its type.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "darknet.h"
#include "vta/fail.h"
#include "vta/file.h"

static vta_status check_layers(const vtac_darknet *d, vta_diag *diag)
{
    char list[512] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < d->count && used < sizeof list - 64; i++) {
        if (vtac_darknet_layer_of(d->layers[i].type) == NULL) {
            used += (size_t)snprintf(list + used, sizeof list - used, "%s[%.24s] (line %u)",
                                     used == 0 ? "" : ", ", d->layers[i].type, d->layers[i].line);
        }
    }
    return used == 0 ? VTA_OK : vta_fail(diag, VTA_UNSUPPORTED, "layers that are not supported: %s", list);
}

static vta_status read_header(vtac_darknet *d, vta_diag *diag)
{
    int32_t head[3];
    if (d->size < sizeof head) {
        return vta_fail(diag, VTA_INVALID, "the file of weights has %zu bytes, no room for its head",
                        d->size);
    }
    memcpy(head, d->weights, sizeof head);
    const int64_t version = (int64_t)head[0] * 10 + head[1];
    d->turned = head[0] > 1000 || head[1] > 1000;
    d->at = sizeof head + (version >= 2 && head[0] < 1000 && head[1] < 1000 ? 8 : 4);
    return d->at <= d->size ? VTA_OK
                            : vta_fail(diag, VTA_INVALID,
                                       "the file of weights has %zu bytes, no room for its head", d->size);
}

static vta_status add_input(vtac_darknet *d, const vtac_cfg_section *net, const vtac_import_options *options,
                            vtac_id *x, vta_diag *diag)
{
    vtac_type type = {VTAC_F32, 4, {1}};
    if (vtac_cfg_text(net, "height") == NULL && vtac_cfg_text(net, "width") == NULL &&
        vtac_cfg_text(net, "inputs") != NULL) {
        type.rank = 2;
        VTA_TRY(vtac_cfg_int(net, "inputs", 0, 1, 1 << 24, &type.dim[1], diag));
        return vtac_add_input(d->maker.graph, "data", &type, x, diag);
    }
    VTA_TRY(vtac_cfg_int(net, "channels", 3, 1, MAX_SIZE, &type.dim[1], diag));
    VTA_TRY(vtac_cfg_int(net, "height", 0, 1, MAX_SIZE, &type.dim[2], diag));
    VTA_TRY(vtac_cfg_int(net, "width", 0, 1, MAX_SIZE, &type.dim[3], diag));
    for (uint32_t i = 0; options != NULL && i < options->shape_count; i++) {
        const vtac_shape_option *s = &options->shapes[i];
        if (strcmp(s->name, "data") != 0 || s->rank != 4 || s->dim[1] != type.dim[1]) {
            return vta_fail(diag, VTA_INVALID, "--shape: the input is 'data', 1x%lldx%lldx%lld in the cfg",
                            (long long)type.dim[1], (long long)type.dim[2], (long long)type.dim[3]);
        }
        memcpy(type.dim, s->dim, sizeof type.dim);
    }
    return vtac_add_input(d->maker.graph, "data", &type, x, diag);
}

/* Values are called after the layers that make them; what a layer passes on keeps its name. */
static vta_status name_value(vtac_darknet *d, vtac_id id, const char *name, vta_diag *diag)
{
    const vtac_value *v = &d->maker.graph->values[id];
    return v->node != 0 && v->nameless ? vtac_rename_value(d->maker.graph, id, name, diag) : VTA_OK;
}

static vta_status add_output(vtac_darknet *d, vtac_id id, vta_diag *diag)
{
    if (d->maker.graph->values[id].node == 0 || vtac_is_output(d->maker.graph, id)) {
        id = vtac_make1(&d->maker, VTAC_OP_IDENTITY, id);
    }
    return d->maker.status == VTA_OK ? vtac_add_output(d->maker.graph, id, diag) : d->maker.status;
}

static vta_status import_layers(vtac_darknet *d, vtac_id x, vta_diag *diag)
{
    bool boxes = false;
    for (uint32_t i = 0; i < d->count; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%u_%.40s", i, d->layers[i].type);
        d->section = &d->layers[i];
        d->number = d->maker.origin = i;
        d->maker.name = vta_arena_string(&d->maker.graph->arena, name, strlen(name));
        const vtac_darknet_layer *layer = vtac_darknet_layer_of(d->section->type);
        d->begins[i] = d->at;
        d->owners[i] = i;
        x = layer->make(d, x);
        d->begins[i + 1] = d->at;
        if (d->maker.status != VTA_OK || x == 0 || d->maker.name == NULL) {
            return vta_context(diag, "layer %u, [%s] at line %u", i, d->section->type, d->section->line);
        }
        VTA_TRY(name_value(d, x, name, diag));
        d->values[i] = x;
        if (layer->boxes) {
            VTA_TRY(add_output(d, x, diag));
            boxes = true;
        }
    }
    if (!boxes) {
        VTA_TRY(add_output(d, x, diag));
    }
    for (uint32_t i = 0; i < d->state_count; i++) {
        VTA_TRY(add_output(d, d->states[i], diag));
    }
    d->maker.graph->state_count = d->state_count;
    return VTA_OK;
}

static vta_status import_network(vtac_darknet *d, const vtac_cfg_file *cfg,
                                 const vtac_import_options *options, vta_diag *diag)
{
    if (cfg->count < 2) {
        return vta_fail(diag, VTA_INVALID, "a network without layers");
    }
    d->layers = cfg->sections + 1;
    d->count = (uint32_t)cfg->count - 1;
    d->values = vta_arena_array(&d->maker.graph->arena, d->count, sizeof *d->values);
    d->begins = vta_arena_array(&d->maker.graph->arena, (size_t)d->count + 1, sizeof *d->begins);
    d->owners = vta_arena_array(&d->maker.graph->arena, d->count, sizeof *d->owners);
    if (d->values == NULL || d->begins == NULL || d->owners == NULL) {
        return vta_no_memory(diag);
    }
    memset(d->values, 0, d->count * sizeof *d->values);
    vtac_id x;
    VTA_TRY(check_layers(d, diag));
    VTA_TRY(read_header(d, diag));
    VTA_TRY(add_input(d, &cfg->sections[0], options, &x, diag));
    VTA_TRY(import_layers(d, x, diag));
    if (d->at != d->size && options != NULL && options->note != NULL) {
        char text[160];
        (void)snprintf(text, sizeof text, "the file of weights has %zu bytes more than the cfg's layers take",
                       d->size - d->at);
        options->note(options->context, text);
    }
    return VTA_OK;
}

/* model.weights beside model.cfg. */
static vta_status file_beside(const vtac_model_file *file, char *path, size_t size, vta_diag *diag)
{
    const size_t length = strlen(file->path);
    const bool named = length > 4 && strcmp(file->path + length - 4, ".cfg") == 0;
    const int used = snprintf(path, size, "%.*s.weights", (int)(named ? length - 4 : length), file->path);
    return used > 0 && (size_t)used < size ? VTA_OK : vta_fail(diag, VTA_INVALID, "its path is too long");
}

vta_status vtac_darknet_parse(const vtac_model_file *file, const uint8_t *weights, size_t size,
                              const vtac_import_options *options, vtac_graph **out, vta_diag *diag)
{
    vtac_cfg_file cfg = {.count = 0};
    vtac_graph *graph = vtac_graph_create("darknet");
    vtac_darknet d = {.weights = weights,
                      .size = size,
                      .folder = file->folder,
                      .keeps_states = options != NULL && options->states};
    d.maker = (vtac_import_builder){.graph = graph, .diag = diag, .name = "", .budget = VTAC_BUILDER_NODES};
    vta_status status = VTA_OK;
    VTA_TRY_OUT(graph == NULL ? vta_no_memory(diag) : vtac_cfg_parse(file, &graph->arena, &cfg, diag));
    VTA_TRY_OUT(import_network(&d, &cfg, options, diag));
out:
    vtac_cfg_free(&cfg);
    if (status != VTA_OK) {
        vtac_graph_destroy(graph);
        (void)vta_context(diag, "%s", file->path);
        return status;
    }
    (void)vtac_remove_dead(graph);
    *out = graph;
    return VTA_OK;
}

/* The first section of a cfg is [net] or [network], behind comments. */
bool vtac_recognize_darknet(const vtac_model_file *file)
{
    const char *at = (const char *)file->bytes;
    const char *end = at + file->size;
    while (at < end &&
           (*at == '#' || *at == ';' || *at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) {
        const char *stop = *at == '#' || *at == ';' ? memchr(at, '\n', (size_t)(end - at)) : at;
        at = stop == NULL ? end : stop + 1;
    }
    return (end - at >= 5 && memcmp(at, "[net]", 5) == 0) ||
           (end - at >= 9 && memcmp(at, "[network]", 9) == 0);
}

vta_status vtac_load_darknet(const vtac_model_file *file, const vtac_import_options *options,
                             vtac_graph **out, vta_diag *diag)
{
    char path[4096];
    const char *given = options != NULL ? options->weights : NULL;
    uint8_t *bytes = NULL;
    size_t size = 0;
    if (file->folder == NULL && given == NULL) {
        return vta_fail(diag, VTA_INVALID, "%s: a cfg without its weights", file->path);
    }
    if (given != NULL) {
        VTA_TRY(vta_file_read(given, MAX_WEIGHTS, &bytes, &size, diag));
    } else if (file_beside(file, path, sizeof path, diag) != VTA_OK ||
               vta_file_read(path, MAX_WEIGHTS, &bytes, &size, diag) != VTA_OK) {
        return vta_context(diag, "%s: its weights (or give them with --weights)", file->path);
    }
    const vta_status status = vtac_darknet_parse(file, bytes, size, options, out, diag);
    free(bytes);
    return status;
}
