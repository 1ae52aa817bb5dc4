/* SPDX-License-Identifier: Apache-2.0
 *
 * Models of TensorFlow.js: a JSON file and, beside it, files of weights whose bytes run on from one to the
 * next. A graph-model is a GraphDef in protobuf's JSON; a layers-model is a configuration of Keras, which the
 * importer of Keras reads through a store of these weights.
 */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../import/foreign.h"
#include "../keras/keras.h"
#include "import.h"
#include "vta/fail.h"
#include "vta/inside.h"
#include "vta/str.h"

static const cJSON *member_of(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const char *text_of(const cJSON *item)
{
    return cJSON_IsString(item) ? item->valuestring : "";
}

/* 64-bit integers are texts in protobuf's JSON. */
static int64_t whole_of(const cJSON *item)
{
    if (cJSON_IsString(item)) {
        return strtoll(item->valuestring, NULL, 10);
    }
    const double value = cJSON_IsNumber(item) ? item->valuedouble : 0.0;
    return value >= 0x1p63 ? INT64_MAX : value <= -0x1p63 ? INT64_MIN : value == value ? (int64_t)value : 0;
}

static vta_status copy_text(vta_arena *arena, const cJSON *item, const char **out, vta_diag *diag)
{
    return vtac_tf_copy(arena, text_of(item), strlen(text_of(item)), out, diag);
}

static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c == '\0' ? NULL : strchr(digits, c);
    return at == NULL ? -1 : (int)(at - digits);
}

/* A text in base 64. */
static vta_status copy_bytes(vta_arena *arena, const cJSON *item, const char **out, vta_diag *diag)
{
    const char *text = text_of(item);
    char *bytes;
    size_t used = 0;
    uint32_t bits = 0;
    VTA_TRY(vtac_tf_room(arena, strlen(text) + 1, 1, &bytes, diag));
    for (size_t i = 0; digit_of(text[i]) >= 0; i++) {
        bits = bits << 6 | (uint32_t)digit_of(text[i]);
        if (i % 4 > 0) {
            bytes[used++] = (char)(bits >> (6 - 2 * (i % 4)) & 255U);
        }
    }
    return vtac_tf_copy(arena, bytes, used, out, diag);
}

/* ---- weights */

typedef struct weight {
    const char *name;
    vtac_tensor tensor;
} weight;

typedef struct json_weights {
    vta_arena *arena;
    weight *items; /* in the order of the file, until they are sorted */
    uint32_t count;
    const cJSON *topology; /* of a layers-model */
} json_weights;

typedef struct stored_as {
    vtac_dtype stored, real;
    double scale, min;
} stored_as;

static vtac_dtype dtype_of(const char *name)
{
    static const struct {
        const char *name;
        vtac_dtype dtype;
    } types[] = {{"float32", VTAC_F32}, {"float16", VTAC_F16}, {"int32", VTAC_I32}, {"uint8", VTAC_U8},
                 {"uint16", VTAC_U16},  {"bool", VTAC_BOOL},   {"int8", VTAC_I8},   {"int16", VTAC_I16}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, name) == 0) {
            return types[i].dtype;
        }
    }
    return VTAC_NO_DTYPE;
}

static stored_as how_stored(const cJSON *entry)
{
    const cJSON *quantized = member_of(entry, "quantization");
    const cJSON *scale = member_of(quantized, "scale");
    const cJSON *min = member_of(quantized, "min");
    stored_as s = {.real = dtype_of(text_of(member_of(entry, "dtype"))), .scale = 1.0};
    s.stored = quantized == NULL ? s.real : dtype_of(text_of(member_of(quantized, "dtype")));
    s.scale = cJSON_IsNumber(scale) ? scale->valuedouble : 1.0;
    s.min = cJSON_IsNumber(min) ? min->valuedouble : 0.0;
    return s;
}

