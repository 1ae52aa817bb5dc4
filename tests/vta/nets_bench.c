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

/* The end of each layer's last instruction, from a timeline. */
static void read_ends(const char *file, const vta_program *program, uint64_t *ends, uint32_t layers)
{
    char line[1024];
    FILE *in = fopen(file, "r");
    while (in != NULL && fgets(line, sizeof line, in) != NULL) {
        const char *insn = strstr(line, "\"insn\":"), *end = strstr(line, "\"end\":");
        if (insn == NULL || end == NULL) {
            continue;
        }
        const uint64_t number = strtoull(insn + 7, NULL, 10), when = strtoull(end + 6, NULL, 10);
        const uint32_t tag = number < program->insn_count ? program->tags[number] : 0;
        if (tag > 0 && tag <= layers && strstr(line, "\"unit\":\"load\"") == NULL && when > ends[tag - 1]) {
            ends[tag - 1] = when;
        }
    }
    if (in != NULL) {
        (void)fclose(in);
    }
}

static void print_layers(const lab_region *lab, const vtac_vta_image *image, const uint64_t *ends,
                         uint64_t start)
{
    uint64_t before = start;
    uint32_t near = 0, counted = 0;
    printf("%-12s %-26s %10s %10s %7s %9s %9s %9s %9s  %s\n", "layer", "output", "predicted", "measured",
           "error", "array", "alu", "load", "store", "schedule");
    for (uint32_t n = 0; n < lab->region.layer_count; n++) {
        const vtac_vta_tensor *to = &lab->tensors[lab->layers[n].output];
        const vtac_vta_plan *plan = &image->plans[n];
        const uint64_t took = ends[n] > before ? ends[n] - before : 0;
        const double error = took > 0 ? ((double)plan->cost.cycles / (double)took - 1) * 100 : 0;
        char shape[40];
        (void)snprintf(shape, sizeof shape, "%" PRId64 "x%" PRId64 "x%" PRId64, to->c, to->h, to->w);
        printf("%-12s %-26s %10" PRIu64 " %10" PRIu64 " %6.1f%% %9" PRIu64 " %9" PRIu64 " %9" PRIu64
               " %9" PRIu64 "  %s\n",
               lab->layers[n].name, shape, plan->cost.cycles, took, error, plan->cost.array, plan->cost.alu,
               plan->cost.load, plan->cost.store, plan->schedule);
        before = ends[n] > before ? ends[n] : before;
        near += took > 0 && error < 10 && error > -10;
        counted += took > 0;
    }
    printf("within 10%%: %" PRIu32 " of %" PRIu32 " layers\n", near, counted);
}

static vta_status measure(const lab_region *lab, const vtac_vta_image *image, const char *uri, vta_diag *diag)
{
    char file[] = "/tmp/vta_nets-XXXXXX", full[512];
    const int handle = mkstemp(file);
    if (handle < 0) {
        return vta_fail(diag, VTA_IO, "no temporary file");
    }
    (void)close(handle);
    (void)snprintf(full, sizeof full, "%s?timeline=%s", uri, file);
    lab_device *device = NULL;
    lab_values inputs, got = {{NULL}};
    vta_report report;
    uint64_t ends[LAB_LAYERS] = {0};
    lab_draw_inputs(lab, 0, &inputs);
    vta_status status = lab_device_open(full, lab, image, &device, diag);
    if (status == VTA_OK) {
        status = lab_device_run(device, &inputs, &got, &report, diag);
    }
    lab_device_close(device);
    if (status == VTA_OK) {
        read_ends(file, &image->program, ends, lab->region.layer_count);
        print_layers(lab, image, ends, 0);
        const vta_counters *c = &report.counters;
        printf("measured %" PRIu64 " cycles; gemm %" PRIu64 " depthwise %" PRIu64 " alu %" PRIu64
               " requant %" PRIu64 "; bytes fetch %" PRIu64 " uop %" PRIu64 " wgt %" PRIu64 " inp %" PRIu64
               " acc %" PRIu64 " out %" PRIu64 "\n",
               c->cycles, c->gemm_steps, c->depthwise_steps, c->alu_steps, c->requant_steps, c->fetch_bytes,
               c->uop_bytes, c->wgt_bytes, c->inp_bytes, c->acc_bytes, c->out_bytes);
    }
    (void)unlink(file);
    lab_values_free(&inputs);
    lab_values_free(&got);
    return status;
}

static vta_status bench(const lab_net *net, const char *uri, const vta_config *config, vta_diag *diag)
{
    static lab_region lab;
    vtac_vta_image image;
    const vtac_vta_options options = {.level = 3};
    lab_init(&lab, 1);
    net->build(&lab);
    lab_finish(&lab);
    vta_status status = vtac_vta_schedule(config, &lab.region, &options, &image, diag);
    if (status == VTA_OK) {
        printf("%s at %s: predicted %" PRIu64 " cycles, at most %" PRIu64 " wanted; %" PRIu32
               " instructions\n",
               net->name, config->name, image.cycles, net->most_cycles, image.program.insn_count);
        status = strcmp(uri, "none") == 0 ? VTA_OK : measure(&lab, &image, uri, diag);
        vtac_vta_image_free(&image);
    }
    lab_free(&lab);
    return status;
}

int main(int argc, char **argv)
{
    const char *uri = argc > 1 ? argv[1] : "tsim:pynq", *name = argc > 2 ? argv[2] : "pynq";
    vta_config config;
    vta_diag diag = {0};
    if (vta_config_load(name, &config, &diag) != VTA_OK || (argc > 3 && lab_net_named(argv[3]) == NULL)) {
        fprintf(stderr, "usage: vta_nets [DEVICE|none [CONFIG [NET]]]; %s\n", diag.text);
        return 2;
    }
    for (uint32_t i = 0; i < lab_net_count; i++) {
        if ((argc <= 3 || strcmp(argv[3], lab_nets[i].name) == 0) &&
            bench(&lab_nets[i], uri, &config, &diag) != VTA_OK) {
            fprintf(stderr, "%s: %s\n", lab_nets[i].name, diag.text);
            return 1;
        }
    }
    return 0;
}
