/* SPDX-License-Identifier: Apache-2.0
 *
 * Sensitivity: what each key gains around the best configuration. The best is a space of its own, whose
 * neighbours are the rows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore.h"
#include "html.h"
#include "table.h"
#include "vta/dram_kind.h"
#include "vta/fail.h"

/* The space of the best configuration: it is the one that is shipped, and first on each axis. */
static bool space_around(const cli_explored *e, vtac_space *out)
{
    const vta_config *best = &e->found->candidates[0].config;
    *out = *e->options->space;
    out->base = *best;
    out->shipped[0] = *best;
    out->shipped_count = 1;
    for (uint32_t a = 0; a < out->axis_count; a++) {
        const uint32_t value = vtac_space_value(best, out->axes[a].key);
        uint32_t at = 0;
        while (at < out->axes[a].count && out->axes[a].values[at] != value) {
            at++;
        }
        if (at == out->axes[a].count && at == VTAC_SPACE_VALUES) {
            return false;
        }
        out->axes[a].count += at == out->axes[a].count;
        out->axes[a].values[at] = out->axes[a].values[0];
        out->axes[a].values[0] = value;
    }
    return true;
}

static const vtac_candidate *find_candidate(const vtac_exploration *x, const vta_config *config)
{
    for (uint32_t i = 0; i < x->count; i++) {
        const vta_config *c = &x->candidates[i].config;
        if (c->hash == config->hash && strcmp(c->dram, config->dram) == 0 &&
            c->array_pump == config->array_pump && c->clock_mhz == config->clock_mhz &&
            c->alu_dsps == config->alu_dsps && c->cores == config->cores &&
            c->mem_shared == config->mem_shared && c->mem_latency == config->mem_latency &&
            c->mem_bandwidth == config->mem_bandwidth) {
            return &x->candidates[i];
        }
    }
    return NULL;
}

/* Fills one row with the configuration that has that number around the best. */
static void fill_changed(const cli_explored *e, const vtac_exploration *x, const vtac_space *space,
                         uint64_t number, cli_changed_key *row)
{
    const vtac_candidate *best = &e->found->candidates[0];
    vta_config config;
    vta_diag reason = {0};
    if (vtac_space_at(space, vtac_space_size(space) + number, &config, &reason) != VTA_OK) {
        const char *sentence = strchr(reason.text, ':'); /* behind the configuration's name */
        (void)snprintf(row->why, sizeof row->why, "%.180s", sentence != NULL ? sentence + 2 : reason.text);
        return;
    }
    const vtac_area area = vtac_area_of(&x->area_model, e->part, &config);
    row->lut = area.lut / best->area.lut;
    if (!vtac_part_has(e->part, &config, row->why, sizeof row->why) ||
        !vtac_area_fits(e->part, &area, row->why, sizeof row->why)) {
        return;
    }
    const vtac_candidate *c = find_candidate(x, &config);
    if (c != NULL && c->runs) {
        row->fps = c->fps / best->fps;
        row->energy = c->energy / best->energy;
    } else {
        (void)snprintf(row->why, sizeof row->why, "a network does not run");
    }
}

static vta_status fill_keys(cli_explored *e, const vtac_exploration *x, const vtac_space *space,
                            vta_diag *diag)
{
    uint64_t number = 1; /* 0 is the best itself */
    e->keys = calloc(vtac_space_around(space) + 1, sizeof *e->keys);
    if (e->keys == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t a = 0; a < space->axis_count; a++) {
        for (uint32_t v = 0; v < space->axes[a].count; v++, number++) {
            if (v > 0) {
                cli_changed_key *row = &e->keys[e->key_count++];
                *row = (cli_changed_key){.key = space->axes[a].key, .value = space->axes[a].values[v]};
                fill_changed(e, x, space, number, row);
            }
        }
    }
    return VTA_OK;
}

vta_status cli_time_keys(cli_explored *e, uint32_t jobs, vta_diag *diag)
{
    vtac_space space;
    vtac_explore_options options = *e->options;
    vtac_exploration x = {0};
    vtac_work *work = NULL;
    if (!space_around(e, &space)) {
        return VTA_OK;
    }
    options.space = &space;
    options.limit = 1; /* of the space itself */
    options.search = 0;
    options.journal = NULL;
    options.told = NULL;
    VTA_TRY(vtac_work_open(&(vtac_work_options){.workers = jobs}, vtac_explore_piece, &options, &work, diag));
    vta_status status = vtac_explore(&options, work, &x, diag);
    vtac_work_close(work);
    if (status == VTA_OK) {
        status = fill_keys(e, &x, &space, diag);
    }
    vtac_exploration_free(&x);
    return status;
}

/* A kind of DRAM has a name. */
static void value_text(const cli_changed_key *row, char *text, size_t size)
{
    const bool named = strcmp(row->key, "DRAM") == 0 && row->value > 0;
    (void)snprintf(text, size, "%" PRIu32, row->value);
    if (named) {
        (void)snprintf(text, size, "%s", vta_dram_kind_at(row->value - 1)->name);
    }
}

static void fill_cells(const void *context, uint32_t index, cli_cell *cells)
{
    const cli_explored *e = context;
    const cli_changed_key *row = &e->keys[index];
    char value[32];
    value_text(row, value, sizeof value);
    cli_cell_print(&cells[0], "%s=%s", row->key, value);
    if (row->fps > 0) {
        cli_cell_print(&cells[1], "%+.1f %%", 100 * (row->fps - 1));
        cli_cell_print(&cells[2], "%+.1f %%", 100 * (row->energy - 1));
    }
    if (row->lut > 0) {
        cli_cell_print(&cells[3], "%+.1f %%", 100 * (row->lut - 1));
    }
    cells[4].text = row->why;
}

void cli_print_keys(const cli_explored *e)
{
    static const cli_column columns[] = {{"best1 with", CLI_WORD},
                                         {"fps", CLI_FIGURE},
                                         {"chip mJ", CLI_FIGURE},
                                         {"LUT", CLI_FIGURE},
                                         {"note", CLI_SENTENCE}};
    if (e->key_count > 0) {
        cli_print("\n");
        cli_table(columns, sizeof columns / sizeof columns[0], e->key_count, fill_cells, e);
        cli_print("\n");
    }
}

void cli_put_keys(vta_str *out, const cli_explored *e)
{
    vta_str_put(out, ",\n \"keys\": [");
    for (uint32_t i = 0; i < e->key_count; i++) {
        const cli_changed_key *row = &e->keys[i];
        char value[32];
        value_text(row, value, sizeof value);
        vta_str_printf(out, "%s{\"key\": \"%s\", \"value\": \"%s\"", i > 0 ? ",\n  " : "\n  ", row->key,
                       value);
        vta_str_printf(out, ", \"fps\": %.5g, \"energy\": %.5g, \"lut\": %.5g, \"why\": ", row->fps,
                       row->energy, row->lut);
        cli_put_json(out, row->why);
        vta_str_put(out, "}");
    }
    vta_str_put(out, "]");
}
