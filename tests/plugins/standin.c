/* SPDX-License-Identifier: Apache-2.0
 *
 * The stand-in's sessions: the provider's library, its devices and options, what it takes, runs.
 */
#include "standin.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 32 };

struct OrtHardwareDevice {
    int type;
};

struct OrtEpDevice {
    OrtEpFactory *factory;
};

struct OrtKeyValuePairs {
    const char *keys[ROOM], *values[ROOM];
    size_t count;
};

struct OrtLogger {
    ort_log_function *function;
    void *context;
};

struct OrtEnv {
    OrtLogger logger;
    void *library;
    OrtEpFactory *factory;
    OrtStatus *(*release)(OrtEpFactory *factory);
    OrtEpDevice *devices[ROOM];
    size_t device_count;
};

struct OrtSessionOptions {
    OrtKeyValuePairs pairs;
    OrtEpFactory *factory; /* NULL: no provider */
};

struct OrtSession {
    const OrtEnv *env;
    OrtGraph *graph;
    OrtEpFactory *factory;
    OrtEp *ep;
};

static void *table[512];
static OrtHardwareDevice processor = {ORT_DEVICE_CPU};

/* ---- statuses, the log, pairs */

OrtStatus *standin_CreateStatus(int code, const char *message)
{
    return standin_status(code, "%s", message);
}

const char *standin_GetErrorMessage(const OrtStatus *status)
{
    return status->text;
}

void standin_ReleaseStatus(OrtStatus *status)
{
    free(status);
}

OrtStatus *standin_Logger_LogMessage(const OrtLogger *logger, int level, const char *message,
                                     const char *file, int line, const char *function)
{
    (void)line;
    (void)function;
    logger->function(logger->context, level, "", "", file, message);
    return NULL;
}

OrtStatus *standin_GetSessionOptionsConfigEntries(const OrtSessionOptions *options, OrtKeyValuePairs **out)
{
    *out = malloc(sizeof **out);
    **out = options->pairs;
    return NULL;
}

void standin_GetKeyValuePairs(const OrtKeyValuePairs *pairs, const char *const **keys,
                              const char *const **values, size_t *count)
{
    *keys = pairs->keys;
    *values = pairs->values;
    *count = pairs->count;
}

void standin_ReleaseKeyValuePairs(OrtKeyValuePairs *pairs)
{
    free(pairs);
}

/* ---- providers */

int standin_HardwareDevice_Type(const OrtHardwareDevice *device)
{
    return device->type;
}

static OrtStatus *create_device(OrtEpFactory *factory, const OrtHardwareDevice *device,
                                const OrtKeyValuePairs *metadata, const OrtKeyValuePairs *options,
                                OrtEpDevice **out)
{
    (void)device;
    (void)metadata;
    (void)options;
    *out = calloc(1, sizeof **out);
    (*out)->factory = factory;
    return NULL;
}

static void release_device(OrtEpDevice *device)
{
    free(device);
}

static OrtStatus *add_nodes(OrtEpGraphSupportInfo *support, const OrtNode *const *nodes, size_t count,
                            const OrtNodeFusionOptions *options)
{
    if (options == NULL || !options->drop_constant_initializers) {
        return standin_status(ORT_FAIL, "the stand-in gives no initializers to fused nodes");
    }
    return standin_graph_fuse(support->graph, nodes, count);
}

const OrtEpApi *standin_GetEpApi(void)
{
    static const OrtEpApi api = {create_device, release_device, add_nodes};
    return &api;
}

const char *standin_EpDevice_EpName(const OrtEpDevice *device)
{
    return device->factory->GetName(device->factory);
}

static const OrtApi *get_api(uint32_t version)
{
    return version <= ORT_VERSION ? (const OrtApi *)table : NULL;
}

static const char *get_version(void)
{
    return "stand-in";
}

static const OrtApiBase base = {get_api, get_version};

