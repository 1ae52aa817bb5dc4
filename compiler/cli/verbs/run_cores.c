/* SPDX-License-Identifier: Apache-2.0
 *
 * See run_cores.h. Each core has a model of its own, whose device is that core; outputs go to memory of the
 * picture's own, so that they can be told in order afterwards.
 */
#include "run_cores.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "vta/clock.h"
#include "vta/cores.h"
#include "vta/fail.h"

typedef struct batch_picture {
    uint8_t **outputs; /* owned, each */
    uint32_t core;
    uint64_t cycles;
} batch_picture;

typedef struct batch_run {
    const cli_batch *batch;
    vta_cores *cores;
    vta_model *models[VTA_CORES_MAX]; /* the first is the caller's */
    uint32_t core_count, output_count;
    batch_picture *pictures;
    pthread_mutex_t inputs; /* files are read by one thread at a time */
    double seconds;
    uint64_t alone; /* cycles of one core's share of the pictures, with the others idle */
} batch_run;

static void stop_models(void *context)
{
    const batch_run *run = context;
    for (uint32_t i = 0; i < run->core_count; i++) {
        if (run->models[i] != NULL) {
            vta_model_interrupt(run->models[i]);
        }
    }
}

static vta_status bind_outputs(const batch_run *run, vta_model *model, const batch_picture *picture,
                               vta_diag *diag)
{
    for (uint32_t i = 0; i < run->output_count; i++) {
        VTA_TRY(vta_model_bind_output(model, i, picture->outputs[i], vta_model_output(model, i).bytes, diag));
    }
    return VTA_OK;
}

static vta_status bind_input(batch_run *run, vta_model *model, uint32_t picture, vta_diag *diag)
{
    pthread_mutex_lock(&run->inputs);
    const vta_status status = cli_bind_case(run->batch->inputs, model, picture % run->batch->cases, diag);
    pthread_mutex_unlock(&run->inputs);
    return status;
}

static vta_status run_picture(void *context, uint32_t core, uint32_t item, vta_diag *diag)
{
    batch_run *run = context;
    batch_picture *picture = &run->pictures[item];
    vta_model *model = run->models[core];
    VTA_TRY(bind_input(run, model, item, diag));
    VTA_TRY(bind_outputs(run, model, picture, diag));
    VTA_TRY(vta_model_run(model, diag));
    picture->core = core;
    picture->cycles = vta_model_cycles(model);
    return VTA_OK;
}

/* ---- setting up */

static vta_status allocate_picture(const batch_run *run, batch_picture *picture, vta_diag *diag)
{
    enum { ALIGN = 64 };
    picture->outputs = calloc((size_t)run->output_count + 1, sizeof *picture->outputs);
    for (uint32_t i = 0; picture->outputs != NULL && i < run->output_count; i++) {
        const size_t bytes = vta_model_output(run->models[0], i).bytes;
        if (bytes == 0) {
            return vta_fail(
                diag, VTA_UNSUPPORTED,
                "the size of output '%s' is known when a run is over: such a model runs on one core "
                "('--cores 1')",
                vta_model_output(run->models[0], i).name);
        }
        picture->outputs[i] = aligned_alloc(ALIGN, (bytes + ALIGN - 1) / ALIGN * ALIGN);
        if (picture->outputs[i] == NULL) {
            return vta_no_memory(diag);
        }
    }
    return picture->outputs != NULL ? VTA_OK : vta_no_memory(diag);
}

static vta_status set_up(batch_run *run, vta_diag *diag)
{
    const cli_batch *batch = run->batch;
    vta_device *first = vta_model_device(run->models[0]);
    run->output_count = vta_model_output_count(run->models[0]);
    run->pictures = calloc(batch->pictures, sizeof *run->pictures);
    if (run->pictures == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < batch->pictures; i++) {
        VTA_TRY(allocate_picture(run, &run->pictures[i], diag));
    }
    run->core_count = vta_device_cores(first);
    VTA_TRY(vta_cores_open(first, run->core_count, &run->cores, diag));
    for (uint32_t i = 1; i < run->core_count; i++) {
        vta_model_options options = *batch->options;
        options.size = sizeof options;
        options.shared = vta_cores_device(run->cores, i);
        VTA_TRY(vta_model_load(batch->path, &options, &run->models[i], diag));
    }
    return VTA_OK;
}

