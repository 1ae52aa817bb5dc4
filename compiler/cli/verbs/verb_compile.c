/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac compile: a model to one shared object.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "calib.h"
#include "emit.h"
#include "mixed.h"
#include "offload.h"
#include "page_settings.h"
#include "parts.h"
#include "passes.h"
#include "quality.h"
#include "report.h"
#include "stages.h"
#include "table.h"
#include "tensors.h"
#include "vta/clock.h"
#include "vtac/codegen.h"
#include "vtac/flow.h"
#include "vtac/tune.h"

static const cli_option options[] = {
    CLI_OFFLOAD_OPTIONS,
    CLI_CALIB_OPTIONS,
    CLI_QUALITY_OPTIONS,
    {"--host", "HOST", CLI_TEXT, "as `vtac targets --help` says (default x86-64-v3)"},
    CLI_PASS_OPTIONS,
    {"--shape", "NAME=AxBxC", CLI_TEXT, "size of a dynamic input; (A..B): from A to B"},
    {"--dynamic", NULL, CLI_FLAG, "sizes that the model leaves open stay open"},
    CLI_STATE_OPTION,
    CLI_MODEL_OPTIONS,
    {"-o", "FILE", CLI_OUT, "shared object (MODEL.so); wasm32: .wasm or .html (page)"},
    {"--classes", "FILE", CLI_FILE, "-o PAGE.html: names of the classes, one a line"},
    {"--emit", "LIST:DIR", CLI_TEXT, "write texts: ir, plan, ll, asm, loops, dot, kernels"},
    {"--tuned", "FILE", CLI_FILE, "use the schedules that 'vtac tune' found"},
    {"--no-records", NULL, CLI_FLAG, "without the schedules that come with vtac"},
    {"--report", NULL, CLI_FLAG, "each layer's prediction; --json: the summary as JSON"},
    {"--json", NULL, CLI_FLAG, NULL},
};

/* A model to compile, and what became of it. */
typedef struct compilation {
    const cli_args *args;
    const cli_shapes *shapes;
    const vtac_pass_options *passes;
    vtac_graph *graph;
    vtac_partition *partition;
    vtac_quantize_report quality; /* empty for a model that was quantized already */
    cli_mixed mixed;              /* what stays float for the sake of the outputs */
    cli_parts parts;
    vta_arena names;
} compilation;

/* Writes the texts that were asked for, and the model's file. */
static vta_status write_model(const compilation *c, vtac_artifact_image *image, const char *path,
                              vta_diag *diag)
{
    char *page = NULL;
    VTA_TRY(cli_emit(c->args, c->graph, image, diag));
    VTA_TRY(cli_page_settings(c->args, &page, diag));
    image->page = page;
    cli_stage("linking", path, 0, 0);
    const vta_status status = vtac_link(image, path, diag);
    free(page);
    return status;
}

static int print_summary(const compilation *c, const char *path, const vtac_target *target,
                         const vtac_artifact_image *image, uint32_t taken, double seconds)
{
    const cli_args *args = c->args;
    const vtac_partition *partition = c->partition;
    const bool report = cli_flag(args, "--report");
    if (cli_flag(args, "--json")) {
        cli_print("{\"file\": ");
        cli_json_string(path);
        cli_print(", \"host\": \"%s\", \"steps\": %u, \"constant_bytes\": %llu, \"workspace_bytes\": %llu, "
                  "\"tuned\": %u, \"seconds\": %.3f",
                  target->name, image->step_count, (unsigned long long)image->constant_bytes,
                  (unsigned long long)image->workspace_bytes, taken, seconds);
        if (image->state_count > 0) {
            cli_print(", \"states\": %u", image->state_count);
        }
        if (image->kernels_left != NULL) {
            cli_print(", \"kernels\": %u", image->launch_count);
        }
        if (report) {
            cli_report_json_of(partition);
        }
        cli_quality_json(&c->quality);
        if (c->mixed.trials > 0) {
            cli_mixed_json(&c->mixed, &c->quality);
        }
        cli_print("}\n");
    } else {
        cli_sentence(0,
                     "%s: %u steps for %s, %llu bytes of constants, %llu bytes of memory at its peak, %.2f s",
                     path, image->step_count, target->name, (unsigned long long)image->constant_bytes,
                     (unsigned long long)image->workspace_bytes, seconds);
        const vtac_flow *flow = c->graph->flow;
        if (flow != NULL && !flow->by_rows && cli_leaves_open(flow)) {
            cli_sentence(
                0,
                "sizes stay open that are not a batch of independent rows: layers run in tiles and pieces, "
                "slower than at sizes that --shape gives");
        }
        if (image->state_count > 0) {
            cli_sentence(0, "%u states, outputs that are inputs of the next run; vtac inspect lists them",
                         image->state_count);
        }
        if (image->kernels_left != NULL) {
            cli_print("%u of %u steps are kernels for %s, too\n", image->launch_count, image->step_count,
                      cli_value(args, "--target"));
            cli_print_lines(image->kernels_left);
        }
        if (report) {
            cli_report_text_of(partition);
        }
        cli_quality_text(&c->quality);
        cli_mixed_text(&c->mixed, &c->quality);
    }
    return cli_done(args);
}