/* Calls what hosts of 1.30 call without a look. */
static OrtStatus *try_factory(OrtEnv *env)
{
    const OrtHardwareDevice *const devices[] = {&processor};
    OrtDataTransferImpl *transfer = NULL;
    OrtAllocator *allocator = NULL;
    OrtEpFactory *f = env->factory;
    OrtStatus *status = f->GetSupportedDevices(f, devices, 1, env->devices, ROOM, &env->device_count);
    if (status == NULL && !f->IsStreamAware(f)) {
        status = f->CreateDataTransfer(f, &transfer);
    }
    if (status == NULL) {
        status = f->CreateAllocator(f, NULL, NULL, &allocator);
        f->ReleaseAllocator(f, allocator);
    }
    return status;
}

OrtStatus *standin_RegisterExecutionProviderLibrary(OrtEnv *env, const char *name, const char *path)
{
    OrtStatus *(*create)(const char *, const OrtApiBase *, const OrtLogger *, OrtEpFactory **, size_t,
                         size_t *);
    size_t count = 0;
    env->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (env->library == NULL) {
        return standin_status(ORT_FAIL, "%s", dlerror());
    }
    void *symbol = dlsym(env->library, "CreateEpFactories");
    memcpy(&create, &symbol, sizeof create);
    symbol = dlsym(env->library, "ReleaseEpFactory");
    memcpy(&env->release, &symbol, sizeof env->release);
    OrtStatus *status = create(name, &base, &env->logger, &env->factory, 4, &count);
    return status == NULL && count == 1 ? try_factory(env) : status;
}

OrtStatus *standin_UnregisterExecutionProviderLibrary(OrtEnv *env, const char *name)
{
    (void)name;
    for (size_t i = 0; i < env->device_count; i++) {
        release_device(env->devices[i]);
    }
    OrtStatus *status = env->release(env->factory);
    (void)dlclose(env->library);
    return status;
}

OrtStatus *standin_GetEpDevices(const OrtEnv *env, const OrtEpDevice *const **out, size_t *count)
{
    *out = (const OrtEpDevice *const *)env->devices;
    *count = env->device_count;
    return NULL;
}

/* ---- options */

OrtStatus *standin_CreateEnvWithCustomLogger(ort_log_function *function, void *context, int level,
                                             const char *id, OrtEnv **out)
{
    (void)level;
    (void)id;
    *out = calloc(1, sizeof **out);
    (*out)->logger = (OrtLogger){function, context};
    return NULL;
}

void standin_ReleaseEnv(OrtEnv *env)
{
    free(env);
}

OrtStatus *standin_CreateSessionOptions(OrtSessionOptions **out)
{
    *out = calloc(1, sizeof **out);
    return NULL;
}

OrtStatus *standin_SetSessionGraphOptimizationLevel(OrtSessionOptions *options, int level)
{
    (void)options;
    (void)level;
    return NULL;
}

OrtStatus *standin_SessionOptionsAppendExecutionProvider_V2(OrtSessionOptions *options, OrtEnv *env,
                                                            const OrtEpDevice *const *devices,
                                                            size_t device_count, const char *const *keys,
                                                            const char *const *values, size_t count)
{
    static char names[ROOM][64];
    (void)env;
    (void)device_count;
    options->factory = devices[0]->factory;
    for (size_t i = 0; i < count && i < ROOM; i++) {
        (void)snprintf(names[i], sizeof names[i], "ep.vtacexecutionprovider.%s", keys[i]);
        options->pairs.keys[i] = names[i];
        options->pairs.values[i] = values[i];
    }
    options->pairs.count = count;
    return NULL;
}

void standin_ReleaseSessionOptions(OrtSessionOptions *options)
{
    free(options);
}

/* ---- sessions */

