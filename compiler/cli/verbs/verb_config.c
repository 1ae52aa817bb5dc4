/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac config: the shipped configurations, one of them in full, or a file judged.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "table.h"
#include "vta/fail.h"
#include "vta/str.h"

static const char *const words[] = {"list", "show", "check", "schema"};
static const cli_option options[] = {
    {"--json", NULL, CLI_FLAG, "print JSON"},
};

static void print_json(const vta_config *config, bool first)
{
    cli_print("%s\n  {\"name\": ", first ? "[" : ",");
    cli_json_string(config->name);
    cli_print(", \"hash\": \"%016" PRIx64 "\", \"batch\": %" PRIu32 ", \"block_in\": %" PRIu32
              ", \"block_out\": %" PRIu32 ", \"uop_depth\": %" PRIu32 ", \"inp_depth\": %" PRIu32
              ", \"wgt_depth\": %" PRIu32 ", \"acc_depth\": %" PRIu32 "}",
              config->hash, config->batch, config->block_in, config->block_out, config->depth[VTA_MEM_UOP],
              config->depth[VTA_MEM_INP], config->depth[VTA_MEM_WGT], config->depth[VTA_MEM_ACC]);
}

static void fill_row(const void *context, uint32_t row, cli_cell *cells)
{
    static const int memories[] = {VTA_MEM_UOP, VTA_MEM_INP, VTA_MEM_WGT, VTA_MEM_ACC};
    const vta_config *config = (const vta_config *)context + row;
    uint32_t c = 0;
    cells[c++].text = config->name;
    cli_cell_print(&cells[c++], "%" PRIu32 "x%" PRIu32 "x%" PRIu32, config->batch, config->block_in,
                   config->block_out);
    for (size_t i = 0; i < sizeof memories / sizeof memories[0]; i++) {
        cli_cell_print(&cells[c++], "%" PRIu32, config->depth[memories[i]]);
    }
    cli_cell_print(&cells[c++], "%" PRIu32, config->clock_mhz);
    cli_cell_print(&cells[c], "%016" PRIx64, config->hash);
}

static int print_configs(const cli_args *args, const vta_config *configs, uint32_t count)
{
    static const cli_column columns[] = {{"name", CLI_NAME},  {"tile", CLI_WORD},  {"uop", CLI_FIGURE},
                                         {"inp", CLI_FIGURE}, {"wgt", CLI_FIGURE}, {"acc", CLI_FIGURE},
                                         {"MHz", CLI_FIGURE}, {"hash", CLI_WORD}};
    if (!cli_flag(args, "--json")) {
        cli_table(columns, sizeof columns / sizeof columns[0], count, fill_row, configs);
        cli_print("\n");
        cli_sentence(0, "tile: rows x input x output channels of a step");
        cli_sentence(0, "uop, inp, wgt, acc: entries of each memory, a micro-op or a tile each");
        cli_sentence(0, "hash: of what the hardware is built from");
        return cli_done(args);
    }
    for (uint32_t i = 0; i < count; i++) {
        print_json(&configs[i], i == 0);
    }
    cli_print("\n]\n");
    return cli_done(args);
}

static int list_configs(const cli_args *args)
{
    uint32_t count = 0;
    const char *const *names = vta_config_names(&count);
    vta_diag diag = {0};
    if (args->operand_count > 1) {
        return cli_usage(args, "unexpected '%s'", args->operands[1]);
    }
    vta_config *configs = calloc(count, sizeof *configs);
    if (configs == NULL) {
        (void)vta_no_memory(&diag);
        return cli_fail(args, &diag);
    }
    vta_status status = VTA_OK;
    for (uint32_t i = 0; i < count && status == VTA_OK; i++) {
        status = vta_config_load(names[i], &configs[i], &diag);
    }
    const int done = status == VTA_OK ? print_configs(args, configs, count) : cli_fail(args, &diag);
    free(configs);
    return done;
}

