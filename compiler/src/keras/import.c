/* SPDX-License-Identifier: Apache-2.0
 *
 * Keras models: .h5 files and .keras archives. The configuration is a tree of layers, each with its calls;
 * the weights lie in HDF5, by layer.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../import/options.h"
#include "../import/zip.h"
#include "keras.h"
#include "vta/fail.h"

enum { MAX_LAYERS = 1 << 14, MAX_PATH = 1024, MAX_CALLS = 64, MAX_WORK = 1 << 16 };

/* A layer of a model, and what its calls made. */
typedef struct keras_layer {
    const char *class, *name;
    char group[256]; /* of its weights in a .keras file */
    const cJSON *node, *config;
    vtac_keras_value out[MAX_CALLS];
    const vtac_keras_value *more[MAX_CALLS]; /* outputs behind the first */
    uint32_t more_count[MAX_CALLS];
    uint32_t calls;
    bool is_input;
    char operation[80]; /* a function's name, "": it is a layer */
} keras_layer;

/* One model, nested or not. */
typedef struct keras_model {
    bool sequential; /* each layer has the result of the one before */
    keras_layer *layers;
    uint32_t count;
    const char *weights;        /* where its layers' weights lie: a group */
    const char *nested;         /* h5: the layer of the outermost model that it is in; NULL: it is that */
    const vtac_keras_value *in; /* what a nested model is called with */
    uint32_t in_count;
} keras_model;

static const cJSON *member_of(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNull(item) ? NULL : item;
}

static const char *text_of(const cJSON *item)
{
    return cJSON_IsString(item) ? item->valuestring : "";
}

/* ---- the list of layers */

void vtac_keras_snake_case(const char *class, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; class[i] != '\0' && used + 2 < size; i++) {
        const bool upper = isupper((unsigned char)class[i]) != 0;
        const bool word = upper && i > 0 && islower((unsigned char)class[i + 1]);
        const bool after = upper && i > 0 && islower((unsigned char)class[i - 1]);
        if (word || after) {
            out[used++] = '_';
        }
        out[used++] = (char)tolower((unsigned char)class[i]);
    }
    out[used] = '\0';
}

static void name_group(keras_model *m, uint32_t i)
{
    char base[200];
    uint32_t before = 0;
    vtac_keras_snake_case(m->layers[i].class, base, sizeof base);
    for (uint32_t k = 0; k < i; k++) {
        before += strcmp(m->layers[k].class, m->layers[i].class) == 0;
    }
    if (before == 0) {
        (void)snprintf(m->layers[i].group, sizeof m->layers[i].group, "%s", base);
    } else {
        (void)snprintf(m->layers[i].group, sizeof m->layers[i].group, "%s_%u", base, before);
    }
}

static vta_status list_layers(vtac_keras *k, const cJSON *config, keras_model *m, vta_diag *diag)
{
    const cJSON *list = cJSON_IsArray(config) ? config : member_of(config, "layers");
    const int count = cJSON_GetArraySize(list);
    if (!cJSON_IsArray(list) || count < 1 || count > MAX_LAYERS) {
        return vta_fail(diag, VTA_INVALID, "its configuration lists no layers, or more than %d", MAX_LAYERS);
    }
    m->layers = vta_arena_array(&k->maker.graph->arena, (size_t)count, sizeof *m->layers);
    if (m->layers == NULL) {
        return vta_no_memory(diag);
    }
    memset(m->layers, 0, (size_t)count * sizeof *m->layers);
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        keras_layer *l = &m->layers[m->count];
        l->node = item;
        l->config = member_of(item, "config");
        l->class = vtac_keras_bare_class(text_of(member_of(item, "class_name")));
        const cJSON *own =
            member_of(item, "name"); /* TensorFlowOpLayer: with a prefix that the configuration has not */
        l->name = text_of(cJSON_IsString(own) ? own : member_of(l->config, "name"));
        l->is_input = strcmp(l->class, "InputLayer") == 0;
        (void)vtac_keras_operation_name(item, l->class, l->operation, sizeof l->operation);
        name_group(m, m->count++);
    }
    return VTA_OK;
}

static bool is_model_class(const char *class)
{
    return strcmp(class, "Functional") == 0 || strcmp(class, "Sequential") == 0 ||
           strcmp(class, "Model") == 0;
}

static bool is_model(const keras_layer *l)
{
    return is_model_class(l->class);
}

/* A layer around another that is called as that one is; NULL: it is none. Spectral normalization has been
 * done when weights were stored. */
static const cJSON *wrapped_layer(const char *class, const cJSON *config)
{
    const bool is_wrapper =
        strcmp(class, "TimeDistributed") == 0 || strcmp(class, "SpectralNormalization") == 0;
    return is_wrapper ? member_of(config, "layer") : NULL;
}

