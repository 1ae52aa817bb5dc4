/* SPDX-License-Identifier: Apache-2.0
 *
 * The best configuration and the layers of the networks as other tools read them: SCALE-Sim (a configuration
 * and a topology for each network), Timeloop (architecture, constraints and a problem for each layer) and
 * ZigZag (hardware, mapping and a workload for each network); and beside them a table of cycles, ours and by
 * SCALE-Sim's published formula.
 *
 * All of them know convolutions alone. Sums, pools, tables and whatever else has no multiplications stays
 * out.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore.h"
#include "vta/fail.h"
#include "vta/file.h"

enum { PATH = 4096, FILE_PATH = PATH + 256, NAME = 96 };

/* A convolution as these tools take it: a group of channels, `groups` times. */
typedef struct exported {
    char name[NAME]; /* letters, digits and '_' alone; begins with the layer's number */
    int64_t groups, n, c_in, c_out, h_out, w_out, h_in, w_in; /* h_in, w_in: with the padding */
    const vtac_vta_window *window;
    uint64_t cycles, macs;
} exported;

typedef struct export_network {
    char name[NAME];
    exported *layers; /* owned */
    uint32_t count;
} export_network;

/* ---- layers */

static void put_name(char *to, size_t size, const char *name, int number)
{
    const int begun = number < 0 ? 0 : snprintf(to, size, "L%02d_", number);
    size_t at = (size_t)begun;
    for (; *name != '\0' && at + 1 < size; name++) {
        to[at++] = '_';
        if (isalnum((unsigned char)*name)) {
            to[at - 1] = *name;
        }
    }
    to[at] = '\0';
}

static void describe_layer(const vtac_vta_region *region, const vtac_vta_layer *layer,
                           const vtac_vta_plan *plan, uint32_t number, exported *out)
{
    const vtac_vta_tensor *x = &region->tensors[layer->inputs[0]], *y = &region->tensors[layer->output];
    const vtac_vta_window *w = &layer->window;
    const int64_t groups = layer->groups > 0 ? layer->groups : 1;
    *out = (exported){.groups = groups,
                      .n = y->n,
                      .c_in = x->c / groups,
                      .c_out = y->c / groups,
                      .h_out = y->h,
                      .w_out = y->w,
                      .h_in = x->h + w->before[0] + w->after[0],
                      .w_in = x->w + w->before[1] + w->after[1],
                      .window = w,
                      .cycles = plan->cost.cycles};
    out->macs = (uint64_t)(groups * out->n * out->c_in * out->c_out * out->h_out * out->w_out * w->kernel[0] *
                           w->kernel[1]);
    put_name(out->name, sizeof out->name, layer->name, (int)number);
}

/* Schedules a region and appends its convolutions. A layer that is computed with another one has its cycles
 * there. */
static vta_status take_region(const vta_config *config, vtac_vta_region *region, export_network *to,
                              vta_diag *diag)
{
    vtac_vta_image image;
    const vtac_vta_options how = {.predict_only = true};
    exported *more = realloc(to->layers, (to->count + region->layer_count) * sizeof *more);
    if (more == NULL) {
        return vta_no_memory(diag);
    }
    to->layers = more;
    VTA_TRY(vtac_vta_schedule(config, region, &how, &image, diag));
    for (uint32_t i = 0; i < image.plan_count; i++) {
        if (region->layers[i].kind == VTAC_VTA_CONV) {
            describe_layer(region, &region->layers[i], &image.plans[i], to->count, &to->layers[to->count]);
            to->count++;
        }
    }
    vtac_vta_image_free(&image);
    return VTA_OK;
}

static vta_status take_network(const vta_config *config, const vtac_explored *network, export_network *out,
                               vta_diag *diag)
{
    put_name(out->name, sizeof out->name, network->name, -1);
    for (uint32_t r = 0; r < network->region_count; r++) {
        VTA_TRY(take_region(config, &network->regions[r].region, out, diag));
    }
    return VTA_OK;
}

/* ---- files */

