/* SPDX-License-Identifier: Apache-2.0
 *
 * A profile as JSON, as a trace (Perfetto, chrome://tracing) and as the page around the JSON.
 */
#include <inttypes.h>
#include <string.h>

#include "html.h"
#include "profile.h"

static const struct {
    const char *name, *doc;
} classes[] = {
#define X(id, name, doc) {name, doc},
    VTA_CYCLE_CLASS_LIST(X)
#undef X
};

enum { UNITS = 3, LANES = 8 }; /* of the timeline's tracks: 1 + LANES * unit + lane */
static const char *const unit_names[UNITS] = {"load", "compute", "store"};

typedef struct profile_totals {
    uint64_t cycles, predicted, macs, read, written, flops;
    double host_s, accelerator_s, all_s;
} profile_totals;

static profile_totals add_up(const cli_profile *p)
{
    profile_totals t = {0};
    for (uint32_t i = 0; i < p->step_count; i++) {
        t.cycles += p->steps[i].cycles;
        t.predicted += p->steps[i].predicted;
        t.flops += p->steps[i].flops;
        t.all_s += p->steps[i].seconds;
        t.host_s += p->steps[i].on_accelerator ? 0.0 : p->steps[i].seconds;
    }
    for (uint32_t i = 0; i < p->layer_count; i++) {
        t.macs += p->layers[i].macs;
        t.read += p->layers[i].bytes_read;
        t.written += p->layers[i].bytes_written;
    }
    const uint64_t cycles = t.cycles > 0 ? t.cycles : t.predicted;
    t.accelerator_s = p->has_config ? (double)cycles / (1e6 * p->config.clock_mhz) : 0.0;
    return t;
}

/* ---- JSON */

static uint32_t bus_bytes(const vta_config *c)
{
    const uint32_t bytes = (1U << c->log_bus_width) / 8;
    return c->mem_bandwidth > 0 && c->mem_bandwidth < bytes ? c->mem_bandwidth : bytes;
}

static void put_config(const cli_profile *p, vta_str *out)
{
    const vta_config *c = &p->config;
    if (!p->has_config) {
        vta_str_put(out, "\"config\": null");
        return;
    }
    vta_str_put(out, "\"config\": {\"name\": ");
    cli_put_json(out, c->name);
    vta_str_printf(out,
                   ", \"batch\": %u, \"block_in\": %u, \"block_out\": %u, \"clock_mhz\": %u, "
                   "\"bus_bytes\": %u, \"latency\": %u}",
                   c->batch, c->block_in, c->block_out, c->clock_mhz, bus_bytes(c), c->mem_latency);
}

/* True where the accelerator was simulated: then host kernels ran on this machine's processor, which no board
 * has. */
static bool is_simulated(const cli_profile *p, const profile_totals *t)
{
    static const char *const simulators[] = {"fsim", "tsim", "systemc"};
    const char *device = p->device != NULL ? p->device : "";
    const char *there = strstr(device, "device=");
    bool found = false;
    for (size_t i = 0; i < sizeof simulators / sizeof simulators[0]; i++) {
        const size_t length = strlen(simulators[i]);
        found = found || strncmp(device, simulators[i], length) == 0 ||
                (there != NULL && strncmp(there + strlen("device="), simulators[i], length) == 0);
    }
    return found && (p->has_config || t->predicted > 0);
}

/* Seconds of one run on a board; 0: not known, as through an agent, which has no clock of what it simulates.
 */
static double board_seconds(const cli_profile *p, const profile_totals *t, bool simulated)
{
    if (simulated) {
        return p->has_config ? t->accelerator_s + p->host_estimate_s : 0.0;
    }
    return p->has_config ? t->accelerator_s + t->host_s : t->all_s;
}

static void put_summary(const cli_profile *p, vta_str *out)
{
    const profile_totals t = add_up(p);
    const bool simulated = is_simulated(p, &t);
    const double seconds = board_seconds(p, &t, simulated);
    vta_str_put(out, "\"model\": ");
    cli_put_json(out, p->model);
    vta_str_put(out, ", \"device\": ");
    cli_put_json(out, p->device);
    vta_str_put(out, ",\n");
    put_config(p, out);
    vta_str_printf(out,
                   ",\n\"memory\": {\"host\": %" PRIu64 ", \"constants\": %" PRIu64 ", \"work\": %" PRIu64
                   ", \"program\": %" PRIu64 "}",
                   p->host_bytes, p->constant_bytes, p->work_bytes, p->program_bytes);
    vta_str_printf(out,
                   ",\n\"runs\": %" PRIu64 ", \"wall_s\": %.6f, \"cycles\": %" PRIu64
                   ", \"predicted\": %" PRIu64 ", \"macs\": %" PRIu64 ", \"flops\": %" PRIu64
                   ", \"bytes_read\": %" PRIu64 ", \"bytes_written\": %" PRIu64,
                   p->runs, p->wall_s, t.cycles, t.predicted, t.macs, t.flops, t.read, t.written);
    vta_str_printf(out, ", \"accelerator_s\": %.9f, \"host_s\": %.9f, \"simulated\": %s, \"processor\": ",
                   t.accelerator_s, t.host_s, simulated ? "true" : "false");
    cli_put_json(out, p->processor);
    vta_str_printf(out, ", \"host_estimate_s\": %.9f, \"inferences_per_s\": %.3f,\n\"classes\": [",
                   p->host_estimate_s, seconds > 0.0 ? 1.0 / seconds : 0.0);
    for (int i = 0; i < VTA_CYCLE_CLASSES; i++) {
        vta_str_printf(out, "%s{\"name\": \"%s\", \"doc\": \"%s\"}", i > 0 ? ", " : "", classes[i].name,
                       classes[i].doc);
    }
    vta_str_put(out, "]");
}