static vta_status check_layers(const keras_model *m, vta_diag *diag)
{
    char list[600] = "";
    size_t used = 0;
    const char *why = NULL;
    for (uint32_t i = 0; i < m->count && used < sizeof list - 120; i++) {
        const keras_layer *l = &m->layers[i];
        if (!is_model(l) && l->operation[0] == '\0' && wrapped_layer(l->class, l->config) == NULL &&
            vtac_keras_layer_find(l->class) == NULL) {
            used += (size_t)snprintf(list + used, sizeof list - used, "%s'%.40s' (%.40s)",
                                     used == 0 ? "" : ", ", l->name, l->class);
            why = why == NULL ? vtac_keras_why_not(l->class) : why;
        }
    }
    return used == 0 ? VTA_OK
                     : vta_fail(diag, VTA_UNSUPPORTED, "layers that are not supported: %s%s%s", list,
                                why == NULL ? "" : "; ", why == NULL ? "" : why);
}

/* ---- weights */

static vta_status add_weight(vtac_keras *k, const char *path, vta_diag *diag)
{
    if (k->weight_count == KERAS_MAX_WEIGHTS) {
        return vta_fail(diag, VTA_UNSUPPORTED, "a layer of more than %d weights", KERAS_MAX_WEIGHTS);
    }
    VTA_TRY(
        k->store->calls->floats(k->store, path, &k->maker.graph->arena, &k->weights[k->weight_count], diag));
    k->weight_count++;
    return VTA_OK;
}

/* True if one of the parts of a weight's path is the layer's name. */
static bool names_layer(const char *path, const char *name, size_t length)
{
    for (const char *at = path; at != NULL; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, name, length) == 0 && at[length] == '/') {
            return true;
        }
    }
    return false;
}

/* Takes the weights of a list that are the layer's; `count`: the length of the list. */
static vta_status weights_of_list(vtac_keras *k, const keras_model *m, const keras_layer *l,
                                  const char *group, const char *list, size_t *count, vta_diag *diag)
{
    char path[2 * MAX_PATH];
    const char *const *names;
    const size_t length = strlen(l->name);
    VTA_TRY(k->store->calls->texts(k->store, group, list, &k->maker.graph->arena, &names, count, diag));
    for (size_t i = 0; i < *count; i++) {
        const bool own = m->nested == NULL || names_layer(names[i], l->name, length);
        if (own) {
            (void)snprintf(path, sizeof path, "%s/%.900s", group, names[i]);
            VTA_TRY(add_weight(k, path, diag));
        }
    }
    return VTA_OK;
}

/* .h5: a layer's group tells the names of its weights; those of a nested model's layers have theirs in them.
 * Where they are many, there are several lists: weight_names0, weight_names1, … */
static vta_status weights_by_name(vtac_keras *k, const keras_model *m, const keras_layer *l, vta_diag *diag)
{
    char group[MAX_PATH];
    char list[32] = "weight_names";
    size_t count = 0;
    (void)snprintf(group, sizeof group, "%s/%.400s", m->weights, m->nested != NULL ? m->nested : l->name);
    if (!k->store->calls->has(k->store, group)) {
        return VTA_OK; /* a layer that needs some will say so */
    }
    VTA_TRY(weights_of_list(k, m, l, group, list, &count, diag));
    for (unsigned part = 0; part == 0 || count > 0; part++) {
        (void)snprintf(list, sizeof list, "weight_names%u", part);
        VTA_TRY(weights_of_list(k, m, l, group, list, &count, diag));
    }
    return VTA_OK;
}

static vta_status weights_in(vtac_keras *k, const char *group, const char *part, vta_diag *diag)
{
    for (uint32_t i = 0; i < KERAS_MAX_WEIGHTS; i++) {
        char path[2 * MAX_PATH];
        (void)snprintf(path, sizeof path, "%s/%s%u", group, part, i);
        if (!k->store->calls->has(k->store, path)) {
            break;
        }
        VTA_TRY(add_weight(k, path, diag));
    }
    return VTA_OK;
}

/* .keras: the group of a layer, by its class and number, or by its name. */
static bool group_of(vtac_keras *k, const keras_model *m, const keras_layer *l, char *out, size_t size)
{
    static const char *const folders[] = {"layers", "_layer_checkpoint_dependencies"};
    for (int i = 0; i < 4; i++) {
        (void)snprintf(out, size, "%s/%s/%.400s", m->weights, folders[i % 2], i < 2 ? l->group : l->name);
        if (k->store->calls->has(k->store, out)) {
            return true;
        }
    }
    return false;
}

