/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac zoo: classic architectures as ONNX files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calib.h"
#include "stages.h"
#include "table.h"
#include "temporary.h"
#include "vta/fail.h"
#include "vtac/onnx.h"
#include "vtac/zoo.h"

enum { INT8_SAMPLES = 4 };

static const cli_option options[] = {
    {"-o", "FILE", CLI_OUT, "where the model goes (default: NAME.onnx)"},
    {"--seed", "N", CLI_TEXT, "seed of the weights (default 1)"},
    {"--layers", "N", CLI_TEXT, "layers of networks for texts and sounds"},
    {"--width", "N", CLI_TEXT, "the same: columns (with --heads), units of a cell"},
    {"--heads", "N", CLI_TEXT, "transformers: heads of attention"},
    {"--tokens", "N", CLI_TEXT, "all of these: tokens, steps"},
    {"--cache", NULL, CLI_FLAG, "llama: with a cache, as Hugging Face exports it"},
    {"--kv-heads", "N", CLI_TEXT, "with --cache: heads of keys and values (default all)"},
    {"--words", "N", CLI_TEXT, "with --cache: words that it knows (default 512)"},
    {"--int8", NULL, CLI_FLAG, "quantized (QDQ), for inputs made from the seed"},
    {"--json", NULL, CLI_FLAG, "print the list as JSON"},
};

static void fill_row(const void *context, uint32_t row, cli_cell *cells)
{
    const vtac_zoo_entry *entry = (const vtac_zoo_entry *)context + row;
    cells[0].text = entry->name;
    cells[1].text = entry->input;
    cells[2].text = entry->doc;
}

static int list_networks(const cli_args *args)
{
    static const cli_column columns[] = {{"", CLI_WORD}, {"", CLI_WORD}, {"", CLI_SENTENCE}};
    uint32_t count;
    const vtac_zoo_entry *entries = vtac_zoo_list(&count);
    if (!cli_flag(args, "--json")) {
        cli_table(columns, sizeof columns / sizeof columns[0], count, fill_row, entries);
        return cli_done(args);
    }
    for (uint32_t i = 0; i < count; i++) {
        cli_put(i == 0 ? "[" : ",\n ");
        cli_print("{\"name\": \"%s\", \"input\": \"%s\", \"doc\": ", entries[i].name, entries[i].input);
        cli_json_string(entries[i].doc);
        cli_print("}");
    }
    cli_print("]\n");
    return cli_done(args);
}

/* The float model through a file, as any other. */
static vta_status load_float(const char *name, uint64_t seed, const vtac_zoo_sizes *sizes, vtac_graph **graph,
                             vta_diag *diag)
{
    char file[VTAC_TEMPORARY_PATH];
    VTA_TRY(cli_temporary_file("zoo", file, diag));
    const vtac_import_options import = {0};
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vtac_zoo_write(name, seed, sizes, file, diag));
    VTA_TRY_OUT(vtac_onnx_load(file, &import, graph, diag));
out:
    cli_temporary_remove(file);
    return status;
}

static vta_status write_int8(const char *name, uint64_t seed, const vtac_zoo_sizes *sizes, const char *path,
                             vta_diag *diag)
{
    const vtac_quantize_options how = {
        .method = VTAC_RANGE_DEFAULT, .per_channel = true, .progress = cli_stages()};
    vtac_graph *graph = NULL;
    vta_arena arena = {0};
    vtac_samples samples;
    const vtac_sample_range range = {-1.0, 1.0};
    VTA_TRY(load_float(name, seed, sizes, &graph, diag));
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vtac_generate_samples(graph, &range, INT8_SAMPLES, seed, &arena, &samples, diag));
    VTA_TRY_OUT(vtac_quantize(graph, &samples, &how, NULL, diag));
    VTA_TRY_OUT(vtac_onnx_write(graph, "vtac zoo", path, diag));
out:
    vta_arena_free(&arena);
    vtac_graph_destroy(graph);
    return status;
}

static bool read_sizes(const cli_args *args, vtac_zoo_sizes *sizes)
{
    static const char *const names[] = {"--layers", "--width",    "--heads",
                                        "--tokens", "--kv-heads", "--words"};
    int64_t *const places[] = {&sizes->layers, &sizes->width,  &sizes->heads,
                               &sizes->tokens, &sizes->cached, &sizes->words};
    sizes->cache = cli_flag(args, "--cache");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *given = cli_value(args, names[i]);
        uint64_t number = 1;
        if (given != NULL && (!cli_number(given, &number) || number == 0 || number > INT32_MAX)) {
            return false;
        }
        *places[i] = given == NULL ? 0 : (int64_t)number;
    }
    return true;
}

static int run_zoo(const cli_args *args)
{
    if (args->operand_count == 0 || strcmp(args->operands[0], "list") == 0) {
        return list_networks(args);
    }
    uint64_t seed = 1;
    const char *given = cli_value(args, "--seed");
    if (given != NULL && !cli_number(given, &seed)) {
        return cli_usage(args, "--seed takes a number, not '%s'", given);
    }
    vtac_zoo_sizes sizes = {0};
    if (!read_sizes(args, &sizes)) {
        return cli_usage(
            args, "--layers, --width, --heads, --tokens, --kv-heads and --words take numbers from 1 on");
    }
    if (sizes.cache && cli_flag(args, "--int8")) {
        return cli_usage(args,
                         "a cache has open sizes: 'vtac quantize --context N' closes and quantizes them");
    }
    char own[80];
    const char *path = cli_value(args, "-o");
    const bool int8 = cli_flag(args, "--int8");
    if (path == NULL) {
        (void)snprintf(own, sizeof own, "%.60s%s.onnx", args->operands[0], int8 ? ".int8" : "");
        path = own;
    }
    vta_diag diag = {0};
    cli_stages_begin();
    cli_stage("making", args->operands[0], 0, 0);
    const vta_status status =
        (int8 ? write_int8 : vtac_zoo_write)(args->operands[0], seed, &sizes, path, &diag);
    cli_stages_end();
    if (status != VTA_OK) {
        return cli_fail(args, &diag);
    }
    cli_print("%s\n", path);
    return cli_done(args);
}

const cli_verb cli_verb_zoo = {
    .name = "zoo",
    .operands = "[list | NAME] [-o FILE]",
    .summary = "write a classic architecture as an ONNX file with seeded weights",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .min = 0,
    .max = 1,
    .run = run_zoo,
};
