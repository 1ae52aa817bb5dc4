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

static const char *folder;
static char library[256];

/* Error allowed: fp32 relative to the reference's range; int8 in steps of the output (0: float), of which
 * `share` of the values may differ at all. */
static const struct {
    const char *name;
    double relative, step, share;
} models[] = {
    {"mlperf_ic_resnet8_fp32", 1e-4, 0, 0},
    {"mlperf_ic_resnet8_int8_qdq", 0, 1.0 / 256, 0},
    {"mlperf_kws_dscnn_fp32", 1e-4, 0, 0},
    {"mlperf_kws_dscnn_int8_qdq", 0, 1.0 / 256, 0},
    {"resnet20_cifar10_fp32_bn", 1e-4, 0, 0},
    {"squeezenet1.1_fp32_from_fp16", 1e-4, 0, 0},
    {"mobilenetv2-12_dequant_fp32", 1e-4, 0, 0},
    {"mobilenetv2-12-int8", 0, 1.0, 0},
    {"coral_tf2_mobilenet_v2_1.0_224_int8pc_qdq", 0, 1.0 / 256, 0.001},
};

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
    const vtac_compile_options options = {.level = 2, .target = &target};
    if (vtac_compile(graph, &options, &image, &diag) != VTA_OK ||
        vtac_link(&image, library, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    vtac_artifact_image_free(&image);
    vtac_graph_destroy(graph);
}

static void check(const char *input, const float *got, size_t which)
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
        assert_true((double)off <= models[which].share * (double)count);
    } else {
        assert_true(worst <= models[which].relative * (double)(high - low));
    }
    free(expected);
}

static void run_once(vta_model *model, const char *input, size_t which)
{
    size_t count;
    vta_diag diag = {0};
    float *data = load(input, &count);
    if (vta_model_set_input(model, 0, data, count * sizeof *data, &diag) != VTA_OK ||
        vta_model_run(model, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    check(input, vta_model_output_data(model, 0), which);
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
        run_once(model, found.gl_pathv[i % found.gl_pathc], which);
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
        cmocka_unit_test(compiling_is_deterministic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