/* Cells that lie in a list have groups by class and number. */
static vta_status weights_of_cells(vtac_keras *k, const char *group, const cJSON *config, vta_diag *diag)
{
    const cJSON *cells = member_of(member_of(member_of(config, "cell"), "config"), "cells");
    const cJSON *cell;
    cJSON_ArrayForEach(cell, cells)
    {
        char name[80];
        char part[128];
        unsigned before = 0;
        const char *class = vtac_keras_bare_class(text_of(member_of(cell, "class_name")));
        for (const cJSON *other = cells->child; other != cell; other = other->next) {
            before += strcmp(vtac_keras_bare_class(text_of(member_of(other, "class_name"))), class) == 0;
        }
        vtac_keras_snake_case(class, name, sizeof name);
        (void)snprintf(part, sizeof part, before == 0 ? "cell/cells/%s/vars/" : "cell/cells/%s_%u/vars/",
                       name, before);
        VTA_TRY(weights_in(k, group, part, diag));
    }
    return VTA_OK;
}

static vta_status weights_of(vtac_keras *k, const keras_model *m, const keras_layer *l, bool zipped,
                             vta_diag *diag)
{
    static const char *const parts[] = {"vars/",
                                        "cell/vars/",
                                        "forward_layer/cell/vars/",
                                        "backward_layer/cell/vars/",
                                        "layer/vars/",
                                        "query_dense/vars/",
                                        "_query_dense/vars/",
                                        "key_dense/vars/",
                                        "_key_dense/vars/",
                                        "value_dense/vars/",
                                        "_value_dense/vars/",
                                        "output_dense/vars/",
                                        "_output_dense/vars/"};
    char group[MAX_PATH];
    k->weight_count = 0;
    if (!zipped) {
        return weights_by_name(k, m, l, diag);
    }
    if (!group_of(k, m, l, group, sizeof group)) {
        return VTA_OK;
    }
    if (strcmp(l->class, "SpectralNormalization") == 0) { /* its own vector is for training */
        return weights_in(k, group, "layer/vars/", diag);
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        VTA_TRY(weights_in(k, group, parts[i], diag));
    }
    return weights_of_cells(k, group, l->config, diag);
}

/* ---- calls */

/* A tensor: a layer, which of its calls, which of its outputs. */
static vta_status find_tensor(const keras_model *m, const char *name, const cJSON *call, const cJSON *output,
                              vtac_keras_value *out, vta_diag *diag)
{
    for (uint32_t i = 0; i < m->count; i++) {
        const keras_layer *l = &m->layers[i];
        const double number = cJSON_IsNumber(call) ? call->valuedouble : 0.0;
        if (strcmp(l->name, name) != 0) {
            continue;
        }
        /* Calls outside of the model count, too: the only one here is the one that is meant. */
        const uint32_t which = l->calls == 1                         ? 0
                               : number >= 0.0 && number < MAX_CALLS ? (uint32_t)number
                                                                     : MAX_CALLS;
        const double place = cJSON_IsNumber(output) ? output->valuedouble : 0.0;
        if (which < l->calls && place >= 0.0 && place <= (double)l->more_count[which]) {
            *out = place < 1.0 ? l->out[which] : l->more[which][(uint32_t)place - 1];
            return VTA_OK;
        }
    }
    return vta_fail(diag, VTA_INVALID, "its input '%.80s' is made by no earlier layer", name);
}

static void begin_call(vtac_keras *k)
{
    k->in_count = k->operand_count = 0;
    k->kwargs = k->rest = NULL;
}

static void add_operand(vtac_keras *k, vtac_keras_operand operand)
{
    if (k->operand_count < KERAS_MAX_INPUTS) {
        k->operands[k->operand_count++] = operand;
    }
}

static void add_constant(vtac_keras *k, const cJSON *item)
{
    add_operand(k, cJSON_IsNumber(item) ? (vtac_keras_operand){.number = item->valuedouble}
                                        : (vtac_keras_operand){.list = item});
}

/* An array that was written down among the arguments. */
static const cJSON *written_array(const cJSON *item)
{
    const char *class = text_of(member_of(item, "class_name"));
    const bool array = strcmp(class, "__numpy__") == 0 || strcmp(class, "__tensor__") == 0;
    return array ? member_of(member_of(item, "config"), "value") : NULL;
}

static vta_status collect_named(vtac_keras *k, const keras_model *m, const cJSON *kwargs, uint32_t depth,
                                vta_diag *diag);

