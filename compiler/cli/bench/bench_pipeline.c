/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac bench MODEL --pipeline: pictures a second, one after the other, and with the host's work on one
 * overlapping the accelerator's on another.
 *
 * Both ways are run, and must give the same bytes. The times are those of a board: the accelerator's are its
 * cycles over its clock, the processor's are measured here, of one thread, and scaled by --slower. An account
 * of who has to wait for whom makes rates of them, so that they do not depend on how fast the simulator is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "bench_model.h"
#include "inputs.h"
#include "table.h"
#include "vta/fail.h"

enum { MODELS = 2, IMAGES = 4, ACCOUNTED = 200, HOST = 0, ACCELERATOR = 1, PLACES = 2 };

typedef struct pipeline {
    const cli_args *args;
    cli_inputs inputs;
    vta_device *device;
    vta_model *models[MODELS];
    uint32_t images, cases, step_count;
    double slower;
    double *before; /* seconds before each image's first step: reading, decoding, scaling it */
    double *steps;  /* seconds of each step, the least of all images */
    bool *there;    /* whether the step is the accelerator's */
    uint64_t cycles;
    uint8_t *outputs; /* of each image */
    size_t output_bytes;
} pipeline;

static double thread_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- running */

static vta_status bind_image(pipeline *p, uint32_t model, uint32_t image, vta_diag *diag)
{
    const double begin = thread_seconds();
    VTA_TRY(cli_bind_case(&p->inputs, p->models[model], image % p->cases, diag));
    p->before[image] = thread_seconds() - begin;
    return VTA_OK;
}

static void keep_outputs(const vta_model *model, uint8_t *to)
{
    for (uint32_t i = 0; i < vta_model_output_count(model); i++) {
        const size_t bytes = vta_model_output(model, i).bytes;
        memcpy(to, vta_model_output_data(model, i), bytes);
        to += bytes;
    }
}

static bool same_outputs(const vta_model *model, const uint8_t *as)
{
    for (uint32_t i = 0; i < vta_model_output_count(model); i++) {
        const size_t bytes = vta_model_output(model, i).bytes;
        if (memcmp(as, vta_model_output_data(model, i), bytes) != 0) {
            return false;
        }
        as += bytes;
    }
    return true;
}

/* `spent`: of this thread, which is what runs the host's steps; their own clock has seen others' work, too.
 */
static void note_steps(pipeline *p, const vta_step_profile *steps, double spent, bool first)
{
    const double clock = 1e6 * vta_device_config(p->device)->clock_mhz;
    double seen = 0;
    for (uint32_t i = 0; i < p->step_count; i++) {
        seen += steps[i].on_accelerator ? 0 : steps[i].seconds;
    }
    const double share = spent < seen ? spent / seen : 1;
    p->cycles = 0;
    for (uint32_t i = 0; i < p->step_count; i++) {
        const double seconds =
            steps[i].on_accelerator ? (double)steps[i].cycles / clock : p->slower * share * steps[i].seconds;
        p->there[i] = steps[i].on_accelerator != 0;
        p->steps[i] = first || seconds < p->steps[i] ? seconds : p->steps[i];
        p->cycles += steps[i].cycles;
    }
}

static vta_status run_sequential(pipeline *p, vta_diag *diag)
{
    for (uint32_t i = 0; i < p->images; i++) {
        const vta_step_profile *steps;
        uint32_t count;
        VTA_TRY(bind_image(p, 0, i, diag));
        const double begin = thread_seconds();
        VTA_TRY(vta_model_profile(p->models[0], &steps, &count, diag));
        note_steps(p, steps, thread_seconds() - begin, i == 0);
        keep_outputs(p->models[0], p->outputs + i * p->output_bytes);
    }
    return p->cycles > 0
               ? VTA_OK
               : vta_fail(diag, VTA_UNSUPPORTED,
                          "'%s' tells no cycles of this model: compile it with --target vta, and use "
                          "tsim, systemc or a board",
                          vta_device_uri(p->device));
}

