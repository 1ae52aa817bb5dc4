/* SPDX-License-Identifier: Apache-2.0
 *
 * ort_run HOST PLUGIN MODEL REFERENCE [KEY=VALUE…]: a program that has always run its model by ONNX Runtime,
 * and now by the provider in PLUGIN, with these options. HOST is ONNX Runtime's library or the stand-in
 * (standin.c). REFERENCE is "host", a session without the provider, or the artifact of the whole model. Three
 * runs with different random inputs must leave the same bytes. Lines of the provider in the host's log are
 * printed as they are; ORT_LEVEL sets how far the host optimizes graphs (0, 1, 2 or 99); RUN_AFTER_FIRST
 * names a file that is made after the first run. Exit status: 0 the
 * same, 1 not, 3 the host made no session, whose sentence is printed.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort.h"
#include "ort_host.h"
#include "seed.h"
#include "vta/model.h"

enum { ROOM = 16, RUNS = 3 };

typedef struct tensors {
    size_t count;
    char *names[ROOM];
    int types[ROOM];
    size_t rank[ROOM];
    int64_t dims[ROOM][ORT_MAX_RANK];
    bool open[ROOM][ORT_MAX_RANK]; /* sizes that the model leaves open: 1, 2, 3 in the three runs */
    size_t bytes[ROOM];
    void *data[ROOM];
    OrtValue *values[ROOM];
} tensors;

static vtac_ort_calls call;
static ort_host_calls host;
static OrtMemoryInfo *memory;

/* The host failed: its sentence ends the program. */
static void must(OrtStatus *status, int exit_status)
{
    if (status != NULL) {
        printf("host: %s\n", call.GetErrorMessage(status));
        exit(exit_status);
    }
}

static void hear(void *context, int level, const char *category, const char *id, const char *place,
                 const char *message)
{
    (void)context;
    (void)level;
    (void)category;
    (void)id;
    (void)place;
    if (strncmp(message, "vtac: ", 6) == 0) {
        printf("log: %s\n", message);
    }
}

static void load_host(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        printf("%s\n", dlerror());
        exit(1);
    }
    const OrtApiBase *(*base)(void);
    void *symbol = dlsym(library, "OrtGetApiBase");
    memcpy(&base, &symbol, sizeof base);
    const OrtApi *api = base()->GetApi(ORT_VERSION);
    if (api == NULL) {
        printf("'%s' is older than version %d of its interface\n", path, ORT_VERSION);
        exit(77);
    }
    vtac_ort_calls_of(api, &call);
    ort_host_calls_of(api, &host);
    printf("host %s\n", base()->GetVersionString());
}

/* ---- sessions */

static const OrtEpDevice *find_device(const OrtEnv *env)
{
    const OrtEpDevice *const *devices = NULL;
    size_t count = 0;
    must(host.GetEpDevices(env, &devices, &count), 1);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(host.EpDevice_EpName(devices[i]), "VtacExecutionProvider") == 0) {
            return devices[i];
        }
    }
    printf("the host has no device of the provider\n");
    exit(1);
}

static OrtSession *make_session(OrtEnv *env, const char *model, const OrtEpDevice *device, char **options,
                                int count)
{
    const char *keys[ROOM];
    const char *values[ROOM];
    OrtSessionOptions *settings = NULL;
    OrtSession *session = NULL;
    for (int i = 0; i < count; i++) {
        char *equals = strchr(options[i], '=');
        *equals = '\0';
        keys[i] = options[i];
        values[i] = equals + 1;
    }
    must(host.CreateSessionOptions(&settings), 1);
    if (getenv("ORT_LEVEL") != NULL) {
        must(host.SetSessionGraphOptimizationLevel(settings, atoi(getenv("ORT_LEVEL"))), 1);
    }
    if (device != NULL) {
        must(host.SessionOptionsAppendExecutionProvider_V2(settings, env, &device, 1, keys, values,
                                                           (size_t)count),
             3);
    }
    must(host.CreateSession(env, model, settings, &session), 3);
    host.ReleaseSessionOptions(settings);
    return session;
}

/* ---- tensors */

