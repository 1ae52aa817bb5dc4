/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs of torch.export: JSON that lists nodes with typed arguments, and weights beside it. Up to PyTorch
 * 2.6 the weights are archives of their own within the archive; later each tensor is a member, listed in a
 * file of JSON, or all are one archive in data/weights.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "torch.h"
#include "vta/fail.h"

typedef struct torch_program {
    vtac_torch *im;
    const cJSON *graph;
    vtac_torch_list names; /* names and values in turn */
    vtac_torch_list *weights[2];
    uint32_t weight_sources;
} torch_program;

enum { COSTLY = 4096 }; /* so many names that are searched count as a step */

static const cJSON *member_of(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNull(item) ? NULL : item;
}

static const char *text_of(const cJSON *item)
{
    return cJSON_IsString(item) ? item->valuestring : "";
}

/* A number beyond 64 bits is the last one of them: an end of INT64_MAX is a double above it. */
static int64_t whole_of(const cJSON *item)
{
    const double value = cJSON_IsNumber(item) ? item->valuedouble : 0.0;
    return value >= 0x1p63 ? INT64_MAX : value <= -0x1p63 ? INT64_MIN : value == value ? (int64_t)value : 0;
}

static cJSON *parse_member(vtac_torch *im, const char *name)
{
    const vtac_zip_member *member = vtac_torch_member(im, &im->archive, name);
    cJSON *json = member == NULL ? NULL : cJSON_ParseWithLength((const char *)member->bytes, member->size);
    if (json == NULL) {
        vtac_make_fail(&im->maker, VTA_INVALID, "'%.100s' of the archive %s", name,
                       member == NULL ? "is missing" : "is no JSON");
    }
    return json;
}

/* ---- weights */

/* The dictionary that a member pickles, which is an archive within the archive. */
static void load_weights(torch_program *p, const char *name)
{
    vtac_torch *im = p->im;
    const vtac_zip_member *member = vtac_torch_member(im, &im->archive, name);
    vtac_torch_archive inner = {0};
    if (member == NULL || im->maker.status != VTA_OK) {
        return;
    }
    im->maker.status = vtac_torch_open(im, member->bytes, member->size, &inner);
    vtac_torch_value v = vtac_torch_none;
    if (im->maker.status == VTA_OK) {
        v = vtac_torch_unpickle(im, &inner, "data.pkl", "data");
    }
    if (im->maker.status == VTA_OK && v.kind != TORCH_DICT) {
        vtac_make_fail(&im->maker, VTA_INVALID, "it is no dictionary of tensors");
    }
    if (im->maker.status != VTA_OK) {
        (void)vta_context(im->maker.diag, "'%.100s'", name);
        return;
    }
    p->weights[p->weight_sources++] = v.list;
}

/* A number of a list, {"as_int": 3}; -1: another form. */
static int64_t size_of(const cJSON *item)
{
    const cJSON *whole = member_of(item, "as_int");
    return cJSON_IsNumber(whole) ? whole_of(whole) : -1;
}

/* The export's numbers of types are those of TorchScript plus one. */
static vtac_dtype dtype_of(int64_t code)
{
    return code == 13 ? VTAC_BF16 : code > 12 ? VTAC_NO_DTYPE : vtac_torch_dtype(code - 1);
}

/* The type and the strides that JSON tells of a tensor; an open size is -1. False: it is none. */
static bool type_of_meta(const cJSON *meta, vtac_type *type, int64_t *stride, int64_t *offset)
{
    const cJSON *sizes = member_of(meta, "sizes");
    const cJSON *strides = member_of(meta, "strides");
    *type = (vtac_type){.dtype = dtype_of(whole_of(member_of(meta, "dtype"))),
                        .rank = (uint32_t)cJSON_GetArraySize(sizes)};
    *offset = member_of(meta, "storage_offset") == NULL ? 0 : size_of(member_of(meta, "storage_offset"));
    if (!cJSON_IsArray(sizes) || type->rank > VTAC_MAX_RANK || type->dtype == VTAC_NO_DTYPE) {
        return false;
    }
    for (uint32_t i = 0; i < type->rank; i++) {
        type->dim[i] = size_of(cJSON_GetArrayItem(sizes, (int)i));
        stride[i] = size_of(cJSON_GetArrayItem(strides, (int)i));
    }
    return true;
}

