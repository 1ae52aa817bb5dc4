/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac explain: where each node of a model runs, what it costs here and there, and why.
 */
#include <stdio.h>
#include <string.h>

#include "calib.h"
#include "emit.h"
#include "offload.h"
#include "parts.h"
#include "passes.h"
#include "place.h"
#include "quality.h"
#include "report.h"
#include "stages.h"
#include "table.h"
#include "tensors.h"
#include "vta/dram_kind.h"
#include "vta/fail.h"
#include "vtac/codegen.h"
#include "vtac/pass.h"
#include "vtac/power.h"
#include "what_if.h"

static const cli_option options[] = {
    {"--target", "TARGET", CLI_TEXT, "vta (default), opencl or cuda: the kernel of each step"},
    {"--config", "NAME|FILE", CLI_CONFIG, "the accelerator's configuration (default pynq)"},
    {"--offload", "HOW", CLI_TEXT, "what pays (default), or all that it can"},
    {"--host", "NAME", CLI_TEXT, "the processor beside it (default: its board's)"},
    CLI_CALIB_OPTIONS,
    {"--dynamic", NULL, CLI_FLAG, "sizes that the model leaves open stay open"},
    {"--shape", "NAME=AxBxC", CLI_TEXT, "size of a dynamic input (may be repeated)"},
    CLI_CONTEXT_OPTION,
    CLI_MODEL_OPTIONS,
    {"-O", "N", CLI_TEXT, "0 to 3 (default 3)"},
    {"--what-if", "KEY=VALUE", CLI_TEXT, "and with this value of a key, or these: 4,5"},
    {"--power", "FILE", CLI_FILE, "your boards' watts: lines 'PART WATTS WORDS'"},
    {"--host-only", NULL, CLI_FLAG, "list only what stays on the host"},
    {"--json", NULL, CLI_FLAG, "print JSON"},
};

typedef struct explain_totals {
    uint32_t nodes, moved, vanished;
    uint64_t macs;
    double cycles, host; /* of the nodes that moved: there, and what they would take on the host */
    double rest;         /* of the nodes that stay on the host */
} explain_totals;

/* True if a node is the model's: nodes that pack and unpack are not. */
static bool is_told(const vtac_node *node)
{
    return vtac_attr_int(node, "host", 0) == 0;
}

static explain_totals count_nodes(const vtac_graph *graph, const vtac_partition *p)
{
    explain_totals t = {0};
    for (uint32_t i = 0; i < graph->order_count; i++) {
        const vtac_placement *place = &p->places[graph->order[i]];
        t.nodes += is_told(&graph->nodes[graph->order[i]]);
        t.vanished += place->kind == VTAC_PLACE_VANISHED;
        if (place->kind == VTAC_PLACE_ACCELERATOR) {
            t.moved++;
            t.macs += place->cost.macs;
            t.host += place->host_cycles;
        }
    }
    const vtac_run_cycles cycles = vtac_partition_cycles(graph, p);
    t.cycles = cycles.accelerator;
    t.rest = cycles.host;
    return t;
}

static void where_text(const vtac_placement *place, char *text, size_t size)
{
    if (place->kind == VTAC_PLACE_ACCELERATOR) {
        (void)snprintf(text, size, "region %u", place->region);
    } else {
        (void)snprintf(text, size, "%s", place->kind == VTAC_PLACE_VANISHED ? "nowhere" : "host");
    }
}

typedef struct explain_rows {
    const vtac_graph *graph;
    const vtac_partition *partition;
    bool host_only;
} explain_rows;

/* The node of a row; 0 behind the last one. */
static vtac_node_id node_of(const explain_rows *r, uint32_t row)
{
    for (uint32_t i = 0; i < r->graph->order_count; i++) {
        const vtac_node_id id = r->graph->order[i];
        if (is_told(&r->graph->nodes[id]) &&
            (!r->host_only || r->partition->places[id].kind == VTAC_PLACE_HOST) && row-- == 0) {
            return id;
        }
    }
    return 0;
}

static uint32_t row_count(const explain_rows *r)
{
    uint32_t count = 0;
    while (node_of(r, count) != 0) {
        count++;
    }
    return count;
}

static void fill_row(const void *context, uint32_t row, cli_cell *cells)
{
    const explain_rows *r = context;
    const vtac_node *node = &r->graph->nodes[node_of(r, row)];
    const vtac_placement *place = &r->partition->places[node_of(r, row)];
    cells[0].text = node->name;
    cells[1].text = vtac_op_get(node->op)->name;
    where_text(place, cells[2].own, sizeof cells[2].own);
    cells[2].text = cells[2].own;
    cells[3].text = "-";
    if (place->has_cost) {
        cli_cell_print(&cells[3], "%llu", (unsigned long long)place->cost.cycles);
    }
    cli_cell_print(&cells[4], "%.0f", place->host_cycles);
    cells[5].text = place->reason;
}

