/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared models through the whole compiler and the runtime, against their reference outputs: each case twice
 * in a row with another one between, so that nothing left in memory helps. Argument: the folder; without it,
 * exit status 77.
 */
#include <glob.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "vta/file.h"
#include "vta/model.h"
#include "vtac/codegen.h"
#include "vtac/onnx.h"
#include "vtac/pass.h"

static const char *folder;
static char library[256];

/* fp32 outputs may be off by RELATIVE of the reference's range. Quantized ones are off by one step of the
 * output at most, and over all models and cases nearly all of their values are equal. */
static const double RELATIVE = 1e-4;
static const struct {
    const char *name;
    double step; /* 0: float */
} models[] = {
    {"mlperf_ic_resnet8_fp32", 0},
    {"mlperf_ic_resnet8_int8_qdq", 1.0 / 256},
    {"mlperf_kws_dscnn_fp32", 0},
    {"mlperf_kws_dscnn_int8_qdq", 1.0 / 256},
    {"resnet20_cifar10_fp32_bn", 0},
    {"squeezenet1.1_fp32_from_fp16", 0},
    {"mobilenetv2-12_dequant_fp32", 0},
    {"mobilenetv2-12-int8", 0.16014385},
    {"coral_tf2_mobilenet_v2_1.0_224_int8pc_qdq", 1.0 / 256},
};

/* Values of quantized outputs, and how many of them differ. The references of models in QDQ form were
 * computed in float32 all the way, so that integers inside differ by a step here and there; one of 6049
 * values shows it. */
static size_t quantized_values;
static size_t quantized_off;
static const double MOST_OFF = 2e-4;