/* One entry of a list of weights: {"path_name", "use_pickle", "tensor_meta"}. */
static void load_payload(torch_program *p, const cJSON *item, const char *folder, vtac_torch_list *to)
{
    vtac_torch *im = p->im;
    char name[300];
    vtac_type type;
    int64_t stride[VTAC_MAX_RANK];
    int64_t offset;
    (void)snprintf(name, sizeof name, "%s%.200s", folder, text_of(member_of(item, "path_name")));
    const vtac_zip_member *member = vtac_torch_member(im, &im->archive, name);
    vtac_torch_storage *storage = vtac_make_room(&im->maker, 1, sizeof *storage);
    if (storage == NULL || cJSON_IsTrue(member_of(item, "use_pickle")) ||
        !type_of_meta(member_of(item, "tensor_meta"), &type, stride, &offset)) {
        return; /* a program that reads it will say so */
    }
    if (member == NULL) {
        vtac_make_fail(&im->maker, VTA_INVALID, "'%.200s' of the archive is missing", name);
        return;
    }
    *storage = (vtac_torch_storage){
        .dtype = type.dtype, .bytes = member->bytes, .size = member->size, .swapped = im->archive.swapped};
    const char *key = vta_arena_string(&im->maker.graph->arena, item->string, strlen(item->string));
    vtac_torch_append(im, to, vtac_torch_string(key == NULL ? "" : key));
    vtac_torch_append(im, to, vtac_torch_stored(im, storage, offset, &type, stride));
}

static void load_listed(torch_program *p, const char *config, const char *folder)
{
    cJSON *json = parse_member(p->im, config);
    const cJSON *item;
    vtac_torch_list *to = vtac_torch_list_value(p->im, TORCH_DICT, NULL, 0).list;
    cJSON_ArrayForEach(item, member_of(json, "config"))
    {
        load_payload(p, item, folder, to);
    }
    cJSON_Delete(json);
    p->weights[p->weight_sources++] = to;
}

static void load_both(torch_program *p, const char *model, const char *folder, const char *what)
{
    char config[300];
    char whole[300];
    (void)snprintf(config, sizeof config, "%s%.100s_%s_config.json", folder, model, what);
    (void)snprintf(whole, sizeof whole, "%s%.100s.pt", folder, model);
    if (vtac_torch_member(p->im, &p->im->archive, config) != NULL) {
        load_listed(p, config, folder);
    } else {
        load_weights(p, whole);
    }
}

/* ---- names and arguments */

static void set_name(torch_program *p, const char *name, vtac_torch_value v)
{
    vtac_torch_append(p->im, &p->names, vtac_torch_string(name));
    vtac_torch_append(p->im, &p->names, v);
}

static vtac_torch_value named_value(torch_program *p, const char *name)
{
    p->im->steps += p->names.count / COSTLY;
    if (p->im->steps > TORCH_MAX_STEPS) {
        vtac_torch_refuse(p->im, "a program with more than %u names in its nodes", p->names.count / 2);
    }
    for (uint32_t i = p->names.count; i >= 2; i -= 2) {
        if (strcmp(p->names.items[i - 2].s, name) == 0) {
            return p->names.items[i - 1];
        }
    }
    vtac_make_fail(&p->im->maker, VTA_INVALID, "'%.100s' is read and made by no node", name);
    return vtac_torch_none;
}

static vtac_torch_value read_argument(torch_program *p, const cJSON *arg, uint32_t depth);

static vtac_torch_value read_list(torch_program *p, const cJSON *list, uint32_t depth)
{
    const vtac_torch_value out = vtac_torch_list_value(p->im, TORCH_LIST, NULL, 0);
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        const cJSON *name = member_of(item, "name");
        vtac_torch_value v = vtac_torch_none;
        if (cJSON_IsNumber(item)) {
            const bool whole = strcmp(list->string == NULL ? "" : list->string, "as_ints") == 0;
            v = whole ? vtac_torch_integer(whole_of(item)) : vtac_torch_real(item->valuedouble);
        } else if (cJSON_IsBool(item)) {
            v = vtac_torch_bool(cJSON_IsTrue(item));
        } else if (cJSON_IsString(name)) {
            v = named_value(p, name->valuestring);
        } else {
            v = read_argument(p, item, depth + 1);
        }
        vtac_torch_append(p->im, out.list, v);
    }
    return out;
}

/* A number: "Infinity" and others are texts. */
static vtac_torch_value read_real(const cJSON *item)
{
    return vtac_torch_real(cJSON_IsString(item) ? strtod(item->valuestring, NULL) : item->valuedouble);
}