static void describe_inputs(OrtSession *session, tensors *t)
{
    OrtAllocator *allocator = NULL;
    must(host.GetAllocatorWithDefaultOptions(&allocator), 1);
    must(host.SessionGetInputCount(session, &t->count), 1);
    for (size_t i = 0; i < t->count; i++) {
        OrtTypeInfo *type = NULL;
        const OrtTensorTypeAndShapeInfo *info = NULL;
        char *name = NULL;
        must(host.SessionGetInputName(session, i, allocator, &name), 1);
        t->names[i] = strdup(name);
        must(host.AllocatorFree(allocator, name), 1);
        must(host.SessionGetInputTypeInfo(session, i, &type), 1);
        must(call.CastTypeInfoToTensorInfo(type, &info), 1);
        must(call.GetTensorElementType(info, &t->types[i]), 1);
        must(call.GetDimensionsCount(info, &t->rank[i]), 1);
        must(call.GetDimensions(info, t->dims[i], t->rank[i]), 1);
        for (size_t k = 0; k < t->rank[i]; k++) {
            t->open[i][k] = t->dims[i][k] < 0;
        }
        host.ReleaseTypeInfo(type);
    }
}

static void make_input(tensors *t, size_t i, int run)
{
    size_t count = 1;
    for (size_t k = 0; k < t->rank[i]; k++) {
        t->dims[i][k] = t->open[i][k] ? run + 1 : t->dims[i][k];
        count *= (size_t)t->dims[i][k];
    }
    if (t->values[i] != NULL) {
        call.ReleaseValue(t->values[i]);
        free(t->data[i]);
    }
    t->bytes[i] = count * vtac_ort_bits(t->types[i]) / 8;
    t->data[i] = calloc(1, t->bytes[i] + 1);
    must(host.CreateTensorWithDataAsOrtValue(memory, t->data[i], t->bytes[i], t->dims[i], t->rank[i],
                                             t->types[i], &t->values[i]),
         1);
}

static void fill_input(tensors *t, size_t i, int run, rng *r)
{
    make_input(t, i, run);
    for (size_t k = 0; k < t->bytes[i] && t->types[i] != 1; k++) {
        ((uint8_t *)t->data[i])[k] = (uint8_t)rng_between(r, 0, 255);
    }
    for (size_t k = 0; k < t->bytes[i] / sizeof(float) && t->types[i] == 1; k++) {
        ((float *)t->data[i])[k] = (float)rng_between(r, -3000, 3000) / 1000.0F;
    }
}

static void describe_outputs(OrtSession *session, tensors *t)
{
    OrtAllocator *allocator = NULL;
    must(host.GetAllocatorWithDefaultOptions(&allocator), 1);
    must(host.SessionGetOutputCount(session, &t->count), 1);
    for (size_t i = 0; i < t->count; i++) {
        char *name = NULL;
        must(host.SessionGetOutputName(session, i, allocator, &name), 1);
        t->names[i] = strdup(name);
        must(host.AllocatorFree(allocator, name), 1);
    }
}

static void run_session(OrtSession *session, const tensors *in, tensors *out)
{
    memset(out->values, 0, sizeof out->values);
    must(host.Run(session, NULL, (const char *const *)in->names, (const OrtValue *const *)in->values,
                  in->count, (const char *const *)out->names, out->count, out->values),
         4);
    for (size_t i = 0; i < out->count; i++) {
        OrtTensorTypeAndShapeInfo *info = NULL;
        size_t count = 1;
        must(call.GetTensorTypeAndShape(out->values[i], &info), 1);
        must(call.GetTensorElementType(info, &out->types[i]), 1);
        must(call.GetDimensionsCount(info, &out->rank[i]), 1);
        must(call.GetDimensions(info, out->dims[i], out->rank[i]), 1);
        call.ReleaseTensorTypeAndShapeInfo(info);
        for (size_t k = 0; k < out->rank[i]; k++) {
            count *= (size_t)out->dims[i][k];
        }
        out->bytes[i] = count * vtac_ort_bits(out->types[i]) / 8;
        must(call.GetTensorMutableData(out->values[i], &out->data[i]), 1);
    }
}

/* ---- the reference */

static void run_model(vta_model *model, const tensors *in, tensors *out)
{
    vta_diag diag = {0};
    bool good = true;
    for (size_t i = 0; i < in->count && good; i++) {
        good = vta_model_set_input_shape(model, (uint32_t)i, in->dims[i], (uint32_t)in->rank[i], &diag) ==
               VTA_OK;
        good = good && vta_model_set_input(model, (uint32_t)i, in->data[i], in->bytes[i], &diag) == VTA_OK;
    }
    if (!good || vta_model_run(model, &diag) != VTA_OK) {
        printf("reference: %s\n", diag.text);
        exit(1);
    }
    for (size_t i = 0; i < out->count; i++) {
        out->data[i] = (void *)(uintptr_t)vta_model_output_data(model, (uint32_t)i);
        out->bytes[i] = vta_model_output(model, (uint32_t)i).bytes;
    }
}