/* The end of what model i % MODELS does with image i; nothing before the first. */
static vta_status finish_stage(pipeline *p, int64_t image, vta_diag *diag)
{
    if (image < 0) {
        return VTA_OK;
    }
    vta_model *model = p->models[image % MODELS];
    VTA_TRY(vta_model_wait(model, -1, diag));
    return same_outputs(model, p->outputs + (size_t)image * p->output_bytes)
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID,
                          "image %lld has other outputs when it overlaps with its neighbours",
                          (long long)image);
}

static vta_status start_image(pipeline *p, uint32_t image, vta_diag *diag)
{
    vta_model *model = p->models[image % MODELS];
    VTA_TRY(finish_stage(p, (int64_t)image - MODELS, diag));
    VTA_TRY(cli_bind_case(&p->inputs, model, image % p->cases, diag));
    return vta_model_start(model, diag);
}

static vta_status run_overlapped(pipeline *p, vta_diag *diag)
{
    int64_t started = 0;
    vta_status status = VTA_OK;
    for (; status == VTA_OK && started < p->images; started += status == VTA_OK) {
        status = start_image(p, (uint32_t)started, diag);
    }
    for (int64_t i = started - MODELS; i < started; i++) {
        const vta_status last = finish_stage(p, i, status == VTA_OK ? diag : NULL);
        if (status == VTA_OK) {
            status = last;
        }
    }
    return status;
}

/* ---- the account */

typedef struct slot {
    uint32_t image, next; /* what it works on; the next of its parts: 0 is what comes before the steps */
    double ready;
    bool idle;
} slot;

/* Images a second with so many at work at once: whoever can go on first, goes on. */
static double images_per_second(const pipeline *p, uint32_t at_once)
{
    const uint32_t images = p->images > 0 ? p->images : 1;
    double free_at[PLACES] = {0};
    slot slots[MODELS] = {{0}};
    uint32_t next = 0;
    double end = 0;
    for (uint32_t s = 0; s < at_once; s++) {
        slots[s] = (slot){.image = next, .idle = next >= ACCOUNTED};
        next++;
    }
    for (;;) {
        slot *first = NULL;
        double begin = 0;
        uint32_t place = HOST;
        for (uint32_t s = 0; s < at_once; s++) {
            slot *own = &slots[s];
            const uint32_t at = own->next > 0 && p->there[own->next - 1] ? ACCELERATOR : HOST;
            const double can = own->ready > free_at[at] ? own->ready : free_at[at];
            if (!own->idle &&
                (first == NULL || can < begin || (!(can > begin) && own->image < first->image))) {
                first = own;
                begin = can;
                place = at;
            }
        }
        if (first == NULL) {
            return ACCOUNTED / end;
        }
        const double takes =
            first->next == 0 ? p->slower * p->before[first->image % images] : p->steps[first->next - 1];
        first->ready = begin + takes;
        free_at[place] = first->ready;
        end = first->ready > end ? first->ready : end;
        if (++first->next > p->step_count) {
            *first = (slot){.image = next, .ready = first->ready, .idle = next >= ACCOUNTED};
            next++;
        }
    }
}

static double stage_seconds(const pipeline *p, bool there)
{
    double sum = 0;
    for (uint32_t i = 0; i < p->step_count; i++) {
        sum += p->there[i] == there ? p->steps[i] : 0;
    }
    return sum;
}