/* Numbers of fewer bits as those that they stand for: q * scale + min. */
static vta_status expand(const stored_as *s, const vtac_tensor *stored, json_weights *w, vtac_tensor *out,
                         vta_diag *diag)
{
    const int64_t count = vtac_type_elements(&stored->type);
    float *floats;
    int32_t *ints;
    *out = *stored;
    out->type.dtype = s->real;
    out->bytes = (size_t)count * vtac_dtype_bytes(s->real);
    VTA_TRY(vtac_tf_room(w->arena, (size_t)count, sizeof *floats, &floats, diag));
    ints = (int32_t *)(void *)floats;
    for (int64_t i = 0; i < count; i++) {
        const double value = vtac_tensor_float(stored, i) * s->scale + s->min;
        if (s->real == VTAC_F32) {
            floats[i] = (float)value;
        } else {
            ints[i] = (int32_t)value;
        }
    }
    out->data = floats;
    return VTA_OK;
}

static vta_status read_dims(const cJSON *list, vtac_type *type, vta_diag *diag)
{
    const cJSON *item;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > VTAC_MAX_RANK) {
        return vta_fail(diag, VTA_INVALID, "no shape, or one of more than %d axes", VTAC_MAX_RANK);
    }
    cJSON_ArrayForEach(item, list)
    {
        type->dim[type->rank++] = whole_of(item);
    }
    for (uint32_t i = 0; i < type->rank; i++) {
        if (type->dim[i] < 0 || vtac_type_elements(type) < 0) {
            return vta_fail(diag, VTA_INVALID, "axis %u is %lld", i, (long long)type->dim[i]);
        }
    }
    return VTA_OK;
}

static vta_status read_weight(const cJSON *entry, const uint8_t *bytes, size_t size, size_t *at,
                              json_weights *w, vta_diag *diag)
{
    const stored_as s = how_stored(entry);
    weight *to = &w->items[w->count];
    vtac_tensor stored = {.type = {.dtype = s.stored}};
    VTA_TRY(copy_text(w->arena, member_of(entry, "name"), &to->name, diag));
    if (s.stored == VTAC_NO_DTYPE || s.real == VTAC_NO_DTYPE) {
        return vta_fail(diag, VTA_UNSUPPORTED, "weight '%.100s' has a type that is not taken: '%.40s'",
                        to->name, text_of(member_of(entry, "dtype")));
    }
    const vta_status status = read_dims(member_of(entry, "shape"), &stored.type, diag);
    VTA_TRY(status == VTA_OK ? VTA_OK : vta_context(diag, "weight '%.100s'", to->name));
    stored.bytes = (size_t)vtac_type_elements(&stored.type) * vtac_dtype_bytes(s.stored);
    if (stored.bytes > size - *at) {
        return vta_fail(diag, VTA_INVALID,
                        "weight '%.100s' has %zu bytes from byte %zu on, the files have %zu", to->name,
                        stored.bytes, *at, size);
    }
    void *copy;
    VTA_TRY(vtac_tf_room(w->arena, stored.bytes, 1, &copy, diag)); /* aligned */
    if (stored.bytes > 0) {
        memcpy(copy, bytes + *at, stored.bytes);
    }
    stored.data = copy;
    *at += stored.bytes;
    w->count++;
    to->tensor = stored;
    const bool numbers = s.real == VTAC_F32 || s.real == VTAC_I32;
    if (s.stored != s.real && !numbers) {
        return vta_fail(diag, VTA_UNSUPPORTED, "weight '%.100s' is of %s in fewer bits", to->name,
                        vtac_dtype_name(s.real));
    }
    return s.stored == s.real ? VTA_OK : expand(&s, &stored, w, &to->tensor, diag);
}

enum { MAX_SHARD_BYTES = 0x7fffffff };

/* The bytes of all files of a group. */
static vta_status read_shards(const cJSON *paths, const char *folder, vta_str *out, vta_diag *diag)
{
    const cJSON *path;
    cJSON_ArrayForEach(path, paths)
    {
        uint8_t *bytes = NULL;
        size_t size = 0;
        VTA_TRY(vta_inside_whole(folder, text_of(path), "its weights", MAX_SHARD_BYTES, &bytes, &size, diag));
        vta_str_append(out, bytes, size);
        free(bytes);
        if (out->failed) {
            return vta_no_memory(diag);
        }
    }
    return VTA_OK;
}

static vta_status read_group(const cJSON *group, const char *folder, json_weights *w, vta_diag *diag)
{
    vta_str bytes = {0};
    size_t at = 0;
    const cJSON *entry;
    vta_status status = read_shards(member_of(group, "paths"), folder, &bytes, diag);
    cJSON_ArrayForEach(entry, member_of(group, "weights"))
    {
        if (status == VTA_OK) {
            status = read_weight(entry, (const uint8_t *)bytes.text, bytes.size, &at, w, diag);
        }
    }
    vta_str_free(&bytes);
    return status;
}