/* Writes and frees a text. */
static vta_status write_file(const char *folder, const char *name, const char *suffix, vta_str *text,
                             vta_diag *diag)
{
    char path[FILE_PATH];
    (void)snprintf(path, sizeof path, "%s/%s%s", folder, name, suffix);
    const vta_status status =
        text->failed ? vta_no_memory(diag) : vta_file_write(path, text->text, text->size, diag);
    vta_str_free(text);
    return status;
}

static uint64_t buffer_bytes(const vta_config *c, vta_memory memory)
{
    return (uint64_t)c->depth[memory] * c->elem_bytes[memory];
}

static uint32_t bytes_a_cycle(const vta_config *c)
{
    const uint32_t bus = (1U << c->log_bus_width) / 8;
    return c->mem_bandwidth > 0 && c->mem_bandwidth < bus ? c->mem_bandwidth : bus;
}

/* ---- SCALE-Sim */

static vta_status write_scalesim(const vta_config *c, const export_network *networks, uint32_t count,
                                 const char *folder, vta_diag *diag)
{
    vta_str text = {0};
    vta_str_printf(
        &text,
        "[general]\nrun_name = %s\n\n[architecture_presets]\nArrayHeight: %" PRIu32 "\nArrayWidth: %" PRIu32
        "\nIfmapSramSzkB: %" PRIu64 "\nFilterSramSzkB: %" PRIu64 "\nOfmapSramSzkB: %" PRIu64
        "\nIfmapOffset: 0\nFilterOffset: 10000000\nOfmapOffset: 20000000\n"
        "Bandwidth: %" PRIu32 "\nDataflow: ws\nMemoryBanks: 1\n\n[run_presets]\nInterfaceBandwidth: USER\n",
        c->name, c->block_in, c->block_out * c->batch, buffer_bytes(c, VTA_MEM_INP) / 1024,
        buffer_bytes(c, VTA_MEM_WGT) / 1024, buffer_bytes(c, VTA_MEM_ACC) / 1024, bytes_a_cycle(c));
    VTA_TRY(write_file(folder, "vta", ".cfg", &text, diag));
    for (uint32_t n = 0; n < count; n++) {
        vta_str_put(&text, "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, "
                           "Num Filter, Strides,\n");
        for (uint32_t i = 0; i < networks[n].count; i++) {
            const exported *l = &networks[n].layers[i];
            for (int64_t copy = 0; copy < l->groups * l->n; copy++) { /* it knows neither groups nor images */
                vta_str_printf(&text,
                               "%s_%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                               ", %" PRId64 ", %" PRId64 ",\n",
                               l->name, copy, l->h_in, l->w_in, l->window->kernel[0], l->window->kernel[1],
                               l->c_in, l->c_out, l->window->stride[0]);
            }
        }
        VTA_TRY(write_file(folder, networks[n].name, ".csv", &text, diag));
    }
    return VTA_OK;
}