/* A run's energy on the board that the configuration is for. */
typedef struct explain_energy {
    const char *part; /* NULL: the configuration is for no board */
    vtac_board_power power;
    double seconds, host_seconds; /* of a run, and of it the host's */
} explain_energy;

static explain_energy energy_of(const vtac_partition *p, const explain_totals *t, const vtac_powers *powers)
{
    const vtac_part *part = vtac_part_of(&p->config);
    const double clock = 1e6 * p->config.clock_mhz;
    if (part == NULL) {
        return (explain_energy){0};
    }
    return (explain_energy){.part = part->name,
                            .power = vtac_board_power_of(powers, part->name),
                            .seconds = (t->cycles + t->rest) / clock,
                            .host_seconds = t->rest / clock};
}

static void print_energy(const explain_energy *e)
{
    char text[VTAC_POWER_TEXT];
    if (e->part == NULL) {
        return;
    }
    vtac_power_text(&e->power, e->part, text, sizeof text);
    if (e->power.count == 0) {
        cli_sentence(0, "%.3g ms a run, %.3g of them on the host; energy: %s", 1e3 * e->seconds,
                     1e3 * e->host_seconds, text);
        return;
    }
    cli_sentence(0, "%.3g ms a run, %.3g of them on the host; %.3g mJ: %s", 1e3 * e->seconds,
                 1e3 * e->host_seconds, 1e3 * e->seconds * e->power.watts, text);
}

/* The bytes that the plans of all regions move, beside the peak of the DRAM. */
typedef struct explain_memory {
    vta_dram_kind kind; /* {0}: memory is flat */
    double bytes, seconds, peak;
} explain_memory;

static explain_memory memory_of(const vtac_partition *p, const explain_totals *t)
{
    explain_memory m = {.seconds = t->cycles / (1e6 * p->config.clock_mhz)};
    if (vta_dram_choose(p->config.dram, &m.kind, NULL) != VTA_OK) {
        m.kind = (vta_dram_kind){0};
    }
    m.peak = 1e6 * m.kind.rate * m.kind.width / 8;
    for (uint32_t r = 0; r < p->region_count; r++) {
        const vtac_vta_image *image = &p->regions[r].image;
        for (uint32_t i = 0; i < image->plan_count; i++) {
            m.bytes += (double)(image->plans[i].cost.bytes_read + image->plans[i].cost.bytes_written);
        }
    }
    return m;
}

static void print_memory(const explain_memory *m)
{
    if (m->kind.rate > 0 && m->seconds > 0) {
        cli_sentence(0, "memory %s: %.0f KB a run, %.0f MB/s in the mean, %.0f %% of its peak", m->kind.name,
                     m->bytes / 1024, 1e-6 * m->bytes / m->seconds, 100 * m->bytes / m->seconds / m->peak);
    }
}

/* A run as a chip: the layers' counts times what our RTL takes in standard cells; macs: their
 * multiplications. */
static vtac_chip chip_of(const vtac_partition *p, const explain_totals *t, uint64_t *macs)
{
    vtac_vta_cost sum = {0};
    for (uint32_t r = 0; r < p->region_count; r++) {
        const vtac_vta_image *image = &p->regions[r].image;
        for (uint32_t i = 0; i < image->plan_count; i++) {
            const vtac_vta_cost *c = &image->plans[i].cost;
            sum.array += c->array;
            sum.alu += c->alu;
            sum.bytes_read += c->bytes_read;
            sum.bytes_written += c->bytes_written;
            sum.macs += c->macs;
        }
    }
    *macs = sum.macs;
    return vtac_chip_of(&p->config, &sum, (uint64_t)t->cycles);
}

static void print_chip(const vtac_partition *p, const explain_totals *t)
{
    uint64_t macs = 0;
    char text[VTAC_CHIP_LINES][VTAC_CHIP_TEXT];
    const vtac_chip chip = chip_of(p, t, &macs);
    if (p->region_count == 0) {
        return;
    }
    vtac_chip_text(&chip, macs, text);
    for (int i = 0; i < VTAC_CHIP_LINES; i++) {
        cli_sentence(2, "%s%s", i > 0 ? "  " : "", text[i]);
    }
}

