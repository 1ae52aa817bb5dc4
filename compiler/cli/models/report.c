/* SPDX-License-Identifier: Apache-2.0
 *
 * Predictions of a compilation, from the partition.
 */
#include "report.h"

#include <stdio.h>

#include "stages.h"
#include "table.h"

enum { INDENT = 15 }; /* of what the summary says, behind its words */

typedef struct summary {
    uint64_t cycles, macs, read, written, program;
    uint32_t layers, insns;
    double peak; /* multiplications a cycle */
} summary;

static summary sum_up(const vtac_partition *p)
{
    summary s = {.peak = (double)p->config.batch * p->config.block_in * p->config.block_out};
    for (uint32_t r = 0; r < p->region_count; r++) {
        const vtac_region *region = &p->regions[r];
        s.layers += region->region.layer_count;
        s.insns += region->image.program.insn_count;
        s.program += region->program_bytes;
        for (uint32_t i = 0; i < region->image.plan_count; i++) {
            s.cycles += region->image.plans[i].cost.cycles;
            s.macs += region->image.plans[i].cost.macs;
            s.read += region->image.plans[i].cost.bytes_read;
            s.written += region->image.plans[i].cost.bytes_written;
        }
    }
    return s;
}

static double fraction_of(double a, double b)
{
    return b > 0.0 ? a / b : 0.0;
}

static const char *bound_of(const vtac_vta_cost *cost)
{
    return cost->bound != NULL ? cost->bound : "";
}

typedef struct report_rows {
    const vtac_partition *partition;
    double peak;
} report_rows;

static void fill_row(const void *context, uint32_t row, cli_cell *cells)
{
    const report_rows *r = context;
    const vtac_region *region = r->partition->regions;
    for (; row >= region->region.layer_count; region++) {
        row -= region->region.layer_count;
    }
    const vtac_vta_layer *layer = &region->region.layers[row];
    const vtac_vta_plan *plan = &region->image.plans[row];
    const vtac_vta_cost *cost = &plan->cost;
    cells[0].text = layer->name;
    cells[1].text = layer->op;
    cli_cell_print(&cells[2], "%llu", (unsigned long long)cost->macs);
    cli_cell_print(&cells[3], "%llu", (unsigned long long)cost->cycles);
    cli_cell_print(&cells[4], "%.1f%%",
                   100.0 * fraction_of((double)cost->macs, (double)cost->cycles * r->peak));
    cli_cell_print(&cells[5], "%llu", (unsigned long long)cost->bytes_read);
    cli_cell_print(&cells[6], "%llu", (unsigned long long)cost->bytes_written);
    cells[7].text = bound_of(cost);
    cells[8].text = plan->joined_into >= 0 ? "(joined)" : plan->feeds >= 0 ? "(on chip)" : "";
    cells[9].text = plan->schedule;
}

static double share_of(const vtac_partition *p)
{
    vtac_left left[VTAC_OP_COUNT];
    uint32_t count;
    return vtac_partition_share(p, left, &count);
}

void cli_report_left_text(const vtac_partition *p)
{
    vtac_left left[VTAC_OP_COUNT];
    uint32_t count;
    const double share = vtac_partition_share(p, left, &count);
    if (p->region_count == 0) {
        return;
    }
    cli_sentence(0, "%.1f %% of the work runs there%s", 100.0 * share,
                 count > 0 ? "; left to the host:" : "");
    for (uint32_t i = 0; i < count; i++) {
        cli_sentence(INDENT, "%6.2f %%       %u %s: %s", 100.0 * left[i].share, left[i].nodes,
                     vtac_op_get(left[i].op)->name, left[i].reason);
    }
}

void cli_report_left_json(const vtac_partition *p)
{
    vtac_left left[VTAC_OP_COUNT];
    uint32_t count;
    cli_print(", \"share\": %.4f, \"left\": [", vtac_partition_share(p, left, &count));
    for (uint32_t i = 0; i < count; i++) {
        cli_print("%s{\"op\": \"%s\", \"nodes\": %u, \"share\": %.4f, \"reason\": ", i > 0 ? ",\n " : "",
                  vtac_op_get(left[i].op)->name, left[i].nodes, left[i].share);
        cli_json_string(left[i].reason);
        cli_print("}");
    }
    cli_print("]");
}

