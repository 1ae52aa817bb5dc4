/* SPDX-License-Identifier: Apache-2.0
 *
 * SavedModels: graphs with their signatures, which name inputs and outputs, and variables beside them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import.h"
#include "vta/fail.h"

enum { META_GRAPH = 2, META_INFO = 1, GRAPH_DEF = 2, SIGNATURES = 5, TAGS = 4, MAX_SIGNATURES = 4096 };

/* An entry of a map whose values are messages. */
static vta_status read_entry(vtac_wire entry, vta_arena *arena, const char **key, vtac_wire *value,
                             vta_diag *diag)
{
    vtac_wire name;
    (void)vtac_wire_message(entry, 1, &name);
    (void)vtac_wire_message(entry, 2, value);
    return vtac_tf_copy(arena, name.at, (size_t)(name.end - name.at), key, diag);
}

/* ---- signatures */

typedef struct signature {
    const char *name;
    vtac_wire message;
} signature;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const signature *)a)->name, ((const signature *)b)->name);
}

/* True of a signature that gives a result; one that only starts the model is none. */
static bool is_callable(const signature *s)
{
    vtac_wire output;
    return strncmp(s->name, "__", 2) != 0 && vtac_wire_message(s->message, 2, &output);
}

static vta_status list_signatures(vtac_wire meta, vta_arena *arena, signature **out, uint32_t *count,
                                  vta_diag *diag)
{
    vtac_wire_field field;
    VTA_TRY(vtac_tf_room(arena, MAX_SIGNATURES, sizeof **out, out, diag));
    while (vtac_wire_next(&meta, &field)) {
        if (field.number == SIGNATURES && field.type == VTAC_WIRE_BYTES && *count < MAX_SIGNATURES) {
            signature *s = &(*out)[*count];
            VTA_TRY(read_entry(field.bytes, arena, &s->name, &s->message, diag));
            *count += is_callable(s) ? 1 : 0;
        }
    }
    qsort(*out, *count, sizeof **out, by_name);
    return *count > 0 ? VTA_OK : vta_fail(diag, VTA_INVALID, "it has no signature with an output");
}

static void list_names(const signature *all, uint32_t count, char *text, size_t size)
{
    size_t used = 0;
    for (uint32_t i = 0; i < count && used + 48 < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s'%.40s'", i == 0 ? "" : ", ", all[i].name);
    }
}

/* The one that was asked for, or else the one that servers take, or else the first by its name. */
static const signature *choose_signature(const signature *all, uint32_t count, const char *wanted)
{
    const char *name = wanted != NULL ? wanted : "serving_default";
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(all[i].name, name) == 0) {
            return &all[i];
        }
    }
    return wanted != NULL ? NULL : &all[0];
}

typedef struct end_list {
    vtac_tf_end *items;
    uint32_t count;
} end_list;

static int by_end(const void *a, const void *b)
{
    return strcmp(((const vtac_tf_end *)a)->name, ((const vtac_tf_end *)b)->name);
}

/* Inputs (1) or outputs (2), in the order of their names. */
static vta_status read_ends(vtac_wire message, uint64_t number, vta_arena *arena, end_list *out,
                            vta_diag *diag)
{
    enum { MAX_ENDS = 1024, NAME = 1, SHAPE = 3 };
    vtac_wire_field field;
    vtac_wire info;
    vtac_wire part;
    VTA_TRY(vtac_tf_room(arena, MAX_ENDS, sizeof *out->items, &out->items, diag));
    while (vtac_wire_next(&message, &field)) {
        if (field.number != number || field.type != VTAC_WIRE_BYTES) {
            continue;
        }
        if (out->count == MAX_ENDS) {
            return vta_fail(diag, VTA_RANGE, "a signature of more than %d inputs or outputs", MAX_ENDS);
        }
        vtac_tf_end *end = &out->items[out->count++];
        VTA_TRY(read_entry(field.bytes, arena, &end->name, &info, diag));
        (void)vtac_wire_message(info, NAME, &part);
        VTA_TRY(vtac_tf_copy(arena, part.at, (size_t)(part.end - part.at), &end->ref, diag));
        end->shape.rank = TF_OPEN_RANK;
        if (vtac_wire_message(info, SHAPE, &part)) {
            VTA_TRY(vtac_tf_read_shape(part, &end->shape, diag));
        }
    }
    qsort(out->items, out->count, sizeof *out->items, by_end);
    return VTA_OK;
}

