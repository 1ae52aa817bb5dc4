/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac inspect: a model as typed text, as it was read or after passes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"
#include "passes.h"
#include "tensors.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vtac/codegen.h"
#include "vtac/states.h"

enum { INLINE_ELEMENTS = 16 };

static const cli_option options[] = {
    {"--shape", "NAME=AxBxC", CLI_TEXT, "size of a dynamic input (may be repeated)"},
    CLI_STATE_OPTION,
    CLI_MODEL_OPTIONS,
    {"--inline", "N", CLI_TEXT, "print constants of up to N elements (default 16)"},
    {"-o", "FILE", CLI_OUT, "write the text there, with all constants: it reads back"},
    {"--html", "FILE", CLI_OUT, "write a page that draws the graph instead"},
    {"--config", "NAME|FILE", CLI_CONFIG, "--html: as compiled for this hardware, with cycles"},
    {"--after", "PASS", CLI_TEXT, "show the graph as it is after this pass"},
    CLI_PASS_OPTIONS,
};

/* The states of a model as comments, since its text holds its graph alone. */
static vta_status put_states(const vtac_graph *graph, vta_diag *diag)
{
    vta_state *states;
    uint32_t count;
    VTA_TRY(vtac_find_states(graph, &states, &count, diag));
    for (uint32_t i = 0; i < count; i++) {
        cli_print("# state %s = %s\n", vtac_model_input_name(graph, states[i].input),
                  vtac_model_output_name(graph, states[i].output));
    }
    free(states);
    return VTA_OK;
}

/* Writes the graph on stdout for reading, or into a file as a whole. */
static int put_graph(const cli_args *args, const vtac_graph *graph, int64_t limit)
{
    vta_diag diag = {0};
    const char *path = cli_value(args, "-o");
    char *text = path == NULL ? vtac_graph_print(graph, limit) : vtac_graph_write(graph, limit);
    if (text == NULL) {
        (void)vta_no_memory(&diag);
    } else if (path != NULL) {
        (void)vta_file_write(path, text, strlen(text), &diag);
    } else {
        cli_put(text);
        (void)put_states(graph, &diag);
    }
    free(text);
    return diag.code == VTA_OK ? cli_done(args) : cli_fail(args, &diag);
}

/* Writes the page of a graph; with --config, the page says where each node would run on that hardware. */
static int put_page(const cli_args *args, vtac_graph *graph, const char *path)
{
    vta_diag diag = {0};
    vta_config config;
    bool given = false;
    vtac_partition *partition = NULL;
    char *page = NULL;
    vta_status status = cli_config(args, &config, &given, &diag);
    if (status == VTA_OK && given) {
        const vtac_partition_options look = {.config = &config,
                                             .schedule = {.level = 3, .fold_cost = vtac_host_fold_cost(NULL)},
                                             .holds_states = true,
                                             .look = true,
                                             .predict = true};
        status = vtac_partition_graph(graph, &look, &partition, &diag);
    }
    if (status == VTA_OK) {
        const uint32_t folded = given ? 0 : cli_fold_quantization(graph);
        page = cli_graph_page(graph, partition == NULL ? NULL : partition->places, folded);
        status = page == NULL ? vta_no_memory(&diag) : vta_file_write(path, page, strlen(page), &diag);
    }
    free(page);
    vtac_partition_free(partition);
    return status == VTA_OK ? cli_done(args) : cli_fail(args, &diag);
}

/* Reads which passes run: none without -O and --after, so that the model is seen as it is; for hardware,
 * those of the compiler, so that the page has its numbers. */
static int read_passes(const cli_args *args, vtac_pass_options *passes, bool *wanted)
{
    const char *after = cli_value(args, "--after");
    *wanted = after != NULL || cli_flag(args, "-O") || cli_flag(args, "--time-passes") ||
              (cli_flag(args, "--html") && cli_flag(args, "--config"));
    if (cli_read_passes(args, passes) != CLI_OK) {
        return CLI_USAGE;
    }
    if (after != NULL) {
        vta_diag diag = {0};
        passes->stop_after = true;
        passes->last = vtac_pass_find(after, &diag);
        if (passes->last == VTAC_PASS_COUNT) {
            return cli_usage(args, "--after: %s", diag.text);
        }
    }
    return CLI_OK;
}

static int inspect_model(const cli_args *args, const cli_shapes *shapes, const vtac_pass_options *passes,
                         int64_t limit)
{
    vtac_graph *graph = NULL;
    vta_diag diag = {0};
    if (cli_load_graph(args, args->operands[0], shapes, &graph, &diag) != VTA_OK) {
        return cli_fail(args, &diag);
    }
    int status;
    if (passes != NULL && vtac_run_passes(graph, passes, &diag) != VTA_OK) {
        status = cli_fail_model(args, &diag);
    } else {
        const char *page = cli_value(args, "--html");
        status = page != NULL ? put_page(args, graph, page) : put_graph(args, graph, limit);
    }
    vtac_graph_destroy(graph);
    return status;
}

static int run_inspect(const cli_args *args)
{
    if (cli_flag(args, "--list-passes")) {
        return cli_list_passes(args);
    }
    if (args->operand_count == 0) {
        return cli_usage(args, "a model is missing");
    }
    cli_shapes shapes;
    vtac_pass_options passes;
    bool wanted;
    if (cli_read_shapes(args, &shapes) != CLI_OK || read_passes(args, &passes, &wanted) != CLI_OK) {
        return CLI_USAGE;
    }
    uint64_t limit = INLINE_ELEMENTS;
    const char *given = cli_value(args, "--inline");
    if (given != NULL && (!cli_number(given, &limit) || limit > INT32_MAX)) {
        return cli_usage(args, "--inline takes a number, not '%s'", given);
    }
    return inspect_model(args, &shapes, wanted ? &passes : NULL, (int64_t)limit);
}

const cli_verb cli_verb_inspect = {
    .name = "inspect",
    .operands = "MODEL|GRAPH.ir",
    .summary = "print a model as typed text, with its shapes worked out",
    .more = "Without -O, --after and --config, the model is shown as it was read. On the\n"
            "terminal, large constants are shown by their checksum.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .min = 0,
    .max = 1,
    .run = run_inspect,
};
