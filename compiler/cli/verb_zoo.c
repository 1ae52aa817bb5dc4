/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac zoo: classic architectures as ONNX files.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "vtac/zoo.h"

static const cli_option options[] = {
    {"-o", "FILE", CLI_FILE, "where the model goes (default: NAME.onnx)"},
    {"--seed", "N", CLI_TEXT, "seed of the weights (default 1)"},
    {"--json", NULL, CLI_FLAG, "print the list as JSON"},
};

static int list(const cli_args *args)
{
    uint32_t count;
    const vtac_zoo_entry *entries = vtac_zoo_list(&count);
    const bool json = cli_flag(args, "--json");
    for (uint32_t i = 0; i < count; i++) {
        if (json) {
            (void)printf("%s{\"name\": \"%s\", \"input\": \"%s\", \"doc\": ", i == 0 ? "[" : ",\n ",
                         entries[i].name, entries[i].input);
            cli_json_string(entries[i].doc);
            (void)printf("}");
        } else {
            (void)printf("%-14s %-12s %s\n", entries[i].name, entries[i].input, entries[i].doc);
        }
    }
    (void)printf("%s", json ? "]\n" : "");
    return cli_done(args);
}

static int run(const cli_args *args)
{
    if (args->operand_count == 0 || strcmp(args->operands[0], "list") == 0) {
        return list(args);
    }
    uint64_t seed = 1;
    const char *given = cli_value(args, "--seed");
    if (given != NULL && !cli_number(given, &seed)) {
        return cli_usage(args, "--seed takes a number, not '%s'", given);
    }
    char own[80];
    const char *path = cli_value(args, "-o");
    if (path == NULL) {
        (void)snprintf(own, sizeof own, "%.64s.onnx", args->operands[0]);
        path = own;
    }
    vta_diag diag = {0};
    if (vtac_zoo_write(args->operands[0], seed, path, &diag) != VTA_OK) {
        return cli_fail(args, &diag);
    }
    (void)printf("%s\n", path);
    return cli_done(args);
}

const cli_verb cli_verb_zoo = {
    .name = "zoo",
    .operands = "[list | NAME] [-o FILE]",
    .summary = "write a classic architecture as an ONNX file with seeded weights",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .least = 0,
    .most = 1,
    .run = run,
};