static void put_steps(const cli_profile *p, vta_str *out)
{
    vta_str_put(out, ",\n\"steps\": [");
    for (uint32_t i = 0; i < p->step_count; i++) {
        const vta_step_profile *s = &p->steps[i];
        vta_str_put(out, i > 0 ? ",\n{\"name\": " : "\n{\"name\": ");
        cli_put_json(out, s->name);
        vta_str_put(out, ", \"op\": ");
        cli_put_json(out, s->op);
        vta_str_printf(out,
                       ", \"node\": %u, \"on_accelerator\": %s, \"us\": %.3f, \"flops\": %" PRIu64
                       ", \"cycles\": %" PRIu64 ", \"predicted\": %" PRIu64 "}",
                       s->node, s->on_accelerator ? "true" : "false", 1e6 * s->seconds, s->flops, s->cycles,
                       s->predicted);
    }
    vta_str_put(out, "]");
}

static void put_layers(const cli_profile *p, vta_str *out)
{
    vta_str_put(out, ",\n\"layers\": [");
    for (uint32_t i = 0; i < p->layer_count; i++) {
        const vta_layer_profile *l = &p->layers[i];
        vta_str_put(out, i > 0 ? ",\n{\"name\": " : "\n{\"name\": ");
        cli_put_json(out, l->name);
        vta_str_put(out, ", \"op\": ");
        cli_put_json(out, l->op);
        vta_str_put(out, ", \"schedule\": ");
        cli_put_json(out, l->schedule);
        vta_str_put(out, ", \"bound\": ");
        cli_put_json(out, l->bound);
        vta_str_printf(out,
                       ", \"step\": %u, \"node\": %u, \"joined\": %s, \"macs\": %" PRIu64
                       ", \"bytes_read\": %" PRIu64 ", \"bytes_written\": %" PRIu64
                       ", \"predicted\": %" PRIu64 ", \"cycles\": %" PRIu64 ", \"split\": [",
                       l->step, l->node, l->joined ? "true" : "false", l->macs, l->bytes_read,
                       l->bytes_written, l->predicted, l->cycles);
        for (int c = 0; c < VTA_CYCLE_CLASSES; c++) {
            vta_str_printf(out, "%s%" PRIu64, c > 0 ? ", " : "", l->split[c]);
        }
        vta_str_put(out, "]}");
    }
    vta_str_put(out, "]");
}

/* The instructions alone: what waits is in the trace. */
static void put_timeline(const cli_profile *p, vta_str *out)
{
    const char *names[64];
    uint32_t name_count = 0;
    bool first = true;
    vta_str_put(out, ",\n\"timeline\": {\"units\": [");
    for (uint32_t i = 0; i < UNITS; i++) {
        vta_str_printf(out, "%s\"%s\"", i > 0 ? ", " : "", unit_names[i]);
    }
    vta_str_put(out, "], \"columns\": [\"unit\", \"lane\", \"start\", \"length\", \"insn\", \"layer\", "
                     "\"name\", \"token_wait\", \"memory_wait\"],\n\"spans\": [");
    for (size_t i = 0; i < p->span_count; i++) {
        const cli_span *s = &p->spans[i];
        const uint32_t unit = (s->track - 1) / LANES;
        if (s->insn == CLI_NO_INSN || s->track == 0 || unit >= UNITS) {
            continue;
        }
        uint32_t name = 0;
        while (name < name_count && strcmp(names[name], s->name) != 0) {
            name++;
        }
        if (name == name_count && name_count < sizeof names / sizeof names[0]) {
            names[name_count++] = s->name;
        }
        vta_str_printf(out, "%s[%u,%u,%" PRIu64 ",%" PRIu64 ",%u,%u,%u,%u,%u]", first ? "\n" : ",\n", unit,
                       (s->track - 1) % LANES, s->start, s->length, s->insn, cli_profile_layer(p, s), name,
                       s->token, s->memory);
        first = false;
    }
    vta_str_put(out, "],\n\"names\": [");
    for (uint32_t i = 0; i < name_count; i++) {
        vta_str_put(out, i > 0 ? ", " : "");
        cli_put_json(out, names[i]);
    }
    vta_str_put(out, "]}");
}

void cli_profile_json(const cli_profile *p, vta_str *out)
{
    vta_str_put(out, "{");
    put_summary(p, out);
    put_steps(p, out);
    put_layers(p, out);
    put_timeline(p, out);
    vta_str_put(out, "}\n");
}

