/* SPDX-License-Identifier: Apache-2.0
 *
 * The page of an exploration: the front, plots, and for each point its configuration, its layers and what
 * binds them. The script draws from the JSON beside it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explore.h"
#include "html.h"

enum { MAX_POINTS = 4000 };

static void put_string(vta_str *out, const char *name, const char *value)
{
    vta_str_printf(out, ", \"%s\": ", name);
    cli_put_json(out, value);
}

/* Writes the results of a network: its cycles, the cycles of each unit alone, and its proof on tsim. */
static void put_networks(vta_str *out, const cli_explored *e, const vtac_candidate *c, const cli_proof *proof)
{
    vta_str_put(out, ", \"networks\": [");
    for (uint32_t n = 0; n < e->networks->count; n++) {
        const vtac_estimate *t = &c->networks[n];
        vta_str_printf(
            out, "%s{\"cycles\": %" PRIu64 ", \"busy\": [%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]",
            n > 0 ? ", " : "", t->cycles, t->sum.array, t->sum.alu, t->sum.load, t->sum.store);
        if (c->compiled[n] > 0) {
            vta_str_printf(out, ", \"compiled\": %" PRIu64, c->compiled[n]);
        }
        if (proof != NULL && proof->cycles[n] > 0) {
            vta_str_printf(out, ", \"foretold\": %" PRIu64 ", \"tsim\": %" PRIu64, proof->predicted[n],
                           proof->cycles[n]);
        }
        put_string(out, "why", t->why);
        vta_str_put(out, "}");
    }
    vta_str_put(out, "]");
    if (proof != NULL && proof->counted.lut > 0) {
        const vtac_area *a = &proof->counted;
        vta_str_printf(out, ", \"counted\": {\"lut\": %.0f, \"ff\": %.0f, \"dsp\": %.0f, \"bram\": %.1f}",
                       a->lut, a->ff, a->dsp, a->bram);
    }
}

static void put_point(vta_str *out, const cli_explored *e, const vtac_candidate *c, int32_t place,
                      const char *fits)
{
    const vta_config *k = &c->config;
    const char *layers = cli_layers_of(e, c);
    char *json = layers != NULL ? vta_config_to_json(k) : NULL;
    vta_str_put(out, "{\"name\": ");
    cli_put_json(out, k->name);
    vta_str_printf(out,
                   ", \"runs\": %s, \"meets\": %s, \"front\": %s, \"fps\": %.6g, \"latency\": %.6g, "
                   "\"round\": %.6g, \"energy\": %.6g, \"board_energy\": %.6g, "
                   "\"share\": %.6g, \"area\": "
                   "{\"lut\": %.0f, \"ff\": %.0f, \"dsp\": %.0f, \"bram\": %.1f}",
                   c->runs ? "true" : "false", c->broken < 0 ? "true" : "false", c->front ? "true" : "false",
                   c->fps, c->latency, c->round, c->energy, c->fps > 0 ? e->power.watts / c->fps : 0.0,
                   c->share, c->area.lut, c->area.ff, c->area.dsp, c->area.bram);
    vta_str_printf(
        out,
        ",\n  \"config\": {\"batch\": %u, \"block_in\": %u, \"block_out\": %u, \"inp\": %u, \"wgt\": "
        "%u, \"acc\": %u, \"uop\": %u, \"bus\": %u, \"queue\": %u, \"pump\": %u, "
        "\"table\": %u, \"loop_back\": %u, \"depthwise_taps\": %u, \"rows\": %u, \"wgt4\": %u, "
        "\"clock_mhz\": %u, \"alu_dsps\": %u, \"cores\": %u, "
        "\"addr_bits\": %u, \"mem_latency\": %u, \"mem_bandwidth\": %u, \"mem_shared\": %u}",
        k->batch, k->block_in, k->block_out, k->log_inp_buff, k->log_wgt_buff, k->log_acc_buff,
        k->log_uop_buff, 1U << k->log_bus_width, k->log_queue, k->array_pump, k->table, k->loop_back,
        k->depthwise_taps, k->rows, k->wgt4, k->clock_mhz, k->alu_dsps, k->cores, k->addr_bits,
        k->mem_latency, k->mem_bandwidth, k->mem_shared);
    put_networks(out, e, c, place >= 0 && (uint32_t)place < e->proof_count ? &e->proofs[place] : NULL);
    if (place < 0) {
        vta_str_put(out, ", \"shipped\": true");
        put_string(out, "fits", fits);
    } else if (c->front || place < EXPLORE_FINALISTS) {
        vta_str_printf(out, ", \"file\": \"best%d.json\"", place + 1);
    }
    if (layers != NULL) {
        vta_str_put(out, ", \"layers\": [");
        vta_str_put(out, layers);
        vta_str_put(out, "]");
    }
    put_string(out, "json", json != NULL ? json : "");
    vta_str_put(out, "}");
    free(json);
}

static void put_points(vta_str *out, const cli_explored *e)
{
    bool first = true;
    vta_str_put(out, ",\n \"points\": [");
    for (uint32_t i = 0; i < e->found->count; i++) {
        const vtac_candidate *c = &e->found->candidates[i];
        if (c->runs && (c->front || i < MAX_POINTS)) {
            vta_str_put(out, first ? "\n " : ",\n ");
            put_point(out, e, c, (int32_t)i, "");
            first = false;
        }
    }
    vta_str_put(out, "],\n \"shipped\": [");
    for (uint32_t i = 0; i < e->shipped_count; i++) {
        vta_str_put(out, i > 0 ? ",\n " : "\n ");
        put_point(out, e, &e->shipped[i], -1, e->fits[i]);
    }
    vta_str_put(out, "]");
}