static vta_status take_signature(vtac_tf *im, vtac_wire meta, vta_diag *diag)
{
    vtac_tf_graph *g = &im->graph;
    const char *wanted = im->options == NULL ? NULL : im->options->signature;
    signature *all;
    uint32_t count = 0;
    char list[320] = "";
    end_list inputs = {0};
    end_list outputs = {0};
    VTA_TRY(list_signatures(meta, g->arena, &all, &count, diag));
    list_names(all, count, list, sizeof list);
    const signature *chosen = choose_signature(all, count, wanted);
    if (chosen == NULL) {
        return vta_fail(diag, VTA_INVALID, "no signature is called '%.100s'; there are %s", wanted, list);
    }
    if (count > 1 && wanted == NULL) {
        vtac_import_note(im->options, "it has %u signatures, %s; this is '%.60s', --signature takes another",
                         count, list, chosen->name);
    }
    VTA_TRY(read_ends(chosen->message, 1, g->arena, &inputs, diag));
    VTA_TRY(read_ends(chosen->message, 2, g->arena, &outputs, diag));
    g->inputs = inputs.items;
    g->input_count = inputs.count;
    g->outputs = outputs.items;
    g->output_count = outputs.count;
    return VTA_OK;
}

/* ---- the file */

/* The graph that is tagged to be served, or else the first. */
static vtac_wire choose_graph(vtac_wire message)
{
    vtac_wire_field field;
    vtac_wire first = {NULL, NULL};
    while (vtac_wire_next(&message, &field)) {
        vtac_wire info;
        vtac_wire tag;
        if (field.number != META_GRAPH || field.type != VTAC_WIRE_BYTES) {
            continue;
        }
        first = first.at == NULL ? field.bytes : first;
        if (vtac_wire_message(field.bytes, META_INFO, &info) && vtac_wire_message(info, TAGS, &tag) &&
            tag.end - tag.at == 5 && memcmp(tag.at, "serve", 5) == 0) {
            return field.bytes;
        }
    }
    return first;
}

/* A graph without variables needs no files of them. */
static vta_status open_variables(vtac_tf_graph *g, const char *folder, vta_diag *diag)
{
    char path[4352];
    const bool fits =
        folder != NULL && snprintf(path, sizeof path, "%.4200s/variables/variables.index", folder) > 0;
    return fits && access(path, F_OK) == 0 ? vtac_tf_bundle_open(folder, g->arena, &g->variables, diag)
                                           : VTA_OK;
}

/* The version of the schema, then graphs with their signatures; a model of ONNX has a text in field 2. */
bool vtac_recognize_savedmodel(const vtac_model_file *file)
{
    const vtac_wire message = {file->bytes, file->bytes + file->size};
    vtac_wire_field version;
    vtac_wire graph;
    vtac_wire nodes;
    return vtac_wire_has_only(message, META_GRAPH) && vtac_wire_find(message, 1, &version) &&
           version.type == VTAC_WIRE_VARINT && vtac_wire_message(message, META_GRAPH, &graph) &&
           vtac_wire_message(graph, GRAPH_DEF, &nodes) &&
           vtac_recognize_graphdef(
               &(vtac_model_file){.bytes = nodes.at, .size = (size_t)(nodes.end - nodes.at)});
}

vta_status vtac_tf_load_saved(vtac_tf *im, const vtac_model_file *file, vta_diag *diag)
{
    const vtac_wire meta = choose_graph((vtac_wire){file->bytes, file->bytes + file->size});
    vtac_wire graph;
    (void)vtac_wire_message(meta, GRAPH_DEF, &graph);
    VTA_TRY(vtac_tf_read_graph(&im->graph, graph, diag));
    VTA_TRY(take_signature(im, meta, diag));
    VTA_TRY(open_variables(&im->graph, file->folder, diag));
    return vtac_tf_import(im, diag);
}
