/* SPDX-License-Identifier: Apache-2.0
 *
 * vta_nets [DEVICE [CONFIG [NET]]]: schedules networks and, on a device with a clock, prints what each layer
 * was predicted to take and what it took. A layer ends with the last instruction that it has in any unit.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nets.h"
#include "temporary.h"

/* The end of each layer's last instruction in the timeline's last run, from that run's start on. */
static void read_ends(const char *file, const vta_program *program, uint64_t *ends, uint32_t layers)
{
    char line[1024];
    uint64_t start = 0;
    FILE *in = fopen(file, "r");
    while (in != NULL && fgets(line, sizeof line, in) != NULL) {
        const char *run = strstr(line, "\"name\":\"run "), *when = strstr(line, "\"ts\":");
        const char *insn = strstr(line, "\"insn\":"), *end = strstr(line, "\"end\":");
        if (run != NULL && when != NULL) {
            start = strtoull(when + 5, NULL, 10);
            memset(ends, 0, layers * sizeof *ends);
        }
        if (insn == NULL || end == NULL || strstr(line, "\"unit\":\"load\"") != NULL) {
            continue;
        }
        const uint64_t number = strtoull(insn + 7, NULL, 10), over = strtoull(end + 6, NULL, 10) - start;
        const uint32_t tag = number < program->insn_count ? program->tags[number] : 0;
        if (tag > 0 && tag <= layers && over > ends[tag - 1]) {
            ends[tag - 1] = over;
        }
    }
    if (in != NULL) {
        (void)fclose(in);
    }
}

/* The layer whose instructions run at place n: where a sum was joined with its convolution, that one; a layer
 * that runs elsewhere has none (-1). */
static int64_t layer_at(const vtac_vta_image *image, uint32_t n)
{
    if (image->plans[n].joined_into >= 0) {
        return image->plans[n].joined_into;
    }
    for (uint32_t sum = 0; sum < image->plan_count; sum++) {
        if (image->plans[sum].joined_into == (int32_t)n) {
            return -1;
        }
    }
    return n;
}

/* Prints the table; returns how many layers of a hundred were predicted within a tenth. */
static uint32_t print_layers(const lab_region *lab, const vtac_vta_image *image, const uint64_t *ends)
{
    uint64_t before = 0;
    uint32_t near = 0, counted = 0;
    printf("%-12s %-16s %10s %10s %7s %9s %9s %9s %9s  %s\n", "layer", "output", "predicted", "measured",
           "error", "array", "alu", "load", "store", "schedule");
    for (uint32_t place = 0; place < lab->region.layer_count; place++) {
        const int64_t n = layer_at(image, place);
        if (n < 0) {
            continue;
        }
        const vtac_vta_tensor *to = &lab->tensors[lab->layers[n].output];
        const vtac_vta_plan *plan = &image->plans[n];
        const uint64_t took = ends[n] > before ? ends[n] - before : 0;
        char shape[40];
        if (took == 0) {
            continue; /* computed with another, or where it is needed */
        }
        const double error = ((double)plan->cost.cycles / (double)took - 1) * 100;
        (void)snprintf(shape, sizeof shape, "%" PRId64 "x%" PRId64 "x%" PRId64, to->c, to->h, to->w);
        printf("%-12s %-16s %10" PRIu64 " %10" PRIu64 " %6.1f%% %9" PRIu64 " %9" PRIu64 " %9" PRIu64
               " %9" PRIu64 "  %s\n",
               lab->layers[n].name, shape, plan->cost.cycles, took, error, plan->cost.array, plan->cost.alu,
               plan->cost.load, plan->cost.store, plan->schedule);
        before = ends[n];
        near += error < 10 && error > -10;
        counted++;
    }
    printf("within 10%%: %" PRIu32 " of %" PRIu32 " layers\n", near, counted);
    return near * 100 / counted;
}

/* One run; `got` gets the outputs. */
static vta_status run(lab_device *device, const lab_region *lab, uint32_t round, bool check,
                      vta_report *report, vta_diag *diag)
{
    lab_values want, got = {{NULL}};
    char text[200];
    lab_draw_inputs(lab, round, &want);
    vta_status status = lab_device_run(device, &want, &got, report, diag);
    if (status == VTA_OK && check) {
        lab_reference(lab, &want);
        if (lab_differ(lab, &want, &got, text, sizeof text)) {
            status = vta_fail(diag, VTA_INVALID, "round %" PRIu32 ": %s", round, text);
        }
    }
    lab_values_free(&want);
    lab_values_free(&got);
    return status;
}

