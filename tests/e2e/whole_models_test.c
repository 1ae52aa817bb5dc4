/* SPDX-License-Identifier: Apache-2.0
 *
 * Quantized models, whole, on a device: one region from the quantized input to the logits, the same
 * bytes as on the host alone, the class of the reference. Their pictures run one after the other and the
 * first once more, so that nothing left in memory helps.
 *
 *     whole_models DEVICE CONFIG MILLIONS OWN [SHARED]     of multiplications at most (0: any number)
 *
 * OWN: the folder of the suite's own networks; SHARED, that of published ones, may be missing.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graphs.h"
#include "vta/file.h"
#include "vtac/onnx.h"

typedef struct run_options {
    graph_way way;
    const char *folder;
    uint64_t max_macs;
} run_options;

/* The data of a .npy file behind its header; owned by `file`. */
static const uint8_t *load(const char *path, uint8_t **file, size_t *size)
{
    vta_diag diag = {0};
    if (vta_file_read(path, (size_t)1 << 28, file, size, &diag) != VTA_OK || *size < 10) {
        (void)printf("FAIL %s: %s\n", path, diag.text);
        exit(1);
    }
    const size_t start = 10 + (size_t)(*file)[8] + 256 * (size_t)(*file)[9];
    *size -= start;
    return *file + start;
}

static size_t top_of(const uint8_t *bytes, size_t size)
{
    size_t top = 0;
    float best = 0.0F;
    for (size_t i = 0; i < size / sizeof(float); i++) {
        float value;
        memcpy(&value, bytes + i * sizeof value, sizeof value);
        if (i == 0 || value > best) {
            top = i;
            best = value;
        }
    }
    return top;
}

/* True if a device that tells what its cycles were for tells each once; tsim must tell. */
static bool cycles_add_up(const vta_model *model, const char *device)
{
    uint32_t layers;
    uint64_t told = 0;
    uint64_t split = 0;
    const uint64_t measured = vta_model_cycles(model);
    const vta_layer_profile *layer = vta_model_layers(model, &layers);
    for (uint32_t i = 0; i < layers; i++) {
        told += layer[i].cycles;
        for (int c = 0; c < VTA_CYCLE_CLASSES; c++) {
            split += layer[i].split[c];
        }
    }
    const bool must = strncmp(device, "tsim", 4) == 0;
    if (told != split || (told > 0 && told != measured) || (must && told == 0)) {
        (void)printf("FAIL of %llu cycles, layers tell %llu, their classes %llu\n",
                     (unsigned long long)measured, (unsigned long long)told, (unsigned long long)split);
        return false;
    }
    return true;
}

static bool run_case(graph_model *const models[2], const char *device, const char *input)
{
    char path[4096];
    uint8_t *file;
    size_t size;
    vta_diag diag = {0};
    const uint8_t *data = load(input, &file, &size);
    for (int i = 0; i < 2; i++) {
        if (vta_model_set_input(models[i]->model, 0, data, size, &diag) != VTA_OK ||
            vta_model_run(models[i]->model, &diag) != VTA_OK) {
            (void)printf("FAIL %s: %s\n", input, diag.text);
            free(file);
            return false;
        }
    }
    free(file);
    (void)snprintf(path, sizeof path, "%.*s_out0.npy", (int)(strlen(input) - strlen("_in.npy")), input);
    const uint8_t *golden = load(path, &file, &size);
    const vta_tensor_info out = vta_model_output(models[0]->model, 0);
    const uint8_t *got = vta_model_output_data(models[0]->model, 0);
    const bool same = memcmp(got, vta_model_output_data(models[1]->model, 0), out.bytes) == 0;
    const bool right = out.bytes == size && top_of(got, size) == top_of(golden, size);
    (void)printf("%s %s: %s, class %zu\n", same && right ? "ok  " : "FAIL", strrchr(input, '/') + 1,
                 same ? "equal bytes" : "bytes differ from the host's", top_of(got, out.bytes));
    free(file);
    return same && right && cycles_add_up(models[0]->model, device);
}