static vta_status read_weights(const cJSON *model, const char *folder, json_weights *w, vta_diag *diag)
{
    const cJSON *manifest = member_of(model, "weightsManifest");
    const cJSON *group;
    size_t count = 0;
    cJSON_ArrayForEach(group, manifest)
    {
        count += (size_t)cJSON_GetArraySize(member_of(group, "weights"));
    }
    VTA_TRY(vtac_tf_room(w->arena, count, sizeof *w->items, &w->items, diag));
    if (folder == NULL && count > 0) {
        return vta_fail(diag, VTA_INVALID, "its weights lie beside it, and it came without a folder");
    }
    cJSON_ArrayForEach(group, manifest)
    {
        VTA_TRY(read_group(group, folder, w, diag));
    }
    return VTA_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const weight *)a)->name, ((const weight *)b)->name);
}

/* ---- attributes and nodes */

static vta_status read_shape(const cJSON *item, vtac_tf_shape *out, vta_diag *diag)
{
    const cJSON *dim;
    *out = (vtac_tf_shape){.rank = 0};
    if (cJSON_IsTrue(member_of(item, "unknownRank"))) {
        out->rank = TF_OPEN_RANK;
        return VTA_OK;
    }
    cJSON_ArrayForEach(dim, member_of(item, "dim"))
    {
        if (out->rank == VTAC_MAX_RANK) {
            return vta_fail(diag, VTA_UNSUPPORTED, "a shape of more than %d axes", VTAC_MAX_RANK);
        }
        out->dim[out->rank++] = whole_of(member_of(dim, "size"));
    }
    return VTA_OK;
}

/* The number of a type. TensorFlow.js computes in 32 bits whatever the graph says, and keeps its constants
 * so. */
static int64_t type_of(const cJSON *item)
{
    const int64_t number = cJSON_IsString(item) ? vtac_tf_dtype_number(item->valuestring) : whole_of(item);
    return number == vtac_tf_dtype_number("DT_DOUBLE")  ? vtac_tf_dtype_number("DT_FLOAT")
           : number == vtac_tf_dtype_number("DT_INT64") ? vtac_tf_dtype_number("DT_INT32")
                                                        : number;
}

static vta_status read_list(const cJSON *list, vta_arena *arena, vtac_tf_attr *a, vta_diag *diag)
{
    const cJSON *texts = member_of(list, "s");
    const cJSON *ints = member_of(list, "i");
    const cJSON *types = member_of(list, "type");
    const cJSON *item;
    const size_t numbers = (size_t)cJSON_GetArraySize(ints) + (size_t)cJSON_GetArraySize(types);
    VTA_TRY(vtac_tf_room(arena, (size_t)cJSON_GetArraySize(texts), sizeof *a->texts, &a->texts, diag));
    VTA_TRY(vtac_tf_room(arena, numbers, sizeof *a->list, &a->list, diag));
    cJSON_ArrayForEach(item, texts)
    {
        VTA_TRY(copy_bytes(arena, item, &a->texts[a->text_count++], diag));
    }
    cJSON_ArrayForEach(item, ints)
    {
        a->list[a->list_count++] = whole_of(item);
    }
    cJSON_ArrayForEach(item, types)
    {
        a->list[a->list_count++] = type_of(item);
    }
    return VTA_OK;
}

static vta_status read_attr(const cJSON *item, vta_arena *arena, vtac_tf_attr *a, vta_diag *diag)
{
    const cJSON *part;
    *a = (vtac_tf_attr){.text = "", .shape = {.rank = TF_OPEN_RANK}};
    VTA_TRY(vtac_tf_copy(arena, item->string, strlen(item->string), &a->name, diag));
    cJSON_ArrayForEach(part, item)
    {
        const char *kind = part->string;
        if (strcmp(kind, "s") == 0) {
            VTA_TRY(copy_bytes(arena, part, &a->text, diag));
        } else if (strcmp(kind, "func") == 0) {
            VTA_TRY(copy_text(arena, member_of(part, "name"), &a->text, diag));
        } else if (strcmp(kind, "shape") == 0) {
            VTA_TRY(read_shape(part, &a->shape, diag));
        } else if (strcmp(kind, "list") == 0) {
            VTA_TRY(read_list(part, arena, a, diag));
        } else if (strcmp(kind, "type") == 0) {
            a->number = type_of(part);
        } else {
            a->number = cJSON_IsTrue(part) ? 1 : whole_of(part);
            a->real = cJSON_IsNumber(part) ? (double)(float)part->valuedouble : 0.0; /* as protobuf has it */
        }
    }
    return VTA_OK;
}

