/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac ops: the operators, from the tables that the compiler works by.
 */
#include <stdio.h>

#include "cli.h"
#include "vtac/codegen.h"

static const cli_option options[] = {
    {"--markdown", NULL, CLI_FLAG, "print a table for a README"},
    {"--json", NULL, CLI_FLAG, "print JSON"},
};

static int run(const cli_args *args)
{
    const bool json = cli_flag(args, "--json");
    const bool markdown = cli_flag(args, "--markdown");
    if (markdown) {
        (void)printf("| operator | domain | from opset | compiled | limits |\n|---|---|---|---|---|\n");
    }
    for (int i = 0; i < VTAC_OP_COUNT; i++) {
        const vtac_op_info *op = vtac_op_get((vtac_op)i);
        if (vtac_op_is_internal((vtac_op)i)) {
            continue;
        }
        const char *limits = vtac_op_limits((vtac_op)i);
        const char *domain = op->domain[0] == '\0' ? "ai.onnx" : op->domain;
        const char *compiled = limits == NULL ? "no" : "yes";
        if (json) {
            (void)printf(
                "%s{\"name\": \"%s\", \"domain\": \"%s\", \"since\": %d, \"compiled\": %s, \"limits\": ",
                i == 0 ? "[" : ",\n ", op->name, domain, op->since, limits == NULL ? "false" : "true");
            cli_json_string(limits == NULL ? "" : limits);
            (void)printf("}");
        } else {
            (void)printf(markdown ? "| %s | %s | %d | %s | %s |\n" : "%-28s %-14s %3d  %-4s %s\n", op->name,
                         domain, op->since, compiled, limits == NULL ? "" : limits);
        }
    }
    (void)printf("%s", json ? "]\n" : "");
    return cli_done(args);
}

const cli_verb cli_verb_ops = {
    .name = "ops",
    .operands = "",
    .summary = "list the operators, from which opset on, and what is compiled",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .least = 0,
    .most = 0,
    .run = run,
};
