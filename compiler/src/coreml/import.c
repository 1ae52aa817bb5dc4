/* SPDX-License-Identifier: Apache-2.0
 *
 * CoreML: a model file (.mlmodel), alone or in a package (.mlpackage), a folder whose Manifest.json names it.
 * It holds a neural network, a list of layers, or a program of operations whose weights lie in a file beside
 * it.
 */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coreml.h"
#include "vta/fail.h"
#include "vta/inside.h"

enum { MAX_BYTES = 0x7fffffff, MAX_NAME = 512 };
enum { KIND_REGRESSOR = 303, KIND_CLASSIFIER = 403, KIND_NETWORK = 500, KIND_PROGRAM = 502 };

/* Kinds of models that are no networks. */
static const struct {
    uint64_t field;
    const char *name;
} others[] = {{200, "pipelineClassifier"},
              {201, "pipelineRegressor"},
              {202, "pipeline"},
              {300, "glmRegressor"},
              {301, "supportVectorRegressor"},
              {302, "treeEnsembleRegressor"},
              {400, "glmClassifier"},
              {401, "supportVectorClassifier"},
              {402, "treeEnsembleClassifier"},
              {501, "itemSimilarityRecommender"},
              {555, "customModel"},
              {560, "linkedModel"}};

const char *vtac_coreml_bytes_text(vtac_coreml *c, vtac_wire bytes)
{
    return vtac_layered_text(&c->net, bytes.at, (size_t)(bytes.end - bytes.at));
}

const char *vtac_coreml_text(vtac_coreml *c, vtac_wire message, uint64_t number)
{
    vtac_wire text;
    return vtac_wire_message(message, number, &text) ? vtac_coreml_bytes_text(c, text) : "";
}

vtac_wire vtac_coreml_message(vtac_wire message, uint64_t number)
{
    vtac_wire found;
    (void)vtac_wire_message(message, number, &found);
    return found;
}

vtac_type vtac_coreml_type(const vtac_coreml *c, uint32_t i)
{
    return vtac_made_type(&c->net.maker, i < c->in_count ? c->in[i] : 0);
}

void vtac_coreml_set(vtac_coreml *c, uint32_t i, vtac_id id)
{
    if (i < c->out_count) {
        vtac_layered_set(&c->net, c->outputs[i], id);
    }
}

static vta_status fail_kind(const vtac_coreml *c)
{
    vtac_wire_field f;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (vtac_wire_find(c->model, others[i].field, &f)) {
            return vta_fail(c->net.maker.diag, VTA_UNSUPPORTED,
                            "a model of CoreML that is a %s; neural networks and programs are read",
                            others[i].name);
        }
    }
    return vta_fail(c->net.maker.diag, VTA_UNSUPPORTED,
                    "a model of CoreML without a neural network and without a program, or damaged");
}

static vta_status import_model(vtac_coreml *c)
{
    static const uint64_t networks[] = {KIND_NETWORK, KIND_CLASSIFIER, KIND_REGRESSOR};
    vtac_wire found;
    vtac_wire walked = c->model;
    vtac_wire_field f;
    while (vtac_wire_next(&walked, &f)) {
    }
    if (walked.at != walked.end) {
        return vta_fail(c->net.maker.diag, VTA_INVALID, "it is cut off or damaged %lld bytes before its end",
                        (long long)(walked.end - walked.at));
    }
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++) {
        if (vtac_wire_message(c->model, networks[i], &found)) {
            return vtac_coreml_network(c, found, networks[i] == KIND_CLASSIFIER);
        }
    }
    return vtac_wire_message(c->model, KIND_PROGRAM, &found) ? vtac_coreml_program(c, found) : fail_kind(c);
}

static vta_status parse_model(const vtac_model_file *file, const vtac_import_options *options,
                              vtac_graph **out, vta_diag *diag)
{
    vtac_coreml c = {.model = {file->bytes, file->bytes + file->size}, .folder = file->folder};
    VTA_TRY(vtac_layered_begin(&c.net, "coreml", options, diag));
    const vta_status status = import_model(&c);
    free(c.weights);
    return vtac_layered_end(&c.net, status, file->path, out);
}

/* The file in the package's folder Data that is the root; *name gets its path. False: the list has none. */
static bool root_of(const vtac_model_file *file, char *name)
{
    cJSON *list = cJSON_ParseWithLength((const char *)file->bytes, file->size);
    const cJSON *root = cJSON_GetObjectItemCaseSensitive(list, "rootModelIdentifier");
    const cJSON *item =
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(list, "itemInfoEntries"),
                                         cJSON_IsString(root) ? root->valuestring : "");
    const cJSON *path = cJSON_GetObjectItemCaseSensitive(item, "path");
    const bool found =
        cJSON_IsString(path) && snprintf(name, MAX_NAME, "Data/%s", path->valuestring) < MAX_NAME;
    cJSON_Delete(list);
    return found;
}

/* A package is known by its list of files. */
static vta_status load_package(const vtac_model_file *file, const vtac_import_options *options,
                               vtac_graph **out, vta_diag *diag)
{
    char name[MAX_NAME];
    char folder[4096 + MAX_NAME];
    char path[4096 + MAX_NAME];
    uint8_t *bytes;
    size_t size;
    if (file->folder == NULL || !root_of(file, name)) {
        return vta_fail(diag, VTA_INVALID,
                        "%s: a list of a package's files without a root model, or without its "
                        "folder",
                        file->path);
    }
    VTA_TRY(vta_inside_whole(file->folder, name, "the package's model", MAX_BYTES, &bytes, &size, diag));
    (void)snprintf(path, sizeof path, "%.4095s/%s", file->folder, name);
    (void)snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    const vtac_model_file model = {path, folder, bytes, size};
    const vta_status status = parse_model(&model, options, out, diag);
    free(bytes);
    return status;
}

vta_status vtac_load_coreml(const vtac_model_file *file, const vtac_import_options *options, vtac_graph **out,
                            vta_diag *diag)
{
    const bool is_list =
        file->size > 0 && file->bytes[0] != 0x08; /* the model's first field is its version */
    return is_list ? load_package(file, options, out, diag) : parse_model(file, options, out, diag);
}