/* The floats of a .npy file; owned. */
static float *load(const char *path, size_t *count)
{
    uint8_t *bytes;
    size_t size;
    vta_diag diag = {0};
    if (vta_file_read(path, (size_t)1 << 28, &bytes, &size, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    const size_t start = 10 + (size_t)bytes[8] + 256 * (size_t)bytes[9];
    assert_non_null(strstr((const char *)bytes + 10, "'<f4'"));
    *count = (size - start) / sizeof(float);
    memmove(bytes, bytes + start, size - start);
    return (float *)(void *)bytes;
}

static void compile(const char *name)
{
    char path[4096];
    vtac_graph *graph = NULL;
    vtac_target target;
    vtac_artifact_image image;
    vta_diag diag = {0};
    const vtac_import_options import = {0};
    (void)snprintf(path, sizeof path, "%s/%s.onnx", folder, name);
    if (vtac_onnx_load(path, &import, &graph, &diag) != VTA_OK ||
        vtac_target_find("host", &target, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    const vtac_pass_options passes = {.level = 2};
    const vtac_compile_options options = {.level = 2, .target = &target};
    if (vtac_run_passes(graph, &passes, &diag) != VTA_OK ||
        vtac_compile(graph, &options, &image, &diag) != VTA_OK ||
        vtac_link(&image, library, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    vtac_artifact_image_free(&image);
    vtac_graph_destroy(graph);
}

static void check(const char *input, const float *got, size_t which, bool again)
{
    char path[4096];
    size_t count;
    (void)snprintf(path, sizeof path, "%.*s_out0.npy", (int)(strlen(input) - strlen("_in.npy")), input);
    float *expected = load(path, &count);
    double worst = 0.0;
    float low = expected[0];
    float high = expected[0];
    size_t top_got = 0;
    size_t top = 0;
    size_t off = 0;
    for (size_t i = 0; i < count; i++) {
        const double error = fabs((double)got[i] - (double)expected[i]);
        worst = !(error <= worst) ? error : worst; /* NaN counts */
        off += error > 0.0;
        low = expected[i] < low ? expected[i] : low;
        high = expected[i] > high ? expected[i] : high;
        top = expected[i] > expected[top] ? i : top;
        top_got = got[i] > got[top_got] ? i : top_got;
    }
    print_message("%s: worst %.3g of %.3g, %zu of %zu differ\n", strrchr(input, '/') + 1, worst,
                  (double)(high - low), off, count);
    assert_int_equal(top_got, top);
    if (models[which].step > 0) {
        assert_true(worst <= models[which].step * 1.001);
        quantized_values += again ? 0 : count;
        quantized_off += again ? 0 : off;
    } else {
        assert_true(worst <= RELATIVE * (double)(high - low));
    }
    free(expected);
}

static void run_once(vta_model *model, const char *input, size_t which, bool again)
{
    size_t count;
    vta_diag diag = {0};
    float *data = load(input, &count);
    if (vta_model_set_input(model, 0, data, count * sizeof *data, &diag) != VTA_OK ||
        vta_model_run(model, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    check(input, vta_model_output_data(model, 0), which, again);
    free(data);
}

static void run_model(size_t which)
{
    char pattern[4096];
    glob_t found;
    vta_model *model = NULL;
    vta_diag diag = {0};
    const vta_model_options options = {.threads = 2};
    print_message("%s\n", models[which].name);
    compile(models[which].name);
    if (vta_model_load(library, &options, &model, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    (void)snprintf(pattern, sizeof pattern, "%s/golden/%s/*_in.npy", folder, models[which].name);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i <= found.gl_pathc; i++) {
        run_once(model, found.gl_pathv[i % found.gl_pathc], which, i == found.gl_pathc);
    }
    globfree(&found);
    vta_model_destroy(model);
    (void)unlink(library);
}

static void models_give_their_reference_outputs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        run_model(i);
    }
    print_message("quantized outputs: %zu of %zu differ\n", quantized_off, quantized_values);
    assert_true((double)quantized_off <= MOST_OFF * (double)quantized_values);
}

/* A tensor of a serialized TensorProto: owned floats. */
static float *load_tensor(const char *path, size_t *count)
{
    uint8_t *bytes;
    size_t size;
    vta_arena arena = {0};
    vtac_tensor tensor;
    vta_diag diag = {0};
    if (vta_file_read(path, (size_t)1 << 24, &bytes, &size, &diag) != VTA_OK ||
        vtac_onnx_tensor(bytes, size, path, &arena, &tensor, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    float *floats = malloc(tensor.bytes);
    assert_non_null(floats);
    memcpy(floats, tensor.data, tensor.bytes);
    *count = tensor.bytes / sizeof *floats;
    vta_arena_free(&arena);
    free(bytes);
    return floats;
}

/* The ONNX zoo's own form: a folder with the model and its test sets, here two rounds of all three. */
static void mnist_gives_its_reference_outputs(void **state)
{
    (void)state;
    vta_model *model = NULL;
    vta_diag diag = {0};
    compile("mnist-8/model");
    assert_int_equal(vta_model_load(library, NULL, &model, &diag), VTA_OK);
    for (int i = 0; i < 6; i++) {
        char path[4096];
        size_t count;
        (void)snprintf(path, sizeof path, "%s/mnist-8/test_data_set_%d/input_0.pb", folder, i % 3);
        float *data = load_tensor(path, &count);
        assert_int_equal(vta_model_set_input(model, 0, data, count * sizeof *data, &diag), VTA_OK);
        assert_int_equal(vta_model_run(model, &diag), VTA_OK);
        free(data);
        (void)snprintf(path, sizeof path, "%s/mnist-8/test_data_set_%d/output_0.pb", folder, i % 3);
        float *expected = load_tensor(path, &count);
        const float *got = vta_model_output_data(model, 0);
        float low = expected[0];
        float high = expected[0];
        for (size_t k = 0; k < count; k++) {
            low = fminf(low, expected[k]);
            high = fmaxf(high, expected[k]);
        }
        for (size_t k = 0; k < count; k++) {
            assert_true(fabs((double)got[k] - (double)expected[k]) <= RELATIVE * (double)(high - low));
        }
        free(expected);
    }
    vta_model_destroy(model);
    (void)unlink(library);
}

/* The same model compiles to the same bytes. */
static void compiling_is_deterministic(void **state)
{
    (void)state;
    uint8_t *first;
    uint8_t *second;
    size_t first_size;
    size_t second_size;
    compile(models[2].name);
    assert_int_equal(vta_file_read(library, (size_t)1 << 28, &first, &first_size, NULL), VTA_OK);
    compile(models[2].name);
    assert_int_equal(vta_file_read(library, (size_t)1 << 28, &second, &second_size, NULL), VTA_OK);
    assert_int_equal(first_size, second_size);
    assert_memory_equal(first, second, first_size);
    free(first);
    free(second);
    (void)unlink(library);
}

int main(int argc, char **argv)
{
    if (argc < 2 || access(argv[1], R_OK) != 0) {
        (void)printf("models: %s is not there: nothing to compare with\n", argc < 2 ? "the folder" : argv[1]);
        return 77;
    }
    folder = argv[1];
    const char *temporary = getenv("TMPDIR");
    (void)snprintf(library, sizeof library, "%.200s/vtac-models-%ld.so",
                   temporary == NULL ? "/tmp" : temporary, (long)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_give_their_reference_outputs),
        cmocka_unit_test(mnist_gives_its_reference_outputs),
        cmocka_unit_test(compiling_is_deterministic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