static vta_status judge(const lab_net *net, const vta_config *config, uint32_t percent, uint64_t cycles,
                        vta_diag *diag)
{
    if (percent < 90) {
        return vta_fail(diag, VTA_INVALID, "%" PRIu32 " layers of 100 predicted within a tenth, 90 wanted",
                        percent);
    }
    if (strcmp(config->name, "pynq") == 0 && cycles > net->most_cycles) {
        return vta_fail(diag, VTA_INVALID, "%" PRIu64 " cycles, at most %" PRIu64 " wanted", cycles,
                        net->most_cycles);
    }
    return VTA_OK;
}

typedef struct task {
    const char *uri;
    const vta_config *config;
    bool check;
    const char *timeline; /* a file to write it to */
} task;

static vta_status measure(const lab_net *net, const lab_region *lab, const vtac_vta_image *image,
                          const task *t, vta_diag *diag)
{
    lab_device *device = NULL;
    vta_report report = {0};
    const bool clock = strncmp(t->uri, "fsim", 4) != 0;
    char full[512];
    (void)snprintf(full, sizeof full, clock ? "%s?timeline=%s" : "%s", t->uri, t->timeline);
    vta_status status = lab_device_open(full, lab, image, &device, diag);
    for (uint32_t round = t->check ? 2 : 1; round-- > 0 && status == VTA_OK;) {
        status = run(device, lab, round, t->check, &report, diag);
    }
    lab_device_close(device);
    if (status != VTA_OK || !clock) {
        return status;
    }
    uint64_t ends[LAB_LAYERS] = {0};
    const vta_counters *c = &report.counters;
    read_ends(t->timeline, &image->program, ends, lab->region.layer_count);
    const uint32_t percent = print_layers(lab, image, ends);
    printf("measured %" PRIu64 " cycles; gemm %" PRIu64 " depthwise %" PRIu64 " alu %" PRIu64
           " requant %" PRIu64 "; bytes fetch %" PRIu64 " uop %" PRIu64 " wgt %" PRIu64 " inp %" PRIu64
           " acc %" PRIu64 " out %" PRIu64 "\n",
           c->cycles, c->gemm_steps, c->depthwise_steps, c->alu_steps, c->requant_steps, c->fetch_bytes,
           c->uop_bytes, c->wgt_bytes, c->inp_bytes, c->acc_bytes, c->out_bytes);
    return t->check ? judge(net, t->config, percent, c->cycles, diag) : VTA_OK;
}

static vta_status bench(const lab_net *net, const task *t, vta_diag *diag)
{
    static lab_region lab;
    vtac_vta_image image;
    const vtac_vta_options options = {.level = 3};
    lab_init(&lab, 1);
    net->build(&lab);
    lab_finish(&lab);
    vta_status status = vtac_vta_schedule(t->config, &lab.region, &options, &image, diag);
    if (status == VTA_OK) {
        printf("%s at %s: predicted %" PRIu64 " cycles; %" PRIu32 " instructions, %" PRIu64
               " bytes of constants, %" PRIu64 " of activations\n",
               net->name, t->config->name, image.cycles, image.program.insn_count, image.constant_bytes,
               image.work_bytes);
        status = strcmp(t->uri, "none") == 0 ? VTA_OK : measure(net, &lab, &image, t, diag);
        vtac_vta_image_free(&image);
    }
    lab_free(&lab);
    return status;
}

static int bench_all(const char *only, const task *t, vta_diag *diag)
{
    for (uint32_t i = 0; i < lab_net_count; i++) {
        if ((only == NULL || strcmp(only, lab_nets[i].name) == 0) && bench(&lab_nets[i], t, diag) != VTA_OK) {
            fprintf(stderr, "%s: %s\n", lab_nets[i].name, diag->text);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    const bool check = argc > 1 && strcmp(argv[1], "--check") == 0;
    char **words = argv + check;
    const int count = argc - check;
    char file[TEMPORARY_PATH];
    vta_config config;
    vta_diag diag = {0};
    if (vta_config_load(count > 2 ? words[2] : "pynq", &config, &diag) != VTA_OK ||
        (count > 3 && lab_net_named(words[3]) == NULL)) {
        fprintf(stderr, "usage: vta_nets [--check] [DEVICE|none [CONFIG [NET]]]; %s\n", diag.text);
        return 2;
    }
    if (!temporary_file(file, "")) {
        fprintf(stderr, "cannot write %s\n", file);
        return 1;
    }
    const task t = {count > 1 ? words[1] : "tsim:pynq", &config, check, file};
    const int result = bench_all(count > 3 ? words[3] : NULL, &t, &diag);
    (void)unlink(file);
    return result;
}