/* Codes that have a number: types as here, all others without meaning. */
static vtac_torch_value read_code(const char *kind, const cJSON *item)
{
    return strcmp(kind, "as_scalar_type") == 0
               ? vtac_torch_integer(vtac_torch_dtype_code(dtype_of(whole_of(item))))
               : vtac_torch_none;
}

/* {"as_KIND": …} */
static vtac_torch_value read_argument(torch_program *p, const cJSON *arg, uint32_t depth)
{
    const cJSON *item = arg == NULL ? NULL : arg->child;
    const char *kind = item == NULL || item->string == NULL ? "" : item->string;
    const size_t length = strlen(kind);
    if (depth > 8 || p->im->maker.status != VTA_OK || strncmp(kind, "as_", 3) != 0) {
        vtac_make_fail(&p->im->maker, VTA_UNSUPPORTED, "an argument of the kind '%.40s' is not taken", kind);
        return vtac_torch_none;
    }
    if (cJSON_IsArray(item)) {
        return read_list(p, item, depth);
    }
    if (strcmp(kind, "as_none") == 0) {
        return vtac_torch_none;
    }
    if (strcmp(kind, "as_tensor") == 0 || strcmp(kind, "as_name") == 0) {
        return named_value(p, cJSON_IsString(item) ? item->valuestring : text_of(member_of(item, "name")));
    }
    if (strncmp(kind, "as_sym_", 7) == 0 || strcmp(kind, "as_optional_tensor") == 0) {
        return read_argument(p, item, depth + 1);
    }
    if (strcmp(kind, "as_int") == 0) {
        return vtac_torch_integer(whole_of(item));
    }
    if (strcmp(kind, "as_float") == 0) {
        return read_real(item);
    }
    if (cJSON_IsBool(item)) {
        return vtac_torch_bool(cJSON_IsTrue(item));
    }
    if (cJSON_IsString(item)) {
        const char *text =
            vta_arena_string(&p->im->maker.graph->arena, item->valuestring, strlen(item->valuestring));
        return vtac_torch_string(text == NULL ? "" : text);
    }
    if (strcmp(kind, "as_device") == 0) {
        return vtac_torch_string("cpu");
    }
    if (cJSON_IsNumber(item) && length > 0) {
        return read_code(kind, item);
    }
    vtac_make_fail(&p->im->maker, VTA_UNSUPPORTED, "an argument of the kind '%.40s' is not taken", kind);
    return vtac_torch_none;
}

/* ---- nodes */

/* "torch.ops.aten.conv2d.default": "conv2d"; "_operator.add": "add". */
static void operator_name(const char *target, char *name, size_t size)
{
    static const char *const leads[] = {"torch.ops.aten.", "torch.ops.", "_operator.", "math.", "torch."};
    for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++) {
        const size_t length = strlen(leads[i]);
        if (strncmp(target, leads[i], length) == 0) {
            const char *rest = target + length;
            const char *dot = strrchr(rest, '.');
            const bool overload = strncmp(target, "torch.ops.", 10) == 0 && dot != NULL;
            (void)snprintf(name, size, "%.*s", (int)(overload ? (size_t)(dot - rest) : strlen(rest)), rest);
            return;
        }
    }
    (void)snprintf(name, size, "%s", target);
}

/* True where a target is a computation with sizes. */
static bool is_plain_target(const char *target)
{
    return strncmp(target, "_operator.", 10) == 0 || strncmp(target, "math.", 5) == 0 ||
           strncmp(target, "torch.sym_", 10) == 0;
}

static void check_operators(torch_program *p)
{
    char list[600] = "";
    const cJSON *node;
    cJSON_ArrayForEach(node, member_of(p->graph, "nodes"))
    {
        char name[100];
        const char *target = text_of(member_of(node, "target"));
        operator_name(target, name, sizeof name);
        const size_t used = strlen(list);
        if (!is_plain_target(target) && !vtac_torch_is_known(name) && strstr(list, name) == NULL &&
            used + strlen(name) + 3 < sizeof list) {
            (void)snprintf(list + used, sizeof list - used, "%s%s", used == 0 ? "" : ", ", name);
        }
    }
    if (list[0] != '\0') {
        vtac_make_fail(&p->im->maker, VTA_UNSUPPORTED,
                       "operators that are not supported: %s; export the model as .onnx", list);
    }
}