/* Explains, where nothing goes to the accelerator although --target asked for it, why the dearest node stays.
 * With --offload all it is an error if the buffers are the reason. */
static vta_status check_moved(const cli_args *args, const vtac_graph *graph, const cli_offload *offload,
                              const vtac_partition *p, vta_diag *diag)
{
    const vtac_placement *dearest = NULL;
    for (uint32_t i = 0; p->region_count == 0 && i < graph->order_count; i++) {
        const vtac_placement *place = &p->places[graph->order[i]];
        const bool first = dearest == NULL || place->too_large > dearest->too_large;
        if (first || (place->too_large == dearest->too_large && place->host_cycles > dearest->host_cycles)) {
            dearest = place;
        }
    }
    if (dearest == NULL) {
        return VTA_OK;
    }
    if (offload->always && dearest->too_large) {
        return vta_fail(diag, VTA_RANGE, "nothing of it can run on '%s': %s", p->config.name,
                        dearest->reason);
    }
    cli_stages_hide();
    cli_say("vtac compile: %s: nothing of it runs on '%s': %s; 'vtac explain' tells of each node\n",
            args->operands[0], p->config.name, dearest->reason);
    return VTA_OK;
}

/* The host computes floats with floats: integers that nothing takes would only cost answers. */
static vta_status take_floats_back(compilation *c, vta_diag *diag)
{
    vtac_partition_free(c->partition);
    vtac_graph_destroy(c->graph);
    vtac_quantize_report_free(&c->quality);
    c->mixed = (cli_mixed){0};
    c->partition = NULL;
    c->graph = NULL;
    cli_say("vtac compile: %s: it is compiled with floats, as it is\n", c->args->operands[0]);
    VTA_TRY(cli_load_graph(c->args, c->args->operands[0], c->shapes, &c->graph, diag));
    return vtac_run_passes(c->graph, c->passes, diag);
}

/* Passes, and what goes to the accelerator. The accelerator has integers only: for it, a float model is
 * quantized first. */
static vta_status prepare_graph(compilation *c, const cli_offload *offload, vta_diag *diag)
{
    if (offload->wanted) {
        VTA_TRY(cli_parts_quantize(&c->parts, &c->graph, &c->mixed, &c->names, &c->quality, diag));
    }
    VTA_TRY(vtac_run_passes(c->graph, c->passes, diag));
    VTA_TRY(cli_offload_graph(offload, c->passes->level, c->graph, &c->partition, diag));
    if (!offload->wanted) {
        return VTA_OK;
    }
    VTA_TRY(check_moved(c->args, c->graph, offload, c->partition, diag));
    cli_report_wide_loads(c->args, c->partition);
    return c->partition->region_count == 0 && c->quality.samples > 0
               ? take_floats_back(c, diag)
               : cli_quality_check(c->args, &c->quality, diag);
}

/* Schedules that were found to be better: those that --tuned names, then those that come with vtac. */
typedef struct tuned {
    vtac_records given, shipped;
    struct tuned_for {
        const struct tuned *records;
        char target[320];
        bool any;
        uint32_t given,
            taken; /* how often a given record was known, and another than the standard one taken */
    } host, vta;
} tuned;

static uint32_t pick_schedule(void *context, const vtac_kernel_space *space)
{
    struct tuned_for *t = context;
    uint32_t point = space->standard;
    const bool given = vtac_records_find(&t->records->given, t->target, space, &point);
    t->given += given;
    if (given || vtac_records_find(&t->records->shipped, t->target, space, &point)) {
        t->taken += point != space->standard;
    }
    return point;
}