/* ---- trace: host steps as long as they took here, launches as long as they take at the hardware's clock */

enum { HOST = 1, ACCELERATOR = 2, LAYER_TRACK = 0 };

static void put_name(vta_str *out, const char *kind, int process, uint32_t track, const char *name)
{
    vta_str_printf(out, "{\"ph\": \"M\", \"pid\": %d, \"tid\": %u, \"name\": \"%s\", \"args\": {\"name\": ",
                   process, track, kind);
    cli_put_json(out, name);
    vta_str_put(out, "}},\n");
}

static void put_slice(vta_str *out, int process, uint32_t track, double begin_us, double us, const char *name)
{
    vta_str_printf(out, "{\"ph\": \"X\", \"pid\": %d, \"tid\": %u, \"ts\": %.4f, \"dur\": %.4f, \"name\": ",
                   process, track, begin_us, us);
    cli_put_json(out, name);
}

static void put_span(const cli_profile *p, const cli_span *s, double begin_us, vta_str *out)
{
    const double us = 1.0 / p->config.clock_mhz;
    put_slice(out, ACCELERATOR, 1 + s->track, begin_us + (double)s->start * us, (double)s->length * us,
              s->name);
    if (s->insn != CLI_NO_INSN) {
        vta_str_printf(out, ", \"args\": {\"insn\": %u, \"token_wait\": %u, \"memory_wait\": %u, \"layer\": ",
                       s->insn, s->token, s->memory);
        cli_put_json(out, p->layers[cli_profile_layer(p, s)].name);
        vta_str_put(out, "}");
    }
    vta_str_put(out, "},\n");
}

/* Layers one after the other, each for the cycles that were put down to it. */
static void put_launch(const cli_profile *p, const cli_launch *launch, double begin_us, vta_str *out)
{
    const double us = 1.0 / p->config.clock_mhz;
    uint64_t told = 0; /* not every device with a clock tells of layers */
    for (uint32_t i = 0; i < launch->layer_count; i++) {
        told += p->layers[launch->first_layer + i].cycles;
    }
    for (uint32_t i = 0; i < launch->layer_count; i++) {
        const vta_layer_profile *l = &p->layers[launch->first_layer + i];
        const uint64_t cycles = told > 0 ? l->cycles : l->predicted;
        if (cycles == 0) {
            continue;
        }
        put_slice(out, ACCELERATOR, LAYER_TRACK, begin_us, (double)cycles * us, l->name);
        vta_str_printf(out, ", \"args\": {\"cycles\": %" PRIu64 ", \"predicted\": %" PRIu64 "}},\n",
                       l->cycles, l->predicted);
        begin_us += (double)cycles * us;
    }
}

void cli_profile_trace(const cli_profile *p, vta_str *out)
{
    double at_us = 0.0;
    uint32_t launch = 0;
    uint64_t before = 0;
    size_t span = 0;
    vta_str_put(out, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n");
    put_name(out, "process_name", HOST, 0, "host");
    put_name(out, "thread_name", HOST, 0, "steps");
    if (p->has_config) {
        put_name(out, "process_name", ACCELERATOR, 0, p->device);
        put_name(out, "thread_name", ACCELERATOR, LAYER_TRACK, "layers");
    }
    for (uint32_t i = 0; i < p->track_count; i++) {
        if (p->tracks[i] != NULL) {
            put_name(out, "thread_name", ACCELERATOR, 1 + i, p->tracks[i]);
        }
    }
    for (uint32_t i = 0; i < p->step_count; i++) {
        const vta_step_profile *s = &p->steps[i];
        const bool launched = launch < p->launch_count && p->launches[launch].step == i;
        const uint64_t cycles = s->cycles > 0 ? s->cycles : s->predicted;
        const double us = launched ? (double)cycles / p->config.clock_mhz : 1e6 * s->seconds;
        put_slice(out, HOST, 0, at_us, us, s->name);
        vta_str_put(out, ", \"args\": {\"operator\": ");
        cli_put_json(out, s->op);
        vta_str_printf(out, ", \"cycles\": %" PRIu64 "}},\n", s->cycles);
        if (launched) {
            const double start_us = at_us - (double)before / p->config.clock_mhz;
            put_launch(p, &p->launches[launch], at_us, out);
            for (; span < p->span_count && p->spans[span].launch == launch; span++) {
                put_span(p, &p->spans[span], start_us, out);
            }
            before += s->cycles;
            launch++;
        }
        at_us += us;
    }
    vta_str_put(out, "{\"ph\": \"M\", \"pid\": 1, \"name\": \"process_sort_index\", \"args\": "
                     "{\"sort_index\": 1}}\n]}\n");
}

/* ---- the page */

void cli_profile_page(const cli_profile *p, vta_str *out)
{
    cli_put_page_head(out, "profile", p->model);
    cli_put_asset(out, "profile.html");
    vta_str_put(out, "<script type=\"application/json\" id=\"data\">\n");
    cli_profile_json(p, out);
    vta_str_put(out, "</script>\n");
    cli_put_page_script(out, "profile");
}
