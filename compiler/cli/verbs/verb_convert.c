/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac convert: a model of any known kind as an ONNX file.
 */
#include <stdio.h>
#include <string.h>

#include "table.h"
#include "tensors.h"
#include "vta/fail.h"
#include "vtac/convert.h"
#include "vtac/import.h"
#include "vtac/onnx.h"
#include "vtac/quantize.h"

static const cli_option options[] = {
    {"-o", "FILE", CLI_OUT, "the ONNX model (default: MODEL.onnx)"},
    {"--integers", NULL, CLI_FLAG, "quantized inputs and outputs are int8 or uint8"},
    {"--shape", "NAME=AxBxC", CLI_TEXT, "size of a dynamic input (may be repeated)"},
    CLI_CONTEXT_OPTION,
    CLI_MODEL_OPTIONS,
};

static void print_rounding(void *context, const char *text)
{
    cli_say("vtac convert: %s: %s\n", *(const char *const *)context, text);
}

/* The model's name, with another ending, where the user is. */
static const char *output_path(const cli_args *args, char *own, size_t size)
{
    const char *path = cli_value(args, "-o");
    const char *base = strrchr(args->operands[0], '/');
    base = base == NULL ? args->operands[0] : base + 1;
    const char *dot = strrchr(base, '.');
    (void)snprintf(own, size, "%.*s.onnx", dot == NULL ? (int)strlen(base) : (int)(dot - base), base);
    return path == NULL ? own : path;
}

/* True if a name promises another kind of file than ONNX. */
static bool promises_other(const char *path)
{
    static const char *const ends[] = {".tflite",   ".keras",      ".h5", ".hdf5", ".pb",  ".cfg", ".weights",
                                       ".prototxt", ".caffemodel", ".pt", ".pth",  ".pt2", ".so"};
    const char *dot = strrchr(path, '.');
    bool other = false;
    for (size_t i = 0; dot != NULL && i < sizeof ends / sizeof ends[0]; i++) {
        other = other || strcmp(dot, ends[i]) == 0;
    }
    return other;
}

static int run_convert(const cli_args *args)
{
    cli_shapes shapes;
    char own[4096];
    const char *path = output_path(args, own, sizeof own);
    vta_diag diag = {0};
    vtac_graph *graph = NULL;
    if (cli_read_shapes(args, &shapes) != CLI_OK) {
        return CLI_USAGE;
    }
    if (cli_value(args, "-o") == NULL && strcmp(path, args->operands[0]) == 0) {
        return cli_usage(args, "the model would be written over itself; name another file with -o");
    }
    if (promises_other(path)) {
        return cli_usage(
            args, "it writes ONNX, and nothing else: name a file that ends in .onnx with -o, not '%s'", path);
    }
    vtac_import_options import = cli_import_options(&shapes);
    import.note = print_rounding;
    import.context = &args->operands[0];
    const vtac_convert_options convert = {.note = print_rounding, .context = &args->operands[0]};
    const vtac_note note = {.report = print_rounding, .context = &args->operands[0]};
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vtac_model_load(args->operands[0], &import, &graph, &diag));
    VTA_TRY_OUT(vtac_convert_graph(graph, &convert, &diag));
    if (cli_flag(args, "--integers")) {
        VTA_TRY_OUT(vtac_integer_ends(graph, &note, &diag));
    }
    VTA_TRY_OUT(vtac_onnx_write(graph, "vtac convert", path, &diag));
out:
    if (status == VTA_OK) {
        cli_sentence(0, "%s: %u nodes", path, graph->order_count);
    }
    vtac_graph_destroy(graph);
    return status == VTA_OK ? cli_done(args) : cli_fail(args, &diag);
}

const cli_verb cli_verb_convert = {
    .name = "convert",
    .operands = "MODEL [-o FILE.onnx]",
    .summary = "write a model of any known kind as ONNX (QDQ)",
    .more = "What ONNX rounds otherwise is told, a line for each kind of operator.\n"
            "Example: vtac convert mobilenet.tflite -o mobilenet.onnx\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .min = 1,
    .max = 1,
    .run = run_convert,
};
