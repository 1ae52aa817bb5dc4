/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac opt: passes on the text of a graph, one by one or by level; the graph is verified after each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes.h"
#include "tensors.h"
#include "vta/fail.h"
#include "vta/file.h"

enum { INLINE_ELEMENTS = 16 };

static const cli_option options[] = {
    {"--pass", "NAME", CLI_TEXT, "run this pass (may be repeated; in the order given)"},
    {"-o", "FILE", CLI_OUT, "where the text goes (default: standard output)"},
    {"--shape", "NAME=AxBxC", CLI_TEXT, "size of a dynamic input of an ONNX model"},
    CLI_MODEL_OPTIONS,
    CLI_PASS_OPTIONS,
};

static int put_graph(const cli_args *args, const vtac_graph *graph)
{
    vta_diag diag = {0};
    const char *path = cli_value(args, "-o");
    char *text = vtac_graph_write(graph, INLINE_ELEMENTS);
    if (text == NULL) {
        (void)vta_no_memory(&diag);
    } else if (path == NULL) {
        cli_put(text);
    } else {
        (void)vta_file_write(path, text, strlen(text), &diag);
    }
    free(text);
    return diag.code == VTA_OK ? cli_done(args) : cli_fail(args, &diag);
}

/* The passes that --pass names, in that order; all of the level where there are none. */
static vta_status optimize_graph(const cli_args *args, vtac_graph *graph, const vtac_pass_options *passes,
                                 vta_diag *diag)
{
    size_t at = 0;
    const char *name = cli_next(args, "--pass", &at);
    if (name == NULL) {
        return vtac_run_passes(graph, passes, diag);
    }
    for (; name != NULL; name = cli_next(args, "--pass", &at)) {
        vtac_pass_report report;
        VTA_TRY(vtac_run_pass(graph, vtac_pass_find(name, NULL), true, &report, diag));
        if (passes->report != NULL) {
            passes->report(passes->context, &report);
        }
    }
    return VTA_OK;
}

static int check_names(const cli_args *args)
{
    size_t at = 0;
    for (const char *name = cli_next(args, "--pass", &at); name != NULL;
         name = cli_next(args, "--pass", &at)) {
        vta_diag diag = {0};
        if (vtac_pass_find(name, &diag) == VTAC_PASS_COUNT) {
            return cli_usage(args, "--pass: %s", diag.text);
        }
    }
    return CLI_OK;
}

static int run_opt(const cli_args *args)
{
    if (cli_flag(args, "--list-passes")) {
        return cli_list_passes(args);
    }
    if (args->operand_count == 0) {
        return cli_usage(args, "a graph is missing");
    }
    cli_shapes shapes;
    vtac_pass_options passes;
    if (cli_read_shapes(args, &shapes) != CLI_OK || cli_read_passes(args, &passes) != CLI_OK ||
        check_names(args) != CLI_OK) {
        return CLI_USAGE;
    }
    passes.verify = true;
    vtac_graph *graph = NULL;
    vta_diag diag = {0};
    if (cli_load_graph(args, args->operands[0], &shapes, &graph, &diag) != VTA_OK) {
        return cli_fail(args, &diag);
    }
    int status;
    if (optimize_graph(args, graph, &passes, &diag) != VTA_OK) {
        status = cli_fail_model(args, &diag);
    } else {
        status = put_graph(args, graph);
    }
    vtac_graph_destroy(graph);
    return status;
}

const cli_verb cli_verb_opt = {
    .name = "opt",
    .operands = "GRAPH.ir|MODEL [-o FILE.ir]",
    .summary = "run passes on the text of a graph",
    .more = "Example: vtac inspect m.onnx -o m.ir && vtac opt --pass fold-qdq m.ir\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .min = 0,
    .max = 1,
    .run = run_opt,
};