/* A constant's contents are the weight of its name. */
static vta_status give_weight(const json_weights *w, vtac_tf_node *node, vta_diag *diag)
{
    const weight wanted = {.name = node->name};
    weight *found = w->count == 0 ? NULL : bsearch(&wanted, w->items, w->count, sizeof wanted, by_name);
    for (uint32_t i = 0; i < node->attr_count && strcmp(node->op, "Const") == 0; i++) {
        if (strcmp(node->attrs[i].name, "value") == 0 && found != NULL) {
            node->attrs[i].tensor = &found->tensor;
        } else if (strcmp(node->attrs[i].name, "value") == 0) {
            static const vtac_tensor nothing = {.type = {.dtype = VTAC_NO_DTYPE}};
            VTA_TRY(vtac_tf_room(w->arena, 1, sizeof nothing, &node->attrs[i].tensor, diag));
        }
    }
    return VTA_OK;
}

static vta_status read_node(const cJSON *item, const json_weights *w, vtac_tf_node *node, vta_diag *diag)
{
    const cJSON *inputs = member_of(item, "input");
    const cJSON *attrs = member_of(item, "attr");
    const cJSON *part;
    VTA_TRY(copy_text(w->arena, member_of(item, "name"), &node->name, diag));
    VTA_TRY(copy_text(w->arena, member_of(item, "op"), &node->op, diag));
    VTA_TRY(vtac_tf_room(w->arena, (size_t)cJSON_GetArraySize(inputs), sizeof *node->inputs, &node->inputs,
                         diag));
    VTA_TRY(
        vtac_tf_room(w->arena, (size_t)cJSON_GetArraySize(attrs), sizeof *node->attrs, &node->attrs, diag));
    cJSON_ArrayForEach(part, inputs)
    {
        if (text_of(part)[0] != '^') {
            VTA_TRY(copy_text(w->arena, part, &node->inputs[node->input_count++].text, diag));
        }
    }
    cJSON_ArrayForEach(part, attrs)
    {
        VTA_TRY(read_attr(part, w->arena, &node->attrs[node->attr_count++], diag));
    }
    return give_weight(w, node, diag);
}

static vta_status read_nodes(const cJSON *list, const json_weights *w, vtac_tf_function *f, vta_diag *diag)
{
    const cJSON *item;
    VTA_TRY(vtac_tf_room(w->arena, (size_t)cJSON_GetArraySize(list), sizeof *f->nodes, &f->nodes, diag));
    cJSON_ArrayForEach(item, list)
    {
        VTA_TRY(read_node(item, w, &f->nodes[f->node_count++], diag));
    }
    return VTA_OK;
}

static vta_status read_names(const cJSON *list, vta_arena *arena, const char ***out, uint32_t *count,
                             vta_diag *diag)
{
    const cJSON *item;
    VTA_TRY(vtac_tf_room(arena, (size_t)cJSON_GetArraySize(list), sizeof **out, out, diag));
    cJSON_ArrayForEach(item, list)
    {
        VTA_TRY(copy_text(arena, member_of(item, "name"), &(*out)[(*count)++], diag));
    }
    return VTA_OK;
}