/* Bits of the weights of layers. */
typedef struct bits {
    uint32_t narrow, layers; /* that are loaded as 4 bits, or could be where the configuration has no such
                                LOADs; and all that have weights */
    uint64_t narrow_weights, weights;
} bits;

static uint64_t count_weights(const vtac_partition *p, const vtac_region *region, uint32_t i, bool *narrow)
{
    const vtac_vta_layer *layer = &region->region.layers[i];
    const vtac_vta_tensor *in = &region->region.tensors[layer->inputs[0]],
                          *to = &region->region.tensors[layer->output];
    const int64_t *kernel = layer->window.kernel;
    if (layer->kind != VTAC_VTA_CONV || layer->weights == NULL) {
        *narrow = false;
        return 0;
    }
    *narrow = p->config.wgt4 != 0 ? region->image.plans[i].weight_bits == 4
                                  : vtac_vta_narrow_weights(layer, in->c, to->c);
    return (uint64_t)(to->c * in->c / layer->groups * kernel[0] * kernel[1]);
}

static bits count_bits(const vtac_partition *p)
{
    bits b = {0};
    for (uint32_t r = 0; r < p->region_count; r++) {
        for (uint32_t i = 0; i < p->regions[r].region.layer_count; i++) {
            bool narrow;
            const uint64_t weights = count_weights(p, &p->regions[r], i, &narrow);
            b.layers += weights > 0;
            b.narrow += narrow;
            b.weights += weights;
            b.narrow_weights += narrow ? weights : 0;
        }
    }
    return b;
}

void cli_report_bits(const vtac_partition *p)
{
    const bits b = count_bits(p);
    if (b.narrow > 0) {
        cli_sentence(INDENT, "weights        %u of %u layers have weights of 4 bits; '%s' loads them as %s",
                     b.narrow, b.layers, p->config.name,
                     p->config.wgt4 != 0 ? "these" : "8 bits, since its key WGT4 is 0");
    }
}

void cli_report_wide_loads(const cli_args *args, const vtac_partition *p)
{
    const bits b = count_bits(p);
    if (p->config.wgt4 == 0 && b.narrow_weights * 2 > b.weights) {
        cli_stages_hide();
        cli_say("vtac %s: %s: weights of 4 bits in %u of %u layers: '%s' loads them as 8 bits, since its key "
                "WGT4 is 0\n",
                args->verb->name, args->operands[0], b.narrow, b.layers, p->config.name);
    }
}

/* The predicted cycles of a run that finds on chip what the run before left; 0: each run loads all of it. */
static uint64_t cycles_in_a_row(const vtac_partition *p)
{
    const vtac_vta_image *image = &p->regions[0].image;
    return p->region_count == 1 && image->again < image->cycles ? image->again : 0;
}

static void report_row_of_runs(const vtac_partition *p)
{
    const uint64_t cycles = cycles_in_a_row(p);
    if (cycles > 0) {
        cli_sentence(
            INDENT,
            "in a row       %llu cycles, %.1f inferences a second, as weights stay on chip from run to "
            "run",
            (unsigned long long)cycles, 1e6 * p->config.clock_mhz / (double)cycles);
    }
}

void cli_report_text_of(const vtac_partition *p)
{
    if (p == NULL) {
        cli_print("nothing runs on the accelerator; '--target vta' compiles for it\n");
        return;
    }
    static const cli_column columns[] = {
        {"layer", CLI_NAME},   {"operator", CLI_NAME},    {"MACs", CLI_FIGURE},    {"cycles", CLI_FIGURE},
        {"array", CLI_FIGURE}, {"read", CLI_FIGURE},      {"written", CLI_FIGURE}, {"bound", CLI_WORD},
        {"", CLI_WORD},        {"schedule", CLI_SENTENCE}};
    const summary s = sum_up(p);
    const double seconds = (double)s.cycles / (1e6 * p->config.clock_mhz);
    cli_table(columns, sizeof columns / sizeof columns[0], s.layers, fill_row,
              &(report_rows){.partition = p, .peak = s.peak});
    cli_print("\n");
    cli_sentence(INDENT, "configuration  %s: %ux%ux%u, %u-bit bus, %u MHz", p->config.name, p->config.batch,
                 p->config.block_in, p->config.block_out, 1U << p->config.log_bus_width, p->config.clock_mhz);
    cli_sentence(INDENT, "memory         %llu bytes of constants, %llu to work in, %u instructions",
                 (unsigned long long)p->constant_bytes, (unsigned long long)p->work_bytes, s.insns);
    cli_sentence(INDENT, "accelerator    %u layers in %u region%s, %.1f %% of the work", s.layers,
                 p->region_count, p->region_count == 1 ? "" : "s", 100.0 * share_of(p));
    cli_sentence(INDENT, "predicted      %llu cycles, array busy %.1f %%, %llu bytes read, %llu written",
                 (unsigned long long)s.cycles, 100.0 * fraction_of((double)s.macs, (double)s.cycles * s.peak),
                 (unsigned long long)s.read, (unsigned long long)s.written);
    cli_sentence(INDENT, "               %.3f ms, %.1f inferences a second", 1e3 * seconds,
                 fraction_of(1.0, seconds));
    report_row_of_runs(p);
    cli_report_bits(p);
}

