/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac inspect: a model as typed text, after everything that its shapes decide has been worked out.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "vtac/onnx.h"

enum { MOST_SHAPES = 64, INLINE_ELEMENTS = 16 };

static const cli_option options[] = {
    {"--shape", "NAME=AxBxC", CLI_TEXT, "size of a dynamic input (may be repeated)"},
    {"--inline", "N", CLI_TEXT, "print constants of up to N elements (default 16)"},
};

static void tell(void *context, const char *text)
{
    (void)fprintf(stderr, "vtac inspect: %s: %s\n", *(const char *const *)context, text);
}

static int print_graph(const cli_args *args, const vtac_graph *graph, int64_t limit)
{
    char *text = vtac_graph_print(graph, limit);
    if (text == NULL) {
        const vta_diag diag = {.code = VTA_NOMEM, .text = "out of memory"};
        return cli_fail(args, &diag);
    }
    (void)fputs(text, stdout);
    free(text);
    return cli_done(args);
}

static int run(const cli_args *args)
{
    static char names[MOST_SHAPES][256];
    vtac_shape_option shapes[MOST_SHAPES];
    uint32_t count = 0;
    vta_diag diag = {0};
    size_t at = 0;
    for (const char *text = cli_next(args, "--shape", &at); text != NULL;
         text = cli_next(args, "--shape", &at)) {
        if (count == MOST_SHAPES) {
            return cli_usage(args, "more than %d --shape options", MOST_SHAPES);
        }
        if (vtac_shape_parse(text, names[count], sizeof names[count], &shapes[count], &diag) != VTA_OK) {
            return cli_usage(args, "--shape: %s", diag.text);
        }
        count++;
    }
    uint64_t limit = INLINE_ELEMENTS;
    const char *given = cli_value(args, "--inline");
    if (given != NULL && (!cli_number(given, &limit) || limit > INT32_MAX)) {
        return cli_usage(args, "--inline takes a number, not '%s'", given);
    }
    const vtac_import_options import = {
        .shapes = shapes, .shape_count = count, .note = tell, .context = &args->operands[0]};
    vtac_graph *graph = NULL;
    if (vtac_onnx_load(args->operands[0], &import, &graph, &diag) != VTA_OK) {
        return cli_fail(args, &diag);
    }
    const int status = print_graph(args, graph, (int64_t)limit);
    vtac_graph_destroy(graph);
    return status;
}

const cli_verb cli_verb_inspect = {
    .name = "inspect",
    .operands = "MODEL.onnx",
    .summary = "print a model as typed text, with its shapes worked out",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .least = 1,
    .most = 1,
    .run = run,
};