/* The number of elements of the outputs that differ, by the size of an element. */
static size_t compare(const tensors *a, const tensors *b)
{
    size_t differ = 0;
    size_t worst = 0;
    for (size_t i = 0; i < a->count; i++) {
        const size_t step = vtac_ort_bits(a->types[i]) / 8;
        differ += a->bytes[i] != b->bytes[i];
        for (size_t k = 0; k + step <= a->bytes[i] && k + step <= b->bytes[i]; k += step) {
            const bool same =
                memcmp((const uint8_t *)a->data[i] + k, (const uint8_t *)b->data[i] + k, step) == 0;
            differ += !same;
            if (!same && step == 1) {
                const int d = ((const uint8_t *)a->data[i])[k] - ((const uint8_t *)b->data[i])[k];
                worst = (size_t)abs(d) > worst ? (size_t)abs(d) : worst;
            }
        }
    }
    if (differ > 0) {
        printf("%zu elements differ (bytes by at most %zu)\n", differ, worst);
    }
    return differ;
}

static size_t compare_runs(OrtSession *session, OrtSession *plain, vta_model *model)
{
    tensors in = {0};
    tensors out = {0};
    tensors expected = {0};
    size_t differ = 0;
    rng r = {test_seed("ort_run")};
    describe_inputs(session, &in);
    describe_outputs(session, &out);
    describe_outputs(session, &expected);
    for (int run = 0; run < RUNS; run++) {
        for (size_t i = 0; i < in.count; i++) {
            fill_input(&in, i, run, &r);
        }
        run_session(session, &in, &out);
        if (model != NULL) {
            run_model(model, &in, &expected);
        } else {
            run_session(plain, &in, &expected);
        }
        differ += compare(&out, &expected);
        if (run == 0 && getenv("RUN_AFTER_FIRST") != NULL) {
            FILE *file = fopen(getenv("RUN_AFTER_FIRST"), "w");
            (void)(file != NULL && fclose(file));
        }
        for (size_t i = 0; i < out.count; i++) {
            call.ReleaseValue(out.values[i]);
            if (model == NULL) {
                call.ReleaseValue(expected.values[i]);
            }
        }
    }
    for (size_t i = 0; i < in.count; i++) {
        call.ReleaseValue(in.values[i]);
        free(in.data[i]);
        free(in.names[i]);
    }
    for (size_t i = 0; i < out.count; i++) {
        free(out.names[i]);
        free(expected.names[i]);
    }
    return differ;
}

int main(int argc, char **argv)
{
    OrtEnv *env = NULL;
    OrtSession *plain = NULL;
    vta_model *model = NULL;
    vta_diag diag = {0};
    if (argc < 5 || argc > 5 + ROOM) {
        return 2;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    load_host(argv[1]);
    must(host.CreateEnvWithCustomLogger(hear, NULL, ORT_LOG_INFO, "ort_run", &env), 1);
    must(host.CreateCpuMemoryInfo(1, 0, &memory), 1);
    must(host.RegisterExecutionProviderLibrary(env, "vtac", argv[2]), 3);
    OrtSession *session = make_session(env, argv[3], find_device(env), argv + 5, argc - 5);
    if (strcmp(argv[4], "host") == 0) {
        plain = make_session(env, argv[3], NULL, NULL, 0);
    } else if (vta_model_load(argv[4], NULL, &model, &diag) != VTA_OK) {
        printf("reference: %s\n", diag.text);
        return 1;
    }
    const size_t differ = compare_runs(session, plain, model);
    host.ReleaseSession(session);
    if (plain != NULL) {
        host.ReleaseSession(plain);
    }
    vta_model_destroy(model);
    must(host.UnregisterExecutionProviderLibrary(env, "vtac"), 1);
    host.ReleaseMemoryInfo(memory);
    host.ReleaseEnv(env);
    printf("%d runs, %zu elements differ\n", RUNS, differ);
    return differ > 0;
}