static vta_status read_tuned(const cli_args *args, const vtac_target *target, const cli_offload *offload,
                             tuned *t, vta_diag *diag)
{
    struct tuned_for *const targets[] = {&t->host, &t->vta};
    size_t at = 0;
    vtac_vta_target_text(&offload->config, t->vta.target, sizeof t->vta.target);
    for (const char *path = cli_next(args, "--tuned", &at); path != NULL;
         path = cli_next(args, "--tuned", &at)) {
        VTA_TRY(vtac_records_read(path, &t->given, diag));
    }
    VTA_TRY(cli_flag(args, "--no-records") ? VTA_OK : vtac_records_shipped(&t->shipped, diag));
    cli_offload_text(offload, target, t->host.target, sizeof t->host.target);
    if (!vtac_records_any(&t->given, t->host.target)) { /* those of the host's own code will do */
        vtac_target_text(target, t->host.target, sizeof t->host.target);
    }
    for (size_t i = 0; i < 2; i++) {
        targets[i]->records = t;
        targets[i]->any = vtac_records_any(&t->given, targets[i]->target) ||
                          vtac_records_any(&t->shipped, targets[i]->target);
    }
    return VTA_OK;
}

/* The option that compiles for what records call `target`; empty: no name stands for it here. */
static void option_for(const char *target, char *text, size_t size)
{
    size_t hosts;
    uint32_t configs;
    char own[320];
    const vtac_target_row *rows = vtac_targets(&hosts);
    const char *const *names = vta_config_names(&configs);
    text[0] = '\0';
    for (size_t i = 0; i < hosts; i++) {
        vtac_target host;
        if (vtac_target_find(rows[i].name, &host, NULL) == VTA_OK) {
            vtac_target_text(&host, own, sizeof own);
            if (strcmp(own, target) == 0) {
                (void)snprintf(text, size, "--host %s", rows[i].name);
                return;
            }
        }
    }
    for (uint32_t i = 0; i < configs; i++) {
        vta_config config;
        if (vta_config_load(names[i], &config, NULL) == VTA_OK) {
            vtac_vta_target_text(&config, own, sizeof own);
            if (strcmp(own, target) == 0) {
                (void)snprintf(text, size, "--target vta --config %s", names[i]);
                return;
            }
        }
    }
}

/* Reports why no line of a given log can be used. */
static void report_unused(const cli_args *args, const vtac_target *target, const cli_offload *offload,
                          const tuned *t)
{
    size_t at = 0;
    const char *path = cli_next(args, "--tuned", &at);
    const vtac_records *given = &t->given;
    char why[512];
    if (path == NULL || t->host.given + t->vta.given > 0) {
        return;
    }
    if (given->items.count == 0 && given->other > 0) {
        (void)snprintf(why, sizeof why, "they are of release %s, and this is %s; 'vtac tune' makes new ones",
                       given->other_version != NULL ? given->other_version : "?", vta_version());
    } else if (given->items.count == 0) {
        (void)snprintf(why, sizeof why, "it is empty");
    } else if (!vtac_records_any(given, t->host.target) &&
               !(offload->wanted && vtac_records_any(given, t->vta.target))) {
        const vtac_record *first = vta_vec_at(&given->items, 0);
        char option[96];
        option_for(first->target, option, sizeof option);
        (void)snprintf(why, sizeof why, "they are for '%.150s', and this is compiled for '%s'%s%s; %s%s",
                       first->target, target->name, offload->wanted ? " and " : "",
                       offload->wanted ? offload->config.name : "",
                       option[0] != '\0' ? "compile with " : "name that host or configuration", option);
    } else {
        (void)snprintf(why, sizeof why, "none is of a kernel and a shape that this model has");
    }
    cli_stages_hide();
    cli_say("vtac compile: '--tuned %s': no record of it is used: %s\n", path, why);
}

