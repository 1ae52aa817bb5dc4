/* SPDX-License-Identifier: Apache-2.0
 *
 * A network on configurations that differ in some keys.
 */
#include "what_if.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"
#include "vta/fail.h"

enum { MAX_CHANGES = 64, MAX_CHANGE = 512 };

typedef struct what_if {
    vtac_graph *graph;
    const vtac_partition_options *how;
    const vtac_powers *powers;
    const vtac_part *part; /* NULL: none */
    vtac_area_model area;
    cli_what_if *out;
    const vta_config *config; /* that is priced now, */
    cli_changed *row;         /* for this row */
} what_if;

/* The values of a space's keys in one configuration: "LOG_BLOCK_IN=5 TABLE=0". */
static void name_change(const vtac_space *space, uint64_t index, char *text, size_t size)
{
    size_t used = 0;
    for (uint32_t a = 0; a < space->axis_count && used < size; a++) {
        const uint32_t value = space->axes[a].values[index % space->axes[a].count];
        index /= space->axes[a].count;
        used += (size_t)snprintf(text + used, size - used, "%s%s=%u", a > 0 ? " " : "", space->axes[a].key,
                                 value);
    }
}

/* Partitions the graph for `w->config` and tells what a run costs. Runs in a worker, since it changes the
 * graph. */
static vta_status price_piece(void *context, const char *piece, vta_str *result, vta_diag *diag)
{
    const what_if *w = context;
    (void)piece;
    vtac_partition *partition = NULL;
    vtac_partition_options how = *w->how;
    how.config = w->config;
    how.schedule.progress = NULL;
    VTA_TRY(vtac_partition_graph(w->graph, &how, &partition, diag));
    const vtac_run_cycles cycles = vtac_partition_cycles(w->graph, partition);
    vta_str_printf(result, "%u %.17g %.17g", partition->region_count, cycles.accelerator, cycles.host);
    vtac_partition_free(partition);
    return VTA_OK;
}

/* Reads the line that price_piece wrote; false where a number is missing. */
static bool read_price(const char *text, cli_changed *row)
{
    char *first, *second, *third;
    row->regions = (uint32_t)strtoul(text, &first, 10);
    row->cycles = strtod(first, &second);
    row->host_cycles = strtod(second, &third);
    return first != text && second != first && third != second;
}

static void take_price(void *context, uint32_t number, const char *result, const char *why, double seconds)
{
    const what_if *w = context;
    cli_changed *row = w->row;
    (void)number;
    (void)seconds;
    row->legal = result != NULL && read_price(result, row);
    if (!row->legal) {
        (void)snprintf(row->why, sizeof row->why, "%.180s", why != NULL ? why : "");
    }
}

/* Time, energy, area, and what does not fit the part. */
static void finish_row(const what_if *w, const vta_config *config, cli_changed *row)
{
    row->seconds = (row->cycles + row->host_cycles) / (1e6 * config->clock_mhz);
    if (w->part == NULL) {
        return;
    }
    row->joules = row->seconds * vtac_board_power_of(w->powers, w->part->name).watts;
    if (!vtac_area_knows(config, row->why, sizeof row->why)) {
        return;
    }
    row->area = vtac_area_of(&w->area, w->part, config);
    if (vtac_part_has(w->part, config, row->why, sizeof row->why)) {
        (void)vtac_area_fits(w->part, &row->area, row->why, sizeof row->why);
    }
}

/* Prices a configuration in a process of its own, which has the graph as it was. */
static vta_status price_row(what_if *w, const vta_config *config, cli_changed *row, vta_diag *diag)
{
    static const char *const pieces[] = {"price"};
    vtac_work *work = NULL;
    w->config = config;
    w->row = row;
    VTA_TRY(vtac_work_open(&(vtac_work_options){.workers = 1}, price_piece, w, &work, diag));
    const vta_status status = vtac_work_run(work, pieces, 1, take_price, w, diag);
    vtac_work_close(work);
    VTA_TRY(status);
    if (row->legal) {
        finish_row(w, config, row);
    }
    return VTA_OK;
}

/* Every configuration of a space as a row. One that is not legal has the reason. */
static vta_status add_space(what_if *w, const vtac_space *space, vta_diag *diag)
{
    const uint64_t size = vtac_space_size(space);
    for (uint64_t i = 0; i < size && w->out->count < MAX_CHANGES; i++) {
        cli_changed *row = &w->out->rows[w->out->count++];
        vta_config config;
        vta_diag reason = {0};
        name_change(space, i, row->change, sizeof row->change);
        if (vtac_space_at(space, i, &config, &reason) != VTA_OK) {
            const char *sentence = strchr(reason.text, ':'); /* behind the configuration's name */
            (void)snprintf(row->why, sizeof row->why, "%.180s",
                           sentence != NULL ? sentence + 2 : reason.text);
            continue;
        }
        VTA_TRY(price_row(w, &config, row, diag));
    }
    return VTA_OK;
}