/* The tensors in the arguments of a call, in their order. */
static vta_status collect_tensors(vtac_keras *k, const keras_model *m, const cJSON *item, uint32_t depth,
                                  vta_diag *diag)
{
    const cJSON *history = member_of(member_of(item, "config"), "keras_history");
    const bool pair = cJSON_IsArray(item) && cJSON_GetArraySize(item) >= 3 &&
                      cJSON_IsString(cJSON_GetArrayItem(item, 0)) &&
                      cJSON_IsNumber(cJSON_GetArrayItem(item, 1));
    const cJSON *tensor = history != NULL ? history : pair ? item : NULL;
    if (pair && strcmp(text_of(cJSON_GetArrayItem(item, 0)), "_CONSTANT_VALUE") == 0) {
        add_constant(k, cJSON_GetArrayItem(item, 2));
        return collect_named(k, m, cJSON_GetArrayItem(item, 3), depth, diag);
    }
    if (tensor != NULL) {
        if (k->in_count == KERAS_MAX_INPUTS) {
            return vta_fail(diag, VTA_UNSUPPORTED, "more than %d inputs", KERAS_MAX_INPUTS);
        }
        VTA_TRY(find_tensor(m, text_of(cJSON_GetArrayItem(tensor, 0)), cJSON_GetArrayItem(tensor, 1),
                            cJSON_GetArrayItem(tensor, 2), &k->in[k->in_count], diag));
        add_operand(k, (vtac_keras_operand){.is_tensor = true, .in = k->in_count});
        k->in_count++;
        return pair ? collect_named(k, m, cJSON_GetArrayItem(tensor, 3), depth, diag) : VTA_OK;
    }
    const cJSON *array =
        cJSON_IsNumber(item) || (depth > 0 && vtac_keras_is_numbers(item)) ? item : written_array(item);
    if (array != NULL) {
        add_constant(k, array);
        return VTA_OK;
    }
    if (cJSON_IsArray(item) && depth < 8) {
        const cJSON *one;
        cJSON_ArrayForEach(one, item)
        {
            VTA_TRY(collect_tensors(k, m, one, depth + 1, diag));
        }
    }
    const cJSON *args = member_of(item, "args");
    if (args == NULL && cJSON_IsObject(item)) {
        k->rest = item;
    }
    if (args == NULL || depth >= 8) {
        return VTA_OK;
    }
    VTA_TRY(collect_tensors(k, m, args, depth + 1, diag));
    return collect_named(k, m, member_of(item, "kwargs"), depth, diag);
}

/* Tensors and numbers among the arguments with names that stand for operands. */
static vta_status collect_named(vtac_keras *k, const keras_model *m, const cJSON *kwargs, uint32_t depth,
                                vta_diag *diag)
{
    static const char *const names[] = {"y", "b", "other", "x2", "value", "key", "initial_state"};
    if (!cJSON_IsObject(kwargs) || depth >= 8) {
        return VTA_OK;
    }
    k->kwargs = kwargs;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const cJSON *item = member_of(kwargs, names[i]);
        if (item != NULL && !cJSON_IsString(item)) {
            VTA_TRY(collect_tensors(k, m, item, depth + 1, diag));
        }
    }
    return VTA_OK;
}

static vta_status import_model(vtac_keras *k, const cJSON *config, keras_model *m, bool zipped,
                               vtac_keras_value *out, uint32_t *out_count, vta_diag *diag);

static vta_status import_nested(vtac_keras *k, const keras_model *m, keras_layer *l, bool zipped,
                                vtac_keras_value *out, vta_diag *diag)
{
    char group[MAX_PATH];
    vtac_keras_value in[KERAS_MAX_INPUTS];
    vtac_keras_value results[KERAS_MAX_INPUTS];
    uint32_t count = 0;
    const bool each_step = strcmp(l->class, "TimeDistributed") == 0;
    const cJSON *config = each_step ? member_of(member_of(l->config, "layer"), "config") : l->config;
    const char *class =
        each_step ? text_of(member_of(member_of(l->config, "layer"), "class_name")) : l->class;
    memcpy(in, k->in, sizeof in);
    keras_model inner = {.weights = m->weights,
                         .nested = m->nested != NULL ? m->nested : l->name,
                         .sequential = strcmp(class, "Sequential") == 0,
                         .in = in,
                         .in_count = k->in_count};
    if (zipped) {
        inner.weights = group_of(k, m, l, group, sizeof group - 6) ? group : "/none";
        if (each_step && inner.weights == group) {
            memcpy(group + strlen(group), "/layer", sizeof "/layer");
        }
    }
    if (++k->depth > KERAS_MAX_DEPTH) {
        return vta_fail(diag, VTA_RANGE, "models nest deeper than %d", KERAS_MAX_DEPTH);
    }
    VTA_TRY(import_model(k, config, &inner, zipped, results, &count, diag));
    k->depth--;
    if (count > 1 + KERAS_MAX_MORE) {
        return vta_fail(diag, VTA_UNSUPPORTED, "a nested model of %u outputs", count);
    }
    *out = results[0];
    k->more_count = count - 1;
    memcpy(k->more, results + 1, k->more_count * sizeof *results);
    return VTA_OK;
}

/* Adds a call of a layer; its outputs follow those of the calls before. */
static vta_status add_call(vtac_keras *k, keras_layer *l, vta_diag *diag)
{
    vtac_keras_value *more = vta_arena_array(&k->maker.graph->arena, k->more_count, sizeof *more);
    if (more == NULL) {
        return vta_no_memory(diag);
    }
    memcpy(more, k->more, k->more_count * sizeof *more);
    l->more[l->calls] = more;
    l->more_count[l->calls] = k->more_count;
    l->calls++;
    return VTA_OK;
}

