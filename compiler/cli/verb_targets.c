/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac targets: the hosts that `compile --host` takes by name.
 */
#include <stdio.h>

#include "cli.h"
#include "vtac/codegen.h"

static const cli_option options[] = {
    {"--json", NULL, CLI_FLAG, "print JSON"},
};

static void print_json(const vtac_target *target, const char *doc)
{
    const struct {
        const char *key, *value;
    } members[] = {{"name", target->name},         {"triple", target->triple},     {"cpu", target->cpu},
                   {"features", target->features}, {"required", target->required}, {"doc", doc}};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        (void)printf("%s\"%s\": ", i == 0 ? "{" : ", ", members[i].key);
        cli_json_string(members[i].value);
    }
    (void)printf(", \"vector_bytes\": %u}", target->vector_bytes);
}

static int run(const cli_args *args)
{
    const bool json = cli_flag(args, "--json");
    vta_diag diag = {0};
    size_t count = 0;
    const vtac_target_row *rows = vtac_targets(&count);
    if (!json) {
        (void)printf("%-15s %-32s %-13s %-18s %s\n", "name", "triple", "cpu", "features", "");
    }
    for (size_t i = 0; i < count; i++) {
        vtac_target target;
        if (vtac_target_find(rows[i].name, &target, &diag) != VTA_OK) {
            return cli_fail(args, &diag);
        }
        if (json) {
            (void)printf("%s", i == 0 ? "[\n  " : ",\n  ");
            print_json(&target, rows[i].doc);
        } else { /* this machine's features in LLVM's words fill a screen */
            (void)printf("%-15s %-32s %-13s %-18s %s\n", target.name, target.triple, target.cpu,
                         rows[i].features != NULL ? target.features : "its own", rows[i].doc);
        }
    }
    (void)printf("%s", json ? "\n]\n" : "");
    return cli_done(args);
}

const cli_verb cli_verb_targets = {
    .name = "targets",
    .operands = "",
    .summary = "list the hosts that models can be compiled for",
    .more = "`vtac compile --host` takes a name, or TRIPLE,cpu=NAME,features=+A,-B, as in\n"
            "aarch64-linux-gnu,cpu=cortex-a72,features=+neon,-crypto.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .run = run,
};