/* The power of boards with the part: a sentence, numbers (watts 0: nobody measured), and the measurements. */
static void put_power(vta_str *out, const cli_explored *e)
{
    char text[VTAC_POWER_TEXT];
    const char *before = "";
    vtac_power_text(&e->power, e->part->name, text, sizeof text);
    vta_str_printf(out, ",\n \"power\": {\"watts\": %.4g, \"error\": %.4g", e->power.watts, e->power.error);
    put_string(out, "text", text);
    vta_str_put(out, ", \"measurements\": [");
    for (size_t i = 0; i < e->powers->count; i++) {
        const vtac_power *p = &e->powers->items[i];
        if (strcmp(p->part, e->part->name) == 0) {
            vta_str_printf(out, "%s{\"watts\": %.4g", before, p->watts);
            put_string(out, "source", p->source);
            vta_str_put(out, "}");
            before = ", ";
        }
    }
    vta_str_put(out, "]}");
}

/* The records of boards with the part, beside their promises. */
static void put_promises(vta_str *out, const cli_explored *e)
{
    char text[VTAC_PROMISES_TEXT];
    vtac_promises_text(&e->promises, e->part->name, text, sizeof text);
    vta_str_printf(out, ",\n \"promises\": {\"records\": %u, \"time\": %.6g", e->promises.cycles.count,
                   vtac_promises_time(&e->promises));
    put_string(out, "text", text);
    vta_str_put(out, "}");
}

static void put_json(vta_str *out, const cli_explored *e)
{
    const vtac_exploration *x = e->found;
    vta_str_put(out, "{\"part\": ");
    cli_put_json(out, e->part->name);
    put_string(out, "bitstream", e->part->bitstream);
    put_string(out, "objective", e->options->goal->text);
    vta_str_printf(out,
                   ", \"space\": %" PRIu64 ", \"around\": %" PRIu64 ", \"illegal\": %" PRIu64
                   ", \"too_large\": %" PRIu64
                   ", \"candidates\": %u, \"distinct\": %u, \"timed\": %u, \"left\": %u",
                   x->space, x->around, x->illegal, x->too_large, x->count, x->distinct, x->timed, x->left);
    vta_str_printf(out, ", \"most\": {\"lut\": %.0f, \"dsp\": %.0f, \"bram\": %.0f}", e->part->lut_max,
                   e->part->dsp_max, e->part->bram_max);
    vta_str_printf(out,
                   ", \"area_model\": {\"samples\": %u, \"lut\": %.4f, \"ff\": %.4f, \"dsp\": %.4f, "
                   "\"bram\": %.4f}, \"energy\": [",
                   x->area_model.samples, x->area_model.error.lut, x->area_model.error.ff,
                   x->area_model.error.dsp, x->area_model.error.bram);
    for (const char *const *line = vtac_energy_sources(); *line != NULL; line++) {
        vta_str_put(out, line == vtac_energy_sources() ? "" : ", ");
        cli_put_json(out, *line);
    }
    vta_str_put(out, "]");
    put_power(out, e);
    put_promises(out, e);
    const vtac_clock clock = vtac_clock_of(e->part->name);
    vta_str_printf(out, ",\n \"clock\": {\"netlists\": %u, \"ns\": %.4g, \"mhz\": %.4g, \"error\": %.4g}",
                   clock.count, clock.ns, clock.mhz, clock.error);
    vta_str_put(out, ",\n \"networks\": [");
    for (uint32_t n = 0; n < e->networks->count; n++) {
        vta_str_put(out, n > 0 ? ", {\"name\": " : "{\"name\": ");
        cli_put_json(out, e->networks->items[n].name);
        vta_str_printf(out, ", \"weigh\": %g, \"host_cycles\": %.0f}",
                       e->options->counts[n] > 0 ? e->options->counts[n] : 1,
                       e->networks->explored[n].host_cycles);
    }
    vta_str_put(out, "],\n \"outside\": [");
    for (uint32_t i = 0; i < x->outside_count; i++) {
        vta_str_put(out, i > 0 ? ", {\"by\": " : "{\"by\": ");
        cli_put_json(out, x->outside[i].why);
        vta_str_printf(out, ", \"count\": %" PRIu64 "}", x->outside[i].count);
    }
    vta_str_put(out, "],\n \"tiles\": [");
    for (uint32_t i = 0; i < x->tile_count; i++) {
        const vtac_tile *t = &x->tiles[i];
        vta_str_printf(
            out,
            "%s{\"batch\": %u, \"block_in\": %u, \"block_out\": %u, \"pump\": %u, \"fitting\": %" PRIu64
            ", \"judged\": %" PRIu64 ", \"fps\": %.6g",
            i > 0 ? ",\n " : "\n ", t->batch, t->block_in, t->block_out, t->pump, t->fitting, t->evaluated,
            t->fps);
        put_string(out, "nearest", t->nearest);
        vta_str_put(out, "}");
    }
    vta_str_put(out, "]");
    cli_put_keys(out, e);
    put_points(out, e);
    vta_str_put(out, "}\n");
}

char *cli_explore_json(const cli_explored *e)
{
    vta_str out = {0};
    put_json(&out, e);
    return vta_str_take(&out);
}

char *cli_explore_page(const cli_explored *e)
{
    vta_str out = {0};
    cli_put_page_head(&out, "explore", "vtac explore");
    cli_put_asset(&out, "explore.html");
    vta_str_put(&out, "<script id=\"data\" type=\"application/json\">");
    put_json(&out, e);
    vta_str_put(&out, "</script>\n");
    cli_put_page_script(&out, "explore");
    return vta_str_take(&out);
}
