/* SPDX-License-Identifier: Apache-2.0
 *
 * A quantized model, whole, gives the same bytes on devices and on the host alone, in two runs with different
 * inputs. The host compiles it once.
 *
 *     same_integers MODEL.onnx LEVEL REGIONS DEVICE:CONFIG...     REGIONS: how many there must be (0: any)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graphs.h"
#include "vtac/onnx.h"

enum { RUNS = 2 };

/* The host's answers: the outputs of each run, one after the other. */
typedef struct answers {
    uint8_t *bytes;
    size_t size; /* of a run */
} answers;

static vta_status load(const char *path, const graph_way *way, graph_model *out, vta_diag *diag)
{
    vtac_graph *graph = NULL;
    const vtac_import_options import = {0};
    VTA_TRY(vtac_onnx_load(path, &import, &graph, diag));
    return graph_compile(graph, way, out, diag);
}

static size_t output_bytes(const vta_model *model)
{
    size_t size = 0;
    for (uint32_t i = 0; i < vta_model_output_count(model); i++) {
        size += vta_model_output(model, i).bytes;
    }
    return size;
}

/* Runs with the inputs of a run, and copies the outputs, if they are wanted. */
static vta_status run(vta_model *model, uint64_t number, uint8_t *to, vta_diag *diag)
{
    graph_fill(model, number);
    VTA_TRY(vta_model_run(model, diag));
    for (uint32_t i = 0; i < vta_model_output_count(model); i++) {
        const size_t bytes = vta_model_output(model, i).bytes;
        memcpy(to, vta_model_output_data(model, i), bytes);
        to += bytes;
    }
    return VTA_OK;
}

static vta_status ask_host(const char *path, int level, answers *out, vta_diag *diag)
{
    graph_model m;
    VTA_TRY(load(path, &(graph_way){.level = level}, &m, diag));
    out->size = output_bytes(m.model);
    out->bytes = calloc(RUNS, out->size);
    vta_status status = out->bytes != NULL ? VTA_OK : vta_fail(diag, VTA_NOMEM, "out of memory");
    for (uint64_t r = 0; r < RUNS && status == VTA_OK; r++) {
        status = run(m.model, r, out->bytes + r * out->size, diag);
    }
    graph_model_free(&m);
    if (status == VTA_OK && memcmp(out->bytes, out->bytes + out->size, out->size) == 0) {
        status = vta_fail(diag, VTA_INVALID, "other inputs change nothing: this would prove nothing");
    }
    return status;
}

static vta_status compare(graph_model *m, const answers *host, vta_diag *diag)
{
    uint8_t *got = calloc(1, host->size + 1);
    vta_status status = got != NULL ? VTA_OK : vta_fail(diag, VTA_NOMEM, "out of memory");
    if (status == VTA_OK && output_bytes(m->model) != host->size) {
        status = vta_fail(diag, VTA_INVALID, "it has other outputs than on the host");
    }
    for (uint64_t r = 0; r < RUNS && status == VTA_OK; r++) {
        const uint8_t *want = host->bytes + r * host->size;
        status = run(m->model, r, got, diag);
        for (size_t i = 0; i < host->size && status == VTA_OK; i++) {
            if (got[i] != want[i]) {
                status = vta_fail(diag, VTA_INVALID, "run %" PRIu64 ": byte %zu is %d, on the host %d", r, i,
                                  got[i], want[i]);
            }
        }
    }
    free(got);
    return status;
}

static bool check(const char *path, int level, uint32_t regions, const char *device, const answers *host)
{
    vta_config config;
    vta_diag diag = {0};
    graph_model m = {0};
    const char *name = strchr(device, ':');
    vta_status status = name != NULL ? vta_config_load(name + 1, &config, &diag)
                                     : vta_fail(&diag, VTA_INVALID, "it names no configuration");
    const graph_way way = {.device = device, .config = &config, .level = level, .pays = regions > 0};
    status = status == VTA_OK ? load(path, &way, &m, &diag) : status;
    if (status == VTA_OK && regions > 0 && m.regions != regions) {
        status = vta_fail(&diag, VTA_INVALID, "%u regions, not %u", m.regions, regions);
    }
    status = status == VTA_OK ? compare(&m, host, &diag) : status;
    (void)printf("%s %s on %s: %u regions, %u layers, %" PRIu64 " multiplications, %" PRIu64 " cycles%s%s\n",
                 status == VTA_OK ? "ok  " : "FAIL",
                 strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path, device, m.regions, m.layers,
                 m.macs, m.model != NULL ? vta_model_cycles(m.model) : 0, status == VTA_OK ? "" : ": ",
                 diag.text);
    (void)fflush(stdout);
    graph_model_free(&m);
    return status == VTA_OK;
}

int main(int argc, char **argv)
{
    answers host = {0};
    vta_diag diag = {0};
    bool good = true;
    if (argc < 5) {
        (void)fprintf(stderr, "usage: %s MODEL.onnx LEVEL REGIONS DEVICE:CONFIG...\n", argv[0]);
        return 2;
    }
    const int level = (int)strtol(argv[2], NULL, 10);
    const uint32_t regions = (uint32_t)strtoul(argv[3], NULL, 10);
    if (ask_host(argv[1], level, &host, &diag) != VTA_OK) {
        (void)printf("FAIL %s: %s\n", argv[1], diag.text);
        good = false;
    }
    for (int i = 4; i < argc && good; i++) {
        good = check(argv[1], level, regions, argv[i], &host);
    }
    free(host.bytes);
    return !good;
}