static OrtStatus *compile_parts(OrtSession *s)
{
    OrtGraph *g = s->graph;
    OrtNodeComputeInfo **infos = calloc(g->part_count + 1, sizeof(OrtNodeComputeInfo *));
    const OrtGraph **graphs = calloc(g->part_count + 1, sizeof(const OrtGraph *));
    const OrtNode **fused = calloc(g->part_count + 1, sizeof(const OrtNode *));
    for (size_t i = 0; i < g->part_count; i++) {
        fused[i] = g->parts[i];
    }
    OrtStatus *status = s->ep->Compile(s->ep, graphs, fused, g->part_count, infos, NULL);
    for (size_t i = 0; i < g->part_count && status == NULL; i++) {
        g->parts[i]->info = infos[i];
        status = infos[i]->CreateState(infos[i], NULL, &g->parts[i]->state);
    }
    free(infos);
    free(fused);
    free(graphs);
    return status;
}

static OrtStatus *place_graph(OrtSession *s, const OrtSessionOptions *options)
{
    const OrtHardwareDevice *const devices[] = {&processor};
    OrtEpGraphSupportInfo support = {s->graph};
    OrtStatus *status = s->factory->CreateEp(s->factory, devices, NULL, 1, options, &s->env->logger, &s->ep);
    if (status == NULL) {
        status = s->ep->GetCapability(s->ep, s->graph, &support);
    }
    return status == NULL && s->graph->part_count > 0 ? compile_parts(s) : status;
}

OrtStatus *standin_CreateSession(const OrtEnv *env, const char *path, const OrtSessionOptions *options,
                                 OrtSession **out)
{
    OrtStatus *status = NULL;
    OrtSession *s = calloc(1, sizeof *s);
    s->env = env;
    s->factory = options->factory;
    s->graph = standin_graph_load(path, &status);
    if (s->graph != NULL && s->factory != NULL) {
        status = place_graph(s, options);
    }
    if (status != NULL) {
        standin_ReleaseSession(s);
        return status;
    }
    *out = s;
    return NULL;
}

void standin_ReleaseSession(OrtSession *s)
{
    for (size_t i = 0; s->graph != NULL && i < s->graph->part_count; i++) {
        OrtNodeComputeInfo *info = s->graph->parts[i]->info;
        if (info != NULL) {
            info->ReleaseState(info, s->graph->parts[i]->state);
            s->ep->ReleaseNodeComputeInfos(s->ep, &info, 1);
        }
    }
    if (s->ep != NULL) {
        s->factory->ReleaseEp(s->factory, s->ep);
    }
    if (s->graph != NULL) {
        standin_graph_free(s->graph);
    }
    free(s);
}

static const Onnx__GraphProto *proto_of(const OrtSession *s)
{
    return s->graph->model->graph;
}

OrtStatus *standin_SessionGetInputCount(const OrtSession *s, size_t *out)
{
    *out = proto_of(s)->n_input;
    return NULL;
}

OrtStatus *standin_SessionGetOutputCount(const OrtSession *s, size_t *out)
{
    *out = proto_of(s)->n_output;
    return NULL;
}

OrtStatus *standin_SessionGetInputTypeInfo(const OrtSession *s, size_t index, OrtTypeInfo **out)
{
    *out = malloc(sizeof **out);
    **out = standin_graph_value(s->graph, proto_of(s)->input[index]->name)->type;
    return NULL;
}

void standin_ReleaseTypeInfo(OrtTypeInfo *type)
{
    free(type);
}

OrtStatus *standin_SessionGetInputName(const OrtSession *s, size_t index, OrtAllocator *allocator, char **out)
{
    (void)allocator;
    *out = strdup(proto_of(s)->input[index]->name);
    return NULL;
}

OrtStatus *standin_SessionGetOutputName(const OrtSession *s, size_t index, OrtAllocator *allocator,
                                        char **out)
{
    (void)allocator;
    *out = strdup(proto_of(s)->output[index]->name);
    return NULL;
}

OrtStatus *standin_GetAllocatorWithDefaultOptions(OrtAllocator **out)
{
    *out = NULL;
    return NULL;
}