/* Gives a result the names that the node's outputs have. */
static void name_results(torch_program *p, const cJSON *outputs, const vtac_torch_value *result)
{
    const bool is_list = result->kind == TORCH_TUPLE || result->kind == TORCH_LIST;
    const int count = cJSON_GetArraySize(outputs);
    const cJSON *item;
    uint32_t i = 0;
    cJSON_ArrayForEach(item, outputs)
    {
        const cJSON *kind = item->child;
        const cJSON *named = cJSON_IsArray(kind) ? kind->child : kind;
        if (kind != NULL && strncmp(kind->string, "as_sym_", 7) == 0) {
            named = kind;
        }
        for (; named != NULL; named = cJSON_IsArray(kind) ? named->next : NULL) {
            const cJSON *name = member_of(named, "name");
            name = name != NULL ? name : member_of(named, "as_name");
            const bool whole = count == 1 && !cJSON_IsArray(kind);
            const vtac_torch_value v = whole && !(is_list && result->kind == TORCH_TUPLE) ? *result
                                       : is_list && i < result->list->count ? result->list->items[i]
                                                                            : vtac_torch_none;
            i++;
            if (cJSON_IsString(name)) {
                set_name(p, name->valuestring, v);
            }
        }
    }
}

static void import_node(torch_program *p, const cJSON *node)
{
    vtac_torch *im = p->im;
    char op[100];
    vtac_torch_named named[TORCH_MAX_ARGS];
    vtac_torch_value plain[TORCH_MAX_ARGS];
    uint32_t count = 0;
    const cJSON *input;
    const char *target = text_of(member_of(node, "target"));
    operator_name(target, op, sizeof op);
    cJSON_ArrayForEach(input, member_of(node, "inputs"))
    {
        if (count == TORCH_MAX_ARGS) {
            vtac_torch_refuse(im, "a node with more than %d arguments", TORCH_MAX_ARGS);
            return;
        }
        plain[count] = read_argument(p, member_of(input, "arg"), 0);
        named[count] = (vtac_torch_named){text_of(member_of(input, "name")), plain[count]};
        count++;
    }
    vtac_torch_value out = vtac_torch_none;
    if (im->maker.status == VTA_OK && is_plain_target(target)) {
        if (!vtac_torch_call_plain(im, op, plain, count, &out)) {
            vtac_torch_refuse(im, "%.60s of sizes", target);
        }
    } else {
        out = vtac_torch_call_op(im, op, NULL, 0, named, count);
    }
    if (im->maker.status == VTA_OK) {
        name_results(p, member_of(node, "outputs"), &out);
    }
}

/* ---- inputs and outputs */

static void add_weight(torch_program *p, const char *name, const char *key)
{
    for (uint32_t i = 0; i < p->weight_sources; i++) {
        const vtac_torch_value *v = vtac_torch_look_up(p->weights[i], key);
        if (v != NULL) {
            set_name(p, name, *v);
            return;
        }
    }
    vtac_make_fail(&p->im->maker, VTA_INVALID, "the weights have no '%.100s'", key);
}

/* A size that the program leaves open has the value that it was exported with, or 1. */
static void close_sizes(vtac_torch *im, const cJSON *meta, const char *name, vtac_type *type)
{
    for (uint32_t i = 0; i < type->rank; i++) {
        const cJSON *item = cJSON_GetArrayItem(member_of(meta, "sizes"), (int)i);
        const cJSON *hint = member_of(member_of(member_of(item, "as_expr"), "hint"), "as_int");
        if (type->dim[i] >= 0) {
            continue;
        }
        type->dim[i] = cJSON_IsNumber(hint) ? whole_of(hint) : 1;
        if (vtac_import_shape(im->options, name) == NULL) {
            vtac_import_note(im->options, "input '%.100s': axis %u is open in the model, taken as %lld", name,
                             i, (long long)type->dim[i]);
        }
    }
}

static void add_user_input(torch_program *p, const cJSON *arg)
{
    vtac_torch *im = p->im;
    const char *name = text_of(member_of(member_of(arg, "as_tensor"), "name"));
    const cJSON *meta = member_of(member_of(p->graph, "tensor_values"), name);
    vtac_type type;
    int64_t stride[VTAC_MAX_RANK];
    int64_t offset;
    if (name[0] == '\0') {
        return; /* a number that the program has inside */
    }
    if (!type_of_meta(meta, &type, stride, &offset)) {
        vtac_torch_refuse(im, "input '%.100s' of this type", name);
        return;
    }
    close_sizes(im, meta, name, &type);
    set_name(p, name, vtac_torch_input(im, name, &type));
}