static void print_text(const cli_args *args, const vtac_graph *graph, const vtac_partition *p,
                       const vtac_powers *powers)
{
    static const cli_column columns[] = {{"node", CLI_NAME},      {"operator", CLI_NAME},
                                         {"where", CLI_WORD},     {"cycles", CLI_FIGURE},
                                         {"on host", CLI_FIGURE}, {"why", CLI_SENTENCE}};
    const explain_totals t = count_nodes(graph, p);
    const explain_rows r = {graph, p, cli_flag(args, "--host-only")};
    cli_table(columns, sizeof columns / sizeof columns[0], row_count(&r), fill_row, &r);
    cli_print("\n");
    cli_sentence(
        0,
        "%u of %u nodes run on '%s' in %u region%s: %llu multiplications, about %.0f cycles there; its host, "
        "the processor of '%s', would take %.0f of the same cycles",
        t.moved, t.nodes, p->config.name, p->region_count, p->region_count == 1 ? "" : "s",
        (unsigned long long)t.macs, t.cycles, p->host, t.host);
    cli_report_left_text(p);
    const explain_energy energy = energy_of(p, &t, powers);
    print_energy(&energy);
    const explain_memory memory = memory_of(p, &t);
    print_memory(&memory);
    print_chip(p, &t);
    cli_report_bits(p);
}

static void print_json(const vtac_graph *graph, const vtac_partition *p, const vtac_quantize_report *quality,
                       const vtac_powers *powers, const cli_what_if *what_if)
{
    const explain_totals t = count_nodes(graph, p);
    const explain_energy energy = energy_of(p, &t, powers);
    bool any = false;
    cli_print("{\"config\": \"%s\", \"host\": ", p->config.name);
    cli_json_string(p->host);
    cli_print(", \"regions\": %u, \"nodes\": [", p->region_count);
    for (uint32_t i = 0; i < graph->order_count; i++) {
        const vtac_node *node = &graph->nodes[graph->order[i]];
        const vtac_placement *place = &p->places[graph->order[i]];
        char where[32];
        if (!is_told(node)) {
            continue;
        }
        where_text(place, where, sizeof where);
        cli_put(any ? ",\n " : "");
        cli_print("{\"name\": ");
        any = true;
        cli_json_string(node->name);
        cli_print(", \"op\": \"%s\", \"where\": \"%s\", \"host_cycles\": %.0f", vtac_op_get(node->op)->name,
                  where, place->host_cycles);
        if (place->has_cost) {
            cli_print(", \"cycles\": %llu, \"macs\": %llu", (unsigned long long)place->cost.cycles,
                      (unsigned long long)place->cost.macs);
        }
        cli_print(", \"reason\": ");
        cli_json_string(place->reason);
        cli_print("}");
    }
    cli_print("],\n \"moved\": %u, \"macs\": %llu, \"cycles\": %.0f, \"host_cycles\": %.0f", t.moved,
              (unsigned long long)t.macs, t.cycles, t.host);
    cli_print(", \"host_stays_cycles\": %.0f", t.rest);
    cli_report_left_json(p);
    if (energy.power.count > 0) {
        cli_print(", \"board\": {\"part\": \"%s\", \"watts\": %.4g, \"measurements\": %u, \"error\": %.4g, "
                  "\"joules\": %.4g}",
                  energy.part, energy.power.watts, energy.power.count, energy.power.error,
                  energy.seconds * energy.power.watts);
    }
    uint64_t macs = 0;
    const vtac_chip chip = chip_of(p, &t, &macs);
    cli_print(", \"chip\": {\"joules\": %.4g, \"dram_joules\": %.4g, \"mm2\": %.4g, \"ram_mm2\": %.4g, "
              "\"layer_macs\": %llu}",
              chip.joules, chip.dram, chip.mm2, chip.ram_mm2, (unsigned long long)macs);
    const explain_memory memory = memory_of(p, &t);
    if (memory.kind.rate > 0) {
        cli_print(", \"memory\": {\"kind\": \"%s\", \"peak_mb_s\": %.0f, \"bytes\": %.0f, \"seconds\": %.9f}",
                  memory.kind.name, 1e-6 * memory.peak, memory.bytes, memory.seconds);
    }
    cli_what_if_json(what_if);
    cli_quality_json(quality);
    cli_print("}\n");
}