static bool run_cases(graph_model *const models[2], const run_options *o, const char *name)
{
    char pattern[4096];
    glob_t inputs;
    bool good = true;
    (void)snprintf(pattern, sizeof pattern, "%s/golden/%s/*_in.npy", o->folder, name);
    if (glob(pattern, 0, NULL, &inputs) != 0) {
        (void)printf("FAIL %s: no pictures in %s\n", name, pattern);
        return false;
    }
    for (size_t i = 0; i <= inputs.gl_pathc; i++) {
        good = run_case(models, o->way.device, inputs.gl_pathv[i % inputs.gl_pathc]) && good;
    }
    globfree(&inputs);
    return good;
}

/* True if the model, compiled for both, gives the same; *tried tells whether it is a quantized one. */
static bool try_model(const run_options *o, const char *path, bool *tried)
{
    const char *base = strrchr(path, '/') + 1;
    const graph_way host = {.level = o->way.level};
    const vtac_import_options import = {0};
    graph_model models[2] = {{0}, {0}};
    char name[256];
    vta_diag diag = {0};
    bool good = true;
    (void)snprintf(name, sizeof name, "%.*s", (int)(strlen(base) - strlen(".onnx")), base);
    for (int i = 0; i < 2 && good; i++) {
        vtac_graph *graph = NULL;
        good = vtac_onnx_load(path, &import, &graph, &diag) == VTA_OK &&
               graph_compile(graph, i == 0 ? &o->way : &host, &models[i], &diag) == VTA_OK;
        if (i == 0 && good && (models[0].regions == 0 || (o->max_macs > 0 && models[0].macs > o->max_macs))) {
            (void)printf("     %s: %s\n", name,
                         models[0].regions == 0 ? "not quantized" : "too large for this");
            graph_model_free(&models[0]);
            return true;
        }
    }
    *tried = true;
    if (!good) {
        (void)printf("FAIL %s: %s\n", name, diag.text);
    } else if (models[0].regions != 1) {
        (void)printf("FAIL %s: %u regions, not one\n", name, models[0].regions);
        good = false;
    } else {
        good = run_cases((graph_model *const[]){&models[0], &models[1]}, o, name);
    }
    graph_model_free(&models[0]);
    graph_model_free(&models[1]);
    return good;
}

/* Runs a folder's quantized models that are small enough; returns their number. *good stays true if all of
 * them give what they should. */
static uint32_t try_folder(const run_options *o, bool *good)
{
    char pattern[4096];
    glob_t models;
    uint32_t tried = 0;
    (void)snprintf(pattern, sizeof pattern, "%s/*.onnx", o->folder);
    if (glob(pattern, 0, NULL, &models) != 0) {
        return 0;
    }
    for (size_t i = 0; i < models.gl_pathc; i++) {
        bool counts = false;
        *good = try_model(o, models.gl_pathv[i], &counts) && *good;
        tried += counts;
    }
    globfree(&models);
    (void)printf("%u quantized models of %s on %s\n", tried, o->folder, o->way.device);
    return tried;
}

int main(int argc, char **argv)
{
    vta_config config;
    vta_diag diag = {0};
    bool good = true;
    if (argc < 5 || vta_config_load(argv[2], &config, &diag) != VTA_OK) {
        (void)fprintf(stderr, "usage: %s DEVICE CONFIG MILLIONS OWN [SHARED] %s\n", argv[0], diag.text);
        return 2;
    }
    for (int i = 4; i < argc; i++) {
        const run_options o = {.way = {.device = argv[1], .config = &config, .level = 3},
                               .folder = argv[i],
                               .max_macs = strtoull(argv[3], NULL, 0) * 1000000};
        good = (try_folder(&o, &good) > 0 || i > 4) && good;
    }
    return !good;
}