/* A layer at each step, or a model (kind is NULL): steps and batch become one axis, and come apart again. */
static vtac_keras_value at_each_step(vtac_keras *k, const keras_model *m, keras_layer *l,
                                     const vtac_keras_layer *kind, bool zipped, vta_diag *diag)
{
    vtac_import_builder *b = &k->maker;
    const vtac_id x = vtac_keras_plain(k, &k->in[0]);
    const vtac_type type = vtac_made_type(b, x);
    if (b->status != VTA_OK || type.rank < 3) {
        vtac_make_fail(b, VTA_INVALID, "the input has %u axes, and needs 3 or more", type.rank);
        return (vtac_keras_value){0};
    }
    int64_t dims[VTAC_MAX_RANK] = {type.dim[0] * type.dim[1]};
    memcpy(dims + 1, type.dim + 2, (type.rank - 2) * sizeof *dims);
    k->in[0] = (vtac_keras_value){.plain = vtac_make_reshape(b, x, dims, type.rank - 1)};
    vtac_keras_value y = {0};
    if (kind != NULL) {
        y = kind->make(k, kind->how);
    } else {
        k->in_count = 1;
        const vta_status status = import_nested(k, m, l, zipped, &y, diag);
        b->status = b->status == VTA_OK ? status : b->status;
        if (b->status == VTA_OK && k->more_count > 0) {
            vtac_make_refuse(&k->maker, "a model of several outputs at each step");
        }
    }
    const vtac_id made = b->status == VTA_OK ? vtac_keras_plain(k, &y) : 0;
    const vtac_type inner = vtac_made_type(b, made);
    if (b->status != VTA_OK || inner.rank < 1 || inner.rank >= VTAC_MAX_RANK || inner.dim[0] != dims[0]) {
        vtac_make_fail(b, VTA_UNSUPPORTED, "a layer at each step that mixes the steps");
        return (vtac_keras_value){0};
    }
    dims[0] = type.dim[0];
    dims[1] = type.dim[1];
    memcpy(dims + 2, inner.dim + 1, (inner.rank - 1) * sizeof *dims);
    return (vtac_keras_value){.plain = vtac_make_reshape(b, made, dims, inner.rank + 1)};
}

/* The layer on the inputs that are set. */
static vta_status call_layer(vtac_keras *k, const keras_model *m, keras_layer *l, bool zipped, vta_diag *diag)
{
    if (l->calls == MAX_CALLS) {
        return vta_fail(diag, VTA_UNSUPPORTED, "more than %d calls of one layer", MAX_CALLS);
    }
    vtac_keras_value *out = &l->out[l->calls];
    if (k->in_count == 0) {
        return vta_fail(diag, VTA_INVALID, "it is called without inputs");
    }
    k->more_count = 0;
    vtac_keras_value given[KERAS_MAX_INPUTS];
    const uint32_t given_count = k->in_count;
    memcpy(given, k->in, sizeof given);
    if (is_model(l)) {
        VTA_TRY(import_nested(k, m, l, zipped, out, diag));
        return add_call(k, l, diag);
    }
    const char *class = l->class;
    const cJSON *config = l->config;
    const bool each_step = strcmp(class, "TimeDistributed") == 0;
    const cJSON *inner = wrapped_layer(class, config);
    if (inner != NULL) {
        class = vtac_keras_bare_class(text_of(member_of(inner, "class_name")));
        config = member_of(inner, "config");
        if (vtac_keras_layer_find(class) == NULL && !(each_step && is_model_class(class))) {
            return vta_fail(diag, VTA_UNSUPPORTED, "a layer '%.40s' in it", class);
        }
    }
    const vtac_keras_layer operation = {.make = vtac_keras_make_operation, .how = l->operation};
    const vtac_keras_layer *kind = l->operation[0] != '\0' ? &operation : vtac_keras_layer_find(class);
    k->config = config;
    VTA_TRY(weights_of(k, m, l, zipped, diag));
    vtac_keras_check_quantization(k, class);
    vtac_keras_old_weights(k, class);
    *out = each_step ? at_each_step(k, m, l, kind, zipped, diag) : kind->make(k, kind->how);
    VTA_TRY(add_call(k, l, diag));
    if (out->mask == 0 && l->operation[0] == '\0' && k->maker.status == VTA_OK) {
        k->config = l->config;
        out->mask = vtac_keras_mask_after(k, l->class, given, given_count);
    }
    const vtac_id id = out->plain != 0 ? out->plain : out->planes;
    vtac_graph *g = k->maker.graph;
    if (k->maker.status == VTA_OK && g->values[id].node != 0 && g->values[id].nameless) {
        return vtac_rename_value(g, id, l->name, diag);
    }
    return k->maker.status;
}