/* True if two paths name one file. */
static bool is_same_file(const char *a, const char *b)
{
    struct stat first;
    struct stat second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && S_ISREG(first.st_mode) &&
           first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static int compile_graph(compilation *c, const vtac_target *target, const cli_offload *offload)
{
    const cli_args *args = c->args;
    const vtac_pass_options *passes = c->passes;
    const double begin = vta_now();
    char own[4096];
    const char *path = cli_value(args, "-o");
    if (path == NULL) {
        const char *base = strrchr(args->operands[0], '/');
        base = base == NULL ? args->operands[0] : base + 1;
        const char *dot = strrchr(base, '.');
        (void)snprintf(own, sizeof own, "%.*s.%s", dot == NULL ? (int)strlen(base) : (int)(dot - base), base,
                       target->is_wasm ? "wasm" : "so");
        path = own;
    }
    if (is_same_file(args->operands[0], path)) {
        vta_diag own_model = {0};
        (void)vta_fail(&own_model, VTA_INVALID, "'%s' is the model itself; name another file with -o", path);
        return cli_fail(args, &own_model);
    }
    vtac_compile_options compile_options = {.level = passes->level,
                                            .row_major = passes->disabled[VTAC_PASS_ALTER_LAYOUT],
                                            .apart = passes->disabled[VTAC_PASS_FUSE],
                                            .target = target,
                                            .want_texts = cli_flag(args, "--emit"),
                                            .kernels = offload->kernels,
                                            .kernels_always = offload->always,
                                            .progress = cli_stages()};
    vta_diag diag = {0};
    vtac_artifact_image image;
    tuned found = {0};
    const vtac_schedules for_host = {pick_schedule, &found.host};
    const vtac_schedules for_vta = {pick_schedule, &found.vta};
    cli_offload there = *offload;
    there.holds_states = true;
    vta_status status = read_tuned(args, target, offload, &found, &diag);
    compile_options.schedules = found.host.any ? &for_host : NULL;
    there.schedules = found.vta.any ? &for_vta : NULL;
    status = status == VTA_OK ? prepare_graph(c, &there, &diag) : status;
    compile_options.partition = c->partition;
    status = status == VTA_OK ? vtac_compile(c->graph, &compile_options, &image, &diag) : status;
    if (status == VTA_OK) {
        report_unused(args, target, offload, &found);
    }
    vtac_records_free(&found.given);
    vtac_records_free(&found.shipped);
    if (status != VTA_OK) {
        cli_stages_end();
        return cli_fail_model(args, &diag);
    }
    status = write_model(c, &image, path, &diag);
    cli_stages_end();
    const int result = status == VTA_OK ? print_summary(c, path, target, &image,
                                                        found.host.taken + found.vta.taken, vta_now() - begin)
                                        : cli_fail(args, &diag);
    vtac_artifact_image_free(&image);
    return result;
}

static bool writes_page(const cli_args *args, const vtac_target *target)
{
    const char *path = cli_value(args, "-o");
    return target->is_wasm && path != NULL && vtac_is_page(path);
}

static int run_compile(const cli_args *args)
{
    if (cli_flag(args, "--list-passes")) {
        return cli_list_passes(args);
    }
    if (args->operand_count == 0) {
        return cli_usage(args, "a model is missing");
    }
    cli_shapes shapes;
    const int misuse = cli_read_shapes(args, &shapes);
    if (misuse != CLI_OK) {
        return misuse;
    }
    vtac_pass_options passes;
    cli_offload offload;
    vtac_range_method method;
    vtac_quantize_options width = VTAC_QUANTIZE_DEFAULTS;
    if (cli_read_emit(args) != CLI_OK || cli_read_passes(args, &passes) != CLI_OK ||
        cli_read_offload(args, &offload) != CLI_OK || cli_read_method(args, &method) != CLI_OK ||
        cli_check_preprocess(args) != CLI_OK || cli_read_width(args, &width) != CLI_OK) {
        return CLI_USAGE;
    }
    if (width.weight_bits != 0 && !offload.wanted) {
        return cli_usage(args,
                         "the host computes this model with floats; give --target vta, or 'vtac quantize' "
                         "it with --weights first");
    }
    if (cli_value(args, "--config") != NULL && cli_value(args, "--target") == NULL) {
        cli_say("vtac compile: --config is for --target vta; without it all is for the host\n");
    }
    vta_diag diag = {0};
    vtac_target target;
    shapes.states = true;
    const vta_status found = vtac_target_find(cli_value(args, "--host"), &target, &diag);
    if (found != VTA_OK) { /* not its words, but what was to look for it */
        return found == VTA_IO ? cli_fail(args, &diag) : cli_usage(args, "%s", diag.text);
    }
    if (cli_value(args, "--classes") != NULL && !writes_page(args, &target)) {
        return cli_usage(args, "--classes is for a page: --host wasm32 -o PAGE.html");
    }
    cli_stages_begin();
    passes.progress = passes.report != NULL ? NULL : cli_stages(); /* one of them on a terminal */
    cli_stage("reading", args->operands[0], 0, 0);
    compilation c = {
        .args = args,
        .shapes = &shapes,
        .passes = &passes,
        .parts = {.args = args, .shapes = &shapes, .max_end = cli_offload_ends(&offload), .told = true}};
    if (cli_load_graph(args, args->operands[0], &shapes, &c.graph, &diag) != VTA_OK) {
        cli_stages_end();
        return cli_fail(args, &diag);
    }
    const int status = compile_graph(&c, &target, &offload);
    vtac_partition_free(c.partition);
    vtac_quantize_report_free(&c.quality);
    vta_arena_free(&c.names);
    cli_parts_free(&c.parts);
    vtac_graph_destroy(c.graph);
    return status;
}

const cli_verb cli_verb_compile = {
    .name = "compile",
    .operands = "MODEL [-o FILE.so]",
    .summary = "compile a model to one shared object that runs from C",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .min = 0,
    .max = 1,
    .run = run_compile,
};