static int64_t ceiling(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Cycles of a layer by SCALE-Sim's formula for arrays whose weights stay: a fold of the array takes 2 R + C +
 * T - 2. */
static uint64_t scalesim_cycles(const vta_config *c, const exported *l)
{
    const int64_t rows = c->block_in, columns = (int64_t)c->block_out * c->batch;
    const int64_t terms = l->c_in * l->window->kernel[0] * l->window->kernel[1];
    const int64_t fold = 2 * rows + columns + l->h_out * l->w_out - 2;
    return (uint64_t)(fold * ceiling(terms, rows) * ceiling(l->c_out, columns) * l->groups * l->n);
}

static vta_status write_cycles(const vta_config *c, const export_network *networks, uint32_t count,
                               const char *folder, vta_diag *diag)
{
    vta_str text = {0};
    vta_str_put(
        &text, "network,layer,MACs,cycles by vtac,cycles of the array alone,cycles by SCALE-Sim's formula\n");
    for (uint32_t n = 0; n < count; n++) {
        for (uint32_t i = 0; i < networks[n].count; i++) {
            const exported *l = &networks[n].layers[i];
            const uint64_t macs = (uint64_t)c->batch * c->block_in * c->block_out;
            vta_str_printf(&text, "%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", networks[n].name,
                           l->name, l->macs, l->cycles, (l->macs + macs - 1) / macs, scalesim_cycles(c, l));
        }
    }
    return write_file(folder, "cycles", ".csv", &text, diag);
}

/* ---- Timeloop */

static void put_timeloop_memory(vta_str *text, const vta_config *c, const char *name, vta_memory memory,
                                uint32_t bits)
{
    vta_str_printf(text,
                   "        - name: %s\n          class: storage\n          subclass: smartbuffer_SRAM\n"
                   "          attributes:\n            memory_depth: %" PRIu32
                   "\n            memory_width: %" PRIu32 "\n            word-bits: %" PRIu32
                   "\n            block-size: %" PRIu32 "\n",
                   name, c->depth[memory], 8 * c->elem_bytes[memory], bits, 8 * c->elem_bytes[memory] / bits);
}

static vta_status write_timeloop_machine(const vta_config *c, const char *folder, vta_diag *diag)
{
    static const struct {
        const char *memory, *keep, *bypass;
    } rows[] = {{"ACC", "Outputs", "Weights, Inputs"},
                {"WGT", "Weights", "Inputs, Outputs"},
                {"INP", "Inputs", "Weights, Outputs"}};
    const uint32_t macs = c->batch * c->block_in * c->block_out;
    vta_str text = {0};
    vta_str_printf(
        &text,
        "architecture:\n  version: 0.3\n  subtree:\n    - name: system\n      attributes:\n        "
        "datawidth: 8\n"
        "        word-bits: 8\n        technology: 45nm\n        global_cycle_seconds: %.3e\n      local:\n"
        "        - name: DRAM\n          class: DRAM\n          attributes:\n            type: LPDDR4\n"
        "            width: %" PRIu32 "\n            block-size: %" PRIu32
        "\n            word-bits: 8\n            shared_bandwidth: %" PRIu32
        "\n      subtree:\n      - name: vta\n        local:\n",
        1e-6 / c->clock_mhz, 8 * bytes_a_cycle(c), bytes_a_cycle(c), bytes_a_cycle(c));
    put_timeloop_memory(&text, c, "ACC", VTA_MEM_ACC, 32);
    put_timeloop_memory(&text, c, "WGT", VTA_MEM_WGT, 8);
    put_timeloop_memory(&text, c, "INP", VTA_MEM_INP, 8);
    vta_str_printf(&text,
                   "        - name: MAC[0..%" PRIu32
                   "]\n          class: compute\n          subclass: intmac\n"
                   "          attributes:\n            datawidth: 8\n            meshX: %" PRIu32 "\n",
                   macs - 1, c->block_out);
    VTA_TRY(write_file(folder, "arch", ".yaml", &text, diag));
    vta_str_put(&text, "architecture_constraints:\n  targets:\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        vta_str_printf(&text, "    - target: %s\n      type: bypass\n      keep: [%s]\n      bypass: [%s]\n",
                       rows[i].memory, rows[i].keep, rows[i].bypass);
    }
    vta_str_printf(&text,
                   "    - target: INP\n      type: spatial\n      factors: C=%" PRIu32 " M=%" PRIu32
                   " R=1 S=1 P=1 Q=1 N=%" PRIu32 "\n",
                   c->block_in, c->block_out, c->batch);
    return write_file(folder, "constraints", ".yaml", &text, diag);
}