/* ---- inputs */

/* `built`: the shape that the model was built with, where the layer has none. */
static vta_status add_input(vtac_keras *k, const cJSON *config, const char *name, const cJSON *built,
                            vtac_keras_value *out, vta_diag *diag)
{
    const cJSON *shape = member_of(config, "batch_input_shape");
    shape = shape == NULL ? member_of(config, "batch_shape") : shape;
    shape = shape == NULL ? built : shape;
    const int rank = cJSON_GetArraySize(shape);
    const char *dtype = text_of(member_of(config, "dtype"));
    vtac_type type = {.dtype = strcmp(dtype, "int32") == 0   ? VTAC_I32
                               : strcmp(dtype, "int64") == 0 ? VTAC_I64
                               : strcmp(dtype, "uint8") == 0 ? VTAC_U8
                                                             : VTAC_F32,
                      .rank = (uint32_t)rank};
    const vtac_shape_option *given = NULL;
    for (uint32_t i = 0; k->options != NULL && i < k->options->shape_count; i++) {
        given = strcmp(k->options->shapes[i].name, name) == 0 ? &k->options->shapes[i] : given;
    }
    if (!cJSON_IsArray(shape) || rank < 1 || rank > VTAC_MAX_RANK ||
        (given != NULL && given->rank != (uint32_t)rank)) {
        return vta_fail(diag, VTA_INVALID,
                        "input '%.80s' has no shape of 1 to %d axes, or another than is given", name,
                        VTAC_MAX_RANK);
    }
    for (int i = 0; i < rank; i++) {
        const cJSON *dim = cJSON_GetArrayItem(shape, i);
        const bool open = !cJSON_IsNumber(dim);
        type.dim[i] = given != NULL            ? given->dim[i]
                      : open                   ? 1
                      : dim->valuedouble < 1e9 ? (int64_t)dim->valuedouble
                                               : -1;
        if (open && given == NULL && i > 0) {
            return vta_fail(diag, VTA_INVALID,
                            "input '%.80s': axis %d has no size; give it with --shape %.80s=...", name, i,
                            name);
        }
        if (type.dim[i] < 0) {
            return vta_fail(diag, VTA_RANGE, "input '%.80s': axis %d is too large or below 0", name, i);
        }
        if (open && given == NULL) {
            vtac_import_note(k->options, "input '%.80s': batch dimension taken as 1", name);
        }
    }
    if (vtac_type_elements(&type) < 0) {
        return vta_fail(diag, VTA_RANGE, "input '%.80s' is too large", name);
    }
    return vtac_add_input(k->maker.graph, name, &type, &out->plain, diag);
}

/* ---- models */

static vta_status in_layer(vta_diag *diag, vta_status status, const keras_layer *l)
{
    return status == VTA_OK ? VTA_OK : vta_context(diag, "layer '%.80s' (%.40s)", l->name, l->class);
}

/* Input shape with which a sequence without an input layer was built. */
static const cJSON *built_shape(const cJSON *config, const keras_layer *first)
{
    const cJSON *shape = member_of(config, "build_input_shape");
    return shape != NULL ? shape : member_of(member_of(first->node, "build_config"), "input_shape");
}

/* The configuration that has the shape of a sequence's input: the first layer's, in models within models. */
static const cJSON *innermost_first(const cJSON *config)
{
    for (uint32_t depth = 0; depth < KERAS_MAX_DEPTH; depth++) {
        const cJSON *first = cJSON_GetArrayItem(member_of(config, "layers"), 0);
        if (first == NULL || member_of(config, "batch_input_shape") != NULL) {
            break;
        }
        config = member_of(first, "config");
    }
    return config;
}

static vta_status import_sequence(vtac_keras *k, const cJSON *config, keras_model *m, bool zipped,
                                  vtac_keras_value *out, vta_diag *diag)
{
    vtac_keras_value v = {0};
    if (m->in != NULL) {
        v = m->in[0];
    }
    for (uint32_t i = 0; i < m->count; i++) {
        keras_layer *l = &m->layers[i];
        if (i == 0 && m->in == NULL) {
            VTA_TRY(add_input(k, innermost_first(l->config), l->is_input ? l->name : "input",
                              built_shape(config, l), &v, diag));
        }
        if (l->is_input) {
            continue;
        }
        k->in[0] = v;
        k->in_count = 1;
        k->maker.name = l->name;
        k->maker.origin = i;
        VTA_TRY(in_layer(diag, call_layer(k, m, l, zipped, diag), l));
        v = l->out[l->calls - 1];
    }
    *out = v;
    return VTA_OK;
}

