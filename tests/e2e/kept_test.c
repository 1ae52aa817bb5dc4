/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights that stay on chip: the outputs are those of a device that keeps nothing, whatever ran in between,
 * and on a device with a clock a run is short exactly where the chip still holds what the run before left. It
 * fails where a device takes for kept what another program wrote over, or loads what it need not.
 *
 *     kept DEVICE MODEL.so OTHER.so SEED     both compiled for the device's configuration
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"
#include "vta/model.h"

typedef struct pair {
    vta_model *kept, *fresh; /* of one file: on the device under test; on one that keeps nothing */
    uint64_t first, again;   /* cycles of a run behind something else; behind its own; 0: not known yet */
    const char *name;
} pair;

typedef struct bench {
    vta_device *device;
    rng random;
    bool has_clock;
    uint32_t wrong;
} bench;

static void stop_if(vta_status status, const vta_diag *diag)
{
    if (status != VTA_OK) {
        (void)printf("FAIL %s\n", diag->text);
        exit(1);
    }
}

static void open_pair(const bench *b, const char *uri, const char *path, pair *out)
{
    char without[512];
    vta_diag diag = {0};
    (void)snprintf(without, sizeof without, "%s%skeep=0", uri, strchr(uri, '?') != NULL ? "&" : "?");
    const vta_model_options shared = {.size = sizeof shared, .shared = b->device, .threads = 1};
    const vta_model_options own = {.size = sizeof own, .device = without, .threads = 1};
    *out = (pair){.name = path};
    stop_if(vta_model_load(path, &shared, &out->kept, &diag), &diag);
    stop_if(vta_model_load(path, &own, &out->fresh, &diag), &diag);
}

static void close_pair(pair *p)
{
    vta_model_destroy(p->kept);
    vta_model_destroy(p->fresh);
}

static void draw_inputs(bench *b, const pair *p)
{
    vta_diag diag = {0};
    for (uint32_t i = 0; i < vta_model_input_count(p->kept); i++) {
        const vta_tensor_info info = vta_model_input(p->kept, i);
        uint8_t *bytes = malloc(info.bytes);
        for (size_t k = 0; k < info.bytes; k++) {
            bytes[k] = (uint8_t)rng_next(&b->random);
        }
        /* floats of moderate size, whatever the bits of their fractions */
        for (size_t k = 3; info.dtype_code == 2 && k < info.bytes; k += 4) {
            bytes[k] = (uint8_t)(0x3f | (bytes[k] & 0x80));
        }
        stop_if(vta_model_set_input(p->kept, i, bytes, info.bytes, &diag), &diag);
        stop_if(vta_model_set_input(p->fresh, i, bytes, info.bytes, &diag), &diag);
        free(bytes);
    }
}

static bool same_outputs(const pair *p)
{
    bool same = true;
    for (uint32_t i = 0; i < vta_model_output_count(p->kept); i++) {
        const vta_tensor_info info = vta_model_output(p->kept, i);
        same = same &&
               memcmp(vta_model_output_data(p->kept, i), vta_model_output_data(p->fresh, i), info.bytes) == 0;
    }
    return same;
}

/* True if a run took as long as the others of its kind. */
static bool takes(uint64_t *known, uint64_t cycles)
{
    enum { APART = 64 }; /* cycles of the memory, which a run finds in another state */
    *known = *known == 0 ? cycles : *known;
    return cycles + APART >= *known && cycles <= *known + APART;
}

/* Runs a pair on new inputs; `again`: the chip holds what its last run left. */
static void run_pair(bench *b, pair *p, bool again, const char *why)
{
    vta_diag diag = {0};
    draw_inputs(b, p);
    stop_if(vta_model_run(p->kept, &diag), &diag);
    stop_if(vta_model_run(p->fresh, &diag), &diag);
    const uint64_t cycles = vta_model_cycles(p->kept);
    const bool same = same_outputs(p);
    const bool timely = !b->has_clock || takes(again ? &p->again : &p->first, cycles);
    const bool faster = !b->has_clock || p->again == 0 || p->first == 0 || p->again < p->first;
    (void)printf("%s %s, %s: %llu cycles%s\n", same && timely && faster ? "ok  " : "FAIL", p->name, why,
                 (unsigned long long)cycles, same ? "" : ", other outputs");
    b->wrong += !(same && timely && faster);
}

static void run_all(bench *b, pair *one, pair *other)
{
    vta_diag diag = {0};
    run_pair(b, one, false, "its first run");
    run_pair(b, one, true, "its second run");
    run_pair(b, one, true, "its third run");
    run_pair(b, other, false, "behind another model");
    run_pair(b, one, false, "behind another model");
    run_pair(b, other, false, "in turn with another model");
    run_pair(b, other, true, "behind itself");
    run_pair(b, one, false, "in turn with another model");
    run_pair(b, one, true, "behind itself");
    stop_if(vta_device_reset(b->device, &diag), &diag);
    run_pair(b, one, false, "behind a reset");
    run_pair(b, one, true, "behind itself");
}

/* A second model of the same file has its program and its constants elsewhere. */
static void run_twin(bench *b, const char *uri, const char *path, pair *one)
{
    pair twin;
    open_pair(b, uri, path, &twin);
    run_pair(b, &twin, false, "a twin's first run");
    run_pair(b, one, false, "behind its twin");
    close_pair(&twin);
    run_pair(b, one, true, "behind the end of its twin");
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        (void)fprintf(stderr, "usage: kept DEVICE MODEL.so OTHER.so SEED\n");
        return 2;
    }
    vta_diag diag = {0};
    bench b = {.has_clock = strncmp(argv[1], "fsim", 4) != 0,
               .random = rng_split(strtoull(argv[4], NULL, 10), 0)};
    pair one, other;
    (void)printf("seed %s\n", argv[4]);
    stop_if(vta_device_open(argv[1], NULL, &b.device, &diag), &diag);
    open_pair(&b, argv[1], argv[2], &one);
    open_pair(&b, argv[1], argv[3], &other);
    run_all(&b, &one, &other);
    run_twin(&b, argv[1], argv[2], &one);
    close_pair(&one);
    close_pair(&other);
    vta_device_close(b.device);
    return b.wrong > 0;
}
