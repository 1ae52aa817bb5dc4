/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of layers. The shares of a row sum to its cycles, the rows of a step to the step's.
 */
#include "layers.h"

#include <stdio.h>

#include "cli.h"
#include "table.h"
#include "vta/recording.h"
#include "vtac/power.h"

enum { FIRST_CLASS = 5 }; /* the column */

static const char *const class_names[] = {
#define X(id, name, doc) name,
    VTA_CYCLE_CLASS_LIST(X)
#undef X
};

static double error_of(const vta_layer_profile *l)
{
    return l->cycles > 0 ? 100.0 * ((double)l->predicted - (double)l->cycles) / (double)l->cycles : 0.0;
}

static void add_profile(vta_layer_profile *sum, const vta_layer_profile *l)
{
    sum->macs += l->macs;
    sum->predicted += l->predicted;
    sum->cycles += l->cycles;
    for (int c = 0; c < VTA_CYCLE_CLASSES; c++) {
        sum->split[c] += l->split[c];
    }
}

typedef struct layer_rows {
    const vta_layer_profile *layers;
    uint32_t count;
    vta_layer_profile sum;
    bool told; /* the device knows the cycles of layers, not of the run alone */
} layer_rows;

/* A class of cycles that no layer has is left out. */
static void fill_row(const void *context, uint32_t row, cli_cell *cells)
{
    const layer_rows *r = context;
    const vta_layer_profile *l = row < r->count ? &r->layers[row] : &r->sum;
    cells[0].text = l->name;
    cells[1].text = l->op;
    cli_cell_print(&cells[2], "%llu", (unsigned long long)l->predicted);
    if (r->told || l->cycles > 0) {
        cli_cell_print(&cells[3], "%llu", (unsigned long long)l->cycles);
    }
    if (l->predicted > 0 && l->cycles > 0) {
        cli_cell_print(&cells[4], "%+.1f%%", error_of(l));
    }
    for (int c = 0; c < VTA_CYCLE_CLASSES; c++) {
        if (r->sum.split[c] > 0) {
            cli_cell_print(&cells[FIRST_CLASS + c], "%llu", (unsigned long long)l->split[c]);
        }
    }
}

/* ---- memory */

static double efficiency_of(const vta_dram_counts *d)
{
    const double bytes = (double)(d->read_bytes + d->written_bytes), busy = (double)d->busy_ps * 1e-12;
    return busy > 0 ? bytes / (busy * d->peak) : 0.0;
}

static bool dram_of(const vta_model *model, vta_dram_counts *out)
{
    vta_device *device = vta_model_device(model);
    return device != NULL && vta_device_dram(device, out) && out->busy_ps > 0;
}

static void print_memory(const vta_model *model)
{
    vta_dram_counts d;
    if (!dram_of(model, &d)) {
        return;
    }
    const uint64_t rows = d.hits + d.closed + d.conflicts;
    cli_sentence(
        0,
        "DRAM: %.0f %% of its %.0f MB/s while it had work (%llu KB read, %llu KB written); %.1f %% of "
        "accesses found their row open, %llu closed another one; %llu refreshes, %llu turns of the bus",
        100 * efficiency_of(&d), d.peak * 1e-6, (unsigned long long)d.read_bytes / 1024,
        (unsigned long long)d.written_bytes / 1024, 100 * (double)d.hits / (double)(rows + !rows),
        (unsigned long long)d.conflicts, (unsigned long long)d.refreshes, (unsigned long long)d.turns);
}

static void json_memory(const vta_model *model)
{
    vta_dram_counts d;
    if (dram_of(model, &d)) {
        cli_print(", \"dram\": {\"efficiency\": %.4f, \"peak_mb_s\": %.0f, \"busy_s\": %.9f, "
                  "\"bytes_read\": %llu, \"bytes_written\": %llu, \"open\": %llu, \"closed\": %llu, "
                  "\"conflicts\": %llu, \"refreshes\": %llu, \"turns\": %llu}",
                  efficiency_of(&d), d.peak * 1e-6, (double)d.busy_ps * 1e-12,
                  (unsigned long long)d.read_bytes, (unsigned long long)d.written_bytes,
                  (unsigned long long)d.hits, (unsigned long long)d.closed, (unsigned long long)d.conflicts,
                  (unsigned long long)d.refreshes, (unsigned long long)d.turns);
    }
}

