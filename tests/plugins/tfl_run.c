/* SPDX-License-Identifier: Apache-2.0
 *
 * tfl_run HOST PLUGIN MODEL REFERENCE [KEY=VALUE…]: a program that has always run its model by TensorFlow
 * Lite, and now by the delegate in PLUGIN, with these options. HOST is TensorFlow Lite's C library or the
 * stand-in (tfl_standin.c). REFERENCE is "host", an interpreter without the delegate, or the artifact of the
 * whole model. Three runs with different random inputs must leave the same bytes. Lines of the delegate are
 * printed as they are. RUN_AFTER_FIRST names a file that is made after the first run. Exit status: 0 the
 * same, 1 not, 3 no delegate.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seed.h"
#include "tfl_abi.h"
#include "tfl_host.h"
#include "vta/model.h"

enum { ROOM = 16, RUNS = 3 };

static tfl_host_calls host;

static void report_line(const char *message)
{
    printf("log: %s\n", message);
}

static void *find_symbol(void *library, const char *name)
{
    void *symbol = library != NULL ? dlsym(library, name) : NULL;
    if (symbol == NULL) {
        printf("%s\n", dlerror());
        exit(1);
    }
    return symbol;
}

static void load_host(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        printf("%s\n", dlerror());
        exit(1);
    }
#define TFL_CALL(result, name, parameters)                                                                   \
    do {                                                                                                     \
        void *symbol = find_symbol(library, "TfLite" #name);                                                 \
        memcpy(&host.name, &symbol, sizeof symbol);                                                          \
    } while (0);
#include "tfl_host_calls.def"
#undef TFL_CALL
    printf("host %s\n", host.Version());
}

/* The delegate of the plug-in, as the host's loader of external delegates makes it. */
static TfLiteDelegate *make_delegate(void *plugin, char **options, int count)
{
    char *keys[ROOM];
    char *values[ROOM];
    TfLiteDelegate *(*create)(char **, char **, size_t, void (*)(const char *));
    void *symbol = find_symbol(plugin, "tflite_plugin_create_delegate");
    memcpy(&create, &symbol, sizeof create);
    for (int i = 0; i < count; i++) {
        char *equals = strchr(options[i], '=');
        *equals = '\0';
        keys[i] = options[i];
        values[i] = equals + 1;
    }
    TfLiteDelegate *delegate = create(keys, values, (size_t)count, report_line);
    if (delegate == NULL) {
        exit(3);
    }
    return delegate;
}

static TfLiteInterpreter *make_interpreter(const TfLiteModel *model, TfLiteDelegate *delegate)
{
    TfLiteInterpreterOptions *options = host.InterpreterOptionsCreate();
    host.InterpreterOptionsSetNumThreads(options, 1);
    if (delegate != NULL) {
        host.InterpreterOptionsAddDelegate(options, delegate);
    }
    TfLiteInterpreter *interpreter = host.InterpreterCreate(model, options);
    host.InterpreterOptionsDelete(options);
    if (interpreter == NULL || host.InterpreterAllocateTensors(interpreter) != TFL_OK) {
        printf("the host made no interpreter\n");
        exit(1);
    }
    return interpreter;
}

static void fill_inputs(TfLiteInterpreter *interpreter, uint8_t **bytes, rng *r)
{
    for (int i = 0; i < host.InterpreterGetInputTensorCount(interpreter); i++) {
        TfLiteTensor *t = host.InterpreterGetInputTensor(interpreter, i);
        const size_t size = host.TensorByteSize(t);
        bytes[i] = bytes[i] != NULL ? bytes[i] : calloc(1, size + 1);
        for (size_t k = 0; k < size; k++) {
            bytes[i][k] = (uint8_t)rng_between(r, 0, 255);
        }
    }
}

static void run_interpreter(TfLiteInterpreter *interpreter, uint8_t *const *bytes)
{
    for (int i = 0; i < host.InterpreterGetInputTensorCount(interpreter); i++) {
        TfLiteTensor *t = host.InterpreterGetInputTensor(interpreter, i);
        memcpy(host.TensorData(t), bytes[i], host.TensorByteSize(t));
    }
    if (host.InterpreterInvoke(interpreter) != TFL_OK) {
        printf("a run fails\n");
        exit(4);
    }
}

static void run_model(vta_model *model, uint8_t *const *bytes)
{
    vta_diag diag = {0};
    for (uint32_t i = 0; i < vta_model_input_count(model); i++) {
        (void)vta_model_set_input(model, i, bytes[i], vta_model_input(model, i).bytes, &diag);
    }
    if (vta_model_run(model, &diag) != VTA_OK) {
        printf("reference: %s\n", diag.text);
        exit(1);
    }
}

/* The number of bytes of the outputs that differ. */
static size_t compare(const TfLiteInterpreter *a, const TfLiteInterpreter *plain, const vta_model *model)
{
    size_t differ = 0;
    for (int i = 0; i < host.InterpreterGetOutputTensorCount(a); i++) {
        const TfLiteTensor *t = host.InterpreterGetOutputTensor(a, i);
        const uint8_t *ours = host.TensorData(t);
        const uint8_t *theirs = plain != NULL ? host.TensorData(host.InterpreterGetOutputTensor(plain, i))
                                              : vta_model_output_data(model, (uint32_t)i);
        for (size_t k = 0; k < host.TensorByteSize(t); k++) {
            differ += ours[k] != theirs[k];
        }
    }
    return differ;
}

static void make_file(const char *name)
{
    FILE *file = name != NULL ? fopen(name, "w") : NULL;
    (void)(file != NULL && fclose(file));
}

int main(int argc, char **argv)
{
    vta_model *reference = NULL;
    TfLiteInterpreter *plain = NULL;
    uint8_t *bytes[ROOM] = {0};
    vta_diag diag = {0};
    size_t differ = 0;
    if (argc < 5 || argc > 5 + ROOM) {
        return 2;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    load_host(argv[1]);
    rng r = {test_seed("tfl_run")};
    void *plugin = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    TfLiteDelegate *delegate = make_delegate(plugin, argv + 5, argc - 5);
    TfLiteModel *model = host.ModelCreateFromFile(argv[3]);
    TfLiteInterpreter *interpreter = make_interpreter(model, delegate);
    if (strcmp(argv[4], "host") == 0) {
        plain = make_interpreter(model, NULL);
    } else if (vta_model_load(argv[4], NULL, &reference, &diag) != VTA_OK) {
        printf("reference: %s\n", diag.text);
        return 1;
    }
    for (int run = 0; run < RUNS; run++) {
        fill_inputs(interpreter, bytes, &r);
        run_interpreter(interpreter, bytes);
        if (plain != NULL) {
            run_interpreter(plain, bytes);
        } else {
            run_model(reference, bytes);
        }
        differ += compare(interpreter, plain, reference);
        make_file(run == 0 ? getenv("RUN_AFTER_FIRST") : NULL);
    }
    host.InterpreterDelete(interpreter);
    if (plain != NULL) {
        host.InterpreterDelete(plain);
    }
    host.ModelDelete(model);
    vta_model_destroy(reference);
    void (*destroy)(TfLiteDelegate *);
    void *symbol = find_symbol(plugin, "tflite_plugin_destroy_delegate");
    memcpy(&destroy, &symbol, sizeof destroy);
    destroy(delegate);
    for (int i = 0; i < ROOM; i++) {
        free(bytes[i]);
    }
    printf("%d runs, %zu bytes differ\n", RUNS, differ);
    return differ > 0;
}