static void add_inputs(torch_program *p, const cJSON *specs)
{
    static const char *const weights[][2] = {{"parameter", "parameter_name"},
                                             {"buffer", "buffer_name"},
                                             {"tensor_constant", "tensor_constant_name"}};
    const cJSON *spec;
    cJSON_ArrayForEach(spec, specs)
    {
        const cJSON *user = member_of(spec, "user_input");
        bool known = user != NULL;
        for (size_t i = 0; i < sizeof weights / sizeof weights[0]; i++) {
            const cJSON *item = member_of(spec, weights[i][0]);
            if (item != NULL) {
                add_weight(p, text_of(member_of(member_of(item, "arg"), "name")),
                           text_of(member_of(item, weights[i][1])));
                known = true;
            }
        }
        if (user != NULL) {
            add_user_input(p, member_of(user, "arg"));
        } else if (!known && member_of(spec, "constant_input") == NULL) {
            vtac_torch_refuse(p->im, "an input of the kind '%.40s'",
                              spec->child == NULL ? "?" : spec->child->string);
        }
    }
}

static void add_outputs(torch_program *p, const cJSON *specs)
{
    const cJSON *spec;
    cJSON_ArrayForEach(spec, specs)
    {
        const cJSON *arg = member_of(member_of(spec, "user_output"), "arg");
        const char *name = text_of(member_of(member_of(arg, "as_tensor"), "name"));
        if (arg != NULL && member_of(arg, "as_none") == NULL) {
            const vtac_torch_value v = read_argument(p, arg, 0);
            vtac_torch_output(p->im, &v, name[0] == '\0' ? "output" : name);
        } else if (arg == NULL && member_of(spec, "buffer_mutation") != NULL) {
            vtac_torch_refuse(p->im, "a model that keeps '%.60s' from run to run",
                              text_of(member_of(member_of(spec, "buffer_mutation"), "buffer_name")));
        }
    }
}

/* ---- the program */

/* The member that holds the program; its name without folder and ending is the model's. */
static const char *program_member(const vtac_torch *im, char *model, size_t size)
{
    const char *found = NULL;
    const size_t lead = strlen(im->archive.folder);
    for (uint32_t i = 0; i < im->archive.count; i++) {
        const char *name = im->archive.members[i].name;
        if (strncmp(name, im->archive.folder, lead) != 0) {
            continue;
        }
        name += lead;
        const size_t length = strlen(name);
        const bool listed =
            strncmp(name, "models/", 7) == 0 && length > 12 && strcmp(name + length - 5, ".json") == 0;
        if (strcmp(name, "serialized_exported_program.json") == 0 || strcmp(name, "models/model.json") == 0 ||
            (listed && found == NULL)) {
            found = name;
            (void)snprintf(model, size, "%.*s", listed ? (int)length - 12 : 0, name + (listed ? 7 : 0));
        }
    }
    return found;
}

static void import_program(torch_program *p, const cJSON *json, const char *model)
{
    vtac_torch *im = p->im;
    const cJSON *module = member_of(json, "graph_module");
    const cJSON *signature = member_of(module, "signature");
    p->graph = member_of(module, "graph");
    if (!cJSON_IsArray(member_of(p->graph, "nodes")) || !cJSON_IsArray(member_of(signature, "input_specs"))) {
        vtac_make_fail(&im->maker, VTA_INVALID, "its JSON lists no nodes or no inputs");
        return;
    }
    check_operators(p);
    if (model[0] == '\0') {
        load_weights(p, "serialized_state_dict.pt");
        load_weights(p, "serialized_constants.pt");
    } else {
        load_both(p, model, "data/weights/", "weights");
        load_both(p, model, "data/constants/", "constants");
    }
    if (im->maker.status != VTA_OK) {
        return;
    }
    add_inputs(p, member_of(signature, "input_specs"));
    uint32_t i = 0;
    const cJSON *node;
    cJSON_ArrayForEach(node, member_of(p->graph, "nodes"))
    {
        if (im->maker.status != VTA_OK) {
            break;
        }
        im->maker.origin = i;
        import_node(p, node);
        if (im->maker.status != VTA_OK) {
            (void)vta_context(im->maker.diag, "node %u", i);
        }
        i++;
    }
    if (im->maker.status == VTA_OK) {
        add_outputs(p, member_of(signature, "output_specs"));
    }
}

void vtac_torch_run_export(vtac_torch *im)
{
    torch_program p = {.im = im};
    char model[128] = "";
    const char *name = program_member(im, model, sizeof model);
    if (name == NULL) {
        vtac_make_fail(&im->maker, VTA_INVALID, "the archive has no program");
        return;
    }
    cJSON *json = parse_member(im, name);
    if (json != NULL) {
        import_program(&p, json, model);
    }
    cJSON_Delete(json);
}