OrtStatus *standin_AllocatorFree(OrtAllocator *allocator, void *data)
{
    (void)allocator;
    free(data);
    return NULL;
}

OrtStatus *standin_CreateCpuMemoryInfo(int allocator, int memory, OrtMemoryInfo **out)
{
    (void)allocator;
    (void)memory;
    *out = NULL;
    return NULL;
}

void standin_ReleaseMemoryInfo(OrtMemoryInfo *memory)
{
    (void)memory;
}

OrtStatus *standin_CreateTensorWithDataAsOrtValue(const OrtMemoryInfo *memory, void *data, size_t bytes,
                                                  const int64_t *dims, size_t rank, int type, OrtValue **out)
{
    OrtTensorTypeAndShapeInfo info = {.type = type, .rank = rank};
    (void)memory;
    (void)bytes;
    memcpy(info.dims, dims, rank * sizeof *dims);
    *out = standin_value(&info, data);
    return NULL;
}

/* ---- runs */

static size_t number_of(const OrtGraph *graph, const OrtValueInfo *value)
{
    return (size_t)(value - graph->values);
}

OrtStatus *standin_KernelContext_GetInput(const OrtKernelContext *context, size_t index, const OrtValue **out)
{
    *out = context->inputs[index];
    return NULL;
}

OrtStatus *standin_KernelContext_GetOutput(OrtKernelContext *context, size_t index, const int64_t *dims,
                                           size_t count, OrtValue **out)
{
    OrtTensorTypeAndShapeInfo info = context->node->outputs[index]->type.tensor;
    info.rank = count;
    memcpy(info.dims, dims, count * sizeof *dims);
    context->outputs[index] = standin_value(&info, NULL);
    *out = context->outputs[index];
    return NULL;
}

static int read_integer(const OrtValue *value, size_t at)
{
    return value->info.type == 2 ? ((const uint8_t *)value->data)[at] : ((const int8_t *)value->data)[at];
}

static void quantize(const OrtValue *x, float scale, int zero, OrtValue *y)
{
    const bool is_unsigned = y->info.type == 2;
    for (size_t i = 0; i < y->bytes; i++) {
        const float value = nearbyintf(((const float *)x->data)[i] / scale) + (float)zero;
        const float low = is_unsigned ? 0.0F : -128.0F;
        ((uint8_t *)y->data)[i] = (uint8_t)(int)fminf(fmaxf(value, low), low + 255.0F);
    }
}

static OrtStatus *run_plain(const OrtNode *node, OrtValue **inputs, OrtValue **outputs)
{
    const char *op = node->proto->op_type;
    const bool to_integers = strcmp(op, "QuantizeLinear") == 0;
    if (!to_integers && strcmp(op, "DequantizeLinear") != 0) {
        return standin_status(ORT_NOT_IMPLEMENTED, "the stand-in has no operator %s", op);
    }
    const float scale = *(const float *)inputs[1]->data;
    const int zero = node->input_count > 2 ? read_integer(inputs[2], 0) : 0;
    OrtTensorTypeAndShapeInfo info = inputs[0]->info; /* sizes that the run knows */
    info.type = node->outputs[0]->type.tensor.type;
    outputs[0] = standin_value(&info, NULL);
    if (to_integers) {
        quantize(inputs[0], scale, zero, outputs[0]);
        return NULL;
    }
    for (size_t i = 0; i < outputs[0]->bytes / sizeof(float); i++) {
        ((float *)outputs[0]->data)[i] = (float)(read_integer(inputs[0], i) - zero) * scale;
    }
    return NULL;
}

static bool is_ready(const OrtGraph *graph, const OrtNode *node, OrtValue **values)
{
    bool ready = true;
    for (size_t i = 0; i < node->input_count; i++) {
        ready = ready && (node->inputs[i] == NULL || values[number_of(graph, node->inputs[i])] != NULL);
    }
    return ready && values[number_of(graph, node->outputs[0])] == NULL;
}

