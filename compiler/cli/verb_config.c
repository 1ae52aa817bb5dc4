/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac config: the shipped configurations, one of them in full, or a file judged.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "vta/str.h"

static const char *const words[] = {"list", "show", "check"};
static const cli_option options[] = {
    {"--json", NULL, CLI_FLAG, "print JSON"},
};

static void print_row(const vta_config *config, bool json, bool first)
{
    if (json) {
        (void)printf("%s\n  {\"name\": ", first ? "" : ",");
        cli_json_string(config->name);
        (void)printf(", \"hash\": \"%016" PRIx64 "\", \"batch\": %" PRIu32 ", \"block_in\": %" PRIu32
                     ", \"block_out\": %" PRIu32 ", \"uop_depth\": %" PRIu32 ", \"inp_depth\": %" PRIu32
                     ", \"wgt_depth\": %" PRIu32 ", \"acc_depth\": %" PRIu32 "}",
                     config->hash, config->batch, config->block_in, config->block_out,
                     config->depth[VTA_MEM_UOP], config->depth[VTA_MEM_INP], config->depth[VTA_MEM_WGT],
                     config->depth[VTA_MEM_ACC]);
        return;
    }
    char tile[48];
    (void)snprintf(tile, sizeof tile, "%" PRIu32 "x%" PRIu32 "x%" PRIu32, config->batch, config->block_in,
                   config->block_out);
    (void)printf("%-12s %-10s %8" PRIu32 " %8" PRIu32 " %8" PRIu32 " %8" PRIu32 "  %016" PRIx64 "\n",
                 config->name, tile, config->depth[VTA_MEM_UOP], config->depth[VTA_MEM_INP],
                 config->depth[VTA_MEM_WGT], config->depth[VTA_MEM_ACC], config->hash);
}

static void print_head(bool json)
{
    if (json) {
        (void)printf("[");
    } else {
        (void)printf("%-12s %-10s %8s %8s %8s %8s  %s\n", "name", "tile", "uop", "inp", "wgt", "acc", "hash");
    }
}

static int finish(const cli_args *args, bool json)
{
    (void)printf("%s", json ? "\n]\n" : "");
    return cli_done(args);
}

static int list(const cli_args *args)
{
    const bool json = cli_flag(args, "--json");
    uint32_t count = 0;
    const char *const *names = vta_config_names(&count);
    if (args->operand_count > 1) {
        return cli_usage(args, "unexpected '%s'", args->operands[1]);
    }
    print_head(json);
    for (uint32_t i = 0; i < count; i++) {
        vta_config config;
        vta_diag diag = {0};
        if (vta_config_load(names[i], &config, &diag) != VTA_OK) {
            return cli_fail(args, &diag);
        }
        print_row(&config, json, i == 0);
    }
    return finish(args, json);
}

/* show prints the configuration as a file, check a row about it. */
static int one(const cli_args *args, bool show)
{
    const bool json = cli_flag(args, "--json");
    vta_config config;
    vta_diag diag = {0};
    if (args->operand_count < 2) {
        return cli_usage(args, "expected a configuration's name or file");
    }
    if (vta_config_load(args->operands[1], &config, &diag) != VTA_OK) {
        return cli_fail(args, &diag);
    }
    if (!show) {
        print_head(json);
        print_row(&config, json, true);
        return finish(args, json);
    }
    char *text = vta_config_to_json(&config);
    (void)fputs(text == NULL ? "" : text, stdout);
    free(text);
    return cli_done(args);
}

static int run(const cli_args *args)
{
    const char *word = args->operand_count > 0 ? args->operands[0] : "list";
    if (strcmp(word, "list") == 0) {
        return list(args);
    }
    if (strcmp(word, "show") == 0 || strcmp(word, "check") == 0) {
        return one(args, word[0] == 's');
    }
    const char *near = vta_nearest(word, words, sizeof words / sizeof words[0]);
    return cli_usage(args, "unknown word '%s'; %s'%s'", word, near != NULL ? "did you mean " : "expected ",
                     near != NULL ? near : "list', 'show' or 'check");
}

const cli_verb cli_verb_config = {
    .name = "config",
    .operands = "[list | show NAME | check FILE]",
    .summary = "list hardware configurations, print one as JSON, or judge a file",
    .more = "A configuration is named as shipped ('pynq') or by a file with a '/' or '.json'.\n"
            "VTA's own vta_config.json files load as they are.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .words = words,
    .word_count = sizeof words / sizeof words[0],
    .most = 2,
    .run = run,
};