static int explain_graph(cli_parts *parts, vtac_graph *graph, const cli_offload *offload, int level)
{
    const cli_args *args = parts->args;
    vta_diag diag = {0};
    vtac_partition *partition = NULL;
    const vtac_partition_options how = {
        .config = &offload->config,
        .schedule = {.level = level, .fold_cost = offload->fold_cost, .progress = cli_stages()},
        .host = offload->host,
        .always = offload->always,
        .holds_states = true,
        .look = true,
        .predict = true};
    cli_stages_begin();
    vtac_quantize_report quality = {0};
    vtac_powers powers = {0};
    cli_what_if what_if = {0};
    vta_arena names = {0};
    cli_mixed mixed;
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vtac_powers_read(cli_value(args, "--power"), &powers, &diag));
    VTA_TRY_OUT(cli_parts_quantize(parts, &graph, &mixed, &names, &quality, &diag));
    VTA_TRY_OUT(
        vtac_run_passes(graph, &(vtac_pass_options){.level = level, .progress = cli_stages()}, &diag));
    VTA_TRY_OUT(cli_what_if_find(args, graph, &how, &powers, &what_if, &diag));
    VTA_TRY_OUT(vtac_partition_graph(graph, &how, &partition, &diag));
out:
    cli_stages_end();
    int result = CLI_OK;
    if (status != VTA_OK) {
        result = cli_fail_model(args, &diag);
    } else if (cli_flag(args, "--json")) {
        print_json(graph, partition, &quality, &powers, &what_if);
    } else {
        print_text(args, graph, partition, &powers);
        cli_what_if_text(&what_if);
        cli_quality_text(&quality);
    }
    vtac_quantize_report_free(&quality);
    vtac_powers_free(&powers);
    cli_what_if_free(&what_if);
    vtac_partition_free(partition);
    vtac_graph_destroy(graph);
    vta_arena_free(&names);
    cli_parts_free(parts);
    return result == CLI_OK ? cli_done(args) : result;
}

/* --target opencl, cuda, webgpu: each step's kernel. Without a host, that of the target. */
static int explain_kernels(const cli_args *args, vtac_graph *graph, const cli_offload *offload, int level)
{
    const char *given = cli_value(args, "--host");
    const char *own = strcmp(offload->kernels, "webgpu") == 0 ? "wasm32" : "x86-64-v3";
    vtac_artifact_image image;
    vta_diag diag = {0};
    const vta_status status =
        cli_compile_image(graph, given != NULL ? given : own, level, offload, &image, &diag);
    vtac_graph_destroy(graph);
    if (status != VTA_OK) {
        return cli_fail_model(args, &diag);
    }
    if (cli_flag(args, "--json")) {
        cli_print("{\"steps\": %u, \"kernels\": %u, \"plan\": ", image.step_count, image.launch_count);
        cli_json_string(image.kernels_plan);
        cli_print("}\n");
    } else {
        cli_print_lines(cli_flag(args, "--host-only") ? image.kernels_left : image.kernels_plan);
        cli_print("%u of %u steps are kernels for %s\n", image.launch_count, image.step_count,
                  offload->kernels);
    }
    vtac_artifact_image_free(&image);
    return cli_done(args);
}

static int run_explain(const cli_args *args)
{
    cli_shapes shapes;
    cli_offload offload;
    uint64_t level = 3;
    vtac_range_method method;
    const char *asked = cli_value(args, "-O");
    if (cli_read_shapes(args, &shapes) != CLI_OK || cli_read_offload(args, &offload) != CLI_OK ||
        cli_read_method(args, &method) != CLI_OK || cli_what_if_check(args, &offload.config) != CLI_OK) {
        return CLI_USAGE;
    }
    if (asked != NULL && (!cli_number(asked, &level) || level > 3)) {
        return cli_usage(args, "-O takes 0 to 3, not '%s'", asked);
    }
    vtac_graph *graph = NULL;
    vta_diag diag = {0};
    vtac_target target;
    const char *host = cli_value(args, "--host");
    const vta_status found = host != NULL ? vtac_target_find(host, &target, &diag) : VTA_OK;
    if (found != VTA_OK) { /* not its words, but what was to look for it */
        return found == VTA_IO ? cli_fail(args, &diag) : cli_usage(args, "%s", diag.text);
    }
    if (cli_load_graph_again(args->operands[0], &shapes, &graph, &diag) != VTA_OK) {
        return cli_fail(args, &diag);
    }
    if (offload.kernels != NULL) {
        return explain_kernels(args, graph, &offload, (int)level);
    }
    cli_parts parts = {.args = args, .shapes = &shapes, .max_end = cli_offload_ends(&offload), .told = true};
    return explain_graph(&parts, graph, &offload, (int)level);
}

const cli_verb cli_verb_explain = {
    .name = "explain",
    .operands = "MODEL",
    .summary = "tell where each node of a model runs, its price, and why",
    .more = "Cycles are the accelerator's: of nodes that run there as 'vtac compile --report'\n"
            "predicts them, of others estimated; 'on host' is the processor beside it.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .min = 1,
    .max = 1,
    .run = run_explain,
};