/* Number of a layer among the model's inputs, by its configuration; `otherwise` where that does not say. */
static uint32_t input_number(const cJSON *config, const char *name, uint32_t otherwise)
{
    const cJSON *list = member_of(config, "input_layers");
    uint32_t number = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsArray(item) && strcmp(text_of(cJSON_GetArrayItem(item, 0)), name) == 0) {
            return number;
        }
        number++;
    }
    return otherwise;
}

static vta_status import_layer(vtac_keras *k, keras_model *m, keras_layer *l, bool zipped, uint32_t *inputs,
                               const cJSON *model_config, vta_diag *diag)
{
    if (l->is_input) {
        if (m->in == NULL) {
            VTA_TRY(add_input(k, l->config, l->name, NULL, &l->out[0], diag));
        } else if (*inputs >= m->in_count) {
            return vta_fail(diag, VTA_INVALID, "it is called with %u inputs", m->in_count);
        } else {
            const uint32_t number = input_number(model_config, l->name, *inputs);
            l->out[0] = m->in[number < m->in_count ? number : *inputs];
        }
        ++*inputs;
        l->calls = 1;
        return VTA_OK;
    }
    const cJSON *call;
    cJSON_ArrayForEach(call, member_of(l->node, "inbound_nodes"))
    {
        begin_call(k);
        VTA_TRY(collect_tensors(k, m, call, 0, diag));
        VTA_TRY(call_layer(k, m, l, zipped, diag));
    }
    return VTA_OK;
}

static vta_status import_graph(vtac_keras *k, const cJSON *config, keras_model *m, bool zipped,
                               vtac_keras_value *out, uint32_t *out_count, vta_diag *diag)
{
    uint32_t inputs = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        k->maker.name = m->layers[i].name;
        k->maker.origin = i;
        VTA_TRY(
            in_layer(diag, import_layer(k, m, &m->layers[i], zipped, &inputs, config, diag), &m->layers[i]));
    }
    begin_call(k);
    VTA_TRY(collect_tensors(k, m, member_of(config, "output_layers"), 0, diag));
    memcpy(out, k->in, k->in_count * sizeof *out);
    *out_count = k->in_count;
    return k->in_count > 0 ? VTA_OK : vta_fail(diag, VTA_INVALID, "a model without outputs");
}

static vta_status import_model(vtac_keras *k, const cJSON *config, keras_model *m, bool zipped,
                               vtac_keras_value *out, uint32_t *out_count, vta_diag *diag)
{
    VTA_TRY(list_layers(k, config, m, diag));
    VTA_TRY(check_layers(m, diag));
    k->work += m->count + 1;
    if (k->work > MAX_WORK) { /* models within models, each called many times */
        return vta_fail(diag, VTA_RANGE, "models that call each other come to more than %d layers", MAX_WORK);
    }
    if (!m->sequential) {
        return import_graph(k, config, m, zipped, out, out_count, diag);
    }
    *out_count = 1;
    return import_sequence(k, config, m, zipped, out, diag);
}

static vta_status add_outputs(vtac_keras *k, vtac_keras_value *out, uint32_t count, vta_diag *diag)
{
    vtac_graph *g = k->maker.graph;
    for (uint32_t i = 0; i < count; i++) {
        const vtac_id made = out[i].plain != 0 ? out[i].plain : out[i].planes;
        const char *name = g->values[made].name;
        vtac_id id = vtac_keras_plain(k, &out[i]);
        if (k->maker.status == VTA_OK && (g->values[id].node == 0 || vtac_is_output(g, id))) {
            id = vtac_make1(&k->maker, VTAC_OP_IDENTITY, id);
        }
        VTA_TRY(k->maker.status);
        if (id != made && g->values[made].node != 0) {
            VTA_TRY(vtac_rename_value(g, id, name, diag));
        }
        VTA_TRY(vtac_add_output(g, id, diag));
    }
    return vtac_graph_sort(g, diag);
}

/* ---- files */

static vta_status import_config(vtac_keras *k, const char *json, const char *weights, bool zipped,
                                vta_diag *diag)
{
    vtac_keras_value out[KERAS_MAX_INPUTS];
    uint32_t count = 0;
    cJSON *whole = cJSON_Parse(json);
    vtac_keras_modernize(whole, 0);
    const char *class = text_of(member_of(whole, "class_name"));
    const bool sequential = strcmp(class, "Sequential") == 0;
    keras_model m = {.weights = weights, .sequential = sequential};
    vta_status status = VTA_OK;
    VTA_TRY_OUT(whole != NULL ? VTA_OK : vta_fail(diag, VTA_SYNTAX, "its configuration is no JSON"));
    VTA_TRY_OUT(sequential || strcmp(class, "Functional") == 0 || strcmp(class, "Model") == 0
                    ? import_model(k, member_of(whole, "config"), &m, zipped, out, &count, diag)
                    : vta_fail(diag, VTA_UNSUPPORTED,
                               "a model of class '%.60s'; functional and sequential ones can be read",
                               class));
    VTA_TRY_OUT(add_outputs(k, out, count, diag));
out:
    cJSON_Delete(whole);
    return status;
}