/* ---- energy */

/* A run's joules on the board that the configuration is for; 0: there is no clock, no board, or nobody
 * measured. */
static double joules_of(const vta_model *model, vtac_board_power *power, const vtac_part **part)
{
    vta_device *device = vta_model_device(model);
    const uint64_t cycles = vta_model_cycles(model);
    if (device == NULL || cycles == 0) {
        return 0.0;
    }
    *part = vtac_part_of(vta_device_config(device));
    return vtac_board_joules(vta_device_config(device), cycles, power);
}

static void print_energy(const vta_model *model)
{
    char text[VTAC_POWER_TEXT];
    const vtac_part *part = NULL;
    vtac_board_power power;
    const double joules = joules_of(model, &power, &part);
    if (joules > 0 && part != NULL) {
        vtac_power_text(&power, part->name, text, sizeof text);
        cli_sentence(0, "%.3g mJ ± %.2g while the accelerator works (board, %u measurements): %s",
                     1e3 * joules, 1e3 * joules * power.error, power.count, text);
    }
}

static void json_energy(const vta_model *model)
{
    const vtac_part *part = NULL;
    vtac_board_power power;
    const double joules = joules_of(model, &power, &part);
    if (joules > 0 && part != NULL) {
        cli_print(", \"board\": {\"part\": \"%s\", \"watts\": %.4g, \"measurements\": %u, "
                  "\"error\": %.4g, \"joules\": %.4g}",
                  part->name, power.watts, power.count, power.error, joules);
    }
}

/* ---- layers */

void cli_layers_text(const vta_model *model)
{
    static const cli_column columns[] = {{"layer", CLI_NAME},       {"operator", CLI_NAME},
                                         {"predicted", CLI_FIGURE}, {"cycles", CLI_FIGURE},
                                         {"error", CLI_FIGURE},
#define X(id, name, doc) {name, CLI_FIGURE},
                                         VTA_CYCLE_CLASS_LIST(X)
#undef X
    };
    layer_rows r = {.sum = {.name = "all", .op = ""}};
    r.layers = vta_model_layers(model, &r.count);
    if (r.count == 0) {
        return;
    }
    for (uint32_t i = 0; i < r.count; i++) {
        add_profile(&r.sum, &r.layers[i]);
    }
    r.told = r.sum.cycles > 0;
    r.sum.cycles = r.told ? r.sum.cycles : vta_model_cycles(model);
    cli_table(columns, sizeof columns / sizeof columns[0], r.count + 1, fill_row, &r);
    if (!r.told) {
        cli_sentence(0, "this device does not tell where its cycles went; tsim and systemc do");
    }
    print_memory(model);
    print_energy(model);
}

void cli_layers_json(const vta_model *model)
{
    uint32_t count;
    const vta_layer_profile *layers = vta_model_layers(model, &count);
    cli_print(", \"layers\": [");
    for (uint32_t i = 0; i < count; i++) {
        const vta_layer_profile *l = &layers[i];
        cli_put(i > 0 ? ",\n " : "");
        cli_print("{\"name\": ");
        cli_json_string(l->name);
        cli_print(", \"op\": ");
        cli_json_string(l->op);
        cli_print(", \"step\": %u, \"node\": %u, \"macs\": %llu, \"predicted\": %llu, \"cycles\": %llu, "
                  "\"bytes_read\": %llu, \"bytes_written\": %llu, \"bound\": ",
                  l->step, l->node, (unsigned long long)l->macs, (unsigned long long)l->predicted,
                  (unsigned long long)l->cycles, (unsigned long long)l->bytes_read,
                  (unsigned long long)l->bytes_written);
        cli_json_string(l->bound);
        cli_print(", \"joined\": %s, \"split\": {", l->joined ? "true" : "false");
        for (int c = 0; c < VTA_CYCLE_CLASSES; c++) {
            cli_print("%s\"%s\": %llu", c > 0 ? ", " : "", class_names[c], (unsigned long long)l->split[c]);
        }
        cli_print("}, \"schedule\": ");
        cli_json_string(l->schedule);
        cli_print("}");
    }
    cli_print("]");
    json_memory(model);
    json_energy(model);
}
