/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of layers. The shares of a row sum to its cycles, the rows of a step to the step's.
 */
#include "layers.h"

#include <stdio.h>
#include <string.h>

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

/* How wide the columns are; 0: nothing is in it, and it is left out. */
typedef struct widths {
    int name, op, predicted, cycles, split[VTA_CYCLE_CLASSES];
} widths;

static int wider(int width, const char *text, int most)
{
    const int length = (int)strlen(text) < most ? (int)strlen(text) : most;
    return length > width ? length : width;
}

static int digits(uint64_t number)
{
    return snprintf(NULL, 0, "%llu", (unsigned long long)number);
}

/* The sums are the largest numbers of their columns. */
static widths fit(const vta_layer_profile *layers, uint32_t count, const vta_layer_profile *sum)
{
    widths w = {.name = (int)strlen("layer"), .op = (int)strlen("operator")};
    for (uint32_t i = 0; i < count; i++) {
        w.name = wider(w.name, layers[i].name, 28);
        w.op = wider(w.op, layers[i].op, 16);
    }
    w.predicted = wider(digits(sum->predicted), "predicted", 16);
    w.cycles = wider(digits(sum->cycles), "cycles", 16);
    for (int c = 0; c < VTA_CYCLE_CLASSES; c++) {
        w.split[c] = sum->split[c] == 0 ? 0 : wider(digits(sum->split[c]), class_names[c], 16);
    }
    return w;
}

static void print_row(const vta_layer_profile *l, const widths *w)
{
    (void)printf("%-*.*s  %-*.*s  %*llu  %*llu", w->name, w->name, l->name, w->op, w->op, l->op, w->predicted,
                 (unsigned long long)l->predicted, w->cycles, (unsigned long long)l->cycles);
    if (l->predicted > 0 && l->cycles > 0) {
        (void)printf(" %+6.1f%%", error_of(l));
    } else {
        (void)printf(" %7s", "");
    }
    for (int c = 0; c < VTA_CYCLE_CLASSES; c++) {
        if (w->split[c] > 0) {
            (void)printf("  %*llu", w->split[c], (unsigned long long)l->split[c]);
        }
    }
    (void)printf("\n");
}

static void print_head(const widths *w)
{
    (void)printf("%-*s  %-*s  %*s  %*s %7s", w->name, "layer", w->op, "operator", w->predicted, "predicted",
                 w->cycles, "cycles", "error");
    for (int c = 0; c < VTA_CYCLE_CLASSES; c++) {
        if (w->split[c] > 0) {
            (void)printf("  %*s", w->split[c], class_names[c]);
        }
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
    for (uint32_t i = 0; i < count; i++) {
        add(&sum, &layers[i]);
    }
    const widths w = fit(layers, count, &sum);
    print_head(&w);
    for (uint32_t i = 0; i < count; i++) {
        print_row(&layers[i], &w);
    }
    print_row(&sum, &w);
    if (sum.cycles == 0) {
        (void)printf("this device does not tell where its cycles went; tsim and systemc do\n");
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