static vta_status read_function(vtac_tf_graph *g, const cJSON *item, const json_weights *w,
                                vtac_tf_function *f, vta_diag *diag)
{
    const cJSON *signature = member_of(item, "signature");
    VTA_TRY(copy_text(w->arena, member_of(signature, "name"), &f->name, diag));
    VTA_TRY(read_names(member_of(signature, "inputArg"), w->arena, &f->args, &f->arg_count, diag));
    VTA_TRY(read_names(member_of(signature, "outputArg"), w->arena, &f->outs, &f->out_count, diag));
    VTA_TRY(vtac_tf_room(w->arena, f->out_count, sizeof *f->results, &f->results, diag));
    for (uint32_t i = 0; i < f->out_count; i++) {
        VTA_TRY(
            copy_text(w->arena, member_of(member_of(item, "ret"), f->outs[i]), &f->results[i].text, diag));
    }
    VTA_TRY(read_nodes(member_of(item, "nodeDef"), w, f, diag));
    return vtac_tf_resolve(g, f, diag);
}

static vta_status read_ends(const cJSON *map, vta_arena *arena, vtac_tf_end **out, uint32_t *count,
                            vta_diag *diag)
{
    const cJSON *item;
    VTA_TRY(vtac_tf_room(arena, (size_t)cJSON_GetArraySize(map), sizeof **out, out, diag));
    cJSON_ArrayForEach(item, map)
    {
        vtac_tf_end *end = &(*out)[(*count)++];
        VTA_TRY(vtac_tf_copy(arena, item->string, strlen(item->string), &end->name, diag));
        VTA_TRY(copy_text(arena, member_of(item, "name"), &end->ref, diag));
        VTA_TRY(read_shape(member_of(item, "tensorShape"), &end->shape, diag));
    }
    return VTA_OK;
}

static vta_status read_graph_model(vtac_tf_graph *g, const cJSON *model, json_weights *w, vta_diag *diag)
{
    const cJSON *topology = member_of(model, "modelTopology");
    const cJSON *functions = member_of(member_of(topology, "library"), "function");
    const cJSON *signature = member_of(model, "signature");
    const cJSON *item;
    if (w->count > 1) {
        qsort(w->items, w->count, sizeof *w->items, by_name);
    }
    VTA_TRY(read_nodes(member_of(topology, "node"), w, &g->main, diag));
    VTA_TRY(
        vtac_tf_room(g->arena, (size_t)cJSON_GetArraySize(functions), sizeof *g->library, &g->library, diag));
    cJSON_ArrayForEach(item, functions)
    {
        VTA_TRY(read_function(g, item, w, &g->library[g->library_count++], diag));
    }
    VTA_TRY(read_ends(member_of(signature, "inputs"), g->arena, &g->inputs, &g->input_count, diag));
    VTA_TRY(read_ends(member_of(signature, "outputs"), g->arena, &g->outputs, &g->output_count, diag));
    return vtac_tf_resolve(g, &g->main, diag);
}

/* ---- layers-models: a store for the importer of Keras */

typedef struct layer_store {
    vtac_keras_store base;
    const json_weights *weights;
    const cJSON *topology;
} layer_store;

static const char *const root = "/model_weights/";

static const layer_store *store_of(vtac_keras_store *store)
{
    return (const layer_store *)store;
}

/* The weight at the end of a path. */
static const weight *weight_at(const layer_store *s, const char *path)
{
    const weight *best = NULL;
    const size_t length = strlen(path);
    for (uint32_t i = 0; i < s->weights->count; i++) {
        const weight *w = &s->weights->items[i];
        const size_t own = strlen(w->name);
        const bool ends =
            own < length && path[length - own - 1] == '/' && strcmp(path + length - own, w->name) == 0;
        best = ends && (best == NULL || own > strlen(best->name)) ? w : best;
    }
    return best;
}

/* True where a layer of that name, somewhere in a tree, is a model of its own. */
static bool is_nested(const cJSON *item, const char *name)
{
    const char *class = text_of(member_of(item, "class_name"));
    const bool model =
        strcmp(class, "Functional") == 0 || strcmp(class, "Model") == 0 || strcmp(class, "Sequential") == 0;
    const cJSON *own = member_of(item, "name");
    const char *called = text_of(own != NULL ? own : member_of(member_of(item, "config"), "name"));
    const cJSON *part;
    if (model && strcmp(called, name) == 0) {
        return true;
    }
    cJSON_ArrayForEach(part, item)
    {
        if ((cJSON_IsObject(part) || cJSON_IsArray(part)) && is_nested(part, name)) {
            return true;
        }
    }
    return false;
}

static bool is_of(const char *name, const char *layer)
{
    const size_t length = strlen(layer);
    return strncmp(name, layer, length) == 0 && name[length] == '/';
}