static OrtStatus *run_node(const OrtGraph *graph, const OrtNode *node, OrtValue **values)
{
    OrtValue *inputs[ROOM] = {0};
    OrtValue *outputs[ROOM] = {0};
    for (size_t i = 0; i < node->input_count && i < ROOM; i++) {
        inputs[i] = node->inputs[i] != NULL ? values[number_of(graph, node->inputs[i])] : NULL;
    }
    OrtKernelContext context = {node, inputs, outputs};
    OrtStatus *status = node->info != NULL ? node->info->Compute(node->info, node->state, &context)
                                           : run_plain(node, inputs, outputs);
    for (size_t i = 0; i < node->output_count && i < ROOM; i++) {
        values[number_of(graph, node->outputs[i])] = outputs[i];
    }
    return status;
}

OrtStatus *standin_run(OrtGraph *graph, OrtValue **values)
{
    OrtStatus *status = NULL;
    for (bool moved = true; moved && status == NULL;) {
        moved = false;
        for (size_t i = 0; i < graph->node_count + graph->part_count && status == NULL; i++) {
            const OrtNode *node =
                i < graph->node_count ? &graph->nodes[i] : graph->parts[i - graph->node_count];
            if (node->fused == NULL && is_ready(graph, node, values)) {
                status = run_node(graph, node, values);
                moved = true;
            }
        }
    }
    return status;
}

/* Puts named values in their places. */
static void set_values(const OrtGraph *graph, const char *const *names, const OrtValue *const *given,
                       size_t count, OrtValue **values)
{
    for (size_t i = 0; i < graph->value_count; i++) {
        values[i] = graph->values[i].initializer;
    }
    for (size_t i = 0; i < count; i++) {
        values[number_of(graph, standin_graph_value(graph, names[i]))] = (OrtValue *)(uintptr_t)given[i];
    }
}

/* Takes the outputs, and frees what a run has made beside them. */
static OrtStatus *take_outputs(const OrtGraph *graph, const char *const *names, size_t count, OrtValue **out,
                               OrtValue **values)
{
    OrtStatus *status = NULL;
    for (size_t i = 0; i < count; i++) {
        const size_t k = number_of(graph, standin_graph_value(graph, names[i]));
        out[i] = values[k];
        values[k] = NULL;
        if (out[i] == NULL && status == NULL) {
            status = standin_status(ORT_FAIL, "nothing made the output '%s'", names[i]);
        }
    }
    return status;
}

OrtStatus *standin_Run(OrtSession *s, const OrtRunOptions *options, const char *const *input_names,
                       const OrtValue *const *inputs, size_t input_count, const char *const *output_names,
                       size_t output_count, OrtValue **outputs)
{
    OrtValue **values = calloc(s->graph->value_count + 1, sizeof *values);
    (void)options;
    set_values(s->graph, input_names, inputs, input_count, values);
    OrtStatus *status = standin_run(s->graph, values);
    if (status == NULL) {
        status = take_outputs(s->graph, output_names, output_count, outputs, values);
    }
    for (size_t i = 0; i < s->graph->value_count; i++) {
        if (values[i] != NULL && values[i]->owned && values[i] != s->graph->values[i].initializer) {
            standin_value_free(values[i]);
        }
    }
    free(values);
    return status;
}

/* ---- the table */

const OrtApiBase *OrtGetApiBase(void);

__attribute__((visibility("default"))) const OrtApiBase *OrtGetApiBase(void)
{
#define ORT_CALL(result, name, slot, parameters)                                                             \
    {                                                                                                        \
        result(*call) parameters = standin_##name;                                                           \
        memcpy(&table[slot], &call, sizeof call);                                                            \
    }
#include "ort_calls.def"
#include "ort_host_calls.def"
#undef ORT_CALL
    return &base;
}
