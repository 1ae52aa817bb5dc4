/* SPDX-License-Identifier: Apache-2.0
 *
 * vta_nets [DEVICE [CONFIG [NET]]]: schedules networks and, on a device with a clock, prints what each layer
 * was predicted to take and what it took, by the device's account.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nets.h"

/* The cycles that each layer took. */
static void read_account(lab_device *device, const vta_program *program, uint64_t *took, uint32_t layers)
{
    uint32_t count = 0;
    const uint64_t *account = lab_device_account(device, &count);
    for (uint32_t i = 0; i < count && i < program->insn_count; i++) {
        const uint32_t tag = program->tags[i];
        for (uint32_t c = 0; tag > 0 && tag <= layers && c < VTA_CYCLE_CLASSES; c++) {
            took[tag - 1] += account[(size_t)i * VTA_CYCLE_CLASSES + c];
        }
    }
}

/* Prints the table; returns how many layers of a hundred were predicted within a tenth. */
static uint32_t print_layers(const lab_region *lab, const vtac_vta_image *image, const uint64_t *took)
{
    uint32_t near = 0, counted = 0;
    printf("%-12s %-16s %10s %10s %7s %9s %9s %9s %9s  %s\n", "layer", "output", "predicted", "measured",
           "error", "array", "alu", "load", "store", "schedule");
    uint64_t together[LAB_LAYERS][2] = {{0}}; /* predicted and measured, of a group at its last member */
    for (uint32_t n = 0; n < lab->region.layer_count; n++) {
        const vtac_vta_tensor *to = &lab->tensors[lab->layers[n].output];
        const vtac_vta_plan *plan = &image->plans[n];
        char shape[40];
        if (took[n] == 0) {
            continue; /* computed with another, or where it is needed */
        }
        const double error = ((double)plan->cost.cycles / (double)took[n] - 1) * 100;
        (void)snprintf(shape, sizeof shape, "%" PRId64 "x%" PRId64 "x%" PRId64, to->c, to->h, to->w);
        printf("%-12s %-16s %10" PRIu64 " %10" PRIu64 " %6.1f%% %9" PRIu64 " %9" PRIu64 " %9" PRIu64
               " %9" PRIu64 "  %s\n",
               lab->layers[n].name, shape, plan->cost.cycles, took[n], error, plan->cost.array,
               plan->cost.alu, plan->cost.load, plan->cost.store, plan->schedule);
        together[n][0] += plan->cost.cycles;
        together[n][1] += took[n];
        if (plan->feeds >= 0) { /* judged with the one that takes it on chip */
            together[plan->feeds][0] += together[n][0];
            together[plan->feeds][1] += together[n][1];
            continue;
        }
        const double off = ((double)together[n][0] / (double)together[n][1] - 1) * 100;
        near += off < 10 && off > -10;
        counted++;
    }
    printf("within 10%%: %" PRIu32 " of %" PRIu32 " layers\n", near, counted);
    return counted > 0 ? near * 100 / counted : 0;
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
    if (strcmp(config->name, "pynq") == 0 && cycles > net->max_cycles) {
        return vta_fail(diag, VTA_INVALID, "%" PRIu64 " cycles, at most %" PRIu64 " wanted", cycles,
                        net->max_cycles);
    }
    return VTA_OK;
}

typedef struct task {
    const char *uri;
    const vta_config *config;
    bool check;
} task;

static vta_status measure(const lab_net *net, const lab_region *lab, const vtac_vta_image *image,
                          const task *t, vta_diag *diag)
{
    lab_device *device = NULL;
    vta_report report = {0};
    const bool clock = strncmp(t->uri, "fsim", 4) != 0;
    uint64_t took[LAB_LAYERS] = {0};
    vta_status status = lab_device_open(t->uri, lab, image, &device, diag);
    for (uint32_t round = t->check ? 2 : 1; round-- > 0 && status == VTA_OK;) {
        status = run(device, lab, round, t->check, &report, diag);
    }
    if (status == VTA_OK && clock) {
        read_account(device, &image->program, took, lab->region.layer_count);
    }
    lab_device_close(device);
    if (status != VTA_OK || !clock) {
        return status;
    }
    const vta_counters *c = &report.counters;
    const uint32_t percent = print_layers(lab, image, took);
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
    lab.narrow = t->config->wgt4 != 0;
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
    vta_config config;
    vta_diag diag = {0};
    if (vta_config_load(count > 2 ? words[2] : "pynq", &config, &diag) != VTA_OK ||
        (count > 3 && lab_net_named(words[3]) == NULL)) {
        fprintf(stderr, "usage: vta_nets [--check] [DEVICE|none [CONFIG [NET]]]; %s\n", diag.text);
        return 2;
    }
    const task t = {count > 1 ? words[1] : "tsim:pynq", &config, check};
    return bench_all(count > 3 ? words[3] : NULL, &t, &diag);
}