/* Minimum traffic of a layer: its tensors and weights, each byte once. */
static void min_bytes(const vtac_vta_region *region, const vtac_vta_layer *layer, uint64_t *read,
                      uint64_t *written)
{
    const vtac_vta_tensor *in = &region->tensors[layer->inputs[0]], *to = &region->tensors[layer->output];
    const int64_t *kernel = layer->window.kernel;
    *read = layer->weights == NULL ? 0 : (uint64_t)(to->c * in->c / layer->groups * kernel[0] * kernel[1]);
    *written = to->bytes;
    for (uint32_t k = 0; k < layer->input_count; k++) {
        *read += region->tensors[layer->inputs[k]].bytes;
    }
}

static void json_layer(const vtac_region *region, uint32_t i, double peak)
{
    uint64_t read, written;
    const vtac_vta_layer *layer = &region->region.layers[i];
    const vtac_vta_plan *plan = &region->image.plans[i];
    const vtac_vta_cost *cost = &plan->cost;
    min_bytes(&region->region, layer, &read, &written);
    cli_print("{\"name\": ");
    cli_json_string(layer->name);
    cli_print(", \"op\": \"%s\", \"node\": %u, \"macs\": %llu, \"cycles\": %llu, \"utilization\": %.4f, "
              "\"bytes_read\": %llu, \"bytes_written\": %llu, \"array\": %llu, \"least_read\": %llu, "
              "\"least_written\": %llu, \"bound\": \"%s\", \"joined\": %s, "
              "\"on_chip\": %s, \"schedule\": ",
              layer->op, layer->node, (unsigned long long)cost->macs, (unsigned long long)cost->cycles,
              fraction_of((double)cost->macs, (double)cost->cycles * peak),
              (unsigned long long)cost->bytes_read, (unsigned long long)cost->bytes_written,
              (unsigned long long)cost->array, (unsigned long long)read, (unsigned long long)written,
              bound_of(cost), plan->joined_into >= 0 ? "true" : "false", plan->feeds >= 0 ? "true" : "false");
    cli_json_string(plan->schedule);
    if (plan->weight_bits > 0) {
        cli_print(", \"weight_bits\": %u", plan->weight_bits);
    }
    cli_print("}");
}

void cli_report_json_of(const vtac_partition *p)
{
    if (p == NULL) {
        return;
    }
    const summary s = sum_up(p);
    const double seconds = (double)s.cycles / (1e6 * p->config.clock_mhz);
    bool first = true;
    cli_print(", \"layers\": [");
    for (uint32_t r = 0; r < p->region_count; r++) {
        for (uint32_t i = 0; i < p->regions[r].region.layer_count; i++) {
            cli_put(first ? "" : ",\n ");
            json_layer(&p->regions[r], i, s.peak);
            first = false;
        }
    }
    cli_print(
        "],\n \"config\": \"%s\", \"regions\": %u, \"device_constant_bytes\": %llu, "
        "\"device_work_bytes\": %llu, \"instructions\": %u, \"macs\": %llu, "
        "\"cycles\": %llu, \"cycles_in_a_row\": %llu, \"milliseconds\": %.4f, \"inferences_per_s\": %.2f",
        p->config.name, p->region_count, (unsigned long long)p->constant_bytes,
        (unsigned long long)p->work_bytes, s.insns, (unsigned long long)s.macs, (unsigned long long)s.cycles,
        (unsigned long long)(cycles_in_a_row(p) > 0 ? cycles_in_a_row(p) : s.cycles), 1e3 * seconds,
        fraction_of(1.0, seconds));
    cli_report_left_json(p);
}