static vta_status load_store(vtac_keras *k, const uint8_t *bytes, size_t size, const char *json,
                             vta_diag *diag)
{
    const char *config = json;
    const char *version = NULL;
    vta_arena *arena = &k->maker.graph->arena;
    VTA_TRY(vtac_keras_store_open(bytes, size, &k->store, diag));
    vta_status status = VTA_OK;
    if (json == NULL) {
        status = k->store->calls->text(k->store, "/", "model_config", arena, &config, diag);
        status = status == VTA_OK
                     ? k->store->calls->text(k->store, "/", "keras_version", arena, &version, diag)
                     : status;
        k->version3 = version != NULL && version[0] == '3';
        if (status == VTA_OK && config == NULL) {
            status = vta_fail(diag, VTA_INVALID,
                              "an HDF5 file without 'model_config': weights alone are no model");
        }
    }
    status = status == VTA_OK
                 ? import_config(k, config, json == NULL ? "/model_weights" : "", json != NULL, diag)
                 : status;
    vtac_keras_store_close(k->store);
    return status;
}

static const vtac_zip_member *find_member(const vtac_zip_member *members, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(members[i].name, name) == 0) {
            return &members[i];
        }
    }
    return NULL;
}

static vta_status load_archive(vtac_keras *k, const vtac_model_file *file, vta_diag *diag)
{
    vtac_zip_member *members;
    uint32_t count;
    vta_arena *arena = &k->maker.graph->arena;
    VTA_TRY(vtac_unzip(file->bytes, file->size, arena, &members, &count, diag));
    const vtac_zip_member *config = find_member(members, count, "config.json");
    const vtac_zip_member *weights = find_member(members, count, "model.weights.h5");
    const vtac_zip_member *about = find_member(members, count, "metadata.json");
    if (config == NULL || weights == NULL) {
        return vta_fail(diag, VTA_INVALID, "an archive, but no Keras model: it has no '%s'",
                        config == NULL ? "config.json" : "model.weights.h5");
    }
    const char *json = vta_arena_string(arena, (const char *)config->bytes, config->size);
    const char *version =
        about == NULL ? "" : vta_arena_string(arena, (const char *)about->bytes, about->size);
    if (json == NULL || version == NULL) {
        return vta_no_memory(diag);
    }
    k->version3 = strstr(version, "\"keras_version\": \"2") == NULL;
    return load_store(k, weights->bytes, weights->size, json, diag);
}

static bool is_archive(const vtac_model_file *file)
{
    return file->size >= 4 && memcmp(file->bytes, "PK\3\4", 4) == 0;
}

bool vtac_recognize_keras(const vtac_model_file *file)
{
    return is_archive(file) || (file->size >= 8 && memcmp(file->bytes, "\211HDF\r\n\032\n", 8) == 0);
}

void vtac_keras_one_line(vta_diag *diag)
{
    for (char *p = diag->text; *p != '\0'; p++) {
        if ((unsigned char)*p < ' ' || *p == 0x7f) {
            *p = '_';
        }
    }
}

vta_status vtac_keras_import(vtac_graph *graph, const vtac_import_options *options, const char *config,
                             vtac_keras_store *store, vta_diag *diag)
{
    vtac_keras *k = calloc(1, sizeof *k);
    if (k == NULL) {
        return vta_no_memory(diag);
    }
    k->options = options;
    k->store = store;
    k->maker = (vtac_import_builder){.graph = graph, .diag = diag, .name = "", .budget = VTAC_BUILDER_NODES};
    const vta_status status = import_config(k, config, "/model_weights", false, diag);
    free(k);
    return status;
}

vta_status vtac_load_keras(const vtac_model_file *file, const vtac_import_options *options, vtac_graph **out,
                           vta_diag *diag)
{
    vtac_graph *graph = vtac_graph_create("keras");
    vtac_keras *k = calloc(1, sizeof *k);
    vta_status status = graph == NULL || k == NULL ? vta_no_memory(diag) : VTA_OK;
    if (status == VTA_OK && k != NULL) {
        k->options = options;
        k->maker =
            (vtac_import_builder){.graph = graph, .diag = diag, .name = "", .budget = VTAC_BUILDER_NODES};
        status = is_archive(file) ? load_archive(k, file, diag)
                                  : load_store(k, file->bytes, file->size, NULL, diag);
    }
    free(k);
    if (status != VTA_OK) {
        vtac_keras_one_line(diag);
        vtac_graph_destroy(graph);
        (void)vta_context(diag, "%s", file->path);
        return status;
    }
    (void)vtac_remove_dead(graph);
    *out = graph;
    return VTA_OK;
}