static vta_status write_timeloop(const vta_config *c, const export_network *networks, uint32_t count,
                                 const char *folder, vta_diag *diag)
{
    VTA_TRY(write_timeloop_machine(c, folder, diag));
    for (uint32_t n = 0; n < count; n++) {
        for (uint32_t i = 0; i < networks[n].count; i++) {
            const exported *l = &networks[n].layers[i];
            char name[2 * NAME];
            vta_str text = {0};
            vta_str_printf(
                &text,
                "# one of %" PRId64 " groups\nproblem:\n  shape:\n    name: convolution\n"
                "    dimensions: [C, M, R, S, N, P, Q]\n    coefficients:\n"
                "      - {name: Hstride, default: 1}\n      - {name: Wstride, default: 1}\n"
                "      - {name: Hdilation, default: 1}\n      - {name: Wdilation, default: 1}\n    "
                "data-spaces:\n"
                "      - name: Weights\n        projection:\n          - [[C]]\n          - [[M]]\n          "
                "- [[R]]\n"
                "          - [[S]]\n      - name: Inputs\n        projection:\n          - [[N]]\n          "
                "- [[C]]\n"
                "          - [[R, Hdilation], [P, Hstride]]\n          - [[S, Wdilation], [Q, Wstride]]\n"
                "      - name: Outputs\n        projection:\n          - [[N]]\n          - [[M]]\n          "
                "- [[P]]\n"
                "          - [[Q]]\n        read-write: True\n  instance:\n    C: %" PRId64
                "\n    M: %" PRId64 "\n    R: %" PRId64 "\n    S: %" PRId64 "\n    N: %" PRId64
                "\n    P: %" PRId64 "\n    Q: %" PRId64 "\n    Hstride: %" PRId64 "\n    Wstride: %" PRId64
                "\n    Hdilation: %" PRId64 "\n    Wdilation: %" PRId64 "\n",
                l->groups, l->c_in, l->c_out, l->window->kernel[0], l->window->kernel[1], l->n, l->h_out,
                l->w_out, l->window->stride[0], l->window->stride[1], l->window->dilation[0],
                l->window->dilation[1]);
            (void)snprintf(name, sizeof name, "%s_%s", networks[n].name, l->name);
            VTA_TRY(write_file(folder, name, ".yaml", &text, diag));
        }
    }
    return VTA_OK;
}

/* ---- ZigZag */

/* A memory of ZigZag: its ports by operand; costs are left at 0, since this export is about cycles. */
static void put_zigzag_memory(vta_str *text, const char *name, uint64_t bytes, uint64_t bits,
                              const char *operand, bool sums)
{
    vta_str_printf(
        text,
        "  %s:\n    size: %" PRIu64 "\n    r_bw: %" PRIu64 "\n    w_bw: %" PRIu64
        "\n    r_cost: 0\n    w_cost: 0\n    area: 0\n    r_port: %d\n    w_port: %d\n    rw_port: 0\n"
        "    latency: 1\n    auto_cost_extraction: False\n    operands: [%s]\n    ports:\n"
        "      - fh: w_port_1\n        tl: r_port_1\n%s    served_dimensions: [D1, D2]\n\n",
        name, 8 * bytes, bits, bits, sums ? 2 : 1, sums ? 2 : 1, operand,
        sums ? "        fl: w_port_2\n        th: r_port_2\n" : "");
}

static vta_status write_zigzag_machine(const vta_config *c, const char *folder, vta_diag *diag)
{
    const uint64_t bus = 8ULL * bytes_a_cycle(c);
    vta_str text = {0};
    vta_str_printf(&text, "name: %s\n\nmemories:\n", c->name);
    put_zigzag_memory(&text, "inp", buffer_bytes(c, VTA_MEM_INP), 8ULL * c->elem_bytes[VTA_MEM_INP], "I1",
                      false);
    put_zigzag_memory(&text, "wgt", buffer_bytes(c, VTA_MEM_WGT), 8ULL * c->elem_bytes[VTA_MEM_WGT], "I2",
                      false);
    put_zigzag_memory(&text, "acc", buffer_bytes(c, VTA_MEM_ACC), 8ULL * c->elem_bytes[VTA_MEM_ACC], "O",
                      true);
    vta_str_printf(
        &text,
        "  dram:\n    size: 10000000000\n    r_bw: %" PRIu64 "\n    w_bw: %" PRIu64
        "\n    r_cost: 0\n    w_cost: 0\n    area: 0\n    r_port: 0\n    w_port: 0\n    rw_port: 1\n    "
        "latency: 1\n"
        "    auto_cost_extraction: False\n    operands: [I1, I2, O]\n    ports:\n"
        "      - fh: rw_port_1\n        tl: rw_port_1\n      - fh: rw_port_1\n        tl: rw_port_1\n"
        "      - fh: rw_port_1\n        tl: rw_port_1\n        fl: rw_port_1\n        th: rw_port_1\n"
        "    served_dimensions: [D1, D2]\n\noperational_array:\n  input_precision: [8, 8]\n"
        "  unit_energy: 0\n  unit_area: 1\n  dimensions: [D1, D2]\n  sizes: [%" PRIu32 ", %" PRIu32 "]\n",
        bus, bus, c->block_out * c->batch, c->block_in);
    VTA_TRY(write_file(folder, "hardware", ".yaml", &text, diag));
    vta_str_printf(&text,
                   "- name: default\n  core_allocation: [1]\n  spatial_mapping:\n    D1:\n      - K, %" PRIu32
                   "\n    D2:\n      - C, %" PRIu32
                   "\n  memory_operand_links:\n    O: O\n    W: I2\n    I: I1\n",
                   c->block_out * c->batch, c->block_in);
    return write_file(folder, "mapping", ".yaml", &text, diag);
}