static void free_run(batch_run *run)
{
    for (uint32_t i = 0; run->pictures != NULL && i < run->batch->pictures; i++) {
        for (uint32_t k = 0; run->pictures[i].outputs != NULL && k < run->output_count; k++) {
            free(run->pictures[i].outputs[k]);
        }
        free(run->pictures[i].outputs);
    }
    for (uint32_t k = 0; k < run->output_count; k++) {
        (void)vta_model_bind_output(run->models[0], k, NULL, 0, NULL);
    }
    for (uint32_t i = 1; i < VTA_CORES_MAX; i++) {
        vta_model_destroy(run->models[i]);
    }
    free(run->pictures);
    vta_cores_close(run->cores);
    pthread_mutex_destroy(&run->inputs);
}

/* ---- running */

/* Runs a core's share of the batch on the first core alone, from the same state as in the batch. */
static vta_status run_alone(batch_run *run, vta_diag *diag)
{
    const uint32_t count = (run->batch->pictures + run->core_count - 1) / run->core_count;
    for (uint32_t i = 0; i < count; i++) {
        VTA_TRY(run_picture(run, 0, i, diag));
        run->alone += run->pictures[i].cycles;
    }
    return run->alone > 0 ? vta_device_reset(vta_cores_device(run->cores, 0), diag) : VTA_OK;
}

static vta_status run_all(batch_run *run, vta_diag *diag)
{
    VTA_TRY(set_up(run, diag));
    cli_catch_signals(stop_models, run);
    vta_status status = run_alone(run, diag);
    const double begin = vta_now();
    if (status == VTA_OK) {
        status = vta_cores_run(run->cores, run->batch->pictures, run_picture, run, diag);
    }
    run->seconds = vta_now() - begin;
    cli_catch_signals(NULL, NULL);
    return status;
}

/* ---- results */

/* Cycles until the last core is ready. The host's own work takes no simulated time. */
static uint64_t batch_cycles(const batch_run *run)
{
    uint64_t sums[VTA_CORES_MAX] = {0}, largest = 0;
    for (uint32_t i = 0; i < run->batch->pictures; i++) {
        uint64_t *sum = &sums[run->pictures[i].core];
        *sum += run->pictures[i].cycles;
        largest = *sum > largest ? *sum : largest;
    }
    return largest;
}

/* The pictures that one core alone makes in the time of the batch, against those of the batch. */
static double scaling(const batch_run *run, uint64_t cycles)
{
    const uint32_t share = (run->batch->pictures + run->core_count - 1) / run->core_count;
    return cycles > 0 ? (double)run->batch->pictures / share * (double)run->alone / (double)cycles : 0;
}

static void print_text(const batch_run *run, uint64_t cycles)
{
    const uint32_t pictures = run->batch->pictures;
    const uint32_t share = (pictures + run->core_count - 1) / run->core_count;
    const char *uri = vta_model_device_uri(run->models[0]);
    cli_print("%u pictures on %u cores: %.3f ms\n", pictures, run->core_count, 1e3 * run->seconds);
    if (cycles == 0) {
        return;
    }
    cli_print("%llu cycles on %s: %.1f a picture\n", (unsigned long long)cycles, uri,
              (double)cycles / pictures);
    cli_print("one core alone: %.1f a picture; %u cores are %.2f times as fast\n", (double)run->alone / share,
              run->core_count, scaling(run, cycles));
}

static void print_json(const batch_run *run, uint64_t cycles)
{
    const uint32_t pictures = run->batch->pictures;
    cli_print("\"cores\": %u, \"pictures\": %u, \"wall_s\": %.6f, \"cycles\": %llu, \"cycles_alone\": %llu, "
              "\"scaling\": %.4f, ",
              run->core_count, pictures, run->seconds, (unsigned long long)cycles,
              (unsigned long long)run->alone, scaling(run, cycles));
    cli_print("\"each\": [");
    for (uint32_t i = 0; i < pictures; i++) {
        cli_print("%s{\"core\": %u, \"cycles\": %llu}", i > 0 ? ", " : "", run->pictures[i].core,
                  (unsigned long long)run->pictures[i].cycles);
    }
    cli_print("], ");
}

static vta_status report_batch(batch_run *run, vta_diag *diag)
{
    const cli_batch *batch = run->batch;
    const uint64_t cycles = batch_cycles(run);
    (batch->json ? print_json : print_text)(run, cycles);
    for (uint32_t i = 0; i < batch->pictures; i++) {
        VTA_TRY(bind_outputs(run, run->models[0], &run->pictures[i], diag));
        VTA_TRY(batch->told(batch->context, run->models[0], i, run->pictures[i].cycles, diag));
    }
    return VTA_OK;
}

vta_status cli_batch_run(const cli_batch *batch, vta_model *model, vta_diag *diag)
{
    batch_run run = {.batch = batch, .models = {model}};
    pthread_mutex_init(&run.inputs, NULL);
    vta_status status = run_all(&run, diag);
    if (status == VTA_OK) {
        status = report_batch(&run, diag);
    }
    free_run(&run);
    return status;
}