/* "LOG_BLOCK_IN=4,5 TABLE=0": the space of these keys around a configuration. */
static vta_status read_change(const char *text, const vta_config *config, vtac_space *out, vta_diag *diag)
{
    char words[MAX_CHANGE];
    char *rest = NULL;
    *out = (vtac_space){.base = *config};
    if (strlen(text) >= sizeof words) {
        return vta_fail(diag, VTA_INVALID, "'--what-if' takes %d characters at most", MAX_CHANGE - 1);
    }
    memcpy(words, text, strlen(text) + 1);
    for (char *word = strtok_r(words, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        VTA_TRY(vtac_space_fix(out, word, diag));
    }
    return out->axis_count > 0 ? VTA_OK : vta_fail(diag, VTA_INVALID, "'--what-if': expected KEY=VALUE");
}

int cli_what_if_check(const cli_args *args, const vta_config *config)
{
    size_t at = 0;
    uint64_t rows = 1;
    for (const char *text = cli_next(args, "--what-if", &at); text != NULL;
         text = cli_next(args, "--what-if", &at)) {
        vtac_space space;
        vta_diag diag = {0};
        if (read_change(text, config, &space, &diag) != VTA_OK) {
            return cli_usage(args, "%s", diag.text);
        }
        const uint64_t size = vtac_space_size(&space);
        rows = size > MAX_CHANGES ? MAX_CHANGES + 1 : rows + size;
        if (rows > MAX_CHANGES) {
            return cli_usage(args, "'--what-if' takes %d configurations in all; name fewer values",
                             MAX_CHANGES - 1);
        }
    }
    return CLI_OK;
}

vta_status cli_what_if_find(const cli_args *args, vtac_graph *graph, const vtac_partition_options *how,
                            const vtac_powers *powers, cli_what_if *out, vta_diag *diag)
{
    size_t at = 0;
    what_if w = {.graph = graph, .how = how, .powers = powers, .part = vtac_part_of(how->config), .out = out};
    *out = (cli_what_if){0};
    if (cli_value(args, "--what-if") == NULL) {
        return VTA_OK;
    }
    VTA_TRY(vtac_area_fit(&w.area, diag));
    out->rows = calloc(MAX_CHANGES, sizeof *out->rows);
    if (out->rows == NULL) {
        return vta_no_memory(diag);
    }
    VTA_TRY(price_row(&w, how->config, &out->rows[out->count++], diag));
    for (const char *text = cli_next(args, "--what-if", &at); text != NULL;
         text = cli_next(args, "--what-if", &at)) {
        vtac_space space;
        VTA_TRY(read_change(text, how->config, &space, diag));
        VTA_TRY(add_space(&w, &space, diag));
    }
    return VTA_OK;
}

void cli_what_if_free(cli_what_if *found)
{
    free(found->rows);
    *found = (cli_what_if){0};
}

static void fill_row(const void *context, uint32_t index, cli_cell *cells)
{
    const cli_what_if *found = context;
    const cli_changed *row = &found->rows[index];
    cells[0].text = index == 0 ? "as it is" : row->change;
    cells[8].text = row->why;
    if (!row->legal) {
        return;
    }
    cli_cell_print(&cells[1], "%.0f", row->cycles);
    cli_cell_print(&cells[2], "%.0f", row->host_cycles);
    cli_cell_print(&cells[3], "%.3g", 1e3 * row->seconds);
    if (row->joules > 0) {
        cli_cell_print(&cells[4], "%.3g", 1e3 * row->joules);
    }
    if (row->area.lut > 0) {
        cli_cell_print(&cells[5], "%.0f", row->area.lut);
        cli_cell_print(&cells[6], "%.0f", row->area.dsp);
        cli_cell_print(&cells[7], "%.1f", row->area.bram);
    }
}

void cli_what_if_text(const cli_what_if *found)
{
    static const cli_column columns[] = {
        {"what if", CLI_WORD}, {"cycles", CLI_FIGURE}, {"on host", CLI_FIGURE},
        {"ms", CLI_FIGURE},    {"mJ", CLI_FIGURE},     {"LUT", CLI_FIGURE},
        {"DSP", CLI_FIGURE},   {"BRAM36", CLI_FIGURE}, {"note", CLI_SENTENCE}};
    if (found->count > 0) {
        cli_print("\n");
        cli_table(columns, sizeof columns / sizeof columns[0], found->count, fill_row, found);
    }
}

void cli_what_if_json(const cli_what_if *found)
{
    cli_put(found->count > 0 ? ",\n \"what_if\": [" : "");
    for (uint32_t i = 0; i < found->count; i++) {
        const cli_changed *row = &found->rows[i];
        cli_put(i > 0 ? ",\n  {\"change\": " : "{\"change\": ");
        cli_json_string(row->change);
        cli_print(", \"legal\": %s, \"note\": ", row->legal ? "true" : "false");
        cli_json_string(row->why);
        if (row->legal) {
            cli_print(", \"regions\": %u, \"cycles\": %.0f, \"host_cycles\": %.0f, \"seconds\": %.6g, "
                      "\"joules\": %.4g, \"lut\": %.0f, \"dsp\": %.0f, \"bram\": %.1f",
                      row->regions, row->cycles, row->host_cycles, row->seconds, row->joules, row->area.lut,
                      row->area.dsp, row->area.bram);
        }
        cli_put("}");
    }
    cli_put(found->count > 0 ? "]" : "");
}