static void print_pipeline(const pipeline *p)
{
    double before = 0;
    for (uint32_t i = 0; i < p->images; i++) {
        before += p->slower * p->before[i] / p->images;
    }
    const double sequential = images_per_second(p, 1);
    const double overlapped = images_per_second(p, MODELS);
    const uint32_t clock = vta_device_config(p->device)->clock_mhz;
    if (cli_flag(p->args, "--json")) {
        cli_print("{\"model\": ");
        cli_json_string(p->args->operands[0]);
        cli_print(", \"device\": ");
        cli_json_string(vta_device_uri(p->device));
        cli_print(
            ", \"images\": %u, \"clock_mhz\": %u, \"cycles\": %llu, \"slower\": %g, \"before_ms\": %.4f, "
            "\"host_ms\": %.4f, \"accelerator_ms\": %.4f, \"in_turn_per_s\": %.4f, "
            "\"overlapped_per_s\": %.4f, \"gain\": %.4f}\n",
            p->images, clock, (unsigned long long)p->cycles, p->slower, 1e3 * before,
            1e3 * stage_seconds(p, false), 1e3 * stage_seconds(p, true), sequential, overlapped,
            overlapped / sequential);
        return;
    }
    cli_sentence(0, "%s on %s: %.2f images a second one after the other, %.2f overlapped: %.2f times",
                 p->args->operands[0], vta_device_uri(p->device), sequential, overlapped,
                 overlapped / sequential);
    cli_sentence(0,
                 "each: %.2f ms before the first step, %.2f ms on the host, %.2f ms on the accelerator (%llu "
                 "cycles at "
                 "%u MHz); %u images, the same bytes both ways; a processor %g times as slow as this one",
                 1e3 * before, 1e3 * stage_seconds(p, false), 1e3 * stage_seconds(p, true),
                 (unsigned long long)p->cycles, clock, p->images, p->slower);
}

/* ---- opening */

/* The device, open for several, in the configuration that the model asks for. */
static vta_status open_shared(pipeline *p, const vta_model_options *options, const char *path, vta_diag *diag)
{
    vta_model *only;
    VTA_TRY(vta_model_load(path, options, &only, diag));
    const vta_device *own = vta_model_device(only);
    const vta_config config = own != NULL ? *vta_device_config(own) : (vta_config){0};
    vta_model_destroy(only);
    if (own == NULL) {
        return vta_fail(diag, VTA_UNSUPPORTED, "nothing of it runs on an accelerator of this machine");
    }
    return vta_device_open_progress(options->device, &config, options->progress, &p->device, diag);
}

static vta_status make_room(pipeline *p, vta_diag *diag)
{
    for (uint32_t i = 0; i < vta_model_output_count(p->models[0]); i++) {
        p->output_bytes += vta_model_output(p->models[0], i).bytes;
    }
    (void)vta_model_steps(p->models[0], &p->step_count);
    p->before = calloc(p->images, sizeof *p->before);
    p->steps = calloc((size_t)p->step_count + 1, sizeof *p->steps);
    p->there = calloc((size_t)p->step_count + 1, sizeof *p->there);
    p->outputs = calloc(p->images, p->output_bytes + 1);
    return vta_allocated(p->before != NULL && p->steps != NULL && p->there != NULL && p->outputs != NULL,
                         diag);
}

static vta_status measure_pipeline(pipeline *p, const vta_model_options *options, const char *path,
                                   vta_diag *diag)
{
    VTA_TRY(open_shared(p, options, path, diag));
    vta_model_options own = *options;
    own.shared = p->device;
    own.device = NULL;
    own.threads = own.threads > 0 ? own.threads : 1;
    for (uint32_t i = 0; i < MODELS; i++) {
        VTA_TRY(vta_model_load(path, &own, &p->models[i], diag));
    }
    VTA_TRY(cli_count_cases(&p->inputs, p->models[0], &p->cases, diag));
    p->cases = p->cases > 0 ? p->cases : 1;
    VTA_TRY(make_room(p, diag));
    VTA_TRY(run_sequential(p, diag));
    VTA_TRY(run_overlapped(p, diag));
    print_pipeline(p);
    return VTA_OK;
}

vta_status cli_bench_pipeline(const cli_args *args, const vta_model_options *options, const char *path,
                              uint64_t images, double slower, vta_diag *diag)
{
    pipeline p = {
        .args = args, .images = images == 0 ? (uint32_t)IMAGES : (uint32_t)images, .slower = slower};
    if (cli_read_inputs(args, &p.inputs) != CLI_OK) {
        return vta_fail(diag, VTA_INVALID, "the inputs are not understood");
    }
    const vta_status status = measure_pipeline(&p, options, path, diag);
    for (uint32_t i = 0; i < MODELS; i++) {
        vta_model_destroy(p.models[i]);
    }
    vta_device_close(p.device);
    free(p.before);
    free(p.steps);
    free(p.there);
    free(p.outputs);
    return status;
}
