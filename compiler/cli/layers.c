/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of layers. The shares of a row sum to its cycles, the rows of a step to the step's.
 */
#include "layers.h"

#include <stdio.h>

#include "cli.h"

static const char *const class_names[] = {
#define X(id, name, doc) name,
    VTA_CYCLE_CLASS_LIST(X)
#undef X
};

static double error_of(const vta_layer_profile *l)
{
    return l->cycles > 0 ? 100.0 * ((double)l->predicted - (double)l->cycles) / (double)l->cycles : 0.0;
}

static void add(vta_layer_profile *sum, const vta_layer_profile *l)
{
    sum->macs += l->macs;
    sum->predicted += l->predicted;
    sum->cycles += l->cycles;
    for (int c = 0; c < VTA_CYCLE_CLASSES; c++) {
        sum->split[c] += l->split[c];
    }
}

static void print_row(const vta_layer_profile *l)
{
    (void)printf("%-28.28s %-16.16s %9llu %9llu", l->name, l->op, (unsigned long long)l->predicted,
                 (unsigned long long)l->cycles);
    if (l->predicted > 0 && l->cycles > 0) {
        (void)printf(" %+6.1f%%", error_of(l));
    } else {
        (void)printf(" %7s", "");
    }
    for (int c = 0; c < VTA_CYCLE_CLASSES; c++) {
        (void)printf(" %10llu", (unsigned long long)l->split[c]);
    }
    (void)printf("\n");
}

void cli_layers_text(const vta_model *model)
{
    uint32_t count;
    const vta_layer_profile *layers = vta_model_layers(model, &count);
    vta_layer_profile sum = {.name = "all", .op = ""};
    if (count == 0) {
        return;
    }
    (void)printf("%-28s %-16s %9s %9s %7s", "layer", "operator", "predicted", "cycles", "error");
    for (int c = 0; c < VTA_CYCLE_CLASSES; c++) {
        (void)printf(" %10s", class_names[c]);
    }
    (void)printf("\n");
    for (uint32_t i = 0; i < count; i++) {
        print_row(&layers[i]);
        add(&sum, &layers[i]);
    }
    print_row(&sum);
    if (sum.cycles == 0) {
        (void)printf("this device does not tell where its cycles went; tsim does\n");
    }
}

void cli_layers_json(const vta_model *model)
{
    uint32_t count;
    const vta_layer_profile *layers = vta_model_layers(model, &count);
    (void)printf(", \"layers\": [");
    for (uint32_t i = 0; i < count; i++) {
        const vta_layer_profile *l = &layers[i];
        (void)printf("%s{\"name\": ", i > 0 ? ",\n " : "");
        cli_json_string(l->name);
        (void)printf(", \"op\": \"%s\", \"step\": %u, \"node\": %u, \"macs\": %llu, \"predicted\": %llu, "
                     "\"cycles\": %llu, \"bytes_read\": %llu, \"bytes_written\": %llu, \"bound\": \"%s\", "
                     "\"joined\": %s, \"split\": {",
                     l->op, l->step, l->node, (unsigned long long)l->macs, (unsigned long long)l->predicted,
                     (unsigned long long)l->cycles, (unsigned long long)l->bytes_read,
                     (unsigned long long)l->bytes_written, l->bound, l->joined ? "true" : "false");
        for (int c = 0; c < VTA_CYCLE_CLASSES; c++) {
            (void)printf("%s\"%s\": %llu", c > 0 ? ", " : "", class_names[c],
                         (unsigned long long)l->split[c]);
        }
        (void)printf("}, \"schedule\": ");
        cli_json_string(l->schedule);
        (void)printf("}");
    }
    (void)printf("]");
}