static vta_status write_zigzag(const vta_config *c, const export_network *networks, uint32_t count,
                               const char *folder, vta_diag *diag)
{
    VTA_TRY(write_zigzag_machine(c, folder, diag));
    for (uint32_t n = 0; n < count; n++) {
        vta_str text = {0};
        for (uint32_t i = 0; i < networks[n].count; i++) {
            const exported *l = &networks[n].layers[i];
            const bool grouped = l->groups > 1;
            vta_str_printf(&text,
                           "%s- id: %" PRIu32 " # %s\n  operator_type: Conv\n  equation: %s\n"
                           "  dimension_relations: [ix=%" PRId64 "*ox+%" PRId64 "*fx, iy=%" PRId64
                           "*oy+%" PRId64 "*fy]\n"
                           "  loop_dims: [B, %sK, C, OY, OX, FY, FX]\n  loop_sizes: [%" PRId64 ", ",
                           i > 0 ? "\n" : "", i, l->name,
                           grouped ? "O[b][g][k][oy][ox]+=W[g][k][c][fy][fx]*I[b][g][c][iy][ix]"
                                   : "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]",
                           l->window->stride[1], l->window->dilation[1], l->window->stride[0],
                           l->window->dilation[0], grouped ? "G, " : "", l->n);
            if (grouped) {
                vta_str_printf(&text, "%" PRId64 ", ", l->groups);
            }
            vta_str_printf(
                &text,
                "%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                "]\n  operand_precision:\n    W: 8\n    I: 8\n    O: 32\n    O_final: 8\n  operand_source:\n"
                "    I: %" PRIu32 "\n    W: %" PRIu32 "\n",
                l->c_out, l->c_in, l->h_out, l->w_out, l->window->kernel[0], l->window->kernel[1],
                i > 0 ? i - 1 : 0, i);
        }
        VTA_TRY(write_file(folder, networks[n].name, ".yaml", &text, diag));
    }
    return VTA_OK;
}

/* ---- all of it */

static const struct {
    const char *name;
    vta_status (*write)(const vta_config *, const export_network *, uint32_t, const char *, vta_diag *);
} tools[] = {{"scalesim", write_scalesim}, {"timeloop", write_timeloop}, {"zigzag", write_zigzag}};

bool cli_knows_export(const char *tool)
{
    size_t i = 0;
    while (i < sizeof tools / sizeof tools[0] && strcmp(tools[i].name, tool) != 0) {
        i++;
    }
    return i < sizeof tools / sizeof tools[0];
}

vta_status cli_explore_export(const cli_explored *e, const char *tool, const char *folder, vta_diag *diag)
{
    char path[PATH];
    export_network networks[VTAC_MAX_NETWORKS] = {0};
    vta_config config = e->found->candidates[0].config;
    vta_status status = VTA_OK;
    (void)snprintf(config.name, sizeof config.name, "best1");
    (void)snprintf(path, sizeof path, "%s/%s", folder, tool);
    VTA_TRY_OUT(vta_folder_make(path, 0777, diag));
    for (uint32_t n = 0; n < e->networks->count; n++) {
        VTA_TRY_OUT(take_network(&config, &e->networks->explored[n], &networks[n], diag));
    }
    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++) {
        if (strcmp(tools[i].name, tool) == 0) {
            VTA_TRY_OUT(tools[i].write(&config, networks, e->networks->count, path, diag));
        }
    }
    status = write_cycles(&config, networks, e->networks->count, path, diag);
out:
    for (uint32_t n = 0; n < e->networks->count; n++) {
        free(networks[n].layers);
    }
    return status;
}