/* The names of a layer's weights; of a nested model all of the file, since they do not name the model. */
static vta_status store_texts(vtac_keras_store *store, const char *path, const char *name, vta_arena *arena,
                              const char *const **out, size_t *count, vta_diag *diag)
{
    const layer_store *s = store_of(store);
    const char *layer = strncmp(path, root, strlen(root)) == 0 ? path + strlen(root) : path;
    const bool nested = is_nested(s->topology, layer);
    const char **names;
    *count = 0;
    VTA_TRY(vtac_tf_room(arena, s->weights->count, sizeof *names, &names, diag));
    for (uint32_t i = 0; i < s->weights->count && strcmp(name, "weight_names") == 0; i++) {
        if (nested || is_of(s->weights->items[i].name, layer)) {
            names[(*count)++] = s->weights->items[i].name;
        }
    }
    *out = names;
    return VTA_OK;
}

static vta_status store_text(vtac_keras_store *store, const char *path, const char *name, vta_arena *arena,
                             const char **out, vta_diag *diag)
{
    (void)store;
    (void)path;
    (void)name;
    (void)arena;
    (void)diag;
    *out = NULL;
    return VTA_OK;
}

static bool store_has(vtac_keras_store *store, const char *path)
{
    const layer_store *s = store_of(store);
    const char *layer = strncmp(path, root, strlen(root)) == 0 ? path + strlen(root) : path;
    for (uint32_t i = 0; i < s->weights->count; i++) {
        if (is_of(s->weights->items[i].name, layer)) {
            return true;
        }
    }
    return is_nested(s->topology, layer);
}

static vta_status store_floats(vtac_keras_store *store, const char *path, vta_arena *arena, vtac_tensor *out,
                               vta_diag *diag)
{
    const weight *found = weight_at(store_of(store), path);
    (void)arena;
    if (found == NULL || found->tensor.type.dtype != VTAC_F32) {
        return vta_fail(diag, VTA_INVALID, "'%.200s' is no weight of floats", path);
    }
    *out = found->tensor;
    return VTA_OK;
}

static void store_close(vtac_keras_store *store)
{
    (void)store;
}

static vta_status load_layers(const cJSON *model, const json_weights *w, const vtac_import_options *options,
                              vtac_graph *graph, vta_diag *diag)
{
    static const vtac_keras_store_calls calls = {.close = store_close,
                                                 .text = store_text,
                                                 .texts = store_texts,
                                                 .has = store_has,
                                                 .floats = store_floats};
    const cJSON *topology = member_of(model, "modelTopology");
    const cJSON *config = member_of(topology, "model_config");
    config = config == NULL ? topology : config;
    layer_store store = {.base = {&calls}, .weights = w, .topology = member_of(config, "config")};
    char *text = cJSON_PrintUnformatted(config);
    const vta_status status =
        text == NULL ? vta_no_memory(diag) : vtac_keras_import(graph, options, text, &store.base, diag);
    cJSON_free(text);
    return status;
}

/* ---- the file */

bool vtac_recognize_tfjs(const vtac_model_file *file)
{
    return vtac_json_has(file, "modelTopology", "weightsManifest");
}

static vta_status load_model(vtac_tf *im, const vtac_model_file *file, const cJSON *model, vta_diag *diag)
{
    json_weights w = {.arena = im->graph.arena};
    const cJSON *topology = member_of(model, "modelTopology");
    const bool layers = member_of(topology, "node") == NULL;
    VTA_TRY(read_weights(model, file->folder, &w, diag));
    if (layers) {
        return load_layers(model, &w, im->options, im->maker.graph, diag);
    }
    VTA_TRY(read_graph_model(&im->graph, model, &w, diag));
    return vtac_tf_import(im, diag);
}

vta_status vtac_tf_load_json(vtac_tf *im, const vtac_model_file *file, vta_diag *diag)
{
    cJSON *model = cJSON_ParseWithLength((const char *)file->bytes, file->size);
    const vta_status status = model == NULL
                                  ? vta_fail(diag, VTA_SYNTAX, "it is no JSON, or not enough memory")
                                  : load_model(im, file, model, diag);
    cJSON_Delete(model);
    return status;
}