/* show prints the configuration as a file, check a row about it. */
static int run_one_config(const cli_args *args, bool show)
{
    vta_config config;
    vta_diag diag = {0};
    if (args->operand_count < 2) {
        return cli_usage(args, "expected a configuration's name or file");
    }
    if (vta_config_load(args->operands[1], &config, &diag) != VTA_OK) {
        return cli_fail(args, &diag);
    }
    if (!show) {
        return print_configs(args, &config, 1);
    }
    char *text = vta_config_to_json(&config);
    cli_put(text == NULL ? "" : text);
    free(text);
    return cli_done(args);
}

/* The values of a number of which not all between its bounds will do. */
static void print_values(const char *wanted)
{
#define VTA_CONFIG(field, key, def, min, max, hw, doc)
#define VTA_CONFIG_VALUES(field, key, ...)                                                                   \
    if (strcmp(wanted, (key)) == 0) {                                                                        \
        cli_print(", \"enum\": [%s]", #__VA_ARGS__);                                                         \
    }
#include "vta/config.def"
#undef VTA_CONFIG_VALUES
#undef VTA_CONFIG
}

/* One property, with its comma in front. */
static void print_key(const char *key, const char *type, uint32_t min, uint32_t max, const char *doc)
{
    const bool number = strcmp(type, "integer") == 0;
    cli_print(",\n    \"%s\": {\"type\": \"%s\", \"%s\": %" PRIu32 ", \"%s\": %" PRIu32 ", \"description\": ",
              key, type, number ? "minimum" : "minLength", min, number ? "maximum" : "maxLength", max);
    cli_json_string(doc);
    if (number) {
        print_values(key);
    } else {
        const bool name = strcmp(key, "NAME") == 0;
        cli_print(", \"pattern\": \"%s\"", name ? "^[A-Za-z0-9_.-]+$" : "^[ !#-[\\\\]-~]+$");
    }
    cli_print("}");
}

/* Prints the keys of a configuration file as JSON Schema. Rules that join several keys are checked
 * by `check` alone. */
static int print_schema(const cli_args *args)
{
    if (args->operand_count > 1) {
        return cli_usage(args, "unexpected '%s'", args->operands[1]);
    }
    cli_print("{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
              "  \"title\": \"a configuration of the accelerator\",\n  \"type\": \"object\",\n"
              "  \"additionalProperties\": false,\n"
              "  \"not\": {\"required\": [\"LOG_BLOCK\"], \"anyOf\": [{\"required\": [\"LOG_BLOCK_IN\"]}, "
              "{\"required\": [\"LOG_BLOCK_OUT\"]}]},\n  \"properties\": {\n"
              "    \"LOG_BLOCK\": {\"$ref\": \"#/properties/LOG_BLOCK_IN\"}");
#define VTA_CONFIG(field, key, def, min, max, hw, doc) print_key((key), "integer", (min), (max), (doc));
#define VTA_CONFIG_TEXT(field, key, doc)                                                                     \
    print_key((key), "string", 1, sizeof(((vta_config *)0)->field) - 1, (doc));
#include "vta/config.def"
#undef VTA_CONFIG_TEXT
#undef VTA_CONFIG
    cli_print("\n  }\n}\n");
    return cli_done(args);
}

static int run_config(const cli_args *args)
{
    const char *word = args->operand_count > 0 ? args->operands[0] : "list";
    if (strcmp(word, "list") == 0) {
        return list_configs(args);
    }
    if (strcmp(word, "show") == 0 || strcmp(word, "check") == 0) {
        return run_one_config(args, word[0] == 's');
    }
    if (strcmp(word, "schema") == 0) {
        return print_schema(args);
    }
    const char *near = vta_nearest(word, words, sizeof words / sizeof words[0]);
    return near != NULL
               ? cli_usage(args, "unknown word '%s'; did you mean '%s'?", word, near)
               : cli_usage(args, "unknown word '%s'; expected 'list', 'show', 'check' or 'schema'", word);
}

const cli_verb cli_verb_config = {
    .name = "config",
    .operands = "[list | show NAME | check FILE | schema]",
    .summary = "list hardware configurations, print one as JSON, or judge a file",
    .more = "A configuration is named as shipped ('pynq') or by a file with a '/' or '.json'.\n"
            "VTA's own vta_config.json files load as they are. 'schema' prints what a file\n"
            "may say as JSON Schema, for editors.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .words = words,
    .word_count = sizeof words / sizeof words[0],
    .max = 2,
    .run = run_config,
};
